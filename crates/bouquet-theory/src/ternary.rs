//! Counters of two or three values and "many": what they can tell of a key.
//!
//! A cell holds its exact count below L and the top value X from L on; X never changes again and is not consulted. With the
//! law of counters, Binomial(nk, 1/m), a key is
//!
//! ```text
//!             absent                         present
//! no          1 - P(c >= 1)^k                never
//! cannot tell P(c >= L)^k                    P(c' >= L-1)^k       c' without the key itself
//! yes         the rest                       the rest
//! ```
//!
//! Source: H. Lim, J. Lee, H. Byun, C. Yim, *Ternary Bloom filter replacing counting Bloom filter*, 2017.

use super::counters::reaches;
use super::special::{power, probability};
use super::standard::rate;

/// P(c >= L)^k: an absent key has X in all its cells.
///
/// ```
/// use bouquet_theory::ternary::indeterminable;
/// assert!((indeterminable(1_000_000, 100_000, 7, 2) / 2.23e-6 - 1.0).abs() < 0.01);
/// ```
pub fn indeterminable(m: u64, n: u64, k: u32, top: u64) -> f64 {
    power(reaches(m, n, k, top), k.into())
}

/// P(c >= 1)^k - P(c >= L)^k: an absent key is taken for present.
///
/// ```
/// use bouquet_theory::{standard, ternary::false_yes};
/// let (two, three) = (false_yes(1_000_000, 100_000, 7, 2), false_yes(1_000_000, 100_000, 7, 3));
/// assert!((two - 8.19e-3).abs() < 5e-6);
/// assert!(three > two && three < 1.01 * two && three < standard::rate(1_000_000, 100_000, 7));
/// ```
pub fn false_yes(m: u64, n: u64, k: u32, top: u64) -> f64 {
    probability(rate(m, n, k) - indeterminable(m, n, k, top.max(1)))
}

/// P(c' >= L-1)^k: one of n present keys has X in all its cells, and can neither be told for sure nor removed.
///
/// ```
/// use bouquet_theory::ternary::undeletable;
/// assert!((undeletable(1_000_000, 100_000, 7, 2) - 8.19e-3).abs() < 5e-6);
/// assert!((undeletable(1_000_000, 100_000, 7, 3) - 2.2e-6).abs() < 5e-8);
/// ```
pub fn undeletable(m: u64, n: u64, k: u32, top: u64) -> f64 {
    if n == 0 { 0.0 } else { indeterminable(m, n - 1, k, top.saturating_sub(1)) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_prints;
    use super::*;

    #[test]
    fn rates_are_the_printed_ones() {
        let (m, n, k) = (1_000_000, 100_000, 7);
        assert_prints(false_yes(m, n, k, 2), "8.2e-3");
        assert_prints(undeletable(m, n, k, 2), "8.2e-3");
        assert_prints(undeletable(m, n, k, 3), "2.2e-6");
        // Four bits in the place of two: half of the cells.
        assert_prints(rate(m / 2, n, 3), "9.2e-2");
    }

    #[test]
    fn answers_add_up_and_ends_are_natural() {
        for top in [1, 2, 3, 7] {
            let all = false_yes(1000, 100, 5, top) + indeterminable(1000, 100, 5, top);
            assert!((all - rate(1000, 100, 5)).abs() < 1e-12);
        }
        assert_eq!(undeletable(1000, 0, 5, 2), 0.0);
        assert_eq!(undeletable(1000, 1, 5, 2), 0.0);
        assert_eq!(undeletable(1000, 1, 5, 1), 1.0, "one value and X: a bit");
    }
}
