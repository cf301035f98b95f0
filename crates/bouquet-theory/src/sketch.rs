//! Sketches of frequencies: rows of counters, of which a key has one each.
//!
//! A counter holds the occurrences of its key and of whatever else falls on it, N/w of N occurrences on average in a row
//! of w. The least of d counters exceeds the truth by more than e N/w with probability at most e^-d. The same rows with a
//! threshold are a multistage filter, which lets large flows pass and few others.
//!
//! Sources: G. Cormode, S. Muthukrishnan, *An improved data stream summary: the count-min sketch and its applications*,
//! 2005; C. Estan, G. Varghese, *New directions in traffic measurement and accounting*, 2002.

use std::f64::consts::E;

use super::partitioned;
use super::special::{binomial, probability};
use super::{MAX_BITS, Size, check_rate};
use crate::MAX_HASHES;
use crate::{Error, Result};

/// Counters in all, a multiple of the rows, and rows, for an error of at most `eps` N with probability 1 - `delta`:
/// ceil(ln(1/delta)) rows of ceil(e/eps).
///
/// ```
/// use bouquet_theory::{Size, sketch::for_error};
///
/// assert_eq!(for_error(1e-4, 1e-3)?, Size { bits: 27_183 * 7, hashes: 7 });
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if a share is not between 0 and 1 or there would be too many rows, `Error::TooLarge` if there would
/// be too many counters.
pub fn for_error(eps: f64, delta: f64) -> Result<Size> {
    check_rate("eps", eps)?;
    check_rate("delta", delta)?;
    let rows = (1.0 / delta).ln().ceil().max(1.0);
    if rows > f64::from(MAX_HASHES) {
        return Err(Error::parameter("delta", format!("at least e^-{MAX_HASHES}"), delta));
    }
    let counters = (E / eps).ceil() * rows;
    if counters > MAX_BITS as f64 {
        return Err(Error::TooLarge { what: "the sketch".into(), bytes: (counters / 8.0) as u128 });
    }
    Ok(Size { bits: counters as u64, hashes: rows as u32 })
}

/// Counters in all and rows for n distinct keys, of which a share of at most `rate` counts too much.
///
/// ```
/// use bouquet_theory::sketch::{for_keys, over_count};
///
/// let size = for_keys(10_000, 0.01)?;
/// assert!(over_count(size.bits / 7, size.hashes, 10_000) <= 0.01);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys or if the rate is not between 0 and 1, `Error::TooLarge` if there would be too
/// many counters.
pub fn for_keys(n: u64, rate: f64) -> Result<Size> {
    partitioned::for_rate(n, rate)
}

/// The probability that a key counts too much, in rows of `width`, when it is one of n distinct keys: all of its counters
/// are shared, (1 - (1 - 1/w)^(n-1))^d.
///
/// ```
/// use bouquet_theory::sketch::over_count;
///
/// assert_eq!(over_count(1000, 4, 1), 0.0);
/// assert!((over_count(1000, 1, 2) - 0.001).abs() < 1e-12);
/// ```
pub fn over_count(width: u64, rows: u32, n: u64) -> f64 {
    let counters = width.saturating_mul(u64::from(rows));
    if n <= 1 { 0.0 } else { partitioned::rate(counters, n - 1, rows) }
}

/// The same for the median of a key's counters, the mean of the two in the middle where the rows are even in number, rounded
/// down: at least half of the counters are shared, each key coming once. Where exactly half are, the least of these must hold
/// two others or more.
///
/// ```
/// use bouquet_theory::sketch::{median_over_count, over_count};
///
/// assert_eq!(median_over_count(1000, 4, 1), 0.0);
/// assert!((median_over_count(1000, 1, 2) - over_count(1000, 1, 2)).abs() < 1e-12);
/// assert!(median_over_count(1000, 5, 1000) > 6.0 * over_count(1000, 5, 1000));
/// ```
pub fn median_over_count(width: u64, rows: u32, n: u64) -> f64 {
    let others = n.saturating_sub(1) as f64;
    let [alone, with_one] = [0.0, 1.0].map(|j| binomial(j, others, 1.0 / width.max(1) as f64));
    let alone_in = |count: u32| binomial(f64::from(count), f64::from(rows), alone);
    let half = rows / 2;
    let far = match (rows % 2, 1.0 - alone) {
        (0, shared) if shared > 0.0 => probability((shared - with_one) / shared).powi(half as i32),
        (parity, _) => f64::from(parity),
    };
    probability((0..half).map(alone_in).sum::<f64>() + alone_in(half) * far)
}

/// The same under conservative update, each key inserted once: a key counts too much when the keys *before* it have taken
/// all of its counters, since later ones raise no counter unless they count too much themselves. To first order, which
/// is the mean of [`over_count`] over the keys in the order of their insertion.
///
/// ```
/// use bouquet_theory::sketch::{conservative_over_count, over_count};
///
/// let (plain, conservative) = (over_count(1000, 4, 1000), conservative_over_count(1000, 4, 1000));
/// assert!(conservative > 0.0 && conservative < 0.4 * plain);
/// ```
pub fn conservative_over_count(width: u64, rows: u32, n: u64) -> f64 {
    // The rate is smooth in the number of keys: the middles of a thousand stretches give its mean to six digits.
    let stretches = n.clamp(1, 1000);
    let middle = |i: u64| (n as f64 * (i as f64 + 0.5) / stretches as f64).round() as u64;
    let rates = (0..stretches).map(|i| over_count(width, rows, middle(i).max(1)));
    probability(rates.sum::<f64>() / stretches as f64)
}

/// N/w, the expected excess of one counter over the truth.
///
/// ```
/// assert_eq!(bouquet_theory::sketch::row_error(500_000, 2_000), 250.0);
/// ```
pub fn row_error(occurrences: u64, width: u64) -> f64 {
    occurrences as f64 / width.max(1) as f64
}

/// 2 eps L N: what a range of keys of L bits counts too much at most, with the confidence of a single key.
///
/// ```
/// assert_eq!(bouquet_theory::sketch::range_error(0.01, 20, 1000), 400.0);
/// ```
pub fn range_error(eps: f64, key_bits: u32, occurrences: u64) -> f64 {
    2.0 * probability(eps) * f64::from(key_bits) * occurrences as f64
}

/// 1 - delta^(1/4), the confidence with which the median of the rows is within 3 eps |a|₁ of a count that may be negative.
///
/// ```
/// assert!((bouquet_theory::sketch::median_confidence(1e-3) - 0.8222).abs() < 1e-4);
/// ```
pub fn median_confidence(delta: f64) -> f64 {
    1.0 - probability(delta).powf(0.25)
}

/// The share of rows whose error is within 3 eps |a|₁ for a mean of |a|₁/w is at least 1 - 1/(3e) (Markov); the
/// probability that more than half of d rows are.
///
/// ```
/// assert!((bouquet_theory::sketch::median_within(7) - 0.9942).abs() < 1e-4);
/// ```
pub fn median_within(rows: u32) -> f64 {
    let miss: f64 = 1.0 / (3.0 * E);
    let rows = u64::from(rows.max(1));
    // At least half of the rows must miss for the median to miss.
    1.0 - super::special::binomial_tail(rows.div_ceil(2), rows as f64, miss)
}

/// ((1/S) T/(T-s))^d, a bound on the probability that a flow of size s passes a multistage filter of d stages of strength
/// S = T b/C, for s < T (1 - 1/S); 1 for larger flows.
///
/// ```
/// // 100 MB in 1,000 counters, threshold 1 MB: a flow of 100 KB.
/// let bound = bouquet_theory::sketch::passes(1e5, 1e6, 10.0, 4);
/// assert!((bound - 1.52e-4).abs() < 1e-6);
/// ```
pub fn passes(size: f64, threshold: f64, strength: f64, stages: u32) -> f64 {
    let share = threshold / (strength * (threshold - size.max(0.0)));
    if share > 0.0 && share < 1.0 { share.powi(stages.min(i32::MAX as u32) as i32) } else { 1.0 }
}

/// max(b/(S-1), z) + z with z = n (n/(S n - b))^d, a bound on the expected number of n flows that pass d stages of b counters
/// and strength S; n when the bound says less.
///
/// ```
/// let bound = bouquet_theory::sketch::passing_flows(1_000, 100_000, 10.0, 4);
/// assert!((bound - 121.2).abs() < 0.05);
/// ```
pub fn passing_flows(counters: u64, flows: u64, strength: f64, stages: u32) -> f64 {
    let (b, n) = (counters as f64, flows as f64);
    let share = n / (strength * n - b);
    if !(strength > 1.0 && share > 0.0 && share < 1.0) {
        return n;
    }
    let z = n * share.powi(stages.min(i32::MAX as u32) as i32);
    (((b / (strength - 1.0)).max(z)) + z).min(n)
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_prints;
    use super::*;

    #[test]
    fn the_multistage_bounds_are_the_printed_ones() {
        let strength = 1e6 * 1000.0 / 1e8;
        assert_prints(passes(1e5, 1e6, strength, 4), "1.52e-4");
        assert_prints(passing_flows(1_000, 100_000, strength, 4), "121.2");
        assert_eq!(passes(1e6, 1e6, strength, 4), 1.0, "no bound at the threshold");
    }

    #[test]
    fn sizes_are_the_published_ones_and_impossible_ones_refused() {
        assert_eq!(for_error(1e-4, 1e-3).unwrap(), Size { bits: 27_183 * 7, hashes: 7 });
        assert_eq!(for_error(0.01, 0.05).unwrap(), Size { bits: 272 * 3, hashes: 3 });
        for (eps, delta) in [(0.0, 0.1), (1.0, 0.1), (f64::NAN, 0.1), (0.1, 0.0), (0.1, 1e-40), (1e-300, 0.1)] {
            assert!(for_error(eps, delta).is_err(), "{eps} {delta}");
        }
    }

    #[test]
    fn no_argument_makes_them_panic_or_leave_their_range() {
        let reals = [0.0, 1.0, -1.0, 0.5, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let counts = [0, 1, 2, 1000, u64::MAX];
        for a in counts {
            for rows in [0, 1, 7, 64, u32::MAX] {
                for n in counts {
                    for rate in [over_count(a, rows, n), conservative_over_count(a, rows, n)] {
                        assert!((0.0..=1.0).contains(&rate), "{a} {rows} {n}: {rate}");
                    }
                    assert!(row_error(a, n) >= 0.0);
                    for x in reals {
                        assert!((0.0..=n as f64).contains(&passing_flows(a, n, x, rows)));
                        assert!(range_error(x, rows, n) >= 0.0);
                        assert!(reals.iter().all(|&y| (0.0..=1.0).contains(&passes(x, y, 10.0, rows))));
                        assert!((0.0..=1.0).contains(&median_confidence(x)));
                        let _ = (for_error(x, 0.5), for_error(0.5, x), for_keys(n, x));
                    }
                }
                assert!((0.0..=1.0).contains(&median_within(rows)));
            }
        }
    }
}
