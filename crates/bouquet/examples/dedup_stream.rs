//! Deduplicate an endless stream in fixed memory: a stable filter forgets what came long ago.
//!
//! ```sh
//! cargo run -p bouquet --example dedup_stream
//! ```

use bouquet::Stable;

/// A stream of clicks in which every third repeats one of the last hundred.
fn clicks() -> impl Iterator<Item = u64> {
    let repeats = |arrival: u64| arrival - 2 - 3 * (arrival / 3 % 30);
    (0..100_000).map(move |arrival| if arrival % 3 == 2 { repeats(arrival) } else { arrival })
}

/// Runs the example.
pub fn main() -> bouquet::Result<()> {
    let mut seen = Stable::with_rate(1_000, 0.01)?; // remembers the last thousand arrivals
    let (mut passed, mut dropped) = (0, 0);
    for click in clicks() {
        // `insert` says whether the key was certainly new.
        if seen.insert(&click) { passed += 1 } else { dropped += 1 }
    }
    println!("{passed} clicks passed, {dropped} were duplicates; {} bytes of memory", seen.stats().bits / 8);
    assert!((32_000..36_000).contains(&dropped), "a third of the stream repeats, and 1 % may seem to");
    Ok(())
}
