use std::collections::HashMap;

use super::*;
use crate::counting::count_min::CountMin;
use crate::counting::zipf::Zipf;
use crate::hash::SplitMix;
use crate::key::Key;
use crate::kind::Config;

fn config(settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap())
}

fn empty(settings: &[(&str, &str)]) -> ConservativeUpdate {
    ConservativeUpdate::from_config(&config(settings)).unwrap()
}

#[test]
fn a_packet_raises_only_the_counters_below_the_new_estimate() {
    let mut filter = ConservativeUpdate::with_size(100, 3).unwrap();
    let places: Vec<u64> = filter.mechanism.stages.places.of("flow".digest(&filter.hashing)).collect();
    for (place, counter) in places.iter().zip([3, 2, 7]) {
        filter.mechanism.stages.store.set(*place, counter);
    }
    filter.add("flow", 4);
    let after: Vec<u64> = places.iter().map(|place| filter.mechanism.stages.store.get(*place)).collect();
    assert_eq!(after, [6, 6, 7]);
    assert_eq!(filter.mechanism.stages.store.count_nonzero(), 3);
}

/// Packets of 40 to 1,500 bytes of some hundred flows, of which some are large, and what each flow has sent.
fn trace(seed: u64) -> (Vec<(u64, u64)>, HashMap<u64, u64>) {
    let mut random = SplitMix::new(seed);
    let packets: Vec<(u64, u64)> =
        Zipf::new(400, 1.0, seed + 1_000).take(2_000).map(|flow| (flow, 40 + random.below(1_461))).collect();
    let mut truth = HashMap::new();
    packets.iter().for_each(|(flow, bytes)| *truth.entry(*flow).or_default() += bytes);
    (packets, truth)
}

#[test]
fn no_heavy_flow_is_missed_and_no_estimate_is_low_in_any_mode() {
    let threshold = 30_000;
    for seed in 0..100 {
        let (packets, truth) = trace(seed);
        assert!(truth.values().filter(|&&bytes| bytes >= threshold).count() > 3);
        for &mode in Mode::WORDS {
            for shield in ["on", "off"] {
                let settings = [("counters", "60"), ("stages", "3"), ("threshold", "30000"), ("mode", mode)];
                let mut filter = empty(&[&settings[..], &[("shield", shield)]].concat());
                for (flow, bytes) in &packets {
                    filter.add(flow, *bytes);
                }
                let listed: HashMap<Vec<u8>, HeavyFlow> =
                    filter.heavy().into_iter().map(|flow| (flow.key.clone(), flow)).collect();
                assert_eq!(filter.dropped(), 0);
                for (flow, &bytes) in &truth {
                    assert!(filter.count(flow).count >= bytes, "{mode} {shield} seed {seed}");
                    match listed.get(flow.to_le_bytes().as_slice()) {
                        Some(heavy) => assert!(heavy.count >= bytes && heavy.since_entry <= bytes),
                        None => assert!(bytes < threshold, "{mode} {shield} seed {seed}: {bytes}"),
                    }
                }
            }
        }
    }
}

#[test]
fn conservative_update_and_shielding_burden_light_flows_less() {
    let mut burden: HashMap<(&str, &str), u64> = HashMap::new();
    let mut listed: HashMap<(&str, &str), usize> = HashMap::new();
    for seed in 0..30 {
        let (packets, truth) = trace(seed);
        for mode in ["conservative", "plain"] {
            for shield in ["on", "off"] {
                let settings = [("counters", "60"), ("stages", "3"), ("threshold", "30000"), ("mode", mode)];
                let mut filter = empty(&[&settings[..], &[("shield", shield)]].concat());
                for (flow, bytes) in &packets {
                    filter.add(flow, *bytes);
                }
                for (flow, bytes) in truth.iter().filter(|(_, bytes)| **bytes < 30_000) {
                    *burden.entry((mode, shield)).or_default() += filter.count(flow).count - bytes;
                    let key = flow.to_le_bytes();
                    *listed.entry((mode, shield)).or_default() +=
                        usize::from(filter.mechanism.memory.flows.contains_key(&key[..]));
                }
            }
        }
    }
    for mode in ["conservative", "plain"] {
        assert!(burden[&(mode, "on")] < burden[&(mode, "off")], "{burden:?}");
        assert!(listed[&(mode, "on")] <= listed[&(mode, "off")], "{listed:?}");
    }
    assert!(3 * burden[&("conservative", "on")] < 2 * burden[&("plain", "on")], "{burden:?}");
    assert!(2 * listed[&("conservative", "on")] < listed[&("plain", "on")], "{listed:?}");
}

#[test]
fn plain_filters_pass_no_more_than_the_bounds_say() {
    // 2,000 flows of 1,000 bytes each and 20 of 200,000 in 3 stages of 100 counters: S = 120,000 * 100 / 6,000,000 = 2.
    let (flows, large, threshold) = (2_000u64, 20u64, 120_000u64);
    let total = flows * 1_000 + large * 200_000;
    let strength = threshold as f64 * 100.0 / total as f64;
    let bound = sketch::passing_flows(100, flows + large, strength, 3);
    let light = sketch::passes(1_000.0, threshold as f64, strength, 3) * flows as f64;
    let mut passed = [0.0; 2];
    let runs = 20;
    for seed in 0..runs {
        for (passed, mode) in passed.iter_mut().zip(["plain", "conservative"]) {
            let settings = [("counters", "100"), ("stages", "3"), ("threshold", "120000"), ("mode", mode)];
            let config = config(&settings).hashed(Hashing::seeded(seed));
            let mut filter = ConservativeUpdate::from_config(&config).unwrap();
            for flow in (0..200).flat_map(|_| 0..large).chain(1_000..1_000 + flows) {
                filter.add(&flow, 1_000);
            }
            assert!((0..large).all(|flow| filter.count(&flow).count >= 200_000));
            *passed += filter.heavy().len() as f64 / runs as f64;
        }
    }
    assert!(passed[0] <= bound && passed[0] - large as f64 <= light, "{passed:?} {bound} {light}");
    assert!(passed[1] <= passed[0]);
}

#[test]
fn as_a_sketch_it_is_twice_as_accurate_as_count_min_and_never_above_it() {
    for exponent in [0.0, 1.0, 1.3] {
        let (stream, truth) = Zipf::new(50_000, exponent, 11).stream(500_000);
        let (mut filter, mut plain) =
            (ConservativeUpdate::with_size(10_000, 4).unwrap(), CountMin::with_size(10_000, 4).unwrap());
        for key in &stream {
            filter.insert(key);
            plain.insert(key).unwrap();
        }
        let (mut conservative, mut added) = (0, 0);
        for (key, &truth) in &truth {
            let (low, high) = (filter.count(key).count, plain.count(key).count);
            assert!(truth <= low && low <= high, "{exponent}: {truth} {low} {high}");
            conservative += low - truth;
            added += high - truth;
        }
        let ratio = added as f64 / conservative as f64;
        assert!((2.0..4.0).contains(&ratio), "{exponent}: {ratio}");
    }
}

#[test]
fn the_bounds_of_the_paper_are_computed() {
    assert_eq!(format!("{:.2e}", sketch::passes(1e5, 1e6, 10.0, 4)), "1.52e-4");
    assert_eq!(format!("{:.1}", sketch::passing_flows(1_000, 100_000, 10.0, 4)), "121.2");
}

#[test]
fn a_full_flow_memory_is_told_and_loses_no_count() {
    let mut filter = empty(&[("counters", "1000"), ("stages", "4"), ("threshold", "100"), ("memory", "5")]);
    for flow in 0..20u64 {
        filter.add(&flow, 150);
    }
    assert_eq!((filter.heavy().len(), filter.dropped()), (5, 15));
    assert!((0..20u64).all(|flow| filter.count(&flow).count >= 150));
    filter.advance(1);
    assert_eq!((filter.heavy().len(), filter.dropped(), filter.items()), (0, 0, 0));
    assert!((0..20u64).all(|flow| filter.count(&flow).count == 0));
}

#[test]
fn the_sum_of_two_filters_is_an_upper_bound() {
    for settings in [
        &[("counters", "300"), ("stages", "3")][..],
        &[("counters", "300"), ("stages", "3"), ("threshold", "60")],
        &[("counters", "300"), ("stages", "3"), ("threshold", "60"), ("memory", "4")],
        &[("counters", "300"), ("stages", "3"), ("threshold", "60"), ("mode", "plain"), ("shield", "off")],
    ] {
        let (mut here, mut there) = (empty(settings), empty(settings));
        let mut truth: HashMap<u64, u64> = HashMap::new();
        for (filter, seed) in [(&mut here, 1), (&mut there, 2)] {
            for key in Zipf::new(500, 1.0, seed).take(3_000) {
                filter.add(&key, 1);
                *truth.entry(key).or_default() += 1;
            }
        }
        here.merge_upper_bound(&there).unwrap();
        assert!(truth.iter().all(|(key, &truth)| here.count(key).count >= truth), "{settings:?}");
        assert_eq!(here.items(), 6_000);
        assert_eq!(ConservativeUpdate::from_bytes(&here.to_bytes()).unwrap(), here);
    }
    let serial = empty(&[("threshold", "10"), ("mode", "serial")]);
    assert!(serial.clone().merge_upper_bound(&serial).is_err());
    let other = empty(&[("counters", "301"), ("stages", "3")]);
    assert!(empty(&[("counters", "300"), ("stages", "3")]).merge_upper_bound(&other).is_err());
}

#[test]
fn counters_that_are_full_say_at_least() {
    for mode in ["conservative", "plain"] {
        let mut filter = empty(&[("counters", "10"), ("stages", "2"), ("mode", mode)]);
        filter.add("rose", u64::from(u32::MAX) - 1);
        assert!(!filter.count("rose").at_least);
        filter.add("rose", u64::MAX);
        assert_eq!(filter.count("rose"), Multiplicity { count: u32::MAX.into(), at_least: true });
    }
}

#[test]
fn frames_give_back_equal_filters_and_contradictory_ones_are_refused() {
    for &mode in Mode::WORDS {
        let mut filter = empty(&[("counters", "50"), ("stages", "3"), ("threshold", "20"), ("mode", mode)]);
        for key in Zipf::new(100, 1.0, 3).take(2_000) {
            filter.add(&key, 1);
        }
        assert!(filter.heavy().len() > 5);
        assert_eq!(ConservativeUpdate::from_bytes(&filter.to_bytes()).unwrap(), filter);
    }
    assert!(KIND.plan(&config(&[("mode", "serial")])).unwrap_err().to_string().contains("threshold"));
    let mut liar = empty(&[("counters", "50"), ("stages", "3")]);
    liar.mechanism.memory.dropped = 1;
    assert!(matches!(ConservativeUpdate::from_bytes(&liar.to_bytes()), Err(Error::Corrupt { .. })));
    assert!(FlowMemory::from_bytes(3, 0, &[1, 0, 0, 0, 9]).is_err());
}
