//! Counting: sets that lose members, and multisets.
//!
//! Members answer "is x still here?" after removals, or "how often did x come?". They share one engine: a store of
//! counters, the places of a key in it, a rule that says how an insertion changes them and one that says how they are
//! read. Whatever they store, one warning holds for all that can remove: take out only what was put in. A key that
//! merely seems present cannot be told from a present one, and removing it may make other keys vanish.
//!
//! Take [`counting`] when keys are removed: it is the simplest, can be merged, and can be given away as a plain
//! [`Bloom`](crate::Bloom) filter.

#[expect(clippy::module_inception, reason = "the kind that the family is named after")]
pub mod counting;
pub(crate) mod engine;

use crate::registry::Family;

/// The registry's rows of this family.
pub const FAMILY: Family =
    Family { name: "counting", summary: "sets that lose members, and multisets", kinds: &[counting::KIND] };
