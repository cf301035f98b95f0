#![doc = include_str!("invertible.md")]

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::records::{self, Accumulator, Found, MAX_BYTES, cells_for, rates};
use crate::capability::{Entry, Estimate, Listing, NoteType};
use crate::codec::{Decoder, Encoder, Grain};
use crate::error::{Error, Result, same};
use crate::hash::Hashing;
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Reply, Special, Stats, Takes, Text, common, kind};
use crate::parts::peel::peel_cells;
use crate::parts::summed_cells::{MAX_HASHES, Slices, SummedCells, full};
use crate::shell::{Deduct, Enumerate, Fields, Filter, Hashed, Mechanism, Put, Settings, Take, Test, Unite, fields};

mod protocol;
mod strata;

pub use protocol::{Answerer, Progress, Seeker};
use strata::Strata;

/// Keys without values, whose counts have 32 bits.
type Ids = records::Records<32>;

/// The registry's row.
pub const KIND: Kind = kind!(Invertible);

/// An invertible Bloom filter: two of them tell in which keys their sets differ.
///
/// ```
/// use bouquet::Invertible;
/// let (mut here, mut there) = (Invertible::with_capacity(10)?, Invertible::with_capacity(10)?);
/// (0..10_000u64).for_each(|key| _ = (here.insert(&key), there.insert(&key)));
/// here.insert("rose")?;
/// there.insert("lily")?;
/// let difference = here.difference(&there)?;
/// assert!(difference.is_complete());
/// assert_eq!((difference.here, difference.there), (vec![b"rose".to_vec()], vec![b"lily".to_vec()]));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Invertible = Filter<Table>;

const ITEMS: Parameter = Parameter { help: "keys that can be listed: those in which two sets differ", ..common::ITEMS };
const CELLS: Parameter =
    Parameter::count("cells", "cells, rounded up to a multiple of the hashes, instead of items", 1, 1 << 48);
const HASHES: Parameter = Parameter::count("hashes", "cells per key", 3, MAX_HASHES as u64).or(4);
const KEY_BYTES: Parameter = Parameter::count("key-bytes", "the longest key", 1, MAX_BYTES as u64).or(16);
const HASH_BITS: Parameter = Parameter::count("hash-bits", "bits of the check sum in each cell", 32, 64).or(32);
const STRATA: Parameter =
    Parameter::flag("strata", "with an estimator of the size of a difference: 32 filters of 80 cells beside the table");

/// The settings of an invertible filter.
///
/// ```
/// use bouquet::{Invertible, InvertibleSettings};
/// let settings = InvertibleSettings { items: Some(1_000), ..Default::default() };
/// assert_eq!(Invertible::with(settings.clone())?.settings().cells, Some(1_352));
/// assert!(Invertible::with(InvertibleSettings { hashes: Some(2), ..settings }).is_err(), "two cells per key do not peel");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InvertibleSettings {
    /// d, the keys that can be listed.
    pub items: Option<u64>,
    /// m, the cells.
    pub cells: Option<u64>,
    /// k, the cells of a key.
    pub hashes: Option<u32>,
    /// The longest key.
    pub key_bytes: Option<u32>,
    /// w, the bits of the check sum.
    pub hash_bits: Option<u32>,
    /// Whether it has a strata estimator.
    pub strata: Option<bool>,
}

impl Settings for InvertibleSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        cells: CELLS,
        hashes: HASHES,
        key_bytes: KEY_BYTES,
        hash_bits: HASH_BITS,
        strata: STRATA,
    ];
}

/// The shape that the settings describe.
fn shape(settings: &InvertibleSettings) -> Result<(Slices, Ids)> {
    let hashes = HASHES.need(settings.hashes)?;
    let cells = match (settings.cells, settings.items) {
        (Some(cells), _) => cells,
        (None, Some(items)) => cells_for(items, hashes)
            .map_err(|_| Error::TooLarge { what: "the table".into(), bytes: u128::from(items) * 16 })?,
        (None, None) => return Err(ITEMS.missing(CELLS.name)),
    };
    let ids = Ids {
        accumulator: Accumulator::Xor,
        key_bytes: KEY_BYTES.need(settings.key_bytes)?,
        value_bytes: 0,
        hash_bits: HASH_BITS.need(settings.hash_bits)?,
    };
    let slices = Slices::of(cells, hashes);
    slices.bits(&ids)?;
    Ok((slices, ids))
}

/// A table of keys, and what estimates differences.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    table: SummedCells<Ids>,
    strata: Option<Strata>,
}

/// How the decoding of a table ended.
///
/// ```
/// use bouquet::{Invertible, values::invertible::End};
/// let mut table = Invertible::with_size(8, 4)?;
/// (0..100u64).for_each(|key| _ = table.insert(&key));
/// assert!(matches!(table.decode().end, End::Incomplete { cells: 8 }));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All cells are empty: nothing is missing.
    Complete,
    /// This many cells still hold something.
    Incomplete {
        /// The cells.
        cells: u64,
    },
    /// The table was not made by insertions, removals and subtractions: a key came twice, or more keys than there are cells.
    Malformed,
}

/// What a table holds, or in what two tables differ.
///
/// ```
/// use bouquet::Invertible;
/// let mut here = Invertible::with_capacity(10)?;
/// here.insert("rose")?;
/// let nothing = here.difference(&here)?;
/// assert!(nothing.is_complete() && nothing.here.is_empty() && nothing.there.is_empty());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Keys that were inserted, or that only this table has.
    pub here: Vec<Vec<u8>>,
    /// Keys that were removed ahead, or that only the other table has.
    pub there: Vec<Vec<u8>>,
    /// Whether that is all.
    pub end: End,
}

impl Decoded {
    /// Whether nothing is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end == End::Complete
    }
}

impl Table {
    /// Takes out everything that can be decoded.
    fn decode(mut table: SummedCells<Ids>) -> Decoded {
        let most = table.slices.cells() as usize;
        let (mut here, mut there, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        let flow = peel_cells(&mut table, most, |sole, _| {
            let key = sole.placed.entry.key().to_vec();
            if !seen.insert(key.clone()) {
                return ControlFlow::Break(());
            }
            if sole.count > 0 {
                here.push(key)
            } else {
                there.push(key)
            }
            ControlFlow::Continue(())
        });
        let end = match (flow, table.used()) {
            (ControlFlow::Break(()), _) => End::Malformed,
            (ControlFlow::Continue(()), 0) => End::Complete,
            (ControlFlow::Continue(()), cells) => End::Incomplete { cells },
        };
        Decoded { here, there, end }
    }

    /// Adds a key to its cells, or takes it from them; nothing changes when a count is at its end.
    fn change(&mut self, key: &[u8], count: i64) -> Result<()> {
        let placed = self.table.place(self.table.record(key, b"")?);
        if !self.table.has_room(&placed, count) {
            return Err(full::<Ids>());
        }
        self.table.add(&placed, count);
        if let Some(strata) = &mut self.strata {
            strata.change(key, count);
        }
        Ok(())
    }

    fn combine(&mut self, other: &Self, sign: i64) -> Result<()> {
        let mut strata = self.strata.clone();
        if let (Some(mine), Some(theirs)) = (&mut strata, &other.strata) {
            mine.combine(theirs, sign)?;
        }
        self.table.combine(&other.table, sign)?;
        self.strata = strata;
        Ok(())
    }
}

impl Mechanism for Table {
    const FACTS: Facts = Facts {
        id: "invertible",
        number: 202,
        aliases: &["IBF", "invertible Bloom filter", "strata estimator"],
        family: "values",
        text: Text::new(include_str!("invertible.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::Unknown],
        note: NoteType::None,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;
    const OWN_ITEMS: bool = true;

    const SPECIALS: &'static [Special<Invertible>] = &[
        Special::ask(
            "distance",
            Takes::Filter,
            "an estimate of the number of keys that only one of two filters holds (strata=yes)",
            |filter, other| Ok(Reply::Estimate(filter.distance(other.filter()?)?)),
        ),
        Special::ask(
            "items-for",
            Takes::Filter,
            "the items to build filters with that list this difference, by its estimate (strata=yes)",
            |filter, other| Ok(filter.items_for(other.filter()?)?.into()),
        ),
        Special::act(
            "remove-ahead",
            Takes::Key,
            "removes a key that may come later, or is another host's",
            |filter, key| filter.remove_ahead(key.key()?).map(|()| Reply::Done),
        ),
    ];

    type Settings = InvertibleSettings;

    fn resolve(asked: &InvertibleSettings) -> Result<InvertibleSettings> {
        let (slices, ids) = shape(asked)?;
        Ok(InvertibleSettings {
            items: asked.items,
            cells: Some(slices.cells()),
            hashes: Some(slices.hashes),
            key_bytes: Some(ids.key_bytes),
            hash_bits: Some(ids.hash_bits),
            strata: asked.strata,
        })
    }

    fn plan(settings: &InvertibleSettings) -> Result<Plan> {
        let ((slices, ids), items) = (shape(settings)?, settings.items);
        let fpr = items.and_then(|items| rates(&slices, items).false_positive);
        let strata = if STRATA.need(settings.strata)? { Strata::bits(&ids)? } else { 0 };
        Ok(Plan { bits: slices.bits(&ids)? + strata, hashes: slices.hashes, items, fpr })
    }

    fn empty(settings: &InvertibleSettings, hashing: &Hashing) -> Result<Self> {
        let ((slices, ids), hashing) = (shape(settings)?, Self::hashing(settings, hashing));
        let strata = STRATA.need(settings.strata)?.then(|| Strata::zeroed(ids, &hashing)).transpose()?;
        Ok(Table { table: SummedCells::zeroed(ids, slices, hashing)?, strata })
    }

    fn domain(settings: &InvertibleSettings) -> String {
        format!("invertible {} {}", settings.cells.unwrap_or(0), settings.hashes.unwrap_or(0))
    }

    fn items(&self, _: u64) -> u64 {
        self.table.items()
    }

    fn stats(&self, items: u64) -> Stats {
        let stats = self.table.stats(items);
        Stats { bits: stats.bits + self.strata.as_ref().map_or(0, Strata::own_bits), ..stats }
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: rates(&self.table.slices, items).false_positive, ..Rates::default() }
    }

    /// Stores: the cells, and those of each stratum.
    fn grains(&self) -> Vec<Option<Grain>> {
        vec![Some(self.table.grain())]
    }

    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.words(self.table.words());
        if let Some(strata) = &self.strata {
            strata.tables().for_each(|table| encoder.words(table.words()));
        }
    }

    fn decode(settings: &InvertibleSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (slices, ids) = shape(settings)?;
        let hashing = Self::hashing(settings, decoder.config().hashing());
        let table = |slices: Slices, decoder: &mut Decoder<'_>| {
            let words = decoder.words(slices.bits(&ids)?.div_ceil(64))?;
            SummedCells::from_words(ids, slices, hashing.clone(), words)
                .ok_or_else(|| Error::corrupt("bits behind the last cell", "0", "1"))
        };
        let own = table(slices, decoder)?;
        let strata = STRATA.need(settings.strata)?.then(|| Strata::of(|slices| table(slices, decoder))).transpose()?;
        Ok((Table { table: own, strata }, 0))
    }
}

impl Test for Table {
    fn test(&self, key: Hashed<'_>) -> bool {
        !matches!(self.table.look_up(key.bytes), Found::Absent)
    }
}

impl Put for Table {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    /// A key that is too long is [`Error::Item`].
    fn put(&mut self, key: Hashed<'_>, (): ()) -> Result<bool> {
        let fresh = matches!(self.table.look_up(key.bytes), Found::Absent);
        self.change(key.bytes, 1).map(|()| fresh)
    }
}

impl Take for Table {
    type Note<'a> = ();

    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        match self.table.look_up(key.bytes) {
            Found::Absent => Err(Error::NotPresent),
            Found::Held(..) | Found::Unknown(_) => self.change(key.bytes, -1),
        }
    }
}

impl Enumerate for Table {
    /// Negative counts are of keys that were removed ahead, or that only a filter that was subtracted had.
    fn enumerate(&self, _: &Hashing) -> Listing {
        let Decoded { here, there, end } = Table::decode(self.table.clone());
        let entry = |count| move |key| Entry { key, value: None, count };
        let undecoded = match end {
            End::Complete => 0,
            End::Incomplete { cells } => cells,
            End::Malformed => self.table.used(),
        };
        Listing { entries: here.into_iter().map(entry(1)).chain(there.into_iter().map(entry(-1))).collect(), undecoded }
    }
}

impl Unite for Table {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.combine(other, 1)
    }
}

/// What both hold vanishes without having been known.
impl Deduct for Table {
    fn deduct(&mut self, other: &Self) -> Result<()> {
        self.combine(other, -1)
    }
}

impl Invertible {
    /// A filter that lists differences of up to `items` keys, in 99 of 100 cases.
    ///
    /// ```
    /// use bouquet::Invertible;
    /// assert_eq!(Invertible::with_capacity(100)?.settings().cells, Some(152));
    /// assert!(Invertible::with_capacity(0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_capacity(items: u64) -> Result<Self> {
        Self::with(InvertibleSettings { items: Some(items), ..InvertibleSettings::default() })
    }

    /// A filter of `cells` cells, rounded up to a multiple of `hashes`, with `hashes` cells per key.
    ///
    /// ```
    /// use bouquet::Invertible;
    /// assert_eq!(Invertible::with_size(1_000, 3)?.settings().cells, Some(1_002));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(cells: u64, hashes: u32) -> Result<Self> {
        let (cells, hashes) = (Some(cells), Some(hashes));
        Self::with(InvertibleSettings { cells, hashes, ..InvertibleSettings::default() })
    }

    /// What the filter holds, as far as it can be decoded.
    ///
    /// ```
    /// use bouquet::Invertible;
    /// let mut filter = Invertible::with_capacity(10)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.decode().here, [b"rose"]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn decode(&self) -> Decoded {
        Table::decode(self.mechanism.table.clone())
    }

    /// The keys that only this filter has, and those that only the other has.
    pub fn difference(&self, other: &Self) -> Result<Decoded> {
        self.comparable(other, Settings::alike)?;
        let mut table = self.mechanism.table.clone();
        table.combine(&other.mechanism.table, -1)?;
        Ok(Table::decode(table))
    }

    /// Removes a key without looking whether it is held: its insertion may be to come.
    ///
    /// ```
    /// use bouquet::Invertible;
    /// let mut filter = Invertible::with_capacity(10)?;
    /// filter.remove_ahead("rose")?;
    /// assert_eq!(filter.decode().there, [b"rose"]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_ahead<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        key.with_bytes(|key| self.mechanism.change(key, -1))
    }

    /// An estimate of the number of keys that only one of two filters holds; both must have `strata`. It is exact for few.
    ///
    /// ```
    /// use bouquet::{Invertible, InvertibleSettings};
    /// let settings = InvertibleSettings { items: Some(10), strata: Some(true), ..Default::default() };
    /// let (mut here, mut there) = (Invertible::with(settings.clone())?, Invertible::with(settings)?);
    /// (0..1_000u64).for_each(|key| _ = here.insert(&key));
    /// (500..1_500u64).for_each(|key| _ = there.insert(&key));
    /// let distance = here.distance(&there)?.keys;
    /// assert!((600.0..1_600.0).contains(&distance), "{distance}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn distance(&self, other: &Self) -> Result<Estimate> {
        let (mine, theirs) = (&self.mechanism, &other.mechanism);
        same("hashing", &self.hashing, &other.hashing)?;
        same("key-bytes", mine.table.sums.key_bytes, theirs.table.sums.key_bytes)?;
        same("hash-bits", mine.table.sums.hash_bits, theirs.table.sums.hash_bits)?;
        match (&mine.strata, &theirs.strata) {
            (Some(mine), Some(theirs)) => mine.distance(theirs),
            _ => Err(Error::parameter(STRATA.name, "yes in both filters, for an estimate", "no")),
        }
    }

    /// The `items` to build filters with that list the difference of these two: 1.4 times the [estimate](Self::distance), which is too few
    /// in one of a hundred cases.
    ///
    /// ```
    /// use bouquet::{Invertible, InvertibleSettings};
    /// let settings = InvertibleSettings { items: Some(1), strata: Some(true), ..Default::default() };
    /// let (mut here, there) = (Invertible::with(settings.clone())?, Invertible::with(settings)?);
    /// (0..10u64).for_each(|key| _ = here.insert(&key));
    /// assert_eq!(here.items_for(&there)?, 14);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn items_for(&self, other: &Self) -> Result<u64> {
        /// The estimate is below 1/1.4 of the truth in one of a hundred cases.
        const MARGIN: f64 = 1.4;
        Ok(((self.distance(other)?.keys * MARGIN - 1e-9).ceil() as u64).max(1))
    }
}

#[cfg(test)]
mod tests;
