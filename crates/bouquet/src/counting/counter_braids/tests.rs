use super::*;
use crate::hash::SplitMix;
use crate::kind::Config;

fn braids(settings: &[(&str, &str)]) -> CounterBraids {
    let config =
        settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap());
    CounterBraids::from_config(&config).unwrap()
}

/// Sizes of flows with P(size >= s) = s^-1.1.
fn pareto(flows: usize, seed: u64) -> Vec<u64> {
    let mut random = SplitMix::new(seed);
    (0..flows).map(|_| (1.0 - random.unit()).powf(-1.0 / 1.1) as u64).collect()
}

fn fill(braids: &mut CounterBraids, sizes: &[u64]) {
    for (flow, &size) in (0u64..).zip(sizes) {
        braids.add(&flow, size).unwrap();
    }
}

fn flows(count: usize) -> impl Iterator<Item = [u8; 8]> {
    (0..count as u64).map(u64::to_le_bytes)
}

fn brackets(decoded: &Decoded, sizes: &[u64]) -> bool {
    let holds = |(flow, &size): (u64, &u64)| decoded.count(&flow).is_some_and(|b| b.lower <= size && size <= b.upper);
    (0u64..).zip(sizes).all(holds)
}

#[test]
fn sizes_are_exact_above_the_threshold_and_bounded_below_it() {
    let n = 20_000;
    let sizes = pareto(n, 1);
    let larger = sizes.iter().filter(|&&size| size > 1).count() as f64 / n as f64;
    assert!((braids::threshold(3, larger) - 0.82).abs() < 0.01);
    for (per_flow, exact) in [(90, true), (70, false)] {
        let counters = (n * per_flow / 100).to_string();
        let mut braids = braids(&[("counters", &counters), ("upper", "2000")]);
        fill(&mut braids, &sizes);
        let decoded = braids.sizes(flows(n)).unwrap();
        assert_eq!(decoded.is_exact(), exact, "0.{per_flow} counters per flow");
        assert!(decoded.is_consistent() && brackets(&decoded, &sizes));
        assert_eq!(decoded.list().count(), n);
        if !exact {
            let open = decoded.list().filter(|(_, size)| size.lower < size.upper).count();
            assert!(open > n / 20 && open < n, "{open} of {n}");
        }
    }
}

#[test]
fn two_layers_hold_a_heavy_tail_exactly_in_twelve_and_a_half_bits_per_flow() {
    let n = 20_000;
    let mut sizes = pareto(n, 2);
    (sizes[17], sizes[18]) = (1_000_003, 12_345);
    assert!(sizes.iter().filter(|&&size| size > 10_000).count() > 1);
    let mut braids = CounterBraids::with_size(n as u64, n as u64 / 10, 3).unwrap();
    fill(&mut braids, &sizes);
    let bits = braids.stats().bits as f64 / n as f64;
    assert!(bits <= 12.5, "{bits}");
    let decoded = braids.sizes(flows(n)).unwrap();
    assert!(decoded.is_exact() && brackets(&decoded, &sizes) && decoded.rounds() < 60, "{}", decoded.rounds());

    // The least counter of a flow, which other sketches answer with, is too large for most.
    let least = |flow: u64| {
        let places = braids.mechanism.counters_of(0, braids.hashing.digest(&flow.to_le_bytes()));
        places.map(|place| braids.mechanism.layers[0].get(place) & 0xff).min()
    };
    let wrong = (0u64..).zip(&sizes).filter(|&(flow, &size)| size < 256 && least(flow) != Some(size)).count();
    assert!(wrong > n / 2, "{wrong}");
}

#[test]
fn more_layers_go_by_the_same_rule() {
    let n = 5_000;
    let mut sizes = pareto(n, 3);
    sizes[0] = 5_000_000;
    let mut deep =
        braids(&[("counters", "6000"), ("upper", "2000"), ("layers", "3"), ("width", "6"), ("top-width", "24")]);
    fill(&mut deep, &sizes);
    assert_eq!(deep.mechanism.layers.iter().map(Counters::len).collect::<Vec<_>>(), [6_000, 2_001, 666]);
    assert!(deep.mechanism.layers[2].count_nonzero() > 0, "the third layer is in use");
    let decoded = deep.sizes(flows(n)).unwrap();
    assert!(decoded.is_exact() && decoded.is_consistent() && brackets(&decoded, &sizes));
    assert_eq!(CounterBraids::from_bytes(&deep.to_bytes()).unwrap(), deep);
}

#[test]
fn packets_one_by_one_count_as_all_at_once() {
    let (mut single, mut at_once) = (CounterBraids::with_flows(50).unwrap(), CounterBraids::with_flows(50).unwrap());
    let mut random = SplitMix::new(4);
    for flow in 0..50u64 {
        let size = 1 + random.below(2_000);
        (0..size).for_each(|_| assert!(single.insert(&flow).is_ok()));
        at_once.add(&flow, size).unwrap();
    }
    assert_eq!(single.mechanism.layers, at_once.mechanism.layers);
    assert!(single.mechanism.layers[1].count_nonzero() > 0);
}

#[test]
fn merging_equals_counting_both() {
    for layers in ["2", "3"] {
        let shape = [("counters", "600"), ("upper", "150"), ("width", "4"), ("layers", layers)];
        let (mut left, mut right, mut both) = (braids(&shape), braids(&shape), braids(&shape));
        let (here, there) = (pareto(300, 5), pareto(400, 6));
        fill(&mut left, &here);
        fill(&mut right, &there);
        fill(&mut both, &here);
        fill(&mut both, &there);
        let mut other_way = right.clone();
        other_way.merge(&left).unwrap();
        left.merge(&right).unwrap();
        assert_eq!(left, both);
        assert_eq!(other_way, both);
    }
}

#[test]
fn lists_that_lack_flows_or_have_strangers_are_found_out() {
    let n = 2_000;
    let sizes = pareto(n, 7);
    let mut braids = CounterBraids::with_flows(3_000).unwrap();
    fill(&mut braids, &sizes);
    assert!(braids.sizes(flows(n)).unwrap().is_consistent());
    for missing in [1, 10, 1_000] {
        assert!(!braids.sizes(flows(n - missing)).unwrap().is_consistent(), "{missing}");
    }
    // Flows without packets break the assumption that all have one, and are found with the other decoder.
    assert!(!braids.sizes(flows(n + 200)).unwrap().is_consistent());
    let decoded = braids.sizes_with_absent(flows(n + 200)).unwrap();
    assert!(decoded.is_exact() && decoded.is_consistent() && brackets(&decoded, &sizes));
    assert!((n..n + 200).all(|flow| decoded.count(&(flow as u64)) == Some(Bounds::exactly(0))));
    // A flow that is listed twice is one flow.
    let twice = braids.sizes(flows(n).chain(flows(n))).unwrap();
    assert!(twice.is_exact() && twice.list().count() == n);
}

#[test]
fn a_last_layer_without_room_refuses_and_nothing_changes() {
    let mut full = braids(&[("counters", "30"), ("upper", "6"), ("width", "2"), ("top-width", "8")]);
    let mut accepted = 0;
    let error = loop {
        let before = full.clone();
        match full.add("rose", 50) {
            Ok(_) => accepted += 1,
            Err(error) => {
                assert_eq!(full, before);
                break error;
            }
        }
    };
    assert!(matches!(error, Error::Full { .. }));
    assert!(accepted > 3, "{accepted}");
    let before = full.clone();
    assert!(matches!(full.merge(&before), Err(Error::Full { .. })));
    assert_eq!(full, before);
    let size = full.sizes(["rose"]).unwrap().count("rose").unwrap();
    assert!(size.lower <= 50 * accepted && 50 * accepted <= size.upper, "{size:?} {accepted}");
}

#[test]
fn random_layers_are_decoded_without_panic() {
    let mut random = SplitMix::new(8);
    for round in 0..300 {
        let mut forged = braids(&[("counters", "24"), ("upper", "9"), ("layers", "3"), ("top-width", "56")]);
        for layer in &mut forged.mechanism.layers {
            for index in 0..layer.len() {
                if random.below(1 + round % 7) == 0 {
                    layer.set(index, random.next_u64() >> random.below(64));
                }
            }
        }
        for decoded in [forged.sizes(flows(12)), forged.sizes_with_absent(flows(12))] {
            assert_eq!(decoded.unwrap().list().count(), 12);
        }
        let _ = forged.add(&round, u64::MAX >> random.below(64));
        let _ = forged.merge(&forged.clone());
    }
}

#[test]
fn braids_that_differ_refuse_to_merge() {
    let mut here = braids(&[("counters", "300"), ("upper", "90")]);
    for other in [
        braids(&[("counters", "303"), ("upper", "90")]),
        braids(&[("counters", "300"), ("upper", "93")]),
        braids(&[("counters", "300"), ("upper", "90"), ("width", "7")]),
    ] {
        assert!(matches!(here.merge(&other), Err(Error::Incompatible { .. })));
    }
}
