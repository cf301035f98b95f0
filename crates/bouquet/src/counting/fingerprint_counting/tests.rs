use std::collections::HashMap;

use super::*;
use crate::counting::counting::Counting;
use crate::hash::{Hashing, SplitMix};
use crate::kind::Config;
use crate::kind::Structure;
use crate::parts::marked_cells::testing::{measured_rate, sigma};
use crate::store::Counters;
use crate::{AnyFilter, Error};

fn config(settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap())
}

fn empty(settings: &[(&str, &str)]) -> FingerprintCounting {
    FingerprintCounting::from_config(&config(settings)).unwrap()
}

/// The best filter for this many keys in this many bits.
fn with_budget(items: u64, bits: u64) -> FingerprintCounting {
    let settings = FingerprintCountingSettings { items: Some(items), bits: Some(bits), ..Default::default() };
    FingerprintCounting::with(settings).unwrap()
}

#[test]
fn rates_are_the_predicted_ones_and_a_fifth_of_plain_counters() {
    let n = 100_000;
    for (bits_per_key, hashes, expected, queries) in [(40, "7", 1.033e-3, 2_000_000), (24, "4", 0.016_12, 500_000)] {
        let bits = (n * bits_per_key).to_string();
        let mut filter = empty(&[("bits", &bits), ("hashes", hashes), ("fingerprint-bits", "2")]);
        assert!(filter.stats().bits <= n * bits_per_key);
        (0..n).for_each(|key| _ = filter.insert(&key));
        assert!((0..n).all(|key| filter.contains(&key)));
        let rate = measured_rate(|key| filter.contains(key), queries);
        let sigma = sigma(expected, filter.mechanism.hashes(), filter.cells().len(), queries);
        assert!((rate - expected).abs() < 5.0 * sigma, "{rate} for {expected}, sigma {sigma}");
        if bits_per_key == 40 {
            let mut plain = Counting::with_size(10 * n, 7).unwrap();
            (0..n).for_each(|key| assert!(plain.insert(&key).is_ok()));
            assert_eq!(plain.stats().bits, 40 * n);
            let plain = measured_rate(|key| plain.contains(key), 500_000);
            assert!(rate <= plain / 5.0, "{rate} against {plain}");
        }
    }
}

#[test]
fn the_optimum_has_two_bits_at_both_budgets() {
    for (bits, hashes) in [(40_000, 7), (24_000, 4)] {
        let filter = with_budget(1_000, bits);
        assert_eq!(
            (filter.code().fingerprint_bits, filter.code().counter_bits, filter.mechanism.hashes()),
            (2, 4, hashes)
        );
    }
    for fpr in [0.1, 0.01, 1e-4, 1e-8] {
        assert_eq!(FingerprintCounting::with_rate(10_000, fpr).unwrap().code().fingerprint_bits, 2, "{fpr}");
    }
}

#[test]
fn churn_loses_no_key_and_removing_everything_leaves_zeros() {
    let n = 5_000;
    let mut filter = with_budget(n, 40 * n);
    let mut model: HashMap<u64, u64> = HashMap::new();
    let mut random = SplitMix::new(1);
    let mut keys = Vec::new();
    for step in 0..20 * n {
        // Keys of a small universe come back, so that many are in two or three times.
        if keys.len() < n as usize || step % 2 == 0 {
            let key = random.below(2 * n);
            keys.push(key);
            filter.insert(&key);
            *model.entry(key).or_default() += 1;
        } else {
            let key = keys.swap_remove(random.below(keys.len() as u64) as usize);
            filter.remove(&key).unwrap();
            *model.entry(key).or_default() -= 1;
        }
    }
    assert!(model.values().any(|&times| times > 2));
    for (key, &times) in &model {
        let count = filter.count(key);
        assert!(count.count >= times && (times == 0 || filter.contains(key)), "{key}: {times} times, {count:?}");
    }
    assert_eq!(filter.frozen(), 0);
    for key in keys {
        filter.remove(&key).unwrap();
    }
    assert_eq!(filter.cells(), &Counters::zeroed(filter.cells().len(), 6).unwrap());
    assert_eq!(filter.items(), 0);
}

#[test]
fn a_key_that_is_in_twice_is_found_and_removing_one_brings_its_fingerprint_back() {
    let mut filter = FingerprintCounting::with_size(6_000, 5).unwrap();
    for key in 0..64u64 {
        filter.clear().unwrap();
        filter.insert(&key);
        let once = filter.clone();
        filter.insert(&key);
        // The xor of the two is 0, and yet the key is found.
        assert!(filter.cells().iter().all(|cell| filter.code().fingerprint(cell) == 0));
        assert!(filter.contains(&key));
        filter.remove(&key).unwrap();
        assert_eq!(filter.cells(), once.cells());
    }
}

#[test]
fn fingerprints_are_all_in_range_and_equally_frequent() {
    let filter = FingerprintCounting::with_size(60_000, 5).unwrap();
    let mut seen = [0u64; 4];
    for key in 0..4_000u64 {
        let mut one = filter.clone();
        one.clear().unwrap();
        one.insert(&key);
        let prints: Vec<u64> =
            one.cells().iter().filter(|&cell| cell != 0).map(|c| one.code().fingerprint(c)).collect();
        assert!(prints.len() == 5 && prints.iter().all(|&print| print == prints[0]), "one for all cells");
        seen[prints[0] as usize] += 1;
    }
    let chi: f64 = seen.iter().map(|&count| (count as f64 - 1_000.0).powi(2) / 1_000.0).sum();
    assert!(chi < 3.0 + 5.0 * 6f64.sqrt(), "{seen:?}");
}

#[test]
fn merging_equals_inserting_both_and_freezes_what_does_not_fit() {
    let filled = |keys: std::ops::Range<u64>| {
        let mut filter = FingerprintCounting::with_size(30_000, 5).unwrap();
        keys.for_each(|key| _ = filter.insert(&key));
        filter
    };
    let mut sum = filled(0..600);
    sum.merge(&filled(300..900)).unwrap();
    let mut both = filled(0..600);
    (300..900u64).for_each(|key| _ = both.insert(&key));
    assert_eq!(sum, both);

    let times = |times: u64| {
        let mut filter = FingerprintCounting::with_size(600, 5).unwrap();
        (0..times).for_each(|_| _ = filter.insert("rose"));
        filter
    };
    let mut full = times(8);
    full.merge(&times(7)).unwrap();
    assert_eq!((full.count("rose"), full.frozen()), (Multiplicity { count: 15, at_least: true }, 5));
    (0..15).for_each(|_| full.remove("rose").unwrap());
    assert!(full.contains("rose"), "frozen for ever");
    assert_eq!(full.frozen(), 5);
}

#[test]
fn narrow_counters_freeze_as_often_as_expected_and_lose_no_key() {
    let n = 20_000;
    let mut filter = empty(&[("bits", "600000"), ("hashes", "7"), ("fingerprint-bits", "2"), ("counter-bits", "3")]);
    (0..n).for_each(|key| _ = filter.insert(&key));
    let (expected, frozen) = (filter.expected_frozen(n), filter.frozen() as f64);
    assert!(expected > 5.0 && (frozen - expected).abs() < 5.0 * expected.sqrt(), "{frozen} for {expected}");
    (0..n / 2).for_each(|key| filter.remove(&key).unwrap());
    assert!((n / 2..n).all(|key| filter.contains(&key)));
}

#[test]
fn filters_that_differ_refuse_to_merge_and_say_in_what() {
    let base = [("bits", "6000"), ("hashes", "4"), ("fingerprint-bits", "2")];
    let seeded = FingerprintCounting::from_config(&config(&base).hashed(Hashing::seeded(9))).unwrap();
    for (other, field) in [
        (empty(&[("bits", "7000"), ("hashes", "4")]), "bits"),
        (empty(&[("bits", "6000"), ("hashes", "8")]), "hashes"),
        (empty(&[("bits", "5000"), ("hashes", "4"), ("fingerprint-bits", "1")]), "bits"),
        (
            empty(&[("bits", "6000"), ("hashes", "4"), ("fingerprint-bits", "1"), ("counter-bits", "5")]),
            "fingerprint-bits",
        ),
        (seeded, "hashing"),
    ] {
        match empty(&base).merge(&other) {
            Err(Error::Incompatible { field: found, .. }) => assert_eq!(found, field),
            answer => panic!("{answer:?}"),
        }
    }
}

#[test]
fn frames_with_cells_that_no_keys_leave_are_refused() {
    let mut filter = FingerprintCounting::with_size(600, 5).unwrap();
    (0..20u64).for_each(|key| _ = filter.insert(&key));
    assert_eq!(FingerprintCounting::from_bytes(&filter.to_bytes()).unwrap(), filter);
    // A fingerprint without a key, and one in a frozen cell.
    for cell in [1 << 4, 3 << 4, 1 << 4 | 15] {
        let code = *filter.code();
        let mut forged = filter.clone();
        forged.mechanism.cells.set(7, cell);
        assert!(!code.is_cell(cell));
        assert!(matches!(FingerprintCounting::from_bytes(&forged.to_bytes()), Err(Error::Corrupt { .. })), "{cell}");
    }
    let mut liar = filter.clone();
    liar.items = 21;
    assert!(matches!(FingerprintCounting::from_bytes(&liar.to_bytes()), Err(Error::Corrupt { .. })));
}

#[test]
fn sizes_reach_the_wanted_rate_in_the_fewest_cells() {
    for fpr in ["0.3", "0.01", "0.0001"] {
        for hashes in [None, Some("2"), Some("9")] {
            for items in ["1", "30", "5000"] {
                let mut settings = vec![("items", items), ("fpr", fpr)];
                settings.extend(hashes.map(|hashes| ("hashes", hashes)));
                let plan = KIND.plan(&config(&settings)).unwrap();
                let filter = empty(&settings);
                assert_eq!((plan.bits, plan.hashes), (filter.stats().bits, filter.mechanism.hashes()));
                let asked = fpr.parse::<f64>().unwrap();
                assert!(plan.fpr.unwrap() <= asked, "{settings:?}: {plan:?}");
                if items == "5000" {
                    assert!(plan.fpr.unwrap() > 0.98 * asked, "{settings:?}: {plan:?}");
                }
                let again = FingerprintCounting::from_config(&filter.config()).unwrap();
                assert_eq!((again.config(), again.stats().bits), (filter.config(), plan.bits));
            }
        }
    }
    let refused = |settings: &[(&str, &str)]| KIND.plan(&config(settings)).unwrap_err().to_string();
    assert!(refused(&[]).contains("`items`") && refused(&[("bits", "100")]).contains("`items`"));
    assert!(AnyFilter::new(&config(&[("bits", "4611686018427387904"), ("hashes", "3")])).is_err());
}
