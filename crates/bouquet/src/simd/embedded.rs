//! The AVX2 code of single calls as assembly, for builds that run on every x86-64: the compiler inlines no code that only some
//! machines have into code for all, and to call it costs as much as what it does.
//!
//! Each function equals one of a neighbour that is written with intrinsics, which says what it computes and why: [`split_block`],
//! [`lanes`] and [`line`]. All leave the upper halves of the vector registers zero, as code without AVX expects them.
//!
//! [`split_block`]: super::split_block
//! [`lanes`]: super::lanes
//! [`line`]: super::line

use std::arch::asm;
use std::arch::x86_64::{__m128i, _mm_cvtsi64_si128};

use super::lanes::{CURVES, USUAL};
use super::line::Line;
use super::split_block::{Block, SALT};
use crate::hash::{Digest, Ring};

/// What the code below reads, eight numbers for eight lanes each.
#[repr(C, align(32))]
struct Eights<const N: usize>([[u32; 8]; N]);

/// The multipliers of a block's lanes; a one in each.
const SPLIT: &Eights<2> = &Eights([SALT, [1; 8]]);

/// The bits that a key has in a block, those of the first four lanes and those of the others. To set them is left to the compiler,
/// so that it leaves out what nobody asks for.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn split_mask(x: u32) -> (__m128i, __m128i) {
    let (low, high);
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants and nothing else.
    unsafe {
        asm!(
            "vmovd {low}, {x:e}",
            "vpbroadcastd {low:y}, {low}",
            "vpmulld {low:y}, {low:y}, ymmword ptr [{eights}]",
            "vpsrld {low:y}, {low:y}, 27",
            "vmovdqa {high:y}, ymmword ptr [{eights} + 32]",
            "vpsllvd {low:y}, {high:y}, {low:y}",
            "vextracti128 {high}, {low:y}, 1",
            "vzeroupper",
            x = in(reg) x,
            eights = in(reg) SPLIT,
            low = out(xmm_reg) low,
            high = out(xmm_reg) high,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    (low, high)
}

/// Whether a block has all bits of a key: shifted to the right by its bit's number, every lane has a one at the end.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn split_test(block: &Block, x: u32) -> bool {
    let found: u8;
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants and the block, and nothing else.
    unsafe {
        asm!(
            "vmovd {bit}, {x:e}",
            "vpbroadcastd {bit:y}, {bit}",
            "vpmulld {bit:y}, {bit:y}, ymmword ptr [{eights}]",
            "vpsrld {bit:y}, {bit:y}, 27",
            "vmovdqu {lanes:y}, ymmword ptr [{block}]",
            "vpsrlvd {lanes:y}, {lanes:y}, {bit:y}",
            "vptest {lanes:y}, ymmword ptr [{eights} + 32]",
            "setc {found}",
            "vzeroupper",
            x = in(reg) x,
            block = in(reg) block,
            eights = in(reg) SPLIT,
            bit = out(xmm_reg) _,
            lanes = out(xmm_reg) _,
            found = lateout(reg_byte) found,
            options(pure, readonly, nostack),
        );
    }
    found != 0
}

/// The numbers of the positions; what is added to each, or in slices is to be multiplied; the place in 32 bits; a one in every lane
/// that has a position.
const fn lanes(sliced: bool) -> Eights<4> {
    let (mut numbers, mut curves, mut ones, mut i) = ([0; 8], [0; 8], [0; 8], 0);
    while i < 8 {
        numbers[i] = i as u32;
        curves[i] = CURVES[sliced as usize][i];
        ones[i] = ((i as u32) < USUAL) as u32;
        i += 1;
    }
    Eights([numbers, curves, [31; 8], ones])
}

const ANYWHERE: &Eights<4> = &lanes(false);
const SLICES: &Eights<4> = &lanes(true);

/// The positions of a key before what is particular to a scheme is added, to `a`: the second word of the hash times the numbers, and
/// the first.
macro_rules! line_of_seven {
    () => {
        concat!(
            "vmovq {a}, {h1}\n",
            "vpbroadcastd {b:y}, {a}\n",
            "vpsrlq {a}, {a}, 32\n",
            "vpmulld {b:y}, {b:y}, ymmword ptr [{eights}]\n",
            "vpbroadcastd {a:y}, {a}\n",
            "vpaddd {a:y}, {a:y}, {b:y}\n",
        )
    };
}

/// The high halves of `a` times m, to `a`; m stays in `b`.
macro_rules! positions_of_seven {
    () => {
        concat!(
            "vpbroadcastd {b:y}, {m}\n",
            "vpmuludq {c:y}, {a:y}, {b:y}\n",
            "vpsrlq {a:y}, {a:y}, 32\n",
            "vpmuludq {a:y}, {a:y}, {b:y}\n",
            "vpsrlq {c:y}, {c:y}, 32\n",
            "vpblendd {a:y}, {c:y}, {a:y}, 0xAA\n",
        )
    };
}

/// Of the positions in `a`, the places in 32 bits to `a`, the first four words to `b`, and the numbers of the others to `next`, `five`
/// and `seven`; they are taken out of the register in pairs.
macro_rules! first_four_of_seven {
    () => {
        concat!(
            "vpsrld {c:y}, {a:y}, 5\n",
            "vmovq {one}, {c}\n",
            "vpextrq {three}, {c}, 1\n",
            "vextracti128 {c}, {c:y}, 1\n",
            "vpand {a:y}, {a:y}, ymmword ptr [{eights} + 64]\n",
            "mov {next:e}, {one:e}\n",
            "shr {one}, 32\n",
            "vmovd {b}, dword ptr [{words} + 4 * {next}]\n",
            "vmovq {five}, {c}\n",
            "mov {next:e}, {three:e}\n",
            "vpinsrd {b}, {b}, dword ptr [{words} + 4 * {one}], 1\n",
            "shr {three}, 32\n",
            "vpextrd {seven:e}, {c}, 2\n",
            "vpinsrd {b}, {b}, dword ptr [{words} + 4 * {next}], 2\n",
            "mov {next:e}, {five:e}\n",
            "shr {five}, 32\n",
            "vpinsrd {b}, {b}, dword ptr [{words} + 4 * {three}], 3\n",
        )
    };
}

/// The other words to `c`.
macro_rules! last_three_of_seven {
    () => {
        concat!(
            "vmovd {c}, dword ptr [{words} + 4 * {next}]\n",
            "vpinsrd {c}, {c}, dword ptr [{words} + 4 * {five}], 1\n",
            "vpinsrd {c}, {c}, dword ptr [{words} + 4 * {seven}], 2\n",
        )
    };
}

/// The carry flag: whether the bits of all seven are one. Shifted to the right by its place, every lane has a one at the end.
macro_rules! test_of_seven {
    () => {
        concat!(
            last_three_of_seven!(),
            "vinserti128 {b:y}, {b:y}, {c}, 1\n",
            "vpsrlvd {b:y}, {b:y}, {a:y}\n",
            "vptest {b:y}, ymmword ptr [{eights} + 96]\n",
        )
    };
}

/// The same, but the others are read only if the first four are all one.
macro_rules! far_test_of_seven {
    () => {
        concat!(
            "vpsrlvd {b}, {b}, {a}\n",
            "vptest {b}, xmmword ptr [{eights} + 96]\n",
            "jnc 2f\n",
            "vextracti128 {a}, {a:y}, 1\n",
            last_three_of_seven!(),
            "vpsrlvd {c}, {c}, {a}\n",
            "vptest {c}, xmmword ptr [{eights} + 112]\n",
            "2:\n",
        )
    };
}

/// Whether the [`USUAL`] bits of a key, anywhere among m or in slices of m, are all one; when they are `FAR`, the first four are looked
/// at before the others are read.
///
/// # Safety
///
/// The machine has AVX2, and the words have m bits, at least one, or [`USUAL`] slices of them.
#[inline(always)]
pub(super) unsafe fn lanes_test<const SLICED: bool, const FAR: bool>(words: &[u64], m: u64, h1: u64) -> bool {
    const { assert!(USUAL == 7) };
    let found: u8;
    macro_rules! seven {
        ($curve:expr, $start:expr, $test:expr, $eights:expr $(, $third:ident)?) => {
            asm!(
                line_of_seven!(),
                $curve,
                positions_of_seven!(),
                $start,
                first_four_of_seven!(),
                $test,
                "setc {found}",
                "vzeroupper",
                h1 = in(reg) h1,
                m = in(xmm_reg) _mm_cvtsi64_si128(m as i64),
                words = in(reg) words.as_ptr(),
                eights = in(reg) $eights,
                $($third = in(xmm_reg) _mm_cvtsi64_si128((Ring::<true>::third(Digest { h1, h2: 0 }) >> 32) as i64),)?
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                one = out(reg) _,
                three = out(reg) _,
                five = out(reg) _,
                seven = out(reg) _,
                next = out(reg) _,
                found = lateout(reg_byte) found,
                options(pure, readonly, nostack),
            )
        };
    }
    macro_rules! anywhere {
        ($test:expr) => {
            seven!("vpaddd {a:y}, {a:y}, ymmword ptr [{eights} + 32]", "", $test, ANYWHERE)
        };
    }
    // A slice is m further than the one before.
    macro_rules! in_slices {
        ($test:expr) => {
            seven!(
                "vpbroadcastd {b:y}, {third}\nvpmulld {b:y}, {b:y}, ymmword ptr [{eights} + 32]\nvpaddd {a:y}, {a:y}, {b:y}",
                "vpmulld {b:y}, {b:y}, ymmword ptr [{eights}]\nvpaddd {a:y}, {a:y}, {b:y}",
                $test,
                SLICES,
                third
            )
        };
    }
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants and up to seven times 32 bits, whose
    // numbers are those of positions below m, or in their slices, which the words have; where 32 bits do not tell a position, there
    // are at least 2^32 bits, and words for any number.
    unsafe {
        match (SLICED, FAR) {
            (false, false) => anywhere!(test_of_seven!()),
            (false, true) => anywhere!(far_test_of_seven!()),
            (true, false) => in_slices!(test_of_seven!()),
            (true, true) => in_slices!(far_test_of_seven!()),
        }
    }
    found != 0
}

/// By how much a word is shifted for its fields, the early ones and the late; the place in 32 bits.
const LINE: &Eights<3> = &Eights([[0, 0, 9, 0, 18, 0, 27, 0], [36, 0, 45, 0, 54, 0, 0, 0], [31; 8]]);

/// Whether a line has the bits at those places of a word whose lanes have a one.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn line_test(line: &Line, ones: &[u32; 8], word: u64) -> bool {
    let found: u8;
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants, the line and the ones, and nothing
    // else.
    unsafe {
        asm!(
            "vmovq {a}, {word}",
            "vpbroadcastq {a:y}, {a}",
            "vpsrlvq {b:y}, {a:y}, ymmword ptr [{eights}]",
            "vpsrlvq {a:y}, {a:y}, ymmword ptr [{eights} + 32]",
            "vshufps {a:y}, {b:y}, {a:y}, 0x88",
            // Each lane's 32 bits: one of the low half or of the high half of the line, as bit 8 of the place says.
            "vpsrld {b:y}, {a:y}, 5",
            "vpslld {c:y}, {a:y}, 23",
            "vpermd {d:y}, {b:y}, ymmword ptr [{line}]",
            "vpermd {b:y}, {b:y}, ymmword ptr [{line} + 32]",
            "vpand {a:y}, {a:y}, ymmword ptr [{eights} + 64]",
            "vblendvps {b:y}, {d:y}, {b:y}, {c:y}",
            "vpsrlvd {b:y}, {b:y}, {a:y}",
            "vptest {b:y}, ymmword ptr [{ones}]",
            "setc {found}",
            "vzeroupper",
            word = in(reg) word,
            line = in(reg) line,
            ones = in(reg) ones,
            eights = in(reg) LINE,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            found = lateout(reg_byte) found,
            options(pure, readonly, nostack),
        );
    }
    found != 0
}
