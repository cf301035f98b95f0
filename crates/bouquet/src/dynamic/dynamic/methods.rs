//! What dynamic filters have beside the verbs of the shell.

use super::{Builder, Dynamic, DynamicSettings, Removal};
use crate::error::Result;
use crate::hash::Positions;
use crate::key::Key;
use crate::theory::dynamic::Shape;

impl Dynamic {
    /// A filter with components of `counters` counters, `hashes` positions per key and `capacity` keys.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// assert!((Dynamic::with_size(1280, 7, 133)?.shape().full_rate() - 0.00985).abs() < 5e-6);
    /// assert!(Dynamic::with_size(1280, 0, 133).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, hashes: u32, capacity: u64) -> Result<Self> {
        Builder::sized(Shape { bits: counters, hashes, capacity })?.build()
    }

    /// The shape of the components, and with it the whole theory of the filter.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let shape = Dynamic::with_size(1280, 7, 133)?.shape();
    /// assert!((shape.rate(1330) - 0.0942).abs() < 5e-5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.mechanism.design.shape
    }

    /// The number of components.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(100, 0.01)?;
    /// (0..101u32).for_each(|key| filter.add(&key).unwrap());
    /// assert_eq!(filter.components(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn components(&self) -> usize {
        self.mechanism.numbers.len()
    }

    /// The keys of each component.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(100, 0.01)?;
    /// (0..130u32).for_each(|key| filter.add(&key).unwrap());
    /// assert_eq!(filter.counts(), [100, 30]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        self.mechanism.chain.counts()
    }

    /// Whether keys can be removed.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Builder, Dynamic};
    /// assert!(Dynamic::with_rate(100, 0.01)?.has_counters());
    /// assert!(!Builder::fixed(100, 0.01)?.bits().build()?.has_counters());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn has_counters(&self) -> bool {
        self.mechanism.design.arrangement.counters
    }

    /// The false-positive rate of this very content, 1 - prod(1 - fill_i^k).
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(1_000, 0.01)?;
    /// (0..2_000u32).for_each(|key| filter.add(&key).unwrap());
    /// assert!((filter.rate_now() - 0.0199).abs() < 0.002);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rate_now(&self) -> f64 {
        self.shape().rate_of_used(&self.mechanism.chain.components().used())
    }

    #[inline]
    fn probe_of<K: Key + ?Sized>(&self, key: &K) -> Positions {
        self.mechanism.probe(key.digest(&self.hashing))
    }

    /// Inserts a key in k accesses, without asking whether it is new. (Improved insertion has to ask.)
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(100, 0.01)?;
    /// filter.add("rose")?;
    /// assert!(filter.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn add<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let probe = self.probe_of(key);
        self.mechanism.add(&probe, None)
    }

    /// Whether the next insertion would pass `gamma`, so that the set has to be represented anew.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Builder;
    /// let mut filter = Builder::unbounded(100, 0.01, 0.03)?.build()?;
    /// let mut keys = 0..10_000u32;
    /// while !filter.needs_rebuild() {
    ///     filter.add(&keys.next().unwrap())?;
    /// }
    /// assert!(keys.start > 300 && filter.add("rose").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn needs_rebuild(&self) -> bool {
        self.mechanism.check_gamma(self.mechanism.first_with_room()).is_err()
    }

    /// A filter with the same settings and these keys in larger components, each for twice the keys that are in now: the
    /// way on when [`needs_rebuild`](Self::needs_rebuild) says so. A filter does not know its keys, so they must be given.
    /// On several nodes all take the settings of the new one.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(100, 0.01)?;
    /// (0..1_000u32).for_each(|key| filter.add(&key).unwrap());
    /// let rebuilt = filter.rebuild(0..1_000u32)?;
    /// assert_eq!((rebuilt.components(), rebuilt.shape().capacity), (1, 2_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn rebuild<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        let settings = DynamicSettings {
            items: Some(self.mechanism.rebuilt_items()),
            bits: None,
            hashes: None,
            capacity: None,
            distribution: None,
            ..self.settings()
        };
        let mut rebuilt = Self::hashed(settings, self.hashing.clone())?;
        for key in keys {
            rebuilt.add(&key)?;
        }
        Ok(rebuilt)
    }

    /// How many components match the key. A present key with more than one address cannot be removed.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_size(1280, 7, 133)?;
    /// (0..1_330u32).for_each(|key| filter.add(&key).unwrap());
    /// let several = (0..1_330u32).filter(|key| filter.addresses(key) > 1).count();
    /// assert!((60..170).contains(&several), "{several}: about {}", filter.shape().undeletable(1_330));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn addresses<K: Key + ?Sized>(&self, key: &K) -> usize {
        self.mechanism.chain.addresses(&self.probe_of(key))
    }

    /// Removals that wait, in terms of the keys that are in: when too many are stuck, the set is better
    /// [represented anew](Self::rebuild). Without the setting `retry` none waits; then
    /// [`ambiguous_removals`](Self::ambiguous_removals) counts them, and [`Shape::undeletable`] tells how many to expect.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Builder, Removal};
    /// let mut filter = Builder::fixed(1, 0.01)?.retry(5).build()?;
    /// ["rose", "rose"].map(|key| filter.add(key).is_ok()); // one in each of two components
    /// assert_eq!(filter.take_out("rose")?, Removal::Waiting);
    /// assert_eq!(filter.stuck_share(), 1.0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn stuck_share(&self) -> f64 {
        let waiting = self.mechanism.waiting.len() as f64;
        if waiting == 0.0 { 0.0 } else { waiting / (self.items() as f64).max(1.0) }
    }

    /// Removals that were refused because several components matched their key. A key that was refused twice counts twice.
    ///
    /// ```
    /// use bouquet::{Error, dynamic::dynamic::Dynamic};
    /// let mut filter = Dynamic::with_rate(1, 0.01)?;
    /// ["rose", "rose"].map(|key| filter.add(key).is_ok()); // one in each of two components
    /// assert!(matches!(filter.remove("rose"), Err(Error::Ambiguous { .. })));
    /// assert_eq!(Dynamic::from_bytes(&filter.to_bytes())?.ambiguous_removals(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn ambiguous_removals(&self) -> u64 {
        self.mechanism.ambiguous
    }

    /// Removes one occurrence of a key, if it can be told which component holds it: as [`remove`](Self::remove) does, but
    /// says what became of it. Bits cannot give keys back: that is an error.
    ///
    /// **Remove only what was inserted.** An absent key that matches exactly one component cannot be told from a present
    /// one: removing it takes counters from other keys, and each of those may then seem absent.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Dynamic, Removal};
    /// let mut filter = Dynamic::with_rate(1, 0.01)?;
    /// ["rose", "rose", "lily"].map(|key| filter.add(key).is_ok()); // each in a component of its own
    /// assert_eq!(filter.take_out("lily")?, Removal::Removed);
    /// assert_eq!(filter.take_out("rose")?, Removal::Ambiguous);
    /// assert_eq!(filter.take_out("iris")?, Removal::NotFound);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn take_out<K: Key + ?Sized>(&mut self, key: &K) -> Result<Removal> {
        let probe = self.probe_of(key);
        self.mechanism.remove(&probe)
    }
}

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
        self.mechanism.add(positions, None)
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
        self.mechanism.chain.contains(positions)
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
        self.mechanism.chain.addresses(positions)
    }

    /// Removes one occurrence of a key with these positions: see [`take_out`](Self::take_out).
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
        self.mechanism.remove(positions)
    }
}
