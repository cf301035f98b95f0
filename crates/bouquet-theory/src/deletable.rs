//! Removal from regions without collisions: how many keys of a deletable filter can be taken out again.
//!
//! A bit that two keys have hit cannot be cleared for one of them. A deletable filter remembers per region of s bits
//! that such a bit is among them, and clears bits of the other regions only. With n keys of k probes in m bits, a bit
//! is hit at least twice with probability pc = 1 - p0 - p1. A given bit of a given key can be cleared if the n-1 others
//! miss it and the s-1 other bits of its region have no collision:
//!
//! ```text
//! q = (1 - 1/m)^(k(n-1)) (1 - pc)^(s-1),    share of keys that can be removed = 1 - (1 - q)^k
//! ```
//!
//! Sources: C. Rothenberg, C. Macapuna, F. Verdi, M. Magalhaes, *The deletable Bloom filter*, 2010, for the rough form
//! 1 - (1 - (1-pc)^s)^k, which forgets that the key itself has hit its bit: it takes one bit of the region for any bit,
//! not for one that is hit already. The conditioned form is derived here.

use super::counters::reaches;
use super::special::{amount, ln_miss, power, probability};
use super::standard::balls;
use super::{Result, check_positive};
use crate::Error;

/// pc, the probability that at least two of the probes of n keys hit a given bit.
///
/// ```
/// let pc = bouquet_theory::deletable::collision(320_000, 20_000, 5);
/// assert!((pc - 0.0398).abs() < 1e-4);
/// ```
pub fn collision(m: u64, n: u64, k: u32) -> f64 {
    reaches(m, n, k, 2)
}

/// The published share of keys that can be removed, 1 - (1 - (1-pc)^s)^k: too high.
///
/// ```
/// use bouquet_theory::deletable::{rough_share, share};
/// assert!((rough_share(200_000, 20_000, 7, 4.0) - 0.993).abs() < 5e-4);
/// assert!(share(200_000, 20_000, 7, 4.0) < 0.92);
/// ```
pub fn rough_share(m: u64, n: u64, k: u32, region: f64) -> f64 {
    at_least_one((amount(region) * (-collision(m, n, k)).ln_1p()).exp(), k)
}

/// The share of keys that can be removed when regions have `region` bits (at least 1).
///
/// ```
/// let share = bouquet_theory::deletable::share(320_000, 20_000, 5, 10.0);
/// assert!((share - 0.971).abs() < 1e-3);
/// ```
pub fn share(m: u64, n: u64, k: u32, region: f64) -> f64 {
    let others_miss = ln_miss(m as f64, balls(n.saturating_sub(1), k));
    let neighbours = (amount(region) - 1.0).max(0.0);
    // Without neighbours there is nothing to multiply, also where every bit has a collision.
    let quiet = if neighbours == 0.0 { 0.0 } else { neighbours * (-collision(m, n, k)).ln_1p() };
    at_least_one((others_miss + quiet).exp(), k)
}

/// 1 - (1-q)^k.
fn at_least_one(q: f64, k: u32) -> f64 {
    1.0 - power(1.0 - probability(q), f64::from(k))
}

/// The largest regions, in whole bits, with which at least the wanted share of keys can be removed: the fewest flags.
///
/// ```
/// use bouquet_theory::deletable::{largest_region, share};
/// let region = largest_region(320_000, 20_000, 5, 0.9)?;
/// assert!(share(320_000, 20_000, 5, region as f64) >= 0.9);
/// assert!(share(320_000, 20_000, 5, region as f64 + 1.0) < 0.9);
/// assert!(largest_region(20_000, 20_000, 5, 0.9).is_err(), "far too full");
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` without bits, or if even regions of one bit give a smaller share.
pub fn largest_region(m: u64, n: u64, k: u32, wanted: f64) -> Result<u64> {
    check_positive("bits", m)?;
    let wanted = probability(wanted);
    let enough = |region: u64| share(m, n, k, region as f64) >= wanted;
    if !enough(1) {
        let most = share(m, n, k, 1.0);
        return Err(Error::parameter("deletable", format!("at most {most:.4} at this rate"), wanted));
    }
    let (mut region, mut too_large) = (1, m.saturating_add(1));
    while too_large - region > 1 {
        let middle = region + (too_large - region) / 2;
        if enough(middle) { region = middle } else { too_large = middle }
    }
    Ok(region)
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_prints;
    use super::*;

    #[test]
    fn shares_are_the_printed_ones() {
        assert_prints(share(320_000, 20_000, 5, 10.0), "0.971");
        assert_prints(share(320_000, 20_000, 5, 20.0), "0.873");
        assert_prints(share(200_000, 20_000, 7, 4.0), "0.917");
        assert_prints(rough_share(200_000, 20_000, 7, 4.0), "0.993");
    }

    #[test]
    fn the_published_form_promises_more_than_the_conditioned_one() {
        for region in [1.0, 2.0, 5.0, 10.0, 50.0] {
            for (m, n, k) in [(1_000, 100, 7), (320_000, 20_000, 5), (1 << 30, 1 << 26, 11)] {
                assert!(share(m, n, k, region) < rough_share(m, n, k, region), "{m} {n} {k} {region}");
            }
        }
    }

    #[test]
    fn a_single_key_can_always_be_removed() {
        assert_eq!(share(1_000, 1, 1, 1.0), 1.0);
        assert_eq!(largest_region(1_000, 1, 1, 1.0).unwrap(), 1_000);
    }
}
