use super::*;
use crate::AnyFilter;
use crate::hash::SplitMix;
use crate::membership::testing::{figure, filled_sets, holds, real_figure};
use crate::shell::Choice;
use crate::theory::spread;

const WORDS: u64 = 10_000;
const PER_SET: u64 = 8_000;
const SETS: u64 = 4;

/// Keys of set i are those of remainder i.
fn filled(seed: u64) -> AnyFilter {
    let settings = [("sets", "4"), ("bits", "640000"), ("hashes", "4")];
    filled_sets(&KIND, &settings, SETS * PER_SET, seed, |key| key % SETS)
}

fn classify(filter: &AnyFilter, key: u64) -> Vec<u64> {
    filter.classify().unwrap().classify(&key.to_le_bytes())
}

#[test]
fn a_key_in_no_set_is_reported_by_each_as_often_as_theory_says() {
    let (filter, queries) = (filled(1), 500_000);
    let expected = filter.expected(SETS * PER_SET).spurious_sets.unwrap() / SETS as f64;
    assert!((expected - 0.003_07).abs() < 5e-6, "{expected}");
    let mut reported = [0u64; SETS as usize];
    for key in 1 << 40..(1 << 40) + queries {
        classify(&filter, key).into_iter().for_each(|set| reported[set as usize] += 1);
    }
    let own = real_figure(&filter, "false-positive rate of one set");
    // How full the words are scatters: this content's own rate is near the mean of all.
    assert!((own / expected - 1.0).abs() < 0.03, "{own}, expected {expected}");
    for count in reported {
        let rate = count as f64 / queries as f64;
        assert!((rate - own).abs() < 5.0 * spread::test_sigma_conditional(own, queries), "{rate}, this content {own}");
    }
}

#[test]
fn own_memberships_do_not_raise_the_rate_of_other_sets() {
    let (mut spurious, mut asked) = (0u64, 0u64);
    let (mut overlaid, mut rates) = (0u64, 0.0);
    for seed in 0..10 {
        let (filter, hashing) = (filled(seed), Hashing::seeded(seed));
        rates += real_figure(&filter, "false-positive rate of one set") / 10.0;
        // The same words and loads, but every set with hash functions of its own.
        let mut words = vec![0u64; WORDS as usize];
        let places = |key: u64, set: u64| {
            let digest = key.digest(&hashing);
            let mut of_set = HashWords::new(digest.derive(100 + set));
            let mask = (0..4).fold(0u64, |mask, j| mask | 1 << (16 * j + fastrange(of_set.draw(), 16)));
            (fastrange(digest.h1, WORDS) as usize, mask)
        };
        for key in 0..SETS * PER_SET {
            let (word, mask) = places(key, key % SETS);
            words[word] |= mask;
        }
        for key in 0..SETS * PER_SET {
            let sets = classify(&filter, key);
            assert!(sets.contains(&(key % SETS)), "no set is missed");
            spurious += sets.len() as u64 - 1;
            asked += SETS - 1;
            overlaid += (0..SETS)
                .filter(|&set| set != key % SETS)
                .map(|set| places(key, set))
                .filter(|&(word, mask)| words[word] & mask == mask)
                .count() as u64;
        }
    }
    let rate = spurious as f64 / asked as f64;
    assert!((rate - rates).abs() < 5.0 * (rates / asked as f64).sqrt() * 1.2, "{rate}, expected {rates}");
    assert!((rate - 0.003_1).abs() < 1e-4, "{rate}");
    let overlaid = overlaid as f64 / asked as f64;
    assert!((overlaid - 0.005_4).abs() < 3e-4, "{overlaid} with independent hashes");
}

#[test]
fn a_query_reads_one_word() {
    // The answer depends on one word alone: with everything else changed it is the same.
    for width in OmassWord::MEMBERS {
        let asked = OmassSettings { items: Some(1_000), word: Some(*width), ..Default::default() };
        let mut filter = Omass::with(asked).unwrap();
        for key in 0..1_000u64 {
            filter.insert_with(&key, Group(key % 4)).unwrap();
        }
        let mut random = SplitMix::new(2);
        for key in 0..2_000u64 {
            let mut other = filter.clone();
            let (word, len) = (filter.mechanism.word(key.digest(filter.hashing())), u64::from(width.0));
            assert_eq!(word % len, 0, "a word is aligned");
            for (bits, at) in other.mechanism.bits.words_mut().iter_mut().zip((0..).step_by(64)) {
                *bits = if (word..word + len).contains(&at) { *bits } else { random.next_u64() };
            }
            assert_eq!(filter.classify(&key), other.classify(&key));
        }
    }
}

#[test]
fn all_sets_at_once_are_those_that_are_asked_one_by_one() {
    for (sets, word, hashes) in
        [(1, 64, 7), (4, 64, 5), (16, 64, 4), (13, 128, 9), (70, 256, 3), (200, 512, 2), (512, 512, 1)]
    {
        let asked = OmassSettings {
            sets: Some(sets),
            bits: Some(200 * u64::from(word)),
            hashes: Some(hashes),
            word: Some(OmassWord(word)),
            ..Default::default()
        };
        let mut filter = Omass::with(asked).unwrap();
        for key in 0..800u64 {
            filter.insert_with(&key, Group(key % sets)).unwrap();
        }
        for key in 0..3_000u64 {
            let sets: Vec<_> = (0..sets).filter(|&set| filter.contains_in(&key, set)).collect();
            assert_eq!(filter.classify(&key), sets, "key {key}");
            assert!(key >= 800 || !sets.is_empty());
        }
    }
}

#[test]
fn more_sets_than_a_sub_block_has_bits_are_refused() {
    assert!(Omass::with_size(16, 640, 4).is_ok() && Omass::with_size(17, 640, 4).is_err());
    assert!(Omass::with_size(65, 640, 1).is_err());
}

#[test]
fn a_set_is_asked_for_by_name() {
    let filter = filled(3);
    assert!((0..1_000).all(|key| holds(&filter, key, key % SETS)));
    let others = (0..1_000).filter(|&key| holds(&filter, key, (key + 1) % SETS)).count();
    assert!(others < 15, "{others}");
    assert_eq!(figure(&filter, "bits of a sub-block"), 16);
}
