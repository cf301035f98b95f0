//! Stores: the bits, counters and cells that positions point into.

pub(crate) mod atomic;
mod bits;
pub(crate) mod buckets;
mod counters;
pub(crate) mod lanes;
pub(crate) mod lfsr;
pub(crate) mod matrix;
pub(crate) mod ternary;
mod words;

pub use bits::BitStore;
pub use counters::Counters;
pub use matrix::{BitMatrix, Orientation};
pub use words::Words;
pub(crate) use words::{Opening, WritableMap, field_max, invert_window, read_field, read_window, write_field};
