//! The one generic filter.

use super::batch;
use super::mechanism::{
    Age, Amount, Assemble, Assign, Believe, Code, Decide, Deduct, Enumerate, Expand, Gather, Gauge, Implied, Lookup,
    MOST_ITEMS, Mechanism, Meet, Outcome, Put, Rank, Solve, Sort, Take, Tally, Test, Unite, hashed, more,
};
use super::settings::{ByRate, Settings};
use crate::capability::{Dataset, Decoding, Estimate, Frequent, Listing, Multiplicity, NoteType, Overlap, Verdict};
use crate::codec::{Decoder, Encoder, Grain, delta};
use crate::error::{Result, same};
use crate::hash::Hashing;
use crate::key::Key;
use crate::kind::{Config, ErrorClass, Facts, Figure, Need, Plan, Rates, Special, Stats, Structure};

/// A filter: a [`Mechanism`] with hashing, settings and an item count. The kinds are its aliases, such as
/// [`Cuckoo`](crate::Cuckoo).
///
/// ```
/// use bouquet::{Cuckoo, CuckooSettings};
/// let mut filter = Cuckoo::with_rate(1_000, 0.01)?; // by accuracy
/// assert!(filter.insert("rose")?);
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// let sixteen_bits = CuckooSettings { buckets: Some(1 << 10), fingerprint: Some(16), ..Default::default() };
/// let filter = Cuckoo::with(sixteen_bits)?; // by size
/// assert_eq!(Cuckoo::from_bytes(&filter.to_bytes())?, filter);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Filter<M: Mechanism> {
    pub(crate) mechanism: M,
    pub(crate) hashing: Hashing,
    /// Insertions less removals, at most [`MOST_ITEMS`] when it was decoded or added up.
    pub(crate) items: u64,
    /// The resolved settings.
    pub(crate) settings: M::Settings,
}

/// Equal filters have equal frames; which settings those of now were once widened from does not matter.
impl<M: Mechanism> PartialEq for Filter<M> {
    fn eq(&self, other: &Self) -> bool {
        let parts = |filter: &Self| (filter.items(), filter.settings());
        parts(self) == parts(other) && self.hashing == other.hashing && self.mechanism == other.mechanism
    }
}

impl<M: Mechanism> Filter<M> {
    /// An empty filter of these settings; what is left open follows from the others.
    ///
    /// ```
    /// use bouquet::{Cuckoo, CuckooSettings};
    /// let filter = Cuckoo::with(CuckooSettings { items: Some(1_000), counter: Some(8), ..Default::default() })?;
    /// assert_eq!(filter.settings().slots, Some(4));
    /// assert!(Cuckoo::with(CuckooSettings::default()).is_err(), "how large?");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with(settings: M::Settings) -> Result<Self> {
        Self::hashed(settings, Hashing::default())
    }

    /// The same with another hashing: another seed, or a secret.
    ///
    /// ```
    /// use bouquet::{Cuckoo, hash::{Hashing, Secret}};
    /// let settings = Cuckoo::with_rate(1_000, 0.01)?.settings();
    /// let filter = Cuckoo::hashed(settings, Hashing::keyed(Secret::random()?))?;
    /// assert!(filter.hashing().id().is_keyed());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn hashed(settings: M::Settings, hashing: Hashing) -> Result<Self> {
        settings.check()?;
        let settings = M::resolve(&M::suited(settings, &hashing))?;
        // What follows from the others must be within its range too, or the frame could not be read again.
        settings.check()?;
        let mechanism = M::empty(&settings, &hashing)?;
        Ok(Self::of_parts(mechanism, settings, &hashing, 0))
    }

    /// The filter of these parts, which must fit together.
    pub(crate) fn of_parts(mechanism: M, settings: M::Settings, hashing: &Hashing, items: u64) -> Self {
        let hashing = mechanism.bound(&settings, hashing);
        let items = if M::OWN_ITEMS { 0 } else { items.min(MOST_ITEMS) };
        Filter { mechanism, hashing, items, settings }
    }

    /// An empty filter of the settings in `config`, which must be for this kind: for programs that have them as text.
    ///
    /// ```
    /// use bouquet::{Cuckoo, kind::Config, registry};
    /// let config = Config::new(registry::find("cuckoo")?.facts()).set("items", "1000")?.set("semisort", "yes")?;
    /// assert_eq!(Cuckoo::from_config(&config)?.settings().semisort, Some(true));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        Self::hashed(M::Settings::from_config(config)?, config.hashing().clone())
    }

    /// Its settings, with everything filled in: they make an equal empty filter.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let filter = Cuckoo::with_rate(1_000, 0.001)?;
    /// assert_eq!(filter.settings().fingerprint, Some(13));
    /// assert_eq!(Cuckoo::with(filter.settings())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn settings(&self) -> M::Settings {
        self.mechanism.settings(&self.settings)
    }

    /// How it hashes.
    ///
    /// ```
    /// use bouquet::{Cuckoo, hash::Hashing};
    /// assert_eq!(Cuckoo::with_rate(100, 0.01)?.hashing(), &Hashing::default());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    /// Insertions less removals; duplicates count unless the kind notices them.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut filter = Cuckoo::with_rate(100, 0.01)?;
    /// filter.insert_batch(&["rose", "rose", "lily"])?;
    /// filter.remove("lily")?;
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.mechanism.items(self.items.min(MOST_ITEMS))
    }

    /// Its present state: size, fill, the false-positive rate of this very content.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let stats = Cuckoo::with_rate(1_000, 0.01)?.stats();
    /// assert_eq!((stats.items, stats.fill), (0, Some(0.0)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.mechanism.stats(self.items())
    }

    /// The rates that theory expects of this shape after `items` distinct items.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let rates = Cuckoo::with_rate(1_000, 0.01)?.expected(1_000);
    /// assert!(rates.false_positive.is_some_and(|rate| rate <= 0.01));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn expected(&self, items: u64) -> Rates {
        self.mechanism.expected(items)
    }

    /// Forgets every key.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut filter = Cuckoo::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.clear()?;
    /// assert!(!filter.contains("rose") && filter.items() == 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear(&mut self) -> Result<()> {
        self.mechanism.clear(&self.settings, &self.hashing)?;
        self.items = 0;
        Ok(())
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::{Cuckoo, codec::MAGIC};
    /// assert!(Cuckoo::with_rate(1_000, 0.01)?.to_bytes().starts_with(&MAGIC));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::{Bloom, Cuckoo};
    /// let mut filter = Cuckoo::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// let frame = filter.to_bytes();
    /// assert_eq!(Cuckoo::from_bytes(&frame)?, filter);
    /// assert!(Bloom::from_bytes(&frame).is_err(), "another kind");
    /// assert!(Cuckoo::from_bytes(&frame[..frame.len() - 1]).is_err(), "cut short");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }

    /// What turns this filter into `new`, for one who holds this filter: a patch of the bits that differ, arithmetic-coded. A
    /// small change makes a short message.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut here = Cuckoo::with_rate(10_000, 0.01)?;
    /// let mut there = here.clone();
    /// here.insert("rose")?;
    /// let message = there.delta(&here)?;
    /// assert!(message.len() < 250);
    /// there.apply_delta(&message)?;
    /// assert_eq!(there, here);
    /// assert!(there.apply_delta(&message).is_err(), "it is for the filter as it was");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn delta(&self, new: &Self) -> Result<Vec<u8>> {
        same("hashing", &self.hashing, &new.hashing)?;
        delta::between(self, new)
    }

    /// Applies what [`delta`](Self::delta) wrote. A damaged delta, and one that was made for another filter or another
    /// state of this one, is refused, and nothing changes.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut there = Cuckoo::with_rate(100, 0.01)?;
    /// let mut here = there.clone();
    /// here.insert("rose")?;
    /// let mut message = there.delta(&here)?;
    /// message[0] ^= 1;
    /// assert!(there.apply_delta(&message).is_err() && there.items() == 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn apply_delta(&mut self, delta: &[u8]) -> Result<()> {
        *self = delta::apply(self, delta)?;
        Ok(())
    }

    /// The mechanism: what is special about the kind.
    #[must_use]
    pub fn mechanism(&self) -> &M {
        &self.mechanism
    }
}

impl<M: Mechanism> Filter<M>
where
    M::Settings: ByRate,
{
    /// A filter for `items` distinct keys whose false-positive rate is then `fpr`.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// assert_eq!(Cuckoo::with_rate(1_000_000, 0.01)?.settings().fingerprint, Some(10));
    /// assert!(Cuckoo::with_rate(1_000, 1.5).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        Self::with(M::Settings::by_rate(items, fpr)?)
    }
}

impl<M: Test> Filter<M> {
    /// Whether the key may be in the set; `false` is certain unless the kind declares false negatives.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut filter = Cuckoo::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.mechanism.test_key(&self.hashing, key)
    }

    /// The answers for many keys, `answers[i]` for `keys[i]`: faster than one by one where the filter is larger than the
    /// cache. The longer slice's rest is left alone.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut filter = Cuckoo::with_rate(1_000, 0.001)?;
    /// filter.insert_batch(&[1u64, 2, 3])?;
    /// let mut answers = [false; 3];
    /// filter.contains_batch(&[3u64, 4, 1], &mut answers);
    /// assert_eq!(answers, [true, false, true]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn contains_batch<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        self.mechanism.test_batch(&self.hashing, keys, answers);
    }
}

impl<M: Put> Filter<M> {
    /// Inserts a key with what comes with it and says whether it was certainly new.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut filter = Cuckoo::with_rate(100, 0.01)?;
    /// assert!(filter.insert_with("rose", ())?, "cuckoo filters take keys alone");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline(always)]
    pub fn insert_with<K: Key + ?Sized>(&mut self, key: &K, note: M::Note<'_>) -> M::Outcome {
        let weight = M::weight(&note);
        let outcome = self.mechanism.put_key(&self.hashing, key, note);
        if outcome.is_done() && !M::OWN_ITEMS {
            self.items = more(self.items, weight);
        }
        outcome
    }
}

impl<M: for<'a> Put<Note<'a>: Implied>> Filter<M> {
    /// Inserts a key and says whether it was certainly new; `false` means that it was there already, or seemed so. A kind
    /// that can be full gives a `Result`; nothing has changed when it is an error. Where keys come with an amount, it is 1:
    /// [`insert_with`](Self::insert_with) takes another.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut filter = Cuckoo::with_rate(100, 0.01)?;
    /// assert!(filter.insert(&7u64)? && filter.insert(b"rose".as_slice())?);
    /// assert!(!filter.insert("rose")?, "text is its bytes");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> M::Outcome {
        self.insert_with(key, Default::default())
    }

    /// Inserts many keys and says how many were certainly new. An error stops at the key that caused it.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut filter = Cuckoo::with_rate(100, 0.01)?;
    /// assert_eq!(filter.insert_batch(&["rose", "tulip", "rose"])?, 2);
    /// assert!(filter.contains("tulip"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> <M::Outcome as Outcome>::Many {
        let Filter { mechanism, hashing, items, .. } = self;
        let mut tally = *items;
        let sum = mechanism.put_batch(hashing, keys, &mut tally);
        *items = if M::OWN_ITEMS { 0 } else { tally };
        sum
    }
}

impl<M: for<'a> Put<Note<'a> = Amount>> Filter<M> {
    /// Inserts a key `times` times at once and says whether it was certainly new.
    ///
    /// ```
    /// use bouquet::Spectral;
    /// let mut filter = Spectral::with_rate(1_000, 0.01)?;
    /// assert!(filter.add("rose", 3) && !filter.add("rose", 1));
    /// assert_eq!((filter.count("rose").count, filter.items()), (4, 4));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn add<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> M::Outcome {
        self.insert_with(key, Amount(times))
    }
}

impl<M: for<'a> Take<Note<'a>: Implied>> Filter<M> {
    /// Removes one occurrence of a key, or says [`Error::NotPresent`](crate::Error::NotPresent) and changes nothing when
    /// it is certainly absent.
    ///
    /// **Remove only what was inserted.** An absent key that seems present cannot be told from a present one: removing it
    /// takes from other keys, and each of those may then seem absent.
    ///
    /// ```
    /// use bouquet::{Cuckoo, Error};
    /// let mut filter = Cuckoo::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "lily"])?;
    /// filter.remove("rose")?;
    /// assert!(!filter.contains("rose") && filter.contains("lily"));
    /// assert!(matches!(filter.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.remove_with(key, Default::default())
    }
}

impl<M: Take> Filter<M> {
    /// Removes one occurrence of a key with what came with it.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut filter = Cuckoo::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.remove_with("rose", ())?;
    /// assert_eq!(filter.items(), 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn remove_with<K: Key + ?Sized>(&mut self, key: &K, note: M::Note<'_>) -> Result<()> {
        let taken = M::taken(&note);
        let Filter { mechanism, hashing, .. } = self;
        hashed::<M, K, _>(hashing, key, |key| mechanism.take(key, note))?;
        self.items = self.items.saturating_sub(taken);
        Ok(())
    }
}

impl<M: Tally> Filter<M> {
    /// How often the key came: never less than the truth unless the kind declares under-counts.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut filter = Cuckoo::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "rose", "lily"])?;
    /// assert_eq!((filter.count("rose").count, filter.count("thistle").count), (2, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        hashed::<M, K, _>(&self.hashing, key, |key| self.mechanism.tally(key))
    }
}

impl<M: Lookup> Filter<M> {
    /// The value of the key.
    #[inline]
    #[must_use]
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> M::Answer {
        hashed::<M, K, _>(&self.hashing, key, |key| self.mechanism.lookup(key))
    }
}

impl<M: Assign> Filter<M> {
    /// Gives a member another value, or says [`Error::NotPresent`](crate::Error::NotPresent) and changes nothing when the
    /// key is certainly no member. **Set only members:** a key that merely seems to be one takes another key's value.
    pub fn set<K: Key + ?Sized>(&mut self, key: &K, note: M::Note<'_>) -> Result<()> {
        let Filter { mechanism, hashing, .. } = self;
        hashed::<M, K, _>(hashing, key, |key| mechanism.assign(key, note))
    }
}

impl<M: Sort> Filter<M> {
    /// The numbers of the sets that may hold the key, ascending.
    #[inline]
    #[must_use]
    pub fn classify<K: Key + ?Sized>(&self, key: &K) -> Vec<u64> {
        hashed::<M, K, _>(&self.hashing, key, |key| self.mechanism.sort(key))
    }
}

impl<M: Decide> Filter<M> {
    /// Whether the key is in, out, to be looked up, or none of the universe.
    ///
    /// ```
    /// use bouquet::{Complement, capability::Verdict};
    /// let mut filter = Complement::with_rate(100, 0.001)?;
    /// filter.insert("rose")?;
    /// assert_eq!((filter.judge("rose"), filter.judge("thistle")), (Verdict::In, Verdict::Unknown));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn judge<K: Key + ?Sized>(&self, key: &K) -> Verdict {
        hashed::<M, K, Verdict>(&self.hashing, key, |key| self.mechanism.decide(key))
    }

    /// The verdicts on many keys, `verdicts[i]` for `keys[i]`; the longer slice's rest is left alone.
    pub fn judge_batch<K: Key>(&self, keys: &[K], verdicts: &mut [Verdict]) {
        batch::answer(&self.mechanism, &self.hashing, keys, verdicts, |key| self.mechanism.decide(key));
    }
}

impl<M: Believe> Filter<M> {
    /// The probability that the key is a member, if it was `prior` before; without one that of the filter's own model, if it has one.
    ///
    /// ```
    /// let mut filter = bouquet::Selective::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.probability("rose", None) > Some(0.99), "as likely as not before, and in the filter");
    /// assert_eq!(filter.probability("rose", Some(0.001)), Some(0.001), "too unlikely to be looked up");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn probability<K: Key + ?Sized>(&self, key: &K, prior: Option<f64>) -> Option<f64> {
        self.believed(self.mechanism.in_use(), key, prior)
    }

    /// The same when the share of cells in use is known.
    pub(crate) fn believed<K: Key + ?Sized>(&self, in_use: f64, key: &K, prior: Option<f64>) -> Option<f64> {
        hashed::<M, K, _>(&self.hashing, key, |key| self.mechanism.believe(in_use, key, prior))
    }
}

impl<M: Enumerate> Filter<M> {
    /// Everything that can be decoded.
    #[must_use]
    pub fn list(&self) -> Listing {
        self.mechanism.enumerate(&self.hashing)
    }
}

impl<M: Rank> Filter<M> {
    /// The keys that are kept by name, the most frequent first.
    #[must_use]
    pub fn top(&self) -> Vec<Frequent> {
        self.mechanism.rank()
    }
}

impl<M: Solve> Filter<M> {
    /// The counts of these keys, which must be all that were inserted; others among them do no harm.
    pub fn decode<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Decoding> {
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        self.mechanism.solve(&self.hashing, &keys)
    }
}

impl<M: Age> Filter<M> {
    /// Lets time pass.
    pub fn advance(&mut self, ticks: u64) {
        self.mechanism.age(ticks);
    }
}

impl<M: Expand> Filter<M> {
    /// The number of keys that fit before the filter grows by itself.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.mechanism.capacity()
    }

    /// Makes room for more keys now.
    pub fn grow(&mut self) -> Result<()> {
        self.mechanism.expand()?;
        self.settings = self.settings();
        Ok(())
    }
}

impl<M: Mechanism> Filter<M> {
    /// Whether `other` has the same settings and hashing.
    pub(crate) fn comparable(
        &self,
        other: &Self,
        alike: impl Fn(&M::Settings, &M::Settings) -> Result<()>,
    ) -> Result<()> {
        alike(&self.settings(), &other.settings())?;
        same("hashing", &self.hashing, &other.hashing)
    }
}

impl<M: Unite> Filter<M> {
    /// Takes in everything that `other` holds. The other must have the same settings, but for what it was made for, and the
    /// same hashing; otherwise it is refused and nothing changes.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.comparable(other, M::alike)?;
        self.mechanism.unite(&other.mechanism)?;
        // Both are zero where the mechanism counts.
        self.items = self.items.saturating_add(other.items).min(MOST_ITEMS);
        Ok(())
    }
}

impl<M: Meet> Filter<M> {
    /// Keeps what `other` also holds. What was inserted into both stays; more may stay than that.
    pub fn intersect(&mut self, other: &Self) -> Result<()> {
        self.comparable(other, Settings::alike)?;
        self.mechanism.meet(&other.mechanism)?;
        self.items = self.mechanism.items_met(self.items.min(other.items)).min(MOST_ITEMS);
        Ok(())
    }
}

impl<M: Deduct> Filter<M> {
    /// Takes away everything that `other` holds. The other must have the same settings, but for what it was made for, and the
    /// same hashing; otherwise it is refused and nothing changes.
    pub fn subtract(&mut self, other: &Self) -> Result<()> {
        self.comparable(other, Settings::alike)?;
        self.mechanism.deduct(&other.mechanism)?;
        self.items = self.items.saturating_sub(other.items);
        Ok(())
    }
}

impl<M: Gauge> Filter<M> {
    /// The number of distinct keys, estimated.
    #[must_use]
    pub fn cardinality(&self) -> Estimate {
        self.mechanism.gauge()
    }

    /// How this set and another overlap.
    pub fn overlap(&self, other: &Self) -> Result<Overlap> {
        self.comparable(other, <M as Gauge>::alike)?;
        self.mechanism.compare(&other.mechanism)
    }
}

impl<M: Code> Filter<M> {
    /// The bits that the coded stores need in theory.
    #[must_use]
    pub fn entropy_bits(&self) -> f64 {
        self.mechanism.entropy_bits()
    }
}

impl<M: Assemble> Filter<M> {
    /// The filter of a data set.
    pub fn build(settings: &M::Settings, hashing: &Hashing, data: &Dataset<'_>) -> Result<Self> {
        settings.check()?;
        let (settings, mechanism, items) = M::assemble(settings, hashing, data)?;
        settings.check()?;
        Ok(Self::of_parts(mechanism, settings, hashing, items))
    }
}

impl<M: Gather> Filter<M> {
    /// The filter of these keys with these settings: of a kind that is built once.
    ///
    /// ```
    /// use bouquet::{Golomb, GolombSettings, hash::Hashing};
    /// let settings = GolombSettings { fpr: Some(0.001), ..Default::default() };
    /// let flowers = Golomb::from_keys(&settings, &Hashing::seeded(7), ["rose", "lily"])?;
    /// assert!(flowers.contains("rose") && !flowers.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_keys<K: Key>(
        settings: &M::Settings,
        hashing: &Hashing,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self> {
        Self::from_keys_and_absent(settings, hashing, keys, [])
    }

    /// The same where keys are known that are no members and will be asked for: a kind that [uses
    /// them](crate::kind::Kind::knows_absent) makes as few false positives of them as it can.
    ///
    /// ```
    /// use bouquet::{BestOfN, BestOfNSettings, hash::Hashing, membership::best_of_n::Objective};
    /// let known = BestOfNSettings { objective: Some(Objective::Known), fpr: Some(0.1), ..Default::default() };
    /// let filter = BestOfN::from_keys_and_absent(&known, &Hashing::default(), ["rose", "lily"], ["iris", "aster"])?;
    /// assert!(filter.contains("rose") && !filter.contains("iris") && !filter.contains("aster"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_keys_and_absent<K: Key>(
        settings: &M::Settings,
        hashing: &Hashing,
        keys: impl IntoIterator<Item = K>,
        absent: impl IntoIterator<Item = K>,
    ) -> Result<Self> {
        settings.check()?;
        let (keys, absent): (Vec<K>, Vec<K>) = (keys.into_iter().collect(), absent.into_iter().collect());
        let (settings, mechanism, items) = M::gather(&M::counted(settings, keys.len()), hashing, &keys, &absent)?;
        settings.check()?;
        Ok(Self::of_parts(mechanism, settings, hashing, items))
    }
}

impl<M: Mechanism> Structure for Filter<M> {
    const FACTS: Facts = Facts { parameters: M::Settings::FIELDS.parameters, ..M::FACTS };
    const CODED: bool = M::CODED;
    const IN_PLACE: bool = M::IN_PLACE;
    const SIZE_FOLLOWS_DATA: bool = M::SIZE_FOLLOWS_DATA;
    const BUILT_WHOLE: bool = M::BUILT_WHOLE;
    const KNOWS_ABSENT: bool = M::KNOWS_ABSENT;
    const HASHES_KEYS: bool = M::HASHES_KEYS;
    const SHARED: bool = M::SHARED;
    const NEEDS: &'static [Need] = M::NEEDS;
    const SPECIALS: &'static [Special<Self>] = M::SPECIALS;

    fn note(config: &Config) -> NoteType {
        M::Settings::from_config(config).map_or(M::FACTS.note, |settings| M::note(&settings))
    }

    fn plan(config: &Config) -> Result<Plan> {
        let settings = M::resolve(&M::suited(M::Settings::from_config(config)?, config.hashing()))?;
        settings.check()?;
        M::plan(&settings)
    }

    fn advice(config: &Config) -> Option<String> {
        M::advice(&M::resolve(&M::Settings::from_config(config).ok()?).ok()?)
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        self.settings().to_config(Config::new(const { &Self::FACTS }).hashed(self.hashing.clone()))
    }

    fn errors(&self) -> &'static [ErrorClass] {
        self.mechanism.errors()
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        Filter::stats(self)
    }

    fn figures(&self) -> Vec<Figure> {
        self.mechanism.figures()
    }

    fn grains(&self) -> Vec<Option<Grain>> {
        self.mechanism.grains()
    }

    fn expected(&self, items: u64) -> Rates {
        self.mechanism.expected(items)
    }

    fn is_in_place(&self) -> bool {
        self.mechanism.is_in_place()
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        self.mechanism.encode(self.items.min(MOST_ITEMS), encoder);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let settings = M::resolve(&M::Settings::from_config(decoder.config())?)?;
        settings.check()?;
        let hashing = decoder.config().hashing().clone();
        let (mechanism, items) = M::decode(&settings, decoder)?;
        Ok(Self::of_parts(mechanism, settings, &hashing, items))
    }
}
