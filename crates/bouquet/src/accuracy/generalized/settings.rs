//! From bounds, or a size, to the shape of a generalized filter.

use crate::error::{Error, Result};
use crate::kind::{Parameter, common};
use crate::shell::{ByRate, Fields, Settings, choices, fields};
use crate::theory::MAX_BITS;
use crate::theory::generalized::{self, Shape};

const ITEMS: Parameter = Parameter { help: "keys that the filter is to remember", ..common::ITEMS };
const FPR: Parameter = Parameter { help: "bound of the false-positive rate, whatever the bits are", ..common::FPR };
/// 5 % takes a fifth of the memory that 1 % takes.
const FNR: Parameter = Parameter::real(
    "fnr",
    "bound of the share of keys that are missed with that many keys; halving it doubles the memory",
    0.0,
    1.0,
)
.or_real(0.05);
const RATIO: Parameter = Parameter::real(
    "ratio",
    "with items and bits: how many times the bound of misses that of false positives is to be",
    0.0,
    1e6,
)
.or_real(1.0);
const BITS: Parameter = Parameter { help: "size in bits, instead of the two bounds", ..common::BITS };
const RESET_HASHES: Parameter =
    Parameter::count("reset-hashes", "functions that reset bits; 0 for the standard filter", 0, MOST_FUNCTIONS);
const SET_HASHES: Parameter = Parameter::count("set-hashes", "functions that set bits", 0, MOST_FUNCTIONS);
const MOST_FUNCTIONS: u64 = generalized::MAX_FUNCTIONS as u64;
const START: Parameter = Parameter::choice("start", "what the array holds at first", &["zeros", "ones", "random"]);
pub(super) const START_ZEROS: Parameter =
    Parameter::real("start-zeros", "chance that a bit is zero at first, for a random start", 0.0, 1.0).or_real(0.5);
pub(super) const START_SEED: Parameter = Parameter::count("start-seed", "seed of a random start", 0, u64::MAX).or(0);

/// What an empty filter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Zeros alone.
    Zeros,
    /// Ones alone.
    Ones,
    /// Zeros with a chance, drawn from a seed.
    Random,
}

choices!(Start { Zeros = "zeros", Ones = "ones", Random = "random" });

/// The settings of a generalized filter: by both bounds, by size and balance, or by size alone.
///
/// ```
/// use bouquet::{Generalized, GeneralizedSettings};
/// let functions = GeneralizedSettings { reset_hashes: Some(2), set_hashes: Some(3), ..Default::default() };
/// let settings = GeneralizedSettings { items: Some(1_000), fnr: Some(0.0456), ..functions };
/// assert_eq!(Generalized::with(settings)?.shape().bits / 1_000, 255);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeneralizedSettings {
    /// Keys that it is to remember.
    pub items: Option<u64>,
    /// The bound of the false-positive rate.
    pub fpr: Option<f64>,
    /// The bound of the share of keys that are missed.
    pub fnr: Option<f64>,
    /// With items and bits: the bound of false positives in units of that of misses.
    pub ratio: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// k0, functions that reset bits.
    pub reset_hashes: Option<u32>,
    /// k1, functions that set bits.
    pub set_hashes: Option<u32>,
    /// What the array holds at first.
    pub start: Option<Start>,
    /// The chance that a bit is zero at first, for a random start.
    pub start_zeros: Option<f64>,
    /// The seed of a random start.
    pub start_seed: Option<u64>,
}

impl Settings for GeneralizedSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        fpr: FPR,
        fnr: FNR,
        ratio: RATIO,
        bits: BITS,
        reset_hashes: RESET_HASHES,
        set_hashes: SET_HASHES,
        start: START,
        start_zeros: START_ZEROS,
        start_seed: START_SEED,
    ];
}

impl ByRate for GeneralizedSettings {}

impl GeneralizedSettings {
    pub(super) fn of(shape: Shape) -> Self {
        GeneralizedSettings {
            bits: Some(shape.bits),
            reset_hashes: Some(shape.resets),
            set_hashes: Some(shape.sets),
            ..Default::default()
        }
    }

    /// The shape that the settings describe.
    pub(super) fn shape(&self) -> Result<Shape> {
        let items = || ITEMS.need(self.items);
        let shape = match (self.bits, self.reset_hashes, self.set_hashes) {
            (_, Some(0), Some(0)) => {
                return Err(Error::parameter("set-hashes", "at least 1 if `reset-hashes` is 0", 0));
            }
            (Some(bits), Some(resets), Some(sets)) => Shape { bits, resets, sets },
            (None, Some(resets), Some(sets)) if resets > 0 && sets > 0 => {
                generalized::with_functions(items()?, resets, sets, FNR.need(self.fnr)?)?
            }
            (None, Some(_), Some(_)) => {
                let expected = "given where there are functions of one sort only, which no bound sizes";
                return Err(Error::parameter("bits", expected, "missing"));
            }
            (_, Some(_), None) => return Err(Error::parameter("set-hashes", "given with `reset-hashes`", "missing")),
            (_, None, Some(_)) => return Err(Error::parameter("reset-hashes", "given with `set-hashes`", "missing")),
            (Some(bits), None, None) => {
                let best = generalized::balance(bits as f64 / items()? as f64, RATIO.need(self.ratio)?)?.best;
                Shape { bits, resets: best.resets, sets: best.sets }
            }
            (None, None, None) => generalized::for_bounds(items()?, FPR.need(self.fpr)?, FNR.need(self.fnr)?)?,
        };
        if shape.bits > MAX_BITS {
            return Err(Error::TooLarge { what: "the filter".into(), bytes: u128::from(shape.bits) / 8 });
        }
        Ok(shape)
    }

    /// The share of zeros at first.
    pub(super) fn zeros(&self) -> Result<f64> {
        Ok(match START.need(self.start)? {
            Start::Zeros => 1.0,
            Start::Ones => 0.0,
            Start::Random => START_ZEROS.need(self.start_zeros)?,
        })
    }
}
