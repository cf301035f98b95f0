//! Words of 64 bits as the kernels see them: plain, or shared between threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A word that kernels read: a plain one, or one that threads share.
pub trait Word: Sized {
    /// The word; if threads share it, as it is at some moment.
    fn load(&self) -> u64;

    /// The words for code that reads several at once.
    fn view(words: &[Self]) -> View<'_>;
}

/// How words lie in memory.
pub enum View<'a> {
    /// Nobody changes them meanwhile.
    Plain(&'a [u64]),
    /// Threads share them: only assembly reads several at once, since compilers may read what is not atomic as often as they like.
    Shared(&'a [AtomicU64]),
    /// They are read one by one, as those of a model checker are.
    Single,
}

impl Word for u64 {
    #[inline(always)]
    fn load(&self) -> u64 {
        *self
    }

    #[inline(always)]
    fn view(words: &[Self]) -> View<'_> {
        View::Plain(words)
    }
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn load(&self) -> u64 {
        AtomicU64::load(self, Relaxed)
    }

    #[inline(always)]
    fn view(words: &[Self]) -> View<'_> {
        View::Shared(words)
    }
}

/// A word whose bits threads set.
pub trait SharedWord: Word {
    /// Sets bits and gives the word as it was.
    fn fetch_or(&self, mask: u64) -> u64;
}

impl SharedWord for AtomicU64 {
    #[inline(always)]
    fn fetch_or(&self, mask: u64) -> u64 {
        AtomicU64::fetch_or(self, mask, Relaxed)
    }
}

/// Sets the bits of `mask` and says whether this very call changed one. A word that has them all is only read, so that its cache
/// line stays with every thread.
#[inline(always)]
pub(crate) fn set_bits(word: &impl SharedWord, mask: u64) -> bool {
    mask & !word.load() != 0 && mask & !word.fetch_or(mask) != 0
}
