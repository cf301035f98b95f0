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
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use crate::capability::Estimate;
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, MAX_HASHES, SplitMix, fastrange};
use crate::key::{BATCH, Key};
use crate::kind::{Config, Facts, Setting};
use crate::membership::Layout;
use crate::membership::layout::{
    digests, set_each, set_each_shared, set_one_by_one, set_single, set_word, test_each, test_one_by_one, test_word,
};
use crate::simd::{line, prefetch, unrolled};
use crate::store::BitStore;
use crate::theory::blocks::{self, Inner};

/// What distinguishes the kinds of this layout: their facts and how they read their settings.
///
/// ```
/// use bouquet::{membership::{BlockKind, blocked::Blocked}, kind::Config};
/// let config = Config::new(&Blocked::FACTS).set("block", "64")?;
/// let shape = Blocked::shape(&config)?;
/// assert_eq!((shape.block_bits, shape.blocks_per_key), (64, 1));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait BlockKind: Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The facts of the kind.
    const FACTS: Facts;

    /// The shape that the settings describe.
    fn shape(config: &Config) -> Result<Shape>;

    /// The settings that describe the shape, besides `bits` and `hashes`.
    fn settings(shape: &Shape, config: Config) -> Config;
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
/// use bouquet::{BlockedBloom, membership::Layout};
/// let filter = BlockedBloom::with_size(1_000, 7)?;
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
    /// The places in a cache line, if that is the block and there is unrolled code for them; else zero. For 6, the k of a rate of 1 %,
    /// and 7, set is inlined.
    places: u32,
    /// The vector code for them, if all follow from the digest or from one word derived of it.
    code: Option<line::Code>,
    /// Whether all bits of a key lie in one word.
    one_word: bool,
    /// Whether that is a block of 64 bits and k that of a rate of 1 or 0.1 %, for which the bits are found inline.
    usual_word: bool,
    /// The [patterns](Self::pattern), if the shape has some, shared by all clones.
    patterns: Option<Arc<OnceLock<Vec<u64>>>>,
    kind: PhantomData<K>,
}

/// Up to so many pairs of block and pattern are compared to know a filter's rate; that of larger ones is estimated.
const MOST_COMPARED: u64 = 1 << 22;

/// The bits of a cache line, those that a place in it takes, and the places that a word of hash has.
const LINE_BITS: u32 = 512;
const LINE_WIDTH: u32 = LINE_BITS.trailing_zeros();
const LINE_FIELDS: u32 = 64 / LINE_WIDTH;

/// The fields of so many bits that a word has.
const FIELDS: [u32; 64] = {
    let (mut fields, mut width) = ([0; 64], 1);
    while width < 64 {
        fields[width] = 64 / width as u32;
        width += 1;
    }
    fields
};

/// The most places in a line for which there is unrolled code: as many as two words of hash have, and two more.
const LINE_HASHES: u32 = 16;

/// Calls `visit` with the first K places in a line; [`Fields`] gives the same.
#[inline(always)]
fn places_in_line<const K: u32>(digest: Digest, mut visit: impl FnMut(usize, u64)) {
    let more = if K > LINE_FIELDS { digest.derive(Fields::MORE) } else { digest };
    for i in 0..K {
        let word = [digest.h2, more.h1, more.h2][(i / LINE_FIELDS) as usize];
        let field = word >> (i % LINE_FIELDS * LINE_WIDTH);
        visit((field / 64 % 8) as usize, field % 64);
    }
}

/// Whether a line has the bits at the first K places.
#[inline(always)]
fn line_has<const K: u32>(line: &[u64; 8], digest: Digest) -> bool {
    let mut ones = 0;
    places_in_line::<K>(digest, |word, bit| ones += line[word] >> bit & 1);
    ones == u64::from(K)
}

/// Sets the bits at the first K places and says whether one was new.
#[inline(always)]
fn set_in_line<const K: u32>(line: &mut [u64; 8], digest: Digest) -> bool {
    let mut ones = 0;
    places_in_line::<K>(digest, |word, bit| {
        ones += line[word] >> bit & 1;
        line[word] |= 1 << bit;
    });
    ones != u64::from(K)
}

/// As [`Layout::set_shared`] at the first K places.
#[inline(always)]
fn set_in_shared_line<const K: u32>(digest: Digest, load: impl Fn(usize) -> u64, put: impl Fn(usize, u64)) -> bool {
    let mut ones = 0;
    places_in_line::<K>(digest, |word, bit| ones += load(word) >> bit & 1);
    let new = ones != u64::from(K);
    if new {
        places_in_line::<K>(digest, |word, bit| put(word, 1 << bit));
    }
    new
}

/// Sets the bits of an unusual number of places. Out of line and by parts, so that a loop over keys keeps the filter in registers.
#[inline(never)]
fn set_places(code: Option<line::Code>, line: &mut [u64; 8], places: u32, digest: Digest) -> bool {
    match code {
        Some(line::Code::Avx512(avx512)) => line::set_any(avx512, line, places, digest, Fields::MORE),
        _ => unrolled!(places, set_in_line, line, digest),
    }
}

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

/// The bits in a block of at most one word at `count` [`Fields`], after so many that are for other blocks. Out of line and by parts,
/// as [`set_places`] is.
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
    const MORE: u64 = 3;

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
    /// use bouquet::{BlockedBloom, membership::bloom_g::BloomG};
    /// assert_eq!(BlockedBloom::with_rate(100, 0.01)?.layout().shape().block_bits, 512, "a cache line");
    /// assert_eq!(BloomG::with_rate(100, 0.01)?.layout().shape().block_bits, 64, "a word");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The j-th block of a digest.
    #[inline(always)]
    fn block(&self, digest: Digest, j: u32) -> u64 {
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

    /// The word of a key's j-th block, where blocks have at most one, and the bits in it, after so many for other blocks.
    #[inline(always)]
    fn word_mask(&self, digest: Digest, j: u32, skipped: u32) -> (usize, u64) {
        let width = self.shape.block_bits.trailing_zeros();
        let base = self.block(digest, j) << width;
        ((base / 64) as usize, bits_of(digest, width, skipped, self.share(j)) << (base % 64))
    }

    /// The same of the first block. Out of line, so that a loop over keys with the usual bits is short.
    #[inline(never)]
    fn unusual_word(&self, digest: Digest) -> (usize, u64) {
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

    /// Out of line, so that a loop over keys with the usual layout has the registers for itself.
    #[inline(never)]
    fn test_unusual(&self, words: &[u64], digest: Digest) -> bool {
        if self.places != 0 {
            let line = words.as_chunks().0.get(self.block(digest, 0) as usize);
            return line.is_some_and(|line| unrolled!(self.places, line_has, line, digest));
        }
        if self.in_word() {
            let mut missing = 0;
            self.word_masks(digest, |word, mask| missing |= mask & !words.get(word).copied().unwrap_or(0));
            return missing == 0;
        }
        test_each(self, words, digest)
    }

    /// The code for a batch, unless one key after the other, hashed on the way, is faster: in the cache, where it is inlined.
    #[inline]
    fn batch_code(&self, words: &[u64]) -> Option<line::Code> {
        self.code.filter(|code| !code.is_inlined(self.places) || words.len() > Self::NEAR_WORDS)
    }

    /// Whether a block fits in one word and its bits are the key's own, so that a mask serves.
    #[inline]
    fn in_word(&self) -> bool {
        self.shape.block_bits <= WORD_BITS && self.shape.patterns == 0
    }
}

impl<K: BlockKind> Layout for Blocks<K> {
    const FACTS: Facts = K::FACTS;

    fn plan(config: &Config) -> Result<Self> {
        let shape = K::shape(config)?;
        let theory = blocks::Layout {
            block_bits: shape.block_bits.into(),
            inner: Inner::Bits,
            blocks_per_key: shape.blocks_per_key,
        };
        let block = u64::from(shape.block_bits);
        let hashes = config.count("hashes").map(|k| k as u32);
        let (bits, hashes) = match (config.count("bits"), config.count("items"), hashes) {
            (Some(bits), _, Some(hashes)) => (bits, hashes),
            (Some(bits), Some(items), None) => (bits, blocks::best_hashes(theory, bits as f64 / items as f64).0),
            (None, Some(items), hashes) => {
                let fpr = config.real("fpr").unwrap_or(0.01);
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
            (_, None, _) => {
                return Err(Error::parameter(
                    "items",
                    "a whole number, at least 1",
                    "missing (or give `bits` and `hashes`)",
                ));
            }
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
            places: 0,
            code: None,
            one_word: false,
            usual_word: false,
            patterns: (shape.patterns > 0).then(Arc::default),
            kind: PhantomData,
        };
        if shape == (Shape { block_bits: LINE_BITS, blocks_per_key: 1, patterns: 0 }) && hashes <= LINE_HASHES {
            layout.places = hashes;
            layout.code = line::Code::detected().filter(|_| hashes <= 2 * line::MOST);
        }
        layout.one_word = layout.in_word() && g == 1;
        layout.usual_word = layout.one_word && shape.block_bits == WORD_BITS && (hashes == 5 || hashes == 7);
        Ok(layout)
    }

    fn settings(&self, config: Config) -> Config {
        let config = config.put("bits", Setting::Count(self.bits())).put("hashes", Setting::Count(self.hashes.into()));
        K::settings(&self.shape, config)
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

    #[inline(always)]
    fn in_one_word(&self, digest: Digest) -> Option<(usize, u64)> {
        if self.usual_word {
            // Both as five and perhaps two more: apart they would be joined by the compiler, with shifts that vary.
            let more = if self.hashes == 7 { bits_at::<2, WORD_WIDTH>(digest.h2 >> (5 * WORD_WIDTH)) } else { 0 };
            return Some((self.block(digest, 0) as usize, bits_at::<5, WORD_WIDTH>(digest.h2) | more));
        }
        self.one_word.then(|| self.unusual_word(digest))
    }

    #[inline]
    fn masks(&self, digest: Digest, mut visit: impl FnMut(usize, u64)) {
        if self.in_word() {
            return self.word_masks(digest, visit);
        }
        self.all(digest, |position| {
            visit((position / 64) as usize, 1 << (position % 64));
            true
        });
    }

    // Out of line, as the next: what is inlined is the way of keys that lie in one word, for which neither is called.
    #[inline(never)]
    fn test_loaded(&self, digest: Digest, load: impl Fn(usize) -> u64) -> bool {
        let mut missing = 0;
        self.masks(digest, |word, mask| missing |= mask & !load(word));
        missing == 0
    }

    #[inline(never)]
    fn set_shared<W>(&self, words: &[W], digest: Digest, load: impl Fn(&W) -> u64, put: impl Fn(&W, u64)) -> bool {
        if self.places == 0 {
            return set_each_shared(self, words, digest, load, put);
        }
        let Some(line) = words.as_chunks::<8>().0.get(self.block(digest, 0) as usize) else { return false };
        let (load, put) = (|word: usize| load(&line[word]), |word: usize, bits| put(&line[word], bits));
        unrolled!(self.places, set_in_shared_line, digest, load, put)
    }

    #[inline(always)]
    fn test_shared(&self, words: &[AtomicU64], digest: Digest) -> Option<bool> {
        let lines = words.as_chunks().0;
        Some(line::test_shared(self.code?, lines, self.blocks, self.places, digest, Fields::MORE))
    }

    #[inline(always)]
    fn test(&self, words: &[u64], digest: Digest) -> bool {
        match self.code {
            Some(code) => line::test(code, words.as_chunks().0, self.blocks, self.places, digest, Fields::MORE),
            None => self.test_unusual(words, digest),
        }
    }

    #[inline(always)]
    fn is_usual(&self) -> bool {
        self.places != 0
    }

    #[inline(always)]
    fn set_usually(&self, words: &mut [u64], digest: Digest) -> Option<bool> {
        if self.places == 0 {
            return None;
        }
        let line = words.as_chunks_mut().0.get_mut(self.block(digest, 0) as usize)?;
        Some(match (self.places, self.code) {
            (6, Some(line::Code::Avx512(avx512))) => line::set::<6>(avx512, line, digest.h2),
            (7, Some(line::Code::Avx512(avx512))) => line::set::<7>(avx512, line, digest.h2),
            (6, _) => set_in_line::<6>(line, digest),
            (7, _) => set_in_line::<7>(line, digest),
            (places, code) => set_places(code, line, places, digest),
        })
    }

    #[inline(never)]
    fn set(&self, words: &mut [u64], digest: Digest) -> bool {
        if self.places != 0 {
            let line = words.as_chunks_mut().0.get_mut(self.block(digest, 0) as usize);
            return line.is_some_and(|line| set_places(self.code, line, self.places, digest));
        }
        if self.in_word() {
            let mut fresh = 0;
            self.word_masks(digest, |word, mask| {
                if let Some(word) = words.get_mut(word) {
                    fresh |= mask & !*word;
                    *word |= mask;
                }
            });
            return fresh != 0;
        }
        set_each(self, words, digest)
    }

    #[inline(always)]
    fn prefetch<W>(&self, words: &[W], digest: Digest) {
        if self.shape.blocks_per_key == 1 {
            return prefetch(words, (self.block(digest, 0) * u64::from(self.shape.block_bits) / 64) as usize);
        }
        for j in 0..self.shape.blocks_per_key {
            prefetch(words, (self.block(digest, j) * u64::from(self.shape.block_bits) / 64) as usize);
        }
    }

    fn test_batch<Q: Key>(&self, words: &[u64], hashing: &Hashing, keys: &[Q], answers: &mut [bool]) {
        if self.one_word {
            let test = |digest| self.in_one_word(digest).is_some_and(|word_mask| test_word(words, word_mask));
            return test_one_by_one(self, words, hashing, keys, answers, test);
        }
        let Some(code) = self.batch_code(words) else {
            return test_one_by_one(self, words, hashing, keys, answers, |digest| self.test(words, digest));
        };
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            let digests = &digests(self, words, hashing, keys)[..keys.len()];
            let lines = words.as_chunks().0;
            line::test_batch(code, lines, self.blocks, self.places, digests, Fields::MORE, answers);
        }
    }

    fn set_batch<Q: Key>(&self, words: &mut [u64], hashing: &Hashing, keys: &[Q]) -> u64 {
        if self.one_word {
            return set_one_by_one(self, words, hashing, keys, |words, digest| {
                self.in_one_word(digest).is_some_and(|word_mask| set_word(words, word_mask))
            });
        }
        let Some(line::Code::Avx512(avx512)) = self.batch_code(words) else {
            return set_one_by_one(self, words, hashing, keys, |words, digest| set_single(self, words, digest));
        };
        let each = keys.chunks(BATCH).map(|keys| {
            let digests = &digests(self, words, hashing, keys)[..keys.len()];
            line::set_batch(avx512, words.as_chunks_mut().0, self.blocks, self.places, digests, Fields::MORE)
        });
        each.sum()
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
        self.blocks.is_multiple_of(2).then(|| Blocks { blocks: self.blocks / 2, ..self.clone() })
    }

    fn fold(&self, position: u64) -> u64 {
        let block = u64::from(self.shape.block_bits);
        position / block / 2 * block + position % block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Structure;
    use crate::membership::{BitFilter, blocked::Blocked, bloom_g::Words};
    use crate::shared::SharedBitFilter;

    /// What machines compute that have less than this one, and this one itself.
    #[test]
    fn the_code_for_every_machine_sets_and_answers_the_same() {
        for hashes in 1..=LINE_HASHES {
            let config = Config::new(&Blocked::FACTS).set("bits", "8192").unwrap();
            let config = config.set("hashes", &hashes.to_string()).unwrap();
            let layout = Blocks::<Blocked>::plan(&config).unwrap();
            let forced = |code| {
                let layout = Blocks { code, ..layout.clone() };
                BitFilter::with_parts(&config, layout, BitStore::zeroed(8_192).unwrap(), 0)
            };
            let keys: Vec<u64> = (0..600).collect();
            let asked: Vec<u64> = (500..5_000).collect();
            let mut plain = forced(None);
            let new = plain.insert_batch(&keys[..300]);
            let single: Vec<_> = keys[200..].iter().map(|key| plain.insert(key)).collect();
            let found: Vec<_> = asked.iter().map(|key| plain.contains(key)).collect();
            assert!(found.contains(&true) && found.contains(&false), "{hashes} places");
            let codes = line::Code::all().filter(|_| hashes <= 2 * line::MOST);
            for code in codes.map(Some).chain([None, layout.code]) {
                let mut filter = forced(code);
                assert_eq!(filter.insert_batch(&keys[..300]), new, "{code:?}, {hashes} places");
                assert!(keys[200..].iter().zip(&single).all(|(key, new)| filter.insert(key) == *new));
                assert_eq!(filter.bits(), plain.bits(), "{code:?}, {hashes} places");
                assert!(asked.iter().zip(&found).all(|(key, found)| filter.contains(key) == *found));
                let mut answers = vec![false; asked.len()];
                filter.contains_batch(&asked, &mut answers);
                assert_eq!(answers, found, "{code:?}, {hashes} places");

                let shared = SharedBitFilter::from(forced(code));
                assert_eq!(shared.insert_batch(&keys[..300]), new, "{code:?}, {hashes} places");
                assert!(keys[200..].iter().zip(&single).all(|(key, new)| shared.insert(key) == *new));
                assert!(asked.iter().zip(&found).all(|(key, found)| shared.contains(key) == *found));
                assert_eq!(shared.into_filter().bits(), plain.bits(), "{code:?}, {hashes} places");
            }
        }
    }

    /// Blocks of a word and of half of one, near and far, with as many bits as have code of their own and more than a word of hash has.
    #[test]
    fn bits_in_words_are_at_the_positions() {
        for (word, g) in ["32", "64"].into_iter().flat_map(|word| (1..=MAX_BLOCKS_PER_KEY).map(move |g| (word, g))) {
            for (hashes, bits) in
                (g..=2 * LINE_HASHES).map(|hashes| (hashes, 1 << 13)).chain([(5, 1 << 22), (9, 1 << 22)])
            {
                let settings = [("bits", bits), ("hashes", hashes), ("words-per-key", g)];
                let config = Config::new(&Words::FACTS).set("word", word).unwrap();
                let config =
                    settings.iter().fold(config, |config, (name, value)| config.set(name, &value.to_string()).unwrap());
                let mut single = BitFilter::<Blocks<Words>>::from_config(&config).unwrap();
                let (mut batch, mut words) = (single.clone(), single.bits().words().to_vec());
                let layout = single.layout().clone();
                let keys: Vec<u64> = (0..300).chain(0..10).collect();
                let digest = |key: &u64| key.digest(single.hashing());
                let new: Vec<_> = keys.iter().map(|key| set_each(&layout, &mut words, digest(key))).collect();
                let asked: Vec<u64> = (0..3_000).collect();
                let expected: Vec<_> = asked.iter().map(|key| test_each(&layout, &words, digest(key))).collect();

                let whole = digest(&7);
                let mut visits = 0;
                layout.masks(whole, |_, _| visits += 1);
                assert_eq!((visits, layout.in_one_word(whole).is_some()), (g, g == 1), "joined");
                assert!(keys.iter().zip(&new).all(|(key, new)| single.insert(key) == *new), "{config:?}");
                assert_eq!(batch.insert_batch(&keys), new.iter().filter(|new| **new).count() as u64);
                assert_eq!((single.bits().words(), batch.bits().words()), (&words[..], &words[..]), "{config:?}");
                assert!(asked.iter().zip(&expected).all(|(key, expected)| single.contains(key) == *expected));
                let mut answers = vec![false; asked.len()];
                single.contains_batch(&asked, &mut answers);
                assert_eq!(answers, expected, "{config:?}");

                let shared = SharedBitFilter::from(BitFilter::<Blocks<Words>>::from_config(&config).unwrap());
                assert!(keys.iter().zip(&new).all(|(key, new)| shared.insert(key) == *new), "{config:?}");
                assert!(asked.iter().zip(&expected).all(|(key, expected)| shared.contains(key) == *expected));
                assert_eq!(shared.into_filter(), single, "{config:?}");

                // Half of the blocks, as many bits in each.
                let half = single.halved().unwrap().unwrap();
                assert!(keys.iter().all(|key| half.contains(key)), "{config:?}");
            }
        }
    }

    /// Beyond the second-level cache, where batches ask the memory in advance, at the rates that people ask for.
    #[test]
    fn large_filters_are_the_same_on_every_machine() {
        for (fpr, items) in [(0.1, "700000"), (0.01, "300000"), (0.001, "200000"), (0.0001, "100000")] {
            let config =
                Config::new(&Blocked::FACTS).set("items", items).unwrap().set("fpr", &fpr.to_string()).unwrap();
            let layout = Blocks::<Blocked>::plan(&config).unwrap();
            assert!(layout.bits() > 64 * Blocks::<Blocked>::NEAR_WORDS as u64 && layout.places != 0, "{fpr}");
            let filters = line::Code::all().map(Some).chain([None]).map(|code| {
                let store = BitStore::zeroed(layout.bits()).unwrap();
                let mut filter = BitFilter::with_parts(&config, Blocks { code, ..layout.clone() }, store, 0);
                let new = filter.insert_batch(&(0..5_000_u64).collect::<Vec<_>>());
                let keys: Vec<u64> = (4_000..9_000).collect();
                let mut answers = vec![false; keys.len()];
                filter.contains_batch(&keys, &mut answers);
                assert!(
                    keys.iter().zip(&answers).all(|(key, answer)| filter.contains(key) == *answer),
                    "{code:?}, {fpr}"
                );
                (filter, new, answers)
            });
            let filters: Vec<_> = filters.collect();
            assert!(filters.iter().all(|filter| *filter == filters[0]), "{fpr}");
            assert!(filters[0].2[..1_000].iter().all(|answer| *answer), "{fpr}");
        }
    }
}
