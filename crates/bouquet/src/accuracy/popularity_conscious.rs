#![doc = include_str!("popularity_conscious.md")]

use crate::accuracy::tabled::{Design, HASHES, Knowledge, OTHERS, OTHERS_QUERIES, TableSettings, TabledBits, Weighing};
use crate::capability::NoteType;
use crate::error::{Error, Result};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Text, common, kind};
use crate::shell::{ByRate, Choice, Fields, Filter, Known, Settings, choices, fields};
use crate::theory::assignment::Solver;

/// The registry's row.
pub const KIND: Kind = kind!(PopularityConscious);

/// A Bloom filter whose objects have positions by their popularity among members and among queries, as an integer program has it.
///
/// ```
/// use bouquet::{PopularityConscious, PopularityConsciousSettings, accuracy::popularity_conscious::Solve, hash::Hashing};
/// let settings = PopularityConsciousSettings { bits: Some(24), solver: Some(Solve::Exact), ..Default::default() };
/// let known = |queries: f64, members: f64| [queries, members].into();
/// let stored = [(b"lily".as_slice(), known(1.0, 5.0)), (b"iris".as_slice(), known(2.0, 3.0))];
/// let asked = [(b"rose".as_slice(), known(40.0, 1.0))];
/// let filter = PopularityConscious::from_known(&settings, &Hashing::default(), stored, asked)?;
/// assert!(filter.contains("lily") && filter.contains("iris"));
/// assert!(filter.probes("rose") > filter.probes("iris") && filter.probes("iris") > filter.probes("lily"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type PopularityConscious = Filter<TabledBits<Popularity>>;

/// Who finds the numbers of positions.
///
/// ```
/// use bouquet::{PopularityConsciousSettings, accuracy::{TableSettings, popularity_conscious::Solve}, theory::assignment::Solver};
/// let settings = PopularityConsciousSettings { solver: Some(Solve::Dp), epsilon: Some(0.05), ..Default::default() };
/// assert_eq!(settings.design()?.solver, Some(Solver::Dp(0.05)));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solve {
    /// The real optimum rounded down, the rest of the budget spent.
    Relax,
    /// The best step function along falling scores.
    Threshold,
    /// Dynamic programming over rounded costs.
    Dp,
    /// All assignments.
    Exact,
}

choices!(Solve { Relax = "relax", Threshold = "threshold", Dp = "dp", Exact = "exact" });

const MOST: Parameter = Parameter::count("most", "positions of an object, at most", 1, 64).or(16);
const SOLVER: Parameter = Parameter::choice(
    "solver",
    "relax: the real optimum rounded; threshold: steps along falling scores, for few objects; dp: within epsilon of the best; \
     exact: all assignments, for a handful of objects",
    Solve::WORDS,
);
const EPSILON: Parameter =
    Parameter::real("epsilon", "with solver=dp: how far the cost may be above the least", 0.0, 1.0).or_real(0.1);

/// The settings of a popularity-conscious filter.
///
/// ```
/// use bouquet::{PopularityConscious, PopularityConsciousSettings};
/// let settings = PopularityConsciousSettings { items: Some(1_000), bits: Some(10_000), ..Default::default() };
/// assert_eq!(PopularityConscious::with(settings)?.settings().hashes, Some(7));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PopularityConsciousSettings {
    /// Distinct members.
    pub items: Option<u64>,
    /// The false-positive rate over the declared queries, with that many members.
    pub fpr: Option<f64>,
    /// The size in bits, without the table.
    pub bits: Option<u64>,
    /// Positions of an object that is not listed.
    pub hashes: Option<u32>,
    /// Positions of an object, at most.
    pub most: Option<u32>,
    /// Objects that are not listed.
    pub others: Option<u64>,
    /// The share of the queries that ask for them.
    pub others_queries: Option<f64>,
    /// Who finds the numbers of positions.
    pub solver: Option<Solve>,
    /// How far the cost may be above the least, with dynamic programming.
    pub epsilon: Option<f64>,
}

impl Settings for PopularityConsciousSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: HASHES,
        most: MOST,
        others: OTHERS,
        others_queries: OTHERS_QUERIES,
        solver: SOLVER,
        epsilon: EPSILON,
    ];
    const DESIGN: &'static [&'static str] = &["items", "fpr", "most", "others", "others-queries", "solver", "epsilon"];
}

impl ByRate for PopularityConsciousSettings {}

impl TableSettings for PopularityConsciousSettings {
    fn design(&self) -> Result<Design> {
        Ok(Design {
            items: self.items,
            fpr: self.fpr,
            bits: self.bits,
            hashes: self.hashes,
            most: MOST.need(self.most)?,
            others: self.others.unwrap_or(0),
            others_queries: self.others_queries,
            solver: Some(match SOLVER.need(self.solver)? {
                Solve::Relax => Solver::Relax,
                Solve::Threshold => Solver::Threshold,
                Solve::Dp => Solver::Dp(EPSILON.need(self.epsilon)?),
                Solve::Exact => Solver::Exact,
            }),
        })
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        PopularityConsciousSettings { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

/// Objects are known by how often they are asked for in vain and how often they are members, both in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Popularity;

impl Weighing for Popularity {
    const FACTS: Facts = Facts {
        id: "popularity-conscious",
        number: 169,
        aliases: &["data-popularity-conscious Bloom filter"],
        family: "accuracy",
        text: Text::new(include_str!("popularity_conscious.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::Weights,
        parameters: &[],
    };

    type Settings = PopularityConsciousSettings;
    type Known = Known<2>;

    fn understand(known: Known<2>) -> Result<Option<Knowledge>> {
        let of = |[queries, members]: [f64; 2]| {
            if ![queries, members].iter().all(|popularity| (0.0..=1e100).contains(popularity)) {
                let expected = "popularities among queries and among members, of at least 0".into();
                return Err(Error::Item { expected, found: format!("{queries},{members}") });
            }
            Ok(Knowledge { queries, vain: queries, members })
        };
        known.0.map(of).transpose()
    }
}

#[cfg(test)]
mod tests;
