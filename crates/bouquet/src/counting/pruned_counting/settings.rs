//! The settings of a pruned table.

use crate::error::Result;
use crate::kind::{Parameter, common};
use crate::parts::counter_array::{Arrangement, Places};
use crate::shell::{self, Fields, Settings, choices, fields};
use crate::theory::fingerprints;

const COUNTERS: Parameter =
    Parameter::count("counters", "number of buckets, each with a counter; 12.8 per item when not given", 1, 1 << 56);
pub(super) const WIDTH: Parameter =
    Parameter::count("width", "bits per counter; one that reaches its largest value stays there", 2, 16).or(4);
pub(super) const MODE: Parameter = Parameter::choice(
    "mode",
    "items in their home alone (pruned), or in all of their buckets (basic), to compare with",
    <Mode as shell::Choice>::WORDS,
);

/// Where items are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// In their home alone.
    #[default]
    Pruned,
    /// In all of their buckets.
    Basic,
}

choices!(Mode { Pruned = "pruned", Basic = "basic" });

/// The settings of a pruned table.
///
/// ```
/// use bouquet::{PrunedCountingSettings, PrunedCounting, counting::pruned_counting::Mode};
/// let settings = PrunedCountingSettings { items: Some(100), mode: Some(Mode::Basic), ..Default::default() };
/// let mut table = PrunedCounting::with(settings)?;
/// table.insert("rose", b"")?;
/// assert!(table.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrunedCountingSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The number of buckets.
    pub counters: Option<u64>,
    /// Buckets per key.
    pub hashes: Option<u32>,
    /// Bits per counter.
    pub width: Option<u32>,
    /// Where items are kept.
    pub mode: Option<Mode>,
}

impl Settings for PrunedCountingSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        counters: COUNTERS,
        hashes: common::HASHES,
        width: WIDTH,
        mode: MODE,
    ];
}

/// Buckets per key when not given.
const DEFAULT_HASHES: u32 = 9;

impl PrunedCountingSettings {
    /// With every size filled in.
    pub(super) fn resolved(&self) -> Result<Self> {
        let counters = match (self.counters, self.items) {
            (Some(counters), _) => counters,
            (None, Some(items)) => fingerprints::pruned_buckets(items),
            (None, None) => return Err(common::ITEMS.missing("counters")),
        };
        Ok(PrunedCountingSettings {
            items: self.items,
            counters: Some(counters),
            hashes: self.hashes.or(Some(DEFAULT_HASHES)),
            width: Some(WIDTH.need(self.width)?),
            mode: Some(MODE.need(self.mode)?),
        })
    }
}

/// The places that resolved settings describe.
pub(super) fn places(settings: &PrunedCountingSettings) -> Result<Places> {
    Places::new(COUNTERS.need(settings.counters)?, common::HASHES.need(settings.hashes)?, Arrangement::Flat)
}
