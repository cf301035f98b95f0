//! What an attacker can do who knows the hash functions.
//!
//! Choosing keys that each set k fresh bits fills the array faster than chance does: fill nk/m instead of 1 - e^(-kn/m). A
//! secret key takes the choice away. Where there can be no secret, fewer probes limit the damage.
//!
//! Source: T. Gerbet, A. Kumar, C. Lauradoux, *The power of evil choices in Bloom filters*, 2015.

use std::f64::consts::E;

use super::special::{amount, power, probability};
use super::{Size, check_bits, check_positive, check_rate, spread};
use crate::Result;

/// min(1, nk/m), the fill that n chosen keys reach.
///
/// ```
/// assert!((bouquet_theory::adversary::polluted_fill(1443, 100, 10) - 0.693).abs() < 5e-4);
/// ```
pub fn polluted_fill(m: u64, n: u64, k: u32) -> f64 {
    if m == 0 { 1.0 } else { probability(n as f64 * f64::from(k) / m as f64) }
}

/// (nk/m)^k, the rate after n chosen keys.
///
/// ```
/// use bouquet_theory::{adversary::polluted_rate, standard::rate};
///
/// let (m, n, k) = (28_854, 2000, 10);
/// assert!((polluted_rate(m, n, k) - 0.0256).abs() < 5e-5);
/// assert!(polluted_rate(m, n, k) > 26.0 * rate(m, n, k));
/// ```
pub fn polluted_rate(m: u64, n: u64, k: u32) -> f64 {
    if m == 0 { 1.0 } else { power(polluted_fill(m, n, k), f64::from(k)) }
}

/// The rate after `honest` random keys, followed by `chosen` ones: each of the latter sets k bits that were zero.
///
/// ```
/// use bouquet_theory::{adversary::{mixed_rate, polluted_rate}, standard::rate};
///
/// assert_eq!(mixed_rate(1000, 0, 100, 7), polluted_rate(1000, 100, 7));
/// assert!((mixed_rate(1000, 100, 0, 7) / rate(1000, 100, 7) - 1.0).abs() < 1e-12);
/// ```
pub fn mixed_rate(m: u64, honest: u64, chosen: u64, k: u32) -> f64 {
    if m == 0 {
        return 1.0;
    }
    let fill = spread::ones(m, honest, k) / m as f64 + chosen as f64 * f64::from(k) / m as f64;
    power(probability(fill), f64::from(k))
}

/// 1/f, the keys that must be tried to find one that passes a filter of rate f: evaluations offline with public hash functions,
/// queries online with a secret key. Infinite for rate 0.
///
/// ```
/// assert_eq!(bouquet_theory::adversary::forgery_cost(0.001), 1000.0);
/// ```
pub fn forgery_cost(rate: f64) -> f64 {
    1.0 / probability(rate)
}

/// k = c/e, the best number of probes if all keys are chosen by an attacker.
///
/// ```
/// assert_eq!(bouquet_theory::adversary::worst_case_hashes(10.0).round(), 4.0);
/// ```
pub fn worst_case_hashes(bits_per_key: f64) -> f64 {
    amount(bits_per_key) / E
}

/// e^(-c/e), the rate under attack at the best real number of probes for it.
///
/// ```
/// use bouquet_theory::adversary::{polluted_rate, worst_case_rate};
///
/// assert!((worst_case_rate(10.0) - 0.0253).abs() < 5e-5);
/// assert!((polluted_rate(10, 1, 4) - 0.0256).abs() < 5e-5); // with four whole probes
/// ```
pub fn worst_case_rate(bits_per_key: f64) -> f64 {
    (-worst_case_hashes(bits_per_key)).exp()
}

/// The smallest filter whose rate is at most the given one even if an attacker chooses all n keys: m = ceil(nk f^(-1/k)), least
/// over k.
///
/// ```
/// use bouquet_theory::adversary::{for_worst_case, polluted_rate};
///
/// let size = for_worst_case(1000, 0.01)?;
/// assert_eq!(size.hashes, 5);
/// assert!(polluted_rate(size.bits, 1000, size.hashes) <= 0.01);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys, the rate is not between 0 and 1, or the filter would be too large.
pub fn for_worst_case(n: u64, rate: f64) -> Result<Size> {
    check_positive("items", n)?;
    check_rate("fpr", rate)?;
    let mut best: Option<(f64, u32)> = None;
    for k in 1..=super::MAX_HASHES {
        let bits = (n as f64 * f64::from(k) * (-rate.ln() / f64::from(k)).exp()).ceil();
        if best.is_none_or(|(least, _)| bits < least) {
            best = Some((bits, k));
        }
    }
    let (bits, hashes) = best.unwrap_or((f64::INFINITY, 1));
    Ok(Size { bits: check_bits(bits)?, hashes })
}

/// The fill above which a filter that claims n keys is not believed: the expected ones plus `deviations` standard deviations,
/// over m; at most 1. Eight deviations reject no honest filter and every all-ones one of sensible design.
///
/// ```
/// use bouquet_theory::adversary::{fill_limit, polluted_fill};
///
/// let limit = fill_limit(1_000_000, 100_000, 7, 8.0);
/// assert!((limit - 0.5056).abs() < 1e-4);
/// assert!(polluted_fill(1_000_000, 100_000, 7) > limit);
/// ```
pub fn fill_limit(m: u64, n: u64, k: u32, deviations: f64) -> f64 {
    if m == 0 {
        return 1.0;
    }
    probability((spread::ones(m, n, k) + amount(deviations) * spread::ones_variance(m, n, k).sqrt()) / m as f64)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;
    use crate::standard;

    #[test]
    fn the_printed_pollution_rates_hold() {
        // At the optimum the fill is ln 2 instead of one half.
        let c = 10.0 / std::f64::consts::LN_2;
        let m = (c * 1e6).round() as u64;
        assert_prints(100.0 * polluted_rate(m, 1_000_000, 10), "2.56");
        assert_prints(100.0 * standard::rate(m, 1_000_000, 10), "0.098");
        assert_prints(polluted_rate(m, 1_000_000, 10) / standard::rate(m, 1_000_000, 10), "26");
        assert_prints(power(std::f64::consts::LN_2, 7.0), "0.077");
        assert_prints(power(0.5, 7.0), "0.0078");
    }

    #[test]
    fn the_worst_case_design_is_the_best_under_attack() {
        assert_prints(polluted_rate(1000, 100, 4), "0.026");
        for k in [1, 2, 3, 5, 6, 7] {
            assert!(polluted_rate(1000, 100, 4) < polluted_rate(1000, 100, k));
        }
        for c in [5.0, 10.0, 20.0f64] {
            let k = worst_case_hashes(c);
            assert_close(power(k / c, k), worst_case_rate(c), 1e-12);
        }
    }

    #[test]
    fn worst_case_sizes_hold_their_rate() {
        for rate in [0.3, 0.01, 1e-6] {
            let size = for_worst_case(1000, rate).unwrap();
            assert!(polluted_rate(size.bits, 1000, size.hashes) <= rate);
            assert!(polluted_rate(size.bits - 1, 1000, size.hashes) > rate);
        }
    }
}
