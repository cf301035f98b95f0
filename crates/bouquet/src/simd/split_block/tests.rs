use std::sync::atomic::AtomicU64;

use super::*;
use crate::hash::SplitMix;

fn kernels() -> impl Iterator<Item = Kernel> {
    Instructions::available()
        .into_iter()
        .flat_map(|instructions| [true, false].map(|upper| Kernel::with(instructions, upper)))
}

fn hash(block: usize, x: u32) -> u64 {
    // Any number in the upper half chooses a block; this one the block of that number among 64.
    (block as u64) << 58 | u64::from(x)
}

#[test]
fn the_published_vectors_come_out() {
    for (x, bits) in [(0xa98c_6e5b, [18, 17, 1, 12, 17, 24, 27, 31]), (0xad77_0999, [13, 11, 23, 21, 6, 14, 29, 29])] {
        for kernel in kernels() {
            let mut block = [0; 4];
            assert!(kernel.set(&mut block, x));
            for (j, bit) in bits.into_iter().enumerate() {
                assert_eq!((block[j / 2] >> (32 * (j % 2))) as u32, 1 << bit, "{kernel:?} lane {j}");
            }
        }
    }
}

#[test]
fn every_instruction_set_gives_the_bits_and_answers_of_the_scalar_code() {
    for kernel in kernels() {
        let mut random = SplitMix::new(1);
        let mut expected = [[0; 4]; 64];
        let mut words = [0; 256];
        let mut batch = [0; 256];
        for round in 0..200_000u32 {
            // A fresh start now and then: full blocks would answer alike whatever the code.
            if round % 256 == 0 {
                (expected, words, batch) = ([[0; 4]; 64], [0; 256], [0; 256]);
            }
            let (x, at) = (random.next_u64() as u32, random.below(64) as usize);
            let (h1, mut answers) = (hash(at, x), [false; 3]);
            let found = scalar::test(&expected[at], x);
            assert_eq!(kernel.test(&words, h1), found, "{kernel:?}");
            kernel.test_batch(&words, &[h1; 3], &mut answers);
            assert_eq!(answers, [found; 3], "{kernel:?}");
            if round % 16 == 0 {
                let shared = words.map(AtomicU64::new);
                assert_eq!(kernel.test(&shared, h1), found, "{kernel:?}, shared");
                kernel.test_batch(&shared, &[h1; 3], &mut answers);
                assert_eq!(answers, [found; 3], "{kernel:?}, shared");
                assert_ne!(kernel.set_shared(&shared, h1), found, "{kernel:?}, shared");
                let mut set = expected[at];
                scalar::set(&mut set, x);
                assert!(shared[4 * at..][..4].iter().map(Word::load).eq(set), "{kernel:?}, shared");
            }
            assert_ne!(scalar::set(&mut expected[at], x), found);
            assert_ne!(kernel.set(&mut words, h1), found, "{kernel:?}");
            assert_eq!(kernel.set_batch(&mut batch, &[h1; 2]), u64::from(!found), "{kernel:?}");
            assert!(words.as_chunks().0[at] == expected[at] && batch.as_chunks().0[at] == expected[at], "{kernel:?}");
        }
        assert_eq!((words.as_chunks().0, batch.as_chunks().0), (&expected[..], &expected[..]), "{kernel:?}");
    }
}

#[test]
fn where_there_is_no_block_nothing_is_found_or_set() {
    for kernel in kernels() {
        let mut answers = [true; 2];
        kernel.test_batch::<u64>(&[], &[7; 2], &mut answers);
        assert_eq!(answers, [false; 2]);
        assert!(!kernel.test::<u64>(&[], 7) && !kernel.set(&mut [], 7) && kernel.set_batch(&mut [], &[7]) == 0);
        assert!(!kernel.test::<AtomicU64>(&[], 7) && !kernel.set_shared::<AtomicU64>(&[], 7));
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_caller_with_avx_512_keeps_its_registers() {
    if crate::simd::Avx512::detected().is_none() {
        return;
    }
    let mut block = [0; 4];
    // SAFETY: the machine has AVX-512.
    assert!(unsafe {
        crate::simd::tests::are_kept(
            #[inline(always)]
            || super::asm::put_wide(&mut block, 7),
        )
    });
    assert_eq!(block, scalar::mask(7));
}
