//! The engine of the family: a chain of component filters that share one digest per key.
//!
//! Four choices make a kind of it:
//!
//! | choice | who makes it |
//! |---|---|
//! | how a new component is sized | the kind, which makes the component that it [appends](Chain::append) |
//! | which component an insertion goes to | the kind, by the index that it gives to [`Chain::add`] |
//! | what a component is | the [`Component`] |
//! | how the components lie in memory | this file: one behind the other; [`Chain::matching`] hides it |

use crate::codec::MAX_SECTIONS;
use crate::error::{Error, Result};
use crate::hash::Digest;

/// A filter in a chain. It derives its positions from the key's digest.
pub(crate) trait Component: Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// Whether every cell of the key is in use.
    fn matches(&self, digest: Digest) -> bool;

    /// Uses the cells of the key.
    fn add(&mut self, digest: Digest);

    /// Whether a component that holds `items` keys takes another.
    fn has_room(&self, items: u64) -> bool;

    /// How many keys a component that holds `items` keys holds when it is full.
    fn capacity(&self, items: u64) -> u64;

    /// Asks the memory for the cells of the key.
    fn prefetch(&self, digest: Digest);
}

/// A component and the number of keys that were put in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link<C> {
    pub(crate) component: C,
    pub(crate) items: u64,
}

/// Components from the oldest to the newest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chain<C> {
    links: Vec<Link<C>>,
}

impl<C: Component> Chain<C> {
    /// A chain of one empty component.
    pub(crate) fn new(first: C) -> Self {
        Chain { links: vec![Link { component: first, items: 0 }] }
    }

    /// A chain of these links, or `None` when there are none.
    pub(crate) fn from_links(links: Vec<Link<C>>) -> Option<Self> {
        (!links.is_empty()).then_some(Chain { links })
    }

    /// The links, oldest first.
    pub(crate) fn links(&self) -> &[Link<C>] {
        &self.links
    }

    /// The keys of all components.
    pub(crate) fn items(&self) -> u64 {
        self.links.iter().fold(0, |sum, link| sum.saturating_add(link.items))
    }

    /// The keys that the components hold when all are full.
    pub(crate) fn capacity(&self) -> u64 {
        self.links.iter().fold(0, |sum, link| sum.saturating_add(link.component.capacity(link.items)))
    }

    /// Which components match the key, newest first.
    #[inline]
    pub(crate) fn matching(&self, digest: Digest) -> impl Iterator<Item = usize> + '_ {
        let newest_first = self.links.iter().enumerate().rev();
        newest_first.filter(move |(_, link)| link.component.matches(digest)).map(|(index, _)| index)
    }

    /// Whether any component matches the key.
    #[inline]
    pub(crate) fn contains(&self, digest: Digest) -> bool {
        self.matching(digest).next().is_some()
    }

    /// Asks the memory for the key's cells in the newest component, which is the largest and is looked at first.
    #[inline]
    pub(crate) fn prefetch(&self, digest: Digest) {
        if let Some(newest) = self.links.last() {
            newest.component.prefetch(digest);
        }
    }

    /// The newest component that takes another key.
    #[inline]
    pub(crate) fn newest_with_room(&self) -> Option<usize> {
        self.links.iter().rposition(|link| link.component.has_room(link.items))
    }

    /// Appends an empty component and gives its index.
    pub(crate) fn append(&mut self, component: C) -> Result<usize> {
        self.check_len(1)?;
        self.links.push(Link { component, items: 0 });
        Ok(self.links.len() - 1)
    }

    /// Puts a key in the component at this index.
    #[inline]
    pub(crate) fn add(&mut self, index: usize, digest: Digest) {
        if let Some(link) = self.links.get_mut(index) {
            link.component.add(digest);
            link.items += 1;
        }
    }

    /// The union with a chain of the same design: the other's components behind the own ones. Empty components say
    /// nothing and equal ones say nothing new, so neither are taken over; a union with itself changes nothing.
    pub(crate) fn concatenate(&mut self, other: &Self) -> Result<()> {
        let used = |link: &&Link<C>| link.items > 0;
        let news: Vec<_> = other.links.iter().filter(used).filter(|link| !self.links.contains(link)).cloned().collect();
        if news.is_empty() {
            return Ok(());
        }
        self.check_len(news.len())?;
        self.links.retain(|link| used(&link));
        self.links.extend(news);
        Ok(())
    }

    /// A frame has one store per component, which bounds their number.
    fn check_len(&self, more: usize) -> Result<()> {
        if self.links.len() + more <= MAX_SECTIONS {
            return Ok(());
        }
        Err(Error::Full {
            what: format!("a chain has at most {MAX_SECTIONS} components"),
            remedy: "build a new filter for more items".into(),
        })
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

    fn digest(key: u64) -> Digest {
        Digest { h1: key, h2: 0 }
    }

    fn chain_of(keys: std::ops::Range<u64>) -> Chain<Pair> {
        let mut chain = Chain::new(Pair(vec![]));
        for key in keys {
            let index = match chain.newest_with_room() {
                Some(index) => index,
                None => chain.append(Pair(vec![])).unwrap(),
            };
            chain.add(index, digest(key));
        }
        chain
    }

    #[test]
    fn matches_come_newest_first() {
        let mut chain = chain_of(0..5);
        chain.add(2, digest(0));
        assert_eq!(chain.matching(digest(0)).collect::<Vec<_>>(), [2, 0]);
        assert_eq!((chain.items(), chain.capacity()), (6, 6));
        assert!(!chain.contains(digest(9)));
    }

    #[test]
    fn a_union_holds_both_and_with_itself_or_nothing_is_itself() {
        let (a, b) = (chain_of(0..3), chain_of(3..6));
        let mut union = a.clone();
        union.concatenate(&b).unwrap();
        assert!((0..6).all(|key| union.contains(digest(key))));
        assert_eq!((union.items(), union.links().len()), (6, 4));

        let mut same = a.clone();
        same.concatenate(&a).unwrap();
        same.concatenate(&chain_of(0..0)).unwrap();
        assert_eq!(same, a);
        let mut fresh = chain_of(0..0);
        fresh.concatenate(&a).unwrap();
        assert_eq!(fresh, a);
    }

    #[test]
    fn the_room_that_a_union_leaves_in_older_components_is_used() {
        let mut union = chain_of(0..3);
        union.concatenate(&chain_of(3..6)).unwrap();
        for (key, index) in [(6, 3), (7, 1)] {
            assert_eq!(union.newest_with_room(), Some(index));
            union.add(index, digest(key));
        }
        assert_eq!(union.newest_with_room(), None);
    }

    #[test]
    fn a_chain_that_no_frame_could_hold_is_refused_and_left_alone() {
        let mut chain = chain_of(0..2 * MAX_SECTIONS as u64);
        let before = chain.clone();
        assert!(matches!(chain.append(Pair(vec![])), Err(Error::Full { .. })));
        assert!(matches!(chain.concatenate(&chain_of(1_000_000..1_000_001)), Err(Error::Full { .. })));
        assert_eq!(chain, before);
    }
}
