//! The table of cells under the structures that list what they hold.
//!
//! A cell has a count, a check sum, and the sum of the records that were put into it; a record is a key with its value.
//! Sums are XORs, or additions of integers. A cell that holds one record only reveals it, and the check sum, a hash of
//! the whole record, proves that it does.
//!
//! ```text
//! cell, packed without gaps:   count (64)   check sum (w)   record sum
//! record, xor:                 key length (8)   value length (8)   key, padded   value, padded
//! record, sum:                 key as 128-bit integer   value as 128-bit integer
//! ```
//!
//! Lengths are part of a record, so that shorter keys come back as they were. In a sum they are the position of a one
//! above the bytes: `rose` is 0x1_65_73_6F_72. Without values (width 0) the value's parts are left out.

use std::ops::ControlFlow;

use crate::capability::{Entry, Listing, Value};
use crate::error::{Error, Result, same};
use crate::hash::Hashing;
use crate::parts::peel::{self, peel_cells};
use crate::parts::slices::HashWords;
use crate::shell::choices;
use crate::store::{Words, field_max, read_field, write_field};

/// How records are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulator {
    /// By XOR: smallest. The same record twice leaves nothing but its count.
    Xor,
    /// By addition: keys and values of up to 8 bytes. The same record any number of times is revealed as one.
    Sum,
}

choices!(Accumulator { Xor = "xor", Sum = "sum" });

/// The widest key or value: its length is one byte.
pub(crate) const MAX_BYTES: u32 = 255;

/// The widest key or value that is an integer with its length.
pub(crate) const MAX_SUM_BYTES: u32 = 8;

/// Two lengths, key and value, in whole words.
const MAX_RECORD: usize = 2 + 2 * MAX_BYTES as usize;
const MAX_WORDS: usize = MAX_RECORD.div_ceil(8);

const COUNT_BITS: u32 = 64;

/// The most cells per key.
pub(crate) const MAX_HASHES: usize = 8;

/// The shape of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Cells in each of the slices.
    pub(crate) slice_len: u64,
    /// Slices: cells per key.
    pub(crate) hashes: u32,
    pub(crate) accumulator: Accumulator,
    pub(crate) key_bytes: u32,
    /// Zero for a table without values.
    pub(crate) value_bytes: u32,
    /// Bits of the check sum.
    pub(crate) hash_bits: u32,
}

impl Shape {
    pub(crate) fn cells(&self) -> u64 {
        self.slice_len * u64::from(self.hashes)
    }

    /// Bytes of a record.
    fn record_bytes(&self) -> usize {
        self.value_at() + self.value_bytes as usize
    }

    fn record_words(&self) -> usize {
        self.record_bytes().div_ceil(8)
    }

    /// Where the key begins in a record: behind the lengths.
    fn key_at(&self) -> usize {
        if self.value_bytes > 0 { 2 } else { 1 }
    }

    /// Where the value begins in a record.
    fn value_at(&self) -> usize {
        self.key_at() + self.key_bytes as usize
    }

    /// Bits of the sum of records.
    fn sum_bits(&self) -> u32 {
        match self.accumulator {
            Accumulator::Xor => 8 * self.record_bytes() as u32,
            Accumulator::Sum if self.value_bytes > 0 => 256,
            Accumulator::Sum => 128,
        }
    }

    pub(crate) fn cell_bits(&self) -> u32 {
        COUNT_BITS + self.hash_bits + self.sum_bits()
    }

    /// Bits of the table, or an error when they cannot be addressed.
    pub(crate) fn bits(&self) -> Result<u64> {
        let bits = u128::from(self.slice_len) * u128::from(self.hashes) * u128::from(self.cell_bits());
        match u64::try_from(bits) {
            Ok(bits) if bits <= 1 << 62 => Ok(bits),
            _ => Err(Error::TooLarge { what: "the table".into(), bytes: bits / 8 }),
        }
    }
}

/// A key with its value, as a record.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// Zeros from `record_bytes` on.
    bytes: [u8; MAX_WORDS * 8],
    shape: Shape,
}

impl Record {
    /// The record of a pair, or an error that names the widths.
    pub(crate) fn new(shape: &Shape, key: &[u8], value: &[u8]) -> Result<Self> {
        for (what, bytes, width) in [("key", key, shape.key_bytes), ("value", value, shape.value_bytes)] {
            if bytes.len() > width as usize {
                return Err(Error::Item {
                    expected: format!("a {what} of at most {width} bytes (see `{what}-bytes`)"),
                    found: format!("{} bytes", bytes.len()),
                });
            }
        }
        let mut record = Record { bytes: [0; MAX_WORDS * 8], shape: *shape };
        record.bytes[0] = key.len() as u8;
        if shape.value_bytes > 0 {
            record.bytes[1] = value.len() as u8;
        }
        record.bytes[shape.key_at()..][..key.len()].copy_from_slice(key);
        record.bytes[shape.value_at()..][..value.len()].copy_from_slice(value);
        Ok(record)
    }

    /// The record of these words, if its lengths can be and its padding is zero.
    fn from_words(shape: &Shape, words: &[u64; MAX_WORDS]) -> Option<Self> {
        let mut record = Record { bytes: [0; MAX_WORDS * 8], shape: *shape };
        for (bytes, word) in record.bytes.as_chunks_mut::<8>().0.iter_mut().zip(&words[..shape.record_words()]) {
            *bytes = word.to_le_bytes();
        }
        let value_len = if shape.value_bytes > 0 { record.bytes[1] } else { 0 };
        let fits = u32::from(record.bytes[0]) <= shape.key_bytes && u32::from(value_len) <= shape.value_bytes;
        let padding_is_zero = |record: &Record| {
            let key = &record.bytes[shape.key_at()..shape.value_at()];
            let value = &record.bytes[shape.value_at()..shape.record_bytes()];
            [(key, record.key().len()), (value, record.value().len())]
                .iter()
                .all(|(field, len)| field[*len..].iter().all(|&byte| byte == 0))
        };
        (fits && padding_is_zero(&record)).then_some(record)
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.bytes[self.shape.key_at()..][..usize::from(self.bytes[0])]
    }

    pub(crate) fn value(&self) -> &[u8] {
        let len = if self.shape.value_bytes > 0 { usize::from(self.bytes[1]) } else { 0 };
        &self.bytes[self.shape.value_at()..][..len]
    }

    /// The check sum: a hash of key and value. A hash of the key alone would let two values of one key pass for a third.
    fn check(&self, hashing: &Hashing) -> u64 {
        let digest = hashing.digest(&self.bytes[..self.shape.record_bytes()]);
        digest.derive(CHECK_STREAM).h1 & field_max(self.shape.hash_bits)
    }

    /// The record's words under XOR, or its integers as words, low word first.
    fn words(&self) -> [u64; MAX_WORDS] {
        let mut words = [0; MAX_WORDS];
        match self.shape.accumulator {
            Accumulator::Xor => {
                let (pieces, _) = self.bytes[..self.shape.record_words() * 8].as_chunks::<8>();
                words.iter_mut().zip(pieces).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
            }
            Accumulator::Sum => {
                for (words, bytes) in words.as_chunks_mut::<2>().0.iter_mut().zip([self.key(), self.value()]) {
                    *words = split(tagged(bytes));
                }
            }
        }
        words
    }
}

/// Sets the check sum apart from the cells, which come from the digest of the key.
const CHECK_STREAM: u64 = 0xC4EC;

/// Up to 8 bytes as an integer below 2^65: little-endian, with a one above the last byte.
fn tagged(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(1, |integer, &byte| integer << 8 | u128::from(byte))
}

/// The bytes of such an integer, if it is one of at most `width` bytes.
fn untagged(integer: i128, width: u32) -> Option<([u8; 16], usize)> {
    let top = u128::try_from(integer).ok()?.checked_ilog2()?;
    let len = top / 8;
    (top % 8 == 0 && len <= width).then(|| ((integer ^ 1 << top).to_le_bytes(), len as usize))
}

fn split(integer: u128) -> [u64; 2] {
    [integer as u64, (integer >> 64) as u64]
}

fn join(words: [u64; 2]) -> u128 {
    u128::from(words[0]) | u128::from(words[1]) << 64
}

/// A record with all that adding it needs, and how often it is held.
pub(crate) struct Sole {
    record: Record,
    count: i64,
    check: u64,
    /// Its cells; as many as there are hashes.
    cells: [u64; MAX_HASHES],
}

/// What a cell says.
#[expect(clippy::large_enum_variant, reason = "lives on the stack for one lookup, where an allocation would cost more")]
pub(crate) enum Content {
    /// Nothing is in it.
    Zero,
    /// One record, so many times.
    Pure(Sole),
    /// More, or nothing that can be read. The count is that of all records in it.
    Mixed(i64),
}

/// What the cells of a key say about it.
#[expect(clippy::large_enum_variant, reason = "lives on the stack for one lookup, where an allocation would cost more")]
pub(crate) enum Found {
    /// It is not held.
    Absent,
    /// It is held with this value, so many times.
    Held(Record, i64),
    /// All its cells are mixed; the smallest count among them.
    Unknown(i64),
}

/// The table. Arithmetic wraps, so that no content can make it panic.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CellTable {
    shape: Shape,
    hashing: Hashing,
    words: Words,
}

impl CellTable {
    pub(crate) fn zeroed(shape: Shape, hashing: Hashing) -> Result<Self> {
        Ok(CellTable { words: Words::zeroed(shape.bits()?.div_ceil(64))?, shape, hashing })
    }

    /// The table in these words; `None` when their number is wrong or a bit behind the last cell is set.
    pub(crate) fn from_words(shape: Shape, hashing: Hashing, words: Words) -> Option<Self> {
        let bits = shape.bits().ok()?;
        let slice = words.as_slice();
        let tail_is_zero = match (slice.last(), bits % 64) {
            (Some(last), used @ 1..) => last >> used == 0,
            _ => true,
        };
        (slice.len() as u64 == bits.div_ceil(64) && tail_is_zero).then_some(CellTable { shape, hashing, words })
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.words.as_slice()
    }

    /// The cells of a key, one in each slice; only the first `hashes` count.
    #[inline]
    fn cells(&self, key: &[u8]) -> [u64; MAX_HASHES] {
        let mut words = HashWords::new(self.hashing.digest(key));
        let mut cells = [0; MAX_HASHES];
        for (slice, cell) in (0..u64::from(self.shape.hashes)).zip(&mut cells) {
            *cell = words.cell(slice, self.shape.slice_len);
        }
        cells
    }

    /// The cells that count.
    #[inline]
    fn own<'a>(&self, cells: &'a [u64; MAX_HASHES]) -> &'a [u64] {
        &cells[..self.shape.hashes as usize]
    }

    fn bit(&self, cell: u64) -> u64 {
        cell * u64::from(self.shape.cell_bits())
    }

    /// The bit and the width of each word of the sum of records.
    fn sum_fields(shape: &Shape, cell_bit: u64) -> impl Iterator<Item = (u64, u32)> + use<> {
        let (first, bits) = (cell_bit + u64::from(COUNT_BITS + shape.hash_bits), shape.sum_bits());
        (0..bits).step_by(64).map(move |at| (first + u64::from(at), (bits - at).min(64)))
    }

    fn count(&self, cell: u64) -> i64 {
        read_field(self.words.as_slice(), self.bit(cell), COUNT_BITS) as i64
    }

    /// Adds a record `count` times to its cells. With XOR, `count` must be 1 or -1.
    pub(crate) fn add(&mut self, record: &Record, count: i64) {
        let (check, cells) = (record.check(&self.hashing), self.cells(record.key()));
        self.add_checked(record, count, check, &cells);
    }

    fn add_checked(&mut self, record: &Record, count: i64, check: u64, cells: &[u64; MAX_HASHES]) {
        let sum = record.words();
        for &cell in self.own(cells) {
            self.add_to(cell, count, check, &sum);
        }
    }

    /// Adds `count` times these fields to a cell.
    fn add_to(&mut self, cell: u64, count: i64, check: u64, sum: &[u64]) {
        let shape = self.shape;
        let at = self.bit(cell);
        let words = self.words.as_mut_slice();
        let held = read_field(words, at, COUNT_BITS) as i64;
        write_field(words, at, COUNT_BITS, held.wrapping_add(count) as u64);
        let check_at = at + u64::from(COUNT_BITS);
        let held = read_field(words, check_at, shape.hash_bits);
        let mut fields = Self::sum_fields(&shape, at);
        match shape.accumulator {
            Accumulator::Xor => {
                write_field(words, check_at, shape.hash_bits, held ^ check);
                for ((bit, width), word) in fields.zip(sum) {
                    let held = read_field(words, bit, width);
                    write_field(words, bit, width, held ^ word);
                }
            }
            Accumulator::Sum => {
                let more = check.wrapping_mul(count as u64);
                write_field(words, check_at, shape.hash_bits, held.wrapping_add(more) & field_max(shape.hash_bits));
                for &integer in sum.as_chunks::<2>().0 {
                    let (Some((low, _)), Some((high, _))) = (fields.next(), fields.next()) else { break };
                    let held = join([read_field(words, low, 64), read_field(words, high, 64)]);
                    let [low_word, high_word] = split(held.wrapping_add(join(integer).wrapping_mul(count as u128)));
                    write_field(words, low, 64, low_word);
                    write_field(words, high, 64, high_word);
                }
            }
        }
    }

    /// Reads the check sum and the sum of records of a cell.
    fn sums(&self, cell: u64) -> (u64, [u64; MAX_WORDS]) {
        let (words, at) = (self.words.as_slice(), self.bit(cell));
        let mut sum = [0; MAX_WORDS];
        for (word, (bit, width)) in sum.iter_mut().zip(Self::sum_fields(&self.shape, at)) {
            *word = read_field(words, bit, width);
        }
        (read_field(words, at + u64::from(COUNT_BITS), self.shape.hash_bits), sum)
    }

    fn is_zero(&self, cell: u64) -> bool {
        let (words, at) = (self.words.as_slice(), self.bit(cell));
        self.count(cell) == 0
            && read_field(words, at + u64::from(COUNT_BITS), self.shape.hash_bits) == 0
            && Self::sum_fields(&self.shape, at).all(|(bit, width)| read_field(words, bit, width) == 0)
    }

    /// What a cell says.
    pub(crate) fn content(&self, cell: u64) -> Content {
        if self.is_zero(cell) {
            return Content::Zero;
        }
        self.sole_record(cell).map_or_else(|| Content::Mixed(self.count(cell)), Content::Pure)
    }

    /// The record of a cell that holds one only, and how often it holds it.
    fn sole_record(&self, cell: u64) -> Option<Sole> {
        let count = self.count(cell);
        let shape = &self.shape;
        // Most cells that are not pure end here.
        if count == 0 || shape.accumulator == Accumulator::Xor && count.unsigned_abs() != 1 {
            return None;
        }
        let (check_sum, sum) = self.sums(cell);
        let (record, times) = match shape.accumulator {
            Accumulator::Xor => (Record::from_words(shape, &sum)?, 1),
            Accumulator::Sum => {
                let part = |integer: [u64; 2], width| {
                    // The count is not 0; -1 and the smallest sum have a quotient that wraps to what is no integer of bytes.
                    let (sum, count) = (join(integer) as i128, i128::from(count));
                    (sum.wrapping_rem(count) == 0).then(|| untagged(sum.wrapping_div(count), width)).flatten()
                };
                let (key, key_len) = part([sum[0], sum[1]], shape.key_bytes)?;
                let (value, value_len) = match shape.value_bytes {
                    0 => ([0; 16], 0),
                    width => part([sum[2], sum[3]], width)?,
                };
                (Record::new(shape, &key[..key_len], &value[..value_len]).ok()?, count)
            }
        };
        let check = record.check(&self.hashing);
        if check.wrapping_mul(times as u64) & field_max(shape.hash_bits) != check_sum {
            return None;
        }
        // A record in a cell that is not one of its own is a forgery or a coincidence.
        let cells = self.cells(record.key());
        self.own(&cells).contains(&cell).then_some(Sole { record, count, check, cells })
    }

    /// What the cells of a key say about it. A key that is too long is not held.
    pub(crate) fn look_up(&self, key: &[u8]) -> Found {
        if key.len() > self.shape.key_bytes as usize {
            return Found::Absent;
        }
        let mut least = i64::MAX;
        for &cell in self.own(&self.cells(key)) {
            match self.content(cell) {
                Content::Pure(sole) if sole.record.key() == key && sole.count > 0 => {
                    return Found::Held(sole.record, sole.count);
                }
                // Another key alone, or this one removed more often than inserted.
                Content::Zero | Content::Pure(_) => return Found::Absent,
                Content::Mixed(count) => least = least.min(count),
            }
        }
        Found::Unknown(least)
    }

    /// Adds the cells of another table, or takes them away.
    pub(crate) fn combine(&mut self, other: &Self, sign: i64) -> Result<()> {
        same("cells", self.shape.cells(), other.shape.cells())?;
        same("hashes", self.shape.hashes, other.shape.hashes)?;
        same("shape", self.shape, other.shape)?;
        same("hashing", &self.hashing, &other.hashing)?;
        for cell in 0..self.shape.cells() {
            let (check, sum) = other.sums(cell);
            match self.shape.accumulator {
                Accumulator::Xor => self.add_to(cell, sign.wrapping_mul(other.count(cell)), check, &sum),
                Accumulator::Sum => {
                    // Sums are added as they are, not as often as the count says.
                    let count = self.count(cell).wrapping_add(sign.wrapping_mul(other.count(cell)));
                    self.add_to(cell, sign, check, &sum);
                    let at = self.bit(cell);
                    write_field(self.words.as_mut_slice(), at, COUNT_BITS, count as u64);
                }
            }
        }
        Ok(())
    }

    /// Takes out everything that can be decoded. At most twice as many records as cells: a table that was not filled
    /// by its own operations need not end otherwise.
    pub(crate) fn drain(&mut self) -> Listing {
        let cells = self.shape.cells();
        let mut entries = Vec::new();
        let with_values = self.shape.value_bytes > 0;
        let _ = peel_cells(self, (cells as usize).saturating_mul(2), |sole, _| {
            let value = with_values.then(|| Value::Bytes(sole.record.value().to_vec()));
            entries.push(Entry { key: sole.record.key().to_vec(), value, count: sole.count });
            ControlFlow::Continue(())
        });
        let undecoded = (0..cells).filter(|&cell| !self.is_zero(cell)).count() as u64;
        Listing { entries, undecoded }
    }

    /// Net insertions: each is in one cell of the first slice.
    pub(crate) fn items(&self) -> i128 {
        (0..self.shape.slice_len).map(|cell| i128::from(self.count(cell))).sum()
    }

    /// The shares of cells that are not zero, and, for each slice, that are mixed.
    pub(crate) fn occupancy(&self) -> (f64, Vec<f64>) {
        let Shape { slice_len, hashes, .. } = self.shape;
        let mut used = 0u64;
        let mixed = (0..u64::from(hashes)).map(|slice| {
            let mut mixed = 0u64;
            for cell in slice * slice_len..(slice + 1) * slice_len {
                let content = self.content(cell);
                used += u64::from(!matches!(content, Content::Zero));
                mixed += u64::from(matches!(content, Content::Mixed(_)));
            }
            mixed as f64 / slice_len as f64
        });
        let mixed = mixed.collect();
        (used as f64 / self.shape.cells() as f64, mixed)
    }
}

impl peel::Cells for CellTable {
    type Item = Sole;

    fn cell_count(&self) -> usize {
        // The words of all cells are in memory, so their number fits.
        self.shape.cells() as usize
    }

    fn sole_item(&self, cell: usize) -> Option<Sole> {
        self.sole_record(cell as u64)
    }

    fn take(&mut self, sole: &Sole, touched: &mut Vec<usize>) {
        self.add_checked(&sole.record, sole.count.wrapping_neg(), sole.check, &sole.cells);
        touched.extend(self.own(&sole.cells).iter().map(|&cell| cell as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_integers_with_their_length() {
        for bytes in [&b""[..], b"\0", b"\0\0", b"rose", b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", b"a\0"] {
            let (back, len) = untagged(tagged(bytes) as i128, 8).unwrap();
            assert_eq!(&back[..len], bytes);
        }
        assert_eq!(tagged(b"rose"), 0x1_65_73_6F_72);
        for no_bytes in [0, -1, 2, 0x80, i128::MAX, i128::MIN, 1 << 72] {
            assert!(untagged(no_bytes, 8).is_none(), "{no_bytes}");
        }
        assert!(untagged(tagged(b"lily") as i128, 3).is_none());
    }

    #[test]
    fn random_words_are_listed_without_panic_and_to_an_end() {
        let mut random = crate::hash::SplitMix::new(1);
        for accumulator in [Accumulator::Xor, Accumulator::Sum] {
            for value_bytes in [0, 3] {
                let shape = Shape { slice_len: 5, hashes: 3, accumulator, key_bytes: 4, value_bytes, hash_bits: 32 };
                for round in 0..2_000 {
                    let mut table = CellTable::zeroed(shape, Hashing::seeded(2)).unwrap();
                    let bits = shape.bits().unwrap();
                    for bit in 0..bits {
                        // Sparse tables have counts of 1 and small sums, dense ones everything.
                        if random.below(1 + round % 64) == 0 {
                            write_field(table.words.as_mut_slice(), bit, 1, random.below(2));
                        }
                    }
                    let listing = table.drain();
                    assert!(listing.entries.len() as u64 <= 2 * shape.cells());
                    table.look_up(b"rose");
                }
            }
        }
    }
}
