//! The engine of the family: a chain of component filters that share one digest per key.
//!
//! Four choices make a kind of it:
//!
//! | choice | who makes it |
//! |---|---|
//! | how a new component is sized | the kind, by the [`Design`](Components::Design) that it [appends](Chain::append) |
//! | which component an insertion goes to | [`Pick`] |
//! | what a component is | the [`Components`]: [`Rows`] of any [`Component`], or [`Cells`](crate::parts::equal_components::Cells) of equal ones |
//! | how the components lie in memory | the [`Components`], too; [`Chain::contains`] and [`Chain::addresses`] hide it |

use crate::codec::MAX_SECTIONS;
use crate::error::{Error, Result, same};
use crate::hash::{Digest, SplitMix, fastrange};

/// The components of a chain without their numbers of keys: what they are and how they lie in memory.
pub(crate) trait Components: Clone + PartialEq + std::fmt::Debug {
    /// What a key is to them: its digest, or its positions where all components have the same.
    type Probe;

    /// What a new component is made from.
    type Design;

    /// How many there are.
    fn len(&self) -> usize;

    /// Visits those in which every cell of the key is in use, until `visit` answers false.
    fn matching(&self, probe: &Self::Probe, visit: impl FnMut(usize) -> bool);

    /// Uses the cells of the key in one of them.
    fn add(&mut self, index: usize, probe: &Self::Probe);

    /// Whether one that holds `items` keys takes another.
    fn has_room(&self, index: usize, items: u64) -> bool;

    /// How many keys one that holds `items` keys holds when it is full.
    fn capacity(&self, index: usize, items: u64) -> u64;

    /// Prefetches the cells of the key that are looked at first.
    fn prefetch(&self, probe: &Self::Probe);

    /// An empty one behind the others.
    fn append(&mut self, design: Self::Design) -> Result<()>;

    /// A copy of another chain's component behind the others.
    fn append_copy(&mut self, other: &Self, index: usize) -> Result<()>;

    /// Whether two say the same about every key.
    fn equal(&self, index: usize, other: &Self, theirs: usize) -> bool;

    /// Takes one out; those behind it move up.
    fn remove(&mut self, index: usize) -> Result<()>;
}

/// Components that can be united, and keys taken out of them.
pub(crate) trait Shrink: Components {
    /// Gives the cells of the key back.
    fn subtract(&mut self, index: usize, probe: &Self::Probe);

    /// Adds the cells of the second to the first and takes the second out. After an error no answer is another.
    fn absorb(&mut self, into: usize, from: usize) -> Result<()>;
}

/// Components that can be emptied, each in its place.
pub(crate) trait Vacate: Components {
    /// Empties one of them.
    fn vacate(&mut self, index: usize);
}

/// Components of which as many others can be joined one by one.
pub(crate) trait Join: Components {
    /// Each with the other's at its place, by OR.
    fn join(&mut self, other: &Self) -> Result<()>;
}

/// A filter in a chain of components that may all differ. It derives its positions from the key's digest.
pub(crate) trait Component: Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// Whether every cell of the key is in use.
    fn matches(&self, digest: Digest) -> bool;

    /// Uses the cells of the key.
    fn add(&mut self, digest: Digest);

    /// Whether a component that holds `items` keys takes another.
    fn has_room(&self, items: u64) -> bool;

    /// How many keys a component that holds `items` keys holds when it is full.
    fn capacity(&self, items: u64) -> u64;

    /// Prefetches the cells of the key.
    fn prefetch(&self, digest: Digest);

    /// Prefetches the cells that tell most absent keys apart: the first two, of which one is free in three of four components
    /// that are half full.
    fn prefetch_first(&self, digest: Digest) {
        self.prefetch(digest);
    }
}

/// Components one behind the other, oldest first; the newest, which is the largest, is looked at first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rows<C>(Vec<C>);

impl<C: Component> Components for Rows<C> {
    type Probe = Digest;
    type Design = C;

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn matching(&self, digest: &Digest, mut visit: impl FnMut(usize) -> bool) {
        for (index, component) in self.0.iter().enumerate().rev() {
            if component.matches(*digest) && !visit(index) {
                return;
            }
        }
    }

    #[inline]
    fn add(&mut self, index: usize, digest: &Digest) {
        if let Some(component) = self.0.get_mut(index) {
            component.add(*digest);
        }
    }

    #[inline]
    fn has_room(&self, index: usize, items: u64) -> bool {
        self.0.get(index).is_some_and(|component| component.has_room(items))
    }

    fn capacity(&self, index: usize, items: u64) -> u64 {
        self.0.get(index).map_or(0, |component| component.capacity(items))
    }

    /// All of the newest, which takes the insertions; of the others what is looked at first.
    #[inline]
    fn prefetch(&self, digest: &Digest) {
        let Some((newest, older)) = self.0.split_last() else { return };
        newest.prefetch(*digest);
        older.iter().for_each(|component| component.prefetch_first(*digest));
    }

    fn append(&mut self, component: C) -> Result<()> {
        self.0.push(component);
        Ok(())
    }

    fn append_copy(&mut self, other: &Self, index: usize) -> Result<()> {
        self.0.extend(other.0.get(index).cloned());
        Ok(())
    }

    fn equal(&self, index: usize, other: &Self, theirs: usize) -> bool {
        self.0.get(index) == other.0.get(theirs)
    }

    fn remove(&mut self, index: usize) -> Result<()> {
        if index < self.0.len() {
            self.0.remove(index);
        }
        Ok(())
    }
}

/// A component of a chain of rows and the number of keys that were put in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link<C> {
    pub(crate) component: C,
    pub(crate) items: u64,
}

/// Which component an insertion goes to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pick {
    /// The newest that has room.
    Newest,
    /// The oldest that has room, so that what removals have emptied is filled before a new one is made.
    First,
    /// The one with the fewest keys, the first of several: each in turn. It always has room.
    Balanced,
    /// Any, by chance. It always has room.
    Random(SplitMix),
    /// One that follows from the key. It always has room.
    Hashed,
}

impl Pick {
    /// The component that a key with this digest goes to; `None` when a new one is needed.
    #[inline]
    pub(crate) fn choose<S: Components>(&mut self, chain: &Chain<S>, digest: Digest) -> Option<usize> {
        let has_room = |index: &usize| chain.components.has_room(*index, chain.items[*index]);
        let count = chain.items.len();
        match self {
            Pick::Newest => (0..count).rev().find(has_room),
            Pick::First => (0..count).find(has_room),
            Pick::Balanced => (0..count).min_by_key(|&index| chain.items[index]),
            Pick::Random(random) => (count > 0).then(|| random.below(count as u64) as usize),
            Pick::Hashed => Some(Self::hashed(count, digest)),
        }
    }

    /// The component, of `count`, in which [`Pick::Hashed`] has put the key.
    #[inline]
    pub(crate) fn hashed(count: usize, digest: Digest) -> usize {
        /// The stream of digests that chooses components, apart from those that choose positions.
        const CHOICE: u64 = 0x636f_6d70_6f6e_656e;
        fastrange(digest.derive(CHOICE).h1, count as u64) as usize
    }
}

/// What a removal found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No component matches.
    Nowhere,
    /// This one alone matches, and the key was taken out of it.
    Once(usize),
    /// Several match: which holds the key cannot be told, and nothing was changed.
    Often,
}

/// Components from the oldest to the newest, each with the number of keys that were put in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chain<S> {
    components: S,
    items: Vec<u64>,
}

impl<S: Components> Chain<S> {
    /// A chain of these components with these numbers of keys; `None` when there are none, or not as many.
    pub(crate) fn with_items(components: S, items: Vec<u64>) -> Option<Self> {
        (!items.is_empty() && items.len() == components.len()).then_some(Chain { components, items })
    }

    /// The components and the keys of each.
    pub(crate) fn into_parts(self) -> (S, Vec<u64>) {
        (self.components, self.items)
    }

    /// The components.
    pub(crate) fn components(&self) -> &S {
        &self.components
    }

    /// The keys of each component.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.items
    }

    /// The keys of all components.
    pub(crate) fn items(&self) -> u64 {
        self.items.iter().fold(0, |sum, &items| sum.saturating_add(items))
    }

    /// The keys that the components hold when all are full.
    pub(crate) fn capacity(&self) -> u64 {
        let capacity = |(index, &items)| self.components.capacity(index, items);
        self.items.iter().enumerate().map(capacity).fold(0, u64::saturating_add)
    }

    /// Whether any component matches the key.
    #[inline]
    pub(crate) fn contains(&self, probe: &S::Probe) -> bool {
        let mut found = false;
        self.components.matching(probe, |_| {
            found = true;
            false
        });
        found
    }

    /// How many components match the key.
    pub(crate) fn addresses(&self, probe: &S::Probe) -> usize {
        let mut found = 0;
        self.components.matching(probe, |_| {
            found += 1;
            true
        });
        found
    }

    /// Prefetches the key's cells that are looked at first.
    #[inline]
    pub(crate) fn prefetch(&self, probe: &S::Probe) {
        self.components.prefetch(probe);
    }

    /// Appends an empty component and gives its index.
    pub(crate) fn append(&mut self, design: S::Design) -> Result<usize> {
        self.check_len(1)?;
        self.components.append(design)?;
        self.items.push(0);
        Ok(self.items.len() - 1)
    }

    /// Puts a key in the component at this index.
    #[inline]
    pub(crate) fn add(&mut self, index: usize, probe: &S::Probe) {
        if let Some(items) = self.items.get_mut(index) {
            *items = items.saturating_add(1);
            self.components.add(index, probe);
        }
    }

    /// The union with a chain of the same design: the other's components behind the own ones. Empty components say
    /// nothing; of a set (not a multiset) equal ones say nothing new. Neither are taken over, so the union of a set
    /// with itself changes nothing. An error leaves the chain as it was.
    pub(crate) fn concatenate(&mut self, other: &Self, is_set: bool) -> Result<()> {
        let known = |theirs: usize| {
            let equal = |(mine, items): (usize, &u64)| {
                *items == other.items[theirs] && self.components.equal(mine, &other.components, theirs)
            };
            is_set && self.items.iter().enumerate().any(equal)
        };
        let news: Vec<usize> = (0..other.items.len()).filter(|&i| other.items[i] > 0 && !known(i)).collect();
        if news.is_empty() {
            return Ok(());
        }
        self.check_len(news.len())?;
        let mut union = self.clone();
        for index in (0..self.items.len()).rev().filter(|&index| self.items[index] == 0) {
            union.remove(index)?;
        }
        for index in news {
            union.components.append_copy(&other.components, index)?;
            union.items.push(other.items[index]);
        }
        *self = union;
        Ok(())
    }

    fn remove(&mut self, index: usize) -> Result<()> {
        self.components.remove(index)?;
        self.items.remove(index);
        Ok(())
    }

    /// A frame has one store per component, which bounds their number.
    fn check_len(&self, more: usize) -> Result<()> {
        if self.items.len() + more <= MAX_SECTIONS {
            return Ok(());
        }
        Err(Error::Full {
            what: format!("a chain has at most {MAX_SECTIONS} components"),
            remedy: "build a new filter for more items".into(),
        })
    }
}

impl<S: Vacate> Chain<S> {
    /// Empties the component at this index, which keeps its place.
    pub(crate) fn vacate(&mut self, index: usize) {
        if let Some(items) = self.items.get_mut(index) {
            *items = 0;
            self.components.vacate(index);
        }
    }
}

impl<S: Join> Chain<S> {
    /// The union with a chain of as many components, one by one.
    pub(crate) fn join(&mut self, other: &Self) -> Result<()> {
        same("number of components", self.items.len(), other.items.len())?;
        self.components.join(&other.components)?;
        for (mine, theirs) in self.items.iter_mut().zip(&other.items) {
            *mine = mine.saturating_add(*theirs);
        }
        Ok(())
    }
}

impl<S: Shrink> Chain<S> {
    /// Takes a key out of the one component that matches it. The component that holds a present key always matches, so
    /// a single match is the right one.
    pub(crate) fn take_out(&mut self, probe: &S::Probe) -> Found {
        let mut found = Found::Nowhere;
        self.components.matching(probe, |index| {
            found = if found == Found::Nowhere { Found::Once(index) } else { Found::Often };
            found != Found::Often
        });
        if let Found::Once(index) = found {
            self.components.subtract(index, probe);
            self.items[index] = self.items[index].saturating_sub(1);
        }
        found
    }

    /// Unites the first two components whose keys fit in one; gives the index of the one that is dropped.
    ///
    /// After a removal at most one pair fits, for none did before; after a union there may be more.
    pub(crate) fn unite(&mut self) -> Result<Option<usize>> {
        // The two with the fewest keys fit together, or no two do.
        let mut fewest = [u64::MAX; 2];
        for &items in &self.items {
            if items < fewest[1] {
                fewest = [items.min(fewest[0]), items.max(fewest[0])];
            }
        }
        let capacity = |a: usize| self.components.capacity(a, self.items[a]);
        let largest = (0..self.items.len()).map(capacity).max().unwrap_or(0);
        if fewest[0].checked_add(fewest[1]).is_none_or(|both| both > largest) {
            return Ok(None);
        }
        let fits =
            |a: usize, b: usize| self.items[a].checked_add(self.items[b]).is_some_and(|both| both <= capacity(a));
        let active = (0..self.items.len()).filter(|&a| self.components.has_room(a, self.items[a]));
        let mut pairs = active.flat_map(|a| (a + 1..self.items.len()).map(move |b| (a, b)));
        let Some((into, from)) = pairs.find(|&(a, b)| fits(a, b)) else { return Ok(None) };
        self.components.absorb(into, from)?;
        self.items[into] += self.items.remove(from);
        Ok(Some(from))
    }
}

impl<C: Component> Chain<Rows<C>> {
    /// A chain of one empty component.
    pub(crate) fn new(first: C) -> Self {
        Chain { components: Rows(vec![first]), items: vec![0] }
    }

    /// A chain of these links, or `None` when there are none.
    pub(crate) fn from_links(links: Vec<Link<C>>) -> Option<Self> {
        let (components, items) = links.into_iter().map(|link| (link.component, link.items)).unzip();
        Self::with_items(Rows(components), items)
    }

    /// The components, oldest first.
    pub(crate) fn rows(&self) -> &[C] {
        &self.components.0
    }

    /// The components with their numbers of keys, oldest first.
    pub(crate) fn links(&self) -> impl ExactSizeIterator<Item = (&C, u64)> {
        self.components.0.iter().zip(self.items.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Remembers its keys exactly, two at most.
    #[derive(Clone, Debug, PartialEq)]
    struct Pair(Vec<Digest>);

    impl Component for Pair {
        fn matches(&self, digest: Digest) -> bool {
            self.0.contains(&digest)
        }

        fn add(&mut self, digest: Digest) {
            self.0.push(digest);
        }

        fn has_room(&self, items: u64) -> bool {
            items < 2
        }

        fn capacity(&self, _: u64) -> u64 {
            2
        }

        fn prefetch(&self, _: Digest) {}
    }

    fn newest(chain: &Chain<Rows<Pair>>) -> Option<usize> {
        Pick::Newest.choose(chain, digest(0))
    }

    fn matching(chain: &Chain<Rows<Pair>>, key: u64) -> Vec<usize> {
        let mut found = Vec::new();
        chain.components.matching(&digest(key), |index| {
            found.push(index);
            true
        });
        found
    }

    fn digest(key: u64) -> Digest {
        Digest { h1: key, h2: 0 }
    }

    fn chain_of(keys: std::ops::Range<u64>) -> Chain<Rows<Pair>> {
        let mut chain = Chain::new(Pair(vec![]));
        for key in keys {
            let index = match newest(&chain) {
                Some(index) => index,
                None => chain.append(Pair(vec![])).unwrap(),
            };
            chain.add(index, &digest(key));
        }
        chain
    }

    #[test]
    fn matches_come_newest_first() {
        let mut chain = chain_of(0..5);
        chain.add(2, &digest(0));
        assert_eq!(matching(&chain, 0), [2, 0]);
        assert_eq!((chain.items(), chain.capacity()), (6, 6));
        assert!(!chain.contains(&digest(9)));
    }

    #[test]
    fn a_union_holds_both_and_with_itself_or_nothing_is_itself() {
        let (a, b) = (chain_of(0..3), chain_of(3..6));
        let mut union = a.clone();
        union.concatenate(&b, true).unwrap();
        assert!((0..6).all(|key| union.contains(&digest(key))));
        assert_eq!((union.items(), union.links().len()), (6, 4));

        let mut same = a.clone();
        same.concatenate(&a, true).unwrap();
        same.concatenate(&chain_of(0..0), true).unwrap();
        assert_eq!(same, a);
        let mut fresh = chain_of(0..0);
        fresh.concatenate(&a, true).unwrap();
        assert_eq!(fresh, a);
    }

    #[test]
    fn the_room_that_a_union_leaves_in_older_components_is_used() {
        let mut union = chain_of(0..3);
        union.concatenate(&chain_of(3..6), true).unwrap();
        for (key, index) in [(6, 3), (7, 1)] {
            assert_eq!(newest(&union), Some(index));
            union.add(index, &digest(key));
        }
        assert_eq!(newest(&union), None);
    }

    #[test]
    fn a_chain_that_no_frame_could_hold_is_refused_and_left_alone() {
        let mut chain = chain_of(0..2 * MAX_SECTIONS as u64);
        let before = chain.clone();
        assert!(matches!(chain.append(Pair(vec![])), Err(Error::Full { .. })));
        assert!(matches!(chain.concatenate(&chain_of(1_000_000..1_000_001), true), Err(Error::Full { .. })));
        assert_eq!(chain, before);
    }
}
