//! Tests of nodes: theta along a chain, routing in a random graph, updates that are sent again, objects that go.

use super::*;
use crate::AnyFilter;
use crate::capability::{Item, Note};
use crate::hash::SplitMix;
use crate::kind::Argument;
use crate::theory::routing::expected_theta;

/// The neighbours of each node.
type Network = Vec<Vec<usize>>;

fn nodes(count: usize, bits: u64, decay: u64) -> Vec<ExponentialDecay> {
    (0..count as u64).map(|number| ExponentialDecay::with_size(number, bits, decay).unwrap()).collect()
}

/// Everyone tells all neighbours; `true` if a table changed.
fn exchange(nodes: &mut [ExponentialDecay], network: &Network) -> bool {
    let mut sent = Vec::new();
    for (from, neighbours) in network.iter().enumerate() {
        for &to in neighbours {
            sent.push((to, nodes[from].update_for(to as u64).unwrap()));
        }
    }
    let mut changed = false;
    for (to, update) in sent {
        let before = nodes[to].mechanism.tables.get(&update.mechanism.number);
        changed |= before != Some(&update.mechanism.local.bits);
        nodes[to].receive(&update).unwrap();
    }
    changed
}

fn chain(length: usize) -> Network {
    let around = |i: usize| [i.checked_sub(1), Some(i + 1).filter(|&next| next < length)];
    (0..length).map(|i| around(i).into_iter().flatten().collect()).collect()
}

/// A random graph in which everyone has `least` neighbours or more.
fn random_network(count: usize, least: usize, seed: u64) -> Network {
    let mut random = SplitMix::new(seed);
    let mut network = vec![Vec::new(); count];
    for node in 0..count {
        while network[node].len() < least {
            let other = random.below(count as u64) as usize;
            if other != node && !network[node].contains(&other) {
                network[node].push(other);
                network[other].push(node);
            }
        }
    }
    network
}

#[test]
fn theta_along_a_chain_is_the_derived_one() {
    let (length, bits, objects) = (6, 1 << 17, 200u64);
    let mut nodes = nodes(length, bits, 8);
    (0..objects).for_each(|key| _ = nodes[0].insert(&key));
    // Noise: everyone has objects of its own.
    for (node, first) in nodes.iter_mut().zip((1u64..).map(|i| i << 20)) {
        (first..first + 500).for_each(|key| _ = node.insert(&key));
    }
    while exchange(&mut nodes, &chain(length)) {}
    for (hop, node) in nodes.iter().enumerate().skip(1) {
        let theta = |key: u64| f64::from(node.theta(&key).iter().find(|(from, _)| *from == hop as u64 - 1).unwrap().1);
        let mean = (0..objects).map(theta).sum::<f64>() / objects as f64;
        let fill = node.mechanism.tables[&(hop as u64 - 1)].fill();
        let expected = expected_theta(32, 8.0, hop as u32 - 1, fill);
        let share = expected / 32.0;
        let sigma = 32.0 * (share * (1.0 - share) / (32.0 * objects as f64)).sqrt();
        assert!((mean - expected).abs() <= 5.0 * sigma, "hop {hop}: {mean}, expected {expected}, sigma {sigma}");
    }
}

/// The mean number of hops to an object, from random nodes, along routes and at random.
fn mean_paths(network: &Network, bits: u64, decay: u64, queries: u64) -> (f64, f64) {
    let count = network.len();
    let mut nodes = nodes(count, bits, decay);
    for (number, node) in (0u64..).zip(&mut nodes) {
        (0..5).for_each(|i| _ = node.insert(&(number * 5 + i)));
    }
    (0..6).for_each(|_| _ = exchange(&mut nodes, network));
    let mut random = SplitMix::new(1);
    let (mut routed, mut walked) = (0u64, 0u64);
    for _ in 0..queries {
        let (start, object) = (random.below(count as u64), random.below(5 * count as u64));
        let owner = object / 5;
        let (mut at, mut visited) = (start, vec![start]);
        while at != owner {
            at = nodes[at as usize].route(&object, &visited).unwrap();
            visited.push(at);
            routed += 1;
        }
        let mut seen = vec![false; count];
        let mut at = start;
        while at != owner {
            seen[at as usize] = true;
            let all = &network[at as usize];
            let open: Vec<_> = all.iter().filter(|&&next| !seen[next]).collect();
            let pick = |from: usize, random: &mut SplitMix| random.below(from as u64) as usize;
            at = match open.len() {
                0 => all[pick(all.len(), &mut random)] as u64,
                len => *open[pick(len, &mut random)] as u64,
            };
            walked += 1;
        }
    }
    (routed as f64 / queries as f64, walked as f64 / queries as f64)
}

#[test]
fn hints_shorten_the_way_and_smaller_tables_or_another_decay_cost() {
    let network = random_network(1_000, 4, 7);
    let (routed, walked) = mean_paths(&network, 8_192, 4, 400);
    assert!(walked > 5.0 * routed, "{routed} hops with hints, {walked} without");
    let (worse, _) = mean_paths(&network, 4_096, 8, 400);
    assert!(worse > 1.2 * routed, "{worse} and {routed}");
}

#[test]
fn updates_that_are_sent_again_change_nothing_and_a_new_epoch_draws_anew() {
    let network = random_network(30, 4, 3);
    let mut nodes = nodes(30, 2_048, 4);
    for (number, node) in (0u64..).zip(&mut nodes) {
        (0..5).for_each(|i| _ = node.insert(&(number * 5 + i)));
    }
    let mut rounds = 0;
    while exchange(&mut nodes, &network) {
        rounds += 1;
        assert!(rounds < 40);
    }
    let before: Vec<_> = nodes.iter().map(|node| node.mechanism.tables.clone()).collect();
    assert!((0..5).all(|_| !exchange(&mut nodes, &network)));
    assert!(nodes.iter().zip(&before).all(|(node, tables)| node.mechanism.tables == *tables));
    nodes.iter_mut().for_each(|node| node.advance(1));
    assert!(exchange(&mut nodes, &network));
}

#[test]
fn an_object_that_is_removed_is_gone_one_update_per_hop_later() {
    let length = 5;
    let mut nodes = nodes(length, 65_536, 2);
    nodes[0].insert("rose");
    while exchange(&mut nodes, &chain(length)) {}
    let told = |nodes: &[ExponentialDecay]| {
        nodes
            .iter()
            .map(|node| node.mechanism.tables.values().map(BitStore::count_ones).sum::<u64>() > 0)
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&nodes), [false, true, true, true, true]);
    nodes[0].forget_local().unwrap();
    for hop in 1..length {
        exchange(&mut nodes, &chain(length));
        assert!(told(&nodes)[..=hop].iter().all(|told| !told), "hop {hop}");
    }
}

#[test]
fn nodes_are_reached_by_name() {
    let [mut here, there] =
        [2, 1].map(|number| AnyFilter::from_structure(ExponentialDecay::with_node(number, 50).unwrap()).unwrap());
    let mut there = there;
    there.insert().unwrap().insert(Item::from(b"rose".as_slice())).unwrap();
    let Ok(Reply::Filter(made)) = there.ask("update-for", Argument::Number(2)) else { panic!() };
    let sent = AnyFilter::from_made(made).unwrap();
    here.act("receive", sent.as_argument()).unwrap();
    let pair = |text| Argument::Item(Item::new(b"rose", Note::Bytes(text)));
    assert!(matches!(here.ask("route", pair(b"")), Ok(Reply::Integer(1))));
    assert!(here.ask("route", pair(b"1, x")).is_err());
    let Ok(Reply::List(thetas)) = here.ask("theta", Argument::Key(b"rose")) else { panic!() };
    assert!(matches!(thetas[..], [Reply::Integer(0), Reply::Integer(32)]), "{thetas:?}");
    let Ok(Reply::Table(_, rows)) = here.ask("tables", Argument::Nothing) else { panic!() };
    assert!(matches!(rows[1][..], [Reply::Integer(1), Reply::Real(_), Reply::Real(_)]), "{rows:?}");
    assert!(matches!(here.act("forget-neighbour", Argument::Number(1)), Ok(Reply::Truth(true))));
    let again = AnyFilter::from_bytes(&here.to_bytes()).unwrap();
    assert_eq!(again.to_bytes(), here.to_bytes());
}
