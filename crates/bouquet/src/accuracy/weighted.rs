#![doc = include_str!("weighted.md")]

use crate::accuracy::tabled::{Design, HASHES, Knowledge, OTHERS, OTHERS_QUERIES, TableSettings, TabledBits, Weighing};
use crate::capability::NoteType;
use crate::error::{Error, Result};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Text, common, kind};
use crate::shell::{ByRate, Choice, Fields, Filter, Known, Settings, choices, fields};
use crate::theory::assignment::Solver;

/// The registry's row.
pub const KIND: Kind = kind!(Weighted);

/// A Bloom filter whose keys have positions by how often they are asked for and how likely they are members.
///
/// ```
/// use bouquet::{Weighted, WeightedSettings, hash::Hashing};
/// let settings = WeightedSettings { bits: Some(10), others: Some(1_000), others_queries: Some(0.1), ..Default::default() };
/// // Nine of ten queries ask for `rose`, which is a member in one case of a hundred.
/// let hot = [(b"rose".as_slice(), [9.0, 0.01].into())];
/// let filter = Weighted::from_known(&settings, &Hashing::default(), [(b"lily".as_slice(), [1.0, 0.5].into())], hot)?;
/// assert!(filter.contains("lily") && !filter.contains("rose"));
/// assert!(filter.probes("rose") > filter.probes("iris"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Weighted = Filter<TabledBits<Frequency>>;

/// How real numbers of positions become whole ones.
///
/// ```
/// use bouquet::{WeightedSettings, accuracy::{TableSettings, weighted::Rounding}};
/// let settings = WeightedSettings { rounding: Some(Rounding::Hashed), ..Default::default() };
/// assert_eq!(settings.design()?.solver, None);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Keys with equal weights have the same whole number.
    Whole,
    /// A hash of the key rounds up or down.
    Hashed,
}

choices!(Rounding { Whole = "whole", Hashed = "hashed" });

const MOST: Parameter = Parameter::count("most", "positions of a key, at most", 1, 64).or(32);
const ROUNDING: Parameter = Parameter::choice(
    "rounding",
    "whole: keys with equal weights have the same number of positions; hashed: a hash of the key rounds up or down",
    Rounding::WORDS,
);

/// The settings of a weighted filter.
///
/// ```
/// use bouquet::{Weighted, WeightedSettings};
/// let settings = WeightedSettings { items: Some(1_000), bits: Some(10_000), ..Default::default() };
/// assert_eq!(Weighted::with(settings)?.settings().hashes, Some(7));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightedSettings {
    /// Distinct members.
    pub items: Option<u64>,
    /// The false-positive rate over the declared queries, with that many members.
    pub fpr: Option<f64>,
    /// The size in bits, without the table.
    pub bits: Option<u64>,
    /// Positions of a key that is not listed.
    pub hashes: Option<u32>,
    /// Positions of a key, at most.
    pub most: Option<u32>,
    /// Keys that are not listed.
    pub others: Option<u64>,
    /// The share of the queries that ask for them.
    pub others_queries: Option<f64>,
    /// How real numbers of positions become whole ones.
    pub rounding: Option<Rounding>,
}

impl Settings for WeightedSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: HASHES,
        most: MOST,
        others: OTHERS,
        others_queries: OTHERS_QUERIES,
        rounding: ROUNDING,
    ];
    const DESIGN: &'static [&'static str] = &["items", "fpr", "most", "others", "others-queries", "rounding"];
}

impl ByRate for WeightedSettings {}

impl TableSettings for WeightedSettings {
    fn design(&self) -> Result<Design> {
        Ok(Design {
            items: self.items,
            fpr: self.fpr,
            bits: self.bits,
            hashes: self.hashes,
            most: MOST.need(self.most)?,
            others: self.others.unwrap_or(0),
            others_queries: self.others_queries,
            solver: (self.rounding != Some(Rounding::Hashed)).then_some(Solver::Relax),
        })
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        WeightedSettings { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

/// Keys are known by the frequency of their queries and the likelihood that they are members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frequency;

impl Weighing for Frequency {
    const FACTS: Facts = Facts {
        id: "weighted",
        number: 168,
        aliases: &["WBF", "weighted Bloom filter"],
        family: "accuracy",
        text: Text::new(include_str!("weighted.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::Weights,
        parameters: &[],
    };

    type Settings = WeightedSettings;
    type Known = Known<2>;

    fn understand(known: Known<2>) -> Result<Option<Knowledge>> {
        let of = |[queries, likelihood]: [f64; 2]| {
            if !(0.0..=1e100).contains(&queries) || !(0.0..=1.0).contains(&likelihood) {
                let expected =
                    "a frequency of queries of at least 0, and a likelihood of membership from 0 to 1".into();
                return Err(Error::Item { expected, found: format!("{queries},{likelihood}") });
            }
            Ok(Knowledge { queries, vain: queries * (1.0 - likelihood), members: likelihood })
        };
        known.0.map(of).transpose()
    }
}

#[cfg(test)]
mod tests;
