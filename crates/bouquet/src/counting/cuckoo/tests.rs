use std::collections::HashMap;

use super::*;
use crate::key::Key;
use crate::kind::Config;

fn empty(settings: &[(&str, &str)]) -> Cuckoo {
    let config =
        settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap());
    Cuckoo::from_config(&config).unwrap()
}

fn insert<K: Key + ?Sized>(filter: &mut Cuckoo, key: &K) {
    filter.insert(key).unwrap();
}

/// Keys that are never inserted begin here.
const ABSENT: u64 = 1 << 40;

fn measured_rate(filter: &Cuckoo, queries: u64) -> f64 {
    (ABSENT..ABSENT + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64
}

/// Inserts 0, 1, 2, ... until the filter refuses one, and tells which.
fn fill_up(filter: &mut Cuckoo) -> u64 {
    (0..).find(|key| filter.insert(key).is_err()).unwrap()
}

#[test]
fn the_first_refusal_comes_beyond_the_published_load() {
    for (slots, load) in [(4, 0.95), (2, 0.84), (8, 0.98)] {
        let mut filter = empty(&[
            ("buckets", &((1 << 17) / slots).to_string()),
            ("slots", &slots.to_string()),
            ("fingerprint", "12"),
        ]);
        let first = fill_up(&mut filter);
        assert!(first as f64 >= load * filter.slots() as f64, "{slots} slots: {first} of {}", filter.slots());
        assert!((0..first).all(|key| filter.contains(&key)));
    }
}

#[test]
fn the_rate_at_95_percent_is_the_published_one() {
    let mut filter = Cuckoo::with_size(1 << 15, 12).unwrap();
    let (keys, queries) = (filter.slots() * 95 / 100, 1_000_000);
    (0..keys).for_each(|key| insert(&mut filter, &key));
    let expected = filter.expected(keys).false_positive.unwrap();
    assert!((expected - 0.00185).abs() < 5e-6);
    let (measured, sigma) = (measured_rate(&filter, queries), (expected / queries as f64).sqrt());
    assert!((measured - expected).abs() < 5.0 * sigma, "{measured}, expected {expected}");
    let present = filter.stats().fpr.unwrap();
    assert!((present - expected).abs() < 0.01 * expected, "{present}, expected {expected}");
}

#[test]
fn planned_keys_fit_whatever_the_number() {
    for items in [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 20_000] {
        for fpr in ["0.5", "0.1", "0.01", "0.0001"] {
            for slots in ["2", "4", "8"] {
                for seed in 0..(20_000 / items).clamp(1, 40) {
                    let config = Config::new(KIND.facts()).set("items", &items.to_string()).unwrap();
                    let config = config.set("fpr", fpr).unwrap().set("slots", slots).unwrap();
                    let mut filter = Cuckoo::from_config(&config.hashed(Hashing::seeded(seed))).unwrap();
                    let refused = (0..items).find(|key| filter.insert(key).is_err());
                    assert_eq!(refused, None, "of {items} keys at {fpr}, {slots} slots, seed {seed}");
                }
            }
        }
    }
}

#[test]
fn ten_times_replaced_keys_leave_no_false_negative() {
    for semisort in ["no", "yes"] {
        let mut filter = empty(&[("buckets", "2048"), ("fingerprint", "12"), ("semisort", semisort)]);
        let n = filter.slots() * 93 / 100;
        let mut held: Vec<u64> = (0..n).collect();
        held.iter().for_each(|key| insert(&mut filter, key));
        let mut random = SplitMix::new(3);
        for (step, fresh) in (n..11 * n).enumerate() {
            let at = random.below(n) as usize;
            filter.remove(&held[at]).unwrap();
            held[at] = fresh;
            filter.insert(&fresh).unwrap();
            assert!(filter.contains(&fresh));
            if step % 10_000 == 0 {
                assert!(held.iter().all(|key| filter.contains(key)));
            }
        }
        assert!(held.iter().all(|key| filter.contains(key)));
        held.iter().for_each(|key| filter.remove(key).unwrap());
        assert_eq!((filter.items(), filter.mechanism.entries().count()), (0, 0));
        assert_eq!(filter.mechanism.table.bits().count_ones(), 0, "an empty table is all zeros");
    }
}

#[test]
fn a_refused_key_changes_nothing_and_all_earlier_ones_stay() {
    for settings in [
        [("buckets", "300"), ("fingerprint", "9"), ("semisort", "yes")],
        [("buckets", "257"), ("fingerprint", "7"), ("slots", "8")],
        [("buckets", "1"), ("fingerprint", "12"), ("counter", "3")],
    ] {
        let mut filter = empty(&settings);
        let first = fill_up(&mut filter);
        let before = filter.to_bytes();
        let mut refused = 0;
        for key in first..first + 200 {
            match filter.clone().insert(&key) {
                Ok(_) => continue,
                Err(error) => assert!(matches!(error, Error::Full { .. })),
            }
            filter.insert(&key).unwrap_err();
            refused += 1;
            assert_eq!(filter.to_bytes(), before);
        }
        assert!(refused > 100, "{settings:?}: {refused}");
        assert!(filter.mechanism.victim.is_some(), "the last fingerprint waits");
        assert!((0..first).all(|key| filter.contains(&key)));
        // What is taken out makes room for the one that waits, which is not lost.
        (0..first).for_each(|key| filter.remove(&key).unwrap());
        assert_eq!((filter.mechanism.victim, filter.mechanism.entries().count()), (None, 0));
    }
}

#[test]
fn semi_sorting_saves_a_bit_per_slot_and_changes_no_answer() {
    for counter in ["0", "3"] {
        let settings = |semisort| [("items", "3000"), ("fpr", "0.02"), ("counter", counter), ("semisort", semisort)];
        let (mut plain, mut sorted) = (empty(&settings("no")), empty(&settings("yes")));
        assert_eq!(plain.mechanism.table.bits().len() - sorted.mechanism.table.bits().len(), plain.slots());
        let mut random = SplitMix::new(4);
        for _ in 0..20_000 {
            let key = random.below(2_500);
            if random.below(3) == 0 {
                assert_eq!(plain.remove(&key).is_ok(), sorted.remove(&key).is_ok());
            } else if plain.items() < 2_200 && plain.count(&key).count < 4 {
                // More copies would fill their buckets, and a table with full buckets refuses by chance.
                assert_eq!(plain.insert(&key).ok(), sorted.insert(&key).ok());
            }
        }
        assert!(plain.items() > 1_000, "{}", plain.items());
        for key in (0..2_500).chain(ABSENT..ABSENT + 100_000) {
            assert_eq!(plain.count(&key), sorted.count(&key));
            assert_eq!(plain.contains(&key), sorted.contains(&key));
        }
        assert!((plain.mechanism.present_rate() - sorted.mechanism.present_rate()).abs() < 1e-15);
    }
}

/// Fingerprints are what the filter can tell apart, so the model is a multiset of them.
#[test]
fn random_operations_agree_with_a_multiset_of_fingerprints() {
    for (fingerprint, counter, slots) in [("3", "0", "2"), ("4", "2", "4"), ("8", "5", "8"), ("12", "0", "4")] {
        let mut filter =
            empty(&[("buckets", "37"), ("fingerprint", fingerprint), ("counter", counter), ("slots", slots)]);
        let mut model: HashMap<(u64, u64), u64> = HashMap::new();
        let mut random = SplitMix::new(5);
        for _ in 0..20_000 {
            let key = random.below(200);
            let (print, first) = filter.mechanism.place(key.digest(&filter.hashing));
            // Of the two buckets the lesser stands for both.
            let own = model.entry((print, first.min(filter.mechanism.other(print, first)))).or_default();
            assert_eq!(filter.count(&key).count, *own);
            assert_eq!(filter.contains(&key), *own > 0);
            if random.below(2) == 0 {
                let fresh = filter.insert(&key);
                assert!(fresh.as_ref().is_ok_and(|&fresh| fresh == (*own == 0)) || fresh.is_err());
                *own += u64::from(fresh.is_ok());
            } else {
                let removed = filter.remove(&key);
                assert_eq!(removed.is_ok(), *own > 0);
                *own -= u64::from(removed.is_ok());
            }
        }
        assert_eq!(filter.items(), model.values().sum::<u64>());
        assert_eq!(filter.fingerprints().map(|(_, _, copies)| copies).sum::<u64>(), filter.items());
    }
}

#[test]
fn of_one_key_as_many_copies_fit_as_its_buckets_have_slots_and_one() {
    let mut filter = Cuckoo::with_size(1_000, 12).unwrap();
    (0..9).for_each(|_| insert(&mut filter, "rose"));
    assert!(matches!(filter.insert("rose"), Err(Error::Full { .. })));
    assert_eq!(filter.count("rose").count, 9);
    let mut counting = empty(&[("buckets", "1000"), ("fingerprint", "12"), ("counter", "4")]);
    (0..9 * 16).for_each(|_| insert(&mut counting, "rose"));
    assert!(matches!(counting.insert("rose"), Err(Error::Full { .. })));
    assert_eq!((counting.count("rose").count, counting.used()), (144, 9));
    (0..144).for_each(|_| counting.remove("rose").unwrap());
    assert!(!counting.contains("rose") && counting.used() == 0);
}

#[test]
fn the_other_bucket_leads_back_for_every_number_of_buckets() {
    for buckets in [1, 2, 3, 37, 64, 1_000] {
        let filter = Cuckoo::with_size(buckets, 8).unwrap();
        for (print, bucket) in (1..256).flat_map(|print| (0..buckets).map(move |bucket| (print, bucket))) {
            let other = filter.mechanism.other(print, bucket);
            assert!(other < buckets);
            assert_eq!(filter.mechanism.other(print, other), bucket);
        }
    }
}

#[test]
fn forged_frames_are_refused() {
    let mut filter = empty(&[("buckets", "3"), ("fingerprint", "6"), ("counter", "2")]);
    fill_up(&mut filter);
    let good = filter.clone();
    assert_eq!(Cuckoo::from_bytes(&good.to_bytes()).unwrap(), good);
    let forge = |change: &dyn Fn(&mut Cuckoo)| {
        let mut forged = good.clone();
        change(&mut forged);
        assert!(matches!(Cuckoo::from_bytes(&forged.to_bytes()), Err(Error::Corrupt { .. })));
    };
    forge(&|filter| filter.items += 1);
    forge(&|filter| filter.mechanism.victim = Some((1, 3)));
    forge(&|filter| filter.mechanism.victim = Some((1 << 8, 0)));
    forge(&|filter| filter.mechanism.victim = Some((1 << 6, 0)));
    forge(&|filter| {
        // A counter without fingerprint.
        filter.mechanism.table.swap(0, 0, 1 << 6);
    });
}
