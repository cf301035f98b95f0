use super::*;
use crate::hash::Hashing;
use crate::kind::Config;
use crate::membership::Layout;
use crate::theory::spread::test_sigma_conditional;

fn made(settings: &[(&str, &str)], seed: u64) -> Blocked {
    let config = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
    let config = settings.iter().fold(config, |config, (name, text)| config.set(name, text).unwrap());
    Blocked::from_config(&config).unwrap()
}

/// The mean rates of 30 instances of 100,000 keys: of their content and measured with 50,000 queries each.
fn rates(settings: &[(&str, &str)]) -> (f64, f64, f64) {
    let (mut measured, mut now, mut squares) = (0.0, 0.0, 0.0);
    for seed in 0..30 {
        let mut filter = made(settings, seed);
        (0..100_000u64).for_each(|key| {
            filter.insert(&key);
        });
        measured += (100_000..150_000u64).filter(|key| filter.contains(key)).count() as f64 / 50_000.0;
        now += filter.rate_now();
        squares += filter.rate_now().powi(2);
    }
    let mean = now / 30.0;
    let spread = ((squares / 30.0 - mean * mean).max(0.0) / 29.0).sqrt();
    (measured / 30.0, mean, spread)
}

#[test]
fn rates_are_the_exact_mixture_and_not_the_classic_one() {
    let bits = ("bits", "1000000");
    for (block, hashes, expected) in [("512", "7", 0.009_686_0), ("64", "5", 0.017_844)] {
        let (measured, mean, spread) = rates(&[bits, ("hashes", hashes), ("block", block)]);
        let sigma = test_sigma_conditional(expected, 1_500_000);
        assert!((measured - mean).abs() < 5.0 * sigma, "{block}: {measured} against its own fill's {mean}");
        assert!((mean - expected).abs() < 5.0 * spread, "{block}: {mean} +- {spread}");
        if block == "64" {
            assert!((measured - 0.017_051).abs() > 5.0 * sigma, "the classic inner rate is too low");
        }
    }
}

#[test]
fn patterns_add_what_sharing_them_costs() {
    let settings = [("bits", "1000000"), ("hashes", "5"), ("block", "64"), ("patterns", "4096")];
    let (measured, ..) = rates(&settings);
    let expected = made(&settings, 0).layout().expected_rate(100_000);
    // One fixed table stands for all tables: its own scatter is about 1 % of the rate.
    assert!((measured / expected - 1.0).abs() < 0.03, "{measured} {expected}");
    assert!(expected > 0.019);
}

#[test]
fn all_positions_of_a_key_share_one_aligned_block() {
    for block in ["512", "256", "128", "64", "32"] {
        for patterns in ["0", "64"] {
            let filter = made(&[("bits", "100000"), ("hashes", "9"), ("block", block), ("patterns", patterns)], 1);
            let bits: u64 = block.parse().unwrap();
            for key in 0..10_000u64 {
                let digest = Hashing::seeded(1).digest(&key.to_le_bytes());
                let mut blocks = Vec::new();
                filter.layout().all(digest, |position| {
                    blocks.push(position / bits);
                    true
                });
                assert!(blocks.len() == 9 && blocks.windows(2).all(|pair| pair[0] == pair[1]));
            }
        }
    }
}

#[test]
fn sizing_needs_the_published_bits_per_key() {
    for (block, fpr, hashes, bits_per_key) in [
        ("512", "0.01", 6, 9.92),
        ("512", "0.001", 9, 15.55),
        ("512", "0.0001", 12, 22.03),
        ("64", "0.01", 5, 12.14),
        ("64", "0.001", 7, 24.00),
    ] {
        let filter = made(&[("items", "1000000"), ("fpr", fpr), ("block", block)], 0);
        assert!(
            (filter.bits().len() as f64 / 1e6 - bits_per_key).abs() < 0.01,
            "{block} {fpr}: {}",
            filter.bits().len()
        );
        assert!(filter.hashes() == hashes || block == "64", "{block} {fpr}: {}", filter.hashes());
    }
}

#[test]
fn halving_equals_building_at_half_the_size() {
    let build = |bits| {
        let mut filter = made(&[("bits", bits), ("hashes", "4"), ("block", "128")], 3);
        (0..300u64).for_each(|key| {
            filter.insert(&key);
        });
        filter
    };
    assert_eq!(build("12800").halved().unwrap().unwrap(), build("6400"));
}

#[test]
fn cardinality_is_within_five_standard_errors() {
    for settings in [
        [("bits", "200000"), ("hashes", "6"), ("block", "512")],
        [("bits", "200000"), ("hashes", "6"), ("block", "64")],
    ] {
        let (mut squares, mut stated) = (0.0, 0.0);
        for seed in 0..40 {
            let mut filter = made(&settings, seed);
            (0..20_000u64).for_each(|key| {
                filter.insert(&key);
            });
            let estimate = filter.cardinality();
            let error = estimate.keys - 20_000.0;
            assert!(error.abs() < 5.0 * estimate.standard_error, "{error} +- {}", estimate.standard_error);
            squares += error * error / 40.0;
            stated = estimate.standard_error;
        }
        // The stated error is the real one: 40 runs tell it to 5 * 11 %.
        assert!((squares.sqrt() / stated - 1.0).abs() < 0.55, "{} {stated}", squares.sqrt());
    }
}
