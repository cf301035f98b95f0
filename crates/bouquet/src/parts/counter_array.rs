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

mod places;

use crate::error::Result;
use crate::hash::{Digest, Hashing};
use crate::key::{BATCH, Key, NEAR_BITS};
use crate::shell::batch;
use crate::simd::{counters, prefetch};
use crate::store::{BitStore, Counters};

pub(crate) use places::COUNTERS;
pub use places::{Arrangement, Placement, Places, Sizes};

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

    /// Prefetches the counter at `index`, or what tells whether it is zero.
    fn prefetch(&self, index: u64);

    /// The bits of all that [`prefetch`](Self::prefetch) can reach.
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
        places.for_each(|place| self.change(place, &mut change));
    }

    /// Changes one counter to what `change` makes of it.
    #[inline]
    fn change(&mut self, place: u64, mut change: impl FnMut(u64) -> u64) {
        let before = self.get(place);
        let after = change(before);
        if after > before {
            self.add(place, after - before);
        } else if after < before {
            self.sub(place, before - after);
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

/// Places that are prefetched for a query: in a filter that is half full one absent key in eight needs more, and what a
/// present key needs beyond them arrives together.
const FIRST_LOOK: usize = 3;

/// Counters at the places of keys.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterArray<S, L = Places> {
    pub(crate) places: L,
    /// As many counters as the layout has places.
    pub(crate) store: S,
}

impl<S: CounterStore, L: Placement> CounterArray<S, L> {
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
        add_to_distinct(&mut self.store, &self.places, digest, amount)
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
        sub_from_all(&mut self.store, &self.places, digest, amount, frozen);
    }

    /// The bits that prefetching can reach.
    #[inline]
    pub(crate) fn reach(&self) -> u64 {
        self.store.prefetched_bits()
    }

    /// Prefetches all counters of a key.
    #[inline]
    pub(crate) fn prefetch(&self, digest: Digest) {
        self.places.of(digest).for_each(|place| self.store.prefetch(place));
    }

    /// Prefetches the first counters of a key: queries mostly end there when it is absent.
    #[inline]
    pub(crate) fn prefetch_to_test(&self, digest: Digest) {
        self.places.of(digest).take(FIRST_LOOK).for_each(|place| self.store.prefetch(place));
    }
}

/// Counters of a fixed width, visited faster than one by one.
impl Places {
    /// Whether these counters lie anywhere and do not cross words: then they are visited without a check for each.
    #[inline]
    fn is_plain(&self, store: &Counters) -> bool {
        self.arrangement() == Arrangement::Flat && store.width().is_power_of_two()
    }

    /// [`CounterArray::all_nonzero`], faster.
    #[inline]
    pub(crate) fn all_nonzero(&self, store: &Counters, digest: Digest) -> bool {
        if !self.is_plain(store) {
            return store.all_nonzero(self.of(digest));
        }
        counters::all_nonzero(store.words(), self.counters(), self.hashes(), store.width(), digest)
    }

    /// The same for many keys, four at a time; says false, and has done nothing, for counters that it is not made for.
    pub(crate) fn all_nonzero_batch<K: Key>(
        &self,
        store: &Counters,
        hashing: &Hashing,
        keys: &[K],
        answers: &mut [bool],
    ) -> bool {
        if !self.is_plain(store) || store.width() != counters::COUNTER {
            return false;
        }
        // Four keys side by side have this many loads under way that prefetching pays later than for one.
        let ahead = store.bits() > 2 * NEAR_BITS;
        let prefetch = |digest| {
            if ahead {
                self.of(digest).take(1).for_each(|place| store.prefetch(place));
            }
        };
        batch::answer_together(hashing, keys, answers, prefetch, |digests, answers| {
            let (words, counters, hashes) = (store.words(), self.counters(), self.hashes());
            counters::nonzero_batch::<BATCH>(words, counters, hashes, digests, answers, ahead);
        });
        true
    }

    /// [`CounterArray::add_to_all`] of one, faster.
    #[inline]
    pub(crate) fn increment(&self, store: &mut Counters, digest: Digest) -> (bool, u64) {
        if !self.are_apart(digest) {
            return add_to_distinct(store, self, digest, 1);
        }
        if !self.is_plain(store) {
            return add_at(store, self.of(digest), 1);
        }
        let width = store.width();
        counters::increment(store.words_mut(), self.counters(), self.hashes(), width, digest)
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

/// [`CounterArray::add_to_all`] for a key some of whose places coincide.
#[inline(never)]
fn add_to_distinct(store: &mut impl CounterStore, places: &impl Placement, digest: Digest, amount: u64) -> (bool, u64) {
    add_at(store, once(places, digest), amount)
}

/// Adds to these counters, none of which may occur twice; see [`CounterArray::add_to_all`].
#[inline]
fn add_at(store: &mut impl CounterStore, places: impl Iterator<Item = u64>, amount: u64) -> (bool, u64) {
    let (max, mut least, mut lost) = (store.max(), u64::MAX, 0);
    store.update_each(places, |counter| {
        least = least.min(counter);
        // An amount may be larger than any counter.
        lost += u64::from(amount > max - counter);
        counter.saturating_add(amount)
    });
    (least == 0, lost)
}

/// [`CounterArray::sub_from_all`] for a store that is part of another.
#[inline]
pub(crate) fn sub_from_all(
    store: &mut impl CounterStore,
    places: &impl Placement,
    digest: Digest,
    amount: u64,
    frozen: u64,
) {
    let sub = |counter: u64| if counter < frozen { counter.saturating_sub(amount) } else { counter };
    if places.are_apart(digest) {
        store.update_each(places.of(digest), sub);
    } else {
        store.update_each(once(places, digest), sub);
    }
}

/// A bit per counter, set where it is not zero.
pub(crate) fn nonzero(counters: &Counters) -> Result<BitStore> {
    let mut bits = BitStore::zeroed(counters.len())?;
    let mut values = counters.iter();
    for word in bits.words_mut() {
        // The iterator ends with the counters, so that the bits behind the last of them stay zero.
        *word = (0..).zip(values.by_ref().take(64)).fold(0, |word, (i, value)| word | u64::from(value != 0) << i);
    }
    Ok(bits)
}
