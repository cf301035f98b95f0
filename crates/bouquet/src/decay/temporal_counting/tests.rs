//! Tests of temporal counting filters: the two rules, merges, fill under a steady stream, time.

use super::super::testing::assert_mean_to;
use super::*;
use crate::AnyFilter;
use crate::capability::Item;
use crate::hash::SplitMix;
use crate::kind::Argument;
use crate::theory::aging::{early_loss, fill_of_first, fill_of_longest};

fn filter(settings: TemporalCountingSettings, seed: u64) -> TemporalCounting {
    TemporalCounting::hashed(settings, Hashing::seeded(seed)).unwrap()
}

fn of(rule: Rule) -> TemporalCountingSettings {
    TemporalCountingSettings { items: Some(200), rule: Some(rule), ..Default::default() }
}

#[test]
fn a_counter_that_is_in_use_ends_a_key_early_or_not_as_the_rule_says() {
    for (rule, least, life) in [(Rule::Keep, 2, 2), (Rule::Max, 7, 7)] {
        let settings = TemporalCountingSettings {
            counters: Some(12),
            hashes: Some(3),
            strength: Some(7),
            rule: Some(rule),
            ..Default::default()
        };
        let mut filter = filter(settings, 0);
        let key = (0u64..).find(|key| {
            let mut places: Positions = filter.mechanism.places(key.digest(&filter.hashing)).collect();
            places.distinct().len() == 3
        });
        let key = key.unwrap();
        let second = filter.mechanism.places(key.digest(&filter.hashing)).nth(1).unwrap();
        let now = filter.mechanism.lost;
        filter.mechanism.cells.give(second, now, 2);
        filter.insert(&key);
        let left: Vec<_> = filter.mechanism.places(key.digest(&filter.hashing)).collect();
        let left: Vec<_> = left.into_iter().map(|place| filter.mechanism.cells.left(place, now)).collect();
        assert_eq!((left.as_slice(), filter.strength(&key)), ([7, least, 7].as_slice(), least));
        filter.advance(life - 1);
        assert!(filter.contains(&key));
        filter.advance(1);
        assert!(!filter.contains(&key), "{rule:?}");
    }
}

#[test]
fn with_the_larger_value_no_key_is_missed_before_its_life_is_over() {
    let settings = TemporalCountingSettings {
        items: Some(2_000),
        strength: Some(60),
        decay: Some(3),
        fpr: Some(0.05),
        ..Default::default()
    };
    let mut filter = filter(settings, 3);
    let mut checked = 0;
    for tick in 0..600u64 {
        (0..100).for_each(|i| _ = filter.insert(&(tick * 100 + i)));
        for age in 0..20u64.min(tick + 1) {
            assert!((0..100).all(|i| filter.contains(&((tick - age) * 100 + i))), "tick {tick}, age {age}");
            checked += 100;
        }
        filter.advance(1);
    }
    assert!(checked > 1_000_000);
}

#[test]
fn fill_and_losses_under_a_steady_stream_are_the_derived_ones() {
    for (rule, printed) in [(Rule::Max, 0.503), (Rule::Keep, 0.412)] {
        let settings = TemporalCountingSettings {
            counters: Some(100_000),
            hashes: Some(7),
            strength: Some(1_000),
            rule: Some(rule),
            ..Default::default()
        };
        let expected = match rule {
            Rule::Max => fill_of_longest(100_000, 7, 10_000.0),
            Rule::Keep => fill_of_first(100_000, 7, 10_000.0),
        };
        assert!((expected - printed).abs() < 5e-4);
        let mut fills = vec![];
        let (mut lost, mut asked) = (0, 0);
        for seed in 0..4 {
            let mut filter = filter(settings.clone(), seed);
            for tick in 0..9_000u64 {
                filter.advance(1);
                (0..10).for_each(|i| _ = filter.insert(&(tick * 10 + i)));
                // Looks that are two lives apart see different keys.
                if tick >= 4_999 && (tick + 1) % 2_000 == 1_000 {
                    fills.push(filter.stats().fill.unwrap());
                    lost += (0..10).filter(|i| !filter.contains(&((tick - 500) * 10 + i))).count();
                    asked += 10;
                }
            }
        }
        assert_mean_to(&fills, expected, 0.01, &format!("fill, {rule:?}"));
        let bound = if rule == Rule::Max { 0.0 } else { early_loss(100_000, 7, 10_000.0, 0.5) };
        assert!(lost as f64 <= bound * asked as f64 + 5.0 * (bound * (1.0 - bound) * asked as f64).sqrt());
        assert_eq!(lost > 0, rule == Rule::Keep);
    }
}

#[test]
fn merges_keep_their_laws() {
    let mut random = SplitMix::new(6);
    let mut some = |ticks| {
        let mut filter = filter(TemporalCountingSettings { max: Some(40), ..of(Rule::Max) }, 1);
        for step in 0..60 {
            filter.insert_at(&random.below(100), 1 + random.below(20)).unwrap();
            filter.advance(step % 2);
        }
        let now = filter.mechanism.ticks as u64;
        filter.advance(ticks - now);
        filter
    };
    type Merge = fn(&mut TemporalCounting, &TemporalCounting) -> Result<()>;
    let merges: [(Merge, bool); 3] =
        [(TemporalCounting::merge, true), (TemporalCounting::join, true), (TemporalCounting::reinforce, false)];
    for (merge, is_idempotent) in merges {
        let same_tick = [some(32), some(32), some(32)];
        let all = |filters: &[&TemporalCounting]| {
            let mut first = filters[0].clone();
            filters[1..].iter().for_each(|next| merge(&mut first, next).unwrap());
            (0..100u64).map(|key| first.strength(&key)).collect::<Vec<_>>()
        };
        let [a, b, c] = &same_tick;
        let mut bc = b.clone();
        merge(&mut bc, c).unwrap();
        assert_eq!(all(&[a, b]), all(&[b, a]));
        assert_eq!(all(&[a, b, c]), all(&[a, &bc]));
        assert_eq!(all(&[a, a]) == all(&[a]), is_idempotent);
    }
    let (mut late, early) = (some(37), some(32));
    assert!(matches!(late.merge(&early), Err(Error::Incompatible { .. })));
    let (mut one, mut other) = (late.clone(), early.clone());
    one.join(&early).unwrap();
    other.join(&late).unwrap();
    assert!((0..100u64).all(|key| one.strength(&key) == other.strength(&key)), "both at the later tick");
    let faster = filter(TemporalCountingSettings { decay: Some(2), max: Some(40), ..of(Rule::Max) }, 1);
    assert!(matches!(late.reinforce(&faster), Err(Error::Incompatible { .. })), "another decay");
}

#[test]
fn strengths_and_preferences_are_reached_by_name() {
    let mut filter = AnyFilter::from_structure(filter(of(Rule::Keep), 1)).unwrap();
    let pair = |key, text| Argument::Item(Item::new(key, crate::capability::Note::Bytes(text)));
    assert!(matches!(filter.act("insert-at", pair(b"rose", b"9")), Ok(Reply::Truth(true))));
    assert!(filter.act("insert-at", pair(b"rose", b"many")).is_err());
    assert!(matches!(filter.ask("strength", Argument::Key(b"rose")), Ok(Reply::Integer(9))));
    assert!(matches!(filter.ask("preference", pair(b"rose", b"12")), Ok(Reply::Integer(-3))));
    assert!(matches!(filter.ask("preference", pair(b"lily", b"0")), Ok(Reply::Unknown)));
    assert!(matches!(filter.act("insert-by-merge", Argument::Key(b"rose")), Ok(Reply::Truth(false))));
    let other = filter.clone();
    filter.act("reinforce", other.as_argument()).unwrap();
    assert!(matches!(filter.ask("strength", Argument::Key(b"rose")), Ok(Reply::Integer(15))), "at most the largest");
}

#[test]
fn time_adds_up_and_empties() {
    for (decay, rule) in [(1, Rule::Max), (4, Rule::Keep), (100, Rule::Max)] {
        let mut start = filter(TemporalCountingSettings { decay: Some(decay), ..of(rule) }, 4);
        for key in 0..200u64 {
            start.insert(&key);
            start.advance(u64::from(key % 30 == 0));
        }
        for (a, b) in [(0, 7), (7, 0), (3, 5), (1, 1), (50, 134), (3, 1 << 40), (1 << 40, 12), (u64::MAX - 5, 5)] {
            let (mut parts, mut whole) = (start.clone(), start.clone());
            parts.advance(a);
            parts.advance(b);
            whole.advance(a + b);
            assert!(parts == whole && parts.to_bytes() == whole.to_bytes(), "{decay} {a} {b}");
        }
        start.advance(15);
        assert_eq!(start.stats().fill, Some(0.0));
    }
}
