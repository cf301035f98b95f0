//! Four keys at a time with AVX2, for batches: bits and counters at the positions of enhanced double hashing with fastrange.
//!
//! What they must equal is written elsewhere, for one key: [`flat`](super::flat). A machine without AVX2 is told so, and the caller
//! goes on with that.

use crate::hash::Digest;

/// Whether all k fields of 2^LOG bits (one or four) are nonzero, for up to `N` digests (from 4 to 252), as
/// [`flat::test`](super::flat::test) says of bits; `false` when nothing was done, because there is no AVX2 or m is too large for
/// it.
///
/// # Safety
///
/// The words have m fields, at least one; there are as many answers as digests, at most N.
#[inline]
pub(crate) unsafe fn test_batch<const N: usize, const LOG: i32>(
    words: &[u64],
    m: u64,
    k: u32,
    digests: &[Digest],
    answers: &mut [bool],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if m <= u64::from(u32::MAX) && k > avx2::HEAD as u32 && is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2; the rest is what the caller has seen to.
        unsafe { avx2::test_batch::<N, LOG>(words, m, k, digests, answers) };
        return true;
    }
    let _ = (words, m, k, digests, answers);
    false
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use crate::hash::{Digest, GOLDEN};
    use crate::simd::side_by_side;

    /// Positions of every key that are looked at before those that have failed are left behind.
    pub(super) const HEAD: u64 = 2;

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(x: u64) -> __m256i {
        _mm256_set1_epi64x(x as i64)
    }

    /// The words at the positions that x has among m fields of 2^LOG bits, shifted so that the lowest bit tells whether the field is
    /// nonzero. m is below 2^32, so that the high half of its product with x needs two multiplications.
    ///
    /// # Safety
    ///
    /// The words have m fields, at least one, of one bit or four.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn nonzero<const LOG: i32>(words: &[u64], m: __m256i, x: __m256i) -> __m256i {
        let low = _mm256_srli_epi64::<32>(_mm256_mul_epu32(x, m));
        let product = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64::<32>(x), m), low);
        let bit = _mm256_slli_epi64::<LOG>(_mm256_srli_epi64::<32>(product));
        let index = _mm256_srli_epi64::<6>(bit);
        let (one, two) = (_mm256_castsi256_si128(index), _mm256_extracti128_si256::<1>(index));
        // Four loads are faster than the instruction that gathers.
        // SAFETY: the words have the field at the position, as the caller has seen to.
        let word = |index: i64| unsafe { *words.get_unchecked(index as usize) } as i64;
        let loaded = _mm256_set_epi64x(
            word(_mm_extract_epi64::<1>(two)),
            word(_mm_cvtsi128_si64(two)),
            word(_mm_extract_epi64::<1>(one)),
            word(_mm_cvtsi128_si64(one)),
        );
        let field = _mm256_srlv_epi64(loaded, _mm256_and_si256(bit, all(63)));
        if LOG == 0 {
            return field;
        }
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
    /// The words have m fields of 2^LOG bits (one or four), at least one and fewer than 2^32; there are as many answers as digests, at most N.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn test_batch<const N: usize, const LOG: i32>(
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
            let first = unsafe { nonzero::<LOG>(words, m, x) };
            // SAFETY: as above.
            let second = unsafe { nonzero::<LOG>(words, m, _mm256_add_epi64(x, y)) };
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
                ones = _mm256_and_si256(ones, unsafe { nonzero::<LOG>(words, m, x) });
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
    use crate::hash::{Hashing, SplitMix};
    use crate::key::{BATCH, digest_batch};
    use crate::simd::flat;

    #[test]
    fn batches_of_bits_answer_as_single_tests_do() {
        let mut random = SplitMix::new(8);
        for m in [1_u64, 64, 1_000, 65_537] {
            for k in [3, 4, 7, 16, 30] {
                let words: Vec<u64> = (0..m.div_ceil(64)).map(|_| random.next_u64() | random.next_u64()).collect();
                for count in 0..=BATCH {
                    let keys: Vec<u64> = (0..count).map(|_| random.next_u64()).collect();
                    let digests = digest_batch(&Hashing::default(), &keys, |_| ());
                    let (digests, mut answers) = (&digests[..count], vec![false; count]);
                    // SAFETY: the words have the bits; there are as many answers as digests, at most BATCH.
                    let done = unsafe { test_batch::<BATCH, 0>(&words, m, k, digests, &mut answers) };
                    let single = |digest: &Digest| flat::test::<false, false>(&words, m, k, *digest);
                    assert!(!done || digests.iter().map(single).eq(answers), "m {m}, k {k}, {count} keys");
                    #[cfg(target_arch = "x86_64")]
                    assert_eq!(done, is_x86_feature_detected!("avx2"));
                }
            }
        }
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
                    let keys: Vec<u64> = (0..count).map(|_| random.next_u64()).collect();
                    let digests = digest_batch(&Hashing::default(), &keys, |_| ());
                    let digests = &digests[..count];
                    let mut answers = vec![false; count];
                    // SAFETY: the words have the counters; there are as many answers as digests, at most BATCH.
                    let done = unsafe { test_batch::<BATCH, 2>(&words, m, k, digests, &mut answers) };
                    let single =
                        |digest: &Digest| flat::counters_nonzero(&words, m, k, flat::COUNTER, *digest, |word| *word);
                    assert!(!done || digests.iter().map(single).eq(answers), "m {m}, k {k}, {count} keys");
                }
            }
        }
    }
}
