//! The table of cells under the structures that list what they hold.
//!
//! A cell has a count and the sums of the entries that were put into it. What an entry is and how entries are summed is a
//! matter of [`Sums`]: pairs with a check sum in [`iblt`](crate::values::iblt), ids in
//! [`invertible_counting`](crate::counting::invertible_counting). A cell that holds one entry only reveals it, and taking
//! that out of its other cells leaves more such cells.
//!
//! ```text
//! cell, packed without gaps:   count (two's complement)   sums
//! ```

use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::parts::peel::{self, peel_cells};
use crate::parts::slices::HashWords;
use crate::store::{Grain, Words, read_field, write_field};

/// The most cells per entry.
pub(crate) const MAX_HASHES: usize = 8;

/// What a cell holds beside its count: sums of entries, in the bits of a table's words from `at` on. Arithmetic wraps, so
/// that no content can make it panic.
pub(crate) trait Sums: Clone + PartialEq + std::fmt::Debug {
    /// What is summed.
    type Entry;

    /// Bits of a cell's count.
    const COUNT_BITS: u32;

    /// Bits of a cell's sums.
    fn bits(&self) -> u32;

    /// The digest that chooses the cells of an entry.
    fn digest(&self, entry: &Self::Entry, hashing: &Hashing) -> Digest;

    /// Whether the sums are those of no entry.
    fn is_zero(&self, words: &[u64], at: u64) -> bool;

    /// Adds an entry `count` times; where sums are XORs, once, whatever the count.
    fn add(&self, words: &mut [u64], at: u64, entry: &Self::Entry, count: i64);

    /// Adds the sums of the same cell of another table (`sign` 1), or takes them away (-1).
    fn combine(&self, words: &mut [u64], at: u64, other: &[u64], sign: i64);

    /// The entry that is in a cell of this count, which is not 0, and nothing else is, if the sums prove it.
    fn sole(&self, words: &[u64], at: u64, count: i64, hashing: &Hashing) -> Option<Self::Entry>;
}

/// An entry with its cells.
#[derive(Clone, Debug)]
pub(crate) struct Placed<E> {
    pub(crate) entry: E,
    /// As many as there are hashes.
    cells: [u64; MAX_HASHES],
}

/// An entry that a cell holds alone, this many times.
pub(crate) struct Sole<E> {
    pub(crate) placed: Placed<E>,
    pub(crate) count: i64,
}

/// Where entries lie: in one cell of each of `hashes` slices of `slice_len` cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slices {
    pub(crate) slice_len: u64,
    pub(crate) hashes: u32,
}

impl Slices {
    /// At least this many cells in this many slices.
    pub(crate) fn of(cells: u64, hashes: u32) -> Self {
        Slices { slice_len: cells.div_ceil(hashes.into()), hashes }
    }

    /// The number of cells.
    pub(crate) fn cells(&self) -> u64 {
        self.slice_len * u64::from(self.hashes)
    }

    /// Bits of a table of such sums, or an error when they cannot be addressed.
    pub(crate) fn bits<S: Sums>(&self, sums: &S) -> Result<u64> {
        let cell = u128::from(S::COUNT_BITS + sums.bits());
        let bits = u128::from(self.slice_len) * u128::from(self.hashes) * cell;
        match u64::try_from(bits) {
            Ok(bits) if bits <= 1 << 62 => Ok(bits),
            _ => Err(Error::TooLarge { what: "the table".into(), bytes: bits / 8 }),
        }
    }
}

/// The table. It keeps the hashing, too: what comes out of it is hashed again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SummedCells<S> {
    pub(crate) sums: S,
    pub(crate) slices: Slices,
    hashing: Hashing,
    words: Words,
}

impl<S: Sums> SummedCells<S> {
    pub(crate) fn zeroed(sums: S, slices: Slices, hashing: Hashing) -> Result<Self> {
        Ok(SummedCells { words: Words::zeroed(slices.bits(&sums)?.div_ceil(64))?, sums, slices, hashing })
    }

    /// The table in these words; `None` when their number is wrong or a bit behind the last cell is set.
    pub(crate) fn from_words(sums: S, slices: Slices, hashing: Hashing, words: Words) -> Option<Self> {
        let bits = slices.bits(&sums).ok()?;
        let slice = words.as_slice();
        let tail_is_zero = match (slice.last(), bits % 64) {
            (Some(last), used @ 1..) => last >> used == 0,
            _ => true,
        };
        let fits = slice.len() as u64 == bits.div_ceil(64) && tail_is_zero;
        fits.then_some(SummedCells { sums, slices, hashing, words })
    }

    pub(crate) fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.words.as_slice()
    }

    #[cfg(test)]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.words.as_mut_slice()
    }

    /// What its cells are.
    pub(crate) fn grain(&self) -> Grain {
        Grain { name: "cells of sums", width: S::COUNT_BITS + self.sums.bits(), group: 1 }
    }

    pub(crate) fn bits(&self) -> u64 {
        self.slices.cells() * self.cell_bits()
    }

    fn cell_bits(&self) -> u64 {
        u64::from(S::COUNT_BITS + self.sums.bits())
    }

    /// The bit at which the sums of a cell begin.
    #[inline]
    pub(crate) fn sums_at(&self, cell: u64) -> u64 {
        cell * self.cell_bits() + u64::from(S::COUNT_BITS)
    }

    /// The entry with its cells, one in each slice.
    #[inline]
    pub(crate) fn place(&self, entry: S::Entry) -> Placed<S::Entry> {
        let cells = self.cells_of(self.sums.digest(&entry, &self.hashing));
        Placed { entry, cells }
    }

    /// The cells of a digest; only as many as there are hashes count.
    #[inline]
    pub(crate) fn cells_of(&self, digest: Digest) -> [u64; MAX_HASHES] {
        let mut words = HashWords::new(digest);
        let mut cells = [0; MAX_HASHES];
        for (slice, cell) in (0..u64::from(self.slices.hashes)).zip(&mut cells) {
            *cell = words.cell(slice, self.slices.slice_len);
        }
        cells
    }

    /// The cells that count.
    #[inline]
    pub(crate) fn own<'a>(&self, cells: &'a [u64; MAX_HASHES]) -> &'a [u64] {
        &cells[..self.slices.hashes as usize]
    }

    /// The cells of an entry.
    #[inline]
    pub(crate) fn cells<'a>(&self, placed: &'a Placed<S::Entry>) -> &'a [u64] {
        self.own(&placed.cells)
    }

    /// The count of a cell: that of all entries in it.
    #[inline]
    pub(crate) fn count(&self, cell: u64) -> i64 {
        let above = 64 - S::COUNT_BITS;
        (read_field(self.words(), cell * self.cell_bits(), S::COUNT_BITS) << above) as i64 >> above
    }

    #[inline]
    fn set_count(&mut self, cell: u64, count: i64) {
        let at = cell * self.cell_bits();
        write_field(self.words.as_mut_slice(), at, S::COUNT_BITS, count as u64 & (u64::MAX >> (64 - S::COUNT_BITS)));
    }

    /// Whether `count` more of an entry fit into its cells.
    pub(crate) fn has_room(&self, placed: &Placed<S::Entry>, count: i64) -> bool {
        self.cells(placed).iter().all(|&cell| fits::<S>(i128::from(self.count(cell)) + i128::from(count)))
    }

    /// Adds an entry `count` times to its cells.
    pub(crate) fn add(&mut self, placed: &Placed<S::Entry>, count: i64) {
        self.add_count(placed, count);
        for &cell in self.own(&placed.cells) {
            let at = self.sums_at(cell);
            self.sums.add(self.words.as_mut_slice(), at, &placed.entry, count);
        }
    }

    /// Adds to the counts of an entry's cells and leaves the sums alone.
    pub(crate) fn add_count(&mut self, placed: &Placed<S::Entry>, count: i64) {
        for &cell in self.own(&placed.cells) {
            self.set_count(cell, self.count(cell).wrapping_add(count));
        }
    }

    pub(crate) fn is_zero(&self, cell: u64) -> bool {
        self.count(cell) == 0 && self.sums.is_zero(self.words(), self.sums_at(cell))
    }

    /// The entry of a cell that holds one only, and how often it holds it.
    pub(crate) fn sole(&self, cell: u64) -> Option<Sole<S::Entry>> {
        let count = self.count(cell);
        if count == 0 {
            return None;
        }
        let placed = self.place(self.sums.sole(self.words(), self.sums_at(cell), count, &self.hashing)?);
        // An entry in a cell that is not one of its own is a forgery or a coincidence.
        self.cells(&placed).contains(&cell).then_some(Sole { placed, count })
    }

    /// Adds the cells of a table of the same shape and hashing (`sign` 1), or takes them away (-1). Nothing changes if a
    /// count does not fit.
    pub(crate) fn combine(&mut self, other: &Self, sign: i64) -> Result<()> {
        let sum = |cell| i128::from(self.count(cell)) + i128::from(sign) * i128::from(other.count(cell));
        if !(0..self.slices.cells()).all(|cell| fits::<S>(sum(cell))) {
            return Err(full::<S>());
        }
        for cell in 0..self.slices.cells() {
            self.set_count(cell, self.count(cell).wrapping_add(sign.wrapping_mul(other.count(cell))));
            let at = self.sums_at(cell);
            self.sums.combine(self.words.as_mut_slice(), at, other.words(), sign);
        }
        Ok(())
    }

    /// Takes out everything that can be decoded. At most twice as many entries as cells: a table that was not filled by its
    /// own operations need not end otherwise.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(Sole<S::Entry>)) {
        let most = (self.slices.cells() as usize).saturating_mul(2);
        let _ = peel_cells(self, most, |sole, _| {
            each(sole);
            ControlFlow::Continue(())
        });
    }

    /// Net insertions: each is in one cell of the first slice.
    pub(crate) fn items(&self) -> u64 {
        let sum: i128 = (0..self.slices.slice_len).map(|cell| i128::from(self.count(cell))).sum();
        u64::try_from(sum.max(0)).unwrap_or(u64::MAX)
    }

    /// Whether nothing is in.
    pub(crate) fn is_empty(&self) -> bool {
        self.words().iter().all(|&word| word == 0)
    }

    /// The cells that hold something.
    pub(crate) fn used(&self) -> u64 {
        (0..self.slices.cells()).filter(|&cell| !self.is_zero(cell)).count() as u64
    }
}

/// Whether a count has room in its bits.
fn fits<S: Sums>(count: i128) -> bool {
    count >> (S::COUNT_BITS - 1) == 0 || count >> (S::COUNT_BITS - 1) == -1
}

/// The error of a count that does not fit.
pub(crate) fn full<S: Sums>() -> Error {
    Error::Full {
        what: format!("a count has reached the end of its {} bits", S::COUNT_BITS),
        remedy: "take more `cells`, or fewer occurrences per table".into(),
    }
}

impl<S: Sums> peel::Cells for SummedCells<S> {
    type Item = Sole<S::Entry>;

    fn cell_count(&self) -> usize {
        // The words of all cells are in memory, so their number fits.
        self.slices.cells() as usize
    }

    fn sole_item(&self, cell: usize) -> Option<Sole<S::Entry>> {
        self.sole(cell as u64)
    }

    fn take(&mut self, sole: &Sole<S::Entry>, touched: &mut Vec<usize>) {
        self.add(&sole.placed, sole.count.wrapping_neg());
        touched.extend(self.cells(&sole.placed).iter().map(|&cell| cell as usize));
    }
}
