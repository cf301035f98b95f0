use super::*;
use crate::hash::SplitMix;
use crate::theory::standard;

const MULTIPLICITIES: [u64; 6] = [1, 2, 4, 8, 16, 32];
const KEYS: u64 = 3_000;

fn multiplicity(key: u64) -> u64 {
    MULTIPLICITIES[(key % 6) as usize]
}

/// 3,000 keys with their multiplicities in random order.
fn filled(mut filter: Adaptive, seed: u64) -> Adaptive {
    let mut stream: Vec<u64> = (0..KEYS).flat_map(|key| std::iter::repeat_n(key, multiplicity(key) as usize)).collect();
    let mut random = SplitMix::new(seed);
    for i in (1..stream.len()).rev() {
        stream.swap(i, random.below(i as u64 + 1) as usize);
    }
    stream.iter().for_each(|key| assert!(filter.insert(key).is_ok()));
    filter
}

fn seeded(sized: &Adaptive, seed: u64) -> Adaptive {
    Adaptive::hashed(sized.settings(), Hashing::seeded(seed)).unwrap()
}

/// The mean of `of` over the keys of each multiplicity, over some seeds.
fn means(filters: &[Adaptive], of: impl Fn(&Adaptive, u64) -> f64) -> [f64; 6] {
    std::array::from_fn(|i| {
        let keys = || (0..KEYS).filter(|key| key % 6 == i as u64);
        let sum: f64 = filters.iter().flat_map(|filter| keys().map(|key| of(filter, key))).sum();
        sum / (keys().count() * filters.len()) as f64
    })
}

fn check_estimates(filters: &[Adaptive]) {
    for filter in filters {
        assert!((0..KEYS).all(|key| filter.count(&key).count >= multiplicity(key)), "never below the truth");
    }
    let estimates = means(filters, |filter, key| filter.estimate(&key));
    for (f, mean) in MULTIPLICITIES.into_iter().zip(estimates).filter(|(f, _)| *f >= 4) {
        assert!((mean / f as f64 - 1.0).abs() < 0.05, "{f}: {mean}");
    }
}

/// The mean raw count of the keys that came f times, f (1 + G) + g, and its standard deviation: every scan passes a
/// geometric number of ones, with variance g (1 + g) for its own g, of which the mean is G; g is convex in the fill
/// and below its last value, so that the mean of g^2 is below G g(now).
fn expected_raw(filters: &[Adaptive], f: u64) -> (f64, f64) {
    let (mut mean, mut variance) = (0.0, 0.0);
    for filter in filters {
        let (now, before) = (adaptive::foreign_ones(filter.mechanism.count_fill()), filter.mean_foreign_ones());
        mean += f as f64 * (1.0 + before) + now;
        variance += f as f64 * before * (1.0 + now) + now * (1.0 + now);
    }
    let (seeds, keys) = (filters.len() as f64, (KEYS / 6) as f64);
    (mean / seeds, (variance / seeds / (seeds * keys)).sqrt())
}

const QUERIES: u64 = 300_000;

fn rate(filter: &Adaptive) -> f64 {
    (1 << 40..(1 << 40) + QUERIES).filter(|key: &u64| filter.contains(key)).count() as f64 / QUERIES as f64
}

#[test]
fn corrected_counts_are_right_on_average_where_raw_ones_are_too_high() {
    let shared = Adaptive::with_size(100_000, 5).unwrap();
    let filters: Vec<_> = (0..4).map(|seed| filled(seeded(&shared, seed), seed)).collect();
    check_estimates(&filters);
    let raw = means(&filters, |filter, key| filter.count(&key).count as f64);
    for (f, raw) in MULTIPLICITIES.into_iter().zip(raw) {
        let (expected, sigma) = expected_raw(&filters, f);
        assert!((raw - expected).abs() < 5.0 * sigma, "{f}: {raw}, expected {expected} with sigma {sigma}");
    }
    assert!((raw[5] - 45.0).abs() < 1.0, "{raw:?}");

    let (bits, hashes) = (100_000, 5);
    let expected = adaptive::random_order_fill(bits, hashes, &MULTIPLICITIES.map(|times| (KEYS / 6, times)));
    // Of the kn membership bits each meets a one or not; the more did, the fewer do, so that the ones scatter less
    // than this many independent draws.
    let (probes, insertions) = ((KEYS * u64::from(hashes)) as f64, filters[0].items() as f64);
    let met = (probes + insertions - expected * bits as f64) / probes;
    let fill_sigma = (probes * met * (1.0 - met)).sqrt() / bits as f64;
    for filter in &filters {
        assert!(
            (filter.mechanism.count_fill() - expected).abs() < 5.0 * fill_sigma,
            "{} {expected}",
            filter.mechanism.count_fill()
        );
    }
    // The rate of 0.44, rounded, is 0.0165; that of the fill itself, 0.4449, is 0.0174.
    assert!((expected - 0.44).abs() < 0.005 && (expected.powi(5) - 0.017_424_7).abs() < 1e-7, "{expected}");
    let found = filters.iter().map(rate).sum::<f64>() / 4.0;
    let queries = spread::test_sigma_conditional(expected.powi(5), 4 * QUERIES);
    let sigma = queries.hypot(5.0 * expected.powi(4) * fill_sigma / 2.0);
    assert!((found - expected.powi(5)).abs() < 5.0 * sigma, "{found}, expected {}", expected.powi(5));
}

#[test]
fn a_vector_of_its_own_for_counts_keeps_membership_clean() {
    let split = Adaptive::split_with_size(50_000, 50_000, 5).unwrap();
    // 31,500 insertions fill 63 % of the vector of counts.
    let filters: Vec<_> = (0..4).map(|seed| filled(seeded(&split, seed), seed)).collect();
    check_estimates(&filters);
    for filter in &filters {
        assert_eq!(filter.mechanism.count_fill(), filter.items() as f64 / 50_000.0);
        assert_eq!(filter.count_bits().count_ones(), filter.items());
        let expected = adaptive::mean_foreign_ones(filter.mechanism.count_fill());
        assert!((filter.mean_foreign_ones() / expected - 1.0).abs() < 1e-3);
    }
    let raw = means(&filters, |filter, key| filter.count(&key).count as f64);
    for (f, raw) in MULTIPLICITIES.into_iter().zip(raw) {
        let (expected, sigma) = expected_raw(&filters, f);
        assert!((raw - expected).abs() < 5.0 * sigma, "{f}: {raw}, expected {expected} with sigma {sigma}");
    }
    let found = filters.iter().map(rate).sum::<f64>() / 4.0;
    let expected = standard::rate(50_000, KEYS, 5);
    let sigma = spread::test_sigma(50_000, KEYS, 5, QUERIES) / 2.0;
    assert!((expected - 0.001).abs() < 4e-4 && (found - expected).abs() < 5.0 * sigma, "{found} {expected}");
}

#[test]
fn the_planned_rate_allows_for_all_insertions() {
    let filter = Adaptive::with_insertions(3_000, 31_500, 0.01).unwrap();
    let planned = AdaptiveBits::plan(&filter.settings()).unwrap().fpr.unwrap();
    let filter = filled(filter, 1);
    let (found, sigma) = (rate(&filter), spread::test_sigma_conditional(planned, QUERIES));
    assert!(planned <= 0.01 && found <= planned + 5.0 * sigma && found > planned / 2.0, "{found}, planned {planned}");
}

#[test]
fn a_full_vector_refuses_and_stays_as_it_is() {
    let shared = [(200, 3), (10, 7), (1, 1)].map(|(bits, hashes)| Adaptive::with_size(bits, hashes).unwrap());
    let split = Adaptive::split_with_size(40, 30, 3).unwrap();
    for empty in shared.iter().chain([&split]) {
        let (mut filter, settings) = (seeded(empty, 1), empty.settings());
        let mut model = std::collections::HashMap::new();
        let mut refusals = 0;
        for step in 0..400u64 {
            let (key, before) = (step % 7, filter.clone());
            match filter.insert(&key) {
                Ok(_) => *model.entry(key).or_insert(0) += 1,
                Err(Error::Full { .. }) => {
                    refusals += 1;
                    assert_eq!(filter, before);
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(refusals > 0, "{settings:?}");
        assert!(model.iter().all(|(key, &times)| filter.count(key).count >= times), "{settings:?}");
    }
}

#[test]
fn a_forged_full_vector_is_still_asked_in_finite_time() {
    let mut filter = Adaptive::with_size(1_000, 3).unwrap();
    (0..1_000).for_each(|position| assert!(filter.mechanism.array.bits.set(position)));
    let mut filter = Adaptive::from_bytes(&filter.to_bytes()).unwrap();
    assert!(filter.count("rose").at_least);
    assert!(matches!(filter.insert("rose"), Err(Error::Full { .. })));
}

#[test]
fn counts_go_far_beyond_the_positions_of_one_round() {
    let mut filter = Adaptive::split_with_size(1_000, 25_000, 5).unwrap();
    (0..5_000).for_each(|_| assert!(filter.insert("rose").is_ok()));
    let told = filter.count("rose");
    assert!(told.count >= 5_000 && !told.at_least);
    assert!((filter.estimate("rose") / 5_000.0 - 1.0).abs() < 0.02, "{}", filter.estimate("rose"));
}
