#![doc = include_str!("perfect_hash.md")]

use crate::capability::{Dataset, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::{BATCH, Key, one_batch_ahead};
use crate::kind::{ErrorClass, Facts, Kind, Need, Plan, Rates, Reply, Special, Stats, Takes, Text, Verb, kind};
use crate::parts::fuse::{self, FuseTable};
use crate::parts::records::{Record, distinct, name_of};
use crate::shell::{Assemble, Choice, Filter, Hashed, Lookup, Mechanism, Settings, Test, batch};
use crate::store::Counters;

mod minimal;
mod settings;

use minimal::Minimal;
use settings::{HOLDS, Shape, VALUES};
pub use settings::{Holds, Mode, PerfectHashSettings};

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

/// Fingerprints that are looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticSet {
    shape: Shape,
    /// Distinct keys.
    keys: u64,
    table: Table,
}

/// Which it is has a byte of its own, so that asking takes one comparison.
#[derive(Clone, Debug, PartialEq)]
#[repr(u8)]
enum Table {
    /// Cells of a byte, which are fingerprints alone, and at least one key.
    Bytes(FuseTable),
    /// The same of two bytes.
    Shorts(FuseTable),
    /// Any others.
    Fuse(FuseTable),
    Minimal(Minimal, Counters),
}

impl StaticSet {
    fn of_fuse(shape: Shape, keys: u64, table: FuseTable) -> Self {
        let table = match shape.width() {
            8 if shape.values == 1 && keys > 0 => Table::Bytes(table),
            16 if shape.values == 1 && keys > 0 => Table::Shorts(table),
            _ => Table::Fuse(table),
        };
        StaticSet { shape, keys, table }
    }

    #[inline(never)]
    fn test_called<K: Key + ?Sized>(&self, hashing: &Hashing, key: &K) -> bool {
        self.test(Hashed { digest: key.digest(hashing), bytes: &[] })
    }

    /// The set of `keys` keys, whose digests by `hashing` and values `record` gives; `name` is how one is called in an error.
    fn build(
        shape: Shape,
        hashing: &Hashing,
        keys: usize,
        record: impl Fn(usize) -> (Digest, u64),
        name: impl Fn(usize) -> String,
    ) -> Result<Self> {
        if shape.mode == Mode::Fuse
            && let Some(table) = Self::build_fuse(shape, hashing, keys, false, &record)?
        {
            return Ok(Self::of_fuse(shape, keys as u64, table));
        }
        let of_key = |item: usize| {
            let (digest, value) = record(item);
            Record { digest, value, item }
        };
        let mut records: Vec<Record> = (0..keys).map(of_key).collect();
        distinct(&mut records, name)?;
        let keys = records.len() as u64;
        if shape.mode == Mode::Fuse {
            let record = |key: usize| (records[key].digest, records[key].value);
            let table = Self::build_fuse(shape, hashing, records.len(), true, record)?;
            return table.map(|table| Self::of_fuse(shape, keys, table)).ok_or_else(|| Error::Build {
                what: format!("no seed gives each of {keys} keys a cell of its own"),
                remedy: "build it with another seed, or with mode=minimal".into(),
            });
        }
        let minimal = Minimal::build(&records)?;
        let mut slots = Counters::zeroed(keys, shape.width())?;
        for Record { digest, value, .. } in records {
            // Every member has a slot.
            slots.set(minimal.slot(digest).unwrap_or(0), shape.content(digest, value));
        }
        Ok(StaticSet { shape, keys, table: Table::Minimal(minimal, slots) })
    }

    fn build_fuse(
        shape: Shape,
        hashing: &Hashing,
        keys: usize,
        distinct: bool,
        record: impl Fn(usize) -> (Digest, u64),
    ) -> Result<Option<FuseTable>> {
        // In digests of 64 bits the second half follows from the first.
        if shape.values == 1 && hashing.id().bits() == 64 {
            return FuseTable::of_hashes(keys, shape.width(), distinct, |key| record(key).0.h1);
        }
        FuseTable::build(keys, shape.width(), distinct, |key| {
            let (digest, value) = record(key);
            (digest, shape.content(digest, value))
        })
    }

    fn bits(&self) -> u64 {
        match &self.table {
            Table::Bytes(table) | Table::Shorts(table) | Table::Fuse(table) => table.bits(),
            Table::Minimal(minimal, slots) => minimal.bits() + slots.bits(),
        }
    }

    #[inline(always)]
    fn value(&self, digest: Digest) -> Option<u64> {
        if self.keys == 0 {
            return None;
        }
        let content = match &self.table {
            Table::Bytes(table) | Table::Shorts(table) | Table::Fuse(table) => table.read(digest),
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

    /// 16 MiB. The reads of a fuse table wait for nothing but the digest, so that the processor has those of several keys under way by
    /// itself: with 11 MiB in a cache of 32 prefetching takes a quarter longer, with 22 it takes half of the time.
    const NEAR: u64 = 1 << 27;

    const NEEDS: &'static [Need] = &[Need::new(Verb::Get, "holds", "values")];

    const SPECIALS: &'static [Special<PerfectHash>] = &[Special::ask(
        "slot",
        Takes::Key,
        "the key's slot, below the number of keys (mode minimal)",
        |set, argument| {
            let key = argument.key()?;
            match &set.mechanism.table {
                Table::Minimal(..) => Ok(set.slot(key).map_or(Reply::Unknown, Reply::from)),
                _ => Err(Error::parameter("mode", "minimal: in others keys have no slot", "fuse")),
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

    fn empty(settings: &PerfectHashSettings, hashing: &Hashing) -> Result<Self> {
        Self::build(Shape::of(settings)?, hashing, 0, |_| (Digest::from_word(0), 0), |_| String::new())
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
            Table::Bytes(table) | Table::Shorts(table) | Table::Fuse(table) => table.encode(encoder),
            Table::Minimal(minimal, slots) => {
                minimal.encode(encoder);
                encoder.words(slots.words());
            }
        }
    }

    fn decode(settings: &PerfectHashSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (shape, keys) = (Shape::of(settings)?, decoder.state().u64()?);
        let set = match shape.mode {
            Mode::Fuse => Self::of_fuse(shape, keys, FuseTable::decode(decoder, keys, shape.width())?),
            Mode::Minimal => {
                let minimal = Minimal::decode(decoder, keys)?;
                let table = Table::Minimal(minimal, decoder.cells(keys, shape.width())?);
                StaticSet { shape, keys, table }
            }
        };
        Ok((set, 0))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.bits()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        match &self.table {
            Table::Bytes(table) | Table::Shorts(table) | Table::Fuse(table) => table.prefetch_at(table.cells(digest)),
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
        if hashing.is_folded() {
            match &self.table {
                Table::Bytes(table) => return test_whole(table, key.digest(hashing), |half| half as u8),
                Table::Shorts(table) => return test_whole(table, key.digest(hashing), |half| half as u16),
                _ => {}
            }
        }
        self.test_called(hashing, key)
    }

    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        match &self.table {
            Table::Bytes(table) => test_whole(table, key.digest, |half| half as u8),
            Table::Shorts(table) => test_whole(table, key.digest, |half| half as u16),
            // Cells are as wide as fingerprints here: nothing else is to be compared.
            Table::Fuse(table) if self.shape.values == 1 && self.keys > 0 => table.holds(key.digest, key.digest.h2),
            _ => self.value(key.digest).is_some(),
        }
    }

    #[inline(always)]
    fn test_batch<K: Key>(&self, hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        // What a loop over keys would ask for each.
        match &self.table {
            Table::Bytes(table) if hashing.is_folded() => {
                test_batch_whole(self, table, hashing, keys, answers, |half| half as u8);
            }
            Table::Shorts(table) if hashing.is_folded() => {
                test_batch_whole(self, table, hashing, keys, answers, |half| half as u16);
            }
            _ => batch::answer(self, hashing, keys, answers, |key| self.test(key)),
        }
    }
}

/// Whether the sum of a key's cells is the lower part of the second half of its digest.
#[inline(always)]
fn test_whole<C: fuse::Whole>(table: &FuseTable, digest: Digest, part: impl Fn(u64) -> C) -> bool {
    table.sum_at::<C>(table.cells(digest)) == part(digest.h2)
}

/// The same for many keys: in a far table the cells of a batch are prefetched while those of the one before are summed.
#[inline(always)]
fn test_batch_whole<C: fuse::Whole, K: Key>(
    set: &StaticSet,
    table: &FuseTable,
    hashing: &Hashing,
    keys: &[K],
    answers: &mut [bool],
    part: impl Fn(u64) -> C + Copy,
) {
    if !batch::is_far(set) {
        return batch::answer(set, hashing, keys, answers, |key| test_whole(table, key.digest, part));
    }
    let make = |keys: &[K], found: &mut [(fuse::Places, C); BATCH]| {
        for (found, key) in found.iter_mut().zip(keys) {
            let digest = key.digest(hashing);
            *found = (table.cells(digest), part(digest.h2));
            table.prefetch_at(found.0);
        }
    };
    one_batch_ahead(keys, Default::default(), make, |start, batch| {
        for (answer, &(cells, content)) in answers.iter_mut().skip(start).zip(batch) {
            *answer = table.sum_at::<C>(cells) == content;
        }
    });
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
        let set = Self::build(shape, &hashing, data.items.len(), record, |item| name_of(data.items, item))?;
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
        let keys: Vec<K> = keys.into_iter().collect();
        Self::from_records(&settings, hashing, keys.len(), |item, own| (keys[item].digest(own), 0))
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
        let shape = Shape::of(settings)?;
        let pairs: Vec<(K, u64)> = pairs.into_iter().collect();
        pairs.iter().try_for_each(|&(_, value)| shape.check_value(value).map(drop))?;
        Self::from_records(settings, hashing, pairs.len(), |item, own| (pairs[item].0.digest(own), pairs[item].1))
    }

    fn from_records(
        settings: &PerfectHashSettings,
        hashing: &Hashing,
        keys: usize,
        record: impl Fn(usize, &Hashing) -> (Digest, u64),
    ) -> Result<Self> {
        settings.check()?;
        let settings = StaticSet::resolve(settings)?;
        let (shape, own) = (Shape::of(&settings)?, StaticSet::hashing(&settings, hashing));
        let name = |item: usize| format!("number {item}");
        let set = StaticSet::build(shape, &own, keys, |item| record(item, &own), name)?;
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
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
