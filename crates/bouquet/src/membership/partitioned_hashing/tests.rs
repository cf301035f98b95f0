use super::*;
use crate::AnyFilter;
use crate::membership::testing::{built, refused, share_found};
use crate::theory::spread::test_sigma_conditional;

#[test]
fn the_rate_is_far_below_that_of_a_standard_filter_of_the_same_bits_table_included() {
    let keys = 20_000;
    for (bits, hashes, most) in [(8, "6", 0.0125), (16, "13", 0.000_19)] {
        let filter = built(&KIND, &[("bits", &(bits * keys).to_string()), ("hashes", hashes)], keys, 1);
        assert_eq!(filter.stats().bits, bits * keys, "the table is counted");
        let told = filter.stats().fpr.unwrap();
        assert!(told <= most, "{bits} bits per key: {told}");
        assert_eq!(share_found(&filter, 0..keys), 1.0);
        let queries = 1_000_000;
        let found = share_found(&filter, 1 << 40..(1 << 40) + queries);
        assert!((found - told).abs() < 5.0 * test_sigma_conditional(told, queries), "{found}, told {told}");
    }
}

#[test]
fn choosing_again_helps_and_more_families_help() {
    let fill = |settings: &[(&str, &str)]| {
        built(&KIND, &[settings, &[("bits", "40000"), ("hashes", "6")]].concat(), 5_000, 2).stats().fill.unwrap()
    };
    let (once, again) = (fill(&[("passes", "0")]), fill(&[("passes", "3")]));
    assert!(again < once - 0.005, "{once}, then {again}");
    let chance = fill(&[("families", "1"), ("passes", "0")]);
    assert!((chance - (1.0 - (-30_000.0 / 40_000.0f64).exp())).abs() < 0.01, "{chance}: nothing is chosen");
    assert!(fill(&[("families", "4")]) < chance);
}

/// 64 of the 84 sets of six among nine functions.
#[test]
fn subsets_of_shared_functions_gain_nearly_as_much() {
    let keys = 20_000;
    let built = |choice| built(&KIND, &[("bits", "160000"), ("hashes", "6"), ("choice", choice)], keys, 1);
    let (seeds, subsets) = (built("seeds"), built("subsets"));
    let [rate, told] = [&seeds, &subsets].map(|filter| filter.stats().fpr.unwrap());
    assert!(rate < told && told < 0.0216, "{rate} with seeds, {told} with subsets, 0.0216 with nothing to choose");
    assert_eq!(share_found(&subsets, 0..keys), 1.0);
    let queries = 1_000_000;
    let found = share_found(&subsets, 1 << 40..(1 << 40) + queries);
    assert!((found - told).abs() < 5.0 * test_sigma_conditional(told, queries), "{found}, told {told}");
    let again = AnyFilter::from_bytes(&subsets.to_bytes()).unwrap();
    assert!((0..keys).all(|key| again.contains().unwrap().contains(&key.to_le_bytes())));
}

#[test]
fn the_plan_is_near_what_is_built() {
    for (items, fpr, choice) in
        [(3_000u64, "0.01", "seeds"), (3_000, "0.001", "seeds"), (300, "0.1", "seeds"), (3_000, "0.01", "subsets")]
    {
        let (mut told, filters) = (0.0, 8);
        for seed in 0..filters {
            let settings = [("items", &*items.to_string()), ("fpr", fpr), ("choice", choice)];
            told += built(&KIND, &settings, items, seed).stats().fpr.unwrap();
        }
        let (mean, asked) = (told / filters as f64, fpr.parse::<f64>().unwrap());
        assert!((0.8 * asked..1.02 * asked).contains(&mean), "{mean}, asked {asked}");
    }
}

#[test]
fn settings_that_cannot_be_had_are_refused_by_name() {
    assert_eq!(refused(&KIND, &[]), "items");
    assert_eq!(refused(&KIND, &[("items", "800"), ("bits", "600")]), "bits");
}
