#![doc = include_str!("ml_ccbf.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::hash::Digest;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Text, common, kind};
use crate::parts::counter_array::{COUNTERS, CounterArray, CounterStore, Places, Sizes};
use crate::parts::counting_over::{CountingOver, CountingStore, StoreSettings, TellsCounts};
use crate::parts::unary_counters::UnaryCounters;
use crate::shell::{ByRate, Choice, Fields, Filter, Settings, choices, fields};
use crate::store::BitStore;

/// The registry's row.
pub const KIND: Kind = kind!(MlCcbf);

/// A counting filter whose counters are columns of ones: half the memory, no overflow.
///
/// ```
/// use bouquet::MlCcbf;
/// let mut filter = MlCcbf::with_rate(1_000, 0.01)?;
/// for _ in 0..10_000 {
///     filter.insert("rose")?;
/// }
/// assert_eq!(filter.count("rose").count, 10_000);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type MlCcbf = Filter<CountingOver<UnaryCounters>>;

/// The number of counters in a block.
///
/// ```
/// use bouquet::{counting::ml_ccbf::Block, shell::Choice};
/// assert_eq!(Block::of(128).map(Block::word), Some("128"));
/// assert_eq!(Block::of(100), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// 512 counters.
    Of512,
    /// 256 counters.
    Of256,
    /// 128 counters.
    Of128,
    /// 64 counters.
    Of64,
}

choices!(Block { Of512 = "512", Of256 = "256", Of128 = "128", Of64 = "64" });

impl Block {
    /// The block of this many counters, if there is one.
    #[must_use]
    pub fn of(counters: u64) -> Option<Self> {
        Self::MEMBERS.iter().copied().find(|block| block.counters() == counters)
    }

    fn counters(self) -> u64 {
        512 >> self as u32
    }
}

const BLOCK: Parameter = Parameter::choice(
    "block",
    "counters of a block; smaller blocks make changes faster and take more memory",
    Block::WORDS,
);

/// The settings of a multilayer counting filter.
///
/// ```
/// use bouquet::{MlCcbf, MlCcbfSettings, counting::ml_ccbf::Block};
/// let block = Some(Block::Of128);
/// let filter = MlCcbf::with(MlCcbfSettings { items: Some(1_000), block, ..Default::default() })?;
/// assert!(filter.stats().bits > MlCcbf::with_rate(1_000, 0.01)?.stats().bits, "more blocks to index");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MlCcbfSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The number of counters.
    pub counters: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Counters of a block.
    pub block: Option<Block>,
}

impl Settings for MlCcbfSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        counters: COUNTERS,
        hashes: common::HASHES,
        block: BLOCK,
    ];

    /// Columns can be added whatever their blocks.
    const DESIGN: &'static [&'static str] = &[common::ITEMS.name, common::FPR.name, BLOCK.name];
}

impl ByRate for MlCcbfSettings {}

impl StoreSettings for MlCcbfSettings {
    fn sizes(&self) -> Sizes {
        let MlCcbfSettings { items, fpr, counters, hashes, .. } = *self;
        Sizes { items, fpr, counters, hashes }
    }

    fn sized(self, counters: u64, hashes: u32) -> Self {
        MlCcbfSettings { counters: Some(counters), hashes: Some(hashes), ..self }
    }
}

/// The counters of a block, and the sum of all counters that there is to be room for: with the planned items or, when
/// they are not given, half full.
fn shape(settings: &MlCcbfSettings, places: &Places) -> Result<(u64, u64)> {
    let half_full = (places.counters() as f64 * std::f64::consts::LN_2).ceil() as u64;
    let sum = settings.items.map_or(half_full, |items| items.saturating_mul(places.hashes().into()));
    Ok((BLOCK.need(settings.block)?.counters(), sum))
}

impl CounterStore for UnaryCounters {
    fn max(&self) -> u64 {
        u64::MAX
    }

    #[inline]
    fn get(&self, index: u64) -> u64 {
        UnaryCounters::get(self, index)
    }

    #[inline]
    fn is_nonzero(&self, index: u64) -> bool {
        UnaryCounters::is_nonzero(self, index)
    }

    #[inline]
    fn add(&mut self, index: u64, amount: u64) -> u64 {
        UnaryCounters::add(self, index, amount)
    }

    #[inline]
    fn sub(&mut self, index: u64, amount: u64) {
        UnaryCounters::sub(self, index, amount);
    }

    #[inline]
    fn prefetch(&self, index: u64) {
        UnaryCounters::prefetch(self, index);
    }

    #[inline]
    fn prefetched_bits(&self) -> u64 {
        self.first_layer().len()
    }
}

impl CountingStore for UnaryCounters {
    const FACTS: Facts = Facts {
        id: "ml-ccbf",
        number: 51,
        aliases: &["ML-CCBF", "MLCCBF", "multilayer-counting"],
        family: "counting",
        text: Text::new(include_str!("ml_ccbf.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = false;

    type Settings = MlCcbfSettings;

    fn resolve(settings: MlCcbfSettings) -> Result<MlCcbfSettings> {
        Ok(MlCcbfSettings { block: Some(BLOCK.need(settings.block)?), ..settings })
    }

    fn planned_bits(settings: &MlCcbfSettings, places: &Places) -> Result<u64> {
        let (block, sum) = shape(settings, places)?;
        Ok(UnaryCounters::planned_bits(places.counters(), block, sum))
    }

    fn empty(settings: &MlCcbfSettings, places: &Places) -> Result<Self> {
        let (block, sum) = shape(settings, places)?;
        UnaryCounters::zeroed(places.counters(), block, sum)
    }

    fn bits(&self) -> u64 {
        UnaryCounters::bits(self)
    }

    fn nonzero(&self) -> Result<BitStore> {
        Ok(self.first_layer().clone())
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        UnaryCounters::encode(self, encoder);
    }

    fn decode(settings: &MlCcbfSettings, decoder: &mut Decoder<'_>, places: &Places) -> Result<Self> {
        UnaryCounters::decode(decoder, places.counters(), BLOCK.need(settings.block)?.counters())
    }

    /// No counter is frozen, and none need be read before it is lowered.
    fn decrement(CounterArray { places, store }: &mut CounterArray<Self>, digest: Digest, _frozen: u64) {
        places.distinct(digest).iter().for_each(|&place| store.sub(place, 1));
    }
}

impl TellsCounts for UnaryCounters {}

impl MlCcbf {
    /// Layer 0: the bits of the plain Bloom filter of the same keys.
    ///
    /// ```
    /// use bouquet::MlCcbf;
    /// let mut filter = MlCcbf::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.first_layer().count_ones(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn first_layer(&self) -> &BitStore {
        self.mechanism.cells.store.first_layer()
    }
}

#[cfg(test)]
mod tests;
