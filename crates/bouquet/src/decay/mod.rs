//! Decay: filters that forget, for streams without end.
//!
//! The members forget by themselves, without being told which key to drop. Time is given to them, as arrivals or ticks;
//! none reads a clock.
//!
//! Take [`stable`] for a fixed false-positive rate for ever on a stream of unknown length, when keys that came long ago may
//! be missed.

pub mod stable;

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family =
    Family { name: "decay", summary: "filters that forget, for endless streams", kinds: &[stable::KIND] };
