//! Cells that can contradict a query: counters with a fingerprint, or with increments that differ from key to key.
//!
//! A counter says how many keys hit it. A cell that also keeps a *mark* of each key can say "none of mine is the one
//! you ask for" although it is in use. Let r_j be the probability that a cell which holds j keys contradicts an
//! absent key (r_0 = 1: an empty cell always does). With lambda = nk/m keys per cell, P_j = e^-lambda lambda^j / j!,
//! an absent key passes k cells with probability
//!
//! ```text
//! f = (1 - sum over j of P_j r_j)^k
//! ```
//!
//! | mark | r_1, r_2, ... |
//! |---|---|
//! | none: plain counters | 0 |
//! | xor of fingerprints of a bits, read where one key is | 1 - 2^-a |
//! | sum of increments from {L, .., 2L-1} | (L-1)/L, (L-1)(L+1)/(6 L^2) |
//! | sum of increments from l numbers whose sums of h are all different | (1 - 1/l)^j for j <= h |
//!
//! In slices of s = m/k cells, a cell is exactly Binomial(n, 1/s); with marks drawn per position the rate is then
//! exact. A fingerprint is one per key, so that an unusually frequent one passes everywhere: the exact rate is a mean
//! over its frequency.
//!
//! Sources: O. Rottenstreich, Y. Kanizo, I. Keslassy, *The variable-increment counting Bloom filter*, 2014; S.
//! Pontarelli, P. Reviriego, J. A. Maestro, *Improving counting Bloom filter performance with fingerprints*, 2016.

use super::MAX_HASHES;
use super::special::{amount, binomial, falling_root, halved, ln_miss, power, probability};
use super::{check_bits, check_positive, check_rate};
use crate::Result;

/// The most keys in a cell that any code tells apart.
const MAX_ORDER: usize = 8;

/// Up to this many keys the frequency of a fingerprint is summed over; beyond, its variance says all.
const SUMMED_KEYS: u64 = 20_000;

/// How often a cell with j keys contradicts an absent one.
///
/// ```
/// use bouquet_theory::refutation::Refutation;
/// let plain = Refutation::none();
/// assert!((plain.limit_rate(0.7, 7) - (1.0 - (-0.7f64).exp()).powi(7)).abs() < 1e-15);
/// assert!(Refutation::fingerprint(2).limit_rate(0.7, 7) < plain.limit_rate(0.7, 7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refutation {
    /// r_1, r_2, ...
    chances: [f64; MAX_ORDER],
}

impl Refutation {
    /// Plain counters: a cell in use never contradicts.
    ///
    /// ```
    /// assert_eq!(bouquet_theory::refutation::Refutation::none().chance(1), 0.0);
    /// ```
    #[must_use]
    pub fn none() -> Self {
        Refutation { chances: [0.0; MAX_ORDER] }
    }

    /// Fingerprints of this many bits, read where one key is.
    ///
    /// ```
    /// use bouquet_theory::refutation::Refutation;
    /// let code = Refutation::fingerprint(2);
    /// assert_eq!([0, 1, 2].map(|keys| code.chance(keys)), [1.0, 0.75, 0.0]);
    /// ```
    #[must_use]
    pub fn fingerprint(bits: u32) -> Self {
        let mut code = Self::none();
        code.chances[0] = 1.0 - power(0.5, f64::from(bits));
        code
    }

    /// Increments from {L, .., 2L-1}: one key is told by its increment; two keys contradict an increment that is
    /// larger than what their sum leaves, u_1 + u_2 < u for u_i uniform in 0..L; three and more leave every remainder
    /// possible.
    ///
    /// ```
    /// use bouquet_theory::refutation::Refutation;
    /// let code = Refutation::interval(4);
    /// // 10 of the 64 triples of 0..4 have u_1 + u_2 < u: 3 * 5 / (6 * 16).
    /// assert_eq!([1, 2, 3].map(|keys| code.chance(keys)), [0.75, 10.0 / 64.0, 0.0]);
    /// ```
    #[must_use]
    pub fn interval(base: u64) -> Self {
        let l = (base as f64).max(1.0);
        let mut code = Self::none();
        code.chances[0] = (l - 1.0) / l;
        // In this order no product overflows.
        code.chances[1] = (l - 1.0) / l * ((l + 1.0) / l) / 6.0;
        code
    }

    /// Increments from this many numbers of which all sums of `order` (at most 8) are different: up to that many keys,
    /// the sum tells all increments in it.
    ///
    /// ```
    /// use bouquet_theory::refutation::Refutation;
    /// let code = Refutation::sequence(4, 3);
    /// assert_eq!([1, 2, 3, 4].map(|keys| code.chance(keys)), [0.75, 0.5625, 0.421875, 0.0]);
    /// ```
    #[must_use]
    pub fn sequence(elements: u64, order: u32) -> Self {
        let mut code = Self::none();
        let other = 1.0 - 1.0 / (elements as f64).max(1.0);
        for (j, chance) in (1..=order).zip(&mut code.chances) {
            *chance = power(other, f64::from(j));
        }
        code
    }

    /// The probability that a cell with this many keys contradicts an absent one.
    ///
    /// ```
    /// assert_eq!(bouquet_theory::refutation::Refutation::none().chance(0), 1.0);
    /// ```
    #[must_use]
    pub fn chance(&self, keys: usize) -> f64 {
        keys.checked_sub(1).map_or(1.0, |j| self.chances.get(j).copied().unwrap_or(0.0))
    }

    /// The probability that a cell lets an absent key pass, from the law of its keys by P_0 and P_(j+1) / P_j.
    fn pass(&self, empty: f64, ratio: impl Fn(f64) -> f64) -> f64 {
        let (mut share, mut refuted) = (empty, empty);
        for (j, chance) in self.chances.iter().enumerate() {
            share *= ratio(j as f64);
            refuted += share * chance;
        }
        probability(1.0 - refuted)
    }

    /// The rate in a large filter with `lambda` keys per cell and `k` cells per key.
    ///
    /// ```
    /// use bouquet_theory::refutation::Refutation;
    /// // 100,000 keys in 40 bits each: cells of 2 + 4 bits, seven per key.
    /// let rate = Refutation::fingerprint(2).limit_rate(7.0 * 6.0 / 40.0, 7);
    /// assert!((rate - 1.03e-3).abs() < 5e-6);
    /// ```
    #[must_use]
    pub fn limit_rate(&self, lambda: f64, k: u32) -> f64 {
        let lambda = amount(lambda);
        power(self.pass((-lambda).exp(), |j| lambda / (j + 1.0)), f64::from(k))
    }

    /// P_0 and the ratios P_(j+1) / P_j of Binomial(n, 1/s), for s >= 2.
    fn law(slice: u64, n: u64) -> (f64, impl Fn(f64) -> f64) {
        let (s, n) = (slice as f64, n as f64);
        (ln_miss(s, n).exp(), move |j| (n - j).max(0.0) / (j + 1.0) / (s - 1.0))
    }

    /// The exact rate with `n` keys in `k` slices of `slice` cells, when each position has a mark of its own.
    ///
    /// ```
    /// use bouquet_theory::refutation::Refutation;
    /// let code = Refutation::interval(4);
    /// let exact = code.rate(100_000 * 40 / 7 / 6, 100_000, 6);
    /// assert!((exact / code.limit_rate(6.0 * 7.0 / 40.0, 6) - 1.0).abs() < 1e-4);
    /// ```
    #[must_use]
    pub fn rate(&self, slice: u64, n: u64, k: u32) -> f64 {
        if slice < 2 {
            return self.crowded_rate(slice, n, k);
        }
        let (empty, ratio) = Self::law(slice, n);
        power(self.pass(empty, ratio), f64::from(k))
    }

    /// One cell per slice, or none: it holds all keys.
    fn crowded_rate(&self, slice: u64, n: u64, k: u32) -> f64 {
        if slice == 0 || k == 0 {
            return 1.0;
        }
        let chance = if n <= MAX_ORDER as u64 { self.chance(n as usize) } else { 0.0 };
        power(1.0 - chance, f64::from(k))
    }

    /// The keys per cell at which `k` cells have this rate in a large filter.
    ///
    /// ```
    /// use bouquet_theory::refutation::Refutation;
    /// let code = Refutation::sequence(4, 3);
    /// assert!((code.limit_rate(code.load(0.01, 5), 5) - 0.01).abs() < 1e-9);
    /// assert_eq!(code.load(0.0, 5), 0.0);
    /// ```
    #[must_use]
    pub fn load(&self, rate: f64, k: u32) -> f64 {
        let rate = probability(rate);
        if rate == 0.0 || k == 0 {
            return 0.0;
        }
        // The rate grows with the load: more keys in a cell never contradict more.
        const MOST: f64 = 64.0;
        if self.limit_rate(MOST, k) <= rate {
            return MOST;
        }
        let below = |lambda: f64| self.limit_rate(lambda, k) <= rate;
        // Near 0 a cell lets pass about as many as it holds keys, to some power: nearly straight in logarithms.
        let distance = |log: f64| (rate / self.limit_rate(log.exp(), k)).ln();
        let (mut low, mut high) = (MOST.ln(), MOST.ln());
        let mut at_low = distance(low);
        let mut at_high = at_low;
        let mut step = 2.0;
        while at_low.is_nan() || at_low <= 0.0 {
            (high, at_high) = (low, at_low);
            low -= step;
            step *= 1.5;
            if low < -700.0 {
                return halved([0.0, MOST], 100, [0.0, MOST], below)[0];
            }
            at_low = distance(low);
        }
        let high = falling_root([(low, at_low), (high, at_high)], 1e-12, distance).exp();
        let known = [high * (1.0 - 4e-12), high * (1.0 + 1e-13)];
        let known = if below(known[0]) && !below(known[1]) { known } else { [0.0, MOST] };
        let [low, _] = halved([0.0, MOST], 100, known, below);
        low
    }

    /// The fewest cells, and the cells per key (the best number, or the given one), that hold `n` keys at this rate.
    ///
    /// ```
    /// use bouquet_theory::refutation::Refutation;
    /// let code = Refutation::fingerprint(2);
    /// let (cells, hashes) = code.for_rate(1_000_000, 0.001, None)?;
    /// // Six bits each: 40 bits per key, where plain counters of four need 57.5.
    /// assert_eq!((6 * cells / 1_000_000, hashes), (40, 7));
    /// assert!(code.for_rate(1_000_000, 0.001, Some(3))?.0 > cells);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn for_rate(&self, n: u64, rate: f64, k: Option<u32>) -> Result<(u64, u32)> {
        check_positive("items", n)?;
        check_rate("fpr", rate)?;
        let cells = |k: u32| n as f64 * f64::from(k) / self.load(rate, k);
        // Whether this many cells are too few for k: one evaluation instead of a search.
        let too_few = |k: u32, cells: f64| self.limit_rate(n as f64 * f64::from(k) / cells, k) > rate * (1.0 + 1e-9);
        if let Some(k) = k {
            return Ok((check_bits(cells(k))?, k));
        }
        // The cells fall to a minimum and rise behind it: walk there from what is usual.
        let usual = (0.7 * -rate.log2()).clamp(1.0, MAX_HASHES.into()) as u32;
        let mut best = (cells(usual), usual);
        for k in (1..usual).rev() {
            let found = if too_few(k, best.0) { f64::INFINITY } else { cells(k) };
            if found <= best.0 {
                best = (found, k);
            } else if k + 2 < best.1 {
                break;
            }
        }
        for k in usual + 1..=MAX_HASHES {
            let found = if too_few(k, best.0) { f64::INFINITY } else { cells(k) };
            if found < best.0 {
                best = (found, k);
            } else if k > best.1 + 2 {
                break;
            }
        }
        Ok((check_bits(best.0)?, best.1))
    }

    /// The best number of cells per key for `n` keys in this many cells.
    ///
    /// ```
    /// use bouquet_theory::refutation::Refutation;
    /// assert_eq!(Refutation::fingerprint(2).best_hashes(4_000_000 / 6, 100_000), 7);
    /// assert_eq!(Refutation::none().best_hashes(1_000_000, 100_000), 7);
    /// ```
    #[must_use]
    pub fn best_hashes(&self, cells: u64, n: u64) -> u32 {
        let rate = |k: u32| self.limit_rate(n as f64 * f64::from(k) / (cells as f64).max(1.0), k);
        (1..=MAX_HASHES).min_by(|&a, &b| rate(a).total_cmp(&rate(b))).unwrap_or(1)
    }
}

/// The exact rate of fingerprints of `bits` bits with `n` keys in `k` slices of `slice` cells. A key has one
/// fingerprint for all its cells.
///
/// Let N of the n keys have the query's fingerprint. A cell with one key then passes with probability N/n, and slices
/// are independent given N, which is Binomial(n, 2^-bits): the rate is the mean over N.
///
/// ```
/// use bouquet_theory::refutation::{Refutation, fingerprint_rate};
/// let (exact, without_scatter) = (fingerprint_rate(2, 200, 200, 7), Refutation::fingerprint(2).rate(200, 200, 7));
/// assert!(exact > 1.01 * without_scatter && exact < 1.05 * without_scatter);
/// ```
#[must_use]
pub fn fingerprint_rate(bits: u32, slice: u64, n: u64, k: u32) -> f64 {
    let hashes = k;
    let p = power(0.5, f64::from(bits));
    if slice < 2 || n == 0 || k == 0 {
        // One key in the only cell of each slice passes all of them together.
        let alone = slice == 1 && n == 1 && k > 0;
        return if alone { p } else { Refutation::fingerprint(bits).crowded_rate(slice, n, k) };
    }
    let (empty, ratio) = Refutation::law(slice, n);
    let single = empty * ratio(0.0);
    let more = probability(1.0 - empty - single);
    let (trials, k) = (n as f64, f64::from(k));
    let variance = p * (1.0 - p) / trials;
    if n > SUMMED_KEYS {
        let mean = more + single * p;
        if mean == 0.0 {
            return 0.0;
        }
        let spread = single / mean;
        return probability(power(mean, k) * (1.0 + k * (k - 1.0) / 2.0 * spread * spread * variance));
    }
    if hashes <= MAX_HASHES {
        return probability(power_mean(more, single, trials, p, hashes));
    }
    // High powers weigh the upper tail, which is why the window is wide.
    let reach = 12.0 * variance.sqrt() * trials + k + 12.0;
    let (mut count, last) = ((trials * p - reach).floor().max(0.0), (trials * p + reach).ceil().min(trials));
    let mut rate = 0.0;
    while count <= last {
        rate += binomial(count, trials, p) * power(more + single * count / trials, k);
        count += 1.0;
    }
    probability(rate)
}

/// The mean of (a + b N/n)^k for N binomial with n trials and success p, exactly.
///
/// Each factor is multiplied out in falling factorials, N (N)_j = (N)_(j+1) + j (N)_j, whose means are (n)_j p^j: a table of positive
/// numbers F_j, their sum the mean of the product so far.
fn power_mean(a: f64, b: f64, n: f64, p: f64, k: u32) -> f64 {
    let mut means = [0.0; MAX_HASHES as usize + 1];
    means[0] = 1.0;
    for factors in 0..k.min(MAX_HASHES) as usize {
        for j in (0..=factors + 1).rev() {
            let lower = if j > 0 { means[j - 1] } else { 0.0 };
            let used = j as f64 / n;
            means[j] = (a + b * used) * means[j] + b * p * (1.0 + 1.0 / n - used).max(0.0) * lower;
        }
    }
    means.iter().sum()
}

/// The best bits of a fingerprint, and cells per key, when a key may take this many bits and counters have
/// `counter_bits`.
///
/// ```
/// use bouquet_theory::refutation::best_fingerprint;
/// assert_eq!(best_fingerprint(40.0, 4), (2, 7));
/// assert_eq!(best_fingerprint(24.0, 4).0, 2);
/// ```
#[must_use]
pub fn best_fingerprint(bits_per_key: f64, counter_bits: u32) -> (u32, u32) {
    let rate = |&(a, k): &(u32, u32)| {
        let cells = amount(bits_per_key) / (f64::from(a) + f64::from(counter_bits));
        if cells == 0.0 { 1.0 } else { Refutation::fingerprint(a).limit_rate(f64::from(k) / cells, k) }
    };
    let choices = (1..=8).flat_map(|a| (1..=MAX_HASHES).map(move |k| (a, k)));
    choices.min_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or((2, 1))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;
    use crate::{partitioned, special, standard};

    /// The search that takes a hundred halvings for every number of cells per key.
    fn slow_for_rate(code: &Refutation, n: u64, rate: f64) -> (f64, u32) {
        let cells = |k: u32| {
            let (mut low, mut high) = (0.0, 64.0);
            if code.limit_rate(high, k) <= rate {
                return n as f64 * f64::from(k) / high;
            }
            for _ in 0..100 {
                let middle = (low + high) / 2.0;
                if code.limit_rate(middle, k) <= rate { low = middle } else { high = middle }
            }
            n as f64 * f64::from(k) / low
        };
        let mut best = (cells(1), 1);
        for k in 2..=MAX_HASHES {
            let found = cells(k);
            if found < best.0 {
                best = (found, k);
            } else if k > best.1 + 2 {
                break;
            }
        }
        best
    }

    #[test]
    fn the_mean_of_a_power_is_that_of_all_its_terms() {
        for (a, b, n, p, k) in [(0.3, 0.4, 1u32, 0.25, 3), (0.01, 0.9, 50, 0.5, 64), (0.2, 0.5, 1_000, 0.0625, 20)] {
            let power = |count: u32| (a + b * f64::from(count) / f64::from(n)).powi(k as i32);
            let sum: f64 = (0..=n).map(|count| binomial(count.into(), n.into(), p) * power(count)).sum();
            assert_close(power_mean(a, b, n.into(), p, k), sum, 1e-12);
        }
    }

    #[test]
    fn fast_sizing_finds_what_a_hundred_halvings_find() {
        let codes = (1..=8).map(Refutation::fingerprint).chain([4, 8].map(Refutation::interval));
        let codes = codes.chain([(4, 3), (8, 2), (16, 4)].map(|(l, h)| Refutation::sequence(l, h)));
        for code in codes.chain([Refutation::none()]) {
            for n in [1, 2, 7, 100, 1_234, 10_000, 1_000_000, 1_000_000_000] {
                for rate in [0.9, 0.5, 0.2, 0.05, 0.01, 1e-3, 1e-4, 1e-6, 1e-9] {
                    let (cells, hashes) = slow_for_rate(&code, n, rate);
                    assert_eq!(code.for_rate(n, rate, None).ok(), check_bits(cells).ok().map(|cells| (cells, hashes)));
                }
            }
        }
    }

    #[test]
    fn rates_are_the_printed_ones() {
        assert_prints(1e3 * Refutation::fingerprint(2).limit_rate(7.0 * 6.0 / 40.0, 7), "1.03");
        assert_prints(Refutation::fingerprint(2).limit_rate(4.0 * 6.0 / 24.0, 4), "0.0161");
        assert_prints(1e3 * Refutation::interval(4).limit_rate(6.0 * 7.0 / 40.0, 6), "1.67");
        assert_prints(1e3 * Refutation::sequence(4, 3).limit_rate(5.0 / 4.0, 5), "1.71");
        // A quarter and a fifth of plain counters of four bits in the same memory.
        let plain = standard::optimal_rate(10.0);
        assert!(Refutation::interval(4).limit_rate(1.05, 6) <= plain / 4.0);
        assert!(Refutation::fingerprint(2).limit_rate(1.05, 7) <= plain / 5.0);
    }

    #[test]
    fn the_best_fingerprint_has_two_bits_and_about_one_key_per_cell() {
        for tenths in 200..=600 {
            let budget = f64::from(tenths) / 10.0;
            let (a, k) = best_fingerprint(budget, 4);
            let load = f64::from(k) * 6.0 / budget;
            assert!(a == 2 && (0.8..1.25).contains(&load), "{budget} bits: {a} {k}, {load} keys per cell");
        }
    }

    #[test]
    fn without_marks_the_rates_are_those_of_counters() {
        let plain = Refutation::none();
        for (slice, n, k) in [(2u64, 1u64, 3u32), (10, 7, 7), (1_000, 800, 5), (1, 1, 4), (1, 0, 4), (7, 0, 2)] {
            assert_close(plain.rate(slice, n, k), partitioned::rate(slice * u64::from(k), n, k), 1e-12);
        }
        assert_close(plain.limit_rate(0.7, 7), standard::limit_rate(10.0, 7), 1e-12);
    }

    #[test]
    fn chances_of_intervals_equal_an_enumeration() {
        for l in [1u64, 2, 4, 8, 16] {
            let below = (0..l * l * l).filter(|t| t % l + t / l % l < t / l / l).count() as f64;
            assert_close(Refutation::interval(l).chance(2) + 1.0, below / (l * l * l) as f64 + 1.0, 1e-14);
        }
    }

    #[test]
    fn the_law_of_a_cell_is_binomial() {
        let (empty, ratio) = Refutation::law(50, 70);
        let mut share = empty;
        for j in 0..6 {
            assert_close(share, special::binomial(f64::from(j), 70.0, 1.0 / 50.0), 1e-12);
            share *= ratio(f64::from(j));
        }
    }

    #[test]
    fn one_fingerprint_per_key_costs_its_scatter_and_both_ways_to_it_agree() {
        let summed = fingerprint_rate(2, 20_000, SUMMED_KEYS, 7);
        let corrected = fingerprint_rate(2, 20_001, SUMMED_KEYS + 1, 7);
        assert_close(summed, corrected, 2e-4);
        assert!(summed > Refutation::fingerprint(2).rate(20_000, SUMMED_KEYS, 7));
        // One key with one of two fingerprints, in one of two cells per slice.
        assert_close(fingerprint_rate(1, 2, 1, 3), 0.5 * 0.125, 1e-12);
        assert_close(fingerprint_rate(1, 1, 1, 3), 0.5, 1e-12);
        assert_eq!([fingerprint_rate(2, 1, 2, 3), fingerprint_rate(2, 0, 2, 3)], [1.0; 2]);
        assert_eq!(fingerprint_rate(2, 9, 0, 3), 0.0);
    }

    #[test]
    fn sizes_reach_their_rate() {
        for code in [Refutation::fingerprint(2), Refutation::interval(4), Refutation::sequence(4, 3)] {
            for rate in [0.3, 0.01, 1e-6] {
                let (cells, k) = code.for_rate(1_000_000, rate, None).unwrap();
                let found = code.limit_rate(1e6 * f64::from(k) / cells as f64, k);
                assert!(found <= rate * (1.0 + 1e-9) && found > 0.999 * rate, "{found:e} for {rate:e}");
                assert_eq!(code.best_hashes(cells, 1_000_000), k);
            }
            assert!(code.for_rate(0, 0.01, None).is_err() && code.for_rate(1, 0.0, None).is_err());
            assert!(code.for_rate(u64::MAX, 0.01, Some(3)).is_err());
        }
    }
}
