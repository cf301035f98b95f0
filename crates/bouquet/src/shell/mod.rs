//! The shell: what every kind has, written once.
//!
//! A kind is a [`Mechanism`]: a store, what its settings mean, its theory and its part of a frame, with the operations that it
//! can do at the level of digests. [`Filter`] gives it hashing, typed settings, an item count, constructors, frames,
//! batch forms, operators and the verbs of [`capability`](crate::capability):
//!
//! | a mechanism that implements | makes its filter |
//! |---|---|
//! | [`Test`] | `contains`, `contains_batch`, [`Contains`](crate::capability::Contains) |
//! | [`Put`] | `insert`, `insert_batch`, `extend`, `collect`, [`Insert`](crate::capability::Insert) |
//! | [`Take`] | `remove`, [`Remove`](crate::capability::Remove) |
//! | [`Tally`] | `count`, [`Count`](crate::capability::Count) |
//! | [`Lookup`] | `get`, [`Get`](crate::capability::Get) |
//! | [`Assign`] | `set`, [`Set`](crate::capability::Set) |
//! | [`Sort`] | `classify`, [`Classify`](crate::capability::Classify) |
//! | [`Decide`] | `judge`, `judge_batch`, [`Judge`](crate::capability::Judge) |
//! | [`Believe`] | `probability`, [`Weigh`](crate::capability::Weigh) |
//! | [`Enumerate`] | `list`, [`List`](crate::capability::List) |
//! | [`Rank`] | `top`, [`Top`](crate::capability::Top) |
//! | [`Solve`] | `decode`, [`Decode`](crate::capability::Decode) |
//! | [`Age`] | `advance`, [`Advance`](crate::capability::Advance) |
//! | [`Expand`] | `capacity`, `grow`, [`Grow`](crate::capability::Grow) |
//! | [`Unite`] | `merge`, `\|`, `\|=`, [`Merge`](crate::capability::Merge) |
//! | [`Meet`] | `intersect`, `&`, `&=`, [`Intersect`](crate::capability::Intersect) |
//! | [`Deduct`] | `subtract`, [`Subtract`](crate::capability::Subtract) |
//! | [`Gauge`] | `cardinality`, `overlap`, [`Cardinality`](crate::capability::Cardinality) |
//! | [`Code`] | `entropy_bits`, [`Compress`](crate::capability::Compress) |
//! | [`Assemble`] | `build`, [`BuildFrom`](crate::capability::BuildFrom) |
//! | [`Gather`] | the same, and `from_keys` |
//!
//! What is special about a kind stays in its file, as inherent methods of `Filter<ItsMechanism>`.

pub(crate) mod batch;
mod filter;
mod mechanism;
#[cfg(feature = "serde")]
mod serde;
mod settings;
mod verbs;

pub use crate::kind::Value;
pub use filter::Filter;
pub use mechanism::{
    Age, Amount, Assemble, Assign, Believe, Code, Decide, Deduct, Enumerate, Expand, Far, FromNote, Gather, Gauge,
    Group, Hashed, Implied, Known, Lookup, Mechanism, Meet, Outcome, Put, Rank, Solve, Sort, Take, Tally, Test, Unite,
};
pub(crate) use mechanism::{MOST_ITEMS, hashed};
#[cfg(feature = "serde")]
pub(crate) use serde::Frame;
pub use settings::{Accessor, ByRate, Choice, Fields, Settings};
#[allow(unused_imports, reason = "kinds are moving to the shell one by one")]
pub(crate) use settings::{choices, fields};
