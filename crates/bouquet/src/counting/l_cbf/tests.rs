use super::*;
use crate::Counting;
use crate::capability::Multiplicity;
use crate::counting::counting;
use crate::hash::SplitMix;
use crate::kind::{Config, Structure};
use crate::{AnyFilter, OpenOptions};

fn empty(settings: &[(&str, &str)]) -> LCbf {
    let config = Config::new(KIND.facts());
    let config = settings.iter().try_fold(config, |config, (name, text)| config.set(name, text)).unwrap();
    LCbf::from_config(&config).unwrap()
}

#[test]
fn flags_and_counts_equal_those_of_binary_counters_through_a_million_operations() {
    let shape = [("counters", "20000"), ("hashes", "5"), ("width", "8")];
    let config = Config::new(counting::KIND.facts());
    let config = shape.iter().try_fold(config, |config, (name, text)| config.set(name, text)).unwrap();
    let (mut filter, mut binary) = (empty(&shape), Counting::from_config(&config).unwrap());
    let mut random = SplitMix::new(1);
    let mut held = Vec::new();
    for _ in 0..1_000_000 {
        if held.is_empty() || (held.len() < 4_000 && random.below(2) == 0) {
            let key = random.below(3_000);
            assert_eq!(filter.insert(&key).unwrap(), binary.insert(&key).unwrap());
            held.push(key);
        } else {
            let key = held.swap_remove(random.below(held.len() as u64) as usize);
            filter.remove(&key).unwrap();
            binary.remove(&key).unwrap();
        }
    }
    assert!(binary.counters().iter().all(|counter| counter < 254), "none was frozen");
    assert_eq!(*filter.flags(), binary.nonzero().unwrap());
    assert!((0..20_000).all(|place| filter.counter(place) == binary.counters().get(place)));
    assert!((0..6_000u64).all(|key| filter.count(&key) == binary.count(&key)));
    assert_eq!(filter.to_bloom().unwrap(), binary.to_bloom().unwrap());
}

#[test]
fn a_query_reads_no_register() {
    let mut filter = LCbf::with_rate(5_000, 0.01).unwrap();
    (0..5_000u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
    let answers: Vec<bool> = (0..20_000u64).map(|key| filter.contains(&key)).collect();
    let bloom = filter.to_bloom().unwrap();
    // Without registers, whatever were read of them would be zero.
    filter.mechanism.cells.store.registers.states = Counters::zeroed(0, 4).unwrap();
    assert_eq!(filter.count(&7u64).count, 0);
    assert!((0..20_000u64).zip(&answers).all(|(key, answer)| filter.contains(&key) == *answer));
    assert!((0..20_000u64).zip(&answers).all(|(key, answer)| bloom.contains(&key) == *answer));
}

#[test]
fn a_change_touches_the_flags_only_when_a_count_leaves_or_reaches_zero() {
    let path = std::env::temp_dir().join(format!("bouquet-l-cbf-{}.bq", std::process::id()));
    let mut filter = LCbf::with_rate(1_000, 0.01).unwrap();
    (0..2).for_each(|_| assert!(filter.insert("rose").is_ok()));
    AnyFilter::from_structure(filter).unwrap().save(&path).unwrap();
    let open = || AnyFilter::open_mapped(&path, &OpenOptions::default()).unwrap();
    // A mapped store is copied to memory by the first write to it, so its place tells whether it was touched.
    let flags_untouched = |filter: &AnyFilter| filter.downcast_ref::<LCbf>().unwrap().flags().is_mapped();
    let rose = || b"rose".as_slice().into();
    let mut filter = open();
    for _ in 0..3 {
        filter.insert().unwrap().insert(rose()).unwrap();
        filter.remove().unwrap().remove(rose()).unwrap();
    }
    filter.remove().unwrap().remove(rose()).unwrap();
    assert!(flags_untouched(&filter), "2, 3, 2, 3, 2, 3, 2, 1");
    filter.remove().unwrap().remove(rose()).unwrap();
    assert!(!flags_untouched(&filter), "1, 0");
    let mut filter = open();
    assert!(flags_untouched(&filter));
    filter.insert().unwrap().insert(b"lily".as_slice().into()).unwrap();
    assert!(!flags_untouched(&filter), "0, 1");
    std::fs::remove_file(path).ok();
}

#[test]
fn a_full_register_obeys_its_policy_and_never_wraps() {
    let filled = |policy: &str, times: usize| {
        let mut filter = empty(&[("counters", "1000"), ("hashes", "3"), ("policy", policy)]);
        (0..times).for_each(|_| assert!(filter.insert("rose").is_ok()));
        filter
    };
    let width = |filter: &LCbf| filter.config().choice("width");
    let mut sticky = filled("sticky", 100);
    assert_eq!((sticky.count("rose"), sticky.frozen()), (Multiplicity { count: 14, at_least: true }, 3));
    (0..100).for_each(|_| sticky.remove("rose").unwrap());
    assert!(sticky.contains("rose"));

    let mut saturate = filled("saturate", 15);
    assert!(saturate.count("rose").at_least && saturate.errors().contains(&ErrorClass::FalseNegative));
    (0..14).for_each(|_| saturate.remove("rose").unwrap());
    assert!(!saturate.contains("rose"), "one of fifteen was lost");

    let mut reject = filled("reject", 14);
    let before = reject.clone();
    assert!(matches!(reject.insert("rose"), Err(Error::Full { .. })));
    assert!(matches!(reject.merge(&filled("reject", 1)), Err(Error::Full { .. })));
    assert_eq!(reject, before);

    let mut widen = filled("widen", 1_000);
    assert_eq!((widen.count("rose"), width(&widen)), (Multiplicity { count: 1_000, at_least: false }, "10"));
    widen.merge(&filled("widen", 100)).unwrap();
    assert_eq!((widen.count("rose").count, width(&widen)), (1_100, "12"));
    let mut narrow = filled("widen", 100);
    narrow.merge(&filled("widen", 1_000)).unwrap();
    assert_eq!(narrow.count("rose").count, 1_100);
    assert_eq!(LCbf::from_bytes(&widen.to_bytes()).unwrap(), widen);
    (0..1_100).for_each(|_| widen.remove("rose").unwrap());
    assert!(!widen.contains("rose"));

    let mut sum = filled("sticky", 9);
    sum.merge(&filled("sticky", 9)).unwrap();
    assert_eq!(sum.count("rose"), Multiplicity { count: 14, at_least: true });
    assert!(matches!(
        sum.merge(&empty(&[("counters", "1000"), ("hashes", "3"), ("width", "5")])),
        Err(Error::Incompatible { .. })
    ));
    let mut widest = empty(&[("counters", "9"), ("hashes", "1"), ("width", "16"), ("policy", "widen")]);
    (0..65_534).for_each(|_| assert!(widest.insert("rose").is_ok()));
    assert!(matches!(widest.insert("rose"), Err(Error::Full { .. })));
}

#[test]
fn frames_whose_flags_and_registers_disagree_are_refused() {
    let mut filter = empty(&[("counters", "300"), ("hashes", "3")]);
    (0..50u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
    assert_eq!(LCbf::from_bytes(&filter.to_bytes()).unwrap(), filter);
    let unused = (0..300).find(|&place| filter.counter(place) == 0).unwrap();
    let changes: [fn(&mut FlaggedRegisters, u64); 3] = [
        |store, unused| assert!(store.flags.set(unused)),
        |store, unused| store.registers.states.set(unused, 1),
        |store, unused| {
            store.flags.set(unused);
            store.registers.states.set(unused, 15);
        },
    ];
    for change in changes {
        let mut liar = filter.clone();
        change(&mut liar.mechanism.cells.store, unused);
        assert!(matches!(LCbf::from_bytes(&liar.to_bytes()), Err(Error::Corrupt { .. })));
    }
}
