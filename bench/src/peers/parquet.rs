//! `parquet`: the split-block filter of Apache Arrow's implementation, with XXH64; its size is a power of two.

use parquet::bloom_filter::Sbbf;

use crate::contender::Contender;
use crate::keys::BenchKey;

pub struct SplitBlock(Sbbf);

impl<K: BenchKey> Contender<K> for SplitBlock {
    fn name() -> String {
        "parquet".into()
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        Sbbf::new_with_ndv_fpp(n, fpr).ok().map(SplitBlock)
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        self.0.insert(key.as_bytes());
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        self.0.check(key.as_bytes())
    }

    fn bits(&self) -> u64 {
        256 * self.0.num_blocks() as u64
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.0.write(&mut bytes).ok().map(|()| bytes)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Sbbf::from_bytes(bytes).ok().map(SplitBlock)
    }
}
