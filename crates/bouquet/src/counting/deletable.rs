#![doc = include_str!("deletable.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Plan, Rates, Reply, Special, Stats, Takes, Text, kind};
use crate::parts::bit_array::{self, BitArray};
use crate::shell::{ByRate, Far, Filter, Hashed, Mechanism, Put, Take, Test, Unite};
use crate::store::BitStore;
use crate::theory;

mod settings;

pub use settings::DeletableSettings;
use settings::Shape;

/// The registry's row.
pub const KIND: Kind = kind!(Deletable);

/// A deletable Bloom filter.
///
/// ```
/// use bouquet::Deletable;
/// let mut filter = Deletable::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// filter.insert("lily");
/// filter.remove("rose")?;
/// assert!(!filter.contains("rose") && filter.contains("lily"));
/// assert!(filter.remove("rose").is_err(), "it is not there any more");
/// # Ok::<(), bouquet::Error>(())
/// ```
///
/// A removal is refused with [`Error::Ambiguous`] when all bits of the key lie in regions where keys have met. Merging
/// flags the regions in which both filters have the same bit set:
///
/// ```
/// # use bouquet::{Deletable, Error};
/// let mut here = Deletable::with_rate(1_000, 0.01)?;
/// let mut there = here.clone();
/// ["rose", "lily"].map(|key| here.insert(key));
/// ["lily", "iris"].map(|key| there.insert(key));
/// here.merge(&there)?;
/// assert!(here.is_deletable("rose") && here.is_deletable("iris"));
/// assert!(matches!(here.remove("lily"), Err(Error::Ambiguous { .. })));
/// # Ok::<(), Error>(())
/// ```
pub type Deletable = Filter<DeletableBits>;

/// Bits for membership, and a flag for each of their regions.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletableBits {
    array: BitArray,
    /// One flag per region in which keys have met.
    flags: BitStore,
    /// Insertions, removed ones included.
    inserted: u64,
}

impl Mechanism for DeletableBits {
    const FACTS: Facts = Facts {
        id: "deletable",
        number: 57,
        aliases: &["DlBF", "DIBF"],
        family: "counting",
        text: Text::new(include_str!("deletable.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::Undeletable],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const SPECIALS: &'static [Special<Deletable>] =
        &[Special::ask("deletable", Takes::Key, "whether the key is in and can be removed", |filter, argument| {
            Ok(Reply::Truth(filter.is_deletable(argument.key()?)))
        })];

    type Settings = DeletableSettings;

    fn resolve(asked: &DeletableSettings) -> Result<DeletableSettings> {
        let shape = Shape::plan(asked)?;
        Ok(DeletableSettings {
            bits: Some(shape.bits()),
            hashes: Some(shape.places.hashes()),
            regions: Some(shape.regions),
            ..asked.clone()
        })
    }

    fn plan(settings: &DeletableSettings) -> Result<Plan> {
        let (shape, items) = (Shape::plan(settings)?, settings.items);
        let fpr = items.map(|items| shape.places.expected_rate(items));
        Ok(Plan { bits: shape.bits(), hashes: shape.places.hashes(), items, fpr })
    }

    fn empty(settings: &DeletableSettings, _: &Hashing) -> Result<Self> {
        let shape = Shape::plan(settings)?;
        let (array, flags) = (BitArray::zeroed(shape.places)?, BitStore::zeroed(shape.regions)?);
        Ok(DeletableBits { array, flags, inserted: 0 })
    }

    fn domain(DeletableSettings { bits, hashes, regions, .. }: &DeletableSettings) -> String {
        let places = bits.unwrap_or(0).saturating_sub(regions.unwrap_or(0));
        bit_array::domain(Self::FACTS.id, Some(places), *hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        let (places, ones) = (&self.array.places, self.array.bits.count_ones());
        Stats {
            items,
            bits: places.counters() + self.flags.len(),
            hashes: places.hashes(),
            fill: Some(ones as f64 / places.counters() as f64),
            fpr: Some(places.rate_of(&[ones])),
            // Bits that a removal leaves belong to keys that were inserted.
            honest_fill: Some(places.honest_fill(self.inserted)),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(self.array.places.expected_rate(items)), ..Rates::default() }
    }

    /// State: items and insertions. Stores: the bits, the flags.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().u64(self.inserted);
        encoder.bits(&self.array.bits);
        encoder.bits(&self.flags);
    }

    fn decode(settings: &DeletableSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let Shape { places, regions } = Shape::plan(settings)?;
        let [items, inserted] = [decoder.state().u64()?, decoder.state().u64()?];
        if items > inserted {
            return Err(Error::corrupt("items", format!("at most {inserted}, the insertions"), items));
        }
        let array = BitArray { places, bits: decoder.bits(places.counters())? };
        Ok((DeletableBits { array, flags: decoder.bits(regions)?, inserted }, items))
    }

    #[inline(always)]
    fn far(&self) -> Option<&dyn Far> {
        Some(&self.array)
    }
}

impl Test for DeletableBits {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.array.all_set(key.digest)
    }
}

impl Put for DeletableBits {
    type Note<'a> = ();
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let region = self.region_bits();
        let mut fresh = false;
        // Each position once, so that a key does not meet itself.
        for &position in self.array.places.distinct(key.digest).iter() {
            if self.array.bits.set(position) {
                fresh = true;
            } else {
                self.flags.set(position / region);
            }
        }
        self.inserted = self.inserted.saturating_add(1);
        fresh
    }
}

impl Take for DeletableBits {
    type Note<'a> = ();

    /// [`Error::Ambiguous`] when all of its bits lie in regions where keys have met; nothing has changed then.
    fn take(&mut self, Hashed { digest, .. }: Hashed<'_>, (): ()) -> Result<()> {
        let region = self.region_bits();
        if !self.array.all_set(digest) {
            return Err(Error::NotPresent);
        }
        let mut cleared = false;
        for &position in self.array.places.distinct(digest).iter() {
            if !self.flags.get(position / region) {
                self.array.bits.clear(position);
                cleared = true;
            }
        }
        if !cleared {
            return Err(Error::Ambiguous { what: "every bit of the key is in a region where keys have met".into() });
        }
        Ok(())
    }
}

impl Unite for DeletableBits {
    fn unite(&mut self, other: &Self) -> Result<()> {
        let region = self.region_bits();
        let mut common = self.array.bits.clone();
        common.and(&other.array.bits)?;
        // Keys may have met there.
        common.ones().for_each(|position| {
            self.flags.set(position / region);
        });
        self.flags.or(&other.flags)?;
        self.array.bits.or(&other.array.bits)?;
        self.inserted = self.inserted.saturating_add(other.inserted);
        Ok(())
    }
}

impl DeletableBits {
    /// Bits per region; the last may have fewer.
    #[inline]
    fn region_bits(&self) -> u64 {
        self.array.places.counters().div_ceil(self.flags.len())
    }
}

impl Deletable {
    /// A filter for `items` distinct keys at this rate, with the fewest flags that let the share `deletable` of the keys
    /// be removed.
    ///
    /// ```
    /// use bouquet::Deletable;
    /// let half = Deletable::with_share(10_000, 0.01, 0.5)?;
    /// assert!(half.expected_deletable(10_000) >= 0.5);
    /// assert!(half.flags().len() < Deletable::with_share(10_000, 0.01, 0.9)?.flags().len());
    /// assert!(Deletable::with_share(10_000, 0.1, 0.99).is_err(), "three positions are too few");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_share(items: u64, fpr: f64, deletable: f64) -> Result<Self> {
        Self::with(DeletableSettings { deletable: Some(deletable), ..DeletableSettings::by_rate(items, fpr)? })
    }

    /// A filter of `bits` bits in all, `regions` of them flags, and `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::Deletable;
    /// let filter = Deletable::with_size(1_100, 5, 100)?;
    /// assert_eq!((filter.bits().len(), filter.flags().len(), filter.region_bits()), (1_000, 100, 10));
    /// assert!(Deletable::with_size(1_100, 5, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32, regions: u64) -> Result<Self> {
        let (bits, hashes, regions) = (Some(bits), Some(hashes), Some(regions));
        Self::with(DeletableSettings { bits, hashes, regions, ..Default::default() })
    }

    /// The bits of the filter, without the flags.
    ///
    /// ```
    /// use bouquet::Deletable;
    /// let mut filter = Deletable::with_size(1_100, 5, 100)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.bits().count_ones(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.mechanism.array.bits
    }

    /// One bit per region, set where keys have met.
    ///
    /// ```
    /// use bouquet::Deletable;
    /// let mut filter = Deletable::with_size(1_100, 5, 100)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.flags().count_ones(), 0);
    /// filter.insert("rose");
    /// assert!(filter.flags().count_ones() > 0, "it cannot be told from another key");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn flags(&self) -> &BitStore {
        &self.mechanism.flags
    }

    /// Bits per region; the last may have fewer.
    ///
    /// ```
    /// assert_eq!(bouquet::Deletable::with_size(130, 5, 30)?.region_bits(), 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn region_bits(&self) -> u64 {
        self.mechanism.region_bits()
    }

    /// The share of `items` distinct keys that can be expected to be removable.
    ///
    /// ```
    /// let filter = bouquet::Deletable::with_rate(10_000, 0.01)?;
    /// assert!(filter.expected_deletable(5_000) > filter.expected_deletable(10_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn expected_deletable(&self, items: u64) -> f64 {
        let places = &self.mechanism.array.places;
        theory::deletable::share(places.counters(), items, places.hashes(), self.region_bits() as f64)
    }

    /// Inserts a key unless it seems to be in, and says whether it did: keys that come again stay removable.
    ///
    /// ```
    /// use bouquet::Deletable;
    /// let mut filter = Deletable::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert_if_absent("rose") && !filter.insert_if_absent("rose"));
    /// assert!(filter.is_deletable("rose") && filter.items() == 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_if_absent<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        !self.contains(key) && self.insert(key)
    }

    /// Whether the key seems to be in and `remove` would take it out.
    ///
    /// ```
    /// use bouquet::Deletable;
    /// let mut filter = Deletable::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose") && filter.is_deletable("rose"));
    /// assert!(!filter.insert("rose") && !filter.is_deletable("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_deletable<K: Key + ?Sized>(&self, key: &K) -> bool {
        let (bits, digest, region) = (&self.mechanism, key.digest(&self.hashing), self.region_bits());
        let unflagged = |&position: &u64| !bits.flags.get(position / region);
        bits.array.all_set(digest) && bits.array.places.distinct(digest).iter().any(unflagged)
    }
}

#[cfg(test)]
mod tests;
