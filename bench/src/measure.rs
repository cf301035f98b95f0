//! The measured loops.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::contender::Contender;
use crate::keys::{BenchKey, Workload};

/// What is measured of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    Insert,
    Hit,
    Miss,
    BatchInsert,
    BatchHit,
    BatchMiss,
    TwoMiss,
    TwoInsert,
    Remove,
    Create,
    Serialise,
    Load,
    Rate,
    Bits,
}

impl Metric {
    /// All, in the order of the columns.
    pub const ALL: [Metric; 14] = [
        Metric::Insert,
        Metric::Hit,
        Metric::Miss,
        Metric::BatchInsert,
        Metric::BatchHit,
        Metric::BatchMiss,
        Metric::TwoMiss,
        Metric::TwoInsert,
        Metric::Remove,
        Metric::Create,
        Metric::Serialise,
        Metric::Load,
        Metric::Rate,
        Metric::Bits,
    ];

    /// Its name in the records.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Insert => "insert",
            Metric::Hit => "hit",
            Metric::Miss => "miss",
            Metric::BatchInsert => "batch-insert",
            Metric::BatchHit => "batch-hit",
            Metric::BatchMiss => "batch-miss",
            Metric::TwoMiss => "two-thread-miss",
            Metric::TwoInsert => "two-thread-insert",
            Metric::Remove => "remove",
            Metric::Create => "create",
            Metric::Serialise => "serialise",
            Metric::Load => "load",
            Metric::Rate => "rate",
            Metric::Bits => "bits",
        }
    }

    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Rate => "1",
            Metric::Bits => "bit/key",
            Metric::Create | Metric::Serialise | Metric::Load => "ms",
            _ => "ns/key",
        }
    }

    /// Whether the ratio to the floor's value means something.
    pub fn has_floor(self) -> bool {
        self.unit() == "ns/key" && self != Metric::Remove
    }
}

/// One round's values, by [`Metric::ALL`]; what a contender cannot do is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample([Option<f64>; Metric::ALL.len()]);

impl Sample {
    /// The value, if there is one.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0[metric as usize]
    }

    fn put(&mut self, metric: Metric, value: f64) {
        self.0[metric as usize] = Some(value);
    }

    fn time(&mut self, metric: Metric, elapsed: Duration, operations: usize) {
        self.put(metric, elapsed.as_nanos() as f64 / operations.max(1) as f64);
    }
}

/// What is done in a round. Every contender takes a step before any takes the next, so that what is compared was measured within
/// moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Fill,
    Hit,
    Miss,
    BatchHit,
    BatchMiss,
    TwoMiss,
    Serialise,
    FillBatch,
    Remove,
    TwoInsert,
}

impl Step {
    /// All, in their order: the filter that the first leaves serves the others, up to those that make their own.
    pub const ALL: [Step; 10] = [
        Step::Fill,
        Step::Hit,
        Step::Miss,
        Step::BatchHit,
        Step::BatchMiss,
        Step::TwoMiss,
        Step::Serialise,
        Step::FillBatch,
        Step::Remove,
        Step::TwoInsert,
    ];
}

/// A contender in the list.
pub struct Entry<K> {
    /// As in the tables.
    pub name: String,
    /// What it does.
    pub racer: Box<dyn Racer<K>>,
}

impl<K: BenchKey> Entry<K> {
    /// The entry of a type.
    pub fn of<C: Contender<K> + 'static>() -> Self {
        Entry { name: C::name(), racer: Box::new(Runner::<C> { filter: None, false_positives: 0 }) }
    }
}

/// A contender during the run.
pub trait Racer<K> {
    /// Takes a step of a round and notes what was measured: nothing when the contender has no such form, or no filter for such a rate.
    /// An error when it gives a wrong answer.
    fn step(&mut self, step: Step, work: &Workload<K>, fills: usize, sample: &mut Sample) -> Result<(), String>;
}

/// A contender, and what its steps leave to those after them.
struct Runner<C> {
    filter: Option<C>,
    false_positives: usize,
}

/// Keys that a batch call takes, and answers that it gives, at once.
const CHUNK: usize = 1024;

#[inline(never)]
fn count<K: BenchKey, C: Contender<K>>(filter: &C, keys: &[K]) -> usize {
    filter.count(keys)
}

#[inline(never)]
fn count_batch<K: BenchKey, C: Contender<K>>(filter: &C, keys: &[K]) -> usize {
    let mut answers = [false; CHUNK];
    let mut positive = 0;
    for keys in keys.chunks(CHUNK) {
        let answers = &mut answers[..keys.len()];
        filter.contains_batch(keys, answers);
        positive += answers.iter().map(|answer| usize::from(*answer)).sum::<usize>();
    }
    positive
}

#[inline(never)]
fn fill<K: BenchKey, C: Contender<K>>(filter: &mut C, keys: &[K]) {
    filter.fill(keys);
}

#[inline(never)]
fn fill_batch<K: BenchKey, C: Contender<K>>(filter: &mut C, keys: &[K]) {
    keys.chunks(CHUNK).for_each(|keys| filter.insert_batch(keys));
}

#[inline(never)]
fn empty<K: BenchKey, C: Contender<K>>(filter: &mut C, keys: &[K]) {
    keys.iter().for_each(|key| filter.remove(key));
}

#[inline(never)]
fn fill_shared<K: BenchKey, C: Contender<K>>(filter: &C, keys: &[K]) -> usize {
    keys.iter().for_each(|key| filter.insert_shared(key));
    keys.len()
}

fn timed<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    let start = Instant::now();
    let result = black_box(work());
    (start.elapsed(), result)
}

/// Two threads with half of the keys each, from the moment that both are there to the moment that both are done.
fn in_two_threads<K: BenchKey, C: Contender<K>>(
    filter: &C,
    keys: &[K],
    work: fn(&C, &[K]) -> usize,
) -> (Duration, usize) {
    let barrier = Barrier::new(2);
    let half = |keys| {
        barrier.wait();
        let start = Instant::now();
        let result = black_box(work(black_box(filter), keys));
        (start, Instant::now(), result)
    };
    let (left, right) = keys.split_at(keys.len() / 2);
    let (one, two) = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(right));
        let one = half(left);
        (one, other.join().expect("the loop does not panic"))
    });
    (one.1.max(two.1) - one.0.min(two.0), one.2 + two.2)
}

/// A measurement for a part of the keys, and then that for all: while the others had their turn, the filter left the caches.
fn warmed<K>(keys: &[K], measure: impl Fn(&[K]) -> (Duration, usize)) -> (Duration, usize) {
    measure(&keys[..keys.len() / 4]);
    measure(keys)
}

/// Looks up keys by one thread.
fn looked_up<K: BenchKey, C: Contender<K>>(filter: &C, keys: &[K], work: fn(&C, &[K]) -> usize) -> (Duration, usize) {
    warmed(keys, |keys| timed(|| work(black_box(filter), black_box(keys))))
}

/// A fresh filter, `fills` times.
struct Filled<C> {
    /// The last of them.
    filter: C,
    creation: Duration,
    /// The insertions alone. They may touch the memory of the filter for the first time: so do the floor's.
    filling: Duration,
}

/// A filter of all keys.
fn untimed<K: BenchKey, C: Contender<K>>(work: &Workload<K>, fill: fn(&mut C, &[K])) -> Option<C> {
    let mut filter = C::new(work.inserted.len() as u64, work.fpr)?;
    fill(&mut filter, &work.inserted);
    Some(filter)
}

/// Fills filters, and one before them that is not measured: its memory may be new to the system itself. The host of a virtual machine
/// gives memory page by page when it is touched first, which can take as long as the insertions; what the first filter leaves is
/// there for the next.
fn filled<K: BenchKey, C: Contender<K>>(work: &Workload<K>, fills: usize, fill: fn(&mut C, &[K])) -> Option<Filled<C>> {
    drop(untimed::<K, C>(work, fill)?);
    let mut last: Option<Filled<C>> = None;
    for _ in 0..fills {
        let (before, filled) = last.take().map_or_else(Default::default, |last| (last.creation, last.filling));
        let (creation, filter) = timed(|| C::new(work.inserted.len() as u64, work.fpr));
        let mut filter = filter?;
        let (filling, ()) = timed(|| fill(black_box(&mut filter), black_box(&work.inserted)));
        last = Some(Filled { filter, creation: before + creation, filling: filled + filling });
    }
    last
}

impl<C> Runner<C> {
    fn all_found<K: BenchKey>(what: &str, work: &Workload<K>, found: usize) -> Result<(), String>
    where
        C: Contender<K>,
    {
        let all = work.present.len();
        match all - found {
            0 => Ok(()),
            missed => Err(format!("{}: {missed} of {all} keys are not found {what}", C::name())),
        }
    }

    fn same_answers<K: BenchKey>(&self, what: &str, found: usize) -> Result<(), String>
    where
        C: Contender<K>,
    {
        let single = self.false_positives;
        let difference = || format!("{}: {found} false positives {what}, else {single}", C::name());
        if found == single { Ok(()) } else { Err(difference()) }
    }
}

impl<K: BenchKey, C: Contender<K>> Racer<K> for Runner<C> {
    fn step(&mut self, step: Step, work: &Workload<K>, fills: usize, sample: &mut Sample) -> Result<(), String> {
        let (n, present, absent) = (work.inserted.len(), work.present.as_slice(), work.absent.as_slice());
        if step == Step::Fill {
            self.filter = None;
            let Some(Filled { filter, creation, filling }) = filled::<K, C>(work, fills, fill) else { return Ok(()) };
            sample.time(Metric::Insert, filling, fills * n);
            sample.put(Metric::Create, creation.as_secs_f64() * 1e3 / fills as f64);
            sample.put(Metric::Bits, filter.bits() as f64 / n as f64);
            self.filter = Some(filter);
        }
        let Some(filter) = &self.filter else { return Ok(()) };
        match step {
            Step::Hit => {
                let (elapsed, found) = looked_up(filter, present, count);
                Self::all_found("by single calls", work, found)?;
                sample.time(Metric::Hit, elapsed, present.len());
            }
            Step::Miss => {
                let (elapsed, found) = looked_up(filter, absent, count);
                self.false_positives = found;
                sample.time(Metric::Miss, elapsed, absent.len());
                sample.put(Metric::Rate, found as f64 / absent.len().max(1) as f64);
            }
            Step::BatchHit if C::BATCH => {
                let (elapsed, found) = looked_up(filter, present, count_batch);
                Self::all_found("in batches", work, found)?;
                sample.time(Metric::BatchHit, elapsed, present.len());
            }
            Step::BatchMiss if C::BATCH => {
                let (elapsed, found) = looked_up(filter, absent, count_batch);
                self.same_answers("in batches", found)?;
                sample.time(Metric::BatchMiss, elapsed, absent.len());
            }
            Step::TwoMiss => {
                let (elapsed, found) = warmed(absent, |keys| in_two_threads(filter, keys, count));
                self.same_answers("in two threads", found)?;
                sample.time(Metric::TwoMiss, elapsed, absent.len());
            }
            Step::Serialise => {
                let (elapsed, bytes) = timed(|| filter.to_bytes());
                let Some(bytes) = bytes else { return Ok(()) };
                sample.put(Metric::Serialise, elapsed.as_secs_f64() * 1e3);
                let (elapsed, loaded) = timed(|| C::from_bytes(black_box(&bytes)));
                let loaded = loaded.ok_or_else(|| format!("{}: its own bytes are refused", C::name()))?;
                sample.put(Metric::Load, elapsed.as_secs_f64() * 1e3);
                Self::all_found("after loading", work, count(&loaded, present))?;
            }
            Step::FillBatch if C::BATCH_INSERT => {
                let Some(Filled { filter, filling, .. }) = filled::<K, C>(work, fills, fill_batch) else {
                    return Ok(());
                };
                sample.time(Metric::BatchInsert, filling, fills * n);
                Self::all_found("after insertion in batches", work, count(&filter, present))?;
            }
            Step::Remove if C::REMOVE => {
                let Some(mut filter) = untimed::<K, C>(work, fill) else { return Ok(()) };
                let (elapsed, ()) = timed(|| empty(black_box(&mut filter), black_box(&work.inserted)));
                sample.time(Metric::Remove, elapsed, n);
                match count(&filter, present) {
                    0 => (),
                    left => return Err(format!("{}: {left} keys are found after all were removed", C::name())),
                }
            }
            Step::TwoInsert if C::SHARED => {
                drop(untimed::<K, C>(work, fill));
                let Some(filter) = C::new(n as u64, work.fpr) else { return Ok(()) };
                let (elapsed, _) = in_two_threads(&filter, &work.inserted, fill_shared::<K, C>);
                sample.time(Metric::TwoInsert, elapsed, n);
                Self::all_found("after insertion by two threads", work, count(&filter, present))?;
            }
            _ => (),
        }
        Ok(())
    }
}
