#![doc = include_str!("bloomier.md")]

use crate::capability::{Answer, BuildFrom, Contains, Dataset, Get, NoteType, Value};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::store::Counters;

mod cascade;
mod compact;
mod shape;
mod table;

use cascade::Cascade;
use compact::Compact;
use shape::{Mode, Shape};
use table::{Mutable, Table};

/// The registry's row.
pub const KIND: Kind = kind!(Bloomier);

/// Seeds that are tried before a build is given up. At the worst number of keys, near 3,000, one in seven fails.
const TRIES: u64 = 100;

const VALUES: Parameter = Parameter {
    name: "values",
    help: "how many values there are: they are the numbers below this",
    of: ParameterType::Count { min: 1, max: 1 << 48, default: Some(256) },
};

const MODE: Parameter = Parameter {
    name: "mode",
    help: "mutable: values can be changed; compact: smallest, slow to build; cascade: a Bloom filter per value",
    of: ParameterType::Choice { options: &["table", "mutable", "compact", "cascade"] },
};

const WIDTH: Parameter = Parameter {
    name: "width",
    help: "bits per cell, instead of a rate (mode mutable: without the value)",
    of: ParameterType::Count { min: 1, max: Counters::MAX_WIDTH as u64, default: None },
};

const CELLS: Parameter = Parameter {
    name: "cells",
    help: "cells of the table, rounded up to a multiple of 3, at most 64 per key or 2^20; 1.23 per key and 32 when not given",
    of: ParameterType::Count { min: 1, max: u32::MAX as u64, default: None },
};

/// A static map from keys to small numbers, in little more than the space of the numbers.
///
/// ```
/// use bouquet::values::bloomier::Bloomier;
/// let colours = [("rose", 0), ("lily", 1), ("iris", 2)];
/// let filter = Bloomier::with_rate(3, 0.001, colours)?;
/// assert_eq!(filter.get("lily"), Some(1));
/// assert_eq!(filter.get("thistle"), None);
/// assert!(Bloomier::with_rate(3, 0.001, [("rose", 0), ("rose", 2)]).is_err(), "one key, two values");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bloomier {
    shape: Shape,
    hashing: Hashing,
    /// Distinct keys.
    items: u64,
    body: Body,
    planned_items: Option<u64>,
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

/// A key with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    digest: Digest,
    value: u64,
    /// Its place in the data set.
    item: usize,
}

/// The bits of a number.
fn bits_for(number: u64) -> u32 {
    (u64::BITS - number.leading_zeros()).max(1)
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

/// Cells look random, so they are written as plain words in every frame.
fn decode_cells(decoder: &mut Decoder<'_>, len: u64, width: u32) -> Result<Counters> {
    let bits = len.checked_mul(width.into()).ok_or_else(|| Error::corrupt("cells", "fewer", len))?;
    let words = decoder.words(bits.div_ceil(64))?;
    Counters::from_words(words, len, width).ok_or_else(|| Error::corrupt("bits behind the last cell", "0", "1"))
}

impl Bloomier {
    /// The filter of these keys and values (below 256), whose rate of values for absent keys is at most `fpr`; `items`
    /// is how many are expected. [`from_config`](Self::from_config) has all choices.
    ///
    /// ```
    /// use bouquet::values::bloomier::Bloomier;
    /// let filter = Bloomier::with_rate(1000, 0.01, (0..1000u64).map(|key| (key, key % 256)))?;
    /// assert!((0..1000u64).all(|key| filter.get(&key) == Some(key % 256)));
    /// assert!(Bloomier::with_rate(1, 0.01, [("rose", 256)]).is_err(), "values are below 256");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate<K: Key>(items: u64, fpr: f64, pairs: impl IntoIterator<Item = (K, u64)>) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?.with("fpr", Setting::Real(fpr))?;
        Self::from_config(&config, pairs)
    }

    /// The filter of these keys and values (below 256) in `cells` cells of `width` bits.
    ///
    /// ```
    /// use bouquet::values::bloomier::Bloomier;
    /// let pairs = || (0..100u64).map(|key| (key, key));
    /// assert_eq!(Bloomier::with_size(180, 12, pairs())?.get(&7u64), Some(7));
    /// assert!(Bloomier::with_size(90, 12, pairs()).is_err(), "fewer cells than keys");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size<K: Key>(cells: u64, width: u32, pairs: impl IntoIterator<Item = (K, u64)>) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("cells", Setting::Count(cells))?;
        Self::from_config(&config.with("width", Setting::Count(width.into()))?, pairs)
    }

    /// The filter of these keys and values with the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::kind::Config;
    /// use bouquet::values::bloomier::{Bloomier, KIND};
    /// let config = Config::new(KIND.facts()).set("mode", "compact")?.set("values", "3")?;
    /// let filter = Bloomier::from_config(&config, [("rose", 0), ("lily", 1), ("iris", 2)])?;
    /// assert_eq!(filter.get("iris"), Some(2));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config<K: Key>(config: &Config, pairs: impl IntoIterator<Item = (K, u64)>) -> Result<Self> {
        let shape = Shape::of(config)?;
        let hashing = shape.bind(config.hashing());
        let mut hashed = Vec::new();
        for (item, (key, value)) in pairs.into_iter().enumerate() {
            shape.check_value(value)?;
            hashed.push(Pair { digest: key.digest(&hashing), value, item });
        }
        Self::of_pairs(config, shape, hashing, hashed, |item| format!("number {item} (counted from 0)"))
    }

    /// Sorts and checks the pairs and builds the filter; `name` is how an item is called in an error.
    fn of_pairs(
        config: &Config,
        shape: Shape,
        hashing: Hashing,
        mut pairs: Vec<Pair>,
        name: impl Fn(usize) -> String,
    ) -> Result<Self> {
        pairs.sort_unstable_by_key(|pair| (pair.digest, pair.item));
        for two in pairs.windows(2) {
            if two[0].digest == two[1].digest && two[0].value != two[1].value {
                return Err(Error::Build {
                    what: format!("key {} has the values {} and {}", name(two[1].item), two[0].value, two[1].value),
                    remedy: "give each key one value".into(),
                });
            }
        }
        pairs.dedup_by_key(|pair| pair.digest);
        let body = Body::build(&shape, &pairs)?;
        Ok(Bloomier { shape, hashing, items: pairs.len() as u64, body, planned_items: config.count("items") })
    }

    /// The value of a key: exact for a member; `None` only if it is certainly absent.
    ///
    /// ```
    /// use bouquet::values::bloomier::Bloomier;
    /// let filter = Bloomier::with_rate(2, 0.001, [("rose", 7), ("lily", 8)])?;
    /// assert_eq!(["rose", "lily", "thistle"].map(|key| filter.get(key)), [Some(7), Some(8), None]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        self.get_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn get_digest(&self, digest: Digest) -> Option<u64> {
        if self.items == 0 {
            return None;
        }
        let value = match &self.body {
            Body::Table(table) => Some(table.get(digest)),
            Body::Mutable(mutable) => mutable.get(digest),
            Body::Compact(compact) => Some(compact.get(digest)),
            Body::Cascade(cascade) => cascade.get(&self.shape, digest),
        };
        value.filter(|&value| value < self.shape.values)
    }

    fn prefetch(&self, digest: Digest) {
        match &self.body {
            Body::Table(table) => table.prefetch(digest),
            Body::Mutable(mutable) => mutable.prefetch(digest),
            Body::Compact(compact) if self.items > 0 => compact.prefetch(digest),
            Body::Compact(_) | Body::Cascade(_) => {}
        }
    }

    /// Whether the key may be a member; `false` is certain.
    ///
    /// ```
    /// use bouquet::values::bloomier::Bloomier;
    /// let filter = Bloomier::with_rate(2, 0.001, [("rose", 7), ("lily", 8)])?;
    /// assert!(filter.contains("lily") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Changes the value of a member, in mode `mutable`. A key that is certainly absent is [`Error::NotPresent`].
    ///
    /// An absent key that seems present cannot be noticed: the value of some member is lost.
    ///
    /// ```
    /// use bouquet::kind::Config;
    /// use bouquet::values::bloomier::{Bloomier, KIND};
    /// let config = Config::new(KIND.facts()).set("mode", "mutable")?;
    /// let mut filter = Bloomier::from_config(&config, [("rose", 0), ("lily", 1)])?;
    /// filter.set("rose", 99)?;
    /// assert_eq!((filter.get("rose"), filter.get("lily")), (Some(99), Some(1)));
    /// assert!(filter.set("rose", 256).is_err(), "values are below 256");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn set<K: Key + ?Sized>(&mut self, key: &K, value: u64) -> Result<()> {
        self.shape.check_value(value)?;
        let digest = key.digest(&self.hashing);
        let Body::Mutable(mutable) = &mut self.body else {
            return Err(Error::parameter("mode", "mutable if values are to change", self.shape.mode.name()));
        };
        if self.items > 0 && mutable.set(digest, value) { Ok(()) } else { Err(Error::NotPresent) }
    }

    /// The number of distinct keys.
    ///
    /// ```
    /// use bouquet::values::bloomier::Bloomier;
    /// let filter = Bloomier::with_rate(3, 0.01, [("rose", 7), ("lily", 8), ("rose", 7)])?;
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// How many keys each level of a cascade holds, and last those that are kept exactly; empty in other modes.
    ///
    /// ```
    /// use bouquet::kind::Config;
    /// use bouquet::values::bloomier::{Bloomier, KIND};
    /// let config = Config::new(KIND.facts()).set("mode", "cascade")?.set("values", "2")?.set("fpr", "0.02")?;
    /// let filter = Bloomier::from_config(&config, (0..1000u64).map(|key| (key, key % 2)))?;
    /// assert_eq!(filter.levels()[0], 1000);
    /// assert!(filter.levels()[1] < 30, "a wrong value is claimed for one key in a hundred");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn levels(&self) -> Vec<u64> {
        match &self.body {
            Body::Cascade(cascade) => cascade.keys_stored().collect(),
            _ => Vec::new(),
        }
    }

    /// The real size of the stores.
    ///
    /// ```
    /// use bouquet::values::bloomier::Bloomier;
    /// let filter = Bloomier::with_rate(10_000, 0.01, (0..10_000u64).map(|key| (key, key % 256)))?;
    /// // 8 bits of the value and 7 against absent keys, in 1.23 cells per key.
    /// assert!((12_300 * 15..12_400 * 15).contains(&filter.bits()));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> u64 {
        match &self.body {
            Body::Table(table) => table.bits(),
            Body::Mutable(mutable) => mutable.bits(),
            Body::Compact(compact) => compact.bits(),
            Body::Cascade(cascade) => cascade.bits(),
        }
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::values::bloomier::Bloomier;
    /// let filter = Bloomier::with_rate(1, 0.01, [("rose", 7)])?;
    /// assert_eq!(Bloomier::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::values::bloomier::Bloomier;
    /// let frame = Bloomier::with_rate(1, 0.01, [("rose", 7)])?.to_bytes();
    /// assert_eq!(Bloomier::from_bytes(&frame)?.get("rose"), Some(7));
    /// assert!(Bloomier::from_bytes(&frame[1..]).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

impl Structure for Bloomier {
    const FACTS: Facts = Facts {
        id: "bloomier",
        number: 200,
        aliases: &["XOR table", "static function"],
        family: "values",
        text: Text::new(include_str!("bloomier.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::SpuriousValue],
        note: NoteType::Integer,
        parameters: &[common::ITEMS, common::FPR, VALUES, MODE, WIDTH, CELLS],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let shape = Shape::of(config)?;
        let items = config.count("items");
        Ok(Plan {
            bits: shape.planned_bits(items.unwrap_or(0))?,
            hashes: shape.hashes(),
            items,
            fpr: Some(shape.rate()),
        })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config, std::iter::empty::<(&str, u64)>())
    }

    fn config(&self) -> Config {
        let shape = &self.shape;
        let mut config = Config::new(KIND.facts())
            .put("values", Setting::Count(shape.values))
            .put("mode", Setting::Choice(shape.mode.name()))
            .hashed(self.hashing.clone());
        if let Some(items) = self.planned_items {
            config = config.put("items", Setting::Count(items));
        }
        if let Some(fpr) = shape.fpr {
            config = config.put("fpr", Setting::Real(fpr));
        }
        if shape.mode != Mode::Cascade {
            config = config.put("width", Setting::Count(shape.width.into()));
        }
        if let Some(cells) = shape.cells {
            config = config.put("cells", Setting::Count(cells));
        }
        config
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let hashes = match &self.body {
            Body::Cascade(cascade) => cascade.hashes(),
            _ => self.shape.hashes(),
        };
        let fpr = self.expected(self.items).false_positive;
        Stats { items: self.items, bits: self.bits(), hashes, fill: None, fpr, honest_fill: None }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = match &self.body {
            _ if items == 0 => 0.0,
            Body::Cascade(cascade) if items == self.items => cascade.rate(),
            _ => self.shape.rate(),
        };
        Rates { false_positive: Some(rate), spurious_value: Some(rate), ..Rates::default() }
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        match &self.body {
            Body::Table(table) => table.encode(encoder),
            Body::Mutable(mutable) => mutable.encode(encoder),
            Body::Compact(compact) => compact.encode(encoder),
            Body::Cascade(cascade) => cascade.encode(encoder),
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = Shape::of(decoder.config())?;
        let items = decoder.state().u64()?;
        let body = match shape.mode {
            Mode::Table => Body::Table(Table::decode(decoder, &shape, items)?),
            Mode::Mutable => Body::Mutable(Mutable::decode(decoder, &shape, items)?),
            Mode::Compact => Body::Compact(Compact::decode(decoder, &shape, items)?),
            Mode::Cascade => Body::Cascade(Cascade::decode(decoder, &shape, items)?),
        };
        let hashing = shape.bind(decoder.config().hashing());
        Ok(Bloomier { shape, hashing, items, body, planned_items: decoder.config().count("items") })
    }
}

impl Contains for Bloomier {
    fn contains(&self, key: &[u8]) -> bool {
        Bloomier::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            let digests = digest_batch(&self.hashing, keys, |digest| self.prefetch(digest));
            for (answer, digest) in answers.iter_mut().zip(&digests[..keys.len()]) {
                *answer = self.get_digest(*digest).is_some();
            }
        }
    }
}

impl Get for Bloomier {
    fn get(&self, key: &[u8]) -> Answer {
        Bloomier::get(self, key).map_or(Answer::Absent, |value| Answer::Value(Value::Integer(value)))
    }
}

impl BuildFrom for Bloomier {
    fn build_from(config: &Config, data: &Dataset<'_>) -> Result<Self> {
        let shape = Shape::of(config)?;
        let hashing = shape.bind(config.hashing());
        let mut pairs = Vec::with_capacity(data.items.len());
        for (number, item) in data.items.iter().enumerate() {
            let value = item.integer()?;
            shape.check_value(value)?;
            pairs.push(Pair { digest: hashing.digest(item.key), value, item: number });
        }
        let name =
            |item: usize| data.items.get(item).map_or(String::new(), |item| format!("`{}`", item.key.escape_ascii()));
        Self::of_pairs(config, shape, hashing, pairs, name)
    }
}

#[cfg(test)]
mod tests;
