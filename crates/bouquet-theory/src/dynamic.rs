//! Chains of equal components: what they answer, what cannot be removed from them, when they are full.
//!
//! A chain of s components of m cells, k probes and capacity c holds n keys in floor(n/c) full components and one with the
//! rest. Notation: f(m,k,n) = (1 - e^(-kn/m))^k is the rate of one component, y = f(m,k,c) that of a full one. The numbers
//! in brackets are those of the equations in the source. How to choose m, k and c for a set of unknown size is in
//! [`sizing`].
//!
//! Source: D. Guo, J. Wu, H. Chen, Y. Yuan, X. Luo, *The dynamic Bloom filters*, 2010.

pub mod sizing;

use super::special::probability;
use super::standard::{expected_rate, limit_rate};

/// The shape of a chain: what all of its components have in common.
///
/// ```
/// use bouquet_theory::dynamic::Shape;
/// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
/// assert!((shape.full_rate() - 0.009847).abs() < 5e-7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// m, the cells of a component.
    pub bits: u64,
    /// k, the probes per key.
    pub hashes: u32,
    /// c, the keys of a full component.
    pub capacity: u64,
}

/// 1 - (1-p)^exponent, without loss for small p.
fn any(p: f64, exponent: f64) -> f64 {
    if exponent <= 0.0 {
        return 0.0;
    }
    probability(-((-probability(p)).ln_1p() * exponent).exp_m1())
}

/// The probability that one of two independent events happens.
fn either(a: f64, b: f64) -> f64 {
    probability(a + b - a * b)
}

impl Shape {
    /// f(m,k,n), the rate of one component, or of a plain filter of m bits, with n keys.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert!((shape.plain_rate(1330) - 0.995).abs() < 5e-4);
    /// ```
    pub fn plain_rate(&self, n: u64) -> f64 {
        if n == 0 {
            return 0.0;
        }
        limit_rate(self.bits as f64 / n as f64, self.hashes)
    }

    /// y = f(m,k,c), the rate of a full component.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert_eq!(shape.full_rate(), shape.rate(133));
    /// ```
    pub fn full_rate(&self) -> f64 {
        self.plain_rate(self.capacity)
    }

    /// s = ceil(n/c), the components that n keys need; at least one.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert_eq!([0, 133, 134].map(|n| shape.components(n)), [1, 1, 2]);
    /// ```
    pub fn components(&self, n: u64) -> u64 {
        n.div_ceil(self.capacity.max(1)).max(1)
    }

    /// The keys of the last component, 1 to c of them.
    fn last(&self, n: u64) -> u64 {
        n.saturating_sub((self.components(n) - 1).saturating_mul(self.capacity))
    }

    /// (3) F(n) = 1 - (1-y)^floor(n/c) (1 - f(m,k,n mod c)), the rate of a chain of n keys; (12) is that of full components.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert!((shape.rate(1330) - 0.0942).abs() < 5e-5);
    /// assert!((shape.rate(200) - 0.0101).abs() < 5e-5 && (shape.rate(266) - 0.0196).abs() < 5e-5);
    /// ```
    pub fn rate(&self, n: u64) -> f64 {
        self.rate_of_full(self.components(n) - 1, self.last(n))
    }

    /// The rate of this many full components and one with `rest` keys.
    fn rate_of_full(&self, full: u64, rest: u64) -> f64 {
        either(any(self.full_rate(), full as f64), self.plain_rate(rest))
    }

    /// 1 - prod(1 - f(m,k,n_i)), the rate of components with these numbers of keys.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert!((shape.rate_of([133, 67]) - shape.rate(200)).abs() < 1e-12);
    /// ```
    pub fn rate_of(&self, items: impl IntoIterator<Item = u64>) -> f64 {
        items.into_iter().fold(0.0, |rate, n| either(rate, self.plain_rate(n)))
    }

    /// 1 - prod(1 - (used_i/m)^k), the rate of components with this many cells in use: all have the same positions for a key,
    /// and their contents are independent.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 1, capacity: 133 };
    /// assert_eq!(shape.rate_of_used(&[640, 640]), 0.75);
    /// ```
    pub fn rate_of_used(&self, used: &[u64]) -> f64 {
        let rate = |used: u64| probability((used as f64 / self.bits.max(1) as f64).powf(f64::from(self.hashes)));
        used.iter().fold(0.0, |sum, &used| either(sum, rate(used)))
    }

    /// (4) The rate of the union of chains of a and b keys whose components are put one behind the other.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert!((shape.union_rate(133, 133) - 0.0196).abs() < 5e-5);
    /// assert!((shape.plain_rate(266) - 0.1555).abs() < 5e-5, "of the OR of two plain filters");
    /// ```
    pub fn union_rate(&self, a: u64, b: u64) -> f64 {
        either(self.rate(a), self.rate(b))
    }

    /// (9) f1(n), the probability that a key of a full component matches another component as well.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert!((shape.several_addresses(200) - shape.plain_rate(67)).abs() < 1e-12);
    /// ```
    pub fn several_addresses(&self, n: u64) -> f64 {
        let s = self.components(n);
        if s < 2 { 0.0 } else { self.rate_of_full(s - 2, self.last(n)) }
    }

    /// (10) f2(n) = 1 - (1-y)^(s-1), the same for a key of the last component: the larger of the two.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert!((shape.several_addresses_of_last(1330) - 0.0852).abs() < 5e-5);
    /// ```
    pub fn several_addresses_of_last(&self, n: u64) -> f64 {
        any(self.full_rate(), (self.components(n) - 1) as f64)
    }

    /// n f2(n), an upper bound of the keys that cannot be removed because they match several components.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert!((shape.undeletable(1330) - 113.3).abs() < 0.05);
    /// ```
    pub fn undeletable(&self, n: u64) -> f64 {
        n as f64 * self.several_addresses_of_last(n)
    }

    /// c (s - (1-(1-y)^s)/y), the keys that stay when s full components are emptied in the order of insertion: fewer than
    /// [`undeletable`](Self::undeletable), for components that were emptied earlier no longer collide.
    ///
    /// The key of component i must match none of those behind it, so (1-y)^(s-i) of them go.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert!((shape.left_in_order(10) - 57.4).abs() < 0.05);
    /// ```
    pub fn left_in_order(&self, s: u64) -> f64 {
        let (y, s, c) = (self.full_rate(), s as f64, self.capacity as f64);
        // Below this the quadratic term of the difference is all that its digits hold.
        let gone = if y * s < 1e-6 { s - s * (s - 1.0).max(0.0) / 2.0 * y } else { any(y, s) / y };
        (c * (s - gone).max(0.0)).min(c * s)
    }

    /// n f2(n) / c, the components that keys with several addresses would fill: from 1 on it pays to ask before each
    /// insertion whether the key seems present.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert!(shape.improved_ratio(10 * 133) < 1.0 && shape.improved_ratio(12 * 133) > 1.0);
    /// ```
    pub fn improved_ratio(&self, n: u64) -> f64 {
        self.undeletable(n) / (self.capacity as f64).max(1.0)
    }

    /// The fewest keys at which [`improved_ratio`](Self::improved_ratio) is 1 or more; `u64::MAX` when there are none.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// let n = shape.improved_from();
    /// assert!(shape.improved_ratio(n) >= 1.0 && shape.improved_ratio(n - 1) < 1.0);
    /// ```
    pub fn improved_from(&self) -> u64 {
        first(|n| self.improved_ratio(n) >= 1.0).unwrap_or(u64::MAX)
    }

    /// (3) with the rate of finite filters: that of full components and one with the rest of n keys.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert!(shape.finite_rate(1330) > shape.rate(1330), "filters of finite size err more often");
    /// assert!((shape.finite_rate(1330) / shape.rate(1330) - 1.0).abs() < 0.02);
    /// ```
    pub fn finite_rate(&self, n: u64) -> f64 {
        let rate = |n: u64| expected_rate(self.bits, n, self.hashes);
        let capacity = self.capacity.max(1);
        let full = n / capacity;
        // The logarithm of a product of as many factors as there are full components. None of them is no factor, even where
        // one would be zero.
        let of_full = if full == 0 { 0.0 } else { full as f64 * (-rate(capacity)).ln_1p() };
        let log = of_full + (-rate(n % capacity)).ln_1p();
        probability(-log.exp_m1())
    }

    /// How many of n distinct keys are stored, when from `from` on those are skipped that seem present: to store one more
    /// takes 1 / (1 - rate) arrivals, with the rate of that moment. Ends with `most` components.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert_eq!(shape.stored(1_000, 500, 100), 500, "no key is skipped yet");
    /// assert!((1_200..1_300).contains(&shape.stored(0, 1_330, 100)));
    /// ```
    pub fn stored(&self, from: u64, n: u64, most: u64) -> u64 {
        /// Pieces of a component in which the rate is taken as constant.
        const STEPS: u64 = 64;
        if n <= from {
            return n;
        }
        let step = (self.capacity / STEPS).max(1);
        let (mut stored, mut arrivals) = (from, from as f64);
        let most = self.capacity.saturating_mul(most);
        while stored < most {
            let accepted = 1.0 - self.rate(stored + step / 2);
            let left = (n as f64 - arrivals) * accepted;
            if left <= step as f64 {
                return stored + left.max(0.0) as u64;
            }
            arrivals += step as f64 / accepted;
            stored += step;
        }
        stored
    }

    /// (13) m1 / (s m), the bits of a plain filter with the rate of s full components, in terms of theirs.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// let ratios = [1, 2, 5, 10].map(|s| (1000.0 * shape.plain_bits_ratio(s)).round());
    /// assert_eq!(ratios, [1000.0, 861.0, 696.0, 582.0]);
    /// ```
    pub fn plain_bits_ratio(&self, s: u64) -> f64 {
        let (k, m, c) = (f64::from(self.hashes), self.bits as f64, self.capacity as f64);
        if k == 0.0 || m == 0.0 || c == 0.0 || s == 0 {
            return 1.0;
        }
        let fill = any(self.full_rate(), s as f64).powf(1.0 / k);
        // Where every bit is one no number of bits is too small.
        let zeros = -(-fill).ln_1p();
        if zeros == 0.0 { 1.0 } else { (k * c / (m * zeros)).clamp(0.0, f64::MAX) }
    }

    /// (14) The rate of a plain filter that was given, for n keys, the bits of the chain: (1 - e^(-kn/(m ceil(n/c))))^k.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// assert!((shape.grown_plain_rate(1330) - shape.full_rate()).abs() < 1e-12);
    /// assert!(shape.grown_plain_rate(134) < shape.rate(134));
    /// ```
    pub fn grown_plain_rate(&self, n: u64) -> f64 {
        if n == 0 {
            return 0.0;
        }
        limit_rate(self.bits as f64 * self.components(n) as f64 / n as f64, self.hashes)
    }

    /// The most keys with which the rate (3) is at most `gamma`: at one more the set has to be represented anew.
    ///
    /// ```
    /// # use bouquet_theory::dynamic::Shape;
    /// let shape = Shape { bits: 1280, hashes: 7, capacity: 133 };
    /// let n = shape.limit(0.1);
    /// assert!(shape.rate(n) <= 0.1 && shape.rate(n + 1) > 0.1 && n > 10 * 133);
    /// ```
    pub fn limit(&self, gamma: f64) -> u64 {
        first(|n| self.rate(n) > probability(gamma)).map_or(u64::MAX, |n| n.saturating_sub(1))
    }
}

/// The smallest number of which a property holds that holds of all larger ones.
fn first(holds: impl Fn(u64) -> bool) -> Option<u64> {
    if !holds(u64::MAX) {
        return None;
    }
    let (mut below, mut above) = (0, u64::MAX);
    if holds(0) {
        return Some(0);
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if holds(middle) { above = middle } else { below = middle }
    }
    Some(above)
}

/// ln(1-gamma^(1/k)) / ln(1-beta^(1/k)), the keys at which a plain filter that was made for one key and the rate beta
/// reaches the rate gamma.
///
/// ```
/// use bouquet_theory::dynamic::plain_limit;
/// assert!((plain_limit(7, 0.0098, 0.1) - 1.75).abs() < 0.005);
/// ```
pub fn plain_limit(k: u32, beta: f64, gamma: f64) -> f64 {
    let balls = |rate: f64| -(-probability(rate).powf(1.0 / f64::from(k.max(1)))).ln_1p();
    let (own, limit) = (balls(beta), balls(gamma));
    if own > 0.0 && own.is_finite() { limit / own } else { 0.0 }
}

/// floor(ln(1-gamma) / ln(1-beta)), the full components of rate beta that together stay within the rate gamma.
///
/// ```
/// use bouquet_theory::dynamic::chain_limit;
/// assert_eq!(chain_limit(0.0098, 0.1), 10);
/// ```
pub fn chain_limit(beta: f64, gamma: f64) -> u64 {
    let (own, limit) = (-(-probability(beta)).ln_1p(), -(-probability(gamma)).ln_1p());
    // Rates that are an exact multiple up to rounding must not cost a component. A quotient beyond u64 stops there.
    if own > 0.0 && own.is_finite() { (limit / own + 1e-9) as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Shape = Shape { bits: 1280, hashes: 7, capacity: 133 };

    #[test]
    fn a_chain_within_one_component_is_the_plain_filter_and_beyond_it_better() {
        for n in 0..=133 {
            assert_eq!(BASE.rate(n), BASE.plain_rate(n));
        }
        for n in 134..=1330 {
            assert!(BASE.rate(n) < BASE.plain_rate(n), "{n}");
            assert!(BASE.rate(n) >= BASE.rate(n - 1));
        }
    }

    #[test]
    fn the_advantage_peaks_at_491_keys_and_scales_with_the_component() {
        let ratio = |shape: &Shape, n: u64| shape.plain_rate(n) / shape.rate(n);
        let best = (1..=1330).max_by(|&a, &b| ratio(&BASE, a).total_cmp(&ratio(&BASE, b))).unwrap();
        assert_eq!(best, 491);
        assert!((ratio(&BASE, best) - 19.85).abs() < 0.005, "{}", ratio(&BASE, best));
        let double = Shape { bits: 2560, capacity: 266, ..BASE };
        assert!((ratio(&double, 2 * 491) / ratio(&BASE, 491) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn concatenation_beats_or_for_every_pair_of_sizes() {
        let mut most = 0.0f64;
        for a in (1..=1330).step_by(19) {
            for b in (1..=1330).step_by(19) {
                let gain = BASE.plain_rate(a + b) - BASE.union_rate(a, b);
                assert!(gain > 0.0, "{a} {b}: {gain}");
                assert!(BASE.union_rate(a, b) > BASE.rate(a).max(BASE.rate(b)));
                most = most.max(gain);
            }
        }
        assert!((most - 0.915).abs() < 0.005, "{most}");
    }

    #[test]
    fn the_convexity_behind_theorem_5_holds() {
        for k in 1..=20 {
            for x in (1..20).map(|i| f64::from(i) / 20.0) {
                for y in (1..20).map(|i| f64::from(i) / 20.0) {
                    let power = |z: f64| z.powi(k);
                    let sum = power(1.0 - x * y) + power((1.0 - x) * (1.0 - y)) - power(1.0 - x) - power(1.0 - y);
                    assert!(if k == 1 { sum.abs() < 1e-12 } else { sum > 0.0 }, "{k} {x} {y}: {sum}");
                }
            }
        }
    }

    #[test]
    fn improved_insertion_is_not_worth_it_within_the_printed_limits() {
        for (rate, s) in [(0.01, 10), (0.001, 20)] {
            let shape = sizing::for_rate(10_000, rate).unwrap();
            for s in 1..=s {
                assert!(shape.improved_ratio(s * shape.capacity) < 1.0, "{rate} {s}");
            }
        }
    }

    #[test]
    fn a_key_of_the_last_component_collides_most() {
        for n in (1..3000).step_by(7) {
            assert!(BASE.several_addresses(n) <= BASE.several_addresses_of_last(n) + 1e-15, "{n}");
        }
        assert_eq!(BASE.several_addresses(133), 0.0);
    }

    #[test]
    fn what_is_left_in_order_is_below_what_has_several_addresses() {
        for s in 1..50 {
            let (left, bound) = (BASE.left_in_order(s), BASE.undeletable(s * 133));
            assert!(left <= bound && (s < 3 || left < 0.6 * bound), "{s}: {left} {bound}");
            let sum: f64 = (0..s).map(|behind| 133.0 * any(BASE.full_rate(), behind as f64)).sum();
            assert!((left - sum).abs() < 1e-6 * sum.max(1.0), "{s}: {left} {sum}");
        }
    }

    #[test]
    fn no_argument_makes_a_function_hang_or_leave_its_range() {
        let counts = [0, 1, 2, 133, 1 << 53, u64::MAX];
        for bits in counts {
            for capacity in counts {
                for hashes in [0, 1, 7, u32::MAX] {
                    let shape = Shape { bits, hashes, capacity };
                    for n in counts {
                        let rates = [
                            shape.rate(n),
                            shape.union_rate(n, capacity),
                            shape.rate_of([n, bits]),
                            shape.rate_of_used(&[n, bits]),
                            shape.several_addresses(n),
                            shape.several_addresses_of_last(n),
                            shape.grown_plain_rate(n),
                        ];
                        assert!(rates.iter().all(|rate| (0.0..=1.0).contains(rate)), "{shape:?} {n}: {rates:?}");
                        let amounts = [
                            shape.undeletable(n),
                            shape.left_in_order(n),
                            shape.improved_ratio(n),
                            shape.plain_bits_ratio(n),
                        ];
                        assert!(amounts.iter().all(|amount| *amount >= 0.0), "{shape:?} {n}: {amounts:?}");
                    }
                    let from = shape.improved_from();
                    assert!(from == u64::MAX || shape.improved_ratio(from) >= 1.0);
                    for gamma in [0.0, 0.5, 1.0, f64::NAN] {
                        let limit = shape.limit(gamma);
                        assert!(limit == 0 || limit == u64::MAX || shape.rate(limit) <= gamma.max(0.0), "{shape:?}");
                    }
                }
            }
        }
        let reals = [0.0, -1.0, f64::NAN, f64::INFINITY, 1.0, 0.5, 1e-300];
        for beta in reals {
            for gamma in reals {
                assert!(plain_limit(0, beta, gamma) >= 0.0 && plain_limit(7, beta, gamma) >= 0.0);
                assert!(beta != 0.5 || gamma != 0.5 || chain_limit(beta, gamma) == 1);
            }
        }
    }
}
