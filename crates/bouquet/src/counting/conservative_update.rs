#![doc = include_str!("conservative_update.md")]

use crate::capability::{Advance, Count, Frequent, Insert, Item, Multiplicity, NoteType, Top};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, MAX_HASHES};
use crate::key::{Key, insert_items};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::counter_array::{CounterArray, CounterStore, HashedArray, Placement};
use crate::parts::flow_memory::{Flow, FlowMemory};
use crate::parts::rows::{DELTA, EPS, Rows};
use crate::store::Counters;
use crate::theory::{Size, sketch};

/// The registry's row.
pub const KIND: Kind = kind!(ConservativeUpdate);

/// How an occurrence changes the counters; see [the table](self).
///
/// ```
/// use bouquet::{counting::conservative_update::{ConservativeUpdate, KIND, Mode}, kind::Config};
/// let config = Config::new(KIND.facts()).set("mode", "serial")?.set("threshold", "1000")?;
/// assert_eq!(ConservativeUpdate::from_config(&config)?.mode(), Mode::Serial);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No counter is raised above the new estimate.
    #[default]
    Conservative,
    /// Every counter is added to.
    Plain,
    /// One stage behind the other.
    Serial,
}

impl Mode {
    const ALL: [Mode; 3] = [Mode::Conservative, Mode::Plain, Mode::Serial];
    const NAMES: [&str; 3] = ["conservative", "plain", "serial"];

    /// The word for it.
    ///
    /// ```
    /// assert_eq!(bouquet::counting::conservative_update::Mode::Plain.name(), "plain");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    fn of(config: &Config) -> Self {
        let word = config.choice("mode");
        Self::ALL.into_iter().find(|mode| mode.name() == word).unwrap_or_default()
    }
}

const COUNTERS: Parameter = Parameter {
    name: "counters",
    help: "counters in a stage, instead of eps",
    of: ParameterType::Count { min: 1, max: 1 << 48, default: None },
};

const STAGES: Parameter = Parameter {
    name: "stages",
    help: "rows of counters, of which a key has one each; instead of delta",
    of: ParameterType::Count { min: 1, max: MAX_HASHES as u64, default: None },
};

const COUNTER: Parameter =
    Parameter { name: "counter", help: "bits of a counter", of: ParameterType::Choice { options: &["u32", "u64"] } };

const MODE: Parameter = Parameter {
    name: "mode",
    help: "conservative raises no counter above the new estimate; plain adds to all, serial to one stage behind the \
           other (it needs a threshold)",
    of: ParameterType::Choice { options: &Mode::NAMES },
};

const THRESHOLD: Parameter = Parameter {
    name: "threshold",
    help: "size from which a flow is watched by name; without it the filter only counts",
    of: ParameterType::Count { min: 1, max: 1 << 62, default: None },
};

const MEMORY: Parameter = Parameter {
    name: "memory",
    help: "flows that are watched at most",
    of: ParameterType::Count { min: 1, max: 1 << 24, default: Some(4096) },
};

const SHIELD: Parameter = Parameter {
    name: "shield",
    help: "whether flows that are watched leave the counters alone",
    of: ParameterType::Choice { options: &["on", "off"] },
};

const PRESERVE: Parameter = Parameter {
    name: "preserve",
    help: "keep watching what was large or new when an interval ends",
    of: ParameterType::Flag,
};

/// A flow that is watched.
///
/// ```
/// use bouquet::{counting::conservative_update::{ConservativeUpdate, HeavyFlow, KIND}, kind::Config};
/// let mut filter = ConservativeUpdate::from_config(&Config::new(KIND.facts()).set("threshold", "1000")?)?;
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

/// A multistage filter with conservative update.
///
/// ```
/// use bouquet::counting::conservative_update::ConservativeUpdate;
/// let mut filter = ConservativeUpdate::with_size(1_000, 4)?;
/// filter.add("rose", 5);
/// filter.add("lily", 1);
/// filter.add("rose", 2);
/// assert_eq!((filter.count("rose").count, filter.count("iris").count), (7, 0));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ConservativeUpdate {
    stages: HashedArray<Counters, Rows>,
    mode: Mode,
    threshold: Option<u64>,
    shield: bool,
    preserve: bool,
    memory: FlowMemory,
    /// What has come in this interval.
    total: u64,
    /// Whether a counter has reached its end in this interval.
    saturated: bool,
    /// The settings, with the effective size.
    settings: Config,
}

impl ConservativeUpdate {
    /// A sketch of `stages` stages of `counters` counters of 32 bits, without threshold.
    ///
    /// ```
    /// use bouquet::counting::conservative_update::ConservativeUpdate;
    /// assert!(ConservativeUpdate::with_size(10_000, 4).is_ok());
    /// assert!(ConservativeUpdate::with_size(0, 4).is_err() && ConservativeUpdate::with_size(10, 0).is_err());
    /// ```
    pub fn with_size(counters: u64, stages: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("counters", Setting::Count(counters))?;
        Self::from_config(&config.with("stages", Setting::Count(stages.into()))?)
    }

    /// A sketch whose counts are too large by more than `eps` of all occurrences with probability at most `delta`.
    ///
    /// ```
    /// use bouquet::{counting::conservative_update::ConservativeUpdate, kind::Structure};
    /// let filter = ConservativeUpdate::with_error(1e-4, 1e-3)?;
    /// assert_eq!(filter.stats().bits, 27_183 * 7 * 32);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_error(eps: f64, delta: f64) -> Result<Self> {
        let config = Config::new(KIND.facts());
        Self::from_config(&config.with("eps", Setting::Real(eps))?.with("delta", Setting::Real(delta))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind: the way to a threshold, the other modes and
    /// keyed hashing.
    ///
    /// ```
    /// use bouquet::{counting::conservative_update::{ConservativeUpdate, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("counters", "1000")?.set("stages", "4")?.set("threshold", "100")?;
    /// let mut filter = ConservativeUpdate::from_config(&config)?;
    /// filter.add("rose", 150);
    /// assert_eq!(filter.heavy().len(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let (size, width) = shape(config)?;
        Self::assemble(config, size, Counters::zeroed(size.bits, width)?)
    }

    fn assemble(config: &Config, size: Size, store: Counters) -> Result<Self> {
        let rows = Rows::new(Self::FACTS.id, size, config.hashing().seed())?;
        let stages = HashedArray::new(rows, config.hashing(), store);
        let settings = config
            .clone()
            .put("counters", Setting::Count(stages.places.width()))
            .put("stages", Setting::Count(stages.places.rows().into()))
            .hashed(stages.hashing.clone());
        Ok(ConservativeUpdate {
            mode: Mode::of(config),
            threshold: config.count("threshold"),
            shield: config.choice("shield") == "on",
            preserve: config.flag("preserve"),
            memory: FlowMemory::new(config.need("memory")?),
            total: 0,
            saturated: false,
            stages,
            settings,
        })
    }

    /// How an occurrence changes the counters.
    ///
    /// ```
    /// use bouquet::counting::conservative_update::{ConservativeUpdate, Mode};
    /// assert_eq!(ConservativeUpdate::with_size(10, 2)?.mode(), Mode::Conservative);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What has come in this interval.
    ///
    /// ```
    /// let mut filter = bouquet::counting::conservative_update::ConservativeUpdate::with_size(10, 2)?;
    /// filter.add("rose", 5);
    /// filter.add("lily", 2);
    /// assert_eq!(filter.total(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Counts `amount` occurrences (or bytes) of a key and says whether it certainly had none before in this interval.
    ///
    /// ```
    /// let mut filter = bouquet::counting::conservative_update::ConservativeUpdate::with_size(1_000, 4)?;
    /// assert!(filter.add("rose", 5));
    /// assert!(!filter.add("rose", 1));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn add<K: Key + ?Sized>(&mut self, key: &K, amount: u64) -> bool {
        let digest = self.stages.digest(key);
        key.with_bytes(|key| self.add_digest(key, digest, amount))
    }

    fn add_digest(&mut self, key: &[u8], digest: Digest, amount: u64) -> bool {
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

    /// Changes the counters for an occurrence of a key with this estimate; in serial mode says whether it passes the last
    /// stage.
    #[inline]
    fn change(&mut self, digest: Digest, estimate: u64, amount: u64) -> bool {
        self.saturated |= estimate > self.stages.store.max().saturating_sub(amount);
        match self.mode {
            Mode::Conservative => self.stages.raise_all_to(digest, estimate.saturating_add(amount)),
            Mode::Plain => {
                let (_, lost) = self.stages.add_to_all(digest, amount);
                self.saturated |= lost > 0;
            }
            Mode::Serial => {
                let reached = self.stage_threshold();
                let CounterArray { places, store } = &mut *self.stages;
                for place in places.of(digest) {
                    let before = store.add(place, amount);
                    self.saturated |= before > CounterStore::max(store).saturating_sub(amount);
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

    /// The upper estimate of what a key has had in this interval: never less than the truth.
    ///
    /// ```
    /// let mut filter = bouquet::counting::conservative_update::ConservativeUpdate::with_size(1_000, 4)?;
    /// filter.add("rose", 70);
    /// assert_eq!((filter.count("rose").count, filter.count("lily").count), (70, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let watched = if self.threshold.is_some() {
            key.with_bytes(|key| self.memory.flows.get(key).map(Flow::total))
        } else {
            None
        };
        let count = watched.unwrap_or_else(|| self.estimate(self.stages.digest(key)));
        Multiplicity { count, at_least: self.saturated }
    }

    /// The flows that are watched, the largest first: every flow that has reached the threshold in this interval, unless
    /// some were [dropped](Self::dropped), and perhaps some that have not.
    ///
    /// ```
    /// use bouquet::{counting::conservative_update::{ConservativeUpdate, KIND}, kind::Config};
    /// let mut filter = ConservativeUpdate::from_config(&Config::new(KIND.facts()).set("threshold", "3")?)?;
    /// for (key, packets) in [("rose", 5), ("lily", 2), ("iris", 9)] {
    ///     (0..packets).for_each(|_| { filter.add(key, 1); });
    /// }
    /// let names: Vec<_> = filter.heavy().into_iter().map(|flow| flow.key).collect();
    /// assert_eq!(names, [b"iris", b"rose"]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn heavy(&self) -> Vec<HeavyFlow> {
        let flow =
            |(key, flow): (&[u8], Flow)| HeavyFlow { key: key.to_vec(), count: flow.total(), since_entry: flow.since };
        self.memory.ranked().into_iter().map(flow).collect()
    }

    /// How often in this interval a flow that had reached the threshold found the flow memory full.
    ///
    /// ```
    /// use bouquet::{counting::conservative_update::{ConservativeUpdate, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("threshold", "3")?.set("memory", "1")?;
    /// let mut filter = ConservativeUpdate::from_config(&config)?;
    /// filter.add("rose", 5);
    /// filter.add("lily", 4);
    /// assert_eq!((filter.heavy().len(), filter.dropped(), filter.count("lily").count), (1, 1, 4));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.memory.dropped
    }

    /// Ends an interval: gives back the [heavy](Self::heavy) flows, clears the counters and the flow memory. With
    /// `preserve` the flows that have reached the threshold or were new stay watched.
    ///
    /// ```
    /// use bouquet::{counting::conservative_update::{ConservativeUpdate, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("threshold", "100")?.set("preserve", "yes")?;
    /// let mut filter = ConservativeUpdate::from_config(&config)?;
    /// filter.add("rose", 150);
    /// assert_eq!(filter.end_interval()[0].count, 150);
    /// filter.add("rose", 7);
    /// assert_eq!(filter.end_interval()[0].since_entry, 7);
    /// assert!(filter.heavy().is_empty(), "it was neither large nor new");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn end_interval(&mut self) -> Vec<HeavyFlow> {
        let heavy = self.heavy();
        self.stages.store.clear();
        self.memory.next_interval(self.preserve, self.threshold.unwrap_or(u64::MAX));
        (self.total, self.saturated) = (0, false);
        heavy
    }

    /// Takes in the counters of `other`, so that no estimate is below what both have had together. It is not the filter of
    /// both streams, which cannot be had: estimates are as loose as those of two filters. The stages and the hashing must be
    /// equal and the mode not serial.
    ///
    /// ```
    /// use bouquet::counting::conservative_update::ConservativeUpdate;
    /// let (mut here, mut there) = (ConservativeUpdate::with_size(1_000, 4)?, ConservativeUpdate::with_size(1_000, 4)?);
    /// here.add("rose", 3);
    /// there.add("rose", 5);
    /// here.merge_upper_bound(&there)?;
    /// assert_eq!(here.count("rose").count, 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge_upper_bound(&mut self, other: &Self) -> Result<()> {
        self.stages.comparable(&other.stages)?;
        same("mode", self.mode, other.mode)?;
        same("counter", self.stages.store.width(), other.stages.store.width())?;
        if self.mode == Mode::Serial {
            return Err(Error::parameter("mode", "one whose counters add up", self.mode.name()));
        }
        // What both say of a flow that either watches, before the counters change.
        let (mine, theirs) = (self.memory.flows.iter(), other.memory.flows.iter());
        let both = |(key, flow): (&Vec<u8>, &Flow)| {
            let total = self.count(key).count.saturating_add(other.count(key).count);
            let since = flow.since.min(total);
            (key.clone(), Flow { base: total - since, since, is_new: flow.is_new })
        };
        let flows: Vec<(Vec<u8>, Flow)> = theirs.chain(mine).map(both).collect();
        let max = self.stages.store.max();
        let (mut values, mut lost) = (other.stages.store.iter(), false);
        self.stages.store.update_each(0..other.stages.store.len(), |counter| {
            let more = values.next().unwrap_or(0);
            lost |= counter > max - more;
            counter.saturating_add(more)
        });
        for (key, flow) in flows {
            if self.threshold.is_none() || !self.memory.enter(&key, flow) {
                let digest = self.stages.digest(&key);
                self.stages.raise_all_to(digest, flow.total());
            }
        }
        self.memory.dropped = self.memory.dropped.saturating_add(other.memory.dropped);
        self.saturated |= other.saturated || lost;
        self.total = self.total.saturating_add(other.total);
        Ok(())
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::conservative_update::ConservativeUpdate;
    /// let mut filter = ConservativeUpdate::with_size(1_000, 4)?;
    /// filter.add("rose", 3);
    /// assert_eq!(ConservativeUpdate::from_bytes(&filter.to_bytes())?.count("rose").count, 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::conservative_update::ConservativeUpdate;
    /// let filter = ConservativeUpdate::with_size(1_000, 4)?;
    /// assert_eq!(ConservativeUpdate::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

/// Counters in all and stages, and bits of a counter, that the settings describe.
fn shape(config: &Config) -> Result<(Size, u32)> {
    let size = Rows::size(config, "counters", "stages")?;
    let width = if config.choice("counter") == "u32" { 32 } else { 64 };
    if Mode::of(config) == Mode::Serial && config.count("threshold").is_none() {
        return Err(Error::parameter("threshold", "given in serial mode", "missing"));
    }
    if size.bits.checked_mul(width.into()).is_none() {
        return Err(Error::TooLarge { what: "the counters".into(), bytes: u128::from(size.bits) * 8 });
    }
    Ok((size, width))
}

impl Structure for ConservativeUpdate {
    const FACTS: Facts = Facts {
        id: "conservative-update",
        number: 67,
        aliases: &["CU", "CU-sketch", "multistage"],
        family: "counting",
        text: Text::new(include_str!("conservative_update.md")),
        errors: &[ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[
            common::ITEMS,
            common::FPR,
            EPS,
            DELTA,
            COUNTERS,
            STAGES,
            COUNTER,
            MODE,
            THRESHOLD,
            MEMORY,
            SHIELD,
            PRESERVE,
        ],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let (size, width) = shape(config)?;
        let bits = size.bits * u64::from(width);
        Ok(Plan { bits, hashes: size.hashes, items: config.count("items"), fpr: None })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        self.settings.clone()
    }

    fn hashing(&self) -> &Hashing {
        &self.stages.hashing
    }

    fn stats(&self) -> Stats {
        let store = &self.stages.store;
        Stats {
            items: self.total,
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
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.total);
        encoder.state().u64(self.memory.dropped);
        encoder.state().u8(self.saturated.into());
        encoder.counters(&self.stages.store);
        if self.threshold.is_some() {
            encoder.bytes(self.memory.to_bytes());
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let config = decoder.config().clone();
        let (size, width) = shape(&config)?;
        let state = decoder.state();
        let (total, dropped, saturated) = (state.u64()?, state.u64()?, state.u8()?);
        if saturated > 1 {
            return Err(Error::corrupt("state", "0 or 1", saturated));
        }
        let mut filter = Self::assemble(&config, size, decoder.counters(size.bits, width)?)?;
        (filter.total, filter.saturated) = (total, saturated == 1);
        filter.memory = match filter.threshold {
            Some(_) => FlowMemory::from_bytes(config.need("memory")?, dropped, decoder.bytes()?)?,
            None if dropped > 0 => return Err(Error::corrupt("dropped flows", "0 without a threshold", dropped)),
            None => filter.memory,
        };
        Ok(filter)
    }
}

impl Insert for ConservativeUpdate {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Ok(self.add(item.bare()?, 1))
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let insert = |filter: &mut Self, item: &Item<'_>, digest| Ok(filter.add_digest(item.key, digest, 1));
        insert_items(self, |filter| &filter.stages, items, insert)
    }
}

impl Count for ConservativeUpdate {
    fn count(&self, key: &[u8]) -> Multiplicity {
        ConservativeUpdate::count(self, key)
    }
}

impl Top for ConservativeUpdate {
    fn top(&self) -> Vec<Frequent> {
        let frequent =
            |flow: HeavyFlow| Frequent { count: ConservativeUpdate::count(self, flow.key.as_slice()), key: flow.key };
        self.heavy().into_iter().map(frequent).collect()
    }
}

impl Advance for ConservativeUpdate {
    /// Ends so many intervals.
    fn advance(&mut self, ticks: u64) {
        // After two nothing is left: what the first preserves has had nothing in the second.
        for _ in 0..ticks.min(2) {
            self.end_interval();
        }
    }
}

#[cfg(test)]
mod tests;
