#![doc = include_str!("pruned_counting.md")]

use crate::capability::{Answer, NoteType, Value};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::kind::{Facts, Kind, Plan, Rates, Special, Stats, Takes, Text, kind};
use crate::parts::counter_array::Places;
use crate::parts::item_bytes;
use crate::shell::{Filter, Hashed, Lookup, Mechanism, Put, Take, Test};
use crate::store::{Counters, Words};

mod items;
mod settings;
mod tuple_space;

use settings::{MODE, WIDTH, places};
pub use settings::{Mode, PrunedCountingSettings};
pub use tuple_space::Prefix;

/// The registry's row.
pub const KIND: Kind = kind!(PrunedCounting);

/// A hash table with a counting filter and pruned buckets.
///
/// ```
/// use bouquet::PrunedCounting;
/// let mut petals = PrunedCounting::with_capacity(1_000)?;
/// petals.insert("rose", b"five")?;
/// assert_eq!(petals.value("rose"), Some(b"five".as_slice()));
/// assert_eq!(petals.value("lily"), None);
/// petals.remove("rose")?;
/// assert!(!petals.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type PrunedCounting = Filter<Pruned>;

/// Bits of a boost.
const BOOST_BITS: u32 = 8;

/// What a plan takes a key, or a value, to be.
const PLANNED_BYTES: u64 = 8;

/// A key with its value, in the table.
#[derive(Clone, Debug)]
struct Held {
    key: Box<[u8]>,
    value: Box<[u8]>,
    /// How often it was inserted and not removed.
    copies: u64,
    places: Box<[u64]>,
    home: u64,
    /// The next item in the same home, and for each place the next item that is hashed there: numbers plus 1, 0 at the end.
    next_at_home: u64,
    next_hashed: Box<[u64]>,
}

/// Items in buckets, and a counter for each bucket.
#[derive(Clone, Debug)]
pub struct Pruned {
    places: Places,
    counters: Counters,
    /// What is added to the counters when homes are chosen.
    boosts: Option<Counters>,
    mode: Mode,
    /// The items by number, with the numbers that are free.
    held: Vec<Option<Held>>,
    free: Vec<usize>,
    /// For each bucket the first item at home there, and the first that is hashed there: numbers plus 1.
    at_home: Words,
    hashed: Words,
    /// Bytes of keys and values.
    bytes: u64,
}

/// Two tables are equal when they hold the same in the same way; the order of the items means nothing.
impl PartialEq for Pruned {
    fn eq(&self, other: &Self) -> bool {
        (self.places, self.mode) == (other.places, other.mode)
            && self.counters == other.counters
            && self.boosts == other.boosts
            && self.sorted().into_iter().map(parts).eq(other.sorted().into_iter().map(parts))
    }
}

fn parts(held: &Held) -> (&[u8], &[u8], u64) {
    (&held.key, &held.value, held.copies)
}

impl Mechanism for Pruned {
    const FACTS: Facts = Facts {
        id: "pruned-counting",
        number: 69,
        aliases: &["FHT", "fast-hash-table", "pruned-fht"],
        family: "counting",
        text: Text::new(include_str!("pruned_counting.md")),
        errors: &[],
        note: NoteType::Bytes,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;

    const SPECIALS: &'static [Special<PrunedCounting>] = &[
        Special::ask("crowded", Takes::Nothing, "the items beyond the first of their bucket", |table, _| {
            Ok(table.crowded().into())
        }),
        Special::act(
            "balance",
            Takes::Number,
            "drives items out of crowded buckets, by at most this many boosts, and tells how many it took",
            |table, argument| Ok(table.balance(argument.number()?)?.into()),
        ),
        tuple_space::ADD_RULE,
        tuple_space::REMOVE_RULE,
        tuple_space::BEST_RULE,
        tuple_space::TUPLE_TABLE,
    ];

    type Settings = PrunedCountingSettings;

    fn resolve(asked: &PrunedCountingSettings) -> Result<PrunedCountingSettings> {
        asked.resolved()
    }

    /// The plan takes keys and values to have 8 bytes each.
    fn plan(settings: &PrunedCountingSettings) -> Result<Plan> {
        let (places, width, items) = (places(settings)?, WIDTH.need(settings.width)?, settings.items);
        let bytes = items.unwrap_or(0).checked_mul(item_bytes::HEAD + 2 * PLANNED_BYTES);
        let bits =
            bytes.and_then(|bytes| bytes.checked_mul(8)?.checked_add(places.counters().checked_mul(width.into())?));
        let bits = bits.ok_or_else(|| Error::TooLarge { what: "the table".into(), bytes: u128::from(u64::MAX) })?;
        Ok(Plan { bits, hashes: places.hashes(), items, fpr: None })
    }

    fn empty(settings: &PrunedCountingSettings, _: &Hashing) -> Result<Self> {
        let places = places(settings)?;
        Ok(Pruned {
            at_home: Words::zeroed(places.counters())?,
            hashed: Words::zeroed(places.counters())?,
            counters: Counters::zeroed(places.counters(), WIDTH.need(settings.width)?)?,
            places,
            boosts: None,
            mode: MODE.need(settings.mode)?,
            held: Vec::new(),
            free: Vec::new(),
            bytes: 0,
        })
    }

    fn domain(settings: &PrunedCountingSettings) -> String {
        places(settings).map_or(String::new(), |places| places.domain())
    }

    fn stats(&self, items: u64) -> Stats {
        let used = self.counters.count_nonzero() as f64 / self.buckets() as f64;
        let boosts = self.boosts.as_ref().map_or(0, Counters::bits);
        Stats {
            items,
            bits: self.counters.bits() + boosts + 8 * (self.bytes + self.len() as u64 * item_bytes::HEAD),
            hashes: self.places.hashes(),
            fill: Some(used),
            fpr: None,
            honest_fill: None,
        }
    }

    fn expected(&self, _items: u64) -> Rates {
        Rates::default()
    }

    /// State: 1 if there are boosts. Stores: counters; boosts, if there are any; items in the order of their keys, each its
    /// lengths of key and value (4 bytes each), its number of copies (8 bytes), its key and its value.
    fn encode<'a>(&'a self, _items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u8(u8::from(self.boosts.is_some()));
        encoder.counters(&self.counters);
        if let Some(boosts) = &self.boosts {
            encoder.counters(boosts);
        }
        encoder.bytes(self.items_to_bytes());
    }

    fn decode(settings: &PrunedCountingSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let mut table = Self::empty(settings, decoder.config().hashing())?;
        let has_boosts = decoder.state().u8()?;
        if has_boosts > 1 {
            return Err(Error::corrupt("boosts", "0 or 1", has_boosts));
        }
        let counters = decoder.counters(table.buckets(), table.counters.width())?;
        let boosts = if has_boosts == 1 { Some(decoder.counters(table.buckets(), BOOST_BITS)?) } else { None };
        let bytes = decoder.bytes()?;
        let hashing = Self::hashing(settings, decoder.config().hashing());
        let items = table.read_items(bytes, &hashing)?;
        // A counter that has reached its end may have been left there by keys that are gone.
        let frozen = counters.max();
        let fits = |(given, own)| given == own || given == frozen;
        if hashing.is_usable() && !counters.iter().zip(table.counters.iter()).all(fits) {
            return Err(Error::corrupt("counters", "those of the items", "others"));
        }
        (table.counters, table.boosts) = (counters, boosts);
        (0..table.held.len()).for_each(|number| table.rehome(number));
        Ok((table, items))
    }
}

impl Test for Pruned {
    fn test(&self, key: Hashed<'_>) -> bool {
        self.find(key.bytes, key.digest).is_some()
    }
}

impl Put for Pruned {
    type Note<'a> = &'a [u8];
    type Outcome = Result<bool>;

    /// Puts a value under a key, in the place of the one that it may have.
    fn put(&mut self, key: Hashed<'_>, value: &[u8]) -> Result<bool> {
        self.insert(key.bytes, key.digest, value, 1)
    }
}

impl Take for Pruned {
    /// The value says nothing: a key has one.
    type Note<'a> = &'a [u8];

    /// Takes one copy of a key out, and with the last its value.
    fn take(&mut self, key: Hashed<'_>, _: &[u8]) -> Result<()> {
        let number = self.find(key.bytes, key.digest).ok_or(Error::NotPresent)?;
        match &mut self.held[number] {
            Some(held) if held.copies > 1 => held.copies -= 1,
            _ => self.drop_item(number),
        }
        Ok(())
    }
}

impl Lookup for Pruned {
    type Answer = Answer;

    fn lookup(&self, key: Hashed<'_>) -> Answer {
        let value = self.value(key.bytes, key.digest);
        value.map_or(Answer::Absent, |value| Answer::Value(Value::Bytes(value.to_vec())))
    }
}

impl PrunedCounting {
    /// A table for `items` keys: 12.8 buckets for each, k = 9, counters of 4 bits.
    ///
    /// ```
    /// use bouquet::PrunedCounting;
    /// assert_eq!(PrunedCounting::with_capacity(10_000)?.settings().counters, Some(128_000));
    /// assert!(PrunedCounting::with_capacity(0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_capacity(items: u64) -> Result<Self> {
        Self::with(PrunedCountingSettings { items: Some(items), ..Default::default() })
    }

    /// A table of `buckets` buckets, `hashes` of them for each key, with counters of 4 bits.
    ///
    /// ```
    /// use bouquet::PrunedCounting;
    /// assert_eq!(PrunedCounting::with_size(1_000, 5)?.settings().width, Some(4));
    /// assert!(PrunedCounting::with_size(1_000, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(buckets: u64, hashes: u32) -> Result<Self> {
        Self::with(PrunedCountingSettings { counters: Some(buckets), hashes: Some(hashes), ..Default::default() })
    }

    /// Puts a value under a key, in the place of the one that it may have, and says whether the key is new.
    ///
    /// ```
    /// use bouquet::PrunedCounting;
    /// let mut colours = PrunedCounting::with_capacity(100)?;
    /// assert!(colours.insert("rose", b"red")?);
    /// assert!(!colours.insert("rose", b"white")?);
    /// assert_eq!(colours.value("rose"), Some(b"white".as_slice()));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<bool> {
        self.insert_with(key, value)
    }

    /// Takes one copy of a key out, and with the last its value, or says [`Error::NotPresent`].
    ///
    /// ```
    /// use bouquet::{Error, PrunedCounting};
    /// let mut table = PrunedCounting::with_capacity(100)?;
    /// table.insert("rose", b"red")?;
    /// table.remove("rose")?;
    /// assert!(matches!(table.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.remove_with(key, b"")
    }

    /// The value of a key, without a copy.
    ///
    /// ```
    /// use bouquet::PrunedCounting;
    /// let mut colours = PrunedCounting::with_capacity(100)?;
    /// colours.insert("rose", b"red")?;
    /// assert_eq!((colours.value("rose"), colours.value("lily")), (Some(b"red".as_slice()), None));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn value<K: Key + ?Sized>(&self, key: &K) -> Option<&[u8]> {
        key.with_bytes(|bytes| self.mechanism.value(bytes, bytes.digest(&self.hashing)))
    }

    /// The number of keys.
    ///
    /// ```
    /// use bouquet::PrunedCounting;
    /// let mut table = PrunedCounting::with_capacity(100)?;
    /// table.insert("rose", b"red")?;
    /// table.insert("rose", b"white")?;
    /// assert_eq!(table.len(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.mechanism.len()
    }

    /// Whether there is no key.
    ///
    /// ```
    /// use bouquet::PrunedCounting;
    /// assert!(PrunedCounting::with_capacity(100)?.is_empty());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys with their values, in no particular order.
    ///
    /// ```
    /// use bouquet::PrunedCounting;
    /// let mut table = PrunedCounting::with_capacity(100)?;
    /// table.insert("rose", b"red")?;
    /// assert!(table.iter().eq([(b"rose".as_slice(), b"red".as_slice())]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + '_ {
        self.mechanism.held.iter().flatten().map(|held| (&*held.key, &*held.value))
    }
}

#[cfg(test)]
mod tests;
