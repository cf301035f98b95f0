//! A parallel partitioned Bloom filter that threads share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::codec::MAX_SECTIONS;
use crate::dynamic::par_bf::{Design, Lists, ParBf, ParBfSettings, Sub};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, Positions};
use crate::key::Key;
use crate::parts::equal_components::{COUNTER_BITS, positions};
use crate::parts::workers;
use crate::shared::counting::{add_to_all, take_from_all};
use crate::store::atomic::{AtomicWord, AtomicWords, Fields};
use crate::store::{Counters, Words};
use crate::theory::dynamic::Shape;

/// The most generations: beyond them filters would be too tight.
const GENERATIONS: usize = 128;

/// A [parallel partitioned](crate::dynamic::par_bf) Bloom filter that threads share: every method takes `&self`, but for the garbage
/// collection.
///
/// Who asks never waits. Who inserts waits only for a thread that is just making the sub-filter that both need.
///
/// ```
/// use bouquet::SharedParBf;
/// let filter = SharedParBf::with_rate(100, 0.01)?;
/// std::thread::scope(|scope| {
///     for thread in 0..2u64 {
///         let filter = &filter;
///         scope.spawn(move || (0..500).for_each(|key| _ = filter.insert(&(1_000 * thread + key))));
///     }
/// });
/// assert_eq!(filter.items(), 1_000);
/// assert!((0..500u64).all(|key| filter.contains(&key) && filter.contains(&(1_000 + key))));
/// # Ok::<(), bouquet::Error>(())
/// ```
///
/// # What is promised
///
/// Remove only what was inserted: let every removal be of an insertion that happened before it and that no other removal takes. Then
///
/// * no step is lost: when all calls have returned, every counter has what the keys of its sub-filter have added, unless it is
///   frozen, and no sub-filter holds more keys than it is made for;
/// * [`contains`](Self::contains) is `true` for a key that was inserted before and that no removal has begun to take;
/// * a removal succeeds or says [`Error::Ambiguous`], and then has changed nothing;
/// * `true` from [`insert`](Self::insert) is certain, as for the filter of one thread, of insertions that happened before.
#[derive(Debug)]
pub struct SharedParBf {
    design: Design,
    settings: ParBfSettings,
    hashing: Hashing,
    fields: Fields,
    generations: Box<[OnceLock<Generation>]>,
    /// Sub-filters before this one are full, or were when a removal last looked: where insertions begin to search.
    first: AtomicUsize,
}

/// The sub-filters of one shape. Slot i belongs to list i mod L, so that the lists grow in turn.
#[derive(Debug)]
struct Generation {
    shape: Shape,
    slots: Box<[OnceLock<Cell>]>,
}

/// A sub-filter.
#[derive(Debug)]
struct Cell {
    words: AtomicWords,
    /// Keys that are in, or about to be.
    items: AtomicU64,
}

impl Cell {
    fn new(shape: &Shape) -> Result<Self> {
        Ok(Cell::of((Counters::zeroed(shape.bits, COUNTER_BITS)?, 0)))
    }

    fn of((counters, items): Sub) -> Self {
        Cell { words: counters.into_words().into(), items: AtomicU64::new(items) }
    }

    fn into_sub(self, shape: &Shape) -> Sub {
        sub(self.words.into(), self.items.into_inner(), shape)
    }
}

fn sub(words: Words, items: u64, shape: &Shape) -> Sub {
    let counters = Counters::from_words(words, shape.bits, COUNTER_BITS);
    // The words came from counters of this number and width.
    (counters.expect("as many counters as the shape has"), items.min(shape.capacity))
}

/// Takes a place in a sub-filter; `false` when it is full. No more than `capacity` threads ever get one.
#[inline]
fn reserve(items: &impl AtomicWord, capacity: u64) -> bool {
    let mut seen = items.load();
    while seen < capacity {
        match items.compare_exchange(seen, seen + 1) {
            Ok(_) => return true,
            Err(now) => seen = now,
        }
    }
    false
}

/// Whether all of these counters are in use.
#[inline]
fn all_used(fields: Fields, words: &[impl AtomicWord], probe: &Positions) -> bool {
    probe.iter().all(|&position| fields.get(words, position) != 0)
}

impl SharedParBf {
    /// A filter of sub-filters for `items` keys each whose false-positive rate stays below `fpr`.
    ///
    /// ```
    /// use bouquet::SharedParBf;
    /// assert!(SharedParBf::with_rate(1_000, 0.01).is_ok());
    /// assert!(SharedParBf::with_rate(1_000, 0.0).is_err());
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        ParBf::with_rate(items, fpr)?.try_into()
    }

    /// An empty filter of these settings.
    ///
    /// ```
    /// use bouquet::{ParBfSettings, SharedParBf};
    /// let settings = ParBfSettings { items: Some(1_000), workers: Some(4), ..Default::default() };
    /// assert!(SharedParBf::with(settings).is_ok());
    /// ```
    pub fn with(settings: ParBfSettings) -> Result<Self> {
        ParBf::with(settings)?.try_into()
    }

    /// The slots of a generation.
    fn width(&self) -> usize {
        self.design.workers * self.design.length
    }

    fn generations(&self) -> impl Iterator<Item = &Generation> {
        self.generations.iter().map_while(OnceLock::get)
    }

    /// Whether a sub-filter of this worker's lists, or of any, holds the key.
    #[inline]
    fn holds(&self, digest: Digest, worker: Option<usize>) -> bool {
        self.generations().any(|generation| {
            let probe = positions(&generation.shape, digest);
            let (start, step) = worker.map_or((0, 1), |worker| (worker, self.design.workers));
            let mine = generation.slots.iter().skip(start).step_by(step).filter_map(OnceLock::get);
            mine.into_iter().any(|cell| all_used(self.fields, cell.words.as_slice(), &probe))
        })
    }

    /// Whether the key may be in the set.
    ///
    /// ```
    /// use bouquet::SharedParBf;
    /// let filter = SharedParBf::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.holds(key.digest(&self.hashing), None)
    }

    /// The answers for many keys, `answers[i]` for `keys[i]`, from this thread alone: let every thread ask for its own.
    ///
    /// ```
    /// use bouquet::SharedParBf;
    /// let filter = SharedParBf::with_rate(1_000, 0.001)?;
    /// [1u64, 2, 3].map(|key| filter.insert(&key).is_ok());
    /// let mut answers = [false; 3];
    /// filter.contains_batch(&[3u64, 4, 1], &mut answers);
    /// assert_eq!(answers, [true, false, true]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn contains_batch<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        keys.iter().zip(answers).for_each(|(key, answer)| *answer = self.contains(key));
    }

    /// The same by as many threads as there are lists: each searches its lists for all keys, and one that has found a key stops the others
    /// from looking for it.
    ///
    /// ```
    /// use bouquet::SharedParBf;
    /// let filter = SharedParBf::with_rate(100, 0.001)?;
    /// (0..1_000u64).for_each(|key| _ = filter.insert(&key));
    /// let keys: Vec<u64> = (500..1_500).collect();
    /// let mut answers = vec![false; keys.len()];
    /// filter.search(&keys, &mut answers);
    /// assert!(keys.iter().zip(answers).all(|(key, answer)| answer == filter.contains(key)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn search<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        let digests: Vec<Digest> = keys.iter().zip(&*answers).map(|(key, _)| key.digest(&self.hashing)).collect();
        workers::search(self.design.workers, &digests, answers, |worker, digest| self.holds(digest, Some(worker)));
    }

    /// The generation at this place, made if it is not there.
    fn generation(&self, at: usize) -> Result<&Generation> {
        let full = || Error::Full {
            what: format!("it has {GENERATIONS} generations"),
            remedy: "build a new filter with larger `items`".into(),
        };
        let slot = self.generations.get(at).ok_or_else(full)?;
        if let Some(generation) = slot.get() {
            return Ok(generation);
        }
        let shape = self.design.shapes.of(at)?;
        Ok(slot.get_or_init(|| Generation { shape, slots: (0..self.width()).map(|_| OnceLock::new()).collect() }))
    }

    /// The sub-filter with this number among all, made if it is not there.
    fn cell(&self, number: usize) -> Result<(&Shape, &Cell)> {
        if number >= MAX_SECTIONS {
            return Err(Error::Full {
                what: format!("it has {MAX_SECTIONS} sub-filters"),
                remedy: "build a new filter with larger `items`".into(),
            });
        }
        let generation = self.generation(number / self.width())?;
        let slot = &generation.slots[number % self.width()];
        if let Some(cell) = slot.get() {
            return Ok((&generation.shape, cell));
        }
        // Two threads may make one; the second is dropped.
        let made = Cell::new(&generation.shape)?;
        Ok((&generation.shape, slot.get_or_init(|| made)))
    }

    /// Inserts a key and says whether it was certainly new. An error means that another sub-filter was needed and not to be had.
    ///
    /// ```
    /// use bouquet::SharedParBf;
    /// let filter = SharedParBf::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose")? && !filter.insert("rose")?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Result<bool> {
        let digest = key.digest(&self.hashing);
        let fresh = !self.holds(digest, None);
        let mut number = self.first.load(Relaxed);
        loop {
            let (shape, cell) = self.cell(number)?;
            if reserve(&cell.items, shape.capacity) {
                let mut probe = positions(shape, digest);
                add_to_all(self.fields, cell.words.as_slice(), probe.distinct().iter().copied());
                return Ok(fresh);
            }
            // Whoever comes next need not look here, unless a removal has said otherwise meanwhile.
            _ = self.first.compare_exchange(number, number + 1, Relaxed, Relaxed);
            number += 1;
        }
    }

    /// Removes one occurrence of a key, or says why not: [`Error::NotPresent`], or [`Error::Ambiguous`] when several sub-filters match
    /// it. **Remove only what was inserted**; see [what is promised](Self#what-is-promised).
    ///
    /// ```
    /// use bouquet::{Error, SharedParBf};
    /// let filter = SharedParBf::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.remove("rose")?;
    /// assert!(matches!(filter.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> Result<()> {
        let digest = key.digest(&self.hashing);
        let mut found = None;
        for (at, generation) in self.generations().enumerate() {
            let probe = positions(&generation.shape, digest);
            for (index, slot) in generation.slots.iter().enumerate() {
                let Some(cell) = slot.get().filter(|cell| all_used(self.fields, cell.words.as_slice(), &probe)) else {
                    continue;
                };
                if found.is_some() {
                    return Err(Error::Ambiguous { what: "several sub-filters match the key".into() });
                }
                found = Some((at * self.width() + index, cell, probe));
            }
        }
        let (number, cell, mut probe) = found.ok_or(Error::NotPresent)?;
        if !take_from_all(self.fields, cell.words.as_slice(), probe.distinct()) {
            return Err(Error::NotPresent);
        }
        // Only now is there a place for another key.
        _ = cell.items.fetch_update(Relaxed, Relaxed, |items| items.checked_sub(1));
        self.first.fetch_min(number, Relaxed);
        Ok(())
    }

    /// Insertions less removals; exact for those that happened before.
    ///
    /// ```
    /// use bouquet::SharedParBf;
    /// let filter = SharedParBf::with_rate(1_000, 0.01)?;
    /// ["rose", "iris"].map(|key| filter.insert(key).is_ok());
    /// filter.remove("iris")?;
    /// assert_eq!(filter.items(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        let cells = self.generations().flat_map(|generation| generation.slots.iter().filter_map(OnceLock::get));
        cells.map(|cell| cell.items.load(Relaxed)).sum()
    }

    /// Unites sub-filters whose keys fit in one and says how many are freed. It needs the filter for itself.
    ///
    /// ```
    /// use bouquet::SharedParBf;
    /// let mut filter = SharedParBf::with_rate(100, 0.01)?;
    /// (0..400u64).for_each(|key| _ = filter.insert(&key));
    /// (0..300u64).for_each(|key| _ = filter.remove(&key));
    /// assert_eq!(filter.gc()?, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn gc(&mut self) -> Result<u64> {
        let mut filter = self.take_filter()?;
        let freed = filter.gc();
        *self = filter.try_into()?;
        freed
    }

    /// A copy of the filter for one thread. Of keys that are inserted or removed meanwhile it may have some counters and not
    /// others.
    ///
    /// ```
    /// use bouquet::{ParBf, SharedParBf};
    /// let shared = SharedParBf::with_rate(1_000, 0.01)?;
    /// shared.insert("rose")?;
    /// assert!(ParBf::from_bytes(&shared.snapshot()?.to_bytes())?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn snapshot(&self) -> Result<ParBf> {
        let subs = self.generations().map(|generation| {
            self.lists(generation.slots.iter().map(|slot| {
                slot.get().map(|cell| sub(cell.words.to_words(), cell.items.load(Relaxed), &generation.shape))
            }))
        });
        self.filter_of(subs.collect())
    }

    /// The filter for one thread again, without copying.
    ///
    /// ```
    /// use bouquet::{ParBf, SharedParBf};
    /// let mut plain = ParBf::with_rate(1_000, 0.01)?;
    /// plain.insert("rose")?;
    /// assert_eq!(SharedParBf::try_from(plain.clone())?.into_filter()?, plain);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn into_filter(mut self) -> Result<ParBf> {
        self.take_filter()
    }

    fn take_filter(&mut self) -> Result<ParBf> {
        let generations = std::mem::take(&mut self.generations).into_iter().map_while(OnceLock::into_inner);
        let subs = generations.map(|Generation { shape, slots }| {
            self.lists(slots.into_iter().map(|slot| slot.into_inner().map(|cell| cell.into_sub(&shape))))
        });
        let subs = subs.collect();
        self.filter_of(subs)
    }

    /// The sub-filters of a generation, list by list.
    fn lists(&self, slots: impl Iterator<Item = Option<Sub>>) -> Vec<Vec<Sub>> {
        let mut lists: Vec<Vec<Sub>> = (0..self.design.workers).map(|_| Vec::new()).collect();
        for (slot, sub) in slots.enumerate() {
            lists[slot % self.design.workers].extend(sub);
        }
        lists
    }

    fn filter_of(&self, subs: Vec<Vec<Vec<Sub>>>) -> Result<ParBf> {
        let lists = Lists::of_subs(self.design, subs)?;
        Ok(ParBf::of_parts(lists, self.settings.clone(), &self.hashing, 0))
    }
}

impl TryFrom<ParBf> for SharedParBf {
    type Error = Error;

    /// Without copying.
    fn try_from(filter: ParBf) -> Result<Self> {
        let settings = filter.settings();
        let (design, hashing) = (Design::new(&settings)?, filter.hashing().clone());
        let fields =
            Fields::new(COUNTER_BITS).ok_or_else(|| Error::parameter("width", "one that divides 64", COUNTER_BITS))?;
        let shared = SharedParBf {
            design,
            settings,
            hashing,
            fields,
            generations: (0..GENERATIONS).map(|_| OnceLock::new()).collect(),
            first: AtomicUsize::new(0),
        };
        for (at, lists) in filter.mechanism.into_subs().into_iter().enumerate() {
            let generation = shared.generation(at)?;
            for (list, subs) in lists.into_iter().enumerate() {
                for (index, sub) in subs.into_iter().enumerate() {
                    // A list has at most as many sub-filters as it has slots, and every slot is filled once.
                    if let Some(slot) = generation.slots.get(index * design.workers + list) {
                        _ = slot.set(Cell::of(sub));
                    }
                }
            }
        }
        Ok(shared)
    }
}

#[cfg(test)]
mod tests;
