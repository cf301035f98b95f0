//! Shifting filters: what a key has to say is where its bits lie, not which further bits it has.
//!
//! A key has bases among m positions; the bit at base + offset is set, offsets below a span of w bits. n keys of k bits
//! leave a bit zero with probability p = (1 - 1/m)^(nk).
//!
//! | form | bits of a key | an absent key seems present |
//! |---|---|---|
//! | membership | k/2 bases, each bit and the one o behind it | (1 - 2p + p^(2-c))^(k/2), c = 1/(2(w-1)) |
//! | association | k bases, at one of three offsets by its sets | 1 - (1-f0)^3, f0 = (1-p)^k |
//! | multiplicity | k bases, at offset c-1 for c occurrences, c <= C | 1 - (1-f0)^C |
//!
//! The c is the price of the shared offset: bits o apart are set together more often than by chance, when they belong to
//! a key with the same o. A base of a stored key hits one of two bits that are o apart in four ways, of which two are one
//! when its offset is o too, so that both stay zero with probability (1 - (4 - 1/(w-1))/m)^(nk/2) = p^(2-c).
//!
//! Source: T. Yang et al., *A shifting Bloom filter framework for set queries*, 2016. Its rate of the membership form,
//! ((1-p)(1-p + p²/(w-1)))^(k/2), takes the chance of such a pair for that of any one: up to some percent too high. The
//! laws of the multiplicity form for present keys are derived.

use super::special::{falling_root, halved, power, probability};
use super::standard::{rate, zeros};
use super::{MAX_BITS, Result, Size, check_bits, check_positive, check_rate};
use crate::Error;

/// The membership form's rate, (1 - 2p + p^(2-c))^(k/2).
///
/// ```
/// let rate = bouquet_theory::shifting::membership_rate(100_000, 10_000, 8, 57);
/// assert!((rate - 0.00862).abs() < 5e-6);
/// ```
pub fn membership_rate(m: u64, n: u64, k: u32, span: u32) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let p = zeros(m, n, k);
    power(pair(1.0 - p, p, span), f64::from(k / 2))
}

/// The published rate of the membership form, ((1-p)(1-p + p²/(w-1)))^(k/2): a little too high.
///
/// ```
/// let rate = bouquet_theory::shifting::published_rate(100_000, 10_000, 8, 57);
/// assert!((rate - 0.00868).abs() < 5e-6);
/// ```
pub fn published_rate(m: u64, n: u64, k: u32, span: u32) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let p = zeros(m, n, k);
    let both = (1.0 - p) * (1.0 - p + p * p / f64::from(span.saturating_sub(1).max(1)));
    power(probability(both), f64::from(k / 2))
}

/// The probability that the two bits of a base are one, where a bit is one or zero with these probabilities.
fn pair(one: f64, zero: f64, span: u32) -> f64 {
    if zero <= 0.0 {
        return 1.0;
    }
    let c = 0.5 / f64::from(span.saturating_sub(1).max(1));
    probability(one * one + zero * zero * (-c * zero.ln()).exp_m1())
}

/// The best even k of the membership form, about 0.7 m/n, where the rate is 0.62^(m/n); at least 2, at most 64.
///
/// ```
/// use bouquet_theory::shifting::{best_hashes, membership_rate};
/// let k = best_hashes(100_000, 10_000, 57);
/// assert!(k == 6 || k == 8);
/// assert!([2, 4, 6, 8, 10].iter().all(|&other| {
///     membership_rate(100_000, 10_000, k, 57) <= membership_rate(100_000, 10_000, other, 57)
/// }));
/// ```
pub fn best_hashes(m: u64, n: u64, span: u32) -> u32 {
    let rate = |k: &u32| membership_rate(m, n, *k, span);
    // The first of equal ones: fewer probes.
    even().min_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or(2)
}

fn even() -> impl Iterator<Item = u32> {
    (2..=crate::MAX_HASHES).step_by(2)
}

/// The fewest bits, and the even k that goes with them, for n keys at a rate in the membership form; `hashes` fixes k.
///
/// ```
/// use bouquet_theory::shifting::{for_membership, membership_rate};
/// let size = for_membership(10_000, 0.01, 57, None)?;
/// assert!(membership_rate(size.bits, 10_000, size.hashes, 57) <= 0.01);
/// assert!(size.bits < 97_000);
/// assert!(for_membership(10_000, 0.01, 57, Some(7)).is_err(), "bits come in pairs");
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys, the rate is not between 0 and 1, k is odd or 0; `Error::TooLarge` if there
/// would be too many bits.
pub fn for_membership(n: u64, wanted: f64, span: u32, hashes: Option<u32>) -> Result<Size> {
    check_positive("items", n)?;
    check_rate("fpr", wanted)?;
    if let Some(k) = hashes.filter(|k| *k == 0 || k % 2 == 1) {
        return Err(Error::parameter("hashes", "an even number, at least 2", k));
    }
    let chance = |k: u32| power(wanted, 2.0 / f64::from(k));
    let needed = |k: u32| n as f64 * f64::from(k) / load(chance(k), span);
    let best = match hashes {
        Some(k) => (k, needed(k)),
        None => {
            // Rough loads tell which few numbers are worth the exact ones.
            let rough: Vec<_> = even().map(|k| (k, f64::from(k) / rough_load(chance(k), span, 1e-3).exp())).collect();
            let least = rough.iter().map(|(_, bits)| *bits).fold(f64::INFINITY, f64::min);
            let near = rough.iter().filter(|(_, bits)| *bits <= 1.01 * least).map(|(k, _)| (*k, needed(*k)));
            near.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((2, f64::INFINITY))
        }
    };
    let mut bits = check_bits(best.1)?;
    // The load was solved in the limit of many bits; few are a little fuller.
    while membership_rate(bits, n, best.0, span) > wanted {
        bits += 1 + bits / 1024;
        if bits > MAX_BITS {
            return Err(Error::TooLarge { what: "the filter".into(), bytes: u128::from(bits) / 8 });
        }
    }
    Ok(Size { bits, hashes: best.0 })
}

/// The load nk/m at which both bits of a base are one with this probability.
fn load(chance: f64, span: u32) -> f64 {
    let high = rough_load(chance, span, 1e-12);
    let below = |log: f64| both(log.exp(), span) <= chance;
    let known = [high - 3e-12, high + 1e-12];
    let known = if below(known[0]) && !below(known[1]) { known } else { LOADS };
    halved(LOADS, 80, known, below)[0].exp()
}

/// Logarithms between which loads are looked for.
const LOADS: [f64; 2] = [-750.0, 5.0];

/// The probability that both bits of a base are one at a load.
fn both(lambda: f64, span: u32) -> f64 {
    // 1 - p by its own function, for loads so small that p rounds to 1.
    pair(-(-lambda).exp_m1(), (-lambda).exp(), span)
}

/// The logarithm of [`load`], to within so much.
fn rough_load(chance: f64, span: u32, tolerance: f64) -> f64 {
    // Both bits are one with lambda^2 in thin filters, or with c lambda by the offset that they share: between the two.
    let distance = |log: f64| (chance / both(log.exp(), span)).ln();
    let single = -(-chance.sqrt()).ln_1p();
    let [mut low, mut high] = [(chance * 0.5).ln(), single.ln() + 1e-3].map(|log| log.clamp(LOADS[0], LOADS[1]));
    let [mut at_low, mut at_high] = [low, high].map(distance);
    while at_low <= 0.0 && low > LOADS[0] {
        low -= 1.0;
        at_low = distance(low);
    }
    while at_high > 0.0 && high < LOADS[1] {
        high += 1.0;
        at_high = distance(high);
    }
    falling_root([(low, at_low), (high, at_high)], tolerance, distance)
}

/// 1 - (1-f0)^j for f0 = (1-p)^k: an absent key's bits are all one at one of j offsets.
///
/// ```
/// use bouquet_theory::shifting::any_offset;
/// let present = any_offset(200_000, 10_000, 8, 57);
/// assert!((present - 0.0079).abs() < 1e-4);
/// ```
pub fn any_offset(m: u64, n: u64, k: u32, offsets: u32) -> f64 {
    if offsets == 0 { 0.0 } else { -(f64::from(offsets) * (-rate(m, n, k)).ln_1p()).exp_m1() }
}

/// The largest f0 whose j offsets together are one with at most the wanted probability: 1 - (1-f)^(1/j).
///
/// ```
/// use bouquet_theory::shifting::rate_per_offset;
/// assert!((rate_per_offset(0.01, 57) / 1.763e-4 - 1.0).abs() < 1e-3);
/// ```
pub fn rate_per_offset(wanted: f64, offsets: u32) -> f64 {
    -((-probability(wanted)).ln_1p() / f64::from(offsets.max(1))).exp_m1()
}

/// (1-f0)^2: the class of a member of the union is told without doubt, because its bits at both other offsets are not
/// all one.
///
/// ```
/// let (n, k) = (12_500, 8);
/// let clear = bouquet_theory::shifting::clear_answer((n as f64 * k as f64 / 2f64.ln()) as u64, n, k);
/// assert!((clear - 0.992).abs() < 5e-4);
/// ```
pub fn clear_answer(m: u64, n: u64, k: u32) -> f64 {
    1.0 - any_offset(m, n, k, 2)
}

/// (1-f0)^(C-j): a key with j of at most C occurrences is told exactly, because nothing larger seems true of it. An
/// absent key is j = 0.
///
/// ```
/// use bouquet_theory::shifting::exact_count;
/// assert_eq!(exact_count(200_000, 10_000, 8, 57, 57), 1.0);
/// assert!((exact_count(200_000, 10_000, 8, 57, 0) - 0.992).abs() < 5e-4);
/// ```
pub fn exact_count(m: u64, n: u64, k: u32, most: u32, occurrences: u32) -> f64 {
    1.0 - any_offset(m, n, k, most.saturating_sub(occurrences))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;

    /// The load by eighty halvings.
    fn slow_load(chance: f64, span: u32) -> f64 {
        let (mut low, mut high) = (-750.0f64, 5.0f64);
        for _ in 0..80 {
            let middle = (low + high) / 2.0;
            let lambda = middle.exp();
            let both = pair(-(-lambda).exp_m1(), (-lambda).exp(), span);
            if both <= chance { low = middle } else { high = middle }
        }
        low.exp()
    }

    #[test]
    fn fast_sizing_finds_what_eighty_halvings_of_all_hashes_find() {
        for span in [2, 8, 25, 57] {
            for wanted in [0.99, 0.5, 0.2, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 1e-15] {
                for n in [1, 2, 9, 100, 1_234, 1_000_000, 1_000_000_000] {
                    let needed = |k: u32| n as f64 * f64::from(k) / slow_load(power(wanted, 2.0 / f64::from(k)), span);
                    let best = even().map(|k| (k, needed(k))).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
                    let mut bits = check_bits(best.1).unwrap();
                    while membership_rate(bits, n, best.0, span) > wanted {
                        bits += 1 + bits / 1024;
                    }
                    let expected = Size { bits, hashes: best.0 };
                    assert_eq!(
                        for_membership(n, wanted, span, None).unwrap(),
                        expected,
                        "{n} at {wanted}, span {span}"
                    );
                }
            }
        }
    }

    #[test]
    fn rates_are_the_printed_ones() {
        assert_prints(published_rate(1_000_000, 100_000, 8, 57), "0.00868");
        assert_prints(membership_rate(1_000_000, 100_000, 8, 57), "0.00862");
        // Without the shared offset this is a plain filter.
        assert_close(membership_rate(1_000_000, 100_000, 8, u32::MAX), rate(1_000_000, 100_000, 8), 1e-6);
    }

    #[test]
    fn the_published_best_k_and_its_rate_come_out() {
        // With many bits per key the even k is no restriction.
        let (n, c) = (1_000_000u64, 200u64);
        let rate = |k: &u32| published_rate(n * c, n, *k, 57);
        let k = (2..400).step_by(2).min_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap();
        assert!((f64::from(k) / c as f64 - 0.7009).abs() < 0.01, "{k}");
        assert_close(rate(&k).powf(1.0 / c as f64), 0.6204, 1e-4);
        let own = best_hashes(n * 40, n, 57);
        assert_close(f64::from(own) / 40.0, 0.7, 0.03);
        assert!(membership_rate(n * 40, n, own, 57) < published_rate(n * 40, n, own, 57));
    }

    #[test]
    fn sizes_reach_their_rate_and_not_much_more() {
        for wanted in [0.3, 0.01, 1e-4, 1e-9] {
            for n in [1, 7, 1_000, 1 << 30] {
                let size = for_membership(n, wanted, 57, None).unwrap();
                let reached = membership_rate(size.bits, n, size.hashes, 57);
                assert!(reached <= wanted, "{n} {wanted}: {size:?}");
                assert!(n < 1_000 || reached > 0.97 * wanted, "{n} {wanted}: {reached}");
            }
        }
    }
}
