//! Collisions of digests: below which rate no filter gets, however large it is.
//!
//! A filter sees digests, not keys. A key whose digest is that of a member has the member's positions, fingerprint and values
//! too, so it is a false positive whatever the filter does. With digests of b bits and n members that happens with probability
//! 1 - (1 - 2^-b)^n, about n / 2^b, and independently of everything else: the rate of the mechanism and this *floor* are
//! combined as the rates of two filters of which one is enough to let a key pass.

use crate::special::probability;
use crate::{Error, Result};

/// 1 - (1 - 2^-b)^n, the chance that an absent key has the digest of b bits of one of n keys.
///
/// ```
/// use bouquet_theory::collisions::floor;
/// assert_eq!(floor(1, 64), 2f64.powi(-64));
/// assert!((floor(1_000_000_000, 64) - 5.42e-11).abs() < 1e-13);
/// assert!(floor(1 << 40, 128) < 1e-26);
/// ```
pub fn floor(n: u64, bits: u32) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let collision = 2f64.powi(-(bits.min(1022) as i32));
    -(n as f64 * (-collision).ln_1p()).exp_m1()
}

/// The rate of a filter whose mechanism has `rate` with n keys, if the digests that it sees have this many bits: 1 -
/// (1-rate)(1-floor).
///
/// ```
/// use bouquet_theory::collisions::{floor, with_collisions};
/// assert!((with_collisions(0.01, 1_000, 64) - 0.01).abs() < 1e-16, "nobody notices");
/// let asked = with_collisions(1e-18, 1_000, 64);
/// assert!(asked > floor(1_000, 64) && asked < 5.6e-17, "not 1e-18");
/// assert_eq!(with_collisions(1e-18, 1_000, 128), 1e-18);
/// ```
pub fn with_collisions(rate: f64, n: u64, bits: u32) -> f64 {
    let (rate, floor) = (probability(rate), floor(n, bits));
    // Not 1 - (1-rate)(1-floor), which rounds small rates away.
    (rate + (1.0 - rate) * floor).min(1.0)
}

/// Refuses a rate that is not above the [`floor`] of n keys with digests of this many bits, and names the way out.
///
/// ```
/// use bouquet_theory::collisions::check_reachable;
/// assert!(check_reachable(1e-9, 1_000_000, 64).is_ok());
/// let error = check_reachable(1e-18, 1_000, 64).unwrap_err().to_string();
/// assert!(error.contains("5.421e-17") && error.contains("128 bits"), "{error}");
/// assert!(check_reachable(1e-18, 1_000, 128).is_ok());
/// ```
pub fn check_reachable(fpr: f64, n: u64, bits: u32) -> Result<()> {
    let floor = floor(n, bits);
    if fpr > floor {
        return Ok(());
    }
    let remedy = match bits {
        ..128 => {
            "; hash to 128 bits, all of which positions are made from (`--wide`, and `reduction=fastrange` where the \
                  kind has that parameter), or ask for fewer keys"
        }
        _ => "; ask for fewer keys",
    };
    let expected =
        format!("above {floor:.3e}, the share of keys whose digest of {bits} bits is that of one of {n} keys{remedy}");
    Err(Error::parameter("fpr", expected, format!("{fpr:e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    #[test]
    fn the_floor_is_the_measured_share_of_colliding_digests() {
        // Digests of 16 bits: few enough to collide.
        let (n, queries) = (2_000u64, 400_000u64);
        let mut random = SplitMix::new(5);
        let mut digest = || random.next_u64() >> 48;
        let members: std::collections::HashSet<_> = (0..n).map(|_| digest()).collect();
        let found = (0..queries).filter(|_| members.contains(&digest())).count() as f64;
        let expected = floor(n, 16);
        // The members' digests scatter too: occupied digests of 2^16 have a variance below their mean times the floor.
        let share = members.len() as f64 / 65_536.0;
        assert!((share - expected).abs() < 5.0 * (expected * expected * 0.5 / 65_536.0).sqrt(), "{share} {expected}");
        let sigma = (expected * (1.0 - expected) / queries as f64 + expected * expected * 0.5 / 65_536.0).sqrt();
        assert!((found / queries as f64 - expected).abs() < 5.0 * sigma, "{found} {expected}");
    }

    #[test]
    fn a_filter_on_narrow_digests_has_the_combined_rate() {
        // The mechanism lets a random tenth pass; on top of that come collisions of digests of 12 bits.
        let (n, queries, rate) = (500u64, 300_000u64, 0.1);
        let mut random = SplitMix::new(9);
        let members: std::collections::HashSet<_> = (0..n).map(|_| random.below(1 << 12)).collect();
        let passed = (0..queries).filter(|_| members.contains(&random.below(1 << 12)) | (random.unit() < rate)).count();
        let given = 1.0 - (1.0 - rate) * (1.0 - members.len() as f64 / 4096.0);
        let sigma = (given * (1.0 - given) / queries as f64).sqrt();
        assert!((passed as f64 / queries as f64 - given).abs() < 5.0 * sigma, "{passed}");
        // The number of distinct digests scatters around its mean by less than n/sqrt(2 * 4096).
        assert!((given - with_collisions(rate, n, 12)).abs() < 5.0 * 500.0 / (2.0f64 * 4096.0).sqrt() / 4096.0);
    }

    #[test]
    fn common_rates_stay_to_the_last_digit() {
        for rate in [0.5, 0.01, 1e-3, 1e-6] {
            assert!((with_collisions(rate, 1_000_000, 128) / rate - 1.0).abs() < 1e-15);
            assert!((with_collisions(rate, 10_000, 64) / rate - 1.0).abs() < 1e-8);
        }
        for bits in [0, 1, 64, 128, u32::MAX] {
            assert_eq!(with_collisions(0.25, 0, bits), 0.25);
        }
        assert_eq!(with_collisions(0.0, 5, 0), 1.0, "one digest for all keys");
    }
}
