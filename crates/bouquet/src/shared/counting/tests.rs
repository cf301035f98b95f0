use loom::sync::Arc;

use super::*;
use crate::counting::counting::KIND;
use crate::hash::{Secret, SplitMix};
use crate::shared::model::{values, zeros};

/// What a thread of a model does to the counters at some places.
#[derive(Clone, Copy)]
enum Step {
    Insert(&'static [u64]),
    Remove(&'static [u64]),
}

impl Step {
    fn run(self, fields: Fields, words: &[impl AtomicWord]) -> bool {
        match self {
            Step::Insert(places) => add_to_all(fields, words, places.iter().copied()),
            Step::Remove(places) => take_from_all(fields, words, places),
        }
    }
}

/// After `before`, two threads take a step each, in every possible order; `check` gets the counters' words and what the
/// threads were told.
fn model(
    width: u32,
    before: &'static [Step],
    steps: [Step; 2],
    check: impl Fn(&[u64], [bool; 2]) + Send + Sync + 'static,
) {
    let fields = Fields::new(width).unwrap();
    loom::model(move || {
        let words = zeros(2);
        before.iter().for_each(|step| assert!(step.run(fields, &words) || matches!(step, Step::Insert(_))));
        let shared = Arc::clone(&words);
        let thread = loom::thread::spawn(move || steps[1].run(fields, &shared));
        let told = steps[0].run(fields, &words);
        let told = [told, thread.join().unwrap()];
        check(&values(&words), told);
    });
}

#[test]
fn in_every_interleaving_two_insertions_both_count_and_one_is_told() {
    // Counters of 32 bits: places 0 and 1 share a word, 2 is in the other.
    model(32, &[], [Step::Insert(&[0, 2]), Step::Insert(&[0, 2])], |words, told| {
        assert_eq!(words, [2, 2]);
        assert!(told[0] || told[1]);
    });
}

#[test]
fn in_every_interleaving_insertion_and_removal_of_two_keys_leave_the_inserted_one() {
    let steps = [Step::Insert(&[0, 2]), Step::Remove(&[1, 2])];
    model(32, &[Step::Insert(&[1, 2])], steps, |words, [_, removed]| {
        assert!(removed);
        assert_eq!(words, [1, 1], "the removed key took nothing from the other");
    });
}

#[test]
fn in_every_interleaving_exactly_one_removal_takes_the_last_occurrence() {
    // Place 0 is also another key's, which must keep its count.
    let before = &[Step::Insert(&[0, 2]), Step::Insert(&[0, 3])];
    model(32, before, [Step::Remove(&[0, 2]), Step::Remove(&[0, 2])], |words, told| {
        assert!(told[0] != told[1]);
        assert_eq!(words, [1, 1 << 32]);
    });
}

#[test]
fn in_every_interleaving_a_full_counter_is_frozen_and_never_wraps() {
    // Counters of 2 bits; place 0 has 2 and freezes at 3, place 32 counts on.
    let before = &[Step::Insert(&[0]), Step::Insert(&[0])];
    model(2, before, [Step::Insert(&[0, 32]), Step::Insert(&[0, 32])], |words, _| assert_eq!(words, [3, 2]));
    // Racing with a removal it freezes or not, and is never below the truth, 2.
    let before = &[Step::Insert(&[0, 32]), Step::Insert(&[0])];
    model(2, before, [Step::Insert(&[0]), Step::Remove(&[0, 32])], |words, [_, removed]| {
        assert!(removed && (words == [3, 0] || words == [2, 0]), "{words:?}");
    });
}

#[test]
fn the_network_sorts() {
    // By the zero-one principle a network that sorts all zeros and ones sorts everything.
    for ones in 0_u64..1 << MOST_SORTED {
        let mut places: [u64; MOST_SORTED] = std::array::from_fn(|i| ones >> i & 1);
        sort(&mut places);
        assert!(places.is_sorted() && places.iter().sum::<u64>() == u64::from(ones.count_ones()));
    }
}

fn made(settings: &[(&str, &str)]) -> (Counting, SharedCounting) {
    let config =
        settings.iter().fold(Config::new(KIND.facts()), |config, (name, value)| config.set(name, value).unwrap());
    (Counting::from_config(&config).unwrap(), SharedCounting::from_config(&config).unwrap())
}

#[test]
fn one_thread_gets_the_counters_and_answers_of_the_plain_filter() {
    for width in ["1", "2", "4", "8", "16", "32"] {
        // With rates of 0.01 % keys have more places than the network sorts.
        for (layout, fpr) in [("flat", "0.01"), ("flat", "0.0001"), ("sliced", "0.01")] {
            let (mut plain, shared) = made(&[("items", "500"), ("fpr", fpr), ("width", width), ("layout", layout)]);
            let mut random = SplitMix::new(9);
            for _ in 0..4_000 {
                let key = random.below(600);
                if random.below(3) > 0 {
                    assert_eq!(shared.insert(&key), plain.insert(&key).unwrap());
                } else {
                    assert_eq!(shared.remove(&key).is_ok(), plain.remove(&key).is_ok());
                }
                let other = random.below(1_000);
                assert_eq!(shared.contains(&other), plain.contains(&other));
                assert_eq!(shared.count(&other), plain.count(&other));
            }
            let keys: Vec<u64> = (0..1_000).collect();
            let mut answers = vec![false; keys.len()];
            shared.contains_batch(&keys, &mut answers);
            assert!(keys.iter().zip(answers).all(|(key, answer)| plain.contains(key) == answer));
            assert_eq!(shared.items(), plain.items());
            assert_eq!(shared.snapshot().unwrap(), plain, "width {width}, {layout}");
            assert_eq!(shared.into_filter().unwrap(), plain);
        }
    }
}

#[test]
fn threads_that_insert_and_remove_leave_the_filter_of_what_remains() {
    let (mut plain, shared) = made(&[("items", "3000"), ("width", "8")]);
    (0..1_000u64).for_each(|key| assert!(shared.insert(&key) || shared.contains(&key)));
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let shared = &shared;
            scope.spawn(move || {
                for round in 0..20u64 {
                    // Keys of one's own, which all share counters with those of others.
                    let mine: Vec<u64> = (0..500).map(|i| 10_000 + thread * 500 + i).collect();
                    shared.insert_batch(&mine);
                    assert!((0..1_000u64).all(|key| shared.contains(&key)), "nobody removes these");
                    assert!(mine.iter().all(|key| shared.count(key).count >= 1));
                    if round < 19 {
                        assert!(mine.iter().all(|key| shared.remove(key).is_ok()));
                    }
                }
            });
        }
    });
    let keys: Vec<u64> = (0..1_000).chain(10_000..12_000).collect();
    keys.iter().for_each(|key| assert!(plain.insert(key).is_ok()));
    assert_eq!(shared.items(), 3_000);
    assert_eq!(shared.snapshot().unwrap().counters(), plain.counters());
}

#[test]
fn threads_that_race_for_the_last_occurrence_get_it_exactly_once() {
    // Keys share counters, about one each, but none shares all of its seven: a removed key never seems present.
    let (mut plain, shared) = made(&[("counters", "100000"), ("hashes", "7")]);
    let doomed: Vec<u64> = (0..1_000).collect();
    let staying: Vec<u64> = (1_000..2_000).collect();
    shared.insert_batch(&doomed);
    shared.insert_batch(&staying);
    let start = std::sync::Barrier::new(3);
    let won: Vec<Vec<bool>> = std::thread::scope(|scope| {
        let threads = [(); 3].map(|()| {
            scope.spawn(|| {
                start.wait();
                doomed.iter().map(|key| shared.remove(key).is_ok()).collect()
            })
        });
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!((0..doomed.len()).all(|i| won.iter().filter(|won| won[i]).count() == 1));
    assert_eq!(shared.items(), 1_000);
    staying.iter().for_each(|key| assert!(plain.insert(key).is_ok()));
    assert_eq!(shared.snapshot().unwrap().counters(), plain.counters());
}

#[test]
fn keyed_filters_are_shared_with_their_secret() {
    let config = Config::new(KIND.facts()).set("items", "100").unwrap();
    let config = config.hashed(Hashing::keyed(Secret::new(&[7; 32]).unwrap()));
    let (mut plain, shared) = (Counting::from_config(&config).unwrap(), SharedCounting::from_config(&config).unwrap());
    plain.insert("rose").unwrap();
    shared.insert("rose");
    assert_eq!(shared.into_filter().unwrap(), plain);
}

#[test]
fn counters_that_cannot_be_shared_are_refused() {
    for (name, value) in
        [("width", "3"), ("width", "24"), ("policy", "reject"), ("policy", "saturate"), ("mirror", "true")]
    {
        let config = Config::new(KIND.facts()).set("items", "100").unwrap().set(name, value).unwrap();
        let refused = SharedCounting::from_config(&config);
        assert!(matches!(refused, Err(Error::Parameter { name: found, .. }) if found == name), "{name} {value}");
    }
}
