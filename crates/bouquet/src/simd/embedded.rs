//! The AVX2 code of single calls as assembly, for builds that run on every x86-64: the compiler inlines no code that only some
//! machines have into code for all, and to call it costs as much as what it does.
//!
//! Each function equals one of a neighbour that is written with intrinsics, which says what it computes and why: [`split_block`],
//! [`lanes`] and [`line`]. All leave the upper halves of the vector registers zero, as code without AVX expects them. But they may be
//! inlined into code with AVX, too, a caller's function for machines that have it, which keeps values there. So each block takes all
//! of these registers, [`assembly!`]: whatever lies in one is saved before.
//!
//! [`split_block`]: super::split_block
//! [`lanes`]: super::lanes
//! [`line`]: super::line

use std::arch::asm;
#[cfg(not(target_feature = "avx2"))]
use std::arch::x86_64::__m128i;
use std::arch::x86_64::__m256i;
use std::mem::MaybeUninit;

use super::lanes::{CURVES, MOST, USUAL};
use super::line::Line;
use super::split_block::Block;
#[cfg(not(target_feature = "avx2"))]
use super::split_block::SALT;
use crate::hash::{Digest, Ring};

/// Assembly whose vector registers are `xmm0` to `xmm3` by number; it ends with upper halves of zeros, and nothing that the caller has
/// in a vector register outlasts it.
macro_rules! assembly {
    ([$($instruction:expr),* $(,)?], $zero:tt, $one:tt, $($operand:tt)*) => {
        asm!(
            $($instruction,)*
            "vzeroupper",
            out("xmm0") $zero, out("xmm1") $one, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            $($operand)*
        )
    };
}

/// The same address, of which the compiler knows nothing: what is read there is read anew, since another thread may have changed it.
#[inline(always)]
pub(super) fn anew<T>(at: *const T) -> *const T {
    let same;
    // SAFETY: there is no instruction.
    unsafe { asm!("/* {0} */", inlateout(reg) at => same, options(readonly, nostack, preserves_flags)) };
    same
}

/// A block that threads share, as if each of its words had been loaded at some moment: aligned words are never read in parts.
///
/// # Safety
///
/// The block can be read.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn loaded(block: *const Block) -> __m256i {
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

/// What the code below reads, eight numbers for eight lanes each.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Eights<const N: usize>([[u32; 8]; N]);

/// The multipliers of a block's lanes; a one in each.
#[cfg(not(target_feature = "avx2"))]
pub(super) const SPLIT: &Eights<2> = &Eights([SALT, [1; 8]]);

/// The bits that a key has in a block, those of the first four lanes and those of the others. To set them is left to the compiler,
/// so that it leaves out what nobody asks for.
///
/// # Safety
///
/// The machine has AVX2.
#[cfg(not(target_feature = "avx2"))]
#[inline(always)]
pub(super) unsafe fn split_mask(x: u32) -> (__m128i, __m128i) {
    let (low, high);
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants and nothing else.
    unsafe {
        assembly!(
            [
                "vmovd xmm0, {x:e}",
                "vpbroadcastd ymm0, xmm0",
                "vpmulld ymm0, ymm0, ymmword ptr [{eights}]",
                "vpsrld ymm0, ymm0, 27",
                "vmovdqa ymm1, ymmword ptr [{eights} + 32]",
                "vpsllvd ymm0, ymm1, ymm0",
                "vextracti128 xmm1, ymm0, 1",
            ],
            low,
            high,
            x = in(reg) x,
            eights = in(reg) SPLIT,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    (low, high)
}

/// Whether a block has all bits of a key: shifted to the right by its bit's number, every lane has a one at the end.
///
/// # Safety
///
/// The machine has AVX2, and the block can be read.
#[cfg(not(target_feature = "avx2"))]
#[inline(always)]
pub(super) unsafe fn split_test(block: *const Block, x: u32) -> bool {
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
            _,
            _,
            x = in(reg) x,
            block = in(reg) block,
            eights = in(reg) SPLIT,
            found = lateout(reg_byte) found,
            options(pure, readonly, nostack),
        );
    }
    found != 0
}

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

const ANYWHERE: &Eights<5> = &lanes(false, 0, USUAL as usize);
const SLICES: &Eights<5> = &lanes(true, 0, USUAL as usize);

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
                    _,
                    _,
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

/// Whether the [`USUAL`] bits of a key, anywhere among m or in slices of m, are all one; when they are `FAR`, the first four are looked
/// at before the others are read.
///
/// # Safety
///
/// The machine has AVX2, and the words have m bits, at least one, or [`USUAL`] slices of them.
#[inline(always)]
pub(super) unsafe fn lanes_test<const SLICED: bool, const FAR: bool>(words: *const u64, m: u64, h1: u64) -> bool {
    const { assert!(USUAL == 7) };
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
pub(super) unsafe fn gathered_test<const SLICED: bool>(words: *const u64, m: u64, k: u32, h1: u64) -> bool {
    let [first, others] = &ALL[SLICED as usize][k.min(MOST) as usize];
    // SAFETY: as above; lanes without a position read nothing.
    unsafe {
        test_of_lanes!(SLICED, words, m, h1, first, gathered_test!(),)
            && (k <= 8 || test_of_lanes!(SLICED, words, m, h1, others, gathered_test!(),))
    }
}

/// Sets the [`USUAL`] bits of a key, anywhere among m or in slices of m.
///
/// # Safety
///
/// The machine has AVX2, and the words have m bits, at least one, or [`USUAL`] slices of them, and nobody else has them.
#[inline(always)]
pub(super) unsafe fn lanes_put<const SLICED: bool>(words: *mut u64, m: u64, h1: u64) {
    let eights = if SLICED { SLICES } else { ANYWHERE };
    // For each position the number of its 32 bits, and its bit among them.
    let mut lanes = MaybeUninit::<Eights<2>>::uninit();
    // SAFETY: the machine has the instructions, as the caller promises; they read the constants and write all of the lanes, whose
    // numbers are those of words that there are, as for `lanes_test`.
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
        for (number, bit) in numbers.iter().zip(bits).take(USUAL as usize) {
            *words.cast::<u32>().add(*number as usize) |= bit;
        }
    }
}

/// By how much a word is shifted for its fields, the early ones and the late; the place in 32 bits.
const LINE: &Eights<3> = &Eights([[0, 0, 9, 0, 18, 0, 27, 0], [36, 0, 45, 0, 54, 0, 0, 0], [31; 8]]);

/// Whether a line has the bits at those places of a word whose lanes have a one.
///
/// # Safety
///
/// The machine has AVX2, and the line can be read.
#[inline(always)]
pub(super) unsafe fn line_test(line: *const Line, ones: &[u32; 8], word: u64) -> bool {
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
            _,
            _,
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

#[cfg(test)]
mod tests {
    use std::arch::x86_64::*;

    use super::super::Avx2;
    use crate::membership::partitioned::Partitioned;
    use crate::{BlockedBloom, Bloom, SharedBloom, SharedUltraFastBloom, UltraFastBloom};

    /// As many sums as there are registers, so that some are in one while a filter answers, whichever the compiler takes.
    #[target_feature(enable = "avx2")]
    fn sums(each: impl Fn(u64) -> bool) -> [[u64; 4]; 16] {
        let mut sums = [_mm256_setzero_si256(); 16];
        for key in 0..1_000 {
            let yes = _mm256_set1_epi64x(i64::from(each(key)));
            for (sum, i) in sums.iter_mut().zip(1..) {
                *sum = _mm256_add_epi64(*sum, _mm256_add_epi64(yes, _mm256_set1_epi64x(i)));
            }
        }
        sums.map(|sum| {
            let mut lanes = [0; 4];
            // SAFETY: the array is 32 writable bytes; unaligned stores take any address.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sum) };
            lanes
        })
    }

    #[test]
    fn a_caller_with_avx_keeps_its_registers() {
        if Avx2::detected().is_none() {
            return;
        }
        macro_rules! check {
            ($($filter:ty),*) => {$({
                #[allow(unused_mut)] // Filters that are shared need not be.
                let mut filter = <$filter>::with_rate(1_000, 0.01).unwrap();
                (0..1_000).step_by(2).for_each(|key: u64| _ = filter.insert(&key));
                let found = (0..1_000_u64).filter(|key| filter.contains(key)).count() as u64;
                // SAFETY: the machine has AVX2.
                let sums = unsafe { sums(#[inline(always)] |key| filter.contains(&key)) };
                assert!(found >= 500 && sums.iter().zip(1..).all(|(sum, i)| *sum == [found + 1_000 * i; 4]), "{sums:?}");
                let insert = std::cell::RefCell::new(<$filter>::with_rate(1_000, 0.01).unwrap());
                // SAFETY: the machine has AVX2.
                let sums = unsafe { super::tests::sums(#[inline(always)] |key| insert.borrow_mut().insert(&key)) };
                let new = sums[0][0] - 1_000;
                assert!(new > 900 && sums.iter().zip(1..).all(|(sum, i)| *sum == [new + 1_000 * i; 4]), "{sums:?}");
            })*};
        }
        check!(Bloom, Partitioned, BlockedBloom, UltraFastBloom, SharedBloom, SharedUltraFastBloom);
        // Lines by this code, though the machine may have better.
        let line = [u64::MAX / 3; 8];
        // SAFETY: the machine has AVX2.
        let sums = unsafe {
            sums(
                #[inline(always)]
                |key| super::line_test(&line, &[1, 0, 0, 0, 0, 0, 0, 0], key),
            )
        };
        assert!(sums.iter().zip(1..).all(|(sum, i)| *sum == [500 + 1_000 * i; 4]), "{sums:?}");
    }
}
