#![doc = include_str!("deletable.md")]

use crate::capability::{Contains, Insert, Item, Merge, NoteType, Remove};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, Positions};
use crate::key::Key;
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::bit_array::{BitArray, Design, flat_places, insert_each};
use crate::parts::counter_array::Places;
use crate::store::BitStore;
use crate::theory::{self, Size, standard};

/// The registry's row.
pub const KIND: Kind = kind!(Deletable);

/// A deletable Bloom filter.
///
/// ```
/// use bouquet::counting::deletable::Deletable;
/// let mut filter = Deletable::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// filter.insert("lily");
/// filter.remove("rose")?;
/// assert!(!filter.contains("rose") && filter.contains("lily"));
/// assert!(filter.remove("rose").is_err(), "it is not there any more");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Deletable {
    array: BitArray,
    /// One flag per region in which keys have met.
    flags: BitStore,
    /// Insertions less removals.
    items: u64,
    /// Insertions, removed ones included.
    inserted: u64,
    design: Design,
    /// The share of removable keys that was asked for.
    wanted: Option<f64>,
}

const DELETABLE: Parameter = Parameter {
    name: "deletable",
    help: "share of the keys that can be removed when all items are in; nine tenths of what is possible if not given",
    of: ParameterType::Real { above: 0.0, below: 1.0, default: None },
};

const REGIONS: Parameter = Parameter {
    name: "regions",
    help: "regions with a collision flag, instead of a share; one bit each, part of the bits",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

const BITS: Parameter = Parameter { help: "size in bits, flags included, instead of a rate", ..common::BITS };

/// Places and number of regions.
#[derive(Clone, Copy)]
struct Shape {
    places: Places,
    regions: u64,
}

/// Bits per region where neither items nor regions are given.
const USUAL_REGION: u64 = 10;

impl Shape {
    fn new(bits: u64, hashes: u32, regions: u64) -> Result<Self> {
        if regions > bits {
            return Err(Error::parameter("regions", format!("at most the {bits} bits"), regions));
        }
        Ok(Shape { places: flat_places(bits, hashes)?, regions })
    }

    /// The fewest regions with which the wanted share of the items can be removed.
    fn for_items(config: &Config, size: Size, items: u64) -> Result<u64> {
        let Size { bits, hashes } = size;
        let wanted =
            config.real("deletable").unwrap_or_else(|| 0.9 * theory::deletable::share(bits, items, hashes, 1.0));
        Ok(bits.div_ceil(theory::deletable::largest_region(bits, items, hashes, wanted)?))
    }

    fn plan(config: &Config) -> Result<Self> {
        let (items, regions) = (config.count("items"), config.count("regions"));
        let Some(all) = config.count("bits") else {
            let size = common::size(config, "bits")?;
            let regions = match (regions, items) {
                (Some(regions), _) => regions,
                (None, Some(items)) => Self::for_items(config, size, items)?,
                (None, None) => size.bits.div_ceil(USUAL_REGION),
            };
            return Self::new(size.bits, size.hashes, regions);
        };
        let hashes = |bits: u64| match (config.count("hashes"), items) {
            (Some(hashes), _) => Ok(hashes as u32),
            (None, Some(items)) => Ok(standard::for_bits(bits, items)?.hashes),
            (None, None) => Err(Error::parameter("items", common::ITEMS.range(), "missing (or give `hashes`)")),
        };
        let filter_bits = |regions: u64| {
            let left = all.checked_sub(regions).filter(|&left| left >= regions);
            left.ok_or_else(|| Error::parameter("bits", format!("at least twice the {regions} regions"), all))
        };
        let regions = match (regions, items) {
            (Some(regions), _) => regions,
            (None, None) => (all / (USUAL_REGION + 1)).max(1),
            (None, Some(items)) => {
                // What the flags take, the filter lacks: a few rounds settle it.
                let mut regions = 0;
                for _ in 0..8 {
                    let bits = filter_bits(regions)?;
                    let next = Self::for_items(config, Size { bits, hashes: hashes(bits)? }, items)?;
                    if next <= regions {
                        break;
                    }
                    regions = next.min(all / 2).max(1);
                }
                regions
            }
        };
        let bits = filter_bits(regions)?;
        Self::new(bits, hashes(bits)?, regions)
    }

    fn bits(&self) -> u64 {
        self.places.counters() + self.regions
    }

    fn region_bits(&self) -> u64 {
        self.places.counters().div_ceil(self.regions)
    }
}

impl Deletable {
    /// A filter for `items` distinct keys whose false-positive rate is then `fpr`, and of which nine tenths or so can
    /// be removed.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let filter = Deletable::with_rate(100_000, 0.01)?;
    /// assert!(filter.expected_deletable(100_000) > 0.89);
    /// assert!(filter.bits().len() + filter.flags().len() < 1_200_000, "12 bits per key");
    /// assert!(Deletable::with_rate(1_000, 0.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?)
    }

    /// The same, with the fewest flags that let the share `deletable` of the keys be removed.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let half = Deletable::with_share(10_000, 0.01, 0.5)?;
    /// assert!(half.expected_deletable(10_000) >= 0.5);
    /// assert!(half.flags().len() < Deletable::with_share(10_000, 0.01, 0.9)?.flags().len());
    /// assert!(Deletable::with_share(10_000, 0.1, 0.99).is_err(), "three positions are too few");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_share(items: u64, fpr: f64, deletable: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        let config = config.with("fpr", Setting::Real(fpr))?;
        Self::from_config(&config.with("deletable", Setting::Real(deletable))?)
    }

    /// A filter of `bits` bits in all, `regions` of them flags, and `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let filter = Deletable::with_size(1_100, 5, 100)?;
    /// assert_eq!((filter.bits().len(), filter.flags().len(), filter.region_bits()), (1_000, 100, 10));
    /// assert!(Deletable::with_size(1_100, 5, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32, regions: u64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("bits", Setting::Count(bits))?;
        let config = config.with("hashes", Setting::Count(hashes.into()))?;
        Self::from_config(&config.with("regions", Setting::Count(regions))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{counting::deletable::{Deletable, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("regions", "64")?;
    /// assert_eq!(Deletable::from_config(&config)?.flags().len(), 64);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = Shape::plan(config)?;
        let bits = BitStore::zeroed(shape.places.counters())?;
        let flags = BitStore::zeroed(shape.regions)?;
        Ok(Self::with_parts(config, shape, bits, flags, [0; 2]))
    }

    fn with_parts(config: &Config, shape: Shape, bits: BitStore, flags: BitStore, items: [u64; 2]) -> Self {
        let array = BitArray::new(KIND.facts().id, shape.places, config.hashing(), bits);
        let wanted = config.real("deletable");
        Deletable { array, flags, items: items[0], inserted: items[1], design: Design::of(config), wanted }
    }

    fn shape(&self) -> Shape {
        Shape { places: self.array.places, regions: self.flags.len() }
    }

    /// The bits of the filter, without the flags.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let mut filter = Deletable::with_size(1_100, 5, 100)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.bits().count_ones(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.array.bits
    }

    /// One bit per region, set where keys have met.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let mut filter = Deletable::with_size(1_100, 5, 100)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.flags().count_ones(), 0);
    /// filter.insert("rose");
    /// assert!(filter.flags().count_ones() > 0, "who knows that it was the same key?");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn flags(&self) -> &BitStore {
        &self.flags
    }

    /// Bits per region; the last may have fewer.
    ///
    /// ```
    /// assert_eq!(bouquet::counting::deletable::Deletable::with_size(130, 5, 30)?.region_bits(), 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn region_bits(&self) -> u64 {
        self.shape().region_bits()
    }

    /// The share of `items` distinct keys that can be expected to be removable.
    ///
    /// ```
    /// let filter = bouquet::counting::deletable::Deletable::with_rate(10_000, 0.01)?;
    /// assert!(filter.expected_deletable(5_000) > filter.expected_deletable(10_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn expected_deletable(&self, items: u64) -> f64 {
        let places = &self.array.places;
        theory::deletable::share(places.counters(), items, places.hashes(), self.region_bits() as f64)
    }

    /// Insertions less removals.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let mut filter = Deletable::with_rate(1_000, 0.01)?;
    /// ["rose", "lily"].map(|key| filter.insert(key));
    /// filter.remove("rose")?;
    /// assert_eq!(filter.items(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The positions of a key, each once, so that a key does not meet itself.
    #[inline]
    fn positions(&self, digest: Digest) -> Positions {
        self.array.places.distinct(digest)
    }

    /// Inserts a key and says whether it was certainly new. A key that is in already cannot be removed any more.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let mut filter = Deletable::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose") && filter.is_deletable("rose"));
    /// assert!(!filter.insert("rose") && !filter.is_deletable("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(self.array.digest(key))
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) -> bool {
        let (positions, region) = (self.positions(digest), self.region_bits());
        let mut fresh = false;
        for &position in positions.iter() {
            if self.array.bits.set(position) {
                fresh = true;
            } else {
                self.flags.set(position / region);
            }
        }
        self.items = self.items.saturating_add(1);
        self.inserted = self.inserted.saturating_add(1);
        fresh
    }

    /// Inserts a key unless it seems to be in, and says whether it did: keys that come again stay removable.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let mut filter = Deletable::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert_if_absent("rose") && !filter.insert_if_absent("rose"));
    /// assert!(filter.is_deletable("rose") && filter.items() == 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_if_absent<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let digest = self.array.digest(key);
        !self.array.all_set(digest) && self.insert_digest(digest)
    }

    /// Whether the key may be in the set; `false` is certain.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let mut filter = Deletable::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.array.all_set(self.array.digest(key))
    }

    /// Whether the key seems to be in and [`remove`](Self::remove) would take it out.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let mut filter = Deletable::with_rate(1_000, 0.01)?;
    /// assert!(!filter.is_deletable("rose"));
    /// filter.insert("rose");
    /// assert!(filter.is_deletable("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_deletable<K: Key + ?Sized>(&self, key: &K) -> bool {
        let (digest, region) = (self.array.digest(key), self.region_bits());
        let quiet = |&position: &u64| !self.flags.get(position / region);
        self.array.all_set(digest) && self.positions(digest).iter().any(quiet)
    }

    /// Takes a key out: [`Error::NotPresent`] when it is certainly not in, [`Error::Ambiguous`] when all of its bits
    /// lie in regions where keys have met; either changes nothing. Only keys that were inserted may be removed: one
    /// that merely seems present is removed as well, and other keys may vanish with it.
    ///
    /// ```
    /// use bouquet::{Error, counting::deletable::Deletable};
    /// let mut filter = Deletable::with_rate(1_000, 0.01)?;
    /// assert!(matches!(filter.remove("rose"), Err(Error::NotPresent)));
    /// filter.insert("rose");
    /// filter.remove("rose")?;
    /// ["lily", "lily"].map(|key| filter.insert(key));
    /// assert!(matches!(filter.remove("lily"), Err(Error::Ambiguous { .. })));
    /// assert!(filter.contains("lily"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let (digest, region) = (self.array.digest(key), self.region_bits());
        if !self.array.all_set(digest) {
            return Err(Error::NotPresent);
        }
        let mut cleared = false;
        for &position in self.positions(digest).iter() {
            if !self.flags.get(position / region) {
                self.array.bits.clear(position);
                cleared = true;
            }
        }
        if !cleared {
            return Err(Error::Ambiguous { what: "every bit of the key is in a region where keys have met".into() });
        }
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// Takes in everything that `other` holds. Regions in which both have a common one are flagged: keys may have met
    /// there.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let mut here = Deletable::with_rate(1_000, 0.01)?;
    /// let mut there = here.clone();
    /// ["rose", "lily"].map(|key| here.insert(key));
    /// ["lily", "iris"].map(|key| there.insert(key));
    /// here.merge(&there)?;
    /// assert!(here.is_deletable("rose") && here.is_deletable("iris") && !here.is_deletable("lily"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        same("regions", self.flags.len(), other.flags.len())?;
        self.array.comparable(&other.array)?;
        let region = self.region_bits();
        let mut common = self.array.bits.clone();
        common.and(&other.array.bits)?;
        common.ones().for_each(|position| {
            self.flags.set(position / region);
        });
        self.flags.or(&other.flags)?;
        self.array.bits.or(&other.array.bits)?;
        self.items = self.items.saturating_add(other.items);
        self.inserted = self.inserted.saturating_add(other.inserted);
        Ok(())
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let mut filter = Deletable::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// let mut copy = Deletable::from_bytes(&filter.to_bytes())?;
    /// copy.remove("rose")?;
    /// assert!(!copy.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::deletable::Deletable;
    /// let mut filter = Deletable::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// assert_eq!(Deletable::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

impl Structure for Deletable {
    const FACTS: Facts = Facts {
        id: "deletable",
        number: 57,
        aliases: &["DlBF", "DIBF"],
        family: "counting",
        text: Text::new(include_str!("deletable.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::Undeletable],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, DELETABLE, BITS, common::HASHES, REGIONS],
    };

    const IN_PLACE: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        let shape = Shape::plan(config)?;
        let items = config.count("items");
        let fpr = items.map(|items| shape.places.expected_rate(items));
        Ok(Plan { bits: shape.bits(), hashes: shape.places.hashes(), items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let shape = self.shape();
        let config = Config::new(KIND.facts())
            .put("bits", Setting::Count(shape.bits()))
            .put("hashes", Setting::Count(shape.places.hashes().into()))
            .put("regions", Setting::Count(shape.regions))
            .hashed(self.array.hashing.clone());
        let config = self.design.put(config);
        match self.wanted {
            Some(wanted) => config.put("deletable", Setting::Real(wanted)),
            None => config,
        }
    }

    fn hashing(&self) -> &Hashing {
        &self.array.hashing
    }

    fn stats(&self) -> Stats {
        let places = &self.array.places;
        let ones = self.array.bits.count_ones();
        Stats {
            items: self.items,
            bits: self.shape().bits(),
            hashes: places.hashes(),
            fill: Some(ones as f64 / places.counters() as f64),
            fpr: Some(places.rate_of(&[ones])),
            // Bits that a removal leaves belong to keys that were inserted.
            honest_fill: Some(self.array.honest_fill(self.inserted)),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(self.array.places.expected_rate(items)), ..Rates::default() }
    }

    /// State: items and insertions. Stores: the bits, the flags.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        encoder.state().u64(self.inserted);
        encoder.bits(&self.array.bits);
        encoder.bits(&self.flags);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = Shape::plan(decoder.config())?;
        let [items, inserted] = [decoder.state().u64()?, decoder.state().u64()?];
        if items > inserted {
            return Err(Error::corrupt("items", format!("at most {inserted}, the insertions"), items));
        }
        let bits = decoder.bits(shape.places.counters())?;
        let flags = decoder.bits(shape.regions)?;
        Ok(Self::with_parts(decoder.config(), shape, bits, flags, [items, inserted]))
    }
}

impl Contains for Deletable {
    fn contains(&self, key: &[u8]) -> bool {
        Deletable::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        self.array.answer_each(keys, answers, |digest| self.array.all_set(digest));
    }
}

impl Insert for Deletable {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Ok(Deletable::insert(self, item.bare()?))
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let insert = |filter: &mut Self, _: &Item<'_>, digest| Ok(filter.insert_digest(digest));
        insert_each(self, items, |filter, items| filter.array.digests(items), insert)
    }
}

impl Remove for Deletable {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        Deletable::remove(self, item.bare()?)
    }
}

impl Merge for Deletable {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Deletable::merge(self, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::spread;

    const N: u64 = 20_000;

    /// A filter of m' bits, k positions and r regions with the keys 0..N.
    fn filled(bits: u64, hashes: u32, regions: u64, seed: u64) -> Deletable {
        let config = Config::new(KIND.facts())
            .with("bits", Setting::Count(bits + regions))
            .and_then(|config| config.with("hashes", Setting::Count(hashes.into())))
            .and_then(|config| config.with("regions", Setting::Count(regions)));
        let mut filter = Deletable::from_config(&config.unwrap().hashed(Hashing::seeded(seed))).unwrap();
        (0..N).for_each(|key| {
            filter.insert(&key);
        });
        filter
    }

    fn deletable_share(filter: &Deletable) -> f64 {
        (0..N).filter(|key| filter.is_deletable(key)).count() as f64 / N as f64
    }

    #[test]
    fn as_many_keys_are_deletable_as_the_conditioned_formula_says() {
        for (bits, hashes, regions, expected) in
            [(16 * N, 5, 16 * N / 10, 0.971), (16 * N, 5, 16 * N / 20, 0.873), (10 * N, 7, 10 * N / 4, 0.917)]
        {
            let mut sum = 0.0;
            for seed in 0..3 {
                let filter = filled(bits, hashes, regions, seed);
                let share = deletable_share(&filter);
                assert!((share - expected).abs() < 0.015, "{bits} {regions}: {share}");
                assert!((filter.expected_deletable(N) - expected).abs() < 0.001);
                sum += share / 3.0;
            }
            // The formula takes a key's regions for independent, which is right to 1 %.
            assert!((sum / expected - 1.0).abs() < 0.01, "{bits} {regions}: {sum} instead of {expected}");
        }
    }

    #[test]
    fn removed_keys_answer_no_and_no_other_key_is_lost() {
        let mut filter = filled(10 * N, 7, 10 * N / 4, 1);
        let (mut removed, mut refused) = (Vec::new(), 0);
        for key in (0..N).step_by(2) {
            let promised = filter.is_deletable(&key);
            let before = filter.bits().count_ones();
            match filter.remove(&key) {
                Ok(()) => removed.push(key),
                Err(Error::Ambiguous { .. }) => {
                    refused += 1;
                    assert_eq!(filter.bits().count_ones(), before);
                }
                Err(error) => panic!("{key}: {error}"),
            }
            assert_eq!(promised, removed.last() == Some(&key));
        }
        assert!(removed.len() > 9_000 && refused > 500, "{} {refused}", removed.len());
        assert!(removed.iter().all(|key| !filter.contains(key)));
        assert!((1..N).step_by(2).all(|key| filter.contains(&key)));
        assert_eq!(filter.items(), N - removed.len() as u64);
    }

    #[test]
    fn the_rate_is_that_of_a_plain_filter_and_falls_with_removals() {
        let (bits, queries) = (10 * N, 500_000);
        let mut filter = filled(bits, 7, bits / 4, 7);
        let strangers = |filter: &Deletable| {
            (1 << 40..(1 << 40) + queries).filter(|key: &u64| filter.contains(key)).count() as f64 / queries as f64
        };
        let before = strangers(&filter);
        let expected = standard::rate(bits, N, 7);
        assert!((before - expected).abs() < 5.0 * spread::test_sigma(bits, N, 7, queries), "{before} {expected}");
        for key in 0..N / 2 {
            let _ = filter.remove(&key);
        }
        let after = strangers(&filter);
        assert!(after < before / 5.0, "{before} before, {after} after");
    }

    #[test]
    fn a_key_does_not_collide_with_itself() {
        // Eight positions among twelve bits coincide in nearly every key.
        let mut coincident = 0;
        for key in 0..100u64 {
            let mut filter = Deletable::with_size(24, 8, 12).unwrap();
            filter.insert(&key);
            coincident += u64::from(filter.bits().count_ones() < 8);
            assert_eq!(filter.flags().count_ones(), 0);
            filter.remove(&key).unwrap();
            assert_eq!(filter.bits().count_ones(), 0);
        }
        assert!(coincident > 90);
    }

    #[test]
    fn a_share_that_is_asked_for_is_reached_with_the_fewest_flags() {
        for share in [0.3, 0.7, 0.95] {
            let filter = Deletable::with_share(N, 0.01, share).unwrap();
            assert!(filter.expected_deletable(N) >= share);
            let fewer = filter.flags().len() * 9 / 10;
            let region = filter.bits().len().div_ceil(fewer) as f64;
            assert!(theory::deletable::share(filter.bits().len(), N, 7, region) < share, "{share}");
        }
        // By size, the flags come out of the bits.
        let config = Config::new(KIND.facts()).set("items", "20000").unwrap().set("bits", "300000").unwrap();
        let filter = Deletable::from_config(&config.set("deletable", "0.9").unwrap()).unwrap();
        assert_eq!(filter.bits().len() + filter.flags().len(), 300_000);
        assert!(filter.expected_deletable(N) >= 0.9);
    }

    #[test]
    fn merging_flags_the_regions_where_both_have_a_key() {
        let keys = |range: std::ops::Range<u64>| {
            let mut filter = Deletable::with_size(44_000, 5, 4_000).unwrap();
            range.for_each(|key| {
                filter.insert(&key);
            });
            filter
        };
        let mut merged = keys(0..600);
        merged.merge(&keys(500..1_000)).unwrap();
        let whole = keys(0..1_000);
        assert_eq!(merged.bits(), whole.bits());
        assert!((500..600).all(|key: u64| !merged.is_deletable(&key)), "these are in twice");
        let mut removed = Vec::new();
        for key in (0..500u64).step_by(2) {
            if merged.remove(&key).is_ok() {
                removed.push(key);
            }
        }
        assert!(removed.len() > 200);
        assert!((0..1_000).filter(|key| !removed.contains(key)).all(|key| merged.contains(&key)));
        assert!(merged.merge(&Deletable::with_size(44_000, 5, 4_001).unwrap()).is_err());
    }
}
