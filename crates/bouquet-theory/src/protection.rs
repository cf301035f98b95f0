//! Faults of memory and of probes: what parity bits find, what a second look saves.
//!
//! A parity bit per word notices an odd number of flipped bits. A filter that then takes the whole word for ones keeps every
//! key and pays with false positives; an even number of flips in one word escapes. A *glitch* changes no memory: one probe of
//! one query reads a zero that is not there. If exactly one of the k probes reads zero, reading it again tells.
//!
//! The papers report measurements; the formulas are derived here.
//!
//! Sources: P. Reviriego, S. Pontarelli, J. Maestro, M. Ottavi, *A synergetic use of Bloom filters for error detection and
//! correction*, 2015; A. Sanchez-Macian, P. Reviriego, J. Maestro, S. Liu, *Single event transient tolerant Bloom filter
//! implementations*, 2017.

use super::special::{amount, power, probability};

/// The probability that a word with a mean of `flips` flips has an odd number of them: the parity bit is wrong.
///
/// ```
/// use bouquet_theory::protection::{detected, missed};
/// assert!((detected(0.1) - 0.090_635).abs() < 1e-6);
/// // Whatever is neither noticed nor missed has no flip at all.
/// assert!((detected(0.1) + missed(0.1) + f64::exp(-0.1) - 1.0).abs() < 1e-12);
/// ```
pub fn detected(flips: f64) -> f64 {
    -0.5 * (-2.0 * amount(flips)).exp_m1()
}

/// The probability that such a word has an even number of flips that is not zero, e^-x (cosh x - 1): the parity bit is right.
///
/// ```
/// assert!((bouquet_theory::protection::missed(0.1) - 0.004_528).abs() < 1e-6);
/// ```
pub fn missed(flips: f64) -> f64 {
    // e^-x (cosh x - 1) = (1 - e^-x)^2 / 2, without cancellation.
    0.5 * (-amount(flips)).exp_m1().powi(2)
}

/// The rate of a filter with this share of ones when the share `saturated` of its words has become all ones:
/// (rho + (1 - rho) s)^k.
///
/// ```
/// use bouquet_theory::{protection::rate_with_saturated, standard};
/// let ones = 1.0 - standard::zeros(1_000_000, 100_000, 7);
/// assert!((rate_with_saturated(ones, 1_000.0 / 15_625.0, 7) - 0.012_58).abs() < 5e-6);
/// ```
pub fn rate_with_saturated(ones: f64, saturated: f64, k: u32) -> f64 {
    let ones = probability(ones);
    power(probability(ones + (1.0 - ones) * probability(saturated)), f64::from(k))
}

/// The share of present keys that are lost when each of their k ones is read as zero with this probability, 1 - (1-p)^k:
/// by glitches, or by flips that nothing notices.
///
/// ```
/// assert!((bouquet_theory::protection::lost(7, 0.001) - 6.979e-3).abs() < 1e-6);
/// ```
pub fn lost(k: u32, fault: f64) -> f64 {
    if k == 0 { 0.0 } else { -(f64::from(k) * (-probability(fault)).ln_1p()).exp_m1() }
}

/// The same when a single zero is read again: two probes must fail, or one of them twice. About (C(k,2) + k) p^2.
///
/// ```
/// let lost = bouquet_theory::protection::lost_rechecked(7, 0.001);
/// assert!((lost - 2.8e-5).abs() < 2e-7, "{lost}");
/// ```
pub fn lost_rechecked(k: u32, fault: f64) -> f64 {
    let (k, p) = (f64::from(k), probability(fault));
    if k == 0.0 {
        return 0.0;
    }
    let one = k * p * power(1.0 - p, k - 1.0);
    // Two or more at once, of which one less than one in 10^8 cancels nothing that a double could hold.
    let several = (lost(k as u32, p) - one).max(0.0);
    probability(several + one * p)
}

/// The share of absent keys whose answer costs a second look, k rho^(k-1) (1 - rho).
///
/// ```
/// assert!((bouquet_theory::protection::rechecks(0.5, 7) - 0.0547).abs() < 1e-4);
/// ```
pub fn rechecks(ones: f64, k: u32) -> f64 {
    let (ones, k) = (probability(ones), f64::from(k));
    if k == 0.0 { 0.0 } else { probability(k * power(ones, k - 1.0) * (1.0 - ones)) }
}
