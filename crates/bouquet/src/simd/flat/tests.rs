use std::sync::atomic::AtomicU64;

use super::*;
use crate::hash::{Reduction, Scheme, SplitMix};

fn shared(words: &[u64]) -> Vec<AtomicU64> {
    words.iter().map(|word| AtomicU64::new(*word)).collect()
}

#[test]
fn bits_are_those_of_the_default_schemes() {
    check_scalar::<false, false>(Scheme::default());
    check_scalar::<true, false>(Scheme::SLICES);
    check_scalar::<false, true>(Scheme { reduction: Reduction::Fastrange32, ..Scheme::default() });
    check_scalar::<true, true>(Scheme { reduction: Reduction::Fastrange32, ..Scheme::SLICES });
}

fn check_scalar<const SLICED: bool, const NARROW: bool>(scheme: Scheme) {
    let mut random = SplitMix::new(3);
    for m in [1_u64, 2, 63, 64, 65, 1000, 100_003] {
        for k in [1, 2, 3, 4, 5, 7, 10, 16, 17, 20, 21, 37, 64] {
            let bits = if SLICED { m * u64::from(k) } else { m };
            let mut words = vec![0u64; bits.div_ceil(64) as usize];
            let mut model = vec![0u64; words.len()];
            for round in 0..200 {
                let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
                let mut positions = scheme.positions_of_digest(digest, m, k).to_vec();
                if SLICED {
                    positions.iter_mut().zip(0..).for_each(|(position, i)| *position += m * i);
                }
                let has = |words: &[u64]| positions.iter().all(|p| words[(p / 64) as usize] >> (p % 64) & 1 == 1);
                let expected = has(&model);
                assert_eq!(test::<SLICED, NARROW>(&words, m, k, digest), expected);
                let mut answer = [!expected];
                test_batch::<4, SLICED, NARROW>(&words, m, k, &[digest], &mut answer, random.below(2) == 0);
                assert_eq!(answer, [expected]);
                if random.below(3) == 0 {
                    let (fresh, atomic) = match round % 4 {
                        0 => (scalar::set_inline::<SLICED, NARROW>(&mut words, m, k, digest), None),
                        1 => {
                            let atomic = shared(&words);
                            (scalar::set_shared::<SLICED, NARROW>(&atomic, m, k, digest), Some(atomic))
                        }
                        2 if k == SEVEN => {
                            let atomic = shared(&words);
                            (scalar::set_seven_shared::<SLICED, NARROW>(&atomic, m, digest), Some(atomic))
                        }
                        _ => (set::<SLICED, NARROW>(&mut words, m, k, digest), None),
                    };
                    words = atomic.map_or(words, |atomic| atomic.iter().map(Word::load).collect());
                    assert_eq!(fresh, !expected);
                    positions.iter().for_each(|p| model[(p / 64) as usize] |= 1 << (p % 64));
                    assert_eq!(words, model);
                }
            }
        }
    }
}

#[test]
fn every_instruction_set_gives_the_bits_and_answers_of_the_scalar_code() {
    check::<false>(&[1, 2, 31, 64, 1_000, 65_537, NEAR_BITS + 64]);
    check::<true>(&[1, 2, 31, 64, 1_000, 65_537, NEAR_BITS / 4]);
}

fn check<const SLICED: bool>(sizes: &[u64]) {
    let mut random = SplitMix::new(8);
    for instructions in Instructions::available() {
        for (m, k) in sizes.iter().flat_map(|m| (1..=MOST + 1).map(move |k| (*m, k))) {
            check_one(Kernel::<SLICED>::with(instructions, m, k, true), &mut random);
        }
        check_one(Kernel::<SLICED>::with(instructions, 1_000, SEVEN, false), &mut random);
    }
}

fn check_one<const SLICED: bool>(kernel: Kernel<SLICED>, random: &mut SplitMix) {
    let Kernel { m, k, narrow, .. } = kernel;
    let bits = if SLICED { m * u64::from(k) } else { m };
    let mut words = vec![0; bits.div_ceil(64) as usize];
    let mut model = words.clone();
    for round in 0..40 {
        let keys: Vec<u64> = (0..round).map(|_| random.next_u64()).collect();
        let digest = |h1: &u64| Digest::from_word(*h1);
        let scalar = |words: &[u64], h1: &u64| match narrow {
            true => test::<SLICED, true>(words, m, k, digest(h1)),
            false => test::<SLICED, false>(words, m, k, digest(h1)),
        };
        let expected: Vec<bool> = keys.iter().map(|h1| scalar(&words, h1)).collect();
        assert!(keys.iter().map(|h1| kernel.test(&words, digest(h1))).eq(expected.iter().copied()), "{kernel:?}");
        for sift in [false, true].into_iter().filter(|_| kernel.has_vectors()) {
            let mut answers = vec![true; round];
            kernel.test_batch(&words, &keys, &mut answers, sift);
            assert_eq!(answers, expected, "{kernel:?}, sift {sift}");
        }
        // Large vectors are copied once in a while only.
        if round % 13 == 1 || words.len() < 2_000 {
            let atomic = shared(&words);
            let found = keys.iter().map(|h1| kernel.test(&atomic, digest(h1)));
            assert!(found.eq(expected.iter().copied()), "{kernel:?}, shared");
        }
        let fresh = keys.iter().map(|h1| match narrow {
            true => set::<SLICED, true>(&mut model, m, k, digest(h1)),
            false => set::<SLICED, false>(&mut model, m, k, digest(h1)),
        });
        let fresh = fresh.map(u64::from).sum::<u64>();
        let (half, other) = keys.split_at(if kernel.has_vectors() { round / 2 } else { 0 });
        let mut found = kernel.set_batch(&mut words, half);
        if round % 5 == 3 && words.len() < 2_000 {
            let atomic = shared(&words);
            found += other.iter().map(|h1| u64::from(kernel.set_shared(&atomic, digest(h1)))).sum::<u64>();
            words = atomic.iter().map(Word::load).collect();
        } else {
            found += other.iter().map(|h1| u64::from(kernel.set(&mut words, digest(h1)))).sum::<u64>();
        }
        assert!(words == model && found == fresh, "{kernel:?}: {found} new, not {fresh}");
    }
}

#[test]
fn many_keys_are_sifted_twice() {
    twice::<false>();
    twice::<true>();
}

/// Half of the bits are one, so that a quarter of the keys is left after the first round.
fn twice<const SLICED: bool>() {
    let mut random = SplitMix::new(9);
    for (instructions, k) in Instructions::available().into_iter().flat_map(|i| (1..=MOST).map(move |k| (i, k))) {
        let m = 10_007;
        let kernel = Kernel::<SLICED>::with(instructions, m, k, true);
        let bits = if SLICED { m * u64::from(k) } else { m };
        let words: Vec<u64> = (0..bits.div_ceil(64)).map(|_| random.next_u64()).collect();
        for count in [2 * MANY, 199, 255, 256].into_iter().filter(|_| kernel.has_vectors()) {
            let keys: Vec<u64> = (0..count).map(|_| random.next_u64()).collect();
            let scalar = |h1: &u64| test::<SLICED, true>(&words, m, k, Digest::from_word(*h1));
            let mut answers = vec![true; count];
            kernel.test_batch(&words, &keys, &mut answers, true);
            assert!(keys.iter().map(scalar).eq(answers), "{kernel:?}, {count} keys");
        }
    }
}

#[test]
fn words_that_are_too_few_hold_nothing() {
    let digest = Digest { h1: u64::MAX, h2: 1 };
    let mut words = [u64::MAX];
    assert!(!test::<false, false>(&words, 65, 3, digest) && !test::<false, false>(&[0; 0], 0, 3, digest));
    assert!(!set::<false, false>(&mut words, 65, 3, digest) && !set::<false, false>(&mut [], 0, 3, digest));
    for instructions in Instructions::available() {
        for k in [3, SEVEN, 10] {
            let (flat, sliced) = (
                Kernel::<false>::with(instructions, 65, k, true),
                Kernel::<true>::with(instructions, 65 / u64::from(k) + 1, k, true),
            );
            assert!(!flat.test(&words, digest) && !sliced.test(&words, digest), "{flat:?}");
            assert!(!flat.test(&shared(&words), digest) && !sliced.test(&shared(&words), digest), "{flat:?}");
            assert!(!flat.set(&mut words, digest) && !sliced.set(&mut words, digest), "{flat:?}");
            assert!(!flat.set_shared(&shared(&words), digest) && !sliced.set_shared(&shared(&words), digest));
            let mut answers = [true; 3];
            flat.test_batch(&words, &[7; 3], &mut answers, true);
            assert_eq!((answers, sliced.set_batch(&mut words, &[7])), ([false; 3], 0));
        }
    }
    assert_eq!(words, [u64::MAX]);
}
