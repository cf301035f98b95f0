//! How many probes each class of keys gets, when it is known how often its keys are asked for in vain and how often they are
//! members: one optimiser for filters with query weights, presence probabilities or popularities.
//!
//! A filter of m bits in which class i sets k_i bits per member has the fill rho = 1 - exp(-sum X_i k_i / m), and of the queries for
//! absent keys it accepts sum Q_i rho^k_i. At the optimum rho is one half, and there the problem is
//!
//! ```text
//! least sum Q_i 2^-k_i   with   sum X_i k_i <= B = m ln 2   and   0 <= k_i <= k_max
//! ```
//!
//! whose real solution is water-filling: k_i = C + log2(Q_i / X_i), clamped. Whole numbers are found by [`Solver`]s.
//!
//! Sources: J. Bruck, J. Gao, A. Jiang, *Weighted Bloom filter*, 2006; M. Zhong, P. Lu, K. Shen, J. Seiferas, *Optimizing data
//! popularity conscious Bloom filters*, 2008; D. Li, H. Cui, Y. Hu, Y. Xia, X. Wang, *Scalable data center multicast using multi-class
//! Bloom filter*, 2011.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::f64::consts::LN_2;

use super::special::{amount, ln_choose, positive, probability};
use super::standard::corrected_rate_of_balls;
use super::{MAX_HASHES, check_bits, check_rate};
use crate::{Error, Result};

/// Keys that are treated alike.
///
/// ```
/// use bouquet_theory::assignment::{Class, divergence};
/// let all = [Class { queries: 0.9, members: 10.0 }, Class { queries: 0.1, members: 990.0 }];
/// assert!((divergence(&all) - 2.225).abs() < 5e-4);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Class {
    /// Q: how often its keys are asked for while they are absent, in any unit.
    pub queries: f64,
    /// X: how many of its keys are members, on average.
    pub members: f64,
}

impl Class {
    /// log2(Q / X), by which a class deserves more probes than another; infinite for a class without members.
    fn score(&self) -> f64 {
        let (queries, members) = (amount(self.queries), amount(self.members));
        match (queries > 0.0, members > 0.0) {
            (false, _) => f64::NEG_INFINITY,
            (true, false) => f64::INFINITY,
            (true, true) => queries.log2() - members.log2(),
        }
    }
}

/// All queries of these classes.
fn queries(classes: &[Class]) -> f64 {
    classes.iter().map(|class| amount(class.queries)).sum()
}

/// All members of these classes.
///
/// ```
/// use bouquet_theory::assignment::{Class, members};
/// assert_eq!(members(&[Class { queries: 1.0, members: 10.0 }, Class { queries: 0.0, members: 5.0 }]), 15.0);
/// ```
pub fn members(classes: &[Class]) -> f64 {
    classes.iter().map(|class| amount(class.members)).sum()
}

/// sum X_i k_i, the bits that the members set, each as often as it is set.
///
/// ```
/// use bouquet_theory::assignment::{Class, load};
/// let all = [Class { queries: 1.0, members: 10.0 }, Class { queries: 1.0, members: 5.0 }];
/// assert_eq!(load(&all, &[2.0, 7.0]), 55.0);
/// ```
pub fn load(classes: &[Class], probes: &[f64]) -> f64 {
    classes.iter().zip(probes).map(|(class, k)| amount(class.members) * amount(*k)).sum()
}

/// 1 - exp(-sum X_i k_i / m), the share of ones.
///
/// ```
/// use bouquet_theory::assignment::{Class, fill};
/// let all = [Class { queries: 1.0, members: 100.0 }];
/// assert!((fill(&all, &[7.0], 1_000) - 0.5034).abs() < 1e-4);
/// ```
pub fn fill(classes: &[Class], probes: &[f64], bits: u64) -> f64 {
    -(-load(classes, probes) / bits.max(1) as f64).exp_m1()
}

/// rho^k; where k is no whole number, the mean over keys of which a share of the fraction makes one probe more.
///
/// ```
/// use bouquet_theory::assignment::acceptance;
/// assert_eq!((acceptance(0.5, 3.0), acceptance(0.5, 0.0)), (0.125, 1.0));
/// assert_eq!(acceptance(0.5, 2.5), (0.25 + 0.125) / 2.0);
/// ```
pub fn acceptance(fill: f64, probes: f64) -> f64 {
    let (whole, fraction) = (amount(probes).floor(), amount(probes).fract());
    let fill = probability(fill);
    fill.powf(whole) * (1.0 - fraction + fraction * fill)
}

/// E[rho^k] over filters of m bits into which this many bits were thrown, exact to the second order; k as in [`acceptance`].
///
/// ```
/// use bouquet_theory::{assignment::expected_acceptance, standard::expected_rate};
/// let expected = expected_rate(100_000, 10_000, 7);
/// assert!((expected_acceptance(100_000, 70_000.0, 7.0) / expected - 1.0).abs() < 1e-4);
/// ```
pub fn expected_acceptance(bits: u64, thrown: f64, probes: f64) -> f64 {
    let (whole, fraction) = (amount(probes).floor(), amount(probes).fract());
    let of = |k: f64| if k == 0.0 { 1.0 } else { corrected_rate_of_balls(bits as f64, amount(thrown), k) };
    (1.0 - fraction) * of(whole) + if fraction > 0.0 { fraction * of(whole + 1.0) } else { 0.0 }
}

/// sum Q_i rho^k_i / sum Q_i at the fill that these probes make: the share of the queries for absent keys that are accepted.
///
/// ```
/// use bouquet_theory::assignment::{Class, rate};
/// let all = [Class { queries: 0.9, members: 10.0 }, Class { queries: 0.1, members: 990.0 }];
/// assert!(rate(&all, &[17.0, 7.0], 10_000) < 0.11 * rate(&all, &[7.0, 7.0], 10_000));
/// ```
pub fn rate(classes: &[Class], probes: &[f64], bits: u64) -> f64 {
    mean_acceptance(classes, probes, fill(classes, probes, bits))
}

/// The same at a given fill.
///
/// ```
/// use bouquet_theory::assignment::{Class, mean_acceptance};
/// let all = [Class { queries: 3.0, members: 1.0 }, Class { queries: 1.0, members: 1.0 }];
/// assert_eq!(mean_acceptance(&all, &[1.0, 0.0], 0.5), 3.0 / 4.0 * 0.5 + 1.0 / 4.0);
/// ```
pub fn mean_acceptance(classes: &[Class], probes: &[f64], fill: f64) -> f64 {
    let all = queries(classes);
    if all == 0.0 {
        return 0.0;
    }
    let accepted = classes.iter().zip(probes).map(|(class, k)| amount(class.queries) * acceptance(fill, *k));
    (accepted.sum::<f64>() / all).min(1.0)
}

/// KL(X/n || Q/sum Q) in nats: as long as no clamp binds, the weighted rate of the best real probes is exp(-KL) times that of the
/// standard filter of the same size. Infinite if members are never asked for.
///
/// ```
/// use bouquet_theory::assignment::{Class, divergence};
/// assert_eq!(divergence(&[Class { queries: 1.0, members: 5.0 }, Class { queries: 2.0, members: 10.0 }]), 0.0);
/// ```
pub fn divergence(classes: &[Class]) -> f64 {
    let (all_queries, all_members) = (queries(classes), members(classes));
    if all_queries == 0.0 || all_members == 0.0 {
        return 0.0;
    }
    let of = |class: &Class| {
        let (x, r) = (amount(class.members) / all_members, amount(class.queries) / all_queries);
        if x == 0.0 { 0.0 } else { x * (x / r).ln() }
    };
    positive(classes.iter().map(of).sum())
}

/// The classes in the order of their scores, prepared for water-filling at any budget.
struct Water<'a> {
    classes: &'a [Class],
    /// Finite scores, falling, and the sums of X and of X times the score before each.
    scores: Vec<f64>,
    members: Vec<f64>,
    weighted: Vec<f64>,
}

impl<'a> Water<'a> {
    fn new(classes: &'a [Class]) -> Self {
        let finite = |class: &&Class| class.score().is_finite();
        let mut sorted: Vec<(f64, f64)> =
            classes.iter().filter(finite).map(|class| (class.score(), amount(class.members))).collect();
        sorted.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let (mut members, mut weighted) = (vec![0.0], vec![0.0]);
        for (at, (score, x)) in sorted.iter().enumerate() {
            members.push(members[at] + x);
            weighted.push(weighted[at] + x * score);
        }
        Water { classes, scores: sorted.into_iter().map(|(score, _)| score).collect(), members, weighted }
    }

    /// sum X_i clamp(C + score_i, 0, k_max).
    fn load(&self, level: f64, most: f64) -> f64 {
        let full = self.scores.partition_point(|score| level + score >= most);
        let some = self.scores.partition_point(|score| level + score > 0.0);
        most * self.members[full]
            + level * (self.members[some] - self.members[full])
            + (self.weighted[some] - self.weighted[full])
    }

    /// The real optimum.
    fn probes(&self, budget: f64, most: u32) -> Vec<f64> {
        let most = f64::from(most);
        let (Some(best), Some(worst)) = (self.scores.first(), self.scores.last()) else {
            return self.at(0.0, most);
        };
        let (mut low, mut high) = (-best, most - worst);
        for _ in 0..100 {
            let middle = low + (high - low) / 2.0;
            if self.load(middle, most) <= budget { low = middle } else { high = middle }
        }
        self.at(low, most)
    }

    fn at(&self, level: f64, most: f64) -> Vec<f64> {
        self.classes.iter().map(|class| (level + class.score()).clamp(0.0, most)).collect()
    }
}

/// The real optimum of sum Q_i 2^-k_i under sum X_i k_i <= budget and 0 <= k_i <= most: water-filling. A class without members has
/// `most`, one that is never asked for 0.
///
/// ```
/// use bouquet_theory::assignment::{Class, relax};
/// let all = [Class { queries: 0.9, members: 10.0 }, Class { queries: 0.1, members: 990.0 }];
/// let k = relax(&all, 10_000.0 * std::f64::consts::LN_2, 32);
/// assert!((k[0] - 16.6).abs() < 0.05 && (k[1] - 6.8).abs() < 0.05);
/// ```
pub fn relax(classes: &[Class], budget: f64, most: u32) -> Vec<f64> {
    Water::new(classes).probes(amount(budget), most.min(MAX_HASHES))
}

/// sum Q_i 2^-k_i.
///
/// ```
/// use bouquet_theory::assignment::{Class, cost};
/// assert_eq!(cost(&[Class { queries: 4.0, members: 1.0 }], &[2.0]), 1.0);
/// ```
pub fn cost(classes: &[Class], probes: &[f64]) -> f64 {
    classes.iter().zip(probes).map(|(class, k)| amount(class.queries) * (-amount(*k)).exp2()).sum()
}

/// Room for sums that were rounded.
const SLACK: f64 = 1e-9;

/// Spends what is left of the budget, each time on the probe that saves the most per bit among those that can be paid.
///
/// ```
/// use bouquet_theory::assignment::{Class, spend};
/// let all = [Class { queries: 8.0, members: 1.0 }, Class { queries: 1.0, members: 1.0 }];
/// assert_eq!(spend(&all, vec![0.0, 0.0], 4.0, 32), [4.0, 0.0]);
/// assert_eq!(spend(&all, vec![0.0, 0.0], 6.0, 3), [3.0, 3.0]);
/// ```
pub fn spend(classes: &[Class], mut probes: Vec<f64>, budget: f64, most: u32) -> Vec<f64> {
    /// The logarithm of what the next probe saves per bit.
    #[derive(PartialEq)]
    struct Gain(f64, Reverse<usize>);
    impl Eq for Gain {}
    impl PartialOrd for Gain {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Gain {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
        }
    }
    let (budget, most) = (amount(budget), f64::from(most.min(MAX_HASHES)));
    let mut left = budget * (1.0 + SLACK) - load(classes, &probes);
    let gain = |at: usize, k: f64| Gain(classes[at].score() - k, Reverse(at));
    let worth = |at: &usize| probes[*at] < most && classes[*at].score() > f64::NEG_INFINITY;
    let mut heap: BinaryHeap<Gain> =
        (0..classes.len().min(probes.len())).filter(worth).map(|at| gain(at, probes[at])).collect();
    while let Some(Gain(_, Reverse(at))) = heap.pop() {
        let price = amount(classes[at].members);
        // What cannot be paid now never can.
        if price <= left {
            left -= price;
            probes[at] += 1.0;
            if probes[at] < most {
                heap.push(gain(at, probes[at]));
            }
        }
    }
    probes
}

/// How whole numbers of probes are found.
///
/// ```
/// use bouquet_theory::assignment::{Class, Solver, cost, solve};
/// let all = [Class { queries: 8.0, members: 2.0 }, Class { queries: 3.0, members: 3.0 }, Class { queries: 1.0, members: 1.0 }];
/// let [relaxed, exact] = [Solver::Relax, Solver::Exact].map(|solver| solve(&all, 11.0, 8, solver));
/// assert!(cost(&all, &relaxed?) <= 1.1 * cost(&all, &exact?));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Solver {
    /// The real optimum rounded down, at most twice the best cost, then what is left of the budget spent: O(N log N). Up to 64
    /// classes are finished by [`Dp`](Solver::Dp).
    Relax,
    /// The best step function along falling scores: exact but for the order, N^k_max assignments.
    Threshold,
    /// At most 1 + epsilon times the best cost: dynamic programming over rounded costs, O(k_max N^2 / epsilon).
    Dp(f64),
    /// The best of all assignments.
    Exact,
}

/// Assignments that [`Solver::Threshold`] and [`Solver::Exact`] look at, at most.
const MOST_ASSIGNMENTS: f64 = 4e6;

/// Choices that [`Solver::Dp`] writes down, at most: one byte each.
const MOST_CHOICES: f64 = 1e8;

/// Whole numbers of probes under sum X_i k_i <= budget with a small sum Q_i 2^-k_i.
///
/// # Errors
///
/// `Error::Parameter` where the solver would take too long: `classes` is what is too many for it.
pub fn solve(classes: &[Class], budget: f64, most: u32, solver: Solver) -> Result<Vec<f64>> {
    let (budget, most) = (amount(budget), most.min(MAX_HASHES));
    let relaxed = || rounded(classes, relax(classes, budget, most), budget, most);
    match solver {
        Solver::Relax => Ok(relaxed()),
        Solver::Threshold => threshold(classes, budget, most),
        Solver::Dp(epsilon) => dp(classes, budget, most, epsilon, &relaxed()),
        Solver::Exact => exact(classes, budget, most),
    }
}

/// The probes rounded down.
fn floored(probes: Vec<f64>) -> Vec<f64> {
    // A hair below a whole number is that number.
    probes.into_iter().map(|k| (k + SLACK).floor()).collect()
}

/// Up to this many classes, whose probes are large pieces of the budget, rounding ends with dynamic programming to this accuracy:
/// spending alone can be half above the best there.
const FEW: usize = 64;
const ACCURACY: f64 = 0.1;

/// Whole numbers from the real optimum: rounded down, and what is left spent.
fn rounded(classes: &[Class], relaxed: Vec<f64>, budget: f64, most: u32) -> Vec<f64> {
    let spent = spend(classes, floored(relaxed), budget, most);
    if classes.len() > FEW {
        return spent;
    }
    dp(classes, budget, most, ACCURACY, &spent).unwrap_or(spent)
}

fn too_many(classes: &[Class], solver: &str) -> Error {
    Error::parameter("classes", format!("few enough for the solver {solver} (take relax)"), classes.len())
}

/// The best assignment so far, while all are visited.
struct Best {
    cost: f64,
    probes: Vec<f64>,
}

/// Step functions: the first `counts[j]` classes in the order of their scores have more than j probes.
fn threshold(classes: &[Class], budget: f64, most: u32) -> Result<Vec<f64>> {
    let n = classes.len();
    if ln_choose(n as f64 + f64::from(most), most.into()) > MOST_ASSIGNMENTS.ln() {
        return Err(too_many(classes, "threshold"));
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| classes[b].score().total_cmp(&classes[a].score()));
    let prefix = |of: &dyn Fn(&Class) -> f64| -> Vec<f64> {
        let mut sums = vec![0.0];
        order.iter().for_each(|&at| sums.push(sums[sums.len() - 1] + of(&classes[at])));
        sums
    };
    let (prices, saved) = (prefix(&|class| amount(class.members)), prefix(&|class| amount(class.queries)));
    let mut best = (f64::NEG_INFINITY, Vec::new());
    // The j-th probe of a class saves Q 2^-j.
    fn visit(
        step: u32,
        counts: &mut Vec<usize>,
        state: (f64, f64),
        tables: (&[f64], &[f64], f64, u32),
        best: &mut (f64, Vec<usize>),
    ) {
        let ((spent, saving), (prices, saved, budget, most)) = (state, tables);
        if saving > best.0 {
            *best = (saving, counts.clone());
        }
        if step == most {
            return;
        }
        let widest = counts.last().copied().unwrap_or(prices.len() - 1);
        for count in (1..=widest).take_while(|&count| spent + prices[count] <= budget * (1.0 + SLACK)) {
            counts.push(count);
            let next = (spent + prices[count], saving + saved[count] * half_to(f64::from(step + 1)));
            visit(step + 1, counts, next, tables, best);
            counts.pop();
        }
    }
    visit(0, &mut Vec::new(), (0.0, 0.0), (&prices, &saved, budget, most), &mut best);
    let mut probes = vec![0.0; n];
    best.1.iter().for_each(|&count| order[..count].iter().for_each(|&at| probes[at] += 1.0));
    Ok(probes)
}

/// 2^-k.
fn half_to(k: f64) -> f64 {
    (-k).exp2()
}

fn exact(classes: &[Class], budget: f64, most: u32) -> Result<Vec<f64>> {
    if classes.len() as f64 * f64::from(most + 1).ln() > MOST_ASSIGNMENTS.ln() {
        return Err(too_many(classes, "exact"));
    }
    let mut best = Best { cost: f64::INFINITY, probes: vec![0.0; classes.len()] };
    fn visit(classes: &[Class], probes: &mut Vec<f64>, left: f64, cost: f64, most: u32, best: &mut Best) {
        if cost >= best.cost {
            return;
        }
        let Some(class) = classes.get(probes.len()) else {
            *best = Best { cost, probes: probes.clone() };
            return;
        };
        for k in (0..=most).rev().map(f64::from) {
            let price = amount(class.members) * k;
            if price <= left {
                probes.push(k);
                visit(classes, probes, left - price, cost + amount(class.queries) * half_to(k), most, best);
                probes.pop();
            }
        }
    }
    visit(classes, &mut Vec::new(), budget * (1.0 + SLACK), 0.0, most, &mut best);
    Ok(best.probes)
}

/// Costs are rounded down to multiples of eps UB / (2N), UB the cost of `known`, which is at most twice the best: N roundings lose
/// at most eps UB / 2, which is eps times the best cost or less. `least[c]` is the least load with a rounded cost of c.
fn dp(classes: &[Class], budget: f64, most: u32, epsilon: f64, known: &[f64]) -> Result<Vec<f64>> {
    let (n, bound) = (classes.len(), cost(classes, known));
    check_rate("epsilon", epsilon)?;
    if n == 0 || bound == 0.0 {
        return Ok(known.to_vec());
    }
    let unit = epsilon * bound / (2.0 * n as f64);
    let states = (2.0 * n as f64 / epsilon).ceil() + n as f64 + 2.0;
    if states * n as f64 > MOST_CHOICES {
        return Err(too_many(classes, "dp"));
    }
    let states = states as usize;
    let (mut least, mut choices) = (vec![f64::INFINITY; states], Vec::with_capacity(n));
    least[0] = 0.0;
    let mut next = Vec::new();
    for class in classes {
        next.clear();
        next.resize(states, f64::INFINITY);
        let mut chosen = vec![0u8; states];
        for k in 0..=most {
            let (rounded, price) =
                (amount(class.queries) * half_to(f64::from(k)) / unit, amount(class.members) * f64::from(k));
            let rounded = if rounded < states as f64 { rounded as usize } else { continue };
            for at in rounded..states {
                let sum = least[at - rounded] + price;
                if sum < next[at] {
                    (next[at], chosen[at]) = (sum, k as u8);
                }
            }
        }
        std::mem::swap(&mut least, &mut next);
        choices.push(chosen);
    }
    let Some(mut at) = least.iter().position(|&load| load <= budget * (1.0 + SLACK)) else {
        return Ok(known.to_vec());
    };
    let mut probes = vec![0.0; n];
    for (class, chosen) in choices.iter().enumerate().rev() {
        probes[class] = f64::from(chosen[at]);
        at -= (amount(classes[class].queries) * half_to(probes[class]) / unit) as usize;
    }
    Ok(if cost(classes, &probes) <= bound { probes } else { known.to_vec() })
}

/// Budgets that are tried around m ln 2, on either side, and how far apart.
const TRIED: i32 = 8;
const APART: f64 = 0.025;

/// The probes of each class in a filter of this many bits: whole numbers, found at budgets up to 20 % around half fill, of which the
/// best is taken at the fill that it really makes. Never worse than the same number for all.
///
/// ```
/// use bouquet_theory::assignment::{Class, Solver, assign};
/// let all = [Class { queries: 0.9, members: 10.0 }, Class { queries: 0.1, members: 990.0 }];
/// assert_eq!(assign(&all, 10_000, 32, Solver::Relax)?, [17.0, 7.0]);
/// assert_eq!(assign(&all[..1], 100, 32, Solver::Relax)?, [7.0], "a standard filter");
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// Those of [`solve`].
pub fn assign(classes: &[Class], bits: u64, most: u32, solver: Solver) -> Result<Vec<f64>> {
    let most = most.min(MAX_HASHES);
    let half = bits as f64 * LN_2;
    // The standard filter's numbers, whichever is best.
    let alike = best_alike(members(classes), bits, most);
    let mut best = vec![alike; classes.len()];
    let mut least = rate(classes, &best, bits);
    let water = Water::new(classes);
    for step in -TRIED..=TRIED {
        let budget = half * (1.0 + APART * f64::from(step));
        let relaxed = water.probes(budget, most);
        let whole = match solver {
            Solver::Relax => rounded(classes, relaxed.clone(), budget, most),
            solver => solve(classes, budget, most, solver)?,
        };
        // Where a class is large, what is left cannot be spent, and rounding to the nearest may be better.
        let nearest: Vec<f64> = relaxed.iter().map(|k| k.round()).collect();
        for probes in [whole, nearest] {
            let rate = rate(classes, &probes, bits);
            if rate < least {
                (best, least) = (probes, rate);
            }
        }
    }
    Ok(best)
}

/// The whole number, at least 1, that is best for all keys alike.
fn best_alike(members: f64, bits: u64, most: u32) -> f64 {
    let all = [Class { queries: 1.0, members }];
    let best = (bits as f64 * LN_2 / members.max(f64::MIN_POSITIVE)).clamp(1.0, f64::from(most.max(1)));
    let [low, high] = [best.floor(), best.ceil()];
    // Rates of large sparse filters underflow; their logarithms do not.
    let log = |k: f64| k * fill(&all, &[k], bits).ln();
    if log(high) < log(low) { high } else { low }
}

/// The real optimum for keys that round their probes by a hash of their own, in steps of 1/`steps`.
///
/// ```
/// use bouquet_theory::assignment::{Class, assign_in_steps};
/// let all = [Class { queries: 0.9, members: 10.0 }, Class { queries: 0.1, members: 990.0 }];
/// assert_eq!(assign_in_steps(&all, 10_000, 32, 4), [16.75, 6.75]);
/// ```
pub fn assign_in_steps(classes: &[Class], bits: u64, most: u32, steps: u32) -> Vec<f64> {
    let steps = f64::from(steps.max(1));
    let probes = relax(classes, bits as f64 * LN_2, most);
    probes.into_iter().map(|k| (k * steps).round() / steps).collect()
}

/// The bits with which the weighted rate of these classes is at most `rate`, found with the solver, or in steps if there is none.
///
/// ```
/// use bouquet_theory::assignment::{Class, Solver, needed_bits};
/// let all = [Class { queries: 0.9, members: 100.0 }, Class { queries: 0.1, members: 9_900.0 }];
/// let bits = needed_bits(&all, 0.01, 32, Some(Solver::Relax), 1)?;
/// assert!(bits < 52_000, "a standard filter takes 95,851");
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` for a rate that is not between 0 and 1 or that `most` probes do not reach, and those of [`solve`].
pub fn needed_bits(classes: &[Class], rate: f64, most: u32, solver: Option<Solver>, steps: u32) -> Result<u64> {
    check_rate("fpr", rate)?;
    let all = queries(classes);
    if all == 0.0 {
        return Ok(1);
    }
    let most = most.min(MAX_HASHES);
    // At half fill all keys with k_max probes have 2^-k_max.
    if half_to(f64::from(most)) > rate {
        let reached = format!("at least 2^-{most}, what the most probes reach");
        return Err(Error::parameter("fpr", reached, rate));
    }
    let water = Water::new(classes);
    let (mut low, mut high) = (0.0, members(classes).max(1.0) * f64::from(most) / LN_2 + 1.0);
    while high - low > 0.5 && high - low > 1e-6 * high {
        let middle = low + (high - low) / 2.0;
        let reached = cost(classes, &water.probes(middle * LN_2, most)) / all;
        if reached <= rate { high = middle } else { low = middle }
    }
    // Whole numbers cost a little more.
    let mut bits = check_bits(high)?;
    loop {
        let probes = match solver {
            Some(solver) => assign(classes, bits, most, solver)?,
            None => assign_in_steps(classes, bits, most, steps),
        };
        let reached = self::rate(classes, &probes, bits);
        if reached <= rate {
            return Ok(bits);
        }
        // Towards the rate, by a third of what is missing: a bit per member is a factor of 0.6185.
        let missing = (reached / rate).ln() * members(classes) / (LN_2 * LN_2) / 3.0;
        bits = check_bits(bits as f64 + missing.max(1.0))?;
    }
}

/// 1 - C(N-h, g)/C(N, g): the probability that a group of g receivers among N hosts has one behind a port that serves h of them.
///
/// ```
/// use bouquet_theory::assignment::presence;
/// assert!((presence(10, 3, 1) - 0.3).abs() < 1e-12);
/// assert!((presence(4, 2, 2) - 5.0 / 6.0).abs() < 1e-12);
/// assert_eq!((presence(10, 3, 8), presence(10, 0, 5)), (1.0, 0.0));
/// ```
pub fn presence(hosts: u64, behind: u64, receivers: u64) -> f64 {
    let [all, behind, receivers] = [hosts, behind.min(hosts), receivers.min(hosts)].map(|number| number as f64);
    if receivers > all - behind {
        return if behind > 0.0 { 1.0 } else { 0.0 };
    }
    let none = ln_choose(all - behind, receivers) - ln_choose(all, receivers);
    (-none.exp_m1()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests;
