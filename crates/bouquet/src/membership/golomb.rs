#![doc = include_str!("golomb.md")]

use siphasher::sip::SipHasher24;

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{HashId, Hashing, fastrange};
use crate::key::Key;
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, common, kind,
};
use crate::parts::records::bits_for;
use crate::shell::{Choice, Fields, Filter, Gather, Hashed, Mechanism, Settings, Test, Unite, choices, fields};
use crate::theory::{MAX_BITS, golomb as theory};

mod coded;

use coded::{Coded, Shape};

/// The registry's row.
pub const KIND: Kind = kind!(Golomb);

/// A Golomb-coded set: the smallest message of a set that does not change.
///
/// ```
/// use bouquet::Golomb;
/// let flowers = Golomb::with_rate(0.001, ["rose", "lily", "iris"])?;
/// assert!(flowers.contains("lily") && !flowers.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Golomb = Filter<CodedSet>;

/// Hash values per key of Bitcoin's basic block filters.
const BITCOIN_SPREAD: u64 = 784_931;

/// How gaps are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapCode {
    /// Any divisor.
    Golomb,
    /// A power of two.
    Rice,
    /// The Rice code, the hash function and the message of Bitcoin's BIP 158.
    Bip158,
}

choices!(GapCode { Golomb = "golomb", Rice = "rice", Bip158 = "bip158" });

/// The most hash values: products with a gap's divisor stay far below 2^64.
const MAX_RANGE: u64 = 1 << 56;

const SPREAD: Parameter = Parameter::count(
    "spread",
    "hash values per key, instead of a rate; 784931 with code bip158 when neither is given",
    1,
    1 << 48,
);
const RANGE: Parameter =
    Parameter::count("range", "hash values in all, instead of items and a rate (not with code bip158)", 1, MAX_RANGE);
const CODE: Parameter = Parameter::choice(
    "code",
    "golomb: shortest; rice: divided by a power of two; bip158: as Bitcoin's block filters, hashed with SipHash under the secret",
    GapCode::WORDS,
);
const DIVISOR: Parameter =
    Parameter::count("divisor", "what gaps are divided by; the best when not given (bip158: 2^19)", 1, 1 << 48);
const INDEX: Parameter =
    Parameter::count("index", "hash values per entry of the index: the most that a lookup decodes", 1, 1 << 32).or(256);

/// The settings of a Golomb-coded set.
///
/// ```
/// use bouquet::{Golomb, GolombSettings, hash::Hashing, membership::golomb::GapCode};
/// let settings = GolombSettings { code: Some(GapCode::Rice), fpr: Some(1.0 / 256.0), ..Default::default() };
/// let set = Golomb::from_keys(&settings, &Hashing::default(), (0..1_000u64).collect::<Vec<_>>())?;
/// assert_eq!((set.settings().range, set.settings().divisor), (Some(256_000), Some(128)));
/// # Ok::<(), bouquet::Error>(())
/// ```
///
/// With code `bip158` the first 16 bytes of a secret are SipHash's key; for a block filter they are those of the block's hash:
///
/// ```
/// use bouquet::{Golomb, GolombSettings, hash::{Hashing, Secret}, membership::golomb::GapCode};
/// let bitcoin = GolombSettings { code: Some(GapCode::Bip158), ..Default::default() };
/// let block = Hashing::keyed(Secret::new(&[7; 32])?);
/// let filter = Golomb::from_keys(&bitcoin, &block, ["rose", "lily"])?;
/// assert_eq!(filter.settings().range, Some(2 * 784_931));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GolombSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The false-positive rate.
    pub fpr: Option<f64>,
    /// Hash values per key.
    pub spread: Option<u64>,
    /// Hash values in all.
    pub range: Option<u64>,
    /// How gaps are coded.
    pub code: Option<GapCode>,
    /// What gaps are divided by.
    pub divisor: Option<u64>,
    /// Hash values per entry of the index.
    pub index: Option<u64>,
}

impl Settings for GolombSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        spread: SPREAD,
        range: RANGE,
        code: CODE,
        divisor: DIVISOR,
        index: INDEX,
    ];

    const DESIGN: &'static [&'static str] = &["items", "fpr", "spread"];
}

/// Sorted hash values.
#[derive(Clone, Debug, PartialEq)]
pub struct CodedSet {
    code: GapCode,
    values: Coded,
}

/// The settings, checked.
fn shape(settings: &GolombSettings) -> Result<Shape> {
    let (code, interval) = (CODE.need(settings.code)?, INDEX.need(settings.index)?);
    let fpr = common::FPR.need(settings.fpr)?;
    let spread = settings.spread.or((code == GapCode::Bip158 && settings.fpr.is_none()).then_some(BITCOIN_SPREAD));
    let wanted = match (settings.range, settings.items, spread) {
        (Some(range), ..) => range as f64,
        (None, None, _) => return Err(common::ITEMS.missing("range")),
        (None, Some(items), Some(spread)) => items as f64 * spread as f64,
        (None, Some(items), None) => (items as f64 / fpr).ceil(),
    };
    if wanted > MAX_RANGE as f64 {
        let name = if settings.spread.is_some() { "spread" } else { "items" };
        return Err(Error::parameter(
            name,
            "fewer, for at most 2^56 hash values in all",
            format!("{wanted:e} of them"),
        ));
    }
    // Products of whole numbers are exact below 2^53, and above it the range is any number.
    let range = match (settings.range, settings.items, spread) {
        (None, Some(items), Some(spread)) => items * spread,
        _ => wanted as u64,
    };
    let share = match (settings.items, spread) {
        (_, Some(spread)) => 1.0 / spread as f64,
        (Some(items), None) => items as f64 / range as f64,
        (None, None) => fpr,
    };
    let divisor = settings.divisor.unwrap_or_else(|| match code {
        GapCode::Golomb => theory::best_divisor(share).min(1 << 48),
        GapCode::Rice | GapCode::Bip158 => theory::best_rice(share).min(1 << 48),
    });
    if code != GapCode::Golomb && !divisor.is_power_of_two() {
        return Err(Error::parameter("divisor", format!("a power of two with code {}", code.word()), divisor));
    }
    Ok(Shape { range, divisor, interval, repeats: code == GapCode::Bip158 })
}

/// The size of code and index for this many keys; an expectation.
fn planned_bits(shape: &Shape, keys: u64) -> Result<u64> {
    if keys == 0 {
        return Ok(0);
    }
    let code = keys as f64 * theory::bits_per_key(keys as f64 / shape.range as f64, shape.divisor);
    let too_large = || Error::TooLarge { what: "the set".into(), bytes: code as u128 / 8 };
    let code = Some(code as u64).filter(|&bits| bits <= MAX_BITS).ok_or_else(too_large)?;
    Ok(code + keys.div_ceil(shape.interval) * u64::from(shape.value_bits() + bits_for(code)))
}

/// The hash value of a key: as many of them as the range has.
#[inline(always)]
fn hash_value<K: Key + ?Sized>(code: GapCode, range: u64, hashing: &Hashing, key: &K) -> u64 {
    let hash = if code == GapCode::Bip158 { siphash(hashing, key) } else { key.digest(hashing).h1 };
    fastrange(hash, range)
}

/// SipHash-2-4 with 64 bits, as BIP 158 has it: the key is the first 16 bytes of the secret, there the hash of a block.
fn siphash<K: Key + ?Sized>(hashing: &Hashing, key: &K) -> u64 {
    let mut sip = [0; 16];
    match hashing.secret() {
        Some(secret) => sip.copy_from_slice(&secret.expose()[..16]),
        None => sip[..8].copy_from_slice(&hashing.seed().to_le_bytes()),
    }
    let hasher = SipHasher24::new_with_key(&sip);
    key.with_bytes(|bytes| hasher.hash(bytes))
}

impl Mechanism for CodedSet {
    const FACTS: Facts = Facts {
        id: "golomb",
        number: 18,
        aliases: &["GCS", "Golomb-coded set", "BIP158"],
        family: "membership",
        text: Text::new(include_str!("golomb.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const OWN_ITEMS: bool = true;

    const SIZE_FOLLOWS_DATA: bool = true;

    const SPECIALS: &'static [Special<Golomb>] = &[
        Special::ask("values", Takes::Nothing, "the sorted hash values", |set, _| {
            Ok(Reply::Table(&["value"], set.values().map(|value| vec![value.into()]).collect()))
        }),
        Special::ask("decoded", Takes::Key, "the hash values that a lookup of the key decodes", |set, argument| {
            Ok(set.mechanism.values.find(set.value(argument.key()?)).1.into())
        }),
        Special::ask(
            "message",
            Takes::Nothing,
            "the number of hash values as Bitcoin's compact size, then their code: with code bip158 a block filter",
            |set, _| set.to_message().map(Reply::Bytes),
        ),
    ];

    type Settings = GolombSettings;

    fn resolve(asked: &GolombSettings) -> Result<GolombSettings> {
        let shape = shape(asked)?;
        let code = Some(CODE.need(asked.code)?);
        let (range, divisor, index) = (Some(shape.range), Some(shape.divisor), Some(shape.interval));
        Ok(GolombSettings { range, code, divisor, index, ..asked.clone() })
    }

    fn plan(settings: &GolombSettings) -> Result<Plan> {
        let (shape, items) = (shape(settings)?, settings.items);
        let fpr = items.map(|items| theory::rate(items, shape.range));
        Ok(Plan { bits: planned_bits(&shape, items.unwrap_or(0))?, hashes: 1, items, fpr })
    }

    fn empty(settings: &GolombSettings, hashing: &Hashing) -> Result<Self> {
        let code = CODE.need(settings.code)?;
        if code == GapCode::Bip158 && hashing.id() == HashId::Blake3 {
            return Err(Error::parameter("code", "another with a strong hash function: BIP 158 has SipHash", "bip158"));
        }
        Ok(CodedSet { code, values: Coded::new(shape(settings)?, &[])? })
    }

    fn domain(settings: &GolombSettings) -> String {
        format!("golomb {}", settings.range.unwrap_or(0))
    }

    fn items(&self, _: u64) -> u64 {
        self.values.count
    }

    fn stats(&self, items: u64) -> Stats {
        let Shape { range, repeats, .. } = self.values.shape;
        // Numbers that come twice are one; how many do is expected, not counted.
        let fpr = Some(if repeats { theory::rate(items, range) } else { items as f64 / range as f64 });
        Stats { items, bits: self.values.bits(), hashes: 1, fill: None, fpr, honest_fill: None }
    }

    fn figures(&self) -> Vec<Figure> {
        let index = self.values.bits() - self.values.len;
        [("code bits", self.values.len), ("index bits", index)]
            .map(|(name, bits)| Figure { name, value: Setting::Count(bits) })
            .to_vec()
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = theory::rate(items, self.values.shape.range);
        Rates { false_positive: Some(rate), ..Rates::default() }
    }

    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        self.values.encode(encoder);
    }

    fn decode(settings: &GolombSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let values = Coded::decode(shape(settings)?, decoder)?;
        Ok((CodedSet { code: CODE.need(settings.code)?, values }, 0))
    }
}

impl Test for CodedSet {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.holds(fastrange(key.digest.h1, self.values.shape.range))
    }

    #[inline]
    fn test_key<K: Key + ?Sized>(&self, hashing: &Hashing, key: &K) -> bool {
        self.holds(hash_value(self.code, self.values.shape.range, hashing, key))
    }

    /// Sorted, so that one pass answers all.
    fn test_batch<K: Key>(&self, hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        let value = |key: &K| hash_value(self.code, self.values.shape.range, hashing, key);
        let mut wanted: Vec<(u64, usize)> = keys.iter().map(value).take(answers.len()).zip(0..).collect();
        wanted.sort_unstable();
        let mut places = wanted.iter();
        self.values.find_ascending(wanted.iter().map(|&(value, _)| value), |found| {
            if let Some(&(_, at)) = places.next() {
                answers[at] = found;
            }
        });
    }
}

impl Unite for CodedSet {
    fn unite(&mut self, other: &Self) -> Result<()> {
        let mut numbers: Vec<u64> = self.values.numbers().chain(other.values.numbers()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        self.values = Coded::new(self.values.shape, &numbers)?;
        Ok(())
    }
}

impl Gather for CodedSet {
    const SIZES: &'static [&'static str] = &["range"];

    fn gather<K: Key>(
        asked: &GolombSettings,
        hashing: &Hashing,
        keys: &[K],
        _: &[K],
    ) -> Result<(GolombSettings, Self, u64)> {
        let mut asked = asked.clone();
        let mut keys: Vec<&K> = keys.iter().collect();
        if asked.code == Some(GapCode::Bip158) {
            // The receiver computes the range from the number of keys in the message, so that each must come once.
            let bytes = |key: &&K| key.with_bytes(<[u8]>::to_vec);
            keys.sort_by_cached_key(bytes);
            keys.dedup_by_key(|key| bytes(key));
            asked = GolombSettings { items: Some(keys.len().max(1) as u64), range: None, ..asked };
        }
        let settings = Self::resolve(&asked)?;
        let empty = Self::empty(&settings, hashing)?;
        let (shape, hashing) = (empty.values.shape, Self::hashing(&settings, hashing));
        let mut numbers: Vec<u64> =
            keys.iter().map(|key| hash_value(empty.code, shape.range, &hashing, *key)).collect();
        numbers.sort_unstable();
        if !shape.repeats {
            numbers.dedup();
        }
        Ok((settings, CodedSet { values: Coded::new(shape, &numbers)?, ..empty }, 0))
    }
}

impl CodedSet {
    #[inline]
    fn holds(&self, value: u64) -> bool {
        self.values.find(value).0
    }
}

impl Golomb {
    /// The set of these keys with a false-positive rate of `fpr`.
    ///
    /// ```
    /// use bouquet::Golomb;
    /// let set = Golomb::with_rate(0.01, (0..1_000u64).collect::<Vec<_>>())?;
    /// assert!((0..1_000u64).all(|key| set.contains(&key)));
    /// assert!(set.stats().bits < 8_600, "a Bloom filter takes 9,593 bits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate<K: Key>(fpr: f64, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        Self::from_keys(&GolombSettings { fpr: Some(fpr), ..Default::default() }, &Hashing::default(), keys)
    }

    /// The set of these keys with `range` hash values in all: sets of one range can be merged.
    ///
    /// ```
    /// use bouquet::Golomb;
    /// let mut here = Golomb::with_range(1 << 20, ["rose", "lily"])?;
    /// here.merge(&Golomb::with_range(1 << 20, ["iris"])?)?;
    /// assert!(here.contains("iris") && here.items() == 3);
    /// assert!(here.merge(&Golomb::with_range(1 << 21, ["aster"])?).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_range<K: Key>(range: u64, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        Self::from_keys(&GolombSettings { range: Some(range), ..Default::default() }, &Hashing::default(), keys)
    }

    /// The hash values, ascending.
    ///
    /// ```
    /// use bouquet::Golomb;
    /// let set = Golomb::with_rate(0.01, ["rose", "lily"])?;
    /// assert!(set.values().is_sorted() && set.values().all(|value| value < 200));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn values(&self) -> impl Iterator<Item = u64> {
        self.mechanism.values.numbers()
    }

    fn value(&self, key: &[u8]) -> u64 {
        hash_value(self.mechanism.code, self.mechanism.values.shape.range, &self.hashing, key)
    }

    /// The set of a message that [`to_message`](Self::to_message) made, or another program: with `code=bip158` a block filter, whose hashing
    /// is keyed with the first 16 bytes of the block's hash. What is not the one code of its values is refused.
    ///
    /// ```
    /// use bouquet::{Golomb, GolombSettings, hash::{Hashing, Secret}, membership::golomb::GapCode};
    /// let settings = GolombSettings { code: Some(GapCode::Bip158), ..Default::default() };
    /// let block = Hashing::keyed(Secret::new(&[7; 16])?);
    /// let message = Golomb::from_keys(&settings, &block, ["rose", "lily"])?.to_message()?;
    /// let received = Golomb::from_message(&message, &settings, &block)?;
    /// assert!(received.contains("rose") && !received.contains("thistle"));
    /// assert!(Golomb::from_message(&message[..4], &settings, &block).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_message(message: &[u8], settings: &GolombSettings, hashing: &Hashing) -> Result<Self> {
        let wrong = |found: &str| Error::corrupt("message", "the number of hash values and the code of as many", found);
        let (count, code) = read_compact_size(message).ok_or_else(|| wrong("no number"))?;
        // The range follows from the number of values, unless it is given.
        let sized = GolombSettings { items: Some(count.max(1)), ..settings.clone() };
        let settings = CodedSet::resolve(&sized)?;
        let empty = CodedSet::empty(&settings, hashing)?;
        let values = Coded::from_bytes(empty.values.shape, count, code)?.ok_or_else(|| wrong("another"))?;
        Ok(Self::of_parts(CodedSet { values, ..empty }, settings, hashing, 0))
    }

    /// The number of hash values as Bitcoin's compact size, then their code. With code `bip158` the reader computes the range
    /// from that number: a set that was merged has another, and no message.
    ///
    /// ```
    /// use bouquet::Golomb;
    /// let message = Golomb::with_rate(0.01, (0..300u64).collect::<Vec<_>>())?.to_message()?;
    /// assert_eq!(message[0], 0xFD, "two bytes follow that tell how many values there are");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn to_message(&self) -> Result<Vec<u8>> {
        let (Coded { count, shape, .. }, settings) = (&self.mechanism.values, self.settings());
        if self.mechanism.code == GapCode::Bip158 && *count > 0 {
            let spread = shape.range / settings.items.unwrap_or(1).max(1);
            if Some(shape.range) != spread.checked_mul(*count) {
                let what = format!("{count} hash values below {}: no block filter has this range", shape.range);
                return Err(Error::Build {
                    what,
                    remedy: "build the set of all keys at once, with code=bip158".into(),
                });
            }
        }
        let mut message = compact_size(*count);
        message.extend(self.mechanism.values.bytes());
        Ok(message)
    }
}

/// Reads what [`compact_size`] writes; `None` if it is cut off, or longer than the number takes.
fn read_compact_size(message: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = message.split_first()?;
    let bytes = match first {
        0xFD => 2,
        0xFE => 4,
        0xFF => 8,
        number => return Some((number.into(), rest)),
    };
    let (digits, rest) = rest.split_at_checked(bytes)?;
    let number = digits.iter().rev().fold(0, |number, &digit| number << 8 | u64::from(digit));
    (compact_size(number).len() == bytes + 1).then_some((number, rest))
}

/// A number as Bitcoin writes it: one byte up to 252, else a byte that tells the length and 2, 4 or 8 bytes.
fn compact_size(number: u64) -> Vec<u8> {
    let (first, bytes) = match number {
        0..=0xFC => return vec![number as u8],
        0xFD..=0xFFFF => (0xFD, 2),
        0x1_0000..=0xFFFF_FFFF => (0xFE, 4),
        _ => (0xFF, 8),
    };
    std::iter::once(first).chain(number.to_le_bytes().into_iter().take(bytes)).collect()
}

#[cfg(test)]
mod tests;
