//! Bit filters that threads share.

use crate::error::{Result, same};
use crate::hash::Hashing;
use crate::key::{BATCH, Key};
use crate::kind::{Config, Structure};
use crate::membership::blocked::BlockedKind;
use crate::membership::standard::Flat;
use crate::membership::ultra_fast::Split;
use crate::membership::{Access, BitFilter, Blocks, digests};
use crate::shared::tally::Tally;
use crate::simd::{CACHED_WORDS, Word, set_bits};
use crate::store::atomic::AtomicWords;
use crate::store::{BitStore, Words};

/// A [standard](crate::membership::standard) Bloom filter that threads share.
///
/// ```
/// use bouquet::SharedBloom;
/// let filter = SharedBloom::with_rate(1_000, 0.01)?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| filter.insert("rose"));
///     scope.spawn(|| filter.insert("iris"));
/// });
/// assert!(filter.contains("rose") && filter.contains("iris"));
/// assert_eq!(filter.items(), 2);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type SharedBloom = SharedBitFilter<Flat>;

/// A [blocked](crate::membership::blocked) Bloom filter that threads share. With blocks of 64 bits an insertion changes one
/// word, and exactly one of several threads that insert a new key is told so.
///
/// ```
/// use bouquet::{SharedBlocked, membership::blocked::KIND, kind::Config};
/// let config = Config::new(KIND.facts()).set("items", "1000")?.set("block", "64")?;
/// let filter = SharedBlocked::from_config(&config)?;
/// let told: u32 = std::thread::scope(|scope| {
///     let threads = [(); 2].map(|()| scope.spawn(|| u32::from(filter.insert("rose"))));
///     threads.map(|thread| thread.join().unwrap()).iter().sum()
/// });
/// assert_eq!(told, 1);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type SharedBlocked = SharedBitFilter<Blocks<BlockedKind>>;

/// An [ultra-fast](crate::membership::ultra_fast) Bloom filter that threads share.
///
/// ```
/// use bouquet::SharedUltraFast;
/// let filter = SharedUltraFast::with_rate(1_000, 0.01)?;
/// assert_eq!(filter.insert_batch(&["rose", "iris", "rose"]), 2);
/// assert!(filter.contains("iris"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type SharedUltraFast = SharedBitFilter<Split>;

/// A filter of bits that threads share: every method takes `&self`, and none waits for another thread.
///
/// It has the bits and answers of the [`BitFilter`] of the same layout. Changing one into the other copies nothing.
///
/// ```
/// use bouquet::{Bloom, shared::SharedBitFilter};
/// let mut alone = Bloom::with_rate(1_000, 0.01)?;
/// alone.insert("rose");
/// let shared = SharedBitFilter::from(alone);
/// std::thread::scope(|scope| _ = scope.spawn(|| shared.insert("iris")));
/// assert!(shared.contains("rose") && shared.contains("iris"));
/// # Ok::<(), bouquet::Error>(())
/// ```
///
/// # What is promised
///
/// * A call of [`insert`](Self::insert) that turns a bit one answers `true`. No bit is lost: when all insertions have returned, the filter is, bit for bit, the one that a single thread would have made.
/// * [`contains`](Self::contains) is `true` for every key whose insertion happened before, in the sense of the memory
///   model: earlier in the same thread, or made known by a join, a lock, a channel. During the insertion it may
///   be either.
/// * `true` from `insert` is certain: no insertion of the key had happened before. `false` says that all of the key's
///   bits were set by the end of the call, by others.
/// * Of several threads that insert the same new key, **at least one** is told that it was new: the first that looks finds
///   a bit of the key zero. Several may be told so, when they look before all of its bits are set.
///   Where a key's bits lie in one word, **exactly one** is told: `blocked` with blocks of 32 or 64 bits and without
///   patterns, and `bloom-g` with words of 32 or 64 bits, both with one block per key.
///
///   The exception is a false positive: when other keys have set all bits of the key meanwhile, nobody
///   is told.
/// * Nothing is said about other memory: one who sees a key does not thereby see what the inserting thread wrote
///   before. Bits may come from any key, so that nothing could be concluded anyway.
#[derive(Debug)]
pub struct SharedBitFilter<L: Access> {
    layout: L,
    hashing: Hashing,
    words: AtomicWords,
    /// Settings that recreate an equal empty filter.
    settings: L::Settings,
    items: Tally,
}

/// Up to this many words nothing inserts many keys faster than one after the other. Where the words of a key lie apart, to ask for
/// them takes longer than the processor, which waits for each change, needs to fetch them by itself from any cache (32 MiB).
const fn near_words<L: Access>() -> usize {
    if L::NEAR_WORDS > CACHED_WORDS { 8 * L::NEAR_WORDS } else { L::NEAR_WORDS }
}

impl<L: Access> SharedBitFilter<L> {
    /// A filter for `items` distinct keys whose false-positive rate is then `fpr`.
    ///
    /// ```
    /// use bouquet::SharedBloom;
    /// assert!(SharedBloom::with_rate(1_000_000, 0.01).is_ok());
    /// assert!(SharedBloom::with_rate(1_000, 1.5).is_err());
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        BitFilter::with_rate(items, fpr).map(Self::from)
    }

    /// A filter of `bits` bits and `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::SharedBloom;
    /// assert_eq!(SharedBloom::with_size(1 << 20, 5)?.snapshot().bits().len(), 1 << 20);
    /// assert!(SharedBloom::with_size(0, 5).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        BitFilter::with_size(bits, hashes).map(Self::from)
    }

    /// An empty filter of the settings in `config`, which must be for the kind of the layout.
    ///
    /// ```
    /// use bouquet::{SharedBloom, counting, membership::standard, kind::Config};
    /// let config = Config::new(standard::KIND.facts()).set("bits", "4096")?.set("hashes", "5")?;
    /// assert_eq!(SharedBloom::from_config(&config)?.snapshot().bits().len(), 4096);
    /// let config = Config::new(counting::counting::KIND.facts()).set("items", "1000")?;
    /// assert!(SharedBloom::from_config(&config).is_err(), "another kind's settings");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        same("kind", BitFilter::<L>::FACTS.id, config.facts().id)?;
        BitFilter::from_config(config).map(Self::from)
    }

    /// Inserts a key and says whether it was certainly new. See [what is promised](Self#what-is-promised) when several
    /// threads insert the same key. A key that is there already is only read, so that frequent keys disturb nobody.
    ///
    /// ```
    /// use bouquet::SharedBloom;
    /// let seen = SharedBloom::with_rate(1_000, 0.01)?;
    /// assert!(seen.insert("rose"));
    /// assert!(!seen.insert("rose"), "not new any more");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    // Always inlined, as `contains` is and both are of a `BitFilter`.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.items.add(1);
        self.set(key)
    }

    /// Inserts a key that is counted already.
    #[inline(always)]
    fn set<K: Key + ?Sized>(&self, key: &K) -> bool {
        if self.layout.is_inline() & self.hashing.is_folded() {
            return self.layout.set_shared(self.words.as_slice(), key.digest(&self.hashing));
        }
        self.set_called(key)
    }

    #[inline(never)]
    fn set_called<K: Key + ?Sized>(&self, key: &K) -> bool {
        let words = self.words.as_slice();
        if !self.layout.needs_key() {
            return self.layout.set_shared(words, key.digest(&self.hashing));
        }
        let mut fresh = false;
        self.positions(key, |position| {
            let bit = 1 << (position % 64);
            fresh |= words.get((position / 64) as usize).is_some_and(|word| set_bits(word, bit));
            true
        });
        fresh
    }

    /// Whether the key may be in the set; `false` is certain: no insertion of it happened before.
    ///
    /// ```
    /// use bouquet::SharedUltraFast;
    /// let filter = SharedUltraFast::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        if self.layout.is_inline() & self.hashing.is_folded() {
            return self.layout.test(self.words.as_slice(), key.digest(&self.hashing));
        }
        self.contains_called(key)
    }

    #[inline(never)]
    fn contains_called<K: Key + ?Sized>(&self, key: &K) -> bool {
        let words = self.words.as_slice();
        if !self.layout.needs_key() {
            return self.layout.test(words, key.digest(&self.hashing));
        }
        self.positions(key, |position| {
            words.get((position / 64) as usize).is_some_and(|word| Word::load(word) >> (position % 64) & 1 == 1)
        })
    }

    /// The positions of a key for a layout that needs it.
    fn positions<K: Key + ?Sized>(&self, key: &K, visit: impl FnMut(u64) -> bool) -> bool {
        key.with_bytes(|key| self.layout.all_of_key(&self.hashing, key, visit))
    }

    /// Inserts many keys and says how many were certainly new: faster than one by one where the filter is larger than the
    /// cache.
    ///
    /// ```
    /// use bouquet::SharedBloom;
    /// let filter = SharedBloom::with_rate(1_000, 0.001)?;
    /// assert_eq!(filter.insert_batch(&[1u64, 2, 3, 2]), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_batch<K: Key>(&self, keys: &[K]) -> u64 {
        self.items.add(keys.len() as u64);
        let words = self.words.as_slice();
        if words.len() <= const { near_words::<L>() } || self.layout.needs_key() {
            return keys.iter().map(|key| u64::from(self.set(key))).sum();
        }
        let mut fresh = 0;
        for keys in keys.chunks(BATCH) {
            let digests = digests(&self.layout, words, &self.hashing, keys);
            fresh += digests[..keys.len()]
                .iter()
                .map(|digest| u64::from(self.layout.set_shared(words, *digest)))
                .sum::<u64>();
        }
        fresh
    }

    /// The answers for many keys, `answers[i]` for `keys[i]`: faster than one by one where the filter is larger than the
    /// cache.
    ///
    /// ```
    /// use bouquet::SharedBloom;
    /// let filter = SharedBloom::with_rate(1_000, 0.001)?;
    /// filter.insert_batch(&[1u64, 2, 3]);
    /// let mut answers = [false; 3];
    /// filter.contains_batch(&[3u64, 4, 1], &mut answers);
    /// assert_eq!(answers, [true, false, true]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn contains_batch<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        let words = self.words.as_slice();
        if self.layout.needs_key() || self.layout.is_inline() && !self.layout.prefetches(words.len()) {
            keys.iter().zip(answers).for_each(|(key, answer)| *answer = self.contains(key));
            return;
        }
        self.layout.test_batch(self.words.as_slice(), &self.hashing, keys, answers);
    }

    /// Insertions so far, duplicates included; exact for those that happened before.
    ///
    /// ```
    /// use bouquet::SharedBloom;
    /// let filter = SharedBloom::with_rate(1_000, 0.01)?;
    /// std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(|| filter.insert_batch(&[1u64, 2, 3]))));
    /// assert_eq!(filter.items(), 12);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items.sum()
    }

    /// The false-positive rate of this very content, read from a [`snapshot`](Self::snapshot).
    ///
    /// ```
    /// use bouquet::SharedBloom;
    /// let filter = SharedBloom::with_rate(1_000, 0.01)?;
    /// (0..1_000u64).for_each(|key| {
    ///     filter.insert(&key);
    /// });
    /// assert!((0.008..0.012).contains(&filter.rate_now()));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rate_now(&self) -> f64 {
        self.snapshot().rate_now()
    }

    /// A copy of the filter for one thread, to be written, compared or merged. It has every key whose insertion happened
    /// before; of keys that are inserted meanwhile it may have some bits and not others.
    ///
    /// ```
    /// use bouquet::SharedBloom;
    /// let shared = SharedBloom::with_rate(1_000, 0.01)?;
    /// shared.insert("rose");
    /// let bytes = shared.snapshot().to_bytes();
    /// assert!(bouquet::Bloom::from_bytes(&bytes)?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> BitFilter<L> {
        filter_of(self.layout.clone(), self.settings.clone(), &self.hashing, self.words.to_words(), self.items())
    }

    /// The filter for one thread again, without copying.
    ///
    /// ```
    /// use bouquet::{Bloom, SharedBloom};
    /// let mut plain = Bloom::with_rate(1_000, 0.01)?;
    /// plain.insert("rose");
    /// assert_eq!(SharedBloom::from(plain.clone()).into_filter(), plain);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn into_filter(self) -> BitFilter<L> {
        let SharedBitFilter { layout, hashing, words, settings, items } = self;
        filter_of(layout, settings, &hashing, words.into(), items.sum())
    }
}

fn filter_of<L: Access>(layout: L, settings: L::Settings, hashing: &Hashing, words: Words, items: u64) -> BitFilter<L> {
    let bits = BitStore::from_words(words, layout.bits());
    // The words came from a store of this layout, and only positions of the layout were set in them.
    let bits = bits.expect("as many bits as the layout has");
    BitFilter::of_layout(layout, settings, hashing, bits, items)
}

impl<L: Access> From<BitFilter<L>> for SharedBitFilter<L> {
    fn from(filter: BitFilter<L>) -> Self {
        SharedBitFilter {
            layout: filter.layout().clone(),
            hashing: filter.hashing().clone(),
            settings: filter.settings(),
            items: Tally::new(filter.items()),
            words: filter.into_bits().into_words().into(),
        }
    }
}

#[cfg(test)]
mod tests;
