//! Variable-length signatures: how many of a key's positions are ones, and what removals and ageing do to them.
//!
//! Of its k positions a key sets t; it counts as present while at least q are ones. A removal clears ones at random
//! until d are left. With rho = 1 - e^(-nt/m) a removed key has on = t + Binomial(k-t, rho) ones, so each of D removals
//! clears a given one with probability (k/m) E[(on-d)/on], and
//!
//! ```text
//! rate = P(Bin(k, rho) >= q),   s = exp(-(D k/m) E[(on-d)+/on]),   misses = P(Bin(t, s) + Bin(k-t, rho') < q)
//! ```
//!
//! where rho' is the fill afterwards. Ageing a share y of the positions multiplies s and the fill by 1-y.
//!
//! Sources: Y. Lu, B. Prabhakar, F. Bonomi, *Bloom filters: design innovations and novel applications*, 2005, for the
//! structure; the law of misses is derived.

use std::f64::consts::LN_2;

use super::search::least_memory;
use super::special::{amount, probability};
use super::standard::zeros;
use super::{MAX_BITS, Result, check_positive, check_rate};
use crate::Error;

/// The most positions that the search takes for t, and for k beyond t.
const MOST_SET: u32 = 24;
const MOST_SPARE: u32 = 4;

/// m, k, t, q and d: 0 <= d < q <= t <= k.
///
/// ```
/// use bouquet_theory::variable_length::Shape;
/// let shape = Shape { bits: 400_000, hashes: 12, set: 10, quorum: 9, keep: 8 };
/// assert!((shape.rate(20_000) - 0.0135).abs() < 5e-5);
/// assert!((shape.misses(20_000, 2_000, 0.0) - 0.0039).abs() < 1e-4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// m, the bits.
    pub bits: u64,
    /// k, the positions of a key.
    pub hashes: u32,
    /// t, those that are set when it is inserted.
    pub set: u32,
    /// q, the ones that make it present.
    pub quorum: u32,
    /// d, the ones that a removal leaves.
    pub keep: u32,
}

impl Shape {
    /// rho, the expected share of ones with n keys.
    ///
    /// ```
    /// use bouquet_theory::variable_length::Shape;
    /// let shape = Shape { bits: 400_000, hashes: 12, set: 10, quorum: 9, keep: 8 };
    /// assert!((shape.fill(20_000) - 0.3935).abs() < 1e-4);
    /// ```
    #[must_use]
    pub fn fill(&self, n: u64) -> f64 {
        if n == 0 { 0.0 } else { probability(1.0 - zeros(self.bits, n, self.set)) }
    }

    /// P(Bin(k, fill) >= q), the rate at a fill.
    ///
    /// ```
    /// use bouquet_theory::variable_length::Shape;
    /// let shape = Shape { bits: 1_000, hashes: 3, set: 2, quorum: 2, keep: 1 };
    /// assert!((shape.rate_at(0.5) - 0.5).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn rate_at(&self, fill: f64) -> f64 {
        let law = Law::new(self.hashes, fill);
        probability((self.quorum..=self.hashes.min(LAST)).map(|ones| law.of(ones)).sum())
    }

    /// The expected share of absent keys that seem present among n.
    ///
    /// ```
    /// use bouquet_theory::variable_length::Shape;
    /// let shape = Shape { bits: 400_000, hashes: 12, set: 10, quorum: 10, keep: 9 };
    /// assert!((shape.rate(20_000) - 0.0024).abs() < 5e-5);
    /// ```
    #[must_use]
    pub fn rate(&self, n: u64) -> f64 {
        self.rate_at(self.fill(n))
    }

    /// The least quorum up to that of this shape whose rate at a fill is at most `rate`.
    fn least_quorum(&self, fill: f64, rate: f64) -> Option<u32> {
        // Not even all t ones: with more positions than that, the rate is larger.
        if fill.powi(self.quorum as i32) > rate * (1.0 + 1e-9) {
            return None;
        }
        let law = Law::new(self.hashes, fill);
        let mut tail = (self.quorum + 1..=self.hashes.min(LAST)).map(|ones| law.of(ones)).sum::<f64>();
        let mut least = None;
        for quorum in (1..=self.quorum).rev() {
            tail += law.of(quorum);
            if tail > rate {
                break;
            }
            least = Some(quorum);
        }
        least
    }

    /// The mean of a function of the ones of a present key, t + Bin(k-t, fill).
    fn mean_of_ones(&self, law: &Law, of: impl Fn(f64) -> f64) -> f64 {
        let spare = self.hashes.saturating_sub(self.set);
        (0..=spare.min(LAST)).map(|more| law.of(more) * of(f64::from(self.set) + f64::from(more))).sum()
    }

    /// s, the probability that a one of a key outlives D removals of other keys among n.
    ///
    /// ```
    /// use bouquet_theory::variable_length::Shape;
    /// let shape = Shape { bits: 400_000, hashes: 12, set: 10, quorum: 9, keep: 8 };
    /// assert!((shape.survival(20_000, 2_000) - 0.9848).abs() < 1e-4);
    /// ```
    #[must_use]
    pub fn survival(&self, n: u64, removals: u64) -> f64 {
        self.survival_among(&self.spare_ones(self.fill(n)), removals)
    }

    /// The law of the ones at a key's positions that it did not set.
    fn spare_ones(&self, fill: f64) -> Law {
        Law::new(self.hashes.saturating_sub(self.set), fill)
    }

    fn survival_among(&self, spare_ones: &Law, removals: u64) -> f64 {
        let keep = f64::from(self.keep);
        let cleared = self.mean_of_ones(spare_ones, |on| if on > keep { (on - keep) / on } else { 0.0 });
        let per_bit = removals as f64 * f64::from(self.hashes) / self.bits.max(1) as f64;
        probability((-per_bit * cleared).exp())
    }

    /// The expected share of ones after D removals among n keys: each clears on - d.
    ///
    /// ```
    /// use bouquet_theory::variable_length::Shape;
    /// let shape = Shape { bits: 400_000, hashes: 12, set: 10, quorum: 9, keep: 8 };
    /// assert!((shape.fill_after(20_000, 2_000) - 0.3796).abs() < 1e-4);
    /// ```
    #[must_use]
    pub fn fill_after(&self, n: u64, removals: u64) -> f64 {
        let fill = self.fill(n);
        self.fill_among(fill, &self.spare_ones(fill), removals)
    }

    fn fill_among(&self, fill: f64, spare_ones: &Law, removals: u64) -> f64 {
        let keep = f64::from(self.keep);
        let cleared = self.mean_of_ones(spare_ones, |on| (on - keep).max(0.0));
        probability(fill - removals as f64 * cleared / self.bits.max(1) as f64)
    }

    /// The share of n present keys that seem absent after D removals of others and after a share `aged` of the
    /// positions was cleared.
    ///
    /// ```
    /// use bouquet_theory::variable_length::Shape;
    /// let strict = Shape { bits: 400_000, hashes: 12, set: 10, quorum: 10, keep: 9 };
    /// assert!((strict.misses(20_000, 2_000, 0.0) - 0.037).abs() < 1e-3);
    /// assert_eq!(strict.misses(20_000, 0, 0.0), 0.0);
    /// assert_eq!(strict.misses(20_000, 0, 1.0), 1.0);
    /// ```
    #[must_use]
    pub fn misses(&self, n: u64, removals: u64, aged: f64) -> f64 {
        self.misses_at(self.fill(n), removals, aged)
    }

    /// The same from the fill with all keys.
    fn misses_at(&self, fill: f64, removals: u64, aged: f64) -> f64 {
        let (left, spare_ones) = (1.0 - probability(aged), self.spare_ones(fill));
        let own = Law::new(self.set, self.survival_among(&spare_ones, removals) * left);
        let spare = self.hashes.saturating_sub(self.set);
        let foreign = Law::new(spare, self.fill_among(fill, &spare_ones, removals) * left);
        let mut misses = 0.0;
        for ones in 0..self.quorum.min(LAST + 1) {
            for more in 0..=spare.min(ones) {
                misses += foreign.of(more) * own.of(ones - more);
            }
        }
        probability(misses)
    }

    /// Whether 0 <= d < q <= t <= k and there are bits for the positions.
    fn is_sound(&self) -> bool {
        self.keep < self.quorum
            && self.quorum <= self.set
            && self.set <= self.hashes
            && self.bits >= u64::from(self.hashes)
    }
}

/// More trials than this are cut off: no filter has this many positions.
const LAST: u32 = 64;

/// 1/1, 1/2, 1/3, ...
const INVERSES: [f64; LAST as usize + 1] = {
    let mut inverses = [0.0; LAST as usize + 1];
    let mut i = 0;
    while i < inverses.len() {
        inverses[i] = 1.0 / (i + 1) as f64;
        i += 1;
    }
    inverses
};

/// Binomial probabilities of a few trials.
struct Law([f64; LAST as usize + 1]);

impl Law {
    fn new(trials: u32, success: f64) -> Self {
        let (n, p) = (trials.min(LAST) as usize, probability(success));
        let mut law = [0.0; LAST as usize + 1];
        // From the likelier end, so that no first term is too small for the others to follow from it.
        let (rare, odds) = if p <= 0.5 { (p, p / (1.0 - p)) } else { (1.0 - p, (1.0 - p) / p) };
        let mut share = (1.0 - rare).powi(n as i32);
        for events in 0..=n {
            law[if p <= 0.5 { events } else { n - events }] = share;
            share *= odds * (n - events) as f64 * INVERSES[events];
        }
        Law(law)
    }

    fn of(&self, ones: u32) -> f64 {
        self.0.get(ones as usize).copied().unwrap_or(0.0)
    }
}

/// The numbers of positions that the search takes for t and k.
fn choices() -> impl Iterator<Item = (u32, u32)> {
    (1..=MOST_SET).flat_map(|set| (set..=set + MOST_SPARE).map(move |hashes| (set, hashes)))
}

/// The shape in this many bits with the least rate with n keys, of which at most the share `cap` is missed after D
/// removals. d = q-1, the gentlest removal.
///
/// ```
/// use bouquet_theory::variable_length::{Shape, best};
/// let shape = best(400_000, 20_000, 2_000, 0.005)?;
/// assert!(shape.misses(20_000, 2_000, 0.0) <= 0.005);
/// let usual = Shape { bits: 400_000, hashes: 12, set: 10, quorum: 9, keep: 8 };
/// assert!(shape.rate(20_000) <= usual.rate(20_000));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` without keys, or if no shape misses so few.
pub fn best(bits: u64, n: u64, removals: u64, cap: f64) -> Result<Shape> {
    check_positive("items", n)?;
    best_of(&choices().collect::<Vec<_>>(), bits, n, removals, probability(cap))
}

/// The same among some numbers t and k.
fn best_of(choices: &[(u32, u32)], bits: u64, n: u64, removals: u64, cap: f64) -> Result<Shape> {
    let mut best: Option<(f64, Shape)> = None;
    for &(set, hashes) in choices {
        // The largest quorum has the least rate: without the misses it would be this.
        let shape = |quorum| Shape { bits, hashes, set, quorum, keep: quorum - 1 };
        if best.is_some_and(|(least, _)| shape(set).rate(n) >= least) {
            continue;
        }
        // The largest quorum that misses few enough has the least rate that can be had.
        let enough = |shape: &Shape| shape.is_sound() && shape.misses(n, removals, 0.0) <= cap;
        if let Some(shape) = (1..=set).rev().map(shape).find(enough) {
            let rate = shape.rate(n);
            if best.is_none_or(|(least, _)| rate < least) {
                best = Some((rate, shape));
            }
        }
    }
    let refuse = || Error::parameter("fnr", "larger for this number of `bits`", cap);
    best.map(|(_, shape)| shape).ok_or_else(refuse)
}

/// The shape with the fewest bits, to a thousandth, whose rate with n keys is at most `rate` and of which at most the
/// share `cap` is missed after D removals.
///
/// ```
/// use bouquet_theory::variable_length::for_rate;
/// let shape = for_rate(20_000, 0.01, 2_000, 0.01)?;
/// assert!(shape.rate(20_000) <= 0.01 && shape.misses(20_000, 2_000, 0.0) <= 0.01);
/// assert!(shape.bits < 20 * 20_000);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys or the rate is not between 0 and 1, `Error::TooLarge` for too many bits.
pub fn for_rate(n: u64, rate: f64, removals: u64, cap: f64) -> Result<Shape> {
    check_positive("items", n)?;
    check_rate("fpr", rate)?;
    let cap = probability(cap);
    // Misses rise with the quorum while the rate falls: the least quorum that reaches the rate must miss few enough.
    let enough = |bits: u64, set: u32, hashes: u32| {
        let shape = |quorum| Shape { bits, hashes, set, quorum, keep: quorum - 1 };
        let fill = shape(set).fill(n);
        let Some(quorum) = shape(set).least_quorum(fill, rate) else { return false };
        shape(quorum).is_sound() && shape(quorum).misses_at(fill, removals, 0.0) <= cap
    };
    // Ones make a key present, and more of them than in a plain filter of t = k = q: none is smaller than that, which takes
    // log2(1/rate) / ln 2 bits per key.
    let too_few = (n as f64 * -rate.log2() / LN_2).min(MAX_BITS as f64) as u64;
    let choices: Vec<_> = choices().collect();
    // About what is best for the settings that most will use.
    let positions = (-1.5 * rate.log2()).clamp(1.0, MOST_SET.into()) as u32;
    let guess = choices.iter().position(|&(set, hashes)| set == positions && hashes == set + 1).unwrap_or(0);
    let (bits, able) = least_memory(8, too_few, choices, guess, |bits, (set, hashes)| enough(bits, set, hashes))?;
    best_of(&able, bits, n, removals, cap)
}

/// The fewest bits, to a thousandth, with which this shape has at most this rate with n keys.
///
/// ```
/// use bouquet_theory::variable_length::{Shape, sized};
/// let shape = Shape { bits: 0, hashes: 12, set: 10, quorum: 9, keep: 8 };
/// let bits = sized(shape, 20_000, 0.0135)?.bits;
/// assert!((399_000..402_000).contains(&bits), "{bits}");
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// As [`for_rate`].
pub fn sized(shape: Shape, n: u64, rate: f64) -> Result<Shape> {
    check_positive("items", n)?;
    check_rate("fpr", rate)?;
    let sized = |bits| Shape { bits, ..shape };
    let enough = |bits, ()| sized(bits).is_sound() && sized(bits).rate(n) <= rate;
    least_memory(8, 0, vec![()], 0, enough).map(|(bits, _)| sized(bits))
}

/// P(a key that came once seems to have come more often): a spare position is a one by the other n-1 keys.
///
/// ```
/// use bouquet_theory::variable_length::{Shape, longer};
/// let shape = Shape { bits: 400_000, hashes: 12, set: 10, quorum: 9, keep: 8 };
/// assert!((longer(&shape, 20_000) - (1.0 - 0.6065f64.powi(2))).abs() < 1e-3);
/// ```
pub fn longer(shape: &Shape, n: u64) -> f64 {
    let spare = shape.hashes.saturating_sub(shape.set);
    probability(1.0 - amount(1.0 - shape.fill(n.saturating_sub(1))).powf(f64::from(spare)))
}

#[cfg(test)]
mod tests {
    use super::super::special::binomial;
    use super::super::testing::{assert_close, assert_prints};
    use super::*;

    /// Every choice and every quorum at every size.
    fn slow_best(bits: u64, n: u64, removals: u64, cap: f64) -> Option<Shape> {
        let mut best: Option<(f64, Shape)> = None;
        for (set, hashes) in choices() {
            let shape = |quorum| Shape { bits, hashes, set, quorum, keep: quorum - 1 };
            let enough = |shape: &Shape| shape.is_sound() && shape.misses(n, removals, 0.0) <= cap;
            if let Some(shape) = (1..=set).rev().map(shape).find(enough) {
                let rate = shape.rate(n);
                if best.is_none_or(|(least, _)| rate < least) {
                    best = Some((rate, shape));
                }
            }
        }
        best.map(|(_, shape)| shape)
    }

    fn slow_for_rate(n: u64, rate: f64, removals: u64, cap: f64) -> Option<Shape> {
        let enough = |bits| slow_best(bits, n, removals, cap).filter(|shape| shape.rate(n) <= rate);
        let (mut too_few, mut bits) = (0, 8);
        let mut found = loop {
            match enough(bits) {
                Some(shape) => break shape,
                None if bits >= MAX_BITS => return None,
                None => (too_few, bits) = (bits, bits * 2),
            }
        };
        while bits - too_few > 1 + bits / 1024 {
            let middle = too_few + (bits - too_few) / 2;
            match enough(middle) {
                Some(shape) => (bits, found) = (middle, shape),
                None => too_few = middle,
            }
        }
        Some(found)
    }

    #[test]
    fn fast_sizing_finds_what_a_look_at_everything_finds() {
        for n in [1u64, 2, 15, 100, 1_234, 100_000, 10_000_000, 1_000_000_000] {
            for rate in [0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-9] {
                for (removals, cap) in [(n / 10, 0.01), (0, 0.01), (n / 2, 0.1), (n / 100, 1e-4)] {
                    let (found, expected) =
                        (for_rate(n, rate, removals, cap).ok(), slow_for_rate(n, rate, removals, cap));
                    assert_eq!(found, expected, "{n} keys at {rate}, {removals} removals, {cap} missed");
                }
            }
        }
    }

    #[test]
    fn rates_and_misses_are_the_printed_ones() {
        let usual = Shape { bits: 400_000, hashes: 12, set: 10, quorum: 9, keep: 8 };
        assert_prints(usual.rate(20_000), "0.0135");
        assert_prints(usual.misses(20_000, 2_000, 0.0), "0.0039");
        let strict = Shape { quorum: 10, keep: 9, ..usual };
        assert_prints(strict.rate(20_000), "0.0024");
        assert_prints(strict.misses(20_000, 2_000, 0.0), "0.037");
    }

    #[test]
    fn the_small_law_is_the_binomial_one() {
        for (n, p) in [(0, 0.3), (1, 0.3), (12, 0.3935), (64, 0.99), (28, 1e-9)] {
            let law = Law::new(n, p);
            (0..=n).for_each(|x| assert_close(law.of(x), binomial(x.into(), n.into(), p), 1e-9));
            assert_eq!(law.of(n + 1), 0.0);
        }
    }

    #[test]
    fn gentler_removal_misses_less() {
        let shape = |keep| Shape { bits: 400_000, hashes: 12, set: 10, quorum: 9, keep };
        let misses: Vec<_> = (0..9).map(|keep| shape(keep).misses(20_000, 2_000, 0.0)).collect();
        assert!(misses.windows(2).all(|pair| pair[1] < pair[0]), "{misses:?}");
    }

    #[test]
    fn without_removals_the_best_shape_is_a_plain_filter() {
        let shape = best(10_000, 1_000, 0, 0.0).unwrap();
        assert_eq!((shape.hashes, shape.set, shape.quorum), (7, 7, 7));
        assert_close(shape.rate(1_000), 0.008_193_7, 1e-3);
    }
}
