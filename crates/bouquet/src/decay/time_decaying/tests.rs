//! Tests of time-decaying filters: the limit of a steady key, bounds beside an exact model, the small counters, merging.

use std::collections::HashMap;

use super::*;
use crate::hash::SplitMix;

fn filter(settings: TimeDecayingSettings, seed: u64) -> TimeDecaying {
    TimeDecaying::hashed(settings, Hashing::seeded(seed)).unwrap()
}

/// Exact decayed counts.
struct Exact {
    counts: HashMap<u64, (f64, u64)>,
    total: f64,
    half_life: u64,
    now: u64,
}

impl Exact {
    fn new(half_life: u64) -> Self {
        Exact { counts: HashMap::new(), total: 0.0, half_life, now: 0 }
    }

    fn insert(&mut self, key: u64) {
        let value = self.get(key) + 1.0;
        self.counts.insert(key, (value, self.now));
        self.total += 1.0;
    }

    fn get(&self, key: u64) -> f64 {
        self.counts.get(&key).map_or(0.0, |(value, tick)| value * half_lives(self.now - tick, self.half_life))
    }

    fn tick(&mut self) {
        self.now += 1;
        self.total *= half_lives(1, self.half_life);
    }
}

/// About Zipf's law with exponent 1.1.
fn skewed_key(random: &mut SplitMix) -> u64 {
    ((1.0 - random.unit() * (1.0 - 100_000f64.powf(-0.1))).powf(-10.0)) as u64
}

#[test]
fn a_key_that_comes_once_per_tick_converges() {
    for (store, slack) in [(Store::Uniform, 1e-9), (Store::Skewed, 0.05)] {
        for half_life in [5, 20] {
            let settings = TimeDecayingSettings {
                items: Some(100),
                half_life: Some(half_life),
                store: Some(store),
                ..Default::default()
            };
            let mut filter = filter(settings, 1);
            for _ in 0..60 * half_life {
                filter.advance(1);
                filter.insert("rose");
            }
            let limit = 1.0 / (1.0 - half_lives(1, half_life));
            let found = filter.frequency("rose").unwrap();
            assert!((found / limit - 1.0).abs() < slack, "{store:?} {half_life}: {found} of {limit}");
        }
    }
}

#[test]
fn estimates_are_never_too_small_and_seldom_far_too_large() {
    for (store, update) in
        [(Store::Uniform, Update::Plain), (Store::Skewed, Update::Plain), (Store::Uniform, Update::Conservative)]
    {
        let (eps, half_life) = (0.002, 50);
        let settings = TimeDecayingSettings {
            eps: Some(eps),
            delta: Some(0.01),
            half_life: Some(half_life),
            store: Some(store),
            update: Some(update),
            ..Default::default()
        };
        let mut filter = filter(settings, 3);
        let mut exact = Exact::new(half_life);
        let mut random = SplitMix::new(9);
        let (mut far, mut asked) = (0, 0);
        for event in 0..200_000u64 {
            let key = skewed_key(&mut random);
            filter.insert(&key);
            exact.insert(key);
            if event % 10 == 9 {
                filter.advance(1);
                exact.tick();
            }
            // Five questions per event: a million.
            for key in [key, 1, 2, random.below(100) + 1, random.below(100_000)] {
                let (found, truth) = (filter.frequency(&key), exact.get(key));
                let Some(found) = found else { continue };
                let rounding = if store == Store::Skewed { 0.25 } else { 1e-9 * truth };
                assert!(found >= truth - rounding, "{store:?} event {event}, key {key}: {found} for {truth}");
                if event > 20_000 {
                    asked += 1;
                    far += u64::from(found > truth + eps * exact.total + 0.016 * truth + rounding);
                }
            }
        }
        assert!(far as f64 <= 0.01 * asked as f64, "{store:?}: {far} of {asked}");
        let total = filter.mechanism.cells.total(filter.mechanism.now);
        assert!((total / exact.total - 1.0).abs() < 1e-6);
    }
}

#[test]
fn small_counters_are_close_to_floats_in_half_of_the_bits_of_32_bit_counters() {
    let settings = |store| TimeDecayingSettings {
        counters: Some(6_000),
        hashes: Some(4),
        half_life: Some(80),
        store: Some(store),
        ..Default::default()
    };
    let (mut floats, mut small) = (filter(settings(Store::Uniform), 2), filter(settings(Store::Skewed), 2));
    assert!(small.stats().bits <= 6_000 * 16);
    let mut random = SplitMix::new(4);
    for event in 0..100_000u64 {
        let key = skewed_key(&mut random);
        floats.insert(&key);
        small.insert(&key);
        if event % 10 == 9 {
            floats.advance(1);
            small.advance(1);
        }
        let key = skewed_key(&mut random);
        let (value, found) = (floats.frequency(&key).unwrap(), small.frequency(&key).unwrap());
        let (low, high) = (value - 0.25, value * 1.016 + 0.25);
        assert!((low..=high).contains(&found), "event {event}: {found} for {value}");
    }
    let Cells::Skewed(skewed) = &small.mechanism.cells else { panic!() };
    assert!(skewed.pooled() > 0 && skewed.saturated() == 0);
}

#[test]
fn a_full_pool_saturates_counters_and_says_so_until_all_could_have_faded() {
    let settings = TimeDecayingSettings {
        counters: Some(300),
        hashes: Some(3),
        half_life: Some(10),
        store: Some(Store::Skewed),
        ..Default::default()
    };
    let mut filter = filter(settings, 2);
    (0..40u64).for_each(|key| _ = filter.add(&key, 1_000));
    let Cells::Skewed(skewed) = &filter.mechanism.cells else { panic!() };
    assert_eq!(skewed.pooled(), 6);
    assert!(skewed.saturated() > 50);
    let saturated = (0..40u64).filter(|key| filter.frequency(key).is_none()).count();
    assert!(saturated > 10);
    let told = (0..40u64).map(|key| filter.count(&key)).all(|told| told.at_least || told.count >= 1_000);
    assert!(told, "never less than the truth, or at least");
    let again = TimeDecaying::from_bytes(&filter.to_bytes()).unwrap();
    assert_eq!(again, filter);
    // 40,000 in all: below 64 after ten half-lives.
    filter.advance(100);
    (0..400u64).for_each(|key| _ = filter.insert(&key));
    filter.advance(40);
    (0..400u64).for_each(|key| _ = filter.insert(&key));
    assert!((0..40u64).all(|key| filter.frequency(&key).is_some_and(|found| found < 500.0)));
}

#[test]
fn merging_adds_what_both_have_at_the_same_tick() {
    for store in [Store::Uniform, Store::Skewed] {
        let settings =
            TimeDecayingSettings { items: Some(500), half_life: Some(10), store: Some(store), ..Default::default() };
        let (mut one, mut other) = (filter(settings.clone(), 1), filter(settings.clone(), 1));
        for key in 0..100u64 {
            one.add(&key, 3);
            other.add(&(key + 50), 5);
            one.advance(key % 2);
            other.advance(key % 2);
        }
        let (a, b) = (one.frequency(&70u64).unwrap(), other.frequency(&70u64).unwrap());
        let mut both = one.clone();
        both.merge(&other).unwrap();
        assert!((both.frequency(&70u64).unwrap() - a - b).abs() < 0.1);
        other.advance(1);
        assert!(matches!(one.merge(&other), Err(Error::Incompatible { .. })));
        one.join(&other).unwrap();
        assert!((one.frequency(&70u64).unwrap() - (a + b) * half_lives(1, 10)).abs() < 0.3);
        let conservative = TimeDecayingSettings { update: Some(Update::Conservative), ..settings };
        let (mut one, other) = (filter(conservative.clone(), 1), filter(conservative, 1));
        assert!(matches!(one.merge(&other), Err(Error::Incompatible { .. })));
    }
}

#[test]
fn a_long_time_rescales_and_late_keys_count_as_if_in_time() {
    let mut filter = filter(TimeDecayingSettings { items: Some(500), half_life: Some(2), ..Default::default() }, 1);
    filter.add("rose", 1 << 50);
    filter.advance(100);
    filter.insert("lily");
    assert_eq!(filter.frequency("rose"), Some(1.0));
    let mut late = filter.clone();
    filter.insert("iris");
    filter.advance(4);
    late.advance(4);
    late.insert_late("iris", 4).unwrap();
    assert_eq!((filter.frequency("iris"), late.frequency("iris")), (Some(0.25), Some(0.25)));
}
