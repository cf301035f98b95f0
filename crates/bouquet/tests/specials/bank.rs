//! What only a filter bank can tell or do.

use bouquet::AnyFilter;
use bouquet::capability::{Item, Note};
use bouquet::kind::{Argument, Reply};
use bouquet::theory::random::SplitMix;

use crate::{ask, empty, integer, real};

fn group(key: u64, set: u64) -> ([u8; 8], Note<'static>) {
    (key.to_le_bytes(), Note::Group(set))
}

/// Key i goes to set i modulo 64.
fn bank(layout: &str, keys: u64) -> AnyFilter {
    let settings = [("sets", "64"), ("items", "128000"), ("fpr", "0.01"), ("layout", layout)];
    let mut bank = empty("filter-bank", &settings, 7);
    for (key, note) in (0..keys).map(|key| group(key, key % 64)) {
        bank.insert().unwrap().insert(Item::new(&key, note)).unwrap();
    }
    bank
}

fn numbers(reply: &Reply) -> Vec<u64> {
    match reply {
        Reply::List(list) => list.iter().filter_map(integer).collect(),
        Reply::Truth(false) => Vec::new(),
        reply => vec![integer(reply).unwrap_or_else(|| panic!("no numbers: {reply:?}"))],
    }
}

#[test]
fn keys_of_a_bank_resolve_to_one_set_as_often_as_predicted() {
    let members = 64 * 2_000;
    let [sliced, rows] = ["sliced", "rows"].map(|layout| bank(layout, members));
    // Against the rates of this very bank, as it tells them, only the keys scatter.
    let Reply::Table(heads, table) = sliced.ask("sets", Argument::Nothing).unwrap() else { panic!("a table") };
    assert_eq!((heads, table.len()), (&["set", "bits", "keys", "fpr"][..], 64));
    let rates: Vec<f64> = table
        .into_iter()
        .map(|row| {
            assert_eq!((integer(&row[1]), integer(&row[2])), (Some(19_194), Some(2_000)), "2,000 keys at one percent");
            row.into_iter().next_back().map(real).unwrap()
        })
        .collect();
    let none: f64 = rates.iter().map(|rate| 1.0 - rate).product();
    let expected = rates.iter().map(|rate| none / (1.0 - rate)).sum::<f64>() / 64.0;
    assert!((expected - 0.531).abs() < 0.01, "(1 - 0.01)^63 = 0.531, and {expected} by these fills");
    let mut unique = 0;
    for key in 0..1_000_000u64 {
        let (reply, other) = (ask(&sliced, "only", key), ask(&rows, "only", key));
        let sets = numbers(&reply);
        assert_eq!(sets, numbers(&other), "{key}");
        if key < members {
            assert!(sets.contains(&(key % 64)));
            unique += u64::from(sets.len() == 1);
            assert_eq!(matches!(reply, Reply::Integer(_)), sets.len() == 1, "several are listed");
        }
    }
    let found = unique as f64 / members as f64;
    let sigma = (expected * (1.0 - expected) / members as f64).sqrt();
    assert!((found - expected).abs() < 5.0 * sigma, "{found}, expected {expected} with sigma {sigma}");
}

#[test]
fn the_code_that_a_bank_reads_is_wrong_as_often_as_predicted() {
    // Seven sets in three filters; the set with the code 001 has two zeros, of which either may be read as one.
    let (per_set, seeds) = (5_000u64, 40u64);
    let (mut wrong, mut expected) = (0u64, 0.0);
    for seed in 0..seeds {
        let settings = [("sets", "7"), ("items", "35000"), ("fpr", "0.01"), ("layout", "coded")];
        let mut bank = empty("filter-bank", &settings, seed);
        for (key, note) in (0..7 * per_set).map(|key| group(key, key % 7)) {
            bank.insert().unwrap().insert(Item::new(&key, note)).unwrap();
        }
        for key in (0..per_set).map(|key| 7 * key) {
            let sets = bank.classify().unwrap().classify(&key.to_le_bytes());
            assert!(numbers(&ask(&bank, "candidates", key)).contains(&0), "the truth is among the candidates");
            wrong += u64::from(sets != [0]);
        }
        let bank = bank.downcast_ref::<bouquet::FilterBank>().unwrap();
        expected += bank.wrong_code_rate(0).unwrap() / seeds as f64;
    }
    let trials = (seeds * per_set) as f64;
    let found = wrong as f64 / trials;
    assert!((found - expected).abs() < 5.0 * (expected * (1.0 - expected) / trials).sqrt(), "{found} {expected}");
    assert!((expected - 0.019).abs() < 0.001, "{expected}");
}

#[test]
fn policies_of_a_bank_take_the_set_that_they_say() {
    let mut bank = empty("filter-bank", &[("sets", "9"), ("items", "900"), ("fpr", "0.0001")], 1);
    for (key, note) in [2, 5, 8].map(|set| group(1, set)) {
        bank.insert().unwrap().insert(Item::new(&key, note)).unwrap();
    }
    assert_eq!(numbers(&ask(&bank, "only", 1)), [2, 5, 8]);
    assert_eq!(["lowest", "highest"].map(|name| integer(&ask(&bank, name, 1))), [Some(2), Some(8)]);
    let best = |weights: &[u8]| {
        let key = 1u64.to_le_bytes();
        bank.ask("best", Argument::Item(Item::new(&key, Note::Bytes(weights)))).map(|reply| integer(&reply))
    };
    assert_eq!(best(b"9,9,1,9,9,3,9,9,2").unwrap(), Some(5), "sets that do not hold it have no say");
    assert_eq!(best(b"0,0,1").unwrap(), Some(2), "sets without a weight come last");
    assert!(best(b"1,much").is_err());
    for name in ["only", "lowest", "highest"] {
        assert!(matches!(ask(&bank, name, 2), Reply::Truth(false)), "{name}");
    }
}

#[test]
fn sets_of_a_bank_come_go_and_have_sizes_of_their_own() {
    let settings = [("sets", "3"), ("items", "30000"), ("fpr", "0.01"), ("layout", "rows")];
    let mut bank = empty("filter-bank", &settings, 1);
    let size = |bank: &mut AnyFilter, set: &[u8], keys: &[u8]| {
        bank.act("size-set", Argument::Item(Item::new(set, Note::Bytes(keys)))).map(|reply| integer(&reply).unwrap())
    };
    let put = |bank: &mut AnyFilter, keys: std::ops::Range<u64>, set: u64| {
        for (key, note) in keys.map(|key| group(key, set)) {
            bank.insert().unwrap().insert(Item::new(&key, note)).unwrap();
        }
    };
    // m = n log2(1/f) / ln 2.
    for (set, keys) in [(b"0", 100.0f64), (b"1", 1_000.0)] {
        let bits = size(&mut bank, set, keys.to_string().as_bytes()).unwrap() as f64;
        let ideal = keys * 100f64.log2() / 2f64.ln();
        assert!((bits - ideal).abs() < 0.01 * ideal + 7.0, "{bits}, ideal {ideal}");
    }
    put(&mut bank, 0..100, 0);
    put(&mut bank, 1_000..2_000, 1);
    put(&mut bank, 10_000..20_000, 2);
    assert!(size(&mut bank, b"0", b"50").is_err(), "it holds keys");
    assert!(size(&mut bank, b"2", b"50000").is_err() && size(&mut bank, b"7", b"5").is_err());
    assert_eq!(integer(&bank.act("add-set", Argument::Nothing).unwrap()), Some(3));
    // The rate may follow from the share of members that another set reports: 1 - (1 - 0.02)^(1/2) for three sets.
    let mut by_share =
        empty("filter-bank", &[("sets", "3"), ("items", "30000"), ("layout", "rows"), ("spurious", "0.02")], 1);
    let ideal = -1_000.0 * (1.0 - 0.98f64.sqrt()).log2() / 2f64.ln();
    let bits = size(&mut by_share, b"1", b"1000").unwrap() as f64;
    assert!((bits - ideal).abs() < 0.01 * ideal + 7.0, "{bits}, ideal {ideal}");
    put(&mut bank, 1 << 30..(1 << 30) + 10_000, 3);
    bank = AnyFilter::from_bytes(&bank.to_bytes()).unwrap();
    let in_set = |bank: &AnyFilter, key, set| numbers(&ask(bank, "candidates", key)).contains(&set);
    assert!((0..100).all(|key| in_set(&bank, key, 0)) && (1_000..2_000).all(|key| in_set(&bank, key, 1)));
    // Each set has the rate that it was made for: five sigma of the queries, and of what a filter's fill scatters.
    let queries = 100_000;
    let mut found = [0u64; 4];
    for key in (1 << 40)..(1 << 40) + queries {
        numbers(&ask(&bank, "candidates", key)).iter().for_each(|&set| found[set as usize] += 1);
    }
    let Reply::Table(_, rows) = bank.ask("sets", Argument::Nothing).unwrap() else { panic!("a table") };
    for (row, found) in rows.into_iter().zip(found) {
        let now = row.into_iter().next_back().map(real).unwrap();
        let (rate, sigma) = (found as f64 / queries as f64, (now * (1.0 - now) / queries as f64).sqrt());
        assert!((rate - now).abs() < 5.0 * sigma && (now - 0.01).abs() < 0.005, "{rate} {now}");
    }
    bank.act("clear-set", Argument::Number(2)).unwrap();
    assert!(!(10_000..20_000).all(|key| in_set(&bank, key, 2)));
    bank.act("remove-set", Argument::Number(0)).unwrap();
    assert!((1_000..2_000).all(|key| in_set(&bank, key, 0)), "the sets behind it move up");
    assert!(bank.act("remove-set", Argument::Number(3)).is_err());
}

#[test]
fn a_bank_of_counters_tells_how_often_a_key_is_in_a_set() {
    let mut bank = empty("filter-bank", &[("cells", "counters"), ("items", "4000")], 1);
    for (key, note) in [1, 1, 1, 2].map(|set| group(5, set)) {
        bank.insert().unwrap().insert(Item::new(&key, note)).unwrap();
    }
    let count = |set| {
        let (key, note) = group(5, set);
        bank.ask("count", Argument::Item(Item::new(&key, note))).map(real)
    };
    assert_eq!([0, 1, 2, 3].map(|set| count(set).unwrap()), [0.0, 3.0, 1.0, 0.0]);
    assert!(count(4).is_err());
}

#[test]
fn the_longest_prefix_of_an_address_is_among_those_that_a_bank_names() {
    let mut random = SplitMix::new(3);
    let mut table = std::collections::HashSet::new();
    let lengths = [8u32, 16, 19, 22, 24, 32];
    let network = |address: u32, length: u32| address & (u32::MAX << (32 - length));
    // Few networks, so that prefixes nest.
    let address = |random: &mut SplitMix| (random.below(64) << 24 | random.below(1 << 24)) as u32;
    let mut bank = empty("filter-bank", &[("sets", "33"), ("items", "33000"), ("layout", "rows")], 1);
    while table.len() < 5_000 {
        let length = lengths[random.below(6) as usize];
        let prefix = network(address(&mut random), length);
        table.insert((prefix, length));
        let text = format!("{}/{length}", std::net::Ipv4Addr::from(prefix));
        bank.act("add-prefix", Argument::Key(text.as_bytes())).unwrap();
    }
    let (mut looked_up, mut matched) = (0, 0);
    for _ in 0..20_000 {
        let address = address(&mut random);
        let text = std::net::Ipv4Addr::from(address).to_string();
        let named = numbers(&bank.ask("prefixes", Argument::Key(text.as_bytes())).unwrap());
        assert!(named.is_sorted_by(|a, b| a > b));
        let exact = |length: u32| table.contains(&(network(address, length), length));
        let longest = lengths.into_iter().rev().find(|&length| exact(length));
        // The exact table is asked for what the bank names, in this order, until it agrees.
        let found = named.iter().position(|&length| exact(length as u32));
        assert_eq!(found.map(|at| named[at]), longest.map(u64::from));
        looked_up += found.map_or(named.len(), |at| at + 1);
        matched += usize::from(found.is_some());
    }
    // Six lengths at a percent each at most, and few of them are full.
    assert!(looked_up - matched < 20_000 * 6 / 100 && matched > 1_000, "{looked_up} {matched}");
    for text in ["10.0.0.0", "10.0.0.0/33", "rose/8", "10.0.0.0/x"] {
        assert!(bank.act("add-prefix", Argument::Key(text.as_bytes())).is_err(), "{text}");
    }
}
