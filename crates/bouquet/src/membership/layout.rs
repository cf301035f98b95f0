//! Where the bits of a key lie, and how they are tested and set: what the members of the family differ in.

use crate::capability::Estimate;
use crate::error::Result;
use crate::hash::{Digest, Hashing};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{Facts, Figure};
use crate::shell::{ByRate, Choice};
use crate::simd::{CACHED_WORDS, SharedWord, Word, prefetch};
use crate::store::BitStore;
use crate::theory;

/// What every kind of the family is sized by.
///
/// ```
/// use bouquet::{BlockedSettings, membership::BitSettings};
/// let settings = BlockedSettings::default().sized(1_024, 5);
/// assert_eq!((settings.bits, settings.sizes().hashes), (Some(1_024), Some(5)));
/// ```
pub trait BitSettings: ByRate {
    /// What was given of the numbers that size a filter.
    fn sizes(&self) -> Sizes;

    /// The same settings for this size.
    #[must_use]
    fn sized(self, bits: u64, hashes: u32) -> Self;
}

/// The numbers that size a filter, as far as they are given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
}

/// Bits of a block or of a word of one: 512, 256, 128, 64 or 32, as far as the kind has them.
///
/// ```
/// use bouquet::{Blocked, BlockedSettings, membership::Width};
/// let settings = |bits| BlockedSettings { items: Some(100), block: Some(Width(bits)), ..Default::default() };
/// assert_eq!(Blocked::with(settings(64))?.layout().shape().block_bits, 64);
/// assert!(Blocked::with(settings(65)).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width(pub u32);

impl Choice for Width {
    const WORDS: &'static [&'static str] = &["512", "256", "128", "64", "32"];
    const MEMBERS: &'static [Self] = &[Width(512), Width(256), Width(128), Width(64), Width(32)];
}

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

    /// Whether filters of it can be [halved](Self::halved), if their size allows that.
    const HALVES: bool = false;

    /// The settings of the kind.
    type Settings: BitSettings;

    /// What was asked for, with what this hashing decides where nothing was said.
    fn suited(asked: Self::Settings, _hashing: &Hashing) -> Self::Settings {
        asked
    }

    /// The layout that the settings describe, by accuracy or by size.
    fn plan(settings: &Self::Settings) -> Result<Self>;

    /// The settings of this layout, made for what `asked` says.
    fn settings(&self, asked: Self::Settings) -> Self::Settings;

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

    /// What else there is to tell of this content.
    fn figures(&self, _bits: &BitStore) -> Vec<Figure> {
        Vec::new()
    }

    /// The standard error of [`cardinality`](Self::cardinality) for this many keys.
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

    /// The hashing that a filter of these settings uses when this one is asked for.
    fn hashing(_settings: &Self::Settings, asked: &Hashing) -> Hashing {
        asked.clone()
    }

    /// Refuses a hashing that a filter of these settings cannot use.
    fn check_hashing(_settings: &Self::Settings, _hashing: &Hashing) -> Result<()> {
        Ok(())
    }
}

/// How the bits of a layout are tested and set. What is given here goes by the [positions](Layout::all), one after the other; layouts
/// that have a kernel in `simd` bring their own.
pub trait Access: Layout {
    /// Up to this many words batches gain nothing by prefetching. Where the words of a key take longer to find than to read, these are
    /// more than the second-level cache has.
    const NEAR_WORDS: usize = CACHED_WORDS;

    /// Whether batches prefetch the words of many keys before they look at the first, when there are this many words.
    #[inline(always)]
    fn prefetches(&self, words: usize) -> bool {
        words > Self::NEAR_WORDS
    }

    /// Whether the code of [`test`](Self::test) is short, so that single calls have it inlined.
    #[inline(always)]
    fn is_inline(&self) -> bool {
        !self.needs_key()
    }

    /// The same for [`set`](Self::set) in these words, which must not be empty.
    #[inline(always)]
    fn is_set_inline(&self, words: &[u64]) -> bool {
        self.is_inline() & !words.is_empty()
    }

    /// Whether all bits of a digest are one, in plain words or such that threads share: each bit is looked at once, at some moment.
    #[inline]
    fn test<W: Word>(&self, words: &[W], digest: Digest) -> bool {
        test_positions(self, words, digest)
    }

    /// Sets all bits of a digest and says whether one was new.
    #[inline]
    fn set(&self, words: &mut [u64], digest: Digest) -> bool {
        set_positions(self, words, digest)
    }

    /// The same in words that threads share. It looks first: of a key that is there already nothing is written, so that its cache lines
    /// stay with every thread. Of another all bits are set without a look at each, which would cost mispredicted branches.
    #[inline]
    fn set_shared<W: SharedWord>(&self, words: &[W], digest: Digest) -> bool {
        set_positions_shared(self, words, digest)
    }

    /// Prefetches the words of a digest. `W` is a word of 64 bits, plain or shared between threads.
    #[inline]
    fn prefetch<W>(&self, words: &[W], digest: Digest) {
        self.all(digest, |position| {
            prefetch(words, (position / 64) as usize);
            true
        });
    }

    /// Tests keys, `answers[i]` for `keys[i]`.
    fn test_batch<W: Word, K: Key>(&self, words: &[W], hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        test_one_by_one(self, words, hashing, keys, answers);
    }

    /// Inserts keys and says how many had a new bit.
    fn set_batch<K: Key>(&self, words: &mut [u64], hashing: &Hashing, keys: &[K]) -> u64 {
        set_one_by_one(self, words, hashing, keys)
    }
}

/// Hashes a batch and prefetches the words of every key, if the filter is larger than the second-level cache.
#[inline(always)]
pub(crate) fn digests<L: Access, W, K: Key>(layout: &L, words: &[W], hashing: &Hashing, keys: &[K]) -> [Digest; BATCH] {
    if words.len() <= CACHED_WORDS {
        return digest_batch(hashing, keys, |_| ());
    }
    digest_batch(hashing, keys, |digest| layout.prefetch(words, digest))
}

/// Whether all bits of a digest are one. Without a branch on the way: a mispredicted one costs more than the bits that it
/// would save.
#[inline]
pub(crate) fn test_positions<L: Layout, W: Word>(layout: &L, words: &[W], digest: Digest) -> bool {
    let mut all = 1;
    layout.all(digest, |position| {
        all &= words.get((position / 64) as usize).map_or(0, |word| word.load() >> (position % 64));
        true
    });
    all & 1 == 1
}

/// Sets the bits of a digest one by one and says whether one was new. It looks at all of them first: that costs less than to look
/// at each in the course of setting it, and a key that is there already writes nothing.
#[inline]
pub(crate) fn set_positions<L: Layout>(layout: &L, words: &mut [u64], digest: Digest) -> bool {
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

/// As [`Access::set_shared`], one position after the other.
#[inline]
pub(crate) fn set_positions_shared<L: Layout, W: SharedWord>(layout: &L, words: &[W], digest: Digest) -> bool {
    let is_new = !test_positions(layout, words, digest);
    if is_new {
        layout.all(digest, |position| {
            // The old word is not used: setting a bit alone is several times cheaper.
            let _ = words.get((position / 64) as usize).map(|word| word.fetch_or(1 << (position % 64)));
            true
        });
    }
    is_new
}

/// Tests keys one after the other; in a filter that [prefetches](Access::prefetches), the words of a batch at a time.
#[inline]
pub(crate) fn test_one_by_one<L: Access, W: Word, K: Key>(
    layout: &L,
    words: &[W],
    hashing: &Hashing,
    keys: &[K],
    answers: &mut [bool],
) {
    if !layout.prefetches(words.len()) {
        keys.iter().zip(answers).for_each(|(key, answer)| *answer = layout.test(words, key.digest(hashing)));
        return;
    }
    for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
        let digests = digests(layout, words, hashing, keys);
        for (digest, answer) in digests.iter().zip(answers).take(keys.len()) {
            *answer = layout.test(words, *digest);
        }
    }
}

/// As [`test_one_by_one`] for insertion, which says how many had a new bit.
#[inline]
pub(crate) fn set_one_by_one<L: Access, K: Key>(layout: &L, words: &mut [u64], hashing: &Hashing, keys: &[K]) -> u64 {
    if !layout.prefetches(words.len()) {
        return keys.iter().map(|key| u64::from(layout.set(words, key.digest(hashing)))).sum();
    }
    let mut fresh = 0;
    for keys in keys.chunks(BATCH) {
        let digests = digests(layout, words, hashing, keys);
        fresh += digests.iter().take(keys.len()).map(|digest| u64::from(layout.set(words, *digest))).sum::<u64>();
    }
    fresh
}
