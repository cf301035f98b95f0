//! Dynamic sets: the number of keys is not known when the filter is made.
//!
//! The members share one engine, a chain of component filters: a key is in the set if any component says so. They differ
//! in how a new component is sized, in which component an insertion goes to, in what a component is (bits or counters) and
//! in how the components lie in memory (in rows, or bit-sliced so that one word answers for 64 of them).
//!
//! Take [`scalable`] when keys are only inserted and the rate must keep below a bound, however many there are; [`dynamic`]
//! when keys are removed too, or when nodes exchange filters, for its components are all alike; [`split`], which reserves
//! its components for the largest set from the start, only to compare.

#[expect(clippy::module_inception, reason = "the kind that the family is named after")]
pub mod dynamic;
pub mod scalable;
pub mod split;

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family =
    Family { name: "dynamic", summary: "sets of unknown size", kinds: &[dynamic::KIND, scalable::KIND, split::KIND] };
