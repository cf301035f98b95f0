//! Tests of decaying filters: the published rates, no misses, two forms that agree, time.

use super::super::testing::{assert_mean, positives};
use super::*;
use crate::hash::SplitMix;

fn filter(settings: DecayingSettings, seed: u64) -> Decaying {
    Decaying::hashed(settings, Hashing::seeded(seed)).unwrap()
}

fn example(blocks: u64) -> DecayingSettings {
    DecayingSettings {
        items: Some(10_000),
        cells: Some(140_000),
        hashes: Some(7),
        blocks: Some(blocks),
        ..Default::default()
    }
}

#[test]
fn rates_are_the_published_ones_for_every_number_of_blocks() {
    for (blocks, printed) in [(1, 0.0015), (1_000, 0.0019), (5_000, 0.0047), (10_000, 0.0107)] {
        let mut rates = vec![];
        for seed in 0..10 {
            let mut filter = filter(example(blocks), seed);
            // The rate turns with the blocks: as many stages of a round are looked at.
            for key in 0..40_000u64 {
                filter.insert(&key);
                if key > 30_000 && key % 2_500 == 0 {
                    rates.push(positives(&filter, 20_000));
                }
            }
        }
        let expected = filter(example(blocks), 0).expected(40_000).false_positive.unwrap();
        assert!((expected / printed - 1.0).abs() < 0.05, "{blocks}: {expected}");
        assert_mean(&rates, expected, &format!("{blocks} blocks"));
    }
}

#[test]
fn the_last_arrivals_are_always_found() {
    let window = 2_000;
    for form in [Form::Wraparound, Form::Decrement] {
        for blocks in [1, 125, 700, 2_000] {
            let settings =
                DecayingSettings { items: Some(window), blocks: Some(blocks), form: Some(form), ..Default::default() };
            let mut filter = filter(settings, 5);
            let mut checked = 0;
            for key in 0..40_000u64 {
                filter.insert(&key);
                // Of every age, those at the edge above all.
                if key >= window && key % 61 == 0 {
                    let ages = (0..window).step_by(7).chain(window - 50..window);
                    assert!(ages.clone().all(|age| filter.contains(&(key - age))), "{form:?} {blocks} {key}");
                    checked += ages.count();
                }
            }
            assert!(checked > 150_000);
        }
    }
}

#[test]
fn keys_older_than_the_window_and_two_rounds_are_found_at_the_rate_alone() {
    let mut filter = filter(example(1_000), 2);
    let (mut found, mut asked) = (0, 0);
    for key in 0..100_000u64 {
        filter.insert(&key);
        if key > 30_000 && key % 100 == 0 {
            asked += 100;
            found += (0..100).filter(|i| filter.contains(&(key - 12_001 - i))).count() as u64;
        }
    }
    let expected = 0.0019 * asked as f64;
    assert!((found as f64 - expected).abs() < 5.0 * (expected * 1.5).sqrt() + 0.05 * expected, "{found} of {asked}");
}

#[test]
fn both_forms_give_the_same_answers_across_many_wraps() {
    for slack in [1, 2, 5, 13] {
        for (window, blocks) in [(160, 10), (100, 1), (50, 50), (97, 7)] {
            let settings = |form| DecayingSettings {
                items: Some(window),
                blocks: Some(blocks),
                slack: Some(slack),
                fpr: Some(0.1),
                form: Some(form),
                ..Default::default()
            };
            let (mut wrapping, mut counting) =
                (filter(settings(Form::Wraparound), 1), filter(settings(Form::Decrement), 1));
            let mut random = SplitMix::new(slack);
            for arrival in 0..60_000u64 {
                let key = random.below(4 * window);
                assert_eq!(wrapping.insert(&key), counting.insert(&key), "arrival {arrival}");
                if arrival % 97 == 0 {
                    let ticks = [0, 1, 3, blocks, 2 * window][random.below(5) as usize];
                    wrapping.advance(ticks);
                    counting.advance(ticks);
                }
                let other = random.below(4 * window);
                assert_eq!(wrapping.contains(&other), counting.contains(&other), "after {arrival}");
            }
            assert_eq!(wrapping.stats().fill, counting.stats().fill);
        }
    }
}

#[test]
fn cells_are_as_wide_as_derived() {
    let bits = |settings| filter(settings, 0).cells().width();
    assert_eq!(bits(DecayingSettings { items: Some(10_000), ..Default::default() }), 5);
    let decrement = Some(Form::Decrement);
    assert_eq!(
        bits(DecayingSettings { items: Some(10_000), blocks: Some(1), form: decrement, ..Default::default() }),
        14
    );
    assert_eq!(bits(DecayingSettings { form: decrement, ..example(5_000) }), 2);
}

#[test]
fn time_adds_up_and_empties() {
    for form in [Form::Wraparound, Form::Decrement] {
        for clock in [Clock::Arrivals, Clock::Ticks] {
            let (form, clock) = (Some(form), Some(clock));
            let mut start = filter(DecayingSettings { items: Some(300), form, clock, ..Default::default() }, 4);
            (0..700u64).for_each(|key| _ = start.insert(&key));
            for (a, b) in
                [(0, 7), (7, 0), (50, 134), (18, 1), (250, 400), (3, 1 << 40), (1 << 40, 12), (u64::MAX - 5, 5)]
            {
                let (mut parts, mut whole) = (start.clone(), start.clone());
                parts.advance(a);
                parts.advance(b);
                whole.advance(a + b);
                assert!(parts == whole && parts.to_bytes() == whole.to_bytes(), "{form:?} {clock:?} {a} {b}");
            }
            start.advance(299);
            assert!(start.contains(&699u64), "{form:?} {clock:?}");
            start.advance(100);
            assert_eq!(start.stats().fill, Some(0.0), "{form:?} {clock:?}");
        }
    }
}

#[test]
fn a_window_of_ticks_keeps_keys_whatever_comes() {
    let settings =
        DecayingSettings { items: Some(5_000), clock: Some(Clock::Ticks), window: Some(60), ..Default::default() };
    let mut filter = filter(settings, 4);
    filter.insert("rose");
    (0..4_000u64).for_each(|key| _ = filter.insert(&key));
    filter.advance(59);
    assert!(filter.contains("rose") && filter.contains(&17u64));
    filter.advance(5);
    assert!(!filter.contains("rose"));
}
