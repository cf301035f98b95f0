//! The settings of a multistage filter.

use crate::hash::MAX_HASHES;
use crate::kind::{Parameter, common};
use crate::parts::rows::{DELTA, EPS};
use crate::shell::{ByRate, Choice, Fields, Settings, choices, fields};

/// How an occurrence changes the counters; see [the table](super).
///
/// ```
/// use bouquet::{counting::conservative_update::Mode, shell::Choice};
/// assert_eq!(Mode::Plain.word(), "plain");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No counter is raised above the new estimate.
    Conservative,
    /// Every counter is added to.
    Plain,
    /// One stage behind the other.
    Serial,
}

choices!(Mode { Conservative = "conservative", Plain = "plain", Serial = "serial" });

/// Bits of a counter.
///
/// ```
/// use bouquet::{counting::conservative_update::Counter, shell::Choice};
/// assert_eq!(Counter::Long.word(), "u64");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// 32.
    Short,
    /// 64.
    Long,
}

choices!(Counter { Short = "u32", Long = "u64" });

impl Counter {
    pub(super) fn bits(self) -> u32 {
        if self == Counter::Short { 32 } else { 64 }
    }
}

/// Whether flows that are watched leave the counters alone.
///
/// ```
/// use bouquet::{counting::conservative_update::Shield, shell::Choice};
/// assert_eq!(Shield::On.word(), "on");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shield {
    /// They do.
    On,
    /// They are counted as all others.
    Off,
}

choices!(Shield { On = "on", Off = "off" });

const COUNTERS: Parameter = Parameter::count("counters", "counters in a stage, instead of eps", 1, 1 << 48);
const STAGES: Parameter =
    Parameter::count("stages", "rows of counters, of which a key has one each; instead of delta", 1, MAX_HASHES as u64);
pub(super) const COUNTER: Parameter = Parameter::choice("counter", "bits of a counter", Counter::WORDS);
pub(super) const MODE: Parameter = Parameter::choice(
    "mode",
    "conservative raises no counter above the new estimate; plain adds to all, serial to one stage behind the other (it \
     needs a threshold)",
    Mode::WORDS,
);
const THRESHOLD: Parameter = Parameter::count(
    "threshold",
    "size from which a flow is watched by name; without it the filter only counts",
    1,
    1 << 62,
);
pub(super) const MEMORY: Parameter = Parameter::count("memory", "flows that are watched at most", 1, 1 << 24).or(4096);
pub(super) const SHIELD: Parameter =
    Parameter::choice("shield", "whether flows that are watched leave the counters alone", Shield::WORDS);
pub(super) const PRESERVE: Parameter =
    Parameter::flag("preserve", "keep watching what was large or new when an interval ends");

/// The settings of a multistage filter.
///
/// ```
/// use bouquet::{ConservativeUpdate, ConservativeUpdateSettings};
/// let watching = ConservativeUpdateSettings { threshold: Some(100), ..Default::default() };
/// let mut filter = ConservativeUpdate::with(watching)?;
/// filter.add("rose", 150);
/// assert_eq!(filter.heavy().len(), 1);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConservativeUpdateSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The share of them that may count too much.
    pub fpr: Option<f64>,
    /// The error of a count as a share of all occurrences.
    pub eps: Option<f64>,
    /// The probability that the error is larger.
    pub delta: Option<f64>,
    /// Counters in a stage.
    pub counters: Option<u64>,
    /// Stages: rows of counters.
    pub stages: Option<u32>,
    /// Bits of a counter.
    pub counter: Option<Counter>,
    /// How an occurrence changes the counters.
    pub mode: Option<Mode>,
    /// The size from which a flow is watched by name.
    pub threshold: Option<u64>,
    /// Flows that are watched at most.
    pub memory: Option<u64>,
    /// Whether flows that are watched leave the counters alone.
    pub shield: Option<Shield>,
    /// Whether what was large or new stays watched when an interval ends.
    pub preserve: Option<bool>,
}

impl Settings for ConservativeUpdateSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        eps: EPS,
        delta: DELTA,
        counters: COUNTERS,
        stages: STAGES,
        counter: COUNTER,
        mode: MODE,
        threshold: THRESHOLD,
        memory: MEMORY,
        shield: SHIELD,
        preserve: PRESERVE,
    ];
}

impl ByRate for ConservativeUpdateSettings {}
