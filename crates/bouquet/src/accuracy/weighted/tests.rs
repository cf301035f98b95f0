use super::*;
use crate::Bloom;
use crate::accuracy::tabled::testing::{built, config, contains, figure, probes};
use crate::capability::Note;
use crate::hash::SplitMix;
use crate::theory::assignment;

/// 1 % of 200,000 keys get 90 % of the queries; a tenth of all are members; 10 bits per member. The hot ones are listed.
const KEYS: u64 = 200_000;
const HOT: u64 = 2_000;

fn skewed(seed: u64, more: &[(&str, &str)]) -> crate::AnyFilter {
    let note = |key: u64| if key < HOT { Note::Weights(0.9 / HOT as f64, 0.1) } else { Note::None };
    let is_member = |key: u64| key.is_multiple_of(10);
    let members: Vec<_> = (0..KEYS).filter(|key| is_member(*key)).map(|key| (key, note(key))).collect();
    let absent: Vec<_> = (0..HOT).filter(|key| !is_member(*key)).map(|key| (key, note(key))).collect();
    let others = (KEYS - HOT).to_string();
    let settings = [[("bits", "200000"), ("others", &others), ("others-queries", "0.1")].as_slice(), more].concat();
    built(&config(&KIND, &settings, seed), &members, &absent).unwrap()
}

#[test]
fn the_weighted_rate_is_nine_times_lower_at_equal_memory() {
    let (mut hot_seen, mut cold_seen, mut hot_expected, mut cold_expected) = (0u64, 0u64, 0.0, 0.0);
    let (mut rates, filters) = (0.0, 10);
    for seed in 0..filters {
        let filter = skewed(seed, &[]);
        assert!((0..KEYS).step_by(10).all(|key| contains(&filter, key)));
        let fill = filter.stats().fill.unwrap();
        assert!((fill - 0.5).abs() < 0.01, "{fill}");
        assert_eq!((probes(&filter, 1), probes(&filter, HOT + 1)), (17, 7));
        let strangers = |keys: std::ops::Range<u64>| keys.filter(|key| !key.is_multiple_of(10));
        hot_seen += strangers(0..HOT).filter(|key| contains(&filter, *key)).count() as u64;
        cold_seen += strangers(HOT..KEYS).filter(|key| contains(&filter, *key)).count() as u64;
        hot_expected += strangers(0..HOT).count() as f64 * assignment::acceptance(fill, 17.0);
        // The table takes a few others for hot keys.
        cold_expected += strangers(HOT..KEYS).count() as f64 * filter.stats().fpr.unwrap();
        rates += figure(&filter, "rate over the declared queries") / f64::from(filters as u32);
        assert!(figure(&filter, "bits of the table") < 24.0 * HOT as f64);
        assert_eq!(filter.stats().bits as f64, 200_000.0 + figure(&filter, "bits of the table"));
    }
    assert!((hot_seen as f64 - hot_expected).abs() < 5.0 * (hot_expected + 1.0).sqrt(), "{hot_seen} of {hot_expected}");
    assert!((cold_seen as f64 - cold_expected).abs() < 5.0 * cold_expected.sqrt(), "{cold_seen} of {cold_expected}");
    // exp(2.225) = 9.25 below 0.6185^10; whole numbers, 17 and 7 for 16.6 and 6.8, lose less than a tenth of that.
    let gain = 0.618_503_f64.powi(10) / rates;
    assert!((8.4..9.7).contains(&gain), "{gain}");
}

#[test]
fn hashed_rounding_is_the_same_on_both_sides_and_keeps_the_fill() {
    let filter = skewed(7, &[("rounding", "hashed")]);
    assert!((0..KEYS).step_by(10).all(|key| contains(&filter, key)));
    assert!((filter.stats().fill.unwrap() - 0.5).abs() < 0.005);
    let mean = |keys: std::ops::Range<u64>| {
        let count = keys.end - keys.start;
        keys.map(|key| probes(&filter, key)).sum::<u64>() as f64 / count as f64
    };
    assert!((mean(0..HOT) - 16.63).abs() < 0.1 && (mean(HOT..2 * HOT) - 6.84).abs() < 0.1, "{}", mean(0..HOT));
    let cold: Vec<_> = (HOT..KEYS).filter(|key| !key.is_multiple_of(10)).collect();
    let seen = cold.iter().filter(|key| contains(&filter, **key)).count() as f64;
    let expected = cold.len() as f64 * filter.stats().fpr.unwrap();
    assert!((seen - expected).abs() < 5.0 * expected.sqrt(), "{seen} of {expected}");
    let again = crate::AnyFilter::from_bytes(&filter.to_bytes()).unwrap();
    assert!((0..HOT).all(|key| probes(&again, key) == probes(&filter, key)));
}

#[test]
fn no_skew_is_the_standard_filter() {
    let members: Vec<_> = (0..2_000).map(|key| (key, Note::Weights(3.0, 0.5))).collect();
    for settings in [[("bits", "20000")], [("fpr", "0.01")]] {
        let filter = built(&config(&KIND, &settings, 2), &members, &[]).unwrap();
        let kind = crate::registry::find("standard").unwrap();
        let standard = [settings.as_slice(), &[("items", "2000"), ("reduction", "fastrange")]].concat();
        let mut plain = Bloom::from_config(&config(kind, &standard, 2)).unwrap();
        members.iter().for_each(|(key, _)| _ = plain.insert(key));
        let ours = filter.downcast_ref::<Weighted>().unwrap();
        assert_eq!(ours.mechanism().bits().words(), plain.bits().words());
    }
}

#[test]
fn keys_that_are_inserted_later_have_their_class() {
    let note = |key: u64| Note::Weights(if key < 50 { 100.0 } else { 1.0 }, 0.3);
    let members: Vec<_> = (0..100).step_by(2).map(|key| (key, note(key))).collect();
    let absent: Vec<_> = (1..100).step_by(2).map(|key| (key, note(key))).collect();
    let mut filter = built(&config(&KIND, &[("bits", "1000"), ("items", "100")], 4), &members, &absent).unwrap();
    assert!(probes(&filter, 1) > probes(&filter, 51));
    // Weights that come with an insertion change nothing.
    for (key, weights) in [(1u64, Note::Weights(0.0, 1.0)), (51, Note::None), (1_000, Note::Weights(1e9, 0.0))] {
        let before = probes(&filter, key);
        filter.insert().unwrap().insert(crate::capability::Item::new(&key.to_le_bytes(), weights)).unwrap();
        assert!(contains(&filter, key) && probes(&filter, key) == before);
    }
}

#[test]
fn random_models_have_no_false_negatives() {
    let mut random = SplitMix::new(5);
    for round in 0..40u64 {
        let mut note = |_| match random.below(5) {
            0 => Note::None,
            1 => Note::Weights(0.0, random.unit()),
            2 => Note::Weights(random.unit(), if random.below(2) == 0 { 0.0 } else { 1.0 }),
            _ => Note::Weights(random.unit().powi(4) * 1e6, random.unit()),
        };
        let members: Vec<_> = (0..300).map(|key| (key, note(key))).collect();
        let absent: Vec<_> = (300..600).map(|key| (key, note(key))).collect();
        let others = (round % 3 * 1_000).to_string();
        let rounding = ["whole", "hashed"][(round % 2) as usize];
        let settings = [("bits", "3000"), ("others", others.as_str()), ("rounding", rounding)];
        let filter = built(&config(&KIND, &settings, round), &members, &absent).unwrap();
        assert!((0..300).all(|key| contains(&filter, key)), "{round}");
        let again = crate::AnyFilter::from_bytes(&filter.to_bytes()).unwrap();
        assert!((0..2_000).all(|key| contains(&again, key) == contains(&filter, key)));
    }
}
