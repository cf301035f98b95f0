//! The advice is right: over a grid of workloads, what is recommended has the bytes and the rates that were predicted, and no kind that does
//! the same takes less memory.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bouquet::AnyFilter;
use bouquet::capability::{Dataset, Item, Note, NoteType};
use bouquet::hash::{Hashing, mix};
use bouquet::kind::{Config, Verb};
use bouquet_advice::trial::zipf;
use bouquet_advice::{Advice, Adviser, Goal, Speed, Workload, ask};

/// Workloads that differ in every respect that the adviser knows.
fn grid() -> Vec<Workload> {
    let needs: [&[Verb]; 6] = [
        &[],
        &[Verb::Remove],
        &[Verb::Count],
        &[Verb::Remove, Verb::Count],
        &[Verb::Merge],
        &[Verb::Merge, Verb::Cardinality],
    ];
    type Wish = fn(&mut Workload);
    let wishes: [Wish; 8] = [
        |_| {},
        |of| of.is_static = true,
        |of| of.grows = true,
        |of| of.window = Some(3_600.0),
        |of| of.hostile = true,
        |of| of.shared = true,
        |of| of.may_miss = 0.02,
        |of| of.skew = Some(1.1),
    ];
    let mut grid = Vec::new();
    for (items, fpr) in [(250, 0.05), (600, 0.004), (150, 0.01), (1_200, 0.02), (400, 0.001)] {
        for need in needs {
            for wish in wishes {
                let goal = Goal::ALL[grid.len() % 3];
                let mut workload = Workload { need: need.to_vec(), goal, ..Workload::new(items, fpr).unwrap() };
                wish(&mut workload);
                grid.push(workload);
            }
        }
    }
    grid
}

/// A filter as the advice says, with hash functions of its own, and the keys that it holds.
fn made(config: &Config, workload: &Workload, seed: u64) -> (AnyFilter, Vec<[u8; 8]>) {
    let (kind, items) = (bouquet::registry::find(config.facts().id).unwrap(), workload.items);
    let config = if workload.hostile { config.clone() } else { config.clone().hashed(Hashing::seeded(seed)) };
    let keys: Vec<_> = (0..items).map(|number| mix(number ^ seed << 32).to_le_bytes()).collect();
    let note = match kind.note(&config) {
        NoteType::Integer => Note::Integer(1),
        _ => Note::None,
    };
    let data: Vec<_> = keys.iter().map(|key| Item::new(key, note)).collect();
    if kind.is_built_once(&config) {
        return (AnyFilter::build(&config, &Dataset { items: &data, absent: &[] }).unwrap(), keys);
    }
    let again = workload.skew.map(|exponent| zipf(exponent, keys.len(), seed)).unwrap_or_default();
    let data: Vec<_> = data.iter().copied().chain(again.into_iter().map(|at| data[at])).collect();
    let mut filter = AnyFilter::new(&config).unwrap();
    filter.insert().unwrap().insert_batch(&data).unwrap();
    (filter, keys)
}

fn frame(filter: &AnyFilter) -> f64 {
    filter.to_compressed_bytes().len().min(filter.to_bytes().len()) as f64
}

/// Whether the mean of these, each with this deviation, is a predicted value within five standard deviations of that mean and of a
/// prediction that rests on one trial.
fn agree(measured: &[f64], predicted: f64, rounding: f64) -> bool {
    let n = measured.len() as f64;
    let mean = measured.iter().sum::<f64>() / n;
    let variance = measured.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean - predicted).abs() <= 5.0 * (variance * (1.0 + 1.0 / n)).sqrt() + rounding
}

/// Bytes and rates of one recommendation.
fn check(workload: &Workload, advice: &Advice) -> Result<(), String> {
    const FILTERS: u64 = 6;
    const QUERIES: u64 = 2_000;
    let cost = &advice.cost;
    let (mut bits, mut frames, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 1..=FILTERS {
        let (filter, keys) = made(&advice.config, workload, seed + 100);
        bits.push(filter.stats().bits as f64);
        frames.push(frame(&filter));
        let present: Vec<&[u8]> = keys.iter().map(<[u8; 8]>::as_slice).collect();
        let mut answers = vec![false; keys.len()];
        ask(&filter, &present, &mut answers).map_err(|error| error.to_string())?;
        let missed = answers.iter().filter(|answer| !**answer).count() as f64;
        let allowed = workload.items as f64 * workload.may_miss;
        if missed > allowed + 5.0 * allowed.sqrt() {
            return Err(format!("missed {missed} of {} keys", workload.items));
        }
        let absent: Vec<_> = (0..QUERIES).map(|number| mix(number + (seed << 40)).to_le_bytes()).collect();
        let absent: Vec<&[u8]> = absent.iter().map(<[u8; 8]>::as_slice).collect();
        let mut answers = vec![false; absent.len()];
        ask(&filter, &absent, &mut answers).map_err(|error| error.to_string())?;
        rates.push(answers.iter().filter(|answer| **answer).count() as f64 / QUERIES as f64);
    }
    // A filter that grows opens its next part a little before or after the planned keys, and follows its fill in this.
    let growing = advice.kind.can(Verb::Grow);
    let below = || growing && bits.iter().all(|bits| *bits <= cost.bits as f64 * 1.001);
    if !agree(&bits, cost.bits as f64, 0.5) && !below() {
        return Err(format!("{bits:?} bits, but {} were predicted", cost.bits));
    }
    if !agree(&frames, cost.bytes_sent as f64, 8.0) && !growing {
        return Err(format!("frames of {frames:?} bytes, but {} were predicted", cost.bytes_sent));
    }
    let predicted = cost.rates.false_positive.ok_or("no rate was predicted")?;
    let mean = rates.iter().sum::<f64>() / FILTERS as f64;
    let queries = (FILTERS * QUERIES) as f64;
    // Of queries, and of filters, whose own rates differ.
    let spread = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (FILTERS - 1) as f64 / FILTERS as f64;
    let sigma = (predicted / queries).sqrt().max(spread.sqrt());
    let (low, high) = (predicted - 5.0 * sigma, predicted + 5.0 * sigma + 1.0 / queries);
    // Some kinds promise no more than a bound.
    if mean > high || (mean < low && !bounded(advice) && !growing) {
        return Err(format!("{mean} false positives, but {predicted} were predicted (sigma {sigma})"));
    }
    if mean > workload.fpr * 1.05 + 5.0 * sigma {
        return Err(format!("{mean} false positives, but {} were asked for", workload.fpr));
    }
    Ok(())
}

/// Whether theory of this kind gives a rate at the worst moment, as those that forget do.
fn bounded(advice: &Advice) -> bool {
    advice.kind.can(Verb::Advance)
}

#[test]
fn what_is_recommended_has_the_predicted_bytes_and_rates_and_nothing_takes_less_memory() {
    let grid = grid();
    assert!(grid.len() >= 200);
    let adviser = Adviser::new(Speed::recorded());
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let advised = AtomicUsize::new(0);
    let work = || {
        while let Some(workload) = grid.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (advice, rejected) = adviser.rank(workload).unwrap();
            assert_eq!(advice.len() + rejected.len(), bouquet::registry::kinds().count());
            let mut wrong = Vec::new();
            for of in advice.iter().take(2) {
                wrong.extend(check(workload, of).err().map(|why| format!("{}: {why}", of.kind.facts().id)));
            }
            advised.fetch_add(usize::from(!advice.is_empty()), Ordering::Relaxed);
            if let (Goal::Memory, Some(first)) = (workload.goal, advice.first()) {
                let bits = |of: &Advice| made(&of.config, workload, 7).0.stats().bits as f64;
                let recommended = bits(first);
                for of in advice.iter().filter(|of| (of.cost.bits as f64) < 1.5 * recommended) {
                    if bits(of) < 0.9 * recommended {
                        wrong.push(format!("{} takes less than {}", of.kind.facts().id, first.kind.facts().id));
                    }
                }
            }
            failures.lock().unwrap().extend(wrong.into_iter().map(|wrong| format!("{wrong}\n   for {workload:?}")));
        }
    };
    std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(work));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(advised.into_inner() > 150, "most workloads can be had");
}
