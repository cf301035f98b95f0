#![doc = include_str!("one_hash.md")]

use crate::capability::{Estimate, NoteType};
use crate::error::Result;
use crate::hash::{Digest, PrimeSlices};
use crate::kind::{ErrorClass, Facts, Kind, Text, common, kind};
use crate::membership::{Access, BitFilter, BitSettings, Layout, Sizes};
use crate::shell::{ByRate, Fields, Settings, fields};
use crate::simd::NEAR_BITS;
use crate::store::BitStore;
use crate::theory;

/// A one-hashing Bloom filter.
///
/// ```
/// use bouquet::membership::one_hash::OneHash;
/// let mut filter = OneHash::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose"));
/// assert!(!filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type OneHash = BitFilter<Primes>;

/// The registry's row.
pub const KIND: Kind = kind!(OneHash);

/// One position in each of k slices of prime length.
///
/// ```
/// use bouquet::membership::one_hash::OneHash;
/// let mut filter = OneHash::with_size(1_000, 4)?;
/// filter.insert("rose");
/// let mut start = 0;
/// for prime in filter.layout().primes() {
///     assert_eq!(filter.bits().count_ones_in(start, start + prime), 1);
///     start += prime;
/// }
/// assert_eq!(start, filter.bits().len());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Primes {
    slices: PrimeSlices,
    hashes: u32,
}

impl Primes {
    /// The lengths of the slices.
    ///
    /// ```
    /// use bouquet::membership::one_hash::OneHash;
    /// let filter = OneHash::with_size(10, 3)?;
    /// assert!(filter.layout().primes().eq([2, 3, 5]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn primes(&self) -> impl ExactSizeIterator<Item = u64> {
        self.slices.primes()
    }

    /// The zeros of each slice.
    fn zeros(&self, bits: &BitStore) -> Vec<(u64, u64)> {
        let mut start = 0;
        let zeros = |prime| {
            let zeros = prime - bits.count_ones_in(start, start + prime);
            start += prime;
            (prime, zeros)
        };
        self.primes().map(zeros).collect()
    }
}

/// The settings of a one-hashing Bloom filter.
///
/// ```
/// use bouquet::membership::one_hash::{OneHash, OneHashSettings};
/// let filter = OneHash::with(OneHashSettings { bits: Some(10), hashes: Some(3), ..Default::default() })?;
/// assert!(filter.layout().primes().eq([2, 3, 5]));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OneHashSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
}

impl Settings for OneHashSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
    ];
}

impl ByRate for OneHashSettings {}

impl BitSettings for OneHashSettings {
    fn sizes(&self) -> Sizes {
        let OneHashSettings { items, fpr, bits, hashes } = *self;
        Sizes { items, fpr, bits, hashes }
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        OneHashSettings { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

impl Layout for Primes {
    const FACTS: Facts = Facts {
        id: "one-hash",
        number: 7,
        aliases: &["OHBF"],
        family: "membership",
        text: Text::new(include_str!("one_hash.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    type Settings = OneHashSettings;

    fn plan(&OneHashSettings { items, fpr, bits, hashes }: &OneHashSettings) -> Result<Self> {
        let mut size = common::size_of(items, fpr, bits, hashes, common::BITS.name)?;
        if bits.is_none() {
            // A filter for very few keys still needs its primes.
            size.bits = size.bits.max(PrimeSlices::least_bits(size.hashes));
        }
        Ok(Primes { slices: PrimeSlices::new(size.bits, size.hashes)?, hashes: size.hashes })
    }

    fn settings(&self, asked: OneHashSettings) -> OneHashSettings {
        // The run of primes whose sum is nearest to this sum is this very run.
        asked.sized(self.bits(), self.hashes)
    }

    fn bits(&self) -> u64 {
        self.slices.total()
    }

    fn hashes(&self) -> u32 {
        self.hashes
    }

    #[inline]
    fn all(&self, digest: Digest, visit: impl FnMut(u64) -> bool) -> bool {
        self.slices.probes(digest.h1).all(visit)
    }

    fn expected_rate(&self, items: u64) -> f64 {
        theory::partitioned::rate_of_slices(&self.primes().collect::<Vec<_>>(), items)
    }

    fn rate_now(&self, bits: &BitStore) -> f64 {
        self.zeros(bits).iter().map(|(prime, zeros)| 1.0 - *zeros as f64 / *prime as f64).product()
    }

    fn cardinality(&self, bits: &BitStore) -> Estimate {
        let estimates: Vec<_> =
            self.zeros(bits).into_iter().map(|(prime, zeros)| Estimate::from_zeros(zeros, prime, 1)).collect();
        let count = estimates.len().max(1) as f64;
        Estimate {
            keys: estimates.iter().map(|estimate| estimate.keys).sum::<f64>() / count,
            standard_error: estimates.iter().map(|e| e.standard_error.powi(2)).sum::<f64>().sqrt() / count,
            saturated: estimates.iter().any(|estimate| estimate.saturated),
        }
    }
}

impl Access for Primes {
    const NEAR_WORDS: usize = (NEAR_BITS / 64) as usize;
}

#[cfg(test)]
mod tests;
