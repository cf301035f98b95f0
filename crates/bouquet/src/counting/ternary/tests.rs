use super::*;
use crate::Counting;
use crate::hash::{Hashing, SplitMix};
use crate::kind::Config;

const M: u64 = 1_000_000;
const N: u64 = 100_000;
const K: u32 = 7;

fn empty(levels: &str, packed: &str, seed: u64) -> Ternary {
    let settings = [("counters", "1e6"), ("hashes", "7"), ("levels", levels), ("packed", packed)];
    let config = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
    let config = settings.iter().try_fold(config, |config, (name, text)| config.set(name, text)).unwrap();
    Ternary::from_config(&config).unwrap()
}

fn filled(levels: &str, packed: &str, seed: u64) -> Ternary {
    let mut filter = empty(levels, packed, seed);
    (0..N).for_each(|key| assert!(filter.insert(&key).is_ok()));
    filter
}

/// The share of keys with this answer.
fn share(filter: &Ternary, keys: std::ops::Range<u64>, answer: Membership) -> f64 {
    let all = (keys.end - keys.start) as f64;
    keys.filter(|key| filter.query(key) == answer).count() as f64 / all
}

/// Five standard deviations: of this many queries, and of the rate, which moves with the fill of the filter.
fn five_sigma(rate: f64, queries: u64, fill: f64, fill_variance: f64) -> f64 {
    5.0 * (rate * (1.0 - rate) / queries as f64 + (rate * f64::from(K) / fill).powi(2) * fill_variance).sqrt()
}

#[test]
fn three_levels_answer_and_remove_as_often_as_theory_says() {
    let filter = filled("3", "no", 1);
    assert_eq!(filter.stats().bits, 20 * N);
    let zeros = (-0.7f64).exp();
    let sigma = |queries| five_sigma(8.19e-3, queries, 1.0 - zeros, zeros * (1.0 - 1.7 * zeros) / M as f64);
    let yes = share(&filter, N..11 * N, Membership::Yes);
    assert!((yes - theory::ternary::false_yes(M, N, K, 2)).abs() < sigma(10 * N), "{yes}");
    assert!((yes - 8.19e-3).abs() < sigma(10 * N), "{yes}");
    // Four-bit counters in the same memory.
    let mut counting = Counting::with_size(M / 2, 3).unwrap();
    (0..N).for_each(|key| assert!(counting.insert(&key).is_ok()));
    let found = (N..3 * N).filter(|key| counting.contains(key)).count() as f64 / (2 * N) as f64;
    assert!((found - 9.18e-2).abs() < 5.0 * theory::spread::test_sigma(M / 2, N, 3, 2 * N), "{found}");

    let undeletable = share(&filter, 0..N, Membership::Indeterminable);
    assert!((undeletable - theory::ternary::undeletable(M, N, K, 2)).abs() < sigma(N), "{undeletable}");
    assert_eq!(share(&filter, 0..N, Membership::No), 0.0);
    let mut copy = filter.clone();
    for key in 0..1_000u64 {
        let before = copy.query(&key);
        match copy.remove(&key) {
            Ok(()) => assert_eq!(before, Membership::Yes),
            Err(Error::Ambiguous { .. }) => assert_eq!(before, Membership::Indeterminable),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_fourth_level_makes_nearly_every_key_deletable_at_the_same_rate() {
    let mut undeletable = 0.0;
    for seed in 0..3 {
        let (three, four) = (filled("3", "no", seed), filled("4", "no", seed));
        assert_eq!(three.stats().bits, four.stats().bits);
        // Cells at X are those of two keys or more, and of three: the law that both undeletable shares come from.
        let poisson = |j: i32| (-0.7f64).exp() * 0.7f64.powi(j) / f64::from((1..=j).product::<i32>());
        for (filter, levels) in [(&three, 2), (&four, 3)] {
            let share = 1.0 - (0..levels).map(poisson).sum::<f64>();
            let (frozen, expected) = (filter.frozen() as f64, share * M as f64);
            assert!((frozen - expected).abs() < 5.0 * (expected * (1.0 - share)).sqrt(), "{frozen} {expected}");
        }
        let [a, b] = [&three, &four].map(|filter| share(filter, N..6 * N, Membership::Yes));
        assert!(b >= a && b <= 1.01 * a, "{a} {b}");
        undeletable += share(&four, 0..N, Membership::Indeterminable) * N as f64;
    }
    assert_eq!(format!("{:.1e}", theory::ternary::undeletable(M, N, K, 3)), "2.2e-6");
    // 300,000 keys at 2.2e-6: 0.66 expected, and more than 6 once in 10,000 times.
    assert!(undeletable <= 6.0, "{undeletable}");
}

#[test]
fn replacing_keys_loses_none() {
    for (levels, packed) in [("3", "no"), ("3", "yes"), ("4", "no")] {
        let mut filter = filled(levels, packed, 2);
        let mut random = SplitMix::new(9);
        let mut members: Vec<u64> = (0..N).collect();
        let mut stuck = 0u64;
        for fresh in N..2 * N {
            let at = random.below(N) as usize;
            match filter.remove(&members[at]) {
                Ok(()) => {
                    filter.insert(&fresh).unwrap();
                    members[at] = fresh;
                }
                Err(Error::Ambiguous { .. }) => stuck += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(members.iter().all(|key| filter.query(key) != Membership::No));
        assert_eq!(filter.items(), N);
        assert!(filter.frozen() > 0 && (stuck > 0 || levels == "4"));
    }
}

#[test]
fn packed_cells_take_1_6_bits_and_answer_alike() {
    let (plain, packed) = (filled("3", "no", 3), filled("3", "yes", 3));
    assert_eq!((plain.stats().bits, packed.stats().bits), (2 * M, M * 8 / 5));
    assert!((0..3 * N).all(|key| plain.query(&key) == packed.query(&key)));
    assert!((0..M).all(|place| plain.counter(place) == packed.counter(place)));
    // They can even be added.
    let mut sum = empty("3", "yes", 3);
    sum.merge(&plain).unwrap();
    assert!((0..M).all(|place| plain.counter(place) == sum.counter(place)));
}

#[test]
fn sums_that_are_many_are_x() {
    let filled = |times: usize, levels: &str| {
        let mut filter = empty(levels, "no", 1);
        (0..times).for_each(|_| assert!(filter.insert("rose").is_ok()));
        filter
    };
    for (levels, a, b, answer) in [
        ("4", 1, 1, Membership::Yes),
        ("4", 1, 2, Membership::Indeterminable),
        ("3", 1, 1, Membership::Indeterminable),
        ("3", 0, 1, Membership::Yes),
        ("4", 9, 9, Membership::Indeterminable),
    ] {
        let mut sum = filled(a, levels);
        sum.merge(&filled(b, levels)).unwrap();
        assert_eq!(sum.query("rose"), answer, "{a} and {b} of {levels} levels");
        assert!(sum.contains("rose"));
    }
    assert!(matches!(filled(0, "3").merge(&filled(0, "4")), Err(Error::Incompatible { .. })));
}

#[test]
fn an_undeletable_key_changes_nothing() {
    let mut filter = empty("4", "no", 1);
    (0..5).for_each(|_| assert!(filter.insert("rose").is_ok()));
    let before = filter.clone();
    assert!(matches!(filter.remove("rose"), Err(Error::Ambiguous { .. })));
    assert!(matches!(filter.remove("lily"), Err(Error::NotPresent)));
    assert_eq!(filter, before);
    assert_eq!(filter.frozen(), u64::from(K));
}

#[test]
fn packing_is_for_three_levels() {
    let config = Config::new(KIND.facts()).set("items", "10").unwrap().set("packed", "yes").unwrap();
    assert!(Ternary::from_config(&config).unwrap_err().to_string().contains("`packed`"));
    let config = config.set("levels", "3").unwrap();
    let filter = Ternary::from_config(&config).unwrap();
    assert_eq!(Ternary::from_bytes(&filter.to_bytes()).unwrap(), filter);
}
