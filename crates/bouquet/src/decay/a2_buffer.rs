#![doc = include_str!("a2_buffer.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::hash::{Digest, Hashing};
use crate::kind::{ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Setting, Stats, Text, common, kind};
use crate::parts::bit_array::{domain, flat_places};
use crate::parts::counter_array::Places;
use crate::parts::generations::{self, PERIOD, Ring};
use crate::shell::{Age, ByRate, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, fields};
use crate::theory::generations::{either_rate, rate_of_each};
use crate::theory::standard;

/// The registry's row.
pub const KIND: Kind = kind!(A2Buffer);

/// Two filters that are both asked: the recent keys and those before them.
///
/// ```
/// use bouquet::A2Buffer;
/// let mut seen = A2Buffer::with_rate(1_000, 0.01)?; // finds the last thousand distinct keys, and up to two thousand
/// assert!(seen.insert("rose") && !seen.insert("rose"));
/// (0..1_900u64).for_each(|key| _ = seen.insert(&key));
/// assert!((900..1_900u64).all(|key| seen.contains(&key)));
/// (1_900..4_000u64).for_each(|key| _ = seen.insert(&key));
/// assert!(!seen.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type A2Buffer = Filter<TwoActive>;

const ITEMS: Parameter =
    Parameter { help: "the latest distinct keys that are always found: what each filter takes", ..common::ITEMS };
const FPR: Parameter = Parameter { help: "limit of the false-positive rate of both filters together", ..common::FPR };
const BITS: Parameter = Parameter { help: "size in bits of both filters together", ..common::BITS };

/// The settings of two active buffers.
///
/// ```
/// use bouquet::{A2Buffer, A2BufferSettings};
/// let settings = A2BufferSettings { bits: Some(20_000), fpr: Some(0.01), ..Default::default() };
/// assert_eq!(A2Buffer::with(settings)?.settings().items, Some(905)); // 11 bits each, at half of the rate
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct A2BufferSettings {
    /// The latest distinct keys that are always found.
    pub items: Option<u64>,
    /// The limit of the false-positive rate.
    pub fpr: Option<f64>,
    /// The size of both filters together.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Ticks after which the filters change roles at the latest.
    pub period: Option<u64>,
}

impl Settings for A2BufferSettings {
    const FIELDS: Fields<Self> = fields![items: ITEMS, fpr: FPR, bits: BITS, hashes: common::HASHES, period: PERIOD];
}

impl ByRate for A2BufferSettings {}

/// The roles.
const RECENT: usize = 0;
const PREVIOUS: usize = 1;

/// The recent keys, and the previous ones.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoActive {
    ring: Ring,
    /// The keys that each filter takes.
    capacity: u64,
    period: Option<u64>,
}

/// The places of keys in each filter and the keys that it takes.
fn shape(settings: &A2BufferSettings) -> Result<(Places, u64)> {
    let each = rate_of_each(FPR.need(settings.fpr)?);
    let (size, keys) = generations::size(2, settings.bits, settings.hashes, settings.items, each)?;
    Ok((flat_places(size.bits, size.hashes)?, keys))
}

/// The rate after this many different keys.
fn rate(places: &Places, capacity: u64, keys: u64) -> f64 {
    let rotations = keys.saturating_sub(1) / capacity;
    let of = |keys| standard::expected_rate(places.counters(), keys, places.hashes());
    either_rate(of(keys - rotations * capacity), of(if rotations > 0 { capacity } else { 0 }))
}

impl Mechanism for TwoActive {
    const FACTS: Facts = Facts {
        id: "a2-buffer",
        number: 136,
        aliases: &["a2-buffering", "two-active-buffers"],
        family: "decay",
        text: Text::new(include_str!("a2_buffer.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    type Settings = A2BufferSettings;

    fn resolve(asked: &A2BufferSettings) -> Result<A2BufferSettings> {
        let (places, capacity) = shape(asked)?;
        Ok(A2BufferSettings {
            items: Some(capacity),
            bits: Some(generations::bits(2, places.counters())),
            hashes: Some(places.hashes()),
            ..asked.clone()
        })
    }

    fn plan(settings: &A2BufferSettings) -> Result<Plan> {
        let (places, capacity) = shape(settings)?;
        let (bits, hashes) = (generations::bits(2, places.counters()), places.hashes());
        Ok(Plan { bits, hashes, items: Some(capacity), fpr: Some(rate(&places, capacity, capacity)) })
    }

    fn empty(settings: &A2BufferSettings, _: &Hashing) -> Result<Self> {
        let (places, capacity) = shape(settings)?;
        Ok(TwoActive { ring: Ring::zeroed(2, places)?, capacity, period: settings.period })
    }

    fn domain(settings: &A2BufferSettings) -> String {
        domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        self.ring.stats(items, either_rate(self.ring.rate(RECENT), self.ring.rate(PREVIOUS)))
    }

    fn figures(&self) -> Vec<Figure> {
        let figure = |name, value| Figure { name, value: Setting::Count(value) };
        vec![figure("recent keys", self.ring.keys(RECENT)), figure("rotations", self.ring.turns())]
    }

    fn expected(&self, items: u64) -> Rates {
        let rotations = items.saturating_sub(1) / self.capacity;
        let gone = rotations.saturating_sub(1) * self.capacity;
        let false_positive = rate(self.ring.places(), self.capacity, items);
        let missed = if gone == 0 { 0.0 } else { gone as f64 / items as f64 * (1.0 - false_positive) };
        Rates { false_positive: Some(false_positive), false_negative: Some(missed), ..Rates::default() }
    }

    /// State: items, 8 bytes; the ring. Stores: those of the ring.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        self.ring.encode(encoder);
    }

    fn decode(settings: &A2BufferSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (places, capacity) = shape(settings)?;
        let items = decoder.state().u64()?;
        let ring = Ring::decode(decoder, 2, places, capacity)?;
        Ok((TwoActive { ring, capacity, period: settings.period }, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.ring.reach()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        for role in [RECENT, PREVIOUS] {
            self.ring.prefetch(role, digest);
        }
    }
}

impl Test for TwoActive {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.ring.test(RECENT, key.digest) || self.ring.test(PREVIOUS, key.digest)
    }
}

impl Put for TwoActive {
    type Note<'a> = ();
    type Outcome = bool;

    /// The previous keys are asked before the filters change roles: a key that only they have is known, and recent from now on.
    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        if self.ring.test(RECENT, key.digest) {
            return false;
        }
        let fresh = !self.ring.test(PREVIOUS, key.digest);
        if self.ring.keys(RECENT) >= self.capacity {
            self.ring.turn(RECENT);
        }
        self.ring.tidy(self.capacity);
        self.ring.put(RECENT, key.digest);
        fresh
    }
}

impl Age for TwoActive {
    /// With a period, changes roles when it is over. Without, ticks are arrivals of keys that leave no bits.
    fn age(&mut self, ticks: u64) {
        match self.period {
            Some(period) => self.ring.wait(ticks, period, RECENT),
            None => self.ring.idle(ticks, self.capacity),
        }
    }
}

impl A2Buffer {
    /// Two active buffers of `bits` bits in all whose false-positive rate stays below `fpr`.
    ///
    /// ```
    /// use bouquet::A2Buffer;
    /// let filter = A2Buffer::with_size(100_000, 0.01)?;
    /// assert_eq!(filter.settings().items, Some(4_528));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, fpr: f64) -> Result<Self> {
        Self::with(A2BufferSettings { bits: Some(bits), fpr: Some(fpr), ..Default::default() })
    }
}

#[cfg(test)]
mod tests;
