//! A fixed matrix of rows: every key goes to one row, and who asks looks at all of them.
//!
//! s rows of m bits and k probes hold n keys. f(n) = (1 - e^(-kn/m))^k is the rate of a row with n keys. What the whole
//! answers depends on how the row of a key is chosen: each in turn, by chance, or by the key itself.
//!
//! Sources: M. Xiao, Y. Dai, X. Li, *Split Bloom filters*, 2004; D. Guo et al., *The dynamic Bloom filters*, 2010.

use super::dynamic::Shape;
use super::special::{binomial, probability};
use super::standard::{self, limit_rate};
use super::{MAX_BITS, check_positive, check_rate};
use crate::{Error, Result};

/// f for a number of keys that need not be whole.
fn row_rate(m: u64, k: u32, n: f64) -> f64 {
    if n <= 0.0 { 0.0 } else { limit_rate(m as f64 / n, k) }
}

/// 1 - (1 - f(n/s))^s, the rate when every row has its share; rows that have one key more are counted as such.
///
/// ```
/// use bouquet_theory::split::balanced_rate;
/// assert!((balanced_rate(1280, 7, 8 * 133, 8) - 0.0761).abs() < 5e-5);
/// ```
pub fn balanced_rate(m: u64, k: u32, n: u64, s: u64) -> f64 {
    balanced(n, s, |n| row_rate(m, k, n as f64))
}

/// The same with another rate of a row, given its number of keys.
///
/// ```
/// use bouquet_theory::{split, standard};
/// let rate = split::balanced(8 * 133, 8, |n| standard::expected_rate(1280, n, 7));
/// assert!((rate / split::balanced_rate(1280, 7, 8 * 133, 8) - 1.0).abs() < 0.05);
/// ```
pub fn balanced(n: u64, s: u64, rate: impl Fn(u64) -> f64) -> f64 {
    let s = s.max(1);
    let (share, more) = (n / s, n % s);
    let log = |rate: f64, rows: u64| if rows == 0 { 0.0 } else { rows as f64 * (-probability(rate)).ln_1p() };
    probability(-(log(rate(share), s - more) + log(rate(share.saturating_add(1)), more)).exp_m1())
}

/// E[1 - prod(1 - f(N_i))], the rate when rows are chosen by chance, so that their keys N_i are multinomial. To second
/// order around the mean u = n/s, with g = 1 - f: 1 - g^s (1 + u (s-1)/2 (g''/g - (g'/g)^2)). Larger than
/// [`balanced_rate`].
///
/// ```
/// use bouquet_theory::split::{balanced_rate, random_rate};
/// let (random, balanced) = (random_rate(1280, 7, 8 * 133, 8), balanced_rate(1280, 7, 8 * 133, 8));
/// assert!(random > 1.02 * balanced && random < 1.2 * balanced);
/// ```
pub fn random_rate(m: u64, k: u32, n: u64, s: u64) -> f64 {
    let s = s.max(1) as f64;
    let u = n as f64 / s;
    let g = |x: f64| 1.0 - row_rate(m, k, x);
    let (here, slope, bend) = derivatives(g, u);
    if here <= 0.0 {
        return 1.0;
    }
    let spread = u * (s - 1.0) / 2.0 * (bend / here - (slope / here).powi(2));
    probability(1.0 - here.powf(s) * (1.0 + spread))
}

/// E[f(N)] with N binomial (n, 1/s), the rate when a key's row follows from the key, so that only one is looked at.
///
/// ```
/// use bouquet_theory::split::hashed_rate;
/// assert!((hashed_rate(1280, 7, 8 * 133, 8) - 0.0105).abs() < 5e-4);
/// ```
pub fn hashed_rate(m: u64, k: u32, n: u64, s: u64) -> f64 {
    /// Numbers of keys that are weighed one by one; of more, the second order around the mean is as good.
    const LISTED: f64 = 20_000.0;
    let (trials, share) = (n as f64, 1.0 / s.max(1) as f64);
    let (mean, deviation) = (trials * share, (trials * share * (1.0 - share)).sqrt());
    let (low, high) = ((mean - 12.0 * deviation - 30.0).max(0.0).floor(), mean + 12.0 * deviation + 30.0);
    let rate = |x: f64| row_rate(m, k, x);
    if high - low > LISTED {
        let (here, _, bend) = derivatives(rate, mean);
        return probability(here + deviation * deviation / 2.0 * bend);
    }
    let numbers = (0..=(high - low) as u64).map(|i| low + i as f64).filter(|&x| x <= trials);
    probability(numbers.map(|x| binomial(x, trials, share) * rate(x)).sum())
}

/// A function, its slope and its bend at x, by differences over a thousandth of x or one, whatever is more.
fn derivatives(f: impl Fn(f64) -> f64, x: f64) -> (f64, f64, f64) {
    let h = (x / 1000.0).max(1.0).min(x.max(f64::MIN_POSITIVE));
    let (left, here, right) = (f(x - h), f(x), f(x + h));
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    (here, finite((right - left) / (2.0 * h)), finite((right - 2.0 * here + left) / (h * h)))
}

/// The rows for up to `bound` keys at the rate alpha: each for ceil(N/s) keys at delta = 1 - (1-alpha)^(1/s).
///
/// ```
/// use bouquet_theory::split::{balanced_rate, for_bound};
/// let row = for_bound(1064, 0.0761, 8)?;
/// assert_eq!((row.capacity, row.hashes), (133, 7));
/// assert!(balanced_rate(row.bits, row.hashes, 1064, 8) <= 0.0761);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn for_bound(bound: u64, alpha: f64, s: u64) -> Result<Shape> {
    check_positive("items", bound)?;
    check_positive("rows", s)?;
    check_rate("fpr", alpha)?;
    if bound > MAX_BITS {
        return Err(Error::parameter("items", format!("at most {MAX_BITS}"), bound));
    }
    let capacity = bound.div_ceil(s);
    let size = standard::for_rate(capacity, -((-alpha).ln_1p() / s as f64).exp_m1())?;
    Ok(Shape { bits: size.bits, hashes: size.hashes, capacity })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    #[test]
    fn occupancies_by_chance_are_as_costly_as_simulated() {
        for (m, k, n, s) in [(1280, 7, 8 * 133, 8), (500, 4, 300, 3), (5_000, 5, 3_000, 16)] {
            let mut random = SplitMix::new(1);
            let rounds = 20_000;
            let (mut any, mut one) = (0.0, 0.0);
            for _ in 0..rounds {
                let mut rows = vec![0u64; s as usize];
                (0..n).for_each(|_| rows[random.below(s) as usize] += 1);
                let rates = rows.iter().map(|&keys| row_rate(m, k, keys as f64));
                any += 1.0 - rates.clone().map(|rate| 1.0 - rate).product::<f64>();
                one += rates.sum::<f64>() / s as f64;
            }
            let (any, one) = (any / f64::from(rounds), one / f64::from(rounds));
            assert!((random_rate(m, k, n, s) / any - 1.0).abs() < 0.01, "{m} {any} {}", random_rate(m, k, n, s));
            assert!((hashed_rate(m, k, n, s) / one - 1.0).abs() < 0.01, "{m} {one} {}", hashed_rate(m, k, n, s));
        }
    }

    #[test]
    fn both_ways_to_weigh_a_row_of_many_keys_agree() {
        let (m, k, s) = (40_000_000, 7, 4);
        let few = hashed_rate(m / 100, k, 160_000, s);
        let many = hashed_rate(m, k, 16_000_000, s);
        assert!((few / many - 1.0).abs() < 0.002, "{few} {many}");
    }

    #[test]
    fn no_argument_leads_out_of_the_unit_interval() {
        let counts = [0, 1, 2, 7, 1000, 1 << 53, u64::MAX];
        for m in counts {
            for n in counts {
                for s in counts {
                    for k in [0, 1, 7, 64, u32::MAX] {
                        let rates = [balanced_rate(m, k, n, s), random_rate(m, k, n, s), hashed_rate(m, k, n, s)];
                        assert!(rates.iter().all(|rate| (0.0..=1.0).contains(rate)), "{m} {k} {n} {s}: {rates:?}");
                    }
                }
            }
        }
    }
}
