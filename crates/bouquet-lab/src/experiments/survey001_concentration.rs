use bouquet::Bloom;
use bouquet::theory::spread::{deviation_bound, ones, ones_variance};

use super::papers::BRODER;
use crate::plot::even;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey001-concentration",
    paper: &BRODER,
    place: "Section 2.1",
    title: "the fraction of zeros stays close to its expectation",
    run,
};

const M: u64 = 10_000;
const N: u64 = 1_000;
const K: u32 = 7;

fn run(lab: &Lab) -> Result<Report> {
    let rounds = lab.rounds(100_000, 4_000);
    let zeros = lab.try_play("zeros", rounds, |random| {
        let mut filter = Bloom::with_size(M, K)?;
        filter.insert_batch(&keys(random, N));
        Ok((M - filter.bits().count_ones()) as f64)
    })?;
    let expected = M as f64 - ones(M, N, K);
    let sd = ones_variance(M, N, K).sqrt();
    let off = |fraction: f64| {
        Mean::of_shares(
            &zeros.iter().map(|z| (u64::from((z - expected).abs() >= fraction * M as f64), 1)).collect::<Vec<_>>(),
        )
    };
    let fractions: Vec<f64> = even(0.0, 0.012, 13).collect();
    let measured: Vec<(f64, Mean)> = fractions.iter().map(|&fraction| (fraction, off(fraction))).collect();
    let normal = |fraction: f64| 2.0 * bouquet::theory::special::normal_tail(fraction * M as f64 / sd);
    let plot = Plot::new(Axis::linear("deviation ε, as a part of m"), Axis::log("P(|X - p'm| ≥ ε m)").range(1e-5, 2.0))
        .reference("Azuma–Hoeffding bound", even(0.0, 0.02, 81).map(|e| (e, deviation_bound(M, N, K, e))))
        .line("normal law, exact variance", even(0.0, 0.012, 81).map(|e| (e, normal(e))))
        .points("normal law, exact variance", measured.iter().copied().filter(|(_, mean)| mean.value > 0.0));
    let bounded = measured.iter().all(|&(e, mean)| mean.value <= deviation_bound(M, N, K, e) + 5.0 * mean.error);
    let mean = Mean::of(&zeros);
    let spread = Mean::of(&zeros.iter().map(|z| (z - expected).powi(2)).collect::<Vec<_>>());
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::simulated("E(X) = p'm", expected, mean))
        .claim(Claim::simulated("Var X (not in the paper)", sd * sd, spread))
        .claim(Claim::holds("the Azuma–Hoeffding bound", "2 exp(-2ε²m²/(nk))", "holds at every ε", bounded))
        .note(format!("{rounds} filters with m = {M}, n = {N}, k = {K}. The standard deviation is {sd:.1} bits.")))
}
