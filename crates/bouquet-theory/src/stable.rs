//! Filters that forget at random: cells that are set to Max, and decremented P at a time with every arrival.
//!
//! A cell's life is a race: with every arrival it is decremented with probability p = P/m and set back to Max with probability
//! q = 1 - (1-1/m)^K. It is zero if Max decrements came since it was last set. Over a gap of g arrivals that chance has a
//! closed form. The Max-th decrement comes after T arrivals, and no setting before it with probability (1-q)^T, so
//!
//! ```text
//! R0(g) = E[ (1-q)^T ; T <= g ] = ( p(1-q) / (1-s) )^Max * P( Bin(g, 1-s) >= Max ),      s = (1-p)(1-q)
//! ```
//!
//! which is the sum over all ages of the published analysis. For g without end it is the stable fraction of zeros.
//!
//! Source: F. Deng, D. Rafiei, *Approximately detecting duplicates for streaming data using stable Bloom filters*, 2006.

use super::search::least_memory;
use super::special::{binomial_tail, ln_miss, ln_one_minus_exp, positive, power, probability};
use super::{check_positive, check_rate};
use crate::{Error, Result};

/// The parameters of a stable filter.
///
/// ```
/// use bouquet_theory::stable::Shape;
///
/// let shape = Shape { cells: 20_000, hashes: 3, max: 3, decrements: 36 };
/// assert!((shape.zeros() - 0.7865).abs() < 5e-5);
/// assert!((shape.limit_rate() - 0.0097).abs() < 5e-5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// m, the cells.
    pub cells: u64,
    /// K, the cells of a key.
    pub hashes: u32,
    /// Max, the value that a cell is set to.
    pub max: u32,
    /// P, the cells that each arrival decrements.
    pub decrements: u64,
}

/// A shape with the errors it makes.
///
/// ```
/// let plan = bouquet_theory::stable::best(100_000, 0.01, 2000)?;
/// assert_eq!((plan.shape.max, plan.shape.hashes, plan.shape.decrements), (3, 4, 30));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The parameters.
    pub shape: Shape,
    /// The bits of a cell.
    pub cell_bits: u32,
    /// The limit of the false-positive rate.
    pub rate: f64,
    /// The false-negative rate for a duplicate after the gap that was asked for.
    pub misses: f64,
}

impl Shape {
    /// ( 1 / (1 + 1/(P(1/K - 1/m))) )^Max, the stable fraction of zeros (Deng, Rafiei, theorem 2).
    ///
    /// ```
    /// # use bouquet_theory::stable::Shape;
    /// let shape = Shape { cells: 1000, hashes: 2, max: 1, decrements: 10 };
    /// assert!((shape.zeros() - 0.8330550918).abs() < 1e-10); // 4.99/5.99
    /// ```
    pub fn zeros(&self) -> f64 {
        self.log_zeros().exp()
    }

    /// ln z = -Max ln(1 + 1/(P(1/K - 1/m))).
    fn log_zeros(&self) -> f64 {
        if self.hashes == 0 || self.max == 0 {
            return 0.0;
        }
        let (m, k) = (self.cells as f64, f64::from(self.hashes));
        // With as many probes as cells, all cells are set by every arrival: no drift to zero.
        let drift = positive(self.decrements as f64 * (1.0 / k - 1.0 / m));
        -f64::from(self.max) * (1.0 / drift).ln_1p()
    }

    /// (1-z)^K, the limit of the false-positive rate, approached from below.
    ///
    /// ```
    /// # use bouquet_theory::stable::Shape;
    /// let shape = Shape { cells: 1000, hashes: 2, max: 1, decrements: 10 };
    /// assert!((shape.limit_rate() - (1.0 - shape.zeros()).powi(2)).abs() < 1e-15);
    /// ```
    pub fn limit_rate(&self) -> f64 {
        power(-self.log_zeros().exp_m1(), f64::from(self.hashes))
    }

    /// The expected fraction of zeros after t arrivals of different keys at an empty filter: the cells never set, and those that
    /// have faded since.
    ///
    /// ```
    /// # use bouquet_theory::stable::Shape;
    /// let shape = Shape { cells: 20_000, hashes: 3, max: 3, decrements: 36 };
    /// assert_eq!(shape.zeros_after(0), 1.0);
    /// assert!((shape.zeros_after(100_000) - shape.zeros()).abs() < 1e-4);
    /// ```
    pub fn zeros_after(&self, arrivals: u64) -> f64 {
        if self.cells == 0 {
            return 0.0;
        }
        let (decremented, set) = self.chances();
        let unset = power(1.0 - set, arrivals as f64);
        let not_faded = 1.0 - binomial_tail(u64::from(self.max), arrivals as f64, decremented);
        probability(self.faded(arrivals) + unset * not_faded)
    }

    /// R0(g), the chance that a cell which was set to Max is zero after g more arrivals.
    ///
    /// ```
    /// # use bouquet_theory::stable::Shape;
    /// let shape = Shape { cells: 20_000, hashes: 3, max: 3, decrements: 36 };
    /// assert_eq!(shape.faded(2), 0.0); // three decrements take three arrivals
    /// assert!((shape.faded(10_000_000) - shape.zeros()).abs() < 1e-3);
    /// ```
    pub fn faded(&self, gap: u64) -> f64 {
        if self.max == 0 {
            return 1.0;
        }
        if self.cells == 0 {
            return 0.0;
        }
        let (p, q) = self.chances();
        // 1 - s, the chance that anything happens to the cell.
        let event = p + q - p * q;
        if event == 0.0 {
            return 0.0;
        }
        let first = p * (1.0 - q) / event;
        probability(power(first, f64::from(self.max)) * binomial_tail(u64::from(self.max), gap as f64, event))
    }

    /// 1 - (1-R0)^K, the chance that a duplicate is missed because g other keys came in between.
    ///
    /// ```
    /// # use bouquet_theory::stable::Shape;
    /// let shape = Shape { cells: 20_000, hashes: 3, max: 3, decrements: 36 };
    /// assert!((shape.miss_rate(2000) - 0.930).abs() < 5e-4);
    /// ```
    pub fn miss_rate(&self, gap: u64) -> f64 {
        -f64::exp_m1(f64::from(self.hashes) * (-self.faded(gap)).ln_1p()).max(-1.0)
    }

    /// The chances that an arrival decrements and that it sets a given cell.
    fn chances(&self) -> (f64, f64) {
        let m = self.cells as f64;
        (probability(self.decrements as f64 / m), -ln_miss(m, f64::from(self.hashes)).exp_m1())
    }
}

/// P = 1 / ( (1/(1 - f^(1/K))^(1/Max) - 1) (1/K - 1/m) ), rounded up: the decrements that hold the rate below f (Deng, Rafiei,
/// equation 18 of the survey). Rounding down would break the bound.
///
/// ```
/// use bouquet_theory::stable::decrements;
///
/// assert_eq!(decrements(20_000, 3, 3, 0.01)?, 36);
/// assert_eq!(decrements(20_000, 3, 1, 0.01)?, 11);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if the rate is not between 0 and 1, if a count is 0, if there are not more cells than probes, or if more
/// cells than there are would have to be decremented.
pub fn decrements(cells: u64, hashes: u32, max: u32, rate: f64) -> Result<u64> {
    check_rate("fpr", rate)?;
    check_positive("hashes", u64::from(hashes))?;
    check_positive("max", u64::from(max))?;
    if cells <= u64::from(hashes) {
        return Err(Error::parameter("cells", format!("more than the {hashes} probes of a key"), cells));
    }
    needed_decrements(cells, hashes, per_cell(hashes, max, rate)).ok_or_else(|| {
        let expected = format!("large enough that not all {cells} cells must be decremented at once");
        Error::parameter("fpr", expected, rate)
    })
}

/// 1/(1 - f^(1/K))^(1/Max) - 1, of which P is made.
fn per_cell(hashes: u32, max: u32, rate: f64) -> f64 {
    let log_zeros = ln_one_minus_exp(rate.ln() / f64::from(hashes));
    (-log_zeros / f64::from(max)).exp_m1()
}

/// P, unless that is more than there are cells.
fn needed_decrements(cells: u64, hashes: u32, per_cell: f64) -> Option<u64> {
    let (m, k) = (cells as f64, f64::from(hashes));
    let needed = (1.0 / (per_cell * (1.0 / k - 1.0 / m))).ceil().max(1.0);
    (needed <= m).then_some(needed as u64)
}

/// The shape with the fewest misses after a gap of g arrivals, over Max in {1, 3, 7} and K in 1..=10, for a number of bits and
/// a limit of the false-positive rate; of equal ones the smaller Max, then the smaller K.
///
/// ```
/// use bouquet_theory::stable::best;
///
/// let near = best(100_000, 0.01, 500)?;
/// let far = best(100_000, 0.01, 5000)?;
/// assert_eq!((near.shape.max, near.shape.hashes, near.shape.decrements), (7, 6, 65));
/// assert_eq!((far.shape.max, far.shape.hashes, far.shape.decrements), (1, 3, 11));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if the rate is not between 0 and 1 or no shape of this many bits reaches it.
pub fn best(bits: u64, rate: f64, gap: u64) -> Result<Plan> {
    check_rate("fpr", rate)?;
    let mut best: Option<Plan> = None;
    for cell_bits in 1..=3u32 {
        let (cells, max) = (bits / u64::from(cell_bits), (1 << cell_bits) - 1);
        for hashes in 1..=10 {
            let Ok(decrements) = decrements(cells, hashes, max, rate) else { continue };
            let shape = Shape { cells, hashes, max, decrements };
            let plan = Plan { shape, cell_bits, rate: shape.limit_rate(), misses: shape.miss_rate(gap) };
            if best.is_none_or(|best| plan.misses < best.misses) {
                best = Some(plan);
            }
        }
    }
    best.ok_or_else(|| Error::parameter("bits", format!("enough for a rate of {rate}"), bits))
}

/// The fewest bits, to a thousandth, in which one of the choices of Max and K misses a duplicate after a gap of g arrivals with at
/// most this probability; P as small as the rate allows unless it is given.
///
/// ```
/// use bouquet_theory::stable::{best, fewest_bits};
///
/// let choices: Vec<_> = [1, 3, 7].into_iter().flat_map(|max| (1..=10).map(move |hashes| (max, hashes))).collect();
/// let bits = fewest_bits(&choices, None, 0.01, 1_000, 0.01)?;
/// assert!(best(bits, 0.01, 1_000)?.misses <= 0.01 && best(bits * 99 / 100, 0.01, 1_000)?.misses > 0.01);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::TooLarge` if that takes too many bits, or if no number of bits is enough.
pub fn fewest_bits(choices: &[(u32, u32)], decrements: Option<u64>, rate: f64, gap: u64, misses: f64) -> Result<u64> {
    check_rate("fpr", rate)?;
    let with_terms = |&(max, hashes): &(u32, u32)| (max, hashes, per_cell(hashes, max, rate));
    let enough = |bits: u64, (max, hashes, per_cell): (u32, u32, f64)| {
        let cells = bits / u64::from((u32::BITS - max.leading_zeros()).max(1));
        if cells <= u64::from(hashes) || hashes == 0 || max == 0 {
            return false;
        }
        let decrements = match decrements {
            Some(decrements) => Some(decrements).filter(|&p| p <= cells),
            None => needed_decrements(cells, hashes, per_cell),
        };
        decrements.is_some_and(|decrements| Shape { cells, hashes, max, decrements }.miss_rate(gap) <= misses)
    };
    let choices: Vec<_> = choices.iter().map(with_terms).collect();
    if decrements.is_some() {
        // Tiny filters may miss less than somewhat larger ones: look at every choice at every size.
        let any = |bits: u64, ()| choices.iter().any(|choice| enough(bits, *choice));
        return Ok(least_memory(64, 0, vec![()], 0, any)?.0);
    }
    // In the middle of those that are usual.
    let guess = choices.iter().position(|&(max, hashes, _)| (max, hashes) == (3, 5)).unwrap_or(0);
    Ok(least_memory(64, 0, choices, guess, enough)?.0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;
    use crate::special::binomial;

    #[test]
    fn the_printed_numbers_hold() {
        let slow = Shape { cells: 20_000, hashes: 3, max: 3, decrements: 36 };
        assert_prints(slow.zeros(), "0.7865");
        assert_prints(slow.limit_rate(), "0.0097");
        assert_prints(slow.miss_rate(2000), "0.930");
        let fast = Shape { max: 1, decrements: decrements(20_000, 3, 1, 0.01).unwrap(), ..slow };
        assert_eq!(fast.decrements, 11);
        assert_prints(fast.miss_rate(500), "0.547");
    }

    #[test]
    fn the_optimiser_picks_the_printed_shapes() {
        for (gap, max, hashes, decrements, misses) in
            [(500, 7, 6, 65, "0.000383"), (2000, 3, 4, 30, "0.366"), (5000, 1, 3, 11, "0.779")]
        {
            let plan = best(100_000, 0.01, gap).unwrap();
            assert_eq!(
                (plan.shape.max, plan.shape.hashes, plan.shape.decrements),
                (max, hashes, decrements),
                "{plan:?}"
            );
            assert_prints(plan.misses, misses);
            assert!(plan.rate <= 0.01);
        }
        // At gap 500 the optimum is flat: five probes are 2 % behind six.
        let five = Shape { cells: 33_333, hashes: 5, max: 7, decrements: 67 };
        assert_prints(five.miss_rate(500), "0.000390");
    }

    /// Every choice at every size.
    fn slow_fewest_bits(choices: &[(u32, u32)], given: Option<u64>, rate: f64, gap: u64, misses: f64) -> Option<u64> {
        let enough = |bits: u64| {
            choices.iter().any(|&(max, hashes)| {
                let cells = bits / u64::from(u32::BITS - max.leading_zeros());
                let shape = |decrements| Shape { cells, hashes, max, decrements };
                let found = match given {
                    Some(given) => (cells > hashes.into() && given <= cells).then(|| shape(given)),
                    None => decrements(cells, hashes, max, rate).ok().map(shape),
                };
                found.is_some_and(|shape| shape.miss_rate(gap) <= misses)
            })
        };
        let (mut too_few, mut bits) = (0, 64);
        while !enough(bits) {
            if bits >= crate::MAX_BITS {
                return None;
            }
            (too_few, bits) = (bits, 2 * bits);
        }
        while bits - too_few > 1 + bits / 1024 {
            let middle = too_few + (bits - too_few) / 2;
            if enough(middle) { bits = middle } else { too_few = middle }
        }
        Some(bits)
    }

    #[test]
    fn fast_sizing_finds_what_a_look_at_every_choice_finds() {
        let choices = |maxima: &[u32], most: u32| -> Vec<(u32, u32)> {
            maxima.iter().flat_map(|&max| (1..=most).map(move |hashes| (max, hashes))).collect()
        };
        for choices in [choices(&[1, 3, 7], 10), choices(&[2], 10), choices(&[255], 1), vec![(3, 4)]] {
            for gap in [1, 2, 3, 10, 100, 1_234, 10_000, 1_000_000, 1_000_000_000] {
                for rate in [0.9, 0.5, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9] {
                    for misses in [0.9, 0.5, 0.1, 0.01, 1e-3, 1e-6] {
                        for given in [None, Some(1), Some(30)] {
                            let expected = slow_fewest_bits(&choices, given, rate, gap, misses);
                            let found = fewest_bits(&choices, given, rate, gap, misses).ok();
                            assert_eq!(found, expected, "{choices:?}, {given:?}, {gap} at {rate}, missing {misses}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_closed_form_equals_the_sum_over_ages() {
        for (max, gap) in [(1u32, 50u64), (3, 400), (7, 3000)] {
            let shape = Shape { cells: 2000, hashes: 4, max, decrements: 25 };
            let (p, q) = shape.chances();
            let at_least = |l: u64| 1.0 - (0..max).map(|j| binomial(f64::from(j), l as f64, p)).sum::<f64>();
            let mut sum = power(1.0 - q, gap as f64) * at_least(gap);
            for l in 0..gap {
                sum += q * power(1.0 - q, l as f64) * at_least(l);
            }
            assert_close(shape.faded(gap), sum, 1e-9);
        }
    }

    #[test]
    fn the_rate_is_approached_from_below() {
        let shape = Shape { cells: 5000, hashes: 3, max: 3, decrements: 20 };
        let zeros: Vec<f64> = (0..40).map(|i| shape.zeros_after(i * 500)).collect();
        assert!(zeros.windows(2).all(|pair| pair[0] >= pair[1] - 1e-12));
        // The published limit takes one arrival to set K of m cells exactly; with repeated draws it is 1 - (1-1/m)^K.
        assert_close(zeros[39], shape.zeros(), 1e-3);
    }

    #[test]
    fn rounding_up_keeps_the_bound_and_one_less_breaks_it() {
        for (cells, hashes, max) in [(20_000, 3, 3), (1000, 1, 1), (50_000, 7, 7)] {
            let found = decrements(cells, hashes, max, 0.01).unwrap();
            let shape = Shape { cells, hashes, max, decrements: found };
            assert!(shape.limit_rate() <= 0.01);
            assert!(Shape { decrements: found - 1, ..shape }.limit_rate() > 0.01);
        }
        assert!(decrements(3, 3, 1, 0.01).is_err() && decrements(10, 2, 7, 1e-9).is_err());
        assert!(best(0, 0.01, 10).is_err() && best(1000, 1.5, 10).is_err());
    }
}
