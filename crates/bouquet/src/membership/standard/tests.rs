use super::*;
use crate::error::Error;
use crate::hash::{Hashing, Secret, SplitMix};
use crate::kind::Config;
use crate::theory;

fn filled(bits: u64, hashes: u32, keys: std::ops::Range<u64>) -> Bloom {
    let mut filter = Bloom::with_size(bits, hashes).unwrap();
    keys.for_each(|key| {
        filter.insert(&key);
    });
    filter
}

/// How a batch is answered depends on the answers of the one before it; the answers must not.
#[test]
fn batches_answer_as_single_calls_do_whatever_came_before() {
    for hashes in [3, 7] {
        let filter = filled(20_000, hashes, 0..1_000);
        // Present and absent keys by turns that begin anywhere in a batch.
        let keys: Vec<u64> = [(0, 100), (1 << 40, 7), (100, 64), (1 << 41, 33), (200, 300), (1 << 42, 65), (5, 1)]
            .into_iter()
            .flat_map(|(start, len)| start..start + len)
            .collect();
        let mut answers = vec![false; keys.len() + 1];
        filter.contains_batch(&keys, &mut answers);
        let expected: Vec<bool> = keys.iter().map(|key| filter.contains(key)).collect();
        assert_eq!((&answers[..keys.len()], answers[keys.len()]), (&expected[..], false), "{hashes} positions");
        assert!(expected.iter().filter(|present| !**present).count() > 80, "absent keys are among them");
    }
}

#[test]
fn sizing_reaches_the_published_bits_per_key() {
    for (fpr, hashes, bits_per_key) in [(0.01, 7, 9.593), (0.001, 10, 14.378)] {
        let filter = Bloom::with_rate(1_000_000, fpr).unwrap();
        assert_eq!(filter.hashes(), hashes);
        assert!((filter.bits().len() as f64 / 1e6 - bits_per_key).abs() < 0.0005);
    }
}

#[test]
fn the_rate_at_ten_bits_per_key_is_the_predicted_one() {
    let (n, m, k) = (100_000, 1_000_000, 7);
    let filter = filled(m, k, 0..n);
    assert!((0..n).all(|key| filter.contains(&key)));
    let queries = 1_000_000;
    let found = (n..n + queries).filter(|key| filter.contains(key)).count() as f64;
    let sigma = theory::spread::test_sigma(m, n, k, queries);
    assert!((found / queries as f64 - 0.008_193_7).abs() < 5.0 * sigma, "{found}");
    let conditional = theory::spread::test_sigma_conditional(filter.rate_now(), queries);
    assert!((found / queries as f64 - filter.rate_now()).abs() < 5.0 * conditional);
}

#[test]
fn tiny_filters_show_the_exact_rate_and_not_the_classic_one() {
    let filters = 100_000;
    let mut sum = 0.0;
    let mut random = SplitMix::new(1);
    let independent = Config::new(KIND.facts()).set("bits", "64").unwrap().set("hashes", "5").unwrap();
    let mut filter = Bloom::from_config(&independent.set("family", "independent").unwrap()).unwrap();
    for _ in 0..filters {
        filter.clear().unwrap();
        for _ in 0..8 {
            filter.insert(&random.next_u64());
        }
        sum += filter.rate_now();
    }
    let (mean, exact, classic) = (sum / f64::from(filters), 0.023_416_1, 0.022_300_7);
    assert!((mean / exact - 1.0).abs() < 0.008, "{mean}");
    assert!((mean / classic - 1.0).abs() > 0.008);
}

#[cfg(feature = "replication")]
#[test]
fn a_survey_s_worked_example_comes_out_as_computed() {
    let config = Config::new(KIND.facts());
    let set = |config: Config, name: &str, text: &str| config.set(name, text).unwrap();
    let settings = [("bits", "16"), ("hashes", "3"), ("family", "fig2"), ("reduction", "modulo")];
    let config = settings.into_iter().fold(config, |config, (name, text)| set(config, name, text));
    let mut filter = Bloom::from_config(&config).unwrap();
    for (key, mask) in [("a", 0x010A), ("b", 0x830A), ("y", 0xA72A), ("l", 0xE7AA)] {
        filter.insert(key);
        assert_eq!(filter.bits().words(), [mask]);
    }
    assert!(!filter.contains("q"));
    assert!(filter.contains("z"), "the example's false positive");
}

#[test]
fn the_union_is_the_filter_of_the_union_bit_for_bit() {
    let mut union = filled(5_000, 5, 0..300);
    union.merge(&filled(5_000, 5, 200..500)).unwrap();
    assert_eq!(union.bits(), filled(5_000, 5, 0..500).bits());
}

#[test]
fn filters_that_differ_refuse_to_merge_and_say_in_what() {
    let seeded = |seed| {
        let config = Config::new(KIND.facts()).set("bits", "512").unwrap().set("hashes", "3").unwrap();
        Bloom::from_config(&config.hashed(Hashing::seeded(seed))).unwrap()
    };
    let mut filter = seeded(1);
    for (other, field) in [
        (Bloom::with_size(513, 3).unwrap(), "bits"),
        (Bloom::with_size(512, 4).unwrap(), "hashes"),
        (seeded(2), "hashing"),
    ] {
        match filter.merge(&other) {
            Err(Error::Incompatible { field: found, .. }) => assert_eq!(found, field),
            answer => panic!("{answer:?}"),
        }
    }
}

#[test]
fn halving_equals_building_at_half_the_size() {
    for (reduction, bits) in [("fastrange", "4000"), ("modulo", "4000"), ("mask", "4096")] {
        let build = |bits: &str| {
            let config = Config::new(KIND.facts()).set("bits", bits).unwrap().set("hashes", "4").unwrap();
            let mut filter = Bloom::from_config(&config.set("reduction", reduction).unwrap()).unwrap();
            (0..200u64).for_each(|key| {
                filter.insert(&key);
            });
            filter
        };
        let half = (bits.parse::<u64>().unwrap() / 2).to_string();
        assert_eq!(build(bits).halved().unwrap().unwrap(), build(&half), "{reduction}");
    }
    assert!(filled(4_001, 4, 0..10).halved().unwrap().is_none());
}

#[test]
fn a_filter_made_by_rate_tells_when_it_is_saturated() {
    let mut filter = Bloom::with_rate(1_000, 0.01).unwrap();
    (0..1_000u64).for_each(|key| {
        filter.insert(&key);
    });
    assert_eq!(filter.items(), 1_000);
    assert!(!filter.saturated());
    (1_000..1_500u64).for_each(|key| {
        filter.insert(&key);
    });
    assert!(filter.saturated());
}

#[test]
fn frames_give_back_equal_filters_also_when_keyed() {
    let filter = filled(10_000, 7, 0..500);
    assert_eq!(Bloom::from_bytes(&filter.to_bytes()).unwrap(), filter);

    let secret = Secret::new(&[5; 32]).unwrap();
    let config = Config::new(KIND.facts()).set("items", "100").unwrap().hashed(Hashing::keyed(secret.clone()));
    let mut keyed = Bloom::from_config(&config).unwrap();
    keyed.insert("rose");
    let frame = keyed.to_bytes();
    assert!(matches!(Bloom::from_bytes(&frame), Err(Error::Secret { .. })));
    let options = crate::OpenOptions { secret: Some(secret), ..Default::default() };
    let again = crate::AnyFilter::from_bytes_with(&frame, &options).unwrap();
    assert_eq!(again.downcast_ref::<Bloom>(), Some(&keyed));
    assert!(again.contains().unwrap().contains(b"rose"));
    assert!(!frame.windows(8).any(|window| window == [5; 8]), "the secret is not in the frame");
}
