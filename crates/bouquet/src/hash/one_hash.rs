//! One hash word, k prime moduli: the positions of a one-hashing Bloom filter (Lu et al., 2015).
//!
//! Position i is `offset_i + H mod m_i` for a single 64-bit word H and slices of sizes m₁ < ... < m_k. By the Chinese
//! remainder theorem the remainders are independent when the sizes are pairwise coprime, so they are a run of
//! consecutive primes: the one whose sum is nearest to the size asked for (of two equally near, the smaller).
//!
//! Two keys with equal words cannot be told apart, and H mod m_i favours the low remainders by about m_i / 2⁶⁴; both
//! are kept below 2⁻²⁰ by refusing primes over 2⁴⁴.

use super::MAX_HASHES;
use super::probes::Positions;
use crate::error::{Error, Result};

/// 2⁶⁴ / m_k must be at least 2²⁰.
const LARGEST_SLICE: u64 = 1 << 44;

/// The prime slices of a one-hashing filter.
///
/// ```
/// use bouquet::hash::PrimeSlices;
/// let slices = PrimeSlices::new(10_000, 7)?;
/// assert_eq!(slices.primes().collect::<Vec<_>>(), [1409, 1423, 1427, 1429, 1433, 1439, 1447]);
/// assert_eq!(slices.total(), 10_007);
/// assert_eq!(slices.positions(1_000_000)[0], 1_000_000 % 1409);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimeSlices {
    slices: Vec<Slice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    prime: u64,
    /// ⌊(2⁶⁴-1) / prime⌋.
    reciprocal: u64,
    offset: u64,
}

impl Slice {
    /// `hash mod prime`, for every hash. The reciprocal r is 2⁶⁴/p - e with 0 < e <= 1, so hash·r/2⁶⁴ lies less than 1
    /// below hash/p: the quotient is right or one too small, and one subtraction mends the remainder.
    #[inline]
    fn remainder(self, hash: u64) -> u64 {
        let quotient = super::fastrange(hash, self.reciprocal);
        let remainder = hash - quotient * self.prime;
        if remainder >= self.prime { remainder - self.prime } else { remainder }
    }
}

impl PrimeSlices {
    /// The sum of the first k primes, the least m for k positions.
    pub(crate) fn least_bits(k: u32) -> u64 {
        std::iter::successors(Some(2), |&p| Some(prime_from(p + 1))).take(k.min(MAX_HASHES) as usize).sum()
    }

    /// The run of k consecutive primes whose sum is nearest to m.
    ///
    /// ```
    /// use bouquet::hash::PrimeSlices;
    /// assert!(PrimeSlices::new(10, 7).is_err(), "the first seven primes sum to 58");
    /// assert!(PrimeSlices::new(u64::MAX, 7).is_err(), "the hash word is too short for such slices");
    /// ```
    pub fn new(m: u64, k: u32) -> Result<Self> {
        if k == 0 || k > MAX_HASHES {
            return Err(Error::parameter("hashes", format!("from 1 to {MAX_HASHES}"), k));
        }
        let smallest = Self::least_bits(k);
        if m < smallest {
            return Err(Error::parameter("bits", format!("at least {smallest}, the sum of the first {k} primes"), m));
        }
        let too_large = || Error::parameter("bits", format!("at most {k} primes of 2^44"), m);
        if m / u64::from(k) > LARGEST_SLICE {
            return Err(too_large());
        }
        let primes = nearest_run(m, k);
        if primes.last().is_none_or(|&largest| largest > LARGEST_SLICE) {
            return Err(too_large());
        }
        let mut offset = 0;
        let slices = primes.into_iter().map(|prime| {
            let slice = Slice { prime, reciprocal: u64::MAX / prime, offset };
            offset += prime;
            slice
        });
        Ok(PrimeSlices { slices: slices.collect() })
    }

    /// The slice sizes, ascending.
    ///
    /// ```
    /// use bouquet::hash::PrimeSlices;
    /// assert!(PrimeSlices::new(10, 3)?.primes().eq([2, 3, 5]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn primes(&self) -> impl ExactSizeIterator<Item = u64> {
        self.slices.iter().map(|slice| slice.prime)
    }

    /// The bits of all slices.
    ///
    /// ```
    /// use bouquet::hash::PrimeSlices;
    /// assert_eq!(PrimeSlices::new(1_000_000, 7)?.total(), 999_997);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn total(&self) -> u64 {
        self.slices.last().map_or(0, |slice| slice.offset + slice.prime)
    }

    /// The positions of a hash word, one in each slice, without division or allocation.
    ///
    /// ```
    /// use bouquet::hash::PrimeSlices;
    /// assert!(PrimeSlices::new(10, 3)?.probes(14).eq([0, 2 + 2, 5 + 4]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn probes(&self, hash: u64) -> impl ExactSizeIterator<Item = u64> {
        self.slices.iter().map(move |slice| slice.offset + slice.remainder(hash))
    }

    /// The positions of a hash word in a buffer.
    ///
    /// ```
    /// use bouquet::hash::PrimeSlices;
    /// assert_eq!(*PrimeSlices::new(10, 3)?.positions(14), [0, 4, 9]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn positions(&self, hash: u64) -> Positions {
        self.probes(hash).collect()
    }
}

/// The sum of a run grows with its first prime, so the nearest run is one of two neighbours: the last whose sum is at
/// most m, and the next. The run from the first prime at or over m/k has a sum of at least m; slide down from there.
/// Needs m at least the sum of the first k primes, and m/k small against 2⁶⁴.
fn nearest_run(m: u64, k: u32) -> Vec<u64> {
    let first = prime_from(m.div_ceil(u64::from(k)));
    let mut run: std::collections::VecDeque<u64> =
        std::iter::successors(Some(first), |&p| Some(prime_from(p + 1))).take(k as usize).collect();
    let mut sum: u64 = run.iter().sum();
    while sum > m {
        let (Some(&lowest), Some(&highest)) = (run.front(), run.back()) else { break };
        // The sum of the first k primes is at most m, so a run above m does not begin with 2.
        let Some(lower) = prime_below(lowest) else { break };
        let slid = sum - highest + lower;
        if slid <= m && m - slid > sum - m {
            break;
        }
        run.pop_back();
        run.push_front(lower);
        sum = slid;
    }
    run.into()
}

/// The first prime at or over `n`, which is far below 2⁶⁴.
pub(crate) fn prime_from(n: u64) -> u64 {
    (n..).find(|&n| is_prime(n)).unwrap_or(u64::MAX)
}

fn prime_below(n: u64) -> Option<u64> {
    (2..n).rev().find(|&n| is_prime(n))
}

/// The first twelve primes as bases decide the Miller-Rabin test for every number below 3.3 * 10²⁴ (Sorenson and
/// Webster, 2015), so this is exact for 64 bits.
const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/// The least number that the first four bases do not decide (Pomerance, Selfridge and Wagstaff, 1980). Numbers below it have
/// products of 64 bits.
const FOUR_BASES: u64 = 3_215_031_751;

fn is_prime(n: u64) -> bool {
    if n < 2 {
        return false;
    }
    if let Some(&divisor) = BASES.iter().find(|&&p| n.is_multiple_of(p)) {
        return n == divisor;
    }
    if n < FOUR_BASES {
        passes(n, &BASES[..4], |a, b| a * b % n)
    } else {
        passes(n, &BASES, |a, b| (u128::from(a) * u128::from(b) % u128::from(n)) as u64)
    }
}

/// The Miller-Rabin test of an odd number, given multiplication modulo n.
fn passes(n: u64, bases: &[u64], multiply: impl Fn(u64, u64) -> u64) -> bool {
    let power = |mut base: u64, mut exponent: u64| {
        let mut result = 1;
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = multiply(result, base);
            }
            base = multiply(base, base);
            exponent >>= 1;
        }
        result
    };
    let twos = (n - 1).trailing_zeros();
    bases.iter().all(|&base| {
        let start = power(base, (n - 1) >> twos);
        let mut squares = std::iter::successors(Some(start), |&x| Some(multiply(x, x))).take(twos as usize);
        start == 1 || squares.any(|x| x == n - 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn sizes_match_the_published_vectors() {
        let primes = |m, k| PrimeSlices::new(m, k).unwrap().primes().collect::<Vec<_>>();
        assert_eq!(primes(10_000, 7), [1409, 1423, 1427, 1429, 1433, 1439, 1447]);
        assert_eq!(primes(1_000_000, 7), [142_811, 142_837, 142_841, 142_867, 142_871, 142_873, 142_897]);
    }

    #[test]
    fn primality_equals_a_sieve_and_is_not_fooled_by_pseudoprimes() {
        let mut composite = vec![false; 100_000];
        (composite[0], composite[1]) = (true, true);
        for i in 2..composite.len() {
            assert_eq!(is_prime(i as u64), !composite[i], "{i}");
            if !composite[i] {
                (i * i..composite.len()).step_by(i).for_each(|j| composite[j] = true);
            }
        }
        // Strong pseudoprimes to the first 4, 7 and 9 bases, a Carmichael number, and 2^64-1.
        for n in [3_215_031_751, 341_550_071_728_321, 3_825_123_056_546_413_051, 825_265, u64::MAX] {
            assert!(!is_prime(n), "{n}");
        }
        // 2^64-59 is the largest prime of 64 bits.
        assert!(is_prime(u64::MAX - 58) && is_prime((1 << 61) - 1));
    }

    #[test]
    fn no_other_run_of_primes_is_nearer() {
        let primes: Vec<u64> = (2..3000).filter(|&n| is_prime(n)).collect();
        for k in [1, 2, 3, 7, 16] {
            let sums: Vec<u64> = primes.windows(k).map(|run| run.iter().sum()).collect();
            for m in (sums[0]..2000 * k as u64).step_by(37) {
                let found = PrimeSlices::new(m, k as u32).unwrap().total();
                let nearest = sums.iter().copied().min_by_key(|&sum| (sum.abs_diff(m), sum)).unwrap();
                assert_eq!(found, nearest, "m={m} k={k}");
            }
        }
    }

    #[test]
    fn remainders_are_exact_for_every_word() {
        let mut random = SplitMix::new(4);
        for (m, k) in [(10, 3), (10_000, 7), (1 << 30, 64), (7 << 43, 7), ((1 << 44) - 17, 1)] {
            let slices = PrimeSlices::new(m, k).unwrap();
            let edges = slices.primes().flat_map(|p| {
                let top = u64::MAX - u64::MAX % p;
                [0, p - 1, p, top, top - 1, u64::MAX]
            });
            for hash in edges.chain((0..20_000).map(|_| random.next_u64())) {
                let mut offset = 0;
                for (position, prime) in slices.probes(hash).zip(slices.primes()) {
                    assert_eq!(position, offset + hash % prime);
                    offset += prime;
                }
                assert_eq!(offset, slices.total());
            }
        }
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        for (m, k) in [(0, 1), (1, 1), (57, 7), (100, 0), (u64::MAX, 65), (u64::MAX, 64), ((7 << 44) + 7, 7)] {
            assert!(matches!(PrimeSlices::new(m, k), Err(Error::Parameter { .. })), "m={m} k={k}");
        }
        assert_eq!(PrimeSlices::new(58, 7).unwrap().total(), 58);
        // The run nearest to seven slices of 2^44 would need a prime over 2^44.
        assert!(PrimeSlices::new(7 << 44, 7).is_err());
        assert!(PrimeSlices::new((7 << 44) - 10_000, 7).is_ok());
    }
}
