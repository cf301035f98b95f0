#![doc = include_str!("bloomier.md")]

use crate::capability::{Dataset, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Need, Parameter, Plan, Rates, Stats, Text, Verb, common, kind};
use crate::parts::records::{Record as Pair, bits_for, distinct, name_of};
use crate::shell::{Assemble, Assign, Choice, Fields, Filter, Hashed, Lookup, Mechanism, Settings, Test, fields};
use crate::store::Counters;

mod cascade;
mod compact;
mod shape;
mod table;

use cascade::Cascade;
use compact::Compact;
pub use shape::Mode;
use shape::Shape;
use table::{Mutable, Table};

/// The registry's row.
pub const KIND: Kind = kind!(Bloomier);

/// A static map from keys to small numbers, in little more than the space of the numbers.
///
/// ```
/// use bouquet::Bloomier;
/// let colours = [("rose", 0), ("lily", 1), ("iris", 2)];
/// let filter = Bloomier::with_rate(3, 0.001, colours)?;
/// assert_eq!(filter.get("lily"), Some(1));
/// assert_eq!(filter.get("thistle"), None);
/// assert!(Bloomier::with_rate(3, 0.001, [("rose", 0), ("rose", 2)]).is_err(), "one key, two values");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Bloomier = Filter<StaticMap>;

/// Seeds that are tried before a build is given up. At the worst number of keys, near 3,000, one in seven fails.
const TRIES: u64 = 100;

const VALUES: Parameter =
    Parameter::count("values", "how many values there are: they are the numbers below this", 1, 1 << 48).or(256);
const MODE: Parameter = Parameter::choice(
    "mode",
    "mutable: values can be changed; compact: smallest, slow to build; cascade: a Bloom filter per value",
    Mode::WORDS,
);
const WIDTH: Parameter = Parameter::count(
    "width",
    "bits per cell, instead of a rate (mode mutable: without the value)",
    1,
    Counters::MAX_WIDTH as u64,
);
const CELLS: Parameter = Parameter::count(
    "cells",
    "cells of the table, rounded up to a multiple of 3, at most 64 per key or 2^20; 1.23 per key and 32 when not given",
    1,
    u32::MAX as u64,
);

/// The settings of a Bloomier filter.
///
/// ```
/// use bouquet::{Bloomier, BloomierSettings, hash::Hashing, values::bloomier::Mode};
/// let settings = BloomierSettings { mode: Some(Mode::Compact), values: Some(3), ..Default::default() };
/// let pairs = [("rose", 0), ("lily", 1), ("iris", 2)];
/// assert_eq!(Bloomier::from_pairs(&settings, &Hashing::default(), pairs)?.get("iris"), Some(2));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BloomierSettings {
    /// Keys that it is made for.
    pub items: Option<u64>,
    /// The rate of values for absent keys.
    pub fpr: Option<f64>,
    /// How many values there are.
    pub values: Option<u64>,
    /// What the table is.
    pub mode: Option<Mode>,
    /// Bits per cell.
    pub width: Option<u32>,
    /// Cells of the table.
    pub cells: Option<u64>,
}

impl Settings for BloomierSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        values: VALUES,
        mode: MODE,
        width: WIDTH,
        cells: CELLS,
    ];
}

/// Sums of cells that are values.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticMap {
    shape: Shape,
    /// Distinct keys.
    keys: u64,
    body: Body,
}

#[derive(Clone, Debug, PartialEq)]
enum Body {
    Table(Table),
    Mutable(Mutable),
    Compact(Compact),
    Cascade(Cascade),
}

impl Body {
    fn build(shape: &Shape, pairs: &[Pair]) -> Result<Self> {
        Ok(match shape.mode {
            Mode::Table => Body::Table(Table::build(shape, pairs)?),
            Mode::Mutable => Body::Mutable(Mutable::build(shape, pairs)?),
            Mode::Compact => Body::Compact(Compact::build(shape, pairs)?),
            Mode::Cascade => Body::Cascade(Cascade::build(shape, pairs)?),
        })
    }
}

fn no_seed_helps(keys: usize, cells: u64) -> Error {
    Error::Build {
        what: format!("none of {TRIES} seeds gives each of {keys} keys a cell of its own among {cells}"),
        remedy: "give more cells, or leave their number open".into(),
    }
}

fn decode_seed(seed: u64) -> Result<u64> {
    if seed < TRIES { Ok(seed) } else { Err(Error::corrupt("seed of a table", format!("below {TRIES}"), seed)) }
}

impl Mechanism for StaticMap {
    const FACTS: Facts = Facts {
        id: "bloomier",
        number: 200,
        aliases: &["XOR table", "static function"],
        family: "values",
        text: Text::new(include_str!("bloomier.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::SpuriousValue],
        note: NoteType::Integer,
        parameters: &[],
    };

    const OWN_ITEMS: bool = true;

    /// Tables of three cells per key, which are found at once: batches always prefetch.
    const NEAR: u64 = 0;

    const NEEDS: &'static [Need] = &[Need::new(Verb::Set, "mode", "mutable")];

    type Settings = BloomierSettings;

    fn resolve(asked: &BloomierSettings) -> Result<BloomierSettings> {
        let Shape { mode, values, width, cells, fpr } = Shape::of(asked)?;
        let width = (mode != Mode::Cascade).then_some(width);
        Ok(BloomierSettings { items: asked.items, fpr, values: Some(values), mode: Some(mode), width, cells })
    }

    fn plan(settings: &BloomierSettings) -> Result<Plan> {
        let (shape, items) = (Shape::of(settings)?, settings.items);
        let bits = shape.planned_bits(items.unwrap_or(0))?;
        Ok(Plan { bits, hashes: shape.hashes(), items, fpr: Some(shape.rate()) })
    }

    fn empty(settings: &BloomierSettings, _: &Hashing) -> Result<Self> {
        Self::of_pairs(Shape::of(settings)?, Vec::new(), |_| String::new())
    }

    /// A secret gives unrelated digests in another mode or range.
    fn domain(settings: &BloomierSettings) -> String {
        let (mode, values) = (settings.mode.map_or("", Choice::word), settings.values.unwrap_or(0));
        format!("bloomier {mode} {values} {}", settings.width.unwrap_or(0))
    }

    fn items(&self, _: u64) -> u64 {
        self.keys
    }

    fn stats(&self, items: u64) -> Stats {
        let hashes = match &self.body {
            Body::Cascade(cascade) => cascade.hashes(),
            _ => self.shape.hashes(),
        };
        let fpr = self.expected(items).false_positive;
        Stats { items, bits: self.bits(), hashes, fill: None, fpr, honest_fill: None }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = match &self.body {
            _ if items == 0 => 0.0,
            Body::Cascade(cascade) if items == self.keys => cascade.rate(),
            _ => self.shape.rate(),
        };
        Rates { false_positive: Some(rate), spurious_value: Some(rate), ..Rates::default() }
    }

    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.keys);
        match &self.body {
            Body::Table(table) => table.encode(encoder),
            Body::Mutable(mutable) => mutable.encode(encoder),
            Body::Compact(compact) => compact.encode(encoder),
            Body::Cascade(cascade) => cascade.encode(encoder),
        }
    }

    fn decode(settings: &BloomierSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = Shape::of(settings)?;
        let keys = decoder.state().u64()?;
        let body = match shape.mode {
            Mode::Table => Body::Table(Table::decode(decoder, &shape, keys)?),
            Mode::Mutable => Body::Mutable(Mutable::decode(decoder, &shape, keys)?),
            Mode::Compact => Body::Compact(Compact::decode(decoder, &shape, keys)?),
            Mode::Cascade => Body::Cascade(Cascade::decode(decoder, &shape, keys)?),
        };
        Ok((StaticMap { shape, keys, body }, 0))
    }

    fn reach(&self) -> u64 {
        self.bits()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        match &self.body {
            Body::Table(table) => table.prefetch(digest),
            Body::Mutable(mutable) => mutable.prefetch(digest),
            Body::Compact(compact) if self.keys > 0 => compact.prefetch(digest),
            Body::Compact(_) | Body::Cascade(_) => {}
        }
    }
}

impl Lookup for StaticMap {
    /// Exact for a member; `None` only if the key is certainly absent.
    type Answer = Option<u64>;

    #[inline]
    fn lookup(&self, key: Hashed<'_>) -> Option<u64> {
        if self.keys == 0 {
            return None;
        }
        let value = match &self.body {
            Body::Table(table) => Some(table.get(key.digest)),
            Body::Mutable(mutable) => mutable.get(key.digest),
            Body::Compact(compact) => Some(compact.get(key.digest)),
            Body::Cascade(cascade) => cascade.get(&self.shape, key.digest),
        };
        value.filter(|&value| value < self.shape.values)
    }
}

/// In mode `mutable`.
///
/// ```
/// use bouquet::{Bloomier, BloomierSettings, hash::Hashing, values::bloomier::Mode};
/// let settings = BloomierSettings { mode: Some(Mode::Mutable), ..Default::default() };
/// let mut filter = Bloomier::from_pairs(&settings, &Hashing::default(), [("rose", 0), ("lily", 1)])?;
/// filter.set("rose", 99)?;
/// assert_eq!((filter.get("rose"), filter.get("lily")), (Some(99), Some(1)));
/// assert!(filter.set("rose", 256).is_err(), "values are below 256");
/// # Ok::<(), bouquet::Error>(())
/// ```
impl Assign for StaticMap {
    type Note<'a> = u64;

    fn assign(&mut self, key: Hashed<'_>, value: u64) -> Result<()> {
        self.shape.check_value(value)?;
        let Body::Mutable(mutable) = &mut self.body else {
            return Err(Error::parameter("mode", "mutable if values are to change", self.shape.mode.word()));
        };
        if self.keys > 0 && mutable.set(key.digest, value) { Ok(()) } else { Err(Error::NotPresent) }
    }
}

impl Test for StaticMap {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.lookup(key).is_some()
    }
}

impl Assemble for StaticMap {
    fn assemble(
        asked: &BloomierSettings,
        hashing: &Hashing,
        data: &Dataset<'_>,
    ) -> Result<(BloomierSettings, Self, u64)> {
        let settings = Self::resolve(asked)?;
        let (shape, hashing) = (Shape::of(&settings)?, Self::hashing(&settings, hashing));
        let mut pairs = Vec::with_capacity(data.items.len());
        for (number, item) in data.items.iter().enumerate() {
            let value = item.integer()?;
            shape.check_value(value)?;
            pairs.push(Pair { digest: hashing.digest(item.key), value, item: number });
        }
        let name = |item| name_of(data.items, item);
        Ok((settings, Self::of_pairs(shape, pairs, name)?, 0))
    }
}

impl StaticMap {
    /// Sorts and checks the pairs and builds the table; `name` is how an item is called in an error.
    fn of_pairs(shape: Shape, mut pairs: Vec<Pair>, name: impl Fn(usize) -> String) -> Result<Self> {
        distinct(&mut pairs, name)?;
        let body = Body::build(&shape, &pairs)?;
        Ok(StaticMap { shape, keys: pairs.len() as u64, body })
    }

    fn bits(&self) -> u64 {
        match &self.body {
            Body::Table(table) => table.bits(),
            Body::Mutable(mutable) => mutable.bits(),
            Body::Compact(compact) => compact.bits(),
            Body::Cascade(cascade) => cascade.bits(),
        }
    }
}

impl Bloomier {
    /// The filter of these keys and values (below 256), whose rate of values for absent keys is at most `fpr`; `items`
    /// is how many are expected. [`from_pairs`](Self::from_pairs) has all choices.
    ///
    /// ```
    /// use bouquet::Bloomier;
    /// let filter = Bloomier::with_rate(1000, 0.01, (0..1000u64).map(|key| (key, key % 256)))?;
    /// assert!((0..1000u64).all(|key| filter.get(&key) == Some(key % 256)));
    /// assert!(Bloomier::with_rate(1, 0.01, [("rose", 256)]).is_err(), "values are below 256");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate<K: Key>(items: u64, fpr: f64, pairs: impl IntoIterator<Item = (K, u64)>) -> Result<Self> {
        let settings = BloomierSettings { items: Some(items), fpr: Some(fpr), ..Default::default() };
        Self::from_pairs(&settings, &Hashing::default(), pairs)
    }

    /// The filter of these keys and values (below 256) in `cells` cells of `width` bits.
    ///
    /// ```
    /// use bouquet::Bloomier;
    /// let pairs = || (0..100u64).map(|key| (key, key));
    /// assert_eq!(Bloomier::with_size(180, 12, pairs())?.get(&7u64), Some(7));
    /// assert!(Bloomier::with_size(90, 12, pairs()).is_err(), "fewer cells than keys");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size<K: Key>(cells: u64, width: u32, pairs: impl IntoIterator<Item = (K, u64)>) -> Result<Self> {
        let settings = BloomierSettings { cells: Some(cells), width: Some(width), ..Default::default() };
        Self::from_pairs(&settings, &Hashing::default(), pairs)
    }

    /// The filter of these keys and values with these settings.
    ///
    /// ```
    /// use bouquet::{Bloomier, BloomierSettings, hash::Hashing};
    /// let settings = BloomierSettings { values: Some(1 << 20), ..Default::default() };
    /// let filter = Bloomier::from_pairs(&settings, &Hashing::seeded(7), [("rose", 1_000_000)])?;
    /// assert_eq!(filter.get("rose"), Some(1_000_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_pairs<K: Key>(
        settings: &BloomierSettings,
        hashing: &Hashing,
        pairs: impl IntoIterator<Item = (K, u64)>,
    ) -> Result<Self> {
        settings.check()?;
        let settings = StaticMap::resolve(settings)?;
        let (shape, own) = (Shape::of(&settings)?, StaticMap::hashing(&settings, hashing));
        let mut hashed = Vec::new();
        for (item, (key, value)) in pairs.into_iter().enumerate() {
            shape.check_value(value)?;
            hashed.push(Pair { digest: key.digest(&own), value, item });
        }
        let map = StaticMap::of_pairs(shape, hashed, |item| format!("number {item} (counted from 0)"))?;
        Ok(Self::of_parts(map, settings, hashing, 0))
    }

    /// How many keys each level of a cascade holds, and last those that are kept exactly; empty in other modes.
    ///
    /// ```
    /// use bouquet::{Bloomier, BloomierSettings, hash::Hashing, values::bloomier::Mode};
    /// let fpr = Some(0.02);
    /// let settings = BloomierSettings { mode: Some(Mode::Cascade), values: Some(2), fpr, ..Default::default() };
    /// let filter = Bloomier::from_pairs(&settings, &Hashing::default(), (0..1000u64).map(|key| (key, key % 2)))?;
    /// assert_eq!(filter.levels()[0], 1000);
    /// assert!(filter.levels()[1] < 30, "a wrong value is claimed for one key in a hundred");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn levels(&self) -> Vec<u64> {
        match &self.mechanism.body {
            Body::Cascade(cascade) => cascade.keys_stored().collect(),
            _ => Vec::new(),
        }
    }

    /// The real size of the stores.
    ///
    /// ```
    /// use bouquet::Bloomier;
    /// let filter = Bloomier::with_rate(10_000, 0.01, (0..10_000u64).map(|key| (key, key % 256)))?;
    /// // 8 bits of the value and 7 against absent keys, in 1.23 cells per key.
    /// assert!((12_300 * 15..12_400 * 15).contains(&filter.bits()));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.mechanism.bits()
    }
}

#[cfg(test)]
mod tests;
