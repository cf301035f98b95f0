#![doc = include_str!("bloom_g.md")]

use crate::capability::NoteType;
use crate::error::Result;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, ParameterType, Text, common, kind};
use crate::membership::block_layout::{BlockKind, Blocks, MAX_BLOCKS_PER_KEY, Shape};
use crate::membership::{BitFilter, BitSettings, Sizes, Width};
use crate::shell::{ByRate, Fields, Settings, fields};

/// A Bloom-g filter.
///
/// ```
/// use bouquet::membership::bloom_g::BloomG;
/// let mut filter = BloomG::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose"));
/// assert!(!filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type BloomG = BitFilter<Blocks<Words>>;

/// The registry's row.
pub const KIND: Kind = kind!(BloomG);

/// Blocks of one word, g per key.
///
/// ```
/// use bouquet::{membership::bloom_g::{BloomG, KIND}, kind::Config};
/// let config = Config::new(KIND.facts()).set("items", "1000")?.set("words-per-key", "3")?;
/// let mut filter = BloomG::from_config(&config)?;
/// filter.insert("rose");
/// assert_eq!(filter.bits().words().iter().filter(|word| **word != 0).count(), 3);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Words;

const READS: Parameter = Parameter {
    name: "words-per-key",
    help: "g, the words over which a key's bits are spread",
    of: ParameterType::Count { min: 1, max: MAX_BLOCKS_PER_KEY as u64, default: Some(1) },
};

const WORD: Parameter = Parameter {
    name: "word",
    help: "bits of a word",
    of: ParameterType::Choice { options: &["64", "32", "128", "256"] },
};

/// The settings of a Bloom-g filter.
///
/// ```
/// use bouquet::membership::bloom_g::{BloomG, BloomGSettings};
/// let settings = BloomGSettings { items: Some(1_000), words_per_key: Some(2), ..Default::default() };
/// assert!(BloomG::with(settings)?.bits().len() < BloomG::with_rate(1_000, 0.01)?.bits().len());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BloomGSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// g, the words over which a key's bits are spread.
    pub words_per_key: Option<u32>,
    /// Bits of a word.
    pub word: Option<Width>,
}

impl Settings for BloomGSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        words_per_key: READS,
        word: WORD,
    ];
}

impl ByRate for BloomGSettings {}

impl BitSettings for BloomGSettings {
    fn sizes(&self) -> Sizes {
        let BloomGSettings { items, fpr, bits, hashes, .. } = *self;
        Sizes { items, fpr, bits, hashes }
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        BloomGSettings { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

impl BlockKind for Words {
    const FACTS: Facts = Facts {
        id: "bloom-g",
        number: 5,
        aliases: &["bloom-1", "one-memory-access"],
        family: "membership",
        text: Text::new(include_str!("bloom_g.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    type Settings = BloomGSettings;

    fn shape(settings: &BloomGSettings) -> Result<Shape> {
        let Width(block_bits) = WORD.need(settings.word)?;
        Ok(Shape { block_bits, blocks_per_key: READS.need(settings.words_per_key)?, patterns: 0 })
    }

    fn shaped(asked: BloomGSettings, shape: Shape) -> BloomGSettings {
        let (words_per_key, word) = (Some(shape.blocks_per_key), Some(Width(shape.block_bits)));
        BloomGSettings { words_per_key, word, ..asked }
    }
}

#[cfg(test)]
mod tests;
