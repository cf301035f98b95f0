//! AVX-512: a line is one register.

use std::arch::x86_64::*;

use super::{Line, MORE, PER_WORD, asm, avx2};
use crate::hash::{Digest, MIX, STREAM, fastrange};

/// As a cache line is.
#[repr(C, align(64))]
pub(super) struct Aligned<T>(pub(super) T);

/// Bit j is set in byte 64 j + 63, and no other: a window of 64 bytes has one bit, that with the number of the byte's place in it and of
/// the bit in the byte, wherever it begins. That is 575 bytes, where lines with one bit each would be 32 KiB, most of a cache.
pub(super) const SPARSE: &Aligned<[u8; 575]> = &{
    let (mut bytes, mut bit) = ([0; 575], 0);
    while bit < 8 {
        bytes[64 * bit + 63] = 1 << bit;
        bit += 1;
    }
    Aligned(bytes)
};

/// Digests whose other words are computed at a time, side by side.
const GROUP: usize = 32;

/// If fewer than one in this many need theirs, one after the other is faster.
const FEW: usize = 4;

/// A one for each of the first k places, at most [`PER_WORD`].
#[inline(always)]
fn first(k: u32) -> u8 {
    ((1 << k.min(PER_WORD)) - 1) as u8
}

/// Whether a line has the bits at the first k places, at most [`PER_WORD`], of a word.
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

/// Where the [windows](SPARSE) of a word's places begin, in its fields: at 64 times the bit in a byte, and 63 less the byte.
#[inline(always)]
fn windows(word: u64) -> u64 {
    /// A number in each field.
    const fn each(number: u64) -> u64 {
        let (mut fields, mut i) = (0, 0);
        while i < PER_WORD {
            fields |= number << (9 * i);
            i += 1;
        }
        fields
    }
    (word & const { each(7) }) << 6 | !word >> 3 & const { each(63) }
}

/// The bits at the first K places, at most [`PER_WORD`] of each word.
#[inline]
#[target_feature(enable = "avx512f")]
fn bits<const K: u32>(words: [u64; 2]) -> __m512i {
    let (words, mut bits) = (words.map(windows), _mm512_setzero_si512());
    for i in 0..K.min(2 * PER_WORD) {
        let window = words[(i / PER_WORD) as usize] >> (9 * (i % PER_WORD)) & 511;
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

/// Sets the bits at the first K places, 6 or 7, and says whether one was new. Inlined into any code.
///
/// # Safety
///
/// The machine has AVX-512.
#[inline(always)]
pub(super) unsafe fn set<const K: u32>(line: &mut Line, word: u64) -> bool {
    // SAFETY: the caller vouches for AVX-512, and so for AVX2.
    unsafe {
        if cfg!(target_feature = "avx512f") {
            return join(line, bits::<K>([word, 0]));
        }
        // The test is left out if nobody asks whether a bit was new.
        let new = !avx2::test(line, K, Digest { h1: 0, h2: word });
        asm::put::<K>(line, windows(word));
        new
    }
}

/// As [`Kernel::test_batch`](super::Kernel::test_batch).
#[target_feature(enable = "avx512dq,avx512vl")]
pub(super) fn test_batch(lines: &[Line], among: u64, k: u32, digests: &[Digest], answers: &mut [bool]) {
    let line = |digest: &Digest| lines.get(fastrange(digest.h1, among) as usize);
    for (digests, answers) in digests.chunks(GROUP).zip(answers.chunks_mut(GROUP)) {
        let mut found = 0;
        for (digest, answer) in digests.iter().zip(&mut *answers) {
            *answer = line(digest).is_some_and(|line| has(line, k, digest.h2));
            found += usize::from(*answer);
        }
        if k <= PER_WORD || found == 0 {
            continue;
        }
        let rest = |digest, word| line(digest).is_some_and(|line| has(line, k - PER_WORD, word));
        if found < digests.len() / FEW {
            for (digest, answer) in digests.iter().zip(answers).filter(|(_, answer)| **answer) {
                *answer = rest(digest, digest.derive(MORE).h1);
            }
        } else {
            for ((digest, word), answer) in digests.iter().zip(others(digests)).zip(answers) {
                *answer &= rest(digest, word);
            }
        }
    }
}

/// The first words of [`Digest::derive`] for up to [`GROUP`] digests. Eight at a time: one by one the multiplications would take
/// longer than all the rest.
#[inline]
#[target_feature(enable = "avx512dq,avx512vl")]
fn others(digests: &[Digest]) -> [u64; GROUP] {
    let mut words = [0; GROUP];
    for (words, digests) in words.as_chunks_mut::<8>().0.iter_mut().zip(digests.chunks(8)) {
        let mut eight = [Digest { h1: 0, h2: 0 }; 8];
        let eight = digests.try_into().unwrap_or_else(|_| {
            eight.iter_mut().zip(digests).for_each(|(to, digest)| *to = *digest);
            &eight
        });
        *words = derive(eight);
    }
    words
}

/// [`Digest::derive`] for eight, of which the first words are wanted.
#[inline]
#[target_feature(enable = "avx512dq,avx512vl")]
fn derive(digests: &[Digest; 8]) -> [u64; 8] {
    let at = digests.as_ptr().cast::<__m512i>();
    // SAFETY: eight digests are 128 readable bytes, the first word of each before the second; unaligned loads take any address.
    let (low, high) = unsafe { (_mm512_loadu_si512(at), _mm512_loadu_si512(at.add(1))) };
    let h1 = _mm512_permutex2var_epi64(low, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), high);
    let h2 = _mm512_permutex2var_epi64(low, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), high);
    let h1 = mix(_mm512_xor_si512(h1, _mm512_set1_epi64(MORE.wrapping_mul(STREAM) as i64)));
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

/// As [`Kernel::set`](super::Kernel::set).
#[target_feature(enable = "avx512f")]
pub(super) fn set_any(line: &mut Line, k: u32, digest: Digest) -> bool {
    unrolled!(k, set_one, line, digest)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn set_one<const K: u32>(line: &mut Line, digest: Digest) -> bool {
    join(line, bits::<K>([digest.h2, if K > PER_WORD { digest.derive(MORE).h1 } else { 0 }]))
}

/// As [`Kernel::set_batch`](super::Kernel::set_batch).
#[target_feature(enable = "avx512dq,avx512vl")]
pub(super) fn set_batch(lines: &mut [Line], among: u64, k: u32, digests: &[Digest]) -> u64 {
    unrolled!(k, set_each, lines, among, digests)
}

#[target_feature(enable = "avx512dq,avx512vl")]
fn set_each<const K: u32>(lines: &mut [Line], among: u64, digests: &[Digest]) -> u64 {
    let mut fresh = 0;
    for digests in digests.chunks(GROUP) {
        let words = if K > PER_WORD { others(digests) } else { [0; GROUP] };
        for (digest, word) in digests.iter().zip(words) {
            if let Some(line) = lines.get_mut(fastrange(digest.h1, among) as usize) {
                fresh += u64::from(join(line, bits::<K>([digest.h2, word])));
            }
        }
    }
    fresh
}
