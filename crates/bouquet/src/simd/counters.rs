//! Counters at the positions of enhanced double hashing with fastrange: the code of `counting`, four keys at a time with AVX2.

use super::flat::scalar::Walk;
use super::{Word, prefetch};
use crate::hash::Digest;

/// Counters that are looked at before the answer is: see `flat::scalar`.
const HEAD: u32 = 4;

/// Whether there are m counters, at least one, of `width` bits in the words, none of them across two: what makes the
/// unchecked accesses below sound.
#[inline(always)]
fn holds_counters(words: &[impl Sized], m: u64, width: u32) -> bool {
    let bits = m.checked_mul(width.into());
    width.is_power_of_two() && m != 0 && bits.is_some_and(|bits| bits.div_ceil(64) <= words.len() as u64)
}

/// Whether none of the k counters of a digest is zero; false when the words do not hold m counters of a
/// width that divides 64.
#[inline(always)]
pub(crate) fn all_nonzero(words: &[impl Word], m: u64, k: u32, width: u32, digest: Digest) -> bool {
    if !holds_counters(words, m, width) {
        return false;
    }
    let shift = width.trailing_zeros();
    let max = u64::MAX >> (64 - width);
    let nonzero = |position: u64| {
        let bit = position << shift;
        // SAFETY: a position is below m, and `holds_counters` has shown that there are words for m counters.
        let word = unsafe { words.get_unchecked((bit / 64) as usize) }.load();
        word >> (bit % 64) & max != 0
    };
    let mut walk = Walk::<false, false>::new(digest);
    for _ in 0..k / HEAD {
        if !walk.all_that::<HEAD>(m, nonzero) {
            return false;
        }
    }
    match k % HEAD {
        0 => true,
        1 => walk.all_that::<1>(m, nonzero),
        2 => walk.all_that::<2>(m, nonzero),
        _ => walk.all_that::<3>(m, nonzero),
    }
}

/// The bits of a counter for which there is vector code, those of a counting filter by default.
pub(crate) const COUNTER: u32 = 4;

/// What [`all_nonzero`] says about up to `N` digests (from 4 to 252) and counters of [`COUNTER`] bits. When `ahead`, the
/// other counters of all keys whose first is nonzero are prefetched before they are looked at; for the first the caller
/// has done it. Else four keys go side by side where the machine can do that.
#[inline]
pub(crate) fn nonzero_batch<const N: usize>(
    words: &[u64],
    m: u64,
    k: u32,
    digests: &[Digest],
    answers: &mut [bool],
    ahead: bool,
) {
    let count = digests.len().min(answers.len()).min(N);
    let (Some(digests), Some(answers)) = (digests.get(..count), answers.get_mut(..count)) else { return };
    answers.fill(false);
    #[cfg(target_arch = "x86_64")]
    if !ahead
        && holds_counters(words, m, COUNTER)
        && m <= u64::from(u32::MAX)
        && k > avx2::HEAD as u32
        && is_x86_feature_detected!("avx2")
    {
        // SAFETY: the machine has AVX2, and `holds_counters` has shown that there are words for m counters; there are as many answers
        // as digests, at most N.
        return unsafe { avx2::test_batch::<N>(words, m, k, digests, answers) };
    }
    if ahead {
        // The answers tell meanwhile whose first counter is nonzero.
        for (digest, answer) in digests.iter().zip(answers.iter_mut()) {
            *answer = all_nonzero(words, m, 1, COUNTER, *digest);
            if *answer {
                let mut walk = Walk::<false, false>::after::<1>(*digest, m);
                (1..k).for_each(|_| prefetch(words, (walk.next(m) / u64::from(64 / COUNTER)) as usize));
            }
        }
    }
    for (digest, answer) in digests.iter().zip(answers).filter(|(_, answer)| !ahead || **answer) {
        *answer = all_nonzero(words, m, k, COUNTER, *digest);
    }
}

/// Adds one to the k counters of a digest, which must be at different positions; a counter at its largest value stays. Says
/// whether one was zero, and how many stayed. Nothing when the words do not hold m counters of a width that divides 64.
#[inline(always)]
pub(crate) fn increment(words: &mut [u64], m: u64, k: u32, width: u32, digest: Digest) -> (bool, u64) {
    if !holds_counters(words, m, width) {
        return (false, 0);
    }
    let (shift, max) = (width.trailing_zeros(), u64::MAX >> (64 - width));
    let mut walk = Walk::<false, false>::new(digest);
    let (mut least, mut full) = (max, 0);
    for _ in 0..k {
        let bit = walk.next(m) << shift;
        // SAFETY: fastrange gives a position below m, and `holds_counters` has shown that there are words for m counters.
        let word = unsafe { words.get_unchecked_mut((bit / 64) as usize) };
        let counter = *word >> (bit % 64) & max;
        least = least.min(counter);
        full += u64::from(counter == max);
        *word += u64::from(counter != max) << (bit % 64);
    }
    (least == 0, full)
}

/// Whether no two positions of a digest coincide; `false` is not certain. There are two rows of 64 marks, for the low
/// bits of a position and for the next: one that occurred before finds both of its marks set, and so does one in fifty
/// of seven different ones.
#[inline(always)]
pub(crate) fn are_apart(m: u64, k: u32, digest: Digest) -> bool {
    let mut walk = Walk::<false, false>::new(digest);
    let (mut low, mut high, mut again) = (0_u64, 0_u64, 0);
    for _ in 0..k {
        let position = walk.next(m);
        let (a, b) = (position % 64, position / 64 % 64);
        again |= (low >> a) & (high >> b);
        low |= 1 << a;
        high |= 1 << b;
    }
    again & 1 == 0
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::COUNTER;
    use crate::hash::{Digest, GOLDEN};
    use crate::simd::side_by_side;

    /// Positions of every key that are looked at before those that have failed are left behind.
    pub(super) const HEAD: u64 = 2;

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(x: u64) -> __m256i {
        _mm256_set1_epi64x(x as i64)
    }

    /// The words at the positions that x has among m counters, shifted so that the lowest bit tells whether the counter is
    /// nonzero. m is below 2^32, so that the high half of its product with x needs two multiplications.
    ///
    /// # Safety
    ///
    /// The words have m counters, at least one.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn nonzero(words: &[u64], m: __m256i, x: __m256i) -> __m256i {
        let low = _mm256_srli_epi64::<32>(_mm256_mul_epu32(x, m));
        let product = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64::<32>(x), m), low);
        let bit = _mm256_slli_epi64::<{ COUNTER.ilog2() as i32 }>(_mm256_srli_epi64::<32>(product));
        let index = _mm256_srli_epi64::<6>(bit);
        let (one, two) = (_mm256_castsi256_si128(index), _mm256_extracti128_si256::<1>(index));
        // Four loads are faster than the instruction that gathers.
        // SAFETY: the words have the counter at the position, as the caller has seen to.
        let word = |index: i64| unsafe { *words.get_unchecked(index as usize) } as i64;
        let loaded = _mm256_set_epi64x(
            word(_mm_extract_epi64::<1>(two)),
            word(_mm_cvtsi128_si64(two)),
            word(_mm_extract_epi64::<1>(one)),
            word(_mm_cvtsi128_si64(one)),
        );
        let field = _mm256_srlv_epi64(loaded, _mm256_and_si256(bit, all(63)));
        let pairs = _mm256_or_si256(field, _mm256_srli_epi64::<2>(field));
        _mm256_or_si256(pairs, _mm256_srli_epi64::<1>(pairs))
    }

    /// The lowest bits of the four, side by side.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn lowest(x: __m256i) -> usize {
        _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_slli_epi64::<63>(x))) as usize
    }

    /// The halves of four digests: keys 0, 2, 1, 3, as the instructions have them.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(digests: &[Digest; 4]) -> (__m256i, __m256i) {
        let at = digests.as_ptr().cast::<__m256i>();
        // SAFETY: four digests are 64 readable bytes, the halves in order (`repr(C)`); unaligned loads take any address.
        let (one, two) = unsafe { (_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1))) };
        (_mm256_unpacklo_epi64(one, two), _mm256_unpackhi_epi64(one, two))
    }

    /// For each set of lanes the numbers of their keys, in the low bytes.
    const PASSED: [u32; 16] = side_by_side([0, 2, 1, 3]);

    /// # Safety
    ///
    /// The words have m counters, at least one and fewer than 2^32; there are as many answers as digests, at most N.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn test_batch<const N: usize>(
        words: &[u64],
        m: u64,
        k: u32,
        digests: &[Digest],
        answers: &mut [bool],
    ) {
        let m = all(m);
        let mut padded = [Digest { h1: 0, h2: 0 }; 4];
        // With room for four more than there can be, since four are written at a time.
        let (mut passed, mut count) = ([[0_u8; 4]; N], 0);
        let passed = passed.as_flattened_mut();
        let (fours, rest) = digests.as_chunks::<4>();
        padded[..rest.len()].copy_from_slice(rest);
        for (i, four) in fours.iter().chain((!rest.is_empty()).then_some(&padded)).enumerate() {
            let (x, y) = halves(four);
            // SAFETY: the caller has seen to it.
            let first = unsafe { nonzero(words, m, x) };
            // SAFETY: as above.
            let second = unsafe { nonzero(words, m, _mm256_add_epi64(x, y)) };
            let ones = lowest(_mm256_and_si256(first, second));
            let numbers = PASSED[ones] + 0x0404_0404 * i as u32;
            // What fails is overwritten by the next that does not.
            passed[count..count + 4].copy_from_slice(&numbers.to_le_bytes());
            count += ones.count_ones() as usize;
        }
        for four in passed[..count].chunks(4) {
            // Where there are fewer than four, any digest fills the place.
            let digest =
                |i: usize| four.get(i).and_then(|i| digests.get(usize::from(*i))).copied().unwrap_or(padded[0]);
            let (x, y) = halves(&[digest(0), digest(1), digest(2), digest(3)]);
            // After two positions x is h1 + 2 h2 + z, and y has grown by z twice.
            let (mut z, growth) = (all(GOLDEN), all(GOLDEN));
            let mut x = _mm256_add_epi64(_mm256_add_epi64(x, y), _mm256_add_epi64(y, z));
            let mut y = _mm256_add_epi64(_mm256_add_epi64(y, z), z);
            z = _mm256_add_epi64(z, growth);
            y = _mm256_add_epi64(y, growth);
            z = _mm256_add_epi64(z, growth);
            let mut ones = all(1);
            for _ in HEAD..k.into() {
                // SAFETY: the caller has seen to it.
                ones = _mm256_and_si256(ones, unsafe { nonzero(words, m, x) });
                x = _mm256_add_epi64(x, y);
                y = _mm256_add_epi64(y, z);
                z = _mm256_add_epi64(z, growth);
            }
            let ones = lowest(ones);
            for (i, lane) in four.iter().zip([0, 2, 1, 3]) {
                // A digest of the padding has no answer.
                if let Some(answer) = answers.get_mut(usize::from(*i)) {
                    *answer = ones >> lane & 1 == 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{SplitMix, probes};

    const BATCH: usize = 32;

    #[test]
    fn counters_are_those_of_the_default_scheme() {
        let mut random = SplitMix::new(4);
        for (m, width) in
            [(1u64, 4u32), (2, 64), (15, 4), (16, 4), (17, 8), (1000, 1), (1000, 2), (5003, 16), (700, 32)]
        {
            for k in [1, 2, 3, 5, 7, 64] {
                let mut words = vec![0u64; (m * u64::from(width)).div_ceil(64) as usize];
                let mut model = vec![0u64; m as usize];
                let max = u64::MAX >> (64 - width);
                for _ in 0..300 {
                    let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
                    let mut positions: Vec<u64> = probes(digest, m, k).collect();
                    let nonzero = positions.iter().all(|&p| model[p as usize] > 0);
                    assert_eq!(all_nonzero(&words, m, k, width, digest), nonzero);
                    for ahead in [false, true] {
                        let mut answers = [!nonzero; 5];
                        nonzero_batch::<8>(&words, m, k, &[digest; 5], &mut answers, ahead);
                        assert!(width != COUNTER || answers == [nonzero; 5], "m {m}, k {k}");
                    }
                    let apart = are_apart(m, k, digest);
                    positions.sort_unstable();
                    positions.dedup();
                    assert!(!apart || positions.len() == k as usize);
                    if positions.len() == k as usize {
                        let full = positions.iter().filter(|&&p| model[p as usize] == max).count() as u64;
                        assert_eq!(increment(&mut words, m, k, width, digest), (!nonzero, full));
                        positions.iter().for_each(|&p| model[p as usize] += u64::from(model[p as usize] < max));
                    }
                    let value =
                        |p: u64| words[(p * u64::from(width) / 64) as usize] >> (p * u64::from(width) % 64) & max;
                    assert!((0..m).all(|p| value(p) == model[p as usize]));
                }
            }
        }
    }

    #[test]
    fn counters_that_the_words_do_not_hold_are_left_alone() {
        let digest = Digest { h1: u64::MAX, h2: 1 };
        let mut words = [u64::MAX];
        for (m, width) in [(17, 4), (0, 4), (3, 5), (u64::MAX, 32), (2, 64)] {
            assert!(!all_nonzero(&words, m, 3, width, digest));
            assert_eq!(increment(&mut words, m, 3, width, digest), (false, 0));
        }
        assert_eq!(words, [u64::MAX]);
    }

    #[test]
    fn batches_of_counters_answer_as_single_tests_do() {
        let mut random = SplitMix::new(9);
        for m in [1_u64, 16, 1_000, 65_537] {
            for k in [3, 4, 7, 16, 30] {
                // Every bit of a counter alone makes it nonzero.
                let any = |random: &mut SplitMix| random.next_u64() & random.next_u64();
                let words: Vec<u64> = (0..m.div_ceil(16)).map(|_| any(&mut random) | any(&mut random)).collect();
                for count in 0..=BATCH {
                    let digests: Vec<_> = (0..count).map(|_| Digest::from_word(random.next_u64())).collect();
                    let mut answers = vec![false; count];
                    nonzero_batch::<BATCH>(&words, m, k, &digests, &mut answers, false);
                    let single = |digest: &Digest| all_nonzero(&words, m, k, COUNTER, *digest);
                    assert!(digests.iter().map(single).eq(answers), "m {m}, k {k}, {count} keys");
                }
            }
        }
    }
}
