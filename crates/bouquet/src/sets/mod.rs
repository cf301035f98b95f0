//! Many sets: which of them hold a key.
//!
//! The members share the [bit matrix](crate::store::BitMatrix), with the bits of one set together (to add, empty, compare
//! sets) or those of one position (to ask all sets at once), and [policies](Policy) that turn "these sets may hold it"
//! into the one answer that a caller wants.
//!
//! Take [`filter_bank`] for few to thousands of sets, of which a key may be in several; [`Prefixes`] is a bank with one set
//! per length of prefix.

mod codes;
pub mod filter_bank;
mod prefixes;
mod resolve;

pub use prefixes::Prefixes;
pub use resolve::{Policy, Resolution};

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family =
    Family { name: "sets", summary: "many sets: which of them hold x?", kinds: &[filter_bank::KIND] };
