//! The algebra of filters, measured: union, intersection, estimators, halving, joins.
//!
//! Laws that hold bit for bit are property tests over every layout and scheme of the engine; numbers of the papers are
//! compared with simulations under fixed seeds, within five standard errors.

use std::collections::HashSet;

use bouquet::Bloom;
use bouquet::hash::{Family, Hashing, Reduction};
use bouquet::kind::{Config, Structure};
use bouquet::membership::compressed::Compressed;
use bouquet::membership::partitioned::Partitioned;
use bouquet::membership::{Access, BitFilter};
use bouquet::store::BitStore;
use bouquet::theory::{self, algebra};
use proptest::prelude::*;

/// An empty filter of this size; mask wants a power of two in each slice, which the callers see to.
fn empty<L: Access>(bits: u64, hashes: u32, family: Family, reduction: Reduction) -> BitFilter<L> {
    let settings = [
        ("bits", bits.to_string()),
        ("hashes", hashes.to_string()),
        ("family", family.name().into()),
        ("reduction", reduction.name().into()),
    ];
    let config = Config::new(const { &BitFilter::<L>::FACTS });
    let config = settings.iter().fold(config, |config, (name, text)| config.set(name, text).unwrap());
    BitFilter::from_config(&config).unwrap()
}

fn with_keys<L: Access>(empty: &BitFilter<L>, keys: impl IntoIterator<Item = u64>) -> BitFilter<L> {
    let mut filter = empty.clone();
    keys.into_iter().for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn seeded(bits: u64, hashes: u32, seed: u64) -> Bloom {
    let config = Config::new(bouquet::membership::standard::KIND.facts());
    let config = config.set("bits", &bits.to_string()).unwrap().set("hashes", &hashes.to_string()).unwrap();
    Bloom::from_config(&config.hashed(Hashing::seeded(seed))).unwrap()
}

/// Every scheme: for `standard` and `compressed` all families, for `partitioned` those of a digest.
fn schemes(digest_only: bool) -> impl Iterator<Item = (Family, Reduction)> {
    let published = |family: &Family| matches!(family, Family::Fig2 | Family::SdbmMersenne | Family::SquidMd5);
    let in_this_build = move |family: &Family| cfg!(feature = "replication") || !published(family);
    let families = Family::ALL.into_iter().filter(in_this_build);
    let families = families.filter(move |family| !(digest_only && family.needs_key()));
    families.flat_map(|family| family.reductions().iter().map(move |&reduction| (family, reduction)))
}

/// Whether every one of `a` is one in `b`.
fn within(a: &BitStore, b: &BitStore) -> bool {
    a.words().iter().zip(b.words()).all(|(a, b)| a & !b == 0)
}

/// The laws of union and intersection for two sets of keys in filters of one shape.
fn obeys_the_laws<L: Access>(empty: &BitFilter<L>, a: &HashSet<u64>, b: &HashSet<u64>) {
    let [one, two] = [a, b].map(|keys| with_keys(empty, keys.iter().copied()));
    let union = with_keys(empty, a.union(b).copied());
    let common = with_keys(empty, a.intersection(b).copied());

    let mut either = one.clone();
    either.merge(&two).unwrap();
    assert_eq!(either.bits(), union.bits(), "the OR is the filter of the union");
    let mut turned = two.clone();
    turned.merge(&one).unwrap();
    assert_eq!(turned.bits(), either.bits(), "in either order");
    assert!(either.rate_now() >= one.rate_now().max(two.rate_now()));

    let mut both = one.clone();
    both.intersect(&two).unwrap();
    assert!(within(common.bits(), both.bits()), "the AND holds the filter of the intersection");
    assert!(within(both.bits(), one.bits()) && within(both.bits(), two.bits()));
    assert!(common.rate_now() <= both.rate_now() && both.rate_now() <= one.rate_now().min(two.rate_now()));
    assert!(a.intersection(b).all(|key| both.contains(key)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_union_of_filters_is_the_filter_of_the_union_in_every_layout(
        a in prop::collection::hash_set(0u64..300, 0..120),
        b in prop::collection::hash_set(0u64..300, 0..120),
        bits in 1u64..3_000,
        hashes in 1u32..12,
    ) {
        for (family, reduction) in schemes(false) {
            let bits = if reduction == Reduction::Mask { bits.next_power_of_two() } else { bits };
            let hashes = hashes.min(family.max_hashes());
            obeys_the_laws::<bouquet::membership::standard::Flat>(&empty(bits, hashes, family, reduction), &a, &b);
            obeys_the_laws::<bouquet::membership::compressed::Sparse>(&empty(bits, hashes, family, reduction), &a, &b);
        }
        for (family, reduction) in schemes(true) {
            let slice = bits.div_ceil(hashes.into());
            let slice = if reduction == Reduction::Mask { slice.next_power_of_two() } else { slice };
            let filter = empty(slice * u64::from(hashes), hashes, family, reduction);
            obeys_the_laws::<bouquet::membership::partitioned::Slices>(&filter, &a, &b);
        }
    }

    #[test]
    fn halving_equals_building_at_half_the_size_in_every_layout(
        keys in prop::collection::hash_set(any::<u64>(), 0..200),
        half in 1u64..1_500,
        hashes in 1u32..12,
    ) {
        for (family, reduction) in schemes(false) {
            let half = if reduction == Reduction::Mask { half.next_power_of_two() } else { half };
            let hashes = hashes.min(family.max_hashes());
            let build = |bits| with_keys(&empty::<bouquet::membership::standard::Flat>(bits, hashes, family, reduction), keys.iter().copied());
            let whole = build(2 * half);
            let folded = whole.halved().unwrap();
            prop_assert_eq!(folded.is_some(), family.halving(reduction).is_some());
            if let Some(folded) = folded {
                prop_assert_eq!(folded, build(half));
            }
        }
        for (family, reduction) in schemes(true) {
            let slice = if reduction == Reduction::Mask { half.next_power_of_two() } else { half };
            let slices = u64::from(hashes);
            let build = |slice| with_keys(&empty::<bouquet::membership::partitioned::Slices>(slice * slices, hashes, family, reduction), keys.iter().copied());
            let whole = build(2 * slice);
            let foldable = family.halving(reduction).is_some() && whole.layout().slice_bits() == 2 * slice;
            let folded = whole.halved().unwrap();
            prop_assert_eq!(folded.is_some(), foldable);
            if let Some(folded) = folded {
                prop_assert_eq!(folded, build(slice));
            }
        }
    }
}

#[test]
fn an_intersection_is_exact_as_often_as_predicted() {
    let (bits, hashes, only, trials) = (4096, 4, 10u64, 6_000u64);
    let bound = algebra::intersection_is_exact_bound(bits, hashes, only, only);
    assert!((bound - 0.6766).abs() < 5e-5, "{bound}");
    for (common, printed) in [(0, None), (300, Some(0.7493))] {
        let exact = (0..trials).filter(|&seed| {
            let filter = seeded(bits, hashes, seed);
            let shared = with_keys(&filter, 0..common);
            let mut both = with_keys(&shared, 1_000..1_000 + only);
            both.intersect(&with_keys(&shared, 2_000..2_000 + only)).unwrap();
            both.bits() == shared.bits()
        });
        let measured = exact.count() as f64 / trials as f64;
        let expected = algebra::intersection_is_exact(bits, hashes, only, only, common);
        if let Some(printed) = printed {
            assert!((expected - printed).abs() < 5e-5, "{expected}");
            assert!((measured - 0.745).abs() < 5.0 * (0.745 * 0.255 / trials as f64).sqrt(), "{measured}");
        }
        let sigma = (expected * (1.0 - expected) / trials as f64).sqrt();
        assert!((measured - expected).abs() < 5.0 * sigma, "{measured} for {expected} +- {sigma}");
        // The published number is a bound from below, and with common keys not a tight one.
        assert!(measured > bound - 5.0 * sigma && (common == 0 || measured > bound + 5.0 * sigma));
    }
}

/// Two filters of `n` keys each, `common` of them in both.
fn overlapping<L: Access>(empty: &BitFilter<L>, n: u64, common: u64) -> (BitFilter<L>, BitFilter<L>) {
    (with_keys(empty, 0..n), with_keys(empty, n - common..2 * n - common))
}

#[test]
fn estimates_lie_within_five_standard_errors() {
    let (bits, hashes, n) = (1_000_000, 7, 50_000);
    for (common, union_error, common_error) in [(10_000u64, 71.1, 48.3), (1_000, 79.1, 58.7)] {
        for seed in 0..40 {
            let empty = seeded(bits, hashes, seed);
            let (a, b) = overlapping(&empty, n, common);
            let overlap = a.overlap(&b).unwrap();
            for (estimate, truth, error) in [
                (a.cardinality(), n, 37.5),
                (b.cardinality(), n, 37.5),
                (overlap.union, 2 * n - common, union_error),
                (overlap.intersection, common, common_error),
            ] {
                let off = (estimate.keys - truth as f64).abs();
                assert!(off < 5.0 * estimate.standard_error, "{estimate:?} for {truth}");
                assert!((estimate.standard_error / error - 1.0).abs() < 0.02, "{estimate:?} for +- {error}");
                assert!(!estimate.saturated);
            }
            let similarity = common as f64 / (2 * n - common) as f64;
            let slack =
                5.0 * (overlap.intersection.standard_error + overlap.union.standard_error) / (2 * n - common) as f64;
            assert!((overlap.jaccard - similarity).abs() < slack);
        }
    }
    let full = with_keys(&seeded(bits, hashes, 0), 0..100_000);
    assert_eq!(full.cardinality().standard_error.round(), 80.0);
}

/// Mean and standard deviation of the estimated intersections, and the mean of their stated errors.
fn spread_of_intersections<L: Access>(empty: impl Fn(u64) -> BitFilter<L>, n: u64, common: u64) -> (f64, f64, f64) {
    let runs = 400;
    let found: Vec<_> = (0..runs)
        .map(|seed| {
            let (a, b) = overlapping(&empty(seed), n, common);
            a.overlap(&b).unwrap().intersection
        })
        .collect();
    let mean = |values: &dyn Fn(usize) -> f64| (0..found.len()).map(values).sum::<f64>() / found.len() as f64;
    let keys = mean(&|i| found[i].keys);
    let variance = mean(&|i| (found[i].keys - keys).powi(2)) * runs as f64 / (runs - 1) as f64;
    (keys, variance.sqrt(), mean(&|i| found[i].standard_error))
}

#[test]
fn the_error_of_an_intersection_is_the_measured_one_in_every_layout() {
    // A tenth of the sizes above: equal loads, so errors smaller by sqrt(10).
    let (bits, hashes, n) = (100_000, 7, 5_000);
    let sliced = |seed| {
        let config = Config::new(bouquet::membership::partitioned::KIND.facts());
        let config = config.set("bits", &bits.to_string()).unwrap().set("hashes", &hashes.to_string()).unwrap();
        Partitioned::from_config(&config.hashed(Hashing::seeded(seed))).unwrap()
    };
    for common in [1_000, 100] {
        for (keys, measured, stated) in [
            spread_of_intersections(|seed| seeded(bits, hashes, seed), n, common),
            spread_of_intersections(sliced, n, common),
        ] {
            assert!((keys - common as f64).abs() < 5.0 * stated / 20.0, "{keys} for {common}");
            // The deviation of 400 values scatters by 1/sqrt(800) of itself.
            assert!((measured / stated - 1.0).abs() < 5.0 / 800f64.sqrt(), "measured {measured}, stated {stated}");
        }
    }
}

#[test]
fn stated_errors_are_those_of_the_theory() {
    let (a, b) = overlapping(&seeded(100_000, 7, 3), 5_000, 1_000);
    let zeros = |bits: &BitStore| bits.len() - bits.count_ones();
    let mut both = a.bits().clone();
    both.and(b.bits()).unwrap();
    let expected = algebra::intersection_size(100_000, 7, zeros(a.bits()), zeros(b.bits()), zeros(&both)).unwrap();
    let found = a.overlap(&b).unwrap().intersection;
    assert!((found.keys - expected.value).abs() < 1e-6 && (found.standard_error / expected.error - 1.0).abs() < 1e-9);
}

#[test]
fn slices_count_keys_as_well_as_one_array_does() {
    for seed in 0..40 {
        let config = Config::new(bouquet::membership::partitioned::KIND.facts());
        let config = config.set("bits", "1e6").unwrap().set("hashes", "7").unwrap().hashed(Hashing::seeded(seed));
        let estimate = with_keys(&Partitioned::from_config(&config).unwrap(), 0..100_000).cardinality();
        assert!((estimate.keys - 1e5).abs() < 5.0 * estimate.standard_error, "{estimate:?}");
        assert_eq!(estimate.standard_error.round(), 80.0);
    }
}

#[test]
fn the_inner_product_is_the_predicted_one() {
    let (bits, hashes, n, common, runs) = (10_000, 7, 1_000, 200, 200);
    let expected = algebra::inner_product(bits, hashes, n, n, common);
    assert!((expected - 2905.0).abs() < 0.05, "{expected}");
    let products: Vec<f64> = (0..runs)
        .map(|seed| {
            let (mut a, b) = overlapping(&seeded(bits, hashes, seed), n, common);
            a.intersect(&b).unwrap();
            a.bits().count_ones() as f64
        })
        .collect();
    let mean = products.iter().sum::<f64>() / runs as f64;
    let variance = products.iter().map(|product| (product - mean).powi(2)).sum::<f64>() / (runs - 1) as f64;
    let error = (variance / runs as f64).sqrt();
    assert!((mean - expected).abs() < 5.0 * error, "{mean} +- {error} for {expected}");
}

#[test]
fn halving_keeps_the_keys_and_has_the_rate_of_the_smaller_size() {
    let (bits, hashes, n, queries) = (200_000, 7, 10_000, 1_000_000);
    let half = with_keys(&seeded(bits, hashes, 0), 0..n).halved().unwrap().unwrap();
    assert!((0..n).all(|key| half.contains(&key)));
    let found = (n..n + queries).filter(|key| half.contains(key)).count() as f64 / queries as f64;
    let sigma = theory::spread::test_sigma(bits / 2, n, hashes, queries);
    assert!((found - algebra::halved_rate(bits, n, hashes)).abs() < 5.0 * sigma, "{found}");
}

/// A Bloomjoin as two sites run it: the bytes that travel, and the common keys that are found.
fn bloomjoin(bits: u64, here: &[[u8; 20]], there: &[[u8; 20]]) -> (usize, Vec<[u8; 20]>) {
    let hashes = theory::standard::for_bits(bits, here.len() as u64).unwrap().hashes;
    let mut filter = Bloom::with_size(bits, hashes).unwrap();
    here.iter().for_each(|key| {
        filter.insert(key);
    });
    let answer: Vec<_> = there.iter().filter(|key| filter.contains(*key)).copied().collect();
    let sent = bits.div_ceil(8) as usize + answer.len() * 20;
    let own: HashSet<_> = here.iter().collect();
    (sent, answer.into_iter().filter(|key| own.contains(key)).collect())
}

#[test]
fn a_bloomjoin_sends_the_predicted_bytes_and_least_at_the_predicted_size() {
    let key = |number: u64| {
        let mut key = [0; 20];
        key[..8].copy_from_slice(&number.to_le_bytes());
        key
    };
    let (sent, other, common) = (10_000, 300_000, 500);
    let here: Vec<_> = (0..sent).map(key).collect();
    let there: Vec<_> = (sent - common..sent - common + other).map(key).collect();
    let best = algebra::best_bloomjoin(sent, other, common, 20).unwrap().bits;
    let mut costs = Vec::new();
    for bits in [best / 2, best, best * 2] {
        let (bytes, joined) = bloomjoin(bits, &here, &there);
        assert_eq!(joined, here[(sent - common) as usize..], "the join is exact");
        let size = theory::standard::for_bits(bits, sent).unwrap();
        let predicted = algebra::bloomjoin_bytes(size, sent, other, common, 20);
        let strangers = other - common;
        let sigma = theory::spread::test_sigma(bits, sent, size.hashes, strangers) * strangers as f64 * 20.0;
        assert!((bytes as f64 - predicted).abs() < 5.0 * sigma + 1.0, "{bytes} for {predicted} +- {sigma}");
        costs.push(bytes);
    }
    assert!(costs[1] < costs[0] && costs[1] < costs[2], "{costs:?}");
}

#[test]
fn layouts_of_equal_bits_do_not_mix() {
    let flat = Bloom::with_size(1_001, 7).unwrap().to_bytes();
    assert!(Partitioned::from_bytes(&flat).is_err() && Compressed::from_bytes(&flat).is_err());
}
