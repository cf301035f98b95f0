//! Filters that forget by generations: several plain filters, of which the oldest is emptied when its turn comes.
//!
//! Three ways to ask them are here. *Double buffering* asks one of two filters and warms the other up with the keys of its second
//! half. *Two active buffers* ask both. *Forgetful* filters put a key into two neighbours and believe it only where two
//! neighbours agree, so that their error is a square.
//!
//! Sources: F. Chang, W. Feng, K. Li, *Approximate caches for packet classification*, 2004; M. Yoon, *Aging Bloom filter with two
//! active buffers for dynamic sets*, 2010; R. Subramanyam, I. Gupta, L. Leslie, W. Wang, *Idempotent distributed counters using a
//! forgetful Bloom filter*, 2015.

use super::special::{power, probability};
use super::standard::{self, expected_rate};
use super::{MAX_HASHES, Size, check_positive, check_rate};
use crate::Result;

/// The distinct keys that the active one of two buffers holds after this many arrivals of different keys, when buffers swap at
/// `full` keys and the other one takes keys from `half` on.
///
/// ```
/// use bouquet_theory::generations::active_keys;
/// let held: Vec<u64> = [99, 100, 149, 150, 151].map(|arrivals| active_keys(100, 50, arrivals)).to_vec();
/// assert_eq!(held, [99, 50, 99, 50, 51]);
/// ```
pub fn active_keys(full: u64, half: u64, arrivals: u64) -> u64 {
    let (full, half) = (full.max(1), half.clamp(1, full.max(2) - 1));
    if arrivals < full {
        return arrivals;
    }
    // What the other buffer has taken is active after the swap. From there on one or two lengths of a cycle alternate.
    let first = full.saturating_sub(half).max(1);
    let (mut active, mut left) = (first, arrivals - full);
    left %= if first >= half { full } else { half };
    loop {
        let cycle = full.saturating_sub(active).max(1);
        if left < cycle {
            return active + left;
        }
        left -= cycle;
        active = if active >= half { cycle } else { first };
    }
}

/// 1 - (1-f)^(1/2), the rate of each of two filters that are both asked when together they may have the rate f.
///
/// ```
/// use bouquet_theory::generations::{either_rate, rate_of_each};
/// let each = rate_of_each(0.01);
/// assert!((each - 0.0050126).abs() < 1e-7 && (either_rate(each, each) - 0.01).abs() < 1e-15);
/// ```
pub fn rate_of_each(rate: f64) -> f64 {
    let rate = probability(rate);
    // 1 - sqrt(1-f) without cancellation.
    rate / (1.0 + (1.0 - rate).sqrt())
}

/// 1 - (1-f)(1-g), the rate of two filters that are both asked.
///
/// ```
/// assert!((bouquet_theory::generations::either_rate(0.1, 0.2) - 0.28).abs() < 1e-15);
/// ```
pub fn either_rate(one: f64, other: f64) -> f64 {
    let (one, other) = (probability(one), probability(other));
    one + other - one * other
}

/// ln f / ln f_a, the capacity of each of two active buffers as a share of the capacity of a double buffer of the same memory and
/// rate. The two buffers keep between one and two such shares of keys, a double buffer between a half and one whole.
///
/// ```
/// use bouquet_theory::generations::capacity_ratio;
/// let printed = [0.1, 0.01, 0.001].map(|rate| (1_000.0 * capacity_ratio(rate)).round());
/// assert_eq!(printed, [775.0, 870.0, 909.0]);
/// ```
pub fn capacity_ratio(rate: f64) -> f64 {
    let (rate, each) = (probability(rate), rate_of_each(rate));
    if rate == 0.0 {
        return 1.0;
    }
    if each >= 1.0 { 0.0 } else { rate.ln() / each.ln() }
}

/// The chance that two neighbours of a row of independent filters are both wrong, when each is with its rate.
///
/// ```
/// use bouquet_theory::generations::neighbours_rate;
/// assert_eq!(neighbours_rate([0.1, 0.2]), 0.1 * 0.2);
/// let three = neighbours_rate([0.1, 0.2, 0.3]);
/// assert!((three - 0.2 * (0.1 + 0.3 - 0.1 * 0.3)).abs() < 1e-15);
/// ```
pub fn neighbours_rate(rates: impl IntoIterator<Item = f64>) -> f64 {
    // Of the cases without such a pair so far: those in which the last filter is right, and those in which it is wrong.
    let (mut right, mut wrong, mut pairs) = (1.0, 0.0, 0.0);
    for rate in rates.into_iter().map(probability) {
        pairs += wrong * rate;
        (right, wrong) = ((right + wrong) * (1.0 - rate), right * rate);
    }
    probability(pairs)
}

/// The most past filters that a forgetful filter has.
///
/// ```
/// use bouquet_theory::generations::{MAX_PASTS, forgetful_loads};
/// assert_eq!(forgetful_loads(100, 1_000, 1).len() as u32, MAX_PASTS + 2);
/// ```
pub const MAX_PASTS: u32 = 250;

/// The keys in each filter of a forgetful one, the future one first, after this many different keys with `period` keys between
/// refreshes and `pasts` past filters.
///
/// ```
/// use bouquet_theory::generations::forgetful_loads;
/// assert_eq!(forgetful_loads(100, 2, 100), [100, 100, 0, 0]);
/// assert_eq!(forgetful_loads(100, 2, 130), [30, 130, 100, 0]);
/// assert_eq!(forgetful_loads(100, 2, 1_000), [100, 200, 200, 200]);
/// ```
pub fn forgetful_loads(period: u64, pasts: u32, keys: u64) -> Vec<u64> {
    let period = period.max(1);
    // A refresh comes before the first key of the next period.
    let epoch = keys.saturating_sub(1) / period;
    let now = keys - epoch * period;
    let whole = |at: u64| if at <= epoch { period } else { 0 };
    // The filter of epoch e has the keys of the periods e - 1 and e, the present period being `epoch`.
    let past = |back: u64| whole(back).saturating_add(whole(back + 1));
    let mut loads = vec![now, now.saturating_add(whole(1))];
    loads.extend((1..=u64::from(pasts.min(MAX_PASTS))).map(past));
    loads
}

/// The rate of a forgetful filter of m bits and k probes in each filter, after this many different keys.
///
/// ```
/// use bouquet_theory::generations::forgetful_rate;
/// let rate = forgetful_rate(214_568, 8, 10_000, 2, 40_000); // at the end of a period
/// assert!((rate - 6.8e-5).abs() < 5e-7);
/// ```
pub fn forgetful_rate(m: u64, k: u32, period: u64, pasts: u32, keys: u64) -> f64 {
    neighbours_rate(forgetful_loads(period, pasts, keys).into_iter().map(|keys| expected_rate(m, keys, k)))
}

/// (u + (1-u) u^2)^k with u = 1 - e^(-kn/m): the rate of two neighbours at the end of a period if they had the same positions.
///
/// ```
/// use bouquet_theory::generations::shared_positions_rate;
/// let (m, n) = (140_000, 7_000); // kn/m = 0.35
/// let shared = shared_positions_rate(m, 7, n);
/// assert!((shared - 7.4e-4).abs() < 5e-6);
/// ```
pub fn shared_positions_rate(m: u64, k: u32, n: u64) -> f64 {
    let u = 1.0 - standard::limit_zeros(m as f64 / n as f64, k);
    power(u + (1.0 - u) * u * u, f64::from(k))
}

/// The size of each filter of a forgetful one: (N+1) f(m,k,2n)^2 <= F, so each needs the rate (F/(N+1))^(1/2) with the keys of two
/// periods.
///
/// ```
/// use bouquet_theory::{generations::forgetful_size, standard};
/// let size = forgetful_size(10_000, 1e-4, 2)?;
/// let pair = standard::rate(size.bits, 20_000, size.hashes).powi(2);
/// assert!((3.0 * pair / 1e-4 - 1.0).abs() < 1e-4 && size.bits < 216_000);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` for no keys or a rate that is not between 0 and 1; `Error::TooLarge` above 2^53 bits.
pub fn forgetful_size(period: u64, rate: f64, pasts: u32) -> Result<Size> {
    check_positive("items", period)?;
    check_rate("fpr", rate)?;
    let each = (rate / (f64::from(pasts) + 1.0)).sqrt();
    standard::for_rate_with_at_most(period.saturating_mul(2), each, MAX_HASHES)
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_close;
    use super::*;

    #[test]
    fn cycles_of_a_double_buffer_are_those_of_a_simulation() {
        for (full, half) in [(2, 1), (100, 50), (100, 30), (100, 80), (7, 3)] {
            let (mut active, mut warm) = (0u64, 0u64);
            for arrivals in 1..1_000 {
                active += 1;
                warm += u64::from(active > half);
                if active >= full {
                    (active, warm) = (warm, 0);
                }
                assert_eq!(active_keys(full, half, arrivals), active, "{full} {half} {arrivals}");
            }
        }
    }

    #[test]
    fn the_printed_rates_hold() {
        let rate = |keys| expected_rate(140_000, keys, 7);
        let own = rate(14_000).powi(2);
        assert_close(own, 6.7e-5, 0.02);
        assert_close(shared_positions_rate(140_000, 7, 7_000) / own, 11.0, 0.05);
    }

    #[test]
    fn pairs_are_counted_as_every_combination_counts_them() {
        let rates = [0.3, 0.1, 0.7, 0.4, 0.9];
        let mut sum = 0.0;
        for wrong in 0u32..32 {
            let is_wrong = |i: usize| wrong >> i & 1 == 1;
            let chance: f64 = (0..5).map(|i| if is_wrong(i) { rates[i] } else { 1.0 - rates[i] }).product();
            if (0..4).any(|i| is_wrong(i) && is_wrong(i + 1)) {
                sum += chance;
            }
        }
        assert_close(neighbours_rate(rates), sum, 1e-12);
    }
}
