//! Counters as codes of different lengths, one behind the other: a string-array index.
//!
//! A counter C is the Elias gamma code of C+1: for C + 1 = 2^n + r, n zeros, a one, the n bits of r. A zero is one bit, 1 and
//! 2 are three, 3 to 6 are five. Codes of unequal length have no addresses, so there is an index:
//!
//! ```text
//! superblock   512 counters: a bit string of its own, with some words to spare
//! block        64 counters:  where its first code begins in the string, 16 bits
//! counter                    found by reading the codes of its block, runs of zeros at once
//! ```
//!
//! A code that gets longer or shorter shifts what is behind it in the superblock; one that no longer fits makes the superblock
//! longer, and no other.

use crate::error::{Error, Result};
use crate::parts::counter_array::CounterStore;
use crate::simd::prefetch;
use crate::store::{read_field, write_field};

const BLOCK: usize = 64;
const BLOCKS: usize = 8;
const SUPERBLOCK: usize = BLOCK * BLOCKS;

/// Words to spare in a superblock that has grown; with more than twice as many it gives some back.
const SLACK: usize = 2;

/// 512 codes. The longest code has 65 bits, so that every block begins below 2^16.
#[derive(Clone, Debug)]
struct Superblock {
    words: Vec<u64>,
    used: u32,
    starts: [u16; BLOCKS],
}

/// Counters of up to 32 bits in the space of their codes.
#[derive(Clone, Debug)]
pub(crate) struct CodedCounters {
    superblocks: Vec<Superblock>,
    len: u64,
}

/// The code of a counter: the number of zeros, and the one with the bits behind it.
fn code(counter: u64) -> (u32, u64) {
    let value = counter + 1;
    let zeros = value.ilog2();
    (zeros, 1 | (value & !(1 << zeros)) << 1)
}

/// Bits of the code of a counter.
pub(crate) fn code_bits(counter: u64) -> u32 {
    2 * (counter + 1).ilog2() + 1
}

/// 64 bits from `bit` on, zeros behind the end.
#[inline]
fn window(words: &[u64], bit: usize) -> u64 {
    let (word, offset) = (bit / 64, bit % 64);
    let low = words.get(word).map_or(0, |word| word >> offset);
    // Shifted twice, because by 64 is not possible.
    low | words.get(word + 1).map_or(0, |word| word << 1 << (63 - offset))
}

/// The counter whose code begins at `bit`, and its length in bits. Nothing when there are more zeros than a code has.
#[inline]
fn read_code(words: &[u64], bit: usize) -> Option<(u64, usize)> {
    let zeros = window(words, bit).trailing_zeros();
    if zeros > 32 {
        return None;
    }
    let rest = window(words, bit + zeros as usize) >> 1 & ((1 << zeros) - 1);
    Some(((1 << zeros | rest) - 1, 2 * zeros as usize + 1))
}

fn write_code(words: &mut [u64], bit: usize, counter: u64) {
    let (zeros, rest) = code(counter);
    if zeros > 0 {
        write_field(words, bit as u64, zeros, 0);
    }
    write_field(words, bit as u64 + u64::from(zeros), zeros + 1, rest);
}

/// Moves `len` bits from `from` to `to`, which may overlap.
fn move_bits(words: &mut [u64], from: usize, to: usize, len: usize) {
    let mut copy = |begin: usize, bits: usize| {
        let value = read_field(words, (from + begin) as u64, bits as u32);
        write_field(words, (to + begin) as u64, bits as u32, value);
    };
    let (whole, rest) = (len / 64, len % 64);
    if to < from {
        (0..whole).for_each(|i| copy(64 * i, 64));
        if rest > 0 {
            copy(64 * whole, rest);
        }
    } else {
        if rest > 0 {
            copy(64 * whole, rest);
        }
        (0..whole).rev().for_each(|i| copy(64 * i, 64));
    }
}

impl Superblock {
    /// Zeros.
    fn new(counters: usize) -> Self {
        let mut words = Vec::new();
        words.reserve_exact(counters.div_ceil(64) + 1);
        words.resize(counters / 64, u64::MAX);
        words.extend((!counters.is_multiple_of(64)).then(|| (1 << (counters % 64)) - 1));
        Superblock { words, used: counters as u32, starts: std::array::from_fn(|i| (BLOCK * i).min(counters) as u16) }
    }

    /// Where the code of the counter begins.
    #[inline]
    fn find(&self, index: usize) -> usize {
        let mut bit = usize::from(self.starts[index / BLOCK]);
        let mut left = index % BLOCK;
        while left > 0 {
            let window = window(&self.words, bit);
            if window & 1 == 1 {
                let run = (window.trailing_ones() as usize).min(left);
                bit += run;
                left -= run;
            } else {
                bit += 2 * window.trailing_zeros() as usize + 1;
                left -= 1;
            }
        }
        bit
    }

    #[inline]
    fn get(&self, index: usize) -> u64 {
        // Codes are made by `write_code` or checked by `from_bytes`, so there is one.
        read_code(&self.words, self.find(index)).map_or(0, |(counter, _)| counter)
    }

    fn update(&mut self, index: usize, change: impl FnOnce(u64) -> u64) -> u64 {
        let bit = self.find(index);
        let Some((before, old)) = read_code(&self.words, bit) else { return 0 };
        let after = change(before).min(CodedCounters::MAX);
        if after != before {
            let new = code_bits(after) as usize;
            self.resize_code(index, bit, old, new);
            write_code(&mut self.words, bit, after);
        }
        before
    }

    /// Makes the code at `bit` so long, whatever is then in it.
    fn resize_code(&mut self, index: usize, bit: usize, old: usize, new: usize) {
        if old == new {
            return;
        }
        let used = self.used as usize;
        let needed = used + new - old;
        if needed > self.words.len() * 64 {
            let words = needed.div_ceil(64) + SLACK;
            self.words.reserve_exact(words - self.words.len());
            self.words.resize(words, 0);
        }
        move_bits(&mut self.words, bit + old, bit + new, used - bit - old);
        self.used = needed as u32;
        for start in &mut self.starts[index / BLOCK + 1..] {
            *start = (usize::from(*start) + new - old) as u16;
        }
        let enough = needed.div_ceil(64) + SLACK;
        if self.words.len() > enough + SLACK {
            self.words.truncate(enough);
            self.words.shrink_to(enough);
        }
    }
}

impl CodedCounters {
    pub(crate) const MAX: u64 = u32::MAX as u64;

    /// The largest number of counters, 7 GB when they are all zero: superblocks are allocated one by one, so that memory
    /// which cannot be had would not be noticed before.
    const MOST: u64 = 1 << 34;

    /// `len` zeros, or an error when the memory cannot be had.
    pub(crate) fn zeroed(len: u64) -> Result<Self> {
        let too_large = || Error::TooLarge { what: "the counters".into(), bytes: u128::from(len) / 4 };
        if len > Self::MOST {
            return Err(too_large());
        }
        let mut superblocks = Vec::new();
        let count = usize::try_from(len.div_ceil(SUPERBLOCK as u64)).map_err(|_| too_large())?;
        superblocks.try_reserve_exact(count).map_err(|_| too_large())?;
        superblocks.extend((0..count as u64).map(|i| {
            let left = len - i * SUPERBLOCK as u64;
            Superblock::new(left.min(SUPERBLOCK as u64) as usize)
        }));
        Ok(CodedCounters { superblocks, len })
    }

    /// What `len` zeros take, as [`bits`](Self::bits) has it: a word for each block and one to spare in each superblock.
    pub(crate) fn zeroed_bits(len: u64) -> u128 {
        let superblocks = u128::from(len.div_ceil(SUPERBLOCK as u64));
        64 * (u128::from(len.div_ceil(BLOCK as u64)) + superblocks) + superblocks * size_of::<Superblock>() as u128 * 8
    }

    /// The memory that is allocated: codes, slack and index.
    pub(crate) fn bits(&self) -> u64 {
        let codes: usize = self.superblocks.iter().map(|superblock| superblock.words.capacity()).sum();
        (codes * 64 + self.superblocks.capacity() * size_of::<Superblock>() * 8) as u64
    }

    /// All counters in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.superblocks.iter().zip(0u64..).flat_map(move |(superblock, i)| {
            let counters = (self.len - i * SUPERBLOCK as u64).min(SUPERBLOCK as u64);
            let mut bit = 0;
            (0..counters).map(move |_| {
                let (counter, len) = read_code(&superblock.words, bit).unwrap_or((0, 1));
                bit += len;
                counter
            })
        })
    }

    /// The codes one behind the other, low bits first.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let bits: usize = self.superblocks.iter().map(|superblock| superblock.used as usize).sum();
        let mut words = vec![0u64; bits.div_ceil(64)];
        let mut end = 0;
        for superblock in &self.superblocks {
            let used = superblock.used as usize;
            for begin in (0..used).step_by(64) {
                let width = (used - begin).min(64) as u32;
                let value = read_field(&superblock.words, begin as u64, width);
                write_field(&mut words, (end + begin) as u64, width, value);
            }
            end += used;
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    pub(crate) fn from_bytes(len: u64, bytes: &[u8]) -> Result<Self> {
        let wrong = |found: &str| Error::corrupt("coded counters", format!("the codes of {len}"), found);
        // A code has at least a bit: what is allocated is of the size of what is there.
        if len > bytes.len() as u64 * 8 || !bytes.len().is_multiple_of(8) {
            return Err(wrong("other bytes"));
        }
        let (chunks, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
        let mut out = Self::zeroed(len)?;
        let mut bit = 0;
        for (superblock, i) in out.superblocks.iter_mut().zip(0u64..) {
            let counters = (len - i * SUPERBLOCK as u64).min(SUPERBLOCK as u64) as usize;
            let begin = bit;
            for index in 0..counters {
                if index % BLOCK == 0 {
                    superblock.starts[index / BLOCK] = (bit - begin) as u16;
                }
                let (counter, code) = read_code(&words, bit).ok_or_else(|| wrong("too long a code"))?;
                bit += code;
                if counter > Self::MAX || bit > words.len() * 64 {
                    return Err(wrong("a code that does not end"));
                }
            }
            let used = bit - begin;
            (counters.div_ceil(BLOCK)..BLOCKS).for_each(|block| superblock.starts[block] = used as u16);
            superblock.used = used as u32;
            superblock.words.reserve_exact(used.div_ceil(64).saturating_sub(superblock.words.len()));
            superblock.words.resize(used.div_ceil(64), 0);
            for at in (0..used).step_by(64) {
                let width = (used - at).min(64) as u32;
                let value = read_field(&words, (begin + at) as u64, width);
                write_field(&mut superblock.words, at as u64, width, value);
            }
        }
        if bit.div_ceil(64) != words.len() || words.last().is_some_and(|last| bit % 64 > 0 && last >> (bit % 64) != 0) {
            return Err(wrong("more bits"));
        }
        Ok(out)
    }

    fn place(&self, index: u64) -> Option<(usize, usize)> {
        (index < self.len).then_some(((index / SUPERBLOCK as u64) as usize, (index % SUPERBLOCK as u64) as usize))
    }

    fn update(&mut self, index: u64, change: impl FnOnce(u64) -> u64) -> u64 {
        self.place(index).map_or(0, |(superblock, index)| self.superblocks[superblock].update(index, change))
    }
}

/// Equal counters, however much there is to spare.
impl PartialEq for CodedCounters {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl CounterStore for CodedCounters {
    fn max(&self) -> u64 {
        Self::MAX
    }

    #[inline]
    fn get(&self, index: u64) -> u64 {
        self.place(index).map_or(0, |(superblock, index)| self.superblocks[superblock].get(index))
    }

    fn add(&mut self, index: u64, amount: u64) -> u64 {
        self.update(index, |counter| counter.saturating_add(amount))
    }

    fn sub(&mut self, index: u64, amount: u64) {
        self.update(index, |counter| counter.saturating_sub(amount));
    }

    fn prefetch(&self, index: u64) {
        prefetch(&self.superblocks, (index / SUPERBLOCK as u64) as usize);
    }

    #[inline]
    fn prefetched_bits(&self) -> u64 {
        8 * size_of_val(self.superblocks.as_slice()) as u64
    }

    fn update_each(&mut self, places: impl Iterator<Item = u64>, mut change: impl FnMut(u64) -> u64) {
        places.for_each(|place| {
            self.update(place, &mut change);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn counters_agree_with_a_plain_vector_through_random_changes() {
        for len in [1u64, 63, 64, 65, 511, 512, 513, 1_500] {
            let mut counters = CodedCounters::zeroed(len).unwrap();
            let mut model = vec![0u64; len as usize];
            let mut random = SplitMix::new(len);
            for step in 0..6_000 {
                let (index, amount) = (random.below(len), random.next_u64() >> (31 + random.below(33)));
                if random.below(3) > 0 {
                    assert_eq!(counters.add(index, amount), model[index as usize]);
                    model[index as usize] = (model[index as usize] + amount).min(CodedCounters::MAX);
                } else {
                    counters.sub(index, amount);
                    model[index as usize] = model[index as usize].saturating_sub(amount);
                }
                assert_eq!(counters.get(index), model[index as usize]);
                if step % 500 == 0 {
                    assert!(counters.iter().eq(model.iter().copied()), "{len} {step}");
                    assert!((0..len).all(|index| counters.get(index) == model[index as usize]));
                    let again = CodedCounters::from_bytes(len, &counters.to_bytes()).unwrap();
                    assert!(again == counters && (0..len).all(|i| again.get(i) == model[i as usize]));
                }
            }
            assert_eq!((counters.get(len), counters.add(len, 1)), (0, 0), "nothing beyond the end");
            // Emptied, it gives its memory back.
            (0..len).for_each(|index| counters.sub(index, u64::MAX));
            assert_eq!(counters, CodedCounters::zeroed(len).unwrap());
            assert!(counters.bits() <= CodedCounters::zeroed(len).unwrap().bits() + 64 * 5 * len.div_ceil(512));
        }
    }

    #[test]
    fn codes_are_those_of_elias() {
        for (counter, bits) in [(0, 1), (1, 3), (2, 3), (3, 5), (6, 5), (7, 7), (CodedCounters::MAX, 65)] {
            assert_eq!(code_bits(counter), bits);
            let mut words = [0; 3];
            write_code(&mut words, 7, counter);
            assert_eq!(read_code(&words, 7), Some((counter, bits as usize)));
        }
    }

    #[test]
    fn bytes_that_are_no_codes_are_refused() {
        let bytes = CodedCounters::zeroed(100).unwrap().to_bytes();
        assert_eq!(bytes.len(), 16);
        for len in [0, 63, 99, 101, 128, 129, u64::MAX] {
            assert!(CodedCounters::from_bytes(len, &bytes).is_err(), "{len}");
        }
        assert!(CodedCounters::from_bytes(100, &bytes[..15]).is_err());
        assert!(CodedCounters::from_bytes(3, &[0; 8]).is_err(), "a code that never ends");
        let mut random = SplitMix::new(5);
        for _ in 0..2_000 {
            let bytes: Vec<u8> = (0..64).map(|_| (random.next_u64() & random.next_u64()) as u8).collect();
            if let Ok(mut counters) = CodedCounters::from_bytes(120, &bytes) {
                for index in 0..120 {
                    counters.add(index, 1 << (index % 30));
                }
            }
        }
    }
}
