//! The time per item of the library's own calls, for the benchmark of the module: what the server and the module add is the rest.

use std::hint::black_box;
use std::time::Instant;

use bouquet::foreign::{BloomShape, RedisBloomChain, RedisCountMinSketch};

const ITEMS: usize = 1_000_000;

fn main() -> bouquet::Result<()> {
    let names: Vec<Vec<u8>> = (0..ITEMS).map(|i| format!("item:{i:012}").into_bytes()).collect();
    let time = |name: &str, run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        println!("{name},{:.1}", start.elapsed().as_nanos() as f64 / ITEMS as f64);
    };
    let mut bloom = RedisBloomChain::new(&BloomShape { capacity: ITEMS as u64, ..Default::default() }, u64::MAX)?;
    time("BF.MADD", &mut || {
        for name in &names {
            let _ = black_box(bloom.insert(name));
        }
    });
    time("BF.MEXISTS", &mut || {
        for name in &names {
            black_box(bloom.contains(name));
        }
    });
    let mut sketch = RedisCountMinSketch::new(2_000, 7, u64::MAX)?;
    time("CMS.INCRBY", &mut || {
        for name in &names {
            black_box(sketch.add(name, 1));
        }
    });
    Ok(())
}
