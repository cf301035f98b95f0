use super::*;
use crate::hash::SplitMix;
use crate::kind::Reply;
use crate::membership::testing;

fn sized(bits: u64, hashes: u32, banks: u64, seed: u64) -> Banked {
    let settings = BankedSettings { bits: Some(bits), hashes: Some(hashes), banks: Some(banks), ..Default::default() };
    Banked::hashed(settings, Hashing::seeded(seed)).unwrap()
}

fn filled(bits: u64, hashes: u32, banks: u64, seed: u64, keys: u64) -> Banked {
    let mut filter = sized(bits, hashes, banks, seed);
    filter.insert_batch(&(0..keys).collect::<Vec<_>>());
    filter
}

#[test]
fn no_two_probes_of_a_key_share_a_bank() {
    for (k, banks) in [(7, 8), (8, 8), (7, 16), (7, 32)] {
        let settings = [("bits", "102400"), ("hashes", &k.to_string()), ("banks", &banks.to_string())];
        let filter = testing::empty(&KIND, &settings, 1);
        let rows = filter.stats().bits / banks;
        let conflicts = (0..1_000_000u64).filter(|&key| {
            let Reply::List(positions) = testing::ask(&filter, "positions", key) else { panic!("no list") };
            let seen = positions.iter().fold(0u64, |seen, at| seen | 1 << (testing::number(at) as u64 / rows));
            positions.len() as u64 != k || u64::from(seen.count_ones()) != k
        });
        assert_eq!(conflicts.count(), 0, "{k} probes in {banks} banks");
    }
    // Banks by chance conflict for most keys.
    let mut random = SplitMix::new(7);
    let mut conflicts = 0;
    for _ in 0..10_000 {
        let banks: std::collections::BTreeSet<_> = (0..7).map(|_| random.below(8)).collect();
        conflicts += u32::from(banks.len() < 7);
    }
    let expected = 1.0 - theory::banks::without_conflict(7, 8);
    assert!((f64::from(conflicts) / 1e4 - expected).abs() < 5.0 * (expected * (1.0 - expected) / 1e4).sqrt());
}

#[test]
fn the_rate_at_ten_bits_per_key_is_the_predicted_one_and_banks_fill_evenly() {
    let (n, queries) = (100_000, 1_000_000);
    for banks in [8, 16, 32] {
        let settings = [("bits", "1000000"), ("hashes", "7"), ("banks", &banks.to_string())];
        let filter = testing::filled(&KIND, &settings, n, 1);
        assert_eq!(testing::found(&filter, 0..n), n, "all members are found");
        let found = testing::share_found(&filter, n..n + queries);
        let expected = filter.expected(n).false_positive.unwrap();
        assert!((expected - 0.008_194).abs() < 3e-6, "{expected}");
        let sigma = theory::spread::test_sigma(filter.stats().bits, n, 7, queries);
        assert!((found - expected).abs() < 5.0 * sigma, "{banks} banks: {found}, expected {expected} +- {sigma}");
        let own = filter.stats().fpr.unwrap();
        let sigma = theory::spread::test_sigma_conditional(own, queries);
        assert!((found - own).abs() < 5.0 * sigma, "{banks} banks: {found}, this content {own}");
        let mean = filter.stats().fill.unwrap();
        // Five standard deviations of a bank's fill: its keys scatter the more, the more banks a key leaves out.
        let allowed = [0.009, 0.0165, 0.026][(banks as u32).ilog2() as usize - 3];
        for name in ["least full bank", "fullest bank"] {
            let fill = testing::real_figure(&filter, name);
            assert!((fill / mean - 1.0).abs() < allowed, "{banks} banks: {name} {fill}, mean {mean}");
        }
    }
}

#[test]
fn small_filters_of_many_banks_have_the_corrected_rate() {
    // 160 keys in 1,600 bits: banks of a key share keys more than by chance, which the simple formula misses.
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut random = SplitMix::new(3);
    let mut filter = sized(1_600, 7, 16, 1);
    for _ in 0..20_000 {
        filter.clear().unwrap();
        (0..160).for_each(|_| {
            filter.insert(&random.next_u64());
        });
        let rate = filter.rate_now();
        (sum, squares) = (sum + rate, squares + rate * rate);
    }
    let mean = sum / 2e4;
    let error = ((squares / 2e4 - mean * mean) / 2e4).sqrt();
    let expected = filter.layout().expected_rate(160);
    assert!((mean - expected).abs() < 5.0 * error, "{mean} +- {error}, expected {expected}");
    assert!((mean - theory::partitioned::banked_rate(1_600, 160, 7)).abs() > 5.0 * error);
}

#[test]
fn batches_by_bank_answer_as_single_calls() {
    // Beyond the size up to which batches go key by key.
    let filter = filled(1 << 26, 7, 16, 4, 2_000_000);
    let keys: Vec<u64> = (1_990_000..2_010_007).collect();
    let mut answers = vec![false; keys.len()];
    filter.contains_batch(&keys, &mut answers);
    assert!(keys.iter().zip(&answers).all(|(key, answer)| filter.contains(key) == *answer));
    assert!(answers[..10_000].iter().all(|answer| *answer));
}

#[test]
fn the_number_of_keys_is_estimated() {
    for (bits, n) in [(1_000, 100), (100_000, 10_000)] {
        let estimate = filled(bits, 7, 8, 2, n).cardinality();
        assert!((estimate.keys - n as f64).abs() < 5.0 * estimate.standard_error, "{estimate:?}");
    }
}
