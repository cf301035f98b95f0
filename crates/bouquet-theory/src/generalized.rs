//! Filters that also reset bits: the generalized Bloom filter, whose two errors are bounded whatever the array holds.
//!
//! An insertion sets the bits of k1 functions, then resets those of k0 others. A key is contained if its k0 bits are zero and
//! those of its k1 bits that it does not itself reset are one.
//!
//! ```text
//! F_p = (k0/(k0+k1))^k0 (k1/(k0+k1))^k1     no array accepts a larger share of the absent keys
//! F_n = 1 - p00^k0 p11^k1                   no key is missed more often, n insertions after it
//! ```
//!
//! Three accuracies, as in [`standard`](super::standard): *limits* for m much larger than k0 and k1, which are functions of
//! k0, k1 and m/n and take real numbers of functions; the paper's formulas for an array of m bits, with the mean number of bits
//! that a key touches as exponent (the methods of [`Shape`]); and *exact* ones, which know that a key's own positions collide.
//! The mean exponents are too large when the array is nearly empty or full: at m = 1280, n = 10, k0 = k1 = 2 from an array of
//! zeros, (9) gives 2.3e-4 where 2.9e-4 is measured.
//!
//! Source: R. P. Laufer, P. B. Velloso, O. C. M. B. Duarte, *Generalized Bloom filters*, 2005, and *A generalized Bloom filter to
//! secure distributed network applications*, 2011; the numbers in brackets are those of its equations. (1) to (4) are in
//! [`standard`](super::standard), (14) and (15) are `bouquet::hash::UniversalHash`.

use super::occupancy::Occupancy;
use super::special::{amount, ln_miss, positive, power, probability};
use super::{check_bits, check_positive, check_rate};
use crate::{Error, Result};

/// The most functions of either sort that sizing considers.
pub const MAX_FUNCTIONS: u32 = 64;

/// Shapes with more functions than this in all have no exact formulas, but those with mean exponents.
const EXACT_FUNCTIONS: u32 = 2 * MAX_FUNCTIONS;

/// The shape of a generalized filter.
///
/// ```
/// use bouquet_theory::generalized::Shape;
///
/// let shape = Shape { bits: 1280, resets: 2, sets: 2 };
/// assert!((shape.miss_rate(9) - 0.0543).abs() < 5e-5); // the first of ten keys
/// assert_eq!(shape.miss_rate(0), 0.0); // the last
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// m, the number of bits.
    pub bits: u64,
    /// k0, the functions that reset.
    pub resets: u32,
    /// k1, the functions that set.
    pub sets: u32,
}

impl Shape {
    /// q0 = 1 - (1-1/m)^k0, the chance that an insertion resets a given bit (5).
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// assert_eq!(Shape { bits: 2, resets: 2, sets: 1 }.reset_chance(), 0.75);
    /// ```
    pub fn reset_chance(&self) -> f64 {
        -ln_miss(self.bits as f64, self.resets.into()).exp_m1()
    }

    /// q1 = (1 - (1-1/m)^k1) (1-1/m)^k0, the chance that an insertion sets a given bit and does not reset it (6).
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// assert_eq!(Shape { bits: 2, resets: 2, sets: 1 }.set_chance(), 0.125);
    /// ```
    pub fn set_chance(&self) -> f64 {
        let m = self.bits as f64;
        -ln_miss(m, self.sets.into()).exp_m1() * ln_miss(m, self.resets.into()).exp()
    }

    /// 1 - q0 - q1 = (1-1/m)^(k0+k1), the chance that an insertion leaves a given bit alone (7).
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// assert!((Shape { bits: 2, resets: 2, sets: 1 }.untouched_chance() - 0.125).abs() < 1e-15);
    /// ```
    pub fn untouched_chance(&self) -> f64 {
        self.ln_untouched().exp()
    }

    fn ln_untouched(&self) -> f64 {
        ln_miss(self.bits as f64, f64::from(self.resets) + f64::from(self.sets))
    }

    /// b0 = m q0, the mean number of bits that a key resets; nearly k0 in a large array (13).
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// let shape = Shape { bits: 1 << 40, resets: 3, sets: 5 };
    /// assert!((shape.mean_resets() - 3.0).abs() < 1e-9 && (shape.mean_sets() - 5.0).abs() < 1e-9);
    /// ```
    pub fn mean_resets(&self) -> f64 {
        self.bits as f64 * self.reset_chance()
    }

    /// b1 = m q1, the mean number of bits that a key sets and does not reset; nearly k1 in a large array (13).
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// assert_eq!(Shape { bits: 2, resets: 2, sets: 1 }.mean_sets(), 0.25);
    /// ```
    pub fn mean_sets(&self) -> f64 {
        self.bits as f64 * self.set_chance()
    }

    /// q0/(q0+q1), the fraction of zeros that insertions drive every array to.
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// let shape = Shape { bits: 1000, resets: 2, sets: 2 };
    /// assert!((shape.steady_zeros() - 0.5005).abs() < 1e-5); // resetting goes before setting
    /// assert!((shape.zeros(1.0, 100_000) - shape.steady_zeros()).abs() < 1e-12);
    /// ```
    pub fn steady_zeros(&self) -> f64 {
        share(self.reset_chance(), self.set_chance())
    }

    /// p = p0 (1-q0-q1)^n + q0/(q0+q1) (1 - (1-q0-q1)^n), the fraction of zeros after n insertions into an array of which the
    /// fraction p0 was zero (8).
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// let shape = Shape { bits: 1000, resets: 2, sets: 2 };
    /// assert_eq!(shape.zeros(0.25, 0), 0.25);
    /// assert!((shape.zeros(1.0, 40) - 0.9261).abs() < 5e-5);
    /// ```
    pub fn zeros(&self, initial_zeros: f64, n: u64) -> f64 {
        self.drifted(initial_zeros, n, self.steady_zeros())
    }

    /// [`zeros`](Self::zeros) with k0/(k0+k1) for q0/(q0+q1), as holds for m much larger than both (16).
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// let shape = Shape { bits: 1000, resets: 2, sets: 2 };
    /// assert_eq!(shape.limit_zeros(0.5, 40), 0.5); // the steady state
    /// ```
    pub fn limit_zeros(&self, initial_zeros: f64, n: u64) -> f64 {
        self.drifted(initial_zeros, n, worst_zeros(self.resets.into(), self.sets.into()))
    }

    /// The share that is left of `from` after n insertions have drawn it to `to`.
    fn drifted(&self, from: f64, n: u64, to: f64) -> f64 {
        let (left, gone) = self.left(n);
        probability(probability(from) * left + to * gone)
    }

    /// (1-q0-q1)^n and what it lacks to 1.
    fn left(&self, n: u64) -> (f64, f64) {
        if n == 0 {
            return (1.0, 0.0);
        }
        let log = n as f64 * self.ln_untouched();
        (log.exp(), -log.exp_m1())
    }

    /// f_p = p^b0 (1-p)^b1, the rate of an array of which the fraction p is zero, by mean exponents (9).
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// let shape = Shape { bits: 1000, resets: 2, sets: 2 };
    /// assert!((shape.rate_at(shape.zeros(1.0, 40)) - 0.0047).abs() < 5e-5);
    /// ```
    pub fn rate_at(&self, zeros: f64) -> f64 {
        let p = probability(zeros);
        power(p, self.mean_resets()) * power(1.0 - p, self.mean_sets())
    }

    /// E[p^D0 (1-p)^D1], the rate of an array whose bits are zero with chance p each, where D0 is the number of bits that a key
    /// resets and D1 the number that it sets and does not reset.
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// let shape = Shape { bits: 1280, resets: 2, sets: 2 };
    /// let zeros = shape.zeros(1.0, 10);
    /// assert!((shape.rate_at(zeros) - 2.3e-4).abs() < 5e-6);
    /// assert!((shape.exact_rate_at(zeros) - 2.9e-4).abs() < 5e-6);
    /// ```
    pub fn exact_rate_at(&self, zeros: f64) -> f64 {
        let p = probability(zeros);
        self.mean_power(p, 1.0 - p).unwrap_or_else(|| self.rate_at(p))
    }

    /// The rate of one array with this many zeros among its m bits: the chance that the k0 positions of a uniformly hashed key
    /// are zeros and its k1 positions are ones or among those k0.
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// let shape = Shape { bits: 1000, resets: 2, sets: 1 };
    /// assert_eq!(shape.rate_of_array(0), 0.0); // all ones
    /// assert!((shape.rate_of_array(1000) - 1999.0 / 1e6).abs() < 1e-15); // all zeros: h must hit one of 2 - 1/1000 positions
    /// ```
    pub fn rate_of_array(&self, zeros: u64) -> f64 {
        if self.bits == 0 {
            return 1.0;
        }
        let (m, zeros) = (self.bits as f64, zeros.min(self.bits));
        let ones = (self.bits - zeros) as f64;
        let resets = f64::from(self.resets);
        if self.resets == 0 || zeros == 0 {
            return power(zeros as f64 / m, resets) * power(ones / m, self.sets.into());
        }
        if self.resets > EXACT_FUNCTIONS {
            return self.rate_at(zeros as f64 / m);
        }
        let mut distinct = Occupancy::new(zeros, 0.0);
        distinct.throw_many(self.resets.into());
        let weights: Vec<f64> =
            (0..=self.resets).map(|own| power((f64::from(own) + ones) / m, self.sets.into())).collect();
        probability(power(zeros as f64 / m, resets) * distinct.mean_of(&weights))
    }

    /// The largest rate that any array of this shape has: [`bound`] and a little more, because a key is not held to the
    /// setting positions that it resets itself. About 1 + 2 k0 k1/m times as much for k0 = k1.
    ///
    /// ```
    /// # use bouquet_theory::generalized::{Shape, bound};
    /// let shape = Shape { bits: 1000, resets: 2, sets: 2 };
    /// assert!((shape.largest_rate() / bound(2.0, 2.0) - 1.008).abs() < 5e-4);
    /// ```
    pub fn largest_rate(&self) -> f64 {
        // The rate rises to its one maximum and falls again: both factors are powers, one of p and one of 1 - p.
        let (mut low, mut high) = (0, self.bits);
        while high - low > 2 {
            let third = (high - low) / 3;
            let (a, b) = (low + third, high - third);
            if self.rate_of_array(a) < self.rate_of_array(b) { low = a } else { high = b }
        }
        (low..=high).map(|zeros| self.rate_of_array(zeros)).fold(0.0, f64::max)
    }

    /// p00, the chance that a bit which a key has reset is zero after i more insertions (10).
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// let shape = Shape { bits: 1280, resets: 2, sets: 2 };
    /// assert_eq!(shape.kept_zero(0), 1.0);
    /// assert!((shape.kept_zero(u64::MAX) - shape.steady_zeros()).abs() < 1e-12);
    /// ```
    pub fn kept_zero(&self, later: u64) -> f64 {
        self.drifted(1.0, later, self.steady_zeros())
    }

    /// p11, the chance that a bit which a key has set is one after i more insertions (11).
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// let standard = Shape { bits: 1280, resets: 0, sets: 7 };
    /// assert_eq!(standard.kept_one(1_000_000), 1.0); // nothing is ever reset
    /// ```
    pub fn kept_one(&self, later: u64) -> f64 {
        self.drifted(1.0, later, share(self.set_chance(), self.reset_chance()))
    }

    /// f_n = 1 - p00^b0 p11^b1, the chance that a key is missed after i more insertions, by mean exponents (12).
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// assert!((Shape { bits: 1280, resets: 4, sets: 4 }.miss_rate(9) - 0.1985).abs() < 5e-5);
    /// ```
    pub fn miss_rate(&self, later: u64) -> f64 {
        probability(
            1.0 - power(self.kept_zero(later), self.mean_resets()) * power(self.kept_one(later), self.mean_sets()),
        )
    }

    /// 1 - E[p00^D0 p11^D1]: [`miss_rate`](Self::miss_rate) with the law of the bits that a key touches for their mean.
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// let shape = Shape { bits: 64, resets: 4, sets: 4 };
    /// assert!(shape.exact_miss_rate(5) < shape.miss_rate(5));
    /// ```
    pub fn exact_miss_rate(&self, later: u64) -> f64 {
        let kept = self.mean_power(self.kept_zero(later), self.kept_one(later));
        kept.map_or_else(|| self.miss_rate(later), |kept| probability(1.0 - kept))
    }

    /// The mean of [`exact_miss_rate`](Self::exact_miss_rate) over n keys that were inserted one after the other.
    ///
    /// p00 and p11 are linear in t = (1-q0-q1)^i, so E[p00^D0 p11^D1] is a polynomial in t with positive coefficients, and the
    /// mean of each power of t over i = 0..n-1 is a geometric sum.
    ///
    /// ```
    /// # use bouquet_theory::generalized::Shape;
    /// let shape = Shape { bits: 1280, resets: 2, sets: 2 };
    /// let mean = (0..10).map(|i| shape.exact_miss_rate(i)).sum::<f64>() / 10.0;
    /// assert!((shape.mean_miss_rate(10) - mean).abs() < 1e-14);
    /// ```
    pub fn mean_miss_rate(&self, n: u64) -> f64 {
        let log = self.ln_untouched();
        if n == 0 || log == 0.0 {
            return 0.0;
        }
        let Some(law) = self.touched() else {
            // No polynomial with broken exponents: the middles of some blocks.
            let blocks = n.min(1024);
            let middles = (0..blocks).map(|block| (n as f64 / blocks as f64 * (block as f64 + 0.5)) as u64);
            return probability(middles.map(|later| self.miss_rate(later)).sum::<f64>() / blocks as f64);
        };
        let zero = self.steady_zeros();
        // Horner's rule twice: in p00 over D0, and for each D0 in p11 over D1.
        let mut outer = vec![0.0];
        for of_resets in law.iter().rev() {
            let mut inner = vec![0.0];
            for chance in of_resets.iter().rev() {
                times_linear(&mut inner, 1.0 - zero, zero);
                inner[0] += chance;
            }
            times_linear(&mut outer, zero, 1.0 - zero);
            outer.resize(outer.len().max(inner.len()), 0.0);
            outer.iter_mut().zip(&inner).for_each(|(sum, term)| *sum += term);
        }
        let lost = |(power, coefficient): (usize, &f64)| {
            let log = power as f64 * log;
            coefficient * (1.0 - (n as f64 * log).exp_m1() / (n as f64 * log.exp_m1()))
        };
        probability(outer.iter().enumerate().skip(1).map(lost).sum())
    }

    /// E[x^D0 y^D1]; `None` for shapes whose law is not walked.
    fn mean_power(&self, x: f64, y: f64) -> Option<f64> {
        let inner = |law: &Vec<f64>| law.iter().rev().fold(0.0, |sum, chance| sum * y + chance);
        Some(probability(self.touched()?.iter().rev().fold(0.0, |sum, law| sum * x + inner(law))))
    }

    /// The joint law of D0 and D1: `law[d0][d1]`. `None` without bits and for very many functions.
    fn touched(&self) -> Option<Vec<Vec<f64>>> {
        if self.bits == 0 || self.resets.saturating_add(self.sets) > EXACT_FUNCTIONS {
            return None;
        }
        let mut reset = Occupancy::new(self.bits, 0.0);
        reset.throw_many(self.resets.into());
        let of_resets = |own: u32| {
            let chance = reset.chance_of(own.into());
            let free = self.bits.saturating_sub(own.into());
            let mut set = Occupancy::new(free.max(1), 0.0);
            for _ in 0..self.sets {
                set.throw(free as f64 / self.bits as f64);
            }
            (0..=self.sets).map(|ones| chance * set.chance_of(ones.into())).collect()
        };
        Some((0..=self.resets).map(of_resets).collect())
    }
}

/// Multiplies a polynomial by a + b t.
fn times_linear(polynomial: &mut Vec<f64>, a: f64, b: f64) {
    polynomial.push(0.0);
    for i in (1..polynomial.len()).rev() {
        polynomial[i] = polynomial[i] * a + polynomial[i - 1] * b;
    }
    polynomial[0] *= a;
}

/// a/(a+b), 0 when both are.
fn share(a: f64, b: f64) -> f64 {
    if a + b > 0.0 { a / (a + b) } else { 0.0 }
}

/// p^k0 (1-p)^k1, the limit of [`Shape::rate_at`] for large arrays (17).
///
/// ```
/// use bouquet_theory::generalized::limit_rate;
///
/// assert_eq!(limit_rate(2.0, 2.0, 0.5), 0.0625);
/// assert_eq!(limit_rate(0.0, 3.0, 0.5), 0.125); // the standard filter
/// ```
pub fn limit_rate(resets: f64, sets: f64, zeros: f64) -> f64 {
    let p = probability(zeros);
    power(p, amount(resets)) * power(1.0 - p, amount(sets))
}

/// k0/(k0+k1), the fraction of zeros at which an array accepts most (18); the worst that it can be at the start (23), and what
/// insertions drive it to.
///
/// ```
/// assert_eq!(bouquet_theory::generalized::worst_zeros(2.0, 3.0), 0.4);
/// ```
pub fn worst_zeros(resets: f64, sets: f64) -> f64 {
    share(amount(resets), amount(sets))
}

/// F_p = (k0/(k0+k1))^k0 (k1/(k0+k1))^k1 = 2^(-(k0+k1) H(k0/(k0+k1))), the bound of the false-positive rate whatever the array
/// holds (19); 4^-k for k0 = k1 = k.
///
/// ```
/// use bouquet_theory::generalized::bound;
///
/// assert_eq!(bound(3.0, 3.0), 1.0 / 64.0);
/// assert!((bound(2.0, 3.0) - 0.03456).abs() < 1e-12);
/// assert_eq!(bound(0.0, 7.0), 1.0); // the standard filter has none
/// ```
pub fn bound(resets: f64, sets: f64) -> f64 {
    limit_rate(resets, sets, worst_zeros(resets, sets))
}

/// p00(0) and p11(0) for c = m/n bits per key: the chances that bits which were reset and set before all n insertions still are
/// (20, 21).
///
/// ```
/// use bouquet_theory::generalized::limit_kept;
///
/// let (zero, one) = limit_kept(2.0, 3.0, 256.0);
/// assert!(zero < one, "more functions set than reset");
/// assert_eq!(limit_kept(0.0, 3.0, 256.0).1, 1.0);
/// ```
pub fn limit_kept(resets: f64, sets: f64, bits_per_key: f64) -> (f64, f64) {
    let (zero, one) = limit_lost(resets, sets, bits_per_key);
    (1.0 - zero, 1.0 - one)
}

/// What [`limit_kept`] lacks to 1.
fn limit_lost(resets: f64, sets: f64, bits_per_key: f64) -> (f64, f64) {
    let functions = amount(resets) + amount(sets);
    if functions == 0.0 {
        return (0.0, 0.0);
    }
    let touched = -(-functions / positive(bits_per_key)).exp_m1();
    let zeros = worst_zeros(resets, sets);
    ((1.0 - zeros) * touched, zeros * touched)
}

/// F_n = 1 - p00(0)^k0 p11(0)^k1, the bound of the chance that one of n keys is missed, for c = m/n bits per key (22).
///
/// ```
/// use bouquet_theory::generalized::miss_bound;
///
/// assert!((miss_bound(2.0, 2.0, 128.0) - 0.0601).abs() < 5e-5);
/// assert_eq!(miss_bound(0.0, 7.0, 10.0), 0.0); // the standard filter
/// ```
pub fn miss_bound(resets: f64, sets: f64, bits_per_key: f64) -> f64 {
    let (zero, one) = limit_lost(resets, sets, bits_per_key);
    // Nothing is lost of what no function touches; the logarithm of a certain loss is infinite.
    let log = |lost: f64, exponent: f64| if exponent == 0.0 { 0.0 } else { exponent * (-lost).ln_1p() };
    -(log(zero, amount(resets)) + log(one, amount(sets))).exp_m1().max(-1.0)
}

/// The fewest functions whose [`bound`] is at most F_p: the smallest k with 4^-k <= F_p, and one setting function less if that
/// is enough.
///
/// ```
/// use bouquet_theory::generalized::functions_for;
///
/// assert_eq!(functions_for(0.01)?, (4, 3));
/// assert_eq!(functions_for(0.0625)?, (2, 2));
/// assert!(functions_for(1e-40).is_err());
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if the rate is not between 0 and 1 or needs more than [`MAX_FUNCTIONS`] of a sort.
pub fn functions_for(bound_wanted: f64) -> Result<(u32, u32)> {
    check_rate("fpr", bound_wanted)?;
    let enough = |resets: u32, sets: u32| bound(resets.into(), sets.into()) <= bound_wanted;
    let Some(k) = (1..=MAX_FUNCTIONS).find(|&k| enough(k, k)) else {
        let least = bound(MAX_FUNCTIONS.into(), MAX_FUNCTIONS.into());
        return Err(Error::parameter("fpr", format!("at least {least:.1e}"), bound_wanted));
    };
    Ok((k, if enough(k, k - 1) { k - 1 } else { k }))
}

/// The bits per key at which [`miss_bound`] falls to F_n, by bisection; about 2 k0 k1 / F_n.
///
/// ```
/// use bouquet_theory::generalized::bits_per_key;
///
/// let c = bits_per_key(3, 3, 0.01)?;
/// assert!((1780.0..1800.0).contains(&c), "{c}"); // F_p 1.6 %, F_n 1 %
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if the rate is not between 0 and 1.
pub fn bits_per_key(resets: u32, sets: u32, misses: f64) -> Result<f64> {
    check_rate("fnr", misses)?;
    let enough = |c: f64| miss_bound(resets.into(), sets.into(), c) <= misses;
    // Below this every array of at least one bit is enough for any number of keys.
    const LEAST: f64 = 1e-20;
    let mut high = (2.0 * f64::from(resets) * f64::from(sets) / misses).clamp(LEAST, 1e100);
    while !enough(high) {
        high *= 2.0;
        if high > 1e100 {
            return Err(Error::parameter("fnr", "large enough to be reached", misses));
        }
    }
    let mut low = high / 2.0;
    while enough(low) {
        if low < LEAST {
            return Ok(low);
        }
        (low, high) = (low / 2.0, low);
    }
    while high - low > 1e-12 * high {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if enough(middle) { high = middle } else { low = middle }
    }
    Ok(high)
}

/// The shape for n keys whose rate is at most F_p whatever the array holds and that misses no key with more than the chance F_n.
///
/// ```
/// use bouquet_theory::generalized::for_bounds;
///
/// let shape = for_bounds(1000, 0.016, 0.01)?;
/// assert_eq!((shape.resets, shape.sets), (3, 3));
/// assert!((1_780_000..1_800_000).contains(&shape.bits), "{}", shape.bits);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys or a rate cannot be had, `Error::TooLarge` if more than
/// [`MAX_BITS`](super::MAX_BITS) bits would be needed.
pub fn for_bounds(n: u64, fpr: f64, fnr: f64) -> Result<Shape> {
    check_positive("items", n)?;
    let (resets, sets) = functions_for(fpr)?;
    with_functions(n, resets, sets, fnr)
}

/// The shape for n keys with these functions that misses no key with more than the chance F_n.
///
/// ```
/// use bouquet_theory::generalized::{miss_bound, with_functions};
///
/// let shape = with_functions(1000, 2, 3, 0.0456)?;
/// assert!((shape.bits as f64 / 1000.0 - 256.0).abs() < 1.0);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// As [`for_bounds`].
pub fn with_functions(n: u64, resets: u32, sets: u32, fnr: f64) -> Result<Shape> {
    check_positive("items", n)?;
    let bits = check_bits(bits_per_key(resets, sets, fnr)? * n as f64)?;
    // A key's functions are to have a bit each.
    Ok(Shape { bits: bits.max(u64::from(resets) + u64::from(sets)), resets, sets })
}

/// Numbers of functions with the two bounds that they have.
///
/// ```
/// let best = bouquet_theory::generalized::balance(256.0, 1.0)?.best;
/// assert_eq!((best.resets, best.sets), (2, 3));
/// assert!((best.bound - 0.03456).abs() < 1e-9 && (best.miss_bound - 0.0456).abs() < 5e-5);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// k0.
    pub resets: u32,
    /// k1.
    pub sets: u32,
    /// F_p.
    pub bound: f64,
    /// F_n at the number of bits per key that was asked for.
    pub miss_bound: f64,
}

/// How the two errors can be balanced at a number of bits per key: the set K of (24) and (25).
///
/// ```
/// let balance = bouquet_theory::generalized::balance(256.0, 3.0)?;
/// assert!((1.8..2.0).contains(&balance.crossing), "{}", balance.crossing);
/// assert!(balance.pairs.iter().any(|pair| (pair.resets, pair.sets) == (2, 2)));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Balance {
    /// The real k = k0 = k1 with F_n = F_p / w.
    pub crossing: f64,
    /// For each k0 the whole k1 that comes nearest to F_n = F_p / w, the nearest pair first.
    pub pairs: Vec<Pair>,
    /// Of those the pair whose larger error, F_p or w F_n, is the smallest.
    pub best: Pair,
}

/// The real k1 at which F_n = F_p / w for this k0: a point of the curve (24), or (25) for w = 3.
///
/// ```
/// use bouquet_theory::generalized::{bound, crossing, miss_bound};
///
/// let sets = crossing(2.5, 256.0, 3.0);
/// assert!((miss_bound(2.5, sets, 256.0) - bound(2.5, sets) / 3.0).abs() < 1e-12);
/// ```
pub fn crossing(resets: f64, bits_per_key: f64, ratio: f64) -> f64 {
    cross(bits_per_key, ratio, |sets| (amount(resets), sets))
}

/// The x at which F_n = F_p / w for the functions `at(x)`: F_p falls and F_n rises with x. 10^6 if they never meet.
fn cross(bits_per_key: f64, ratio: f64, at: impl Fn(f64) -> (f64, f64)) -> f64 {
    let below = |x: f64| {
        let (resets, sets) = at(x);
        amount(ratio) * miss_bound(resets, sets, bits_per_key) < bound(resets, sets)
    };
    let (mut low, mut high) = (0.0, 1.0);
    while below(high) {
        (low, high) = (high, 2.0 * high);
        if high > 1e6 {
            return 1e6;
        }
    }
    while high - low > 1e-13 * high {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) { low = middle } else { high = middle }
    }
    high
}

/// The numbers of functions that balance the two errors, F_n = F_p / w, at c bits per key (24, 25).
///
/// ```
/// use bouquet_theory::generalized::balance;
///
/// // Figure 13: at 128 bits per key the curves for k0 = k1 = k cross at k = 2.
/// let balance = balance(128.0, 1.0)?;
/// assert!((balance.crossing - 2.0).abs() < 0.05);
/// assert_eq!((balance.best.resets, balance.best.sets), (2, 2));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if the bits per key or the ratio are not positive and finite.
pub fn balance(bits_per_key: f64, ratio: f64) -> Result<Balance> {
    for (name, found) in [("bits", bits_per_key), ("ratio", ratio)] {
        if !(found > 0.0 && found.is_finite()) {
            return Err(Error::parameter(name, "positive and finite", found));
        }
    }
    let pair = |resets: u32, sets: u32| Pair {
        resets,
        sets,
        bound: bound(resets.into(), sets.into()),
        miss_bound: miss_bound(resets.into(), sets.into(), bits_per_key),
    };
    let off = |pair: &Pair| (ratio * pair.miss_bound / pair.bound).ln().abs();
    let worst = |pair: &Pair| pair.bound.max(ratio * pair.miss_bound);
    let mut pairs: Vec<Pair> = (1..=MAX_FUNCTIONS)
        .map(|resets| {
            let real = crossing(resets.into(), bits_per_key, ratio).min(MAX_FUNCTIONS.into());
            let [low, high] = [real.floor(), real.ceil()].map(|sets| pair(resets, (sets as u32).max(1)));
            if off(&high) < off(&low) { high } else { low }
        })
        .collect();
    pairs.sort_by(|a, b| off(a).total_cmp(&off(b)));
    let best = pairs.iter().copied().min_by(|a, b| worst(a).total_cmp(&worst(b)));
    Ok(Balance { crossing: cross(bits_per_key, ratio, |k| (k, k)), best: best.unwrap_or_else(|| pair(1, 1)), pairs })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;
    use crate::{special::entropy, standard};

    #[test]
    fn the_printed_bounds_hold() {
        for (resets, sets, printed) in
            [(2.0, 2.0, "0.0625"), (3.0, 3.0, "0.0156"), (4.0, 4.0, "0.0039"), (2.0, 3.0, "0.03456")]
        {
            assert_prints(bound(resets, sets), printed);
        }
        for (resets, sets, c, printed) in
            [(2.0, 2.0, 128.0, "0.0601"), (2.0, 3.0, 256.0, "0.0456"), (2.0, 3.0, 512.0, "0.0231")]
        {
            assert_prints(miss_bound(resets, sets, c), printed);
        }
    }

    #[test]
    fn the_printed_misses_of_ten_keys_hold() {
        let shape = |k| Shape { bits: 1280, resets: k, sets: k };
        let printed =
            ["0.0543", "0.0484", "0.0425", "0.0366", "0.0306", "0.0246", "0.0185", "0.0124", "0.0062", "0.0000"];
        for (later, printed) in (0..10).rev().zip(printed) {
            assert_prints(shape(2).miss_rate(later), printed);
        }
        assert_prints(shape(1).miss_rate(9), "0.0139");
        assert_prints(shape(4).miss_rate(9), "0.1985");
    }

    #[test]
    fn the_printed_rates_of_five_starts_hold() {
        let shape = Shape { bits: 1000, resets: 2, sets: 2 };
        for (start, printed) in [(0.0, "0.0047"), (0.25, "0.0420"), (0.5, "0.0628"), (0.75, "0.0421"), (1.0, "0.0047")]
        {
            assert_prints(shape.rate_at(shape.zeros(start, 40)), printed);
        }
    }

    #[test]
    fn the_bound_is_an_entropy() {
        for (resets, sets) in [(1.0, 1.0), (2.0, 5.0), (7.5, 0.5)] {
            let functions = resets + sets;
            assert_close(bound(resets, sets), (-functions * entropy(resets / functions)).exp2(), 1e-12);
        }
    }

    #[test]
    fn without_resets_it_is_the_standard_filter() {
        let shape = Shape { bits: 5000, resets: 0, sets: 7 };
        for n in [0, 10, 500, 5000] {
            let zeros = shape.zeros(1.0, n);
            assert_close(zeros, standard::zeros(5000, n, 7), 1e-12);
            assert_close(1.0 - zeros, 1.0 - shape.limit_zeros(1.0, n), 1e-9);
            assert_close(limit_rate(0.0, 7.0, zeros), standard::rate(5000, n, 7), 1e-12);
            assert!(shape.exact_miss_rate(n) < 1e-15);
            assert_eq!((shape.miss_rate(n), shape.mean_miss_rate(n)), (0.0, 0.0));
        }
        assert_close(shape.rate_of_array(2500), 0.5f64.powi(7), 1e-12);
    }

    /// Every outcome of the positions of a key among m, with the bits that it touches.
    fn outcomes(m: u32, resets: u32, sets: u32) -> impl Iterator<Item = (u32, u32)> {
        (0..m.pow(resets + sets)).map(move |outcome| {
            let at = |i: u32| 1u32 << (outcome / m.pow(i) % m);
            let reset = (0..resets).fold(0, |bits, i| bits | at(i));
            let set = (resets..resets + sets).fold(0, |bits, i| bits | at(i));
            (reset, set & !reset)
        })
    }

    #[test]
    fn exact_rates_equal_an_enumeration() {
        for (m, resets, sets) in [(5u32, 2, 2), (4, 3, 1), (3, 1, 3), (6, 0, 2), (6, 2, 0)] {
            let shape = Shape { bits: m.into(), resets, sets };
            let total = f64::from(m.pow(resets + sets));
            // One array of each number of zeros, the rate of which depends on nothing else.
            let of_array = |zeros: u32| {
                let array: u32 = (1 << (m - zeros)) - 1;
                let hit = |&(reset, set): &(u32, u32)| array & reset == 0 && array & set == set;
                outcomes(m, resets, sets).filter(hit).count() as f64 / total
            };
            let mut largest = 0.0;
            for zeros in 0..=m {
                assert!((shape.rate_of_array(zeros.into()) - of_array(zeros)).abs() < 1e-14, "{shape:?} {zeros}");
                largest = f64::max(largest, of_array(zeros));
            }
            assert!((shape.largest_rate() - largest).abs() < 1e-14, "{shape:?}");
            for p in [0.0, 0.3, 0.5, 1.0f64] {
                let mean = outcomes(m, resets, sets)
                    .map(|(reset, set)| p.powi(reset.count_ones() as i32) * (1.0 - p).powi(set.count_ones() as i32))
                    .sum::<f64>()
                    / total;
                assert!((shape.exact_rate_at(p) - mean).abs() < 1e-14, "{shape:?} {p}");
            }
        }
    }

    #[test]
    fn an_array_of_random_bits_has_the_rate_of_independent_bits() {
        // Averaging the rate of one array over a binomial number of zeros gives E[p^D0 (1-p)^D1].
        let shape = Shape { bits: 40, resets: 3, sets: 2 };
        for p in [0.2, 0.5, 0.9] {
            let mean: f64 = (0..=40)
                .map(|zeros| crate::special::binomial(f64::from(zeros as u32), 40.0, p) * shape.rate_of_array(zeros))
                .sum();
            assert_close(shape.exact_rate_at(p), mean, 1e-10);
        }
    }

    #[test]
    fn the_largest_rate_is_that_of_a_search_through_all_arrays() {
        for shape in [
            Shape { bits: 1000, resets: 2, sets: 2 },
            Shape { bits: 333, resets: 1, sets: 5 },
            Shape { bits: 100, resets: 7, sets: 3 },
            Shape { bits: 50, resets: 0, sets: 3 },
            Shape { bits: 50, resets: 3, sets: 0 },
        ] {
            let all = (0..=shape.bits).map(|zeros| shape.rate_of_array(zeros)).fold(0.0, f64::max);
            assert_close(shape.largest_rate(), all, 1e-12);
        }
    }

    #[test]
    fn the_mean_of_misses_is_the_sum_over_the_keys() {
        for (shape, n) in [
            (Shape { bits: 1280, resets: 4, sets: 4 }, 10),
            (Shape { bits: 100, resets: 3, sets: 1 }, 500),
            (Shape { bits: 1, resets: 1, sets: 1 }, 7),
            (Shape { bits: 9000, resets: 20, sets: 30 }, 200),
        ] {
            let sum: f64 = (0..n).map(|later| shape.exact_miss_rate(later)).sum();
            assert!((shape.mean_miss_rate(n) - sum / n as f64).abs() < 1e-12, "{shape:?}");
        }
    }

    #[test]
    fn misses_grow_with_age_up_to_the_bound() {
        let shape = Shape { bits: 1280, resets: 2, sets: 3 };
        let rates: Vec<f64> = (0..=100).map(|later| shape.miss_rate(later)).collect();
        assert!(rates.is_sorted());
        assert!((shape.miss_rate(10) - miss_bound(2.0, 3.0, 128.0)).abs() < 1e-3);
    }

    #[test]
    fn sizing_reaches_both_bounds_with_nothing_to_spare() {
        for (fpr, fnr) in [(0.3, 0.5), (0.016, 0.01), (0.01, 0.05), (1e-6, 1e-4), (0.9, 0.9)] {
            let shape = for_bounds(10_000, fpr, fnr).unwrap();
            let (resets, sets) = (f64::from(shape.resets), f64::from(shape.sets));
            assert!(bound(resets, sets) <= fpr && bound(resets - 1.0, sets) > fpr, "{shape:?}");
            let misses = |bits: u64| miss_bound(resets, sets, bits as f64 / 10_000.0);
            assert!(misses(shape.bits) <= fnr, "{shape:?}");
            assert!(shape.bits == 2 || misses(shape.bits - 1) > fnr, "{shape:?}");
        }
        assert!(for_bounds(0, 0.1, 0.1).is_err() && for_bounds(10, 1.0, 0.1).is_err());
        assert!(for_bounds(10, 0.1, 0.0).is_err() && for_bounds(u64::MAX, 0.1, 1e-9).is_err());
    }

    #[test]
    fn balanced_pairs_are_the_nearest_whole_points_of_the_curve() {
        for (c, ratio) in [(128.0, 1.0), (256.0, 3.0), (1000.0, 1.0), (20.0, 0.5)] {
            let balance = balance(c, ratio).unwrap();
            let k = balance.crossing;
            assert_close(ratio * miss_bound(k, k, c), bound(k, k), 1e-9);
            let off = |pair: &Pair| (ratio * pair.miss_bound / pair.bound).ln().abs();
            assert!(balance.pairs.is_sorted_by(|a, b| off(a) <= off(b)));
            assert!(balance.pairs.contains(&balance.best));
            for resets in 1..10 {
                let best = (1..=MAX_FUNCTIONS).map(|sets| {
                    (ratio * miss_bound(resets.into(), sets.into(), c) / bound(resets.into(), sets.into())).ln().abs()
                });
                let found = balance.pairs.iter().find(|pair| pair.resets == resets).unwrap();
                assert_close(off(found), best.fold(f64::INFINITY, f64::min), 1e-9);
            }
        }
        assert!(balance(0.0, 1.0).is_err() && balance(10.0, f64::NAN).is_err());
    }
}
