#![doc = include_str!("dynamic.md")]

use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, Positions};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{Config, Kind, Setting, kind};
use crate::parts::chain::{Chain, Found, Pick};
use crate::parts::equal_components::{Cells, positions};
use crate::simd::CACHED_BITS;
use crate::theory::dynamic::{Shape, chain_limit};

mod builder;
mod delta;
mod settings;
mod structure;
mod verbs;

pub use builder::Builder;
pub use delta::{Image, Publisher, Replica};
use settings::Design;
pub(crate) use settings::MOST_COMPONENTS;

/// The registry's row.
pub const KIND: Kind = kind!(Dynamic);

/// What became of a removal.
///
/// ```
/// use bouquet::dynamic::dynamic::{Dynamic, Removal};
/// let mut filter = Dynamic::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// assert_eq!([filter.remove("rose")?, filter.remove("rose")?], [Removal::Removed, Removal::NotFound]);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// One occurrence is out.
    Removed,
    /// The key is certainly absent.
    NotFound,
    /// Several components match; nothing was changed.
    Ambiguous,
    /// Several components match; the removal waits until one of them alone does (with the setting `retry`).
    Waiting,
}

/// Which keys an insertion puts in.
///
/// ```
/// use bouquet::dynamic::dynamic::{Builder, Insertion};
/// let mut filter = Builder::fixed(1_000, 0.01)?.bits().insertion(Insertion::Improved).build()?;
/// ["rose", "rose"].map(|key| filter.add(key).is_ok());
/// assert_eq!(filter.items(), 1);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// Those that seem absent once so many keys have several addresses that they would fill a component
    /// ([`Shape::improved_ratio`]); before, and always with counters, every key.
    Auto,
    /// Every key.
    Plain,
    /// Those that seem absent. Not with counters: a key that was skipped would vanish with those that hid it.
    Improved,
}

impl Insertion {
    const NAMES: [&str; 3] = ["auto", "plain", "improved"];

    fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    fn of(name: &str) -> Self {
        [Insertion::Plain, Insertion::Improved].into_iter().find(|own| own.name() == name).unwrap_or(Insertion::Auto)
    }
}

/// A dynamic Bloom filter.
///
/// ```
/// use bouquet::dynamic::dynamic::{Dynamic, Removal};
/// let mut filter = Dynamic::with_rate(100, 0.001)?;
/// for key in 0..1_000u32 {
///     filter.insert(&key)?;
/// }
/// assert_eq!(filter.components(), 10);
/// assert_eq!(filter.remove(&77u32)?, Removal::Removed);
/// assert!((0..1_000u32).filter(|key| filter.contains(key)).count() >= 999);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamic {
    /// The settings, with the shape that followed from them.
    config: Config,
    design: Design,
    hashing: Hashing,
    chain: Chain<Cells>,
    /// A number for each component that it keeps for life, ascending: how nodes tell them apart.
    numbers: Vec<u64>,
    /// The number of the next component.
    next_number: u64,
    /// Removals that several components matched.
    waiting: Vec<Positions>,
    /// The keys from which on only those are inserted that seem absent.
    improved_from: u64,
    /// The components that keep to `gamma` even if all are full.
    within_gamma: u64,
}

impl Dynamic {
    /// A filter with counters whose components hold `items` keys each at the rate `fpr`. With the first of them alone it
    /// is a counting filter; every further one adds its rate.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let filter = Dynamic::with_rate(1_000, 0.01)?;
    /// assert_eq!((filter.shape().bits, filter.shape().hashes, filter.shape().capacity), (9593, 7, 1000));
    /// assert!(Dynamic::with_rate(1_000, 1.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?)
    }

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

    /// An empty filter of the settings in `config`, which must be for this kind. [`Builder`] makes such settings.
    ///
    /// ```
    /// use bouquet::{dynamic::dynamic::{Dynamic, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1330")?.set("fpr", "0.0098")?.set("distribution", "uniform")?;
    /// assert_eq!(Dynamic::from_config(&config)?.shape().bits, 2959);
    /// assert!(Dynamic::from_config(&config.set("insertion", "improved")?).is_err(), "not with counters");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let design = Design::new(config)?;
        let cells = Cells::zeroed(1, design.shape, design.arrangement)?;
        Self::with_parts(config, design, cells, vec![0], vec![0], 1)
    }

    fn with_parts(
        config: &Config,
        design: Design,
        cells: Cells,
        items: Vec<u64>,
        numbers: Vec<u64>,
        next_number: u64,
    ) -> Result<Self> {
        let Shape { bits, hashes, .. } = design.shape;
        let hashing = config.hashing().clone().bind(&format!("dynamic {bits} {hashes}"));
        let chain = Chain::with_items(cells, items).ok_or_else(|| {
            Error::corrupt("number of components", "at least 1, each with its number of keys", "another")
        })?;
        let improved_from = match design.insertion {
            _ if design.arrangement.counters => u64::MAX,
            Insertion::Auto => design.shape.improved_from(),
            Insertion::Plain => u64::MAX,
            Insertion::Improved => 0,
        };
        let within_gamma = design.gamma.map_or(u64::MAX, |gamma| chain_limit(design.shape.full_rate(), gamma));
        // How it hashes is kept once.
        let config = design.effective(config).hashed(Hashing::default());
        Ok(Dynamic {
            config,
            design,
            hashing,
            chain,
            numbers,
            next_number,
            waiting: Vec::new(),
            improved_from,
            within_gamma,
        })
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
        self.design.shape
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
        self.chain.counts().len()
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
        self.chain.counts()
    }

    /// Insertions less removals, those that wait included: keys that are counted as removed may still be in.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(100, 0.01)?;
    /// ["rose", "rose", "lily"].map(|key| filter.add(key).is_ok());
    /// filter.remove("lily")?;
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.chain.items().saturating_sub(self.waiting.len() as u64)
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
        self.design.arrangement.counters
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
        self.design.shape.rate_of_used(&self.chain.components().used())
    }

    #[inline]
    fn probe(&self, digest: Digest) -> Positions {
        positions(&self.design.shape, digest)
    }

    #[inline]
    fn probe_of<K: Key + ?Sized>(&self, key: &K) -> Positions {
        self.probe(key.digest(&self.hashing))
    }

    /// Inserts a key and says whether it was certainly new; `false` means that it was there already, or seemed so.
    ///
    /// An error means that another component was needed and not allowed (`gamma`) or not to be had. Nothing is lost.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(100, 0.01)?;
    /// assert!(filter.insert("rose")?);
    /// assert!(!filter.insert("rose")?, "not new, but counted");
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        let probe = self.probe_of(key);
        self.insert_probe(&probe)
    }

    #[inline]
    fn insert_probe(&mut self, probe: &Positions) -> Result<bool> {
        let present = self.chain.contains(probe);
        self.add_probe(probe, Some(present))?;
        Ok(!present)
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
        self.add_probe(&probe, None)
    }

    #[inline]
    fn add_probe(&mut self, probe: &Positions, present: Option<bool>) -> Result<()> {
        if self.improved_from < u64::MAX
            && self.chain.items() >= self.improved_from
            && present.unwrap_or_else(|| self.chain.contains(probe))
        {
            return Ok(());
        }
        if self.forget_waiting(probe) {
            return Ok(());
        }
        // First fit does not look at the key.
        let chosen = Pick::First.choose(&self.chain, Digest { h1: 0, h2: 0 });
        self.check_gamma(chosen)?;
        let index = match chosen {
            Some(index) => index,
            None => self.open()?,
        };
        self.chain.add(index, probe);
        Ok(())
    }

    /// A key that comes back while its removal waits is in already.
    fn forget_waiting(&mut self, probe: &Positions) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        let mut distinct = *probe;
        distinct.distinct();
        match self.waiting.iter().position(|waiting| **waiting == *distinct) {
            Some(index) => {
                self.waiting.swap_remove(index);
                true
            }
            None => false,
        }
    }

    fn open(&mut self) -> Result<usize> {
        self.check_numbers(1)?;
        let index = self.chain.append(())?;
        self.numbers.push(self.next_number);
        self.next_number += 1;
        Ok(index)
    }

    /// Refuses components that a frame could not number.
    fn check_numbers(&self, more: usize) -> Result<()> {
        if self.next_number.saturating_add(more as u64) <= structure::MOST_NUMBERS {
            return Ok(());
        }
        Err(Error::Full {
            what: format!("the next component would have number {}, the last possible one", self.next_number),
            remedy: "build a new filter, whose components are numbered from 0".into(),
        })
    }

    /// Whether one more key would still keep the rate within `gamma`.
    fn check_gamma(&self, chosen: Option<usize>) -> Result<()> {
        let Some(gamma) = self.design.gamma else { return Ok(()) };
        if (self.components() + usize::from(chosen.is_none())) as u64 <= self.within_gamma {
            return Ok(());
        }
        let more = |(index, &items): (usize, &u64)| items + u64::from(chosen == Some(index));
        let counts = self.chain.counts().iter().enumerate().map(more);
        self.check_rate(gamma, counts.chain(chosen.is_none().then_some(1)))
    }

    fn check_rate(&self, gamma: f64, counts: impl Iterator<Item = u64>) -> Result<()> {
        let rate = self.design.shape.rate_of(counts);
        if rate <= gamma {
            return Ok(());
        }
        Err(Error::Full {
            what: format!("the false-positive rate would be {rate:.6}, above `gamma`"),
            remedy: format!("rebuild the filter with `items` at least {}", self.rebuilt_items()),
        })
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
        self.check_gamma(Pick::First.choose(&self.chain, Digest { h1: 0, h2: 0 })).is_err()
    }

    /// The keys that a new representation is made for: twice those that are in.
    fn rebuilt_items(&self) -> u64 {
        self.chain.items().max(self.design.shape.capacity).saturating_mul(2)
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
        let dropped = ["items", "bits", "hashes", "capacity", "distribution"];
        let mut config = Config::new(KIND.facts()).with("items", Setting::Count(self.rebuilt_items()))?;
        for (parameter, setting) in self.config.settings().filter(|(of, _)| !dropped.contains(&of.name)) {
            config = config.with(parameter.name, setting)?;
        }
        let mut rebuilt = Self::from_config(&config.hashed(self.hashing.clone()))?;
        for key in keys {
            rebuilt.add(&key)?;
        }
        Ok(rebuilt)
    }

    /// Whether the key may be in the set. `false` is certain, unless keys were removed that were never inserted.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(100, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.chain.contains(&self.probe_of(key))
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
        self.chain.addresses(&self.probe_of(key))
    }

    /// Removals that wait, in terms of the keys that are in: when too many are stuck, the set is better
    /// [represented anew](Self::rebuild). Without the setting `retry` none waits; [`addresses`](Self::addresses) tells
    /// which keys would be stuck, [`Shape::undeletable`] how many.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Builder, Removal};
    /// let mut filter = Builder::fixed(1, 0.01)?.retry(5).build()?;
    /// ["rose", "rose"].map(|key| filter.add(key).is_ok()); // one in each of two components
    /// assert_eq!(filter.remove("rose")?, Removal::Waiting);
    /// assert_eq!(filter.stuck_share(), 1.0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn stuck_share(&self) -> f64 {
        if self.waiting.is_empty() { 0.0 } else { self.waiting.len() as f64 / (self.items() as f64).max(1.0) }
    }

    /// Removes one occurrence of a key, if it can be told which component holds it. Bits cannot give keys back: that is
    /// an error.
    ///
    /// **Remove only what was inserted.** An absent key that matches exactly one component cannot be told from a present
    /// one: removing it takes counters from other keys, and each of those may then seem absent.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Dynamic, Removal};
    /// let mut filter = Dynamic::with_rate(1, 0.01)?;
    /// ["rose", "rose", "lily"].map(|key| filter.add(key).is_ok()); // each in a component of its own
    /// assert_eq!(filter.remove("lily")?, Removal::Removed);
    /// assert_eq!(filter.remove("rose")?, Removal::Ambiguous);
    /// assert_eq!(filter.remove("iris")?, Removal::NotFound);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<Removal> {
        let probe = self.probe_of(key);
        self.remove_probe(&probe)
    }

    fn remove_probe(&mut self, probe: &Positions) -> Result<Removal> {
        if !self.has_counters() {
            let able = "dynamic with components=counters, counting".into();
            return Err(Error::Unsupported {
                kind: "dynamic with components=bits".into(),
                verb: "remove".into(),
                able,
            });
        }
        match self.chain.take_out(probe) {
            Found::Nowhere => Ok(Removal::NotFound),
            Found::Often if self.waiting.len() < self.design.retry => {
                let mut distinct = *probe;
                distinct.distinct();
                self.waiting.push(distinct);
                Ok(Removal::Waiting)
            }
            Found::Often => Ok(Removal::Ambiguous),
            Found::Once(_) => {
                self.settle()?;
                Ok(Removal::Removed)
            }
        }
    }

    /// Unites components whose keys fit in one and tries the removals that wait, until neither changes anything.
    fn settle(&mut self) -> Result<()> {
        loop {
            while let Some(dropped) = self.chain.unite()? {
                self.numbers.remove(dropped);
            }
            let mut waiting = std::mem::take(&mut self.waiting);
            let before = waiting.len();
            waiting.retain(|probe| self.chain.take_out(probe) == Found::Often);
            self.waiting = waiting;
            if self.waiting.len() == before {
                return Ok(());
            }
        }
    }

    /// The keys that fit before the filter grows by itself.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// assert_eq!(Dynamic::with_rate(1_000, 0.01)?.capacity(), 1_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.chain.capacity()
    }

    /// Appends an empty component now.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(1_000, 0.01)?;
    /// filter.grow()?;
    /// assert_eq!((filter.components(), filter.capacity()), (2, 2_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn grow(&mut self) -> Result<()> {
        self.open().map(|_| ())
    }

    /// The union with a filter of the same shape and hashing: the components of both, united as far as their keys fit.
    /// Counters add up, bits are joined by OR. The layouts may differ. With `gamma` a union beyond it is refused.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let (mut here, mut there) = (Dynamic::with_rate(100, 0.01)?, Dynamic::with_rate(100, 0.01)?);
    /// (0..130u32).for_each(|key| here.add(&key).unwrap());
    /// (130..200u32).for_each(|key| there.add(&key).unwrap());
    /// here.merge(&there)?;
    /// assert_eq!(here.counts(), [100, 100]);
    /// assert!((0..200u32).all(|key| here.contains(&key)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let (mine, theirs) = (self.design.shape, other.design.shape);
        same("bits", mine.bits, theirs.bits)?;
        same("hashes", mine.hashes, theirs.hashes)?;
        same("capacity", mine.capacity, theirs.capacity)?;
        same("components", self.config.choice("components"), other.config.choice("components"))?;
        same("hashing", &self.hashing, &other.hashing)?;
        let waiting = self.waiting.len() + other.waiting.len();
        if waiting > self.design.retry {
            return Err(Error::Full {
                what: format!("{waiting} removals would wait"),
                remedy: "build filters with a larger `retry`".into(),
            });
        }
        let mut union = self.clone();
        union.chain.concatenate(&other.chain, !self.has_counters())?;
        union.waiting.extend_from_slice(&other.waiting);
        // Own components keep their numbers, unless they were empty and gave way; those taken over get new ones.
        let kept: Vec<u64> = if union.chain == self.chain {
            self.numbers.clone()
        } else {
            let used = self.numbers.iter().zip(self.chain.counts()).filter(|(_, items)| **items > 0);
            used.map(|(number, _)| *number).collect()
        };
        union.numbers = kept;
        union.check_numbers(union.chain.counts().len().saturating_sub(union.numbers.len()))?;
        while union.numbers.len() < union.chain.counts().len() {
            union.numbers.push(union.next_number);
            union.next_number += 1;
        }
        union.settle()?;
        if let Some(gamma) = self.design.gamma {
            self.check_rate(gamma, union.chain.counts().iter().copied())?;
        }
        *self = union;
        Ok(())
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(10, 0.01)?;
    /// (0..100u32).for_each(|key| filter.add(&key).unwrap());
    /// assert_eq!(Dynamic::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(100, 0.01)?;
    /// filter.insert("rose")?;
    /// let mut frame = filter.to_bytes();
    /// assert!(Dynamic::from_bytes(&frame)?.contains("rose"));
    /// frame[40] ^= 1;
    /// assert!(Dynamic::from_bytes(&frame).is_err(), "a single bit is noticed");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }

    #[inline]
    fn digests<K: Key>(&self, keys: &[K]) -> [Digest; BATCH] {
        let cached = self.design.shape.bits <= CACHED_BITS;
        digest_batch(&self.hashing, keys, |digest| {
            if !cached {
                self.chain.prefetch(&self.probe(digest));
            }
        })
    }
}

#[cfg(test)]
mod tests;
