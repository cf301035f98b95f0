#![doc = include_str!("temporal_counting.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, Positions, probes};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Reply, Special, Stats, Takes, Text, common, kind};
use crate::parts::aging_cells::{AgingCells, Lives};
use crate::parts::counter_array::{COUNTERS, CounterStore};
use crate::shell::{
    Age, ByRate, Choice, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, Unite, choices, fields,
};
use crate::theory::{MAX_BITS, Size, spread, standard};

/// The registry's row.
pub const KIND: Kind = kind!(TemporalCounting);

/// A temporal counting Bloom filter: keys that live for a number of ticks.
///
/// ```
/// use bouquet::TemporalCounting;
/// let mut interests = TemporalCounting::with_rate(1_000, 0.01)?; // keys live for 15 ticks
/// interests.insert("roses");
/// interests.advance(14);
/// assert!(interests.contains("roses") && interests.strength("roses") == 1);
/// interests.advance(1);
/// assert!(!interests.contains("roses"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type TemporalCounting = Filter<Fleeting>;

const ITEMS: Parameter = Parameter { help: "distinct keys that are alive at the same time", ..common::ITEMS };
const STRENGTH: Parameter =
    Parameter::count("strength", "ICV, what the counters of a key are set to", 1, 1 << 40).or(15);
const DECAY: Parameter = Parameter::count("decay", "DF, what a tick takes from every counter", 1, 1 << 40).or(1);
const MAX: Parameter = Parameter::count(
    "max",
    "the largest value of a counter; the strength when not given, more where merges add up",
    1,
    1 << 40,
);
const RULE: Parameter =
    Parameter::choice("rule", "what a counter in use becomes: the larger value, or what it was", Rule::WORDS);

/// What a key does to a counter in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The larger of its value and the key's strength.
    Max,
    /// It stays as it is.
    Keep,
}

choices!(Rule { Max = "max", Keep = "keep" });

/// The settings of a temporal counting filter.
///
/// ```
/// use bouquet::{TemporalCounting, TemporalCountingSettings};
/// let hour = TemporalCountingSettings { items: Some(1_000), strength: Some(3_600), ..Default::default() };
/// assert_eq!(TemporalCounting::with(hour)?.settings().max, Some(3_600));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemporalCountingSettings {
    /// Distinct keys that are alive at the same time.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// m, the number of counters.
    pub counters: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// ICV, what the counters of a key are set to.
    pub strength: Option<u64>,
    /// DF, what a tick takes from every counter.
    pub decay: Option<u64>,
    /// The largest value of a counter.
    pub max: Option<u64>,
    /// What a key does to a counter in use.
    pub rule: Option<Rule>,
}

impl Settings for TemporalCountingSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        fpr: common::FPR,
        counters: COUNTERS,
        hashes: common::HASHES,
        strength: STRENGTH,
        decay: DECAY,
        max: MAX,
        rule: RULE,
    ];
}

impl ByRate for TemporalCountingSettings {}

/// The most ticks that a frame may tell of: more can never pass.
const MOST: u128 = 1 << 80;

/// Counters that lose the same with every tick: as cells that expire when the sum of what is lost has grown by their value.
#[derive(Clone, Debug, PartialEq)]
pub struct Fleeting {
    cells: AgingCells,
    hashes: u32,
    strength: u64,
    decay: u64,
    rule: Rule,
    /// Ticks so far, and what they took from every counter, wrapped.
    ticks: u128,
    lost: u64,
}

/// The number of counters and positions, and how counters live.
fn shape(settings: &TemporalCountingSettings) -> Result<(Size, Lives)> {
    let size = common::size_of(settings.items, settings.fpr, settings.counters, settings.hashes, COUNTERS.name)?;
    let strength: u64 = STRENGTH.need(settings.strength)?;
    let decay: u64 = DECAY.need(settings.decay)?;
    let longest = settings.max.unwrap_or(strength);
    if strength > longest {
        return Err(Error::parameter("strength", format!("at most the largest value, {longest}"), strength));
    }
    // As much slack as a counter has values doubles the codes, which costs a bit; a tick then visits decay/longest of the counters.
    let slack = longest.max(decay);
    let lives = Lives { longest, slack, pass: slack / decay };
    let bits = u128::from(size.bits) * u128::from(lives.width());
    if bits > u128::from(MAX_BITS) {
        return Err(Error::TooLarge { what: "the counters".into(), bytes: bits / 8 });
    }
    Ok((size, lives))
}

impl Mechanism for Fleeting {
    const FACTS: Facts = Facts {
        id: "temporal-counting",
        number: 134,
        aliases: &["tcbf", "temporal-counting-bloom"],
        family: "decay",
        text: Text::new(include_str!("temporal_counting.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const SPECIALS: &'static [Special<TemporalCounting>] = &[
        Special::ask("strength", Takes::Key, "what is left of a key: 0 when it is gone", |filter, key| {
            Ok(filter.strength(key.key()?).into())
        }),
        Special::ask(
            "preference",
            Takes::Pair,
            "a key's strength here less its strength elsewhere, which follows the TAB; unknown where nobody has it",
            |filter, pair| {
                let (item, elsewhere) = pair.numbered()?;
                let here = filter.strength(item.key);
                Ok(match (here, elsewhere) {
                    (0, 0) => Reply::Unknown,
                    _ => Reply::Integer(i128::from(here) - i128::from(elsewhere)),
                })
            },
        ),
        Special::act("insert-at", Takes::Pair, "inserts a key with the strength behind the TAB", |filter, pair| {
            let (item, strength) = pair.numbered()?;
            Ok(Reply::Truth(filter.insert_at(item.key, strength)?))
        }),
        Special::act(
            "insert-by-merge",
            Takes::Key,
            "merges a fresh filter of the key in: in no mode it loses life to others",
            |filter, key| Ok(Reply::Truth(filter.insert_by_merge(key.key()?))),
        ),
        Special::act(
            "join",
            Takes::Filter,
            "the larger of both filters' counters, at the later tick",
            |filter, other| {
                filter.join(other.filter::<TemporalCounting>()?)?;
                Ok(Reply::Done)
            },
        ),
        Special::act(
            "reinforce",
            Takes::Filter,
            "the sum of both filters' counters, at the later tick",
            |filter, other| {
                filter.reinforce(other.filter::<TemporalCounting>()?)?;
                Ok(Reply::Done)
            },
        ),
    ];

    type Settings = TemporalCountingSettings;

    fn resolve(asked: &TemporalCountingSettings) -> Result<TemporalCountingSettings> {
        let (size, lives) = shape(asked)?;
        Ok(TemporalCountingSettings {
            counters: Some(size.bits),
            hashes: Some(size.hashes),
            strength: Some(STRENGTH.need(asked.strength)?),
            decay: Some(DECAY.need(asked.decay)?),
            max: Some(lives.longest),
            rule: Some(RULE.need(asked.rule)?),
            ..asked.clone()
        })
    }

    fn plan(settings: &TemporalCountingSettings) -> Result<Plan> {
        let ((size, lives), items) = (shape(settings)?, settings.items);
        let fpr = items.map(|items| standard::expected_rate(size.bits, items, size.hashes));
        Ok(Plan { bits: size.bits * u64::from(lives.width()), hashes: size.hashes, items, fpr })
    }

    fn empty(settings: &TemporalCountingSettings, _: &Hashing) -> Result<Self> {
        let (size, lives) = shape(settings)?;
        Self::of(settings, AgingCells::zeroed(size.bits, lives)?, size.hashes, 0)
    }

    fn domain(settings: &TemporalCountingSettings) -> String {
        format!("temporal-counting {} {}", settings.counters.unwrap_or(0), settings.hashes.unwrap_or(0))
    }

    /// Where a counter in use keeps its life, keys that come later may go with it.
    fn errors(&self) -> &'static [ErrorClass] {
        match self.rule {
            Rule::Max => Self::FACTS.errors,
            Rule::Keep => &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        }
    }

    fn stats(&self, items: u64) -> Stats {
        let (m, k) = (self.cells.cells().len(), self.hashes);
        let fill = self.cells.alive(|_| self.lost) as f64 / m as f64;
        let honest = spread::ones(m, items, k) + 8.0 * spread::ones_variance(m, items, k).sqrt();
        Stats {
            items,
            bits: self.cells.cells().bits(),
            hashes: k,
            fill: Some(fill),
            fpr: Some(fill.powi(k as i32)),
            honest_fill: Some((honest / m as f64).min(1.0)),
        }
    }

    /// Time does not pass by itself: all keys are alive.
    fn expected(&self, items: u64) -> Rates {
        let rate = standard::expected_rate(self.cells.cells().len(), items, self.hashes);
        Rates { false_positive: Some(rate), false_negative: Some(0.0), ..Rates::default() }
    }

    /// State: u64 items, u64 the low half and u64 the high half of the ticks. Store: the counters.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        for number in [items, self.ticks as u64, (self.ticks >> 64) as u64] {
            encoder.state().u64(number);
        }
        self.cells.encode(encoder);
    }

    fn decode(settings: &TemporalCountingSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (size, lives) = shape(settings)?;
        let state = decoder.state();
        let [items, low, high] = [state.u64()?, state.u64()?, state.u64()?];
        let ticks = u128::from(high) << 64 | u128::from(low);
        if ticks > MOST {
            return Err(Error::corrupt("the clock", format!("at most {MOST}"), ticks));
        }
        let cells = AgingCells::decode(decoder, size.bits, lives)?;
        Ok((Self::of(settings, cells, size.hashes, ticks)?, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.cells.cells().bits()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.places(digest).for_each(|place| self.cells.cells().prefetch(place));
    }
}

impl Test for Fleeting {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.places(key.digest).all(|place| self.cells.left(place, self.lost) > 0)
    }
}

impl Put for Fleeting {
    type Note<'a> = ();
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        self.put_with(key.digest, self.strength, self.rule)
    }
}

impl Age for Fleeting {
    fn age(&mut self, ticks: u64) {
        let (from, to, decay) = (self.ticks, (self.ticks + u128::from(ticks)).min(MOST), u128::from(self.decay));
        self.cells.sweep(from, to, |_, ticks| ticks * decay);
        self.ticks = to;
        self.lost = self.cells.wrapped(to * decay);
    }
}

impl Unite for Fleeting {
    /// The larger of both counters. Filters of different ticks are refused: what one holds may be gone at the tick of the other.
    fn unite(&mut self, other: &Self) -> Result<()> {
        crate::error::same("ticks", self.ticks, other.ticks)?;
        self.combine(other, u64::max);
        Ok(())
    }
}

impl Fleeting {
    fn of(settings: &TemporalCountingSettings, cells: AgingCells, hashes: u32, ticks: u128) -> Result<Self> {
        let decay = DECAY.need(settings.decay)?;
        let lost = cells.wrapped(ticks * u128::from(decay));
        let (strength, rule) = (STRENGTH.need(settings.strength)?, RULE.need(settings.rule)?);
        Ok(Fleeting { cells, hashes, strength, decay, rule, ticks, lost })
    }

    #[inline]
    fn places(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        probes(digest, self.cells.cells().len(), self.hashes)
    }

    /// Puts a key in with this strength and says whether it was new.
    #[inline]
    fn put_with(&mut self, digest: Digest, strength: u64, rule: Rule) -> bool {
        let places: Positions = self.places(digest).collect();
        let mut fresh = false;
        let left: Vec<u64> = places.iter().map(|&place| self.cells.left(place, self.lost)).collect();
        for (&place, left) in places.iter().zip(left) {
            fresh |= left == 0;
            let becomes = match rule {
                Rule::Max => left.max(strength),
                Rule::Keep if left > 0 => left,
                Rule::Keep => strength,
            };
            if becomes != left {
                self.cells.give(place, self.lost, becomes);
            }
        }
        fresh
    }

    /// Counter by counter, at the same tick.
    fn combine(&mut self, other: &Self, both: impl Fn(u64, u64) -> u64) {
        for place in 0..self.cells.cells().len() {
            let theirs = other.cells.left(place, other.lost);
            if theirs > 0 {
                let ours = self.cells.left(place, self.lost);
                self.cells.give(place, self.lost, both(ours, theirs));
            }
        }
    }

    /// Combines with another filter after the one that is behind has been brought to the tick of the other.
    fn combine_aged(&mut self, other: &Self, both: impl Fn(u64, u64) -> u64) {
        let behind = |ticks: u128| u64::try_from(ticks).unwrap_or(u64::MAX);
        if self.ticks < other.ticks {
            self.age(behind(other.ticks - self.ticks));
        }
        if other.ticks < self.ticks {
            let mut later = other.clone();
            later.age(behind(self.ticks - other.ticks));
            return self.combine(&later, both);
        }
        self.combine(other, both);
    }
}

impl TemporalCounting {
    /// A filter of `counters` counters, `hashes` of which each key has, whose keys live for `strength` ticks.
    ///
    /// ```
    /// use bouquet::TemporalCounting;
    /// let mut filter = TemporalCounting::with_size(10_000, 7, 60)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.strength("rose"), 60);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, hashes: u32, strength: u64) -> Result<Self> {
        let (counters, hashes, strength) = (Some(counters), Some(hashes), Some(strength));
        Self::with(TemporalCountingSettings { counters, hashes, strength, ..Default::default() })
    }

    /// What is left of a key, the least of its counters: 0 when it is gone.
    ///
    /// ```
    /// use bouquet::TemporalCounting;
    /// let mut filter = TemporalCounting::with_rate(100, 0.01)?;
    /// filter.insert("rose");
    /// filter.advance(5);
    /// assert_eq!((filter.strength("rose"), filter.strength("lily")), (10, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn strength<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let Fleeting { cells, lost, .. } = &self.mechanism;
        self.mechanism.places(key.digest(&self.hashing)).map(|place| cells.left(place, *lost)).min().unwrap_or(0)
    }

    /// A key's strength here less its strength in another filter; `None` where nobody has it.
    ///
    /// ```
    /// use bouquet::TemporalCounting;
    /// let mut here = TemporalCounting::with_rate(100, 0.01)?;
    /// let mut there = here.clone();
    /// here.insert_at("rose", 9)?;
    /// there.insert_at("rose", 4)?;
    /// assert_eq!((here.preference(&there, "rose"), here.preference(&there, "lily")), (Some(5), None));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn preference<K: Key + ?Sized>(&self, other: &Self, key: &K) -> Option<i64> {
        let (here, there) = (self.strength(key), other.strength(key));
        (here > 0 || there > 0).then(|| here as i64 - there as i64)
    }

    /// Inserts a key with a strength of its own, from 1 to the largest of a counter, and says whether it was new.
    ///
    /// ```
    /// use bouquet::TemporalCounting;
    /// let mut filter = TemporalCounting::with_rate(100, 0.01)?;
    /// assert!(filter.insert_at("rose", 3)? && filter.strength("rose") == 3);
    /// assert!(filter.insert_at("rose", 1_000).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_at<K: Key + ?Sized>(&mut self, key: &K, strength: u64) -> Result<bool> {
        let most = self.mechanism.cells.lives().longest;
        if !(1..=most).contains(&strength) {
            return Err(Error::Item { expected: format!("a strength of 1 to {most}"), found: strength.to_string() });
        }
        let fresh = self.mechanism.put_with(key.digest(&self.hashing), strength, self.mechanism.rule);
        self.items = self.items.saturating_add(1).min(u64::MAX / 2);
        Ok(fresh)
    }

    /// Merges a fresh filter with this key in, so that it lives in full whatever the rule: how keys come into a filter that has aged.
    ///
    /// ```
    /// use bouquet::{TemporalCounting, TemporalCountingSettings, decay::temporal_counting::Rule};
    /// let settings = TemporalCountingSettings { items: Some(100), rule: Some(Rule::Keep), ..Default::default() };
    /// let mut filter = TemporalCounting::with(settings)?;
    /// filter.insert("rose");
    /// filter.advance(5);
    /// filter.insert("rose");
    /// assert_eq!(filter.strength("rose"), 10, "what is there stays as it is");
    /// filter.insert_by_merge("rose");
    /// assert_eq!(filter.strength("rose"), 15);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_by_merge<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let strength = self.mechanism.strength;
        self.items = self.items.saturating_add(1).min(u64::MAX / 2);
        self.mechanism.put_with(key.digest(&self.hashing), strength, Rule::Max)
    }

    /// The maximum merge at the later tick of both: safe on loops, since merging again changes nothing.
    ///
    /// ```
    /// use bouquet::TemporalCounting;
    /// let mut here = TemporalCounting::with_rate(100, 0.01)?;
    /// let mut there = here.clone();
    /// there.insert("rose");
    /// here.advance(5);
    /// here.join(&there)?;
    /// assert_eq!(here.strength("rose"), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn join(&mut self, other: &Self) -> Result<()> {
        self.combined(other, u64::max)
    }

    /// The additive merge at the later tick of both: strengths add up, to the largest value at most.
    ///
    /// ```
    /// use bouquet::{TemporalCounting, TemporalCountingSettings};
    /// let mut here = TemporalCounting::with(TemporalCountingSettings { items: Some(100), max: Some(100), ..Default::default() })?;
    /// here.insert("rose");
    /// let met = here.clone();
    /// here.reinforce(&met)?;
    /// assert_eq!(here.strength("rose"), 30);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn reinforce(&mut self, other: &Self) -> Result<()> {
        self.combined(other, u64::saturating_add)
    }

    fn combined(&mut self, other: &Self, both: impl Fn(u64, u64) -> u64) -> Result<()> {
        self.comparable(other, Settings::alike)?;
        self.mechanism.combine_aged(&other.mechanism, both);
        self.items = self.items.saturating_add(other.items).min(u64::MAX / 2);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
