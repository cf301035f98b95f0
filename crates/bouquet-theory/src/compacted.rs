//! Sparse filters packed column by column: what is lost, what is invented, and what a lossless code would have taken.
//!
//! A vector of bits is laid as `blocks` rows of b bits. Each of the b columns becomes one number: 0 for no ones, the row of its
//! only one, a marker that reads as all ones if at least half of the rows have one, and else the row of a random one of them.
//! The other ones of such a column are lost, and the zeros of a marked one are ones.
//!
//! Source: M. Mosharraf, A. Jayasumana, I. Ray, *Compacted Bloom filter*, 2016.

use super::special::{binomial, entropy, probability};
use super::{MAX_BITS, MAX_HASHES, Size, check_positive, check_rate, standard};
use crate::{Error, Result};

/// The most rows: an index of 16 bits names them.
pub const MAX_BLOCKS: u32 = (1 << 16) - 2;

/// ceil(log2(blocks + 2)), the bits of an index: every row, nothing and all.
///
/// ```
/// assert_eq!([2, 6, 7, 14, 30].map(bouquet_theory::compacted::index_bits), [2, 3, 4, 4, 5]);
/// ```
pub fn index_bits(blocks: u32) -> u32 {
    u32::BITS - (blocks.clamp(1, MAX_BLOCKS) + 1).leading_zeros()
}

/// The chance that a one survives when a share `fill` of the bits are ones.
///
/// ```
/// use bouquet_theory::compacted::survival;
/// assert_eq!(survival(2, 0.3), 1.0, "two rows lose nothing");
/// assert!((1.0 - survival(6, 0.05).powi(3) - 0.275).abs() < 5e-4);
/// ```
pub fn survival(blocks: u32, fill: f64) -> f64 {
    let blocks = blocks.clamp(1, MAX_BLOCKS);
    let others = f64::from(blocks - 1);
    // Counted from what is lost, so that nothing lost is exactly 1.
    let lost = |ones: u32| if 2 * ones >= blocks { 0.0 } else { 1.0 - 1.0 / f64::from(ones) };
    let sum: f64 = (2..=blocks.div_ceil(2)).map(|ones| binomial(f64::from(ones - 1), others, fill) * lost(ones)).sum();
    probability(1.0 - sum)
}

/// The chance that a zero reads as a one.
///
/// ```
/// assert_eq!(bouquet_theory::compacted::invention(6, 0.0), 0.0);
/// assert!(bouquet_theory::compacted::invention(6, 0.05) < 0.002);
/// ```
pub fn invention(blocks: u32, fill: f64) -> f64 {
    let blocks = blocks.clamp(1, MAX_BLOCKS);
    let least = u64::from(blocks.div_ceil(2).max(2));
    probability(super::special::binomial_tail(least, f64::from(blocks - 1), fill))
}

/// The share of ones after packing and unpacking a vector with this share of ones.
///
/// ```
/// assert!((bouquet_theory::compacted::packed_fill(2, 0.3) - 0.3).abs() < 1e-12);
/// ```
pub fn packed_fill(blocks: u32, fill: f64) -> f64 {
    let fill = probability(fill);
    probability(fill * survival(blocks, fill) + (1.0 - fill) * invention(blocks, fill))
}

/// 1 - a^k, the share of present keys that seem absent.
///
/// ```
/// use bouquet_theory::compacted::false_negatives;
/// assert!((false_negatives(6, 0.02, 3) - 0.132).abs() < 5e-4);
/// assert!((false_negatives(14, 0.05, 3) - 0.608).abs() < 5e-4);
/// ```
pub fn false_negatives(blocks: u32, fill: f64, k: u32) -> f64 {
    probability(-(f64::from(k) * survival(blocks, fill).ln()).exp_m1())
}

/// The rate of false positives: the share of ones after packing, to the power of k.
///
/// ```
/// use bouquet_theory::compacted::false_positives;
/// assert!((false_positives(2, 0.5, 3) - 0.125).abs() < 1e-12);
/// ```
pub fn false_positives(blocks: u32, fill: f64, k: u32) -> f64 {
    packed_fill(blocks, fill).powf(f64::from(k))
}

/// H(fill) below index_bits/blocks: the share of ones below which an arithmetic coder makes a shorter message than packing,
/// and loses nothing. 1/2 where packing makes the vector no shorter.
///
/// ```
/// let fill = bouquet_theory::compacted::lossless_below(6);
/// assert!((fill - 0.11).abs() < 0.0005, "half the length");
/// ```
pub fn lossless_below(blocks: u32) -> f64 {
    let ratio = f64::from(index_bits(blocks)) / f64::from(blocks.clamp(1, MAX_BLOCKS));
    let (mut low, mut high) = (0.0, 0.5);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if entropy(middle) < ratio { low = middle } else { high = middle }
    }
    low
}

/// The shortest message for n keys whose false positives are at most `rate` and whose false negatives are at most `loss`:
/// bits of the vector, a multiple of `blocks`, and probes per key.
///
/// For each number of probes the fullest vector that keeps both rates is the smallest.
///
/// ```
/// let size = bouquet_theory::compacted::for_rates(2_000, 0.01, 0.1, 6)?;
/// let fill = 1.0 - (1.0 - 1.0 / size.bits as f64).powf(2_000.0 * f64::from(size.hashes));
/// assert!(bouquet_theory::compacted::false_positives(6, fill, size.hashes) <= 0.01);
/// assert!(bouquet_theory::compacted::false_negatives(6, fill, size.hashes) <= 0.1);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` for no keys and rates that are none, `Error::TooLarge` beyond [`MAX_BITS`].
pub fn for_rates(n: u64, rate: f64, loss: f64, blocks: u32) -> Result<Size> {
    check_positive("items", n)?;
    check_rate("rate", rate)?;
    check_rate("loss", loss)?;
    let keeps =
        |fill: f64, k: u32| false_positives(blocks, fill, k) <= rate && false_negatives(blocks, fill, k) <= loss;
    let bits = |k: u32| {
        let (mut low, mut high) = (0.0, 0.5);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if keeps(middle, k) { low = middle } else { high = middle }
        }
        // The number of bits that n keys fill so far.
        f64::from(k) * n as f64 / -f64::ln_1p(-low)
    };
    let best = (1..=MAX_HASHES).map(|k| (bits(k), k)).min_by(|a, b| a.0.total_cmp(&b.0));
    let too_large = |bits: f64| Error::TooLarge { what: "the filter".into(), bytes: (bits / 8.0) as u128 };
    let Some((bits, hashes)) = best.filter(|(bits, _)| *bits < MAX_BITS as f64 / 2.0) else {
        return Err(too_large(best.map_or(0.0, |(bits, _)| bits)));
    };
    let rows = u64::from(blocks.clamp(1, MAX_BLOCKS));
    let mut bits = (bits.ceil() as u64).max(1).next_multiple_of(rows);
    // A limit of many bits: with few of them the fill is a little above it.
    for _ in 0..64 {
        if keeps(1.0 - standard::zeros(bits, n, hashes), hashes) {
            break;
        }
        bits += rows.max(bits / 64 / rows * rows);
    }
    Ok(Size { bits, hashes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_and_three_rows_lose_nothing() {
        for fill in [0.0, 0.01, 0.3, 0.9, 1.0] {
            assert_eq!(survival(2, fill), 1.0);
            assert_eq!(survival(3, fill), 1.0);
            assert_eq!(invention(2, fill), 0.0);
        }
    }

    #[test]
    fn sizes_keep_both_rates_and_fewer_bits_do_not() {
        for (rate, loss, blocks) in [(0.01, 0.1, 6), (0.001, 0.01, 14), (0.3, 0.5, 30), (0.05, 0.05, 2)] {
            let Size { bits, hashes } = for_rates(10_000, rate, loss, blocks).unwrap();
            let keeps = |bits: u64| {
                let fill = 1.0 - standard::zeros(bits, 10_000, hashes);
                false_positives(blocks, fill, hashes) <= rate && false_negatives(blocks, fill, hashes) <= loss
            };
            assert!(keeps(bits) && !keeps(bits * 49 / 50), "{rate}, {loss}, {blocks}: {bits}");
        }
        assert!(for_rates(u64::MAX, 0.01, 0.1, 6).is_err() && for_rates(10, 0.01, f64::NAN, 6).is_err());
    }
}
