#![doc = include_str!("spectral.md")]

use crate::capability::{Contains, Count, Insert, Item, Merge, Multiplicity, NoteType, Remove};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing};
use crate::key::{Key, answer_each, insert_items};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::coded_counters::CodedCounters;
use crate::parts::counter_array::{Arrangement, CounterArray, CounterStore, Placement, Places};
use crate::store::{BitStore, Counters};
use crate::theory::sketch;

/// The registry's row.
pub const KIND: Kind = kind!(Spectral);

/// How counters are changed and read; see [the table](self).
///
/// ```
/// use bouquet::{counting::spectral::{KIND, Method, Spectral}, kind::Config};
/// let config = Config::new(KIND.facts()).set("items", "1000")?.set("method", "mi")?;
/// let mut filter = Spectral::from_config(&config)?;
/// filter.insert("rose", 5);
/// assert_eq!(filter.method(), Method::MinimalIncrease);
/// assert!(filter.remove("rose", 1).is_err(), "not with this method");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Add to all, take the least.
    #[default]
    MinimumSelection,
    /// Raise only what must be raised.
    MinimalIncrease,
    /// A second filter for the keys whose least counter occurs once, and a filter that marks them.
    RecurringMinimum,
    /// The same without marks.
    RecurringMinimumSimple,
}

impl Method {
    const ALL: [Method; 4] =
        [Method::MinimumSelection, Method::MinimalIncrease, Method::RecurringMinimum, Method::RecurringMinimumSimple];
    const NAMES: [&str; 4] = ["ms", "mi", "rm", "rm-simple"];

    /// The word for it.
    ///
    /// ```
    /// assert_eq!(bouquet::counting::spectral::Method::RecurringMinimum.name(), "rm");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    fn of(config: &Config) -> Self {
        let word = config.choice("method");
        Self::ALL.into_iter().find(|method| method.name() == word).unwrap_or_default()
    }

    fn has_second(self) -> bool {
        matches!(self, Method::RecurringMinimum | Method::RecurringMinimumSimple)
    }
}

const COUNTERS: Parameter = Parameter {
    name: "counters",
    help: "number of counters, instead of a rate",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

const METHOD: Parameter = Parameter {
    name: "method",
    help: "ms adds and takes the least; mi raises only what must be raised, without removal; rm (with marks, or \
           rm-simple without) has a second filter for suspect keys, and at least 3 hashes",
    of: ParameterType::Choice { options: &Method::NAMES },
};

const STORE: Parameter = Parameter {
    name: "store",
    help: "counters of a fixed width, or compact: as codes of different lengths, smaller and slower",
    of: ParameterType::Choice { options: &["fixed", "compact"] },
};

const WIDTH: Parameter = Parameter {
    name: "width",
    help: "bits per counter of the fixed store",
    of: ParameterType::Count { min: 1, max: crate::coder::MAX_WIDTH as u64, default: Some(16) },
};

/// Counters of either store.
#[derive(Clone, Debug, PartialEq)]
enum Cells {
    Fixed(Counters),
    Compact(CodedCounters),
}

impl Cells {
    fn zeroed(len: u64, width: Option<u32>) -> Result<Self> {
        match width {
            Some(width) => Counters::zeroed(len, width).map(Cells::Fixed),
            None => CodedCounters::zeroed(len).map(Cells::Compact),
        }
    }

    /// The memory that they take.
    fn bits(&self) -> u64 {
        match self {
            Cells::Fixed(counters) => counters.bits(),
            Cells::Compact(counters) => counters.bits(),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Cells::Fixed(counters) => counters.len(),
            Cells::Compact(counters) => counters.len(),
        }
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        match self {
            Cells::Fixed(counters) => encoder.counters(counters),
            Cells::Compact(counters) => encoder.bytes(counters.to_bytes()),
        }
    }

    fn decode(decoder: &mut Decoder<'_>, len: u64, width: Option<u32>) -> Result<Self> {
        match width {
            Some(width) => decoder.counters(len, width).map(Cells::Fixed),
            None => CodedCounters::from_bytes(len, decoder.bytes()?).map(Cells::Compact),
        }
    }
}

/// Chooses the store once for all counters of a key.
macro_rules! either {
    ($cells:expr, $counters:ident => $body:expr) => {
        match $cells {
            Cells::Fixed($counters) => $body,
            Cells::Compact($counters) => $body,
        }
    };
}

impl CounterStore for Cells {
    #[inline]
    fn max(&self) -> u64 {
        either!(self, counters => CounterStore::max(counters))
    }

    #[inline]
    fn get(&self, index: u64) -> u64 {
        either!(self, counters => counters.get(index))
    }

    #[inline]
    fn add(&mut self, index: u64, amount: u64) -> u64 {
        either!(self, counters => counters.add(index, amount))
    }

    #[inline]
    fn sub(&mut self, index: u64, amount: u64) {
        either!(self, counters => counters.sub(index, amount));
    }

    #[inline]
    fn prefetch(&self, index: u64) {
        either!(self, counters => counters.prefetch(index));
    }

    #[inline]
    fn prefetched_bits(&self) -> u64 {
        either!(self, counters => counters.prefetched_bits())
    }

    #[inline]
    fn all_nonzero(&self, places: impl Iterator<Item = u64>) -> bool {
        either!(self, counters => CounterStore::all_nonzero(counters, places))
    }

    #[inline]
    fn read_each(&self, places: impl Iterator<Item = u64>, visit: impl FnMut(u64)) {
        either!(self, counters => CounterStore::read_each(counters, places, visit));
    }

    #[inline]
    fn update_each(&mut self, places: impl Iterator<Item = u64>, change: impl FnMut(u64) -> u64) {
        either!(self, counters => CounterStore::update_each(counters, places, change));
    }
}

/// Streams of a key's digest, so that the second filter and the marks have positions of their own.
const SECOND: u64 = 1;
const MARKS: u64 = 2;

/// What the recurring minimum has besides the counters.
#[derive(Clone, Debug, PartialEq)]
struct Second {
    /// Half as many counters.
    cells: CounterArray<Cells>,
    /// A Bloom filter of the keys that are in the second filter; none in the simple form.
    marks: Option<BitStore>,
}

/// A spectral Bloom filter.
///
/// ```
/// use bouquet::counting::spectral::Spectral;
/// let mut filter = Spectral::with_rate(1_000, 0.01)?;
/// filter.insert("rose", 30);
/// filter.insert("lily", 2);
/// filter.remove("rose", 10)?;
/// assert_eq!((filter.count("rose").count, filter.count("lily").count), (20, 2));
/// assert!(!filter.contains("iris"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Spectral {
    cells: CounterArray<Cells>,
    method: Method,
    second: Option<Second>,
    /// Insertions less removals, with their multiplicities.
    items: u64,
    /// The settings, with the effective size.
    settings: Config,
}

impl Spectral {
    /// A filter for `items` distinct keys, of which a share of `fpr` then counts too much: minimum selection, 16 bits per
    /// counter.
    ///
    /// ```
    /// use bouquet::counting::spectral::Spectral;
    /// assert_eq!(Spectral::with_rate(1_000, 0.01)?.hashes(), 7);
    /// assert!(Spectral::with_rate(0, 0.01).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts());
        Self::from_config(&config.with("items", Setting::Count(items))?.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter of `counters` counters, of which a key has `hashes`: minimum selection, 16 bits per counter.
    ///
    /// ```
    /// use bouquet::counting::spectral::Spectral;
    /// assert_eq!(Spectral::with_size(10_000, 5)?.hashes(), 5);
    /// assert!(Spectral::with_size(10_000, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("counters", Setting::Count(counters))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind: the way to the other methods, to the compact
    /// store and to keyed hashing.
    ///
    /// ```
    /// use bouquet::{counting::spectral::{KIND, Spectral}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("store", "compact")?.set("method", "rm")?;
    /// let mut filter = Spectral::from_config(&config)?;
    /// filter.insert("rose", 1_000_000);
    /// assert_eq!(filter.count("rose").count, 1_000_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = Shape::of(config)?;
        let bits = if shape.marks() { Some(BitStore::zeroed(shape.places.counters())?) } else { None };
        shape.assemble(config, |shape, len| Cells::zeroed(len, shape.width), bits)
    }

    /// Counters per key.
    ///
    /// ```
    /// assert_eq!(bouquet::counting::spectral::Spectral::with_rate(1_000, 0.001)?.hashes(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.cells.places.hashes()
    }

    /// How counters are changed and read.
    ///
    /// ```
    /// use bouquet::counting::spectral::{Method, Spectral};
    /// assert_eq!(Spectral::with_rate(1_000, 0.01)?.method(), Method::MinimumSelection);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// Inserts a key `times` times and says whether it was certainly new.
    ///
    /// ```
    /// let mut filter = bouquet::counting::spectral::Spectral::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose", 3) && !filter.insert("rose", 1));
    /// assert_eq!(filter.count("rose").count, 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> bool {
        self.insert_digest(self.cells.digest(key), times)
    }

    fn insert_digest(&mut self, digest: Digest, times: u64) -> bool {
        self.items = self.items.saturating_add(times);
        if self.method == Method::MinimalIncrease {
            let least = self.cells.least(digest);
            self.cells.raise_all_to(digest, least.saturating_add(times));
            return least == 0;
        }
        let (fresh, _) = self.cells.add_to_all(digest, times);
        if let Some(second) = &mut self.second {
            let (least, recurs) = minimum(&self.cells, digest);
            let own = digest.derive(SECOND);
            let is_in = match &second.marks {
                Some(marks) => self.cells.places.all_ones(marks, digest.derive(MARKS)),
                None => !recurs && second.cells.least(own) > 0,
            };
            if is_in {
                second.cells.add_to_all(own, times);
            } else if !recurs {
                second.cells.add_to_all(own, least);
                if let Some(marks) = &mut second.marks {
                    self.cells.places.set_ones(marks, digest.derive(MARKS));
                }
            }
        }
        fresh
    }

    /// Whether the key may be in. `false` is certain, unless keys were removed that were never inserted.
    ///
    /// ```
    /// let mut filter = bouquet::counting::spectral::Spectral::with_rate(1_000, 0.01)?;
    /// filter.insert("rose", 3);
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.cells.all_nonzero(self.cells.digest(key))
    }

    /// How often the key is in; `at_least` tells when a counter that has reached its end hides how much more it may be.
    ///
    /// ```
    /// let mut filter = bouquet::counting::spectral::Spectral::with_rate(1_000, 0.01)?;
    /// filter.insert("rose", 100_000);
    /// assert!(filter.count("rose").at_least && filter.count("rose").count == 65_535, "16 bits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let digest = self.cells.digest(key);
        let (least, recurs) = minimum(&self.cells, digest);
        let count = match &self.second {
            Some(second) => {
                let asked = match &second.marks {
                    Some(marks) => self.cells.places.all_ones(marks, digest.derive(MARKS)),
                    None => !recurs,
                };
                let own = if asked { second.cells.least(digest.derive(SECOND)) } else { 0 };
                if own > 0 { own.min(least) } else { least }
            }
            None => least,
        };
        Multiplicity { count, at_least: count == self.cells.store.max() }
    }

    /// Takes a key out `times` times, or says [`Error::NotPresent`] and changes nothing when it is certainly not in so often.
    /// With minimal increase it is refused: a counter does not know how much of it belongs to whom.
    ///
    /// **Remove only what was inserted.** An absent key that seems present cannot be told from a present one: removing it takes
    /// counts from other keys.
    ///
    /// ```
    /// use bouquet::{Error, counting::spectral::Spectral};
    /// let mut filter = Spectral::with_rate(1_000, 0.01)?;
    /// filter.insert("rose", 3);
    /// filter.remove("rose", 2)?;
    /// assert_eq!(filter.count("rose").count, 1);
    /// assert!(matches!(filter.remove("rose", 2), Err(Error::NotPresent)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<()> {
        if self.method == Method::MinimalIncrease {
            return Err(Error::parameter("method", "ms or rm where keys are removed", self.method.name()));
        }
        let digest = self.cells.digest(key);
        let frozen = self.cells.store.max();
        let (least, recurs) = minimum(&self.cells, digest);
        if least == 0 || least < times {
            return Err(Error::NotPresent);
        }
        self.cells.sub_from_all(digest, times, frozen);
        if let Some(second) = &mut self.second {
            let own = digest.derive(SECOND);
            let is_in = match &second.marks {
                Some(marks) => self.cells.places.all_ones(marks, digest.derive(MARKS)),
                None => !recurs && second.cells.least(own) > 0,
            };
            if is_in {
                second.cells.sub_from_all(own, times, frozen);
            }
        }
        self.items = self.items.saturating_sub(times);
        Ok(())
    }

    /// Those of some keys that are in at least `threshold` times: all of them under `ms` and `mi`, and few others.
    ///
    /// ```
    /// let mut filter = bouquet::counting::spectral::Spectral::with_rate(1_000, 0.01)?;
    /// filter.insert("rose", 30);
    /// filter.insert("lily", 3);
    /// assert_eq!(filter.heavy(["rose", "lily", "iris"], 10), ["rose"]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn heavy<K: Key>(&self, candidates: impl IntoIterator<Item = K>, threshold: u64) -> Vec<K> {
        candidates.into_iter().filter(|key| self.count(key).count >= threshold).collect()
    }

    /// Adds the counters of `other`: the filter of both multisets together. Both must have minimum selection, the same number of
    /// counters and positions, the same store and hashing.
    ///
    /// ```
    /// use bouquet::counting::spectral::Spectral;
    /// let (mut here, mut there) = (Spectral::with_size(1_000, 5)?, Spectral::with_size(1_000, 5)?);
    /// here.insert("rose", 3);
    /// there.insert("rose", 5);
    /// here.merge(&there)?;
    /// assert_eq!(here.count("rose").count, 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.cells.comparable(&other.cells)?;
        same("method", self.method, other.method)?;
        same("largest counter", self.cells.store.max(), other.cells.store.max())?;
        if self.method != Method::MinimumSelection {
            return Err(Error::parameter("method", "ms where filters are merged", self.method.name()));
        }
        for place in 0..other.cells.store.len() {
            let more = other.cells.store.get(place);
            if more > 0 {
                self.cells.store.add(place, more);
            }
        }
        self.items = self.items.saturating_add(other.items);
        Ok(())
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::spectral::Spectral;
    /// let mut filter = Spectral::with_rate(1_000, 0.01)?;
    /// filter.insert("rose", 3);
    /// assert_eq!(Spectral::from_bytes(&filter.to_bytes())?.count("rose").count, 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::spectral::Spectral;
    /// let filter = Spectral::with_rate(1_000, 0.01)?;
    /// assert_eq!(Spectral::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }

    fn nonzero(&self) -> u64 {
        (0..self.cells.store.len()).filter(|&place| self.cells.store.get(place) != 0).count() as u64
    }
}

/// The least counter of a digest, and whether it recurs: in another place.
#[inline]
fn minimum(cells: &CounterArray<Cells>, digest: Digest) -> (u64, bool) {
    let (mut least, mut at, mut recurs) = (u64::MAX, u64::MAX, false);
    let mut places = cells.places.of(digest);
    cells.store.read_each(cells.places.of(digest), |counter| {
        let place = places.next();
        if counter < least {
            (least, at, recurs) = (counter, place.unwrap_or(0), false);
        } else if counter == least {
            recurs |= place != Some(at);
        }
    });
    (least, recurs)
}

/// What the settings describe.
struct Shape {
    places: Places,
    /// The second filter's.
    half: Places,
    method: Method,
    /// Bits of a counter of fixed width.
    width: Option<u32>,
}

impl Shape {
    fn of(config: &Config) -> Result<Self> {
        let size = common::size(config, "counters")?;
        let places = Places::new(size.bits, size.hashes, Arrangement::Flat)?;
        let method = Method::of(config);
        if method.has_second() && size.hashes < 3 {
            return Err(Error::parameter("hashes", "at least 3 for a minimum that can recur", size.hashes));
        }
        let half = Places::new((size.bits / 2).max(1), size.hashes, Arrangement::Flat)?;
        let width = config.need("width")? as u32;
        let shape = Shape { places, half, method, width: (config.choice("store") == "fixed").then_some(width) };
        shape.bits()?;
        Ok(shape)
    }

    fn marks(&self) -> bool {
        self.method == Method::RecurringMinimum
    }

    /// Bits of an empty filter's stores.
    fn bits(&self) -> Result<u64> {
        let of = |counters: u64| match self.width {
            Some(width) => u128::from(counters) * u128::from(width),
            None => CodedCounters::zeroed_bits(counters),
        };
        let second = if self.method.has_second() { of(self.half.counters()) } else { 0 };
        let marks = if self.marks() { u128::from(self.places.counters()) } else { 0 };
        let bits = of(self.places.counters()) + second + marks;
        u64::try_from(bits).map_err(|_| Error::TooLarge { what: "the filter".into(), bytes: bits / 8 })
    }

    fn assemble(
        self,
        config: &Config,
        mut cells: impl FnMut(&Self, u64) -> Result<Cells>,
        marks: Option<BitStore>,
    ) -> Result<Spectral> {
        let domain = format!("spectral {} {}", self.places.counters(), self.places.hashes());
        let in_domain = |places, store| CounterArray::in_domain(places, config.hashing(), store, &domain);
        let first = in_domain(self.places, cells(&self, self.places.counters())?);
        let second = if self.method.has_second() {
            let store = cells(&self, self.half.counters())?;
            Some(Second { cells: in_domain(self.half, store), marks })
        } else {
            None
        };
        let settings = config
            .clone()
            .put("counters", Setting::Count(self.places.counters()))
            .put("hashes", Setting::Count(self.places.hashes().into()))
            .hashed(first.hashing.clone());
        Ok(Spectral { cells: first, method: self.method, second, items: 0, settings })
    }
}

impl Structure for Spectral {
    const FACTS: Facts = Facts {
        id: "spectral",
        number: 59,
        aliases: &["spectral-bloom"],
        family: "counting",
        text: Text::new(include_str!("spectral.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, COUNTERS, common::HASHES, METHOD, STORE, WIDTH],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let shape = Shape::of(config)?;
        let items = config.count("items");
        let fpr = items.map(|items| shape.places.expected_rate(items));
        Ok(Plan { bits: shape.bits()?, hashes: shape.places.hashes(), items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        self.settings.clone()
    }

    fn errors(&self) -> &'static [ErrorClass] {
        const LOW: &[ErrorClass] = &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::UnderCount];
        if self.second.is_some() { LOW } else { Self::FACTS.errors }
    }

    fn hashing(&self) -> &Hashing {
        &self.cells.hashing
    }

    fn stats(&self) -> Stats {
        let (places, nonzero) = (&self.cells.places, self.nonzero());
        let second = self
            .second
            .as_ref()
            .map_or(0, |second| second.cells.store.bits() + second.marks.as_ref().map_or(0, BitStore::len));
        Stats {
            items: self.items,
            bits: self.cells.store.bits() + second,
            hashes: places.hashes(),
            fill: Some(nonzero as f64 / places.counters() as f64),
            fpr: Some(places.rate_of(&[nonzero])),
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let places = &self.cells.places;
        let over_count = match self.method {
            // A counter of one bit shows no more than one.
            _ if self.cells.store.max() <= 1 => Some(0.0),
            Method::MinimumSelection => Some(places.expected_rate(items.saturating_sub(1))),
            // Rows of m/k counters fill as one array of m does.
            Method::MinimalIncrease => {
                let width = places.counters() / u64::from(places.hashes()).max(1);
                Some(sketch::conservative_over_count(width, places.hashes(), items))
            }
            _ => None,
        };
        Rates { false_positive: Some(places.expected_rate(items)), over_count, ..Rates::default() }
    }

    /// State: items. Stores: the counters; under `rm` those of the second filter and the marks. Fixed: as counters; compact: the
    /// codes one behind the other, as bytes.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        self.cells.store.encode(encoder);
        if let Some(second) = &self.second {
            second.cells.store.encode(encoder);
            if let Some(marks) = &second.marks {
                encoder.bits(marks);
            }
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let config = decoder.config().clone();
        let shape = Shape::of(&config)?;
        let items = decoder.state().u64()?;
        let marked = shape.marks().then(|| shape.places.counters());
        let mut filter = shape.assemble(&config, |shape, len| Cells::decode(decoder, len, shape.width), None)?;
        if let (Some(second), Some(len)) = (&mut filter.second, marked) {
            second.marks = Some(decoder.bits(len)?);
        }
        filter.items = items;
        Ok(filter)
    }
}

impl Contains for Spectral {
    fn contains(&self, key: &[u8]) -> bool {
        Spectral::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        answer_each(&self.cells, keys, answers, |digest| self.cells.all_nonzero(digest));
    }
}

impl Insert for Spectral {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Ok(Spectral::insert(self, item.bare()?, 1))
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let insert = |filter: &mut Self, _: &Item<'_>, digest| Ok(filter.insert_digest(digest, 1));
        insert_items(self, |filter| &filter.cells, items, insert)
    }
}

impl Remove for Spectral {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        Spectral::remove(self, item.bare()?, 1)
    }
}

impl Count for Spectral {
    fn count(&self, key: &[u8]) -> Multiplicity {
        Spectral::count(self, key)
    }
}

impl Merge for Spectral {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Spectral::merge(self, other)
    }
}

#[cfg(test)]
mod tests;
