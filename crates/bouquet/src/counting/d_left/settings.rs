//! The settings of a d-left filter, and the table that follows from them.

use crate::error::{Error, Result};
use crate::hash::SplitMix;
use crate::kind::{Parameter, common};
use crate::shell::{ByRate, Fields, Settings, fields};
use crate::store::buckets::Shape;
use crate::theory::fingerprints;

pub(super) const MAX_SUBTABLES: usize = 8;

const BUCKETS: Parameter =
    Parameter::count("buckets", "buckets of a subtable, instead of a number of items", 1, 1 << 56);
const SUBTABLES: Parameter =
    Parameter::count("subtables", "subtables, each with one bucket for a key", 1, MAX_SUBTABLES as u64).or(4);
const SLOTS: Parameter =
    Parameter::count("slots", "cells per bucket, three quarters of which are planned to be used", 1, 8).or(8);
const REMAINDER: Parameter = Parameter::count("remainder", "bits of a remainder, instead of a rate", 1, 48);
const WIDTH: Parameter =
    Parameter::count("width", "bits of a cell's counter; it stays for ever at its largest value", 2, 16).or(2);
const STASH: Parameter =
    Parameter::count("stash", "fingerprints that are kept beside the table when their buckets are full", 0, 4096)
        .or(64);

/// The settings of a d-left counting Bloom filter.
///
/// ```
/// use bouquet::{DLeft, DLeftSettings};
/// let mut filter = DLeft::with(DLeftSettings { items: Some(1_000), width: Some(8), ..Default::default() })?;
/// for _ in 0..100 {
///     filter.insert("rose")?;
/// }
/// assert_eq!(filter.count("rose").count, 100);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DLeftSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// Buckets of a subtable.
    pub buckets: Option<u64>,
    /// The number of subtables.
    pub subtables: Option<u32>,
    /// Cells per bucket.
    pub slots: Option<u32>,
    /// Bits of a remainder.
    pub remainder: Option<u32>,
    /// Bits of a cell's counter.
    pub width: Option<u32>,
    /// The most fingerprints that are kept beside the table.
    pub stash: Option<u32>,
}

impl Settings for DLeftSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        buckets: BUCKETS,
        subtables: SUBTABLES,
        slots: SLOTS,
        remainder: REMAINDER,
        width: WIDTH,
        stash: STASH,
    ];
}

impl ByRate for DLeftSettings {}

impl DLeftSettings {
    /// With every size filled in.
    pub(super) fn resolved(&self) -> Result<Self> {
        let (subtables, slots) = (SUBTABLES.need(self.subtables)?, SLOTS.need(self.slots)?);
        let load = fingerprints::d_left_load(slots);
        let buckets = match (self.buckets, self.items) {
            (Some(buckets), _) => buckets,
            (None, Some(items)) => ((items as f64 / (f64::from(subtables) * load)).ceil() as u64).max(1),
            (None, None) => return Err(common::ITEMS.missing("buckets")),
        };
        let fpr = common::FPR.need(self.fpr)?;
        let planned = fingerprints::d_left_remainder_bits(fpr, subtables, load);
        let remainder = self.remainder.unwrap_or(planned);
        if remainder > 48 {
            return Err(Error::parameter("fpr", "at least 1e-13, which 48 bits reach", fpr));
        }
        Ok(DLeftSettings {
            buckets: Some(buckets),
            subtables: Some(subtables),
            slots: Some(slots),
            remainder: Some(remainder),
            width: Some(WIDTH.need(self.width)?),
            stash: Some(STASH.need(self.stash)?),
            ..self.clone()
        })
    }
}

/// One of the bijections: a bucket and a remainder for every fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Permutation {
    pub(super) factor: u64,
    pub(super) summand: u64,
}

/// What resolved settings say about the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Design {
    pub(super) buckets: u64,
    pub(super) subtables: usize,
    pub(super) remainder: u32,
    pub(super) width: u32,
    pub(super) stash: usize,
    pub(super) shape: Shape,
    /// N, the number of fingerprints.
    pub(super) fingerprints: u64,
}

impl Design {
    pub(super) fn of(settings: &DLeftSettings) -> Result<Self> {
        let (buckets, subtables) = (BUCKETS.need(settings.buckets)?, SUBTABLES.need(settings.subtables)?);
        let (remainder, width) = (REMAINDER.need(settings.remainder)?, WIDTH.need(settings.width)?);
        let (slots, stash) = (SLOTS.need(settings.slots)?, STASH.need(settings.stash)?);
        // Sums of two numbers below N must fit in a word.
        let fingerprints = buckets.checked_mul(1 << remainder).filter(|&n| n <= 1 << 62).ok_or_else(|| {
            Error::TooLarge { what: "the table".into(), bytes: u128::from(buckets) * u128::from(subtables) }
        })?;
        let shape = Shape::new(slots, remainder + width, remainder, false)?;
        let (subtables, stash) = (subtables as usize, stash as usize);
        Ok(Design { buckets, subtables, remainder, width, stash, shape, fingerprints })
    }

    pub(super) fn all_buckets(&self) -> Result<u64> {
        self.buckets.checked_mul(self.subtables as u64).ok_or_else(|| Error::TooLarge {
            what: "the table".into(),
            bytes: u128::from(self.buckets) * self.subtables as u128,
        })
    }

    pub(super) fn bits(&self) -> Result<u64> {
        self.shape.bits(self.all_buckets()?)
    }

    /// The bijections, the same for every filter of this shape: a factor is a number below 2^32 and N without a divisor
    /// in common with N.
    pub(super) fn permutations(&self) -> [Permutation; MAX_SUBTABLES] {
        let mut random = SplitMix::new(0x6C65_6674);
        let mut permutations = [Permutation::default(); MAX_SUBTABLES];
        for permutation in &mut permutations {
            let mut factor = 1 + random.below(self.fingerprints.min(1 << 32) - 1);
            // There always is one: 1.
            while common_divisor(factor, self.fingerprints) != 1 {
                factor -= 1;
            }
            *permutation = Permutation { factor, summand: random.below(self.fingerprints) };
        }
        permutations
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
