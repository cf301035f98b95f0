use super::*;
use crate::AnyFilter;
use crate::capability::{Answer, Item, Note, Value};
use crate::kind::Argument;
use crate::membership::testing::{ask, empty, found, number, rows};
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

/// The same through the handle.
fn held(keys: u64) -> AnyFilter {
    let mut table = empty(&KIND, &[("bits", "1000000"), ("hashes", "7")], 1);
    let insert = table.insert().unwrap();
    for key in 0..keys {
        insert.insert(Item::new(&key.to_le_bytes(), Note::Bytes(&key.to_be_bytes()))).unwrap();
    }
    table
}

#[test]
fn every_item_is_stored_once_and_few_share_their_bucket() {
    let table = held(N);
    assert_eq!((table.stats().items, table.list().unwrap().list().entries.len() as u64), (N, N), "not seven times");
    let crowded = rows(table.ask("crowded", Argument::Nothing).unwrap());
    let [shared, theory] = [number(&crowded[0][1]) / N as f64, number(&crowded[0][2])];
    assert!((shared - 0.095).abs() < 0.005, "{shared}");
    assert!((theory - 0.095).abs() < 0.001, "{theory}");
    // As many as k copies would be: each bucket of a key is one of its positions.
    let table = filled(10_000);
    let is_position = |key: u64| {
        let digest = key.digest(table.hashing());
        let bucket = table.mechanism.bucket(digest);
        table.mechanism.array.places.of(digest).any(|place| place == bucket)
    };
    assert!((0..10_000).all(is_position));
}

#[test]
fn a_present_key_reads_one_bucket_and_an_absent_one_as_many_as_the_filter_errs() {
    let (table, queries) = (held(N), 1_000_000);
    let (get, reads) = (table.get().unwrap(), |key| number(&ask(&table, "reads", key)) as u64);
    let value = |key: u64| Answer::Value(Value::Bytes(key.to_be_bytes().to_vec()));
    assert!((0..N).all(|key| reads(key) == 1 && get.get(&key.to_le_bytes()) == value(key)));
    let rate = (1 << 40..(1 << 40) + queries).map(reads).sum::<u64>() as f64 / queries as f64;
    let (expected, sigma) = (standard::expected_rate(M, N, K), spread::test_sigma(M, N, K, queries));
    assert!((rate - expected).abs() < 5.0 * sigma, "{rate}, expected {expected}");
    assert_eq!(found(&table, 1 << 40..(1 << 40) + 100_000), 0, "the answer itself is exact");
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
