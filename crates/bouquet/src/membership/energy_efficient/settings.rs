//! The settings of a filter that adapts its stages.

use crate::kind::{Parameter, common};
use crate::membership::Sizes;
use crate::membership::staged::{BaseLayout, StagedSettings};
use crate::shell::{ByRate, Choice, Fields, Settings, choices, fields};

/// How the first stage follows the queue.
///
/// ```
/// use bouquet::{EnergyEfficient, EnergyEfficientSettings, membership::energy_efficient::StagePolicy};
/// let asked = EnergyEfficientSettings { items: Some(100), policy: Some(StagePolicy::Predictive), ..Default::default() };
/// assert_eq!(EnergyEfficient::with(asked)?.first(), 2);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagePolicy {
    /// One function more when the queue reaches the high mark, one less when it is at most at the low one.
    Hysteresis,
    /// As many more than the least as the queue is full.
    Proportional,
    /// The cheapest number with which the second stage keeps up, by what arrived and what was found lately.
    Predictive,
    /// The least, whatever waits: the scheme that the others are compared with.
    Fixed,
}

choices!(StagePolicy {
    Hysteresis = "hysteresis",
    Proportional = "proportional",
    Predictive = "predictive",
    Fixed = "fixed",
});

const LAYOUT: Parameter = Parameter::choice("layout", "where the bits of a key lie", BaseLayout::WORDS);
pub(super) const POLICY: Parameter =
    Parameter::choice("policy", "how the first stage follows the queue", StagePolicy::WORDS);
pub(super) const LEAST: Parameter = Parameter::count("least", "the least functions of the first stage", 1, 64).or(2);
pub(super) const QUEUE: Parameter = Parameter::count("queue", "keys that the queue takes", 1, 4_096).or(16);
pub(super) const LOW: Parameter =
    Parameter::count("low", "keys in the queue that ask for a smaller first stage", 0, 4_096).or(2);
pub(super) const HIGH: Parameter =
    Parameter::count("high", "keys in the queue that ask for a larger first stage", 1, 4_096).or(8);
pub(super) const SERVED: Parameter =
    Parameter::count("served", "keys that the second stage takes per tick", 1, 4_096).or(1);

/// The settings of a filter that adapts its stages.
///
/// ```
/// use bouquet::{EnergyEfficient, EnergyEfficientSettings};
/// let settings = EnergyEfficientSettings { items: Some(1_000), queue: Some(4), ..Default::default() };
/// let filter = EnergyEfficient::with(settings)?;
/// assert_eq!((filter.settings().high, filter.settings().low), (Some(4), Some(2)), "within the queue");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnergyEfficientSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Where the bits of a key lie.
    pub layout: Option<BaseLayout>,
    /// How the first stage follows the queue.
    pub policy: Option<StagePolicy>,
    /// The least functions of the first stage.
    pub least: Option<u32>,
    /// Keys that the queue takes.
    pub queue: Option<u64>,
    /// Keys in the queue that ask for a smaller first stage.
    pub low: Option<u64>,
    /// Keys in the queue that ask for a larger first stage.
    pub high: Option<u64>,
    /// Keys that the second stage takes per tick.
    pub served: Option<u64>,
}

impl Settings for EnergyEfficientSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        layout: LAYOUT,
        policy: POLICY,
        least: LEAST,
        queue: QUEUE,
        low: LOW,
        high: HIGH,
        served: SERVED,
    ];

    /// Filters that only differ in when they look are combined.
    const DESIGN: &'static [&'static str] = &["items", "fpr", "policy", "least", "queue", "low", "high", "served"];
}

impl ByRate for EnergyEfficientSettings {}

impl StagedSettings for EnergyEfficientSettings {
    fn base(&self) -> (Sizes, Option<BaseLayout>) {
        let EnergyEfficientSettings { items, fpr, bits, hashes, layout, .. } = *self;
        (Sizes { items, fpr, bits, hashes }, layout)
    }

    fn with_base(self, bits: u64, hashes: u32, layout: BaseLayout) -> Self {
        EnergyEfficientSettings { bits: Some(bits), hashes: Some(hashes), layout: Some(layout), ..self }
    }
}
