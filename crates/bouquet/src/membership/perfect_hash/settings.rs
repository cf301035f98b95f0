//! The settings of a static set, and the shape that follows from them.

use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::kind::{Parameter, common};
use crate::parts::records::bits_for;
use crate::shell::{Choice, Fields, Settings, choices, fields};
use crate::store::field_max;
use crate::theory::perfect as theory;

use super::minimal;

/// Where fingerprints are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As the sum of three cells.
    Fuse,
    /// In the key's own slot, which a minimal perfect hash finds.
    Minimal,
}

choices!(Mode { Fuse = "fuse", Minimal = "minimal" });

/// What is kept of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// That it is there.
    Keys,
    /// Its number, too.
    Values,
}

choices!(Holds { Keys = "keys", Values = "values" });

/// The widest fingerprint, so that a value of up to 32 bits fits beside it.
const MAX_FINGERPRINT: u64 = 32;

const MODE: Parameter = Parameter::choice(
    "mode",
    "fuse: three cells add up to the fingerprint, smallest and fastest; minimal: a minimal perfect hash, every key has a slot",
    Mode::WORDS,
);
pub(super) const HOLDS: Parameter = Parameter::choice("holds", "keys alone, or a value with each", Holds::WORDS);
pub(super) const VALUES: Parameter =
    Parameter::count("values", "how many values there are: they are the numbers below this", 2, 1 << 32).or(256);
const FINGERPRINT: Parameter =
    Parameter::count("fingerprint", "bits per fingerprint, instead of a rate", 1, MAX_FINGERPRINT);

/// The settings of a static set.
///
/// ```
/// use bouquet::{PerfectHash, PerfectHashSettings, hash::Hashing, membership::perfect_hash::Mode};
/// let minimal = PerfectHashSettings { mode: Some(Mode::Minimal), fingerprint: Some(10), ..Default::default() };
/// let set = PerfectHash::from_keys(&minimal, &Hashing::default(), (0..1_000u64).collect::<Vec<_>>())?;
/// assert!(set.slot(&7u64).is_some_and(|slot| slot < 1_000));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerfectHashSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The false-positive rate.
    pub fpr: Option<f64>,
    /// Where fingerprints are kept.
    pub mode: Option<Mode>,
    /// What is kept of a key.
    pub holds: Option<Holds>,
    /// How many values there are.
    pub values: Option<u64>,
    /// Bits per fingerprint.
    pub fingerprint: Option<u32>,
}

impl Settings for PerfectHashSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        mode: MODE,
        holds: HOLDS,
        values: VALUES,
        fingerprint: FINGERPRINT,
    ];
}

/// The settings, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) mode: Mode,
    /// Bits of a fingerprint.
    pub(super) fingerprint: u32,
    /// How many values there are, 1 without any.
    pub(super) values: u64,
}

impl Shape {
    pub(super) fn of(settings: &PerfectHashSettings) -> Result<Self> {
        let (mode, holds) = (MODE.need(settings.mode)?, HOLDS.need(settings.holds)?);
        let values = if holds == Holds::Values { VALUES.need(settings.values)? } else { 1 };
        let fpr: f64 = common::FPR.need(settings.fpr)?;
        let needed = || (1..=MAX_FINGERPRINT as u32).find(|&bits| 0.5f64.powi(bits as i32) <= fpr);
        let least = 0.5f64.powi(MAX_FINGERPRINT as i32);
        let refused = || Error::parameter("fpr", format!("at least {least:e}"), fpr);
        let fingerprint = settings.fingerprint.or_else(needed).ok_or_else(refused)?;
        Ok(Shape { mode, fingerprint, values })
    }

    fn value_bits(&self) -> u32 {
        if self.values > 1 { bits_for(self.values - 1) } else { 0 }
    }

    /// Bits of fingerprint and value.
    pub(super) fn width(&self) -> u32 {
        self.fingerprint + self.value_bits()
    }

    /// 2^-j; sums of cells are random, and those that give no value are refused too.
    pub(super) fn rate(&self) -> f64 {
        let rate = 0.5f64.powi(self.fingerprint as i32);
        match self.mode {
            Mode::Fuse => rate * self.values as f64 / 2f64.powi(self.value_bits() as i32),
            Mode::Minimal => rate,
        }
    }

    pub(super) fn planned_bits(&self, keys: u64) -> Result<u64> {
        let width = u64::from(self.width());
        match self.mode {
            Mode::Fuse => Ok(theory::fuse(keys)?.cells() * if keys == 0 { 0 } else { width }),
            Mode::Minimal => Ok(minimal::planned_bits(keys)? + keys * width),
        }
    }

    /// What is stored of a key: its fingerprint, and its value above it.
    #[inline]
    pub(super) fn content(&self, digest: Digest, value: u64) -> u64 {
        digest.h2 & field_max(self.fingerprint) | value << self.fingerprint
    }

    /// The value in a content, if its fingerprint is that of the key.
    #[inline(always)]
    pub(super) fn value(&self, content: u64, digest: Digest) -> Option<u64> {
        if (content ^ digest.h2) & field_max(self.fingerprint) != 0 {
            return None;
        }
        let value = content >> self.fingerprint;
        (value < self.values).then_some(value)
    }

    pub(super) fn check_value(&self, value: u64) -> Result<u64> {
        if value < self.values {
            return Ok(value);
        }
        Err(Error::Item { expected: format!("a value below {} (see `values`)", self.values), found: value.to_string() })
    }
}
