#![doc = include_str!("invertible_counting.md")]

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use crate::capability::{Count, Entry, Insert, Item, Listing, Merge, Multiplicity, NoteType, Remove};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, kind,
};
use crate::parts::peel::peel_cells;
use crate::theory::{partitioned, peeling};

mod table;
use table::{CELL_BITS, Element, Found, IdTable, MAX_HASHES, Mode, full, table_bits};

/// The registry's row.
pub const KIND: Kind = kind!(InvertibleCounting);

const ITEMS: Parameter = Parameter {
    name: "items",
    help: "distinct elements in which two multisets may differ, or that are to be listed",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

const CELLS: Parameter = Parameter {
    name: "cells",
    help: "cells, rounded up to a multiple of the hashes, instead of the elements",
    of: ParameterType::Count { min: 1, max: 1 << 48, default: None },
};

const HASHES: Parameter = Parameter {
    name: "hashes",
    help: "cells per element",
    of: ParameterType::Count { min: 3, max: MAX_HASHES as u64, default: Some(4) },
};

const MODE: Parameter = Parameter {
    name: "mode",
    help: "sum: ids as often as they come, exact; xor: once, as published, with errors",
    of: ParameterType::Choice { options: &Mode::NAMES },
};

/// An element that one multiset has more of than the other.
///
/// ```
/// use bouquet::counting::invertible_counting::InvertibleCounting;
/// let (mut here, mut there) = (InvertibleCounting::with_capacity(10)?, InvertibleCounting::with_capacity(10)?);
/// here.insert_times("rose", 3)?;
/// there.insert("rose")?;
/// let gap = &here.difference(&there)?.gaps[0];
/// assert_eq!((gap.key.as_deref(), gap.count), (Some(b"rose".as_slice()), 2));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its id, by which the other host can be asked for it.
    pub id: u64,
    /// Its name, if it is known here.
    pub key: Option<Vec<u8>>,
    /// How many more this side has; negative if the other has more.
    pub count: i64,
}

/// What was decoded of a table, or of the difference of two.
///
/// ```
/// use bouquet::counting::invertible_counting::InvertibleCounting;
/// let mut table = InvertibleCounting::with_size(4, 4)?; // every element is in all four cells
/// table.insert("rose")?;
/// assert!(table.gaps().is_complete());
/// table.insert("lily")?;
/// assert_eq!((table.gaps().gaps.len(), table.gaps().undecoded), (0, 4));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// The elements, by their ids.
    pub gaps: Vec<Gap>,
    /// Cells that still hold something; zero means that nothing is missing.
    pub undecoded: u64,
}

impl Gaps {
    /// Whether everything was decoded.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// (0..1_000u64).try_for_each(|key| table.insert(&key).map(drop))?;
    /// assert!(!table.gaps().is_complete(), "far more than ten");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.undecoded == 0
    }
}

/// A table of a multiset, to be compared with another.
///
/// ```
/// use bouquet::counting::invertible_counting::InvertibleCounting;
/// let (mut here, mut there) = (InvertibleCounting::with_capacity(10)?, InvertibleCounting::with_capacity(10)?);
/// for key in 0..1_000u64 {
///     here.insert(&key)?;
///     there.insert(&key)?;
/// }
/// there.insert_times("iris", 5)?;
/// // What is sent is the table alone: names stay where they are.
/// let received = InvertibleCounting::from_bytes(&there.to_bytes())?;
/// let found = here.difference(&received)?;
/// assert!(found.is_complete() && found.gaps.len() == 1);
/// assert_eq!((found.gaps[0].count, &found.gaps[0].key), (-5, &None));
/// assert_eq!(there.key_of(found.gaps[0].id), Some(b"iris".as_slice()), "asked for by its id");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct InvertibleCounting {
    table: IdTable,
    /// The names of ids, and how often they are in as far as this table knows.
    names: HashMap<u64, Name>,
    /// Whether `names` has every element: no frame, and no difference, was taken in.
    all_named: bool,
    planned: Option<u64>,
}

#[derive(Clone, Debug)]
struct Name {
    key: Vec<u8>,
    times: i64,
}

/// Tables are equal if what they send is; names are a matter of each host.
impl PartialEq for InvertibleCounting {
    fn eq(&self, other: &Self) -> bool {
        self.table == other.table && self.planned == other.planned
    }
}

/// Cells per slice, slices and mode that the settings describe.
fn shape(config: &Config) -> Result<(u64, u32, Mode)> {
    let hashes = config.need("hashes")? as u32;
    let cells = match (config.count("cells"), config.count("items")) {
        (Some(cells), _) => cells,
        (None, Some(items)) => peeling::gap_cells(items)?,
        (None, None) => return Err(Error::parameter("items", ITEMS.range(), "missing (or give `cells`)")),
    };
    let mode = if config.choice("mode") == Mode::Xor.name() { Mode::Xor } else { Mode::Sum };
    let slice_len = cells.div_ceil(hashes.into());
    table_bits(slice_len, hashes)?;
    Ok((slice_len, hashes, mode))
}

/// A secret gives unrelated digests for tables of another shape.
fn bind(slice_len: u64, hashes: u32, hashing: &Hashing) -> Hashing {
    hashing.clone().bind(&format!("{} {} {hashes}", InvertibleCounting::FACTS.id, slice_len * u64::from(hashes)))
}

impl InvertibleCounting {
    /// A table that finds up to `items` differing elements, in 99 of 100 cases or more.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// assert_eq!(InvertibleCounting::with_capacity(1_000)?.cells(), 1_500);
    /// assert!(InvertibleCounting::with_capacity(0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_capacity(items: u64) -> Result<Self> {
        Self::from_config(&Config::new(KIND.facts()).with("items", Setting::Count(items))?)
    }

    /// A table of `cells` cells, rounded up to a multiple of `hashes`, with `hashes` cells per element.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// assert_eq!(InvertibleCounting::with_size(1_000, 3)?.cells(), 1_002);
    /// assert!(InvertibleCounting::with_size(1_000, 2).is_err(), "two cells per element do not peel");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(cells: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("cells", Setting::Count(cells))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// An empty table of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{counting::invertible_counting::{InvertibleCounting, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "50")?.set("mode", "xor")?;
    /// let mut table = InvertibleCounting::from_config(&config)?;
    /// table.insert_times("rose", 2)?;
    /// assert_eq!(table.gaps().gaps[0].count, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let (slice_len, hashes, mode) = shape(config)?;
        let table = IdTable::zeroed(slice_len, hashes, mode, bind(slice_len, hashes, config.hashing()))?;
        Ok(InvertibleCounting { table, names: HashMap::new(), all_named: true, planned: config.count("items") })
    }

    /// The number of cells.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// assert_eq!(InvertibleCounting::with_capacity(100)?.cells(), 200);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.table.cells()
    }

    /// Cells per element.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// assert_eq!(InvertibleCounting::with_capacity(100)?.hashes(), 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.table.hashes
    }

    /// Inserts a key once more and says whether it was certainly new.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// assert!(table.insert("rose")? && !table.insert("rose")?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.insert_times(key, 1)
    }

    /// Inserts a key `times` times and says whether it was certainly new. [`Error::Full`] if a count would leave its
    /// 32 bits; [`Error::Ambiguous`] if another key has its id, or if the mode is `xor` and the table, which came
    /// from a frame, does not tell whether the key is in. Nothing has changed then.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.insert_times("rose", 1_000_000)?;
    /// assert_eq!(table.count("rose").count, 1_000_000);
    /// assert!(table.insert_times("rose", u32::MAX).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u32) -> Result<bool> {
        key.with_bytes(|key| {
            let element = self.table.element(key);
            let fresh = self.table.look_up(&element) == Found::Absent;
            self.change(key, &element, times.into())?;
            Ok(fresh)
        })
    }

    /// Removes one occurrence of a key, or says [`Error::NotPresent`] and changes nothing when it is certainly absent.
    ///
    /// **Remove only what was inserted.** An absent key that cannot be told from a present one is then in minus one
    /// times, and counts of keys that share its cells may be too small.
    ///
    /// ```
    /// use bouquet::{Error, counting::invertible_counting::InvertibleCounting};
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.insert("rose")?;
    /// table.remove("rose")?;
    /// assert!(matches!(table.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        key.with_bytes(|key| {
            let element = self.table.element(key);
            match self.table.look_up(&element) {
                Found::Absent | Found::Alone(..=0) => Err(Error::NotPresent),
                Found::Alone(_) | Found::Mixed(_) => self.change(key, &element, -1),
            }
        })
    }

    /// Removes a key without looking whether it is in, as when its insertion is still to come. Until then it is
    /// decoded with a negative count.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.remove_ahead("rose")?;
    /// assert_eq!(table.gaps().gaps[0].count, -1);
    /// table.insert("rose")?;
    /// assert!(table.gaps().gaps.is_empty());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_ahead<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        key.with_bytes(|key| {
            let element = self.table.element(key);
            self.change(key, &element, -1)
        })
    }

    /// Adds `count` of an element, if its id is not another's and the counts fit.
    fn change(&mut self, key: &[u8], element: &Element, count: i64) -> Result<()> {
        let known = self.names.get(&element.id);
        if known.is_some_and(|name| name.key != key) {
            return Err(Error::Ambiguous { what: "another key has the same id; take another seed".into() });
        }
        let toggles = self.table.mode == Mode::Xor && self.comes_or_goes(element, count)?;
        if !self.table.has_room(element, count) {
            return Err(full());
        }
        self.table.add(element, count, toggles);
        self.rename(element.id, key, count);
        Ok(())
    }

    /// Whether the element is in before `count` more of it and not after, or the other way round.
    fn comes_or_goes(&self, element: &Element, count: i64) -> Result<bool> {
        let before = if self.all_named {
            self.names.get(&element.id).map_or(0, |name| name.times)
        } else {
            match self.table.look_up(element) {
                Found::Absent => 0,
                Found::Alone(times) => times,
                Found::Mixed(_) => {
                    let what =
                        "whether the key is in cannot be read; with mode xor, change a table where it was filled";
                    return Err(Error::Ambiguous { what: what.into() });
                }
            }
        };
        Ok((before == 0) != (before.saturating_add(count) == 0))
    }

    /// Adds to how often a name is in; names that are not in are forgotten.
    fn rename(&mut self, id: u64, key: &[u8], count: i64) {
        if count == 0 {
            return;
        }
        let name = self.names.entry(id).or_insert_with(|| Name { key: key.to_vec(), times: 0 });
        name.times = name.times.saturating_add(count);
        if name.times == 0 {
            self.names.remove(&id);
        }
    }

    /// How often the key is in. Exact where a cell holds the key alone; elsewhere the smallest count among its cells,
    /// which is never too small while nothing was removed ahead.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.insert_times("rose", 7)?;
    /// assert_eq!((table.count("rose").count, table.count("thistle").count), (7, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let count = match key.with_bytes(|key| self.table.look_up(&self.table.element(key))) {
            Found::Absent => 0,
            Found::Alone(count) => count.max(0),
            // Too small only if something was removed ahead; the key may still be in.
            Found::Mixed(least) => least.max(1),
        };
        Multiplicity { count: count.unsigned_abs(), at_least: false }
    }

    /// The name of an id, if it is known here: the answer to another host's question.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.insert("rose")?;
    /// let id = table.gaps().gaps[0].id;
    /// assert_eq!((table.key_of(id), table.key_of(id + 1)), (Some(b"rose".as_slice()), None));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn key_of(&self, id: u64) -> Option<&[u8]> {
        self.names.get(&id).map(|name| name.key.as_slice())
    }

    /// Takes in everything that `other` holds. In the mode `xor` an element that both hold must be known on both
    /// sides, or ids would cancel: [`Error::Ambiguous`] if one came from a frame.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let (mut here, mut there) = (InvertibleCounting::with_capacity(10)?, InvertibleCounting::with_capacity(10)?);
    /// here.insert("rose")?;
    /// there.insert("rose")?;
    /// here.merge(&there)?;
    /// assert_eq!(here.count("rose").count, 2);
    /// assert!(here.merge(&InvertibleCounting::with_capacity(100)?).is_err(), "tables of one size only");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let empty = self.table.is_zero() || other.table.is_zero();
        let mut merged = self.table.clone();
        merged.combine(&other.table, 1)?;
        if merged.mode == Mode::Xor && !empty {
            if !(self.all_named && other.all_named) {
                let what = "which elements both tables hold; with mode xor, merge them where they were filled";
                return Err(Error::Ambiguous { what: what.into() });
            }
            for (id, theirs) in &other.names {
                // The two ids have cancelled; one is to stay, unless nothing stays.
                if let Some(mine) = self.names.get(id)
                    && mine.times.saturating_add(theirs.times) != 0
                {
                    merged.add(&merged.element(&mine.key), 0, true);
                }
            }
        }
        self.table = merged;
        self.all_named &= other.all_named;
        for (&id, name) in &other.names {
            self.rename(id, &name.key, name.times);
        }
        Ok(())
    }

    /// Takes away everything that `other` holds. What both have cancels without having been known;
    /// [`gaps`](Self::gaps) tells the rest. The names stay those of this side.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let (mut here, mut there) = (InvertibleCounting::with_capacity(10)?, InvertibleCounting::with_capacity(10)?);
    /// here.insert("rose")?;
    /// there.insert_times("rose", 3)?;
    /// here.subtract(&there)?;
    /// assert_eq!(here.gaps().gaps[0].count, -2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn subtract(&mut self, other: &Self) -> Result<()> {
        self.table.combine(&other.table, -1)?;
        self.all_named = false;
        Ok(())
    }

    /// In which elements, and by how many, this multiset exceeds `other` or falls behind it.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let (mut here, there) = (InvertibleCounting::with_capacity(10)?, InvertibleCounting::with_capacity(10)?);
    /// here.insert("rose")?;
    /// assert_eq!(here.difference(&there)?.gaps[0].count, 1);
    /// assert_eq!(there.difference(&here)?.gaps[0].count, -1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn difference(&self, other: &Self) -> Result<Gaps> {
        let mut difference = self.clone();
        difference.subtract(other)?;
        Ok(difference.gaps())
    }

    /// Decodes what the table holds: all elements of a multiset that is small enough, or the gaps of a difference. It
    /// stays as it is.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(2)?;
    /// table.insert("rose")?;
    /// table.insert_times("lily", 2)?;
    /// let mut counts: Vec<_> = table.gaps().gaps.into_iter().map(|gap| gap.count).collect();
    /// counts.sort();
    /// assert_eq!(counts, [1, 2]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn gaps(&self) -> Gaps {
        let (found, rest) = self.decoded();
        let name = |id: u64| self.key_of(id).map(<[u8]>::to_vec);
        let gaps = found.into_iter().map(|(id, (_, count))| Gap { id, key: name(id), count }).collect();
        Gaps { gaps, undecoded: rest.used() }
    }

    /// What could be decoded, by id, and the table without it.
    fn decoded(&self) -> (BTreeMap<u64, (Element, i64)>, IdTable) {
        let mut rest = self.table.clone();
        let mut found: BTreeMap<u64, (Element, i64)> = BTreeMap::new();
        // At most twice as many elements as cells: a table that was not filled by its own operations need not end
        // otherwise.
        let most = (rest.cells() as usize).saturating_mul(2);
        let _ = peel_cells(&mut rest, most, |sole, _| {
            found.entry(sole.element.id).or_insert((sole.element, 0)).1 += sole.count;
            ControlFlow::Continue(())
        });
        if rest.mode == Mode::Xor {
            self.bare_counts(&mut rest, &mut found);
        }
        // A mistaken pure cell can leave what cancels.
        found.retain(|_, (_, count)| *count != 0);
        (found, rest)
    }

    /// Under xor, an element that both sides have in different numbers leaves a count without an id: every element
    /// that is known here is tried, again as long as one is found.
    fn bare_counts(&self, rest: &mut IdTable, found: &mut BTreeMap<u64, (Element, i64)>) {
        let mut untried: Vec<&[u8]> = self.names.values().map(|name| name.key.as_slice()).collect();
        untried.sort_unstable();
        loop {
            let before = untried.len();
            untried.retain(|key| {
                let element = rest.element(key);
                let Some(count) = rest.bare_count(&element) else { return true };
                rest.add(&element, -count, false);
                found.entry(element.id).or_insert((element, 0)).1 += count;
                false
            });
            if untried.len() == before {
                break;
            }
        }
    }

    /// The elements whose names are known here, which are those of this process: a frame has none, so that this is no verb of
    /// the kind. Cells of elements without a name count as undecoded.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.insert("rose")?;
    /// assert_eq!((table.list().entries[0].key.as_slice(), table.list().undecoded), (b"rose".as_slice(), 0));
    /// let received = InvertibleCounting::from_bytes(&table.to_bytes())?;
    /// assert_eq!((received.list().entries.len(), received.list().undecoded), (0, 4), "ids, but no names");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn list(&self) -> Listing {
        let (found, mut rest) = self.decoded();
        let mut entries = Vec::new();
        for (id, (element, count)) in found {
            match self.key_of(id) {
                Some(key) => entries.push(Entry { key: key.to_vec(), value: None, count }),
                None => rest.add(&element, count, true),
            }
        }
        Listing { entries, undecoded: rest.used() }
    }

    /// The frame: the cells alone, without names.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.insert("rose")?;
    /// assert!(!table.to_bytes().windows(4).any(|bytes| bytes == b"rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::invertible_counting::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.insert("rose")?;
    /// assert_eq!(InvertibleCounting::from_bytes(&table.to_bytes())?, table);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

impl Structure for InvertibleCounting {
    const FACTS: Facts = Facts {
        id: "invertible-counting",
        number: 64,
        aliases: &["ICBF", "multiset reconciliation"],
        family: "counting",
        text: Text::new(include_str!("invertible_counting.md")),
        errors: &[ErrorClass::OverCount, ErrorClass::Unknown],
        note: NoteType::None,
        parameters: &[ITEMS, CELLS, HASHES, MODE],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let (slice_len, hashes, _) = shape(config)?;
        Ok(Plan { bits: table_bits(slice_len, hashes)?, hashes, items: config.count("items"), fpr: None })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let config = Config::new(KIND.facts())
            .put("cells", Setting::Count(self.cells()))
            .put("hashes", Setting::Count(self.hashes().into()))
            .put("mode", Setting::Choice(self.table.mode.name()))
            .hashed(self.table.hashing.clone());
        match self.planned {
            Some(items) => config.put("items", Setting::Count(items)),
            None => config,
        }
    }

    fn hashing(&self) -> &Hashing {
        &self.table.hashing
    }

    fn stats(&self) -> Stats {
        Stats {
            items: self.table.items(),
            bits: self.cells() * u64::from(CELL_BITS),
            hashes: self.hashes(),
            fill: Some(self.table.used() as f64 / self.cells() as f64),
            fpr: None,
            // What was removed ahead fills cells and lowers the number of items.
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let over_count = partitioned::rate(self.cells(), items.saturating_sub(1), self.hashes());
        Rates { over_count: Some(over_count), ..Rates::default() }
    }

    /// Store: the cells. Names are not part of it.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.words(self.table.words());
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let (slice_len, hashes, mode) = shape(decoder.config())?;
        let words = decoder.words(table_bits(slice_len, hashes)?.div_ceil(64))?;
        let hashing = bind(slice_len, hashes, decoder.config().hashing());
        let table = IdTable::from_words(slice_len, hashes, mode, hashing, words, decoder.reads_stores())
            .ok_or_else(|| Error::corrupt("cells", "ids below 2^61 - 1 and zeros behind the last cell", "others"))?;
        let all_named = table.is_zero();
        Ok(InvertibleCounting { table, names: HashMap::new(), all_named, planned: decoder.config().count("items") })
    }
}

impl Insert for InvertibleCounting {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        InvertibleCounting::insert(self, item.bare()?)
    }
}

impl Remove for InvertibleCounting {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        InvertibleCounting::remove(self, item.bare()?)
    }
}

impl Count for InvertibleCounting {
    fn count(&self, key: &[u8]) -> Multiplicity {
        InvertibleCounting::count(self, key)
    }
}

impl Merge for InvertibleCounting {
    fn merge(&mut self, other: &Self) -> Result<()> {
        InvertibleCounting::merge(self, other)
    }
}

#[cfg(test)]
mod tests;
