//! What applications of Bloom filters are made of, each mechanism written once.
//!
//! | the question | the mechanism |
//! |---|---|
//! | may I skip the slow thing? | [`guard`] |
//! | did it come before? | [`stream`] |
//!
//! Whatever arrives from outside is untrusted: its size, version and parameters are checked before anything is allocated for it, and a
//! filter with more than [`MAX_FILL`] of its bits set is refused, because a filter of ones says yes to everything.

pub mod guard;
pub mod stream;

/// The largest share of set bits with which a filter from outside is accepted unless more is asked for. The best filter of its size
/// has half of its bits set; Squid draws the line here, too.
pub const MAX_FILL: f64 = 0.65;
