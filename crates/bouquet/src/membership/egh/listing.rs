//! What a filter holds, from its residues.

use super::big::Big;
use super::{Cells, PrimeSlices};
use crate::error::{Error, Result};

/// Sets of more elements are not lifted to polynomials, whose coefficients have as many digits as all elements together.
const MOST_LIFTED: u64 = 64;

impl PrimeSlices {
    /// The residues that occur in the slice of each prime, with their counters.
    fn residues(&self) -> impl Iterator<Item = (u64, Vec<(u64, u64)>)> {
        self.slices().map(|(prime, start)| {
            let counts = (0..prime).map(|residue| (residue, self.cells.get(start + residue)));
            (prime, counts.filter(|(_, count)| *count > 0).collect())
        })
    }

    /// The elementary symmetric values e_0 = 1, e_1, ... of the elements: modulo each prime they are the coefficients of the
    /// product of (X - r)^(counter of r), and the Chinese remainder theorem lifts them. Counters only.
    pub(super) fn symmetric(&self) -> Result<Vec<Big>> {
        if !matches!(self.cells, Cells::Counters(_)) {
            return Err(Error::parameter("cells", "counters, which tell how many elements have a residue", "bits"));
        }
        if self.overfilled || self.count > MOST_LIFTED {
            let what = if self.overfilled { "beyond its zone".into() } else { format!("with {} elements", self.count) };
            return Err(Error::Build {
                what: format!("the symmetric values of a filter {what} are not lifted"),
                remedy: format!("ask a filter of at most {MOST_LIFTED} elements (`items`)"),
            });
        }
        let count = self.count as usize;
        let mut by_prime = Vec::new();
        for (prime, residues) in self.residues() {
            let total: u64 = residues.iter().map(|(_, times)| times).sum();
            if total != self.count {
                return Err(Error::corrupt("sum of the counters of a prime", self.count, total));
            }
            let mut values = vec![0u64; count + 1];
            values[0] = 1;
            for (residue, times) in residues {
                for _ in 0..times {
                    for j in (1..=count).rev() {
                        values[j] = (values[j] + residue * values[j - 1]) % prime;
                    }
                }
            }
            by_prime.push((prime, values));
        }
        let primes: Vec<u64> = by_prime.iter().map(|(prime, _)| *prime).collect();
        Ok((0..=count).map(|j| lift(&primes, by_prime.iter().map(|(_, values)| values[j]))).collect())
    }

    /// The numbers of the universe that the filter contains: in the zone, its elements. The fewest largest primes whose product
    /// covers the universe have residues that are joined; where that are more than the universe has numbers, these are tried.
    fn candidates(&self) -> Vec<u64> {
        let mut slices: Vec<_> = self.slices().collect();
        let (mut modulus, mut joined) = (1u64, vec![0u64]);
        while let (Some((prime, start)), true) = (slices.pop(), modulus < self.universe) {
            let residues: Vec<u64> = (0..prime).filter(|residue| self.cells.get(start + residue) > 0).collect();
            if joined.len() as u128 * residues.len() as u128 >= u128::from(self.universe) {
                return (0..self.universe).filter(|&number| self.holds(number)).collect();
            }
            let inverse = inverse(modulus, prime);
            let join = |&number: &u64| {
                let residues = residues.iter();
                residues.map(move |&residue| {
                    let step = (residue + prime - number % prime) % prime * inverse % prime;
                    u128::from(number) + u128::from(modulus) * u128::from(step)
                })
            };
            let below = |number: u128| u64::try_from(number).ok().filter(|number| *number < self.universe);
            joined = joined.iter().flat_map(join).filter_map(below).collect();
            modulus = modulus.saturating_mul(prime);
        }
        joined.retain(|&number| self.holds(number));
        joined.sort_unstable();
        joined
    }

    /// The elements, and whether they are all. Counters prove it: each element must divide the polynomial that they give.
    pub(super) fn elements(&self) -> (Vec<u64>, bool) {
        let candidates = self.candidates();
        if !self.overfilled && self.count <= MOST_LIFTED && matches!(self.cells, Cells::Counters(_)) {
            let roots = self.symmetric().ok().and_then(|values| roots(values, &candidates));
            return roots.map_or_else(|| (Vec::new(), false), |roots| (roots, true));
        }
        let complete = !self.overfilled && candidates.len() as u64 == self.count;
        (if complete { candidates } else { Vec::new() }, complete)
    }
}

/// The number with these residues modulo these primes, below their product: its digits in mixed radix, one prime after the other.
fn lift(primes: &[u64], residues: impl Iterator<Item = u64>) -> Big {
    let mut digits: Vec<u64> = Vec::with_capacity(primes.len());
    for (&prime, residue) in primes.iter().zip(residues) {
        let (mut value, mut product) = (0, 1);
        for (&digit, &radix) in digits.iter().zip(primes) {
            value = (value + digit * product) % prime;
            product = product * radix % prime;
        }
        digits.push((residue + prime - value) % prime * inverse(product, prime) % prime);
    }
    // The digit of the last prime is the highest: Horner's scheme.
    let pairs = digits.iter().zip(primes).rev();
    pairs.fold(Big::default(), |number, (&digit, &prime)| number.times_plus(prime, digit))
}

/// The inverse modulo a prime, by Fermat's little theorem.
fn inverse(number: u64, prime: u64) -> u64 {
    let (mut base, mut exponent, mut power) = (number % prime, prime.saturating_sub(2), 1);
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = power * base % prime;
        }
        base = base * base % prime;
        exponent /= 2;
    }
    power % prime
}

/// Those of the candidates that are the roots of the polynomial of these symmetric values, if they are all of them: each is divided
/// out, which must leave no rest. For a root x the values of the others are e'_j = e_j - x e'_(j-1), and none is negative.
fn roots(mut values: Vec<Big>, candidates: &[u64]) -> Option<Vec<u64>> {
    let mut roots = Vec::new();
    for &candidate in candidates {
        let Some((last, first)) = values.split_last().filter(|(_, first)| !first.is_empty()) else { break };
        let mut others = vec![Big::one()];
        for value in &first[1..] {
            let Some(other) = others.last().and_then(|before| value.minus(&before.times_plus(candidate, 0))) else {
                break;
            };
            others.push(other);
        }
        let rest = others.last().filter(|_| others.len() == first.len()).map(|last| last.times_plus(candidate, 0));
        if rest.is_some_and(|rest| last.minus(&rest).is_some_and(|rest| rest.is_zero())) {
            roots.push(candidate);
            values = others;
        }
    }
    (values.len() == 1).then_some(roots)
}
