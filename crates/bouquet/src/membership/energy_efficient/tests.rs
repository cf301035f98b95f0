use super::*;
use crate::AnyFilter;
use crate::hash::SplitMix;
use crate::kind::Argument;
use crate::membership::testing::{self, figure, number, real_figure, rows};

const TICKS: u64 = 20_000;
const ARRIVALS: u64 = 4;
const K: u32 = 8;
/// Keys that fill half of 100,000 bits with k = 8.
const N: u64 = 8_664;

/// A half-full filter, through the handle.
fn half_full(policy: &str) -> AnyFilter {
    let settings = [("bits", "100000"), ("hashes", "8"), ("policy", policy)];
    let filter = testing::filled(&KIND, &settings, N, 3);
    assert!((filter.stats().fill.unwrap() - 0.5).abs() < 0.005);
    filter
}

/// The same as its type.
fn filled(policy: &str) -> EnergyEfficient {
    half_full(policy).downcast_ref::<EnergyEfficient>().unwrap().clone()
}

/// What a run shows.
struct Run {
    evaluations: f64,
    latency: f64,
    most_first: u64,
}

/// Four keys per tick, of which this share is in; every answer is compared with the one at once.
fn run(policy: &str, positive: f64) -> Run {
    let mut filter = half_full(policy);
    let (mut random, mut truth, mut delivered) = (SplitMix::new(5), Vec::new(), 0);
    let (mut most_first, mut immediate) = (0, 0);
    let is_next = |row: &[Reply], delivered: &mut u64, truth: &[bool]| {
        let expected = (*delivered as f64, truth[*delivered as usize]);
        assert_eq!((number(&row[0]), matches!(row[1], Reply::Truth(true))), expected, "in order, and right");
        *delivered += 1;
    };
    for _ in 0..TICKS {
        for _ in 0..ARRIVALS {
            let key = if random.unit() < positive { random.below(N) } else { (1 << 40) + random.next_u64() / 4 };
            let key = key.to_le_bytes();
            let expected = filter.contains().unwrap().contains(&key);
            let reply = rows(filter.act("submit", Argument::Key(&key)).unwrap());
            match &reply[0][..] {
                [Reply::Unknown, Reply::Truth(present)] => {
                    assert_eq!(*present, expected);
                    immediate += 1;
                }
                [token, Reply::Unknown] => {
                    assert_eq!(number(token), truth.len() as f64);
                    truth.push(expected);
                }
                other => panic!("{other:?}"),
            }
            assert!(figure(&filter, "keys that wait") <= 16, "the queue never exceeds its capacity");
        }
        for row in rows(filter.act("tick", Argument::Nothing).unwrap()) {
            is_next(&row, &mut delivered, &truth);
        }
        most_first = most_first.max(figure(&filter, "functions of the first stage"));
    }
    for row in rows(filter.act("drain", Argument::Nothing).unwrap()) {
        is_next(&row, &mut delivered, &truth);
    }
    assert_eq!((delivered, delivered + immediate), (truth.len() as u64, TICKS * ARRIVALS), "no answer is lost");
    assert_eq!(figure(&filter, "measured queries"), TICKS * ARRIVALS);
    let evaluations = real_figure(&filter, "hash evaluations per query");
    Run { evaluations, latency: real_figure(&filter, "ticks per query"), most_first }
}

#[test]
fn without_members_two_or_three_evaluations_are_enough() {
    for policy in ["hysteresis", "proportional", "predictive"] {
        let run = run(policy, 0.0);
        // The second stage is just not overtaxed by two functions, so that the predictive policy mostly has three in front.
        let most = if policy == "hysteresis" { 2.8 } else { 3.5 };
        assert!(run.evaluations <= most, "{policy}: {} evaluations per key", run.evaluations);
    }
}

#[test]
fn with_some_members_latency_is_less_than_half_of_the_fixed_scheme_s() {
    let (adaptive, fixed) = (run("hysteresis", 0.1), run("fixed", 0.1));
    assert_eq!(fixed.most_first, 2);
    assert!((fixed.latency - 4.8).abs() < 0.4, "{}", fixed.latency);
    assert!(adaptive.latency < 0.5 * fixed.latency, "{} ticks against {}", adaptive.latency, fixed.latency);
    assert!((adaptive.latency - 2.1).abs() < 0.4, "{}", adaptive.latency);
    assert!(adaptive.evaluations <= fixed.evaluations, "{} against {}", adaptive.evaluations, fixed.evaluations);
}

#[test]
fn with_members_alone_the_first_stage_takes_all_functions() {
    for policy in ["hysteresis", "proportional", "predictive"] {
        let run = run(policy, 1.0);
        let least = u64::from(if policy == "proportional" { K - 1 } else { K });
        assert!(run.most_first >= least, "{policy}: {}", run.most_first);
        assert_eq!(run.evaluations, f64::from(K), "{policy}: every key needs all, however they are divided");
    }
}

#[test]
fn a_key_that_waits_is_tested_with_what_it_lacks_although_the_stages_have_changed() {
    let mut filter = filled("hysteresis");
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
    let mut filter = filled("predictive");
    (0..6u64).for_each(|key| _ = filter.submit(&key));
    filter.tick();
    let mut opened = EnergyEfficient::from_bytes(&filter.to_bytes()).unwrap();
    assert_eq!((opened.waiting(), &opened), (5, &filter));
    assert_eq!(opened.drain(), filter.drain());
}
