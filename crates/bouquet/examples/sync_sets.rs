//! Synchronise two sets over a wire: each side sends a table whose size follows the difference, not the sets.
//!
//! ```sh
//! cargo run -p bouquet --example sync_sets
//! ```

use bouquet::Iblt;

/// Runs the example.
pub fn main() -> bouquet::Result<()> {
    // Two replicas of 100,000 keys; each lacks some that the other has.
    let (mut here, mut there) = (Iblt::with_capacity(100)?, Iblt::with_capacity(100)?);
    for key in 0..100_000u64 {
        here.insert(&key, b"")?;
        there.insert(&(key + 20), b"")?;
    }

    let message = there.to_bytes(); // what is sent
    here.subtract(&Iblt::from_bytes(&message)?)?;
    let difference = here.list();
    assert_eq!(difference.undecoded, 0, "the table was large enough for the difference");

    let to_send = difference.entries.iter().filter(|entry| entry.count > 0).count();
    let to_fetch = difference.entries.iter().filter(|entry| entry.count < 0).count();
    println!("a message of {} bytes: {to_send} keys to send, {to_fetch} to fetch", message.len());
    assert_eq!((to_send, to_fetch), (20, 20));
    Ok(())
}
