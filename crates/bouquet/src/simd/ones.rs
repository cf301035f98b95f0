//! Counting and finding the ones of a word, with the machine's own instructions where it has them.
//!
//! A build for every x86-64 may not use `popcnt` and `pdep`, though almost all have them. Whether this one does is asked once,
//! and the answer kept beside the data; a branch on it is predicted and costs nothing.

#[cfg(target_arch = "x86_64")]
use std::arch::asm;

/// The way to count and find ones on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ones {
    /// Whether the machine has the instructions; set by [`detect`](Self::detect) alone.
    native: bool,
}

impl Ones {
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        let native = is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi2");
        #[cfg(not(target_arch = "x86_64"))]
        let native = false;
        Ones { native }
    }

    /// The number of ones.
    #[inline]
    pub(crate) fn count(self, word: u64) -> u32 {
        #[cfg(target_arch = "x86_64")]
        if self.native {
            let count: u64;
            // SAFETY: the machine has `popcnt`, or `native` were not set; it touches registers alone.
            unsafe { asm!("popcnt {}, {}", out(reg) count, in(reg) word, options(pure, nomem, nostack)) };
            return count as u32;
        }
        word.count_ones()
    }

    /// The position of the one with this rank, from 0, if the word has this many.
    #[inline]
    pub(crate) fn select(self, word: u64, rank: u32) -> Option<u32> {
        let found = self.nth(word, rank);
        if found == 0 { None } else { Some(found.trailing_zeros()) }
    }

    /// The one with this rank, from 0, alone; zero if the word has not this many.
    #[inline]
    pub(crate) fn nth(self, word: u64, rank: u32) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if self.native {
            let Some(nth) = 1u64.checked_shl(rank) else { return 0 };
            let found: u64;
            // A rank that the word does not have goes nowhere.
            // SAFETY: the machine has `pdep`, or `native` were not set; it touches registers alone.
            unsafe {
                asm!("pdep {}, {}, {}", out(reg) found, in(reg) nth, in(reg) word, options(pure, nomem, nostack));
            }
            return found;
        }
        nth(word, rank)
    }
}

/// `IN_BYTE[rank][byte]` = the position of the one of this rank in the byte.
static IN_BYTE: [[u8; 256]; 8] = {
    let mut table = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut rank) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[rank][byte] = bit;
                rank += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// What [`Ones::nth`] finds, by ordinary instructions. Not inlined: it would take registers from those that have others.
///
/// Byte i of `sums` counts the ones in the bytes up to i, the last one all. The bytes whose sum is at most the rank lie before
/// the one that is sought; adding 127 - rank to each sum (at most 64) sets the highest bit of the others.
#[inline(never)]
fn nth(word: u64, rank: u32) -> u64 {
    const BYTES: u64 = 0x0101_0101_0101_0101;
    let pairs = word - (word >> 1 & (BYTES * 0x55));
    let nibbles = (pairs & (BYTES * 0x33)) + (pairs >> 2 & (BYTES * 0x33));
    let sums = ((nibbles + (nibbles >> 4)) & (BYTES * 0x0F)).wrapping_mul(BYTES);
    if u64::from(rank) >= sums >> 56 {
        return 0;
    }
    let beyond = (sums + BYTES * u64::from(127 - rank)) & (BYTES * 0x80);
    let shift = beyond.trailing_zeros() & 0x38;
    let before = (sums << 8 >> shift & 0xFF) as u32;
    let byte = word >> shift & 0xFF;
    1 << (shift + u32::from(IN_BYTE[(rank - before) as usize & 7][byte as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn every_one_is_counted_and_found_with_and_without_instructions() {
        let mut random = SplitMix::new(1);
        let random_words = (0..500).flat_map(|_| {
            let (a, b) = (random.next_u64(), random.next_u64());
            [a, a & b, a | b]
        });
        let words: Vec<u64> = random_words.chain([0, 1, 1 << 63, u64::MAX, 0x8000_0000_0000_0001]).collect();
        for ones in [Ones::detect(), Ones { native: false }] {
            for &word in &words {
                assert_eq!(ones.count(word), word.count_ones());
                let positions = (0..64).filter(|bit| word >> bit & 1 == 1);
                for (rank, bit) in (0..).zip(positions) {
                    assert_eq!(ones.select(word, rank), Some(bit), "{word:#x}");
                    assert_eq!(ones.nth(word, rank), 1 << bit, "{word:#x}");
                }
                for rank in [word.count_ones(), 64, 65, u32::MAX] {
                    assert_eq!(ones.select(word, rank), None, "{word:#x}");
                    assert_eq!(ones.nth(word, rank), 0, "{word:#x}");
                }
            }
        }
    }
}
