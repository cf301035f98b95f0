use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};

use super::*;
use crate::hash::SplitMix;
use crate::shared::model::{values, zeros};

#[test]
fn in_every_interleaving_the_last_place_of_a_sub_filter_is_given_once() {
    loom::model(|| {
        let items = zeros(1);
        assert!(reserve(&items[0], 2));
        let shared = loom::sync::Arc::clone(&items);
        let thread = loom::thread::spawn(move || reserve(&shared[0], 2));
        let here = reserve(&items[0], 2);
        assert!(here != thread.join().unwrap());
        assert_eq!(values(&items), [2]);
    });
}

#[test]
fn in_every_interleaving_a_key_that_was_in_stays_in_beside_an_insertion_and_a_removal() {
    // Counters of 32 bits. The key that stays has places 0 and 2, the others share one of them each.
    let fields = Fields::new(32).unwrap();
    loom::model(move || {
        let words = zeros(2);
        add_to_all(fields, &words, [0, 2].into_iter());
        add_to_all(fields, &words, [0, 3].into_iter());
        let [inserts, removes] = [(); 2].map(|()| loom::sync::Arc::clone(&words));
        let inserts = loom::thread::spawn(move || add_to_all(fields, &inserts, [1, 2].into_iter()));
        let removes = loom::thread::spawn(move || take_from_all(fields, &removes, &[0, 3]));
        assert!(all_used(fields, &words, &[0, 2].into_iter().collect()));
        inserts.join().unwrap();
        assert!(removes.join().unwrap());
        assert_eq!(values(&words), [1 << 32 | 1, 2]);
    });
}

#[test]
fn one_thread_gets_the_filter_of_one_thread() {
    let mut plain = ParBf::with_size(320, 4, 20, 3).unwrap();
    let shared = SharedParBf::try_from(plain.clone()).unwrap();
    // Without removals the order of sub-filters is the same, and so is the filter bit for bit.
    for key in 0..2_000u64 {
        assert_eq!(shared.insert(&key).unwrap(), plain.insert(&key).unwrap());
    }
    assert_eq!(shared.snapshot().unwrap(), plain);
    assert_eq!(shared.items(), 2_000);
    for key in 0..4_000u64 {
        assert_eq!(shared.contains(&key), plain.contains(&key));
    }
    assert_eq!(shared.into_filter().unwrap(), plain);
}

/// Threads insert while others ask: what was in is found, what is said to be in is in the end, and no counter has lost a step.
#[test]
fn answers_under_concurrent_insertions_are_exact() {
    let settings = ParBfSettings { items: Some(250), fpr: Some(0.1), ..ParBfSettings::default() };
    let shared = SharedParBf::with(settings).unwrap();
    (0..2_000u64).for_each(|key| _ = shared.insert(&key).unwrap());
    let absent: Vec<u64> = (1 << 40..(1 << 40) + 4_000).collect();
    let done = AtomicBool::new(false);
    let early: Vec<Vec<bool>> = std::thread::scope(|scope| {
        let readers = [(); 2].map(|()| {
            scope.spawn(|| {
                let mut seen = vec![false; absent.len()];
                loop {
                    let last = done.load(Acquire);
                    assert!((0..2_000u64).all(|key| shared.contains(&key)), "a present key is not found");
                    let mut answers = vec![false; absent.len()];
                    shared.search(&absent, &mut answers);
                    // What was seen once is seen ever after: counters only rise.
                    assert!(seen.iter().zip(&answers).all(|(before, now)| now >= before));
                    seen = answers;
                    if last {
                        return seen;
                    }
                }
            })
        });
        let writers = [0u64, 1, 2].map(|thread| {
            let shared = &shared;
            scope.spawn(move || {
                for key in 0..4_000u64 {
                    let key = 1_000_000 * (thread + 1) + key;
                    shared.insert(&key).unwrap();
                    assert!(shared.contains(&key), "an inserted key is not found");
                }
            })
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Release);
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert_eq!(shared.items(), 14_000);
    let answers: Vec<bool> = absent.iter().map(|key| shared.contains(key)).collect();
    assert!(early.iter().all(|early| *early == answers), "two threads end with the sequential answers");
    let plain = shared.into_filter().unwrap();
    assert_eq!(plain.counts().concat(), [250; 56], "every sub-filter is full, and none too full");
    let used: u64 =
        plain.mechanism.into_subs().into_iter().flatten().flatten().map(|(row, _)| row.iter().sum::<u64>()).sum();
    // A key adds one to each of its distinct positions; the plain filter of the same keys has added as much, but for which sub-filter.
    let mut one = ParBf::with(ParBfSettings { items: Some(250), fpr: Some(0.1), ..ParBfSettings::default() }).unwrap();
    let keys = (0..2_000u64).chain((1..4).flat_map(|thread| (0..4_000).map(move |key| 1_000_000 * thread + key)));
    keys.for_each(|key| _ = one.insert(&key).unwrap());
    let expected: u64 =
        one.mechanism.into_subs().into_iter().flatten().flatten().map(|(row, _)| row.iter().sum::<u64>()).sum();
    // Sub-filters of the second generation have a position more, so which keys came late changes the sum a little.
    assert!((used as f64 / expected as f64 - 1.0).abs() < 0.001, "{used} steps, {expected} expected");
}

#[test]
fn threads_that_insert_and_remove_their_own_keys_leave_the_others() {
    let shared = SharedParBf::with_rate(100, 0.001).unwrap();
    (0..1_000u64).for_each(|key| _ = shared.insert(&key).unwrap());
    let stuck: u64 = std::thread::scope(|scope| {
        let threads = [1u64, 2, 3].map(|thread| {
            let shared = &shared;
            scope.spawn(move || {
                let (mut random, mut stuck) = (SplitMix::new(thread), 0);
                for round in 0..30u64 {
                    let mine = |i: u64| 1_000_000 * thread + 1_000 * round + i;
                    (0..200).for_each(|i| _ = shared.insert(&mine(i)).unwrap());
                    assert!((0..200).all(|i| shared.contains(&mine(i))));
                    assert!((0..50).all(|_| shared.contains(&random.below(1_000))), "nobody removes these");
                    for i in 0..200 {
                        match shared.remove(&mine(i)) {
                            Ok(()) => {}
                            Err(Error::Ambiguous { .. }) => stuck += 1,
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
                stuck
            })
        });
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!((0..1_000u64).all(|key| shared.contains(&key)));
    assert_eq!(shared.items(), 1_000 + stuck);
    assert!(stuck < 400, "{stuck}");
    let mut shared = shared;
    shared.gc().unwrap();
    assert!((0..1_000u64).all(|key| shared.contains(&key)));
}
