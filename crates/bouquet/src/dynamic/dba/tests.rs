use super::*;
use crate::AnyFilter;
use crate::DbaSettings;
use crate::capability::{Item, Note};
use crate::hash::SplitMix;
use crate::kind::{Argument, Reply};
use crate::store::BitStore;
use crate::theory::tightened::{Tightened, words_per_miss};

/// 160 full filters of one shape: subset s has the keys `1000 s ..`.
fn array(subsets: u64, keys: u64) -> Dba {
    let mut array = Dba::with_size(1280, 7, 133).unwrap();
    for subset in 0..subsets {
        (0..keys).for_each(|key| assert!(array.insert(&(1_000 * subset + key), subset).is_ok()));
    }
    array
}

#[test]
fn answers_are_those_of_as_many_separate_filters() {
    let array = array(160, 133);
    assert_eq!(array.mechanism.groups.len(), 3);
    // Plain filters with the same positions.
    let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    let at = |key: u64| positions(&shape, array.hashing().digest(&key.to_le_bytes()));
    let separate: Vec<BitStore> = (0..160u64)
        .map(|subset| {
            let mut filter = BitStore::zeroed(1280).unwrap();
            (0..133).flat_map(|key| at(1_000 * subset + key).to_vec()).for_each(|position| _ = filter.set(position));
            filter
        })
        .collect();
    for key in (0..160_000u64).step_by(7).chain(1 << 40..(1 << 40) + 20_000) {
        let holds = |filter: &BitStore| at(key).iter().all(|&position| filter.get(position));
        let expected: Vec<u64> =
            separate.iter().zip(0..).filter(|(filter, _)| holds(filter)).map(|(_, subset)| subset).collect();
        assert_eq!(array.classify(&key), expected, "{key}");
        assert_eq!(array.contains(&key), !expected.is_empty());
    }
}

#[test]
fn a_miss_reads_as_many_words_as_theory_says_and_at_most_k_for_each_group() {
    let array = array(160, 133);
    let absent: Vec<u64> = (1 << 40..).filter(|key| !array.contains(key)).take(20_000).collect();
    let words: Vec<f64> = absent.iter().map(|key| array.words_read(key) as f64).collect();
    assert!(words.iter().all(|&words| (3.0..=21.0).contains(&words)));
    // The third group has 32 filters and 32 free lanes. Misses alone are slightly below all absent keys.
    let fill = 1.0 - f64::exp(-7.0 * 133.0 / 1280.0);
    let all: Vec<f64> = (1u64 << 41..(1 << 41) + 20_000).map(|key| array.words_read(&key) as f64).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let variance = all.iter().map(|words| (words - mean).powi(2)).sum::<f64>() / all.len() as f64;
    let expected = 2.0 * words_per_miss(fill, 7, 64) + words_per_miss(fill, 7, 32);
    assert!((mean - expected).abs() < 5.0 * (variance / all.len() as f64).sqrt() + 0.02, "{mean} words, {expected}");
}

#[test]
fn the_rate_keeps_below_the_total_however_many_filters_there_are() {
    let mut array = Dba::with_rate(100, 0.02).unwrap();
    let bound = Tightened::new(0.02, 64).unwrap();
    let mut keys = 0..;
    for (filters, groups) in [(64u64, 1), (160, 3), (400, 7)] {
        while array.mechanism.places.len() < filters as usize || array.items() < 100 * filters {
            let key: u64 = keys.next().unwrap();
            array.insert(&key, key / 100).unwrap();
        }
        assert_eq!(array.mechanism.groups.len(), groups);
        let trials = 100_000u64;
        let found = (1 << 40..(1 << 40) + trials).filter(|key: &u64| array.contains(key)).count() as f64;
        let (rate, theory) = (found / trials as f64, array.expected(100 * filters).false_positive.unwrap());
        let now = array.stats().fpr.unwrap();
        assert!((rate - now).abs() < 5.0 * (now / trials as f64).sqrt(), "{filters}: {rate}, told {now}");
        assert!((now / theory - 1.0).abs() < 0.1 && now < 0.02, "{filters}: {now}, expected {theory}");
        assert!(theory <= 1.0001 * bound.bound(filters), "{theory} of {}", bound.bound(filters));
    }
}

/// Through the handle, as front ends do it.
#[test]
fn removed_keys_answer_no_after_maintenance_except_for_the_rate() {
    let settings = DbaSettings { items: Some(1_000), fpr: Some(0.1), ..DbaSettings::default() };
    let mut array = AnyFilter::from_structure(Dba::with(settings).unwrap()).unwrap();
    let item = |key: &'static [u8; 8], subset| Item::new(key, Note::Group(subset));
    let keys: Vec<&'static [u8; 8]> = (0..2_000u64).map(|key| &*Box::leak(Box::new(key.to_le_bytes()))).collect();
    for (number, key) in (0u64..).zip(&keys) {
        array.insert().unwrap().insert(item(key, number / 1_000)).unwrap();
    }
    for key in &keys[..200] {
        array.remove().unwrap().remove(item(key, 0)).unwrap();
    }
    let removed_found = |array: &AnyFilter| {
        let contains = array.contains().unwrap();
        keys[..200].iter().filter(|key| contains.contains(key.as_slice())).count()
    };
    assert_eq!(removed_found(&array), 200, "removal is lazy");
    assert_eq!(array.stats().items, 1_800);
    let queue = |array: &AnyFilter| match array.ask("queue", Argument::Nothing).unwrap() {
        Reply::List(subsets) => subsets.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(queue(&array), 1);
    for key in &keys[200..999] {
        array.act("live", Argument::Item(item(key, 0))).unwrap();
    }
    let before = array.to_bytes();
    let refused = array.act("maintain", Argument::Nothing).unwrap_err();
    assert!(refused.to_string().contains("all 800"), "{refused}");
    assert_eq!(array.to_bytes(), before);
    array.act("live", Argument::Item(item(keys[999], 0))).unwrap();
    // What is half done survives in a frame.
    let mut array = AnyFilter::from_bytes(&array.to_bytes()).unwrap();
    assert_eq!(removed_found(&array), 200);
    assert!(matches!(array.act("maintain", Argument::Nothing).unwrap(), Reply::List(done) if done.len() == 1));
    assert!(queue(&array) == 0 && removed_found(&array) < 5, "{} removed keys are left", removed_found(&array));
    assert!(keys[200..].iter().all(|key| array.contains().unwrap().contains(key.as_slice())));
    assert_eq!(array.stats().items, 1_800);
}

/// An exact index beside the array, through random operations.
#[test]
fn live_keys_are_never_lost_whatever_is_rebuilt_dropped_or_inserted_meanwhile() {
    let settings = DbaSettings { items: Some(10), group: Some(Width::Eight), ..DbaSettings::default() };
    let mut array = Dba::with(settings).unwrap();
    let mut random = SplitMix::new(3);
    let mut held: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for step in 0..6_000u64 {
        let subset = random.below(12);
        let keys = held.entry(subset).or_default();
        match random.below(20) {
            0..=10 => {
                array.insert(&step, subset).unwrap();
                keys.push(step);
            }
            11..=16 if !keys.is_empty() => {
                let key = keys.swap_remove(random.below(keys.len() as u64) as usize);
                array.remove(&key, subset).unwrap();
            }
            17 => {
                // Some of them, and an insertion in between.
                keys.iter().take(3).for_each(|key| assert!(array.take_live(&key.to_le_bytes(), subset).is_ok()));
                array.insert(&step, subset).unwrap();
                keys.push(step);
            }
            18 if array.queue().contains(&subset) => array.maintain(subset, keys.iter().copied()).unwrap(),
            19 if random.below(10) == 0 => {
                assert!(array.forget(subset).is_ok() || keys.is_empty());
                keys.clear();
            }
            _ => array = Dba::from_bytes(&array.to_bytes()).unwrap(),
        }
        if step % 50 == 0 {
            for (subset, keys) in &held {
                assert!(keys.iter().all(|key| array.classify(key).contains(subset)), "step {step}");
            }
            assert_eq!(array.items(), held.values().map(|keys| keys.len() as u64).sum::<u64>());
        }
    }
    // What was freed is used again.
    assert!(array.mechanism.groups.len() < 40, "{} groups", array.mechanism.groups.len());
}

#[test]
fn hostile_lanes_are_refused() {
    let mut array = Dba::with_rate(5, 0.01).unwrap();
    (0..7u64).for_each(|key| _ = array.insert(&key, 1));
    let forged = |change: fn(&mut Dba)| {
        let mut forged = array.clone();
        change(&mut forged);
        Dba::from_bytes(&forged.to_bytes()).map(drop).unwrap_err().to_string()
    };
    let too_stale = forged(|array| array.mechanism.groups[0].lanes[0] = Lane::Answers { subset: 1, stale: 9 });
    assert!(too_stale.contains("5, 9 removed"), "{too_stale}");
    let dirty = forged(|array| array.mechanism.groups[0].lanes[1] = Lane::Free);
    assert!(dirty.contains("lane 1"), "{dirty}");
    let orphan = forged(|array| array.mechanism.groups[0].lanes[1] = Lane::Rebuilds { subset: 8 });
    assert!(orphan.contains("rebuilt"), "{orphan}");
}
