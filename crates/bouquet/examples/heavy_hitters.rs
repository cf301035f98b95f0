//! Count the heavy hitters of a stream: a count-min sketch that keeps the names of the most frequent keys.
//!
//! ```sh
//! cargo run -p bouquet --example heavy_hitters
//! ```

use bouquet::capability::{Item, Note};
use bouquet::kind::Config;
use bouquet::{AnyFilter, registry};

/// Runs the example.
pub fn main() -> bouquet::Result<()> {
    let mut sketch = AnyFilter::new(&Config::new(registry::find("count-min")?.facts()).set("top", "3")?)?;
    let insert = sketch.insert()?;
    // Ten thousand visitors come once; visitor 1 comes 900 times, 2 comes 800 times, and so on.
    for visitor in 0..10_000u64 {
        insert.insert(Item::new(&visitor.to_le_bytes(), Note::None))?;
        if (1..=9).contains(&visitor) {
            for _ in 1..(10 - visitor) * 100 {
                insert.insert(Item::new(&visitor.to_le_bytes(), Note::None))?;
            }
        }
    }
    for visitor in sketch.top()?.top() {
        println!("visitor {:?} came about {} times", visitor.key[0], visitor.count.count);
    }
    let names: Vec<u8> = sketch.top()?.top().iter().map(|visitor| visitor.key[0]).collect();
    assert_eq!(names, [1, 2, 3]);
    Ok(())
}
