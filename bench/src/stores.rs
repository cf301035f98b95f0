//! The packed stores alone, beside vectors of whole bytes and words.
//!
//! Adding one to counters and reading them, at random places and at every width that kinds use; putting fingerprints into
//! random buckets and finding them. The floor is a `Vec` of the narrowest integers that hold the values: what packing costs is
//! the ratio to it, and what it saves is in the bits.

use std::hint::black_box;
use std::time::Instant;

use bouquet::internals::{Buckets, Form, LfsrCounters, Register, Shape, TernaryCells, UnaryCounters};
use bouquet::store::Counters;

use crate::keys::BenchKey;
use crate::record::{self, Row};

/// The widths of counters, in bits.
const COUNTERS: [u32; 8] = [1, 2, 3, 4, 5, 8, 16, 32];

/// The widths of shift registers.
const REGISTERS: [u32; 3] = [4, 8, 16];

/// Counters in a block of unary layers.
const BLOCKS: [u64; 2] = [64, 512];

/// The widths of fingerprints, at most [`KEY_BITS`].
const FINGERPRINTS: [u32; 3] = [8, 12, 16];

/// A place of a table of buckets is the number of a bucket and, in this many low bits, a fingerprint.
const KEY_BITS: u32 = 16;

/// The slots of a bucket.
const SLOTS: usize = 4;

fn bucket_and_key(place: usize) -> (usize, usize) {
    (place >> KEY_BITS, place & ((1 << KEY_BITS) - 1))
}

/// Something that can be read and added to at places.
trait Store {
    fn read(&self, at: usize) -> u64;
    fn add(&mut self, at: usize);
}

macro_rules! counting {
    ($($store:ty: $counters:ident, $at:ident => $add:expr;)*) => {$(
        impl Store for $store {
            #[inline]
            fn read(&self, at: usize) -> u64 {
                self.get(at as u64)
            }

            #[inline]
            fn add(&mut self, at: usize) {
                let ($counters, $at) = (self, at as u64);
                $add;
            }
        }
    )*};
}

// What does not fit stays at the largest value, where there is one.
counting! {
    Counters: counters, at => counters.update(at, |count| count + 1);
    TernaryCells: cells, at => cells.update(at, |value| value + 1);
    LfsrCounters: registers, at => registers.add(at, 1);
    UnaryCounters: counters, at => counters.add(at, 1);
}

/// Adding puts a fingerprint into its bucket unless that is full, reading finds it.
impl Store for Buckets {
    #[inline]
    fn read(&self, at: usize) -> u64 {
        let (bucket, key) = bucket_and_key(at);
        self.find(bucket as u64, key as u64).unwrap_or(0)
    }

    #[inline]
    fn add(&mut self, at: usize) {
        let (bucket, key) = bucket_and_key(at);
        self.replace(bucket as u64, 0, key as u64);
    }
}

/// A vector whose counters stay at a largest value.
struct Plain<T>(Vec<T>, T);

/// A vector of buckets.
struct PlainBuckets<T>(Vec<[T; SLOTS]>);

macro_rules! plain {
    ($($integer:ty),*) => {$(
        impl Store for Plain<$integer> {
            #[inline]
            fn read(&self, at: usize) -> u64 {
                self.0[at].into()
            }

            #[inline]
            fn add(&mut self, at: usize) {
                self.0[at] += <$integer>::from(self.0[at] < self.1);
            }
        }

        impl Store for PlainBuckets<$integer> {
            #[inline]
            fn read(&self, at: usize) -> u64 {
                let (bucket, key) = bucket_and_key(at);
                if self.0[bucket].contains(&(key as $integer)) { key as u64 } else { 0 }
            }

            #[inline]
            fn add(&mut self, at: usize) {
                let (bucket, key) = bucket_and_key(at);
                if let Some(slot) = self.0[bucket].iter_mut().find(|slot| **slot == 0) {
                    *slot = key as $integer;
                }
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

/// Pairs of a store and a vector, with what was measured of them.
struct Race {
    len: usize,
    rounds: usize,
    rows: Vec<Row>,
}

impl Race {
    /// Rounds of a kind of store and a vector with the same places. An error when they disagree.
    fn run<S: Store>(
        &mut self,
        [kind, form]: [&str; 2],
        places: &[usize],
        store: impl Fn() -> bouquet::Result<S>,
        floor: impl Fn() -> Box<dyn Floor>,
    ) -> Result<(), String> {
        let (mut packed, mut plain) = ([vec![], vec![]], [vec![], vec![]]);
        for _ in 0..self.rounds {
            let mut own = store().map_err(|error| error.to_string())?;
            let (times, sum) = measure(&mut own, places);
            packed.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
            let (times, expected) = floor().measure(places);
            plain.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
            if sum != expected {
                return Err(format!("{kind} {form}: the sum is {sum}, that of a vector {expected}"));
            }
        }
        for (metric, at) in [("add", 0), ("read", 1)] {
            let mut ratios: Vec<f64> = packed[at].iter().zip(&plain[at]).map(|(mine, floor)| mine / floor).collect();
            let ratio = crate::run::median(&mut ratios);
            for (name, times, floor_ratio) in [(kind, &mut packed[at], ratio), ("vec", &mut plain[at], Some(1.0))] {
                let Some(median) = crate::run::median(times) else { continue };
                self.rows.push(Row {
                    keys: kind.into(),
                    n: self.len as u64,
                    fpr: 0.0,
                    contender: format!("{name} {form}"),
                    metric: metric.into(),
                    unit: "ns/op".into(),
                    median,
                    min: times[0],
                    max: times[times.len() - 1],
                    floor_ratio,
                });
            }
        }
        Ok(())
    }
}

/// A vector of any integers, measured as itself.
trait Floor {
    fn measure(&mut self, places: &[usize]) -> ([f64; 2], u64);
}

impl<T: Store> Floor for T {
    fn measure(&mut self, places: &[usize]) -> ([f64; 2], u64) {
        measure(self, places)
    }
}

/// Zeros that are counted up to `max`.
fn plain(len: usize, max: u64) -> Box<dyn Floor> {
    match max {
        ..=0xff => Box::new(Plain(vec![0u8; len], max as u8)),
        0x100..=0xffff => Box::new(Plain(vec![0u16; len], max as u16)),
        _ => Box::new(Plain(vec![0u32; len], max as u32)),
    }
}

/// Rounds of every store, with `len` counters or slots and as many operations. An error when one disagrees with a vector.
pub fn run(len: usize, rounds: usize) -> Result<Vec<Row>, String> {
    let n = len as u64;
    let places: Vec<usize> = (0..n).map(|number| (u64::nth(number) % n) as usize).collect();
    let mut race = Race { len, rounds, rows: vec![] };
    for width in COUNTERS {
        let form = &width.to_string();
        let max = u64::MAX >> (64 - width);
        race.run(["counters", form], &places, || Counters::zeroed(n, width), || plain(len, max))?;
    }
    for block in BLOCKS {
        let form = &format!("block {block}");
        // The counters have no largest value; random places come nowhere near 255.
        race.run(["unary", form], &places, || UnaryCounters::zeroed(n, block, n), || plain(len, 255))?;
    }
    for (form, packed) in [("2 bits", false), ("1.6 bits", true)] {
        let levels = Form { levels: 3, packed };
        race.run(["ternary", form], &places, || TernaryCells::zeroed(levels, n), || plain(len, 2))?;
    }
    for width in REGISTERS {
        let register = Register::new(width).ok_or_else(|| format!("there is no register of {width} bits"))?;
        let store = || Ok(LfsrCounters { register, states: Counters::zeroed(n, width)? });
        // One state is left out.
        let max = (1 << width) - 2;
        race.run(["lfsr", &width.to_string()], &places, store, || plain(len, max))?;
    }
    let buckets = n.div_ceil(SLOTS as u64);
    for width in FINGERPRINTS {
        let place = |number: u64| {
            let hash = u64::nth(number);
            // The fingerprint 0 would be an empty slot.
            let key = (hash >> (64 - width)).max(1);
            ((hash % buckets) << KEY_BITS | key) as usize
        };
        let places: Vec<usize> = (0..n).map(place).collect();
        let store = || Buckets::zeroed(buckets, Shape::new(SLOTS as u32, width, width, false)?);
        race.run(["buckets", &width.to_string()], &places, store, || match width {
            ..=8 => Box::new(PlainBuckets(vec![[0u8; SLOTS]; buckets as usize])),
            _ => Box::new(PlainBuckets(vec![[0u16; SLOTS]; buckets as usize])),
        })?;
    }
    Ok(race.rows)
}

/// A line per store: its times and those of a vector, in ns, and their ratios.
pub fn table(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let title = format!("{} places", record::magnitude(first.n));
    let mut text = format!("{title:<18}    add    vec      x   read    vec      x\n");
    // The rows of a store are those of an addition and a reading, its own and the vector's.
    for own in rows.chunks_exact(4) {
        text.push_str(&format!("{:<18}", own[0].contender));
        for pair in own.chunks_exact(2) {
            let ratio = pair[0].floor_ratio.unwrap_or(f64::NAN);
            text.push_str(&format!("  {:>5.2}  {:>5.2}  {ratio:>5.2}", pair[0].median, pair[1].median));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_store_is_measured_and_agrees_with_a_vector() {
        let rows = run(2_000, 2).unwrap();
        let stores = COUNTERS.len() + BLOCKS.len() + 2 + REGISTERS.len() + FINGERPRINTS.len();
        assert_eq!(rows.len(), stores * 4);
        assert_eq!(table(&rows).lines().count(), stores + 1);
        let text = record::to_csv("cpu: none", &rows);
        assert_eq!(record::from_csv(&text).unwrap(), rows);
    }

    #[test]
    fn a_store_that_disagrees_with_its_vector_is_an_error() {
        let mut race = Race { len: 1, rounds: 1, rows: vec![] };
        let error = race.run(["counters", "1"], &[0, 0], || Counters::zeroed(1, 1), || plain(1, 2)).unwrap_err();
        assert!(error.contains("counters 1: the sum is 2, that of a vector 4"), "{error}");
        assert!(race.rows.is_empty());
    }
}
