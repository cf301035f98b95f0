#![doc = include_str!("variable_increment.md")]

use std::sync::Arc;

use crate::capability::NoteType;
use crate::error::{Error, Result};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Text, common, kind};
use crate::parts::marked_cells::{CellCode, CellSettings, CellSizes, MarkedCells};
use crate::shell::{ByRate, Choice, Fields, Filter, Settings, choices, fields};
use crate::theory::refutation::Refutation;

mod sums;
use sums::Sums;

/// The registry's row.
pub const KIND: Kind = kind!(VariableIncrement);

/// A variable-increment counting Bloom filter.
///
/// ```
/// let mut filter = bouquet::VariableIncrement::with_rate(1_000, 0.001)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// filter.remove("rose")?;
/// assert!(filter.remove("rose").is_err(), "nothing is left to remove");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type VariableIncrement = Filter<MarkedCells<Increments>>;

/// How increments are kept.
///
/// ```
/// use bouquet::{counting::variable_increment::Scheme, shell::Choice};
/// assert_eq!(Scheme::Sequence.word(), "bh");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// One counter, increments from the base to twice the base less one.
    Interval,
    /// A count and a sum of increments from a sequence.
    Sequence,
}

choices!(Scheme { Interval = "dl", Sequence = "bh" });

const MAX_BASE: u64 = 64;
const MAX_ORDER: u32 = 8;

const SCHEME: Parameter = Parameter::choice(
    "scheme",
    "dl: one counter, increments from base to 2 base - 1; bh: a count and a sum of increments from the sequence",
    Scheme::WORDS,
);
const BASE: Parameter = Parameter::count("base", "smallest increment of dl, a power of two", 2, MAX_BASE).or(4);
const SEQUENCE: Parameter = Parameter::count(
    "sequence",
    "increments of bh, a bit for each: bit v-1 for the increment v; {1, 4, 8, 13} (4233) when not given",
    1,
    u64::MAX,
);
const ORDER: Parameter = Parameter::count(
    "order",
    "h, the keys that a sum of bh tells apart: all sums of h increments must differ",
    1,
    MAX_ORDER as u64,
)
.or(3);
const COUNTER_BITS: Parameter = Parameter::count(
    "counter-bits",
    "bits of the counter of dl (5 + log2 base when not given), or of the count of bh (4)",
    2,
    16,
);

/// {1, 4, 8, 13}: sums of three differ, in fewer bits than with the smallest such numbers from 1 on.
const DEFAULT_SEQUENCE: u64 = 1 | 1 << 3 | 1 << 7 | 1 << 12;

/// The settings of a variable-increment filter.
///
/// ```
/// use bouquet::{VariableIncrement, VariableIncrementSettings, counting::variable_increment::Scheme};
/// let scheme = Some(Scheme::Sequence);
/// let filter = VariableIncrement::with(VariableIncrementSettings { items: Some(100), scheme, ..Default::default() })?;
/// assert_eq!(filter.code().elements(), [1, 4, 8, 13]);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariableIncrementSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Cells per key.
    pub hashes: Option<u32>,
    /// How increments are kept.
    pub scheme: Option<Scheme>,
    /// The smallest increment of an interval.
    pub base: Option<u64>,
    /// The increments of a sequence, bit v-1 for the increment v.
    pub sequence: Option<u64>,
    /// Keys that a sum of a sequence tells apart.
    pub order: Option<u32>,
    /// Bits of a counter, or of the count beside a sum.
    pub counter_bits: Option<u32>,
}

impl Settings for VariableIncrementSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        scheme: SCHEME,
        base: BASE,
        sequence: SEQUENCE,
        order: ORDER,
        counter_bits: COUNTER_BITS,
    ];
}

impl ByRate for VariableIncrementSettings {}

impl CellSettings for VariableIncrementSettings {
    fn sizes(&self) -> CellSizes {
        let Self { items, fpr, bits, hashes, .. } = *self;
        CellSizes { items, fpr, bits, hashes }
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        Self { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

/// The increments and how cells keep them.
///
/// ```
/// use bouquet::counting::{CellCode, variable_increment::Increments};
/// let code = Increments::sequence(&[1, 4, 8, 13], 3)?;
/// let cell = code.add(code.add(0, 1), 3); // the second and the fourth increment: two keys, sum 17
/// assert_eq!([0, 1, 2, 3].map(|mark| code.admits(cell, mark)), [false, true, false, true]);
/// assert!(Increments::sequence(&[1, 4, 8, 13], 4).is_err(), "1 + 1 + 1 + 13 = 4 + 4 + 4 + 4");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Increments {
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Interval { base: u64, bits: u32 },
    Sequence { elements: Vec<u64>, order: u32, count_bits: u32, sum_bits: u32, sums: Arc<Sums> },
}

/// The numbers whose bits are set, bit v-1 for v.
fn elements_of(set: u64) -> Vec<u64> {
    (1..=64).filter(|v| set >> (v - 1) & 1 == 1).collect()
}

impl Increments {
    /// One counter per cell and the increments {base, .., 2 base - 1}; `base` is a power of two from 2 to 64. Sixteen
    /// keys fit.
    ///
    /// ```
    /// use bouquet::counting::{CellCode, variable_increment::Increments};
    /// let code = Increments::interval(4)?;
    /// assert_eq!((code.width(), code.elements()), (7, vec![4, 5, 6, 7]));
    /// assert!(code.admits(9, 0) && code.admits(9, 1) && !code.admits(9, 2), "9 is 4 + 5");
    /// assert!(Increments::interval(3).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn interval(base: u64) -> Result<Self> {
        Self::interval_of(base, None)
    }

    fn interval_of(base: u64, bits: Option<u32>) -> Result<Self> {
        if !base.is_power_of_two() || !(2..=MAX_BASE).contains(&base) {
            return Err(Error::parameter("base", format!("a power of two from 2 to {MAX_BASE}"), base));
        }
        // Two keys must fit, or cells freeze that could contradict.
        let least = 2 + base.ilog2();
        let bits = bits.unwrap_or(5 + base.ilog2());
        if !(least..=16).contains(&bits) {
            return Err(Error::parameter("counter-bits", format!("from {least} to 16 with base {base}"), bits));
        }
        Ok(Increments { form: Form::Interval { base, bits } })
    }

    /// A count and a sum per cell, and these increments (each from 1 to 64), of which all sums of `order` must differ.
    ///
    /// ```
    /// use bouquet::counting::{CellCode, variable_increment::Increments};
    /// assert_eq!(Increments::sequence(&[1, 4, 8, 13], 3)?.width(), 4 + 6);
    /// assert!(Increments::sequence(&[1, 2, 3], 2).is_err(), "1 + 3 = 2 + 2");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn sequence(elements: &[u64], order: u32) -> Result<Self> {
        let mut set = 0u64;
        for &element in elements {
            let bit = element.checked_sub(1).and_then(|v| 1u64.checked_shl(u32::try_from(v).ok()?));
            let fresh = bit.filter(|bit| set & bit == 0);
            set |= fresh.ok_or_else(|| Error::parameter("sequence", "different numbers from 1 to 64", element))?;
        }
        Self::sequence_of(set, order, None)
    }

    fn sequence_of(set: u64, order: u32, count_bits: Option<u32>) -> Result<Self> {
        let elements = elements_of(set);
        if !(1..=MAX_ORDER).contains(&order) {
            return Err(Error::parameter("order", ORDER.range(), order));
        }
        let Some(sums) = Sums::new(&elements, order) else {
            let expected = format!("increments of which all sums of {order} (the `order`) differ");
            return Err(Error::parameter("sequence", expected, format!("{elements:?}")));
        };
        // The count must reach beyond the order, or cells freeze that could contradict.
        let least = (order + 1).ilog2() + 1;
        let count_bits = count_bits.unwrap_or(least.max(4));
        if !(least..=16).contains(&count_bits) {
            return Err(Error::parameter("counter-bits", format!("from {least} to 16 with order {order}"), count_bits));
        }
        // ceil(log2(h max + 1)): the sum is read only with h keys or fewer.
        let sum_bits = sums.highest.ilog2() + 1;
        let sums = Arc::new(sums);
        Ok(Increments { form: Form::Sequence { elements, order, count_bits, sum_bits, sums } })
    }

    /// The increments, in the order of their marks.
    ///
    /// ```
    /// use bouquet::counting::variable_increment::Increments;
    /// assert_eq!(Increments::sequence(&[13, 1, 8, 4], 3)?.elements(), [1, 4, 8, 13]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn elements(&self) -> Vec<u64> {
        match &self.form {
            Form::Interval { base, .. } => (*base..2 * base).collect(),
            Form::Sequence { elements, .. } => elements.clone(),
        }
    }
}

/// A cell of `bh`: the count in the low bits, the sum modulo 2^sum_bits above; a frozen one keeps no sum.
#[inline]
fn pair(count: u64, sum: u64, count_bits: u32, sum_bits: u32) -> u64 {
    let most = (1 << count_bits) - 1;
    if count >= most { most } else { (sum & ((1 << sum_bits) - 1)) << count_bits | count }
}

#[inline]
fn unpair(cell: u64, count_bits: u32) -> (u64, u64) {
    (cell & ((1 << count_bits) - 1), cell >> count_bits)
}

impl CellCode for Increments {
    const FACTS: Facts = Facts {
        id: "variable-increment",
        number: 54,
        aliases: &["VI-CBF", "VICBF"],
        family: "counting",
        text: Text::new(include_str!("variable_increment.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const ONE_MARK: bool = false;

    type Settings = VariableIncrementSettings;

    fn candidates(settings: &VariableIncrementSettings) -> Result<Vec<Self>> {
        let code = match SCHEME.need(settings.scheme)? {
            Scheme::Interval => Self::interval_of(BASE.need(settings.base)?, settings.counter_bits)?,
            Scheme::Sequence => {
                let set = settings.sequence.unwrap_or(DEFAULT_SEQUENCE);
                Self::sequence_of(set, ORDER.need(settings.order)?, settings.counter_bits)?
            }
        };
        Ok(vec![code])
    }

    fn settings(&self, settings: VariableIncrementSettings) -> VariableIncrementSettings {
        let VariableIncrementSettings { items, fpr, bits, hashes, .. } = settings;
        let sizes = VariableIncrementSettings { items, fpr, bits, hashes, ..Default::default() };
        match &self.form {
            Form::Interval { base, bits } => VariableIncrementSettings {
                scheme: Some(Scheme::Interval),
                base: Some(*base),
                counter_bits: Some(*bits),
                ..sizes
            },
            Form::Sequence { elements, order, count_bits, .. } => VariableIncrementSettings {
                scheme: Some(Scheme::Sequence),
                sequence: Some(elements.iter().fold(0, |set, v| set | 1 << (v - 1))),
                order: Some(*order),
                counter_bits: Some(*count_bits),
                ..sizes
            },
        }
    }

    #[inline]
    fn width(&self) -> u32 {
        match &self.form {
            Form::Interval { bits, .. } => *bits,
            Form::Sequence { count_bits, sum_bits, .. } => count_bits + sum_bits,
        }
    }

    #[inline]
    fn marks(&self) -> u64 {
        match &self.form {
            Form::Interval { base, .. } => *base,
            Form::Sequence { elements, .. } => elements.len() as u64,
        }
    }

    #[inline]
    fn admits(&self, cell: u64, mark: u64) -> bool {
        if self.is_frozen(cell) {
            return true;
        }
        match &self.form {
            Form::Interval { base, .. } => {
                let rest = cell.checked_sub(base + mark);
                rest.is_some_and(|rest| rest == 0 || rest >= *base)
            }
            Form::Sequence { order, count_bits, sums, .. } => match unpair(cell, *count_bits) {
                (0, _) => false,
                (count, _) if count > u64::from(*order) => true,
                (count, sum) => sums.parts(count, sum) >> mark & 1 == 1,
            },
        }
    }

    #[inline]
    fn add(&self, cell: u64, mark: u64) -> u64 {
        match &self.form {
            Form::Interval { base, bits } => (cell + base + mark).min((1 << bits) - 1),
            Form::Sequence { elements, count_bits, sum_bits, .. } => {
                let (count, sum) = unpair(cell, *count_bits);
                // An empty cell of a forged file may have a sum.
                let sum = if count == 0 { 0 } else { sum };
                pair(count + 1, sum + elements.get(mark as usize).copied().unwrap_or(0), *count_bits, *sum_bits)
            }
        }
    }

    #[inline]
    fn sub(&self, cell: u64, mark: u64) -> u64 {
        match &self.form {
            Form::Interval { base, .. } => cell.saturating_sub(base + mark),
            Form::Sequence { elements, count_bits, sum_bits, .. } => match unpair(cell, *count_bits) {
                (0 | 1, _) => 0,
                (count, sum) => {
                    let element = elements.get(mark as usize).copied().unwrap_or(0);
                    pair(count - 1, sum.wrapping_sub(element), *count_bits, *sum_bits)
                }
            },
        }
    }

    fn join(&self, cell: u64, other: u64) -> u64 {
        match &self.form {
            Form::Interval { bits, .. } => (cell + other).min((1 << bits) - 1),
            Form::Sequence { count_bits, sum_bits, .. } => {
                let ((count, sum), (more, by)) = (unpair(cell, *count_bits), unpair(other, *count_bits));
                pair(count + more, sum + by, *count_bits, *sum_bits)
            }
        }
    }

    #[inline]
    fn is_frozen(&self, cell: u64) -> bool {
        match &self.form {
            Form::Interval { bits, .. } => cell == (1 << bits) - 1,
            Form::Sequence { count_bits, .. } => unpair(cell, *count_bits).0 == (1 << count_bits) - 1,
        }
    }

    fn is_cell(&self, cell: u64) -> bool {
        match &self.form {
            Form::Interval { base, .. } => cell == 0 || cell >= *base,
            Form::Sequence { count_bits, .. } => {
                let (count, sum) = unpair(cell, *count_bits);
                (count > 0 && !self.is_frozen(cell)) || sum == 0
            }
        }
    }

    fn refutation(&self) -> Refutation {
        match &self.form {
            Form::Interval { base, .. } => Refutation::interval(*base),
            Form::Sequence { elements, order, .. } => Refutation::sequence(elements.len() as u64, *order),
        }
    }
}

#[cfg(test)]
mod tests;
