//! A chain of partitioned filters that grow and tighten: one bound on the rate for any number of keys.
//!
//! Filter i has k_i = ceil(log2(1/P_i)) slices of m_0 s^i bits, P_i = P_0 r^i, and is full at half fill, where its rate is
//! 2^-k_i <= P_i. The compound rate stays below sum P_0 r^i = P_0/(1-r) = P.
//!
//! Source: P. Almeida, C. Baquero, N. Preguica, D. Hutchison, *Scalable Bloom filters*, 2007.

use std::f64::consts::LN_2;

use super::special::{power, probability};
use super::{check_positive, check_rate};
use crate::{Error, Result};

/// The parameters of a chain, checked.
///
/// ```
/// use bouquet_theory::scalable::Design;
///
/// let design = Design::new(0.01, 2, 0.5, 1000)?;
/// assert_eq!(design.level(0).hashes, 8);
/// assert_eq!(design.level(9).hashes, 17);
/// assert!(Design::new(0.01, 2, 1.0, 1000).is_err());
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    rate: f64,
    growth: u32,
    tightening: f64,
    first_capacity: u64,
}

/// One filter of the chain.
///
/// ```
/// use bouquet_theory::scalable::Design;
///
/// let level = Design::new(0.01, 2, 0.5, 1000)?.level(1);
/// assert_eq!(level.slice_bits, 2 * 1443); // m_0 = ceil(1000 / ln 2)
/// assert_eq!(level.bits, 9 * level.slice_bits);
/// assert_eq!(level.capacity, 2000);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// P_i = P_0 r^i, the rate that the filter must not exceed.
    pub rate: f64,
    /// k_i = ceil(log2(1/P_i)), its slices and probes.
    pub hashes: u32,
    /// m_i = m_0 s^i, the bits of a slice; saturates.
    pub slice_bits: u64,
    /// k_i m_i, all its bits; saturates.
    pub bits: u64,
    /// floor(m_i ln 2), the keys at which it is half full.
    pub capacity: u64,
}

impl Design {
    /// A chain with total rate P, growth s, tightening r and room for `first_capacity` keys in its first filter.
    ///
    /// # Errors
    ///
    /// `Error::Parameter` if a rate or the tightening is not between 0 and 1, the growth is 0, or the capacity is 0 or above
    /// 2^53. (A growth of 1 is a chain of equal filters.)
    ///
    /// ```
    /// # use bouquet_theory::scalable::Design;
    /// let equal = Design::new(0.01, 1, 0.5, 1000)?;
    /// assert_eq!(equal.level(5).capacity, equal.level(0).capacity);
    /// assert!(Design::new(0.01, 0, 0.5, 1000).is_err(), "nothing would follow the first filter");
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn new(rate: f64, growth: u32, tightening: f64, first_capacity: u64) -> Result<Self> {
        check_rate("fpr", rate)?;
        check_rate("tightening", tightening)?;
        check_positive("growth", u64::from(growth))?;
        check_positive("first_capacity", first_capacity)?;
        if first_capacity > super::MAX_BITS {
            return Err(Error::parameter("first_capacity", format!("at most {}", super::MAX_BITS), first_capacity));
        }
        Ok(Design { rate, growth, tightening, first_capacity })
    }

    /// P_0 = P (1-r), the rate of the first filter.
    ///
    /// ```
    /// # use bouquet_theory::scalable::Design;
    /// assert_eq!(Design::new(0.01, 2, 0.5, 1000)?.first_rate(), 0.005);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn first_rate(&self) -> f64 {
        self.rate * (1.0 - self.tightening)
    }

    /// The filter number i, counted from 0.
    ///
    /// ```
    /// # use bouquet_theory::scalable::Design;
    /// let design = Design::new(0.01, 2, 0.85, 1000)?;
    /// assert!((design.level(3).rate - 0.0015 * 0.85f64.powi(3)).abs() < 1e-15);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn level(&self, i: u32) -> Level {
        // In logarithms, for the rates of a long chain underflow while their slices do not.
        let log2_rate = self.first_rate().log2() + f64::from(i) * self.tightening.log2();
        // Rates that are a power of two up to rounding must not cost a slice.
        let hashes = ((-log2_rate - 1e-9).ceil() as u32).max(1);
        let first_slice = (self.first_capacity as f64 / LN_2).ceil() as u64;
        let slice_bits = u64::from(self.growth).checked_pow(i).map_or(u64::MAX, |s| first_slice.saturating_mul(s));
        Level {
            rate: log2_rate.exp2(),
            hashes,
            slice_bits,
            bits: slice_bits.saturating_mul(u64::from(hashes)),
            capacity: (slice_bits as f64 * LN_2) as u64,
        }
    }

    /// n_0 (s^l - 1)/(s-1), the keys that l full filters hold.
    ///
    /// ```
    /// # use bouquet_theory::scalable::Design;
    /// assert_eq!(Design::new(0.01, 2, 0.5, 1000)?.capacity(10), 1_023_000.0);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn capacity(&self, levels: u32) -> f64 {
        let (s, l) = (f64::from(self.growth), f64::from(levels));
        let sum = if self.growth == 1 { l } else { (power(s, l) - 1.0) / (s - 1.0) };
        (self.first_capacity as f64 * sum).min(f64::MAX)
    }

    /// The fewest filters that hold n keys.
    ///
    /// ```
    /// # use bouquet_theory::scalable::Design;
    /// let design = Design::new(0.01, 2, 0.5, 1000)?;
    /// assert_eq!(design.levels(1_000_000), 10);
    /// assert_eq!(design.levels(1000), 1);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn levels(&self, n: u64) -> u32 {
        let (mut low, mut high) = (0, u32::MAX);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.capacity(middle) >= n as f64 { high = middle } else { low = middle }
        }
        high
    }

    /// 1 - prod(1 - P_0 r^i), what l filters at their allowed rates make together: at most P for any l.
    ///
    /// ```
    /// # use bouquet_theory::scalable::Design;
    /// let design = Design::new(0.01, 2, 0.9, 1000)?;
    /// assert!(design.bound(5) < design.bound(1000) && design.bound(1000) <= 0.01);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn bound(&self, levels: u32) -> f64 {
        let (first, log_r) = (self.first_rate(), self.tightening.ln());
        let mut log = 0.0;
        if self.tightening < 0.99 {
            let mut rate = first;
            for _ in 0..levels {
                log += (-rate).ln_1p();
                rate *= self.tightening;
                if rate < 1e-20 * self.rate {
                    break;
                }
            }
        } else {
            // Millions of rates may count, all below 1 %: sum the logarithm's series instead, each power being geometric.
            for j in 1..20 {
                let j = f64::from(j);
                log -= power(first, j) / j * ((j * f64::from(levels) * log_r).exp_m1() / (j * log_r).exp_m1());
            }
        }
        -f64::exp_m1(log)
    }

    /// 1 - prod(1 - 2^-k_i), the expected rate when l filters are just full; below [`bound`](Self::bound), for k_i is rounded up.
    ///
    /// ```
    /// # use bouquet_theory::scalable::Design;
    /// let full = Design::new(0.01, 2, 0.5, 1000)?.full_rate(10);
    /// assert!((full - 0.0078).abs() < 5e-5);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn full_rate(&self, levels: u32) -> f64 {
        let per_level = -self.tightening.log2();
        let (mut i, mut log) = (0, 0.0);
        while i < levels {
            // All filters with this number of slices at once: the last is the one whose log2(1/P_i) does not exceed it.
            let hashes = f64::from(self.level(i).hashes);
            let last = ((hashes + 1e-9 + self.first_rate().log2()) / per_level).floor();
            let next = (last as u32).saturating_add(1).clamp(i + 1, levels);
            let rate = power(0.5, hashes);
            log += f64::from(next - i) * (-rate).ln_1p();
            if rate * f64::from(levels - i) < 1e-20 {
                break;
            }
            i = next;
        }
        -f64::exp_m1(log)
    }

    /// The bits per key of l full filters.
    ///
    /// ```
    /// # use bouquet_theory::scalable::Design;
    /// let bits = Design::new(0.01, 2, 0.5, 1000)?.bits_per_key(10);
    /// assert!((bits - 23.1).abs() < 0.05);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn bits_per_key(&self, levels: u32) -> f64 {
        // Of growing filters the last few decide; equal ones, whose slices rise steadily, are averaged over as many.
        const COUNTED: u32 = 4096;
        let counted = levels.min(COUNTED);
        let stride = if self.growth == 1 { f64::from(levels) / f64::from(counted.max(1)) } else { 1.0 };
        let (mut bits, mut keys) = (0.0, 0.0);
        for back in 1..=counted {
            // Relative to the last filter, so that long chains do not overflow.
            let size = power(f64::from(self.growth), -f64::from(back));
            let i = f64::from(levels) - (f64::from(back) * stride).floor();
            bits += size * f64::from(self.level(i as u32).hashes);
            keys += size * LN_2;
        }
        if keys == 0.0 { 0.0 } else { bits / keys }
    }
}

/// 1 - prod(1 - f_i), the rate of filters that are all asked: the chain's own, from its measured fills.
///
/// ```
/// use bouquet_theory::scalable::compound_rate;
///
/// assert_eq!(compound_rate(&[0.5, 0.5]), 0.75);
/// assert_eq!(compound_rate(&[]), 0.0);
/// ```
pub fn compound_rate(rates: &[f64]) -> f64 {
    -rates.iter().map(|&rate| (-probability(rate)).ln_1p()).sum::<f64>().exp_m1()
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_prints;
    use super::*;

    #[test]
    fn full_chains_have_the_printed_rates_and_sizes() {
        for (tightening, percent, bits) in [(0.5, "0.78", "23.1"), (0.8, "0.71", "17.1"), (0.9, "0.46", "17.1")] {
            let design = Design::new(0.01, 2, tightening, 1000).unwrap();
            assert_eq!(design.levels(1_000_000), 10);
            assert_prints(100.0 * design.full_rate(10), percent);
            assert_prints(design.bits_per_key(10), bits);
        }
    }

    #[test]
    fn slices_grow_with_the_chain() {
        let design = Design::new(0.01, 2, 0.5, 1000).unwrap();
        let hashes: Vec<u32> = (0..10).map(|i| design.level(i).hashes).collect();
        assert_eq!(hashes, (8..=17).collect::<Vec<u32>>());
    }

    #[test]
    fn the_bound_holds_for_every_length() {
        for rate in [0.5, 0.01, 1e-6] {
            for tightening in [0.1, 0.5, 0.85, 0.95, 0.999] {
                let design = Design::new(rate, 2, tightening, 10).unwrap();
                let mut last = 0.0;
                for levels in [0, 1, 2, 5, 20, 100, 10_000] {
                    let bound = design.bound(levels);
                    assert!(bound >= last && bound <= rate, "{rate} {tightening} {levels}: {bound}");
                    let product: f64 = (0..levels).map(|i| 1.0 - design.level(i).rate).product();
                    assert!((bound - (1.0 - product)).abs() < 1e-12 + 1e-9 * bound);
                    let full: f64 = (0..levels).map(|i| 1.0 - 0.5f64.powf(f64::from(design.level(i).hashes))).product();
                    assert!((design.full_rate(levels) - (1.0 - full)).abs() < 1e-12 + 1e-9 * bound);
                    assert!(design.full_rate(levels) <= bound * (1.0 + 1e-9));
                    last = bound;
                }
            }
        }
    }

    #[test]
    fn endless_chains_saturate() {
        let design = Design::new(1e-9, 4, 0.5, 1 << 53).unwrap();
        let far = design.level(u32::MAX);
        assert_eq!(far.slice_bits, u64::MAX);
        assert_eq!(far.rate, 0.0);
        assert!(far.hashes > 1 << 30);
        assert_eq!(Design::new(0.1, 1, 0.5, 10).unwrap().capacity(7), 70.0);
    }

    #[test]
    fn an_exact_power_of_two_costs_no_extra_slice() {
        assert_eq!(Design::new(0.5, 2, 0.5, 10).unwrap().level(0).hashes, 2);
        assert_eq!(Design::new(0.5, 2, 0.5, 10).unwrap().level(7).hashes, 9);
    }
}
