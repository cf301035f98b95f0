//! The special functions that the rates are made of: gamma function, binomial and Poisson laws with their tails, normal
//! tail, binary entropy.
//!
//! The laws are evaluated in Loader's saddle-point form (C. Loader, *Fast and accurate computation of binomial
//! probabilities*, 2000): the naive difference of three logarithms of factorials loses all digits from about 10^15 trials
//! on, and filters of 10^12 probes are ordinary. Tails are summed term by term while that is short, and taken from the
//! Lugannani-Rice saddle-point formula where the law is wider than a thousand.

use std::f64::consts::{LN_2, PI, SQRT_2};

/// ln(sqrt(2 pi)).
const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_8;

/// Tails of laws with a greater variance than this are approximated: summing them would take too long. The relative error
/// of the approximation is of the order of the variance's inverse.
const SUMMED_VARIANCE: f64 = 1e6;

/// Moves a number into `[0, infinity]`; NaN and -0 become 0.
pub(crate) fn positive(x: f64) -> f64 {
    if x > 0.0 { x } else { 0.0 }
}

/// Moves a probability into `[0, 1]`; NaN becomes 0.
pub(crate) fn probability(x: f64) -> f64 {
    positive(x).min(1.0)
}

/// Moves an amount into `[0, 10^100]`, where products of three still are finite; NaN becomes 0.
pub(crate) fn amount(x: f64) -> f64 {
    positive(x).min(1e100)
}

/// x^k for x >= 0, with 0^0 = 1.
pub(crate) fn power(x: f64, k: f64) -> f64 {
    x.powf(k)
}

/// ln(1 - e^a) for a <= 0, without cancellation at either end: the logarithm of the zeros that a rate e^a leaves.
pub(crate) fn ln_one_minus_exp(a: f64) -> f64 {
    if a < -LN_2 { (-a.exp()).ln_1p() } else { (-a.exp_m1()).ln() }
}

/// The logarithm of (1 - 1/m)^t, the probability that t balls all miss one of m bins.
///
/// 0 for t = 0, negative infinity for m <= 1 otherwise.
pub(crate) fn ln_miss(m: f64, t: f64) -> f64 {
    if t <= 0.0 {
        0.0
    } else if m <= 1.0 {
        f64::NEG_INFINITY
    } else {
        t * (-1.0 / m).ln_1p()
    }
}

/// e^x - 1 - x without cancellation: the excess of an exponential over its tangent.
pub(crate) fn exp_above_tangent(x: f64) -> f64 {
    if x.abs() < 1e-2 {
        // Six terms leave a relative error below x^6 / 20160, smaller than rounding.
        x * x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (1.0 + x / 7.0)))))
    } else {
        x.exp_m1() - x
    }
}

/// The x at which a falling function is 0, to within `tolerance` above it, from two ends with their values: the first above 0,
/// the second not. By the secant, with the value of an end that stays put halved (the Illinois method).
pub(crate) fn falling_root(ends: [(f64, f64); 2], tolerance: f64, mut function: impl FnMut(f64) -> f64) -> f64 {
    let [(mut low, mut above), (mut high, mut below)] = ends;
    let mut stayed = 0i32;
    // Halving would need 60 steps from ends of any distance; the bound is for functions that are not numbers.
    for _ in 0..200 {
        if high - low <= tolerance {
            break;
        }
        let secant = low + (high - low) * (above / (above - below));
        // Half the tolerance away from both ends: beside a root that is met, the other end closes up in one step.
        let middle = low + (high - low) / 2.0;
        let x = if secant.is_finite() {
            secant.clamp((low + tolerance / 2.0).min(middle), (high - tolerance / 2.0).max(middle))
        } else {
            middle
        };
        if x <= low || x >= high {
            break;
        }
        let value = function(x);
        if value > 0.0 {
            (low, above) = (x, value);
            stayed = stayed.max(0) + 1;
            if stayed > 1 {
                below /= 2.0;
            }
        } else {
            (high, below) = (x, value);
            stayed = stayed.min(0) - 1;
            if stayed < -1 {
                above /= 2.0;
            }
        }
    }
    high
}

/// What this many halvings of `[low, high]` towards the end of those x that are `below` come to, digit for digit, when the end
/// is known to lie in `known`: only there it is asked for.
pub(crate) fn halved(ends: [f64; 2], steps: u32, known: [f64; 2], below: impl Fn(f64) -> bool) -> [f64; 2] {
    let ([mut low, mut high], [mut least, mut most]) = (ends, known);
    for _ in 0..steps {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if middle <= least || (middle < most && below(middle)) {
            low = middle;
            least = least.max(middle);
        } else {
            high = middle;
            most = most.min(middle);
        }
    }
    [low, high]
}

/// The natural logarithm of the gamma function, for positive arguments; infinite at 0 and below.
///
/// Stirling's series from 15 on, and the recurrence Γ(x+1) = x Γ(x) below.
///
/// ```
/// use bouquet_theory::special::ln_gamma;
///
/// assert!((ln_gamma(11.0) - 3_628_800f64.ln()).abs() < 1e-13); // Γ(11) = 10!
/// ```
pub fn ln_gamma(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 || x == f64::INFINITY {
        return f64::INFINITY;
    }
    let mut shifted = x;
    let mut product = 1.0;
    while shifted < 15.0 {
        product *= shifted;
        shifted += 1.0;
    }
    (shifted - 0.5) * shifted.ln() - shifted + LN_SQRT_2PI + stirling_series(shifted) - product.ln()
}

/// The sum 1/(12 x) - 1/(360 x^3) + ..., for x >= 15.
fn stirling_series(x: f64) -> f64 {
    let s = 1.0 / (x * x);
    (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / x
}

/// What Stirling's formula for ln(x!) leaves over: ln(x!) - (x + 1/2) ln x + x - ln sqrt(2 pi), for x > 0.
fn stirling_error(x: f64) -> f64 {
    if x >= 15.0 { stirling_series(x) } else { ln_gamma(x + 1.0) - (x + 0.5) * x.ln() + x - LN_SQRT_2PI }
}

/// The deviance x ln(x/mean) + mean - x, without cancellation near x = mean.
fn deviance(x: f64, mean: f64) -> f64 {
    if x <= 0.0 {
        return mean;
    }
    let difference = x - mean;
    if difference.abs() < 0.1 * (x + mean) {
        let v = difference / (x + mean);
        let mut term = 2.0 * x * v;
        let mut sum = difference * v;
        for j in 1..200 {
            term *= v * v;
            let next = sum + term / (2 * j + 1) as f64;
            if next == sum {
                break;
            }
            sum = next;
        }
        sum
    } else {
        x * (x / mean).ln() + mean - x
    }
}

/// ln C(n, k), the logarithm of a binomial coefficient, for real 0 <= k <= n; negative infinity outside.
///
/// ```
/// use bouquet_theory::special::ln_choose;
///
/// assert!((ln_choose(52.0, 5.0).exp() - 2_598_960.0).abs() < 1e-4);
/// assert_eq!(ln_choose(3.0, 4.0), f64::NEG_INFINITY);
/// ```
pub fn ln_choose(n: f64, k: f64) -> f64 {
    let (n, k) = (if n.is_nan() { 0.0 } else { n.min(1e100) }, if k.is_nan() { 0.0 } else { k });
    if k < 0.0 || k > n {
        return f64::NEG_INFINITY;
    }
    let rest = n - k;
    if k == 0.0 || rest == 0.0 {
        return 0.0;
    }
    stirling_error(n)
        - stirling_error(k)
        - stirling_error(rest)
        - k * (k / n).ln()
        - rest * (-k / n).ln_1p()
        - 0.5 * (2.0 * PI * k * (rest / n)).ln()
}

/// P(X = x) for X binomial with the given trials and probability of success.
///
/// ```
/// use bouquet_theory::special::binomial;
///
/// assert!((binomial(2.0, 4.0, 0.5) - 6.0 / 16.0).abs() < 1e-14);
/// ```
pub fn binomial(x: f64, trials: f64, success: f64) -> f64 {
    let (n, p) = (amount(trials), probability(success));
    if x.is_nan() || x < 0.0 || x > n {
        return 0.0;
    }
    if p == 0.0 || p == 1.0 {
        return if x == n * p { 1.0 } else { 0.0 };
    }
    if x == 0.0 {
        return (n * (-p).ln_1p()).exp();
    }
    if x == n {
        return power(p, n);
    }
    let rest = n - x;
    let exponent = stirling_error(n)
        - stirling_error(x)
        - stirling_error(rest)
        - deviance(x, n * p)
        - deviance(rest, n * (1.0 - p));
    // Between whole numbers the formula is an interpolation that may exceed 1 by rounding.
    probability(exponent.exp() / (2.0 * PI * x * (rest / n)).sqrt())
}

/// P(X = x) for X Poisson with the given mean.
///
/// ```
/// use bouquet_theory::special::poisson;
///
/// assert!((poisson(0.0, 2.0) - (-2f64).exp()).abs() < 1e-15);
/// assert!((poisson(3.0, 2.0) - (-2f64).exp() * 8.0 / 6.0).abs() < 1e-15);
/// ```
pub fn poisson(x: f64, mean: f64) -> f64 {
    let mean = amount(mean);
    if x.is_nan() || x < 0.0 || x == f64::INFINITY {
        return 0.0;
    }
    if mean == 0.0 {
        return if x == 0.0 { 1.0 } else { 0.0 };
    }
    if x == 0.0 {
        return (-mean).exp();
    }
    probability((-stirling_error(x) - deviance(x, mean)).exp() / (2.0 * PI * x).sqrt())
}

/// P(X >= j) for X binomial.
///
/// ```
/// use bouquet_theory::special::binomial_tail;
///
/// assert!((binomial_tail(3, 4.0, 0.5) - 5.0 / 16.0).abs() < 1e-14);
/// ```
pub fn binomial_tail(j: u64, trials: f64, success: f64) -> f64 {
    let (n, p, x) = (amount(trials), probability(success), j as f64);
    if j == 0 {
        return 1.0;
    }
    if x > n || p == 0.0 {
        return 0.0;
    }
    if p == 1.0 {
        return 1.0;
    }
    let variance = n * p * (1.0 - p);
    if variance <= SUMMED_VARIANCE {
        return summed_tail(x, n * p, |x| binomial(x, n, p), |x| (n - x) / (x + 1.0) * (p / (1.0 - p)));
    }
    let deviance = deviance(x, n * p) + deviance(n - x, n * (1.0 - p));
    // 1 - e^-theta for the tilt theta that moves the mean to x: x (1-p) / (p (n-x)) = e^theta.
    let slope = 1.0 - p * (n - x) / (x * (1.0 - p));
    saddle_tail(x, n * p, variance, (1.0 - 2.0 * p) / variance.sqrt(), deviance, slope * (x * ((n - x) / n)).sqrt())
}

/// P(X >= j) for X Poisson.
///
/// ```
/// use bouquet_theory::special::poisson_tail;
///
/// let exact = 1.0 - (-2f64).exp() * (1.0 + 2.0 + 2.0);
/// assert!((poisson_tail(3, 2.0) - exact).abs() < 1e-15);
/// ```
pub fn poisson_tail(j: u64, mean: f64) -> f64 {
    let (mean, x) = (amount(mean), j as f64);
    if j == 0 {
        return 1.0;
    }
    if mean == 0.0 {
        return 0.0;
    }
    if mean <= SUMMED_VARIANCE {
        return summed_tail(x, mean, |x| poisson(x, mean), |x| mean / (x + 1.0));
    }
    saddle_tail(x, mean, mean, 1.0 / mean.sqrt(), deviance(x, mean), (1.0 - mean / x) * x.sqrt())
}

/// P(X >= x) by adding up the shorter side. `ratio(x)` is P(X = x + 1) / P(X = x), falling in x.
fn summed_tail(x: f64, mean: f64, law: impl Fn(f64) -> f64, ratio: impl Fn(f64) -> f64) -> f64 {
    // A law of variance at most 10^6 has fallen below 10^-20 of its peak after 10^4 steps.
    const STEPS: u32 = 100_000;
    let upper = x > mean;
    let mut at = if upper { x } else { x - 1.0 };
    let mut term = law(at);
    let mut sum = 0.0;
    for _ in 0..STEPS {
        sum += term;
        if upper {
            term *= ratio(at).max(0.0);
            at += 1.0;
        } else {
            if at < 1.0 {
                break;
            }
            at -= 1.0;
            term /= ratio(at);
        }
        if term <= sum * 1e-18 {
            break;
        }
    }
    probability(if upper { sum } else { 1.0 - sum })
}

/// P(X >= x) for a lattice law by the Lugannani-Rice formula, and near the mean, where that is 0/0, by Edgeworth's.
fn saddle_tail(x: f64, mean: f64, variance: f64, skewness: f64, deviance: f64, u: f64) -> f64 {
    let z = (x - 0.5 - mean) / variance.sqrt();
    if z.abs() < 0.5 {
        return probability(normal_tail(z) + normal_density(z) * skewness * (z * z - 1.0) / 6.0);
    }
    let w = (2.0 * deviance).sqrt().copysign(x - mean);
    let density = normal_density(w);
    if density == 0.0 || u == 0.0 {
        return if w > 0.0 { 0.0 } else { 1.0 };
    }
    probability(normal_tail(w) + density * (1.0 / u - 1.0 / w))
}

fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x - LN_SQRT_2PI).exp()
}

/// P(Z >= x) for Z standard normal.
///
/// ```
/// use bouquet_theory::special::normal_tail;
///
/// assert_eq!(normal_tail(0.0), 0.5);
/// assert!((normal_tail(5.0) / 2.866515718791939e-7 - 1.0).abs() < 1e-12); // "five sigma"
/// ```
pub fn normal_tail(x: f64) -> f64 {
    let z = if x.is_nan() { 0.0 } else { x / SQRT_2 };
    if z < 0.0 { 1.0 - half_erfc(-z) } else { half_erfc(z) }
}

/// erfc(z) / 2 for z >= 0: a series of positive terms below 2, a continued fraction above.
fn half_erfc(z: f64) -> f64 {
    let gauss = (-z * z).exp() / PI.sqrt();
    if z < 2.0 {
        let mut term = z;
        let mut sum = z;
        for i in 1..200 {
            term *= z * z / (i as f64 + 0.5);
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        return 0.5 - gauss * sum;
    }
    if gauss == 0.0 {
        return 0.0;
    }
    // erfc(z) = e^(-z^2)/sqrt(pi) * 1/(z + (1/2)/(z + 1/(z + (3/2)/(z + ...)))), evaluated from the inside.
    let mut fraction = z;
    for i in (1..=120).rev() {
        fraction = z + i as f64 / 2.0 / fraction;
    }
    0.5 * gauss / fraction
}

/// The binary entropy -p log2 p - (1-p) log2(1-p), in bits.
///
/// ```
/// use bouquet_theory::special::entropy;
///
/// assert_eq!(entropy(0.5), 1.0);
/// assert_eq!(entropy(0.0), 0.0);
/// assert!((entropy(0.11) - 0.4999).abs() < 1e-4);
/// ```
pub fn entropy(p: f64) -> f64 {
    let p = probability(p);
    if p == 0.0 || p == 1.0 {
        return 0.0;
    }
    -(p * p.ln() + (1.0 - p) * (-p).ln_1p()) / LN_2
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_close;
    use super::*;

    #[test]
    fn ln_gamma_matches_factorials_and_the_half() {
        let mut factorial = 1.0;
        for i in 1..150 {
            factorial *= f64::from(i);
            let expected = f64::ln(factorial);
            assert!((ln_gamma(f64::from(i) + 1.0) - expected).abs() <= 1e-14 * expected.max(10.0), "{i}!");
        }
        assert_close(ln_gamma(0.5), PI.sqrt().ln(), 1e-13);
    }

    #[test]
    fn laws_sum_to_one_and_agree_with_their_tails() {
        for (n, p) in [(10.0, 0.3), (500.0, 0.01), (1e15, 1e-14)] {
            let mut above = 1.0;
            for x in 0..200u64 {
                assert!((binomial_tail(x, n, p) - above).abs() < 1e-12, "n = {n}, p = {p}, x = {x}");
                above -= binomial(x as f64, n, p);
            }
            assert!(above.abs() < 1e-12);
        }
        let total: f64 = (0..400).map(|x| poisson(f64::from(x), 123.4)).sum();
        assert_close(total, 1.0, 1e-13);
    }

    #[test]
    fn a_binomial_of_rare_events_is_a_poisson_law() {
        // The naive difference of factorial logarithms has no digit left here.
        for x in [0u64, 1, 3, 16] {
            assert_close(binomial(x as f64, 1e18, 1e-18), poisson(x as f64, 1.0), 1e-12);
            assert_close(binomial_tail(x, 1e18, 1e-18), poisson_tail(x, 1.0), 1e-12);
        }
    }

    #[test]
    fn approximate_tails_join_the_summed_ones() {
        // Just below the limit the sum is exact: the saddle-point formula must give the same numbers there.
        let mean = 0.9 * SUMMED_VARIANCE;
        for z in [-6.0, -2.0, -0.6, -0.4, 0.0, 0.4, 0.6, 2.0, 6.0] {
            let x = (mean + z * f64::sqrt(mean)).floor();
            let summed = summed_tail(x, mean, |x| poisson(x, mean), |x| mean / (x + 1.0));
            let approximate =
                saddle_tail(x, mean, mean, 1.0 / mean.sqrt(), deviance(x, mean), (1.0 - mean / x) * x.sqrt());
            assert_close(approximate, summed, 2e-6);
            let (n, p) = (4.0 * mean, 0.3);
            let variance = n * p * (1.0 - p);
            let x = (n * p + z * variance.sqrt()).floor();
            let summed = summed_tail(x, n * p, |x| binomial(x, n, p), |x| (n - x) / (x + 1.0) * (p / (1.0 - p)));
            let u = (1.0 - p * (n - x) / (x * (1.0 - p))) * (x * ((n - x) / n)).sqrt();
            let deviances = deviance(x, n * p) + deviance(n - x, n * (1.0 - p));
            let skewness = (1.0 - 2.0 * p) / variance.sqrt();
            assert_close(saddle_tail(x, n * p, variance, skewness, deviances, u), summed, 2e-6);
        }
    }

    #[test]
    fn the_normal_tail_is_smooth_where_its_formulas_meet() {
        assert_close(normal_tail(1.0), 0.158_655_253_931_457_05, 1e-13);
        assert_close(normal_tail(2.0 * SQRT_2 - 1e-12), normal_tail(2.0 * SQRT_2 + 1e-12), 1e-10);
        assert_close(normal_tail(10.0), 7.619_853_024_160_527e-24, 1e-12);
        assert_close(normal_tail(-1.0) + normal_tail(1.0), 1.0, 1e-15);
    }

    #[test]
    fn exp_above_tangent_is_smooth_where_its_formulas_meet() {
        assert_close(exp_above_tangent(0.009_999_999), exp_above_tangent(0.010_000_001), 1e-6);
        assert_close(exp_above_tangent(1e-9), 5e-19, 1e-8);
    }
}
