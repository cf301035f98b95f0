#![doc = include_str!("redis_top_k.md")]

pub use self::sketch::{Heavy, RedisTopKSketch};
use super::payload::{Payload, Writer};
use super::rows::{RowHash, is_native, need_native};
use crate::capability::{Frequent, Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Reply, Special, Stats, Takes, Text, kind};
use crate::shell::{Amount, Fields, Filter, Hashed, Mechanism, Put, Rank, Settings, Tally, fields};
use crate::theory::fingerprints::collision_rate;

pub(super) mod sketch;

/// The registry's row.
pub const KIND: Kind = kind!(RedisTopK);

/// RedisBloom's most frequent keys with frames, settings and verbs as every kind has them.
///
/// ```
/// use bouquet::{foreign::RedisTopK, shell::Amount};
/// let mut flowers = RedisTopK::with_size(2, 100, 7)?;
/// for (name, times) in [("rose", 5), ("lily", 3), ("iris", 1)] {
///     flowers.insert_with(name, Amount(times))?;
/// }
/// let names: Vec<_> = flowers.top().into_iter().map(|flower| flower.key).collect();
/// assert_eq!(names, [b"rose", b"lily"]);
/// assert_eq!(RedisTopK::from_dump(&flowers.to_dump()?)?.top(), flowers.top());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type RedisTopK = Filter<RedisHeavy>;

const TOP: Parameter = Parameter::count("top", "keys that are kept by name", 1, 1 << 20).or(10);
const WIDTH: Parameter =
    Parameter::count("width", "counters in a row; top times its logarithm when not given", 1, u32::MAX as u64);
const ROWS: Parameter = Parameter::count("rows", "rows of counters", 1, 1_100).or(7);
const DECAY: Parameter =
    Parameter::real("decay", "base of the probability that another key's counter loses one", 0.0, 1.0).or_real(0.9);

/// The least width that follows by itself: RedisBloom's own.
const LEAST_WIDTH: u32 = 8;

/// How often a key may come at once, as in RedisBloom: each occurrence may take one from another's counter.
const MOST_AT_ONCE: u64 = 100_000;

/// Bits of a counter with its fingerprint, and of a place in the list without its name.
const CELL: u64 = 64;
const PLACE: u64 = 96;

/// The length of the name in a place that was never taken.
const NOBODY: u32 = u32::MAX;

/// The settings of RedisBloom's most frequent keys.
///
/// ```
/// use bouquet::foreign::{RedisTopK, RedisTopKSettings};
/// let hundred = RedisTopKSettings { top: Some(100), ..Default::default() };
/// assert_eq!(RedisTopK::with(hundred)?.settings().width, Some(461), "100 ln 100");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RedisTopKSettings {
    /// Keys that are kept by name.
    pub top: Option<u32>,
    /// Counters in a row.
    pub width: Option<u32>,
    /// Rows.
    pub rows: Option<u32>,
    /// The base of the probability that a counter loses one.
    pub decay: Option<f64>,
}

impl Settings for RedisTopKSettings {
    const FIELDS: Fields<Self> = fields![top: TOP, width: WIDTH, rows: ROWS, decay: DECAY];
}

impl RedisTopKSettings {
    fn shape(&self) -> Result<(u32, u32, u32, f64)> {
        let top = TOP.need(self.top)?;
        let width = (f64::from(top) * f64::from(top).ln()).ceil() as u32;
        let width = self.width.unwrap_or(width.max(LEAST_WIDTH));
        Ok((top, width, ROWS.need(self.rows)?, DECAY.need(self.decay)?))
    }
}

/// A list as RedisBloom has it, and how its keys are hashed.
#[derive(Clone, Debug, PartialEq)]
pub struct RedisHeavy {
    sketch: RedisTopKSketch,
    /// Whether keys are hashed as RedisBloom does.
    is_native: bool,
}

impl Mechanism for RedisHeavy {
    const FACTS: Facts = Facts {
        id: "redis-top-k",
        number: 303,
        aliases: &["redisbloom-top-k", "HeavyKeeper"],
        family: "foreign",
        text: Text::new(include_str!("redis_top_k.md")),
        errors: &[ErrorClass::OverCount, ErrorClass::UnderCount],
        note: NoteType::Amount,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;
    const SPECIALS: &'static [Special<RedisTopK>] =
        &[Special::ask("kept", Takes::Key, "whether the key is among those that are kept by name", |filter, key| {
            Ok(Reply::Truth(filter.keeps(key.key()?)))
        })];

    type Settings = RedisTopKSettings;

    fn resolve(asked: &RedisTopKSettings) -> Result<RedisTopKSettings> {
        let (top, width, rows, decay) = asked.shape()?;
        Ok(RedisTopKSettings { top: Some(top), width: Some(width), rows: Some(rows), decay: Some(decay) })
    }

    fn plan(settings: &RedisTopKSettings) -> Result<Plan> {
        let (top, width, rows, _) = settings.shape()?;
        let bits = u64::from(width) * u64::from(rows) * CELL + u64::from(top) * PLACE;
        Ok(Plan { bits, hashes: rows, items: None, fpr: None })
    }

    fn empty(settings: &RedisTopKSettings, hashing: &Hashing) -> Result<Self> {
        let (top, width, rows, decay) = settings.shape()?;
        let sketch = RedisTopKSketch::new(top, width, rows, decay, u64::MAX)?;
        Ok(RedisHeavy { sketch, is_native: is_native(hashing) })
    }

    fn domain(RedisTopKSettings { width, rows, .. }: &RedisTopKSettings) -> String {
        format!("redis-top-k {} {}", width.unwrap_or(0), rows.unwrap_or(0))
    }

    fn stats(&self, items: u64) -> Stats {
        let names = self.sketch.names().map(|name| name.map_or(0, |name| name.len() as u64)).sum::<u64>();
        let cells = u64::from(self.sketch.width()) * u64::from(self.sketch.depth());
        Stats {
            items,
            bits: cells * CELL + u64::from(self.sketch.k()) * PLACE + names * 8,
            hashes: self.sketch.depth(),
            fill: Some(self.sketch.fill()),
            fpr: None,
            honest_fill: None,
        }
    }

    /// A count is too large only if another key has the same fingerprint of 32 bits and the same counter.
    fn expected(&self, items: u64) -> Rates {
        let fingerprint = collision_rate(2f64.powi(32), items.saturating_sub(1));
        let counter = collision_rate(self.sketch.width().into(), self.sketch.depth().into());
        Rates { over_count: Some(fingerprint * counter), ..Rates::default() }
    }

    /// State: items and the state of the random numbers, 8 bytes each. Stores: the counters (fingerprint and count, 4 bytes each); the
    /// heap, for each of its places fingerprint, count and the length of the name (4 bytes each, 2^32 - 1 for none) and the name.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().u64(self.sketch.random());
        encoder.bytes(self.sketch.cell_bytes());
        let mut places = Vec::new();
        for (fingerprint, count, name) in self.sketch.places() {
            let len = name.map_or(NOBODY, |name| name.len() as u32);
            places.extend([fingerprint, count, len].into_iter().flat_map(u32::to_le_bytes));
            places.extend_from_slice(name.unwrap_or_default());
        }
        encoder.bytes(places);
    }

    fn decode(settings: &RedisTopKSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (is_native, shape) = (is_native(decoder.config().hashing()), settings.shape()?);
        let [items, random] = [decoder.state().u64()?, decoder.state().u64()?];
        let (cells, places) = (decoder.bytes()?, decoder.bytes()?);
        let sketch = RedisTopKSketch::from_places(shape, cells, places, random)?;
        // Under a secret, only those who hold it could tell.
        if is_native {
            sketch.check_names(RowHash::Native)?;
        }
        Ok((RedisHeavy { sketch, is_native }, items))
    }
}

impl Put for RedisHeavy {
    type Note<'a> = Amount;
    type Outcome = Result<bool>;

    /// [`Error::Item`] for more than 100,000 occurrences at once.
    fn put(&mut self, key: Hashed<'_>, Amount(amount): Amount) -> Result<bool> {
        if amount > MOST_AT_ONCE {
            return Err(Error::Item {
                expected: format!("an amount of at most {MOST_AT_ONCE}"),
                found: amount.to_string(),
            });
        }
        let hash = RowHash::of(self.is_native, key);
        let fresh = self.sketch.is_new(hash);
        self.sketch.put(key.bytes, hash, amount as u32);
        Ok(fresh)
    }

    fn weight(&Amount(amount): &Amount) -> u64 {
        amount
    }
}

impl Tally for RedisHeavy {
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        let count = self.sketch.tally(key.bytes, RowHash::of(self.is_native, key));
        Multiplicity { count: count.into(), at_least: false }
    }
}

impl Rank for RedisHeavy {
    fn rank(&self) -> Vec<Frequent> {
        let count = |heavy: &Heavy| Multiplicity { count: heavy.count.into(), at_least: false };
        let name = |heavy: &Heavy| heavy.key.as_deref().unwrap_or_default().to_vec();
        self.sketch.list().into_iter().map(|heavy| Frequent { key: name(heavy), count: count(heavy) }).collect()
    }
}

/// The name of the type and its version in snapshots.
const TYPE: (&str, u16) = ("TopK-TYPE", 0);

impl RedisTopK {
    /// A list of `top` names, over `rows` rows of `width` counters.
    ///
    /// ```
    /// use bouquet::foreign::RedisTopK;
    /// assert_eq!(RedisTopK::with_size(10, 8, 7)?.settings().decay, Some(0.9));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(top: u32, width: u32, rows: u32) -> Result<Self> {
        Self::with(RedisTopKSettings { top: Some(top), width: Some(width), rows: Some(rows), ..Default::default() })
    }

    /// Whether a key is among those that are kept by name.
    ///
    /// ```
    /// use bouquet::foreign::RedisTopK;
    /// let mut flowers = RedisTopK::with_size(1, 8, 7)?;
    /// flowers.insert("rose")?;
    /// assert!(flowers.keeps(b"rose") && !flowers.keeps(b"lily"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn keeps(&self, key: &[u8]) -> bool {
        let hashed = Hashed { digest: self.hashing.digest(key), bytes: key };
        self.mechanism.sketch.keeps(key, RowHash::of(self.mechanism.is_native, hashed))
    }

    /// The list that the command `DUMP` of a server with RedisBloom gives. How many keys came is not in it: the items are those that
    /// the counters of a row tell of.
    pub fn from_dump(dump: &[u8]) -> Result<Self> {
        let mut payload = Payload::read(dump, TYPE)?;
        let mut small = || {
            let number = payload.unsigned()?;
            u32::try_from(number).map_err(|_| Error::corrupt("a size", "below 2^32", number))
        };
        let [top, width, rows] = [small()?, small()?, small()?];
        let decay = payload.double()?;
        let (cells, heap) = (payload.bytes()?, payload.bytes()?);
        let mut names = Vec::new();
        // Each name takes a byte of the dump at least.
        for _ in 0..top {
            let mut name = payload.bytes()?;
            name.pop();
            names.push((!name.is_empty()).then(|| name.into_boxed_slice()));
        }
        payload.end()?;
        let sketch = RedisTopKSketch::from_parts((top, width, rows, decay), &cells, &heap, names)?;
        sketch.check_names(RowHash::Native)?;
        let settings = RedisTopKSettings { top: Some(top), width: Some(width), rows: Some(rows), decay: Some(decay) };
        settings.check()?;
        let items = sketch.counted();
        Ok(Self::of_parts(RedisHeavy { sketch, is_native: true }, settings, &Hashing::default(), items))
    }

    /// What the command `RESTORE` takes. Refuses a list with a seed or a secret, whose keys RedisBloom would not find.
    pub fn to_dump(&self) -> Result<Vec<u8>> {
        need_native(self.mechanism.is_native)?;
        let sketch = &self.mechanism.sketch;
        let mut writer = Writer::new(TYPE);
        for number in [sketch.k(), sketch.width(), sketch.depth()] {
            writer.unsigned(number.into());
        }
        writer.double(sketch.decay());
        writer.bytes(&sketch.cell_bytes());
        writer.bytes(&sketch.heap_bytes());
        for name in sketch.names() {
            writer.bytes(&[name.unwrap_or_default(), &[0]].concat());
        }
        Ok(writer.end())
    }
}
