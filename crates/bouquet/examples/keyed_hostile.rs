//! Keep to the rate when an adversary chooses the keys: with a secret nobody can compute which bits a key sets.
//!
//! ```sh
//! cargo run -p bouquet --example keyed_hostile
//! ```

use bouquet::hash::{Hashing, Secret};
use bouquet::kind::Config;
use bouquet::{Bloom, registry};

/// The keys out of many that a filter without secret already seems to hold: what an adversary looks for at home.
fn forged(filter: &Bloom) -> Vec<u64> {
    (1_000_000u64..2_000_000).filter(|key| filter.contains(key)).take(1_000).collect()
}

/// Runs the example.
pub fn main() -> bouquet::Result<()> {
    let config = Config::new(registry::find("standard")?.facts()).set("items", "10000")?;
    let mut open = Bloom::from_config(&config)?;
    let mut keyed = Bloom::from_config(&config.hashed(Hashing::keyed(Secret::random()?)))?;
    for key in 0..10_000u64 {
        open.insert(&key);
        keyed.insert(&key);
    }
    let attack = forged(&open);
    let passed = |filter: &Bloom| attack.iter().filter(|key| filter.contains(*key)).count();
    println!("{} forged keys: the open filter takes {}, the keyed one {}", attack.len(), passed(&open), passed(&keyed));
    assert_eq!(passed(&open), attack.len());
    assert!(passed(&keyed) < 40, "forged keys fare as any other: about 1 %");
    Ok(())
}
