//! What an array is made from.

use super::Lane;
use crate::codec::Decoder;
use crate::error::{Error, Result};
use crate::kind::{Parameter, common};
use crate::parts::shapes::{Asked, Shapes};
use crate::shell::{ByRate, Choice, Fields, Settings, choices, fields};
use crate::theory::MAX_BITS;

/// The filters of a group, which one word or a part of it answers for.
///
/// ```
/// use bouquet::dynamic::dba::Width;
/// assert_eq!(Width::SixtyFour.filters(), 64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 64, a whole word.
    SixtyFour,
    /// 8.
    Eight,
    /// 16.
    Sixteen,
    /// 32.
    ThirtyTwo,
}

choices!(Width { SixtyFour = "64", Eight = "8", Sixteen = "16", ThirtyTwo = "32" });

impl Width {
    /// How many that is.
    #[must_use]
    pub fn filters(self) -> u64 {
        match self {
            Width::Eight => 8,
            Width::Sixteen => 16,
            Width::ThirtyTwo => 32,
            Width::SixtyFour => 64,
        }
    }
}

const ITEMS: Parameter = Parameter::count("items", "keys of a filter; a subset with more gets another", 1, MAX_BITS);
const FPR: Parameter = Parameter {
    help: "bound of the false-positive rate of all filters together, however many there are",
    ..common::FPR
};
const BITS: Parameter =
    Parameter { help: "size of a filter in bits, instead of a rate: all groups are alike then", ..common::BITS };
const GROUP: Parameter = Parameter::choice("group", "filters whose bits lie side by side", Width::WORDS);
const STALE: Parameter =
    Parameter::real("stale", "removed keys, as a share of items, from which on a filter is to be rebuilt", 0.0, 1.0)
        .or_real(0.1);

/// The settings of a dynamic Bloom filter array.
///
/// ```
/// use bouquet::{Dba, DbaSettings, dynamic::dba::Width};
/// let settings = DbaSettings { items: Some(1_000), group: Some(Width::Eight), ..Default::default() };
/// assert_eq!(Dba::with(settings.clone())?.capacity(), 8_000);
/// assert!(Dba::with(DbaSettings { items: Some(0), ..settings }).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DbaSettings {
    /// c, the keys of a filter.
    pub items: Option<u64>,
    /// F, the bound of the rate of all filters together.
    pub fpr: Option<f64>,
    /// m, the bits of a filter, instead of a rate.
    pub bits: Option<u64>,
    /// k, the positions of a key, with `bits`.
    pub hashes: Option<u32>,
    /// g, the filters of a group.
    pub group: Option<Width>,
    /// The share of removed keys from which on a filter is to be rebuilt.
    pub stale: Option<f64>,
}

impl Settings for DbaSettings {
    const FIELDS: Fields<Self> =
        fields![items: ITEMS, fpr: FPR, bits: BITS, hashes: common::HASHES, group: GROUP, stale: STALE];
    const DESIGN: &'static [&'static str] = &[STALE.name];
}

impl ByRate for DbaSettings {}

/// What follows from the settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Design {
    pub(super) shapes: Shapes,
    /// g.
    pub(super) width: u64,
    pub(super) threshold: f64,
}

impl Design {
    pub(super) fn new(settings: &DbaSettings) -> Result<Self> {
        let &DbaSettings { items, bits, hashes, .. } = settings;
        let (fpr, width) = (FPR.need(settings.fpr)?, GROUP.need(settings.group)?.filters());
        let shapes = Shapes::new(&Asked { items, fpr, bits, hashes }, width, &ITEMS, &BITS)?;
        Ok(Design { shapes, width, threshold: STALE.need(settings.stale)? })
    }

    pub(super) fn settings(&self, asked: &DbaSettings) -> DbaSettings {
        DbaSettings { items: Some(self.shapes.capacity), hashes: self.shapes.fixed_hashes(), ..asked.clone() }
    }

    /// The keys and lanes of the next group.
    pub(super) fn decode_lanes(&self, decoder: &mut Decoder<'_>) -> Result<(Vec<u64>, Vec<Lane>)> {
        let state = decoder.state();
        let (mut counts, mut lanes) = (vec![0; self.width as usize], vec![Lane::Free; self.width as usize]);
        let mut least = 0;
        for _ in 0..state.u8()? {
            let (index, sort) = (usize::from(state.u8()?), state.u8()?);
            let [subset, items, stale] = [state.u64()?, state.u64()?, state.u64()?];
            if index < least || index >= lanes.len() {
                return Err(Error::corrupt("lane", format!("from {least} on and below {}", lanes.len()), index));
            }
            least = index + 1;
            if items > self.shapes.capacity || stale > items {
                let expected = format!("at most {}, of which as many may be removed", self.shapes.capacity);
                return Err(Error::corrupt("keys of a filter", expected, format!("{items}, {stale} removed")));
            }
            counts[index] = items;
            lanes[index] = match (sort, stale) {
                (1, stale) => Lane::Answers { subset, stale },
                (2, 0) => Lane::Rebuilds { subset },
                _ => return Err(Error::corrupt("sort of a filter", "1, or 2 without removed keys", sort)),
            };
        }
        Ok((counts, lanes))
    }
}
