#![doc = include_str!("forgetful.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, common, kind,
};
use crate::parts::bit_array::{domain, flat_places};
use crate::parts::counter_array::Places;
use crate::parts::generations::{self, Ring};
use crate::shell::{Age, ByRate, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, choices, fields};
use crate::theory::generations::{MAX_PASTS, forgetful_loads, forgetful_rate, neighbours_rate};
use crate::theory::standard;

/// The registry's row.
pub const KIND: Kind = kind!(Forgetful);

/// A row of filters of which two neighbours must agree.
///
/// ```
/// use bouquet::Forgetful;
/// let mut done = Forgetful::with_rate(1_000, 1e-4)?; // a thousand operations per period, found for two periods at least
/// assert!(done.insert("operation 7") && !done.insert("operation 7"));
/// (0..2_000u64).for_each(|key| _ = done.insert(&key));
/// assert!(done.contains("operation 7"));
/// (2_000..5_000u64).for_each(|key| _ = done.insert(&key));
/// assert!(!done.contains("operation 7"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Forgetful = Filter<Epochs>;

const ITEMS: Parameter = Parameter { help: "distinct keys of a period", ..common::ITEMS };
const FPR: Parameter = Parameter { help: "limit of the false-positive rate, at the end of a period", ..common::FPR };
const BITS: Parameter = Parameter { help: "size in bits of all filters together", ..common::BITS };
const PASTS: Parameter =
    Parameter::count("pasts", "N, past filters: a key is found for N to N + 1 periods", 1, MAX_PASTS as u64).or(2);
const REFRESH: Parameter = Parameter::choice(
    "refresh",
    "what ends a period: its keys, its ticks, or its ticks as long as the rate allows",
    <Refresh as crate::shell::Choice>::WORDS,
);
const PERIOD: Parameter = Parameter::count("period", "ticks of a period that ticks end", 1, 1 << 56).or(1);

/// What ends a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// Its number of keys; a tick counts as a key.
    Count,
    /// Its number of ticks.
    Ticks,
    /// Its number of ticks, which is shortened when the rate would be too high and lengthened when it is far too low.
    Controlled,
}

choices!(Refresh { Count = "count", Ticks = "ticks", Controlled = "controlled" });

/// The settings of a forgetful filter.
///
/// ```
/// use bouquet::{Forgetful, ForgetfulSettings};
/// let settings = ForgetfulSettings { items: Some(10_000), fpr: Some(1e-4), pasts: Some(3), ..Default::default() };
/// assert_eq!(Forgetful::with(settings)?.settings().hashes, Some(8));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForgetfulSettings {
    /// n, the distinct keys of a period.
    pub items: Option<u64>,
    /// F, the limit of the false-positive rate.
    pub fpr: Option<f64>,
    /// The size of all filters together.
    pub bits: Option<u64>,
    /// Positions per key in each filter.
    pub hashes: Option<u32>,
    /// N, the past filters.
    pub pasts: Option<u32>,
    /// What ends a period.
    pub refresh: Option<Refresh>,
    /// The ticks of a period.
    pub period: Option<u64>,
}

impl Settings for ForgetfulSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        fpr: FPR,
        bits: BITS,
        hashes: common::HASHES,
        pasts: PASTS,
        refresh: REFRESH,
        period: PERIOD,
    ];
}

impl ByRate for ForgetfulSettings {}

/// The roles; past filters follow.
const FUTURE: usize = 0;
const PRESENT: usize = 1;

/// The changes of the controller that are kept.
const KEPT_CHANGES: usize = 16;

/// The longest period.
const LONGEST: u64 = 1 << 56;

/// A change of the period or of the past filters, which changes how long keys are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    /// The refreshes before it.
    epoch: u64,
    period: u64,
    pasts: u64,
}

/// What the controller has made of period and past filters.
#[derive(Clone, Debug, PartialEq)]
struct Control {
    period: u64,
    /// The past filters that are asked.
    pasts: u64,
    changes: u64,
    /// The latest of them, the oldest first.
    latest: Vec<Change>,
}

/// A future, a present and some past filters.
#[derive(Clone, Debug, PartialEq)]
pub struct Epochs {
    ring: Ring,
    /// n, the keys of a period.
    capacity: u64,
    refresh: Refresh,
    /// F, and what was asked of the period and N.
    target: f64,
    period: u64,
    pasts: u64,
    control: Control,
    /// Keys of this period.
    keys: u64,
}

/// The places of keys in each filter, the keys of a period and N.
fn shape(settings: &ForgetfulSettings) -> Result<(Places, u64, u32)> {
    let pasts: u32 = PASTS.need(settings.pasts)?;
    let each = (FPR.need(settings.fpr)? / (f64::from(pasts) + 1.0)).sqrt();
    let count = u64::from(pasts) + 2;
    // A filter has the keys of two periods.
    let keys = settings.items.map(|items| items.saturating_mul(2));
    let (size, keys) = generations::size(count, settings.bits, settings.hashes, keys, each)?;
    Ok((flat_places(size.bits, size.hashes)?, (keys / 2).max(1), pasts))
}

impl Mechanism for Epochs {
    const FACTS: Facts = Facts {
        id: "forgetful",
        number: 137,
        aliases: &["forgetful-bloom", "fbf"],
        family: "decay",
        text: Text::new(include_str!("forgetful.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const SPECIALS: &'static [Special<Forgetful>] = &[
        Special::act("refresh", Takes::Nothing, "ends the period now", |filter, _| {
            filter.mechanism.refresh_now();
            Ok(Reply::Done)
        }),
        Special::ask("retention", Takes::Nothing, "the periods for which a key is found, at least", |filter, _| {
            Ok(filter.mechanism.control.pasts.into())
        }),
        Special::ask("changes", Takes::Nothing, "the latest changes of the controller", |filter, _| {
            let row = |change: &Change| [change.epoch, change.period, change.pasts].map(Reply::from).into();
            let rows = filter.mechanism.control.latest.iter().map(row).collect();
            Ok(Reply::Table(&["refreshes before", "period", "past filters"], rows))
        }),
    ];

    type Settings = ForgetfulSettings;

    fn resolve(asked: &ForgetfulSettings) -> Result<ForgetfulSettings> {
        let (places, capacity, pasts) = shape(asked)?;
        Ok(ForgetfulSettings {
            items: Some(capacity),
            bits: Some(generations::bits(u64::from(pasts) + 2, places.counters())),
            hashes: Some(places.hashes()),
            pasts: Some(pasts),
            refresh: Some(REFRESH.need(asked.refresh)?),
            period: Some(PERIOD.need(asked.period)?),
            ..asked.clone()
        })
    }

    fn plan(settings: &ForgetfulSettings) -> Result<Plan> {
        let (places, capacity, pasts) = shape(settings)?;
        let bits = generations::bits(u64::from(pasts) + 2, places.counters());
        let fpr = forgetful_rate(places.counters(), places.hashes(), capacity, pasts, capacity);
        Ok(Plan { bits, hashes: places.hashes(), items: Some(capacity), fpr: Some(fpr) })
    }

    fn empty(settings: &ForgetfulSettings, _: &Hashing) -> Result<Self> {
        let (places, capacity, pasts) = shape(settings)?;
        let ring = Ring::zeroed(pasts as usize + 2, places)?;
        let period = PERIOD.need(settings.period)?;
        let control = Control { period, pasts: pasts.into(), changes: 0, latest: Vec::new() };
        Self::of(settings, ring, capacity, control, 0)
    }

    fn domain(settings: &ForgetfulSettings) -> String {
        domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        self.ring.stats(items, self.rate())
    }

    fn figures(&self) -> Vec<Figure> {
        let figure = |name, value| Figure { name, value: Setting::Count(value) };
        let mut figures = vec![figure("refreshes", self.ring.turns())];
        if self.refresh == Refresh::Controlled {
            let Control { period, pasts, changes, .. } = self.control;
            figures.extend([figure("period now", period), figure("past filters", pasts), figure("changes", changes)]);
        }
        figures
    }

    fn expected(&self, items: u64) -> Rates {
        let (m, k) = (self.ring.places().counters(), self.ring.places().hashes());
        let pasts = self.control.pasts as u32;
        if self.refresh != Refresh::Count {
            // Time does not pass by itself.
            let rate = neighbours_rate([standard::expected_rate(m, items, k); 2]);
            return Rates { false_positive: Some(rate), false_negative: Some(0.0), ..Rates::default() };
        }
        let loads = forgetful_loads(self.capacity, pasts, items);
        let rate = forgetful_rate(m, k, self.capacity, pasts, items);
        let whole = items.saturating_sub(1) / self.capacity;
        let held = loads[FUTURE].saturating_add(whole.min(pasts.into()) * self.capacity);
        let gone = items.saturating_sub(held);
        // Those of the period before are in the last filter still, and seem present if its neighbour errs.
        let half_gone = gone.min(self.capacity);
        let neighbour = standard::expected_rate(m, loads[pasts as usize], k);
        let missed = (gone - half_gone) as f64 * (1.0 - rate) + half_gone as f64 * (1.0 - neighbour);
        let false_negative = Some(missed / items.max(1) as f64);
        Rates { false_positive: Some(rate), false_negative, ..Rates::default() }
    }

    /// State: u64 items; u64 keys of this period, u64 period, u64 past filters, u64 changes, u8 changes that are known, three u64 for
    /// each of the 16 that there may be; the ring. Stores: those of the ring.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        let (state, control) = (encoder.state(), &self.control);
        for number in [items, self.keys, control.period, control.pasts, control.changes] {
            state.u64(number);
        }
        state.u8(control.latest.len() as u8);
        // As many as there may be, so that the state keeps its length in the file.
        for i in 0..KEPT_CHANGES {
            let change = control.latest.get(i).map(|change| [change.epoch, change.period, change.pasts]);
            for number in change.unwrap_or_default() {
                state.u64(number);
            }
        }
        self.ring.encode(encoder);
    }

    fn decode(settings: &ForgetfulSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (places, capacity, most) = shape(settings)?;
        let state = decoder.state();
        let [items, keys, period, pasts, changes] =
            [state.u64()?, state.u64()?, state.u64()?, state.u64()?, state.u64()?];
        let known = usize::from(state.u8()?);
        if known > KEPT_CHANGES || !(1..=most.into()).contains(&pasts) || !(1..=LONGEST).contains(&period) {
            let expected = format!("1 to {most} past filters, a period of 1 to {LONGEST}, {KEPT_CHANGES} changes");
            let found = format!("{pasts}, {period}, {known}");
            return Err(Error::corrupt("the controller", expected, found));
        }
        if keys > u64::MAX / 4 || changes > u64::MAX / 4 {
            return Err(Error::corrupt("keys and changes", format!("at most {}", u64::MAX / 4), keys.max(changes)));
        }
        let change = |_| Ok(Change { epoch: state.u64()?, period: state.u64()?, pasts: state.u64()? });
        let mut latest = (0..KEPT_CHANGES).map(change).collect::<Result<Vec<_>>>()?;
        if latest.split_off(known).iter().any(|change| *change != Change { epoch: 0, period: 0, pasts: 0 }) {
            return Err(Error::corrupt("changes that are not known", "zeros", "numbers"));
        }
        let ring = Ring::decode(decoder, most as usize + 2, places, u64::MAX / 4)?;
        let control = Control { period, pasts, changes, latest };
        Ok((Self::of(settings, ring, capacity, control, keys)?, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.ring.reach()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        for role in [FUTURE, PRESENT] {
            self.ring.prefetch(role, self.own(role, digest));
        }
    }
}

impl Test for Epochs {
    /// The newest first; one filter alone is taken for wrong.
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        let mut newer = false;
        (0..self.control.pasts as usize + 2).any(|role| {
            let has = self.ring.test(role, self.own(role, key.digest));
            std::mem::replace(&mut newer, has) && has
        })
    }
}

impl Put for Epochs {
    type Note<'a> = ();
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        if self.test(key) {
            return false;
        }
        if self.refresh == Refresh::Count && self.keys >= self.capacity {
            self.refresh_now();
        }
        self.ring.tidy(self.capacity);
        for role in [FUTURE, PRESENT] {
            let digest = self.own(role, key.digest);
            self.ring.put(role, digest);
        }
        self.keys += 1;
        if self.refresh == Refresh::Controlled && self.keys >= self.limit() {
            self.hold_down();
        }
        true
    }
}

impl Age for Epochs {
    fn age(&mut self, ticks: u64) {
        match self.refresh {
            Refresh::Count => {
                let (capacity, total) = (u128::from(self.capacity), u128::from(self.keys) + u128::from(ticks));
                let turns = total.saturating_sub(1) / capacity;
                self.ring.turn_times(turns, FUTURE);
                self.keys = (total - turns * capacity) as u64;
            }
            Refresh::Ticks => {
                if self.ring.ticks().saturating_add(ticks) >= self.period {
                    self.keys = 0;
                }
                self.ring.wait(ticks, self.period, FUTURE);
            }
            Refresh::Controlled => self.pass(ticks),
        }
    }
}

impl Epochs {
    fn of(settings: &ForgetfulSettings, ring: Ring, capacity: u64, control: Control, keys: u64) -> Result<Self> {
        Ok(Epochs {
            ring,
            capacity,
            refresh: REFRESH.need(settings.refresh)?,
            target: FPR.need(settings.fpr)?,
            period: PERIOD.need(settings.period)?,
            pasts: PASTS.need::<u32>(settings.pasts)?.into(),
            control,
            keys,
        })
    }

    /// The digest of a key in the filter of this role: each epoch has hash functions of its own, so that neighbours err independently.
    #[inline]
    fn own(&self, role: usize, digest: Digest) -> Digest {
        digest.derive(self.ring.turns().wrapping_sub(role as u64).wrapping_add(FIRST_EPOCH))
    }

    /// The rate now.
    fn rate(&self) -> f64 {
        neighbours_rate((0..self.control.pasts as usize + 2).map(|role| self.ring.rate(role)))
    }

    fn refresh_now(&mut self) {
        self.ring.turn(FUTURE);
        self.keys = 0;
    }

    fn change(&mut self, period: u64, pasts: u64) {
        let Control { latest, changes, .. } = &mut self.control;
        if latest.len() == KEPT_CHANGES {
            latest.remove(0);
        }
        latest.push(Change { epoch: self.ring.turns(), period, pasts });
        *changes += 1;
        (self.control.period, self.control.pasts) = (period, pasts);
    }

    /// The keys of a period beyond which the rate would exceed the target in the periods to come: (N+1) f(m,k,2n)^2 = F.
    fn limit(&self) -> u64 {
        let (m, k) = (self.ring.places().counters(), self.ring.places().hashes());
        (standard::capacity(m, k, (self.target / (self.control.pasts as f64 + 1.0)).sqrt()) / 2).max(1)
    }

    /// When a period has as many keys as the target allows: ends it if it has lasted a tick or more, and all later ones as early;
    /// within a tick, where there is nothing to shorten, asks one past filter less.
    fn hold_down(&mut self) {
        let Control { period, pasts, .. } = self.control;
        if self.ring.ticks() >= 1 {
            if self.ring.ticks() < period {
                self.change(self.ring.ticks(), pasts);
            }
            self.refresh_now();
        } else if pasts > 1 {
            self.change(period, pasts - 1);
        }
    }

    /// Lets ticks pass under control: at the end of a period whose rate is below a quarter of the target, past filters that were
    /// given up come back, and then periods grow by a quarter.
    fn pass(&mut self, ticks: u64) {
        let mut left = ticks;
        let mut quiet = 0;
        loop {
            let Control { period, pasts, .. } = self.control;
            let room = period.saturating_sub(self.ring.ticks()).max(1);
            if left < room {
                let now = self.ring.ticks();
                return self.ring.wait(left, now.saturating_add(left).saturating_add(1), FUTURE);
            }
            left -= room;
            let is_low = self.rate() < self.target / 4.0;
            // An empty filter says nothing of the stream to come.
            let is_used = self.keys > 0;
            if is_low && is_used && pasts < self.pasts {
                self.change(period, pasts + 1);
            } else if is_low && is_used && period < LONGEST {
                self.change((period + period.div_ceil(4)).min(LONGEST), pasts);
            }
            quiet = if is_used { 0 } else { quiet + 1 };
            self.refresh_now();
            if quiet > 2 * self.ring.len() as u64 + 2 {
                // Nothing is left, and periods stay as they are.
                let period = self.control.period;
                self.ring.turn_times((left / period).into(), FUTURE);
                left %= period;
            }
        }
    }
}

/// The number of the first epoch in hashing; any would do.
const FIRST_EPOCH: u64 = 1 << 32;

impl Forgetful {
    /// A forgetful filter of `bits` bits in all, with two past filters, whose false-positive rate stays below `fpr`.
    ///
    /// ```
    /// use bouquet::Forgetful;
    /// let filter = Forgetful::with_size(100_000, 1e-4)?;
    /// assert!(filter.settings().items.is_some_and(|items| (1_100..1_200).contains(&items)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, fpr: f64) -> Result<Self> {
        Self::with(ForgetfulSettings { bits: Some(bits), fpr: Some(fpr), ..Default::default() })
    }

    /// Ends the period now.
    ///
    /// ```
    /// use bouquet::Forgetful;
    /// let mut filter = Forgetful::with_rate(100, 0.01)?;
    /// filter.insert("rose");
    /// [1, 2].map(|_| filter.refresh());
    /// assert!(filter.contains("rose"), "for two periods");
    /// filter.refresh();
    /// assert!(!filter.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn refresh(&mut self) {
        self.mechanism.refresh_now();
    }
}

#[cfg(test)]
mod tests;
