//! The verbs of the registry, and the same for positions that the caller has chosen.

use super::{Dynamic, Removal};
use crate::capability::{Compress, Contains, Grow, Insert, Item, Merge, Remove};
use crate::error::{Error, Result};
use crate::hash::Positions;
use crate::key::BATCH;

/// The same with positions that the caller has chosen, to repeat experiments with other hash functions (such as
/// `sdbm_mersenne` of the feature `replication`). Positions beyond the shape's bits are never in use.
impl Dynamic {
    /// Inserts a key with these positions.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_size(1280, 3, 133)?;
    /// filter.add_at(&[1, 5, 9].into_iter().collect())?;
    /// assert!(filter.contains_at(&[9, 5, 1].into_iter().collect()));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn add_at(&mut self, positions: &Positions) -> Result<()> {
        self.add_probe(positions, None)
    }

    /// Whether a key with these positions may be in the set.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let filter = Dynamic::with_size(1280, 3, 133)?;
    /// assert!(!filter.contains_at(&[1, 5, 9].into_iter().collect()));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains_at(&self, positions: &Positions) -> bool {
        self.chain.contains(positions)
    }

    /// How many components match a key with these positions.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_size(1280, 3, 1)?;
    /// let positions = [1, 5, 9].into_iter().collect();
    /// [(); 2].map(|()| filter.add_at(&positions).is_ok());
    /// assert_eq!(filter.addresses_at(&positions), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn addresses_at(&self, positions: &Positions) -> usize {
        self.chain.addresses(positions)
    }

    /// Removes one occurrence of a key with these positions: see [`remove`](Self::remove).
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Dynamic, Removal};
    /// let mut filter = Dynamic::with_size(1280, 3, 133)?;
    /// let positions = [1, 5, 9].into_iter().collect();
    /// filter.add_at(&positions)?;
    /// assert_eq!(filter.remove_at(&positions)?, Removal::Removed);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_at(&mut self, positions: &Positions) -> Result<Removal> {
        self.remove_probe(positions)
    }
}

impl Contains for Dynamic {
    fn contains(&self, key: &[u8]) -> bool {
        Dynamic::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            for (answer, digest) in answers.iter_mut().zip(self.digests(keys)).take(keys.len()) {
                *answer = self.chain.contains(&self.probe(digest));
            }
        }
    }
}

impl Insert for Dynamic {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Dynamic::insert(self, item.bare()?)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let mut fresh = 0;
        for items in items.chunks(BATCH) {
            for (item, digest) in items.iter().zip(self.digests(items)) {
                item.bare()?;
                let probe = self.probe(digest);
                fresh += u64::from(self.insert_probe(&probe)?);
            }
        }
        Ok(fresh)
    }
}

/// A key that several components match is [`Error::Ambiguous`], unless its removal may wait.
impl Remove for Dynamic {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        match Dynamic::remove(self, item.bare()?)? {
            Removal::Removed | Removal::Waiting => Ok(()),
            Removal::NotFound => Err(Error::NotPresent),
            Removal::Ambiguous => Err(Error::Ambiguous { what: "several components match the key".into() }),
        }
    }
}

impl Grow for Dynamic {
    fn capacity(&self) -> u64 {
        Dynamic::capacity(self)
    }

    fn grow(&mut self) -> Result<()> {
        Dynamic::grow(self)
    }
}

impl Merge for Dynamic {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Dynamic::merge(self, other)
    }
}

impl Compress for Dynamic {
    fn entropy_bits(&self) -> f64 {
        self.chain.components().entropy_bits()
    }
}
