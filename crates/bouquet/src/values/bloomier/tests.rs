use super::*;
use crate::AnyFilter;
use crate::capability::{Answer, BuildFrom, Contains, Value};
use crate::capability::{Item, Note};
use crate::hash::{Secret, SplitMix};
use crate::kind::Verb;
use crate::kind::{Config, Structure};
use crate::theory::peeling;

const MODES: [&str; 4] = ["table", "mutable", "compact", "cascade"];

fn of_config<K: Key>(config: &Config, pairs: impl IntoIterator<Item = (K, u64)>) -> Result<Bloomier> {
    Bloomier::from_pairs(&BloomierSettings::from_config(config)?, config.hashing(), pairs)
}

fn config(settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap())
}

fn value(key: u64, values: u64) -> u64 {
    crate::hash::fastrange(crate::hash::mix(key), values)
}

fn built(settings: &[(&str, &str)], keys: u64) -> Bloomier {
    let config = config(settings);
    let values = config.need("values").unwrap();
    of_config(&config, (0..keys).map(|key| (key, value(key, values)))).unwrap()
}

fn every_member_is_exact(filter: &Bloomier, keys: u64) -> bool {
    (0..keys).all(|key| filter.get(&key) == Some(value(key, filter.mechanism.shape.values)))
}

/// The share of absent keys that get a value is within 5 sigma of `rate`.
#[track_caller]
fn absent_keys_get_values_at(filter: &Bloomier, rate: f64, queries: u64) {
    let absent = 1 << 40;
    let found = (absent..absent + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64;
    let sigma = (rate * (1.0 - rate) / queries as f64).sqrt();
    assert!((found - rate).abs() < 5.0 * sigma, "{found}, expected {rate} +- {sigma}");
}

#[test]
fn a_table_of_100_000_keys_is_exact_at_19_8_bits_per_key() {
    let filter = built(&[("width", "16")], 100_000);
    assert!(every_member_is_exact(&filter, 100_000));
    absent_keys_get_values_at(&filter, 1.0 / 256.0, 1_000_000);
    assert!(filter.stats().bits as f64 <= 19.8 * 1e5);
    assert!(filter.to_bytes().len() as f64 * 8.0 <= 19.8 * 1e5, "the frame too");
    assert_eq!(filter.expected(100_000).spurious_value, Some(1.0 / 256.0));
}

#[test]
fn a_mutable_table_reads_back_50_000_changes() {
    let mut filter = built(&[("mode", "mutable"), ("width", "9")], 100_000);
    assert!(every_member_is_exact(&filter, 100_000));
    let mut model: Vec<u64> = (0..100_000).map(|key| value(key, 256)).collect();
    let mut random = SplitMix::new(3);
    for _ in 0..50_000 {
        let (key, value) = (random.below(100_000), random.below(256));
        filter.set(&key, value).unwrap();
        model[key as usize] = value;
    }
    assert!((0..).zip(&model).all(|(key, value): (u64, _)| filter.get(&key) == Some(*value)));
    absent_keys_get_values_at(&filter, 3.0 / 512.0, 1_000_000);
    // 9 bits to tell the cells apart, 8 bits of value.
    assert_eq!(filter.stats().bits, table::cells_for(100_000).unwrap() * 17);
}

#[test]
fn a_compact_table_takes_1_07_cells_per_key_with_all_headers() {
    let filter = built(&[("mode", "compact"), ("width", "16")], 100_000);
    assert!(every_member_is_exact(&filter, 100_000));
    absent_keys_get_values_at(&filter, 1.0 / 256.0, 1_000_000);
    assert!(filter.to_bytes().len() as f64 * 8.0 <= 1.07 * 16.0 * 1e5, "{}", filter.to_bytes().len());
    let planned = Bloomier::plan(&filter.config().set("items", "100000").unwrap()).unwrap().bits as f64;
    assert!((filter.bits() as f64 / planned - 1.0).abs() < 0.001, "{} {planned}", filter.bits());
}

#[test]
fn a_cascade_of_two_values_stores_hardly_more_keys_than_there_are() {
    let (n, f) = (100_000, 0.01);
    let filter = built(&[("mode", "cascade"), ("values", "2"), ("fpr", "0.02")], n);
    assert!(every_member_is_exact(&filter, n));
    let levels = filter.levels();
    assert!(levels.iter().sum::<u64>() as f64 <= 1.02 * n as f64, "{levels:?}");
    // Level i holds n ((R-1) f)^i keys, within 5 sigma.
    let second = n as f64 * f;
    assert!((levels[1] as f64 - second).abs() < 5.0 * second.sqrt(), "{levels:?}");
    // The first term of the theory, 2 f (1 - f), and the second: both values on level 0, one of them on level 1.
    let theory = 2.0 * f * (1.0 - f) + f * f * 2.0 * f * (1.0 - f);
    assert!((filter.expected(n).false_positive.unwrap() / theory - 1.0).abs() < 0.001);
    // Filters of one size scatter: the share of ones p by sqrt(p (1-p) / m) at most, the rate k times as much.
    let queries = 1_000_000;
    let found = (1 << 40..(1 << 40) + queries).filter(|key: &u64| filter.contains(key)).count() as f64 / queries as f64;
    let scatter = f * 7.0 / (n as f64 / 2.0 * 9.6).sqrt() * std::f64::consts::SQRT_2;
    let sigma = (theory / queries as f64).sqrt().hypot(scatter);
    assert!((found - theory).abs() < 5.0 * sigma, "{found}, expected {theory} +- {sigma}");
}

#[test]
fn cascades_of_many_values_answer_at_their_rate_over_all_levels() {
    // Large rates make the deeper levels count; the mean over instances meets the formula.
    for (values, fpr) in [("3", "0.6"), ("16", "0.5"), ("1", "0.1")] {
        let (instances, queries, n) = (20, 20_000, 2_000);
        let (mut found, mut expected) = (Vec::new(), 0.0);
        for seed in 0..instances {
            let config = config(&[("mode", "cascade"), ("values", values), ("fpr", fpr)]).hashed(Hashing::seeded(seed));
            let range = config.need("values").unwrap();
            let filter = of_config(&config, (0..n).map(|key| (key, value(key, range)))).unwrap();
            assert!(every_member_is_exact(&filter, n));
            found.push((n..n + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64);
            expected += filter.expected(n).false_positive.unwrap() / instances as f64;
        }
        let (mean, sigma) = mean_and_error(&found);
        assert!((mean - expected).abs() < 5.0 * sigma, "{values}: {mean}, expected {expected} +- {sigma}");
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
fn the_chance_of_a_value_is_that_of_walking_through_the_levels() {
    // The oracle follows every set of surviving values.
    let rates = vec![vec![0.3, 0.5, 0.2], vec![0.4, 0.1, 0.6], vec![0.25, 0.35, 0.5]];
    let mut sets = [0.0; 8];
    sets[7] = 1.0;
    let mut chance = 0.0;
    for level in &rates {
        let mut next = [0.0; 8];
        for (from, probability) in sets.iter().enumerate() {
            for (to, sum) in next.iter_mut().enumerate().filter(|(to, _)| to & !from == 0) {
                let of = |v: usize| match (from >> v & 1, to >> v & 1) {
                    (0, _) => 1.0,
                    (_, 1) => level[v],
                    _ => 1.0 - level[v],
                };
                *sum += probability * of(0) * of(1) * of(2);
            }
        }
        chance += next[1] + next[2] + next[4];
        [0, 1, 2, 4].iter().for_each(|&ended| next[ended] = 0.0);
        sets = next;
    }
    assert!((cascade::chance_of_a_value(&rates) - chance).abs() < 1e-12);
    assert_eq!(cascade::chance_of_a_value(&[]), 0.0);
    let equal = cascade::chance_of_a_value(&vec![vec![0.2; 5]; 100]);
    assert!((equal - peeling::cascade_rate(5, 0.2)).abs() < 1e-12);
}

#[test]
fn every_mode_is_exact_at_every_small_size() {
    for mode in MODES {
        for keys in (0..70).chain([127, 500, 999, 1_000, 1_001, 3_000]) {
            let filter = built(&[("mode", mode), ("values", "7")], keys);
            assert_eq!(filter.items(), keys);
            assert!(every_member_is_exact(&filter, keys), "{mode} {keys}");
        }
    }
}

#[test]
fn every_range_of_values_and_every_rate_keeps_its_promise() {
    for mode in &MODES[..3] {
        for (values, fpr) in [("1", "0.5"), ("2", "0.3"), ("1000", "0.9"), ("4294967296", "0.1"), ("1e14", "0.001")] {
            let filter = built(&[("mode", mode), ("values", values), ("fpr", fpr)], 1_000);
            assert!(every_member_is_exact(&filter, 1_000), "{mode} {values}");
            let rate = filter.expected(1_000).spurious_value.unwrap();
            assert!(rate <= fpr.parse().unwrap(), "{mode} {values}");
            absent_keys_get_values_at(&filter, rate, 20_000);
        }
    }
}

#[test]
fn the_filter_of_no_keys_holds_nothing_for_certain() {
    for mode in MODES {
        let filter = Bloomier::create(&config(&[("mode", mode), ("items", "100")])).unwrap();
        assert!((0..1_000u64).all(|key| !filter.contains(&key)));
        assert_eq!(filter.expected(0).false_positive, Some(0.0));
        let mut answers = [true; 2];
        Contains::contains_batch(&filter, &[b"rose", b"lily"], &mut answers);
        assert_eq!(answers, [false; 2]);
        assert_eq!(Bloomier::from_bytes(&filter.to_bytes()).unwrap(), filter);
    }
}

#[test]
fn equal_pairs_are_one_and_a_key_with_two_values_is_refused_by_name() {
    let build = |items: &[Item<'_>]| Bloomier::build_from(&config(&[]), &Dataset { items, absent: &[] });
    let rose = |value| Item::new(b"rose", Note::Integer(value));
    assert_eq!(build(&[rose(5), rose(5), rose(5)]).unwrap().items(), 1);
    let error = build(&[rose(5), Item::new(b"lily", Note::Integer(1)), rose(6)]).unwrap_err();
    assert!(matches!(error, Error::Build { .. }));
    assert_eq!(
        error.to_string(),
        "the filter cannot be built: key `rose` has the values 5 and 6; give each key one value"
    );
    assert!(matches!(build(&[rose(256)]), Err(Error::Item { .. })));
    assert!(matches!(build(&[Item::from(b"rose".as_slice())]), Err(Error::Item { .. })), "no value");
}

#[test]
fn the_order_of_the_items_does_not_matter() {
    for mode in MODES {
        let config = config(&[("mode", mode), ("values", "9")]);
        let forwards = of_config(&config, (0..3_000u64).map(|key| (key, key % 9))).unwrap();
        let backwards = of_config(&config, (0..3_000u64).rev().map(|key| (key, key % 9))).unwrap();
        assert_eq!(forwards, backwards);
    }
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    for (settings, name) in [
        (&[("fpr", "1e-18")][..], "fpr"),
        (&[("width", "7")], "width"),
        (&[("width", "1"), ("mode", "mutable")], "width"),
        (&[("width", "9"), ("mode", "cascade")], "width"),
        (&[("cells", "9"), ("mode", "cascade")], "cells"),
        (&[("cells", "9"), ("mode", "compact")], "cells"),
        (&[("values", "257"), ("mode", "cascade")], "values"),
    ] {
        match Bloomier::plan(&config(settings)) {
            Err(Error::Parameter { name: found, .. }) => assert_eq!(found, name, "{settings:?}"),
            answer => panic!("{settings:?}: {answer:?}"),
        }
    }
    assert!(config(&[]).set("values", "0").is_err() && config(&[]).set("width", "65").is_err());
    for mode in ["table", "mutable"] {
        let lavish = of_config(&config(&[("cells", "4e9"), ("mode", mode)]), [("rose", 0)]);
        assert!(matches!(lavish, Err(Error::Parameter { name, .. }) if name == "cells"), "{mode}");
    }
    let crowded = of_config(&config(&[("cells", "1100")]), (0..1_000u64).map(|key| (key, 0)));
    assert!(matches!(crowded, Err(Error::Build { .. })), "{crowded:?}");
}

#[test]
fn values_change_in_mutable_mode_only_and_for_members_only() {
    for mode in ["table", "compact", "cascade"] {
        let refused = built(&[("mode", mode)], 10).set(&1u64, 1);
        assert!(matches!(refused, Err(Error::Parameter { .. })), "{mode}");
    }
    let mut filter = built(&[("mode", "mutable"), ("fpr", "1e-9")], 1_000);
    let before = filter.clone();
    for key in 1_000..3_000u64 {
        assert!(matches!(filter.set(&key, 1), Err(Error::NotPresent)));
    }
    assert_eq!(filter, before);
}

#[test]
fn frames_give_back_equal_filters_in_every_mode_also_when_keyed() {
    let secret = Secret::new(&[9; 32]).unwrap();
    for mode in MODES {
        let filter = built(&[("mode", mode), ("values", "5"), ("items", "2500")], 2_500);
        let frame = filter.to_bytes();
        assert_eq!(Bloomier::from_bytes(&frame).unwrap(), filter);
        assert_eq!(Bloomier::create(&filter.config()).unwrap().config(), filter.config());
        // A dynamic handle asks for the same, and codes its bit stores.
        let dynamic = AnyFilter::from_structure(filter.clone()).unwrap();
        let again = AnyFilter::from_bytes(&dynamic.to_compressed_bytes()).unwrap();
        assert_eq!(again.downcast_ref(), Some(&filter), "{mode}");
        let answer = again.get().unwrap().get(&7u64.to_le_bytes());
        assert_eq!(answer, Answer::Value(Value::Integer(value(7, 5))));
        for cut in [0, 1, 63, 64, 200, frame.len() - 1] {
            assert!(Bloomier::from_bytes(&frame[..cut]).is_err());
        }

        let keyed = config(&[("mode", mode)]).hashed(Hashing::keyed(secret.clone()));
        let keyed = of_config(&keyed, [("rose", 3)]).unwrap();
        let options = crate::OpenOptions { secret: Some(secret.clone()), ..Default::default() };
        let again = AnyFilter::from_bytes_with(&keyed.to_bytes(), &options).unwrap();
        assert_eq!(again.downcast_ref(), Some(&keyed));
        assert_eq!(again.get().unwrap().get(b"rose"), Answer::Value(Value::Integer(3)));
    }
}

#[test]
fn forged_states_are_refused_or_answer_without_panic() {
    // Every byte of header and state is changed in turn and the header's checksum made right again.
    for mode in MODES {
        let frame = built(&[("mode", mode), ("values", "5")], 200).to_bytes();
        let header = crate::codec::Header::read(&frame).unwrap();
        assert_eq!(header.bytes, frame.len() as u64);
        for at in 0..frame.len().min(512) {
            for flip in [1u8, 0x80, 0xFF] {
                let mut forged = frame.clone();
                forged[at] ^= flip;
                resign(&mut forged);
                if let Ok(filter) = Bloomier::from_bytes(&forged) {
                    (0..50u64)
                        .for_each(|key| assert!(filter.get(&key).is_none_or(|v| v < filter.mechanism.shape.values)));
                }
            }
        }
    }
}

/// Makes the header's checksum right for every possible length of the header.
fn resign(frame: &mut [u8]) {
    let sections = usize::from(u16::from_le_bytes([frame[14], frame[15]]));
    let len = |at: usize| u32::from_le_bytes(frame[at..at + 4].try_into().unwrap()) as usize;
    let body = (64 + sections * 40 + len(24) + len(28)).next_multiple_of(64);
    if body > frame.len() {
        return;
    }
    frame[56..64].fill(0);
    let checksum = xxhash_rust::xxh3::xxh3_64(&frame[..body]);
    frame[56..64].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn batches_answer_as_single_questions_do() {
    for mode in MODES {
        let filter = built(&[("mode", mode), ("values", "4"), ("fpr", "0.3")], 500);
        let keys: Vec<[u8; 8]> = (400..600u64).map(u64::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut answers = vec![false; keys.len()];
        Contains::contains_batch(&filter, &keys, &mut answers);
        assert!(keys.iter().zip(&answers).all(|(key, &answer)| filter.contains(*key) == answer));
    }
}

#[test]
fn the_registry_knows_what_it_can() {
    let kind = crate::registry::find("bloomier").unwrap();
    assert!([Verb::Contains, Verb::Get, Verb::BuildFrom].iter().all(|&verb| kind.can(verb)));
    assert!(!kind.can(Verb::Insert) && !kind.can(Verb::Remove));
    let plan = kind.plan(&config(&[("items", "100000"), ("fpr", "0.00390625")])).unwrap();
    assert_eq!(plan.bits, built(&[("fpr", "0.00390625")], 100_000).stats().bits);
    assert_eq!(plan.hashes, 3);
    // Beside what the table gives away, digests of 64 bits meet.
    assert!(plan.fpr.is_some_and(|fpr| (1.0 / 256.0..1.0 / 256.0 + 1e-12).contains(&fpr)), "{:?}", plan.fpr);
}
