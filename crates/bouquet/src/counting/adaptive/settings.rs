//! The settings of an adaptive filter, and the shape that follows from them.

use crate::error::{Error, Result};
use crate::hash::MAX_HASHES;
use crate::kind::{Parameter, common};
use crate::parts::bit_array::flat_places;
use crate::parts::counter_array::Places;
use crate::shell::{self, ByRate, Fields, Settings, choices, fields};
use crate::theory::{self, adaptive};

const INSERTIONS: Parameter = Parameter::count(
    "insertions",
    "insertions in all that the filter is made for; as many as items if not given",
    1,
    1 << 56,
);
const FILL: Parameter =
    Parameter::real("fill", "share of ones that the vector of counts is to have after them", 0.0, 0.95).or_real(0.4);
pub(super) const LAYOUT: Parameter = Parameter::choice(
    "layout",
    "one vector (shared), or one for membership and one for counts (split)",
    <Layout as shell::Choice>::WORDS,
);
const BITS: Parameter = Parameter {
    help: "size in bits, instead of a rate; with layout split, of the vector for membership",
    ..common::BITS
};
const COUNT_BITS: Parameter =
    Parameter::count("count-bits", "with layout split: bits of the vector of counts", 1, 1 << 56);

/// Where counts are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// In the vector for membership.
    #[default]
    Shared,
    /// In a vector of their own.
    Split,
}

choices!(Layout { Shared = "shared", Split = "split" });

/// The settings of an adaptive filter.
///
/// ```
/// use bouquet::{Adaptive, AdaptiveSettings, counting::adaptive::Layout};
/// let (items, insertions, layout) = (Some(1_000), Some(10_000), Some(Layout::Split));
/// let filter = Adaptive::with(AdaptiveSettings { items, insertions, layout, ..Default::default() })?;
/// assert_eq!((filter.bits().len(), filter.count_bits().len()), (9_593, 25_000));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdaptiveSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// Insertions in all that it is made for.
    pub insertions: Option<u64>,
    /// The share of ones that the vector of counts has after them.
    pub fill: Option<f64>,
    /// Where counts are kept.
    pub layout: Option<Layout>,
    /// Bits of the vector for membership.
    pub bits: Option<u64>,
    /// Positions per key for membership.
    pub hashes: Option<u32>,
    /// Bits of a vector of its own for counts.
    pub count_bits: Option<u64>,
}

impl Settings for AdaptiveSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        insertions: INSERTIONS,
        fill: FILL,
        layout: LAYOUT,
        bits: BITS,
        hashes: common::HASHES,
        count_bits: COUNT_BITS,
    ];
}

impl ByRate for AdaptiveSettings {}

pub(super) struct Shape {
    pub(super) places: Places,
    pub(super) count_bits: Option<u64>,
}

impl Shape {
    pub(super) fn plan(asked: &AdaptiveSettings) -> Result<Self> {
        let AdaptiveSettings { items, bits, hashes, .. } = *asked;
        let fill = FILL.need(asked.fill)?;
        let insertions = asked.insertions.or(items);
        if LAYOUT.need(asked.layout)? == Layout::Split {
            let size = common::size_of(items, asked.fpr, bits, hashes, BITS.name)?;
            let count_bits = match (asked.count_bits, insertions, bits) {
                (Some(bits), ..) => bits,
                (None, Some(insertions), _) => theory::check_bits(insertions as f64 / fill)?,
                (None, None, Some(bits)) => bits,
                (None, None, None) => COUNT_BITS.need(None)?,
            };
            let places = flat_places(size.bits, size.hashes)?;
            if count_bits.checked_add(size.bits).is_none() {
                return Err(Error::TooLarge { what: "the filter".into(), bytes: u128::from(count_bits) / 8 });
            }
            return Ok(Shape { places, count_bits: Some(count_bits) });
        }
        if asked.count_bits.is_some() {
            return Err(Error::parameter("count-bits", "left out, unless layout=split", "given"));
        }
        let (bits, hashes) = match (bits, hashes, items) {
            (Some(bits), Some(hashes), _) => (bits, hashes),
            (Some(_), None, None) => return Err(common::ITEMS.missing("hashes")),
            (None, _, None) => return Err(common::ITEMS.missing("bits")),
            (Some(bits), None, Some(items)) => {
                let insertions = insertions.unwrap_or(items);
                let rate = |k: &u32| adaptive::shared_fill(bits, items, insertions, *k).powi(*k as i32);
                (bits, (1..=MAX_HASHES).min_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or(1))
            }
            (None, hashes, Some(items)) => {
                let fpr = common::FPR.need(asked.fpr)?;
                let needed = (fpr.ln() / fill.ln()).ceil().max(1.0);
                let hashes = match hashes {
                    Some(hashes) => hashes,
                    None if needed <= f64::from(MAX_HASHES) => needed as u32,
                    None => return Err(Error::parameter("fill", "smaller for this rate", fill)),
                };
                // With fewer hashes than that the fill must be smaller for the rate.
                let fill = fill.min(fpr.powf(1.0 / f64::from(hashes)));
                (adaptive::shared_bits(items, insertions.unwrap_or(items), hashes, fill)?, hashes)
            }
        };
        Ok(Shape { places: flat_places(bits, hashes)?, count_bits: None })
    }

    pub(super) fn bits(&self) -> u64 {
        self.places.counters().saturating_add(self.count_bits.unwrap_or(0))
    }

    pub(super) fn expected_rate(&self, items: u64) -> f64 {
        let (m, k) = (self.places.counters(), self.places.hashes());
        match self.count_bits {
            Some(_) => self.places.expected_rate(items),
            None => adaptive::single_fill(m, items, k).powi(k as i32),
        }
    }
}
