//! One array of m bits, n keys, k probes each: the rate of Bloom's filter, its optimum, and how to size one.
//!
//! Three rates are told apart, each nearer to the truth and dearer than the one before:
//!
//! ```text
//! f  = (1 - e^(-kn/m))^k          limit_rate     the textbook's; scale-free, a function of m/n and k
//! f' = (1 - (1-1/m)^(kn))^k       rate           the expected fill, raised to the k-th power
//! f* = E[(X/m)^k]                 expected_rate  X = ones in the array: what averaging over filters measures
//! ```
//!
//! f <= f' <= f*, because the k-th power of a mean is below the mean of the k-th powers. The gap matters for small filters
//! (5 % at m = 64) and vanishes like 1/m. Sizing uses f, as all the literature does.
//!
//! Sources: B. H. Bloom, 1970; A. Broder, M. Mitzenmacher, *Network applications of Bloom filters*, 2004, section 2;
//! P. Bose et al., *On the false-positive rate of Bloom filters*, 2008.

use std::f64::consts::LN_2;

use super::occupancy::{Occupancy, hit_weights};
use super::special::{amount, ln_miss, ln_one_minus_exp, positive, power, probability};
use super::{MAX_HASHES, Size, check_bits, check_positive, check_rate, spread};
use crate::{Error, Result};

/// The largest array whose exact rate is computed by [`exact_rate`]; above it [`corrected_rate`] errs by less than one
/// part in 10^7 for sensible filters.
pub const EXACT_LIMIT: u64 = 20_000;

/// p' = (1 - 1/m)^(kn), the expected fraction of zeros (Broder, Mitzenmacher, section 2.1).
///
/// ```
/// use bouquet_theory::standard::zeros;
///
/// assert!((zeros(1_000_000, 100_000, 7) - 0.4965852).abs() < 1e-7);
/// assert_eq!(zeros(1, 1, 1), 0.0);
/// assert_eq!(zeros(8, 0, 3), 1.0);
/// ```
pub fn zeros(m: u64, n: u64, k: u32) -> f64 {
    ln_miss(m as f64, balls(n, k)).exp()
}

/// p = e^(-kn/m), the limit of [`zeros`] for large m.
///
/// ```
/// use bouquet_theory::standard::{limit_zeros, zeros};
///
/// assert!((limit_zeros(10.0, 7) - (-0.7f64).exp()).abs() < 1e-15);
/// assert!(zeros(1000, 100, 7) < limit_zeros(10.0, 7));
/// ```
pub fn limit_zeros(bits_per_key: f64, k: u32) -> f64 {
    (-load(bits_per_key, f64::from(k))).exp()
}

/// f' = (1 - (1-1/m)^(kn))^k, the classic rate (Broder, Mitzenmacher, section 2.1).
///
/// ```
/// use bouquet_theory::standard::rate;
///
/// assert!((rate(1_000_000, 100_000, 7) - 0.0081937).abs() < 5e-8);
/// assert_eq!(rate(64, 0, 3), 0.0);
/// assert_eq!(rate(0, 5, 3), 1.0);
/// ```
pub fn rate(m: u64, n: u64, k: u32) -> f64 {
    rate_of_balls(m as f64, balls(n, k), f64::from(k))
}

/// f' with the number of thrown balls apart from the number of probes.
pub(crate) fn rate_of_balls(m: f64, balls: f64, k: f64) -> f64 {
    if k == 0.0 || m <= 0.0 {
        return 1.0;
    }
    power(-ln_miss(m, balls).exp_m1(), k)
}

/// f = (1 - e^(-k/c))^k, the limit of [`rate`] for large filters of c bits per key (Broder, Mitzenmacher, section 2.1).
///
/// ```
/// use bouquet_theory::standard::limit_rate;
///
/// assert!((limit_rate(8.0, 6) - 0.0216).abs() < 5e-5);
/// ```
pub fn limit_rate(bits_per_key: f64, k: u32) -> f64 {
    log_rate(bits_per_key, f64::from(k)).exp()
}

/// g = ln f = k ln(1 - e^(-k/c)) for real k: what the optimum minimises (Broder, Mitzenmacher, section 2.1).
///
/// ```
/// use bouquet_theory::standard::{best_hashes, log_rate};
///
/// let k = best_hashes(10.0);
/// assert!(log_rate(10.0, k) < log_rate(10.0, k + 0.1) && log_rate(10.0, k) < log_rate(10.0, k - 0.1));
/// ```
pub fn log_rate(bits_per_key: f64, k: f64) -> f64 {
    let k = amount(k);
    if k == 0.0 {
        return 0.0;
    }
    k * ln_one_minus_exp(-load(bits_per_key, k))
}

/// dg/dk = ln(1-p) + (k/c) p/(1-p) with p = e^(-k/c): zero at the optimum, negative below it.
///
/// ```
/// use bouquet_theory::standard::{best_hashes, log_rate_slope};
///
/// assert!(log_rate_slope(10.0, best_hashes(10.0)).abs() < 1e-12);
/// assert!(log_rate_slope(10.0, 3.0) < 0.0);
/// ```
pub fn log_rate_slope(bits_per_key: f64, k: f64) -> f64 {
    let x = load(bits_per_key, amount(k));
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    // p/(1-p) = 1/(e^x - 1).
    ln_one_minus_exp(-x) + if x > 700.0 { 0.0 } else { x / x.exp_m1() }
}

/// g as a function of the fraction of zeros: ln f = -c ln p ln(1-p), symmetric in p and 1-p, so least at p = 1/2.
///
/// ```
/// use bouquet_theory::standard::{log_rate_at_fill, optimal_rate};
///
/// assert!((log_rate_at_fill(10.0, 0.5).exp() - optimal_rate(10.0)).abs() < 1e-15);
/// assert_eq!(log_rate_at_fill(10.0, 0.25), log_rate_at_fill(10.0, 0.75));
/// ```
pub fn log_rate_at_fill(bits_per_key: f64, zeros: f64) -> f64 {
    let p = probability(zeros);
    if p == 0.0 || p == 1.0 {
        return 0.0;
    }
    -amount(bits_per_key) * (p.ln() * (1.0 - p).ln())
}

/// k = c ln 2, the best number of probes when it need not be whole; 9c/13 is a good fraction for it.
///
/// ```
/// assert!((bouquet_theory::standard::best_hashes(13.0) - 9.0).abs() < 0.02);
/// ```
pub fn best_hashes(bits_per_key: f64) -> f64 {
    amount(bits_per_key) * LN_2
}

/// f = 2^(-c ln 2) = 0.6185^c, the rate at the best real number of probes.
///
/// ```
/// assert!((bouquet_theory::standard::optimal_rate(1.0) - 0.618503).abs() < 5e-7);
/// ```
pub fn optimal_rate(bits_per_key: f64) -> f64 {
    (-amount(bits_per_key) * LN_2 * LN_2).exp()
}

/// c = log2(1/f) / ln 2 = 1.44 log2(1/f), the bits per key of a rate at the best real number of probes; infinite for rate 0.
///
/// ```
/// assert!((bouquet_theory::standard::optimal_bits_per_key(0.01) - 9.585).abs() < 5e-4);
/// ```
pub fn optimal_bits_per_key(rate: f64) -> f64 {
    (-probability(rate).ln() / (LN_2 * LN_2)).max(0.0)
}

/// f* = E[(X/m)^k], the exact rate (Bose et al., 2008), for arrays of at most [`EXACT_LIMIT`] bits.
///
/// Adds one ball at a time to the law of the number of ones; costs about k n sqrt(m) steps.
///
/// ```
/// use bouquet_theory::standard::{exact_rate, rate};
///
/// // Two bits, one key, two probes: half of the filters are full and accept everything, the others a quarter.
/// assert_eq!(exact_rate(2, 1, 2), Some(0.5 * 1.0 + 0.5 * 0.25));
/// assert_eq!(rate(2, 1, 2), 0.5625); // a tenth too low
/// assert_eq!(exact_rate(1 << 40, 1, 2), None);
/// ```
pub fn exact_rate(m: u64, n: u64, k: u32) -> Option<f64> {
    if m > EXACT_LIMIT {
        return None;
    }
    if k == 0 || m == 0 {
        return Some(1.0);
    }
    // Where not even one zero in 10^17 filters is left, there is nothing to add up, however many balls follow.
    if m as f64 * zeros(m, n, k) < 1e-17 {
        return Some(1.0);
    }
    // Weighing with (i/m)^k moves the bulk of the sum up by k sd/mu standard deviations: the window is wider by as many.
    let mean = spread::ones(m, n, k);
    let shift = f64::from(k) * spread::ones_variance(m, n, k).sqrt() / mean.max(1.0);
    let half_width = (12.0 + shift).min(37.0);
    let mut law = Occupancy::new(m, (-0.5 * half_width * half_width).exp());
    law.throw_many(u128::from(n) * u128::from(k));
    Some(probability(law.mean_of(&hit_weights(m, k))))
}

/// f' (1 + k(k-1) Var X / (2 mu^2)), the second-order approximation to the exact rate.
///
/// The expansion of E[(X/m)^k] about the mean mu of the ones; relative error 8e-6 at (1024, 102, 7), shrinking like 1/m^2.
///
/// ```
/// use bouquet_theory::standard::{corrected_rate, exact_rate};
///
/// let exact = exact_rate(1024, 102, 7).unwrap();
/// assert!((corrected_rate(1024, 102, 7) / exact - 1.0).abs() < 1e-5);
/// ```
pub fn corrected_rate(m: u64, n: u64, k: u32) -> f64 {
    corrected_rate_of_balls(m as f64, balls(n, k), f64::from(k))
}

/// The corrected rate with the number of thrown balls apart from the number of probes.
pub(crate) fn corrected_rate_of_balls(m: f64, balls: f64, k: f64) -> f64 {
    let classic = rate_of_balls(m, balls, k);
    if classic == 0.0 || k < 2.0 || m <= 0.0 {
        return classic;
    }
    let mean = -m * ln_miss(m, balls).exp_m1();
    probability(classic * (1.0 + k * (k - 1.0) / 2.0 * spread::variance_of_balls(m, balls) / (mean * mean)))
}

/// f*, exact up to [`EXACT_LIMIT`] bits and corrected to second order above: the rate to test a filter against.
///
/// ```
/// use bouquet_theory::standard::expected_rate;
///
/// assert!((expected_rate(64, 8, 5) - 0.0234161).abs() < 5e-8); // exact
/// assert!((expected_rate(1_000_000, 100_000, 7) - 0.0081938).abs() < 1e-7); // corrected
/// ```
pub fn expected_rate(m: u64, n: u64, k: u32) -> f64 {
    exact_rate(m, n, k).unwrap_or_else(|| corrected_rate(m, n, k))
}

/// The smallest filter of k probes for n keys at a rate, m = -kn / ln(1 - rate^(1/k)), before rounding up.
///
/// ```
/// use bouquet_theory::standard::{limit_rate, needed_bits};
///
/// assert!((limit_rate(needed_bits(1000, 0.001, 4) / 1000.0, 4) - 0.001).abs() < 1e-12);
/// ```
pub fn needed_bits(n: u64, rate: f64, k: u32) -> f64 {
    let (rate, k) = (probability(rate), f64::from(k));
    if n == 0 || rate == 1.0 {
        return 0.0;
    }
    if k == 0.0 || rate == 0.0 {
        return f64::INFINITY;
    }
    let log_zeros = ln_one_minus_exp(rate.ln() / k);
    -k * n as f64 / log_zeros
}

/// The smallest filter for n keys at a rate, over all whole k up to [`MAX_HASHES`]; of equal sizes the one with fewer probes.
///
/// ```
/// use bouquet_theory::standard::for_rate;
///
/// let size = for_rate(1_000_000, 0.001)?;
/// assert_eq!(size.hashes, 10);
/// assert_eq!((size.bits as f64 / 1e6 * 1000.0).round(), 14378.0);
/// assert!(for_rate(0, 0.001).is_err() && for_rate(10, 1.0).is_err());
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys, if the rate is not between 0 and 1, or if more than
/// [`MAX_BITS`](super::MAX_BITS) bits would be needed.
pub fn for_rate(n: u64, rate: f64) -> Result<Size> {
    for_rate_with_at_most(n, rate, MAX_HASHES)
}

/// The smallest filter for n keys at a rate with at most `max_hashes` probes: memory for speed.
///
/// ```
/// use bouquet_theory::standard::{for_rate, for_rate_with_at_most};
///
/// let fast = for_rate_with_at_most(1000, 0.001, 4)?;
/// assert_eq!(fast.hashes, 4);
/// assert!(fast.bits > for_rate(1000, 0.001)?.bits);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// As [`for_rate`]; also if no probe is allowed.
pub fn for_rate_with_at_most(n: u64, rate: f64, max_hashes: u32) -> Result<Size> {
    check_positive("items", n)?;
    check_rate("fpr", rate)?;
    check_positive("max_hashes", u64::from(max_hashes))?;
    let mut best: Option<(f64, u32)> = None;
    for k in 1..=max_hashes.min(MAX_HASHES) {
        let bits = needed_bits(n, rate, k).ceil();
        if best.is_none_or(|(least, _)| bits < least) {
            best = Some((bits, k));
        }
    }
    let (bits, hashes) = best.unwrap_or((f64::INFINITY, 1));
    Ok(Size { bits: check_bits(bits)?, hashes })
}

/// The best whole number of probes for m bits and n keys: the better neighbour of c ln 2, the smaller if they tie.
///
/// ```
/// use bouquet_theory::standard::for_bits;
/// # use bouquet_theory as theory;
/// assert_eq!(for_bits(16_000, 1000)?, theory::Size { bits: 16_000, hashes: 11 });
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no bits or no keys.
pub fn for_bits(m: u64, n: u64) -> Result<Size> {
    check_positive("bits", m)?;
    check_positive("items", n)?;
    let best = best_hashes(m as f64 / n as f64);
    let low = (best.floor() as u32).clamp(1, MAX_HASHES);
    let high = (best.ceil() as u32).clamp(1, MAX_HASHES);
    // Rates of large sparse filters underflow; their logarithms do not.
    let log = |k: u32| f64::from(k) * ln_one_minus_exp(ln_miss(m as f64, balls(n, k)));
    Ok(Size { bits: m, hashes: if log(high) < log(low) { high } else { low } })
}

/// How many keys m bits with k probes hold at another rate: floor of -(m/k) ln(1 - rate^(1/k)).
///
/// ```
/// use bouquet_theory::standard::{capacity, for_rate, limit_rate};
///
/// let size = for_rate(1000, 0.01)?;
/// let more = capacity(size.bits, size.hashes, 0.05);
/// assert!(more > 1000);
/// assert!(limit_rate(size.bits as f64 / more as f64, size.hashes) <= 0.05);
/// assert!(limit_rate(size.bits as f64 / (more + 1) as f64, size.hashes) > 0.05);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn capacity(m: u64, k: u32, rate: f64) -> u64 {
    let (rate, k) = (probability(rate), f64::from(k));
    if k == 0.0 {
        return if rate == 1.0 { u64::MAX } else { 0 };
    }
    if m == 0 || rate == 0.0 {
        return 0;
    }
    let log_zeros = ln_one_minus_exp(rate.ln() / k);
    (-(m as f64 / k) * log_zeros) as u64
}

/// kn as a real number: the number of balls thrown.
pub(crate) fn balls(n: u64, k: u32) -> f64 {
    n as f64 * f64::from(k)
}

/// k/c, the balls per bit; infinite without bits, 0 without probes.
fn load(bits_per_key: f64, k: f64) -> f64 {
    if k == 0.0 { 0.0 } else { k / positive(bits_per_key) }
}

/// Refuses a design whose rate cannot be reached.
pub(crate) fn check_reached(name: &str, rate: f64, reached: f64) -> Result<()> {
    if reached <= rate {
        return Ok(());
    }
    Err(Error::parameter(name, format!("at least {reached:.3e} for these parameters"), rate))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;
    use crate::partitioned;

    /// The rate at the better whole neighbour of c ln 2.
    fn best_whole_rate(c: f64) -> f64 {
        let k = best_hashes(c).floor().max(1.0) as u32;
        limit_rate(c, k).min(limit_rate(c, k + 1))
    }

    #[test]
    fn exact_rates_are_the_published_vectors() {
        for (m, n, k, printed) in [
            (16, 2, 2, "0.052872658"),
            (32, 4, 3, "0.032878573"),
            (64, 8, 5, "0.023416087"),
            (256, 25, 7, "0.0075597444"),
            (1024, 102, 7, "0.0081096792"),
            (1024, 64, 11, "0.00046808047"),
        ] {
            assert_prints(expected_rate(m, n, k), printed);
        }
        assert_prints(rate(64, 8, 5), "0.0223007");
    }

    #[test]
    fn exact_rates_equal_an_enumeration() {
        // m = 3, n = 2, k = 2: all 3^4 throws of the keys times all 3^2 probes of a stranger.
        let mut hits = 0;
        for throw in 0..81u32 {
            let ones = (0..4).fold(0u32, |bits, i| bits | 1 << (throw / 3u32.pow(i) % 3)).count_ones();
            hits += ones * ones;
        }
        assert_close(expected_rate(3, 2, 2), f64::from(hits) / 729.0, 1e-14);
    }

    #[test]
    fn the_correction_has_the_printed_error() {
        for (m, n, k, error) in [(1024, 102, 7, 8e-6), (1024, 64, 11, 8e-5)] {
            let off = (corrected_rate(m, n, k) / expected_rate(m, n, k) - 1.0).abs();
            assert!(off < 1.15 * error && off > 0.85 * error, "{off:e} for {error:e}");
        }
        // Like 1/m^2: at the largest exact size the two functions join.
        let off = (corrected_rate(20_000, 2000, 7) / expected_rate(20_000, 2000, 7) - 1.0).abs();
        assert!(off < 1e-7, "{off:e}");
    }

    #[test]
    fn the_rates_are_ordered_on_a_grid() {
        let mut cases = 0;
        for k in [1u32, 2, 3, 5, 7, 11, 16, 24] {
            for slice in [1u64, 2, 3, 5, 9, 17, 40, 100] {
                for n in [0u64, 1, 2, 5, 10, 30, 100, 300] {
                    let m = slice * u64::from(k);
                    let (classic, exact, sliced) = (rate(m, n, k), expected_rate(m, n, k), partitioned::rate(m, n, k));
                    assert!(classic <= exact * (1.0 + 1e-10), "f' {classic:e} > f* {exact:e} at {m} {n} {k}");
                    assert!(exact <= sliced * (1.0 + 1e-10), "f* {exact:e} > sliced {sliced:e} at {m} {n} {k}");
                    assert!(limit_rate(m as f64 / n as f64, k) <= classic * (1.0 + 1e-10), "f > f' at {m} {n} {k}");
                    if k == 1 {
                        assert_close(exact, classic, 1e-10);
                    } else if n > 0 && classic < 0.999 && m > 1 {
                        assert!(classic < exact, "f' = f* at {m} {n} {k}");
                    }
                    cases += 1;
                }
            }
        }
        assert!(cases >= 500, "{cases}");
    }

    #[test]
    fn the_exact_rate_holds_for_more_probes_than_bits_are_likely_full() {
        // Far from the bulk of the law: one key, many probes. Backward recurrence, state by state, as the reference.
        for (m, n, k) in [(50u64, 1u64, 40u32), (400, 1, 300), (300, 2, 200)] {
            let mut chance: Vec<f64> = (0..=m).map(|i| (i as f64 / m as f64).powi(k as i32)).collect();
            for _ in 0..n * u64::from(k) {
                for i in 0..m as usize {
                    let full = i as f64 / m as f64;
                    chance[i] = full * chance[i] + (1.0 - full) * chance[i + 1];
                }
            }
            assert_close(expected_rate(m, n, k), chance[0], 1e-9);
        }
    }

    #[test]
    fn constants_of_the_surveys_hold() {
        assert_prints(optimal_rate(8.0), "0.0214");
        assert_prints(best_whole_rate(8.0), "0.0216");
        assert_prints(optimal_rate(1.0), "0.618503");
        assert_prints(best_hashes(1.0), "0.693");
        assert!((9.0 / 13.0 - LN_2).abs() < 0.001);
        assert_prints(rate(1_000_000, 100_000, 7), "0.0081937");
        // Capacity 133 of m = 1280 bits at 0.0098 follows from 0.6185, not from the misprint 0.61285 (135.5).
        let capacity_by = |base: f64| 1280.0 * base.ln() / 0.0098f64.ln();
        assert_prints(capacity_by(optimal_rate(1.0)), "133");
        assert_prints(capacity_by(0.61285), "135.5");
        assert_close(optimal_bits_per_key(0.0098), 1280.0 / capacity_by(optimal_rate(1.0)), 1e-12);
        // At the optimum of f', half of the bits are zero: g' = ln p' ln(1-p') / (n ln(1-1/m)) is symmetric.
        assert_close(limit_zeros(10.0, 7), log_zeros_of_rate(10.0, 7), 1e-12);
    }

    /// p solved from ln f = -c ln p ln(1-p) at the given k: checks log_rate_at_fill against limit_rate.
    fn log_zeros_of_rate(c: f64, k: u32) -> f64 {
        let p = limit_zeros(c, k);
        assert_close(log_rate_at_fill(c, p), limit_rate(c, k).ln(), 1e-12);
        p
    }

    #[test]
    fn fewer_probes_are_cheap() {
        assert_prints(limit_rate(16.0, 11), "0.000459");
        assert_prints(limit_rate(16.0, 8), "0.000574");
        assert_prints(limit_rate(16.0, 6), "0.000935");
    }

    #[test]
    fn whole_probes_cost_little() {
        for (from, to, percent) in
            [(2.0, 3.0, 3.7), (5.0, 6.0, 1.5), (8.0, 9.0, 0.75), (10.0, 40.0, 0.7), (20.0, 60.0, 0.4)]
        {
            let mut worst: f64 = 0.0;
            for i in 0..=4000 {
                let c = from + (to - from) * f64::from(i) / 4000.0;
                worst = worst.max(best_whole_rate(c) / optimal_rate(c) - 1.0);
            }
            // The printed number is the maximum, rounded.
            assert!(worst * 100.0 <= percent * 1.03 && worst * 100.0 > percent * 0.8, "[{from}, {to}]: {worst}");
        }
    }

    #[test]
    fn a_fractional_number_of_probes_is_never_better() {
        for tenths in 10..=400 {
            let c = f64::from(tenths) / 10.0;
            let best = best_whole_rate(c);
            let low = best_hashes(c).floor();
            for share in (1..20).map(|i| f64::from(i) / 20.0) {
                // A key has low + 1 probes with probability `share`, in insertion and in the query alike.
                let fill = -(-(low + share) / c).exp_m1();
                let mixed = (1.0 - share) * power(fill, low) + share * power(fill, low + 1.0);
                assert!(mixed >= best, "c = {c}, share = {share}");
            }
        }
    }

    #[test]
    fn sizes_are_the_published_ones() {
        for (rate, k, bits) in [(0.01, 7, "9.593"), (0.001, 10, "14.378")] {
            let size = for_rate(1_000_000, rate).unwrap();
            assert_eq!(size.hashes, k);
            assert_prints(size.bits as f64 / 1e6, bits);
        }
    }

    #[test]
    fn sizes_reach_their_rate_and_one_bit_less_does_not() {
        for n in [1u64, 10, 1000, 1_000_000] {
            for rate in [0.9, 0.5, 0.1, 0.01, 1e-4, 1e-9] {
                let size = for_rate(n, rate).unwrap();
                assert!(limit_rate(size.bits as f64 / n as f64, size.hashes) <= rate * (1.0 + 1e-12));
                assert!(limit_rate((size.bits - 1) as f64 / n as f64, size.hashes) > rate);
                for k in 1..=MAX_HASHES {
                    assert!(needed_bits(n, rate, k).ceil() >= size.bits as f64);
                }
            }
        }
    }

    #[test]
    fn sizing_refuses_the_impossible() {
        assert!(for_rate(0, 0.1).is_err());
        for bad in [0.0, 1.0, -1.0, 2.0, f64::NAN, f64::INFINITY] {
            assert!(for_rate(10, bad).is_err(), "{bad}");
        }
        assert!(for_rate(u64::MAX, 0.01).is_err());
        assert!(for_rate_with_at_most(10, 0.1, 0).is_err());
        assert!(for_bits(0, 1).is_err() && for_bits(1, 0).is_err());
        assert_eq!(for_bits(1, u64::MAX).unwrap().hashes, 1);
        assert_eq!(for_bits(u64::MAX, 1).unwrap().hashes, MAX_HASHES);
    }
}
