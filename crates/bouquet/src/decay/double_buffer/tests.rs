//! Tests of double buffers: windows, rates around a swap, warm keys, time.

use super::super::testing::{assert_mean, positives};
use super::*;

fn filter(settings: DoubleBufferSettings, seed: u64) -> DoubleBuffer {
    DoubleBuffer::hashed(settings, Hashing::seeded(seed)).unwrap()
}

fn of(items: u64, fpr: f64) -> DoubleBufferSettings {
    DoubleBufferSettings { items: Some(items), fpr: Some(fpr), ..Default::default() }
}

/// Whether every one of the warm-up filter's bits that count is one of the active filter's.
fn warm_up_is_a_subset(filter: &DoubleBuffer) -> bool {
    let ring = &filter.mechanism.ring;
    let (active, warm_up) = (ring.image(ACTIVE), ring.image(WARM_UP));
    warm_up.ones().all(|bit| active.get(bit))
}

#[test]
fn the_latest_half_is_always_found_and_what_is_older_than_all_only_by_chance() {
    let (half, mut old, mut asked) = (500u64, 0u64, 0u64);
    // A new key that seems known does not count, so each takes one from the window: here there is none.
    let (mut sharp, mut filter) = (filter(of(half, 1e-9), 1), filter(of(half, 0.001), 1));
    for key in 0..30_000u64 {
        assert!(sharp.insert(&key));
        filter.insert(&key);
        if key % 7 == 0 {
            assert!((key.saturating_sub(half - 1)..=key).all(|key| sharp.contains(&key)), "{key}");
            if key > 2 * half + 100 {
                old += (key - 2 * half - 100..key - 2 * half).filter(|key| filter.contains(key)).count() as u64;
                asked += 100;
            }
        }
    }
    // At most 0.001, on the mean of a cycle less.
    assert!(old as f64 <= 0.001 * asked as f64 && old > 0, "{old} of {asked}");
}

#[test]
fn the_warm_up_filter_is_a_subset_of_the_active_one() {
    for full in [Full::Count, Full::Fill] {
        let mut filter = filter(DoubleBufferSettings { full: Some(full), ..of(100, 0.02) }, 3);
        let mut random = crate::hash::SplitMix::new(7);
        for arrival in 0..6_000u64 {
            // New keys, and known ones that come again.
            let key = if random.below(3) == 0 { random.below(arrival + 1) } else { arrival };
            filter.insert(&key);
            assert!(warm_up_is_a_subset(&filter), "{arrival}");
        }
        assert!(filter.mechanism.ring.turns() > 20);
    }
}

#[test]
fn rates_around_a_swap_are_those_of_full_and_half_full_filters() {
    let (half, k) = (1_000, 7);
    let m = standard::for_rate(2 * half, 0.01).unwrap().bits;
    let (mut before, mut after) = (vec![], vec![]);
    for seed in 0..30 {
        let mut filter = filter(of(half, 0.01), seed);
        assert_eq!((filter.mechanism.ring.places().counters(), filter.settings().hashes), (m, Some(k)));
        let mut key = 0u64;
        for _ in 0..4 {
            while filter.mechanism.ring.keys(ACTIVE) < 2 * half - 1 {
                filter.insert(&key);
                key += 1;
            }
            before.push(positives(&filter, 10_000));
            let swaps = filter.mechanism.ring.turns();
            while filter.mechanism.ring.turns() == swaps {
                filter.insert(&key);
                key += 1;
            }
            after.push(positives(&filter, 30_000));
        }
    }
    assert_mean(&before, standard::rate(m, 2 * half, k), "before a swap");
    assert_mean(&after, standard::rate(m, half, k), "after a swap");
}

#[test]
fn a_key_that_comes_every_quarter_is_never_lost_over_a_hundred_swaps() {
    let half = 200;
    let mut filter = filter(of(half, 0.001), 5);
    filter.insert("hot");
    let mut key = 0u64;
    while filter.mechanism.ring.turns() < 100 {
        (0..half / 2).for_each(|i| _ = filter.insert(&(key + i)));
        key += half / 2;
        assert!(!filter.insert("hot"), "lost after {key} arrivals");
    }
}

#[test]
fn full_by_fill_swaps_at_half_of_the_bits() {
    let mut filter = filter(DoubleBufferSettings { full: Some(Full::Fill), ..of(1_000, 0.01) }, 2);
    let m = filter.mechanism.ring.places().counters();
    let mut most = 0;
    for key in 0..10_000u64 {
        filter.insert(&key);
        most = most.max(filter.mechanism.ring.ones(ACTIVE));
        assert!(2 * filter.mechanism.ring.ones(ACTIVE) < m);
    }
    assert!(2 * most + 14 >= m && filter.mechanism.ring.turns() > 5, "{most} of {m}");
}

#[test]
fn time_adds_up_and_empties() {
    for period in [None, Some(10)] {
        let mut start = filter(DoubleBufferSettings { period, ..of(300, 0.01) }, 4);
        (0..700u64).for_each(|key| _ = start.insert(&key));
        for (a, b) in [(0, 7), (7, 0), (50, 1_234), (3, 1 << 40), (1 << 40, 12), (299, 302), (u64::MAX - 5, 5)] {
            let (mut parts, mut whole) = (start.clone(), start.clone());
            parts.advance(a);
            parts.advance(b);
            whole.advance(a + b);
            assert!(parts == whole, "{period:?} {a} {b}");
        }
        start.advance(2_000);
        assert_eq!(start.stats().fill, Some(0.0));
    }
}

#[test]
fn a_period_keeps_the_keys_of_its_second_half() {
    let mut filter = filter(DoubleBufferSettings { period: Some(10), ..of(1_000, 0.001) }, 4);
    filter.insert("early");
    filter.advance(5);
    filter.insert("late");
    filter.advance(4);
    assert!(filter.contains("early") && filter.contains("late"));
    filter.advance(1);
    assert!(!filter.contains("early") && filter.contains("late"));
    filter.advance(10);
    assert!(!filter.contains("late"));
}
