//! `probabilistic-collections`: a classic layout with SipHash. Its serialised form would need one of the key type, which is not there.

use probabilistic_collections::SipHasherBuilder;
use probabilistic_collections::bloom::BloomFilter;

use crate::contender::Contender;
use crate::keys::BenchKey;

pub struct Bloom<K>(BloomFilter<K>);

impl<K: BenchKey> Contender<K> for Bloom<K> {
    fn name() -> String {
        "probabilistic-collections".into()
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        let hashers = [SipHasherBuilder::from_seed(1, 2), SipHasherBuilder::from_seed(3, 4)];
        Some(Bloom(BloomFilter::with_hashers(n as usize, fpr, hashers)))
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
        self.0.len() as u64
    }
}
