//! The [AVX2](super::avx2) code of single calls as [assembly](crate::simd::asm).

use std::mem::MaybeUninit;

use super::avx2::CURVES;
use super::{MOST, SEVEN};
use crate::hash::{Digest, Ring};
use crate::simd::asm::{Eights, assembly};

/// The numbers of eight positions from one on; what is added to each, or in slices is to be multiplied; the place in 32 bits; a one
/// in every lane that has one of k positions, and all bits.
const fn lanes(sliced: bool, from: usize, k: usize) -> Eights<5> {
    let (mut numbers, mut curves, mut ones, mut masks, mut i) = ([0; 8], [0; 8], [0; 8], [0; 8], 0);
    while i < 8 {
        numbers[i] = (from + i) as u32;
        curves[i] = CURVES[sliced as usize][from + i];
        ones[i] = (from + i < k) as u32;
        masks[i] = 0_u32.wrapping_sub(ones[i]);
        i += 1;
    }
    Eights([numbers, curves, [31; 8], ones, masks])
}

const ANYWHERE: &Eights<5> = &lanes(false, 0, SEVEN as usize);
const SLICES: &Eights<5> = &lanes(true, 0, SEVEN as usize);

/// For each k the first eight positions and the others, anywhere and in slices.
static ALL: [[[Eights<5>; 2]; MOST as usize + 1]; 2] = {
    let (mut all, mut k) = ([[[lanes(false, 0, 0); 2]; MOST as usize + 1]; 2], 0);
    while k <= MOST as usize {
        all[0][k] = [lanes(false, 0, k), lanes(false, 8, k)];
        all[1][k] = [lanes(true, 0, k), lanes(true, 8, k)];
        k += 1;
    }
    all
};

/// The positions of a key before what is particular to a scheme is added, to 0: the second word of the hash, which is in `one`, times
/// the numbers, and the first.
macro_rules! line_of_seven {
    () => {
        concat!(
            "vmovq xmm0, {one}\n",
            "vpbroadcastd ymm1, xmm0\n",
            "vpsrlq xmm0, xmm0, 32\n",
            "vpmulld ymm1, ymm1, ymmword ptr [{eights}]\n",
            "vpbroadcastd ymm0, xmm0\n",
            "vpaddd ymm0, ymm0, ymm1\n",
        )
    };
}

/// The high halves of 0 times m, which is in `three`, to 0; m stays in 1.
macro_rules! positions_of_seven {
    () => {
        concat!(
            "vmovd xmm1, {three:e}\n",
            "vpbroadcastd ymm1, xmm1\n",
            "vpmuludq ymm2, ymm0, ymm1\n",
            "vpsrlq ymm0, ymm0, 32\n",
            "vpmuludq ymm0, ymm0, ymm1\n",
            "vpsrlq ymm2, ymm2, 32\n",
            "vpblendd ymm0, ymm2, ymm0, 0xAA\n",
        )
    };
}

/// Of the positions in 0, the places in 32 bits to 0, the first four words to 1, and the numbers of the others to `next`, `five`
/// and `seven`; they are taken out of the register in pairs.
macro_rules! first_four_of_seven {
    () => {
        concat!(
            "vpsrld ymm2, ymm0, 5\n",
            "vmovq {one}, xmm2\n",
            "vpextrq {three}, xmm2, 1\n",
            "vextracti128 xmm2, ymm2, 1\n",
            "vpand ymm0, ymm0, ymmword ptr [{eights} + 64]\n",
            "mov {next:e}, {one:e}\n",
            "shr {one}, 32\n",
            "vmovd xmm1, dword ptr [{words} + 4 * {next}]\n",
            "vmovq {five}, xmm2\n",
            "mov {next:e}, {three:e}\n",
            "vpinsrd xmm1, xmm1, dword ptr [{words} + 4 * {one}], 1\n",
            "shr {three}, 32\n",
            "vpextrd {seven:e}, xmm2, 2\n",
            "vpinsrd xmm1, xmm1, dword ptr [{words} + 4 * {next}], 2\n",
            "mov {next:e}, {five:e}\n",
            "shr {five}, 32\n",
            "vpinsrd xmm1, xmm1, dword ptr [{words} + 4 * {three}], 3\n",
        )
    };
}

/// The other words to 2.
macro_rules! last_three_of_seven {
    () => {
        concat!(
            "vmovd xmm2, dword ptr [{words} + 4 * {next}]\n",
            "vpinsrd xmm2, xmm2, dword ptr [{words} + 4 * {five}], 1\n",
            "vpinsrd xmm2, xmm2, dword ptr [{words} + 4 * {seven}], 2\n",
        )
    };
}

/// The carry flag, from the positions in 0: whether the bits of all seven are one. Shifted to the right by its place, every lane has a one at the end.
macro_rules! test_of_seven {
    () => {
        concat!(
            first_four_of_seven!(),
            last_three_of_seven!(),
            "vinserti128 ymm1, ymm1, xmm2, 1\n",
            "vpsrlvd ymm1, ymm1, ymm0\n",
            "vptest ymm1, ymmword ptr [{eights} + 96]\n",
        )
    };
}

/// The same for any number of lanes, with all words by one instruction, which leaves the lanes alone whose mask is zero.
macro_rules! gathered_test {
    () => {
        concat!(
            "vpsrld ymm2, ymm0, 5\n",
            "vmovdqa ymm3, ymmword ptr [{eights} + 128]\n",
            "vpxor xmm1, xmm1, xmm1\n",
            "vpand ymm0, ymm0, ymmword ptr [{eights} + 64]\n",
            "vpgatherdd ymm1, dword ptr [{words} + 4 * ymm2], ymm3\n",
            "vpsrlvd ymm1, ymm1, ymm0\n",
            "vptest ymm1, ymmword ptr [{eights} + 96]\n",
        )
    };
}

/// The same, but the others are read only if the first four are all one.
macro_rules! far_test_of_seven {
    () => {
        concat!(
            first_four_of_seven!(),
            "vpsrlvd xmm1, xmm1, xmm0\n",
            "vptest xmm1, xmmword ptr [{eights} + 96]\n",
            "jnc 2f\n",
            "vextracti128 xmm0, ymm0, 1\n",
            last_three_of_seven!(),
            "vpsrlvd xmm2, xmm2, xmm0\n",
            "vptest xmm2, xmmword ptr [{eights} + 112]\n",
            "2:\n",
        )
    };
}

/// Code that finds a key's positions, anywhere among m or in slices of m, in 0; further operands are its own.
macro_rules! with_lanes {
    ($sliced:ident, $m:ident, $h1:ident, $eights:expr, [$($code:expr),*], $($operand:tt)*) => {{
        macro_rules! lanes {
            ($curve:expr, $start:expr, $third:expr) => {
                assembly!(
                    [line_of_seven!(), $curve, positions_of_seven!(), $start, $($code),*],
                    eights = in(reg) $eights,
                    one = inout(reg) $h1 => _,
                    three = inout(reg) $m => _,
                    next = inout(reg) $third => _,
                    $($operand)*
                )
            };
        }
        if $sliced {
            // A slice is m further than the one before.
            lanes!(
                "vmovd xmm1, {next:e}\nvpbroadcastd ymm1, xmm1\nvpmulld ymm1, ymm1, ymmword ptr [{eights} + 32]\nvpaddd ymm0, ymm0, ymm1",
                "vpmulld ymm1, ymm1, ymmword ptr [{eights}]\nvpaddd ymm0, ymm0, ymm1",
                Ring::<true>::third(Digest { h1: $h1, h2: 0 }) >> 32
            );
        } else {
            lanes!("vpaddd ymm0, ymm0, ymmword ptr [{eights} + 32]", "/* {next} */", 0_u64);
        }
    }};
}

/// The test of bits by code that leaves the answer in the carry flag.
macro_rules! test_of_lanes {
    ($sliced:ident, $words:ident, $m:ident, $h1:ident, $eights:expr, $test:expr, $($operand:tt)*) => {{
        let found: u8;
        with_lanes!(
            $sliced, $m, $h1, $eights, [$test, "setc {found}"],
            words = in(reg) $words,
            found = lateout(reg_byte) found,
            $($operand)*
            options(pure, readonly, nostack),
        );
        found != 0
    }};
}

/// Whether the [`SEVEN`] bits of a key, anywhere among m or in slices of m, are all one; when they are `FAR`, the first four are looked
/// at before the others are read.
///
/// # Safety
///
/// The machine has AVX2, and the words have m bits, at least one, or [`SEVEN`] slices of them.
#[inline(always)]
pub(super) unsafe fn test_seven<const SLICED: bool, const FAR: bool>(words: *const u64, m: u64, h1: u64) -> bool {
    const { assert!(SEVEN == 7) };
    let eights = if SLICED { SLICES } else { ANYWHERE };
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants and up to seven times 32 bits, whose
    // numbers are those of positions below m, or in their slices, which the words have; where 32 bits do not tell a position, there
    // are at least 2^32 bits, and words for any number. If threads share the words, it is as if each had been loaded at some moment:
    // no bit is looked at twice, and what lies in one word is read at once.
    unsafe {
        if FAR {
            test_of_lanes!(SLICED, words, m, h1, eights, far_test_of_seven!(), five = out(reg) _, seven = out(reg) _,)
        } else {
            test_of_lanes!(SLICED, words, m, h1, eights, test_of_seven!(), five = out(reg) _, seven = out(reg) _,)
        }
    }
}

/// The same for k bits, at most [`MOST`], gathered, the first eight before the others.
///
/// # Safety
///
/// The machine has AVX2, and the words have m bits, at least one, or k slices of them.
#[inline(always)]
pub(super) unsafe fn test_gathered<const SLICED: bool>(words: *const u64, m: u64, k: u32, h1: u64) -> bool {
    let [first, others] = &ALL[SLICED as usize][k.min(MOST) as usize];
    // SAFETY: as above; lanes without a position read nothing.
    unsafe {
        test_of_lanes!(SLICED, words, m, h1, first, gathered_test!(),)
            && (k <= 8 || test_of_lanes!(SLICED, words, m, h1, others, gathered_test!(),))
    }
}

/// Sets the [`SEVEN`] bits of a key, anywhere among m or in slices of m.
///
/// # Safety
///
/// The machine has AVX2, and the words have m bits, at least one, or [`SEVEN`] slices of them, and nobody else has them.
#[inline(always)]
pub(super) unsafe fn put_seven<const SLICED: bool>(words: *mut u64, m: u64, h1: u64) {
    let eights = if SLICED { SLICES } else { ANYWHERE };
    // For each position the number of its 32 bits, and its bit among them.
    let mut lanes = MaybeUninit::<Eights<2>>::uninit();
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants and write all of the lanes, whose
    // numbers are those of words that there are, as for `test_seven`.
    unsafe {
        with_lanes!(
            SLICED, m, h1, eights,
            [
                "vpsrld ymm1, ymm0, 5",
                "vmovdqa ymm2, ymmword ptr [{eights} + 96]",
                "vpand ymm0, ymm0, ymmword ptr [{eights} + 64]",
                "vmovdqa ymmword ptr [{lanes}], ymm1",
                "vpsllvd ymm0, ymm2, ymm0",
                "vmovdqa ymmword ptr [{lanes} + 32], ymm0"
            ],
            lanes = in(reg) lanes.as_mut_ptr(),
            options(nostack, preserves_flags),
        );
        let Eights([numbers, bits]) = lanes.assume_init_ref();
        for (number, bit) in numbers.iter().zip(bits).take(SEVEN as usize) {
            *words.cast::<u32>().add(*number as usize) |= bit;
        }
    }
}
