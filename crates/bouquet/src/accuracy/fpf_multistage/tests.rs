use super::*;
use crate::AnyFilter;
use crate::hash::SplitMix;
use crate::kind::Argument;

fn settings(seed_bits: u32) -> FpfMultistageSettings {
    FpfMultistageSettings { seed_bits: Some(seed_bits), ..Default::default() }
}

#[test]
fn shortest_filters_have_the_lengths_of_simulations() {
    let simulated = [(5u64, 20u64, 24.9, 17.8), (10, 40, 58.6, 47.3), (20, 100, 146.0, 124.0), (40, 160, 320.0, 282.0)];
    for (links, excluded, one, eight) in simulated {
        for (seed_bits, simulated) in [(0, one), (3, eight)] {
            let code = Code { seed_bits, most: 4_096 };
            let instances = if links > 10 { 300 } else { 1_000 };
            let mut sum = 0u64;
            for instance in 0..instances {
                let hashing = Hashing::seeded(instance);
                let digests = |keys: std::ops::Range<u64>| keys.map(|key| hashing.digest_word(key)).collect::<Vec<_>>();
                let (take, reject) = (digests(0..links), digests(links..links + excluded));
                let stage = Stage::search(&code, &take, &reject);
                assert!(take.iter().all(|link| stage.takes(*link)) && !reject.iter().any(|link| stage.takes(*link)));
                sum += stage.shape().0;
            }
            let mean = sum as f64 / instances as f64;
            assert!((mean / simulated - 1.0).abs() < 0.04, "{links}, {excluded}, {seed_bits}: {mean}");
        }
    }
}

/// A random graph of 200 nodes with about six links from each.
fn graph(random: &mut SplitMix) -> Vec<Vec<u64>> {
    let mut links = vec![Vec::new(); 200];
    for node in 0..200u64 {
        // A ring, so that everyone is reached.
        for other in [(node + 1) % 200, random.below(200), random.below(200)] {
            if other != node && !links[node as usize].contains(&other) {
                links[node as usize].push(other);
                links[other as usize].push(node);
            }
        }
    }
    links
}

fn link(from: u64, to: u64) -> [u8; 8] {
    (from << 32 | to).to_le_bytes()
}

/// The tree of shortest paths from node 0 to the receivers: for each hop, the nodes there with the links that they take.
fn tree(graph: &[Vec<u64>], receivers: &[u64]) -> Vec<Vec<(u64, Vec<u64>)>> {
    let mut parent = vec![None; graph.len()];
    let mut queue = std::collections::VecDeque::from([0u64]);
    while let Some(node) = queue.pop_front() {
        for &next in &graph[node as usize] {
            if next != 0 && parent[next as usize].is_none() {
                parent[next as usize] = Some(node);
                queue.push_back(next);
            }
        }
    }
    let mut hops: Vec<std::collections::BTreeMap<u64, Vec<u64>>> = Vec::new();
    for &receiver in receivers {
        let mut path = vec![receiver];
        while let Some(before) = parent[path[path.len() - 1] as usize] {
            path.push(before);
        }
        path.reverse();
        for (hop, two) in path.windows(2).enumerate() {
            if hops.len() <= hop {
                hops.push(Default::default());
            }
            let taken = hops[hop].entry(two[0]).or_default();
            if !taken.contains(&two[1]) {
                taken.push(two[1]);
            }
        }
    }
    hops.into_iter().map(|hop| hop.into_iter().collect()).collect()
}

#[test]
fn a_thousand_trees_are_forwarded_without_a_wrong_link() {
    let mut random = SplitMix::new(2012);
    let (mut staged, mut single, mut wrong) = (0u64, 0u64, 0u64);
    for number in 0..1_000u64 {
        if number % 100 == 0 {
            random = SplitMix::new(number);
        }
        let graph = graph(&mut random);
        let receivers: Vec<u64> = (0..16).map(|_| 1 + random.below(199)).collect();
        let hops = tree(&graph, &receivers);
        let (mut links, mut others) = (Vec::new(), Vec::new());
        for (hop, nodes) in (0u64..).zip(&hops) {
            for (node, taken) in nodes {
                for next in &graph[*node as usize] {
                    let list = if taken.contains(next) { &mut links } else { &mut others };
                    list.push((link(*node, *next), hop));
                }
            }
        }
        let of = |list: &'_ [([u8; 8], u64)], hop: Option<u64>| -> Vec<(Vec<u8>, u64)> {
            list.iter().map(|(link, own)| (link.to_vec(), hop.unwrap_or(*own))).collect()
        };
        let encoded = |hop: Option<u64>| {
            let (links, others) = (of(&links, hop), of(&others, hop));
            let borrowed = |list: &'static [(Vec<u8>, u64)]| list.iter().map(|(link, hop)| (link.as_slice(), *hop));
            FpfMultistage::encoded(
                &settings(3),
                &Hashing::seeded(number),
                borrowed(links.leak()),
                borrowed(others.leak()),
            )
            .unwrap()
        };
        let mut header = encoded(None);
        staged += header.stats().bits;
        if number % 10 == 0 {
            // One filter for the whole tree that is right as often: at every node of it.
            single += encoded(Some(0)).stats().bits;
        }
        // The packet, hop by hop.
        let mut at: std::collections::BTreeSet<u64> = [0].into();
        let mut reached = at.clone();
        for nodes in &hops {
            let mut next_nodes = std::collections::BTreeSet::new();
            for (node, taken) in nodes.iter().filter(|(node, _)| at.contains(node)) {
                for next in &graph[*node as usize] {
                    let passes = header.passes(link(*node, *next).as_slice());
                    wrong += u64::from(passes != taken.contains(next));
                    if passes {
                        next_nodes.insert(*next);
                    }
                }
            }
            reached.extend(&next_nodes);
            at = next_nodes;
            header = header.forwarded().unwrap();
        }
        assert!(receivers.iter().all(|receiver| reached.contains(receiver)));
        assert_eq!(header.stages(), 0);
    }
    assert_eq!(wrong, 0);
    assert!(staged < 10 * single, "{staged} bits in stages, {} in single filters", 10 * single);
}

#[test]
fn damaged_headers_are_errors() {
    let links: Vec<_> = (0..30u64).map(|key| (key.to_le_bytes().to_vec(), key % 3)).collect();
    let others: Vec<_> = (100..200u64).map(|key| (key.to_le_bytes().to_vec(), key % 3)).collect();
    let borrowed = |list: &'static [(Vec<u8>, u64)]| list.iter().map(|(link, hop)| (link.as_slice(), *hop));
    let filter =
        FpfMultistage::encoded(&settings(3), &Hashing::default(), borrowed(links.leak()), borrowed(others.leak()))
            .unwrap();
    let (header, bits) = (filter.header(), filter.stats().bits);
    let read = |header: &[u8], bits| FpfMultistage::from_header(&settings(3), &Hashing::default(), header, bits);
    assert_eq!(read(&header, bits).unwrap().header(), header);
    // Cut anywhere but between stages it is refused.
    let whole = (1..bits).filter(|cut| read(&header, *cut).is_ok()).count();
    assert_eq!(whole, 2);
    assert!(read(&header[..3], bits).is_err());
    let short = FpfMultistageSettings { most: Some(10), ..settings(3) };
    assert!(FpfMultistage::from_header(&short, &Hashing::default(), &header, bits).is_err(), "beyond the limit");
    let mut random = SplitMix::new(4);
    for _ in 0..2_000 {
        let noise: Vec<u8> = (0..40).map(|_| random.next_u64() as u8).collect();
        let _ = read(&noise, 320);
    }
}

#[test]
fn stages_that_cannot_be_short_list_their_links() {
    let data: Vec<_> = (0..40u64).map(u64::to_le_bytes).collect();
    let item = |key: &'static [u8; 8]| Item::new(key, crate::capability::Note::Group(0));
    let keys: &'static [[u8; 8]] = data.leak();
    let (links, others): (Vec<_>, Vec<_>) =
        (keys[..20].iter().map(item).collect(), keys[20..].iter().map(item).collect());
    let config = crate::kind::Config::new(KIND.facts()).set("most", "10").unwrap();
    let filter = AnyFilter::build(&config, &Dataset { items: &links, absent: &others }).unwrap();
    assert!(filter.figures().contains(&Figure { name: "stages that list their links", value: Setting::Count(1) }));
    assert_eq!(filter.stats().bits, 9 + 3 + 20 * 64);
    let again = AnyFilter::from_bytes(&filter.to_bytes()).unwrap();
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(again.classify().unwrap().classify(key), if number < 20 { vec![0] } else { vec![] });
        let passes = again.ask("passes", Argument::Key(key)).unwrap();
        assert!(matches!(passes, Reply::Truth(passes) if passes == (number < 20)));
    }
    let Reply::Filter(made) = again.ask("forward", Argument::Nothing).unwrap() else { panic!("no filter") };
    assert!(AnyFilter::from_made(made).unwrap().ask("forward", Argument::Nothing).is_err());
    let both = AnyFilter::build(&config, &Dataset { items: &links, absent: &links[..1] });
    assert!(matches!(both, Err(Error::Build { .. })));
}
