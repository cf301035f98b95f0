use bouquet::theory::standard::{best_hashes, expected_rate, log_rate, log_rate_slope, optimal_rate};

use super::papers::LAUFER;
use super::shared::standard_rate;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig3",
    paper: &LAUFER,
    place: "Figure 3",
    title: "false-positive probability of a Bloom filter over the number of hash functions",
    run,
};

const N: u64 = 1_000;

fn run(lab: &Lab) -> Result<Report> {
    let mut plot = Plot::new(
        Axis::linear("hash functions, k").range(0.0, 16.0),
        Axis::log("false-positive probability f").range(1e-3, 1.0),
    );
    let mut pairs = Vec::new();
    for c in [4_u64, 6, 8, 10, 12] {
        let label = format!("m/n = {c}");
        let points = [1, 2, 3, 4, 6, 8, 10, 12, 15]
            .into_iter()
            .map(|k| {
                let mean = standard_rate(lab, (c * N, N, k), lab.rounds(200, 12), 10_000)?;
                pairs.push((expected_rate(c * N, N, k), mean));
                Ok((f64::from(k), mean))
            })
            .collect::<Result<Vec<_>>>()?;
        plot = plot.line(&label, even(0.2, 16.0, 80).map(|k| (k, log_rate(c as f64, k).exp()))).points(&label, points);
    }
    plot = plot.reference("optimum", [4.0, 6.0, 8.0, 10.0, 12.0].map(|c| (best_hashes(c), optimal_rate(c))));
    // (1-p) ln(1-p) = p ln p: its only solution inside (0, 1).
    let difference = |p: f64| (1.0 - p) * (1.0 - p).ln() - p * p.ln();
    let only = even(0.01, 0.49, 49).all(|p| {
        difference(p).signum() == difference(0.25).signum() && difference(p).signum() != difference(1.0 - p).signum()
    });
    let slope = log_rate_slope(10.0, best_hashes(10.0)).abs();
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("f = (1-e^(-kn/m))^k, with its finite-size correction", pairs))
        .claim(Claim::printed("f at the optimum, per bit: (0.5)^(ln 2)", "0.6185", optimal_rate(1.0)))
        .claim(Claim::holds("eq. (3) vanishes at k = (m/n) ln 2", "0", format!("{slope:.1e}"), slope < 1e-12))
        .claim(Claim::holds(
            "eq. (4): (1-p)^(1-p) = p^p",
            "only at p = 0.5",
            "one change of sign, at 0.5",
            only && difference(0.5).abs() < 1e-15,
        ))
        .note(format!("n = {N}; the paper's values of m/n are not in its text.")))
}
