#![doc = include_str!("perfect_hash.md")]

use crate::capability::{Dataset, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::{
    ErrorClass, Facts, Kind, Need, Parameter, Plan, Rates, Reply, Special, Stats, Takes, Text, Verb, common, kind,
};
use crate::parts::fuse::{self, FuseTable};
use crate::parts::records::{Record, bits_for, distinct, name_of};
use crate::shell::{Assemble, Choice, Fields, Filter, Hashed, Lookup, Mechanism, Settings, Test, choices, fields};
use crate::store::{Counters, field_max};
use crate::theory::perfect as theory;

mod minimal;

use minimal::Minimal;

/// The registry's row.
pub const KIND: Kind = kind!(PerfectHash);

/// A static set in little more than its fingerprints.
///
/// ```
/// use bouquet::PerfectHash;
/// let flowers = PerfectHash::with_rate(0.001, ["rose", "lily", "iris"])?;
/// assert!(flowers.contains("lily") && !flowers.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type PerfectHash = Filter<StaticSet>;

/// Where fingerprints are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As the sum of three cells.
    Fuse,
    /// In the key's own slot, which a minimal perfect hash finds.
    Minimal,
}

choices!(Mode { Fuse = "fuse", Minimal = "minimal" });

/// What is kept of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// That it is there.
    Keys,
    /// Its number, too.
    Values,
}

choices!(Holds { Keys = "keys", Values = "values" });

/// The widest fingerprint, so that a value of up to 32 bits fits beside it.
const MAX_FINGERPRINT: u64 = 32;

const MODE: Parameter = Parameter::choice(
    "mode",
    "fuse: three cells add up to the fingerprint, smallest and fastest; minimal: a minimal perfect hash, every key has a slot",
    Mode::WORDS,
);
const HOLDS: Parameter = Parameter::choice("holds", "keys alone, or a value with each", Holds::WORDS);
const VALUES: Parameter =
    Parameter::count("values", "how many values there are: they are the numbers below this", 2, 1 << 32).or(256);
const FINGERPRINT: Parameter =
    Parameter::count("fingerprint", "bits per fingerprint, instead of a rate", 1, MAX_FINGERPRINT);

/// The settings of a static set.
///
/// ```
/// use bouquet::{PerfectHash, PerfectHashSettings, hash::Hashing, membership::perfect_hash::Mode};
/// let minimal = PerfectHashSettings { mode: Some(Mode::Minimal), fingerprint: Some(10), ..Default::default() };
/// let set = PerfectHash::from_keys(&minimal, &Hashing::default(), (0..1_000u64).collect::<Vec<_>>())?;
/// assert!(set.slot(&7u64).is_some_and(|slot| slot < 1_000));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerfectHashSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The false-positive rate.
    pub fpr: Option<f64>,
    /// Where fingerprints are kept.
    pub mode: Option<Mode>,
    /// What is kept of a key.
    pub holds: Option<Holds>,
    /// How many values there are.
    pub values: Option<u64>,
    /// Bits per fingerprint.
    pub fingerprint: Option<u32>,
}

impl Settings for PerfectHashSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        mode: MODE,
        holds: HOLDS,
        values: VALUES,
        fingerprint: FINGERPRINT,
    ];
}

/// The settings, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    mode: Mode,
    /// Bits of a fingerprint.
    fingerprint: u32,
    /// How many values there are, 1 without any.
    values: u64,
}

impl Shape {
    fn of(settings: &PerfectHashSettings) -> Result<Self> {
        let (mode, holds) = (MODE.need(settings.mode)?, HOLDS.need(settings.holds)?);
        let values = if holds == Holds::Values { VALUES.need(settings.values)? } else { 1 };
        let fpr: f64 = common::FPR.need(settings.fpr)?;
        let needed = || (1..=MAX_FINGERPRINT as u32).find(|&bits| 0.5f64.powi(bits as i32) <= fpr);
        let least = 0.5f64.powi(MAX_FINGERPRINT as i32);
        let refused = || Error::parameter("fpr", format!("at least {least:e}"), fpr);
        let fingerprint = settings.fingerprint.or_else(needed).ok_or_else(refused)?;
        Ok(Shape { mode, fingerprint, values })
    }

    fn value_bits(&self) -> u32 {
        if self.values > 1 { bits_for(self.values - 1) } else { 0 }
    }

    /// Bits of fingerprint and value.
    fn width(&self) -> u32 {
        self.fingerprint + self.value_bits()
    }

    /// 2^-j; sums of cells are random, and those that give no value are refused too.
    fn rate(&self) -> f64 {
        let rate = 0.5f64.powi(self.fingerprint as i32);
        match self.mode {
            Mode::Fuse => rate * self.values as f64 / 2f64.powi(self.value_bits() as i32),
            Mode::Minimal => rate,
        }
    }

    fn planned_bits(&self, keys: u64) -> Result<u64> {
        let width = u64::from(self.width());
        match self.mode {
            Mode::Fuse => Ok(theory::fuse(keys)?.cells() * if keys == 0 { 0 } else { width }),
            Mode::Minimal => Ok(minimal::planned_bits(keys)? + keys * width),
        }
    }

    /// What is stored of a key: its fingerprint, and its value above it.
    #[inline]
    fn content(&self, digest: Digest, value: u64) -> u64 {
        digest.h2 & field_max(self.fingerprint) | value << self.fingerprint
    }

    /// The value in a content, if its fingerprint is that of the key.
    #[inline(always)]
    fn value(&self, content: u64, digest: Digest) -> Option<u64> {
        if (content ^ digest.h2) & field_max(self.fingerprint) != 0 {
            return None;
        }
        let value = content >> self.fingerprint;
        (value < self.values).then_some(value)
    }

    fn check_value(&self, value: u64) -> Result<u64> {
        if value < self.values {
            return Ok(value);
        }
        Err(Error::Item { expected: format!("a value below {} (see `values`)", self.values), found: value.to_string() })
    }
}

/// Fingerprints that are looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticSet {
    shape: Shape,
    /// Distinct keys.
    keys: u64,
    table: Table,
    /// Whether the table is one whose look-up is inlined: fingerprints of eight bits in three cells, and nothing else.
    inlined: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Table {
    Fuse(FuseTable),
    Minimal(Minimal, Counters),
}

impl StaticSet {
    fn of(shape: Shape, keys: u64, table: Table) -> Self {
        let inlined = shape.mode == Mode::Fuse && shape.width() == fuse::BYTE && shape.values == 1 && keys > 0;
        StaticSet { shape, keys, table, inlined }
    }

    #[inline(never)]
    fn test_called<K: Key + ?Sized>(&self, hashing: &Hashing, key: &K) -> bool {
        self.test(Hashed { digest: key.digest(hashing), bytes: &[] })
    }

    /// The set of `keys` keys, whose digests and values `record` gives; `name` is how one is called in an error.
    fn build(
        shape: Shape,
        keys: usize,
        record: impl Fn(usize) -> (Digest, u64),
        name: impl Fn(usize) -> String,
    ) -> Result<Self> {
        let content = |(digest, value)| (digest, shape.content(digest, value));
        if shape.mode == Mode::Fuse
            && let Some(table) = FuseTable::build(keys, shape.width(), false, |key| content(record(key)))?
        {
            return Ok(Self::of(shape, keys as u64, Table::Fuse(table)));
        }
        let of_key = |item: usize| {
            let (digest, value) = record(item);
            Record { digest, value, item }
        };
        let mut records: Vec<Record> = (0..keys).map(of_key).collect();
        distinct(&mut records, name)?;
        let keys = records.len() as u64;
        let table = if shape.mode == Mode::Fuse {
            let of_record = |key: usize| content((records[key].digest, records[key].value));
            Table::Fuse(FuseTable::build(records.len(), shape.width(), true, of_record)?.ok_or_else(|| {
                Error::Build {
                    what: format!("no seed gives each of {keys} keys a cell of its own"),
                    remedy: "build it with another seed, or with mode=minimal".into(),
                }
            })?)
        } else {
            let minimal = Minimal::build(&records)?;
            let mut slots = Counters::zeroed(keys, shape.width())?;
            for Record { digest, value, .. } in records {
                // Every member has a slot.
                slots.set(minimal.slot(digest).unwrap_or(0), shape.content(digest, value));
            }
            Table::Minimal(minimal, slots)
        };
        Ok(Self::of(shape, keys, table))
    }

    fn bits(&self) -> u64 {
        match &self.table {
            Table::Fuse(table) => table.bits(),
            Table::Minimal(minimal, slots) => minimal.bits() + slots.bits(),
        }
    }

    #[inline(always)]
    fn value(&self, digest: Digest) -> Option<u64> {
        if self.keys == 0 {
            return None;
        }
        let content = match &self.table {
            Table::Fuse(table) => table.read(digest),
            Table::Minimal(minimal, slots) => slots.get(minimal.slot(digest)?),
        };
        self.shape.value(content, digest)
    }
}

impl Mechanism for StaticSet {
    const FACTS: Facts = Facts {
        id: "perfect-hash",
        number: 17,
        aliases: &["MPHF", "BDZ", "binary fuse filter", "xor filter"],
        family: "membership",
        text: Text::new(include_str!("perfect_hash.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::SpuriousValue],
        note: NoteType::None,
        parameters: &[],
    };

    const OWN_ITEMS: bool = true;

    const NEEDS: &'static [Need] = &[Need::new(Verb::Get, "holds", "values")];

    const SPECIALS: &'static [Special<PerfectHash>] = &[Special::ask(
        "slot",
        Takes::Key,
        "the key's slot, below the number of keys (mode minimal)",
        |set, argument| {
            let key = argument.key()?;
            match &set.mechanism.table {
                Table::Minimal(..) => Ok(set.slot(key).map_or(Reply::Unknown, Reply::from)),
                Table::Fuse(_) => Err(Error::parameter("mode", "minimal: in others keys have no slot", "fuse")),
            }
        },
    )];

    type Settings = PerfectHashSettings;

    fn resolve(asked: &PerfectHashSettings) -> Result<PerfectHashSettings> {
        let Shape { mode, fingerprint, .. } = Shape::of(asked)?;
        let (holds, values) = (Some(HOLDS.need(asked.holds)?), Some(VALUES.need(asked.values)?));
        Ok(PerfectHashSettings { mode: Some(mode), holds, values, fingerprint: Some(fingerprint), ..asked.clone() })
    }

    fn plan(settings: &PerfectHashSettings) -> Result<Plan> {
        let (shape, items) = (Shape::of(settings)?, settings.items);
        let bits = shape.planned_bits(items.unwrap_or(0))?;
        Ok(Plan { bits, hashes: fuse::CELLS as u32, items, fpr: Some(shape.rate()) })
    }

    fn empty(settings: &PerfectHashSettings, _: &Hashing) -> Result<Self> {
        Self::build(Shape::of(settings)?, 0, |_| (Digest::from_word(0), 0), |_| String::new())
    }

    fn domain(settings: &PerfectHashSettings) -> String {
        format!("perfect-hash {} {}", settings.mode.map_or("", Choice::word), settings.fingerprint.unwrap_or(0))
    }

    fn note(settings: &PerfectHashSettings) -> NoteType {
        if settings.holds == Some(Holds::Values) { NoteType::Integer } else { NoteType::None }
    }

    fn items(&self, _: u64) -> u64 {
        self.keys
    }

    fn stats(&self, items: u64) -> Stats {
        let fpr = self.expected(items).false_positive;
        Stats { items, bits: self.bits(), hashes: fuse::CELLS as u32, fill: None, fpr, honest_fill: None }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = Some(if items == 0 { 0.0 } else { self.shape.rate() });
        Rates { false_positive: rate, spurious_value: rate, ..Rates::default() }
    }

    /// State: keys, then the table's. Stores: the table's, and fingerprints by slot in mode minimal.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.keys);
        match &self.table {
            Table::Fuse(table) => table.encode(encoder),
            Table::Minimal(minimal, slots) => {
                minimal.encode(encoder);
                encoder.words(slots.words());
            }
        }
    }

    fn decode(settings: &PerfectHashSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (shape, keys) = (Shape::of(settings)?, decoder.state().u64()?);
        let table = match shape.mode {
            Mode::Fuse => Table::Fuse(FuseTable::decode(decoder, keys, shape.width())?),
            Mode::Minimal => {
                let minimal = Minimal::decode(decoder, keys)?;
                Table::Minimal(minimal, decoder.cells(keys, shape.width())?)
            }
        };
        Ok((Self::of(shape, keys, table), 0))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.bits()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        match &self.table {
            Table::Fuse(table) => table.prefetch(digest),
            Table::Minimal(minimal, _) if self.keys > 0 => minimal.prefetch(digest),
            Table::Minimal(..) => {}
        }
    }
}

impl Lookup for StaticSet {
    /// Exact for a member; `None` only if the key is certainly absent.
    type Answer = Option<u64>;

    #[inline]
    fn lookup(&self, key: Hashed<'_>) -> Option<u64> {
        self.value(key.digest)
    }
}

impl Test for StaticSet {
    #[inline(always)]
    fn test_key<K: Key + ?Sized>(&self, hashing: &Hashing, key: &K) -> bool {
        // What a loop over keys asks once.
        if let (true, Table::Fuse(table)) = (self.inlined & hashing.is_folded(), &self.table) {
            let digest = key.digest(hashing);
            return table.holds_byte(digest, digest.h2);
        }
        self.test_called(hashing, key)
    }

    #[inline(always)]
    fn test(&self, key: Hashed<'_>) -> bool {
        match &self.table {
            // Cells are as wide as fingerprints here: nothing else is to be compared.
            Table::Fuse(table) if self.shape.values == 1 && self.keys > 0 => table.holds(key.digest, key.digest.h2),
            _ => self.value(key.digest).is_some(),
        }
    }
}

impl Assemble for StaticSet {
    fn assemble(
        asked: &PerfectHashSettings,
        hashing: &Hashing,
        data: &Dataset<'_>,
    ) -> Result<(PerfectHashSettings, Self, u64)> {
        let settings = Self::resolve(asked)?;
        let (shape, hashing) = (Shape::of(&settings)?, Self::hashing(&settings, hashing));
        let value = |item: &crate::capability::Item<'_>| match shape.values {
            1 => item.bare().map(|_| 0),
            _ => shape.check_value(item.integer()?),
        };
        data.items.iter().try_for_each(|item| value(item).map(drop))?;
        let record = |item: usize| (hashing.digest(data.items[item].key), value(&data.items[item]).unwrap_or(0));
        let set = Self::build(shape, data.items.len(), record, |item| name_of(data.items, item))?;
        Ok((settings, set, 0))
    }
}

impl PerfectHash {
    /// The set of these keys with a false-positive rate of at most `fpr`: the power of 1/2 next below.
    ///
    /// ```
    /// use bouquet::PerfectHash;
    /// let set = PerfectHash::with_rate(1.0 / 256.0, (0..100_000u64).collect::<Vec<_>>())?;
    /// assert!((0..100_000u64).all(|key| set.contains(&key)));
    /// assert!(set.stats().bits < 951_000, "a Bloom filter takes 1,154,000 bits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate<K: Key>(fpr: f64, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        Self::from_keys(&PerfectHashSettings { fpr: Some(fpr), ..Default::default() }, &Hashing::default(), keys)
    }

    /// The set of these keys with fingerprints of this many bits.
    ///
    /// ```
    /// use bouquet::PerfectHash;
    /// assert_eq!(PerfectHash::with_fingerprint(12, ["rose"])?.stats().fpr, Some(1.0 / 4096.0));
    /// assert!(PerfectHash::with_fingerprint(0, ["rose"]).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_fingerprint<K: Key>(bits: u32, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        let settings = PerfectHashSettings { fingerprint: Some(bits), ..Default::default() };
        Self::from_keys(&settings, &Hashing::default(), keys)
    }

    /// The set of these keys with these settings.
    ///
    /// ```
    /// use bouquet::{PerfectHash, PerfectHashSettings, hash::Hashing};
    /// let settings = PerfectHashSettings { fingerprint: Some(16), ..Default::default() };
    /// let set = PerfectHash::from_keys(&settings, &Hashing::seeded(7), ["rose", "lily", "rose"])?;
    /// assert_eq!(set.items(), 2, "a key that comes twice is one");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_keys<K: Key>(
        settings: &PerfectHashSettings,
        hashing: &Hashing,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self> {
        let settings = PerfectHashSettings { holds: Some(Holds::Keys), ..settings.clone() };
        Self::from_pairs(&settings, hashing, keys.into_iter().map(|key| (key, 0)))
    }

    /// The map of these keys to these values, with these settings.
    ///
    /// ```
    /// use bouquet::{PerfectHash, PerfectHashSettings, hash::Hashing, membership::perfect_hash::Holds};
    /// let settings = PerfectHashSettings { holds: Some(Holds::Values), values: Some(10), ..Default::default() };
    /// let petals = PerfectHash::from_pairs(&settings, &Hashing::default(), [("rose", 5), ("lily", 6)])?;
    /// assert_eq!((petals.get("rose"), petals.get("lily")), (Some(5), Some(6)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_pairs<K: Key>(
        settings: &PerfectHashSettings,
        hashing: &Hashing,
        pairs: impl IntoIterator<Item = (K, u64)>,
    ) -> Result<Self> {
        settings.check()?;
        let settings = StaticSet::resolve(settings)?;
        let (shape, own) = (Shape::of(&settings)?, StaticSet::hashing(&settings, hashing));
        let pairs: Vec<(K, u64)> = pairs.into_iter().collect();
        pairs.iter().try_for_each(|&(_, value)| shape.check_value(value).map(drop))?;
        let record = |item: usize| (pairs[item].0.digest(&own), pairs[item].1);
        let name = |item: usize| format!("number {item}");
        let set = StaticSet::build(shape, pairs.len(), record, name)?;
        Ok(Self::of_parts(set, settings, hashing, 0))
    }

    /// The slot of a key in mode `minimal`: members have all slots below their number, each its own. A stranger may have any.
    ///
    /// ```
    /// use bouquet::{PerfectHash, PerfectHashSettings, hash::Hashing, membership::perfect_hash::Mode};
    /// let minimal = PerfectHashSettings { mode: Some(Mode::Minimal), ..Default::default() };
    /// let set = PerfectHash::from_keys(&minimal, &Hashing::default(), ["rose", "lily"])?;
    /// assert_eq!(set.slot("rose").max(set.slot("lily")), Some(1));
    /// assert_eq!(PerfectHash::with_rate(0.01, ["rose"])?.slot("rose"), None, "three cells, and none its own");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn slot<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        match &self.mechanism.table {
            Table::Minimal(minimal, _) => minimal.slot(key.digest(&self.hashing)),
            Table::Fuse(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
