//! `ptr_hash`: a minimal perfect hash, here with fingerprints of the keys in a table beside it. It takes 64-bit keys; others are
//! hashed to such by XXH3-64.

use ptr_hash::{DefaultPtrHash, PtrHashParams};

use crate::contender::Contender;
use crate::keys::BenchKey;

/// Fingerprints of this many bits by slot; nothing until it is filled.
pub struct Fingerprints<const BITS: u32>(Option<(DefaultPtrHash, Vec<u16>)>);

/// The key itself when it has 64 bits: the perfect hash mixes it.
#[inline]
fn integer<K: BenchKey>(key: &K) -> u64 {
    key.as_bytes().try_into().map_or_else(|_| key.xxh3(0), u64::from_ne_bytes)
}

/// Bits that have nothing to do with the slot: the upper ones of an odd multiple.
#[inline]
fn fingerprint<const BITS: u32>(key: u64) -> u16 {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS)) as u16
}

impl<K: BenchKey, const BITS: u32> Contender<K> for Fingerprints<BITS> {
    fn name() -> String {
        format!("ptr_hash with {BITS} bits")
    }

    /// The narrowest that reaches the rate.
    fn new(_n: u64, fpr: f64) -> Option<Self> {
        let bits = if fpr >= 1.0 / 256.0 { 8 } else { 16 };
        (bits == BITS).then_some(Fingerprints(None))
    }

    fn insert(&mut self, _key: &K) {
        unreachable!("it is filled at once")
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        let key = integer(key);
        self.0.as_ref().is_some_and(|(slots, table)| table[slots.index(&key)] == fingerprint::<BITS>(key))
    }

    /// The fingerprints lie in two bytes each, whatever their width; they are counted with their own.
    fn bits(&self) -> u64 {
        self.0.as_ref().map_or(0, |(slots, table)| {
            let (pilots, remap) = slots.bits_per_element();
            ((pilots + remap + f64::from(BITS)) * table.len() as f64) as u64
        })
    }

    fn fill(&mut self, keys: &[K]) {
        let keys: Vec<u64> = keys.iter().map(integer).collect();
        let slots = <DefaultPtrHash>::new(&keys, PtrHashParams::default());
        let mut table = vec![0; keys.len()];
        keys.iter().for_each(|key| table[slots.index(key)] = fingerprint::<BITS>(*key));
        self.0 = Some((slots, table));
    }
}
