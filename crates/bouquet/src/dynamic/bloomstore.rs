#![doc = include_str!("bloomstore.md")]

use crate::capability::{Answer, Entry, Listing, NoteType, Value};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::kind::{
    Facts, Figure, Kind, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, common, kind,
};
use crate::parts::pages::{HEADER, MOST_OPERATIONS, MemoryPages, Pages};
use crate::shell::{
    Assign, Enumerate, Expand, Fields, Filter, Hashed, Lookup, Mechanism, Put, Settings, Take, Test, fields,
};
use crate::theory::MAX_HASHES;
use crate::theory::paged;

mod engine;
pub mod file;
mod instance;
mod log;
mod pairs;
mod snapshot;

use engine::Engine;
use instance::{CHAIN, LANES, Shape};

/// The registry's row.
pub const KIND: Kind = kind!(Bloomstore);

/// A key-value store whose pages lie in memory; [`BloomstoreFile`](file::BloomstoreFile) has the same in files.
///
/// ```
/// use bouquet::{Bloomstore, capability::{Answer, Value}};
/// let mut store = Bloomstore::with_items(10_000)?;
/// assert!(store.insert("rose", b"red")? && !store.insert("rose", b"white")?);
/// assert_eq!(store.get("rose"), Answer::Value(Value::Bytes(b"white".to_vec())));
/// store.remove_key("rose")?;
/// assert_eq!((store.get("rose"), store.items()), (Answer::Absent, 0));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Bloomstore = Filter<PairPages>;

/// The number of the kind, in frames and in manifests.
const FACTS_NUMBER: u16 = 106;

const ITEMS: Parameter = Parameter { help: "keys that are expected; there is room for more", ..common::ITEMS };
const PAGE: Parameter = Parameter::count("page", "bytes of a page, a multiple of 64", 512, 1 << 16).or(4096);
const BITS_PER_KEY: Parameter =
    Parameter::real("bits-per-key", "least bits of a page's filter for each of its keys", 1.0, 128.0).or_real(15.2);
const PAIR: Parameter = Parameter::count(
    "pair",
    "bytes of the largest pair in a data page, its header of 5 included; larger ones lie in pages of their own; an eighth \
     of a page if not given",
    32,
    1 << 16,
);
const INSTANCES: Parameter = Parameter::count(
    "instances",
    "parts of the key space, each with buffers of two pages in memory; as many as the items need for chains of 8 pages \
     if not given",
    1,
    1 << 32,
);

/// The settings of a store.
///
/// ```
/// use bouquet::{Bloomstore, BloomstoreSettings};
/// let store = Bloomstore::with(BloomstoreSettings { items: Some(1_000_000), ..Default::default() })?;
/// assert_eq!((store.settings().instances, store.settings().hashes), (Some(63), Some(10)));
/// let odd = BloomstoreSettings { page: Some(1_000), ..Default::default() };
/// assert!(Bloomstore::with(odd).is_err(), "no multiple of 64");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BloomstoreSettings {
    /// Keys that are expected.
    pub items: Option<u64>,
    /// Bytes of a page.
    pub page: Option<u64>,
    /// Bits of a filter per key.
    pub bits_per_key: Option<f64>,
    /// k.
    pub hashes: Option<u32>,
    /// Bytes of the largest pair in a data page.
    pub pair: Option<u64>,
    /// Parts of the key space.
    pub instances: Option<u64>,
}

impl Settings for BloomstoreSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        page: PAGE,
        bits_per_key: BITS_PER_KEY,
        hashes: common::HASHES,
        pair: PAIR,
        instances: INSTANCES,
    ];
}

/// The shape of settings, resolved or not.
fn shape_of(settings: &BloomstoreSettings) -> Result<Shape> {
    settings.check()?;
    shape(&PairPages::resolve(settings)?)
}

/// The shape of resolved settings.
fn shape(settings: &BloomstoreSettings) -> Result<Shape> {
    let page = PAGE.need(settings.page)? as usize;
    Ok(Shape {
        page,
        pair: PAIR.need(settings.pair)? as usize,
        pairs: pairs_of(page, BITS_PER_KEY.need(settings.bits_per_key)?),
        hashes: common::HASHES.need(settings.hashes)?,
        instances: INSTANCES.need(settings.instances)?,
    })
}

/// Pairs of a page whose filter has at least this many bits for each.
fn pairs_of(page: usize, bits_per_key: f64) -> u32 {
    (Shape::positions(page) as f64 / bits_per_key).max(1.0) as u32
}

/// Pages of pairs, and their filters.
#[derive(Clone, Debug, PartialEq)]
pub struct PairPages {
    engine: Engine<MemoryPages>,
    hashing: Hashing,
    /// Keys that are there.
    keys: u64,
}

impl PairPages {
    /// The same pairs without what was replaced or removed.
    fn rewrite(&mut self, instances: u64) -> Result<()> {
        let pages = MemoryPages::new(self.engine.shape.page);
        let meters = self.engine.meters.clone();
        (self.engine, self.keys) = self.engine.rewritten(pages, instances, &self.hashing)?;
        meters.writes.add(self.engine.meters.writes.get());
        self.engine.meters = meters;
        Ok(())
    }

    /// Writes a pair, or that a key is removed.
    fn write(&mut self, key: Hashed<'_>, value: Option<&[u8]>) -> Result<()> {
        if self.engine.is_crowded() {
            let shape = self.engine.shape;
            // Twice as many if the keys need them; otherwise what was replaced fills the pages.
            let times = if self.keys > shape.capacity() / 2 { 2 } else { 1 };
            self.rewrite(shape.instances * times)?;
        }
        self.engine.put(key, value)
    }
}

impl Mechanism for PairPages {
    const FACTS: Facts = Facts {
        id: "bloomstore",
        number: FACTS_NUMBER,
        aliases: &["bloom-store"],
        family: "dynamic",
        text: Text::new(include_str!("bloomstore.md")),
        errors: &[],
        note: NoteType::Bytes,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;
    const OWN_ITEMS: bool = true;

    const SPECIALS: &'static [Special<Filter<Self>>] = &[
        Special::ask("page-reads", Takes::Key, "the pages that a lookup of the key reads", |store, argument| {
            Ok(store.page_reads(argument.key()?).into())
        }),
        Special::act(
            "compact",
            Takes::Nothing,
            "writes the pages anew, without what was replaced or removed",
            |store, _| store.compact().map(|()| Reply::Done),
        ),
    ];

    type Settings = BloomstoreSettings;

    fn resolve(asked: &BloomstoreSettings) -> Result<BloomstoreSettings> {
        let page = PAGE.need(asked.page)?;
        if !page.is_multiple_of(64) {
            return Err(Error::parameter("page", "a multiple of 64 bytes", page));
        }
        let pair = asked.pair.unwrap_or(page / 8);
        let room = page - HEADER as u64;
        if pair > room {
            return Err(Error::parameter("pair", format!("at most {room} bytes, the room in a page"), pair));
        }
        let bits_per_key = BITS_PER_KEY.need(asked.bits_per_key)?;
        let hashes = asked.hashes.unwrap_or(paged::hashes(bits_per_key).min(MAX_HASHES));
        let each =
            Shape { page: page as usize, pair: 0, pairs: pairs_of(page as usize, bits_per_key), hashes, instances: 1 };
        let instances = asked.instances.unwrap_or(asked.items.unwrap_or(1).div_ceil(each.capacity()).max(1));
        Ok(BloomstoreSettings {
            items: asked.items,
            page: Some(page),
            bits_per_key: Some(bits_per_key),
            hashes: Some(hashes),
            pair: Some(pair),
            instances: Some(instances),
        })
    }

    fn plan(settings: &BloomstoreSettings) -> Result<Plan> {
        let shape = shape(settings)?;
        let data = settings.items.map_or(0, |items| items.div_ceil(shape.pairs.into()));
        let pages = u128::from(data) + u128::from(data / u64::from(LANES)) + 2 * u128::from(shape.instances);
        let bytes = pages * shape.page as u128;
        let bits = u64::try_from(8 * bytes).map_err(|_| Error::TooLarge { what: "the store".into(), bytes })?;
        Ok(Plan { bits, hashes: shape.hashes, items: settings.items, fpr: None })
    }

    fn empty(settings: &BloomstoreSettings, hashing: &Hashing) -> Result<Self> {
        let shape = shape(settings)?;
        let engine = Engine::new(shape, MemoryPages::new(shape.page))?;
        Ok(PairPages { engine, hashing: Self::hashing(settings, hashing), keys: 0 })
    }

    fn domain(settings: &BloomstoreSettings) -> String {
        format!("bloomstore {} {}", settings.page.unwrap_or(0), settings.hashes.unwrap_or(0))
    }

    fn settings(&self, resolved: &BloomstoreSettings) -> BloomstoreSettings {
        BloomstoreSettings { instances: Some(self.engine.shape.instances), ..resolved.clone() }
    }

    fn items(&self, _: u64) -> u64 {
        self.keys
    }

    fn stats(&self, items: u64) -> Stats {
        let pages = self.engine.pages.len() + 2 * self.engine.shape.instances;
        let bits = pages * self.engine.shape.page as u64 * 8;
        Stats { items, bits, hashes: self.engine.shape.hashes, fill: None, fpr: None, honest_fill: None }
    }

    fn figures(&self) -> Vec<Figure> {
        let (engine, meters) = (&self.engine, &self.engine.meters);
        let figures = [
            ("data pages", engine.data_pages()),
            ("chain pages", engine.chain_pages()),
            ("data page reads", meters.data_reads.get()),
            ("chain page reads", meters.chain_reads.get()),
            ("page writes", meters.writes.get()),
        ];
        figures.map(|(name, value)| Figure { name, value: Setting::Count(value) }).to_vec()
    }

    fn expected(&self, _: u64) -> Rates {
        Rates::default()
    }

    /// State: operations, 8 bytes. Stores: the pages; the buffers.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.engine.sequence);
        encoder.bytes(self.engine.pages.bytes().to_vec());
        encoder.bytes(self.engine.buffers());
    }

    fn decode(settings: &BloomstoreSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = shape(settings)?;
        let sequence = decoder.state().u64()?.min(MOST_OPERATIONS);
        let pages = MemoryPages::from_bytes(shape.page, decoder.bytes()?)?;
        let (engine, keys) = Engine::from_parts(shape, pages, decoder.bytes()?, sequence)?;
        let hashing = Self::hashing(settings, decoder.config().hashing());
        Ok((PairPages { engine, hashing, keys }, 0))
    }
}

impl Test for PairPages {
    fn test(&self, key: Hashed<'_>) -> bool {
        // Pages in memory were checked when they came there: nothing is refused.
        self.engine.get(key, false).is_ok_and(|found| found.is_some())
    }
}

impl Lookup for PairPages {
    type Answer = Answer;

    fn lookup(&self, key: Hashed<'_>) -> Answer {
        match self.engine.get(key, true) {
            Ok(Some(value)) => Answer::Value(Value::Bytes(value)),
            Ok(None) => Answer::Absent,
            Err(_) => Answer::Unknown,
        }
    }
}

impl Put for PairPages {
    type Note<'a> = &'a [u8];
    type Outcome = Result<bool>;

    fn put(&mut self, key: Hashed<'_>, value: &[u8]) -> Result<bool> {
        let is_new = !self.test(key);
        self.write(key, Some(value))?;
        self.keys += u64::from(is_new);
        Ok(is_new)
    }
}

impl Assign for PairPages {
    type Note<'a> = &'a [u8];

    fn assign(&mut self, key: Hashed<'_>, value: &[u8]) -> Result<()> {
        if self.test(key) { self.write(key, Some(value)) } else { Err(Error::NotPresent) }
    }
}

impl Take for PairPages {
    /// Whatever value comes with the key, the key goes.
    type Note<'a> = &'a [u8];

    fn take(&mut self, key: Hashed<'_>, _: &[u8]) -> Result<()> {
        if !self.test(key) {
            return Err(Error::NotPresent);
        }
        self.write(key, None)?;
        self.keys = self.keys.saturating_sub(1);
        Ok(())
    }
}

impl Enumerate for PairPages {
    fn enumerate(&self, _: &Hashing) -> Listing {
        let mut entries = Vec::new();
        let listed = self.engine.for_each(|key, value| {
            entries.push(Entry { key: key.to_vec(), value: Some(Value::Bytes(value.to_vec())), count: 1 });
            Ok(())
        });
        Listing { entries, undecoded: u64::from(listed.is_err()) }
    }
}

impl Expand for PairPages {
    fn capacity(&self) -> u64 {
        self.engine.shape.capacity()
    }

    fn expand(&mut self) -> Result<()> {
        let instances = self.engine.shape.instances;
        self.rewrite(INSTANCES.need(Some(instances.saturating_mul(2)))?)
    }
}

impl Bloomstore {
    /// A store for about this many keys, with pages of 4 KiB.
    ///
    /// ```
    /// use bouquet::Bloomstore;
    /// assert_eq!(Bloomstore::with_items(100_000)?.settings().instances, Some(7));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_items(items: u64) -> Result<Self> {
        Self::with(BloomstoreSettings { items: Some(items), ..Default::default() })
    }

    /// A store of this many instances and pages of this many bytes.
    ///
    /// ```
    /// use bouquet::Bloomstore;
    /// let store = Bloomstore::with_size(2, 8192)?;
    /// assert_eq!(store.stats().bits, 2 * 2 * 8192 * 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(instances: u64, page: u64) -> Result<Self> {
        Self::with(BloomstoreSettings { instances: Some(instances), page: Some(page), ..Default::default() })
    }

    /// Gives a key a value; tells whether the key is new.
    ///
    /// ```
    /// use bouquet::Bloomstore;
    /// let mut store = Bloomstore::with_items(100)?;
    /// assert!(store.insert("rose", &[7; 100_000])?, "large pairs have pages of their own");
    /// assert!(store.contains("rose") && !store.contains("lily"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<bool> {
        self.insert_with(key, value)
    }

    /// Removes a key, or says [`Error::NotPresent`].
    ///
    /// ```
    /// use bouquet::{Bloomstore, Error};
    /// let mut store = Bloomstore::with_items(100)?;
    /// store.insert("rose", b"red")?;
    /// store.remove_key("rose")?;
    /// assert!(matches!(store.remove_key("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn remove_key<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.remove_with(key, b"")
    }

    /// Writes the pages anew, without pairs that were replaced or removed.
    ///
    /// ```
    /// use bouquet::Bloomstore;
    /// let mut store = Bloomstore::with_items(1_000)?;
    /// for key in 0..10_000u64 {
    ///     store.insert(&(key % 100), b"again and again")?;
    /// }
    /// let before = store.stats().bits;
    /// store.compact()?;
    /// assert!(store.stats().bits < before / 10 && store.items() == 100);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn compact(&mut self) -> Result<()> {
        self.mechanism.rewrite(self.mechanism.engine.shape.instances)
    }

    /// The pages that a lookup of this key reads.
    ///
    /// ```
    /// use bouquet::Bloomstore;
    /// let mut store = Bloomstore::with_items(10_000)?;
    /// (0..10_000u64).try_for_each(|key| store.insert(&key, b"red").map(drop))?;
    /// assert!(store.page_reads(&3u64) >= 1 && store.page_reads("absent") <= 4 + 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn page_reads<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let meters = &self.mechanism.engine.meters;
        let reads = || meters.data_reads.get() + meters.chain_reads.get() + meters.overflow_reads.get();
        let before = reads();
        let _ = self.get(key);
        reads() - before
    }

    /// What theory says of it with this many data pages: see [`theory::paged`](crate::theory::paged).
    ///
    /// ```
    /// use bouquet::Bloomstore;
    /// let misses = Bloomstore::with_items(1_000_000)?.filter_rate();
    /// assert!((misses - 0.000_678).abs() < 1e-6, "63 keys in 960 bits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn filter_rate(&self) -> f64 {
        let shape = self.mechanism.engine.shape;
        paged::filter_rate(Shape::positions(shape.page), shape.hashes, shape.pairs.into())
    }

    /// Chain pages of an instance, at most, before it is split.
    ///
    /// ```
    /// assert_eq!(bouquet::Bloomstore::LONGEST_CHAIN, 8);
    /// ```
    pub const LONGEST_CHAIN: u64 = CHAIN;
}

#[cfg(test)]
mod tests;
