use std::sync::atomic::AtomicU64;

use super::*;
use crate::hash::SplitMix;

/// Each instruction set once: whether it gathers is of no concern here.
fn kernels(lines: u64, k: u32) -> impl Iterator<Item = Kernel> {
    let all = Instructions::available().into_iter().filter(|all| !all.gathers || all.avx512.is_some());
    all.map(move |instructions| Kernel { lines, k, instructions })
}

/// What all must equal, written without the constants of the others.
fn bits_at(k: u32, digest: Digest) -> Line {
    let (words, mut line) = ([digest.h2, digest.derive(3).h1], [0; 8]);
    for field in (0..k).map(|i| words[(i / 7) as usize] >> (9 * (i % 7)) & 511) {
        line[(field / 64) as usize] |= 1 << (field % 64);
    }
    line
}

fn digest(random: &mut SplitMix) -> Digest {
    Digest { h1: random.next_u64(), h2: random.next_u64() }
}

fn has(line: Line, bits: Line) -> bool {
    line.iter().zip(bits).all(|(word, bits)| word & bits == bits)
}

fn join(line: &mut Line, bits: Line) {
    line.iter_mut().zip(bits).for_each(|(word, bits)| *word |= bits);
}

#[test]
fn bits_are_found_at_one_place_after_the_other() {
    for kernel in (0..=MOST).flat_map(|k| kernels(3, k)) {
        let mut random = SplitMix::new(5);
        let mut lines = [[0; 8]; 3];
        let (mut present, mut absent) = (0, 0);
        for _ in 0..2_000 {
            let digest = digest(&mut random);
            let (at, bits) = (kernel.line(digest), bits_at(kernel.k, digest));
            let expected = has(lines[at], bits);
            assert_eq!(kernel.test(lines.as_flattened(), digest), expected, "{kernel:?}");
            let shared: Vec<_> = lines.as_flattened().iter().map(|word| AtomicU64::new(*word)).collect();
            assert_eq!(kernel.test(&shared, digest), expected, "{kernel:?}, shared");
            *(if expected { &mut present } else { &mut absent }) += 1;
            if random.below(4) == 0 {
                join(&mut lines[at], bits);
            }
        }
        assert!(present > 5 && (absent > 5 || kernel.k == 0), "{kernel:?}: {present} present, {absent} absent");
    }
}

/// Few present ones, which are looked at one by one, many, and numbers that are no multiples of anything.
#[test]
fn batches_answer_as_one_after_the_other() {
    for kernel in (0..=MOST).flat_map(|k| kernels(40, k)) {
        let mut random = SplitMix::new(6);
        for (len, share) in [(0, 2), (1, 1), (7, 2), (8, 1), (31, 2), (32, 1), (32, 2), (32, 16), (75, 3)] {
            let digests: Vec<_> = (0..len).map(|_| digest(&mut random)).collect();
            let mut lines = [[0; 8]; 40];
            for (digest, i) in digests.iter().zip(0..) {
                // Some have the first places only.
                let places = if i % 5 == 4 { kernel.k.min(PER_WORD) } else { kernel.k };
                if i % share == 0 {
                    join(&mut lines[kernel.line(*digest)], bits_at(places, *digest));
                }
            }
            let expected = digests.iter().map(|digest| has(lines[kernel.line(*digest)], bits_at(kernel.k, *digest)));
            let expected: Vec<_> = expected.collect();
            let mut answers: Vec<_> = expected.iter().map(|answer| !answer).collect();
            kernel.test_batch(lines.as_flattened(), &digests, &mut answers);
            assert_eq!(answers, expected, "{kernel:?}, {len} digests");
        }
    }
}

#[test]
fn bits_are_set_at_one_place_after_the_other() {
    for kernel in (0..=MOST).flat_map(|k| kernels(3, k)) {
        let mut random = SplitMix::new(7);
        let (mut expected, mut fresh) = ([[0; 8]; 3], Vec::new());
        let [mut single, mut batch] = [expected; 2];
        let shared: [AtomicU64; 24] = Default::default();
        // A third of them twice.
        let mut digests: Vec<_> = (0..75).map(|_| digest(&mut random)).collect();
        digests.extend_from_within(..25);
        for digest in &digests {
            let (at, bits) = (kernel.line(*digest), bits_at(kernel.k, *digest));
            fresh.push(!has(expected[at], bits));
            join(&mut expected[at], bits);
            assert_eq!(Some(&kernel.set(single.as_flattened_mut(), *digest)), fresh.last(), "{kernel:?}");
            assert_eq!(Some(&kernel.set_shared(&shared, *digest)), fresh.last(), "{kernel:?}");
            assert_eq!(single, expected, "{kernel:?}");
        }
        let count = fresh.iter().filter(|fresh| **fresh).count() as u64;
        assert!(count <= 75 && (kernel.k == 0 || count > 5), "{kernel:?}: {count}");
        assert_eq!(kernel.set_batch(batch.as_flattened_mut(), &digests), count, "{kernel:?}");
        assert_eq!(batch, expected, "{kernel:?}");
        assert!(shared.iter().map(Word::load).eq(expected.as_flattened().iter().copied()), "{kernel:?}");
    }
}

#[test]
fn every_place_has_its_bit() {
    for (kernel, place) in (0..512).flat_map(|place| kernels(1, 1).map(move |kernel| (kernel, place))) {
        let (digest, mut line) = (Digest { h1: 0, h2: place }, [0; 8]);
        kernel.set(&mut line, digest);
        assert_eq!(line, bits_at(1, digest), "place {place}");
        assert!(kernel.test(&line, digest), "{kernel:?}, place {place}");
        assert!(!kernel.test(&line.map(|word| !word), digest), "{kernel:?}, place {place}");
    }
}

#[test]
fn beyond_the_end_there_is_nothing() {
    let (digest, mut words) = (Digest { h1: u64::MAX, h2: 0 }, [u64::MAX; 24]);
    for kernel in kernels(4, 6).chain(kernels(4, 9)) {
        let mut answer = [true];
        assert!(!kernel.test(&words, digest) && Kernel { lines: 3, ..kernel }.test(&words, digest));
        kernel.test_batch(&words, &[digest], &mut answer);
        assert_eq!(answer, [false]);
        assert!(!kernel.set(&mut words, digest) && kernel.set_batch(&mut words, &[digest]) == 0);
        assert!(!kernel.set_shared(&words.map(AtomicU64::new), digest));
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_caller_with_avx_512_keeps_its_registers() {
    if crate::simd::Avx512::detected().is_none() {
        return;
    }
    let mut line = [0; 8];
    // SAFETY: the machine has AVX-512.
    unsafe {
        assert!(crate::simd::tests::are_kept(
            #[inline(always)]
            || super::asm::put::<6>(&mut line, 64 * 3 + 62)
        ));
        assert!(crate::simd::tests::are_kept(
            #[inline(always)]
            || super::asm::put::<7>(&mut line, 511)
        ));
    }
    assert_ne!(line, [0; 8]);
}
