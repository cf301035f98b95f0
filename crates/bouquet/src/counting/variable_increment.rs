#![doc = include_str!("variable_increment.md")]

use std::sync::Arc;

use crate::capability::NoteType;
use crate::error::{Error, Result};
use crate::kind::{Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Setting, Text, common, kind};
use crate::parts::cell_filter::{CellCode, CellFilter};
use crate::theory::refutation::Refutation;

/// The registry's row.
pub const KIND: Kind = kind!(VariableIncrement);

/// A variable-increment counting Bloom filter.
///
/// ```
/// use bouquet::counting::variable_increment::VariableIncrement;
/// let mut filter = VariableIncrement::with_rate(1_000, 0.001)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// filter.remove("rose")?;
/// assert!(filter.remove("rose").is_err(), "nothing is left to remove");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type VariableIncrement = CellFilter<Increments>;

const SCHEME: Parameter = Parameter {
    name: "scheme",
    help: "dl: one counter, increments from base to 2 base - 1; bh: a count and a sum of increments from the sequence",
    of: ParameterType::Choice { options: &["dl", "bh"] },
};

const BASE: Parameter = Parameter {
    name: "base",
    help: "smallest increment of dl, a power of two",
    of: ParameterType::Count { min: 2, max: MAX_BASE, default: Some(4) },
};

const SEQUENCE: Parameter = Parameter {
    name: "sequence",
    help: "increments of bh, a bit for each: bit v-1 for the increment v; {1, 4, 8, 13} (4233) when not given",
    of: ParameterType::Count { min: 1, max: u64::MAX, default: None },
};

const ORDER: Parameter = Parameter {
    name: "order",
    help: "keys that a sum of bh tells apart: all sums of so many increments must differ",
    of: ParameterType::Count { min: 1, max: MAX_ORDER as u64, default: Some(3) },
};

const COUNTER_BITS: Parameter = Parameter {
    name: "counter-bits",
    help: "bits of the counter of dl (5 + log2 base when not given), or of the count of bh (4)",
    of: ParameterType::Count { min: 2, max: 16, default: None },
};

const MAX_BASE: u64 = 64;
const MAX_ORDER: u32 = 8;

/// {1, 4, 8, 13}: sums of three differ, in fewer bits than with the smallest such numbers from 1 on.
const USUAL_SEQUENCE: u64 = 1 | 1 << 3 | 1 << 7 | 1 << 12;

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
    scheme: Scheme,
}

#[derive(Clone, Debug, PartialEq)]
enum Scheme {
    Interval { base: u64, bits: u32 },
    Sequence { elements: Vec<u64>, order: u32, count_bits: u32, sum_bits: u32, sums: Arc<Sums> },
}

/// All sums of 1 to h elements of a B_h sequence, and which elements each is made of.
#[derive(Debug, PartialEq)]
struct Sums {
    /// Sums from 0 to this are in the table.
    highest: u64,
    /// For each number of elements, from 1 on, and each sum: a bit for each element that is in it.
    parts: Vec<u64>,
}

impl Sums {
    /// The table; `None` if two sums of `order` elements are equal.
    ///
    /// Multisets are counted by number of elements and sum, one element after the other; taking an element again is
    /// seeing the row of one fewer, which already has it.
    fn new(elements: &[u64], order: u32) -> Option<Self> {
        let (order, highest) = (order as usize, u64::from(order) * elements.iter().max()?);
        let width = highest as usize + 1;
        let mut ways = vec![0u8; (order + 1) * width];
        let mut parts = vec![0u64; (order + 1) * width];
        ways[0] = 1;
        for (mark, &element) in elements.iter().enumerate() {
            for count in 1..=order {
                for sum in element as usize..width {
                    let (from, to) = ((count - 1) * width + sum - element as usize, count * width + sum);
                    if ways[from] > 0 {
                        ways[to] = ways[to].saturating_add(ways[from]);
                        parts[to] |= parts[from] | 1 << mark;
                    }
                }
            }
        }
        // Sums of fewer elements differ if those of `order` do: add the same element to both.
        let unique = ways[order * width..].iter().all(|&ways| ways <= 1);
        unique.then(|| Sums { highest, parts: parts.split_off(width) })
    }

    /// The elements of a sum of `count` elements, 1 to h; none if there is no such sum.
    #[inline]
    fn parts(&self, count: u64, sum: u64) -> u64 {
        if sum > self.highest {
            return 0;
        }
        self.parts.get(((count - 1) * (self.highest + 1) + sum) as usize).copied().unwrap_or(0)
    }
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
            return Err(Error::parameter("base", format!("a power of two in 2..={MAX_BASE}"), base));
        }
        // Two keys must fit, or cells freeze that could contradict.
        let least = 2 + base.ilog2();
        let bits = bits.unwrap_or(5 + base.ilog2());
        if !(least..=16).contains(&bits) {
            return Err(Error::parameter("counter-bits", format!("in {least}..=16 with base {base}"), bits));
        }
        Ok(Increments { scheme: Scheme::Interval { base, bits } })
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
            return Err(Error::parameter("counter-bits", format!("in {least}..=16 with order {order}"), count_bits));
        }
        // ceil(log2(h max + 1)): the sum is read only with h keys or fewer.
        let sum_bits = sums.highest.ilog2() + 1;
        let sums = Arc::new(sums);
        Ok(Increments { scheme: Scheme::Sequence { elements, order, count_bits, sum_bits, sums } })
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
        match &self.scheme {
            Scheme::Interval { base, .. } => (*base..2 * base).collect(),
            Scheme::Sequence { elements, .. } => elements.clone(),
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
        parameters: &[
            common::ITEMS,
            common::FPR,
            common::BITS,
            common::HASHES,
            SCHEME,
            BASE,
            SEQUENCE,
            ORDER,
            COUNTER_BITS,
        ],
    };

    const ONE_MARK: bool = false;

    fn candidates(config: &Config) -> Result<Vec<Self>> {
        let bits = config.count("counter-bits").map(|bits| bits as u32);
        let code = if config.choice("scheme") == "bh" {
            let set = config.count("sequence").unwrap_or(USUAL_SEQUENCE);
            Self::sequence_of(set, config.need("order")? as u32, bits)?
        } else {
            Self::interval_of(config.need("base")?, bits)?
        };
        Ok(vec![code])
    }

    fn settings(&self, config: Config) -> Config {
        match &self.scheme {
            Scheme::Interval { base, bits } => config
                .put("scheme", Setting::Choice("dl"))
                .put("base", Setting::Count(*base))
                .put("counter-bits", Setting::Count((*bits).into())),
            Scheme::Sequence { elements, order, count_bits, .. } => config
                .put("scheme", Setting::Choice("bh"))
                .put("sequence", Setting::Count(elements.iter().fold(0, |set, v| set | 1 << (v - 1))))
                .put("order", Setting::Count((*order).into()))
                .put("counter-bits", Setting::Count((*count_bits).into())),
        }
    }

    #[inline]
    fn width(&self) -> u32 {
        match &self.scheme {
            Scheme::Interval { bits, .. } => *bits,
            Scheme::Sequence { count_bits, sum_bits, .. } => count_bits + sum_bits,
        }
    }

    #[inline]
    fn marks(&self) -> u64 {
        match &self.scheme {
            Scheme::Interval { base, .. } => *base,
            Scheme::Sequence { elements, .. } => elements.len() as u64,
        }
    }

    #[inline]
    fn admits(&self, cell: u64, mark: u64) -> bool {
        if self.is_frozen(cell) {
            return true;
        }
        match &self.scheme {
            Scheme::Interval { base, .. } => {
                let rest = cell.checked_sub(base + mark);
                rest.is_some_and(|rest| rest == 0 || rest >= *base)
            }
            Scheme::Sequence { order, count_bits, sums, .. } => match unpair(cell, *count_bits) {
                (0, _) => false,
                (count, _) if count > u64::from(*order) => true,
                (count, sum) => sums.parts(count, sum) >> mark & 1 == 1,
            },
        }
    }

    #[inline]
    fn add(&self, cell: u64, mark: u64) -> u64 {
        match &self.scheme {
            Scheme::Interval { base, bits } => (cell + base + mark).min((1 << bits) - 1),
            Scheme::Sequence { elements, count_bits, sum_bits, .. } => {
                let (count, sum) = unpair(cell, *count_bits);
                // An empty cell of a forged file may have a sum.
                let sum = if count == 0 { 0 } else { sum };
                pair(count + 1, sum + elements.get(mark as usize).copied().unwrap_or(0), *count_bits, *sum_bits)
            }
        }
    }

    #[inline]
    fn sub(&self, cell: u64, mark: u64) -> u64 {
        match &self.scheme {
            Scheme::Interval { base, .. } => cell.saturating_sub(base + mark),
            Scheme::Sequence { elements, count_bits, sum_bits, .. } => match unpair(cell, *count_bits) {
                (0 | 1, _) => 0,
                (count, sum) => {
                    let element = elements.get(mark as usize).copied().unwrap_or(0);
                    pair(count - 1, sum.wrapping_sub(element), *count_bits, *sum_bits)
                }
            },
        }
    }

    fn join(&self, cell: u64, other: u64) -> u64 {
        match &self.scheme {
            Scheme::Interval { bits, .. } => (cell + other).min((1 << bits) - 1),
            Scheme::Sequence { count_bits, sum_bits, .. } => {
                let ((count, sum), (more, by)) = (unpair(cell, *count_bits), unpair(other, *count_bits));
                pair(count + more, sum + by, *count_bits, *sum_bits)
            }
        }
    }

    #[inline]
    fn is_frozen(&self, cell: u64) -> bool {
        match &self.scheme {
            Scheme::Interval { bits, .. } => cell == (1 << bits) - 1,
            Scheme::Sequence { count_bits, .. } => unpair(cell, *count_bits).0 == (1 << count_bits) - 1,
        }
    }

    fn is_cell(&self, cell: u64) -> bool {
        match &self.scheme {
            Scheme::Interval { base, .. } => cell == 0 || cell >= *base,
            Scheme::Sequence { count_bits, .. } => {
                let (count, sum) = unpair(cell, *count_bits);
                (count > 0 && !self.is_frozen(cell)) || sum == 0
            }
        }
    }

    fn refutation(&self) -> Refutation {
        match &self.scheme {
            Scheme::Interval { base, .. } => Refutation::interval(*base),
            Scheme::Sequence { elements, order, .. } => Refutation::sequence(elements.len() as u64, *order),
        }
    }
}

#[cfg(test)]
mod tests;
