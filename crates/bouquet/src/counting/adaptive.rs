#![doc = include_str!("adaptive.md")]

use crate::capability::{Contains, Count, Insert, Item, Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, MAX_HASHES, probes};
use crate::key::Key;
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::bit_array::{BitArray, Design, flat_places, insert_each};
use crate::parts::counter_array::Places;
use crate::store::BitStore;
use crate::theory::{self, adaptive, spread};

/// The registry's row.
pub const KIND: Kind = kind!(Adaptive);

/// The stream of the digest that continues a key's sequence behind its first 64 positions.
const SEQUENCE: u64 = 64;

/// An adaptive Bloom filter.
///
/// ```
/// use bouquet::counting::adaptive::Adaptive;
/// let mut filter = Adaptive::with_rate(1_000, 100_000, 0.01)?;
/// for _ in 0..500 {
///     filter.insert("rose")?;
/// }
/// assert!(filter.count("rose").count >= 500);
/// assert!((filter.estimate("rose") - 500.0).abs() < 50.0);
/// assert_eq!(filter.count("lily").count, 0);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptive {
    /// Membership and, with the shared layout, counts.
    array: BitArray,
    /// The vector of counts, with the split layout.
    counts: Option<BitStore>,
    /// Ones of the vector that counts are in.
    ones: u64,
    /// The sum over the insertions of g(fill) when they scanned.
    foreign: f64,
    /// Insertions.
    items: u64,
    design: Design,
    planned: Planned,
}

/// What was asked for besides items and rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Planned {
    insertions: Option<u64>,
    fill: Option<f64>,
}

const INSERTIONS: Parameter = Parameter {
    name: "insertions",
    help: "insertions in all that the filter is made for; as many as items if not given",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

const FILL: Parameter = Parameter {
    name: "fill",
    help: "share of ones that the vector of counts is to have after them",
    of: ParameterType::Real { above: 0.0, below: 0.95, default: Some(0.4) },
};

const LAYOUT: Parameter = Parameter {
    name: "layout",
    help: "one vector (shared), or one for membership and one for counts (split)",
    of: ParameterType::Choice { options: &["shared", "split"] },
};

const BITS: Parameter = Parameter {
    help: "size in bits, instead of a rate; with layout split, of the vector for membership",
    ..common::BITS
};

const COUNT_BITS: Parameter = Parameter {
    name: "count-bits",
    help: "with layout split: bits of the vector of counts",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

struct Shape {
    places: Places,
    count_bits: Option<u64>,
}

impl Shape {
    fn plan(config: &Config) -> Result<Self> {
        let (items, bits) = (config.count("items"), config.count("bits"));
        let hashes = config.count("hashes").map(|hashes| hashes as u32);
        let fill = config.real("fill").unwrap_or(0.4);
        let insertions = config.count("insertions").or(items);
        if config.choice("layout") == "split" {
            let size = common::size(config, "bits")?;
            let count_bits = match (config.count("count-bits"), insertions, bits) {
                (Some(bits), ..) => bits,
                (None, Some(insertions), _) => theory::check_bits(insertions as f64 / fill)?,
                (None, None, Some(bits)) => bits,
                (None, None, None) => return Err(Error::parameter("count-bits", COUNT_BITS.range(), "missing")),
            };
            let places = flat_places(size.bits, size.hashes)?;
            if count_bits.checked_add(size.bits).is_none() {
                return Err(Error::TooLarge { what: "the filter".into(), bytes: u128::from(count_bits) / 8 });
            }
            return Ok(Shape { places, count_bits: Some(count_bits) });
        }
        if config.is_set("count-bits") {
            return Err(Error::parameter("count-bits", "left out, unless layout=split", "given"));
        }
        let missing =
            |what: &str| Error::parameter("items", common::ITEMS.range(), format!("missing (or give `{what}`)"));
        let (bits, hashes) = match (bits, hashes, items) {
            (Some(bits), Some(hashes), _) => (bits, hashes),
            (Some(_), None, None) => return Err(missing("hashes")),
            (None, _, None) => return Err(missing("bits")),
            (Some(bits), None, Some(items)) => {
                let insertions = insertions.unwrap_or(items);
                let rate = |k: &u32| adaptive::shared_fill(bits, items, insertions, *k).powi(*k as i32);
                (bits, (1..=MAX_HASHES).min_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or(1))
            }
            (None, hashes, Some(items)) => {
                let fpr = config.real("fpr").unwrap_or(0.01);
                let needed = (fpr.ln() / fill.ln()).ceil().max(1.0);
                let hashes = match hashes {
                    Some(hashes) => hashes,
                    None if needed <= f64::from(MAX_HASHES) => needed as u32,
                    None => return Err(Error::parameter("fill", "smaller for this rate", fill)),
                };
                // With fewer hashes than that the fill must be smaller for the rate.
                let fill = fill.min(fpr.powf(1.0 / f64::from(hashes)));
                (adaptive::shared_bits(items, insertions.unwrap_or(items), hashes, fill)?, hashes)
            }
        };
        Ok(Shape { places: flat_places(bits, hashes)?, count_bits: None })
    }

    fn bits(&self) -> u64 {
        self.places.counters().saturating_add(self.count_bits.unwrap_or(0))
    }

    fn expected_rate(&self, items: u64) -> f64 {
        let (m, k) = (self.places.counters(), self.places.hashes());
        match self.count_bits {
            Some(_) => self.places.expected_rate(items),
            None => adaptive::single_fill(m, items, k).powi(k as i32),
        }
    }
}

impl Adaptive {
    /// A filter of one vector for `items` distinct keys that come `insertions` times in all; its false-positive rate is
    /// then `fpr`.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let filter = Adaptive::with_rate(1_000, 10_000, 0.01)?;
    /// assert!(filter.bits().len() < 45_000);
    /// assert!(Adaptive::with_rate(1_000, 0, 0.01).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, insertions: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        let config = config.with("insertions", Setting::Count(insertions))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?)
    }

    /// The same with a vector of its own for the counts.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let filter = Adaptive::split_with_rate(1_000, 10_000, 0.01)?;
    /// assert_eq!((filter.bits().len(), filter.count_bits().len()), (9_593, 25_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn split_with_rate(items: u64, insertions: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        let config = config.with("insertions", Setting::Count(insertions))?.with("fpr", Setting::Real(fpr))?;
        Self::from_config(&config.with("layout", Setting::Choice("split"))?)
    }

    /// A filter of one vector of `bits` bits, with `hashes` positions per key for membership.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let mut filter = Adaptive::with_size(1_000, 5)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.bits().count_ones(), 6, "five, and one for the first time");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("bits", Setting::Count(bits))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// A filter of two vectors: `bits` for membership and `count_bits` for counts.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let mut filter = Adaptive::split_with_size(1_000, 2_000, 5)?;
    /// filter.insert("rose")?;
    /// filter.insert("rose")?;
    /// assert_eq!((filter.bits().count_ones(), filter.count_bits().count_ones()), (5, 2));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn split_with_size(bits: u64, count_bits: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("bits", Setting::Count(bits))?;
        let config = config.with("hashes", Setting::Count(hashes.into()))?.with("layout", Setting::Choice("split"))?;
        Self::from_config(&config.with("count-bits", Setting::Count(count_bits))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{counting::adaptive::{Adaptive, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("insertions", "5000")?.set("fill", "0.2")?;
    /// assert!(Adaptive::from_config(&config)?.bits().len() > 25_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = Shape::plan(config)?;
        let bits = BitStore::zeroed(shape.places.counters())?;
        let counts = shape.count_bits.map(BitStore::zeroed).transpose()?;
        Ok(Self::with_parts(config, shape, bits, counts, 0, 0.0))
    }

    fn with_parts(
        config: &Config,
        shape: Shape,
        bits: BitStore,
        counts: Option<BitStore>,
        items: u64,
        foreign: f64,
    ) -> Self {
        let ones = counts.as_ref().unwrap_or(&bits).count_ones();
        let array = BitArray::new(KIND.facts().id, shape.places, config.hashing(), bits);
        let planned = Planned {
            insertions: config.count("insertions"),
            fill: config.is_set("fill").then(|| config.real("fill")).flatten(),
        };
        Adaptive { array, counts, ones, foreign, items, design: Design::of(config), planned }
    }

    fn shape(&self) -> Shape {
        Shape { places: self.array.places, count_bits: self.counts.as_ref().map(BitStore::len) }
    }

    /// The vector for membership and, with the shared layout, for counts.
    ///
    /// ```
    /// assert_eq!(bouquet::counting::adaptive::Adaptive::with_size(1_000, 5)?.bits().len(), 1_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.array.bits
    }

    /// The vector that counts are in.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let filter = Adaptive::with_size(1_000, 5)?;
    /// assert_eq!(filter.count_bits(), filter.bits(), "shared");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count_bits(&self) -> &BitStore {
        self.counts.as_ref().unwrap_or(&self.array.bits)
    }

    /// The share of ones of the vector that counts are in.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let mut filter = Adaptive::split_with_size(1_000, 2_000, 5)?;
    /// (0..500u64).try_for_each(|key| filter.insert(&key).map(drop))?;
    /// assert_eq!(filter.count_fill(), 0.25, "one bit each");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count_fill(&self) -> f64 {
        self.ones as f64 / self.count_bits().len() as f64
    }

    /// Insertions so far.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let mut filter = Adaptive::with_size(1_000, 5)?;
    /// filter.insert("rose")?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// G, the mean number of foreign ones that insertions have passed.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// use bouquet::theory::adaptive::mean_foreign_ones;
    /// let mut filter = Adaptive::split_with_size(1_000, 10_000, 5)?;
    /// (0..5_000u64).try_for_each(|key| filter.insert(&key).map(drop))?;
    /// assert!((filter.mean_foreign_ones() - mean_foreign_ones(0.5)).abs() < 1e-3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn mean_foreign_ones(&self) -> f64 {
        if self.items == 0 { 0.0 } else { self.foreign / self.items as f64 }
    }

    /// The count positions of a key, without end.
    #[inline]
    fn sequence(&self, digest: Digest) -> impl Iterator<Item = u64> {
        let len = self.count_bits().len();
        let digest_of = move |chunk| if chunk == 0 { digest } else { digest.derive(SEQUENCE + chunk) };
        let all = (0..).flat_map(move |chunk| probes(digest_of(chunk), len, MAX_HASHES));
        all.skip(self.array.places.hashes() as usize)
    }

    /// Steps after which a scan is given up: with a single zero left it would miss it in as many with probability
    /// e^-64.
    fn most_steps(&self) -> u64 {
        self.count_bits().len().saturating_mul(64).saturating_add(4_096)
    }

    fn full(&self) -> Error {
        Error::Full {
            what: format!("{} of {} bits for counts are ones", self.ones, self.count_bits().len()),
            remedy: "make one for more `insertions`".into(),
        }
    }

    /// Inserts a key once more and says whether it was certainly new; [`Error::Full`] when over 95 % of the vector of
    /// counts are ones, and then nothing changes.
    ///
    /// ```
    /// use bouquet::{Error, counting::adaptive::Adaptive};
    /// let mut filter = Adaptive::with_size(100, 3)?;
    /// assert!(filter.insert("rose")? && !filter.insert("rose")?);
    /// let refused = (0..200u64).find_map(|key| filter.insert(&key).err());
    /// assert!(matches!(refused, Some(Error::Full { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.insert_digest(self.array.digest(key))
    }

    fn insert_digest(&mut self, digest: Digest) -> Result<bool> {
        let len = self.count_bits().len();
        if u128::from(self.ones) * 20 > u128::from(len) * 19 {
            return Err(self.full());
        }
        let fresh = if self.counts.is_some() {
            self.array.set_all(digest)
        } else {
            let positions = self.array.places.distinct(digest);
            let new = positions.iter().filter(|&&position| !self.array.bits.get(position)).count() as u64;
            // The scan needs a zero.
            if self.ones + new >= len {
                return Err(self.full());
            }
            positions.iter().for_each(|&position| {
                self.array.bits.set(position);
            });
            self.ones += new;
            new > 0
        };
        self.foreign += adaptive::foreign_ones(self.count_fill());
        let steps = self.most_steps() as usize;
        let bits = self.count_bits();
        let zero = self.sequence(digest).take(steps).find(|&position| !bits.get(position));
        // There is a zero, and after so many steps only chance beyond all measure has missed it.
        let zero = zero.or_else(|| (0..len).find(|&position| !bits.get(position)));
        if let Some(zero) = zero {
            self.ones += u64::from(self.counts.as_mut().unwrap_or(&mut self.array.bits).set(zero));
        }
        self.items = self.items.saturating_add(1);
        Ok(fresh)
    }

    /// Whether the key may be in; `false` is certain.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let mut filter = Adaptive::with_rate(1_000, 1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.array.all_set(self.array.digest(key))
    }

    /// The raw count: how often the key came, or more. Zero when it is certainly absent.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let mut filter = Adaptive::with_rate(1_000, 1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.insert("rose")?;
    /// assert!(filter.count("rose").count >= 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let digest = self.array.digest(key);
        if !self.array.all_set(digest) {
            return Multiplicity { count: 0, at_least: false };
        }
        let bits = self.count_bits();
        if self.ones >= bits.len() {
            return Multiplicity { count: bits.len(), at_least: true };
        }
        let most = self.most_steps();
        let run = self.sequence(digest).take(most as usize).take_while(|&position| bits.get(position)).count() as u64;
        // Membership may be chance alone, with a zero in the first place for a count.
        Multiplicity { count: run.max(1), at_least: run == most }
    }

    /// The corrected count, (raw - g)/(1 + G): right on average for a key whose insertions are spread over all.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let mut filter = Adaptive::with_rate(1_000, 20_000, 0.01)?;
    /// for round in 0..20 {
    ///     (0..1_000u64).try_for_each(|key| filter.insert(&key).map(drop))?;
    /// }
    /// let mean = (0..1_000u64).map(|key| filter.estimate(&key)).sum::<f64>() / 1_000.0;
    /// assert!((mean - 20.0).abs() < 1.0, "{mean}");
    /// assert_eq!(filter.estimate("lily"), 0.0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn estimate<K: Key + ?Sized>(&self, key: &K) -> f64 {
        let raw = self.count(key).count as f64;
        adaptive::estimate(raw, adaptive::foreign_ones(self.count_fill()), self.mean_foreign_ones())
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let mut filter = Adaptive::with_rate(1_000, 1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(Adaptive::from_bytes(&filter.to_bytes())?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::adaptive::Adaptive;
    /// let mut filter = Adaptive::split_with_size(1_000, 1_000, 4)?;
    /// filter.insert("rose")?;
    /// assert_eq!(Adaptive::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

impl Structure for Adaptive {
    const FACTS: Facts = Facts {
        id: "adaptive",
        number: 61,
        aliases: &["ABF"],
        family: "counting",
        text: Text::new(include_str!("adaptive.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, INSERTIONS, FILL, LAYOUT, BITS, common::HASHES, COUNT_BITS],
    };

    const IN_PLACE: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        let shape = Shape::plan(config)?;
        let items = config.count("items");
        let (m, k) = (shape.places.counters(), shape.places.hashes());
        let fpr = items.map(|items| match config.count("insertions") {
            // Count bits beyond the first of each key make one vector fuller; in whatever order they come, no fuller than this.
            Some(insertions) if insertions > items && shape.count_bits.is_none() => {
                adaptive::shared_fill(m, items, insertions, k).powi(k as i32)
            }
            _ => shape.expected_rate(items),
        });
        Ok(Plan { bits: shape.bits(), hashes: shape.places.hashes(), items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let shape = self.shape();
        let mut config = Config::new(KIND.facts())
            .put("layout", Setting::Choice(if shape.count_bits.is_some() { "split" } else { "shared" }))
            .put("bits", Setting::Count(shape.places.counters()))
            .put("hashes", Setting::Count(shape.places.hashes().into()))
            .hashed(self.array.hashing.clone());
        for (name, count) in [("count-bits", shape.count_bits), ("insertions", self.planned.insertions)] {
            if let Some(count) = count {
                config = config.put(name, Setting::Count(count));
            }
        }
        if let Some(fill) = self.planned.fill {
            config = config.put("fill", Setting::Real(fill));
        }
        self.design.put(config)
    }

    fn hashing(&self) -> &Hashing {
        &self.array.hashing
    }

    fn stats(&self) -> Stats {
        let shape = self.shape();
        let (m, k) = (shape.places.counters(), shape.places.hashes());
        let fill = self.array.bits.fill();
        let honest = match shape.count_bits {
            Some(_) => self.array.honest_fill(self.items),
            // At most: every insertion is of another key, and each sets a bit for its count.
            None => {
                let deviation = spread::ones_variance(m, self.items, k).sqrt();
                (spread::ones(m, self.items, k) + self.items as f64 + 8.0 * deviation) / m as f64
            }
        };
        Stats {
            items: self.items,
            bits: shape.bits(),
            hashes: k,
            fill: Some(fill),
            fpr: Some(fill.powi(k as i32)),
            honest_fill: Some(honest.min(1.0)),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let shape = self.shape();
        let over_count = match shape.count_bits {
            Some(bits) => adaptive::split_over_count(bits, items),
            None => adaptive::single_over_count(shape.places.counters(), items, shape.places.hashes()),
        };
        let false_positive = Some(shape.expected_rate(items));
        Rates { false_positive, over_count: Some(over_count), ..Rates::default() }
    }

    /// State: insertions and the sum of g over them. Stores: the bits and, with the split layout, those of the counts.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        encoder.state().f64(self.foreign);
        encoder.bits(&self.array.bits);
        if let Some(counts) = &self.counts {
            encoder.bits(counts);
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = Shape::plan(decoder.config())?;
        let (items, foreign) = (decoder.state().u64()?, decoder.state().f64()?);
        if !(foreign.is_finite() && foreign >= 0.0) {
            return Err(Error::corrupt("sum of foreign ones", "a number of at least 0", foreign));
        }
        let bits = decoder.bits(shape.places.counters())?;
        let counts = shape.count_bits.map(|bits| decoder.bits(bits)).transpose()?;
        Ok(Self::with_parts(decoder.config(), shape, bits, counts, items, foreign))
    }
}

impl Contains for Adaptive {
    fn contains(&self, key: &[u8]) -> bool {
        Adaptive::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        self.array.answer_each(keys, answers, |digest| self.array.all_set(digest));
    }
}

impl Insert for Adaptive {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Adaptive::insert(self, item.bare()?)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let insert = |filter: &mut Self, _: &Item<'_>, digest| filter.insert_digest(digest);
        insert_each(self, items, |filter, items| filter.array.digests(items), insert)
    }
}

impl Count for Adaptive {
    fn count(&self, key: &[u8]) -> Multiplicity {
        Adaptive::count(self, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;
    use crate::theory::standard;

    const MULTIPLICITIES: [u64; 6] = [1, 2, 4, 8, 16, 32];
    const KEYS: u64 = 3_000;

    fn multiplicity(key: u64) -> u64 {
        MULTIPLICITIES[(key % 6) as usize]
    }

    /// 3,000 keys with their multiplicities in random order.
    fn filled(mut filter: Adaptive, seed: u64) -> Adaptive {
        let mut stream: Vec<u64> =
            (0..KEYS).flat_map(|key| std::iter::repeat_n(key, multiplicity(key) as usize)).collect();
        let mut random = SplitMix::new(seed);
        for i in (1..stream.len()).rev() {
            stream.swap(i, random.below(i as u64 + 1) as usize);
        }
        stream.iter().for_each(|key| assert!(filter.insert(key).is_ok()));
        filter
    }

    fn seeded(settings: &[(&str, &str)], seed: u64) -> Adaptive {
        let config =
            settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap());
        Adaptive::from_config(&config.hashed(Hashing::seeded(seed))).unwrap()
    }

    /// The mean of `of` over the keys of each multiplicity, over some seeds.
    fn means(filters: &[Adaptive], of: impl Fn(&Adaptive, u64) -> f64) -> [f64; 6] {
        std::array::from_fn(|i| {
            let keys = || (0..KEYS).filter(|key| key % 6 == i as u64);
            let sum: f64 = filters.iter().flat_map(|filter| keys().map(|key| of(filter, key))).sum();
            sum / (keys().count() * filters.len()) as f64
        })
    }

    fn check_estimates(filters: &[Adaptive]) {
        for filter in filters {
            assert!((0..KEYS).all(|key| filter.count(&key).count >= multiplicity(key)), "never below the truth");
        }
        let estimates = means(filters, |filter, key| filter.estimate(&key));
        for (f, mean) in MULTIPLICITIES.into_iter().zip(estimates).filter(|(f, _)| *f >= 4) {
            assert!((mean / f as f64 - 1.0).abs() < 0.05, "{f}: {mean}");
        }
    }

    /// The mean raw count of the keys that came f times, f (1 + G) + g, and its standard deviation: every scan passes a
    /// geometric number of ones, with variance g (1 + g) for its own g, of which the mean is G; g is convex in the fill
    /// and below its last value, so that the mean of g^2 is below G g(now).
    fn expected_raw(filters: &[Adaptive], f: u64) -> (f64, f64) {
        let (mut mean, mut variance) = (0.0, 0.0);
        for filter in filters {
            let (now, before) = (adaptive::foreign_ones(filter.count_fill()), filter.mean_foreign_ones());
            mean += f as f64 * (1.0 + before) + now;
            variance += f as f64 * before * (1.0 + now) + now * (1.0 + now);
        }
        let (seeds, keys) = (filters.len() as f64, (KEYS / 6) as f64);
        (mean / seeds, (variance / seeds / (seeds * keys)).sqrt())
    }

    const QUERIES: u64 = 300_000;

    fn rate(filter: &Adaptive) -> f64 {
        (1 << 40..(1 << 40) + QUERIES).filter(|key: &u64| filter.contains(key)).count() as f64 / QUERIES as f64
    }

    #[test]
    fn corrected_counts_are_right_on_average_where_raw_ones_are_too_high() {
        let filters: Vec<_> =
            (0..4).map(|seed| filled(seeded(&[("bits", "100000"), ("hashes", "5")], seed), seed)).collect();
        check_estimates(&filters);
        let raw = means(&filters, |filter, key| filter.count(&key).count as f64);
        for (f, raw) in MULTIPLICITIES.into_iter().zip(raw) {
            let (expected, sigma) = expected_raw(&filters, f);
            assert!((raw - expected).abs() < 5.0 * sigma, "{f}: {raw}, expected {expected} with sigma {sigma}");
        }
        assert!((raw[5] - 45.0).abs() < 1.0, "{raw:?}");

        let (bits, hashes) = (100_000, 5);
        let expected = adaptive::random_order_fill(bits, hashes, &MULTIPLICITIES.map(|times| (KEYS / 6, times)));
        // Of the kn membership bits each meets a one or not; the more did, the fewer do, so that the ones scatter less
        // than so many independent draws.
        let (probes, insertions) = ((KEYS * u64::from(hashes)) as f64, filters[0].items() as f64);
        let met = (probes + insertions - expected * bits as f64) / probes;
        let fill_sigma = (probes * met * (1.0 - met)).sqrt() / bits as f64;
        for filter in &filters {
            assert!((filter.count_fill() - expected).abs() < 5.0 * fill_sigma, "{} {expected}", filter.count_fill());
        }
        // The rate of 0.44, rounded, is 0.0165; that of the fill itself, 0.4449, is 0.0174.
        assert!((expected - 0.44).abs() < 0.005 && (expected.powi(5) - 0.017_424_7).abs() < 1e-7, "{expected}");
        let found = filters.iter().map(rate).sum::<f64>() / 4.0;
        let queries = spread::test_sigma_conditional(expected.powi(5), 4 * QUERIES);
        let sigma = queries.hypot(5.0 * expected.powi(4) * fill_sigma / 2.0);
        assert!((found - expected.powi(5)).abs() < 5.0 * sigma, "{found}, expected {}", expected.powi(5));
    }

    #[test]
    fn a_vector_of_its_own_for_counts_keeps_membership_clean() {
        let settings = [("layout", "split"), ("bits", "50000"), ("count-bits", "50000"), ("hashes", "5")];
        // 31,500 insertions fill 63 % of the vector of counts.
        let filters: Vec<_> = (0..4).map(|seed| filled(seeded(&settings, seed), seed)).collect();
        check_estimates(&filters);
        for filter in &filters {
            assert_eq!(filter.count_fill(), filter.items() as f64 / 50_000.0);
            assert_eq!(filter.count_bits().count_ones(), filter.items());
            let expected = adaptive::mean_foreign_ones(filter.count_fill());
            assert!((filter.mean_foreign_ones() / expected - 1.0).abs() < 1e-3);
        }
        let raw = means(&filters, |filter, key| filter.count(&key).count as f64);
        for (f, raw) in MULTIPLICITIES.into_iter().zip(raw) {
            let (expected, sigma) = expected_raw(&filters, f);
            assert!((raw - expected).abs() < 5.0 * sigma, "{f}: {raw}, expected {expected} with sigma {sigma}");
        }
        let found = filters.iter().map(rate).sum::<f64>() / 4.0;
        let expected = standard::rate(50_000, KEYS, 5);
        let sigma = spread::test_sigma(50_000, KEYS, 5, QUERIES) / 2.0;
        assert!((expected - 0.001).abs() < 4e-4 && (found - expected).abs() < 5.0 * sigma, "{found} {expected}");
    }

    #[test]
    fn the_planned_rate_allows_for_all_insertions() {
        let config = Config::new(KIND.facts()).set("items", "3000").unwrap().set("insertions", "31500").unwrap();
        let planned = KIND.plan(&config).unwrap().fpr.unwrap();
        let filter = filled(Adaptive::from_config(&config).unwrap(), 1);
        let (found, sigma) = (rate(&filter), spread::test_sigma_conditional(planned, QUERIES));
        assert!(
            planned <= 0.01 && found <= planned + 5.0 * sigma && found > planned / 2.0,
            "{found}, planned {planned}"
        );
    }

    #[test]
    fn a_full_vector_refuses_and_stays_as_it_is() {
        for settings in [
            &[("bits", "200"), ("hashes", "3")][..],
            &[("bits", "10"), ("hashes", "7")],
            &[("bits", "1"), ("hashes", "1")],
            &[("bits", "40"), ("count-bits", "30"), ("hashes", "3"), ("layout", "split")],
        ] {
            let mut filter = seeded(settings, 1);
            let mut model = std::collections::HashMap::new();
            let mut refusals = 0;
            for step in 0..400u64 {
                let (key, before) = (step % 7, filter.clone());
                match filter.insert(&key) {
                    Ok(_) => *model.entry(key).or_insert(0) += 1,
                    Err(Error::Full { .. }) => {
                        refusals += 1;
                        assert_eq!(filter, before);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(refusals > 0, "{settings:?}");
            assert!(model.iter().all(|(key, &times)| filter.count(key).count >= times), "{settings:?}");
        }
    }

    #[test]
    fn a_forged_full_vector_is_still_asked_in_finite_time() {
        let mut filter = Adaptive::with_size(1_000, 3).unwrap();
        (0..1_000).for_each(|position| assert!(filter.array.bits.set(position)));
        let mut filter = Adaptive::from_bytes(&filter.to_bytes()).unwrap();
        assert!(filter.count("rose").at_least);
        assert!(matches!(filter.insert("rose"), Err(Error::Full { .. })));
    }

    #[test]
    fn counts_go_far_beyond_the_positions_of_one_round() {
        let mut filter = Adaptive::split_with_size(1_000, 25_000, 5).unwrap();
        (0..5_000).for_each(|_| assert!(filter.insert("rose").is_ok()));
        let told = filter.count("rose");
        assert!(told.count >= 5_000 && !told.at_least);
        assert!((filter.estimate("rose") / 5_000.0 - 1.0).abs() < 0.02, "{}", filter.estimate("rose"));
    }
}
