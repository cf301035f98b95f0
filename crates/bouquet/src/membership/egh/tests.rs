use super::*;
use crate::AnyFilter;
use crate::capability::Item;
use crate::hash::SplitMix;
use crate::kind::{Argument, Config};

/// An empty filter, through the handle.
fn empty(universe: u64, zone: u64, cells: &str) -> AnyFilter {
    let config = Config::new(KIND.facts()).set("universe", &universe.to_string()).unwrap();
    AnyFilter::new(&config.set("items", &zone.to_string()).unwrap().set("cells", cells).unwrap()).unwrap()
}

fn insert(filter: &mut AnyFilter, number: u64) -> Result<bool> {
    filter.insert().unwrap().insert(Item::from(number.to_le_bytes().as_slice()))
}

fn contains(filter: &AnyFilter, number: u64) -> bool {
    filter.contains().unwrap().contains(&number.to_le_bytes())
}

fn listed(filter: &AnyFilter) -> Vec<u64> {
    let listing = filter.list().unwrap().list();
    assert_eq!(listing.undecoded, 0);
    listing.entries.iter().map(|entry| u64::from_le_bytes(entry.key.as_slice().try_into().unwrap())).collect()
}

#[test]
fn every_pair_of_a_universe_of_48_is_answered_exactly() {
    let design = empty(48, 2, "bits").stats();
    assert_eq!((design.hashes, design.bits), (5, 28));
    for a in 0..48 {
        for b in 0..a {
            let mut filter = empty(48, 2, "bits");
            assert!(insert(&mut filter, a).unwrap() && insert(&mut filter, b).unwrap());
            assert!((0..48).all(|number| contains(&filter, number) == (number == a || number == b)), "{a} and {b}");
            assert_eq!(listed(&filter), [b, a]);
        }
    }
}

#[test]
fn the_published_example_is_lifted_and_listed() {
    let mut filter = empty(1_000, 2, "counters");
    assert_eq!((filter.stats().hashes, filter.stats().bits), (8, 2 * 77));
    insert(&mut filter, 807).unwrap();
    insert(&mut filter, 249).unwrap();
    let Reply::Table(_, rows) = filter.ask("symmetric", Argument::Nothing).unwrap() else { panic!() };
    let sums: Vec<_> =
        rows.iter().map(|row| if let Reply::Bytes(sum) = &row[1] { sum.as_slice() } else { b"" }).collect();
    assert_eq!(sums, [b"1056".as_slice(), b"200943"]);
    assert_eq!(listed(&filter), [249, 807]);
}

#[test]
fn random_sets_of_twenty_have_no_false_positive() {
    let (universe, zone) = (562, 20);
    let mut filter = Egh::with_zone(universe, zone).unwrap();
    assert_eq!((filter.stats().hashes, filter.stats().bits), (34, 2_127));
    assert_eq!(Egh::with_zone(universe + 1, zone).unwrap().stats().hashes, 35);
    let mut random = SplitMix::new(1);
    for _ in 0..10_000 {
        filter.clear().unwrap();
        let mut held = [false; 562];
        while filter.items() < zone {
            let number = random.below(universe);
            let fresh = filter.insert(&number).unwrap();
            assert_eq!(fresh, !std::mem::replace(&mut held[number as usize], true));
        }
        assert!((0..universe).all(|number| filter.contains(&number) == held[number as usize]));
        assert!(matches!(filter.insert(&(0..universe).find(|n| !held[*n as usize]).unwrap()), Err(Error::Full { .. })));
    }
}

#[test]
fn storms_of_changes_end_equal_to_a_rebuild() {
    let mut random = SplitMix::new(2);
    // A zone of 31 can fill its counters of five bits.
    let zone = 31;
    let mut filter = empty(562, zone, "counters");
    let mut held = std::collections::BTreeSet::new();
    for round in 0..20_000 {
        // Even numbers at first, which share a residue.
        let number = if round < 5_000 { 2 * random.below(281) } else { random.below(562) };
        let item = number.to_le_bytes();
        if random.below(3) > 0 {
            let done = insert(&mut filter, number);
            match held.len() {
                31 if !held.contains(&number) => assert!(matches!(done, Err(Error::Full { .. }))),
                _ => assert_eq!(done.unwrap(), held.insert(number)),
            }
        } else {
            let done = filter.remove().unwrap().remove(Item::from(item.as_slice()));
            assert_eq!(done.is_ok(), held.remove(&number), "an absent element is not removed");
        }
    }
    let mut again = empty(562, zone, "counters");
    held.iter().for_each(|&number| assert!(insert(&mut again, number).unwrap()));
    assert_eq!(filter.to_bytes(), again.to_bytes());
    assert_eq!(listed(&filter), held.into_iter().collect::<Vec<_>>());
}

#[test]
fn sets_are_listed_in_both_forms_and_in_digits() {
    let mut random = SplitMix::new(3);
    for (universe, zone) in [(1 << 16, 50), (1 << 16, 300), (1 << 40, 30), (1 << 56, 5), (2, 2)] {
        for cells in ["bits", "counters"] {
            let mut filter = empty(universe, zone, cells);
            let mut numbers: Vec<u64> = (0..zone).map(|_| random.below(universe)).collect();
            numbers.iter().for_each(|&number| _ = insert(&mut filter, number).unwrap());
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(listed(&filter), numbers, "{cells}: {zone} of {universe}");
        }
    }
    let settings = EghSettings { items: Some(5), decimal: Some(true), ..Default::default() };
    let mut text = Egh::with(settings).unwrap();
    text.insert("807").unwrap();
    assert!(text.contains("807") && text.contains(&807u64) && !text.contains("808") && !text.contains("rose"));
    assert_eq!(text.list().entries[0].key, b"807");
    assert!(matches!(text.insert("65536"), Err(Error::Item { .. })), "beyond the universe");
}

#[test]
fn beyond_the_zone_there_are_false_positives_as_the_filter_tells() {
    let settings = EghSettings { items: Some(4), universe: Some(1 << 20), overfill: Some(true), ..Default::default() };
    let (mut found, mut expected, queries) = (0, 0.0, 20_000);
    let elements = 30;
    for seed in 0..20 {
        let mut filter = Egh::with(settings.clone()).unwrap();
        let mut random = SplitMix::new(100 + seed);
        let numbers: Vec<u64> = (0..elements).map(|_| random.below(1 << 20)).collect();
        numbers.iter().for_each(|number| _ = filter.insert(number).unwrap());
        assert!(!filter.in_zone() && numbers.iter().all(|number| filter.contains(number)));
        found += (0..queries).filter(|_| filter.contains(&random.below(1 << 20))).count();
        expected += filter.stats().fpr.unwrap();
        assert!(filter.list().undecoded > 0, "a listing would be a guess");
    }
    // Strangers are drawn at random, so that a few are elements.
    let (measured, expected) = (found as f64 / 20.0 / f64::from(queries), expected / 20.0 + 30.0 / f64::from(1 << 20));
    let sigma = crate::theory::spread::test_sigma_conditional(expected, 20 * u64::from(queries as u32));
    assert!((measured - expected).abs() < 5.0 * sigma, "{measured}, expected {expected}");
}

#[test]
fn the_rate_beyond_the_zone_is_that_of_theory_on_average() {
    let settings = EghSettings { items: Some(4), universe: Some(1 << 40), overfill: Some(true), ..Default::default() };
    let (elements, filters) = (30, 1_000);
    let mut random = SplitMix::new(5);
    let rates: Vec<f64> = (0..filters)
        .map(|_| {
            let mut filter = Egh::with(settings.clone()).unwrap();
            (0..elements).for_each(|_| _ = filter.insert(&random.below(1 << 40)).unwrap());
            filter.stats().fpr.unwrap()
        })
        .collect();
    let mean = rates.iter().sum::<f64>() / filters as f64;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (filters - 1) as f64;
    let theory = Egh::with(settings).unwrap().expected(elements).false_positive.unwrap();
    let error = (variance / filters as f64).sqrt();
    assert!((mean - theory).abs() < 5.0 * error && error < 0.05 * theory, "{mean} +- {error}, theory {theory}");
}
