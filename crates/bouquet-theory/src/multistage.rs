//! Headers without false positives: one short filter per hop, as long as it must be to reject every link that will be asked for.
//!
//! Source: J. Tapolcai, J. Biro, P. Babarczi, A. Gulyas, Z. Heszberger, D. Trossen, *Optimal false-positive-free Bloom filter design for
//! scalable multicast forwarding*, 2012, 2015.

use std::f64::consts::LN_2;

use super::special::entropy;
use super::standard::corrected_rate;

/// The numbers of probes that are tried for rho links in b bits: those around (b/rho) ln 2, from 1 to `most`.
///
/// ```
/// use bouquet_theory::multistage::candidates;
/// assert_eq!(candidates(25, 5, 7), 3..=4);
/// assert_eq!((candidates(1, 5, 7), candidates(1_000, 5, 7), candidates(9, 0, 7)), (1..=1, 7..=7, 1..=1));
/// ```
pub fn candidates(bits: u64, links: u64, most: u32) -> std::ops::RangeInclusive<u32> {
    let most = most.max(1);
    if links == 0 {
        return 1..=1;
    }
    let best = bits as f64 / links as f64 * LN_2;
    let within = |k: f64| (k as u32).clamp(1, most);
    within(best.floor())..=within(best.ceil())
}

/// (1-f)^zeta: the probability that a filter of rho links in b bits with k probes rejects zeta others.
///
/// ```
/// use bouquet_theory::multistage::success;
/// // rho log2(zeta) / ln 2 bits succeed with a probability of about 1/e.
/// let bits = 20.0 * f64::log2(100.0) / std::f64::consts::LN_2;
/// assert!((success(bits as u64, 7, 20, 100) - (-1.0f64).exp()).abs() < 0.05);
/// assert_eq!(success(10, 3, 0, 1_000), 1.0);
/// ```
pub fn success(bits: u64, hashes: u32, links: u64, excluded: u64) -> f64 {
    if excluded == 0 {
        return 1.0;
    }
    let rate = corrected_rate(bits, links, hashes).min(1.0);
    (excluded as f64 * (-rate).ln_1p()).exp()
}

/// The expected length of the shortest filter of rho links that rejects zeta others, when `seeds` seeds are tried with each number of
/// probes: the sum over b of the probability that nothing shorter was enough. At most `most` bits, and 16,384.
///
/// ```
/// use bouquet_theory::multistage::expected_bits;
/// assert!((expected_bits(5, 20, 1, 7, 4_096) / 24.9 - 1.0).abs() < 0.06);
/// assert_eq!(expected_bits(5, 0, 1, 7, 4_096), 1.0);
/// ```
pub fn expected_bits(links: u64, excluded: u64, seeds: u64, most_hashes: u32, most: u64) -> f64 {
    /// Lengths that are this improbable are left out.
    const NEGLIGIBLE: f64 = 1e-6;
    const LONGEST: u64 = 1 << 14;
    let (mut failed, mut expected) = (1.0f64, 0.0);
    for bits in 1..=most.clamp(1, LONGEST) {
        expected += failed;
        for hashes in candidates(bits, links, most_hashes) {
            failed *= (1.0 - success(bits, hashes, links, excluded)).max(0.0).powf(seeds.max(1) as f64);
        }
        if failed < NEGLIGIBLE {
            break;
        }
    }
    expected
}

/// (rho + zeta) H2(rho / (rho + zeta)): the bits that any code needs to tell rho links from zeta others.
///
/// ```
/// use bouquet_theory::multistage::least_bits;
/// assert!((least_bits(5, 20) - 18.05).abs() < 0.01);
/// assert_eq!(least_bits(5, 0), 0.0);
/// ```
pub fn least_bits(links: u64, excluded: u64) -> f64 {
    let all = links as f64 + excluded as f64;
    if all == 0.0 { 0.0 } else { all * entropy(links as f64 / all) }
}

/// The bits of a number, at least 1, in Elias' gamma code.
///
/// ```
/// use bouquet_theory::multistage::gamma_bits;
/// assert_eq!([1, 2, 3, 4, 255].map(gamma_bits), [1, 3, 3, 5, 15]);
/// ```
pub fn gamma_bits(number: u64) -> u32 {
    2 * number.max(1).ilog2() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_lengths_are_those_of_simulations() {
        for (links, excluded, one, eight) in
            [(5, 20, 24.9, 17.8), (10, 40, 58.6, 47.3), (20, 100, 146.0, 124.0), (40, 160, 320.0, 282.0)]
        {
            for (seeds, simulated) in [(1, one), (8, eight)] {
                let expected = expected_bits(links, excluded, seeds, 7, 4_096);
                // Trials of one instance depend on each other, which the product leaves out.
                assert!((expected / simulated - 1.0).abs() < 0.1, "{links}, {excluded}, {seeds} seeds: {expected}");
                assert!(expected > least_bits(links, excluded) - 1.0 || seeds > 1);
            }
        }
    }
}
