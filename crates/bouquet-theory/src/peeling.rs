//! Tables that are read by peeling: invertible lookup tables and Bloomier filters.
//!
//! A key lies in k of m cells; a cell that holds one key reveals it, and the key is removed from its other cells. Below a density
//! of 1/c_k this empties the table with high probability, above it a core remains:
//!
//! ```text
//! 1/c_k = min over 0 < x < 1 of  -ln(1-x) / (k x^(k-1))
//! ```
//!
//! because a cell's key survives the peeling with a probability x that solves x = 1 - exp(-k x^(k-1) n/m), and above the minimum
//! this has a root besides 0.
//!
//! Sources: M. Goodrich, M. Mitzenmacher, *Invertible Bloom lookup tables*, 2011; D. Eppstein et al., *What's the
//! difference?*, 2011; B. Chazelle et al., *The Bloomier filter*, 2004; D. Charles, K. Chellapilla, *Bloomier filters: a
//! second look*, 2008.

use super::special::{amount, binomial, power, probability};
use super::standard::limit_rate;
use super::{check_bits, check_positive, check_rate};
use crate::Result;

/// c_k, the cells per key above which peeling succeeds; 2 for k = 2, infinite for k < 2.
///
/// ```
/// use bouquet_theory::peeling::threshold;
///
/// assert!((threshold(3) - 1.222).abs() < 5e-4);
/// assert!((threshold(2) - 2.0).abs() < 1e-6);
/// ```
pub fn threshold(k: u32) -> f64 {
    if k < 2 {
        return f64::INFINITY;
    }
    1.0 / density(k, critical_point(k))
}

/// x^k with x the largest root of x = 1 - exp(-k x^(k-1) n/m): the share of the keys that peeling leaves.
///
/// ```
/// use bouquet_theory::peeling::unlisted;
///
/// assert_eq!(unlisted(1_000_000, 1_250_000, 3), 0.0);
/// assert!((1.0 - unlisted(100_000, 120_000, 3) - 0.5079).abs() < 5e-4);
/// ```
pub fn unlisted(n: u64, m: u64, k: u32) -> f64 {
    if n == 0 {
        return 0.0;
    }
    if m == 0 || k == 0 {
        return 1.0;
    }
    let load = n as f64 / m as f64;
    if k == 1 {
        // A key is lost if another shares its cell.
        return -(-load).exp_m1();
    }
    let critical = critical_point(k);
    if load <= density(k, critical) {
        return 0.0;
    }
    // Above the critical point the density rises from its minimum to infinity: one root, the largest.
    let (mut low, mut high) = (critical, 1.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if density(k, middle) < load {
            low = middle;
        } else {
            high = middle;
        }
    }
    power(low, f64::from(k))
}

/// (1 - e^(-kn/m))^k, the chance that a held key cannot be read because all its cells are shared.
///
/// ```
/// use bouquet_theory::peeling::unknown;
///
/// assert!((unknown(1000, 1300, 3) - 0.73).abs() < 5e-3);
/// assert!((unknown(1000, 6000, 4) - 0.056).abs() < 5e-4);
/// ```
pub fn unknown(n: u64, m: u64, k: u32) -> f64 {
    if n == 0 { 0.0 } else { limit_rate(m as f64 / n as f64, k) }
}

/// ceil(1.1 c_k t) cells, rounded up to a multiple of k: room to list t keys, for t from about 2000 on.
///
/// ```
/// assert_eq!(bouquet_theory::peeling::listing_cells(10_000, 3)?, 13_440);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are fewer than two probes or too many cells.
pub fn listing_cells(keys: u64, k: u32) -> Result<u64> {
    if k < 2 {
        return Err(crate::Error::parameter("hashes", "at least 2: one probe per key cannot be peeled", k));
    }
    let cells = check_bits(1.1 * threshold(k) * keys as f64)?;
    Ok(cells.next_multiple_of(u64::from(k)))
}

/// Differences and the cells at which they decode with four probes in at least 99 % of all cases, found by simulation.
const DIFFERENCE_CELLS: [(u64, u64); 11] = [
    (1, 4),
    (2, 16),
    (5, 24),
    (10, 36),
    (20, 48),
    (50, 84),
    (100, 152),
    (200, 292),
    (500, 704),
    (1000, 1352),
    (10_000, 13_500),
];

/// The cells, with four probes, at which d keys are listed completely in at least 99 % of all cases; a multiple of four.
///
/// Interpolates the cells per key in the logarithm of d between simulated sizes; above 10,000 keys 1.35 cells per key.
///
/// ```
/// use bouquet_theory::peeling::difference_cells;
///
/// assert_eq!(difference_cells(1000)?, 1352);
/// assert!(difference_cells(30)? > 48 && difference_cells(30)? < 84);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there would be too many cells.
pub fn difference_cells(keys: u64) -> Result<u64> {
    let d = keys.max(1);
    let ratio = |(keys, cells): (u64, u64)| cells as f64 / keys as f64;
    let above = DIFFERENCE_CELLS.iter().position(|&(keys, _)| keys >= d);
    let per_key = match above {
        Some(0) => ratio(DIFFERENCE_CELLS[0]),
        Some(i) => {
            let (low, high) = (DIFFERENCE_CELLS[i - 1], DIFFERENCE_CELLS[i]);
            let along = (d as f64 / low.0 as f64).ln() / (high.0 as f64 / low.0 as f64).ln();
            ratio(low) + along * (ratio(high) - ratio(low))
        }
        None => ratio(DIFFERENCE_CELLS[DIFFERENCE_CELLS.len() - 1]),
    };
    // Less a rounding error, so that the table's own sizes are returned as they are.
    Ok(check_bits(per_key * d as f64 - 1e-6)?.next_multiple_of(4))
}

/// The cells and probes for a table that lists up to `keys` pairs: simulated sizes with four probes below 2000 keys,
/// [`listing_cells`] with four above and with three above 10,000.
///
/// ```
/// use bouquet_theory::peeling::for_listing;
///
/// assert_eq!(for_listing(100)?, (152, 4));
/// assert_eq!(for_listing(100_000)?.1, 3);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys or there would be too many cells.
pub fn for_listing(keys: u64) -> Result<(u64, u32)> {
    check_positive("keys", keys)?;
    match keys {
        ..2000 => Ok((difference_cells(keys)?, 4)),
        2000..=10_000 => Ok((listing_cells(keys, 4)?, 4)),
        _ => Ok((listing_cells(keys, 3)?, 3)),
    }
}

/// Cells from which `differing` elements of two multisets are decoded in 99 of 100 cases or more, with four probes each.
///
/// ```
/// use bouquet_theory::peeling::gap_cells;
/// assert_eq!([10, 100, 1_000].map(|differing| gap_cells(differing).unwrap()), [40, 200, 1_500]);
/// ```
pub fn gap_cells(differing: u64) -> Result<u64> {
    let d = differing.max(1) as f64;
    check_bits(match differing {
        ..50 => 3.0 * d + 10.0,
        50..1000 => 2.0 * d,
        _ => 1.5 * d,
    })
}

/// The probability that a cell of several elements is taken for one of a single element: its ids must form one whose `check` bits
/// fit, and one of its k cells among m must be this one.
///
/// ```
/// let chance = bouquet_theory::peeling::mistaken_pure(1_500, 4, 16);
/// assert!((chance / 4.07e-8 - 1.0).abs() < 1e-3);
/// ```
pub fn mistaken_pure(m: u64, k: u32, check: u32) -> f64 {
    if m == 0 {
        return 1.0;
    }
    probability(f64::from(k) / m as f64) * power(0.5, f64::from(check))
}

/// The probability that two of n keys have the same id, of 61 bits with `check` bits among them that follow from the others.
///
/// ```
/// let chance = bouquet_theory::peeling::id_collision(100_000, 16);
/// assert!((chance / 1.42e-4 - 1.0).abs() < 1e-2);
/// ```
pub fn id_collision(n: u64, check: u32) -> f64 {
    let n = n as f64;
    probability(n * n * power(0.5, 62.0 - f64::from(check)))
}

/// ceil(1.23 n) + 32 cells: a Bloomier table of three probes per key that peels in nearly nine of ten tries or better.
///
/// ```
/// assert_eq!(bouquet_theory::peeling::bloomier_cells(100_000)?, 123_032);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there would be too many cells.
pub fn bloomier_cells(n: u64) -> Result<u64> {
    // In integers: 1.23 is no binary fraction, and a cell too many would change the table.
    let cells = (u128::from(n) * 123).div_ceil(100) + 32;
    check_bits(cells as f64)?;
    Ok(cells as u64)
}

/// ceil(1.05 n) + 4 cells for a bucket of n keys with four probes, solved by elimination where peeling ends.
///
/// ```
/// assert_eq!(bouquet_theory::peeling::compact_cells(1000)?, 1054);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there would be too many cells.
pub fn compact_cells(n: u64) -> Result<u64> {
    let cells = (u128::from(n) * 105).div_ceil(100) + 4;
    check_bits(cells as f64)?;
    Ok(cells as u64)
}

/// q = ceil(log2(R/f)), the bits of a cell that decodes to one of R values, or for a stranger to none with probability 1-f. A
/// mutable table's first part stores one of k probe numbers: R = k.
///
/// ```
/// use bouquet_theory::peeling::{bloomier_bits, bloomier_rate};
///
/// assert_eq!(bloomier_bits(256, 1.0 / 256.0)?, 16);
/// assert!(bloomier_rate(3, bloomier_bits(3, 0.01)?) <= 0.01);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no values or the rate is not between 0 and 1.
pub fn bloomier_bits(values: u64, rate: f64) -> Result<u32> {
    check_positive("values", values)?;
    check_rate("fpr", rate)?;
    Ok((((values as f64).log2() - rate.log2() - 1e-9).ceil() as u32).max(1))
}

/// R / 2^q, exactly the rate at which strangers decode to a value (Chazelle et al.); at most 1.
///
/// ```
/// assert_eq!(bouquet_theory::peeling::bloomier_rate(256, 16), 1.0 / 256.0);
/// ```
pub fn bloomier_rate(values: u64, cell_bits: u32) -> f64 {
    probability(values as f64 * power(0.5, f64::from(cell_bits)))
}

/// n ((R-1) f)^i, the keys that go on to level i of a cascade of filters of rate f, one per value.
///
/// ```
/// assert_eq!(bouquet_theory::peeling::cascade_keys(100_000, 2, 0.01, 1), 1000.0);
/// ```
pub fn cascade_keys(n: u64, values: u64, rate: f64, level: u32) -> f64 {
    // Clamped: no level holds more keys than the first.
    n as f64 * power(probability(values.saturating_sub(1) as f64 * probability(rate)), f64::from(level))
}

/// The chance that a stranger ends with a value in a cascade without end: it does once exactly one value is left.
///
/// With c candidates, Bin(c, f) of them survive a level; the chance a(c) solves
/// a(c) = P(1) + sum over j >= 2 of P(j) a(j). To first order it is R f (1-f)^(R-1), which is also what is returned for more
/// than 1024 values.
///
/// ```
/// use bouquet_theory::peeling::cascade_rate;
///
/// // Two values: one survives with 2 f (1-f), both with f^2, and then the same again.
/// let f: f64 = 0.01;
/// assert!((cascade_rate(2, f) - 2.0 * f * (1.0 - f) / (1.0 - f * f)).abs() < 1e-15);
/// ```
pub fn cascade_rate(values: u64, rate: f64) -> f64 {
    const EXACT: u64 = 1024;
    let f = probability(rate);
    if values == 0 || f == 0.0 {
        return 0.0;
    }
    if values == 1 {
        return f;
    }
    if f == 1.0 {
        // All candidates survive for ever: never exactly one.
        return 0.0;
    }
    let leading = |c: u64| binomial(1.0, c as f64, f);
    if values > EXACT {
        return leading(values);
    }
    // chance[j] for j candidates; chance[0] is no value. chance[1] counts as decided: the value is returned.
    let mut chance = vec![0.0, 1.0];
    for c in 2..=values {
        let decided: f64 = chance.iter().enumerate().map(|(j, a)| a * binomial(j as f64, c as f64, f)).sum();
        let again = binomial(c as f64, c as f64, f);
        chance.push(probability(decided / (1.0 - again).max(f64::MIN_POSITIVE)));
    }
    chance.last().copied().unwrap_or(0.0)
}

/// -ln(1-x) / (k x^(k-1)): the density n/m at which x is a root.
fn density(k: u32, x: f64) -> f64 {
    let k = f64::from(k);
    let log = -(-x).ln_1p();
    // In logarithms: x^(k-1) underflows for many probes.
    (log.ln() - k.ln() - (k - 1.0) * x.ln()).exp()
}

/// The x of least density, for k >= 2. The derivative vanishes where x/(1-x) = -(k-1) ln(1-x); with u = -ln(1-x) that is
/// e^u - 1 = (k-1) u, whose positive root is found by bisection. For k = 2 it is u = 0, the limit.
fn critical_point(k: u32) -> f64 {
    if k == 2 {
        return 1e-9;
    }
    let slope = f64::from(k) - 1.0;
    let (mut low, mut high) = (1e-9, 100.0);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if f64::exp_m1(middle) < slope * middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    -f64::exp_m1(-amount(low))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;

    #[test]
    fn thresholds_are_the_published_ones() {
        // The paper prints 1.721 for seven probes; the minimum is 1/0.581775, and the other entries agree to all digits.
        for (k, printed) in [(3, "1.222"), (4, "1.295"), (5, "1.425"), (6, "1.570"), (7, "1.719")] {
            assert_prints(threshold(k), printed);
        }
        assert_close(threshold(2), 2.0, 1e-6);
        assert!(threshold(u32::MAX).is_finite());
    }

    #[test]
    fn the_threshold_is_a_supremum() {
        for k in 3..20u32 {
            let (k_real, below, above) = (f64::from(k), 0.9999 / threshold(k), 1.0001 / threshold(k));
            let stays = |a: f64, x: f64| -(-k_real * a * x.powi(k as i32 - 1)).exp_m1() < x;
            let points: Vec<f64> = (1..10_000).map(|i| f64::from(i) / 10_000.0).collect();
            assert!(points.iter().all(|&x| stays(below, x)), "k = {k}");
            assert!(!points.iter().all(|&x| stays(above, x)), "k = {k}");
        }
    }

    #[test]
    fn unlisted_shares_are_the_printed_ones() {
        assert_prints(100.0 * (1.0 - unlisted(100_000, 120_000, 3)), "50.8");
        assert_eq!(unlisted(100_000, 125_000, 3), 0.0);
        assert_prints(100.0 * unknown(1000, 1300, 3), "73");
        assert_prints(100.0 * unknown(1000, 6000, 4), "5.6");
        // The share is the fixed point of the peeling itself.
        let mut x: f64 = 1.0;
        for _ in 0..10_000 {
            x = -(-3.0 * x * x / 1.2).exp_m1();
        }
        assert_close(unlisted(100_000, 120_000, 3), x.powi(3), 1e-9);
    }

    #[test]
    fn table_sizes_are_the_simulated_ones() {
        for (keys, cells) in DIFFERENCE_CELLS {
            assert_eq!(difference_cells(keys).unwrap(), cells);
        }
        let sizes: Vec<u64> = (1..20_000).map(|d| difference_cells(d).unwrap()).collect();
        assert!(sizes.windows(2).all(|pair| pair[0] <= pair[1]), "more keys never need fewer cells");
    }

    #[test]
    fn bloomier_costs_are_the_printed_ones() {
        let (cells, bits) = (bloomier_cells(100_000).unwrap(), bloomier_bits(256, 1.0 / 256.0).unwrap());
        assert!(cells as f64 * f64::from(bits) / 1e5 <= 19.8);
        assert_eq!(bloomier_rate(3, 10), 3.0 / 1024.0);
        // Buckets of 1000 keys: 1.07 of a cell's bits per key with the headers.
        assert!(compact_cells(1000).unwrap() as f64 / 1000.0 <= 1.055);
    }

    #[test]
    fn a_cascade_stores_each_key_hardly_more_than_once() {
        let total: f64 = (0..24).map(|level| cascade_keys(100_000, 2, 0.01, level)).sum();
        assert!(total < 1.02 * 100_000.0);
    }

    #[test]
    fn cascade_rates_equal_a_walk_through_the_levels() {
        for (values, f) in [(2u64, 0.01), (5, 0.2), (16, 0.05), (3, 0.9)] {
            // The law of the number of candidates, level by level.
            let mut law = vec![0.0; values as usize + 1];
            law[values as usize] = 1.0;
            let mut decided = 0.0;
            for _ in 0..2000 {
                let mut next = vec![0.0; law.len()];
                for (c, share) in law.iter().enumerate().skip(2) {
                    for (j, slot) in next.iter_mut().enumerate().take(c + 1) {
                        *slot += share * binomial(j as f64, c as f64, f);
                    }
                }
                decided += next[1];
                law = next;
            }
            assert_close(cascade_rate(values, f), decided, 1e-9);
        }
    }
}
