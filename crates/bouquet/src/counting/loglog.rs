#![doc = include_str!("loglog.md")]

use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::coder::counters_entropy;
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, SplitMix, mix};
use crate::key::Key;
use crate::kind::{
    ErrorClass, Facts, Kind, Made, Parameter, Plan, Rates, Reply, Special, Stats, Takes, Text, common, kind,
};
use crate::parts::counter_array::{Arrangement, CounterArray, Placement, Places};
use crate::shell::{
    Choice, Code, Fields, Filter, Hashed, Mechanism, Put, Settings, Tally, Test, Unite, choices, fields,
};
use crate::store::Counters;
use crate::theory::{self, loglog};

/// The registry's row.
pub const KIND: Kind = kind!(Loglog);

/// A loglog Bloom filter.
///
/// ```
/// let mut filter = bouquet::Loglog::with_error(100, 0.1625)?;
/// for _ in 0..10_000 {
///     filter.insert("rose");
/// }
/// filter.insert("lily");
/// assert!((5_000.0..20_000.0).contains(&filter.estimate("rose")), "64 copies: 16 %");
/// assert!(filter.contains("lily") && !filter.contains("iris"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Loglog = Filter<Draws>;

/// How the mean of a key's cells becomes a count.
///
/// ```
/// use bouquet::{counting::loglog::Estimator, shell::Choice};
/// assert_eq!(Estimator::Alpha.word(), "alpha");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// Right from one occurrence on.
    Inverse,
    /// As published, right for many.
    Alpha,
}

choices!(Estimator { Inverse = "inverse", Alpha = "alpha" });

const MOST_COPIES: u32 = 1 << 14;

const ERROR: Parameter = Parameter::real("error", "relative standard error of a count", 0.0, 1.0).or_real(0.25);
const COPIES: Parameter =
    Parameter::count("copies", "estimates that are averaged, instead of an error", 2, MOST_COPIES as u64);
const HASHES: Parameter = Parameter::count("hashes", "cells of a key in each copy", 1, 16).or(3);
const CELLS: Parameter = Parameter::count("cells", "number of cells, instead of items", 1, 1 << 56);
const WIDTH: Parameter =
    Parameter::count("width", "bits of a cell; for keys that come up to f times log2(log2 f + 6) or more", 2, 6).or(5);
const ESTIMATOR: Parameter = Parameter::choice(
    "estimator",
    "how the mean becomes a count: inverse is right from one occurrence on, alpha (as published) for many",
    Estimator::WORDS,
);
const METER: Parameter =
    Parameter::count("meter", "a number for each of several meters, whose draws then differ", 0, u64::MAX).or(0);

/// The settings of a loglog Bloom filter.
///
/// ```
/// use bouquet::{Loglog, LoglogSettings, counting::loglog::Estimator};
/// let published = LoglogSettings { items: Some(100), estimator: Some(Estimator::Alpha), ..Default::default() };
/// let mut filter = Loglog::with(published)?;
/// filter.insert("rose");
/// assert!(filter.estimate("rose") > 1.2, "as published, it is wrong for few");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoglogSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The relative standard error of a count.
    pub error: Option<f64>,
    /// Estimates that are averaged.
    pub copies: Option<u32>,
    /// Cells of a key in each copy.
    pub hashes: Option<u32>,
    /// The number of cells.
    pub cells: Option<u64>,
    /// Bits of a cell.
    pub width: Option<u32>,
    /// How the mean becomes a count.
    pub estimator: Option<Estimator>,
    /// The number of this meter among several.
    pub meter: Option<u64>,
}

impl Settings for LoglogSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        error: ERROR,
        copies: COPIES,
        hashes: HASHES,
        cells: CELLS,
        width: WIDTH,
        estimator: ESTIMATOR,
        meter: METER,
    ];
}

/// The places of a copy, copies, and bits of a cell that the settings describe.
fn shape(settings: &LoglogSettings) -> Result<(Places, u32, u32)> {
    let copies = match settings.copies {
        Some(copies) => copies,
        None => {
            let error = ERROR.need(settings.error)?;
            let copies = loglog::copies(error)?;
            if copies > MOST_COPIES {
                return Err(Error::parameter("error", "at least 0.01016, which takes 16384 `copies`", error));
            }
            copies
        }
    };
    let (hashes, width) = (HASHES.need(settings.hashes)?, WIDTH.need(settings.width)?);
    let cells = match (settings.cells, settings.items) {
        (Some(cells), _) => cells,
        (None, Some(items)) => {
            theory::check_bits(items as f64 * f64::from(hashes) * f64::from(copies) / std::f64::consts::LN_2)?
        }
        (None, None) => return Err(common::ITEMS.missing("cells")),
    };
    if cells.checked_mul(width.into()).is_none() {
        return Err(Error::TooLarge { what: "the cells".into(), bytes: u128::from(cells) });
    }
    Ok((Places::new(cells, hashes, Arrangement::Flat)?, copies, width))
}

/// Cells that hold the largest draw of their keys' occurrences.
#[derive(Clone, Debug, PartialEq)]
pub struct Draws {
    cells: CounterArray<Counters>,
    copies: u32,
    estimator: Estimator,
    /// Draws of occurrences without names.
    random: SplitMix,
}

impl Mechanism for Draws {
    const FACTS: Facts = Facts {
        id: "loglog",
        number: 63,
        aliases: &["LLBF"],
        family: "counting",
        text: Text::new(include_str!("loglog.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::UnderCount],
        note: NoteType::None,
        parameters: &[],
    };

    const SPECIALS: &'static [Special<Loglog>] = &[
        Special::ask("estimate", Takes::Key, "the number of occurrences of a key, not rounded", |filter, key| {
            Ok(Reply::Real(filter.estimate(key.key()?)))
        }),
        Special::ask("fold", Takes::Nothing, "the filter of half the size, of an even number of cells", |filter, _| {
            let odd = || {
                Error::parameter(
                    "cells",
                    "an even number, in a filter without a secret",
                    filter.mechanism.cells.store.len(),
                )
            };
            Ok(Made::reply(filter.folded()?.ok_or_else(odd)?))
        }),
        Special::act(
            "add-occurrence",
            Takes::Pair,
            "adds an occurrence that has a name, and so counts once however often and wherever it is added: KEY TAB NAME",
            |filter, pair| {
                let pair = pair.item()?;
                filter.insert_occurrence(pair.key, pair.bytes()?);
                Ok(Reply::Done)
            },
        ),
    ];

    type Settings = LoglogSettings;

    fn resolve(asked: &LoglogSettings) -> Result<LoglogSettings> {
        let (places, copies, _) = shape(asked)?;
        Ok(LoglogSettings { cells: Some(places.counters()), copies: Some(copies), ..asked.clone() })
    }

    fn plan(settings: &LoglogSettings) -> Result<Plan> {
        let ((places, copies, width), items) = (shape(settings)?, settings.items);
        let rate = |items| loglog::rate(places.counters(), items, places.hashes(), copies);
        let bits = places.counters() * u64::from(width);
        Ok(Plan { bits, hashes: places.hashes().saturating_mul(copies), items, fpr: items.map(rate) })
    }

    fn empty(settings: &LoglogSettings, hashing: &Hashing) -> Result<Self> {
        let (places, copies, width) = shape(settings)?;
        let store = Counters::zeroed(places.counters(), width)?;
        // Meters with other numbers must not begin with the same draws.
        let random = SplitMix::new(hashing.seed() ^ mix(METER.need(settings.meter)?));
        let estimator = ESTIMATOR.need(settings.estimator)?;
        Ok(Draws { cells: CounterArray { places, store }, copies, estimator, random })
    }

    fn domain(settings: &LoglogSettings) -> String {
        let [hashes, copies] = [HASHES.need(settings.hashes).unwrap_or(0), settings.copies.unwrap_or(0)];
        format!("loglog {} {hashes} {copies}", settings.cells.unwrap_or(0))
    }

    fn stats(&self, items: u64) -> Stats {
        let store = &self.cells.store;
        let fill = store.count_nonzero() as f64 / store.len() as f64;
        let hashes = self.cells.places.hashes().saturating_mul(self.copies);
        Stats {
            items,
            bits: store.bits(),
            hashes,
            fill: Some(fill),
            fpr: Some(fill.powi(hashes.min(i32::MAX as u32) as i32)),
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let (m, k) = (self.cells.places.counters(), self.cells.places.hashes());
        let over_count = loglog::over_count(m, items, k, self.copies, self.cells.store.max() as u32);
        Rates {
            false_positive: Some(loglog::rate(m, items, k, self.copies)),
            over_count: (self.estimator == Estimator::Inverse).then_some(over_count),
            ..Rates::default()
        }
    }

    /// State: occurrences, state of the SplitMix64 generator. Store: the cells, as counters.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().u64(self.random.state());
        encoder.counters(&self.cells.store);
    }

    fn decode(settings: &LoglogSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (places, copies, width) = shape(settings)?;
        let (items, random) = (decoder.state().u64()?, SplitMix::new(decoder.state().u64()?));
        let store = decoder.counters(places.counters(), width)?;
        let estimator = ESTIMATOR.need(settings.estimator)?;
        Ok((Draws { cells: CounterArray { places, store }, copies, estimator, random }, items))
    }
}

impl Test for Draws {
    fn test(&self, key: Hashed<'_>) -> bool {
        (0..u64::from(self.copies)).all(|copy| self.cells.all_nonzero(key.digest.derive(copy)))
    }
}

impl Put for Draws {
    type Note<'a> = ();
    type Outcome = bool;

    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let mut random = self.random.clone();
        let fresh = self.raise(key.digest, |_| random.next_u64());
        self.random = random;
        fresh
    }
}

impl Tally for Draws {
    /// The estimate, rounded, and at least 1 for a key that seems present; `at_least` tells when a cell has reached its end.
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        match self.minima(key.digest) {
            Some((sum, at_least)) => Multiplicity { count: (self.estimate_of(sum).round() as u64).max(1), at_least },
            None => Multiplicity { count: 0, at_least: false },
        }
    }
}

impl Unite for Draws {
    /// Takes the larger of each two cells: the filter of all occurrences that either has seen. Those with names count once;
    /// those without must have been drawn differently: give the meters numbers of their own with the setting `meter`.
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.cells.store.combine(&other.cells.store, u64::max)
    }

    /// Estimator and meter have no part in it.
    fn alike(settings: &LoglogSettings, other: &LoglogSettings) -> Result<()> {
        same("cells", settings.cells, other.cells)?;
        same("hashes", HASHES.need(settings.hashes)?, HASHES.need(other.hashes)?)?;
        same("copies", settings.copies, other.copies)?;
        same("width", WIDTH.need(settings.width)?, WIDTH.need(other.width)?)
    }
}

impl Code for Draws {
    fn entropy_bits(&self) -> f64 {
        counters_entropy(self.cells.store.iter().map(|cell| cell as u32))
    }
}

impl Draws {
    /// Raises the cells of each copy to the copy's draw, one more than the leading zeros of a random word.
    fn raise(&mut self, digest: Digest, mut word: impl FnMut(u64) -> u64) -> bool {
        let mut fresh = false;
        for copy in 0..u64::from(self.copies) {
            let own = digest.derive(copy);
            let draw = u64::from(word(copy).leading_zeros()) + 1;
            let CounterArray { places, store } = &mut self.cells;
            store.update_each(places.of(own), |cell| {
                fresh |= cell == 0;
                cell.max(draw)
            });
        }
        fresh
    }

    /// The minima of the copies: their sum, and whether one is at its end. Nothing when one is zero.
    fn minima(&self, digest: Digest) -> Option<(u64, bool)> {
        let (mut sum, mut full) = (0, false);
        for copy in 0..u64::from(self.copies) {
            match self.cells.least(digest.derive(copy)) {
                0 => return None,
                least => {
                    sum += least;
                    full |= least == self.cells.store.max();
                }
            }
        }
        Some((sum, full))
    }

    fn estimate_of(&self, sum: u64) -> f64 {
        let mean = sum as f64 / f64::from(self.copies);
        if self.estimator == Estimator::Alpha {
            return loglog::alpha(self.copies) * mean.exp2();
        }
        loglog::occurrences(mean)
    }
}

impl Loglog {
    /// A filter for `items` distinct keys whose counts then have this relative standard error.
    ///
    /// ```
    /// use bouquet::Loglog;
    /// assert_eq!(Loglog::with_error(100, 0.1625)?.settings().copies, Some(64));
    /// assert!(Loglog::with_error(0, 0.1).is_err() && Loglog::with_error(100, 0.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_error(items: u64, error: f64) -> Result<Self> {
        Self::with(LoglogSettings { items: Some(items), error: Some(error), ..Default::default() })
    }

    /// A filter of `cells` cells of 5 bits, of which a key has `hashes` in each of `copies` copies.
    ///
    /// ```
    /// use bouquet::Loglog;
    /// assert_eq!(Loglog::with_size(10_000, 3, 32)?.stats().bits, 50_000);
    /// assert!(Loglog::with_size(10_000, 0, 32).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(cells: u64, hashes: u32, copies: u32) -> Result<Self> {
        let (cells, hashes, copies) = (Some(cells), Some(hashes), Some(copies));
        Self::with(LoglogSettings { cells, hashes, copies, ..Default::default() })
    }

    /// Inserts an occurrence that has a name: however often and wherever it is inserted, it counts once. Says whether the key
    /// was certainly new.
    ///
    /// ```
    /// let mut filter = bouquet::Loglog::with_error(100, 0.25)?;
    /// filter.insert_occurrence("rose", &1u64);
    /// let once = filter.estimate("rose");
    /// for _ in 0..1_000 {
    ///     filter.insert_occurrence("rose", &1u64);
    /// }
    /// assert_eq!(filter.estimate("rose"), once);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_occurrence<K: Key + ?Sized, I: Key + ?Sized>(&mut self, key: &K, id: &I) -> bool {
        let (key, id) = (key.digest(&self.hashing), id.digest(&self.hashing));
        // The key has a part in it, so that occurrences of different keys may have the same name.
        let draw = Digest { h1: id.h1 ^ key.h2, h2: id.h2 };
        self.items = self.items.saturating_add(1);
        self.mechanism.raise(key, |copy| draw.derive(copy).h1)
    }

    /// The estimated number of occurrences; zero for a key that is certainly absent.
    ///
    /// ```
    /// let mut filter = bouquet::Loglog::with_error(100, 0.1)?;
    /// (0..1_000).for_each(|_| { filter.insert("rose"); });
    /// assert!((filter.estimate("rose") / 1_000.0 - 1.0).abs() < 0.5);
    /// assert_eq!(filter.estimate("lily"), 0.0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn estimate<K: Key + ?Sized>(&self, key: &K) -> f64 {
        let draws = &self.mechanism;
        draws.minima(key.digest(&self.hashing)).map_or(0.0, |(sum, _)| draws.estimate_of(sum))
    }

    /// The filter of half the size: of each two neighbouring cells the larger one. It is the one that the same occurrences
    /// would have made at that size. `None` when the number of cells is odd or the filter is keyed.
    ///
    /// ```
    /// use bouquet::Loglog;
    /// let (mut filter, mut small) = (Loglog::with_size(10_000, 3, 32)?, Loglog::with_size(5_000, 3, 32)?);
    /// for filter in [&mut filter, &mut small] {
    ///     (0..100u64).for_each(|id| { filter.insert_occurrence("rose", &id); });
    /// }
    /// let half = filter.folded()?.expect("10,000 is even");
    /// assert_eq!(half.estimate("rose"), small.estimate("rose"));
    /// assert!(Loglog::with_size(9_999, 3, 32)?.folded()?.is_none());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn folded(&self) -> Result<Option<Self>> {
        let CounterArray { places, store } = &self.mechanism.cells;
        // The digests of a secret depend on the size.
        if !places.counters().is_multiple_of(2) || self.hashing.id().is_keyed() {
            return Ok(None);
        }
        let settings = LoglogSettings { cells: Some(places.counters() / 2), ..self.settings() };
        let mut half = Draws { random: self.mechanism.random.clone(), ..Draws::empty(&settings, &self.hashing)? };
        let (mut cells, len) = (store.iter(), half.cells.store.len());
        half.cells.store.update_each(0..len, |_| cells.next().unwrap_or(0).max(cells.next().unwrap_or(0)));
        Ok(Some(Self::of_parts(half, settings, &self.hashing, self.items)))
    }
}

#[cfg(test)]
mod tests;
