//! What a count-min sketch can be asked, from the command line: the numbers that its description promises.
//!
//! With width w and rows d, eps = e/w and delta = e^-d: a count is too large by more than eps N with a probability of at most
//! delta, whatever the stream (Markov's inequality in every row). Numbers of such events are compared with their largest mean
//! and five standard deviations.

use std::collections::BTreeMap;
use std::f64::consts::E;

use bouquet::theory::random::SplitMix;

use crate::place::Place;

/// A stream over `keys` keys by Zipf's law with exponent 1, whose ranks are spread over 16 bits so that frequent keys are no
/// neighbours.
fn stream(keys: u64, len: usize, seed: u64) -> Vec<u64> {
    let sums: Vec<f64> = (1..=keys)
        .scan(0.0, |sum, rank| {
            *sum += 1.0 / rank as f64;
            Some(*sum)
        })
        .collect();
    let mut random = SplitMix::new(seed);
    let rank = |random: &mut SplitMix| {
        let at = random.unit() * sums[sums.len() - 1];
        sums.partition_point(|&sum| sum <= at) as u64
    };
    (0..len).map(|_| rank(&mut random).wrapping_mul(40_503) % (1 << 16)).collect()
}

fn lines<T: ToString>(keys: impl IntoIterator<Item = T>) -> String {
    keys.into_iter().map(|key| key.to_string() + "\n").collect()
}

fn counted(stream: &[u64]) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    stream.iter().for_each(|key| *counts.entry(*key).or_default() += 1);
    counts
}

/// Answers `KEY TAB NUMBER`.
fn answers(lines: &[String]) -> impl Iterator<Item = (u64, i64)> + '_ {
    lines.iter().map(|line| {
        let (key, number) = line.split_once('\t').unwrap();
        (key.parse().unwrap(), number.parse().unwrap())
    })
}

/// How many events of this largest probability may be seen among this many.
fn at_most(events: f64, probability: f64) -> f64 {
    let mean = events * probability;
    mean + 5.0 * mean.sqrt()
}

#[test]
fn no_count_is_too_small_and_few_exceed_the_bound() {
    let place = Place::new();
    let stream = stream(50_000, 500_000, 1);
    let (truth, n) = (counted(&stream), stream.len() as f64);
    place.file("stream", lines(&stream));
    place.file("keys", lines(truth.keys()));
    place.run(&["build", "stream", "-o", "f", "-k", "count-min", "--set", "width=2000", "--set", "rows=4"]).found();
    let counts = place.run(&["count", "f", "keys"]).found().lines();
    let errors: Vec<i64> = answers(&counts).map(|(key, count)| count - truth[&key] as i64).collect();
    assert_eq!(errors.len(), truth.len());
    assert!(errors.iter().all(|&error| error >= 0), "no count is too small");
    let wide = errors.iter().filter(|&&error| error as f64 > E / 2_000.0 * n).count() as f64;
    assert!(wide <= errors.len() as f64 * (-4f64).exp(), "{wide} of {}", errors.len());
    let mean = errors.iter().sum::<i64>() as f64 / errors.len() as f64;
    assert!(mean > 0.0 && mean <= n / 2_000.0, "{mean}");
    assert_eq!(place.run(&["ask", "f", "total"]).found().lines(), ["500000"]);
}

#[test]
fn sketches_add_and_subtract_bit_for_bit() {
    let place = Place::new();
    let stream = stream(5_000, 40_000, 2);
    for counter in ["u32", "u64", "i64"] {
        let counter = format!("counter={counter}");
        let settings = ["-k", "count-min", "--set", "width=500", "--set", "rows=5", "--set", &counter];
        for (name, part) in [("left", &stream[..15_000]), ("right", &stream[15_000..]), ("whole", &stream[..])] {
            place.run_with(&[&["build", "-o", name], &settings[..]].concat(), lines(part)).found();
        }
        place.run(&["merge", "left", "right", "-o", "sum"]).found();
        assert!(place.read("sum") == place.read("whole"), "{counter}");
        place.run(&["subtract", "sum", "right", "-o", "less"]).found();
        assert!(place.read("less") == place.read("left"), "{counter}");
        let more = place.run(&["subtract", "left", "whole", "-o", "negative"]);
        if counter == "counter=i64" {
            more.found();
            assert_eq!(place.run(&["ask", "negative", "total"]).found().lines(), ["-25000"]);
        } else {
            more.fails(&["left"]);
        }
    }
}

#[test]
fn heavy_hitters_are_found_from_the_sketch_alone() {
    let place = Place::new();
    let stream = stream(50_000, 200_000, 3);
    let (truth, n) = (counted(&stream), stream.len() as f64);
    let settings = ["-k", "count-min", "--set", "levels=16", "--set", "decimal=true"];
    place.run_with(&[&["build", "-o", "f"], &settings[..]].concat(), lines(&stream)).found();
    let rows = place.run(&["ask", "f", "heavy", "0.001"]).found().lines();
    assert_eq!(rows[0], "key\tcount");
    let found: BTreeMap<u64, i64> = answers(&rows[1..]).collect();
    let heavy: Vec<_> = truth.iter().filter(|(_, count)| **count as f64 >= 0.001 * n).collect();
    assert!(heavy.len() > 50 && heavy.iter().all(|(key, _)| found.contains_key(key)), "none is missing");
    // The default size has eps = 10^-4.
    for key in found.keys() {
        assert!(truth.get(key).is_some_and(|&count| count as f64 >= (0.001 - 1e-4) * n), "{key}");
    }
    place.run(&["ask", "f", "heavy", "2"]).fails(&["a number from 0 to 1"]);
    place.run_with(&["build", "-o", "plain", "-k", "count-min"], lines(&stream[..100])).found();
    place.run(&["ask", "plain", "heavy", "0.1"]).fails(&["plain", "levels"]);
}

#[test]
fn ranges_and_quantiles_follow_the_sorted_keys() {
    let place = Place::new();
    let mut stream = stream(30_000, 100_000, 4);
    let settings = ["width=2000", "rows=10", "levels=16", "decimal=true"].map(|setting| ["--set", setting]).concat();
    place.run_with(&[&["build", "-o", "f", "-k", "count-min"], &settings[..]].concat(), lines(&stream)).found();
    stream.sort_unstable();
    let below = |key: u64| stream.partition_point(|&other| other < key) as f64;
    let (n, eps, delta) = (stream.len() as f64, E / 2_000.0, (-10f64).exp());
    // At most two intervals of each level make a range. It exceeds their bounds only where one of them exceeds its own.
    let slack = 2.0 * eps * 16.0 * n;
    let mut random = SplitMix::new(4);
    let (mut exceeded, rounds) = (0.0, 40);
    for _ in 0..rounds {
        let (a, b) = (random.below(1 << 16), random.below(1 << 16));
        let (first, last) = (a.min(b), a.max(b));
        let found = place.run(&["ask", "f", "range", &format!("{first}..{last}")]).found().lines();
        let (found, truth) = (found[0].parse::<f64>().unwrap(), below(last + 1) - below(first));
        assert!(found >= truth, "{first}..{last}: {found} of {truth}");
        exceeded += f64::from(u8::from(found > truth + slack));
    }
    assert!(exceeded <= at_most(rounds.into(), 2.0 * 16.0 * delta), "{exceeded}");
    for share in [0.0, 0.01, 0.1, 0.5, 0.9, 1.0] {
        let found = place.run(&["ask", "f", "quantile", &share.to_string()]).found().lines();
        let key: u64 = found[0].parse().unwrap();
        // The descent adds one interval of each level.
        let (wanted, slack) = (share * n, eps * 16.0 * n);
        assert!(below(key) <= wanted + slack && below(key + 1) >= wanted - slack, "{share}: {key}");
    }
    place.run(&["ask", "f", "range", "9..3"]).fails(&["FIRST..LAST"]);
    place.run(&["ask", "f", "quantile", "1.5"]).fails(&["a number from 0 to 1"]);
}

#[test]
fn inner_products_are_never_too_small_and_within_the_bound() {
    let place = Place::new();
    let (here, there) = (stream(3_000, 30_000, 7), stream(9_000, 20_000, 8));
    let (in_here, in_there) = (counted(&here), counted(&there));
    let truth: f64 = in_here.iter().map(|(key, count)| (count * in_there.get(key).unwrap_or(&0)) as f64).sum();
    let (eps, delta, seeds) = (E / 1_000.0, (-4f64).exp(), 10);
    let mut exceeded = 0.0;
    for seed in 0..seeds {
        let seed = seed.to_string();
        let settings = ["-k", "count-min", "--set", "width=1000", "--set", "rows=4", "--seed", &seed];
        for (name, keys) in [("here", &here), ("there", &there)] {
            place.run_with(&[&["build", "-o", name], &settings[..]].concat(), lines(keys)).found();
        }
        let found = place.run(&["ask", "here", "inner-product", "there"]).found().lines();
        let found: f64 = found[0].parse().unwrap();
        assert!(found >= truth, "{found} of {truth}");
        exceeded += f64::from(u8::from(found - truth > eps * 30_000.0 * 20_000.0));
    }
    assert!(exceeded <= at_most(f64::from(seeds), delta), "{exceeded}");
    place.run_with(&["build", "-o", "other", "-k", "count-min", "--set", "width=999"], lines(&there)).found();
    place.run(&["ask", "here", "inner-product", "other"]).fails(&["here"]);
}

#[test]
fn medians_of_signed_counts_are_within_three_eps() {
    let place = Place::new();
    let mut random = SplitMix::new(5);
    let mut truth: BTreeMap<u64, i64> = BTreeMap::new();
    let (mut more, mut less) = (Vec::new(), Vec::new());
    for key in stream(5_000, 100_000, 5) {
        let amount = random.below(21) as i64 - 10;
        *truth.entry(key).or_default() += amount;
        match amount {
            0 => {}
            1.. => more.push(format!("{key}\t{amount}")),
            _ => less.push(format!("{key}\t{}", -amount)),
        }
    }
    let settings = ["width=300", "rows=7", "counter=i64"].map(|setting| ["--set", setting]).concat();
    place.run_with(&[&["build", "-o", "f", "-k", "count-min"], &settings[..]].concat(), "").found();
    // Interleaved in ten parts.
    for part in 0..10 {
        let tenth = |items: &[String]| lines(items.iter().skip(part).step_by(10));
        place.run_with(&["remove", "f"], tenth(&less)).found();
        place.run_with(&["add", "f"], tenth(&more)).found();
    }
    let medians = place.run_with(&["ask", "f", "median"], lines(truth.keys())).found().lines();
    let norm: i64 = truth.values().map(|count| count.abs()).sum();
    let bound = 3.0 * E / 300.0 * norm as f64;
    let far = answers(&medians).filter(|(key, count)| (count - truth[key]).abs() as f64 > bound).count() as f64;
    // A row is off by more than that with probability 1/(3e), and the median only if four of seven are: 0.0058.
    let row = 1.0 / (3.0 * E);
    let four: f64 = [(35.0, 4), (21.0, 5), (7.0, 6), (1.0, 7)]
        .map(|(ways, rows)| ways * f64::powi(row, rows) * f64::powi(1.0 - row, 7 - rows))
        .iter()
        .sum();
    assert!((four - 0.0058).abs() < 1e-4, "{four}");
    assert!(far <= at_most(truth.len() as f64, four), "{far} of {}", truth.len());
    let total: i64 = truth.values().sum();
    assert_eq!(place.run(&["ask", "f", "total"]).found().lines(), [total.to_string()]);
}
