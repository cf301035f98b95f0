use super::*;
use crate::hash::{Hashing, SplitMix};
use crate::key::Key;
use crate::kind::Argument;
use crate::membership::testing::{self, number, real_figure};
use crate::theory;

const K: u32 = 8;
/// Half full with k = 8.
const M: u64 = 1_000_000;
const N: u64 = 86_643;

fn filled(stages: StagePlan, first: Option<u32>, layout: BaseLayout) -> Pipelined {
    let settings = PipelinedSettings {
        bits: Some(M),
        hashes: Some(K),
        layout: Some(layout),
        stages: Some(stages),
        first,
        ..Default::default()
    };
    let mut filter = Pipelined::hashed(settings, Hashing::seeded(2)).unwrap();
    filter.insert_batch(&(0..N).collect::<Vec<_>>());
    filter
}

#[test]
fn a_negative_query_costs_what_theory_says() {
    for layout in BaseLayout::WORDS {
        for (stages, first, cost, saving) in [("two", Some("2"), 3.5, 0.5625), ("full", None, 1.992, 0.751)] {
            let mut settings = vec![("bits", "1000000"), ("hashes", "8"), ("layout", layout), ("stages", stages)];
            settings.extend(first.map(|first| ("first", first)));
            let mut filter = testing::filled(&KIND, &settings, N, 2);
            assert!((filter.stats().fill.unwrap() - 0.5).abs() < 0.003);
            let mut random = SplitMix::new(7);
            for _ in 0..200_000 {
                let key = (random.next_u64() | 1 << 63).to_le_bytes();
                filter.act("measure", Argument::Key(&key)).unwrap();
            }
            let mean = real_figure(&filter, "hash evaluations per query");
            // Blocks are not equally full, which costs up to 2 % more.
            let in_blocks = matches!(*layout, "blocked" | "ultra-fast");
            let slack = if in_blocks { 0.025 } else { 0.01 };
            assert!((mean / cost - 1.0).abs() < slack, "{layout} {stages}: {mean}, expected {cost}");
            let saved = 1.0 - mean / f64::from(K);
            assert!((saved - saving).abs() < slack / 2.0, "{layout} {stages}: {saved} saved");
            let theory = number(&filter.ask("cost", Argument::Share(0.0)).unwrap());
            assert!((theory / mean - 1.0).abs() < 0.01, "{layout} {stages}: {mean}, {theory} in theory");
            let accesses = if in_blocks { 1.0 } else { mean };
            assert_eq!(
                real_figure(&filter, "memory accesses per query"),
                accesses,
                "a bit is read for each, or a block"
            );
        }
    }
}

#[test]
fn answers_are_those_of_the_base_filter() {
    let plans =
        [(StagePlan::Two, Some(2)), (StagePlan::Two, Some(8)), (StagePlan::Full, None), (StagePlan::Auto, None)];
    for layout in BaseLayout::MEMBERS {
        let filters = plans.map(|(stages, first)| filled(stages, first, *layout));
        let bits = filters[0].bits();
        assert!(filters.iter().all(|filter| filter.bits() == bits), "the same bits");
        // Half of the queries are members.
        let keys: Vec<u64> = (0..1_000_000 / 20).map(|i| if i % 2 == 0 { i % N } else { (1 << 40) + i }).collect();
        for filter in &filters {
            let mut answers = vec![false; keys.len()];
            filter.contains_batch(&keys, &mut answers);
            for (key, answer) in keys.iter().zip(answers) {
                // All functions at once, as the base does.
                let base = filter.mechanism.all_hit(key.digest(filter.hashing()), 0..K);
                assert_eq!((base, base), (filter.contains(key), answer), "key {key}");
            }
        }
    }
}

#[test]
fn the_flat_base_is_a_standard_filter_by_its_numbers() {
    let filter = filled(StagePlan::Two, None, BaseLayout::Flat);
    let queries = 500_000;
    let found = (1 << 40..(1 << 40) + queries).filter(|key: &u64| filter.contains(key)).count() as f64 / queries as f64;
    let expected = theory::standard::expected_rate(M, N, K);
    let sigma = theory::spread::test_sigma(M, N, K, queries);
    assert!((found - expected).abs() < 5.0 * sigma, "{found}, expected {expected}");
}

#[test]
fn blocks_have_their_rate_whatever_the_stages() {
    for (layout, bits) in [(BaseLayout::Blocked, 512), (BaseLayout::UltraFast, 256)] {
        let (mut found, mut told, filters, queries) = (0, 0.0, 5, 200_000);
        for seed in 0..filters {
            let settings =
                PipelinedSettings { items: Some(N), fpr: Some(0.01), layout: Some(layout), ..Default::default() };
            let mut filter = Pipelined::hashed(settings, Hashing::seeded(seed)).unwrap();
            filter.insert_batch(&(0..N).collect::<Vec<_>>());
            found += (1 << 40..(1 << 40) + queries).filter(|key: &u64| filter.contains(key)).count();
            told += filter.stats().fpr.unwrap() / filters as f64;
            // All of a key lies in one block, and in ultra-fast in a word each.
            let mut alone = Pipelined::hashed(filter.settings(), Hashing::seeded(seed)).unwrap();
            alone.insert("rose");
            let places: Vec<_> = alone.bits().ones().collect();
            assert!(places.len() > 2 && places.iter().all(|place| place / bits == places[0] / bits));
            let mut words = places.iter().map(|place| place % bits / 32);
            assert!(layout == BaseLayout::Blocked || words.by_ref().eq(0..8));
        }
        let (rate, sigma) = (found as f64 / (filters * queries) as f64, (told / (filters * queries) as f64).sqrt());
        assert!(
            (rate - told).abs() < 5.0 * sigma && (told / 0.01 - 1.0).abs() < 0.05,
            "{layout:?}: {rate}, told {told}"
        );
    }
}

#[test]
fn the_first_stage_follows_the_fill() {
    let settings = PipelinedSettings {
        bits: Some(100_000),
        hashes: Some(16),
        stages: Some(StagePlan::Auto),
        ..Default::default()
    };
    let mut filter = Pipelined::with(settings).unwrap();
    assert_eq!(filter.mechanism.scheduler.first(), 1, "one look tells that it is empty");
    let mut firsts = Vec::new();
    for key in 0..10_000u64 {
        filter.insert(&key);
        firsts.push(filter.mechanism.scheduler.first());
    }
    assert!(firsts.is_sorted() && firsts.last() > Some(&3), "{:?}", firsts.last());
    let best = pipeline::best_first(16, filter.bits().fill());
    assert!(firsts.last().unwrap().abs_diff(best) <= 1);
    let opened = Pipelined::from_bytes(&filter.to_bytes()).unwrap();
    assert_eq!(opened, filter);
    assert_eq!(filter.replan(), best);
}
