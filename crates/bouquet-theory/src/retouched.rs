//! Clearing bits of a filter that is made: false positives against members that are lost.
//!
//! Of m bits the share p1 = 1 - (1-1/m)^(kn) is one. When s of the ones are cleared at random, a member keeps all its k bits with
//! (1 - s/(p1 m))^k, and a false positive just the same: both *shares* are equal, so that the ratio chi of the share of false positives removed to the
//! share of members lost is 1. Choosing bits that troublesome keys share and members do not makes chi larger. The rate itself falls from
//! p1^k to (p1 - s/m)^k, by far less than the share of members that are lost.
//!
//! Source: B. Donnet, B. Baynat, T. Friedman, *Retouched Bloom filters: allowing networked applications to trade off selected
//! false positives against false negatives*, 2006.

use super::special::{amount, probability};
use super::standard;

/// The share of members that lose a bit, and of false positives that do, when this many of the ones are cleared at random.
///
/// ```
/// use bouquet_theory::retouched::lost_share;
/// let ones = 39_347; // of 100,000 bits with 10,000 keys and 5 positions
/// assert!((lost_share(ones, 3_000, 5) - 0.327).abs() < 5e-4);
/// assert_eq!((lost_share(ones, 0, 5), lost_share(ones, ones, 5)), (0.0, 1.0));
/// ```
pub fn lost_share(ones: u64, cleared: u64, hashes: u32) -> f64 {
    if cleared == 0 || hashes == 0 {
        return 0.0;
    }
    if cleared >= ones {
        return 1.0;
    }
    let kept = (-(cleared as f64 / ones as f64)).ln_1p();
    probability(-(f64::from(hashes) * kept).exp_m1())
}

/// The rate of a filter of m bits with n keys after this many of its ones were cleared.
///
/// ```
/// use bouquet_theory::{retouched::rate_after, standard};
/// assert!((rate_after(100_000, 10_000, 5, 0) - standard::expected_rate(100_000, 10_000, 5)).abs() < 1e-9);
/// assert!((rate_after(100_000, 10_000, 5, 3_000) - 0.00635).abs() < 5e-5);
/// ```
pub fn rate_after(bits: u64, items: u64, hashes: u32, cleared: u64) -> f64 {
    if cleared == 0 || bits == 0 {
        return standard::expected_rate(bits, items, hashes);
    }
    let ones = 1.0 - standard::zeros(bits, items, hashes) - cleared as f64 / bits as f64;
    probability(probability(ones).powi(hashes.min(1 << 20) as i32))
}

/// chi: the share of false positives that were removed per share of members that were lost; infinite when none was lost.
///
/// ```
/// use bouquet_theory::retouched::gain;
/// assert_eq!(gain(0.327, 0.327), 1.0, "random clearing gains nothing");
/// assert!((gain(1.0, 0.3) - 3.33).abs() < 0.01);
/// ```
pub fn gain(removed: f64, lost: f64) -> f64 {
    let (removed, lost) = (amount(removed), amount(lost));
    match (removed > 0.0, lost > 0.0) {
        (_, true) => removed / lost,
        (true, false) => f64::INFINITY,
        (false, false) => 1.0,
    }
}
