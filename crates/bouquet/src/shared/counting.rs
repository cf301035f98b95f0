//! A counting Bloom filter that threads share.

use crate::capability::Multiplicity;
use crate::counting::counting::{Counting, CountingSettings, MirroredCounters, Policy};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::{BATCH, Key, NEAR_BITS, digest_batch};
use crate::kind::Config;
use crate::parts::counter_array::{Arrangement, Placement, Places};
use crate::parts::counting_over::CountingOver;
use crate::shared::tally::Tally;
use crate::shell::Choice;
use crate::simd::{counters, prefetch};
use crate::store::atomic::{AtomicWord, AtomicWords, Fields};
use crate::store::{Counters, Words};

/// A [counting](crate::counting::counting) Bloom filter that threads share: every method takes `&self`, and none waits
/// for another thread.
///
/// Counters must not cross words, so their width is 1, 2, 4 (the default), 8, 16 or 32 bits. The policy is `sticky`: a
/// counter that has reached its largest value is never changed again.
///
/// ```
/// use bouquet::SharedCounting;
/// let filter = SharedCounting::with_rate(1_000, 0.01)?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| filter.insert("rose"));
///     scope.spawn(|| filter.insert("rose"));
/// });
/// assert_eq!(filter.count("rose").count, 2);
/// filter.remove("rose")?;
/// filter.remove("rose")?;
/// assert!(filter.remove("rose").is_err() && !filter.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
///
/// # What is promised
///
/// As for the ordinary filter, remove only what was inserted: let every removal be of an insertion that happened before it
/// and that no other removal takes. Then
///
/// * no step is lost: when all calls have returned, every counter is what a single thread would have made it, unless it is
///   frozen;
/// * [`contains`](Self::contains) is `true`, and [`count`](Self::count) at least n, for a key with n insertions that
///   happened before and that no removal has begun to take;
/// * every removal succeeds;
/// * `true` from [`insert`](Self::insert) is certain: no insertion of the key had happened before, or each was being
///   removed. Of several threads that insert the same new key at least one is told that it was new, unless other keys
///   have taken all of its counters meanwhile.
///
/// When threads race for the last occurrence of a key, so that there are more removals than insertions, **exactly one**
/// gets it. The others meet a zero, put back what they had taken and answer [`Error::NotPresent`]. When they
/// have returned, no trace of them is left and no other key has lost a count; but until then keys that share a counter may
/// seem absent to other threads, or be counted one too low. As in the ordinary filter, a key that was never inserted but
/// seems present can be removed, which takes counts from others for good.
#[derive(Debug)]
pub struct SharedCounting {
    places: Places,
    hashing: Hashing,
    words: AtomicWords,
    fields: Fields,
    /// Settings that recreate an equal empty filter.
    settings: CountingSettings,
    inserted: Tally,
    removed: Tally,
}

/// Adds one to all of these counters, of which none may occur twice and none that is frozen changes. Says whether one of
/// them was zero. Their order does not matter.
#[inline]
pub(super) fn add_to_all(fields: Fields, words: &[impl AtomicWord], places: impl Iterator<Item = u64>) -> bool {
    let max = fields.max();
    places.fold(false, |fresh, place| {
        let before = fields.update(words, place, |counter| (counter < max).then_some(counter + 1));
        fresh | (before == 0)
    })
}

/// Subtracts one from all of these counters that are not frozen; when one is zero puts back what was taken and says false.
///
/// The places ascend, whatever the key, so that all threads take counters in one order. When they race for its last
/// occurrence, one that meets a zero meets what another has taken there, which was ahead of it. Take the one that fails
/// furthest ahead: the thread that it met got further, so it did not fail. So one of them wins, and no second one, unless other
/// keys have all of the counters.
#[inline]
pub(super) fn take_from_all(fields: Fields, words: &[impl AtomicWord], places: &[u64]) -> bool {
    let max = fields.max();
    for (taken, &place) in places.iter().enumerate() {
        let before = fields.update(words, place, |counter| (counter < max && counter > 0).then(|| counter - 1));
        if before == 0 {
            // A counter that was frozen, and so not taken from, is frozen still: adding leaves it alone.
            add_to_all(fields, words, places[..taken].iter().copied());
            return false;
        }
    }
    true
}

/// As many places as [`sort`] takes: enough for rates down to 0.4 %.
const MOST_SORTED: usize = 8;

/// Sorts by a network (Batcher's odd-even merge sort): places are in any order, so that branches could not be predicted.
#[inline(always)]
fn sort(places: &mut [u64; MOST_SORTED]) {
    macro_rules! order {
        ($($low:literal $high:literal),*) => {$(
            let (one, other) = (places[$low], places[$high]);
            (places[$low], places[$high]) = (one.min(other), one.max(other));
        )*};
    }
    order!(0 1, 2 3, 4 5, 6 7);
    order!(0 2, 1 3, 4 6, 5 7);
    order!(1 2, 5 6);
    order!(0 4, 1 5, 2 6, 3 7);
    order!(2 4, 3 5);
    order!(1 2, 3 4, 5 6);
}

impl SharedCounting {
    /// A filter for `items` distinct keys whose false-positive rate is then `fpr`, with 4 bits per counter.
    ///
    /// ```
    /// use bouquet::SharedCounting;
    /// assert!(SharedCounting::with_rate(1_000_000, 0.01).is_ok());
    /// assert!(SharedCounting::with_rate(1_000, 0.0).is_err());
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        Counting::with_rate(items, fpr)?.try_into()
    }

    /// A filter of `counters` counters and `hashes` positions per key, with 4 bits per counter.
    ///
    /// ```
    /// use bouquet::SharedCounting;
    /// assert_eq!(SharedCounting::with_size(1 << 20, 5)?.snapshot()?.counters().bits(), 1 << 22);
    /// assert!(SharedCounting::with_size(1 << 20, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, hashes: u32) -> Result<Self> {
        Counting::with_size(counters, hashes)?.try_into()
    }

    /// An empty filter of the settings in `config`, which must be for the kind `counting`: any layout, a width that
    /// divides 64, the policy `sticky`, no mirror.
    ///
    /// ```
    /// use bouquet::{SharedCounting, counting::counting::KIND, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?;
    /// assert!(SharedCounting::from_config(&config.clone().set("width", "8")?).is_ok());
    /// assert!(SharedCounting::from_config(&config.clone().set("width", "5")?).is_err());
    /// assert!(SharedCounting::from_config(&config.set("policy", "widen")?).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        Counting::from_config(config)?.try_into()
    }

    #[inline]
    fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        key.digest(&self.hashing)
    }

    /// Inserts a key once more and says whether it was certainly new; see [what is promised](Self#what-is-promised).
    ///
    /// ```
    /// use bouquet::SharedCounting;
    /// let cache = SharedCounting::with_rate(1_000, 0.01)?;
    /// assert!(cache.insert("rose"));
    /// assert!(!cache.insert("rose"), "now it is in twice");
    /// assert_eq!(cache.count("rose").count, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.inserted.add(1);
        let digest = self.digest(key);
        if self.is_far() {
            // Else each counter is waited for in turn: the processor fetches little past a word that it is about to change.
            self.prefetch(digest);
        }
        self.insert_digest(digest)
    }

    #[inline]
    fn insert_digest(&self, digest: Digest) -> bool {
        let words = self.words.as_slice();
        if self.places.are_apart(digest) {
            return add_to_all(self.fields, words, self.places.of(digest));
        }
        add_to_all(self.fields, words, self.places.distinct(digest).iter().copied())
    }

    /// Inserts many keys and says how many were certainly new.
    ///
    /// ```
    /// use bouquet::SharedCounting;
    /// let filter = SharedCounting::with_rate(1_000, 0.001)?;
    /// assert_eq!(filter.insert_batch(&[1u64, 2, 3, 2]), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_batch<K: Key>(&self, keys: &[K]) -> u64 {
        self.inserted.add(keys.len() as u64);
        let mut fresh = 0;
        self.each_digest(keys, |digest| fresh += u64::from(self.insert_digest(digest)));
        fresh
    }

    /// Hands the keys' digests to `visit`, in order. Of counters beyond the caches, those of a batch are prefetched before.
    #[inline(always)]
    fn each_digest<K: Key>(&self, keys: &[K], mut visit: impl FnMut(Digest)) {
        if !self.is_far() {
            return keys.iter().for_each(|key| visit(key.digest(&self.hashing)));
        }
        for keys in keys.chunks(BATCH) {
            let digests = digest_batch(&self.hashing, keys, |digest| self.prefetch(digest));
            digests.into_iter().take(keys.len()).for_each(&mut visit);
        }
    }

    #[inline]
    fn is_far(&self) -> bool {
        64 * self.words.as_slice().len() as u64 > NEAR_BITS
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.places.all(digest, |place| {
            prefetch(self.words.as_slice(), self.fields.place(place).0);
            true
        });
    }

    /// Whether the key may be in the set.
    ///
    /// ```
    /// use bouquet::SharedCounting;
    /// let cache = SharedCounting::with_rate(1_000, 0.01)?;
    /// cache.insert("rose");
    /// assert!(cache.contains("rose") && !cache.contains("iris"));
    /// cache.remove("rose")?;
    /// assert!(!cache.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest(key))
    }

    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        let (places, words) = (&self.places, self.words.as_slice());
        if places.arrangement() == Arrangement::Flat {
            let (counters, hashes, width) = (places.counters(), places.hashes(), self.fields.width());
            return counters::all_nonzero(words, counters, hashes, width, digest);
        }
        places.all(digest, |place| self.fields.get(words, place) != 0)
    }

    /// The answers for many keys, `answers[i]` for `keys[i]`.
    ///
    /// ```
    /// use bouquet::SharedCounting;
    /// let filter = SharedCounting::with_rate(1_000, 0.001)?;
    /// filter.insert_batch(&[1u64, 2, 3]);
    /// let mut answers = [false; 3];
    /// filter.contains_batch(&[3u64, 4, 1], &mut answers);
    /// assert_eq!(answers, [true, false, true]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn contains_batch<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        let mut answers = answers.iter_mut();
        let keys = &keys[..keys.len().min(answers.len())];
        self.each_digest(keys, |digest| {
            if let Some(answer) = answers.next() {
                *answer = self.contains_digest(digest);
            }
        });
    }

    /// How often the key is in: the least of its counters, each read at its own moment. `at_least` tells when a full counter
    /// hides how much more it may be.
    ///
    /// ```
    /// use bouquet::{SharedCounting, capability::Multiplicity};
    /// let filter = SharedCounting::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose"; 20]);
    /// assert_eq!(filter.count("rose"), Multiplicity { count: 15, at_least: true });
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let words = self.words.as_slice();
        let mut count = self.fields.max();
        self.places.all(self.digest(key), |place| {
            count = count.min(self.fields.get(words, place));
            count != 0
        });
        Multiplicity { count, at_least: count == self.fields.max() }
    }

    /// Removes one occurrence of a key, or says [`Error::NotPresent`] when it is certainly absent, or another thread took the
    /// last occurrence meanwhile. **Remove only what was inserted**; see [what is promised](Self#what-is-promised).
    ///
    /// ```
    /// use bouquet::{Error, SharedCounting};
    /// let filter = SharedCounting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// let won = std::thread::scope(|scope| {
    ///     let threads = [(); 2].map(|()| scope.spawn(|| filter.remove("rose").is_ok()));
    ///     threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|won| *won).count()
    /// });
    /// assert_eq!(won, 1);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> Result<()> {
        let digest = self.digest(key);
        // Looking first keeps the removal of an absent key, though not that of one that is just being removed, from taking
        // anything even for a moment.
        let taken = self.contains_digest(digest) && self.take_digest(digest);
        if !taken {
            return Err(Error::NotPresent);
        }
        self.removed.add(1);
        Ok(())
    }

    #[inline]
    fn take_digest(&self, digest: Digest) -> bool {
        let (words, count) = (self.words.as_slice(), self.places.hashes() as usize);
        if count > MOST_SORTED || !self.places.are_apart(digest) {
            return take_from_all(self.fields, words, &self.places.distinct(digest));
        }
        let mut places = [u64::MAX; MOST_SORTED];
        places.iter_mut().zip(self.places.of(digest)).for_each(|(slot, place)| *slot = place);
        sort(&mut places);
        take_from_all(self.fields, words, &places[..count.min(MOST_SORTED)])
    }

    /// Insertions less removals; exact for those that happened before.
    ///
    /// ```
    /// use bouquet::SharedCounting;
    /// let cache = SharedCounting::with_rate(1_000, 0.01)?;
    /// cache.insert_batch(&["rose", "iris", "lily"]);
    /// cache.remove("iris")?;
    /// assert_eq!(cache.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.inserted.sum().saturating_sub(self.removed.sum())
    }

    /// A copy of the filter for one thread, or an error when the memory cannot be had. Of keys that are inserted or removed
    /// meanwhile it may have some counters and not others.
    ///
    /// ```
    /// use bouquet::{SharedCounting, counting::counting::Counting};
    /// let shared = SharedCounting::with_rate(1_000, 0.01)?;
    /// shared.insert("rose");
    /// let bytes = shared.snapshot()?.to_bytes();
    /// assert_eq!(Counting::from_bytes(&bytes)?.count("rose").count, 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn snapshot(&self) -> Result<Counting> {
        self.filter_of(self.words.to_words())
    }

    /// The filter for one thread again, without copying.
    ///
    /// ```
    /// use bouquet::{SharedCounting, counting::counting::Counting};
    /// let mut plain = Counting::with_rate(1_000, 0.01)?;
    /// plain.insert("rose")?;
    /// assert_eq!(SharedCounting::try_from(plain.clone())?.into_filter()?, plain);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn into_filter(mut self) -> Result<Counting> {
        let words = std::mem::replace(&mut self.words, Words::zeroed(0)?.into());
        self.filter_of(words.into())
    }

    fn filter_of(&self, words: Words) -> Result<Counting> {
        let (counters, width) = (self.places.counters(), self.fields.width());
        let store = Counters::from_words(words, counters, width);
        // The words came from counters of this number and width, and only those were changed.
        let store = store.expect("as many counters as the layout has");
        // Removals are counted first: an insertion that comes in between makes the filter fuller, never emptier.
        let (removed, inserted) = (self.removed.sum(), self.inserted.sum());
        let cells = CountingOver::of_store(Policy::Sticky, self.places, MirroredCounters::new(store, false)?, inserted);
        let (settings, items) = (self.settings.clone(), inserted.saturating_sub(removed));
        Ok(Counting::of_parts(cells, settings, &self.hashing, items))
    }
}

impl TryFrom<Counting> for SharedCounting {
    type Error = Error;

    /// Without copying. Refuses counters that cross words, a policy other than `sticky` and a mirror.
    fn try_from(filter: Counting) -> Result<Self> {
        let (settings, width) = (filter.settings(), filter.counters().width());
        let fields = Fields::new(width);
        let fields =
            fields.ok_or_else(|| Error::parameter("width", "a number that divides 64, to be shared", width))?;
        let policy = filter.mechanism.policy;
        if policy != Policy::Sticky {
            return Err(Error::parameter("policy", "sticky, to be shared", policy.word()));
        }
        if settings.mirror == Some(true) {
            return Err(Error::parameter("mirror", "off, to be shared", "on"));
        }
        let (items, CountingOver { cells, inserted, .. }) = (filter.items(), filter.mechanism);
        Ok(SharedCounting {
            places: cells.places,
            hashing: filter.hashing,
            words: cells.store.counters.into_words().into(),
            fields,
            settings,
            inserted: Tally::new(inserted),
            removed: Tally::new(inserted.saturating_sub(items)),
        })
    }
}

#[cfg(test)]
mod tests;
