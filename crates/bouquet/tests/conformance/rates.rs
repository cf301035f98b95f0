//! Errors are as frequent as the kind's own theory says.
//!
//! Thirty filters with seeds of their own are filled to half, all and one and a half times the planned items and asked
//! for keys that they hold and keys that they do not. Three things must agree:
//!
//! - what is measured and what each filter says of its present content (`stats().fpr`): the answers are independent
//!   given the content, so the sum is binomial;
//! - what the filters say of their content on average and what theory expects of the shape (`expected(load)`): within
//!   5 standard errors from the spread of the sample;
//! - at the planned load, what is measured and the rate that was asked for, which it must not exceed.
//!
//! The other errors (false negatives, over-counts, values and sets out of nothing, unknown values) are compared with
//! `expected(load)` alone.

use bouquet::capability::{Answer, Note, NoteType};
use bouquet::kind::{ErrorClass, Rates, Verb};
use bouquet::{AnyFilter, Error};

use crate::subject::{GROUPS, Keys, Subject, Verdict, found_count, observe};

laws! {
    rates_agree_with_theory_at_one_percent needs [];
    rates_agree_with_theory_at_one_per_mille needs [];
}

const ITEMS: u64 = 2_000;
const SEEDS: u64 = 30;
const QUERIES: u64 = 50_000;

/// Verbs other than contains have no batch form, and their rates are larger.
const FEWER_QUERIES: u64 = 20_000;

fn rates_agree_with_theory_at_one_percent(subject: &Subject) -> Verdict {
    agree(subject, 0.01)
}

fn rates_agree_with_theory_at_one_per_mille(subject: &Subject) -> Verdict {
    agree(subject, 0.001)
}

/// Tells all disagreements at once: which of them fail says much about the cause.
fn agree(subject: &Subject, fpr: f64) -> Verdict {
    let mut failures = Vec::new();
    for load in [ITEMS / 2, ITEMS, ITEMS * 3 / 2] {
        let filters = match filters(subject, fpr, load)? {
            Some(filters) => filters,
            None => continue,
        };
        let verdicts = [
            false_positives(subject, fpr, load, &filters),
            members(subject, load, &filters),
            strangers(subject, load, &filters),
        ];
        failures.extend(
            verdicts
                .into_iter()
                .filter_map(Verdict::err)
                .map(|why| format!("{load} items in filters for {ITEMS} at rate {fpr}: {why}")),
        );
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n    ")) }
}

/// Filters of many seeds; `None` for a kind that refuses this load, which it may only beyond its plan.
fn filters(subject: &Subject, fpr: f64, load: u64) -> Result<Option<Vec<AnyFilter>>, String> {
    let config = subject.config(ITEMS, fpr)?;
    let keys = Keys::new(0..load);
    let mut filters = Vec::new();
    for seed in 0..SEEDS {
        match subject.try_build(&config.clone().hashed(bouquet::hash::Hashing::seeded(seed)), &keys) {
            Ok(filter) => filters.push(filter),
            Err(Error::Full { .. } | Error::Build { .. }) if load > ITEMS => return Ok(None),
            Err(error) => return Err(format!("{load} items in a filter for {ITEMS}: {error}")),
        }
    }
    Ok(Some(filters))
}

/// A mean and its standard error.
struct Sample {
    mean: f64,
    standard_error: f64,
}

impl Sample {
    fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Sample { mean, standard_error: (variance / n).sqrt() }
    }

    /// The sample agrees with theory, whose own scatter over so many queries is a lower bound for the sample's.
    fn agrees(&self, what: &str, expected: Option<f64>, queries: u64) -> Verdict {
        let Some(expected) = expected else {
            return Err(format!("{what}: declared, but `expected` gives no rate"));
        };
        ensure!(expected.is_finite() && expected >= 0.0, "{what}: `expected` gives {expected}");
        let of_theory = (expected * (1.0 - expected).max(0.0) / queries as f64).sqrt();
        self.within(what, expected, self.standard_error.max(of_theory))
    }

    fn within(&self, what: &str, expected: f64, sigma: f64) -> Verdict {
        let off = (self.mean - expected).abs();
        // Rounding alone may part two ways of computing one number.
        ensure!(
            off <= 5.0 * sigma + 1e-9 * expected,
            "{what}: measured {:.7}, expected {expected:.7}, which is {:.1} sigma off (sigma {sigma:.2e})",
            self.mean,
            off / sigma
        );
        Ok(())
    }
}

fn expected(filters: &[AnyFilter], load: u64) -> Rates {
    filters.first().map(|filter| filter.expected(load)).unwrap_or_default()
}

fn false_positives(subject: &Subject, fpr: f64, load: u64, filters: &[AnyFilter]) -> Verdict {
    if !subject.can(Verb::Contains) || !subject.errs(ErrorClass::FalsePositive) {
        return Ok(());
    }
    let absent = Keys::absent(QUERIES);
    let (mut measured, mut present) = (Vec::new(), Vec::new());
    for filter in filters {
        measured.push(found_count(filter, &absent)? as f64 / QUERIES as f64);
        let Some(rate) = filter.stats().fpr else {
            return Err("declares false positives, but `stats` gives no rate".into());
        };
        ensure!((0.0..=1.0).contains(&rate), "`stats` gives the rate {rate}");
        present.push(rate);
    }
    let measured = Sample::of(&measured);
    let variance: f64 = present.iter().map(|rate| rate * (1.0 - rate) / QUERIES as f64).sum();
    let present = Sample::of(&present);
    let count = filters.len() as f64;
    measured.within("false positives against `stats().fpr`", present.mean, variance.sqrt() / count)?;

    let theory = expected(filters, load).false_positive;
    let total = QUERIES * filters.len() as u64;
    measured.agrees("false positives against `expected`", theory, total)?;
    if let Some(theory) = theory {
        present.within("`stats().fpr` against `expected`", theory, present.standard_error)?;
    }
    if load == ITEMS && subject.has_parameter("fpr") {
        // The rate of many sets is that of each, so an absent key seems to be in any of them more often.
        let many = subject.note_type() == NoteType::Group && subject.has_parameter("sets");
        let asked = if many { 1.0 - (1.0 - fpr).powi(GROUPS as i32) } else { fpr };
        let sigma = measured.standard_error.max((asked * (1.0 - asked) / total as f64).sqrt());
        let mean = measured.mean;
        ensure!(mean <= asked + 5.0 * sigma, "false positives: measured {mean:.7}, asked for at most {asked:.7}");
    }
    Ok(())
}

/// The share of keys for which something is seen, per filter.
fn shares(
    filters: &[AnyFilter],
    keys: &Keys,
    amount: impl Fn(u64, &crate::subject::Observed) -> u64,
) -> Result<Sample, String> {
    let mut shares = Vec::new();
    for filter in filters {
        let seen = observe(filter, keys)?;
        let sum: u64 = keys.numbers.iter().zip(&seen).map(|(&number, seen)| amount(number, seen)).sum();
        shares.push(sum as f64 / keys.numbers.len() as f64);
    }
    Ok(Sample::of(&shares))
}

/// The errors about keys that were inserted once.
fn members(subject: &Subject, load: u64, filters: &[AnyFilter]) -> Verdict {
    let (keys, rates) = (Keys::new(0..load), expected(filters, load));
    let queries = load * filters.len() as u64;
    if subject.can(Verb::Contains) && subject.errs(ErrorClass::FalseNegative) {
        let missed = shares(filters, &keys, |_, seen| u64::from(seen.contains == Some(false)))?;
        missed.agrees("false negatives", rates.false_negative, queries)?;
    }
    if subject.can(Verb::Count) && subject.errs(ErrorClass::OverCount) {
        let over = shares(filters, &keys, |_, seen| u64::from(seen.count.is_some_and(|count| count.count > 1)))?;
        over.agrees("over-counts", rates.over_count, queries)?;
    }
    if subject.can(Verb::Get) && subject.errs(ErrorClass::Unknown) {
        let unknown = shares(filters, &keys, |_, seen| u64::from(seen.answer == Some(Answer::Unknown)))?;
        unknown.agrees("unknown values", rates.unknown, queries)?;
    }
    if subject.can(Verb::Classify) && !subject.errs(ErrorClass::FalseNegative) {
        let missed = |number, seen: &crate::subject::Observed| match (subject.note(number), &seen.sets) {
            (Note::Group(own), Some(sets)) => u64::from(!sets.contains(&own)),
            _ => 0,
        };
        let missed = shares(filters, &keys, missed)?;
        ensure!(missed.mean == 0.0, "own sets that are missing: {:.7}, expected none", missed.mean);
    }
    Ok(())
}

/// The errors about keys that were never inserted.
fn strangers(subject: &Subject, load: u64, filters: &[AnyFilter]) -> Verdict {
    let (keys, rates) = (Keys::absent(FEWER_QUERIES), expected(filters, load));
    let queries = FEWER_QUERIES * filters.len() as u64;
    if subject.can(Verb::Get) && subject.errs(ErrorClass::SpuriousValue) {
        let valued = shares(filters, &keys, |_, seen| u64::from(matches!(seen.answer, Some(Answer::Value(_)))))?;
        valued.agrees("values for absent keys", rates.spurious_value, queries)?;
    }
    if subject.can(Verb::Classify) && subject.errs(ErrorClass::SpuriousSet) {
        let placed = shares(filters, &keys, |_, seen| seen.sets.as_ref().map_or(0, |sets| sets.len() as u64))?;
        placed.agrees("extra sets per absent key", rates.spurious_sets, queries)?;
    }
    Ok(())
}
