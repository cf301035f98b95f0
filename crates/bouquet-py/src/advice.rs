//! Which kind to take.

use bouquet::Error;
use bouquet::kind::Verb;
use bouquet_advice::{Goal, Workload};
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// The advice for a workload as JSON, which the package's Python part reads.
#[pyfunction]
#[pyo3(signature = (items, fpr, need, grows, window, is_static, hostile, shared, sent, skew, memory, reads, may_miss, optimise))]
#[expect(clippy::too_many_arguments, reason = "they are the keywords of Python")]
pub fn advise(
    py: Python<'_>,
    items: u64,
    fpr: f64,
    need: Vec<String>,
    grows: bool,
    window: Option<f64>,
    is_static: bool,
    hostile: bool,
    shared: bool,
    sent: f64,
    skew: Option<f64>,
    memory: Option<u64>,
    reads: f64,
    may_miss: f64,
    optimise: Option<String>,
) -> PyResult<String> {
    let unknown = |name: &str, found: &str, known: Vec<&str>| Error::Parameter {
        name: name.into(),
        expected: format!("one of {}", known.join(", ")),
        found: found.into(),
    };
    let verbs = need.iter().map(|word| {
        let all = || Verb::ALL.iter().map(|verb| verb.name()).collect();
        Verb::from_name(word).ok_or_else(|| unknown("need", word, all()))
    });
    let goal = match &optimise {
        Some(word) => Goal::from_name(word)
            .ok_or_else(|| unknown("optimise", word, Goal::ALL.map(Goal::name).to_vec()))
            .or_raise()?,
        None if sent > 0.0 => Goal::BytesSent,
        None => Goal::Memory,
    };
    let workload = Workload {
        need: verbs.collect::<bouquet::Result<_>>().or_raise()?,
        grows,
        window,
        is_static,
        hostile,
        shared,
        sent_per_day: sent,
        skew,
        memory,
        reads,
        may_miss,
        goal,
        ..Workload::new(items, fpr).or_raise()?
    };
    workload.check().or_raise()?;
    // Calibrating and trying take a while.
    let told = py.detach(|| bouquet_advice::advise(&workload)).or_raise()?;
    let told: Vec<_> = told.iter().map(|advice| advice.to_json().to_string()).collect();
    Ok(format!("[{}]", told.join(",")))
}
