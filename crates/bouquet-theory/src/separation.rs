//! Which of s sets: sets that share words, each with its own offset.
//!
//! A key has one word of w bits, cut into k sub-blocks of b bits, and a random place in each. Set i owns the bits i places
//! further on, around the sub-block. A key's own memberships lie at other offsets than those of the set that is asked for, so
//! they never raise its rate; the keys of all sets that share the word do. With N memberships in l words
//!
//! ```text
//! f = sum_x P(x arrivals in a word) (1 - (1 - 1/b)^x)^k,    x ~ Binomial(N, 1/l)
//! ```
//!
//! Source: M. Mitzenmacher, P. Reviriego, S. Pontarelli, *OMASS: One memory access set separation*, 2016.

use super::blocks::{self, Inner, Layout};
use super::special::{binomial, power, probability};

/// The words of one design: k sub-blocks of b bits.
fn layout(sub_block: u64, k: u32) -> Layout {
    Layout { block_bits: sub_block.saturating_mul(u64::from(k)), inner: Inner::Slices, blocks_per_key: 1 }
}

/// f, the probability that a given set seems to hold a key that is not in it, whatever other sets hold it.
///
/// ```
/// // l = 10,000 words of 64 bits, four sub-blocks, 8,000 keys in each of four sets.
/// assert!((bouquet_theory::separation::rate(10_000, 32_000, 16, 4) - 0.003_07).abs() < 5e-6);
/// ```
pub fn rate(words: u64, memberships: u64, sub_block: u64, k: u32) -> f64 {
    let layout = layout(sub_block, k);
    if layout.block_bits == 0 {
        return 1.0;
    }
    // As many words as fit what a number can count.
    let words = words.min(u64::MAX / layout.block_bits);
    blocks::rate(layout, words * layout.block_bits, memberships, k)
}

/// The least number of words with which the rate is at most the given one.
///
/// ```
/// use bouquet_theory::separation::{rate, words_for_rate};
/// let words = words_for_rate(32_000, 0.01, 16, 4)?;
/// assert!(rate(words, 32_000, 16, 4) <= 0.01 && rate(words - 1, 32_000, 16, 4) > 0.01);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// As [`blocks::for_rate`].
pub fn words_for_rate(memberships: u64, rate: f64, sub_block: u64, k: u32) -> crate::Result<u64> {
    let layout = layout(sub_block, k);
    Ok(blocks::for_rate(layout, memberships, rate, Some(k))?.bits.div_ceil(layout.block_bits))
}

/// The probability that at least one of s sets seems to hold a key, when each does with probability `one` and two of them with
/// `two`: (f/t)(1 - (1-t)^s), t = two/one.
///
/// It is exact in the first two orders; independent sets have t = f, and sets that always agree t = 1.
///
/// ```
/// use bouquet_theory::separation::any_of;
/// assert!((any_of(0.1, 0.01, 3) - (1.0 - 0.9f64.powi(3))).abs() < 1e-12);
/// assert!((any_of(0.1, 0.1, 3) - 0.1).abs() < 1e-12);
/// ```
pub fn any_of(one: f64, two: f64, sets: u64) -> f64 {
    let one = probability(one);
    if one == 0.0 || sets == 0 {
        return 0.0;
    }
    let t = probability(two / one);
    if t * sets as f64 * 0.5 < 1e-12 {
        return probability(one * sets as f64);
    }
    probability(-one / t * (sets as f64 * (-t).ln_1p()).exp_m1())
}

/// The probability that at least one of s sets seems to hold a key that is in none.
///
/// ```
/// use bouquet_theory::separation::{any_rate, rate};
/// let (one, any) = (rate(10_000, 32_000, 16, 4), any_rate(10_000, 32_000, 16, 4, 4));
/// assert!(any < 4.0 * one && any > 3.9 * one);
/// ```
pub fn any_rate(words: u64, memberships: u64, sub_block: u64, k: u32, sets: u64) -> f64 {
    if words == 0 || sub_block == 0 || k == 0 {
        return 1.0;
    }
    let (trials, success) = (memberships as f64, 1.0 / words as f64);
    let mean = trials * success;
    let spread = 12.0 * mean.sqrt() + 40.0;
    let (low, high) = ((mean - spread).max(0.0).floor(), (mean + spread).ceil().min(trials));
    // Wide laws are sampled; what matters changes slowly there.
    let step = ((high - low) / 4_096.0).ceil().max(1.0);
    let (b, k) = (sub_block as f64, f64::from(k));
    let (mut sum, mut weights, mut x) = (0.0, 0.0, low);
    while x <= high {
        let weight = binomial(x, trials, success);
        let miss = |bits: f64| if bits >= b { f64::from(u8::from(x == 0.0)) } else { (x * (-bits / b).ln_1p()).exp() };
        let (one, two) = (1.0 - miss(1.0), (1.0 - 2.0 * miss(1.0) + miss(2.0)).max(0.0));
        sum += weight * any_of(power(one, k), power(two, k), sets);
        weights += weight;
        x += step;
    }
    if weights > 0.0 { probability(sum / weights) } else { probability(1.0 - (-mean / b).exp()) }
}
