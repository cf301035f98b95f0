use super::*;
use crate::accuracy::tabled::testing::{built, config, contains, figure, probes};
use crate::capability::Note;
use crate::hash::SplitMix;
use crate::kind::{Argument, Reply};
use crate::theory::{assignment, standard};
use crate::{AnyFilter, Bloom, Error};

/// 10,000 elements, a tenth of them present with 0.5, the others with 0.01: those that are, and those that are not.
fn world(seed: u64) -> [Vec<(u64, Note<'static>)>; 2] {
    let mut random = SplitMix::new(seed);
    let (mut present, mut absent) = (Vec::new(), Vec::new());
    for element in 0..10_000u64 {
        let p = if element < 1_000 { 0.5 } else { 0.01 };
        let list = if random.unit() < p { &mut present } else { &mut absent };
        list.push((element, Note::Weight(p)));
    }
    [present, absent]
}

#[test]
fn false_matches_are_fewer_by_the_divergence() {
    let (mut seen, mut standard_seen, mut expected, mut expected_standard) = (0u64, 0u64, 0.0, 0.0);
    for seed in 0..40 {
        let [present, absent] = world(seed);
        let bits = (10 * present.len()).to_string();
        let filter = built(&config(&KIND, &[("bits", &bits)], seed), &present, &absent).unwrap();
        assert!(present.iter().all(|(element, _)| contains(&filter, *element)));
        assert!((filter.stats().fill.unwrap() - 0.5).abs() < 0.03, "{:?}", filter.stats());
        seen += absent.iter().filter(|(element, _)| contains(&filter, *element)).count() as u64;
        // The few positions of those that are often present, the many of the others.
        let [few, many] = [7, 2_007].map(|element| probes(&filter, element));
        assert!((5..=7).contains(&few) && (12..=14).contains(&many), "{few} {many}");
        let fill = filter.stats().fill.unwrap();
        let of = |element: u64| assignment::acceptance(fill, probes(&filter, element) as f64);
        expected += absent.iter().map(|(element, _)| of(*element)).sum::<f64>();
        let told = figure(&filter, "rate over the declared queries") * absent.len() as f64;
        assert!((told / absent.iter().map(|(element, _)| of(*element)).sum::<f64>() - 1.0).abs() < 0.1);
        let size = Bloom::with_size(10 * present.len() as u64, 7).unwrap().settings();
        let mut plain = Bloom::hashed(size, filter.config().hashing().clone()).unwrap();
        present.iter().for_each(|(element, _)| _ = plain.insert(element));
        standard_seen += absent.iter().filter(|(element, _)| plain.contains(element)).count() as u64;
        expected_standard += standard::rate(plain.bits().len(), present.len() as u64, 7) * absent.len() as f64;
    }
    let sigma = (expected + 1.0).sqrt();
    assert!((seen as f64 - expected).abs() < 5.0 * sigma, "{seen} of {expected}");
    assert!(
        (standard_seen as f64 - expected_standard).abs() < 6.0 * expected_standard.sqrt(),
        "{standard_seen} of {expected_standard}"
    );
    // exp(KL) = 7.9, less what whole numbers lose.
    let gain = expected_standard / expected;
    assert!((7.0..8.2).contains(&gain), "{gain}");
}

#[test]
fn equal_probabilities_are_the_standard_filter_bit_for_bit() {
    for bits in [500u64, 9_600, 20_000] {
        let members: Vec<_> = (0..1_000).map(|key| (key, Note::Weight(0.25))).collect();
        let absent: Vec<_> = (1_000..4_000).map(|key| (key, Note::Weight(0.25))).collect();
        let filter = built(&config(&KIND, &[("bits", &bits.to_string())], 3), &members, &absent).unwrap();
        let settings = [("bits", bits.to_string()), ("items", "1000".into()), ("reduction", "fastrange".into())];
        let settings: Vec<_> = settings.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let kind = crate::registry::find("standard").unwrap();
        let mut plain = Bloom::from_config(&config(kind, &settings, 3)).unwrap();
        members.iter().for_each(|(key, _)| _ = plain.insert(key));
        let (ours, theirs) = (filter.downcast_ref::<MultiClass>().unwrap(), plain.bits().words());
        assert_eq!(ours.mechanism().bits().words(), theirs);
        assert_eq!(ours.table_bits(), 0);
    }
}

#[test]
fn higher_probabilities_have_no_more_positions() {
    let known = |key: u64| Note::Weight((key as f64 + 1.0) / 1_001.0);
    let keys: Vec<_> = (0..1_000).map(|key| (key, known(key))).collect();
    let (members, absent) = keys.split_at(500);
    let filter = built(&config(&KIND, &[("bits", "5000")], 1), members, absent).unwrap();
    let positions: Vec<_> = (0..1_000).map(|key| probes(&filter, key)).collect();
    assert!(positions.windows(2).all(|two| two[0] >= two[1]), "{positions:?}");
}

#[test]
fn certainties_are_clamped() {
    // Those that are always present have no positions, those that never are the most.
    let members: Vec<_> = (0..100).map(|key| (key, Note::Weight(if key < 10 { 1.0 } else { 0.5 }))).collect();
    let absent: Vec<_> = (100..200).map(|key| (key, Note::Weight(if key < 110 { 0.0 } else { 0.5 }))).collect();
    let filter = built(&config(&KIND, &[("bits", "1000"), ("most", "20")], 1), &members, &absent).unwrap();
    assert_eq!((probes(&filter, 0), probes(&filter, 100)), (0, 20));
    assert!((0..100).all(|key| contains(&filter, key)));
    let refused = built(&config(&KIND, &[("bits", "1000")], 1), &[(1, Note::Weight(1.5))], &[]);
    assert!(matches!(refused, Err(Error::Item { .. })));
    let twice = built(&config(&KIND, &[("bits", "1000")], 1), &[(1, Note::Weight(0.5))], &[(1, Note::Weight(0.6))]);
    assert!(matches!(twice, Err(Error::Build { .. })));
}

#[test]
fn other_tables_are_neither_merged_nor_loaded() {
    let [present, absent] = world(1);
    let settings = [("bits", "6000"), ("items", "590"), ("hashes", "6")];
    let make = |absent: &[(u64, Note<'_>)], seed| built(&config(&KIND, &settings, seed), &present, absent).unwrap();
    let (mut filter, same) = (make(&absent, 1), make(&absent, 1));
    filter.merge(&same).unwrap();
    let fewer = make(&absent[..5_000], 1);
    match filter.merge(&fewer) {
        Err(Error::Incompatible { field, .. }) => assert_eq!(field, "table of classes"),
        other => panic!("{other:?}"),
    }
    // A filter without its keys keeps the table; one of the settings alone has none.
    let Reply::Filter(made) = fewer.ask("empty", Argument::Nothing).unwrap() else { panic!("no filter") };
    let mut fewer = AnyFilter::from_made(made).unwrap();
    assert_eq!(fewer.stats().items, 0);
    assert_eq!(probes(&fewer, 2_007), probes(&make(&absent[..5_000], 1), 2_007));
    assert!(fewer.insert().unwrap().insert(crate::capability::Item::from(b"rose".as_slice())).is_ok());
    let frame = filter.to_bytes();
    assert_eq!(AnyFilter::from_bytes(&frame).unwrap().to_bytes(), frame);
}

#[test]
fn a_size_by_rate_has_that_rate() {
    let [present, absent] = world(5);
    let filter = built(&config(&KIND, &[("fpr", "0.01")], 1), &present, &absent).unwrap();
    let bits = filter.config().count("bits").unwrap();
    assert!(bits < 6 * present.len() as u64, "{bits} bits, where a standard filter takes 9.6 per member");
    let rate = figure(&filter, "rate over the declared queries");
    assert!(rate < 0.0125, "{rate}");
}
