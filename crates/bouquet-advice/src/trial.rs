//! A small filter that is made, filled, asked and changed as the workload will: what theory does not tell is measured on it.

use std::hint::black_box;
use std::time::Instant;

use bouquet::capability::{Answer, Dataset, Item, Note, NoteType, Verdict};
use bouquet::hash::{Hashing, SplitMix, mix};
use bouquet::kind::{Config, Kind, Rates, Verb};
use bouquet::{AnyFilter, Error, Result};

use crate::candidate::{self, Candidate, RATE_ROOM};
use crate::workload::Workload;

/// Keys of the larger of the two filters of a trial, unless the workload has fewer.
pub const KEYS: u64 = 2_048;

/// How many times more keys than planned a filter that grows gets.
const GROWTH: u64 = 4;

/// What a trial has shown.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Keys of its filter.
    pub items: u64,
    /// Bits per key that the filter has beyond its plan: keys that are kept by name, for one.
    pub extra_bits: f64,
    /// Bytes of a frame that do not depend on the number of keys, and coded bytes per planned bit.
    pub sent: (f64, f64),
    /// Nanoseconds per insertion, query and removal.
    pub insert: f64,
    /// A query, half of them of present keys.
    pub query: f64,
    /// A removal, where that is needed.
    pub remove: Option<f64>,
    /// What theory expects of it.
    pub expected: Rates,
    /// The share of keys whose count was wrong.
    pub wrong_counts: Option<f64>,
}

/// A filter and what its making cost.
struct Made {
    filter: AnyFilter,
    keys: Vec<[u8; 8]>,
    insert: f64,
}

/// Lets a candidate show what it can do; the error says why it will not do.
pub fn run(candidate: &Candidate, workload: &Workload) -> std::result::Result<Trial, String> {
    let kind = candidate.kind;
    let items = workload.items.min(KEYS);
    let told = |error: Error| error.to_string();
    let made = make(kind, workload, items, 1)?;
    let config = candidate::config(kind, workload, items).map_err(told)?;
    let plan = kind.plan(&config).map_err(told)?;
    let Made { mut filter, keys, mut insert } = made;

    // Asked for present and absent keys in turn.
    let absent: Vec<_> = (0..items).map(|number| mix(number + (1 << 40)).to_le_bytes()).collect();
    let mixed: Vec<&[u8]> = keys.iter().zip(&absent).flat_map(|(a, b)| [a.as_slice(), b.as_slice()]).collect();
    let mut answers = vec![false; mixed.len()];
    let mut query = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        ask(&filter, &mixed, &mut answers).map_err(told)?;
        query = query.min(per_key(start, mixed.len()));
    }
    let missed = answers.iter().step_by(2).filter(|answer| !**answer).count() as f64;
    let wrong = answers.iter().skip(1).step_by(2).filter(|answer| **answer).count() as f64;
    let expected = filter.expected(items);
    let asked = items as f64;
    let limit = |rate: f64| rate + 5.0 * (rate / asked).sqrt() + 5.0 / asked;
    let may_miss = workload.may_miss.max(0.0);
    if let Some(rate) = expected.false_negative.filter(|rate| *rate > may_miss * RATE_ROOM) {
        return Err(format!("misses {} of the keys", crate::short(rate)));
    }
    if missed / asked > if may_miss > 0.0 { limit(may_miss) } else { 0.0 } {
        return Err(format!("missed {missed} of {items} keys in a trial"));
    }
    if wrong / asked > limit(workload.fpr * RATE_ROOM) {
        return Err(format!("had {wrong} false positives among {items} queries in a trial"));
    }

    if workload.skew.is_some() {
        refuse_if_spoilt(&filter, workload)?;
    }
    let (extra_bits, sent) = sizes(kind, workload, &filter, plan.bits, items)?;
    let wrong_counts = counts(&filter, workload, &keys).map_err(told)?;
    let mut remove = None;
    for verb in workload.verbs() {
        match verb {
            Verb::Remove => remove = Some(removed(&mut filter.clone(), &keys)?),
            Verb::Merge => filter.clone().merge(&filter).map_err(told)?,
            Verb::Intersect => filter.clone().intersect(&filter).map_err(told)?,
            Verb::Subtract => filter.clone().subtract(&filter).map_err(told)?,
            _ => {}
        }
    }
    if workload.grows {
        grown(&mut filter, workload, items)?;
    }
    // Made once more, for a time of what is warm, unless that was long.
    if !kind.is_built_once(&config) && insert < 500.0 {
        insert = insert.min(make(kind, workload, items, 1)?.insert);
    }
    Ok(Trial { items, extra_bits, sent, insert, query, remove, expected, wrong_counts })
}

/// Refuses a filter whose rate has suffered from keys that came again, which no plan knows of.
fn refuse_if_spoilt(filter: &AnyFilter, workload: &Workload) -> std::result::Result<(), String> {
    const ASKED: u64 = 1 << 14;
    let absent: Vec<_> = (0..ASKED).map(|number| mix(number + (1 << 41)).to_le_bytes()).collect();
    let absent: Vec<&[u8]> = absent.iter().map(<[u8; 8]>::as_slice).collect();
    let mut answers = vec![false; absent.len()];
    ask(filter, &absent, &mut answers).map_err(|error| error.to_string())?;
    let wrong = answers.iter().filter(|answer| **answer).count() as f64;
    let rate = workload.fpr * RATE_ROOM;
    match wrong / ASKED as f64 {
        measured if measured > rate + 3.0 * (rate / ASKED as f64).sqrt() => {
            Err(format!("had a rate of {} once keys had come again in a trial", crate::short(measured)))
        }
        _ => Ok(()),
    }
}

/// A filter of this many keys.
fn make(kind: &'static Kind, workload: &Workload, items: u64, seed: u64) -> std::result::Result<Made, String> {
    let told = |error: Error| error.to_string();
    let mut config = candidate::config(kind, workload, items).map_err(told)?;
    if !workload.hostile {
        config = config.hashed(Hashing::seeded(seed));
    }
    let keys: Vec<_> = (0..items).map(|number| mix(number).to_le_bytes()).collect();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    if let Some(exponent) = workload.skew.filter(|_| !kind.is_built_once(&config)) {
        order.extend(zipf(exponent, keys.len(), 7));
    }
    let (of, sets) = (kind.note(&config), config.count("sets").unwrap_or(1).max(1));
    let carries = workload.need.iter().any(|verb| [Verb::Get, Verb::Set, Verb::Classify].contains(verb));
    let items: Vec<_> = order.iter().map(|&at| Item::new(&keys[at], note(of, sets, at as u64, carries))).collect();
    let start = Instant::now();
    let filter = if kind.is_built_once(&config) {
        AnyFilter::build(&config, &Dataset { items: &items, absent: &[] }).map_err(told)?
    } else {
        let mut filter = AnyFilter::new(&config).map_err(told)?;
        filter.insert().and_then(|insert| insert.insert_batch(&items)).map_err(told)?;
        filter
    };
    let insert = per_key(start, items.len());
    Ok(Made { filter, keys, insert })
}

/// What a key carries.
fn note(of: NoteType, sets: u64, number: u64, carries: bool) -> Note<'static> {
    match of {
        NoteType::Integer => Note::Integer(number % 2),
        NoteType::Group => Note::Group(number % sets),
        NoteType::Bytes if carries => Note::Bytes(&[7; 8]),
        _ => Note::None,
    }
}

/// The keys that come again, three times as many as there are keys, the first most often.
#[doc(hidden)]
#[must_use]
pub fn zipf(exponent: f64, keys: usize, seed: u64) -> Vec<usize> {
    let mut sums = Vec::with_capacity(keys);
    let mut sum = 0.0;
    for rank in 1..=keys {
        sum += (rank as f64).powf(-exponent);
        sums.push(sum);
    }
    let mut random = SplitMix::new(seed);
    (0..3 * keys)
        .map(|_| {
            let at = random.unit() * sum;
            sums.partition_point(|end| *end < at).min(keys - 1)
        })
        .collect()
}

/// Bits per key beyond the plan, and the two numbers from which the size of a frame follows.
fn sizes(
    kind: &'static Kind,
    workload: &Workload,
    filter: &AnyFilter,
    planned: u64,
    items: u64,
) -> std::result::Result<(f64, (f64, f64)), String> {
    let sent = |filter: &AnyFilter| filter.to_compressed_bytes().len().min(filter.to_bytes().len()) as f64;
    let real = filter.stats().bits as f64;
    let extra = if kind.size_follows_data() { 0.0 } else { ((real - planned as f64) / items as f64).max(0.0) };
    let whole = sent(filter);
    if items == workload.items {
        return Ok((extra, (0.0, whole / planned.max(1) as f64)));
    }
    let smaller = items / 4;
    let half = make(kind, workload, smaller, 2)?;
    let half_bits = candidate::config(kind, workload, smaller)
        .and_then(|config| kind.plan(&config))
        .map_err(|error| error.to_string())?
        .bits as f64;
    let slope = (whole - sent(&half.filter)) / (planned as f64 - half_bits).max(1.0);
    Ok((extra, ((whole - slope * planned as f64).max(0.0), slope.max(0.0))))
}

/// The share of keys whose count is wrong, where counts are wanted.
fn counts(filter: &AnyFilter, workload: &Workload, keys: &[[u8; 8]]) -> Result<Option<f64>> {
    if !workload.verbs().contains(&Verb::Count) {
        return Ok(None);
    }
    let mut truth = vec![1u64; keys.len()];
    if let Some(exponent) = workload.skew {
        zipf(exponent, keys.len(), 7).into_iter().for_each(|at| truth[at] += 1);
    }
    let count = filter.count()?;
    let wrong = keys.iter().zip(&truth).filter(|(key, truth)| count.count(key.as_slice()).count != **truth).count();
    Ok(Some(wrong as f64 / keys.len().max(1) as f64))
}

/// Removes half of the keys; nanoseconds of each.
fn removed(filter: &mut AnyFilter, keys: &[[u8; 8]]) -> std::result::Result<f64, String> {
    let half = &keys[..keys.len().div_ceil(2)];
    let remove = filter.remove().map_err(|error| error.to_string())?;
    let start = Instant::now();
    for key in half {
        remove
            .remove(Item::from(key.as_slice()))
            .map_err(|error| format!("failed to remove a key in a trial: {error}"))?;
    }
    let nanoseconds = per_key(start, half.len());
    let lost = keys[half.len()..].iter().filter(|key| {
        let mut answer = [true];
        ask(filter, &[key.as_slice()], &mut answer).is_ok() && !answer[0]
    });
    match lost.count() {
        0 => Ok(nanoseconds),
        lost => Err(format!("lost {lost} other keys by removals in a trial")),
    }
}

/// Inserts several times the planned keys and looks at the rate.
fn grown(filter: &mut AnyFilter, workload: &Workload, items: u64) -> std::result::Result<(), String> {
    let more: Vec<_> = (items..GROWTH * items).map(|number| mix(number).to_le_bytes()).collect();
    let items: Vec<_> = more.iter().map(|key| Item::from(key.as_slice())).collect();
    filter.insert().and_then(|insert| insert.insert_batch(&items)).map_err(|error| error.to_string())?;
    match filter.stats().fpr {
        Some(rate) if rate > workload.fpr * RATE_ROOM * RATE_ROOM => {
            Err(format!("has a rate of {} once {GROWTH} times the keys have come", crate::short(rate)))
        }
        _ => Ok(()),
    }
}

/// Which of the keys seem present, by whichever verb tells.
pub fn ask(filter: &AnyFilter, keys: &[&[u8]], answers: &mut [bool]) -> Result<()> {
    if filter.can(Verb::Contains) {
        filter.contains()?.contains_batch(keys, answers);
    } else if filter.can(Verb::Count) {
        let count = filter.count()?;
        keys.iter().zip(answers.iter_mut()).for_each(|(key, answer)| *answer = count.count(key).count > 0);
    } else if filter.can(Verb::Get) {
        let get = filter.get()?;
        keys.iter().zip(answers.iter_mut()).for_each(|(key, answer)| *answer = get.get(key) != Answer::Absent);
    } else if filter.can(Verb::Judge) {
        let judge = filter.judge()?;
        let may_be_in = |verdict| matches!(verdict, Verdict::In | Verdict::Undetermined);
        keys.iter().zip(answers.iter_mut()).for_each(|(key, answer)| *answer = may_be_in(judge.judge(key)));
    } else {
        let classify = filter.classify()?;
        keys.iter().zip(answers.iter_mut()).for_each(|(key, answer)| *answer = !classify.classify(key).is_empty());
    }
    black_box(answers);
    Ok(())
}

fn per_key(start: Instant, keys: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / keys.max(1) as f64
}

/// Nanoseconds per insertion, query and, where the kind has that, removal of a filter of this many keys: for the record.
#[doc(hidden)]
pub fn time(config: &Config, items: u64) -> Result<(f64, f64, Option<f64>)> {
    let kind = bouquet::registry::find(config.facts().id)?;
    let workload = Workload { is_static: kind.is_built_once(config), ..Workload::new(items, 0.01)? };
    let keys: Vec<_> = (0..items).map(|number| mix(number).to_le_bytes()).collect();
    let (of, sets) = (kind.note(config), config.count("sets").unwrap_or(1).max(1));
    let data: Vec<_> =
        keys.iter().zip(0..).map(|(key, number)| Item::new(key, note(of, sets, number, false))).collect();
    let start = Instant::now();
    let mut filter = if workload.is_static {
        AnyFilter::build(config, &Dataset { items: &data, absent: &[] })?
    } else {
        let mut filter = AnyFilter::new(config)?;
        filter.insert()?.insert_batch(&data)?;
        filter
    };
    let insert = per_key(start, data.len());
    let absent: Vec<_> = (0..items).map(|number| mix(number + (1 << 40)).to_le_bytes()).collect();
    let mixed: Vec<&[u8]> = keys.iter().zip(&absent).flat_map(|(a, b)| [a.as_slice(), b.as_slice()]).collect();
    let mut answers = vec![false; mixed.len()];
    let start = Instant::now();
    ask(&filter, &mixed, &mut answers)?;
    let query = per_key(start, mixed.len());
    let remove = if filter.can(Verb::Remove) {
        let remove = filter.remove()?;
        let start = Instant::now();
        for item in &data {
            match remove.remove(*item) {
                Ok(()) | Err(Error::NotPresent | Error::Ambiguous { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Some(per_key(start, data.len()))
    } else {
        None
    };
    Ok((insert, query, remove))
}
