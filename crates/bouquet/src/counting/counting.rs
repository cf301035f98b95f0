#![doc = include_str!("counting.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::coder::{self, counters_entropy};
use crate::error::Result;
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Text, common, kind};
use crate::parts::counter_array::{
    COUNTERS, CounterArray, CounterStore, Placement, Places, Sizes, nonzero, sub_from_all,
};
use crate::parts::counting_over::{CountingOver, CountingStore, POLICY, StoreSettings, TellsCounts};
use crate::shell::{ByRate, Choice, Code, Fields, Filter, Settings, fields};
use crate::store::{BitStore, Counters};

pub use crate::parts::counter_array::Arrangement;
pub use crate::parts::counting_over::Policy;

/// The registry's row.
pub const KIND: Kind = kind!(Counting);

/// A counting Bloom filter.
///
/// ```
/// use bouquet::Counting;
/// let mut filter = Counting::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// filter.insert("rose")?;
/// assert_eq!(filter.count("rose").count, 2);
/// filter.remove("rose")?;
/// assert!(filter.contains("rose"));
/// filter.remove("rose")?;
/// assert!(!filter.contains("rose"));
/// assert!(filter.remove("rose").is_err(), "nothing is left to remove");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Counting = Filter<CountingOver<MirroredCounters>>;

const WIDTH: Parameter = Parameter::count(
    "width",
    "bits per counter; for keys that come up to f times log2(f + 16) or more",
    1,
    coder::MAX_WIDTH as u64,
)
.or(4);
const LAYOUT: Parameter = Parameter::choice(
    "layout",
    "positions anywhere (flat), or one in each of as many slices as there are hashes (sliced)",
    Arrangement::WORDS,
);
const MIRROR: Parameter = Parameter::flag("mirror", "keep a bit per counter as well, for faster queries");

/// The settings of a counting Bloom filter.
///
/// ```
/// use bouquet::{Counting, CountingSettings, counting::counting::Policy};
/// let (items, width, policy) = (Some(1_000), Some(8), Some(Policy::Widen));
/// let mut filter = Counting::with(CountingSettings { items, width, policy, ..Default::default() })?;
/// filter.insert_batch(&["rose"; 1_000])?;
/// assert_eq!((filter.count("rose").count, filter.settings().width), (1_000, Some(10)));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountingSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The number of counters.
    pub counters: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Bits per counter.
    pub width: Option<u32>,
    /// What a full counter does.
    pub policy: Option<Policy>,
    /// How the positions of a key are spread.
    pub layout: Option<Arrangement>,
    /// Whether there is a bit per counter as well.
    pub mirror: Option<bool>,
}

impl Settings for CountingSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        counters: COUNTERS,
        hashes: common::HASHES,
        width: WIDTH,
        policy: POLICY,
        layout: LAYOUT,
        mirror: MIRROR,
    ];

    const DESIGN: &'static [&'static str] = &[common::ITEMS.name, common::FPR.name, MIRROR.name];
}

impl ByRate for CountingSettings {}

impl StoreSettings for CountingSettings {
    fn sizes(&self) -> Sizes {
        let CountingSettings { items, fpr, counters, hashes, .. } = *self;
        Sizes { items, fpr, counters, hashes }
    }

    fn sized(self, counters: u64, hashes: u32) -> Self {
        CountingSettings { counters: Some(counters), hashes: Some(hashes), ..self }
    }

    fn policy(&self) -> Policy {
        self.policy.unwrap_or_default()
    }

    fn arrangement(&self) -> Arrangement {
        self.layout.unwrap_or(Arrangement::Flat)
    }

    fn of_any_width(self) -> Self {
        CountingSettings { width: None, ..self }
    }
}

/// Counters of a fixed width and, if asked for, a bit for each.
#[derive(Clone, Debug, PartialEq)]
pub struct MirroredCounters {
    pub(crate) counters: Counters,
    /// One bit per counter, set where it is not zero.
    mirror: Option<BitStore>,
}

impl MirroredCounters {
    pub(crate) fn new(counters: Counters, is_mirrored: bool) -> Result<Self> {
        let mirror = if is_mirrored { Some(nonzero(&counters)?) } else { None };
        Ok(MirroredCounters { counters, mirror })
    }

    fn of(settings: &CountingSettings, counters: Counters) -> Result<Self> {
        Self::new(counters, MIRROR.need(settings.mirror)?)
    }
}

impl CounterStore for MirroredCounters {
    #[inline]
    fn max(&self) -> u64 {
        self.counters.max()
    }

    #[inline]
    fn get(&self, index: u64) -> u64 {
        self.counters.get(index)
    }

    #[inline]
    fn add(&mut self, index: u64, amount: u64) -> u64 {
        if let (Some(mirror), true) = (&mut self.mirror, amount > 0) {
            mirror.set(index);
        }
        self.counters.add(index, amount)
    }

    #[inline]
    fn sub(&mut self, index: u64, amount: u64) {
        self.counters.sub(index, amount);
        if let (Some(mirror), 0) = (&mut self.mirror, self.counters.get(index)) {
            mirror.clear(index);
        }
    }

    #[inline]
    fn prefetch(&self, index: u64) {
        self.counters.prefetch(index);
    }

    #[inline]
    fn prefetched_bits(&self) -> u64 {
        self.counters.bits()
    }

    #[inline]
    fn read_each(&self, places: impl Iterator<Item = u64>, visit: impl FnMut(u64)) {
        self.counters.read_each(places, visit);
    }

    #[inline]
    fn update_each(&mut self, places: impl Iterator<Item = u64>, mut change: impl FnMut(u64) -> u64) {
        if self.mirror.is_some() {
            return places.for_each(|place| self.change(place, &mut change));
        }
        self.counters.update_each(places, change);
    }
}

impl CountingStore for MirroredCounters {
    const FACTS: Facts = Facts {
        id: "counting",
        number: 50,
        aliases: &["CBF", "counting-bloom"],
        family: "counting",
        text: Text::new(include_str!("counting.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;
    const SHARED: bool = true;

    type Settings = CountingSettings;

    fn resolve(settings: CountingSettings) -> Result<CountingSettings> {
        Ok(CountingSettings {
            width: Some(WIDTH.need(settings.width)?),
            policy: Some(POLICY.need(settings.policy)?),
            layout: Some(LAYOUT.need(settings.layout)?),
            mirror: Some(MIRROR.need(settings.mirror)?),
            ..settings
        })
    }

    fn planned_bits(settings: &CountingSettings, places: &Places) -> Result<u64> {
        let bits_per_place = WIDTH.need(settings.width)? + u32::from(MIRROR.need(settings.mirror)?);
        Counters::bits_needed(places.counters(), bits_per_place)
    }

    fn empty(settings: &CountingSettings, places: &Places) -> Result<Self> {
        Self::of(settings, Counters::zeroed(places.counters(), WIDTH.need(settings.width)?)?)
    }

    fn settings(&self, resolved: &CountingSettings) -> CountingSettings {
        CountingSettings { width: Some(self.counters.width()), ..resolved.clone() }
    }

    fn bits(&self) -> u64 {
        self.counters.bits() + self.mirror.as_ref().map_or(0, BitStore::len)
    }

    fn nonzero(&self) -> Result<BitStore> {
        self.mirror.clone().map_or_else(|| nonzero(&self.counters), Ok)
    }

    fn wider(&self, value: u64) -> Result<Option<Self>> {
        let width = u64::BITS - value.leading_zeros();
        if width > coder::MAX_WIDTH {
            return Ok(None);
        }
        Ok(Some(MirroredCounters { counters: self.counters.rewidth(width)?, mirror: self.mirror.clone() }))
    }

    /// Store: the counters. The mirror follows from them.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.counters(&self.counters);
    }

    fn decode(settings: &CountingSettings, decoder: &mut Decoder<'_>, places: &Places) -> Result<Self> {
        Self::of(settings, decoder.counters(places.counters(), WIDTH.need(settings.width)?)?)
    }

    #[inline]
    fn contains(CounterArray { places, store }: &CounterArray<Self>, digest: Digest) -> bool {
        match &store.mirror {
            Some(mirror) => places.all_ones(mirror, digest),
            None => places.all_nonzero(&store.counters, digest),
        }
    }

    fn contains_batch<K: Key>(
        CounterArray { places, store }: &CounterArray<Self>,
        hashing: &Hashing,
        keys: &[K],
        answers: &mut [bool],
    ) -> bool {
        match &store.mirror {
            Some(mirror) => {
                places.all_ones_batch(mirror, hashing, keys, answers);
                true
            }
            None => places.all_nonzero_batch(&store.counters, hashing, keys, answers),
        }
    }

    #[inline]
    fn increment(CounterArray { places, store }: &mut CounterArray<Self>, digest: Digest) -> (bool, u64) {
        if let Some(mirror) = &mut store.mirror {
            places.set_ones(mirror, digest);
        }
        places.increment(&mut store.counters, digest)
    }

    #[inline]
    fn decrement(CounterArray { places, store }: &mut CounterArray<Self>, digest: Digest, frozen: u64) {
        let MirroredCounters { counters, mirror } = store;
        sub_from_all(counters, places, digest, 1, frozen);
        if let Some(mirror) = mirror {
            places.of(digest).filter(|&place| counters.get(place) == 0).for_each(|place| mirror.clear(place));
        }
    }
}

impl TellsCounts for MirroredCounters {}

impl Code for CountingOver<MirroredCounters> {
    fn entropy_bits(&self) -> f64 {
        counters_entropy(self.cells.store.counters.iter().map(|counter| counter as u32))
    }
}

impl Counting {
    /// The counters.
    ///
    /// ```
    /// use bouquet::Counting;
    /// let mut filter = Counting::with_size(1_000, 5)?;
    /// filter.insert("rose")?;
    /// assert_eq!((filter.counters().len(), filter.counters().iter().sum::<u64>()), (1_000, 5));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.mechanism.cells.store.counters
    }
}

#[cfg(test)]
mod tests;
