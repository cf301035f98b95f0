use super::*;
use crate::AnyFilter;
use crate::dynamic::dynamic::Dynamic;
use crate::hash::Secret;
use crate::kind::{Config, Structure};
use crate::shell::Choice as _;

fn config(pairs: &[(&str, &str)], seed: u64) -> Config {
    let empty = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
    pairs.iter().fold(empty, |config, (name, text)| config.set(name, text).unwrap())
}

const BASE: [(&str, &str); 3] = [("rows", "8"), ("bits", "1280"), ("hashes", "7")];

fn filled(choice: Choice, seed: u64, n: u64) -> Split {
    let text = seed.to_string();
    let pairs = [BASE.as_slice(), &[("choice", choice.word()), ("seed", &text)]].concat();
    let mut filter = Split::from_config(&config(&pairs, seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

/// The share of absent keys that seem present in 40 filters, and five standard errors.
fn measured(make: impl Fn(u64) -> Split) -> (f64, f64) {
    const FILTERS: u64 = 40;
    const QUERIES: u64 = 5_000;
    let absent = 1 << 40;
    let share = |seed| {
        let filter = make(seed);
        (absent..absent + QUERIES).filter(|key| filter.contains(key)).count() as f64 / QUERIES as f64
    };
    let shares: Vec<f64> = (0..FILTERS).map(share).collect();
    let mean = shares.iter().sum::<f64>() / FILTERS as f64;
    let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / (FILTERS - 1) as f64;
    (mean, 5.0 * (variance / FILTERS as f64).sqrt())
}

#[test]
fn the_rate_of_full_rows_is_the_predicted_one_for_every_choice() {
    let n = 8 * 133;
    for (choice, printed) in [(Choice::RoundRobin, 0.0761), (Choice::Random, 0.0800), (Choice::Hashed, 0.0105)] {
        let (rate, bound) = measured(|seed| filled(choice, seed, n));
        let expected = filled(choice, 0, 0).expected(n).false_positive.unwrap();
        assert!((rate - expected).abs() < bound, "{choice:?}: {rate} {expected} {bound}");
        assert!((rate - printed).abs() < bound, "{choice:?}: {rate} {printed} {bound}");
    }
}

#[test]
fn a_small_set_has_a_far_lower_rate_than_in_a_chain_and_eight_times_its_bits() {
    let n = 133;
    let (rate, bound) = measured(|seed| filled(Choice::RoundRobin, seed, n));
    assert!(rate + bound < 0.001, "{rate} {bound}, where a chain has 0.00985");
    let chain = Dynamic::with_size(1280, 7, 133).unwrap();
    assert_eq!(filled(Choice::RoundRobin, 0, n).stats().bits, 8 * chain.shape().bits);
    assert_eq!(filled(Choice::RoundRobin, 0, 0).stats().bits, 8 * 1280, "all rows exist from the start");
}

#[test]
fn rows_in_turn_are_equally_full_and_those_by_chance_are_not() {
    assert_eq!(filled(Choice::RoundRobin, 1, 1_001).counts(), [126, 125, 125, 125, 125, 125, 125, 125]);
    let random = filled(Choice::Random, 1, 8_000);
    // Each is binomial with mean 1,000 and standard deviation 30.
    assert!(random.counts().iter().all(|items| items.abs_diff(1_000) < 150), "{:?}", random.counts());
    assert!(random.counts().iter().any(|items| *items != 1_000));
}

#[test]
fn the_generator_goes_on_after_a_frame() {
    for choice in [Choice::RoundRobin, Choice::Random, Choice::Hashed] {
        let mut filter = filled(choice, 3, 500);
        let mut again = Split::from_bytes(&filter.to_bytes()).unwrap();
        assert_eq!(again, filter);
        for key in 500..1_000u64 {
            assert_eq!(filter.insert(&key), again.insert(&key));
        }
        assert_eq!(again, filter);
        let coded = AnyFilter::from_structure(filter.clone()).unwrap().to_compressed_bytes();
        assert_eq!(Split::from_bytes(&coded).unwrap(), filter);
    }
}

#[test]
fn layouts_answer_alike_and_can_be_merged() {
    for rows in ["1", "8", "64", "100"] {
        let make = |layout: &str, keys: std::ops::Range<u64>| {
            let pairs = [("rows", rows), ("items", "1000"), ("fpr", "0.1"), ("layout", layout)];
            let mut filter = Split::from_config(&config(&pairs, 1)).unwrap();
            keys.for_each(|key| {
                filter.insert(&key);
            });
            filter
        };
        let (slices, straight) = (make("slices", 0..1_000), make("rows", 0..1_000));
        assert!((0..5_000u64).all(|key| slices.contains(&key) == straight.contains(&key)), "{rows}");
        let mut union = make("slices", 0..500);
        union.merge(&make("rows", 500..1_000)).unwrap();
        assert!((0..1_000u64).all(|key| union.contains(&key)));
        assert_eq!(union.items(), 1_000);
        let mut same = slices.clone();
        same.merge(&slices).unwrap();
        assert!((0..5_000u64).all(|key| same.contains(&key) == slices.contains(&key)));
    }
}

#[test]
fn a_filter_that_looks_at_one_row_takes_in_no_other() {
    let mut hashed = filled(Choice::Hashed, 1, 10);
    let before = hashed.clone();
    assert!(hashed.merge(&filled(Choice::RoundRobin, 1, 10)).is_err());
    assert_eq!(hashed, before);
}

#[test]
fn the_asked_for_rate_is_kept_up_to_the_planned_items() {
    for (items, fpr) in [(1u64, 0.5), (133, 0.1), (5_000, 0.01), (100_000, 1e-6)] {
        let filter = Split::with_rate(items, fpr).unwrap();
        assert!(filter.expected(items).false_positive.unwrap() <= fpr * 1.01, "{items} {fpr}");
        let plan = Split::plan(&filter.config()).unwrap();
        assert_eq!(plan.fpr, filter.expected(items).false_positive);
    }
}

#[test]
fn keyed_frames_come_back() {
    let secret = Secret::new(&[5; 32]).unwrap();
    let keyed = config(&[("items", "100")], 0).hashed(Hashing::keyed(secret.clone()));
    let mut filter = Split::from_config(&keyed).unwrap();
    filter.insert("rose");
    let options = crate::OpenOptions { secret: Some(secret), ..Default::default() };
    let opened = AnyFilter::from_bytes_with(&filter.to_bytes(), &options).unwrap();
    assert_eq!(opened.downcast_ref::<Split>(), Some(&filter));
}

#[test]
fn frames_whose_state_contradicts_itself_are_refused() {
    let filter = filled(Choice::RoundRobin, 1, 100);
    let frame = |random: u64, rows: u64| {
        let mut out = Vec::new();
        let fill = |encoder: &mut Encoder<'static>| {
            encoder.state().u64(random);
            (0..rows).for_each(|_| encoder.state().u64(5));
            Box::leak(Box::new(filter.mechanism.chain.components().clone())).encode(encoder);
        };
        crate::codec::write_frame(KIND.facts(), &filter.config(), false, fill, &mut out).unwrap();
        Split::from_bytes(&out)
    };
    assert!(frame(1, 8).is_ok());
    assert!(frame(2, 8).is_err(), "a generator that is not used has not moved");
    assert!(frame(1, 7).is_err() && frame(1, 9).is_err());
}
