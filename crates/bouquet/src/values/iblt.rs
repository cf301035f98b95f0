#![doc = include_str!("iblt.md")]

use crate::capability::{Answer, Entry, Listing, Multiplicity, Note, NoteType, Value};
use crate::codec::{Decoder, Encoder, Grain};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Reply, Special, Stats, Takes, Text, common, kind};
use crate::parts::summed_cells::{MAX_HASHES, Slices, SummedCells};
use crate::shell::{
    Choice, Deduct, Enumerate, Fields, Filter, FromNote, Hashed, Lookup, Mechanism, Put, Settings, Take, Tally, Test,
    Unite, fields,
};

pub use super::records::Accumulator;
use super::records::{self, Found, MAX_BYTES, MAX_SUM_BYTES, cells_for, rates};

/// Records whose counts never run out.
type Records = records::Records<64>;

/// The registry's row.
pub const KIND: Kind = kind!(Iblt);

/// A table of pairs that can be listed again.
///
/// ```
/// use bouquet::Iblt;
/// use bouquet::capability::{Answer, Value};
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
pub type Iblt = Filter<Pairs>;

const CELLS: Parameter =
    Parameter::count("cells", "cells, rounded up to a multiple of the hashes, instead of a capacity", 1, 1 << 48);
const HASHES: Parameter =
    Parameter::count("hashes", "cells per key; 4, or 3 above 10,000 items, when not given", 3, MAX_HASHES as u64);
const ACCUMULATOR: Parameter = Parameter::choice(
    "accumulator",
    "how pairs are summed; sum tolerates duplicates and takes up to 8 bytes",
    &["xor", "sum"],
);
const KEY_BYTES: Parameter =
    Parameter::count("key-bytes", "the longest key; 16 (sum: 8) when not given", 1, MAX_BYTES as u64);
const VALUE_BYTES: Parameter =
    Parameter::count("value-bytes", "the longest value; 0 for none", 0, MAX_BYTES as u64).or(8);
const HASH_BITS: Parameter = Parameter::count("hash-bits", "bits of the check sum in each cell", 32, 64).or(64);

/// The settings of a table.
///
/// ```
/// use bouquet::{Iblt, IbltSettings, values::iblt::Accumulator};
/// let settings = IbltSettings { items: Some(50), accumulator: Some(Accumulator::Sum), ..Default::default() };
/// let mut table = Iblt::with(settings)?;
/// for _ in 0..3 {
///     table.insert(&7u64, b"x")?;
/// }
/// assert_eq!(table.list().entries[0].count, 3);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IbltSettings {
    /// Pairs that it is to list.
    pub items: Option<u64>,
    /// The number of cells.
    pub cells: Option<u64>,
    /// Cells per key.
    pub hashes: Option<u32>,
    /// How pairs are summed.
    pub accumulator: Option<Accumulator>,
    /// The longest key.
    pub key_bytes: Option<u32>,
    /// The longest value.
    pub value_bytes: Option<u32>,
    /// Bits of the check sum in each cell.
    pub hash_bits: Option<u32>,
}

impl Settings for IbltSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        cells: CELLS,
        hashes: HASHES,
        accumulator: ACCUMULATOR,
        key_bytes: KEY_BYTES,
        value_bytes: VALUE_BYTES,
        hash_bits: HASH_BITS,
    ];
}

/// The shape that the settings describe.
fn shape(settings: &IbltSettings) -> Result<(Slices, Records)> {
    let items = settings.items;
    let hashes = settings.hashes.unwrap_or(if items.is_some_and(|items| items > 10_000) { 3 } else { 4 });
    let cells = match (settings.cells, items) {
        (Some(cells), _) => cells,
        (None, Some(items)) => cells_for(items, hashes)
            .map_err(|_| Error::TooLarge { what: "the table".into(), bytes: u128::from(items) * 16 })?,
        (None, None) => return Err(common::ITEMS.missing("cells")),
    };
    let accumulator = ACCUMULATOR.need(settings.accumulator)?;
    let (key_default, most) = match accumulator {
        Accumulator::Xor => (16, MAX_BYTES),
        Accumulator::Sum => (8, MAX_SUM_BYTES),
    };
    let width = |parameter: &Parameter, bytes: u32| {
        if bytes > most {
            let expected = format!("at most {most} with the accumulator {}", accumulator.word());
            return Err(Error::parameter(parameter.name, expected, bytes));
        }
        Ok(bytes)
    };
    let records = Records {
        accumulator,
        key_bytes: width(&KEY_BYTES, settings.key_bytes.unwrap_or(key_default))?,
        value_bytes: width(&VALUE_BYTES, VALUE_BYTES.need(settings.value_bytes)?)?,
        hash_bits: HASH_BITS.need(settings.hash_bits)?,
    };
    let slices = Slices::of(cells, hashes);
    slices.bits(&records)?;
    Ok((slices, records))
}

/// Cells that sum up pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    table: SummedCells<Records>,
}

impl Mechanism for Pairs {
    const FACTS: Facts = Facts {
        id: "iblt",
        number: 201,
        aliases: &["IBLT", "invertible lookup table"],
        family: "values",
        text: Text::new(include_str!("iblt.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::Unknown],
        note: NoteType::Bytes,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;
    const OWN_ITEMS: bool = true;

    const SPECIALS: &'static [Special<Iblt>] = &[Special::act(
        "remove-ahead",
        Takes::Item,
        "removes pairs without looking whether they are held: their insertion may still be to come",
        |table, argument| {
            let item = argument.item()?;
            table.remove_ahead(item.key, item.bytes()?)?;
            Ok(Reply::Done)
        },
    )];

    type Settings = IbltSettings;

    fn resolve(asked: &IbltSettings) -> Result<IbltSettings> {
        let (slices, records) = shape(asked)?;
        Ok(IbltSettings {
            items: asked.items,
            cells: Some(slices.cells()),
            hashes: Some(slices.hashes),
            accumulator: Some(records.accumulator),
            key_bytes: Some(records.key_bytes),
            value_bytes: Some(records.value_bytes),
            hash_bits: Some(records.hash_bits),
        })
    }

    fn plan(settings: &IbltSettings) -> Result<Plan> {
        let ((slices, records), items) = (shape(settings)?, settings.items);
        let fpr = items.and_then(|items| rates(&slices, items).false_positive);
        Ok(Plan { bits: slices.bits(&records)?, hashes: slices.hashes, items, fpr })
    }

    fn empty(settings: &IbltSettings, hashing: &Hashing) -> Result<Self> {
        let (slices, records) = shape(settings)?;
        Ok(Pairs { table: SummedCells::zeroed(records, slices, Self::hashing(settings, hashing))? })
    }

    fn domain(settings: &IbltSettings) -> String {
        format!("iblt {} {}", settings.cells.unwrap_or(0), settings.hashes.unwrap_or(0))
    }

    fn items(&self, _: u64) -> u64 {
        self.table.items()
    }

    fn stats(&self, items: u64) -> Stats {
        self.table.stats(items)
    }

    fn expected(&self, items: u64) -> Rates {
        rates(&self.table.slices, items)
    }

    /// Store: the cells.
    fn grains(&self) -> Vec<Option<Grain>> {
        vec![Some(self.table.grain())]
    }

    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.words(self.table.words());
    }

    fn decode(settings: &IbltSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (slices, records) = shape(settings)?;
        let words = decoder.words(slices.bits(&records)?.div_ceil(64))?;
        let hashing = Self::hashing(settings, decoder.config().hashing());
        let table = SummedCells::from_words(records, slices, hashing, words)
            .ok_or_else(|| Error::corrupt("bits behind the last cell", "0", "1"))?;
        Ok((Pairs { table }, 0))
    }
}

impl Test for Pairs {
    fn test(&self, key: Hashed<'_>) -> bool {
        !matches!(self.table.look_up(key.bytes), Found::Absent)
    }
}

impl Put for Pairs {
    type Note<'a> = &'a [u8];
    type Outcome = Result<bool>;

    /// A key or a value that is too wide is [`Error::Item`].
    fn put(&mut self, key: Hashed<'_>, value: &[u8]) -> Result<bool> {
        let record = self.table.record(key.bytes, value)?;
        let fresh = matches!(self.table.look_up(key.bytes), Found::Absent);
        self.table.add_record(record, 1);
        Ok(fresh)
    }
}

impl Take for Pairs {
    type Note<'a> = Note<'a>;

    /// Removes a pair; without a note, the key with the value that it has.
    fn take(&mut self, key: Hashed<'_>, note: Note<'_>) -> Result<()> {
        let found = self.table.look_up(key.bytes);
        let record = match (note, found) {
            (_, Found::Absent) => return Err(Error::NotPresent),
            (Note::None, Found::Held(record, _)) => record,
            (Note::None, Found::Unknown(_)) => {
                let what = "the key's value cannot be read, as all its cells hold other keys too; give the value";
                return Err(Error::Ambiguous { what: what.into() });
            }
            (note, found) => {
                let value: &[u8] = FromNote::from_note(note)?;
                if matches!(found, Found::Held(held, _) if held.value() != value) {
                    return Err(Error::NotPresent);
                }
                self.table.record(key.bytes, value)?
            }
        };
        self.table.add_record(record, -1);
        Ok(())
    }
}

impl Tally for Pairs {
    /// Exact where a cell holds the key alone; elsewhere the smallest count among its cells, which is never too small.
    ///
    /// With the accumulator `xor` a key that is held twice is never alone in this sense, but the smallest count is right as
    /// long as one of its cells holds no other key.
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        let count = match self.table.look_up(key.bytes) {
            Found::Absent => 0,
            // Counts can be too small only if something was removed ahead of its insertion; the key still may be held.
            Found::Held(_, count) | Found::Unknown(count) => count.max(1).unsigned_abs(),
        };
        Multiplicity { count, at_least: false }
    }
}

impl Lookup for Pairs {
    type Answer = Answer;

    fn lookup(&self, key: Hashed<'_>) -> Answer {
        match self.table.look_up(key.bytes) {
            Found::Absent => Answer::Absent,
            Found::Held(record, _) => Answer::Value(Value::Bytes(record.value().to_vec())),
            Found::Unknown(_) => Answer::Unknown,
        }
    }
}

impl Enumerate for Pairs {
    /// Negative counts are of pairs that were removed ahead.
    fn enumerate(&self, _: &Hashing) -> Listing {
        self.clone().drain()
    }
}

impl Unite for Pairs {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.table.combine(&other.table, 1)
    }
}

/// What both hold cancels without having been known; the rest is listed with count 1 where only this table had it and -1
/// where only the other had.
impl Deduct for Pairs {
    fn deduct(&mut self, other: &Self) -> Result<()> {
        self.table.combine(&other.table, -1)
    }
}

impl Pairs {
    /// Takes out everything that can be decoded.
    fn drain(&mut self) -> Listing {
        let (mut entries, with_values) = (Vec::new(), self.table.sums.value_bytes > 0);
        self.table.drain(|sole| {
            let record = &sole.placed.entry;
            let value = with_values.then(|| Value::Bytes(record.value().to_vec()));
            entries.push(Entry { key: record.key().to_vec(), value, count: sole.count });
        });
        Listing { entries, undecoded: self.table.used() }
    }
}

impl Iblt {
    /// A table that can list up to `items` pairs (in 99 of 100 cases or more), with the default widths.
    ///
    /// ```
    /// use bouquet::Iblt;
    /// assert_eq!(Iblt::with_capacity(100)?.settings().cells, Some(152));
    /// assert!(Iblt::with_capacity(0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_capacity(items: u64) -> Result<Self> {
        Self::with(IbltSettings { items: Some(items), ..Default::default() })
    }

    /// A table of `cells` cells, rounded up to a multiple of `hashes`, with `hashes` cells per key.
    ///
    /// ```
    /// use bouquet::Iblt;
    /// assert_eq!(Iblt::with_size(1_000, 3)?.settings().cells, Some(1_002));
    /// assert!(Iblt::with_size(1_000, 2).is_err(), "two cells per key do not peel");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(cells: u64, hashes: u32) -> Result<Self> {
        Self::with(IbltSettings { cells: Some(cells), hashes: Some(hashes), ..Default::default() })
    }

    /// Inserts a pair and says whether the key was certainly not held before. A key or a value that is too wide is
    /// [`Error::Item`].
    ///
    /// ```
    /// use bouquet::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// assert!(table.insert("rose", b"red")?);
    /// assert!(!table.insert("rose", b"white")?, "the key was there");
    /// assert!(table.insert("a key of more than 16 bytes", b"red").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<bool> {
        self.insert_with(key, value)
    }

    /// Removes a pair. If it is certainly not held (the key is absent, or has another value) this is
    /// [`Error::NotPresent`], and nothing changes.
    ///
    /// ```
    /// use bouquet::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.insert("rose", b"red")?;
    /// assert!(table.remove("rose", b"white").is_err(), "it has another value");
    /// table.remove("rose", b"red")?;
    /// assert!(!table.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<()> {
        self.remove_with(key, Note::Bytes(value))
    }

    /// Removes a pair without looking whether it is held, as when its insertion is still to come, from another host
    /// perhaps. Until then it is listed with a negative count.
    ///
    /// ```
    /// use bouquet::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.remove_ahead("rose", b"red")?;
    /// assert_eq!(table.list().entries[0].count, -1);
    /// table.insert("rose", b"red")?;
    /// assert!(table.list().entries.is_empty());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_ahead<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<()> {
        let table = &mut self.mechanism.table;
        let record = key.with_bytes(|key| table.record(key, value))?;
        table.add_record(record, -1);
        Ok(())
    }

    /// Removes a key with whatever value it has. [`Error::Ambiguous`] if the value cannot be read at present.
    ///
    /// ```
    /// use bouquet::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.insert("rose", b"red")?;
    /// table.remove_key("rose")?;
    /// assert!(!table.contains("rose") && table.remove_key("rose").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_key<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.remove_with(key, Note::None)
    }

    /// Everything that can be decoded, as [`list`](Self::list) gives it, without a copy of the table: it is taken out.
    ///
    /// ```
    /// use bouquet::Iblt;
    /// let mut table = Iblt::with_capacity(10)?;
    /// table.insert("rose", b"red")?;
    /// assert_eq!(table.drain().entries.len(), 1);
    /// assert_eq!(table, Iblt::with_capacity(10)?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn drain(&mut self) -> Listing {
        self.mechanism.drain()
    }
}

#[cfg(test)]
mod tests;
