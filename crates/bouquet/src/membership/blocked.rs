#![doc = include_str!("blocked.md")]

use crate::capability::NoteType;
use crate::error::{Error, Result};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, ParameterType, Text, common, kind};
use crate::membership::block_layout::{BlockKind, Blocks, MAX_BLOCKS_PER_KEY, MAX_PATTERNS, Shape};
use crate::membership::{BitFilter, BitSettings, Sizes, Width};
use crate::shell::{ByRate, Choice, Fields, Settings, fields};

/// A cache-line blocked Bloom filter.
///
/// ```
/// use bouquet::membership::blocked::Blocked;
/// let mut filter = Blocked::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose"));
/// assert!(!filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Blocked = BitFilter<Blocks<BlockedKind>>;

/// The registry's row.
pub const KIND: Kind = kind!(Blocked);

/// Blocks of a cache line or less, one per key unless asked otherwise.
///
/// ```
/// use bouquet::Blocked;
/// let mut filter = Blocked::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// let blocks: Vec<_> = filter.bits().ones().map(|position| position / 512).collect();
/// assert!(blocks.len() > 1 && blocks.iter().all(|block| *block == blocks[0]));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BlockedKind;

const BLOCK: Parameter = Parameter {
    name: "block",
    help: "bits of a block: a cache line, or down to half a word",
    of: ParameterType::Choice { options: Width::WORDS },
};

const BLOCKS_PER_KEY: Parameter = Parameter {
    name: "blocks-per-key",
    help: "blocks over which a key's bits are spread",
    of: ParameterType::Count { min: 1, max: MAX_BLOCKS_PER_KEY as u64, default: Some(1) },
};

const PATTERNS: Parameter = Parameter {
    name: "patterns",
    help: "number of precomputed patterns that a key's bits are taken from; 0 computes them for each key",
    of: ParameterType::Count { min: 0, max: MAX_PATTERNS as u64, default: Some(0) },
};

/// The settings of a blocked Bloom filter.
///
/// ```
/// use bouquet::{Blocked, BlockedSettings, membership::Width};
/// let settings = BlockedSettings { items: Some(1_000), block: Some(Width(64)), ..Default::default() };
/// assert_eq!(Blocked::with(settings)?.settings().hashes, Some(5));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockedSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Bits of a block.
    pub block: Option<Width>,
    /// Blocks over which a key's bits are spread.
    pub blocks_per_key: Option<u32>,
    /// The number of precomputed patterns, one of which is a key's bits; 0 for bits of its own.
    pub patterns: Option<u32>,
}

impl Settings for BlockedSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        block: BLOCK,
        blocks_per_key: BLOCKS_PER_KEY,
        patterns: PATTERNS,
    ];
}

impl ByRate for BlockedSettings {}

impl BitSettings for BlockedSettings {
    fn sizes(&self) -> Sizes {
        let BlockedSettings { items, fpr, bits, hashes, .. } = *self;
        Sizes { items, fpr, bits, hashes }
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        BlockedSettings { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

impl BlockKind for BlockedKind {
    const FACTS: Facts = Facts {
        id: "blocked",
        number: 4,
        aliases: &["BBF-cache", "cache-line", "register-blocked"],
        family: "membership",
        text: Text::new(include_str!("blocked.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    type Settings = BlockedSettings;

    fn shape(settings: &BlockedSettings) -> Result<Shape> {
        let Width(block_bits) = BLOCK.need(settings.block)?;
        let blocks_per_key = BLOCKS_PER_KEY.need(settings.blocks_per_key)?;
        let patterns = PATTERNS.need(settings.patterns)?;
        if patterns > 0 && blocks_per_key > 1 {
            return Err(Error::parameter(PATTERNS.name, "0 when a key has several blocks", patterns));
        }
        Ok(Shape { block_bits, blocks_per_key, patterns })
    }

    fn shaped(asked: BlockedSettings, shape: Shape) -> BlockedSettings {
        let Shape { block_bits, blocks_per_key, patterns } = shape;
        let (block, blocks_per_key, patterns) = (Some(Width(block_bits)), Some(blocks_per_key), Some(patterns));
        BlockedSettings { block, blocks_per_key, patterns, ..asked }
    }
}

#[cfg(test)]
mod tests;
