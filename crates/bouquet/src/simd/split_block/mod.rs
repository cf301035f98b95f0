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
use super::{Avx2, Avx512, Instructions, SharedWord, Word, chosen, chosen_mut};

/// The multipliers of Apache Parquet's split-block filter: odd, and published with it.
pub(crate) const SALT: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// The upper half of a hash.
const UPPER: u64 = u64::MAX << 32;

/// Eight lanes, two to a word, the even lane in the low half.
type Block = [u64; 4];

/// How blocks are tested and set on this machine. One byte tells whether single calls are inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// They are: all bits of a hash choose the block, and there is vector code.
    Inline(Avx2),
    /// The same where builds for every x86-64 set bits with the registers that only AVX-512 has, which gains 30 %.
    Wide(Avx2, Avx512),
    /// They call a function. `upper`: the upper half of a hash alone chooses the block, as in Parquet's filters.
    Called { upper: bool, avx2: Option<Avx2> },
}

impl Kernel {
    /// Blocks that all bits of a hash choose, or (`upper`) those of its upper half.
    pub(crate) fn new(upper: bool) -> Self {
        Self::with(Instructions::detected(), upper)
    }

    fn with(instructions: Instructions, upper: bool) -> Self {
        match (instructions.avx2, instructions.avx512) {
            (Some(avx2), Some(avx512)) if !upper && cfg!(not(target_feature = "avx2")) => Kernel::Wide(avx2, avx512),
            (Some(avx2), _) if !upper => Kernel::Inline(avx2),
            (avx2, _) => Kernel::Called { upper, avx2 },
        }
    }

    /// Whether single calls are inlined.
    #[inline(always)]
    pub(crate) fn is_inline(self) -> bool {
        !matches!(self, Kernel::Called { .. })
    }

    /// The same for [`set`](Self::set) in these words.
    #[inline(always)]
    pub(crate) fn is_set_inline(self, words: &[u64]) -> bool {
        self.is_inline() & !words.as_chunks::<4>().0.is_empty()
    }

    /// The bits of a hash that choose the block, and the vector code.
    #[inline(always)]
    fn parts(self) -> (u64, Option<Avx2>) {
        match self {
            Kernel::Inline(avx2) | Kernel::Wide(avx2, _) => (u64::MAX, Some(avx2)),
            Kernel::Called { upper, avx2 } => (if upper { UPPER } else { u64::MAX }, avx2),
        }
    }

    /// Whether a key has all its bits in its block; false if there is no block.
    #[inline(always)]
    pub(crate) fn test<W: Word>(self, words: &[W], h1: u64) -> bool {
        match self {
            Kernel::Inline(avx2) | Kernel::Wide(avx2, _) => test(avx2, words, u64::MAX, h1),
            Kernel::Called { .. } => self.test_called(words, h1),
        }
    }

    #[inline(never)]
    fn test_called<W: Word>(self, words: &[W], h1: u64) -> bool {
        match self.parts() {
            (chooser, Some(avx2)) => test(avx2, words, chooser, h1),
            (chooser, None) => test_scalar(words, chooser, h1),
        }
    }

    /// Sets the bits of a key in its block and says whether one was new; nothing if there is no block.
    #[inline(always)]
    pub(crate) fn set(self, words: &mut [u64], h1: u64) -> bool {
        if !self.is_inline() {
            return self.set_called(words, h1);
        }
        let Some(block) = chosen_mut(words.as_chunks_mut().0, h1) else { return false };
        match self {
            Kernel::Inline(avx2) => vouched!(avx2, avx2::set(block, h1 as u32)),
            // The test is left out if nobody asks whether a bit was new.
            Kernel::Wide(avx2, avx512) => {
                let new = !vouched!(avx2, avx2::test(block, h1 as u32));
                vouched!(avx512: Avx512, asm::put_wide(block, h1 as u32));
                new
            }
            Kernel::Called { .. } => false,
        }
    }

    #[inline(never)]
    fn set_called(self, words: &mut [u64], h1: u64) -> bool {
        let (chooser, avx2) = self.parts();
        let Some(block) = chosen_mut(words.as_chunks_mut().0, h1 & chooser) else { return false };
        match avx2 {
            Some(avx2) => vouched!(avx2, avx2::set(block, h1 as u32)),
            None => scalar::set(block, h1 as u32),
        }
    }

    /// The same in words that threads share. It looks first: of a key that is there already nothing is written.
    #[inline(always)]
    pub(crate) fn set_shared<W: SharedWord>(self, words: &[W], h1: u64) -> bool {
        !self.test(words, h1) && self.put_shared(words, h1)
    }

    #[inline(never)]
    fn put_shared<W: SharedWord>(self, words: &[W], h1: u64) -> bool {
        let block = chosen(words.as_chunks().0, h1 & self.parts().0);
        block.map(|block| scalar::put_shared(block, h1 as u32)).is_some()
    }

    /// [`test`](Self::test) for as many keys as there are answers.
    #[inline]
    pub(crate) fn test_batch<W: Word>(self, words: &[W], hashes: &[u64], answers: &mut [bool]) {
        let (chooser, avx2) = self.parts();
        match (avx2, W::view(words)) {
            (Some(avx2), View::Plain(words)) => {
                vouched!(avx2, avx2::test_batch(words.as_chunks().0, chooser, hashes, answers))
            }
            (Some(avx2), View::Shared(words)) => {
                vouched!(avx2, avx2::test_shared_batch(words.as_chunks().0, chooser, hashes, answers))
            }
            _ => hashes.iter().zip(answers).for_each(|(h1, answer)| *answer = test_scalar(words, chooser, *h1)),
        }
    }

    /// [`set`](Self::set) for many keys; says how many had a new bit.
    #[inline]
    pub(crate) fn set_batch(self, words: &mut [u64], hashes: &[u64]) -> u64 {
        match self.parts() {
            (chooser, Some(avx2)) => vouched!(avx2, avx2::set_batch(words.as_chunks_mut().0, chooser, hashes)),
            _ => hashes.iter().map(|h1| u64::from(self.set(words, *h1))).sum(),
        }
    }
}

/// [`Kernel::test`] by vector code.
#[inline(always)]
fn test<W: Word>(avx2: Avx2, words: &[W], chooser: u64, h1: u64) -> bool {
    let (at, x) = (h1 & chooser, h1 as u32);
    match W::view(words) {
        View::Plain(words) => chosen(words.as_chunks().0, at).is_some_and(|block| vouched!(avx2, avx2::test(block, x))),
        View::Shared(words) => {
            chosen(words.as_chunks().0, at).is_some_and(|block| vouched!(avx2, avx2::test_shared(block, x)))
        }
        View::Single => test_scalar(words, chooser, h1),
    }
}

fn test_scalar<W: Word>(words: &[W], chooser: u64, h1: u64) -> bool {
    chosen(words.as_chunks().0, h1 & chooser).is_some_and(|block| scalar::test(block, h1 as u32))
}
