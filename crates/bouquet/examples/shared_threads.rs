//! Share one filter between threads, without a lock.
//!
//! ```sh
//! cargo run -p bouquet --example shared_threads
//! ```

use std::thread;

use bouquet::SharedBloom;

/// Runs the example.
pub fn main() -> bouquet::Result<()> {
    let seen = SharedBloom::with_rate(400_000, 0.01)?;
    let fresh: u64 = thread::scope(|scope| {
        let worker = |first: u64| {
            let seen = &seen;
            // Neighbouring workers overlap by half: what one has inserted is not new to the next.
            scope.spawn(move || (first..first + 200_000).filter(|key| seen.insert(key)).count() as u64)
        };
        let workers = [0, 100_000, 200_000].map(worker);
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).sum()
    });
    println!("600,000 insertions by three threads, {fresh} of them certainly new");
    assert!((0..400_000u64).all(|key| seen.contains(&key)));
    // Two threads that insert a key at one moment may both hear that it is new, so there is no upper bound.
    assert!(fresh >= 392_000, "a new key seems old at a rate of at most 1 %: {fresh}");
    Ok(())
}
