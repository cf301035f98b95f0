use super::*;
use crate::AnyFilter;
use crate::capability::{Answer, Item, Note, Value};
use crate::kind::{Argument, Config};
use crate::theory::perfect as theory;
use crate::theory::spread::test_sigma_conditional;

/// The set of the first keys, through the handle.
fn built(settings: &[(&str, &str)], keys: u64, seed: u64) -> AnyFilter {
    let config = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
    let config = settings.iter().fold(config, |config, (name, text)| config.set(name, text).unwrap());
    let bytes: Vec<_> = (0..keys).map(u64::to_le_bytes).collect();
    let valued = KIND.note(&config) == NoteType::Integer;
    let note = |key: &[u8; 8]| if valued { Note::Integer(u64::from_le_bytes(*key) % 10) } else { Note::None };
    let items: Vec<_> = bytes.iter().map(|key| Item::new(key, note(key))).collect();
    AnyFilter::build(&config, &Dataset { items: &items, absent: &[] }).unwrap()
}

#[test]
fn a_minimal_perfect_hash_with_ten_bits_takes_less_than_thirteen_and_has_their_rate() {
    let keys = 100_000;
    for (mode, most) in [("minimal", 13.0), ("fuse", 11.9)] {
        let filter = built(&[("mode", mode), ("fingerprint", "10")], keys, 1);
        let bits = filter.stats().bits as f64 / keys as f64;
        assert!(bits < most, "{mode}: {bits} bits per key");
        let contains = filter.contains().unwrap();
        assert!((0..keys).all(|key| contains.contains(&key.to_le_bytes())));
        let (queries, rate) = (1_000_000, 1.0 / 1024.0);
        let found = (keys..keys + queries).filter(|key| contains.contains(&key.to_le_bytes())).count() as f64;
        let sigma = test_sigma_conditional(rate, queries);
        assert!((found / queries as f64 - rate).abs() < 5.0 * sigma, "{mode}: {found}");
    }
}

#[test]
fn slots_are_a_bijection() {
    for keys in [1, 2, 3, 10, 1_000, 3_000, 50_000] {
        let filter = built(&[("mode", "minimal")], keys, 2);
        let mut taken = vec![false; keys as usize];
        for key in (0..keys).map(u64::to_le_bytes) {
            let Reply::Integer(slot) = filter.ask("slot", Argument::Key(&key)).unwrap() else { panic!() };
            assert!(!std::mem::replace(&mut taken[slot as usize], true), "slot {slot} twice among {keys}");
        }
        assert!(taken.iter().all(|taken| *taken));
    }
    assert!(built(&[], 10, 2).ask("slot", Argument::Key(b"rose")).is_err(), "sums of cells have no slots");
}

#[test]
fn sets_of_few_keys_build_in_both_modes() {
    for mode in ["fuse", "minimal"] {
        for keys in 0..100 {
            let filter = built(&[("mode", mode), ("fpr", "1e-6")], keys, 3);
            let contains = filter.contains().unwrap();
            let found = (0..1_000u64).filter(|key| contains.contains(&key.to_le_bytes())).count() as u64;
            assert_eq!((found, filter.stats().items), (keys, keys), "{mode}");
        }
    }
}

#[test]
fn values_are_told_and_keys_that_come_twice_are_one() {
    for mode in ["fuse", "minimal"] {
        let filter = built(&[("mode", mode), ("holds", "values"), ("values", "10"), ("fpr", "0.001")], 5_000, 4);
        let get = filter.get().unwrap();
        let own = |key: u64| Answer::Value(Value::Integer(key % 10));
        assert!((0..5_000).all(|key: u64| get.get(&key.to_le_bytes()) == own(key)), "{mode}");

        let settings = PerfectHashSettings {
            mode: Some(if mode == "fuse" { Mode::Fuse } else { Mode::Minimal }),
            holds: Some(Holds::Values),
            ..Default::default()
        };
        let pairs =
            |pairs: &[(&'static str, u64)]| PerfectHash::from_pairs(&settings, &Hashing::default(), pairs.to_vec());
        assert_eq!(pairs(&[("rose", 5), ("lily", 6), ("rose", 5)]).unwrap().items(), 2);
        assert!(matches!(pairs(&[("rose", 5), ("rose", 6)]), Err(Error::Build { .. })), "one key, two values");
        assert!(matches!(pairs(&[("rose", 256)]), Err(Error::Item { .. })), "values are below 256");
    }
}

#[test]
fn sizes_are_those_of_theory() {
    for keys in [100, 3_000, 200_000] {
        let per_key = |mode| built(&[("mode", mode), ("fingerprint", "8")], keys, 5).stats().bits as f64 / keys as f64;
        assert!((per_key("fuse") / theory::fuse_bits_per_key(keys, 8) - 1.0).abs() < 1e-9);
        assert!((per_key("minimal") / theory::minimal_bits_per_key(keys, 8) - 1.0).abs() < 1e-9);
    }
}
