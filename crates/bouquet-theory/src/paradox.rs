//! The Bloom paradox: when members are rare, most positive answers are lies, and the filter is best not asked.
//!
//! Source: O. Rottenstreich, I. Keslassy, *The Bloom paradox: when not to use a Bloom filter*, 2015.

use std::f64::consts::LN_2;

use super::MAX_HASHES;
use super::special::{amount, probability};
use super::standard::{balls, rate_of_balls};

/// f(|M|-|C|) / (|C| + f(|M|-|C|)): the share of the positives that are false, for |C| members among |M| equally likely queries.
///
/// 0 if there is no positive at all.
///
/// ```
/// let lies = bouquet_theory::paradox::false_share(10_000_000_000, 10_000, 0.001);
/// assert!((lies - 0.999001).abs() < 5e-7);
/// ```
pub fn false_share(universe: u64, members: u64, rate: f64) -> f64 {
    let false_positives = probability(rate) * universe.saturating_sub(members) as f64;
    if false_positives == 0.0 { 0.0 } else { false_positives / (members as f64 + false_positives) }
}

/// pi / (pi + (1-pi) f), the chance that a positive is true, given the chance pi before asking.
///
/// ```
/// use bouquet_theory::paradox::posterior;
///
/// assert_eq!(posterior(0.5, 1.0), 0.5); // such a filter says nothing
/// assert!((posterior(1e-6, 1e-3) - 0.000999).abs() < 1e-6);
/// ```
pub fn posterior(prior: f64, rate: f64) -> f64 {
    let prior = probability(prior);
    let lies = (1.0 - prior) * probability(rate);
    if prior + lies == 0.0 { 0.0 } else { prior / (prior + lies) }
}

/// f / (f + alpha), the chance below which a key should be neither inserted nor asked for, with alpha = cost of a false negative
/// over cost of a false positive.
///
/// ```
/// use bouquet_theory::paradox::trust_threshold;
///
/// assert!((trust_threshold(1e-3, 1.0) - 9.99e-4).abs() < 1e-6);
/// assert!(trust_threshold(1e-3, 100.0) < 1.1e-5); // misses are dear: ask
/// ```
pub fn trust_threshold(rate: f64, alpha: f64) -> f64 {
    let (rate, alpha) = (probability(rate), amount(alpha));
    if rate == 0.0 { 0.0 } else { rate / (rate + alpha) }
}

/// Whether a positive answer of a filter of rate f would be believed for a key of this prior probability.
///
/// ```
/// use bouquet_theory::paradox::worth_querying;
///
/// assert!(!worth_querying(1e-3, 1e-6, 1.0));
/// assert!(worth_querying(1e-3, 1e-6, 1e4));
/// ```
pub fn worth_querying(rate: f64, prior: f64, alpha: f64) -> bool {
    probability(prior) >= trust_threshold(rate, alpha)
}

/// 1 / (1 + alpha 2^(c ln 2)), the same threshold for an optimal filter of c bits per key.
///
/// ```
/// use bouquet_theory::{paradox::{paradox_threshold, trust_threshold}, standard::optimal_rate};
///
/// assert!((paradox_threshold(10.0, 2.0) - trust_threshold(optimal_rate(10.0), 2.0)).abs() < 1e-15);
/// ```
pub fn paradox_threshold(bits_per_key: f64, alpha: f64) -> f64 {
    let alpha = amount(alpha);
    if alpha == 0.0 { 1.0 } else { 1.0 / (1.0 + alpha * (amount(bits_per_key) * LN_2 * LN_2).exp()) }
}

/// pi/(1-pi) prod_j (C_j m / (nk)), the odds that a key is a member, given the values of its counters in a filter of n keys:
/// only the product of the counters matters. Infinite for certainty, 0 if a counter is 0.
///
/// ```
/// use bouquet_theory::paradox::counting_odds;
///
/// // Counters of 1 in a filter with a mean of one half double the odds, each.
/// assert!((counting_odds(0.5, 2000, 100, 10, &[1, 1, 1]) - 8.0).abs() < 1e-12);
/// assert_eq!(counting_odds(0.5, 2000, 100, 10, &[1, 0]), 0.0);
/// ```
pub fn counting_odds(prior: f64, m: u64, n: u64, k: u32, counters: &[u64]) -> f64 {
    let prior = probability(prior);
    if prior == 0.0 || counters.contains(&0) {
        return 0.0;
    }
    if prior == 1.0 || n == 0 || k == 0 {
        return f64::INFINITY;
    }
    let per_count = (m.max(1) as f64 / balls(n, k)).ln();
    let log: f64 = counters.iter().map(|&c| (c as f64).ln() + per_count).sum();
    (log + (prior / (1.0 - prior)).ln()).exp()
}

/// The expected cost of one query at the best decision: prior times the cost of a miss below the threshold, (1-prior) f times the
/// cost of a false positive above it.
///
/// ```
/// use bouquet_theory::paradox::expected_cost;
///
/// assert!((expected_cost(1e-3, 1e-6, 1.0, 1.0) - 1e-6).abs() < 1e-18); // the filter is not asked
/// assert!((expected_cost(1e-3, 0.5, 1.0, 1.0) - 5e-4).abs() < 1e-12);
/// ```
pub fn expected_cost(rate: f64, prior: f64, miss_cost: f64, false_positive_cost: f64) -> f64 {
    let (rate, prior) = (probability(rate), probability(prior));
    (prior * amount(miss_cost)).min((1.0 - prior) * rate * amount(false_positive_cost))
}

/// What a filter is frozen with when it is built: its rate, the threshold that follows, and how many keys are above it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trust {
    /// f, with the keys that are inserted.
    pub rate: f64,
    /// f / (f + alpha).
    pub threshold: f64,
    /// The members whose prior probability is at least that.
    pub inserted: f64,
}

/// The fixed point of threshold and load: a key is inserted if its prior probability is at least f/(f + alpha), and f is the rate of m
/// bits with k probes for each key that is inserted. `members` are prior probabilities with the number of members that have them.
///
/// A higher rate inserts fewer keys, which lowers the rate: there is one crossing, found by bisection.
///
/// ```
/// use bouquet_theory::paradox::{frozen_trust, trust_threshold};
/// // 1,000 keys that are likely members and 100,000 that are not: only the former are inserted.
/// let trust = frozen_trust(10_000, 7, 1.0, &[(0.5, 1_000.0), (1e-5, 100_000.0)]);
/// assert_eq!(trust.inserted, 1_000.0);
/// assert!((trust.rate - 0.0082).abs() < 1e-4 && (trust.threshold - trust_threshold(trust.rate, 1.0)).abs() < 1e-12);
/// ```
pub fn frozen_trust(m: u64, k: u32, alpha: f64, members: &[(f64, f64)]) -> Trust {
    let at = |rate: f64| {
        let threshold = trust_threshold(rate, alpha);
        let kept = members.iter().filter(|(prior, _)| probability(*prior) >= threshold);
        (threshold, kept.map(|(_, count)| amount(*count)).sum::<f64>())
    };
    let reached = |rate: f64| rate_of_balls(m as f64, at(rate).1 * f64::from(k), f64::from(k));
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if reached(middle) > middle { low = middle } else { high = middle }
    }
    let (threshold, inserted) = at(high);
    Trust { rate: high, threshold, inserted }
}

/// P(v_1 ... v_k >= least and no v_j is 0) for k independent values of this law, `law[v]` the probability of v: how often the product of
/// counters is large enough to be believed.
///
/// ```
/// use bouquet_theory::paradox::product_tail;
/// let law = [0.5, 0.25, 0.25];
/// assert_eq!(product_tail(&law, 2, 1.0), 0.25);
/// assert_eq!(product_tail(&law, 2, 2.0), 3.0 / 16.0);
/// assert_eq!((product_tail(&law, 2, 4.0), product_tail(&law, 2, 5.0)), (1.0 / 16.0, 0.0));
/// ```
pub fn product_tail(law: &[f64], k: u32, least: f64) -> f64 {
    /// Products that are this improbable are left out.
    const NEGLIGIBLE: f64 = 1e-20;
    /// More products than this are merged where they differ by less than a hundredth.
    const MOST: usize = 10_000;
    let k = k.min(MAX_HASHES);
    let some: f64 = law.iter().skip(1).map(|p| probability(*p)).sum();
    // A hair below is enough: thresholds are computed.
    let least = if least.is_nan() { 0.0 } else { least * (1.0 - 1e-9) };
    if least <= 1.0 {
        return some.powi(k as i32).min(1.0);
    }
    // Products below `least`, and the probability of those that have reached it: further factors are 1 or more.
    let mut below = vec![(1.0f64, 1.0f64)];
    let mut reached = 0.0;
    for _ in 0..k {
        reached *= some;
        let mut next = Vec::new();
        for (product, chance) in below {
            for (value, p) in (1u32..).zip(law.iter().skip(1)) {
                let (grown, chance) = (product * f64::from(value), chance * probability(*p));
                if grown >= least {
                    reached += chance;
                } else if chance > NEGLIGIBLE {
                    next.push((grown, chance));
                }
            }
        }
        next.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let apart = if next.len() > MOST { 1.01 } else { 1.0 };
        below = Vec::new();
        for (product, chance) in next {
            match below.last_mut() {
                Some((last, sum)) if product <= *last * apart => *sum += chance,
                _ => below.push((product, chance)),
            }
        }
    }
    reached.min(1.0)
}

/// ((1-pi)/(pi alpha)) (nk/m)^k, the least product of counters at which a key of this prior probability is believed.
///
/// ```
/// use bouquet_theory::paradox::{counting_odds, least_product};
/// let least = least_product(0.01, 1.0, 1000, 100, 3);
/// assert!((counting_odds(0.01, 1000, 100, 3, &[1, 1, 1]) * least - 1.0).abs() < 1e-12);
/// ```
pub fn least_product(prior: f64, alpha: f64, m: u64, n: u64, k: u32) -> f64 {
    let (prior, alpha) = (probability(prior), amount(alpha));
    if prior == 1.0 {
        return 0.0;
    }
    if prior == 0.0 || alpha == 0.0 {
        return f64::INFINITY;
    }
    let of_strangers = (balls(n, k) / m.max(1) as f64).powi(k.min(MAX_HASHES) as i32);
    if of_strangers == 0.0 { 0.0 } else { (1.0 - prior) / (prior * alpha) * of_strangers }
}

/// The chance that a key is a member after a yes or a no, given the chance before: pi (1-g) / (pi (1-g) + (1-pi) f) after a yes and
/// pi g / (pi g + (1-pi)(1-f)) after a no, for a filter that misses a share g of its members.
///
/// ```
/// use bouquet_theory::paradox::{posterior, updated};
/// assert_eq!(updated(0.1, 0.01, 0.0, true), posterior(0.1, 0.01));
/// assert_eq!(updated(0.1, 0.01, 0.0, false), 0.0);
/// assert!((updated(0.5, 0.1, 0.1, false) - 0.1).abs() < 1e-12);
/// ```
pub fn updated(prior: f64, rate: f64, miss: f64, yes: bool) -> f64 {
    let (prior, rate, miss) = (probability(prior), probability(rate), probability(miss));
    let (members, others) = if yes { (1.0 - miss, rate) } else { (miss, 1.0 - rate) };
    let (members, others) = (prior * members, (1.0 - prior) * others);
    if members + others == 0.0 { 0.0 } else { members / (members + others) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_prints;
    use super::*;

    #[test]
    fn the_published_example_is_a_paradox() {
        let lies = false_share(10_000_000_000, 10_000, 1e-3);
        assert_prints(lies, "0.999001");
        assert!((posterior(1e-6, 1e-3) - (1.0 - lies)).abs() < 1e-9);
        assert_prints(trust_threshold(1e-3, 1.0), "9.99e-4");
        assert!(!worth_querying(1e-3, 1e-6, 1.0));
    }

    #[test]
    fn the_threshold_is_where_both_costs_are_equal() {
        for (rate, alpha) in [(1e-3, 1.0), (0.02, 5.0), (0.5, 0.1)] {
            let prior = trust_threshold(rate, alpha);
            assert!((prior * alpha - (1.0 - prior) * rate).abs() < 1e-15);
            assert!(worth_querying(rate, prior * 1.001, alpha) && !worth_querying(rate, prior * 0.999, alpha));
        }
    }

    #[test]
    fn the_product_of_the_counters_decides() {
        let odds = |counters: &[u64]| counting_odds(0.01, 1000, 100, 7, counters);
        assert!((odds(&[1, 6]) / odds(&[2, 3]) - 1.0).abs() < 1e-12);
        assert!(odds(&[2, 3]) > odds(&[1, 5]));
    }

    #[test]
    fn counting_odds_equal_brute_force_bayes() {
        // Two other keys of two probes in four cells; the cells of x are 0 and 1, one insertion each if x is present.
        // P(counters | present) / P(counters | absent), by enumerating all 4^4 throws of three or two keys.
        let likelihood = |keys: u32, own: bool, seen: [u32; 2]| {
            let throws = 2 * keys;
            let hits = (0..4u32.pow(throws)).filter(|t| {
                let count = |cell| (0..throws).filter(|i| t >> (2 * i) & 3 == cell).count() as u32;
                count(0) + u32::from(own) == seen[0] && count(1) + u32::from(own) == seen[1]
            });
            hits.count() as f64 / f64::from(4u32.pow(throws))
        };
        // A filter of n = 3 keys in all: x is one of them, or none of them. The two draws of x hit cells 0 and 1.
        let absent = likelihood(3, false, [1, 2]);
        let present = likelihood(2, true, [1, 2]);
        // The formula's factor C_0 C_1 (m/(nk))^2, exact up to the dependence of multinomial draws: nk(nk-1) for (nk)^2.
        let factor = counting_odds(0.5, 4, 3, 2, &[1, 2]);
        assert!((present / absent - factor * 36.0 / 30.0).abs() < 1e-12, "{} {factor}", present / absent);
    }
}
