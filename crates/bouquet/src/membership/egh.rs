#![doc = include_str!("egh.md")]

use std::sync::OnceLock;

use crate::capability::{Entry, Listing, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Need, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, Verb,
    common, kind,
};
use crate::parts::integers;
use crate::parts::records::bits_for;
use crate::shell::{Choice, Enumerate, Fields, Filter, Hashed, Mechanism, Put, Settings, Take, Test, choices, fields};
use crate::store::{BitStore, Counters};
use crate::theory::egh as theory;

mod big;
mod listing;

/// The registry's row.
pub const KIND: Kind = kind!(Egh);

/// A filter of integers without a false positive, as long as it holds no more than it was made for.
///
/// ```
/// use bouquet::Egh;
/// let mut ids = Egh::with_zone(1_000, 2)?; // two of the numbers below 1,000
/// ids.insert(&807u64)?;
/// ids.insert(&249u64)?;
/// assert!((0..1_000u64).all(|id| ids.contains(&id) == [807, 249].contains(&id)));
/// assert!(ids.insert(&5u64).is_err(), "the zone is full");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Egh = Filter<PrimeSlices>;

/// What is kept for a residue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residues {
    /// Whether an element has it.
    Bits,
    /// How many do.
    Counters,
}

choices!(Residues { Bits = "bits", Counters = "counters" });

const ITEMS: Parameter = Parameter { help: "elements that fit without a false positive (the zone)", ..common::ITEMS };
/// Numbers of eight bytes below it are no decimal digits, whose upper byte is not 0.
const UNIVERSE: Parameter = Parameter::count("universe", "keys are the integers below this", 2, 1 << 56).or(1 << 16);
const CELLS: Parameter = Parameter::choice("cells", "bits, or counters, which can remove", Residues::WORDS);
const OVERFILL: Parameter =
    Parameter::flag("overfill", "take more elements than fit without false positives, instead of refusing them");
const DECIMAL: Parameter = Parameter::flag("decimal", "keys are decimal digits, as text has them, and are listed so");

/// The settings of a filter with a zone.
///
/// ```
/// use bouquet::{Egh, EghSettings, membership::egh::Residues};
/// let settings = EghSettings { items: Some(20), universe: Some(562), cells: Some(Residues::Counters), ..Default::default() };
/// let mut filter = Egh::with(settings)?;
/// filter.insert(&7u64)?;
/// filter.remove(&7u64)?;
/// assert!(!filter.contains(&7u64));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EghSettings {
    /// Elements that fit without a false positive.
    pub items: Option<u64>,
    /// Keys are the integers below this.
    pub universe: Option<u64>,
    /// What is kept for a residue.
    pub cells: Option<Residues>,
    /// Whether more elements are taken.
    pub overfill: Option<bool>,
    /// Whether keys are decimal digits.
    pub decimal: Option<bool>,
}

impl Settings for EghSettings {
    const FIELDS: Fields<Self> =
        fields![items: ITEMS, universe: UNIVERSE, cells: CELLS, overfill: OVERFILL, decimal: DECIMAL];

    const DESIGN: &'static [&'static str] = &[];
}

/// A bit or a counter for every residue modulo every prime.
#[derive(Clone, Debug, PartialEq)]
enum Cells {
    Bits(BitStore),
    Counters(Counters),
}

impl Cells {
    #[inline]
    fn get(&self, cell: u64) -> u64 {
        match self {
            Cells::Bits(bits) => bits.get(cell).into(),
            Cells::Counters(counters) => counters.get(cell),
        }
    }

    /// The sum of these cells, and how many of them are not zero.
    fn within(&self, start: u64, end: u64) -> (u64, u64) {
        match self {
            Cells::Bits(bits) => {
                let ones = bits.count_ones_in(start, end);
                (ones, ones)
            }
            Cells::Counters(counters) => (start..end).fold((0, 0), |(sum, taken), cell| {
                let count = counters.get(cell);
                (sum + count, taken + count.min(1))
            }),
        }
    }
}

/// How many residues of each prime occur, counted when first needed: opening a mapped file must not read it all.
#[derive(Clone, Debug, Default)]
struct Taken(OnceLock<Vec<u64>>);

/// It follows from the cells.
impl PartialEq for Taken {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// One slice per prime, with a cell per residue.
#[derive(Clone, Debug, PartialEq)]
pub struct PrimeSlices {
    universe: u64,
    zone: u64,
    overfill: bool,
    decimal: bool,
    primes: Vec<u64>,
    cells: Cells,
    taken: Taken,
    /// Elements.
    count: u64,
    /// Whether there ever were more than the zone holds.
    overfilled: bool,
}

/// Checked settings: the universe, the zone and the primes that it takes.
fn design(settings: &EghSettings) -> Result<(u64, u64, theory::Design)> {
    let (universe, zone) = (UNIVERSE.need(settings.universe)?, ITEMS.need(settings.items)?);
    Ok((universe, zone, theory::design(universe, zone)?))
}

/// The primes, and where their slices begin.
#[inline]
fn slices(primes: &[u64]) -> impl Iterator<Item = (u64, u64)> + '_ {
    primes.iter().scan(0, |end, &prime| {
        *end += prime;
        Some((prime, *end - prime))
    })
}

fn cell_bits(cells: Residues, zone: u64) -> u32 {
    if cells == Residues::Counters { bits_for(zone) } else { 1 }
}

impl PrimeSlices {
    /// The primes, and where their slices begin.
    fn slices(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        slices(&self.primes)
    }

    /// The cell of a number in every slice, until `visit` answers false; says whether it never did.
    #[inline]
    fn all_cells(&self, number: u64, mut visit: impl FnMut(u64) -> bool) -> bool {
        slices(&self.primes).all(|(prime, start)| visit(start + number % prime))
    }

    #[inline]
    fn holds(&self, number: u64) -> bool {
        self.count > 0 && self.all_cells(number, |cell| self.cells.get(cell) > 0)
    }

    /// The integer of a key, if it is one of the universe.
    #[inline]
    fn number(&self, key: &[u8]) -> Option<u64> {
        integers::integer(key, self.decimal).filter(|number| *number < self.universe)
    }

    fn key_of(&self, number: u64) -> Vec<u8> {
        if self.decimal { number.to_string().into_bytes() } else { number.to_le_bytes().to_vec() }
    }

    /// Whether answers are exact: no more elements were ever in than the zone holds.
    fn in_zone(&self) -> bool {
        !self.overfilled
    }

    /// Changes the cells of a number. Beyond the zone counters that are full stay so; within it none overflows.
    fn change(&mut self, number: u64, more: bool) -> bool {
        self.taken();
        let PrimeSlices { primes, cells, taken, overfilled, .. } = self;
        let Some(taken) = taken.0.get_mut() else { return false };
        let mut fresh = false;
        for ((prime, start), taken) in slices(primes).zip(taken) {
            let cell = start + number % prime;
            let (before, after) = match cells {
                Cells::Bits(bits) => (u64::from(!bits.set(cell)), 1),
                Cells::Counters(counters) => {
                    let full = counters.max();
                    let change = |count: u64| match (count == full && *overfilled, more) {
                        (true, _) => full,
                        (false, true) => count + 1,
                        (false, false) => count.saturating_sub(1),
                    };
                    let before = counters.update(cell, change);
                    (before, change(before))
                }
            };
            fresh |= before == 0;
            *taken = *taken + after.min(1) - before.min(1);
        }
        fresh
    }

    /// How many residues of each prime occur.
    fn taken(&self) -> &[u64] {
        self.taken.0.get_or_init(|| {
            let taken = |(prime, start)| self.cells.within(start, start + prime).1;
            self.slices().map(taken).collect()
        })
    }
}

impl Mechanism for PrimeSlices {
    const FACTS: Facts = Facts {
        id: "egh",
        number: 16,
        aliases: &["EGHF", "false-positive-free zone"],
        family: "membership",
        text: Text::new(include_str!("egh.md")),
        errors: &[],
        note: NoteType::None,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;

    const OWN_ITEMS: bool = true;

    const HASHES_KEYS: bool = false;

    const NEEDS: &'static [Need] = &[Need::new(Verb::Remove, "cells", "counters")];

    const SPECIALS: &'static [Special<Egh>] = &[
        Special::ask("in-zone", Takes::Nothing, "whether answers are exact", |filter, _| {
            Ok(Reply::Truth(filter.mechanism.in_zone()))
        }),
        Special::ask(
            "symmetric",
            Takes::Nothing,
            "the sums of products of 1, 2, ... elements, from which a listing is solved (cells=counters, up to 64 elements)",
            |filter, _| {
                let values = filter.mechanism.symmetric()?;
                let row = |(j, value): (u64, &big::Big)| vec![j.into(), Reply::Bytes(value.to_string().into_bytes())];
                Ok(Reply::Table(&["factors", "sum"], (0..).zip(&values).skip(1).map(row).collect()))
            },
        ),
    ];

    type Settings = EghSettings;

    fn resolve(asked: &EghSettings) -> Result<EghSettings> {
        let (universe, zone, _) = design(asked)?;
        Ok(EghSettings {
            items: Some(zone),
            universe: Some(universe),
            cells: Some(CELLS.need(asked.cells)?),
            overfill: Some(OVERFILL.need(asked.overfill)?),
            decimal: Some(DECIMAL.need(asked.decimal)?),
        })
    }

    fn plan(settings: &EghSettings) -> Result<Plan> {
        let (_, zone, theory::Design { primes, bits }) = design(settings)?;
        let bits = bits * u64::from(cell_bits(CELLS.need(settings.cells)?, zone));
        Ok(Plan { bits, hashes: primes, items: Some(zone), fpr: Some(0.0) })
    }

    fn empty(settings: &EghSettings, _: &Hashing) -> Result<Self> {
        let (universe, zone, theory::Design { primes, bits }) = design(settings)?;
        let cells = match CELLS.need(settings.cells)? {
            Residues::Bits => Cells::Bits(BitStore::zeroed(bits)?),
            cells => Cells::Counters(Counters::zeroed(bits, cell_bits(cells, zone))?),
        };
        let (overfill, decimal) = (OVERFILL.need(settings.overfill)?, DECIMAL.need(settings.decimal)?);
        let primes = theory::first_primes(primes);
        let taken = Taken(OnceLock::from(vec![0; primes.len()]));
        Ok(PrimeSlices { universe, zone, overfill, decimal, primes, cells, taken, count: 0, overfilled: false })
    }

    fn domain(settings: &EghSettings) -> String {
        format!("egh {} {}", settings.universe.unwrap_or(0), settings.items.unwrap_or(0))
    }

    fn errors(&self) -> &'static [ErrorClass] {
        match (self.overfill, &self.cells) {
            (false, _) => &[],
            (true, Cells::Bits(_)) => &[ErrorClass::FalsePositive, ErrorClass::Unknown],
            (true, Cells::Counters(_)) => &[ErrorClass::FalsePositive, ErrorClass::Unknown, ErrorClass::Undeletable],
        }
    }

    fn items(&self, _: u64) -> u64 {
        self.count
    }

    fn stats(&self, items: u64) -> Stats {
        let (bits, cells) = match &self.cells {
            Cells::Bits(bits) => (bits.len(), bits.len()),
            Cells::Counters(counters) => (counters.bits(), counters.len()),
        };
        let fills = || self.taken().iter().zip(&self.primes).map(|(&taken, &prime)| taken as f64 / prime as f64);
        let fpr = Some(if self.in_zone() { 0.0 } else { fills().product() });
        let fill = Some(self.taken().iter().sum::<u64>() as f64 / cells as f64);
        let hashes = self.primes.len() as u32;
        Stats { items, bits, hashes, fill, fpr, honest_fill: None }
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure { name: "in zone", value: Setting::Flag(self.in_zone()) }]
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = if items <= self.zone { 0.0 } else { theory::rate(self.primes.len() as u32, items) };
        Rates { false_positive: Some(rate), ..Rates::default() }
    }

    /// State: elements, and 1 if there ever were more than the zone holds. Store: bits or counters, prime after prime.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.count);
        encoder.state().u8(self.overfilled.into());
        match &self.cells {
            Cells::Bits(bits) => encoder.bits(bits),
            Cells::Counters(counters) => encoder.counters(counters),
        }
    }

    fn decode(settings: &EghSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (universe, zone, theory::Design { primes, bits }) = design(settings)?;
        let (count, overfilled) = (decoder.state().u64()?, decoder.state().u8()?);
        let (overfill, decimal) = (OVERFILL.need(settings.overfill)?, DECIMAL.need(settings.decimal)?);
        if overfilled > u8::from(overfill) || overfilled == 0 && count > zone {
            return Err(Error::corrupt("elements", format!("at most {zone}, or a filter that is overfilled"), count));
        }
        let cells = match CELLS.need(settings.cells)? {
            Residues::Bits => Cells::Bits(decoder.bits(bits)?),
            cells => Cells::Counters(decoder.counters(bits, cell_bits(cells, zone))?),
        };
        let primes = theory::first_primes(primes);
        let overfilled = overfilled == 1;
        let taken = Taken::default();
        let mut filter = PrimeSlices { universe, zone, overfill, decimal, primes, cells, taken, count, overfilled };
        if decoder.reads_stores() && !overfilled {
            let mut all = Vec::with_capacity(filter.primes.len());
            for (prime, start) in filter.slices() {
                let (sum, taken) = filter.cells.within(start, start + prime);
                let fits = match &filter.cells {
                    Cells::Bits(_) => sum <= count && (sum > 0 || count == 0),
                    Cells::Counters(_) => sum == count,
                };
                if !fits {
                    return Err(Error::corrupt("elements in the slice of a prime", count, sum));
                }
                all.push(taken);
            }
            filter.taken = Taken(OnceLock::from(all));
        }
        Ok((filter, 0))
    }
}

impl Test for PrimeSlices {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.number(key.bytes).is_some_and(|number| self.holds(number))
    }
}

impl Put for PrimeSlices {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    fn put(&mut self, key: Hashed<'_>, (): ()) -> Result<bool> {
        let number = self.number(key.bytes).ok_or_else(|| Error::Item {
            expected: format!("an integer below {} (see `universe`; as text, see `decimal`)", self.universe),
            found: format!("`{}`", key.bytes.escape_ascii()),
        })?;
        if self.in_zone() {
            if self.holds(number) {
                return Ok(false);
            }
            if self.count >= self.zone && !self.overfill {
                return Err(Error::Full {
                    what: format!("more than {} elements would give false positives", self.zone),
                    remedy: "make it for more `items`, or with `overfill`".into(),
                });
            }
            self.overfilled = self.count >= self.zone;
        }
        self.count = self.count.saturating_add(1);
        Ok(self.change(number, true))
    }
}

impl Take for PrimeSlices {
    type Note<'a> = ();

    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        if matches!(self.cells, Cells::Bits(_)) {
            return Err(Error::parameter("cells", "counters if elements are to be removed", "bits"));
        }
        let number = self.number(key.bytes).filter(|&number| self.holds(number)).ok_or(Error::NotPresent)?;
        self.change(number, false);
        self.count = self.count.saturating_sub(1);
        Ok(())
    }
}

impl Enumerate for PrimeSlices {
    fn enumerate(&self, _: &Hashing) -> Listing {
        let (elements, complete) = self.elements();
        let entry = |number| Entry { key: self.key_of(number), value: None, count: 1 };
        let undecoded = if complete { 0 } else { self.primes.len() as u64 };
        Listing { entries: elements.into_iter().map(entry).collect(), undecoded }
    }
}

impl Egh {
    /// A filter that holds up to `zone` of the integers below `universe` without an error.
    ///
    /// ```
    /// use bouquet::Egh;
    /// let filter = Egh::with_zone(562, 20)?;
    /// assert_eq!((filter.stats().bits, filter.stats().hashes), (2_127, 34));
    /// assert!(Egh::with_zone(1 << 40, 1 << 40).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_zone(universe: u64, zone: u64) -> Result<Self> {
        Self::with(EghSettings { items: Some(zone), universe: Some(universe), ..Default::default() })
    }

    /// Whether answers are exact: no more elements were ever in than the zone holds.
    ///
    /// ```
    /// use bouquet::{Egh, EghSettings};
    /// let settings = EghSettings { items: Some(1), universe: Some(100), overfill: Some(true), ..Default::default() };
    /// let mut filter = Egh::with(settings)?;
    /// filter.insert(&5u64)?;
    /// assert!(filter.in_zone());
    /// filter.insert(&6u64)?;
    /// assert!(!filter.in_zone() && filter.contains(&5u64));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn in_zone(&self) -> bool {
        self.mechanism.in_zone()
    }
}

#[cfg(test)]
mod tests;
