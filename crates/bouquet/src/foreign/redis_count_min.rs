#![doc = include_str!("redis_count_min.md")]

pub use self::sketch::RedisCountMinSketch;
use super::payload::{Payload, Writer};
use super::rows::{RowHash, is_native, need_native};
use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Reply, Special, Stats, Takes, Text, common, kind};
use crate::parts::rows::RowSizes;
use crate::shell::{Amount, ByRate, Deduct, Fields, Filter, Hashed, Mechanism, Put, Settings, Tally, Unite, fields};
use crate::theory::sketch::over_count;

pub(super) mod sketch;

/// The registry's row.
pub const KIND: Kind = kind!(RedisCountMin);

/// A RedisBloom count-min sketch with frames, settings and verbs as every kind has them.
///
/// ```
/// use bouquet::{foreign::RedisCountMin, shell::Amount};
/// let mut visits = RedisCountMin::with_error(0.001, 0.01)?;
/// visits.insert_with("rose", Amount(5));
/// assert_eq!((visits.count("rose").count, visits.count("lily").count, visits.items()), (5, 0, 5));
/// assert_eq!(RedisCountMin::from_dump(&visits.to_dump()?)?.count("rose").count, 5);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type RedisCountMin = Filter<RedisCounters>;

const EPS: Parameter =
    Parameter::real("eps", "error of a count as a share of all occurrences", 0.0, 1.0).or_real(0.001);
const DELTA: Parameter = Parameter::real("delta", "probability that the error is larger", 0.0, 1.0).or_real(0.01);
const WIDTH: Parameter = Parameter::count("width", "counters in a row, instead of eps", 1, 1 << 48);
/// More rows than any probability that a double can hold needs.
const ROWS: Parameter =
    Parameter::count("rows", "rows of counters, of which a key has one each; instead of delta", 1, 1_100);

/// Bits of a counter.
const COUNTER: u32 = 32;

/// The settings of a RedisBloom count-min sketch.
///
/// ```
/// use bouquet::foreign::{RedisCountMin, RedisCountMinSettings};
/// let by_error = RedisCountMinSettings { eps: Some(0.01), delta: Some(0.001), ..Default::default() };
/// let settings = RedisCountMin::with(by_error)?.settings();
/// assert_eq!((settings.width, settings.rows), (Some(200), Some(10)), "as CMS.INITBYPROB makes it");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RedisCountMinSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The share of them whose count is too large.
    pub fpr: Option<f64>,
    /// The error of a count, instead.
    pub eps: Option<f64>,
    /// The probability of a larger one.
    pub delta: Option<f64>,
    /// Counters in a row, instead.
    pub width: Option<u64>,
    /// Rows.
    pub rows: Option<u32>,
}

impl Settings for RedisCountMinSettings {
    const FIELDS: Fields<Self> =
        fields![items: common::ITEMS, fpr: common::FPR, eps: EPS, delta: DELTA, width: WIDTH, rows: ROWS];
    const DESIGN: &'static [&'static str] = &["items", "fpr", "eps", "delta"];
}

impl ByRate for RedisCountMinSettings {}

impl RedisCountMinSettings {
    fn size(&self) -> Result<(u64, u32)> {
        let &RedisCountMinSettings { items, fpr, eps, delta, mut width, mut rows } = self;
        if items.is_none() || eps.is_some() || delta.is_some() {
            let (columns, depth) = RedisCountMinSketch::size_for(EPS.need(eps)?, DELTA.need(delta)?);
            width.get_or_insert(columns);
            rows.get_or_insert(depth.max(1) as u32);
        }
        RowSizes { items, fpr, width, rows, ..RowSizes::default() }.resolve(COUNTER)
    }
}

/// A sketch as RedisBloom has it, and how its keys are hashed.
#[derive(Clone, Debug, PartialEq)]
pub struct RedisCounters {
    sketch: RedisCountMinSketch,
    /// Whether keys are hashed as RedisBloom does.
    is_native: bool,
}

impl Mechanism for RedisCounters {
    const FACTS: Facts = Facts {
        id: "redis-count-min",
        number: 302,
        aliases: &["redisbloom-count-min"],
        family: "foreign",
        text: Text::new(include_str!("redis_count_min.md")),
        errors: &[ErrorClass::OverCount],
        note: NoteType::Amount,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;
    const OWN_ITEMS: bool = true;
    const SPECIALS: &'static [Special<RedisCountMin>] =
        &[Special::ask("total", Takes::Nothing, "the sum of all amounts", |filter, _| {
            Ok(Reply::from(filter.mechanism.sketch.total()))
        })];

    type Settings = RedisCountMinSettings;

    fn resolve(asked: &RedisCountMinSettings) -> Result<RedisCountMinSettings> {
        let (width, rows) = asked.size()?;
        Ok(RedisCountMinSettings { width: Some(width), rows: Some(rows), ..asked.clone() })
    }

    fn plan(settings: &RedisCountMinSettings) -> Result<Plan> {
        let (width, rows) = settings.size()?;
        let bits = width * u64::from(rows) * u64::from(COUNTER);
        Ok(Plan { bits, hashes: rows, items: settings.items, fpr: None })
    }

    fn empty(settings: &RedisCountMinSettings, hashing: &Hashing) -> Result<Self> {
        let (width, rows) = settings.size()?;
        let sketch = RedisCountMinSketch::new(width, rows.into(), u64::MAX)?;
        Ok(RedisCounters { sketch, is_native: is_native(hashing) })
    }

    fn domain(RedisCountMinSettings { width, rows, .. }: &RedisCountMinSettings) -> String {
        format!("redis-count-min {} {}", width.unwrap_or(0), rows.unwrap_or(0))
    }

    fn items(&self, _: u64) -> u64 {
        self.sketch.total().min(crate::shell::MOST_ITEMS)
    }

    fn stats(&self, items: u64) -> Stats {
        Stats {
            items,
            bits: self.sketch.width() * self.sketch.depth() * u64::from(COUNTER),
            hashes: self.sketch.depth() as u32,
            fill: Some(self.sketch.fill()),
            fpr: None,
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let over_count = over_count(self.sketch.width(), self.sketch.depth() as u32, items);
        Rates { over_count: Some(over_count), ..Rates::default() }
    }

    /// State: the sum of all amounts, 8 bytes. Store: the counters, row by row, 4 bytes each.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.sketch.total());
        encoder.bytes(self.sketch.cell_bytes());
    }

    fn decode(settings: &RedisCountMinSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let is_native = is_native(decoder.config().hashing());
        let (width, rows) = settings.size()?;
        let total = decoder.state().u64()?;
        let sketch = RedisCountMinSketch::from_parts(width, rows.into(), total, decoder.bytes()?)?;
        Ok((RedisCounters { sketch, is_native }, 0))
    }
}

impl Put for RedisCounters {
    type Note<'a> = Amount;
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, Amount(amount): Amount) -> bool {
        let hash = RowHash::of(self.is_native, key);
        let fresh = self.sketch.least(hash) == 0;
        self.sketch.put(hash, amount);
        fresh
    }
}

impl Tally for RedisCounters {
    /// The least counter of the key; one at its end stands for any larger number.
    #[inline]
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        let count = self.sketch.least(RowHash::of(self.is_native, key));
        Multiplicity { count: count.into(), at_least: count == u32::MAX }
    }
}

impl Unite for RedisCounters {
    /// The sketch of both streams, bit for bit.
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.sketch.add_all(&other.sketch);
        Ok(())
    }
}

impl Deduct for RedisCounters {
    /// The sketch of what this stream has more. The other must be part of this one: [`Error::NotPresent`] otherwise.
    fn deduct(&mut self, other: &Self) -> Result<()> {
        if self.sketch.take_all(&other.sketch) { Ok(()) } else { Err(Error::NotPresent) }
    }
}

/// The name of the type and its version in snapshots.
const TYPE: (&str, u16) = ("CMSk-TYPE", 0);

impl RedisCountMin {
    /// A sketch whose counts are too large by more than `eps` of all occurrences with probability at most `delta`, sized as RedisBloom
    /// sizes it.
    ///
    /// ```
    /// use bouquet::foreign::RedisCountMin;
    /// assert_eq!(RedisCountMin::with_error(0.001, 0.01)?.settings().width, Some(2_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_error(eps: f64, delta: f64) -> Result<Self> {
        Self::with(RedisCountMinSettings { eps: Some(eps), delta: Some(delta), ..Default::default() })
    }

    /// The sketch that the command `DUMP` of a server with RedisBloom gives.
    pub fn from_dump(dump: &[u8]) -> Result<Self> {
        let mut payload = Payload::read(dump, TYPE)?;
        let [width, rows, total] = [payload.unsigned()?, payload.unsigned()?, payload.unsigned()?];
        let sketch = RedisCountMinSketch::from_parts(width, rows, total, &payload.bytes()?)?;
        payload.end()?;
        let rows = u32::try_from(rows).map_err(|_| Error::corrupt("the rows", ROWS.range(), rows))?;
        let settings = RedisCountMinSettings { width: Some(width), rows: Some(rows), ..Default::default() };
        settings.check()?;
        Ok(Self::of_parts(RedisCounters { sketch, is_native: true }, settings, &Hashing::default(), 0))
    }

    /// What the command `RESTORE` takes. Refuses a sketch with a seed or a secret, whose keys RedisBloom would not find.
    pub fn to_dump(&self) -> Result<Vec<u8>> {
        need_native(self.mechanism.is_native)?;
        let sketch = &self.mechanism.sketch;
        let mut writer = Writer::new(TYPE);
        for number in [sketch.width(), sketch.depth(), sketch.total()] {
            writer.unsigned(number);
        }
        writer.bytes(&sketch.cell_bytes());
        Ok(writer.end())
    }
}
