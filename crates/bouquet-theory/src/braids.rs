//! Counter braids: how many counters let all flows be decoded.
//!
//! n flows add their sizes to k of m counters each; knowing the flows, their sizes follow from the counters by
//! passing messages, in turn upper and lower bounds, along the edges. A share e of the flows is larger than the least
//! size, 1. With beta = m/n the share x of flows whose upper bound is still wrong goes, in two rounds, to
//!
//! ```text
//! y = (1 - exp(-k x / beta))^(k-1),    x' = e (1 - exp(-k y / beta))^(k-1),    from x = e
//! ```
//!
//! because an upper bound is right if one of the flow's other counters has only right lower bounds in it, and so on.
//! Above the threshold beta* this goes to 0 and everything is decoded; for e = 1 that is the threshold of peeling.
//!
//! Source: Y. Lu, A. Montanari, B. Prabhakar, S. Dharmapurikar, A. Kabbani, *Counter braids: a novel counter
//! architecture for per-flow measurement*, 2008.

use super::check_bits;
use super::special::{positive, power, probability};
use crate::{Error, Result};

/// Points at which a map is compared with the diagonal.
const POINTS: u32 = 500;

/// Counters are planned for this much above the threshold, where decoding takes few rounds also in small braids.
const MARGIN: f64 = 1.15;

/// Counters of an upper layer per counter below that overflows: beyond 1.222, the threshold of any sizes with three
/// edges.
const UPPER_MARGIN: f64 = 1.3;

/// The fewest counters of an upper layer.
const LEAST_UPPER: u64 = 64;

/// The share of flows that are undecided after two more rounds.
///
/// ```
/// use bouquet_theory::braids::next_undecided;
/// let mut undecided = 0.5;
/// (0..100).for_each(|_| undecided = next_undecided(undecided, 0.9, 3, 0.5));
/// assert!(undecided < 1e-12, "0.9 counters per flow are enough for flows of which half are larger than 1");
/// ```
pub fn next_undecided(undecided: f64, beta: f64, k: u32, larger: f64) -> f64 {
    let (x, beta, k) = (probability(undecided), positive(beta), f64::from(k));
    let touched = |share: f64| {
        let hit = if share == 0.0 { 0.0 } else { probability(-f64::exp_m1(-k * share / beta)) };
        power(hit, (k - 1.0).max(0.0))
    };
    probability(probability(larger) * touched(touched(x)))
}

/// The least number of counters per flow with which all flows are decoded, when a share `larger` of them is larger
/// than 1.
///
/// ```
/// use bouquet_theory::braids::threshold;
/// for (larger, expected) in [(1.0, 1.222), (0.7, 1.019), (0.5, 0.854), (0.3, 0.647)] {
///     assert!((threshold(3, larger) - expected).abs() < 0.01);
/// }
/// ```
pub fn threshold(k: u32, larger: f64) -> f64 {
    let e = probability(larger);
    if k < 2 {
        return f64::INFINITY;
    }
    if e == 0.0 {
        return 0.0;
    }
    // Smaller shares would vanish among rounding errors.
    let e = e.max(1e-9);
    // Shares fall to 0 if every one of them falls; the more counters, the faster. So the threshold is the most that any of the
    // points needs, on a grid of 2^30 steps.
    let beta = |step: u64| 2.0 * f64::from(k) * step as f64 / STEPS as f64;
    let falls = |point: u32, step: u64| {
        let x = e * f64::from(point) / f64::from(POINTS);
        next_undecided(x, beta(step), k, e) < x
    };
    // What they need rises to one maximum and falls behind it: look for it in ever finer steps.
    let (mut needed, mut critical) = (1, POINTS);
    // Where points are far apart, so is what they need.
    for (stride, tolerance) in [(POINTS, 1 << 18), (100, 1 << 16), (20, 1 << 13), (4, 1 << 8), (1, 1)] {
        let reach = stride * 5;
        let (first, last) = (critical.saturating_sub(reach).max(stride), (critical + reach).min(POINTS));
        let offset = critical % stride;
        for point in (first - first % stride + offset..=last).step_by(stride as usize).filter(|point| *point > 0) {
            if needed < STEPS && !falls(point, needed) {
                let [too_few, enough] = least_step(needed, tolerance, |step| falls(point, step));
                (needed, critical) = (if tolerance == 1 { enough } else { too_few }, point);
            }
        }
    }
    if needed < COARSE {
        // The grid is so coarse that many points need as much: no way leads to the maximum.
        for point in 1..=POINTS {
            if !falls(point, needed) {
                [_, needed] = least_step(needed, 1, |step| falls(point, step));
            }
        }
    }
    beta(needed)
}

/// The grid on which a threshold lies.
const STEPS: u64 = 1 << 30;

/// Below this many steps points that differ need the same.
const COARSE: u64 = 1 << 20;

/// A step that is not enough and one that is, at most [`STEPS`] and so far apart, above one that is not: by doubling and halving.
fn least_step(too_few: u64, tolerance: u64, enough: impl Fn(u64) -> bool) -> [u64; 2] {
    let (mut low, mut ahead) = (too_few, 1024);
    let mut high = loop {
        let next = low + ahead;
        if next >= STEPS {
            break STEPS;
        }
        if enough(next) {
            break next;
        }
        (low, ahead) = (next, ahead * 8);
    };
    while high - low > tolerance {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    [low, high]
}

/// Counters of the first layer for `n` flows of which a share `larger` is larger than 1: 15 % above the threshold.
///
/// ```
/// use bouquet_theory::braids::counters;
/// assert!((139_000..142_000).contains(&counters(100_000, 3, 1.0)?));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn counters(n: u64, k: u32, larger: f64) -> Result<u64> {
    if k < 2 {
        return Err(Error::parameter("hashes", "at least 2", k));
    }
    check_bits(MARGIN * threshold(k, larger) * n as f64)
}

/// Counters of a layer above this many, a share `active` of which overflows.
///
/// ```
/// use bouquet_theory::braids::upper_counters;
/// assert_eq!(upper_counters(100_000, 0.1)?, 13_000);
/// assert_eq!(upper_counters(100, 0.1)?, 64);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn upper_counters(below: u64, active: f64) -> Result<u64> {
    // Less a rounding error, so that round numbers stay round.
    Ok(check_bits(UPPER_MARGIN * probability(active) * below as f64 - 1e-6)?.max(LEAST_UPPER))
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_close;
    use super::*;
    use crate::peeling;

    /// The threshold by thirty halvings, each of which looks at all points.
    fn slow_threshold(k: u32, larger: f64) -> f64 {
        let e = larger.max(1e-9);
        let falls = |beta: f64| {
            (1..=POINTS).all(|i| {
                let x = e * f64::from(i) / f64::from(POINTS);
                next_undecided(x, beta, k, e) < x
            })
        };
        let (mut low, mut high) = (0.0, 2.0 * f64::from(k));
        for _ in 0..30 {
            let middle = (low + high) / 2.0;
            if falls(middle) { high = middle } else { low = middle }
        }
        high
    }

    #[test]
    fn the_threshold_is_that_of_thirty_halvings_at_all_points() {
        for k in [2, 3, 4, 5, 6, 8, 12, 16, 33, 64] {
            for larger in [1e-12, 1e-6, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 0.45, 0.5, 0.6, 0.75, 0.9, 0.97, 1.0] {
                assert_eq!(threshold(k, larger), slow_threshold(k, larger), "{k} counters, {larger} larger");
            }
        }
    }

    #[test]
    fn thresholds_are_the_printed_ones() {
        for (larger, expected) in [(1.0, 1.222), (0.7, 1.019), (0.5, 0.854), (0.3, 0.647)] {
            assert!((threshold(3, larger) - expected).abs() < 0.002, "{larger}: {}", threshold(3, larger));
        }
        // Pareto sizes of exponent 1.1: 2^-1.1 of them are larger than 1.
        assert!((threshold(3, 0.5f64.powf(1.1)) - 0.82).abs() < 0.01);
    }

    #[test]
    fn with_all_flows_larger_than_one_it_is_the_threshold_of_peeling() {
        for k in 3..=8 {
            assert_close(threshold(k, 1.0), peeling::threshold(k), 1e-3);
        }
    }

    #[test]
    fn thresholds_rise_with_the_share_of_larger_flows() {
        let all: Vec<f64> = (0..=20).map(|i| threshold(3, f64::from(i) / 20.0)).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    }
}
