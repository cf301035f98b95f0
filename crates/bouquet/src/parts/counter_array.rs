//! The counter engine: a store of counters, the places of a key in it, and the rules by which they are changed and read.
//!
//! A kind of this engine is a choice of four things:
//!
//! | part | here | what the kinds choose |
//! |---|---|---|
//! | store | [`CounterStore`] | how a counter is kept: packed bits of a fixed width, or another code |
//! | layout | [`Placement`] | one shared array or a slice per hash function ([`Places`]), or rows of their own functions |
//! | update rule | [`CounterArray::add_to_all`], [`sub_from_all`](CounterArray::sub_from_all), [`raise_all_to`](CounterArray::raise_all_to) | which of a key's counters change, and how |
//! | read rule | [`CounterArray::all_nonzero`], [`least`](CounterArray::least) | what the counters say about the key |

use crate::capability::Estimate;
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, Positions, Probes, Scheme, probes};
use crate::key::{BATCH, Batched, Key, NEAR_BITS, answer_each, digest_batch};
use crate::membership::standard::{Bloom, Flat};
use crate::simd::{CACHED_BITS, counters, flat, prefetch};
use crate::store::{BitStore, Counters};
use crate::theory;

/// Where counters are kept.
///
/// Laws: a counter is at most [`max`](Self::max); one that is changed leaves the others alone; places beyond the end
/// read as zero and cannot be changed.
///
/// The rules of the engine go through the last three, which a store can do faster for all counters of a key than one by
/// one.
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

    /// Asks the memory for the counter at `index`, or for what tells whether it is zero.
    fn prefetch(&self, index: u64);

    /// The bits of all that [`prefetch`](Self::prefetch) can ask for.
    fn prefetched_bits(&self) -> u64;

    /// Whether none of these counters is zero.
    #[inline]
    fn all_nonzero(&self, mut places: impl Iterator<Item = u64>) -> bool {
        places.all(|place| self.is_nonzero(place))
    }

    /// Shows these counters to `visit`.
    #[inline]
    fn read_each(&self, places: impl Iterator<Item = u64>, mut visit: impl FnMut(u64)) {
        places.for_each(|place| visit(self.get(place)));
    }

    /// Changes each of these counters to what `change` makes of it, at most [`max`](Self::max).
    #[inline]
    fn update_each(&mut self, places: impl Iterator<Item = u64>, mut change: impl FnMut(u64) -> u64) {
        for place in places {
            let before = self.get(place);
            let after = change(before);
            if after > before {
                self.add(place, after - before);
            } else if after < before {
                self.sub(place, before - after);
            }
        }
    }
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

    #[inline]
    fn prefetched_bits(&self) -> u64 {
        self.bits()
    }

    #[inline]
    fn all_nonzero(&self, places: impl Iterator<Item = u64>) -> bool {
        Counters::all_nonzero(self, places)
    }

    #[inline]
    fn read_each(&self, places: impl Iterator<Item = u64>, visit: impl FnMut(u64)) {
        Counters::read_each(self, places, visit);
    }

    #[inline]
    fn update_each(&mut self, places: impl Iterator<Item = u64>, change: impl FnMut(u64) -> u64) {
        Counters::update_each(self, places, change);
    }
}

/// The layout: which counters belong to a key.
pub(crate) trait Placement: Clone + PartialEq + std::fmt::Debug {
    /// The places of a digest in the order of the hash functions; some may coincide.
    fn of(&self, digest: Digest) -> impl Iterator<Item = u64> + Clone;

    /// Whether no two places of a digest coincide; `false` is not certain.
    fn are_apart(&self, digest: Digest) -> bool;

    /// What binds the digests of a secret to the kind and shape.
    fn domain(&self) -> String;

    /// Refuses a layout that has other places for the same digests.
    fn comparable(&self, other: &Self) -> Result<()>;
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

/// One shared array, or a slice per hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
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

    /// The same for up to a batch of digests.
    pub(crate) fn all_ones_batch(&self, bits: &BitStore, digests: &[Digest], answers: &mut [bool]) {
        if self.arrangement == Arrangement::Flat {
            let ahead = self.counters > CACHED_BITS;
            return flat::test_batch::<BATCH, false, false>(
                bits.words(),
                self.counters,
                self.hashes,
                digests,
                answers,
                ahead,
            );
        }
        for (digest, answer) in digests.iter().zip(answers) {
            *answer = self.all_ones(bits, *digest);
        }
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

    /// The domain of a secret's digests. It is that of the bit filter with these positions, because counters are that
    /// filter and more: what is exported to bits answers for the same keys. Width and policy have no part in it.
    fn domain(&self) -> String {
        match self.plain() {
            Ok(flat) => Bloom::domain(&flat),
            Err(_) => format!("partitioned {} {}", self.counters, self.hashes),
        }
    }

    fn comparable(&self, other: &Self) -> Result<()> {
        same("counters", self.counters, other.counters)?;
        same("hashes", self.hashes, other.hashes)?;
        same("layout", self.arrangement, other.arrangement)
    }
}

/// The places of one digest.
#[derive(Clone, Debug)]
pub(crate) struct PlacesOf {
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

/// Places of which the memory is asked before a query: in a filter that is half full one absent key in eight needs more,
/// and what a present key needs beyond them arrives together.
const FIRST_LOOK: usize = 3;

/// Counters at the places of keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CounterArray<S, L = Places> {
    pub(crate) places: L,
    pub(crate) hashing: Hashing,
    pub(crate) store: S,
}

impl<S: CounterStore, L: Placement> CounterArray<S, L> {
    /// Counters of this content, which must have the size of the layout.
    pub(crate) fn new(places: L, hashing: &Hashing, store: S) -> Self {
        let domain = places.domain();
        Self::in_domain(places, hashing, store, &domain)
    }

    /// The same with a secret's digests for this domain.
    pub(crate) fn in_domain(places: L, hashing: &Hashing, store: S, domain: &str) -> Self {
        CounterArray { hashing: hashing.clone().bind(domain), places, store }
    }

    #[inline]
    pub(crate) fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        key.digest(&self.hashing)
    }

    /// Read rule of membership: no counter of the key is zero.
    #[inline]
    pub(crate) fn all_nonzero(&self, digest: Digest) -> bool {
        self.store.all_nonzero(self.places.of(digest))
    }

    /// Read rule of multiplicity: the least counter of the key.
    #[inline]
    pub(crate) fn least(&self, digest: Digest) -> u64 {
        let mut least = u64::MAX;
        self.store.read_each(self.places.of(digest), |counter| least = least.min(counter));
        least
    }

    /// The largest counter of the key.
    #[inline]
    pub(crate) fn largest(&self, digest: Digest) -> u64 {
        let mut largest = 0;
        self.store.read_each(self.places.of(digest), |counter| largest = largest.max(counter));
        largest
    }

    /// Update rule: adds to all counters of the key. Says whether one of them was zero, and how many could not take
    /// all of it and stayed at their largest value.
    #[inline]
    pub(crate) fn add_to_all(&mut self, digest: Digest, amount: u64) -> (bool, u64) {
        if self.places.are_apart(digest) {
            return add_at(&mut self.store, self.places.of(digest), amount);
        }
        self.add_to_distinct(digest, amount)
    }

    #[inline(never)]
    fn add_to_distinct(&mut self, digest: Digest, amount: u64) -> (bool, u64) {
        add_at(&mut self.store, once(&self.places, digest), amount)
    }

    /// Update rule: raises every counter of the key to at least `value`. With the [least](Self::least) of them plus what
    /// has come, no counter falls below the occurrences of its keys and none rises without need: that is minimal increase
    /// in one shared array and conservative update in rows.
    #[inline]
    pub(crate) fn raise_all_to(&mut self, digest: Digest, value: u64) {
        self.store.update_each(self.places.of(digest), |counter| counter.max(value));
    }

    /// Update rule: subtracts from those counters of the key that are below `frozen`; they stop at zero.
    #[inline]
    pub(crate) fn sub_from_all(&mut self, digest: Digest, amount: u64, frozen: u64) {
        let sub = |counter: u64| if counter < frozen { counter.saturating_sub(amount) } else { counter };
        if self.places.are_apart(digest) {
            self.store.update_each(self.places.of(digest), sub);
        } else {
            self.store.update_each(once(&self.places, digest), sub);
        }
    }

    /// Whether two arrays have the same places for the same keys.
    pub(crate) fn comparable(&self, other: &Self) -> Result<()> {
        self.places.comparable(&other.places)?;
        same("hashing", &self.hashing, &other.hashing)
    }
}

impl<S: CounterStore, L: Placement> Batched for CounterArray<S, L> {
    const NEAR: u64 = NEAR_BITS;

    #[inline]
    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    #[inline]
    fn bits_ahead(&self) -> u64 {
        self.store.prefetched_bits()
    }

    #[inline]
    fn ask(&self, digest: Digest) {
        self.places.of(digest).for_each(|place| self.store.prefetch(place));
    }

    /// Queries mostly end at the first places of an absent key.
    #[inline]
    fn ask_to_test(&self, digest: Digest) {
        self.places.of(digest).take(FIRST_LOOK).for_each(|place| self.store.prefetch(place));
    }
}

impl CounterArray<Counters> {
    /// Whether counters lie anywhere and do not cross words: then they are visited without a check for each.
    #[inline]
    fn is_plain(&self) -> bool {
        self.places.arrangement == Arrangement::Flat && self.store.width().is_power_of_two()
    }

    /// [`all_nonzero`](Self::all_nonzero), faster.
    #[inline]
    pub(crate) fn contains(&self, digest: Digest) -> bool {
        if !self.is_plain() {
            return self.all_nonzero(digest);
        }
        let Places { counters, hashes, .. } = self.places;
        counters::all_nonzero(self.store.words(), counters, hashes, self.store.width(), digest)
    }

    /// The same for many keys.
    pub(crate) fn contains_batch<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        if !self.is_plain() || self.store.width() != counters::COUNTER {
            return answer_each(self, keys, answers, |digest| self.contains(digest));
        }
        // Four keys side by side have so many loads under way that asking pays later than for one.
        let ahead = self.bits_ahead() > 2 * Self::NEAR;
        let (words, Places { counters, hashes, .. }) = (self.store.words(), self.places);
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            let digests = digest_batch(&self.hashing, keys, |digest| {
                if ahead {
                    self.places.of(digest).take(1).for_each(|place| self.store.prefetch(place));
                }
            });
            let digests = digests.get(..keys.len()).unwrap_or_default();
            counters::nonzero_batch::<BATCH>(words, counters, hashes, digests, answers, ahead);
        }
    }

    /// [`add_to_all`](Self::add_to_all) of one, faster.
    #[inline]
    pub(crate) fn increment(&mut self, digest: Digest) -> (bool, u64) {
        if !self.is_plain() || !self.places.are_apart(digest) {
            return self.add_to_all(digest, 1);
        }
        let (Places { counters, hashes, .. }, width) = (self.places, self.store.width());
        counters::increment(self.store.words_mut(), counters, hashes, width, digest)
    }
}

/// The places of a digest, each once. Each is compared with those before it: at most 2,016 pairs, and 21 of them for
/// seven places.
#[inline]
fn once(places: &impl Placement, digest: Digest) -> impl Iterator<Item = u64> {
    let all = places.of(digest);
    let first = move |&(i, place): &(usize, u64)| !all.clone().take(i).any(|earlier| earlier == place);
    places.of(digest).enumerate().filter(first).map(|(_, place)| place)
}

/// Adds to these counters, none of which may occur twice; see [`CounterArray::add_to_all`].
#[inline]
fn add_at(store: &mut impl CounterStore, places: impl Iterator<Item = u64>, amount: u64) -> (bool, u64) {
    let room = store.max().saturating_sub(amount);
    let (mut least, mut lost) = (u64::MAX, 0);
    store.update_each(places, |counter| {
        least = least.min(counter);
        lost += u64::from(counter > room);
        counter.saturating_add(amount)
    });
    (least == 0, lost)
}
