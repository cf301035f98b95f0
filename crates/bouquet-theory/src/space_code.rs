//! Space codes: how often a flow came, read from how many of its l groups of bits are set.
//!
//! Every arrival (that is sampled, with probability p) draws one of l groups of k positions and sets its bits. After f
//! arrivals q groups were drawn: a Markov chain that goes from q to q+1 with probability p(l-q)/l. The other groups of
//! the flow are full of foreign ones with probability b = rho^k each, so that theta = q + Binomial(l-q, b) groups seem
//! set.
//!
//! The law of q is computed by powers of the chain's matrix, whose terms are all nonnegative; the textbook's
//! alternating sum loses most of its digits at l = 32.
//!
//! Source: A. Kumar, J. Xu, L. Li, J. Wang, *Space-code Bloom filter for efficient traffic flow measurement*, 2003; the
//! mean-value estimator in closed form is derived.

use std::f64::consts::LN_2;

use super::special::{amount, binomial, power, probability};

/// The largest number of groups; more are taken as this many.
pub const MAX_GROUPS: u32 = 64;

/// The ratio of the grid of numbers of arrivals.
const RATIO: f64 = 1.02;

/// The one-step matrix of the chain, raised to powers of two: upper triangular, row by row.
struct Chain {
    states: usize,
    powers: Vec<Vec<f64>>,
}

impl Chain {
    fn new(groups: u32, sampling: f64) -> Self {
        let (groups, p) = (groups.clamp(1, MAX_GROUPS), probability(sampling));
        let states = groups as usize + 1;
        let mut step = vec![0.0; states * states];
        for q in 0..states {
            let up = p * (f64::from(groups) - q as f64) / f64::from(groups);
            step[q * states + q] = 1.0 - up;
            if q + 1 < states {
                step[q * states + q + 1] = up;
            }
        }
        Chain { states, powers: vec![step] }
    }

    /// Moves a law on by this many arrivals.
    fn advance(&mut self, law: &mut Vec<f64>, arrivals: u64) {
        let n = self.states;
        for bit in 0..u64::BITS - arrivals.leading_zeros() {
            if bit as usize == self.powers.len() {
                let last = &self.powers[bit as usize - 1];
                let mut square = vec![0.0; n * n];
                for i in 0..n {
                    for k in i..n {
                        let factor = last[i * n + k];
                        for j in k..n {
                            square[i * n + j] += factor * last[k * n + j];
                        }
                    }
                }
                self.powers.push(square);
            }
            if arrivals >> bit & 1 == 1 {
                let matrix = &self.powers[bit as usize];
                let mut next = vec![0.0; n];
                for (i, chance) in law.iter().enumerate().filter(|(_, chance)| **chance > 0.0) {
                    next.iter_mut().zip(&matrix[i * n..]).skip(i).for_each(|(next, step)| *next += chance * step);
                }
                *law = next;
            }
        }
    }
}

/// The law of q, the number of groups that were drawn in f arrivals: `groups + 1` probabilities.
///
/// ```
/// let law = bouquet_theory::space_code::groups_drawn(32, 1.0, 2);
/// assert!((law[1] - 1.0 / 32.0).abs() < 1e-15 && (law[2] - 31.0 / 32.0).abs() < 1e-15);
/// ```
pub fn groups_drawn(groups: u32, sampling: f64, arrivals: u64) -> Vec<f64> {
    laws_on(groups, sampling, &[arrivals]).pop().unwrap_or_default()
}

/// The laws of q for ascending numbers of arrivals.
///
/// ```
/// use bouquet_theory::space_code::{groups_drawn, laws_on};
/// let laws = laws_on(32, 0.25, &[0, 10, 1_000]);
/// assert_eq!(laws[0][0], 1.0);
/// assert!((laws[2][32] - groups_drawn(32, 0.25, 1_000)[32]).abs() < 1e-12);
/// ```
pub fn laws_on(groups: u32, sampling: f64, arrivals: &[u64]) -> Vec<Vec<f64>> {
    let mut chain = Chain::new(groups, sampling);
    let mut law = vec![0.0; chain.states];
    law[0] = 1.0;
    let mut at = 0u64;
    arrivals
        .iter()
        .map(|&arrivals| {
            chain.advance(&mut law, arrivals.saturating_sub(at));
            at = at.max(arrivals);
            law.clone()
        })
        .collect()
}

/// The laws of theta that belong to laws of q, when a foreign group seems set with probability b.
///
/// ```
/// use bouquet_theory::space_code::{groups_drawn, seeming};
/// let law = &seeming(&[groups_drawn(32, 1.0, 0)], 0.125)[0];
/// let mean: f64 = law.iter().enumerate().map(|(theta, chance)| theta as f64 * chance).sum();
/// assert!((mean - 4.0).abs() < 1e-9);
/// ```
pub fn seeming(laws: &[Vec<f64>], chance: f64) -> Vec<Vec<f64>> {
    let states = laws.first().map_or(0, Vec::len);
    // The same for all laws: what q drawn groups come to seem.
    let spurious: Vec<Vec<f64>> = (0..states)
        .map(|q| (q..states).map(|theta| binomial((theta - q) as f64, (states - 1 - q) as f64, chance)).collect())
        .collect();
    let of = |law: &Vec<f64>| {
        let mut out = vec![0.0; states];
        for (q, drawn) in law.iter().enumerate().take(states).filter(|(_, drawn)| **drawn > 0.0) {
            out[q..].iter_mut().zip(&spurious[q]).for_each(|(out, more)| *out += drawn * more);
        }
        out
    };
    laws.iter().map(of).collect()
}

/// f = ln((1 - theta/l)/(1 - b)) / ln(1 - p/l): the number of arrivals whose mean theta is the one seen. At least 0;
/// infinite when all groups seem set.
///
/// ```
/// use bouquet_theory::space_code::{distinct_groups, mean_value};
/// let (l, b) = (32, 0.0625);
/// let drawn = distinct_groups(l, 1.0, 20.0);
/// let theta = drawn + (32.0 - drawn) * b;
/// assert!((mean_value(l, 1.0, b, theta) - 20.0).abs() < 1e-9);
/// ```
pub fn mean_value(groups: u32, sampling: f64, chance: f64, theta: f64) -> f64 {
    let (l, p, b) = (f64::from(groups.max(1)), probability(sampling), probability(chance));
    let left = 1.0 - amount(theta) / l;
    if left <= 0.0 {
        return f64::INFINITY;
    }
    // Fewer groups than chance alone fills: none.
    if left >= 1.0 - b {
        return 0.0;
    }
    (left / (1.0 - b)).ln() / (-p / l).ln_1p()
}

/// l(1 - (1-p/l)^f), the expected number of groups that f arrivals draw.
///
/// ```
/// assert!((bouquet_theory::space_code::distinct_groups(32, 1.0, 1.0) - 1.0).abs() < 1e-12);
/// ```
pub fn distinct_groups(groups: u32, sampling: f64, arrivals: f64) -> f64 {
    let l = f64::from(groups.max(1));
    l * (1.0 - power(1.0 - probability(sampling) / l, amount(arrivals)))
}

/// D, the groups that are set by this many flows whose sizes follow P(size >= s) = 1/s for s up to `largest`: few flows
/// carry most of the traffic. `largest` of 1 is flows of one arrival each.
///
/// ```
/// use bouquet_theory::space_code::groups_of_flows;
/// assert!((groups_of_flows(32, 1.0, 1_000, 1) - 1_000.0).abs() < 1e-6);
/// let some = groups_of_flows(32, 1.0, 1_000, 1_000_000);
/// assert!((3_000.0..6_000.0).contains(&some), "{some}");
/// ```
pub fn groups_of_flows(groups: u32, sampling: f64, flows: u64, largest: u64) -> f64 {
    let largest = largest.max(1);
    let grid = grid(largest);
    let mean: f64 = (1..grid.len())
        .map(|i| {
            // Between this point of the grid and the next, or from the last one on.
            let share = 1.0 / grid[i] as f64 - grid.get(i + 1).map_or(0.0, |next| 1.0 / *next as f64);
            share * distinct_groups(groups, sampling, grid[i] as f64)
        })
        .sum();
    flows as f64 * mean
}

/// k D/ln 2, the bits that are half full after D groups of k positions were set.
///
/// ```
/// assert_eq!(bouquet_theory::space_code::half_full_bits(3, 1_000.0).round(), 4_328.0);
/// ```
pub fn half_full_bits(k: u32, groups_set: f64) -> f64 {
    f64::from(k) * amount(groups_set) / LN_2
}

/// l ln l / p, the number of arrivals up to which one filter is useful: there all groups have been drawn.
///
/// ```
/// assert_eq!(bouquet_theory::space_code::reach(32, 1.0).round(), 111.0);
/// ```
pub fn reach(groups: u32, sampling: f64) -> f64 {
    let l = f64::from(groups.max(1));
    l * l.ln() / probability(sampling).max(f64::MIN_POSITIVE)
}

/// 0, 1, 2, ... and from 50 on by a ratio of 1.02, up to `largest`.
///
/// ```
/// let grid = bouquet_theory::space_code::grid(1_000);
/// assert_eq!((grid[0], grid[50], grid[51], grid[53], *grid.last().unwrap()), (0, 50, 51, 53, 1_000));
/// assert!(grid.windows(2).all(|pair| pair[1] - pair[0] <= 1 + pair[0] / 50));
/// ```
pub fn grid(largest: u64) -> Vec<u64> {
    let mut grid = vec![0];
    let mut at = 0u64;
    while at < largest {
        at = (at + 1).max((at as f64 * RATIO) as u64).min(largest);
        grid.push(at);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::super::special::ln_choose;
    use super::super::testing::assert_close;
    use super::*;

    #[test]
    fn laws_add_up_and_have_the_known_mean() {
        for (l, p, f) in
            [(32, 1.0, 10), (32, 1.0, 100), (32, 4f64.powi(-8), 1_000_000), (7, 0.3, 12), (64, 1.0, 1 << 40)]
        {
            let law = groups_drawn(l, p, f);
            assert_close(law.iter().sum(), 1.0, 1e-9);
            let mean: f64 = law.iter().enumerate().map(|(q, chance)| q as f64 * chance).sum();
            assert_close(mean, distinct_groups(l, p, f as f64), 1e-9);
        }
    }

    #[test]
    fn small_cases_are_those_of_counting() {
        // P(all l groups after l arrivals) = l!/l^l.
        let law = groups_drawn(6, 1.0, 6);
        assert_close(law[6], 720.0 / 6f64.powi(6), 1e-12);
        // With sampling p the chance of none is (1-p)^f.
        assert_close(groups_drawn(6, 0.25, 6)[0], 0.75f64.powi(6), 1e-12);
        // The alternating sum of inclusion and exclusion, where it still has its digits.
        let (l, f, q) = (8i32, 12, 5);
        let sum: f64 = (0..=q)
            .map(|j| (-1f64).powi(j) * ln_choose(q.into(), j.into()).exp() * (f64::from(q - j) / f64::from(l)).powi(f))
            .sum();
        let exact = ln_choose(l.into(), q.into()).exp() * sum;
        assert_close(groups_drawn(l as u32, 1.0, f as u64)[q as usize], exact, 1e-9);
    }

    #[test]
    fn seeming_groups_have_the_known_mean() {
        let law = groups_drawn(32, 1.0, 20);
        let theta = &seeming(&[law], 0.1)[0];
        assert_close(theta.iter().sum(), 1.0, 1e-9);
        let drawn = distinct_groups(32, 1.0, 20.0);
        let mean: f64 = theta.iter().enumerate().map(|(t, chance)| t as f64 * chance).sum();
        assert_close(mean, drawn + (32.0 - drawn) * 0.1, 1e-9);
    }
}
