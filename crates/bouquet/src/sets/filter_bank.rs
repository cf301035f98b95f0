#![doc = include_str!("filter_bank.md")]

use super::codes;
use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, Positions, Scheme};
use crate::kind::{ErrorClass, Facts, Kind, Need, Plan, Rates, Special, Stats, Text, Verb, kind};
use crate::parts::groups;
use crate::shell::{Choice, Filter, Group, Hashed, Mechanism, Meet, Put, Sort, Take, Test, Unite};
use crate::store::{BitMatrix, BitStore, Counters};
use crate::theory::{bank, partitioned};

mod methods;
mod questions;
mod rates;
mod settings;

use settings::{COUNTER_BITS, Shape};
pub use settings::{Cell, FilterBankSettings, Layout};

/// The registry's row.
pub const KIND: Kind = kind!(FilterBank);

/// The most sets of a sliced or coded bank.
pub const MAX_SETS: u64 = 1 << 16;

/// The most sets of a bank by rows: each is a store of its own in the frame.
pub const MAX_ROWS: u64 = 4096;

/// One filter per set, all asked at once.
///
/// Sets are numbered from 0. A key may be in several; an item is a key with its set. A union takes in what the same sets
/// of the other hold, an intersection keeps of every set what the same set of the other holds.
///
/// ```
/// use bouquet::FilterBank;
/// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
/// bank.insert("rose", 0)?;
/// bank.insert("rose", 2)?;
/// assert_eq!(bank.classify("rose"), [0, 2]);
/// assert!(bank.classify("thistle").is_empty());
/// assert!(bank.insert("rose", 3).is_err(), "there is no set 3");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type FilterBank = Filter<Bank>;

#[derive(Clone, Debug, PartialEq)]
enum Cells {
    Bits(BitMatrix),
    Counters(Vec<Counters>),
}

/// What went into one set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    /// Insertions less removals.
    items: u64,
    /// Insertions: what bounds the fill, since a counter at its end is never taken down.
    inserted: u64,
}

/// The filters of the sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Bank {
    shape: Shape,
    cells: Cells,
    tallies: Vec<Tally>,
}

impl Bank {
    /// An empty bank by rows whose sets have these sizes.
    fn by_sizes(shape: Shape, sizes: impl Iterator<Item = u64>) -> Result<Self> {
        let rows = sizes.map(BitStore::zeroed).collect::<Result<Vec<_>>>()?;
        let tallies = vec![Tally::default(); rows.len()];
        Ok(Bank { shape, cells: Cells::Bits(BitMatrix::from_rows(rows)), tallies })
    }

    fn filter_bits(&self, filter: u64) -> u64 {
        match &self.cells {
            Cells::Bits(matrix) => matrix.positions(filter),
            Cells::Counters(rows) => rows.get(filter as usize).map_or(0, Counters::len),
        }
    }

    /// The bits of a set's filter, or of one filter of a coded bank; 0 for a set that is not there.
    fn bits_of(&self, set: u64) -> u64 {
        if set < self.shape.sets { self.filter_bits(if self.shape.is_coded() { 0 } else { set }) } else { 0 }
    }

    fn check_set(&self, set: u64) -> Result<usize> {
        groups::check(set, self.shape.sets)?;
        Ok(set as usize)
    }

    /// The k positions of a key in a filter of this size.
    #[inline]
    fn positions(&self, digest: Digest, bits: u64) -> Positions {
        let hashes = self.shape.hashes;
        Scheme::SLICES.sliced(digest, bits / u64::from(hashes), hashes)
    }

    /// Visits the filters that accept the digest, ascending, until `visit` answers false.
    #[inline]
    fn for_each_filter(&self, digest: Digest, mut visit: impl FnMut(u64) -> bool) {
        match &self.cells {
            Cells::Bits(matrix) => matrix.for_each_holder(|bits| self.positions(digest, bits), visit),
            Cells::Counters(rows) => {
                let at = self.positions(digest, self.shape.bits);
                for (set, row) in (0..).zip(rows) {
                    if at.iter().all(|&position| row.get(position) != 0) && !visit(set) {
                        return;
                    }
                }
            }
        }
    }

    /// The numbers of the filters that accept the digest.
    fn accepting(&self, digest: Digest) -> Vec<u64> {
        let mut filters = Vec::new();
        self.for_each_filter(digest, |filter| {
            filters.push(filter);
            true
        });
        filters
    }

    /// Of a coded bank, the code that the filters give.
    fn read_code(&self, digest: Digest) -> u64 {
        self.accepting(digest).into_iter().fold(0, |code, filter| code | 1 << filter)
    }

    fn contains_in(&self, digest: Digest, set: u64) -> bool {
        if set >= self.shape.sets {
            return false;
        }
        let at = self.positions(digest, self.bits_of(set));
        match &self.cells {
            Cells::Bits(_) if self.shape.is_coded() => codes::code(set) & !self.read_code(digest) == 0,
            Cells::Bits(matrix) => at.iter().all(|&position| matrix.get(set, position)),
            Cells::Counters(rows) => at.iter().all(|&position| rows[set as usize].get(position) != 0),
        }
    }

    fn needs_counters(verb: &str) -> Error {
        let able = format!("filter-bank with {}={}", settings::CELLS.name, Cell::Counters.word());
        Error::Unsupported { kind: KIND.facts().id.into(), verb: verb.into(), able }
    }

    /// The sizes of the sets, where they differ.
    fn own_sizes(&self) -> Option<impl Iterator<Item = u64>> {
        let Cells::Bits(matrix) = &self.cells else { return None };
        let rows = matrix.rows()?;
        rows.iter().any(|row| row.len() != self.shape.bits).then(|| rows.iter().map(BitStore::len))
    }

    /// Combines every set with the same set of `other`.
    fn combine(
        &mut self,
        other: &Self,
        bits: fn(&mut BitMatrix, &BitMatrix) -> Result<()>,
        numbers: fn(u64, u64) -> u64,
    ) -> Result<()> {
        (0..self.shape.filters()).try_for_each(|i| same("bits", self.filter_bits(i), other.filter_bits(i)))?;
        match (&mut self.cells, &other.cells) {
            (Cells::Bits(mine), Cells::Bits(theirs)) => bits(mine, theirs)?,
            (Cells::Counters(mine), Cells::Counters(theirs)) => {
                mine.iter_mut().zip(theirs).try_for_each(|(a, b)| a.combine(b, numbers))?;
            }
            _ => return same("cells", "bits", "counters"),
        }
        for (mine, theirs) in self.tallies.iter_mut().zip(&other.tallies) {
            mine.items = numbers(mine.items, theirs.items);
            mine.inserted = numbers(mine.inserted, theirs.inserted);
        }
        Ok(())
    }

    fn decode_cells(shape: &Shape, sizes: Option<Vec<u64>>, decoder: &mut Decoder<'_>) -> Result<Cells> {
        if shape.counters {
            let rows = (0..shape.sets).map(|_| decoder.counters(shape.bits, COUNTER_BITS));
            return Ok(Cells::Counters(rows.collect::<Result<Vec<_>>>()?));
        }
        if shape.layout != Layout::Rows {
            return Ok(Cells::Bits(decoder.slices(shape.filters(), shape.bits)?));
        }
        let hashes = u64::from(shape.hashes);
        let sizes = sizes.unwrap_or_else(|| vec![shape.bits; shape.sets as usize]);
        let whole = |bits: &u64| *bits > 0 && *bits <= shape.bits && bits.is_multiple_of(hashes);
        if let Some(bits) = sizes.iter().find(|bits| !whole(bits)) {
            return Err(Error::corrupt("size of a set", format!("a multiple of {hashes} up to {}", shape.bits), bits));
        }
        let rows = sizes.iter().map(|&bits| decoder.bits(bits)).collect::<Result<Vec<_>>>()?;
        Ok(Cells::Bits(BitMatrix::from_rows(rows)))
    }
}

impl Mechanism for Bank {
    const FACTS: Facts = Facts {
        id: "filter-bank",
        number: 220,
        aliases: &["bank", "bit-sliced Bloom filters", "multicast filters", "parallel filters"],
        family: "sets",
        text: Text::new(include_str!("filter_bank.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::SpuriousSet],
        note: NoteType::Group,
        parameters: &[],
    };

    const NEEDS: &'static [Need] = &[Need::new(Verb::Remove, settings::CELLS.name, "counters")];

    const SPECIALS: &'static [Special<FilterBank>] = questions::SPECIALS;

    const OWN_ITEMS: bool = true;

    type Settings = FilterBankSettings;

    fn resolve(asked: &FilterBankSettings) -> Result<FilterBankSettings> {
        let Shape { sets, bits, hashes, layout, counters } = Shape::new(asked)?;
        Ok(FilterBankSettings {
            sets: Some(sets),
            bits: Some(bits),
            hashes: Some(hashes),
            layout: Some(layout),
            cells: Some(if counters { Cell::Counters } else { Cell::Bits }),
            ..asked.clone()
        })
    }

    fn plan(settings: &FilterBankSettings) -> Result<Plan> {
        let shape = Shape::new(settings)?;
        let fpr = settings.items.map(|items| {
            let counts = rates::evenly(items, shape.sets);
            if shape.is_coded() {
                return codes::Acceptance::expected(&counts, shape.slice_bits(), shape.hashes).any();
            }
            let rate = |&n: &u64| partitioned::rate(shape.bits, n, shape.hashes);
            bank::any_spurious(&counts.iter().map(rate).collect::<Vec<_>>())
        });
        Ok(Plan { bits: shape.store_bits()?, hashes: shape.hashes, items: settings.items, fpr })
    }

    fn empty(settings: &FilterBankSettings, _: &Hashing) -> Result<Self> {
        let shape = Shape::new(settings)?;
        let cells = if shape.counters {
            let rows = (0..shape.sets).map(|_| Counters::zeroed(shape.bits, COUNTER_BITS));
            Cells::Counters(rows.collect::<Result<Vec<_>>>()?)
        } else {
            Cells::Bits(BitMatrix::zeroed(shape.filters(), shape.bits, shape.orientation())?)
        };
        Ok(Bank { shape, cells, tallies: vec![Tally::default(); shape.sets as usize] })
    }

    /// Sets keep their sizes.
    fn emptied(&self, settings: &FilterBankSettings, hashing: &Hashing) -> Result<Self> {
        let Some(sizes) = self.own_sizes() else { return Self::empty(settings, hashing) };
        Self::by_sizes(self.shape, sizes)
    }

    /// The number of sets may change, so it is no part of the domain.
    fn domain(settings: &FilterBankSettings) -> String {
        format!("filter-bank {} {}", settings.bits.unwrap_or(0), settings.hashes.unwrap_or(0))
    }

    fn settings(&self, resolved: &FilterBankSettings) -> FilterBankSettings {
        FilterBankSettings { sets: Some(self.shape.sets), ..resolved.clone() }
    }

    /// A false bit turns the code of a coded bank into that of another set.
    fn errors(&self) -> &'static [ErrorClass] {
        if self.shape.is_coded() {
            &[ErrorClass::FalsePositive, ErrorClass::SpuriousSet, ErrorClass::MissingSet]
        } else {
            Self::FACTS.errors
        }
    }

    fn items(&self, _: u64) -> u64 {
        self.tallies.iter().fold(0, |sum, tally| sum.saturating_add(tally.items))
    }

    fn stats(&self, items: u64) -> Stats {
        let census = self.census();
        let cells: f64 = (0..self.shape.filters()).map(|filter| self.filter_bits(filter) as f64).sum();
        let ones: u64 = census.iter().map(|(ones, _)| ones).sum();
        let (mean, variance) = self.expected_ones().iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let fpr = if self.shape.is_coded() {
            self.acceptance_now().any()
        } else {
            bank::any_spurious(&census.iter().map(|(_, rate)| *rate).collect::<Vec<_>>())
        };
        Stats {
            items,
            bits: match &self.cells {
                Cells::Bits(matrix) => matrix.bits(),
                Cells::Counters(rows) => rows.iter().map(Counters::bits).sum(),
            },
            hashes: self.shape.hashes,
            fill: Some(ones as f64 / cells),
            fpr: Some(fpr),
            // Filters of a coded bank share keys, so their ones may vary together: at worst the deviations add up.
            honest_fill: Some((mean + 8.0 * (variance * self.shared_filters()).sqrt()) / cells),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let counts = self.spread(items);
        if self.shape.is_coded() {
            let acceptance = self.acceptance(&counts);
            return Rates {
                false_positive: Some(acceptance.any()),
                spurious_sets: Some(acceptance.reported(self.shape.sets)),
                missing_sets: acceptance.missing(&counts),
                ..Rates::default()
            };
        }
        let rates = self.expected_rates(&counts);
        Rates {
            false_positive: Some(bank::any_spurious(&rates)),
            spurious_sets: Some(bank::expected_spurious(&rates)),
            ..Rates::default()
        }
    }

    /// State: of each set its items and its insertions (8 bytes each); 1 and the size of each set (8 each) where they differ,
    /// otherwise 0. Stores: the rows, or all sets in slices.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        for tally in &self.tallies {
            state.u64(tally.items);
            state.u64(tally.inserted);
        }
        let sizes = self.own_sizes();
        state.u8(sizes.is_some().into());
        sizes.into_iter().flatten().for_each(|bits| state.u64(bits));
        match &self.cells {
            Cells::Bits(matrix) => match matrix.rows() {
                Some(rows) => rows.iter().for_each(|row| encoder.bits(row)),
                None => matrix.slices().into_iter().for_each(|slices| encoder.bits(slices)),
            },
            Cells::Counters(rows) => rows.iter().for_each(|row| encoder.counters(row)),
        }
    }

    fn decode(settings: &FilterBankSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = Shape::new(settings)?;
        let state = decoder.state();
        let mut tallies = Vec::new();
        for _ in 0..shape.sets {
            let (items, inserted) = (state.u64()?, state.u64()?);
            if items > inserted {
                return Err(Error::corrupt("items of a set", format!("at most {inserted}"), items));
            }
            tallies.push(Tally { items, inserted });
        }
        let sizes = match state.u8()? {
            0 => None,
            1 if shape.layout == Layout::Rows && !shape.counters => {
                Some((0..shape.sets).map(|_| state.u64()).collect::<Result<Vec<_>>>()?)
            }
            other => return Err(Error::corrupt("sizes of the sets", "0, or 1 for rows of bits", other)),
        };
        let bank = Bank { cells: Self::decode_cells(&shape, sizes, decoder)?, shape, tallies };
        if decoder.is_doubted() && decoder.reads_stores() {
            bank.refuse_overfull_filters()?;
        }
        Ok((bank, 0))
    }

    fn reach(&self) -> u64 {
        match &self.cells {
            Cells::Bits(matrix) => matrix.slices().map_or(0, BitStore::len),
            Cells::Counters(_) => 0,
        }
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        if let Cells::Bits(matrix) = &self.cells {
            self.positions(digest, self.shape.bits).iter().for_each(|&position| matrix.prefetch(position));
        }
    }
}

impl Test for Bank {
    /// Whether the key may be in any set.
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        let mut found = false;
        self.for_each_filter(key.digest, |_| {
            found = true;
            false
        });
        found
    }
}

impl Put for Bank {
    type Note<'a> = Group;
    type Outcome = Result<bool>;

    /// Whether the key was certainly new in its set.
    fn put(&mut self, key: Hashed<'_>, Group(set): Group) -> Result<bool> {
        let index = self.check_set(set)?;
        let at = self.positions(key.digest, self.bits_of(set));
        let mut fresh = false;
        match &mut self.cells {
            Cells::Bits(matrix) if self.shape.is_coded() => {
                let code = codes::code(set);
                for filter in (0..64).filter(|&bit| code >> bit & 1 == 1) {
                    at.iter().for_each(|&position| fresh |= matrix.set(filter, position));
                }
            }
            Cells::Bits(matrix) => at.iter().for_each(|&position| fresh |= matrix.set(set, position)),
            Cells::Counters(rows) => {
                let row = &mut rows[index];
                for &position in at.iter() {
                    let count = row.get(position);
                    fresh |= count == 0;
                    row.set(position, count + 1);
                }
            }
        }
        let tally = &mut self.tallies[index];
        tally.items = tally.items.saturating_add(1);
        tally.inserted = tally.inserted.saturating_add(1);
        Ok(fresh)
    }
}

impl Take for Bank {
    type Note<'a> = Group;

    /// Needs counters. A counter at its end stays there.
    fn take(&mut self, key: Hashed<'_>, Group(set): Group) -> Result<()> {
        let index = self.check_set(set)?;
        let at = self.positions(key.digest, self.bits_of(set));
        let Cells::Counters(rows) = &mut self.cells else { return Err(Self::needs_counters("remove")) };
        let row = &mut rows[index];
        if at.iter().any(|&position| row.get(position) == 0) {
            return Err(Error::NotPresent);
        }
        for &position in at.iter() {
            let count = row.get(position);
            if count < row.max() {
                row.set(position, count - 1);
            }
        }
        let tally = &mut self.tallies[index];
        tally.items = tally.items.saturating_sub(1);
        Ok(())
    }
}

impl Sort for Bank {
    /// Of a coded bank, the set whose code was read; if no set has that code, those whose codes lie within it.
    fn sort(&self, key: Hashed<'_>) -> Vec<u64> {
        let filters = self.accepting(key.digest);
        if !self.shape.is_coded() {
            return filters;
        }
        let read = filters.into_iter().fold(0, |code, filter| code | 1 << filter);
        match codes::set(read, self.shape.sets) {
            Some(set) => vec![set],
            None => codes::candidates(read, self.shape.sets).collect(),
        }
    }
}

impl Unite for Bank {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.combine(other, BitMatrix::or, u64::saturating_add)
    }
}

impl Meet for Bank {
    fn meet(&mut self, other: &Self) -> Result<()> {
        self.combine(other, BitMatrix::and, u64::min)
    }
}

#[cfg(test)]
mod tests;
