#![doc = include_str!("decaying.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, Positions, probes};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Stats, Text, common, kind};
use crate::parts::aging_cells::{AgingCells, Lives};
use crate::parts::counter_array::CounterStore;
use crate::shell::{Age, ByRate, Choice, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, choices, fields};
use crate::store::Counters;
use crate::theory::aging::Shape;
use crate::theory::{MAX_BITS, standard};

/// The registry's row.
pub const KIND: Kind = kind!(Decaying);

/// A decaying Bloom filter: the keys of the last W arrivals.
///
/// ```
/// use bouquet::Decaying;
/// let mut window = Decaying::with_rate(1_000, 0.01)?;
/// assert!(window.insert("rose") && !window.insert("rose"));
/// (0..999u64).for_each(|key| _ = window.insert(&key));
/// assert!(window.contains("rose"), "it is among the last thousand");
/// (0..1_000u64).for_each(|key| _ = window.insert(&key));
/// assert!(!window.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Decaying = Filter<Window>;

const ITEMS: Parameter = Parameter { help: "W, the last arrivals that are always found", ..common::ITEMS };
const FPR: Parameter = Parameter { help: "false-positive rate with that many keys", ..common::FPR };
const CELLS: Parameter = Parameter::count("cells", "size in cells, instead of a rate", 1, MAX_BITS);
const BLOCKS: Parameter = Parameter::count(
    "blocks",
    "T, blocks of cells that age in turn; a sixteenth of the window when not given",
    1,
    1 << 40,
);
const SLACK: Parameter = Parameter::count(
    "slack",
    "C, rounds within which dead cells are emptied; when not given as many as the bits of a cell have room for, at least 13",
    1,
    1 << 56,
);
const FORM: Parameter =
    Parameter::choice("form", "how cells tell their age: by a round number, or by what is left", Form::WORDS);
const CLOCK: Parameter = Parameter::choice("clock", "what makes cells age: arrivals, or ticks alone", Clock::WORDS);
const WINDOW: Parameter =
    Parameter::count("window", "ticks for which keys are found, with clock=ticks; items when not given", 1, 1 << 56);

/// How cells tell their age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// By the round in which they die, on a clock that wraps around; a sweep empties dead ones.
    Wraparound,
    /// By the rounds that are left, which are counted down.
    Decrement,
}

choices!(Form { Wraparound = "wraparound", Decrement = "decrement" });

/// What makes cells age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Every arrival, and every tick as much.
    Arrivals,
    /// Ticks alone.
    Ticks,
}

choices!(Clock { Arrivals = "arrivals", Ticks = "ticks" });

/// The settings of a decaying filter.
///
/// ```
/// use bouquet::{Decaying, DecayingSettings};
/// let settings = DecayingSettings { items: Some(10_000), ..Default::default() };
/// let filter = Decaying::with(settings)?;
/// assert_eq!((filter.settings().blocks, filter.cells().width()), (Some(625), 5));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecayingSettings {
    /// W, the last arrivals that are always found.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// m, the size in cells; a multiple of the blocks.
    pub cells: Option<u64>,
    /// k, cells per key.
    pub hashes: Option<u32>,
    /// T, the blocks.
    pub blocks: Option<u64>,
    /// C, rounds within which dead cells are emptied.
    pub slack: Option<u64>,
    /// How cells tell their age.
    pub form: Option<Form>,
    /// What makes cells age.
    pub clock: Option<Clock>,
    /// Ticks for which keys are found, where ticks make cells age.
    pub window: Option<u64>,
}

impl Settings for DecayingSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        fpr: FPR,
        cells: CELLS,
        hashes: common::HASHES,
        blocks: BLOCKS,
        slack: SLACK,
        form: FORM,
        clock: CLOCK,
        window: WINDOW,
    ];
}

impl ByRate for DecayingSettings {}

/// The most arrivals that a frame may tell of: more can never come.
const MOST: u128 = 1 << 100;

/// Cells by the rounds in which they die.
#[derive(Clone, Debug, PartialEq)]
enum Cells {
    Wrapping(AgingCells),
    Counting(Counters),
}

/// Cells with the life that is left of their keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    shape: Shape,
    /// Cells of a block.
    block: u64,
    cells: Cells,
    clock: Clock,
    /// Arrivals and ticks so far, as they make cells age: whole rounds of all blocks, and the blocks that are a round ahead.
    now: u128,
    rounds: u64,
    ahead: u64,
}

/// The shape, and how cells live if they wrap around.
fn shape(settings: &DecayingSettings) -> Result<(Shape, u64, Option<Lives>)> {
    let items = ITEMS.need(settings.items)?;
    let clock = CLOCK.need(settings.clock)?;
    let window = if clock == Clock::Ticks { settings.window.unwrap_or(items) } else { items };
    let blocks = settings.blocks.unwrap_or(window / 16).max(1);
    // Live keys on average, of the last W arrivals and of those of a round that has begun.
    let live = match clock {
        Clock::Arrivals => items.div_ceil(blocks).saturating_mul(blocks).saturating_add(blocks / 2 + 1),
        Clock::Ticks => items.saturating_add((u128::from(items) * u128::from(blocks) / u128::from(2 * window)) as u64),
    };
    let size = common::size_of(Some(live), settings.fpr, settings.cells, settings.hashes, "cells")?;
    let block = size.bits.div_ceil(blocks);
    let cells = block.saturating_mul(blocks);
    let lives = window.div_ceil(blocks) + 1;
    let (slack, form) = (settings.slack.unwrap_or(free_slack(lives)), FORM.need(settings.form)?);
    let pass = slack.saturating_mul(blocks);
    let wrapping = (form == Form::Wraparound).then_some(Lives { longest: lives, slack, pass });
    let width = wrapping.map_or(width(lives), Lives::width);
    let bits = u128::from(cells) * u128::from(width);
    if bits > u128::from(MAX_BITS) {
        return Err(Error::TooLarge { what: "the filter".into(), bytes: bits / 8 });
    }
    Ok((Shape { cells, hashes: size.hashes, blocks, lives }, block, wrapping))
}

/// The rounds of slack that cells for 13 have room for: codes for V lives, C rounds, the present one and empty ones fill all bits.
fn free_slack(lives: u64) -> u64 {
    const LEAST: u64 = 13;
    let width = width(lives.saturating_add(LEAST + 1));
    (u64::MAX >> (u64::BITS - width)).saturating_sub(lives + 1).max(LEAST)
}

/// Bits of a cell that counts down from `lives`.
fn width(lives: u64) -> u32 {
    u64::BITS - lives.leading_zeros()
}

impl Mechanism for Window {
    const FACTS: Facts = Facts {
        id: "decaying",
        number: 131,
        aliases: &["decaying-bloom"],
        family: "decay",
        text: Text::new(include_str!("decaying.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    type Settings = DecayingSettings;

    fn resolve(asked: &DecayingSettings) -> Result<DecayingSettings> {
        let (shape, ..) = shape(asked)?;
        Ok(DecayingSettings {
            cells: Some(shape.cells),
            hashes: Some(shape.hashes),
            blocks: Some(shape.blocks),
            slack: Some(asked.slack.unwrap_or(free_slack(shape.lives))),
            form: Some(FORM.need(asked.form)?),
            clock: Some(CLOCK.need(asked.clock)?),
            ..asked.clone()
        })
    }

    fn plan(settings: &DecayingSettings) -> Result<Plan> {
        let (shape, _, wrapping) = shape(settings)?;
        let bits = shape.cells * u64::from(wrapping.map_or(width(shape.lives), Lives::width));
        let items = settings.items;
        let clock = CLOCK.need(settings.clock)?;
        let fpr = items.map(|items| rates(&shape, clock, items).0);
        Ok(Plan { bits, hashes: shape.hashes, items, fpr })
    }

    fn empty(settings: &DecayingSettings, _: &Hashing) -> Result<Self> {
        let (shape, block, wrapping) = shape(settings)?;
        let cells = match wrapping {
            Some(lives) => Cells::Wrapping(AgingCells::zeroed(shape.cells, lives)?),
            None => Cells::Counting(Counters::zeroed(shape.cells, width(shape.lives))?),
        };
        let clock = CLOCK.need(settings.clock)?;
        Ok(Window { shape, block, cells, clock, now: 0, rounds: 0, ahead: 0 })
    }

    fn domain(settings: &DecayingSettings) -> String {
        format!("decaying {} {}", settings.cells.unwrap_or(0), settings.hashes.unwrap_or(0))
    }

    fn stats(&self, items: u64) -> Stats {
        let (m, k) = (self.shape.cells, self.shape.hashes);
        let fill = self.alive() as f64 / m as f64;
        // Keys that are alive, and in the block that has waited longest for its next round.
        let certain = u128::from(self.shape.lives).saturating_mul(self.shape.blocks.into());
        let live = match self.clock {
            Clock::Arrivals => u128::from(items).min(certain) as u64,
            Clock::Ticks => items,
        };
        let honest = standard_fill(m, live, k);
        Stats {
            items,
            bits: self.counters().bits(),
            hashes: k,
            fill: Some(fill),
            fpr: Some(fill.powi(k as i32)),
            honest_fill: Some(honest),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let (false_positive, false_negative) = rates(&self.shape, self.clock, items);
        Rates { false_positive: Some(false_positive), false_negative: Some(false_negative), ..Rates::default() }
    }

    /// State: u64 items, u64 the low half and u64 the high half of the clock. Store: the cells.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        for number in [items, self.now as u64, (self.now >> 64) as u64] {
            encoder.state().u64(number);
        }
        match &self.cells {
            Cells::Wrapping(cells) => cells.encode(encoder),
            Cells::Counting(cells) => encoder.counters(cells),
        }
    }

    fn decode(settings: &DecayingSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (shape, block, wrapping) = shape(settings)?;
        let state = decoder.state();
        let [items, low, high] = [state.u64()?, state.u64()?, state.u64()?];
        let now = u128::from(high) << 64 | u128::from(low);
        if now > MOST {
            return Err(Error::corrupt("the clock", format!("at most {MOST}"), now));
        }
        let cells = match wrapping {
            Some(lives) => Cells::Wrapping(AgingCells::decode(decoder, shape.cells, lives)?),
            None => Cells::Counting(decoder.counters(shape.cells, width(shape.lives))?),
        };
        if let Cells::Counting(cells) = &cells
            && shape.lives < cells.max()
            && decoder.reads_stores()
            && let Some(found) = cells.iter().find(|&cell| cell > shape.lives)
        {
            return Err(Error::corrupt("a cell", format!("at most {}", shape.lives), found));
        }
        let mut window =
            Window { shape, block, cells, clock: CLOCK.need(settings.clock)?, now: 0, rounds: 0, ahead: 0 };
        window.set_clock(now);
        Ok((window, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.counters().bits()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        probes(digest, self.shape.cells, self.shape.hashes).for_each(|place| self.counters().prefetch(place));
    }
}

/// The largest fill that honest filling reaches: the mean and 8 standard deviations.
fn standard_fill(m: u64, keys: u64, k: u32) -> f64 {
    use crate::theory::spread;
    ((spread::ones(m, keys, k) + 8.0 * spread::ones_variance(m, keys, k).sqrt()) / m as f64).min(1.0)
}

/// The rates of false positives and false negatives after this many different keys.
fn rates(shape: &Shape, clock: Clock, items: u64) -> (f64, f64) {
    match clock {
        Clock::Arrivals => (shape.rate_after(items), shape.mean_miss_rate(items)),
        // Time does not pass by itself.
        Clock::Ticks => (standard::expected_rate(shape.cells, items, shape.hashes), 0.0),
    }
}

impl Test for Window {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        probes(key.digest, self.shape.cells, self.shape.hashes).all(|place| self.is_alive(place))
    }
}

impl Put for Window {
    type Note<'a> = ();
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        if self.clock == Clock::Arrivals {
            self.step();
        }
        let places: Positions = probes(key.digest, self.shape.cells, self.shape.hashes).collect();
        let fresh = !places.iter().all(|&place| self.is_alive(place));
        for &place in places.iter() {
            let round = self.round(place);
            match &mut self.cells {
                Cells::Wrapping(cells) => cells.give(place, round, self.shape.lives),
                Cells::Counting(cells) => cells.set(place, self.shape.lives),
            }
        }
        fresh
    }
}

impl Age for Window {
    fn age(&mut self, ticks: u64) {
        let Shape { blocks, cells: len, .. } = self.shape;
        let (from, to) = (self.now, (self.now + u128::from(ticks)).min(MOST));
        match &mut self.cells {
            Cells::Wrapping(cells) => {
                let block = self.block;
                cells.sweep(from, to, |place, now| rounds_of(now, blocks, place / block));
            }
            Cells::Counting(cells) => {
                // All blocks as often as they all have their turn; then some once more.
                let whole = u64::try_from((to - from) / u128::from(blocks)).unwrap_or(u64::MAX);
                if whole > 0 {
                    (0..len).for_each(|place| _ = cells.update(place, |left| left.saturating_sub(whole)));
                }
                let rest = (to - from) % u128::from(blocks);
                let first = (from % u128::from(blocks)) as u64;
                cells.decrement_run(first * self.block, rest as u64 * self.block);
            }
        }
        self.set_clock(to);
    }
}

/// How often a block has had its turn when `now` units have passed.
#[inline]
fn rounds_of(now: u128, blocks: u64, block: u64) -> u128 {
    let blocks = u128::from(blocks);
    now / blocks + u128::from(u128::from(block) < now % blocks)
}

impl Window {
    fn counters(&self) -> &Counters {
        match &self.cells {
            Cells::Wrapping(cells) => cells.cells(),
            Cells::Counting(cells) => cells,
        }
    }

    /// Sets the clock, and what follows from it.
    fn set_clock(&mut self, now: u128) {
        let blocks = u128::from(self.shape.blocks);
        let rounds = now / blocks;
        (self.now, self.ahead) = (now, (now % blocks) as u64);
        self.rounds = match &self.cells {
            Cells::Wrapping(cells) => cells.wrapped(rounds),
            Cells::Counting(_) => 0,
        };
    }

    /// One unit of time: the next block has its turn.
    #[inline]
    fn step(&mut self) {
        match &mut self.cells {
            Cells::Wrapping(cells) => {
                let (blocks, block) = (self.shape.blocks, self.block);
                cells.sweep(self.now, self.now + 1, |place, now| rounds_of(now, blocks, place / block));
                (self.now, self.ahead) = (self.now + 1, self.ahead + 1);
                if self.ahead == blocks {
                    self.ahead = 0;
                    let lives = cells.lives();
                    self.rounds = if self.rounds == lives.longest + lives.slack { 0 } else { self.rounds + 1 };
                }
            }
            Cells::Counting(cells) => {
                cells.decrement_run(self.ahead * self.block, self.block);
                self.now += 1;
                self.ahead = if self.ahead + 1 == self.shape.blocks { 0 } else { self.ahead + 1 };
            }
        }
    }

    /// The wrapped round of the block of a cell.
    #[inline]
    fn round(&self, place: u64) -> u64 {
        let Cells::Wrapping(cells) = &self.cells else { return 0 };
        let lives = cells.lives();
        let round = self.rounds + u64::from(place / self.block < self.ahead);
        if round > lives.longest + lives.slack { 0 } else { round }
    }

    #[inline]
    fn is_alive(&self, place: u64) -> bool {
        match &self.cells {
            Cells::Wrapping(cells) => cells.left(place, self.round(place)) > 0,
            Cells::Counting(cells) => cells.get(place) > 0,
        }
    }

    fn alive(&self) -> u64 {
        match &self.cells {
            Cells::Wrapping(cells) => cells.alive(|place| self.round(place)),
            Cells::Counting(cells) => cells.count_nonzero(),
        }
    }
}

impl Decaying {
    /// A filter of `cells` cells, `hashes` of which each key has, for the last `window` arrivals.
    ///
    /// ```
    /// use bouquet::Decaying;
    /// let filter = Decaying::with_size(10_000, 140_000, 7)?;
    /// assert!(filter.expected(20_000).false_positive.is_some_and(|rate| rate < 0.002));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(window: u64, cells: u64, hashes: u32) -> Result<Self> {
        let (items, cells, hashes) = (Some(window), Some(cells), Some(hashes));
        Self::with(DecayingSettings { items, cells, hashes, ..Default::default() })
    }

    /// The cells.
    ///
    /// ```
    /// use bouquet::Decaying;
    /// let mut filter = Decaying::with_size(10_000, 140_000, 7)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.cells().count_nonzero(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn cells(&self) -> &Counters {
        self.mechanism.counters()
    }
}

#[cfg(test)]
mod tests;
