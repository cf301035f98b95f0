//! The layout of `blocked` and `bloom-g`: a key's bits lie in one small block, or in g of them.
//!
//! # Hash bits
//!
//! Bits that choose a block and bits that choose a place in it must differ, or the two are correlated. With the digest
//! (h1, h2) and `derive` as in [`Digest::derive`]:
//!
//! * block 0 is h1, blocks 1 and 2 are the halves of `derive(1)`, block 3 the first half of `derive(2)`, each mapped to the
//!   number of blocks by fastrange;
//! * places are fields of log2(B) bits, taken from the low end of h2, then of the halves of `derive(3)`, `derive(4)`, ...;
//!   what is left of a word that is too short for a field is not used.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use crate::capability::Estimate;
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, MAX_HASHES, SplitMix, fastrange};
use crate::key::{BATCH, Key};
use crate::kind::{Facts, common};
use crate::membership::layout::{
    digests, set_one_by_one, set_positions, set_positions_shared, test_one_by_one, test_positions,
};
use crate::membership::{Access, BitSettings, Layout, Sizes};
use crate::simd::{SharedWord, View, Word, line, prefetch, set_bits, unrolled};
use crate::store::BitStore;
use crate::theory::blocks::{self, Inner};

/// What distinguishes the kinds of this layout: their facts, their settings and the shape that these describe.
///
/// ```
/// use bouquet::{BlockedSettings, membership::{BlockKind, Width, blocked::BlockedKind}};
/// let shape = BlockedKind::shape(&BlockedSettings { block: Some(Width(64)), ..Default::default() })?;
/// assert_eq!((shape.block_bits, shape.blocks_per_key), (64, 1));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait BlockKind: Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The facts of the kind.
    const FACTS: Facts;

    /// The settings of the kind.
    type Settings: BitSettings;

    /// The shape that the settings describe.
    fn shape(settings: &Self::Settings) -> Result<Shape>;

    /// The settings with this shape.
    #[must_use]
    fn shaped(asked: Self::Settings, shape: Shape) -> Self::Settings;
}

/// How blocks are made and used.
///
/// ```
/// use bouquet::{membership::{Shape, bloom_g::{BloomG, KIND}}, kind::Config};
/// let config = Config::new(KIND.facts()).set("items", "100")?.set("words-per-key", "2")?;
/// let shape = BloomG::from_config(&config)?.layout().shape();
/// assert_eq!(shape, Shape { block_bits: 64, blocks_per_key: 2, patterns: 0 });
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits of a block: 32, 64, 128, 256 or 512.
    pub block_bits: u32,
    /// Blocks that a key uses, 1 to 4.
    pub blocks_per_key: u32,
    /// The number of precomputed patterns, one of which is a key's bits in its block; 0 for bits of its own.
    pub patterns: u32,
}

/// A key's bits lie in at most this many blocks.
pub const MAX_BLOCKS_PER_KEY: u32 = 4;

/// The most patterns that may be asked for.
pub const MAX_PATTERNS: u32 = 1 << 16;

/// k positions in g blocks.
///
/// ```
/// use bouquet::{Blocked, membership::Layout};
/// let filter = Blocked::with_size(1_000, 7)?;
/// assert_eq!(filter.layout().bits(), 1_024, "whole blocks of 512 bits");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocks<K> {
    shape: Shape,
    blocks: u64,
    hashes: u32,
    /// The bits in every block of a key, and how many of the first blocks have one more: no key pays for the division.
    share: (u32, u32),
    code: Code,
    /// The [patterns](Self::pattern), if the shape has some, shared by all clones.
    patterns: Option<Arc<OnceLock<Vec<u64>>>>,
    kind: PhantomData<K>,
}

/// Up to this many pairs of block and pattern are compared to know a filter's rate; that of larger ones is estimated.
const MOST_COMPARED: u64 = 1 << 22;

/// The code for a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Code {
    /// One cache line per key.
    Line(line::Kernel),
    /// One word per key. For blocks of 64 bits and the k of a rate of 1 or 0.1 %, 5 and 7, the bits are found inline.
    Word { inline: bool },
    /// Several blocks of at most one word per key.
    Words,
    /// Position by position.
    Positions,
}

/// The fields of this many bits that a word has.
const FIELDS: [u32; 64] = {
    let (mut fields, mut width) = ([0; 64], 1);
    while width < 64 {
        fields[width] = 64 / width as u32;
        width += 1;
    }
    fields
};

/// The bits of a word, and those that a place takes in one and in half of one, the smallest block.
const WORD_BITS: u32 = 64;
const WORD_WIDTH: u32 = WORD_BITS.trailing_zeros();
const HALF_WIDTH: u32 = WORD_WIDTH - 1;

/// The bits at the first K fields of a word of hash, or at all that it has.
#[inline(always)]
fn bits_at<const K: u32, const WIDTH: u32>(hash: u64) -> u64 {
    let last = (1 << WIDTH) - 1;
    (0..K.min(64 / WIDTH)).fold(0, |bits, i| bits | 1 << (hash >> (i * WIDTH) & last))
}

/// The bits in a block of at most one word at `count` [`Fields`], after this many that are for other blocks. Out of line and by parts,
/// so that a loop over keys keeps the filter in registers.
#[inline(never)]
fn bits_of(digest: Digest, width: u32, skipped: u32, count: u32) -> u64 {
    if skipped + count <= FIELDS[width as usize & 63] {
        let hash = digest.h2 >> (skipped * width);
        return match width {
            WORD_WIDTH => unrolled!(count, bits_at[WORD_WIDTH], hash),
            _ => unrolled!(count, bits_at[HALF_WIDTH], hash),
        };
    }
    let mut fields = Fields::new(digest, width);
    (0..skipped).for_each(|_| _ = fields.next());
    (0..count).fold(0, |bits, _| bits | 1 << fields.next())
}

impl<K> PartialEq for Blocks<K> {
    fn eq(&self, other: &Self) -> bool {
        (self.shape, self.blocks, self.hashes) == (other.shape, other.blocks, other.hashes)
    }
}

/// Fields of equal width from the digest's stream of words.
struct Fields {
    digest: Digest,
    word: u64,
    spare: Option<u64>,
    left: u32,
    width: u32,
    stream: u64,
}

impl Fields {
    /// The first stream of more words.
    const MORE: u64 = line::MORE;

    #[inline]
    fn new(digest: Digest, width: u32) -> Self {
        Fields { digest, word: digest.h2, spare: None, left: FIELDS[width as usize & 63], width, stream: Self::MORE }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        if self.left == 0 {
            self.refill();
        }
        self.left -= 1;
        let field = self.word & ((1 << self.width) - 1);
        self.word >>= self.width;
        field
    }

    #[cold]
    fn refill(&mut self) {
        self.word = match self.spare.take() {
            Some(word) => word,
            None => {
                let more = self.digest.derive(self.stream);
                self.stream += 1;
                self.spare = Some(more.h2);
                more.h1
            }
        };
        self.left = FIELDS[self.width as usize & 63];
    }
}

impl<K: BlockKind> Blocks<K> {
    fn theory(&self) -> blocks::Layout {
        blocks::Layout {
            block_bits: self.shape.block_bits.into(),
            inner: Inner::Bits,
            blocks_per_key: self.shape.blocks_per_key,
        }
    }

    /// How blocks are made and used.
    ///
    /// ```
    /// use bouquet::{Blocked, membership::bloom_g::BloomG};
    /// assert_eq!(Blocked::with_rate(100, 0.01)?.layout().shape().block_bits, 512, "a cache line");
    /// assert_eq!(BloomG::with_rate(100, 0.01)?.layout().shape().block_bits, 64, "a word");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The j-th block of a digest.
    #[inline(always)]
    pub(super) fn block(&self, digest: Digest, j: u32) -> u64 {
        let word = match j {
            0 => digest.h1,
            1 => digest.derive(1).h1,
            2 => digest.derive(1).h2,
            _ => digest.derive(2).h1,
        };
        fastrange(word, self.blocks)
    }

    /// The positions per key in its j-th block: the first k mod g blocks get one more.
    #[inline]
    fn share(&self, j: u32) -> u32 {
        self.share.0 + u32::from(j < self.share.1)
    }

    /// The positions of pattern number `index`, `hashes` of them one behind the other.
    fn pattern(&self, index: u64) -> &[u64] {
        let Some(patterns) = &self.patterns else { return &[] };
        let table = patterns.get_or_init(|| {
            // The table is part of the format: a fixed seed, the positions drawn with replacement.
            let mut random = SplitMix::new(0x626C_6F63_6B65_6421);
            (0..self.shape.patterns * self.hashes).map(|_| random.below(self.shape.block_bits.into())).collect()
        });
        let start = (index * u64::from(self.hashes)) as usize;
        table.get(start..start + self.hashes as usize).unwrap_or_default()
    }

    /// The word of a key's j-th block, where blocks have at most one, and the bits in it, after this many for other blocks.
    #[inline(always)]
    fn word_mask(&self, digest: Digest, j: u32, skipped: u32) -> (usize, u64) {
        let width = self.shape.block_bits.trailing_zeros();
        let base = self.block(digest, j) << width;
        ((base / 64) as usize, bits_of(digest, width, skipped, self.share(j)) << (base % 64))
    }

    /// The word of a key that has one, and the bits in it.
    #[inline(always)]
    fn word(&self, digest: Digest, inline: bool) -> (usize, u64) {
        if !inline {
            return self.word_called(digest);
        }
        // Both as five and perhaps two more: apart they would be joined by the compiler, with shifts that vary.
        let more = if self.hashes == 7 { bits_at::<2, WORD_WIDTH>(digest.h2 >> (5 * WORD_WIDTH)) } else { 0 };
        (self.block(digest, 0) as usize, bits_at::<5, WORD_WIDTH>(digest.h2) | more)
    }

    #[inline(never)]
    fn word_called(&self, digest: Digest) -> (usize, u64) {
        self.word_mask(digest, 0, 0)
    }

    /// Calls `visit` with the word and the bits in it of each block of a key, where blocks have at most one word.
    #[inline(always)]
    fn word_masks(&self, digest: Digest, visit: impl FnMut(usize, u64)) {
        match self.shape.blocks_per_key {
            1 => self.masks_of::<1>(digest, visit),
            2 => self.masks_of::<2>(digest, visit),
            3 => self.masks_of::<3>(digest, visit),
            _ => self.masks_of::<MAX_BLOCKS_PER_KEY>(digest, visit),
        }
    }

    /// The same for G blocks per key.
    #[inline(always)]
    fn masks_of<const G: u32>(&self, digest: Digest, mut visit: impl FnMut(usize, u64)) {
        let mut skipped = 0;
        for j in 0..G {
            let (word, mask) = self.word_mask(digest, j, skipped);
            visit(word, mask);
            skipped += self.share(j);
        }
    }

    /// Out of line, so that a loop over keys with a line or a word has the registers for itself.
    #[inline(never)]
    fn test_called<W: Word>(&self, words: &[W], digest: Digest) -> bool {
        if self.code != Code::Words {
            return test_positions(self, words, digest);
        }
        let mut missing = 0;
        self.word_masks(digest, |word, mask| missing |= mask & !words.get(word).map_or(0, W::load));
        missing == 0
    }

    #[inline(never)]
    fn set_called(&self, words: &mut [u64], digest: Digest) -> bool {
        if self.code != Code::Words {
            return set_positions(self, words, digest);
        }
        let mut fresh = 0;
        self.word_masks(digest, |word, mask| {
            if let Some(word) = words.get_mut(word) {
                fresh |= mask & !*word;
                *word |= mask;
            }
        });
        fresh != 0
    }

    #[inline(never)]
    fn set_shared_called<W: SharedWord>(&self, words: &[W], digest: Digest) -> bool {
        if self.code != Code::Words {
            return set_positions_shared(self, words, digest);
        }
        let is_new = !self.test_called(words, digest);
        if is_new {
            self.word_masks(digest, |word, mask| _ = words.get(word).map(|word| word.fetch_or(mask)));
        }
        is_new
    }

    /// The kernel for a batch, unless one key after the other, hashed on the way, is faster.
    #[inline]
    fn batch_kernel(&self, words: usize) -> Option<line::Kernel> {
        match self.code {
            Code::Line(kernel) if kernel.batches_pay() || words > Self::NEAR_WORDS => Some(kernel),
            _ => None,
        }
    }
}

impl<K: BlockKind> Layout for Blocks<K> {
    const FACTS: Facts = K::FACTS;

    const HALVES: bool = true;

    type Settings = K::Settings;

    fn plan(settings: &K::Settings) -> Result<Self> {
        let shape = K::shape(settings)?;
        let Sizes { items, fpr, bits, hashes } = settings.sizes();
        let theory = blocks::Layout {
            block_bits: shape.block_bits.into(),
            inner: Inner::Bits,
            blocks_per_key: shape.blocks_per_key,
        };
        let block = u64::from(shape.block_bits);
        let (bits, hashes) = match (bits, items, hashes) {
            (Some(bits), _, Some(hashes)) => (bits, hashes),
            (Some(bits), Some(items), None) => (bits, blocks::best_hashes(theory, bits as f64 / items as f64).0),
            (None, Some(items), hashes) => {
                let fpr = common::FPR.need(fpr)?;
                let mut size = blocks::for_rate(theory, items, fpr, hashes)?;
                if shape.patterns > 0 {
                    // What keys of one pattern add is taken from the rate; a larger filter adds less than this.
                    let per_key = size.bits as f64 / items as f64;
                    let shared = blocks::pattern_collisions(block, per_key, shape.patterns.into());
                    if shared >= fpr {
                        let least = format!("0 or more than {:.0} for this rate", block as f64 / per_key / fpr);
                        return Err(Error::parameter("patterns", least, shape.patterns));
                    }
                    size = blocks::for_rate(theory, items, (fpr - shared) / (1.0 - shared), hashes)?;
                }
                (size.bits, size.hashes)
            }
            (_, None, _) => return Err(common::ITEMS.missing("bits` and `hashes")),
        };
        if hashes < shape.blocks_per_key {
            let least = format!("at least the {} blocks of a key", shape.blocks_per_key);
            return Err(Error::parameter("hashes", least, hashes));
        }
        let blocks = bits.div_ceil(block);
        let (hashes, g) = (hashes.min(MAX_HASHES), shape.blocks_per_key);
        let mut layout = Blocks {
            shape,
            blocks,
            hashes,
            share: (hashes / g, hashes % g),
            code: Code::Positions,
            patterns: (shape.patterns > 0).then(Arc::default),
            kind: PhantomData,
        };
        layout.code = match shape {
            Shape { block_bits: line::BITS, blocks_per_key: 1, patterns: 0 } => {
                line::Kernel::new(blocks, hashes).map_or(Code::Positions, Code::Line)
            }
            Shape { block_bits: ..=WORD_BITS, blocks_per_key: 1, patterns: 0 } => {
                Code::Word { inline: shape.block_bits == WORD_BITS && (hashes == 5 || hashes == 7) }
            }
            Shape { block_bits: ..=WORD_BITS, patterns: 0, .. } => Code::Words,
            _ => Code::Positions,
        };
        Ok(layout)
    }

    fn settings(&self, asked: K::Settings) -> K::Settings {
        K::shaped(asked.sized(self.bits(), self.hashes), self.shape)
    }

    fn bits(&self) -> u64 {
        self.blocks * u64::from(self.shape.block_bits)
    }

    fn hashes(&self) -> u32 {
        self.hashes
    }

    #[inline]
    fn all(&self, digest: Digest, mut visit: impl FnMut(u64) -> bool) -> bool {
        let block_bits = u64::from(self.shape.block_bits);
        if self.shape.patterns > 0 {
            let base = self.block(digest, 0) * block_bits;
            let pattern = self.pattern(fastrange(digest.h2, self.shape.patterns.into()));
            return pattern.iter().all(|place| visit(base + place));
        }
        let mut fields = Fields::new(digest, self.shape.block_bits.trailing_zeros());
        (0..self.shape.blocks_per_key).all(|j| {
            let base = self.block(digest, j) * block_bits;
            (0..self.share(j)).all(|_| visit(base + fields.next()))
        })
    }

    fn expected_rate(&self, items: u64) -> f64 {
        let own = blocks::rate(self.theory(), self.bits(), items, self.hashes);
        if self.shape.patterns == 0 || items == 0 {
            return own;
        }
        let per_key = self.bits() as f64 / items as f64;
        let shared = blocks::pattern_collisions(self.shape.block_bits.into(), per_key, self.shape.patterns.into());
        shared + (1.0 - shared) * own
    }

    fn rate_now(&self, bits: &BitStore) -> f64 {
        let block = u64::from(self.shape.block_bits);
        let shares: Vec<_> = (0..self.shape.blocks_per_key).map(|j| self.share(j) as i32).collect();
        let mut sums = vec![0.0; shares.len()];
        let patterns = u64::from(self.shape.patterns);
        for start in (0..self.bits()).step_by(block as usize) {
            let fill = bits.count_ones_in(start, start + block) as f64 / block as f64;
            if patterns > 0 && self.blocks.saturating_mul(patterns) <= MOST_COMPARED {
                let is_held = |index: &u64| self.pattern(*index).iter().all(|place| bits.get(start + place));
                sums[0] += (0..patterns).filter(is_held).count() as f64 / patterns as f64;
                continue;
            }
            // As many as a block has bits for are held; the others match by chance.
            let held = match patterns {
                0 => 0.0,
                _ => (f64::ln_1p(-fill) / f64::ln_1p(-1.0 / block as f64) / (f64::from(self.hashes) * patterns as f64))
                    .min(1.0),
            };
            for (sum, share) in sums.iter_mut().zip(&shares) {
                *sum += held + (1.0 - held) * fill.powi(*share);
            }
        }
        sums.iter().map(|sum| sum / self.blocks as f64).product()
    }

    fn expected_fill(&self, items: u64) -> (f64, f64) {
        blocks::fill(self.theory(), self.bits(), items, self.hashes)
    }

    fn cardinality(&self, bits: &BitStore) -> Estimate {
        Estimate::from_blocks(self.theory(), bits.len() - bits.count_ones(), self.bits(), self.hashes)
    }

    fn cardinality_error(&self, keys: f64) -> f64 {
        blocks::cardinality_error(self.theory(), self.bits(), self.hashes, keys)
    }

    fn halved(&self) -> Option<Self> {
        let code = match self.code {
            Code::Line(_) => line::Kernel::new(self.blocks / 2, self.hashes).map_or(Code::Positions, Code::Line),
            code => code,
        };
        self.blocks.is_multiple_of(2).then(|| Blocks { blocks: self.blocks / 2, code, ..self.clone() })
    }

    fn fold(&self, position: u64) -> u64 {
        let block = u64::from(self.shape.block_bits);
        position / block / 2 * block + position % block
    }
}

impl<K: BlockKind> Access for Blocks<K> {
    #[inline(always)]
    fn is_inline(&self) -> bool {
        match self.code {
            Code::Line(kernel) => kernel.is_inline(),
            Code::Word { inline } => inline,
            _ => false,
        }
    }

    #[inline(always)]
    fn test<W: Word>(&self, words: &[W], digest: Digest) -> bool {
        match self.code {
            Code::Line(kernel) => kernel.test(words, digest),
            Code::Word { inline } => {
                let (word, mask) = self.word(digest, inline);
                words.get(word).is_some_and(|word| mask & !word.load() == 0)
            }
            _ => self.test_called(words, digest),
        }
    }

    #[inline(always)]
    fn set(&self, words: &mut [u64], digest: Digest) -> bool {
        match self.code {
            Code::Line(kernel) => kernel.set(words, digest),
            Code::Word { inline } => {
                let (word, mask) = self.word(digest, inline);
                words.get_mut(word).is_some_and(|word| {
                    let before = *word;
                    *word |= mask;
                    mask & !before != 0
                })
            }
            _ => self.set_called(words, digest),
        }
    }

    // Where a key has one word, exactly one of several threads that insert it is told that it was new.
    #[inline(always)]
    fn set_shared<W: SharedWord>(&self, words: &[W], digest: Digest) -> bool {
        match self.code {
            Code::Line(kernel) => kernel.set_shared(words, digest),
            Code::Word { inline } => {
                let (word, mask) = self.word(digest, inline);
                words.get(word).is_some_and(|word| set_bits(word, mask))
            }
            _ => self.set_shared_called(words, digest),
        }
    }

    #[inline(always)]
    fn prefetch<W>(&self, words: &[W], digest: Digest) {
        for j in 0..self.shape.blocks_per_key {
            prefetch(words, (self.block(digest, j) * u64::from(self.shape.block_bits) / 64) as usize);
        }
    }

    fn test_batch<W: Word, Q: Key>(&self, words: &[W], hashing: &Hashing, keys: &[Q], answers: &mut [bool]) {
        let (Some(kernel), View::Plain(words)) = (self.batch_kernel(words.len()), W::view(words)) else {
            return test_one_by_one(self, words, hashing, keys, answers);
        };
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            kernel.test_batch(words, &digests(self, words, hashing, keys)[..keys.len()], answers);
        }
    }

    fn set_batch<Q: Key>(&self, words: &mut [u64], hashing: &Hashing, keys: &[Q]) -> u64 {
        let Some(kernel) = self.batch_kernel(words.len()) else {
            return set_one_by_one(self, words, hashing, keys);
        };
        let batches = keys.chunks(BATCH);
        batches.map(|keys| kernel.set_batch(words, &digests(self, words, hashing, keys)[..keys.len()])).sum()
    }
}

#[cfg(test)]
mod tests;
