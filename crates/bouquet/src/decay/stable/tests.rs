//! Tests of stable filters: rates, misses, the optimiser, replay.

use super::super::testing::{assert_mean, positives};
use super::*;
use crate::AnyFilter;
use crate::capability::{Insert, Item};
use crate::hash::Secret;
use crate::kind::{Config, Structure};

fn config(settings: &[(&str, &str)], seed: u64) -> Config {
    let config = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
    settings.iter().fold(config, |config, (name, text)| config.set(name, text).unwrap())
}

fn filter(settings: &[(&str, &str)], seed: u64) -> Stable {
    Stable::from_config(&config(settings, seed)).unwrap()
}

/// The settings of the published example.
const EXAMPLE: [(&str, &str); 4] = [("cells", "20000"), ("hashes", "3"), ("max", "3"), ("fpr", "0.01")];

fn zeros(filter: &Stable) -> f64 {
    1.0 - filter.stats().fill.unwrap()
}

#[test]
fn zeros_and_errors_converge_to_the_derived_numbers_and_do_not_drift() {
    let instances = 30;
    let (mut zeros_seen, mut rates, mut missed, mut drift) = (vec![], vec![], vec![], vec![]);
    for seed in 0..instances {
        let mut filter = filter(&EXAMPLE, seed);
        assert_eq!(filter.shape().decrements, 36);
        // Cells are set or fade within some thousand arrivals: 20,000 are several times the convergence.
        let window = |filter: &mut Stable| {
            let (mut zero, mut rate, mut miss) = (0.0, 0.0, 0.0);
            for _ in 0..20 {
                let first = filter.items();
                (first..first + 2_200).for_each(|key| {
                    filter.insert(&key);
                });
                zero += zeros(filter) / 20.0;
                rate += positives(filter, 2_000) / 20.0;
                // The key that came i-th last has seen i - 1 arrivals since; the rates of 1990 to 2010 are one.
                let now = filter.items();
                let gone = (1_990..=2_010).filter(|gap| !filter.contains(&(now - 1 - gap))).count();
                miss += gone as f64 / 21.0 / 20.0;
            }
            (zero, rate, miss)
        };
        (0..20_000u64).for_each(|key| {
            filter.insert(&key);
        });
        let (zero, rate, miss) = window(&mut filter);
        (filter.items()..200_000).for_each(|key| {
            filter.insert(&key);
        });
        let late = window(&mut filter);
        zeros_seen.extend([zero, late.0]);
        rates.extend([rate, late.1]);
        missed.extend([miss, late.2]);
        drift.push(late.1 / rate);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    assert!((mean(&zeros_seen) - 0.7865).abs() < 0.002, "{}", mean(&zeros_seen));
    assert_mean(&rates, 0.0097, "false positives");
    assert_mean(&missed, 0.930, "misses at gap 2000");
    assert_mean(&drift, 1.0, "late by early rate");
}

#[test]
fn cells_of_one_bit_miss_the_derived_share() {
    let mut missed = vec![];
    for seed in 0..30 {
        let mut filter = filter(&[("cells", "20000"), ("hashes", "3"), ("max", "1"), ("fpr", "0.01")], seed);
        assert_eq!(filter.shape().decrements, 11);
        let mut misses = 0;
        for key in 0..30_000u64 {
            if key >= 10_000 {
                misses += u64::from(!filter.contains(&(key - 501)));
            }
            filter.insert(&key);
        }
        missed.push(misses as f64 / 20_000.0);
    }
    assert_mean(&missed, 0.547, "misses at gap 500");
}

#[test]
fn expected_rates_are_those_of_streams_from_an_empty_filter() {
    for settings in [EXAMPLE, [("cells", "5000"), ("hashes", "4"), ("max", "7"), ("fpr", "0.05")]] {
        for arrivals in [1_500, 3_000, 12_000] {
            let (mut rates, mut missed) = (vec![], vec![]);
            for seed in 0..30 {
                let mut filter = filter(&settings, seed);
                (0..arrivals).for_each(|key| {
                    filter.insert(&key);
                });
                rates.push(positives(&filter, 20_000));
                let gone = (0..arrivals).filter(|key| !filter.contains(key)).count();
                missed.push(gone as f64 / arrivals as f64);
            }
            let expected = filter(&settings, 0).expected(arrivals);
            let (fpr, fnr) = (expected.false_positive.unwrap(), expected.false_negative.unwrap());
            assert_mean(&rates, fpr, &format!("false positives, {settings:?}, {arrivals}"));
            assert_mean(&missed, fnr, &format!("misses, {settings:?}, {arrivals}"));
        }
    }
}

#[test]
fn the_optimiser_picks_the_shape_with_the_fewest_misses() {
    for (gap, max, hashes, decrements, misses) in
        [(500, 7, 6, 65, 0.0004), (2000, 3, 4, 30, 0.366), (5000, 1, 3, 11, 0.779)]
    {
        let shape = Stable::with_gap(100_000, 0.01, gap).unwrap().shape();
        assert_eq!((shape.max, shape.hashes, shape.decrements), (max, hashes, decrements));
        assert!((shape.miss_rate(gap) - misses).abs() < 0.0005);
        assert_eq!(shape, stable::best(100_000, 0.01, gap).unwrap().shape);
    }
    let given = filter(&[("bits", "100000"), ("gap", "500"), ("max", "3"), ("decrements", "9")], 0).shape();
    assert_eq!((given.cells, given.max, given.decrements), (50_000, 3, 9));
    let plain = Stable::with_size(100_000, 0.01).unwrap().shape();
    assert_eq!((plain.cells, plain.max, plain.hashes, plain.decrements), (50_000, 3, 4, 30));
}

#[test]
fn sizing_by_items_finds_the_least_memory_for_the_asked_misses() {
    for (items, fpr, fnr) in [("1", "0.01", "0.01"), ("1000", "0.01", "0.01"), ("1e6", "0.001", "0.1")] {
        let settings = [("items", items), ("fpr", fpr), ("fnr", fnr)];
        let config = config(&settings, 0);
        let (gap, fpr, fnr) =
            (config.count("items").unwrap(), config.real("fpr").unwrap(), config.real("fnr").unwrap());
        let plan = Stable::plan(&config).unwrap();
        let shape = Stable::from_config(&config).unwrap().shape();
        assert!(shape.miss_rate(gap) <= fnr && shape.limit_rate() <= fpr);
        let less = stable::best(plan.bits - plan.bits / 500 - 4, fpr, gap);
        assert!(less.is_err() || less.unwrap().misses > fnr, "{settings:?}");
    }
}

#[test]
fn an_arrival_takes_one_from_consecutive_cells_only() {
    for (max, cells) in [("1", "500"), ("3", "513"), ("7", "500"), ("5", "501")] {
        let mut filter = filter(&[("cells", cells), ("max", max), ("hashes", "2"), ("decrements", "36")], 9);
        let (m, max) = (filter.shape().cells, u64::from(filter.shape().max));
        for _ in 0..200 {
            (0..m).for_each(|cell| filter.mechanism.cells.set(cell, max));
            filter.mechanism.fade();
            let faded = |cell: u64| filter.mechanism.cells.get(cell % m) == max - 1;
            let begin = (0..m).find(|&cell| faded(cell) && !faded(cell + m - 1)).unwrap();
            assert!((begin..begin + 36).all(faded));
            assert_eq!(filter.mechanism.cells.iter().sum::<u64>(), m * max - 36);
        }
    }
}

#[test]
fn a_key_that_keeps_coming_is_never_forgotten() {
    let mut filter = filter(&[("bits", "100000"), ("gap", "500")], 0);
    filter.insert("hot");
    let misses = (0..200_000u64).filter(|key| {
        filter.insert(key);
        key % 100 == 0 && filter.insert("hot")
    });
    // After a gap of 100 fewer than one in 10^9 is missed; left to itself the key would be gone after some thousand.
    assert_eq!(misses.count(), 0);
}

#[test]
fn keys_of_fewer_arrivals_ago_than_max_are_contained() {
    let mut filter = filter(&[("cells", "60"), ("max", "7"), ("hashes", "3"), ("decrements", "59")], 0);
    for key in 0..2_000u64 {
        filter.insert(&key);
        assert!((key.saturating_sub(6)..=key).all(|key| filter.contains(&key)));
    }
}

#[test]
fn time_adds_up_and_ends_in_an_empty_filter() {
    let mut start = filter(&EXAMPLE, 4);
    (0..5_000u64).for_each(|key| {
        start.insert(&key);
    });
    for (a, b) in [(0, 7), (7, 0), (500, 1_234), (3, 1 << 40), (1 << 40, 12), (u64::MAX - 5, 5)] {
        let (mut parts, mut whole) = (start.clone(), start.clone());
        parts.advance(a);
        parts.advance(b);
        whole.advance(a + b);
        assert_eq!(parts.to_bytes(), whole.to_bytes(), "{a} {b}");
    }
    let mut empty = start.clone();
    empty.advance(1 << 40);
    assert_eq!(empty.stats().fill, Some(0.0));
    assert_eq!(empty.items(), start.items());
}

#[test]
fn frames_replay_the_stream() {
    let mut filter = filter(&[("items", "100"), ("max", "5")], 4);
    (0..300u64).for_each(|key| {
        filter.insert(&key);
    });
    let mut again = Stable::from_bytes(&filter.to_bytes()).unwrap();
    assert_eq!(again, filter);
    for key in 200..2_000u64 {
        assert_eq!(again.insert(&key), filter.insert(&key));
    }
    assert_eq!(again, filter);
    assert_eq!(Stable::from_config(&filter.config()).unwrap().shape(), filter.shape());

    filter.mechanism.cells.set(3, 7);
    assert!(matches!(Stable::from_bytes(&filter.to_bytes()), Err(Error::Corrupt { .. })), "7 is above Max = 5");
}

#[test]
fn honest_keyed_filters_open_and_forged_full_ones_do_not() {
    let secret = Secret::new(&[5; 32]).unwrap();
    let options = crate::OpenOptions { secret: Some(secret.clone()), ..Default::default() };
    for arrivals in [0, 1, 10, 1_000, 30_000] {
        let mut filter = Stable::from_config(&config(&EXAMPLE, 0).hashed(Hashing::keyed(secret.clone()))).unwrap();
        (0..arrivals).for_each(|key: u64| {
            filter.insert(&key);
        });
        let opened = AnyFilter::from_bytes_with(&filter.to_bytes(), &options).unwrap();
        assert_eq!(opened.downcast_ref::<Stable>(), Some(&filter));
        (0..filter.shape().cells).for_each(|cell| filter.mechanism.cells.set(cell, 3));
        let (forged, options) = (
            crate::codec::without_code(filter.to_bytes()),
            crate::OpenOptions { allow_unauthenticated: true, ..options.clone() },
        );
        assert!(matches!(AnyFilter::from_bytes_with(&forged, &options), Err(Error::Overfull { .. })));
    }
}

#[test]
fn batches_answer_as_single_calls_do() {
    let keys: Vec<[u8; 8]> = (0..3_000u64).map(|key| (key % 1_700).to_le_bytes()).collect();
    let items: Vec<_> = keys.iter().map(|key| Item::from(&key[..])).collect();
    let (mut single, mut batch) = (filter(&EXAMPLE, 0), filter(&EXAMPLE, 0));
    let fresh = items.iter().filter(|item| Insert::insert(&mut single, **item).unwrap()).count() as u64;
    assert_eq!(Insert::insert_batch(&mut batch, &items).unwrap(), fresh);
    assert_eq!(single, batch);
    let queries: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let mut answers = vec![false; queries.len()];
    batch.contains_batch(&queries, &mut answers);
    assert!(queries.iter().zip(answers).all(|(key, answer)| single.contains(*key) == answer));
}

#[test]
fn parameters_that_cannot_be_had_are_refused_by_name() {
    let refused = |settings: &[(&str, &str)]| match Stable::from_config(&config(settings, 0)) {
        Err(Error::Parameter { name, .. }) => name,
        other => format!("{other:?}"),
    };
    assert_eq!(refused(&[]), "items");
    assert_eq!(refused(&[("cells", "4")]), "cells");
    assert_eq!(refused(&[("cells", "4"), ("gap", "10"), ("hashes", "7")]), "cells");
    assert_eq!(refused(&[("cells", "100"), ("decrements", "101")]), "decrements");
    assert!(Stable::with_size(1_000, 1e-300).is_err());
    assert!(Stable::with_rate(0, 0.01).is_err() && Stable::with_rate(10, f64::NAN).is_err());
    assert!(matches!(Stable::with_rate(1 << 56, 0.01), Err(Error::TooLarge { .. })));
    assert!(Stable::with_size(1 << 62, 0.01).is_err());
}
