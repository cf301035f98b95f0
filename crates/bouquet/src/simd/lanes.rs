//! Eight positions of a key at a time, or two positions of four keys, with AVX2: bits at the positions of the default schemes with
//! words of 32 bits, anywhere in a vector of words (enhanced double hashing) or one in each of k slices (`SLICED`: triple hashing).
//!
//! What they must equal is written elsewhere, for one position after the other: [`flat`](super::flat). A key's positions follow from
//! the first half of its digest alone. Below, m is the number of bits, or those of a slice. All bits together must be fewer than
//! 2^32, and k at most [`MOST`]: else answers are wrong, though nothing outside of the words is touched.

#[cfg(target_arch = "x86_64")]
use vector::{set_each, test_each, test_far, test_near, test_those};

use std::sync::atomic::AtomicU64;

use super::Avx2;
use super::flat::{self, holds};
use crate::hash::Digest;
#[cfg(target_arch = "x86_64")]
use crate::hash::Ring;
use crate::key::NEAR_BITS;

/// The k of a rate of 1 %, for which single calls are inlined.
pub(crate) const USUAL: u32 = 7;

/// The most positions that a key may have here.
pub(crate) const MOST: u32 = 16;

/// For position i of enhanced double hashing u (i³-i)/6, for that of triple hashing i(i-1)/2.
#[cfg(target_arch = "x86_64")]
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

/// The instructions that the machine has for this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instructions {
    avx2: Avx2,
    /// Whether one instruction that gathers eight numbers is faster than eight that load one each.
    gathers: bool,
}

impl Instructions {
    pub(crate) fn detected() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return Avx2::detected().map(|avx2| Instructions { avx2, gathers: super::gathers_quickly() });
        #[cfg(not(target_arch = "x86_64"))]
        return None;
    }
}

/// The vector code that single calls have inlined, if there is some for as many positions as a key has: where the bits are, and how
/// they are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usual {
    /// [`USUAL`] positions in some cache, loaded one by one.
    Near(Avx2),
    /// The same beyond: the first four are looked at before the others are read.
    Far(Avx2),
    /// So many in some cache, gathered.
    Gathered(Avx2, u32),
    /// There is none.
    Not,
}

/// For so many positions, vector code is not worth it.
pub(crate) const FEW: u32 = 4;

impl Usual {
    /// What there is for a filter of so many bits.
    pub(crate) fn of(instructions: Instructions, bits: u64, hashes: u32) -> Self {
        let Instructions { avx2, gathers } = instructions;
        match hashes {
            USUAL if bits > NEAR_BITS => Usual::Far(avx2),
            _ if gathers && bits <= NEAR_BITS && hashes > FEW && hashes <= MOST => Usual::Gathered(avx2, hashes),
            USUAL => Usual::Near(avx2),
            _ => Usual::Not,
        }
    }

    #[inline(always)]
    pub(crate) fn is_usual(self) -> bool {
        self != Usual::Not
    }

    /// Whether the bits of a key are all one; false when the words do not have the bits, and nothing when this is not usual.
    #[inline(always)]
    pub(crate) fn test<const SLICED: bool>(self, words: &[u64], m: u64, h1: u64) -> Option<bool> {
        // A loop over keys asks this once.
        match self {
            Usual::Near(avx2) => Some(vouched!(avx2, vector::test_usual::<SLICED, false>(words, m, h1))),
            Usual::Far(avx2) => Some(vouched!(avx2, vector::test_usual::<SLICED, true>(words, m, h1))),
            Usual::Gathered(avx2, k) => Some(vouched!(avx2, vector::test_gathered::<SLICED>(words, m, k, h1))),
            Usual::Not => None,
        }
    }

    /// The same for words that threads share: every bit is looked at once, at some moment.
    #[inline(always)]
    pub(crate) fn test_shared<const SLICED: bool>(self, words: &[AtomicU64], m: u64, h1: u64) -> Option<bool> {
        let k = if let Usual::Gathered(_, k) = self { k } else { USUAL };
        if !holds::<SLICED>(words, m, k) {
            return self.is_usual().then_some(false);
        }
        match self {
            Usual::Near(avx2) => Some(vouched!(avx2, vector::test_shared::<SLICED, false>(words, m, h1))),
            Usual::Far(avx2) => Some(vouched!(avx2, vector::test_shared::<SLICED, true>(words, m, h1))),
            Usual::Gathered(avx2, k) => Some(vouched!(avx2, vector::test_shared_gathered::<SLICED>(words, m, k, h1))),
            Usual::Not => None,
        }
    }

    /// Sets the [`USUAL`] bits of a key and says whether one was new; nothing is done when the words do not have the bits or this is not
    /// usual. It looks by vector code, which the compiler leaves out if nobody asks whether a bit was new. In some cache the bits are
    /// set one after the other: vector code that does that is no faster. Beyond it is, since a key takes fewer instructions, and the
    /// processor has more keys under way while it waits.
    #[inline(always)]
    pub(crate) fn set<const SLICED: bool>(self, words: &mut [u64], m: u64, h1: u64) -> Option<bool> {
        let (near, far) = match self {
            Usual::Far(avx2) => (Usual::Near(avx2), Some(avx2)),
            near => (near, None),
        };
        let known = near.test::<SLICED>(words, m, h1)?;
        let set = match far {
            Some(avx2) => vouched!(avx2, vector::set_usual::<SLICED>(words, m, h1)),
            None => flat::put::<USUAL, SLICED, true>(words, m, Digest { h1, h2: 0 }),
        };
        set.then_some(!known)
    }
}

/// Calls one of two forms of a function: that which gathers where the machine does it quickly, or that which does not.
macro_rules! fetched {
    ($instructions:ident, $k:expr, $each:ident $(, $arg:expr)*) => {{
        let Instructions { avx2, gathers } = $instructions;
        if gathers {
            const GATHER: bool = true;
            vouched!(avx2, unrolled!($k, $each[SLICED, GATHER] $(, $arg)*))
        } else {
            const GATHER: bool = false;
            vouched!(avx2, unrolled!($k, $each[SLICED, GATHER] $(, $arg)*))
        }
    }};
}

/// Whether the k bits of a key are all one; false when the words do not have the bits. Where these are beyond the caches, or more
/// than eight and loaded one by one, the first four bits are looked at before the others.
#[inline]
pub(crate) fn test<const SLICED: bool>(with: Instructions, words: &[u64], m: u64, k: u32, h1: u64) -> bool {
    if !holds::<SLICED>(words, m, k) {
        return false;
    }
    if words.len() as u64 > NEAR_BITS / 64 || (k > 8 && !with.gathers) {
        return fetched!(with, k, test_far, words, m, h1);
    }
    fetched!(with, k, test_near, words, m, h1)
}

/// So many keys are worth a round of their own.
const MANY: usize = 32;

/// [`test`] for up to `N` keys (from 8 to 256), of which an absent one is left behind at one of its first two bits, without a branch,
/// if they are to be sifted, and most that are left at one of the next two. Among keys that are all present that would be in vain.
pub(crate) fn test_batch<const N: usize, const SLICED: bool>(
    with: Instructions,
    words: &[u64],
    m: u64,
    k: u32,
    keys: &[u64],
    answers: &mut [bool],
    sift: bool,
) {
    let count = keys.len().min(answers.len()).min(N);
    let (Some(keys), Some(answers)) = (keys.get(..count), answers.get_mut(..count)) else { return };
    let holds = holds::<SLICED>(words, m, k);
    if holds && !(sift && k > 1) {
        return fetched!(with, k, test_each, words, m, keys, answers);
    }
    answers.fill(false);
    if !holds {
        return;
    }
    let Instructions { avx2, gathers } = with;
    macro_rules! sifted {
        ($sift:ident, $($arg:expr),*) => {
            if gathers {
                vouched!(avx2, vector::$sift::<SLICED, true>(words, m, keys, $($arg),*))
            } else {
                vouched!(avx2, vector::$sift::<SLICED, false>(words, m, keys, $($arg),*))
            }
        };
    }
    // With room for four more than there can be, since four are written at a time.
    let (mut first, mut second) = ([[0; 2]; N], None);
    let first = first.as_flattened_mut();
    let left = sifted!(sift, first);
    let mut passed = &first[..left];
    // If most are left, these are present; and a few are not worth another round, before which the processor waits.
    if k > FEW && (MANY..count / 2).contains(&left) {
        let second = second.insert([0; N]);
        // Up to three numbers more, of whatever was there, fill up the last four.
        let left = sifted!(sift_again, &first[..left.next_multiple_of(4)], second);
        passed = &second[..left];
    }
    fetched!(with, k, test_those, words, m, keys, passed, answers);
}

/// Sets the k bits of many keys and says how many had a new one; nothing is done when the words do not have the bits.
#[inline]
pub(crate) fn set_batch<const SLICED: bool>(
    with: Instructions,
    words: &mut [u64],
    m: u64,
    k: u32,
    keys: &[u64],
) -> u64 {
    if !holds::<SLICED>(words, m, k) {
        return 0;
    }
    fetched!(with, k, set_each, words, m, keys)
}

#[cfg(target_arch = "x86_64")]
mod vector {
    use std::arch::x86_64::*;

    use std::sync::atomic::AtomicU64;

    use super::{CURVES, USUAL, holds};
    use crate::hash::{Digest, Ring};
    use crate::simd::embedded::{anew, gathered_test, lanes_put, lanes_test};
    use crate::simd::side_by_side;

    const MOST: usize = super::MOST as usize;

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(x: u32) -> __m256i {
        _mm256_set1_epi32(x as i32)
    }

    /// Eight numbers from `FROM` on.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn eight<const FROM: usize>(numbers: &[u32; MOST]) -> __m256i {
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
        const NUMBERS: [u32; MOST] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
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
        let last =
            if counts::<K, FROM>(7) { _mm_extract_epi64::<1>(high) } else { _mm_extract_epi32::<2>(high).into() };
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
        let lane =
            |i: usize| unsafe { if counts::<K, FROM>(i) { *words.cast::<u32>().add(numbers[i]) as i32 } else { 0 } };
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

    /// As [`super::test`] where the words have the bits and are in some cache.
    ///
    /// # Safety
    ///
    /// As for [`has_all`].
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn test_near<const K: u32, const SLICED: bool, const GATHER: bool>(
        words: &[u64],
        m: u64,
        h1: u64,
    ) -> bool {
        // SAFETY: the caller has seen to it.
        unsafe { has_all::<K, SLICED, GATHER>(words, m, h1) }
    }

    /// The same, but it looks at the first four bits before it reads the others.
    ///
    /// # Safety
    ///
    /// As for [`has_all`].
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn test_far<const K: u32, const SLICED: bool, const GATHER: bool>(
        words: &[u64],
        m: u64,
        h1: u64,
    ) -> bool {
        // SAFETY: the caller has seen to it.
        unsafe { has_all_far::<K, SLICED, GATHER>(words, m, h1) }
    }

    /// As [`has_all`], but it looks at the first four bits before it reads the others.
    ///
    /// # Safety
    ///
    /// As for [`has_all`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn has_all_far<const K: u32, const SLICED: bool, const GATHER: bool>(
        words: &[u64],
        m: u64,
        h1: u64,
    ) -> bool {
        let positions = positions::<0, SLICED>(m, h1);
        let bits = bits::<K, 0>(positions);
        // SAFETY: as in `has`; where K is less than four, so many are read.
        let first = unsafe {
            if K < 4 { fetch::<K, 0, GATHER>(words, positions) } else { fetch::<4, 0, GATHER>(words, positions) }
        };
        if _mm_testc_si128(_mm256_castsi256_si128(first), _mm256_castsi256_si128(bits)) == 0 {
            return false;
        }
        // SAFETY: as in `has`.
        let found = _mm256_testc_si256(unsafe { fetch::<K, 0, GATHER>(words, positions) }, bits) != 0;
        // SAFETY: the caller has seen to it.
        found && (K <= 8 || unsafe { has::<K, 8, SLICED, GATHER>(words, m, h1) })
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

    /// As [`super::Usual::test`] with bits that are loaded one by one.
    ///
    /// # Safety
    ///
    /// The machine has AVX2.
    #[inline(always)]
    pub(super) unsafe fn test_usual<const SLICED: bool, const FAR: bool>(words: &[u64], m: u64, h1: u64) -> bool {
        // SAFETY: `holds` has shown that the words have the bits, and the caller vouches for AVX2.
        holds::<SLICED>(words, m, USUAL) && unsafe { usual::<SLICED, FAR>(words, m, h1) }
    }

    /// The same with k bits that are gathered.
    ///
    /// # Safety
    ///
    /// The machine has AVX2.
    #[inline(always)]
    pub(super) unsafe fn test_gathered<const SLICED: bool>(words: &[u64], m: u64, k: u32, h1: u64) -> bool {
        if !holds::<SLICED>(words, m, k) {
            return false;
        }
        #[cfg(target_feature = "avx2")]
        if k == USUAL {
            // SAFETY: `holds` has shown that the words have the bits, and the build demands AVX2.
            return unsafe { has_all::<USUAL, SLICED, true>(words, m, h1) };
        }
        // SAFETY: `holds` has shown that the words have the bits, and the caller vouches for AVX2.
        unsafe { gathered_test::<SLICED>(words.as_ptr(), m, k, h1) }
    }

    /// As [`test_usual`], by assembly: compilers may read what is not atomic as often as they like.
    ///
    /// # Safety
    ///
    /// The machine has AVX2, and the words have m bits, at least one, or [`USUAL`] slices of them.
    #[inline(always)]
    pub(super) unsafe fn test_shared<const SLICED: bool, const FAR: bool>(
        words: &[AtomicU64],
        m: u64,
        h1: u64,
    ) -> bool {
        // SAFETY: the caller has seen to it.
        unsafe { lanes_test::<SLICED, FAR>(anew(words.as_ptr()).cast(), m, h1) }
    }

    /// As [`test_gathered`] in the same way.
    ///
    /// # Safety
    ///
    /// The machine has AVX2, and the words have m bits, at least one, or k slices of them.
    #[inline(always)]
    pub(super) unsafe fn test_shared_gathered<const SLICED: bool>(
        words: &[AtomicU64],
        m: u64,
        k: u32,
        h1: u64,
    ) -> bool {
        // SAFETY: the caller has seen to it.
        unsafe { gathered_test::<SLICED>(anew(words.as_ptr()).cast(), m, k, h1) }
    }

    /// Whether the [`USUAL`] bits of a key are all one.
    ///
    /// # Safety
    ///
    /// As for [`has_all`].
    #[cfg(not(target_feature = "avx2"))]
    #[inline(always)]
    unsafe fn usual<const SLICED: bool, const FAR: bool>(words: &[u64], m: u64, h1: u64) -> bool {
        // SAFETY: the caller has seen to it.
        unsafe { lanes_test::<SLICED, FAR>(words.as_ptr(), m, h1) }
    }

    /// The same.
    ///
    /// # Safety
    ///
    /// As for [`has_all`].
    #[cfg(target_feature = "avx2")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn usual<const SLICED: bool, const FAR: bool>(words: &[u64], m: u64, h1: u64) -> bool {
        // SAFETY: the caller has seen to it.
        unsafe {
            if FAR {
                has_all_far::<USUAL, SLICED, false>(words, m, h1)
            } else {
                has_all::<USUAL, SLICED, false>(words, m, h1)
            }
        }
    }

    /// Sets the [`USUAL`] bits of a key; false when the words do not have them.
    ///
    /// # Safety
    ///
    /// The machine has AVX2.
    #[inline(always)]
    pub(super) unsafe fn set_usual<const SLICED: bool>(words: &mut [u64], m: u64, h1: u64) -> bool {
        let holds = holds::<SLICED>(words, m, USUAL);
        if holds {
            // SAFETY: `holds` has shown that the words have the bits, nobody else has them, and the caller vouches for AVX2.
            unsafe { lanes_put::<SLICED>(words.as_mut_ptr(), m, h1) };
        }
        holds
    }

    /// Answers for keys, one after the other.
    ///
    /// # Safety
    ///
    /// The words have m bits, at least one, or K slices of them.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn test_each<const K: u32, const SLICED: bool, const GATHER: bool>(
        words: &[u64],
        m: u64,
        keys: &[u64],
        answers: &mut [bool],
    ) {
        for (h1, answer) in keys.iter().zip(answers) {
            // SAFETY: the caller has seen to it.
            *answer = unsafe { has_all::<K, SLICED, GATHER>(words, m, *h1) };
        }
    }

    /// Answers for the keys of these numbers.
    ///
    /// # Safety
    ///
    /// The words have m bits, at least one, or K slices of them.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn test_those<const K: u32, const SLICED: bool, const GATHER: bool>(
        words: &[u64],
        m: u64,
        keys: &[u64],
        numbers: &[u8],
        answers: &mut [bool],
    ) {
        for number in numbers {
            if let (Some(h1), Some(answer)) = (keys.get(usize::from(*number)), answers.get_mut(usize::from(*number))) {
                // SAFETY: the caller has seen to it.
                *answer = unsafe { has_all::<K, SLICED, GATHER>(words, m, *h1) };
            }
        }
    }

    /// Sets the bits of keys and says how many had a new one.
    ///
    /// # Safety
    ///
    /// The words have m bits, at least one, or K slices of them.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn set_each<const K: u32, const SLICED: bool, const GATHER: bool>(
        words: &mut [u64],
        m: u64,
        keys: &[u64],
    ) -> u64 {
        let mut fresh = 0;
        for h1 in keys {
            // SAFETY: the caller has seen to it.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{Digest, SplitMix};
    use crate::simd::flat;

    const BATCH: usize = 40;

    #[test]
    fn bits_are_those_of_one_position_after_the_other() {
        check::<false>(&[1, 2, 31, 64, 1_000, 65_537, NEAR_BITS + 64]);
        check::<true>(&[1, 2, 31, 64, 1_000, 65_537, NEAR_BITS / 4]);
    }

    /// Both forms, whichever is the faster here.
    fn forms() -> Vec<Instructions> {
        Avx2::detected().map_or(vec![], |avx2| [false, true].map(|gathers| Instructions { avx2, gathers }).into())
    }

    /// All that is usual for k positions, whatever suits the size.
    fn usual(avx2: Avx2, k: u32) -> Vec<Usual> {
        let gathered = Usual::Gathered(avx2, k);
        if k == USUAL { vec![gathered, Usual::Near(avx2), Usual::Far(avx2)] } else { vec![gathered] }
    }

    fn shared(words: &[u64]) -> Vec<AtomicU64> {
        words.iter().map(|word| AtomicU64::new(*word)).collect()
    }

    fn check<const SLICED: bool>(sizes: &[u64]) {
        let mut random = SplitMix::new(8);
        for with in forms() {
            for &m in sizes {
                for k in 1..=MOST {
                    check_one::<SLICED>(with, m, k, &mut random);
                }
            }
        }
    }

    fn check_one<const SLICED: bool>(with: Instructions, m: u64, k: u32, random: &mut SplitMix) {
        let bits = if SLICED { m * u64::from(k) } else { m };
        let mut words = vec![0; bits.div_ceil(64) as usize];
        let mut model = words.clone();
        for round in 0..BATCH {
            let keys: Vec<u64> = (0..round).map(|_| random.next_u64()).collect();
            let scalar = |words: &[u64], h1| flat::test::<SLICED, true>(words, m, k, Digest::from_word(h1));
            let expected: Vec<bool> = keys.iter().map(|h1| scalar(&words, *h1)).collect();
            let single: Vec<bool> = keys.iter().map(|h1| test::<SLICED>(with, &words, m, k, *h1)).collect();
            assert_eq!(single, expected, "m {m}, k {k}");
            for sift in [false, true] {
                let mut answers = vec![true; round];
                test_batch::<BATCH, SLICED>(with, &words, m, k, &keys, &mut answers, sift);
                assert_eq!(answers, expected, "m {m}, k {k}, sift {sift}");
            }
            // Large vectors are copied once in a while only.
            let atomic = if round % 13 == 1 || words.len() < 2_000 { shared(&words) } else { vec![] };
            for usual in usual(with.avx2, k) {
                let found = keys.iter().map(|h1| usual.test::<SLICED>(&words, m, *h1));
                assert!(found.eq(expected.iter().map(|e| Some(*e))), "m {m}, {usual:?}");
                let found = keys.iter().map(|h1| usual.test_shared::<SLICED>(&atomic, m, *h1));
                assert!(found.eq(expected.iter().map(|e| Some(*e && !atomic.is_empty()))), "m {m}, {usual:?}, shared");
            }
            let (half, other) = keys.split_at(round / 2);
            let mut fresh = 0;
            for &h1 in &keys {
                fresh += u64::from(flat::set::<SLICED, true>(&mut model, m, k, Digest::from_word(h1)));
            }
            let mut found = set_batch::<SLICED>(with, &mut words, m, k, half);
            for &h1 in other {
                let usual = usual(with.avx2, USUAL)[random.below(3) as usize];
                let new = if k == USUAL { usual.set::<SLICED>(&mut words, m, h1) } else { None };
                found += u64::from(new.unwrap_or_else(|| set_batch::<SLICED>(with, &mut words, m, k, &[h1]) == 1));
            }
            assert!(words == model && found == fresh, "m {m}, k {k}: {found} new, not {fresh}");
        }
    }

    #[test]
    fn many_keys_are_sifted_twice() {
        twice::<false>();
        twice::<true>();
    }

    /// Half of the bits are one, so that a quarter of the keys is left after the first round.
    fn twice<const SLICED: bool>() {
        let mut random = SplitMix::new(9);
        for (with, k) in forms().into_iter().flat_map(|with| (1..=MOST).map(move |k| (with, k))) {
            let m = 10_007;
            let bits = if SLICED { m * u64::from(k) } else { m };
            let words: Vec<u64> = (0..bits.div_ceil(64)).map(|_| random.next_u64()).collect();
            for count in [2 * MANY, 199, 255, 256] {
                let keys: Vec<u64> = (0..count).map(|_| random.next_u64()).collect();
                let scalar = |h1: &u64| flat::test::<SLICED, true>(&words, m, k, Digest::from_word(*h1));
                let mut answers = vec![true; count];
                test_batch::<256, SLICED>(with, &words, m, k, &keys, &mut answers, true);
                assert!(keys.iter().map(scalar).eq(answers), "k {k}, {count} keys");
            }
        }
    }

    #[test]
    fn words_that_are_too_few_hold_nothing() {
        for with in forms() {
            let (mut words, mut answers) = ([u64::MAX], [true; 3]);
            assert!(!test::<false>(with, &words, 65, 3, 7) && !test::<true>(with, &words, 22, 3, 7));
            test_batch::<4, false>(with, &words, 65, 3, &[7; 3], &mut answers, true);
            assert_eq!(answers, [false; 3]);
            for usual in usual(with.avx2, USUAL) {
                assert_eq!([usual.test::<false>(&words, 65, 7), usual.test::<true>(&words, 10, 7)], [Some(false); 2]);
                assert_eq!(usual.test_shared::<true>(&shared(&words), 10, 7), Some(false));
                assert_eq!(usual.set::<false>(&mut words, 65, 7), None);
            }
            assert_eq!(set_batch::<true>(with, &mut words, 0, 3, &[7]), 0);
            assert_eq!(words, [u64::MAX]);
        }
        assert_eq!((Usual::Not.test::<false>(&[1], 64, 7), Usual::Not.set::<false>(&mut [1], 64, 7)), (None, None));
        assert_eq!(Usual::Not.test_shared::<false>(&shared(&[1]), 64, 7), None);
    }
}
