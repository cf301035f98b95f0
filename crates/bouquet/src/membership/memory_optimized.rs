#![doc = include_str!("memory_optimized.md")]

use std::collections::HashMap;

use crate::capability::{Answer, Entry, Listing, NoteType, Value};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, fastrange};
use crate::key::Key;
use crate::kind::{
    Facts, Figure, Kind, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, common, kind,
};
use crate::parts::bit_array::{BitArray, flat_places};
use crate::parts::counter_array::{Placement, Places};
use crate::parts::item_bytes;
use crate::shell::{
    ByRate, Enumerate, Far, Fields, Filter, Hashed, Lookup, Mechanism, Put, Settings, Take, Test, fields,
};
use crate::theory;

/// A hash table behind a Bloom filter, with every item stored once.
///
/// ```
/// use bouquet::MemoryOptimized;
/// let mut colours = MemoryOptimized::with_rate(1_000, 0.01)?;
/// colours.insert("rose", b"red")?;
/// assert_eq!(colours.value("rose"), Some(b"red".as_slice()));
/// assert_eq!(colours.value("lily"), None);
/// colours.remove("rose")?;
/// assert!(!colours.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type MemoryOptimized = Filter<OneCopy>;

/// The registry's row.
pub const KIND: Kind = kind!(MemoryOptimized);

const BITS: Parameter = Parameter { help: "bits of the filter, each with a bucket, instead of a rate", ..common::BITS };
const FPR: Parameter = Parameter { help: "absent keys for which a bucket is read in vain", ..common::FPR };

/// The settings of a table with a filter.
///
/// ```
/// use bouquet::{MemoryOptimized, MemoryOptimizedSettings};
/// let settings = MemoryOptimizedSettings { bits: Some(1_000), hashes: Some(5), ..Default::default() };
/// assert_eq!(MemoryOptimized::with(settings)?.bits().len(), 1_000);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryOptimizedSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The share of absent keys for which a bucket is read in vain.
    pub fpr: Option<f64>,
    /// Bits of the filter, each with a bucket.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
}

impl Settings for MemoryOptimizedSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: FPR,
        bits: BITS,
        hashes: common::HASHES,
    ];
}

impl ByRate for MemoryOptimizedSettings {}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    key: Box<[u8]>,
    value: Box<[u8]>,
    /// How often it was inserted and not removed.
    copies: u64,
}

/// Bits, and at each position a bucket; those that are empty take no memory.
///
/// The bucket of a key is at its position number ⌊w k / 2^64⌋, w the first half of the digest's first derivative.
#[derive(Clone, Debug, PartialEq)]
pub struct OneCopy {
    array: BitArray,
    /// Items by bucket, in the order of their keys.
    buckets: HashMap<u64, Vec<Held>>,
    keys: u64,
    /// Bytes of keys and values.
    bytes: u64,
}

/// What a plan takes a key, or a value, to be.
const PLANNED_BYTES: u64 = 8;

impl OneCopy {
    fn places(&MemoryOptimizedSettings { items, fpr, bits, hashes }: &MemoryOptimizedSettings) -> Result<Places> {
        let size = common::size_of(items, fpr, bits, hashes, BITS.name)?;
        flat_places(size.bits, size.hashes)
    }

    /// The bucket of a key: one of its positions, which an extra function selects.
    #[inline]
    fn bucket(&self, digest: Digest) -> u64 {
        let places = &self.array.places;
        let selected = fastrange(digest.derive(1).h1, places.hashes().into());
        places.of(digest).nth(selected as usize).unwrap_or_default()
    }

    /// The bucket and the place in it of a key, or where it belongs; `None` when the filter rules it out.
    fn find(&self, key: &[u8], digest: Digest) -> Option<(u64, std::result::Result<usize, usize>)> {
        self.array.all_set(digest).then(|| self.read(key, self.bucket(digest)))
    }

    /// Reads a bucket.
    fn read(&self, key: &[u8], bucket: u64) -> (u64, std::result::Result<usize, usize>) {
        let items = self.buckets.get(&bucket).map_or(&[][..], Vec::as_slice);
        (bucket, items.binary_search_by(|held| (*held.key).cmp(key)))
    }

    fn held(&self, key: &[u8], digest: Digest) -> Option<&Held> {
        let (bucket, at) = self.find(key, digest)?;
        self.buckets.get(&bucket)?.get(at.ok()?)
    }

    /// Puts an item into its bucket, in the place of the one that it may have there, and says whether its key is new.
    fn hold(&mut self, bucket: u64, Held { key, value, copies }: Held) -> bool {
        let (bucket, at) = self.read(&key, bucket);
        let items = self.buckets.entry(bucket).or_default();
        self.bytes += value.len() as u64;
        match at {
            Ok(at) => {
                self.bytes -= items[at].value.len() as u64;
                let copies = items[at].copies.saturating_add(copies);
                items[at] = Held { key, value, copies };
            }
            Err(at) => {
                self.bytes += key.len() as u64;
                self.keys += 1;
                items.insert(at, Held { key, value, copies });
            }
        }
        at.is_err()
    }

    /// All items in the order of their keys.
    fn sorted(&self) -> Vec<&Held> {
        let mut items: Vec<&Held> = self.buckets.values().flatten().collect();
        items.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        items
    }

    /// Items that are not alone in their bucket.
    fn crowded(&self) -> u64 {
        self.buckets.values().map(Vec::len).filter(|items| *items > 1).sum::<usize>() as u64
    }
}

impl Mechanism for OneCopy {
    const FACTS: Facts = Facts {
        id: "memory-optimized",
        number: 25,
        aliases: &["BFAH", "additional hashing"],
        family: "membership",
        text: Text::new(include_str!("memory_optimized.md")),
        errors: &[],
        note: NoteType::Bytes,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;

    const SPECIALS: &'static [Special<MemoryOptimized>] = &[
        Special::ask("reads", Takes::Key, "the buckets that a query of the key reads: none, or one", |table, key| {
            Ok(table.bucket_reads(key.key()?).into())
        }),
        Special::ask(
            "crowded",
            Takes::Nothing,
            "the items that share their bucket, and the share in theory",
            |table, _| {
                let OneCopy { array, keys, .. } = &table.mechanism;
                let theory = theory::buckets::shared(array.bits.len(), *keys);
                let row = vec![(*keys).into(), table.crowded().into(), Reply::Real(theory)];
                Ok(Reply::Table(&["items", "crowded", "share in theory"], vec![row]))
            },
        ),
        Special::act("rebuild", Takes::Nothing, "clears the bits that removed keys have left", |table, _| {
            table.rebuild();
            Ok(Reply::Done)
        }),
    ];

    type Settings = MemoryOptimizedSettings;

    fn resolve(asked: &MemoryOptimizedSettings) -> Result<MemoryOptimizedSettings> {
        let places = Self::places(asked)?;
        let (bits, hashes) = (Some(places.counters()), Some(places.hashes()));
        Ok(MemoryOptimizedSettings { bits, hashes, ..asked.clone() })
    }

    /// The plan takes keys and values to have 8 bytes each.
    fn plan(settings: &MemoryOptimizedSettings) -> Result<Plan> {
        let (places, items) = (Self::places(settings)?, settings.items);
        let of_items = items.unwrap_or(0).checked_mul(8 * (item_bytes::HEAD + 2 * PLANNED_BYTES));
        let bits = of_items.and_then(|bits| bits.checked_add(places.counters()));
        let bits = bits.ok_or_else(|| Error::TooLarge { what: "the table".into(), bytes: u128::from(u64::MAX) })?;
        Ok(Plan { bits, hashes: places.hashes(), items, fpr: None })
    }

    fn empty(settings: &MemoryOptimizedSettings, _: &Hashing) -> Result<Self> {
        let array = BitArray::zeroed(Self::places(settings)?)?;
        Ok(OneCopy { array, buckets: HashMap::new(), keys: 0, bytes: 0 })
    }

    fn domain(MemoryOptimizedSettings { bits, hashes, .. }: &MemoryOptimizedSettings) -> String {
        crate::parts::bit_array::domain(Self::FACTS.id, *bits, *hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        Stats {
            items,
            bits: self.array.bits.len() + 8 * (self.bytes + self.keys * item_bytes::HEAD),
            hashes: self.array.places.hashes(),
            fill: Some(self.array.bits.fill()),
            fpr: None,
            honest_fill: None,
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let reads = self.array.places.rate_of(&[self.array.bits.count_ones()]);
        vec![
            Figure { name: "bucket reads per absent key", value: Setting::Real(reads) },
            Figure { name: "items that share a bucket", value: Setting::Count(self.crowded()) },
        ]
    }

    fn expected(&self, _: u64) -> Rates {
        Rates::default()
    }

    /// Stores: the bits; the items in the order of their keys.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.bits(&self.array.bits);
        encoder.bytes(item_bytes::write(self.sorted().into_iter().map(|held| (&*held.key, &*held.value, held.copies))));
    }

    fn decode(settings: &MemoryOptimizedSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let places = Self::places(settings)?;
        let bits = decoder.bits(places.counters())?;
        let mut table = OneCopy { array: BitArray { places, bits }, buckets: HashMap::new(), keys: 0, bytes: 0 };
        let bytes = decoder.bytes()?;
        let hashing = Self::hashing(settings, decoder.config().hashing());
        let items = item_bytes::read(bytes, |key, value, copies| {
            // Without its secret a table can be looked at, but where its keys belong is not known.
            let mut bucket = 0;
            if hashing.is_usable() {
                let digest = key.digest(&hashing);
                if !table.array.all_set(digest) {
                    return Err(Error::corrupt("bits", "those of the items", "others"));
                }
                bucket = table.bucket(digest);
            }
            table.hold(bucket, Held { key: key.into(), value: value.into(), copies });
            Ok(())
        })?;
        Ok((table, items))
    }

    #[inline(always)]
    fn far(&self) -> Option<&dyn Far> {
        Some(&self.array)
    }
}

impl Test for OneCopy {
    /// Whether the key is in: the bucket knows.
    fn test(&self, key: Hashed<'_>) -> bool {
        self.held(key.bytes, key.digest).is_some()
    }
}

impl Put for OneCopy {
    type Note<'a> = &'a [u8];
    type Outcome = Result<bool>;

    /// Puts a value under a key, in the place of the one that it may have.
    fn put(&mut self, key: Hashed<'_>, value: &[u8]) -> Result<bool> {
        item_bytes::check(key.bytes, value)?;
        self.array.set_all(key.digest);
        let held = Held { key: key.bytes.into(), value: value.into(), copies: 1 };
        Ok(self.hold(self.bucket(key.digest), held))
    }
}

impl Take for OneCopy {
    /// The value says nothing: a key has one.
    type Note<'a> = &'a [u8];

    /// Takes one copy of a key out, and with the last its value. Its bits stay.
    fn take(&mut self, key: Hashed<'_>, _: &[u8]) -> Result<()> {
        let Some((bucket, Ok(at))) = self.find(key.bytes, key.digest) else { return Err(Error::NotPresent) };
        let Some(items) = self.buckets.get_mut(&bucket) else { return Err(Error::NotPresent) };
        if items[at].copies > 1 {
            items[at].copies -= 1;
            return Ok(());
        }
        let held = items.remove(at);
        if items.is_empty() {
            self.buckets.remove(&bucket);
        }
        self.bytes -= (held.key.len() + held.value.len()) as u64;
        self.keys -= 1;
        Ok(())
    }
}

impl Lookup for OneCopy {
    type Answer = Answer;

    fn lookup(&self, key: Hashed<'_>) -> Answer {
        let held = self.held(key.bytes, key.digest);
        held.map_or(Answer::Absent, |held| Answer::Value(Value::Bytes(held.value.to_vec())))
    }
}

impl Enumerate for OneCopy {
    fn enumerate(&self, _: &Hashing) -> Listing {
        let entry = |held: &Held| Entry {
            key: held.key.to_vec(),
            value: Some(Value::Bytes(held.value.to_vec())),
            count: i64::try_from(held.copies).unwrap_or(i64::MAX),
        };
        Listing { entries: self.sorted().into_iter().map(entry).collect(), undecoded: 0 }
    }
}

impl MemoryOptimized {
    /// A table of `bits` filter bits and as many buckets, `hashes` positions for each key.
    ///
    /// ```
    /// use bouquet::MemoryOptimized;
    /// assert_eq!(MemoryOptimized::with_size(1_000, 5)?.settings().hashes, Some(5));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(MemoryOptimizedSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }

    /// Puts a value under a key, in the place of the one that it may have, and says whether the key is new.
    ///
    /// ```
    /// use bouquet::MemoryOptimized;
    /// let mut colours = MemoryOptimized::with_rate(100, 0.01)?;
    /// assert!(colours.insert("rose", b"red")? && !colours.insert("rose", b"white")?);
    /// assert_eq!(colours.value("rose"), Some(b"white".as_slice()));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<bool> {
        self.insert_with(key, value)
    }

    /// Takes one copy of a key out, and with the last its value, or says [`Error::NotPresent`]. Its bits stay until the table is
    /// [rebuilt](Self::rebuild), and cost bucket reads.
    ///
    /// ```
    /// use bouquet::{Error, MemoryOptimized};
    /// let mut table = MemoryOptimized::with_rate(100, 0.01)?;
    /// table.insert("rose", b"red")?;
    /// table.remove("rose")?;
    /// assert!(matches!(table.remove("rose"), Err(Error::NotPresent)));
    /// assert_eq!(table.bucket_reads("rose"), 1);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.remove_with(key, b"")
    }

    /// The value of a key, without a copy.
    ///
    /// ```
    /// use bouquet::MemoryOptimized;
    /// let mut colours = MemoryOptimized::with_rate(100, 0.01)?;
    /// colours.insert("rose", b"red")?;
    /// assert_eq!((colours.value("rose"), colours.value("lily")), (Some(b"red".as_slice()), None));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn value<K: Key + ?Sized>(&self, key: &K) -> Option<&[u8]> {
        key.with_bytes(|bytes| self.mechanism.held(bytes, bytes.digest(&self.hashing))).map(|held| &*held.value)
    }

    /// The buckets that a query of the key reads: none when the filter rules it out, else one.
    ///
    /// ```
    /// use bouquet::MemoryOptimized;
    /// let mut table = MemoryOptimized::with_rate(100, 0.01)?;
    /// table.insert("rose", b"red")?;
    /// assert_eq!((table.bucket_reads("rose"), table.bucket_reads("thistle")), (1, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bucket_reads<K: Key + ?Sized>(&self, key: &K) -> u64 {
        u64::from(self.mechanism.array.all_set(key.digest(&self.hashing)))
    }

    /// The number of items that share their bucket with others.
    ///
    /// ```
    /// use bouquet::MemoryOptimized;
    /// let mut table = MemoryOptimized::with_size(1, 1)?;
    /// ["rose", "lily"].map(|key| table.insert(key, b""));
    /// assert_eq!(table.crowded(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn crowded(&self) -> u64 {
        self.mechanism.crowded()
    }

    /// The number of stored items: one for each key.
    ///
    /// ```
    /// use bouquet::MemoryOptimized;
    /// let mut table = MemoryOptimized::with_rate(100, 0.01)?;
    /// ["rose", "lily", "rose"].map(|key| table.insert(key, b""));
    /// assert_eq!(table.stored(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn stored(&self) -> u64 {
        self.mechanism.keys
    }

    /// Clears the bits that only removed keys have set.
    ///
    /// ```
    /// use bouquet::MemoryOptimized;
    /// let mut table = MemoryOptimized::with_rate(100, 0.01)?;
    /// table.insert("rose", b"red")?;
    /// table.remove("rose")?;
    /// table.rebuild();
    /// assert_eq!(table.bucket_reads("rose"), 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn rebuild(&mut self) {
        let OneCopy { array, buckets, .. } = &mut self.mechanism;
        array.bits.words_mut().fill(0);
        for held in buckets.values().flatten() {
            array.set_all((*held.key).digest(&self.hashing));
        }
    }

    /// The bits of the filter.
    ///
    /// ```
    /// use bouquet::MemoryOptimized;
    /// let mut table = MemoryOptimized::with_size(1_000, 5)?;
    /// table.insert("rose", b"red")?;
    /// assert_eq!(table.bits().count_ones(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &crate::store::BitStore {
        &self.mechanism.array.bits
    }
}

#[cfg(test)]
mod tests;
