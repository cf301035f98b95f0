//! Filters and pairs in pages: how many of them a lookup reads, and what they hold.
//!
//! A *store* has one filter per page of pairs. The filters of 32 pages lie side by side in a chain page, so that k words tell
//! which of the 32 may hold a key. A *forest* has a filter in every page, and a path of pages for every key.

use std::collections::BTreeMap;

use crate::standard;

/// Filters of a chain page.
pub const LANES: u64 = 32;

/// k for this many bits per key: as many as half-full filters have, rounded down.
///
/// ```
/// assert_eq!(bouquet_theory::paged::hashes(15.2), 10);
/// assert_eq!(bouquet_theory::paged::hashes(f64::NAN), 1);
/// ```
#[must_use]
pub fn hashes(bits_per_key: f64) -> u32 {
    (bits_per_key * std::f64::consts::LN_2).max(1.0) as u32
}

/// f, the rate at which the filter of a page, `positions` bits with `pairs` keys, sends a lookup there in vain.
///
/// ```
/// use bouquet_theory::paged::filter_rate;
/// assert!((filter_rate(960, 10, 63) - 0.000_678).abs() < 1e-6);
/// ```
#[must_use]
pub fn filter_rate(positions: u64, hashes: u32, pairs: u64) -> f64 {
    standard::expected_rate(positions, pairs, hashes)
}

/// Chain pages that a lookup of an absent key reads where an instance has this many data pages, the last of which are in memory.
///
/// ```
/// use bouquet_theory::paged::chain_reads;
/// assert_eq!((chain_reads(31), chain_reads(32), chain_reads(256)), (0, 1, 8));
/// ```
#[must_use]
pub fn chain_reads(pages: u64) -> u64 {
    pages / LANES
}

/// Data pages that a lookup of an absent key reads in the mean: f B.
///
/// ```
/// use bouquet_theory::paged::{data_reads, filter_rate};
/// // A million keys in 63 instances of 252 pages.
/// let reads = data_reads(filter_rate(960, 10, 63), 252);
/// assert!((reads - 0.1709).abs() < 0.0005);
/// ```
#[must_use]
pub fn data_reads(rate: f64, pages: u64) -> f64 {
    crate::special::probability(rate) * pages as f64
}

/// The rate of one page of a forest whose paths have this many: 1 - (1 - F)^(1/l).
///
/// ```
/// use bouquet_theory::paged::{full_rate, page_rate};
/// assert!((full_rate(page_rate(0.01, 3), 3) - 0.01).abs() < 1e-12);
/// ```
#[must_use]
pub fn page_rate(total: f64, levels: u32) -> f64 {
    let levels = f64::from(levels.max(1));
    -((-crate::special::probability(total)).ln_1p() / levels).exp_m1()
}

/// The rate of paths on which all of this many pages are full: 1 - (1 - f)^l.
///
/// ```
/// assert!((bouquet_theory::paged::full_rate(0.01, 2) - 0.0199).abs() < 1e-12);
/// ```
#[must_use]
pub fn full_rate(page: f64, levels: u32) -> f64 {
    if levels == 0 { 0.0 } else { -((-crate::special::probability(page)).ln_1p() * f64::from(levels)).exp_m1() }
}

/// k for a page of this rate, log2(1/f) rounded up, and c, the keys of a page of `bits` bits that is half full then: floor(bits ln 2 / k).
///
/// ```
/// assert_eq!(bouquet_theory::paged::page_size(32_000, 0.005), (8, 2_772));
/// ```
#[must_use]
pub fn page_size(bits: u64, page: f64) -> (u32, u64) {
    let rate = crate::special::probability(page).max(f64::MIN_POSITIVE);
    let hashes = (-rate.log2()).ceil().clamp(1.0, f64::from(crate::MAX_HASHES));
    (hashes as u32, (bits as f64 * std::f64::consts::LN_2 / hashes).max(1.0) as u64)
}

/// A forest: pages of the first level, children of each, and what a page is.
///
/// ```
/// use bouquet_theory::paged::Forest;
/// let forest = Forest { roots: 256, children: 4, bits: 32_000, hashes: 8, capacity: 2_772 };
/// // All in the first level, none full: the rate of a plain filter of this load.
/// let plain = bouquet_theory::standard::rate(32_000, 1_000, 8);
/// assert!((forest.rate(256_000) / plain - 1.0).abs() < 0.05);
/// // Three levels: between two and three full pages on a path.
/// let three = forest.rate(256 * 2_772 * 12);
/// assert!(three > 2.0 * 0.0039 && three < 3.0 * 0.0039, "{three}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forest {
    /// Pages of the first level.
    pub roots: u64,
    /// Children of a block.
    pub children: u64,
    /// Bits of a page.
    pub bits: u64,
    /// k.
    pub hashes: u32,
    /// Keys of a page before it is full.
    pub capacity: u64,
}

impl Forest {
    /// The rate after this many keys: over the numbers of keys that random hashing sends along a path, the chance that some page on it
    /// says yes.
    #[must_use]
    pub fn rate(&self, keys: u64) -> f64 {
        /// A path of binary trees with more keys has more than 16 levels; such forests are told as if they had no more.
        const MOST: u64 = 1 << 16;
        let roots = self.roots.max(1);
        let keys = keys.min(self.capacity.max(1).saturating_mul(roots).saturating_mul(MOST));
        crate::special::probability(1.0 - self.spread(keys as f64, 1.0 / roots as f64, &mut BTreeMap::new()))
    }

    /// The mean of [`missed`](Self::missed) where `keys` keys fall on a page with this probability each: points half a deviation
    /// apart, up to five of them on either side.
    fn spread(&self, keys: f64, chance: f64, known: &mut BTreeMap<u64, f64>) -> f64 {
        let (mean, sigma) = (keys * chance, (keys * chance * (1.0 - chance)).max(0.0).sqrt());
        let step = (sigma / 2.0).floor().max(1.0);
        let (mut sum, mut weight) = (0.0, 0.0);
        let steps = (5.0 * sigma / step).ceil().max(1.0) as i32;
        for at in -steps..=steps {
            let x = (mean + f64::from(at) * step).round();
            if (0.0..=keys).contains(&x) {
                let probability = crate::special::binomial(x, keys, chance);
                weight += probability;
                sum += probability * self.interpolated(x as u64, known);
            }
        }
        if weight > 0.0 { sum / weight } else { self.interpolated(mean.round() as u64, known) }
    }

    /// [`missed`](Self::missed) between numbers of keys at which it is known: these lie an eighth of a deviation apart or less, so that few of them
    /// serve all paths.
    fn interpolated(&self, load: u64, known: &mut BTreeMap<u64, f64>) -> f64 {
        let finest = (load as f64).sqrt() / 8.0;
        let step = 1u64 << (finest.max(1.0) as u64).ilog2();
        let below = load / step * step;
        let first = self.missed(below, known);
        if below == load {
            return first;
        }
        let second = self.missed(below.saturating_add(step), known);
        first + (second - first) * ((load - below) as f64 / step as f64)
    }

    /// The chance that no page from here on says yes to an absent key, when this many keys came here.
    fn missed(&self, load: u64, known: &mut BTreeMap<u64, f64>) -> f64 {
        if let Some(&missed) = known.get(&load) {
            return missed;
        }
        let mut missed = 1.0 - standard::corrected_rate(self.bits, load.min(self.capacity), self.hashes);
        // Where a page says yes to everything, what lies below does not matter.
        if load > self.capacity && missed > 0.0 {
            let more = (load - self.capacity.max(1).min(load)) as f64;
            missed *= self.spread(more, 1.0 / self.children.max(2) as f64, known);
        }
        known.insert(load, missed);
        missed
    }

    /// Keys that this many levels hold, with three deviations of a page's load in reserve.
    ///
    /// ```
    /// use bouquet_theory::paged::Forest;
    /// let forest = Forest { roots: 256, children: 4, bits: 32_000, hashes: 8, capacity: 2_500 };
    /// assert_eq!((forest.holds(1), forest.holds(2)), (256 * 2_350, 5 * 256 * 2_350));
    /// ```
    #[must_use]
    pub fn holds(&self, levels: u32) -> u64 {
        let each = self.capacity as f64 - 3.0 * (self.capacity as f64).sqrt();
        let pages = (0..levels.min(64)).map(|level| (self.children as f64).powi(level as i32)).sum::<f64>();
        (self.roots as f64 * pages * each.max(1.0)) as u64
    }
}
