#![doc = include_str!("redis_cuckoo.md")]

pub use self::chain::{CuckooShape, RedisCuckooChain};
use super::rows::{is_native, need_native};
use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::Hashing;
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Setting, Special, Stats, Takes, Text, kind,
};
use crate::shell::{Fields, Filter, Hashed, Mechanism, Put, Settings, Take, Tally, Test, fields};
use crate::theory::fingerprints::{cuckoo_rate, kicked_load};

pub(super) mod chain;

/// The registry's row.
pub const KIND: Kind = kind!(RedisCuckoo);

/// A RedisBloom cuckoo filter with frames, settings and verbs as every kind has them.
///
/// ```
/// use bouquet::foreign::{RedisCuckoo, RedisCuckooChain};
/// let mut flowers = RedisCuckoo::for_items(1_000)?;
/// flowers.insert_batch(&["rose", "rose", "lily"])?;
/// flowers.remove("lily")?;
/// assert_eq!((flowers.count("rose").count, flowers.contains("lily")), (2, false));
/// let dump = flowers.to_dump()?;
/// assert!(RedisCuckooChain::from_dump(&dump, u64::MAX)?.contains(b"rose"), "as a server with RedisBloom would read it");
/// assert_eq!(RedisCuckoo::from_dump(&dump)?.to_dump()?, dump);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type RedisCuckoo = Filter<RedisCuckooTables>;

const ITEMS: Parameter =
    Parameter::count("items", "keys that fit before the filter grows for the first time", 1, 1 << 50).or(1_024);
const BUCKETS: Parameter = Parameter::count(
    "buckets",
    "buckets of the first table, rounded up to a power of two; instead of items",
    1,
    1 << 55,
);
const SLOTS: Parameter = Parameter::count("slots", "slots in a bucket", 1, 255).or(2);
const MOVES: Parameter =
    Parameter::count("moves", "fingerprints that an insertion may move before the filter grows", 1, 65_535).or(20);
const EXPANSION: Parameter = Parameter::count(
    "expansion",
    "how many times larger each table is than the one before, rounded up to a power of two; 0 for a filter of one table",
    0,
    32_768,
)
.or(1);

/// With `items` keys, an insertion causes a second table less often than this.
const EARLY_GROWTH: f64 = 1e-6;

/// Bits of a fingerprint.
const FINGERPRINT: u32 = 8;

/// The settings of a RedisBloom cuckoo filter.
///
/// ```
/// use bouquet::foreign::{RedisCuckoo, RedisCuckooSettings};
/// let four = RedisCuckooSettings { buckets: Some(1_000), slots: Some(4), ..Default::default() };
/// assert_eq!(RedisCuckoo::with(four)?.settings().buckets, Some(1_024));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RedisCuckooSettings {
    /// Keys of the first table.
    pub items: Option<u64>,
    /// Buckets of the first table, instead.
    pub buckets: Option<u64>,
    /// Slots in a bucket.
    pub slots: Option<u32>,
    /// Moves of an insertion.
    pub moves: Option<u32>,
    /// The factor by which tables grow, 0 for none.
    pub expansion: Option<u32>,
}

impl Settings for RedisCuckooSettings {
    const FIELDS: Fields<Self> =
        fields![items: ITEMS, buckets: BUCKETS, slots: SLOTS, moves: MOVES, expansion: EXPANSION];
}

impl RedisCuckooSettings {
    fn shape(&self) -> Result<CuckooShape> {
        let [slots, moves, expansion] =
            [SLOTS.need(self.slots)?, MOVES.need(self.moves)?, EXPANSION.need(self.expansion)?];
        let load = kicked_load(slots, moves, EARLY_GROWTH);
        // Conversions saturate.
        let by_items = |items: u64| (items as f64 / (f64::from(slots) * load)).ceil() as u64;
        let buckets = match self.buckets {
            Some(buckets) => buckets,
            None => by_items(ITEMS.need(self.items)?),
        };
        Ok(CuckooShape {
            capacity: 0,
            buckets: buckets.max(1).checked_next_power_of_two().unwrap_or(u64::MAX),
            bucket_size: slots as u16,
            max_iterations: moves as u16,
            expansion: if expansion == 0 { 0 } else { expansion.next_power_of_two() as u16 },
        })
    }
}

/// A chain as RedisBloom has it, and how its keys are hashed.
#[derive(Clone, Debug, PartialEq)]
pub struct RedisCuckooTables {
    chain: RedisCuckooChain,
    /// Whether keys are hashed as RedisBloom does.
    is_native: bool,
}

impl RedisCuckooTables {
    #[inline]
    fn hash(&self, key: Hashed<'_>) -> u64 {
        if self.is_native { RedisCuckooChain::hash(key.bytes) } else { key.digest.h1 }
    }
}

/// The probability that one of this many keys is taken for another, when tables fill one after the other.
fn expected_rate(shape: &CuckooShape, keys: u64) -> f64 {
    let (slots, moves) = (u32::from(shape.bucket_size), u32::from(shape.max_iterations));
    let (mut left, mut buckets, mut free) = (keys, shape.buckets, 1.0);
    loop {
        let room = buckets.saturating_mul(slots.into());
        let filled = (room as f64 * kicked_load(slots, moves, 1.0 / room as f64)) as u64;
        // Tables of equal size are as one, whatever each of them holds.
        if shape.expansion <= 1 || left <= filled || buckets >= 1 << 48 {
            return 1.0 - free * (1.0 - cuckoo_rate(buckets, FINGERPRINT, left));
        }
        free *= 1.0 - cuckoo_rate(buckets, FINGERPRINT, filled);
        left -= filled;
        buckets = buckets.saturating_mul(shape.expansion.into());
    }
}

/// The share of fingerprints whose two buckets are one: the multiples of a number of buckets below 256.
fn doubled_share(buckets: u64) -> f64 {
    (chain::FINGERPRINTS / buckets.max(1)) as f64 / chain::FINGERPRINTS as f64
}

impl Mechanism for RedisCuckooTables {
    const FACTS: Facts = Facts {
        id: "redis-cuckoo",
        number: 301,
        aliases: &["redisbloom-cuckoo"],
        family: "foreign",
        text: Text::new(include_str!("redis_cuckoo.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;
    const OWN_ITEMS: bool = true;
    const SPECIALS: &'static [Special<RedisCuckoo>] = &[Special::act(
        "compact",
        Takes::Nothing,
        "moves fingerprints to older tables and gives back those that are empty then; replies how many are left",
        |filter, _| {
            filter.mechanism.chain.compact(true);
            Ok((filter.mechanism.chain.tables().len() as u64).into())
        },
    )];

    type Settings = RedisCuckooSettings;

    fn resolve(asked: &RedisCuckooSettings) -> Result<RedisCuckooSettings> {
        let shape = asked.shape()?;
        Ok(RedisCuckooSettings {
            items: asked.items,
            buckets: Some(shape.buckets),
            slots: Some(shape.bucket_size.into()),
            moves: Some(shape.max_iterations.into()),
            expansion: Some(shape.expansion.into()),
        })
    }

    fn plan(settings: &RedisCuckooSettings) -> Result<Plan> {
        let shape = settings.shape()?;
        let bytes = u128::from(shape.buckets) * u128::from(shape.bucket_size);
        let too_large = |_| Error::TooLarge { what: "the filter".into(), bytes };
        // RedisBloom computes places in 32 bits.
        let bits = 8 * u64::from(u32::try_from(bytes).map_err(too_large)?);
        let fpr = settings.items.map(|items| expected_rate(&shape, items));
        Ok(Plan { bits, hashes: 2, items: settings.items, fpr })
    }

    fn empty(settings: &RedisCuckooSettings, hashing: &Hashing) -> Result<Self> {
        let chain = RedisCuckooChain::new(&settings.shape()?, u64::MAX)?;
        Ok(RedisCuckooTables { chain, is_native: is_native(hashing) })
    }

    fn domain(settings: &RedisCuckooSettings) -> String {
        let number = |number: Option<u32>| number.unwrap_or(0);
        let &RedisCuckooSettings { buckets, slots, expansion, .. } = settings;
        format!("redis-cuckoo {} {} {}", buckets.unwrap_or(0), number(slots), number(expansion))
    }

    fn items(&self, _: u64) -> u64 {
        self.chain.items()
    }

    fn stats(&self, items: u64) -> Stats {
        let slots = self.chain.tables().map(|table| table.len() as u64).sum::<u64>();
        let fill = items as f64 / slots.max(1) as f64;
        Stats {
            items,
            bits: slots * 8,
            hashes: 2,
            fill: Some(fill),
            fpr: Some(self.chain.present_rate()),
            // Every copy of a key takes a slot.
            honest_fill: Some(fill),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let figure = |name, value| Figure { name, value: Setting::Count(value) };
        vec![figure("tables", self.chain.tables().len() as u64), figure("removed", self.chain.removed())]
    }

    fn expected(&self, items: u64) -> Rates {
        let shape = self.chain.shape();
        // Another key is counted with this one just when it would make it seem present.
        let counted = 1.0 - expected_rate(&shape, items.saturating_sub(1));
        Rates {
            false_positive: Some(expected_rate(&shape, items)),
            over_count: Some(1.0 - counted * (1.0 - doubled_share(shape.buckets))),
            ..Rates::default()
        }
    }

    /// State: items, removed keys, number of tables, 8 bytes each. Store: the tables, one behind the other.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        for number in [self.chain.items(), self.chain.removed(), self.chain.tables().len() as u64] {
            encoder.state().u64(number);
        }
        encoder.bytes(self.chain.tables().collect::<Vec<_>>().concat());
    }

    fn decode(settings: &RedisCuckooSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let is_native = is_native(decoder.config().hashing());
        let [items, removed, tables] = [decoder.state().u64()?, decoder.state().u64()?, decoder.state().u64()?];
        let chain = of_tables(&settings.shape()?, [items, removed, tables], decoder.bytes()?)?;
        Ok((RedisCuckooTables { chain, is_native }, 0))
    }
}

/// The chain of these tables, one behind the other.
fn of_tables(shape: &CuckooShape, [items, removed, count]: [u64; 3], bytes: &[u8]) -> Result<RedisCuckooChain> {
    let (mut rest, mut tables) = (bytes, Vec::new());
    let mut buckets = shape.buckets;
    while !rest.is_empty() || tables.is_empty() {
        let len = buckets.checked_mul(shape.bucket_size.into()).and_then(|len| usize::try_from(len).ok());
        let split = len.and_then(|len| rest.split_at_checked(len));
        let (table, after) =
            split.ok_or_else(|| Error::corrupt("the bytes of the tables", "whole tables", bytes.len()))?;
        tables.push(table.to_vec());
        rest = after;
        buckets = buckets.saturating_mul(shape.expansion.into());
    }
    if tables.len() as u64 != count {
        return Err(Error::corrupt("the number of tables", tables.len(), count));
    }
    let chain = RedisCuckooChain::from_parts(shape, items, removed, tables)?;
    if chain.used() == items { Ok(chain) } else { Err(Error::corrupt("the slots in use", items, chain.used())) }
}

impl Test for RedisCuckooTables {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.chain.holds(self.hash(key))
    }
}

impl Put for RedisCuckooTables {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    /// [`Error::Full`] for a filter that does not grow.
    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> Result<bool> {
        let hash = self.hash(key);
        let fresh = !self.chain.holds(hash);
        self.chain.put(hash, u64::MAX).map(|()| fresh)
    }
}

impl Take for RedisCuckooTables {
    type Note<'a> = ();

    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        if self.chain.take(self.hash(key)) { Ok(()) } else { Err(Error::NotPresent) }
    }
}

impl Tally for RedisCuckooTables {
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        Multiplicity { count: self.chain.copies(self.hash(key)), at_least: false }
    }
}

impl RedisCuckoo {
    /// A filter for this many keys, which grows if more come.
    ///
    /// ```
    /// use bouquet::foreign::RedisCuckoo;
    /// assert_eq!(RedisCuckoo::for_items(1_000)?.settings().buckets, Some(1_024));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn for_items(items: u64) -> Result<Self> {
        Self::with(RedisCuckooSettings { items: Some(items), ..Default::default() })
    }

    /// The filter of a dump: what `CF.SCANDUMP` gives, header and chunks behind each other.
    pub fn from_dump(dump: &[u8]) -> Result<Self> {
        let chain = RedisCuckooChain::from_dump(dump, u64::MAX)?;
        same("items and slots in use", chain.items(), chain.used())?;
        let shape = chain.shape();
        let settings = RedisCuckooSettings {
            items: None,
            buckets: Some(shape.buckets),
            slots: Some(shape.bucket_size.into()),
            moves: Some(shape.max_iterations.into()),
            expansion: Some(shape.expansion.into()),
        };
        settings.check()?;
        Ok(Self::of_parts(RedisCuckooTables { chain, is_native: true }, settings, &Hashing::default(), 0))
    }

    /// The dump that `CF.LOADCHUNK` takes in parts. Refuses a filter with a seed or a secret, whose keys RedisBloom would not find.
    pub fn to_dump(&self) -> Result<Vec<u8>> {
        need_native(self.mechanism.is_native)?;
        Ok(self.mechanism.chain.dump())
    }
}
