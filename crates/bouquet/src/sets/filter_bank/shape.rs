//! From settings to the shape of a bank: how many filters, of which size, in which layout.

use super::MAX_ROWS;
use crate::error::{Error, Result};
use crate::kind::{Config, common};
use crate::store::{BitMatrix, Orientation};
use crate::theory::{self, Size, bank, partitioned};

/// Bits of a counter. With a half-full filter one in 10^15 counters would need more.
pub(super) const COUNTER_BITS: u32 = 4;

/// How the filters lie in memory, and what they stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Sliced,
    Rows,
    Coded,
}

impl Layout {
    pub(super) fn name(self) -> &'static str {
        match self {
            Layout::Sliced => "sliced",
            Layout::Rows => "rows",
            Layout::Coded => "coded",
        }
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
    pub(super) fn plan(config: &Config) -> Result<Self> {
        let sets = config.need("sets")?;
        let counters = config.choice("cells") == "counters";
        let layout = match config.choice("layout") {
            // Counters need rows, so that is what they mean by default.
            _ if counters && !config.is_set("layout") => Layout::Rows,
            "rows" => Layout::Rows,
            "coded" => Layout::Coded,
            _ => Layout::Sliced,
        };
        if counters && layout != Layout::Rows {
            return Err(Error::parameter("layout", "rows with cells=counters", layout.name()));
        }
        if layout == Layout::Rows && sets > MAX_ROWS {
            return Err(Error::parameter("sets", format!("at most {MAX_ROWS} with layout=rows"), sets));
        }
        let Size { bits, hashes } = Self::size(config, sets, layout)?;
        let shape = Shape { sets, bits, hashes, layout, counters };
        shape.store_bits()?;
        Ok(shape)
    }

    /// The size of each filter. Sets are planned to be equally large; the fullest filter of a coded bank then holds
    /// every second one.
    fn size(config: &Config, sets: u64, layout: Layout) -> Result<Size> {
        let coded = layout == Layout::Coded;
        let filters = if coded { bank::code_filters(sets).into() } else { sets };
        let sets_per_filter = if coded { sets.div_ceil(2) } else { 1 };
        let items = config.count("items").map(|items| items.div_ceil(sets).saturating_mul(sets_per_filter));
        let rate = match config.real("spurious") {
            Some(_) if config.is_set("fpr") => {
                return Err(Error::parameter("spurious", "given without `fpr`", "given with it"));
            }
            Some(delta) if filters > 1 => bank::rate_for(filters, delta),
            _ => config.real("fpr").unwrap_or(0.01),
        };
        let hashes = config.count("hashes").map(|k| k as u32);
        let size = match (config.count("bits"), items, hashes) {
            (Some(bits), _, Some(hashes)) => Size { bits, hashes },
            (Some(bits), Some(items), None) => theory::standard::for_bits(bits, items)?,
            (None, Some(items), None) => partitioned::for_rate(items, rate)?,
            (None, Some(items), Some(hashes)) => size_for(items, rate, hashes)?,
            (bits, None, _) => {
                let instead = if bits.is_some() { "`hashes`" } else { "`bits`" };
                return Err(Error::parameter("items", common::ITEMS.range(), format!("missing (or give {instead})")));
            }
        };
        Ok(whole_slices(size))
    }

    pub(super) fn is_coded(&self) -> bool {
        self.layout == Layout::Coded
    }

    pub(super) fn filters(&self) -> u64 {
        if self.is_coded() { bank::code_filters(self.sets).into() } else { self.sets }
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
