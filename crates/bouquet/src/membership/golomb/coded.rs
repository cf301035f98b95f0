//! Sorted numbers as Golomb-coded gaps, with an index for random access.

use std::cmp::Ordering;

use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::parts::bit_stream::{BitReader, BitWriter};
use crate::parts::records::bits_for;
use crate::store::{Counters, Words};

/// How gaps are coded, and how often the index has an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// Numbers are below this.
    pub(super) range: u64,
    /// What gaps are divided by: the quotient is unary, the remainder truncated binary.
    pub(super) divisor: u64,
    /// Numbers per entry of the index.
    pub(super) interval: u64,
    /// Whether a number may come twice, as a gap of zero.
    pub(super) repeats: bool,
}

impl Shape {
    /// Bits of the longer remainders, and the number of the shorter ones.
    #[inline]
    fn remainders(&self) -> (u32, u64) {
        let bits = u64::BITS - (self.divisor - 1).leading_zeros();
        (bits, (1 << bits) - self.divisor)
    }

    fn write(&self, writer: &mut BitWriter, gap: u64) {
        let (bits, short) = self.remainders();
        let rest = gap % self.divisor;
        writer.put_unary(gap / self.divisor);
        if rest < short { writer.put(rest, bits - 1) } else { writer.put(rest + short, bits) }
    }

    /// The next gap; `None` if there is none that fits the range.
    #[inline]
    fn read(&self, reader: &mut BitReader<'_>) -> Option<u64> {
        let (bits, short) = self.remainders();
        let quotient = reader.get_unary(self.range / self.divisor)?;
        let mut rest = reader.get(bits.saturating_sub(1))?;
        if rest >= short && bits > 0 {
            rest = (rest << 1 | reader.get(1)?) - short;
        }
        (quotient * self.divisor).checked_add(rest)
    }

    /// Bits of a number in the index.
    pub(super) fn value_bits(&self) -> u32 {
        bits_for(self.range - 1)
    }
}

/// The code of ascending numbers. Entry e of the index is number e times the interval, and where the code of the next begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Coded {
    pub(super) shape: Shape,
    /// How many numbers there are.
    pub(super) count: u64,
    /// Bits of the code.
    pub(super) len: u64,
    code: Words,
    values: Counters,
    offsets: Counters,
}

impl Coded {
    /// The code of these numbers, which must ascend and lie in the range.
    pub(super) fn new(shape: Shape, numbers: &[u64]) -> Result<Self> {
        let (mut writer, mut index, mut last) = (BitWriter::default(), Vec::new(), 0);
        for (number, &value) in (0u64..).zip(numbers) {
            shape.write(&mut writer, value - last);
            last = value;
            if number.is_multiple_of(shape.interval) {
                index.push((value, writer.len()));
            }
        }
        let (count, len) = (numbers.len() as u64, writer.len());
        let mut values = Counters::zeroed(index.len() as u64, shape.value_bits())?;
        let mut offsets = Counters::zeroed(index.len() as u64, bits_for(len))?;
        for (entry, (value, offset)) in (0..).zip(index) {
            values.set(entry, value);
            offsets.set(entry, offset);
        }
        Ok(Coded { shape, count, len, code: writer.into_words()?, values, offsets })
    }

    /// The size of code and index.
    pub(super) fn bits(&self) -> u64 {
        self.len + self.values.bits() + self.offsets.bits()
    }

    /// The bytes of the code.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let bytes = self.code.as_slice().iter().flat_map(|word| word.to_le_bytes());
        bytes.take(self.len.div_ceil(8) as usize).collect()
    }

    /// The numbers of a code in [bytes](Self::bytes); `None` unless they are the only code of `count` numbers.
    pub(super) fn from_bytes(shape: Shape, count: u64, bytes: &[u8]) -> Result<Option<Self>> {
        let len = 8 * bytes.len() as u64;
        // Every code has a bit at least.
        if count > len {
            return Ok(None);
        }
        let words: Vec<u64> = bytes
            .chunks(8)
            .map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_le_bytes(word)
            })
            .collect();
        let (mut reader, mut last, mut numbers) = (BitReader::new(&words, 0, len), 0u64, Vec::new());
        for number in 0..count {
            let next = shape.read(&mut reader).and_then(|gap| last.checked_add(gap));
            let is_new = |next: &u64| number == 0 || shape.repeats || *next > last;
            match next.filter(|next| *next < shape.range && is_new(next)) {
                Some(next) => last = next,
                None => return Ok(None),
            }
            numbers.push(last);
        }
        let coded = Coded::new(shape, &numbers)?;
        Ok((coded.bytes() == bytes).then_some(coded))
    }

    fn reader(&self, at: u64) -> BitReader<'_> {
        BitReader::new(self.code.as_slice(), at, self.len)
    }

    /// All numbers, as far as the code is sound.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        let (mut reader, mut last) = (self.reader(0), 0u64);
        (0..self.count).map_while(move |_| {
            last = last.checked_add(self.shape.read(&mut reader)?).filter(|value| *value < self.shape.range)?;
            Some(last)
        })
    }

    /// Where to begin to look for a number: the last entry from `first` on that is not above it.
    fn entry(&self, first: u64, wanted: u64) -> Option<Cursor<'_>> {
        let (mut low, mut high) = (first, self.values.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.values.get(middle) <= wanted { low = middle + 1 } else { high = middle }
        }
        let entry = low.checked_sub(1)?;
        let left = self.shape.interval.min(self.count - entry * self.shape.interval) - 1;
        let reader = self.reader(self.offsets.get(entry));
        Some(Cursor { coded: self, entry, value: self.values.get(entry), reader, left, decoded: 0 })
    }

    /// Whether the number is there, and how many had to be decoded to know.
    #[inline]
    pub(super) fn find(&self, wanted: u64) -> (bool, u64) {
        self.entry(0, wanted).map_or((false, 0), |mut cursor| (cursor.reaches(wanted), cursor.decoded))
    }

    /// Answers numbers that ascend, in one pass.
    pub(super) fn find_ascending(&self, wanted: impl Iterator<Item = u64>, mut answer: impl FnMut(bool)) {
        let mut cursor: Option<Cursor<'_>> = None;
        for wanted in wanted {
            let behind = |cursor: &Cursor<'_>| {
                let next = cursor.entry + 1;
                next < self.values.len() && self.values.get(next) <= wanted
            };
            if cursor.as_ref().is_none_or(behind) {
                cursor = self.entry(cursor.map_or(0, |cursor| cursor.entry + 1), wanted);
            }
            answer(cursor.as_mut().is_some_and(|cursor| cursor.reaches(wanted)));
        }
    }

    /// State: how many numbers, bits of the code. Stores: the code, then numbers and offsets of the index.
    pub(super) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.count);
        encoder.state().u64(self.len);
        encoder.words(self.code.as_slice());
        encoder.words(self.values.words());
        encoder.words(self.offsets.words());
    }

    /// Reads what `encode` wrote. What is only mapped is not read, and its answers may be wrong, as those of any damaged file.
    pub(super) fn decode(shape: Shape, decoder: &mut Decoder<'_>) -> Result<Self> {
        let [count, len] = [decoder.state().u64()?, decoder.state().u64()?];
        // Every code has a bit at least.
        if count > len {
            return Err(Error::corrupt("hash values", format!("at most {len}, one per bit of code"), count));
        }
        let code = decoder.words(len.div_ceil(64))?;
        let entries = count.div_ceil(shape.interval);
        let (values, offsets) = (decoder.cells(entries, shape.value_bits())?, decoder.cells(entries, bits_for(len))?);
        let coded = Coded { shape, count, len, code, values, offsets };
        if decoder.reads_stores() {
            let numbers: Vec<u64> = coded.numbers().collect();
            let ascend = numbers.is_sorted_by(|a, b| a < b || shape.repeats && a == b);
            // The one sound code of its numbers, bit for bit, with its index.
            if !ascend || numbers.len() as u64 != count || Coded::new(shape, &numbers)? != coded {
                return Err(Error::corrupt("coded hash values", format!("{count} that ascend"), numbers.len()));
            }
        }
        Ok(coded)
    }
}

/// A place in the code: the number that was read last, and where the next is.
struct Cursor<'a> {
    coded: &'a Coded,
    entry: u64,
    value: u64,
    reader: BitReader<'a>,
    /// Numbers that are left before the next entry of the index.
    left: u64,
    decoded: u64,
}

impl Cursor<'_> {
    /// Goes on to the first number that is not below this one, and says whether it is this one.
    #[inline]
    fn reaches(&mut self, wanted: u64) -> bool {
        loop {
            match self.value.cmp(&wanted) {
                Ordering::Equal => return true,
                Ordering::Greater => return false,
                Ordering::Less if self.left == 0 => return false,
                Ordering::Less => {}
            }
            let gap = self.coded.shape.read(&mut self.reader);
            self.left = gap.map_or(0, |_| self.left - 1);
            self.value = self.value.saturating_add(gap.unwrap_or(0));
            self.decoded += 1;
        }
    }
}
