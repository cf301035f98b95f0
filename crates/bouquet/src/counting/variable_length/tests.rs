use super::*;
use crate::theory::spread;

const N: u64 = 20_000;
const DEFAULT: Shape = Shape { bits: 400_000, hashes: 12, set: 10, quorum: 9, keep: 8 };
const STRICT: Shape = Shape { quorum: 10, keep: 9, ..DEFAULT };

fn filled(shape: Shape, seed: u64) -> VariableLength {
    let settings = VariableLengthSettings::of_shape(shape);
    let mut filter = VariableLength::hashed(settings, Hashing::seeded(seed)).unwrap();
    (0..N).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn missed(filter: &VariableLength, keys: std::ops::Range<u64>) -> f64 {
    let count = keys.end - keys.start;
    keys.filter(|key| !filter.contains(key)).count() as f64 / count as f64
}

#[test]
fn the_rates_are_the_predicted_ones() {
    for (shape, printed) in [(DEFAULT, 0.0135), (STRICT, 0.0024)] {
        let filter = filled(shape, 1);
        assert_eq!(missed(&filter, 0..N), 0.0);
        let queries = 500_000;
        let found = 1.0 - missed(&filter, 1 << 40..(1 << 40) + queries);
        // The rate's slope in the fill is steeper than that of all k bits together nowhere.
        let fill_luck = spread::ones_variance(400_000, N, 10).sqrt() / 400_000.0;
        let slope = (shape.rate_at(0.394) - shape.rate_at(0.393)) / 0.001;
        let sigma = spread::test_sigma_conditional(shape.rate(N), queries).hypot(slope * fill_luck);
        assert!((found - shape.rate(N)).abs() < 5.0 * sigma, "{found} {}", shape.rate(N));
        assert!((shape.rate(N) - printed).abs() < 5e-5);
    }
}

#[test]
fn removals_lose_as_many_keys_as_predicted_and_removed_keys_answer_no() {
    for (shape, printed, tolerance) in [(DEFAULT, 0.0039, 0.2), (STRICT, 0.037, 0.1)] {
        let mut sum = 0.0;
        for seed in 0..10 {
            let mut filter = filled(shape, seed);
            let mut removed = 0;
            for key in 0..2_000u64 {
                // A few have been lost to the removals before them.
                removed += u64::from(filter.remove(&key).is_ok());
                assert!(!filter.contains(&key));
            }
            assert!(removed > 1_900);
            assert_eq!(missed(&filter, 0..2_000), 1.0);
            sum += missed(&filter, 2_000..N);
        }
        let mean = sum / 10.0;
        assert!((mean / printed - 1.0).abs() < tolerance, "{mean} instead of {printed}");
        let expected = shape.misses(N, 2_000, 0.0);
        let sigma = spread::test_sigma_conditional(expected, 10 * (N - 2_000));
        assert!((mean - expected).abs() < 5.0 * sigma, "{mean}, expected {expected} with sigma {sigma}");
    }
}

#[test]
fn recovering_cuts_later_losses() {
    let (mut healed, mut left) = (0.0, 0.0);
    for seed in 0..3 {
        let mut filter = filled(DEFAULT, seed);
        (0..2_000u64).for_each(|key| drop(filter.remove(&key)));
        let mut untended = filter.clone();
        let lost = missed(&filter, 4_000..N);
        // Bits that a key gets back may bring back another that shares them.
        (2_000..N).for_each(|key| assert!(filter.recover(&key) || !untended.contains(&key)));
        for filter in [&mut filter, &mut untended] {
            (2_000..4_000u64).for_each(|key| drop(filter.remove(&key)));
        }
        healed += missed(&filter, 4_000..N) - lost;
        left += missed(&untended, 4_000..N) - lost;
    }
    assert!(healed < left / 2.0, "{healed} with recovery, {left} without");
}

#[test]
fn one_cycle_of_ageing_empties_the_filter() {
    let mut filter = filled(DEFAULT, 1);
    filter.age(100_000);
    assert_eq!(filter.bits().count_ones_in(0, 100_000), 0);
    assert!(filter.bits().count_ones() > 100_000);
    // A quarter of the positions is gone.
    let expected = DEFAULT.misses(N, 0, 0.25);
    let measured = missed(&filter, 0..N);
    // The ten bits of a key are missed independently, and keys nearly so.
    let sigma = spread::test_sigma_conditional(expected, N);
    assert!((measured - expected).abs() < 5.0 * sigma, "{measured} {expected}");
    filter.age(300_000);
    assert_eq!(filter.bits().count_ones(), 0);
    assert_eq!(filter.mechanism.next, 0);
}

#[test]
fn random_ageing_clears_as_many_as_chance_does() {
    let (bits, ageing) = (Some(100_000), Some(Ageing::Random));
    let mut filter = VariableLength::with(VariableLengthSettings { bits, ageing, ..Default::default() }).unwrap();
    (0..5_000u64).for_each(|key| {
        filter.insert(&key);
    });
    let before = filter.bits().count_ones() as f64;
    filter.age(50_000);
    let after = filter.bits().count_ones() as f64;
    // A one outlives this many draws among m bits with probability e^-1/2; they compete, so scatter less than alone.
    let alive = (-0.5f64).exp();
    assert!((after - before * alive).abs() < 5.0 * (before * alive * (1.0 - alive)).sqrt(), "{before} {after}");
    filter.advance(u64::MAX);
    assert_eq!(filter.bits().count_ones(), 0);
}

#[test]
fn a_key_has_different_positions_even_in_a_tiny_filter() {
    let shape = Shape { bits: 12, hashes: 12, set: 10, quorum: 9, keep: 8 };
    for key in 0..100u64 {
        let mut filter = VariableLength::with_shape(shape).unwrap();
        filter.insert(&key);
        assert_eq!((filter.bits().count_ones(), filter.signature(&key)), (10, 10));
        filter.remove(&key).unwrap();
        assert_eq!(filter.bits().count_ones(), 8);
    }
    assert!(VariableLength::with_shape(Shape { bits: 11, ..shape }).is_err());
}

#[test]
fn signatures_grow_with_packets() {
    let mut filter = filled(DEFAULT, 2);
    for key in 0..1_000u64 {
        (0..5).for_each(|_| assert!(filter.touch(&key).is_some()));
    }
    let mean = |keys: std::ops::Range<u64>| keys.map(|key| filter.count(&key).count).sum::<u64>() as f64 / 1_000.0;
    assert_eq!(mean(0..1_000), 3.0, "all twelve");
    assert!((mean(1_000..2_000) - (1.0 + 2.0 * 0.3935)).abs() < 0.1);
}
