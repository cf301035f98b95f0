//! What a selective filter is made of.

use crate::error::Result;
use crate::kind::{Parameter, common};
use crate::parts::bit_array;
use crate::shell::{ByRate, Choice, Fields, Settings, choices, fields};
use crate::theory::Size;

/// What keys are stored in.
///
/// ```
/// use bouquet::{Selective, SelectiveSettings, accuracy::selective::Cells};
/// let settings = SelectiveSettings { items: Some(100), cells: Some(Cells::Counters), ..Default::default() };
/// assert_eq!(Selective::with(settings.clone())?.stats().bits, 4 * Selective::with(settings)?.settings().bits.unwrap());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Bits.
    Bits,
    /// Counters, whose product tells more than that none is zero.
    Counters,
}

choices!(Cells { Bits = "bits", Counters = "counters" });

const BITS: Parameter = Parameter { help: "bits, or counters of four bits, instead of a rate", ..common::BITS };
pub(super) const CELLS: Parameter =
    Parameter::choice("cells", "bits; or counters, whose product is weighed", Cells::WORDS);
pub(super) const PRIOR: Parameter =
    Parameter::real("prior", "probability that a key of which nothing is said is a member", 0.0, 1.0).or_real(0.5);
pub(super) const ALPHA: Parameter =
    Parameter::real("alpha", "cost of a miss over the cost of a false positive", 0.0, 1e12).or_real(1.0);

/// The settings of a selective filter.
///
/// ```
/// use bouquet::{Selective, SelectiveSettings};
/// let settings = SelectiveSettings { bits: Some(10_000), hashes: Some(7), alpha: Some(10.0), ..Default::default() };
/// assert!(Selective::with(settings)?.threshold() < 0.001);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelectiveSettings {
    /// Distinct members.
    pub items: Option<u64>,
    /// The false-positive rate if all of them are inserted.
    pub fpr: Option<f64>,
    /// Bits, or counters.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// What keys are stored in.
    pub cells: Option<Cells>,
    /// The prior probability of keys of which nothing is said.
    pub prior: Option<f64>,
    /// The cost of a miss over that of a false positive.
    pub alpha: Option<f64>,
}

impl Settings for SelectiveSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: BITS,
        hashes: common::HASHES,
        cells: CELLS,
        prior: PRIOR,
        alpha: ALPHA,
    ];
}

impl ByRate for SelectiveSettings {}

impl SelectiveSettings {
    pub(super) fn size(&self) -> Result<Size> {
        let size = common::size_of(self.items, self.fpr, self.bits, self.hashes, BITS.name)?;
        bit_array::flat_places(size.bits, size.hashes)?;
        Ok(size)
    }
}
