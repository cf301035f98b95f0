//! How long operations take: from a recorded benchmark, scaled to this machine.
//!
//! The record has nanoseconds per insertion, query and removal of every kind, at several numbers of keys and two rates, beside those of a
//! *floor*: one hash and one cache line of a table with ten bits per key. `cargo run --release -p bouquet-advice --example record`
//! writes it. Calibrating measures the floor here, for at most half a second; a recorded time counts as many times as this machine's
//! floor is longer. A kind that is not in the record gets what a small filter of it took on this machine, and the floor's difference
//! between the two sizes.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

use bouquet::hash::{Hashing, mix};

const RECORD: &str = include_str!("record.csv");

/// The word for the floor in the record.
#[doc(hidden)]
pub const FLOOR: &str = "(floor)";

/// A row of the record.
#[derive(Clone, Copy, Debug)]
struct Row {
    kind: &'static str,
    items: f64,
    fpr: f64,
    /// Insertion, query and removal.
    times: [Option<f64>; 3],
}

/// Where a time is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The recorded benchmark, scaled to this machine.
    Record,
    /// A small filter on this machine.
    Trial,
}

impl Source {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Source::Record => "recorded",
            Source::Trial => "measured",
        }
    }
}

/// Nanoseconds per operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// An insertion, or a key's share of building.
    pub insert: f64,
    /// A query, half of them of present keys.
    pub query: f64,
    /// A removal.
    pub remove: Option<f64>,
    /// Where they are from.
    pub source: Source,
}

impl Times {
    /// The mean where this share of the operations are queries; the others insert, and remove what was inserted where that is needed.
    #[must_use]
    pub fn mean(&self, reads: f64, removes: bool) -> f64 {
        let write = match self.remove.filter(|_| removes) {
            Some(remove) => (self.insert + remove) / 2.0,
            None => self.insert,
        };
        reads * self.query + (1.0 - reads) * write
    }
}

/// The record, and how this machine compares with the one that it is from.
#[derive(Clone, Debug)]
pub struct Speed {
    /// Keys of a table, and how many times longer its floor takes here.
    scale: Vec<(f64, f64)>,
}

impl Speed {
    /// The times as they were recorded.
    #[must_use]
    pub fn recorded() -> Self {
        Speed { scale: vec![(1.0, 1.0)] }
    }

    /// The times of this machine, calibrated once in at most half a second.
    #[must_use]
    pub fn here() -> &'static Self {
        static HERE: OnceLock<Speed> = OnceLock::new();
        HERE.get_or_init(|| {
            let scale = rows().filter(|row| row.kind == FLOOR && row.items <= 1e7).filter_map(|row| {
                let recorded = row.times[1]?;
                Some((row.items, (floor(row.items as u64, 60) / recorded).clamp(0.05, 50.0)))
            });
            let scale: Vec<_> = scale.collect();
            if scale.is_empty() { Speed::recorded() } else { Speed { scale } }
        })
    }

    /// How many times longer than recorded operations on a filter of this many keys take here.
    fn factor(&self, items: f64) -> f64 {
        between(&self.scale, items)
    }

    /// The times of a kind; `None` when it is not in the record.
    #[must_use]
    pub fn of(&self, kind: &str, items: u64, fpr: f64) -> Option<Times> {
        let items = items as f64;
        let at = |verb: usize| {
            let mut rates: Vec<f64> = rows().filter(|row| row.kind == kind).map(|row| row.fpr).collect();
            rates.sort_by(f64::total_cmp);
            rates.dedup();
            // A filter has about as many hash functions as its rate has halvings.
            let by_rate = rates.iter().filter_map(|rate| {
                let sizes: Vec<_> = rows()
                    .filter(|row| row.kind == kind && row.fpr == *rate)
                    .filter_map(|row| Some((row.items, row.times[verb]?)))
                    .collect();
                let (last, _) = *sizes.last()?;
                // Beyond the record a time grows as the floor does.
                let time = between(&sizes, items) * if items > last { (growth(last, items)).max(1.0) } else { 1.0 };
                Some((-rate.log2(), time))
            });
            let by_rate: Vec<_> = by_rate.collect();
            if by_rate.is_empty() { None } else { Some(linear(&by_rate, -fpr.log2()) * self.factor(items)) }
        };
        Some(Times { insert: at(0)?, query: at(1)?, remove: at(2), source: Source::Record })
    }

    /// The times of a small filter, as they would be for more keys.
    #[must_use]
    pub fn from_trial(&self, insert: f64, query: f64, remove: Option<f64>, small: u64, items: u64) -> Times {
        let far = (self.floor(items as f64) - self.floor(small as f64)).max(0.0);
        Times { insert: insert + far, query: query + far, remove: remove.map(|time| time + far), source: Source::Trial }
    }

    fn floor(&self, items: f64) -> f64 {
        between(&floors(), items) * self.factor(items)
    }
}

fn floors() -> Vec<(f64, f64)> {
    rows().filter(|row| row.kind == FLOOR).filter_map(|row| Some((row.items, row.times[1]?))).collect()
}

fn growth(from: f64, to: f64) -> f64 {
    let floors = floors();
    between(&floors, to) / between(&floors, from).max(f64::MIN_POSITIVE)
}

/// The value between points, on a line over the logarithm; the nearest one's outside of them.
fn between(points: &[(f64, f64)], x: f64) -> f64 {
    let Some(&(first, low)) = points.first() else { return 1.0 };
    if x <= first {
        return low;
    }
    for pair in points.windows(2) {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        if x <= x1 {
            return y0 + (y1 - y0) * (x / x0).ln() / (x1 / x0).ln();
        }
    }
    points[points.len() - 1].1
}

/// The value on the line through the first and last points, at most halved and at most three times what either has.
fn linear(points: &[(f64, f64)], x: f64) -> f64 {
    let ((x0, y0), (x1, y1)) = (points[0], points[points.len() - 1]);
    if x1 == x0 {
        return y0;
    }
    let y = y0 + (y1 - y0) * (x - x0) / (x1 - x0);
    y.clamp(0.5 * y0.min(y1), 3.0 * y0.max(y1))
}

fn rows() -> impl Iterator<Item = Row> {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| RECORD.lines().filter(|line| !line.starts_with('#')).skip(1).filter_map(row).collect())
        .iter()
        .copied()
}

fn row(line: &'static str) -> Option<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    let &[kind, items, fpr, insert, query, remove] = fields.as_slice() else { return None };
    let times = [insert, query, remove].map(|text| text.parse().ok());
    Some(Row { kind, items: items.parse().ok()?, fpr: fpr.parse().ok()?, times })
}

/// Nanoseconds of one hash and one cache line in a table for this many keys, in at most this many milliseconds.
#[doc(hidden)]
#[must_use]
pub fn floor(items: u64, milliseconds: u64) -> f64 {
    const BATCH: u64 = 1 << 14;
    let words = (items * 10).div_ceil(64).next_power_of_two();
    let table = vec![0x5555_5555_5555_5555_u64; words as usize];
    let hashing = Hashing::default();
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    let mut next = 0u64;
    loop {
        let keys: Vec<[u8; 8]> = (next..next + BATCH).map(|number| mix(number).to_le_bytes()).collect();
        next += BATCH;
        let start = Instant::now();
        let mut sum = 0;
        for key in &keys {
            let digest = hashing.digest(key);
            sum += table[(digest.h1 & (words - 1)) as usize] >> (digest.h2 & 63) & 1;
        }
        black_box(sum);
        best = best.min(start.elapsed().as_nanos() as f64 / BATCH as f64);
        if begin.elapsed().as_millis() as u64 >= milliseconds {
            return best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_has_the_floor_and_kinds_at_several_sizes() {
        assert!(floors().len() >= 3, "{:?}", floors());
        let times = Speed::recorded().of("standard", 100_000, 0.01).unwrap();
        assert!(times.query > 0.5 && times.query < 1_000.0, "{times:?}");
        assert!(Speed::recorded().of("no such kind", 100_000, 0.01).is_none());
    }

    #[test]
    fn a_slower_machine_has_longer_times() {
        let slow = Speed { scale: vec![(1.0, 3.0)] };
        let (here, there) = (slow.of("standard", 10_000, 0.001), Speed::recorded().of("standard", 10_000, 0.001));
        assert!((here.unwrap().query / there.unwrap().query - 3.0).abs() < 1e-9);
    }

    #[test]
    fn values_between_points_lie_on_a_line_over_the_logarithm() {
        let points = [(10.0, 1.0), (1_000.0, 3.0)];
        assert_eq!([1.0, 10.0, 100.0, 1_000.0, 1e9].map(|x| between(&points, x)), [1.0, 1.0, 2.0, 3.0, 3.0]);
    }

    #[test]
    fn operations_are_weighed_by_their_share() {
        let times = Times { insert: 10.0, query: 2.0, remove: Some(30.0), source: Source::Record };
        assert_eq!(times.mean(1.0, true), 2.0);
        assert_eq!(times.mean(0.0, true), 20.0);
        assert_eq!(times.mean(0.5, false), 6.0);
    }
}
