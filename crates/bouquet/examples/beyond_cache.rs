//! What a lookup costs when the filter is far larger than the cache: 2^30 bits that hold ten million keys.
//!
//! A standard filter reads k lines of memory for a member, a blocked one reads one, and so does the ultra-fast filter.
//!
//! ```sh
//! cargo run --release -p bouquet --example beyond_cache
//! ```

use std::hint::black_box;
use std::time::Instant;

use bouquet::hash::mix;
use bouquet::membership::{Access, BitFilter};
use bouquet::{Blocked, Bloom, UltraFast};

const BITS: u64 = 1 << 30;
const KEYS: u64 = 10_000_000;
const LOOKUPS: u64 = 2_000_000;
const ROUNDS: usize = 5;

/// Nanoseconds per lookup of a member.
fn lookups<L: Access>(filter: &BitFilter<L>, members: &[u64]) -> f64 {
    let (filter, members) = (black_box(filter), black_box(members));
    let start = Instant::now();
    let found = members.iter().filter(|member| filter.contains(*member)).count() as u64;
    let elapsed = start.elapsed();
    assert_eq!(found, LOOKUPS, "members are found");
    elapsed.as_nanos() as f64 / LOOKUPS as f64
}

fn filled<L: Access>(mut filter: BitFilter<L>) -> BitFilter<L> {
    for first in (0..KEYS).step_by(1 << 16) {
        let keys: Vec<u64> = (first..KEYS.min(first + (1 << 16))).map(mix).collect();
        filter.insert_batch(&keys);
    }
    filter
}

fn main() -> bouquet::Result<()> {
    let standard = filled(Bloom::with_size(BITS, 7)?);
    let blocked = filled(Blocked::with_size(BITS, 7)?);
    let ultra_fast = filled(UltraFast::with_size(BITS, 8)?);
    // In an order that no prefetcher can guess.
    let members: Vec<u64> = (0..LOOKUPS).map(|i| mix(mix(i) % KEYS)).collect();
    // Interleaved, so that drift of the machine meets all alike; the median is told.
    let mut rounds: Vec<[f64; 3]> = (0..ROUNDS)
        .map(|_| [lookups(&standard, &members), lookups(&blocked, &members), lookups(&ultra_fast, &members)])
        .collect();
    for (column, name) in ["standard", "blocked", "ultra-fast"].into_iter().enumerate() {
        rounds.sort_by(|a, b| a[column].total_cmp(&b[column]));
        println!("{name:12}{:6.1} ns per member", rounds[ROUNDS / 2][column]);
    }
    Ok(())
}
