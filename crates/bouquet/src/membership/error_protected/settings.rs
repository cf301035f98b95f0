//! The settings of a protected filter, and the shape that follows from them.

use crate::error::{Error, Result};
use crate::kind::{Parameter, ParameterType, common};
use crate::parts::bit_array::flat_places;
use crate::parts::counter_array::Places;
use crate::shell::{ByRate, Choice, Fields, Settings, fields};

/// Bits that share a parity bit.
///
/// ```
/// use bouquet::{ErrorProtected, ErrorProtectedSettings, membership::error_protected::ParityWord};
/// let settings = ErrorProtectedSettings { items: Some(100), word: Some(ParityWord(16)), ..Default::default() };
/// let filter = ErrorProtected::with(settings)?;
/// assert_eq!(filter.bits().len(), 16 * filter.parities().len());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParityWord(pub u32);

impl Choice for ParityWord {
    const WORDS: &'static [&'static str] = &["64", "32", "16", "8"];
    const MEMBERS: &'static [Self] = &[ParityWord(64), ParityWord(32), ParityWord(16), ParityWord(8)];
}

const BITS: Parameter = Parameter { help: "size in bits without the parity bits, instead of a rate", ..common::BITS };
const WORD: Parameter = Parameter {
    name: "word",
    help: "bits that share a parity bit",
    of: ParameterType::Choice { options: ParityWord::WORDS },
};
const RECHECK: Parameter =
    Parameter { name: "recheck", help: "look again when a single probe reads zero", of: ParameterType::Flag };
const SCRUB: Parameter = Parameter::count(
    "scrub",
    "insertions after which all words are checked, over and over; 0: only when asked to",
    0,
    1 << 56,
)
.or(0);

/// The settings of a protected filter.
///
/// ```
/// use bouquet::{ErrorProtected, ErrorProtectedSettings};
/// let settings = ErrorProtectedSettings { items: Some(100), scrub: Some(2), ..Default::default() };
/// let mut filter = ErrorProtected::with(settings)?;
/// filter.flip(17)?;
/// ["rose", "lily"].map(|key| filter.insert(key));
/// assert_eq!((filter.damaged(), filter.repaired()), (0, 1));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorProtectedSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits, without the parity bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Bits that share a parity bit.
    pub word: Option<ParityWord>,
    /// Whether a single zero is looked at again.
    pub recheck: Option<bool>,
    /// Insertions after which all words are checked; 0: only when asked to.
    pub scrub: Option<u64>,
}

impl Settings for ErrorProtectedSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: BITS,
        hashes: common::HASHES,
        word: WORD,
        recheck: RECHECK,
        scrub: SCRUB,
    ];

    const DESIGN: &'static [&'static str] = &["items", "fpr", "recheck", "scrub"];
}

impl ByRate for ErrorProtectedSettings {}

/// What the settings describe.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) places: Places,
    pub(super) width: u32,
    pub(super) recheck: bool,
    pub(super) interval: u64,
}

impl Shape {
    pub(super) fn plan(asked: &ErrorProtectedSettings) -> Result<Self> {
        let ErrorProtectedSettings { items, fpr, bits, hashes, word, recheck, scrub } = *asked;
        let size = common::size_of(items, fpr, bits, hashes, BITS.name)?;
        let ParityWord(width) = WORD.need(word)?;
        // Whole words.
        let bits = size.bits.checked_next_multiple_of(width.into());
        let bits = bits.ok_or_else(|| Error::parameter("bits", BITS.range(), size.bits))?;
        let (recheck, interval) = (recheck.unwrap_or(false), SCRUB.need(scrub)?);
        Ok(Shape { places: flat_places(bits, size.hashes)?, width, recheck, interval })
    }

    pub(super) fn words(&self) -> u64 {
        self.places.counters() / u64::from(self.width)
    }
}
