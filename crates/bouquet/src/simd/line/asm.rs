//! The code of single calls as [assembly](crate::simd::asm).

use std::arch::asm;

use super::Line;
use super::avx512::SPARSE;
use crate::simd::asm::{Eights, assembly};

/// By how much a word is shifted for its fields, the early ones and the late; the place in 32 bits.
const LINE: &Eights<3> = &Eights([[0, 0, 9, 0, 18, 0, 27, 0], [36, 0, 45, 0, 54, 0, 0, 0], [31; 8]]);

/// Whether a line has the bits at those places of a word whose lanes have a one.
///
/// # Safety
///
/// The machine has AVX2, and the line can be read.
#[inline(always)]
pub(super) unsafe fn test(line: *const Line, ones: &[u32; 8], word: u64) -> bool {
    let found: u8;
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants, the ones and the line, once, and
    // nothing else. If threads share it, it is as if each of its words had been loaded at some moment: aligned words are never read in
    // parts.
    unsafe {
        assembly!(
            [
                "vmovq xmm0, {word}",
                "vpbroadcastq ymm0, xmm0",
                "vpsrlvq ymm1, ymm0, ymmword ptr [{eights}]",
                "vpsrlvq ymm0, ymm0, ymmword ptr [{eights} + 32]",
                "vshufps ymm0, ymm1, ymm0, 0x88",
                // Each lane's 32 bits: one of the low half or of the high half of the line, as bit 8 of the place says.
                "vpsrld ymm1, ymm0, 5",
                "vpslld ymm2, ymm0, 23",
                "vpermd ymm3, ymm1, ymmword ptr [{line}]",
                "vpermd ymm1, ymm1, ymmword ptr [{line} + 32]",
                "vpand ymm0, ymm0, ymmword ptr [{eights} + 64]",
                "vblendvps ymm1, ymm3, ymm1, ymm2",
                "vpsrlvd ymm1, ymm1, ymm0",
                "vptest ymm1, ymmword ptr [{ones}]",
                "setc {found}",
            ],
            word = in(reg) word,
            line = in(reg) line,
            ones = in(reg) ones,
            eights = in(reg) LINE,
            found = lateout(reg_byte) found,
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
///
/// Only registers are used that code without AVX-512 does not have: nothing need be saved there, nor cleared at the end, since the
/// halves that code without AVX expects to be zero are those of the registers 0 to 15. A caller with AVX-512 saves what is named.
#[inline(always)]
pub(super) unsafe fn put<const K: u32>(line: &mut Line, windows: u64) {
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
