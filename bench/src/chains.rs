//! Chains of filters: what slices and threads are worth.
//!
//! Absent keys are looked up in `dba` with 64 and with 160 filters, and in as many filters that are stored and asked one by one; then in
//! `par-bf`, by one thread, by two that share the keys, and by two that share the lists. Every step is done in every round, one after
//! the other, and medians are told.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use bouquet::kind::Config;
use bouquet::{Bloom, Dba, ParBf, ParBfSettings, SharedParBf, registry};

use crate::keys::BenchKey;

/// Keys of a filter.
const KEYS: u64 = 1_000;

/// The filters that the array is measured with: one group, and three.
const FILTERS: [u64; 2] = [64, 160];

/// Sub-filters of `par-bf`.
const SUB_FILTERS: u64 = 32;

/// A step and its time per key, in ns.
#[derive(Debug, PartialEq)]
pub struct Line {
    pub name: String,
    pub median: f64,
}

type Step<'a> = (String, Box<dyn Fn(&[u64]) -> usize + 'a>);

/// Asks with half of the keys in each of two threads.
fn in_two_threads(keys: &[u64], work: impl Fn(&[u64]) -> usize + Sync) -> usize {
    let barrier = Barrier::new(2);
    let half = |keys| {
        barrier.wait();
        work(keys)
    };
    let (left, right) = keys.split_at(keys.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| half(right));
        half(left) + other.join().expect("the loop does not panic")
    })
}

fn hits(answers: &[bool]) -> usize {
    answers.iter().filter(|answer| **answer).count()
}

/// Rounds of all steps with `queries` absent keys. An error when two ways to ask the same filters disagree.
pub fn run(queries: usize, rounds: usize) -> Result<Vec<Line>, String> {
    let told = |error: bouquet::Error| error.to_string();
    let (bits, hashes) = (16 * KEYS, 11);
    let mut arrays = Vec::new();
    let mut rows = Vec::new();
    for filters in FILTERS {
        let mut array = Dba::with_size(bits, hashes, KEYS).map_err(told)?;
        let mut row = Vec::new();
        for filter in 0..filters {
            let keys: Vec<u64> = (filter * KEYS..(filter + 1) * KEYS).map(u64::nth).collect();
            // Left to itself, a plain filter of this size takes its positions from shorter words than the array does.
            let alike = Config::new(registry::find("standard").map_err(told)?.facts());
            let alike = alike.set("bits", &bits.to_string()).and_then(|alike| alike.set("hashes", &hashes.to_string()));
            let alike = alike.and_then(|alike| alike.set("reduction", "fastrange")).map_err(told)?;
            let mut one = Bloom::from_config(&alike).map_err(told)?;
            one.insert_batch(&keys);
            row.push(one);
            for key in &keys {
                array.insert(key, filter).map_err(told)?;
            }
        }
        arrays.push(array);
        rows.push(row);
    }
    let settings = ParBfSettings { items: Some(KEYS * 10), workers: Some(2), ..ParBfSettings::default() };
    let mut plain = ParBf::with(settings).map_err(told)?;
    for number in 0..SUB_FILTERS * KEYS * 10 {
        plain.insert(&u64::nth(number)).map_err(told)?;
    }
    let shared = SharedParBf::try_from(plain.clone()).map_err(told)?;

    let mut steps: Vec<Step<'_>> = Vec::new();
    for ((filters, array), row) in FILTERS.iter().zip(&arrays).zip(&rows) {
        let sliced = |keys: &[u64]| keys.iter().filter(|key| array.contains(*key)).count();
        steps.push((format!("dba, {filters} filters"), Box::new(sliced)));
        let one_by_one =
            |keys: &[u64]| keys.iter().filter(|key| row.iter().any(|filter| filter.contains(*key))).count();
        steps.push((format!("{filters} filters in rows"), Box::new(one_by_one)));
    }
    let alone = |keys: &[u64]| keys.iter().filter(|key| shared.contains(*key)).count();
    steps.push(("par-bf, one thread".into(), Box::new(alone)));
    steps.push(("par-bf, two threads by keys".into(), Box::new(move |keys| in_two_threads(keys, alone))));
    let by_lists = |keys: &[u64]| {
        let mut answers = vec![false; keys.len()];
        shared.search(keys, &mut answers);
        hits(&answers)
    };
    steps.push(("par-bf, two threads by lists".into(), Box::new(by_lists)));
    let batch = |keys: &[u64]| {
        let mut answers = vec![false; keys.len()];
        plain.contains_batch(keys, &mut answers);
        hits(&answers)
    };
    steps.push(("par-bf, a batch of the plain filter".into(), Box::new(batch)));

    let absent: Vec<u64> = (1 << 40..(1 << 40) + queries as u64).map(u64::nth).collect();
    let mut times = vec![Vec::new(); steps.len()];
    let mut found = vec![0; steps.len()];
    for _ in 0..rounds {
        for (((_, step), times), found) in steps.iter().zip(&mut times).zip(&mut found) {
            let start = Instant::now();
            *found = black_box(step(black_box(&absent)));
            times.push(start.elapsed().as_secs_f64() * 1e9 / queries as f64);
        }
    }
    // The array and its rows have the same positions, and all forms of the other filter are one.
    for same in [&found[0..2], &found[2..4], &found[4..8]] {
        if same.iter().any(|found| *found != same[0]) {
            return Err(format!("the same filters answer otherwise: {found:?}"));
        }
    }
    let line = |((name, _), mut times): (Step<'_>, Vec<f64>)| {
        times.sort_by(f64::total_cmp);
        Line { name, median: times[times.len() / 2] }
    };
    Ok(steps.into_iter().zip(times).map(line).collect())
}

/// A line per step, and the ratios that matter.
pub fn table(lines: &[Line]) -> String {
    let time = |name: &str| lines.iter().find(|line| line.name == name).map_or(f64::NAN, |line| line.median);
    let mut text = String::new();
    for line in lines {
        text.push_str(&format!("{:<38} {:>8.1} ns per key\n", line.name, line.median));
    }
    let ratios = [
        ("rate of 160 filters in terms of 64", time("dba, 64 filters") / time("dba, 160 filters")),
        ("slices beside rows, 64 filters", time("64 filters in rows") / time("dba, 64 filters")),
        ("slices beside rows, 160 filters", time("160 filters in rows") / time("dba, 160 filters")),
        ("two threads by keys beside one", time("par-bf, one thread") / time("par-bf, two threads by keys")),
        ("two threads by lists beside one", time("par-bf, one thread") / time("par-bf, two threads by lists")),
    ];
    for (name, ratio) in ratios {
        text.push_str(&format!("{name:<38} {ratio:>8.2} times as fast\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_measured_and_all_answers_agree() {
        let lines = run(2_000, 2).unwrap();
        assert_eq!(lines.len(), 2 * FILTERS.len() + 4);
        assert!(!table(&lines).contains("NaN"));
    }
}
