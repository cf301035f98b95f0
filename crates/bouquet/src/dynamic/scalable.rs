#![doc = include_str!("scalable.md")]

use std::sync::OnceLock;

use crate::capability::{Compress, Contains, Grow, Insert, Item, Merge, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, MAX_HASHES, Scheme};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::chain::{Chain, Component, Link, Pick, Rows};
use crate::simd::prefetch;
use crate::store::BitStore;
use crate::theory::scalable::{Design, Level, compound_rate};
use crate::theory::{MAX_BITS, special, spread};

/// A scalable Bloom filter.
///
/// ```
/// use bouquet::dynamic::scalable::Scalable;
/// let mut filter = Scalable::with_rate(100, 0.01)?;
/// for key in 0..10_000u32 {
///     filter.insert(&key)?;
/// }
/// assert!(filter.contains(&77u32));
/// assert!(filter.components() > 5);
/// assert!(filter.rate_now() <= 0.01);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scalable {
    asked: Asked,
    /// Whether an insertion of a key that seems present changes nothing.
    skip_present: bool,
    hashing: Hashing,
    chain: Chain<Rows<Slices>>,
}

/// The registry's row.
pub const KIND: Kind = kind!(Scalable);

/// What the filter was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Asked {
    /// n0, the keys of the first component.
    items: u64,
    /// P, the bound of the compound rate.
    fpr: f64,
    /// s, by which components grow.
    growth: u64,
    /// r, by which their rates fall.
    tightening: f64,
}

/// The range of r: below, rates fall so fast that positions are wasted; above, so slowly that the first are too tight.
const TIGHTENING: std::ops::RangeInclusive<f64> = 0.5..=0.95;

impl Asked {
    fn new(config: &Config) -> Result<Self> {
        let asked = Asked {
            items: config.need("items")?,
            fpr: config.real("fpr").unwrap_or(0.01),
            growth: config.need("growth")?,
            tightening: config.real("tightening").unwrap_or(0.85),
        };
        if !TIGHTENING.contains(&asked.tightening) {
            return Err(Error::parameter("tightening", "from 0.5 to 0.95", asked.tightening));
        }
        if asked.design()?.level(0).hashes > MAX_HASHES {
            let expected = format!("such that {MAX_HASHES} positions per key are enough");
            return Err(Error::parameter("fpr", expected, asked.fpr));
        }
        Ok(asked)
    }

    fn design(&self) -> Result<Design> {
        Ok(Design::new(self.fpr, self.growth as u32, self.tightening, self.items)?)
    }

    /// The component at this place in the geometric series.
    fn shape(&self, index: u32) -> Result<Shape> {
        let level = self.design()?.level(index);
        if level.hashes > MAX_HASHES {
            return Err(Error::Full {
                what: format!("component {index} needs {} positions per key, more than {MAX_HASHES}", level.hashes),
                remedy: "build a new filter for more items or with a higher rate".into(),
            });
        }
        if level.bits > MAX_BITS {
            return Err(Error::TooLarge { what: format!("component {index}"), bytes: u128::from(level.bits / 8) });
        }
        Ok(Shape { index, level })
    }
}

/// A component without its bits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    index: u32,
    level: Level,
}

impl Shape {
    /// Visits the key's bits, one in each slice, until `visit` answers false, and says whether it never did.
    #[inline]
    fn all(&self, digest: Digest, mut visit: impl FnMut(u64) -> bool) -> bool {
        let Level { slice_bits, hashes, .. } = self.level;
        let mut slice = 0;
        Scheme::SLICES.all(digest.derive(u64::from(self.index)), slice_bits, hashes, |position| {
            let position = slice + position;
            slice += slice_bits;
            visit(position)
        })
    }

    /// The expected share of ones with this many keys.
    fn fill(&self, keys: f64) -> f64 {
        -(keys * (-1.0 / self.level.slice_bits as f64).ln_1p()).exp_m1()
    }

    /// The rate at this share of ones.
    fn rate(&self, fill: f64) -> f64 {
        fill.powi(self.level.hashes as i32)
    }

    /// The share of ones and the number of keys that are expected when the component is closed.
    ///
    /// The ones Y before the last key of the capacity n are nearly normal. While Y <= t, where one more key still fits,
    /// the component takes all n keys. Otherwise it was closed when its ones passed t, by k/4 + 3/4 on average: a key
    /// adds X ones, binomial with k trials and chance 1/2, and passes a fixed number by (E X^2 / E X + 1) / 2. With
    /// a = (t - mean) / sigma, the mean of the smaller of Y and t is t - sigma (a P(Y <= t) + phi(a)).
    fn closed(&self) -> (f64, f64) {
        let Level { slice_bits, hashes, capacity, .. } = self.level;
        let (m, k, n) = (slice_bits as f64, f64::from(hashes), capacity as f64);
        let mean = k * m * self.fill(n - 1.0);
        let deviation = (k * spread::ones_variance(slice_bits, capacity.saturating_sub(1), 1)).sqrt();
        let last = k * (m / 2.0 - 1.0);
        let (filled, smaller) = if deviation > 0.0 {
            let a = (last - mean) / deviation;
            let density = (-0.5 * a * a).exp() / std::f64::consts::TAU.sqrt();
            let filled = special::normal_tail(-a);
            (filled, last - deviation * (a * filled + density))
        } else {
            (1.0, mean)
        };
        let passed = k / 4.0 + 0.75;
        let ones = smaller + filled * k * (1.0 - mean / (k * m)) + (1.0 - filled) * passed;
        let keys = n - (1.0 - filled) - (mean - smaller - (1.0 - filled) * passed) / (k / 2.0);
        (ones / (k * m), keys.clamp(1.0, n.max(1.0)))
    }
}

/// A component: a partitioned filter.
#[derive(Clone, Debug)]
struct Slices {
    shape: Shape,
    bits: BitStore,
    /// The number of ones, counted when first needed: opening a mapped file must not read it all.
    ones: OnceLock<u64>,
}

impl PartialEq for Slices {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && self.bits == other.bits
    }
}

impl Slices {
    fn zeroed(shape: Shape) -> Result<Self> {
        Ok(Slices { shape, bits: BitStore::zeroed(shape.level.bits)?, ones: OnceLock::from(0) })
    }

    fn ones(&self) -> u64 {
        *self.ones.get_or_init(|| self.bits.count_ones())
    }

    fn fill(&self) -> f64 {
        self.ones() as f64 / self.bits.len() as f64
    }

    /// The false-positive rate of this content. Slices that are not equally full make it smaller still (inequality of
    /// the means).
    fn rate(&self) -> f64 {
        self.shape.rate(self.fill())
    }
}

impl Component for Slices {
    #[inline]
    fn matches(&self, digest: Digest) -> bool {
        self.shape.all(digest, |position| self.bits.get(position))
    }

    #[inline]
    fn add(&mut self, digest: Digest) {
        let mut ones = self.ones();
        let Slices { shape, bits, .. } = self;
        shape.all(digest, |position| {
            ones += u64::from(bits.set(position));
            true
        });
        self.ones = OnceLock::from(ones);
    }

    /// Room means that another key cannot make more than half of the bits one.
    #[inline]
    fn has_room(&self, items: u64) -> bool {
        let Level { hashes, capacity, bits, .. } = self.shape.level;
        items < capacity && 2 * (self.ones() + u64::from(hashes)) <= bits
    }

    fn capacity(&self, items: u64) -> u64 {
        if self.has_room(items) { self.shape.level.capacity } else { items }
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        let words = self.bits.words();
        self.shape.all(digest, |position| {
            prefetch(words, (position / 64) as usize);
            true
        });
    }
}

impl Scalable {
    /// A filter whose first component holds `items` keys and whose false-positive rate stays below `fpr` for ever.
    ///
    /// ```
    /// use bouquet::dynamic::scalable::Scalable;
    /// assert_eq!(Scalable::with_rate(1_000, 0.01)?.components(), 1);
    /// assert!(Scalable::with_rate(1_000, 0.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter whose first component has at most `bits` bits and `hashes` positions per key. Its rate stays below
    /// 2^-hashes / (1 - r), with r = 0.85.
    ///
    /// ```
    /// use bouquet::{dynamic::scalable::Scalable, kind::Structure};
    /// let filter = Scalable::with_size(10_000, 10)?;
    /// assert_eq!((filter.stats().bits, filter.stats().hashes), (10_000, 10));
    /// assert!(Scalable::with_size(10_000, 2).is_err(), "a quarter, over and over, passes 1");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        let least = 2 * u64::from(hashes.max(1));
        if bits < least {
            return Err(Error::parameter("bits", format!("at least {least}, two for each position"), bits));
        }
        let fpr = 0.5f64.powi(hashes.min(i32::MAX as u32) as i32) / (1.0 - 0.85);
        if hashes > MAX_HASHES || fpr >= 1.0 {
            return Err(Error::parameter("hashes", format!("from 3 to {MAX_HASHES}"), hashes));
        }
        Self::with_rate((bits as f64 / f64::from(hashes) * std::f64::consts::LN_2) as u64, fpr)
    }

    /// An empty filter of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{dynamic::scalable::{KIND, Scalable}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("tightening", "0.5")?.set("growth", "4")?;
    /// assert!(Scalable::from_config(&config).is_ok());
    /// assert!(Scalable::from_config(&config.set("tightening", "0.99")?).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let asked = Asked::new(config)?;
        Ok(Self::with_parts(config, asked, Chain::new(Slices::zeroed(asked.shape(0)?)?)))
    }

    fn with_parts(config: &Config, asked: Asked, chain: Chain<Rows<Slices>>) -> Self {
        // A secret gives unrelated digests for filters of another kind or design.
        let domain = format!("scalable {} {} {} {}", asked.items, asked.fpr, asked.growth, asked.tightening);
        let hashing = config.hashing().clone().bind(&domain);
        Scalable { asked, skip_present: config.choice("skip-present") != "no", hashing, chain }
    }

    /// The number of components.
    ///
    /// ```
    /// use bouquet::dynamic::scalable::Scalable;
    /// let mut filter = Scalable::with_rate(100, 0.01)?;
    /// for key in 0..1_000u32 {
    ///     filter.insert(&key)?;
    /// }
    /// assert_eq!(filter.components(), 4, "for 100, 200, 400 and 800 keys");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn components(&self) -> usize {
        self.chain.rows().len()
    }

    /// Keys in the filter. Insertions of keys that seemed present do not count, unless `skip-present` is `no`.
    ///
    /// ```
    /// use bouquet::dynamic::scalable::Scalable;
    /// let mut filter = Scalable::with_rate(100, 0.01)?;
    /// for key in ["rose", "lily", "rose"] {
    ///     filter.insert(key)?;
    /// }
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.chain.items()
    }

    /// The false-positive rate of this very content, 1 - prod(1 - fill_i^k_i).
    ///
    /// ```
    /// use bouquet::dynamic::scalable::Scalable;
    /// let mut filter = Scalable::with_rate(100, 0.01)?;
    /// assert_eq!(filter.rate_now(), 0.0, "nothing is in");
    /// for key in 0..10_000u32 {
    ///     filter.insert(&key)?;
    /// }
    /// assert!(filter.rate_now() > 0.001 && filter.rate_now() < 0.01);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rate_now(&self) -> f64 {
        let rates: Vec<_> = self.chain.rows().iter().map(Slices::rate).collect();
        compound_rate(&rates)
    }

    /// Inserts a key and says whether it was certainly new; `false` means that it was there already, or seemed so.
    ///
    /// An error means that a component had to be opened and could not: see [`grow`](Self::grow). Nothing is lost.
    ///
    /// ```
    /// use bouquet::dynamic::scalable::Scalable;
    /// let mut filter = Scalable::with_rate(100, 0.01)?;
    /// assert!(filter.insert("rose")?);
    /// assert!(!filter.insert("rose")?);
    /// assert_eq!(filter.items(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.insert_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) -> Result<bool> {
        let present = self.chain.contains(&digest);
        if present && self.skip_present {
            return Ok(false);
        }
        let index = match Pick::Newest.choose(&self.chain, digest) {
            Some(index) => index,
            None => self.open_next()?,
        };
        self.chain.add(index, &digest);
        Ok(!present)
    }

    /// Whether the key may be in the set; `false` is certain.
    ///
    /// ```
    /// use bouquet::dynamic::scalable::Scalable;
    /// let mut filter = Scalable::with_rate(100, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.chain.contains(&key.digest(&self.hashing))
    }

    /// The keys that fit before the filter grows by itself.
    ///
    /// ```
    /// use bouquet::dynamic::scalable::Scalable;
    /// let mut filter = Scalable::with_rate(1_000, 0.01)?;
    /// assert_eq!(filter.capacity(), 1_000);
    /// for key in 0..1_100u32 {
    ///     filter.insert(&key)?;
    /// }
    /// assert!(filter.capacity() > 2_900, "it has grown");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.chain.capacity()
    }

    /// Opens the next component now. Insertions go there first and to the room that is left in older ones afterwards.
    ///
    /// ```
    /// use bouquet::dynamic::scalable::Scalable;
    /// let mut filter = Scalable::with_rate(1_000, 0.01)?;
    /// filter.grow()?;
    /// assert_eq!((filter.components(), filter.capacity()), (2, 3_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn grow(&mut self) -> Result<()> {
        self.open_next().map(|_| ())
    }

    /// The level behind the highest, so that after a merge, too, rates go on falling.
    fn open_next(&mut self) -> Result<usize> {
        let highest = self.chain.rows().iter().map(|component| component.shape.index).max();
        let shape = self.asked.shape(highest.map_or(0, |index| index.saturating_add(1)))?;
        self.chain.append(Slices::zeroed(shape)?)
    }

    /// Takes in everything that `other`, a filter of the same design, holds: its components become the newest.
    ///
    /// Nothing is inserted again, so the rates of both filters add up: after a merge of c filters that grew apart the
    /// bound is c P. [`rate_now`](Self::rate_now) tells where the filter stands. Later components are as tight as if
    /// the longer of the chains had gone on alone.
    ///
    /// ```
    /// use bouquet::dynamic::scalable::Scalable;
    /// let (mut here, mut there) = (Scalable::with_rate(100, 0.01)?, Scalable::with_rate(100, 0.01)?);
    /// here.insert("rose")?;
    /// there.insert("lily")?;
    /// here.merge(&there)?;
    /// assert!(here.contains("rose") && here.contains("lily"));
    /// assert!(here.merge(&Scalable::with_rate(200, 0.01)?).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        same("items", self.asked.items, other.asked.items)?;
        same("fpr", self.asked.fpr, other.asked.fpr)?;
        same("growth", self.asked.growth, other.asked.growth)?;
        same("tightening", self.asked.tightening, other.asked.tightening)?;
        same("hashing", &self.hashing, &other.hashing)?;
        self.chain.concatenate(&other.chain, true)
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::dynamic::scalable::Scalable;
    /// let mut filter = Scalable::with_rate(10, 0.01)?;
    /// for key in 0..100u32 {
    ///     filter.insert(&key)?;
    /// }
    /// assert_eq!(Scalable::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::dynamic::scalable::Scalable;
    /// let mut filter = Scalable::with_rate(100, 0.01)?;
    /// filter.insert("rose")?;
    /// let mut frame = filter.to_bytes();
    /// assert!(Scalable::from_bytes(&frame)?.contains("rose"));
    /// frame[40] ^= 1;
    /// assert!(Scalable::from_bytes(&frame).is_err(), "a single bit is noticed");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }

    #[inline]
    fn digests<K: Key>(&self, keys: &[K]) -> [Digest; BATCH] {
        digest_batch(&self.hashing, keys, |digest| self.chain.prefetch(&digest))
    }
}

impl Structure for Scalable {
    const FACTS: Facts = Facts {
        id: "scalable",
        number: 100,
        aliases: &["scalable-bloom", "growing"],
        family: "dynamic",
        text: Text::new(include_str!("scalable.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[ITEMS, FPR, GROWTH, TIGHTENED, SKIP_PRESENT],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let asked = Asked::new(config)?;
        let Level { bits, hashes, .. } = asked.shape(0)?.level;
        let fpr = expected_rate(&asked, config.choice("skip-present") != "no", asked.items);
        Ok(Plan { bits, hashes, items: Some(asked.items), fpr: Some(fpr) })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        Config::new(KIND.facts())
            .put("items", Setting::Count(self.asked.items))
            .put("fpr", Setting::Real(self.asked.fpr))
            .put("growth", Setting::Count(self.asked.growth))
            .put("tightening", Setting::Real(self.asked.tightening))
            .put("skip-present", Setting::Choice(if self.skip_present { "yes" } else { "no" }))
            .hashed(self.hashing.clone())
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let (mut bits, mut ones, mut mean, mut variance) = (0, 0, 0.0, 0.0);
        for (component, items) in self.chain.links() {
            let Level { slice_bits, hashes, .. } = component.shape.level;
            bits += component.bits.len();
            ones += component.ones();
            mean += f64::from(hashes) * spread::ones(slice_bits, items, 1);
            variance += f64::from(hashes) * spread::ones_variance(slice_bits, items, 1);
        }
        Stats {
            items: self.items(),
            bits,
            hashes: self.chain.rows().last().map_or(0, |newest| newest.shape.level.hashes),
            fill: Some(ones as f64 / bits as f64),
            fpr: Some(self.rate_now()),
            honest_fill: Some((mean + 8.0 * variance.sqrt()) / bits as f64),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = expected_rate(&self.asked, self.skip_present, items);
        Rates { false_positive: Some(rate), ..Rates::default() }
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        let links = self.chain.links();
        encoder.state().u32(links.len() as u32);
        for (component, items) in links {
            encoder.state().u32(component.shape.index);
            encoder.state().u64(items);
            encoder.bits(&component.bits);
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let asked = Asked::new(decoder.config())?;
        let count = decoder.state().u32()? as usize;
        let stores = decoder.stores_left();
        if count != stores {
            return Err(Error::corrupt("number of components", format!("one for each of {stores} stores"), count));
        }
        let mut links = Vec::with_capacity(stores);
        for _ in 0..stores {
            let shape = asked.shape(decoder.state().u32()?)?;
            let items = decoder.state().u64()?;
            if items > shape.level.capacity {
                let expected = format!("at most {}", shape.level.capacity);
                return Err(Error::corrupt("keys in a component", expected, items));
            }
            let component = Slices { shape, bits: decoder.bits(shape.level.bits)?, ones: OnceLock::new() };
            links.push(Link { component, items });
        }
        let chain = Chain::from_links(links).ok_or_else(|| Error::corrupt("number of components", "at least 1", 0))?;
        Ok(Self::with_parts(decoder.config(), asked, chain))
    }
}

/// The rate after this many distinct keys were inserted into an empty filter.
///
/// Follows the chain component by component. Of the keys that arrive, those that seem present are skipped, so to put
/// one more key in takes 1 / (1 - rate) arrivals, with the rate of that moment.
fn expected_rate(asked: &Asked, skip_present: bool, items: u64) -> f64 {
    /// Pieces in which the rate of the newest component is taken as constant.
    const STEPS: u32 = 64;
    let mut arrivals = 0.0;
    let mut older = 0.0;
    for index in 0.. {
        // Nothing larger than this can be built, and no count of keys gets there.
        let Ok(shape) = asked.shape(index) else { break };
        let (closed_fill, closed_keys) = shape.closed();
        let step = closed_keys / f64::from(STEPS);
        for i in 0..STEPS {
            let keys = f64::from(i) * step;
            let newest = shape.rate(shape.fill(keys + step / 2.0));
            let accepted = if skip_present { 1.0 - compound_rate(&[older, newest]) } else { 1.0 };
            let left = (items as f64 - arrivals) * accepted;
            if left <= step {
                return compound_rate(&[older, shape.rate(shape.fill(keys + left))]);
            }
            arrivals += step / accepted;
        }
        older = compound_rate(&[older, shape.rate(closed_fill)]);
    }
    older
}

const ITEMS: Parameter = Parameter {
    name: "items",
    help: "keys that fit before the filter grows for the first time",
    of: ParameterType::Count { min: 1, max: MAX_BITS, default: Some(1000) },
};

const FPR: Parameter =
    Parameter { help: "bound of the false-positive rate, whatever the number of keys", ..common::FPR };

const GROWTH: Parameter = Parameter {
    name: "growth",
    help: "how many times larger each component is than the one before: 2 for slow growth, 4 for fast",
    of: ParameterType::Count { min: 2, max: 4, default: Some(2) },
};

const TIGHTENED: Parameter = Parameter {
    name: "tightening",
    help: "rate of each component in terms of the one before, from 0.5 to 0.95",
    of: ParameterType::Real { above: 0.0, below: 1.0, default: Some(0.85) },
};

const SKIP_PRESENT: Parameter = Parameter {
    name: "skip-present",
    help: "whether inserting a key that seems present does nothing, which keeps duplicates out of the count",
    of: ParameterType::Choice { options: &["yes", "no"] },
};

impl Contains for Scalable {
    fn contains(&self, key: &[u8]) -> bool {
        Scalable::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            for (answer, digest) in answers.iter_mut().zip(self.digests(keys)).take(keys.len()) {
                *answer = self.chain.contains(&digest);
            }
        }
    }
}

impl Insert for Scalable {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Scalable::insert(self, item.bare()?)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let mut fresh = 0;
        for items in items.chunks(BATCH) {
            for (item, digest) in items.iter().zip(self.digests(items)) {
                item.bare()?;
                fresh += u64::from(self.insert_digest(digest)?);
            }
        }
        Ok(fresh)
    }
}

impl Grow for Scalable {
    fn capacity(&self) -> u64 {
        Scalable::capacity(self)
    }

    fn grow(&mut self) -> Result<()> {
        Scalable::grow(self)
    }
}

impl Merge for Scalable {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Scalable::merge(self, other)
    }
}

impl Compress for Scalable {
    fn entropy_bits(&self) -> f64 {
        let entropy = |component: &Slices| component.bits.len() as f64 * special::entropy(component.fill());
        self.chain.rows().iter().map(entropy).sum()
    }
}

#[cfg(test)]
mod tests;
