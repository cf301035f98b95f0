#![doc = include_str!("loglog.md")]

use crate::capability::{Compress, Contains, Count, Insert, Item, Merge, Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::coder::counters_entropy;
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, SplitMix, mix};
use crate::key::Key;
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::counter_array::{Arrangement, CounterArray, HashedArray, Placement, Places};
use crate::store::Counters;
use crate::theory::{self, loglog};

/// The registry's row.
pub const KIND: Kind = kind!(LogLog);

const ERROR: Parameter = Parameter {
    name: "error",
    help: "relative standard error of a count",
    of: ParameterType::Real { above: 0.0, below: 1.0, default: Some(0.25) },
};

const COPIES: Parameter = Parameter {
    name: "copies",
    help: "estimates that are averaged, instead of an error",
    of: ParameterType::Count { min: 2, max: MOST_COPIES as u64, default: None },
};

const MOST_COPIES: u32 = 1 << 14;

const HASHES: Parameter = Parameter {
    name: "hashes",
    help: "cells of a key in each copy",
    of: ParameterType::Count { min: 1, max: 16, default: Some(3) },
};

const CELLS: Parameter = Parameter {
    name: "cells",
    help: "number of cells, instead of items",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

const WIDTH: Parameter = Parameter {
    name: "width",
    help: "bits of a cell; for keys that come up to f times log2(log2 f + 6) or more",
    of: ParameterType::Count { min: 2, max: 6, default: Some(5) },
};

const ESTIMATOR: Parameter = Parameter {
    name: "estimator",
    help: "how the mean becomes a count: inverse is right from one occurrence on, alpha (as published) for many",
    of: ParameterType::Choice { options: &["inverse", "alpha"] },
};

const METER: Parameter = Parameter {
    name: "meter",
    help: "a number for each of several meters, whose draws then differ",
    of: ParameterType::Count { min: 0, max: u64::MAX, default: Some(0) },
};

/// A loglog Bloom filter.
///
/// ```
/// use bouquet::counting::loglog::LogLog;
/// let mut filter = LogLog::with_error(100, 0.1625)?;
/// for _ in 0..10_000 {
///     filter.insert("rose");
/// }
/// filter.insert("lily");
/// assert!((5_000.0..20_000.0).contains(&filter.estimate("rose")), "64 copies: 16 %");
/// assert!(filter.contains("lily") && !filter.contains("iris"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LogLog {
    cells: HashedArray<Counters>,
    copies: u32,
    /// Draws of occurrences without names.
    random: SplitMix,
    /// Occurrences, those that were seen before included.
    items: u64,
    /// The settings, with the effective size.
    settings: Config,
}

impl LogLog {
    /// A filter for `items` distinct keys whose counts then have this relative standard error.
    ///
    /// ```
    /// use bouquet::counting::loglog::LogLog;
    /// assert_eq!(LogLog::with_error(100, 0.1625)?.copies(), 64);
    /// assert!(LogLog::with_error(0, 0.1).is_err() && LogLog::with_error(100, 0.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_error(items: u64, error: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("error", Setting::Real(error))?)
    }

    /// A filter of `cells` cells of 5 bits, of which a key has `hashes` in each of `copies` copies.
    ///
    /// ```
    /// use bouquet::{counting::loglog::LogLog, kind::Structure};
    /// assert_eq!(LogLog::with_size(10_000, 3, 32)?.stats().bits, 50_000);
    /// assert!(LogLog::with_size(10_000, 0, 32).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(cells: u64, hashes: u32, copies: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("cells", Setting::Count(cells))?;
        let config = config.with("hashes", Setting::Count(hashes.into()))?;
        Self::from_config(&config.with("copies", Setting::Count(copies.into()))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{counting::loglog::{KIND, LogLog}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "100")?.set("estimator", "alpha")?;
    /// let mut filter = LogLog::from_config(&config)?;
    /// filter.insert("rose");
    /// assert!(filter.estimate("rose") > 1.2, "as published, it is wrong for few");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = Shape::of(config)?;
        let cells = Counters::zeroed(shape.places.counters(), shape.width)?;
        // Meters with other numbers must not begin with the same draws.
        let seed = config.hashing().seed() ^ mix(config.need("meter")?);
        Ok(shape.assemble(config, cells, SplitMix::new(seed), 0))
    }

    /// How many estimates are averaged.
    ///
    /// ```
    /// assert_eq!(bouquet::counting::loglog::LogLog::with_error(100, 0.25)?.copies(), 28);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn copies(&self) -> u32 {
        self.copies
    }

    /// Occurrences so far, those that were seen before included.
    ///
    /// ```
    /// let mut filter = bouquet::counting::loglog::LogLog::with_error(100, 0.25)?;
    /// filter.insert("rose");
    /// filter.insert("rose");
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Inserts an occurrence of a key and says whether the key was certainly new.
    ///
    /// ```
    /// let mut filter = bouquet::counting::loglog::LogLog::with_error(100, 0.25)?;
    /// assert!(filter.insert("rose") && !filter.insert("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let digest = self.cells.digest(key);
        let mut random = self.random.clone();
        let fresh = self.raise(digest, |_| random.next_u64());
        self.random = random;
        fresh
    }

    /// Inserts an occurrence that has a name: however often and wherever it is inserted, it counts once. Says whether the key
    /// was certainly new.
    ///
    /// ```
    /// let mut filter = bouquet::counting::loglog::LogLog::with_error(100, 0.25)?;
    /// filter.insert_occurrence("rose", &1u64);
    /// let once = filter.estimate("rose");
    /// for _ in 0..1_000 {
    ///     filter.insert_occurrence("rose", &1u64);
    /// }
    /// assert_eq!(filter.estimate("rose"), once);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_occurrence<K: Key + ?Sized, I: Key + ?Sized>(&mut self, key: &K, id: &I) -> bool {
        let (key, id) = (self.cells.digest(key), self.cells.digest(id));
        // The key has a part in it, so that occurrences of different keys may have the same name.
        let draw = Digest { h1: id.h1 ^ key.h2, h2: id.h2 };
        self.raise(key, |copy| draw.derive(copy).h1)
    }

    /// Raises the cells of each copy to the copy's draw, one more than the leading zeros of a random word.
    fn raise(&mut self, digest: Digest, mut word: impl FnMut(u64) -> u64) -> bool {
        self.items = self.items.saturating_add(1);
        let mut fresh = false;
        for copy in 0..u64::from(self.copies) {
            let own = digest.derive(copy);
            let draw = u64::from(word(copy).leading_zeros()) + 1;
            let CounterArray { places, store } = &mut *self.cells;
            store.update_each(places.of(own), |cell| {
                fresh |= cell == 0;
                cell.max(draw)
            });
        }
        fresh
    }

    /// Whether the key may be in; `false` is certain.
    ///
    /// ```
    /// let mut filter = bouquet::counting::loglog::LogLog::with_error(100, 0.25)?;
    /// filter.insert("rose");
    /// assert!(filter.contains("rose") && !filter.contains("lily"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.cells.digest(key);
        (0..u64::from(self.copies)).all(|copy| self.cells.all_nonzero(digest.derive(copy)))
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
        if self.settings.choice("estimator") == "alpha" {
            return loglog::alpha(self.copies) * mean.exp2();
        }
        loglog::occurrences(mean)
    }

    /// The estimated number of occurrences; zero for a key that is certainly absent.
    ///
    /// ```
    /// let mut filter = bouquet::counting::loglog::LogLog::with_error(100, 0.1)?;
    /// (0..1_000).for_each(|_| { filter.insert("rose"); });
    /// assert!((filter.estimate("rose") / 1_000.0 - 1.0).abs() < 0.5);
    /// assert_eq!(filter.estimate("lily"), 0.0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn estimate<K: Key + ?Sized>(&self, key: &K) -> f64 {
        self.minima(self.cells.digest(key)).map_or(0.0, |(sum, _)| self.estimate_of(sum))
    }

    /// The estimate, rounded, and at least 1 for a key that seems present; `at_least` tells when a cell has reached its end.
    ///
    /// ```
    /// let mut filter = bouquet::counting::loglog::LogLog::with_error(100, 0.25)?;
    /// filter.insert("rose");
    /// assert!(filter.count("rose").count >= 1 && filter.count("lily").count == 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        match self.minima(self.cells.digest(key)) {
            Some((sum, at_least)) => Multiplicity { count: (self.estimate_of(sum).round() as u64).max(1), at_least },
            None => Multiplicity { count: 0, at_least: false },
        }
    }

    /// Takes the larger of each two cells: the filter of all occurrences that either has seen. Those with names count once; those
    /// without must have been drawn differently: give the meters numbers of their own with the setting `meter`.
    ///
    /// ```
    /// use bouquet::counting::loglog::LogLog;
    /// let (mut here, mut there) = (LogLog::with_error(100, 0.25)?, LogLog::with_error(100, 0.25)?);
    /// (0..60u64).for_each(|id| { here.insert_occurrence("rose", &id); });
    /// (40..100u64).for_each(|id| { there.insert_occurrence("rose", &id); });
    /// here.merge(&there)?;
    /// let mut both = LogLog::with_error(100, 0.25)?;
    /// (0..100u64).for_each(|id| { both.insert_occurrence("rose", &id); });
    /// assert_eq!(here.estimate("rose"), both.estimate("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.cells.comparable(&other.cells)?;
        same("copies", self.copies, other.copies)?;
        self.cells.store.combine(&other.cells.store, u64::max)?;
        self.items = self.items.saturating_add(other.items);
        Ok(())
    }

    /// The filter of half the size: of each two neighbouring cells the larger one. It is the one that the same occurrences
    /// would have made at that size. `None` when the number of cells is odd or the filter is keyed.
    ///
    /// ```
    /// use bouquet::counting::loglog::LogLog;
    /// let (mut filter, mut small) = (LogLog::with_size(10_000, 3, 32)?, LogLog::with_size(5_000, 3, 32)?);
    /// for filter in [&mut filter, &mut small] {
    ///     (0..100u64).for_each(|id| { filter.insert_occurrence("rose", &id); });
    /// }
    /// let half = filter.folded()?.expect("10,000 is even");
    /// assert_eq!(half.estimate("rose"), small.estimate("rose"));
    /// assert!(LogLog::with_size(9_999, 3, 32)?.folded()?.is_none());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn folded(&self) -> Result<Option<Self>> {
        let places = &self.cells.places;
        // The digests of a secret depend on the size.
        if !places.counters().is_multiple_of(2) || self.cells.hashing.id().is_keyed() {
            return Ok(None);
        }
        let half = Places::new(places.counters() / 2, places.hashes(), Arrangement::Flat)?;
        let mut store = Counters::zeroed(half.counters(), self.cells.store.width())?;
        let mut cells = self.cells.store.iter();
        store.update_each(0..half.counters(), |_| cells.next().unwrap_or(0).max(cells.next().unwrap_or(0)));
        let shape = Shape { places: half, copies: self.copies, width: self.cells.store.width() };
        Ok(Some(shape.assemble(&self.settings, store, self.random.clone(), self.items)))
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::loglog::LogLog;
    /// let mut filter = LogLog::with_error(100, 0.25)?;
    /// filter.insert("rose");
    /// assert!(LogLog::from_bytes(&filter.to_bytes())?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::loglog::LogLog;
    /// let filter = LogLog::with_error(100, 0.25)?;
    /// assert_eq!(LogLog::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

/// What the settings describe.
struct Shape {
    places: Places,
    copies: u32,
    width: u32,
}

impl Shape {
    fn of(config: &Config) -> Result<Self> {
        let copies = match config.count("copies") {
            Some(copies) => copies as u32,
            None => {
                let error = config.real("error").unwrap_or(0.25);
                let copies = loglog::copies(error)?;
                if copies > MOST_COPIES {
                    return Err(Error::parameter("error", "at least 0.01016, which takes 16384 `copies`", error));
                }
                copies
            }
        };
        let hashes = config.need("hashes")? as u32;
        let cells = match (config.count("cells"), config.count("items")) {
            (Some(cells), _) => cells,
            (None, Some(items)) => {
                theory::check_bits(items as f64 * f64::from(hashes) * f64::from(copies) / std::f64::consts::LN_2)?
            }
            (None, None) => {
                return Err(Error::parameter("items", common::ITEMS.range(), "missing (or give `cells`)"));
            }
        };
        let (places, width) = (Places::new(cells, hashes, Arrangement::Flat)?, config.need("width")? as u32);
        if cells.checked_mul(width.into()).is_none() {
            return Err(Error::TooLarge { what: "the cells".into(), bytes: u128::from(cells) });
        }
        Ok(Shape { places, copies, width })
    }

    fn assemble(self, config: &Config, store: Counters, random: SplitMix, items: u64) -> LogLog {
        let domain = format!("loglog {} {} {}", self.places.counters(), self.places.hashes(), self.copies);
        let cells = HashedArray::in_domain(self.places, config.hashing(), store, &domain);
        let settings = config
            .clone()
            .put("cells", Setting::Count(self.places.counters()))
            .put("copies", Setting::Count(self.copies.into()))
            .hashed(cells.hashing.clone());
        LogLog { cells, copies: self.copies, random, items, settings }
    }
}

impl Structure for LogLog {
    const FACTS: Facts = Facts {
        id: "loglog",
        number: 63,
        aliases: &["LLBF"],
        family: "counting",
        text: Text::new(include_str!("loglog.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::UnderCount],
        note: NoteType::None,
        parameters: &[common::ITEMS, ERROR, COPIES, HASHES, CELLS, WIDTH, ESTIMATOR, METER],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let Shape { places, copies, width } = Shape::of(config)?;
        let items = config.count("items");
        let rate = |items| loglog::rate(places.counters(), items, places.hashes(), copies);
        let bits = places.counters() * u64::from(width);
        Ok(Plan { bits, hashes: places.hashes().saturating_mul(copies), items, fpr: items.map(rate) })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        self.settings.clone()
    }

    fn hashing(&self) -> &Hashing {
        &self.cells.hashing
    }

    fn stats(&self) -> Stats {
        let store = &self.cells.store;
        let fill = store.count_nonzero() as f64 / store.len() as f64;
        let hashes = self.cells.places.hashes().saturating_mul(self.copies);
        Stats {
            items: self.items,
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
            over_count: (self.settings.choice("estimator") == "inverse").then_some(over_count),
            ..Rates::default()
        }
    }

    /// State: occurrences, state of the SplitMix64 generator. Store: the cells, as counters.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        encoder.state().u64(self.random.state());
        encoder.counters(&self.cells.store);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let config = decoder.config().clone();
        let shape = Shape::of(&config)?;
        let (items, random) = (decoder.state().u64()?, SplitMix::new(decoder.state().u64()?));
        let store = decoder.counters(shape.places.counters(), shape.width)?;
        Ok(shape.assemble(&config, store, random, items))
    }
}

impl Contains for LogLog {
    fn contains(&self, key: &[u8]) -> bool {
        LogLog::contains(self, key)
    }
}

impl Insert for LogLog {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Ok(LogLog::insert(self, item.bare()?))
    }
}

impl Count for LogLog {
    fn count(&self, key: &[u8]) -> Multiplicity {
        LogLog::count(self, key)
    }
}

impl Merge for LogLog {
    fn merge(&mut self, other: &Self) -> Result<()> {
        LogLog::merge(self, other)
    }
}

impl Compress for LogLog {
    fn entropy_bits(&self) -> f64 {
        counters_entropy(self.cells.store.iter().map(|cell| cell as u32))
    }
}

#[cfg(test)]
mod tests;
