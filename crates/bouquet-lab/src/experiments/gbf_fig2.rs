use bouquet::theory::standard::{expected_rate, limit_rate};

use super::papers::LAUFER;
use super::shared::standard_rate;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig2",
    paper: &LAUFER,
    place: "Figure 2",
    title: "false-positive probability of a Bloom filter over the bits per element",
    run,
};

const N: u64 = 1_000;

fn run(lab: &Lab) -> Result<Report> {
    let mut plot =
        Plot::new(Axis::linear("bits per element, m/n"), Axis::log("false-positive probability f").range(1e-4, 1.0));
    let mut pairs = Vec::new();
    for k in [1, 2, 4, 6, 8] {
        let label = format!("k = {k}");
        let points = [2, 4, 8, 12, 16, 24, 32]
            .into_iter()
            .map(|c| {
                let mean = standard_rate(lab, (c * N, N, k), lab.rounds(200, 12), 10_000)?;
                pairs.push((expected_rate(c * N, N, k), mean));
                Ok((c as f64, mean))
            })
            .collect::<Result<Vec<_>>>()?;
        plot = plot.line(&label, even(1.0, 32.0, 125).map(|c| (c, limit_rate(c, k)))).points(&label, points);
    }
    let falls =
        (1..=8).all(|k| even(1.0, 32.0, 63).zip(even(1.5, 32.5, 63)).all(|(a, b)| limit_rate(b, k) < limit_rate(a, k)));
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("f = (1-e^(-kn/m))^k, with its finite-size correction", pairs))
        .claim(Claim::holds("more bits per element", "always reduce f", "for k = 1..8", falls))
        .note(format!("n = {N}; the paper's values of k are not in its text.")))
}
