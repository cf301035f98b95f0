use super::*;
use crate::theory::{spread, standard};

const N: u64 = 100_000;
const M: u64 = 1_000_000;
const K: u32 = 7;

fn filled(keys: u64) -> MemoryOptimized {
    let settings = MemoryOptimized::with_size(M, K).unwrap().settings();
    let mut table = MemoryOptimized::hashed(settings, Hashing::seeded(1)).unwrap();
    for key in 0..keys {
        table.insert(&key, &key.to_be_bytes()).unwrap();
    }
    table
}

#[test]
fn every_item_is_stored_once_and_few_share_their_bucket() {
    let table = filled(N);
    assert_eq!((table.stored(), table.list().entries.len() as u64), (N, N), "not seven times");
    let shared = table.crowded() as f64 / N as f64;
    assert!((shared - 0.095).abs() < 0.005, "{shared}");
    assert!((theory::buckets::shared(M, N) - 0.095).abs() < 0.001);
    // As many as k copies would be: each bucket of a key is one of its positions.
    let is_position = |key: u64| {
        let digest = key.digest(table.hashing());
        let bucket = table.mechanism.bucket(digest);
        table.mechanism.array.places.of(digest).any(|place| place == bucket)
    };
    assert!((0..10_000).all(is_position));
}

#[test]
fn a_present_key_reads_one_bucket_and_an_absent_one_as_many_as_the_filter_errs() {
    let (table, queries) = (filled(N), 1_000_000);
    assert!((0..N).all(|key| table.bucket_reads(&key) == 1 && table.value(&key) == Some(&key.to_be_bytes()[..])));
    let reads: u64 = (1 << 40..(1 << 40) + queries).map(|key: u64| table.bucket_reads(&key)).sum();
    let rate = reads as f64 / queries as f64;
    let (expected, sigma) = (standard::expected_rate(M, N, K), spread::test_sigma(M, N, K, queries));
    assert!((rate - expected).abs() < 5.0 * sigma, "{rate}, expected {expected}");
    assert!((1 << 40..(1 << 40) + 100_000).all(|key: u64| !table.contains(&key)), "the answer itself is exact");
}

#[test]
fn removed_keys_leave_bits_which_rebuilding_clears() {
    let mut table = filled(20_000);
    let fresh = filled(10_000);
    (10_000..20_000u64).for_each(|key| table.remove(&key).unwrap());
    assert!((0..20_000u64).all(|key| table.contains(&key) == (key < 10_000)));
    assert_eq!(table.bucket_reads(&15_000u64), 1, "a wasted read");
    table.rebuild();
    assert_eq!(table, fresh);
}

#[test]
fn a_frame_whose_bits_miss_an_item_is_refused() {
    let mut table = filled(10);
    table.mechanism.array.bits.words_mut().fill(0);
    assert!(MemoryOptimized::from_bytes(&table.to_bytes()).is_err());
}
