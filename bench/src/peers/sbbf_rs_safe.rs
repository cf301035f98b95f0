//! `sbbf-rs-safe`: a split-block filter with run-time dispatch; it takes hashes, here XXH3-64, and for
//! comparison those of the floor.

use bouquet::theory::blocks::{Inner, Layout, bits_per_key};
use sbbf_rs_safe::Filter;

use crate::contender::Contender;
use crate::keys::BenchKey;

/// With `CHEAPEST` it is given the hashes of the floor, which for numbers cost less than XXH3.
pub struct SplitBlock<const CHEAPEST: bool>(Filter);

impl<const CHEAPEST: bool> SplitBlock<CHEAPEST> {
    #[inline]
    fn hash<K: BenchKey>(key: &K) -> u64 {
        if CHEAPEST { key.cheapest(0) } else { key.xxh3(0) }
    }
}

/// A key's bits: one in each of the 8 words of 32 bits of its block.
const LAYOUT: Layout = Layout { block_bits: 256, inner: Inner::Slices, blocks_per_key: 1 };

impl<K: BenchKey, const CHEAPEST: bool> Contender<K> for SplitBlock<CHEAPEST> {
    fn name() -> String {
        format!("sbbf-rs-safe{}", if CHEAPEST { " (hash of the floor)" } else { "" })
    }

    /// Its size is in whole bits per key: the fewest that reach the rate.
    fn new(n: u64, fpr: f64) -> Option<Self> {
        Some(SplitBlock(Filter::new(bits_per_key(LAYOUT, 8, fpr).ceil() as usize, n as usize)))
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        self.0.insert_hash(Self::hash(key));
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        self.0.contains_hash(Self::hash(key))
    }

    fn bits(&self) -> u64 {
        8 * self.0.as_bytes().len() as u64
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        Some(self.0.as_bytes().to_vec())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Filter::from_bytes(bytes).map(SplitBlock)
    }
}
