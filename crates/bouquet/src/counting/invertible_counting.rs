#![doc = include_str!("invertible_counting.md")]

use std::collections::{BTreeMap, HashMap};

use crate::capability::{Entry, Listing, Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder, Grain};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Reply, Special, Stats, Takes, Text, kind};
use crate::parts::summed_cells::{MAX_HASHES, Placed, Slices, SummedCells, full};
use crate::shell::{
    Amount, Choice, Deduct, Fields, Filter, Hashed, Mechanism, Put, Settings, Take, Tally, Unite, fields, hashed,
};
use crate::theory::{partitioned, peeling};

mod gaps;
mod ids;
pub use gaps::{Gap, Gaps};
pub use ids::Mode;
use ids::{Element, Found, Ids};

/// The registry's row.
pub const KIND: Kind = kind!(InvertibleCounting);

/// A table of a multiset, to be compared with another.
///
/// ```
/// use bouquet::{InvertibleCounting, shell::Amount};
/// let (mut here, mut there) = (InvertibleCounting::with_capacity(10)?, InvertibleCounting::with_capacity(10)?);
/// for key in 0..1_000u64 {
///     here.insert(&key)?;
///     there.insert(&key)?;
/// }
/// there.insert_with("iris", Amount(5))?;
/// // What is sent is the table alone: names stay where they are.
/// let received = InvertibleCounting::from_bytes(&there.to_bytes())?;
/// let found = here.difference(&received)?;
/// assert!(found.is_complete() && found.gaps.len() == 1);
/// assert_eq!((found.gaps[0].count, &found.gaps[0].key), (-5, &None));
/// assert_eq!(there.key_of(found.gaps[0].id), Some(b"iris".as_slice()), "asked for by its id");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type InvertibleCounting = Filter<Elements>;

const ITEMS: Parameter = Parameter::count(
    "items",
    "distinct elements in which two multisets may differ, or that are to be listed",
    1,
    1 << 56,
);
const CELLS: Parameter =
    Parameter::count("cells", "cells, rounded up to a multiple of the hashes, instead of the elements", 1, 1 << 48);
const HASHES: Parameter = Parameter::count("hashes", "cells per element", 3, MAX_HASHES as u64).or(4);
const MODE: Parameter = Parameter::choice(
    "mode",
    "sum: ids as often as they come, exact; xor: once, as published, with errors",
    Mode::WORDS,
);

/// The settings of a table.
///
/// ```
/// use bouquet::{InvertibleCounting, InvertibleCountingSettings, counting::invertible_counting::Mode};
/// let settings = InvertibleCountingSettings { items: Some(50), mode: Some(Mode::Xor), ..Default::default() };
/// let mut table = InvertibleCounting::with(settings)?;
/// table.insert("rose")?;
/// table.insert("rose")?;
/// assert_eq!(table.gaps().gaps[0].count, 2);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InvertibleCountingSettings {
    /// Distinct elements in which two multisets may differ.
    pub items: Option<u64>,
    /// The number of cells.
    pub cells: Option<u64>,
    /// Cells per element.
    pub hashes: Option<u32>,
    /// How ids are accumulated.
    pub mode: Option<Mode>,
}

impl Settings for InvertibleCountingSettings {
    const FIELDS: Fields<Self> = fields![items: ITEMS, cells: CELLS, hashes: HASHES, mode: MODE];
}

/// Cells of ids, and the names of those that came here.
#[derive(Clone, Debug)]
pub struct Elements {
    table: SummedCells<Ids>,
    /// The names of ids, and how often they are in as far as this table knows.
    names: HashMap<u64, Name>,
    /// Whether `names` has every element: no frame, and no difference, was taken in.
    all_named: bool,
}

#[derive(Clone, Debug)]
struct Name {
    key: Vec<u8>,
    times: i64,
}

/// Tables are equal if what they send is; names are a matter of each host.
impl PartialEq for Elements {
    fn eq(&self, other: &Self) -> bool {
        self.table == other.table
    }
}

/// The slices and sums that the settings describe.
fn shape(settings: &InvertibleCountingSettings) -> Result<(Slices, Ids)> {
    let cells = match (settings.cells, settings.items) {
        (Some(cells), _) => cells,
        (None, Some(items)) => peeling::gap_cells(items)?,
        (None, None) => return Err(ITEMS.missing("cells")),
    };
    let (slices, ids) = (Slices::of(cells, HASHES.need(settings.hashes)?), Ids { mode: MODE.need(settings.mode)? });
    slices.bits(&ids)?;
    Ok((slices, ids))
}

impl Mechanism for Elements {
    const FACTS: Facts = Facts {
        id: "invertible-counting",
        number: 64,
        aliases: &["ICBF", "multiset reconciliation"],
        family: "counting",
        text: Text::new(include_str!("invertible_counting.md")),
        errors: &[ErrorClass::OverCount, ErrorClass::Unknown],
        note: NoteType::Amount,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;
    const OWN_ITEMS: bool = true;

    const SPECIALS: &'static [Special<InvertibleCounting>] = &[
        Special::ask("gaps", Takes::Nothing, "the elements that can be decoded, by their ids", |table, _| {
            Ok(table.gaps().reply())
        }),
        Special::ask(
            "difference",
            Takes::Filter,
            "in which elements, by their ids, and by how many this multiset exceeds another or falls behind it",
            |table, other| Ok(table.difference(other.filter()?)?.reply()),
        ),
        Special::ask("id", Takes::Key, "the id of a key, by which gaps name it", |table, key| {
            Ok(table.id_of(key.key()?).into())
        }),
        Special::act(
            "remove-ahead",
            Takes::Item,
            "removes keys without looking whether they are in: their insertion may still be to come",
            |table, argument| {
                let item = argument.item()?;
                table.remove_ahead(item.key, item.amount()?)?;
                Ok(Reply::Done)
            },
        ),
    ];

    type Settings = InvertibleCountingSettings;

    fn resolve(asked: &InvertibleCountingSettings) -> Result<InvertibleCountingSettings> {
        let (slices, Ids { mode }) = shape(asked)?;
        Ok(InvertibleCountingSettings {
            items: asked.items,
            cells: Some(slices.cells()),
            hashes: Some(slices.hashes),
            mode: Some(mode),
        })
    }

    fn plan(settings: &InvertibleCountingSettings) -> Result<Plan> {
        let (slices, ids) = shape(settings)?;
        Ok(Plan { bits: slices.bits(&ids)?, hashes: slices.hashes, items: settings.items, fpr: None })
    }

    fn empty(settings: &InvertibleCountingSettings, hashing: &Hashing) -> Result<Self> {
        let (slices, ids) = shape(settings)?;
        let table = SummedCells::zeroed(ids, slices, Self::hashing(settings, hashing))?;
        Ok(Elements { table, names: HashMap::new(), all_named: true })
    }

    fn domain(settings: &InvertibleCountingSettings) -> String {
        format!("invertible-counting {} {}", settings.cells.unwrap_or(0), settings.hashes.unwrap_or(0))
    }

    fn items(&self, _: u64) -> u64 {
        self.table.items()
    }

    fn stats(&self, items: u64) -> Stats {
        Stats {
            items,
            bits: self.table.bits(),
            hashes: self.table.slices.hashes,
            fill: Some(self.table.used() as f64 / self.table.slices.cells() as f64),
            fpr: None,
            // What was removed ahead fills cells and lowers the number of items.
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let Slices { hashes, .. } = self.table.slices;
        let over_count = partitioned::rate(self.table.slices.cells(), items.saturating_sub(1), hashes);
        Rates { over_count: Some(over_count), ..Rates::default() }
    }

    /// Store: the cells. Names are not part of it.
    fn grains(&self) -> Vec<Option<Grain>> {
        vec![Some(self.table.grain())]
    }

    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.words(self.table.words());
    }

    fn decode(settings: &InvertibleCountingSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (slices, ids) = shape(settings)?;
        let words = decoder.words(slices.bits(&ids)?.div_ceil(64))?;
        let hashing = Self::hashing(settings, decoder.config().hashing());
        let table = SummedCells::from_words(ids, slices, hashing, words);
        // Where the words are not read, the arithmetic reduces what is too large.
        let table = table.filter(|table| !decoder.reads_stores() || table.is_in_field());
        let table = table
            .ok_or_else(|| Error::corrupt("cells", "ids below 2^61 - 1 and zeros behind the last cell", "others"))?;
        Ok((Elements { all_named: table.is_empty(), table, names: HashMap::new() }, 0))
    }
}

impl Put for Elements {
    type Note<'a> = Amount;
    type Outcome = Result<bool>;

    /// [`Error::Full`] if a count would leave its 32 bits; [`Error::Ambiguous`] if another key has its id, or if the mode is
    /// `xor` and the table, which came from a frame, does not tell whether the key is in. Nothing has changed then.
    fn put(&mut self, key: Hashed<'_>, Amount(times): Amount) -> Result<bool> {
        let element = self.table.element(key.digest);
        let fresh = self.table.look_up(&element) == Found::Absent;
        self.change(key.bytes, &element, i64::try_from(times).map_err(|_| full::<Ids>())?)?;
        Ok(fresh)
    }
}

impl Take for Elements {
    type Note<'a> = Amount;

    /// [`Error::NotPresent`] also when the key is certainly not in so often. An absent key that cannot be told from a present
    /// one is then in fewer than zero times, and counts of keys that share its cells may be too small.
    fn take(&mut self, key: Hashed<'_>, Amount(times): Amount) -> Result<()> {
        let (element, times) = (self.table.element(key.digest), i64::try_from(times).map_err(|_| Error::NotPresent)?);
        match self.table.look_up(&element) {
            Found::Absent => Err(Error::NotPresent),
            Found::Alone(held) if held < times => Err(Error::NotPresent),
            Found::Alone(_) | Found::Mixed(_) => self.change(key.bytes, &element, -times),
        }
    }
}

impl Tally for Elements {
    /// Exact where a cell holds the key alone; elsewhere the smallest count among its cells, which is never too small while
    /// nothing was removed ahead.
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        let count = match self.table.look_up(&self.table.element(key.digest)) {
            Found::Absent => 0,
            Found::Alone(count) => count.max(0),
            // Too small only if something was removed ahead; the key may still be in.
            Found::Mixed(least) => least.max(1),
        };
        Multiplicity { count: count.unsigned_abs(), at_least: false }
    }
}

impl Unite for Elements {
    /// In the mode `xor` an element that both hold must be known on both sides, or ids would cancel: [`Error::Ambiguous`] if
    /// one came from a frame.
    fn unite(&mut self, other: &Self) -> Result<()> {
        let empty = self.table.is_empty() || other.table.is_empty();
        let mut merged = self.table.clone();
        merged.combine(&other.table, 1)?;
        if merged.sums.mode == Mode::Xor && !empty {
            if !(self.all_named && other.all_named) {
                let what = "which elements both tables hold; with mode xor, merge them where they were filled";
                return Err(Error::Ambiguous { what: what.into() });
            }
            for (id, theirs) in &other.names {
                // The two ids have cancelled; one is to stay, unless nothing stays.
                if let Some(mine) = self.names.get(id)
                    && mine.times.saturating_add(theirs.times) != 0
                {
                    merged.change(&merged.element(merged.hashing().digest(&mine.key)), 0, true);
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
}

impl Deduct for Elements {
    /// What both have cancels without having been known; [`gaps`](InvertibleCounting::gaps) tells the rest. The names stay
    /// those of this side.
    fn deduct(&mut self, other: &Self) -> Result<()> {
        self.table.combine(&other.table, -1)?;
        self.all_named = false;
        Ok(())
    }
}

/// Elements by id, with their cells and by how much one side is ahead.
type Decoded = BTreeMap<u64, (Placed<Element>, i64)>;

impl Elements {
    fn key_of(&self, id: u64) -> Option<&[u8]> {
        self.names.get(&id).map(|name| name.key.as_slice())
    }

    /// Adds `count` of an element, if its id is not another's and the counts fit.
    fn change(&mut self, key: &[u8], element: &Placed<Element>, count: i64) -> Result<()> {
        let known = self.names.get(&element.entry.id);
        if known.is_some_and(|name| name.key != key) {
            return Err(Error::Ambiguous {
                what: "another key has the same id; build the filter with another seed".into(),
            });
        }
        let toggles = self.table.sums.mode == Mode::Xor && self.comes_or_goes(element, count)?;
        if !self.table.has_room(element, count) {
            return Err(full::<Ids>());
        }
        self.table.change(element, count, toggles);
        self.rename(element.entry.id, key, count);
        Ok(())
    }

    /// Whether the element is in before `count` more of it and not after, or the other way round.
    fn comes_or_goes(&self, element: &Placed<Element>, count: i64) -> Result<bool> {
        let before = if self.all_named {
            self.names.get(&element.entry.id).map_or(0, |name| name.times)
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

    /// What could be decoded, by id, and the table without it.
    fn decoded(&self) -> (Decoded, SummedCells<Ids>) {
        let mut rest = self.table.clone();
        let mut found = Decoded::new();
        rest.drain(|sole| found.entry(sole.placed.entry.id).or_insert((sole.placed, 0)).1 += sole.count);
        if rest.sums.mode == Mode::Xor {
            self.bare_counts(&mut rest, &mut found);
        }
        // A mistaken pure cell can leave what cancels.
        found.retain(|_, (_, count)| *count != 0);
        (found, rest)
    }

    /// Under xor, an element that both sides have in different numbers leaves a count without an id: every element
    /// that is known here is tried, again as long as one is found.
    fn bare_counts(&self, rest: &mut SummedCells<Ids>, found: &mut Decoded) {
        let mut untried: Vec<&[u8]> = self.names.values().map(|name| name.key.as_slice()).collect();
        untried.sort_unstable();
        loop {
            let before = untried.len();
            untried.retain(|key| {
                let element = rest.element(rest.hashing().digest(key));
                let Some(count) = rest.bare_count(&element) else { return true };
                rest.change(&element, -count, false);
                found.entry(element.entry.id).or_insert((element, 0)).1 += count;
                false
            });
            if untried.len() == before {
                break;
            }
        }
    }
}

impl InvertibleCounting {
    /// A table that finds up to `items` differing elements, in 99 of 100 cases or more.
    ///
    /// ```
    /// use bouquet::InvertibleCounting;
    /// assert_eq!(InvertibleCounting::with_capacity(1_000)?.settings().cells, Some(1_500));
    /// assert!(InvertibleCounting::with_capacity(0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_capacity(items: u64) -> Result<Self> {
        Self::with(InvertibleCountingSettings { items: Some(items), ..Default::default() })
    }

    /// A table of `cells` cells, rounded up to a multiple of `hashes`, with `hashes` cells per element.
    ///
    /// ```
    /// use bouquet::InvertibleCounting;
    /// assert_eq!(InvertibleCounting::with_size(1_000, 3)?.settings().cells, Some(1_002));
    /// assert!(InvertibleCounting::with_size(1_000, 2).is_err(), "two cells per element do not peel");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(cells: u64, hashes: u32) -> Result<Self> {
        Self::with(InvertibleCountingSettings { cells: Some(cells), hashes: Some(hashes), ..Default::default() })
    }

    /// Removes a key `times` times without looking whether it is in, as when its insertion is still to come. Until then it
    /// is decoded with a negative count.
    ///
    /// ```
    /// use bouquet::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.remove_ahead("rose", 1)?;
    /// assert_eq!(table.gaps().gaps[0].count, -1);
    /// table.insert("rose")?;
    /// assert!(table.gaps().gaps.is_empty());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_ahead<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<()> {
        let Filter { mechanism, hashing, .. } = self;
        let times = i64::try_from(times).map_err(|_| full::<Ids>())?;
        hashed::<Elements, K, _>(hashing, key, |key| {
            let element = mechanism.table.element(key.digest);
            mechanism.change(key.bytes, &element, -times)
        })
    }

    /// The id of a key, by which [gaps](Self::gaps) name it on every host.
    ///
    /// ```
    /// use bouquet::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.insert("rose")?;
    /// assert_eq!(table.gaps().gaps[0].id, table.id_of("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn id_of<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.mechanism.table.element(key.digest(&self.hashing)).entry.id
    }

    /// The name of an id, if it is known here: the answer to another host's question.
    ///
    /// ```
    /// use bouquet::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.insert("rose")?;
    /// let id = table.gaps().gaps[0].id;
    /// assert_eq!((table.key_of(id), table.key_of(id + 1)), (Some(b"rose".as_slice()), None));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn key_of(&self, id: u64) -> Option<&[u8]> {
        self.mechanism.key_of(id)
    }

    /// In which elements, and by how many, this multiset exceeds `other` or falls behind it.
    ///
    /// ```
    /// use bouquet::InvertibleCounting;
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
    /// use bouquet::{InvertibleCounting, shell::Amount};
    /// let mut table = InvertibleCounting::with_capacity(2)?;
    /// table.insert("rose")?;
    /// table.insert_with("lily", Amount(2))?;
    /// let mut counts: Vec<_> = table.gaps().gaps.into_iter().map(|gap| gap.count).collect();
    /// counts.sort();
    /// assert_eq!(counts, [1, 2]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn gaps(&self) -> Gaps {
        let (found, rest) = self.mechanism.decoded();
        let name = |id: u64| self.key_of(id).map(<[u8]>::to_vec);
        let gaps = found.into_iter().map(|(id, (_, count))| Gap { id, key: name(id), count }).collect();
        Gaps { gaps, undecoded: rest.used() }
    }

    /// The elements whose names are known here, which are those of this process: a frame has none, so that listing is no verb of
    /// the kind. Cells of elements without a name count as undecoded.
    ///
    /// ```
    /// use bouquet::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// table.insert("rose")?;
    /// assert_eq!((table.named().entries[0].key.as_slice(), table.named().undecoded), (b"rose".as_slice(), 0));
    /// let received = InvertibleCounting::from_bytes(&table.to_bytes())?;
    /// assert_eq!((received.named().entries.len(), received.named().undecoded), (0, 4), "ids, but no names");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn named(&self) -> Listing {
        let (found, mut rest) = self.mechanism.decoded();
        let mut entries = Vec::new();
        for (id, (element, count)) in found {
            match self.key_of(id) {
                Some(key) => entries.push(Entry { key: key.to_vec(), value: None, count }),
                None => rest.change(&element, count, true),
            }
        }
        Listing { entries, undecoded: rest.used() }
    }
}

#[cfg(test)]
mod tests;
