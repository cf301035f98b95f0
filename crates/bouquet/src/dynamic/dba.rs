#![doc = include_str!("dba.md")]

use std::collections::BTreeMap;

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, Positions};
use crate::kind::{ErrorClass, Facts, Figure, Kind, Plan, Rates, Setting, Special, Stats, Text, kind};
use crate::parts::chain::{Chain, Components};
use crate::parts::equal_components::{Arrangement, Cells, positions};
use crate::shell::{Code, Expand, Filter, Group, Hashed, Mechanism, Put, Sort, Take, Test};
use crate::store::{BitMatrix, Orientation};
use crate::theory::dynamic::Shape;
use crate::theory::{bank, standard};

mod methods;
mod settings;

use settings::Design;
pub use settings::{DbaSettings, Width};

/// The registry's row.
pub const KIND: Kind = kind!(Dba);

/// A dynamic Bloom filter array: a filter for each subset, 64 of which one word answers for.
///
/// ```
/// use bouquet::Dba;
/// let mut index = Dba::with_rate(1_000, 0.001)?;
/// index.insert("rose", 2026)?;
/// index.insert("rose", 1999)?;
/// assert_eq!(index.classify("rose"), [1999, 2026]);
/// assert!(index.classify("thistle").is_empty());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Dba = Filter<Lanes>;

/// How the filters of a group lie in memory.
const SLICES: Arrangement = Arrangement { counters: false, sliced: true };

/// What a lane, a column of a group, holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// Nothing, and its bits are zero.
    Free,
    /// A filter of this subset, some of whose keys were removed since.
    Answers { subset: u64, stale: u64 },
    /// The filter that will take the place of the subset's others; nobody is told of its keys before.
    Rebuilds { subset: u64 },
}

/// Filters of one shape side by side.
#[derive(Clone, Debug, PartialEq)]
struct Rank {
    shape: Shape,
    chain: Chain<Cells>,
    lanes: Vec<Lane>,
}

impl Rank {
    fn new(shape: Shape, width: u64) -> Result<Self> {
        Self::of(shape, Cells::zeroed(width, shape, SLICES)?, vec![0; width as usize], vec![Lane::Free; width as usize])
    }

    fn of(shape: Shape, cells: Cells, items: Vec<u64>, lanes: Vec<Lane>) -> Result<Self> {
        let chain = Chain::with_items(cells, items);
        let chain = chain.ok_or_else(|| Error::corrupt("filters of a group", lanes.len(), "another number"))?;
        Ok(Rank { shape, chain, lanes })
    }

    #[inline]
    fn probe(&self, digest: Digest) -> Positions {
        positions(&self.shape, digest)
    }

    /// Visits the subsets of the filters that match, until `visit` answers false.
    #[inline]
    fn subsets(&self, digest: Digest, mut visit: impl FnMut(u64) -> bool) {
        self.chain.components().matching(&self.probe(digest), |lane| match self.lanes.get(lane) {
            Some(Lane::Answers { subset, .. }) => visit(*subset),
            _ => true,
        });
    }

    /// The filters that answer, with their numbers and the keys that were put in them.
    fn answering(&self) -> impl Iterator<Item = (usize, u64, u64, u64)> {
        self.lanes.iter().zip(self.chain.counts()).enumerate().filter_map(|(index, (lane, &items))| match *lane {
            Lane::Answers { subset, stale } => Some((index, subset, items, stale)),
            Lane::Free | Lane::Rebuilds { .. } => None,
        })
    }
}

/// The group and lane of a filter.
type Place = (usize, usize);

/// Groups of filters.
#[derive(Clone, Debug)]
pub struct Lanes {
    design: Design,
    groups: Vec<Rank>,
    /// Where the filters of each subset are, ascending: follows from the lanes.
    places: BTreeMap<u64, Vec<Place>>,
    /// The same for those that are being rebuilt.
    rebuilt: BTreeMap<u64, Vec<Place>>,
}

impl PartialEq for Lanes {
    fn eq(&self, other: &Self) -> bool {
        self.design == other.design && self.groups == other.groups
    }
}

impl Lanes {
    fn of(design: Design, groups: Vec<Rank>) -> Self {
        let mut lanes = Lanes { design, groups, places: BTreeMap::new(), rebuilt: BTreeMap::new() };
        for (group, rank) in lanes.groups.iter().enumerate() {
            for (index, lane) in rank.lanes.iter().enumerate() {
                let (of, subset) = match *lane {
                    Lane::Answers { subset, .. } => (&mut lanes.places, subset),
                    Lane::Rebuilds { subset } => (&mut lanes.rebuilt, subset),
                    Lane::Free => continue,
                };
                of.entry(subset).or_default().push((group, index));
            }
        }
        lanes
    }

    fn items_at(&self, (group, lane): Place) -> u64 {
        self.groups[group].chain.counts()[lane]
    }

    fn stale_at(&self, (group, lane): Place) -> u64 {
        if let Lane::Answers { stale, .. } = self.groups[group].lanes[lane] { stale } else { 0 }
    }

    /// Keys put in less keys removed, of these filters.
    fn live(&self, places: &[Place]) -> u64 {
        places.iter().fold(0, |sum, &place| sum.saturating_add(self.items_at(place) - self.stale_at(place)))
    }

    fn holds(&self, (group, lane): Place, digest: Digest) -> bool {
        let rank = &self.groups[group];
        rank.chain.components().holds(lane, &rank.probe(digest))
    }

    fn holds_in(&self, subset: u64, digest: Digest) -> bool {
        self.places.get(&subset).is_some_and(|places| places.iter().any(|&place| self.holds(place, digest)))
    }

    fn open_group(&mut self) -> Result<usize> {
        let shape = self.design.shapes.of(self.groups.len())?;
        self.groups.push(Rank::new(shape, self.design.width)?);
        Ok(self.groups.len() - 1)
    }

    /// The first of these filters that has room.
    fn with_room(&self, places: Option<&Vec<Place>>) -> Option<Place> {
        places?.iter().copied().find(|&place| self.items_at(place) < self.design.shapes.capacity)
    }

    /// Gives a free lane to a filter.
    fn open(&mut self, lane: Lane) -> Result<Place> {
        let free = |rank: &Rank| rank.lanes.iter().position(|lane| *lane == Lane::Free);
        let found = self.groups.iter().enumerate().find_map(|(group, rank)| Some((group, free(rank)?)));
        let place = match found {
            Some(place) => place,
            None => (self.open_group()?, 0),
        };
        self.groups[place.0].lanes[place.1] = lane;
        let (of, subset) = match lane {
            Lane::Answers { subset, .. } => (&mut self.places, subset),
            Lane::Rebuilds { subset } => (&mut self.rebuilt, subset),
            Lane::Free => return Ok(place),
        };
        let places = of.entry(subset).or_default();
        places.push(place);
        places.sort_unstable();
        Ok(place)
    }

    /// Empties a lane.
    fn free(&mut self, (group, lane): Place) {
        self.groups[group].chain.vacate(lane);
        self.groups[group].lanes[lane] = Lane::Free;
    }

    fn add(&mut self, (group, lane): Place, digest: Digest) {
        let rank = &mut self.groups[group];
        let probe = rank.probe(digest);
        rank.chain.add(lane, &probe);
    }

    /// The place for another key of a subset, or for one more of those that it is rebuilt from.
    fn room(&mut self, subset: u64, rebuilds: bool) -> Result<Place> {
        let places = if rebuilds { &self.rebuilt } else { &self.places };
        match self.with_room(places.get(&subset)) {
            Some(place) => Ok(place),
            None if rebuilds => self.open(Lane::Rebuilds { subset }),
            None => self.open(Lane::Answers { subset, stale: 0 }),
        }
    }

    /// Forgets what a subset was to be rebuilt from.
    fn abandon(&mut self, subset: u64) {
        self.rebuilt.remove(&subset).into_iter().flatten().for_each(|place| self.free(place));
    }

    /// Drops a subset with all that is in it.
    fn forget(&mut self, subset: u64) -> bool {
        self.abandon(subset);
        let places = self.places.remove(&subset);
        let known = places.is_some();
        places.into_iter().flatten().for_each(|place| self.free(place));
        known
    }

    /// Whether a filter of the subset has more removed keys than the threshold allows.
    fn is_queued(&self, places: &[Place]) -> bool {
        let most = self.design.threshold * self.design.shapes.capacity as f64;
        places.iter().any(|&place| self.stale_at(place) as f64 > most)
    }

    /// Takes a live key of a subset for one that it is rebuilt from.
    fn take_live(&mut self, digest: Digest, subset: u64) -> Result<()> {
        if !self.holds_in(subset, digest) {
            return Err(Error::NotPresent);
        }
        let place = self.room(subset, true)?;
        self.add(place, digest);
        Ok(())
    }

    /// Refuses a rebuilt subset with fewer keys than are left in it.
    fn check_complete(&self, subset: u64, given: u64) -> Result<()> {
        let live = self.places.get(&subset).map_or(0, |places| self.live(places));
        if given >= live {
            return Ok(());
        }
        let name = format!("live keys of subset {subset}");
        Err(Error::parameter(&name, format!("all {live}; give the others too, or forget the subset"), given))
    }

    /// Puts what a subset was rebuilt from in the place of its old filters.
    fn swap(&mut self, subset: u64) {
        let Some(rebuilt) = self.rebuilt.remove(&subset) else { return };
        for &(group, lane) in &rebuilt {
            self.groups[group].lanes[lane] = Lane::Answers { subset, stale: 0 };
        }
        let old = self.places.insert(subset, rebuilt);
        old.into_iter().flatten().for_each(|place| self.free(place));
    }

    /// Swaps all subsets that are being rebuilt; queued ones without a live key are dropped. Gives the subsets.
    fn swap_all(&mut self) -> Result<Vec<u64>> {
        self.rebuilt.iter().try_for_each(|(&subset, rebuilt)| self.check_complete(subset, self.live(rebuilt)))?;
        let swapped: Vec<u64> = self.rebuilt.keys().copied().collect();
        let is_empty = |places: &Vec<Place>| self.is_queued(places) && self.live(places) == 0;
        let empty = self.places.iter().filter(|(subset, places)| is_empty(places) && !swapped.contains(subset));
        let empty: Vec<u64> = empty.map(|(&subset, _)| subset).collect();
        swapped.iter().for_each(|&subset| self.swap(subset));
        empty.iter().for_each(|&subset| {
            self.forget(subset);
        });
        let mut done = [swapped, empty].concat();
        done.sort_unstable();
        Ok(done)
    }

    /// The rates of filters with these shapes and numbers of keys, subset by subset, and of all together.
    fn rates<'a>(subsets: impl Iterator<Item = Vec<(&'a Shape, u64)>>) -> Rates {
        let rate = |(shape, items): &(&Shape, u64)| standard::expected_rate(shape.bits, *items, shape.hashes);
        let of_subset = |filters: Vec<_>| bank::any_spurious(&filters.iter().map(rate).collect::<Vec<_>>());
        let rates: Vec<f64> = subsets.map(of_subset).collect();
        Rates {
            false_positive: Some(bank::any_spurious(&rates)),
            spurious_sets: Some(bank::expected_spurious(&rates)),
            ..Rates::default()
        }
    }

    /// How many keys were put in each subset, whether removed since or not.
    fn totals(&self) -> Vec<u64> {
        let total =
            |places: &Vec<Place>| places.iter().fold(0u64, |sum, &place| sum.saturating_add(self.items_at(place)));
        self.places.values().map(total).collect()
    }
}

impl Mechanism for Lanes {
    const FACTS: Facts = Facts {
        id: "dba",
        number: 103,
        aliases: &["dynamic Bloom filter array", "Bloom filter array"],
        family: "dynamic",
        text: Text::new(include_str!("dba.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::SpuriousSet, ErrorClass::Lingering],
        note: NoteType::Group,
        parameters: &[],
    };

    const OWN_ITEMS: bool = true;

    const SPECIALS: &'static [Special<Dba>] = methods::SPECIALS;

    type Settings = DbaSettings;

    fn resolve(asked: &DbaSettings) -> Result<DbaSettings> {
        let design = Design::new(asked)?;
        design.shapes.of(0)?;
        Ok(design.settings(asked))
    }

    fn plan(settings: &DbaSettings) -> Result<Plan> {
        let design = Design::new(settings)?;
        let shape = design.shapes.of(0)?;
        let bits = BitMatrix::needed_bits(design.width, shape.bits, Orientation::ByPosition)?;
        let fpr = settings.items.and_then(|items| Self::rates([vec![(&shape, items)]].into_iter()).false_positive);
        Ok(Plan { bits, hashes: shape.hashes, items: settings.items, fpr })
    }

    fn empty(settings: &DbaSettings, _: &Hashing) -> Result<Self> {
        let mut lanes = Lanes::of(Design::new(settings)?, Vec::new());
        lanes.open_group()?;
        Ok(lanes)
    }

    /// The shape of the first group: those of the others follow from the settings.
    fn domain(settings: &DbaSettings) -> String {
        let shape = Design::new(settings).and_then(|design| design.shapes.of(0)).ok();
        format!("dba {} {}", shape.map_or(0, |shape| shape.bits), shape.map_or(0, |shape| shape.hashes))
    }

    fn items(&self, _: u64) -> u64 {
        self.places.values().fold(0, |sum, places| sum.saturating_add(self.live(places)))
    }

    fn stats(&self, items: u64) -> Stats {
        let (mut bits, mut cells, mut ones, mut honest, mut rates) = (0, 0.0, 0, 0.0, Vec::new());
        for rank in &self.groups {
            let used = rank.chain.components().used();
            bits += rank.chain.components().bits();
            let (_, most) = rank.chain.components().fill(&used, rank.chain.counts());
            let all = rank.shape.bits as f64 * used.len() as f64;
            cells += all;
            honest += most * all;
            ones += used.iter().sum::<u64>();
            rates.extend(rank.answering().map(|(lane, ..)| rank.shape.rate_of_used(&used[lane..=lane])));
        }
        Stats {
            items,
            bits,
            hashes: self.groups.last().map_or(0, |rank| rank.shape.hashes),
            fill: Some(ones as f64 / cells),
            fpr: Some(bank::any_spurious(&rates)),
            honest_fill: Some(honest / cells),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let stale = |places: &Vec<Place>| places.iter().map(|&place| self.stale_at(place)).fold(0, u64::saturating_add);
        let count = |name, count: u64| Figure { name, value: Setting::Count(count) };
        vec![
            count("groups", self.groups.len() as u64),
            count("filters", self.places.values().map(|places| places.len() as u64).sum()),
            count("subsets", self.places.len() as u64),
            count("removed keys", self.places.values().map(stale).fold(0, u64::saturating_add)),
            count("subsets to rebuild", self.places.values().filter(|places| self.is_queued(places)).count() as u64),
            count("subsets being rebuilt", self.rebuilt.len() as u64),
        ]
    }

    /// With another number of keys than were put in, each subset has its share of them, in filters that are full but for its last.
    fn expected(&self, items: u64) -> Rates {
        let totals = self.totals();
        let sum = totals.iter().fold(0u64, |sum, &total| sum.saturating_add(total));
        if items == sum {
            let filter = |&(group, lane): &Place| (&self.groups[group].shape, self.items_at((group, lane)));
            return Self::rates(self.places.values().map(|places| places.iter().map(filter).collect()));
        }
        let shares: Vec<u64> = match sum {
            0 => vec![items],
            _ => totals.iter().map(|&total| (items as f64 * (total as f64 / sum as f64)).round() as u64).collect(),
        };
        let shapes: Vec<Shape> = self.design.shapes.all().collect();
        let (capacity, width) = (self.design.shapes.capacity, self.design.width);
        let mut opened = 0;
        Self::rates(shares.into_iter().map(|share| {
            let mut filters = Vec::new();
            let mut left = share;
            while left > 0
                && let Some(shape) = shapes.get((opened / width) as usize)
            {
                filters.push((shape, left.min(capacity)));
                left -= left.min(capacity);
                opened += 1;
            }
            filters
        }))
    }

    /// State: the number of groups (4 bytes); of each the filters in use (1), and of each of them its lane (1), 1 if it answers or 2 if
    /// it is being rebuilt (1), its subset (8), keys (8) and removed keys (8). Stores: the groups, each in slices of bits.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u32(self.groups.len() as u32);
        for rank in &self.groups {
            let used = rank.lanes.iter().filter(|lane| **lane != Lane::Free).count();
            state.u8(used as u8);
            for (index, (lane, &items)) in rank.lanes.iter().zip(rank.chain.counts()).enumerate() {
                let (sort, subset, stale) = match *lane {
                    Lane::Free => continue,
                    Lane::Answers { subset, stale } => (1, subset, stale),
                    Lane::Rebuilds { subset } => (2, subset, 0),
                };
                state.u8(index as u8);
                state.u8(sort);
                [subset, items, stale].into_iter().for_each(|number| state.u64(number));
            }
        }
        self.groups.iter().for_each(|rank| rank.chain.components().encode(encoder));
    }

    fn decode(settings: &DbaSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let design = Design::new(settings)?;
        let (count, stores) = (decoder.state().u32()? as usize, decoder.stores_left());
        if count == 0 || count != stores {
            return Err(Error::corrupt(
                "number of groups",
                format!("at least 1, as many as the {stores} stores"),
                count,
            ));
        }
        let tables = (0..count).map(|_| design.decode_lanes(decoder)).collect::<Result<Vec<_>>>()?;
        let mut groups = Vec::new();
        for (group, (items, lanes)) in (0..).zip(tables) {
            let shape = design.shapes.of(group)?;
            let cells = Cells::decode_next(decoder, design.width as usize, shape, SLICES)?;
            if decoder.reads_stores() {
                let used = cells.used();
                let dirty = lanes.iter().zip(used).position(|(lane, used)| *lane == Lane::Free && used > 0);
                if let Some(lane) = dirty {
                    return Err(Error::corrupt(
                        "a filter that is not in use",
                        "no bits",
                        format!("some in lane {lane}"),
                    ));
                }
            }
            groups.push(Rank::of(shape, cells, items, lanes)?);
        }
        let lanes = Lanes::of(design, groups);
        match lanes.rebuilt.keys().find(|subset| !lanes.places.contains_key(subset)) {
            Some(subset) => Err(Error::corrupt("subset that is being rebuilt", "one that has a filter", subset)),
            None => Ok((lanes, 0)),
        }
    }

    fn reach(&self) -> u64 {
        self.groups.iter().map(|rank| rank.chain.components().bits()).sum()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.groups.iter().for_each(|rank| rank.chain.prefetch(&rank.probe(digest)));
    }
}

impl Test for Lanes {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        let mut found = false;
        for rank in &self.groups {
            rank.subsets(key.digest, |_| {
                found = true;
                false
            });
            if found {
                break;
            }
        }
        found
    }
}

impl Sort for Lanes {
    fn sort(&self, key: Hashed<'_>) -> Vec<u64> {
        let mut subsets = Vec::new();
        for rank in &self.groups {
            rank.subsets(key.digest, |subset| {
                subsets.push(subset);
                true
            });
        }
        subsets.sort_unstable();
        subsets.dedup();
        subsets
    }
}

impl Put for Lanes {
    type Note<'a> = Group;
    type Outcome = Result<bool>;

    /// A subset that is being rebuilt gets the key in what it is rebuilt from, too; where there is no room, that is forgotten.
    fn put(&mut self, key: Hashed<'_>, Group(subset): Group) -> Result<bool> {
        let fresh = !self.holds_in(subset, key.digest);
        let place = self.room(subset, false)?;
        self.add(place, key.digest);
        if self.rebuilt.contains_key(&subset) {
            match self.room(subset, true) {
                Ok(place) => self.add(place, key.digest),
                Err(_) => self.abandon(subset),
            }
        }
        Ok(fresh)
    }
}

impl Take for Lanes {
    type Note<'a> = Group;

    /// Counts a key that leaves: its bits stay until the subset is rebuilt. What it is being rebuilt from may hold the key, so
    /// that is forgotten.
    fn take(&mut self, key: Hashed<'_>, Group(subset): Group) -> Result<()> {
        let places = self.places.get(&subset).map_or(&[][..], Vec::as_slice);
        let matching = places.iter().copied().filter(|&place| self.holds(place, key.digest));
        let has_live = |place: &Place| self.items_at(*place) > self.stale_at(*place);
        let mut matching = matching.peekable();
        if matching.peek().is_none() {
            return Err(Error::NotPresent);
        }
        // A removal that another filter was charged with leaves the right one a key short.
        let charged = matching.find(has_live).or_else(|| places.iter().copied().find(has_live));
        let Some((group, lane)) = charged else { return Err(Error::NotPresent) };
        if let Lane::Answers { stale, .. } = &mut self.groups[group].lanes[lane] {
            *stale += 1;
        }
        self.abandon(subset);
        Ok(())
    }
}

impl Expand for Lanes {
    fn capacity(&self) -> u64 {
        self.design.shapes.capacity.saturating_mul(self.design.width).saturating_mul(self.groups.len() as u64)
    }

    /// Adds a group.
    fn expand(&mut self) -> Result<()> {
        self.open_group().map(drop)
    }
}

impl Code for Lanes {
    fn entropy_bits(&self) -> f64 {
        self.groups.iter().map(|rank| rank.chain.components().entropy_bits()).sum()
    }
}

#[cfg(test)]
mod tests;
