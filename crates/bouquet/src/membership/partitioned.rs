#![doc = include_str!("partitioned.md")]

use crate::capability::NoteType;
use crate::error::{Error, Result};
use crate::hash::{Family, Scheme};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, ParameterType, Text, common, kind};
use crate::membership::spread::{REDUCTION, Reducing, Spread, SpreadKind, SpreadSettings};
use crate::membership::{BitFilter, BitSettings, Sizes};
use crate::shell::{ByRate, Fields, Settings, fields};
use crate::theory::{self, MAX_BITS, Size};

/// A partitioned Bloom filter.
///
/// ```
/// use bouquet::membership::partitioned::Partitioned;
/// let mut filter = Partitioned::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// assert_eq!(filter.bits().count_ones(), 7, "one bit in each slice");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Partitioned = BitFilter<Slices>;

/// The registry's row.
pub const KIND: Kind = kind!(Partitioned);

/// One position in each of k slices of equal length.
///
/// ```
/// use bouquet::Partitioned;
/// let mut filter = Partitioned::with_size(1_000, 5)?;
/// filter.insert("rose");
/// let slices = filter.bits().ones().map(|position| position / filter.layout().slice_bits());
/// assert!(slices.eq(0..5), "one bit in each");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Slices = Spread<InSlices, true>;

/// The kind whose positions lie in slices.
///
/// ```
/// use bouquet::membership::{SpreadKind, partitioned::InSlices};
/// assert_eq!(InSlices::FACTS.id, "partitioned");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InSlices;

/// How keys become positions: the families whose positions follow from a digest.
const FAMILY: Parameter = Parameter {
    name: "family",
    help: "how a key's positions follow from its hash; the others lose accuracy in small slices",
    of: ParameterType::Choice { options: &["triple", "enhanced-double", "double"] },
};

/// The settings of a partitioned Bloom filter.
///
/// ```
/// use bouquet::{Partitioned, PartitionedSettings};
/// let settings = PartitionedSettings { items: Some(1_000), hashes: Some(4), ..Default::default() };
/// assert!(Partitioned::with(settings)?.expected(1_000).false_positive.is_some_and(|rate| rate <= 0.01));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartitionedSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// How a key's positions follow from its hash.
    pub family: Option<Family>,
    /// How a hash word becomes a position.
    pub reduction: Option<Reducing>,
}

impl Settings for PartitionedSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        family: FAMILY,
        reduction: REDUCTION,
    ];
}

impl ByRate for PartitionedSettings {}

impl BitSettings for PartitionedSettings {
    fn sizes(&self) -> Sizes {
        let PartitionedSettings { items, fpr, bits, hashes, .. } = *self;
        Sizes { items, fpr, bits, hashes }
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        PartitionedSettings { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

impl SpreadSettings for PartitionedSettings {
    fn scheme(&self) -> (Option<Family>, Option<Reducing>) {
        (self.family, self.reduction)
    }

    fn with_scheme(self, Scheme { family, reduction }: Scheme) -> Self {
        PartitionedSettings { family: Some(family), reduction: Some(Reducing::By(reduction)), ..self }
    }
}

impl SpreadKind<true> for InSlices {
    const FACTS: Facts = Facts {
        id: "partitioned",
        number: 2,
        aliases: &["PBF", "sliced"],
        family: "membership",
        text: Text::new(include_str!("partitioned.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const FAMILY: Parameter = FAMILY;

    type Settings = PartitionedSettings;

    /// The exact rate decides, not that of the standard filter.
    fn size(settings: &PartitionedSettings) -> Result<Size> {
        let Sizes { items, fpr, bits, hashes } = settings.sizes();
        match (bits, items, hashes) {
            (None, Some(items), None) => Ok(theory::partitioned::for_rate(items, common::FPR.need(fpr)?)?),
            (None, Some(items), Some(hashes)) => {
                let slice = theory::partitioned::needed_slice(items, common::FPR.need(fpr)?, hashes);
                let bits = slice * f64::from(hashes);
                if bits > MAX_BITS as f64 {
                    return Err(Error::TooLarge { what: "the filter".into(), bytes: (bits / 8.0) as u128 });
                }
                Ok(Size { bits: bits as u64, hashes })
            }
            _ => common::size_of(items, fpr, bits, hashes, common::BITS.name),
        }
    }
}

impl Partitioned {
    /// The share of ones in each slice. Slices differ by chance alone: one far from the others shows a fault of the hash
    /// function or an attack.
    ///
    /// ```
    /// use bouquet::membership::partitioned::Partitioned;
    /// let mut filter = Partitioned::with_size(1_000, 4)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.slice_fills(), [1.0 / 250.0; 4]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn slice_fills(&self) -> Vec<f64> {
        let layout = self.layout();
        layout.ones(self.bits()).iter().map(|&ones| ones as f64 / layout.slice_bits() as f64).collect()
    }
}

#[cfg(test)]
mod tests;
