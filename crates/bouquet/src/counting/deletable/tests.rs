use super::*;
use crate::theory::spread;
use crate::theory::standard;

const N: u64 = 20_000;

/// A filter of m' bits, k positions and r regions with the keys 0..N.
fn filled(bits: u64, hashes: u32, regions: u64, seed: u64) -> Deletable {
    let settings = Deletable::with_size(bits + regions, hashes, regions).unwrap().settings();
    let mut filter = Deletable::hashed(settings, Hashing::seeded(seed)).unwrap();
    (0..N).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn deletable_share(filter: &Deletable) -> f64 {
    (0..N).filter(|key| filter.is_deletable(key)).count() as f64 / N as f64
}

#[test]
fn as_many_keys_are_deletable_as_the_conditioned_formula_says() {
    for (bits, hashes, regions, expected) in
        [(16 * N, 5, 16 * N / 10, 0.971), (16 * N, 5, 16 * N / 20, 0.873), (10 * N, 7, 10 * N / 4, 0.917)]
    {
        let mut sum = 0.0;
        for seed in 0..3 {
            let filter = filled(bits, hashes, regions, seed);
            let share = deletable_share(&filter);
            assert!((share - expected).abs() < 0.015, "{bits} {regions}: {share}");
            assert!((filter.expected_deletable(N) - expected).abs() < 0.001);
            sum += share / 3.0;
        }
        // The formula takes a key's regions for independent, which is right to 1 %.
        assert!((sum / expected - 1.0).abs() < 0.01, "{bits} {regions}: {sum} instead of {expected}");
    }
}

#[test]
fn removed_keys_answer_no_and_no_other_key_is_lost() {
    let mut filter = filled(10 * N, 7, 10 * N / 4, 1);
    let (mut removed, mut refused) = (Vec::new(), 0);
    for key in (0..N).step_by(2) {
        let promised = filter.is_deletable(&key);
        let before = filter.bits().count_ones();
        match filter.remove(&key) {
            Ok(()) => removed.push(key),
            Err(Error::Ambiguous { .. }) => {
                refused += 1;
                assert_eq!(filter.bits().count_ones(), before);
            }
            Err(error) => panic!("{key}: {error}"),
        }
        assert_eq!(promised, removed.last() == Some(&key));
    }
    assert!(removed.len() > 9_000 && refused > 500, "{} {refused}", removed.len());
    assert!(removed.iter().all(|key| !filter.contains(key)));
    assert!((1..N).step_by(2).all(|key| filter.contains(&key)));
    assert_eq!(filter.items(), N - removed.len() as u64);
}

#[test]
fn the_rate_is_that_of_a_plain_filter_and_falls_with_removals() {
    let (bits, queries) = (10 * N, 500_000);
    let mut filter = filled(bits, 7, bits / 4, 7);
    let strangers = |filter: &Deletable| {
        (1 << 40..(1 << 40) + queries).filter(|key: &u64| filter.contains(key)).count() as f64 / queries as f64
    };
    let before = strangers(&filter);
    let expected = standard::rate(bits, N, 7);
    assert!((before - expected).abs() < 5.0 * spread::test_sigma(bits, N, 7, queries), "{before} {expected}");
    for key in 0..N / 2 {
        let _ = filter.remove(&key);
    }
    let after = strangers(&filter);
    assert!(after < before / 5.0, "{before} before, {after} after");
}

#[test]
fn a_key_does_not_collide_with_itself() {
    // Eight positions among twelve bits coincide in nearly every key.
    let mut coincident = 0;
    for key in 0..100u64 {
        let mut filter = Deletable::with_size(24, 8, 12).unwrap();
        filter.insert(&key);
        coincident += u64::from(filter.bits().count_ones() < 8);
        assert_eq!(filter.flags().count_ones(), 0);
        filter.remove(&key).unwrap();
        assert_eq!(filter.bits().count_ones(), 0);
    }
    assert!(coincident > 90);
}

#[test]
fn a_share_that_is_asked_for_is_reached_with_the_fewest_flags() {
    for share in [0.3, 0.7, 0.95] {
        let filter = Deletable::with_share(N, 0.01, share).unwrap();
        assert!(filter.expected_deletable(N) >= share);
        let fewer = filter.flags().len() * 9 / 10;
        let region = filter.bits().len().div_ceil(fewer) as f64;
        assert!(theory::deletable::share(filter.bits().len(), N, 7, region) < share, "{share}");
    }
    // By size, the flags come out of the bits.
    let (items, bits, deletable) = (Some(N), Some(300_000), Some(0.9));
    let filter = Deletable::with(DeletableSettings { items, bits, deletable, ..Default::default() }).unwrap();
    assert_eq!(filter.bits().len() + filter.flags().len(), 300_000);
    assert!(filter.expected_deletable(N) >= 0.9);
}

#[test]
fn merging_flags_the_regions_where_both_have_a_key() {
    let keys = |range: std::ops::Range<u64>| {
        let mut filter = Deletable::with_size(44_000, 5, 4_000).unwrap();
        range.for_each(|key| {
            filter.insert(&key);
        });
        filter
    };
    let mut merged = keys(0..600);
    merged.merge(&keys(500..1_000)).unwrap();
    let whole = keys(0..1_000);
    assert_eq!(merged.bits(), whole.bits());
    assert!((500..600).all(|key: u64| !merged.is_deletable(&key)), "these are in twice");
    let mut removed = Vec::new();
    for key in (0..500u64).step_by(2) {
        if merged.remove(&key).is_ok() {
            removed.push(key);
        }
    }
    assert!(removed.len() > 200);
    assert!((0..1_000).filter(|key| !removed.contains(key)).all(|key| merged.contains(&key)));
    assert!(merged.merge(&Deletable::with_size(44_000, 5, 4_001).unwrap()).is_err());
}
