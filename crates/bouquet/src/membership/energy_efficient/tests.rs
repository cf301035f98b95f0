use super::*;
use crate::hash::{Hashing, SplitMix};

const TICKS: u64 = 20_000;
const ARRIVALS: u64 = 4;
const K: u32 = 8;
/// Half full with k = 8.
const M: u64 = 100_000;
const N: u64 = 8_664;

/// A half-full filter, and a regular one with the same bits.
fn filled(policy: StagePolicy, least: u32, high: u64) -> EnergyEfficient {
    let settings = EnergyEfficientSettings {
        bits: Some(M),
        hashes: Some(K),
        policy: Some(policy),
        least: Some(least),
        high: Some(high),
        ..Default::default()
    };
    let mut filter = EnergyEfficient::hashed(settings, Hashing::seeded(3)).unwrap();
    (0..N).for_each(|key| {
        filter.insert(&key);
    });
    assert!((filter.bits().fill() - 0.5).abs() < 0.005);
    filter
}

/// What a run shows.
struct Run {
    evaluations: f64,
    latency: f64,
    most_first: u32,
}

/// Four keys per tick, of which this share is in; every answer is compared with the regular one.
fn run(filter: &mut EnergyEfficient, positive: f64) -> Run {
    let (mut random, mut truth, mut delivered) = (SplitMix::new(5), Vec::new(), 0);
    let (mut most_first, mut immediate) = (0, 0u64);
    for _ in 0..TICKS {
        for _ in 0..ARRIVALS {
            let key = if random.unit() < positive { random.below(N) } else { (1 << 40) + random.next_u64() / 4 };
            let expected = filter.contains(&key);
            match filter.submit(&key) {
                Ok(present) => {
                    assert_eq!(present, expected);
                    immediate += 1;
                }
                Err(token) => {
                    assert_eq!(token, truth.len() as u64);
                    truth.push(expected);
                }
            }
            assert!(filter.waiting() <= 16, "the queue never exceeds its capacity");
        }
        for (token, present) in filter.tick() {
            assert_eq!((token, present), (delivered, truth[delivered as usize]), "in order, and right");
            delivered += 1;
        }
        most_first = most_first.max(filter.first());
    }
    filter.drain().into_iter().for_each(|(token, present)| {
        assert_eq!((token, present), (delivered, truth[delivered as usize]));
        delivered += 1;
    });
    assert_eq!((delivered, delivered + immediate), (truth.len() as u64, TICKS * ARRIVALS), "no answer is lost");
    let work = filter.work();
    assert_eq!(work.queries, TICKS * ARRIVALS);
    Run { evaluations: work.mean(|work| work.evaluations), latency: work.mean(|work| work.ticks), most_first }
}

#[test]
fn without_members_two_or_three_evaluations_are_enough() {
    for policy in [StagePolicy::Hysteresis, StagePolicy::Proportional, StagePolicy::Predictive] {
        let run = run(&mut filled(policy, 2, 8), 0.0);
        // The second stage is just not overtaxed by two functions, so that the predictive policy mostly has three in front.
        let most = if policy == StagePolicy::Hysteresis { 2.8 } else { 3.5 };
        assert!(run.evaluations <= most, "{policy:?}: {} evaluations per key", run.evaluations);
    }
}

#[test]
fn with_some_members_latency_is_less_than_half_of_the_fixed_scheme_s() {
    let adaptive = run(&mut filled(StagePolicy::Hysteresis, 2, 8), 0.1);
    // A high mark at the capacity, which is only reached when all is tested at once anyway, moves nothing.
    let mut fixed = filled(StagePolicy::Hysteresis, 2, 16);
    fixed.mechanism.scheduler.high = u64::MAX;
    let fixed = run(&mut fixed, 0.1);
    assert_eq!(fixed.most_first, 2);
    assert!((fixed.latency - 4.8).abs() < 0.4, "{}", fixed.latency);
    assert!(adaptive.latency < 0.5 * fixed.latency, "{} ticks against {}", adaptive.latency, fixed.latency);
    assert!((adaptive.latency - 2.1).abs() < 0.4, "{}", adaptive.latency);
    assert!(adaptive.evaluations <= fixed.evaluations, "{} against {}", adaptive.evaluations, fixed.evaluations);
}

#[test]
fn with_members_alone_the_first_stage_takes_all_functions() {
    for policy in [StagePolicy::Hysteresis, StagePolicy::Proportional, StagePolicy::Predictive] {
        let run = run(&mut filled(policy, 2, 8), 1.0);
        let least = if policy == StagePolicy::Proportional { K - 1 } else { K };
        assert!(run.most_first >= least, "{policy:?}: {}", run.most_first);
        assert_eq!(run.evaluations, f64::from(K), "{policy:?}: every key needs all, however they are divided");
    }
}

#[test]
fn a_key_that_waits_is_tested_with_what_it_lacks_although_the_stages_have_changed() {
    let mut filter = filled(StagePolicy::Hysteresis, 2, 8);
    let tokens: Vec<_> = (0..10u64).map(|key| filter.submit(&key).unwrap_err()).collect();
    let before = filter.work().evaluations;
    assert_eq!(before, 20, "two each");
    filter.tick();
    assert_eq!(filter.first(), 3, "nine wait");
    let late = filter.submit(&10u64).unwrap_err();
    let found = filter.drain();
    assert_eq!(found.len(), tokens.len());
    assert_eq!(found.last(), Some(&(late, true)));
    // Each of the eleven had its eight functions computed once.
    assert_eq!(filter.work().evaluations, 88);
}

#[test]
fn what_waits_is_kept_in_the_frame() {
    let mut filter = filled(StagePolicy::Predictive, 2, 8);
    (0..6u64).for_each(|key| _ = filter.submit(&key));
    filter.tick();
    let mut opened = EnergyEfficient::from_bytes(&filter.to_bytes()).unwrap();
    assert_eq!((opened.waiting(), &opened), (5, &filter));
    assert_eq!(opened.drain(), filter.drain());
}
