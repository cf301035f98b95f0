//! Build one filter by several workers: each fills its own, and the union is the filter of everything.
//!
//! ```sh
//! cargo run -p bouquet --example merge_workers
//! ```

use std::thread;

use bouquet::Bloom;

const KEYS: u64 = 1_000_000;
const WORKERS: u64 = 4;

/// Runs the example.
pub fn main() -> bouquet::Result<()> {
    let part = |worker: u64| -> bouquet::Result<Bloom> {
        // Every worker makes a filter for all keys: only filters of one shape can be merged.
        let mut filter = Bloom::with_rate(KEYS, 0.01)?;
        let keys: Vec<u64> = (0..KEYS).filter(|key| key % WORKERS == worker).collect();
        filter.insert_batch(&keys);
        Ok(filter)
    };
    let parts: Vec<Bloom> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(move || part(worker))).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).collect::<bouquet::Result<_>>()
    })?;

    let mut all = Bloom::with_rate(KEYS, 0.01)?;
    for part in &parts {
        all.merge(part)?;
    }
    println!("{} keys by {WORKERS} workers, {} bytes, rate {:.4}", all.items(), all.to_bytes().len(), all.rate_now());
    assert!((0..KEYS).all(|key| all.contains(&key)), "the union holds what each part held");
    Ok(())
}
