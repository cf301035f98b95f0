use std::collections::BTreeMap;

use super::*;
use crate::AnyFilter;
use crate::capability::Entry;
use crate::capability::{Item, Remove};
use crate::hash::{Secret, SplitMix};
use crate::kind::{Config, Structure};

fn config(settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap())
}

fn made(settings: &[(&str, &str)], seed: u64) -> Iblt {
    Iblt::from_config(&config(settings).hashed(Hashing::seeded(seed))).unwrap()
}

const ACCUMULATORS: [&str; 2] = ["xor", "sum"];

fn value_of(key: u64) -> [u8; 4] {
    (key as u32).wrapping_mul(2_654_435_761).to_le_bytes()
}

fn record(table: &Iblt, key: u64) -> records::Record<64> {
    table.mechanism.table.record(&key.to_le_bytes(), &value_of(key)).unwrap()
}

fn fill(table: &mut Iblt, keys: std::ops::Range<u64>) {
    keys.for_each(|key| table.mechanism.table.add_record(record(table, key), 1));
}

/// The listed pairs with their counts; none twice.
fn pairs(listing: &Listing) -> BTreeMap<(Vec<u8>, Vec<u8>), i64> {
    let pair = |entry: &Entry| match &entry.value {
        Some(Value::Bytes(value)) => ((entry.key.clone(), value.clone()), entry.count),
        other => panic!("{other:?}"),
    };
    let pairs: BTreeMap<_, _> = listing.entries.iter().map(pair).collect();
    assert_eq!(pairs.len(), listing.entries.len());
    pairs
}

fn are_the_keys(listing: &Listing, keys: std::ops::Range<u64>) -> bool {
    let pairs = pairs(listing);
    pairs.len() as u64 == keys.end - keys.start
        && keys.into_iter().all(|key| pairs.get(&(key.to_le_bytes().to_vec(), value_of(key).to_vec())) == Some(&1))
}

const SMALL: [(&str, &str); 3] = [("hashes", "3"), ("key-bytes", "8"), ("value-bytes", "4")];

#[test]
fn at_1_25_cells_per_pair_all_100_000_pairs_are_listed_in_49_of_50_seeds() {
    let settings = [&SMALL[..], &[("cells", "125000")]].concat();
    let complete = |seed: &u64| {
        let mut table = made(&settings, *seed);
        fill(&mut table, 0..100_000);
        let listing = table.drain();
        let complete = listing.undecoded == 0;
        // Comparing all pairs of all seeds would take longer than listing them.
        assert!(!complete || listing.entries.len() == 100_000);
        assert!(*seed > 0 || are_the_keys(&listing, 0..100_000));
        complete
    };
    let count = std::thread::scope(|scope| {
        let odd = scope.spawn(|| (0..25).filter(complete).count());
        (25..50).filter(complete).count() + odd.join().unwrap()
    });
    assert!(count >= 49, "{count} of 50");
}

#[test]
fn at_1_20_cells_per_pair_the_predicted_share_is_listed() {
    let settings = [&SMALL[..], &[("cells", "120000")]].concat();
    let expected = 1.0 - crate::theory::peeling::unlisted(100_000, 120_000, 3);
    assert!((expected - 0.509).abs() < 0.002, "{expected}");
    for seed in 0..3 {
        let mut table = made(&settings, seed);
        fill(&mut table, 0..100_000);
        let listing = table.list();
        assert!(listing.undecoded > 0);
        let share = pairs(&listing).len() as f64 / 1e5;
        assert!((share - expected).abs() < 0.02, "{share}, expected {expected}");
        assert!(listing.entries.iter().all(|entry| entry.count == 1 && u64_of(&entry.key) < 100_000));
    }
}

fn u64_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

#[test]
fn an_overload_drains_and_what_is_left_is_listed_completely() {
    for accumulator in ACCUMULATORS {
        let mut table = made(&[&SMALL[..], &[("cells", "13000"), ("accumulator", accumulator)]].concat(), 4);
        fill(&mut table, 0..1_000_000);
        assert!(table.list().entries.len() < 10);
        for key in 10_000..1_000_000u64 {
            table.remove(&key, &value_of(key)).unwrap();
        }
        let listing = table.list();
        assert_eq!(listing.undecoded, 0);
        assert!(are_the_keys(&listing, 0..10_000));
        assert_eq!(table.stats().items, 10_000);
    }
}

#[test]
fn removals_without_insertion_are_listed_as_negative() {
    for accumulator in ACCUMULATORS {
        let mut table = made(&[&SMALL[..], &[("cells", "13000"), ("accumulator", accumulator)]].concat(), 5);
        fill(&mut table, 0..9_000);
        for key in 50_000..50_100u64 {
            table.remove_ahead(&key, &value_of(key)).unwrap();
        }
        let listing = table.list();
        assert_eq!(listing.undecoded, 0);
        let pairs = pairs(&listing);
        assert_eq!(pairs.len(), 9_100);
        for ((key, value), count) in pairs {
            let key = u64_of(&key);
            assert_eq!(value, value_of(key));
            assert_eq!(count, if key < 9_000 { 1 } else { -1 });
            assert!(key < 9_000 || (50_000..50_100).contains(&key));
        }
        // Where they can be told apart, such keys are not held.
        assert!((50_000..50_100u64).all(|key| matches!(table.get(&key), Answer::Absent | Answer::Unknown)));
        let mut alone = made(&[("items", "5"), ("accumulator", accumulator)], 5);
        alone.remove_ahead("rose", b"red").unwrap();
        assert_eq!((alone.get("rose"), alone.count("rose").count), (Answer::Absent, 0));
    }
}

/// The mean and its standard error.
fn mean_and_error(samples: &[f64]) -> (f64, f64) {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[test]
fn unknown_answers_are_as_frequent_as_computed_for_held_and_absent_keys() {
    // The error is that of the mean over the tables, for one table's answers depend on each other.
    for accumulator in ACCUMULATORS {
        for (cells, hashes, n) in [("1300", "3", 1_000u64), ("6000", "4", 1_000), ("152", "4", 100), ("152", "5", 150)]
        {
            let settings = [("cells", cells), ("hashes", hashes), ("key-bytes", "8"), ("accumulator", accumulator)];
            let (mut held, mut over, mut absent, mut rates) = (vec![], vec![], vec![], Rates::default());
            for seed in 0..100 {
                let mut table = made(&settings, seed);
                fill(&mut table, 0..n);
                rates = table.expected(n);
                let (mut unknown, mut more, mut maybe) = (0, 0, 0);
                for key in 0..n {
                    match table.get(&key) {
                        Answer::Unknown => unknown += 1,
                        answer => assert_eq!(answer, Answer::Value(Value::Bytes(value_of(key).to_vec()))),
                    }
                    more += u64::from(table.count(&key).count > 1);
                }
                for key in n..n + 1_000 {
                    let answer = table.get(&key);
                    assert!(matches!(answer, Answer::Absent | Answer::Unknown), "{answer:?}");
                    assert_eq!(table.contains(&key), answer == Answer::Unknown);
                    assert_eq!(table.count(&key).count > 0, answer == Answer::Unknown);
                    maybe += u64::from(answer == Answer::Unknown);
                }
                held.push(unknown as f64 / n as f64);
                over.push(more as f64 / n as f64);
                absent.push(maybe as f64 / 1_000.0);
            }
            for (samples, rate) in [(held, rates.unknown), (over, rates.over_count), (absent, rates.false_positive)] {
                let (mean, sigma) = mean_and_error(&samples);
                let rate = rate.unwrap();
                assert!((mean - rate).abs() < 5.0 * sigma, "{cells} {hashes}: {mean}, expected {rate} +- {sigma}");
            }
        }
    }
    let near = |cells, hashes, share: f64| {
        let rates = made(&[("cells", cells), ("hashes", hashes)], 0).expected(1_000);
        assert!((rates.unknown.unwrap() - share).abs() < 0.005);
    };
    near("1300", "3", 0.73);
    near("6000", "4", 0.056);
}

#[test]
fn planned_sizes_list_their_items_in_98_of_100_cases_for_every_number_of_hashes() {
    // 99 % is the aim of the simulated sizes, which were found with an error of their own; 200 tables at 98.5 % and 5 sigma.
    for hashes in ["3", "4", "5", "6", "8"] {
        for items in [1u64, 2, 5, 10, 33, 100, 300, 1_500] {
            let trials = if items > 200 { 60 } else { 200 };
            let settings = [("items", &*items.to_string()), ("hashes", hashes), ("key-bytes", "8")];
            let complete = (0..trials).filter(|&seed| {
                let mut table = made(&settings, seed);
                fill(&mut table, 0..items);
                table.drain().undecoded == 0
            });
            let (complete, trials) = (complete.count() as f64, trials as f64);
            let least = trials * 0.985 - 5.0 * (trials * 0.985 * 0.015).sqrt();
            assert!(complete >= least, "{items} items, {hashes} hashes: {complete} of {trials}");
        }
    }
}

#[test]
fn duplicates_poison_their_cells_under_xor_and_are_counted_under_sum() {
    let mut xor = made(&[("items", "20")], 1);
    let mut sum = made(&[("items", "20"), ("accumulator", "sum")], 1);
    for table in [&mut xor, &mut sum] {
        assert!(table.insert("rose", b"red").unwrap());
        assert!(!table.insert("rose", b"red").unwrap());
        assert_eq!(table.count("rose").count, 2);
        assert!(table.contains("rose"));
    }
    assert_eq!(xor.get("rose"), Answer::Unknown);
    assert_eq!((xor.list().entries.len(), xor.list().undecoded), (0, 4));
    assert_eq!(sum.get("rose"), Answer::Value(Value::Bytes(b"red".to_vec())));
    let listing = sum.list();
    assert_eq!((listing.entries[0].count, listing.undecoded), (2, 0));
    for table in [&mut xor, &mut sum] {
        table.remove("rose", b"red").unwrap();
        assert_eq!(table.count("rose").count, 1);
        assert_eq!(table.list().undecoded, 0);
    }
}

#[test]
fn two_values_of_one_key_are_unreadable_until_one_is_gone() {
    for accumulator in ACCUMULATORS {
        let mut table = made(&[("items", "20"), ("accumulator", accumulator)], 2);
        // The averages of the two, which a hash of the key alone would let pass, are values too.
        table.insert("rose", b"a").unwrap();
        table.insert("rose", b"c").unwrap();
        assert_eq!((table.get("rose"), table.count("rose").count), (Answer::Unknown, 2));
        assert!(table.list().entries.is_empty());
        assert!(matches!(table.remove_key("rose"), Err(Error::Ambiguous { .. })));
        table.remove("rose", b"a").unwrap();
        assert_eq!(table.get("rose"), Answer::Value(Value::Bytes(b"c".to_vec())));
        assert!(matches!(table.remove("rose", b"a"), Err(Error::NotPresent)), "has another value");
        assert!(matches!(table.remove("lily", b"c"), Err(Error::NotPresent)));
        Remove::remove(&mut table, Item::from(b"rose".as_slice())).unwrap();
        assert_eq!(table, made(&[("items", "20"), ("accumulator", accumulator)], 2));
    }
}

#[test]
fn keys_and_values_of_every_length_come_back_as_they_were() {
    for (accumulator, key_bytes, value_bytes) in
        [("xor", 16, 8), ("xor", 255, 255), ("xor", 1, 1), ("xor", 5, 0), ("sum", 8, 8), ("sum", 3, 0), ("sum", 7, 1)]
    {
        let (keys, values) = (key_bytes.to_string(), value_bytes.to_string());
        let settings =
            [("items", "600"), ("accumulator", accumulator), ("key-bytes", &*keys), ("value-bytes", &*values)];
        let mut table = made(&settings, 3);
        let mut model = BTreeMap::new();
        let mut random = SplitMix::new(9);
        for len in 0..=key_bytes {
            // Zeros at the end are part of a key.
            let key: Vec<u8> = (0..len).map(|at| if at % 3 == 2 { 0 } else { random.next_u64() as u8 }).collect();
            let value = vec![0; len % (value_bytes + 1)];
            table.insert(&key, &value).unwrap();
            model.insert((key, value), 1);
        }
        let listing = table.list();
        assert_eq!(listing.undecoded, 0);
        if value_bytes > 0 {
            assert_eq!(pairs(&listing), model);
        } else {
            assert!(listing.entries.iter().all(|e| e.value.is_none() && model.contains_key(&(e.key.clone(), vec![]))));
            assert_eq!(listing.entries.len(), model.len());
        }
        let error = table.insert(&vec![7; key_bytes + 1], b"").unwrap_err();
        assert!(matches!(&error, Error::Item { .. }) && error.to_string().contains(&keys), "{error}");
        assert!(matches!(table.insert("a", &vec![7; value_bytes + 1]), Err(Error::Item { .. })));
        assert_eq!(table.get(&vec![7; key_bytes + 1]), Answer::Absent);
    }
}

#[test]
fn random_operations_agree_with_an_exact_model() {
    for accumulator in ACCUMULATORS {
        let mut table = made(&[("items", "60"), ("key-bytes", "8"), ("accumulator", accumulator)], 6);
        let mut model: BTreeMap<u64, [u8; 4]> = BTreeMap::new();
        let mut random = SplitMix::new(7);
        for step in 0..20_000 {
            let key = random.below(200);
            if let Some(value) = model.remove(&key) {
                table.remove(&key, &value).unwrap();
            } else if model.len() < 60 {
                let value = value_of(random.next_u64());
                table.insert(&key, &value).unwrap();
                model.insert(key, value);
            }
            let probe = random.below(200);
            match (table.get(&probe), model.get(&probe)) {
                (Answer::Unknown, _) | (Answer::Absent, None) => {}
                (Answer::Value(Value::Bytes(found)), Some(value)) => assert_eq!(found, value),
                other => panic!("{other:?}"),
            }
            assert!(table.count(&probe).count >= u64::from(model.contains_key(&probe)));
            if step % 100 == 0 {
                let listing = table.list();
                let listed = pairs(&listing);
                assert!(listed.iter().all(|((key, value), count)| {
                    *count == 1 && model.get(&u64_of(key)).is_some_and(|held| held == &value[..])
                }));
                assert_eq!(listing.undecoded == 0, listed.len() == model.len());
            }
        }
        model.iter().for_each(|(key, value)| table.remove(key, value).unwrap());
        assert!(table.mechanism.table.words().iter().all(|&word| word == 0));
    }
}

#[test]
fn the_sum_of_tables_is_the_table_of_all_pairs_and_the_difference_lists_both_sides() {
    for accumulator in ACCUMULATORS {
        let settings = [("items", "300"), ("key-bytes", "8"), ("accumulator", accumulator)];
        let filled = |keys| {
            let mut table = made(&settings, 8);
            fill(&mut table, keys);
            table
        };
        let mut sum = filled(0..100);
        sum.merge(&filled(100..250)).unwrap();
        assert_eq!(sum, filled(0..250));
        assert!(are_the_keys(&sum.list(), 0..250));

        let mut difference = filled(0..5_000);
        difference.subtract(&filled(100..5_050)).unwrap();
        let listing = difference.list();
        assert_eq!(listing.undecoded, 0);
        assert_eq!(listing.entries.iter().filter(|entry| entry.count == 1).count(), 100);
        assert_eq!(listing.entries.iter().filter(|entry| entry.count == -1).count(), 50);

        for (other, field) in [
            (made(&[("items", "400"), ("key-bytes", "8"), ("accumulator", accumulator)], 8), "cells"),
            (made(&settings, 9), "hashing"),
            (made(&[&settings[..], &[("hash-bits", "32")]].concat(), 8), "hash-bits"),
        ] {
            let before = sum.clone();
            match sum.merge(&other) {
                Err(Error::Incompatible { field: found, .. }) => assert_eq!(found, field),
                answer => panic!("{answer:?}"),
            }
            assert_eq!(sum, before);
        }
    }
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    for (settings, name) in [
        (&[][..], "items"),
        (&[("hashes", "4")], "items"),
        (&[("items", "5"), ("accumulator", "sum"), ("key-bytes", "9")], "key-bytes"),
        (&[("items", "5"), ("accumulator", "sum"), ("value-bytes", "9")], "value-bytes"),
    ] {
        match Iblt::plan(&config(settings)) {
            Err(Error::Parameter { name: found, .. }) => assert_eq!(found, name, "{settings:?}"),
            answer => panic!("{settings:?}: {answer:?}"),
        }
    }
    for (name, text) in [("hashes", "2"), ("hashes", "9"), ("key-bytes", "0"), ("hash-bits", "16"), ("cells", "0")] {
        assert!(config(&[]).set(name, text).is_err(), "{name} {text}");
    }
    for settings in [[("items", "7e16")], [("cells", "281474976710656")]] {
        assert!(Iblt::from_config(&config(&settings)).is_err());
    }
}

#[test]
fn frames_give_back_equal_tables_also_when_keyed() {
    let secret = Secret::new(&[4; 16]).unwrap();
    for accumulator in ACCUMULATORS {
        let mut table = made(&[("items", "99"), ("accumulator", accumulator), ("hash-bits", "37")], 1);
        fill(&mut table, 0..70);
        table.remove_ahead("lily", b"white").unwrap();
        let frame = table.to_bytes();
        assert_eq!(Iblt::from_bytes(&frame).unwrap(), table);
        assert_eq!(Iblt::create(&table.config()).unwrap().config(), table.config());
        let plan = Iblt::plan(&table.config()).unwrap();
        assert_eq!(plan.bits, table.stats().bits);
        for cut in [0, 1, 63, 64, 200, frame.len() - 1] {
            assert!(Iblt::from_bytes(&frame[..cut]).is_err());
        }

        let keyed = config(&[("items", "9"), ("accumulator", accumulator)]).hashed(Hashing::keyed(secret.clone()));
        let mut keyed = Iblt::from_config(&keyed).unwrap();
        keyed.insert("rose", b"red").unwrap();
        let options = crate::OpenOptions { secret: Some(secret.clone()), ..Default::default() };
        let again = AnyFilter::from_bytes_with(&keyed.to_bytes(), &options).unwrap();
        assert_eq!(again.downcast_ref(), Some(&keyed));
        assert_eq!(again.list().unwrap().list().entries.len(), 1);
    }
}

#[test]
fn the_state_tells_fill_and_rate_of_this_very_table() {
    let mut table = made(&[("cells", "900"), ("hashes", "3"), ("key-bytes", "8")], 1);
    assert_eq!((table.stats().fill, table.stats().fpr, table.stats().items), (Some(0.0), Some(0.0), 0));
    fill(&mut table, 0..500);
    let (stats, queries) = (table.stats(), 200_000);
    assert_eq!(stats.items, 500);
    let rate = stats.fpr.unwrap();
    let found = (1_000..1_000 + queries).filter(|key: &u64| table.contains(key)).count() as f64 / queries as f64;
    let sigma = (rate * (1.0 - rate) / queries as f64).sqrt();
    assert!((found - rate).abs() < 5.0 * sigma, "{found}, expected {rate} +- {sigma}");
}
