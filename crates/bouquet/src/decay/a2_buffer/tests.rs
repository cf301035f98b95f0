//! Tests of two active buffers: the window, the rate before a rotation, the comparison with double buffering.

use super::super::testing::{assert_mean, positives};
use super::*;
use crate::hash::SplitMix;
use crate::theory::generations::capacity_ratio;

fn filter(items: u64, fpr: f64, seed: u64) -> A2Buffer {
    let settings = A2BufferSettings { items: Some(items), fpr: Some(fpr), ..Default::default() };
    A2Buffer::hashed(settings, Hashing::seeded(seed)).unwrap()
}

#[test]
fn the_latest_distinct_keys_are_always_found() {
    let n = 1_000;
    let mut filter = filter(n, 0.01, 1);
    let mut checked = 0;
    for key in 0..60_000u64 {
        filter.insert(&key);
        if key >= n && key.is_multiple_of(53) {
            assert!((key + 1 - n..=key).all(|key| filter.contains(&key)), "after {key}");
            checked += n;
        }
    }
    assert!(checked > 1_000_000);
}

#[test]
fn keys_that_come_again_stay_recent() {
    let mut filter = filter(500, 0.001, 2);
    filter.insert("hot");
    for key in 0..40_000u64 {
        filter.insert(&key);
        // Found in the previous filter alone, it goes into the recent one.
        assert!(key % 450 != 0 || !filter.insert("hot"), "{key}");
    }
}

#[test]
fn the_rate_before_a_rotation_is_the_one_asked_for() {
    let (n, mut rates) = (1_000, vec![]);
    for seed in 0..100 {
        let mut filter = filter(n, 0.01, seed);
        let mut key = 0u64;
        while !(filter.mechanism.ring.turns() > 0 && filter.mechanism.ring.keys(RECENT) == n) {
            filter.insert(&key);
            key += 1;
        }
        rates.push(positives(&filter, 10_000));
    }
    let places = *filter(n, 0.01, 0).mechanism.ring.places();
    assert_mean(&rates, rate(&places, n, 2 * n), "before a rotation");
    assert_mean(&rates, 0.01, "as asked");
}

#[test]
fn capacities_are_the_derived_share_of_those_of_a_double_buffer() {
    for (fpr, share) in [(0.1, 0.775), (0.01, 0.870), (0.001, 0.909)] {
        let (bits, each) = (1 << 24, (1u64 << 23) as f64);
        let own = A2Buffer::with_size(bits, fpr).unwrap().settings().items.unwrap() as f64;
        // c = m (ln 2)^2 / ln(1/f), of which whole k lose a little.
        let whole = each * std::f64::consts::LN_2.powi(2) / (1.0 / fpr).ln();
        assert!((own / whole - share).abs() < 0.012, "{fpr}: {}", own / whole);
        assert!((capacity_ratio(fpr) - share).abs() < 5e-4);
    }
}

#[test]
fn more_of_a_skewed_stream_is_known_than_to_a_double_buffer_of_the_same_memory() {
    let bits = 40_000;
    let mut own = A2Buffer::with_size(bits, 0.01).unwrap();
    let mut double = crate::decay::double_buffer::DoubleBuffer::with_size(bits, 0.01).unwrap();
    let mut random = SplitMix::new(11);
    let (mut known, mut known_to_double) = (0, 0);
    for _ in 0..300_000 {
        // About Zipf's law with exponent 1 over 10^6 keys.
        let key = (1e6f64.ln() * random.unit()).exp() as u64;
        known += u64::from(!own.insert(&key));
        known_to_double += u64::from(!double.insert(&key));
    }
    assert!(known > known_to_double + 3_000, "{known} and {known_to_double}");
}

#[test]
fn time_adds_up_and_empties() {
    for period in [None, Some(10)] {
        let settings = A2BufferSettings { period, items: Some(300), ..Default::default() };
        let mut start = A2Buffer::with(settings).unwrap();
        (0..700u64).for_each(|key| _ = start.insert(&key));
        for (a, b) in [(0, 7), (7, 0), (50, 1_234), (3, 1 << 40), (1 << 40, 12), (199, 201), (u64::MAX - 5, 5)] {
            let (mut parts, mut whole) = (start.clone(), start.clone());
            parts.advance(a);
            parts.advance(b);
            whole.advance(a + b);
            assert!(parts == whole, "{period:?} {a} {b}");
        }
        start.advance(20);
        assert_eq!(start.contains(&650u64), period.is_none(), "two periods are over, or twenty arrivals");
        start.advance(601);
        assert_eq!(start.stats().fill, Some(0.0));
    }
}
