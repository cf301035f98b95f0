use super::*;
use crate::hash::Hashing;
use crate::kind::{Config, Setting};
use crate::membership::Layout;
use crate::theory::spread::test_sigma_conditional;

fn made(bits: u64, hashes: u32, g: u32, seed: u64) -> BloomG {
    let config = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
    let settings = [("bits", bits), ("hashes", hashes.into()), ("words-per-key", g.into())];
    let config = settings.into_iter().fold(config, |c, (name, value)| c.with(name, Setting::Count(value)).unwrap());
    BloomG::from_config(&config).unwrap()
}

#[test]
fn rates_are_the_exact_ones_and_two_words_cut_the_rate_to_less_than_a_third() {
    let mut measured = Vec::new();
    for (per_key, g, hashes, expected) in
        [(10, 1, 5, 0.017_84), (10, 2, 6, 0.010_27), (16, 1, 6, 0.004_052), (16, 2, 8, 0.001_125)]
    {
        let (mut found, mut now, mut squares) = (0, 0.0, 0.0);
        for seed in 0..30 {
            let mut filter = made(per_key * 100_000, hashes, g, seed);
            (0..100_000u64).for_each(|key| {
                filter.insert(&key);
            });
            found += (100_000..200_000u64).filter(|key| filter.contains(key)).count();
            now += filter.rate_now() / 30.0;
            squares += filter.rate_now().powi(2) / 30.0;
        }
        let rate = found as f64 / 3e6;
        let spread = ((squares - now * now).max(0.0) / 29.0).sqrt();
        assert!((rate - now).abs() < 5.0 * test_sigma_conditional(now, 3_000_000), "g={g}: {rate} {now}");
        assert!((now - expected).abs() < 5.0 * spread + 5e-6, "g={g}: {now} +- {spread} against {expected}");
        measured.push(rate);
    }
    assert!(measured[3] < 0.3 * measured[2]);
}

#[test]
fn a_query_reads_g_words_chosen_independently() {
    for g in 1..=4 {
        let filter = made(1 << 20, 8, g, 1);
        let mut equal = 0;
        for key in 0..20_000u64 {
            let digest = Hashing::seeded(1).digest(&key.to_le_bytes());
            let mut words: Vec<u64> = Vec::new();
            filter.layout().all(digest, |position| {
                words.push(position / 64);
                true
            });
            words.dedup();
            assert!(words.len() <= g as usize);
            equal += usize::from(words.len() < g as usize);
        }
        // Two of g words coincide by chance, with probability about C(g,2) / l, and not more often.
        let expected = 20_000.0 * f64::from(g * (g - 1) / 2) / 16_384.0;
        assert!((equal as f64 - expected).abs() <= 5.0 * expected.sqrt() + 1e-9, "g={g}: {equal} {expected}");
    }
}

#[test]
fn positions_that_g_does_not_divide_go_to_the_first_words() {
    let filter = made(1 << 20, 7, 3, 1);
    let mut positions = Vec::new();
    filter.layout().all(Hashing::seeded(1).digest(b"rose"), |position| {
        positions.push(position / 64);
        true
    });
    let counts: Vec<_> = positions.chunk_by(|a, b| a == b).map(<[u64]>::len).collect();
    assert_eq!(counts, [3, 2, 2]);
}
