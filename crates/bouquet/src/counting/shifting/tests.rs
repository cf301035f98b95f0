use std::collections::HashMap;

use super::*;
use crate::AnyFilter;
use crate::capability::BuildFrom;
use crate::error::Error;
use crate::hash::Hashing;
use crate::hash::SplitMix;
use crate::kind::{Config, ErrorClass, Structure, Verb};
use crate::theory::{shifting, spread};

fn config(settings: &[(&str, &str)], seed: u64) -> Config {
    let empty = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
    settings.iter().fold(empty, |config, (name, text)| config.set(name, text).unwrap())
}

fn filter(settings: &[(&str, &str)], seed: u64) -> Shifting {
    Shifting::from_config(&config(settings, seed)).unwrap()
}

/// The filter of these items, built at once.
fn built(settings: &[(&str, &str)], seed: u64, items: &[Item<'_>]) -> Shifting {
    Shifting::build_from(&config(settings, seed), &Dataset { items, absent: &[] }).unwrap()
}

const STRANGERS: u64 = 1 << 40;

#[test]
fn the_membership_rate_is_the_predicted_one_with_half_the_reads() {
    let (n, m, k, queries) = (100_000u64, 1_000_000, 8, 1_000_000);
    let mut set = Shifting::with_size(Form::Membership, m, k).unwrap();
    (0..n).for_each(|key| {
        set.insert(&key).unwrap();
    });
    assert_eq!(set.mechanism.reads(), k / 2);
    assert!((0..n).all(|key| set.contains(&key)));
    let found = (STRANGERS..STRANGERS + queries).filter(|key| set.contains(key)).count() as f64 / queries as f64;
    let sigma = spread::test_sigma(m, n, k, queries);
    // The published number, and the one that allows for the shared offsets as they are.
    for expected in [0.008_68, shifting::membership_rate(m, n, k, 57)] {
        assert!((found - expected).abs() < 5.0 * sigma, "{found} {expected}");
    }
    let own = spread::test_sigma_conditional(set.mechanism.rate_now(), queries);
    assert!((found - set.mechanism.rate_now()).abs() < 5.0 * own, "{found} {}", set.mechanism.rate_now());
}

/// The sets of a key in the association test: 5,000 in the first only, 5,000 in the second only, 2,500 in both.
fn sets_of(key: u64) -> &'static [u64] {
    match key {
        0..5_000 => &[0],
        5_000..10_000 => &[1],
        _ => &[0, 1],
    }
}

const UNION: u64 = 12_500;

/// The true class is a candidate for every key; gives the share of clear answers.
fn clear_share(sets: &Shifting) -> f64 {
    let mut clear = 0;
    for key in 0..UNION {
        let classes = sets.classes(&key).unwrap();
        let truth = match sets_of(key) {
            [0] => classes.first,
            [1] => classes.second,
            _ => classes.both,
        };
        assert!(truth, "{key}: {classes:?}");
        clear += u64::from(classes.is_clear());
    }
    clear as f64 / UNION as f64
}

#[test]
fn the_true_class_is_always_a_candidate_and_nearly_always_the_only_one() {
    let m = (UNION as f64 * 8.0 / std::f64::consts::LN_2).ceil() as u64;
    let bits = m.to_string();
    let settings = [("form", "association"), ("bits", bits.as_str()), ("hashes", "8")];
    let keys: Vec<[u8; 8]> = (0..UNION).map(u64::to_le_bytes).collect();
    let items =
        (0..).zip(&keys).flat_map(|(key, bytes)| sets_of(key).iter().map(|&set| Item::new(bytes, Note::Group(set))));
    let mut items: Vec<Item<'_>> = items.collect();
    let expected = shifting::clear_answer(m, UNION, 8);
    let sigma = spread::test_sigma_conditional(expected, UNION);
    let check = |sets: &Shifting| {
        let clear = clear_share(sets);
        assert!((clear - 0.992).abs() < 0.003 && (clear - expected).abs() < 5.0 * sigma, "{clear} {expected}");
    };

    // Bits, from the whole data set: k of them for each key, in whatever order the sets come.
    let sets = built(&settings, 3, &items);
    check(&sets);
    items.reverse();
    assert_eq!(built(&settings, 3, &items), sets);

    // Counters move a key that joins its second set, so that the same bits remain.
    let mut moved = filter(&[&settings[..], &[("cells", "counters")]].concat(), 3);
    for item in &items {
        moved.insert_with(item.key, item.note).unwrap();
    }
    check(&moved);
}

#[test]
fn multiplicities_are_never_too_low_and_absent_keys_count_zero() {
    let (n, m) = (10_000u64, 200_000);
    let mut random = SplitMix::new(5);
    let times: Vec<u64> = (0..n).map(|_| 1 + random.below(57)).collect();
    let keys: Vec<[u8; 8]> = (0..n).map(u64::to_le_bytes).collect();
    let settings = [("form", "multiplicity"), ("bits", "200000"), ("hashes", "8")];
    // A stream in which each key comes as often as it is told to come in the other.
    let stream = keys.iter().zip(&times).flat_map(|(key, &times)| (0..times).map(move |_| Item::from(key.as_slice())));
    let amounts = keys.iter().zip(&times).map(|(key, &times)| Item::new(key, Note::Amount(times)));
    let counts = built(&settings, 1, &stream.collect::<Vec<_>>());
    assert_eq!(built(&settings, 1, &amounts.collect::<Vec<_>>()), counts);
    assert_eq!(counts.items(), times.iter().sum::<u64>());
    let mut exact = 0;
    for (key, &times) in (0u64..).zip(&times) {
        let told = counts.count(&key).count;
        assert!(told >= times, "{key}: {told} for {times}");
        exact += u64::from(told == times);
    }
    let expected = (1..=57).map(|j| shifting::exact_count(m, n, 8, 57, j)).sum::<f64>() / 57.0;
    let sigma = spread::test_sigma_conditional(expected, n);
    let exact = exact as f64 / n as f64;
    assert!((exact - 0.996).abs() < 0.003 && (exact - expected).abs() < 5.0 * sigma, "{exact} {expected}");
    let queries = 100_000;
    let zero = (STRANGERS..STRANGERS + queries).filter(|key| counts.count(key).count == 0).count() as f64;
    assert!((zero / queries as f64 - 0.992).abs() < 0.003, "{zero}");
    let own = 1.0 - counts.mechanism.rate_now();
    let sigma = spread::test_sigma_conditional(own, queries);
    assert!((zero / queries as f64 - own).abs() < 5.0 * sigma, "{zero} {own}");
}

#[test]
fn removing_all_leaves_an_empty_vector() {
    let empty = |filter: &Shifting| {
        assert_eq!(filter.bits().count_ones(), 0);
        assert_eq!(filter.mechanism.counters.as_ref().unwrap().count_nonzero(), 0);
        assert!(filter.mechanism.table.as_ref().is_none_or(HashMap::is_empty));
        assert_eq!(filter.items(), 0);
    };
    let counters = ("cells", "counters");
    let mut set = filter(&[("items", "2000"), counters], 1);
    (0..2_000u64).for_each(|key| assert!(set.insert(&key).is_ok()));
    (0..2_000u64).for_each(|key| set.remove(&key).unwrap());
    empty(&set);

    let mut sets = filter(&[("items", "12500"), ("form", "association"), counters], 1);
    (0..UNION)
        .for_each(|key| sets_of(key).iter().for_each(|&set| assert!(sets.insert_into(&key, set).unwrap() || key > 0)));
    (0..UNION).for_each(|key| sets_of(key).iter().for_each(|&set| sets.remove_from(&key, set).unwrap()));
    empty(&sets);

    let mut counts = filter(&[("items", "2000"), ("form", "multiplicity"), counters], 1);
    let times = |key: u64| 1 + key % 20;
    for round in 0..20 {
        (0..2_000).filter(|&key| round < times(key)).for_each(|key| assert!(counts.insert(&key).is_ok()));
    }
    for key in 0..2_000 {
        let told = counts.count(&key);
        assert!(told.count >= times(key).min(14) && told.at_least == (told.count == 14), "{key}: {told:?}");
    }
    for round in 0..20 {
        (0..2_000).filter(|&key| round < times(key)).for_each(|key| counts.remove(&key).unwrap());
    }
    empty(&counts);
}

#[test]
fn an_exact_table_keeps_counts_true_through_random_changes() {
    let mut counts = filter(&[("items", "300"), ("form", "multiplicity"), ("cells", "counters"), ("fpr", "0.05")], 9);
    let mut model = vec![0u64; 300];
    let mut random = SplitMix::new(9);
    for step in 0..20_000 {
        let key = random.below(300);
        if random.below(2) == 0 {
            counts.insert(&key).unwrap();
            model[key as usize] += 1;
        } else if model[key as usize] > 0 {
            counts.remove(&key).unwrap();
            model[key as usize] -= 1;
        } else {
            assert!(matches!(counts.remove(&key), Err(Error::NotPresent)));
        }
        if step % 1_000 == 0 {
            counts = Shifting::from_bytes(&counts.to_bytes()).unwrap();
        }
        let told = counts.count(&key);
        assert!(told.count >= model[key as usize].min(14), "{told:?}");
    }
    // Only the offsets of the present counts have bits: what was left is gone.
    let present = model.iter().filter(|&&count| count > 0).count() as u64;
    let held: u64 = counts.mechanism.counters.as_ref().unwrap().iter().sum();
    let most = present * u64::from(counts.mechanism.shape.hashes);
    assert!(held <= most && held > most * 9 / 10);
}

#[test]
fn without_a_table_the_filters_own_answer_can_lose_keys() {
    let settings =
        [("items", "400"), ("form", "multiplicity"), ("cells", "counters"), ("no-table", "yes"), ("fpr", "0.3")];
    let mut counts = filter(&settings, 2);
    assert!(counts.errors().contains(&ErrorClass::FalseNegative));
    for key in 0..400u64 {
        counts.insert(&key).unwrap();
        counts.insert(&key).unwrap();
    }
    let mut lost = 0;
    for key in 0..400u64 {
        lost += u64::from(counts.count(&key).count < 2);
    }
    assert!(lost > 0, "an answer that is too high moves bits of others");
    // At a rate that makes such answers rare it counts and removes as the table does.
    let mut counts = filter(&[&settings[..4], &[("fpr", "1e-9")]].concat(), 2);
    for key in 0..400u64 {
        (0..=key % 5).for_each(|_| assert!(counts.insert(&key).is_ok()));
    }
    assert!((0..400u64).all(|key| counts.count(&key).count == 1 + key % 5));
    (0..400u64).for_each(|key| (0..=key % 5).for_each(|_| counts.remove(&key).unwrap()));
    assert_eq!(counts.bits().count_ones(), 0);
}

#[test]
fn a_window_is_the_bits_from_its_base_on() {
    let mut set = Shifting::with_size(Form::Membership, 300, 8).unwrap();
    (0..20u64).for_each(|key| assert!(set.insert(&key).is_ok()));
    for base in 0..300 {
        for offset in 0..MAX_SPAN {
            assert_eq!(
                set.mechanism.window(base) >> offset & 1 == 1,
                set.bits().get(base + u64::from(offset)),
                "{base} {offset}"
            );
        }
    }
    for offset in 1..MAX_SPAN {
        let pairs = (0..300).filter(|&base| set.bits().get(base) && set.bits().get(base + u64::from(offset))).count();
        assert_eq!(set.mechanism.pairs(offset), pairs as f64 / 300.0);
    }
}

#[test]
fn verbs_of_another_form_are_refused() {
    let mut set = Shifting::with_rate(10, 0.1).unwrap();
    let mut counts = filter(&[("items", "10"), ("form", "multiplicity"), ("cells", "counters")], 1);
    let mut sets = filter(&[("items", "10"), ("form", "association"), ("cells", "counters")], 1);
    let unsupported = |result: Result<()>| assert!(matches!(result, Err(Error::Unsupported { .. })));
    unsupported(set.insert_into("rose", 0).map(drop));
    unsupported(set.insert_times("rose", 2).map(drop));
    unsupported(set.remove("rose"));
    unsupported(counts.classes("rose").map(drop));
    unsupported(counts.remove_from("rose", 0));
    assert!(matches!(sets.insert_into("rose", 7), Err(Error::Item { .. })));
}

/// A filter as front ends hold it, after a frame.
fn reopened(filter: &AnyFilter) -> AnyFilter {
    AnyFilter::from_bytes(&filter.to_bytes()).unwrap()
}

fn dynamic(settings: &[(&str, &str)]) -> AnyFilter {
    AnyFilter::from_structure(filter(settings, 7)).unwrap()
}

#[test]
fn every_form_is_reached_through_the_handle_and_a_frame_loses_no_verb() {
    let counters = ("cells", "counters");
    let bare = |key: &'static [u8]| Item::from(key);
    let mut set = dynamic(&[("items", "100"), counters]);
    set.insert().unwrap().insert(bare(b"rose")).unwrap();
    set = reopened(&set);
    set.remove().unwrap().remove(bare(b"rose")).unwrap();
    assert!(!set.contains().unwrap().contains(b"rose"));

    let mut sets = dynamic(&[("items", "100"), ("form", "association"), ("fpr", "1e-6"), counters]);
    let of = |set| Item::new(b"rose", Note::Group(set));
    assert_eq!(sets.insert().unwrap().insert_batch(&[of(0), of(1), of(0)]).unwrap(), 2);
    sets = reopened(&sets);
    assert_eq!(sets.classify().unwrap().classify(b"rose"), [0, 1]);
    sets.remove().unwrap().remove(of(0)).unwrap();
    sets = reopened(&sets);
    assert_eq!(sets.classify().unwrap().classify(b"rose"), [1]);
    assert!(matches!(sets.remove().unwrap().remove(of(0)), Err(Error::NotPresent)));
    for wrong in [bare(b"rose"), Item::new(b"rose", Note::Integer(1))] {
        assert!(matches!(sets.insert().unwrap().insert(wrong), Err(Error::Item { .. })));
        assert!(matches!(sets.remove().unwrap().remove(wrong), Err(Error::Item { .. })));
    }

    let mut counts = dynamic(&[("items", "100"), ("form", "multiplicity"), ("fpr", "1e-6"), counters]);
    counts.insert().unwrap().insert_batch(&[bare(b"rose"); 3]).unwrap();
    counts = reopened(&counts);
    counts.remove().unwrap().remove(bare(b"rose")).unwrap();
    assert_eq!(counts.count().unwrap().count(b"rose").count, 2);
    assert!(counts.insert().unwrap().insert(of(1)).is_err(), "there are no sets");
}

#[test]
fn a_verb_without_its_setting_is_refused_with_the_setting() {
    let refused = |result: Result<()>, with: &str, verb_needs: &str| {
        let Err(Error::Unsupported { kind, able, .. }) = result else { panic!("{result:?}") };
        assert_eq!(kind, format!("shifting with {with}"));
        assert!(able.starts_with(&format!("shifting with {verb_needs}, ")), "{able}");
    };
    for form in ["membership", "association", "multiplicity"] {
        let mut bits = dynamic(&[("items", "100"), ("form", form)]);
        refused(bits.remove().map(drop), "cells=bits", "cells=counters");
        assert!(!bits.can(Verb::Remove));
        assert_eq!(bits.can(Verb::Insert), form == "membership");
        if form != "membership" {
            let with = format!("form={form} and cells=bits");
            refused(bits.insert().map(drop), &with, "form=membership or cells=counters");
        }
        assert_eq!(bits.can(Verb::Classify), form == "association");
        if form != "association" {
            refused(bits.classify().map(drop), &format!("form={form}"), "form=association");
        }
    }
}

#[test]
fn bits_that_tell_more_than_membership_refuse_keys_that_stream_in() {
    let sets = [("items", "10"), ("form", "association")];
    let counts = [("items", "10"), ("form", "multiplicity")];
    for (settings, note) in [(sets, Note::Group(0)), (counts, Note::None)] {
        let mut filter = filter(&settings, 1);
        let empty = filter.clone();
        assert!(matches!(filter.insert_with("rose", note), Err(Error::Build { .. })));
        assert_eq!(filter, empty);
    }
}

/// What the sets and counts of a whole data set are told as by the handle, after a frame.
#[test]
fn bits_are_built_whole_and_tell_through_the_handle_what_the_paper_says() {
    let keys: Vec<[u8; 8]> = (0..UNION).map(u64::to_le_bytes).collect();
    let strangers: Vec<[u8; 8]> = (STRANGERS..STRANGERS + 100_000).map(u64::to_le_bytes).collect();
    let build = |settings: &[(&str, &str)], items: &[Item<'_>]| {
        reopened(&AnyFilter::build(&config(settings, 11), &Dataset { items, absent: &[] }).unwrap())
    };
    let of_key =
        |(key, bytes): (u64, &'_ [u8; 8])| sets_of(key).iter().map(move |&set| (*bytes, set)).collect::<Vec<_>>();
    let pairs: Vec<_> = (0..).zip(&keys).flat_map(of_key).collect();
    let items: Vec<_> = pairs.iter().map(|(key, set)| Item::new(key, Note::Group(*set))).collect();
    // m = n k / ln 2.
    let sets = build(&[("form", "association"), ("bits", "144270"), ("hashes", "8")], &items);
    let told = |key: u64| sets.classify().unwrap().classify(&keys[key as usize]);
    assert!((0..UNION).all(|key| sets_of(key).iter().all(|set| told(key).contains(set))));
    let exact = (0..10_000).filter(|&key| told(key) == sets_of(key)).count() as f64 / 10_000.0;
    assert!((exact - 0.992).abs() < 0.003, "{exact}");
    let spurious = strangers.iter().filter(|key| sets.contains().unwrap().contains(key.as_slice())).count() as f64;
    assert!((spurious / 1e5 - 0.0117).abs() < 5.0 * spread::test_sigma_conditional(0.0117, 100_000), "{spurious}");

    let times = |key: usize| 1 + key * 31 % 57;
    let stream = keys[..10_000].iter().enumerate();
    let stream: Vec<_> = stream.flat_map(|(key, bytes)| vec![Item::from(bytes.as_slice()); times(key)]).collect();
    // m/n = 20.
    let counts = build(&[("form", "multiplicity"), ("bits", "200000"), ("hashes", "8")], &stream);
    let told = |key: &[u8]| counts.count().unwrap().count(key).count as usize;
    assert!((0..10_000).all(|key| told(&keys[key]) >= times(key)));
    let exact = (0..10_000).filter(|&key| told(&keys[key]) == times(key)).count() as f64 / 10_000.0;
    assert!((exact - 0.996).abs() < 0.003, "{exact}");
    let zero = strangers.iter().filter(|key| told(key.as_slice()) == 0).count() as f64 / 1e5;
    assert!((zero - 0.992).abs() < 0.003, "{zero}");
}
