//! Up to seven bits in one cache line, at places that are fields of nine bits of one word, tested with AVX2: the layout of `blocked`.
//! To set them one after the other is faster than anything that vector instructions can do.
//!
//! The eight lanes of a register have one place each. Two permutations bring the 32 bits of every place from the two halves of the
//! line to its lane, and one comparison tells whether all bits are there. What the code must equal is written for one place after
//! the other in [`block_layout`](crate::core::Blocks).

use super::Avx2;
use crate::hash::Digest;

/// A cache line.
pub(crate) type Line = [u64; 8];

/// The most places that a word of hash has.
pub(crate) const MOST: u32 = 7;

/// Whether the line of a digest, one of the first `among`, has the bits at the first k places, at most [`MOST`]; false beyond the
/// end. Always inlined.
#[inline(always)]
pub(crate) fn test(avx2: Avx2, lines: &[Line], among: u64, k: u32, digest: Digest) -> bool {
    vouched!(avx2, vector::test_among(lines, among, k, digest))
}

/// The same with k places of which the first [`MOST`] follow from the digest, and at most as many more from another word.
pub(crate) fn test_more(
    avx2: Avx2,
    lines: &[Line],
    among: u64,
    k: u32,
    digest: Digest,
    more: impl Fn(Digest) -> u64,
) -> bool {
    vouched!(avx2, vector::test_more(lines, among, k, digest, more))
}

/// [`test`] for as many digests as there are answers.
pub(crate) fn test_batch(avx2: Avx2, lines: &[Line], among: u64, k: u32, digests: &[Digest], answers: &mut [bool]) {
    vouched!(avx2, vector::test_batch(lines, among, k, digests, answers));
}

#[cfg(target_arch = "x86_64")]
mod vector {
    use std::arch::x86_64::*;

    use super::{Line, MOST};
    use crate::hash::{Digest, fastrange};

    /// For each k a one in every lane that has one of the first k places.
    const ONES: [[u32; 8]; MOST as usize + 1] = {
        let (mut ones, mut k) = ([[0; 8]; MOST as usize + 1], 1);
        while k <= MOST as usize {
            ones[k] = ones[k - 1];
            // The lanes in which `places` puts fields 0, 1, ... 6.
            ones[k][[0, 1, 4, 5, 2, 3, 6][k - 1]] = 1;
            k += 1;
        }
        ones
    };

    /// A one in every lane that has one of the first k places, or of [`MOST`].
    #[inline(always)]
    fn ones(k: u32) -> &'static [u32; 8] {
        &ONES[k.min(MOST) as usize]
    }

    /// For each place the place itself, of nine bits and more that are to be ignored, and its bit in 32 if it is one of the first k.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn places(k: u32, word: u64) -> (__m256i, __m256i) {
        let word = _mm256_set1_epi64x(word as i64);
        let early = _mm256_srlv_epi64(word, _mm256_setr_epi64x(0, 9, 18, 27));
        let late = _mm256_srlv_epi64(word, _mm256_setr_epi64x(36, 45, 54, 0));
        let fields = _mm256_shuffle_ps::<0b10_00_10_00>(_mm256_castsi256_ps(early), _mm256_castsi256_ps(late));
        let fields = _mm256_castps_si256(fields);
        // SAFETY: eight numbers are 32 readable bytes; unaligned loads take any address.
        let ones = unsafe { _mm256_loadu_si256(ones(k).as_ptr().cast()) };
        (fields, _mm256_sllv_epi32(ones, _mm256_and_si256(fields, _mm256_set1_epi32(31))))
    }

    /// The 32 bits of every place.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn words(line: &Line, fields: __m256i) -> __m256i {
        let at = line.as_ptr().cast::<__m256i>();
        // SAFETY: the line is 64 readable bytes; unaligned loads take any address.
        let (low, high) = unsafe { (_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1))) };
        let number = _mm256_srli_epi32::<5>(fields);
        // A permutation looks at three bits of a number; the fourth, bit 8 of the place, tells the half of the line.
        let (low, high) = (_mm256_permutevar8x32_epi32(low, number), _mm256_permutevar8x32_epi32(high, number));
        let half = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(fields));
        _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), half))
    }

    /// Whether a line has the bits at the first k places, at most [`MOST`], of a word.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn has(line: &Line, k: u32, word: u64) -> bool {
        let (fields, bits) = places(k, word);
        _mm256_testc_si256(words(line, fields), bits) != 0
    }

    #[cfg(target_feature = "avx2")]
    use has as has_inlined;

    /// As [`has`], which this build does not inline.
    #[cfg(not(target_feature = "avx2"))]
    #[inline(always)]
    unsafe fn has_inlined(line: &Line, k: u32, word: u64) -> bool {
        // SAFETY: the caller vouches for AVX2.
        unsafe { crate::simd::embedded::line_test(line, ones(k), word) }
    }

    /// As [`super::test`].
    ///
    /// # Safety
    ///
    /// The machine has AVX2.
    #[inline(always)]
    pub(super) unsafe fn test_among(lines: &[Line], among: u64, k: u32, digest: Digest) -> bool {
        let line = lines.get(fastrange(digest.h1, among) as usize);
        // SAFETY: the caller vouches for AVX2.
        line.is_some_and(|line| unsafe { has_inlined(line, k, digest.h2) })
    }

    /// As [`super::test_more`].
    #[target_feature(enable = "avx2")]
    pub(super) fn test_more(lines: &[Line], among: u64, k: u32, digest: Digest, more: impl Fn(Digest) -> u64) -> bool {
        lines
            .get(fastrange(digest.h1, among) as usize)
            .is_some_and(|line| has(line, k, digest.h2) && (k <= MOST || has(line, k - MOST, more(digest))))
    }

    /// As [`super::test_batch`].
    #[target_feature(enable = "avx2")]
    pub(super) fn test_batch(lines: &[Line], among: u64, k: u32, digests: &[Digest], answers: &mut [bool]) {
        for (digest, answer) in digests.iter().zip(answers) {
            let line = lines.get(fastrange(digest.h1, among) as usize);
            *answer = line.is_some_and(|line| has(line, k, digest.h2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    /// One place after the other.
    fn bits_at(k: u32, word: u64) -> Line {
        let mut line = [0; 8];
        for field in (0..k).map(|i| word >> (9 * i) & 511) {
            line[(field / 64) as usize] |= 1 << (field % 64);
        }
        line
    }

    #[test]
    fn bits_are_those_of_one_place_after_the_other() {
        let Some(avx2) = Avx2::detected() else { return };
        let mut random = SplitMix::new(5);
        for k in 0..=MOST {
            let mut lines = [[0; 8]; 3];
            let (mut present, mut absent) = (0, 0);
            for _ in 0..2_000 {
                let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
                let (at, mask) = (crate::hash::fastrange(digest.h1, 3) as usize, bits_at(k, digest.h2));
                let expected = lines[at].iter().zip(mask).all(|(word, bits)| word & bits == bits);
                assert_eq!(test(avx2, &lines, 3, k, digest), expected, "k {k}");
                assert_eq!(test_more(avx2, &lines, 3, k, digest, |_| !0), expected, "k {k}");
                let lies = |bits: Line| bits.iter().zip(lines[at]).all(|(bits, word)| word & bits == *bits);
                let more = lies(bits_at(MOST, digest.h2)) && lies(bits_at(3, digest.h1));
                assert_eq!(test_more(avx2, &lines, 3, MOST + 3, digest, |digest| digest.h1), more, "k {k}");
                let mut answers = [!expected; 2];
                test_batch(avx2, &lines, 3, k, &[digest; 2], &mut answers);
                assert_eq!(answers, [expected; 2], "k {k}");
                *(if expected { &mut present } else { &mut absent }) += 1;
                if random.below(4) == 0 {
                    lines[at].iter_mut().zip(mask).for_each(|(word, bits)| *word |= bits);
                }
            }
            assert!(present > 5 && (absent > 5 || k == 0), "k {k}: {present} present, {absent} absent");
        }
    }

    #[test]
    fn beyond_the_end_there_is_nothing() {
        let Some(avx2) = Avx2::detected() else { return };
        let (digest, lines, mut answer) = (Digest { h1: u64::MAX, h2: 0 }, [[u64::MAX; 8]; 3], [true]);
        assert!(!test(avx2, &lines, 4, 6, digest) && test(avx2, &lines, 3, 6, digest));
        test_batch(avx2, &lines, 4, 6, &[digest], &mut answer);
        assert_eq!(answer, [false]);
    }
}
