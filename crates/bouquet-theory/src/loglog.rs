//! Counting by maxima: of F geometric draws the largest is about log2 F.
//!
//! P(G = g) = 2^-g for g >= 1. A cell that keeps the largest of F draws needs log2 log2 F bits; d cells that see the same
//! occurrences with draws of their own tell F to within 1.30/sqrt(d).
//!
//! Source: M. Durand, P. Flajolet, *Loglog counting of large cardinalities*, 2003.

use std::f64::consts::LN_2;
use std::sync::OnceLock;

use super::special::{ln_gamma, probability};
use super::standard;
use crate::{Error, Result};

/// The standard error of one copy, sqrt(d) times that of d.
pub const STANDARD_ERROR: f64 = 1.30;

/// g(F), the mean of the largest of F draws: the sum over t >= 0 of 1 - (1 - 2^-t)^F. Between whole numbers, and from 1 at 0
/// to 2 at 1, it is what the formula says.
///
/// ```
/// use bouquet_theory::loglog::mean_of_maxima;
///
/// assert!((mean_of_maxima(1.0) - 2.0).abs() < 1e-12);
/// assert!((mean_of_maxima(1e6) - 1e6f64.log2() - 1.3327).abs() < 1e-4);
/// ```
pub fn mean_of_maxima(occurrences: f64) -> f64 {
    let f = if occurrences > 0.0 { occurrences.min(1e18) } else { 0.0 };
    // The first term is one however small F is; beyond F 2^-t = 2^-60 nothing is added.
    let tail = |t: i32| -f64::exp_m1(f * f64::ln_1p(-f64::powi(0.5, t)));
    1.0 + (1..=(f.max(1.0).log2() as i32 + 60)).map(tail).sum::<f64>()
}

/// Steps of the table of g per doubling of F, and the powers of two between which it goes.
const STEPS: i32 = 64;
const FIRST: i32 = -16;
const LAST: i32 = 60;

/// g⁻¹: the occurrences at which the mean of the maxima is this; zero at a mean of 1, the least there is.
///
/// ```
/// use bouquet_theory::loglog::{mean_of_maxima, occurrences};
///
/// for f in [0.3, 1.0, 7.0, 1e3, 1e9] {
///     assert!((occurrences(mean_of_maxima(f)) / f - 1.0).abs() < 1e-4);
/// }
/// ```
pub fn occurrences(mean: f64) -> f64 {
    static TABLE: OnceLock<Vec<f64>> = OnceLock::new();
    let exponent = |i: f64| f64::from(FIRST) + i / f64::from(STEPS);
    let table = TABLE.get_or_init(|| {
        let steps = (LAST - FIRST) * STEPS;
        (0..=steps).map(|i| mean_of_maxima(exponent(i.into()).exp2())).collect()
    });
    let above = table.partition_point(|&value| value < mean);
    match (above, table.get(above)) {
        (0, _) => 0.0,
        (_, None) => f64::from(LAST).exp2(),
        (above, Some(high)) => {
            let low = table[above - 1];
            exponent((above - 1) as f64 + (mean - low) / (high - low)).exp2()
        }
    }
}

/// alpha_d = (Gamma(-1/d) (1 - 2^(1/d)) / ln 2)^-d, with which alpha_d 2^mean estimates large F.
///
/// ```
/// use bouquet_theory::loglog::alpha;
///
/// assert!((alpha(16) - 0.376).abs() < 5e-4 && (alpha(64) - 0.392).abs() < 5e-4);
/// ```
pub fn alpha(copies: u32) -> f64 {
    if copies < 2 {
        // Gamma has a pole at -1: one copy has no mean of 2^M.
        return 0.0;
    }
    let d = f64::from(copies);
    // Gamma(-1/d) = -d Gamma(1 - 1/d), and 1 - 2^(1/d) is negative as well.
    let base = (d * (LN_2 / d).exp_m1() / LN_2).ln() + ln_gamma(1.0 - 1.0 / d);
    (-d * base).exp()
}

/// Copies for a relative standard error: (1.30/error)², rounded up.
///
/// ```
/// use bouquet_theory::loglog::copies;
///
/// assert_eq!(copies(0.1625)?, 64);
/// assert!(copies(0.0).is_err() && copies(1e-9).is_err());
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if the error is not between 0 and 1 or needs over a million copies.
pub fn copies(relative_error: f64) -> Result<u32> {
    let copies = (STANDARD_ERROR / relative_error).powi(2).ceil();
    if relative_error > 0.0 && relative_error < 1.0 && copies <= 1e6 {
        return Ok(copies.max(2.0) as u32);
    }
    Err(Error::parameter("error", "above 0.0013 and below 1", relative_error))
}

/// ceil(log2(log2 f + 6)) bits: wide enough that a cell of a key with f occurrences rarely ends at its largest value.
///
/// ```
/// use bouquet_theory::loglog::width;
///
/// assert_eq!((width(10), width(1_000_000), width(u64::MAX)), (4, 5, 7));
/// ```
pub fn width(occurrences: u64) -> u32 {
    ((occurrences.max(1) as f64).log2() + 6.0).log2().ceil() as u32
}

/// (1 - e^(-nkd/m))^(kd), the probability that an absent key seems present: all cells of all copies are in use.
///
/// ```
/// use bouquet_theory::loglog::rate;
///
/// assert!((rate(1_000, 10, 2, 3) / 0.0583f64.powi(6) - 1.0).abs() < 0.05);
/// assert_eq!(rate(1_000, 0, 2, 3), 0.0);
/// ```
pub fn rate(m: u64, n: u64, k: u32, copies: u32) -> f64 {
    let of_copy = standard::rate(m, n.saturating_mul(copies.into()), k);
    probability(of_copy.powi(copies.min(i32::MAX as u32) as i32))
}

/// The probability that a key with one occurrence among n such keys is estimated at 1.5 or more: d minima of k cells, each the
/// larger of the own draw and those of others that fell on the cell, Poisson(nkd/m) of them.
///
/// ```
/// use bouquet_theory::loglog::over_count;
///
/// let (light, heavy) = (over_count(1 << 30, 100, 3, 28, 31), over_count(12_000, 100, 3, 28, 31));
/// assert!(light > 0.05 && light < heavy && heavy < 0.5, "{light} {heavy}");
/// ```
pub fn over_count(m: u64, n: u64, k: u32, copies: u32, largest: u32) -> f64 {
    if m == 0 || n == 0 || copies == 0 {
        return 0.0;
    }
    let (largest, copies) = (largest.clamp(1, 64) as usize, copies.min(10_000) as usize);
    let load = (n as f64 * copies as f64 - 1.0).max(0.0) * f64::from(k) / m as f64;
    // P(M > t), t from 0; all below t when neither the own draw nor all k cells exceed it.
    let exceeds = |t: usize| {
        if t >= largest {
            return 0.0;
        }
        let half = 0.5f64.powi(t as i32);
        let others = (-f64::exp_m1(-load * half)).powi(k.min(i32::MAX as u32) as i32);
        1.0 - (1.0 - half) * (1.0 - others)
    };
    let law: Vec<f64> = (1..=largest).map(|value| exceeds(value - 1) - exceeds(value)).collect();
    // The law of the sum of all copies from `first` on; what is too rare to matter is cut off at both ends.
    let (mut first, mut sums) = (0, vec![1.0]);
    for _ in 0..copies {
        let mut next = vec![0.0; sums.len() + largest - 1];
        for (i, sum) in sums.iter().enumerate() {
            for (j, value) in law.iter().enumerate() {
                next[i + j] += sum * value;
            }
        }
        let matters = |chance: &f64| *chance > 1e-18;
        let begin = next.iter().position(matters).unwrap_or(0);
        let end = next.iter().rposition(matters).map_or(next.len(), |last| last + 1);
        first += 1 + begin;
        sums = next[begin..end].to_vec();
    }
    let over = |sum: usize| occurrences(sum as f64 / copies as f64) >= 1.5;
    let chances = sums.iter().zip(first..).filter(|(_, sum)| over(*sum));
    probability(chances.map(|(chance, _)| chance).sum())
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_prints;
    use super::*;

    #[test]
    fn the_mean_of_maxima_falls_from_2_to_1_3327_above_the_logarithm() {
        let above = |f: f64| mean_of_maxima(f) - f.log2();
        assert_prints(above(1.0), "2.0");
        assert_prints(above(1e9), "1.3327");
        assert!([1.0, 3.0, 10.0, 100.0, 1e4].windows(2).all(|pair| above(pair[0]) > above(pair[1])));
    }

    #[test]
    fn the_constants_are_the_printed_ones() {
        assert_prints(alpha(16), "0.376");
        assert_prints(alpha(64), "0.392");
    }

    #[test]
    fn no_argument_makes_them_panic_or_leave_their_range() {
        for x in [0.0, -1.0, 0.5, 1.0, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(mean_of_maxima(x) >= 1.0 && occurrences(x) >= 0.0);
            let _ = copies(x);
        }
        for n in [0, 1, 100, u64::MAX] {
            for small in [0, 1, 2, 70, u32::MAX] {
                for m in [0, 1, 1_000, u64::MAX] {
                    assert!((0.0..=1.0).contains(&rate(m, n, small, 3)) && (0.0..=1.0).contains(&rate(m, n, 3, small)));
                    assert!((0.0..=1.0).contains(&over_count(m, n, small, 3, small)));
                }
                assert!(alpha(small) >= 0.0 && width(n) >= 3);
            }
        }
    }
}
