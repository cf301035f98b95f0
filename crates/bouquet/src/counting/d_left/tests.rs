use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::hash::SplitMix;
use crate::key::Key;
use crate::theory::{choices, standard};

fn sized(buckets: u64, remainder: u32, stash: u32) -> DLeftSettings {
    let (buckets, remainder, stash) = (Some(buckets), Some(remainder), Some(stash));
    DLeftSettings { buckets, remainder, stash, ..Default::default() }
}

fn fill(filter: &mut DLeft, keys: std::ops::Range<u64>) {
    keys.for_each(|key| {
        filter.insert(&key).unwrap();
    });
}

fn highest_load(filter: &DLeft) -> u32 {
    let free = (0..filter.mechanism.table.len()).map(|bucket| filter.mechanism.table.free(bucket)).min().unwrap();
    filter.mechanism.design.shape.slots() - free
}

#[test]
fn ten_times_replaced_keys_leave_the_stash_empty() {
    const N: u64 = 240_000;
    let mut filter = DLeft::with_rate(N, 0.01).unwrap();
    fill(&mut filter, 0..N);
    assert!(highest_load(&filter) <= 7 && filter.stashed() == 0);
    assert_eq!(choices::d_left(4, 6.0).unwrap().highest(40_000), 7);
    let mut held: Vec<u64> = (0..N).collect();
    let mut random = SplitMix::new(1);
    for fresh in N..11 * N {
        let old = std::mem::replace(&mut held[random.below(N) as usize], fresh);
        filter.remove(&old).unwrap();
        filter.insert(&fresh).unwrap();
    }
    assert!(filter.stashed() == 0 && highest_load(&filter) <= 8);
    assert!(held.iter().all(|key| filter.contains(key)));
}

#[test]
fn the_rate_with_11_bits_is_the_published_one_in_half_the_memory() {
    let mut filter = DLeft::with_size(10_000, 11).unwrap();
    fill(&mut filter, 0..240_000);
    let (expected, queries) = (filter.expected(240_000).false_positive.unwrap(), 1_000_000u64);
    assert!((expected - 0.01165).abs() < 5e-6);
    let absent = 1u64 << 40;
    let measured = (absent..absent + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64;
    let sigma = (expected / queries as f64).sqrt();
    assert!((measured - expected).abs() < 5.0 * sigma, "{measured}, expected {expected}");
    let bits = filter.mechanism.table.bits().len() as f64 / 240_000.0;
    assert!((bits - 17.3).abs() < 0.05);
    let counting = 4.0 * standard::for_rate(240_000, expected).unwrap().bits as f64 / 240_000.0;
    assert!((counting - 37.0).abs() < 0.2, "{counting}");
    assert!(bits <= 0.5 * counting);
}

/// Every cell with its fingerprint: the inverse of the bijection, by trying all.
fn cells_of(filter: &DLeft, fingerprint: u64) -> usize {
    let places = filter.mechanism.places_of(fingerprint);
    let in_table = |&(bucket, remainder): &(u64, u64)| {
        filter
            .mechanism
            .table
            .entries(bucket)
            .filter(|entry| entry & field_max(filter.mechanism.design.remainder) == remainder)
            .count()
    };
    filter.mechanism.used_places(&places).iter().map(in_table).sum::<usize>()
        + filter.mechanism.stash.iter().filter(|(stashed, _)| *stashed == fingerprint).count()
}

#[test]
fn with_thousands_of_collisions_no_key_is_lost_and_no_fingerprint_has_two_cells() {
    // Cells for all fingerprints, and for half of them.
    for (slots, stash) in [(8, 64), (2, 400)] {
        let settings = DLeftSettings { slots: Some(slots), width: Some(16), ..sized(200, 4, stash) };
        let mut filter = DLeft::with(settings).unwrap();
        let mut held: Vec<u64> = Vec::new();
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let mut random = SplitMix::new(2);
        let (mut collisions, mut stashed) = (0, 0);
        for step in 0..60_000u64 {
            let most = 24 * filter.mechanism.design.buckets * 3 / 2;
            if held.len() < 10 || random.below(3) < 2 && (held.len() as u64) < most {
                let fingerprint = filter.mechanism.fingerprint(step.digest(&filter.hashing));
                let own = counts.entry(fingerprint).or_default();
                match filter.insert(&step) {
                    Ok(fresh) => assert_eq!(fresh, *own == 0),
                    Err(error) => {
                        assert!(matches!(error, Error::Full { .. }));
                        continue;
                    }
                }
                collisions += u64::from(*own > 0);
                *own += 1;
                held.push(step);
            } else {
                let key = held.swap_remove(random.below(held.len() as u64) as usize);
                let fingerprint = filter.mechanism.fingerprint(key.digest(&filter.hashing));
                filter.remove(&key).unwrap();
                *counts.get_mut(&fingerprint).unwrap() -= 1;
            }
            stashed = stashed.max(filter.stashed());
            if step % 5_000 == 0 {
                for (&fingerprint, &count) in &counts {
                    assert_eq!(cells_of(&filter, fingerprint), usize::from(count > 0));
                }
            }
        }
        assert!(collisions > 2_000, "{collisions}");
        assert!(stash == 64 || stashed > 10, "{stashed}");
        for key in &held {
            let fingerprint = filter.mechanism.fingerprint(key.digest(&filter.hashing));
            assert_eq!(filter.count(key).count, counts[&fingerprint]);
        }
        held.iter().for_each(|key| filter.remove(key).unwrap());
        assert_eq!((filter.mechanism.used, filter.stashed(), filter.mechanism.table.bits().count_ones()), (0, 0, 0));
    }
}

#[test]
fn every_subtable_sees_the_fingerprints_through_a_bijection() {
    for (buckets, remainder) in [(1, 1), (3, 2), (10, 3), (36, 4), (64, 5)] {
        let filter = DLeft::with_size(buckets, remainder).unwrap();
        for subtable in 0..4 {
            let all = 0..filter.mechanism.design.fingerprints;
            let images: BTreeSet<_> =
                all.map(|fingerprint| filter.mechanism.places_of(fingerprint)[subtable]).collect();
            assert_eq!(images.len() as u64, filter.mechanism.design.fingerprints);
            let own = subtable as u64 * buckets..(subtable as u64 + 1) * buckets;
            assert!(images.iter().all(|&(bucket, low)| own.contains(&bucket) && low < 1 << remainder));
        }
    }
}

#[test]
fn places_without_division_are_those_of_the_definition() {
    let mut random = SplitMix::new(3);
    for (buckets, remainder) in [(1, 1), (3, 2), (10_000, 11), (1 << 20, 30), ((1 << 14) - 3, 48)] {
        let settings = DLeftSettings { slots: Some(1), ..sized(buckets, remainder, 64) };
        let design = Design::of(&settings).unwrap();
        // Only the numbers matter here, so the table may be a small one.
        let mut filter = DLeft::with_size(1, 1).unwrap();
        (filter.mechanism.design, filter.mechanism.permutations) = (design, design.permutations());
        for h1 in (0..1_000).map(|_| random.next_u64()).chain([0, 1, u64::MAX, u64::MAX - 1, 1 << 63]) {
            let digest = Digest { h1, h2: 0 };
            assert_eq!(
                filter.mechanism.places(digest),
                filter.mechanism.places_of(filter.mechanism.fingerprint(digest)),
                "{h1:#x}"
            );
        }
    }
}

#[test]
fn a_counter_at_its_largest_value_stays_and_says_so() {
    let mut filter = DLeft::with_rate(100, 0.01).unwrap();
    (0..5).for_each(|_| assert!(filter.insert("rose").is_ok()));
    assert_eq!(filter.count("rose"), Multiplicity { count: 3, at_least: true });
    (0..5).for_each(|_| filter.remove("rose").unwrap());
    assert!(filter.contains("rose"));
}

#[test]
fn a_refused_key_changes_nothing_and_the_stash_empties_itself() {
    let mut filter = DLeft::with(sized(1, 20, 5)).unwrap();
    let first = (0u64..).find(|key| filter.insert(key).is_err()).unwrap();
    assert_eq!((first, filter.stashed()), (32 + 5, 5));
    let before = filter.to_bytes();
    assert!(matches!(filter.insert(&first), Err(Error::Full { .. })));
    assert_eq!(filter.to_bytes(), before);
    assert!((0..first).all(|key| filter.contains(&key)));
    (0..5u64).for_each(|key| filter.remove(&key).unwrap());
    assert_eq!((filter.stashed(), filter.mechanism.used), (0, 32));
    assert!((5..first).all(|key| filter.contains(&key) && filter.count(&key).count == 1));
}

#[test]
fn forged_frames_are_refused() {
    let mut good = DLeft::with(sized(1, 8, 5)).unwrap();
    // Keys of one remainder share a slot, so that 32 slots may hold a few more.
    for key in 0u64.. {
        good.insert(&key).unwrap();
        if good.stashed() == 3 {
            break;
        }
    }
    assert_eq!(DLeft::from_bytes(&good.to_bytes()).unwrap(), good);
    let forge = |change: &dyn Fn(&mut DLeft)| {
        let mut forged = good.clone();
        change(&mut forged);
        assert!(matches!(DLeft::from_bytes(&forged.to_bytes()), Err(Error::Corrupt { .. })));
    };
    forge(&|filter| filter.mechanism.used -= 1);
    forge(&|filter| filter.items = filter.mechanism.inserted + 1);
    forge(&|filter| filter.mechanism.stash[0].0 = filter.mechanism.design.fingerprints);
    forge(&|filter| filter.mechanism.stash[0].1 = 4);
    forge(&|filter| filter.mechanism.stash[0].1 = 0);
    forge(&|filter| filter.mechanism.stash.extend([(1, 1); 3]));
    forge(&|filter| {
        // A remainder that is counted no times.
        filter.mechanism.table.swap(0, 0, 7);
    });
}
