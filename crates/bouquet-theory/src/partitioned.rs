//! k slices, one probe in each: the rate is exact in closed form.
//!
//! Slices are independent and each is probed once, so the k-th power of the fill is no approximation here. The price is a fill
//! slightly above the flat array's: (1 - k/m)^n <= (1 - 1/m)^(kn) of the bits stay zero.
//!
//! Sources: Broder, Mitzenmacher, *Network applications of Bloom filters*, 2004, section 2.1; J. Lu et al., *One-hashing
//! Bloom filter*, 2015; M. Breternitz et al., *A segmented Bloom filter algorithm for efficient predictors*, 2008.

use super::MAX_HASHES;
use super::special::{ln_miss, power, probability};
use super::standard;
use super::{Size, check_bits, check_positive, check_rate};
use crate::Result;

/// (1 - 1/s)^n, the expected fraction of zeros of a slice of s = ceil(m/k) bits.
///
/// ```
/// use bouquet_theory::{partitioned, standard};
///
/// assert!(partitioned::zeros(1022, 100, 7) < standard::zeros(1022, 100, 7));
/// assert_eq!(partitioned::zeros(1022, 100, 1), standard::zeros(1022, 100, 1));
/// ```
pub fn zeros(m: u64, n: u64, k: u32) -> f64 {
    ln_miss(slice_bits(m, k) as f64, n as f64).exp()
}

/// s = ceil(m/k), the bits of a slice; 0 without probes.
///
/// ```
/// assert_eq!(bouquet_theory::partitioned::slice_bits(1_000_000, 7), 142_858);
/// ```
pub fn slice_bits(m: u64, k: u32) -> u64 {
    if k == 0 { 0 } else { m.div_ceil(u64::from(k)) }
}

/// f = (1 - (1 - 1/s)^n)^k with s = ceil(m/k), exactly.
///
/// ```
/// use bouquet_theory::{partitioned, standard};
///
/// assert!((partitioned::rate(1022, 100, 7) - 0.0074967).abs() < 5e-8);
/// assert!((standard::expected_rate(1022, 100, 7) - 0.0074369).abs() < 5e-8);
/// ```
pub fn rate(m: u64, n: u64, k: u32) -> f64 {
    if m == 0 || k == 0 {
        return 1.0;
    }
    power(-ln_miss(slice_bits(m, k) as f64, n as f64).exp_m1(), f64::from(k))
}

/// prod_i (1 - (1 - 1/s_i)^n), the rate of slices of given sizes (one-hashing filter: consecutive primes).
///
/// ```
/// let primes = [1409, 1423, 1427, 1429, 1433, 1439, 1447];
/// assert!((bouquet_theory::partitioned::rate_of_slices(&primes, 1000) - 0.0081806).abs() < 5e-8);
/// ```
pub fn rate_of_slices(slices: &[u64], n: u64) -> f64 {
    slices.iter().map(|&s| if s == 0 { 1.0 } else { -ln_miss(s as f64, n as f64).exp_m1() }).product()
}

/// (1 - (1 - k/m)^n)^k, the rate of k distinct banks out of many, each key choosing its own (banked filter).
///
/// Exact for k banks, where it is [`rate`]; for more it neglects the scatter of the fill.
///
/// ```
/// use bouquet_theory::partitioned::{banked_rate, rate};
///
/// assert!((banked_rate(700, 70, 7) / rate(700, 70, 7) - 1.0).abs() < 1e-12);
/// ```
pub fn banked_rate(m: u64, n: u64, k: u32) -> f64 {
    if m == 0 || k == 0 {
        return 1.0;
    }
    power(-ln_miss(m as f64 / f64::from(k), n as f64).exp_m1(), f64::from(k))
}

/// The smallest partitioned filter for n keys whose exact rate is at most the given one; of equal sizes the one with fewer
/// probes. `bits` is a multiple of `hashes`.
///
/// The exact rate has an inverse: s = ceil( 1 / (1 - (1 - f^(1/k))^(1/n)) ).
///
/// ```
/// use bouquet_theory::partitioned::{for_rate, rate};
///
/// let size = for_rate(1000, 0.01)?;
/// assert_eq!(size.hashes, 7);
/// assert_eq!(size.bits % 7, 0);
/// assert!(rate(size.bits, 1000, 7) <= 0.01);
/// assert!(rate(size.bits - 7, 1000, 7) > 0.01);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys, if the rate is not between 0 and 1, or if the filter would be too large.
pub fn for_rate(n: u64, rate: f64) -> Result<Size> {
    check_positive("items", n)?;
    check_rate("fpr", rate)?;
    let mut best: Option<(f64, u32)> = None;
    for k in 1..=MAX_HASHES {
        let bits = needed_slice(n, rate, k) * f64::from(k);
        if best.is_none_or(|(least, _)| bits < least) {
            best = Some((bits, k));
        }
    }
    let (bits, hashes) = best.unwrap_or((f64::INFINITY, 1));
    Ok(Size { bits: check_bits(bits)?, hashes })
}

/// s = ceil( 1 / (1 - (1 - f^(1/k))^(1/n)) ), the least bits of a slice with which k probes reach the rate, the inverse of
/// [`rate`]; at least 1, infinite if no size does.
///
/// ```
/// use bouquet_theory::partitioned::{needed_slice, rate};
///
/// let slice = needed_slice(1000, 0.01, 5) as u64;
/// assert!(rate(5 * slice, 1000, 5) <= 0.01 && rate(5 * (slice - 1), 1000, 5) > 0.01);
/// ```
pub fn needed_slice(n: u64, rate: f64, k: u32) -> f64 {
    if n == 0 {
        return 1.0;
    }
    // The flat formula has e^(-1/s) in the place of 1 - 1/s.
    let flat = standard::needed_bits(n, rate, k) / f64::from(k);
    if flat.is_finite() { (-1.0 / (-1.0 / flat).exp_m1()).ceil().max(1.0) } else { f64::INFINITY }
}

/// The average of the slices' rates of fill, multiplied: prod_i (ones_i / s_i), the rate of one instance.
///
/// ```
/// assert_eq!(bouquet_theory::partitioned::conditional_rate(&[5, 10], 20), 0.125);
/// ```
pub fn conditional_rate(ones: &[u64], slice_bits: u64) -> f64 {
    if slice_bits == 0 {
        return 1.0;
    }
    ones.iter().map(|&ones| probability(ones as f64 / slice_bits as f64)).product()
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_prints;
    use super::*;

    #[test]
    fn rates_are_the_printed_ones() {
        assert_prints(rate(1022, 100, 7), "0.0074967");
        assert_prints(standard::expected_rate(1022, 100, 7), "0.0074369");
        assert_prints(rate(70, 7, 7), "0.0105187");
        assert_prints(standard::expected_rate(70, 7, 7), "0.0092665");
        // Seven does not divide a million: whole slices have 6 bits more than the 142,857.14 of the printed 0.0081939.
        assert_prints(banked_rate(1_000_000, 100_000, 7), "0.0081939");
        assert_prints(rate(1_000_000, 100_000, 7), "0.0081936");
        assert_prints(rate_of_slices(&[1409, 1423, 1427, 1429, 1433, 1439, 1447], 1000), "0.0081806");
    }

    #[test]
    fn equal_slices_are_a_special_case_of_given_ones() {
        let slices = [146u64; 7];
        assert!((rate_of_slices(&slices, 100) / rate(1022, 100, 7) - 1.0).abs() < 1e-13);
    }

    #[test]
    fn slices_keep_no_more_zeros_than_one_array() {
        for k in 1..20u32 {
            for m in (1..30u64).map(|s| s * u64::from(k)) {
                for n in [0u64, 1, 2, 10, 100] {
                    let (sliced, flat) = (zeros(m, n, k), standard::zeros(m, n, k));
                    assert!(sliced <= flat * (1.0 + 1e-12), "m = {m}, n = {n}, k = {k}");
                    if k == 1 {
                        assert_eq!(sliced, flat);
                    }
                }
            }
        }
    }

    #[test]
    fn slices_are_needed_as_large_as_the_rate_is_small() {
        let size = for_rate(1000, 1e-17).unwrap();
        assert!(size.bits > 81_000 && rate(size.bits, 1000, size.hashes) <= 1e-17);
        assert_eq!(needed_slice(1000, 0.0, 7), f64::INFINITY);
        assert_eq!(needed_slice(0, 0.5, 7), 1.0);
        assert_eq!(needed_slice(1000, 1.0, 7), 1.0);
        assert_eq!(needed_slice(1000, f64::NAN, 0), f64::INFINITY);
    }

    #[test]
    fn sizes_reach_their_rate_and_no_smaller_slice_does() {
        for n in [1u64, 2, 10, 1000, 1_000_000] {
            for rate_asked in [0.5, 0.1, 0.01, 1e-4, 1e-9] {
                let size = for_rate(n, rate_asked).unwrap();
                assert!(rate(size.bits, n, size.hashes) <= rate_asked * (1.0 + 1e-9), "{n} {rate_asked}");
                let k = u64::from(size.hashes);
                assert!(size.bits == k || rate(size.bits - k, n, size.hashes) > rate_asked, "{n} {rate_asked}");
            }
        }
    }
}
