//! Many filters side by side: which of s sets hold a key, and how many spurious ids an answer has.
//!
//! Sources: S. Tarkoma, C. Rothenberg, E. Lagerspetz, *Theory and practice of Bloom filters for distributed systems*, 2012,
//! section III-M; Y. Lu, B. Prabhakar, F. Bonomi, *Bloom filters: design innovations and novel applications*, 2005.

use super::special::probability;
use super::standard::optimal_bits_per_key;

/// prod over j != i of (1-f_j): the chance that a member of set i matches no other set. An i out of range matches all sets'
/// absence: the product over all.
///
/// ```
/// use bouquet_theory::bank::unique;
///
/// assert_eq!(unique(&[0.5, 0.25, 0.5], 1), 0.25);
/// ```
pub fn unique(rates: &[f64], member: usize) -> f64 {
    rates.iter().enumerate().filter(|&(j, _)| j != member).map(|(_, &f)| 1.0 - probability(f)).product()
}

/// (1-f)^(s-1), the same for s sets of one rate.
///
/// ```
/// assert!((bouquet_theory::bank::unique_among(64, 0.01) - 0.531).abs() < 5e-4);
/// ```
pub fn unique_among(sets: u64, rate: f64) -> f64 {
    none_of(sets.saturating_sub(1), rate)
}

/// 1 - prod(1-f_j): the chance that an absent key matches at least one set.
///
/// ```
/// assert_eq!(bouquet_theory::bank::any_spurious(&[0.5, 0.5]), 0.75);
/// ```
pub fn any_spurious(rates: &[f64]) -> f64 {
    super::scalable::compound_rate(rates)
}

/// sum f_j, the expected number of spurious ids of an absent key.
///
/// ```
/// assert_eq!(bouquet_theory::bank::expected_spurious(&[0.5, 0.25]), 0.75);
/// ```
pub fn expected_spurious(rates: &[f64]) -> f64 {
    rates.iter().map(|&f| probability(f)).sum()
}

/// f = 1 - (1-delta)^(1/(s-1)), the common rate at which a member has a spurious id with probability delta. With fewer than two
/// sets there is no other id to report: any rate will do, 1.
///
/// ```
/// use bouquet_theory::bank::{rate_for, unique_among};
///
/// let rate = rate_for(64, 0.05);
/// assert!((unique_among(64, rate) - 0.95).abs() < 1e-12);
/// ```
pub fn rate_for(sets: u64, delta: f64) -> f64 {
    if sets < 2 { 1.0 } else { -((-probability(delta)).ln_1p() / (sets - 1) as f64).exp_m1() }
}

/// m_i = n_i log2(1/f) / ln 2, the bits of a set of n_i keys; 0 for an empty set, infinite for rate 0.
///
/// ```
/// assert!((bouquet_theory::bank::set_bits(2000, 0.01) - 19_170.0).abs() < 1.0);
/// ```
pub fn set_bits(n: u64, rate: f64) -> f64 {
    if n == 0 { 0.0 } else { n as f64 * optimal_bits_per_key(rate) }
}

/// ceil(log2(s+1)), the filters of a bank that stores ids 1..=s in binary: 0 stands for an absent key.
///
/// ```
/// use bouquet_theory::bank::code_filters;
///
/// assert_eq!(code_filters(7), 3);
/// assert_eq!(code_filters(8), 4); // one more than log2(8): code 0 is taken
/// ```
pub fn code_filters(sets: u64) -> u32 {
    u64::BITS - sets.leading_zeros()
}

/// 1 - (1-f)^z: the chance that an id with z zero bits is read as another.
///
/// ```
/// assert!((bouquet_theory::bank::wrong_code(0.01, 3) - 0.029701).abs() < 1e-12);
/// ```
pub fn wrong_code(rate: f64, zero_bits: u32) -> f64 {
    1.0 - none_of(u64::from(zero_bits), rate)
}

/// (1-f)^count.
fn none_of(count: u64, rate: f64) -> f64 {
    if count == 0 { 1.0 } else { (count as f64 * (-probability(rate)).ln_1p()).exp() }
}

/// The rate of each of g groups that share one filter of k slices, whatever the sizes of the groups: that of n keys in all.
///
/// ```
/// use bouquet_theory::{bank::shared_rate, partitioned};
/// assert_eq!(shared_rate(1_000_000, 100_000, 7), partitioned::rate(1_000_000, 100_000, 7));
/// ```
pub fn shared_rate(m: u64, n: u64, k: u32) -> f64 {
    super::partitioned::rate(m, n, k)
}

/// The rate of a group of `own` keys when each of g groups has an equal part of the m bits for itself: (1 - e^(-k n_i g/m))^k,
/// ruined for the popular group.
///
/// ```
/// use bouquet_theory::bank::{equal_parts_rate, shared_rate};
/// let popular = equal_parts_rate(1_000_000, 32, 60_000, 7);
/// assert!(popular > 10.0 * shared_rate(1_000_000, 100_000, 7));
/// ```
pub fn equal_parts_rate(m: u64, groups: u64, own: u64, k: u32) -> f64 {
    super::standard::rate(m / groups.max(1), own, k)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;

    #[test]
    fn sixty_four_sets_at_one_percent() {
        assert_prints(100.0 * unique_among(64, 0.01), "53.1");
        assert_close(unique(&[0.01; 64], 5), unique_among(64, 0.01), 1e-12);
    }

    #[test]
    fn answers_are_certain_at_the_ends() {
        assert_eq!(unique_among(0, 0.5), 1.0);
        assert_eq!(unique_among(3, 1.0), 0.0);
        assert_eq!(wrong_code(1.0, 0), 0.0);
        assert_eq!(any_spurious(&[0.2, 1.0]), 1.0);
        assert_eq!(rate_for(2, 1.0), 1.0);
        assert_eq!(code_filters(0), 0);
        assert_eq!(code_filters(u64::MAX), 64);
    }
}
