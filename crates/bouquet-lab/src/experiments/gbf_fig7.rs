use bouquet::theory::generalized::{Shape, bound, worst_zeros};

use super::gbf::{rate, report};
use super::gbf_fig6::chart;
use super::papers::LAUFER;
use crate::{Claim, Experiment, Lab, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig7",
    paper: &LAUFER,
    place: "Figure 7",
    title: "false-positive probability of a GBF with as many setting as resetting functions",
    run,
};

fn run(lab: &Lab) -> Result<Report> {
    let chart = chart(lab, "k = k₀ = k₁", &[(1, 1), (2, 2), (3, 3), (4, 4)], 0.26)?;
    let mut report = report([chart]);
    for (resets, sets, printed) in [(2, 2, "6.3 %"), (3, 3, "1.6 %"), (4, 4, "0.4 %"), (2, 3, "3.5 %")] {
        let (g, h) = (f64::from(resets), f64::from(sets));
        let shape = Shape { bits: 1_280, resets, sets };
        let (_, measured) = rate(lab, shape, worst_zeros(g, h), 0)?;
        report = report
            .claim(Claim::printed(format!("F_p for k₀ = {resets}, k₁ = {sets}"), printed, bound(g, h)))
            .claim(Claim::simulated(
                format!("rate at the worst fill, exact with collisions, k₀ = {resets}, k₁ = {sets}"),
                shape.exact_rate_at(worst_zeros(g, h)),
                measured,
            ));
    }
    let quarter = (1..=8).all(|k| (bound(f64::from(k), f64::from(k)) * 4f64.powi(k) - 1.0).abs() < 1e-12);
    let beyond = Shape { bits: 1_280, resets: 2, sets: 2 }.largest_rate() / bound(2.0, 2.0);
    Ok(report.claim(Claim::holds("the maximum decays with 1/4^k", "F_p = 4^-k", "for k = 1..8", quarter)).note(
        format!(
            "F_p is the limit for large arrays. An element's own positions collide in a small one, \
             which raises the largest rate by a factor: {beyond:.4} at m = 1280, k = 2."
        ),
    ))
}
