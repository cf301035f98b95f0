#![doc = include_str!("iblt.md")]

use crate::capability::{
    Answer, Contains, Count, Get, Insert, Item, List, Listing, Merge, Multiplicity, Note, NoteType, Remove, Value,
};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::summed_cells::{Accumulator, CellTable, Found, MAX_BYTES, MAX_HASHES, MAX_SUM_BYTES, Record, Shape};
use crate::theory::{partitioned, peeling, special};

/// The registry's row.
pub const KIND: Kind = kind!(Iblt);

const CELLS: Parameter = Parameter {
    name: "cells",
    help: "cells, rounded up to a multiple of the hashes, instead of a capacity",
    of: ParameterType::Count { min: 1, max: 1 << 48, default: None },
};

const HASHES: Parameter = Parameter {
    name: "hashes",
    help: "cells per key; 4, or 3 above 10,000 items, when not given",
    of: ParameterType::Count { min: 3, max: MAX_HASHES as u64, default: None },
};

const ACCUMULATOR: Parameter = Parameter {
    name: "accumulator",
    help: "how pairs are summed; sum tolerates duplicates and takes up to 8 bytes",
    of: ParameterType::Choice { options: &["xor", "sum"] },
};

const KEY_BYTES: Parameter = Parameter {
    name: "key-bytes",
    help: "the longest key; 16 (sum: 8) when not given",
    of: ParameterType::Count { min: 1, max: MAX_BYTES as u64, default: None },
};

const VALUE_BYTES: Parameter = Parameter {
    name: "value-bytes",
    help: "the longest value; 0 for none",
    of: ParameterType::Count { min: 0, max: MAX_BYTES as u64, default: Some(8) },
};

const HASH_BITS: Parameter = Parameter {
    name: "hash-bits",
    help: "bits of the check sum in each cell",
    of: ParameterType::Count { min: 32, max: 64, default: Some(64) },
};

/// A table of pairs that can be listed again.
///
/// ```
/// use bouquet::capability::{Answer, Value};
/// use bouquet::values::iblt::Iblt;
/// let mut table = Iblt::with_capacity(100)?;
/// table.insert("rose", b"red")?;
/// table.insert("lily", b"white")?;
/// assert_eq!(table.get("rose"), Answer::Value(Value::Bytes(b"red".to_vec())));
/// table.remove("rose", b"red")?;
/// let listing = table.list();
/// assert_eq!((listing.undecoded, listing.entries.len()), (0, 1));
/// assert_eq!(listing.entries[0].key, b"lily");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Iblt {
    table: CellTable,
    planned_items: Option<u64>,
}

/// How often a table of the planned size may have two keys in the same cells; it decides the size of small ones.
const TWIN_RATE: f64 = 0.007;

/// Cells for `items` pairs and `hashes` cells per key.
fn cells_for(items: u64, hashes: u32) -> Result<u64> {
    const SIMULATED_BELOW: u64 = 2_000;
    const SIMULATED_HASHES: u32 = 4;
    if items >= SIMULATED_BELOW {
        return Ok(peeling::listing_cells(items, hashes)?);
    }
    let simulated = peeling::difference_cells(items)?;
    if hashes == SIMULATED_HASHES {
        return Ok(simulated);
    }
    // Large tables need cells in proportion to the threshold; in small ones the likeliest failure is a pair of keys with
    // all cells in common, of which n (n-1) / 2 / s^k are expected in slices of s cells.
    let scaled = simulated as f64 * peeling::threshold(hashes) / peeling::threshold(SIMULATED_HASHES);
    let pairs = items as f64 * (items - 1) as f64 / 2.0;
    let slice = (pairs / TWIN_RATE).powf(1.0 / f64::from(hashes)).max(scaled / f64::from(hashes));
    Ok(slice.ceil() as u64 * u64::from(hashes))
}

fn shape_of(config: &Config) -> Result<Shape> {
    let items = config.count("items");
    let given = config.count("hashes").map(|hashes| hashes as u32);
    let hashes = given.unwrap_or(if items.is_some_and(|items| items > 10_000) { 3 } else { 4 });
    let cells = match (config.count("cells"), items) {
        (Some(cells), _) => cells,
        (None, Some(items)) => cells_for(items, hashes)
            .map_err(|_| Error::TooLarge { what: "the table".into(), bytes: u128::from(items) * 16 })?,
        (None, None) => {
            return Err(Error::parameter("items", common::ITEMS.range(), "missing (or give `cells`)"));
        }
    };
    let accumulator = match config.choice("accumulator") {
        "sum" => Accumulator::Sum,
        _ => Accumulator::Xor,
    };
    let (key_default, most) = match accumulator {
        Accumulator::Xor => (16, MAX_BYTES),
        Accumulator::Sum => (8, MAX_SUM_BYTES),
    };
    let width = |name: &str, default: u64| {
        let bytes = config.count(name).unwrap_or(default);
        if bytes > most.into() {
            let expected = format!("at most {most} with the accumulator {}", accumulator.name());
            return Err(Error::parameter(name, expected, bytes));
        }
        Ok(bytes as u32)
    };
    let shape = Shape {
        slice_len: cells.div_ceil(hashes.into()),
        hashes,
        accumulator,
        key_bytes: width("key-bytes", key_default)?,
        value_bytes: width("value-bytes", 8)?,
        hash_bits: config.need("hash-bits")? as u32,
    };
    shape.bits()?;
    Ok(shape)
}

/// A secret gives unrelated digests for tables of another shape.
fn bind(shape: &Shape, hashing: &Hashing) -> Hashing {
    hashing.clone().bind(&format!("{} {} {}", Iblt::FACTS.id, shape.cells(), shape.hashes))
}

/// The rates of a table of this shape with `items` distinct keys.
fn rates(shape: &Shape, items: u64) -> Rates {
    let in_a_cell = 1.0 / shape.slice_len as f64;
    let shared = special::binomial_tail(2, items as f64, in_a_cell).powi(shape.hashes as i32);
    let unreadable = if items == 0 { 0.0 } else { partitioned::rate(shape.cells(), items - 1, shape.hashes) };
    Rates { false_positive: Some(shared), over_count: Some(unreadable), unknown: Some(unreadable), ..Rates::default() }
}

impl Iblt {
    /// A table that can list up to `items` pairs (in 99 of 100 cases or more), with the default widths.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// assert_eq!(Iblt::with_capacity(100)?.cells(), 152);
    /// assert!(Iblt::with_capacity(0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_capacity(items: u64) -> Result<Self> {
        Self::from_config(&Config::new(KIND.facts()).with("items", Setting::Count(items))?)
    }

    /// A table of `cells` cells, rounded up to a multiple of `hashes`, with `hashes` cells per key.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// assert_eq!(Iblt::with_size(1_000, 3)?.cells(), 1_002);
    /// assert!(Iblt::with_size(1_000, 2).is_err(), "two cells per key do not peel");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(cells: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("cells", Setting::Count(cells))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// An empty table of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::kind::Config;
    /// use bouquet::values::iblt::{Iblt, KIND};
    /// let config = Config::new(KIND.facts()).set("items", "50")?.set("accumulator", "sum")?;
    /// let mut table = Iblt::from_config(&config)?;
    /// for _ in 0..3 {
    ///     table.insert(&7u64, b"x")?;
    /// }
    /// assert_eq!(table.list().entries[0].count, 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = shape_of(config)?;
        let table = CellTable::zeroed(shape, bind(&shape, config.hashing()))?;
        Ok(Iblt { table, planned_items: config.count("items") })
    }

    /// The number of cells.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// assert_eq!(Iblt::with_size(90, 3)?.cells(), 90);
    /// assert!(Iblt::with_capacity(1_000_000)?.cells() > 1_222_000, "the threshold of three cells per key");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.table.shape().cells()
    }

    /// Cells per key.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// assert_eq!((Iblt::with_capacity(100)?.hashes(), Iblt::with_capacity(100_000)?.hashes()), (4, 3));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.table.shape().hashes
    }

    fn record<K: Key + ?Sized>(&self, key: &K, value: &[u8]) -> Result<Record> {
        key.with_bytes(|key| Record::new(self.table.shape(), key, value))
    }

    /// Inserts a pair and says whether the key was certainly not held before. A key or a value that is too wide is
    /// [`Error::Item`].
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// assert!(table.insert("rose", b"red")?);
    /// assert!(!table.insert("rose", b"white")?, "the key was there");
    /// assert!(table.insert("a key of more than 16 bytes", b"red").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<bool> {
        let record = self.record(key, value)?;
        let fresh = matches!(self.table.look_up(record.key()), Found::Absent);
        self.table.add(&record, 1);
        Ok(fresh)
    }

    /// Removes a pair. If it is certainly not held (the key is absent, or has another value) this is
    /// [`Error::NotPresent`], and nothing changes.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.insert("rose", b"red")?;
    /// assert!(table.remove("rose", b"white").is_err(), "it has another value");
    /// table.remove("rose", b"red")?;
    /// assert!(!table.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<()> {
        let record = self.record(key, value)?;
        match self.table.look_up(record.key()) {
            Found::Absent => return Err(Error::NotPresent),
            Found::Held(held, _) if held.value() != value => return Err(Error::NotPresent),
            Found::Held(..) | Found::Unknown(_) => {}
        }
        self.table.add(&record, -1);
        Ok(())
    }

    /// Removes a pair without looking whether it is held, as when its insertion is still to come, from another host
    /// perhaps. Until then it is listed with a negative count.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.remove_ahead("rose", b"red")?;
    /// assert_eq!(table.list().entries[0].count, -1);
    /// table.insert("rose", b"red")?;
    /// assert!(table.list().entries.is_empty());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_ahead<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<()> {
        let record = self.record(key, value)?;
        self.table.add(&record, -1);
        Ok(())
    }

    /// Removes a key with whatever value it has. [`Error::Ambiguous`] if the value cannot be read at present.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.insert("rose", b"red")?;
    /// table.remove_key("rose")?;
    /// assert!(!table.contains("rose") && table.remove_key("rose").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_key<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        match key.with_bytes(|key| self.table.look_up(key)) {
            Found::Absent => Err(Error::NotPresent),
            Found::Unknown(_) => Err(Error::Ambiguous {
                what: "the key's value cannot be read, as all its cells hold other keys too; give the value".into(),
            }),
            Found::Held(record, _) => {
                self.table.add(&record, -1);
                Ok(())
            }
        }
    }

    /// The value of a key, if it can be read.
    ///
    /// ```
    /// use bouquet::{capability::{Answer, Value}, values::iblt::Iblt};
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.insert("rose", b"red")?;
    /// assert_eq!(table.get("rose"), Answer::Value(Value::Bytes(b"red".to_vec())));
    /// assert_eq!(table.get("thistle"), Answer::Absent);
    /// (0..1_000u64).try_for_each(|key| table.insert(&key, b"").map(|_| ()))?;
    /// assert_eq!(table.get("rose"), Answer::Unknown, "too many for now");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Answer {
        match key.with_bytes(|key| self.table.look_up(key)) {
            Found::Absent => Answer::Absent,
            Found::Held(record, _) => Answer::Value(Value::Bytes(record.value().to_vec())),
            Found::Unknown(_) => Answer::Unknown,
        }
    }

    /// Whether the key may be held; `false` is certain.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.insert("rose", b"red")?;
    /// assert!(table.contains("rose") && !table.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        key.with_bytes(|key| !matches!(self.table.look_up(key), Found::Absent))
    }

    /// How often the key is held. Exact where a cell holds the key alone; elsewhere the smallest count among its cells,
    /// which is never too small.
    ///
    /// With the accumulator `xor` a key that is held twice is never alone in this sense, but the smallest count is right as
    /// long as one of its cells holds no other key.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.insert("rose", b"red")?;
    /// table.insert("rose", b"red")?;
    /// assert_eq!((table.count("rose"), table.count("thistle")), (2, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        match key.with_bytes(|key| self.table.look_up(key)) {
            Found::Absent => 0,
            // Counts can be too small only if something was removed ahead of its insertion; the key still may be held.
            Found::Held(_, count) | Found::Unknown(count) => count.max(1).unsigned_abs(),
        }
    }

    /// Everything that can be decoded, with negative counts for what was removed ahead; the table stays as it is.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// (0..1_000u64).try_for_each(|key| table.insert(&key, b"").map(|_| ()))?;
    /// assert!(table.list().undecoded > 0, "far more than ten");
    /// (10..1_000u64).try_for_each(|key| table.remove(&key, b""))?;
    /// assert_eq!((table.list().undecoded, table.list().entries.len()), (0, 10));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn list(&self) -> Listing {
        self.table.clone().drain()
    }

    /// The same, without a copy of the table: what was decoded is taken out.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.insert("rose", b"red")?;
    /// assert_eq!(table.drain().entries.len(), 1);
    /// assert_eq!(table, Iblt::with_capacity(10)?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn drain(&mut self) -> Listing {
        self.table.drain()
    }

    /// Takes in everything that `other` holds.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let (mut here, mut there) = (Iblt::with_capacity(10)?, Iblt::with_capacity(10)?);
    /// here.insert("rose", b"red")?;
    /// there.insert("lily", b"white")?;
    /// here.merge(&there)?;
    /// assert_eq!(here.list().entries.len(), 2);
    /// assert!(here.merge(&Iblt::with_capacity(100)?).is_err(), "tables of one size only");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.table.combine(&other.table, 1)
    }

    /// Takes out everything that `other` holds. What both hold cancels without having been known; the rest is listed with
    /// count 1 where only this table had it and -1 where only the other had.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let (mut here, mut there) = (Iblt::with_capacity(10)?, Iblt::with_capacity(10)?);
    /// for key in 0..1_000u64 {
    ///     here.insert(&key, b"")?;
    ///     there.insert(&(key + 1), b"")?;
    /// }
    /// here.subtract(&there)?;
    /// let mut counts: Vec<_> = here.list().entries.iter().map(|entry| (entry.key[0], entry.count)).collect();
    /// counts.sort();
    /// assert_eq!(counts, [(0, 1), (232, -1)]); // 0 is only here, 1000 = 3 * 256 + 232 only there
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn subtract(&mut self, other: &Self) -> Result<()> {
        self.table.combine(&other.table, -1)
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.insert("rose", b"red")?;
    /// assert_eq!(Iblt::from_bytes(&table.to_bytes())?, table);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::values::iblt::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.insert("rose", b"red")?;
    /// let frame = table.to_bytes();
    /// assert!(Iblt::from_bytes(&frame)?.contains("rose"));
    /// assert!(Iblt::from_bytes(&frame[..frame.len() - 1]).is_err(), "cut short");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

impl Structure for Iblt {
    const FACTS: Facts = Facts {
        id: "iblt",
        number: 201,
        aliases: &["IBLT", "invertible lookup table"],
        family: "values",
        text: Text::new(include_str!("iblt.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::Unknown],
        note: NoteType::Bytes,
        parameters: &[common::ITEMS, CELLS, HASHES, ACCUMULATOR, KEY_BYTES, VALUE_BYTES, HASH_BITS],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let shape = shape_of(config)?;
        let items = config.count("items");
        let fpr = items.and_then(|items| rates(&shape, items).false_positive);
        Ok(Plan { bits: shape.bits()?, hashes: shape.hashes, items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let shape = self.table.shape();
        let config = Config::new(KIND.facts())
            .put("cells", Setting::Count(shape.cells()))
            .put("hashes", Setting::Count(shape.hashes.into()))
            .put("accumulator", Setting::Choice(shape.accumulator.name()))
            .put("key-bytes", Setting::Count(shape.key_bytes.into()))
            .put("value-bytes", Setting::Count(shape.value_bytes.into()))
            .put("hash-bits", Setting::Count(shape.hash_bits.into()))
            .hashed(self.table.hashing().clone());
        match self.planned_items {
            Some(items) => config.put("items", Setting::Count(items)),
            None => config,
        }
    }

    fn hashing(&self) -> &Hashing {
        self.table.hashing()
    }

    fn stats(&self) -> Stats {
        let (fill, mixed) = self.table.occupancy();
        Stats {
            items: u64::try_from(self.table.items().max(0)).unwrap_or(u64::MAX),
            bits: self.cells() * u64::from(self.table.shape().cell_bits()),
            hashes: self.hashes(),
            fill: Some(fill),
            // Which cells hold one pair alone cannot be told without the secret.
            fpr: self.table.hashing().is_usable().then(|| mixed.iter().product()),
            // Pairs that were removed ahead fill cells and lower the number of items.
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        rates(self.table.shape(), items)
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.words(self.table.words());
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = shape_of(decoder.config())?;
        let words = decoder.words(shape.bits()?.div_ceil(64))?;
        let table = CellTable::from_words(shape, bind(&shape, decoder.config().hashing()), words)
            .ok_or_else(|| Error::corrupt("bits behind the last cell", "0", "1"))?;
        Ok(Iblt { table, planned_items: decoder.config().count("items") })
    }
}

impl Contains for Iblt {
    fn contains(&self, key: &[u8]) -> bool {
        Iblt::contains(self, key)
    }
}

impl Insert for Iblt {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Iblt::insert(self, item.key, item.bytes()?)
    }
}

impl Remove for Iblt {
    /// Removes a pair; without a note, the key with the value that it has.
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        match item.note {
            Note::None => self.remove_key(item.key),
            _ => Iblt::remove(self, item.key, item.bytes()?),
        }
    }
}

impl Count for Iblt {
    fn count(&self, key: &[u8]) -> Multiplicity {
        Multiplicity { count: Iblt::count(self, key), at_least: false }
    }
}

impl Get for Iblt {
    fn get(&self, key: &[u8]) -> Answer {
        Iblt::get(self, key)
    }
}

impl List for Iblt {
    fn list(&self) -> Listing {
        Iblt::list(self)
    }
}

impl Merge for Iblt {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Iblt::merge(self, other)
    }
}

#[cfg(test)]
mod tests;
