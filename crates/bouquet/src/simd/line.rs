//! Up to 14 bits in one cache line, at places that are fields of nine bits of one word, or seven of each of two: the layout of
//! `blocked`, with vector instructions. What the code must equal is written for one place after the other in
//! [`block_layout`](crate::membership::Blocks).
//!
//! To test, with AVX2 the eight lanes of a register have one place each. Two permutations bring the 32 bits of every place from the two
//! halves of the line to its lane, and one comparison tells whether all bits are there. With AVX-512 a line is one register, and a
//! permutation brings the 64 bits.
//!
//! To set them one after the other is slow, since places are often in the same word, which must then be written before it is read. With
//! AVX-512 the line with one bit is read from a table for each place, as a [window](SPARSE), and they are joined. With 32
//! bytes at a time that gains little, with 16 nothing.

use std::sync::atomic::AtomicU64;

use super::{Avx2, Avx512, INLINED};
use crate::hash::{Digest, fastrange};

/// A cache line.
pub(crate) type Line = [u64; 8];

/// The most places that a word of hash has.
pub(crate) const MOST: u32 = 7;

/// The vector code that a machine has: chosen once, when a filter is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Avx2(Avx2),
    Avx512(Avx512),
}

impl Code {
    /// The best that the machine has.
    pub(crate) fn detected() -> Option<Self> {
        Avx512::detected().map(Code::Avx512).or_else(|| Avx2::detected().map(Code::Avx2))
    }

    /// Whether the build's own target features allow the code, so that all of it is inlined for so many places.
    #[inline(always)]
    pub(crate) fn is_inlined(self, k: u32) -> bool {
        match self {
            Code::Avx2(_) => INLINED && k <= MOST,
            Code::Avx512(_) => cfg!(target_feature = "avx512f") && k <= MOST,
        }
    }

    /// All that the machine has.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Avx2::detected().map(Code::Avx2).into_iter().chain(Avx512::detected().map(Code::Avx512))
    }
}

/// Whether the line of a digest, one of the first `among`, has the bits at the first k places, of which [`MOST`] follow from the digest
/// and at most as many from the first word that is derived of it as that stream; false beyond the end. Always inlined, but for the other
/// word.
#[inline(always)]
pub(crate) fn test(code: Code, lines: &[Line], among: u64, k: u32, digest: Digest, stream: u64) -> bool {
    let Some(line) = lines.get(fastrange(digest.h1, among) as usize) else { return false };
    match code {
        Code::Avx2(avx2) => vouched!(avx2, vector::test(line, k, digest, stream)),
        Code::Avx512(avx512) => vouched!(avx512: Avx512, wide::test(line, k, digest, stream)),
    }
}

/// As [`test`] for words that threads share, by assembly: compilers may read what is not atomic as often as they like.
#[inline(always)]
pub(crate) fn test_shared(
    code: Code,
    lines: &[[AtomicU64; 8]],
    among: u64,
    k: u32,
    digest: Digest,
    stream: u64,
) -> bool {
    let Some(line) = lines.get(fastrange(digest.h1, among) as usize) else { return false };
    #[cfg(target_arch = "x86_64")]
    {
        let has = |k, word| {
            let line = super::embedded::anew(line).cast();
            match code {
                Code::Avx2(avx2) => vouched!(avx2, vector::has_shared(line, k, word)),
                Code::Avx512(avx512) => vouched!(avx512: Avx512, wide::has_shared(line, k, word)),
            }
        };
        has(k, digest.h2) && (k <= MOST || has(k - MOST, digest.derive(stream).h1))
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (line, k, stream);
        match code {
            Code::Avx2(avx2) => match avx2 {},
            Code::Avx512(avx512) => match avx512 {},
        }
    }
}

/// [`test`] for as many digests as there are answers.
pub(crate) fn test_batch(
    code: Code,
    lines: &[Line],
    among: u64,
    k: u32,
    digests: &[Digest],
    stream: u64,
    answers: &mut [bool],
) {
    match code {
        Code::Avx2(avx2) => vouched!(avx2, vector::test_batch(lines, among, k, digests, stream, answers)),
        Code::Avx512(avx512) => {
            vouched!(avx512: Avx512, wide::test_batch(lines, among, k, digests, stream, answers));
        }
    }
}

/// Sets the bits at the first K places, 6 or 7, and says whether one was new; to ask for it costs a [`test`]. Always inlined.
#[inline(always)]
pub(crate) fn set<const K: u32>(avx512: Avx512, line: &mut Line, word: u64) -> bool {
    vouched!(avx512: Avx512, wide::set_inlined::<K>(line, word))
}

/// The same with the first k places that [`test`] has. Never inlined.
pub(crate) fn set_any(avx512: Avx512, line: &mut Line, k: u32, digest: Digest, stream: u64) -> bool {
    vouched!(avx512: Avx512, wide::set_any(line, k, digest, stream))
}

/// Sets the bits at the first k places, as [`test`] has them, of as many digests as there are, and says how many had a new one.
pub(crate) fn set_batch(
    avx512: Avx512,
    lines: &mut [Line],
    among: u64,
    k: u32,
    digests: &[Digest],
    stream: u64,
) -> u64 {
    vouched!(avx512: Avx512, wide::set_batch(lines, among, k, digests, stream))
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

    /// As [`has`] for a line that can be read and whose words threads share.
    #[inline(always)]
    pub(super) unsafe fn has_shared(line: *const Line, k: u32, word: u64) -> bool {
        // SAFETY: the caller vouches for AVX2 and the line.
        unsafe { crate::simd::embedded::line_test(line, ones(k), word) }
    }

    #[cfg(target_feature = "avx2")]
    use has as has_inlined;

    /// As [`has`], which this build does not inline.
    #[cfg(not(target_feature = "avx2"))]
    #[inline(always)]
    unsafe fn has_inlined(line: &Line, k: u32, word: u64) -> bool {
        // SAFETY: the caller vouches for AVX2, and the line is there.
        unsafe { has_shared(line, k, word) }
    }

    /// As [`super::test`] in the digest's line.
    ///
    /// # Safety
    ///
    /// The machine has AVX2.
    #[inline(always)]
    pub(super) unsafe fn test(line: &Line, k: u32, digest: Digest, stream: u64) -> bool {
        // SAFETY: the caller vouches for AVX2.
        unsafe { has_inlined(line, k, digest.h2) && (k <= MOST || has_more(line, k, digest, stream)) }
    }

    /// Whether a line has the bits at the places beyond [`MOST`].
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    fn has_more(line: &Line, k: u32, digest: Digest, stream: u64) -> bool {
        has(line, k - MOST, digest.derive(stream).h1)
    }

    /// As [`super::test_batch`].
    #[target_feature(enable = "avx2")]
    pub(super) fn test_batch(
        lines: &[Line],
        among: u64,
        k: u32,
        digests: &[Digest],
        stream: u64,
        answers: &mut [bool],
    ) {
        for (digest, answer) in digests.iter().zip(answers) {
            let line = lines.get(fastrange(digest.h1, among) as usize);
            *answer = line.is_some_and(|line| {
                has(line, k, digest.h2) && (k <= MOST || has(line, k - MOST, digest.derive(stream).h1))
            });
        }
    }
}

/// As a cache line is.
#[cfg(target_arch = "x86_64")]
#[repr(C, align(64))]
pub(super) struct Aligned<T>(pub(super) T);

/// Bit j is set in byte 64 j + 63, and no other: a window of 64 bytes has one bit, that with the number of the byte's place in it and of
/// the bit in the byte, wherever it begins. That is 575 bytes, where lines with one bit each would be 32 KiB, most of a cache.
#[cfg(target_arch = "x86_64")]
pub(super) const SPARSE: &Aligned<[u8; 575]> = &{
    let (mut bytes, mut bit) = ([0; 575], 0);
    while bit < 8 {
        bytes[64 * bit + 63] = 1 << bit;
        bit += 1;
    }
    Aligned(bytes)
};

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::{Line, MOST, SPARSE};
    use crate::hash::{Digest, MIX, STREAM, fastrange};

    /// Digests whose other words are computed at a time, side by side.
    const GROUP: usize = 32;

    /// If fewer than one in so many need theirs, one after the other is faster.
    const FEW: usize = 4;

    /// A one for each of the first k places, at most [`MOST`].
    #[inline(always)]
    fn first(k: u32) -> u8 {
        ((1 << k.min(MOST)) - 1) as u8
    }

    /// Whether a line has the bits at the first k places, at most [`MOST`], of a word.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn has(line: &Line, k: u32, word: u64) -> bool {
        let word = _mm512_set1_epi64(word as i64);
        // A permutation looks at three bits of a number, a rotation at six.
        let numbers = _mm512_srlv_epi64(word, _mm512_setr_epi64(6, 15, 24, 33, 42, 51, 60, 63));
        let places = _mm512_srlv_epi64(word, _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 63));
        // SAFETY: the line is 64 readable bytes; unaligned loads take any address.
        let words = _mm512_permutexvar_epi64(numbers, unsafe { _mm512_loadu_si512(line.as_ptr().cast()) });
        let bits = _mm512_rolv_epi64(_mm512_set1_epi64(1), places);
        _mm512_mask_testn_epi64_mask(first(k), words, bits) == 0
    }

    /// As [`has`] for a line that can be read and whose words threads share.
    #[inline(always)]
    pub(super) unsafe fn has_shared(line: *const Line, k: u32, word: u64) -> bool {
        // SAFETY: the caller vouches for AVX-512 and the line.
        unsafe { crate::simd::embedded_512::line_test(line, first(k), word) }
    }

    /// Where the [windows](SPARSE) of a word's places begin, in its fields: at 64 times the bit in a byte, and 63 less the byte.
    #[inline(always)]
    fn windows(word: u64) -> u64 {
        /// A number in each field.
        const fn each(number: u64) -> u64 {
            let (mut fields, mut i) = (0, 0);
            while i < MOST {
                fields |= number << (9 * i);
                i += 1;
            }
            fields
        }
        (word & const { each(7) }) << 6 | !word >> 3 & const { each(63) }
    }

    /// The bits at the first K places, at most [`MOST`] of each word.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn bits<const K: u32>(words: [u64; 2]) -> __m512i {
        let (words, mut bits) = (words.map(windows), _mm512_setzero_si512());
        for i in 0..K.min(2 * MOST) {
            let window = words[(i / MOST) as usize] >> (9 * (i % MOST)) & 511;
            // SAFETY: the 64 bytes from number 511 on, or less, are among the 575; unaligned loads take any address.
            let one = unsafe { _mm512_loadu_si512(SPARSE.0.as_ptr().add(window as usize).cast()) };
            bits = _mm512_or_si512(bits, one);
        }
        bits
    }

    /// Sets bits and says whether one was new.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn join(line: &mut Line, bits: __m512i) -> bool {
        let at = line.as_mut_ptr().cast();
        // SAFETY: the line is 64 readable and writable bytes; unaligned loads and stores take any address.
        unsafe {
            let old = _mm512_loadu_si512(at);
            let new = _mm512_or_si512(old, bits);
            _mm512_storeu_si512(at, new);
            _mm512_cmpneq_epi64_mask(old, new) != 0
        }
    }

    #[cfg(target_feature = "avx512f")]
    mod inlined {
        pub(super) use super::has;
        use super::{Line, bits, join};

        #[inline]
        #[target_feature(enable = "avx512f")]
        pub(super) fn set<const K: u32>(line: &mut Line, word: u64) -> bool {
            join(line, bits::<K>([word, 0]))
        }
    }

    /// What this build does not inline.
    #[cfg(not(target_feature = "avx512f"))]
    mod inlined {
        pub(super) use super::has_shared as has;
        use super::{Line, windows};
        use crate::simd::embedded_512::line_set;

        /// Sets the bits at the first K places. Whether one is new is a question of its own, which the compiler leaves out if nobody
        /// asks.
        #[inline(always)]
        pub(super) unsafe fn set<const K: u32>(line: &mut Line, word: u64) -> bool {
            // SAFETY: the caller vouches for AVX-512.
            unsafe {
                let new = !has(line, K, word);
                line_set::<K>(line, windows(word));
                new
            }
        }
    }

    /// As [`super::test`] in the digest's line.
    ///
    /// # Safety
    ///
    /// The machine has AVX-512.
    #[inline(always)]
    pub(super) unsafe fn test(line: &Line, k: u32, digest: Digest, stream: u64) -> bool {
        // SAFETY: the caller vouches for AVX-512.
        unsafe { inlined::has(line, k, digest.h2) && (k <= MOST || has_more(line, k, digest, stream)) }
    }

    /// Whether a line has the bits at the places beyond [`MOST`].
    #[inline(never)]
    #[target_feature(enable = "avx512f")]
    fn has_more(line: &Line, k: u32, digest: Digest, stream: u64) -> bool {
        has(line, k - MOST, digest.derive(stream).h1)
    }

    /// As [`super::test_batch`].
    #[target_feature(enable = "avx512dq,avx512vl")]
    pub(super) fn test_batch(
        lines: &[Line],
        among: u64,
        k: u32,
        digests: &[Digest],
        stream: u64,
        answers: &mut [bool],
    ) {
        let line = |digest: &Digest| lines.get(fastrange(digest.h1, among) as usize);
        for (digests, answers) in digests.chunks(GROUP).zip(answers.chunks_mut(GROUP)) {
            let mut found = 0;
            for (digest, answer) in digests.iter().zip(&mut *answers) {
                *answer = line(digest).is_some_and(|line| has(line, k, digest.h2));
                found += usize::from(*answer);
            }
            if k <= MOST || found == 0 {
                continue;
            }
            let rest = |digest, word| line(digest).is_some_and(|line| has(line, k - MOST, word));
            if found < digests.len() / FEW {
                for (digest, answer) in digests.iter().zip(answers).filter(|(_, answer)| **answer) {
                    *answer = rest(digest, digest.derive(stream).h1);
                }
            } else {
                for ((digest, word), answer) in digests.iter().zip(others(digests, stream)).zip(answers) {
                    *answer &= rest(digest, word);
                }
            }
        }
    }

    /// The first words of [`Digest::derive`] for up to [`GROUP`] digests. Eight at a time: one by one the multiplications would take
    /// longer than all the rest.
    #[inline]
    #[target_feature(enable = "avx512dq,avx512vl")]
    fn others(digests: &[Digest], stream: u64) -> [u64; GROUP] {
        let mut words = [0; GROUP];
        for (words, digests) in words.as_chunks_mut::<8>().0.iter_mut().zip(digests.chunks(8)) {
            let mut eight = [Digest { h1: 0, h2: 0 }; 8];
            let eight = digests.try_into().unwrap_or_else(|_| {
                eight.iter_mut().zip(digests).for_each(|(to, digest)| *to = *digest);
                &eight
            });
            *words = derive(eight, stream);
        }
        words
    }

    /// [`Digest::derive`] for eight, of which the first words are wanted.
    #[inline]
    #[target_feature(enable = "avx512dq,avx512vl")]
    fn derive(digests: &[Digest; 8], stream: u64) -> [u64; 8] {
        let at = digests.as_ptr().cast::<__m512i>();
        // SAFETY: eight digests are 128 readable bytes, the first word of each before the second; unaligned loads take any address.
        let (low, high) = unsafe { (_mm512_loadu_si512(at), _mm512_loadu_si512(at.add(1))) };
        let h1 = _mm512_permutex2var_epi64(low, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), high);
        let h2 = _mm512_permutex2var_epi64(low, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), high);
        let h1 = mix(_mm512_xor_si512(h1, _mm512_set1_epi64(stream.wrapping_mul(STREAM) as i64)));
        let h2 = mix(_mm512_add_epi64(h2, h1));
        let mut words = [0; 8];
        // SAFETY: the words are 64 writable bytes; unaligned stores take any address.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), mix(_mm512_xor_si512(h1, h2))) };
        words
    }

    /// [`mix`](crate::hash::mix) for eight words.
    #[inline]
    #[target_feature(enable = "avx512dq,avx512vl")]
    fn mix(x: __m512i) -> __m512i {
        let [first, second] = MIX.map(|factor| _mm512_set1_epi64(factor as i64));
        let x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64::<30>(x)), first);
        let x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64::<27>(x)), second);
        _mm512_xor_si512(x, _mm512_srli_epi64::<31>(x))
    }

    /// As [`super::set`].
    ///
    /// # Safety
    ///
    /// The machine has AVX-512.
    #[inline(always)]
    pub(super) unsafe fn set_inlined<const K: u32>(line: &mut Line, word: u64) -> bool {
        // SAFETY: the caller vouches for AVX-512.
        unsafe { inlined::set::<K>(line, word) }
    }

    /// As [`super::set_any`].
    #[target_feature(enable = "avx512f")]
    pub(super) fn set_any(line: &mut Line, k: u32, digest: Digest, stream: u64) -> bool {
        unrolled!(k, set_one, line, digest, stream)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn set_one<const K: u32>(line: &mut Line, digest: Digest, stream: u64) -> bool {
        join(line, bits::<K>([digest.h2, if K > MOST { digest.derive(stream).h1 } else { 0 }]))
    }

    /// As [`super::set_batch`].
    #[target_feature(enable = "avx512dq,avx512vl")]
    pub(super) fn set_batch(lines: &mut [Line], among: u64, k: u32, digests: &[Digest], stream: u64) -> u64 {
        unrolled!(k, set_each, lines, among, digests, stream)
    }

    #[target_feature(enable = "avx512dq,avx512vl")]
    fn set_each<const K: u32>(lines: &mut [Line], among: u64, digests: &[Digest], stream: u64) -> u64 {
        let mut fresh = 0;
        for digests in digests.chunks(GROUP) {
            let words = if K > MOST { others(digests, stream) } else { [0; GROUP] };
            for (digest, word) in digests.iter().zip(words) {
                if let Some(line) = lines.get_mut(fastrange(digest.h1, among) as usize) {
                    fresh += u64::from(join(line, bits::<K>([digest.h2, word])));
                }
            }
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    /// What the others must equal: one place after the other.
    fn bits_at(k: u32, digest: Digest) -> Line {
        let (words, mut line) = ([digest.h2, digest.derive(STREAM).h1], [0; 8]);
        for field in (0..k).map(|i| words[(i / MOST) as usize] >> (9 * (i % MOST)) & 511) {
            line[(field / 64) as usize] |= 1 << (field % 64);
        }
        line
    }

    /// Any.
    const STREAM: u64 = 3;

    fn digest(random: &mut SplitMix) -> Digest {
        Digest { h1: random.next_u64(), h2: random.next_u64() }
    }

    fn has(line: Line, bits: Line) -> bool {
        line.iter().zip(bits).all(|(word, bits)| word & bits == bits)
    }

    fn join(line: &mut Line, bits: Line) {
        line.iter_mut().zip(bits).for_each(|(word, bits)| *word |= bits);
    }

    #[test]
    fn bits_are_found_at_one_place_after_the_other() {
        for code in Code::all() {
            let mut random = SplitMix::new(5);
            for k in 0..=2 * MOST {
                let mut lines = [[0; 8]; 3];
                let (mut present, mut absent) = (0, 0);
                for _ in 0..2_000 {
                    let digest = digest(&mut random);
                    let (at, bits) = (fastrange(digest.h1, 3) as usize, bits_at(k, digest));
                    let expected = has(lines[at], bits);
                    assert_eq!(test(code, &lines, 3, k, digest, STREAM), expected, "{code:?}, k {k}");
                    *(if expected { &mut present } else { &mut absent }) += 1;
                    if random.below(4) == 0 {
                        join(&mut lines[at], bits);
                    }
                }
                assert!(present > 5 && (absent > 5 || k == 0), "{code:?}, k {k}: {present} present, {absent} absent");
            }
        }
    }

    /// Few present ones, which are looked at one by one, many, and numbers that are no multiples of anything.
    #[test]
    fn batches_answer_as_one_after_the_other() {
        for code in Code::all() {
            let mut random = SplitMix::new(6);
            for k in 0..=2 * MOST {
                for (len, share) in [(0, 2), (1, 1), (7, 2), (8, 1), (31, 2), (32, 1), (32, 2), (32, 16), (75, 3)] {
                    let digests: Vec<_> = (0..len).map(|_| digest(&mut random)).collect();
                    let mut lines = [[0; 8]; 40];
                    for (digest, i) in digests.iter().zip(0..) {
                        // Some have the first places only.
                        let places = if i % 5 == 4 { k.min(MOST) } else { k };
                        if i % share == 0 {
                            join(&mut lines[fastrange(digest.h1, 40) as usize], bits_at(places, *digest));
                        }
                    }
                    let line = |digest: &Digest| lines[fastrange(digest.h1, 40) as usize];
                    let expected: Vec<_> =
                        digests.iter().map(|digest| has(line(digest), bits_at(k, *digest))).collect();
                    let mut answers: Vec<_> = expected.iter().map(|answer| !answer).collect();
                    test_batch(code, &lines, 40, k, &digests, STREAM, &mut answers);
                    assert_eq!(answers, expected, "{code:?}, k {k}, {len} digests");
                }
            }
        }
    }

    #[test]
    fn bits_are_set_at_one_place_after_the_other() {
        let Some(avx512) = Avx512::detected() else { return };
        let mut random = SplitMix::new(7);
        for k in 0..=2 * MOST {
            let (mut expected, mut fresh) = ([[0; 8]; 3], Vec::new());
            let [mut lines, mut inlined] = [expected; 2];
            // A third of them twice.
            let mut digests: Vec<_> = (0..75).map(|_| digest(&mut random)).collect();
            digests.extend_from_within(..25);
            for digest in &digests {
                let (at, bits) = (fastrange(digest.h1, 3) as usize, bits_at(k, *digest));
                fresh.push(!has(expected[at], bits));
                join(&mut expected[at], bits);
                assert_eq!(Some(&set_any(avx512, &mut lines[at], k, *digest, STREAM)), fresh.last(), "k {k}");
                let new = match k {
                    6 => set::<6>(avx512, &mut inlined[at], digest.h2),
                    7 => set::<7>(avx512, &mut inlined[at], digest.h2),
                    _ => set_any(avx512, &mut inlined[at], k, *digest, STREAM),
                };
                assert_eq!(Some(&new), fresh.last(), "k {k}");
                assert_eq!((lines, inlined), (expected, expected), "k {k}");
            }
            lines = [[0; 8]; 3];
            let count = fresh.iter().filter(|fresh| **fresh).count() as u64;
            assert!(count <= 75 && (k == 0 || count > 5), "k {k}: {count}");
            assert_eq!(set_batch(avx512, &mut lines, 3, k, &digests, STREAM), count, "k {k}");
            assert_eq!(lines, expected, "k {k}");
        }
    }

    #[test]
    fn every_place_has_its_bit() {
        let Some(avx512) = Avx512::detected() else { return };
        for place in 0..512 {
            let (digest, mut line) = (Digest { h1: 0, h2: place }, [0; 8]);
            set_any(avx512, &mut line, 1, digest, STREAM);
            assert_eq!(line, bits_at(1, digest), "place {place}");
            for code in Code::all() {
                assert!(test(code, &[line], 1, 1, digest, STREAM), "{code:?}, place {place}");
                assert!(!test(code, &[line.map(|word| !word)], 1, 1, digest, STREAM), "{code:?}, place {place}");
            }
        }
    }

    #[test]
    fn beyond_the_end_there_is_nothing() {
        let (digest, mut lines) = (Digest { h1: u64::MAX, h2: 0 }, [[u64::MAX; 8]; 3]);
        for code in Code::all() {
            for k in [6, 9] {
                let mut answer = [true];
                assert!(!test(code, &lines, 4, k, digest, STREAM) && test(code, &lines, 3, k, digest, STREAM));
                test_batch(code, &lines, 4, k, &[digest], STREAM, &mut answer);
                assert_eq!(answer, [false]);
            }
        }
        if let Some(avx512) = Avx512::detected() {
            assert_eq!(set_batch(avx512, &mut lines, 4, 6, &[digest], STREAM), 0);
        }
    }
}
