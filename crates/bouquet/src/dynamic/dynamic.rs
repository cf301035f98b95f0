#![doc = include_str!("dynamic.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder, MAX_SECTIONS};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, MAX_HASHES, Positions};
use crate::kind::{ErrorClass, Facts, Figure, Kind, Made, Plan, Rates, Setting, Special, Stats, Takes, Text, kind};
use crate::parts::chain::{Chain, Found, Pick};
use crate::parts::equal_components::{Cells, positions};
use crate::shell::{Code, Expand, Filter, Hashed, Mechanism, Put, Take, Test, Unite};
use crate::theory::dynamic::{Shape, chain_limit};

mod builder;
mod delta;
mod methods;
mod settings;

pub use builder::Builder;
pub use delta::{Image, Publisher, Replica};
use settings::Design;
pub(crate) use settings::MOST_COMPONENTS;
pub use settings::{Cardinality, Cell, DynamicSettings, Insertion, Layout};

/// The registry's row.
pub const KIND: Kind = kind!(Dynamic);

/// A dynamic Bloom filter.
///
/// By rate, its components are counters that hold `items` keys each at the rate `fpr`: with the first of them alone it is
/// a counting filter; every further one adds its rate. A union has the components of both filters, united as far as
/// their keys fit: counters add up, bits are joined by OR. With `gamma` a union beyond it is refused.
///
/// ```
/// use bouquet::dynamic::dynamic::Dynamic;
/// let mut filter = Dynamic::with_rate(100, 0.001)?;
/// for key in 0..1_000u32 {
///     filter.insert(&key)?;
/// }
/// assert_eq!(filter.components(), 10);
/// filter.remove(&77u32)?;
/// assert!((0..1_000u32).filter(|key| filter.contains(key)).count() >= 999);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Dynamic = Filter<Chained>;

/// What became of a removal.
///
/// ```
/// use bouquet::dynamic::dynamic::{Dynamic, Removal};
/// let mut filter = Dynamic::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// assert_eq!([filter.take_out("rose")?, filter.take_out("rose")?], [Removal::Removed, Removal::NotFound]);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// One occurrence is out.
    Removed,
    /// The key is certainly absent.
    NotFound,
    /// Several components match: nothing was changed, but the refusal is counted.
    Ambiguous,
    /// Several components match; the removal waits until one of them alone does (with the setting `retry`).
    Waiting,
}

/// No chain lives so long that it numbers more components; a frame that says so would make the next number overflow.
const MOST_NUMBERS: u64 = 1 << 62;

/// A chain of equal components that share the positions of a key.
#[derive(Clone, Debug)]
pub struct Chained {
    design: Design,
    chain: Chain<Cells>,
    /// A number for each component that it keeps for life, ascending: how nodes tell them apart.
    numbers: Vec<u64>,
    /// The number of the next component.
    next_number: u64,
    /// Removals that several components matched.
    waiting: Vec<Positions>,
    /// Removals that were refused because several components matched.
    ambiguous: u64,
    /// The keys from which on only those are inserted that seem absent.
    improved_from: u64,
    /// The components that keep to `gamma` even if all are full.
    within_gamma: u64,
}

/// What was refused is no part of the content.
impl PartialEq for Chained {
    fn eq(&self, other: &Self) -> bool {
        self.design == other.design
            && self.chain == other.chain
            && self.numbers == other.numbers
            && self.next_number == other.next_number
            && self.waiting == other.waiting
    }
}

impl Chained {
    fn of(design: Design, cells: Cells, items: Vec<u64>, numbers: Vec<u64>, next_number: u64) -> Result<Self> {
        let chain = Chain::with_items(cells, items).ok_or_else(|| {
            Error::corrupt("number of components", "at least 1, each with its number of keys", "another")
        })?;
        let improved_from = match design.insertion {
            _ if design.arrangement.counters => u64::MAX,
            Insertion::Auto => design.shape.improved_from(),
            Insertion::Plain => u64::MAX,
            Insertion::Improved => 0,
        };
        let within_gamma = design.gamma.map_or(u64::MAX, |gamma| chain_limit(design.shape.full_rate(), gamma));
        let (waiting, ambiguous) = (Vec::new(), 0);
        Ok(Chained { design, chain, numbers, next_number, waiting, ambiguous, improved_from, within_gamma })
    }

    #[inline]
    fn probe(&self, digest: Digest) -> Positions {
        positions(&self.design.shape, digest)
    }

    /// Puts a key in; `present` tells whether it seems present, if that is known.
    #[inline]
    fn add(&mut self, probe: &Positions, present: Option<bool>) -> Result<()> {
        if self.improved_from < u64::MAX
            && self.chain.items() >= self.improved_from
            && present.unwrap_or_else(|| self.chain.contains(probe))
        {
            return Ok(());
        }
        if self.forget_waiting(probe) {
            return Ok(());
        }
        let chosen = self.first_with_room();
        self.check_gamma(chosen)?;
        let index = match chosen {
            Some(index) => index,
            None => self.open()?,
        };
        self.chain.add(index, probe);
        Ok(())
    }

    /// First fit does not look at the key.
    #[inline]
    fn first_with_room(&self) -> Option<usize> {
        Pick::First.choose(&self.chain, Digest { h1: 0, h2: 0 })
    }

    /// A key that comes back while its removal waits is in already.
    fn forget_waiting(&mut self, probe: &Positions) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        let mut distinct = *probe;
        distinct.distinct();
        let found = self.waiting.iter().position(|waiting| **waiting == *distinct);
        found.map(|index| self.waiting.swap_remove(index)).is_some()
    }

    fn open(&mut self) -> Result<usize> {
        self.check_numbers(1)?;
        let index = self.chain.append(())?;
        self.numbers.push(self.next_number);
        self.next_number += 1;
        Ok(index)
    }

    /// Refuses components that a frame could not number.
    fn check_numbers(&self, more: usize) -> Result<()> {
        if self.next_number.saturating_add(more as u64) <= MOST_NUMBERS {
            return Ok(());
        }
        Err(Error::Full {
            what: format!("the next component would have number {}, the last possible one", self.next_number),
            remedy: "build a new filter, whose components are numbered from 0".into(),
        })
    }

    /// Whether one more key would still keep the rate within `gamma`.
    fn check_gamma(&self, chosen: Option<usize>) -> Result<()> {
        let Some(gamma) = self.design.gamma else { return Ok(()) };
        if (self.numbers.len() + usize::from(chosen.is_none())) as u64 <= self.within_gamma {
            return Ok(());
        }
        let more = |(index, &items): (usize, &u64)| items + u64::from(chosen == Some(index));
        let counts = self.chain.counts().iter().enumerate().map(more);
        self.check_rate(gamma, counts.chain(chosen.is_none().then_some(1)))
    }

    fn check_rate(&self, gamma: f64, counts: impl Iterator<Item = u64>) -> Result<()> {
        let rate = self.design.shape.rate_of(counts);
        if rate <= gamma {
            return Ok(());
        }
        Err(Error::Full {
            what: format!("the false-positive rate would be {rate:.6}, above `gamma`"),
            remedy: format!("rebuild the filter with `items` at least {}", self.rebuilt_items()),
        })
    }

    /// The keys that a new representation is made for: twice those that are in.
    fn rebuilt_items(&self) -> u64 {
        self.chain.items().max(self.design.shape.capacity).saturating_mul(2)
    }

    fn remove(&mut self, probe: &Positions) -> Result<Removal> {
        if !self.design.arrangement.counters {
            return Err(Error::Unsupported {
                kind: "dynamic with components=bits".into(),
                verb: "remove".into(),
                able: "dynamic with components=counters, counting".into(),
            });
        }
        match self.chain.take_out(probe) {
            Found::Nowhere => Ok(Removal::NotFound),
            Found::Often if self.waiting.len() < self.design.retry => {
                let mut distinct = *probe;
                distinct.distinct();
                self.waiting.push(distinct);
                Ok(Removal::Waiting)
            }
            Found::Often => {
                self.ambiguous = self.ambiguous.saturating_add(1);
                Ok(Removal::Ambiguous)
            }
            Found::Once(_) => {
                self.settle()?;
                Ok(Removal::Removed)
            }
        }
    }

    /// Unites components whose keys fit in one and tries the removals that wait, until neither changes anything.
    fn settle(&mut self) -> Result<()> {
        loop {
            while let Some(dropped) = self.chain.unite()? {
                self.numbers.remove(dropped);
            }
            let mut waiting = std::mem::take(&mut self.waiting);
            let before = waiting.len();
            waiting.retain(|probe| self.chain.take_out(probe) == Found::Often);
            self.waiting = waiting;
            if self.waiting.len() == before {
                return Ok(());
            }
        }
    }

    fn items(&self) -> u64 {
        self.chain.items().saturating_sub(self.waiting.len() as u64)
    }
}

/// The removals that wait, and the number of those that were refused.
fn decode_removals(design: &Design, decoder: &mut Decoder<'_>) -> Result<(Vec<Positions>, u64)> {
    let state = decoder.state();
    let (count, retry, counters) = (state.u32()? as usize, design.retry, design.arrangement.counters);
    if count > retry || count > 0 && !counters {
        return Err(Error::corrupt("removals that wait", format!("at most {retry}"), count));
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
    if state.is_empty() {
        return Ok((waiting, 0));
    }
    let ambiguous = state.u64()?;
    if ambiguous == 0 || !counters {
        let expected = "left out, or at least 1 with counters";
        return Err(Error::corrupt("number of ambiguous removals", expected, ambiguous));
    }
    Ok((waiting, ambiguous))
}

impl Mechanism for Chained {
    const FACTS: Facts = Facts {
        id: "dynamic",
        number: 101,
        aliases: &["DBF", "dynamic-bloom"],
        family: "dynamic",
        text: Text::new(include_str!("dynamic.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::Undeletable],
        note: NoteType::None,
        parameters: &[],
    };

    const OWN_ITEMS: bool = true;

    const SPECIALS: &'static [Special<Dynamic>] = &[Special::ask(
        "bits",
        Takes::Nothing,
        "the copy for other nodes, with bits in the place of counters; `bouquet delta` between two of them is an update",
        |filter, _| Ok(Made::reply(filter.bit_image()?)),
    )];

    type Settings = DynamicSettings;

    fn resolve(asked: &DynamicSettings) -> Result<DynamicSettings> {
        let Design { shape: Shape { bits, hashes, capacity }, arrangement, .. } = Design::new(asked)?;
        Ok(DynamicSettings {
            bits: Some(bits),
            hashes: Some(hashes),
            capacity: Some(capacity),
            components: Some(if arrangement.counters { Cell::Counters } else { Cell::Bits }),
            ..asked.clone()
        })
    }

    fn plan(settings: &DynamicSettings) -> Result<Plan> {
        let design = Design::new(settings)?;
        let components = design.shape.components(settings.items.unwrap_or(1));
        let fpr = settings.items.map(|items| design.shape.finite_rate(items));
        let bits = design.store_bits(components)?;
        Ok(Plan { bits, hashes: design.shape.hashes, items: settings.items, fpr })
    }

    fn empty(settings: &DynamicSettings, _: &Hashing) -> Result<Self> {
        let design = Design::new(settings)?;
        Chained::of(design, Cells::zeroed(1, design.shape, design.arrangement)?, vec![0], vec![0], 1)
    }

    fn domain(settings: &DynamicSettings) -> String {
        format!("dynamic {} {}", settings.bits.unwrap_or(0), settings.hashes.unwrap_or(0))
    }

    /// Insertions less removals, those that wait included: keys that are counted as removed may still be in.
    fn items(&self, _: u64) -> u64 {
        self.items()
    }

    fn stats(&self, items: u64) -> Stats {
        let cells = self.chain.components();
        let used = cells.used();
        let (fill, honest_fill) = cells.fill(&used, self.chain.counts());
        Stats {
            items,
            bits: cells.bits(),
            hashes: self.design.shape.hashes,
            fill: Some(fill),
            fpr: Some(self.design.shape.rate_of_used(&used)),
            honest_fill: Some(honest_fill),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let counters = self.design.arrangement.counters;
        let count = |name, count: usize| Some(Figure { name, value: Setting::Count(count as u64) });
        let waiting = (self.design.retry > 0).then_some(self.waiting.len());
        let ambiguous = Figure { name: "ambiguous removals", value: Setting::Count(self.ambiguous) };
        let figures = [
            count("components", self.numbers.len()),
            waiting.and_then(|waiting| count("waiting removals", waiting)),
            counters.then_some(ambiguous),
        ];
        figures.into_iter().flatten().collect()
    }

    fn expected(&self, items: u64) -> Rates {
        let shape = &self.design.shape;
        let stored = shape.stored(self.improved_from, items, MAX_SECTIONS as u64);
        Rates { false_positive: Some(shape.finite_rate(stored)), ..Rates::default() }
    }

    /// State: the number of components (4 bytes), the number of the next (8), and of each its number (8) and items (8);
    /// the number of removals that wait (4), and of each its positions; the number of ambiguous removals (8) unless it is
    /// 0. Stores: the components, or all of them in slices of bits.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
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
        if self.ambiguous > 0 {
            state.u64(self.ambiguous);
        }
        self.chain.components().encode(encoder);
    }

    fn decode(settings: &DynamicSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let design = Design::new(settings)?;
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
        let (waiting, ambiguous) = decode_removals(&design, decoder)?;
        let cells = Cells::decode(decoder, count, design.shape, design.arrangement)?;
        let chained = Chained::of(design, cells, counts, numbers, next_number)?;
        Ok((Chained { waiting, ambiguous, ..chained }, 0))
    }

    fn reach(&self) -> u64 {
        self.design.shape.bits
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.chain.prefetch(&self.probe(digest));
    }
}

impl Test for Chained {
    /// `false` is certain, unless keys were removed that were never inserted.
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.chain.contains(&self.probe(key.digest))
    }
}

impl Put for Chained {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    /// An error means that another component was needed and not allowed (`gamma`) or not to be had. Nothing is lost.
    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> Result<bool> {
        let probe = self.probe(key.digest);
        let present = self.chain.contains(&probe);
        self.add(&probe, Some(present))?;
        Ok(!present)
    }
}

impl Take for Chained {
    type Note<'a> = ();

    /// A key that several components match is [`Error::Ambiguous`], unless its removal may wait.
    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        match self.remove(&self.probe(key.digest))? {
            Removal::Removed | Removal::Waiting => Ok(()),
            Removal::NotFound => Err(Error::NotPresent),
            Removal::Ambiguous => Err(Error::Ambiguous { what: "several components match the key".into() }),
        }
    }
}

impl Expand for Chained {
    fn capacity(&self) -> u64 {
        self.chain.capacity()
    }

    fn expand(&mut self) -> Result<()> {
        self.open().map(drop)
    }
}

impl Unite for Chained {
    fn unite(&mut self, other: &Self) -> Result<()> {
        let waiting = self.waiting.len() + other.waiting.len();
        if waiting > self.design.retry {
            return Err(Error::Full {
                what: format!("{waiting} removals would wait"),
                remedy: "build filters with a larger `retry`".into(),
            });
        }
        let mut union = self.clone();
        union.chain.concatenate(&other.chain, !self.design.arrangement.counters)?;
        union.waiting.extend_from_slice(&other.waiting);
        union.ambiguous = self.ambiguous.saturating_add(other.ambiguous);
        // Own components keep their numbers, unless they were empty and gave way; those taken over get new ones.
        if union.chain != self.chain {
            let used = self.numbers.iter().zip(self.chain.counts()).filter(|(_, items)| **items > 0);
            union.numbers = used.map(|(number, _)| *number).collect();
        }
        union.check_numbers(union.chain.counts().len().saturating_sub(union.numbers.len()))?;
        while union.numbers.len() < union.chain.counts().len() {
            union.numbers.push(union.next_number);
            union.next_number += 1;
        }
        union.settle()?;
        if let Some(gamma) = self.design.gamma {
            self.check_rate(gamma, union.chain.counts().iter().copied())?;
        }
        *self = union;
        Ok(())
    }
}

impl Code for Chained {
    fn entropy_bits(&self) -> f64 {
        self.chain.components().entropy_bits()
    }
}

#[cfg(test)]
mod tests;
