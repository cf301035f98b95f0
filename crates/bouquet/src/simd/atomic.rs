//! Words that threads share, seen as plain ones and back, without copying.

use std::sync::atomic::AtomicU64;

use crate::store::atomic::AtomicLine;
use crate::store::{Line, WORDS_PER_LINE};

// An atomic integer has the size, the bit patterns and (on every machine, unlike the integer) the alignment of its size;
// both lines are eight words at the alignment of a line.
const _: () = assert!(size_of::<AtomicLine>() == size_of::<Line>() && align_of::<AtomicLine>() == align_of::<Line>());
const _: () = assert!(size_of::<AtomicLine>() == WORDS_PER_LINE * size_of::<AtomicU64>());

/// Gives lines over to be shared.
pub(crate) fn share(lines: Box<[Line]>) -> Box<[AtomicLine]> {
    // SAFETY: both types are plain arrays of eight integers of 64 bits with the same size and alignment (above), for which
    // every bit pattern is valid; the box is given up, so that nobody else sees the memory.
    unsafe { Box::from_raw(Box::into_raw(lines) as *mut [AtomicLine]) }
}

/// Takes lines back that nobody shares any more.
pub(crate) fn own(lines: Box<[AtomicLine]>) -> Box<[Line]> {
    // SAFETY: as in `share`; an owned box has no other borrower, so that no thread still writes.
    unsafe { Box::from_raw(Box::into_raw(lines) as *mut [Line]) }
}

/// The words of lines, one behind the other.
#[inline]
pub(crate) fn words(lines: &[AtomicLine]) -> &[AtomicU64] {
    // SAFETY: a line is exactly eight words (above), so that the lines are as many words as are claimed, initialised and
    // borrowed for the same time. The product cannot overflow: it counts words of an existing slice.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * WORDS_PER_LINE) }
}
