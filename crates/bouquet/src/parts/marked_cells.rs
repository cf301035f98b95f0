//! Counters that can contradict: the engine of kinds whose cells keep a mark of their keys beside, or in, the count.
//!
//! A key has one cell in each of k slices, and a *mark*: one for all its cells or one for each. A [`CellCode`] says
//! how a cell takes a mark in, gives it back, and when it proves that a mark is not in it. A kind of this engine is
//! its code and the settings of that.

use std::collections::HashMap;

use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, SplitMix, fastrange};
use crate::key::NEAR_BITS;
use crate::kind::{Facts, Plan, Rates, Stats, common};
use crate::parts::counter_array::{Arrangement, Placement, Places};
use crate::shell::{ByRate, Filter, Hashed, Mechanism, Put, Take, Test, Unite};
use crate::simd::prefetch;
use crate::store::Counters;
use crate::theory::partitioned;
use crate::theory::refutation::Refutation;

/// The settings from which the number of cells follows, as far as they were given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellSizes {
    /// Distinct keys that the filter is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Cells per key.
    pub hashes: Option<u32>,
}

/// The settings of a kind of marked cells.
pub trait CellSettings: ByRate {
    /// Those that all such kinds have.
    fn sizes(&self) -> CellSizes;

    /// The same settings with this size and this many cells per key.
    #[must_use]
    fn sized(self, bits: u64, hashes: u32) -> Self;
}

/// Sets the marks apart from the positions, which come from the digest itself.
const MARK_STREAM: u64 = 0x3A4B;

/// What a cell keeps of its keys.
///
/// Laws, with 0 as the empty cell, for all cells that `add`, `sub` and `join` can make of it:
///
/// - `admits(add(cell, mark), mark)`, and a cell that admits a mark still does after other marks were added and taken
///   out again: no key is ever lost.
/// - `sub(add(cell, mark), mark) == cell`, unless the cell is frozen; a frozen cell never changes and admits
///   everything.
/// - An empty cell admits nothing.
/// - `join` of two cells is the cell of the keys of both.
///
/// ```
/// use bouquet::{FingerprintCounting, counting::CellCode};
/// let filter = FingerprintCounting::with_rate(1_000, 0.01)?;
/// let code = filter.code();
/// let cell = code.add(0, 3);
/// assert!(code.admits(cell, 3) && !code.admits(cell, 2));
/// assert_eq!(code.sub(cell, 3), 0);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait CellCode: Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The facts of the kind.
    const FACTS: Facts;

    /// Whether a key has the same mark in all its cells, not one for each.
    const ONE_MARK: bool;

    /// The settings of the kind.
    type Settings: CellSettings;

    /// The codes that the settings leave open, the default first; never none.
    fn candidates(settings: &Self::Settings) -> Result<Vec<Self>>;

    /// The same settings with this very code.
    fn settings(&self, settings: Self::Settings) -> Self::Settings;

    /// Bits of a cell, at most 32.
    fn width(&self) -> u32;

    /// The number of different marks.
    fn marks(&self) -> u64;

    /// Whether the cell may hold a key of this mark.
    fn admits(&self, cell: u64, mark: u64) -> bool;

    /// The cell with one more key.
    fn add(&self, cell: u64, mark: u64) -> u64;

    /// The cell with one key less, which it admits.
    fn sub(&self, cell: u64, mark: u64) -> u64;

    /// The cell of the keys of two cells.
    fn join(&self, cell: u64, other: u64) -> u64;

    /// Whether the cell has reached its end and stays as it is for ever.
    fn is_frozen(&self, cell: u64) -> bool;

    /// Whether the value is a cell at all: what a frame may hold.
    fn is_cell(&self, cell: u64) -> bool;

    /// How often a cell contradicts.
    fn refutation(&self) -> Refutation;

    /// The expected rate of false positives with this many distinct keys in `hashes` slices.
    fn expected_rate(&self, slice: u64, items: u64, hashes: u32) -> f64 {
        self.refutation().rate(slice, items, hashes)
    }
}

/// The marks of a key, one for each of its cells in turn.
struct Marks {
    random: SplitMix,
    marks: u64,
    shared: u64,
}

impl Marks {
    #[inline]
    fn of<C: CellCode>(code: &C, digest: Digest) -> Self {
        let word = digest.derive(MARK_STREAM).h1;
        let marks = code.marks();
        Marks { random: SplitMix::new(word), marks, shared: fastrange(word, marks) }
    }

    #[inline]
    fn next<C: CellCode>(&mut self) -> u64 {
        if C::ONE_MARK { self.shared } else { self.random.below(self.marks) }
    }
}

/// Cells under a code. Its kinds are [`fingerprint_counting`](crate::counting::fingerprint_counting) and
/// [`variable_increment`](crate::counting::variable_increment).
#[derive(Clone, Debug, PartialEq)]
pub struct MarkedCells<C> {
    code: C,
    places: Places,
    pub(crate) cells: Counters,
    /// Insertions, removed ones included.
    inserted: u64,
}

/// The least number of cells per slice, from `least` on, at which the expected rate is reached.
fn slice_for<C: CellCode>(code: &C, least: u64, items: u64, hashes: u32, fpr: f64) -> u64 {
    let reached = |slice: u64| code.expected_rate(slice, items, hashes) <= fpr;
    let (mut below, mut slice, mut step) = (least.saturating_sub(1), least.max(1), 1);
    while !reached(slice) && slice < 1 << 56 {
        below = slice;
        slice += step;
        step *= 2;
    }
    while slice - below > 1 && below >= least {
        let middle = below + (slice - below) / 2;
        if reached(middle) {
            slice = middle;
        } else {
            below = middle;
        }
    }
    slice
}

/// The code and the layout that the settings describe.
fn shape<C: CellCode>(settings: &C::Settings) -> Result<(C, Places)> {
    let CellSizes { items, fpr, bits, hashes: given } = settings.sizes();
    let fpr = common::FPR.need(fpr)?;
    let mut best: Option<(f64, C, u64, u32)> = None;
    for code in C::candidates(settings)? {
        let (refutation, width) = (code.refutation(), u64::from(code.width()));
        // By size the rate is made small, by rate the size.
        let (cost, cells, hashes) = match (bits, items) {
            (Some(bits), None) => (1.0, bits / width, given.ok_or_else(|| common::ITEMS.missing("hashes"))?),
            (Some(bits), Some(items)) => {
                let cells = bits / width;
                let hashes = given.unwrap_or_else(|| refutation.best_hashes(cells, items));
                let load = items as f64 * f64::from(hashes) / (cells as f64).max(1.0);
                (refutation.limit_rate(load, hashes), cells, hashes)
            }
            (None, Some(items)) => {
                let (cells, hashes) = refutation.for_rate(items, fpr, given)?;
                (cells as f64 * width as f64, cells, hashes)
            }
            (None, None) => return Err(common::ITEMS.missing("bits")),
        };
        if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
            best = Some((cost, code, cells, hashes));
        }
    }
    let (_, code, cells, hashes) = best.ok_or_else(|| common::ITEMS.missing("bits"))?;
    let slice = match (bits, items) {
        (None, Some(items)) => slice_for(&code, cells.div_ceil(hashes.into()), items, hashes, fpr),
        _ => (cells / u64::from(hashes)).max(1),
    };
    let cells = slice.checked_mul(hashes.into()).filter(|cells| cells.checked_mul(code.width().into()).is_some());
    let too_large = || Error::TooLarge { what: "the cells".into(), bytes: u128::from(slice) * u128::from(hashes) };
    Ok((code, Places::new(cells.ok_or_else(too_large)?, hashes, Arrangement::Sliced)?))
}

impl<C: CellCode> MarkedCells<C> {
    pub(crate) fn code(&self) -> &C {
        &self.code
    }

    /// Cells per key.
    pub(crate) fn hashes(&self) -> u32 {
        self.places.hashes()
    }

    /// Whether each of a key's cells admits it; those that do are handed on.
    #[inline]
    pub(crate) fn all(&self, digest: Digest, mut visit: impl FnMut(u64)) -> bool {
        let mut marks = Marks::of(&self.code, digest);
        self.places.all(digest, |place| {
            let cell = self.cells.get(place);
            let admits = self.code.admits(cell, marks.next::<C>());
            if admits {
                visit(cell);
            }
            admits
        })
    }

    /// Changes each of a key's cells by its mark.
    #[inline]
    fn change(&mut self, digest: Digest, mut change: impl FnMut(&C, u64, u64) -> u64) {
        let MarkedCells { code, places, cells, .. } = self;
        let mut marks = Marks::of(code, digest);
        places.all(digest, |place| {
            let mark = marks.next::<C>();
            cells.update(place, |cell| change(code, cell, mark));
            true
        });
    }

    /// How often each content occurs, slice by slice.
    fn tallies(&self) -> Vec<HashMap<u64, u64>> {
        let tally = |piece: std::ops::Range<u64>| {
            let mut tally = HashMap::new();
            piece.for_each(|place| *tally.entry(self.cells.get(place)).or_default() += 1);
            tally
        };
        self.places.pieces().map(tally).collect()
    }

    /// The false-positive rate of this content: in each slice the share of cells that admit a mark.
    fn rate_now(&self, tallies: &[HashMap<u64, u64>]) -> f64 {
        let (marks, slice) = (self.code.marks(), self.places.counters() as f64 / f64::from(self.places.hashes()));
        let admitting = |tally: &HashMap<u64, u64>, mark: u64| {
            tally.iter().filter(|&(&cell, _)| self.code.admits(cell, mark)).map(|(_, count)| *count).sum::<u64>() as f64
        };
        if C::ONE_MARK {
            let of_mark = |mark| tallies.iter().map(|tally| admitting(tally, mark) / slice).product::<f64>();
            return (0..marks).map(of_mark).sum::<f64>() / marks as f64;
        }
        let of_slice = |tally| (0..marks).map(|mark| admitting(tally, mark)).sum::<f64>() / (slice * marks as f64);
        tallies.iter().map(of_slice).product()
    }
}

impl<C: CellCode> Mechanism for MarkedCells<C> {
    const FACTS: Facts = C::FACTS;
    const IN_PLACE: bool = true;
    const NEAR: u64 = NEAR_BITS;

    type Settings = C::Settings;

    fn resolve(asked: &C::Settings) -> Result<C::Settings> {
        let (code, places) = shape::<C>(asked)?;
        Ok(code.settings(asked.clone().sized(places.counters() * u64::from(code.width()), places.hashes())))
    }

    fn plan(settings: &C::Settings) -> Result<Plan> {
        let (code, places) = shape::<C>(settings)?;
        let (items, hashes) = (settings.sizes().items, places.hashes());
        let slice = places.counters() / u64::from(hashes);
        let fpr = items.map(|items| code.expected_rate(slice, items, hashes));
        Ok(Plan { bits: places.counters() * u64::from(code.width()), hashes, items, fpr })
    }

    fn empty(settings: &C::Settings, _: &Hashing) -> Result<Self> {
        let (code, places) = shape::<C>(settings)?;
        let cells = Counters::zeroed(places.counters(), code.width())?;
        Ok(MarkedCells { code, places, cells, inserted: 0 })
    }

    fn domain(settings: &C::Settings) -> String {
        let cells_and_hashes = |(_, places): (C, Places)| (places.counters(), places.hashes());
        let (cells, hashes) = shape(settings).map_or((0, 0), cells_and_hashes);
        format!("{} {cells} {hashes}", C::FACTS.id)
    }

    fn stats(&self, items: u64) -> Stats {
        let (places, tallies) = (&self.places, self.tallies());
        let share = |wanted: &dyn Fn(u64) -> bool| {
            let all = tallies.iter().flatten().filter(|&(&cell, _)| wanted(cell));
            all.map(|(_, count)| *count).sum::<u64>() as f64 / places.counters() as f64
        };
        // A cell in use belongs to a present key or is frozen, and then belongs to one that was inserted.
        let frozen = share(&|cell| self.code.is_frozen(cell));
        let honest = (places.honest_fill(items) + frozen).min(places.honest_fill(self.inserted));
        Stats {
            items,
            bits: self.cells.bits(),
            hashes: places.hashes(),
            fill: Some(share(&|cell| cell != 0)),
            fpr: Some(self.rate_now(&tallies)),
            honest_fill: Some(honest),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let (cells, hashes) = (self.places.counters(), self.places.hashes());
        let false_positive = self.code.expected_rate(cells / u64::from(hashes), items, hashes);
        // Where the least count is read: the others have hit all of a key's cells.
        let over_count = partitioned::rate(cells, items.saturating_sub(1), hashes);
        Rates { false_positive: Some(false_positive), over_count: Some(over_count), ..Rates::default() }
    }

    /// State: items, insertions, 8 bytes each. Store: the cells.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().u64(self.inserted);
        encoder.counters(&self.cells);
    }

    fn decode(settings: &C::Settings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (code, places) = shape::<C>(settings)?;
        let [items, inserted] = [decoder.state().u64()?, decoder.state().u64()?];
        if items > inserted {
            return Err(Error::corrupt("items", format!("at most {inserted}, the insertions"), items));
        }
        let cells = decoder.counters(places.counters(), code.width())?;
        if decoder.reads_stores() && !cells.iter().all(|cell| code.is_cell(cell)) {
            return Err(Error::corrupt("a cell", "a content that keys leave behind", "another"));
        }
        Ok((MarkedCells { code, places, cells, inserted }, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.cells.bits()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        let (words, width) = (self.cells.words(), u64::from(self.code.width()));
        self.places.of(digest).for_each(|place| prefetch(words, (place * width / 64) as usize));
    }
}

impl<C: CellCode> Test for MarkedCells<C> {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.all(key.digest, |_| ())
    }
}

impl<C: CellCode> Put for MarkedCells<C> {
    type Note<'a> = ();
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let mut fresh = false;
        self.change(key.digest, |code, cell, mark| {
            fresh |= !code.admits(cell, mark);
            code.add(cell, mark)
        });
        self.inserted = self.inserted.saturating_add(1);
        fresh
    }
}

impl<C: CellCode> Take for MarkedCells<C> {
    type Note<'a> = ();

    #[inline]
    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        if !self.test(key) {
            return Err(Error::NotPresent);
        }
        let less = |code: &C, cell, mark| if code.is_frozen(cell) { cell } else { code.sub(cell, mark) };
        self.change(key.digest, less);
        Ok(())
    }
}

impl<C: CellCode> Unite for MarkedCells<C> {
    /// The cells of both multisets together; a sum that does not fit freezes.
    fn unite(&mut self, other: &Self) -> Result<()> {
        let code = &self.code;
        self.cells.combine(&other.cells, |cell, other| code.join(cell, other))?;
        self.inserted = self.inserted.saturating_add(other.inserted);
        Ok(())
    }
}

impl<C: CellCode> Filter<MarkedCells<C>> {
    /// A filter of at most `bits` bits, and at least one cell per slice, with `hashes` cells per key.
    ///
    /// ```
    /// use bouquet::VariableIncrement;
    /// let filter = VariableIncrement::with_size(7_000, 6)?;
    /// assert_eq!((filter.cells().len(), filter.settings().bits), (996, Some(6_972))); // seven bits each
    /// assert!(VariableIncrement::with_size(7_000, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(C::Settings::default().sized(bits, hashes))
    }

    /// A filter of cells under this code, of at most `bits` bits, with `hashes` cells per key.
    ///
    /// ```
    /// use bouquet::{VariableIncrement, counting::variable_increment::Increments};
    /// let code = Increments::sequence(&[1, 4, 8, 13], 3)?;
    /// let filter = VariableIncrement::with_code(&code, 10_000, 5)?;
    /// assert_eq!((filter.code(), filter.cells().len()), (&code, 1_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_code(code: &C, bits: u64, hashes: u32) -> Result<Self> {
        Self::with(code.settings(C::Settings::default().sized(bits, hashes)))
    }

    /// The code of the cells.
    ///
    /// ```
    /// use bouquet::{VariableIncrement, counting::CellCode};
    /// assert_eq!(VariableIncrement::with_rate(1_000, 0.01)?.code().width(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn code(&self) -> &C {
        &self.mechanism.code
    }

    /// The cells, slice after slice.
    ///
    /// ```
    /// let mut filter = bouquet::VariableIncrement::with_size(7_000, 5)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.cells().count_nonzero(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn cells(&self) -> &Counters {
        &self.mechanism.cells
    }

    /// Cells that are frozen: they stay in use, and admit everything, whatever is removed.
    ///
    /// ```
    /// let mut filter = bouquet::FingerprintCounting::with_size(6_000, 5)?;
    /// (0..15).for_each(|_| _ = filter.insert("rose"));
    /// assert_eq!(filter.frozen(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn frozen(&self) -> u64 {
        self.cells().iter().filter(|&cell| self.code().is_frozen(cell)).count() as u64
    }
}

#[cfg(test)]
pub(crate) mod testing {
    /// The share of absent keys among `queries` that seem present.
    pub(crate) fn measured_rate(contains: impl Fn(&u64) -> bool, queries: u64) -> f64 {
        let absent = 1 << 40;
        (absent..absent + queries).filter(contains).count() as f64 / queries as f64
    }

    /// The luck of the queries, and that of the cells: a share q of m cells that pass scatters by at most sqrt(q
    /// (1-q) / m).
    pub(crate) fn sigma(rate: f64, hashes: u32, cells: u64, queries: u64) -> f64 {
        let pass = rate.powf(1.0 / f64::from(hashes));
        let of_cells = f64::from(hashes) * rate / pass * (pass * (1.0 - pass) / cells as f64).sqrt();
        f64::hypot((rate * (1.0 - rate) / queries as f64).sqrt(), of_cells)
    }
}
