//! Counting: sets that lose members, and multisets.
//!
//! Members answer "is x still here?" after removals, or "how often did x come?". They share one engine: a store of
//! counters, the places of a key in it, a rule that says how an insertion changes them and one that says how they are
//! read. Whatever they store, one warning holds for all that can remove: take out only what was put in. A key that
//! merely seems present cannot be told from a present one, and removing it may make other keys vanish.
//!
//! Take [`counting`] when keys are removed: it is the simplest, can be merged, and can be given away as a plain
//! [`Bloom`](crate::Bloom) filter. Take [`fingerprint_counting`] for the same with a lower rate in the same memory:
//! its cells keep a mark of their keys beside the count and can contradict a query. [`variable_increment`] does so by
//! what is added to a counter.
//!
//! Take [`invertible_counting`] to find out in which elements two multisets differ, and [`counter_braids`] for exact
//! counts of flows whose list is known later.

mod cell_filter;
pub mod counter_braids;
#[expect(clippy::module_inception, reason = "the kind that the family is named after")]
pub mod counting;
pub(crate) mod engine;
pub mod fingerprint_counting;
pub mod invertible_counting;
pub mod variable_increment;

pub use cell_filter::{CellCode, CellFilter};

use crate::registry::Family;

/// The registry's rows of this family.
pub const FAMILY: Family = Family {
    name: "counting",
    summary: "sets that lose members, and multisets",
    kinds: &[
        counting::KIND,
        variable_increment::KIND,
        fingerprint_counting::KIND,
        invertible_counting::KIND,
        counter_braids::KIND,
    ],
};
