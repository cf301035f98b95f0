//! `xorf`: binary fuse filters, built once of all keys. They take 64-bit keys; others are hashed to such by XXH3-64.

use xorf::{BinaryFuse8, BinaryFuse16, Filter};

use crate::contender::Contender;
use crate::keys::BenchKey;

/// A width of fingerprints: the rate is 2^-[`BITS`](Self::BITS).
pub trait Fingerprints: Filter<u64> + Sync + Sized {
    const BITS: u64;
    fn build(keys: &[u64]) -> Result<Self, &'static str>;
}

impl Fingerprints for BinaryFuse8 {
    const BITS: u64 = 8;

    fn build(keys: &[u64]) -> Result<Self, &'static str> {
        Self::try_from(keys)
    }
}

impl Fingerprints for BinaryFuse16 {
    const BITS: u64 = 16;

    fn build(keys: &[u64]) -> Result<Self, &'static str> {
        Self::try_from(keys)
    }
}

pub type Fuse8 = Fuse<BinaryFuse8>;
pub type Fuse16 = Fuse<BinaryFuse16>;

/// Nothing until it is filled.
pub struct Fuse<F>(Option<F>);

/// The key itself when it has 64 bits: the filter mixes it.
#[inline]
fn integer<K: BenchKey>(key: &K) -> u64 {
    key.as_bytes().try_into().map_or_else(|_| key.xxh3(0), u64::from_ne_bytes)
}

impl<K: BenchKey, F: Fingerprints> Contender<K> for Fuse<F> {
    fn name() -> String {
        format!("xorf BinaryFuse{}", F::BITS)
    }

    /// The narrowest that reaches the rate.
    fn new(_n: u64, fpr: f64) -> Option<Self> {
        let bits = if fpr >= 1.0 / 256.0 { 8 } else { 16 };
        (bits == F::BITS).then_some(Fuse(None))
    }

    fn insert(&mut self, _key: &K) {
        unreachable!("it is filled at once")
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        self.0.as_ref().is_some_and(|filter| filter.contains(&integer(key)))
    }

    fn bits(&self) -> u64 {
        self.0.as_ref().map_or(0, |filter| F::BITS * filter.len() as u64)
    }

    fn fill(&mut self, keys: &[K]) {
        let keys: Vec<u64> = keys.iter().map(integer).collect();
        self.0 = Some(F::build(&keys).expect("distinct keys"));
    }
}
