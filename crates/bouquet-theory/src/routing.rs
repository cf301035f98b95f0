//! Filters that fade on their way: of what a node was told it passes every d-th bit on.
//!
//! Source: A. Kumar, J. Xu, E. W. Zegura, *Efficient and scalable query routing for unstructured peer-to-peer networks*, 2005.

use super::special::{power, probability};
use super::{check_bits, check_positive, check_rate};
use crate::Result;

/// d^-i, the chance that a bit is left after i times.
fn left(decay: f64, times: u32) -> f64 {
    let decay = if decay > 1.0 { decay } else { 1.0 };
    power(1.0 / decay, f64::from(times))
}

/// k (d^-i + (1 - d^-i) rho), the bits of an object that are set in a table with a share rho of ones, when they have been thinned i
/// times.
///
/// ```
/// use bouquet_theory::routing::expected_theta;
/// assert_eq!(expected_theta(32, 8.0, 0, 0.3), 32.0);
/// assert!((expected_theta(32, 8.0, 1, 0.25) - 32.0 * (0.125 + 0.875 * 0.25)).abs() < 1e-12);
/// ```
pub fn expected_theta(hashes: u32, decay: f64, times: u32, fill: f64) -> f64 {
    let (left, fill) = (left(decay, times), probability(fill));
    f64::from(hashes) * (left + (1.0 - left) * fill)
}

/// 1 - (1 - d^-i)(1 - d^-j), the share of bits that arrive on two ways.
///
/// ```
/// assert!((bouquet_theory::routing::two_ways(8.0, 1, 1) - 15.0 / 64.0).abs() < 1e-15);
/// ```
pub fn two_ways(decay: f64, one: u32, other: u32) -> f64 {
    let (one, other) = (left(decay, one), left(decay, other));
    one + other - one * other
}

/// 1 - e^(-(k/m) sum N_i d^-i), the share of ones of a table of m bits when there are `objects[i]` objects whose bits have been thinned i
/// times.
///
/// ```
/// use bouquet_theory::routing::fill;
/// let expected = 1.0 - f64::exp(-32.0 / 8_192.0 * (5.0 + 15.0 / 4.0));
/// assert!((fill(8_192, 32, 4.0, &[5.0, 15.0]) - expected).abs() < 1e-15);
/// ```
pub fn fill(bits: u64, hashes: u32, decay: f64, objects: &[f64]) -> f64 {
    let told = objects.iter().zip(0..).map(|(&objects, times)| amount(objects) * left(decay, times)).sum::<f64>();
    let balls = told * f64::from(hashes);
    if balls == 0.0 { 0.0 } else { probability(-(-balls / bits as f64).exp_m1()) }
}

/// An amount; nothing if it is none.
fn amount(given: f64) -> f64 {
    if given > 0.0 { given.min(1e300) } else { 0.0 }
}

/// k rho + 3 (k rho (1-rho))^(1/2), which the bits of an absent object hardly exceed.
///
/// ```
/// assert!((bouquet_theory::routing::noise(32, 0.5) - (16.0 + 3.0 * 8f64.sqrt())).abs() < 1e-12);
/// ```
pub fn noise(hashes: u32, fill: f64) -> f64 {
    let (k, fill) = (f64::from(hashes), probability(fill));
    k * fill + 3.0 * (k * fill * (1.0 - fill)).sqrt()
}

/// -k n / ln(1 - fill), the bits of a table that is so full with n objects.
///
/// ```
/// assert_eq!(bouquet_theory::routing::bits_for_fill(1_000, 32, 0.5)?, 46_167);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` for no objects, no probes or a fill that is not between 0 and 1; `Error::TooLarge` above 2^53 bits.
pub fn bits_for_fill(objects: u64, hashes: u32, fill: f64) -> Result<u64> {
    check_positive("items", objects)?;
    check_positive("hashes", u64::from(hashes))?;
    check_rate("fill", fill)?;
    check_bits(objects as f64 * f64::from(hashes) / -(-fill).ln_1p())
}
