use super::*;
use crate::capability::{Item, Note};
use crate::hash::SplitMix;
use crate::kind::Argument;
use crate::membership::testing::{empty, filled_sets, holds, number, rows};
use crate::theory::spread;
use crate::{AnyFilter, Bloom};
use std::collections::HashMap;

const GROUPS: u64 = 32;
const N: u64 = 100_000;
const M: u64 = 1_000_000;
const K: u32 = 7;

/// Three fifths of the keys are in group 7; the others are spread, the least of them in group 0.
fn group(key: u64) -> u64 {
    match key % 10 {
        0..6 => 7,
        _ => (key / 10 % 1_000).isqrt().min(31),
    }
}

fn filled(seed: u64) -> AnyFilter {
    filled_sets(&KIND, &[("sets", "32"), ("bits", "1000000"), ("hashes", "7")], N, seed, group)
}

#[test]
fn every_group_has_the_same_rate_whatever_its_size() {
    let (filter, queries) = (filled(1), 500_000);
    let sizes = (0..N).fold([0; GROUPS as usize], |mut sizes, key| {
        sizes[group(key) as usize] += 1;
        sizes
    });
    assert!(sizes[7] > 60_000);
    let smallest = (0..GROUPS).min_by_key(|&group| sizes[group as usize]).unwrap();
    assert!((0..N).all(|key| holds(&filter, key, group(key))));
    let bits = filter.stats().bits;
    let expected = filter.expected(N).spurious_sets.unwrap() / GROUPS as f64;
    assert_eq!(expected, bank::shared_rate(bits, N, K));
    let sigma = spread::test_sigma(bits, N, K, queries);
    for group in [7, smallest] {
        let found = (1 << 40..(1 << 40) + queries).filter(|&key| holds(&filter, key, group)).count();
        let rate = found as f64 / queries as f64;
        assert!((rate - expected).abs() < 5.0 * sigma, "group {group}: {rate}, expected {expected}");
    }
    let fills: Vec<f64> =
        rows(filter.ask("fills", Argument::Nothing).unwrap()).iter().map(|row| number(&row[1])).collect();
    let mean = filter.stats().fill.unwrap();
    assert!(fills.len() == 7 && fills.iter().all(|fill| (fill / mean - 1.0).abs() < 0.01), "{fills:?}");
    // A filter for each group on the same bits: the popular one is ruined.
    let mut own = Bloom::with_size(M / GROUPS, K).unwrap();
    own.insert_batch(&(0..N).filter(|&key| group(key) == 7).collect::<Vec<_>>());
    let found = (1 << 40..(1 << 40) + 20_000).filter(|key: &u64| own.contains(key)).count() as f64 / 20_000.0;
    assert!(found > 10.0 * expected, "{found}");
    let theory = bank::equal_parts_rate(M, GROUPS, sizes[7], K);
    assert!((found - theory).abs() < 0.01, "{found}, expected {theory}");
}

#[test]
fn the_longest_confirmed_prefix_is_that_of_a_trie() {
    let mut random = SplitMix::new(4);
    let mut table: HashMap<(u32, u64), ()> = HashMap::new();
    let mut filter = empty(&KIND, &[("sets", "33"), ("items", "20000"), ("fpr", "0.01")], 0);
    for _ in 0..20_000 {
        // Most prefixes of the Internet have 24 bits.
        let length = if random.below(5) < 3 { 24 } else { random.below(33) };
        let address = random.next_u64() as u32 & 0x3FFF_FFFF;
        let masked = if length == 0 { 0 } else { address >> (32 - length) << (32 - length) };
        let item = Item { key: &address.to_be_bytes(), note: Note::Group(length) };
        filter.act("insert-prefix", Argument::Item(item)).unwrap();
        table.insert((masked, length), ());
    }
    let known: Vec<_> = table.keys().copied().collect();
    let mut wasted = 0u64;
    for query in 0..10_000 {
        // Half of the addresses are below a known prefix.
        let (masked, length) = known[random.below(known.len() as u64) as usize];
        let below = if length == 32 { 0 } else { random.next_u64() as u32 >> length };
        let address = if query % 2 == 0 { masked | below } else { random.next_u64() as u32 };
        let mask = |length: u64| if length == 0 { 0 } else { address >> (32 - length) << (32 - length) };
        let truth = (0..=32).rev().find(|&length| table.contains_key(&(mask(length), length)));
        let lengths = rows(filter.ask("lpm", Argument::Key(&address.to_be_bytes())).unwrap());
        let found = lengths.iter().map(|row| number(&row[0]) as u64).find(|&length| {
            let is_known = table.contains_key(&(mask(length), length));
            wasted += u64::from(!is_known);
            is_known
        });
        assert_eq!(found, truth, "{address:08x}");
    }
    // At most one probe in a hundred for each of 33 lengths.
    let (wasted, most) = (wasted as f64 / 1e4, 33.0 * 0.01_f64);
    assert!(wasted < most + 5.0 * (most / 1e4).sqrt(), "{wasted} wasted probes per address");
}

#[test]
fn groups_that_are_asked_together_answer_as_alone() {
    let filter = filled(2);
    for key in (0..500u64).chain(1 << 40..(1 << 40) + 500) {
        let alone: Vec<_> = (0..GROUPS).filter(|&group| holds(&filter, key, group)).collect();
        assert_eq!(filter.classify().unwrap().classify(&key.to_le_bytes()), alone);
    }
}

#[test]
fn prefixes_have_the_other_bits_zero() {
    assert_eq!(prefix(&[255, 255, 255], 0), [0, 0, 0]);
    assert_eq!(prefix(&[255, 255, 255], 11), [255, 0b1110_0000, 0]);
    assert_eq!(prefix(&[255, 255, 255], 99), [255, 255, 255]);
}
