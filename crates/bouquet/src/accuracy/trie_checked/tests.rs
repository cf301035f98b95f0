use super::*;
use crate::AnyFilter;
use crate::capability::{Dataset, Item};
use crate::hash::SplitMix;
use crate::kind::Config;
use crate::theory::witnesses::below_mixed;

const LENGTH: u32 = 24;

/// A random binary trie of 50,000 prefixes of 24 bits: all of its nodes, by length and bits.
struct Trie {
    prefixes: Vec<u32>,
    nodes: HashSet<(u32, u32)>,
}

impl Trie {
    fn random(seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let prefixes: Vec<u32> = (0..50_000).map(|_| random.below(1 << LENGTH) as u32).collect();
        let nodes = prefixes.iter().flat_map(|prefix| (1..=LENGTH).map(move |n| (n, prefix >> (LENGTH - n)))).collect();
        Trie { prefixes, nodes }
    }

    /// How many levels above an absent node its nearest real ancestor is; 0 for a node that is there.
    fn level(&self, length: u32, bits: u32) -> u32 {
        (0..length).find(|&up| self.nodes.contains(&(length - up, bits >> up))).unwrap_or(length)
    }
}

/// The bits of a node as the first bits of a key.
fn key(length: u32, bits: u32) -> [u8; 4] {
    ((u64::from(bits) << (32 - length)) as u32).to_be_bytes()
}

fn filled(trie: &Trie, fpr: f64, ancestors: u32, cells: Component, seed: u64) -> TrieChecked {
    let settings = TrieCheckedSettings {
        items: Some(trie.nodes.len() as u64),
        fpr: Some(fpr),
        ancestors: Some(ancestors),
        parent: Some(Rule::Bits),
        cells: Some(cells),
        ..Default::default()
    };
    let mut filter = TrieChecked::hashed(settings, Hashing::seeded(seed)).unwrap();
    for prefix in &trie.prefixes {
        filter.insert_prefix(&key(LENGTH, *prefix), LENGTH.into()).unwrap();
    }
    filter
}

#[track_caller]
fn near(what: &str, seen: f64, trials: f64, rate: f64) {
    let sigma = (trials * rate * (1.0 - rate)).sqrt();
    assert!((seen - trials * rate).abs() < 5.0 * sigma + 1.0, "{what}: {seen} instead of {}", trials * rate);
}

#[test]
fn rates_fall_with_the_distance_from_the_trie_and_every_node_is_found() {
    let trie = Trie::random(1);
    let filter = filled(&trie, 0.05, 2, Component::Bits, 1);
    assert!(
        trie.nodes.iter().all(|&(length, bits)| filter.contains_prefix(&key(length, bits), length.into()).unwrap())
    );
    // Nodes whose bits were all set already are not counted.
    let share = filter.nodes() as f64 / trie.nodes.len() as f64;
    assert!((0.97..=1.0).contains(&share), "{share}");
    let rate = filter.mechanism.nodes.rate_now();
    assert!((rate - 0.05).abs() < 0.005, "{rate}");
    let mut random = SplitMix::new(2);
    let (mut asked, mut found) = ([0.0; 5], [0.0; 5]);
    // Nodes that leave the way to a real one this many levels above their end.
    for (prefix, level) in trie.prefixes.iter().flat_map(|prefix| (1..=5u32).map(move |level| (prefix, level))) {
        let below = (1 << (level - 1)) - 1;
        let bits = (prefix ^ 1 << (level - 1)) & !below | random.below(1 << 32) as u32 & below;
        if trie.level(LENGTH, bits) != level {
            continue;
        }
        asked[level as usize - 1] += 1.0;
        let is_found = filter.contains_prefix(&key(LENGTH, bits), LENGTH.into()).unwrap();
        found[level as usize - 1] += f64::from(u8::from(is_found));
    }
    for (level, (asked, found)) in (1..).zip(asked.iter().zip(found)) {
        assert!(*asked > 40_000.0, "{asked}");
        near(&format!("level {level}"), found, *asked, below(rate, level, 2));
    }
    let all: f64 = asked.iter().sum();
    let mixed = below_mixed(rate, &asked.map(|asked| asked / all), 2);
    near("the mix", found.iter().sum(), all, mixed);
}

#[test]
fn false_accesses_of_longest_prefix_lookups_fall_by_the_predicted_factor() {
    let trie = Trie::random(3);
    let mut accesses = Vec::new();
    for ancestors in [0, 2] {
        let filter = filled(&trie, 0.01, ancestors, Component::Bits, 3);
        let rate = filter.mechanism.nodes.rate_now();
        let mut random = SplitMix::new(4);
        let (mut seen, mut expected) = (0.0, 0.0);
        for _ in 0..100_000 {
            let address = random.below(1 << 32) as u32;
            let depth = (1..=LENGTH).rev().find(|&n| trie.nodes.contains(&(n, address >> (32 - n)))).unwrap_or(0);
            let real = |node: &Node<'_>| node.bits() <= u64::from(depth);
            let mut wrong = 0.0;
            let bytes = address.to_be_bytes();
            let found = filter.longest_match(&bytes, |node| {
                wrong += f64::from(u8::from(!real(node)));
                real(node)
            });
            assert_eq!(found.map_or(0, |node| node.bits()), u64::from(depth));
            seen += wrong;
            expected += (1..=32 - u64::from(depth)).map(|level| below(rate, level, ancestors.into())).sum::<f64>();
        }
        // A false ancestor lets its children pass, too: their number varies a little more than a Poisson law.
        assert!((seen - expected).abs() < 5.0 * (1.5 * expected).sqrt(), "{ancestors}: {seen} instead of {expected}");
        accesses.push(seen);
    }
    assert!(accesses[0] / accesses[1] > 10.0, "{accesses:?}");
}

#[test]
fn removed_keys_go_and_ancestors_stay_as_long_as_they_have_children() {
    let trie = Trie { prefixes: Trie::random(5).prefixes[..2_000].to_vec(), nodes: HashSet::new() };
    let nodes: HashSet<(u32, u32)> =
        trie.prefixes.iter().flat_map(|prefix| (1..=LENGTH).map(move |n| (n, prefix >> (LENGTH - n)))).collect();
    let trie = Trie { nodes, ..trie };
    let settings = TrieCheckedSettings {
        items: Some(trie.nodes.len() as u64),
        fpr: Some(0.001),
        parent: Some(Rule::Bits),
        cells: Some(Component::Counters),
        ..Default::default()
    };
    let mut filter = TrieChecked::with(settings).unwrap();
    // Whole keys of three bytes are prefixes of 24 bits.
    let bytes = |prefix: u32| prefix.to_be_bytes()[1..].to_vec();
    trie.prefixes.iter().for_each(|prefix| _ = filter.insert(&bytes(*prefix)));
    let (gone, kept) = trie.prefixes.split_at(1_000);
    gone.iter().for_each(|prefix| filter.remove(&bytes(*prefix)).unwrap());
    for prefix in kept {
        assert!((1..=u64::from(LENGTH)).all(|n| filter.contains_prefix(&bytes(*prefix), n).unwrap()));
    }
    let left = gone.iter().filter(|prefix| filter.contains(&bytes(**prefix))).count();
    // Twins, false positives, and places whose counters were full.
    assert!(left < 30, "{left}");
    assert!(matches!(filter.remove(b"no node".as_slice()), Err(Error::NotPresent)));
}

#[test]
fn building_counts_the_nodes_and_no_ancestor_checked_is_the_plain_filter() {
    let config = Config::new(KIND.facts()).set("parent", "path").unwrap().set("fpr", "0.02").unwrap();
    let names: Vec<String> = (0..3_000).map(|i| format!("/srv/{}/{}/{i}", i % 7, i % 101)).collect();
    let items: Vec<Item<'_>> = names.iter().map(|name| Item::from(name.as_bytes())).collect();
    let filter =
        AnyFilter::build(&config.clone().set("items", "3000").unwrap(), &Dataset { items: &items, absent: &[] });
    let filter = filter.unwrap();
    // 3,000 leaves, 707 directories, 7 above them and the first.
    assert_eq!(filter.config().count("items"), Some(3_000 + 707 + 7 + 1));
    let contains = filter.contains().unwrap();
    assert!(["/srv", "/srv/3", "/srv/3/3"].iter().all(|node| contains.contains(node.as_bytes())));
    let plain = TrieCheckedSettings { ancestors: Some(0), items: Some(100), ..Default::default() };
    let mut plain = TrieChecked::with(plain).unwrap();
    plain.insert_closed(b"usr/bin/ls");
    assert!(plain.contains("usr/bin/ls"), "nobody asks for its parents");
    let mut checked = TrieChecked::with_rate(100, 1e-6).unwrap();
    checked.insert_closed(b"usr/bin/ls");
    assert!(!checked.contains("usr/bin/ls"), "its parents were promised and are not there");
}
