//! bouquet's kinds that are built once of all keys.

use bouquet::hash::Hashing;
use bouquet::membership::perfect_hash::Mode;
use bouquet::{Golomb, PerfectHash, PerfectHashSettings};

use crate::contender::Contender;
use crate::keys::BenchKey;

/// A kind that is built once, and how it is here.
pub trait Static: Sync + Sized {
    fn name() -> String;
    /// Whether it is meant for this rate.
    fn suits(fpr: f64) -> bool;
    fn build<K: BenchKey>(keys: &[K], fpr: f64) -> bouquet::Result<Self>;
    fn contains<K: BenchKey>(&self, key: &K) -> bool;
    fn contains_batch<K: BenchKey>(&self, keys: &[K], answers: &mut [bool]);
    fn bits(&self) -> u64;
    fn to_bytes(&self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> bouquet::Result<Self>;
}

/// Nothing until it is filled.
pub struct Once<S> {
    built: Option<S>,
    fpr: f64,
}

/// Fingerprints of this many bits in a fuse table, for the rates that a binary fuse filter of that width is meant for.
pub type Fuse<const BITS: u32> = Once<Fingerprints<BITS>>;
/// A minimal perfect hash with fingerprints for the rate.
pub type Minimal = Once<Fingerprints<0>>;
/// A Golomb-coded set.
pub type Coded = Once<Golomb>;

/// Fingerprints of this many bits; 0 bits stand for a minimal perfect hash with as many as the rate takes.
pub struct Fingerprints<const BITS: u32>(PerfectHash);

impl<const BITS: u32> Static for Fingerprints<BITS> {
    fn name() -> String {
        if BITS == 0 { "perfect-hash minimal".into() } else { format!("perfect-hash {BITS}") }
    }

    fn suits(fpr: f64) -> bool {
        BITS == 0 || BITS == if fpr >= 1.0 / 256.0 { 8 } else { 16 }
    }

    fn build<K: BenchKey>(keys: &[K], fpr: f64) -> bouquet::Result<Self> {
        let settings = match BITS {
            0 => PerfectHashSettings { fpr: Some(fpr), mode: Some(Mode::Minimal), ..Default::default() },
            bits => PerfectHashSettings { fingerprint: Some(bits), ..Default::default() },
        };
        PerfectHash::from_keys(&settings, &Hashing::default(), keys).map(Fingerprints)
    }

    #[inline]
    fn contains<K: BenchKey>(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn contains_batch<K: BenchKey>(&self, keys: &[K], answers: &mut [bool]) {
        self.0.contains_batch(keys, answers);
    }

    fn bits(&self) -> u64 {
        self.0.stats().bits
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> bouquet::Result<Self> {
        PerfectHash::from_bytes(bytes).map(Fingerprints)
    }
}

impl Static for Golomb {
    fn name() -> String {
        "golomb".into()
    }

    fn suits(_: f64) -> bool {
        true
    }

    fn build<K: BenchKey>(keys: &[K], fpr: f64) -> bouquet::Result<Self> {
        Golomb::with_rate(fpr, keys)
    }

    #[inline]
    fn contains<K: BenchKey>(&self, key: &K) -> bool {
        Golomb::contains(self, key)
    }

    fn contains_batch<K: BenchKey>(&self, keys: &[K], answers: &mut [bool]) {
        Golomb::contains_batch(self, keys, answers);
    }

    fn bits(&self) -> u64 {
        self.stats().bits
    }

    fn to_bytes(&self) -> Vec<u8> {
        Golomb::to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> bouquet::Result<Self> {
        Golomb::from_bytes(bytes)
    }
}

impl<K: BenchKey, S: Static> Contender<K> for Once<S> {
    fn name() -> String {
        format!("bouquet {}", S::name())
    }

    fn new(_n: u64, fpr: f64) -> Option<Self> {
        S::suits(fpr).then_some(Once { built: None, fpr })
    }

    fn insert(&mut self, _key: &K) {
        unreachable!("it is filled at once")
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        self.built.as_ref().is_some_and(|built| built.contains(key))
    }

    fn bits(&self) -> u64 {
        self.built.as_ref().map_or(0, S::bits)
    }

    fn fill(&mut self, keys: &[K]) {
        self.built = Some(S::build(keys, self.fpr).expect("keys that differ"));
    }

    const BATCH: bool = true;
    const BATCH_INSERT: bool = false;

    fn contains_batch(&self, keys: &[K], answers: &mut [bool]) {
        if let Some(built) = &self.built {
            built.contains_batch(keys, answers);
        }
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        self.built.as_ref().map(S::to_bytes)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Once { built: Some(S::from_bytes(bytes).ok()?), fpr: 1.0 })
    }
}
