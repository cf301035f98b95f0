#![doc = include_str!("mpcbf.md")]

use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, SplitMix, fastrange};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Stats, Text, common, kind};
use crate::parts::unary_counters::{WordCode, bit, ones_between};
use crate::shell::{
    ByRate, Choice, Fields, Filter, Hashed, Mechanism, Put, Settings, Take, Tally, Test, choices, fields,
};
use crate::simd::prefetch;
use crate::store::BitStore;
use crate::theory::hierarchy::{self, MAX_PLACES, Shape};

/// The registry's row.
pub const KIND: Kind = kind!(Mpcbf);

/// A counting filter whose counters share a word with the bits that answer queries.
///
/// ```
/// use bouquet::Mpcbf;
/// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// filter.insert("rose")?;
/// assert_eq!(filter.count("rose").count, 2);
/// filter.remove("rose")?;
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Mpcbf = Filter<CountingWords>;

/// The bits of a word.
///
/// ```
/// use bouquet::{counting::mpcbf::Word, shell::Choice};
/// assert_eq!(Word::Of64.word(), "64");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// 512 bits, a cache line.
    Of512,
    /// 256 bits.
    Of256,
    /// 128 bits.
    Of128,
    /// 64 bits.
    Of64,
}

choices!(Word { Of512 = "512", Of256 = "256", Of128 = "128", Of64 = "64" });

/// What a full word does.
///
/// ```
/// use bouquet::{Error, Mpcbf, MpcbfSettings, counting::mpcbf::Policy};
/// let policy = Some(Policy::Reject);
/// let mut filter = Mpcbf::with(MpcbfSettings { items: Some(1_000), policy, ..Default::default() })?;
/// assert!(matches!(filter.insert_batch(&["rose"; 600]), Err(Error::Full { .. })));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// It is given up: it accepts every key from then on.
    Sticky,
    /// The insertion is refused.
    Reject,
}

choices!(Policy { Sticky = "sticky", Reject = "reject" });

const WORD: Parameter = Parameter::choice("word", "bits of a word; 512 is a cache line", Word::WORDS);
const WORDS_PER_KEY: Parameter =
    Parameter::count("words-per-key", "words that a key uses, each in another part of the filter", 1, 4).or(1);
const FIRST_LEVEL: Parameter = Parameter::count(
    "first-level",
    "bits of a word that answer queries, the others count; chosen for the items when not given, or given together with \
     bits and hashes",
    1,
    511,
);
const POLICY: Parameter = Parameter::choice(
    "policy",
    "what a full word does: sticky accepts every key from then on, reject refuses the insertion",
    Policy::WORDS,
);

/// The settings of a multi-partitioned counting filter.
///
/// ```
/// use bouquet::{Mpcbf, MpcbfSettings, counting::mpcbf::Word};
/// let (items, word, words_per_key) = (Some(1_000), Some(Word::Of64), Some(2));
/// let filter = Mpcbf::with(MpcbfSettings { items, word, words_per_key, ..Default::default() })?;
/// assert_eq!(filter.shape().word_bits, 64);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MpcbfSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Positions per key, in all of its words together.
    pub hashes: Option<u32>,
    /// Bits of a word.
    pub word: Option<Word>,
    /// Words that a key uses.
    pub words_per_key: Option<u32>,
    /// Bits of a word that answer queries.
    pub first_level: Option<u32>,
    /// What a full word does.
    pub policy: Option<Policy>,
}

impl Settings for MpcbfSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        word: WORD,
        words_per_key: WORDS_PER_KEY,
        first_level: FIRST_LEVEL,
        policy: POLICY,
    ];
}

impl ByRate for MpcbfSettings {}

/// The shape that the settings describe: as given, for a size, or for a rate.
fn shape(settings: &MpcbfSettings) -> Result<Shape> {
    let word_bits = 512 >> WORD.need(settings.word)? as u32;
    let g = WORDS_PER_KEY.need(settings.words_per_key)?;
    let places = match settings.hashes {
        Some(hashes) if hashes % g != 0 || hashes / g > MAX_PLACES => {
            let expected = format!("a multiple of the {g} words per key, at most {MAX_PLACES} in each");
            return Err(Error::parameter("hashes", expected, hashes));
        }
        hashes => hashes.map(|hashes| hashes / g),
    };
    let words = settings.bits.map(|bits| bits.div_ceil(u64::from(word_bits)).next_multiple_of(g.into()));
    let Some(first) = settings.first_level else {
        let items = settings.items.ok_or_else(|| common::ITEMS.missing(FIRST_LEVEL.name))?;
        return Ok(match words {
            Some(words) => hierarchy::for_words(word_bits, words, g, items, places)?,
            None => hierarchy::for_rate(word_bits, g, items, common::FPR.need(settings.fpr)?, places)?,
        });
    };
    let words = words.ok_or_else(|| Error::parameter("bits", "given with `first-level`", "missing"))?;
    let places = places.ok_or_else(|| Error::parameter("hashes", "given with `first-level`", "missing"))?;
    if first < places || first + places > word_bits {
        let expected = format!("{places} to {}, so that a key has its places and fits", word_bits - places);
        return Err(Error::parameter("first-level", expected, first));
    }
    Ok(Shape { word_bits, words, words_per_key: g, places, first })
}

/// The bits of a filter of this shape.
fn bits_of(shape: &Shape) -> Result<u64> {
    let bits = u128::from(shape.words) * u128::from(shape.word_bits);
    u64::try_from(bits).map_err(|_| Error::TooLarge { what: "the filter".into(), bytes: bits / 8 })
}

/// The places of a key in a word, distinct.
#[derive(Clone, Copy)]
struct Places {
    buffer: [u16; MAX_PLACES as usize],
    len: usize,
}

impl Places {
    #[inline]
    fn as_slice(&self) -> &[u16] {
        &self.buffer[..self.len]
    }
}

/// Words, each with bits that answer queries and counters behind them.
#[derive(Clone, Debug, PartialEq)]
pub struct CountingWords {
    shape: Shape,
    rejects: bool,
    bits: BitStore,
}

impl Mechanism for CountingWords {
    const FACTS: Facts = Facts {
        id: "mpcbf",
        number: 53,
        aliases: &["MPCBF", "HCBF", "multi-partitioned"],
        family: "counting",
        text: Text::new(include_str!("mpcbf.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    type Settings = MpcbfSettings;

    fn resolve(asked: &MpcbfSettings) -> Result<MpcbfSettings> {
        let shape = shape(asked)?;
        Ok(MpcbfSettings {
            bits: Some(bits_of(&shape)?),
            hashes: Some(shape.places * shape.words_per_key),
            word: Some(WORD.need(asked.word)?),
            words_per_key: Some(shape.words_per_key),
            first_level: Some(shape.first),
            policy: Some(POLICY.need(asked.policy)?),
            ..asked.clone()
        })
    }

    fn plan(settings: &MpcbfSettings) -> Result<Plan> {
        let (shape, items) = (shape(settings)?, settings.items);
        let hashes = shape.places * shape.words_per_key;
        Ok(Plan { bits: bits_of(&shape)?, hashes, items, fpr: items.map(|items| shape.rate(items)) })
    }

    fn empty(settings: &MpcbfSettings, _: &Hashing) -> Result<Self> {
        let shape = shape(settings)?;
        Ok(Self::of(settings, shape, BitStore::zeroed(bits_of(&shape)?)?))
    }

    fn domain(settings: &MpcbfSettings) -> String {
        shape(settings).map_or(String::new(), |shape| {
            let Shape { word_bits, words, words_per_key, places, first } = shape;
            format!("mpcbf {words} {word_bits} {words_per_key} {places} {first}")
        })
    }

    fn stats(&self, items: u64) -> Stats {
        let Shape { words, words_per_key, places, first, .. } = self.shape;
        let ones: usize = (0..words).map(|word| ones_between(self.word(word), 0, first as usize)).sum();
        Stats {
            items,
            bits: self.bits.len(),
            hashes: places * words_per_key,
            fill: Some(ones as f64 / (words as f64 * f64::from(first))),
            fpr: Some(self.rate_now()),
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        Rates {
            false_positive: Some(self.shape.rate(items)),
            over_count: Some(self.shape.over_count(items)),
            ..Rates::default()
        }
    }

    /// State: items, 8 bytes. Store: the words.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.bits(&self.bits);
    }

    /// Every word is looked at: in one that is no code, counting ones would lead out of the word.
    fn decode(settings: &MpcbfSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = shape(settings)?;
        let items = decoder.state().u64()?;
        let filter = Self::of(settings, shape, decoder.bits(bits_of(&shape)?)?);
        let code = filter.code();
        match (0..shape.words).find(|&word| !code.is_sound(filter.word(word))) {
            Some(word) => {
                Err(Error::corrupt("counters of a word", "whole columns", format!("something else in {word}")))
            }
            None => Ok((filter, items)),
        }
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.bits.len()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        for j in 0..self.shape.words_per_key {
            prefetch(self.bits.words(), self.range(self.word_of(digest, j)).start);
        }
    }
}

impl Test for CountingWords {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        (0..self.shape.words_per_key).all(|j| {
            let (places, word) = (self.places(key.digest, j), self.word(self.word_of(key.digest, j)));
            places.as_slice().iter().all(|&place| bit(word, place.into()))
        })
    }
}

impl Put for CountingWords {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    /// With the policy `reject` a full word is [`Error::Full`].
    fn put(&mut self, Hashed { digest, .. }: Hashed<'_>, (): ()) -> Result<bool> {
        let (code, needed) = (self.code(), self.shape.places as usize);
        let has_room = |word: &[u64]| code.used(word) + needed <= code.bits;
        if self.rejects && !(0..self.shape.words_per_key).all(|j| has_room(self.word(self.word_of(digest, j)))) {
            return Err(Error::Full {
                what: format!("a word of the key holds {} keys", self.shape.most_arrivals()),
                remedy: "take more `bits` or a smaller `first-level`, or the `policy` sticky".into(),
            });
        }
        let mut fresh = false;
        for j in 0..self.shape.words_per_key {
            let places = self.places(digest, j);
            let word = self.word_of(digest, j);
            let word = self.word_mut(word);
            if has_room(word) {
                for &place in places.as_slice() {
                    fresh |= code.raise(word, place.into());
                }
            } else {
                fresh |= places.as_slice().iter().any(|&place| !bit(word, place.into()));
                code.give_up(word);
            }
        }
        Ok(fresh)
    }
}

impl Take for CountingWords {
    type Note<'a> = ();

    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        if !self.test(key) {
            return Err(Error::NotPresent);
        }
        let code = self.code();
        for j in 0..self.shape.words_per_key {
            let places = self.places(key.digest, j);
            let word = self.word_of(key.digest, j);
            let word = self.word_mut(word);
            if !code.is_given_up(word) {
                places.as_slice().iter().for_each(|&place| code.lower(word, place.into()));
            }
        }
        Ok(())
    }
}

impl Tally for CountingWords {
    /// The least counter: the truth or, as rarely as a false positive, more. Words that were given up tell nothing; if all
    /// words of the key were, the answer is "at least 1".
    fn tally(&self, Hashed { digest, .. }: Hashed<'_>) -> Multiplicity {
        let code = self.code();
        let least = (0..self.shape.words_per_key).filter_map(|j| {
            let (places, word) = (self.places(digest, j), self.word(self.word_of(digest, j)));
            let counters = || places.as_slice().iter().map(|&place| code.get(word, place.into())).min();
            if code.is_given_up(word) { None } else { counters() }
        });
        match least.min() {
            Some(count) => Multiplicity { count, at_least: false },
            None => Multiplicity { count: 1, at_least: true },
        }
    }
}

impl Mpcbf {
    /// The best filter of `bits` bits, rounded up to whole words of 512, for `items` distinct keys.
    ///
    /// ```
    /// use bouquet::Mpcbf;
    /// let filter = Mpcbf::with_size(3_000_000, 100_000)?;
    /// assert_eq!(filter.shape().words, 5_860);
    /// assert!(Mpcbf::with_size(512, 100_000).is_err(), "no room for so many");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, items: u64) -> Result<Self> {
        Self::with(MpcbfSettings { bits: Some(bits), items: Some(items), ..Default::default() })
    }

    /// Words, places and first level.
    ///
    /// ```
    /// use bouquet::Mpcbf;
    /// let shape = Mpcbf::with_rate(100_000, 0.001)?.shape();
    /// assert!(shape.rate(100_000) <= 0.001);
    /// assert_eq!(shape.first + shape.places * shape.most_arrivals(), 512);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.mechanism.shape
    }

    /// Words that were given up: they answer "present" for every key.
    ///
    /// ```
    /// use bouquet::Mpcbf;
    /// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose"; 600])?;
    /// assert_eq!((filter.given_up(), filter.count("rose").at_least), (1, true));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn given_up(&self) -> u64 {
        let (words, code) = (&self.mechanism, self.mechanism.code());
        (0..words.shape.words).filter(|&word| code.is_given_up(words.word(word))).count() as u64
    }
}

impl CountingWords {
    fn of(settings: &MpcbfSettings, shape: Shape, bits: BitStore) -> Self {
        CountingWords { shape, rejects: settings.policy == Some(Policy::Reject), bits }
    }

    #[inline]
    fn code(&self) -> WordCode {
        WordCode { bits: self.shape.word_bits as usize, first: self.shape.first as usize }
    }

    #[inline]
    fn range(&self, word: u64) -> std::ops::Range<usize> {
        let len = self.shape.word_bits as usize / 64;
        let start = word as usize * len;
        start..start + len
    }

    #[inline]
    fn word(&self, word: u64) -> &[u64] {
        &self.bits.words()[self.range(word)]
    }

    #[inline]
    fn word_mut(&mut self, word: u64) -> &mut [u64] {
        let range = self.range(word);
        &mut self.bits.words_mut()[range]
    }

    /// The j-th word of a digest, in the j-th of g parts.
    #[inline]
    fn word_of(&self, digest: Digest, j: u32) -> u64 {
        let part = self.shape.words / u64::from(self.shape.words_per_key);
        let hash = match j {
            0 => digest.h1,
            1 => digest.derive(1).h1,
            2 => digest.derive(1).h2,
            _ => digest.derive(2).h1,
        };
        u64::from(j) * part + fastrange(hash, part)
    }

    /// The places of a digest in its j-th word: a subset of the first level, each as likely as any other (by Floyd's
    /// method: the t-th draw is among the first b1 - kk + t + 1 places, and the last of these when it hits one again).
    #[inline]
    fn places(&self, digest: Digest, j: u32) -> Places {
        let mut random = SplitMix::new(if j == 0 { digest.h2 } else { digest.derive(2 + u64::from(j)).h2 });
        let (first, len) = (u64::from(self.shape.first), u64::from(self.shape.places));
        let mut places = Places { buffer: [0; MAX_PLACES as usize], len: 0 };
        for last in first - len..first {
            let drawn = random.below(last + 1) as u16;
            let place = if places.as_slice().contains(&drawn) { last as u16 } else { drawn };
            places.buffer[places.len] = place;
            places.len += 1;
        }
        places
    }

    /// The rate of false positives of this content: the mean over the words of each part, and the product of the parts.
    fn rate_now(&self) -> f64 {
        let Shape { words, words_per_key, places, first, .. } = self.shape;
        // By the ones in the first level: the share of subsets that lie within them.
        let within: Vec<f64> = (0..=first)
            .map(|ones| (0..places).map(|t| (f64::from(ones) - f64::from(t)).max(0.0) / f64::from(first - t)).product())
            .collect();
        let part = words / u64::from(words_per_key);
        let mean = |j: u64| {
            let rates = (j * part..(j + 1) * part).map(|word| within[ones_between(self.word(word), 0, first as usize)]);
            rates.sum::<f64>() / part as f64
        };
        (0..u64::from(words_per_key)).map(mean).product()
    }
}

#[cfg(test)]
mod tests;
