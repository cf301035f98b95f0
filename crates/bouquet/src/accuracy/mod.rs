//! Accuracy and prior knowledge: filters that buy accuracy with something a plain filter does not use.
//!
//! That is permission to err the other way, a second opinion, or knowledge of the keys that will be asked for. Filters that
//! may reset bits trade false positives for false negatives.
//!
//! Take [`generalized`] for filters that come from peers who may lie: whatever the bits are, its false-positive rate has a bound.

pub mod generalized;

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family = Family {
    name: "accuracy",
    summary: "accuracy from permission to err the other way, and from what is known of keys and queries",
    kinds: &[generalized::KIND],
};
