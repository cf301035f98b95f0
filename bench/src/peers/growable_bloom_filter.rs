//! `growable-bloom-filter`: a scalable Bloom filter with XXH3-128, told the number of keys beforehand.

use growable_bloom_filter::GrowableBloom;

use crate::contender::Contender;
use crate::keys::BenchKey;

pub struct Growable(GrowableBloom);

impl<K: BenchKey> Contender<K> for Growable {
    fn name() -> String {
        "growable-bloom-filter".into()
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        Some(Growable(GrowableBloom::new(fpr, n as usize)))
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        self.0.insert(key);
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    /// It does not tell: the size of its serialised form, which is a few bytes more than its tables.
    fn bits(&self) -> u64 {
        postcard::to_allocvec(&self.0).map_or(0, |bytes| 8 * bytes.len() as u64)
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        postcard::to_allocvec(&self.0).ok()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok().map(Growable)
    }
}
