#![doc = include_str!("energy_efficient.md")]

use std::collections::VecDeque;

use crate::capability::NoteType;
use crate::codec::{StateReader, StateWriter};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Figure, Kind, Reply, Setting, Special, Takes, Text, kind};
use crate::membership::staged::{Scheduler, Staged, Work};
use crate::shell::Filter;
use crate::theory::pipeline;

mod settings;

pub use settings::{EnergyEfficientSettings, StagePolicy};
use settings::{HIGH, LEAST, LOW, POLICY, QUEUE, SERVED};

/// A Bloom filter that adapts its stages to its load.
///
/// ```
/// use bouquet::EnergyEfficient;
/// let mut filter = EnergyEfficient::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert_eq!(filter.submit("thistle"), Ok(false), "two functions are enough");
/// let token = filter.submit("rose").expect_err("the others come later");
/// assert_eq!(filter.tick(), [(token, true)]);
/// assert!(filter.contains("rose"), "at once, when asked so");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type EnergyEfficient = Filter<Staged<Adaptive>>;

/// The registry's row.
pub const KIND: Kind = kind!(EnergyEfficient);

/// A key that waits for the second stage.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Waiting {
    token: u64,
    digest: Digest,
    /// The functions that have been tested, and hit.
    tested: u64,
    /// When it came.
    tick: u64,
}

/// The queue between the stages, and the functions of the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptive {
    policy: StagePolicy,
    least: u32,
    capacity: u64,
    low: u64,
    high: u64,
    served: u64,
    /// The functions of the first stage: the control bits of functions 0 to `first` - 1 are set.
    first: u32,
    queue: VecDeque<Waiting>,
    /// Ticks so far, keys that came since the last, and the token of the next that waits.
    tick: u64,
    arrived: u64,
    token: u64,
    /// Moving averages: keys per tick, and the share of positive answers.
    arrivals: f64,
    positive: f64,
}

/// The weight of the newest in a moving average.
const NEWEST: f64 = 1.0 / 32.0;

impl Adaptive {
    fn is_full(&self) -> bool {
        self.queue.len() as u64 >= self.capacity
    }

    /// Moves functions between the stages as the policy says.
    fn adapt(&mut self, hashes: u32, ones: f64) {
        let waiting = self.queue.len() as u64;
        let least = self.least.min(hashes);
        self.first = match self.policy {
            StagePolicy::Hysteresis if waiting >= self.high => (self.first + 1).min(hashes),
            StagePolicy::Hysteresis if waiting <= self.low => self.first.saturating_sub(1).max(least),
            StagePolicy::Hysteresis => self.first,
            StagePolicy::Fixed => least,
            StagePolicy::Proportional => {
                let more = u64::from(hashes - least).saturating_mul(waiting) / self.capacity;
                least + more as u32
            }
            StagePolicy::Predictive => {
                let keeps_up =
                    |first: &u32| pipeline::handed_on(self.arrivals, *first, ones, self.positive) <= self.served as f64;
                let cost = |first: u32| pipeline::negative_cost(&[first, hashes - first], ones);
                let best = (least..=hashes).filter(keeps_up).min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
                best.unwrap_or(hashes)
            }
        };
    }

    fn answered(&mut self, present: bool) {
        self.positive += NEWEST * (f64::from(u8::from(present)) - self.positive);
    }
}

impl Scheduler for Adaptive {
    const FACTS: Facts = Facts {
        id: "energy-efficient",
        number: 24,
        aliases: &["EABF", "EA Bloom filter"],
        family: "membership",
        text: Text::new(include_str!("energy_efficient.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    // The queue is part of the state.
    const IN_PLACE: bool = false;

    const SPECIALS: &'static [Special<EnergyEfficient>] = &[
        Special::act(
            "submit",
            Takes::Key,
            "whether the key is in, if the first stage tells; else it waits, and has a token",
            |filter, key| {
                let row = match filter.submit(key.key()?) {
                    Ok(present) => vec![Reply::Unknown, Reply::Truth(present)],
                    Err(token) => vec![token.into(), Reply::Unknown],
                };
                Ok(Reply::Table(&["token", "present"], vec![row]))
            },
        ),
        Special::act("tick", Takes::Nothing, "lets a tick pass: what the second stage has found", |filter, _| {
            Ok(answers(filter.tick()))
        }),
        Special::act("drain", Takes::Nothing, "lets ticks pass until no key waits", |filter, _| {
            Ok(answers(filter.drain()))
        }),
        Staged::TRACE,
        Staged::MEASURE,
        Staged::WORK,
    ];

    type Settings = EnergyEfficientSettings;

    fn plan(settings: &EnergyEfficientSettings, hashes: u32, _: f64) -> Result<Self> {
        let EnergyEfficientSettings { policy, least, queue, low, high, served, .. } = *settings;
        let (least, capacity): (u32, u64) = (LEAST.need(least)?, QUEUE.need(queue)?);
        let low = low.map_or(LOW.need(None).map(|low: u64| low.min(capacity - 1)), Ok)?;
        let high = high.map_or(HIGH.need(None).map(|high: u64| high.min(capacity).max(low.saturating_add(1))), Ok)?;
        if low >= high || high > capacity {
            let expected = format!("more than low, {low}, and at most what the queue takes, {capacity}");
            return Err(Error::parameter("high", expected, high));
        }
        Ok(Adaptive {
            policy: POLICY.need(policy)?,
            least,
            capacity,
            low,
            high,
            served: SERVED.need(served)?,
            first: least.min(hashes),
            queue: VecDeque::new(),
            tick: 0,
            arrived: 0,
            token: 0,
            arrivals: 0.0,
            positive: 0.0,
        })
    }

    fn settings(&self, asked: EnergyEfficientSettings) -> EnergyEfficientSettings {
        EnergyEfficientSettings {
            policy: Some(self.policy),
            least: Some(self.least),
            queue: Some(self.capacity),
            low: Some(self.low),
            high: Some(self.high),
            served: Some(self.served),
            ..asked
        }
    }

    fn stages(&self, hashes: u32) -> Vec<u32> {
        // The second stage goes to the first zero.
        let mut stages = vec![self.first];
        stages.extend((self.first..hashes).map(|_| 1));
        stages
    }

    fn first(&self) -> u32 {
        self.first
    }

    fn figures(&self) -> Vec<Figure> {
        let figure = |name, value| Figure { name, value: Setting::Count(value) };
        vec![figure("ticks", self.tick), figure("keys that wait", self.queue.len() as u64)]
    }

    fn encode(&self, state: &mut StateWriter) {
        state.u32(self.first);
        [self.tick, self.arrived, self.token].into_iter().for_each(|number| state.u64(number));
        state.f64(self.arrivals);
        state.f64(self.positive);
        state.u32(self.queue.len() as u32);
        for Waiting { token, digest, tested, tick } in &self.queue {
            [*token, digest.h1, digest.h2, *tested, *tick].into_iter().for_each(|number| state.u64(number));
        }
    }

    fn decode(&mut self, hashes: u32, state: &mut StateReader<'_>) -> Result<()> {
        self.first = state.u32()?;
        let least = self.least.min(hashes);
        if !(least..=hashes).contains(&self.first) {
            return Err(Error::corrupt("first stage", format!("{least} to {hashes} functions"), self.first));
        }
        [self.tick, self.arrived, self.token] = [state.u64()?, state.u64()?, state.u64()?];
        // From here on, no number of single queries overflows.
        if self.tick.max(self.token) > u64::MAX / 2 {
            return Err(Error::corrupt("ticks and tokens", "at most 2^63 - 1", self.tick.max(self.token)));
        }
        [self.arrivals, self.positive] = [state.f64()?, state.f64()?];
        if !(self.arrivals >= 0.0 && self.arrivals.is_finite() && (0.0..=1.0).contains(&self.positive)) {
            return Err(Error::corrupt("averages", "numbers of keys and a share", self.arrivals));
        }
        let waiting = state.u32()?;
        if u64::from(waiting) > self.capacity {
            return Err(Error::corrupt("queue", format!("at most {} keys", self.capacity), waiting));
        }
        for _ in 0..waiting {
            let [token, h1, h2, tested, tick] = [state.u64()?, state.u64()?, state.u64()?, state.u64()?, state.u64()?];
            if tick > self.tick || token >= self.token {
                return Err(Error::corrupt("queue", "keys that came before now", tick));
            }
            self.queue.push_back(Waiting { token, digest: Digest { h1, h2 }, tested, tick });
        }
        Ok(())
    }
}

fn answers(found: Vec<(u64, bool)>) -> Reply {
    let rows = found.into_iter().map(|(token, present)| vec![token.into(), Reply::Truth(present)]);
    Reply::Table(&["token", "present"], rows.collect())
}

impl EnergyEfficient {
    /// A filter of `bits` bits and `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::EnergyEfficient;
    /// assert_eq!(EnergyEfficient::with_size(1_000, 8)?.bits().len(), 1_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(EnergyEfficientSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }

    /// Asks for a key: the answer, if the functions of the first stage tell, or else the token under which
    /// [`tick`](Self::tick) tells it later. While the queue is full, all functions are tested at once: no key is dropped.
    ///
    /// ```
    /// use bouquet::{EnergyEfficient, EnergyEfficientSettings};
    /// let settings = EnergyEfficientSettings { items: Some(100), queue: Some(1), ..Default::default() };
    /// let mut filter = EnergyEfficient::with(settings)?;
    /// filter.insert("rose");
    /// assert_eq!((filter.submit("rose"), filter.submit("rose")), (Err(0), Ok(true)), "one waits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn submit<K: Key + ?Sized>(&mut self, key: &K) -> std::result::Result<bool, u64> {
        let (digest, staged) = (key.digest(&self.hashing), &mut self.mechanism);
        let (hashes, is_full) = (staged.hashes(), staged.scheduler.is_full());
        staged.scheduler.arrived = staged.scheduler.arrived.saturating_add(1);
        let tested = if is_full { hashes } else { staged.scheduler.first };
        let hit = staged.all_hit(digest, 0..tested);
        let accesses = staged.accesses(tested);
        let mut work = Work { evaluations: tested.into(), accesses, stages: 1, ..Work::default() };
        if hit && tested < hashes {
            staged.work.add(&work);
            let Adaptive { queue, tick, token, .. } = &mut staged.scheduler;
            queue.push_back(Waiting { token: *token, digest, tested: (1 << tested) - 1, tick: *tick });
            *token = token.saturating_add(1);
            return Err(*token - 1);
        }
        (work.queries, work.positives, work.ticks) = (1, u64::from(hit), 1);
        staged.work.add(&work);
        staged.scheduler.answered(hit);
        Ok(hit)
    }

    /// Lets a tick pass: the second stage takes keys from the queue, tests the functions that were not tested when they came,
    /// one by one to the first zero, and tells what it found. Then functions move between the stages as the policy says.
    ///
    /// ```
    /// use bouquet::EnergyEfficient;
    /// let mut filter = EnergyEfficient::with_rate(100, 0.01)?;
    /// assert!(filter.tick().is_empty(), "nothing waits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn tick(&mut self) -> Vec<(u64, bool)> {
        let staged = &mut self.mechanism;
        let (hashes, ones, mut found) = (staged.hashes(), staged.fill(), Vec::new());
        let now = staged.scheduler.tick.saturating_add(1);
        for _ in 0..staged.scheduler.served {
            let Some(Waiting { token, digest, tested, tick }) = staged.scheduler.queue.pop_front() else { break };
            let (mut evaluations, mut present) = (0u32, true);
            for i in (0..hashes).filter(|i| tested >> i & 1 == 0) {
                evaluations += 1;
                if !staged.hits(digest, i) {
                    present = false;
                    break;
                }
            }
            let ticks = now.saturating_sub(tick).saturating_add(1);
            let (positives, accesses) = (u64::from(present), staged.accesses(evaluations));
            let evaluations = evaluations.into();
            staged.work.add(&Work { queries: 1, positives, evaluations, accesses, stages: 1, ticks });
            staged.scheduler.answered(present);
            found.push((token, present));
        }
        let scheduler = &mut staged.scheduler;
        scheduler.tick = now;
        scheduler.arrivals += NEWEST * (scheduler.arrived as f64 - scheduler.arrivals);
        scheduler.arrived = 0;
        scheduler.adapt(hashes, ones);
        found
    }

    /// Lets ticks pass until no key waits.
    ///
    /// ```
    /// use bouquet::EnergyEfficient;
    /// let mut filter = EnergyEfficient::with_rate(100, 0.01)?;
    /// ["rose", "lily"].map(|key| filter.insert(key));
    /// let tokens = ["rose", "lily"].map(|key| filter.submit(key).expect_err("it waits"));
    /// assert_eq!(filter.drain(), tokens.map(|token| (token, true)));
    /// assert_eq!(filter.waiting(), 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn drain(&mut self) -> Vec<(u64, bool)> {
        let mut found = Vec::new();
        while self.waiting() > 0 {
            found.append(&mut self.tick());
        }
        found
    }

    /// The keys that wait for the second stage.
    ///
    /// ```
    /// use bouquet::EnergyEfficient;
    /// let mut filter = EnergyEfficient::with_rate(100, 0.01)?;
    /// filter.insert("rose");
    /// assert!(filter.submit("rose").is_err() && filter.waiting() == 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.mechanism.scheduler.queue.len() as u64
    }

    /// The functions of the first stage at this moment.
    ///
    /// ```
    /// assert_eq!(bouquet::EnergyEfficient::with_rate(100, 0.01)?.first(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn first(&self) -> u32 {
        self.mechanism.scheduler.first
    }
}

#[cfg(test)]
mod tests;
