use bouquet::Bloom;
use bouquet::theory::paradox::{expected_cost, false_share, trust_threshold};

use super::papers::LUO;
use crate::plot::even_log;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey003-eq4",
    paper: &LUO,
    place: "Equation 4",
    title: "the Bloom paradox: when most positives are false",
    run,
};

const CACHED: u64 = 100;

fn run(lab: &Lab) -> Result<Report> {
    // A filter with a rate near 1 %, and main memories of growing size, all of which is asked for.
    let (m, k) = (960, 7);
    let sizes = [1_000_u64, 3_000, 10_000, 30_000, 100_000, 300_000];
    let rounds = lab.rounds(100, 10);
    let runs = lab.try_play("memories", rounds, |random| {
        let mut filter = Bloom::with_size(m, k)?;
        filter.insert_batch(&keys(random, CACHED));
        let mut asked = CACHED;
        let mut positives = 0_u64;
        // Eq. (4) for each size: what it says with the proportion measured here, and what is counted.
        Ok(sizes.map(|size| {
            positives += keys(random, size - asked).iter().filter(|key| filter.contains(*key)).count() as u64;
            asked = size;
            let proportion = positives as f64 / (size - CACHED) as f64;
            let counted = positives as f64 / (CACHED + positives) as f64;
            (false_share(size, CACHED, proportion), counted, filter.rate_now())
        }))
    })?;
    let mean = |at: usize, of: &dyn Fn(&(f64, f64, f64)) -> f64| {
        Mean::of(&runs.iter().map(|run| of(&run[at])).collect::<Vec<_>>())
    };
    let identity = runs.iter().flatten().all(|(formula, counted, _)| (formula - counted).abs() < 1e-9);
    let rate = mean(0, &|run| run.2).value;
    let points: Vec<(f64, Mean)> =
        sizes.iter().enumerate().map(|(at, &size)| (size as f64, mean(at, &|run| run.1))).collect();
    let mut plot = Plot::new(
        Axis::log("elements in the main memory, |M|").range(1e3, 1e10),
        Axis::linear("share of positives that are false").range(0.0, 1.0),
    )
    .line(
        format!("|C| = {CACHED}, f = {:.4}", rate),
        even_log(1e3, 1e10, 90).map(|u| (u, false_share(u as u64, CACHED, rate))),
    )
    .points(format!("|C| = {CACHED}, f = {:.4}", rate), points);
    plot = plot.line(
        "|C| = 10⁴, f = 0.001 (the example)",
        even_log(1.1e4, 1e10, 80).map(|u| (u, false_share(u as u64, 10_000, 0.001))),
    );
    let example = false_share(10_000_000_000, 10_000, 0.001);
    let threshold = trust_threshold(0.001, 1.0);
    let prior = 1e-6;
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::printed("|M| = 10¹⁰, |C| = 10⁴, f = 10⁻³: 1 - 10⁻³", "0.999", example))
        .claim(Claim::printed("the same with the digits of the formula", "0.999001", example))
        .claim(Claim::holds(
            "eq. (4) with the measured proportion",
            "is the share that is counted",
            "in every round and size",
            identity,
        ))
        .claim(Claim::holds(
            "the filter should not be trusted there",
            "not to query costs less",
            format!("prior {prior:.0e} below {threshold:.3e}: {:.2e} against {:.2e} a query", prior, 0.001),
            prior < threshold && expected_cost(0.001, prior, 1.0, 1.0) <= prior * 1.000_001,
        ))
        .note(format!(
            "Points: {rounds} filters of {CACHED} elements in {m} bits, asked for all elements of the main memory."
        )))
}
