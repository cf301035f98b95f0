//! The power of choices: buckets filled by the least loaded of d candidates, and filters whose keys choose between hash families.
//!
//! With n balls and as many buckets, one choice piles up ln n / ln ln n balls in some bucket; the lesser of d choices only about
//! ln ln n / ln d, and with d subtables and ties to the left ln ln n / (d ln phi_d). The shares of buckets by load follow a
//! differential equation (the fluid limit), integrated here by Runge and Kutta's method of fourth order.
//!
//! Sources: Y. Azar et al., *Balanced allocations*, 1999; B. Vocking, *How asymmetry helps load balancing*, 2003; S. Lumetta,
//! M. Mitzenmacher, *Using the power of two choices to improve Bloom filters*, 2007.

use super::special::{amount, binomial, positive, power, probability};
use super::{MAX_HASHES, Size, check_bits, check_positive, check_rate};
use crate::{Error, Result};

/// Most subtables, and greatest mean load, for which the fluid limit is integrated.
const MAX_CHOICES: u32 = 32;
const MAX_MEAN: f64 = 64.0;
/// Steps of integration per unit of time, that is per ball and bucket.
const STEPS: f64 = 400.0;
/// Loads that are followed above the mean; the shares above fall doubly exponentially, or like Poisson's law for one choice.
const HEADROOM: usize = 60;

/// The shares of buckets by load.
///
/// ```
/// use bouquet_theory::choices::d_left;
///
/// let loads = d_left(2, 1.0)?;
/// assert_eq!(loads.at_least(0), 1.0);
/// assert_eq!(loads.highest(1 << 20), 3);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Loads {
    /// `tables[j][i]` = share of the buckets of subtable j that hold at least i balls.
    tables: Vec<Vec<f64>>,
}

impl Loads {
    /// The share of all buckets that hold at least `load` balls.
    ///
    /// ```
    /// # use bouquet_theory::choices::d_left;
    /// // The mean load is the sum of the shares.
    /// let loads = d_left(4, 6.0)?;
    /// let mean: f64 = (1..40).map(|i| loads.at_least(i)).sum();
    /// assert!((mean - 6.0).abs() < 1e-9);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn at_least(&self, load: usize) -> f64 {
        let sum: f64 = self.tables.iter().map(|shares| shares.get(load).copied().unwrap_or(0.0)).sum();
        sum / self.tables.len().max(1) as f64
    }

    /// The same for one subtable; 0 for a subtable that does not exist.
    ///
    /// ```
    /// # use bouquet_theory::choices::d_left;
    /// let loads = d_left(2, 1.0)?;
    /// assert!(loads.at_least_in(0, 1) > loads.at_least_in(1, 1)); // ties go left
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn at_least_in(&self, table: usize, load: usize) -> f64 {
        self.tables.get(table).and_then(|shares| shares.get(load)).copied().unwrap_or(0.0)
    }

    /// The highest load that at least one of this many buckets is expected to reach.
    ///
    /// ```
    /// # use bouquet_theory::choices::random_choices;
    /// assert_eq!(random_choices(2, 1.0)?.highest(1 << 20), 4);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn highest(&self, buckets: u64) -> usize {
        let mut load = 0;
        while self.at_least(load + 1) * buckets as f64 >= 1.0 {
            load += 1;
        }
        load
    }
}

/// The loads after `mean` balls per bucket, each placed in the least loaded of d buckets, one per subtable, ties to the left.
///
/// dy_ij/dt = d (y_(i-1)j - y_ij) prod_(l<j) y_il prod_(l>j) y_(i-1)l, with y_ij the share of subtable j that holds at least i.
///
/// ```
/// use bouquet_theory::choices::d_left;
///
/// // Four subtables, six balls per bucket: none of 40,000 buckets holds more than eight.
/// assert!(d_left(4, 6.0)?.at_least(9) * 40_000.0 < 1e-3);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` for no or more than 32 choices, or a mean load that is not between 0 and 64.
pub fn d_left(choices: u32, mean: f64) -> Result<Loads> {
    let (d, levels) = check(choices, mean)?;
    let mut state: Vec<Vec<f64>> = vec![empty(levels); d];
    integrate(&mut state, mean, |state, slope| {
        for i in 1..levels {
            for j in 0..d {
                let left: f64 = state[..j].iter().map(|shares| shares[i]).product();
                let right: f64 = state[j + 1..].iter().map(|shares| shares[i - 1]).product();
                slope[j][i] = d as f64 * (state[j][i - 1] - state[j][i]) * left * right;
            }
        }
    });
    Ok(Loads { tables: state })
}

/// The loads after `mean` balls per bucket, each placed in the least loaded of d random buckets: dy_i/dt = y_(i-1)^d - y_i^d.
///
/// ```
/// use bouquet_theory::{choices::random_choices, special::poisson_tail};
///
/// // One choice is no choice: Poisson's law.
/// assert!((random_choices(1, 1.0)?.at_least(3) - poisson_tail(3, 1.0)).abs() < 1e-9);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// As [`d_left`].
pub fn random_choices(choices: u32, mean: f64) -> Result<Loads> {
    let (d, levels) = check(choices, mean)?;
    let mut state = vec![empty(levels)];
    integrate(&mut state, mean, |state, slope| {
        for i in 1..levels {
            slope[0][i] = state[0][i - 1].powi(d as i32) - state[0][i].powi(d as i32);
        }
    });
    Ok(Loads { tables: state })
}

/// phi_d, the growth of the d-ary Fibonacci numbers: the root of x^d = 1 + x + ... + x^(d-1) above 1; 1 for d < 2.
///
/// ```
/// assert!((bouquet_theory::choices::phi(2) - 1.618_033_988_749).abs() < 1e-11);
/// ```
pub fn phi(d: u32) -> f64 {
    if d < 2 {
        return 1.0;
    }
    // Multiplied by x - 1: x^d (2 - x) = 1, on the branch above 2d/(d+1). Iterating x = 2 - x^-d contracts there.
    let mut x = 2.0;
    for _ in 0..200 {
        x = 2.0 - power(x, -f64::from(d));
    }
    x
}

/// ln ln n / ln d, the leading term of the highest load with d random choices; infinite for d < 2, 0 for n < 3.
///
/// ```
/// assert!((bouquet_theory::choices::highest_random(1 << 20, 2) - 3.79).abs() < 5e-3);
/// ```
pub fn highest_random(n: u64, d: u32) -> f64 {
    if n < 3 {
        return 0.0;
    }
    if d < 2 { f64::INFINITY } else { (n as f64).ln().ln() / f64::from(d).ln() }
}

/// ln ln n / (d ln phi_d), the leading term of the highest load with d subtables and ties to the left; infinite for d < 2, 0 for
/// n < 3.
///
/// ```
/// use bouquet_theory::choices::{highest_left, highest_random};
///
/// assert!(highest_left(1 << 20, 2) < highest_random(1 << 20, 2));
/// ```
pub fn highest_left(n: u64, d: u32) -> f64 {
    if n < 3 {
        return 0.0;
    }
    if d < 2 { f64::INFINITY } else { (n as f64).ln().ln() / (f64::from(d) * phi(d).ln()) }
}

/// The fill of a filter of c bits per key whose keys take, of d families of k probes, the one that sets the fewest new bits.
///
/// d rho/dt = (1/c) sum_(i=1..k) P(Bin(k, 1-rho) >= i)^d from rho(0) = 0 to t = 1. More than 1024 probes are read as 1024.
///
/// ```
/// let fill = bouquet_theory::choices::chosen_fill(16.0, 13, 2);
/// assert!((fill - 0.5187).abs() < 5e-5);
/// ```
pub fn chosen_fill(bits_per_key: f64, k: u32, families: u32) -> f64 {
    fill_in_steps(bits_per_key, k, families, 400)
}

/// The same, integrated in this many steps: 50 are off by less than 10^-6.
fn fill_in_steps(bits_per_key: f64, k: u32, families: u32, steps: u32) -> f64 {
    let c = positive(bits_per_key);
    if c == 0.0 {
        return 1.0;
    }
    let (k, d) = (k.min(1024), f64::from(families.max(1)));
    let slope = |rho: f64| {
        let new = 1.0 - probability(rho);
        // P(Bin >= i), summed from the top.
        let (mut tail, mut sum) = (0.0, 0.0);
        for i in (1..=k).rev() {
            tail += binomial(f64::from(i), f64::from(k), new);
            sum += power(probability(tail), d);
        }
        sum / c
    };
    let h = 1.0 / f64::from(steps);
    let mut rho = 0.0;
    for _ in 0..steps {
        let a = slope(rho);
        let b = slope(rho + h / 2.0 * a);
        let c = slope(rho + h / 2.0 * b);
        let e = slope(rho + h * c);
        rho = probability(rho + h / 6.0 * (a + 2.0 * b + 2.0 * c + e));
    }
    rho
}

/// 1 - (1 - rho^k)^d, the rate of such a filter: a stranger passes if any of the d families is all ones.
///
/// ```
/// use bouquet_theory::{choices::chosen_rate, standard::limit_rate};
///
/// assert!(chosen_rate(16.0, 13, 2) < limit_rate(16.0, 11)); // better than a plain filter at 16 bits per key
/// assert!(chosen_rate(8.0, 7, 2) > limit_rate(8.0, 6)); // and worse at 8
/// ```
pub fn chosen_rate(bits_per_key: f64, k: u32, families: u32) -> f64 {
    rate_at(chosen_fill(bits_per_key, k, families), k, families)
}

/// The same at this fill.
fn rate_at(fill: f64, k: u32, families: u32) -> f64 {
    let pass = power(fill, f64::from(k.min(1024)));
    probability(-f64::exp_m1(f64::from(families.max(1)) * (-amount(pass)).ln_1p()))
}

/// The smallest filter for n keys at this rate whose keys choose among d families: bits, and probes per family.
///
/// The best number of probes is about 1.13 log2(1/rate), a little above that of a plain filter.
///
/// ```
/// use bouquet_theory::{choices::{chosen_for_rate, chosen_rate}, standard};
/// let size = chosen_for_rate(10_000, 1e-4, 2)?;
/// assert!(size.bits < standard::for_rate(10_000, 1e-4)?.bits, "smaller than a plain filter at low rates");
/// assert!(chosen_for_rate(10_000, 0.05, 2)?.bits > standard::for_rate(10_000, 0.05)?.bits, "and larger at high ones");
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` for no keys and rates that are none, `Error::TooLarge` beyond [`MAX_BITS`](crate::MAX_BITS).
pub fn chosen_for_rate(n: u64, rate: f64, families: u32) -> Result<Size> {
    check_positive("items", n)?;
    check_rate("fpr", rate)?;
    let typical = (1.13 * -rate.log2()).round().clamp(1.0, f64::from(MAX_HASHES)) as u32;
    let near = typical.saturating_sub(1).max(1)..=(typical + 1).min(MAX_HASHES);
    let sizes = near.map(|hashes| (chosen_bits_per_key(rate, hashes, families), hashes));
    let (bits_per_key, hashes) = sizes.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 1));
    Ok(Size { bits: check_bits(bits_per_key * n as f64)?, hashes })
}

/// The bits for n keys at this rate with k probes in each of d families.
///
/// ```
/// use bouquet_theory::choices::{chosen_bits, chosen_rate};
/// let bits = chosen_bits(1_000, 0.001, 11, 2)?;
/// assert!(chosen_rate(bits as f64 / 1_000.0, 11, 2) <= 0.001);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` for no keys and rates that are none, `Error::TooLarge` beyond [`MAX_BITS`](crate::MAX_BITS).
pub fn chosen_bits(n: u64, rate: f64, k: u32, families: u32) -> Result<u64> {
    check_positive("items", n)?;
    check_rate("fpr", rate)?;
    check_bits(chosen_bits_per_key(rate, k, families) * n as f64)
}

fn chosen_bits_per_key(rate: f64, k: u32, families: u32) -> f64 {
    let is_enough = |c: f64| rate_at(fill_in_steps(c, k, families, 50), k, families) <= rate;
    let mut high = 1.0;
    while !is_enough(high) {
        high *= 2.0;
        if high > 1e16 {
            return f64::INFINITY;
        }
    }
    let mut low = 0.5 * high;
    while high - low > 1e-6 * high {
        let middle = 0.5 * (low + high);
        if is_enough(middle) { high = middle } else { low = middle }
    }
    high
}

/// The best number of probes for n keys in a filter of m bits whose keys choose among d families.
///
/// ```
/// assert_eq!(bouquet_theory::choices::chosen_hashes(16_000, 1_000, 2), 13);
/// assert_eq!(bouquet_theory::choices::chosen_hashes(8_000, 1_000, 2), 7);
/// ```
pub fn chosen_hashes(m: u64, n: u64, families: u32) -> u32 {
    let c = m as f64 / n.max(1) as f64;
    let most = (1.2 * c + 2.0).min(f64::from(MAX_HASHES)) as u32;
    let rate = |k: u32| rate_at(fill_in_steps(c, k, families, 50), k, families);
    (1..=most.max(1)).map(|k| (rate(k), k)).min_by(|a, b| a.0.total_cmp(&b.0)).map_or(1, |(_, k)| k)
}

fn check(choices: u32, mean: f64) -> Result<(usize, usize)> {
    check_positive("choices", u64::from(choices))?;
    if choices > MAX_CHOICES {
        return Err(Error::parameter("choices", format!("at most {MAX_CHOICES}"), choices));
    }
    if !(0.0..=MAX_MEAN).contains(&mean) {
        return Err(Error::parameter("mean", format!("between 0 and {MAX_MEAN}"), mean));
    }
    Ok((choices as usize, mean as usize + HEADROOM))
}

/// Empty buckets: all hold at least 0 balls, none holds more.
fn empty(levels: usize) -> Vec<f64> {
    let mut shares = vec![0.0; levels];
    shares[0] = 1.0;
    shares
}

/// Runge-Kutta of fourth order from 0 to `end`.
fn integrate(state: &mut [Vec<f64>], end: f64, slope: impl Fn(&[Vec<f64>], &mut [Vec<f64>])) {
    let steps = (STEPS * end).ceil().max(1.0);
    let h = end / steps;
    let zero: Vec<Vec<f64>> = state.iter().map(|shares| vec![0.0; shares.len()]).collect();
    let (mut point, mut rate, mut total) = (state.to_vec(), zero.clone(), zero);
    for _ in 0..steps as u64 {
        for table in &mut total {
            table.fill(0.0);
        }
        for (reach, weight) in [(0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)] {
            for ((point, state), rate) in point.iter_mut().zip(state.iter()).zip(&rate) {
                for ((p, s), r) in point.iter_mut().zip(state).zip(rate) {
                    *p = s + reach * h * r;
                }
            }
            slope(&point, &mut rate);
            for (total, rate) in total.iter_mut().zip(&rate) {
                for (t, r) in total.iter_mut().zip(rate) {
                    *t += weight * r;
                }
            }
        }
        for (state, total) in state.iter_mut().zip(&total) {
            for (s, t) in state.iter_mut().zip(total) {
                *s += h / 6.0 * t;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;
    use crate::standard::limit_rate;

    #[test]
    fn a_million_balls_have_the_printed_highest_loads() {
        assert_eq!(random_choices(2, 1.0).unwrap().highest(1 << 20), 4);
        assert_eq!(d_left(2, 1.0).unwrap().highest(1 << 20), 3);
        assert!((2..=3).contains(&d_left(4, 1.0).unwrap().highest(1 << 20)));
    }

    #[test]
    fn the_default_d_left_table_does_not_overflow() {
        // 240,000 keys, four subtables of 10,000 buckets, mean load 6.
        assert_eq!(d_left(4, 6.0).unwrap().highest(40_000), 7);
    }

    #[test]
    fn balls_are_conserved_and_shares_fall() {
        for (d, mean) in [(1, 0.5), (2, 1.0), (3, 10.0), (4, 6.0)] {
            for loads in [d_left(d, mean).unwrap(), random_choices(d, mean).unwrap()] {
                let sum: f64 = (1..100).map(|i| loads.at_least(i)).sum();
                assert_close(sum, mean, 1e-8);
                assert!((0..60).all(|i| loads.at_least(i) >= loads.at_least(i + 1) - 1e-12));
            }
        }
    }

    #[test]
    fn one_subtable_is_poisson() {
        let loads = d_left(1, 3.0).unwrap();
        for i in 0..20 {
            assert!((loads.at_least(i) - crate::special::poisson_tail(i as u64, 3.0)).abs() < 1e-9);
        }
    }

    #[test]
    fn the_fluid_limit_is_measured() {
        // 2-left, 2^18 balls in 2^18 buckets, placed one by one.
        let half = 1usize << 17;
        let mut tables = [vec![0u8; half], vec![0u8; half]];
        let mut seed = 7u64;
        for _ in 0..2 * half {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (a, b) = ((seed >> 47) as usize, (seed >> 30) as usize & (half - 1));
            let j = usize::from(tables[1][b] < tables[0][a]);
            tables[j][[a, b][j]] += 1;
        }
        let loads = d_left(2, 1.0).unwrap();
        for (j, table) in tables.iter().enumerate() {
            for load in 1..=3u8 {
                let measured = table.iter().filter(|&&held| held >= load).count() as f64 / half as f64;
                let expected = loads.at_least_in(j, load.into());
                let sigma = (expected * (1.0 - expected) / half as f64).sqrt();
                assert!((measured - expected).abs() < 5.0 * sigma, "table {j}, load {load}: {measured} for {expected}");
            }
        }
    }

    #[test]
    fn impossible_tables_are_refused() {
        assert!(d_left(0, 1.0).is_err() && d_left(33, 1.0).is_err());
        assert!(random_choices(2, f64::NAN).is_err() && random_choices(2, 65.0).is_err() && d_left(2, -1.0).is_err());
    }

    #[test]
    fn phi_grows_from_the_golden_ratio_to_two() {
        assert_close(phi(2), (1.0 + 5f64.sqrt()) / 2.0, 1e-12);
        assert_prints(phi(3), "1.839287");
        assert!((2..40).all(|d| phi(d) < phi(d + 1) || phi(d) > 1.999_999));
    }

    #[test]
    fn two_choice_filters_have_the_printed_rates() {
        assert_prints(chosen_fill(16.0, 13, 2), "0.5187");
        assert_prints(chosen_fill(8.0, 7, 2), "0.5296");
        for (c, printed) in [
            (8.0, "0.02323"),
            (10.0, "0.00832"),
            (12.0, "0.00300"),
            (16.0, "0.000393"),
            (20.0, "5.23e-5"),
            (32.0, "1.29e-7"),
        ] {
            let best = (1..40).map(|k| chosen_rate(c, k, 2)).fold(1.0, f64::min);
            assert_prints(best, printed);
        }
        let worse = |c: f64| {
            let plain = (1..40).map(|k| limit_rate(c, k)).fold(1.0, f64::min);
            (1..40).map(|k| chosen_rate(c, k, 2)).fold(1.0, f64::min) > plain
        };
        assert!(worse(10.2) && !worse(10.8), "break-even near 10.5");
    }
}
