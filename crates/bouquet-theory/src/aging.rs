//! Cells that expire: every cell of a key is given a life, which runs out in rounds or ticks.
//!
//! In a *decaying* filter the cells of T blocks lose a unit of life in turn, one block per arrival; a life of V = ceil(W/T) + 1 units is
//! then over between (V-1)T and VT arrivals later. A *temporal* filter takes from all cells alike, as time goes by.
//!
//! Sources: H. Shen, Y. Zhang, *Improved approximate detection of duplicates for data streams over sliding windows*, 2008; Y. Zhao, J. Wu,
//! *B-SUB: a practical Bloom-filter-based publish-subscribe system for human networks*, 2010.

use super::special::{ln_miss, power, probability};

/// A filter of cells that expire in blocks.
///
/// ```
/// use bouquet_theory::aging::Shape;
/// let shape = Shape { cells: 140_000, hashes: 7, blocks: 1_000, lives: 11 };
/// assert!((shape.rate_after(1_000_000) - 0.0019).abs() < 5e-5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// m, the cells.
    pub cells: u64,
    /// k, the cells of a key.
    pub hashes: u32,
    /// T, the blocks that lose a unit in turn.
    pub blocks: u64,
    /// V, the units that a cell is given.
    pub lives: u64,
}

/// The arrivals between which the chances of a sum are computed, where there are more of them.
const SAMPLES: u64 = 4_096;

impl Shape {
    /// (V-1) T, the arrivals for which a key is certainly alive.
    fn certain(&self) -> u64 {
        self.lives.saturating_sub(1).saturating_mul(self.blocks.max(1))
    }

    /// ln of the chance that a key leaves a cell alone.
    fn ln_left_alone(&self) -> f64 {
        ln_miss(self.cells as f64, f64::from(self.hashes))
    }

    /// The mean of q^(first + j) over j = 1..=count, for q = e^ln_q.
    fn mean_power(ln_q: f64, first: f64, count: f64) -> f64 {
        if count <= 0.0 {
            return 1.0;
        }
        if ln_q == 0.0 {
            return 1.0;
        }
        if ln_q == f64::NEG_INFINITY {
            return 0.0;
        }
        // q (1-q^count) / (count (1-q)).
        (ln_q * (first + 1.0)).exp() * (ln_q * count).exp_m1() / (count * ln_q.exp_m1())
    }

    /// The expected share of dead cells after this many arrivals of different keys. The blocks are at all stages between two units, so
    /// a block has the keys of the last (V-1)T + j arrivals, for every j from 1 to T.
    ///
    /// ```
    /// use bouquet_theory::aging::Shape;
    /// let shape = Shape { cells: 140_000, hashes: 7, blocks: 1, lives: 10_001 };
    /// assert_eq!(shape.dead_after(0), 1.0);
    /// assert!((shape.dead_after(50_000) - (-0.5f64).exp()).abs() < 1e-4); // 10,001 keys of 7 cells
    /// ```
    pub fn dead_after(&self, arrivals: u64) -> f64 {
        let (ln_q, certain, blocks) = (self.ln_left_alone(), self.certain(), self.blocks.max(1));
        let beyond = arrivals.saturating_sub(certain).min(blocks) as f64;
        let young = Self::mean_power(ln_q, certain as f64, beyond);
        let all = (ln_q * arrivals.min(certain.saturating_add(blocks)) as f64).exp();
        let share = beyond / blocks as f64;
        let all = if all.is_nan() { 1.0 } else { all };
        probability(share * young + (1.0 - share) * all)
    }

    /// The false-positive rate after this many arrivals of different keys.
    ///
    /// ```
    /// use bouquet_theory::aging::Shape;
    /// let blocks = [(1, 10_001, 0.0015), (1_000, 11, 0.0019), (5_000, 3, 0.0047), (10_000, 2, 0.0107)];
    /// for (blocks, lives, printed) in blocks {
    ///     let shape = Shape { cells: 140_000, hashes: 7, blocks, lives };
    ///     assert!((shape.rate_after(u64::MAX) / printed - 1.0).abs() < 0.05);
    /// }
    /// ```
    pub fn rate_after(&self, arrivals: u64) -> f64 {
        power(1.0 - self.dead_after(arrivals), f64::from(self.hashes))
    }

    /// The chance that a key which came this many arrivals ago is not found: 0 for the last (V-1)T, and all but the false-positive rate
    /// from VT on.
    ///
    /// ```
    /// use bouquet_theory::aging::Shape;
    /// let shape = Shape { cells: 140_000, hashes: 7, blocks: 1_000, lives: 11 };
    /// assert_eq!((shape.miss_rate(0), shape.miss_rate(9_999)), (0.0, 0.0));
    /// assert!(shape.miss_rate(10_500) > 0.5 && shape.miss_rate(11_000) > 0.99);
    /// ```
    pub fn miss_rate(&self, age: u64) -> f64 {
        let (certain, blocks) = (self.certain(), self.blocks.max(1));
        if age < certain {
            return 0.0;
        }
        // Of T blocks this many have taken the key's last unit; there a cell is alive if another key has set it.
        let lost = (age - certain).saturating_add(1).min(blocks) as f64;
        let others = 1.0 - Self::mean_power(self.ln_left_alone(), certain as f64, lost);
        let alive = 1.0 - lost / blocks as f64 * (1.0 - others);
        probability(1.0 - power(alive, f64::from(self.hashes)))
    }

    /// The mean of [`miss_rate`](Self::miss_rate) over the ages of this many different keys, which came one after the other.
    ///
    /// ```
    /// use bouquet_theory::aging::Shape;
    /// let shape = Shape { cells: 140_000, hashes: 7, blocks: 1_000, lives: 11 };
    /// assert_eq!(shape.mean_miss_rate(10_000), 0.0);
    /// assert!((shape.mean_miss_rate(20_000) - 0.489).abs() < 0.005);
    /// ```
    pub fn mean_miss_rate(&self, arrivals: u64) -> f64 {
        let (certain, blocks) = (self.certain().min(arrivals), self.blocks.max(1));
        if arrivals == certain {
            return 0.0;
        }
        let partly = blocks.min(arrivals - certain);
        let stride = partly.div_ceil(SAMPLES);
        let mut sum = 0.0;
        let mut age = 0;
        while age < partly {
            let len = stride.min(partly - age);
            sum += len as f64 * self.miss_rate(certain + age + (len - 1) / 2);
            age += len;
        }
        sum += (arrivals - certain - partly) as f64 * self.miss_rate(certain.saturating_add(blocks));
        probability(sum / arrivals as f64)
    }
}

/// The cells, in use, of a filter into which `rate` keys per tick go, each for `life` ticks, where a cell takes the longer of two lives:
/// 1 - e^(-a) with a = rate k L / m.
///
/// ```
/// use bouquet_theory::aging::fill_of_longest;
/// assert!((fill_of_longest(100_000, 7, 10.0 * 1_000.0) - 0.503).abs() < 5e-4);
/// ```
pub fn fill_of_longest(cells: u64, hashes: u32, live_keys: f64) -> f64 {
    let load = load(cells, hashes, live_keys);
    if load.is_infinite() { 1.0 } else { probability(-(-load).exp_m1()) }
}

/// a/(1+a): the same where a cell in use keeps its life, and cells are free for 1/a of the time in which they are used.
///
/// ```
/// use bouquet_theory::aging::fill_of_first;
/// assert!((fill_of_first(100_000, 7, 10.0 * 1_000.0) - 0.412).abs() < 5e-4);
/// ```
pub fn fill_of_first(cells: u64, hashes: u32, live_keys: f64) -> f64 {
    let load = load(cells, hashes, live_keys);
    if load.is_infinite() { 1.0 } else { probability(load / (1.0 + load)) }
}

/// 1 - (1 - a/(1+a) t/L)^k, a bound for the keys that are lost at a share t/L of their life where a cell in use keeps its life.
///
/// ```
/// use bouquet_theory::aging::early_loss;
/// assert_eq!(early_loss(100_000, 7, 10_000.0, 0.0), 0.0);
/// assert!((early_loss(100_000, 7, 10_000.0, 0.5) - 0.801).abs() < 5e-4);
/// ```
pub fn early_loss(cells: u64, hashes: u32, live_keys: f64, share_of_life: f64) -> f64 {
    let kept = 1.0 - fill_of_first(cells, hashes, live_keys) * probability(share_of_life);
    probability(1.0 - power(kept, f64::from(hashes)))
}

/// a = rate k L / m, for rate L keys that are alive.
fn load(cells: u64, hashes: u32, live_keys: f64) -> f64 {
    let keys = if live_keys > 0.0 { live_keys } else { 0.0 };
    let used = keys * f64::from(hashes);
    if used == 0.0 { 0.0 } else { used / cells as f64 }
}
