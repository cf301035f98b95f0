use bouquet::membership::pipelined::StagePlan;
use bouquet::theory::pipeline;
use bouquet::{Pipelined, PipelinedSettings};

use super::papers::LUO;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey003-eq67",
    paper: &LUO,
    place: "Equations 6 and 7",
    title: "hash evaluations that pipelined Bloom filters save",
    run,
};

const K: u32 = 8;
/// Half full with k = 8.
const M: u64 = 100_000;
const N: u64 = 8_664;

/// The filter of these bits with this plan, and the share of the evaluations that it saved on these queries.
fn saving(base: &Pipelined, stages: StagePlan, first: Option<u32>, queries: &[u64]) -> Result<f64> {
    let stages = Some(stages);
    let mut filter = Pipelined::with(PipelinedSettings { stages, first, ..base.settings() })?;
    filter.merge(base)?;
    for key in queries {
        filter.measure(key);
    }
    Ok(1.0 - filter.work().mean(|work| work.evaluations) / f64::from(K))
}

/// What is measured of a filter.
struct Run {
    /// What two stages save, by the functions of the first.
    two: Vec<f64>,
    /// What a stage for each function saves.
    full: f64,
    fill: f64,
}

fn run(lab: &Lab) -> Result<Report> {
    let (rounds, queries) = (lab.rounds(60, 6), 20_000);
    let stages: Vec<u32> = (1..K).collect();
    let runs = lab.try_play("queries", rounds, |random| {
        let mut base = Pipelined::with_size(M, K)?;
        base.insert_batch(&keys(random, N));
        let asked = keys(random, queries);
        let two =
            stages.iter().map(|&k1| saving(&base, StagePlan::Two, Some(k1), &asked)).collect::<Result<Vec<_>>>()?;
        Ok(Run { two, full: saving(&base, StagePlan::Full, None, &asked)?, fill: base.bits().fill() })
    })?;
    let rho = runs.iter().map(|run| run.fill).sum::<f64>() / rounds as f64;
    let mean = |of: &dyn Fn(&Run) -> f64| Mean::of(&runs.iter().map(of).collect::<Vec<_>>());
    let measured: Vec<(u32, Mean)> = stages.iter().enumerate().map(|(i, &k1)| (k1, mean(&|run| run.two[i]))).collect();
    let k = f64::from(K);
    let right = |k1: u32| pipeline::saving(&[k1, K - k1], rho);
    // As printed: (k₂ + (k₁ - k)(1 - e^(-k₁/m)))/k.
    let printed = |k1: u32| (f64::from(K - k1) - f64::from(K - k1) * (1.0 - (-f64::from(k1) / M as f64).exp())) / k;
    let full = mean(&|run| run.full);
    let full_theory = pipeline::saving(&[1; K as usize], rho);
    let plot = Plot::new(
        Axis::linear("functions of the first stage, k₁").range(0.5, 7.5),
        Axis::linear("evaluations saved").range(0.0, 1.0),
    )
    .line("two stages", stages.iter().map(|&k1| (f64::from(k1), right(k1))))
    .points("two stages", measured.iter().map(|&(k1, mean)| (f64::from(k1), mean)))
    .line("a stage for each function, eq. (7)", [(1.0, full_theory), (7.0, full_theory)])
    .points("a stage for each function, eq. (7)", [(1.0, full)])
    .reference("eq. (6) as printed", stages.iter().map(|&k1| (f64::from(k1), printed(k1))));
    let pairs = |of: &dyn Fn(u32) -> f64| measured.iter().map(|&(k1, mean)| (of(k1), mean)).collect::<Vec<_>>();
    Ok(Report::new()
        .plot(plot)
        .claim(
            Claim::curve("eq. (6): (k₂ + (k₁-k)(1-e^(-k₁/m)))/k", pairs(&printed))
                .corrected(Claim::curve("(k₂/k)(1-(1-e^(-kn/m))^k₁)", pairs(&right))),
        )
        .claim(Claim::simulated("eq. (7): 1 - (1/k) Σ ρ^(i-1)", full_theory, full))
        .note(format!(
            "k = {K}, m = {M}, n = {N}: {:.2} % of the bits are set. {rounds} filters, {queries} queries each.",
            100.0 * rho
        )))
}
