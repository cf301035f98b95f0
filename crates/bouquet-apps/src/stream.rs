//! What came before in a stream: exactly as long as memory suffices, from then on by a filter.
//!
//! Keys are 64-bit keyed hashes. Two of n keys have the same one with a probability of n^2 / 2^65: below 10^-5 for ten million.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use bouquet::{Result, Scalable};

/// Hashes are spread already: they are taken as they are.
#[derive(Default)]
pub struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A set of hashes.
pub type HashesSeen = HashSet<u64, BuildHasherDefault<AsItIs>>;

/// The bytes of a hash table with this many entries of `entry` bytes at its next growth, when the old and the new one are there
/// at once. A table has a power of two of places, an eighth of them free, and a byte of its own for each.
#[must_use]
pub fn bytes_when_grown(capacity: usize, entry: usize) -> usize {
    let places = |capacity: usize| (capacity.saturating_mul(8) / 7).next_power_of_two();
    let old = places(capacity);
    old.saturating_add(old.saturating_mul(2)).saturating_mul(entry + 1)
}

/// All keys of a stream that came so far.
///
/// ```
/// use bouquet_apps::stream::AllSeen;
/// let mut seen = AllSeen::new(1 << 20, 0.001);
/// assert!(seen.insert(7)? && !seen.insert(7)?);
/// assert!(seen.is_exact());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub struct AllSeen {
    memory: usize,
    fpr: f64,
    store: Store,
}

enum Store {
    Exact(HashesSeen),
    Filter(Box<Scalable>),
}

impl AllSeen {
    /// Exact in this many bytes; then a filter that takes a new key for an old one at the rate `fpr` at most, however many come.
    #[must_use]
    pub fn new(memory: usize, fpr: f64) -> Self {
        AllSeen { memory, fpr, store: Store::Exact(HashesSeen::default()) }
    }

    /// Takes a key and tells whether it is new.
    pub fn insert(&mut self, hash: u64) -> Result<bool> {
        match &mut self.store {
            Store::Exact(set) => {
                if set.len() < set.capacity() || bytes_when_grown(set.capacity(), 8) <= self.memory {
                    return Ok(set.insert(hash));
                }
                let mut filter = Scalable::with_rate(2 * set.len().max(1) as u64, self.fpr)?;
                for hash in set.iter() {
                    filter.insert(hash)?;
                }
                let new = filter.insert(&hash)?;
                self.store = Store::Filter(Box::new(filter));
                Ok(new)
            }
            Store::Filter(filter) => filter.insert(&hash),
        }
    }

    /// Whether no key was taken for another so far, but for two with the same hash.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        matches!(self.store, Store::Exact(_))
    }

    /// Bytes in use.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.store {
            Store::Exact(set) => (bytes_when_grown(set.capacity(), 8) / 3) as u64,
            Store::Filter(filter) => filter.stats().bits / 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distinct hashes, spread as those of keys are.
    fn hash(i: u64) -> u64 {
        let i = (i ^ i >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (i ^ i >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
    }

    #[test]
    fn no_key_is_new_twice_and_few_new_ones_seem_old() {
        const N: u64 = 400_000;
        let mut seen = AllSeen::new(1 << 20, 0.001);
        let mut dropped = 0;
        let mut exact = 0;
        for i in 0..N {
            dropped += u64::from(!seen.insert(hash(i)).unwrap());
            assert!(!seen.insert(hash(i / 2)).unwrap(), "{i}");
            exact += u64::from(seen.is_exact());
        }
        assert!((20_000..N / 4).contains(&exact), "{exact}");
        let most = (N - exact) as f64 * 0.001;
        assert!(dropped > 0 && (dropped as f64) < most + 5.0 * most.sqrt(), "{dropped} of {N}");
    }

    #[test]
    fn memory_is_kept_to_while_the_set_is_exact() {
        let mut seen = AllSeen::new(1 << 20, 0.001);
        let mut i = 0;
        while seen.is_exact() {
            assert!(seen.bytes() <= 1 << 20);
            seen.insert(hash(i)).unwrap();
            i += 1;
        }
        assert!(seen.bytes() < 1 << 20, "the filter of the same keys takes less");
    }
}
