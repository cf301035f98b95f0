//! The keys: pseudo-random, distinct, the same in every run.

use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A type of keys that every contender takes.
pub trait BenchKey: bouquet::Key + Hash + Copy + Send + Sync + 'static {
    /// Its name on the command line and in the records.
    const NAME: &'static str;

    /// The key of this number; other numbers (below 2^62) have other keys.
    fn nth(number: u64) -> Self;

    /// The key's bytes, in the machine's order.
    fn as_bytes(&self) -> &[u8];

    /// The keys as numbers, if that is what they are.
    #[cfg(feature = "boost")]
    fn as_words(_keys: &[Self]) -> Option<&[u64]> {
        None
    }

    /// The hash of the floor rows: what is cheapest among those that do justice to any keys. Written out here, so that the floor owes
    /// nothing to the code beside which it is measured.
    fn cheapest(&self, seed: u64) -> u64;

    /// The hash of peers that take hashes instead of keys.
    #[inline]
    fn xxh3(&self, seed: u64) -> u64 {
        xxh3_64_with_seed(self.as_bytes(), seed)
    }
}

/// The finaliser of SplitMix64, a bijection.
fn mix(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl BenchKey for u64 {
    const NAME: &'static str = "u64";

    fn nth(number: u64) -> Self {
        mix(number)
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }

    #[cfg(feature = "boost")]
    fn as_words(keys: &[Self]) -> Option<&[u64]> {
        Some(keys)
    }

    #[inline]
    fn cheapest(&self, seed: u64) -> u64 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        fold(fold(self ^ seed, 0xbf58_476d_1ce4_e5b9), 0x94d0_49bb_1331_11eb)
    }
}

/// A string of 24 bytes, stored in place so that reading the keys costs every contender the same.
///
/// It hashes as its bytes alone, in one call and without a length: what is cheapest for those that take `Hash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Str24([u8; 24]);

impl Hash for Str24 {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

impl bouquet::Key for Str24 {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.0)
    }
}

impl BenchKey for Str24 {
    const NAME: &'static str = "str24";

    fn nth(number: u64) -> Self {
        let mut bytes = [0; 24];
        for (part, chunk) in (0..).zip(bytes.as_chunks_mut::<8>().0) {
            *chunk = mix(4 * number + part).to_le_bytes();
        }
        Str24(bytes)
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    #[inline]
    fn cheapest(&self, seed: u64) -> u64 {
        self.xxh3(seed)
    }
}

/// The keys of one set of conditions.
pub struct Workload<K> {
    /// The rate that is asked for.
    pub fpr: f64,
    /// The keys that are inserted.
    pub inserted: Vec<K>,
    /// Inserted keys in random order.
    pub present: Vec<K>,
    /// Keys that were not inserted.
    pub absent: Vec<K>,
}

/// Absent keys are numbered from here on.
const ABSENT: u64 = 1 << 61;

impl<K: BenchKey> Workload<K> {
    /// `n` keys to insert, and as many present and absent ones to ask for as `queries` says.
    pub fn new(n: u64, fpr: f64, queries: u64) -> Self {
        Workload {
            fpr,
            inserted: (0..n).map(K::nth).collect(),
            present: (0..queries).map(|query| K::nth(mix(query) % n)).collect(),
            absent: (ABSENT..ABSENT + queries).map(K::nth).collect(),
        }
    }
}

/// The name of the keys of [`Workload::counted`].
pub const COUNTED: &str = "counted";

impl Workload<u64> {
    /// The same for keys as databases give them, 0 to n - 1, and absent ones that go on from there: not random, so that the rate
    /// shows what the contender's hash makes of them.
    pub fn counted(n: u64, fpr: f64, queries: u64) -> Self {
        let present = (0..queries).map(|query| mix(query) % n).collect();
        Workload { fpr, inserted: (0..n).collect(), present, absent: (n..n + queries).collect() }
    }
}
