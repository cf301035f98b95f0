//! Dynamic sets: the number of keys is not known when the filter is made.
//!
//! The members share one engine, a chain of component filters: a key is in the set if any component says so. They differ
//! in how a new component is sized, in which component an insertion goes to, in what a component is (bits or counters) and
//! in how the components lie in memory (in rows, or bit-sliced so that one word answers for 64 of them).
//!
//! Take [`scalable`] when keys are only inserted and the rate must keep below a bound, however many there are; [`dynamic`]
//! when keys are removed too, or when nodes exchange filters, for its components are all alike; [`dba`] for very many components and
//! for the question which subset may hold a key; [`par_bf`] when several threads query one growing set; [`split`], which reserves
//! its components for the largest set from the start, only to compare.
//!
//! [`forest_structured`] is for filters that outgrow memory: a page for each key and level, in memory or in a file. [`bloomstore`]
//! holds whole keys and their values in pages, in memory or in files, and filters only tell which page to read.

pub mod bloomstore;
pub mod dba;
#[expect(clippy::module_inception, reason = "the kind that the family is named after")]
pub mod dynamic;
pub mod forest_structured;
pub mod par_bf;
pub mod scalable;
pub mod split;

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family = Family {
    name: "dynamic",
    summary: "sets of unknown size",
    kinds: &[
        dynamic::KIND,
        scalable::KIND,
        split::KIND,
        dba::KIND,
        par_bf::KIND,
        forest_structured::KIND,
        bloomstore::KIND,
    ],
};
