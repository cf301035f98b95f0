//! Pairs as records, and how cells sum them. A cell's count has `COUNT` bits.
//!
//! ```text
//! sums of a cell:   check sum (w)   record sum
//! record, xor:      key length (8)   value length (8)   key, padded   value, padded
//! record, sum:      key as 128-bit integer   value as 128-bit integer
//! ```
//!
//! Sums are XORs, or additions of integers. The check sum, a hash of the whole record, proves that a cell holds one record
//! only. Lengths are part of a record, so that shorter keys come back as they were. In a sum they are the position of a one
//! above the bytes: `rose` is 0x1_65_73_6F_72. Without values (width 0) the value's parts are left out.

use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::kind::{Rates, Stats};
use crate::parts::summed_cells::{Slices, SummedCells, Sums};
use crate::shell::choices;
use crate::store::{field_max, read_field, write_field};
use crate::theory::{partitioned, peeling, special};

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
pub(super) const MAX_BYTES: u32 = 255;

/// The widest key or value that is an integer with its length.
pub(super) const MAX_SUM_BYTES: u32 = 8;

/// Two lengths, key and value, in whole words.
const MAX_RECORD: usize = 2 + 2 * MAX_BYTES as usize;
const MAX_WORDS: usize = MAX_RECORD.div_ceil(8);

/// Sets the check sum apart from the cells, which come from the digest of the key.
const CHECK_STREAM: u64 = 0xC4EC;

/// How often a table of the planned size may have two keys in the same cells; it decides the size of small ones.
const TWIN_RATE: f64 = 0.007;

/// Cells for `items` pairs and `hashes` cells per key.
pub(super) fn cells_for(items: u64, hashes: u32) -> Result<u64> {
    const SIMULATED_BELOW: u64 = 2_000;
    const SIMULATED_HASHES: u32 = 4;
    if items >= SIMULATED_BELOW {
        return Ok(peeling::listing_cells(items, hashes)?);
    }
    let simulated = peeling::difference_cells(items)?;
    if hashes == SIMULATED_HASHES {
        return Ok(simulated);
    }
    // Large tables need cells in proportion to the threshold; in small ones the likeliest failure is a pair of keys with
    // all cells in common, of which n (n-1) / 2 / s^k are expected in slices of s cells.
    let scaled = simulated as f64 * peeling::threshold(hashes) / peeling::threshold(SIMULATED_HASHES);
    let pairs = items as f64 * (items - 1) as f64 / 2.0;
    let slice = (pairs / TWIN_RATE).powf(1.0 / f64::from(hashes)).max(scaled / f64::from(hashes));
    Ok(slice.ceil() as u64 * u64::from(hashes))
}

/// The rates of a table of this shape with `items` distinct keys.
pub(super) fn rates(slices: &Slices, items: u64) -> Rates {
    let in_a_cell = 1.0 / slices.slice_len as f64;
    let shared = special::binomial_tail(2, items as f64, in_a_cell).powi(slices.hashes as i32);
    let unreadable = if items == 0 { 0.0 } else { partitioned::rate(slices.cells(), items - 1, slices.hashes) };
    Rates { false_positive: Some(shared), over_count: Some(unreadable), unknown: Some(unreadable), ..Rates::default() }
}

/// The form of records and how they are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Records<const COUNT: u32> {
    pub(super) accumulator: Accumulator,
    pub(super) key_bytes: u32,
    /// Zero for a table without values.
    pub(super) value_bytes: u32,
    /// Bits of the check sum.
    pub(super) hash_bits: u32,
}

impl<const COUNT: u32> Records<COUNT> {
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
    fn record_sum_bits(&self) -> u32 {
        match self.accumulator {
            Accumulator::Xor => 8 * self.record_bytes() as u32,
            Accumulator::Sum if self.value_bytes > 0 => 256,
            Accumulator::Sum => 128,
        }
    }

    /// The bit and the width of each word of the sum of records.
    fn fields(&self, at: u64) -> impl Iterator<Item = (u64, u32)> + use<COUNT> {
        let (first, bits) = (at + u64::from(self.hash_bits), self.record_sum_bits());
        (0..bits).step_by(64).map(move |at| (first + u64::from(at), (bits - at).min(64)))
    }

    /// Adds `count` times this check sum and these words to a cell.
    fn add_words(&self, words: &mut [u64], at: u64, check: u64, sum: &[u64; MAX_WORDS], count: i64) {
        let held = read_field(words, at, self.hash_bits);
        let mut fields = self.fields(at);
        match self.accumulator {
            Accumulator::Xor => {
                write_field(words, at, self.hash_bits, held ^ check);
                for ((bit, width), word) in fields.zip(sum) {
                    let held = read_field(words, bit, width);
                    write_field(words, bit, width, held ^ word);
                }
            }
            Accumulator::Sum => {
                let more = check.wrapping_mul(count as u64);
                write_field(words, at, self.hash_bits, held.wrapping_add(more) & field_max(self.hash_bits));
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

    /// The check sum and the sum of records of a cell.
    fn read(&self, words: &[u64], at: u64) -> (u64, [u64; MAX_WORDS]) {
        let mut sum = [0; MAX_WORDS];
        for (word, (bit, width)) in sum.iter_mut().zip(self.fields(at)) {
            *word = read_field(words, bit, width);
        }
        (read_field(words, at, self.hash_bits), sum)
    }
}

impl<const COUNT: u32> Sums for Records<COUNT> {
    type Entry = Record<COUNT>;

    const COUNT_BITS: u32 = COUNT;

    fn bits(&self) -> u32 {
        self.hash_bits + self.record_sum_bits()
    }

    fn digest(&self, record: &Record<COUNT>, hashing: &Hashing) -> Digest {
        hashing.digest(record.key())
    }

    fn is_zero(&self, words: &[u64], at: u64) -> bool {
        read_field(words, at, self.hash_bits) == 0
            && self.fields(at).all(|(bit, width)| read_field(words, bit, width) == 0)
    }

    fn add(&self, words: &mut [u64], at: u64, record: &Record<COUNT>, count: i64) {
        self.add_words(words, at, record.check, &record.words(), count);
    }

    fn combine(&self, words: &mut [u64], at: u64, other: &[u64], sign: i64) {
        let (check, sum) = self.read(other, at);
        // Sums are added as they are, not as often as the count says.
        self.add_words(words, at, check, &sum, sign);
    }

    fn sole(&self, words: &[u64], at: u64, count: i64, hashing: &Hashing) -> Option<Record<COUNT>> {
        // Most cells that hold more end here.
        if self.accumulator == Accumulator::Xor && count.unsigned_abs() != 1 {
            return None;
        }
        let (check, sum) = self.read(words, at);
        let (record, times) = match self.accumulator {
            Accumulator::Xor => (Record::from_words(self, hashing, &sum)?, 1),
            Accumulator::Sum => {
                let part = |integer: [u64; 2], width| {
                    // The count is not 0; -1 and the smallest sum have a quotient that wraps to what is no integer of bytes.
                    let (sum, count) = (join(integer) as i128, i128::from(count));
                    (sum.wrapping_rem(count) == 0).then(|| untagged(sum.wrapping_div(count), width)).flatten()
                };
                let (key, key_len) = part([sum[0], sum[1]], self.key_bytes)?;
                let (value, value_len) = match self.value_bytes {
                    0 => ([0; 16], 0),
                    width => part([sum[2], sum[3]], width)?,
                };
                (Record::new(self, hashing, &key[..key_len], &value[..value_len]).ok()?, count)
            }
        };
        (record.check.wrapping_mul(times as u64) & field_max(self.hash_bits) == check).then_some(record)
    }
}

/// A key with its value, as a record.
#[derive(Clone, Debug)]
pub(super) struct Record<const COUNT: u32> {
    /// Zeros from `record_bytes` on.
    bytes: [u8; MAX_WORDS * 8],
    form: Records<COUNT>,
    check: u64,
}

impl<const COUNT: u32> Record<COUNT> {
    /// The record of a pair, or an error that names the widths.
    pub(super) fn new(form: &Records<COUNT>, hashing: &Hashing, key: &[u8], value: &[u8]) -> Result<Self> {
        for (what, bytes, width) in [("key", key, form.key_bytes), ("value", value, form.value_bytes)] {
            if bytes.len() > width as usize {
                return Err(Error::Item {
                    expected: format!("a {what} of at most {width} bytes (see `{what}-bytes`)"),
                    found: format!("{} bytes", bytes.len()),
                });
            }
        }
        let mut record = Record { bytes: [0; MAX_WORDS * 8], form: *form, check: 0 };
        record.bytes[0] = key.len() as u8;
        if form.value_bytes > 0 {
            record.bytes[1] = value.len() as u8;
        }
        record.bytes[form.key_at()..][..key.len()].copy_from_slice(key);
        record.bytes[form.value_at()..][..value.len()].copy_from_slice(value);
        Ok(record.checked(hashing))
    }

    /// The record of these words, if its lengths can be and its padding is zero.
    fn from_words(form: &Records<COUNT>, hashing: &Hashing, words: &[u64; MAX_WORDS]) -> Option<Self> {
        let mut record = Record { bytes: [0; MAX_WORDS * 8], form: *form, check: 0 };
        for (bytes, word) in record.bytes.as_chunks_mut::<8>().0.iter_mut().zip(&words[..form.record_words()]) {
            *bytes = word.to_le_bytes();
        }
        let value_len = if form.value_bytes > 0 { record.bytes[1] } else { 0 };
        let fits = u32::from(record.bytes[0]) <= form.key_bytes && u32::from(value_len) <= form.value_bytes;
        let padding_is_zero = |record: &Self| {
            let key = &record.bytes[form.key_at()..form.value_at()];
            let value = &record.bytes[form.value_at()..form.record_bytes()];
            [(key, record.key().len()), (value, record.value().len())]
                .iter()
                .all(|(field, len)| field[*len..].iter().all(|&byte| byte == 0))
        };
        (fits && padding_is_zero(&record)).then(|| record.checked(hashing))
    }

    /// With its check sum: a hash of key and value. A hash of the key alone would let two values of one key pass for a third.
    fn checked(mut self, hashing: &Hashing) -> Self {
        let digest = hashing.digest(&self.bytes[..self.form.record_bytes()]);
        self.check = digest.derive(CHECK_STREAM).h1 & field_max(self.form.hash_bits);
        self
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.bytes[self.form.key_at()..][..usize::from(self.bytes[0])]
    }

    pub(super) fn value(&self) -> &[u8] {
        let len = if self.form.value_bytes > 0 { usize::from(self.bytes[1]) } else { 0 };
        &self.bytes[self.form.value_at()..][..len]
    }

    /// The record's words under XOR, or its integers as words, low word first.
    fn words(&self) -> [u64; MAX_WORDS] {
        let mut words = [0; MAX_WORDS];
        match self.form.accumulator {
            Accumulator::Xor => {
                let (pieces, _) = self.bytes[..self.form.record_words() * 8].as_chunks::<8>();
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

/// What the cells of a key say about it.
#[expect(clippy::large_enum_variant, reason = "lives on the stack for one lookup, where an allocation would cost more")]
pub(super) enum Found<const COUNT: u32> {
    /// It is not held.
    Absent,
    /// It is held with this value, this many times.
    Held(Record<COUNT>, i64),
    /// All its cells are mixed; the smallest count among them.
    Unknown(i64),
}

impl<const COUNT: u32> SummedCells<Records<COUNT>> {
    /// The record of a pair for this table.
    pub(super) fn record(&self, key: &[u8], value: &[u8]) -> Result<Record<COUNT>> {
        Record::new(&self.sums, self.hashing(), key, value)
    }

    /// Adds a record `count` times to its cells. With XOR, `count` must be 1 or -1.
    pub(super) fn add_record(&mut self, record: Record<COUNT>, count: i64) {
        self.add(&self.place(record), count);
    }

    /// What the cells of a key say about it. A key that is too long is not held.
    pub(super) fn look_up(&self, key: &[u8]) -> Found<COUNT> {
        if key.len() > self.sums.key_bytes as usize {
            return Found::Absent;
        }
        let mut least = i64::MAX;
        for &cell in self.own(&self.cells_of(self.hashing().digest(key))) {
            if self.is_zero(cell) {
                return Found::Absent;
            }
            match self.sole(cell) {
                Some(sole) if sole.placed.entry.key() == key && sole.count > 0 => {
                    return Found::Held(sole.placed.entry, sole.count);
                }
                // Another key alone, or this one removed more often than inserted.
                Some(_) => return Found::Absent,
                None => least = least.min(self.count(cell)),
            }
        }
        Found::Unknown(least)
    }

    /// Its present state.
    pub(super) fn stats(&self, items: u64) -> Stats {
        let (fill, mixed) = self.occupancy();
        Stats {
            items,
            bits: self.bits(),
            hashes: self.slices.hashes,
            fill: Some(fill),
            // Which cells hold one record alone cannot be told without the secret.
            fpr: self.hashing().is_usable().then(|| mixed.iter().product()),
            // Records that were removed ahead fill cells and lower the number of items.
            honest_fill: None,
        }
    }

    /// The shares of cells that are not zero, and, for each slice, that are mixed.
    fn occupancy(&self) -> (f64, Vec<f64>) {
        let slice_len = self.slices.slice_len;
        let mut used = 0u64;
        let mixed = (0..u64::from(self.slices.hashes)).map(|slice| {
            let filled = (slice * slice_len..(slice + 1) * slice_len).filter(|&cell| !self.is_zero(cell));
            let mixed = filled.inspect(|_| used += 1).filter(|&cell| self.sole(cell).is_none()).count();
            mixed as f64 / slice_len as f64
        });
        let mixed = mixed.collect();
        (used as f64 / self.slices.cells() as f64, mixed)
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
                let form = Records::<64> { accumulator, key_bytes: 4, value_bytes, hash_bits: 32 };
                let slices = Slices { slice_len: 5, hashes: 3 };
                for round in 0..2_000 {
                    let mut table = SummedCells::zeroed(form, slices, Hashing::seeded(2)).unwrap();
                    for bit in 0..table.bits() {
                        // Sparse tables have counts of 1 and small sums, dense ones everything.
                        if random.below(1 + round % 64) == 0 {
                            write_field(table.words_mut(), bit, 1, random.below(2));
                        }
                    }
                    let mut listed = 0;
                    table.drain(|_| listed += 1);
                    assert!(listed <= 2 * slices.cells());
                    table.look_up(b"rose");
                }
            }
        }
    }
}
