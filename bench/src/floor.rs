//! The floor: what any filter must pay, one hash of the key and one random cache line.

use prefetch_index::prefetch_index;

use crate::contender::Contender;
use crate::keys::BenchKey;

/// A table as large as bouquet's standard filter for the same keys and rate, of which each key owns one bit.
///
/// As a filter it is poor (a Bloom filter with one hash function); as a measure it is what the machine allows: two folded
/// multiplications of a number, or XXH3-64 of other keys, then one word read or written. Its batch forms hash [`BATCH`] keys
/// and ask the memory for their lines before they touch the first.
pub struct Floor {
    words: Vec<u64>,
    seed: u64,
}

const BATCH: usize = 32;

/// The name of the floor rows.
pub const NAME: &str = "floor";

impl Floor {
    /// The word of a hash and the bit in it; the high bits of the hash choose the word, the low ones the bit.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        let word = (u128::from(hash) * self.words.len() as u128) >> 64;
        (word as usize, 1 << (hash & 63))
    }

    /// The places of a batch, on their way to the cache.
    #[inline]
    fn places<K: BenchKey>(&self, keys: &[K]) -> [(usize, u64); BATCH] {
        let mut places = [(0, 0); BATCH];
        for (place, key) in places.iter_mut().zip(keys) {
            *place = self.place(key.cheapest(self.seed));
            prefetch_index(&self.words, place.0);
        }
        places
    }
}

impl<K: BenchKey> Contender<K> for Floor {
    fn name() -> String {
        NAME.into()
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        let bits = bouquet::Bloom::with_rate(n, fpr).ok()?.bits().len();
        Some(Floor { words: vec![0; bits.div_ceil(64) as usize], seed: 0x5eed })
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        let (word, bit) = self.place(key.cheapest(self.seed));
        self.words[word] |= bit;
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        let (word, bit) = self.place(key.cheapest(self.seed));
        self.words[word] & bit != 0
    }

    fn bits(&self) -> u64 {
        64 * self.words.len() as u64
    }

    const BATCH: bool = true;

    fn insert_batch(&mut self, keys: &[K]) {
        for keys in keys.chunks(BATCH) {
            for (word, bit) in &self.places(keys)[..keys.len()] {
                self.words[*word] |= bit;
            }
        }
    }

    fn contains_batch(&self, keys: &[K], answers: &mut [bool]) {
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            for ((word, bit), answer) in self.places(keys).into_iter().zip(answers) {
                *answer = self.words[word] & bit != 0;
            }
        }
    }
}
