#![doc = include_str!("shifting.md")]

use crate::capability::{Dataset, Item, Multiplicity, Note, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Need, Plan, Rates, Stats, Text, Verb, kind};
use crate::parts::bit_array::{self, BitArray};
use crate::parts::counter_array::nonzero;
use crate::shell::{Amount, Choice, Far, Filter, FromNote, Group, Hashed, Mechanism, Put, Sort, Take, Tally, Test};
use crate::store::{BitStore, Counters};
use crate::theory::{shifting, spread};

mod assemble;
mod association;
mod bits;
mod multiplicity;
mod settings;
mod table;

pub use association::Classes;
use settings::{CELLS, FORM, Shape};
pub use settings::{Cells, Form, ShiftingSettings};
use table::{Table, read_table, table_bytes, write_table};

/// The registry's row.
pub const KIND: Kind = kind!(Shifting);

/// The bits behind a base that one unaligned read of a word brings along: 64 less the 7 that may lie before it in its
/// byte.
pub const MAX_SPAN: u32 = 57;

/// A shifting Bloom filter.
///
/// ```
/// use bouquet::Shifting;
/// let mut filter = Shifting::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
///
/// let counts = Shifting::of_counts(&[("rose", 12), ("lily", 1)], 0.001)?;
/// assert_eq!((counts.count("rose").count, counts.count("iris").count), (12, 0));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Shifting = Filter<ShiftedBits>;

/// Bits whose distance from their bases means something.
#[derive(Clone, Debug, PartialEq)]
pub struct ShiftedBits {
    shape: Shape,
    /// The bits; the places are those of the bases.
    array: BitArray,
    /// How many keys have each bit, with which keys can move.
    counters: Option<Counters>,
    table: Option<Table>,
    /// Occurrences with multiplicity, pairs of a key and a set with association, else insertions, less removals.
    items: u64,
    /// Keys that were put at an offset, removed ones included.
    inserted: u64,
}

impl Mechanism for ShiftedBits {
    const FACTS: Facts = Facts {
        id: "shifting",
        number: 62,
        aliases: &["ShBF", "ShBF-M", "ShBF-A", "ShBF-X"],
        family: "counting",
        text: Text::new(include_str!("shifting.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const NEEDS: &'static [Need] = &[
        Need { unless: Some((FORM.name, "membership")), ..Need::new(Verb::Insert, CELLS.name, "counters") },
        Need::new(Verb::Remove, CELLS.name, "counters"),
        Need::new(Verb::Classify, FORM.name, "association"),
    ];

    const NEEDS_BYTES: bool = true;

    const OWN_ITEMS: bool = true;

    type Settings = ShiftingSettings;

    fn resolve(asked: &ShiftingSettings) -> Result<ShiftingSettings> {
        Ok(Shape::plan(asked)?.settings(asked))
    }

    fn plan(settings: &ShiftingSettings) -> Result<Plan> {
        let (shape, items) = (Shape::plan(settings)?, settings.items);
        let fpr = items.map(|items| shape.expected_rate(items));
        Ok(Plan { bits: shape.store_bits()?, hashes: shape.hashes, items, fpr })
    }

    fn empty(settings: &ShiftingSettings, _: &Hashing) -> Result<Self> {
        let shape = Shape::plan(settings)?;
        let array = BitArray { places: shape.places, bits: BitStore::zeroed(shape.cells())? };
        let counters = shape.width.map(|width| Counters::zeroed(shape.cells(), width)).transpose()?;
        let table = shape.has_table.then(Table::new);
        Ok(ShiftedBits { shape, array, counters, table, items: 0, inserted: 0 })
    }

    fn domain(settings: &ShiftingSettings) -> String {
        let form = settings.form.unwrap_or_default();
        let kind = format!("{} {} {}", Self::FACTS.id, form.word(), settings.span.unwrap_or(0));
        bit_array::domain(&kind, settings.bits, settings.hashes.map(|hashes| form.bases(hashes)))
    }

    fn note(settings: &ShiftingSettings) -> NoteType {
        match settings.form.unwrap_or_default() {
            Form::Membership => NoteType::None,
            Form::Association => NoteType::Group,
            Form::Multiplicity => NoteType::Amount,
        }
    }

    fn errors(&self) -> &'static [ErrorClass] {
        const SETS: &[ErrorClass] = &[ErrorClass::FalsePositive, ErrorClass::SpuriousSet];
        const COUNTS: &[ErrorClass] = &[ErrorClass::FalsePositive, ErrorClass::OverCount];
        const TRUSTING: &[ErrorClass] =
            &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::FalseNegative, ErrorClass::UnderCount];
        match self.shape.form {
            Form::Multiplicity if self.shape.trusts_itself() => TRUSTING,
            Form::Multiplicity => COUNTS,
            Form::Association => SETS,
            Form::Membership => Self::FACTS.errors,
        }
    }

    fn is_in_place(&self) -> bool {
        self.counters.is_none()
    }

    fn items(&self, _: u64) -> u64 {
        self.items
    }

    fn stats(&self, items: u64) -> Stats {
        let cells = self.shape.cells();
        let honest = spread::ones(cells, self.inserted, self.shape.hashes)
            + 8.0 * spread::ones_variance(cells, self.inserted, self.shape.hashes).sqrt();
        let table = self.table.as_ref().map_or(0, table_bytes) as u64 * 8;
        Stats {
            items,
            bits: cells + self.counters.as_ref().map_or(0, Counters::bits) + table,
            hashes: self.shape.hashes,
            fill: Some(self.array.bits.fill()),
            fpr: Some(self.rate_now()),
            honest_fill: Some(honest / cells as f64),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let Shape { form, places, hashes, span, .. } = self.shape;
        let (m, k) = (places.counters(), hashes);
        let over_count = (form == Form::Multiplicity).then(|| 1.0 - shifting::exact_count(m, items, k, span, 1));
        // Each of the two sets has two classes that tell of it.
        let spurious_sets = (form == Form::Association).then(|| 2.0 * shifting::any_offset(m, items, k, 2));
        Rates { false_positive: Some(self.shape.expected_rate(items)), over_count, spurious_sets, ..Rates::default() }
    }

    /// State: items and insertions. Stores: the bits; or the counters, from which the bits follow, and the table.
    fn encode<'a>(&'a self, _items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        encoder.state().u64(self.inserted);
        match &self.counters {
            Some(counters) => encoder.counters(counters),
            None => encoder.bits(&self.array.bits),
        }
        if let Some(table) = &self.table {
            encoder.bytes(write_table(table));
        }
    }

    fn decode(settings: &ShiftingSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = Shape::plan(settings)?;
        let [items, inserted] = [decoder.state().u64()?, decoder.state().u64()?];
        let (bits, counters) = match shape.width {
            None => (decoder.bits(shape.cells())?, None),
            Some(width) => {
                let counters = decoder.counters(shape.cells(), width)?;
                (nonzero(&counters)?, Some(counters))
            }
        };
        let table = if shape.has_table { Some(read_table(decoder.bytes()?, shape.form)?) } else { None };
        let array = BitArray { places: shape.places, bits };
        Ok((ShiftedBits { shape, array, counters, table, items, inserted }, items))
    }

    #[inline(always)]
    fn far(&self) -> Option<&dyn Far> {
        Some(&self.array)
    }
}

impl Test for ShiftedBits {
    /// Whether the key may be in (with association, in either set).
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.holds(key.digest)
    }
}

impl Put for ShiftedBits {
    /// The set with association, with multiplicity how often.
    type Note<'a> = Note<'a>;
    type Outcome = Result<bool>;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, note: Note<'_>) -> Result<bool> {
        if self.shape.is_built_once() {
            return Err(self.built_once());
        }
        match self.shape.form {
            Form::Membership => {
                <()>::from_note(note)?;
                self.items = self.items.saturating_add(1);
                self.inserted = self.inserted.saturating_add(1);
                Ok(self.mark(key.digest, 0))
            }
            Form::Association => self.join(key, Group::from_note(note)?.0),
            Form::Multiplicity => Ok(self.raise(key, Amount::from_note(note)?.0)),
        }
    }
}

impl Take for ShiftedBits {
    type Note<'a> = Note<'a>;

    /// Needs counters. Without a table a key that merely seems present is removed as well, and other keys may vanish
    /// with it.
    fn take(&mut self, key: Hashed<'_>, note: Note<'_>) -> Result<()> {
        if self.counters.is_none() {
            return Err(self.wrong_settings("remove", "cells=counters"));
        }
        match self.shape.form {
            Form::Association => self.leave(key, Group::from_note(note)?.0),
            Form::Multiplicity => self.lower(key, Amount::from_note(note)?.0),
            Form::Membership => {
                <()>::from_note(note)?;
                if !self.holds(key.digest) {
                    return Err(Error::NotPresent);
                }
                self.unmark(key.digest, 0);
                self.items = self.items.saturating_sub(1);
                Ok(())
            }
        }
    }
}

impl Tally for ShiftedBits {
    /// With multiplicity the largest candidate: how often the key is in, or more. The other forms tell one or more, or
    /// none.
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        if self.shape.form == Form::Multiplicity {
            let count = self.largest(key.digest);
            return Multiplicity { count, at_least: count == u64::from(self.shape.span) };
        }
        let found = self.holds(key.digest);
        Multiplicity { count: found.into(), at_least: found }
    }
}

impl Sort for ShiftedBits {
    /// With association the sets that may hold the key, its own always among them. The other forms have no sets.
    fn sort(&self, key: Hashed<'_>) -> Vec<u64> {
        if self.shape.form == Form::Association { self.classes_of(key.digest).sets() } else { Vec::new() }
    }
}

impl ShiftedBits {
    fn wrong_settings(&self, verb: &str, able: &str) -> Error {
        let kind = Self::FACTS.id;
        Error::Unsupported { kind: kind.into(), verb: verb.into(), able: format!("{kind} with {able}") }
    }

    #[cold]
    fn built_once(&self) -> Error {
        let form = self.shape.form.word();
        let what = format!("form={form} with cells=bits is built once from all keys");
        let remedy = "build it from the whole data set (`build_from`), or make it with cells=counters".into();
        Error::Build { what, remedy }
    }
}

impl Shifting {
    /// The filter of these items in a form, made for as many keys as there are.
    fn of_form(form: Form, items: Vec<Item<'_>>, fpr: f64) -> Result<Self> {
        let settings = ShiftingSettings { fpr: Some(fpr), form: Some(form), ..Default::default() };
        Self::build(&settings, &Hashing::default(), &Dataset { items: &items, absent: &[] })
    }

    /// A filter of one form with `bits` positions of bases and `hashes` bits per key (even with membership).
    ///
    /// ```
    /// use bouquet::{Shifting, counting::shifting::Form};
    /// let filter = Shifting::with_size(Form::Membership, 1_000, 8)?;
    /// assert_eq!(filter.bits().len(), 1_057);
    /// assert!(Shifting::with_size(Form::Membership, 1_000, 7).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(form: Form, bits: u64, hashes: u32) -> Result<Self> {
        let (form, bits, hashes) = (Some(form), Some(bits), Some(hashes));
        Self::with(ShiftingSettings { form, bits, hashes, ..Default::default() })
    }

    /// The bits: those of the bases' positions, and the span behind them.
    ///
    /// ```
    /// use bouquet::Shifting;
    /// let mut filter = Shifting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(Some(filter.bits().count_ones()), filter.settings().hashes.map(u64::from), "k bits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.mechanism.array.bits
    }

    /// Inserts a key, with multiplicity one occurrence of it, and says whether it was certainly new.
    ///
    /// ```
    /// use bouquet::Shifting;
    /// let mut filter = Shifting::with_rate(1_000, 0.001)?;
    /// assert!(filter.insert("rose")? && !filter.insert("rose")?);
    /// let refused = Shifting::of_counts(&[("rose", 3)], 0.01)?.insert("rose");
    /// assert!(refused.is_err(), "bits cannot be moved to another count");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.insert_with(key, Note::None)
    }

    /// Takes a key out, with multiplicity one occurrence of it. Needs counters.
    ///
    /// ```
    /// use bouquet::{Shifting, ShiftingSettings, counting::shifting::Cells};
    /// let settings = ShiftingSettings { items: Some(1_000), cells: Some(Cells::Counters), ..Default::default() };
    /// let mut filter = Shifting::with(settings)?;
    /// filter.insert("rose")?;
    /// filter.remove("rose")?;
    /// assert!(!filter.contains("rose") && filter.remove("rose").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.remove_with(key, Note::None)
    }

    fn need_form(&self, form: Form, verb: &str) -> Result<()> {
        let able = || format!("form={}", form.word());
        if self.mechanism.shape.form == form { Ok(()) } else { Err(self.mechanism.wrong_settings(verb, &able())) }
    }
}

#[cfg(test)]
mod tests;
