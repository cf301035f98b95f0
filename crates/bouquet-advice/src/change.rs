//! What would make another kind the best.

use std::time::{Duration, Instant};

use bouquet::kind::{Kind, Verb};

use crate::candidate::Candidate;
use crate::workload::{Goal, Workload};
use crate::{Adviser, Fit, in_order, short};

/// A condition under which another kind would be the best.
#[derive(Clone, Debug)]
pub struct Change {
    /// The condition, as the beginning of a sentence: "above a rate of 3 %".
    pub when: String,
    /// The kind that would be the best.
    pub then: &'static Kind,
}

/// A plan that takes longer is not made again and again.
const QUICK: Duration = Duration::from_millis(3);

/// Thresholds of the rate and of the number of keys, then other wishes.
pub(crate) fn all(adviser: &Adviser, workload: &Workload, fit: &[Fit]) -> Vec<Change> {
    let Some(best) = fit.first().map(|of| of.candidate.kind) else { return Vec::new() };
    let mut changes = thresholds(adviser, workload, fit);
    for goal in Goal::ALL.into_iter().filter(|goal| *goal != workload.goal) {
        let little = match goal {
            Goal::Memory => "if memory counted",
            Goal::Speed => "if speed counted",
            Goal::BytesSent => "if the bytes of sending it counted",
        };
        let first = in_order(fit.to_vec(), goal).first().map(|of| of.candidate.kind);
        changes.extend(first.map(|then| Change { when: little.into(), then }));
    }
    for (when, other) in wishes(workload) {
        changes.extend(adviser.best(&other).map(|then| Change { when, then }));
    }
    changes.retain(|change| change.then.facts().id != best.facts().id);
    changes
}

/// Where, with another rate or number of keys, another of the kinds that do is the best.
fn thresholds(adviser: &Adviser, workload: &Workload, fit: &[Fit]) -> Vec<Change> {
    let quick = |of: &&Fit| {
        let start = Instant::now();
        let planned = Candidate::new(of.candidate.kind, workload);
        planned.is_ok() && start.elapsed() < QUICK
    };
    // What their trials have shown is taken to hold nearby.
    let known: Vec<&Fit> = fit.iter().filter(quick).take(12).collect();
    let best = |other: &Workload| -> Option<&'static Kind> {
        let priced = known.iter().filter_map(|of| {
            let candidate = Candidate::new(of.candidate.kind, other).ok()?;
            let cost = adviser.price(&candidate, &of.trial, other).ok()?;
            Some(Fit { candidate, cost, trial: of.trial })
        });
        in_order(priced.collect(), workload.goal).first().map(|of| of.candidate.kind)
    };
    let Some(now) = best(workload) else { return Vec::new() };
    let differs = |other: &Workload| best(other).filter(|kind| kind.facts().id != now.facts().id);
    let rate = |factor: f64| Workload { fpr: workload.fpr * factor, ..workload.clone() };
    let items =
        |factor: f64| Workload { items: (workload.items as f64 * factor).round().max(1.0) as u64, ..workload.clone() };
    let mut changes = Vec::new();
    let found = first(&rate, &differs, 0.5, |factor| workload.fpr * factor >= 1e-9);
    changes.extend(
        found.map(|(factor, then)| Change { when: format!("below a rate of {}", short(workload.fpr * factor)), then }),
    );
    let found = first(&rate, &differs, 2.0, |factor| workload.fpr * factor <= 0.3);
    changes.extend(
        found.map(|(factor, then)| Change { when: format!("above a rate of {}", short(workload.fpr * factor)), then }),
    );
    let found = first(&items, &differs, 0.25, |factor| workload.items as f64 * factor >= 100.0);
    let count = |factor: f64| approximately(workload.items as f64 * factor);
    changes.extend(found.map(|(factor, then)| Change { when: format!("below {} keys", count(factor)), then }));
    let found = first(&items, &differs, 4.0, |factor| workload.items as f64 * factor <= 1e11);
    changes.extend(found.map(|(factor, then)| Change { when: format!("above {} keys", count(factor)), then }));
    changes
}

/// The factor nearest to 1, in the direction of the step, at which another kind is the best, and that kind.
fn first(
    at: &impl Fn(f64) -> Workload,
    differs: &impl Fn(&Workload) -> Option<&'static Kind>,
    step: f64,
    within: impl Fn(f64) -> bool,
) -> Option<(f64, &'static Kind)> {
    let (mut near, mut far) = (1.0, step);
    while within(far) {
        if let Some(mut then) = differs(&at(far)) {
            for _ in 0..6 {
                let middle: f64 = (near * far).sqrt();
                match differs(&at(middle)) {
                    Some(kind) => (far, then) = (middle, kind),
                    None => near = middle,
                }
            }
            return Some((far, then));
        }
        (near, far) = (far, far * step);
    }
    None
}

/// A number with two digits that count.
fn approximately(number: f64) -> String {
    let unit = 10f64.powf(number.max(1.0).log10().floor() - 1.0).max(1.0);
    let digits = format!("{:.0}", (number / unit).round() * unit);
    let comma = |at: usize| if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().map(|(at, digit)| format!("{}{digit}", comma(at))).collect()
}

/// Other wishes, one at a time.
fn wishes(workload: &Workload) -> Vec<(String, Workload)> {
    let mut wishes = Vec::new();
    let mut wish = |when: &str, change: &dyn Fn(&mut Workload)| {
        let mut other = workload.clone();
        change(&mut other);
        if other != *workload {
            wishes.push((when.to_string(), other));
        }
    };
    wish("if keys were removed", &|other| {
        if !other.need.contains(&Verb::Remove) && !other.is_static {
            other.need.push(Verb::Remove);
        }
    });
    wish("if nothing were removed", &|other| other.need.retain(|verb| *verb != Verb::Remove));
    wish("if all keys were known beforehand and never changed", &|other| {
        if !other.grows && other.window.is_none() && !other.need.contains(&Verb::Remove) {
            other.is_static = true;
        }
    });
    wish("if keys came later", &|other| other.is_static = false);
    wish("if more keys came than expected, without end", &|other| {
        other.grows = !other.is_static && other.window.is_none()
    });
    wishes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_digits_that_count() {
        assert_eq!([123.0, 98_765.0, 1_234_567.0].map(approximately), ["120", "99,000", "1,200,000"]);
    }
}
