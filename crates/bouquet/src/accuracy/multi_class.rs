#![doc = include_str!("multi_class.md")]

use crate::accuracy::tabled::{Design, HASHES, Knowledge, OTHERS, TableSettings, TabledBits, Weighing};
use crate::capability::NoteType;
use crate::error::{Error, Result};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Text, common, kind};
use crate::shell::{ByRate, Fields, Filter, Known, Settings, fields};
use crate::theory::assignment::Solver;

/// The registry's row.
pub const KIND: Kind = kind!(MultiClass);

/// A Bloom filter whose elements have positions by their probability of presence.
///
/// ```
/// use bouquet::{MultiClass, MultiClassSettings, hash::Hashing};
/// // Of ten groups that are here half of the time five are, of a thousand that are here once in a hundred times ten.
/// let groups: Vec<[u8; 4]> = (0..1_010u32).map(u32::to_le_bytes).collect();
/// let (often, seldom) = groups.split_at(10);
/// let known = |keys: &'_ [[u8; 4]], presence: f64| keys.iter().map(|key| (key.to_vec(), presence)).collect::<Vec<_>>();
/// let here = [known(&often[..5], 0.5), known(&seldom[..10], 0.01)].concat();
/// let elsewhere = [known(&often[5..], 0.5), known(&seldom[10..], 0.01)].concat();
/// let listed = |keys: &'static [(Vec<u8>, f64)]| keys.iter().map(|(key, presence)| (key.as_slice(), [*presence].into()));
/// let settings = MultiClassSettings { bits: Some(150), ..Default::default() };
/// let filter = MultiClass::from_known(&settings, &Hashing::default(), listed(here.leak()), listed(elsewhere.leak()))?;
/// assert!(filter.contains(&often[0]) && filter.contains(&seldom[0]));
/// assert!(filter.probes(&often[0]) < filter.probes(&seldom[0]), "those that are seldom here take few bits in all");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type MultiClass = Filter<TabledBits<Presence>>;

const MOST: Parameter = Parameter::count("most", "positions of an element, at most", 1, 64).or(32);

/// The settings of a multi-class filter.
///
/// ```
/// use bouquet::{MultiClass, MultiClassSettings};
/// let settings = MultiClassSettings { items: Some(1_000), bits: Some(10_000), ..Default::default() };
/// assert_eq!(MultiClass::with(settings)?.settings().hashes, Some(7));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MultiClassSettings {
    /// Distinct members.
    pub items: Option<u64>,
    /// The share of absent elements that seem present, with that many members.
    pub fpr: Option<f64>,
    /// The size in bits, without the table.
    pub bits: Option<u64>,
    /// Positions of an element that is not listed.
    pub hashes: Option<u32>,
    /// Positions of an element, at most.
    pub most: Option<u32>,
    /// Elements that are not listed.
    pub others: Option<u64>,
}

impl Settings for MultiClassSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: HASHES,
        most: MOST,
        others: OTHERS,
    ];
    const DESIGN: &'static [&'static str] = &["items", "fpr", "most", "others"];
}

impl ByRate for MultiClassSettings {}

impl TableSettings for MultiClassSettings {
    fn design(&self) -> Result<Design> {
        Ok(Design {
            items: self.items,
            fpr: self.fpr,
            bits: self.bits,
            hashes: self.hashes,
            most: MOST.need(self.most)?,
            others: self.others.unwrap_or(0),
            others_queries: None,
            solver: Some(Solver::Relax),
        })
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        MultiClassSettings { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

/// Elements are known by the probability that they are present; all are asked for equally often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Presence;

impl Weighing for Presence {
    const FACTS: Facts = Facts {
        id: "multi-class",
        number: 165,
        aliases: &["MBF", "multi-class Bloom filter"],
        family: "accuracy",
        text: Text::new(include_str!("multi_class.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::Weight,
        parameters: &[],
    };

    type Settings = MultiClassSettings;
    type Known = Known<1>;

    fn understand(known: Known<1>) -> Result<Option<Knowledge>> {
        let of = |[presence]: [f64; 1]| {
            if !(0.0..=1.0).contains(&presence) {
                let expected = "a probability of presence from 0 to 1".into();
                return Err(Error::Item { expected, found: presence.to_string() });
            }
            Ok(Knowledge { queries: 1.0, vain: 1.0 - presence, members: presence })
        };
        known.0.map(of).transpose()
    }
}

#[cfg(test)]
mod tests;
