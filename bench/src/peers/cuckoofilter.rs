//! `cuckoofilter`: fingerprints of 8 bits in buckets of 4, which gives a rate of up to 3 % whatever is asked for.

use std::hash::DefaultHasher;

use cuckoofilter::{CuckooFilter, ExportedCuckooFilter};

use crate::contender::Contender;
use crate::keys::BenchKey;

pub struct Cuckoo(CuckooFilter<DefaultHasher>);

/// The share of its slots that a cuckoo filter of such buckets can fill.
const LOAD: f64 = 0.94;

impl<K: BenchKey> Contender<K> for Cuckoo {
    fn name() -> String {
        "cuckoofilter".into()
    }

    fn new(n: u64, _fpr: f64) -> Option<Self> {
        Some(Cuckoo(CuckooFilter::with_capacity((n as f64 / LOAD) as usize)))
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        self.0.add(key).expect("room for every key at this load");
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        8 * (self.0.memory_usage() - size_of::<Self>()) as u64
    }

    const REMOVE: bool = true;

    #[inline]
    fn remove(&mut self, key: &K) {
        self.0.delete(key);
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut exported = self.0.export();
        exported.values.extend_from_slice(&exported.length.to_le_bytes());
        Some(exported.values)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (values, length) = bytes.split_last_chunk()?;
        let exported = ExportedCuckooFilter { values: values.to_vec(), length: usize::from_le_bytes(*length) };
        Some(Cuckoo(CuckooFilter::from(exported)))
    }
}
