//! A zone without false positives: residues modulo the first primes.
//!
//! Element x of a universe of U sets the bit x mod p in the slice of each prime p. A false positive y is congruent to some member modulo
//! every prime, so that their product divides the product of y - s over all members s, which is not 0 and below U^d for up to d
//! members. Primes with a product of U^d or more leave no such y.
//!
//! Source: S. Z. Kiss, E. Hosszu, J. Tapolcai, L. Ronyai, O. Rottenstreich, *Bloom filter with a false positive free zone*, 2018.

use super::special::ln_miss;
use super::{MAX_BITS, check_positive};
use crate::{Error, Result};

/// How many primes, and how many bits their slices have.
///
/// ```
/// let design = bouquet_theory::egh::design(1_000, 2)?;
/// assert_eq!((design.primes, design.bits), (8, 77));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design {
    /// k: the primes 2, 3, 5, ... up to the k-th.
    pub primes: u32,
    /// Their sum.
    pub bits: u64,
}

/// Filters of more bits than this would take hundreds of thousands of primes per key.
const MOST_BITS: f64 = (1u64 << 36) as f64;

/// The primes below a number.
fn primes_below(limit: usize) -> impl Iterator<Item = u64> {
    let mut composite = vec![false; limit.max(2)];
    for number in 2.. {
        if number * number >= composite.len() {
            break;
        }
        if !composite[number] {
            (number * number..composite.len()).step_by(number).for_each(|multiple| composite[multiple] = true);
        }
    }
    (2..composite.len()).filter(move |&number| !composite[number]).map(|prime| prime as u64)
}

/// The first k primes, at most 2^20 of them.
///
/// ```
/// assert_eq!(bouquet_theory::egh::first_primes(6), [2, 3, 5, 7, 11, 13]);
/// ```
pub fn first_primes(k: u32) -> Vec<u64> {
    let k = k.min(1 << 20) as usize;
    // The k-th prime is below k (ln k + ln ln k) from 6 on.
    let size = k.max(6) as f64;
    primes_below((size * (size.ln() + size.ln().ln())) as usize + 2).take(k).collect()
}

/// The fewest primes that leave no false positive among U numbers while at most d are stored.
///
/// ```
/// use bouquet_theory::egh::design;
/// assert_eq!(design(562, 20)?.primes, 34);
/// assert_eq!(design(563, 20)?.primes, 35);
/// assert!(design(1 << 40, 1 << 40).is_err(), "too many primes");
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` for no universe and no elements, `Error::TooLarge` beyond 2^36 bits.
pub fn design(universe: u64, zone: u64) -> Result<Design> {
    check_positive("universe", universe)?;
    check_positive("zone", zone)?;
    let wanted = zone as f64 * (universe as f64).ln();
    let estimate = approximate_bits(universe, zone);
    if estimate > MOST_BITS {
        return Err(Error::TooLarge {
            what: "the filter".into(),
            bytes: (estimate.min(MAX_BITS as f64) / 8.0) as u128,
        });
    }
    let (mut product, mut ln_product, mut found) = (1u128, 0.0, Design { primes: 0, bits: 0 });
    // The sum of the logarithms of the primes below x is above 0.84 x from x = 101 on.
    for prime in primes_below((1.25 * wanted) as usize + 200) {
        // Only for a single element can both sides be equal, for logarithms not to tell; rounding errors are far below 1e-9.
        let is_enough =
            if zone == 1 { product >= u128::from(universe) } else { ln_product >= wanted * (1.0 + 1e-12) + 1e-9 };
        if is_enough && found.primes > 0 {
            break;
        }
        product = product.saturating_mul(u128::from(prime));
        ln_product += (prime as f64).ln();
        found = Design { primes: found.primes + 1, bits: found.bits + prime };
    }
    Ok(found)
}

/// (d ln U)^2 / (2 ln(d ln U)), about how many bits such a filter has.
///
/// ```
/// use bouquet_theory::egh::{approximate_bits, design};
/// let bits = design(1 << 16, 1_000)?.bits as f64;
/// assert!((approximate_bits(1 << 16, 1_000) / bits - 1.0).abs() < 0.1);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn approximate_bits(universe: u64, zone: u64) -> f64 {
    let largest = zone as f64 * (universe.max(1) as f64).ln();
    if largest <= std::f64::consts::E { 5.0 } else { largest * largest / (2.0 * largest.ln()) }
}

/// The product over the primes of 1 - (1 - 1/p)^n: the rate of false positives with n elements, beyond the zone. Within it the
/// rate is 0.
///
/// ```
/// use bouquet_theory::egh::{design, rate};
/// let primes = design(562, 20)?.primes;
/// assert!(rate(primes, 40) < rate(primes, 100) && rate(primes, 0) == 0.0);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn rate(primes: u32, n: u64) -> f64 {
    first_primes(primes).iter().map(|&prime| -ln_miss(prime as f64, n as f64).exp_m1()).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_designs_come_out() {
        for (universe, zone, primes, bits) in [(48, 2, 5, 28), (1_000, 2, 8, 77), (562, 20, 34, 2_127)] {
            assert_eq!(design(universe, zone).unwrap(), Design { primes, bits });
        }
    }

    #[test]
    fn a_product_that_is_just_enough_is_enough_and_one_less_is_not() {
        for (universe, primes) in [(1, 1), (2, 1), (3, 2), (6, 2), (7, 3), (30, 3), (31, 4), (210, 4), (211, 5)] {
            assert_eq!(design(universe, 1).unwrap().primes, primes, "{universe}");
        }
    }

    #[test]
    fn first_primes_are_as_many_as_were_asked_for() {
        for k in (0..200).chain([10_000, 100_000]) {
            assert_eq!(first_primes(k).len(), k as usize);
        }
        assert_eq!(first_primes(10_000).last(), Some(&104_729));
    }
}
