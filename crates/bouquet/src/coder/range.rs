//! The arithmetic coder below both models: an interval of 64 bits, narrowed once per decision.
//!
//! The message is a number in `[0, 1)`. Encoder and decoder hold the same interval `[low, low + range)`; a decision of
//! probability `P` keeps a share `P` of it. Whenever `range` falls below `2^56` its leading byte leaves, so `range` has
//! at least 56 bits and a probability of 32 bits is applied with a relative error below `2^-24`.
//!
//! `low` may overflow after bytes have left: the carry is added to them. A byte that has left takes at most one carry
//! (the interval is never longer than one unit of it), so carries cost constant time per byte.
//!
//! The last byte is the shortest number in the final interval: `low` rounded up to a multiple of `2^56`. The decoder
//! reads zeros behind it. It knows how many bytes the encoder wrote (one per shift and the last) and that the number
//! lies less than `2^56` above `low`, which makes the form of a message unique.

use crate::error::{Error, Result};

/// The interval never gets shorter than this.
const SHORTEST: u64 = 1 << 56;

/// A run is found by arithmetic where that saves about this many steps; it costs as much as some dozens.
const LEAP: u64 = 256;

/// Writes decisions. See the [module](self).
#[derive(Debug)]
pub(super) struct RangeEncoder {
    low: u64,
    range: u64,
    bytes: Vec<u8>,
}

impl RangeEncoder {
    /// An encoder that writes behind these bytes.
    pub(super) fn after(bytes: Vec<u8>) -> Self {
        RangeEncoder { low: 0, range: u64::MAX, bytes }
    }

    /// Codes a bit that is set with probability `one / 2^32`; `one` is not 0.
    #[inline]
    pub(super) fn bit(&mut self, bit: bool, one: u32) {
        let ones_share = (self.range >> 32) * u64::from(one);
        let zeros_share = self.range - ones_share;
        if bit {
            self.narrow(zeros_share, ones_share);
        } else {
            self.narrow(0, zeros_share);
        }
    }

    /// Codes the symbol that owns `start..start + frequency` of `total`; `frequency` is not 0, `total` below `2^48`.
    #[inline]
    pub(super) fn symbol(&mut self, start: u64, frequency: u64, total: u64) {
        let (start, length) = symbol_share(self.range, start, frequency, total);
        self.narrow(start, length);
    }

    #[inline]
    fn narrow(&mut self, start: u64, length: u64) {
        let (low, carry) = self.low.overflowing_add(start);
        self.low = low;
        if carry {
            self.carry();
        }
        self.range = length;
        while self.range < SHORTEST {
            self.bytes.push((self.low >> 56) as u8);
            self.low <<= 8;
            self.range <<= 8;
        }
    }

    #[cold]
    fn carry(&mut self) {
        // The number is below 1, so that the carry always ends in a byte of this message.
        for byte in self.bytes.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
    }

    /// The message.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let (rounded, carry) = self.low.overflowing_add(SHORTEST - 1);
        if carry {
            self.carry();
        }
        self.bytes.push((rounded >> 56) as u8);
        self.bytes
    }
}

/// The part of an interval that belongs to a symbol: (start, length). The last symbol takes what the division leaves.
#[inline]
fn symbol_share(range: u64, start: u64, frequency: u64, total: u64) -> (u64, u64) {
    let unit = range / total;
    if start + frequency == total { (unit * start, range - unit * start) } else { (unit * start, unit * frequency) }
}

/// A symbol that is likely to come many times in a row. See [`RangeDecoder::run`].
#[derive(Debug)]
pub(super) struct Frequent {
    start: u64,
    frequency: u64,
    total: u64,
    /// `2^64 * frequency / total`, rounded up.
    factor: u64,
    /// Up to this unit, the differences of units stay the same for [`LEAP`] steps on average.
    leap_unit: u64,
}

impl Frequent {
    /// The symbol that owns `start..start + frequency` of `total`, below `2^48`; `None` if it is the only one, and so
    /// takes no part of the message, or none at all.
    pub(super) fn new(start: u64, frequency: u64, total: u64) -> Option<Self> {
        if frequency == 0 || frequency >= total {
            return None;
        }
        let factor = (u128::from(frequency) << 64).div_ceil(u128::from(total)) as u64;
        // The difference is about unit * share, where share = others / total, and changes by unit * share^2 per step.
        let others = u128::from(total - frequency);
        let leap_unit = u128::from(total).pow(2) / (others.pow(2) * u128::from(LEAP));
        Some(Frequent { start, frequency, total, factor, leap_unit: leap_unit.try_into().unwrap_or(u64::MAX) })
    }

    /// `unit * frequency / total`, rounded down, of a unit that is at most `2^64 / total`: the factor is too large by less
    /// than `total / total = 1`, the product over `2^64` therefore by less than `1 / total`.
    #[inline]
    fn next_unit(&self, unit: u64) -> u64 {
        ((u128::from(unit) * u128::from(self.factor)) >> 64) as u64
    }

    #[inline]
    fn is_last(&self) -> bool {
        self.start + self.frequency == self.total
    }
}

/// Reads decisions. See the [module](self).
///
/// Decisions themselves cannot fail: behind the end there are zeros. [`live`](Self::live) tells whether bytes are
/// missing, and [`finish`](Self::finish) whether the message was whole.
#[derive(Debug)]
pub(super) struct RangeDecoder<'a> {
    /// The message's number minus `low`; always below `range`.
    offset: u64,
    range: u64,
    bytes: &'a [u8],
    /// The bytes that the encoder had written at this point, the last one included.
    needed: usize,
}

impl<'a> RangeDecoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self> {
        let mut window = [0; 8];
        for (to, from) in window.iter_mut().zip(bytes) {
            *to = *from;
        }
        let decoder = RangeDecoder { offset: u64::from_be_bytes(window), range: u64::MAX, bytes, needed: 1 };
        if decoder.offset == decoder.range {
            return Err(Error::corrupt("coded data", "a number below 1", "eight bytes of 0xff in front"));
        }
        decoder.live()?;
        Ok(decoder)
    }

    /// The mirror of [`RangeEncoder::bit`].
    #[inline]
    pub(super) fn bit(&mut self, one: u32) -> bool {
        let ones_share = (self.range >> 32) * u64::from(one);
        let zeros_share = self.range - ones_share;
        let bit = self.offset >= zeros_share;
        if bit {
            self.narrow(zeros_share, ones_share);
        } else {
            self.narrow(0, zeros_share);
        }
        bit
    }

    /// A number in `0..total` that the next symbol owns; [`symbol`](Self::symbol) has to follow with that symbol.
    #[inline]
    pub(super) fn owner(&self, total: u64) -> u64 {
        (self.offset / (self.range / total)).min(total - 1)
    }

    /// The mirror of [`RangeEncoder::symbol`].
    #[inline]
    pub(super) fn symbol(&mut self, start: u64, frequency: u64, total: u64) {
        let (start, length) = symbol_share(self.range, start, frequency, total);
        self.narrow(start, length);
    }

    /// Decodes a symbol of any frequency and gives its number. Symbol `i` owns `starts[i]..starts[i + 1]` of the total, which
    /// is the last of at least two.
    #[inline]
    pub(super) fn next_symbol(&mut self, starts: &[u64]) -> usize {
        let (last, total) = (starts.len() - 2, starts[starts.len() - 1]);
        let unit = self.range / total;
        // The last symbol takes what the division leaves.
        let symbol = starts[1..=last].partition_point(|&start| unit * start <= self.offset);
        let (start, end) = (unit * starts[symbol], if symbol == last { self.range } else { unit * starts[symbol + 1] });
        self.narrow(start, end - start);
        symbol
    }

    /// Decodes as many `symbol`s as come next, at most `limit`, and gives their number: what [`owner`](Self::owner) and
    /// [`symbol`](Self::symbol) would have done one by one.
    ///
    /// A symbol that is nearly certain hardly narrows the interval, so that a byte of the message may stand for
    /// thousands of millions of it. Between two shifts the interval changes by simple rules, and where a rule holds for long
    /// the run is found by arithmetic; where it does not, a step takes a multiplication instead of divisions.
    pub(super) fn run(&mut self, symbol: &Frequent, limit: u64) -> u64 {
        let mut run = 0;
        while run < limit {
            let before = run;
            run +=
                if symbol.is_last() { self.last_run(symbol, limit - run) } else { self.inner_run(symbol, limit - run) };
            if run == before {
                // Either another symbol comes or this one needs a shift.
                let (start, length) = symbol_share(self.range, symbol.start, symbol.frequency, symbol.total);
                if self.offset < start || self.offset - start >= length {
                    break;
                }
                self.narrow(start, length);
                run += 1;
                // What is missing is told by `live`; reading zeros for ever would help nobody.
                if self.live().is_err() {
                    break;
                }
            }
        }
        run
    }

    /// Part of a run of a symbol that is not the last, without a shift.
    ///
    /// One step makes the interval `unit * frequency`, where `unit = range / total` (rounded down). The next unit is
    /// `unit * frequency / total`, rounded down: smaller by `d = ceil(unit * others / total)`. So while `d` stays the same
    /// the units are an arithmetic progression, and the offset, from which each step takes `unit * start`, is a quadratic
    /// function of the number of steps.
    fn inner_run(&mut self, symbol: &Frequent, limit: u64) -> u64 {
        let &Frequent { start, frequency, total, .. } = symbol;
        let (others, end) = (total - frequency, start + frequency);
        let least_unit = SHORTEST.div_ceil(frequency);
        let mut unit = self.range / total;
        let (mut run, mut offset, mut last_unit) = (0, self.offset, None);
        while run < limit && unit >= least_unit {
            let next = symbol.next_unit(unit);
            if unit <= symbol.leap_unit {
                let d = unit - next;
                // A unit is followed by one smaller by `d` if unit * others > (d - 1) * total.
                let least = (u128::from(d - 1) * u128::from(total) / u128::from(others)) as u64 + 1;
                let steps = ((unit - least) / d + 2).min((unit - least_unit) / d + 1).min(limit - run);
                // The offset at a step, and whether the symbol comes there. Units are below 2^40 here, so that nothing
                // overflows.
                let at = |step: u64| {
                    let (step, unit, d) = (i128::from(step), i128::from(unit), i128::from(d));
                    let offset = i128::from(offset) - i128::from(start) * (step * unit - d * (step * (step - 1) / 2));
                    let unit = unit - step * d;
                    (offset, i128::from(start) * unit <= offset && offset < i128::from(end) * unit)
                };
                // With every step the offset comes nearer to both ends of the symbol's share (which follows from
                // d >= unit * others / total), so once it is outside it stays there.
                let (mut taken, mut refused) = (0, steps);
                if at(steps - 1).1 {
                    taken = steps;
                }
                while taken < refused {
                    let middle = taken + (refused - taken) / 2;
                    if at(middle).1 { taken = middle + 1 } else { refused = middle }
                }
                if taken == 0 {
                    break;
                }
                let last = unit - (taken - 1) * d;
                offset = (at(taken - 1).0 - i128::from(start) * i128::from(last)) as u64;
                run += taken;
                last_unit = Some(last);
                unit = symbol.next_unit(last);
                continue;
            }
            let low = unit * start;
            if offset < low || offset - low >= unit * frequency {
                break;
            }
            offset -= low;
            last_unit = Some(unit);
            unit = next;
            run += 1;
        }
        if let Some(unit) = last_unit {
            (self.offset, self.range) = (offset, unit * frequency);
        }
        run
    }

    /// Part of a run of the last symbol, without a shift.
    ///
    /// It takes what the division leaves, so that one step makes the interval, and the offset, smaller by `unit * start`.
    /// That is the same amount while the unit stays the same.
    fn last_run(&mut self, symbol: &Frequent, limit: u64) -> u64 {
        let &Frequent { start, frequency, total, .. } = symbol;
        let mut unit = self.range / total;
        let mut above = self.range - unit * total;
        let mut run = 0;
        while run < limit {
            let step = unit * start;
            if self.offset < step || self.range - step < SHORTEST {
                break;
            }
            let steps = if above / LEAP > step {
                (above / step).min(self.offset / step).min((self.range - SHORTEST) / step).min(limit - run)
            } else {
                1
            };
            self.offset -= steps * step;
            self.range -= steps * step;
            run += steps;
            if steps > 1 || above >= step {
                above -= steps * step;
                continue;
            }
            let next = symbol.next_unit(unit);
            // unit * frequency + above, divided by the total.
            above += unit * frequency - next * total;
            unit = next;
            if above >= total {
                above -= total;
                unit += 1;
            }
        }
        run
    }

    #[inline]
    fn narrow(&mut self, start: u64, length: u64) {
        self.offset -= start;
        self.range = length;
        while self.range < SHORTEST {
            // The window has eight bytes, of which the encoder had written the first when it began.
            let next = self.bytes.get(self.needed.saturating_add(7)).copied().unwrap_or(0);
            self.offset = self.offset << 8 | u64::from(next);
            self.range <<= 8;
            self.needed += 1;
        }
    }

    /// An error as soon as more was read than is there.
    #[inline]
    pub(super) fn live(&self) -> Result<()> {
        if self.needed > self.bytes.len() {
            return Err(Error::Truncated {
                what: "coded data".into(),
                needed: self.needed as u64,
                available: self.bytes.len() as u64,
            });
        }
        Ok(())
    }

    /// Verifies that the message ends here and is the one that the encoder writes.
    pub(super) fn finish(self) -> Result<()> {
        self.live()?;
        if self.needed < self.bytes.len() {
            return Err(Error::corrupt("coded data", format!("{} bytes", self.needed), self.bytes.len()));
        }
        if self.offset >= SHORTEST {
            return Err(Error::corrupt("end of the coded data", "the shortest number", "another one"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn mixed_decisions_come_back_and_the_message_is_used_up() {
        let mut random = SplitMix::new(1);
        let decisions: Vec<(bool, u32, u64)> = (0..20_000)
            .map(|_| {
                let one = (random.next_u64() >> 32) >> random.below(32);
                (random.below(3) == 0, one.max(1) as u32, random.below(1000))
            })
            .collect();
        let mut encoder = RangeEncoder::after(vec![]);
        for &(bit, one, symbol) in &decisions {
            encoder.bit(bit, one);
            encoder.symbol(symbol, 1, 1000);
        }
        let bytes = encoder.finish();
        let mut decoder = RangeDecoder::new(&bytes).unwrap();
        for &(bit, one, symbol) in &decisions {
            assert_eq!(decoder.bit(one), bit);
            assert_eq!(decoder.owner(1000), symbol);
            decoder.symbol(symbol, 1, 1000);
        }
        decoder.finish().unwrap();
    }

    /// The run as its definition says, one symbol after the other.
    fn run_one_by_one(decoder: &mut RangeDecoder<'_>, (start, frequency, total): (u64, u64, u64), limit: u64) -> u64 {
        for run in 0..limit {
            if !(start..start + frequency).contains(&decoder.owner(total)) {
                return run;
            }
            decoder.symbol(start, frequency, total);
        }
        limit
    }

    #[test]
    fn runs_are_what_the_symbols_one_by_one_are() {
        let mut random = SplitMix::new(3);
        let (mut runs, mut steps) = (0, 0);
        for trial in 0..4_000 {
            let log = 1 + random.below(47);
            let total = 2 + random.below(1 << log);
            // From one other symbol's share to nearly all; in front, behind, or on both sides.
            let others = ((1 + random.below(total - 1)) >> random.below(48)).clamp(1, total - 1);
            let start = match trial % 3 {
                0 => 0,
                1 => others,
                _ => random.below(others + 1),
            };
            let shape = (start, total - others, total);
            let symbol = Frequent::new(shape.0, shape.1, shape.2).unwrap();
            let bytes: Vec<u8> = match trial % 4 {
                // Nothing but the symbol, if it is the first or the last.
                0 => vec![0; 20],
                1 => [vec![0xff; 7], vec![random.next_u64() as u8; 13]].concat(),
                _ => (0..20).map(|_| random.next_u64() as u8).collect(),
            };
            let Ok(mut decoder) = RangeDecoder::new(&bytes) else { continue };
            let mut naive = RangeDecoder::new(&bytes).unwrap();
            let (mut left, mut ended) = (20_000, false);
            while left > 0 && !ended {
                let log = random.below(15);
                let limit = (1 + random.below(1 << log)).min(left);
                let run = decoder.run(&symbol, limit);
                assert_eq!(run_one_by_one(&mut naive, shape, run), run, "{shape:?} {bytes:?}");
                assert_eq!((naive.offset, naive.range, naive.needed), (decoder.offset, decoder.range, decoder.needed));
                ended = run < limit;
                assert!(!ended || decoder.live().is_err() || run_one_by_one(&mut naive, shape, 1) == 0, "{shape:?}");
                (runs, steps, left) = (runs + 1, steps + run, left - run);
            }
        }
        assert!(runs > 5_000 && steps > 10_000_000, "{runs} runs of {steps} symbols");
    }

    #[test]
    fn a_run_of_thousands_of_millions_takes_no_time() {
        // One by one these take minutes; with a first symbol, a symbol in the middle, and a last one.
        let begun = std::time::Instant::now();
        for (start, others, first_byte, expected) in
            [(0, 1, 0, (1 << 33) - 1), (1, 2, 0x7f, 1 << 20), (0, 1 << 10, 0, 1 << 26)]
        {
            let symbol = Frequent::new(start, (1 << 32) - others, 1 << 32).unwrap();
            let bytes = [vec![first_byte], vec![0; 300]].concat();
            let run = RangeDecoder::new(&bytes).unwrap().run(&symbol, (1 << 33) - 1);
            assert!(run >= expected, "{run}");
        }
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_carry_runs_through_bytes_that_have_left() {
        // Decisions that keep 1/2 inside the interval let 7f ff ff ... leave; what decides for the upper side turns
        // all of it into 80 00 00 ...
        let one = (1 << 30) + 12_345;
        let half = [&[0x80][..], &[0; 99]].concat();
        let (mut carried, mut carried_at_the_end) = (0, 0);
        for length in 100..400 {
            let mut steering = RangeDecoder::new(&half).unwrap();
            let mut encoder = RangeEncoder::after(vec![]);
            let mut decisions: Vec<bool> = (0..length).map(|_| steering.bit(one)).collect();
            decisions.iter().for_each(|&bit| encoder.bit(bit, one));
            let run = encoder.bytes.len();
            assert!(run >= 8 && encoder.bytes[0] == 0x7f && encoder.bytes[1..].iter().all(|&byte| byte == 0xff));
            if length % 2 == 0 && !steering.bit(one) {
                encoder.bit(true, one);
                decisions.push(true);
                assert_eq!(encoder.bytes[..run], half[..run]);
                carried += 1;
            }
            let bytes = encoder.finish();
            carried_at_the_end += usize::from(length % 2 == 1 && bytes[..run] == half[..run]);
            let mut decoder = RangeDecoder::new(&bytes).unwrap();
            assert!(decisions.iter().all(|&bit| decoder.bit(one) == bit));
            decoder.finish().unwrap();
        }
        assert!(carried > 50 && carried_at_the_end > 10, "{carried} and {carried_at_the_end} carries");
    }

    #[test]
    fn no_second_form_of_a_message_is_accepted() {
        let bits = [true, false, false, true, true, false, true, false, true, true];
        let mut encoder = RangeEncoder::after(vec![]);
        bits.iter().for_each(|&bit| encoder.bit(bit, 1 << 31));
        let bytes = encoder.finish();
        assert_eq!(bytes.len(), 2);
        let accepted = (0..=u16::MAX)
            .filter(|number| {
                let number = number.to_be_bytes();
                let mut decoder = RangeDecoder::new(&number).unwrap();
                bits.iter().all(|&bit| decoder.bit(1 << 31) == bit) && decoder.finish().is_ok()
            })
            .count();
        assert_eq!(accepted, 1);
    }
}
