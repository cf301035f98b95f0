//! What no filter can beat, and two structures that come near: lists of hashes and perfect hashing.
//!
//! Sources: L. Carter et al., *Exact and approximate membership testers*, 1978; Broder, Mitzenmacher, *Network applications
//! of Bloom filters*, 2004, sections 2.2 and 2.3.

use std::f64::consts::{LN_2, LOG2_E};

use super::special::{ln_choose, power, probability};

/// n log2(1/f) bits: the least memory of any filter for n keys of an unbounded universe; infinite for rate 0.
///
/// ```
/// use bouquet_theory::{bounds::least_bits, standard::optimal_bits_per_key};
///
/// let bound = least_bits(1, 0.001);
/// assert!((optimal_bits_per_key(0.001) / bound - std::f64::consts::LOG2_E).abs() < 1e-12); // Bloom: 1.44 times
/// ```
pub fn least_bits(n: u64, rate: f64) -> f64 {
    if n == 0 { 0.0 } else { (-(n as f64) * probability(rate).log2()).max(0.0) }
}

/// log2( C(u,n) / C(n + f(u-n), n) ) bits: the least memory of any filter for n keys of a universe of u.
///
/// Every filter accepts n + f(u-n) elements and so serves at most that many choose n of the C(u,n) sets.
///
/// ```
/// use bouquet_theory::bounds::least_bits_in_universe;
///
/// // Without errors a set of 2 from 4 needs log2(6) bits; accepting everything needs none.
/// assert!((least_bits_in_universe(4, 2, 0.0) - 6f64.log2()).abs() < 1e-12);
/// assert_eq!(least_bits_in_universe(4, 2, 1.0), 0.0);
/// ```
pub fn least_bits_in_universe(universe: u64, n: u64, rate: f64) -> f64 {
    if n >= universe {
        return 0.0;
    }
    let (u, n) = (universe as f64, n as f64);
    let accepted = n + probability(rate) * (u - n);
    ((ln_choose(u, n) - ln_choose(accepted, n)) / LN_2).max(0.0)
}

/// 0.5^j, the rate that the lower bound allows at j bits per key, where a Bloom filter has 0.6185^j.
///
/// ```
/// use bouquet_theory::{bounds::least_rate, standard::optimal_rate};
///
/// assert_eq!(least_rate(8.0), 1.0 / 256.0);
/// assert!(optimal_rate(8.0) > 5.0 * least_rate(8.0));
/// ```
pub fn least_rate(bits_per_key: f64) -> f64 {
    power(0.5, super::special::amount(bits_per_key))
}

/// 1 - (1 - 2^-b)^n <= n 2^-b: the rate of a list of n hashes of b bits (Broder, Mitzenmacher, section 2.3).
///
/// ```
/// use bouquet_theory::bounds::hash_list_rate;
///
/// assert!((hash_list_rate(1000, 20.0) - 1000.0 / 1048576.0).abs() < 1e-6);
/// assert!(hash_list_rate(1000, 20.0) < 1000.0 / 1048576.0);
/// ```
pub fn hash_list_rate(n: u64, bits: f64) -> f64 {
    if n == 0 {
        return 0.0;
    }
    -(n as f64 * (-power(0.5, super::special::amount(bits))).ln_1p()).exp_m1()
}

/// log2(n/f), the bits per hash at which a list of n hashes has a rate of at most f; 2 log2 n for a rate of 1/n.
///
/// ```
/// assert_eq!(bouquet_theory::bounds::hash_list_bits(1024, 1.0 / 1024.0), 20.0);
/// ```
pub fn hash_list_bits(n: u64, rate: f64) -> f64 {
    let rate = probability(rate);
    if n == 0 {
        0.0
    } else if rate == 0.0 {
        f64::INFINITY
    } else {
        ((n as f64).log2() - rate.log2()).max(0.0)
    }
}

/// n (j + log2 e): the least memory of a minimal perfect hash function with a fingerprint of j bits per key.
///
/// The fingerprints alone, n j bits, meet the lower bound at rate 2^-j; the function costs at least 1.44 bits per key more.
///
/// ```
/// use bouquet_theory::bounds::perfect_hash_bits;
///
/// assert!((perfect_hash_bits(1000, 10) / 1000.0 - 11.4427).abs() < 1e-4);
/// ```
pub fn perfect_hash_bits(n: u64, fingerprint_bits: u32) -> f64 {
    n as f64 * (f64::from(fingerprint_bits) + LOG2_E)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;
    use crate::standard::optimal_rate;

    #[test]
    fn a_large_universe_needs_the_simple_bound() {
        // log2 of the ratio tends to n log2(1/f) when f u is far above n.
        assert_close(least_bits_in_universe(1 << 60, 1000, 0.01), least_bits(1000, 0.01), 1e-9);
        assert_close(least_bits_in_universe(100_000, 1000, 0.01), 6_088.853_515_159_873_6, 1e-12);
        assert!(least_bits_in_universe(100_000, 1000, 0.01) < 0.92 * least_bits(1000, 0.01));
    }

    #[test]
    fn no_bloom_filter_is_below_the_bound() {
        for j in 1..60 {
            assert!(optimal_rate(f64::from(j)) > least_rate(f64::from(j)));
        }
        assert_prints(optimal_rate(1.0), "0.6185");
        assert_prints(LOG2_E, "1.4427");
    }

    #[test]
    fn twice_the_logarithm_gives_one_over_n() {
        for n in [100, 1000, 1_000_000u64] {
            let bits = 2.0 * (n as f64).log2();
            assert_close(hash_list_bits(n, 1.0 / n as f64), bits, 1e-12);
            let rate = hash_list_rate(n, bits);
            assert!(rate <= 1.0 / n as f64 && rate > 0.99 / n as f64);
        }
    }

    #[test]
    fn perfect_hashing_beats_bloom_only_below_a_rate() {
        // With the 2.6 bits of a practical function the break-even is where j + 2.6 = 1.4427 j.
        let even = 2.6 / (LOG2_E - 1.0);
        assert_prints(power(0.5, even) * 100.0, "1.7");
    }
}
