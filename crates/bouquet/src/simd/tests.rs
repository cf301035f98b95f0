//! What all kernels owe their callers.

use std::arch::asm;
use std::arch::x86_64::*;
use std::cell::RefCell;
use std::mem::transmute;
use std::sync::atomic::AtomicU64;

use super::{Avx2, flat, line, split_block};
use crate::hash::Digest;

const WORDS: usize = 64;
const BITS: u64 = 64 * WORDS as u64;

/// As many sums as there are registers, so that some are in one while a kernel answers, whichever the compiler takes.
#[target_feature(enable = "avx2")]
fn sums(each: impl Fn(Digest) -> bool) -> [[u64; 4]; 16] {
    let mut sums = [_mm256_setzero_si256(); 16];
    for key in 0..1_000_u64 {
        let digest = Digest::from_word(key.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let yes = _mm256_set1_epi64x(i64::from(each(digest)));
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

/// Whether each sum has what it should after some answers of yes.
fn are_whole(sums: [[u64; 4]; 16]) -> bool {
    let yes = sums[0][0] - 1_000;
    yes > 20 && sums.iter().zip(1..).all(|(sum, i)| *sum == [yes + 1_000 * i; 4])
}

/// Whether a caller with AVX-512 has afterwards what it had in the registers that the assembly for it uses.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn are_kept(each: impl FnOnce()) -> bool {
    const VALUES: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
    // SAFETY: a register has 64 bytes, for which every pattern is valid.
    let mut values = [unsafe { transmute::<[u64; 8], __m512i>(VALUES) }; 2];
    macro_rules! hold {
        () => {
            // SAFETY: there is no instruction; the compiler has the values in these registers, and may leave them there.
            unsafe {
                asm!("", inout("zmm16") values[0], inout("zmm17") values[1], options(nostack, preserves_flags));
            }
        };
    }
    hold!();
    each();
    hold!();
    // SAFETY: as above.
    values.map(|values| unsafe { transmute::<__m512i, [u64; 8]>(values) }) == [VALUES; 2]
}

#[test]
fn a_caller_with_avx_keeps_its_registers() {
    if Avx2::detected().is_none() {
        return;
    }
    macro_rules! check {
        ($kernel:expr, $digest:ident => $argument:expr) => {{
            let kernel = $kernel;
            let words = RefCell::new([0; WORDS]);
            // SAFETY: the machine has AVX2.
            let set = unsafe {
                sums(
                    #[inline(always)]
                    |$digest| kernel.set(&mut *words.borrow_mut(), $argument),
                )
            };
            let words = words.into_inner();
            let shared = words.map(AtomicU64::new);
            // SAFETY: as above.
            let (found, found_shared) = unsafe {
                (
                    sums(
                        #[inline(always)]
                        |$digest| kernel.test(&words, $argument),
                    ),
                    sums(
                        #[inline(always)]
                        |$digest| kernel.test(&shared, $argument),
                    ),
                )
            };
            assert!(are_whole(set) && are_whole(found) && are_whole(found_shared), "{kernel:?}");
        }};
    }
    for k in [flat::SEVEN, 10] {
        check!(flat::Kernel::<false>::new(BITS, k, true), digest => digest);
        check!(flat::Kernel::<true>::new(BITS / u64::from(k), k, true), digest => digest);
    }
    check!(line::Kernel::new(BITS / 512, 6).unwrap(), digest => digest);
    check!(line::Kernel::new(BITS / 512, 9).unwrap(), digest => digest);
    check!(split_block::Kernel::new(false), digest => digest.h1);
}
