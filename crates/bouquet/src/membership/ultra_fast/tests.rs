use super::*;
use crate::kind::Config;
use crate::theory::spread::test_sigma_conditional;

fn made(settings: &[(&str, &str)], seed: u64) -> UltraFast {
    let config = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
    let config = settings.iter().fold(config, |config, (name, text)| config.set(name, text).unwrap());
    UltraFast::from_config(&config).unwrap()
}

#[test]
fn parquet_s_vectors_come_out() {
    let mut filter = made(&[("bits", "256000"), ("mode", "parquet")], 0);
    for (key, hash, block, bits) in [
        ("a", 0xd24e_c4f1_a98c_6e5b, 821, [18, 17, 1, 12, 17, 24, 27, 31]),
        ("abc", 0x44bc_2cf5_ad77_0999, 268, [13, 11, 23, 21, 6, 14, 29, 29]),
    ] {
        assert_eq!(Hashing::xxh64().digest(key.as_bytes()).h1, hash);
        filter.clear().unwrap();
        filter.insert(key);
        let expected: Vec<u64> = (0..8).map(|j| block * 256 + j as u64 * 32 + bits[j as usize]).collect();
        assert_eq!(filter.bits().ones().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn parquet_mode_needs_its_own_hash_and_blocks() {
    let config = Config::new(KIND.facts()).set("bits", "1024").unwrap().set("mode", "parquet").unwrap();
    assert!(UltraFast::from_config(&config.clone().hashed(Hashing::seeded(1))).is_err());
    assert!(UltraFast::from_config(&config.clone().set("word", "64").unwrap()).is_err());
    let filter = UltraFast::from_config(&config).unwrap();
    assert_eq!(UltraFast::from_bytes(&filter.to_bytes()).unwrap(), filter);
    assert!(UltraFast::from_parquet(&[0; 33]).is_err());
}

#[test]
fn rates_are_the_mixture_of_every_shape() {
    for (settings, expected) in [
        ([("bits", "1000000"), ("hashes", "8"), ("word", "32")], Some(0.012_648)),
        ([("bits", "1000000"), ("hashes", "8"), ("word", "64")], Some(0.010_490)),
        ([("bits", "1600000"), ("hashes", "8"), ("word", "32")], Some(0.001_316)),
        ([("bits", "1000000"), ("hashes", "4"), ("word", "64")], None),
        ([("bits", "1600000"), ("hashes", "16"), ("word", "32")], None),
    ] {
        let (mut found, mut now, mut squares) = (0, 0.0, 0.0);
        for seed in 0..30 {
            let mut filter = made(&settings, seed);
            filter.insert_batch(&(0..100_000u64).collect::<Vec<_>>());
            found += (100_000..200_000u64).filter(|key| filter.contains(key)).count();
            now += filter.rate_now() / 30.0;
            squares += filter.rate_now().powi(2) / 30.0;
        }
        let rate = found as f64 / 3e6;
        let spread = ((squares - now * now).max(0.0) / 29.0).sqrt();
        let theory = made(&settings, 0).layout().expected_rate(100_000);
        assert!((rate - now).abs() < 5.0 * test_sigma_conditional(now, 3_000_000), "{settings:?}: {rate} {now}");
        assert!((now - theory).abs() < 5.0 * spread, "{settings:?}: {now} +- {spread} against {theory}");
        // The published numbers are those of 10 or 16 bits per key, without rounding to whole blocks.
        let per_key = if settings[0].1 == "1000000" { 10.0 } else { 16.0 };
        let limit = blocks::limit_rate(made(&settings, 0).layout().theory(), per_key, 8);
        assert!(expected.is_none_or(|expected: f64| (limit / expected - 1.0).abs() < 1e-3), "{limit}");
    }
}

#[test]
fn sizing_needs_the_bits_per_key_that_parquet_documents() {
    for (fpr, bits_per_key) in [("0.1", 5.99), ("0.01", 10.53), ("0.001", 16.89), ("0.0001", 26.34), ("0.00001", 40.99)]
    {
        let filter = made(&[("items", "1000000"), ("fpr", fpr)], 0);
        let found = filter.bits().len() as f64 / 1e6;
        assert!((found - bits_per_key).abs() < 0.01, "{fpr}: {found}");
    }
}

#[test]
fn batches_and_single_calls_agree() {
    // Near and, from 1 MiB on, with the memory asked in advance; as many keys as leave some false positives.
    for (bits, count) in [("32000", 3_000), ("10000128", 900_001)] {
        for mode in ["free", "parquet"] {
            let keys: Vec<u64> = (0..count).collect();
            let [mut one, mut many] = [0; 2].map(|seed| made(&[("bits", bits), ("mode", mode)], seed));
            let fresh: u64 = keys.iter().map(|key| u64::from(one.insert(key))).sum();
            assert_eq!(many.insert_batch(&keys), fresh);
            assert_eq!(one, many, "{bits} bits, {mode}");
            let queries: Vec<u64> = (count - 1_000..count + 9_001).collect();
            let mut answers = vec![false; queries.len()];
            many.contains_batch(&queries, &mut answers);
            assert!(queries.iter().zip(&answers).all(|(key, answer)| one.contains(key) == *answer));
            let positive = answers.iter().filter(|answer| **answer).count();
            assert!(positive > 1_000 && positive < 2_000, "{positive} of the 1,000 and some false ones");
        }
    }
}

#[test]
fn halving_equals_building_at_half_the_size() {
    let build = |bits| {
        let mut filter = made(&[("bits", bits)], 3);
        filter.insert_batch(&(0..300u64).collect::<Vec<_>>());
        filter
    };
    assert_eq!(build("25600").halved().unwrap().unwrap(), build("12800"));
}

#[test]
fn cardinality_is_within_five_standard_errors() {
    for seed in 0..40 {
        let mut filter = made(&[("bits", "200000")], seed);
        filter.insert_batch(&(0..20_000u64).collect::<Vec<_>>());
        let estimate = filter.cardinality();
        assert!((estimate.keys - 20_000.0).abs() < 5.0 * estimate.standard_error, "{estimate:?}");
    }
}
