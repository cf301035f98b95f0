//! What a parallel partitioned filter is made from.

use crate::error::Result;
use crate::kind::{Parameter, common};
use crate::parts::shapes::{Asked, Shapes};
use crate::shell::{ByRate, Fields, Settings, fields};
use crate::theory::MAX_BITS;

const ITEMS: Parameter = Parameter::count("items", "keys of a sub-filter; more open another", 1, MAX_BITS);
const FPR: Parameter =
    Parameter { help: "bound of the false-positive rate, whatever the number of keys", ..common::FPR };
const BITS: Parameter =
    Parameter { help: "counters of a sub-filter, instead of a rate: all are alike then", ..common::BITS };
const WORKERS: Parameter =
    Parameter::count("workers", "lists of sub-filters, each of which a thread searches in large batches", 1, 64).or(2);
const LENGTH: Parameter = Parameter::count("length", "sub-filters of a list; then tighter lists follow", 1, 256).or(16);
const FREE: Parameter = Parameter::real(
    "free",
    "share of a list's room that removals may free before its sub-filters are united",
    0.0,
    1.0,
)
.or_real(0.5);

/// The settings of a parallel partitioned filter.
///
/// ```
/// use bouquet::{ParBf, ParBfSettings};
/// let settings = ParBfSettings { items: Some(1_000), workers: Some(4), ..Default::default() };
/// assert!(ParBf::with(settings.clone()).is_ok());
/// assert!(ParBf::with(ParBfSettings { workers: Some(65), ..settings }).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParBfSettings {
    /// c, the keys of a sub-filter.
    pub items: Option<u64>,
    /// F, the bound of the rate.
    pub fpr: Option<f64>,
    /// m, the counters of a sub-filter, instead of a rate.
    pub bits: Option<u64>,
    /// k, the positions of a key, with `bits`.
    pub hashes: Option<u32>,
    /// L, the lists of a generation.
    pub workers: Option<u64>,
    /// b, the sub-filters of a list.
    pub length: Option<u64>,
    /// The free share of a list from which on its sub-filters are united.
    pub free: Option<f64>,
}

impl Settings for ParBfSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        fpr: FPR,
        bits: BITS,
        hashes: common::HASHES,
        workers: WORKERS,
        length: LENGTH,
        free: FREE,
    ];
    const DESIGN: &'static [&'static str] = &[FREE.name];
}

impl ByRate for ParBfSettings {}

/// What follows from the settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Design {
    pub(crate) shapes: Shapes,
    /// L.
    pub(crate) workers: usize,
    /// b.
    pub(crate) length: usize,
    /// The free share of a list from which on its sub-filters are united.
    pub(super) free: f64,
}

impl Design {
    pub(crate) fn new(settings: &ParBfSettings) -> Result<Self> {
        let &ParBfSettings { items, bits, hashes, .. } = settings;
        let (workers, length) = (WORKERS.need(settings.workers)?, LENGTH.need(settings.length)?);
        let asked = Asked { items, fpr: FPR.need(settings.fpr)?, bits, hashes };
        let shapes = Shapes::new(&asked, workers * length, &ITEMS, &BITS)?;
        Ok(Design { shapes, workers: workers as usize, length: length as usize, free: FREE.need(settings.free)? })
    }
}
