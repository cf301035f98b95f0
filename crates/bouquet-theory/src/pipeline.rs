//! Pipelines: hash functions that are computed only when the ones before have hit.
//!
//! Most queries of a filter in front of a slow store are negative, and most of those are decided by the first probes. A
//! pipeline of stages k_1 + k_2 + ... computes the functions of a stage only after every probe of the earlier stages has hit.
//! With the share rho of ones, a negative query passes k_1 probes with probability rho^k_1:
//!
//! ```text
//! two stages     k_1 + k_2 rho^k_1                  saving (k_2/k)(1 - rho^k_1)
//! k stages       (1 - rho^k)/(1 - rho)              saving 1 - (1/k) sum rho^(i-1)
//! ```
//!
//! evaluations. With the share phi of positive queries, which need all k, the mean is (1 - phi) times that plus phi k.
//!
//! Sources: I. Kaya, T. Kocak, *Energy-efficient pipelined Bloom filters for network intrusion detection*, 2006; M. Paynter,
//! T. Kocak, *Fully pipelined Bloom filter architecture*, 2008; Y. Zhou, T. Song, X. Wang, *EABF: energy efficient
//! self-adaptive Bloom filter for network packet processing*, 2012.

use super::special::{amount, power, probability};

/// The evaluations of a negative query when each of these stages is computed only after the earlier ones have hit. All
/// functions of a stage are computed together.
///
/// ```
/// use bouquet_theory::pipeline::negative_cost;
/// assert_eq!(negative_cost(&[2, 6], 0.5), 3.5);
/// assert!((negative_cost(&[1; 8], 0.5) - 1.992).abs() < 5e-4);
/// assert_eq!(negative_cost(&[8], 0.5), 8.0);
/// ```
pub fn negative_cost(stages: &[u32], ones: f64) -> f64 {
    let ones = probability(ones);
    let (mut before, mut cost) = (0.0, 0.0);
    for &stage in stages {
        cost += f64::from(stage) * power(ones, before);
        before += f64::from(stage);
    }
    cost
}

/// The same over queries of which the share `positive` has every probe hit.
///
/// ```
/// assert_eq!(bouquet_theory::pipeline::cost(&[2, 6], 0.5, 0.1), 0.9 * 3.5 + 0.1 * 8.0);
/// ```
pub fn cost(stages: &[u32], ones: f64, positive: f64) -> f64 {
    let (positive, all) = (probability(positive), stages.iter().map(|&stage| f64::from(stage)).sum::<f64>());
    (1.0 - positive) * negative_cost(stages, ones) + positive * all
}

/// The share of the evaluations of all k functions that a negative query saves.
///
/// ```
/// use bouquet_theory::pipeline::saving;
/// assert!((saving(&[2, 6], 0.5) - 0.5625).abs() < 1e-12);
/// assert!((saving(&[1; 8], 0.5) - 0.751).abs() < 5e-4);
/// ```
pub fn saving(stages: &[u32], ones: f64) -> f64 {
    let all = stages.iter().map(|&stage| f64::from(stage)).sum::<f64>();
    if all > 0.0 { probability(1.0 - negative_cost(stages, ones) / all) } else { 0.0 }
}

/// The number of functions in the first of two stages that needs the fewest evaluations; of equals the smallest.
///
/// ```
/// use bouquet_theory::pipeline::best_first;
/// assert_eq!([8, 10, 16].map(|k| best_first(k, 0.5)), [2, 3, 3]);
/// ```
pub fn best_first(k: u32, ones: f64) -> u32 {
    let k = k.clamp(1, 1 << 16);
    let of = |first: u32| negative_cost(&[first, k - first], ones);
    (1..=k).min_by(|&a, &b| of(a).total_cmp(&of(b))).unwrap_or(1)
}

/// The queries per tick that a first stage of k_1 functions hands on, of `arrivals`: phi + (1 - phi) rho^k_1 of them.
///
/// ```
/// use bouquet_theory::pipeline::handed_on;
/// assert_eq!(handed_on(4.0, 2, 0.5, 0.0), 1.0);
/// assert!(handed_on(4.0, 2, 0.5, 0.1) > 1.0, "a second stage that takes one per tick does not keep up");
/// ```
pub fn handed_on(arrivals: f64, first: u32, ones: f64, positive: f64) -> f64 {
    let positive = probability(positive);
    amount(arrivals) * (positive + (1.0 - positive) * power(probability(ones), f64::from(first)))
}

/// Whether a second stage that takes `served` queries per tick keeps up: λ (phi + (1 - phi) rho^k_1) < R.
///
/// ```
/// use bouquet_theory::pipeline::is_stable;
/// assert!(is_stable(4.0, 4, 0.5, 0.1, 1.0) && !is_stable(4.0, 2, 0.5, 0.1, 1.0));
/// ```
pub fn is_stable(arrivals: f64, first: u32, ones: f64, positive: f64, served: f64) -> bool {
    handed_on(arrivals, first, ones, positive) < amount(served)
}
