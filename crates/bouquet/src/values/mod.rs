//! Values and keys: which value belongs to a key, and what is in the table.
//!
//! All members hash a key into k cells and combine contents by XOR or addition, so that a cell which holds one key reveals
//! it: [peeling](crate::parts::peel) builds the static ones and lists the others.
//!
//! Take [`bloomier`] for a fixed set of keys: exact values for members in the least space, also values that change.
//! Take [`iblt`] when pairs come and go and are to be listed in the end, [`invertible`] when two hosts look for their difference.

pub mod bloomier;
pub mod iblt;
pub mod invertible;
mod records;

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family = Family {
    name: "values",
    summary: "which value belongs to x; list what is held",
    kinds: &[bloomier::KIND, iblt::KIND, invertible::KIND],
};
