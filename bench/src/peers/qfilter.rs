//! `qfilter`: a rank-select quotient filter; its slots are a power of two.

use qfilter::Filter;

use crate::contender::Contender;
use crate::keys::BenchKey;

pub struct Quotient(Filter);

impl<K: BenchKey> Contender<K> for Quotient {
    fn name() -> String {
        "qfilter".into()
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        Filter::new(n, fpr).ok().map(Quotient)
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        self.0.insert(key).expect("room for as many keys as it was made for");
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        8 * self.0.memory_usage() as u64
    }

    const REMOVE: bool = true;

    #[inline]
    fn remove(&mut self, key: &K) {
        self.0.remove(key);
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        postcard::to_allocvec(&self.0).ok()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok().map(Quotient)
    }
}
