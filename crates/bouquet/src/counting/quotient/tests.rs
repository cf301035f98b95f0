use std::collections::BTreeMap;

use super::*;
use crate::hash::SplitMix;
use crate::key::Key;
use crate::store::field_max;

const LAYOUTS: [Layout; 2] = [Layout::RankSelect, Layout::ThreeBit];

fn empty(quotient: u32, remainder: u32, layout: Layout) -> Quotient {
    let (quotient, remainder, layout) = (Some(quotient), Some(remainder), Some(layout));
    Quotient::with(QuotientSettings { quotient, remainder, layout, ..Default::default() }).unwrap()
}

impl Quotient {
    fn add_hash(&mut self, hash: u64, times: u64) -> Result<bool> {
        let fresh = self.mechanism.add_at(self.mechanism.shape.split(hash), times)?;
        self.items += times;
        Ok(fresh)
    }

    fn count_of(&self, hash: u64) -> u64 {
        let (home, remainder) = self.mechanism.shape.split(hash);
        with_table!(&self.mechanism.slots, table => table::count(table, home, remainder))
    }

    /// The slots are what a sequence of operations leads to, and the numbers are theirs.
    fn check(&self) {
        let again = Quotient::from_bytes(&self.to_bytes()).unwrap();
        assert_eq!(*self, again);
    }
}

/// Numbers with the probabilities of Zipf's law, from 0.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(n: u32) -> Self {
        let mut sum = 0.0;
        Zipf(
            (1..=n)
                .map(|i| {
                    sum += 1.0 / f64::from(i);
                    sum
                })
                .collect(),
        )
    }

    fn draw(&self, random: &mut SplitMix) -> u64 {
        let at = random.unit() * self.0[self.0.len() - 1];
        self.0.partition_point(|&sum| sum < at) as u64
    }
}

#[test]
fn the_rate_at_90_percent_is_the_published_one() {
    let mut filter = Quotient::with_size(17, 9).unwrap();
    let (keys, queries) = ((1u64 << 17) * 9 / 10, 1_000_000u64);
    (0..keys).for_each(|key| assert!(filter.insert(&key).is_ok()));
    let expected = filter.expected(keys).false_positive.unwrap();
    assert!((expected - 0.00176).abs() < 5e-6);
    let absent = 1u64 << 40;
    let found = (absent..absent + queries).filter(|key| filter.contains(key)).count();
    let (measured, sigma) = (found as f64 / queries as f64, (expected / queries as f64).sqrt());
    assert!((measured - expected).abs() < 5.0 * sigma, "{measured}, expected {expected}");
    assert!((0..keys).all(|key| filter.contains(&key)));
}

/// The model is a map of hashes, which is what the filter can tell apart.
fn random_operations_agree_with_a_map(layout: Layout, operations: u64) {
    for (quotient, remainder) in [(10, 2), (10, 5), (12, 9)] {
        let mut filter = empty(quotient, remainder, layout);
        let mut model: BTreeMap<u64, u64> = BTreeMap::new();
        let mut random = SplitMix::new(u64::from(remainder));
        let zipf = Zipf::new(1 << (quotient - 1));
        let mut full = 0u64;
        for step in 0..operations / 3 {
            let key = zipf.draw(&mut random);
            let (home, low) = filter.mechanism.shape.place(key.digest(&filter.hashing));
            let mut hash = home << filter.mechanism.shape.remainder | low;
            if key.is_multiple_of(3) {
                hash &= !field_max(remainder); // remainder 0 more often than chance has it
            }
            let own = model.entry(hash).or_default();
            match random.below(5) {
                0 | 1 => {
                    let times = if random.below(50) == 0 { 1 + random.below(10_000) } else { 1 };
                    match filter.add_hash(hash, times) {
                        Ok(fresh) => {
                            assert_eq!(fresh, *own == 0);
                            *own += times;
                        }
                        Err(_) => full += 1,
                    }
                }
                2 | 3 => {
                    let (home, low) = filter.mechanism.shape.split(hash);
                    // Now and then many at once, all of them, or more than there are.
                    let times = match random.below(20) {
                        0 => 1 + random.below(own.saturating_add(2)),
                        1 => (*own).max(1),
                        _ => 1,
                    };
                    let removed =
                        with_table!(&mut filter.mechanism.slots, table => table::subtract(table, home, low, times));
                    assert_eq!(removed.is_some(), *own >= times);
                    if let Some(removed) = removed {
                        *own -= times;
                        assert_eq!(removed.is_last, *own == 0);
                        filter.mechanism.used -= removed.slots;
                        filter.mechanism.distinct -= u64::from(removed.is_last);
                        filter.items -= times;
                    }
                }
                _ => {}
            }
            assert_eq!(filter.count_of(hash), *own, "step {step}");
            let (home, low) = filter.mechanism.shape.split(hash);
            let holds = with_table!(&filter.mechanism.slots, table => table::holds(table, home, low));
            assert_eq!(holds, *own > 0, "step {step}");
            let other = low ^ 1 << random.below(remainder.into());
            let holds = with_table!(&filter.mechanism.slots, table => table::holds(table, home, other));
            assert_eq!(holds, filter.count_of(home << remainder | other) > 0, "step {step}");
            if step % 50_000 == 0 {
                filter.check();
                assert!(filter.fingerprints().eq(model.iter().filter(|(_, n)| **n > 0).map(|(h, n)| (*h, *n))));
            }
        }
        assert!(filter.used() > filter.capacity() / 4 && full < operations / 10, "{} {full}", filter.used());
        filter.check();
        model.retain(|_, count| *count > 0);
        assert!(
            model.values().any(|&count| count > 1_000) && model.keys().any(|hash| hash & field_max(remainder) == 0)
        );
        assert!(filter.fingerprints().eq(model.into_iter()));
    }
}

/// Remainders of more bits than are read at once take other ways.
#[test]
fn remainders_of_any_length_agree_with_a_set() {
    for remainder in [2, 7, 8, 19, 28, 29, 56, 57, 58, 62] {
        let quotient = 12.min(64 - remainder);
        let mut filter = empty(quotient, remainder, Layout::RankSelect);
        let mut random = SplitMix::new(3);
        let most = filter.capacity() * 3 / 4;
        let mut kept: BTreeMap<u64, u64> = BTreeMap::new();
        let bits = quotient + remainder;
        while filter.used() < most {
            let hash = random.next_u64() & field_max(bits);
            let Ok(fresh) = filter.add_hash(hash, 1) else { break };
            assert_eq!(fresh, !kept.contains_key(&hash), "{remainder} bits");
            *kept.entry(hash).or_default() += 1;
        }
        for (index, (hash, count)) in kept.iter_mut().enumerate() {
            let (home, low) = filter.mechanism.shape.split(*hash);
            with_table!(&mut filter.mechanism.slots, table => {
                assert!(table::holds(table, home, low), "{remainder} bits");
                if index % 2 == 0 {
                    let removed = table::subtract(table, home, low, 1).unwrap();
                    *count -= 1;
                    assert_eq!(removed.is_last, *count == 0);
                    filter.mechanism.used -= removed.slots;
                    filter.mechanism.distinct -= u64::from(removed.is_last);
                    filter.items -= 1;
                }
                assert_eq!(table::holds(table, home, low), *count > 0, "{remainder} bits");
            });
        }
        filter.check();
        kept.retain(|_, count| *count > 0);
        assert!(filter.fingerprints().eq(kept), "{remainder} bits");
    }
}

#[test]
fn a_million_random_operations_agree_with_a_map() {
    random_operations_agree_with_a_map(Layout::RankSelect, 1_000_000);
}

#[test]
fn random_operations_of_the_three_bit_layout_agree_with_a_map() {
    random_operations_agree_with_a_map(Layout::ThreeBit, 150_000);
}

#[test]
fn every_count_of_every_remainder_is_kept_beside_neighbours() {
    for layout in LAYOUTS {
        for remainder in [2, 3, 4] {
            for low in 0..1u64 << remainder {
                let mut filter = empty(6, remainder, layout);
                // The whole run of one home, and neighbours that it pushes on.
                let hashes: Vec<u64> = [20, 21, 23]
                    .into_iter()
                    .flat_map(|home| {
                        (0..1u64 << remainder)
                            .filter(move |low| home == 20 || low % 2 == 0)
                            .map(move |low| home << remainder | low)
                    })
                    .take(25)
                    .collect();
                hashes.iter().for_each(|&hash| assert!(filter.add_hash(hash, 1).unwrap()));
                for count in (2..300).chain([1_000, 9_999, 10_000]) {
                    let step = count - filter.count_of(20 << remainder | low);
                    filter.add_hash(20 << remainder | low, step).unwrap();
                    assert_eq!(filter.count_of(20 << remainder | low), count);
                    let others = hashes.iter().filter(|&&hash| hash != 20 << remainder | low);
                    assert!(others.map(|&hash| filter.count_of(hash)).all(|count| count == 1), "{low} {count}");
                }
                filter.check();
            }
        }
    }
}

#[test]
fn merging_equals_inserting_both_streams_bit_for_bit() {
    for layout in LAYOUTS {
        let mut random = SplitMix::new(5);
        let zipf = Zipf::new(3_000);
        let [mut a, mut b, mut both] = [(); 3].map(|()| empty(12, 6, layout));
        for i in 0..6_000 {
            let key = zipf.draw(&mut random);
            if i % 3 == 0 { &mut a } else { &mut b }.insert(&key).unwrap();
            both.insert(&key).unwrap();
        }
        let mut merged = a.clone();
        merged.merge(&b).unwrap();
        assert_eq!(merged, both);
        assert_eq!(merged.to_bytes(), both.to_bytes());
        let mut other_way = b.clone();
        other_way.merge(&a).unwrap();
        assert_eq!(other_way, both);
        merged.intersect(&a).unwrap();
        assert!(merged.fingerprints().eq(a.fingerprints()), "what is in A is in both");
        a.intersect(&b).unwrap();
        assert!(a.fingerprints().all(|(hash, count)| count <= b.count_of(hash)));
        a.check();
    }
}

#[test]
fn a_merger_that_does_not_fit_is_refused_and_changes_nothing() {
    let (mut a, mut b) = (empty(8, 8, LAYOUTS[0]), empty(8, 8, LAYOUTS[0]));
    (0..200u64).for_each(|key| assert!(a.insert(&key).is_ok() && b.insert(&(key + 1_000)).is_ok()));
    let before = a.to_bytes();
    assert!(matches!(a.merge(&b), Err(Error::Full { .. })));
    assert_eq!(a.to_bytes(), before);
}

#[test]
fn growing_keeps_the_multiset_down_to_two_bits() {
    for layout in LAYOUTS {
        let mut filter = empty(8, 6, layout);
        let zipf = Zipf::new(60);
        let mut random = SplitMix::new(6);
        (0..3_000).for_each(|_| assert!(filter.insert(&zipf.draw(&mut random)).is_ok()));
        let listed: Vec<_> = filter.fingerprints().collect();
        for grown in 1..=4 {
            let capacity = filter.capacity();
            filter.grow().unwrap();
            assert!(filter.capacity() > capacity);
            assert_eq!((filter.settings().quotient, filter.settings().remainder), (Some(8 + grown), Some(6 - grown)));
            assert!(filter.fingerprints().eq(listed.iter().copied()));
            filter.check();
        }
        let before = filter.clone();
        assert!(matches!(filter.grow(), Err(Error::Full { .. })));
        assert_eq!(filter, before);
    }
}

#[test]
fn metadata_takes_2_125_bits_per_slot() {
    for quotient in [6, 12, 20] {
        let shape = Shape::new(quotient, 9, Layout::RankSelect);
        assert_eq!(shape.bits().unwrap() as f64 / shape.slots() as f64, 9.0 + 2.125);
        let shape = Shape::new(quotient, 9, Layout::ThreeBit);
        assert_eq!(shape.bits().unwrap(), shape.slots() * 12);
    }
    let filter = Quotient::with_size(12, 9).unwrap();
    let stored: u64 = filter.mechanism.stores().iter().map(BitStore::len).sum();
    assert_eq!(stored, filter.stats().bits);
}

#[test]
fn both_layouts_hold_the_same_and_refuse_the_same() {
    let [mut ranked, mut walked] = LAYOUTS.map(|layout| empty(9, 4, layout));
    let mut random = SplitMix::new(7);
    for _ in 0..20_000 {
        let key = random.below(600);
        let (left, right) = if random.below(5) < 3 {
            (ranked.insert(&key).ok(), walked.insert(&key).ok())
        } else {
            (ranked.remove(&key).ok().map(|()| true), walked.remove(&key).ok().map(|()| true))
        };
        assert_eq!(left, right);
    }
    assert!(ranked.fingerprints().eq(walked.fingerprints()));
    assert!((0..1_000u64).all(|key| ranked.contains(&key) == walked.contains(&key)));
}

#[test]
fn a_refused_insertion_changes_nothing() {
    for layout in LAYOUTS {
        let mut filter = empty(7, 3, layout);
        let first = (0u64..).find(|key| filter.insert(key).is_err()).unwrap();
        assert!(filter.used() >= filter.capacity() - 1);
        let before = filter.to_bytes();
        let refused = (0..first).filter(|key| filter.clone().add(key, 1_000).is_err()).count();
        assert!(refused > 10);
        for key in 0..first + 100 {
            if filter.clone().add(&key, 1_000).is_err() {
                filter.add(&key, 1_000).unwrap_err();
                assert_eq!(filter.to_bytes(), before);
            }
        }
        (0..first).for_each(|key| filter.remove(&key).unwrap());
        assert_eq!(filter, empty(7, 3, layout), "an empty filter is all zeros");
    }
}

#[test]
fn long_clusters_make_offsets_saturate_and_are_still_found() {
    for layout in LAYOUTS {
        // All keys in a few homes: the runs behind them are pushed by more than 255 slots.
        let mut filter = empty(12, 12, layout);
        let hashes: Vec<u64> = (0..900u64).map(|i| (100 + i / 300) << 12 | (i * 13 % 4096)).collect();
        let behind: Vec<u64> = (103..1_500u64).step_by(3).map(|home| home << 12 | 7).collect();
        for &hash in hashes.iter().chain(&behind) {
            assert!(filter.add_hash(hash, 1).unwrap());
        }
        filter.check();
        assert!(hashes.iter().chain(&behind).all(|&hash| filter.count_of(hash) == 1));
        let mut left: Vec<u64> = hashes.iter().chain(&behind).copied().collect();
        let mut random = SplitMix::new(8);
        while !left.is_empty() {
            let hash = left.swap_remove(random.below(left.len() as u64) as usize);
            let (home, low) = filter.mechanism.shape.split(hash);
            with_table!(&mut filter.mechanism.slots, table => table::subtract(table, home, low, 1)).unwrap();
            (filter.mechanism.used, filter.mechanism.distinct, filter.items) =
                (filter.mechanism.used - 1, filter.mechanism.distinct - 1, filter.items - 1);
            if left.len().is_multiple_of(100) {
                filter.check();
                assert!(left.iter().all(|&hash| filter.count_of(hash) == 1));
            }
        }
        assert_eq!(filter, empty(12, 12, layout));
    }
}

#[test]
fn a_full_slack_refuses_and_undoes_what_was_begun() {
    for layout in LAYOUTS {
        // Homes at the very end: the slots behind them run out long before 95 % are in use.
        let mut filter = empty(12, 12, layout);
        let mut held = Vec::new();
        let refused = (0..4_000u64).map(|i| 4_095 << 12 | i).find(|&hash| {
            let refused = filter.add_hash(hash, 1).is_err();
            held.extend((!refused).then_some(hash));
            refused
        });
        assert!(refused.is_some());
        let before = filter.clone();
        assert!(filter.add_hash(held[0], 1_000_000).is_err(), "needs several slots");
        assert_eq!(filter, before);
        filter.check();
        assert!(held.iter().all(|&hash| filter.count_of(hash) == 1));
    }
}

#[test]
fn forged_slots_are_refused_or_harmless() {
    for layout in LAYOUTS {
        let mut good = empty(6, 3, layout);
        (0..50u64).for_each(|key| assert!(good.add(&key, 1 + key % 7).is_ok() || good.used() > 50));
        good.check();
        let mut random = SplitMix::new(9);
        let mut refused = 0;
        for _ in 0..2_000 {
            // Frames with right checksums and wrong content.
            let mut forged = good.clone();
            match &mut forged.mechanism.slots {
                Slots::Ranked(table) => {
                    let slot = random.below(table.slots());
                    table.set(slot, random.next_u64());
                }
                Slots::ThreeBit(table) => {
                    let slot = random.below(table.slots());
                    table.set(slot, random.next_u64());
                }
            }
            if let Ok(read) = Quotient::from_bytes(&forged.to_bytes()) {
                read.check();
                let mut changed = read.clone();
                (0..60u64).for_each(|key| drop(changed.insert(&key)));
                (0..60u64).for_each(|key| drop(changed.remove(&key)));
                changed.check();
            } else {
                refused += 1;
            }
        }
        assert!(refused > 200, "{layout:?}: {refused}");
    }
}
