//! The cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher, 2014).
//!
//! # The idea
//!
//! Keep a fingerprint of f bits for each key, in one of two buckets. The second bucket follows from the first and the
//! fingerprint alone, and the first from the second in the same way, so that a fingerprint can be moved without its key:
//! when both buckets are full, one of their fingerprints is sent to its other bucket, as a cuckoo's chick does with eggs.
//!
//! ```text
//! bucket    0      1      2      3      4      5
//!         | a7   | 3c   |      | 51 e0| 9b   |      |     rose: fingerprint 3c, buckets 1 and h(3c) - 1 = 4
//!         | 12   | 88 . |      | 07 . | 4d . |      |     bucket 1 is full: 88 moves to h(88) - 1
//! ```
//!
//! The other bucket of i is h(fingerprint) - i modulo their number B, which may be any number: taking it twice leads
//! back to i. An empty slot is the fingerprint 0, which no key has.
//!
//! # The formula
//!
//! A stored fingerprint is found by the queries that have it, one in 2^f - 1, and one of its two buckets:
//! 1 - (1 - 2/(B (2^f - 1)))^n, about 2 b a / 2^f with b slots per bucket, the share a of them in use. At 95 % of buckets of
//! four this takes (log2(1/rate) + 3) / 0.95 bits per key, fewer than a Bloom filter below a rate of 3 %. See
//! [`theory::fingerprints`](crate::theory::fingerprints).
//!
//! # Guarantee and cost
//!
//! No false negatives, as long as only keys are removed that were inserted: **removing any other that seems present takes
//! the fingerprint of another key, which may then seem absent.** An insertion can be refused, with
//! [`Error::Full`] and nothing changed. The last fingerprint that finds no place after 500 moves waits in a slot of its
//! own, where it is found like any other; only when that is taken are keys refused. The planned number of keys fits.
//!
//! A query or a removal reads two buckets. So does an insertion, which moves a fingerprint only if both are full: seldom before
//! four fifths of the slots are in use, and more and more often from there on.
//!
//! Each copy of a key takes a slot: of one key 2b + 1 copies fit, and none more. With the setting `counter` a slot counts up
//! to 2^counter copies. Keys cannot be listed, and tables not merged or enlarged: which keys a fingerprint belongs
//! to is forgotten.
//!
//! `semisort` stores the fingerprints of a bucket sorted, which saves one bit of each and costs time.
//!
//! # Choose another
//!
//! for merging, counts without bound or growth: [`super::quotient`]; for insertions in fixed time: [`super::d_left`]; at
//! rates above 3 % or when keys are never removed: [`crate::membership::standard`].

use crate::capability::{Contains, Count, Insert, Item, Multiplicity, NoteType, Remove};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, SplitMix, fastrange, mix};
use crate::key::{Batched, Key, answer_each, insert_each, insert_items};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, common,
};
use crate::store::buckets::{Buckets, Shape};
use crate::store::field_max;
use crate::theory::fingerprints;

/// The registry's row.
pub const KIND: Kind = Kind::of::<CuckooFilter>().contains().insert().remove().count().done();

/// Moves that an insertion may cause before the last fingerprint is set aside.
const MOST_MOVES: u32 = 500;

/// With fewer bits there are too few different pairs of buckets to fill the table; a size may still ask for them.
const LEAST_PLANNED_FINGERPRINT: u32 = 6;

/// Buckets of two slots are overfull sooner, and need more.
const LEAST_PLANNED_FOR_PAIRS: u32 = 8;

const BUCKETS: Parameter = Parameter {
    name: "buckets",
    help: "number of buckets, instead of a number of items",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

const SLOTS: Parameter = Parameter {
    name: "slots",
    help: "slots per bucket: 2, 4 or 8, of which 84, 95 or 98 % can be filled",
    of: ParameterType::Count { min: 2, max: 8, default: Some(4) },
};

const FINGERPRINT: Parameter = Parameter {
    name: "fingerprint",
    help: "bits of a fingerprint, instead of a rate; with fewer than 6 the table is full early",
    of: ParameterType::Count { min: 2, max: 32, default: None },
};

const COUNTER: Parameter = Parameter {
    name: "counter",
    help: "bits per slot that count copies of a key, each of which takes a slot otherwise",
    of: ParameterType::Count { min: 0, max: 32, default: Some(0) },
};

const SEMISORT: Parameter = Parameter {
    name: "semisort",
    help: "one bit less per slot and more time per operation; for buckets of 4 slots",
    of: ParameterType::Flag,
};

/// A cuckoo filter.
///
/// ```
/// use bouquet::counting::cuckoo::CuckooFilter;
/// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// filter.remove("rose")?;
/// assert!(!filter.contains("rose"));
/// assert!(filter.remove("rose").is_err(), "nothing is left to remove");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CuckooFilter {
    table: Buckets,
    fingerprint: u32,
    counter: u32,
    semisort: bool,
    hashing: Hashing,
    /// The entry that found no place, with one of its buckets.
    victim: Option<(u64, u64)>,
    /// Chooses what is moved.
    random: SplitMix,
    /// Insertions less removals.
    items: u64,
    /// The keys and the rate that it was made for.
    design: (Option<u64>, Option<f64>),
}

/// What the settings say about the table.
#[derive(Clone, Copy)]
struct Design {
    buckets: u64,
    fingerprint: u32,
    counter: u32,
    semisort: bool,
    shape: Shape,
}

impl Design {
    fn of(config: &Config) -> Result<Self> {
        let slots = config.need("slots")? as u32;
        if !slots.is_power_of_two() {
            return Err(Error::parameter("slots", "2, 4 or 8", slots));
        }
        let fpr = config.real("fpr").unwrap_or(0.01);
        let least = if slots == 2 { LEAST_PLANNED_FOR_PAIRS } else { LEAST_PLANNED_FINGERPRINT };
        let planned = fingerprints::cuckoo_fingerprint_bits(fpr, slots).max(least);
        let fingerprint = config.count("fingerprint").map_or(planned, |bits| bits as u32);
        if fingerprint > 32 {
            return Err(Error::parameter("fpr", "at least 4e-9, which 32 bits reach", fpr));
        }
        let counter = config.need("counter")? as u32;
        let buckets = match (config.count("buckets"), config.count("items")) {
            (Some(buckets), _) => buckets,
            (None, Some(items)) => fingerprints::cuckoo_buckets(items, slots),
            (None, None) => {
                return Err(Error::parameter("items", common::ITEMS.range(), "missing (or give `buckets`)"));
            }
        };
        let semisort = config.flag("semisort");
        let shape = Shape::new(slots, fingerprint + counter, fingerprint, semisort)?;
        Ok(Design { buckets, fingerprint, counter, semisort, shape })
    }
}

impl CuckooFilter {
    /// A filter for `items` keys whose false-positive rate is then at most `fpr`: buckets of 4 slots.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let filter = CuckooFilter::with_rate(1_000_000, 0.01)?;
    /// assert_eq!(filter.fingerprint_bits(), 10);
    /// assert!(CuckooFilter::with_rate(1_000, 0.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts());
        Self::from_config(&config.with("items", Setting::Count(items))?.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter of `buckets` buckets of 4 slots for fingerprints of so many bits.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// assert_eq!(CuckooFilter::with_size(1 << 15, 12)?.slots(), 1 << 17);
    /// assert!(CuckooFilter::with_size(1 << 15, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(buckets: u64, fingerprint_bits: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("buckets", Setting::Count(buckets))?;
        Self::from_config(&config.with("fingerprint", Setting::Count(fingerprint_bits.into()))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind: the way to other buckets, counters,
    /// semi-sorting and keyed hashing.
    ///
    /// ```
    /// use bouquet::{counting::cuckoo::{CuckooFilter, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("counter", "8")?;
    /// let mut filter = CuckooFilter::from_config(&config)?;
    /// for _ in 0..200 {
    ///     filter.insert("rose")?;
    /// }
    /// assert_eq!((filter.count("rose").count, filter.used()), (200, 1));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let design = Design::of(config)?;
        let table = Buckets::zeroed(design.buckets, design.shape)?;
        Ok(Self::with_parts(config, &design, table, SplitMix::new(config.hashing().seed())))
    }

    /// The filter of this table, without victim and items.
    fn with_parts(config: &Config, design: &Design, table: Buckets, random: SplitMix) -> Self {
        let Design { buckets, fingerprint, counter, semisort, shape } = *design;
        let hashing = config.hashing().clone().bind(&format!("cuckoo {buckets} {} {fingerprint}", shape.slots()));
        let design = (config.count("items"), config.is_set("fpr").then(|| config.real("fpr")).flatten());
        CuckooFilter { table, fingerprint, counter, semisort, hashing, victim: None, random, items: 0, design }
    }

    /// Bits of a fingerprint.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// assert_eq!(CuckooFilter::with_rate(1_000, 0.001)?.fingerprint_bits(), 13);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        self.fingerprint
    }

    /// The number of slots.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// assert_eq!(CuckooFilter::with_size(100, 8)?.slots(), 400);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.table.len() * u64::from(self.table.shape().slots())
    }

    /// The number of fingerprints, the one that waits for a place included.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.used(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn used(&self) -> u64 {
        if self.counter == 0 { self.items } else { self.entries().count() as u64 }
    }

    /// Insertions less removals.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
    /// ["rose", "lily"].iter().try_for_each(|key| filter.insert(key).map(drop))?;
    /// filter.remove("lily")?;
    /// assert_eq!(filter.items(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Forgets every key.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.clear();
    /// assert!(!filter.contains("rose") && filter.items() == 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear(&mut self) {
        self.table.clear();
        (self.victim, self.items) = (None, 0);
    }

    /// The fingerprints in the filter with one of their buckets and their number: all that is left of the keys.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let mut filter = CuckooFilter::with_size(100, 8)?;
    /// filter.insert("rose")?;
    /// let listed: Vec<_> = filter.fingerprints().collect();
    /// assert!(matches!(listed[..], [(bucket, 1..=255, 1)] if bucket < 100));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn fingerprints(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.entries().map(|(bucket, entry)| (bucket, self.key_of(entry), self.copies(entry)))
    }

    /// Every entry with its bucket, the victim last.
    fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let table = &self.table;
        let stored = (0..table.len()).flat_map(|bucket| table.entries(bucket).map(move |entry| (bucket, entry)));
        stored.chain(self.victim.map(|(entry, bucket)| (bucket, entry)))
    }

    #[inline]
    fn key_of(&self, entry: u64) -> u64 {
        entry & field_max(self.fingerprint)
    }

    /// The copies that an entry stands for.
    #[inline]
    fn copies(&self, entry: u64) -> u64 {
        (entry >> self.fingerprint) + 1
    }

    /// The fingerprint of a key, never 0, and its first bucket. They come from different words of the digest.
    #[inline]
    fn place(&self, digest: Digest) -> (u64, u64) {
        (1 + fastrange(digest.h2, field_max(self.fingerprint)), fastrange(digest.h1, self.table.len()))
    }

    /// The other bucket of a fingerprint; asked twice it leads back.
    #[inline]
    fn other(&self, fingerprint: u64, bucket: u64) -> u64 {
        let buckets = self.table.len();
        let sum = fastrange(mix(fingerprint), buckets);
        if sum >= bucket { sum - bucket } else { sum + buckets - bucket }
    }

    /// Whether the victim has this fingerprint and one of these buckets.
    #[inline]
    fn is_victim(&self, fingerprint: u64, buckets: [u64; 2]) -> bool {
        self.victim.is_some_and(|(entry, bucket)| self.key_of(entry) == fingerprint && buckets.contains(&bucket))
    }

    #[inline]
    fn holds(&self, fingerprint: u64, [first, second]: [u64; 2]) -> bool {
        // Both are looked at in any case: which of them has the fingerprint cannot be predicted.
        self.table.contains(first, fingerprint)
            | self.table.contains(second, fingerprint)
            | self.is_victim(fingerprint, [first, second])
    }

    /// Inserts a key once more and says whether it was certainly new. [`Error::Full`] when there is no place for its
    /// fingerprint; nothing has changed then.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose")?);
    /// assert!(!filter.insert("rose")?, "not new, but in twice");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.insert_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) -> Result<bool> {
        let (fingerprint, first) = self.place(digest);
        let buckets = [first, self.other(fingerprint, first)];
        let [(here, room), (there, other_room)] = buckets.map(|bucket| self.table.survey(bucket, fingerprint));
        let fresh = !(here | there | self.is_victim(fingerprint, buckets));
        if fresh || self.counter == 0 || !self.count_up(fingerprint, buckets) {
            self.put_into(fingerprint, buckets, [room, other_room])?;
        }
        self.items = self.items.saturating_add(1);
        Ok(fresh)
    }

    /// Adds one to an entry of this fingerprint whose counter has room, if there is one.
    fn count_up(&mut self, fingerprint: u64, buckets: [u64; 2]) -> bool {
        let (one, most) = (1 << self.fingerprint, 1 << self.counter);
        for bucket in buckets {
            let mut entries = self.table.entries(bucket);
            let room = entries.find(|&entry| self.key_of(entry) == fingerprint && self.copies(entry) < most);
            drop(entries);
            if let Some(entry) = room {
                return self.table.replace(bucket, entry, entry + one);
            }
        }
        let room =
            self.is_victim(fingerprint, buckets) && self.victim.is_some_and(|(entry, _)| self.copies(entry) < most);
        if let (true, Some((entry, _))) = (room, &mut self.victim) {
            *entry += one;
        }
        room
    }

    /// Finds a place for an entry.
    #[inline]
    fn put(&mut self, entry: u64, buckets: [u64; 2]) -> Result<()> {
        self.put_into(entry, buckets, buckets.map(|bucket| self.table.free(bucket)))
    }

    /// Finds a place for an entry whose buckets have so many empty slots.
    #[inline]
    fn put_into(&mut self, entry: u64, buckets: [u64; 2], free: [u32; 2]) -> Result<()> {
        // Of two buckets the emptier, which saves a third of all moves. Which it is cannot be predicted, and is no branch.
        if self.table.replace(buckets[usize::from(free[1] > free[0])], 0, entry) {
            return Ok(());
        }
        self.put_into_full(entry, buckets)
    }

    #[inline(never)]
    fn put_into_full(&mut self, entry: u64, buckets: [u64; 2]) -> Result<()> {
        if self.victim.is_some() {
            return Err(Error::Full {
                what: format!("{} of {} slots are in use", self.used(), self.slots()),
                remedy: "make it for more `items` or with more `buckets`; a `counter` holds copies of a key".into(),
            });
        }
        self.make_room(entry, buckets);
        Ok(())
    }

    /// Puts an entry in the place of another that has room in its other bucket. If no entry of the bucket has, one of them is
    /// moved all the same, and the one whose place it takes goes on in the same way. After too many moves the last becomes the
    /// victim.
    fn make_room(&mut self, mut entry: u64, buckets: [u64; 2]) {
        let slots = self.table.shape().slots();
        let mut bucket = buckets[self.random.below(2) as usize];
        for _ in 0..MOST_MOVES {
            // None of these waits for what another finds in its bucket, as one move after another would.
            let movable = (0..slots).find_map(|slot| {
                let held = self.table.get(bucket, slot);
                let other = self.other(self.key_of(held), bucket);
                self.table.has_room(other).then_some((slot, held, other))
            });
            if let Some((slot, held, other)) = movable {
                self.table.replace(other, 0, held);
                self.table.swap(bucket, slot, entry);
                return;
            }
            entry = self.table.swap(bucket, self.random.below(slots.into()) as u32, entry);
            bucket = self.other(self.key_of(entry), bucket);
        }
        self.victim = Some((entry, bucket));
    }

    /// Inserts many keys and says how many were certainly new. An error stops at the key that caused it.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
    /// assert_eq!(filter.insert_batch(&["rose", "lily", "rose"])?, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<u64> {
        insert_each(self, |filter| filter, keys, |filter, _, digest| filter.insert_digest(digest))
    }

    /// Whether the key may be in the set. `false` is certain, unless keys were removed that were never inserted.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        let (fingerprint, first) = self.place(digest);
        self.holds(fingerprint, [first, self.other(fingerprint, first)])
    }

    /// The answers for many keys, `answers[i]` for `keys[i]`; the longer slice's rest is left alone.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// let mut answers = [false; 2];
    /// filter.contains_batch(&["rose", "thistle"], &mut answers);
    /// assert_eq!(answers, [true, false]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn contains_batch<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        answer_each(self, keys, answers, |digest| self.contains_digest(digest));
    }

    /// Removes one copy of a key, or says [`Error::NotPresent`] and changes nothing when it is certainly absent.
    ///
    /// **Remove only what was inserted.** An absent key that seems present cannot be told from a present one: removing
    /// it takes the fingerprint of another key, which may then seem absent.
    ///
    /// ```
    /// use bouquet::{Error, counting::cuckoo::CuckooFilter};
    /// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
    /// ["rose", "lily"].iter().try_for_each(|key| filter.insert(key).map(drop))?;
    /// filter.remove("rose")?;
    /// assert!(!filter.contains("rose") && filter.contains("lily"));
    /// assert!(matches!(filter.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let (fingerprint, first) = self.place(key.digest(&self.hashing));
        let buckets = [first, self.other(fingerprint, first)];
        self.take(fingerprint, buckets)?;
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    #[inline]
    fn take(&mut self, fingerprint: u64, buckets: [u64; 2]) -> Result<()> {
        // Of an entry that stands for several copies one is taken, of one that stands for one nothing is left.
        let less = |entry: u64| entry.saturating_sub(1 << self.fingerprint);
        if self.counter == 0 {
            // Without counters the entry is the fingerprint, and need not be looked up before it is taken.
            if !self.table.replace(buckets[0], fingerprint, 0) && !self.table.replace(buckets[1], fingerprint, 0) {
                return self.take_victim(fingerprint, buckets);
            }
            self.settle();
            return Ok(());
        }
        for bucket in buckets {
            if let Some(entry) = self.table.find(bucket, fingerprint) {
                self.table.replace(bucket, entry, less(entry));
                if less(entry) == 0 {
                    self.settle();
                }
                return Ok(());
            }
        }
        self.take_victim(fingerprint, buckets)
    }

    fn take_victim(&mut self, fingerprint: u64, buckets: [u64; 2]) -> Result<()> {
        if !self.is_victim(fingerprint, buckets) {
            return Err(Error::NotPresent);
        }
        let one = 1 << self.fingerprint;
        self.victim = self.victim.filter(|(entry, _)| *entry >= one).map(|(entry, bucket)| (entry - one, bucket));
        Ok(())
    }

    /// Gives the victim a place, now that a slot has become free. If it finds none, another becomes the victim.
    #[inline]
    fn settle(&mut self) {
        if let Some((entry, bucket)) = self.victim.take() {
            let other = self.other(self.key_of(entry), bucket);
            // Without a victim nothing is refused.
            let _ = self.put(entry, [bucket, other]);
        }
    }

    /// How many copies of the key are in. That is the truth or, as rarely as a false positive, more.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "rose", "lily"])?;
    /// assert_eq!((filter.count("rose").count, filter.count("thistle").count), (2, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let (fingerprint, first) = self.place(key.digest(&self.hashing));
        let second = self.other(fingerprint, first);
        let of_bucket = |bucket: u64| {
            let own = self.table.entries(bucket).filter(|&entry| self.key_of(entry) == fingerprint);
            own.map(|entry| self.copies(entry)).sum::<u64>()
        };
        let mut count = of_bucket(first) + if second == first { 0 } else { of_bucket(second) };
        if let (true, Some((entry, _))) = (self.is_victim(fingerprint, [first, second]), self.victim) {
            count += self.copies(entry);
        }
        Multiplicity { count, at_least: false }
    }

    /// The share of all pairs of a fingerprint and a bucket that are found at present: those of the entries, and for each
    /// of them the other bucket, unless that has the fingerprint itself.
    fn present_rate(&self) -> f64 {
        let table = &self.table;
        let pairs = |bucket: u64, fingerprint: u64| {
            let other = self.other(fingerprint, bucket);
            1 + u64::from(other != bucket && !table.contains(other, fingerprint))
        };
        let mut found = 0u64;
        let mut seen = Vec::with_capacity(table.shape().slots() as usize);
        for bucket in 0..table.len() {
            seen.clear();
            for fingerprint in table.entries(bucket).map(|entry| self.key_of(entry)) {
                if !seen.contains(&fingerprint) {
                    seen.push(fingerprint);
                    found += pairs(bucket, fingerprint);
                }
            }
        }
        if let Some((entry, bucket)) = self.victim {
            let fingerprint = self.key_of(entry);
            let elsewhere =
                table.contains(bucket, fingerprint) || table.contains(self.other(fingerprint, bucket), fingerprint);
            found += if elsewhere { 0 } else { pairs(bucket, fingerprint) };
        }
        found as f64 / (table.len() as f64 * field_max(self.fingerprint) as f64)
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(CuckooFilter::from_bytes(&filter.to_bytes())?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::cuckoo::CuckooFilter;
    /// let mut filter = CuckooFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(CuckooFilter::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

impl Structure for CuckooFilter {
    const FACTS: Facts = Facts {
        id: "cuckoo",
        number: 70,
        name: "Cuckoo filter",
        aliases: &["CF", "cuckoo-filter"],
        family: "counting",
        papers: &[
            "B. Fan, D. G. Andersen, M. Kaminsky, M. Mitzenmacher, Cuckoo filter: practically better than Bloom, \
                   2014",
        ],
        summary: "Is x still in S? For sets that lose members, in fewer bits than a Bloom filter at rates below 3 %.",
        idea: "A fingerprint of each key is kept in one of two buckets. Each of them follows from the other and the \
               fingerprint, so that a full bucket can send a fingerprint to its other bucket without knowing the key. \
               The last one that finds no place waits in a slot of its own; only when that is taken, keys are refused. \
               Only keys that were inserted may be removed: removing any other that seems present can make a key \
               vanish.",
        formulas: &[
            "rate = 1 - (1 - 2/(B (2^f - 1)))^n, about 2 b a / 2^f for the share a of the slots in use",
            "bits per key = (log2(1/rate) + 3) / 0.95, one less before the division with semisort",
            "f = ceil(log2(1/rate) + log2(2 b)), B = n / (b a) + 64/b^2 with a = 0.84, 0.95, 0.98 for b = 2, 4, 8",
        ],
        choose_another: "merging, large counts or growth: quotient; insertions in fixed time: d-left; rates above 3 % or no \
                         removals: standard.",
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, BUCKETS, SLOTS, FINGERPRINT, COUNTER, SEMISORT],
    };

    const IN_PLACE: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        let design = Design::of(config)?;
        let items = config.count("items");
        let rate = |items| fingerprints::cuckoo_rate(design.buckets, design.fingerprint, items);
        Ok(Plan { bits: design.shape.bits(design.buckets)?, hashes: 2, items, fpr: items.map(rate) })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let mut config = Config::new(const { &Self::FACTS }).hashed(self.hashing.clone());
        if let Some(items) = self.design.0 {
            config = config.put("items", Setting::Count(items));
        }
        if let Some(fpr) = self.design.1 {
            config = config.put("fpr", Setting::Real(fpr));
        }
        config
            .put("buckets", Setting::Count(self.table.len()))
            .put("slots", Setting::Count(self.table.shape().slots().into()))
            .put("fingerprint", Setting::Count(self.fingerprint.into()))
            .put("counter", Setting::Count(self.counter.into()))
            .put("semisort", Setting::Flag(self.semisort))
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let slots = self.slots() as f64;
        Stats {
            items: self.items,
            bits: self.table.bits().len(),
            hashes: 2,
            fill: Some((self.used() as f64 / slots).min(1.0)),
            fpr: Some(self.present_rate()),
            // A key takes one slot at most, whatever the hash.
            honest_fill: Some(self.items as f64 / slots),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = |items| Some(fingerprints::cuckoo_rate(self.table.len(), self.fingerprint, items));
        // Another key is counted with this one just when it would make it seem present.
        Rates { false_positive: rate(items), over_count: rate(items.saturating_sub(1)), ..Rates::default() }
    }

    /// State: items, state of the generator, the entry that waits (0 for none) and its bucket, 8 bytes each. Store: the
    /// buckets.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        let (entry, bucket) = self.victim.unwrap_or((0, 0));
        for number in [self.items, self.random.state(), entry, bucket] {
            encoder.state().u64(number);
        }
        encoder.bits(self.table.bits());
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let design = Design::of(decoder.config())?;
        let state = decoder.state();
        let [items, random, entry, bucket] = [state.u64()?, state.u64()?, state.u64()?, state.u64()?];
        let bits = decoder.bits(design.shape.bits(design.buckets)?)?;
        let table = Buckets::from_bits(bits, design.buckets, design.shape)
            .ok_or_else(|| Error::corrupt("buckets", design.buckets, "another size"))?;
        let mut filter = Self::with_parts(decoder.config(), &design, table, SplitMix::new(random));
        let fits = entry <= field_max(design.fingerprint + design.counter) && filter.key_of(entry) != 0;
        if !(fits && bucket < design.buckets || (entry, bucket) == (0, 0)) {
            return Err(Error::corrupt("the waiting entry", "an entry and its bucket, or none", format!("{entry:#x}")));
        }
        filter.victim = fits.then_some((entry, bucket));
        filter.items = items;
        // A mapped table is not read; whatever it holds, no operation can go wrong but in its answers.
        if !filter.table.bits().is_mapped() {
            if let Some((bucket, entry)) = filter.entries().find(|&(_, entry)| filter.key_of(entry) == 0) {
                return Err(Error::corrupt(
                    format!("bucket {bucket}"),
                    "fingerprints",
                    format!("the entry {entry:#x}"),
                ));
            }
            let held = filter.entries().fold(0u64, |sum, (_, entry)| sum.saturating_add(filter.copies(entry)));
            if held != items {
                return Err(Error::corrupt("items", format!("{held}, as many as copies"), items));
            }
        }
        Ok(filter)
    }
}

impl Batched for CuckooFilter {
    #[inline]
    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    #[inline]
    fn bits_ahead(&self) -> u64 {
        self.table.bits().len()
    }

    #[inline]
    fn ask(&self, digest: Digest) {
        let (fingerprint, first) = self.place(digest);
        self.table.prefetch(first);
        self.table.prefetch(self.other(fingerprint, first));
    }
}

impl Contains for CuckooFilter {
    fn contains(&self, key: &[u8]) -> bool {
        CuckooFilter::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        CuckooFilter::contains_batch(self, keys, answers);
    }
}

impl Insert for CuckooFilter {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        CuckooFilter::insert(self, item.bare()?)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        insert_items(self, |filter| filter, items, |filter, _, digest| filter.insert_digest(digest))
    }
}

impl Remove for CuckooFilter {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        CuckooFilter::remove(self, item.bare()?)
    }
}

impl Count for CuckooFilter {
    fn count(&self, key: &[u8]) -> Multiplicity {
        CuckooFilter::count(self, key)
    }
}

#[cfg(test)]
mod tests;
