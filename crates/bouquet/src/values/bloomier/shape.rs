//! The settings of a Bloomier filter, checked, and what follows from them.

use super::cascade;
use super::compact::{self, Compact};
use super::table;
use super::{BloomierSettings, MODE, VALUES, bits_for};
use crate::error::{Error, Result};
use crate::kind::common;
use crate::shell::{Choice, choices};
use crate::store::Counters;
use crate::theory::{MAX_BITS, peeling, standard};

/// What the table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Three cells whose sum is the value.
    Table,
    /// The same, with values that can be changed.
    Mutable,
    /// The smallest, slow to build.
    Compact,
    /// A Bloom filter per value, and one more for what they get wrong.
    Cascade,
}

choices!(Mode { Table = "table", Mutable = "mutable", Compact = "compact", Cascade = "cascade" });

/// The settings, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) mode: Mode,
    pub(super) values: u64,
    /// Bits per cell; 0 in mode cascade.
    pub(super) width: u32,
    /// Given cells; a multiple of 3.
    pub(super) cells: Option<u64>,
    pub(super) fpr: Option<f64>,
}

impl Shape {
    pub(super) fn of(settings: &BloomierSettings) -> Result<Self> {
        let (values, mode) = (VALUES.need(settings.values)?, MODE.need(settings.mode)?);
        let cells = settings.cells.map(|cells| cells.next_multiple_of(table::K as u64));
        if cells.is_some() && !matches!(mode, Mode::Table | Mode::Mutable) {
            return Err(Error::parameter("cells", format!("left out in mode {}", mode.word()), cells.unwrap_or(0)));
        }
        let fpr = common::FPR.need(settings.fpr)?;
        let mut shape = Shape { mode, values, width: 0, cells, fpr: settings.fpr };
        let width = settings.width;
        if mode == Mode::Cascade {
            if let Some(width) = width {
                return Err(Error::parameter("width", "left out in mode cascade", width));
            }
            if values > cascade::MAX_VALUES {
                let expected = format!("at most {} in mode cascade", cascade::MAX_VALUES);
                return Err(Error::parameter("values", expected, values));
            }
            shape.fpr = Some(fpr);
            return Ok(shape);
        }
        if let Some(width) = width {
            let least = bits_for(shape.accepted() - 1);
            if width < least {
                return Err(Error::parameter("width", format!("at least {least} for what a cell has to tell"), width));
            }
            shape.width = width;
            return Ok(shape);
        }
        shape.width = (1..=Counters::MAX_WIDTH).find(|&width| shape.rate_of(width) <= fpr).ok_or_else(|| {
            Error::parameter("fpr", format!("at least {:e}", shape.rate_of(Counters::MAX_WIDTH)), fpr)
        })?;
        Ok(shape)
    }

    /// How many sums are accepted as those of a member.
    pub(super) fn accepted(&self) -> u64 {
        if self.mode == Mode::Mutable { table::K as u64 } else { self.values }
    }

    /// The rate of values for absent keys with cells of this width: the sums that are accepted, among all.
    pub(super) fn rate_of(&self, width: u32) -> f64 {
        peeling::bloomier_rate(self.accepted(), width)
    }

    /// The rate of each filter of a cascade.
    pub(super) fn filter_rate(&self) -> f64 {
        self.fpr.unwrap_or(1.0) / self.values as f64
    }

    /// The rate of the design, for any number of keys but none.
    pub(super) fn rate(&self) -> f64 {
        if self.mode != Mode::Cascade {
            return self.rate_of(self.width);
        }
        peeling::cascade_rate(self.values, self.filter_rate())
    }

    /// Bits of a value.
    pub(super) fn value_bits(&self) -> u32 {
        bits_for(self.values - 1)
    }

    pub(super) fn table_cells(&self, keys: u64) -> Result<u64> {
        self.cells.map_or_else(|| table::cells_for(keys), Ok)
    }

    /// The bits of the stores with this many keys; an expectation in the modes compact and cascade.
    pub(super) fn planned_bits(&self, keys: u64) -> Result<u64> {
        let table = |width: u32| Ok::<_, Error>(self.table_cells(keys)?.checked_mul(width.into()));
        let bits = match self.mode {
            Mode::Table => table(self.width)?,
            Mode::Mutable => table(self.width + self.value_bits())?,
            Mode::Compact => Some(Compact::planned_bits(keys, self.width)),
            Mode::Cascade => {
                let size = standard::for_rate((keys / self.values).max(1), self.filter_rate())?;
                let level = size.bits as f64 * self.values as f64;
                Some((level / (1.0 - (self.values - 1) as f64 * self.filter_rate())) as u64)
            }
        };
        bits.filter(|&bits| bits <= MAX_BITS)
            .ok_or_else(|| Error::TooLarge { what: "the table".into(), bytes: u128::from(keys) * 8 })
    }

    pub(super) fn hashes(&self) -> u32 {
        match self.mode {
            Mode::Table | Mode::Mutable => table::K as u32,
            Mode::Compact => compact::K as u32,
            Mode::Cascade => standard::for_rate(1_000, self.filter_rate()).map_or(0, |size| size.hashes),
        }
    }

    /// Refuses a value that is not below the number of values.
    pub(super) fn check_value(&self, value: u64) -> Result<()> {
        if value < self.values {
            return Ok(());
        }
        Err(Error::Item { expected: format!("a value below {} (see `values`)", self.values), found: value.to_string() })
    }
}
