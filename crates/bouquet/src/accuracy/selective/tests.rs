use super::*;
use crate::AnyFilter;
use crate::accuracy::tabled::testing::{built, config, contains, figure};
use crate::capability::Note;
use crate::hash::SplitMix;
use crate::kind::Argument;

fn probability(filter: &AnyFilter, key: u64, prior: Option<f64>) -> f64 {
    filter.weigh().unwrap().probability(&key.to_le_bytes(), prior).unwrap()
}

#[test]
fn the_bloom_paradox_of_ten_billion_keys() {
    // |M| = 10^10, |C| = 10^4, f = 10^-3.
    let prior = Note::Weight(1e-6);
    let members: Vec<_> = (0..10_000).map(|key| (key, prior)).collect();
    let filter = built(&config(&KIND, &[("fpr", "0.001"), ("prior", "1e-6")], 1), &members, &[]).unwrap();
    assert_eq!((filter.stats().items, figure(&filter, "members below the threshold")), (0, 10_000.0));
    assert!((0..10_000).all(|key| !contains(&filter, key)), "the filter is ignored");
    assert_eq!(probability(&filter, 1, None), 1e-6);
    // A plain filter of the same size: 0.99900 of its positives are false.
    let standard = crate::registry::find("standard").unwrap();
    let mut plain = AnyFilter::new(&config(standard, &[("items", "10000"), ("fpr", "0.001")], 1)).unwrap();
    for (key, _) in &members {
        plain.insert().unwrap().insert(key.to_le_bytes().as_slice().into()).unwrap();
    }
    let rate = plain.stats().fpr.unwrap();
    assert!((rate - 0.001).abs() < 1e-4);
    let believed = probability(&plain, 1, Some(1e-6));
    assert!((1.0 - believed - paradox::false_share(10_000_000_000, 10_000, rate)).abs() < 1e-9);
    assert!((1.0 - believed - 0.999).abs() < 1e-4, "{believed}");
    // The threshold of such a filter, were its keys likely.
    let likely = Selective::with_rate(10_000, 0.001).unwrap();
    assert!((likely.threshold() - 9.99e-4).abs() < 1e-6, "{}", likely.threshold());
}

#[test]
fn two_classes_cost_what_theory_says_and_no_more_than_either_extreme() {
    const LIKELY: u64 = 20_000;
    const RARE: u64 = 2_000_000;
    let mut random = SplitMix::new(7);
    let (mut members, mut absent, mut rare) = (Vec::new(), Vec::new(), Vec::new());
    for key in 0..LIKELY {
        if random.unit() < 0.5 { &mut members } else { &mut absent }.push((key, Note::Weight(0.5)));
    }
    for key in LIKELY..LIKELY + RARE {
        if random.unit() < 1e-5 {
            rare.push(key);
            members.push((key, Note::Weight(1e-5)));
        }
    }
    let filter = built(&config(&KIND, &[("fpr", "0.001"), ("prior", "1e-5")], 3), &members, &absent).unwrap();
    assert_eq!(figure(&filter, "members below the threshold") as usize, rare.len());
    let rate = filter.downcast_ref::<Selective>().unwrap().mechanism().law()[1].powi(10);
    assert!((rate - 0.001).abs() < 2e-4, "{rate}");
    let is_member = |key: u64| members.binary_search_by_key(&key, |(key, _)| *key).is_ok();
    let (mut cost, mut plain) = (0u64, 0u64);
    let cells = filter.downcast_ref::<Selective>().unwrap();
    for key in 0..LIKELY + RARE {
        cost += u64::from(contains(&filter, key) != is_member(key));
        // A filter that is believed for every key, with all members in it.
        let believed = cells.decide(&key, 1.0) || is_member(key);
        plain += u64::from(believed && !is_member(key));
    }
    let none = members.len() as u64;
    let expected = 0.5 * LIKELY as f64 * rate + rare.len() as f64;
    assert!((cost as f64 - expected).abs() < 5.0 * (expected + 1.0).sqrt(), "{cost} of {expected}");
    let expected_plain = rate * (LIKELY + RARE - none) as f64;
    assert!((plain as f64 - expected_plain).abs() < 5.0 * expected_plain.sqrt(), "{plain} of {expected_plain}");
    assert!(cost <= plain.min(none), "selective {cost}, plain {plain}, no filter {none}");
    let [selective, told_plain, nothing] = cells.costs(1e-5);
    assert!(selective == nothing && told_plain > 50.0 * nothing);
}

#[test]
fn misses_are_exactly_the_members_below_the_threshold() {
    let mut random = SplitMix::new(11);
    let members: Vec<_> = (0..3_000).map(|key| (key, Note::Weight((random.unit() * 100.0).round() / 1e4))).collect();
    let filter = built(&config(&KIND, &[("fpr", "0.004")], 2), &members, &[]).unwrap();
    let threshold = figure(&filter, "threshold");
    let below = members.iter().filter(|(_, note)| matches!(note, Note::Weight(prior) if *prior < threshold)).count();
    assert!(below > 100 && below < 2_900, "{below}");
    for (key, note) in &members {
        let Note::Weight(prior) = *note else { unreachable!() };
        assert_eq!(contains(&filter, *key), prior >= threshold, "{key}: {prior} at {threshold}");
    }
    // Fewer keys make a lower rate, for which the threshold is the fixed point.
    let kept = filter.stats().items;
    assert_eq!(kept as usize, members.len() - below);
    let m = filter.config().count("bits").unwrap();
    let rate = standard::rate(m, kept, filter.stats().hashes);
    assert!((paradox::trust_threshold(rate, 1.0) / threshold - 1.0).abs() < 0.05, "{rate} {threshold}");
    // A model is kept over a frame; a later insertion brings its own prior.
    let mut again = AnyFilter::from_bytes(&filter.to_bytes()).unwrap();
    let insert = |filter: &mut AnyFilter, note| filter.insert().unwrap().insert(Item::new(b"rose", note));
    assert!(!insert(&mut again, Note::Weight(0.0)).unwrap() && !contains(&again, 1 << 40));
    insert(&mut again, Note::Weight(0.9)).unwrap();
    assert!(insert(&mut again, Note::Weight(1.1)).is_err());
    let decide =
        |prior: &'static [u8]| again.ask("decide", Argument::Item(Item::new(b"rose", Note::Bytes(prior)))).unwrap();
    assert!(matches!(decide(b"0.9"), Reply::Truth(true)) && matches!(decide(b"0.0000001"), Reply::Truth(false)));
}

#[test]
fn counters_are_calibrated() {
    // One key of twenty is a member.
    let (mut near, mut members_near, mut sum, mut variance, mut all) = (0u64, 0u64, 0.0, 0.0, 0u64);
    for seed in 0..10 {
        let members: Vec<_> = (0..5_000).map(|key| (key * 20, Note::Weight(0.05))).collect();
        let settings = [("bits", "40000"), ("hashes", "5"), ("cells", "counters"), ("prior", "0.05")];
        let filter = built(&config(&KIND, &settings, seed), &members, &[]).unwrap();
        assert_eq!(filter.stats().items, 5_000);
        for key in 0..100_000 {
            let (belief, is_member) = (probability(&filter, key, None), key % 20 == 0);
            sum += belief - f64::from(u8::from(is_member));
            variance += belief * (1.0 - belief);
            all += u64::from(is_member);
            if (0.4..=0.6).contains(&belief) {
                near += 1;
                members_near += u64::from(is_member);
            }
            assert_eq!(contains(&filter, key), belief >= 0.5 - 1e-9);
        }
    }
    assert!(near > 1_000, "{near}");
    let share = members_near as f64 / near as f64;
    assert!((share - 0.5).abs() < 0.1, "{share} of {near}");
    assert!(sum.abs() < 5.0 * variance.sqrt() + 0.02 * all as f64, "{sum} of {all}");
}

#[test]
fn rates_of_counters_follow_the_products() {
    let members: Vec<_> = (0..5_000).map(|key| (key, Note::None)).collect();
    let settings = [("bits", "30000"), ("hashes", "4"), ("cells", "counters"), ("prior", "0.1")];
    let filter = built(&config(&KIND, &settings, 5), &members, &[]).unwrap();
    let expected = filter.expected(5_000);
    let missed = (0..5_000).filter(|key| !contains(&filter, *key)).count() as f64 / 5_000.0;
    let miss = expected.false_negative.unwrap();
    assert!(miss > 0.01 && (missed - miss).abs() < 5.0 * (miss / 5_000.0).sqrt() + 0.01, "{missed} of {miss}");
    let taken = (1_000_000..1_100_000).filter(|key| contains(&filter, *key)).count() as f64 / 100_000.0;
    let told = filter.stats().fpr.unwrap();
    assert!((taken - told).abs() < 5.0 * (told / 100_000.0).sqrt(), "{taken} of {told}");
    assert!((expected.false_positive.unwrap() / told - 1.0).abs() < 0.1);
}
