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
