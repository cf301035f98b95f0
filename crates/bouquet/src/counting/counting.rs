#![doc = include_str!("counting.md")]

use crate::capability::{
    Cardinality, Compress, Contains, Count, Estimate, Insert, Item, Merge, Multiplicity, NoteType, Overlap, Remove,
};
use crate::codec::{Decoder, Encoder};
use crate::coder::{self, counters_entropy};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing};
use crate::key::{BATCH, Key, digest_batch, insert_each, insert_items};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::membership::standard::{self, Bloom};
use crate::parts::counter_array::{Arrangement, CounterArray, CounterStore, Placement, Places};
use crate::store::{BitStore, Counters};

/// The registry's row.
pub const KIND: Kind = kind!(CountingBloom);

/// What happens when a counter is full.
///
/// ```
/// use bouquet::{counting::counting::{CountingBloom, KIND, Policy}, kind::Config};
/// let config = Config::new(KIND.facts()).set("items", "1000")?.set("width", "1")?.set("policy", "reject")?;
/// let mut filter = CountingBloom::from_config(&config)?;
/// assert_eq!(filter.policy(), Policy::Reject);
/// assert!(filter.insert("rose").is_ok());
/// assert!(filter.insert("rose").is_err(), "one bit counts to one");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The largest value is final: such a counter is never changed again.
    #[default]
    Sticky,
    /// The counter stays, but is still subtracted from, so that keys can be lost.
    Saturate,
    /// The insertion fails.
    Reject,
    /// Every counter gets one bit more.
    Widen,
}

impl Policy {
    const ALL: [Policy; 4] = [Policy::Sticky, Policy::Saturate, Policy::Reject, Policy::Widen];
    const NAMES: [&str; 4] = ["sticky", "saturate", "reject", "widen"];

    /// The word for it.
    ///
    /// ```
    /// use bouquet::counting::counting::Policy;
    /// assert_eq!(Policy::default().name(), "sticky");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub(crate) fn of(config: &Config) -> Self {
        let word = config.choice("policy");
        Self::ALL.into_iter().find(|policy| policy.name() == word).unwrap_or_default()
    }
}

pub(crate) const COUNTERS: Parameter = Parameter {
    name: "counters",
    help: "number of counters, instead of a rate",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

const WIDTH: Parameter = Parameter {
    name: "width",
    help: "bits per counter; for keys that come up to f times log2(f + 16) or more",
    of: ParameterType::Count { min: 1, max: coder::MAX_WIDTH as u64, default: Some(4) },
};

pub(crate) const POLICY: Parameter = Parameter {
    name: "policy",
    help: "what a full counter does: sticky stays for ever, saturate (as published) can lose keys, reject refuses \
           the insertion, widen takes more memory",
    of: ParameterType::Choice { options: &Policy::NAMES },
};

const LAYOUT: Parameter = Parameter {
    name: "layout",
    help: "positions anywhere (flat), or one in each of as many slices as there are hashes (sliced)",
    of: ParameterType::Choice { options: &Arrangement::NAMES },
};

const MIRROR: Parameter =
    Parameter { name: "mirror", help: "keep a bit per counter as well, for faster queries", of: ParameterType::Flag };

/// A counting Bloom filter.
///
/// ```
/// use bouquet::counting::counting::CountingBloom;
/// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// filter.insert("rose")?;
/// assert_eq!(filter.count("rose").count, 2);
/// filter.remove("rose")?;
/// assert!(filter.contains("rose"));
/// filter.remove("rose")?;
/// assert!(!filter.contains("rose"));
/// assert!(filter.remove("rose").is_err(), "nothing is left to remove");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CountingBloom {
    cells: CounterArray<Counters>,
    policy: Policy,
    /// One bit per counter, set where it is not zero.
    mirror: Option<BitStore>,
    /// Insertions less removals.
    items: u64,
    /// Insertions, removed ones included.
    inserted: u64,
    /// Increments that met a full counter, with the policy under which that loses information.
    lost: u64,
    /// The distinct keys and the rate that it was made for.
    design: (Option<u64>, Option<f64>),
}

impl CountingBloom {
    /// A filter for `items` distinct keys whose false-positive rate is then `fpr`: flat, 4 bits per counter, sticky.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let filter = CountingBloom::with_rate(1_000_000, 0.01)?;
    /// assert_eq!((filter.hashes(), filter.counters().width()), (7, 4));
    /// assert!(CountingBloom::with_rate(1_000, 0.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts());
        Self::from_config(&config.with("items", Setting::Count(items))?.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter of `counters` counters and `hashes` positions per key: flat, 4 bits per counter, sticky.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// assert_eq!(CountingBloom::with_size(1 << 20, 5)?.counters().bits(), 1 << 22);
    /// assert!(CountingBloom::with_size(1 << 20, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(KIND.facts());
        let config = config.with("counters", Setting::Count(counters))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind: the way to another width, policy or
    /// layout, to the mirror, and to keyed hashing.
    ///
    /// ```
    /// use bouquet::{counting::counting::{CountingBloom, KIND, Policy}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("width", "8")?.set("policy", "widen")?;
    /// let mut filter = CountingBloom::from_config(&config)?;
    /// for _ in 0..1_000 {
    ///     filter.insert("rose")?;
    /// }
    /// assert_eq!((filter.count("rose").count, filter.counters().width()), (1_000, 10));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let (places, width, _) = shape(config)?;
        Self::with_parts(config, places, Counters::zeroed(places.counters(), width)?, [0; 3])
    }

    /// The filter of this content, which must have the size of the layout.
    pub(crate) fn with_parts(
        config: &Config,
        places: Places,
        store: Counters,
        [items, inserted, lost]: [u64; 3],
    ) -> Result<Self> {
        let mirror = if config.flag("mirror") { Some(nonzero(&store)?) } else { None };
        let design = (config.count("items"), config.is_set("fpr").then(|| config.real("fpr")).flatten());
        let cells = CounterArray::new(places, config.hashing(), store);
        Ok(CountingBloom { cells, policy: Policy::of(config), mirror, items, inserted, lost, design })
    }

    /// The layout, the counters, and the numbers of keys, insertions and lost increments.
    pub(crate) fn into_parts(self) -> (Places, Counters, [u64; 3]) {
        (self.cells.places, self.cells.store, [self.items, self.inserted, self.lost])
    }

    /// The counters.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_size(1_000, 5)?;
    /// filter.insert("rose")?;
    /// assert_eq!((filter.counters().len(), filter.counters().iter().sum::<u64>()), (1_000, 5));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.cells.store
    }

    /// Positions per key.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// assert_eq!(CountingBloom::with_size(1_000, 5)?.hashes(), 5);
    /// assert_eq!(CountingBloom::with_rate(1_000, 0.001)?.hashes(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.cells.places.hashes()
    }

    /// What a full counter does.
    ///
    /// ```
    /// use bouquet::{counting::counting::{CountingBloom, KIND, Policy}, kind::Config};
    /// assert_eq!(CountingBloom::with_rate(1_000, 0.01)?.policy(), Policy::Sticky);
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("policy", "widen")?;
    /// assert_eq!(CountingBloom::from_config(&config)?.policy(), Policy::Widen);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Insertions less removals.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// for key in ["rose", "rose", "lily"] {
    ///     filter.insert(key)?;
    /// }
    /// filter.remove("rose")?;
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Increments that were lost at a full counter under the policy `saturate`; zero under every other. As long as it
    /// is zero, no key can seem absent and no count is too small.
    ///
    /// ```
    /// use bouquet::{counting::counting::{CountingBloom, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("width", "2")?.set("policy", "saturate")?;
    /// let mut filter = CountingBloom::from_config(&config)?;
    /// for _ in 0..4 {
    ///     filter.insert("rose")?;
    /// }
    /// assert_eq!(filter.lost(), u64::from(filter.hashes()), "the fourth does not fit in two bits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Counters that are frozen under the policy `sticky`: they stay in use whatever is removed.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// for _ in 0..15 {
    ///     filter.insert("rose")?;
    /// }
    /// assert_eq!(filter.frozen(), u64::from(filter.hashes()));
    /// assert!(filter.count("rose").at_least);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn frozen(&self) -> u64 {
        let frozen = self.frozen_value();
        self.counters().iter().filter(|&counter| counter == frozen).count() as u64
    }

    /// The value from which on a counter is never changed again.
    #[inline]
    fn frozen_value(&self) -> u64 {
        if self.policy == Policy::Sticky { self.cells.store.max() } else { u64::MAX }
    }

    /// Forgets every key. Counters that were widened stay as wide.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.clear();
    /// assert!(!filter.contains("rose") && filter.items() == 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear(&mut self) {
        self.cells.store.clear();
        if let Some(mirror) = &mut self.mirror {
            mirror.words_mut().fill(0);
        }
        (self.items, self.inserted, self.lost) = (0, 0, 0);
    }

    /// Inserts a key once more and says whether it was certainly new. With the policy `reject` a full counter is
    /// [`Error::Full`], with `widen` memory may be lacking; nothing has changed then.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose")?);
    /// assert!(!filter.insert("rose")?, "not new, but counted");
    /// assert_eq!(filter.count("rose").count, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.insert_digest(self.cells.digest(key))
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) -> Result<bool> {
        if matches!(self.policy, Policy::Reject | Policy::Widen) && self.cells.largest(digest) == self.cells.store.max()
        {
            self.cells.store = self.wider(1)?;
        }
        let (fresh, lost) = self.cells.increment(digest);
        if self.policy == Policy::Saturate {
            self.lost = self.lost.saturating_add(lost);
        }
        if let Some(mirror) = &mut self.mirror {
            self.cells.places.set_ones(mirror, digest);
        }
        self.items = self.items.saturating_add(1);
        self.inserted = self.inserted.saturating_add(1);
        Ok(fresh)
    }

    /// Inserts many keys and says how many were certainly new. An error stops at the key that caused it.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// assert_eq!(filter.insert_batch(&["rose", "lily", "rose"])?, 2);
    /// assert_eq!(filter.count("rose").count, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<u64> {
        let insert = |filter: &mut Self, _: &K, digest| filter.insert_digest(digest);
        insert_each(self, |filter| &filter.cells, keys, insert)
    }

    /// The counters with so many more bits, if the policy lets them have more.
    #[cold]
    fn wider(&self, by: u32) -> Result<Counters> {
        let store = &self.cells.store;
        let width = store.width() + by;
        if self.policy == Policy::Widen && width <= coder::MAX_WIDTH {
            return store.rewidth(width);
        }
        Err(Error::Full {
            what: format!("a counter has reached {}", store.max()),
            remedy: "take wider counters, or the policy `sticky` or `widen`".into(),
        })
    }

    /// Whether the key may be in the set. `false` is certain, unless keys were removed that were never inserted, or
    /// the policy is `saturate` and increments were [lost](Self::lost).
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.cells.digest(key))
    }

    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        match &self.mirror {
            Some(mirror) => self.cells.places.all_ones(mirror, digest),
            None => self.cells.contains(digest),
        }
    }

    /// The answers for many keys, `answers[i]` for `keys[i]`; the longer slice's rest is left alone.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// let mut answers = [false; 2];
    /// filter.contains_batch(&["rose", "thistle"], &mut answers);
    /// assert_eq!(answers, [true, false]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn contains_batch<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        let Some(mirror) = &self.mirror else {
            return self.cells.contains_batch(keys, answers);
        };
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            let digests = digest_batch(&self.cells.hashing, keys, |_| ());
            self.cells.places.all_ones_batch(mirror, &digests[..keys.len()], answers);
        }
    }

    /// Removes one occurrence of a key, or says [`Error::NotPresent`] and changes nothing when it is certainly absent.
    ///
    /// **Remove only what was inserted.** An absent key that seems present cannot be told from a present one: removing
    /// it takes counters from other keys, and each of those may then seem absent.
    ///
    /// ```
    /// use bouquet::{CountingBloom, Error};
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.insert("lily")?;
    /// filter.remove("rose")?;
    /// assert!(!filter.contains("rose") && filter.contains("lily"));
    /// assert!(matches!(filter.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.cells.digest(key);
        if !self.contains_digest(digest) {
            return Err(Error::NotPresent);
        }
        self.cells.sub_from_all(digest, 1, self.frozen_value());
        if let Some(mirror) = &mut self.mirror {
            let store = &self.cells.store;
            self.cells.places.of(digest).filter(|&place| store.get(place) == 0).for_each(|place| mirror.clear(place));
        }
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// How often the key is in: the least of its counters. That is the truth or, as rarely as a false positive, more;
    /// `at_least` tells when a full counter hides how much more it may be.
    ///
    /// ```
    /// use bouquet::{capability::Multiplicity, counting::counting::CountingBloom};
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// for _ in 0..20 {
    ///     filter.insert("rose")?;
    /// }
    /// assert_eq!(filter.count("rose"), Multiplicity { count: 15, at_least: true });
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let count = self.cells.least(self.cells.digest(key));
        Multiplicity { count, at_least: self.lost > 0 || count == self.frozen_value() }
    }

    /// Adds the counters of `other`: the filter of both multisets together. The other's counters must have the same
    /// number, positions, hashing and policy, and the same width unless the policy is `widen`.
    ///
    /// A sum that does not fit is treated as an insertion would: it freezes, stays at the largest value, is
    /// [`Error::Full`] with nothing changed, or makes the counters wider.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut here = CountingBloom::with_size(10_000, 7)?;
    /// let mut there = here.clone();
    /// here.insert("rose")?;
    /// there.insert("rose")?;
    /// here.merge(&there)?;
    /// assert_eq!(here.count("rose").count, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.cells.comparable(&other.cells)?;
        same("policy", self.policy, other.policy)?;
        let (mine, theirs) = (self.counters(), other.counters());
        if self.policy != Policy::Widen {
            same("counter width", mine.width(), theirs.width())?;
        }
        // By how much the sums exceed what the wider counters hold.
        let max = mine.max().max(theirs.max());
        let excess = mine.iter().zip(theirs.iter()).map(|(a, b)| a.saturating_sub(max - b));
        let excess = excess.fold(0, u64::saturating_add);
        let exact = matches!(self.policy, Policy::Reject | Policy::Widen);
        // A sum of two counters needs at most one bit more than they have.
        let more = theirs.width().saturating_sub(mine.width()) + u32::from(exact && excess > 0);
        let wider = if more > 0 { Some(self.wider(more)?) } else { None };
        if let Some(mirror) = &mut self.mirror {
            mirror.or(&other.nonzero()?)?;
        }
        if let Some(wider) = wider {
            self.cells.store = wider;
        }
        let store = &mut self.cells.store;
        (0..).zip(theirs.iter()).filter(|&(_, counter)| counter > 0).for_each(|(i, counter)| {
            store.add(i, counter);
        });
        if self.policy == Policy::Saturate {
            self.lost = self.lost.saturating_add(other.lost).saturating_add(excess);
        }
        self.items = self.items.saturating_add(other.items);
        self.inserted = self.inserted.saturating_add(other.inserted);
        Ok(())
    }

    /// A bit per counter, set where it is not zero.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.nonzero()?.count_ones(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn nonzero(&self) -> Result<BitStore> {
        self.mirror.clone().map_or_else(|| nonzero(self.counters()), Ok)
    }

    /// The plain Bloom filter of the same keys, bit for bit, to be sent or kept where nothing is removed: a quarter of
    /// the size, at 4 bits per counter. Also a keyed filter can be given away so: its secret's digests are those of
    /// the plain filter of its size. Its `reduction` is fastrange; filters to merge it with are to be made with the same. A
    /// sliced filter has other positions than a plain one and is refused; its bits are in [`nonzero`](Self::nonzero).
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// let plain = filter.to_bloom()?;
    /// assert!(plain.contains("rose") && !plain.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn to_bloom(&self) -> Result<Bloom> {
        let layout = self.cells.places.plain()?;
        let config = self.with_design(Config::new(standard::KIND.facts()));
        Ok(Bloom::with_parts(&config, layout, self.nonzero()?, self.items))
    }

    /// Adds the hashing and what the filter was made for.
    fn with_design(&self, mut config: Config) -> Config {
        config = config.hashed(self.cells.hashing.clone());
        if let Some(items) = self.design.0 {
            config = config.put("items", Setting::Count(items));
        }
        if let Some(fpr) = self.design.1 {
            config = config.put("fpr", Setting::Real(fpr));
        }
        config
    }

    /// How many counters are in use, in each piece of the array that fills independently.
    fn used(&self) -> Vec<u64> {
        self.used_where(|place| self.cells.store.get(place) != 0)
    }

    fn used_where(&self, used: impl Fn(u64) -> bool) -> Vec<u64> {
        self.cells.places.pieces().map(|piece| piece.filter(|&place| used(place)).count() as u64).collect()
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// let mut copy = CountingBloom::from_bytes(&filter.to_bytes())?;
    /// copy.remove("rose")?;
    /// assert!(!copy.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::counting::CountingBloom;
    /// let mut filter = CountingBloom::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(CountingBloom::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

/// A bit per counter, set where it is not zero.
pub(crate) fn nonzero(counters: &Counters) -> Result<BitStore> {
    let mut bits = BitStore::zeroed(counters.len())?;
    let mut values = counters.iter();
    for word in bits.words_mut() {
        // The iterator ends with the counters, so that the bits behind the last of them stay zero.
        *word = (0..).zip(values.by_ref().take(64)).fold(0, |word, (i, value)| word | u64::from(value != 0) << i);
    }
    Ok(bits)
}

/// Layout, counter width and size in bits that the settings describe.
fn shape(config: &Config) -> Result<(Places, u32, u64)> {
    let sliced = config.choice("layout") == Arrangement::Sliced.name();
    let arrangement = if sliced { Arrangement::Sliced } else { Arrangement::Flat };
    let size = common::size(config, "counters")?;
    let mut places = Places::new(size.bits, size.hashes, arrangement)?;
    if let (None, Some(items), Some(fpr)) = (config.count("counters"), config.count("items"), config.real("fpr")) {
        // Slices need about half a counter more each than the flat array that the size was computed for.
        for _ in 0..4 {
            if arrangement == Arrangement::Flat || places.expected_rate(items) <= fpr {
                break;
            }
            places = Places::new(places.counters().saturating_add(1), size.hashes, arrangement)?;
        }
    }
    let width = config.need("width")?;
    let bits_per_place = width + u64::from(config.flag("mirror"));
    let bits = places.counters().checked_mul(bits_per_place).ok_or_else(|| Error::TooLarge {
        what: "the filter".into(),
        bytes: u128::from(places.counters()) * u128::from(bits_per_place) / 8,
    })?;
    Ok((places, width as u32, bits))
}

impl Structure for CountingBloom {
    const FACTS: Facts = Facts {
        id: "counting",
        number: 50,
        aliases: &["CBF", "counting-bloom"],
        family: "counting",
        text: Text::new(include_str!("counting.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, COUNTERS, common::HASHES, WIDTH, POLICY, LAYOUT, MIRROR],
    };

    const IN_PLACE: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        let (places, _, bits) = shape(config)?;
        let items = config.count("items");
        Ok(Plan { bits, hashes: places.hashes(), items, fpr: items.map(|items| places.expected_rate(items)) })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let places = &self.cells.places;
        self.with_design(Config::new(const { &Self::FACTS }))
            .put("counters", Setting::Count(places.counters()))
            .put("hashes", Setting::Count(places.hashes().into()))
            .put("width", Setting::Count(self.counters().width().into()))
            .put("policy", Setting::Choice(self.policy.name()))
            .put("layout", Setting::Choice(places.arrangement().name()))
            .put("mirror", Setting::Flag(self.mirror.is_some()))
    }

    fn errors(&self) -> &'static [ErrorClass] {
        const LOSING: &[ErrorClass] =
            &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::FalseNegative, ErrorClass::UnderCount];
        if self.policy == Policy::Saturate { LOSING } else { Self::FACTS.errors }
    }

    fn hashing(&self) -> &Hashing {
        &self.cells.hashing
    }

    fn stats(&self) -> Stats {
        let places = &self.cells.places;
        let share = |counters: u64| counters as f64 / places.counters() as f64;
        // A counter in use belongs to a present key or is frozen, and then belongs to one that was inserted.
        let honest = (places.honest_fill(self.items) + share(self.frozen())).min(places.honest_fill(self.inserted));
        let used = self.used();
        Stats {
            items: self.items,
            bits: self.counters().bits() + self.mirror.as_ref().map_or(0, BitStore::len),
            hashes: places.hashes(),
            fill: Some(share(used.iter().sum())),
            fpr: Some(places.rate_of(&used)),
            honest_fill: Some(honest),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let places = &self.cells.places;
        // A key counts too much when the others have hit all of its counters, just as they make an absent key seem
        // present; a counter of one bit shows no more than one.
        let shows = self.counters().max() > 1 || self.policy == Policy::Widen;
        let over_count = if shows { places.expected_rate(items.saturating_sub(1)) } else { 0.0 };
        // Keys are lost by removals alone.
        let false_negative = (self.policy == Policy::Saturate).then_some(0.0);
        let false_positive = Some(places.expected_rate(items));
        Rates { false_positive, false_negative, over_count: Some(over_count), ..Rates::default() }
    }

    fn is_in_place(&self) -> bool {
        self.policy != Policy::Widen
    }

    /// State: items, insertions, lost increments, 8 bytes each. Store: the counters. The mirror follows from them.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        for number in [self.items, self.inserted, self.lost] {
            encoder.state().u64(number);
        }
        encoder.counters(&self.cells.store);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let (places, width, _) = shape(decoder.config())?;
        let state = decoder.state();
        let numbers = [state.u64()?, state.u64()?, state.u64()?];
        let [items, inserted, lost] = numbers;
        if items > inserted {
            return Err(Error::corrupt("items", format!("at most {inserted}, the insertions"), items));
        }
        if lost > 0 && Policy::of(decoder.config()) != Policy::Saturate {
            return Err(Error::corrupt("lost increments", "0 unless the policy is saturate", lost));
        }
        let store = decoder.counters(places.counters(), width)?;
        Self::with_parts(decoder.config(), places, store, numbers)
    }
}

impl Contains for CountingBloom {
    fn contains(&self, key: &[u8]) -> bool {
        CountingBloom::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        CountingBloom::contains_batch(self, keys, answers);
    }
}

impl Insert for CountingBloom {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        CountingBloom::insert(self, item.bare()?)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let insert = |filter: &mut Self, _: &Item<'_>, digest| filter.insert_digest(digest);
        insert_items(self, |filter| &filter.cells, items, insert)
    }
}

impl Remove for CountingBloom {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        CountingBloom::remove(self, item.bare()?)
    }
}

impl Count for CountingBloom {
    fn count(&self, key: &[u8]) -> Multiplicity {
        CountingBloom::count(self, key)
    }
}

impl Merge for CountingBloom {
    fn merge(&mut self, other: &Self) -> Result<()> {
        CountingBloom::merge(self, other)
    }
}

impl Cardinality for CountingBloom {
    /// From the counters that are zero; frozen ones count as keys that are there.
    fn cardinality(&self) -> Estimate {
        self.cells.places.cardinality(&self.used())
    }

    fn overlap(&self, other: &Self) -> Result<Overlap> {
        self.cells.comparable(&other.cells)?;
        let (mine, theirs) = (self.counters(), other.counters());
        let union = self.cells.places.cardinality(&self.used_where(|place| mine.get(place) | theirs.get(place) != 0));
        let error = |keys| self.cells.places.cardinality_error(keys);
        Ok(Overlap::of(self.cardinality(), other.cardinality(), union, error))
    }
}

impl Compress for CountingBloom {
    fn entropy_bits(&self) -> f64 {
        counters_entropy(self.counters().iter().map(|counter| counter as u32))
    }
}

#[cfg(test)]
mod tests;
