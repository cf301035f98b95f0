//! The settings of a deletable filter, and the shape that follows from them.

use crate::error::{Error, Result};
use crate::kind::{Parameter, common};
use crate::parts::bit_array::flat_places;
use crate::parts::counter_array::Places;
use crate::shell::{ByRate, Fields, Settings, fields};
use crate::theory::{self, Size, standard};

const DELETABLE: Parameter = Parameter::real(
    "deletable",
    "share of the keys that can be removed when all items are in; nine tenths of what is possible if not given",
    0.0,
    1.0,
);
const REGIONS: Parameter = Parameter::count(
    "regions",
    "regions with a collision flag, instead of a share; one bit each, part of the bits",
    1,
    1 << 56,
);
const BITS: Parameter = Parameter { help: "size in bits, flags included, instead of a rate", ..common::BITS };

/// The settings of a deletable filter.
///
/// ```
/// use bouquet::{Deletable, DeletableSettings};
/// let filter = Deletable::with(DeletableSettings { items: Some(1_000), regions: Some(64), ..Default::default() })?;
/// assert_eq!(filter.flags().len(), 64);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeletableSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The share of those keys that can be removed.
    pub deletable: Option<f64>,
    /// Size in bits, flags included.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Regions with a collision flag.
    pub regions: Option<u64>,
}

impl Settings for DeletableSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        deletable: DELETABLE,
        bits: BITS,
        hashes: common::HASHES,
        regions: REGIONS,
    ];

    const DESIGN: &'static [&'static str] = &["items", "fpr", "deletable"];
}

impl ByRate for DeletableSettings {}

/// Places and number of regions.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) places: Places,
    pub(super) regions: u64,
}

/// Bits per region where neither items nor regions are given.
const DEFAULT_REGION: u64 = 10;

impl Shape {
    fn new(bits: u64, hashes: u32, regions: u64) -> Result<Self> {
        if regions > bits {
            return Err(Error::parameter("regions", format!("at most the {bits} bits"), regions));
        }
        Ok(Shape { places: flat_places(bits, hashes)?, regions })
    }

    /// The fewest regions with which the wanted share of the items can be removed.
    fn for_items(asked: &DeletableSettings, size: Size, items: u64) -> Result<u64> {
        let Size { bits, hashes } = size;
        let possible = || theory::deletable::share(bits, items, hashes, 1.0);
        let wanted = asked.deletable.unwrap_or_else(|| 0.9 * possible());
        Ok(bits.div_ceil(theory::deletable::largest_region(bits, items, hashes, wanted)?))
    }

    pub(super) fn plan(asked: &DeletableSettings) -> Result<Self> {
        let (items, regions) = (asked.items, asked.regions);
        let Some(all) = asked.bits else {
            let size = common::size_of(items, asked.fpr, None, asked.hashes, BITS.name)?;
            let regions = match (regions, items) {
                (Some(regions), _) => regions,
                (None, Some(items)) => Self::for_items(asked, size, items)?,
                (None, None) => size.bits.div_ceil(DEFAULT_REGION),
            };
            return Self::new(size.bits, size.hashes, regions);
        };
        let hashes = |bits: u64| match (asked.hashes, items) {
            (Some(hashes), _) => Ok(hashes),
            (None, Some(items)) => Ok(standard::for_bits(bits, items)?.hashes),
            (None, None) => Err(common::ITEMS.missing("hashes")),
        };
        let filter_bits = |regions: u64| {
            let left = all.checked_sub(regions).filter(|&left| left >= regions);
            left.ok_or_else(|| Error::parameter("bits", format!("at least twice the {regions} regions"), all))
        };
        let regions = match (regions, items) {
            (Some(regions), _) => regions,
            (None, None) => (all / (DEFAULT_REGION + 1)).max(1),
            (None, Some(items)) => {
                // What the flags take, the filter lacks: a few rounds settle it.
                let mut regions = 0;
                for _ in 0..8 {
                    let bits = filter_bits(regions)?;
                    let next = Self::for_items(asked, Size { bits, hashes: hashes(bits)? }, items)?;
                    if next <= regions {
                        break;
                    }
                    regions = next.min(all / 2).max(1);
                }
                regions
            }
        };
        let bits = filter_bits(regions)?;
        Self::new(bits, hashes(bits)?, regions)
    }

    pub(super) fn bits(&self) -> u64 {
        self.places.counters() + self.regions
    }
}
