//! AVX2: eight multiplications and eight shifts at a time, and a test that sets a flag.

use std::arch::x86_64::*;
use std::sync::atomic::AtomicU64;

use super::{Block, SALT, asm};
use crate::simd::{chosen, chosen_mut};

#[inline]
#[target_feature(enable = "avx2")]
fn mask(x: u32) -> __m256i {
    let [a, b, c, d, e, f, g, h] = SALT.map(|salt| salt as i32);
    let salt = _mm256_setr_epi32(a, b, c, d, e, f, g, h);
    let bit = _mm256_srli_epi32::<27>(_mm256_mullo_epi32(_mm256_set1_epi32(x as i32), salt));
    _mm256_sllv_epi32(_mm256_set1_epi32(1), bit)
}

/// Whether a block has all bits of a key.
#[inline]
#[target_feature(enable = "avx2")]
fn has(block: &Block, x: u32) -> bool {
    // SAFETY: the block is 32 readable bytes; unaligned loads take any address.
    let block = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
    _mm256_testc_si256(block, mask(x)) != 0
}

/// The same for a block that threads share.
#[inline]
#[target_feature(enable = "avx2")]
fn has_shared(block: &[AtomicU64; 4], x: u32) -> bool {
    // SAFETY: the block can be read, and the machine has AVX2.
    let block = unsafe { asm::load(std::ptr::from_ref(block).cast()) };
    _mm256_testc_si256(block, mask(x)) != 0
}

/// Sets the bits of a key and says whether one was new.
#[inline]
#[target_feature(enable = "avx2")]
fn join(block: &mut Block, x: u32) -> bool {
    let mask = mask(x);
    // SAFETY: the block is 32 readable and writable bytes; unaligned loads and stores take any address.
    unsafe {
        let at = block.as_mut_ptr().cast();
        let old = _mm256_loadu_si256(at);
        _mm256_storeu_si256(at, _mm256_or_si256(old, mask));
        _mm256_testc_si256(old, mask) == 0
    }
}

/// Whether a block has all bits of a key. Inlined into any code.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn test(block: &Block, x: u32) -> bool {
    // SAFETY: the caller vouches for AVX2, and the block is there.
    unsafe { if cfg!(target_feature = "avx2") { has(block, x) } else { asm::test(block, x) } }
}

/// The same for a block that threads share.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn test_shared(block: &[AtomicU64; 4], x: u32) -> bool {
    // SAFETY: the caller vouches for AVX2, and the block is there; an atomic word has the bytes of a plain one.
    unsafe {
        if cfg!(target_feature = "avx2") {
            has_shared(block, x)
        } else {
            asm::test(crate::simd::asm::anew(block).cast(), x)
        }
    }
}

/// Sets the bits of a key and says whether one was new. Inlined into any code.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn set(block: &mut Block, x: u32) -> bool {
    // SAFETY: the caller vouches for AVX2.
    unsafe {
        if cfg!(target_feature = "avx2") {
            return join(block, x);
        }
        // The test is left out if nobody asks whether a bit was new.
        let new = !asm::test(block, x);
        asm::put(block, x);
        new
    }
}

/// As [`Kernel::test_batch`](super::Kernel::test_batch).
#[target_feature(enable = "avx2")]
pub(super) fn test_batch(blocks: &[Block], chooser: u64, hashes: &[u64], answers: &mut [bool]) {
    for (h1, answer) in hashes.iter().zip(answers) {
        *answer = chosen(blocks, h1 & chooser).is_some_and(|block| has(block, *h1 as u32));
    }
}

/// The same for blocks that threads share.
#[target_feature(enable = "avx2")]
pub(super) fn test_shared_batch(blocks: &[[AtomicU64; 4]], chooser: u64, hashes: &[u64], answers: &mut [bool]) {
    for (h1, answer) in hashes.iter().zip(answers) {
        *answer = chosen(blocks, h1 & chooser).is_some_and(|block| has_shared(block, *h1 as u32));
    }
}

/// As [`Kernel::set_batch`](super::Kernel::set_batch).
#[target_feature(enable = "avx2")]
pub(super) fn set_batch(blocks: &mut [Block], chooser: u64, hashes: &[u64]) -> u64 {
    let mut fresh = 0;
    for h1 in hashes {
        fresh += u64::from(chosen_mut(blocks, h1 & chooser).is_some_and(|block| join(block, *h1 as u32)));
    }
    fresh
}
