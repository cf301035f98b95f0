//! Decay: filters that forget, for streams without end.
//!
//! The members forget by themselves, without being told which key to drop. Time is given to them, as arrivals or ticks;
//! none reads a clock.
//!
//! Take [`stable`] for a fixed false-positive rate for ever on a stream of unknown length, when keys that came long ago may
//! be missed; [`a2_buffer`] for the latest keys in the least memory, as a cache would know them; [`double_buffer`] when only one
//! filter may be asked; [`forgetful`] when keys must be found for some periods at a rate that is a square; [`decaying`] when none of the
//! last W arrivals may be missed; [`temporal_counting`] for keys that expire and are merged between nodes; [`time_decaying`] for how
//! often keys came recently; [`exponential_decay`] for hints where things are in a network.
//!
//! Inserting a key into any of them is a test and an insertion in one step: the answer says whether the key was new. Those of
//! generations share a [ring](crate::parts) of filters, those of cells that expire a store of [aging cells](crate::parts).

pub mod a2_buffer;
pub mod decaying;
pub mod double_buffer;
pub mod exponential_decay;
pub mod forgetful;
pub mod stable;
pub mod temporal_counting;
#[cfg(test)]
mod testing;
pub mod time_decaying;

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family = Family {
    name: "decay",
    summary: "filters that forget, for endless streams",
    kinds: &[
        stable::KIND,
        decaying::KIND,
        time_decaying::KIND,
        exponential_decay::KIND,
        temporal_counting::KIND,
        double_buffer::KIND,
        a2_buffer::KIND,
        forgetful::KIND,
    ],
};
