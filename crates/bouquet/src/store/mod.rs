//! Stores: the bits, counters and cells that positions point into.

pub(crate) mod atomic;
mod bits;
pub(crate) mod buckets;
mod counters;
mod grain;
pub(crate) mod lanes;
pub(crate) mod lfsr;
pub(crate) mod matrix;
pub(crate) mod ternary;
mod words;

pub use bits::BitStore;
pub use counters::Counters;
pub use grain::Grain;
pub use matrix::{BitMatrix, Orientation};
pub use words::Words;

/// From now on, stores of every size come from the program's allocator. Unless this is called, large ones come from the system in
/// large pages, which is faster to read all over but is not in the books of an allocator that keeps some, such as a
/// database server's.
///
/// ```
/// bouquet::store::keep_to_allocator();
/// assert_eq!(bouquet::Bloom::with_size(1 << 25, 7)?.bits().len(), 1 << 25);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub fn keep_to_allocator() {
    crate::simd::memory::keep_to_allocator();
}
pub(crate) use words::{Opening, WritableMap, field_max, invert_window, read_field, read_window, write_field};
