//! `datasketches`: the Bloom filter of Apache DataSketches, with XXH64.

use datasketches::bloom::{BloomFilter, BloomFilterBuilder};

use crate::contender::Contender;
use crate::keys::BenchKey;

pub struct Bloom(BloomFilter);

impl<K: BenchKey> Contender<K> for Bloom {
    fn name() -> String {
        "datasketches".into()
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        BloomFilterBuilder::with_accuracy(n, fpr).build().ok().map(Bloom)
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        self.0.insert(key);
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        self.0.capacity() as u64
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        Some(self.0.serialize())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        BloomFilter::deserialize(bytes).ok().map(Bloom)
    }
}
