//! The AVX-512 code of single calls as assembly, for builds that run on machines without it, as the AVX2 code is in `embedded`.
//!
//! Each function equals one of [`line`](super::line) or [`split_block`](super::split_block) that is written with intrinsics, which says
//! what it computes and why. Only registers are used that code without AVX-512 does not have. So nothing need be saved there, and
//! nothing cleared at the end: the halves that code without AVX expects to be zero are those of the registers 0 to 15. (A result in one
//! of these, though of 128 bits, would have to be cleared: else each later instruction without AVX may cost 150 ns.) Where such a
//! function is inlined into code with AVX-512, a caller's function for machines that have it, the compiler saves what lies in those
//! that are named.

use std::arch::asm;

#[cfg(not(target_feature = "avx2"))]
use super::embedded::SPLIT;
use super::line::{Aligned, Line, SPARSE};
#[cfg(not(target_feature = "avx2"))]
use super::split_block::Block;

/// By how much a word is shifted for the numbers of its places' words, and for the places in these; ones.
const FIELDS: &Aligned<[[u64; 8]; 3]> =
    &Aligned([[6, 15, 24, 33, 42, 51, 60, 63], [0, 9, 18, 27, 36, 45, 54, 63], [1; 8]]);

/// Whether a line has the bits at those places of a word whose number is a one in `first`.
///
/// # Safety
///
/// The machine has AVX-512, and the line can be read.
#[inline(always)]
pub(super) unsafe fn line_test(line: *const Line, first: u8, word: u64) -> bool {
    let found: u8;
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants and the line, once, and nothing else. If
    // threads share it, it is as if each of its words had been loaded at some moment: aligned words are never read in parts.
    unsafe {
        asm!(
            "vpbroadcastq zmm16, {word}",
            "kmovw k1, {first:e}",
            "vpsrlvq zmm17, zmm16, zmmword ptr [{fields}]",
            "vpsrlvq zmm16, zmm16, zmmword ptr [{fields} + 64]",
            "vmovdqa64 zmm18, zmmword ptr [{fields} + 128]",
            "vpermq zmm17, zmm17, zmmword ptr [{line}]",
            "vprolvq zmm16, zmm18, zmm16",
            "vptestnmq k1 {{k1}}, zmm17, zmm16",
            "kortestw k1, k1",
            "setz {found}",
            word = in(reg) word,
            first = in(reg) u32::from(first),
            line = in(reg) line,
            fields = in(reg) FIELDS,
            found = lateout(reg_byte) found,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("k1") _,
            options(pure, readonly, nostack),
        );
    }
    found != 0
}

/// Sets the bits of a line at the first K places, at least one, of which `windows` has the windows.
///
/// # Safety
///
/// The machine has AVX-512.
#[inline(always)]
#[cfg_attr(target_feature = "avx512f", allow(dead_code))]
pub(super) unsafe fn line_set<const K: u32>(line: &mut Line, windows: u64) {
    macro_rules! set {
        ($($others:expr),*) => {
            asm!(
                "mov {window:e}, {windows:e}",
                "and {window:e}, 511",
                "vmovdqu64 zmm16, zmmword ptr [{sparse} + {window}]",
                $($others,)*
                "vporq zmm16, zmm16, zmmword ptr [{line}]",
                "vmovdqu64 zmmword ptr [{line}], zmm16",
                line = in(reg) line,
                windows = inout(reg) windows => _,
                window = out(reg) _,
                sparse = in(reg) SPARSE,
                out("zmm16") _,
                options(nostack),
            )
        };
    }
    macro_rules! next {
        () => {
            concat!(
                "shr {windows}, 9\n",
                "mov {window:e}, {windows:e}\n",
                "and {window:e}, 511\n",
                "vporq zmm16, zmm16, zmmword ptr [{sparse} + {window}]\n",
            )
        };
    }
    const { assert!(K == 6 || K == 7) };
    // SAFETY: the machine has the instructions, as the caller promises; they read 64 bytes at numbers up to 511 of the constant, which
    // has 575, read and write the line, and nothing else.
    unsafe {
        match K {
            6 => set!(next!(), next!(), next!(), next!(), next!()),
            _ => set!(next!(), next!(), next!(), next!(), next!(), next!()),
        }
    }
}

/// Sets the bits that a key has in a block.
///
/// # Safety
///
/// The machine has AVX-512.
#[cfg(not(target_feature = "avx2"))]
#[inline(always)]
pub(super) unsafe fn split_set(block: &mut Block, x: u32) {
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants, read and write the block, and nothing
    // else.
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

/// Whether a block has all bits of a key, as [`embedded::split_test`](super::embedded::split_test) says.
///
/// # Safety
///
/// The machine has AVX-512, and the block can be read.
#[cfg(not(target_feature = "avx2"))]
#[inline(always)]
pub(super) unsafe fn split_test(block: *const Block, x: u32) -> bool {
    let found: u8;
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants and the block, and nothing else. If
    // threads share it, it is as if each of its words had been loaded at some moment: aligned words are never read in parts.
    unsafe {
        asm!(
            "vpbroadcastd ymm16, {x:e}",
            "vpmulld ymm16, ymm16, ymmword ptr [{eights}]",
            "vmovdqu32 ymm17, ymmword ptr [{block}]",
            "vpsrld ymm16, ymm16, 27",
            "vpsrlvd ymm17, ymm17, ymm16",
            "vptestnmd k1, ymm17, ymmword ptr [{eights} + 32]",
            "kortestw k1, k1",
            "setz {found}",
            x = in(reg) x,
            block = in(reg) block,
            eights = in(reg) SPLIT,
            found = lateout(reg_byte) found,
            out("xmm16") _, out("xmm17") _, out("k1") _,
            options(pure, readonly, nostack),
        );
    }
    found != 0
}

#[cfg(test)]
mod tests {
    use std::arch::x86_64::{__m512i, __mmask8};
    use std::mem::transmute;

    use super::super::Avx512;
    use super::*;

    const VALUES: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
    const MASK: u8 = 0b1010_0101;

    /// What a caller has afterwards of what it had in the registers that are used here.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn kept(each: impl FnOnce()) -> ([[u64; 8]; 3], u8) {
        // SAFETY: a register has 64 bytes, for which every pattern is valid.
        let mut values = unsafe { transmute::<[[u64; 8]; 3], [__m512i; 3]>([VALUES; 3]) };
        let mut mask: __mmask8 = MASK;
        macro_rules! hold {
            () => {
                // SAFETY: there is no instruction; the compiler has the values in these registers, and may leave them there.
                unsafe {
                    asm!(
                        "",
                        inout("zmm16") values[0],
                        inout("zmm17") values[1],
                        inout("zmm18") values[2],
                        inout("k1") mask,
                        options(nostack, preserves_flags),
                    );
                }
            };
        }
        hold!();
        each();
        hold!();
        // SAFETY: as above.
        (unsafe { transmute::<[__m512i; 3], [[u64; 8]; 3]>(values) }, mask)
    }

    #[test]
    fn a_caller_with_avx_512_keeps_its_registers() {
        if Avx512::detected().is_none() {
            return;
        }
        let (mut line, mut found, same) = ([0; 8], [true, false], ([VALUES; 3], MASK));
        // SAFETY: the machine has AVX-512.
        unsafe {
            assert_eq!(
                kept(
                    #[inline(always)]
                    || found[0] = line_test(&line, 0b11_1111, 5)
                ),
                same
            );
            assert_eq!(
                kept(
                    #[inline(always)]
                    || line_set::<6>(&mut line, 64 * 3 + 62)
                ),
                same
            );
            assert_eq!(
                kept(
                    #[inline(always)]
                    || line_set::<7>(&mut line, 511)
                ),
                same
            );
            assert_eq!(
                kept(
                    #[inline(always)]
                    || found[1] = line_test(&line, 1, 8 + 3)
                ),
                same
            );
        }
        assert_eq!(found, [false, true]);
    }

    #[cfg(not(target_feature = "avx2"))]
    #[test]
    fn a_caller_with_avx_512_keeps_its_registers_when_blocks_are_asked() {
        if Avx512::detected().is_none() {
            return;
        }
        let (mut block, mut found, same) = ([0; 4], [false, true], ([VALUES; 3], MASK));
        // SAFETY: the machine has AVX-512.
        unsafe {
            assert_eq!(
                kept(
                    #[inline(always)]
                    || split_set(&mut block, 7)
                ),
                same
            );
            assert_eq!(
                kept(
                    #[inline(always)]
                    || found = [split_test(&block, 7), split_test(&block, 8)]
                ),
                same
            );
        }
        assert_eq!((block, found), (super::super::split_block::scalar::mask(7), [true, false]));
    }
}
