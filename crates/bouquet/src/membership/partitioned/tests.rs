use super::*;
use crate::Bloom;
use crate::hash::{Hashing, SplitMix};
use crate::kind::Config;
use crate::kind::Structure;
use crate::membership::{Access, Layout};

fn config(settings: &[(&str, &str)]) -> Config {
    let config = Config::new(KIND.facts());
    settings.iter().fold(config, |config, (name, text)| config.set(name, text).unwrap())
}

fn fill(filter: &mut Partitioned, keys: std::ops::Range<u64>) {
    keys.for_each(|key| {
        filter.insert(&key);
    });
}

fn filled(bits: u64, hashes: u32, keys: std::ops::Range<u64>) -> Partitioned {
    let mut filter = Partitioned::with_size(bits, hashes).unwrap();
    fill(&mut filter, keys);
    filter
}

/// Mean and standard error of the instances' own rates over 100,000 filters of 7 random keys.
fn mean_rate<L: Access>(mut filter: BitFilter<L>) -> (f64, f64) {
    let (mut sum, mut squares, mut random) = (0.0, 0.0, SplitMix::new(2));
    for _ in 0..100_000 {
        filter.clear().unwrap();
        for _ in 0..7 {
            filter.insert(&random.next_u64());
        }
        let rate = filter.rate_now();
        sum += rate;
        squares += rate * rate;
    }
    let mean = sum / 1e5;
    (mean, ((squares / 1e5 - mean * mean) / 1e5).sqrt())
}

#[test]
fn tiny_filters_show_the_exact_rate_which_is_above_the_standard_one() {
    let (mean, error) = mean_rate(Partitioned::with_size(70, 7).unwrap());
    assert!((mean - 0.010_518_7).abs() < 5.0 * error, "{mean} +- {error}");
    let flat = Config::new(&Bloom::FACTS).set("bits", "70").unwrap().set("hashes", "7").unwrap();
    let (mean, error) = mean_rate(Bloom::from_config(&flat.set("family", "independent").unwrap()).unwrap());
    assert!((mean - 0.009_266_5).abs() < 5.0 * error, "{mean} +- {error}");
    assert!((0.010_518_7 - mean) > 50.0 * error, "the two formulas are far apart");
}

#[test]
fn the_rate_at_ten_bits_per_key_is_the_predicted_one() {
    let (n, queries) = (100_000, 1_000_000);
    let filter = filled(1_000_000, 7, 0..n);
    assert!((0..n).all(|key| filter.contains(&key)));
    let found = (n..n + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64;
    let layout = filter.layout();
    let expected = layout.expected_rate(n);
    assert!((expected - 0.008_193_9).abs() < 5e-7, "{expected}");
    // The fill scatters over the slices as it does over one array of the same size.
    let (fill, deviation) = layout.expected_fill(n);
    let sigma = (expected * (1.0 - expected) / queries as f64).sqrt().hypot(expected * 7.0 * deviation / fill);
    assert!((found - 0.008_193_9).abs() < 5.0 * sigma, "{found} +- {sigma}");
    let conditional = theory::spread::test_sigma_conditional(filter.rate_now(), queries);
    assert!((found - filter.rate_now()).abs() < 5.0 * conditional);
}

#[test]
fn small_filters_have_the_predicted_rate_with_the_default_hashing() {
    let (n, k, filters, queries) = (100, 7, 400, 10_000);
    let mut found = 0;
    let mut conditional = 0.0;
    let mut squares = 0.0;
    for seed in 0..filters {
        let settings = config(&[("bits", "1001"), ("hashes", "7")]).hashed(Hashing::seeded(seed));
        let mut filter = Partitioned::from_config(&settings).unwrap();
        fill(&mut filter, 0..n);
        found += (n..n + queries).filter(|key| filter.contains(key)).count();
        conditional += filter.rate_now();
        squares += filter.rate_now().powi(2);
    }
    let (count, total) = (filters as f64, (filters * queries) as f64);
    let expected = theory::partitioned::rate(1001, n, k);
    let scatter = (squares / count - (conditional / count).powi(2)) / count;
    let sigma = (expected / total + scatter).sqrt();
    assert!((found as f64 / total - expected).abs() < 5.0 * sigma, "{found} of {total}: {expected} +- {sigma}");
}

#[test]
fn every_key_owns_one_bit_in_each_slice() {
    for family in ["triple", "enhanced-double", "double"] {
        for (reduction, bits) in [("fastrange", "1000"), ("modulo", "1000"), ("mask", "896")] {
            let settings = [("bits", bits), ("hashes", "7"), ("family", family), ("reduction", reduction)];
            let empty = Partitioned::from_config(&config(&settings)).unwrap();
            let slice = empty.layout().slice_bits();
            for key in 0..500u64 {
                let mut filter = empty.clone();
                filter.insert(&key);
                assert!(filter.bits().ones().map(|position| position / slice).eq(0..7), "{family} {reduction}");
                assert!(filter.contains(&key));
            }
        }
    }
}

#[test]
fn the_union_is_the_filter_of_the_union_bit_for_bit() {
    let mut union = filled(5_000, 5, 0..300);
    union.merge(&filled(5_000, 5, 200..500)).unwrap();
    assert_eq!(union.bits(), filled(5_000, 5, 0..500).bits());
}

#[test]
fn halving_equals_building_at_half_the_size() {
    for (family, reduction, slice) in [
        ("triple", "fastrange", 1000),
        ("triple", "modulo", 1000),
        ("enhanced-double", "fastrange", 1000),
        ("enhanced-double", "modulo", 1000),
        ("triple", "mask", 1024),
        ("double", "mask", 1024),
    ] {
        let build = |slice: u64| {
            let bits = (5 * slice).to_string();
            let settings = [("bits", bits.as_str()), ("hashes", "5"), ("family", family), ("reduction", reduction)];
            let mut filter = Partitioned::from_config(&config(&settings)).unwrap();
            fill(&mut filter, 0..400);
            filter
        };
        assert_eq!(build(slice).halved().unwrap().unwrap(), build(slice / 2), "{family} {reduction}");
    }
    assert!(filled(5 * 999, 5, 0..10).halved().unwrap().is_none(), "an odd slice");
}

#[test]
fn slices_fill_alike() {
    let filter = filled(70_000, 7, 0..7_000);
    let (mean, deviation) = (1.0 - theory::partitioned::zeros(70_000, 7_000, 7), 7f64.sqrt());
    let deviation = deviation * filter.layout().expected_fill(7_000).1;
    assert!(filter.slice_fills().iter().all(|fill| (fill - mean).abs() < 5.0 * deviation));
    assert!((filter.slice_fills().iter().sum::<f64>() / 7.0 - filter.fill()).abs() < 1e-12);
}

#[test]
fn sizing_reaches_the_rate_also_with_given_hashes() {
    for (fpr, hashes) in [(0.01, None), (0.01, Some("4")), (1e-6, Some("9")), (1e-17, None)] {
        let settings = config(&[("items", "1000"), ("fpr", &fpr.to_string())]);
        let settings = hashes.map_or(settings.clone(), |hashes| settings.set("hashes", hashes).unwrap());
        let layout = Slices::plan(&PartitionedSettings::from_config(&settings).unwrap()).unwrap();
        assert!(layout.expected_rate(1000) <= fpr * (1.0 + 1e-9));
        let smaller =
            theory::partitioned::rate((layout.slice_bits() - 1) * u64::from(layout.hashes()), 1000, layout.hashes());
        assert!(smaller > fpr);
    }
}

#[test]
fn double_hashing_by_remainder_gets_prime_slices() {
    let settings = [("bits", "1000"), ("hashes", "7"), ("family", "double"), ("reduction", "modulo")];
    let filter = Partitioned::from_config(&config(&settings)).unwrap();
    assert_eq!(filter.bits().len(), 7 * 149);
    assert_eq!(Partitioned::create(&filter.config()).unwrap(), filter);
}

#[test]
fn settings_that_cannot_be_had_are_refused_by_name() {
    let refused = |settings: &[(&str, &str)]| match Partitioned::from_config(&config(settings)) {
        Err(Error::Parameter { name, .. }) => name,
        answer => panic!("{answer:?}"),
    };
    assert_eq!(refused(&[("bits", "1000"), ("hashes", "7"), ("reduction", "mask")]), "bits");
    assert_eq!(refused(&[("hashes", "7")]), "items");
    assert!(Slices::new(u64::MAX, 1, Scheme::default()).is_err());
    assert!(Slices::new(0, 7, Scheme::default()).is_err());
    assert!(Slices::new(100, 0, Scheme::default()).is_err());
    assert!(Slices::new(100, 7, Scheme { family: Family::Independent, ..Scheme::default() }).is_err());
    assert!(Partitioned::with_size(1 << 62, 7).is_err(), "no machine has the memory");
}

#[test]
fn frames_give_back_equal_filters() {
    let filter = filled(10_000, 7, 0..500);
    assert_eq!(Partitioned::from_bytes(&filter.to_bytes()).unwrap(), filter);
    assert!(Bloom::from_bytes(&filter.to_bytes()).is_err(), "another kind");
}
