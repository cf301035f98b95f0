//! The counter engine: a store of counters, the places of a key in it, and the rules by which they are changed and read.
//!
//! A kind of this engine is a choice of four things:
//!
//! | part | here | what the kinds choose |
//! |---|---|---|
//! | store | [`CounterStore`] | how a counter is kept: packed bits of a fixed width, or another code |
//! | layout | [`Places`] | one shared array, or one slice per hash function |
//! | update rule | [`CounterArray::add_to_all`], [`CounterArray::sub_from_all`] | which of a key's counters change, and how |
//! | read rule | [`CounterArray::all_nonzero`], [`CounterArray::least`] | what the counters say about the key |

use crate::capability::Estimate;
use crate::core::standard::{Bloom, Flat};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, Positions, Scheme, probes};
use crate::key::{BATCH, Key, digest_batch};
use crate::simd::prefetch;
use crate::store::Counters;
use crate::theory;

/// Where counters are kept.
///
/// Laws: a counter is at most [`max`](Self::max); one that is changed leaves the others alone; places beyond the end
/// read as zero and cannot be changed.
pub trait CounterStore: Clone + PartialEq + std::fmt::Debug {
    /// The largest value of a counter.
    fn max(&self) -> u64;

    /// The counter at `index`.
    fn get(&self, index: u64) -> u64;

    /// Whether the counter at `index` is not zero, which some stores know without its value.
    #[inline]
    fn is_nonzero(&self, index: u64) -> bool {
        self.get(index) != 0
    }

    /// Adds to the counter at `index`, which stops at the largest value, and gives back what it was.
    fn add(&mut self, index: u64, amount: u64) -> u64;

    /// Subtracts from the counter at `index`, which stops at zero.
    fn sub(&mut self, index: u64, amount: u64);

    /// Asks the memory for the counter at `index`.
    fn prefetch(&self, index: u64);
}

impl CounterStore for Counters {
    #[inline]
    fn max(&self) -> u64 {
        Counters::max(self)
    }

    #[inline]
    fn get(&self, index: u64) -> u64 {
        Counters::get(self, index)
    }

    #[inline]
    fn add(&mut self, index: u64, amount: u64) -> u64 {
        self.update(index, |counter| counter.saturating_add(amount))
    }

    #[inline]
    fn sub(&mut self, index: u64, amount: u64) {
        self.update(index, |counter| counter.saturating_sub(amount));
    }

    #[inline]
    fn prefetch(&self, index: u64) {
        prefetch(self.words(), (index.saturating_mul(u64::from(self.width())) / 64) as usize);
    }
}

/// How the positions of a key are spread over the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// Anywhere.
    Flat,
    /// Position i in the i-th of k equal slices.
    Sliced,
}

impl Arrangement {
    /// The words for them, in the order of the schema.
    pub(crate) const NAMES: [&str; 2] = ["flat", "sliced"];

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The layout: which counters belong to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    counters: u64,
    hashes: u32,
    arrangement: Arrangement,
}

impl Places {
    /// `counters` places, rounded up to whole slices where there are slices, of which each key has `hashes`.
    pub(crate) fn new(counters: u64, hashes: u32, arrangement: Arrangement) -> Result<Self> {
        Scheme::default().check(counters, hashes)?;
        let too_large = || Error::TooLarge { what: "the counters".into(), bytes: u128::from(counters) };
        let counters = match arrangement {
            Arrangement::Flat => counters,
            Arrangement::Sliced => counters.checked_next_multiple_of(u64::from(hashes)).ok_or_else(too_large)?,
        };
        Ok(Places { counters, hashes, arrangement })
    }

    pub(crate) fn counters(&self) -> u64 {
        self.counters
    }

    pub(crate) fn hashes(&self) -> u32 {
        self.hashes
    }

    pub(crate) fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    #[inline]
    fn slice(&self) -> u64 {
        self.counters / u64::from(self.hashes)
    }

    /// Visits the places of a digest, some of them perhaps twice, until `visit` answers false, and says whether it
    /// never did.
    #[inline]
    pub(crate) fn all(&self, digest: Digest, mut visit: impl FnMut(u64) -> bool) -> bool {
        match self.arrangement {
            Arrangement::Flat => probes(digest, self.counters, self.hashes).all(visit),
            Arrangement::Sliced => {
                let (slice, mut begin) = (self.slice(), 0);
                Scheme::SLICES.all(digest, slice, self.hashes, |place| {
                    let place = begin + place;
                    begin += slice;
                    visit(place)
                })
            }
        }
    }

    /// The places of a digest, each once, so that no counter is counted twice.
    #[inline]
    pub(crate) fn distinct(&self, digest: Digest) -> Positions {
        match self.arrangement {
            Arrangement::Flat => {
                let mut positions: Positions = probes(digest, self.counters, self.hashes).collect();
                positions.distinct();
                positions
            }
            Arrangement::Sliced => {
                let slice = self.slice();
                Scheme::SLICES.sliced(digest, slice, self.hashes)
            }
        }
    }

    /// The plain filter with these positions, for one shared array.
    pub(crate) fn plain(&self) -> Result<Flat> {
        same("layout", self.arrangement, Arrangement::Flat)?;
        Flat::new(self.counters, self.hashes, Scheme::default())
    }

    /// The domain of a secret's digests. It is that of the bit filter with these positions, because counters are that
    /// filter and more: what is exported to bits answers for the same keys. Width and policy have no part in it.
    fn domain(&self) -> String {
        match self.plain() {
            Ok(flat) => Bloom::domain(&flat),
            Err(_) => format!("partitioned {} {}", self.counters, self.hashes),
        }
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

    /// The same probability for a content with so many nonzero counters in each of the [`pieces`](Self::pieces).
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

    /// The number of distinct keys in a content with so many nonzero counters in each of the [`pieces`](Self::pieces).
    pub(crate) fn cardinality(&self, nonzero: &[u64]) -> Estimate {
        if self.arrangement == Arrangement::Flat {
            return Estimate::from_zeros(self.counters - nonzero.iter().sum::<u64>(), self.counters, self.hashes);
        }
        let slice = self.slice();
        Estimate::from_slices(&nonzero.iter().map(|&nonzero| slice - nonzero).collect::<Vec<_>>(), slice)
    }

    /// The standard error of [`cardinality`](Self::cardinality) for so many keys.
    pub(crate) fn cardinality_error(&self, keys: f64) -> f64 {
        theory::algebra::cardinality_error(self.counters, self.hashes, keys)
    }
}

/// Counters at the places of keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CounterArray<S> {
    pub(crate) places: Places,
    pub(crate) hashing: Hashing,
    pub(crate) store: S,
}

impl<S: CounterStore> CounterArray<S> {
    /// Counters of this content, which must have the size of the layout.
    pub(crate) fn new(places: Places, hashing: &Hashing, store: S) -> Self {
        CounterArray { hashing: hashing.clone().bind(&places.domain()), places, store }
    }

    #[inline]
    pub(crate) fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        key.digest(&self.hashing)
    }

    /// Hashes a batch and has `touch` ask the memory for every place before the first is looked at.
    #[inline]
    pub(crate) fn digests<K: Key>(&self, keys: &[K], touch: impl Fn(u64)) -> [Digest; BATCH] {
        digest_batch(&self.hashing, keys, |digest| {
            self.places.all(digest, |place| {
                touch(place);
                true
            });
        })
    }

    /// Read rule of membership: no counter of the key is zero.
    #[inline]
    pub(crate) fn all_nonzero(&self, digest: Digest) -> bool {
        self.places.all(digest, |place| self.store.is_nonzero(place))
    }

    /// Read rule of multiplicity: the least counter of the key.
    #[inline]
    pub(crate) fn least(&self, digest: Digest) -> u64 {
        let mut least = u64::MAX;
        self.places.all(digest, |place| {
            least = least.min(self.store.get(place));
            least != 0
        });
        least
    }

    /// Update rule: adds one to all of these counters, of which none may occur twice. Says whether one of them was
    /// zero, and how many were at their largest value and stayed there.
    #[inline]
    pub(crate) fn add_to_all(&mut self, places: &[u64]) -> (bool, u64) {
        let max = self.store.max();
        let (mut fresh, mut lost) = (false, 0);
        for &place in places {
            let before = self.store.add(place, 1);
            fresh |= before == 0;
            lost += u64::from(before == max);
        }
        (fresh, lost)
    }

    /// Update rule: subtracts one from those of these counters that are below `frozen`.
    #[inline]
    pub(crate) fn sub_from_all(&mut self, places: &[u64], frozen: u64) {
        for &place in places {
            if self.store.get(place) < frozen {
                self.store.sub(place, 1);
            }
        }
    }

    /// Whether two arrays have the same places for the same keys.
    pub(crate) fn comparable(&self, other: &Self) -> Result<()> {
        same("counters", self.places.counters, other.places.counters)?;
        same("hashes", self.places.hashes, other.places.hashes)?;
        same("layout", self.places.arrangement, other.places.arrangement)?;
        same("hashing", &self.hashing, &other.hashing)
    }
}
