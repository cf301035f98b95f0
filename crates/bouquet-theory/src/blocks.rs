//! Filters of blocks: a key's probes fall into one block, or into g of them.
//!
//! A block is a small filter with a random number of keys, so its rate is a mixture, and the crowded blocks make it worse than
//! a flat array's:
//!
//! ```text
//! f = ( sum_x P(x arrivals in a block) * E_x )^g,      x ~ Binomial(g n, 1/l),  l = m/B blocks
//! ```
//!
//! E_x is the rate inside a block of x arrivals: exact occupancy for probes anywhere in the block (the classic inner rate is up
//! to 9 % too low for words of 64 bits), a closed form for blocks cut into slices. With g = 1 and [`Inner::Bits`] this is the
//! cache-line blocked filter (F. Putze, P. Sanders, J. Singler, 2007) and Bloom-1, with g > 1 Bloom-g (Y. Qiao, T. Li,
//! S. Chen, 2011), with [`Inner::Slices`] the ultra-fast filter (J. Lu et al., 2017) and the split-block filter of Apache
//! Parquet. There is no closed form for the size, so sizing inverts the mixture numerically. The costly part, E_x, depends
//! neither on the size nor on the number of keys: it is worked out once per number of probes, as far as the sums need it.

use std::f64::consts::LN_2;

use super::MAX_HASHES;
use super::algebra::Estimate;
use super::occupancy::Occupancy;
use super::special::{amount, binomial, falling_root, ln_miss, poisson, positive, power, probability};
use super::standard::{check_reached, corrected_rate_of_balls};
use super::{Size, check_bits, check_positive, check_rate};
use crate::{Error, Result};

/// Blocks of at most this many bits are computed exactly; in larger ones the second-order correction errs by less than 10^-5.
const EXACT_BLOCK: u64 = 1024;
/// More arrivals than this are not walked through one by one.
const WALKED_ARRIVALS: f64 = 100_000.0;
/// Points at which a wide law of arrivals is sampled.
const SAMPLES: f64 = 4096.0;
/// Bits per key beyond which sizing gives up, and below which any filter is enough.
const MAX_BITS_PER_KEY: f64 = 1e9;
const LEAST_BITS_PER_KEY: f64 = 1e-6;

/// Where in its block a key's probes fall.
///
/// ```
/// use bouquet_theory::blocks::{Inner, Layout, limit_rate};
///
/// let rate = |inner| limit_rate(Layout { block_bits: 2, inner, blocks_per_key: 1 }, 10.0, 2);
/// // With one bit per slice, a block is full as soon as a key arrives.
/// assert!((rate(Inner::Slices) - (1.0 - f64::exp(-0.2))).abs() < 1e-12);
/// assert!(rate(Inner::Bits) < rate(Inner::Slices)); // the key's two probes may meet
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inner {
    /// Anywhere, independently: two probes may meet.
    Bits,
    /// One in each of as many equal slices as there are probes per block.
    Slices,
}

/// The layout of a filter of blocks.
///
/// ```
/// use bouquet_theory::blocks::{Inner, Layout, limit_rate};
///
/// let cache_line = Layout { block_bits: 512, inner: Inner::Bits, blocks_per_key: 1 };
/// let parquet = Layout { block_bits: 256, inner: Inner::Slices, blocks_per_key: 1 };
/// assert!((limit_rate(cache_line, 10.0, 7) - 0.0096860).abs() < 5e-8);
/// assert!((limit_rate(parquet, 10.0, 8) - 0.012648).abs() < 5e-7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// B, the bits of a block.
    pub block_bits: u64,
    /// Where in its block a probe falls.
    pub inner: Inner,
    /// g, the blocks that a key uses; 0 is read as 1. If g does not divide k, the first k mod g blocks get one probe more.
    pub blocks_per_key: u32,
}

/// The law of the number of arrivals in a block.
#[derive(Clone, Copy)]
enum Arrivals {
    Binomial { trials: f64, success: f64 },
    Poisson { mean: f64 },
}

impl Arrivals {
    fn probability(self, x: f64) -> f64 {
        match self {
            Arrivals::Binomial { trials, success } => binomial(x, trials, success),
            Arrivals::Poisson { mean } => poisson(x, mean),
        }
    }

    /// P(x + 1) / P(x), falling in x.
    fn ratio(self, x: f64) -> f64 {
        match self {
            Arrivals::Binomial { trials, .. } if x >= trials => 0.0,
            Arrivals::Binomial { trials, success } => (trials - x) / (x + 1.0) * (success / (1.0 - success)),
            Arrivals::Poisson { mean } => mean / (x + 1.0),
        }
    }

    /// The most likely number of arrivals, or one beside it.
    fn mode(self) -> f64 {
        match self {
            Arrivals::Binomial { trials, success } => ((trials + 1.0) * success).floor().min(trials),
            Arrivals::Poisson { mean } => mean.floor(),
        }
    }

    fn mean_and_deviation(self) -> (f64, f64) {
        match self {
            Arrivals::Binomial { trials, success } => (trials * success, (trials * success * (1.0 - success)).sqrt()),
            Arrivals::Poisson { mean } => (mean, mean.sqrt()),
        }
    }
}

/// The rate of m bits (m/B whole blocks), n keys and k probes, with the binomial law of arrivals.
///
/// ```
/// use bouquet_theory::blocks::{Inner, Layout, rate};
///
/// let word = Layout { block_bits: 64, inner: Inner::Bits, blocks_per_key: 1 };
/// let pair = Layout { blocks_per_key: 2, ..word };
/// let (m, n) = (1_600_000, 100_000);
/// assert!((rate(word, m, n, 6) - 0.004052).abs() < 5e-7);
/// assert!(rate(pair, m, n, 8) < 0.3 * rate(word, m, n, 6));
/// ```
pub fn rate(layout: Layout, m: u64, n: u64, k: u32) -> f64 {
    Mixture::new(layout, k).rate(m.checked_div(layout.block_bits).unwrap_or(0), n)
}

/// The limit of [`rate`] for large filters of c bits per key: arrivals are Poisson with mean g B / c.
///
/// ```
/// use bouquet_theory::blocks::{Inner, Layout, limit_rate, rate};
///
/// let line = Layout { block_bits: 512, inner: Inner::Bits, blocks_per_key: 1 };
/// assert!((rate(line, 512 << 20, 512 << 16, 9) / limit_rate(line, 16.0, 9) - 1.0).abs() < 1e-4);
/// ```
pub fn limit_rate(layout: Layout, bits_per_key: f64, k: u32) -> f64 {
    Mixture::new(layout, k).limit_rate(bits_per_key)
}

/// 1 - e^(-nB/(mP)): what a table of P patterns adds to the rate, by keys of one block that share a pattern.
///
/// ```
/// // A word of 64 bits holds 6.4 keys on average at 10 bits per key: with 4096 patterns, 0.16 % of strangers match one.
/// let added = bouquet_theory::blocks::pattern_collisions(64, 10.0, 4096);
/// assert!((added - 6.4 / 4096.0).abs() < 2e-6);
/// ```
pub fn pattern_collisions(block_bits: u64, bits_per_key: f64, patterns: u64) -> f64 {
    if block_bits == 0 || bits_per_key == f64::INFINITY {
        return 0.0;
    }
    -(-(block_bits as f64 / positive(bits_per_key) / patterns as f64)).exp_m1()
}

/// The best number of probes for c bits per key, up to 64, and the rate it gives; of equal rates the fewer probes.
///
/// ```
/// use bouquet_theory::blocks::{Inner, Layout, best_hashes};
///
/// let word = Layout { block_bits: 64, inner: Inner::Bits, blocks_per_key: 1 };
/// let (k, rate) = best_hashes(word, 10.0);
/// assert_eq!(k, 5);
/// assert!((rate - 0.01784).abs() < 5e-6);
/// ```
pub fn best_hashes(layout: Layout, bits_per_key: f64) -> (u32, f64) {
    let start = Outline::best_at(layout, positive(bits_per_key) * LN_2, bits_per_key);
    best_over_hashes(layout, start, |k, least| {
        if Outline::exceeds(layout, k, bits_per_key, least) { 1.0 } else { limit_rate(layout, bits_per_key, k) }
    })
}

/// The bits per key at which k probes reach a rate; infinite where that takes more than 10^9.
///
/// ```
/// use bouquet_theory::blocks::{Inner, Layout, bits_per_key};
///
/// let parquet = Layout { block_bits: 256, inner: Inner::Slices, blocks_per_key: 1 };
/// assert!((bits_per_key(parquet, 8, 0.01) - 10.53).abs() < 5e-3); // Parquet's own table says 10.5
/// ```
pub fn bits_per_key(layout: Layout, k: u32, rate: f64) -> f64 {
    Mixture::new(layout, k).bits_per_key(rate)
}

/// The number of probes that reaches a rate with the fewest bits per key, and those bits.
///
/// ```
/// use bouquet_theory::blocks::{Inner, Layout, best_for_rate};
///
/// let line = Layout { block_bits: 512, inner: Inner::Bits, blocks_per_key: 1 };
/// let (k, c) = best_for_rate(line, 0.01);
/// assert_eq!(k, 6);
/// assert!((c - 9.92).abs() < 5e-3); // a flat array needs 9.59
/// ```
pub fn best_for_rate(layout: Layout, rate: f64) -> (u32, f64) {
    let (k, bits_per_key, _) = best_mixture(layout, probability(rate));
    (k, bits_per_key)
}

/// The same with its mixture, in which the walk through a block is done already; none if no number of probes reaches the rate.
fn best_mixture(layout: Layout, rate: f64) -> (u32, f64, Option<Mixture>) {
    let mut kept = None;
    let (k, bits_per_key) = best_over_hashes(layout, Outline::best_for(layout, rate), |k, least| {
        // One evaluation tells that k needs more bits than the best so far; how many more does not matter.
        if least.is_finite() && Outline::exceeds(layout, k, least, rate) {
            return f64::INFINITY;
        }
        let mut mixture = Mixture::new(layout, k);
        if least.is_finite() && mixture.limit_rate(least) > rate {
            return f64::INFINITY;
        }
        let found = mixture.bits_per_key(rate);
        if found <= least {
            kept = Some((k, mixture));
        }
        found
    });
    (k, bits_per_key, kept.filter(|(of, _)| *of == k).map(|(_, mixture)| mixture))
}

/// The smallest filter of whole blocks for n keys at a rate; `hashes` fixes the probes, `None` leaves them to the search.
///
/// ```
/// use bouquet_theory::blocks::{Inner, Layout, for_rate, rate};
///
/// let parquet = Layout { block_bits: 256, inner: Inner::Slices, blocks_per_key: 1 };
/// let size = for_rate(parquet, 1000, 0.01, Some(8))?;
/// assert!(rate(parquet, size.bits, 1000, 8) <= 0.01);
/// assert!(rate(parquet, size.bits - 256, 1000, 8) > 0.01);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys, no probes or empty blocks, or if the rate is not between 0 and 1 or not reached
/// by any size.
pub fn for_rate(layout: Layout, n: u64, rate: f64, hashes: Option<u32>) -> Result<Size> {
    check_positive("items", n)?;
    check_rate("fpr", rate)?;
    check_positive("block_bits", layout.block_bits)?;
    let (k, c, mixture) = match hashes {
        Some(k) => {
            check_positive("hashes", u64::from(k))?;
            let mut mixture = Mixture::new(layout, k);
            (k, mixture.bits_per_key(rate), Some(mixture))
        }
        None => best_mixture(layout, rate),
    };
    let mut mixture = mixture.unwrap_or_else(|| Mixture::new(layout, k));
    if c > MAX_BITS_PER_KEY {
        check_reached("fpr", rate, mixture.limit_rate(MAX_BITS_PER_KEY))?;
    }
    let bits = check_bits(c * n as f64)?;
    // The Poisson limit is off by a few blocks for few keys: settle on the least number with the binomial law.
    let most = u64::MAX / layout.block_bits;
    let mut enough = |blocks: u64| mixture.rate(blocks.min(most), n) <= rate;
    let mut high = bits.div_ceil(layout.block_bits).max(1);
    let mut low = 0;
    while !enough(high) {
        low = high;
        high = high.saturating_mul(2);
        check_bits(high as f64 * layout.block_bits as f64)?;
    }
    // The answer is close below `high` unless the limit was too small: probe downwards with doubling steps.
    let mut step = 1;
    while low == 0 && high > step && enough(high - step) {
        high -= step;
        step *= 2;
    }
    if low == 0 {
        low = high.saturating_sub(step);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    let bits = high.checked_mul(layout.block_bits).ok_or_else(|| {
        Error::parameter("block_bits", "such that the filter has fewer than 2^64 bits", layout.block_bits)
    })?;
    Ok(Size { bits, hashes: k })
}

/// What one key does to the zeros of its blocks: it takes a from the chance of a bit, and b from that of a pair of bits, by the
/// sort of pair.
struct Survival {
    block_bits: f64,
    /// Blocks per key.
    arrivals: f64,
    a: f64,
    /// Each sort's share of the pairs, and its b.
    pairs: [(f64, f64); 2],
}

impl Survival {
    fn new(layout: Layout, k: u32) -> Self {
        let bits = layout.block_bits.max(1) as f64;
        let g = layout.blocks_per_key.max(1);
        let shares = (0..g).map(|j| f64::from(k / g + u32::from(j < k % g)));
        match layout.inner {
            Inner::Bits => {
                let lost = |bits_at_once: f64| shares.clone().map(|s| -ln_miss(bits / bits_at_once, s).exp_m1()).sum();
                Survival {
                    block_bits: bits,
                    arrivals: f64::from(g),
                    a: lost(1.0),
                    pairs: [(1.0, lost(2.0)), (0.0, 0.0)],
                }
            }
            Inner::Slices => {
                // Slices of different shares differ a little; their mean length is what the moments need.
                let (probes, arrivals) = (f64::from(k.max(1)), f64::from(g));
                let slice = (bits * arrivals / probes).max(1.0);
                let (one, same) = (1.0 / slice, (slice - 1.0) / (bits - 1.0).max(1.0));
                let pairs = [(same, arrivals * 2.0 * one), (1.0 - same, arrivals * one * (2.0 - one))];
                Survival { block_bits: bits, arrivals, a: arrivals * one, pairs }
            }
        }
    }

    /// What one more key takes from the logarithm of the expected zeros of l blocks.
    fn decline(&self, blocks: f64) -> f64 {
        -self.arrivals * (-(self.a / self.arrivals / blocks).min(1.0)).ln_1p()
    }

    /// Mean and standard deviation of the zeros of l blocks with n keys, of which each goes to its blocks independently: a bit
    /// is still zero with probability (1 - a/l)^n, two bits of a block with (1 - b/l)^n, two of different blocks with
    /// (1 - 2a/l)^n. (A key of g blocks is g keys of a/g each.) Differences of nearly equal probabilities are taken by their
    /// logarithms, so that nothing cancels in filters of any size.
    fn zeros(&self, blocks: f64, n: f64) -> (f64, f64) {
        if n <= 0.0 {
            return (blocks * self.block_bits, 0.0);
        }
        let arrivals = n * self.arrivals;
        let hit = |a: f64| (a / self.arrivals / blocks).min(1.0);
        let q = hit(self.a);
        let ln_one = -n * self.decline(blocks);
        let one = ln_one.exp();
        let square = (2.0 * ln_one).exp();
        let bits = self.block_bits;
        // What pairs of a sort add to the variance per pair: P(both) - P(one)^2.
        let excess =
            |ln_both: f64| if square > 0.0 { square * (ln_both - 2.0 * ln_one).exp_m1() } else { ln_both.exp() };
        let same: f64 = self
            .pairs
            .iter()
            .filter(|(share, _)| *share > 0.0)
            .map(|&(share, b)| share * excess(arrivals * (-hit(b)).ln_1p()))
            .sum();
        // (1 - 2q) / (1 - q)^2 = 1 - (q / (1-q))^2
        let different = square * (arrivals * (-(q / (1.0 - q)).powi(2).min(1.0)).ln_1p()).exp_m1();
        let mut variance = blocks * bits * (one * -ln_one.exp_m1() + (bits - 1.0) * same);
        if blocks > 1.0 {
            variance += blocks * (blocks - 1.0) * bits * bits * different;
        }
        (blocks * bits * one, variance.max(0.0).sqrt())
    }
}

/// The expected share of ones of m bits with n keys and k probes, and its standard deviation.
///
/// ```
/// use bouquet_theory::blocks::{Inner, Layout, fill};
///
/// let line = Layout { block_bits: 512, inner: Inner::Bits, blocks_per_key: 1 };
/// let (mean, deviation) = fill(line, 512 << 10, 50_000, 7);
/// assert!((mean - 0.48505).abs() < 1e-5 && (deviation - 0.000388).abs() < 1e-6);
/// ```
pub fn fill(layout: Layout, m: u64, n: u64, k: u32) -> (f64, f64) {
    let blocks = m.checked_div(layout.block_bits).unwrap_or(0) as f64;
    if blocks == 0.0 || k == 0 {
        return (0.0, 0.0);
    }
    let (mean, deviation) = Survival::new(layout, k).zeros(blocks, n as f64);
    let bits = blocks * layout.block_bits as f64;
    (probability(1.0 - mean / bits), deviation / bits)
}

/// The number of keys from the zeros of all blocks: ln(Z/m) / ln(1 - a/l), a being the chance of a bit of a key's block to be
/// set by it. `None` if there are no zeros, or no bits or probes.
///
/// ```
/// use bouquet_theory::blocks::{Inner, Layout, cardinality, fill};
///
/// let parquet = Layout { block_bits: 256, inner: Inner::Slices, blocks_per_key: 1 };
/// let (mean, _) = fill(parquet, 256 * 4000, 100_000, 8);
/// let zeros = ((1.0 - mean) * 256.0 * 4000.0) as u64;
/// assert!((cardinality(parquet, 256 * 4000, 8, zeros).unwrap().value - 100_000.0).abs() < 1.0);
/// ```
pub fn cardinality(layout: Layout, m: u64, k: u32, zeros: u64) -> Option<Estimate> {
    let blocks = m.checked_div(layout.block_bits).unwrap_or(0) as f64;
    if blocks == 0.0 || k == 0 || zeros == 0 {
        return None;
    }
    let share = (zeros as f64 / (blocks * layout.block_bits as f64)).min(1.0);
    let value = amount(-share.ln() / Survival::new(layout, k).decline(blocks));
    Some(Estimate { value, error: cardinality_error(layout, m, k, value) })
}

/// The standard error of [`cardinality`] for n keys; infinite beyond saturation.
///
/// ```
/// use bouquet_theory::blocks::{Inner, Layout, cardinality_error};
/// use bouquet_theory::algebra;
///
/// let line = Layout { block_bits: 512, inner: Inner::Bits, blocks_per_key: 1 };
/// // A little worse than a flat array, because blocks differ in load.
/// let (blocks, flat) = (cardinality_error(line, 1 << 20, 7, 1e5), algebra::cardinality_error(1 << 20, 7, 1e5));
/// assert!(blocks > flat && blocks < 2.0 * flat);
/// ```
pub fn cardinality_error(layout: Layout, m: u64, k: u32, n: f64) -> f64 {
    let blocks = m.checked_div(layout.block_bits).unwrap_or(0) as f64;
    if blocks == 0.0 || k == 0 {
        return f64::INFINITY;
    }
    let survival = Survival::new(layout, k);
    let (mean, deviation) = survival.zeros(blocks, amount(n));
    let slope = mean * survival.decline(blocks);
    if slope > 0.0 { deviation / slope } else { f64::INFINITY }
}

/// The k of least cost in 1..=64; of equal costs the least k. Costs fall, then rise but for small bumps (uneven shares of g
/// blocks): the search walks both ways from about the optimum, and four rises in a row end a way. Slices of whole bits have
/// false optima where k divides the block, far above the true one, so there the search starts at 1.
///
/// `cost(k, least)` may be anything above `least` if it is above the least cost so far.
fn best_over_hashes(layout: Layout, start: u32, mut cost: impl FnMut(u32, f64) -> f64) -> (u32, f64) {
    let start = if layout.inner == Inner::Slices { 1 } else { start };
    if layout.block_bits == 1 {
        // All probes of a key meet.
        return (1, cost(1, f64::INFINITY));
    }
    let (mut best, mut least) = (start, cost(start, f64::INFINITY));
    for k in (1..start).rev() {
        let found = cost(k, least);
        if found <= least {
            (best, least) = (k, found);
        } else if k + 3 < best && least.is_finite() {
            break;
        }
    }
    for k in start + 1..=MAX_HASHES {
        if k > best + 4 && least.is_finite() {
            break;
        }
        let found = cost(k, least);
        if found < least {
            (best, least) = (k, found);
        }
    }
    (best, least)
}

/// The Poisson limit of the rate in closed form, by inclusion and exclusion over the bits of a query that no key has set:
///
/// ```text
/// P(all bits set) = sum_i (-1)^i C(j,i) E[(1 - i/B)^(k x)] = sum_i (-1)^i C(j,i) exp(-mean (1 - (1 - i/B)^k)),  j different bits
/// ```
///
/// A few exponentials instead of a walk; but the signs alternate, and the digits that are lost are as many as those of 2^k and
/// of the rate together. So it comes with its error, and decides where that is small.
struct Outline {
    words: f64,
    extra: f64,
    /// Coefficients and exponents for a block's share of the probes, and for one more.
    plain: Vec<(f64, f64)>,
    longer: Vec<(f64, f64)>,
}

impl Outline {
    /// The most probes in a block for which digits are left at the rates that this many probes are used for.
    const MOST_PROBES: u32 = 32;

    fn new(layout: Layout, k: u32) -> Option<Self> {
        let words = layout.blocks_per_key.max(1);
        let (base, extra) = (k / words, k % words);
        let exact = layout.inner == Inner::Bits && (2..=EXACT_BLOCK).contains(&layout.block_bits);
        if !exact || k == 0 || base >= Self::MOST_PROBES {
            return None;
        }
        let extra_share = f64::from(extra) / f64::from(words);
        let terms = |probes: u32| {
            let different = Missed::new(layout.block_bits, probes).law;
            // For each i the sum over j of P(j different bits) C(j,i), by Horner's rule on sum_j P(j) (1 + z)^j.
            let mut choices = vec![0.0; different.len()];
            for chance in different.iter().rev() {
                for i in (1..choices.len()).rev() {
                    choices[i] += choices[i - 1];
                }
                choices[0] += chance;
            }
            let signs = [1.0, -1.0].into_iter().cycle();
            let missed = |i: usize| {
                let share = (i as f64 / layout.block_bits as f64).min(1.0);
                -(f64::from(base) * (-share).ln_1p() + (-share * extra_share).ln_1p()).exp_m1()
            };
            choices.iter().zip(signs).enumerate().map(|(i, (choices, sign))| (sign * choices, missed(i))).collect()
        };
        let longer = if extra > 0 { terms(base + 1) } else { Vec::new() };
        Some(Outline { words: words.into(), extra: extra.into(), plain: terms(base), longer })
    }

    /// The rate with this many arrivals in a block on average, and a bound of its error.
    fn rate(&self, mean: f64) -> (f64, f64) {
        let sum = |terms: &[(f64, f64)]| {
            let terms = terms.iter().map(|(coefficient, missed)| coefficient * (-mean * missed).exp());
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term: f64| (sum + term, size + term.abs()));
            // The exponents are off by rounding, too.
            (probability(sum), 4.0 * f64::EPSILON * (1.0 + mean) * size)
        };
        let ((plain, noise), exponent) = (sum(&self.plain), self.words - self.extra);
        let ((longer, longer_noise), extra) = (sum(&self.longer), self.extra);
        let most = power(plain + noise, exponent) * power(longer + longer_noise, extra);
        let rate = power(plain, exponent) * power(longer, extra);
        (rate, most - rate)
    }

    /// True if k probes certainly have a larger rate than this at this many bits per key.
    fn exceeds(layout: Layout, k: u32, bits_per_key: f64, rate: f64) -> bool {
        let mean = layout.block_bits as f64 * f64::from(layout.blocks_per_key.max(1)) / positive(bits_per_key);
        let found = Self::new(layout, k).filter(|_| mean.is_finite()).map(|outline| outline.rate(mean));
        // The error is that of the other side, too; twice it is far beyond both, and walks are not free of rounding.
        found.is_some_and(|(found, error)| found - 2.0 * error > rate * (1.0 + 1e-9))
    }

    /// About the best k at this many bits per key, near a first guess.
    fn best_at(layout: Layout, guess: f64, bits_per_key: f64) -> u32 {
        let mean = layout.block_bits as f64 * f64::from(layout.blocks_per_key.max(1)) / positive(bits_per_key);
        let mut best = (guess as u32).clamp(1, MAX_HASHES);
        let rate = |k: u32| {
            let outline = Self::new(layout, k).filter(|_| mean.is_finite());
            outline.map(|outline| outline.rate(mean)).filter(|(rate, error)| *error < 0.01 * rate).map(|(rate, _)| rate)
        };
        let Some(mut least) = rate(best) else { return best };
        for towards in [-1i32, 1] {
            while let Some(next) = best.checked_add_signed(towards).filter(|next| (1..=MAX_HASHES).contains(next)) {
                match rate(next) {
                    Some(found) if found < least => (best, least) = (next, found),
                    _ => break,
                }
            }
        }
        best
    }

    /// About the best k for a rate.
    fn best_for(layout: Layout, rate: f64) -> u32 {
        let flat = -rate.log2();
        let arrivals = layout.block_bits as f64 * f64::from(layout.blocks_per_key.max(1));
        let mut best = (flat as u32).clamp(1, MAX_HASHES);
        // The best k at about the bits per key that the best k so far needs; twice, because small blocks want far fewer probes than
        // a flat array.
        for _ in 0..2 {
            let Some(outline) = Self::new(layout, best) else { return best };
            let distance = |log: f64| (outline.rate(arrivals / log.exp()).0 / rate).ln();
            let low = (flat / LN_2).max(0.1).ln();
            let mut ends = [(low, distance(low)); 2];
            while ends[1].1 > 0.0 && ends[1].0 < low + 3.0 {
                ends = [ends[1], (ends[1].0 + 0.7, distance(ends[1].0 + 0.7))];
            }
            if !(ends[0].1 > 0.0 && ends[1].1 <= 0.0) {
                return best;
            }
            best = Self::best_at(layout, best.into(), falling_root(ends, 1e-2, distance).exp());
        }
        best
    }
}

/// The mixture over the arrivals for one layout and number of probes, at any size and number of keys.
struct Mixture {
    layout: Layout,
    /// g, at least 1.
    words: u32,
    /// The probes in a block; `extra` of the g blocks get one more.
    base: u32,
    extra: u32,
    inside: Inside,
}

impl Mixture {
    fn new(layout: Layout, k: u32) -> Self {
        let words = layout.blocks_per_key.max(1);
        let (base, extra) = (k / words, k % words);
        let inside = Inside::new(layout, base, f64::from(extra) / f64::from(words));
        Mixture { layout, words, base, extra, inside }
    }

    /// See [`rate`].
    fn rate(&mut self, blocks: u64, n: u64) -> f64 {
        if self.is_void() || blocks == 0 {
            return 1.0;
        }
        let trials = n as f64 * f64::from(self.words);
        self.over(Arrivals::Binomial { trials, success: 1.0 / blocks as f64 })
    }

    /// See [`limit_rate`].
    fn limit_rate(&mut self, bits_per_key: f64) -> f64 {
        let c = positive(bits_per_key);
        if self.is_void() || c == 0.0 {
            return 1.0;
        }
        let mean = amount(self.layout.block_bits as f64 * f64::from(self.words) / c);
        self.over(Arrivals::Poisson { mean })
    }

    /// See [`bits_per_key`].
    fn bits_per_key(&mut self, rate: f64) -> f64 {
        let rate = probability(rate);
        if rate == 1.0 {
            return 0.0;
        }
        if self.is_void() {
            return f64::INFINITY;
        }
        // A bracket around the size of a flat array, because much smaller filters have long walks. Blocks need a little more.
        let k = f64::from(self.base) * f64::from(self.words) + f64::from(self.extra);
        let flat = (-k / (-power(rate, 1.0 / k)).ln_1p()).clamp(1e-3, MAX_BITS_PER_KEY);
        let (mut low, mut at_low) = (flat, self.limit_rate(flat));
        let (mut high, mut at_high) = (low, at_low);
        let mut step = 1.125;
        while at_high > rate {
            if high > MAX_BITS_PER_KEY {
                return f64::INFINITY;
            }
            (low, at_low) = (high, at_high);
            high *= step;
            at_high = self.limit_rate(high);
            step *= step;
        }
        while at_low <= rate {
            if low < LEAST_BITS_PER_KEY {
                return low;
            }
            (high, at_high) = (low, at_low);
            low /= step;
            at_low = self.limit_rate(low);
            step *= step;
        }
        // A power law is nearly straight between the two.
        let distance = |found: f64| (found / rate).ln();
        let ends = [(low.ln(), distance(at_low)), (high.ln(), distance(at_high))];
        falling_root(ends, 1e-9, |log| distance(self.limit_rate(log.exp()))).exp()
    }

    /// True without probes or bits: such a filter lets everything pass.
    fn is_void(&self) -> bool {
        (self.base == 0 && self.extra == 0) || self.layout.block_bits == 0
    }

    fn over(&mut self, arrivals: Arrivals) -> f64 {
        let (mean, deviation) = arrivals.mean_and_deviation();
        if mean == 0.0 {
            return 0.0;
        }
        let last = (mean + 12.0 * deviation + 40.0).ceil();
        let (mut plain, mut longer) =
            if last <= WALKED_ARRIVALS { self.walked(arrivals, last as usize) } else { self.sampled(arrivals, last) };
        if plain.is_nan() {
            // The law is narrower than the sampling or than the spacing of floating-point numbers: all mass is at the mean.
            (plain, longer) = self.inside.approximate(mean);
        }
        power(probability(plain), f64::from(self.words - self.extra))
            * power(probability(longer), f64::from(self.extra))
    }

    /// The mean rates inside a block over whole arrivals up to `last`. From the most likely number of arrivals both ways, each
    /// share follows from the one before, until no later term changes a digit of the sums: below because shares and rates
    /// fall, above because shares fall and rates are at most 1.
    fn walked(&mut self, arrivals: Arrivals, last: usize) -> (f64, f64) {
        let peak = arrivals.mode();
        let (mut weight, mut plain, mut longer) = (0.0, 0.0, 0.0_f64);
        let top = arrivals.probability(peak);
        let (mut share, mut x) = (top, peak);
        while x <= last as f64 {
            let least_sum = if self.extra > 0 { longer.min(plain) } else { plain };
            if share < 1e-17 * least_sum || share == 0.0 {
                break;
            }
            let (p, l) = self.inside.rates(x as usize);
            weight += share;
            plain += share * p;
            longer += share * l;
            share *= arrivals.ratio(x);
            x += 1.0;
        }
        (share, x) = (top, peak);
        while x > 0.0 {
            x -= 1.0;
            share /= arrivals.ratio(x);
            if share < 1e-20 * top {
                break;
            }
            let (p, l) = self.inside.rates(x as usize);
            weight += share;
            plain += share * p;
            longer += share * l;
        }
        (plain / weight, longer / weight)
    }

    /// The same for wide laws, at some thousand points.
    fn sampled(&self, arrivals: Arrivals, last: f64) -> (f64, f64) {
        let (mean, deviation) = arrivals.mean_and_deviation();
        let first = (mean - 12.0 * deviation - 12.0).floor().max(0.0);
        let stride = ((last - first) / SAMPLES).ceil().max(1.0);
        let (mut weight, mut plain, mut longer) = (0.0, 0.0, 0.0_f64);
        for step in 0..=((last - first) / stride) as u64 {
            let x = first + step as f64 * stride;
            let share = arrivals.probability(x);
            let least_sum = if self.extra > 0 { longer.min(plain) } else { plain };
            if x > mean && share < 1e-17 * least_sum {
                break;
            }
            let (p, l) = self.inside.approximate(x);
            weight += share;
            plain += share * p;
            longer += share * l;
        }
        (plain / weight, longer / weight)
    }
}

/// The rates inside a block after 0, 1, 2, ... arrivals, as far as they were asked for: for a block's share of the probes, and
/// for one more.
struct Inside {
    layout: Layout,
    base: u32,
    extra_share: f64,
    /// The probes of a query that no arrival has hit, for blocks that are walked through exactly.
    missed: Option<(Missed, Option<Missed>)>,
    /// By the number of arrivals; NaN where it was not asked for yet.
    known: Vec<(f64, f64)>,
}

impl Inside {
    fn new(layout: Layout, base: u32, extra_share: f64) -> Self {
        let exact = layout.inner == Inner::Bits && (1..=EXACT_BLOCK).contains(&layout.block_bits);
        let missed = exact.then(|| {
            let longer = (extra_share > 0.0).then(|| Missed::new(layout.block_bits, base.saturating_add(1)));
            (Missed::new(layout.block_bits, base), longer)
        });
        Inside { layout, base, extra_share, missed, known: Vec::new() }
    }

    /// The rates after x arrivals; the second is 0 if no block gets a probe more.
    fn rates(&mut self, x: usize) -> (f64, f64) {
        if let Some((plain, longer)) = &mut self.missed {
            while self.known.len() <= x {
                self.known.push((plain.all_hit(), longer.as_ref().map_or(0.0, Missed::all_hit)));
                plain.arrive(self.base, self.extra_share);
                if let Some(longer) = longer {
                    longer.arrive(self.base, self.extra_share);
                }
            }
            return self.known[x];
        }
        if self.known.len() <= x {
            self.known.resize(x + 1, (f64::NAN, f64::NAN));
        }
        if self.known[x].0.is_nan() {
            self.known[x] = self.approximate(x as f64);
        }
        self.known[x]
    }

    /// The same in closed form, for any amount of arrivals: exact for slices, to second order for bits.
    fn approximate(&self, x: f64) -> (f64, f64) {
        inner_rates(self.layout, x, self.base, self.extra_share)
    }
}

/// How many of the bits that a query probes are still zero in a block. k probes meet at most k bits, which is a chain of few
/// states, while the ones of the block have hundreds; and E[(ones/B)^k] is the chance that none of the k is zero.
struct Missed {
    block_bits: f64,
    /// 1 - u/B and (u+1)/B: the chances that a bit which is set is none of u, and one of u + 1.
    spared: Vec<f64>,
    hit: Vec<f64>,
    /// `law[u]` = P(u bits of the query are zero); what is beyond is below the cut, and so is what is before `first`.
    law: Vec<f64>,
    first: usize,
}

impl Missed {
    /// Probabilities below this are dropped.
    const CUT: f64 = 1e-40;

    fn new(block_bits: u64, k: u32) -> Self {
        // In an empty block it is the number of different bits among k.
        let mut different = Occupancy::new(block_bits, 1e-60);
        different.throw_many(k.into());
        let law: Vec<f64> = (0..=block_bits.min(k.into())).map(|u| different.chance_of(u)).collect();
        let first = law.iter().position(|&p| p >= Self::CUT).unwrap_or(0);
        let block_bits = block_bits as f64;
        let share = |u: usize| u as f64 / block_bits;
        let spared = (0..law.len()).map(|u| 1.0 - share(u)).collect();
        let hit = (0..law.len()).map(|u| share(u + 1)).collect();
        Missed { block_bits, spared, hit, law, first }
    }

    fn all_hit(&self) -> f64 {
        self.law[0]
    }

    /// One more arrival sets `probes` bits, and another one with a probability.
    fn arrive(&mut self, probes: u32, extra_share: f64) {
        for _ in 0..probes {
            if self.law.len() == 1 {
                return;
            }
            let (from, last) = (self.first.saturating_sub(1), self.law.len() - 1);
            let (law, spared, hit) = (&mut self.law[from..=last], &self.spared[from..=last], &self.hit[from..=last]);
            for u in 0..last - from {
                law[u] = law[u] * spared[u] + law[u + 1] * hit[u];
            }
            law[last - from] *= spared[last - from];
            self.trim();
        }
        if extra_share > 0.0 {
            self.set(extra_share);
        }
    }

    /// Sets one bit with this probability: it hits one of u with u/B.
    fn set(&mut self, share: f64) {
        let scale = share / self.block_bits;
        let law = self.law.as_mut_slice();
        for u in self.first.saturating_sub(1)..law.len() - 1 {
            let here = f64::from(u as u32);
            law[u] = law[u] * (1.0 - here * scale) + law[u + 1] * ((here + 1.0) * scale);
        }
        let last = law.len() - 1;
        law[last] *= 1.0 - last as f64 * scale;
        self.trim();
    }

    /// Drops what has become too unlikely, and takes in what is no longer.
    fn trim(&mut self) {
        if self.first > 0 && self.law[self.first - 1] >= Self::CUT {
            self.first -= 1;
        }
        while self.law.len() > 1 && self.law.last().is_some_and(|&p| p < Self::CUT) {
            self.law.pop();
        }
    }
}

/// The rates inside a block after x arrivals, for `base` and for `base + 1` probes. An arrival brings `base` probes, and
/// one more with probability `extra_share`.
fn inner_rates(layout: Layout, x: f64, base: u32, extra_share: f64) -> (f64, f64) {
    let (bits, base) = (layout.block_bits as f64, f64::from(base));
    match layout.inner {
        Inner::Bits => {
            let balls = x * (base + extra_share);
            (corrected_rate_of_balls(bits, balls, base), corrected_rate_of_balls(bits, balls, base + 1.0))
        }
        Inner::Slices => {
            let slices = if extra_share > 0.0 { base + 1.0 } else { base };
            let slice = (bits / slices).floor().max(1.0);
            let plain = power(-ln_miss(slice, x).exp_m1(), base);
            // Only some arrivals use the last slice.
            let last = if extra_share > 0.0 { -ln_miss(slice / extra_share, x).exp_m1() } else { 1.0 };
            (plain, plain * last)
        }
    }
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
