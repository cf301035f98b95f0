//! The specification: one lane after the other.

use super::{Block, SALT};
use crate::simd::{SharedWord, Word};

/// The bits of a key.
#[inline]
pub(super) fn mask(x: u32) -> Block {
    let lane = |j: usize| 1u64 << (x.wrapping_mul(SALT[j]) >> 27);
    std::array::from_fn(|i| lane(2 * i) | lane(2 * i + 1) << 32)
}

/// Whether the block has all bits of the key.
#[inline]
pub(super) fn test<W: Word>(block: &[W; 4], x: u32) -> bool {
    let mask = mask(x);
    (0..4).fold(0, |missing, i| missing | mask[i] & !block[i].load()) == 0
}

/// Sets the bits of the key and says whether one was new.
#[inline]
pub(super) fn set(block: &mut Block, x: u32) -> bool {
    let mut missing = 0;
    for (word, mask) in block.iter_mut().zip(mask(x)) {
        missing |= mask & !*word;
        *word |= mask;
    }
    missing != 0
}

/// Sets the bits of the key in a block that threads share.
#[inline]
pub(super) fn put_shared<W: SharedWord>(block: &[W; 4], x: u32) {
    // The old words are not used: setting bits alone is several times cheaper.
    block.iter().zip(mask(x)).for_each(|(word, mask)| _ = word.fetch_or(mask));
}
