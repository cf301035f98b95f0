#![doc = include_str!("conservative_update.md")]

use crate::capability::{Frequent, Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing};
use crate::key::NEAR_BITS;
use crate::kind::{ErrorClass, Facts, Kind, Plan, Rates, Reply, Special, Stats, Takes, Text, kind};
use crate::parts::counter_array::{CounterArray, CounterStore, Placement};
use crate::parts::flow_memory::{Flow, FlowMemory};
use crate::parts::rows::{RowSizes, Rows};
use crate::shell::{Age, Amount, Choice, Filter, Hashed, Mechanism, Put, Rank, Tally};
use crate::store::Counters;
use crate::theory::sketch;

mod settings;
use settings::{COUNTER, MEMORY, MODE, PRESERVE, SHIELD};
pub use settings::{ConservativeUpdateSettings, Counter, Mode, Shield};

/// The registry's row.
pub const KIND: Kind = kind!(ConservativeUpdate);

/// A multistage filter with conservative update.
///
/// ```
/// let mut filter = bouquet::ConservativeUpdate::with_size(1_000, 4)?;
/// filter.add("rose", 5);
/// filter.insert("lily");
/// filter.add("rose", 2);
/// assert_eq!((filter.count("rose").count, filter.count("iris").count), (7, 0));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type ConservativeUpdate = Filter<Stages>;

/// A flow that is watched.
///
/// ```
/// use bouquet::{ConservativeUpdate, ConservativeUpdateSettings, counting::conservative_update::HeavyFlow};
/// let mut filter = ConservativeUpdate::with(ConservativeUpdateSettings { threshold: Some(1000), ..Default::default() })?;
/// filter.add("rose", 600);
/// filter.add("rose", 700);
/// filter.add("lily", 10);
/// assert_eq!(filter.heavy(), [HeavyFlow { key: b"rose".to_vec(), count: 1_300, since_entry: 700 }]);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeavyFlow {
    /// Its key.
    pub key: Vec<u8>,
    /// The upper estimate of its size in this interval.
    pub count: u64,
    /// Its exact size since it is watched, in this interval.
    pub since_entry: u64,
}

/// Stages of counters, and the flows that are watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Stages {
    stages: CounterArray<Counters, Rows>,
    mode: Mode,
    threshold: Option<u64>,
    shield: bool,
    preserve: bool,
    memory: FlowMemory,
    /// What has come in this interval.
    total: u64,
    /// Whether a counter has reached its end in this interval.
    saturated: bool,
}

/// Counters in a stage, stages, and bits of a counter that the settings describe.
fn shape(settings: &ConservativeUpdateSettings) -> Result<(u64, u32, u32)> {
    let ConservativeUpdateSettings { items, fpr, eps, delta, counters: width, stages: rows, .. } = *settings;
    if MODE.need(settings.mode)? == Mode::Serial && settings.threshold.is_none() {
        return Err(Error::parameter("threshold", "given in serial mode", "missing"));
    }
    let bits = COUNTER.need(settings.counter)?.bits();
    let (width, rows) = RowSizes { items, fpr, eps, delta, width, rows }.resolve(bits)?;
    Ok((width, rows, bits))
}

/// Whether filters of these settings have the same counters, changed in the same way.
fn alike(settings: &ConservativeUpdateSettings, other: &ConservativeUpdateSettings) -> Result<()> {
    same("counters", settings.counters, other.counters)?;
    same("stages", settings.stages, other.stages)?;
    same("counter", COUNTER.need(settings.counter)?, COUNTER.need(other.counter)?)?;
    same("mode", MODE.need(settings.mode)?, MODE.need(other.mode)?)
}

impl Stages {
    fn assemble(
        settings: &ConservativeUpdateSettings,
        hashing: &Hashing,
        store: impl FnOnce(u64, u32) -> Result<Counters>,
    ) -> Result<Self> {
        let (width, rows, bits) = shape(settings)?;
        let places = Rows::new(width, rows, hashing.seed())?;
        Ok(Stages {
            stages: CounterArray { store: store(places.counters(), bits)?, places },
            mode: MODE.need(settings.mode)?,
            threshold: settings.threshold,
            shield: SHIELD.need(settings.shield)? == Shield::On,
            preserve: PRESERVE.need(settings.preserve)?,
            memory: FlowMemory::new(MEMORY.need(settings.memory)?),
            total: 0,
            saturated: false,
        })
    }
}

impl Mechanism for Stages {
    const FACTS: Facts = Facts {
        id: "conservative-update",
        number: 67,
        aliases: &["CU", "CU-sketch", "multistage"],
        family: "counting",
        text: Text::new(include_str!("conservative_update.md")),
        errors: &[ErrorClass::OverCount],
        note: NoteType::Amount,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;
    const OWN_ITEMS: bool = true;
    const NEAR: u64 = NEAR_BITS;

    const SPECIALS: &'static [Special<ConservativeUpdate>] = &[
        Special::ask(
            "heavy",
            Takes::Nothing,
            "the flows that are watched, the largest first, with what they had since they are; needs a threshold",
            |filter, _| {
                let row = |flow: HeavyFlow| vec![Reply::Bytes(flow.key), flow.count.into(), flow.since_entry.into()];
                Ok(Reply::Table(&["key", "count", "since"], filter.heavy().into_iter().map(row).collect()))
            },
        ),
        Special::ask(
            "dropped",
            Takes::Nothing,
            "how often a flow that had reached the threshold found the memory full in this interval",
            |filter, _| Ok(filter.dropped().into()),
        ),
        Special::act(
            "add-upper-bound",
            Takes::Filter,
            "takes in another's counters, so that no estimate is below what both have had together",
            |filter, other| filter.merge_upper_bound(other.filter()?).map(|()| Reply::Done),
        ),
    ];

    type Settings = ConservativeUpdateSettings;

    fn resolve(asked: &ConservativeUpdateSettings) -> Result<ConservativeUpdateSettings> {
        let (width, rows, _) = shape(asked)?;
        Ok(ConservativeUpdateSettings { counters: Some(width), stages: Some(rows), ..asked.clone() })
    }

    fn plan(settings: &ConservativeUpdateSettings) -> Result<Plan> {
        let (width, rows, bits) = shape(settings)?;
        Ok(Plan { bits: width * u64::from(rows) * u64::from(bits), hashes: rows, items: settings.items, fpr: None })
    }

    fn empty(settings: &ConservativeUpdateSettings, hashing: &Hashing) -> Result<Self> {
        Self::assemble(settings, hashing, Counters::zeroed)
    }

    fn domain(ConservativeUpdateSettings { counters, stages, .. }: &ConservativeUpdateSettings) -> String {
        format!("conservative-update {} {}", counters.unwrap_or(0), stages.unwrap_or(0))
    }

    fn items(&self, _: u64) -> u64 {
        self.total
    }

    fn stats(&self, items: u64) -> Stats {
        let store = &self.stages.store;
        Stats {
            items,
            bits: store.bits() + self.memory.encoded_len() as u64 * 8,
            hashes: self.stages.places.rows(),
            fill: Some(store.count_nonzero() as f64 / store.len() as f64),
            fpr: None,
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let (width, rows) = (self.stages.places.width(), self.stages.places.rows());
        let over_count = match (self.mode, self.threshold) {
            (Mode::Conservative, None) => Some(sketch::conservative_over_count(width, rows, items)),
            (Mode::Plain, None) => Some(sketch::over_count(width, rows, items)),
            _ => None,
        };
        Rates { over_count, ..Rates::default() }
    }

    /// State: total, dropped flows, 1 if a counter has reached its end. Stores: the counters, stage after stage; with a
    /// threshold the flow memory.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.total);
        encoder.state().u64(self.memory.dropped);
        encoder.state().u8(self.saturated.into());
        encoder.counters(&self.stages.store);
        if self.threshold.is_some() {
            encoder.bytes(self.memory.to_bytes());
        }
    }

    fn decode(settings: &ConservativeUpdateSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let state = decoder.state();
        let (total, dropped, saturated) = (state.u64()?, state.u64()?, state.u8()?);
        if saturated > 1 {
            return Err(Error::corrupt("state", "0 or 1", saturated));
        }
        let hashing = decoder.config().hashing().clone();
        let mut stages = Self::assemble(settings, &hashing, |counters, bits| decoder.counters(counters, bits))?;
        (stages.total, stages.saturated) = (total, saturated == 1);
        stages.memory = match stages.threshold {
            Some(_) => FlowMemory::from_bytes(MEMORY.need(settings.memory)?, dropped, decoder.bytes()?)?,
            None if dropped > 0 => return Err(Error::corrupt("dropped flows", "0 without a threshold", dropped)),
            None => stages.memory,
        };
        Ok((stages, 0))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.stages.reach()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.stages.prefetch(digest);
    }
}

impl Put for Stages {
    type Note<'a> = Amount;
    type Outcome = bool;

    /// Says whether the key certainly had none before in this interval.
    #[inline]
    fn put(&mut self, Hashed { digest, bytes: key }: Hashed<'_>, Amount(amount): Amount) -> bool {
        self.total = self.total.saturating_add(amount);
        let Some(threshold) = self.threshold else {
            let before = self.estimate(digest);
            self.change(digest, before, amount);
            return before == 0;
        };
        if let Some(flow) = self.memory.flows.get_mut(key) {
            flow.since = flow.since.saturating_add(amount);
            if !self.shield {
                let before = self.estimate(digest);
                self.change(digest, before, amount);
            }
            return false;
        }
        let before = self.estimate(digest);
        let flow = Flow { base: before, since: amount, is_new: true };
        let passes = match self.mode {
            Mode::Conservative => flow.total() >= threshold && self.memory.enter(key, flow),
            Mode::Plain => {
                self.change(digest, before, amount);
                flow.total() >= threshold && self.memory.enter(key, flow)
            }
            Mode::Serial => self.change(digest, before, amount) && self.memory.enter(key, flow),
        };
        // A flow that enters leaves the counters unchanged; one that finds no room must stay counted.
        if self.mode == Mode::Conservative && !passes {
            self.change(digest, before, amount);
        }
        before == 0
    }
}

impl Tally for Stages {
    /// The upper estimate of what a key has had in this interval: never less than the truth.
    #[inline]
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        let watched = self.threshold.and_then(|_| self.memory.flows.get(key.bytes)).map(Flow::total);
        Multiplicity { count: watched.unwrap_or_else(|| self.estimate(key.digest)), at_least: self.saturated }
    }
}

impl Rank for Stages {
    /// The flows that are watched: every flow that has reached the threshold in this interval, unless some were dropped, and
    /// perhaps some that have not.
    fn rank(&self) -> Vec<Frequent> {
        let count = |flow: Flow| Multiplicity { count: flow.total(), at_least: self.saturated };
        self.memory.ranked().into_iter().map(|(key, flow)| Frequent { key: key.to_vec(), count: count(flow) }).collect()
    }
}

impl Age for Stages {
    /// Ends this many intervals.
    fn age(&mut self, ticks: u64) {
        // After two nothing is left: what the first preserves has had nothing in the second.
        for _ in 0..ticks.min(2) {
            self.end_interval();
        }
    }
}

impl Stages {
    /// Changes the counters for an occurrence of a key with this estimate; in serial mode says whether it passes the last
    /// stage.
    #[inline]
    fn change(&mut self, digest: Digest, estimate: u64, amount: u64) -> bool {
        self.saturated |= amount > self.stages.store.max().saturating_sub(estimate);
        match self.mode {
            Mode::Conservative => self.stages.raise_all_to(digest, estimate.saturating_add(amount)),
            Mode::Plain => {
                let (_, lost) = self.stages.add_to_all(digest, amount);
                self.saturated |= lost > 0;
            }
            Mode::Serial => {
                let reached = self.stage_threshold();
                let CounterArray { places, store } = &mut self.stages;
                for place in places.of(digest) {
                    let before = store.add(place, amount);
                    self.saturated |= amount > CounterStore::max(store).saturating_sub(before);
                    if before.saturating_add(amount) < reached {
                        return false;
                    }
                }
                return true;
            }
        }
        false
    }

    /// What the counter of a stage must reach in serial mode. A stage then keeps less than that of a flow to itself, so all
    /// d stages less than T.
    fn stage_threshold(&self) -> u64 {
        self.threshold.unwrap_or(u64::MAX).div_ceil(self.stages.places.rows().into())
    }

    /// An upper bound for what the counters have of a key. In serial mode stage i lacks what the stages before it kept, each
    /// less than it must reach.
    #[inline]
    fn estimate(&self, digest: Digest) -> u64 {
        if self.mode != Mode::Serial {
            return self.stages.least(digest);
        }
        let (kept, mut lacks, mut least) = (self.stage_threshold() - 1, 0u64, u64::MAX);
        self.stages.store.read_each(self.stages.places.of(digest), |counter| {
            least = least.min(counter.saturating_add(lacks));
            lacks = lacks.saturating_add(kept);
        });
        least
    }

    fn end_interval(&mut self) {
        self.stages.store.clear();
        self.memory.next_interval(self.preserve, self.threshold.unwrap_or(u64::MAX));
        (self.total, self.saturated) = (0, false);
    }

    /// Takes in the counters of `other`, of the same places and not serial.
    fn add_upper_bound(&mut self, other: &Self, hashing: &Hashing) -> Result<()> {
        if self.mode == Mode::Serial {
            return Err(Error::parameter("mode", "one whose counters add up", self.mode.word()));
        }
        // What both say of a flow that either watches, before the counters change.
        let both = |(key, flow): (&Vec<u8>, &Flow)| {
            let hashed = Hashed { digest: hashing.digest(key), bytes: key };
            let total = self.tally(hashed).count.saturating_add(other.tally(hashed).count);
            let since = flow.since.min(total);
            (key.clone(), Flow { base: total - since, since, is_new: flow.is_new })
        };
        let flows: Vec<(Vec<u8>, Flow)> = other.memory.flows.iter().chain(&self.memory.flows).map(both).collect();
        let store = &mut self.stages.store;
        let (mut values, max, mut lost) = (other.stages.store.iter(), store.max(), false);
        store.update_each(0..other.stages.store.len(), |counter| {
            let more = values.next().unwrap_or(0);
            lost |= counter > max - more;
            counter.saturating_add(more)
        });
        for (key, flow) in flows {
            if self.threshold.is_none() || !self.memory.enter(&key, flow) {
                self.stages.raise_all_to(hashing.digest(&key), flow.total());
            }
        }
        self.memory.dropped = self.memory.dropped.saturating_add(other.memory.dropped);
        self.saturated |= other.saturated || lost;
        self.total = self.total.saturating_add(other.total);
        Ok(())
    }
}

impl ConservativeUpdate {
    /// A sketch of `stages` stages of `counters` counters of 32 bits, without threshold.
    ///
    /// ```
    /// use bouquet::ConservativeUpdate;
    /// assert!(ConservativeUpdate::with_size(10_000, 4).is_ok());
    /// assert!(ConservativeUpdate::with_size(0, 4).is_err() && ConservativeUpdate::with_size(10, 0).is_err());
    /// ```
    pub fn with_size(counters: u64, stages: u32) -> Result<Self> {
        Self::with(ConservativeUpdateSettings { counters: Some(counters), stages: Some(stages), ..Default::default() })
    }

    /// A sketch whose counts are too large by more than `eps` of all occurrences with probability at most `delta`.
    ///
    /// ```
    /// let filter = bouquet::ConservativeUpdate::with_error(1e-4, 1e-3)?;
    /// assert_eq!(filter.stats().bits, 27_183 * 7 * 32);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_error(eps: f64, delta: f64) -> Result<Self> {
        Self::with(ConservativeUpdateSettings { eps: Some(eps), delta: Some(delta), ..Default::default() })
    }

    /// The flows that are watched, the largest first: every flow that has reached the threshold in this interval, unless
    /// some were [dropped](Self::dropped), and perhaps some that have not.
    ///
    /// ```
    /// use bouquet::{ConservativeUpdate, ConservativeUpdateSettings};
    /// let mut filter = ConservativeUpdate::with(ConservativeUpdateSettings { threshold: Some(3), ..Default::default() })?;
    /// for (key, packets) in [("rose", 5), ("lily", 2), ("iris", 9)] {
    ///     (0..packets).for_each(|_| { filter.insert(key); });
    /// }
    /// let names: Vec<_> = filter.heavy().into_iter().map(|flow| flow.key).collect();
    /// assert_eq!(names, [b"iris", b"rose"]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn heavy(&self) -> Vec<HeavyFlow> {
        let flow =
            |(key, flow): (&[u8], Flow)| HeavyFlow { key: key.to_vec(), count: flow.total(), since_entry: flow.since };
        self.mechanism.memory.ranked().into_iter().map(flow).collect()
    }

    /// How often in this interval a flow that had reached the threshold found the flow memory full.
    ///
    /// ```
    /// use bouquet::{ConservativeUpdate, ConservativeUpdateSettings};
    /// let settings = ConservativeUpdateSettings { threshold: Some(3), memory: Some(1), ..Default::default() };
    /// let mut filter = ConservativeUpdate::with(settings)?;
    /// filter.add("rose", 5);
    /// filter.add("lily", 4);
    /// assert_eq!((filter.heavy().len(), filter.dropped(), filter.count("lily").count), (1, 1, 4));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.mechanism.memory.dropped
    }

    /// Ends an interval: gives back the [heavy](Self::heavy) flows, clears the counters and the flow memory. With
    /// `preserve` the flows that have reached the threshold or were new stay watched.
    ///
    /// ```
    /// use bouquet::{ConservativeUpdate, ConservativeUpdateSettings};
    /// let settings = ConservativeUpdateSettings { threshold: Some(100), preserve: Some(true), ..Default::default() };
    /// let mut filter = ConservativeUpdate::with(settings)?;
    /// filter.add("rose", 150);
    /// assert_eq!(filter.end_interval()[0].count, 150);
    /// filter.add("rose", 7);
    /// assert_eq!(filter.end_interval()[0].since_entry, 7);
    /// assert!(filter.heavy().is_empty(), "it was neither large nor new");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn end_interval(&mut self) -> Vec<HeavyFlow> {
        let heavy = self.heavy();
        self.mechanism.end_interval();
        heavy
    }

    /// Takes in the counters of `other`, so that no estimate is below what both have had together. It is not the filter of
    /// both streams, which cannot be had: estimates are as loose as those of two filters. The stages and the hashing must be
    /// equal and the mode not serial.
    ///
    /// ```
    /// use bouquet::ConservativeUpdate;
    /// let (mut here, mut there) = (ConservativeUpdate::with_size(1_000, 4)?, ConservativeUpdate::with_size(1_000, 4)?);
    /// here.add("rose", 3);
    /// there.add("rose", 5);
    /// here.merge_upper_bound(&there)?;
    /// assert_eq!(here.count("rose").count, 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge_upper_bound(&mut self, other: &Self) -> Result<()> {
        self.comparable(other, alike)?;
        self.mechanism.add_upper_bound(&other.mechanism, &self.hashing)
    }
}

#[cfg(test)]
mod tests;
