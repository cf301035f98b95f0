//! What a filter is made from: its settings, and the shape that follows from them.

use crate::error::{Error, Result};
use crate::hash::MAX_HASHES;
use crate::kind::{Parameter, common};
use crate::parts::equal_components::{Arrangement, COUNTER_BITS};
use crate::shell::{ByRate, Choice, Fields, Settings, choices, fields};
use crate::store::{BitMatrix, Orientation};
use crate::theory::dynamic::sizing::{self, Distribution, Ranks, Sizing};
use crate::theory::dynamic::{Shape, chain_limit};
use crate::theory::{MAX_BITS, Size, check_bits, compressed, standard};

/// The components that the sizing for a bounded set tries, at most.
pub(crate) const MOST_COMPONENTS: u64 = 64;

/// The removals that may wait, at most: each is tried again after every removal that succeeds.
pub(super) const MOST_WAITING: u64 = 1024;

/// What a component is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Counters of four bits, which allow removal.
    Counters,
    /// Bits: a quarter of the memory, and no removal.
    Bits,
}

choices!(Cell { Counters = "counters", Bits = "bits" });

/// How the components lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One behind the other.
    Rows,
    /// The same position of 64 components in one word: long chains are asked faster.
    Slices,
}

choices!(Layout { Rows = "rows", Slices = "slices" });

/// Which keys an insertion puts in.
///
/// ```
/// use bouquet::dynamic::dynamic::{Builder, Insertion};
/// let mut filter = Builder::fixed(1_000, 0.01)?.bits().insertion(Insertion::Improved).build()?;
/// filter.insert_batch(&["rose", "rose"])?;
/// assert_eq!(filter.items(), 1);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// Those that seem absent, from the number of keys on at which those with several addresses would fill a component
    /// ([`Shape::improved_ratio`]); before, and always with counters, every key.
    Auto,
    /// Every key.
    Plain,
    /// Those that seem absent. Not with counters: a key that was skipped would vanish with those that hid it.
    Improved,
}

choices!(Insertion { Auto = "auto", Plain = "plain", Improved = "improved" });

/// How the number of keys is distributed, for the components with the least memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cardinality {
    /// It is not known: one component holds `items` keys.
    None,
    /// Every number up to `items` is equally likely.
    Uniform,
    /// Near `mean`, with the standard deviation `deviation`.
    Normal,
    /// By Zipf's law with the parameter `zipf`; small sets are the most likely ones.
    ZipfMinimum,
    /// The same; large sets are.
    ZipfMaximum,
    /// The same; in random order.
    ZipfRandom,
    /// The sets of many nodes, of which a quarter have at most `quarter` keys, half at most `median`, three quarters at
    /// most `three-quarters` and all at most `items`; between these, every number is equally likely.
    Nodes,
}

choices!(Cardinality {
    None = "none",
    Uniform = "uniform",
    Normal = "normal",
    ZipfMinimum = "zipf-minimum",
    ZipfMaximum = "zipf-maximum",
    ZipfRandom = "zipf-random",
    Nodes = "nodes",
});

const ITEMS: Parameter = Parameter {
    help: "keys that fit before the filter grows for the first time; with a distribution, the largest number of keys",
    ..common::ITEMS
};
pub(super) const FPR: Parameter =
    Parameter { help: "false-positive rate with that many keys; it rises with every further component", ..common::FPR };
const BITS: Parameter =
    Parameter { help: "size of a component in bits or counters, instead of a rate", ..common::BITS };
const CAPACITY: Parameter =
    Parameter::count("capacity", "keys of a component; what suits its size and the rate when not given", 1, MAX_BITS);
const COMPONENTS: Parameter =
    Parameter::choice("components", "counters of four bits, which allow removal, or bits", Cell::WORDS);
const LAYOUT: Parameter = Parameter::choice(
    "layout",
    "components one behind the other (rows), or the same position of 64 components in one word (slices)",
    Layout::WORDS,
);
const INSERTION: Parameter = Parameter::choice(
    "insertion",
    "plain puts every key in; improved only those that seem absent (bits alone); auto improves when it pays",
    Insertion::WORDS,
);
const GAMMA: Parameter = Parameter::real(
    "gamma",
    "rate that must never be passed: an insertion that would is refused, for the filter must be rebuilt",
    0.0,
    1.0,
);
const RETRY: Parameter =
    Parameter::count("retry", "removals that may wait until their component can be told", 0, MOST_WAITING).or(0);
const DISTRIBUTION: Parameter = Parameter::choice(
    "distribution",
    "how the number of keys is distributed up to items: the components then have the size with the least memory",
    Cardinality::WORDS,
);
const ZIPF: Parameter = Parameter::real("zipf", "parameter of a Zipf distribution", 0.0, 100.0).or_real(0.4);
const MEAN: Parameter =
    Parameter::real("mean", "mean of a normal distribution; half of items when not given", 0.0, 1e17);
const DEVIATION: Parameter = Parameter::real(
    "deviation",
    "standard deviation of a normal distribution; an eighth of items when not given",
    0.0,
    1e17,
);
const MEMORY_BITS: Parameter = Parameter::real(
    "memory-bits",
    "sized to be sent: the shortest message with at most this many bits per key in memory (bits alone)",
    0.0,
    1e6,
);
const QUARTER: Parameter = Parameter::count(
    "quarter",
    "with distribution=nodes: keys that a quarter of the nodes have at most; a quarter of items when not given",
    1,
    MAX_BITS,
);
const MEDIAN: Parameter = Parameter::count(
    "median",
    "with distribution=nodes: keys that half of the nodes have at most; half of items when not given",
    1,
    MAX_BITS,
);
const THREE_QUARTERS: Parameter = Parameter::count(
    "three-quarters",
    "with distribution=nodes: keys that three quarters of the nodes have at most; three quarters of items when not given",
    1,
    MAX_BITS,
);

/// The settings of a dynamic filter. [`Builder`](super::Builder) makes them from what is known about the set.
///
/// ```
/// use bouquet::dynamic::dynamic::{Cardinality, Dynamic, DynamicSettings, Insertion};
/// let settings = DynamicSettings { items: Some(1330), fpr: Some(0.0098), ..Default::default() };
/// let sized = DynamicSettings { distribution: Some(Cardinality::Uniform), ..settings.clone() };
/// assert_eq!(Dynamic::with(sized)?.settings().bits, Some(2959));
/// let improved = DynamicSettings { insertion: Some(Insertion::Improved), ..settings };
/// assert!(Dynamic::with(improved).is_err(), "not with counters");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DynamicSettings {
    /// The keys of the first component; with a distribution, the largest number of keys.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// m, the bits or counters of a component.
    pub bits: Option<u64>,
    /// k, the positions of a key.
    pub hashes: Option<u32>,
    /// c, the keys of a component.
    pub capacity: Option<u64>,
    /// What a component is made of.
    pub components: Option<Cell>,
    /// How the components lie in memory.
    pub layout: Option<Layout>,
    /// Which keys an insertion puts in.
    pub insertion: Option<Insertion>,
    /// The rate that must never be passed.
    pub gamma: Option<f64>,
    /// The removals that may wait.
    pub retry: Option<u64>,
    /// How the number of keys is distributed.
    pub distribution: Option<Cardinality>,
    /// The parameter of a Zipf distribution.
    pub zipf: Option<f64>,
    /// The mean of a normal distribution.
    pub mean: Option<f64>,
    /// The standard deviation of a normal distribution.
    pub deviation: Option<f64>,
    /// The most bits per key in memory of a filter that is sized to be sent.
    pub memory_bits: Option<f64>,
    /// The keys that a quarter of the nodes have at most.
    pub quarter: Option<u64>,
    /// The keys that half of the nodes have at most.
    pub median: Option<u64>,
    /// The keys that three quarters of the nodes have at most.
    pub three_quarters: Option<u64>,
}

impl Settings for DynamicSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        fpr: FPR,
        bits: BITS,
        hashes: common::HASHES,
        capacity: CAPACITY,
        components: COMPONENTS,
        layout: LAYOUT,
        insertion: INSERTION,
        gamma: GAMMA,
        retry: RETRY,
        distribution: DISTRIBUTION,
        zipf: ZIPF,
        mean: MEAN,
        deviation: DEVIATION,
        memory_bits: MEMORY_BITS,
        quarter: QUARTER,
        median: MEDIAN,
        three_quarters: THREE_QUARTERS,
    ];

    /// The same shape of components is all that a union needs.
    const DESIGN: &'static [&'static str] = &[
        ITEMS.name,
        FPR.name,
        LAYOUT.name,
        INSERTION.name,
        GAMMA.name,
        RETRY.name,
        DISTRIBUTION.name,
        ZIPF.name,
        MEAN.name,
        DEVIATION.name,
        MEMORY_BITS.name,
        QUARTER.name,
        MEDIAN.name,
        THREE_QUARTERS.name,
    ];
}

impl ByRate for DynamicSettings {}

/// What follows from the settings.
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
    pub(super) fn new(settings: &DynamicSettings) -> Result<Self> {
        let counters = COMPONENTS.need(settings.components)? == Cell::Counters;
        let insertion = INSERTION.need(settings.insertion)?;
        if counters && insertion == Insertion::Improved {
            // The key that was skipped would vanish with the keys that made it seem present.
            return Err(Error::parameter(INSERTION.name, "plain or auto with counters", insertion.word()));
        }
        if counters && settings.memory_bits.is_some() {
            return Err(Error::parameter(MEMORY_BITS.name, "left out with counters", "given"));
        }
        let fpr = FPR.need(settings.fpr)?;
        let gamma = settings.gamma;
        if let Some(gamma) = gamma
            && gamma <= fpr
        {
            return Err(Error::parameter(GAMMA.name, format!("above `fpr`, {fpr}"), gamma));
        }
        Ok(Design {
            shape: shape(settings, fpr)?,
            arrangement: Arrangement { counters, sliced: LAYOUT.need(settings.layout)? == Layout::Slices },
            insertion,
            gamma,
            retry: RETRY.need(settings.retry)?.min(MOST_WAITING) as usize,
        })
    }

    /// The bits of the stores of this many components.
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
fn distribution(settings: &DynamicSettings, items: u64) -> Result<Option<Distribution>> {
    let exponent = ZIPF.need(settings.zipf)?;
    let zipf = |ranks| Distribution::Zipf { exponent, ranks };
    Ok(match DISTRIBUTION.need(settings.distribution)? {
        Cardinality::None => None,
        Cardinality::Uniform => Some(Distribution::Uniform),
        Cardinality::Normal => Some(Distribution::Normal {
            mean: settings.mean.unwrap_or(items as f64 / 2.0),
            deviation: settings.deviation.unwrap_or(items as f64 / 8.0),
        }),
        Cardinality::ZipfMinimum => Some(zipf(Ranks::Minimum)),
        Cardinality::ZipfMaximum => Some(zipf(Ranks::Maximum)),
        Cardinality::ZipfRandom => Some(zipf(Ranks::Random(0))),
        Cardinality::Nodes => {
            let quartiles = [
                settings.quarter.unwrap_or(items / 4),
                settings.median.unwrap_or(items / 2),
                settings.three_quarters.unwrap_or(items - items / 4),
                items,
            ];
            if !quartiles.is_sorted() {
                let expected = "quarter <= median <= three-quarters <= items";
                return Err(Error::parameter(MEDIAN.name, expected, format!("{quartiles:?}")));
            }
            Some(Distribution::Quartiles(quartiles))
        }
    })
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

fn shape(settings: &DynamicSettings, fpr: f64) -> Result<Shape> {
    let best_hashes = |bits: u64, capacity: u64| {
        let best = standard::best_hashes(bits as f64 / capacity as f64).ceil();
        (best.min(f64::from(MAX_HASHES)) as u32).max(1)
    };
    match (settings.bits, settings.capacity) {
        (Some(bits), capacity) => {
            let capacity = capacity.map_or_else(|| sizing::capacity(bits, fpr), Ok)?;
            Ok(Shape { bits, hashes: settings.hashes.unwrap_or_else(|| best_hashes(bits, capacity)), capacity })
        }
        (None, Some(capacity)) => component(settings, capacity, fpr),
        (None, None) => {
            let items = settings
                .items
                .ok_or_else(|| Error::parameter(ITEMS.name, ITEMS.range(), "missing (or give `bits` or `capacity`)"))?;
            let sizing = match (distribution(settings, items)?, settings.gamma) {
                (Some(distribution), _) => Some(sizing::for_bound(items, fpr, &distribution, MOST_COMPONENTS)?),
                (None, Some(gamma)) => unbounded(items, fpr, gamma)?,
                (None, None) => None,
            };
            match sizing {
                Some(Sizing { shape, component_rate, .. })
                    if settings.hashes.is_some() || settings.memory_bits.is_some() =>
                {
                    component(settings, shape.capacity, component_rate)
                }
                Some(Sizing { shape, .. }) => Ok(shape),
                None => component(settings, items, fpr),
            }
        }
    }
}

/// A component for this many keys at this rate.
fn component(settings: &DynamicSettings, capacity: u64, fpr: f64) -> Result<Shape> {
    let size = match (settings.memory_bits, settings.hashes) {
        (Some(memory), None) => {
            let plan = compressed::for_rate(fpr, memory).map_err(|error| match error.into() {
                Error::Parameter { name, expected, found } if name == "max_bits_per_key" => {
                    Error::Parameter { name: MEMORY_BITS.name.into(), expected, found }
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
