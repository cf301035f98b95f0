use bouquet::Bloom;
use bouquet::hash::{Hashing, Scheme};

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

fn run(lab: &Lab) -> Result<Report> {
    let (rounds, queries) = (lab.rounds(60, 6), 20_000);
    // For each query: how many probes hit before the first that misses.
    let runs = lab.try_play("queries", rounds, |random| {
        let mut filter = Bloom::with_size(M, K)?;
        filter.insert_batch(&keys(random, N));
        let mut hits = [0_u64; K as usize + 1];
        for key in keys(random, queries) {
            let positions = Scheme::default().positions(&Hashing::default(), &key.to_le_bytes(), M, K);
            hits[positions.iter().take_while(|&&position| filter.bits().get(position)).count()] += 1;
        }
        Ok((hits, filter.fill()))
    })?;
    let rho = runs.iter().map(|run| run.1).sum::<f64>() / rounds as f64;
    // The mean saving, in parts of k, when a query with this many hits costs this many evaluations.
    let saving = |cost: &dyn Fn(u32) -> u32| {
        let spent = |hits: &[u64]| hits.iter().zip(0..).map(|(&count, hit)| count * u64::from(cost(hit))).sum::<u64>();
        Mean::of(
            &runs
                .iter()
                .map(|(hits, _)| 1.0 - spent(hits) as f64 / (queries * u64::from(K)) as f64)
                .collect::<Vec<_>>(),
        )
    };
    let stages: Vec<u32> = (1..K).collect();
    let measured: Vec<(u32, Mean)> =
        stages.iter().map(|&k1| (k1, saving(&|hit| if hit >= k1 { K } else { k1 }))).collect();
    let k = f64::from(K);
    let right = |k1: u32| f64::from(K - k1) / k * (1.0 - rho.powi(k1 as i32));
    // As printed: (k₂ + (k₁ - k)(1 - e^(-k₁/m)))/k.
    let printed = |k1: u32| (f64::from(K - k1) - f64::from(K - k1) * (1.0 - (-f64::from(k1) / M as f64).exp())) / k;
    let full = saving(&|hit| (hit + 1).min(K));
    let full_theory = 1.0 - (1..=K).map(|i| rho.powi(i as i32 - 1)).sum::<f64>() / k;
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
