//! Counters as columns of ones: how long the code is, and how close to the best.
//!
//! A counter of value c is c ones and a zero. For counters that follow Poisson's law with a mean of at most ln 2 this is
//! the Huffman code: each value is at least as likely as all higher ones together, P_0 >= P_1 + P_2 + ..., and so on.
//!
//! Source: D. Ficara, S. Giordano, G. Procissi, F. Vitucci, *MultiLayer compressed counting Bloom filters*, 2008.

use super::special::{amount, poisson};
use super::standard::balls;

/// m + nk bits: one for the zero of each counter and one for each probe.
///
/// ```
/// // Half full, 1.693 bits per counter: four-bit counters take 4.
/// let bits = bouquet_theory::unary::code_bits(1_000_000, 99_021, 7);
/// assert!((bits / 1e6 - 1.6931).abs() < 1e-4);
/// ```
pub fn code_bits(m: u64, n: u64, k: u32) -> f64 {
    m as f64 + balls(n, k)
}

/// The entropy in bits of a counter of mean lambda, in the limit of many counters: what no code can go below. Means above
/// 1000 are read as 1000.
///
/// ```
/// let least = bouquet_theory::unary::counter_entropy(std::f64::consts::LN_2);
/// assert!((least - 1.586).abs() < 5e-4);
/// ```
pub fn counter_entropy(lambda: f64) -> f64 {
    let lambda = amount(lambda).min(1000.0);
    // Beyond 40 standard deviations nothing is left.
    let last = (lambda + 40.0 * lambda.sqrt() + 40.0) as u64;
    let terms = (0..=last).map(|j| poisson(j as f64, lambda)).filter(|&p| p > 0.0);
    terms.map(|p| -p * p.log2()).sum::<f64>().max(0.0)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::LN_2;

    use super::super::testing::assert_prints;
    use super::*;

    #[test]
    fn lengths_are_the_printed_ones() {
        assert_prints(code_bits(1_000_000, 99_021, 7) / 1e6, "1.693");
        assert_prints(counter_entropy(LN_2), "1.586");
    }

    #[test]
    fn the_code_is_the_huffman_code_up_to_half_full() {
        for lambda in [0.1, 0.5, LN_2] {
            for j in 0..30 {
                let tail = super::super::special::poisson_tail(j + 1, lambda);
                assert!(poisson(j as f64, lambda) >= tail * (1.0 - 1e-12), "{lambda} {j}");
            }
            // So it is within one bit of the entropy.
            assert!((0.0..1.0).contains(&(1.0 + lambda - counter_entropy(lambda))));
        }
    }
}
