#![doc = include_str!("redis_bloom.md")]

pub use self::chain::{BloomShape, ChainFields, Link, RedisBloomChain};
use super::rows::{is_native, need_native};
use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::kind::{ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Setting, Stats, Text, common, kind};
use crate::shell::{ByRate, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, fields};
use crate::theory::scalable::compound_rate;
use crate::theory::spread;

pub(super) mod chain;
mod valkey;

/// The registry's row.
pub const KIND: Kind = kind!(RedisBloom);

/// A RedisBloom filter with frames, settings and verbs as every kind has them.
///
/// ```
/// use bouquet::foreign::{RedisBloomChain, RedisBloom};
/// let mut flowers = RedisBloom::with_rate(1_000, 0.01)?;
/// flowers.insert("rose")?;
/// let dump = flowers.to_dump()?;
/// assert!(RedisBloomChain::from_dump(&dump, u64::MAX)?.contains(b"rose"), "as a server with RedisBloom would read it");
/// assert_eq!(RedisBloom::from_dump(&dump)?, flowers);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type RedisBloom = Filter<RedisChain>;

const ITEMS: Parameter =
    Parameter::count("items", "keys that fit before the filter grows for the first time", 1, 1 << 56).or(100);
const FPR: Parameter =
    Parameter { help: "bound of the false-positive rate, whatever the number of keys", ..common::FPR };
const EXPANSION: Parameter = Parameter::count(
    "expansion",
    "how many times larger each link is than the one before; 0 for a filter that is full after the first",
    0,
    32_768,
)
.or(2);

/// The settings of a RedisBloom filter.
///
/// ```
/// use bouquet::Error;
/// use bouquet::foreign::{RedisBloom, RedisBloomSettings};
/// let fixed = RedisBloomSettings { items: Some(10), expansion: Some(0), ..Default::default() };
/// let mut filter = RedisBloom::with(fixed)?;
/// assert!(matches!(filter.insert_batch(&(0..100u64).collect::<Vec<_>>()), Err(Error::Full { .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RedisBloomSettings {
    /// Keys of the first link.
    pub items: Option<u64>,
    /// The bound of the compound rate.
    pub fpr: Option<f64>,
    /// The factor by which links grow, 0 for none.
    pub expansion: Option<u32>,
}

impl Settings for RedisBloomSettings {
    const FIELDS: Fields<Self> = fields![items: ITEMS, fpr: FPR, expansion: EXPANSION];
    const DESIGN: &'static [&'static str] = &[];
}

impl ByRate for RedisBloomSettings {}

impl RedisBloomSettings {
    fn shape(&self) -> Result<BloomShape> {
        let expansion = EXPANSION.need(self.expansion)?;
        Ok(BloomShape {
            capacity: ITEMS.need(self.items)?,
            rate: FPR.need(self.fpr)?,
            expansion: (expansion > 0).then_some(expansion),
            ..BloomShape::default()
        })
    }
}

/// A chain as RedisBloom has it, and how its keys are hashed.
#[derive(Clone, Debug, PartialEq)]
pub struct RedisChain {
    chain: RedisBloomChain,
    /// Whether keys are hashed as RedisBloom does; a seed or a secret gives other digests, which RedisBloom cannot ask for.
    is_native: bool,
}

impl RedisChain {
    #[inline]
    fn hashes(&self, key: Hashed<'_>) -> (u64, u64) {
        if self.is_native { self.chain.hashes(key.bytes) } else { (key.digest.h1, key.digest.h2) }
    }
}

/// The expected share of ones and the rate of a link with this many keys.
fn filled(link: &Link, keys: f64) -> (f64, f64) {
    let fill = -(keys * f64::from(link.hashes) * (-1.0 / link.bits as f64).ln_1p()).exp_m1();
    (fill, fill.powi(link.hashes as i32))
}

/// The rate that is expected after this many distinct keys. Those that seem present are not put in: in each step of a link, the share
/// that is left out is the rate of the moment.
fn expected_rate(shape: &BloomShape, keys: u64) -> f64 {
    const STEPS: u32 = 64;
    let Ok(chain) = RedisBloomChain::planned(shape) else { return 1.0 };
    let mut left = keys as f64;
    let mut closed = Vec::new();
    let mut link = chain;
    loop {
        let rate = |inside: f64| compound_rate(&[closed.as_slice(), &[filled(&link, inside).1]].concat());
        let capacity = link.capacity as f64;
        let (mut inside, step) = (0.0, capacity / f64::from(STEPS));
        for _ in 0..STEPS {
            let new = 1.0 - rate(inside + step / 2.0);
            if left * new <= step {
                return rate(inside + left * new);
            }
            inside += step;
            left -= step / new;
        }
        closed.push(filled(&link, capacity).1);
        match RedisBloomChain::planned_after(shape, &link) {
            Ok(next) if shape.expansion.is_some() && closed.len() < 64 => link = next,
            _ => return compound_rate(&closed),
        }
    }
}

impl Mechanism for RedisChain {
    const FACTS: Facts = Facts {
        id: "redis-bloom",
        number: 300,
        aliases: &["redisbloom"],
        family: "foreign",
        text: Text::new(include_str!("redis_bloom.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;

    const OWN_ITEMS: bool = true;

    type Settings = RedisBloomSettings;

    fn resolve(asked: &RedisBloomSettings) -> Result<RedisBloomSettings> {
        Ok(RedisBloomSettings {
            items: Some(ITEMS.need(asked.items)?),
            fpr: Some(FPR.need(asked.fpr)?),
            expansion: Some(EXPANSION.need(asked.expansion)?),
        })
    }

    fn plan(settings: &RedisBloomSettings) -> Result<Plan> {
        let shape = settings.shape()?;
        let first = RedisBloomChain::planned(&shape)?;
        crate::theory::check_bits(first.bits as f64)?;
        let fpr = settings.items.map(|items| expected_rate(&shape, items));
        Ok(Plan { bits: first.bits, hashes: first.hashes, items: settings.items, fpr })
    }

    fn empty(settings: &RedisBloomSettings, hashing: &Hashing) -> Result<Self> {
        let chain = RedisBloomChain::new(&settings.shape()?, u64::MAX)?;
        Ok(RedisChain { chain, is_native: is_native(hashing) })
    }

    fn domain(settings: &RedisBloomSettings) -> String {
        let &RedisBloomSettings { items, fpr, expansion } = settings;
        format!("redis-bloom {} {} {}", items.unwrap_or(0), fpr.unwrap_or(0.0), expansion.unwrap_or(0))
    }

    fn items(&self, _: u64) -> u64 {
        self.chain.items()
    }

    fn stats(&self, items: u64) -> Stats {
        let (mut bits, mut ones, mut mean, mut variance) = (0, 0, 0.0, 0.0);
        let mut rates = Vec::new();
        for (link, array) in self.chain.links().zip(self.chain.arrays()) {
            let set: u64 = array.iter().map(|byte| u64::from(byte.count_ones())).sum();
            rates.push((set as f64 / link.bits as f64).powi(link.hashes as i32));
            bits += link.bits;
            ones += set;
            mean += spread::ones(link.bits, link.items, link.hashes);
            variance += spread::ones_variance(link.bits, link.items, link.hashes);
        }
        Stats {
            items,
            bits,
            hashes: self.chain.links().last().map_or(0, |link| link.hashes),
            fill: Some(ones as f64 / bits.max(1) as f64),
            fpr: Some(compound_rate(&rates)),
            honest_fill: Some((mean + 8.0 * variance.sqrt()) / bits.max(1) as f64),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure { name: "links", value: Setting::Count(self.chain.links().len() as u64) }]
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(expected_rate(&shape_of(&self.chain), items)), ..Rates::default() }
    }

    /// State: the items of each link, 8 bytes each. Stores: the links' bit arrays.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        for (link, array) in self.chain.links().zip(self.chain.arrays()) {
            encoder.state().u64(link.items);
            encoder.bytes(array.to_vec());
        }
    }

    fn decode(settings: &RedisBloomSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let is_native = is_native(decoder.config().hashing());
        let shape = settings.shape()?;
        let mut parts = Vec::new();
        let mut next = RedisBloomChain::planned(&shape);
        while decoder.stores_left() > 0 {
            let link = Link { items: decoder.state().u64()?, ..next? };
            let array = decoder.bytes()?;
            if array.len() as u64 * 8 != link.bits {
                return Err(Error::corrupt("the bits of a link", link.bits, array.len() as u64 * 8));
            }
            // A link is closed when it is full, and the first alone may be there without a key.
            let is_last = decoder.stores_left() == 0;
            let is_first = parts.is_empty();
            let taken = if is_last { u64::from(!is_first)..=link.capacity } else { link.capacity..=link.capacity };
            if !taken.contains(&link.items) {
                return Err(Error::corrupt("the keys of a link", format!("{taken:?}"), link.items));
            }
            next = RedisBloomChain::planned_after(&shape, &link);
            parts.push((link, array.to_vec()));
        }
        let chain = RedisBloomChain::from_planned(&shape, parts)?;
        Ok((RedisChain { chain, is_native }, 0))
    }
}

impl Test for RedisChain {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.chain.holds(self.hashes(key))
    }
}

impl Put for RedisChain {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    /// [`Error::Full`] for a filter that does not grow.
    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> Result<bool> {
        self.chain.put(self.hashes(key), u64::MAX)
    }
}

/// The shape that a chain was made with, if it was made by today's rules.
fn shape_of(chain: &RedisBloomChain) -> BloomShape {
    let first = chain.links().next();
    let (capacity, rate) = first.map_or((1, 0.5), |link| (link.capacity, link.rate));
    let tightening = if chain.is_fixed() { 1.0 } else { chain.tightening() };
    BloomShape { capacity, rate: rate / tightening, expansion: chain.expansion(), ..BloomShape::default() }
}

impl RedisBloom {
    /// The filter of a dump: what `BF.SCANDUMP` gives, header and chunks behind each other. Refuses one that was not made by the rules of
    /// RedisBloom 2: 64-bit hashes, sizes that are not rounded, no seed of its own.
    pub fn from_dump(dump: &[u8]) -> Result<Self> {
        let chain = RedisBloomChain::from_dump(dump, u64::MAX)?;
        let shape = shape_of(&chain);
        let links: Vec<_> = chain.links().copied().zip(chain.arrays().map(<[u8]>::to_vec)).collect();
        let planned = RedisBloomChain::from_planned(&shape, links)?;
        if planned != chain {
            return Err(Error::corrupt("the links of the dump", "those of RedisBloom 2", "others"));
        }
        let settings = RedisBloomSettings {
            items: Some(shape.capacity),
            fpr: Some(shape.rate),
            expansion: Some(shape.expansion.unwrap_or(0)),
        };
        settings.check()?;
        Ok(Self::of_parts(RedisChain { chain, is_native: true }, settings, &Hashing::default(), 0))
    }

    /// The dump that `BF.LOADCHUNK` takes in parts, and `BF.LOAD` whole. Refuses a filter with a seed or a secret, whose keys
    /// RedisBloom would not find.
    pub fn to_dump(&self) -> Result<Vec<u8>> {
        need_native(self.mechanism.is_native)?;
        Ok(self.mechanism.chain.dump())
    }
}
