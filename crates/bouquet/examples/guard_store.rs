//! Guard a slow store: keys that it certainly does not hold cost no read.
//!
//! ```sh
//! cargo run -p bouquet --example guard_store
//! ```

use std::cell::Cell;
use std::collections::HashMap;

use bouquet::Bloom;

/// A store behind a network, which counts how often it is read.
struct Store {
    rows: HashMap<u64, String>,
    reads: Cell<u64>,
}

impl Store {
    fn get(&self, key: u64) -> Option<&String> {
        self.reads.set(self.reads.get() + 1);
        self.rows.get(&key)
    }
}

/// Runs the example.
pub fn main() -> bouquet::Result<()> {
    let rows: HashMap<u64, String> = (0..10_000).map(|key| (key * 7, format!("row {key}"))).collect();
    let mut guard = Bloom::with_rate(rows.len() as u64, 0.01)?;
    rows.keys().for_each(|key| _ = guard.insert(key));
    let store = Store { rows, reads: Cell::new(0) };

    let found = (0..70_000u64).filter(|key| guard.contains(key) && store.get(*key).is_some()).count();
    println!("70,000 lookups, {found} rows found, {} reads of the store", store.reads.get());
    assert_eq!(found, 10_000, "the guard hides no row");
    assert!(store.reads.get() < 11_000, "60,000 absent keys cost about 600 reads");
    Ok(())
}
