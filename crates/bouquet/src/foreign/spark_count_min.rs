#![doc = include_str!("spark_count_min.md")]

use super::hashes::spark_murmur3;
use super::reader::{Reader, expect};
use super::rows::is_native;
use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Hashing, fastrange, mix};
use crate::key::as_word;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Reply, Special, Stats, Takes, Text, common, kind};
use crate::parts::rows::RowSizes;
use crate::shell::{
    Amount, ByRate, Choice, Deduct, Fields, Filter, Hashed, MOST_ITEMS, Mechanism, Put, Settings, Tally, Unite,
    choices, fields,
};
use crate::store::Counters;
use crate::theory::sketch::over_count;

/// The registry's row.
pub const KIND: Kind = kind!(SparkCountMin);

/// A count-min sketch of Apache Spark.
///
/// ```
/// use bouquet::{foreign::SparkCountMin, shell::Amount};
/// let mut visits = SparkCountMin::with_error(0.001, 0.01)?;
/// visits.insert_with("rose", Amount(5));
/// assert_eq!((visits.count("rose").count, visits.count("lily").count, visits.items()), (5, 0, 5));
/// let file = visits.to_spark()?; // what `CountMinSketch.readFrom` takes
/// assert_eq!(SparkCountMin::from_spark(&file, Default::default())?.count("rose").count, 5);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type SparkCountMin = Filter<SparkCounters>;

const EPS: Parameter =
    Parameter::real("eps", "error of a count as a share of all occurrences", 0.0, 1.0).or_real(0.001);
const DELTA: Parameter =
    Parameter::real("delta", "probability that the error is larger: 1 less what Spark calls confidence", 0.0, 1.0)
        .or_real(0.01);
/// Spark's sizes are Java's `int`.
const WIDTH: Parameter = Parameter::count("width", "counters in a row, instead of eps", 1, i32::MAX as u64);
/// More rows than any probability that a double can hold needs.
const ROWS: Parameter =
    Parameter::count("rows", "rows of counters, of which a key has one each; instead of delta", 1, 1_100);
const SALT: Parameter =
    Parameter::count("salt", "the seed that Spark was given, as a number of 32 bits", 0, u32::MAX as u64).or(0);
const KEYS: Parameter = Parameter::choice(
    "keys",
    "whether keys of eight bytes are text, or the numbers of an integer column",
    SparkKeys::WORDS,
);

/// Bits of a counter.
const COUNTER: u32 = 64;

/// The largest number of a counter: Java's `long`.
const FULL: u64 = i64::MAX as u64;

/// What keys of eight bytes are to Spark, which hashes numbers in another way than text.
///
/// ```
/// use bouquet::foreign::{SparkCountMin, SparkCountMinSettings, SparkKeys};
/// let settings = SparkCountMinSettings { keys: Some(SparkKeys::Numbers), ..Default::default() };
/// let mut visits = SparkCountMin::with(settings)?;
/// visits.insert(&-7i64);
/// assert_eq!(visits.count(&-7i64).count, 1);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SparkKeys {
    /// Text or bytes, as all other keys: `addString`, `addBinary`.
    #[default]
    Text,
    /// Numbers of 64 bits: `addLong`.
    Numbers,
}

choices!(SparkKeys { Text = "text", Numbers = "numbers" });

/// The settings of a Spark count-min sketch.
///
/// ```
/// use bouquet::foreign::{SparkCountMin, SparkCountMinSettings};
/// let by_error = SparkCountMinSettings { eps: Some(0.004), delta: Some(0.03), ..Default::default() };
/// let settings = SparkCountMin::with(by_error)?.settings();
/// assert_eq!((settings.width, settings.rows), (Some(500), Some(6)), "as CountMinSketch.create(0.004, 0.97, seed) makes it");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparkCountMinSettings {
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
    /// Spark's seed.
    pub salt: Option<u64>,
    /// What keys of eight bytes are.
    pub keys: Option<SparkKeys>,
}

impl Settings for SparkCountMinSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        eps: EPS,
        delta: DELTA,
        width: WIDTH,
        rows: ROWS,
        salt: SALT,
        keys: KEYS,
    ];
    const DESIGN: &'static [&'static str] = &["items", "fpr", "eps", "delta"];
}

impl ByRate for SparkCountMinSettings {}

impl SparkCountMinSettings {
    fn size(&self) -> Result<(u64, u32)> {
        let &SparkCountMinSettings { items, fpr, eps, delta, mut width, mut rows, .. } = self;
        if items.is_none() || eps.is_some() || delta.is_some() {
            let depth = -DELTA.need(delta)?.ln() / std::f64::consts::LN_2;
            width.get_or_insert((2.0 / EPS.need(eps)?).ceil() as u64);
            rows.get_or_insert((depth.ceil() as u32).max(1));
        }
        let (width, rows) = RowSizes { items, fpr, width, rows, ..RowSizes::default() }.resolve(COUNTER)?;
        if width > i32::MAX as u64 {
            return Err(Error::parameter("width", WIDTH.range(), width));
        }
        Ok((width, rows))
    }
}

/// The numbers that Java's `Random` gives.
mod java {
    const FACTOR: u64 = 0x5_DEEC_E66D;
    /// What the factor is multiplied with to give 1 modulo 2^48.
    const INVERSE: u64 = 0xDFE0_5BCB_1365;
    const STEP: u64 = 11;
    const MASK: u64 = (1 << 48) - 1;

    /// The first numbers of `nextInt(Integer.MAX_VALUE)` from a seed.
    pub(super) fn numbers(seed: u32) -> impl Iterator<Item = u32> {
        // An `int` becomes a `long` with its sign.
        let mut state = (i64::from(seed as i32) as u64 ^ FACTOR) & MASK;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(FACTOR).wrapping_add(STEP) & MASK;
            (state >> 17) as u32
        })
        .filter(|number| *number != i32::MAX as u32)
    }

    /// The least seed from which these numbers come. The first number is the upper part of the state; the lower has 2^17 values.
    pub(super) fn seed_of(wanted: &[u64]) -> Option<u32> {
        let first = wanted.first().filter(|number| **number < 1 << 31)?;
        let seeds = (0..1u64 << 17).filter_map(|low| {
            let before = (first << 17 | low).wrapping_sub(STEP).wrapping_mul(INVERSE) & MASK;
            let seed = ((before ^ FACTOR) << 16) as i64 >> 16;
            let seed = i32::try_from(seed).ok()? as u32;
            wanted.iter().copied().eq(numbers(seed).take(wanted.len()).map(u64::from)).then_some(seed)
        });
        seeds.min()
    }
}

/// A sketch as Spark has it.
#[derive(Clone, Debug, PartialEq)]
pub struct SparkCounters {
    cells: Counters,
    width: u64,
    /// A row's multiplier of numbers.
    multipliers: Box<[u32]>,
    /// The sum of all amounts.
    total: u64,
    keys: SparkKeys,
    /// Whether keys are hashed as Spark does; a seed or a secret of ours gives other digests, which it cannot ask for.
    is_native: bool,
}

/// The hash of a key, from which its place in each row follows.
#[derive(Clone, Copy)]
enum RowHash {
    Text(u32, u32),
    Number(u64),
    Digest(u64),
}

impl SparkCounters {
    fn assemble(
        settings: &SparkCountMinSettings,
        hashing: &Hashing,
        cells: impl FnOnce(u64) -> Result<Counters>,
    ) -> Result<Self> {
        let (width, rows) = settings.size()?;
        let salt = SALT.need(settings.salt)? as u32;
        Ok(SparkCounters {
            cells: cells(width * u64::from(rows))?,
            width,
            multipliers: java::numbers(salt).take(rows as usize).collect(),
            total: 0,
            keys: settings.keys.unwrap_or_default(),
            is_native: is_native(hashing),
        })
    }

    fn rows(&self) -> u32 {
        self.multipliers.len() as u32
    }

    #[inline]
    fn hash(&self, key: Hashed<'_>) -> RowHash {
        let number = if self.keys == SparkKeys::Numbers { as_word(key.bytes) } else { None };
        match number {
            _ if !self.is_native => RowHash::Digest(key.digest.h1),
            Some(number) => RowHash::Number(number),
            None => {
                let first = spark_murmur3(key.bytes, 0);
                RowHash::Text(first, spark_murmur3(key.bytes, first))
            }
        }
    }

    /// The places of a key, one in each row.
    #[inline]
    fn places(width: u64, multipliers: &[u32], hash: RowHash) -> impl Iterator<Item = u64> + Clone {
        (0u32..).zip(multipliers).map(move |(row, &multiplier)| {
            let place = match hash {
                // The remainder has the sign of the sum, which is dropped.
                RowHash::Text(first, second) => {
                    let sum = first.wrapping_add(row.wrapping_mul(second)) as i32;
                    u64::from(sum.unsigned_abs()) % width
                }
                RowHash::Number(number) => {
                    let product = u64::from(multiplier).wrapping_mul(number) as i64;
                    (product.wrapping_add(product >> 32) as u64 & i32::MAX as u64) % width
                }
                RowHash::Digest(word) => fastrange(mix(word ^ mix(u64::from(row) + 1)), width),
            };
            u64::from(row) * width + place
        })
    }

    #[inline]
    fn least(&self, hash: RowHash) -> u64 {
        let mut least = FULL;
        self.cells.read_each(Self::places(self.width, &self.multipliers, hash), |cell| least = least.min(cell));
        least
    }

    /// Changes every counter by that of another sketch.
    fn change_all(&mut self, other: &Self, change: impl Fn(u64, u64) -> u64) -> Result<()> {
        self.cells.combine(&other.cells, &change)?;
        self.total = change(self.total, other.total);
        Ok(())
    }
}

impl Mechanism for SparkCounters {
    const FACTS: Facts = Facts {
        id: "spark-count-min",
        number: 304,
        aliases: &["spark-cms"],
        family: "foreign",
        text: Text::new(include_str!("spark_count_min.md")),
        errors: &[ErrorClass::OverCount],
        note: NoteType::Amount,
        parameters: &[],
    };

    const IN_PLACE: bool = true;
    const NEEDS_BYTES: bool = true;
    const OWN_ITEMS: bool = true;
    const SPECIALS: &'static [Special<SparkCountMin>] =
        &[Special::ask("total", Takes::Nothing, "the sum of all amounts", |filter, _| {
            Ok(Reply::from(filter.mechanism().total))
        })];

    type Settings = SparkCountMinSettings;

    fn resolve(asked: &SparkCountMinSettings) -> Result<SparkCountMinSettings> {
        let (width, rows) = asked.size()?;
        Ok(SparkCountMinSettings {
            width: Some(width),
            rows: Some(rows),
            salt: Some(SALT.need(asked.salt)?),
            keys: Some(asked.keys.unwrap_or_default()),
            ..asked.clone()
        })
    }

    fn plan(settings: &SparkCountMinSettings) -> Result<Plan> {
        let (width, rows) = settings.size()?;
        let bits = width * u64::from(rows) * u64::from(COUNTER);
        Ok(Plan { bits, hashes: rows, items: settings.items, fpr: None })
    }

    fn empty(settings: &SparkCountMinSettings, hashing: &Hashing) -> Result<Self> {
        Self::assemble(settings, hashing, |cells| Counters::zeroed(cells, COUNTER))
    }

    fn domain(settings: &SparkCountMinSettings) -> String {
        let &SparkCountMinSettings { width, rows, salt, .. } = settings;
        let keys = settings.keys.unwrap_or_default().word();
        format!("spark-count-min {} {} {} {keys}", width.unwrap_or(0), rows.unwrap_or(0), salt.unwrap_or(0))
    }

    fn items(&self, _: u64) -> u64 {
        self.total.min(MOST_ITEMS)
    }

    fn stats(&self, items: u64) -> Stats {
        Stats {
            items,
            bits: self.cells.bits(),
            hashes: self.rows(),
            fill: Some(self.cells.count_nonzero() as f64 / self.cells.len() as f64),
            fpr: None,
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { over_count: Some(over_count(self.width, self.rows(), items)), ..Rates::default() }
    }

    /// State: the sum of all amounts, 8 bytes. Store: the counters, row by row.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.total);
        encoder.counters(&self.cells);
    }

    fn decode(settings: &SparkCountMinSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (total, hashing) = (decoder.state().u64()?, decoder.config().hashing().clone());
        let mut sketch = Self::assemble(settings, &hashing, |cells| decoder.counters(cells, COUNTER))?;
        expect(total <= FULL, "the sum of all amounts", "at most 2^63 - 1", total)?;
        sketch.total = total;
        Ok((sketch, 0))
    }
}

impl Put for SparkCounters {
    type Note<'a> = Amount;
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, Amount(amount): Amount) -> bool {
        let hash = self.hash(key);
        let SparkCounters { cells, width, multipliers, total, .. } = self;
        let (mut least, amount) = (FULL, amount.min(FULL));
        cells.update_each(Self::places(*width, multipliers, hash), |cell| {
            least = least.min(cell);
            cell.saturating_add(amount).min(FULL)
        });
        *total = (*total + amount).min(FULL);
        least == 0
    }
}

impl Tally for SparkCounters {
    /// The least counter of the key; one at its end stands for any larger number.
    #[inline]
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        let count = self.least(self.hash(key));
        Multiplicity { count, at_least: count == FULL }
    }
}

impl Unite for SparkCounters {
    /// The sketch of both streams, bit for bit.
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.change_all(other, |mine, theirs| mine.saturating_add(theirs).min(FULL))
    }
}

impl Deduct for SparkCounters {
    /// The sketch of what this stream has more. The other must be part of this one: [`Error::NotPresent`] otherwise. A counter at its
    /// end, whose number is not known, stays there.
    fn deduct(&mut self, other: &Self) -> Result<()> {
        if self.cells.iter().zip(other.cells.iter()).any(|(mine, theirs)| mine < theirs) {
            return Err(Error::NotPresent);
        }
        self.change_all(other, |mine, theirs| if mine >= FULL { mine } else { mine.saturating_sub(theirs) })
    }
}

/// The version in Spark's bytes.
const VERSION: u32 = 1;

impl SparkCountMin {
    /// A sketch whose counts are too large by more than `eps` of all occurrences with probability at most `delta`, sized as Spark sizes
    /// it.
    ///
    /// ```
    /// use bouquet::foreign::SparkCountMin;
    /// assert_eq!(SparkCountMin::with_error(0.001, 0.01)?.settings().width, Some(2_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_error(eps: f64, delta: f64) -> Result<Self> {
        Self::with(SparkCountMinSettings { eps: Some(eps), delta: Some(delta), ..Default::default() })
    }

    /// Reads what `CountMinSketch.writeTo` of Spark wrote; the bytes do not tell what its keys of eight bytes were.
    pub fn from_spark(bytes: &[u8], keys: SparkKeys) -> Result<Self> {
        let mut reader = Reader(bytes);
        let version = reader.u32()?.swap_bytes();
        expect(version == VERSION, "the version of a Spark sketch", "1", version)?;
        let total = reader.u64()?.swap_bytes();
        let (rows, width) = (reader.u32()?.swap_bytes(), reader.u32()?.swap_bytes());
        let known = SparkCountMinSettings {
            width: Some(width.into()),
            rows: Some(rows),
            keys: Some(keys),
            ..Default::default()
        };
        known.check()?;
        let (needed, found) = (8 * u64::from(rows) * (1 + u64::from(width)), reader.0.len() as u64);
        expect(needed == found, "the bytes of the counters", &needed.to_string(), found)?;
        let mut next = || reader.u64().map(u64::swap_bytes);
        let multipliers = (0..rows).map(|_| next()).collect::<Result<Vec<_>>>()?;
        let salt = java::seed_of(&multipliers)
            .ok_or_else(|| Error::corrupt("the multipliers", "those that a seed gives", "others"))?;
        let settings = SparkCountMinSettings { salt: Some(salt.into()), ..known };
        let mut sketch = SparkCounters::empty(&settings, &Hashing::default())?;
        expect(total <= FULL, "the sum of all amounts", "at most 2^63 - 1", total)?;
        sketch.total = total;
        for place in 0..sketch.cells.len() {
            let cell = next()?;
            expect(cell <= FULL, "a counter", "at most 2^63 - 1", cell)?;
            sketch.cells.set(place, cell);
        }
        Ok(Self::of_parts(sketch, settings, &Hashing::default(), 0))
    }

    /// What `CountMinSketch.readFrom` takes. Refuses a sketch with a seed or a secret of ours, whose keys Spark would not find.
    pub fn to_spark(&self) -> Result<Vec<u8>> {
        let sketch = self.mechanism();
        if !sketch.is_native {
            let expected = "without a seed and without a secret, as that of Spark is";
            return Err(Error::parameter("hashing", expected, "another"));
        }
        let mut file = Vec::with_capacity(20 + 8 * (sketch.multipliers.len() + sketch.cells.len() as usize));
        file.extend(VERSION.to_be_bytes());
        file.extend(sketch.total.to_be_bytes());
        file.extend(sketch.rows().to_be_bytes());
        file.extend((sketch.width as u32).to_be_bytes());
        file.extend(sketch.multipliers.iter().flat_map(|multiplier| u64::from(*multiplier).to_be_bytes()));
        file.extend(sketch.cells.iter().flat_map(|cell| cell.min(FULL).to_be_bytes()));
        Ok(file)
    }
}
