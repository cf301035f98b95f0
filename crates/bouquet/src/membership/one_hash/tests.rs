use super::*;
use crate::hash::{Hashing, SplitMix};
use crate::key::Key;
use crate::kind::Config;

const RUN: [u64; 7] = [1409, 1423, 1427, 1429, 1433, 1439, 1447];

#[test]
fn sizes_are_the_published_runs_of_primes() {
    let primes = |bits| OneHash::with_size(bits, 7).unwrap().layout().primes().collect::<Vec<_>>();
    assert_eq!(primes(10_000), RUN);
    assert_eq!(primes(1_000_000), [142_811, 142_837, 142_841, 142_867, 142_871, 142_873, 142_897]);
}

/// A key that counts how often it is hashed.
struct Counted(u64, std::cell::Cell<u32>);

impl Key for Counted {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        self.1.set(self.1.get() + 1);
        f(&self.0.to_le_bytes())
    }
}

#[test]
fn a_key_is_hashed_once_and_one_word_of_it_is_used() {
    let mut filter = OneHash::with_size(10_000, 7).unwrap();
    let keys: Vec<_> = (0..100).map(|number| Counted(number, 0.into())).collect();
    let mut hashed = 0;
    let mut once_more_each = |what: &str| {
        hashed += 1;
        assert!(keys.iter().all(|key| key.1.get() == hashed), "{what}");
    };
    assert!(keys.iter().filter(|key| filter.insert(*key)).count() > 90);
    once_more_each("inserting");
    assert!(keys.iter().all(|key| filter.contains(key)));
    once_more_each("asking");
    filter.insert_batch(&keys);
    once_more_each("inserting a batch");
    filter.contains_batch(&keys, &mut [false; 100]);
    once_more_each("asking a batch");

    let positions = |digest| {
        let mut positions = Vec::new();
        filter.layout().all(digest, |position| {
            positions.push(position);
            true
        });
        positions
    };
    let mut random = SplitMix::new(1);
    for _ in 0..1_000 {
        let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
        assert_eq!(positions(digest), positions(Digest { h2: random.next_u64(), ..digest }));
        assert!(positions(digest) != positions(Digest { h1: random.next_u64(), ..digest }));
    }
}

#[test]
fn the_rate_is_the_product_over_the_slices() {
    let (filters, queries) = (200, 100_000u64);
    let mut found = 0;
    let config = Config::new(KIND.facts()).set("bits", "10000").unwrap().set("hashes", "7").unwrap();
    for seed in 0..filters {
        let mut filter = OneHash::from_config(&config.clone().hashed(Hashing::seeded(seed))).unwrap();
        (0..1000u64).for_each(|key| {
            filter.insert(&key);
        });
        found += (1000..1000 + queries).filter(|key| filter.contains(key)).count();
    }
    let rate = found as f64 / (filters * queries) as f64;
    let expected = 0.008_180_6;
    assert!((theory::partitioned::rate_of_slices(&RUN, 1000) - expected).abs() < 5e-8);
    // Instances of this size scatter by about 5 %: 200 of them, and the queries.
    let sigma = (expected * expected * 0.05 * 0.05 / 200.0 + expected / (filters * queries) as f64).sqrt();
    assert!((rate - expected).abs() < 5.0 * sigma, "{rate}");
}

#[test]
fn lengths_that_are_not_coprime_raise_the_rate() {
    let measure = |lengths: &[u64]| {
        let mut random = SplitMix::new(1);
        let (mut found, rounds, queries) = (0, 40, 20_000);
        for _ in 0..rounds {
            let mut slices: Vec<_> = lengths.iter().map(|len| vec![false; *len as usize]).collect();
            for _ in 0..1000 {
                let hash = random.next_u64();
                slices.iter_mut().zip(lengths).for_each(|(slice, len)| slice[(hash % len) as usize] = true);
            }
            found += (0..queries)
                .filter(|_| {
                    let hash = random.next_u64();
                    slices.iter().zip(lengths).all(|(slice, len)| slice[(hash % len) as usize])
                })
                .count();
        }
        found as f64 / f64::from(rounds * queries)
    };
    let steps: Vec<u64> = (0..7).map(|i| 1400 + 10 * i).collect();
    let (primes, common, equal) = (measure(&RUN), measure(&steps), measure(&[1430; 7]));
    assert!((primes - 0.008_18).abs() < 0.0006, "{primes}");
    assert!((common - 0.0095).abs() < 0.0006, "{common}");
    // Equal slices hold the same bits seven times over: one position decides, 1 - (1 - 1/1430)^1000.
    assert!((equal - 0.503).abs() < 0.01, "{equal}");
}

#[test]
fn cardinality_is_within_five_standard_errors() {
    let config = Config::new(KIND.facts()).set("bits", "10000").unwrap().set("hashes", "7").unwrap();
    for seed in 0..40 {
        let mut filter = OneHash::from_config(&config.clone().hashed(Hashing::seeded(seed))).unwrap();
        (0..1000u64).for_each(|key| {
            filter.insert(&key);
        });
        let estimate = filter.cardinality();
        assert!((estimate.keys - 1000.0).abs() < 5.0 * estimate.standard_error, "{estimate:?}");
    }
}
