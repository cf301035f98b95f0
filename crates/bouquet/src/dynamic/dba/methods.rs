//! What dynamic Bloom filter arrays have beside the verbs of the shell.

use super::{Dba, DbaSettings};
use crate::error::{Error, Result};
use crate::key::Key;
use crate::kind::{Reply, Special, Takes};
use crate::shell::{Filter, Group};

pub(super) const SPECIALS: &[Special<Dba>] = &[
    Special::ask("words", Takes::Key, "the words that a query of the key reads", |array, key| {
        Ok(array.words_read(key.key()?).into())
    }),
    Special::ask(
        "subsets",
        Takes::Nothing,
        "of every subset its filters, its keys and those removed of them",
        |array, _| {
            let row =
                |of: Subset| -> Vec<Reply> { [of.subset, of.filters, of.keys, of.removed].map(Reply::from).into() };
            let rows = array.subsets().into_iter().map(row).collect();
            Ok(Reply::Table(&["subset", "filters", "keys", "removed"], rows))
        },
    ),
    Special::ask("queue", Takes::Nothing, "the subsets that are to be rebuilt", |array, _| Ok(array.queue().into())),
    Special::act("live", Takes::Item, "takes a live key for rebuilding its subset: KEY TAB SUBSET", |array, item| {
        let item = item.item()?;
        array.take_live(item.key, item.group()?).map(|()| Reply::Done)
    }),
    Special::act(
        "maintain",
        Takes::Nothing,
        "puts the filters made of the keys given by live in the place of the subsets' old ones and tells the subsets",
        |array, _| Ok(array.mechanism.swap_all()?.into()),
    ),
    Special::act("forget", Takes::Number, "drops a subset with all of its keys", |array, subset| {
        array.forget(subset.number()?).map(|()| Reply::Done)
    }),
];

/// What an array knows of a subset.
///
/// ```
/// use bouquet::Dba;
/// let mut index = Dba::with_rate(2, 0.001)?;
/// ["rose", "lily", "iris"].map(|key| index.insert(key, 7).is_ok());
/// index.remove("lily", 7)?;
/// let [of] = index.subsets()[..] else { panic!("one subset") };
/// assert_eq!((of.subset, of.filters, of.keys, of.removed), (7, 2, 3, 1));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subset {
    /// Its number.
    pub subset: u64,
    /// Its filters.
    pub filters: u64,
    /// The keys that were put in since they were built.
    pub keys: u64,
    /// Those of them that were removed.
    pub removed: u64,
}

impl Dba {
    /// An array of filters of `bits` bits and `hashes` positions that hold `capacity` keys each, 64 in a group; all groups are alike.
    ///
    /// ```
    /// use bouquet::Dba;
    /// let index = Dba::with_size(1280, 7, 133)?;
    /// assert_eq!((index.capacity(), index.stats().bits), (64 * 133, 64 * 1280));
    /// assert!(Dba::with_size(0, 7, 133).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32, capacity: u64) -> Result<Self> {
        let (items, bits, hashes) = (Some(capacity), Some(bits), Some(hashes));
        Self::with(DbaSettings { items, bits, hashes, ..DbaSettings::default() })
    }

    /// Puts a key into a subset, which any number names, and says whether it was certainly new there.
    ///
    /// ```
    /// use bouquet::Dba;
    /// let mut index = Dba::with_rate(1_000, 0.01)?;
    /// assert!(index.insert("rose", 1)? && index.insert("rose", 2)? && !index.insert("rose", 1)?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, subset: u64) -> Result<bool> {
        self.insert_with(key, Group(subset))
    }

    /// Counts a key as removed from a subset. It seems present until the subset is rebuilt, by [`maintain`](Self::maintain).
    ///
    /// ```
    /// use bouquet::{Dba, Error};
    /// let mut index = Dba::with_rate(1_000, 0.001)?;
    /// index.insert("rose", 1)?;
    /// index.remove("rose", 1)?;
    /// assert_eq!((index.items(), index.classify("rose")), (0, vec![1]));
    /// assert!(matches!(index.remove("iris", 1), Err(Error::NotPresent)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, subset: u64) -> Result<()> {
        self.remove_with(key, Group(subset))
    }

    /// The subsets, ascending.
    #[must_use]
    pub fn subsets(&self) -> Vec<Subset> {
        let of = |(&subset, places): (&u64, &Vec<_>)| Subset {
            subset,
            filters: places.len() as u64,
            keys: places.iter().map(|&place| self.mechanism.items_at(place)).sum(),
            removed: places.iter().map(|&place| self.mechanism.stale_at(place)).sum(),
        };
        self.mechanism.places.iter().map(of).collect()
    }

    /// The subsets of which a filter has more removed keys than the setting `stale` allows: [`maintain`](Self::maintain) them when
    /// there is time.
    ///
    /// ```
    /// use bouquet::Dba;
    /// let mut index = Dba::with_rate(10, 0.001)?;
    /// (0..10u32).for_each(|key| _ = index.insert(&key, 3));
    /// index.remove(&0u32, 3)?;
    /// assert!(index.queue().is_empty(), "a tenth");
    /// index.remove(&1u32, 3)?;
    /// assert_eq!(index.queue(), [3]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn queue(&self) -> Vec<u64> {
        let lanes = &self.mechanism;
        lanes.places.iter().filter(|(_, places)| lanes.is_queued(places)).map(|(&subset, _)| subset).collect()
    }

    /// Rebuilds a subset from its live keys, which the caller's exact index knows, in spare lanes that then take the place of the
    /// old ones. Refuses fewer keys than are left in it, which would lose some.
    ///
    /// ```
    /// use bouquet::Dba;
    /// let mut index = Dba::with_rate(1_000, 0.001)?;
    /// ["rose", "lily"].map(|key| index.insert(key, 1).is_ok());
    /// index.remove("lily", 1)?;
    /// assert!(index.maintain(1, [] as [&str; 0]).is_err(), "where is the rose?");
    /// index.maintain(1, ["rose"])?;
    /// assert!(index.contains("rose") && !index.contains("lily"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn maintain<K: Key>(&mut self, subset: u64, live: impl IntoIterator<Item = K>) -> Result<()> {
        let Filter { mechanism: lanes, hashing, .. } = self;
        if !lanes.places.contains_key(&subset) {
            return Err(Error::NotPresent);
        }
        lanes.abandon(subset);
        let groups = lanes.groups.len();
        let mut live = live.into_iter();
        let given = live.try_fold(0, |given, key| lanes.take_live(key.digest(hashing), subset).map(|()| given + 1));
        let complete = given.and_then(|given| lanes.check_complete(subset, given).map(|()| given));
        match complete {
            Ok(0) => _ = lanes.forget(subset),
            Ok(_) => lanes.swap(subset),
            Err(error) => {
                lanes.abandon(subset);
                lanes.groups.truncate(groups);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes a live key for rebuilding its subset, one of many; [`maintain`](Self::maintain) does all at once.
    pub(super) fn take_live(&mut self, key: &[u8], subset: u64) -> Result<()> {
        self.mechanism.take_live(key.digest(&self.hashing), subset)
    }

    /// Drops a subset with all of its keys.
    ///
    /// ```
    /// use bouquet::Dba;
    /// let mut index = Dba::with_rate(1_000, 0.001)?;
    /// index.insert("rose", 1)?;
    /// index.forget(1)?;
    /// assert!(!index.contains("rose") && index.forget(1).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn forget(&mut self, subset: u64) -> Result<()> {
        if self.mechanism.forget(subset) { Ok(()) } else { Err(Error::NotPresent) }
    }

    /// The words that a query of the key reads: at most k for each group, fewer where none of its filters is left earlier.
    ///
    /// ```
    /// use bouquet::Dba;
    /// let mut index = Dba::with_size(1280, 7, 133)?;
    /// index.insert("rose", 1)?;
    /// assert_eq!((index.words_read("rose"), index.words_read("thistle")), (7, 1));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn words_read<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let digest = key.digest(&self.hashing);
        self.mechanism.groups.iter().map(|rank| rank.chain.components().words_read(&rank.probe(digest))).sum()
    }
}
