//! The packed counters alone, beside vectors of whole bytes and words.
//!
//! Reading and adding to counters at random places, at every width that kinds use. The floor is a `Vec` of the narrowest
//! integers that hold the width: what packing costs is the ratio to it, and what it saves is in the bits.

use std::hint::black_box;
use std::time::Instant;

use bouquet::store::Counters;

use crate::keys::BenchKey;
use crate::record::{self, Row};

/// The widths of counters, in bits.
const WIDTHS: [u32; 8] = [1, 2, 3, 4, 5, 8, 16, 32];

/// Counters that can be read and added to one by one.
trait Store {
    fn read(&self, at: usize) -> u64;
    fn add(&mut self, at: usize);
}

impl Store for Counters {
    #[inline]
    fn read(&self, at: usize) -> u64 {
        self.get(at as u64)
    }

    #[inline]
    fn add(&mut self, at: usize) {
        // `update` keeps what does not fit at the largest value.
        self.update(at as u64, |count| count + 1);
    }
}

/// A vector whose counters stay at the largest value of so many bits.
struct Plain<T>(Vec<T>, u32);

macro_rules! plain {
    ($($integer:ty),*) => {$(
        impl Store for Plain<$integer> {
            #[inline]
            fn read(&self, at: usize) -> u64 {
                self.0[at].into()
            }

            #[inline]
            fn add(&mut self, at: usize) {
                let max = <$integer>::MAX >> (<$integer>::BITS - self.1);
                self.0[at] += <$integer>::from(self.0[at] < max);
            }
        }
    )*};
}

plain!(u8, u16, u32);

#[inline(never)]
fn add_all(store: &mut impl Store, places: &[usize]) {
    places.iter().for_each(|&at| store.add(at));
}

#[inline(never)]
fn sum_all(store: &impl Store, places: &[usize]) -> u64 {
    places.iter().map(|&at| store.read(at)).sum()
}

/// Nanoseconds per addition and per reading, and the sum of what was read.
fn measure(store: &mut impl Store, places: &[usize]) -> ([f64; 2], u64) {
    let each = |start: Instant| start.elapsed().as_nanos() as f64 / places.len() as f64;
    let start = Instant::now();
    add_all(black_box(store), black_box(places));
    let add = each(start);
    let start = Instant::now();
    let sum = black_box(sum_all(black_box(store), black_box(places)));
    ([add, each(start)], sum)
}

/// Rounds of both stores of each width, with `len` counters and as many operations. An error when they disagree.
pub fn run(len: usize, rounds: usize) -> Result<Vec<Row>, String> {
    let places: Vec<usize> = (0..len as u64).map(|number| (u64::nth(number) % len as u64) as usize).collect();
    let mut rows = Vec::new();
    for width in WIDTHS {
        let (mut packed, mut plain) = ([vec![], vec![]], [vec![], vec![]]);
        for _ in 0..rounds {
            let mut counters = Counters::zeroed(len as u64, width).map_err(|error| error.to_string())?;
            let (times, sum) = measure(&mut counters, &places);
            packed.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
            let (times, expected) = match width {
                ..=8 => measure(&mut Plain(vec![0u8; len], width), &places),
                9..=16 => measure(&mut Plain(vec![0u16; len], width), &places),
                _ => measure(&mut Plain(vec![0u32; len], width), &places),
            };
            plain.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
            if sum != expected {
                return Err(format!("counters of {width} bits sum to {sum}, a vector to {expected}"));
            }
        }
        for (metric, at) in [("add", 0), ("read", 1)] {
            let mut ratios: Vec<f64> = packed[at].iter().zip(&plain[at]).map(|(mine, floor)| mine / floor).collect();
            let ratio = crate::run::median(&mut ratios);
            for (name, times, floor_ratio) in [("counters", &mut packed[at], ratio), ("vec", &mut plain[at], Some(1.0))]
            {
                let Some(median) = crate::run::median(times) else { continue };
                rows.push(Row {
                    keys: "counters".into(),
                    n: len as u64,
                    fpr: 0.0,
                    contender: format!("{name} {width}"),
                    metric: metric.into(),
                    unit: "ns/op".into(),
                    median,
                    min: times[0],
                    max: times[times.len() - 1],
                    floor_ratio,
                });
            }
        }
    }
    Ok(rows)
}

/// A line per width: times of both stores in ns and their ratios.
pub fn table(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut text = format!("{} counters   add    vec      x   read    vec      x\n", record::magnitude(first.n));
    for width in WIDTHS {
        text.push_str(&format!("{width:>9} bits"));
        for metric in ["add", "read"] {
            let of = |name: &str| {
                let contender = format!("{name} {width}");
                rows.iter().find(|row| row.contender == contender && row.metric == metric)
            };
            if let (Some(mine), Some(floor)) = (of("counters"), of("vec")) {
                let ratio = mine.floor_ratio.unwrap_or(f64::NAN);
                text.push_str(&format!("  {:>5.2}  {:>5.2}  {ratio:>5.2}", mine.median, floor.median));
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_is_measured_and_agrees_with_a_vector() {
        let rows = run(2_000, 2).unwrap();
        assert_eq!(rows.len(), WIDTHS.len() * 4);
        assert_eq!(table(&rows).lines().count(), WIDTHS.len() + 1);
        let text = record::to_csv("cpu: none", &rows);
        assert_eq!(record::from_csv(&text).unwrap(), rows);
    }
}
