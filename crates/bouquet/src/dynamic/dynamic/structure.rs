//! The facts of the kind, its state and its frames.

use super::settings::{Design, PARAMETERS};
use super::{Dynamic, Insertion};
use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Hashing, MAX_HASHES, Positions};
use crate::kind::{Config, ErrorClass, Facts, Plan, Rates, Stats, Structure, Text};
use crate::parts::equal_components::Cells;
use crate::theory::dynamic::Shape;
use crate::theory::standard;

const FACTS: Facts = Facts {
    id: "dynamic",
    number: 101,
    aliases: &["DBF", "dynamic-bloom"],
    family: "dynamic",
    text: Text::new(include_str!("../dynamic.md")),
    errors: &[ErrorClass::FalsePositive, ErrorClass::Undeletable],
    note: NoteType::None,
    parameters: PARAMETERS,
};

/// No chain lives so long that it numbers more components; a frame that says so would make the next number overflow.
pub(super) const MOST_NUMBERS: u64 = 1 << 62;

/// The expected rate of full components and one with the rest of `items` keys. (3) with the rate of finite filters.
fn rate_of_stored(shape: &Shape, items: u64) -> f64 {
    let rate = |n: u64| standard::expected_rate(shape.bits, n, shape.hashes);
    let full = items / shape.capacity;
    // The logarithm of a product of as many factors as there are full components.
    // None of them is no factor, even where one would be zero.
    let of_full = if full == 0 { 0.0 } else { full as f64 * (-rate(shape.capacity)).ln_1p() };
    let log = of_full + (-rate(items % shape.capacity)).ln_1p();
    (-log.exp_m1()).clamp(0.0, 1.0)
}

/// How many of so many distinct keys are stored, when from `improved_from` on those are skipped that seem present. To store
/// one more takes 1 / (1 - rate) arrivals, with the rate of that moment.
fn stored(shape: &Shape, improved_from: u64, items: u64) -> u64 {
    /// Pieces of a component in which the rate is taken as constant.
    const STEPS: u64 = 64;
    if items <= improved_from {
        return items;
    }
    let step = (shape.capacity / STEPS).max(1);
    let (mut stored, mut arrivals) = (improved_from, improved_from as f64);
    // A chain has at most so many components.
    let most = shape.capacity.saturating_mul(crate::codec::MAX_SECTIONS as u64);
    while stored < most {
        let accepted = 1.0 - shape.rate(stored + step / 2);
        let left = (items as f64 - arrivals) * accepted;
        if left <= step as f64 {
            return stored + left.max(0.0) as u64;
        }
        arrivals += step as f64 / accepted;
        stored += step;
    }
    stored
}

impl Structure for Dynamic {
    const FACTS: Facts = FACTS;

    fn plan(config: &Config) -> Result<Plan> {
        let design = Design::new(config)?;
        let items = config.count("items");
        let components = design.shape.components(items.unwrap_or(1));
        let fpr = items.map(|items| rate_of_stored(&design.shape, items));
        Ok(Plan { bits: design.store_bits(components)?, hashes: design.shape.hashes, items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        self.config.clone().hashed(self.hashing.clone())
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let cells = self.chain.components();
        let used = cells.used();
        let (fill, honest_fill) = cells.fill(&used, self.chain.counts());
        Stats {
            items: self.items(),
            bits: cells.bits(),
            hashes: self.design.shape.hashes,
            fill: Some(fill),
            fpr: Some(self.design.shape.rate_of_used(&used)),
            honest_fill: Some(honest_fill),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let stored = match self.design.insertion {
            Insertion::Plain => items,
            Insertion::Auto | Insertion::Improved => stored(&self.design.shape, self.improved_from, items),
        };
        Rates { false_positive: Some(rate_of_stored(&self.design.shape, stored)), ..Rates::default() }
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u32(self.numbers.len() as u32);
        state.u64(self.next_number);
        for (number, items) in self.numbers.iter().zip(self.chain.counts()) {
            state.u64(*number);
            state.u64(*items);
        }
        state.u32(self.waiting.len() as u32);
        for positions in &self.waiting {
            state.u8(positions.len() as u8);
            positions.iter().for_each(|&position| state.u64(position));
        }
        self.chain.components().encode(encoder);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let design = Design::new(decoder.config())?;
        let state = decoder.state();
        let (count, next_number) = (state.u32()? as usize, state.u64()?);
        if next_number > MOST_NUMBERS {
            return Err(Error::corrupt("number of the next component", format!("at most {MOST_NUMBERS}"), next_number));
        }
        let (mut numbers, mut counts) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (number, items) = (state.u64()?, state.u64()?);
            let expected = |from: u64| format!("ascending from {from} and below {next_number}");
            let least = numbers.last().map_or(0, |last: &u64| last + 1);
            if number < least || number >= next_number {
                return Err(Error::corrupt("number of a component", expected(least), number));
            }
            if items > design.shape.capacity {
                let expected = format!("at most {}", design.shape.capacity);
                return Err(Error::corrupt("keys in a component", expected, items));
            }
            numbers.push(number);
            counts.push(items);
        }
        let waiting = decode_waiting(decoder, &design)?;
        let cells = Cells::decode(decoder, count, design.shape, design.arrangement)?;
        let mut filter = Self::with_parts(&decoder.config().clone(), design, cells, counts, numbers, next_number)?;
        filter.waiting = waiting;
        Ok(filter)
    }
}

fn decode_waiting(decoder: &mut Decoder<'_>, design: &Design) -> Result<Vec<Positions>> {
    let state = decoder.state();
    let count = state.u32()? as usize;
    if count > design.retry || count > 0 && !design.arrangement.counters {
        return Err(Error::corrupt("removals that wait", format!("at most {}", design.retry), count));
    }
    let mut waiting = Vec::new();
    for _ in 0..count {
        let len = state.u8()?;
        let positions = (0..len).map(|_| state.u64()).collect::<Result<Vec<_>>>()?;
        let ascending = positions.windows(2).all(|pair| pair[0] < pair[1]);
        if u32::from(len) > MAX_HASHES || !ascending {
            let expected = format!("up to {MAX_HASHES}, ascending");
            return Err(Error::corrupt("positions of a removal", expected, format!("{positions:?}")));
        }
        waiting.push(positions.into_iter().collect());
    }
    Ok(waiting)
}
