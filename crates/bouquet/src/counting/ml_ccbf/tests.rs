use super::*;
use crate::counting::counting;
use crate::hash::{Hashing, SplitMix};
use crate::kind::{Config, Setting, Structure};
use crate::theory;
use crate::{Counting, Error};

fn wide(counters: u64, hashes: u32) -> Counting {
    let config = Config::new(counting::KIND.facts()).set("width", "16").unwrap();
    let config = config.with("counters", Setting::Count(counters)).unwrap();
    Counting::from_config(&config.with("hashes", Setting::Count(hashes.into())).unwrap()).unwrap()
}

#[test]
fn it_takes_55_percent_of_four_bit_counters_and_answers_as_wide_ones_do() {
    let (m, n, k) = (1_000_000, 100_000u64, 7);
    let (mut filter, mut exact) = (MlCcbf::with_size(m, k).unwrap(), wide(m, k));
    let mut grown = MlCcbf::from_config(
        &Config::new(KIND.facts())
            .set("counters", "1e6")
            .and_then(|config| config.set("hashes", "7")?.set("items", "1000"))
            .unwrap(),
    )
    .unwrap();
    for key in 0..n {
        let fresh = exact.insert(&key).unwrap();
        assert_eq!(filter.insert(&key).unwrap(), fresh);
        grown.insert(&key).unwrap();
    }
    let four_bits = 4.0 * m as f64;
    for (filter, share) in [(&filter, 0.55), (&grown, 0.6)] {
        let bits = filter.stats().bits as f64;
        assert!(bits <= share * four_bits, "{bits} of {four_bits}");
        assert!(bits >= theory::unary::code_bits(m, n, k) - 1e3);
    }
    let agree = |filter: &MlCcbf, exact: &Counting| {
        assert!((0..m).all(|place| filter.counter(place) == exact.counters().get(place)));
        assert_eq!(*filter.first_layer(), exact.nonzero().unwrap());
        assert!((0..2 * n).all(|key| filter.count(&key) == exact.count(&key)));
        assert!((0..2 * n).all(|key| filter.contains(&key) == exact.contains(&key)));
    };
    agree(&filter, &exact);
    assert_eq!(filter.to_bloom().unwrap(), exact.to_bloom().unwrap());
    assert_eq!(filter.mechanism.cells.store, grown.mechanism.cells.store);
    // Replacing every key twice changes counters everywhere; so does removing half of them at the end.
    for key in 0..2 * n {
        filter.remove(&key).unwrap();
        exact.remove(&key).unwrap();
        filter.insert(&(key + n)).unwrap();
        exact.insert(&(key + n)).unwrap();
    }
    for key in 2 * n..2 * n + n / 2 {
        filter.remove(&key).unwrap();
        exact.remove(&key).unwrap();
    }
    agree(&filter, &exact);
    assert!(filter.stats().bits as f64 <= 0.55 * four_bits);
}

#[test]
fn a_key_inserted_ten_thousand_times_counts_exactly_and_leaves_no_trace() {
    let mut filter = MlCcbf::with_rate(1_000, 0.01).unwrap();
    (0..1_000u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
    let (before, bits) = (filter.clone(), filter.stats().bits);
    for times in 1..=10_000u64 {
        filter.insert("rose").unwrap();
        assert_eq!(filter.count("rose").count - before.count("rose").count, times);
    }
    assert!(!filter.count("rose").at_least && filter.frozen() == 0);
    assert!(filter.stats().bits <= bits + 7 * (64 * 16 + 64 * 8), "columns do not inflate their blocks");
    let again = MlCcbf::from_bytes(&filter.to_bytes()).unwrap();
    assert_eq!(again, filter);
    for _ in 0..10_000 {
        filter.remove("rose").unwrap();
    }
    assert_eq!(filter.mechanism.cells.store, before.mechanism.cells.store);
    assert_eq!(filter.contains("rose"), before.contains("rose"));
}

#[test]
fn queries_never_touch_the_lower_layers() {
    let mut filter = MlCcbf::with_rate(5_000, 0.01).unwrap();
    (0..5_000u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
    let answers: Vec<bool> = (0..20_000u64).map(|key| filter.contains(&key)).collect();
    // Without lower layers, to touch them would be to index out of bounds.
    filter.mechanism.cells.store.drop_lower_layers();
    assert!((0..20_000u64).zip(answers).all(|(key, answer)| filter.contains(&key) == answer));
    assert!(std::panic::catch_unwind(|| filter.count(&7u64)).is_err(), "counting does touch them");
}

#[test]
fn merging_equals_inserting_both_whatever_the_blocks() {
    let filled = |block: &str, keys: std::ops::Range<u64>| {
        let config = Config::new(KIND.facts()).set("items", "1000").unwrap().set("block", block).unwrap();
        let mut filter = MlCcbf::from_config(&config).unwrap();
        keys.for_each(|key| assert!(filter.insert(&(key % 400)).is_ok()));
        filter
    };
    let mut sum = filled("512", 0..10_000);
    sum.merge(&filled("64", 10_000..15_000)).unwrap();
    assert_eq!(sum, filled("512", 0..15_000));
    assert_eq!(filled("64", 0..10).stats().items, 10);
}

#[test]
fn frames_of_damaged_columns_are_refused() {
    let mut filter = MlCcbf::with_rate(300, 0.01).unwrap();
    (0..300u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
    (0..40).for_each(|_| assert!(filter.insert("rose").is_ok()));
    let sound = |filter: &MlCcbf| MlCcbf::from_bytes(&filter.to_bytes()).is_ok();
    assert!(sound(&filter));
    let mut random = SplitMix::new(3);
    for _ in 0..2_000 {
        let mut damaged = filter.clone();
        damaged.mechanism.cells.store.damage(&mut random);
        // A frame with right checksums and wrong content.
        assert!(!sound(&damaged));
    }
}

#[test]
fn hashing_and_settings_are_kept() {
    let config = Config::new(KIND.facts()).set("items", "77").unwrap().set("block", "128").unwrap();
    let filter = MlCcbf::from_config(&config.hashed(Hashing::seeded(9))).unwrap();
    assert_eq!(MlCcbf::from_config(&filter.config()).unwrap().config(), filter.config());
    assert_eq!(filter.config().choice("block"), "128");
    assert!(matches!(filter.clone().merge(&MlCcbf::with_rate(77, 0.01).unwrap()), Err(Error::Incompatible { .. })));
}
