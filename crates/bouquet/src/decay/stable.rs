#![doc = include_str!("stable.md")]

use std::ops::RangeInclusive;

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, SplitMix, probes};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Stats, Text, common, kind};
use crate::shell::{Age, ByRate, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, fields};
use crate::simd::prefetch;
use crate::store::Counters;
use crate::theory::MAX_BITS;
use crate::theory::stable::{self, Shape};

/// The registry's row.
pub const KIND: Kind = kind!(Stable);

/// A stable Bloom filter.
///
/// By rate it is the smallest that misses one in a hundred keys that came `items` arrivals ago, about 115 bits per item
/// at 1 %.
///
/// ```
/// use bouquet::Stable;
/// let mut filter = Stable::with_rate(1_000, 0.01)?;
/// assert!(filter.shape().miss_rate(1_000) <= 0.01 && filter.shape().limit_rate() <= 0.01);
/// assert_eq!([1, 2, 1, 3].map(|key: u8| filter.insert(&key)), [true, true, false, true]);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Stable = Filter<Fading>;

const ITEMS: Parameter =
    Parameter { help: "arrivals that the filter is to remember: sizes it, unless its size is given", ..common::ITEMS };
const FPR: Parameter =
    Parameter { help: "limit of the false-positive rate, however long the stream is", ..common::FPR };
const FNR: Parameter =
    Parameter::real("fnr", "when sized by items: share of keys that may be missed after that many arrivals", 0.0, 1.0)
        .or_real(0.01);
const BITS: Parameter = Parameter { help: "size in bits, instead of items", ..common::BITS };
const CELLS: Parameter = Parameter::count("cells", "size in cells, instead of bits", 1, MAX_BITS);
const GAP: Parameter = Parameter::count(
    "gap",
    "arrivals between a key and its duplicate, for which max, hashes and decrements are chosen; items if not given",
    1,
    1 << 56,
);
const MAX: Parameter =
    Parameter::count("max", "what a cell is set to; the best of 1, 3 and 7 for the gap, or 3", 1, 255);
const DECREMENTS: Parameter = Parameter::count(
    "decrements",
    "cells that each arrival decrements; as many as the rate needs if not given",
    1,
    MAX_BITS,
);

/// The settings of a stable filter.
///
/// ```
/// use bouquet::{Stable, StableSettings};
/// let settings = StableSettings { cells: Some(20_000), max: Some(3), hashes: Some(3), ..Default::default() };
/// assert_eq!(Stable::with(settings)?.settings().decrements, Some(36));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StableSettings {
    /// Arrivals that it is to remember.
    pub items: Option<u64>,
    /// The limit of the false-positive rate.
    pub fpr: Option<f64>,
    /// The share of keys that may be missed after `items` arrivals.
    pub fnr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// m, the size in cells.
    pub cells: Option<u64>,
    /// Arrivals between a key and its duplicate.
    pub gap: Option<u64>,
    /// Max, what a cell is set to.
    pub max: Option<u32>,
    /// K, cells per key.
    pub hashes: Option<u32>,
    /// P, cells that each arrival decrements.
    pub decrements: Option<u64>,
}

impl Settings for StableSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        fpr: FPR,
        fnr: FNR,
        bits: BITS,
        cells: CELLS,
        gap: GAP,
        max: MAX,
        hashes: common::HASHES,
        decrements: DECREMENTS,
    ];
}

impl ByRate for StableSettings {}

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

impl StableSettings {
    /// The gap that the numbers are chosen for.
    fn chosen_gap(&self) -> Option<u64> {
        self.gap.or(self.items)
    }

    /// The numbers that are tried for Max.
    fn maxima(&self) -> Vec<u32> {
        self.max.map_or(vec![1, 3, 7], |max| vec![max])
    }

    /// The numbers that are tried for K.
    fn numbers(&self) -> RangeInclusive<u32> {
        self.hashes.map_or(1..=10, |hashes| hashes..=hashes)
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
            None => stable::decrements(cells, hashes, max, FPR.need(self.fpr)?)?,
        };
        Ok(Shape { cells, hashes, max, decrements })
    }

    /// The shape in this memory: with the fewest misses at the gap if one is known, else with Max = 3 and K = 4, in so
    /// far as they are not given.
    fn best(&self, memory: Memory) -> Result<Shape> {
        let Some(gap) = self.chosen_gap() else {
            return self.shape(memory, self.max.unwrap_or(3), self.hashes.unwrap_or(4));
        };
        let shapes =
            self.maxima().into_iter().flat_map(|max| self.numbers().map(move |hashes| self.shape(memory, max, hashes)));
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
        let Some(gap) = self.chosen_gap() else {
            return Err(ITEMS.missing("bits` or `cells"));
        };
        let choices: Vec<_> =
            self.maxima().into_iter().flat_map(|max| self.numbers().map(move |hashes| (max, hashes))).collect();
        let bits = stable::fewest_bits(&choices, self.decrements, FPR.need(self.fpr)?, gap, misses)?;
        self.best(Memory::Bits(bits))
    }
}

/// Small counters that fade.
#[derive(Clone, Debug, PartialEq)]
pub struct Fading {
    shape: Shape,
    cells: Counters,
    /// Where the next run of decrements begins.
    random: SplitMix,
}

impl Mechanism for Fading {
    const FACTS: Facts = Facts {
        id: "stable",
        number: 130,
        aliases: &["stable-bloom"],
        family: "decay",
        text: Text::new(include_str!("stable.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    type Settings = StableSettings;

    fn resolve(asked: &StableSettings) -> Result<StableSettings> {
        let shape = match (asked.cells, asked.bits) {
            (Some(cells), _) => asked.best(Memory::Cells(cells)),
            (None, Some(bits)) => asked.best(Memory::Bits(bits)),
            (None, None) => asked.smallest(FNR.need(asked.fnr)?),
        }?;
        let bits = u128::from(shape.cells) * u128::from(width(shape.max));
        if bits > u128::from(MAX_BITS) {
            return Err(Error::TooLarge { what: "the filter".into(), bytes: bits / 8 });
        }
        Ok(StableSettings {
            items: asked.items,
            fpr: asked.fpr,
            gap: asked.gap,
            cells: Some(shape.cells),
            max: Some(shape.max),
            hashes: Some(shape.hashes),
            decrements: Some(shape.decrements),
            ..Default::default()
        })
    }

    fn plan(settings: &StableSettings) -> Result<Plan> {
        let shape = shape(settings)?;
        let items = settings.items;
        let fpr = Some(items.map_or(shape.limit_rate(), |items| false_positives(&shape, items)));
        Ok(Plan { bits: shape.cells * u64::from(width(shape.max)), hashes: shape.hashes, items, fpr })
    }

    fn empty(settings: &StableSettings, hashing: &Hashing) -> Result<Self> {
        let shape = shape(settings)?;
        let cells = Counters::zeroed(shape.cells, width(shape.max))?;
        Ok(Fading { shape, cells, random: SplitMix::new(hashing.seed()) })
    }

    fn domain(settings: &StableSettings) -> String {
        format!("stable {} {}", settings.cells.unwrap_or(0), settings.hashes.unwrap_or(0))
    }

    fn stats(&self, items: u64) -> Stats {
        let cells = self.shape.cells as f64;
        let fill = self.cells.count_nonzero() as f64 / cells;
        let honest = 1.0 - self.shape.zeros_after(items);
        // Cells within P of each other fade together, so at worst there are m/P independent groups of P.
        let deviation = (self.shape.decrements as f64 * honest * (1.0 - honest) / cells).sqrt();
        Stats {
            items,
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

    /// State: items, state of the generator, 8 bytes each. Store: the cells.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().u64(self.random.state());
        encoder.counters(&self.cells);
    }

    fn decode(settings: &StableSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = shape(settings)?;
        let items = decoder.state().u64()?;
        let random = SplitMix::new(decoder.state().u64()?);
        let cells = decoder.counters(shape.cells, width(shape.max))?;
        // Where Max is all ones in its width no cell can be above it.
        if u64::from(shape.max) < cells.max()
            && let Some(found) = cells.iter().find(|&cell| cell > u64::from(shape.max))
        {
            return Err(Error::corrupt("a cell", format!("at most {}", shape.max), found));
        }
        Ok((Fading { shape, cells, random }, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.cells.bits()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        let (words, width) = (self.cells.words(), u64::from(self.cells.width()));
        for position in probes(digest, self.shape.cells, self.shape.hashes) {
            prefetch(words, (position * width / 64) as usize);
        }
    }
}

/// The shape of resolved settings.
fn shape(settings: &StableSettings) -> Result<Shape> {
    Ok(Shape {
        cells: CELLS.need(settings.cells)?,
        hashes: common::HASHES.need(settings.hashes)?,
        max: MAX.need(settings.max)?,
        decrements: DECREMENTS.need(settings.decrements)?,
    })
}

impl Test for Fading {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        probes(key.digest, self.shape.cells, self.shape.hashes).all(|position| self.cells.get(position) != 0)
    }
}

impl Put for Fading {
    type Note<'a> = ();
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let fresh = !self.test(key);
        self.fade();
        let max = u64::from(self.shape.max);
        for position in probes(key.digest, self.shape.cells, self.shape.hashes) {
            self.cells.set(position, max);
        }
        fresh
    }
}

impl Age for Fading {
    /// Fades as if `ticks` arrivals had come, without any.
    fn age(&mut self, ticks: u64) {
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
}

impl Fading {
    /// P consecutive cells from a random one on lose one: every cell with probability P/m, for one random number.
    #[inline]
    fn fade(&mut self) {
        let start = self.random.below(self.shape.cells);
        self.cells.decrement_run(start, self.shape.decrements);
    }
}

impl Stable {
    /// A filter of `bits` bits whose false-positive rate stays below `fpr`, with Max = 3 and K = 4.
    ///
    /// ```
    /// use bouquet::Stable;
    /// assert_eq!(Stable::with_size(100_000, 0.01)?.shape().cells, 50_000);
    /// assert!(Stable::with_size(5, 0.01).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, fpr: f64) -> Result<Self> {
        Self::with(StableSettings { bits: Some(bits), fpr: Some(fpr), ..Default::default() })
    }

    /// A filter of `bits` bits whose false-positive rate stays below `fpr`, with the Max, K and P that miss the fewest
    /// duplicates `gap` arrivals apart.
    ///
    /// ```
    /// use bouquet::Stable;
    /// let shape = Stable::with_gap(100_000, 0.01, 2_000)?.shape();
    /// assert_eq!((shape.max, shape.hashes, shape.decrements), (3, 4, 30));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_gap(bits: u64, fpr: f64, gap: u64) -> Result<Self> {
        Self::with(StableSettings { bits: Some(bits), fpr: Some(fpr), gap: Some(gap), ..Default::default() })
    }

    /// m, K, Max and P, which tell its limits: see [`Shape`].
    ///
    /// ```
    /// use bouquet::Stable;
    /// let shape = Stable::with_size(100_000, 0.01)?.shape();
    /// assert_eq!((shape.cells, shape.max, shape.hashes), (50_000, 3, 4));
    /// assert!(shape.miss_rate(100) < shape.miss_rate(10_000), "what came long ago is forgotten");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.mechanism.shape
    }

    /// The cells.
    ///
    /// ```
    /// use bouquet::Stable;
    /// let mut filter = Stable::with_size(100_000, 0.01)?;
    /// filter.insert("rose");
    /// assert_eq!((filter.cells().count_nonzero(), filter.cells().iter().max()), (4, Some(3)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn cells(&self) -> &Counters {
        &self.mechanism.cells
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

#[cfg(test)]
mod tests;
