//! Blocks of eight 32-bit lanes, one bit per lane and key: the kernel of `ultra-fast`.
//!
//! Lane j of a key with hash word x has bit (x * SALT[j] mod 2^32) / 2^27. [`scalar`] is the specification; [`avx2`] computes the
//! same with eight multiplications and eight shifts at a time.

#[cfg(target_arch = "x86_64")]
mod asm;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod scalar;
#[cfg(test)]
mod tests;

use super::word::View;
use super::{Instructions, SharedWord, Word, chosen, chosen_mut};

/// The multipliers of Apache Parquet's split-block filter: odd, and published with it.
pub(crate) const SALT: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// Eight lanes, two to a word, the even lane in the low half.
type Block = [u64; 4];

/// How blocks are tested and set on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// The bits of the hash that choose the block.
    chooser: u64,
    instructions: Instructions,
}

impl Kernel {
    /// Blocks that the bits in `chooser` of a hash choose.
    pub(crate) fn new(chooser: u64) -> Self {
        Kernel { chooser, instructions: Instructions::detected() }
    }

    /// Whether single calls are inlined.
    #[inline(always)]
    pub(crate) fn is_inline(self) -> bool {
        self.instructions.avx2.is_some()
    }

    /// Whether a key has all its bits in its block; false if there is no block.
    #[inline(always)]
    pub(crate) fn test<W: Word>(self, words: &[W], h1: u64) -> bool {
        if let Some(avx2) = self.instructions.avx2 {
            let at = h1 & self.chooser;
            match W::view(words) {
                View::Plain(words) => {
                    return chosen(words.as_chunks().0, at)
                        .is_some_and(|block| vouched!(avx2, avx2::test(block, h1 as u32)));
                }
                View::Shared(words) => {
                    return chosen(words.as_chunks().0, at)
                        .is_some_and(|block| vouched!(avx2, avx2::test_shared(block, h1 as u32)));
                }
                View::Single => (),
            }
        }
        self.test_scalar(words, h1)
    }

    #[inline(never)]
    fn test_scalar<W: Word>(self, words: &[W], h1: u64) -> bool {
        chosen(words.as_chunks().0, h1 & self.chooser).is_some_and(|block| scalar::test(block, h1 as u32))
    }

    /// Sets the bits of a key in its block and says whether one was new; nothing if there is no block.
    #[inline(always)]
    pub(crate) fn set(self, words: &mut [u64], h1: u64) -> bool {
        let Some(block) = chosen_mut(words.as_chunks_mut().0, h1 & self.chooser) else { return false };
        match self.instructions.avx2 {
            Some(avx2) => vouched!(avx2, avx2::set(block, h1 as u32)),
            None => scalar::set(block, h1 as u32),
        }
    }

    /// The same in words that threads share. It looks first: of a key that is there already nothing is written.
    #[inline(always)]
    pub(crate) fn set_shared<W: SharedWord>(self, words: &[W], h1: u64) -> bool {
        chosen(words.as_chunks().0, h1 & self.chooser).is_some_and(|block| scalar::set_shared(block, h1 as u32))
    }

    /// [`test`](Self::test) for as many keys as there are answers.
    #[inline]
    pub(crate) fn test_batch<W: Word>(self, words: &[W], hashes: &[u64], answers: &mut [bool]) {
        if let Some(avx2) = self.instructions.avx2 {
            match W::view(words) {
                View::Plain(words) => {
                    let blocks = words.as_chunks().0;
                    return vouched!(avx2, avx2::test_batch(blocks, self.chooser, hashes, answers));
                }
                View::Shared(words) => {
                    let blocks = words.as_chunks().0;
                    return vouched!(avx2, avx2::test_shared_batch(blocks, self.chooser, hashes, answers));
                }
                View::Single => (),
            }
        }
        hashes.iter().zip(answers).for_each(|(h1, answer)| *answer = self.test_scalar(words, *h1));
    }

    /// [`set`](Self::set) for many keys; says how many had a new bit.
    #[inline]
    pub(crate) fn set_batch(self, words: &mut [u64], hashes: &[u64]) -> u64 {
        match self.instructions.avx2 {
            Some(avx2) => vouched!(avx2, avx2::set_batch(words.as_chunks_mut().0, self.chooser, hashes)),
            None => hashes.iter().map(|h1| u64::from(self.set(words, *h1))).sum(),
        }
    }
}
