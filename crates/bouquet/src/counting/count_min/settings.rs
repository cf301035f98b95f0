//! The settings of a count-min sketch.

use crate::hash::MAX_HASHES;
use crate::kind::{Parameter, common};
use crate::parts::rows::{DELTA, EPS};
use crate::shell::{ByRate, Choice, Fields, Settings, choices, fields};

/// What a counter holds.
///
/// ```
/// use bouquet::{counting::count_min::Counter, shell::Choice};
/// assert_eq!(Counter::Signed.word(), "i64");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// 32 bits without sign.
    Short,
    /// 64 bits without sign.
    Long,
    /// 64 bits with a sign: more may be taken out than was put in, and counts are medians.
    Signed,
}

choices!(Counter { Short = "u32", Long = "u64", Signed = "i64" });

impl Counter {
    pub(super) fn bits(self) -> u32 {
        if self == Counter::Short { 32 } else { 64 }
    }
}

const WIDTH: Parameter = Parameter::count("width", "counters in a row, instead of eps", 1, 1 << 48);
const ROWS: Parameter =
    Parameter::count("rows", "rows of counters, of which a key has one each; instead of delta", 1, MAX_HASHES as u64);
pub(super) const COUNTER: Parameter = Parameter::choice(
    "counter",
    "32 or 64 bits without sign, or 64 with: then more may be taken out than was put in, and counts are medians",
    Counter::WORDS,
);
pub(super) const LEVELS: Parameter = Parameter::count(
    "levels",
    "bits of integer keys, for ranges, quantiles and frequent keys: a sketch for each bit",
    0,
    64,
)
.or(0);
pub(super) const TOP: Parameter =
    Parameter::count("top", "keys with the largest counts that are kept by name", 0, 1 << 20).or(0);
pub(super) const DECIMAL: Parameter =
    Parameter::flag("decimal", "keys of decimal digits, as text has them, are the integers that they name; for levels");

/// The settings of a count-min sketch.
///
/// ```
/// use bouquet::{CountMin, CountMinSettings};
/// let sixteen_bits = CountMinSettings { width: Some(1_000), rows: Some(5), levels: Some(16), ..Default::default() };
/// let mut sketch = CountMin::with(sixteen_bits)?;
/// for (key, amount) in [(7u64, 10), (300, 20), (40_000, 30)] {
///     sketch.add(&key, amount)?;
/// }
/// assert_eq!((sketch.range(0, 300)?, sketch.quantile(0.5)?), (30, 300));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountMinSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The share of them that may count too much.
    pub fpr: Option<f64>,
    /// The error of a count as a share of all occurrences.
    pub eps: Option<f64>,
    /// The probability that the error is larger.
    pub delta: Option<f64>,
    /// Counters in a row.
    pub width: Option<u64>,
    /// Rows of counters.
    pub rows: Option<u32>,
    /// What a counter holds.
    pub counter: Option<Counter>,
    /// Bits of integer keys, each with a sketch.
    pub levels: Option<u32>,
    /// Keys that are kept by name.
    pub top: Option<u64>,
    /// Whether keys are integers in decimal digits.
    pub decimal: Option<bool>,
}

impl Settings for CountMinSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        eps: EPS,
        delta: DELTA,
        width: WIDTH,
        rows: ROWS,
        counter: COUNTER,
        levels: LEVELS,
        top: TOP,
        decimal: DECIMAL,
    ];

    const DESIGN: &'static [&'static str] = &[common::ITEMS.name, common::FPR.name, EPS.name, DELTA.name, TOP.name];
}

impl ByRate for CountMinSettings {}
