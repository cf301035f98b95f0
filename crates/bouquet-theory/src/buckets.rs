//! Items behind a filter: one copy for each, in a bucket that its own filter positions choose.
//!
//! A table whose m buckets are the m positions of a filter may keep an item in each of its k positions, or in one of them that
//! an extra hash function selects. The filter, and with it the wasted bucket reads of absent keys, is the same; n copies
//! instead of k n share their buckets less often.
//!
//! Source: M. Ahmadi, S. Wong, *A memory-optimized Bloom filter using an additional hashing function*, 2008.

use super::special::{ln_miss, probability};
use super::standard::balls;

/// The probability that an item shares its bucket when every item is kept once: 1 - (1 - 1/m)^(n-1).
///
/// ```
/// assert!((bouquet_theory::buckets::shared(1_000_000, 100_000) - 0.095).abs() < 5e-4);
/// ```
pub fn shared(m: u64, n: u64) -> f64 {
    shared_by_copies(m, n, 1)
}

/// The same when every item is kept in all of its k buckets: 1 - (1 - 1/m)^(k(n-1)).
///
/// ```
/// assert!((bouquet_theory::buckets::shared_by_copies(1_000_000, 100_000, 7) - 0.503).abs() < 5e-4);
/// ```
pub fn shared_by_copies(m: u64, n: u64, k: u32) -> f64 {
    probability(-ln_miss(m as f64, balls(n.saturating_sub(1), k)).exp_m1())
}
