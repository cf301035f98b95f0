#![doc = include_str!("double_buffer.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::hash::{Digest, Hashing};
use crate::kind::{ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Setting, Stats, Text, common, kind};
use crate::parts::bit_array::{domain, flat_places};
use crate::parts::counter_array::Places;
use crate::parts::generations::{self, PERIOD, Ring};
use crate::shell::{Age, ByRate, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, choices, fields};
use crate::theory::generations::active_keys;
use crate::theory::standard;

/// The registry's row.
pub const KIND: Kind = kind!(DoubleBuffer);

/// Two filters of which one answers while the other warms up.
///
/// ```
/// use bouquet::DoubleBuffer;
/// let mut cache = DoubleBuffer::with_rate(1_000, 0.01)?; // finds the last thousand keys, and up to two thousand
/// assert!(cache.insert("rose") && !cache.insert("rose"));
/// (0..1_500u64).for_each(|key| _ = cache.insert(&key));
/// assert!((500..1_500u64).all(|key| cache.contains(&key)));
/// (1_500..4_000u64).for_each(|key| _ = cache.insert(&key));
/// assert!(!cache.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type DoubleBuffer = Filter<Buffers>;

const ITEMS: Parameter = Parameter {
    help: "the latest distinct keys that are always found: half of what the active filter takes",
    ..common::ITEMS
};
const FPR: Parameter = Parameter { help: "limit of the false-positive rate, just before a swap", ..common::FPR };
const BITS: Parameter = Parameter { help: "size in bits of both filters together", ..common::BITS };
const FULL: Parameter = Parameter::choice(
    "full",
    "when the active filter is full: at twice the items, or when half of its bits are ones",
    <Full as crate::shell::Choice>::WORDS,
);

/// When the active filter is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// At twice the items.
    Count,
    /// When half of its bits are ones.
    Fill,
}

choices!(Full { Count = "count", Fill = "fill" });

/// The settings of a double buffer.
///
/// ```
/// use bouquet::{DoubleBuffer, DoubleBufferSettings};
/// let settings = DoubleBufferSettings { bits: Some(20_000), fpr: Some(0.01), ..Default::default() };
/// assert_eq!(DoubleBuffer::with(settings)?.settings().items, Some(520)); // 9.6 bits for each of 1040 in a filter
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DoubleBufferSettings {
    /// The latest distinct keys that are always found.
    pub items: Option<u64>,
    /// The limit of the false-positive rate.
    pub fpr: Option<f64>,
    /// The size of both filters together.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// When the active filter is full.
    pub full: Option<Full>,
    /// Ticks after which the filters swap at the latest.
    pub period: Option<u64>,
}

impl Settings for DoubleBufferSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        fpr: FPR,
        bits: BITS,
        hashes: common::HASHES,
        full: FULL,
        period: PERIOD,
    ];
}

impl ByRate for DoubleBufferSettings {}

/// The roles.
const ACTIVE: usize = 0;
const WARM_UP: usize = 1;

/// An active filter and one that warms up.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffers {
    ring: Ring,
    /// The keys from which on the other filter warms up: half of what the active one takes.
    half: u64,
    full: Full,
    period: Option<u64>,
}

/// The places of keys in each filter and half of the keys that it takes.
fn shape(settings: &DoubleBufferSettings) -> Result<(Places, u64)> {
    let keys = settings.items.map(|items| items.saturating_mul(2));
    let fpr = FPR.need(settings.fpr)?;
    let (size, keys) = generations::size(2, settings.bits, settings.hashes, keys, fpr)?;
    Ok((flat_places(size.bits, size.hashes)?, (keys / 2).max(1)))
}

impl Mechanism for Buffers {
    const FACTS: Facts = Facts {
        id: "double-buffer",
        number: 135,
        aliases: &["double-buffering"],
        family: "decay",
        text: Text::new(include_str!("double_buffer.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    type Settings = DoubleBufferSettings;

    fn resolve(asked: &DoubleBufferSettings) -> Result<DoubleBufferSettings> {
        let (places, half) = shape(asked)?;
        Ok(DoubleBufferSettings {
            items: Some(half),
            bits: Some(generations::bits(2, places.counters())),
            hashes: Some(places.hashes()),
            full: Some(FULL.need(asked.full)?),
            ..asked.clone()
        })
    }

    fn plan(settings: &DoubleBufferSettings) -> Result<Plan> {
        let (places, half) = shape(settings)?;
        let (bits, hashes) = (generations::bits(2, places.counters()), places.hashes());
        let fpr = Some(standard::expected_rate(places.counters(), half, hashes));
        Ok(Plan { bits, hashes, items: Some(half), fpr })
    }

    fn empty(settings: &DoubleBufferSettings, _: &Hashing) -> Result<Self> {
        let (places, half) = shape(settings)?;
        let (full, period) = (FULL.need(settings.full)?, settings.period);
        Ok(Buffers { ring: Ring::zeroed(2, places)?, half, full, period })
    }

    fn domain(settings: &DoubleBufferSettings) -> String {
        domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        self.ring.stats(items, self.ring.rate(ACTIVE))
    }

    fn figures(&self) -> Vec<Figure> {
        let figure = |name, value| Figure { name, value: Setting::Count(value) };
        vec![figure("active keys", self.ring.keys(ACTIVE)), figure("swaps", self.ring.turns())]
    }

    fn expected(&self, items: u64) -> Rates {
        let (m, k) = (self.ring.places().counters(), self.ring.places().hashes());
        let full = match self.full {
            Full::Count => 2 * self.half,
            // 1 - e^(-kn/m) = 1/2.
            Full::Fill => (m as f64 * std::f64::consts::LN_2 / f64::from(k)).ceil() as u64,
        };
        let held = active_keys(full, self.half, items).min(items);
        let false_positive = standard::expected_rate(m, held, k);
        let gone = if items == 0 { 0.0 } else { (items - held) as f64 / items as f64 };
        Rates {
            false_positive: Some(false_positive),
            false_negative: Some(gone * (1.0 - false_positive)),
            ..Rates::default()
        }
    }

    /// State: items, 8 bytes; the ring. Stores: those of the ring.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        self.ring.encode(encoder);
    }

    fn decode(settings: &DoubleBufferSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (places, half) = shape(settings)?;
        let items = decoder.state().u64()?;
        // By fill a filter may take more keys than it was planned for, but not more than it has bits.
        let most = half.saturating_mul(4).max(places.counters());
        let ring = Ring::decode(decoder, 2, places, most)?;
        Ok((Buffers { ring, half, full: FULL.need(settings.full)?, period: settings.period }, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.ring.reach()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.ring.prefetch(ACTIVE, digest);
        if self.is_late() {
            self.ring.prefetch(WARM_UP, digest);
        }
    }

    #[inline]
    fn prefetch_to_test(&self, digest: Digest) {
        self.ring.prefetch(ACTIVE, digest);
    }
}

impl Test for Buffers {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.ring.test(ACTIVE, key.digest)
    }
}

impl Put for Buffers {
    type Note<'a> = ();
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let fresh = !self.test(key);
        self.ring.tidy(self.half);
        if fresh {
            self.ring.put(ACTIVE, key.digest);
        }
        if self.is_late() {
            self.ring.put(WARM_UP, key.digest);
        }
        if self.is_full() {
            self.ring.turn(WARM_UP);
        }
        fresh
    }
}

impl Age for Buffers {
    /// With a period, swaps when it is over. Without, ticks are arrivals of keys that leave no bits.
    fn age(&mut self, ticks: u64) {
        match self.period {
            Some(period) => self.ring.wait(ticks, period, WARM_UP),
            None => self.idle(ticks),
        }
    }
}

impl Buffers {
    /// Whether the active filter is more than half full.
    #[inline]
    fn is_late(&self) -> bool {
        self.ring.keys(ACTIVE) > self.half || self.period.is_some_and(|period| self.ring.ticks() >= period.div_ceil(2))
    }

    #[inline]
    fn is_full(&self) -> bool {
        match self.full {
            Full::Count => self.ring.keys(ACTIVE) >= 2 * self.half,
            Full::Fill => 2 * self.ring.ones(ACTIVE) >= self.ring.places().counters(),
        }
    }

    /// Counts arrivals that leave no bits: swap by swap, until both filters are empty and every swap is like the one before the last.
    fn idle(&mut self, arrivals: u64) {
        let (half, mut left) = (self.half, arrivals);
        let mut swaps = 0;
        loop {
            let (active, warm) = (self.ring.keys(ACTIVE), self.ring.keys(WARM_UP));
            let room = (2 * half).saturating_sub(active).max(1);
            let steps = left.min(room);
            // Those that find the filter more than half full.
            let late = steps.min((active + steps).saturating_sub(half));
            self.ring.count(ACTIVE, active + steps);
            self.ring.count(WARM_UP, warm + late);
            left -= steps;
            if steps < room {
                return;
            }
            self.ring.turn(WARM_UP);
            swaps += 1;
            // From an active filter that counts half on, a swap comes every `half` arrivals; two of them restore the roles.
            if swaps >= 4 && self.ring.keys(ACTIVE) == half {
                let skipped = left / (2 * half) * 2;
                left -= skipped * half;
                self.ring.turn_times(skipped.into(), WARM_UP);
                self.ring.count(ACTIVE, half);
                swaps = 0;
            }
        }
    }
}

impl DoubleBuffer {
    /// A double buffer of `bits` bits in all whose false-positive rate stays below `fpr`.
    ///
    /// ```
    /// use bouquet::DoubleBuffer;
    /// let filter = DoubleBuffer::with_size(100_000, 0.01)?;
    /// assert_eq!(filter.settings().items, Some(2_603));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, fpr: f64) -> Result<Self> {
        Self::with(DoubleBufferSettings { bits: Some(bits), fpr: Some(fpr), ..Default::default() })
    }
}

#[cfg(test)]
mod tests;
