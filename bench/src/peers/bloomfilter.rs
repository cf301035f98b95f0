//! `bloomfilter`: a classic layout with SipHash-1-3.

use crate::contender::Contender;
use crate::keys::BenchKey;

/// The halves are the keys of two hash functions, which must differ.
const SEED: [u8; 32] = *b"one hash's key...the other's key";

pub struct Bloom<K>(bloomfilter::Bloom<K>);

impl<K: BenchKey> Contender<K> for Bloom<K> {
    fn name() -> String {
        "bloomfilter".into()
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        bloomfilter::Bloom::new_for_fp_rate_with_seed(n as usize, fpr, &SEED).ok().map(Bloom)
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        self.0.set(key);
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        self.0.check(key)
    }

    fn bits(&self) -> u64 {
        self.0.len()
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        Some(self.0.to_bytes())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bloomfilter::Bloom::from_slice(bytes).ok().map(Bloom)
    }
}
