//! AVX2: eight positions of a key at a time, or two positions of four keys, from words of 32 bits.
//!
//! A key's positions follow from the first half of its digest alone. All bits together must be fewer than 2^32, and k at most
//! [`MOST`]: else answers are wrong, though nothing outside of the words is touched.

use std::arch::x86_64::*;

use super::{MOST, SEVEN, asm};
use crate::hash::{Digest, Ring};
use crate::simd::side_by_side;

/// For position i of enhanced double hashing u (i³-i)/6, for that of triple hashing i(i-1)/2.
pub(super) const CURVES: [[u32; MOST as usize]; 2] = {
    let (mut curves, mut i) = ([[0; MOST as usize]; 2], 1);
    while i < MOST as usize {
        let n = i as u64;
        curves[0][i] = ((n * n * n - n) / 6 * (Ring::<true>::UNIT >> 32)) as u32;
        curves[1][i] = (n * (n - 1) / 2) as u32;
        i += 1;
    }
    curves
};

#[inline]
#[target_feature(enable = "avx2")]
fn all(x: u32) -> __m256i {
    _mm256_set1_epi32(x as i32)
}

/// Eight numbers from `FROM` on.
#[inline]
#[target_feature(enable = "avx2")]
fn eight<const FROM: usize>(numbers: &[u32; MOST as usize]) -> __m256i {
    let lane = |i: usize| numbers[FROM + i] as i32;
    _mm256_setr_epi32(lane(0), lane(1), lane(2), lane(3), lane(4), lane(5), lane(6), lane(7))
}

/// The high halves of the products, lane by lane.
#[inline]
#[target_feature(enable = "avx2")]
fn high_halves(x: __m256i, m: __m256i) -> __m256i {
    let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(x, m));
    let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(x), m);
    _mm256_blend_epi32::<0b1010_1010>(even, odd)
}

/// Positions `FROM` to `FROM` + 7 of a key. They are below m as far as 32 bits tell, in slices m further from one to the next.
#[inline]
#[target_feature(enable = "avx2")]
fn positions<const FROM: usize, const SLICED: bool>(m: u64, h1: u64) -> __m256i {
    const NUMBERS: [u32; MOST as usize] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    let numbers = eight::<FROM>(&NUMBERS);
    let line = _mm256_add_epi32(all((h1 >> 32) as u32), _mm256_mullo_epi32(all(h1 as u32), numbers));
    if !SLICED {
        return high_halves(_mm256_add_epi32(line, eight::<FROM>(&CURVES[0])), all(m as u32));
    }
    let third = (Ring::<true>::third(Digest { h1, h2: 0 }) >> 32) as u32;
    let curve = _mm256_mullo_epi32(all(third), eight::<FROM>(&CURVES[1]));
    let m = all(m as u32);
    _mm256_add_epi32(high_halves(_mm256_add_epi32(line, curve), m), _mm256_mullo_epi32(m, numbers))
}

/// Whether lane i has one of K positions from `FROM` on.
#[inline(always)]
const fn counts<const K: u32, const FROM: usize>(i: usize) -> bool {
    FROM + i < K as usize
}

/// x in every lane that counts, zero in the others.
#[inline]
#[target_feature(enable = "avx2")]
fn counted<const K: u32, const FROM: usize>(x: i32) -> __m256i {
    let lane = |i: usize| if counts::<K, FROM>(i) { x } else { 0 };
    _mm256_setr_epi32(lane(0), lane(1), lane(2), lane(3), lane(4), lane(5), lane(6), lane(7))
}

/// For each position its bit among 32, if it counts.
#[inline]
#[target_feature(enable = "avx2")]
fn bits<const K: u32, const FROM: usize>(positions: __m256i) -> __m256i {
    let place = _mm256_and_si256(positions, counted::<K, FROM>(31));
    _mm256_sllv_epi32(counted::<K, FROM>(1), place)
}

/// For each position the number of its 32 bits. To take numbers out of a register in pairs is cheaper than one by one.
#[inline]
#[target_feature(enable = "avx2")]
fn numbers<const K: u32, const FROM: usize>(positions: __m256i) -> [usize; 8] {
    let numbers = _mm256_srli_epi32::<5>(positions);
    let (low, high) = (_mm256_castsi256_si128(numbers), _mm256_extracti128_si256::<1>(numbers));
    let last = if counts::<K, FROM>(7) { _mm_extract_epi64::<1>(high) } else { _mm_extract_epi32::<2>(high).into() };
    let pairs = [_mm_cvtsi128_si64(low), _mm_extract_epi64::<1>(low), _mm_cvtsi128_si64(high), last];
    let number = |i: usize| (pairs[i / 2] as u64 >> (i % 2 * 32)) as u32 as usize;
    [number(0), number(1), number(2), number(3), number(4), number(5), number(6), number(7)]
}

/// The 32 bits of every position that counts, zero in the other lanes.
///
/// # Safety
///
/// The words have them.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn fetch<const K: u32, const FROM: usize, const GATHER: bool>(words: &[u64], positions: __m256i) -> __m256i {
    let words = words.as_ptr();
    if GATHER {
        let numbers = _mm256_srli_epi32::<5>(positions);
        // SAFETY: the caller has seen to it; a number has no more than 27 bits, so that it is not negative. Only lanes whose mask
        // is not zero are read.
        return unsafe {
            _mm256_mask_i32gather_epi32::<4>(_mm256_setzero_si256(), words.cast(), numbers, counted::<K, FROM>(-1))
        };
    }
    let numbers = numbers::<K, FROM>(positions);
    // SAFETY: the caller has seen to it.
    let lane = |i: usize| unsafe { if counts::<K, FROM>(i) { *words.cast::<u32>().add(numbers[i]) as i32 } else { 0 } };
    _mm256_setr_epi32(lane(0), lane(1), lane(2), lane(3), lane(4), lane(5), lane(6), lane(7))
}

/// Whether a key's bits from `FROM` on, up to eight and K in all, are one. All words are read before the first is looked at: a
/// mispredicted branch costs more than those that it would save.
///
/// # Safety
///
/// The words have m bits, at least one, or K slices of them.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn has<const K: u32, const FROM: usize, const SLICED: bool, const GATHER: bool>(
    words: &[u64],
    m: u64,
    h1: u64,
) -> bool {
    let positions = positions::<FROM, SLICED>(m, h1);
    // SAFETY: a position is below m, or in its slice, and the words have these bits; where 32 bits do not tell a position, there
    // are at least 2^32 bits, and words for any number.
    let found = unsafe { fetch::<K, FROM, GATHER>(words, positions) };
    _mm256_testc_si256(found, bits::<K, FROM>(positions)) != 0
}

/// Whether all K bits of a key are one.
///
/// # Safety
///
/// The words have m bits, at least one, or K slices of them.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn has_all<const K: u32, const SLICED: bool, const GATHER: bool>(words: &[u64], m: u64, h1: u64) -> bool {
    // SAFETY: the caller has seen to it.
    unsafe { has::<K, 0, SLICED, GATHER>(words, m, h1) && (K <= 8 || has::<K, 8, SLICED, GATHER>(words, m, h1)) }
}

/// Whether all k bits of a key are one; with `first_four` these are looked at before the others are read.
///
/// # Safety
///
/// The words have m bits, at least one, or k slices of them.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn test<const SLICED: bool>(words: &[u64], m: u64, k: u32, h1: u64, first_four: bool) -> bool {
    if first_four {
        unrolled!(k, test_far[SLICED], words, m, h1)
    } else {
        unrolled!(k, test_near[SLICED], words, m, h1)
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn test_near<const K: u32, const SLICED: bool>(words: &[u64], m: u64, h1: u64) -> bool {
    // SAFETY: the caller of `test` has seen to it.
    unsafe { has_all::<K, SLICED, false>(words, m, h1) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn test_far<const K: u32, const SLICED: bool>(words: &[u64], m: u64, h1: u64) -> bool {
    // SAFETY: the caller of `test` has seen to it.
    unsafe { has_all_far::<K, SLICED>(words, m, h1) }
}

/// As [`has_all`], but it looks at the first four bits before it reads the others.
///
/// # Safety
///
/// As for [`has_all`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn has_all_far<const K: u32, const SLICED: bool>(words: &[u64], m: u64, h1: u64) -> bool {
    let positions = positions::<0, SLICED>(m, h1);
    let bits = bits::<K, 0>(positions);
    // SAFETY: as in `has`; where K is less than four, this many are read.
    let first =
        unsafe { if K < 4 { fetch::<K, 0, false>(words, positions) } else { fetch::<4, 0, false>(words, positions) } };
    if _mm_testc_si128(_mm256_castsi256_si128(first), _mm256_castsi256_si128(bits)) == 0 {
        return false;
    }
    // SAFETY: as in `has`.
    let found = _mm256_testc_si256(unsafe { fetch::<K, 0, false>(words, positions) }, bits) != 0;
    // SAFETY: the caller has seen to it.
    found && (K <= 8 || unsafe { has::<K, 8, SLICED, false>(words, m, h1) })
}

/// Sets a key's bits from `FROM` on, up to eight and K in all.
///
/// # Safety
///
/// The words have m bits, at least one, or K slices of them.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn put<const K: u32, const FROM: usize, const SLICED: bool>(words: &mut [u64], m: u64, h1: u64) {
    let positions = positions::<FROM, SLICED>(m, h1);
    let (numbers, mut lanes) = (numbers::<K, FROM>(positions), [0_u32; 8]);
    // SAFETY: the array is 32 writable bytes; unaligned stores take any address.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), bits::<K, FROM>(positions)) };
    let at = words.as_mut_ptr().cast::<u32>();
    for i in (0..8).filter(|i| counts::<K, FROM>(*i)) {
        // SAFETY: as in `has`, and nobody else has the words.
        unsafe { *at.add(numbers[i]) |= lanes[i] };
    }
}

/// Whether the [`SEVEN`] bits of a key are all one; when they are `FAR`, the first four are looked at before the others are read.
/// Inlined into any code.
///
/// # Safety
///
/// The machine has AVX2, and the words have m bits, at least one, or [`SEVEN`] slices of them.
#[inline(always)]
pub(super) unsafe fn test_seven<const SLICED: bool, const FAR: bool>(words: &[u64], m: u64, h1: u64) -> bool {
    // SAFETY: the caller has seen to it.
    unsafe {
        if !cfg!(target_feature = "avx2") {
            asm::test_seven::<SLICED, FAR>(words.as_ptr(), m, h1)
        } else if FAR {
            has_all_far::<SEVEN, SLICED>(words, m, h1)
        } else {
            has_all::<SEVEN, SLICED, false>(words, m, h1)
        }
    }
}

/// The same for k bits, which are gathered.
///
/// # Safety
///
/// The machine has AVX2, and the words have m bits, at least one, or k slices of them.
#[inline(always)]
pub(super) unsafe fn test_gathered<const SLICED: bool>(words: &[u64], m: u64, k: u32, h1: u64) -> bool {
    // SAFETY: the caller has seen to it.
    unsafe {
        if cfg!(target_feature = "avx2") && k == SEVEN {
            return has_all::<SEVEN, SLICED, true>(words, m, h1);
        }
        asm::test_gathered::<SLICED>(words.as_ptr(), m, k, h1)
    }
}

/// Answers for as many keys as there are answers.
///
/// # Safety
///
/// The words have m bits, at least one, or k slices of them.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn test_all<const SLICED: bool, const GATHER: bool>(
    words: &[u64],
    m: u64,
    k: u32,
    keys: &[u64],
    answers: &mut [bool],
) {
    unrolled!(k, test_each[SLICED, GATHER], words, m, keys, answers);
}

#[inline(never)]
#[target_feature(enable = "avx2")]
fn test_each<const K: u32, const SLICED: bool, const GATHER: bool>(
    words: &[u64],
    m: u64,
    keys: &[u64],
    answers: &mut [bool],
) {
    for (h1, answer) in keys.iter().zip(answers) {
        // SAFETY: the caller of `test_all` has seen to it.
        *answer = unsafe { has_all::<K, SLICED, GATHER>(words, m, *h1) };
    }
}

/// Answers for the keys that have passed, by their numbers.
///
/// # Safety
///
/// The words have m bits, at least one, or k slices of them.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn test_passed<const SLICED: bool, const GATHER: bool>(
    words: &[u64],
    m: u64,
    k: u32,
    keys: &[u64],
    passed: &[u8],
    answers: &mut [bool],
) {
    unrolled!(k, test_those[SLICED, GATHER], words, m, keys, passed, answers);
}

#[inline(never)]
#[target_feature(enable = "avx2")]
fn test_those<const K: u32, const SLICED: bool, const GATHER: bool>(
    words: &[u64],
    m: u64,
    keys: &[u64],
    passed: &[u8],
    answers: &mut [bool],
) {
    for number in passed {
        if let (Some(h1), Some(answer)) = (keys.get(usize::from(*number)), answers.get_mut(usize::from(*number))) {
            // SAFETY: the caller of `test_passed` has seen to it.
            *answer = unsafe { has_all::<K, SLICED, GATHER>(words, m, *h1) };
        }
    }
}

/// Sets the bits of keys and says how many had a new one.
///
/// # Safety
///
/// The words have m bits, at least one, or k slices of them.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn set_batch<const SLICED: bool, const GATHER: bool>(
    words: &mut [u64],
    m: u64,
    k: u32,
    keys: &[u64],
) -> u64 {
    unrolled!(k, set_each[SLICED, GATHER], words, m, keys)
}

#[inline(never)]
#[target_feature(enable = "avx2")]
fn set_each<const K: u32, const SLICED: bool, const GATHER: bool>(words: &mut [u64], m: u64, keys: &[u64]) -> u64 {
    let mut fresh = 0;
    for h1 in keys {
        // SAFETY: the caller of `set_batch` has seen to it.
        unsafe {
            fresh += u64::from(!has_all::<K, SLICED, GATHER>(words, m, *h1));
            put::<K, 0, SLICED>(words, m, *h1);
            if K > 8 {
                put::<K, 8, SLICED>(words, m, *h1);
            }
        }
    }
    fresh
}

/// For each set of four keys, their places.
const PASSED: [u32; 16] = side_by_side([0, 1, 2, 3]);

/// Writes the numbers of the keys whose first two bits are one side by side, and says how many they are. Numbers beyond the keys
/// may be among them.
///
/// # Safety
///
/// The words have m bits, at least one, or two slices of them.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn sift<const SLICED: bool, const GATHER: bool>(
    words: &[u64],
    m: u64,
    keys: &[u64],
    passed: &mut [u8],
) -> usize {
    let (fours, rest) = keys.as_chunks::<4>();
    let mut padded = [0; 4];
    padded[..rest.len()].copy_from_slice(rest);
    let fours = fours.iter().copied().chain((!rest.is_empty()).then_some(padded));
    let numbered = fours.zip(0..).map(|(four, i)| (four, 0x0302_0100 + 0x0404_0404 * i));
    // SAFETY: the caller has seen to it.
    unsafe { sift_fours::<0, SLICED, GATHER>(words, m, numbered, passed) }
}

/// The same for the next two bits of the keys of these numbers, four by four.
///
/// # Safety
///
/// The words have m bits, at least one, or four slices of them.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn sift_again<const SLICED: bool, const GATHER: bool>(
    words: &[u64],
    m: u64,
    keys: &[u64],
    numbers: &[u8],
    passed: &mut [u8],
) -> usize {
    let key = |number: u8| keys.get(usize::from(number)).copied().unwrap_or_default();
    let fours = numbers.as_chunks::<4>().0.iter().map(|four| (four.map(key), u32::from_le_bytes(*four)));
    // SAFETY: the caller has seen to it.
    unsafe { sift_fours::<2, SLICED, GATHER>(words, m, fours, passed) }
}

/// Does so for the bits `FROM` and `FROM` + 1 of four keys at a time, which come with their numbers.
///
/// # Safety
///
/// The words have m bits, at least one, or `FROM` + 2 slices of them.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn sift_fours<const FROM: usize, const SLICED: bool, const GATHER: bool>(
    words: &[u64],
    m: u64,
    fours: impl Iterator<Item = ([u64; 4], u32)>,
    passed: &mut [u8],
) -> usize {
    let span = all(m as u32);
    let mut count = 0;
    for (keys, numbers) in fours {
        // SAFETY: four words are 32 readable bytes; unaligned loads take any address.
        let load = |words: [u64; 4]| unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        let (h1, third) = (load(keys), keys.map(|h1| Ring::<true>::third(Digest { h1, h2: 0 }) >> 32));
        let word = |i: usize| {
            let times = |x, n: u32| _mm256_mul_epu32(x, all(n));
            let line = _mm256_add_epi32(_mm256_srli_epi64::<32>(h1), times(h1, i as u32));
            let curve = if SLICED { times(load(third), CURVES[1][i]) } else { all(CURVES[0][i]) };
            _mm256_add_epi32(line, curve)
        };
        // Even lanes have the earlier positions, odd lanes the later ones.
        let early = _mm256_srli_epi64::<32>(_mm256_mul_epu32(word(FROM), span));
        let mut both = _mm256_blend_epi32::<0b1010_1010>(early, _mm256_mul_epu32(word(FROM + 1), span));
        if SLICED {
            let start = |i: usize| (m as u32).wrapping_mul(i as u32);
            let starts = _mm256_blend_epi32::<0b1010_1010>(all(start(FROM)), all(start(FROM + 1)));
            both = _mm256_add_epi32(both, starts);
        }
        // SAFETY: as in `has`.
        let found = unsafe { fetch::<8, 0, GATHER>(words, both) };
        let missing = _mm256_andnot_si256(found, bits::<8, 0>(both));
        let none = _mm256_cmpeq_epi64(missing, _mm256_setzero_si256());
        let present = _mm256_movemask_pd(_mm256_castsi256_pd(none)) as usize;
        let order = _mm_cvtsi32_si128(PASSED[present] as i32);
        let numbers = _mm_cvtsi128_si32(_mm_shuffle_epi8(_mm_cvtsi32_si128(numbers as i32), order));
        // What fails is overwritten by the next that does not.
        passed[count..count + 4].copy_from_slice(&numbers.to_le_bytes());
        count += present.count_ones() as usize;
    }
    count
}
