#![doc = include_str!("pipelined.md")]

use crate::capability::NoteType;
use crate::error::{Error, Result};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Reply, Special, Takes, Text, common, kind};
use crate::membership::Sizes;
use crate::membership::staged::{BaseLayout, Scheduler, Staged, StagedSettings};
use crate::shell::{ByRate, Choice, Fields, Filter, Settings, choices, fields};
use crate::theory::pipeline;

/// A pipelined Bloom filter.
///
/// ```
/// use bouquet::Pipelined;
/// let mut filter = Pipelined::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// assert!(filter.contains_traced("thistle").evaluations < 7, "not all seven functions were computed");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Pipelined = Filter<Staged<Pipeline>>;

/// The registry's row.
pub const KIND: Kind = kind!(Pipelined);

/// How the functions are divided.
///
/// ```
/// use bouquet::{Pipelined, PipelinedSettings, membership::pipelined::StagePlan};
/// let settings = PipelinedSettings { items: Some(100), stages: Some(StagePlan::Full), ..Default::default() };
/// assert_eq!(Pipelined::with(settings)?.contains_traced("thistle").evaluations, 1);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagePlan {
    /// Two stages; the first has the best number of functions when the filter is full, unless it is given.
    Two,
    /// A stage for each function.
    Full,
    /// Two stages; the first has the best number of functions at the present fill.
    Auto,
}

choices!(StagePlan { Two = "two", Full = "full", Auto = "auto" });

/// The stages of a pipelined filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    plan: StagePlan,
    first: u32,
}

const LAYOUT: Parameter = Parameter::choice("layout", "where the bits of a key lie", BaseLayout::WORDS);
const STAGES: Parameter = Parameter::choice(
    "stages",
    "two, one for each function, or two with the first always the best at the present fill",
    StagePlan::WORDS,
);
const FIRST: Parameter =
    Parameter::count("first", "functions of the first of two stages; the best number when not given", 1, 64);

/// The settings of a pipelined Bloom filter.
///
/// ```
/// use bouquet::{Pipelined, PipelinedSettings};
/// let settings = |first| PipelinedSettings { items: Some(1_000), first: Some(first), ..Default::default() };
/// assert_eq!(Pipelined::with(settings(3))?.contains_traced("thistle").evaluations, 3);
/// assert!(Pipelined::with(settings(8)).is_err(), "it has seven");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipelinedSettings {
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
    /// How the functions are divided.
    pub stages: Option<StagePlan>,
    /// Functions of the first of two stages.
    pub first: Option<u32>,
}

impl Settings for PipelinedSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        layout: LAYOUT,
        stages: STAGES,
        first: FIRST,
    ];

    /// Filters that only differ in when they look are combined.
    const DESIGN: &'static [&'static str] = &["items", "fpr", "stages", "first"];
}

impl ByRate for PipelinedSettings {}

impl StagedSettings for PipelinedSettings {
    fn base(&self) -> (Sizes, Option<BaseLayout>) {
        let PipelinedSettings { items, fpr, bits, hashes, layout, .. } = *self;
        (Sizes { items, fpr, bits, hashes }, layout)
    }

    fn with_base(self, bits: u64, hashes: u32, layout: BaseLayout) -> Self {
        PipelinedSettings { bits: Some(bits), hashes: Some(hashes), layout: Some(layout), ..self }
    }
}

impl Scheduler for Pipeline {
    const FACTS: Facts = Facts {
        id: "pipelined",
        number: 23,
        aliases: &["pipelined Bloom filter, fully", "fully pipelined"],
        family: "membership",
        text: Text::new(include_str!("pipelined.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const SPECIALS: &'static [Special<Pipelined>] = &[
        Staged::TRACE,
        Staged::MEASURE,
        Staged::WORK,
        Special::ask(
            "cost",
            Takes::Share,
            "the evaluations per query in theory when this share of the queries is positive",
            |filter, share| Ok(Reply::Real(filter.expected_cost(share.share()?))),
        ),
        Special::act("replan", Takes::Nothing, "the best first stage at the present fill, from now on", |filter, _| {
            Ok(u64::from(filter.replan()).into())
        }),
    ];

    type Settings = PipelinedSettings;

    fn plan(settings: &PipelinedSettings, hashes: u32, ones: f64) -> Result<Self> {
        let (plan, given) = (STAGES.need(settings.stages)?, settings.first);
        if plan != StagePlan::Two && given.is_some() {
            return Err(Error::parameter("first", "left out unless there are two `stages`", given.unwrap_or_default()));
        }
        if given.is_some_and(|first| first > hashes) {
            return Err(Error::parameter(
                "first",
                format!("at most the {hashes} functions"),
                given.unwrap_or_default(),
            ));
        }
        let first = match plan {
            StagePlan::Two => given.unwrap_or_else(|| pipeline::best_first(hashes, ones)),
            // An empty filter is decided by one look.
            StagePlan::Full | StagePlan::Auto => 1,
        };
        Ok(Pipeline { plan, first })
    }

    fn settings(&self, asked: PipelinedSettings) -> PipelinedSettings {
        let first = (self.plan == StagePlan::Two).then_some(self.first);
        PipelinedSettings { stages: Some(self.plan), first, ..asked }
    }

    fn stages(&self, hashes: u32) -> Vec<u32> {
        match self.plan {
            StagePlan::Full => vec![1; hashes as usize],
            _ if self.first == hashes => vec![hashes],
            _ => vec![self.first, hashes - self.first],
        }
    }

    fn first(&self) -> u32 {
        self.first
    }

    fn filled(&mut self, hashes: u32, ones: f64) {
        if self.plan == StagePlan::Auto {
            self.first = pipeline::best_first(hashes, ones);
        }
    }

    fn encode(&self, state: &mut crate::codec::StateWriter) {
        if self.plan == StagePlan::Auto {
            state.u32(self.first);
        }
    }

    fn decode(&mut self, hashes: u32, state: &mut crate::codec::StateReader<'_>) -> Result<()> {
        if self.plan == StagePlan::Auto {
            self.first = state.u32()?;
            if !(1..=hashes).contains(&self.first) {
                return Err(Error::corrupt("first stage", format!("1 to {hashes} functions"), self.first));
            }
        }
        Ok(())
    }
}

impl Pipelined {
    /// A filter of `bits` bits and `hashes` positions per key, in two stages that are the best when half of the bits are one.
    ///
    /// ```
    /// use bouquet::Pipelined;
    /// let first = |hashes| Pipelined::with_size(1_000, hashes).map(|filter| filter.settings().first);
    /// assert_eq!((first(8)?, first(10)?, first(16)?), (Some(2), Some(3), Some(3)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(PipelinedSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }

    /// Gives the first of two stages the best number of functions at the present fill, and says which. One of `full` stages
    /// stays 1.
    ///
    /// ```
    /// use bouquet::Pipelined;
    /// let mut filter = Pipelined::with_size(1_000, 16)?;
    /// filter.insert_batch(&(0..20u64).collect::<Vec<_>>());
    /// assert_eq!((filter.replan(), filter.settings().first), (2, Some(2)), "it is a quarter full");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn replan(&mut self) -> u32 {
        let (hashes, fill) = (self.mechanism.hashes(), self.mechanism.fill());
        let pipeline = &mut self.mechanism.scheduler;
        if pipeline.plan != StagePlan::Full {
            pipeline.first = pipeline::best_first(hashes, fill);
        }
        pipeline.first
    }
}

#[cfg(test)]
mod tests;
