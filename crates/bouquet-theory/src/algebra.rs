//! Combining filters: what union and intersection do to the rate, and what the numbers of zeros tell about the sets.
//!
//! With q(x) = (1-1/m)^(kx), the chance that a bit is zero after x keys, and zeros Z counted in a filter, everything here
//! follows from two facts: a bit is zero in the union's filter iff it is zero in both, and the zeros of two filters that
//! share j keys have the relative covariance (e^x - 1 - x)/m with x = kj/m. The latter gives every estimate its error bar.
//!
//! Sources: Broder, Mitzenmacher, *Network applications of Bloom filters*, 2004, section 2.4; D. Guo et al., *The dynamic
//! Bloom filters*, 2010, theorems 1 to 3; L. Mackert, G. Lohman, *R\* optimizer validation and performance evaluation for
//! distributed queries*, 1986 (Bloomjoin).

use super::special::{exp_above_tangent, ln_miss, positive, probability};
use super::standard::{self, balls};
use super::{Size, check_positive};
use crate::Result;

/// An estimate and its standard error.
///
/// ```
/// use bouquet_theory::algebra::cardinality;
///
/// let estimate = cardinality(1_000_000, 7, 496_585).unwrap(); // the zeros of 100,000 keys
/// assert!((estimate.value - 100_000.0).abs() < 1.0);
/// assert!((estimate.error - 80.0).abs() < 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The most likely value.
    pub value: f64,
    /// One standard deviation.
    pub error: f64,
}

/// The rate of a union, f'(|A| + |B| - |A n B|): the OR of two filters is the filter of the union, bit for bit.
///
/// ```
/// use bouquet_theory::{algebra::union_rate, standard::rate};
///
/// assert_eq!(union_rate(4096, 4, 100, 200, 50), rate(4096, 250, 4));
/// assert!(union_rate(4096, 4, 100, 200, 50) > rate(4096, 200, 4));
/// ```
pub fn union_rate(m: u64, k: u32, a: u64, b: u64, common: u64) -> f64 {
    let common = common.min(a).min(b);
    standard::rate(m, a.saturating_add(b - common), k)
}

/// (1-1/m)^(k^2 |A-B| |B-A|), the published lower bound on P(BF(A) AND BF(B) = BF(A n B)) (Guo et al., theorem 3).
///
/// ```
/// let bound = bouquet_theory::algebra::intersection_is_exact_bound(4096, 4, 10, 10);
/// assert!((bound - 0.6766).abs() < 5e-5);
/// ```
pub fn intersection_is_exact_bound(m: u64, k: u32, only_a: u64, only_b: u64) -> f64 {
    ln_miss(m as f64, balls(only_a, k) * balls(only_b, k)).exp()
}

/// exp(-m q(c) (1-q(a)) (1-q(b))), the chance that the AND is the intersection's filter, for a = |A-B|, b = |B-A|, c = |A n B|.
///
/// A bit spoils the equality if the intersection leaves it zero and both differences set it; bits the intersection has set are
/// harmless, which the published bound ignores.
///
/// ```
/// use bouquet_theory::algebra::intersection_is_exact;
///
/// assert!((intersection_is_exact(4096, 4, 10, 10, 300) - 0.7493).abs() < 5e-5);
/// ```
pub fn intersection_is_exact(m: u64, k: u32, only_a: u64, only_b: u64, common: u64) -> f64 {
    let expected = m as f64 * ln_zeros(m, k, common).exp() * ones(m, k, only_a) * ones(m, k, only_b);
    (-expected).exp()
}

/// (1-q(c)) + q(c)(1-q(a))(1-q(b)): the chance that a bit is set in both filters, for a = |A-B|, b = |B-A|, c = |A n B|.
///
/// ```
/// use bouquet_theory::algebra::{both_set, inner_product};
///
/// assert!((both_set(10_000, 7, 800, 800, 200) * 10_000.0 - inner_product(10_000, 7, 1000, 1000, 200)).abs() < 1e-8);
/// ```
pub fn both_set(m: u64, k: u32, only_a: u64, only_b: u64, common: u64) -> f64 {
    if m == 0 {
        return 0.0;
    }
    let zero = ln_zeros(m, k, common).exp();
    probability(ones(m, k, common) + zero * (ones(m, k, only_a) * ones(m, k, only_b)))
}

/// m (1 - q(n1) - q(n2) + q(n1+n2-c)), the expected ones of the AND (Broder, Mitzenmacher, section 2.4).
///
/// ```
/// let product = bouquet_theory::algebra::inner_product(10_000, 7, 1000, 1000, 200);
/// assert!((product - 2905.0).abs() < 0.05);
/// ```
pub fn inner_product(m: u64, k: u32, a: u64, b: u64, common: u64) -> f64 {
    let common = common.min(a).min(b);
    m as f64 * both_set(m, k, a - common, b - common, common)
}

/// (1-2/m)^(kn), the expected fraction of zeros after the filter was folded to half its size.
///
/// ```
/// use bouquet_theory::{algebra::halved_zeros, standard::zeros};
///
/// assert_eq!(halved_zeros(2048, 100, 5), zeros(1024, 100, 5));
/// ```
pub fn halved_zeros(m: u64, n: u64, k: u32) -> f64 {
    standard::zeros(m / 2, n, k)
}

/// The rate after halving, that of m/2 bits with the same k; worse than a fresh filter of that size with its own best k.
///
/// ```
/// use bouquet_theory::{algebra::halved_rate, standard};
///
/// let fresh = standard::for_bits(5000, 1000)?;
/// assert!(halved_rate(10_000, 1000, 7) > standard::rate(fresh.bits, 1000, fresh.hashes));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn halved_rate(m: u64, n: u64, k: u32) -> f64 {
    standard::rate(m / 2, n, k)
}

/// n^ = ln(Z/m) / (k ln(1-1/m)), the number of keys from the zeros; `None` if the filter is saturated (no zeros left) or has
/// no bits or probes.
///
/// The standard error is sqrt(m (e^x - 1 - x)) / k with x = kn/m.
///
/// ```
/// use bouquet_theory::algebra::cardinality;
///
/// assert_eq!(cardinality(1000, 5, 1000).unwrap().value, 0.0);
/// assert_eq!(cardinality(1000, 5, 0), None);
/// ```
pub fn cardinality(m: u64, k: u32, zeros: u64) -> Option<Estimate> {
    let value = keys_of_zeros(m, k, zeros)?;
    Some(Estimate { value, error: cardinality_error(m, k, value) })
}

/// sqrt(m (e^x - 1 - x)) / k with x = kn/m, the standard error of [`cardinality`]; infinite for a filter far beyond saturation.
///
/// ```
/// assert_eq!(bouquet_theory::algebra::cardinality_error(1_000_000, 7, 100_000.0).round(), 80.0);
/// ```
pub fn cardinality_error(m: u64, k: u32, n: f64) -> f64 {
    Loads::new(m, k).error(|excess| excess(n))
}

/// The cardinality from the zeros of each slice of s bits: the mean of the slices' estimates ln(Z_i/s) / ln(1-1/s).
///
/// `None` if a slice is saturated or there is none. The k estimates are independent, so the error is a slice's over sqrt(k).
///
/// ```
/// use bouquet_theory::algebra::cardinality_of_slices;
///
/// // 146 bits after 100 keys keep 146 (1-1/146)^100 = 73.5 zeros.
/// let estimate = cardinality_of_slices(&[73, 74, 73, 74], 146).unwrap();
/// assert!((estimate.value - 100.0).abs() < 0.2);
/// ```
pub fn cardinality_of_slices(zeros: &[u64], slice_bits: u64) -> Option<Estimate> {
    if zeros.is_empty() {
        return None;
    }
    let count = zeros.len() as f64;
    let total = zeros.iter().map(|&z| keys_of_zeros(slice_bits, 1, z)).sum::<Option<f64>>()?;
    let value = total / count;
    Some(Estimate { value, error: cardinality_error(slice_bits, 1, value) / count.sqrt() })
}

/// c^ = [ln m + ln(Z1+Z2-Z12) - ln Z1 - ln Z2] / (-k ln(1-1/m)), the size of an intersection from the zeros of both filters and
/// of their AND (Broder, Mitzenmacher, section 2.4); clamped to what the two sets allow. `None` if a filter or the union is
/// saturated.
///
/// It equals n1^ + n2^ - nu^, for Z1+Z2-Z12 are the zeros of the OR. With phi(x) = e^x - 1 - x the variance is
/// m/k^2 (phi(xu) + 2 phi(xc) - phi(x1) - phi(x2)), each x being k/m times a number of keys.
///
/// ```
/// use bouquet_theory::algebra::intersection_size;
///
/// // The expected zeros for 50,000 keys in each set, 10,000 of them common.
/// let (m, k) = (1_000_000, 7);
/// let (one, or) = (704_688, 532_591);
/// let common = intersection_size(m, k, one, one, 2 * one - or).unwrap();
/// assert!((common.value - 10_000.0).abs() < 2.0);
/// assert!((common.error - 48.3).abs() < 0.1);
/// ```
pub fn intersection_size(m: u64, k: u32, zeros_a: u64, zeros_b: u64, zeros_and: u64) -> Option<Estimate> {
    Some(Sets::new(m, k, zeros_a, zeros_b, zeros_and)?.intersection())
}

/// The similarity |A n B| / |A u B| of two sets from the zeros of their filters and of the AND, within `[0, 1]`; `None` if a
/// filter or the union is saturated, 0 for two empty sets.
///
/// ```
/// use bouquet_theory::algebra::jaccard;
///
/// let (one, or) = (704_688, 532_591);
/// let similarity = jaccard(1_000_000, 7, one, one, 2 * one - or).unwrap();
/// assert!((similarity.value - 10_000.0 / 90_000.0).abs() < 1e-4);
/// ```
pub fn jaccard(m: u64, k: u32, zeros_a: u64, zeros_b: u64, zeros_and: u64) -> Option<Estimate> {
    Some(Sets::new(m, k, zeros_a, zeros_b, zeros_and)?.jaccard())
}

/// The bytes of a Bloomjoin: m/8 for the filter, then the keys that pass it, (|S1 n S2| + f |S2 - S1|) times their size.
///
/// ```
/// use bouquet_theory::{algebra::bloomjoin_bytes, Size};
///
/// let size = Size { bits: 80_000, hashes: 6 };
/// let bytes = bloomjoin_bytes(size, 10_000, 1_000_000, 500, 20);
/// assert!(bytes < 20.0 * 10_000.0 * 4.0); // against 20 MB for sending the second set
/// ```
pub fn bloomjoin_bytes(size: Size, sent: u64, other: u64, common: u64, key_bytes: u64) -> f64 {
    let common = common.min(other);
    let passing = common as f64 + standard::rate(size.bits, sent, size.hashes) * (other - common) as f64;
    size.bits as f64 / 8.0 + passing * key_bytes as f64
}

/// The filter that makes a Bloomjoin cheapest.
///
/// With f = 0.6185^(m/n) the sum is least where one bit more saves as much as it costs:
/// m = n/(ln 2)^2 ln(8 (ln 2)^2 |S2 - S1| key/n); at least one bit.
///
/// ```
/// use bouquet_theory::{algebra::{best_bloomjoin, bloomjoin_bytes}, standard::for_bits};
///
/// let best = best_bloomjoin(10_000, 1_000_000, 500, 20)?;
/// let cost = |bits| for_bits(bits, 10_000).map(|size| bloomjoin_bytes(size, 10_000, 1_000_000, 500, 20));
/// assert!(cost(best.bits)? < cost(best.bits * 5 / 4)? && cost(best.bits)? < cost(best.bits * 4 / 5)?);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if the set to be sent is empty: there is nothing to join.
pub fn best_bloomjoin(sent: u64, other: u64, common: u64, key_bytes: u64) -> Result<Size> {
    check_positive("sent", sent)?;
    let decay = std::f64::consts::LN_2 * std::f64::consts::LN_2;
    let strangers = (other - common.min(other)) as f64;
    let gain = 8.0 * decay * strangers * key_bytes as f64 / sent as f64;
    let bits = if gain > 1.0 { sent as f64 / decay * gain.ln() } else { 1.0 };
    standard::for_bits((bits.round() as u64).max(1), sent)
}

/// ln q(x).
fn ln_zeros(m: u64, k: u32, keys: u64) -> f64 {
    ln_miss(m as f64, balls(keys, k))
}

/// 1 - q(x).
fn ones(m: u64, k: u32, keys: u64) -> f64 {
    -ln_zeros(m, k, keys).exp_m1()
}

/// The number of keys that leave this many zeros on average; `None` for no bits, no probes or no zeros.
fn keys_of_zeros(m: u64, k: u32, zeros: u64) -> Option<f64> {
    if m == 0 || k == 0 || zeros == 0 {
        return None;
    }
    if zeros >= m {
        return Some(0.0);
    }
    // m >= 2 here, so the logarithm is finite and negative.
    Some((zeros as f64 / m as f64).ln() / (f64::from(k) * (-1.0 / m as f64).ln_1p()))
}

/// Turns numbers of keys into relative covariances of zeros.
struct Loads {
    m: f64,
    k: f64,
}

impl Loads {
    fn new(m: u64, k: u32) -> Self {
        Loads { m: m as f64, k: f64::from(k) }
    }

    /// sqrt(m V) / k for a variance V combined from phi(k j / m) over numbers of keys j.
    fn error(&self, combine: impl Fn(&dyn Fn(f64) -> f64) -> f64) -> f64 {
        if self.k == 0.0 || self.m == 0.0 {
            return f64::INFINITY;
        }
        let excess = |keys: f64| exp_above_tangent((self.k * positive(keys) / self.m).min(600.0));
        // Rounding may leave a combination that is zero in truth slightly negative.
        (self.m * combine(&excess).max(0.0)).sqrt() / self.k
    }
}

/// Two sets as their filters show them.
struct Sets {
    a: f64,
    b: f64,
    union: f64,
    loads: Loads,
}

impl Sets {
    fn new(m: u64, k: u32, zeros_a: u64, zeros_b: u64, zeros_and: u64) -> Option<Self> {
        let (zeros_a, zeros_b) = (zeros_a.min(m), zeros_b.min(m));
        // Impossible counts are moved to the nearest possible: the union has no more zeros than either filter.
        let zeros_or = (u128::from(zeros_a) + u128::from(zeros_b)).saturating_sub(u128::from(zeros_and));
        let zeros_or = zeros_or.min(u128::from(zeros_a.min(zeros_b))) as u64;
        Some(Sets {
            a: keys_of_zeros(m, k, zeros_a)?,
            b: keys_of_zeros(m, k, zeros_b)?,
            union: keys_of_zeros(m, k, zeros_or)?,
            loads: Loads::new(m, k),
        })
    }

    fn common(&self) -> f64 {
        (self.a + self.b - self.union).clamp(0.0, self.a.min(self.b))
    }

    fn intersection(&self) -> Estimate {
        let common = self.common();
        let error = self.loads.error(|phi| phi(self.union) + 2.0 * phi(common) - phi(self.a) - phi(self.b));
        Estimate { value: common, error }
    }

    /// J = (n1 + n2)/nu - 1; with r = 1 + J its variance is that of (n1 + n2 - r nu)/nu.
    fn jaccard(&self) -> Estimate {
        if self.union == 0.0 {
            return Estimate { value: 0.0, error: 0.0 };
        }
        let common = self.common();
        let r = (self.a + self.b) / self.union;
        let error = self
            .loads
            .error(|phi| (1.0 - 2.0 * r) * (phi(self.a) + phi(self.b)) + 2.0 * phi(common) + r * r * phi(self.union));
        Estimate { value: probability(common / self.union), error: error / self.union }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;

    /// A small generator, good enough to throw balls.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, m: u64) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((u128::from(z ^ (z >> 31)) * u128::from(m)) >> 64) as usize
        }
    }

    #[test]
    fn intersection_numbers_are_the_printed_ones() {
        assert_prints(intersection_is_exact_bound(4096, 4, 10, 10), "0.6766");
        assert_prints(intersection_is_exact(4096, 4, 10, 10, 300), "0.7493");
        assert!(intersection_is_exact(4096, 4, 10, 10, 0) > intersection_is_exact_bound(4096, 4, 10, 10));
        assert_prints(inner_product(10_000, 7, 1000, 1000, 200), "2905.0");
    }

    #[test]
    fn the_refined_probability_is_measured() {
        let (m, k, trials) = (4096u64, 4u32, 20_000u32);
        let mut dice = Dice(1);
        let mut exact = 0u32;
        for _ in 0..trials {
            let mut sets = vec![0u8; m as usize];
            for (mark, keys) in [(4u8, 300), (1, 10), (2, 10)] {
                (0..keys * k).for_each(|_| sets[dice.below(m)] |= mark);
            }
            exact += u32::from(!sets.contains(&3));
        }
        let expected = intersection_is_exact(m, k, 10, 10, 300);
        let measured = f64::from(exact) / f64::from(trials);
        let sigma = (expected * (1.0 - expected) / f64::from(trials)).sqrt();
        assert!((measured - expected).abs() < 5.0 * sigma, "{measured} for {expected}");
    }

    #[test]
    fn cardinality_error_is_the_printed_one() {
        assert_prints(cardinality_error(1_000_000, 7, 100_000.0), "80");
    }

    #[test]
    fn intersection_errors_are_the_measured_ones() {
        // m = 10^5 and sets of 5000: the error scales with sqrt(m), the loads are the same.
        let (m, k, n) = (100_000u64, 7u32, 5000u64);
        for common in [1000u64, 100] {
            let mut dice = Dice(common);
            let (mut sizes, mut similarities, mut error, mut similarity_error) = (vec![], vec![], 0.0, 0.0);
            for _ in 0..400 {
                let mut bits = vec![0u8; m as usize];
                for (mark, keys) in [(3u8, common), (1, n - common), (2, n - common)] {
                    (0..keys * u64::from(k)).for_each(|_| bits[dice.below(m)] |= mark);
                }
                let zeros = |mask: u8| bits.iter().filter(|&&b| b & mask != mask).count() as u64;
                let found = intersection_size(m, k, zeros(1), zeros(2), zeros(3)).unwrap();
                sizes.push(found.value);
                error += found.error / 400.0;
                let found = jaccard(m, k, zeros(1), zeros(2), zeros(3)).unwrap();
                similarities.push(found.value);
                similarity_error += found.error / 400.0;
            }
            for (values, error, truth) in [
                (sizes, error, common as f64),
                (similarities, similarity_error, common as f64 / (2 * n - common) as f64),
            ] {
                let mean = values.iter().sum::<f64>() / 400.0;
                let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 399.0).sqrt();
                assert!((mean - truth).abs() < 5.0 * error / 20.0, "{mean} for {truth} +- {error}");
                // The sample deviation of 400 values scatters by 3.5 %.
                assert!((sd / error - 1.0).abs() < 0.18, "measured {sd}, predicted {error}");
            }
        }
    }

    #[test]
    fn intersection_errors_at_a_million_bits() {
        let error = |common: f64| {
            let n = 50_000.0;
            let sets = Sets { a: n, b: n, union: 2.0 * n - common, loads: Loads::new(1_000_000, 7) };
            sets.intersection().error
        };
        assert_prints(error(10_000.0), "48.3");
        assert_prints(error(1000.0), "58.7");
    }

    #[test]
    fn saturation_and_emptiness_are_told_apart() {
        assert_eq!(cardinality(100, 3, 0), None);
        assert_eq!(cardinality(0, 3, 5), None);
        assert_eq!(intersection_size(100, 3, 50, 50, 100), None);
        assert_eq!(jaccard(100, 3, 100, 100, 100), Some(Estimate { value: 0.0, error: 0.0 }));
        assert_eq!(cardinality_of_slices(&[], 10), None);
        assert_eq!(cardinality_of_slices(&[3, 0], 10), None);
    }

    #[test]
    fn a_set_is_wholly_similar_to_itself() {
        let same = jaccard(1000, 3, 600, 600, 600).unwrap();
        assert_close(same.value, 1.0, 1e-12);
        assert!(same.error < 1e-7);
        let size = intersection_size(1000, 3, 600, 600, 600).unwrap();
        assert_close(size.error, cardinality(1000, 3, 600).unwrap().error, 1e-9);
    }
}
