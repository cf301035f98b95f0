#![doc = include_str!("standard.md")]

use crate::capability::NoteType;
use crate::error::Result;
use crate::hash::{Family, Scheme};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, ParameterType, Text, common, kind};
use crate::membership::spread::{REDUCTION, Reducing, Spread, SpreadKind, SpreadSettings};
use crate::membership::{BitFilter, BitSettings, Sizes};
use crate::shell::{ByRate, Fields, Settings, fields};
use crate::theory::Size;

/// A standard Bloom filter.
///
/// ```
/// use bouquet::Bloom;
/// let mut filter = Bloom::with_rate(1_000, 0.01)?;
/// assert!(filter.insert("rose"), "certainly new");
/// assert!(!filter.insert("rose"));
/// assert!(filter.contains("rose"));
/// assert!(!filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Bloom = BitFilter<Flat>;

/// The registry's row.
pub const KIND: Kind = kind!(Bloom);

/// k positions anywhere in m bits.
///
/// ```
/// use bouquet::membership::{BitFilter, standard::Flat};
/// assert_eq!(BitFilter::<Flat>::with_size(1_000, 5)?.bits().len(), 1_000);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Flat = Spread<Anywhere, false>;

/// The kind whose positions lie anywhere.
///
/// ```
/// use bouquet::membership::{SpreadKind, standard::Anywhere};
/// assert_eq!(Anywhere::FACTS.id, "standard");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anywhere;

/// How keys become positions; see [`Family`](crate::hash::Family).
pub(crate) const FAMILY: Parameter = Parameter {
    name: "family",
    help: "how a key's positions follow from its hash; the last three repeat published experiments",
    of: ParameterType::Choice {
        options: &[
            "enhanced-double",
            "double",
            "triple",
            "independent",
            "universal",
            "fig2",
            "sdbm-mersenne",
            "squid-md5",
        ],
    },
};

/// The settings of a standard Bloom filter.
///
/// ```
/// use bouquet::{Bloom, BloomSettings, hash::Family};
/// let settings = BloomSettings { items: Some(1_000), family: Some(Family::Triple), ..Default::default() };
/// assert_eq!(Bloom::with(settings)?.settings().hashes, Some(7));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BloomSettings {
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

impl Settings for BloomSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        family: FAMILY,
        reduction: REDUCTION,
    ];
}

impl ByRate for BloomSettings {}

impl BitSettings for BloomSettings {
    fn sizes(&self) -> Sizes {
        let BloomSettings { items, fpr, bits, hashes, .. } = *self;
        Sizes { items, fpr, bits, hashes }
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        BloomSettings { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

impl SpreadSettings for BloomSettings {
    fn scheme(&self) -> (Option<Family>, Option<Reducing>) {
        (self.family, self.reduction)
    }

    fn with_scheme(self, Scheme { family, reduction }: Scheme) -> Self {
        BloomSettings { family: Some(family), reduction: Some(Reducing::By(reduction)), ..self }
    }
}

impl SpreadKind<false> for Anywhere {
    const FACTS: Facts = Facts {
        id: "standard",
        number: 1,
        aliases: &["BF", "SBF", "bloom", "classic"],
        family: "membership",
        text: Text::new(include_str!("standard.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const FAMILY: Parameter = FAMILY;

    type Settings = BloomSettings;

    fn size(&BloomSettings { items, fpr, bits, hashes, .. }: &BloomSettings) -> Result<Size> {
        common::size_of(items, fpr, bits, hashes, common::BITS.name)
    }
}

#[cfg(test)]
mod tests;
