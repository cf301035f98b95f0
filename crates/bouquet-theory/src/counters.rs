//! Counters instead of bits: how high they climb, and how wide they must be.
//!
//! After n keys of k probes a counter of m is Binomial(nk, 1/m), nearly Poisson(nk/m). The chain of bounds, each simpler and
//! weaker than the one before:
//!
//! ```text
//! P(max >= j) <= m P(c >= j) <= m C(nk,j) m^-j <= m (e nk/(jm))^j <= m (e ln 2 / j)^j   (the last for k <= (m/n) ln 2)
//! ```
//!
//! Sources: L. Fan, P. Cao, J. Almeida, A. Broder, *Summary cache*, 2000; Broder, Mitzenmacher, *Network applications of
//! Bloom filters*, 2004, section 2.5.

use std::f64::consts::{E, LN_2};

use super::special::{binomial, binomial_tail, ln_choose, poisson_tail, probability};
use super::standard::{balls, best_hashes, optimal_bits_per_key};
use super::{Size, check_bits, check_positive, check_rate};
use crate::Result;

/// P(c = j), the law of one counter: Binomial(nk, 1/m).
///
/// ```
/// use bouquet_theory::{counters::value, standard::zeros};
///
/// assert!((value(1000, 100, 7, 0) - zeros(1000, 100, 7)).abs() < 1e-14);
/// ```
pub fn value(m: u64, n: u64, k: u32, j: u64) -> f64 {
    if m == 0 { f64::from(u8::from(j == 0)) } else { binomial(j as f64, balls(n, k), 1.0 / m as f64) }
}

/// P(c >= j) for one counter, exactly.
///
/// ```
/// use bouquet_theory::counters::reaches;
///
/// // Half full: one counter in 14 million billion reaches 16.
/// let chance = reaches(1_000_000, 99_021, 7, 16);
/// assert!((chance / 7.07e-17 - 1.0).abs() < 0.01);
/// ```
pub fn reaches(m: u64, n: u64, k: u32, j: u64) -> f64 {
    if m == 0 { f64::from(u8::from(j == 0)) } else { binomial_tail(j, balls(n, k), 1.0 / m as f64) }
}

/// P(c >= j) in the limit of many counters, for a mean of lambda = nk/m: the tail of Poisson's law.
///
/// ```
/// let tail = bouquet_theory::counters::limit_reaches(std::f64::consts::LN_2, 3);
/// assert!((tail - 0.0333).abs() < 5e-5);
/// ```
pub fn limit_reaches(lambda: f64, j: u64) -> f64 {
    poisson_tail(j, lambda)
}

/// C(nk, j) m^-j >= P(c >= j): the sum over all choices of j probes; at most 1.
///
/// ```
/// use bouquet_theory::counters::{choice_bound, reaches};
///
/// assert!(choice_bound(1000, 100, 7, 5) >= reaches(1000, 100, 7, 5));
/// ```
pub fn choice_bound(m: u64, n: u64, k: u32, j: u64) -> f64 {
    if j == 0 || m == 0 {
        return if j == 0 { 1.0 } else { 0.0 };
    }
    probability((ln_choose(balls(n, k), j as f64) - j as f64 * (m as f64).ln()).exp())
}

/// (e nk / (jm))^j >= C(nk, j) m^-j; at most 1.
///
/// ```
/// use bouquet_theory::counters::{choice_bound, power_bound};
///
/// assert!(power_bound(1000, 100, 7, 5) >= choice_bound(1000, 100, 7, 5));
/// ```
pub fn power_bound(m: u64, n: u64, k: u32, j: u64) -> f64 {
    if j == 0 || m == 0 {
        return if j == 0 { 1.0 } else { 0.0 };
    }
    probability((j as f64 * (E * balls(n, k) / (j as f64 * m as f64)).ln()).exp())
}

/// (e ln 2 / j)^j, the bound for every filter that is at most half full; at most 1.
///
/// ```
/// let bound = bouquet_theory::counters::half_full_bound(16);
/// assert!((bound / 1.37e-15 - 1.0).abs() < 5e-3);
/// ```
pub fn half_full_bound(j: u64) -> f64 {
    if j == 0 { 1.0 } else { probability((j as f64 * (E * LN_2 / j as f64).ln()).exp()) }
}

/// t m P(c >= j), at most 1: a bound on the chance that any counter reaches j while t successive sets are held.
///
/// ```
/// use bouquet_theory::counters::overflow;
///
/// // Four bits: a million counters, a million sets.
/// assert!(overflow(1_000_000, 99_021, 7, 16, 1_000_000) < 1e-4);
/// ```
pub fn overflow(m: u64, n: u64, k: u32, j: u64, sets: u64) -> f64 {
    if m == 0 {
        return 0.0;
    }
    probability(m as f64 * sets as f64 * reaches(m, n, k, j))
}

/// The least j that no counter is expected to reach: m P(c >= j) < 1. It grows like ln m / ln ln m, so its width like
/// ln ln m: O(log log m) bits per counter suffice.
///
/// ```
/// use bouquet_theory::counters::unreached;
///
/// assert_eq!(unreached(1_000_000, 99_021, 7), 8);
/// ```
pub fn unreached(m: u64, n: u64, k: u32) -> u64 {
    least_where(|j| m as f64 * reaches(m, n, k, j) < 1.0)
}

/// The narrowest counter, in bits, whose frozen value 2^w - 1 is reached by any of the m counters with probability at most
/// `risk`; at most 64.
///
/// ```
/// use bouquet_theory::counters::width;
///
/// assert_eq!(width(1_000_000, 99_021, 7, 1e-8), 4);
/// assert_eq!(width(1_000_000, 99_021, 7, 1e-9), 5);
/// ```
pub fn width(m: u64, n: u64, k: u32, risk: f64) -> u32 {
    let risk = probability(risk);
    (1..64).find(|&w| overflow(m, n, k, (1u64 << w) - 1, 1) <= risk).unwrap_or(64)
}

/// ceil(log2(f + 16)) bits: wide enough that a key of multiplicity f rarely shares a counter which freezes.
///
/// ```
/// use bouquet_theory::counters::width_for_multiplicity;
///
/// assert_eq!(width_for_multiplicity(1), 5);
/// assert_eq!(width_for_multiplicity(240), 8);
/// assert_eq!(width_for_multiplicity(241), 9);
/// ```
pub fn width_for_multiplicity(multiplicity: u64) -> u32 {
    // ceil(log2(v)) is the width of v - 1.
    128 - (u128::from(multiplicity) + 15).leading_zeros()
}

/// m = ceil(-n ln f / (ln 2)^2) counters and k = round((m/n) ln 2) probes for n keys at a rate.
///
/// ```
/// use bouquet_theory::{counters::for_rate, Size};
///
/// assert_eq!(for_rate(100_000, 0.01)?, Size { bits: 958_506, hashes: 7 });
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys, if the rate is not between 0 and 1, or if there would be too many counters.
pub fn for_rate(n: u64, rate: f64) -> Result<Size> {
    check_positive("items", n)?;
    check_rate("fpr", rate)?;
    let bits = check_bits(n as f64 * optimal_bits_per_key(rate))?;
    let hashes = (best_hashes(bits as f64 / n as f64).round() as u32).max(1);
    Ok(Size { bits, hashes })
}

/// The least j for which a condition that turns true once holds.
fn least_where(holds: impl Fn(u64) -> bool) -> u64 {
    let mut high = 1u64;
    while !holds(high) {
        if high > u64::MAX / 2 {
            return u64::MAX;
        }
        high *= 2;
    }
    let mut low = 0;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_prints;
    use super::*;

    #[test]
    fn tails_are_the_printed_ones() {
        assert_prints(half_full_bound(16), "1.37e-15");
        for (j, printed) in [(16, "7.07e-17"), (15, "1.64e-15"), (7, "8.3e-6"), (3, "0.0333")] {
            assert_prints(limit_reaches(LN_2, j), printed);
        }
    }

    #[test]
    fn the_bounds_form_a_chain() {
        for (m, n, k) in [(100u64, 9u64, 7u32), (1000, 99, 7), (1_000_000, 99_000, 7), (1 << 40, 1 << 36, 11)] {
            for j in 1..40 {
                let chain = [value(m, n, k, j), reaches(m, n, k, j), choice_bound(m, n, k, j), power_bound(m, n, k, j)];
                assert!(chain.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 1e-12)), "{m} {n} {k} {j}: {chain:?}");
                assert!(chain[3] <= half_full_bound(j) * (1.0 + 1e-9), "{m} {n} {k} {j}");
            }
        }
    }

    #[test]
    fn the_point_probability_is_no_bound() {
        // One survey bounds the overflow by m P(c = j): too small, for higher values are counted nowhere.
        assert!(value(1_000_000, 99_021, 7, 3) < 0.9 * reaches(1_000_000, 99_021, 7, 3));
    }

    #[test]
    fn widths_grow_with_the_logarithm_of_the_logarithm() {
        let widths: Vec<u32> = (10..50).step_by(10).map(|e| width(1 << e, (1u64 << e) / 10, 7, 1e-6)).collect();
        assert!(widths.windows(2).all(|pair| pair[0] <= pair[1]) && widths[3] <= 5, "{widths:?}");
        assert!(unreached(1 << 50, (1 << 50) / 10, 7) <= 16);
    }
}
