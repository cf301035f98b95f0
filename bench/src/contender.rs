//! What a filter must offer to be measured.

use crate::keys::BenchKey;

/// A filter in the race. To add one, implement this in `peers/` and add its line to [`peers::all`](crate::peers::all).
///
/// The measured loops are compiled for each contender, so everything here can be inlined into them.
pub trait Contender<K: BenchKey>: Sized + Sync {
    /// The crate's name, and after a space which of its filters this is.
    fn name() -> String;

    /// An empty filter for `n` keys at this rate; `None` when it is not meant for such a rate.
    fn new(n: u64, fpr: f64) -> Option<Self>;

    /// Inserts a key.
    fn insert(&mut self, key: &K);

    /// Whether the key may be in the set.
    fn contains(&self, key: &K) -> bool;

    /// The size of its table.
    fn bits(&self) -> u64;

    /// Inserts all keys one by one. A filter that is built once of all keys does that here.
    fn fill(&mut self, keys: &[K]) {
        keys.iter().for_each(|key| self.insert(key));
    }

    /// How many of the keys it contains, asked one by one.
    fn count(&self, keys: &[K]) -> usize {
        keys.iter().map(|key| usize::from(self.contains(key))).sum()
    }

    /// Whether it has batch forms.
    const BATCH: bool = false;

    /// Whether keys can be inserted in batches, one after the other: not so where a filter is built once of all keys.
    const BATCH_INSERT: bool = Self::BATCH;

    /// Inserts many keys.
    fn insert_batch(&mut self, _keys: &[K]) {
        unreachable!("only called when BATCH_INSERT is set")
    }

    /// `answers[i]` is to be the answer for `keys[i]`.
    fn contains_batch(&self, _keys: &[K], _answers: &mut [bool]) {
        unreachable!("only called when BATCH is set")
    }

    /// Whether it can remove keys.
    const REMOVE: bool = false;

    /// Removes a key that is in.
    fn remove(&mut self, _key: &K) {
        unreachable!("only called when REMOVE is set")
    }

    /// Whether several threads can insert at once.
    const SHARED: bool = false;

    /// Inserts a key while other threads do.
    fn insert_shared(&self, _key: &K) {
        unreachable!("only called when SHARED is set")
    }

    /// Its serialised form, when it has one.
    fn to_bytes(&self) -> Option<Vec<u8>> {
        None
    }

    /// The filter that was serialised.
    fn from_bytes(_bytes: &[u8]) -> Option<Self> {
        None
    }
}
