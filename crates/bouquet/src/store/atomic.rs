//! Words that threads share, and the steps by which bits and counters in one of them are changed.
//!
//! # Memory order
//!
//! Every access is `Relaxed`. What is promised rests on single words alone:
//!
//! * The changes of one word have one order that all threads agree on, and a read-modify-write sees the change just
//!   before its own, whatever its memory order. So a bit turns one in exactly one of them, and no counter step is lost.
//! * A load that happens after a change sees that change or a later one. Bits are never cleared, so a bit that was
//!   set before (in the sense of happens-before) is seen.
//!
//! A stronger order would make other memory, written before an insertion, visible to those who see its bits. Nobody may rely on
//! that: the same bits may come from other keys.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::simd::memory::SharedMemory;
use crate::simd::{SharedWord, Word};
use crate::store::{Words, field_max};

/// The operations on a shared word; the models of the tests bring their own.
pub(crate) trait AtomicWord: SharedWord {
    /// Replaces `old` by `new`, or gives the word, which is another, or failed for no reason.
    fn compare_exchange(&self, old: u64, new: u64) -> Result<u64, u64>;
}

impl AtomicWord for AtomicU64 {
    #[inline(always)]
    fn compare_exchange(&self, old: u64, new: u64) -> Result<u64, u64> {
        self.compare_exchange_weak(old, new, Relaxed, Relaxed)
    }
}

/// Packed counters of a width that divides 64, so that none crosses a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    width: u32,
}

impl Fields {
    /// Counters of `width` bits; `None` when some would cross a word.
    pub(crate) fn new(width: u32) -> Option<Self> {
        (width > 0 && 64 % width == 0).then_some(Fields { width })
    }

    /// Bits per counter.
    pub(crate) fn width(self) -> u32 {
        self.width
    }

    /// The largest value.
    #[inline]
    pub(crate) fn max(self) -> u64 {
        field_max(self.width)
    }

    /// The word of a counter, and where in it the counter begins.
    #[inline]
    pub(crate) fn place(self, index: u64) -> (usize, u32) {
        // The width is a power of two; a product that wraps is beyond any store and `get` refuses its word.
        let bit = index.saturating_mul(u64::from(self.width));
        ((bit / 64) as usize, (bit % 64) as u32)
    }

    /// The counter at `index`; zero beyond the end.
    #[inline]
    pub(crate) fn get<W: AtomicWord>(self, words: &[W], index: u64) -> u64 {
        let (word, offset) = self.place(index);
        words.get(word).map_or(0, |word| word.load() >> offset & self.max())
    }

    /// Replaces a counter by what `change` makes of it, which is at most the largest value, and gives what it was; `None`
    /// from `change` leaves it.
    #[inline]
    pub(crate) fn update<W: AtomicWord>(self, words: &[W], index: u64, change: impl Fn(u64) -> Option<u64>) -> u64 {
        let (word, offset) = self.place(index);
        let Some(word) = words.get(word) else { return 0 };
        let mut seen = word.load();
        loop {
            let before = seen >> offset & self.max();
            let Some(after) = change(before) else { return before };
            match word.compare_exchange(seen, seen ^ (before ^ after) << offset) {
                Ok(_) => return before,
                Err(now) => seen = now,
            }
        }
    }
}

/// A fixed number of words that threads share, aligned to cache lines as [`Words`] are. Changing one into the other copies
/// nothing.
pub(crate) struct AtomicWords {
    memory: SharedMemory,
}

impl AtomicWords {
    /// The words.
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[AtomicU64] {
        self.memory.words()
    }

    /// A copy; each word is read once, at its own moment.
    pub(crate) fn to_words(&self) -> Words {
        let mut words = Words::for_copy(self.as_slice().len());
        words.as_mut_slice().iter_mut().zip(self.as_slice()).for_each(|(word, shared)| *word = Word::load(shared));
        words
    }
}

impl From<Words> for AtomicWords {
    fn from(words: Words) -> Self {
        AtomicWords { memory: words.into_shared() }
    }
}

impl From<AtomicWords> for Words {
    fn from(words: AtomicWords) -> Self {
        Words::from_shared(words.memory)
    }
}

impl fmt::Debug for AtomicWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AtomicWords({})", self.as_slice().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_shared_and_taken_back_are_the_same_words_in_the_same_place() {
        for len in [0, 1, 7, 8, 9, 1000, 1 << 20] {
            let mut words = Words::zeroed(len).unwrap();
            words.as_mut_slice().iter_mut().zip(1..).for_each(|(word, i)| *word = i);
            let (expected, address) = (words.clone(), words.as_slice().as_ptr() as usize);
            let shared = AtomicWords::from(words);
            assert_eq!(shared.as_slice().as_ptr() as usize, address);
            assert!(shared.as_slice().iter().map(Word::load).eq(1..=len));
            assert_eq!(shared.to_words(), expected);
            let back = Words::from(shared);
            assert_eq!((back.as_slice().as_ptr() as usize, &back), (address, &expected));
        }
    }

    #[test]
    fn counters_change_alone_and_as_told() {
        for width in [1, 2, 4, 8, 16, 32, 64] {
            let fields = Fields::new(width).unwrap();
            let words: [AtomicU64; 3] = std::array::from_fn(|_| AtomicU64::new(u64::MAX));
            let counters = 192 / u64::from(width);
            for index in 0..counters {
                assert_eq!(fields.update(&words, index, |value| Some(value - 1)), fields.max());
                assert_eq!(fields.update(&words, index, |_| None), fields.max() - 1);
                assert!((0..counters).all(|i| fields.get(&words, i) == fields.max() - u64::from(i <= index)));
            }
            assert_eq!((fields.get(&words, counters), fields.update(&words, u64::MAX, Some)), (0, 0));
        }
        assert!([0, 3, 5, 48, 65, 128].into_iter().all(|width| Fields::new(width).is_none()));
    }
}
