//! Where the bits of a key lie: what the members of the family differ in.

use std::sync::atomic::AtomicU64;

use crate::capability::Estimate;
use crate::error::Result;
use crate::hash::{Digest, Hashing};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{Config, Facts};
use crate::simd::prefetch;
use crate::store::BitStore;
use crate::theory;

/// Where a key's bits lie, and what follows from it.
///
/// Law: the positions are a function of the layout, the hashing and the key. So the filter of a union is the bitwise
/// OR of the filters, and every filter with this engine can be merged.
///
/// ```
/// use bouquet::{Bloom, membership::Layout, hash::Hashing};
/// let mut filter = Bloom::with_rate(100, 0.01)?;
/// filter.insert("rose");
/// let mut positions = 0;
/// let digest = Hashing::default().digest(b"rose");
/// assert!(filter.layout().all(digest, |position| {
///     positions += 1;
///     filter.bits().get(position)
/// }));
/// assert_eq!(positions, filter.hashes());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Layout: Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The facts of the kind.
    const FACTS: Facts;

    /// Whether frames are arithmetic-coded unless asked otherwise.
    const CODED: bool = false;

    /// Up to so many words nothing answers many keys faster than one after the other. Where the words of a key take longer to
    /// find than to read, these are more than the second-level cache has.
    const NEAR_WORDS: usize = CACHED_WORDS;

    /// Whether batches ask the memory for the words of many keys before they look at the first, when there are so many words.
    #[inline(always)]
    fn asks_ahead(&self, words: usize) -> bool {
        words > Self::NEAR_WORDS
    }

    /// The layout that the settings describe, by accuracy or by size.
    fn plan(config: &Config) -> Result<Self>;

    /// The settings that describe this layout.
    fn settings(&self, config: Config) -> Config;

    /// Bits in all.
    fn bits(&self) -> u64;

    /// Positions per key.
    fn hashes(&self) -> u32;

    /// Whether positions follow from the key itself, by a scheme that hashes it in its own way, and not from its digest.
    #[inline(always)]
    fn needs_key(&self) -> bool {
        false
    }

    /// Visits the positions of a digest in order until `visit` answers false, and says whether it never did.
    fn all(&self, digest: Digest, visit: impl FnMut(u64) -> bool) -> bool;

    /// The same for a layout that [needs the key](Self::needs_key).
    fn all_of_key(&self, hashing: &Hashing, key: &[u8], visit: impl FnMut(u64) -> bool) -> bool {
        self.all(hashing.digest(key), visit)
    }

    /// Visits the words of a digest, each with the bits that the digest has in it: what threads that share the words need,
    /// who change a word at a time. A layout that puts several bits in one word joins them; a visit with no bits is allowed.
    #[inline]
    fn masks(&self, digest: Digest, mut visit: impl FnMut(usize, u64)) {
        self.all(digest, |position| {
            visit((position / 64) as usize, 1 << (position % 64));
            true
        });
    }

    /// The word in which all bits of a digest lie, and they in it, if all bits of any key lie in one.
    #[inline(always)]
    fn in_one_word(&self, _digest: Digest) -> Option<(usize, u64)> {
        None
    }

    /// Whether all bits of a digest are one.
    #[inline]
    fn test(&self, words: &[u64], digest: Digest) -> bool {
        test_each(self, words, digest)
    }

    /// Whether all bits of a digest are one in words that `load` reads, by their number.
    #[inline(always)]
    fn test_loaded(&self, digest: Digest, load: impl Fn(usize) -> u64) -> bool {
        let mut missing = 0;
        self.masks(digest, |word, mask| missing |= mask & !load(word));
        missing == 0
    }

    /// Whether all bits of a digest are one in words that threads share, of which each bit is looked at once, at some moment; nothing if
    /// there is no quicker way than to [load](Self::test_loaded) them one by one.
    #[inline(always)]
    fn test_shared(&self, _words: &[AtomicU64], _digest: Digest) -> Option<bool> {
        None
    }

    /// Tests keys in words that threads share as [`test_batch`](Self::test_batch) does, if there is a quicker way than one key after the
    /// other, and says whether there is.
    fn test_shared_batch<K: Key>(&self, _: &[AtomicU64], _: &Hashing, _keys: &[K], _answers: &mut [bool]) -> bool {
        false
    }

    /// Sets all bits of a digest in words that threads share, which `load` reads and of which `put` sets bits, and says whether
    /// one was zero. It looks first: of a key that is there already nothing is put.
    #[inline]
    fn set_shared<W>(&self, words: &[W], digest: Digest, load: impl Fn(&W) -> u64, put: impl Fn(&W, u64)) -> bool {
        set_each_shared(self, words, digest, load, put)
    }

    /// Sets all bits of a digest and says whether one was new.
    #[inline]
    fn set(&self, words: &mut [u64], digest: Digest) -> bool {
        set_each(self, words, digest)
    }

    /// Sets all bits of a digest as [`set`](Self::set) does, for single insertions, which have it inlined. Where
    /// [that is not so](Self::is_set_inline) it may say nothing, and has done nothing then.
    #[inline(always)]
    fn set_usually(&self, words: &mut [u64], digest: Digest) -> Option<bool> {
        if words.is_empty() { None } else { Some(self.set(words, digest)) }
    }

    /// Whether [`test`](Self::test) is inlined.
    #[inline(always)]
    fn is_usual(&self) -> bool {
        !self.needs_key()
    }

    /// Whether [`set_usually`](Self::set_usually) will answer for these words. Computed without a branch.
    #[inline(always)]
    fn is_set_inline(&self, words: &[u64]) -> bool {
        self.is_usual() & !words.is_empty()
    }

    /// Asks the memory for the words of a digest. `W` is a word of 64 bits, plain or shared between threads.
    #[inline]
    fn prefetch<W>(&self, words: &[W], digest: Digest) {
        self.all(digest, |position| {
            prefetch(words, (position / 64) as usize);
            true
        });
    }

    /// Tests keys, `answers[i]` for `keys[i]`; vector code may choose its instructions here, once.
    fn test_batch<K: Key>(&self, words: &[u64], hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        test_one_by_one(self, words, hashing, keys, answers, |digest| self.test(words, digest));
    }

    /// Inserts keys and says how many had a new bit.
    fn set_batch<K: Key>(&self, words: &mut [u64], hashing: &Hashing, keys: &[K]) -> u64 {
        set_one_by_one(self, words, hashing, keys, |words, digest| set_single(self, words, digest))
    }

    /// The expected false-positive rate with this many distinct keys.
    fn expected_rate(&self, items: u64) -> f64;

    /// The false-positive rate of this very content.
    fn rate_now(&self, bits: &BitStore) -> f64 {
        bits.fill().powi(self.hashes() as i32)
    }

    /// The expected share of ones with this many distinct keys, and its standard deviation.
    fn expected_fill(&self, items: u64) -> (f64, f64) {
        let (bits, hashes) = (self.bits(), self.hashes());
        let per_bit = 1.0 / bits as f64;
        let deviation = theory::spread::ones_variance(bits, items, hashes).sqrt();
        (theory::spread::ones(bits, items, hashes) * per_bit, deviation * per_bit)
    }

    /// The number of distinct keys in this content.
    fn cardinality(&self, bits: &BitStore) -> Estimate;

    /// The standard error of [`cardinality`](Self::cardinality) for so many keys.
    ///
    /// Slices of m/k bits have the same: averaging k estimates of error sqrt((m/k) v) leaves sqrt(m v)/k.
    fn cardinality_error(&self, keys: f64) -> f64 {
        theory::algebra::cardinality_error(self.bits(), self.hashes(), keys)
    }

    /// The layout of half the size whose filters are these ones folded; `None` when there is none.
    fn halved(&self) -> Option<Self> {
        None
    }

    /// The position in the [halved](Self::halved) layout on which this one falls.
    fn fold(&self, position: u64) -> u64 {
        position / 2
    }

    /// The hashing that the filter uses when this one is asked for.
    fn hashing(&self, asked: &Hashing) -> Hashing {
        asked.clone()
    }
}

/// Hashes a batch and, when the filter is larger than the cache, asks the memory for the words of every key before the
/// first is looked at. `W` is a word of 64 bits, plain or shared between threads.
#[inline(always)]
pub(crate) fn digests<L: Layout, W, K: Key>(layout: &L, words: &[W], hashing: &Hashing, keys: &[K]) -> [Digest; BATCH] {
    if words.len() <= CACHED_WORDS {
        return digest_batch(hashing, keys, |_| ());
    }
    digest_batch(hashing, keys, |digest| layout.prefetch(words, digest))
}

/// Whether a word has all bits of a mask.
#[inline(always)]
pub(crate) fn test_word(words: &[u64], (word, mask): (usize, u64)) -> bool {
    words.get(word).is_some_and(|word| mask & !word == 0)
}

/// Sets the bits of a mask in a word and says whether one was new.
#[inline(always)]
pub(crate) fn set_word(words: &mut [u64], (word, mask): (usize, u64)) -> bool {
    words.get_mut(word).is_some_and(|word| {
        let before = *word;
        *word |= mask;
        mask & !before != 0
    })
}

/// Whether all bits of a digest are one. Without a branch on the way: a mispredicted one costs more than the bits that it
/// would save.
#[inline]
pub(crate) fn test_each<L: Layout>(layout: &L, words: &[u64], digest: Digest) -> bool {
    let mut all = 1;
    layout.all(digest, |position| {
        all &= words.get((position / 64) as usize).map_or(0, |word| word >> (position % 64));
        true
    });
    all & 1 == 1
}

/// Sets the bits of a digest one by one and says whether one was new. It looks at all of them first: that costs less than to look
/// at each in the course of setting it, and a key that is there already writes nothing.
#[inline]
pub(crate) fn set_each<L: Layout>(layout: &L, words: &mut [u64], digest: Digest) -> bool {
    // As many as most filters have; they are kept because to make them anew, between writes, costs more than all the rest.
    let (mut positions, mut count, mut all) = ([0; 16], 0, 1);
    layout.all(digest, |position| {
        all &= words.get((position / 64) as usize).map_or(0, |word| word >> (position % 64));
        if let Some(place) = positions.get_mut(count) {
            *place = position;
        }
        count += 1;
        true
    });
    if all & 1 == 1 {
        return false;
    }
    let mut set = |position: u64| {
        if let Some(word) = words.get_mut((position / 64) as usize) {
            *word |= 1 << (position % 64);
        }
        true
    };
    match positions.get(..count) {
        Some(positions) => positions.iter().all(|position| set(*position)),
        None => layout.all(digest, set),
    };
    true
}

/// Tests keys one after the other by their digests; where the filter is larger than the cache, their words are asked for in advance.
#[inline]
pub(crate) fn test_one_by_one<L: Layout, K: Key>(
    layout: &L,
    words: &[u64],
    hashing: &Hashing,
    keys: &[K],
    answers: &mut [bool],
    test: impl Fn(Digest) -> bool,
) {
    if !layout.asks_ahead(words.len()) {
        keys.iter().zip(answers).for_each(|(key, answer)| *answer = test(key.digest(hashing)));
        return;
    }
    for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
        let digests = digests(layout, words, hashing, keys);
        for (digest, answer) in digests.iter().zip(answers).take(keys.len()) {
            *answer = test(*digest);
        }
    }
}

/// Sets all bits of a digest, inlined if the layout has that.
#[inline(always)]
pub(crate) fn set_single<L: Layout>(layout: &L, words: &mut [u64], digest: Digest) -> bool {
    layout.set_usually(words, digest).unwrap_or_else(|| layout.set(words, digest))
}

/// As [`test_one_by_one`] for insertion, which says how many had a new bit.
#[inline]
pub(crate) fn set_one_by_one<L: Layout, K: Key>(
    layout: &L,
    words: &mut [u64],
    hashing: &Hashing,
    keys: &[K],
    set: impl Fn(&mut [u64], Digest) -> bool,
) -> u64 {
    let set = |words: &mut [u64], digest| u64::from(set(words, digest));
    if !layout.asks_ahead(words.len()) {
        return keys.iter().map(|key| set(words, key.digest(hashing))).sum();
    }
    let mut fresh = 0;
    for keys in keys.chunks(BATCH) {
        let digests = digests(layout, words, hashing, keys);
        fresh += digests.iter().take(keys.len()).map(|digest| set(words, *digest)).sum::<u64>();
    }
    fresh
}

/// Sets the bits of a digest as [`Layout::set_shared`] does, word by word.
#[inline]
pub(crate) fn set_each_shared<L: Layout, W>(
    layout: &L,
    words: &[W],
    digest: Digest,
    load: impl Fn(&W) -> u64,
    put: impl Fn(&W, u64),
) -> bool {
    // As many as most filters have. They are kept because to make them anew for the writes costs more, most of all when two
    // threads insert: the fewer instructions a key has, the more keys the processor has under way while it waits for a line.
    let (mut kept, mut count, mut missing) = ([(0, 0); 16], 0, 0);
    layout.masks(digest, |word, mask| {
        missing |= mask & !words.get(word).map_or(0, &load);
        if let Some(place) = kept.get_mut(count) {
            *place = (word, mask);
        }
        count += 1;
    });
    if missing == 0 {
        return false;
    }
    let put = |word: usize, mask| _ = words.get(word).map(|word| put(word, mask));
    match kept.get(..count) {
        Some(kept) => kept.iter().for_each(|(word, mask)| put(*word, *mask)),
        None => layout.masks(digest, put),
    }
    true
}

pub(crate) use crate::key::CACHED_BITS;

/// Filters up to this size are taken to be in the second-level cache, where prefetching only costs.
pub(crate) const CACHED_WORDS: usize = (CACHED_BITS / 64) as usize;
