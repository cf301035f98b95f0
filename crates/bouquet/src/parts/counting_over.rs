//! A counting filter over any store of counters: what the kinds share that differ in how a counter is kept.

use crate::capability::{Estimate, Multiplicity, Overlap};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::{Key, NEAR_BITS};
use crate::kind::{ErrorClass, Facts, Made, Parameter, Plan, Rates, Special, Stats, Takes};
use crate::membership::standard::{Bloom, BloomSettings};
use crate::parts::counter_array::{Arrangement, CounterArray, CounterStore, Places, Sizes};
use crate::shell::{Choice, Filter, Gauge, Hashed, Mechanism, Put, Settings, Take, Tally, Test, Unite, batch, choices};
use crate::store::BitStore;

/// What happens when a counter is full.
///
/// ```
/// use bouquet::{Counting, CountingSettings, counting::counting::Policy};
/// let reject = Some(Policy::Reject);
/// let one_bit = CountingSettings { items: Some(1_000), width: Some(1), policy: reject, ..Default::default() };
/// let mut filter = Counting::with(one_bit)?;
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

choices!(Policy { Sticky = "sticky", Saturate = "saturate", Reject = "reject", Widen = "widen" });

pub(crate) const POLICY: Parameter = Parameter::choice(
    "policy",
    "what a full counter does: sticky stays for ever, saturate (as published) can lose keys, reject refuses the insertion, \
     widen takes more memory",
    Policy::WORDS,
);

/// The settings of a kind of counting filter.
pub trait StoreSettings: Settings {
    /// Those that all such kinds have.
    fn sizes(&self) -> Sizes;

    /// The same settings with this many counters and positions per key.
    fn sized(self, counters: u64, hashes: u32) -> Self;

    /// What a full counter does.
    fn policy(&self) -> Policy {
        Policy::Sticky
    }

    /// How the positions of a key are spread.
    fn arrangement(&self) -> Arrangement {
        Arrangement::Flat
    }

    /// The same settings whatever the width, in which filters that widen may differ.
    fn of_any_width(self) -> Self {
        self
    }
}

/// The places of keys in a filter of these settings.
fn places(settings: &impl StoreSettings) -> Result<Places> {
    settings.sizes().places(settings.arrangement())
}

/// A store of counters as a kind has it: with the kind's facts, its settings and its part of a frame.
pub trait CountingStore: CounterStore + Send + Sync + 'static {
    /// The facts of the kind.
    const FACTS: Facts;

    /// Whether the stores keep their size and place whatever happens, unless the policy is `widen`.
    const IN_PLACE: bool;

    /// Whether threads can share them, in [`shared`](crate::shared).
    const SHARED: bool = false;

    /// Whether a key all of whose counters are frozen cannot be removed. Otherwise it is, and nothing changes.
    const KEEPS_FROZEN_KEYS: bool = false;

    /// The questions and actions of the kind.
    const SPECIALS: &'static [Special<Filter<CountingOver<Self>>>] = &[CountingOver::<Self>::TO_BLOOM];

    /// The settings of the kind.
    type Settings: StoreSettings;

    /// The settings with what is left open filled in, besides the numbers of counters and positions, which are given.
    fn resolve(settings: Self::Settings) -> Result<Self::Settings>;

    /// The bits of a store of these settings, when the planned items are in.
    fn planned_bits(settings: &Self::Settings, places: &Places) -> Result<u64>;

    /// An empty store of these settings.
    fn empty(settings: &Self::Settings, places: &Places) -> Result<Self>;

    /// The settings of a filter with this store, which may have been widened.
    fn settings(&self, resolved: &Self::Settings) -> Self::Settings {
        resolved.clone()
    }

    /// The size at this moment.
    fn bits(&self) -> u64;

    /// A bit for each counter, set where it is not zero.
    fn nonzero(&self) -> Result<BitStore>;

    /// The same counters, no wider than they need be to hold `value`, if there are such; it is more than they hold now.
    fn wider(&self, _value: u64) -> Result<Option<Self>> {
        Ok(None)
    }

    /// What a present key of `items` may be kept from being told for sure: see [`Rates::unknown`].
    fn unknown(&self, _places: &Places, _items: u64) -> Option<f64> {
        None
    }

    /// Writes the stores.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>);

    /// Reads the stores, trusting nothing.
    fn decode(settings: &Self::Settings, decoder: &mut Decoder<'_>, places: &Places) -> Result<Self>;

    /// Whether no counter of the key is zero.
    #[inline]
    fn contains(cells: &CounterArray<Self>, digest: Digest) -> bool {
        cells.all_nonzero(digest)
    }

    /// The same for many keys, where there is a faster way than one by one; says false, and has done nothing, otherwise.
    #[inline]
    fn contains_batch<K: Key>(_: &CounterArray<Self>, _: &Hashing, _keys: &[K], _answers: &mut [bool]) -> bool {
        false
    }

    /// Adds one to all counters of the key: see [`CounterArray::add_to_all`].
    #[inline]
    fn increment(cells: &mut CounterArray<Self>, digest: Digest) -> (bool, u64) {
        cells.add_to_all(digest, 1)
    }

    /// Takes one from those counters of the key that are below `frozen`, none of which is zero.
    #[inline]
    fn decrement(cells: &mut CounterArray<Self>, digest: Digest, frozen: u64) {
        cells.sub_from_all(digest, 1, frozen);
    }
}

/// A store whose counters tell how often a key came.
pub trait TellsCounts: CountingStore {}

/// A counting filter over a store of counters. Its kinds are [`counting`](crate::counting::counting),
/// [`ml_ccbf`](crate::counting::ml_ccbf), [`l_cbf`](crate::counting::l_cbf) and [`ternary`](crate::counting::ternary).
#[derive(Clone, Debug, PartialEq)]
pub struct CountingOver<S> {
    pub(crate) cells: CounterArray<S>,
    pub(crate) policy: Policy,
    /// Insertions, removed ones included.
    pub(crate) inserted: u64,
    /// Increments that met a full counter, with the policy under which that loses information.
    pub(crate) lost: u64,
}

impl<S: CountingStore> CountingOver<S> {
    /// What can be sent or kept where nothing is removed.
    pub(crate) const TO_BLOOM: Special<Filter<Self>> = Special::ask(
        "bits",
        Takes::Nothing,
        "the plain filter of the same keys, bit for bit, at a fraction of the size",
        |filter, _| Ok(Made::reply(filter.to_bloom()?)),
    );

    /// The mechanism of this content, which must have the size of the places.
    pub(crate) fn of_store(policy: Policy, places: Places, store: S, inserted: u64) -> Self {
        CountingOver { cells: CounterArray { places, store }, policy, inserted, lost: 0 }
    }

    /// The value from which on a counter is never changed again.
    #[inline]
    fn frozen_value(&self) -> u64 {
        if self.policy == Policy::Sticky { self.cells.store.max() } else { u64::MAX }
    }

    fn frozen(&self) -> u64 {
        match self.frozen_value() {
            u64::MAX => 0,
            frozen => {
                (0..self.cells.places.counters()).filter(|&place| self.cells.store.get(place) == frozen).count() as u64
            }
        }
    }

    /// Makes counters able to have this value, if the policy allows it.
    #[inline]
    fn make_room(&mut self, value: u64) -> Result<()> {
        if value <= self.cells.store.max() { Ok(()) } else { self.widen(value) }
    }

    #[cold]
    fn widen(&mut self, value: u64) -> Result<()> {
        let store = &self.cells.store;
        let wider = if self.policy == Policy::Widen { store.wider(value)? } else { None };
        self.cells.store = wider.ok_or_else(|| Error::Full {
            what: format!("a counter has reached {}", store.max()),
            remedy: "take wider counters, or the `policy` sticky or widen".into(),
        })?;
        Ok(())
    }

    /// How many counters are in use, in each piece of the array that fills independently.
    fn used(&self) -> Vec<u64> {
        self.cells.places.count_where(|place| self.cells.store.is_nonzero(place))
    }
}

impl<S: CountingStore> Mechanism for CountingOver<S> {
    const FACTS: Facts = S::FACTS;
    const IN_PLACE: bool = S::IN_PLACE;
    const SHARED: bool = S::SHARED;
    const NEAR: u64 = NEAR_BITS;
    const SPECIALS: &'static [Special<Filter<Self>>] = S::SPECIALS;

    type Settings = S::Settings;

    fn resolve(asked: &S::Settings) -> Result<S::Settings> {
        let places = places(asked)?;
        S::resolve(asked.clone().sized(places.counters(), places.hashes()))
    }

    fn plan(settings: &S::Settings) -> Result<Plan> {
        let (places, items) = (places(settings)?, settings.sizes().items);
        let fpr = items.map(|items| places.expected_rate(items));
        Ok(Plan { bits: S::planned_bits(settings, &places)?, hashes: places.hashes(), items, fpr })
    }

    fn empty(settings: &S::Settings, _: &Hashing) -> Result<Self> {
        let places = places(settings)?;
        // What cannot be had is refused before anything is allocated.
        S::planned_bits(settings, &places)?;
        Ok(Self::of_store(settings.policy(), places, S::empty(settings, &places)?, 0))
    }

    fn domain(settings: &S::Settings) -> String {
        places(settings).map_or(String::new(), |places| places.domain())
    }

    fn settings(&self, resolved: &S::Settings) -> S::Settings {
        self.cells.store.settings(resolved)
    }

    fn errors(&self) -> &'static [ErrorClass] {
        const LOSING: &[ErrorClass] =
            &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::FalseNegative, ErrorClass::UnderCount];
        if self.policy == Policy::Saturate { LOSING } else { S::FACTS.errors }
    }

    fn is_in_place(&self) -> bool {
        S::IN_PLACE && self.policy != Policy::Widen
    }

    fn stats(&self, items: u64) -> Stats {
        let places = &self.cells.places;
        let share = |counters: u64| counters as f64 / places.counters() as f64;
        // A counter in use belongs to a present key or is frozen, and then belongs to one that was inserted.
        let honest = (places.honest_fill(items) + share(self.frozen())).min(places.honest_fill(self.inserted));
        let used = self.used();
        Stats {
            items,
            bits: self.cells.store.bits(),
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
        let shows = self.cells.store.max() > 1 || self.policy == Policy::Widen;
        Rates {
            false_positive: Some(places.expected_rate(items)),
            // Keys are lost by removals alone.
            false_negative: (self.policy == Policy::Saturate).then_some(0.0),
            over_count: Some(if shows { places.expected_rate(items.saturating_sub(1)) } else { 0.0 }),
            unknown: self.cells.store.unknown(places, items),
            ..Rates::default()
        }
    }

    /// State: items, insertions, lost increments, 8 bytes each. Then the stores.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        for number in [items, self.inserted, self.lost] {
            encoder.state().u64(number);
        }
        self.cells.store.encode(encoder);
    }

    fn decode(settings: &S::Settings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let places = places(settings)?;
        let state = decoder.state();
        let [items, inserted, lost] = [state.u64()?, state.u64()?, state.u64()?];
        if items > inserted {
            return Err(Error::corrupt("items", format!("at most {inserted}, the insertions"), items));
        }
        if lost > 0 && settings.policy() != Policy::Saturate {
            return Err(Error::corrupt("lost increments", "0 unless the policy is saturate", lost));
        }
        let store = S::decode(settings, decoder, &places)?;
        Ok((CountingOver { lost, ..Self::of_store(settings.policy(), places, store, inserted) }, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.cells.reach()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.cells.prefetch(digest);
    }

    #[inline]
    fn prefetch_to_test(&self, digest: Digest) {
        self.cells.prefetch_to_test(digest);
    }
}

impl<S: CountingStore> Test for CountingOver<S> {
    #[inline(always)]
    fn test(&self, key: Hashed<'_>) -> bool {
        S::contains(&self.cells, key.digest)
    }

    fn test_batch<K: Key>(&self, hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        if !S::contains_batch(&self.cells, hashing, keys, answers) {
            batch::answer(self, hashing, keys, answers, |key| self.test(key));
        }
    }
}

impl<S: CountingStore> Put for CountingOver<S> {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    /// With the policy `reject` a full counter is [`Error::Full`], with `widen` memory may be lacking.
    #[inline(always)]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> Result<bool> {
        // A digest is passed in registers, a whole key in memory.
        self.insert(key.digest)
    }
}

impl<S: CountingStore> Take for CountingOver<S> {
    type Note<'a> = ();

    /// A kind whose full counters tell nothing says [`Error::Ambiguous`] when all counters of the key are full.
    #[inline]
    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        if !S::contains(&self.cells, key.digest) {
            return Err(Error::NotPresent);
        }
        let frozen = self.frozen_value();
        if S::KEEPS_FROZEN_KEYS && self.cells.least(key.digest) == frozen {
            return Err(Error::Ambiguous { what: "all counters of the key are full, so that its removal would leave no trace; wider counters can tell".into() });
        }
        S::decrement(&mut self.cells, key.digest, frozen);
        Ok(())
    }
}

impl<S: CountingStore> CountingOver<S> {
    #[inline]
    fn insert(&mut self, digest: Digest) -> Result<bool> {
        if matches!(self.policy, Policy::Reject | Policy::Widen) {
            self.make_room(self.cells.largest(digest).saturating_add(1))?;
        }
        let (fresh, lost) = S::increment(&mut self.cells, digest);
        if self.policy == Policy::Saturate {
            self.lost = self.lost.saturating_add(lost);
        }
        self.inserted = self.inserted.saturating_add(1);
        Ok(fresh)
    }

    /// The least counter of the key, and whether it may hide more.
    #[inline]
    pub(crate) fn least(&self, digest: Digest) -> Multiplicity {
        let count = self.cells.least(digest);
        Multiplicity { count, at_least: self.lost > 0 || count == self.frozen_value() }
    }
}

impl<S: TellsCounts> Tally for CountingOver<S> {
    /// The least counter: the truth or, as rarely as a false positive, more; `at_least` tells when a full counter hides how
    /// much more it may be.
    #[inline]
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        self.least(key.digest)
    }
}

impl<S: CountingStore> Unite for CountingOver<S> {
    /// Adds the counters. A sum that does not fit is treated as an insertion would: it freezes, stays at the largest value,
    /// is [`Error::Full`] with nothing changed, or makes the counters wider.
    fn unite(&mut self, other: &Self) -> Result<()> {
        let (mine, theirs) = (&self.cells.store, &other.cells.store);
        let used = theirs.nonzero()?;
        let sums = used.ones().map(|place| mine.get(place).saturating_add(theirs.get(place)));
        let max = mine.max();
        let (largest, excess) = sums.fold((0, 0u64), |(largest, excess), sum| {
            (sum.max(largest), excess.saturating_add(sum.saturating_sub(max)))
        });
        match self.policy {
            Policy::Reject => self.make_room(largest)?,
            // As wide as the wider of both, so that the order does not matter.
            Policy::Widen => self.make_room(largest.max(theirs.max()))?,
            Policy::Saturate => self.lost = self.lost.saturating_add(other.lost).saturating_add(excess),
            Policy::Sticky => {}
        }
        for place in used.ones() {
            self.cells.store.add(place, theirs.get(place));
        }
        self.inserted = self.inserted.saturating_add(other.inserted);
        Ok(())
    }

    fn alike(settings: &S::Settings, other: &S::Settings) -> Result<()> {
        if settings.policy() == Policy::Widen && other.policy() == Policy::Widen {
            return settings.clone().of_any_width().alike(&other.clone().of_any_width());
        }
        settings.alike(other)
    }
}

impl<S: CountingStore> Gauge for CountingOver<S> {
    /// From the counters that are zero; frozen ones count as keys that are there.
    fn gauge(&self) -> Estimate {
        self.cells.places.cardinality(&self.used())
    }

    fn compare(&self, other: &Self) -> Result<Overlap> {
        let (mine, theirs) = (&self.cells.store, &other.cells.store);
        let either = |place| mine.is_nonzero(place) || theirs.is_nonzero(place);
        let places = &self.cells.places;
        let union = places.cardinality(&places.count_where(either));
        Ok(Overlap::of(self.gauge(), other.gauge(), union, |keys| places.cardinality_error(keys)))
    }

    /// Keys are compared by which counters are in use, whatever else they are.
    fn alike(settings: &S::Settings, other: &S::Settings) -> Result<()> {
        places(settings)?.comparable(&places(other)?)
    }
}

impl<S: CountingStore> Filter<CountingOver<S>> {
    /// A filter of `counters` counters and `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::Counting;
    /// assert_eq!(Counting::with_size(1 << 20, 5)?.counters().bits(), 1 << 22);
    /// assert!(Counting::with_size(1 << 20, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, hashes: u32) -> Result<Self> {
        Self::with(S::Settings::default().sized(counters, hashes))
    }

    /// The counter at `index`; zero beyond the end.
    ///
    /// ```
    /// use bouquet::MlCcbf;
    /// let mut filter = MlCcbf::with_size(1_000, 5)?;
    /// filter.insert("rose")?;
    /// assert_eq!((0..1_000).map(|index| filter.counter(index)).sum::<u64>(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn counter(&self, index: u64) -> u64 {
        self.mechanism.cells.store.get(index)
    }

    /// Positions per key.
    ///
    /// ```
    /// use bouquet::Counting;
    /// assert_eq!(Counting::with_rate(1_000, 0.001)?.hashes(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.mechanism.cells.places.hashes()
    }

    /// Counters that are frozen at the largest value under the policy `sticky`: they stay in use whatever is removed.
    ///
    /// ```
    /// use bouquet::Counting;
    /// let mut filter = Counting::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose"; 15])?;
    /// assert_eq!(filter.frozen(), u64::from(filter.hashes()));
    /// assert!(filter.count("rose").at_least);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn frozen(&self) -> u64 {
        self.mechanism.frozen()
    }

    /// Increments that were lost at a full counter under the policy `saturate`; zero under every other. As long as it
    /// is zero, no key can seem absent and no count is too small.
    ///
    /// ```
    /// use bouquet::{Counting, CountingSettings, counting::counting::Policy};
    /// let (items, width, policy) = (Some(1_000), Some(2), Some(Policy::Saturate));
    /// let mut filter = Counting::with(CountingSettings { items, width, policy, ..Default::default() })?;
    /// filter.insert_batch(&["rose"; 4])?;
    /// assert_eq!(filter.lost(), u64::from(filter.hashes()), "the fourth does not fit in two bits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.mechanism.lost
    }

    /// A bit per counter, set where it is not zero.
    ///
    /// ```
    /// use bouquet::Counting;
    /// let mut filter = Counting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.nonzero()?.count_ones(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn nonzero(&self) -> Result<BitStore> {
        self.mechanism.cells.store.nonzero()
    }

    /// The plain Bloom filter of the same keys, bit for bit, to be sent or kept where nothing is removed: a quarter of
    /// the size, at 4 bits per counter. Also a keyed filter can be given away so: its secret's digests are those of
    /// the plain filter of its size. Its `reduction` is fastrange; filters to merge it with are to be made with the same. A
    /// sliced filter has other positions than a plain one and is refused; its bits are in [`nonzero`](Self::nonzero).
    ///
    /// ```
    /// use bouquet::Counting;
    /// let mut filter = Counting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// let plain = filter.to_bloom()?;
    /// assert!(plain.contains("rose") && !plain.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn to_bloom(&self) -> Result<Bloom> {
        let layout = self.mechanism.cells.places.plain()?;
        let Sizes { items, fpr, .. } = self.settings.sizes();
        let asked = BloomSettings { items, fpr, ..BloomSettings::default() };
        Ok(Bloom::of_layout(layout, asked, &self.hashing, self.nonzero()?, self.items()))
    }
}
