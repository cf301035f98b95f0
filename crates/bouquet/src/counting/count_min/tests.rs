use std::collections::{BTreeMap, HashMap};

use super::*;
use crate::capability::{Insert, Item};
use crate::counting::zipf::Zipf;
use crate::hash::SplitMix;
use crate::kind::Config;

fn config(settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap())
}

fn empty(settings: &[(&str, &str)]) -> CountMin {
    CountMin::from_config(&config(settings)).unwrap()
}

fn sketch_of(settings: &[(&str, &str)], keys: &[u64]) -> CountMin {
    let mut sketch = empty(settings);
    let bytes: Vec<[u8; 8]> = keys.iter().map(|key| key.to_le_bytes()).collect();
    let items: Vec<Item> = bytes.iter().map(|key| Item::from(key.as_slice())).collect();
    Insert::insert_batch(&mut sketch, &items).unwrap();
    sketch
}

#[test]
fn no_count_is_too_small_and_few_exceed_the_bound() {
    let (stream, truth) = Zipf::new(50_000, 1.0, 1).stream(500_000);
    let sketch = sketch_of(&[("width", "2000"), ("rows", "4")], &stream);
    let n = stream.len() as u64;
    let errors: Vec<u64> =
        truth.iter().map(|(key, &truth)| sketch.count(key).count.checked_sub(truth).unwrap()).collect();
    let bound = std::f64::consts::E * sketch::row_error(n, 2_000);
    let over = errors.iter().filter(|&&error| error as f64 > bound).count() as f64 / errors.len() as f64;
    assert!(over <= (-4f64).exp(), "{over}");
    let mean = errors.iter().sum::<u64>() as f64 / errors.len() as f64;
    assert!(mean > 0.0 && mean <= sketch::row_error(n, 2_000), "{mean}");
    assert_eq!(sketch.total(), n as i64);
}

#[test]
fn sketches_add_and_subtract_bit_for_bit() {
    let (stream, _) = Zipf::new(5_000, 1.0, 2).stream(40_000);
    let (left, right) = stream.split_at(15_000);
    for settings in [
        &[("width", "500"), ("rows", "5")][..],
        &[("width", "500"), ("rows", "5"), ("counter", "u64")],
        &[("width", "500"), ("rows", "5"), ("counter", "i64")],
        &[("width", "100"), ("rows", "3"), ("levels", "13")],
    ] {
        let (a, b, whole) = (sketch_of(settings, left), sketch_of(settings, right), sketch_of(settings, &stream));
        let mut sum = a.clone();
        sum.merge(&b).unwrap();
        assert_eq!(sum, whole);
        assert_eq!(sum.to_bytes(), whole.to_bytes());
        sum.subtract(&b).unwrap();
        assert_eq!(sum.to_bytes(), a.to_bytes());
        let mut less = a.clone();
        if a.mechanism.signed {
            less.subtract(&whole).unwrap();
            assert_eq!(less.total(), -(right.len() as i64));
        } else {
            assert!(matches!(less.subtract(&whole), Err(Error::NotPresent)));
            assert_eq!(less, a, "nothing has changed");
        }
    }
}

#[test]
fn frequent_keys_are_found_from_the_sketch_alone() {
    let n = 200_000;
    // Ranks are spread over 20 bits so that frequent keys are no neighbours.
    let (stream, _) = Zipf::new(50_000, 1.0, 3).stream(n);
    let stream: Vec<u64> = stream.iter().map(|rank| rank.wrapping_mul(0x9E37_79B1) % (1 << 20)).collect();
    let mut truth: HashMap<u64, u64> = HashMap::new();
    stream.iter().for_each(|key| *truth.entry(*key).or_default() += 1);
    let sketch = sketch_of(&[("levels", "20")], &stream);
    assert_eq!((sketch.settings().width, sketch.settings().rows), (Some(27_183), Some(7)), "the default size");
    let found: BTreeMap<u64, u64> = sketch.heavy(0.001).unwrap().into_iter().collect();
    let threshold = n as f64 * 0.001;
    let heavy: Vec<u64> = truth.iter().filter(|(_, count)| **count as f64 >= threshold).map(|(key, _)| *key).collect();
    assert!(heavy.len() > 50 && heavy.iter().all(|key| found.contains_key(key)));
    for key in found.keys() {
        assert!(truth.get(key).is_some_and(|&count| count as f64 >= threshold - 1e-4 * n as f64), "{key}");
    }
    assert!(sketch.heavy(0.0).is_err() && sketch.heavy(f64::NAN).is_err());
}

#[test]
fn medians_of_signed_counts_are_within_three_eps() {
    // width = e/eps, so 3 eps |a| = 3 e |a| / width.
    let mut sketch = empty(&[("width", "300"), ("rows", "7"), ("counter", "i64")]);
    let mut truth: HashMap<u64, i64> = HashMap::new();
    let mut random = SplitMix::new(4);
    for key in Zipf::new(5_000, 1.0, 5).take(100_000) {
        let amount = random.below(20) as i64 - 10;
        let size = Amount(amount.unsigned_abs());
        if amount < 0 {
            sketch.remove_with(&key, size).unwrap()
        } else {
            sketch.insert_with(&key, size).map(drop).unwrap()
        }
        *truth.entry(key).or_default() += amount;
    }
    let norm: i64 = truth.values().map(|count| count.abs()).sum();
    let bound = 3.0 * std::f64::consts::E * norm as f64 / 300.0;
    let within = truth.iter().filter(|(key, truth)| (sketch.median(*key) - **truth).abs() as f64 <= bound).count();
    let share = within as f64 / truth.len() as f64;
    assert!(share >= 0.99 && sketch::median_within(7) >= 0.99, "{share}");
    let absent = (1u64 << 40..(1 << 40) + 1_000).filter(|key| sketch.median(key).abs() as f64 <= bound).count();
    assert!(absent >= 990, "{absent}");
    assert_eq!(sketch.total(), truth.values().sum::<i64>());
}

#[test]
fn ranges_and_quantiles_follow_the_sorted_keys() {
    let (stream, _) = Zipf::new(4_000, 0.8, 6).stream(60_000);
    for counter in ["u32", "i64"] {
        let sketch = sketch_of(&[("width", "2000"), ("rows", "5"), ("levels", "12"), ("counter", counter)], &stream);
        let mut sorted = stream.clone();
        sorted.sort_unstable();
        let eps = std::f64::consts::E / 2_000.0;
        let slack = sketch::range_error(eps, 12, stream.len() as u64) as u64;
        let below = |key: u64| sorted.partition_point(|&other| other < key) as u64;
        for (first, last) in [(0, 4_095), (0, 0), (1, 1), (17, 1_033), (1_000, 1_001), (5, u64::MAX), (4_000, 5_000)] {
            let truth = below(last.saturating_add(1)) - below(first);
            let found = sketch.range(first, last).unwrap();
            let least = if counter == "u32" { truth } else { truth.saturating_sub(slack) };
            assert!((least..=truth + slack).contains(&found), "{counter} {first}..={last}: {found} of {truth}");
        }
        assert_eq!(sketch.range(9, 8).unwrap(), 0);
        for share in [0.0, 0.01, 0.1, 0.5, 0.9, 1.0] {
            let key = sketch.quantile(share).unwrap();
            let (wanted, slack) = (share * 60_000.0, slack as f64);
            assert!(below(key) as f64 <= wanted + slack && below(key + 1) as f64 >= wanted - slack, "{share}: {key}");
        }
        assert!(sketch.quantile(1.1).is_err() && sketch.quantile(f64::NAN).is_err());
    }
    let plain = empty(&[("width", "10"), ("rows", "2")]);
    assert!(plain.range(0, 1).is_err() && plain.quantile(0.5).is_err() && plain.heavy(0.5).is_err());
    let widest = sketch_of(&[("width", "100"), ("rows", "3"), ("levels", "64")], &[0, u64::MAX, 1 << 63]);
    assert_eq!(widest.range(0, u64::MAX).unwrap(), 3);
    assert_eq!(widest.range(1, u64::MAX - 1).unwrap(), 1);
}

#[test]
fn inner_products_are_never_too_small_and_within_the_bound() {
    let (a, in_a) = Zipf::new(3_000, 1.0, 7).stream(30_000);
    let (b, in_b) = Zipf::new(3_000, 0.7, 8).stream(20_000);
    let truth: u64 = in_a.iter().map(|(key, count)| count * in_b.get(key).unwrap_or(&0)).sum();
    let settings = [("width", "1000"), ("rows", "7")];
    let found = sketch_of(&settings, &a).inner_product(&sketch_of(&settings, &b)).unwrap();
    let bound = std::f64::consts::E / 1_000.0 * 30_000.0 * 20_000.0;
    assert!(found >= i128::from(truth) && (found - i128::from(truth)) as f64 <= bound, "{found} {truth}");
}

#[test]
fn the_top_keys_are_the_frequent_ones_and_survive_merging() {
    let (stream, truth) = Zipf::new(2_000, 1.2, 9).stream(50_000);
    let settings = [("width", "4000"), ("rows", "5"), ("top", "10")];
    let (left, right) = stream.split_at(25_000);
    let mut sketch = sketch_of(&settings, left);
    sketch.merge(&sketch_of(&settings, right)).unwrap();
    let mut ranked: Vec<(u64, u64)> = truth.iter().map(|(key, count)| (*count, *key)).collect();
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    for (count, key) in &ranked[..5] {
        let found = sketch.top().into_iter().find(|frequent| frequent.key == key.to_le_bytes());
        assert!(found.is_some_and(|found| found.count.count >= *count), "{key}");
    }
    assert_eq!(sketch.top().len(), 10);
    assert_eq!(CountMin::from_bytes(&sketch.to_bytes()).unwrap(), sketch);
}

#[test]
fn a_full_counter_stays_and_says_at_least() {
    let mut sketch = empty(&[("width", "100"), ("rows", "3")]);
    sketch.add("rose", u64::from(u32::MAX) - 1).unwrap();
    assert!(!sketch.count("rose").at_least);
    sketch.add("rose", 5).unwrap();
    assert_eq!(sketch.count("rose"), Multiplicity { count: u64::from(u32::MAX), at_least: true });
    let mut signed = empty(&[("width", "100"), ("rows", "3"), ("counter", "i64")]);
    signed.remove_with("rose", Amount(1 << 63)).unwrap();
    signed.remove("rose").unwrap();
    assert_eq!((signed.median("rose"), signed.count("rose").at_least), (i64::MIN, true));
    let other = signed.clone();
    signed.merge(&other).unwrap();
    signed.subtract(&other).unwrap();
    assert!(signed.count("rose").at_least);
    assert!(other.inner_product(&signed).is_ok());
}

#[test]
fn keys_that_are_no_integers_of_the_levels_are_refused() {
    let mut sketch = empty(&[("width", "10"), ("rows", "2"), ("levels", "8")]);
    let before = sketch.clone();
    for key in [b"rose".as_slice(), &256u64.to_le_bytes(), &[0; 9]] {
        assert!(matches!(sketch.add(key, 1), Err(Error::Item { .. })));
    }
    assert_eq!(sketch, before);
    sketch.add(&255u64, 1).unwrap();
}

#[test]
fn contradictory_frames_are_refused() {
    let mut sketch = empty(&[("width", "10"), ("rows", "2"), ("top", "2")]);
    (0..5u64).for_each(|key| assert!(sketch.insert(&key).is_ok()));
    let frame = sketch.to_bytes();
    assert_eq!(CountMin::from_bytes(&frame).unwrap(), sketch);
    let mut liar = sketch.clone();
    liar.mechanism.total = -1;
    assert!(matches!(CountMin::from_bytes(&liar.to_bytes()), Err(Error::Corrupt { .. })));
    assert!(TopKeys::from_bytes(1, &sketch.mechanism.top.unwrap().to_bytes()).is_err(), "two do not fit one");
    assert!(TopKeys::from_bytes(2, &[255; 4]).is_err());
}

#[test]
fn decimal_keys_are_the_integers_that_they_name() {
    let numbers = empty(&[("levels", "16"), ("decimal", "yes")]);
    let (mut text, mut bytes) = (numbers.clone(), numbers);
    for (key, amount) in [("7", 10), ("300", 20), ("40000", 30), ("0300", 5)] {
        text.add(key, amount).unwrap();
        bytes.add(&key.parse::<u64>().unwrap(), amount).unwrap();
    }
    assert_eq!(text, bytes);
    assert_eq!((text.range(8, 300).unwrap(), text.quantile(0.5).unwrap()), (25, 300));
    assert_eq!((text.count("300").count, text.count(&300u64).count, text.count("rose").count), (25, 25, 0));
    for key in ["65536", "-1", "", "rose", "99999999999999999999"] {
        assert!(matches!(text.insert(key), Err(Error::Item { .. })), "{key}");
    }
    assert_eq!(CountMin::from_bytes(&text.to_bytes()).unwrap(), text);
    let mut any = empty(&[("decimal", "yes")]);
    ["7", "007", "rose"].iter().for_each(|key| assert!(any.insert(*key).is_ok()));
    assert_eq!((any.count(&7u64).count, any.count("rose").count), (2, 1), "without levels other keys are their bytes");
}

#[test]
fn full_counters_stay_so_that_no_count_is_below_the_truth() {
    let mut sketch = empty(&[("width", "1"), ("rows", "2"), ("counter", "u32")]);
    sketch.insert("rose").unwrap();
    sketch.insert_with("lily", Amount(u64::MAX / 2)).unwrap();
    sketch.remove_with("lily", Amount(u64::MAX / 2)).unwrap();
    let told = sketch.count("rose");
    assert!(told.count > 0 && told.at_least, "{told:?}");
}
