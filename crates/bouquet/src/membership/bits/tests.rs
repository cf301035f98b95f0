use crate::capability::{Insert, Item};
use crate::hash::{Hashing, Secret};
use crate::kind::{Config, Structure};
use crate::shell::MOST_ITEMS;
use crate::{AnyFilter, Bloom, Error, OpenOptions};

/// A filter that claims an honest number of items and says yes to everything.
fn all_ones(hashing: Hashing) -> Bloom {
    let config = Config::new(&Bloom::FACTS).set("bits", "6400").unwrap().set("hashes", "7").unwrap();
    let mut filter = Bloom::from_config(&config.hashed(hashing)).unwrap();
    (0..600u64).for_each(|key| assert!(filter.insert(&key) || filter.items() > 0));
    filter.mechanism.bits.words_mut().fill(u64::MAX);
    filter
}

#[test]
fn a_forged_filter_that_accepts_everything_is_refused_under_a_limit() {
    let forged = all_ones(Hashing::default()).to_bytes();
    let open = |max_fill| AnyFilter::from_bytes_with(&forged, &OpenOptions { max_fill, ..Default::default() });
    let accepted = open(None).unwrap();
    assert!((0..1_000u64).all(|key| accepted.contains().unwrap().contains(&key.to_be_bytes())));
    assert!(open(Some(1.0)).is_ok());
    for limit in [0.5, 0.75, 0.9999] {
        assert!(matches!(open(Some(limit)), Err(Error::Overfull { fill: 1.0, limit: found }) if found == limit));
    }
}

#[test]
fn a_limit_lets_honest_filters_in() {
    let mut honest = Bloom::with_rate(1_000, 0.01).unwrap();
    (0..1_000u64).for_each(|key| {
        honest.insert(&key);
    });
    let options = OpenOptions { max_fill: Some(0.6), ..Default::default() };
    assert!(AnyFilter::from_bytes_with(&honest.to_bytes(), &options).is_ok());
}

#[test]
fn a_forged_keyed_filter_is_refused_without_being_told() {
    let secret = Secret::new(&[9; 32]).unwrap();
    let forged = crate::codec::without_code(all_ones(Hashing::keyed(secret.clone())).to_bytes());
    let options = OpenOptions { secret: Some(secret), allow_unauthenticated: true, ..Default::default() };
    assert!(matches!(AnyFilter::from_bytes_with(&forged, &options), Err(Error::Overfull { .. })));
}

#[test]
fn a_forged_number_of_items_never_overflows() {
    let mut filter = Bloom::with_size(100, 2).unwrap();
    filter.items = u64::MAX;
    let mut filter = Bloom::from_bytes(&filter.to_bytes()).unwrap();
    let other = filter.clone();
    filter.insert("rose");
    assert_eq!(filter.items(), MOST_ITEMS);
    assert_eq!(Bloom::from_bytes(&filter.to_bytes()).unwrap().to_bytes(), filter.to_bytes());
    filter.insert_batch(&[Item::from(b"thistle".as_slice())]);
    filter.merge(&other).unwrap();
    assert_eq!(filter.items(), MOST_ITEMS);
}

#[test]
fn deltas_are_refused_by_another_base_shape_or_hashing_and_when_damaged() {
    let filter = |seed: u64, keys: u64| {
        let config = Config::new(&Bloom::FACTS).set("bits", "5000").unwrap().set("hashes", "3").unwrap();
        let mut filter = Bloom::from_config(&config.hashed(Hashing::seeded(seed))).unwrap();
        let keys: Vec<_> = (0..keys).map(u64::to_le_bytes).collect();
        let items: Vec<_> = keys.iter().map(|key| Item::from(key.as_slice())).collect();
        Insert::insert_batch(&mut filter, &items).unwrap();
        filter
    };
    let (old, new) = (filter(0, 100), filter(0, 130));
    let delta = old.delta(&new).unwrap();
    let mut target = old.clone();
    target.apply_delta(&delta).unwrap();
    assert_eq!(target, new);

    for mut other in [filter(0, 101), filter(1, 100), filter(0, 0), new.clone(), Bloom::with_size(5000, 4).unwrap()] {
        let before = other.clone();
        assert!(matches!(other.apply_delta(&delta), Err(Error::OtherBase { .. })));
        assert_eq!(other, before);
    }
    assert!(matches!(old.delta(&filter(1, 100)), Err(Error::Incompatible { .. })));
    for end in 0..delta.len() {
        assert!(old.clone().apply_delta(&delta[..end]).is_err());
    }
    for at in 0..delta.len() {
        let mut damaged = delta.clone();
        damaged[at] ^= 16;
        let mut target = old.clone();
        assert!(target.apply_delta(&damaged).is_err());
        assert_eq!(target, old);
    }
}
