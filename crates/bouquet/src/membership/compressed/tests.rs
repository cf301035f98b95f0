use super::*;
use crate::kind::{Config, Structure};
use crate::membership::Layout;

const KEYS: u64 = 100_000;

fn config(settings: &[(&str, &str)]) -> Config {
    let config = Config::new(KIND.facts());
    settings.iter().fold(config, |config, (name, text)| config.set(name, text).unwrap())
}

fn plan(settings: &[(&str, &str)]) -> Result<(u64, u32)> {
    Sparse::plan(&CompressedSettings::from_config(&config(settings))?).map(|layout| (layout.bits(), layout.hashes()))
}

fn filled(bits: u64, hashes: u32, keys: std::ops::Range<u64>) -> Compressed {
    let mut filter = Compressed::with_size(bits, hashes).unwrap();
    keys.for_each(|key| {
        filter.insert(&key);
    });
    filter
}

#[test]
fn the_published_table_is_measured_message_and_rate() {
    for (bits_per_key, hashes, message, rate) in [
        (16, 11, 16.000, 0.000_459),
        (28, 4, 15.846, 0.000_314),
        (48, 3, 15.829, 0.000_222),
        (8, 6, 7.98, 0.0216),
        (14, 2, 7.923, 0.0177),
        (92, 1, 7.923, 0.0108),
    ] {
        let bits = bits_per_key * KEYS;
        let filter = filled(bits, hashes, 0..KEYS);
        let frame = filter.to_bytes();
        let (sent, entropy) = (frame.len() as f64 * 8.0, filter.entropy_bits());
        assert!((sent - entropy).abs() < 0.005 * entropy + 64.0 * 8.0, "{sent} bits for {entropy}");
        // The zeros scatter by less than 1 in 1000 of the message at this size.
        assert!((entropy / KEYS as f64 / message - 1.0).abs() < 0.002, "{entropy}");

        let queries = 1_000_000;
        let found = (KEYS..KEYS + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64;
        let sigma = theory::spread::test_sigma(bits, KEYS, hashes, queries);
        assert!((found - filter.layout().expected_rate(KEYS)).abs() < 5.0 * sigma, "{found}");
        assert!((found - rate).abs() < 5.0 * sigma + 5e-3 * rate, "{found} for {rate}");
        assert_eq!(Compressed::from_bytes(&frame).unwrap(), filter);
    }
}

#[test]
fn the_sizing_finds_the_published_designs() {
    let by_message = |z, limit| plan(&[("items", "1000"), ("message-bits", z), ("memory-bits", limit)]).unwrap();
    assert_eq!(by_message("16", "48"), (48_000, 3));
    assert_eq!(by_message("16", "28"), (28_000, 4));
    assert_eq!(by_message("8", "14"), (14_000, 2));
    assert_eq!(by_message("8", "92"), (92_000, 1));
    assert_eq!(by_message("16", "30000").1, 1);
    let (bits, hashes) = plan(&[("items", "1000"), ("fpr", "0.000222"), ("memory-bits", "48.1")]).unwrap();
    assert_eq!(hashes, 3);
    assert!((47_900..48_100).contains(&bits), "{bits}");
}

#[test]
fn the_default_message_is_shorter_than_a_standard_filter_of_the_rate() {
    for (fpr, saved) in [("0.1", 0.07), ("0.01", 0.07), ("0.001", 0.12), ("1e-6", 0.12), ("1e-15", 0.12)] {
        let layout =
            Compressed::from_config(&config(&[("items", "100000"), ("fpr", fpr)])).unwrap().layout().to_owned();
        let fpr: f64 = fpr.parse().unwrap();
        let bits_per_key = layout.bits() as f64 / 1e5;
        let uncompressed = theory::standard::optimal_bits_per_key(fpr);
        assert!(bits_per_key <= MEMORY_FACTOR * uncompressed + 1e-4);
        assert!(layout.expected_rate(100_000) < fpr * 1.001);
        let message = theory::compressed::message_bits_per_key(bits_per_key, layout.hashes());
        assert!(message < (1.0 - saved) * uncompressed, "{fpr}: {message} against {uncompressed}");
    }
}

#[test]
fn given_bits_leave_the_hashes_to_the_rate_or_to_the_message() {
    let (items, bits) = (("items", "1000"), ("bits", "28000"));
    assert_eq!(plan(&[items, bits, ("message-bits", "15.9")]).unwrap(), (28_000, 4));
    assert_eq!(plan(&[items, bits, ("fpr", "0.00032")]).unwrap(), (28_000, 4));
    assert_eq!(plan(&[items, bits, ("fpr", "0.0003")]).unwrap(), (28_000, 5));
    assert_eq!(plan(&[bits, ("hashes", "9")]).unwrap(), (28_000, 9));
    assert_eq!(plan(&[items, ("hashes", "2"), ("fpr", "0.01")]).unwrap().1, 2);
}

#[test]
fn settings_that_cannot_be_had_are_refused_by_name() {
    let refused = |settings: &[(&str, &str)]| match plan(settings) {
        Err(Error::Parameter { name, .. }) => name,
        Err(Error::TooLarge { .. }) => "too large".into(),
        answer => panic!("{answer:?}"),
    };
    let items = ("items", "1000");
    assert_eq!(refused(&[]), "items");
    assert_eq!(refused(&[("bits", "1000")]), "items");
    assert_eq!(refused(&[items, ("fpr", "0.001"), ("memory-bits", "10")]), "memory-bits");
    assert_eq!(refused(&[items, ("fpr", "0.001"), ("message-bits", "8")]), "message-bits");
    assert_eq!(refused(&[items, ("hashes", "3"), ("message-bits", "8")]), "hashes");
    assert_eq!(refused(&[items, ("bits", "1000"), ("message-bits", "0.1")]), "message-bits");
    assert_eq!(refused(&[items, ("bits", "1000"), ("fpr", "0.01")]), "bits");
    assert_eq!(refused(&[items, ("reduction", "mask")]), "bits");
    assert_eq!(refused(&[("items", "1e16")]), "too large");
    assert_eq!(refused(&[("bits", "1e10"), ("hashes", "3")]), "too large");
}

#[test]
fn an_update_after_one_percent_of_change_costs_what_theory_says() {
    let (old, new) = (filled(28 * KEYS, 4, 0..KEYS), filled(28 * KEYS, 4, KEYS / 100..KEYS + KEYS / 100));
    let delta = old.delta(&new).unwrap();
    let bits_per_key = delta.len() as f64 * 8.0 / KEYS as f64;
    assert!((bits_per_key / 0.70 - 1.0).abs() < 0.05, "{bits_per_key}");
    let share = delta.len() as f64 / new.to_bytes().len() as f64;
    assert!((share / 0.044 - 1.0).abs() < 0.05, "{share}");
    let mut receiver = old.clone();
    receiver.apply_delta(&delta).unwrap();
    assert_eq!(receiver, new);
    assert!(filled(28 * KEYS, 4, 1..KEYS).apply_delta(&delta).is_err(), "another base");
}

#[test]
fn empty_and_full_filters_are_frames_without_a_message() {
    let empty = Compressed::with_size(1 << 20, 3).unwrap();
    let mut full = Compressed::with_size(64, 8).unwrap();
    (0..1_000u64).for_each(|key| {
        full.insert(&key);
    });
    assert_eq!((full.fill(), full.entropy_bits(), empty.entropy_bits()), (1.0, 0.0, 0.0));
    for filter in [empty, full] {
        assert!(filter.to_bytes().len() <= 512);
        assert_eq!(Compressed::from_bytes(&filter.to_bytes()).unwrap(), filter);
    }
}

#[test]
fn settings_of_a_filter_make_an_equal_one() {
    let filter = Compressed::with_message(1_000, 12.0, 40.0).unwrap();
    assert_eq!(Compressed::create(&filter.config()).unwrap(), filter);
}
