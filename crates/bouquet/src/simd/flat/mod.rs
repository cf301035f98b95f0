//! k bits anywhere in a vector of words (enhanced double hashing), or one in each of k slices (`SLICED`: triple hashing): the kernel
//! of `standard`, `partitioned` and `compressed`. The positions follow from words of hash of 64 bits by fastrange, or (`NARROW`) from
//! words of 32 bits by fastrange32. [`scalar`] is the specification; [`avx2`] computes eight positions of 32 bits at a time.

#[cfg(target_arch = "x86_64")]
mod asm;
#[cfg(target_arch = "x86_64")]
mod avx2;
pub(in crate::simd) mod scalar;
#[cfg(test)]
mod tests;

pub(crate) use scalar::{set, test, test_batch};

use scalar::holds;

use super::word::View;
use super::{Avx2, Instructions, NEAR_BITS, SharedWord, Word};
use crate::hash::Digest;

/// The k of a rate of 1 %, for which single calls are inlined on every machine with AVX2.
pub(crate) const SEVEN: u32 = 7;

/// The most positions for which there is vector code, and those up to which it is not worth it for single calls.
const MOST: u32 = 16;
const FEW: u32 = 4;

/// The largest number of keys that [`Kernel::test_batch`] takes at once.
pub(crate) const BATCH: usize = 256;

/// This many keys are worth a second round of sifting.
const MANY: usize = 32;

/// How the bits of a filter are tested and set on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel<const SLICED: bool> {
    /// The bits, or those of a slice.
    m: u64,
    k: u32,
    narrow: bool,
    single: Single,
    /// For batches.
    instructions: Instructions,
}

/// The code that single calls have inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Single {
    /// [`SEVEN`] positions in some cache, whose words are loaded one by one.
    Seven(Avx2),
    /// The same beyond: the first four are looked at before the others are read.
    SevenFar(Avx2),
    /// Any k in some cache, gathered by one instruction.
    Gathered(Avx2),
    /// They call a function.
    Called,
}

impl<const SLICED: bool> Kernel<SLICED> {
    /// For k positions among m bits, or in slices of m.
    pub(crate) fn new(m: u64, k: u32, narrow: bool) -> Self {
        Self::with(Instructions::detected(), m, k, narrow)
    }

    fn with(instructions: Instructions, m: u64, k: u32, narrow: bool) -> Self {
        let bits = if SLICED { m.saturating_mul(k.into()) } else { m };
        let vectors = narrow && bits <= u64::from(u32::MAX) && k <= MOST;
        let instructions = if vectors { instructions } else { Instructions::SCALAR };
        let single = match instructions.avx2 {
            Some(avx2) if k == SEVEN && bits > NEAR_BITS => Single::SevenFar(avx2),
            Some(avx2) if instructions.gathers && k > FEW && bits <= NEAR_BITS => Single::Gathered(avx2),
            Some(avx2) if k == SEVEN => Single::Seven(avx2),
            _ => Single::Called,
        };
        Kernel { m, k, narrow, single, instructions }
    }

    /// Whether single tests are inlined.
    #[inline(always)]
    pub(crate) fn is_inline(self) -> bool {
        self.single != Single::Called
    }

    /// Whether keys are set in these words by inlined code.
    #[inline(always)]
    pub(crate) fn is_set_inline(self, words: &[u64]) -> bool {
        self.narrow & holds::<SLICED>(words, self.m, self.k)
    }

    /// Whether batches are by vector code, which takes so few instructions per key that the processor itself looks far enough ahead.
    #[inline(always)]
    pub(crate) fn has_vectors(self) -> bool {
        self.instructions.avx2.is_some()
    }

    /// Whether all bits of a key are one; false when the words do not have them.
    #[inline(always)]
    pub(crate) fn test<W: Word>(&self, words: &[W], digest: Digest) -> bool {
        let (Kernel { m, k, .. }, h1) = (*self, digest.h1);
        // What a loop over keys asks once. It has no call in it.
        if self.is_inline() && !holds::<SLICED>(words, m, k) {
            return false;
        }
        match (self.single, W::view(words)) {
            (Single::Seven(avx2), View::Plain(words)) => {
                vouched!(avx2, avx2::test_seven::<SLICED, false>(words, m, h1))
            }
            (Single::SevenFar(avx2), View::Plain(words)) => {
                vouched!(avx2, avx2::test_seven::<SLICED, true>(words, m, h1))
            }
            (Single::Gathered(avx2), View::Plain(words)) => {
                vouched!(avx2, avx2::test_gathered::<SLICED>(words, m, k, h1))
            }
            (Single::Seven(avx2), View::Shared(words)) => {
                vouched!(avx2, asm::test_seven::<SLICED, false>(super::asm::anew(words.as_ptr()).cast(), m, h1))
            }
            (Single::SevenFar(avx2), View::Shared(words)) => {
                vouched!(avx2, asm::test_seven::<SLICED, true>(super::asm::anew(words.as_ptr()).cast(), m, h1))
            }
            (Single::Gathered(avx2), View::Shared(words)) => {
                vouched!(avx2, asm::test_gathered::<SLICED>(super::asm::anew(words.as_ptr()).cast(), m, k, h1))
            }
            _ => self.test_called(words, digest),
        }
    }

    /// Out of line, so that a loop over keys with inlined code keeps the filter in registers.
    #[inline(never)]
    fn test_called<W: Word>(&self, words: &[W], digest: Digest) -> bool {
        let Kernel { m, k, .. } = *self;
        if let (Some(avx2), View::Plain(words)) = (self.instructions.avx2, W::view(words))
            && k > FEW
            && holds::<SLICED>(words, m, k)
        {
            let first_four = k > 8 || words.len() as u64 > NEAR_BITS / 64;
            return vouched!(avx2, avx2::test::<SLICED>(words, m, k, digest.h1, first_four));
        }
        if self.narrow {
            scalar::test::<SLICED, true>(words, m, k, digest)
        } else {
            scalar::test::<SLICED, false>(words, m, k, digest)
        }
    }

    /// Sets all bits of a key and says whether one was new; nothing is done when the words do not have them.
    #[inline(always)]
    pub(crate) fn set(self, words: &mut [u64], digest: Digest) -> bool {
        let Kernel { m, k, .. } = self;
        match self.single {
            _ if !self.narrow => set_called::<SLICED>(words, m, k, digest),
            _ if !holds::<SLICED>(words, m, k) => false,
            // The look by vector code is left out if nobody asks whether a bit was new. In some cache the bits are set one after the
            // other: vector code that does that is no faster. Beyond it is, since a key takes fewer instructions, and the processor
            // has more keys under way while it waits.
            Single::Seven(avx2) => {
                let known = vouched!(avx2, avx2::test_seven::<SLICED, false>(words, m, digest.h1));
                scalar::put::<SEVEN, SLICED>(words, m, digest);
                !known
            }
            Single::Gathered(avx2) if k == SEVEN => {
                let known = vouched!(avx2, avx2::test_gathered::<SLICED>(words, m, SEVEN, digest.h1));
                scalar::put::<SEVEN, SLICED>(words, m, digest);
                !known
            }
            // It does not wait for the first four: the others are read anyway.
            Single::SevenFar(avx2) => {
                let known = vouched!(avx2, avx2::test_seven::<SLICED, false>(words, m, digest.h1));
                vouched!(avx2, asm::put_seven::<SLICED>(words.as_mut_ptr(), m, digest.h1));
                !known
            }
            _ => scalar::set_inline::<SLICED, true>(words, m, k, digest),
        }
    }

    /// The same in words that threads share. It looks first: of a key that is there already nothing is written.
    #[inline(always)]
    pub(crate) fn set_shared<W: SharedWord>(&self, words: &[W], digest: Digest) -> bool {
        if self.narrow && self.k == SEVEN {
            return scalar::set_seven_shared::<SLICED, true>(words, self.m, digest);
        }
        self.set_shared_called(words, digest)
    }

    #[inline(never)]
    fn set_shared_called<W: SharedWord>(&self, words: &[W], digest: Digest) -> bool {
        match (self.narrow, self.k) {
            (false, SEVEN) => scalar::set_seven_shared::<SLICED, false>(words, self.m, digest),
            (false, k) => scalar::set_shared::<SLICED, false>(words, self.m, k, digest),
            (true, k) => scalar::set_shared::<SLICED, true>(words, self.m, k, digest),
        }
    }

    /// [`test`](Self::test) for up to [`BATCH`] keys, by vector code if there [is some](Self::has_vectors). If they are to be sifted, an
    /// absent one is left behind at one of its first two bits, without a branch, and most that are left at one of the next two. Among
    /// keys that are all present that would be in vain.
    pub(crate) fn test_batch(self, words: &[u64], keys: &[u64], answers: &mut [bool], sift: bool) {
        let count = keys.len().min(answers.len()).min(BATCH);
        let (keys, answers) = (&keys[..count], &mut answers[..count]);
        answers.fill(false);
        let (Some(avx2), true) = (self.instructions.avx2, holds::<SLICED>(words, self.m, self.k)) else { return };
        if self.instructions.gathers {
            vouched!(avx2, test_sifted::<SLICED, true>(words, self.m, self.k, keys, answers, sift));
        } else {
            vouched!(avx2, test_sifted::<SLICED, false>(words, self.m, self.k, keys, answers, sift));
        }
    }

    /// The same for up to `N` keys (at most 255) without vector code; when `ahead`, words are prefetched between the rounds.
    pub(crate) fn test_digests<const N: usize>(
        self,
        words: &[u64],
        digests: &[Digest],
        answers: &mut [bool],
        ahead: bool,
    ) {
        if self.narrow {
            test_batch::<N, SLICED, true>(words, self.m, self.k, digests, answers, ahead);
        } else {
            test_batch::<N, SLICED, false>(words, self.m, self.k, digests, answers, ahead);
        }
    }

    /// [`set`](Self::set) for many keys, by vector code if there [is some](Self::has_vectors); says how many had a new bit.
    pub(crate) fn set_batch(self, words: &mut [u64], keys: &[u64]) -> u64 {
        let Kernel { m, k, .. } = self;
        let (Some(avx2), true) = (self.instructions.avx2, holds::<SLICED>(words, m, k)) else { return 0 };
        if self.instructions.gathers {
            vouched!(avx2, avx2::set_batch::<SLICED, true>(words, m, k, keys))
        } else {
            vouched!(avx2, avx2::set_batch::<SLICED, false>(words, m, k, keys))
        }
    }
}

#[inline(never)]
fn set_called<const SLICED: bool>(words: &mut [u64], m: u64, k: u32, digest: Digest) -> bool {
    scalar::set::<SLICED, false>(words, m, k, digest)
}

/// As [`Kernel::test_batch`]; the answers are false.
///
/// # Safety
///
/// The machine has AVX2, and the words have m bits, at least one, or k slices of them.
#[cfg(target_arch = "x86_64")]
unsafe fn test_sifted<const SLICED: bool, const GATHER: bool>(
    words: &[u64],
    m: u64,
    k: u32,
    keys: &[u64],
    answers: &mut [bool],
    sift: bool,
) {
    // SAFETY: the caller has seen to it.
    unsafe {
        if !sift || k < 2 {
            return avx2::test_all::<SLICED, GATHER>(words, m, k, keys, answers);
        }
        // With room for four more than there can be, since four are written at a time.
        let (mut first, mut second) = ([0; BATCH + 4], [0; BATCH + 4]);
        let left = avx2::sift::<SLICED, GATHER>(words, m, keys, &mut first);
        let mut passed = &first[..left];
        // If most are left, these are present; and a few are not worth another round, before which the processor waits.
        if k > FEW && (MANY..keys.len() / 2).contains(&left) {
            // Up to three numbers more, of whatever was there, fill up the last four.
            let fours = &first[..left.next_multiple_of(4)];
            let left = avx2::sift_again::<SLICED, GATHER>(words, m, keys, fours, &mut second);
            passed = &second[..left];
        }
        avx2::test_passed::<SLICED, GATHER>(words, m, k, keys, passed, answers);
    }
}
