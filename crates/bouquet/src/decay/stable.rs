#![doc = include_str!("stable.md")]

use crate::capability::{Advance, Contains, Insert, Item, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, SplitMix, probes};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::simd::prefetch;
use crate::store::Counters;
use crate::theory::MAX_BITS;
use crate::theory::stable::{self, Shape};

/// A stable Bloom filter.
///
/// ```
/// use bouquet::decay::stable::Stable;
/// let mut filter = Stable::with_size(100_000, 0.01)?;
/// assert!(!filter.observe("rose"));
/// assert!(filter.observe("rose"), "a duplicate");
/// for key in 0..1_000_000u32 {
///     filter.observe(&key);
/// }
/// assert!(!filter.contains("rose"), "forgotten");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stable {
    shape: Shape,
    hashing: Hashing,
    cells: Counters,
    /// Where the next run of decrements begins.
    random: SplitMix,
    /// Arrivals, duplicates included.
    items: u64,
    asked: Asked,
}

/// The registry's row.
pub const KIND: Kind = kind!(Stable);

/// What the filter was asked for, besides its shape.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Asked {
    items: Option<u64>,
    gap: Option<u64>,
    fpr: Option<f64>,
}

/// Bits of a cell that holds numbers up to `max`.
fn width(max: u32) -> u32 {
    u32::BITS - max.leading_zeros()
}

/// How much memory a shape may have.
#[derive(Clone, Copy)]
enum Memory {
    Bits(u64),
    Cells(u64),
}

impl Memory {
    fn cells(self, max: u32) -> u64 {
        match self {
            Memory::Bits(bits) => bits / u64::from(width(max).max(1)),
            Memory::Cells(cells) => cells,
        }
    }
}

/// The settings that decide a shape.
struct Wanted {
    fpr: f64,
    gap: Option<u64>,
    max: Option<u32>,
    hashes: Option<u32>,
    decrements: Option<u64>,
}

impl Wanted {
    fn new(config: &Config) -> Self {
        Wanted {
            fpr: config.real("fpr").unwrap_or(0.01),
            gap: config.count("gap").or(config.count("items")),
            max: config.count("max").map(|max| max as u32),
            hashes: config.count("hashes").map(|hashes| hashes as u32),
            decrements: config.count("decrements"),
        }
    }

    /// The shape with these numbers; P as small as the rate allows unless it is given.
    fn shape(&self, memory: Memory, max: u32, hashes: u32) -> Result<Shape> {
        let cells = memory.cells(max);
        if cells <= u64::from(hashes) {
            return Err(Error::parameter("cells", format!("more than the {hashes} of one key"), cells));
        }
        let decrements = match self.decrements {
            Some(decrements) if decrements > cells => {
                return Err(Error::parameter("decrements", format!("at most the {cells} cells"), decrements));
            }
            Some(decrements) => decrements,
            None => stable::decrements(cells, hashes, max, self.fpr)?,
        };
        Ok(Shape { cells, hashes, max, decrements })
    }

    /// The shape in this memory: with the fewest misses at the gap if one is known, else with Max = 3 and K = 4, in so
    /// far as they are not given.
    fn best(&self, memory: Memory) -> Result<Shape> {
        let Some(gap) = self.gap else {
            return self.shape(memory, self.max.unwrap_or(3), self.hashes.unwrap_or(4));
        };
        let maxima = self.max.map_or(vec![1, 3, 7], |max| vec![max]);
        let hashes = self.hashes.map_or(1..=10, |hashes| hashes..=hashes);
        let shapes = maxima.iter().flat_map(|&max| hashes.clone().map(move |hashes| self.shape(memory, max, hashes)));
        // Of equal ones the first, as `theory::stable::best` does.
        let best = shapes.reduce(|best, next| match (&best, &next) {
            (Ok(a), Ok(b)) if b.miss_rate(gap) < a.miss_rate(gap) => next,
            (Err(_), Ok(_)) => next,
            _ => best,
        });
        best.unwrap_or_else(|| Err(Error::parameter("hashes", "at least 1", 0)))
    }

    /// The smallest memory, to a thousandth, in which a key is missed with at most this probability after the gap.
    fn smallest(&self, misses: f64) -> Result<Shape> {
        let Some(gap) = self.gap else {
            return Err(Error::parameter("items", common::ITEMS.range(), "missing (or give `bits` or `cells`)"));
        };
        let enough = |bits: u64| self.best(Memory::Bits(bits)).ok().filter(|shape| shape.miss_rate(gap) <= misses);
        let (mut too_few, mut bits) = (0, 64);
        while enough(bits).is_none() {
            if bits >= MAX_BITS {
                return Err(Error::TooLarge { what: "the filter".into(), bytes: u128::from(bits) / 8 });
            }
            (too_few, bits) = (bits, 2 * bits);
        }
        while bits - too_few > 1 + bits / 1024 {
            let middle = too_few + (bits - too_few) / 2;
            if enough(middle).is_some() { bits = middle } else { too_few = middle }
        }
        self.best(Memory::Bits(bits))
    }
}

/// The shape that the settings describe.
fn shape(config: &Config) -> Result<Shape> {
    let wanted = Wanted::new(config);
    let shape = match (config.count("cells"), config.count("bits")) {
        (Some(cells), _) => wanted.best(Memory::Cells(cells)),
        (None, Some(bits)) => wanted.best(Memory::Bits(bits)),
        (None, None) => wanted.smallest(config.real("fnr").unwrap_or(0.01)),
    }?;
    let bits = u128::from(shape.cells) * u128::from(width(shape.max));
    if bits > u128::from(MAX_BITS) {
        return Err(Error::TooLarge { what: "the filter".into(), bytes: bits / 8 });
    }
    Ok(shape)
}

impl Stable {
    /// A filter that misses one in a hundred keys that came `items` arrivals ago, and far fewer of the later ones, while
    /// its false-positive rate stays below `fpr` for ever: the smallest that does, about 115 bits per item at 1 %.
    ///
    /// ```
    /// use bouquet::decay::stable::Stable;
    /// let filter = Stable::with_rate(1_000, 0.01)?;
    /// assert!(filter.shape().miss_rate(1_000) <= 0.01);
    /// assert!(filter.shape().limit_rate() <= 0.01);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter of `bits` bits whose false-positive rate stays below `fpr`, with Max = 3 and K = 4.
    ///
    /// ```
    /// use bouquet::decay::stable::Stable;
    /// assert_eq!(Stable::with_size(100_000, 0.01)?.shape().cells, 50_000);
    /// assert!(Stable::with_size(5, 0.01).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("bits", Setting::Count(bits))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter of `bits` bits whose false-positive rate stays below `fpr`, with the Max, K and P that miss the fewest
    /// duplicates `gap` arrivals apart.
    ///
    /// ```
    /// use bouquet::decay::stable::Stable;
    /// let shape = Stable::with_gap(100_000, 0.01, 2_000)?.shape();
    /// assert_eq!((shape.max, shape.hashes, shape.decrements), (3, 4, 30));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_gap(bits: u64, fpr: f64, gap: u64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("bits", Setting::Count(bits))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?.with("gap", Setting::Count(gap))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{decay::stable::{KIND, Stable}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("cells", "20000")?.set("max", "3")?.set("hashes", "3")?;
    /// assert_eq!(Stable::from_config(&config)?.shape().decrements, 36);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = shape(config)?;
        let cells = Counters::zeroed(shape.cells, width(shape.max))?;
        let random = SplitMix::new(config.hashing().seed());
        Ok(Self::with_parts(config, shape, cells, random, 0))
    }

    fn with_parts(config: &Config, shape: Shape, cells: Counters, random: SplitMix, items: u64) -> Self {
        let asked = Asked {
            items: config.count("items"),
            gap: config.count("gap"),
            fpr: config.is_set("fpr").then(|| config.real("fpr")).flatten(),
        };
        // A secret gives unrelated digests for filters of another kind or shape.
        let domain = format!("stable {} {}", shape.cells, shape.hashes);
        Stable { shape, hashing: config.hashing().clone().bind(&domain), cells, random, items, asked }
    }

    /// m, K, Max and P, which tell its limits: see [`Shape`].
    ///
    /// ```
    /// use bouquet::decay::stable::Stable;
    /// let shape = Stable::with_size(100_000, 0.01)?.shape();
    /// assert_eq!((shape.cells, shape.max, shape.hashes), (50_000, 3, 4));
    /// assert!(shape.miss_rate(100) < shape.miss_rate(10_000), "what came long ago is forgotten");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The cells.
    ///
    /// ```
    /// use bouquet::decay::stable::Stable;
    /// let mut filter = Stable::with_size(100_000, 0.01)?;
    /// filter.observe("rose");
    /// assert_eq!(filter.cells().count_nonzero(), 4);
    /// assert_eq!(filter.cells().iter().max(), Some(3));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn cells(&self) -> &Counters {
        &self.cells
    }

    /// Arrivals so far, duplicates included.
    ///
    /// ```
    /// use bouquet::decay::stable::Stable;
    /// let mut filter = Stable::with_size(100_000, 0.01)?;
    /// for key in ["rose", "lily", "rose"] {
    ///     filter.observe(key);
    /// }
    /// assert_eq!(filter.items(), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Takes an arrival and says whether it seems to be a duplicate of one not long ago.
    ///
    /// ```
    /// use bouquet::decay::stable::Stable;
    /// let mut filter = Stable::with_size(100_000, 0.01)?;
    /// assert_eq!([1, 2, 1, 3].map(|key: u8| filter.observe(&key)), [false, false, true, false]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn observe<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.observe_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn observe_digest(&mut self, digest: Digest) -> bool {
        let duplicate = self.contains_digest(digest);
        self.fade();
        let max = u64::from(self.shape.max);
        for position in probes(digest, self.shape.cells, self.shape.hashes) {
            self.cells.set(position, max);
        }
        self.items = self.items.saturating_add(1);
        duplicate
    }

    /// P consecutive cells from a random one on lose one: every cell with probability P/m, for one random number.
    #[inline]
    fn fade(&mut self) {
        let start = self.random.below(self.shape.cells);
        self.cells.decrement_run(start, self.shape.decrements);
    }

    /// Whether the key seems to have come not long ago.
    ///
    /// ```
    /// use bouquet::decay::stable::Stable;
    /// let mut filter = Stable::with_size(100_000, 0.01)?;
    /// filter.observe("rose");
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
        probes(digest, self.shape.cells, self.shape.hashes).all(|position| self.cells.get(position) != 0)
    }

    /// Fades as if `ticks` arrivals had come, without any.
    ///
    /// ```
    /// use bouquet::decay::stable::Stable;
    /// let mut filter = Stable::with_size(100_000, 0.01)?;
    /// filter.observe("rose");
    /// filter.advance(u64::MAX);
    /// assert!(!filter.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn advance(&mut self, ticks: u64) {
        // When every cell is zero only the generator goes on. Looking costs less than the steps in between, in which
        // every cell fades about once.
        let round = self.shape.cells / self.shape.decrements + 1;
        let mut left = ticks;
        while left > 0 {
            if self.cells.words().iter().all(|&word| word == 0) {
                return self.random.skip(left);
            }
            let steps = left.min(round);
            (0..steps).for_each(|_| self.fade());
            left -= steps;
        }
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::decay::stable::Stable;
    /// let mut filter = Stable::with_size(1_000, 0.01)?;
    /// filter.observe("rose");
    /// let mut copy = Stable::from_bytes(&filter.to_bytes())?;
    /// filter.advance(100);
    /// copy.advance(100);
    /// assert_eq!(copy, filter, "the copy forgets in the same order");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::decay::stable::Stable;
    /// let mut filter = Stable::with_size(1_000, 0.01)?;
    /// filter.observe("rose");
    /// let frame = filter.to_bytes();
    /// assert!(Stable::from_bytes(&frame)?.contains("rose"));
    /// assert!(Stable::from_bytes(&frame[..frame.len() / 2]).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }

    /// Hashes a batch and asks the memory for the words of every key before the first is looked at.
    #[inline]
    fn digests<K: Key>(&self, keys: &[K]) -> [Digest; BATCH] {
        let (words, width) = (self.cells.words(), u64::from(self.cells.width()));
        digest_batch(&self.hashing, keys, |digest| {
            for position in probes(digest, self.shape.cells, self.shape.hashes) {
                prefetch(words, (position * width / 64) as usize);
            }
        })
    }
}

/// The rate at which absent keys seem present after this many arrivals of different keys.
fn false_positives(shape: &Shape, arrivals: u64) -> f64 {
    (1.0 - shape.zeros_after(arrivals)).powi(shape.hashes as i32)
}

/// The mean chance that one of this many different keys, which came one after the other, is missed at the end.
///
/// The gaps are 0, 1, 2, ...; from some thousands on they are taken in blocks, each by its middle.
fn misses(shape: &Shape, arrivals: u64) -> f64 {
    const BLOCKS: u64 = 4096;
    let block = arrivals.div_ceil(BLOCKS).max(1);
    let mut sum = 0.0;
    let mut gap = 0;
    while gap < arrivals {
        let len = block.min(arrivals - gap);
        sum += len as f64 * shape.miss_rate(gap + (len - 1) / 2);
        gap += len;
    }
    if arrivals == 0 { 0.0 } else { sum / arrivals as f64 }
}

impl Structure for Stable {
    const FACTS: Facts = Facts {
        id: "stable",
        number: 130,
        aliases: &["stable-bloom"],
        family: "decay",
        text: Text::new(include_str!("stable.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        note: NoteType::None,
        parameters: &[ITEMS, FPR, FNR, BITS, CELLS, GAP, MAX, common::HASHES, DECREMENTS],
    };

    const IN_PLACE: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        let shape = shape(config)?;
        let items = config.count("items");
        let fpr = Some(items.map_or(shape.limit_rate(), |items| false_positives(&shape, items)));
        Ok(Plan { bits: shape.cells * u64::from(width(shape.max)), hashes: shape.hashes, items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let mut config = Config::new(KIND.facts())
            .put("cells", Setting::Count(self.shape.cells))
            .put("max", Setting::Count(self.shape.max.into()))
            .put("hashes", Setting::Count(self.shape.hashes.into()))
            .put("decrements", Setting::Count(self.shape.decrements))
            .hashed(self.hashing.clone());
        for (name, count) in [("items", self.asked.items), ("gap", self.asked.gap)] {
            if let Some(count) = count {
                config = config.put(name, Setting::Count(count));
            }
        }
        match self.asked.fpr {
            Some(fpr) => config.put("fpr", Setting::Real(fpr)),
            None => config,
        }
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let cells = self.shape.cells as f64;
        let fill = self.cells.count_nonzero() as f64 / cells;
        let honest = 1.0 - self.shape.zeros_after(self.items);
        // Cells within P of each other fade together, so at worst there are m/P independent groups of P.
        let deviation = (self.shape.decrements as f64 * honest * (1.0 - honest) / cells).sqrt();
        Stats {
            items: self.items,
            bits: self.cells.bits(),
            hashes: self.shape.hashes,
            fill: Some(fill),
            fpr: Some(fill.powi(self.shape.hashes as i32)),
            honest_fill: Some((honest + 8.0 * deviation).min(1.0)),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        Rates {
            false_positive: Some(false_positives(&self.shape, items)),
            false_negative: Some(misses(&self.shape, items)),
            ..Rates::default()
        }
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        encoder.state().u64(self.random.state());
        encoder.counters(&self.cells);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = shape(decoder.config())?;
        let items = decoder.state().u64()?;
        let random = SplitMix::new(decoder.state().u64()?);
        let cells = decoder.counters(shape.cells, width(shape.max))?;
        // Where Max is all ones in its width no cell can be above it.
        if u64::from(shape.max) < cells.max()
            && let Some(found) = cells.iter().find(|&cell| cell > u64::from(shape.max))
        {
            return Err(Error::corrupt("a cell", format!("at most {}", shape.max), found));
        }
        Ok(Self::with_parts(decoder.config(), shape, cells, random, items))
    }
}

const ITEMS: Parameter =
    Parameter { help: "arrivals that the filter is to remember: sizes it, unless its size is given", ..common::ITEMS };

const FPR: Parameter =
    Parameter { help: "limit of the false-positive rate, however long the stream is", ..common::FPR };

const FNR: Parameter = Parameter {
    name: "fnr",
    help: "when sized by items: share of keys that may be missed after that many arrivals",
    of: ParameterType::Real { above: 0.0, below: 1.0, default: Some(0.01) },
};

const BITS: Parameter = Parameter { help: "size in bits, instead of items", ..common::BITS };

const CELLS: Parameter = Parameter {
    name: "cells",
    help: "size in cells, instead of bits",
    of: ParameterType::Count { min: 1, max: MAX_BITS, default: None },
};

const GAP: Parameter = Parameter {
    name: "gap",
    help: "arrivals between a key and its duplicate, for which max, hashes and decrements are chosen; items if not given",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

const MAX: Parameter = Parameter {
    name: "max",
    help: "what a cell is set to; the best of 1, 3 and 7 for the gap, or 3",
    of: ParameterType::Count { min: 1, max: 255, default: None },
};

const DECREMENTS: Parameter = Parameter {
    name: "decrements",
    help: "cells that each arrival decrements; as many as the rate needs if not given",
    of: ParameterType::Count { min: 1, max: MAX_BITS, default: None },
};

impl Contains for Stable {
    fn contains(&self, key: &[u8]) -> bool {
        Stable::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            for (answer, digest) in answers.iter_mut().zip(self.digests(keys)).take(keys.len()) {
                *answer = self.contains_digest(digest);
            }
        }
    }
}

impl Insert for Stable {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Ok(!self.observe(item.bare()?))
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let mut fresh = 0;
        for items in items.chunks(BATCH) {
            for (item, digest) in items.iter().zip(self.digests(items)) {
                item.bare()?;
                fresh += u64::from(!self.observe_digest(digest));
            }
        }
        Ok(fresh)
    }
}

impl Advance for Stable {
    fn advance(&mut self, ticks: u64) {
        Stable::advance(self, ticks);
    }
}

#[cfg(test)]
mod tests;
