//! Where the counters of a key lie: in one shared array, or one in a slice of each hash function.

use crate::capability::Estimate;
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, Positions, Probes, Scheme, probes};
use crate::key::{BATCH, Key};
use crate::kind::{Parameter, common};
use crate::membership::standard::{BloomSettings, Flat};
use crate::membership::{Bits, Layout};
use crate::shell::Mechanism;
use crate::shell::{batch, choices};
use crate::simd::{CACHED_BITS, counters, flat};
use crate::store::BitStore;
use crate::theory;

/// The layout: which counters belong to a key.
pub trait Placement: Clone + PartialEq + std::fmt::Debug {
    /// The places of a digest in the order of the hash functions; some may coincide.
    fn of(&self, digest: Digest) -> impl Iterator<Item = u64> + Clone;

    /// Whether no two places of a digest coincide; `false` is not certain.
    fn are_apart(&self, digest: Digest) -> bool;
}

/// How the positions of a key are spread over the counters.
///
/// ```
/// use bouquet::counting::counting::Arrangement;
/// use bouquet::{Counting, CountingSettings};
/// let sliced = CountingSettings { items: Some(1_000), layout: Some(Arrangement::Sliced), ..Default::default() };
/// assert_eq!(Counting::with(sliced)?.settings().counters.map(|counters| counters % 7), Some(0));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Anywhere.
    Flat,
    /// Position i in the i-th of k equal slices.
    Sliced,
}

choices!(Arrangement { Flat = "flat", Sliced = "sliced" });

/// The number of counters as a parameter.
pub(crate) const COUNTERS: Parameter =
    Parameter::count("counters", "number of counters, instead of a rate", 1, 1 << 56);

/// The settings from which the places of keys follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sizes {
    /// Distinct keys that the filter is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The number of counters.
    pub counters: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
}

impl Sizes {
    /// The places that these settings describe.
    pub(crate) fn places(self, arrangement: Arrangement) -> Result<Places> {
        let Sizes { items, fpr, counters, hashes } = self;
        let size = common::size_of(items, fpr, counters, hashes, COUNTERS.name)?;
        let mut places = Places::new(size.bits, size.hashes, arrangement)?;
        if let (None, Some(items), Arrangement::Sliced) = (counters, items, arrangement) {
            let fpr = common::FPR.need(fpr)?;
            // Slices need about half a counter more each than the flat array that the size was computed for.
            for _ in 0..4 {
                if places.expected_rate(items) <= fpr {
                    break;
                }
                places = Places::new(places.counters().saturating_add(1), size.hashes, arrangement)?;
            }
        }
        Ok(places)
    }
}

/// One shared array, or a slice per hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    counters: u64,
    hashes: u32,
    arrangement: Arrangement,
    /// The counters among which a hash function chooses: all, or a slice.
    span: u64,
}

impl Places {
    /// `counters` places, rounded up to whole slices where there are slices, of which each key has `hashes`.
    pub(crate) fn new(counters: u64, hashes: u32, arrangement: Arrangement) -> Result<Self> {
        Scheme::default().check(counters, hashes)?;
        let too_large = || Error::TooLarge { what: "the counters".into(), bytes: u128::from(counters) };
        let (counters, span) = match arrangement {
            Arrangement::Flat => (counters, counters),
            Arrangement::Sliced => {
                let counters = counters.checked_next_multiple_of(u64::from(hashes)).ok_or_else(too_large)?;
                (counters, counters / u64::from(hashes))
            }
        };
        Ok(Places { counters, hashes, arrangement, span })
    }

    #[inline]
    pub(crate) fn counters(&self) -> u64 {
        self.counters
    }

    #[inline]
    pub(crate) fn hashes(&self) -> u32 {
        self.hashes
    }

    #[inline]
    pub(crate) fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    #[inline]
    fn slice(&self) -> u64 {
        self.span
    }

    /// Visits the places of a digest, some of them perhaps twice, until `visit` answers false, and says whether it
    /// never did.
    #[inline]
    pub(crate) fn all(&self, digest: Digest, visit: impl FnMut(u64) -> bool) -> bool {
        self.of(digest).all(visit)
    }

    /// The places of a digest, each once and ascending, so that no counter is counted twice.
    #[inline]
    pub(crate) fn distinct(&self, digest: Digest) -> Positions {
        let mut positions: Positions = self.of(digest).collect();
        if self.arrangement == Arrangement::Flat {
            positions.distinct();
        }
        positions
    }

    /// Whether the bits at the places of a digest are all one, in a vector with a bit per counter.
    #[inline]
    pub(crate) fn all_ones(&self, bits: &BitStore, digest: Digest) -> bool {
        match self.arrangement {
            Arrangement::Flat => flat::test::<false, false>(bits.words(), self.counters, self.hashes, digest),
            Arrangement::Sliced => self.all(digest, |place| bits.get(place)),
        }
    }

    /// The same for many keys.
    pub(crate) fn all_ones_batch<K: Key>(&self, bits: &BitStore, hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        batch::answer_together(
            hashing,
            keys,
            answers,
            |_| (),
            |digests, answers| {
                if self.arrangement == Arrangement::Flat {
                    let (words, ahead) = (bits.words(), self.counters > CACHED_BITS);
                    flat::test_batch::<BATCH, false, false>(words, self.counters, self.hashes, digests, answers, ahead);
                    return;
                }
                for (digest, answer) in digests.iter().zip(answers) {
                    *answer = self.all_ones(bits, *digest);
                }
            },
        );
    }

    /// Sets the bits at the places of a digest, in a vector with a bit per counter.
    #[inline]
    pub(crate) fn set_ones(&self, bits: &mut BitStore, digest: Digest) {
        match self.arrangement {
            Arrangement::Flat => {
                flat::set::<false, false>(bits.words_mut(), self.counters, self.hashes, digest);
            }
            Arrangement::Sliced => self.of(digest).for_each(|place| {
                bits.set(place);
            }),
        }
    }

    /// The plain filter with these positions, for one shared array.
    pub(crate) fn plain(&self) -> Result<Flat> {
        same("layout", self.arrangement, Arrangement::Flat)?;
        Flat::new(self.counters, self.hashes, Scheme::default())
    }

    /// The probability that `items` distinct keys have left none of another key's places empty.
    pub(crate) fn expected_rate(&self, items: u64) -> f64 {
        match self.arrangement {
            Arrangement::Flat => theory::standard::expected_rate(self.counters, items, self.hashes),
            Arrangement::Sliced => theory::partitioned::rate(self.counters, items, self.hashes),
        }
    }

    /// The pieces of the array that fill independently.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = std::ops::Range<u64>> {
        let (pieces, len) = match self.arrangement {
            Arrangement::Flat => (1, self.counters),
            Arrangement::Sliced => (u64::from(self.hashes), self.slice()),
        };
        (0..pieces).map(move |i| i * len..(i + 1) * len)
    }

    /// How many places of each of the [`pieces`](Self::pieces) are such.
    pub(crate) fn count_where(&self, such: impl Fn(u64) -> bool) -> Vec<u64> {
        self.pieces().map(|piece| piece.filter(|&place| such(place)).count() as u64).collect()
    }

    /// The same probability for a content with this many nonzero counters in each of the [`pieces`](Self::pieces).
    pub(crate) fn rate_of(&self, nonzero: &[u64]) -> f64 {
        match (self.arrangement, nonzero) {
            (Arrangement::Flat, [all, ..]) => (*all as f64 / self.counters as f64).powi(self.hashes as i32),
            _ => theory::partitioned::conditional_rate(nonzero, self.slice()),
        }
    }

    /// The largest share of nonzero counters that `items` keys reach honestly: the mean and 8 standard deviations.
    pub(crate) fn honest_fill(&self, items: u64) -> f64 {
        let (m, k) = (self.counters, self.hashes);
        let (mean, variance) = match self.arrangement {
            Arrangement::Flat => (theory::spread::ones(m, items, k), theory::spread::ones_variance(m, items, k)),
            Arrangement::Sliced => {
                let slice = self.slice();
                let sum = |of_slice: f64| f64::from(k) * of_slice;
                (sum(theory::spread::ones(slice, items, 1)), sum(theory::spread::ones_variance(slice, items, 1)))
            }
        };
        (mean + 8.0 * variance.sqrt()) / m as f64
    }

    /// The number of distinct keys in a content with this many nonzero counters in each of the [`pieces`](Self::pieces).
    pub(crate) fn cardinality(&self, nonzero: &[u64]) -> Estimate {
        if self.arrangement == Arrangement::Flat {
            return Estimate::from_zeros(self.counters - nonzero.iter().sum::<u64>(), self.counters, self.hashes);
        }
        let slice = self.slice();
        Estimate::from_slices(&nonzero.iter().map(|&nonzero| slice - nonzero).collect::<Vec<_>>(), slice)
    }

    /// The standard error of [`cardinality`](Self::cardinality) for this many keys.
    pub(crate) fn cardinality_error(&self, keys: f64) -> f64 {
        theory::algebra::cardinality_error(self.counters, self.hashes, keys)
    }
}

impl Placement for Places {
    /// The places of a digest in the order of the hash functions; without slices some may coincide.
    #[inline]
    fn of(&self, digest: Digest) -> impl Iterator<Item = u64> + Clone {
        match self.arrangement {
            Arrangement::Flat => PlacesOf { probes: probes(digest, self.span, self.hashes), begin: 0, step: 0 },
            Arrangement::Sliced => {
                let probes = Probes::of_family::<false>(Scheme::SLICES.family, digest, self.span, self.hashes);
                PlacesOf { probes, begin: 0, step: self.span }
            }
        }
    }

    #[inline]
    fn are_apart(&self, digest: Digest) -> bool {
        self.arrangement == Arrangement::Sliced || counters::are_apart(self.span, self.hashes, digest)
    }
}

impl Places {
    /// The domain of a secret's digests. It is that of the bit filter with these positions, because counters are that
    /// filter and more: what is exported to bits answers for the same keys. Width and policy have no part in it.
    pub(crate) fn domain(&self) -> String {
        match self.plain() {
            Ok(flat) => Bits::<Flat>::domain(&flat.settings(BloomSettings::default())),
            Err(_) => format!("partitioned {} {}", self.counters, self.hashes),
        }
    }

    /// Refuses a layout that has other places for the same digests.
    pub(crate) fn comparable(&self, other: &Self) -> Result<()> {
        same("counters", self.counters, other.counters)?;
        same("hashes", self.hashes, other.hashes)?;
        same("layout", self.arrangement, other.arrangement)
    }
}

/// The places of one digest.
#[derive(Clone, Debug)]
pub struct PlacesOf {
    probes: Probes,
    /// Where the next slice begins, and how long slices are; zero without slices.
    begin: u64,
    step: u64,
}

impl Iterator for PlacesOf {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        // All slices together are as many counters as fit 64 bits, so neither sum overflows.
        let place = self.begin + self.probes.next()?;
        self.begin += self.step;
        Some(place)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.probes.size_hint()
    }
}
