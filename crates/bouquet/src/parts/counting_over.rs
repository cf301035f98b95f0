//! A counting filter over any store of counters: what the kinds share that differ from [`counting`](crate::counting::counting) in
//! how a counter is kept.

use crate::capability::{Cardinality, Contains, Estimate, Insert, Item, Merge, Multiplicity, Overlap, Remove};
use crate::codec::{Decoder, Encoder};
use crate::counting::counting::Policy;
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing};
use crate::key::{Key, answer_each, insert_items};
use crate::kind::{Config, ErrorClass, Facts, Plan, Rates, Setting, Stats, Structure, common};
use crate::membership::standard::{self, Bloom};
use crate::parts::counter_array::{Arrangement, CounterArray, CounterStore, Places};
use crate::store::BitStore;

/// A store of counters as a kind has it: with the kind's facts, its settings and its part of a frame.
pub trait CountingStore: CounterStore + Send + Sync + 'static {
    /// The facts of the kind.
    const FACTS: Facts;

    /// Whether the stores keep their size and place whatever happens, unless the policy is `widen`.
    const IN_PLACE: bool;

    /// Whether a key all of whose counters are frozen cannot be removed. Otherwise it is, and nothing changes.
    const KEEPS_FROZEN_KEYS: bool = false;

    /// The bits of a store of these settings and this many counters, when the planned items are in.
    fn planned_bits(config: &Config, counters: u64, hashes: u32) -> Result<u64>;

    /// An empty store of these settings.
    fn empty(config: &Config, counters: u64, hashes: u32) -> Result<Self>;

    /// The settings of the store, besides the number of counters.
    fn settings(&self, config: Config) -> Config;

    /// The size at this moment.
    fn bits(&self) -> u64;

    /// Makes every counter zero.
    fn clear(&mut self);

    /// A bit for each counter, set where it is not zero.
    fn nonzero(&self) -> Result<BitStore>;

    /// Whether the counters of another store can be added: a typed error that names the difference when not.
    fn comparable(&self, other: &Self) -> Result<()>;

    /// The same counters with a larger maximum, if there is such a store.
    fn wider(&self) -> Result<Option<Self>> {
        Ok(None)
    }

    /// What a present key of `items` may be kept from being told for sure: see [`Rates::unknown`].
    fn unknown(&self, _places: (u64, u32), _items: u64) -> Option<f64> {
        None
    }

    /// Writes the stores.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>);

    /// Reads the stores, trusting nothing.
    fn decode(decoder: &mut Decoder<'_>, counters: u64) -> Result<Self>;
}

/// A counting filter over a store of counters. Its kinds are [`ml_ccbf`](crate::counting::ml_ccbf),
/// [`l_cbf`](crate::counting::l_cbf) and [`ternary`](crate::counting::ternary).
///
/// ```
/// use bouquet::counting::ml_ccbf::MultilayerCounting;
/// let mut filter = MultilayerCounting::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// filter.insert("rose")?;
/// filter.remove("rose")?;
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CountingOver<S> {
    pub(crate) cells: CounterArray<S>,
    policy: Policy,
    /// Insertions less removals.
    items: u64,
    /// Insertions, removed ones included.
    inserted: u64,
    /// Increments that met a full counter, with the policy under which that loses information.
    lost: u64,
    /// The distinct keys and the rate that it was made for.
    design: (Option<u64>, Option<f64>),
}

impl<S: CountingStore> CountingOver<S> {
    /// A filter for `items` distinct keys whose false-positive rate is then `fpr`.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// assert_eq!(MultilayerCounting::with_rate(1_000_000, 0.01)?.hashes(), 7);
    /// assert!(MultilayerCounting::with_rate(1_000, 0.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(const { &S::FACTS });
        Self::from_config(&config.with("items", Setting::Count(items))?.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter of `counters` counters and `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// let filter = MultilayerCounting::with_size(1 << 20, 5)?;
    /// assert_eq!((filter.counters(), filter.hashes()), (1 << 20, 5));
    /// assert!(MultilayerCounting::with_size(1 << 20, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(const { &S::FACTS }).with("counters", Setting::Count(counters))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind: the way to every other setting and to
    /// keyed hashing.
    ///
    /// ```
    /// use bouquet::{counting::ml_ccbf::{KIND, MultilayerCounting}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("block", "128")?;
    /// let mut filter = MultilayerCounting::from_config(&config)?;
    /// assert!(filter.insert("rose")?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let places = places(config)?;
        Ok(Self::with_parts(config, places, S::empty(config, places.counters(), places.hashes())?, [0; 3]))
    }

    fn with_parts(config: &Config, places: Places, store: S, [items, inserted, lost]: [u64; 3]) -> Self {
        let design = (config.count("items"), config.is_set("fpr").then(|| config.real("fpr")).flatten());
        let cells = CounterArray::new(places, config.hashing(), store);
        CountingOver { cells, policy: Policy::of(config), items, inserted, lost, design }
    }

    /// The number of counters.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// assert_eq!(MultilayerCounting::with_size(1_000, 5)?.counters(), 1_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn counters(&self) -> u64 {
        self.cells.places.counters()
    }

    /// The counter at `index`; zero beyond the end.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// let mut filter = MultilayerCounting::with_size(1_000, 5)?;
    /// filter.insert("rose")?;
    /// assert_eq!((0..1_000).map(|index| filter.counter(index)).sum::<u64>(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn counter(&self, index: u64) -> u64 {
        self.cells.store.get(index)
    }

    /// Positions per key.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// assert_eq!(MultilayerCounting::with_rate(1_000, 0.001)?.hashes(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.cells.places.hashes()
    }

    /// Insertions less removals.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// let mut filter = MultilayerCounting::with_rate(1_000, 0.01)?;
    /// ["rose", "rose", "lily"].map(|key| filter.insert(key).is_ok());
    /// filter.remove("rose")?;
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Counters that are frozen at the largest value: they stay in use whatever is removed.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// let mut filter = MultilayerCounting::with_rate(1_000, 0.01)?;
    /// (0..100).for_each(|_| assert!(filter.insert("rose").is_ok()));
    /// assert_eq!(filter.frozen(), 0, "its counters have no largest value");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn frozen(&self) -> u64 {
        let frozen = self.frozen_value();
        if frozen == u64::MAX {
            return 0;
        }
        (0..self.counters()).filter(|&place| self.counter(place) == frozen).count() as u64
    }

    /// The value from which on a counter is never changed again.
    #[inline]
    fn frozen_value(&self) -> u64 {
        if self.policy == Policy::Sticky { self.cells.store.max() } else { u64::MAX }
    }

    /// Forgets every key.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// let mut filter = MultilayerCounting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.clear();
    /// assert!(!filter.contains("rose") && filter.items() == 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear(&mut self) {
        self.cells.store.clear();
        (self.items, self.inserted, self.lost) = (0, 0, 0);
    }

    /// Inserts a key once more and says whether it was certainly new. A full counter may be [`Error::Full`] where the
    /// kind has such a policy; nothing has changed then.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// let mut filter = MultilayerCounting::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose")?);
    /// assert!(!filter.insert("rose")?, "not new, but counted");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.insert_digest(self.cells.digest(key))
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) -> Result<bool> {
        if matches!(self.policy, Policy::Reject | Policy::Widen) {
            self.make_room(self.cells.largest(digest).saturating_add(1))?;
        }
        let (fresh, lost) = self.cells.add_to_all(digest, 1);
        if self.policy == Policy::Saturate {
            self.lost = self.lost.saturating_add(lost);
        }
        self.items = self.items.saturating_add(1);
        self.inserted = self.inserted.saturating_add(1);
        Ok(fresh)
    }

    /// Sees to it that counters can have this value, if the policy allows it.
    #[inline]
    fn make_room(&mut self, value: u64) -> Result<()> {
        if value <= self.cells.store.max() { Ok(()) } else { self.widen(value) }
    }

    #[cold]
    fn widen(&mut self, value: u64) -> Result<()> {
        let mut wide = None;
        let max = |wide: &Option<S>| wide.as_ref().unwrap_or(&self.cells.store).max();
        while value > max(&wide) {
            let wider = match self.policy {
                Policy::Widen => wide.as_ref().unwrap_or(&self.cells.store).wider()?,
                _ => None,
            };
            wide = Some(wider.ok_or_else(|| Error::Full {
                what: format!("a counter has reached {}", max(&wide)),
                remedy: "take another `width`, or the `policy` sticky or widen".into(),
            })?);
        }
        if let Some(wide) = wide {
            self.cells.store = wide;
        }
        Ok(())
    }

    /// Whether the key may be in the set. `false` is certain, unless keys were removed that were never inserted, or the
    /// policy is one that loses increments.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// let mut filter = MultilayerCounting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.cells.all_nonzero(self.cells.digest(key))
    }

    /// Removes one occurrence of a key, or says [`Error::NotPresent`] and changes nothing when it is certainly absent.
    /// A kind whose full counters tell nothing says [`Error::Ambiguous`] when all counters of the key are full.
    ///
    /// **Remove only what was inserted.** An absent key that seems present cannot be told from a present one: removing
    /// it takes counters from other keys, and each of those may then seem absent.
    ///
    /// ```
    /// use bouquet::{Error, counting::ml_ccbf::MultilayerCounting};
    /// let mut filter = MultilayerCounting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.remove("rose")?;
    /// assert!(matches!(filter.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.cells.digest(key);
        if !self.cells.all_nonzero(digest) {
            return Err(Error::NotPresent);
        }
        let places = self.cells.places.distinct(digest);
        let frozen = self.frozen_value();
        if S::KEEPS_FROZEN_KEYS && places.iter().all(|&place| self.cells.store.get(place) == frozen) {
            return Err(Error::Ambiguous { what: "all counters of the key are full".into() });
        }
        if frozen == u64::MAX {
            places.iter().for_each(|&place| self.cells.store.sub(place, 1));
        } else {
            self.cells.sub_from_all(digest, 1, frozen);
        }
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// The least counter of the key, and whether it may hide more.
    #[inline]
    pub(crate) fn multiplicity<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let count = self.cells.least(self.cells.digest(key));
        Multiplicity { count, at_least: self.lost > 0 || count == self.frozen_value() }
    }

    /// Adds the counters of `other`: the filter of both multisets together. The other must have the same positions,
    /// hashing, policy and counters. A sum that does not fit is treated as an insertion would.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// let mut here = MultilayerCounting::with_size(10_000, 7)?;
    /// let mut there = here.clone();
    /// there.insert("rose")?;
    /// here.merge(&there)?;
    /// assert!(here.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.cells.comparable(&other.cells)?;
        same("policy", self.policy, other.policy)?;
        let (mine, theirs) = (&self.cells.store, &other.cells.store);
        if self.policy != Policy::Widen {
            mine.comparable(theirs)?;
        }
        let used = theirs.nonzero()?;
        let sums = used.ones().map(|place| mine.get(place).saturating_add(theirs.get(place)));
        let max = mine.max();
        let (largest, excess) = sums.fold((0, 0u64), |(largest, excess), sum| {
            (sum.max(largest), excess.saturating_add(sum.saturating_sub(max)))
        });
        if matches!(self.policy, Policy::Reject | Policy::Widen) {
            self.make_room(largest)?;
        }
        for place in used.ones() {
            self.cells.store.add(place, theirs.get(place));
        }
        if self.policy == Policy::Saturate {
            self.lost = self.lost.saturating_add(other.lost).saturating_add(excess);
        }
        self.items = self.items.saturating_add(other.items);
        self.inserted = self.inserted.saturating_add(other.inserted);
        Ok(())
    }

    /// The plain Bloom filter of the same keys, bit for bit, to be sent or kept where nothing is removed. Also a keyed
    /// filter can be given away so: its secret's digests are those of the plain filter of its size.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// let mut filter = MultilayerCounting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// let plain = filter.to_bloom()?;
    /// assert!(plain.contains("rose") && !plain.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn to_bloom(&self) -> Result<Bloom> {
        let layout = self.cells.places.plain()?;
        let config = self.with_design(Config::new(standard::KIND.facts()));
        Ok(Bloom::with_parts(&config, layout, self.cells.store.nonzero()?, self.items))
    }

    /// Adds the hashing and what the filter was made for.
    fn with_design(&self, config: Config) -> Config {
        let mut config = config.hashed(self.cells.hashing.clone());
        if let Some(items) = self.design.0 {
            config = config.put("items", Setting::Count(items));
        }
        if let Some(fpr) = self.design.1 {
            config = config.put("fpr", Setting::Real(fpr));
        }
        config
    }

    /// How many counters are not zero.
    fn used(&self) -> u64 {
        (0..self.counters()).filter(|&place| self.cells.store.is_nonzero(place)).count() as u64
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// let mut filter = MultilayerCounting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// let mut copy = MultilayerCounting::from_bytes(&filter.to_bytes())?;
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
    /// use bouquet::counting::ml_ccbf::MultilayerCounting;
    /// let mut filter = MultilayerCounting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(MultilayerCounting::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

/// The positions that the settings describe.
fn places(config: &Config) -> Result<Places> {
    let size = common::size(config, "counters")?;
    Places::new(size.bits, size.hashes, Arrangement::Flat)
}

impl<S: CountingStore> Structure for CountingOver<S> {
    const FACTS: Facts = S::FACTS;
    const IN_PLACE: bool = S::IN_PLACE;

    fn plan(config: &Config) -> Result<Plan> {
        let places = places(config)?;
        let bits = S::planned_bits(config, places.counters(), places.hashes())?;
        let items = config.count("items");
        Ok(Plan { bits, hashes: places.hashes(), items, fpr: items.map(|items| places.expected_rate(items)) })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let config = self
            .with_design(Config::new(const { &S::FACTS }))
            .put("counters", Setting::Count(self.counters()))
            .put("hashes", Setting::Count(self.hashes().into()))
            .put("policy", Setting::Choice(self.policy.name()));
        self.cells.store.settings(config)
    }

    fn errors(&self) -> &'static [ErrorClass] {
        const LOSING: &[ErrorClass] =
            &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::FalseNegative, ErrorClass::UnderCount];
        if self.policy == Policy::Saturate { LOSING } else { S::FACTS.errors }
    }

    fn hashing(&self) -> &Hashing {
        &self.cells.hashing
    }

    fn stats(&self) -> Stats {
        let places = &self.cells.places;
        let share = |counters: u64| counters as f64 / self.counters() as f64;
        // A counter in use belongs to a present key or is frozen, and then belongs to one that was inserted.
        let honest = (places.honest_fill(self.items) + share(self.frozen())).min(places.honest_fill(self.inserted));
        let used = self.used();
        Stats {
            items: self.items,
            bits: self.cells.store.bits(),
            hashes: self.hashes(),
            fill: Some(share(used)),
            fpr: Some(places.rate_of(&[used])),
            honest_fill: Some(honest),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let places = &self.cells.places;
        Rates {
            false_positive: Some(places.expected_rate(items)),
            // Keys are lost by removals alone.
            false_negative: (self.policy == Policy::Saturate).then_some(0.0),
            // A key counts too much when the others have hit all of its counters.
            over_count: Some(places.expected_rate(items.saturating_sub(1))),
            unknown: self.cells.store.unknown((self.counters(), self.hashes()), items),
            ..Rates::default()
        }
    }

    fn is_in_place(&self) -> bool {
        S::IN_PLACE && self.policy != Policy::Widen
    }

    /// State: items, insertions, lost increments, 8 bytes each, and what the store adds.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        for number in [self.items, self.inserted, self.lost] {
            encoder.state().u64(number);
        }
        self.cells.store.encode(encoder);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let places = places(decoder.config())?;
        let state = decoder.state();
        let numbers = [state.u64()?, state.u64()?, state.u64()?];
        let [items, inserted, lost] = numbers;
        if items > inserted {
            return Err(Error::corrupt("items", format!("at most {inserted}, the insertions"), items));
        }
        if lost > 0 && Policy::of(decoder.config()) != Policy::Saturate {
            return Err(Error::corrupt("lost increments", "0 unless the policy is saturate", lost));
        }
        let store = S::decode(decoder, places.counters())?;
        Ok(Self::with_parts(decoder.config(), places, store, numbers))
    }
}

impl<S: CountingStore> Contains for CountingOver<S> {
    fn contains(&self, key: &[u8]) -> bool {
        CountingOver::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        answer_each(&self.cells, keys, answers, |digest| self.cells.all_nonzero(digest));
    }
}

impl<S: CountingStore> Insert for CountingOver<S> {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        CountingOver::insert(self, item.bare()?)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let insert = |filter: &mut Self, _: &Item<'_>, digest| filter.insert_digest(digest);
        insert_items(self, |filter| &filter.cells, items, insert)
    }
}

impl<S: CountingStore> Remove for CountingOver<S> {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        CountingOver::remove(self, item.bare()?)
    }
}

impl<S: CountingStore> Merge for CountingOver<S> {
    fn merge(&mut self, other: &Self) -> Result<()> {
        CountingOver::merge(self, other)
    }
}

impl<S: CountingStore> Cardinality for CountingOver<S> {
    /// From the counters that are zero; frozen ones count as keys that are there.
    fn cardinality(&self) -> Estimate {
        self.cells.places.cardinality(&[self.used()])
    }

    fn overlap(&self, other: &Self) -> Result<Overlap> {
        self.cells.comparable(&other.cells)?;
        let mut both = self.cells.store.nonzero()?;
        both.or(&other.cells.store.nonzero()?)?;
        let union = self.cells.places.cardinality(&[both.count_ones()]);
        let error = |keys| self.cells.places.cardinality_error(keys);
        Ok(Overlap::of(self.cardinality(), other.cardinality(), union, error))
    }
}
