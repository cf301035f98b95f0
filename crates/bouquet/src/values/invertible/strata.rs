//! The estimator of how many keys two sets differ in.
//!
//! ```text
//! stratum 0   half of the keys      80 cells
//! stratum 1   a quarter             80 cells
//!   ...
//! stratum 31  the rest
//! ```
//!
//! A key belongs to the stratum that the trailing zeros of a hash of it name. The sparsest strata can be decoded whatever the difference
//! is; at the first that cannot, what was found is scaled up.

use super::Ids;
use crate::capability::Estimate;
use crate::error::Result;
use crate::hash::Hashing;
use crate::parts::summed_cells::{Slices, SummedCells};

/// The strata.
const STRATA: usize = 32;

/// Sets the stratum apart from the cells.
const STREAM: u64 = 0x0073_7472_6174_756d;

/// The standard error of an estimate that is scaled up, in terms of it: one percent of them are below 0.76 and one above 1.26.
const RELATIVE_ERROR: f64 = 0.11;

/// The cells of a stratum.
const SLICES: Slices = Slices { slice_len: 20, hashes: 4 };

/// A small table for each stratum.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Strata(Vec<SummedCells<Ids>>);

impl Strata {
    /// The bits of all of them.
    pub(super) fn bits(ids: &Ids) -> Result<u64> {
        Ok(SLICES.bits(ids)? * STRATA as u64)
    }

    pub(super) fn zeroed(ids: Ids, hashing: &Hashing) -> Result<Self> {
        Self::of(|slices| SummedCells::zeroed(ids, slices, hashing.clone()))
    }

    /// Of tables that are made or read one after the other.
    pub(super) fn of(table: impl FnMut(Slices) -> Result<SummedCells<Ids>>) -> Result<Self> {
        std::iter::repeat_n(SLICES, STRATA).map(table).collect::<Result<Vec<_>>>().map(Strata)
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &SummedCells<Ids>> {
        self.0.iter()
    }

    pub(super) fn own_bits(&self) -> u64 {
        self.0.iter().map(SummedCells::bits).sum()
    }

    /// Adds a key to its stratum, or takes it away. The counts of a stratum wrap only after those of the table beside it are full.
    pub(super) fn change(&mut self, key: &[u8], count: i64) {
        let Some(first) = self.0.first() else { return };
        let stratum = first.hashing().digest(key).derive(STREAM).h1.trailing_zeros() as usize;
        let table = &mut self.0[stratum.min(STRATA - 1)];
        if let Ok(record) = table.record(key, b"") {
            table.add_record(record, count);
        }
    }

    pub(super) fn combine(&mut self, other: &Self, sign: i64) -> Result<()> {
        self.0.iter_mut().zip(&other.0).try_for_each(|(mine, theirs)| mine.combine(theirs, sign))
    }

    /// The keys that only one of two sets has: from the sparsest stratum on as long as strata can be decoded, then scaled up.
    pub(super) fn distance(&self, other: &Self) -> Result<Estimate> {
        let mut sum = 0u64;
        for (stratum, (mine, theirs)) in self.0.iter().zip(&other.0).enumerate().rev() {
            let mut left = mine.clone();
            left.combine(theirs, -1)?;
            let mut decoded = 0;
            left.drain(|_| decoded += 1);
            if left.used() > 0 {
                let keys = sum as f64 * 2f64.powi(stratum as i32 + 1);
                return Ok(Estimate { keys, standard_error: RELATIVE_ERROR * keys, saturated: sum == 0 });
            }
            sum += decoded;
        }
        Ok(Estimate { keys: sum as f64, standard_error: 0.0, saturated: false })
    }
}
