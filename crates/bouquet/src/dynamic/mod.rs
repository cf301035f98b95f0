//! Dynamic sets: the number of keys is not known when the filter is made.
//!
//! The members share one engine, a chain of component filters: a key is in the set if any component says so. They differ
//! in how a new component is sized and in which component an insertion goes to.
//!
//! Take [`scalable`] when keys are only inserted and the rate must keep below a bound, however many there are.

mod chain;
pub mod scalable;

use crate::registry::Family;

/// The registry's rows of this family.
pub const FAMILY: Family = Family { name: "dynamic", summary: "sets of unknown size", kinds: &[scalable::KIND] };
