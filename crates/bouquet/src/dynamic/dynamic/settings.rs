//! What a filter is made from: the parameters of the kind, and the shape that follows from them.

use super::Insertion;
use crate::error::{Error, Result};
use crate::hash::MAX_HASHES;
use crate::kind::{Config, Parameter, ParameterType, Setting, common};
use crate::parts::equal_components::{Arrangement, COUNTER_BITS};
use crate::store::{BitMatrix, Orientation};
use crate::theory::dynamic::sizing::{self, Distribution, Ranks, Sizing};
use crate::theory::dynamic::{Shape, chain_limit};
use crate::theory::{MAX_BITS, Size, check_bits, compressed, standard};

/// The components that the sizing for a bounded set tries, at most.
pub(crate) const MOST_COMPONENTS: u64 = 64;

/// The removals that may wait, at most: each is tried again after every removal that succeeds.
const MOST_WAITING: u64 = 1024;

const WORDS: [&str; 6] = ["none", "uniform", "normal", "zipf-minimum", "zipf-maximum", "zipf-random"];

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        help: "keys that fit before the filter grows for the first time; with a distribution, the largest number of keys",
        ..common::ITEMS
    },
    Parameter { help: "false-positive rate with that many keys; it rises with every further component", ..common::FPR },
    Parameter { help: "size of a component in bits or counters, instead of a rate", ..common::BITS },
    common::HASHES,
    Parameter {
        name: "capacity",
        help: "keys of a component; what suits its size and the rate when not given",
        of: ParameterType::Count { min: 1, max: MAX_BITS, default: None },
    },
    Parameter {
        name: "components",
        help: "counters of four bits, which allow removal, or bits",
        of: ParameterType::Choice { options: &["counters", "bits"] },
    },
    Parameter {
        name: "layout",
        help: "components one behind the other (rows), or the same position of 64 components in one word (slices)",
        of: ParameterType::Choice { options: &["rows", "slices"] },
    },
    Parameter {
        name: "insertion",
        help: "plain puts every key in; improved only those that seem absent (bits alone); auto improves when it pays",
        of: ParameterType::Choice { options: &Insertion::NAMES },
    },
    Parameter {
        name: "gamma",
        help: "rate that must never be passed: an insertion that would is refused, for the filter must be rebuilt",
        of: ParameterType::Real { above: 0.0, below: 1.0, default: None },
    },
    Parameter {
        name: "retry",
        help: "removals that may wait until their component can be told",
        of: ParameterType::Count { min: 0, max: MOST_WAITING, default: Some(0) },
    },
    Parameter {
        name: "distribution",
        help: "how the number of keys is distributed up to items: the components then have the size with the least memory",
        of: ParameterType::Choice { options: &WORDS },
    },
    Parameter {
        name: "zipf",
        help: "parameter of a Zipf distribution",
        of: ParameterType::Real { above: 0.0, below: 100.0, default: Some(0.4) },
    },
    Parameter {
        name: "mean",
        help: "mean of a normal distribution; half of items when not given",
        of: ParameterType::Real { above: 0.0, below: 1e17, default: None },
    },
    Parameter {
        name: "deviation",
        help: "standard deviation of a normal distribution; an eighth of items when not given",
        of: ParameterType::Real { above: 0.0, below: 1e17, default: None },
    },
    Parameter {
        name: "memory-bits",
        help: "sized to be sent: the shortest message with at most so many bits per key in memory (bits alone)",
        of: ParameterType::Real { above: 0.0, below: 1e6, default: None },
    },
];

/// What follows from the parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Design {
    pub(super) shape: Shape,
    pub(super) arrangement: Arrangement,
    pub(super) insertion: Insertion,
    pub(super) gamma: Option<f64>,
    /// Removals that may wait.
    pub(super) retry: usize,
}

impl Design {
    pub(super) fn new(config: &Config) -> Result<Self> {
        let counters = config.choice("components") == "counters";
        let insertion = Insertion::of(config.choice("insertion"));
        if counters && insertion == Insertion::Improved {
            // The key that was skipped would vanish with the keys that made it seem present.
            return Err(Error::parameter("insertion", "plain or auto with counters", "improved"));
        }
        if counters && config.is_set("memory-bits") {
            return Err(Error::parameter("memory-bits", "left out with counters", "given"));
        }
        let fpr = config.real("fpr").unwrap_or(0.01);
        let gamma = config.real("gamma");
        if let Some(gamma) = gamma
            && gamma <= fpr
        {
            return Err(Error::parameter("gamma", format!("above `fpr`, {fpr}"), gamma));
        }
        Ok(Design {
            shape: shape(config, fpr)?,
            arrangement: Arrangement { counters, sliced: config.choice("layout") == "slices" },
            insertion,
            gamma,
            retry: config.count("retry").unwrap_or(0).min(MOST_WAITING) as usize,
        })
    }

    /// The settings with the shape that followed from them.
    pub(super) fn effective(&self, config: &Config) -> Config {
        let Shape { bits, hashes, capacity } = self.shape;
        let words = if self.arrangement.counters { "counters" } else { "bits" };
        config
            .clone()
            .put("bits", Setting::Count(bits))
            .put("hashes", Setting::Count(hashes.into()))
            .put("capacity", Setting::Count(capacity))
            .put("components", Setting::Choice(words))
    }

    /// The bits of the stores of so many components.
    pub(super) fn store_bits(&self, components: u64) -> Result<u64> {
        let Shape { bits, .. } = self.shape;
        let Arrangement { counters, sliced } = self.arrangement;
        let matrix = |orientation| BitMatrix::needed_bits(components, bits, orientation);
        let rows = matrix(Orientation::BySet)?;
        let slices = if sliced { matrix(Orientation::ByPosition)? } else { 0 };
        let too_large = || Error::TooLarge { what: "the filter".into(), bytes: u128::from(rows) / 2 };
        match (counters, sliced) {
            (false, false) => Ok(rows),
            (false, true) => Ok(slices),
            (true, _) => {
                let counters = rows.checked_mul(COUNTER_BITS.into()).ok_or_else(too_large)?;
                counters.checked_add(slices).ok_or_else(too_large)
            }
        }
    }
}

/// The distribution that the settings name, if any.
fn distribution(config: &Config, items: u64) -> Option<Distribution> {
    let exponent = config.real("zipf").unwrap_or(0.4);
    let zipf = |ranks| Some(Distribution::Zipf { exponent, ranks });
    match config.choice("distribution") {
        "uniform" => Some(Distribution::Uniform),
        "normal" => Some(Distribution::Normal {
            mean: config.real("mean").unwrap_or(items as f64 / 2.0),
            deviation: config.real("deviation").unwrap_or(items as f64 / 8.0),
        }),
        "zipf-minimum" => zipf(Ranks::Minimum),
        "zipf-maximum" => zipf(Ranks::Maximum),
        "zipf-random" => zipf(Ranks::Random(0)),
        _ => None,
    }
}

/// The sizing of a set of unknown size that should keep to `fpr` and must keep to `gamma`: a component for (items, fpr),
/// unless the two rates are so close that no second one would fit between them. Then the chain for a set of up to
/// `items` keys at the rate `gamma` is better.
pub(super) fn unbounded(items: u64, fpr: f64, gamma: f64) -> Result<Option<Sizing>> {
    if chain_limit(fpr, gamma) >= 2 {
        return Ok(None);
    }
    Ok(Some(sizing::for_bound(items, gamma, &Distribution::Uniform, MOST_COMPONENTS)?))
}

fn shape(config: &Config, fpr: f64) -> Result<Shape> {
    let hashes = config.count("hashes").map(|hashes| hashes as u32);
    let best_hashes = |bits: u64, capacity: u64| {
        let best = standard::best_hashes(bits as f64 / capacity as f64).ceil();
        (best.min(f64::from(MAX_HASHES)) as u32).max(1)
    };
    match (config.count("bits"), config.count("capacity")) {
        (Some(bits), capacity) => {
            let capacity = capacity.map_or_else(|| sizing::capacity(bits, fpr), Ok)?;
            Ok(Shape { bits, hashes: hashes.unwrap_or_else(|| best_hashes(bits, capacity)), capacity })
        }
        (None, Some(capacity)) => component(config, capacity, fpr, hashes),
        (None, None) => {
            let items = config.count("items").ok_or_else(|| {
                Error::parameter("items", common::ITEMS.range(), "missing (or give `bits` or `capacity`)")
            })?;
            let gamma = config.real("gamma");
            let sizing = match (distribution(config, items), gamma) {
                (Some(distribution), _) => Some(sizing::for_bound(items, fpr, &distribution, MOST_COMPONENTS)?),
                (None, Some(gamma)) => unbounded(items, fpr, gamma)?,
                (None, None) => None,
            };
            match sizing {
                Some(Sizing { shape, component_rate, .. }) if hashes.is_some() || config.is_set("memory-bits") => {
                    component(config, shape.capacity, component_rate, hashes)
                }
                Some(Sizing { shape, .. }) => Ok(shape),
                None => component(config, items, fpr, hashes),
            }
        }
    }
}

/// A component for so many keys at this rate.
fn component(config: &Config, capacity: u64, fpr: f64, hashes: Option<u32>) -> Result<Shape> {
    let size = match (config.real("memory-bits"), hashes) {
        (Some(memory), None) => {
            let plan = compressed::for_rate(fpr, memory).map_err(|error| match error.into() {
                Error::Parameter { name, expected, found } if name == "max_bits_per_key" => {
                    Error::Parameter { name: "memory-bits".into(), expected, found }
                }
                error => error,
            })?;
            Size { bits: check_bits(plan.bits_per_key * capacity as f64)?, hashes: plan.hashes }
        }
        (_, Some(hashes)) => Size { bits: check_bits(standard::needed_bits(capacity, fpr, hashes))?, hashes },
        (None, None) => standard::for_rate(capacity, fpr)?,
    };
    Ok(Shape { bits: size.bits, hashes: size.hashes, capacity })
}
