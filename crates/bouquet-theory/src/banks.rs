//! Banks: memories that serve one access at a time, and filters whose keys never need one of them twice.
//!
//! k probes that choose their banks at random meet in most keys, and the fullest bank says how long a query takes. A banked
//! filter gives every key k different banks out of B, of R rows each. A key touches a given bank with probability k/B and one
//! of its rows with 1/R, so that a bit is zero with probability (1 - k/m)^n, m = B R.
//!
//! Source: M. Breternitz, G. Loh, B. Black, J. Rupley, P. Sassone, W. Attrot, Y. Wu, *A segmented Bloom filter algorithm for
//! efficient predictors*, 2008. The family that XORs a bank with the number of the probe, and its rate, are derived here.

use super::partitioned::banked_rate;
use super::special::{ln_choose, ln_gamma, probability};

/// The probability that k probes which choose among `banks` at random go to different ones.
///
/// ```
/// assert!((bouquet_theory::banks::without_conflict(7, 8) - 0.0192).abs() < 1e-4);
/// ```
pub fn without_conflict(k: u32, banks: u64) -> f64 {
    if u64::from(k) > banks {
        return 0.0;
    }
    if k <= 4_096 {
        return (0..u64::from(k)).map(|i| 1.0 - i as f64 / banks as f64).product();
    }
    let (k, b) = (f64::from(k), banks as f64);
    probability((ln_choose(b, k) + ln_gamma(k + 1.0) - k * b.ln()).exp())
}

/// The accesses of the busiest bank that k probes need on average when they choose among `banks` at random, for k up to 64.
///
/// ```
/// use bouquet_theory::banks::busiest;
/// assert_eq!((busiest(1, 8), busiest(7, 1)), (1.0, 7.0));
/// assert!((busiest(2, 2) - 1.5).abs() < 1e-12);
/// assert!((busiest(7, 8) - 2.3933).abs() < 1e-4);
/// ```
pub fn busiest(k: u32, banks: u64) -> f64 {
    let k = k.min(64) as usize;
    if k == 0 || banks == 0 {
        return 0.0;
    }
    // P(no bank has more than t) = k! [x^k] (sum over j <= t of (x/B)^j / j!)^B, all terms positive.
    let at_most = |most: usize| {
        let mut base = vec![1.0; k + 1];
        for j in 1..=k {
            base[j] = if j > most { 0.0 } else { base[j - 1] / (j as f64 * banks as f64) };
        }
        let (mut product, mut left) = (vec![0.0; k + 1], banks);
        product[0] = 1.0;
        while left > 0 {
            if left % 2 == 1 {
                product = times(&product, &base);
            }
            base = times(&base, &base);
            left /= 2;
        }
        product[k] * (1..=k).map(|i| i as f64).product::<f64>()
    };
    (0..k).map(|most| 1.0 - probability(at_most(most))).sum()
}

/// The product of two polynomials, as far as they go.
fn times(a: &[f64], b: &[f64]) -> Vec<f64> {
    (0..a.len()).map(|degree| (0..=degree).map(|i| a[i] * b[degree - i]).sum()).collect()
}

/// The expected rate of a banked filter in which probe i of a key goes to the bank of the key XOR i.
///
/// With as many banks as probes this is [`banked_rate`], exactly. With more, how full the banks of a key are is correlated:
/// those of other keys overlap with them in part. Two banks that are d apart (by XOR) share the keys of c(d) of the B first
/// banks, where independent ones share k²/B, and the rate is f (1 + z²/(1-z)² n/R² Σ (c/B - k²/B²)) over the pairs, z the
/// share of zeros.
///
/// ```
/// use bouquet_theory::{banks::rate, partitioned::banked_rate};
/// assert_eq!(rate(8_000, 800, 8, 8), banked_rate(8_000, 800, 8));
/// assert!((rate(1_000_000, 100_000, 7, 8) / 0.008_194 - 1.0).abs() < 1e-4);
/// assert!(rate(1_600, 160, 7, 16) > 1.005 * banked_rate(1_600, 160, 7));
/// ```
pub fn rate(m: u64, n: u64, k: u32, banks: u64) -> f64 {
    let independent = banked_rate(m, n, k);
    let probes = u64::from(k.min(64));
    if m == 0 || n == 0 || banks <= probes {
        return independent;
    }
    let (share, b) = (probes as f64 / banks as f64, banks as f64);
    let common = |d: u64| (0..probes).filter(|i| i ^ d < probes).count() as f64;
    let excess: f64 = (0..probes).flat_map(|i| (0..i).map(move |j| i ^ j)).map(|d| common(d) / b - share * share).sum();
    let ones = probability(banked_rate(m, n, k).powf(1.0 / f64::from(k.max(1))));
    if ones == 0.0 {
        return independent;
    }
    let (rows, odds) = (m as f64 / b, (1.0 - ones) / ones);
    // The next terms would keep it from growing without bound where almost nothing is set.
    let correction = (odds * odds * n as f64 / (rows * rows) * excess).clamp(-0.5, 1.0);
    probability(independent * (1.0 + correction))
}
