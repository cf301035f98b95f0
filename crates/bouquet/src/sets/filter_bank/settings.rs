//! From settings to the shape of a bank: how many filters, of which size, in which layout.

use super::{MAX_ROWS, MAX_SETS};
use crate::error::{Error, Result, same};
use crate::kind::{Parameter, common};
use crate::shell::{Choice, Fields, Settings, choices, fields};
use crate::store::{BitMatrix, Orientation};
use crate::theory::{self, Size, bank, partitioned};

/// Bits of a counter. With a half-full filter one in 10^15 counters would need more.
pub(super) const COUNTER_BITS: u32 = 4;

/// How the filters lie in memory, and what they stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The bits of all sets at one position together.
    Sliced,
    /// A vector per set.
    Rows,
    /// One filter per bit of the set's number.
    Coded,
}

choices!(Layout { Sliced = "sliced", Rows = "rows", Coded = "coded" });

/// What the filters are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Bits.
    Bits,
    /// Counters of four bits, which allow removal.
    Counters,
}

choices!(Cell { Bits = "bits", Counters = "counters" });

const SETS: Parameter = Parameter::count("sets", "number of sets; their numbers begin with 0", 1, MAX_SETS).or(4);
const ITEMS: Parameter =
    Parameter::count("items", "memberships in all sets together, spread evenly over them", 1, 1 << 56);
const FPR: Parameter = Parameter { help: "false-positive rate of each set with its share of the items", ..common::FPR };
const SPURIOUS: Parameter =
    Parameter::real("spurious", "instead of fpr: members that are reported in another set too", 0.0, 1.0);
const BITS: Parameter = Parameter { help: "size of each set's filter in bits, instead of a rate", ..common::BITS };
const LAYOUT: Parameter = Parameter::choice(
    "layout",
    "rows of all sets per position, a vector per set, or one filter per bit of the set's number",
    Layout::WORDS,
);
pub(super) const CELLS: Parameter =
    Parameter::choice("cells", "bits, or 4-bit counters that allow removal (layout rows)", Cell::WORDS);

/// The settings of a filter bank.
///
/// ```
/// use bouquet::{FilterBank, FilterBankSettings, sets::filter_bank::{Cell, Layout}};
/// let asked = FilterBankSettings { sets: Some(1_000), items: Some(5_000), ..Default::default() };
/// let mut bank = FilterBank::with(FilterBankSettings { layout: Some(Layout::Coded), ..asked.clone() })?;
/// bank.insert("rose", 999)?;
/// assert!(bank.contains_in("rose", 999));
/// let counted = FilterBankSettings { layout: Some(Layout::Coded), cells: Some(Cell::Counters), ..asked };
/// assert!(FilterBank::with(counted).is_err(), "codes cannot be counted");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilterBankSettings {
    /// s, the number of sets.
    pub sets: Option<u64>,
    /// Memberships in all sets together.
    pub items: Option<u64>,
    /// The false-positive rate of each set with its share of the items.
    pub fpr: Option<f64>,
    /// Instead of `fpr`: the share of members that are reported in another set too.
    pub spurious: Option<f64>,
    /// m, the bits of each filter; rounded up to a multiple of `hashes`.
    pub bits: Option<u64>,
    /// k, the positions of a key.
    pub hashes: Option<u32>,
    /// How the filters lie in memory.
    pub layout: Option<Layout>,
    /// What the filters are made of.
    pub cells: Option<Cell>,
}

impl FilterBankSettings {
    /// The rate of each of this many filters.
    pub(super) fn rate(&self, filters: u64) -> Result<f64> {
        match self.spurious {
            Some(_) if self.fpr.is_some() => {
                Err(Error::parameter(SPURIOUS.name, "given without `fpr`", "given with it"))
            }
            Some(delta) if filters > 1 => Ok(bank::rate_for(filters, delta)),
            _ => FPR.need(self.fpr),
        }
    }
}

impl Settings for FilterBankSettings {
    const FIELDS: Fields<Self> = fields![
        sets: SETS,
        items: ITEMS,
        fpr: FPR,
        spurious: SPURIOUS,
        bits: BITS,
        hashes: common::HASHES,
        layout: LAYOUT,
        cells: CELLS,
    ];

    /// The number of bits follows from the others and is compared last.
    fn alike(&self, other: &Self) -> Result<()> {
        let number = |value: Option<u64>| value.unwrap_or(0);
        let word = |layout: Option<Layout>| layout.map_or("not given", Layout::word);
        same(SETS.name, number(self.sets), number(other.sets))?;
        same(common::HASHES.name, self.hashes.unwrap_or(0), other.hashes.unwrap_or(0))?;
        same(LAYOUT.name, word(self.layout), word(other.layout))?;
        same(CELLS.name, self.cells.map(Cell::word), other.cells.map(Cell::word))?;
        same(BITS.name, number(self.bits), number(other.bits))
    }
}

/// What the settings ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) sets: u64,
    /// Of each filter; a multiple of `hashes`. The largest where they differ.
    pub(super) bits: u64,
    pub(super) hashes: u32,
    pub(super) layout: Layout,
    pub(super) counters: bool,
}

impl Shape {
    pub(super) fn new(settings: &FilterBankSettings) -> Result<Self> {
        let sets = SETS.need(settings.sets)?;
        let counters = CELLS.need(settings.cells)? == Cell::Counters;
        let layout = match settings.layout {
            // Counters need rows, so that is what they mean by default.
            None if counters => Layout::Rows,
            layout => LAYOUT.need(layout)?,
        };
        if counters && layout != Layout::Rows {
            return Err(Error::parameter(LAYOUT.name, "rows with cells=counters", layout.word()));
        }
        if layout == Layout::Rows && sets > MAX_ROWS {
            return Err(Error::parameter(SETS.name, format!("at most {MAX_ROWS} with layout=rows"), sets));
        }
        let Size { bits, hashes } = Self::size(settings, sets, layout)?;
        let shape = Shape { sets, bits, hashes, layout, counters };
        shape.store_bits()?;
        Ok(shape)
    }

    /// The size of each filter. Sets are planned to be equally large; the fullest filter of a coded bank then holds
    /// every second one.
    fn size(settings: &FilterBankSettings, sets: u64, layout: Layout) -> Result<Size> {
        let coded = layout == Layout::Coded;
        let filters = if coded { bank::code_filters(sets).into() } else { sets };
        let sets_per_filter = if coded { sets.div_ceil(2) } else { 1 };
        let items = settings.items.map(|items| items.div_ceil(sets).saturating_mul(sets_per_filter));
        let rate = settings.rate(filters)?;
        let size = match (settings.bits, items, settings.hashes) {
            (Some(bits), _, Some(hashes)) => Size { bits, hashes },
            (Some(bits), Some(items), None) => theory::standard::for_bits(bits, items)?,
            (None, Some(items), None) => partitioned::for_rate(items, rate)?,
            (None, Some(items), Some(hashes)) => size_for(items, rate, hashes)?,
            (bits, None, _) => return Err(ITEMS.missing(if bits.is_some() { "hashes" } else { "bits" })),
        };
        Ok(whole_slices(size))
    }

    pub(super) fn is_coded(&self) -> bool {
        self.layout == Layout::Coded
    }

    pub(super) fn filters(&self) -> u64 {
        if self.is_coded() { bank::code_filters(self.sets).into() } else { self.sets }
    }

    /// The bits of each of the k slices of a filter.
    pub(super) fn slice_bits(&self) -> u64 {
        self.bits / u64::from(self.hashes)
    }

    pub(super) fn orientation(&self) -> Orientation {
        if self.layout == Layout::Rows { Orientation::BySet } else { Orientation::ByPosition }
    }

    pub(super) fn store_bits(&self) -> Result<u64> {
        let cells = BitMatrix::needed_bits(self.filters(), self.bits, self.orientation())?;
        let width = if self.counters { u64::from(COUNTER_BITS) } else { 1 };
        let bytes = || u128::from(cells) * u128::from(width) / 8;
        cells.checked_mul(width).ok_or_else(|| Error::TooLarge { what: "the filter bank".into(), bytes: bytes() })
    }
}

/// The size with `bits` rounded up to k equal slices.
fn whole_slices(size: Size) -> Size {
    let slice = partitioned::slice_bits(size.bits, size.hashes);
    Size { bits: slice.saturating_mul(size.hashes.into()), ..size }
}

/// The smallest size of k slices for this rate.
pub(super) fn size_for(items: u64, rate: f64, hashes: u32) -> Result<Size> {
    let bits = theory::standard::needed_bits(items, rate, hashes).ceil();
    if bits > theory::MAX_BITS as f64 {
        return Err(Error::TooLarge { what: "the filter bank".into(), bytes: (bits / 8.0) as u128 });
    }
    let mut size = whole_slices(Size { bits: bits as u64, hashes });
    // The formula neglects half a bit per slice and rounding: a step or two make up for it.
    for _ in 0..2 {
        if partitioned::rate(size.bits, items, hashes) > rate {
            size.bits += u64::from(hashes);
        }
    }
    Ok(size)
}
