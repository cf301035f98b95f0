use super::*;
use crate::AnyFilter;
use crate::capability::Item;
use crate::kind::Config;
use crate::membership::testing::{self, share_found};
use crate::theory::spread::test_sigma_conditional;

const KEYS: u64 = 100_000;

/// The filter of the first keys, through the handle.
fn filled(bits: u64, hashes: &str, keys: u64) -> AnyFilter {
    testing::filled(&KIND, &[("bits", &bits.to_string()), ("hashes", hashes)], keys, 0)
}

#[test]
fn sixteen_bits_per_key_have_the_predicted_fill_and_a_lower_rate_than_a_standard_filter() {
    let filter = filled(16 * KEYS, "13", KEYS);
    let (fill, rate) = (filter.stats().fill.unwrap(), filter.stats().fpr.unwrap());
    assert!((fill - 0.5187).abs() < 0.001, "{fill}");
    assert_eq!(share_found(&filter, 0..KEYS), 1.0, "no false negatives");
    let queries = 2_000_000;
    let found = share_found(&filter, 1 << 40..(1 << 40) + queries);
    assert!((found - rate).abs() < 5.0 * test_sigma_conditional(rate, queries), "{found}, told {rate}");
    // The fill scatters by 0.0002, the rate by 13 times its share.
    assert!(
        (found - 0.000_393).abs() < 5.0 * f64::hypot(test_sigma_conditional(0.000_393, queries), 0.005 * 0.000_393)
    );
    assert!(found < 0.000_459, "{found}");
}

#[test]
fn eight_bits_per_key_are_worse_than_a_standard_filter_and_the_advice_says_so() {
    let filter = filled(8 * KEYS, "7", KEYS);
    let fill = filter.stats().fill.unwrap();
    assert!((fill - 0.5296).abs() < 0.001, "{fill}");
    assert!(share_found(&filter, 1 << 40..(1 << 40) + 200_000) > 0.0216);

    let advice = |bits: &str| {
        let config = Config::new(KIND.facts()).set("items", "1000").unwrap().set("bits", bits).unwrap();
        KIND.advice(&config)
    };
    assert!(advice("8000").is_some_and(|advice| advice.contains("take `standard`")));
    assert_eq!(advice("12000"), None);
}

#[test]
fn a_key_takes_the_family_with_fewer_new_bits_and_one_that_is_there_changes_nothing() {
    let mut filter = TwoChoice::with_size(2_000, 5).unwrap();
    for key in 0..200u64 {
        let digest = filter.hashing().digest_word(key);
        let costs = [0, 1].map(|family| fresh_bits(&filter.mechanism.array, in_family(digest, family)));
        let before = filter.mechanism.array.bits.count_ones();
        assert_eq!(filter.insert(&key), costs[0].min(costs[1]) > 0);
        assert_eq!(filter.mechanism.array.bits.count_ones(), before + costs[0].min(costs[1]));
        assert!(!filter.insert(&key));
    }
}

#[test]
fn a_union_finds_the_keys_of_both() {
    let mut union = filled(20_000, "9", 1_000);
    let mut other = AnyFilter::new(&union.config()).unwrap();
    (1_000..2_000u64)
        .for_each(|key| _ = other.insert().unwrap().insert(Item::from(key.to_le_bytes().as_slice())).unwrap());
    union.merge(&other).unwrap();
    assert_eq!(share_found(&union, 0..2_000), 1.0);
}

#[test]
fn sizing_reaches_the_rate() {
    for (fpr, choices) in [(0.05, 2), (0.01, 2), (0.0001, 2), (0.001, 3), (0.01, 1)] {
        let settings =
            TwoChoiceSettings { items: Some(5_000), fpr: Some(fpr), choices: Some(choices), ..Default::default() };
        let filter = TwoChoice::with(settings).unwrap();
        let rate = filter.expected(5_000).false_positive.unwrap();
        assert!(rate <= fpr * 1.0001 && rate > 0.99 * fpr, "{fpr}: {rate}");
    }
}
