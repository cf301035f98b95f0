//! The specification: one place after the other.

use super::{Line, MORE, PER_WORD, WIDTH};
use crate::hash::Digest;
use crate::simd::{SharedWord, Word};

/// Calls `visit` with the word and the bit in it of the first K places in a line.
#[inline(always)]
pub(super) fn places<const K: u32>(digest: Digest, mut visit: impl FnMut(usize, u64)) {
    let more = if K > PER_WORD { digest.derive(MORE).h1 } else { 0 };
    for i in 0..K.min(2 * PER_WORD) {
        let field = [digest.h2, more][(i / PER_WORD) as usize] >> (i % PER_WORD * WIDTH);
        visit((field / 64 % 8) as usize, field % 64);
    }
}

/// Whether a line has the bits at the first K places.
#[inline(always)]
pub(super) fn test<const K: u32>(line: &[impl Word; 8], digest: Digest) -> bool {
    let mut all = 1;
    places::<K>(digest, |word, bit| all &= line[word].load() >> bit);
    all & 1 == 1
}

/// Sets the bits at the first K places and says whether one was new.
#[inline(always)]
pub(super) fn set<const K: u32>(line: &mut Line, digest: Digest) -> bool {
    let mut all = 1;
    places::<K>(digest, |word, bit| {
        all &= line[word] >> bit;
        line[word] |= 1 << bit;
    });
    all & 1 == 0
}

/// Sets them in a line that threads share.
#[inline(always)]
pub(super) fn put_shared<const K: u32>(line: &[impl SharedWord; 8], digest: Digest) {
    places::<K>(digest, |word, bit| _ = line[word].fetch_or(1 << bit));
}
