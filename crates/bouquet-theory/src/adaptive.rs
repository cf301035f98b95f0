//! Adaptive filters: counts as runs of ones along a key's endless sequence of positions.
//!
//! A key has k bits for membership and one more for each insertion: the first zero of its sequence. Its raw count is
//! the length of the run of ones. In a vector with a share rho of ones a scan meets g(rho) = rho/(1-rho) foreign ones
//! on average before it finds a zero; a key that comes f times scans f times at fills of the past and is once more
//! lengthened now:
//!
//! ```text
//! E[raw] = f (1 + G) + g(rho now),   G = mean of g over the insertions;    f^ = (raw - g(rho now)) / (1 + G)
//! ```
//!
//! Sources: Y. Matsumoto, H. Hazeyama, Y. Kadobayashi, *Adaptive Bloom filter*, 2008, for the structure; the estimator
//! and the laws of keys that come once are derived.

use super::special::{amount, positive, power, probability};
use super::standard::{balls, zeros};
use super::{Result, check_bits, check_positive, check_rate};

/// g(rho) = rho/(1-rho), the ones that a scan meets before a zero; without end in a full vector.
///
/// ```
/// assert_eq!(bouquet_theory::adaptive::foreign_ones(0.5), 1.0);
/// ```
pub fn foreign_ones(fill: f64) -> f64 {
    let fill = probability(fill);
    fill / (1.0 - fill)
}

/// G = -ln(1-rho)/rho - 1, the mean of g over the insertions that have filled an empty vector one bit at a time.
///
/// ```
/// use bouquet_theory::adaptive::{foreign_ones, mean_foreign_ones};
/// let steps = 100_000;
/// let mean = (0..steps / 2).map(|i| foreign_ones(i as f64 / steps as f64)).sum::<f64>() / (steps / 2) as f64;
/// assert!((mean_foreign_ones(0.5) / mean - 1.0).abs() < 1e-4);
/// ```
pub fn mean_foreign_ones(fill: f64) -> f64 {
    let fill = probability(fill);
    if fill < 1e-4 {
        // The series begins with rho/2 + rho^2/3.
        return fill / 2.0 + fill * fill / 3.0;
    }
    -(-fill).ln_1p() / fill - 1.0
}

/// f^ = (raw - g)/(1 + G), at least 0: the estimate from a raw count.
///
/// ```
/// // Half full, filled one by one: each insertion met 0.386 foreign ones.
/// use bouquet_theory::adaptive::{estimate, foreign_ones, mean_foreign_ones};
/// let raw = 32.0 * (1.0 + mean_foreign_ones(0.5)) + foreign_ones(0.5);
/// assert!((estimate(raw, foreign_ones(0.5), mean_foreign_ones(0.5)) - 32.0).abs() < 1e-12);
/// ```
pub fn estimate(raw: f64, foreign_now: f64, mean_foreign: f64) -> f64 {
    (amount(raw) - amount(foreign_now)).max(0.0) / (1.0 + amount(mean_foreign))
}

/// 1 - e^(-kn/m) + N/m, at most 1: the fill of one vector with n keys that came N times in all. An upper bound, close
/// when the keys appear early: the count bits are new by construction, membership bits that come later need not be.
///
/// ```
/// let fill = bouquet_theory::adaptive::shared_fill(100_000, 3_000, 31_500, 5);
/// assert!((fill - 0.454).abs() < 1e-3);
/// ```
pub fn shared_fill(m: u64, n: u64, insertions: u64, k: u32) -> f64 {
    if m == 0 {
        return 1.0;
    }
    probability(1.0 - (-balls(n, k) / m as f64).exp() + insertions as f64 / m as f64)
}

/// The bits at which [`shared_fill`] is `fill`.
///
/// ```
/// use bouquet_theory::adaptive::{shared_bits, shared_fill};
/// let bits = shared_bits(3_000, 31_500, 5, 0.4)?;
/// assert!((shared_fill(bits, 3_000, 31_500, 5) - 0.4).abs() < 1e-4);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys or the fill is not between 0 and 1; `Error::TooLarge` for too many bits.
pub fn shared_bits(n: u64, insertions: u64, k: u32, fill: f64) -> Result<u64> {
    check_positive("items", n)?;
    check_rate("fill", fill)?;
    let (probes, insertions) = (balls(n, k), insertions as f64);
    let at = |bits: f64| -(-probes / bits).exp_m1() + insertions / bits;
    // Both terms are at most their numerators over m, so the sum of these over the fill is enough; N/m alone needs
    // N/fill.
    let (mut low, mut high) = (insertions.max(1.0), (probes + insertions) / fill + 1.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if at(middle) <= fill { high = middle } else { low = middle }
    }
    check_bits(high)
}

/// The expected share of ones of one vector after keys of several multiplicities, in pairs (keys, times each), whose
/// insertions come in random order.
///
/// The order matters: a count bit is a new one always, a membership bit only where it meets a zero. At the share y of
/// the insertions, 1-(1-y)^f of the keys that come f times have appeared, which makes A(y) = k/m times these keys hits
/// per bit; between, the zeros fall by one with each insertion. So dz = -z dA - (N/m) dy, and
///
/// ```text
/// z(1) = e^-A(1) (1 - N/m times the integral of e^A(y) for y from 0 to 1)
/// ```
///
/// ```
/// use bouquet_theory::adaptive::{random_order_fill, shared_fill, single_fill};
/// let fill = random_order_fill(100_000, 5, &[1, 2, 4, 8, 16, 32].map(|times| (500, times)));
/// assert!((fill - 0.4449).abs() < 1e-4 && fill < shared_fill(100_000, 3_000, 31_500, 5));
/// assert!((random_order_fill(100_000, 5, &[(9_000, 1)]) - single_fill(100_000, 9_000, 5)).abs() < 1e-5);
/// ```
pub fn random_order_fill(m: u64, k: u32, keys: &[(u64, u64)]) -> f64 {
    if m == 0 {
        return 1.0;
    }
    let bits = m as f64;
    let hits = |left: f64| -> f64 {
        keys.iter().map(|&(n, times)| balls(n, k) / bits * (1.0 - power(left, times as f64))).sum()
    };
    let insertions: f64 = keys.iter().map(|&(n, times)| n as f64 * times as f64).sum();
    // y = u^3, because keys that come often appear right at the beginning.
    let mean = (0..STEPS).map(|step| {
        let u = (f64::from(step) + 0.5) / f64::from(STEPS);
        3.0 * u * u * (hits(1.0 - u * u * u) - hits(0.0)).exp()
    });
    let integral = mean.sum::<f64>() / f64::from(STEPS);
    probability(1.0 - (-hits(0.0)).exp() + insertions / bits * integral)
}

/// Steps of the midpoint rule: its error is below 1e-6 of the integral of a function so smooth.
const STEPS: u32 = 2_000;

/// The expected share of ones of one vector after n keys, each inserted once: the zeros z become z(1-1/m)^k - 1 with
/// every key.
///
/// ```
/// use bouquet_theory::adaptive::{shared_fill, single_fill};
/// let fill = single_fill(10_000, 1_000, 3);
/// assert!(fill < shared_fill(10_000, 1_000, 1_000, 3) && fill > 0.33);
/// ```
pub fn single_fill(m: u64, n: u64, k: u32) -> f64 {
    1.0 - Singles::new(m, k).zeros_after(n as f64)
}

/// The probability that a key which came once, among n of these, has a raw count over 1: its first count position was
/// taken when it came, or its second is taken now.
///
/// ```
/// let over = bouquet_theory::adaptive::single_over_count(10_000, 1_000, 3);
/// assert!((0.4..0.5).contains(&over), "{over}");
/// ```
pub fn single_over_count(m: u64, n: u64, k: u32) -> f64 {
    if n == 0 || m == 0 {
        return 0.0;
    }
    let singles = Singles::new(m, k);
    probability(1.0 - singles.zeros_after(n as f64) * singles.mean_zeros_met(n as f64))
}

/// The same for a count vector of its own, of m bits, which has exactly one more one after every key.
///
/// ```
/// let over = bouquet_theory::adaptive::split_over_count(1_000, 400);
/// assert!((over - (1.0 - 0.6 * 0.8005)).abs() < 1e-9);
/// ```
pub fn split_over_count(m: u64, n: u64) -> f64 {
    if n == 0 || m == 0 {
        return 0.0;
    }
    let share = |ones: f64| probability(1.0 - ones / m as f64);
    probability(1.0 - share(n as f64) * share((n as f64 - 1.0) / 2.0))
}

/// The zeros of one vector, as a share of the bits, while keys come once each: z_n = (1 + c) a^n - c, where
/// a = (1-1/m)^k and c = 1/(m(1-a)).
struct Singles {
    ln_a: f64,
    c: f64,
}

impl Singles {
    fn new(m: u64, k: u32) -> Self {
        let a = zeros(m, 1, k);
        let lost = 1.0 - a;
        // Where k/m vanishes in 1 - a, it is all that there is to it.
        let lost = if lost < 1e-8 { f64::from(k) / m.max(1) as f64 } else { lost };
        Singles { ln_a: (-lost).ln_1p(), c: 1.0 / (m.max(1) as f64 * positive(lost).max(f64::MIN_POSITIVE)) }
    }

    fn zeros_after(&self, n: f64) -> f64 {
        if n == 0.0 {
            return 1.0;
        }
        // (1+c) a^n - c, without the cancellation of a large c: a^n + c (a^n - 1).
        probability(power(self.ln_a.exp(), n) + self.c * (n * self.ln_a).exp_m1())
    }

    /// The mean, over the n keys, of the zeros that the first step of their scan met: those after their own k bits.
    fn mean_zeros_met(&self, n: f64) -> f64 {
        let a = self.ln_a.exp();
        // The sum of a^t for t = 0..n-1, over n.
        let mean_power = (n * self.ln_a).exp_m1() / (self.ln_a.exp_m1() * n);
        probability(a * (mean_power + self.c * (mean_power - 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_close;
    use super::*;

    #[test]
    fn the_closed_forms_are_the_sums() {
        for (m, n, k) in [(10_000u64, 2_000u64, 3u32), (1_000, 100, 7), (1 << 20, 50_000, 6)] {
            let a = (1.0 - 1.0 / m as f64).powi(k as i32);
            let (mut zeros, mut met) = (m as f64, 0.0);
            for _ in 0..n {
                met += zeros * a / m as f64;
                zeros = zeros * a - 1.0;
            }
            assert_close(1.0 - single_fill(m, n, k), zeros / m as f64, 1e-9);
            assert_close(Singles::new(m, k).mean_zeros_met(n as f64), met / n as f64, 1e-9);
        }
    }

    #[test]
    fn bits_are_those_of_the_fill() {
        for (n, insertions, k, fill) in
            [(1, 1, 1, 0.4), (1_000, 1_000, 6, 0.4), (10, 1_000_000, 3, 0.9), (5, 5, 64, 0.01)]
        {
            let bits = shared_bits(n, insertions, k, fill).unwrap();
            assert!(shared_fill(bits, n, insertions, k) <= fill + 1e-9);
            assert!(bits < 3 || shared_fill(bits - 2, n, insertions, k) > fill);
        }
        assert!(shared_bits(1 << 60, 1, 64, 1e-9).is_err());
    }
}
