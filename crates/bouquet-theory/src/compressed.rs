//! Filters made to be sent: the best rate for a number of transmitted bits, not of bits in memory.
//!
//! A half-full filter cannot be compressed. A larger and emptier one can, and at equal transmitted size z = m H(p) it has the
//! lower rate: p = 1/2, the best point for fixed memory, is the worst for a fixed message.
//!
//! Source: M. Mitzenmacher, *Compressed Bloom filters*, 2002; Broder, Mitzenmacher, *Network applications of Bloom filters*,
//! 2004, section 2.6.

use std::f64::consts::LN_2;

use super::MAX_HASHES;
use super::special::{amount, entropy, power};
use super::standard::{limit_rate, limit_zeros};
use super::{check_rate, standard};
use crate::{Error, Result};

/// A filter and what it costs to send, per key.
///
/// ```
/// let plan = bouquet_theory::compressed::for_message(16.0, 48.0)?;
/// assert_eq!((plan.bits_per_key, plan.hashes), (48.0, 3));
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// m/n, the bits per key in memory.
    pub bits_per_key: f64,
    /// k, the probes per key.
    pub hashes: u32,
    /// z/n, the bits per key of the message.
    pub message_bits_per_key: f64,
    /// The rate of false positives.
    pub rate: f64,
}

impl Plan {
    fn new(bits_per_key: f64, hashes: u32) -> Self {
        Plan {
            bits_per_key,
            hashes,
            message_bits_per_key: message_bits_per_key(bits_per_key, hashes),
            rate: limit_rate(bits_per_key, hashes),
        }
    }

    /// Rate and message are symmetric in the zeros and the ones: for every sparse filter there is an equally good, overfull
    /// one with many times the probes. Only the former is of use. Half full is allowed, up to the rounding of k.
    fn is_sparse(&self) -> bool {
        f64::from(self.hashes) <= standard::best_hashes(self.bits_per_key).ceil()
    }
}

/// z/n = c H(e^(-k/c)), the transmitted bits per key of a filter of c bits per key (Mitzenmacher, 2002).
///
/// ```
/// use bouquet_theory::compressed::message_bits_per_key;
///
/// assert!((message_bits_per_key(28.0, 4) - 15.846).abs() < 5e-4);
/// ```
pub fn message_bits_per_key(bits_per_key: f64, k: u32) -> f64 {
    let c = amount(bits_per_key);
    if c == 0.0 || k == 0 {
        return 0.0;
    }
    // The entropy of the rarer symbol, so that no digits are lost on either side of half full.
    let load = f64::from(k) / c;
    c * entropy(if load > LN_2 { (-load).exp() } else { -(-load).exp_m1() })
}

/// m H(ones/m), the bits that an ideal coder needs for one filter.
///
/// ```
/// use bouquet_theory::compressed::message_bits;
///
/// assert_eq!(message_bits(1000, 500), 1000.0);
/// assert_eq!(message_bits(1000, 0), 0.0);
/// ```
pub fn message_bits(m: u64, ones: u64) -> f64 {
    if m == 0 { 0.0 } else { m as f64 * entropy(ones as f64 / m as f64) }
}

/// The least rate for a message of z bits per key and a memory of at most `max_bits_per_key`.
///
/// For every k the message grows with the memory, so the largest filter that fits both limits is that k's best.
///
/// ```
/// let plan = bouquet_theory::compressed::for_message(8.0, 14.0)?;
/// assert_eq!(plan.hashes, 2);
/// assert!(plan.rate < 0.018); // 0.0216 uncompressed
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if a limit is not a positive finite number.
pub fn for_message(message_bits_per_key: f64, max_bits_per_key: f64) -> Result<Plan> {
    check_amount("message_bits_per_key", message_bits_per_key)?;
    check_amount("max_bits_per_key", max_bits_per_key)?;
    let plans = (1..=MAX_HASHES)
        .map(|k| Plan::new(largest_filter(message_bits_per_key, max_bits_per_key, k), k))
        .filter(|plan| plan.hashes == 1 || plan.is_sparse());
    // The first of equal rates, so the fewest probes.
    let best = plans.reduce(|best, plan| if plan.rate < best.rate { plan } else { best });
    best.ok_or_else(|| Error::parameter("message_bits_per_key", "positive", message_bits_per_key))
}

/// The shortest message with a given rate and a memory of at most `max_bits_per_key`.
///
/// ```
/// let plan = bouquet_theory::compressed::for_rate(0.000222, 48.1)?;
/// assert_eq!(plan.hashes, 3);
/// assert!((plan.message_bits_per_key - 15.83).abs() < 0.01);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if the rate is not between 0 and 1, or needs more memory than allowed.
pub fn for_rate(rate: f64, max_bits_per_key: f64) -> Result<Plan> {
    check_rate("fpr", rate)?;
    check_amount("max_bits_per_key", max_bits_per_key)?;
    (1..=MAX_HASHES)
        .map(|k| Plan::new(standard::needed_bits(1, rate, k), k))
        .filter(|plan| plan.bits_per_key <= max_bits_per_key && (plan.hashes == 1 || plan.is_sparse()))
        .reduce(|best, plan| if plan.message_bits_per_key < best.message_bits_per_key { plan } else { best })
        .ok_or_else(|| {
            let needed = standard::optimal_bits_per_key(rate);
            Error::parameter("max_bits_per_key", format!("at least {needed:.3} for this rate"), max_bits_per_key)
        })
}

/// e 2^(-z/n): the rate that messages of z/n bits per key approach with unlimited memory and one probe.
///
/// ```
/// let limit = bouquet_theory::compressed::limit_of_message(16.0);
/// assert!((limit / 4.15e-5 - 1.0).abs() < 5e-3);
/// ```
pub fn limit_of_message(message_bits_per_key: f64) -> f64 {
    (std::f64::consts::E * power(0.5, amount(message_bits_per_key))).min(1.0)
}

/// c H(q) with q = 2 e^(-k/c) (1 - e^(-ka/c)): the bits per key of an update after a share a of the keys was replaced.
///
/// A bit differs if the kept keys leave it zero and exactly one of the old and the new keys sets it.
///
/// ```
/// let update = bouquet_theory::compressed::update_bits_per_key(28.0, 4, 0.01);
/// assert!((update - 0.70).abs() < 5e-3);
/// ```
pub fn update_bits_per_key(bits_per_key: f64, k: u32, replaced: f64) -> f64 {
    let (c, k) = (amount(bits_per_key), f64::from(k));
    if c == 0.0 || k == 0.0 {
        return 0.0;
    }
    c * entropy(-2.0 * (-k / c).exp() * (-k / c * super::special::probability(replaced)).exp_m1())
}

/// The largest c up to the limit with c H(e^(-k/c)) <= z.
fn largest_filter(message: f64, limit: f64, k: u32) -> f64 {
    let fits = |c: f64| message_bits_per_key(c, k) <= message;
    if fits(limit) {
        return limit;
    }
    let (mut low, mut high) = (0.0, limit);
    while high - low > 1e-12 * high {
        let middle = (low + high) / 2.0;
        if middle == low || middle == high {
            break;
        }
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn check_amount(name: &str, found: f64) -> Result<()> {
    if found > 0.0 && found < 1e100 { Ok(()) } else { Err(Error::parameter(name, "positive and finite", found)) }
}

/// The fraction of ones that a plan leaves, 1 - e^(-k/c).
///
/// ```
/// let plan = bouquet_theory::compressed::for_message(16.0, 48.0)?;
/// assert!(bouquet_theory::compressed::fill(&plan) < 0.07);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn fill(plan: &Plan) -> f64 {
    1.0 - limit_zeros(plan.bits_per_key, plan.hashes)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;

    #[test]
    fn the_published_table_is_reproduced() {
        for (c, k, message, rate) in [
            (16.0, 11, "16.000", "0.000459"),
            (28.0, 4, "15.846", "0.000314"),
            (48.0, 3, "15.829", "0.000222"),
            (8.0, 6, "7.98", "0.0216"),
            (14.0, 2, "7.923", "0.0177"),
            (92.0, 1, "7.923", "0.0108"),
        ] {
            assert_prints(message_bits_per_key(c, k), message);
            assert_prints(limit_rate(c, k), rate);
        }
    }

    #[test]
    fn the_optimiser_finds_the_published_designs() {
        for (z, limit, k) in [(16.0, 48.0, 3), (16.0, 28.0, 4), (8.0, 14.0, 2), (8.0, 92.0, 1)] {
            let plan = for_message(z, limit).unwrap();
            assert_eq!(plan.hashes, k, "{plan:?}");
            assert!(plan.message_bits_per_key <= z && plan.bits_per_key <= limit);
        }
    }

    #[test]
    fn messages_grow_with_the_memory() {
        for k in [1, 3, 11, 64] {
            let sizes: Vec<f64> = (1..4000).map(|c| message_bits_per_key(f64::from(c) / 8.0, k)).collect();
            assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]), "k = {k}");
        }
    }

    #[test]
    fn unlimited_memory_reaches_the_limit_and_not_the_survey_value() {
        let plan = for_message(16.0, 1e9).unwrap();
        assert_eq!(plan.hashes, 1);
        assert_close(plan.bits_per_key, 24_115.0, 1e-3);
        assert_prints(plan.rate, "4.15e-5");
        assert_prints(limit_of_message(16.0), "4.15e-5");
        assert!(plan.rate > 2.7 * power(0.5, 16.0));
    }

    #[test]
    fn half_full_is_the_worst_point_for_a_message() {
        let half_full = limit_rate(16.0, 11);
        for k in 1..11 {
            assert!(Plan::new(largest_filter(16.0, 1e9, k), k).rate < half_full, "k = {k}");
        }
    }

    #[test]
    fn updates_are_short() {
        assert_prints(update_bits_per_key(28.0, 4, 0.01), "0.70");
        assert_prints(100.0 * update_bits_per_key(28.0, 4, 0.01) / message_bits_per_key(28.0, 4), "4.4");
        assert_eq!(update_bits_per_key(28.0, 4, 0.0), 0.0);
    }

    #[test]
    fn the_shortest_message_is_the_inverse_of_the_least_rate() {
        let plan = for_rate(0.001, 40.0).unwrap();
        assert!(plan.rate <= 0.001 * (1.0 + 1e-9) && plan.bits_per_key <= 40.0);
        assert!(for_message(plan.message_bits_per_key * 0.999, 40.0).unwrap().rate > 0.001);
        assert!(for_rate(0.001, 14.0).is_err() && for_rate(0.0, 14.0).is_err() && for_rate(0.1, f64::NAN).is_err());
        assert!(for_message(0.0, 1.0).is_err() && for_message(1.0, f64::INFINITY).is_err());
    }
}
