//! The [AVX2](super::avx2) code of single calls as [assembly](crate::simd::asm).

use std::arch::asm;
use std::arch::x86_64::__m256i;

use super::{Block, SALT};
use crate::simd::asm::{Eights, assembly};

/// The multipliers of a block's lanes; a one in each.
const SPLIT: &Eights<2> = &Eights([SALT, [1; 8]]);

/// A block that threads share, as if each of its words had been loaded at some moment: aligned words are never read in parts.
///
/// # Safety
///
/// The block can be read.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn load(block: *const Block) -> __m256i {
    let words;
    // SAFETY: the machine has the instruction, which reads the block, as the caller allows.
    unsafe {
        asm!(
            "vmovdqu {words}, ymmword ptr [{block}]",
            block = in(reg) block,
            words = lateout(ymm_reg) words,
            options(readonly, nostack, preserves_flags),
        );
    }
    words
}

/// Whether a block has all bits of a key: shifted to the right by its bit's number, every lane has a one at the end.
///
/// # Safety
///
/// The machine has AVX2, and the block can be read.
#[inline(always)]
pub(super) unsafe fn test(block: *const Block, x: u32) -> bool {
    let found: u8;
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants and the block, and nothing else. If
    // threads share it, it is as if each of its words had been loaded at some moment: aligned words are never read in parts.
    unsafe {
        assembly!(
            [
                "vmovd xmm0, {x:e}",
                "vpbroadcastd ymm0, xmm0",
                "vpmulld ymm0, ymm0, ymmword ptr [{eights}]",
                "vpsrld ymm0, ymm0, 27",
                "vmovdqu ymm1, ymmword ptr [{block}]",
                "vpsrlvd ymm1, ymm1, ymm0",
                "vptest ymm1, ymmword ptr [{eights} + 32]",
                "setc {found}",
            ],
            x = in(reg) x,
            block = in(reg) block,
            eights = in(reg) SPLIT,
            found = lateout(reg_byte) found,
            options(pure, readonly, nostack),
        );
    }
    found != 0
}

/// Sets the bits that a key has in a block.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn put(block: &mut Block, x: u32) {
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants, read and write the block, and
    // nothing else.
    unsafe {
        assembly!(
            [
                "vmovd xmm0, {x:e}",
                "vpbroadcastd ymm0, xmm0",
                "vpmulld ymm0, ymm0, ymmword ptr [{eights}]",
                "vmovdqa ymm1, ymmword ptr [{eights} + 32]",
                "vpsrld ymm0, ymm0, 27",
                "vpsllvd ymm0, ymm1, ymm0",
                "vpor ymm0, ymm0, ymmword ptr [{block}]",
                "vmovdqu ymmword ptr [{block}], ymm0",
            ],
            x = in(reg) x,
            block = in(reg) block,
            eights = in(reg) SPLIT,
            options(nostack, preserves_flags),
        );
    }
}

/// The same with AVX-512 and the registers that only it has: nothing need be saved there, nor cleared at the end, since the halves that
/// code without AVX expects to be zero are those of the registers 0 to 15.
///
/// # Safety
///
/// The machine has AVX-512.
#[inline(always)]
pub(super) unsafe fn put_wide(block: &mut Block, x: u32) {
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants, read and write the block, and
    // nothing else.
    unsafe {
        asm!(
            "vpbroadcastd ymm16, {x:e}",
            "vpmulld ymm16, ymm16, ymmword ptr [{eights}]",
            "vmovdqa32 ymm17, ymmword ptr [{eights} + 32]",
            "vpsrld ymm16, ymm16, 27",
            "vpsllvd ymm16, ymm17, ymm16",
            "vpord ymm16, ymm16, ymmword ptr [{block}]",
            "vmovdqu32 ymmword ptr [{block}], ymm16",
            x = in(reg) x,
            block = in(reg) block,
            eights = in(reg) SPLIT,
            out("xmm16") _, out("xmm17") _,
            options(nostack, preserves_flags),
        );
    }
}
