use super::*;
use crate::AnyFilter;
use crate::OpenOptions;
use crate::capability::{Item, Note};
use crate::hash::SplitMix;
use crate::key::Key;
use crate::kind::Argument;
use crate::membership::testing::{self, figure, number, rows};
use crate::theory::{protection, spread};

const N: u64 = 100_000;
const M: u64 = 1_000_000;
const K: u32 = 7;
const ABSENT: u64 = 1 << 40;

fn filled(recheck: bool, seed: u64) -> ErrorProtected {
    let settings = ErrorProtectedSettings {
        bits: Some(M),
        hashes: Some(K),
        recheck: Some(recheck),
        ..ErrorProtectedSettings::default()
    };
    let mut filter = ErrorProtected::hashed(settings, Hashing::seeded(seed)).unwrap();
    filter.insert_batch(&(0..N).collect::<Vec<_>>());
    filter
}

fn lost(filter: &ErrorProtected) -> u64 {
    (0..N).filter(|key| !filter.contains(key)).count() as u64
}

fn found(filter: &ErrorProtected, queries: u64) -> f64 {
    (ABSENT..ABSENT + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64
}

#[test]
fn a_flip_in_each_of_a_thousand_words_loses_no_key() {
    let queries = 1_000_000;
    let mut any = testing::filled(&KIND, &[("bits", "1000000"), ("hashes", "7")], N, 1);
    let sound = any.downcast_ref::<ErrorProtected>().unwrap().clone();
    any.act("strike", Argument::Number(1_000)).unwrap();
    let struck = &any.downcast_ref::<ErrorProtected>().unwrap().clone();
    assert_eq!((testing::found(&any, 0..N), figure(&any, "damaged words")), (N, 1_000));
    let ones = 1.0 - theory::standard::zeros(M, N, K);
    let expected = protection::rate_with_saturated(ones, 1_000.0 / (M / 64) as f64, K);
    assert!((expected - 0.012_58).abs() < 5e-6, "{expected}");
    let sigma = spread::test_sigma(M, N, K, queries) * expected / theory::standard::rate(M, N, K);
    let rate = testing::share_found(&any, ABSENT..ABSENT + queries);
    assert!((rate - expected).abs() < 5.0 * sigma, "{rate}, expected {expected} +- {sigma}");
    // Rewritten they are the same filter, and sound.
    let Reply::Integer(repaired) = any.act("scrub", Argument::Nothing).unwrap() else { panic!("no number") };
    let faults = rows(any.ask("faults", Argument::Nothing).unwrap());
    let faults: Vec<_> = faults[0].iter().map(number).collect();
    assert_eq!((repaired, &faults[1..], testing::found(&any, 0..N)), (1_000, &[0.0, 1_000.0][..], N));
    assert_eq!(testing::share_found(&any, ABSENT..ABSENT + 100_000), found(struck, 100_000));
    // Without parity the same flips lose 0.7 % of the members.
    let mut plain = struck.bits().clone();
    plain.xor(sound.bits()).unwrap();
    assert_eq!(plain.count_ones(), 1_000, "one bit each");
    let places = sound.mechanism.array.places;
    let gone = (0..N).filter(|key| !places.all(key.digest(sound.hashing()), |at| struck.bits().get(at))).count() as f64;
    let share = protection::lost(K, 1_000.0 / M as f64);
    let sigma = (share * N as f64 * (1.0 + 7.0 * 0.7)).sqrt();
    assert!((gone - share * N as f64).abs() < 5.0 * sigma, "{gone} of {}", share * N as f64);
}

#[test]
fn flips_by_chance_are_detected_and_missed_as_often_as_theory_says() {
    // Flips over all bits, parities included, with a mean of x per word of 65 bits.
    for (x, seed) in [(0.02, 1), (0.2, 2), (1.0, 3)] {
        let mut filter = filled(false, seed);
        let before = filter.clone();
        let words = filter.parities().len();
        let mut random = SplitMix::new(seed);
        let mut hits = vec![0u32; words as usize];
        for _ in 0..(x * words as f64) as u64 {
            let at = random.below(M + words);
            hits[(at.checked_sub(M).unwrap_or(at / 64)) as usize] += 1;
            filter.flip(at).unwrap();
        }
        let detected = filter.damaged();
        let odd = hits.iter().filter(|hits| *hits % 2 == 1).count() as u64;
        assert_eq!(detected, odd, "every odd number of flips is noticed, no other");
        let missed = (0..words).filter(|&word| {
            let (a, b) = (filter.mechanism.stored(word), before.mechanism.stored(word));
            a != b && filter.mechanism.is_sound(word, a)
        });
        let missed = missed.count() as f64;
        for (measured, chance) in [(detected as f64, protection::detected(x)), (missed, protection::missed(x))] {
            let mean = chance * words as f64;
            // Of the words with two flips, one in 65 has the same bit flipped twice, and lost nothing.
            let slack = 0.04 * protection::missed(x) * words as f64;
            assert!((measured - mean).abs() < 5.0 * mean.sqrt() + slack, "{x}: {measured}, expected {mean}");
        }
        // Corrected are all that were detected; what is missed may lose keys.
        assert_eq!((filter.scrub(), filter.damaged()), (detected, 0));
        let (lost, allowed) = (lost(&filter) as f64, missed * 2.0 * 64.0 * 0.7);
        assert!(lost <= allowed, "{x}: {lost} lost, {missed} words missed");
    }
}

/// Counts probes.
struct Counted(u32);

impl Memory for Counted {
    fn probe(&mut self, _position: u64, bit: bool) -> bool {
        self.0 += 1;
        bit
    }
}

#[test]
fn a_second_look_saves_what_glitches_would_lose() {
    for (recheck, keys, expected) in [("false", 200, 6.98e-3), ("true", 4_000, 2.8e-5)] {
        let settings = [("bits", "1000000"), ("hashes", "7"), ("recheck", recheck)];
        let filter = testing::filled(&KIND, &settings, N, 5);
        let glitched = |key: u64| {
            let pair = Item { key: &key.to_le_bytes(), note: Note::Bytes(b"0.001") };
            1e3 * number(&filter.ask("glitched", Argument::Item(pair)).unwrap())
        };
        let (asked, lost) = (1e3 * keys as f64, (0..keys).map(glitched).sum::<f64>());
        let theory = number(&filter.ask("glitches", Argument::Share(0.001)).unwrap());
        assert!((theory / expected - 1.0).abs() < 0.005, "{theory}");
        assert!((lost - theory * asked).abs() < 5.0 * (theory * asked).sqrt(), "{recheck}: {lost} of {asked}");
    }
    // What it costs: of absent keys those with exactly one zero are looked at again.
    let filter = filled(true, 5);
    let ones = filter.stats().fill.unwrap();
    let queries = 200_000;
    let again = (ABSENT..ABSENT + queries).filter(|key| {
        let mut memory = Counted(0);
        filter.contains_through(key, &mut memory);
        memory.0 == K + 1
    });
    let (again, expected) = (again.count() as f64 / queries as f64, protection::rechecks(ones, K));
    assert!((again - expected).abs() < 5.0 * (expected / queries as f64).sqrt(), "{again}, expected {expected}");
    assert!((expected - 0.057).abs() < 0.001, "{expected}");
}

#[test]
fn damage_from_before_an_insertion_is_caught_after_it() {
    for width in [64, 32, 16, 8] {
        let settings = ErrorProtectedSettings {
            bits: Some(64_000),
            hashes: Some(5),
            word: Some(ParityWord(width)),
            ..ErrorProtectedSettings::default()
        };
        let mut filter = ErrorProtected::with(settings).unwrap();
        (0..3_000u64).for_each(|key| {
            filter.insert(&key);
        });
        filter.strike(filter.parities().len() / 20, 3).unwrap();
        (3_000..6_000u64).for_each(|key| {
            filter.insert(&key);
        });
        assert!(filter.repaired() > 0, "insertions found some");
        assert!((0..6_000u64).all(|key| filter.contains(&key)));
        filter.scrub();
        assert!((0..6_000u64).all(|key| filter.contains(&key)));
        let words = filter.parities().len() / 20;
        assert_eq!(filter.repaired(), words, "each was noticed once");
    }
}

#[test]
fn a_word_that_was_rewritten_is_protected_against_the_next_flip() {
    let mut filter = ErrorProtected::with_size(64, 1).unwrap();
    filter.insert("rose");
    let position = filter.bits().ones().next().unwrap();
    filter.flip(position).unwrap();
    assert!(filter.check("rose"));
    filter.flip(position).unwrap();
    assert!(filter.contains("rose"), "noticed again");
    // Without the rewriting the second flip would undo the first, and a third escape no more than one.
    let mut other = ErrorProtected::with_size(64, 1).unwrap();
    other.insert("rose");
    other.flip(position).unwrap();
    other.flip((position + 1) % 64).unwrap();
    assert!(!other.contains("rose"), "two flips in one word are beyond the model");
}

#[test]
fn merging_checks_both_filters() {
    let mut here = ErrorProtected::with_size(64_000, 5).unwrap();
    let mut there = here.clone();
    (0..3_000u64).for_each(|key| {
        here.insert(&key);
    });
    (3_000..6_000u64).for_each(|key| {
        there.insert(&key);
    });
    here.strike(40, 1).unwrap();
    there.strike(40, 2).unwrap();
    let mut both = here.clone();
    both.merge(&there).unwrap();
    assert_eq!((both.damaged(), both.repaired()), (0, 80));
    assert!((0..6_000u64).all(|key| both.contains(&key)));
    let mut common = here.clone();
    common.intersect(&both).unwrap();
    assert!((0..3_000u64).all(|key| common.contains(&key)) && common.damaged() == 0);
}

#[test]
fn estimates_leave_out_what_faults_have_filled() {
    let mut filter = filled(false, 8);
    filter.strike(3_000, 1).unwrap();
    for _ in 0..2 {
        let estimate = filter.cardinality();
        // A fifth of the words say nothing: the error grows a little.
        assert!((estimate.keys - N as f64).abs() < 6.0 * estimate.standard_error, "{estimate:?}");
        filter.scrub();
    }
    let mut other = filled(false, 8);
    other.strike(3_000, 2).unwrap();
    let overlap = filter.overlap(&other).unwrap();
    assert!((overlap.jaccard - 1.0).abs() < 0.01, "{overlap:?}");
}

#[test]
fn a_flip_in_a_frame_is_refused_and_in_a_mapped_file_loses_no_key() {
    let mut filter = ErrorProtected::with_size(64_000, 5).unwrap();
    (0..6_000u64).for_each(|key| {
        filter.insert(&key);
    });
    let frame = filter.to_bytes();
    let mut refused = 0;
    for at in 0..frame.len() {
        let mut flipped = frame.clone();
        flipped[at] ^= 1 << (at % 8);
        refused += usize::from(ErrorProtected::from_bytes(&flipped).is_err());
    }
    assert_eq!(refused, frame.len(), "frames have check values");
    // A map is not read as a whole: there the parity bits stand alone.
    let path = std::env::temp_dir().join(format!("bouquet-protected-{}.bq", std::process::id()));
    let words: Vec<u8> = filter.bits().words().iter().flat_map(|word| word.to_le_bytes()).collect();
    let store = frame.windows(words.len()).position(|bytes| bytes == words).unwrap();
    for word in [0, 100, 500, 900] {
        let mut flipped = frame.clone();
        flipped[store + 8 * word] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        let mapped = AnyFilter::open_mapped(&path, &OpenOptions::default()).unwrap();
        let bits = mapped.downcast_ref::<ErrorProtected>().unwrap();
        assert_eq!(bits.damaged(), 1, "word {word}");
        let verb = mapped.contains().unwrap();
        assert!((0..6_000u64).all(|key| verb.contains(&key.to_le_bytes())));
    }
    std::fs::remove_file(&path).ok();
    // A damaged filter that is written keeps its damage, and so its parities tell of it.
    filter.strike(20, 4).unwrap();
    let opened = ErrorProtected::from_bytes(&filter.to_bytes()).unwrap();
    assert_eq!((opened.damaged(), &opened), (20, &filter));
}
