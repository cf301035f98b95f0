//! How far one filter may be from the average filter: variance of the ones, concentration, the sigma of tests, and the gain
//! of building N filters and keeping the emptiest.
//!
//! Sources: Broder, Mitzenmacher, *Network applications of Bloom filters*, 2004, section 2.1 (Azuma-Hoeffding); M. Jimeno,
//! K. Christensen, A. Roginsky, *A power management proxy with a new best-of-N Bloom filter design*, 2007.

use super::special::{amount, exp_above_tangent, ln_miss, normal_tail, probability};
use super::standard::{balls, rate};

/// mu = m (1 - p'), the expected number of ones.
///
/// ```
/// assert!((bouquet_theory::spread::ones(1024, 100, 7) - 507.2).abs() < 0.1);
/// ```
pub fn ones(m: u64, n: u64, k: u32) -> f64 {
    -(m as f64) * ln_miss(m as f64, balls(n, k)).exp_m1()
}

/// Var X = m(m-1)(1-2/m)^(kn) + m p' - m^2 p'^2, the variance of the number of ones (and of zeros), without its cancellation.
///
/// For large m it is m p (1 - (1 + kn/m) p).
///
/// ```
/// let sd = bouquet_theory::spread::ones_variance(1_000_000, 100_000, 7).sqrt();
/// assert_eq!(sd.round(), 278.0);
/// ```
pub fn ones_variance(m: u64, n: u64, k: u32) -> f64 {
    variance_of_balls(m as f64, balls(n, k))
}

/// The variance of the number of occupied bins after t balls in m bins.
///
/// With p' = e^-a and b = -(m-1) ((1 - 1/(m-1)^2)^t - 1), which is the relative covariance of two bins, times m-1:
/// Var X = m p'^2 (e^a - 1 - b). Both a and b are about t/m, so for few balls their difference is expanded:
/// a - b = -t/(2 m^2) + (t^2/2 - 2t/3)/m^3 + ...
pub(crate) fn variance_of_balls(m: f64, t: f64) -> f64 {
    if m <= 1.0 || t <= 1.0 {
        return 0.0;
    }
    let a = -ln_miss(m, t);
    if a > 700.0 {
        // Fewer than e^-700 m zeros are expected: none.
        return 0.0;
    }
    let tangent = if a < 1e-3 {
        -t / (2.0 * m * m) + t * (t / 2.0 - 2.0 / 3.0) / (m * m * m)
    } else if m <= 2.0 {
        // Two bins cannot both be missed: the product of the pair is 0, so b = m - 1.
        a - (m - 1.0)
    } else {
        let b = -(m - 1.0) * (t * (-1.0 / ((m - 1.0) * (m - 1.0))).ln_1p()).exp_m1();
        a - b
    };
    (m * (-2.0 * a).exp() * (exp_above_tangent(a) + tangent)).max(0.0)
}

/// P(|Z - p'm| >= e m) <= 2 exp(-2 e^2 m^2 / (nk)), the Azuma-Hoeffding bound on the number of zeros Z.
///
/// ```
/// use bouquet_theory::spread::deviation_bound;
///
/// let (m, n, k) = (1_000_000, 100_000, 7);
/// assert!(deviation_bound(m, n, k, 0.002) < 0.03); // 0.2 % off: once in 30 filters at most
/// assert_eq!(deviation_bound(m, n, k, 0.0), 1.0);
/// ```
pub fn deviation_bound(m: u64, n: u64, k: u32, fraction: f64) -> f64 {
    let t = balls(n, k);
    let off = amount(fraction) * m as f64;
    if t == 0.0 {
        // Without keys all bits are zero for certain.
        return if off > 0.0 { 0.0 } else { 1.0 };
    }
    probability(2.0 * (-2.0 * off * (off / t)).exp())
}

/// The inverse of [`deviation_bound`]: with probability 1 - delta the fraction of zeros is within
/// e = sqrt(nk ln(2/delta) / 2) / m of p'. At most 1; infinitely safe (delta = 0) is 1 too.
///
/// ```
/// use bouquet_theory::spread::{deviation, deviation_bound};
///
/// let e = deviation(1_000_000, 100_000, 7, 0.001);
/// assert!((deviation_bound(1_000_000, 100_000, 7, e) - 0.001).abs() < 1e-12);
/// ```
pub fn deviation(m: u64, n: u64, k: u32, delta: f64) -> f64 {
    let (t, delta) = (balls(n, k), probability(delta));
    if t == 0.0 {
        return 0.0;
    }
    if m == 0 || delta == 0.0 {
        return 1.0;
    }
    probability((t * (2.0 / delta).ln() / 2.0).sqrt() / m as f64)
}

/// The standard deviation of a proportion measured on one filter, against the expected rate:
/// sqrt(f(1-f)/Q + f^2 k^2 Var X / mu^2).
///
/// The first term is the luck of the Q queries, the second the luck of the filter, which more queries do not remove.
///
/// ```
/// use bouquet_theory::spread::{test_sigma, test_sigma_conditional};
///
/// let sigma = test_sigma(1_000_000, 100_000, 7, 1_000_000);
/// assert!((sigma / 9.555e-5 - 1.0).abs() < 1e-3);
/// assert!(test_sigma_conditional(0.0081937, 1_000_000) < sigma);
/// ```
pub fn test_sigma(m: u64, n: u64, k: u32, queries: u64) -> f64 {
    let f = rate(m, n, k);
    let mean = ones(m, n, k);
    let filter = if mean > 0.0 { f * f64::from(k) * (ones_variance(m, n, k).sqrt() / mean) } else { 0.0 };
    test_sigma_conditional(f, queries).hypot(filter)
}

/// The standard deviation of a proportion measured by Q queries whose chance is f: sqrt(f(1-f)/Q).
///
/// This is the sigma against the *conditional* rate, computed from the filter's own fill. Without queries it is 1.
///
/// ```
/// assert_eq!(bouquet_theory::spread::test_sigma_conditional(0.5, 10_000), 0.005);
/// ```
pub fn test_sigma_conditional(f: f64, queries: u64) -> f64 {
    let f = probability(f);
    if queries == 0 { 1.0 } else { (f * (1.0 - f) / queries as f64).sqrt() }
}

/// d_N, the mean of the largest of N standard normal variables; 0 for N of 0 or 1.
///
/// ```
/// assert!((bouquet_theory::spread::largest_normal(2) - std::f64::consts::PI.sqrt().recip()).abs() < 1e-9);
/// ```
pub fn largest_normal(trials: u64) -> f64 {
    if trials <= 1 {
        return 0.0;
    }
    // E[max] = integral over x > 0 of P(max > x) - P(max < -x). Simpson's rule; beyond 12 both are below 2^64 times 10^-32.
    const END: f64 = 12.0;
    const STEPS: u32 = 2400;
    let n = trials as f64;
    let integrand = |x: f64| {
        let tail = normal_tail(x);
        -(n * (-tail).ln_1p()).exp_m1() - (n * tail.ln()).exp()
    };
    let h = END / f64::from(STEPS);
    let inner: f64 = (1..STEPS).map(|i| integrand(f64::from(i) * h) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (integrand(0.0) + inner + integrand(END)) * h / 3.0
}

/// The expected number of ones of the emptiest of N filters, mu - d_N sd (Jimeno, Christensen, Roginsky), at least 0.
///
/// ```
/// assert!((bouquet_theory::spread::best_of_ones(1024, 100, 7, 100) - 485.2).abs() < 0.1);
/// ```
pub fn best_of_ones(m: u64, n: u64, k: u32, trials: u64) -> f64 {
    (ones(m, n, k) - largest_normal(trials) * ones_variance(m, n, k).sqrt()).max(0.0)
}

/// The rate of the emptiest of N filters, (mean of the least ones / m)^k.
///
/// ```
/// use bouquet_theory::{spread::best_of_rate, standard::rate};
///
/// assert_eq!(best_of_rate(1024, 102, 7, 1), rate(1024, 102, 7));
/// assert!(best_of_rate(1024, 102, 7, 100) < 0.75 * rate(1024, 102, 7));
/// ```
pub fn best_of_rate(m: u64, n: u64, k: u32, trials: u64) -> f64 {
    if trials <= 1 || m == 0 || k == 0 {
        return rate(m, n, k);
    }
    probability((best_of_ones(m, n, k, trials) / m as f64).powf(f64::from(k)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;

    #[test]
    fn the_variance_matches_its_textbook_form_where_that_keeps_digits() {
        for (m, n, k) in [(2u64, 3u64, 2u32), (3, 2, 2), (16, 2, 2), (64, 8, 5), (1024, 64, 11), (5000, 2, 2)] {
            let (size, t) = (m as f64, n as f64 * f64::from(k));
            let p = (1.0 - 1.0 / size).powf(t);
            let textbook = size * (size - 1.0) * (1.0 - 2.0 / size).powf(t) + size * p - size * size * p * p;
            assert!((ones_variance(m, n, k) - textbook).abs() < 1e-6 * textbook + 1e-7, "{m} {n} {k}");
        }
    }

    #[test]
    fn sparse_filters_keep_their_variance() {
        // With few balls, the ones fall short by the pairs that coincide: t(t-1)/(2m) of them, a Poisson number.
        assert_close(ones_variance(1 << 50, 1000, 10), 1e4 * 9999.0 / 2.0 / f64::powi(2.0, 50), 1e-3);
        assert_close(ones_variance(1_000_000, 100, 9), 900.0 * 899.0 / 2e6, 2e-3);
        assert_close(
            ones_variance(1_000_000, 112, 9),
            ones_variance(1_000_000, 111, 9) * (1008.0f64 / 999.0).powi(2),
            1e-3,
        );
        assert_eq!(ones_variance(1000, 1, 1), 0.0);
    }

    #[test]
    fn the_true_deviation_is_below_azumas_scale() {
        assert_prints(ones_variance(1_000_000, 100_000, 7).sqrt(), "278");
        // The scale of the exponent: one standard deviation of a normal law with the same bound is sqrt(nk)/2.
        assert_prints((700_000f64).sqrt() / 2.0, "418");
    }

    #[test]
    fn expected_largest_normals_are_the_printed_ones() {
        for (trials, printed) in [(2, "0.564"), (10, "1.539"), (100, "2.508"), (1000, "3.241")] {
            assert_prints(largest_normal(trials), printed);
        }
    }

    #[test]
    fn best_of_n_gains_the_printed_ratios() {
        assert_prints(best_of_ones(1024, 100, 7, 100), "485.2");
        assert_prints(best_of_ones(1024, 100, 7, 10), "493.7");
        for (m, printed) in [(256, "0.53"), (1024, "0.73"), (8192, "0.90"), (80_000, "0.97")] {
            let n = m / 10;
            assert_prints(best_of_rate(m, n, 7, 100) / rate(m, n, 7), printed);
        }
    }
}
