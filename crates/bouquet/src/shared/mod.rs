//! Filters that many threads insert into and ask at once, lock-free on atomic words.
//!
//! | type | is | insertion changes |
//! |---|---|---|
//! | [`SharedBloom`] | [`standard`](crate::membership::standard) | up to k words, anywhere |
//! | [`SharedUltraFast`] | [`ultra-fast`](crate::membership::ultra_fast) | up to 4 words, in half a cache line |
//! | [`SharedBlocked`] | [`blocked`](crate::membership::blocked) | up to k words of one cache line; one with blocks of 64 bits |
//! | [`SharedCounting`] | [`counting`](crate::counting::counting) | k words, anywhere |
//! | [`SharedParBf`] | [`par-bf`](crate::dynamic::par_bf) | k words of one sub-filter, and the number of its keys |
//!
//! Every layout of the [membership](crate::membership) family has a shared form, [`SharedBitFilter`]. Each is made from the ordinary
//! filter and becomes one again without copying, so that files, merging and the rest are those of the ordinary filter.
//!
//! # Cost
//!
//! A query costs what it does in the ordinary filter, nearly: `standard`, `partitioned` and `ultra-fast` run the same vector code,
//! which looks at each bit once; of others the words are loaded one by one. An insertion of a new key pays for each word that it
//! changes an atomic read-modify-write, some 20 cycles of the processor, and these do not overlap with each other. So the fewer words
//! a key has, the faster: blocks of 64 bits insert fastest, at the price of more bits for the same rate. An insertion of a key that is there already only reads.
//!
//! What each type promises when threads race is in its documentation.

mod bits;
mod counting;
mod par_bf;
mod tally;

pub use bits::{SharedBitFilter, SharedBlocked, SharedBloom, SharedUltraFast};
pub use counting::SharedCounting;
pub use par_bf::SharedParBf;

#[cfg(test)]
mod model;
