use std::collections::HashMap;

use super::*;
use crate::capability::{Estimate, Insert, Item, Multiplicity};
use crate::hash::{Secret, SplitMix};
use crate::kind::{Config, Structure};
use crate::theory::{counters, spread, standard};
use crate::{AnyFilter, Bloom, Error, OpenOptions};

fn config(settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap())
}

fn empty(settings: &[(&str, &str)]) -> Counting {
    Counting::from_config(&config(settings)).unwrap()
}

fn fill(filter: &mut Counting, keys: std::ops::Range<u64>) {
    keys.for_each(|key| {
        filter.insert(&key).unwrap();
    });
}

/// The share of absent keys among `queries` that seem present.
fn measured_rate(filter: &Counting, queries: u64) -> f64 {
    let absent = 1 << 40;
    (absent..absent + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64
}

const POLICIES: &[&str] = Policy::WORDS;
const LAYOUTS: &[&str] = Arrangement::WORDS;

#[test]
fn rates_are_the_predicted_ones_before_and_after_removals() {
    let (n, m, k, queries) = (100_000, 1_000_000, 7, 1_000_000);
    let mut filter = Counting::with_size(m, k).unwrap();
    fill(&mut filter, 0..n);
    let sigma = spread::test_sigma(m, n, k, queries);
    let rate = measured_rate(&filter, queries);
    assert!((rate - 0.008_193_7).abs() < 5.0 * sigma, "{rate}");

    (0..n / 2).for_each(|key| filter.remove(&key).unwrap());
    assert!((n / 2..n).all(|key| filter.contains(&key)));
    let queries = 4 * queries;
    let sigma = spread::test_sigma(m, n / 2, k, queries);
    let rate = measured_rate(&filter, queries);
    let expected = standard::expected_rate(m, n / 2, k);
    assert!((expected - 0.000_196).abs() < 5e-7);
    assert!((rate - expected).abs() < 5.0 * sigma, "{rate}");
    assert_eq!(filter.items(), n / 2);
}

#[test]
fn slices_show_their_own_rate() {
    let (n, m, queries) = (2_000, 14_000, 1_000_000);
    let mut filter = empty(&[("counters", "14000"), ("hashes", "7"), ("layout", "sliced"), ("mirror", "yes")]);
    fill(&mut filter, 0..n);
    assert_eq!(filter.expected(n).false_positive, Some(crate::theory::partitioned::rate(m, n, 7)));
    // Against the rate of this very content only the luck of the queries counts.
    let now = filter.stats().fpr.unwrap();
    assert!((measured_rate(&filter, queries) - now).abs() < 5.0 * spread::test_sigma_conditional(now, queries));
}

#[test]
fn churn_in_narrow_counters_loses_no_key_when_sticky_and_some_when_saturating() {
    let n = 10_000;
    for (policy, loses) in [("sticky", false), ("saturate", true)] {
        let mut filter = empty(&[("counters", "100000"), ("hashes", "7"), ("width", "2"), ("policy", policy)]);
        let mut present: Vec<u64> = (0..n).collect();
        fill(&mut filter, 0..n);
        let mut random = SplitMix::new(1);
        for fresh in n..11 * n {
            let slot = &mut present[random.below(n) as usize];
            match filter.remove(slot) {
                Ok(()) => {}
                Err(Error::NotPresent) => assert!(loses, "a present key must be removable"),
                Err(error) => panic!("{error}"),
            }
            *slot = fresh;
            filter.insert(&fresh).unwrap();
        }
        let missing = present.iter().filter(|key| !filter.contains(key)).count();
        assert_eq!(missing > 0, loses, "{policy}: {missing}");
        assert_eq!(filter.lost() > 0, loses, "the loss is told");
    }
}

#[test]
fn the_published_bound_on_overflow_is_computed() {
    assert_eq!(format!("{:.2e}", counters::half_full_bound(16)), "1.37e-15");
    assert_eq!(format!("{:.2e}", counters::limit_reaches(std::f64::consts::LN_2, 15)), "1.64e-15");
}

#[test]
fn counts_are_never_below_the_truth_and_rarely_above() {
    let (n, m, k) = (100_000, 1_000_000, 7);
    let mut filter = empty(&[("counters", "1000000"), ("hashes", "7"), ("width", "8")]);
    (0..3).for_each(|_| fill(&mut filter, 0..n));
    let counts: Vec<_> = (0..n).map(|key| filter.count(&key)).collect();
    assert!(counts.iter().all(|count| count.count >= 3 && !count.at_least));
    let above = counts.iter().filter(|count| count.count > 3).count() as f64 / n as f64;
    let expected = filter.expected(n).over_count.unwrap();
    assert!((expected - standard::expected_rate(m, n, k)).abs() < 1e-6);
    assert!((above - expected).abs() < 5.0 * spread::test_sigma(m, n, k, n), "{above}");
}

/// Random insertions and removals of present keys against an exact multiset.
#[test]
fn every_width_policy_and_layout_agrees_with_an_exact_multiset() {
    for width in [1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 32] {
        for &policy in POLICIES {
            for (layout, mirror) in [("flat", "no"), ("flat", "yes"), ("sliced", "no"), ("sliced", "yes")] {
                let width = width.to_string();
                let shape = [("counters", "500"), ("hashes", "4"), ("layout", layout), ("mirror", mirror)];
                let mut filter = empty(&[&shape[..], &[("width", &width), ("policy", policy)]].concat());
                let mut model: HashMap<u64, u64> = HashMap::new();
                let mut random = SplitMix::new(7);
                for _ in 0..600 {
                    let key = random.below(60);
                    let before = filter.clone();
                    if random.below(5) < 3 {
                        match filter.insert(&key) {
                            Ok(fresh) => {
                                assert!(!fresh || !before.contains(&key));
                                *model.entry(key).or_default() += 1;
                                assert!(filter.contains(&key));
                            }
                            Err(Error::Full { .. }) if policy == "reject" => assert_eq!(filter, before),
                            Err(error) => panic!("{error}"),
                        }
                    } else if let Some(count) = model.get_mut(&key).filter(|count| **count > 0) {
                        match filter.remove(&key) {
                            Ok(()) => *count -= 1,
                            Err(Error::NotPresent) if before.lost() > 0 => *count = 0,
                            Err(error) => panic!("{error}"),
                        }
                    } else if !before.contains(&key) {
                        assert!(matches!(filter.remove(&key), Err(Error::NotPresent)));
                        assert_eq!(filter, before);
                    }
                }
                for (key, &truth) in &model {
                    let count = filter.count(key);
                    assert!(count.count >= truth || count.at_least, "{width} {policy} {layout}");
                    assert!(filter.lost() > 0 || truth == 0 || filter.contains(key));
                }
                let nonzero = nonzero(filter.counters()).unwrap();
                assert_eq!(nonzero.count_ones(), filter.counters().count_nonzero());
                assert!(filter.mechanism.cells.store.mirror.as_ref().is_none_or(|mirror| *mirror == nonzero));
            }
        }
    }
}

#[test]
fn a_sum_honours_the_policy_of_a_full_counter() {
    let filled = |policy: &str, times: usize| {
        let mut filter = empty(&[("counters", "1000"), ("hashes", "3"), ("width", "3"), ("policy", policy)]);
        (0..times).for_each(|_| {
            filter.insert("rose").unwrap();
        });
        filter
    };
    for (policy, count, at_least, width) in [("sticky", 7, true, 3), ("saturate", 7, true, 3), ("widen", 9, false, 4)] {
        let mut sum = filled(policy, 4);
        sum.merge(&filled(policy, 5)).unwrap();
        assert_eq!(sum.count("rose"), Multiplicity { count, at_least }, "{policy}");
        assert_eq!((sum.counters().width(), sum.items()), (width, 9));
    }
    let mut sum = filled("sticky", 4);
    sum.merge(&filled("sticky", 3)).unwrap();
    sum.remove("rose").unwrap();
    assert_eq!(sum.count("rose").count, 7, "a sum that reaches the largest value is frozen");

    let mut sum = filled("reject", 4);
    assert!(matches!(sum.merge(&filled("reject", 5)), Err(Error::Full { .. })));
    assert_eq!(sum, filled("reject", 4));
    sum.merge(&filled("reject", 3)).unwrap();
    assert_eq!(sum.count("rose"), Multiplicity { count: 7, at_least: false });

    let (mut narrow, wide) = (filled("widen", 2), filled("widen", 100));
    let mut other_way = wide.clone();
    other_way.merge(&narrow).unwrap();
    narrow.merge(&wide).unwrap();
    assert_eq!(narrow.count("rose").count, 102);
    assert_eq!(narrow, other_way);
}

#[test]
fn merging_equals_inserting_both() {
    for &layout in LAYOUTS {
        for mirror in ["no", "yes"] {
            let shape = [("counters", "5001"), ("hashes", "5"), ("layout", layout), ("mirror", mirror)];
            let filled = |keys: std::ops::Range<u64>| {
                let mut filter = empty(&shape);
                fill(&mut filter, keys);
                filter
            };
            let mut sum = filled(0..300);
            sum.merge(&filled(200..500)).unwrap();
            let mut both = filled(0..300);
            fill(&mut both, 200..500);
            assert_eq!(sum, both);
        }
    }
}

#[test]
fn filters_that_differ_refuse_to_merge_and_say_in_what() {
    let base = [("counters", "512"), ("hashes", "4")];
    let with = |name, text| empty(&[&base[..], &[(name, text)]].concat());
    let seeded = Counting::from_config(&config(&base).hashed(Hashing::seeded(9))).unwrap();
    for (other, field) in [
        (empty(&[("counters", "513"), ("hashes", "4")]), "counters"),
        (empty(&[("counters", "512"), ("hashes", "8")]), "hashes"),
        (with("layout", "sliced"), "layout"),
        (with("policy", "reject"), "policy"),
        (with("width", "5"), "width"),
        (seeded, "hashing"),
    ] {
        match empty(&base).merge(&other) {
            Err(Error::Incompatible { field: found, .. }) => assert_eq!(found, field),
            answer => panic!("{answer:?}"),
        }
    }
}

#[test]
fn the_plain_filter_given_away_is_that_of_the_remaining_keys() {
    let secret = || Secret::new(&[3; 32]).unwrap();
    for hashing in [Hashing::seeded(4), Hashing::keyed(secret())] {
        for mirror in ["no", "yes"] {
            let config = config(&[("items", "1000"), ("fpr", "0.01"), ("mirror", mirror)]).hashed(hashing.clone());
            let mut filter = Counting::from_config(&config).unwrap();
            fill(&mut filter, 0..1_000);
            (0..500u64).for_each(|key| filter.remove(&key).unwrap());
            let plain = Config::new(crate::membership::standard::KIND.facts()).set("items", "1000").unwrap();
            let plain = plain.set("reduction", "fastrange").unwrap();
            let mut bloom = Bloom::from_config(&plain.set("fpr", "0.01").unwrap().hashed(hashing.clone())).unwrap();
            (500..1_000u64).for_each(|key| {
                bloom.insert(&key);
            });
            let given = filter.to_bloom().unwrap();
            assert_eq!(given, bloom);

            // Still so on the other side of the wire.
            let frame = AnyFilter::from_structure(given).unwrap().to_bytes();
            let options = OpenOptions { secret: Some(secret()), ..Default::default() };
            let arrived = AnyFilter::from_bytes_with(&frame, &options).unwrap();
            assert!((500..1_000u64).all(|key| arrived.contains().unwrap().contains(&key.to_le_bytes())));
        }
    }
    let sliced = empty(&[("items", "1000"), ("layout", "sliced")]);
    assert!(matches!(sliced.to_bloom(), Err(Error::Incompatible { .. })));
}

#[test]
fn one_bit_sticky_counters_are_a_bloom_filter() {
    let mut filter = empty(&[("counters", "5000"), ("hashes", "5"), ("width", "1")]);
    fill(&mut filter, 0..400);
    let plain = Config::new(crate::membership::standard::KIND.facts()).set("bits", "5000").unwrap();
    let plain = plain.set("hashes", "5").unwrap().set("reduction", "fastrange").unwrap();
    let mut bloom = Bloom::from_config(&plain).unwrap();
    (0..400u64).for_each(|key| {
        bloom.insert(&key);
    });
    assert_eq!(filter.counters().words(), bloom.bits().words());
    filter.remove(&7u64).unwrap();
    assert!(filter.contains(&7u64), "frozen at once");
    assert_eq!(filter.expected(400).over_count, Some(0.0));
}

#[test]
fn the_number_of_distinct_keys_is_estimated_despite_repetition_and_removal() {
    for &layout in LAYOUTS {
        let shape = [("counters", "70000"), ("hashes", "7"), ("width", "8"), ("layout", layout)];
        let (mut a, mut b) = (empty(&shape), empty(&shape));
        (0..3).for_each(|_| fill(&mut a, 0..6_000));
        fill(&mut b, 4_000..9_000);
        fill(&mut b, 20_000..22_000);
        (20_000..22_000u64).for_each(|key| b.remove(&key).unwrap());
        let near = |estimate: Estimate, truth: f64| {
            assert!((estimate.keys - truth).abs() < 5.0 * estimate.standard_error, "{layout} {estimate:?} {truth}");
            assert!(estimate.standard_error < 0.06 * truth);
        };
        near(a.cardinality(), 6_000.0);
        near(b.cardinality(), 5_000.0);
        let overlap = a.overlap(&b).unwrap();
        near(overlap.union, 9_000.0);
        near(overlap.intersection, 2_000.0);
    }
    assert!(empty(&[("counters", "1"), ("hashes", "1"), ("layout", "sliced")]).cardinality().keys.is_finite());
}

#[test]
fn frames_give_back_equal_filters_raw_and_coded() {
    for &policy in POLICIES {
        for (layout, mirror, width) in [("flat", "no", "4"), ("sliced", "yes", "3"), ("flat", "yes", "32")] {
            let mut filter = empty(&[
                ("items", "5000"),
                ("width", width),
                ("policy", policy),
                ("layout", layout),
                ("mirror", mirror),
            ]);
            fill(&mut filter, 0..4_000);
            (0..100u64).for_each(|key| filter.remove(&key).unwrap());
            assert_eq!(Counting::from_bytes(&filter.to_bytes()).unwrap(), filter);
            let coded = AnyFilter::from_structure(filter.clone()).unwrap().to_compressed_bytes();
            assert_eq!(Counting::from_bytes(&coded).unwrap(), filter);
            assert_eq!(Counting::from_config(&filter.config()).unwrap().config(), filter.config());
            let again = AnyFilter::from_bytes(&coded).unwrap();
            assert_eq!(again.stats().bits, filter.stats().bits);
        }
    }
}

#[test]
fn coded_counters_take_the_space_of_their_entropy() {
    let mut filter = Counting::with_size(1_000_000, 7).unwrap();
    fill(&mut filter, 0..100_000);
    let entropy = filter.entropy_bits();
    // Half full, counters are Poisson(0.7), whose entropy is 1.59 bits.
    assert!((entropy / 1e6 - 1.595).abs() < 0.01, "{entropy}");
    let coded = AnyFilter::from_structure(filter).unwrap().to_compressed_bytes().len() as f64 * 8.0;
    assert!(coded > entropy && coded < 1.005 * entropy, "{coded} {entropy}");
}

#[test]
fn damaged_and_contradictory_frames_are_refused() {
    let mut filter = empty(&[("counters", "300"), ("hashes", "3")]);
    fill(&mut filter, 0..50);
    let frames = [filter.to_bytes(), AnyFilter::from_structure(filter.clone()).unwrap().to_compressed_bytes()];
    for frame in frames {
        for i in 0..frame.len() {
            assert!(Counting::from_bytes(&frame[..i]).is_err());
            let mut flipped = frame.clone();
            flipped[i] ^= 0x10;
            assert!(Counting::from_bytes(&flipped).is_err(), "byte {i}");
        }
    }
    let changes: [fn(&mut Counting); 2] = [|f| f.items = f.mechanism.inserted + 1, |f| f.mechanism.lost = 1];
    for change in changes {
        let mut liar = filter.clone();
        change(&mut liar);
        assert!(matches!(Counting::from_bytes(&liar.to_bytes()), Err(Error::Corrupt { .. })));
    }
}

#[test]
fn a_keyed_filter_whose_keys_left_frozen_counters_behind_can_be_read_again() {
    let secret = || Secret::new(&[6; 32]).unwrap();
    let config = config(&[("items", "1000")]).hashed(Hashing::keyed(secret()));
    let mut filter = Counting::from_config(&config).unwrap();
    (0..20).for_each(|_| assert!(filter.insert("rose").is_ok()));
    (0..20).for_each(|_| filter.remove("rose").unwrap());
    assert_eq!((filter.items(), filter.frozen()), (0, 7));
    let options = OpenOptions { secret: Some(secret()), ..Default::default() };
    let again = AnyFilter::from_bytes_with(&filter.to_bytes(), &options).unwrap();
    assert_eq!(again.downcast_ref(), Some(&filter));

    // A forged one that accepts everything is not.
    filter.mechanism.cells.store.counters = Counters::zeroed(filter.counters().len(), 4).unwrap();
    (0..filter.counters().len()).for_each(|place| filter.mechanism.cells.store.counters.set(place, 1));
    let (forged, options) =
        (crate::codec::without_code(filter.to_bytes()), OpenOptions { allow_unauthenticated: true, ..options });
    assert!(matches!(AnyFilter::from_bytes_with(&forged, &options), Err(Error::Overfull { .. })));
}

#[test]
fn batches_answer_as_single_calls_do() {
    for mirror in ["no", "yes"] {
        let keys: Vec<[u8; 8]> = (0..1_000u64).map(u64::to_le_bytes).collect();
        let (mut single, mut batch) =
            (empty(&[("items", "500"), ("mirror", mirror)]), empty(&[("items", "500"), ("mirror", mirror)]));
        let items: Vec<Item> = keys[..500].iter().map(|key| Item::from(key.as_slice())).collect();
        let fresh = items.iter().filter(|item| Insert::insert(&mut single, **item).unwrap()).count();
        assert_eq!(batch.insert_batch(&items).unwrap(), fresh as u64);
        assert_eq!(single, batch);
        let keys: Vec<&[u8]> = keys.iter().map(<[u8; 8]>::as_slice).collect();
        let mut answers = vec![false; keys.len()];
        batch.contains_batch(&keys, &mut answers);
        assert!(keys.iter().zip(&answers).all(|(key, answer)| single.contains(*key) == *answer));
    }
}

#[test]
fn sizes_reach_the_wanted_rate_and_impossible_ones_are_refused() {
    for &layout in LAYOUTS {
        for hashes in [None, Some("3"), Some("12")] {
            let mut settings = vec![("items", "1000"), ("fpr", "0.001"), ("layout", layout)];
            settings.extend(hashes.map(|hashes| ("hashes", hashes)));
            let plan = KIND.plan(&config(&settings)).unwrap();
            let rate = plan.fpr.unwrap();
            assert!(rate < 0.001 * 1.002 && rate > 0.0098 * 0.1, "{layout} {hashes:?}: {rate}");
            assert_eq!(plan.bits, empty(&settings).stats().bits);
        }
    }
    let refused = |settings: &[(&str, &str)]| KIND.plan(&config(settings)).unwrap_err().to_string();
    assert!(refused(&[]).contains("`items`"));
    assert!(refused(&[("counters", "100")]).contains("`items`"));
    let huge = config(&[("counters", "72057594037927936"), ("hashes", "3"), ("width", "32")]);
    assert!(Counting::from_config(&huge).is_err());
    for (name, text) in [("width", "0"), ("width", "33"), ("counters", "0"), ("policy", "wrap"), ("layout", "x")] {
        assert!(Config::new(KIND.facts()).set(name, text).unwrap_err().to_string().contains(name));
    }
}

#[test]
fn counters_at_their_widest_refuse_to_widen() {
    let mut filter = empty(&[("counters", "10"), ("hashes", "1"), ("width", "32"), ("policy", "widen")]);
    (0..10).for_each(|place| filter.mechanism.cells.store.counters.set(place, u64::from(u32::MAX)));
    let before = filter.clone();
    assert!(matches!(filter.insert("rose"), Err(Error::Full { .. })));
    assert!(matches!(filter.merge(&before), Err(Error::Full { .. })));
    assert_eq!(filter, before);
}

#[test]
fn full_counters_are_merged_or_refused() {
    for &policy in POLICIES {
        let mut filter = empty(&[("counters", "10"), ("hashes", "1"), ("width", "32"), ("policy", policy)]);
        (0..10).for_each(|place| filter.mechanism.cells.store.counters.set(place, u64::MAX));
        let before = filter.clone();
        match filter.merge(&before) {
            Ok(()) => assert_eq!(filter.counters(), before.counters()),
            Err(error) => assert!(matches!(error, Error::Full { .. }) && filter == before),
        }
    }
}

#[test]
fn only_a_policy_that_loses_increments_declares_lost_keys() {
    for &policy in POLICIES {
        let filter = AnyFilter::from_structure(empty(&[("items", "10"), ("policy", policy)])).unwrap();
        assert_eq!(filter.errs(ErrorClass::FalseNegative), policy == "saturate");
        assert_eq!(filter.errs(ErrorClass::UnderCount), policy == "saturate");
    }
}
