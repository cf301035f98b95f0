use bouquet::theory::generalized::{Shape, limit_rate};

use super::gbf::{Chart, label, rate, report};
use super::papers::LAUFER;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig6",
    paper: &LAUFER,
    place: "Figure 6",
    title: "false-positive probability of a GBF over the fraction of bits set",
    run,
};

const M: u64 = 1_280;
const N: u64 = 10;

/// One chart: curves of these functions, and points with their exact and their simplified rate.
pub(super) fn chart(lab: &Lab, title: &str, functions: &[(u32, u32)], top: f64) -> Result<Chart> {
    let mut plot = Plot::new(
        Axis::linear("fraction of bits set, 1-p"),
        Axis::linear("false-positive probability f_p").range(0.0, top),
    )
    .titled(title);
    let (mut exact, mut simple) = (Vec::new(), Vec::new());
    for &(resets, sets) in functions {
        let shape = Shape { bits: M, resets, sets };
        let mut points = Vec::new();
        for ones in even(0.0, 1.0, 11) {
            let (fill, mean) = rate(lab, shape, 1.0 - ones, N)?;
            let rate = shape.exact_rate_at(shape.zeros(1.0 - ones, N));
            exact.push((rate, mean));
            simple.push((limit_rate(resets.into(), sets.into(), shape.limit_zeros(1.0 - ones, N)), rate));
            points.push((fill.value, mean));
        }
        let curve = even(0.0, 1.0, 101).map(|ones| (ones, limit_rate(resets.into(), sets.into(), 1.0 - ones)));
        plot = plot.line(label(shape), curve).points(label(shape), points);
    }
    Ok(Chart { plot, exact, simple })
}

fn run(lab: &Lab) -> Result<Report> {
    let left = chart(lab, "(a) k₁ = 1", &[(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)], 1.0)?;
    let right = chart(lab, "(b) k₀ = 1", &[(1, 0), (1, 1), (1, 2), (1, 3), (1, 4)], 1.0)?;
    Ok(report([left, right])
        .claim(Claim::holds(
            "k₀ = 0 is the standard filter",
            "f_p = 1-p rises to 1",
            "1 at 1-p = 1",
            limit_rate(0.0, 1.0, 0.0) == 1.0,
        ))
        .claim(Claim::holds(
            "k₁ = 0 is its mirror image",
            "f_p = p falls from 1",
            "1 at 1-p = 0",
            limit_rate(1.0, 0.0, 1.0) == 1.0,
        ))
        .note(format!("m = {M}, {N} elements inserted into arrays with 0 to 100 % ones.")))
}
