//! Sorted hash values as Golomb-coded gaps: how long the code is, and how close to the best.
//!
//! n keys are hashed to N values; a share q = n/N of them is taken, and the gaps between the sorted values follow the geometric
//! law of q. A gap g is coded as g / M in unary and g mod M in truncated binary; with M a power of two it is a Rice code.
//!
//! Source: F. Putze, P. Sanders, J. Singler, *Cache-, hash- and space-efficient Bloom filters*, 2007; S. Golomb, *Run-length
//! encodings*, 1966; BIP 158, *Compact block filters for light clients*, 2017.

use super::special::{entropy, ln_miss, probability};

/// 1 - (1 - 1/N)^n, the rate of n keys hashed to N values: at most n/N. No keys: 0; no values: 1.
///
/// ```
/// let rate = bouquet_theory::golomb::rate(1_000, 256_000);
/// assert!(rate < 1.0 / 256.0 && rate > 0.997 / 256.0);
/// ```
pub fn rate(n: u64, range: u64) -> f64 {
    if n == 0 { 0.0 } else { -ln_miss(range as f64, n as f64).exp_m1() }
}

/// H(q)/q, the bits per key below which no code of the gaps can go: about log2(1/q) + 1.4427. Infinite for q = 0.
///
/// ```
/// let least = bouquet_theory::golomb::least_bits_per_key(1.0 / 256.0);
/// assert!((least - (8.0 + 1.4427)).abs() < 0.005);
/// ```
pub fn least_bits_per_key(q: f64) -> f64 {
    let q = probability(q);
    if q == 0.0 { f64::INFINITY } else { entropy(q) / q }
}

/// M = ceil(-1 / log2(1 - q)), about 0.693/q: the divisor of the shortest Golomb code of gaps of density q. At least 1, at
/// most 2^62.
///
/// ```
/// use bouquet_theory::golomb::best_divisor;
/// assert_eq!([100.0, 256.0, 1000.0].map(|gap: f64| best_divisor(gap.recip())), [69, 177, 693]);
/// ```
pub fn best_divisor(q: f64) -> u64 {
    // The least M with z^M + z^(M+1) <= 1 (Gallager and Van Voorhis, 1975): infinite for q = 0, which the cast turns into the largest
    // number.
    let q = probability(q);
    let exact = -(2.0 - q).ln() / (-q).ln_1p();
    (exact.ceil() as u64).clamp(1, 1 << 62)
}

/// The best power of two as divisor: a Rice code.
///
/// ```
/// use bouquet_theory::golomb::best_rice;
/// assert_eq!([100.0, 256.0, 1000.0].map(|gap: f64| best_rice(gap.recip())), [64, 128, 512]);
/// assert_eq!(best_rice(1.0 / 784_931.0), 1 << 19, "as Bitcoin has it");
/// ```
pub fn best_rice(q: f64) -> u64 {
    let below = 1 << best_divisor(q).ilog2();
    if below < 1 << 62 && bits_per_key(q, 2 * below) < bits_per_key(q, below) { 2 * below } else { below }
}

/// The expected bits of a gap of density q coded with divisor M (0 is read as 1). Infinite for q = 0.
///
/// With z = 1 - q, b = ceil(log2 M) and c = 2^b - M short remainders: 1 + z^M/(1 - z^M) for the quotient, b - 1 bits and, with
/// probability (z^c - z^M)/(1 - z^M), one more for the remainder.
///
/// ```
/// use bouquet_theory::golomb::bits_per_key;
/// assert!((bits_per_key(1.0 / 256.0, 178) - 9.469).abs() < 5e-4);
/// assert!((bits_per_key(1.0 / 784_931.0, 1 << 19) - 21.052).abs() < 5e-4);
/// ```
pub fn bits_per_key(q: f64, divisor: u64) -> f64 {
    let (q, divisor) = (probability(q), divisor.clamp(1, 1 << 62));
    if q == 0.0 {
        return f64::INFINITY;
    }
    let bits = u64::BITS - (divisor - 1).leading_zeros();
    let short = (1u64 << bits) - divisor;
    // ln(1 - q) is negative infinity for q = 1, and 0 times that must be 0: no gap of length 0 is shorter.
    let ln_longer = |gap: u64| if gap == 0 { 0.0 } else { gap as f64 * (-q).ln_1p() };
    let wraps = -ln_longer(divisor).exp_m1();
    let long = (ln_longer(short).exp() - ln_longer(divisor).exp()) / wraps;
    ln_longer(divisor).exp() / wraps + f64::from(bits) + long.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_prints;

    #[test]
    fn printed_lengths_come_out() {
        for (gap, golomb, rice) in [(100.0, "8.105", "8.108"), (256.0, "9.469", "9.538"), (1000.0, "11.436", "11.495")]
        {
            let q = 1.0 / gap;
            assert_prints(bits_per_key(q, best_divisor(q)), golomb);
            assert_prints(bits_per_key(q, best_rice(q)), rice);
        }
        for (power, printed) in [(6, "10.51"), (7, "9.54"), (8, "9.58"), (9, "10.16")] {
            assert_prints(bits_per_key(1.0 / 256.0, 1 << power), printed);
        }
    }

    #[test]
    fn the_best_divisor_has_no_better_neighbour_and_none_beats_the_entropy() {
        for gap in [1.5, 2.0, 3.0, 10.0, 57.0, 256.0, 4_321.0, 1e6] {
            let q = 1.0 / gap;
            let best = best_divisor(q);
            let length = bits_per_key(q, best);
            assert!(length >= least_bits_per_key(q) - 1e-9, "{gap}");
            for other in [best.saturating_sub(1).max(1), best + 1, 2 * best] {
                assert!(bits_per_key(q, other) >= length - 1e-9, "{gap}: {other} beats {best}");
            }
        }
    }

    #[test]
    fn lengths_are_those_of_the_code_summed_up() {
        for (q, divisor) in [(0.3, 3u64), (0.05, 1), (0.05, 11), (0.05, 16), (1.0, 5)] {
            let bits = u64::BITS - (divisor - 1).leading_zeros();
            let short = (1 << bits) - divisor;
            let length = |gap: u64| match gap % divisor {
                rest if rest < short => gap / divisor + u64::from(bits),
                _ => gap / divisor + 1 + u64::from(bits),
            };
            let sum: f64 = (0..2_000).map(|gap| q * (1.0f64 - q).powi(gap) * length(gap as u64) as f64).sum();
            assert!((bits_per_key(q, divisor) - sum).abs() < 1e-9, "{q}, {divisor}");
        }
    }
}
