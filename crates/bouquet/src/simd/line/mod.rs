//! Up to 14 bits in one cache line, at places that are fields of nine bits of one word of hash, or seven of each of two: the
//! kernel of `blocked`. [`scalar`] is the specification.
//!
//! To test, with AVX2 the eight lanes of a register have one place each. Two permutations bring the 32 bits of every place from the two
//! halves of the line to its lane, and one comparison tells whether all bits are there. With AVX-512 a line is one register, and a
//! permutation brings the 64 bits, which pays in batches.
//!
//! To set them one after the other is slow, since places are often in the same word, which must then be written before it is read. With
//! AVX-512 the line with one bit is read from a table for each place, as a [window](avx512::SPARSE), and they are joined. With 32
//! bytes at a time that gains little, with 16 nothing.

#[cfg(target_arch = "x86_64")]
mod asm;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;
#[cfg(test)]
mod tests;

use super::word::View;
use super::{Avx512, Instructions, SharedWord, Word};
use crate::hash::{Digest, fastrange};

/// A cache line.
type Line = [u64; 8];

/// The bits of a line, those that a place in it takes, and the places that a word of hash has.
pub(crate) const BITS: u32 = 512;
const WIDTH: u32 = BITS.trailing_zeros();
const PER_WORD: u32 = 64 / WIDTH;

/// The most places: as many as two words of hash have.
pub(crate) const MOST: u32 = 2 * PER_WORD;

/// The stream of [`Digest::derive`] whose first word has the places beyond those of the digest itself.
pub(crate) const MORE: u64 = 3;

/// How the lines of a filter are tested and set on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    lines: u64,
    /// The places of a key, at most [`MOST`].
    k: u32,
    instructions: Instructions,
}

impl Kernel {
    /// For k places in one of this many lines; `None` if they are too many.
    pub(crate) fn new(lines: u64, k: u32) -> Option<Self> {
        (k <= MOST).then(|| Kernel { lines, k, instructions: Instructions::detected() })
    }

    /// Whether single calls are inlined.
    #[inline(always)]
    pub(crate) fn is_inline(self) -> bool {
        self.instructions.avx2.is_some()
    }

    /// Whether batches take less time than the loop over single calls, hashed on the way, of a filter that is in the cache: not where
    /// these are inlined intrinsics.
    pub(crate) fn batches_pay(self) -> bool {
        let inlined = match self.instructions.avx512 {
            Some(_) => cfg!(target_feature = "avx512f"),
            None => cfg!(target_feature = "avx2") || self.instructions.avx2.is_none(),
        };
        !(inlined && self.k <= PER_WORD)
    }

    /// The number of a key's line.
    #[inline(always)]
    fn line(self, digest: Digest) -> usize {
        fastrange(digest.h1, self.lines) as usize
    }

    /// Whether a key has all its bits in its line; false if there is no line.
    #[inline(always)]
    pub(crate) fn test<W: Word>(self, words: &[W], digest: Digest) -> bool {
        if let Some(avx2) = self.instructions.avx2 {
            match W::view(words) {
                View::Plain(words) => {
                    let line = words.as_chunks().0.get(self.line(digest));
                    return line.is_some_and(|line| vouched!(avx2, avx2::test(line, self.k, digest)));
                }
                View::Shared(words) => {
                    let line = words.as_chunks().0.get(self.line(digest));
                    return line.is_some_and(|line| vouched!(avx2, avx2::test_shared(line, self.k, digest)));
                }
                View::Single => (),
            }
        }
        test_scalar(words, self.lines, self.k, digest)
    }

    /// Sets the bits of a key in its line and says whether one was new; nothing if there is no line. Inlined for 6 places, as a rate of
    /// 1 % has, and 7.
    #[inline(always)]
    pub(crate) fn set(self, words: &mut [u64], digest: Digest) -> bool {
        let Some(line) = words.as_chunks_mut().0.get_mut(self.line(digest)) else { return false };
        match (self.k, self.instructions.avx512) {
            (6, Some(avx512)) => vouched!(avx512: Avx512, avx512::set::<6>(line, digest.h2)),
            (7, Some(avx512)) => vouched!(avx512: Avx512, avx512::set::<7>(line, digest.h2)),
            (6, None) => scalar::set::<6>(line, digest),
            (7, None) => scalar::set::<7>(line, digest),
            (k, avx512) => set_any(avx512, line, k, digest),
        }
    }

    /// The same in words that threads share. It looks first: of a key that is there already nothing is written.
    #[inline(always)]
    pub(crate) fn set_shared<W: SharedWord>(self, words: &[W], digest: Digest) -> bool {
        !self.test(words, digest) && put_shared(words, self.lines, self.k, digest)
    }

    /// [`test`](Self::test) for as many digests as there are answers.
    #[inline]
    pub(crate) fn test_batch(self, words: &[u64], digests: &[Digest], answers: &mut [bool]) {
        let lines = words.as_chunks().0;
        match (self.instructions.avx512, self.instructions.avx2) {
            (Some(avx512), _) => {
                vouched!(avx512: Avx512, avx512::test_batch(lines, self.lines, self.k, digests, answers))
            }
            (None, Some(avx2)) => vouched!(avx2, avx2::test_batch(lines, self.lines, self.k, digests, answers)),
            (None, None) => {
                digests
                    .iter()
                    .zip(answers)
                    .for_each(|(digest, answer)| *answer = test_scalar(words, self.lines, self.k, *digest));
            }
        }
    }

    /// [`set`](Self::set) for many digests; says how many had a new bit.
    #[inline]
    pub(crate) fn set_batch(self, words: &mut [u64], digests: &[Digest]) -> u64 {
        match self.instructions.avx512 {
            Some(avx512) => {
                let lines = words.as_chunks_mut().0;
                vouched!(avx512: Avx512, avx512::set_batch(lines, self.lines, self.k, digests))
            }
            None => digests.iter().map(|digest| u64::from(self.set(words, *digest))).sum(),
        }
    }
}

// Out of line and by parts, so that a loop over keys keeps the filter in registers.

#[inline(never)]
fn test_scalar<W: Word>(words: &[W], lines: u64, k: u32, digest: Digest) -> bool {
    let line = words.as_chunks().0.get(fastrange(digest.h1, lines) as usize);
    line.is_some_and(|line| unrolled!(k, scalar::test, line, digest))
}

#[inline(never)]
fn set_any(avx512: Option<Avx512>, line: &mut Line, k: u32, digest: Digest) -> bool {
    match avx512 {
        Some(avx512) => vouched!(avx512: Avx512, avx512::set_any(line, k, digest)),
        None => unrolled!(k, scalar::set, line, digest),
    }
}

#[inline(never)]
fn put_shared<W: SharedWord>(words: &[W], lines: u64, k: u32, digest: Digest) -> bool {
    let line = words.as_chunks().0.get(fastrange(digest.h1, lines) as usize);
    line.map(|line| unrolled!(k, scalar::put_shared, line, digest)).is_some()
}
