//! Key-value stores on files: ours beside redb, which is a B-tree.
//!
//! Both are filled in batches, synced once at the end and asked for keys that are there and for keys that are not, in random
//! order. What a lookup reads is what the system counts for the process: calls that read, and the bytes that they asked for. Both read
//! from the system's cache, which holds all of it; redb has a cache of its own besides, with its usual size and with the size of our buffers.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bouquet::paged::{Durability, StoreOptions};
use bouquet::{BloomstoreFile, BloomstoreSettings, hash::SplitMix};
use redb::{Database, ReadableDatabase, TableDefinition};

use crate::record::Row;

/// Bytes of a key and of a value.
const KEY: usize = 100;
const VALUE: usize = 8;

/// Pairs that are written at once.
const BATCH: u64 = 10_000;

/// Lookups of one round.
const QUERIES: u64 = 100_000;

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("pairs");

/// Key number i; those from n on are absent.
fn key(i: u64) -> [u8; KEY] {
    let mut random = SplitMix::new(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut key = [0; KEY];
    key.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.next_u64().to_le_bytes()[..chunk.len()]));
    key
}

/// A store on files.
trait Store {
    fn fill(&mut self, n: u64) -> Result<(), String>;
    fn get(&self, key: &[u8]) -> Result<bool, String>;
    /// Bytes in memory that are the store's own, where it tells.
    fn memory(&self) -> Option<u64>;
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

struct Ours(BloomstoreFile);

impl Ours {
    fn create(path: &Path, n: u64) -> Result<Self, String> {
        let settings = BloomstoreSettings { items: Some(n), ..Default::default() };
        let options = StoreOptions { durability: Durability::Buffered, ..Default::default() };
        BloomstoreFile::create(path, &settings, options).map(Ours).map_err(told)
    }
}

impl Store for Ours {
    fn fill(&mut self, n: u64) -> Result<(), String> {
        for start in (0..n).step_by(BATCH as usize) {
            let keys: Vec<_> = (start..(start + BATCH).min(n)).map(|i| (key(i), i.to_le_bytes())).collect();
            let changes: Vec<_> = keys.iter().map(|(key, value)| (key.as_slice(), Some(value.as_slice()))).collect();
            self.0.write(&changes).map_err(told)?;
        }
        self.0.sync().map_err(told)
    }

    fn get(&self, key: &[u8]) -> Result<bool, String> {
        self.0.get(key).map(|value| black_box(value).is_some()).map_err(told)
    }

    fn memory(&self) -> Option<u64> {
        Some(self.0.stats().memory)
    }
}

struct Redb(Database);

impl Redb {
    fn create(path: &Path, cache: Option<usize>) -> Result<Self, String> {
        std::fs::create_dir_all(path).map_err(told)?;
        let mut builder = Database::builder();
        if let Some(cache) = cache {
            builder.set_cache_size(cache);
        }
        builder.create(path.join("redb")).map(Redb).map_err(told)
    }
}

impl Store for Redb {
    fn fill(&mut self, n: u64) -> Result<(), String> {
        for start in (0..n).step_by(BATCH as usize) {
            let mut transaction = self.0.begin_write().map_err(told)?;
            if start + BATCH < n {
                transaction.set_durability(redb::Durability::None).map_err(told)?;
            }
            {
                let mut table = transaction.open_table(TABLE).map_err(told)?;
                for i in start..(start + BATCH).min(n) {
                    table.insert(key(i).as_slice(), i.to_le_bytes().as_slice()).map_err(told)?;
                }
            }
            transaction.commit().map_err(told)?;
        }
        Ok(())
    }

    fn get(&self, key: &[u8]) -> Result<bool, String> {
        let table = self.0.begin_read().map_err(told)?.open_table(TABLE).map_err(told)?;
        let found = redb::ReadableTable::get(&table, key).map_err(told)?;
        Ok(black_box(found.map(|value| value.value().len() == VALUE)).is_some())
    }

    fn memory(&self) -> Option<u64> {
        None
    }
}

/// Calls that read, and bytes read, of this process so far; zeros where the system does not tell.
fn reads() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0);
    (field("syscr:"), field("rchar:"))
}

fn bytes_in(path: &Path) -> u64 {
    let files = std::fs::read_dir(path).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// What was measured of one contender: metric, unit, and a value per round.
type Measured = Vec<(&'static str, &'static str, Vec<f64>)>;

fn note(all: &mut Measured, metric: &'static str, unit: &'static str, value: f64) {
    match all.iter_mut().find(|(name, ..)| *name == metric) {
        Some((.., values)) => values.push(value),
        None => all.push((metric, unit, vec![value])),
    }
}

/// One measurement of many lookups.
fn ask(store: &dyn Store, all: &mut Measured, n: u64, hits: bool, random: &mut SplitMix) -> Result<(), String> {
    let keys: Vec<_> = (0..QUERIES.min(n)).map(|_| key(random.below(n) + if hits { 0 } else { n })).collect();
    let (before, start) = (reads(), Instant::now());
    let mut found = 0;
    for key in &keys {
        found += usize::from(store.get(key)?);
    }
    let (time, after) = (start.elapsed().as_nanos() as f64, reads());
    if found != if hits { keys.len() } else { 0 } {
        return Err(format!("{found} of {} keys are found", keys.len()));
    }
    let each = keys.len() as f64;
    let names = if hits { ["hit", "hit-reads", "hit-bytes"] } else { ["miss", "miss-reads", "miss-bytes"] };
    note(all, names[0], "ns", time / each);
    // The look at the counters is itself a read or two.
    note(all, names[1], "reads", after.0.saturating_sub(before.0) as f64 / each);
    note(all, names[2], "bytes", after.1.saturating_sub(before.1) as f64 / each);
    Ok(())
}

/// Measures the stores with `n` keys, in turns.
pub fn run(n: u64, rounds: usize) -> Result<Vec<Row>, String> {
    let folder = std::env::temp_dir().join(format!("bouquet-bench-kv-{}", std::process::id()));
    let measured = measure(n, rounds, &folder);
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

fn measure(n: u64, rounds: usize, folder: &Path) -> Result<Vec<Row>, String> {
    let place = |name: &str| -> PathBuf { folder.join(name) };
    let ours = Ours::create(&place("ours"), n)?;
    let memory = ours.memory().unwrap_or(0) as usize;
    let mut stores: Vec<(&str, &str, Box<dyn Store>)> = vec![
        ("bouquet bloomstore", "ours", Box::new(ours)),
        ("redb", "redb", Box::new(Redb::create(&place("redb"), None)?)),
        ("redb with our memory", "small", Box::new(Redb::create(&place("small"), Some(memory))?)),
    ];
    let mut all: Vec<Measured> = stores.iter().map(|_| Measured::new()).collect();
    for ((_, name, store), all) in stores.iter_mut().zip(&mut all) {
        let start = Instant::now();
        store.fill(n)?;
        note(all, "insert", "ns", start.elapsed().as_nanos() as f64 / n as f64);
        note(all, "size", "bytes/key", bytes_in(&place(name)) as f64 / n as f64);
        if let Some(memory) = store.memory() {
            note(all, "memory", "bytes/key", memory as f64 / n as f64);
        }
    }
    let mut random = SplitMix::new(1);
    for round in 0..rounds {
        for at in 0..stores.len() {
            let at = (at + round) % stores.len();
            for hits in [true, false] {
                ask(&*stores[at].2, &mut all[at], n, hits, &mut random)?;
            }
        }
    }
    let mut rows = Vec::new();
    for ((name, ..), all) in stores.iter().zip(all) {
        for (metric, unit, mut values) in all {
            let (min, max) =
                values.iter().fold((f64::MAX, 0.0f64), |(min, max), &value| (min.min(value), max.max(value)));
            rows.push(Row {
                keys: format!("bytes{KEY}"),
                n,
                fpr: 0.0,
                contender: (*name).into(),
                metric: metric.into(),
                unit: unit.into(),
                median: crate::run::median(&mut values).unwrap_or(0.0),
                min,
                max,
                floor_ratio: None,
            });
        }
    }
    Ok(rows)
}

/// The rows for people.
pub fn table(rows: &[Row]) -> String {
    let line = |row: &Row| format!("{:<24}{:<12}{:>12.2} {}\n", row.contender, row.metric, row.median, row.unit);
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stores_answer_alike() {
        let rows = run(3_000, 2).unwrap();
        assert_eq!(rows.iter().filter(|row| row.metric == "miss").count(), 3);
        let of = |name: &str, metric: &str| {
            rows.iter().find(|row| row.contender == name && row.metric == metric).map(|row| row.median)
        };
        assert!(of("bouquet bloomstore", "size").is_some_and(|bytes| bytes > 100.0));
        assert!(table(&rows).contains("miss-reads"));
    }
}
