//! Elements as ids, and how cells sum them.
//!
//! ```text
//! sums of a cell:   ids (61)
//! id:               check (16)   body (45, never zeros or ones only)
//! ```
//!
//! Ids are summed in the field of 2^61 - 1 elements, where every count but 0 can be divided by.

use crate::hash::{Digest, Hashing, UNIVERSAL_PRIME, fastrange};
use crate::parts::summed_cells::{Placed, SummedCells, Sums};
use crate::shell::choices;
use crate::store::{read_field, write_field};

/// Bits of the check in an id.
const CHECK_BITS: u32 = 16;

const ID_BITS: u32 = 61;

/// Bodies are in `1..=BODIES`: no id is 0 or 2^61 - 1.
const BODIES: u64 = (1 << (ID_BITS - CHECK_BITS)) - 2;

/// Sets the check apart from the cells, which come from the same digest.
const CHECK_STREAM: u64 = 0xC4EC;

/// How ids are accumulated.
///
/// ```
/// use bouquet::{counting::invertible_counting::Mode, shell::Choice};
/// assert_eq!(Mode::Xor.word(), "xor");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As often as the element is in.
    Sum,
    /// Once, however often it is in.
    Xor,
}

choices!(Mode { Sum = "sum", Xor = "xor" });

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

/// An element by its id.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) id: u64,
    /// The digest of its body, which chooses its cells.
    digest: Digest,
}

impl Element {
    /// Check and cells follow from the body of an id, so that elements can be peeled which nobody here knows.
    fn of_body(body: u64, hashing: &Hashing) -> Self {
        let digest = hashing.digest(&body.to_le_bytes());
        let check = digest.derive(CHECK_STREAM).h1 >> (64 - CHECK_BITS);
        Element { id: body << CHECK_BITS | check, digest }
    }
}

/// What the cells of an element say about it.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    /// One of them is empty.
    Absent,
    /// One of them holds nothing else: it is in this many times.
    Alone(i64),
    /// All hold others too; the smallest count.
    Mixed(i64),
}

/// Sums of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ids {
    pub(super) mode: Mode,
}

impl Ids {
    /// What the ids of a cell are that holds nothing but `count` of an element.
    fn alone(self, element: &Element, count: i64) -> u64 {
        match self.mode {
            Mode::Sum => multiply(in_field(count), element.id),
            Mode::Xor => element.id,
        }
    }
}

#[inline]
fn read(words: &[u64], at: u64) -> u64 {
    read_field(words, at, ID_BITS)
}

impl Sums for Ids {
    type Entry = Element;

    const COUNT_BITS: u32 = 32;

    #[inline]
    fn bits(&self) -> u32 {
        ID_BITS
    }

    #[inline]
    fn digest(&self, element: &Element, _: &Hashing) -> Digest {
        element.digest
    }

    fn is_zero(&self, words: &[u64], at: u64) -> bool {
        read(words, at) == 0
    }

    fn add(&self, words: &mut [u64], at: u64, element: &Element, count: i64) {
        let (ids, more) = (read(words, at), self.alone(element, count));
        let sum = match self.mode {
            Mode::Sum => add(ids, more),
            Mode::Xor => ids ^ more,
        };
        write_field(words, at, ID_BITS, sum);
    }

    fn combine(&self, words: &mut [u64], at: u64, other: &[u64], sign: i64) {
        let (mine, theirs) = (read(words, at), read(other, at));
        let ids = match self.mode {
            Mode::Xor => mine ^ theirs,
            Mode::Sum if sign < 0 => add(mine, negate(theirs % UNIVERSAL_PRIME)),
            Mode::Sum => add(mine, theirs),
        };
        write_field(words, at, ID_BITS, ids);
    }

    fn sole(&self, words: &[u64], at: u64, count: i64, hashing: &Hashing) -> Option<Element> {
        let id = match (self.mode, read(words, at)) {
            (_, 0) => return None,
            (Mode::Sum, ids) if count != 1 => multiply(ids % UNIVERSAL_PRIME, inverse(in_field(count))),
            (_, ids) => ids,
        };
        let body = id >> CHECK_BITS;
        let element = (1..=BODIES).contains(&body).then(|| Element::of_body(body, hashing));
        element.filter(|element| element.id == id)
    }
}

impl SummedCells<Ids> {
    /// Whether every cell has ids of the field.
    pub(super) fn is_in_field(&self) -> bool {
        let in_field = |cell| read(self.words(), self.sums_at(cell)) < UNIVERSAL_PRIME;
        self.sums.mode == Mode::Xor || (0..self.slices.cells()).all(in_field)
    }

    /// The element of a key with this digest.
    pub(super) fn element(&self, key: Digest) -> Placed<Element> {
        self.place(Element::of_body(1 + fastrange(key.h1, BODIES), self.hashing()))
    }

    /// Adds the element `count` times. Under xor its id is xored in, or out, only if `toggles`.
    pub(super) fn change(&mut self, element: &Placed<Element>, count: i64, toggles: bool) {
        if self.sums.mode == Mode::Sum || toggles {
            self.add(element, count);
        } else {
            self.add_count(element, count);
        }
    }

    /// What the cells of an element say about it.
    pub(super) fn look_up(&self, element: &Placed<Element>) -> Found {
        let mut least = i64::MAX;
        for &cell in self.cells(element) {
            match (self.count(cell), read(self.words(), self.sums_at(cell))) {
                (0, 0) => return Found::Absent,
                (count, ids) if count != 0 && ids == self.sums.alone(&element.entry, count) => {
                    return Found::Alone(count);
                }
                (count, _) => least = least.min(count),
            }
        }
        Found::Mixed(least)
    }

    /// Whether nothing but a count, the same in each of its cells, is left of the element.
    pub(super) fn bare_count(&self, element: &Placed<Element>) -> Option<i64> {
        let mut cells =
            self.cells(element).iter().map(|&cell| (self.count(cell), read(self.words(), self.sums_at(cell))));
        let (count, ids) = cells.next()?;
        (count != 0 && ids == 0 && cells.all(|cell| cell == (count, 0))).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;
    use crate::parts::summed_cells::Slices;

    fn zeroed(slice_len: u64, mode: Mode, seed: u64) -> SummedCells<Ids> {
        SummedCells::zeroed(Ids { mode }, Slices { slice_len, hashes: 4 }, Hashing::seeded(seed)).unwrap()
    }

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
        let table = zeroed(10, Mode::Sum, 1);
        for key in 0..2_000u64 {
            let element = table.element(table.hashing().digest(&key.to_le_bytes()));
            let id = element.entry.id;
            assert!(id > 0 && id < UNIVERSAL_PRIME);
            let again = table.place(Element::of_body(id >> CHECK_BITS, table.hashing()));
            assert_eq!((again.entry.id, table.cells(&again)), (id, table.cells(&element)));
            assert!(table.cells(&element).iter().enumerate().all(|(slice, cell)| cell / 10 == slice as u64));
        }
        assert!(Element::of_body(BODIES, table.hashing()).id < UNIVERSAL_PRIME);
    }

    #[test]
    fn random_words_are_peeled_without_panic_and_to_an_end() {
        let mut random = SplitMix::new(2);
        for mode in [Mode::Sum, Mode::Xor] {
            for round in 0..2_000 {
                let mut table = zeroed(3, mode, 2);
                for bit in 0..table.bits() {
                    if random.below(1 + round % 64) == 0 {
                        write_field(table.words_mut(), bit, 1, random.below(2));
                    }
                }
                let element = table.element(table.hashing().digest(b"rose"));
                table.look_up(&element);
                table.has_room(&element, i64::MAX);
                let mut listed = 0;
                table.drain(|_| listed += 1);
                assert!(listed <= 24);
                table.items();
            }
        }
    }
}
