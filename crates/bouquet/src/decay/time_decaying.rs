#![doc = include_str!("time_decaying.md")]

mod cells;

use cells::{Cells, half_lives};

use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, common, kind,
};
use crate::parts::counter_array::{Arrangement, COUNTERS, Places, Sizes};
use crate::shell::{
    Age, Amount, ByRate, Choice, Fields, Filter, Hashed, Mechanism, Put, Settings, Tally, Test, Unite, choices, fields,
};
use crate::theory::{sketch, special::binomial_tail};

/// The registry's row.
pub const KIND: Kind = kind!(TimeDecaying);

/// A time-decaying Bloom filter: how often keys came, where what is long ago counts less.
///
/// ```
/// use bouquet::TimeDecaying;
/// let mut recent = TimeDecaying::with_rate(1_000, 0.01)?; // after 60 ticks an occurrence counts half
/// recent.add("rose", 8);
/// recent.advance(60);
/// recent.insert("rose");
/// assert_eq!(recent.frequency("rose"), Some(5.0));
/// recent.advance(240);
/// assert!(!recent.contains("rose"), "less than half of an occurrence is left");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type TimeDecaying = Filter<Recent>;

const HALF_LIFE: Parameter =
    Parameter::count("half-life", "ticks after which an occurrence counts half", 1, 1 << 40).or(60);
const THRESHOLD: Parameter =
    Parameter::real("threshold", "occurrences from which on a key is contained", 0.0, 1e15).or_real(0.5);
const STORE: Parameter = Parameter::choice(
    "store",
    "how counts are kept: all as 64-bit numbers, or most in 12 bits and a few in a pool",
    Store::WORDS,
);
const LAYOUT: Parameter =
    Parameter::choice("layout", "whether each hash function has counters of its own, or all share them", Layout::WORDS);
const UPDATE: Parameter = Parameter::choice(
    "update",
    "what an occurrence adds to: all counters of its key, or only those below its new count",
    Update::WORDS,
);
const EPS: Parameter =
    Parameter::real("eps", "error of a count as a share of the decayed total, instead of a rate", 0.0, 1.0);
const DELTA: Parameter = Parameter::real("delta", "probability that the error is larger, with eps; 0.001", 0.0, 1.0);

/// How counts are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// As 64-bit floats.
    Uniform,
    /// In 12 bits, of which 6 are fractional; those that outgrow them have a float in a pool of one for 50 counters.
    Skewed,
}

choices!(Store { Uniform = "uniform", Skewed = "skewed" });

/// Where the counters of a key lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One in the row of each hash function.
    Partitioned,
    /// Anywhere.
    Shared,
}

choices!(Layout { Partitioned = "partitioned", Shared = "shared" });

/// What an occurrence adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// All counters of its key.
    Plain,
    /// Only counters that are below the new count, up to it: smaller errors, but no merging.
    Conservative,
}

choices!(Update { Plain = "plain", Conservative = "conservative" });

/// The settings of a time-decaying filter.
///
/// ```
/// use bouquet::{TimeDecaying, TimeDecayingSettings};
/// let settings = TimeDecayingSettings { eps: Some(0.001), delta: Some(0.01), ..Default::default() };
/// let filter = TimeDecaying::with(settings)?;
/// assert_eq!((filter.settings().counters, filter.settings().hashes), (Some(5 * 2_719), Some(5))); // ln 100 rows of e/eps
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeDecayingSettings {
    /// Distinct keys that are recent at the same time.
    pub items: Option<u64>,
    /// The rate at which absent keys seem to have come, with that many keys.
    pub fpr: Option<f64>,
    /// The number of counters.
    pub counters: Option<u64>,
    /// Counters per key.
    pub hashes: Option<u32>,
    /// Ticks after which an occurrence counts half.
    pub half_life: Option<u64>,
    /// Occurrences from which on a key is contained.
    pub threshold: Option<f64>,
    /// How counts are kept.
    pub store: Option<Store>,
    /// Where the counters of a key lie.
    pub layout: Option<Layout>,
    /// What an occurrence adds to.
    pub update: Option<Update>,
    /// The error of a count as a share of the decayed total.
    pub eps: Option<f64>,
    /// The probability that the error is larger.
    pub delta: Option<f64>,
}

impl Settings for TimeDecayingSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        counters: COUNTERS,
        hashes: common::HASHES,
        half_life: HALF_LIFE,
        threshold: THRESHOLD,
        store: STORE,
        layout: LAYOUT,
        update: UPDATE,
        eps: EPS,
        delta: DELTA,
    ];

    const DESIGN: &'static [&'static str] = &["items", "fpr", "eps", "delta"];
}

impl ByRate for TimeDecayingSettings {}

/// Arrivals may be late by this many half-lives.
const LATEST: u64 = 40;

/// Counters that lose half of their value in a half-life.
#[derive(Clone, Debug, PartialEq)]
pub struct Recent {
    places: Places,
    cells: Cells,
    threshold: f64,
    update: Update,
    now: u64,
}

/// The places of keys.
fn places(settings: &TimeDecayingSettings) -> Result<Places> {
    let arrangement = match LAYOUT.need(settings.layout)? {
        Layout::Partitioned => Arrangement::Sliced,
        Layout::Shared => Arrangement::Flat,
    };
    let TimeDecayingSettings { items, fpr, counters, hashes, .. } = *settings;
    if let (Some(eps), None) = (settings.eps, counters) {
        let size = sketch::for_error(eps, settings.delta.unwrap_or(0.001))?;
        return Places::new(size.bits, hashes.unwrap_or(size.hashes), arrangement);
    }
    Sizes { items, fpr, counters, hashes }.places(arrangement)
}

impl Mechanism for Recent {
    const FACTS: Facts = Facts {
        id: "time-decaying",
        number: 132,
        aliases: &["time-decaying-bloom"],
        family: "decay",
        text: Text::new(include_str!("time_decaying.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative, ErrorClass::OverCount],
        note: NoteType::Amount,
        parameters: &[],
    };

    const SPECIALS: &'static [Special<TimeDecaying>] = &[
        Special::ask("frequency", Takes::Key, "the decayed number of occurrences, never too small", |filter, key| {
            let key = key.key()?;
            Ok(filter.frequency(key).map_or_else(|| Reply::Count(filter.count(key)), Reply::Real))
        }),
        Special::ask("total", Takes::Nothing, "the decayed number of all occurrences", |filter, _| {
            Ok(Reply::Real(filter.mechanism.cells.total(filter.mechanism.now)))
        }),
        Special::act(
            "insert-late",
            Takes::Pair,
            "inserts a key that came some ticks ago: their number follows the TAB",
            |filter, pair| {
                let (item, ago) = pair.numbered()?;
                Ok(Reply::Truth(filter.insert_late(item.key, ago)?))
            },
        ),
        Special::act("join", Takes::Filter, "the sum of both filters, at the later tick", |filter, other| {
            filter.join(other.filter::<TimeDecaying>()?)?;
            Ok(Reply::Done)
        }),
    ];

    type Settings = TimeDecayingSettings;

    fn resolve(asked: &TimeDecayingSettings) -> Result<TimeDecayingSettings> {
        let places = places(asked)?;
        Cells::bits(places.counters(), STORE.need(asked.store)?)?;
        Ok(TimeDecayingSettings {
            counters: Some(places.counters()),
            hashes: Some(places.hashes()),
            half_life: Some(HALF_LIFE.need(asked.half_life)?),
            threshold: Some(THRESHOLD.need(asked.threshold)?),
            store: Some(STORE.need(asked.store)?),
            layout: Some(LAYOUT.need(asked.layout)?),
            update: Some(UPDATE.need(asked.update)?),
            ..asked.clone()
        })
    }

    fn plan(settings: &TimeDecayingSettings) -> Result<Plan> {
        let (places, items) = (places(settings)?, settings.items);
        let threshold = THRESHOLD.need(settings.threshold)?;
        let bits = Cells::bits(places.counters(), STORE.need(settings.store)?)?;
        let fpr = items.map(|items| false_positives(&places, threshold, items));
        Ok(Plan { bits, hashes: places.hashes(), items, fpr })
    }

    fn empty(settings: &TimeDecayingSettings, _: &Hashing) -> Result<Self> {
        let places = places(settings)?;
        let half_life = HALF_LIFE.need(settings.half_life)?;
        let cells = Cells::zeroed(places.counters(), STORE.need(settings.store)?, half_life)?;
        Self::of(settings, places, cells, 0)
    }

    fn domain(settings: &TimeDecayingSettings) -> String {
        let layout = settings.layout.unwrap_or(Layout::Partitioned).word();
        let (counters, hashes) = (settings.counters.unwrap_or(0), settings.hashes.unwrap_or(0));
        format!("time-decaying {layout} {counters} {hashes}")
    }

    /// Rounding may take a quarter of an occurrence; and a key that came once is not there if more are asked for.
    fn errors(&self) -> &'static [ErrorClass] {
        use ErrorClass::{FalseNegative, FalsePositive, OverCount, UnderCount};
        match (&self.cells, self.threshold > 1.0) {
            (Cells::Uniform(_), false) => &[FalsePositive, OverCount],
            (Cells::Uniform(_), true) => &[FalsePositive, FalseNegative, OverCount],
            (Cells::Skewed(_), false) => &[FalsePositive, OverCount, UnderCount],
            (Cells::Skewed(_), true) => &[FalsePositive, FalseNegative, OverCount, UnderCount],
        }
    }

    fn stats(&self, items: u64) -> Stats {
        let used = |threshold: f64| {
            self.places.count_where(|index| {
                let value = self.cells.get(index, self.now);
                value > 0.0 && value >= threshold
            })
        };
        let all = self.places.counters() as f64;
        Stats {
            items,
            bits: self.cells.stored_bits(),
            hashes: self.places.hashes(),
            fill: Some(used(0.0).iter().sum::<u64>() as f64 / all),
            fpr: Some(self.places.rate_of(&used(self.threshold))),
            honest_fill: Some(self.places.honest_fill(items)),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let Cells::Skewed(skewed) = &self.cells else { return Vec::new() };
        let figure = |name, value| Figure { name, value: Setting::Count(value) };
        vec![figure("pool in use", skewed.pooled()), figure("saturated counters", skewed.saturated())]
    }

    fn expected(&self, items: u64) -> Rates {
        let (k, others) = (self.places.hashes(), items.saturating_sub(1));
        let over_count = match self.update {
            Update::Plain => self.places.expected_rate(others),
            // Rows of m/k counters fill as one array of m does.
            Update::Conservative => sketch::conservative_over_count(self.places.counters() / u64::from(k), k, items),
        };
        let twice = self.threshold > 1.0;
        let known = (!twice || self.update == Update::Plain).then_some(());
        // Others must bring what is missing, in every counter.
        let found = tail(&self.places, (self.threshold.ceil() as u64).saturating_sub(1), others);
        Rates {
            false_positive: known.map(|()| false_positives(&self.places, self.threshold, items)),
            false_negative: known.map(|()| if twice { 1.0 - found } else { 0.0 }),
            over_count: Some(over_count),
            ..Rates::default()
        }
    }

    /// State: u64 items, u64 ticks; what the cells add. Stores: those of the cells.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().u64(self.now);
        self.cells.encode(encoder);
    }

    fn decode(settings: &TimeDecayingSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let places = places(settings)?;
        let [items, now] = [decoder.state().u64()?, decoder.state().u64()?];
        if now > cells::LAST_TICK {
            return Err(Error::corrupt("the clock", format!("at most {}", cells::LAST_TICK), now));
        }
        let (store, half_life) = (STORE.need(settings.store)?, HALF_LIFE.need(settings.half_life)?);
        let cells = Cells::decode(decoder, places.counters(), store, half_life, now)?;
        Ok((Self::of(settings, places, cells, now)?, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.cells.stored_bits()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.places.all(digest, |place| {
            self.cells.prefetch(place);
            true
        });
    }
}

/// The chance that every counter of a key has this many occurrences of others.
fn tail(places: &Places, occurrences: u64, others: u64) -> f64 {
    let (m, k) = (places.counters() as f64, places.hashes());
    if occurrences <= 1 {
        return if occurrences == 0 { 1.0 } else { places.expected_rate(others) };
    }
    let of_one = match places.arrangement() {
        Arrangement::Sliced => binomial_tail(occurrences, others as f64, f64::from(k) / m),
        Arrangement::Flat => binomial_tail(occurrences, others as f64 * f64::from(k), 1.0 / m),
    };
    of_one.powi(k as i32)
}

/// The rate of false positives after this many keys that came once.
fn false_positives(places: &Places, threshold: f64, items: u64) -> f64 {
    tail(places, (threshold.ceil() as u64).max(1), items)
}

impl Test for Recent {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.places.all(key.digest, |place| {
            let value = self.cells.get(place, self.now);
            value > 0.0 && value >= self.threshold
        })
    }
}

impl Put for Recent {
    type Note<'a> = Amount;
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, Amount(times): Amount) -> bool {
        self.put_weight(key.digest, rounded_up(times))
    }

    fn weight(note: &Amount) -> u64 {
        note.0
    }
}

/// The number as a float that is not smaller.
fn rounded_up(times: u64) -> f64 {
    let weight = times as f64;
    if (weight as u128) < u128::from(times) { weight.next_up() } else { weight }
}

impl Tally for Recent {
    /// Rounded up; at least what a counter can hold where all of them are saturated.
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        match self.least(key.digest) {
            value if value.is_finite() => Multiplicity { count: value.ceil() as u64, at_least: value >= 1.8e19 },
            _ => Multiplicity { count: cells::MOST_IN_A_CELL as u64, at_least: true },
        }
    }
}

impl Age for Recent {
    /// Only the clock moves; counters are brought up to date where they are changed.
    fn age(&mut self, ticks: u64) {
        self.now = self.now.saturating_add(ticks).min(cells::LAST_TICK);
    }
}

impl Unite for Recent {
    /// Filters of different ticks are refused, since what one holds counts less at the tick of the other; and those of conservative
    /// update, whose counters do not add up.
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.can_be_added()?;
        same("ticks", self.now, other.now)?;
        self.add(other);
        Ok(())
    }
}

impl Recent {
    fn of(settings: &TimeDecayingSettings, places: Places, cells: Cells, now: u64) -> Result<Self> {
        let (threshold, update) = (THRESHOLD.need(settings.threshold)?, UPDATE.need(settings.update)?);
        Ok(Recent { places, cells, threshold, update, now })
    }

    /// The least of a key's counters, infinite where all are saturated.
    #[inline]
    fn least(&self, digest: Digest) -> f64 {
        let mut least = f64::INFINITY;
        self.places.all(digest, |place| {
            least = least.min(self.cells.get(place, self.now));
            true
        });
        least
    }

    /// Adds to the counters of a key and says whether it was below the threshold.
    #[inline]
    fn put_weight(&mut self, digest: Digest, weight: f64) -> bool {
        let least = self.least(digest);
        self.cells.count(self.now, weight);
        let distinct = self.places.distinct(digest);
        match self.update {
            Update::Plain => distinct.iter().for_each(|&place| self.cells.add(place, self.now, weight)),
            Update::Conservative => {
                let raised = least + weight;
                for &place in distinct.iter() {
                    let value = self.cells.get(place, self.now);
                    if value < raised && raised.is_finite() {
                        self.cells.add(place, self.now, raised - value);
                    }
                }
            }
        }
        !(least > 0.0 && least >= self.threshold)
    }

    fn can_be_added(&self) -> Result<()> {
        match self.update {
            Update::Plain => Ok(()),
            Update::Conservative => Err(Error::Incompatible {
                field: "update".into(),
                left: "conservative".into(),
                right: "conservative; only plain counters add up".into(),
            }),
        }
    }

    /// Adds the counters of another, as they are now.
    fn add(&mut self, other: &Self) {
        self.cells.count(self.now, other.cells.total(self.now));
        for place in 0..self.places.counters() {
            let value = other.cells.get(place, self.now);
            if value > 0.0 {
                self.cells.add(place, self.now, value);
            }
        }
    }
}

impl TimeDecaying {
    /// A filter of `counters` counters, `hashes` of which each key has, in which an occurrence counts half after `half_life` ticks.
    ///
    /// ```
    /// use bouquet::TimeDecaying;
    /// let mut filter = TimeDecaying::with_size(1_000, 4, 10)?;
    /// filter.add("rose", 4);
    /// filter.advance(20);
    /// assert_eq!(filter.frequency("rose"), Some(1.0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, hashes: u32, half_life: u64) -> Result<Self> {
        let (counters, hashes, half_life) = (Some(counters), Some(hashes), Some(half_life));
        Self::with(TimeDecayingSettings { counters, hashes, half_life, ..Default::default() })
    }

    /// The decayed number of occurrences of a key, never too small but for the rounding of the store; `None` where all of its counters
    /// are saturated, so that it may be anything.
    ///
    /// ```
    /// use bouquet::TimeDecaying;
    /// let mut filter = TimeDecaying::with_rate(100, 0.01)?;
    /// filter.insert("rose");
    /// assert_eq!((filter.frequency("rose"), filter.frequency("lily")), (Some(1.0), Some(0.0)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn frequency<K: Key + ?Sized>(&self, key: &K) -> Option<f64> {
        Some(self.mechanism.least(key.digest(&self.hashing))).filter(|value| value.is_finite())
    }

    /// Inserts a key that came some ticks ago, at most 40 half-lives, and says whether it was new: it counts as much as if it had come
    /// in time.
    ///
    /// ```
    /// use bouquet::TimeDecaying;
    /// let mut filter = TimeDecaying::with_size(1_000, 4, 10)?;
    /// filter.insert_late("rose", 10)?;
    /// assert_eq!(filter.frequency("rose"), Some(0.5));
    /// assert!(filter.insert_late("rose", 401).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_late<K: Key + ?Sized>(&mut self, key: &K, ago: u64) -> Result<bool> {
        let half_life = self.mechanism.cells.half_life();
        let most = LATEST.saturating_mul(half_life);
        if ago > most {
            return Err(Error::Item { expected: format!("a key of at most {most} ticks ago"), found: ago.to_string() });
        }
        let fresh = self.mechanism.put_weight(key.digest(&self.hashing), half_lives(ago, half_life));
        self.items = self.items.saturating_add(1).min(u64::MAX / 2);
        Ok(fresh)
    }

    /// Adds another filter's counts after both have been brought to the later tick of the two.
    ///
    /// ```
    /// use bouquet::TimeDecaying;
    /// let mut here = TimeDecaying::with_size(1_000, 4, 10)?;
    /// let mut there = here.clone();
    /// there.add("rose", 4);
    /// here.advance(10);
    /// here.join(&there)?;
    /// assert_eq!(here.frequency("rose"), Some(2.0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn join(&mut self, other: &Self) -> Result<()> {
        self.comparable(other, Settings::alike)?;
        self.mechanism.can_be_added()?;
        self.mechanism.now = self.mechanism.now.max(other.mechanism.now);
        self.mechanism.add(&other.mechanism);
        self.items = self.items.saturating_add(other.items).min(u64::MAX / 2);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
