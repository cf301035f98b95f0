//! Filters in groups, each group tighter than the one before: one bound on the rate for any number of filters.
//!
//! Filters that are there cannot change, so the error of a growing array is shared out beforehand. Group j has w filters of
//! the rate F (1-q) q^j / w with q = 1/2: together its filters err with F (1-q) q^j at most, and the sum over all groups is F.
//!
//! Sources: J. Wei, H. Jiang, K. Zhou, D. Feng, *DBA: a dynamic Bloom filter array for scalable membership representation of
//! variable large data sets*, 2011; Y. Liu, X. Ge, D. Du, X. Huang, *Par-BF: a parallel partitioned Bloom filter for dynamic
//! data sets*, 2014. The rates of the groups are derived.

use super::dynamic::{Shape, sizing};
use super::special::{power, probability};
use super::standard::corrected_rate;
use super::{check_positive, check_rate};
use crate::Result;

/// q, the rate of a group in terms of the one before.
const TIGHTENING: f64 = 0.5;

/// The rates of an array of groups, checked.
///
/// ```
/// use bouquet_theory::tightened::Tightened;
///
/// let array = Tightened::new(0.01, 64)?;
/// assert!((array.rate(0) - 0.005 / 64.0).abs() < 1e-12);
/// assert_eq!(array.shape(0, 1_000)?.hashes, 14);
/// assert!(Tightened::new(0.01, 0).is_err());
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tightened {
    rate: f64,
    width: u64,
}

impl Tightened {
    /// An array with total rate F in groups of `width` filters.
    ///
    /// # Errors
    ///
    /// `Error::Parameter` if the rate is not between 0 and 1 or a group has no filter.
    pub fn new(rate: f64, width: u64) -> Result<Self> {
        check_rate("fpr", rate)?;
        check_positive("width", width)?;
        Ok(Tightened { rate, width })
    }

    /// F (1-q) q^j / w, the rate of each filter of group j.
    ///
    /// ```
    /// # use bouquet_theory::tightened::Tightened;
    /// let array = Tightened::new(0.01, 64)?;
    /// assert_eq!(array.rate(3), array.rate(0) / 8.0);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn rate(&self, group: u32) -> f64 {
        self.rate * (1.0 - TIGHTENING) * power(TIGHTENING, f64::from(group)) / self.width as f64
    }

    /// The filters of group j that hold `capacity` keys each: those of [`sizing::for_rate`], and as many bits more as filters of finite
    /// size need to keep to their rate, half a percent for 100 keys. Otherwise the sum of all rates would pass F.
    ///
    /// # Errors
    ///
    /// `Error::Parameter` if the group is so tight that a key would need too many positions.
    ///
    /// ```
    /// # use bouquet_theory::tightened::Tightened;
    /// let array = Tightened::new(0.01, 64)?;
    /// let [first, second] = [array.shape(0, 1_000)?, array.shape(1, 1_000)?];
    /// assert!(second.bits > first.bits && second.hashes == first.hashes + 1);
    /// assert!(array.shape(60, 1_000).is_err());
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn shape(&self, group: u32, capacity: u64) -> Result<Shape> {
        /// Up to this size the approximation falls short of the exact rate; up to ten bits make up for it.
        const SMALL: u64 = 512;
        let (rate, mut shape) = (self.rate(group), sizing::for_rate(capacity, self.rate(group))?);
        while corrected_rate(shape.bits, capacity, shape.hashes) > rate {
            shape.bits += (shape.bits / 256).max(1);
        }
        if shape.bits <= SMALL {
            shape.bits += 1 + 9_u64.div_ceil(capacity);
        }
        Ok(shape)
    }

    /// 1 - prod (1 - f_j), what this many filters make together at the rates of their groups: below F for any number.
    ///
    /// ```
    /// # use bouquet_theory::tightened::Tightened;
    /// let array = Tightened::new(0.01, 64)?;
    /// assert!((array.bound(64) - 0.005).abs() < 2e-5);
    /// assert!(array.bound(160) > array.bound(64) && array.bound(u64::MAX) < 0.01);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn bound(&self, filters: u64) -> f64 {
        let (mut left, mut log, mut group) = (filters, 0.0, 0);
        // Groups beyond these are too tight to count.
        while left > 0 && group < 128 {
            let count = left.min(self.width);
            log += count as f64 * (-self.rate(group)).ln_1p();
            left -= count;
            group += 1;
        }
        probability(-f64::exp_m1(log))
    }
}

/// The words that a miss reads of w filters side by side: 1 + sum over i = 1..k-1 of 1 - (1 - rho^i)^w, for the AND of i words of
/// filters with the fill rho is zero with probability (1 - rho^i)^w, and then no further word is read.
///
/// ```
/// use bouquet_theory::tightened::words_per_miss;
/// let half_full = words_per_miss(0.5, 7, 64);
/// assert!(half_full > 6.2 && half_full < 7.0);
/// assert!(words_per_miss(0.1, 7, 64) < 3.6);
/// assert_eq!(words_per_miss(0.0, 7, 64), 1.0);
/// ```
pub fn words_per_miss(fill: f64, hashes: u32, filters: u64) -> f64 {
    let fill = probability(fill);
    // Powers below this change nothing any more, whatever the number of filters.
    let counted = hashes.min(4_096);
    let some_left = |i: u32| -f64::exp_m1(filters as f64 * (-power(fill, f64::from(i))).ln_1p());
    let later: f64 = (1..counted).map(|i| if filters == 0 { 0.0 } else { probability(some_left(i)) }).sum();
    if hashes == 0 || filters == 0 { 0.0 } else { 1.0 + later }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    #[test]
    fn the_sum_of_all_rates_is_the_total() {
        let array = Tightened::new(0.02, 64).unwrap();
        let sum: f64 = (0..60).map(|group| 64.0 * array.rate(group)).sum();
        assert!((sum - 0.02).abs() < 1e-12, "{sum}");
        for filters in [1, 64, 65, 160, 6_400, u64::MAX] {
            assert!(array.bound(filters) < 0.02, "{filters}");
        }
    }

    #[test]
    fn filters_of_every_size_keep_to_the_rate_of_their_group() {
        for capacity in [1, 2, 5, 20, 100, 1_000, 1_000_000] {
            for group in [0, 1, 5, 20] {
                let array = Tightened::new(0.02, 64).unwrap();
                let shape = array.shape(group, capacity).unwrap();
                let own = crate::standard::expected_rate(shape.bits, capacity, shape.hashes);
                assert!(own <= 1.0001 * array.rate(group), "{capacity} keys in group {group}: {own}");
                let limit = sizing::for_rate(capacity, array.rate(group)).unwrap();
                assert!((shape.bits as f64) < 1.02 * limit.bits as f64 + 16.0, "{shape:?} instead of {limit:?}");
            }
        }
    }

    #[test]
    fn a_simulated_miss_reads_as_many_words_as_expected() {
        let mut random = SplitMix::new(1);
        for (fill, hashes, filters) in [(0.5, 7, 64), (0.5, 14, 16), (0.25, 5, 64), (0.4, 10, 8)] {
            let threshold = (fill * f64::from(u32::MAX)) as u64;
            let mut draw = |filters: u64| {
                (0..filters).fold(0u64, |word, lane| word | u64::from(random.below(1 << 32) < threshold) << lane)
            };
            let runs = 20_000;
            let mut words = Vec::new();
            for _ in 0..runs {
                let (mut mask, mut read) = (u64::MAX, 0);
                for _ in 0..hashes {
                    mask &= draw(filters);
                    read += 1;
                    if mask == 0 {
                        break;
                    }
                }
                words.push(f64::from(read));
            }
            let mean = words.iter().sum::<f64>() / f64::from(runs);
            let variance = words.iter().map(|read| (read - mean).powi(2)).sum::<f64>() / f64::from(runs);
            let expected = words_per_miss(fill, hashes, filters);
            let sigma = (variance / f64::from(runs)).sqrt();
            assert!((mean - expected).abs() < 5.0 * sigma, "{mean} words, expected {expected}");
        }
    }
}
