//! The settings of `retouched`.

use crate::kind::{Parameter, common};
use crate::shell::{ByRate, Choice, Fields, Settings, choices, fields};

/// Which of its bits is cleared for a troublesome key.
///
/// ```
/// use bouquet::{Retouched, RetouchedSettings, accuracy::retouched::Scheme};
/// let filter = Retouched::with(RetouchedSettings { items: Some(100), ..Default::default() })?;
/// assert_eq!(filter.settings().scheme, Some(Scheme::Ratio));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The one with the fewest members per troublesome key.
    Ratio,
    /// The one that the fewest members use.
    MinFn,
    /// The one that most troublesome keys use.
    MaxFp,
    /// Any.
    Random,
}

choices!(Scheme { Ratio = "ratio", MinFn = "min-fn", MaxFp = "max-fp", Random = "random" });

/// What is known of the members of a filter that was made earlier.
///
/// ```
/// use bouquet::{Retouched, RetouchedSettings, accuracy::retouched::Memory};
/// let counting = RetouchedSettings { items: Some(1_000), cells: Some(Memory::Counters), ..Default::default() };
/// let mut filter = Retouched::with(counting)?;
/// filter.insert_batch(&(0..1_000u64).collect::<Vec<_>>())?;
/// let known = (1_000u64..).find(|key| filter.contains(key)).expect("a false positive");
/// filter.trouble(&known, 1.0)?;
/// assert_eq!(filter.retouch()?.cleared, 1);
/// assert!(!filter.contains(&known));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Nothing: it is retouched when it is built.
    Bits,
    /// How many use each bit, in counters of 8 bits beside it: it can be retouched later.
    Counters,
}

choices!(Memory { Bits = "bits", Counters = "counters" });

/// No budget.
pub(super) const ANY: u64 = 1 << 56;

pub(super) const SCHEME: Parameter = Parameter::choice(
    "scheme",
    "which bit of a troublesome key is cleared, by members and troublesome keys that use it",
    Scheme::WORDS,
);
pub(super) const CELLS: Parameter = Parameter::choice(
    "cells",
    "bits, or counters beside them that tell roughly how many members use a bit, for retouching later",
    Memory::WORDS,
);
pub(super) const WEIGHTS: Parameter =
    Parameter::flag("weights", "keys come with weights, which are added up instead of the keys");
pub(super) const MOST_LOST: Parameter =
    Parameter::count("most-lost", "members (or weight) that retouching may lose; it stops before", 0, ANY).or(ANY);
pub(super) const MOST_CLEARED: Parameter =
    Parameter::count("most-cleared", "bits that retouching may clear; it stops then", 0, ANY).or(ANY);

/// The settings of a filter that is retouched.
///
/// ```
/// use bouquet::{Retouched, RetouchedSettings, accuracy::retouched::Scheme};
/// let settings = RetouchedSettings { items: Some(1_000), scheme: Some(Scheme::MinFn), ..Default::default() };
/// assert_eq!(Retouched::with(settings)?.settings().hashes, Some(7));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetouchedSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys, before bits are cleared.
    pub fpr: Option<f64>,
    /// Size in bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Which bit is cleared.
    pub scheme: Option<Scheme>,
    /// What is known of members later.
    pub cells: Option<Memory>,
    /// Whether keys come with weights.
    pub weights: Option<bool>,
    /// Members that may be lost.
    pub most_lost: Option<u64>,
    /// Bits that may be cleared.
    pub most_cleared: Option<u64>,
}

impl Settings for RetouchedSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        scheme: SCHEME,
        cells: CELLS,
        weights: WEIGHTS,
        most_lost: MOST_LOST,
        most_cleared: MOST_CLEARED,
    ];
}

impl ByRate for RetouchedSettings {}
