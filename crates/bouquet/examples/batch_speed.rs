//! The time of a batch of lookups in nanoseconds per key, which `bench/python.py` compares with: one thread, a plain filter, half of the keys in it.

use std::hint::black_box;
use std::time::Instant;

use bouquet::Bloom;

fn main() -> bouquet::Result<()> {
    let count: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let numbers: Vec<u64> = (0..count).collect();
    let texts: Vec<String> = numbers.iter().map(|number| format!("user-{number:012}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    println!("int64,{}", time(&numbers)?);
    println!("str,{}", time(&texts)?);
    Ok(())
}

fn time<K: bouquet::Key>(keys: &[K]) -> bouquet::Result<f64> {
    let mut filter = Bloom::with_rate(keys.len() as u64, 0.01)?;
    filter.insert_batch(&keys[..keys.len() / 2]);
    let mut answers = vec![false; keys.len()];
    let best = (0..15).map(|_| {
        let start = Instant::now();
        filter.contains_batch(keys, black_box(&mut answers));
        start.elapsed().as_secs_f64()
    });
    Ok(1e9 * best.fold(f64::INFINITY, f64::min) / keys.len() as f64)
}
