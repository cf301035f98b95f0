//! The cells: a count and a field for ids, in which elements are summed or xored, and peeled again.
//!
//! ```text
//! cell, packed without gaps:   count (32, two's complement)   ids (61)
//! id:                          check (16)   body (45, never zeros or ones only)
//! ```
//!
//! Ids are summed in the field of 2^61 - 1 elements, where every count but 0 can be divided by.

use crate::error::{Error, Result, same};
use crate::hash::{Hashing, UNIVERSAL_PRIME, fastrange};
use crate::parts::peel;
use crate::parts::slices::HashWords;
use crate::store::{Words, read_field, write_field};

/// The most cells per element.
pub(super) const MAX_HASHES: usize = 8;

/// Bits of the check in an id.
pub(super) const CHECK_BITS: u32 = 16;

const ID_BITS: u32 = 61;
const COUNT_BITS: u32 = 32;
pub(super) const CELL_BITS: u32 = COUNT_BITS + ID_BITS;

/// Bodies are in `1..=BODIES`: no id is 0 or 2^61 - 1.
const BODIES: u64 = (1 << (ID_BITS - CHECK_BITS)) - 2;

/// Sets the check apart from the cells, which come from the same digest.
const CHECK_STREAM: u64 = 0xC4EC;

/// How ids are accumulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// As often as the element is in.
    Sum,
    /// Once, however often it is in.
    Xor,
}

impl Mode {
    pub(super) const NAMES: [&str; 2] = ["sum", "xor"];

    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// a b in the field.
fn multiply(a: u64, b: u64) -> u64 {
    // Below 2^122: two digits of 61 bits, and 2^61 is 1.
    let product = u128::from(a) * u128::from(b);
    let folded = (product as u64 & UNIVERSAL_PRIME) + (product >> ID_BITS) as u64;
    folded % UNIVERSAL_PRIME
}

/// 1/a in the field: a^(p-2).
fn inverse(a: u64) -> u64 {
    let (mut power, mut out, mut exponent) = (a, 1, UNIVERSAL_PRIME - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            out = multiply(out, power);
        }
        power = multiply(power, power);
        exponent >>= 1;
    }
    out
}

fn add(a: u64, b: u64) -> u64 {
    (a + b) % UNIVERSAL_PRIME
}

fn negate(a: u64) -> u64 {
    (UNIVERSAL_PRIME - a) % UNIVERSAL_PRIME
}

/// A count in the field; counts have 32 bits, so that only 0 becomes 0.
fn in_field(count: i64) -> u64 {
    let size = count.unsigned_abs() % UNIVERSAL_PRIME;
    if count < 0 { negate(size) } else { size }
}

/// An element by its id, with its cells.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) id: u64,
    /// As many as there are hashes.
    cells: [u64; MAX_HASHES],
}

/// What the cells of an element say about it.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    /// One of them is empty.
    Absent,
    /// One of them holds nothing else: it is in so many times.
    Alone(i64),
    /// All hold others too; the smallest count.
    Mixed(i64),
}

/// The table of cells, in `hashes` slices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IdTable {
    pub(super) slice_len: u64,
    pub(super) hashes: u32,
    pub(super) mode: Mode,
    pub(super) hashing: Hashing,
    words: Words,
}

/// Bits of a table.
pub(super) fn table_bits(slice_len: u64, hashes: u32) -> Result<u64> {
    let bits = u128::from(slice_len) * u128::from(hashes) * u128::from(CELL_BITS);
    match u64::try_from(bits) {
        Ok(bits) if bits <= 1 << 62 => Ok(bits),
        _ => Err(Error::TooLarge { what: "the table".into(), bytes: bits / 8 }),
    }
}

impl IdTable {
    pub(super) fn zeroed(slice_len: u64, hashes: u32, mode: Mode, hashing: Hashing) -> Result<Self> {
        let words = Words::zeroed(table_bits(slice_len, hashes)?.div_ceil(64))?;
        Ok(IdTable { slice_len, hashes, mode, hashing, words })
    }

    /// The table in these words; `None` when their number is wrong, a bit behind the last cell is set, or, if all are
    /// `read`, an id is none.
    pub(super) fn from_words(
        slice_len: u64,
        hashes: u32,
        mode: Mode,
        hashing: Hashing,
        words: Words,
        read: bool,
    ) -> Option<Self> {
        let bits = table_bits(slice_len, hashes).ok()?;
        let slice = words.as_slice();
        let tail_is_zero = match (slice.last(), bits % 64) {
            (Some(last), used @ 1..) => last >> used == 0,
            _ => true,
        };
        if slice.len() as u64 != bits.div_ceil(64) || !tail_is_zero {
            return None;
        }
        let table = IdTable { slice_len, hashes, mode, hashing, words };
        // Where the words are not read, the arithmetic reduces what is too large.
        let in_field = |cell| mode == Mode::Xor || table.cell(cell).1 < UNIVERSAL_PRIME;
        (!read || (0..table.cells()).all(in_field)).then_some(table)
    }

    pub(super) fn cells(&self) -> u64 {
        self.slice_len * u64::from(self.hashes)
    }

    pub(super) fn words(&self) -> &[u64] {
        self.words.as_slice()
    }

    /// Count and ids of a cell.
    #[inline]
    fn cell(&self, cell: u64) -> (i64, u64) {
        let (words, at) = (self.words.as_slice(), cell * u64::from(CELL_BITS));
        let count = read_field(words, at, COUNT_BITS) as u32 as i32;
        (i64::from(count), read_field(words, at + u64::from(COUNT_BITS), ID_BITS))
    }

    /// Counts fit in 32 bits: whoever writes has looked, or takes out what is there.
    #[inline]
    fn write(&mut self, cell: u64, count: i64, ids: u64) {
        let at = cell * u64::from(CELL_BITS);
        let words = self.words.as_mut_slice();
        write_field(words, at, COUNT_BITS, u64::from(count as u32));
        write_field(words, at + u64::from(COUNT_BITS), ID_BITS, ids);
    }

    #[inline]
    fn own<'a>(&self, element: &'a Element) -> &'a [u64] {
        &element.cells[..self.hashes as usize]
    }

    /// The element of a key.
    pub(super) fn element(&self, key: &[u8]) -> Element {
        self.element_of_body(1 + fastrange(self.hashing.digest(key).h1, BODIES))
    }

    /// Check and cells follow from the body of an id, so that elements can be peeled which nobody here knows.
    fn element_of_body(&self, body: u64) -> Element {
        let digest = self.hashing.digest(&body.to_le_bytes());
        let check = digest.derive(CHECK_STREAM).h1 >> (64 - CHECK_BITS);
        let mut words = HashWords::new(digest);
        let mut cells = [0; MAX_HASHES];
        for (slice, cell) in (0..u64::from(self.hashes)).zip(&mut cells) {
            *cell = words.cell(slice, self.slice_len);
        }
        Element { id: body << CHECK_BITS | check, cells }
    }

    /// Whether `count` more of the element fit into its cells.
    pub(super) fn has_room(&self, element: &Element, count: i64) -> bool {
        let fits = |cell: &u64| i32::try_from(self.cell(*cell).0.saturating_add(count)).is_ok();
        self.own(element).iter().all(fits)
    }

    /// Adds the element `count` times. Under xor its id is xored in, or out, only if `toggles`.
    pub(super) fn add(&mut self, element: &Element, count: i64, toggles: bool) {
        let more = multiply(in_field(count), element.id);
        for &at in self.own(element) {
            let (held, ids) = self.cell(at);
            let ids = match self.mode {
                Mode::Sum => add(ids, more),
                Mode::Xor if toggles => ids ^ element.id,
                Mode::Xor => ids,
            };
            self.write(at, held.wrapping_add(count), ids);
        }
    }

    /// What the cells of an element say about it.
    pub(super) fn look_up(&self, element: &Element) -> Found {
        let mut least = i64::MAX;
        for &at in self.own(element) {
            let (count, ids) = self.cell(at);
            let alone = match self.mode {
                Mode::Sum => multiply(in_field(count), element.id),
                Mode::Xor => element.id,
            };
            match (count, ids) {
                (0, 0) => return Found::Absent,
                (count, ids) if count != 0 && ids == alone => return Found::Alone(count),
                (count, _) => least = least.min(count),
            }
        }
        Found::Mixed(least)
    }

    /// Whether nothing but a count, the same in each of its cells, is left of the element.
    pub(super) fn bare_count(&self, element: &Element) -> Option<i64> {
        let mut cells = self.own(element).iter().map(|&at| self.cell(at));
        let (count, ids) = cells.next()?;
        (count != 0 && ids == 0 && cells.all(|cell| cell == (count, 0))).then_some(count)
    }

    /// Adds the cells of another table (`sign` 1) or takes them away (-1). Nothing changes if a count does not fit.
    pub(super) fn combine(&mut self, other: &Self, sign: i64) -> Result<()> {
        same("cells", self.cells(), other.cells())?;
        same("hashes", self.hashes, other.hashes)?;
        same("mode", self.mode, other.mode)?;
        same("hashing", &self.hashing, &other.hashing)?;
        let sum = |table: &Self, cell| table.cell(cell).0 + sign * other.cell(cell).0;
        if (0..self.cells()).any(|cell| i32::try_from(sum(self, cell)).is_err()) {
            return Err(full());
        }
        for cell in 0..self.cells() {
            let (mine, theirs) = (self.cell(cell).1, other.cell(cell).1);
            let ids = match self.mode {
                Mode::Xor => mine ^ theirs,
                Mode::Sum if sign < 0 => add(mine, negate(theirs % UNIVERSAL_PRIME)),
                Mode::Sum => add(mine, theirs),
            };
            self.write(cell, sum(self, cell), ids);
        }
        Ok(())
    }

    /// Net insertions: each is in one cell of the first slice.
    pub(super) fn items(&self) -> u64 {
        let sum: i128 = (0..self.slice_len).map(|cell| i128::from(self.cell(cell).0)).sum();
        u64::try_from(sum.max(0)).unwrap_or(u64::MAX)
    }

    /// The cells that hold something.
    pub(super) fn used(&self) -> u64 {
        (0..self.cells()).filter(|&cell| self.cell(cell) != (0, 0)).count() as u64
    }

    pub(super) fn is_zero(&self) -> bool {
        self.words.as_slice().iter().all(|&word| word == 0)
    }
}

pub(super) fn full() -> Error {
    Error::Full {
        what: "a count has reached the end of its 32 bits".into(),
        remedy: "take more `cells`, or fewer occurrences per table".into(),
    }
}

/// An element that a cell holds alone, so many times.
pub(super) struct Sole {
    pub(super) element: Element,
    pub(super) count: i64,
}

impl peel::Cells for IdTable {
    type Item = Sole;

    fn cell_count(&self) -> usize {
        // The words of all cells are in memory, so their number fits.
        self.cells() as usize
    }

    fn sole_item(&self, cell: usize) -> Option<Sole> {
        let (count, ids) = self.cell(cell as u64);
        if count == 0 || ids == 0 {
            return None;
        }
        let id = match (self.mode, count) {
            (Mode::Xor, _) | (Mode::Sum, 1) => ids,
            (Mode::Sum, _) => multiply(ids % UNIVERSAL_PRIME, inverse(in_field(count))),
        };
        let body = id >> CHECK_BITS;
        if !(1..=BODIES).contains(&body) {
            return None;
        }
        let element = self.element_of_body(body);
        // An id in a cell that is not one of its own is a forgery or a coincidence.
        (element.id == id && self.own(&element).contains(&(cell as u64))).then_some(Sole { element, count })
    }

    fn take(&mut self, sole: &Sole, touched: &mut Vec<usize>) {
        self.add(&sole.element, -sole.count, true);
        touched.extend(self.own(&sole.element).iter().map(|&cell| cell as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn every_number_but_zero_has_an_inverse() {
        let mut random = SplitMix::new(1);
        for round in 0..200 {
            let a = [1, 2, UNIVERSAL_PRIME - 1]
                .get(round)
                .copied()
                .unwrap_or_else(|| 1 + random.below(UNIVERSAL_PRIME - 1));
            assert_eq!(multiply(a, inverse(a)), 1, "{a}");
            assert_eq!(add(a, negate(a)), 0);
            let b = random.below(UNIVERSAL_PRIME);
            let exact = (u128::from(a) * u128::from(b) % u128::from(UNIVERSAL_PRIME)) as u64;
            assert_eq!(multiply(a, b), exact);
        }
        assert_eq!(negate(0), 0);
        for count in [i64::from(i32::MIN), -1, 1, i64::from(i32::MAX)] {
            assert_ne!(in_field(count), 0);
        }
        assert_eq!(add(in_field(-7), in_field(7)), 0);
    }

    #[test]
    fn ids_are_numbers_of_the_field_and_carry_their_check() {
        let table = IdTable::zeroed(10, 4, Mode::Sum, Hashing::seeded(1)).unwrap();
        for key in 0..2_000u64 {
            let element = table.element(&key.to_le_bytes());
            assert!(element.id > 0 && element.id < UNIVERSAL_PRIME);
            let again = table.element_of_body(element.id >> CHECK_BITS);
            assert_eq!((again.id, again.cells), (element.id, element.cells));
            assert!(table.own(&element).iter().enumerate().all(|(slice, cell)| cell / 10 == slice as u64));
        }
        assert!(table.element_of_body(BODIES).id < UNIVERSAL_PRIME);
    }

    #[test]
    fn random_words_are_peeled_without_panic_and_to_an_end() {
        let mut random = SplitMix::new(2);
        for mode in [Mode::Sum, Mode::Xor] {
            for round in 0..2_000 {
                let mut table = IdTable::zeroed(3, 4, mode, Hashing::seeded(2)).unwrap();
                for bit in 0..table_bits(3, 4).unwrap() {
                    if random.below(1 + round % 64) == 0 {
                        write_field(table.words.as_mut_slice(), bit, 1, random.below(2));
                    }
                }
                let element = table.element(b"rose");
                table.look_up(&element);
                table.has_room(&element, i64::MAX);
                let mut listed = 0;
                let _ = peel::peel_cells(&mut table, 24, |_, _| {
                    listed += 1;
                    std::ops::ControlFlow::Continue(())
                });
                assert!(listed <= 24);
                table.items();
            }
        }
    }
}
