//! Tests of forgetful filters: the rate of pairs, retention, the counter service, the controller.

use super::super::testing::{assert_mean_to, positives};
use super::*;
use crate::AnyFilter;
use crate::hash::SplitMix;
use crate::kind::Argument;

fn filter(settings: ForgetfulSettings, seed: u64) -> Forgetful {
    Forgetful::hashed(settings, Hashing::seeded(seed)).unwrap()
}

fn of(items: u64, fpr: f64) -> ForgetfulSettings {
    ForgetfulSettings { items: Some(items), fpr: Some(fpr), ..Default::default() }
}

#[test]
fn the_rate_at_the_end_of_a_period_is_the_derived_one_and_far_worse_with_equal_seeds() {
    let (n, m, k) = (10_000u64, 214_568, 8);
    let settings = ForgetfulSettings { bits: Some(generations::bits(4, m)), hashes: Some(k), ..of(n, 1e-4) };
    let mut found = vec![];
    for seed in 0..40 {
        let mut filter = filter(settings.clone(), seed);
        assert_eq!(filter.mechanism.ring.places().counters(), m);
        let mut key = 0u64;
        while filter.mechanism.ring.turns() < 3 || filter.mechanism.keys < n {
            filter.insert(&key);
            key += 1;
        }
        found.push(positives(&filter, 300_000));
    }
    assert_mean_to(&found, forgetful_rate(m, k, n, 2, 4 * n), 0.06, "own seeds");
    assert_mean_to(&found, 6.8e-5, 0.06, "the printed rate");

    // The same row with one seed, by hand.
    let mut ring = Ring::zeroed(4, flat_places(m, k).unwrap()).unwrap();
    let hashing = Hashing::seeded(0);
    for key in 0..4 * n {
        if key > 0 && key.is_multiple_of(n) {
            ring.turn(FUTURE);
        }
        let digest = hashing.digest_word(key);
        for role in [FUTURE, PRESENT] {
            ring.put(role, digest);
        }
    }
    let queries = 300_000u64;
    let wrong = (0..queries).filter(|key| {
        let digest = hashing.digest_word(key + (1 << 40));
        (0..3).any(|role| ring.test(role, digest) && ring.test(role + 1, digest))
    });
    let equal = wrong.count() as f64 / queries as f64;
    assert!(equal > 5.0 * 6.8e-5, "{equal}");
}

#[test]
fn keys_are_found_for_as_many_periods_as_there_are_past_filters_and_one_more_at_most() {
    for pasts in [1, 2, 5] {
        let n = 400u64;
        let mut filter = filter(ForgetfulSettings { pasts: Some(pasts), ..of(n, 1e-6) }, 9);
        let mut new = vec![];
        let (mut old, mut asked) = (0, 0);
        for key in 0..20 * n {
            new.push(filter.insert(&key));
            if key.is_multiple_of(23) {
                let epoch = key / n;
                let first = epoch.saturating_sub(u64::from(pasts)) * n;
                assert!((first..=key).all(|key| !new[key as usize] || filter.contains(&key)), "{key}");
                // In the period before, one of the two filters is still there.
                let gone = first.saturating_sub(n + 100)..first.saturating_sub(n);
                asked += gone.end - gone.start;
                old += gone.filter(|key| filter.contains(key)).count();
            }
        }
        assert!(old < 5 && asked > 20_000, "{old} of {asked}");
    }
}

#[test]
fn a_counter_service_counts_every_operation_once() {
    let (n, operations) = (2_000u64, 40_000u64);
    let mut filter = filter(of(n, 1e-4), 3);
    let mut random = SplitMix::new(5);
    let mut counted = 0u64;
    for operation in 0..operations {
        counted += u64::from(filter.insert(&operation));
        if random.unit() < 0.3 {
            // Sent again within the window of two periods.
            let again = operation - random.below(operation.min(2 * n - 1) + 1);
            counted += u64::from(filter.insert(&again));
        }
    }
    // Under-counts are false positives: 4 expected at most, and 5 sigma.
    assert!(counted <= operations && operations - counted <= 14, "{counted} of {operations}");
}

#[test]
fn time_adds_up_and_empties() {
    for refresh in [Refresh::Count, Refresh::Ticks, Refresh::Controlled] {
        let settings = ForgetfulSettings { refresh: Some(refresh), period: Some(10), ..of(300, 0.01) };
        let mut start = filter(settings, 4);
        (0..700u64).for_each(|key| _ = start.insert(&key));
        for (a, b) in [(0, 7), (7, 0), (50, 1_234), (3, 1 << 40), (1 << 40, 12), (1 << 40, 1 << 41), (u64::MAX - 5, 5)]
        {
            let (mut parts, mut whole) = (start.clone(), start.clone());
            parts.advance(a);
            parts.advance(b);
            whole.advance(a + b);
            assert!(parts == whole, "{refresh:?} {a} {b}");
        }
        start.advance(2_000);
        assert_eq!(start.stats().fill, Some(0.0));
    }
}

#[test]
fn the_controller_keeps_the_rate_and_tells_of_every_change() {
    let n = 500u64;
    let settings = ForgetfulSettings { refresh: Some(Refresh::Controlled), period: Some(8), ..of(n, 0.001) };
    let mut filter = AnyFilter::from_structure(filter(settings, 4)).unwrap();
    let mut key = 0u64;
    let mut arrive = |filter: &mut AnyFilter, per_tick: u64, ticks: u64| {
        for _ in 0..ticks {
            for _ in 0..per_tick {
                filter.insert().unwrap().insert(key.to_le_bytes().as_slice().into()).unwrap();
                key += 1;
                assert!(filter.stats().fpr.unwrap() < 0.001, "{key}");
            }
            filter.advance().unwrap().advance(1);
        }
    };
    let changes = |filter: &AnyFilter| match filter.ask("changes", Argument::Nothing) {
        Ok(Reply::Table(_, rows)) => rows.len(),
        other => panic!("{other:?}"),
    };
    let period = |filter: &AnyFilter| match filter.figures()[1].value {
        Setting::Count(period) => period,
        other => panic!("{other}"),
    };
    assert_eq!((changes(&filter), period(&filter)), (0, 8));
    // Three times as many keys as a period is for: periods become shorter.
    arrive(&mut filter, 3 * n / 8, 40);
    assert!(changes(&filter) > 0 && period(&filter) < 8, "{}", period(&filter));
    // Hardly any: they become longer.
    let short = period(&filter);
    arrive(&mut filter, 2, 200);
    assert!(period(&filter) > short.max(8));
    assert!(matches!(filter.ask("retention", Argument::Nothing), Ok(Reply::Integer(2))));
    filter.act("refresh", Argument::Nothing).unwrap();
}

#[test]
fn within_a_tick_the_controller_gives_up_past_filters() {
    let settings = ForgetfulSettings { refresh: Some(Refresh::Controlled), pasts: Some(3), ..of(500, 0.001) };
    let mut filter = filter(settings, 4);
    let mut key = 0u64;
    for _ in 0..6 {
        (0..900).for_each(|i| _ = filter.insert(&(key + i)));
        key += 900;
        filter.advance(1);
    }
    assert!(filter.mechanism.control.pasts < 3);
    (0..50).for_each(|i| {
        filter.insert(&(key + i));
        filter.advance(1);
    });
    assert_eq!(filter.mechanism.control.pasts, 3, "they come back");
}
