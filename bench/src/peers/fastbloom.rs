//! `fastbloom`: a classic layout; with its default hasher (SipHash-1-3), with foldhash, and shared between threads.

use std::hash::BuildHasher;

use fastbloom::{AtomicBloomFilter, BloomFilter, DefaultHasher};
use foldhash::fast::FixedState;

use crate::contender::Contender;
use crate::keys::BenchKey;

/// A hasher to choose.
pub trait Choice: BuildHasher + Sync {
    const NAME: &'static str;
    fn seeded() -> Self;
}

impl Choice for FixedState {
    const NAME: &'static str = "foldhash";

    fn seeded() -> Self {
        FixedState::with_seed(0x5eed)
    }
}

impl Choice for DefaultHasher {
    const NAME: &'static str = "default";

    fn seeded() -> Self {
        DefaultHasher::seeded(&[7; 16])
    }
}

pub type Folded = Plain<FixedState>;
pub type Default = Plain<DefaultHasher>;
pub struct Plain<S>(BloomFilter<S>);

impl<K: BenchKey, S: Choice> Contender<K> for Plain<S> {
    fn name() -> String {
        format!("fastbloom {}", S::NAME)
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        Some(Plain(BloomFilter::with_false_pos(fpr).hasher(S::seeded()).expected_items(n as usize)))
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
        self.0.num_bits() as u64
    }

    /// The words and the number of hashes are all that the crate needs to restore a filter.
    fn to_bytes(&self) -> Option<Vec<u8>> {
        Some([bytemuck::bytes_of(&self.0.num_hashes()), bytemuck::cast_slice(self.0.as_slice())].concat())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (hashes, words) = bytes.split_first_chunk()?;
        let words = bytemuck::pod_collect_to_vec(words);
        Some(Plain(BloomFilter::from_vec(words).hasher(S::seeded()).hashes(u32::from_ne_bytes(*hashes))))
    }
}

pub struct Atomic(AtomicBloomFilter<FixedState>);

impl<K: BenchKey> Contender<K> for Atomic {
    fn name() -> String {
        "fastbloom atomic foldhash".into()
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        Some(Atomic(AtomicBloomFilter::with_false_pos(fpr).hasher(Choice::seeded()).expected_items(n as usize)))
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
        self.0.num_bits() as u64
    }

    const SHARED: bool = true;

    #[inline]
    fn insert_shared(&self, key: &K) {
        self.0.insert(key);
    }
}
