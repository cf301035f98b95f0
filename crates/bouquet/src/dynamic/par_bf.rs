#![doc = include_str!("par_bf.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder, MAX_SECTIONS};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, Positions};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Figure, Kind, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, kind};
use crate::parts::chain::{Chain, Pick};
use crate::parts::equal_components::{Arrangement, COUNTER_BITS, Cells, positions};
use crate::parts::workers;
use crate::shell::{Code, Expand, Filter, Hashed, Mechanism, Put, Take, Test};
use crate::store::Counters;
use crate::theory::dynamic::Shape;
use crate::theory::{bank, standard};

mod settings;

pub(crate) use settings::Design;
pub use settings::ParBfSettings;

/// The registry's row.
pub const KIND: Kind = kind!(ParBf);

/// A parallel partitioned Bloom filter.
///
/// Batches of more than a thousand keys are looked up by as many threads as it has lists. [`SharedParBf`](crate::SharedParBf) is the form
/// that threads also insert into at once.
///
/// ```
/// use bouquet::ParBf;
/// let mut filter = ParBf::with_rate(1_000, 0.01)?;
/// (0..5_000u64).for_each(|key| _ = filter.insert(&key));
/// assert_eq!(filter.counts(), [vec![1_000; 3], vec![1_000; 2]]);
/// filter.remove(&77u64)?;
/// assert!((0..5_000u64).filter(|key| filter.contains(key)).count() >= 4_999);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type ParBf = Filter<Lists>;

const COUNTERS: Arrangement = Arrangement { counters: true, sliced: false };

/// Fewer keys are looked up sooner than a thread is started.
const LEAST_PARALLEL: usize = 1_024;

/// The lists of one shape; as many as workers, once there are sub-filters for all.
#[derive(Clone, Debug, PartialEq)]
struct Generation {
    shape: Shape,
    lists: Vec<Chain<Cells>>,
}

impl Generation {
    fn probe(&self, digest: Digest) -> Positions {
        positions(&self.shape, digest)
    }
}

/// A sub-filter: its counters and keys.
pub(crate) type Sub = (Counters, u64);

/// Lists of counting filters.
#[derive(Clone, Debug, PartialEq)]
pub struct Lists {
    design: Design,
    generations: Vec<Generation>,
}

impl Lists {
    fn subs(&self) -> usize {
        self.chains().map(|chain| chain.counts().len()).sum()
    }

    fn chains(&self) -> impl Iterator<Item = &Chain<Cells>> {
        self.generations.iter().flat_map(|generation| &generation.lists)
    }

    /// An empty sub-filter in the shortest list, or in the first of a new generation.
    fn open(&mut self) -> Result<(usize, usize, usize)> {
        if self.subs() >= MAX_SECTIONS {
            return Err(Error::Full {
                what: format!("it has {MAX_SECTIONS} sub-filters"),
                remedy: "build a new filter with larger `items`".into(),
            });
        }
        let Design { workers, length, .. } = self.design;
        let is_open = |generation: &Generation| {
            generation.lists.len() < workers || generation.lists.iter().any(|list| list.counts().len() < length)
        };
        let open = self.generations.iter().position(is_open);
        let Some(at) = open else {
            let at = self.generations.len();
            let shape = self.design.shapes.of(at)?;
            self.generations.push(Generation { shape, lists: vec![new_list(shape)?] });
            return Ok((at, 0, 0));
        };
        let Generation { shape, lists } = &mut self.generations[at];
        if lists.len() < workers {
            lists.push(new_list(*shape)?);
            return Ok((at, lists.len() - 1, 0));
        }
        let shortest = (0..lists.len()).min_by_key(|&list| lists[list].counts().len()).unwrap_or(0);
        let index = lists[shortest].append(())?;
        Ok((at, shortest, index))
    }

    /// The oldest sub-filter with room.
    fn with_room(&self) -> Option<(usize, usize, usize)> {
        let room = |list: &Chain<Cells>| Pick::First.choose(list, Digest { h1: 0, h2: 0 });
        self.generations.iter().enumerate().find_map(|(at, generation)| {
            generation.lists.iter().enumerate().find_map(|(list, chain)| Some((at, list, room(chain)?)))
        })
    }

    /// Whether a list of this worker, or of any, holds the key.
    #[inline]
    fn holds(&self, digest: Digest, worker: Option<usize>) -> bool {
        self.generations.iter().any(|generation| {
            let probe = generation.probe(digest);
            let mine = |list: &usize| worker.is_none_or(|worker| *list == worker);
            (0..generation.lists.len()).filter(mine).any(|list| generation.lists[list].contains(&probe))
        })
    }

    /// Unites the sub-filters of a list that fit together; gives how many were dropped.
    fn unite(&mut self, generation: usize, list: usize) -> Result<u64> {
        let chain = &mut self.generations[generation].lists[list];
        let mut dropped = 0;
        while chain.unite()?.is_some() {
            dropped += 1;
        }
        Ok(dropped)
    }

    fn collect(&mut self) -> Result<u64> {
        let lists = |(at, generation): (usize, &Generation)| (0..generation.lists.len()).map(move |list| (at, list));
        let all: Vec<_> = self.generations.iter().enumerate().flat_map(lists).collect();
        all.into_iter().map(|(generation, list)| self.unite(generation, list)).sum()
    }

    /// The rates of the sub-filters that this many keys fill one after the other.
    fn rates_of(design: &Design, items: u64) -> f64 {
        let full = design.shapes.capacity.saturating_mul((design.workers * design.length) as u64);
        let (mut left, mut rates) = (items, Vec::new());
        for generation in design.shapes.all() {
            let held = left.min(full);
            left -= held;
            let rate = |n| standard::expected_rate(generation.bits, n, generation.hashes);
            let of_full = rate(design.shapes.capacity);
            rates.extend((0..held / design.shapes.capacity).map(|_| of_full));
            rates.push(rate(held % design.shapes.capacity));
            if left == 0 {
                break;
            }
        }
        bank::any_spurious(&rates)
    }

    /// The sub-filters of every list of every generation.
    pub(crate) fn into_subs(self) -> Vec<Vec<Vec<Sub>>> {
        let of_list = |list: Chain<Cells>| {
            let (cells, items) = list.into_parts();
            cells.into_counters().into_iter().zip(items).collect()
        };
        let of_generation = |generation: Generation| generation.lists.into_iter().map(of_list).collect();
        self.generations.into_iter().map(of_generation).collect()
    }

    /// The filter of these sub-filters; lists without one are left out.
    pub(crate) fn of_subs(design: Design, subs: Vec<Vec<Vec<Sub>>>) -> Result<Self> {
        let mut generations = Vec::new();
        for (at, lists) in subs.into_iter().enumerate() {
            let shape = design.shapes.of(at)?;
            let lists = lists.into_iter().filter(|list| !list.is_empty());
            let lists = lists.map(|list| {
                let (counters, items): (Vec<_>, Vec<_>) = list.into_iter().unzip();
                list_of(Cells::from_counters(counters, shape, false)?, items)
            });
            generations.push(Generation { shape, lists: lists.collect::<Result<Vec<_>>>()? });
        }
        // A generation may have been begun and no sub-filter had.
        generations.retain(|generation| !generation.lists.is_empty());
        Ok(Lists { design, generations })
    }
}

fn list_of(cells: Cells, items: Vec<u64>) -> Result<Chain<Cells>> {
    let none = || Error::corrupt("sub-filters of a list", "at least 1, each with its keys", "another number");
    Chain::with_items(cells, items).ok_or_else(none)
}

fn new_list(shape: Shape) -> Result<Chain<Cells>> {
    list_of(Cells::zeroed(1, shape, COUNTERS)?, vec![0])
}

impl Mechanism for Lists {
    const FACTS: Facts = Facts {
        id: "par-bf",
        number: 104,
        aliases: &["Par-BF", "parallel partitioned Bloom filter"],
        family: "dynamic",
        text: Text::new(include_str!("par_bf.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::Undeletable],
        note: NoteType::None,
        parameters: &[],
    };

    const OWN_ITEMS: bool = true;
    const SHARED: bool = true;

    const SPECIALS: &'static [Special<ParBf>] = &[
        Special::ask("lists", Takes::Nothing, "the keys of every sub-filter, list by list", |filter, _| {
            let mut rows = Vec::new();
            for (at, generation) in filter.mechanism.generations.iter().enumerate() {
                for (list, chain) in generation.lists.iter().enumerate() {
                    let keys = Reply::from(chain.counts().to_vec());
                    rows.push(vec![Reply::from(at as u64), Reply::from(list as u64), keys]);
                }
            }
            Ok(Reply::Table(&["generation", "list", "keys"], rows))
        }),
        Special::act(
            "gc",
            Takes::Nothing,
            "unites sub-filters whose keys fit in one and tells how many it frees",
            |filter, _| filter.gc().map(Reply::from),
        ),
    ];

    type Settings = ParBfSettings;

    fn resolve(asked: &ParBfSettings) -> Result<ParBfSettings> {
        let design = Design::new(asked)?;
        design.shapes.of(0)?;
        let (items, hashes) = (Some(design.shapes.capacity), design.shapes.fixed_hashes());
        Ok(ParBfSettings { items, hashes, ..asked.clone() })
    }

    fn plan(settings: &ParBfSettings) -> Result<Plan> {
        let design = Design::new(settings)?;
        let shape = design.shapes.of(0)?;
        let bits = shape.bits.checked_mul(COUNTER_BITS.into()).ok_or_else(|| Error::TooLarge {
            what: "a sub-filter".into(),
            bytes: u128::from(shape.bits) * u128::from(COUNTER_BITS) / 8,
        })?;
        let fpr = settings.items.map(|items| Self::rates_of(&design, items));
        Ok(Plan { bits, hashes: shape.hashes, items: settings.items, fpr })
    }

    fn empty(settings: &ParBfSettings, _: &Hashing) -> Result<Self> {
        let mut lists = Lists { design: Design::new(settings)?, generations: Vec::new() };
        lists.open()?;
        Ok(lists)
    }

    fn domain(settings: &ParBfSettings) -> String {
        let shape = Design::new(settings).and_then(|design| design.shapes.of(0)).ok();
        format!("par-bf {} {}", shape.map_or(0, |shape| shape.bits), shape.map_or(0, |shape| shape.hashes))
    }

    fn items(&self, _: u64) -> u64 {
        self.chains().fold(0, |sum, chain| sum.saturating_add(chain.items()))
    }

    fn stats(&self, items: u64) -> Stats {
        let (mut bits, mut cells, mut ones, mut honest, mut rates) = (0, 0.0, 0, 0.0, Vec::new());
        for generation in &self.generations {
            for list in &generation.lists {
                let used = list.components().used();
                let (_, most) = list.components().fill(&used, list.counts());
                let all = generation.shape.bits as f64 * used.len() as f64;
                bits += list.components().bits();
                cells += all;
                honest += most * all;
                ones += used.iter().sum::<u64>();
                rates.push(generation.shape.rate_of_used(&used));
            }
        }
        Stats {
            items,
            bits,
            hashes: self.generations.last().map_or(0, |generation| generation.shape.hashes),
            fill: Some(ones as f64 / cells),
            fpr: Some(bank::any_spurious(&rates)),
            honest_fill: Some(honest / cells),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let count = |name, count: usize| Figure { name, value: Setting::Count(count as u64) };
        let longest = self.chains().map(|chain| chain.counts().len()).max().unwrap_or(0);
        vec![
            count("generations", self.generations.len()),
            count("sub-filters", self.subs()),
            count("longest list", longest),
        ]
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(Self::rates_of(&self.design, items)), ..Rates::default() }
    }

    /// State: the number of generations (4 bytes), of each its lists (1), and of each list its sub-filters (4) and the keys of each
    /// of them (8). Stores: the counters of every sub-filter.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u32(self.generations.len() as u32);
        for generation in &self.generations {
            state.u8(generation.lists.len() as u8);
            for list in &generation.lists {
                state.u32(list.counts().len() as u32);
                list.counts().iter().for_each(|&items| state.u64(items));
            }
        }
        self.chains().for_each(|list| list.components().encode(encoder));
    }

    fn decode(settings: &ParBfSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let design = Design::new(settings)?;
        let stores = decoder.stores_left();
        let state = decoder.state();
        let (count, mut tables, mut subs) = (state.u32()? as usize, Vec::new(), 0);
        if count == 0 || count > stores {
            return Err(Error::corrupt("number of generations", format!("1 to {stores}"), count));
        }
        for _ in 0..count {
            let lists = usize::from(state.u8()?);
            if lists == 0 || lists > design.workers {
                return Err(Error::corrupt("lists of a generation", format!("1 to {}", design.workers), lists));
            }
            let mut generation = Vec::new();
            for _ in 0..lists {
                let length = state.u32()? as usize;
                subs += length;
                if length == 0 || length > design.length || subs > stores {
                    let expected = format!("1 to {}, each with its store", design.length);
                    return Err(Error::corrupt("sub-filters of a list", expected, length));
                }
                let items = (0..length).map(|_| state.u64()).collect::<Result<Vec<_>>>()?;
                if let Some(items) = items.iter().find(|items| **items > design.shapes.capacity) {
                    let expected = format!("at most {}", design.shapes.capacity);
                    return Err(Error::corrupt("keys in a sub-filter", expected, items));
                }
                generation.push(items);
            }
            tables.push(generation);
        }
        if subs != stores {
            return Err(Error::corrupt("number of sub-filters", stores, subs));
        }
        let mut generations = Vec::new();
        for (at, lists) in tables.into_iter().enumerate() {
            let shape = design.shapes.of(at)?;
            let lists = lists
                .into_iter()
                .map(|items| list_of(Cells::decode_next(decoder, items.len(), shape, COUNTERS)?, items));
            generations.push(Generation { shape, lists: lists.collect::<Result<Vec<_>>>()? });
        }
        Ok((Lists { design, generations }, 0))
    }

    fn reach(&self) -> u64 {
        self.generations.first().map_or(0, |generation| generation.shape.bits.saturating_mul(COUNTER_BITS.into()))
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.generations.iter().for_each(|generation| {
            let probe = generation.probe(digest);
            generation.lists.iter().for_each(|list| list.prefetch(&probe));
        });
    }
}

impl Test for Lists {
    /// `false` is certain, unless keys were removed that were never inserted.
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.holds(key.digest, None)
    }

    fn test_batch<K: Key>(&self, hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        let lists = self.generations.first().map_or(0, |generation| generation.lists.len());
        if keys.len().min(answers.len()) < LEAST_PARALLEL || lists < 2 {
            return crate::shell::batch::answer(self, hashing, keys, answers, |key| self.test(key));
        }
        let digests: Vec<Digest> = keys.iter().zip(&*answers).map(|(key, _)| key.digest(hashing)).collect();
        workers::search(lists, &digests, answers, |worker, digest| self.holds(digest, Some(worker)));
    }
}

impl Put for Lists {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    fn put(&mut self, key: Hashed<'_>, (): ()) -> Result<bool> {
        let fresh = !self.holds(key.digest, None);
        let (generation, list, index) = match self.with_room() {
            Some(place) => place,
            None => self.open()?,
        };
        let Generation { shape, lists } = &mut self.generations[generation];
        lists[list].add(index, &positions(shape, key.digest));
        Ok(fresh)
    }
}

impl Take for Lists {
    type Note<'a> = ();

    /// A key that several sub-filters match is [`Error::Ambiguous`]. The list that it leaves is united where too much of it is free.
    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        let mut found = None;
        for (at, generation) in self.generations.iter().enumerate() {
            let probe = generation.probe(key.digest);
            for (list, chain) in generation.lists.iter().enumerate() {
                match (chain.addresses(&probe), found) {
                    (0, _) => {}
                    (1, None) => found = Some((at, list, probe)),
                    _ => return Err(Error::Ambiguous { what: "several sub-filters match the key".into() }),
                }
            }
        }
        let (at, list, probe) = found.ok_or(Error::NotPresent)?;
        let chain = &mut self.generations[at].lists[list];
        chain.take_out(&probe);
        let room = self.design.shapes.capacity as f64 * chain.counts().len() as f64;
        if (chain.items() as f64) < (1.0 - self.design.free) * room {
            self.unite(at, list)?;
        }
        Ok(())
    }
}

impl Expand for Lists {
    fn capacity(&self) -> u64 {
        self.chains().fold(0, |sum, chain| sum.saturating_add(chain.capacity()))
    }

    fn expand(&mut self) -> Result<()> {
        self.open().map(drop)
    }
}

impl Code for Lists {
    fn entropy_bits(&self) -> f64 {
        self.chains().map(|chain| chain.components().entropy_bits()).sum()
    }
}

impl ParBf {
    /// Sub-filters of `counters` counters and `hashes` positions that hold `capacity` keys each, in as many lists as `workers`; all
    /// generations are alike.
    ///
    /// ```
    /// use bouquet::ParBf;
    /// assert_eq!(ParBf::with_size(1280, 7, 133, 2)?.stats().bits, 4 * 1280);
    /// assert!(ParBf::with_size(1280, 7, 133, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, hashes: u32, capacity: u64, workers: u64) -> Result<Self> {
        let (items, workers) = (Some(capacity), Some(workers));
        Self::with(ParBfSettings {
            items,
            bits: Some(counters),
            hashes: Some(hashes),
            workers,
            ..ParBfSettings::default()
        })
    }

    /// The keys of every sub-filter, list by list, the oldest generation first.
    ///
    /// ```
    /// use bouquet::ParBf;
    /// let mut filter = ParBf::with_rate(100, 0.01)?;
    /// (0..250u64).for_each(|key| _ = filter.insert(&key));
    /// assert_eq!(filter.counts(), [vec![100, 50], vec![100]]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn counts(&self) -> Vec<Vec<u64>> {
        self.mechanism.chains().map(|chain| chain.counts().to_vec()).collect()
    }

    /// Unites sub-filters of a list whose keys fit in one, until none do, and says how many are freed. Removals do so by themselves
    /// when more of a list is free than the setting `free` allows.
    ///
    /// ```
    /// use bouquet::ParBf;
    /// let mut filter = ParBf::with_rate(100, 0.01)?;
    /// (0..400u64).for_each(|key| _ = filter.insert(&key));
    /// (0..200u64).filter(|key| key % 2 == 0).for_each(|key| _ = filter.remove(&key));
    /// assert_eq!((filter.gc()?, filter.counts().concat().len()), (0, 4), "each list has 150 keys");
    /// (200..400u64).filter(|key| key % 2 == 0).for_each(|key| _ = filter.remove(&key));
    /// filter.gc()?;
    /// assert_eq!(filter.counts().concat().len(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn gc(&mut self) -> Result<u64> {
        self.mechanism.collect()
    }
}

#[cfg(test)]
mod tests;
