#![doc = include_str!("scalable.md")]

use std::sync::OnceLock;

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, MAX_HASHES, Scheme};
use crate::kind::{ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Setting, Stats, Text, common, kind};
use crate::parts::chain::{Chain, Component, Link, Pick, Rows};
use crate::shell::{
    ByRate, Code, Expand, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, Unite, choices, fields,
};
use crate::simd::prefetch;
use crate::store::BitStore;
use crate::theory::scalable::{Design, Level, compound_rate};
use crate::theory::{MAX_BITS, special, spread};

/// The registry's row.
pub const KIND: Kind = kind!(Scalable);

/// A scalable Bloom filter: its rate stays below the one that was asked for, however many keys come.
///
/// Merging takes over the components of the other as the newest. Nothing is inserted again, so the rates of both filters add
/// up: after a merge of c filters that grew apart the bound is c P, and [`rate_now`](Scalable::rate_now) tells where the
/// filter stands. Later components are as tight as if the longer of the chains had gone on alone.
///
/// ```
/// use bouquet::Scalable;
/// let mut filter = Scalable::with_rate(100, 0.01)?;
/// for key in 0..10_000u32 {
///     filter.insert(&key)?;
/// }
/// assert!(filter.contains(&77u32));
/// assert!(filter.components() > 5);
/// assert!(filter.rate_now() <= 0.01);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Scalable = Filter<Series>;

const ITEMS: Parameter =
    Parameter::count("items", "keys that fit before the filter grows for the first time", 1, MAX_BITS).or(1000);
const FPR: Parameter =
    Parameter { help: "bound of the false-positive rate, whatever the number of keys", ..common::FPR };
const GROWTH: Parameter = Parameter::count(
    "growth",
    "how many times larger each component is than the one before: 2 for slow growth, 4 for fast",
    2,
    4,
)
.or(2);
/// Below 0.5, rates fall so fast that positions are wasted; above 0.95, so slowly that the first are too tight.
const TIGHTENING: Parameter =
    Parameter::real("tightening", "rate of each component in terms of the one before, from 0.5 to 0.95", 0.0, 1.0)
        .or_real(0.85);
const SKIP_PRESENT: Parameter = Parameter::choice(
    "skip-present",
    "whether inserting a key that seems present does nothing, which keeps duplicates out of the count",
    &["yes", "no"],
);

/// Whether inserting a key that seems present does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipPresent {
    /// Duplicates do not count.
    Yes,
    /// Every insertion counts.
    No,
}

choices!(SkipPresent { Yes = "yes", No = "no" });

/// The settings of a scalable filter.
///
/// ```
/// use bouquet::{Scalable, ScalableSettings};
/// let settings = ScalableSettings { tightening: Some(0.5), growth: Some(4), ..Default::default() };
/// assert!(Scalable::with(settings.clone()).is_ok());
/// assert!(Scalable::with(ScalableSettings { tightening: Some(0.99), ..settings }).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScalableSettings {
    /// n0, the keys of the first component.
    pub items: Option<u64>,
    /// P, the bound of the compound rate.
    pub fpr: Option<f64>,
    /// s, by which components grow.
    pub growth: Option<u32>,
    /// r, by which their rates fall.
    pub tightening: Option<f64>,
    /// Whether inserting a key that seems present does nothing.
    pub skip_present: Option<SkipPresent>,
}

impl Settings for ScalableSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        fpr: FPR,
        growth: GROWTH,
        tightening: TIGHTENING,
        skip_present: SKIP_PRESENT,
    ];
    const DESIGN: &'static [&'static str] = &[SKIP_PRESENT.name];
}

impl ByRate for ScalableSettings {}

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
        // They are counted before the first bit is added.
        self.ones();
        let Slices { shape, bits, ones } = self;
        let mut more = 0;
        shape.all(digest, |position| {
            more += u64::from(bits.set(position));
            true
        });
        if let Some(ones) = ones.get_mut() {
            *ones += more;
        }
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

    #[inline]
    fn prefetch_first(&self, digest: Digest) {
        let words = self.bits.words();
        // The second position is in the second slice, and so is the end.
        let slice_bits = self.shape.level.slice_bits;
        self.shape.all(digest, |position| {
            prefetch(words, (position / 64) as usize);
            position < slice_bits
        });
    }
}

/// Components of falling rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    design: Design,
    skip_present: bool,
    chain: Chain<Rows<Slices>>,
}

impl Series {
    fn of(settings: &ScalableSettings, chain: Chain<Rows<Slices>>) -> Result<Self> {
        let skip_present = SKIP_PRESENT.need(settings.skip_present)? == SkipPresent::Yes;
        Ok(Series { design: design(settings)?, skip_present, chain })
    }

    fn shape(&self, index: u32) -> Result<Shape> {
        shape(&self.design, index)
    }

    fn rate_now(&self) -> f64 {
        let rates: Vec<_> = self.chain.rows().iter().map(Slices::rate).collect();
        compound_rate(&rates)
    }

    /// The level behind the highest, so that after a merge, too, rates go on falling.
    fn open_next(&mut self) -> Result<usize> {
        let highest = self.chain.rows().iter().map(|component| component.shape.index).max();
        let shape = self.shape(highest.map_or(0, |index| index.saturating_add(1)))?;
        self.chain.append(Slices::zeroed(shape)?)
    }
}

fn design(settings: &ScalableSettings) -> Result<Design> {
    let (items, fpr) = (ITEMS.need(settings.items)?, FPR.need(settings.fpr)?);
    Ok(Design::new(fpr, GROWTH.need(settings.growth)?, TIGHTENING.need(settings.tightening)?, items)?)
}

/// The component at this place in the geometric series.
fn shape(design: &Design, index: u32) -> Result<Shape> {
    let level = design.level(index);
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

impl Mechanism for Series {
    const FACTS: Facts = Facts {
        id: "scalable",
        number: 100,
        aliases: &["scalable-bloom", "growing"],
        family: "dynamic",
        text: Text::new(include_str!("scalable.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const OWN_ITEMS: bool = true;

    /// Every component is a table of its own, and the first are small: batches always prefetch.
    const NEAR: u64 = 0;

    type Settings = ScalableSettings;

    fn resolve(asked: &ScalableSettings) -> Result<ScalableSettings> {
        let tightening = TIGHTENING.need(asked.tightening)?;
        if !(0.5..=0.95).contains(&tightening) {
            return Err(Error::parameter("tightening", "from 0.5 to 0.95", tightening));
        }
        if design(asked)?.level(0).hashes > MAX_HASHES {
            let expected = format!("such that {MAX_HASHES} positions per key are enough");
            return Err(Error::parameter("fpr", expected, FPR.need(asked.fpr)?));
        }
        Ok(ScalableSettings {
            items: Some(ITEMS.need(asked.items)?),
            fpr: Some(FPR.need(asked.fpr)?),
            growth: Some(GROWTH.need(asked.growth)?),
            tightening: Some(tightening),
            skip_present: Some(SKIP_PRESENT.need(asked.skip_present)?),
        })
    }

    fn plan(settings: &ScalableSettings) -> Result<Plan> {
        let first = shape(&design(settings)?, 0)?;
        // Without bits: a plan takes no memory.
        let chain = Chain::new(Slices { shape: first, bits: BitStore::zeroed(0)?, ones: OnceLock::from(0) });
        let series = Series::of(settings, chain)?;
        let fpr = settings.items.map(|items| expected_rate(&series, items));
        Ok(Plan { bits: first.level.bits, hashes: first.level.hashes, items: settings.items, fpr })
    }

    fn empty(settings: &ScalableSettings, _: &Hashing) -> Result<Self> {
        Series::of(settings, Chain::new(Slices::zeroed(shape(&design(settings)?, 0)?)?))
    }

    fn domain(settings: &ScalableSettings) -> String {
        let ScalableSettings { items, fpr, growth, tightening, .. } = *settings;
        let (items, growth) = (items.unwrap_or(0), growth.unwrap_or(0));
        format!("scalable {items} {} {growth} {}", fpr.unwrap_or(0.0), tightening.unwrap_or(0.0))
    }

    fn items(&self, _: u64) -> u64 {
        self.chain.items()
    }

    fn stats(&self, items: u64) -> Stats {
        let (mut bits, mut ones, mut mean, mut variance) = (0, 0, 0.0, 0.0);
        for (component, items) in self.chain.links() {
            let Level { slice_bits, hashes, .. } = component.shape.level;
            bits += component.bits.len();
            ones += component.ones();
            mean += f64::from(hashes) * spread::ones(slice_bits, items, 1);
            variance += f64::from(hashes) * spread::ones_variance(slice_bits, items, 1);
        }
        Stats {
            items,
            bits,
            hashes: self.chain.rows().last().map_or(0, |newest| newest.shape.level.hashes),
            fill: Some(ones as f64 / bits as f64),
            fpr: Some(self.rate_now()),
            honest_fill: Some((mean + 8.0 * variance.sqrt()) / bits as f64),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure { name: "components", value: Setting::Count(self.chain.rows().len() as u64) }]
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(expected_rate(self, items)), ..Rates::default() }
    }

    /// State: the number of components (4 bytes), and of each its place in the series (4) and its items (8). Stores: their bits.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        let links = self.chain.links();
        encoder.state().u32(links.len() as u32);
        for (component, items) in links {
            encoder.state().u32(component.shape.index);
            encoder.state().u64(items);
            encoder.bits(&component.bits);
        }
    }

    fn decode(settings: &ScalableSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let design = design(settings)?;
        let count = decoder.state().u32()? as usize;
        let stores = decoder.stores_left();
        if count != stores {
            return Err(Error::corrupt("number of components", format!("one for each of {stores} stores"), count));
        }
        let mut links = Vec::with_capacity(stores);
        for _ in 0..stores {
            let shape = shape(&design, decoder.state().u32()?)?;
            let items = decoder.state().u64()?;
            if items > shape.level.capacity {
                let expected = format!("at most {}", shape.level.capacity);
                return Err(Error::corrupt("keys in a component", expected, items));
            }
            let component = Slices { shape, bits: decoder.bits(shape.level.bits)?, ones: OnceLock::new() };
            links.push(Link { component, items });
        }
        let chain = Chain::from_links(links).ok_or_else(|| Error::corrupt("number of components", "at least 1", 0))?;
        Ok((Series::of(settings, chain)?, 0))
    }

    fn reach(&self) -> u64 {
        u64::MAX
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.chain.prefetch(&digest);
    }
}

impl Test for Series {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.chain.contains(&key.digest)
    }
}

impl Put for Series {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    /// An error means that a component had to be opened and could not be. Nothing is lost.
    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> Result<bool> {
        let present = self.chain.contains(&key.digest);
        if present && self.skip_present {
            return Ok(false);
        }
        let index = match Pick::Newest.choose(&self.chain, key.digest) {
            Some(index) => index,
            None => self.open_next()?,
        };
        self.chain.add(index, &key.digest);
        Ok(!present)
    }
}

impl Expand for Series {
    fn capacity(&self) -> u64 {
        self.chain.capacity()
    }

    /// Opens the next component now. Insertions go there first and to the room that is left in older ones afterwards.
    fn expand(&mut self) -> Result<()> {
        self.open_next().map(drop)
    }
}

impl Unite for Series {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.chain.concatenate(&other.chain, true)
    }
}

impl Code for Series {
    fn entropy_bits(&self) -> f64 {
        let entropy = |component: &Slices| component.bits.len() as f64 * special::entropy(component.fill());
        self.chain.rows().iter().map(entropy).sum()
    }
}

impl Scalable {
    /// A filter whose first component has at most `bits` bits and `hashes` positions per key. Its rate stays below
    /// 2^-hashes / (1 - r), with r = 0.85.
    ///
    /// ```
    /// use bouquet::Scalable;
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

    /// The number of components.
    ///
    /// ```
    /// use bouquet::Scalable;
    /// let mut filter = Scalable::with_rate(100, 0.01)?;
    /// for key in 0..1_000u32 {
    ///     filter.insert(&key)?;
    /// }
    /// assert_eq!(filter.components(), 4, "for 100, 200, 400 and 800 keys");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn components(&self) -> usize {
        self.mechanism.chain.rows().len()
    }

    /// The false-positive rate of this very content, 1 - prod(1 - fill_i^k_i).
    ///
    /// ```
    /// use bouquet::Scalable;
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
        self.mechanism.rate_now()
    }
}

/// The rate after this many distinct keys were inserted into an empty filter.
///
/// Follows the chain component by component. Of the keys that arrive, those that seem present are skipped, so to put
/// one more key in takes 1 / (1 - rate) arrivals, with the rate of that moment.
fn expected_rate(series: &Series, items: u64) -> f64 {
    /// Pieces in which the rate of the newest component is taken as constant.
    const STEPS: u32 = 64;
    let mut arrivals = 0.0;
    let mut older = 0.0;
    for index in 0.. {
        // Nothing larger than this can be built, and no count of keys gets there.
        let Ok(shape) = series.shape(index) else { break };
        let (closed_fill, closed_keys) = shape.closed();
        let step = closed_keys / f64::from(STEPS);
        for i in 0..STEPS {
            let keys = f64::from(i) * step;
            let newest = shape.rate(shape.fill(keys + step / 2.0));
            let accepted = if series.skip_present { 1.0 - compound_rate(&[older, newest]) } else { 1.0 };
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

#[cfg(test)]
mod tests;
