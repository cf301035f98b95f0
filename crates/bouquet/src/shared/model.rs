//! A word whose interleavings the model checker runs through.

use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::simd::{SharedWord, View, Word};
use crate::store::atomic::AtomicWord;

impl Word for AtomicU64 {
    fn load(&self) -> u64 {
        AtomicU64::load(self, Relaxed)
    }

    fn view(_: &[Self]) -> View<'_> {
        View::Single
    }
}

impl SharedWord for AtomicU64 {
    fn fetch_or(&self, mask: u64) -> u64 {
        AtomicU64::fetch_or(self, mask, Relaxed)
    }
}

impl AtomicWord for AtomicU64 {
    fn compare_exchange(&self, old: u64, new: u64) -> Result<u64, u64> {
        AtomicU64::compare_exchange(self, old, new, Relaxed, Relaxed)
    }
}

/// Words of zeros; to be made inside of a model.
pub(super) fn zeros(words: usize) -> loom::sync::Arc<Vec<AtomicU64>> {
    loom::sync::Arc::new((0..words).map(|_| AtomicU64::new(0)).collect())
}

/// The words when all threads are done.
pub(super) fn values(words: &[AtomicU64]) -> Vec<u64> {
    words.iter().map(Word::load).collect()
}
