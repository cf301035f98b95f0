//! The settings of a space-code filter, and the sizes that follow from them.

use crate::error::{Error, Result};
use crate::kind::{Parameter, common};
use crate::parts::bit_array::flat_places;
use crate::parts::counter_array::Places;
use crate::shell::{Fields, Settings, fields};
use crate::theory::{
    self,
    space_code::{self, MAX_GROUPS},
};

const ITEMS: Parameter = Parameter { help: "flows (distinct keys) that the filter is made for", ..common::ITEMS };
const LARGEST: Parameter = Parameter::count(
    "largest",
    "arrivals of the largest flow; the share of flows with at least s is taken to be 1/s",
    1,
    1 << 56,
);
const BITS: Parameter = Parameter { help: "bits of each filter, instead of items", ..common::BITS };
const HASHES: Parameter = Parameter {
    help: "positions per group; 3 in the first filter, 4 in the second, 6 in the others",
    ..common::HASHES
};
const GROUPS_PER_KEY: Parameter =
    Parameter::count("groups", "groups of positions that a key has", 2, MAX_GROUPS as u64).or(32);
const FILTERS: Parameter =
    Parameter::count("resolutions", "filters, each with a fraction of the arrivals of the one before", 1, 16).or(1);
const RATIO: Parameter = Parameter::count("ratio", "arrivals of which the next filter sees one", 2, 16).or(4);

/// The settings of a space-code filter.
///
/// ```
/// use bouquet::{SpaceCode, SpaceCodeSettings};
/// let (bits, resolutions, groups) = (Some(5_000), Some(3), Some(16));
/// let filter = SpaceCode::with(SpaceCodeSettings { bits, resolutions, groups, ..Default::default() })?;
/// assert_eq!(filter.stats().bits, 15_000);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpaceCodeSettings {
    /// Flows that it is made for.
    pub items: Option<u64>,
    /// Arrivals of the largest flow.
    pub largest: Option<u64>,
    /// Bits of each filter.
    pub bits: Option<u64>,
    /// Positions per group.
    pub hashes: Option<u32>,
    /// Groups per key.
    pub groups: Option<u32>,
    /// The number of filters.
    pub resolutions: Option<u32>,
    /// Arrivals of which the next filter sees one.
    pub ratio: Option<u32>,
}

impl Settings for SpaceCodeSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        largest: LARGEST,
        bits: BITS,
        hashes: HASHES,
        groups: GROUPS_PER_KEY,
        resolutions: FILTERS,
        ratio: RATIO,
    ];

    // What follows from them, the sizes of the filters, is compared when two are merged.
    const DESIGN: &'static [&'static str] = &["items", "largest"];
}

/// The coarsest filter sees at least one of this many arrivals, 2^32: it reaches to 5 * 10^11 of them, and tables stay
/// small.
const MOST_SAMPLED: f64 = (1u64 << 32) as f64;

pub(super) struct Shape {
    pub(super) groups: u32,
    pub(super) ratio: u32,
    pub(super) places: Vec<Places>,
}

impl Shape {
    pub(super) fn plan(asked: &SpaceCodeSettings) -> Result<Self> {
        let (groups, ratio) = (GROUPS_PER_KEY.need(asked.groups)?, RATIO.need(asked.ratio)?);
        let (resolutions, largest) = (FILTERS.need(asked.resolutions)?, asked.largest.unwrap_or(1));
        if sampling(ratio, resolutions - 1) < 1.0 / MOST_SAMPLED {
            let most = 1 + (MOST_SAMPLED.ln() / f64::from(ratio).ln()) as u32;
            return Err(Error::parameter("resolutions", format!("at most {most} at this ratio"), resolutions));
        }
        let places = (0..resolutions)
            .map(|i| {
                let hashes = asked.hashes.unwrap_or([3, 4, 6][i.min(2) as usize]);
                let bits = match (asked.bits, asked.items) {
                    (Some(bits), _) => bits,
                    (None, Some(items)) => {
                        let set = space_code::groups_of_flows(groups, sampling(ratio, i), items, largest);
                        // Filters that hardly any arrival reaches still have a word.
                        theory::check_bits(space_code::half_full_bits(hashes, set))?.max(64)
                    }
                    (None, None) => return Err(common::ITEMS.missing("bits")),
                };
                flat_places(bits, hashes)
            })
            .collect::<Result<Vec<_>>>()?;
        let shape = Shape { groups, ratio, places };
        match shape.bits() {
            Some(_) => Ok(shape),
            None => Err(Error::TooLarge { what: "the filter".into(), bytes: u128::from(u64::MAX) }),
        }
    }

    pub(super) fn bits(&self) -> Option<u64> {
        self.places.iter().try_fold(0u64, |sum, places| sum.checked_add(places.counters()))
    }
}

/// The share of arrivals that filter `i` sees.
pub(super) fn sampling(ratio: u32, i: u32) -> f64 {
    f64::from(ratio).powi(-(i as i32))
}
