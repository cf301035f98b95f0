//! A ring of generations: plain filters of one shape that change their roles together, so that old keys leave in batches.
//!
//! Role 0 is the newest, the last role the oldest. A turn makes the oldest generation the newest and everyone else a role older;
//! with two generations that is a swap. One of them is *recycled* then: it counts as empty at once, though clearing it is
//! spread over the arrivals that follow, so that no single one waits for it.
//!
//! ```text
//! roles        0 1 2          1 2 0          a turn moves no bit: the roles move
//! generations  A B C   turn   A B C
//!                                 ^ recycled
//! ```
//!
//! Lines of 512 bits that are still to be cleared are *stale*: they read as zeros, and are cleared before the first write to them or
//! when the sweep reaches them. A map has a bit for each.

use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::kind::{Parameter, Stats};
use crate::parts::bit_array::BitArray;
use crate::parts::counter_array::{Placement, Places};
use crate::shell::Far;
use crate::store::BitStore;
use crate::theory::{Size, spread, standard};

/// Bits of a line that is cleared at once.
const LINE: u64 = 512;

/// Ticks after which a ring turns though it is not full.
pub(crate) const PERIOD: Parameter = Parameter::count(
    "period",
    "ticks after which generations change at the latest; without it a tick is an arrival without a key",
    1,
    1 << 56,
);

/// A filter of the ring.
#[derive(Clone, Debug, PartialEq)]
struct Generation {
    array: BitArray,
    /// Keys that have set a bit of it, and ticks that stood for keys.
    keys: u64,
    /// Ones that do not count as cleared.
    ones: u64,
}

/// Filters that change their roles together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ring {
    generations: Vec<Generation>,
    /// Which generation has role 0.
    newest: usize,
    /// Turns so far.
    turns: u64,
    /// Ticks since the last turn.
    ticks: u64,
    /// The generation that was recycled last.
    recycled: usize,
    /// Its lines that are stale.
    stale: BitStore,
    stale_lines: u64,
    /// The line from which the sweep goes on.
    sweep: u64,
}

/// The bits of a ring of this shape: its generations and the map of stale lines.
pub(crate) fn bits(generations: u64, each: u64) -> u64 {
    generations.saturating_mul(each).saturating_add(each.div_ceil(LINE))
}

/// The bits of each generation that fit in `total` with the map of stale lines.
pub(crate) fn each(total: u64, generations: u64) -> u64 {
    let about = (u128::from(total) * u128::from(LINE) / (u128::from(LINE) * u128::from(generations) + 1)) as u64;
    let mut each = about.saturating_add(1);
    while each > 0 && bits(generations, each) > total {
        each -= 1;
    }
    each
}

/// The size of each generation, and the keys that it is for, of a filter that was asked to have these `bits` in all, these
/// `hashes`, this rate in each generation and room for `keys` keys in it.
pub(crate) fn size(
    generations: u64,
    bits: Option<u64>,
    hashes: Option<u32>,
    keys: Option<u64>,
    rate: f64,
) -> Result<(Size, u64)> {
    let Some(total) = bits else {
        let keys = keys.ok_or_else(|| crate::kind::common::ITEMS.missing("bits"))?;
        let size = match hashes {
            None => standard::for_rate(keys, rate)?,
            Some(hashes) => {
                Size { bits: crate::theory::check_bits(standard::needed_bits(keys, rate, hashes))?, hashes }
            }
        };
        return Ok((size, keys));
    };
    let bits = each(total, generations);
    if bits == 0 {
        return Err(Error::parameter("bits", format!("enough for {generations} filters"), total));
    }
    let hashes = match (hashes, keys) {
        (Some(hashes), _) => hashes,
        (None, Some(keys)) => standard::for_bits(bits, keys)?.hashes,
        (None, None) => (1.0 / rate).log2().round().clamp(1.0, 64.0) as u32,
    };
    let keys = keys.unwrap_or_else(|| standard::capacity(bits, hashes, rate).min(1 << 56));
    if keys == 0 {
        return Err(Error::parameter("bits", format!("enough for a key at the rate {rate}"), total));
    }
    Ok((Size { bits, hashes }, keys))
}

impl Ring {
    /// A ring of empty generations.
    pub(crate) fn zeroed(count: usize, places: Places) -> Result<Self> {
        let generation = || Ok(Generation { array: BitArray::zeroed(places)?, keys: 0, ones: 0 });
        Ok(Ring {
            generations: (0..count.max(1)).map(|_| generation()).collect::<Result<_>>()?,
            newest: 0,
            turns: 0,
            ticks: 0,
            recycled: 0,
            stale: BitStore::zeroed(places.counters().div_ceil(LINE))?,
            stale_lines: 0,
            sweep: 0,
        })
    }

    fn at(&self, role: usize) -> usize {
        (self.newest + role) % self.generations.len()
    }

    /// The number of generations.
    pub(crate) fn len(&self) -> usize {
        self.generations.len()
    }

    pub(crate) fn places(&self) -> &Places {
        &self.generations[0].array.places
    }

    /// Turns so far: the number of the newest generation.
    pub(crate) fn turns(&self) -> u64 {
        self.turns
    }

    /// Ticks since the last turn.
    pub(crate) fn ticks(&self) -> u64 {
        self.ticks
    }

    /// The keys of the generation in this role.
    pub(crate) fn keys(&self, role: usize) -> u64 {
        self.generations[self.at(role)].keys
    }

    /// The ones of the generation in this role.
    pub(crate) fn ones(&self, role: usize) -> u64 {
        self.generations[self.at(role)].ones
    }

    /// The rate at which the generation in this role is wrong now.
    pub(crate) fn rate(&self, role: usize) -> f64 {
        let places = self.places();
        (self.ones(role) as f64 / places.counters() as f64).powi(places.hashes() as i32)
    }

    /// Whether the generation in this role has every bit of the digest.
    #[inline]
    pub(crate) fn test(&self, role: usize, digest: Digest) -> bool {
        let at = self.at(role);
        let array = &self.generations[at].array;
        let is_whole = self.stale_lines == 0 || at != self.recycled;
        array.all_set(digest) && (is_whole || array.places.all(digest, |place| !self.stale.get(place / LINE)))
    }

    /// Puts a key into the generation in this role and says whether a bit was new; such a key is counted.
    #[inline]
    pub(crate) fn put(&mut self, role: usize, digest: Digest) -> bool {
        let at = self.at(role);
        if self.stale_lines > 0 && at == self.recycled {
            let places = *self.places();
            places.of(digest).for_each(|place| self.freshen(place / LINE));
        }
        let Generation { array, keys, ones } = &mut self.generations[at];
        let BitArray { places, bits } = array;
        let mut new = 0;
        places.of(digest).for_each(|place| new += u64::from(bits.set(place)));
        *ones += new;
        *keys += u64::from(new > 0);
        new > 0
    }

    /// Clears a line if it is stale.
    fn freshen(&mut self, line: u64) {
        if self.stale.get(line) {
            self.stale.clear(line);
            self.stale_lines = self.stale_lines.saturating_sub(1);
            self.generations[self.recycled].array.bits.clear_run(line * LINE, LINE);
        }
    }

    /// Clears the share of the lines that lets all be clear after `arrivals` calls.
    #[inline]
    pub(crate) fn tidy(&mut self, arrivals: u64) {
        if self.stale_lines > 0 {
            self.tidy_lines(self.stale.len().div_ceil(arrivals.max(1)));
        }
    }

    #[cold]
    fn tidy_lines(&mut self, count: u64) {
        let end = self.sweep.saturating_add(count).min(self.stale.len());
        (self.sweep..end).for_each(|line| self.freshen(line));
        self.sweep = end;
        if end == self.stale.len() {
            self.stale_lines = 0;
        }
    }

    /// The oldest generation becomes the newest; then the one in the role `recycled` is empty.
    pub(crate) fn turn(&mut self, recycled: usize) {
        self.tidy_lines(u64::MAX);
        self.newest = (self.newest + self.len() - 1) % self.len();
        (self.turns, self.ticks) = (self.turns.wrapping_add(1), 0);
        self.recycled = self.at(recycled);
        let lines = self.stale.len();
        self.stale.words_mut().fill(u64::MAX);
        if !lines.is_multiple_of(64)
            && let Some(last) = self.stale.words_mut().last_mut()
        {
            *last = (1 << (lines % 64)) - 1;
        }
        (self.stale_lines, self.sweep) = (lines, 0);
        let Generation { keys, ones, .. } = &mut self.generations[self.recycled];
        (*keys, *ones) = (0, 0);
    }

    /// Turns this many times. Once every generation is empty and clear, further turns only move the roles.
    pub(crate) fn turn_times(&mut self, times: u128, recycled: usize) {
        let len = self.len() as u128;
        let done = if times > 2 * len + 2 { len + 2 + (times - len - 2) % len } else { times };
        (0..done).for_each(|_| self.turn(recycled));
        self.turns = self.turns.wrapping_add((times - done) as u64);
    }

    /// Lets ticks pass that make a turn every `period`.
    pub(crate) fn wait(&mut self, ticks: u64, period: u64, recycled: usize) {
        let (period, total) = (u128::from(period.max(1)), u128::from(self.ticks) + u128::from(ticks));
        self.turn_times(total / period, recycled);
        self.ticks = (total % period) as u64;
    }

    /// Lets arrivals pass without keys, in a ring whose newest generation is followed by another before it gets more than
    /// `capacity` keys.
    pub(crate) fn idle(&mut self, arrivals: u64, capacity: u64) {
        let (capacity, total) = (u128::from(capacity.max(1)), u128::from(self.keys(0)) + u128::from(arrivals));
        let turns = total.saturating_sub(1) / capacity;
        self.turn_times(turns, 0);
        self.count(0, (total - turns * capacity) as u64);
        // Those that were the newest in between were full when they were followed.
        let full = turns.min(self.len() as u128 - 1) as usize;
        (1..=full).for_each(|role| self.count(role, capacity as u64));
    }

    /// Sets the number of keys of the generation in this role.
    pub(crate) fn count(&mut self, role: usize, keys: u64) {
        let at = self.at(role);
        self.generations[at].keys = keys;
    }

    pub(crate) fn bits(&self) -> u64 {
        bits(self.len() as u64, self.places().counters())
    }

    /// The state of a filter of this ring whose rate is now `fpr`.
    pub(crate) fn stats(&self, items: u64, fpr: f64) -> Stats {
        let (m, k) = (self.places().counters(), self.places().hashes());
        let (mut ones, mut mean, mut variance) = (0, 0.0, 0.0);
        for generation in &self.generations {
            ones += generation.ones;
            mean += spread::ones(m, generation.keys, k);
            variance += spread::ones_variance(m, generation.keys, k);
        }
        let all = m as f64 * self.len() as f64;
        Stats {
            items,
            bits: self.bits(),
            hashes: k,
            fill: Some((ones as f64 / all).min(1.0)),
            fpr: Some(fpr.clamp(0.0, 1.0)),
            honest_fill: Some(((mean + 8.0 * variance.sqrt()) / all).min(1.0)),
        }
    }

    /// The bits that prefetching can reach.
    #[inline]
    pub(crate) fn reach(&self) -> u64 {
        self.bits()
    }

    /// Prefetches the places of a digest in the generation of this role.
    #[inline]
    pub(crate) fn prefetch(&self, role: usize, digest: Digest) {
        self.generations[self.at(role)].array.prefetch(digest);
    }

    /// State: u8 newest, u8 recycled, u64 turns, u64 ticks, u64 sweep; for each generation u64 keys, u64 ones. Stores: the bits of
    /// each generation; the map of stale lines.
    pub(crate) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u8(self.newest as u8);
        state.u8(self.recycled as u8);
        for number in [self.turns, self.ticks, self.sweep] {
            state.u64(number);
        }
        self.generations.iter().for_each(|generation| {
            state.u64(generation.keys);
            state.u64(generation.ones);
        });
        self.generations.iter().for_each(|generation| encoder.bits(&generation.array.bits));
        encoder.bits(&self.stale);
    }

    /// Reads a ring of `count` generations, none of which has more than `most` keys.
    pub(crate) fn decode(decoder: &mut Decoder<'_>, count: usize, places: Places, most: u64) -> Result<Self> {
        let state = decoder.state();
        let [newest, recycled] = [usize::from(state.u8()?), usize::from(state.u8()?)];
        let [turns, ticks, sweep] = [state.u64()?, state.u64()?, state.u64()?];
        if newest >= count || recycled >= count {
            return Err(Error::corrupt("a role", format!("below {count}"), newest.max(recycled)));
        }
        let numbers = (0..count).map(|_| Ok((state.u64()?, state.u64()?))).collect::<Result<Vec<_>>>()?;
        let mut generations = Vec::new();
        for (keys, ones) in numbers {
            if keys > most || ones > places.counters() {
                let expected = format!("at most {most}, with at most {} ones", places.counters());
                return Err(Error::corrupt("keys of a generation", expected, format!("{keys} with {ones}")));
            }
            let array = BitArray { places, bits: decoder.bits(places.counters())? };
            generations.push(Generation { array, keys, ones });
        }
        let stale = decoder.bits(places.counters().div_ceil(LINE))?;
        let stale_lines = stale.count_ones();
        let ring = Ring { generations, newest, turns, ticks, recycled, stale, stale_lines, sweep };
        if decoder.reads_stores() {
            ring.check()?;
        }
        Ok(ring)
    }

    /// The numbers are those of the bits, and nothing is stale that the sweep has passed.
    fn check(&self) -> Result<()> {
        for (at, generation) in self.generations.iter().enumerate() {
            let bits = &generation.array.bits;
            let stale = |line: u64| bits.count_ones_in(line * LINE, (line * LINE + LINE).min(bits.len()));
            let hidden: u64 = if at == self.recycled { self.stale.ones().map(stale).sum() } else { 0 };
            let found = bits.count_ones() - hidden;
            if found != generation.ones {
                return Err(Error::corrupt("ones of a generation", generation.ones, found));
            }
        }
        let passed = self.stale.count_ones_in(0, self.sweep.min(self.stale.len()));
        if self.sweep > self.stale.len() || passed > 0 {
            return Err(Error::corrupt("the sweep", "no stale line behind it", self.sweep));
        }
        Ok(())
    }
}

#[cfg(test)]
impl Ring {
    /// The bits of the generation in this role as they read.
    pub(crate) fn image(&self, role: usize) -> BitStore {
        let at = self.at(role);
        let mut bits = self.generations[at].array.bits.clone();
        if at == self.recycled {
            self.stale.ones().for_each(|line| bits.clear_run(line * LINE, LINE));
        }
        bits
    }
}
