//! The settings of a filter with variable-length signatures, and the shape that follows from them.

use crate::error::{Error, Result};
use crate::hash::MAX_HASHES;
use crate::kind::{Parameter, common};
use crate::shell::{self, ByRate, Fields, Settings, choices, fields};
use crate::theory::variable_length::{self, Shape};

const REMOVALS: Parameter = Parameter::count(
    "removals",
    "removals between two recoveries of a key; a tenth of the items if not given",
    0,
    1 << 56,
);
const FNR: Parameter =
    Parameter::real("fnr", "share of the keys that may be missed after those removals", 0.0, 1.0).or_real(0.01);
const SET: Parameter = Parameter::count(
    "set",
    "positions that an insertion sets; five sixths of the hashes if not searched",
    1,
    MAX_HASHES as u64,
);
const QUORUM: Parameter = Parameter::count(
    "quorum",
    "ones among a key's positions that make it present; nine tenths of those set if not searched",
    1,
    MAX_HASHES as u64,
);
const KEEP: Parameter = Parameter::count(
    "keep",
    "ones that a removal leaves; one less than the quorum, which is gentlest, if not given",
    0,
    MAX_HASHES as u64 - 1,
);
pub(super) const AGEING: Parameter = Parameter::choice(
    "ageing",
    "how ticks clear bits: in turn (round-robin), or at random",
    <Ageing as shell::Choice>::WORDS,
);
pub(super) const TICK: Parameter = Parameter::count("tick", "bits that a tick clears", 1, 1 << 56).or(64);

/// How bits are cleared as time passes.
///
/// ```
/// use bouquet::{VariableLength, counting::variable_length::Ageing, shell::Choice};
/// assert_eq!(VariableLength::with_size(1_000)?.settings().ageing, Some(Ageing::RoundRobin));
/// assert_eq!(Ageing::Random.word(), "random");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ageing {
    /// One after the other, and again from the beginning.
    #[default]
    RoundRobin,
    /// Anywhere.
    Random,
}

choices!(Ageing { RoundRobin = "round-robin", Random = "random" });

/// The settings of a filter with variable-length signatures.
///
/// ```
/// use bouquet::{VariableLength, VariableLengthSettings};
/// let settings = VariableLengthSettings { items: Some(1_000), removals: Some(500), ..Default::default() };
/// assert!(VariableLength::with(settings)?.shape().misses(1_000, 500, 0.0) <= 0.01);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariableLengthSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// Removals between two recoveries of a key.
    pub removals: Option<u64>,
    /// The share of the keys that may be missed after those removals.
    pub fnr: Option<f64>,
    /// Size in bits, m.
    pub bits: Option<u64>,
    /// Positions per key, k.
    pub hashes: Option<u32>,
    /// Positions that an insertion sets, t.
    pub set: Option<u32>,
    /// Ones that make a key present, q.
    pub quorum: Option<u32>,
    /// Ones that a removal leaves, d.
    pub keep: Option<u32>,
    /// How ticks clear bits.
    pub ageing: Option<Ageing>,
    /// Bits that a tick clears.
    pub tick: Option<u64>,
}

impl Settings for VariableLengthSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        removals: REMOVALS,
        fnr: FNR,
        bits: common::BITS,
        hashes: common::HASHES,
        set: SET,
        quorum: QUORUM,
        keep: KEEP,
        ageing: AGEING,
        tick: TICK,
    ];
}

impl ByRate for VariableLengthSettings {}

impl VariableLengthSettings {
    pub(super) fn of_shape(Shape { bits, hashes, set, quorum, keep }: Shape) -> Self {
        let [hashes, set, quorum, keep] = [hashes, set, quorum, keep].map(Some);
        VariableLengthSettings { bits: Some(bits), hashes, set, quorum, keep, ..Default::default() }
    }
}

/// The default of k, t and q, from which those of other numbers of hashes are scaled.
const DEFAULT_HASHES: u32 = 12;

/// The shape that the settings describe: searched, or given in whole or in part.
pub(super) fn shape(asked: &VariableLengthSettings) -> Result<Shape> {
    let VariableLengthSettings { items, bits, hashes, set, quorum, .. } = *asked;
    let fixed = hashes.is_some() || set.is_some() || quorum.is_some();
    let fpr = common::FPR.need(asked.fpr)?;
    let mut shape = match (bits, items) {
        (_, Some(items)) if !fixed => {
            let removals = asked.removals.unwrap_or(items / 10);
            let fnr = FNR.need(asked.fnr)?;
            match bits {
                Some(bits) => variable_length::best(bits, items, removals, fnr)?,
                None => variable_length::for_rate(items, fpr, removals, fnr)?,
            }
        }
        (bits, items) => {
            let hashes = hashes.unwrap_or_else(|| DEFAULT_HASHES.max(set.unwrap_or(0)).max(quorum.unwrap_or(0)));
            let set = set.unwrap_or_else(|| (hashes * 5 / 6).max(quorum.unwrap_or(1)).min(hashes).max(1));
            let quorum = quorum.unwrap_or_else(|| (set * 9).div_ceil(10));
            let keep = asked.keep.unwrap_or_else(|| quorum.saturating_sub(1));
            for (name, found, most, of) in
                [("set", set, hashes, "hashes"), ("quorum", quorum, set, "set"), ("keep", keep + 1, quorum, "quorum")]
            {
                if found > most {
                    let found = if name == "keep" { keep } else { found };
                    return Err(Error::parameter(name, format!("at most the {most} of {of} (keep: below it)"), found));
                }
            }
            let shape = Shape { bits: 0, hashes, set, quorum, keep };
            match (bits, items) {
                (Some(bits), _) => Shape { bits, ..shape },
                (None, Some(items)) => variable_length::sized(shape, items, fpr)?,
                (None, None) => return Err(common::ITEMS.missing("bits")),
            }
        }
    };
    if let Some(keep) = asked.keep {
        if keep >= shape.quorum {
            return Err(Error::parameter("keep", format!("below the quorum, {}", shape.quorum), keep));
        }
        shape.keep = keep;
    }
    if shape.bits < u64::from(shape.hashes) {
        return Err(Error::parameter("bits", format!("at least the {} positions of a key", shape.hashes), shape.bits));
    }
    Ok(shape)
}
