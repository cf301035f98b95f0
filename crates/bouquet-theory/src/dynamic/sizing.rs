//! How large the components of a chain are to be, for a set whose size is known, bounded, or neither.
//!
//! | what is known | function |
//! |---|---|
//! | the number of keys | [`for_rate`] (and then a plain filter is as good and simpler) |
//! | the size of the memory of a component | [`capacity`] |
//! | a bound of the number of keys and how it is distributed | [`for_bound`]; for each number of components [`for_components`] |
//! | an estimate n0, a rate beta to keep below and gamma never to pass | [`for_rate`] of n0 and beta, [`super::chain_limit`] |
//!
//! The bits are those of the source, n ln(alpha) / ln(0.6185), with k rounded up. With a whole k the rate may be up to 3 %
//! (relative) above alpha; [`Shape::rate`] tells the rate itself.

use std::f64::consts::LN_2;

use super::Shape;
use crate::MAX_HASHES;
use crate::random::SplitMix;
use crate::special::normal_tail;
use crate::{Error, Result};
use crate::{MAX_BITS, check_bits, check_positive, check_rate};

/// (1/2)^(ln 2), the rate of a filter with one bit per key and the best number of probes, as the source prints it.
const ONE_BIT_RATE: f64 = 0.6185;

/// ln(alpha) / ln(0.6185), the bits per key for a rate.
fn bits_per_key(alpha: f64) -> f64 {
    alpha.ln() / ONE_BIT_RATE.ln()
}

/// The smallest whole number of probes that is not below the best one.
fn hashes(bits: u64, capacity: u64) -> Result<u32> {
    let best = bits as f64 / capacity as f64 * LN_2;
    if best > f64::from(MAX_HASHES) {
        return Err(Error::parameter(
            "fpr",
            format!("high enough for {MAX_HASHES} positions per key"),
            format!("one that takes {} of them", best.ceil()),
        ));
    }
    Ok((best.ceil() as u32).max(1))
}

/// m = ceil(n ln(alpha)/ln(0.6185)) and k = ceil((m/n) ln 2), a component for n keys at the rate alpha.
///
/// ```
/// use bouquet_theory::dynamic::sizing::for_rate;
/// let shape = for_rate(1330, 0.0098)?;
/// assert_eq!((shape.bits, shape.hashes, shape.capacity), (12_804, 7, 1330));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn for_rate(n: u64, alpha: f64) -> Result<Shape> {
    check_positive("items", n)?;
    check_rate("fpr", alpha)?;
    let bits = check_bits(n as f64 * bits_per_key(alpha))?;
    Ok(Shape { bits, hashes: hashes(bits, n)?, capacity: n })
}

/// c = ceil(m ln(0.6185)/ln(alpha)), the keys of a component of m bits at the rate alpha.
///
/// ```
/// use bouquet_theory::dynamic::sizing::capacity;
/// assert_eq!(capacity(1280, 0.0098)?, 133);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn capacity(m: u64, alpha: f64) -> Result<u64> {
    check_positive("bits", m)?;
    check_rate("fpr", alpha)?;
    Ok(((m as f64 / bits_per_key(alpha)).ceil() as u64).max(1))
}

/// How the sizes of a set are distributed over 1 to the bound.
///
/// ```
/// use bouquet_theory::dynamic::sizing::{Distribution, Ranks};
/// let small_sets = Distribution::Zipf { exponent: 0.4, ranks: Ranks::Minimum };
/// assert!(small_sets.tails(1330)?.above(665) < Distribution::Uniform.tails(1330)?.above(665));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Every size is equally likely.
    Uniform,
    /// Near a mean.
    Normal {
        /// The most likely size.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// The probability of rank r is proportional to r^-exponent.
    Zipf {
        /// How uneven it is; zero is uniform.
        exponent: f64,
        /// Which sizes have the first ranks.
        ranks: Ranks,
    },
    /// Weights of the sizes 1, 2, ...: how often each was seen.
    Histogram(Vec<f64>),
    /// The sizes that a quarter, half, three quarters and all of the sets have at most; every size between two of them is
    /// equally likely. The last is the bound.
    Quartiles([u64; 4]),
}

/// Which sizes are the most likely ones.
///
/// ```
/// use bouquet_theory::dynamic::sizing::{Distribution, Ranks};
/// let above = |ranks| Distribution::Zipf { exponent: 0.4, ranks }.tails(1000).map(|tails| tails.above(500));
/// assert!(above(Ranks::Minimum)? < above(Ranks::Random(1))? && above(Ranks::Random(1))? < above(Ranks::Maximum)?);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// The smallest.
    Minimum,
    /// The largest.
    Maximum,
    /// In an order that follows from this seed.
    Random(u64),
}

/// The most components that a chain is sized with. Each is weighed, and no distribution gains from this many.
const MOST_COMPONENTS: u64 = 256;

/// The largest bound for which sizes are listed one by one.
const LISTED: u64 = 1 << 22;

/// P(size > x) for every x.
///
/// ```
/// use bouquet_theory::dynamic::sizing::Distribution;
/// let tails = Distribution::Uniform.tails(1330)?;
/// assert_eq!([0, 665, 1330].map(|x| tails.above(x)), [1.0, 0.5, 0.0]);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tails {
    bound: u64,
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Uniform,
    Normal {
        mean: f64,
        deviation: f64,
    },
    Zipf {
        exponent: f64,
        largest_first: bool,
    },
    Quartiles([u64; 4]),
    /// `above[x]` for every x below the bound.
    Listed(Vec<f64>),
}

impl Distribution {
    /// The tails of the sizes 1 to `bound`.
    ///
    /// # Errors
    ///
    /// `Error::Parameter` if a number is not finite, a deviation or the sum of weights not positive, a weight negative or
    /// beyond the bound, random ranks are asked for more than 4 million sizes, or quartiles do not ascend to the bound.
    ///
    /// ```
    /// use bouquet_theory::dynamic::sizing::Distribution;
    /// let seen = Distribution::Histogram(vec![3.0, 0.0, 1.0]); // three nodes with one key, one with three
    /// assert_eq!(seen.tails(3)?.above(1), 0.25);
    /// assert!(seen.tails(2).is_err());
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn tails(&self, bound: u64) -> Result<Tails> {
        check_positive("items", bound)?;
        let form = match *self {
            Distribution::Uniform => Form::Uniform,
            Distribution::Normal { mean, deviation } => {
                if !(mean.is_finite() && deviation.is_finite() && deviation > 0.0) {
                    let found = format!("mean {mean}, deviation {deviation}");
                    return Err(Error::parameter("deviation", "above 0, with a finite mean", found));
                }
                let form = Form::Normal { mean, deviation };
                let reachable = Tails { bound, form: form.clone() }.mass() > 0.0;
                if !reachable {
                    return Err(Error::parameter("mean", format!("such that sizes from 1 to {bound} occur"), mean));
                }
                form
            }
            Distribution::Zipf { exponent, ranks } => {
                if !(exponent.is_finite() && exponent >= 0.0) {
                    return Err(Error::parameter("zipf", "at least 0", exponent));
                }
                match ranks {
                    Ranks::Minimum => Form::Zipf { exponent, largest_first: false },
                    Ranks::Maximum => Form::Zipf { exponent, largest_first: true },
                    Ranks::Random(seed) => Form::Listed(shuffled(exponent, seed, bound)?),
                }
            }
            Distribution::Histogram(ref weights) => Form::Listed(listed(weights, bound)?),
            Distribution::Quartiles(sizes) => {
                if !sizes.is_sorted() || sizes[3] != bound {
                    let expected = format!("ascending up to the largest size, {bound}");
                    return Err(Error::parameter("quartiles", expected, format!("{sizes:?}")));
                }
                Form::Quartiles(sizes)
            }
        };
        Ok(Tails { bound, form })
    }
}

/// The tails of a histogram.
fn listed(weights: &[f64], bound: u64) -> Result<Vec<f64>> {
    if weights.len() as u64 > bound {
        return Err(Error::parameter("histogram", format!("of sizes up to {bound}"), weights.len()));
    }
    let total: f64 = weights.iter().sum();
    if !(total > 0.0 && total.is_finite()) || weights.iter().any(|&weight| weight < 0.0) {
        return Err(Error::parameter("histogram", "weights of at least 0, not all 0", total));
    }
    let mut above = Vec::with_capacity(weights.len());
    let mut sum = total;
    for weight in weights {
        above.push((sum / total).clamp(0.0, 1.0));
        sum -= weight;
    }
    Ok(above)
}

/// The tails of a Zipf law whose ranks are dealt to the sizes in random order.
fn shuffled(exponent: f64, seed: u64, bound: u64) -> Result<Vec<f64>> {
    if bound > LISTED {
        return Err(Error::parameter("items", format!("at most {LISTED} with random ranks"), bound));
    }
    let mut weights: Vec<f64> = (1..=bound).map(|rank| (rank as f64).powf(-exponent)).collect();
    let mut random = SplitMix::new(seed);
    for i in (1..weights.len()).rev() {
        weights.swap(i, random.below(i as u64 + 1) as usize);
    }
    listed(&weights, bound)
}

/// P(size > x) for x below the last quartile: linear between the knots (0, 1), (q1, 3/4), (q2, 1/2), (q3, 1/4), (q4, 0).
fn above_quartiles(sizes: &[u64; 4], x: u64) -> f64 {
    let below = sizes.iter().filter(|&&size| size <= x).count();
    let Some(&upper) = sizes.get(below) else { return 0.0 };
    let lower = below.checked_sub(1).map_or(0, |index| sizes[index]);
    // `lower <= x < upper`, so the quotient is below 1.
    1.0 - (below as f64 + (x - lower) as f64 / (upper - lower) as f64) / 4.0
}

/// 1 + 2^-z + ... + n^-z.
fn harmonic(n: u64, z: f64) -> f64 {
    /// Terms that are added one by one; the rest is an integral with its first corrections (Euler and Maclaurin), whose
    /// error is below z (z+1) (z+2) 100^(-z-3) / 720.
    const TERMS: u64 = 100;
    let term = |x: f64| x.powf(-z);
    let sum: f64 = (1..=n.min(TERMS)).map(|i| term(i as f64)).sum();
    if n <= TERMS {
        return sum;
    }
    let (a, b) = (TERMS as f64, n as f64);
    let ratio = (b / a).ln();
    // The integral of x^-z from a to b, also for z near 1.
    let integral =
        a * term(a) * if (1.0 - z).abs() * ratio < 1e-9 { ratio } else { ((1.0 - z) * ratio).exp_m1() / (1.0 - z) };
    sum + integral + (term(b) - term(a)) / 2.0 - z / 12.0 * (term(b) / b - term(a) / a)
}

impl Tails {
    /// P(size > x).
    ///
    /// ```
    /// use bouquet_theory::dynamic::sizing::Distribution;
    /// let tails = Distribution::Normal { mean: 665.0, deviation: 20.0 }.tails(1330)?;
    /// assert!((tails.above(666) - 0.4701).abs() < 5e-5);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn above(&self, x: u64) -> f64 {
        if x >= self.bound {
            return 0.0;
        }
        let n = self.bound;
        let share = match &self.form {
            Form::Uniform => (n - x) as f64 / n as f64,
            Form::Normal { .. } => (self.normal_above(x) - self.normal_above(n)) / self.mass(),
            Form::Zipf { exponent, largest_first: true } => harmonic(n - x, *exponent) / harmonic(n, *exponent),
            Form::Zipf { exponent, largest_first: false } => 1.0 - harmonic(x, *exponent) / harmonic(n, *exponent),
            Form::Listed(above) => above.get(x as usize).copied().unwrap_or(0.0),
            Form::Quartiles(sizes) => above_quartiles(sizes, x),
        };
        share.clamp(0.0, 1.0)
    }

    /// The tail of the normal law with the usual half for whole numbers.
    fn normal_above(&self, x: u64) -> f64 {
        let Form::Normal { mean, deviation } = self.form else { return 0.0 };
        normal_tail((x as f64 + 0.5 - mean) / deviation)
    }

    /// The normal law's share of the sizes 1 to the bound.
    fn mass(&self) -> f64 {
        self.normal_above(0) - self.normal_above(self.bound)
    }
}

/// A chain for a bounded set.
///
/// ```
/// use bouquet_theory::dynamic::sizing::{Distribution, for_bound};
/// let sizing = for_bound(1330, 0.0098, &Distribution::Uniform, 64)?;
/// assert_eq!((sizing.components, sizing.shape.bits, sizing.shape.hashes), (6, 2959, 10));
/// assert_eq!(sizing.expected_bits.round(), 10_345.0); // 0.808 of the plain filter's 12,804
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizing {
    /// s, the components that a set of the largest size has.
    pub components: u64,
    /// The components.
    pub shape: Shape,
    /// delta = 1 - (1-alpha)^(1/s), the rate that each is made for.
    pub component_rate: f64,
    /// m sum r_i, the mean number of bits over all sizes, r_i being the probability that component i exists.
    pub expected_bits: f64,
}

/// The chain of s components for sets of up to `bound` keys: c = ceil(N/s), m = ceil((N/s) ln(delta)/ln(0.6185)),
/// k = ceil((m/c) ln 2).
///
/// ```
/// use bouquet_theory::dynamic::sizing::{Distribution, for_components};
/// let plain = for_components(1330, 0.0098, &Distribution::Uniform.tails(1330)?, 1)?;
/// assert_eq!(plain.expected_bits, 12_804.0);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn for_components(bound: u64, alpha: f64, tails: &Tails, s: u64) -> Result<Sizing> {
    check_positive("items", bound)?;
    if !(1..=MOST_COMPONENTS).contains(&s) {
        return Err(Error::parameter("components", format!("from 1 to {MOST_COMPONENTS}"), s));
    }
    check_rate("fpr", alpha)?;
    if bound > MAX_BITS {
        return Err(Error::parameter("items", format!("at most {MAX_BITS}"), bound));
    }
    let component_rate = -((-alpha).ln_1p() / s as f64).exp_m1();
    let capacity = bound.div_ceil(s);
    let bits = check_bits(bound as f64 / s as f64 * bits_per_key(component_rate))?;
    let shape = Shape { bits, hashes: hashes(bits, capacity)?, capacity };
    let components = 1.0 + (1..s).map(|i| tails.above(capacity.saturating_mul(i))).sum::<f64>();
    Ok(Sizing { components: s, shape, component_rate, expected_bits: bits as f64 * components })
}

/// The chain with the fewest expected bits of those with 1 to `most` components, 256 at most.
///
/// ```
/// use bouquet_theory::dynamic::sizing::{Distribution, Ranks, for_bound};
/// let small_sets = Distribution::Zipf { exponent: 0.4, ranks: Ranks::Minimum };
/// let sizing = for_bound(1330, 0.0098, &small_sets, 64)?;
/// assert_eq!(sizing.components, 8);
/// assert!((sizing.expected_bits - 8_241.0).abs() < 1.0);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn for_bound(bound: u64, alpha: f64, distribution: &Distribution, most: u64) -> Result<Sizing> {
    let tails = distribution.tails(bound)?;
    let mut best = for_components(bound, alpha, &tails, 1)?;
    for s in 2..=most.min(bound).min(MOST_COMPONENTS) {
        // Tight rates of many components may need more positions than there are; fewer components do not.
        let Ok(sizing) = for_components(bound, alpha, &tails, s) else { break };
        if sizing.expected_bits < best.expected_bits {
            best = sizing;
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u64 = 1330;
    const ALPHA: f64 = 0.0098;

    fn zipf(exponent: f64, ranks: Ranks) -> Distribution {
        Distribution::Zipf { exponent, ranks }
    }

    #[test]
    fn quartiles_are_met_and_sizes_between_them_are_equally_likely() {
        let quartiles = Distribution::Quartiles([10, 10, 40, 100]).tails(100).unwrap();
        for (x, above) in
            [(0, 1.0), (5, 0.875), (9, 0.775), (10, 0.5), (25, 0.375), (40, 0.25), (70, 0.125), (100, 0.0)]
        {
            assert!((quartiles.above(x) - above).abs() < 1e-12, "{x}: {}", quartiles.above(x));
        }
        let even = Distribution::Quartiles([N / 4, N / 2, 3 * N / 4, N]);
        let [even, uniform] = [even, Distribution::Uniform].map(|of| for_bound(N, ALPHA, &of, 64).unwrap());
        assert_eq!(even.shape, uniform.shape);
        assert!((even.expected_bits / uniform.expected_bits - 1.0).abs() < 2e-3, "{even:?}");
        assert!(Distribution::Quartiles([2, 1, 3, 4]).tails(4).is_err());
        assert!(Distribution::Quartiles([1, 2, 3, 4]).tails(5).is_err(), "not the largest size");
        assert!(Distribution::Quartiles([0, 0, 0, u64::MAX]).tails(u64::MAX).is_ok());
    }

    #[test]
    fn the_printed_savings_are_reproduced() {
        let plain = for_rate(N, ALPHA).unwrap().bits as f64;
        assert_eq!(plain, 12_804.0);
        for (distribution, s, bits, ratio) in [
            (Distribution::Uniform, 6, 10_345.0, 0.808),
            (zipf(0.4, Ranks::Minimum), 8, 8_241.0, 0.644),
            (zipf(0.4, Ranks::Maximum), 3, 12_110.0, 0.946),
            (Distribution::Normal { mean: 665.0, deviation: 20.0 }, 6, 10_268.0, 0.802),
        ] {
            let sizing = for_bound(N, ALPHA, &distribution, 64).unwrap();
            assert_eq!(sizing.components, s, "{distribution:?}");
            assert!((sizing.expected_bits - bits).abs() <= 1.0, "{distribution:?}: {sizing:?}");
            assert!((sizing.expected_bits / plain - ratio).abs() <= 0.0005, "{distribution:?}: {sizing:?}");
        }
        let ratios: Vec<f64> = (0..50)
            .map(|seed| for_bound(N, ALPHA, &zipf(0.4, Ranks::Random(seed)), 64).unwrap())
            .inspect(|sizing| assert!((4..=8).contains(&sizing.components), "{sizing:?}"))
            .map(|sizing| sizing.expected_bits / plain)
            .collect();
        let mean = ratios.iter().sum::<f64>() / 50.0;
        assert!((mean - 0.81).abs() < 0.005, "{mean}");
    }

    #[test]
    fn large_sets_stop_paying_between_the_parameters_0_4_and_0_6() {
        let best_of_many = |exponent: f64| {
            let tails = zipf(exponent, Ranks::Maximum).tails(N).unwrap();
            let bits = |s| for_components(N, ALPHA, &tails, s).unwrap().expected_bits;
            (2..=64).map(bits).fold(f64::MAX, f64::min) / for_rate(N, ALPHA).unwrap().bits as f64
        };
        assert!(best_of_many(0.4) < 1.0);
        assert!((best_of_many(0.6) - 1.004).abs() < 0.0005, "{}", best_of_many(0.6));
        assert_eq!(for_bound(N, ALPHA, &zipf(0.6, Ranks::Maximum), 64).unwrap().components, 1);
    }

    #[test]
    fn the_deviation_of_figure_10_is_20_and_not_its_square_root() {
        let saved = |deviation| {
            let normal = Distribution::Normal { mean: 665.0, deviation };
            1.0 - for_bound(N, ALPHA, &normal, 64).unwrap().expected_bits / 12_804.0
        };
        assert!((saved(20.0) - 0.198).abs() < 0.0005, "{}", saved(20.0));
        assert!((saved(20f64.sqrt()) - 0.236).abs() < 0.0005, "{}", saved(20f64.sqrt()));
    }

    #[test]
    fn tails_of_laws_equal_those_of_their_histograms() {
        for exponent in [0.0, 0.4, 0.999_999_999_999, 1.0, 1.5, 5.0] {
            let weights: Vec<f64> = (1..=N).map(|rank| (rank as f64).powf(-exponent)).collect();
            let minimum = zipf(exponent, Ranks::Minimum).tails(N).unwrap();
            let listed = Distribution::Histogram(weights.clone()).tails(N).unwrap();
            let maximum = zipf(exponent, Ranks::Maximum).tails(N).unwrap();
            let reversed = Distribution::Histogram(weights.into_iter().rev().collect()).tails(N).unwrap();
            for x in 0..=N {
                assert!((minimum.above(x) - listed.above(x)).abs() < 1e-10, "{exponent} {x}");
                assert!((maximum.above(x) - reversed.above(x)).abs() < 1e-10, "{exponent} {x}");
            }
        }
        let uniform = Distribution::Histogram(vec![1.0; N as usize]).tails(N).unwrap();
        assert!((0..=N).all(|x| (uniform.above(x) - Distribution::Uniform.tails(N).unwrap().above(x)).abs() < 1e-12));
    }

    #[test]
    fn tails_never_rise_and_stay_probabilities_for_huge_bounds() {
        let laws = [
            Distribution::Uniform,
            Distribution::Normal { mean: 0.0, deviation: 1e9 },
            zipf(0.4, Ranks::Minimum),
            zipf(3.0, Ranks::Maximum),
            zipf(1e6, Ranks::Minimum),
        ];
        for law in laws {
            let tails = law.tails(MAX_BITS).unwrap();
            let values: Vec<f64> = (0..54).map(|shift| tails.above((1 << shift) - 1)).collect();
            assert!(values.windows(2).all(|pair| pair[0] >= pair[1] - 1e-12), "{law:?} {values:?}");
            assert!((values[0] - 1.0).abs() < 1e-9 && values[53] <= 1.0, "{law:?} {values:?}");
        }
    }

    #[test]
    fn what_cannot_be_sized_is_refused_by_name() {
        let refused = |result: Result<Sizing>| match result {
            Err(Error::Parameter { name, .. }) => name,
            other => format!("{other:?}"),
        };
        let size = |distribution: Distribution| refused(for_bound(N, ALPHA, &distribution, 64));
        assert_eq!(size(Distribution::Normal { mean: f64::NAN, deviation: 1.0 }), "deviation");
        assert_eq!(size(Distribution::Normal { mean: 1.0, deviation: 0.0 }), "deviation");
        assert_eq!(size(Distribution::Normal { mean: 1e9, deviation: 1.0 }), "mean");
        assert_eq!(size(zipf(-1.0, Ranks::Minimum)), "zipf");
        assert_eq!(size(Distribution::Histogram(vec![])), "histogram");
        assert_eq!(size(Distribution::Histogram(vec![1.0, -0.5])), "histogram");
        assert_eq!(size(Distribution::Histogram(vec![1.0; 1331])), "histogram");
        assert_eq!(refused(for_bound(0, ALPHA, &Distribution::Uniform, 64)), "items");
        assert_eq!(refused(for_bound(N, 1.0, &Distribution::Uniform, 64)), "fpr");
        assert_eq!(refused(for_bound(N, 1e-30, &Distribution::Uniform, 64)), "fpr");
        assert_eq!(refused(for_bound(LISTED + 1, ALPHA, &zipf(1.0, Ranks::Random(0)), 64)), "items");
        assert_eq!(refused(for_bound(u64::MAX, ALPHA, &Distribution::Uniform, 64)), "items");
    }
}
