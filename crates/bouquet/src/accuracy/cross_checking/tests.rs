use super::*;
use crate::Bloom;
use crate::theory::standard;

const KEYS: u64 = 20_000;
const STRANGERS: u64 = 1_000_000;

fn of(settings: CrossCheckingSettings, seed: u64) -> CrossChecking {
    let mut filter = CrossChecking::hashed(settings, Hashing::seeded(seed)).unwrap();
    filter.insert_batch(&(0..KEYS).collect::<Vec<_>>()).unwrap();
    assert!((0..KEYS).all(|key| filter.contains(&key)));
    filter
}

fn sized(bits_per_key: u64, limit: u32, check: Check) -> CrossCheckingSettings {
    CrossCheckingSettings {
        items: Some(KEYS),
        bits: Some(KEYS * bits_per_key),
        limit: Some(limit),
        check: Some(check),
        ..Default::default()
    }
}

fn accepted(filter: &CrossChecking) -> f64 {
    let strangers: Vec<u64> = (1 << 40..(1 << 40) + STRANGERS).collect();
    let mut answers = vec![false; strangers.len()];
    filter.contains_batch(&strangers, &mut answers);
    answers.iter().filter(|answer| **answer).count() as f64 / STRANGERS as f64
}

/// Within 5 standard deviations of a binomial.
#[track_caller]
fn near(measured: f64, expected: f64) {
    let sigma = (expected * (1.0 - expected) / STRANGERS as f64).sqrt();
    assert!((measured - expected).abs() < 5.0 * sigma, "{measured} instead of {expected}, sigma {sigma:.1e}");
}

#[test]
fn it_is_twice_as_bad_as_a_plain_filter_of_the_same_size_at_the_best_positions() {
    let filter = of(sized(12, 64, Check::All), 1);
    let measured = accepted(&filter);
    near(measured, filter.stats().fpr.unwrap());
    assert!((filter.expected(KEYS).false_positive.unwrap() - 0.0061).abs() < 1e-4);
    let plain = standard::rate(12 * KEYS, KEYS, 8);
    assert!((plain - 0.0031).abs() < 5e-5 && (1.9..2.1).contains(&(measured / plain)), "{measured}");
}

#[test]
fn it_is_seven_times_better_with_three_positions_and_24_bits_per_key() {
    let filter = of(sized(24, 3, Check::All), 2);
    let mut plain = Bloom::with_size(24 * KEYS, 3).unwrap();
    plain.insert_batch(&(0..KEYS).collect::<Vec<_>>());
    near(accepted(&filter), filter.stats().fpr.unwrap());
    assert!((filter.stats().fpr.unwrap() - 2.33e-4).abs() < 1e-5);
    let gain = plain.rate_now() / filter.stats().fpr.unwrap();
    assert!((gain - 7.0).abs() < 0.4, "{gain}");
    let more = CrossChecked::of_bits(48 * KEYS, KEYS, 2, 0.5, 3).unwrap().rate(KEYS, false);
    assert!((standard::rate(48 * KEYS, KEYS, 3) / more - 42.0).abs() < 1.0);
}

#[test]
fn the_own_part_alone_takes_the_factor_of_the_parts_away() {
    for parts in [2, 4] {
        let all = of(CrossCheckingSettings { parts: Some(parts), ..sized(12, 64, Check::All) }, 3);
        let own = of(CrossCheckingSettings { parts: Some(parts), ..sized(12, 64, Check::Own) }, 3);
        near(accepted(&own), own.stats().fpr.unwrap());
        let factor = all.stats().fpr.unwrap() / own.stats().fpr.unwrap();
        assert!((factor - f64::from(parts)).abs() < 0.2 * f64::from(parts), "{factor}");
    }
}

#[test]
fn main_and_parts_err_independently() {
    let filter = of(sized(8, 64, Check::All), 4);
    let (mut main, mut part, mut both) = (0.0, 0.0, 0.0);
    let strangers = 200_000;
    for key in 1u64 << 40..(1 << 40) + strangers {
        let digest = key.digest(&filter.hashing);
        let (a, b) = (filter.mechanism.main.accepts(digest), filter.mechanism.parts[0].accepts(digest));
        main += f64::from(u8::from(a));
        part += f64::from(u8::from(b));
        both += f64::from(u8::from(a && b));
    }
    let n = strangers as f64;
    let (p, q) = (main / n, part / n);
    let correlation = (both / n - p * q) / (p * (1.0 - p) * q * (1.0 - q)).sqrt();
    assert!(p > 0.1 && q > 0.1 && correlation.abs() < 5.0 / n.sqrt(), "{p} {q} {correlation}");
}

#[test]
fn every_key_is_in_one_part_and_the_parts_are_of_a_size() {
    let filter = of(CrossCheckingSettings { parts: Some(5), ..sized(12, 64, Check::All) }, 5);
    let tallies: Vec<u64> = filter.mechanism.parts.iter().map(|part| part.items).collect();
    assert_eq!(tallies.iter().sum::<u64>(), KEYS);
    // 4,000 each, with a standard deviation of 57.
    assert!(tallies.iter().all(|&tally| tally.abs_diff(4_000) < 283), "{tallies:?}");
}

#[test]
fn labels_say_which_part_and_several_when_it_is_open() {
    let settings = CrossCheckingSettings { by: Some(Partition::Label), parts: Some(4), ..sized(10, 64, Check::All) };
    let mut filter = CrossChecking::with(settings).unwrap();
    for key in 0..KEYS {
        filter.insert_with(&key, Label(Some(key % 4))).unwrap();
    }
    let mut open = 0u64;
    for key in 0..KEYS {
        let parts = filter.classify(&key);
        assert!(parts.contains(&(key % 4)));
        open += u64::from(parts.len() > 1);
    }
    // Three other parts may confirm it, each with its rate.
    let rate = filter.mechanism.parts.iter().map(Witness::rate_now).sum::<f64>() / 4.0;
    let share = 1.0 - (1.0 - rate).powi(3);
    let (expected, sigma) = (share * KEYS as f64, (share * (1.0 - share) * KEYS as f64).sqrt());
    assert!((open as f64 - expected).abs() < 5.0 * sigma, "{open} instead of {expected}");
    assert!(filter.insert("rose").is_err() && filter.insert_with("rose", Label(Some(4))).is_err());
    assert!(CrossChecking::with_rate(100, 0.01).unwrap().insert_with("rose", Label(Some(0))).is_err());
}

#[test]
fn it_says_when_a_plain_filter_would_be_better() {
    let advice = |settings: CrossCheckingSettings| CheckedParts::advice(&CheckedParts::resolve(&settings).unwrap());
    assert!(advice(sized(12, 64, Check::All)).is_some_and(|advice| advice.contains("take `standard`")));
    assert_eq!(advice(sized(24, 3, Check::All)), None);
}
