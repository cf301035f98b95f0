//! Counters whose value halves with every half-life, in one of two stores. Neither is touched when time passes: a counter is brought up to
//! date when it is changed.

use super::Store;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::simd::prefetch;
use crate::store::{Counters, Words};
use crate::theory::MAX_BITS;

/// The clock stops here.
pub(super) const LAST_TICK: u64 = 1 << 62;

/// Quanta of an occurrence in a small counter: 6 fractional bits.
const QUANTA: f64 = 64.0;

/// The bits of a small counter.
const WIDTH: u32 = 12;

/// A small counter of this code is in the pool, or saturated.
const OUTGROWN: u64 = (1 << WIDTH) - 1;

/// What a small counter holds at most, in occurrences.
pub(super) const MOST_IN_A_CELL: f64 = (OUTGROWN - 1) as f64 / QUANTA;

/// Small counters that share a tick.
const BLOCK: u64 = 64;

/// A block is brought up to date when it is changed and this little is left of its values.
const FOLD: f64 = 15.0 / 16.0;

/// Counters of up to this many quanta are rounded down when they are brought up to date, so that they can vanish.
const FADING: f64 = 16.0;

/// Slots of the pool in which a counter may be.
const WINDOW: u64 = 32;

/// All are rescaled when a new occurrence would weigh this much: 2^40.
const HEAVIEST: u64 = 40;

/// What is left of an occurrence after `ticks` ticks.
#[inline]
pub(super) fn half_lives(ticks: u64, half_life: u64) -> f64 {
    if ticks == 0 { 1.0 } else { (-(ticks as f64) / half_life as f64).exp2() }
}

/// The sum, rounded up.
fn sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if sum - a < b { sum.next_up().min(f64::MAX) } else { sum.min(f64::MAX) }
}

/// The counters.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cells {
    Uniform(Uniform),
    Skewed(Skewed),
}

/// Floats, as they would be at the landmark: sums of 2^(ticks since the landmark / half-life).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Uniform {
    values: Words,
    landmark: u64,
    total: f64,
    half_life: u64,
}

/// Small counters in blocks, and a pool for those that outgrow them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Skewed {
    cells: Counters,
    /// The tick at which each block was up to date.
    ticks: Words,
    /// Slots of two words: 1 + the counter's index, and its value as a float at the tick of its block. A slot is empty at 0.
    pool: Words,
    total: f64,
    total_tick: u64,
    half_life: u64,
}

/// The blocks that `counters` counters take, and the slots of their pool.
fn blocks_and_slots(counters: u64) -> (u64, u64) {
    (counters.div_ceil(BLOCK), counters.div_ceil(50))
}

impl Cells {
    /// The bits that `counters` counters take.
    pub(super) fn bits(counters: u64, store: Store) -> Result<u64> {
        let (blocks, slots) = blocks_and_slots(counters);
        let bits = match store {
            Store::Uniform => u128::from(counters) * 64,
            Store::Skewed => {
                u128::from(counters) * u128::from(WIDTH) + u128::from(blocks) * 64 + u128::from(slots) * 128
            }
        };
        if bits > u128::from(MAX_BITS) {
            return Err(Error::TooLarge { what: "the counters".into(), bytes: bits / 8 });
        }
        Ok(bits as u64)
    }

    pub(super) fn zeroed(counters: u64, store: Store, half_life: u64) -> Result<Self> {
        let (blocks, slots) = blocks_and_slots(counters);
        Ok(match store {
            Store::Uniform => {
                Cells::Uniform(Uniform { values: Words::zeroed(counters)?, landmark: 0, total: 0.0, half_life })
            }
            Store::Skewed => Cells::Skewed(Skewed {
                cells: Counters::zeroed(counters, WIDTH)?,
                ticks: Words::zeroed(blocks)?,
                pool: Words::zeroed(2 * slots)?,
                total: 0.0,
                total_tick: 0,
                half_life,
            }),
        })
    }

    pub(super) fn stored_bits(&self) -> u64 {
        let words = |words: &Words| words.as_slice().len() as u64 * 64;
        match self {
            Cells::Uniform(uniform) => words(&uniform.values),
            Cells::Skewed(skewed) => skewed.cells.bits() + words(&skewed.ticks) + words(&skewed.pool),
        }
    }

    pub(super) fn half_life(&self) -> u64 {
        match self {
            Cells::Uniform(Uniform { half_life, .. }) | Cells::Skewed(Skewed { half_life, .. }) => *half_life,
        }
    }

    /// A counter's value now; infinite if it is saturated.
    #[inline]
    pub(super) fn get(&self, index: u64, now: u64) -> f64 {
        match self {
            Cells::Uniform(uniform) => {
                let value = uniform.values.as_slice().get(index as usize).map_or(0.0, |word| f64::from_bits(*word));
                value * half_lives(now.saturating_sub(uniform.landmark), uniform.half_life)
            }
            Cells::Skewed(skewed) => skewed.get(index, now),
        }
    }

    /// Adds to a counter.
    #[inline]
    pub(super) fn add(&mut self, index: u64, now: u64, amount: f64) {
        match self {
            Cells::Uniform(uniform) => {
                let weight = uniform.weight(now);
                if let Some(word) = uniform.values.as_mut_slice().get_mut(index as usize) {
                    *word = sum(f64::from_bits(*word), amount * weight).to_bits();
                }
            }
            Cells::Skewed(skewed) => skewed.add(index, now, amount),
        }
    }

    /// Adds to the total.
    pub(super) fn count(&mut self, now: u64, amount: f64) {
        match self {
            Cells::Uniform(uniform) => {
                // The weight first: it may rescale the total.
                let weight = uniform.weight(now);
                uniform.total = sum(uniform.total, amount * weight);
            }
            Cells::Skewed(skewed) => {
                let total = skewed.total * half_lives(now.saturating_sub(skewed.total_tick), skewed.half_life);
                (skewed.total, skewed.total_tick) = (sum(total, amount), now);
            }
        }
    }

    /// The decayed number of all occurrences.
    pub(super) fn total(&self, now: u64) -> f64 {
        match self {
            Cells::Uniform(Uniform { total, landmark: tick, half_life, .. })
            | Cells::Skewed(Skewed { total, total_tick: tick, half_life, .. }) => {
                total * half_lives(now.saturating_sub(*tick), *half_life)
            }
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, index: u64) {
        match self {
            Cells::Uniform(uniform) => prefetch(uniform.values.as_slice(), index as usize),
            Cells::Skewed(skewed) => {
                prefetch(skewed.cells.words(), (index * u64::from(WIDTH) / 64) as usize);
                prefetch(skewed.ticks.as_slice(), (index / BLOCK) as usize);
            }
        }
    }

    /// State: f64 total, u64 its tick, which is the landmark of floats. Stores: the floats as words; or the small counters, the ticks
    /// of the blocks and the pool, as words.
    pub(super) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        match self {
            Cells::Uniform(uniform) => {
                encoder.state().f64(uniform.total);
                encoder.state().u64(uniform.landmark);
                encoder.words(uniform.values.as_slice());
            }
            Cells::Skewed(skewed) => {
                encoder.state().f64(skewed.total);
                encoder.state().u64(skewed.total_tick);
                encoder.counters(&skewed.cells);
                encoder.words(skewed.ticks.as_slice());
                encoder.words(skewed.pool.as_slice());
            }
        }
    }

    pub(super) fn decode(
        decoder: &mut Decoder<'_>,
        counters: u64,
        store: Store,
        half_life: u64,
        now: u64,
    ) -> Result<Self> {
        let (total, tick) = (decoder.state().f64()?, decoder.state().u64()?);
        if !is_value(total.to_bits()) || tick > now {
            let expected = format!("a finite one of a tick up to {now}");
            return Err(Error::corrupt("the total", expected, format!("{total} of tick {tick}")));
        }
        let check = |words: &Words, what: &'static str, is_sound: &dyn Fn(u64) -> bool| match words
            .as_slice()
            .iter()
            .find(|word| !is_sound(**word))
        {
            Some(found) => Err(Error::corrupt(what, "a sound one", format!("{found:#x}"))),
            None => Ok(()),
        };
        let (blocks, slots) = blocks_and_slots(counters);
        Ok(match store {
            Store::Uniform => {
                let values = decoder.words(counters)?;
                check(&values, "a counter", &is_value)?;
                Cells::Uniform(Uniform { values, landmark: tick, total, half_life })
            }
            Store::Skewed => {
                let cells = decoder.counters(counters, WIDTH)?;
                let (ticks, pool) = (decoder.words(blocks)?, decoder.words(2 * slots)?);
                check(&ticks, "a block's tick", &|tick| tick <= now)?;
                let skewed = Skewed { cells, ticks, pool, total, total_tick: tick, half_life };
                skewed.check_pool()?;
                Cells::Skewed(skewed)
            }
        })
    }
}

/// Whether a word is a float that a counter can have.
fn is_value(word: u64) -> bool {
    let value = f64::from_bits(word);
    value.is_finite() && value.is_sign_positive()
}

impl Uniform {
    /// What an occurrence weighs now; if that is very much, everything is rescaled and the landmark is now.
    #[inline]
    fn weight(&mut self, now: u64) -> f64 {
        let since = now.saturating_sub(self.landmark);
        if since == 0 {
            return 1.0;
        }
        if since > HEAVIEST.saturating_mul(self.half_life) {
            self.rescale(now, half_lives(since, self.half_life));
            return 1.0;
        }
        (since as f64 / self.half_life as f64).exp2()
    }

    #[cold]
    fn rescale(&mut self, now: u64, left: f64) {
        for word in self.values.as_mut_slice() {
            *word = (f64::from_bits(*word) * left).to_bits();
        }
        (self.total, self.landmark) = (self.total * left, now);
    }
}

impl Skewed {
    /// What is left of the values of a counter's block.
    #[inline]
    fn left(&self, index: u64, now: u64) -> f64 {
        let tick = self.ticks.as_slice().get((index / BLOCK) as usize).copied().unwrap_or(now);
        half_lives(now.saturating_sub(tick), self.half_life)
    }

    fn get(&self, index: u64, now: u64) -> f64 {
        let value = match self.cells.get(index) {
            0 => return 0.0,
            OUTGROWN => match self.slot(index) {
                Some(slot) => self.pooled_value(slot),
                None => return f64::INFINITY,
            },
            quanta => quanta as f64 / QUANTA,
        };
        value * self.left(index, now)
    }

    /// The slots in which a counter may be.
    fn window(&self, index: u64) -> impl Iterator<Item = usize> + use<> {
        let slots = (self.pool.as_slice().len() / 2) as u64;
        let home = crate::hash::fastrange(crate::hash::mix(index), slots.max(1));
        (0..WINDOW.min(slots)).map(move |i| ((home + i) % slots) as usize)
    }

    fn slot(&self, index: u64) -> Option<usize> {
        self.window(index).find(|&slot| self.pool.as_slice()[2 * slot] == index + 1)
    }

    fn pooled_value(&self, slot: usize) -> f64 {
        f64::from_bits(self.pool.as_slice()[2 * slot + 1])
    }

    /// Gives a counter a value as of its block's tick, in the pool if it is large; a small one as so many quanta.
    fn put(&mut self, index: u64, value: f64, quanta: f64) {
        let known = if self.cells.get(index) == OUTGROWN { self.slot(index) } else { None };
        if quanta < OUTGROWN as f64 {
            if let Some(slot) = known {
                self.pool.as_mut_slice()[2 * slot] = 0;
                self.pool.as_mut_slice()[2 * slot + 1] = 0;
            }
            self.cells.set(index, quanta as u64);
            return;
        }
        self.cells.set(index, OUTGROWN);
        let free = |slots: &Self| slots.window(index).find(|&slot| slots.pool.as_slice()[2 * slot] == 0);
        // Without a slot the counter is saturated.
        if let Some(slot) = known.or_else(|| free(self)) {
            self.pool.as_mut_slice()[2 * slot] = index + 1;
            self.pool.as_mut_slice()[2 * slot + 1] = value.to_bits();
        }
    }

    fn add(&mut self, index: u64, now: u64, amount: f64) {
        if index >= self.cells.len() {
            return;
        }
        if self.left(index, now) <= FOLD {
            self.fold(index / BLOCK, now);
        }
        let old = match self.cells.get(index) {
            OUTGROWN => match self.slot(index) {
                Some(slot) => self.pooled_value(slot),
                // Saturated: what it holds is not known, and is not known afterwards.
                None => return,
            },
            quanta => quanta as f64 / QUANTA,
        };
        let value = sum(old, amount.min(f64::MAX) / self.left(index, now));
        self.put(index, value, (value * QUANTA).ceil());
    }

    /// Brings a block up to date.
    fn fold(&mut self, block: u64, now: u64) {
        let left = self.left(block * BLOCK, now);
        // No counter holds more than all occurrences.
        let total = self.total * half_lives(now.saturating_sub(self.total_tick), self.half_life);
        for index in block * BLOCK..(block * BLOCK + BLOCK).min(self.cells.len()) {
            let value = match self.cells.get(index) {
                0 => continue,
                OUTGROWN => match self.slot(index) {
                    Some(slot) => self.pooled_value(slot) * left,
                    None if total < MOST_IN_A_CELL => total,
                    None => continue,
                },
                quanta => quanta as f64 / QUANTA * left,
            };
            let quanta = value * QUANTA;
            self.put(index, value, if quanta <= FADING { quanta.floor() } else { quanta.ceil() });
        }
        self.ticks.as_mut_slice()[block as usize] = now;
    }

    /// Counters in the pool.
    pub(super) fn pooled(&self) -> u64 {
        self.pool.as_slice().chunks(2).filter(|slot| slot[0] != 0).count() as u64
    }

    /// Counters that are saturated.
    pub(super) fn saturated(&self) -> u64 {
        let outgrown = self.cells.iter().filter(|&code| code == OUTGROWN).count() as u64;
        outgrown.saturating_sub(self.pooled())
    }

    /// Every slot is that of a counter which is in the pool, once and where it is looked for.
    fn check_pool(&self) -> Result<()> {
        for (slot, words) in self.pool.as_slice().chunks(2).enumerate() {
            let [index, value] = [words[0], words[1]];
            let is_sound = match index.checked_sub(1) {
                None => value == 0,
                Some(index) => self.cells.get(index) == OUTGROWN && self.slot(index) == Some(slot) && is_value(value),
            };
            if !is_sound {
                return Err(Error::corrupt("a slot of the pool", "that of an outgrown counter", index));
            }
        }
        Ok(())
    }
}
