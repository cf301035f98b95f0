#![doc = include_str!("ultra_fast.md")]

use crate::capability::{Estimate, NoteType};
use crate::error::{Error, Result};
use crate::hash::{Digest, HashId, Hashing, fastrange};
use crate::key::{BATCH, Key, one_batch_ahead};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, ParameterType, Text, common, kind};
use crate::membership::layout::{set_one_by_one, set_positions, set_positions_shared, test_one_by_one, test_positions};
use crate::membership::{Access, BitFilter, BitSettings, Layout, Sizes, Width};
use crate::shell::{ByRate, Choice, Fields, Settings, choices, fields};
use crate::simd::{Place, SharedWord, Word, prefetch, split_block};
use crate::store::{BitStore, Words};
use crate::theory::blocks::{self, Inner};

/// An ultra-fast Bloom filter.
///
/// ```
/// use bouquet::membership::ultra_fast::UltraFast;
/// let mut filter = UltraFast::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose"));
/// assert!(!filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type UltraFast = BitFilter<Split>;

/// The registry's row.
pub const KIND: Kind = kind!(UltraFast);

/// One bit in each of k words of a block.
///
/// ```
/// use bouquet::UltraFast;
/// let mut filter = UltraFast::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// let lanes = filter.bits().ones().map(|position| position % 256 / 32);
/// assert!(lanes.eq(0..8), "one bit in each word of 32 bits");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    blocks: u64,
    lanes: u32,
    lane_bits: u32,
    parquet: bool,
    /// The bits of the hash that choose the block: Parquet takes the upper half, others all.
    chooser: u64,
    /// For eight words of 32 bits.
    kernel: Option<split_block::Kernel>,
}

/// Odd multipliers for up to 16 lanes: Parquet's eight, then eight more from SplitMix64, all part of the format.
const SALT: [u32; 16] = {
    let more = [0xef95_3637, 0x477d_7801, 0x15e6_7e01, 0x0ddd_bdb5, 0x6387_44cb, 0x568a_c011, 0xedb5_d62b, 0xc867_209b];
    let mut all = [0; 16];
    let mut i = 0;
    while i < 8 {
        all[i] = split_block::SALT[i];
        all[i + 8] = more[i];
        i += 1;
    }
    all
};

const LANES: Parameter = Parameter {
    name: "hashes",
    help: "words of a block, one bit in each: 4, 8 or 16",
    of: ParameterType::Count { min: 4, max: 16, default: Some(8) },
};

const LANE_BITS: Parameter =
    Parameter { name: "word", help: "bits of a word", of: ParameterType::Choice { options: &["32", "64"] } };

const MODE: Parameter = Parameter {
    name: "mode",
    help: "parquet: bit for bit the split-block filter of Apache Parquet",
    of: ParameterType::Choice { options: Mode::WORDS },
};

/// The settings of an ultra-fast Bloom filter.
///
/// ```
/// use bouquet::{UltraFast, UltraFastSettings};
/// let settings = UltraFastSettings { items: Some(1_000), hashes: Some(16), ..Default::default() };
/// assert_eq!(UltraFast::with(settings)?.bits().len() % 512, 0, "blocks of 16 words of 32 bits");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UltraFastSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Words of a block, one bit in each.
    pub hashes: Option<u32>,
    /// Bits of a word.
    pub word: Option<Width>,
    /// Whether it is Parquet's filter.
    pub mode: Option<Mode>,
}

impl Settings for UltraFastSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: LANES,
        word: LANE_BITS,
        mode: MODE,
    ];
}

impl ByRate for UltraFastSettings {}

impl BitSettings for UltraFastSettings {
    fn sizes(&self) -> Sizes {
        let UltraFastSettings { items, fpr, bits, hashes, .. } = *self;
        Sizes { items, fpr, bits, hashes }
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        UltraFastSettings { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

/// Whether filters are those of Apache Parquet.
///
/// ```
/// use bouquet::{UltraFast, membership::ultra_fast::Mode};
/// assert_eq!(UltraFast::parquet(100, 0.01)?.settings().mode, Some(Mode::Parquet));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are not.
    Free,
    /// Bit for bit.
    Parquet,
}

choices!(Mode { Free = "free", Parquet = "parquet" });

/// Parquet's filters have at most this many blocks, whose number is multiplied with 32 bits of hash.
const PARQUET_MAX_BLOCKS: u64 = 1 << 31;

impl Split {
    #[inline(always)]
    pub(super) fn block_bits(&self) -> u64 {
        u64::from(self.lanes * self.lane_bits)
    }

    /// The bits of a word of a block.
    #[inline(always)]
    pub(super) fn lane_bits(&self) -> u64 {
        self.lane_bits.into()
    }

    fn theory(&self) -> blocks::Layout {
        blocks::Layout { block_bits: self.block_bits(), inner: Inner::Slices, blocks_per_key: 1 }
    }

    #[inline(always)]
    pub(super) fn block(&self, digest: Digest) -> u64 {
        fastrange(digest.h1 & self.chooser, self.blocks)
    }

    /// Hands the halves of the keys' digests that a kernel needs to `each`, a batch at a time with its first key's number. Of words that
    /// are `far`, the blocks of a batch are prefetched before the one before it is dealt with.
    #[inline(always)]
    fn batches<W, K: Key>(
        &self,
        far: Option<Place<W>>,
        hashing: &Hashing,
        keys: &[K],
        mut each: impl FnMut(usize, &[u64]),
    ) {
        let Some(words) = far else {
            let mut halves = [0; BATCH];
            for (batch, start) in keys.chunks(BATCH).zip((0..).step_by(BATCH)) {
                halves.iter_mut().zip(batch).for_each(|(half, key)| *half = key.digest(hashing).h1);
                each(start, &halves[..batch.len()]);
            }
            return;
        };
        let make = |keys: &[K], halves: &mut [u64; BATCH]| {
            for (half, key) in halves.iter_mut().zip(keys) {
                let digest = key.digest(hashing);
                *half = digest.h1;
                words.prefetch((self.block(digest) * 4) as usize);
            }
        };
        one_batch_ahead(keys, 0, make, each);
    }
}

impl Layout for Split {
    const FACTS: Facts = Facts {
        id: "ultra-fast",
        number: 6,
        aliases: &["UFBF", "SBBF", "split-block", "parquet"],
        family: "membership",
        text: Text::new(include_str!("ultra_fast.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const HALVES: bool = true;

    type Settings = UltraFastSettings;

    fn plan(settings: &UltraFastSettings) -> Result<Self> {
        let lanes = LANES.need(settings.hashes)?;
        if !lanes.is_power_of_two() {
            return Err(Error::parameter(LANES.name, "4, 8 or 16", lanes));
        }
        let Width(lane_bits) = LANE_BITS.need(settings.word)?;
        let parquet = MODE.need(settings.mode)? == Mode::Parquet;
        let chooser = if parquet { u64::MAX << 32 } else { u64::MAX };
        let kernel = (lanes == 8 && lane_bits == 32).then(|| split_block::Kernel::new(parquet));
        if parquet && kernel.is_none() {
            return Err(Error::parameter(MODE.name, "free unless blocks are 8 words of 32 bits", "parquet"));
        }
        let mut layout = Split { blocks: 1, lanes, lane_bits, parquet, chooser, kernel };
        let bits = match (settings.bits, settings.items) {
            (Some(bits), _) => bits,
            (None, Some(items)) => {
                blocks::for_rate(layout.theory(), items, common::FPR.need(settings.fpr)?, Some(lanes))?.bits
            }
            (None, None) => return Err(common::ITEMS.missing(common::BITS.name)),
        };
        layout.blocks = bits.div_ceil(layout.block_bits());
        if parquet && layout.blocks > PARQUET_MAX_BLOCKS {
            return Err(Error::parameter(common::BITS.name, "at most 2^39 in mode parquet", bits));
        }
        Ok(layout)
    }

    fn settings(&self, asked: UltraFastSettings) -> UltraFastSettings {
        let mode = if self.parquet { Mode::Parquet } else { Mode::Free };
        let settings = asked.sized(self.bits(), self.lanes);
        UltraFastSettings { word: Some(Width(self.lane_bits)), mode: Some(mode), ..settings }
    }

    fn hashing(settings: &UltraFastSettings, asked: &Hashing) -> Hashing {
        if settings.mode == Some(Mode::Parquet) { Hashing::xxh64() } else { asked.clone() }
    }

    fn check_hashing(settings: &UltraFastSettings, hashing: &Hashing) -> Result<()> {
        let is_public = matches!(hashing.id(), HashId::Folded | HashId::Xxh3 | HashId::Xxh64);
        if settings.mode == Some(Mode::Parquet) && (hashing.seed() != 0 || !is_public) {
            return Err(Error::parameter(MODE.name, "free unless the hash is public with seed 0", "parquet"));
        }
        Ok(())
    }

    fn bits(&self) -> u64 {
        self.blocks * self.block_bits()
    }

    fn hashes(&self) -> u32 {
        self.lanes
    }

    #[inline]
    fn all(&self, digest: Digest, mut visit: impl FnMut(u64) -> bool) -> bool {
        let base = self.block(digest) * self.block_bits();
        let shift = 32 - self.lane_bits.trailing_zeros();
        SALT[..self.lanes as usize].iter().enumerate().all(|(lane, salt)| {
            let place = (digest.h1 as u32).wrapping_mul(*salt) >> shift;
            visit(base + lane as u64 * u64::from(self.lane_bits) + u64::from(place))
        })
    }

    fn expected_rate(&self, items: u64) -> f64 {
        blocks::rate(self.theory(), self.bits(), items, self.lanes)
    }

    fn rate_now(&self, bits: &BitStore) -> f64 {
        let (block, lane) = (self.block_bits(), u64::from(self.lane_bits));
        let fill = |start| bits.count_ones_in(start, start + lane) as f64 / lane as f64;
        let sum: f64 = (0..self.blocks)
            .map(|index| (0..u64::from(self.lanes)).map(|j| fill(index * block + j * lane)).product::<f64>())
            .sum();
        sum / self.blocks as f64
    }

    fn expected_fill(&self, items: u64) -> (f64, f64) {
        blocks::fill(self.theory(), self.bits(), items, self.lanes)
    }

    fn cardinality(&self, bits: &BitStore) -> Estimate {
        Estimate::from_blocks(self.theory(), bits.len() - bits.count_ones(), self.bits(), self.lanes)
    }

    fn cardinality_error(&self, keys: f64) -> f64 {
        blocks::cardinality_error(self.theory(), self.bits(), self.lanes, keys)
    }

    fn halved(&self) -> Option<Self> {
        self.blocks.is_multiple_of(2).then_some(Split { blocks: self.blocks / 2, ..*self })
    }

    fn fold(&self, position: u64) -> u64 {
        let block = self.block_bits();
        position / block / 2 * block + position % block
    }
}

impl Access for Split {
    #[inline(always)]
    fn is_inline(&self) -> bool {
        self.kernel.is_some_and(split_block::Kernel::is_inline)
    }

    #[inline(always)]
    fn is_set_inline(&self, words: &[u64]) -> bool {
        self.kernel.is_some_and(|kernel| kernel.is_set_inline(words))
    }

    #[inline(always)]
    fn test<W: Word>(&self, words: &[W], digest: Digest) -> bool {
        match self.kernel {
            Some(kernel) => kernel.test(words, digest.h1),
            None => test_other(*self, words, digest.h1),
        }
    }

    #[inline(always)]
    fn set(&self, words: &mut [u64], digest: Digest) -> bool {
        match self.kernel {
            Some(kernel) => kernel.set(words, digest.h1),
            None => set_positions(self, words, digest),
        }
    }

    #[inline(always)]
    fn set_shared<W: SharedWord>(&self, words: &[W], digest: Digest) -> bool {
        match self.kernel {
            Some(kernel) => kernel.set_shared(words, digest.h1),
            None => set_other_shared(*self, words, digest.h1),
        }
    }

    #[inline(always)]
    fn prefetch<W>(&self, words: &[W], digest: Digest) {
        prefetch(words, (self.block(digest) * self.block_bits() / 64) as usize);
    }

    fn test_batch<W: Word, K: Key>(&self, words: &[W], hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        let Some(kernel) = self.kernel else { return test_one_by_one(self, words, hashing, keys, answers) };
        let (count, far) = (keys.len().min(answers.len()), self.prefetches(words.len()).then(|| Place::of(words)));
        self.batches(far, hashing, &keys[..count], |start, halves| {
            kernel.test_batch(words, halves, &mut answers[start..start + halves.len()]);
        });
    }

    fn set_batch<K: Key>(&self, words: &mut [u64], hashing: &Hashing, keys: &[K]) -> u64 {
        let Some(kernel) = self.kernel else { return set_one_by_one(self, words, hashing, keys) };
        let (mut fresh, far) = (0, self.prefetches(words.len()).then(|| Place::of(words)));
        self.batches(far, hashing, keys, |_, halves| fresh += kernel.set_batch(words, halves));
        fresh
    }
}

/// Tests blocks that have no kernel. Out of line and by value, so that a loop over keys with one keeps the filter in registers; of the
/// digest the half that is used.
#[inline(never)]
fn test_other<W: Word>(layout: Split, words: &[W], h1: u64) -> bool {
    test_positions(&layout, words, Digest { h1, h2: 0 })
}

/// Sets bits of such blocks in words that threads share.
#[inline(never)]
fn set_other_shared<W: SharedWord>(layout: Split, words: &[W], h1: u64) -> bool {
    set_positions_shared(&layout, words, Digest { h1, h2: 0 })
}

impl UltraFast {
    /// A filter in Parquet's own form for `items` keys at a rate of `fpr`.
    ///
    /// ```
    /// use bouquet::UltraFast;
    /// let filter = UltraFast::parquet(1_000, 0.01)?;
    /// assert!(filter.to_parquet().is_some_and(|bitset| bitset.len() as u64 * 8 == filter.bits().len()));
    /// assert!(UltraFast::with_rate(1_000, 0.01)?.to_parquet().is_none(), "not that form");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn parquet(items: u64, fpr: f64) -> Result<Self> {
        Self::with(UltraFastSettings { mode: Some(Mode::Parquet), ..UltraFastSettings::by_rate(items, fpr)? })
    }

    /// The bitset of a Parquet split-block filter; `None` unless the filter is in mode `parquet`.
    ///
    /// ```
    /// use bouquet::membership::ultra_fast::UltraFast;
    /// let mut filter = UltraFast::parquet(100, 0.01)?;
    /// filter.insert("rose");
    /// let bitset = filter.to_parquet().unwrap();
    /// assert!(UltraFast::from_parquet(&bitset)?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_parquet(&self) -> Option<Vec<u8>> {
        let bytes = || self.bits().words().iter().flat_map(|word| word.to_le_bytes()).collect();
        self.layout().parquet.then(bytes)
    }

    /// The filter with this bitset of a Parquet split-block filter, which has a multiple of 32 bytes.
    ///
    /// ```
    /// use bouquet::UltraFast;
    /// assert!(!UltraFast::from_parquet(&[0; 64])?.contains("rose"), "all zeros: empty");
    /// assert!(UltraFast::from_parquet(&[255; 64])?.contains("rose"), "all ones: full");
    /// assert!(UltraFast::from_parquet(&[0; 33]).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_parquet(bitset: &[u8]) -> Result<Self> {
        if bitset.is_empty() || !bitset.len().is_multiple_of(32) {
            return Err(Error::corrupt("bitset", "a positive multiple of 32 bytes", bitset.len()));
        }
        let bits = bitset.len() as u64 * 8;
        let settings = UltraFastSettings { bits: Some(bits), mode: Some(Mode::Parquet), ..Default::default() };
        let store = BitStore::from_words(Words::from_le_bytes(bitset)?, bits);
        Self::with_bits(settings, store.ok_or_else(|| Error::corrupt("bitset", bits, bitset.len() * 8))?)
    }
}

#[cfg(test)]
mod tests;
