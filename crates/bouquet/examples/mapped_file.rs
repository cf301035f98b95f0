//! Query a filter in its file, without reading the file first.
//!
//! ```sh
//! cargo run -p bouquet --example mapped_file
//! ```

use bouquet::{AnyFilter, Bloom, OpenOptions};

/// Runs the example.
pub fn main() -> bouquet::Result<()> {
    let mut filter = Bloom::with_rate(1_000_000, 0.01)?;
    filter.insert_batch(&(0..1_000_000u64).collect::<Vec<_>>());
    let path = std::env::temp_dir().join(format!("bouquet-example-{}.bq", std::process::id()));
    AnyFilter::from_structure(filter)?.save(&path)?; // written beside, synced, renamed

    let mapped = AnyFilter::open_mapped(&path, &OpenOptions::default())?;
    let contains = mapped.contains()?; // looked up once, outside the loop
    let found = (0..2_000_000u64).filter(|key| contains.contains(&key.to_le_bytes())).count();
    println!("{found} of 2,000,000 keys found in {}", path.display());
    assert!((1_000_000..1_011_000).contains(&found));
    drop(mapped);
    std::fs::remove_file(&path).map_err(|source| bouquet::Error::Io { path, source })
}
