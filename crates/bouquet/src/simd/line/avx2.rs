//! AVX2: one place in each lane.

use std::arch::x86_64::*;
use std::sync::atomic::AtomicU64;

use super::{Line, MORE, PER_WORD, asm};
use crate::hash::{Digest, fastrange};

/// For each k a one in every lane that has one of the first k places.
const ONES: [[u32; 8]; PER_WORD as usize + 1] = {
    let (mut ones, mut k) = ([[0; 8]; PER_WORD as usize + 1], 1);
    while k <= PER_WORD as usize {
        ones[k] = ones[k - 1];
        // The lanes in which `places` puts fields 0, 1, ... 6.
        ones[k][[0, 1, 4, 5, 2, 3, 6][k - 1]] = 1;
        k += 1;
    }
    ones
};

/// A one in every lane that has one of the first k places, or of [`PER_WORD`].
#[inline(always)]
fn ones(k: u32) -> &'static [u32; 8] {
    &ONES[k.min(PER_WORD) as usize]
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

/// Whether a line has the bits at the first k places, at most [`PER_WORD`], of a word.
#[inline]
#[target_feature(enable = "avx2")]
fn has(line: &Line, k: u32, word: u64) -> bool {
    let (fields, bits) = places(k, word);
    _mm256_testc_si256(words(line, fields), bits) != 0
}

/// Whether a key has all its bits in its line. Inlined into any code, but for a second word of hash.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn test(line: &Line, k: u32, digest: Digest) -> bool {
    // SAFETY: the caller vouches for AVX2, and the line is there.
    unsafe {
        let first =
            if cfg!(target_feature = "avx2") { has(line, k, digest.h2) } else { asm::test(line, ones(k), digest.h2) };
        first && (k <= PER_WORD || has_more(line, k, digest))
    }
}

/// Whether a line has the bits at the places of the second word.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn has_more(line: &Line, k: u32, digest: Digest) -> bool {
    has(line, k - PER_WORD, digest.derive(MORE).h1)
}

/// The same for a line whose words threads share, by assembly in every build.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn test_shared(line: &[AtomicU64; 8], k: u32, digest: Digest) -> bool {
    // SAFETY: the caller vouches for AVX2, and the line is there; an atomic word has the bytes of a plain one.
    let has = |k, word| unsafe { asm::test(crate::simd::asm::anew(line).cast(), ones(k), word) };
    has(k, digest.h2) && (k <= PER_WORD || has(k - PER_WORD, digest.derive(MORE).h1))
}

/// As [`Kernel::test_batch`](super::Kernel::test_batch).
#[target_feature(enable = "avx2")]
pub(super) fn test_batch(lines: &[Line], among: u64, k: u32, digests: &[Digest], answers: &mut [bool]) {
    for (digest, answer) in digests.iter().zip(answers) {
        *answer = lines.get(fastrange(digest.h1, among) as usize).is_some_and(|line| {
            has(line, k, digest.h2) && (k <= PER_WORD || has(line, k - PER_WORD, digest.derive(MORE).h1))
        });
    }
}
