//! Tests of scalable filters: the bound after every insertion, growth, merging, frames.

use super::*;
use crate::AnyFilter;
use crate::capability::{Insert, Item};
use crate::hash::Secret;
use crate::kind::{Config, Structure};

fn config(settings: &[(&str, &str)], seed: u64) -> Config {
    let config = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
    settings.iter().fold(config, |config, (name, text)| config.set(name, text).unwrap())
}

fn filled(settings: &[(&str, &str)], seed: u64, keys: std::ops::Range<u64>) -> Scalable {
    let mut filter = Scalable::from_config(&config(settings, seed)).unwrap();
    keys.for_each(|key| {
        filter.insert(&key).unwrap();
    });
    filter
}

fn hashes(filter: &Scalable) -> Vec<u32> {
    filter.mechanism.chain.rows().iter().map(|component| component.shape.level.hashes).collect()
}

/// The share of positive answers to keys that were never inserted.
fn measured(filter: &Scalable, queries: u64) -> f64 {
    (0..queries).filter(|key| filter.contains(&(key + (1 << 40)))).count() as f64 / queries as f64
}

fn assert_within_5_sigma(found: f64, expected: f64, queries: u64) {
    let sigma = spread::test_sigma_conditional(expected, queries);
    assert!((found - expected).abs() < 5.0 * sigma, "found {found}, expected {expected}, sigma {sigma}");
}

#[test]
fn a_thousandfold_growth_keeps_the_bound_and_the_predicted_rate() {
    let n = 1_000_000;
    let filter = filled(&[("tightening", "0.5")], 0, 0..n);
    assert_eq!(hashes(&filter), (8..=17).collect::<Vec<_>>());
    assert!((0..n).step_by(7).all(|key| filter.contains(&key)));
    let queries = 500_000;
    let found = measured(&filter, queries);
    assert!(found <= 0.01);
    assert_within_5_sigma(found, filter.rate_now(), queries);
    assert_within_5_sigma(found, filter.expected(n).false_positive.unwrap(), queries);
}

#[test]
fn ten_full_components_have_the_derived_rates_and_sizes() {
    for (tightening, items, rate, bits_per_key) in
        [("0.5", "1000", 0.0078, 23.1), ("0.8", "300", 0.0071, 17.1), ("0.9", "300", 0.0046, 17.1)]
    {
        let mut filter = filled(&[("tightening", tightening), ("items", items)], 1, 0..0);
        for key in 0u64.. {
            if Pick::Newest.choose(&filter.mechanism.chain, crate::hash::Digest { h1: 0, h2: 0 }).is_none()
                && filter.components() == 10
            {
                break;
            }
            filter.insert(&key).unwrap();
        }
        // Components that are half full a little early lower the rate and the number of keys by some percent.
        let found = filter.rate_now();
        assert!((found / rate - 1.0).abs() < 0.035, "r = {tightening}: {found}");
        let per_key = filter.stats().bits as f64 / filter.items() as f64;
        assert!((per_key / bits_per_key - 1.0).abs() < 0.015, "r = {tightening}: {per_key}");
        assert_within_5_sigma(measured(&filter, 200_000), found, 200_000);
    }
}

#[test]
fn the_bound_holds_after_every_single_insertion() {
    // 0.5 and 0.5 make every P_i a power of two: rounding k_i leaves no slack.
    for (items, fpr, tightening, growth) in
        [("1", "0.5", "0.5", "2"), ("7", "0.03125", "0.5", "4"), ("1", "0.9", "0.95", "2")]
    {
        let settings = [("items", items), ("fpr", fpr), ("tightening", tightening), ("growth", growth)];
        for seed in 0..20 {
            let mut filter = filled(&settings, seed, 0..0);
            for key in 0..2_000u64 {
                filter.insert(&key).unwrap();
                assert!(filter.rate_now() <= filter.settings().fpr.unwrap(), "{settings:?} after {key}");
            }
        }
    }
}

#[test]
fn the_expected_rate_is_that_of_chains_grown_from_empty() {
    let (instances, queries) = (40, 20_000);
    for skip in ["yes", "no"] {
        for (items, fpr) in [("5", "0.1"), ("40", "0.1"), ("300", "0.4"), ("300", "0.01")] {
            let settings = [("items", items), ("fpr", fpr), ("skip-present", skip)];
            let n: u64 = items.parse().unwrap();
            for n in [n / 2, n, 3 * n / 2, 20 * n] {
                let expected = filled(&settings, 0, 0..0).expected(n).false_positive.unwrap();
                let rates = (0..instances).map(|seed| measured(&filled(&settings, seed, 0..n), queries));
                let rates: Vec<f64> = rates.collect();
                let mean = rates.iter().sum::<f64>() / instances as f64;
                // The instances differ in their fills, so their own scatter gives the error of the mean.
                let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
                let sigma = (squares / (instances * (instances - 1)) as f64).sqrt();
                assert!((mean - expected).abs() < 5.0 * sigma, "{settings:?} {n}: {mean} {expected} {sigma}");
            }
        }
    }
}

#[test]
fn the_expected_rate_never_passes_the_bound() {
    for fpr in ["0.9", "0.1", "0.01", "1e-9"] {
        for tightening in ["0.5", "0.85", "0.95"] {
            let filter = filled(&[("fpr", fpr), ("tightening", tightening), ("items", "3")], 0, 0..0);
            for n in [0, 1, 10, 1000, 1 << 20, 1 << 40, u64::MAX] {
                let rate = filter.expected(n).false_positive.unwrap();
                assert!((0.0..=filter.settings().fpr.unwrap()).contains(&rate), "{fpr} {tightening} {n}: {rate}");
            }
        }
    }
}

#[test]
fn duplicates_count_only_when_asked_to() {
    for (skip, items) in [("yes", 10), ("no", 30)] {
        let mut filter = filled(&[("skip-present", skip)], 0, 0..10);
        for key in (0..10u64).chain(0..10) {
            assert!(!filter.insert(&key).unwrap());
        }
        assert_eq!(filter.items(), items);
    }
}

#[test]
fn growing_raises_the_capacity_and_changes_no_answer() {
    let mut filter = filled(&[("items", "50")], 0, 0..500);
    let before: Vec<_> = (0..5_000u64).map(|key| filter.contains(&key)).collect();
    let capacity = filter.capacity();
    filter.grow().unwrap();
    assert!(filter.capacity() > capacity);
    assert_eq!((0..5_000u64).map(|key| filter.contains(&key)).collect::<Vec<_>>(), before);
    let (components, capacity) = (filter.components(), filter.capacity());
    for key in 500.. {
        filter.insert(&key).unwrap();
        if filter.components() > components {
            break;
        }
    }
    // Components may close a little early, never late.
    assert!(filter.items() <= capacity + 1 && filter.items() as f64 > 0.9 * capacity as f64);
}

#[test]
fn growth_beyond_memory_or_positions_is_an_error_that_loses_nothing() {
    let mut filter = filled(&[("items", "100"), ("fpr", "1e-17"), ("tightening", "0.5")], 0, 0..60);
    let error = loop {
        if let Err(error) = filter.grow() {
            break error;
        }
    };
    assert!(matches!(error, Error::Full { .. }), "{error}");
    assert!((0..60u64).all(|key| filter.contains(&key)) && filter.items() == 60);
    assert_eq!(filter.components(), 7, "58 to 64 positions");

    // A chain whose next component would have more than 2^53 bits, and is full.
    let mut filter = filled(&[("items", "1")], 0, 0..1);
    let link = |(component, items): (&Slices, u64)| Link { component: component.clone(), items };
    let mut links: Vec<_> = filter.mechanism.chain.links().map(link).collect();
    links[0].component.shape.index = 48;
    filter.mechanism.chain = Chain::from_links(links).unwrap();
    let before = filter.clone();
    assert!(matches!(filter.grow(), Err(Error::TooLarge { .. })));
    assert!(matches!(filter.insert(&2u64), Err(Error::TooLarge { .. })));
    assert_eq!(filter, before);
}

#[test]
fn a_union_contains_both_sets_and_its_rate_is_the_compound_of_both() {
    let settings = [("items", "500")];
    let (a, b) = (filled(&settings, 0, 0..3_000), filled(&settings, 0, 2_000..6_000));
    let mut union = a.clone();
    union.merge(&b).unwrap();
    assert!((0..6_000u64).all(|key| union.contains(&key)));
    assert_eq!(union.components(), a.components() + b.components());
    assert!((union.rate_now() - compound_rate(&[a.rate_now(), b.rate_now()])).abs() < 1e-12);
    assert_within_5_sigma(measured(&union, 200_000), union.rate_now(), 200_000);

    let again = union.clone();
    union.merge(&b).unwrap();
    assert_eq!(union, again, "what is already there is not added twice");
    let highest = |filter: &Scalable| filter.mechanism.chain.rows().iter().map(|component| component.shape.index).max();
    union.grow().unwrap();
    assert_eq!(highest(&union), highest(&again).map(|index| index + 1));
}

#[test]
fn filters_that_differ_refuse_to_merge_and_say_in_what() {
    let mut filter = filled(&[], 0, 0..10);
    for (settings, seed, field) in [
        ([("items", "999")], 0, "items"),
        ([("fpr", "0.02")], 0, "fpr"),
        ([("growth", "4")], 0, "growth"),
        ([("tightening", "0.8")], 0, "tightening"),
        ([("items", "1000")], 1, "hashing"),
    ] {
        match filter.merge(&filled(&settings, seed, 0..10)) {
            Err(Error::Incompatible { field: found, .. }) => assert_eq!(found, field),
            answer => panic!("{answer:?}"),
        }
    }
}

#[test]
fn batches_answer_as_single_calls_do() {
    let keys: Vec<[u8; 8]> = (0..3_000u64).map(u64::to_le_bytes).collect();
    let items: Vec<_> = keys.iter().map(|key| Item::from(&key[..])).collect();
    let (mut single, mut batch) = (filled(&[("items", "100")], 0, 0..0), filled(&[("items", "100")], 0, 0..0));
    let fresh = items.iter().filter(|item| Insert::insert(&mut single, **item).unwrap()).count() as u64;
    assert_eq!(batch.insert_batch(&items).unwrap(), fresh);
    assert_eq!(single, batch);
    let queries: Vec<[u8; 8]> = (2_000..9_000u64).map(u64::to_le_bytes).collect();
    let queries: Vec<&[u8]> = queries.iter().map(|key| &key[..]).collect();
    let mut answers = vec![false; queries.len()];
    batch.contains_batch(&queries, &mut answers);
    assert!(queries.iter().zip(answers).all(|(key, answer)| single.contains(*key) == answer));
}

#[test]
fn frames_give_back_equal_filters_raw_coded_and_keyed() {
    let filter = filled(&[("items", "200"), ("growth", "4")], 3, 0..5_000);
    assert_eq!(Scalable::from_bytes(&filter.to_bytes()).unwrap(), filter);
    let coded = AnyFilter::from_structure(filter.clone()).unwrap().to_compressed_bytes();
    assert_eq!(Scalable::from_bytes(&coded).unwrap(), filter);
    let mut again = Scalable::from_bytes(&coded).unwrap();
    let mut filter = filter;
    for key in 5_000..9_000u64 {
        assert_eq!(again.insert(&key).unwrap(), filter.insert(&key).unwrap());
    }
    assert_eq!(again, filter, "a filter from a frame goes on as if it had never been written");

    let secret = Secret::new(&[5; 32]).unwrap();
    let config = config(&[], 0).hashed(Hashing::keyed(secret.clone()));
    let mut keyed = Scalable::from_config(&config).unwrap();
    for key in 0..5_000u64 {
        keyed.insert(&key).unwrap();
    }
    let options = crate::OpenOptions { secret: Some(secret), ..Default::default() };
    let opened = AnyFilter::from_bytes_with(&keyed.to_bytes(), &options).unwrap();
    assert_eq!(opened.downcast_ref::<Scalable>(), Some(&keyed));
}

#[test]
fn frames_whose_state_contradicts_their_stores_are_refused() {
    let filter = filled(&[("items", "200")], 3, 0..900);
    let frame = |components: u32, index: u32, items: u64| {
        let mut out = Vec::new();
        let write = |encoder: &mut Encoder<'_>| {
            encoder.state().u32(components);
            for component in filter.mechanism.chain.rows() {
                encoder.state().u32(index + component.shape.index);
                encoder.state().u64(items);
            }
        };
        let fill = |encoder: &mut Encoder<'static>| {
            write(encoder);
            let stores: Vec<BitStore> =
                filter.mechanism.chain.rows().iter().map(|component| component.bits.clone()).collect();
            Box::leak(stores.into_boxed_slice()).iter().for_each(|bits| encoder.bits(bits));
        };
        crate::codec::write_frame(KIND.facts(), &filter.config(), false, fill, &mut out).unwrap();
        Scalable::from_bytes(&out)
    };
    let count = filter.components() as u32;
    assert!(frame(count, 0, 100).is_ok());
    for (components, index, items) in [
        (count + 1, 0, 100),
        (count - 1, 0, 100),
        (u32::MAX, 0, 100),
        (count, 1, 100),
        (count, u32::MAX - 9, 1),
        (count, 0, 201),
    ] {
        assert!(frame(components, index, items).is_err(), "{components} {index} {items}");
    }
}

#[test]
fn parameters_that_cannot_be_had_are_refused_by_name() {
    let refused = |settings: &[(&str, &str)]| match Scalable::from_config(&config(settings, 0)) {
        Err(Error::Parameter { name, .. }) => name,
        other => format!("{other:?}"),
    };
    assert_eq!(refused(&[("tightening", "0.49")]), "tightening");
    assert_eq!(refused(&[("tightening", "0.951")]), "tightening");
    assert_eq!(refused(&[("fpr", "1e-30")]), "fpr");
    assert!(Scalable::with_rate(0, 0.01).is_err() && Scalable::with_rate(1, f64::NAN).is_err());
    assert!(matches!(Scalable::with_rate(1 << 53, 0.01), Err(Error::TooLarge { .. })));
    for (bits, hashes) in [(0, 0), (100, 0), (7, 4), (100, 65), (1_000_000, u32::MAX)] {
        assert!(Scalable::with_size(bits, hashes).is_err(), "{bits} {hashes}");
    }
    for (bits, hashes) in [(8, 4), (12_345, 7), (999, 64)] {
        let stats = Scalable::with_size(bits, hashes).unwrap().stats();
        assert!(stats.bits <= bits && stats.bits + 2 * u64::from(hashes) > bits && stats.hashes == hashes, "{stats:?}");
    }
}
