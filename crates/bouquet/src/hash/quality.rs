//! What digests and index families do to filters, measured: rates, uniformity, and the attack that a secret stops.

use super::digest::{fold, folded};
use super::probes::{ModularProbes, Probes};
use super::*;
use crate::membership::Access;
use crate::store::BitStore;
use crate::{Bloom, UltraFast};

/// A plain bit array, the filter without everything else.
struct Bits(Vec<u64>);

impl Bits {
    fn new(m: u64) -> Self {
        Bits(vec![0; m.div_ceil(64) as usize])
    }

    fn set(&mut self, position: u64) {
        self.0[(position / 64) as usize] |= 1 << (position % 64);
    }

    fn has(&self, position: u64) -> bool {
        self.0[(position / 64) as usize] >> (position % 64) & 1 == 1
    }

    fn ones(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

const M: u64 = 1024;
const K: u32 = 11;

/// The false-positive rate of 4000 filters with 64 keys each, 10,000 queries per filter.
fn small_filter_rate<P: Iterator<Item = u64>>(probes: impl Fn(Digest) -> P) -> f64 {
    let mut random = SplitMix::new(20);
    // One random word and the half that follows from it, as the default digest has them.
    let mut digest = || Digest::from_word(random.next_u64());
    let mut positives = 0_u64;
    for _ in 0..4000 {
        let mut bits = Bits::new(M);
        (0..64).for_each(|_| probes(digest()).for_each(|position| bits.set(position)));
        positives += (0..10_000).filter(|_| probes(digest()).all(|position| bits.has(position))).count() as u64;
    }
    positives as f64 / 4e7
}

#[test]
fn plain_double_hashing_loses_in_small_filters() {
    let plain = small_filter_rate(|digest| ModularProbes::new([digest.h1 % M, digest.h2 % M, 0, 0], M, K));
    assert!(plain > 0.0015, "{plain}");
    let guarded = small_filter_rate(|digest| ModularProbes::of_family(Family::Double, digest, M, K));
    assert!(guarded > 0.001 && guarded < plain, "{guarded}");
}

#[test]
fn enhanced_double_hashing_loses_little_under_every_reduction() {
    let modular = small_filter_rate(|digest| modular_probes(digest, M, K));
    assert!(modular < 0.0006, "{modular}");
    let fast = small_filter_rate(|digest| probes(digest, M, K));
    assert!(fast < 0.0006, "{fast}");
    let narrow = small_filter_rate(|digest| Probes::of_family::<true>(Family::EnhancedDouble, digest, M, K));
    assert!(narrow < 0.0006, "{narrow}");
}

#[test]
fn triple_hashing_loses_little_under_every_reduction() {
    let modular = small_filter_rate(|digest| ModularProbes::of_family(Family::Triple, digest, M, K));
    assert!(modular < 0.0006, "{modular}");
    let fast = small_filter_rate(|digest| Probes::of_family::<false>(Family::Triple, digest, M, K));
    assert!(fast < 0.0006, "{fast}");
    let narrow = small_filter_rate(|digest| Probes::of_family::<true>(Family::Triple, digest, M, K));
    assert!(narrow < 0.0006, "{narrow}");
}

#[test]
fn every_scheme_is_uniform_in_each_of_its_functions() {
    const KEYS: u64 = 100_000;
    let (hashing, keyed) = (Hashing::seeded(30), Hashing::keyed(Secret::new(&[30; 16]).unwrap()));
    for family in Family::ALL.into_iter().filter(|family| family.is_available()) {
        for &reduction in family.reductions() {
            let m = if reduction == Reduction::Mask { 1024 } else { 1000 };
            let (k, scheme) = (family.max_hashes().min(5), Scheme { family, reduction });
            // The keyed path differs from the public one for the families that read keys themselves.
            for hashing in [&hashing, &keyed].into_iter().take(if family.is_replication() { 1 } else { 2 }) {
                let mut counts = vec![vec![0_u32; m as usize]; k as usize];
                for key in 0..KEYS {
                    let positions = scheme.positions(hashing, &mix(key).to_le_bytes(), m, k);
                    counts.iter_mut().zip(positions.iter()).for_each(|(count, &p)| count[p as usize] += 1);
                }
                for (i, count) in counts.iter().enumerate() {
                    let expected = KEYS as f64 / m as f64;
                    let chi: f64 = count.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
                    // Chi-square of m-1 degrees of freedom: mean m-1, variance 2(m-1).
                    let freedom = (m - 1) as f64;
                    assert!((chi - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{scheme:?} function {i}: {chi}");
                }
            }
        }
    }
}

/// Fill and rate of a filter of `m` bits over these keys, the rate by 200,000 random queries.
fn fill_and_rate(hashing: &Hashing, keys: &[[u8; 8]], m: u64, k: u32) -> (f64, f64) {
    let mut bits = Bits::new(m);
    for key in keys {
        probes(hashing.digest(key), m, k).for_each(|position| bits.set(position));
    }
    let query = |i: u64| probes(hashing.digest(&mix(!i).to_le_bytes()), m, k).all(|position| bits.has(position));
    let positives = (0..QUERIES).filter(|&i| query(i)).count();
    (f64::from(bits.ones()) / m as f64, positives as f64 / QUERIES as f64)
}

const QUERIES: u64 = 200_000;

#[test]
fn polluting_keys_fill_an_open_filter_and_do_nothing_to_a_keyed_one() {
    // m = n k / ln 2, so that an honest filter is half full.
    let (n, k, m) = (1000, 7, 10_099);
    let open = Hashing::seeded(0);
    let mut bits = Bits::new(m);
    let mut polluting = Vec::new();
    // The attacker knows the hash: he tries keys until he has n that each set k bits which no other sets.
    for key in (0_u64..).map(u64::to_le_bytes) {
        let mut positions: Positions = probes(open.digest(&key), m, k).collect();
        if positions.distinct().len() == k as usize && positions.iter().all(|&position| !bits.has(position)) {
            positions.iter().for_each(|&position| bits.set(position));
            polluting.push(key);
            if polluting.len() == n {
                break;
            }
        }
    }
    let sigma = |rate: f64| (rate * (1.0 - rate) / QUERIES as f64).sqrt();

    let (fill, rate) = fill_and_rate(&open, &polluting, m, k);
    let worst = (n * k as usize) as f64 / m as f64;
    assert_eq!(fill, worst);
    assert!((rate - worst.powi(7)).abs() < 5.0 * sigma(rate), "{rate} against {}", worst.powi(7));
    assert!((worst.powi(7) - 0.077).abs() < 0.0005);

    let keyed = Hashing::keyed(Secret::new(&[1; 16]).unwrap());
    let (fill, rate) = fill_and_rate(&keyed, &polluting, m, k);
    let honest = 1.0 - (-worst).exp();
    // The number of empty cells has variance m e^-x (1 - (1+x) e^-x) for x balls per cell.
    let spread = ((-worst).exp() * (1.0 - (1.0 + worst) * (-worst).exp()) / m as f64).sqrt();
    assert!((fill - honest).abs() < 5.0 * spread, "{fill} against {honest}");
    assert!((rate - fill.powi(7)).abs() < 5.0 * sigma(rate), "{rate}");
}

/// Rates and fills of 400 filters (n = 1000, m = 10,000, k = 7) under universal functions of their own.
fn universal_filters(member: impl Fn(u64, u64) -> u64, query: impl Fn(u64, u64) -> u64) -> (Vec<f64>, Vec<f64>) {
    let (n, m, queries) = (1000, 10_000, 10_000);
    (0..400)
        .map(|filter| {
            let functions: Vec<_> = UniversalHash::from_seed(filter).take(7).collect();
            let integer = |word: u64| UniversalHash::integer(&Hashing::default(), &word.to_le_bytes());
            let mut bits = Bits::new(m);
            for x in (0..n).map(|i| integer(member(filter, i))) {
                functions.iter().for_each(|hash| bits.set(hash.position(x, m)));
            }
            let found = |i| {
                let x = integer(query(filter, i));
                functions.iter().all(|hash| bits.has(hash.position(x, m)))
            };
            let positives = (0..queries).filter(|&i| found(i)).count();
            (positives as f64 / queries as f64, f64::from(bits.ones()) / m as f64)
        })
        .unzip()
}

fn random_member(filter: u64, i: u64) -> u64 {
    mix(mix(filter) ^ i)
}

fn random_query(filter: u64, i: u64) -> u64 {
    mix(mix(filter) ^ (1 << 40 | i))
}

/// Counted keys spread the rates of single filters from a quarter to more than twice the theory: a record, kept true.
#[test]
fn universal_hashing_of_counted_keys_depends_on_the_function_drawn() {
    let (rates, fills) = universal_filters(|_, i| 1 + i, |_, i| 1001 + i);
    let (least, most) = rates.iter().fold((1.0, 0.0), |(least, most), &r| (r.min(least), r.max(most)));
    assert_eq!((least, most), (0.0023, 0.0199));
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!((mean - 0.008795).abs() < 1e-6, "{mean}");
    assert_eq!(fills.iter().fold((1.0, 0.0), |(l, m), &f: &f64| (f.min(l), f.max(m))), (0.4395, 0.535));
}

#[test]
fn universal_hashing_of_random_keys_behaves_as_a_random_function() {
    let (rates, fills) = universal_filters(random_member, random_query);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let error = |values: &[f64]| {
        let centre = mean(values);
        let variance = values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
        (variance / values.len() as f64).sqrt()
    };
    let fill = 1.0 - (1.0 - 1e-4_f64).powi(7000);
    assert!((mean(&fills) - fill).abs() < 5.0 * error(&fills), "{} against {fill}", mean(&fills));
    assert!((mean(&rates) - fill.powi(7)).abs() < 5.0 * error(&rates), "{} against {}", mean(&rates), fill.powi(7));
}

/// What keys are like, and the key of a number.
type Sort = (&'static str, fn(u64) -> u64);

/// Keys as they come.
const SORTS_OF_NUMBERS: [Sort; 16] = [
    ("random", mix),
    ("counted", |i| i),
    ("counted from far away", |i| (1 << 60) + i),
    ("counted down", |i| i.wrapping_neg()),
    ("tens", |i| 10 * i),
    ("thousands", |i| 1000 * i),
    ("addresses", |i| 0x7F12_3456_0000 + 16 * i),
    ("high halves", |i| i << 32),
    ("pairs of small numbers", |i| i >> 10 << 48 | i & 1023),
    ("the same in both halves", |i| i << 32 | i),
    ("reversed", u64::reverse_bits),
    ("multiples of the golden ratio", |i| i.wrapping_mul(GOLDEN)),
    ("milliseconds", |i| 1_700_000_000_000 + 997 * i),
    ("snowflakes", |i| (1_700_000_000_000 + i / 4) << 22 | i & 3),
    ("floats", |i| (i as f64).to_bits()),
    ("digits", |i| (0..8).fold(0, |text, place| text << 8 | (b'0' as u64 + i / 10_u64.pow(place) % 10))),
];

/// By how many standard deviations fill and rate are off in filters of keys of one sort: the fill against that of random keys, the
/// rate against that of the very content. `word` makes a digest of a key and of what the seed contributes.
fn deviations<L: Access>(layout: &L, key: fn(u64) -> u64, word: fn(u64, u64) -> u64) -> (f64, f64) {
    const KEYS: u64 = 10_000;
    const FILTERS: u64 = 50;
    let (fill, deviation) = layout.expected_fill(KEYS);
    let (mut fills, mut positives, mut expected, mut variance) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..FILTERS {
        let digest = |i| Digest::from_word(word(key(i), folded::flip(seed)));
        let mut bits = BitStore::zeroed(layout.bits()).unwrap();
        (0..KEYS).for_each(|i| {
            layout.set(bits.words_mut(), digest(i));
        });
        let rate = layout.rate_now(&bits);
        fills += bits.fill();
        positives += (KEYS..2 * KEYS).filter(|i| layout.test(bits.words(), digest(*i))).count() as f64;
        expected += KEYS as f64 * rate;
        variance += KEYS as f64 * rate * (1.0 - rate);
    }
    let fills = (fills / FILTERS as f64 - fill) / (deviation / (FILTERS as f64).sqrt());
    (fills, (positives - expected) / variance.sqrt())
}

#[test]
fn filters_of_every_sort_of_numbers_are_as_full_and_as_exact_as_those_of_random_ones() {
    let (flat, split) = (Bloom::with_rate(10_000, 0.01).unwrap(), UltraFast::with_rate(10_000, 0.01).unwrap());
    let (mut once_flat, mut once_split) = (0, 0);
    for (name, key) in SORTS_OF_NUMBERS {
        for (fill, rate) in
            [deviations(flat.layout(), key, folded::hash), deviations(split.layout(), key, folded::hash)]
        {
            assert!(fill.abs() < 5.0 && rate.abs() < 5.0, "{name}: fill off by {fill}, rate by {rate}");
        }
        // What one multiplication does: the reason for two.
        let once = |word: u64, flip: u64| fold(word ^ flip, 0x9FB2_1C65_1E98_DF25);
        let off = |(fill, rate): (f64, f64)| u32::from(fill.abs() > 5.0 || rate.abs() > 5.0);
        once_flat += off(deviations(flat.layout(), key, once));
        once_split += off(deviations(split.layout(), key, once));
    }
    assert_eq!((once_flat, once_split), (9, 12), "of 16 sorts, after one multiplication");
}

#[test]
fn every_bit_of_a_number_changes_every_bit_of_its_digest_half_of_the_time() {
    const KEYS: u64 = 1 << 14;
    let mut changes = [[0_u32; 64]; 64];
    for word in (0..KEYS).map(mix) {
        let hash = folded::hash(word, folded::flip(1));
        for (bit, changes) in changes.iter_mut().enumerate() {
            let change = hash ^ folded::hash(word ^ 1 << bit, folded::flip(1));
            changes.iter_mut().enumerate().for_each(|(i, count)| *count += (change >> i & 1) as u32);
        }
    }
    let sigma = (KEYS as f64).sqrt() / 2.0;
    let off = changes.as_flattened().iter().map(|&count| (f64::from(count) - KEYS as f64 / 2.0).abs() / sigma);
    // Of 4096 cells the worst is off by more than this once in 400 times if all is chance.
    assert!(off.fold(0.0, f64::max) < 5.0);
}
