#![doc = include_str!("mpcbf.md")]

use crate::capability::{Contains, Count, Insert, Item, Multiplicity, NoteType, Remove};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, SplitMix, fastrange};
use crate::key::{Batched, Key, answer_each, insert_items};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::simd::prefetch;
use crate::store::BitStore;
use crate::store::unary::{WordCode, bit, ones_between};
use crate::theory::hierarchy::{self, MAX_PLACES, Shape};

/// The registry's row.
pub const KIND: Kind = kind!(Mpcbf);

/// The words for the bits of a word, the default first.
const WORDS: [&str; 4] = ["512", "256", "128", "64"];

/// The words for the policies, the default first.
const POLICIES: [&str; 2] = ["sticky", "reject"];

const WORD: Parameter = Parameter {
    name: "word",
    help: "bits of a word; 512 is a cache line",
    of: ParameterType::Choice { options: &WORDS },
};

const WORDS_PER_KEY: Parameter = Parameter {
    name: "words-per-key",
    help: "words that a key uses, each in another part of the filter",
    of: ParameterType::Count { min: 1, max: 4, default: Some(1) },
};

const FIRST_LEVEL: Parameter = Parameter {
    name: "first-level",
    help: "bits of a word that answer queries, the others count; chosen for the items when not given, or given \
           together with bits and hashes",
    of: ParameterType::Count { min: 1, max: 511, default: None },
};

const POLICY: Parameter = Parameter {
    name: "policy",
    help: "what a full word does: sticky accepts every key from then on, reject refuses the insertion",
    of: ParameterType::Choice { options: &POLICIES },
};

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

/// A counting filter whose counters share a word with the bits that answer queries.
///
/// ```
/// use bouquet::counting::mpcbf::Mpcbf;
/// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// filter.insert("rose")?;
/// assert_eq!(filter.count("rose").count, 2);
/// filter.remove("rose")?;
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mpcbf {
    shape: Shape,
    rejects: bool,
    bits: BitStore,
    hashing: Hashing,
    /// Insertions less removals.
    items: u64,
    /// The distinct keys and the rate that it was made for.
    design: (Option<u64>, Option<f64>),
}

impl Mpcbf {
    /// A filter for `items` distinct keys whose false-positive rate is then at most `fpr`, in words of 512 bits.
    ///
    /// ```
    /// use bouquet::counting::mpcbf::Mpcbf;
    /// let filter = Mpcbf::with_rate(100_000, 0.01)?;
    /// assert!(filter.shape().words * 512 < 2_500_000, "less than 25 bits per key");
    /// assert!(Mpcbf::with_rate(1_000, 0.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?)
    }

    /// The best filter of `bits` bits, rounded up to whole words of 512, for `items` distinct keys.
    ///
    /// ```
    /// use bouquet::counting::mpcbf::Mpcbf;
    /// let filter = Mpcbf::with_size(3_000_000, 100_000)?;
    /// assert_eq!(filter.shape().words, 5_860);
    /// assert!(Mpcbf::with_size(512, 100_000).is_err(), "no room for so many");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, items: u64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("bits", Setting::Count(bits))?;
        Self::from_config(&config.with("items", Setting::Count(items))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind: the way to other words, to several words
    /// per key, to the policy `reject` and to keyed hashing.
    ///
    /// ```
    /// use bouquet::{counting::mpcbf::{KIND, Mpcbf}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("word", "64")?.set("words-per-key", "2")?;
    /// assert_eq!(Mpcbf::from_config(&config)?.shape().word_bits, 64);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = shape(config)?;
        Ok(Self::with_parts(config, shape, BitStore::zeroed(bits_of(&shape)?)?, 0))
    }

    fn with_parts(config: &Config, shape: Shape, bits: BitStore, items: u64) -> Self {
        let Shape { word_bits, words, words_per_key, places, first } = shape;
        let domain = format!("mpcbf {words} {word_bits} {words_per_key} {places} {first}");
        let design = (config.count("items"), config.is_set("fpr").then(|| config.real("fpr")).flatten());
        let rejects = config.choice("policy") == POLICIES[1];
        Mpcbf { shape, rejects, bits, hashing: config.hashing().clone().bind(&domain), items, design }
    }

    /// Words, places and first level.
    ///
    /// ```
    /// use bouquet::counting::mpcbf::Mpcbf;
    /// let shape = Mpcbf::with_rate(100_000, 0.001)?.shape();
    /// assert!(shape.rate(100_000) <= 0.001);
    /// assert_eq!(shape.first + shape.places * shape.most_arrivals(), 512);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Insertions less removals.
    ///
    /// ```
    /// use bouquet::counting::mpcbf::Mpcbf;
    /// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.items(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Words that were given up: they answer "present" for every key.
    ///
    /// ```
    /// use bouquet::counting::mpcbf::Mpcbf;
    /// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
    /// (0..600).for_each(|_| assert!(filter.insert("rose").is_ok()));
    /// assert_eq!(filter.given_up(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn given_up(&self) -> u64 {
        let code = self.code();
        (0..self.shape.words).filter(|&word| code.is_given_up(self.word(word))).count() as u64
    }

    /// Forgets every key, also in words that were given up.
    ///
    /// ```
    /// use bouquet::counting::mpcbf::Mpcbf;
    /// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.clear();
    /// assert!(!filter.contains("rose") && filter.items() == 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear(&mut self) {
        self.bits.words_mut().fill(0);
        self.items = 0;
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

    /// Inserts a key once more and says whether it was certainly new. With the policy `reject` a full word is
    /// [`Error::Full`], and nothing has changed then.
    ///
    /// ```
    /// use bouquet::counting::mpcbf::Mpcbf;
    /// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose")?);
    /// assert!(!filter.insert("rose")?, "not new, but counted");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.insert_digest(key.digest(&self.hashing))
    }

    fn insert_digest(&mut self, digest: Digest) -> Result<bool> {
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
        self.items = self.items.saturating_add(1);
        Ok(fresh)
    }

    /// Whether the key may be in the set. `false` is certain, unless keys were removed that were never inserted.
    ///
    /// ```
    /// use bouquet::counting::mpcbf::Mpcbf;
    /// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        (0..self.shape.words_per_key).all(|j| {
            let (places, word) = (self.places(digest, j), self.word(self.word_of(digest, j)));
            places.as_slice().iter().all(|&place| bit(word, place.into()))
        })
    }

    /// Removes one occurrence of a key, or says [`Error::NotPresent`] and changes nothing when it is certainly absent.
    ///
    /// **Remove only what was inserted.** An absent key that seems present cannot be told from a present one: removing
    /// it takes counters from other keys, and each of those may then seem absent.
    ///
    /// ```
    /// use bouquet::{Error, counting::mpcbf::Mpcbf};
    /// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.remove("rose")?;
    /// assert!(matches!(filter.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = key.digest(&self.hashing);
        if !self.contains_digest(digest) {
            return Err(Error::NotPresent);
        }
        let code = self.code();
        for j in 0..self.shape.words_per_key {
            let places = self.places(digest, j);
            let word = self.word_of(digest, j);
            let word = self.word_mut(word);
            if !code.is_given_up(word) {
                places.as_slice().iter().for_each(|&place| code.lower(word, place.into()));
            }
        }
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// How often the key is in: the least of its counters. That is the truth or, as rarely as a false positive, more. Words
    /// that were given up tell nothing; if all words of the key were, the answer is "at least 1".
    ///
    /// ```
    /// use bouquet::{capability::Multiplicity, counting::mpcbf::Mpcbf};
    /// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
    /// (0..3).for_each(|_| assert!(filter.insert("rose").is_ok()));
    /// assert_eq!(filter.count("rose"), Multiplicity { count: 3, at_least: false });
    /// (0..600).for_each(|_| assert!(filter.insert("rose").is_ok()));
    /// assert_eq!(filter.count("rose"), Multiplicity { count: 1, at_least: true });
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let (digest, code) = (key.digest(&self.hashing), self.code());
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

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::mpcbf::Mpcbf;
    /// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(Mpcbf::from_bytes(&filter.to_bytes())?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::mpcbf::Mpcbf;
    /// let mut filter = Mpcbf::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(Mpcbf::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
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

/// The bits of a filter of this shape.
fn bits_of(shape: &Shape) -> Result<u64> {
    let bits = u128::from(shape.words) * u128::from(shape.word_bits);
    u64::try_from(bits).map_err(|_| Error::TooLarge { what: "the filter".into(), bytes: bits / 8 })
}

/// The shape that the settings describe: as given, for a size, or for a rate.
fn shape(config: &Config) -> Result<Shape> {
    let word_bits = config.choice("word").parse().unwrap_or(512);
    let g = config.need("words-per-key")? as u32;
    let places = match config.count("hashes").map(|hashes| hashes as u32) {
        Some(hashes) if hashes % g != 0 || hashes / g > MAX_PLACES => {
            let expected = format!("a multiple of the {g} words per key, at most {MAX_PLACES} in each");
            return Err(Error::parameter("hashes", expected, hashes));
        }
        hashes => hashes.map(|hashes| hashes / g),
    };
    let words = config.count("bits").map(|bits| bits.div_ceil(u64::from(word_bits)).next_multiple_of(g.into()));
    let missing = |name: &str, other: &str| Error::parameter(name, "given", format!("missing (or give `{other}`)"));
    let Some(first) = config.count("first-level").map(|first| first as u32) else {
        let items = config.count("items").ok_or_else(|| missing("items", "first-level"))?;
        return Ok(match words {
            Some(words) => hierarchy::for_words(word_bits, words, g, items, places)?,
            None => hierarchy::for_rate(word_bits, g, items, config.real("fpr").unwrap_or(0.01), places)?,
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

impl Structure for Mpcbf {
    const FACTS: Facts = Facts {
        id: "mpcbf",
        number: 53,
        aliases: &["MPCBF", "HCBF", "multi-partitioned"],
        family: "counting",
        text: Text::new(include_str!("mpcbf.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[
            common::ITEMS,
            common::FPR,
            common::BITS,
            common::HASHES,
            WORD,
            WORDS_PER_KEY,
            FIRST_LEVEL,
            POLICY,
        ],
    };

    const IN_PLACE: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        let shape = shape(config)?;
        let items = config.count("items");
        let hashes = shape.places * shape.words_per_key;
        Ok(Plan { bits: bits_of(&shape)?, hashes, items, fpr: items.map(|items| shape.rate(items)) })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let Shape { word_bits, words_per_key, places, first, .. } = self.shape;
        let word = word_bits.to_string();
        let mut config = Config::new(const { &Self::FACTS })
            .hashed(self.hashing.clone())
            .put("bits", Setting::Count(self.bits.len()))
            .put("hashes", Setting::Count((places * words_per_key).into()))
            .put("word", Setting::Choice(WORDS.into_iter().find(|known| *known == word).unwrap_or(WORDS[0])))
            .put("words-per-key", Setting::Count(words_per_key.into()))
            .put("first-level", Setting::Count(first.into()))
            .put("policy", Setting::Choice(POLICIES[usize::from(self.rejects)]));
        if let Some(items) = self.design.0 {
            config = config.put("items", Setting::Count(items));
        }
        if let Some(fpr) = self.design.1 {
            config = config.put("fpr", Setting::Real(fpr));
        }
        config
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let Shape { words, words_per_key, places, first, .. } = self.shape;
        let ones: usize = (0..words).map(|word| ones_between(self.word(word), 0, first as usize)).sum();
        Stats {
            items: self.items,
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
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        encoder.bits(&self.bits);
    }

    /// Every word is looked at: in one that is no code, counting ones would lead out of the word.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = shape(decoder.config())?;
        let items = decoder.state().u64()?;
        let bits = decoder.bits(bits_of(&shape)?)?;
        let filter = Self::with_parts(decoder.config(), shape, bits, items);
        let code = filter.code();
        match (0..shape.words).find(|&word| !code.is_sound(filter.word(word))) {
            Some(word) => {
                Err(Error::corrupt("counters of a word", "whole columns", format!("something else in {word}")))
            }
            None => Ok(filter),
        }
    }
}

impl Batched for Mpcbf {
    #[inline]
    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    #[inline]
    fn bits_ahead(&self) -> u64 {
        self.bits.len()
    }

    #[inline]
    fn ask(&self, digest: Digest) {
        for j in 0..self.shape.words_per_key {
            prefetch(self.bits.words(), self.range(self.word_of(digest, j)).start);
        }
    }
}

impl Contains for Mpcbf {
    fn contains(&self, key: &[u8]) -> bool {
        Mpcbf::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        answer_each(self, keys, answers, |digest| self.contains_digest(digest));
    }
}

impl Insert for Mpcbf {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Mpcbf::insert(self, item.bare()?)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        insert_items(self, |filter| filter, items, |filter, _, digest| filter.insert_digest(digest))
    }
}

impl Remove for Mpcbf {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        Mpcbf::remove(self, item.bare()?)
    }
}

impl Count for Mpcbf {
    fn count(&self, key: &[u8]) -> Multiplicity {
        Mpcbf::count(self, key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn empty(settings: &[(&str, &str)]) -> Mpcbf {
        let config = Config::new(KIND.facts());
        let config = settings.iter().try_fold(config, |config, (name, text)| config.set(name, text)).unwrap();
        Mpcbf::from_config(&config).unwrap()
    }

    const SMALL: [(&str, &str); 5] =
        [("items", "100000"), ("bits", "4e6"), ("word", "64"), ("words-per-key", "2"), ("hashes", "4")];
    const LARGE: [(&str, &str); 4] = [("items", "100000"), ("bits", "3e6"), ("word", "256"), ("hashes", "4")];

    #[test]
    fn both_designs_of_100_000_keys_have_their_rates() {
        const N: u64 = 100_000;
        const QUERIES: u64 = 1_000_000;
        for (settings, arrivals, first, rate) in [(&SMALL[..], 13, 38, 7.44e-4), (&LARGE[..], 21, 172, 1.52e-3)] {
            let mut filter = empty(settings);
            assert_eq!((filter.shape().most_arrivals(), filter.shape().first), (arrivals, first));
            (0..N).for_each(|key| assert!(filter.insert(&key).is_ok()));
            assert!(filter.given_up() <= 5, "{}", filter.given_up());
            assert!((0..N).all(|key| filter.contains(&key)));
            let Shape { words, words_per_key, places, first, .. } = filter.shape();
            let g = f64::from(words_per_key);
            let ideal = filter.shape().ideal_rate(N);
            assert!((ideal / rate - 1.0).abs() < 0.005, "{ideal}");
            // Words that were given up accept everything; that is not in the printed rates.
            let lost = filter.given_up() as f64 / words as f64;
            let expected = (rate.powf(1.0 / g) + lost).powf(g);
            // The queries scatter given the content, and the content as a mean over the words of each part.
            let within = |ones: usize| -> f64 {
                (0..places).map(|t| (ones as f64 - f64::from(t)).max(0.0) / f64::from(first - t)).product()
            };
            let of_words = (0..words).map(|word| within(ones_between(filter.word(word), 0, first as usize)));
            let (sum, squares) = of_words.fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
            let (mean, count) = (sum / words as f64, words as f64);
            let of_part = (squares / count - mean * mean) / (count / g);
            let of_content = g * mean.powf(2.0 * (g - 1.0)) * of_part;
            let found = (N..N + QUERIES).filter(|key| filter.contains(key)).count() as f64 / QUERIES as f64;
            let sigma = (rate * (1.0 - rate) / QUERIES as f64 + of_content).sqrt();
            assert!((found - expected).abs() < 5.0 * sigma, "{found} instead of {expected}, sigma {sigma}");
            assert!((filter.stats().fpr.unwrap() - mean.powf(g)).abs() < 0.02 * rate);
            // Half of them leave, and leave the filter of the others.
            let mut half = empty(settings);
            (0..N / 2).for_each(|key| filter.remove(&key).unwrap());
            (N / 2..N).for_each(|key| assert!(half.insert(&key).is_ok()));
            assert!((N / 2..N).all(|key| filter.contains(&key)));
            if filter.given_up() == 0 {
                assert_eq!(filter, half);
            }
        }
    }

    #[test]
    fn an_answer_depends_on_exactly_the_words_of_the_key() {
        for settings in [&SMALL[..], &LARGE[..]] {
            let mut filter = empty(settings);
            (0..1_000u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
            for key in 0..1_000u64 {
                let digest = key.digest(&filter.hashing);
                let words: Vec<u64> = (0..filter.shape.words_per_key).map(|j| filter.word_of(digest, j)).collect();
                // With all other words emptied the answer is the same; with one of its own emptied it is another.
                let mut only = Mpcbf { bits: BitStore::zeroed(filter.bits.len()).unwrap(), ..filter.clone() };
                for &word in &words {
                    let content = filter.word(word).to_vec();
                    assert!(!only.contains(&key));
                    only.word_mut(word).copy_from_slice(&content);
                }
                assert!(only.contains(&key));
                assert_eq!(words.len() as u32, filter.shape.words_per_key);
                if key > 10 {
                    continue;
                }
                for &word in &words {
                    let mut without = filter.clone();
                    without.word_mut(word).fill(0);
                    assert!(!without.contains(&key));
                }
            }
        }
    }

    #[test]
    fn random_operations_agree_with_a_multiset() {
        for policy in POLICIES {
            for (word, g) in [("64", "1"), ("64", "3"), ("128", "2"), ("512", "1")] {
                let mut filter =
                    empty(&[("items", "40"), ("fpr", "0.1"), ("word", word), ("words-per-key", g), ("policy", policy)]);
                let mut model: HashMap<u64, u64> = HashMap::new();
                let mut random = SplitMix::new(7);
                for _ in 0..3_000 {
                    let key = random.below(60);
                    let before = filter.clone();
                    if random.below(2) == 0 {
                        match filter.insert(&key) {
                            Ok(fresh) => {
                                assert_eq!(fresh, !before.contains(&key));
                                *model.entry(key).or_default() += 1;
                            }
                            Err(Error::Full { .. }) if policy == "reject" => assert_eq!(filter, before),
                            Err(error) => panic!("{error}"),
                        }
                    } else if let Some(count) = model.get_mut(&key).filter(|count| **count > 0) {
                        filter.remove(&key).unwrap();
                        *count -= 1;
                    } else if !before.contains(&key) {
                        assert!(matches!(filter.remove(&key), Err(Error::NotPresent)));
                        assert_eq!(filter, before);
                    }
                    for (key, &truth) in &model {
                        let Multiplicity { count, at_least } = filter.count(key);
                        assert!(count >= truth || at_least, "{policy} {word} {g}");
                        assert_eq!(filter.contains(key), count > 0);
                        assert!(truth == 0 || filter.contains(key));
                    }
                }
                assert!(policy == "sticky" || filter.given_up() == 0);
                assert_eq!(Mpcbf::from_bytes(&filter.to_bytes()).unwrap(), filter);
            }
        }
    }

    #[test]
    fn a_rejected_key_changes_none_of_its_words() {
        let settings =
            [("bits", "128"), ("word", "64"), ("words-per-key", "2"), ("hashes", "6"), ("first-level", "58")];
        let mut filter = empty(&[&settings[..], &[("policy", "reject")]].concat());
        (0..2u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
        // The second word is emptied, so that only the first is full.
        filter.word_mut(1).fill(0);
        let before = filter.clone();
        assert!(matches!(filter.insert(&2u64), Err(Error::Full { .. })));
        assert_eq!(filter, before);
    }

    #[test]
    fn every_subset_of_places_is_as_likely() {
        let filter = empty(&[("bits", "64"), ("word", "64"), ("hashes", "2"), ("first-level", "6")]);
        let mut counts: HashMap<[u16; 2], u32> = HashMap::new();
        for key in 0..150_000u64 {
            let places = filter.places(key.digest(&filter.hashing), 0);
            let mut pair = [places.as_slice()[0], places.as_slice()[1]];
            pair.sort_unstable();
            *counts.entry(pair).or_default() += 1;
        }
        assert_eq!(counts.len(), 15);
        // 10,000 of each, with a standard deviation of 97.
        assert!(counts.values().all(|&count| count.abs_diff(10_000) < 5 * 97), "{counts:?}");
    }

    #[test]
    fn settings_that_cannot_be_are_refused_by_name() {
        let refused = |settings: &[(&str, &str)]| {
            let config = Config::new(KIND.facts());
            let config = settings.iter().try_fold(config, |config, (name, text)| config.set(name, text)).unwrap();
            match Mpcbf::from_config(&config) {
                Err(Error::Parameter { name, .. }) => name,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(refused(&[]), "items");
        assert_eq!(refused(&[("bits", "1000"), ("hashes", "4")]), "items");
        assert_eq!(refused(&[("items", "10"), ("hashes", "17")]), "hashes");
        assert_eq!(refused(&[("items", "10"), ("hashes", "3"), ("words-per-key", "2")]), "hashes");
        assert_eq!(refused(&[("items", "10"), ("first-level", "100")]), "bits");
        assert_eq!(refused(&[("bits", "512"), ("first-level", "100")]), "hashes");
        assert_eq!(refused(&[("bits", "512"), ("first-level", "510"), ("hashes", "3")]), "first-level");
        assert_eq!(refused(&[("bits", "512"), ("items", "1000")]), "bits");
        assert_eq!(refused(&[("items", "10"), ("fpr", "1e-12")]), "fpr");
    }

    #[test]
    fn frames_of_words_that_are_no_code_are_refused() {
        let mut filter = empty(&[("items", "100"), ("word", "128")]);
        (0..100u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
        let (mut random, mut refused) = (SplitMix::new(5), 0);
        for _ in 0..1_000 {
            let mut damaged = filter.clone();
            let index = random.below(filter.bits.len());
            if !damaged.bits.set(index) {
                damaged.bits.clear(index);
            }
            match Mpcbf::from_bytes(&damaged.to_bytes()) {
                // A bit may be flipped so that the code is one of other counters.
                Ok(mut other) => (0..200u64).for_each(|key| {
                    if other.contains(&key) {
                        other.remove(&key).unwrap();
                    }
                }),
                Err(error) => {
                    assert!(matches!(error, Error::Corrupt { .. }));
                    refused += 1;
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
