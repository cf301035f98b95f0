//! The settings of `cross-checking`.

use crate::hash::MAX_HASHES;
use crate::kind::{Parameter, common};
use crate::shell::{ByRate, Choice, Fields, Settings, choices, fields};

/// How keys are put into parts.
///
/// ```
/// use bouquet::{CrossChecking, CrossCheckingSettings, accuracy::cross_checking::{Label, Partition}};
/// let by_label = CrossCheckingSettings { items: Some(100), by: Some(Partition::Label), ..Default::default() };
/// let mut filter = CrossChecking::with(by_label)?;
/// filter.insert_with("rose", Label(Some(1)))?;
/// assert_eq!(filter.classify("rose"), [1]);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// By a hash of the key.
    Hash,
    /// By the number that comes with the key.
    Label,
}

choices!(Partition { Hash = "hash", Label = "label" });

/// Which parts are asked.
///
/// ```
/// use bouquet::{CrossChecking, CrossCheckingSettings, accuracy::cross_checking::Check};
/// let own = CrossCheckingSettings { items: Some(1_000), check: Some(Check::Own), ..Default::default() };
/// let all = CrossCheckingSettings { check: Some(Check::All), ..own.clone() };
/// assert!(CrossChecking::with(own)?.stats().bits < CrossChecking::with(all)?.stats().bits);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// All: one that accepts is enough.
    All,
    /// The one to which the hash would put the key.
    Own,
}

choices!(Check { All = "all", Own = "own" });

pub(super) const PARTS: Parameter =
    Parameter::count("parts", "disjoint parts of the set, each with a check filter", 2, 64).or(2);
pub(super) const SHARE: Parameter =
    Parameter::real("share", "share of all bits that the main filter gets", 0.0, 1.0).or_real(0.5);
pub(super) const BY: Parameter = Parameter::choice("by", "what puts a key into its part", Partition::WORDS);
pub(super) const CHECK: Parameter = Parameter::choice(
    "check",
    "which parts may confirm a key: all, or (by=hash) its own alone, which is better",
    Check::WORDS,
);
pub(super) const LIMIT: Parameter =
    Parameter::count("limit", "most positions per key in one filter", 1, MAX_HASHES as u64).or(MAX_HASHES as u64);
pub(super) const BITS: Parameter = Parameter { help: "size of all filters in bits, instead of a rate", ..common::BITS };
pub(super) const HASHES: Parameter =
    Parameter { help: "positions per key in the main filter; the best number when not given", ..common::HASHES };
pub(super) const PART_HASHES: Parameter = Parameter {
    name: "part-hashes",
    help: "positions per key in each check filter; the best number when not given",
    ..common::HASHES
};

/// The settings of a filter with check filters.
///
/// ```
/// use bouquet::{CrossChecking, CrossCheckingSettings};
/// let three = CrossCheckingSettings { items: Some(1_000), bits: Some(24_000), limit: Some(3), ..Default::default() };
/// let filter = CrossChecking::with(three)?;
/// assert_eq!((filter.settings().hashes, filter.settings().part_hashes), (Some(3), Some(3)));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CrossCheckingSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// Size of all filters in bits.
    pub bits: Option<u64>,
    /// The main filter's share of them.
    pub share: Option<f64>,
    /// Parts.
    pub parts: Option<u32>,
    /// What puts a key into its part.
    pub by: Option<Partition>,
    /// Which parts are asked.
    pub check: Option<Check>,
    /// Most positions per key in one filter.
    pub limit: Option<u32>,
    /// Positions per key in the main filter.
    pub hashes: Option<u32>,
    /// Positions per key in each check filter.
    pub part_hashes: Option<u32>,
}

impl Settings for CrossCheckingSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: BITS,
        share: SHARE,
        parts: PARTS,
        by: BY,
        check: CHECK,
        limit: LIMIT,
        hashes: HASHES,
        part_hashes: PART_HASHES,
    ];
}

impl ByRate for CrossCheckingSettings {}
