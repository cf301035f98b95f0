//! The rounds: every contender in each step of each, in an order that rotates, so that drift of the machine meets all alike.

use crate::floor::{self, Floor};
use crate::keys::{BenchKey, COUNTED, Str24, Workload};
use crate::measure::{Entry, Metric, Sample, Step};
use crate::record::Row;
use crate::{ours, peers};

/// What is to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Numbers of keys.
    pub sizes: Vec<u64>,
    /// Rates that are asked for.
    pub rates: Vec<f64>,
    /// Names of key types.
    pub keys: Vec<String>,
    /// Contenders whose name contains one of these, or all when there is none. The floor always runs.
    pub only: Vec<String>,
    /// Rounds.
    pub rounds: usize,
    /// The least and the largest number of queries in a measurement; between them there are as many as keys.
    pub queries: (u64, u64),
    /// The least number of insertions in a measurement: fewer keys are inserted into several fresh filters.
    pub insertions: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            sizes: vec![100_000, 1_000_000, 10_000_000],
            rates: vec![0.01, 0.001],
            keys: vec![<u64 as BenchKey>::NAME.into(), Str24::NAME.into()],
            only: Vec::new(),
            rounds: 5,
            queries: (1 << 19, 1 << 22),
            insertions: 1 << 19,
        }
    }
}

impl Options {
    /// A first look, in two minutes.
    pub fn quick() -> Self {
        Options {
            sizes: vec![100_000, 1_000_000],
            rates: vec![0.01],
            rounds: 3,
            queries: (1 << 18, 1 << 19),
            insertions: 1 << 18,
            ..Options::default()
        }
    }
}

/// How often a filter of few keys is filled in a round.
const MOST_FILLS: u64 = 8;

/// Runs everything; `report` gets the rows of each set of conditions as soon as they are there.
pub fn run(options: &Options, mut report: impl FnMut(&[Row])) -> Result<Vec<Row>, String> {
    let names: Vec<String> = contenders::<u64>().into_iter().map(|entry| entry.name).collect();
    if let Some(unknown) = options.only.iter().find(|part| !names.iter().any(|name| name.contains(part.as_str()))) {
        return Err(format!("no contender is called {unknown}: {}", names.join(", ")));
    }
    let sorts = [<u64 as BenchKey>::NAME, Str24::NAME, COUNTED];
    if let Some(unknown) = options.keys.iter().find(|keys| !sorts.contains(&keys.as_str())) {
        return Err(format!("no keys are called {unknown}: {}", sorts.join(", ")));
    }
    let mut rows = Vec::new();
    for keys in &options.keys {
        for &n in &options.sizes {
            for &fpr in &options.rates {
                let (least, largest) = options.queries;
                let queries = n.clamp(least, largest);
                let some = match keys.as_str() {
                    Str24::NAME => conditions(options, keys, n, &Workload::<Str24>::new(n, fpr, queries))?,
                    COUNTED => conditions(options, keys, n, &Workload::counted(n, fpr, queries))?,
                    _ => conditions(options, keys, n, &Workload::<u64>::new(n, fpr, queries))?,
                };
                report(&some);
                rows.extend(some);
            }
        }
    }
    Ok(rows)
}

/// The floor, ours and the peers.
pub fn contenders<K: BenchKey>() -> Vec<Entry<K>> {
    [vec![Entry::of::<Floor>()], ours::all(), peers::all()].into_iter().flatten().collect()
}

/// The rows of one number of keys of one sort, and one rate.
fn conditions<K: BenchKey>(options: &Options, keys: &str, n: u64, work: &Workload<K>) -> Result<Vec<Row>, String> {
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|part| name.contains(part.as_str()));
    let mut entries: Vec<_> =
        contenders::<K>().into_iter().filter(|entry| entry.name == floor::NAME || wanted(&entry.name)).collect();
    let fills = (options.insertions / n).clamp(1, MOST_FILLS) as usize;

    let mut rounds = vec![vec![Sample::default(); entries.len()]; options.rounds];
    for step in Step::ALL {
        for (round, samples) in rounds.iter_mut().enumerate() {
            for turn in 0..entries.len() {
                let at = (turn + round) % entries.len();
                entries[at].racer.step(step, work, fills, &mut samples[at])?;
            }
        }
    }

    let mut rows = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        for metric in Metric::ALL {
            let mut values: Vec<f64> = rounds.iter().filter_map(|samples| samples[at].get(metric)).collect();
            let Some(median) = median(&mut values) else { continue };
            let ratio = |samples: &Vec<Sample>| Some(samples[at].get(metric)? / samples[0].get(metric)?);
            let mut ratios: Vec<f64> = rounds.iter().filter_map(ratio).collect();
            rows.push(Row {
                keys: keys.into(),
                n,
                fpr: work.fpr,
                contender: entry.name.clone(),
                metric: metric.name().into(),
                unit: metric.unit().into(),
                median,
                min: values[0],
                max: values[values.len() - 1],
                floor_ratio: self::median(&mut ratios).filter(|_| metric.has_floor()),
            });
        }
    }
    Ok(rows)
}

/// The median, for an even number the mean of the middle two; sorts the values.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { (values[middle - 1] + upper) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record;

    /// Every contender through every measurement; the measurements themselves check the answers.
    fn tiny<K: BenchKey>() -> Vec<Row> {
        let options = Options {
            sizes: vec![1_000],
            keys: vec![K::NAME.into()],
            rounds: 1,
            queries: (10_000, 10_000),
            insertions: 1,
            ..Options::default()
        };
        run(&options, |_| ()).unwrap()
    }

    fn every_contender_answers_rightly<K: BenchKey>() {
        let rows = tiny::<K>();
        for entry in contenders::<K>() {
            let of = |metric: Metric| {
                let row = |row: &&Row| row.contender == entry.name && row.metric == metric.name();
                rows.iter().filter(row).map(|row| (row.fpr, row.median)).collect::<Vec<_>>()
            };
            let rates = of(Metric::Rate);
            assert!(!rates.is_empty() && of(Metric::Insert).len() == rates.len(), "{} was not measured", entry.name);
            for (asked, measured) in rates {
                // Two cannot be asked for a rate: the floor has one bit per key in 10 or 14, and 8-bit fingerprints.
                let limit = match entry.name.as_str() {
                    floor::NAME => 0.13,
                    "cuckoofilter" => 0.04,
                    // Five standard deviations of 10 000 queries, and for peers that are not exact 40 %.
                    _ => 1.4 * asked + 5.0 * (asked / 10_000.0).sqrt(),
                };
                assert!(measured <= limit, "{}: {measured} where {asked} was asked for", entry.name);
            }
        }
    }

    #[test]
    fn every_contender_answers_rightly_for_integers() {
        every_contender_answers_rightly::<u64>();
    }

    #[test]
    fn every_contender_answers_rightly_for_strings() {
        every_contender_answers_rightly::<Str24>();
    }

    #[test]
    fn our_rates_are_those_of_random_keys_with_counted_ones() {
        let options = Options {
            sizes: vec![20_000],
            rates: vec![0.01],
            keys: vec![COUNTED.into()],
            only: vec!["bouquet ultra-fast".into(), "bouquet standard".into()],
            rounds: 1,
            queries: (200_000, 200_000),
            insertions: 1,
        };
        let rows = run(&options, |_| ()).unwrap();
        let rates: Vec<_> = rows.iter().filter(|row| row.metric == "rate" && row.contender != floor::NAME).collect();
        assert_eq!(rates.len(), 6, "plain, shared and through the handle");
        for row in rates {
            // Five standard deviations of the queries, and as much for the filter's own fill.
            let off = (row.median - 0.01).abs();
            assert!(off < 10.0 * (0.01 / 200_000_f64).sqrt(), "{}: {}", row.contender, row.median);
        }
    }

    #[test]
    fn the_floor_is_once_its_own_time_and_a_record_reads_back() {
        let rows = run(
            &Options { only: vec!["ultra-fast".into()], sizes: vec![500], queries: (500, 500), ..Options::default() },
            |_| (),
        );
        let rows = rows.unwrap();
        let floors: Vec<_> = rows.iter().filter(|row| row.contender == floor::NAME).collect();
        assert!(floors.iter().any(|row| row.metric == "batch-miss"));
        assert!(floors.iter().filter_map(|row| row.floor_ratio).all(|ratio| ratio == 1.0));
        assert!(rows.iter().all(|row| row.min <= row.median && row.median <= row.max));
        let text = record::to_csv("cpu: none", &rows);
        assert_eq!(record::from_csv(&text).unwrap(), rows);
    }

    #[test]
    fn keys_are_distinct_and_absent_ones_absent() {
        let work = Workload::<u64>::new(5_000, 0.01, 5_000);
        let inserted: std::collections::HashSet<_> = work.inserted.iter().collect();
        assert_eq!(inserted.len(), 5_000);
        assert!(work.present.iter().all(|key| inserted.contains(key)));
        assert!(!work.absent.iter().any(|key| inserted.contains(key)));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
    }
}
