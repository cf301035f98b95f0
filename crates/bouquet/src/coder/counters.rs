//! Counters: symbols `0..2^width` under their own frequencies.
//!
//! The message begins with the table: how many entries, then for each, in order of the values, the distance to the value
//! before and the number of counters that hold it (all as LEB128). Values too rare to pay for an entry are *escapes*:
//! they share one symbol and follow it as plain binary numbers, whose width stands behind the table. Their number is
//! not written, it is what the entries leave of the total. Then comes the payload of the arithmetic coder, which is
//! empty if all counters are equal.

use std::collections::BTreeMap;

use super::range::{Frequent, RangeDecoder, RangeEncoder};
use crate::error::{Error, Result};

/// The widest counters that can be coded, in bits.
pub const MAX_WIDTH: u32 = 32;

/// Frequencies are scaled to add up to no more than about this, which leaves the coder a precision of `2^-24`.
const MAX_TOTAL: u64 = 1 << 32;

/// Counters below this are counted in an array, others in a map.
const SMALL: usize = 1 << 12;

/// Codes counters of `width` bits (1 to [`MAX_WIDTH`]) to about the entropy of their frequencies.
///
/// The counters are gone through twice, which is why the iterator has to be cloneable; how they are stored does not
/// matter. Refuses a counter that is not below `2^width`.
///
/// ```
/// use bouquet::coder::{decode_counters, encode_counters};
/// let counters = [0, 0, 1, 0, 2, 0, 0, 15, 0, 1];
/// let bytes = encode_counters(counters.into_iter(), 4)?;
/// let mut decoded = Vec::new();
/// decode_counters(&bytes, 10, 4, |counter| decoded.push(counter))?;
/// assert_eq!(decoded, counters);
/// assert!(encode_counters(counters.into_iter(), 3).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub fn encode_counters(counters: impl Iterator<Item = u32> + Clone, width: u32) -> Result<Vec<u8>> {
    let limit = check_width(width)?;
    let values = frequencies(counters.clone());
    if let Some(&(largest, _)) = values.last()
        && u64::from(largest) >= limit
    {
        return Err(Error::Item { expected: format!("a counter below {limit}"), found: largest.to_string() });
    }
    let (entries, rare) = split_values(values);
    let escapes = rare.iter().map(|&(_, count)| count).sum();
    let escape_bits = bits_of(rare.iter().map(|&(value, _)| value).max().unwrap_or(0));

    let mut bytes = Vec::new();
    write_number(entries.len() as u64, &mut bytes);
    let mut least = 0;
    for &(value, count) in &entries {
        write_number(u64::from(value - least), &mut bytes);
        write_number(count, &mut bytes);
        least = value.wrapping_add(1); // The largest value of all has no successor, and no entry follows it.
    }
    if escapes > 0 {
        bytes.push(escape_bits as u8);
    }
    let table = Table::new(entries, escapes, escape_bits);
    if !table.has_payload() {
        return Ok(bytes);
    }
    let mut encoder = RangeEncoder::after(bytes);
    for counter in counters {
        let slot = table.entries.binary_search_by_key(&counter, |&(value, _)| value);
        let (start, frequency) = table.share(slot.unwrap_or(table.entries.len()));
        if frequency == 0 || slot.is_err() && u64::from(counter) >= 1 << escape_bits {
            let expected = "a counter that was there in the first pass".into();
            return Err(Error::Item { expected, found: counter.to_string() });
        }
        encoder.symbol(start, frequency, table.total());
        if slot.is_err() {
            encoder.symbol(u64::from(counter), 1, 1 << escape_bits);
        }
    }
    Ok(encoder.finish())
}

/// Decodes `len` counters of `width` bits and hands them to `put` in order.
///
/// `len` comes from a header: the caller has checked that he wants as many. On an error, which may come after any number
/// of counters, what was put is to be thrown away.
///
/// ```
/// use bouquet::coder::{decode_counters, encode_counters};
/// let bytes = encode_counters(std::iter::repeat_n(3, 1_000_000), 4)?;
/// assert!(bytes.len() <= 5);
/// let mut sum = 0;
/// decode_counters(&bytes, 1_000_000, 4, |counter| sum += counter)?;
/// assert_eq!(sum, 3_000_000);
/// assert!(decode_counters(&bytes, 999_999, 4, |_| ()).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub fn decode_counters(bytes: &[u8], len: u64, width: u32, mut put: impl FnMut(u32)) -> Result<()> {
    decode_counter_runs(bytes, len, width, |counter, times| (0..times).for_each(|_| put(counter)))
}

/// As [`decode_counters`], but `put` is told how many times in a row a counter comes: a few bytes may stand for thousands of
/// millions of equal counters, which takes no longer than filling a store with them.
///
/// ```
/// use bouquet::coder::{decode_counter_runs, encode_counters};
/// let bytes = encode_counters([0; 1_000].into_iter().chain([7, 0, 0]), 4)?;
/// let mut runs = Vec::new();
/// decode_counter_runs(&bytes, 1_003, 4, |counter, times| runs.push((counter, times)))?;
/// assert_eq!(runs, [(0, 1_000), (7, 1), (0, 2)]);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub fn decode_counter_runs(bytes: &[u8], len: u64, width: u32, mut put: impl FnMut(u32, u64)) -> Result<()> {
    check_width(width)?;
    let (table, payload) = Table::read(bytes, len, width)?;
    if !table.has_payload() {
        if !payload.is_empty() {
            return Err(Error::corrupt("coded data of equal counters", "0 bytes", payload.len()));
        }
        if let Some(&(value, count)) = table.entries.first() {
            put(value, count);
        }
        return Ok(());
    }
    let mut decoder = RangeDecoder::new(payload)?;
    let mut left: Vec<u64> = table.entries.iter().map(|&(_, count)| count).collect();
    left.push(table.escapes);
    let frequent = table.frequent();
    let mut done = 0;
    while done < len {
        if let Some((slot, value, symbol)) = &frequent {
            // The only symbol that may take less than a bit of the message: others are as many as their bytes allow.
            let times = decoder.run(symbol, left[*slot]);
            if times > 0 {
                decoder.live()?;
                left[*slot] -= times;
                done += times;
                put(*value, times);
                continue;
            }
        }
        let slot = decoder.next_symbol(&table.starts[..table.symbols() + 1]);
        let counter = match table.entries.get(slot) {
            Some(&(value, _)) => value,
            None => {
                let value = decoder.owner(1 << table.escape_bits);
                decoder.symbol(value, 1, 1 << table.escape_bits);
                value as u32
            }
        };
        decoder.live()?;
        left[slot] = left[slot]
            .checked_sub(1)
            .ok_or_else(|| Error::corrupt("coded counters", "as many of each value as the table says", "more"))?;
        done += 1;
        put(counter, 1);
    }
    // The counts of the table add up to `len`, so none can be left over.
    decoder.finish()
}

/// The entropy of the counters' frequencies, in bits: what [`encode_counters`] comes close to.
///
/// ```
/// use bouquet::coder::counters_entropy;
/// assert_eq!(counters_entropy([0, 7, 7, 0].into_iter()), 4.0);
/// assert_eq!(counters_entropy([5; 100].into_iter()), 0.0);
/// ```
#[must_use]
pub fn counters_entropy(counters: impl Iterator<Item = u32>) -> f64 {
    super::entropy_bits(frequencies(counters).into_iter().map(|(_, count)| count))
}

/// The values that occur and how often, by value.
fn frequencies(counters: impl Iterator<Item = u32>) -> Vec<(u32, u64)> {
    let mut small = vec![0u64; SMALL];
    let mut large = BTreeMap::new();
    for counter in counters {
        match small.get_mut(counter as usize) {
            Some(count) => *count += 1,
            None => *large.entry(counter).or_insert(0) += 1,
        }
    }
    (0..).zip(small).filter(|&(_, count)| count > 0).chain(large).collect()
}

/// The bits of the binary number, at least one.
fn bits_of(value: u32) -> u32 {
    (32 - value.leading_zeros()).max(1)
}

/// Decides which values get an entry of the table, and which are rare. Both come ordered by value.
///
/// If one value pays for its entry, so does every more frequent one: only the number of entries is open. For each number
/// the size of the message is estimated, and the least taken.
#[expect(clippy::type_complexity, reason = "value and count, twice")]
fn split_values(mut values: Vec<(u32, u64)>) -> (Vec<(u32, u64)>, Vec<(u32, u64)>) {
    let information =
        |count: u64, total: f64| if count > 0 { count as f64 * (total / count as f64).log2() } else { 0.0 };
    let largest = values.last().map_or(0, |&(value, _)| value);
    let mean_gap = u64::from(largest) / values.len().max(1) as u64;
    let len: u64 = values.iter().map(|&(_, count)| count).sum();
    let total = len as f64;

    values.sort_unstable_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
    let (mut best, mut least) = (0, f64::INFINITY);
    let (mut escapes, mut entry_bits) = (len, 0.0);
    for number in 0..=values.len() {
        let bits = entry_bits + information(escapes, total) + escapes as f64 * f64::from(bits_of(largest));
        if bits < least {
            (best, least) = (number, bits);
        }
        if let Some(&(_, count)) = values.get(number) {
            escapes -= count;
            entry_bits += f64::from(8 * (number_bytes(mean_gap) + number_bytes(count))) + information(count, total);
        }
    }
    let mut rare = values.split_off(best);
    values.sort_unstable();
    rare.sort_unstable();
    (values, rare)
}

/// 2^width.
fn check_width(width: u32) -> Result<u64> {
    if (1..=MAX_WIDTH).contains(&width) {
        return Ok(1 << width);
    }
    Err(Error::parameter("width", format!("from 1 to {MAX_WIDTH} bits"), width))
}

/// The static model: the values that have a symbol of their own, and the escapes.
struct Table {
    /// Value and number of counters that hold it, by value.
    entries: Vec<(u32, u64)>,
    escapes: u64,
    escape_bits: u32,
    /// Where the share of each symbol begins, the escapes behind the entries, and the total at the end.
    starts: Vec<u64>,
}

impl Table {
    fn new(entries: Vec<(u32, u64)>, escapes: u64, escape_bits: u32) -> Self {
        let len: u64 = entries.iter().map(|&(_, count)| count).sum::<u64>() + escapes;
        let shift = (len / MAX_TOTAL).checked_ilog2().map_or(0, |log| log + 1);
        let mut starts = vec![0];
        let mut total = 0;
        for count in entries.iter().map(|&(_, count)| count).chain([escapes]) {
            total += if count > 0 { (count >> shift).max(1) } else { 0 };
            starts.push(total);
        }
        Table { entries, escapes, escape_bits, starts }
    }

    /// Reads the table in front of a message of `len` counters; also gives what follows it.
    fn read(bytes: &[u8], len: u64, width: u32) -> Result<(Self, &[u8])> {
        let mut rest = bytes;
        let count = read_number(&mut rest)?;
        // Two bytes per entry at least: the table cannot be larger than the message.
        if count > rest.len() as u64 / 2 {
            let needed = count.saturating_mul(2);
            return Err(Error::Truncated { what: "frequency table".into(), needed, available: rest.len() as u64 });
        }
        let mut entries = Vec::with_capacity(count as usize);
        let (mut least, mut escapes) = (0u64, len);
        for _ in 0..count {
            let value = least.saturating_add(read_number(&mut rest)?);
            let frequency = read_number(&mut rest)?;
            if value >= 1 << width {
                return Err(Error::corrupt("frequency table", format!("counters of {width} bits"), value));
            }
            if frequency == 0 || frequency > escapes {
                let expected = format!("frequencies that add up to at most {len}");
                return Err(Error::corrupt("frequency table", expected, frequency));
            }
            escapes -= frequency;
            entries.push((value as u32, frequency));
            least = value + 1;
        }
        let mut escape_bits = 1;
        if escapes > 0 {
            let missing = || Error::Truncated { what: "frequency table".into(), needed: 1, available: 0 };
            let (&bits, payload) = rest.split_first().ok_or_else(missing)?;
            escape_bits = u32::from(bits);
            rest = payload;
            if !(1..=width).contains(&escape_bits) {
                return Err(Error::corrupt("width of rare counters", format!("1 to {width} bits"), escape_bits));
            }
        }
        Ok((Table::new(entries, escapes, escape_bits), rest))
    }

    /// Whether the counters differ, or may differ.
    fn has_payload(&self) -> bool {
        self.entries.len() > 1 || self.escapes > 0
    }

    fn total(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Start and length of a symbol's share; the escapes are symbol number `entries.len()`.
    fn share(&self, slot: usize) -> (u64, u64) {
        (self.starts[slot], self.starts[slot + 1] - self.starts[slot])
    }

    /// The number of symbols that occur.
    fn symbols(&self) -> usize {
        self.entries.len() + usize::from(self.escapes > 0)
    }

    /// The slot, value and share of the entry that has at least half of the total, if one has.
    fn frequent(&self) -> Option<(usize, u32, Frequent)> {
        let (slot, &(value, _)) = self.entries.iter().enumerate().max_by_key(|&(_, &(_, count))| count)?;
        let (start, frequency) = self.share(slot);
        let symbol = Frequent::new(start, frequency, self.total())?;
        (frequency >= self.total() / 2).then_some((slot, value, symbol))
    }
}

fn write_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The length of a number as LEB128.
fn number_bytes(number: u64) -> u32 {
    (64 - number.leading_zeros()).div_ceil(7).max(1)
}

/// Reads the shortest form of a number only.
fn read_number(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0u64;
    for position in 0..10 {
        let Some((&byte, rest)) = bytes.split_first() else {
            return Err(Error::Truncated { what: "frequency table".into(), needed: 1, available: 0 });
        };
        *bytes = rest;
        let digit = u64::from(byte & 0x7f);
        if position == 9 && digit > 1 || position > 0 && byte == 0 {
            break;
        }
        number |= digit << (7 * position);
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(Error::corrupt("frequency table", "numbers below 2^64 in their shortest form", "another number"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::entropy_bits;
    use super::*;
    use crate::hash::SplitMix;

    fn decode(bytes: &[u8], len: usize, width: u32) -> Result<Vec<u32>> {
        let mut counters = Vec::new();
        decode_counters(bytes, len as u64, width, |counter| counters.push(counter))?;
        Ok(counters)
    }

    fn round_trip(counters: &[u32], width: u32) -> Vec<u8> {
        let bytes = encode_counters(counters.iter().copied(), width).unwrap();
        assert_eq!(decode(&bytes, counters.len(), width).unwrap(), counters);
        bytes
    }

    /// The counters of a counting filter with a mean load of `mean`: Poisson by products of uniform numbers.
    fn poisson(len: usize, mean: f64, random: &mut SplitMix) -> Vec<u32> {
        let floor = (-mean).exp();
        let draw = |_| {
            let (mut counter, mut product) = (0, random.unit());
            while product > floor {
                counter += 1;
                product *= random.unit();
            }
            counter
        };
        (0..len).map(draw).collect()
    }

    fn entropy_bytes(counters: &[u32]) -> f64 {
        let mut counts = BTreeMap::new();
        counters.iter().for_each(|&counter| *counts.entry(counter).or_insert(0) += 1);
        entropy_bits(counts.into_values().collect::<Vec<u64>>()) / 8.0
    }

    proptest! {
        #[test]
        fn any_counters_of_any_width_come_back(
            counters in prop::collection::vec(any::<u32>(), 0..300), width in 1u32..=32, small in any::<bool>()
        ) {
            let shift = 32 - if small { width.min(3) } else { width };
            let counters: Vec<u32> = counters.into_iter().map(|counter| counter >> shift).collect();
            let bytes = round_trip(&counters, width);
            // Never much more than the plain counters.
            prop_assert!(bytes.len() <= counters.len() * width as usize * 21 / 20 / 8 + 16);
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..100), len in 0usize..300, width in 0u32..40
        ) {
            if let Ok(counters) = decode(&bytes, len, width) {
                prop_assert_eq!(counters.len(), len);
                prop_assert!(counters.iter().all(|&counter| u64::from(counter) < 1 << width));
            }
        }
    }

    #[test]
    fn counters_of_a_counting_filter_have_the_size_of_their_entropy() {
        let mut random = SplitMix::new(1);
        for mean in [0.001, 0.02, 0.1, 0.5, std::f64::consts::LN_2, 1.0, 2.5, 8.0] {
            let counters = poisson(100_000, mean, &mut random);
            for width in [6, 32] {
                let (size, bound) = (round_trip(&counters, width).len() as f64, entropy_bytes(&counters));
                assert!(size <= bound * 1.01 + 16.0, "mean {mean}: {size} bytes, entropy {bound}");
                assert!(size >= bound);
            }
        }
    }

    #[test]
    fn wide_counters_that_all_differ_cost_their_plain_size() {
        let mut random = SplitMix::new(2);
        for width in 1..=32 {
            let counters: Vec<u32> = (0..5_000).map(|_| (random.next_u64() >> (64 - width)) as u32).collect();
            let size = round_trip(&counters, width).len() as f64;
            assert!(size <= 5_000.0 * f64::from(width) / 8.0 + 8.0, "width {width}: {size}");
        }
    }

    #[test]
    fn equal_counters_have_no_payload() {
        assert_eq!(round_trip(&[], 7), [0]);
        assert_eq!(round_trip(&[0; 100], 7), [1, 0, 100]);
        assert_eq!(round_trip(&[u32::MAX; 100], 32).len(), 7);
        assert!(decode(&[1, 0, 100, 0], 100, 7).is_err());
        assert!(decode(&[1, 0, 100], 99, 7).is_err());
    }

    #[test]
    fn damage_is_refused_or_shows_as_other_counters() {
        let mut random = SplitMix::new(3);
        let mut counters = poisson(5_000, 0.7, &mut random);
        counters[77] = 1 << 20; // an escape
        let bytes = encode_counters(counters.iter().copied(), 24).unwrap();
        let (mut trials, mut undetected) = (0, 0);
        let mut judge = |bytes: &[u8]| {
            trials += 1;
            undetected += usize::from(decode(bytes, counters.len(), 24).is_ok_and(|decoded| {
                assert_ne!(decoded, counters);
                true
            }));
        };
        for i in 0..bytes.len() {
            judge(&bytes[..i]);
            let mut flipped = bytes.clone();
            flipped[i] ^= 1 << random.below(8);
            judge(&flipped);
        }
        judge(&[&bytes[..], &[0]].concat());
        judge(&[&bytes[..], &[1, 2, 3]].concat());
        assert!(undetected * 100 < trials, "{undetected} of {trials} unnoticed");
    }

    #[test]
    fn tables_that_cannot_be_true_are_refused() {
        let refused: [&[u8]; 10] = [
            &[],
            &[0x80],
            &[0x80, 0x00],                                                 // not the shortest form
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], // beyond 64 bits
            &[0xff, 0xff, 0xff, 0xff, 0x0f, 0, 1],                         // more entries than bytes
            &[1, 16, 100],                                                 // 16 is no counter of 4 bits
            &[1, 0, 0],                                                    // an entry without counters
            &[1, 0, 101],                                                  // more counters than there are
            &[1, 0, 99, 5, 0],                                             // rare counters wider than the width
            &[1, 0, 99],                                                   // nothing about the rare counter
        ];
        for bytes in refused {
            assert!(decode(bytes, 100, 4).is_err(), "{bytes:?}");
        }
        for width in [0, 33, u32::MAX] {
            assert!(matches!(encode_counters([].into_iter(), width), Err(Error::Parameter { .. })));
            assert!(matches!(decode_counters(&[0], 0, width, |_| ()), Err(Error::Parameter { .. })));
        }
    }

    #[test]
    fn an_iterator_whose_clone_differs_is_refused() {
        #[derive(Clone)]
        struct Forgetful<'a>(&'a std::cell::Cell<u32>, u32);
        impl Iterator for Forgetful<'_> {
            type Item = u32;
            fn next(&mut self) -> Option<u32> {
                self.0.set(self.0.get() + 1);
                self.1 = self.1.checked_sub(1)?;
                Some(self.0.get() / 50 % 200)
            }
        }
        assert!(matches!(encode_counters(Forgetful(&Default::default(), 4_000), 8), Err(Error::Item { .. })));
    }

    #[test]
    fn frequencies_beyond_the_precision_are_scaled() {
        let table = Table::new(vec![(0, 1 << 40), (1, 3), (9, 1 << 39)], 1, 4);
        assert!(table.total() <= MAX_TOTAL + 4);
        assert!((0..4).all(|slot| table.share(slot).1 >= 1));
    }
}
