use bouquet::theory::generalized::{Shape, limit_rate, worst_zeros};

use super::gbf::{Chart, label, rate, report};
use super::papers::LAUFER;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig11",
    paper: &LAUFER,
    place: "Figure 11",
    title: "false-positive probability of a GBF over the initial fraction of bits set, m/n = 25",
    run,
};

/// The curves of one chart over the initial fraction of ones: label, shape and number of elements of each.
pub(super) fn chart(lab: &Lab, title: &str, curves: &[(String, Shape, u64)], top: f64) -> Result<Chart> {
    let mut plot = Plot::new(
        Axis::linear("initial fraction of bits set, 1-p₀"),
        Axis::linear("false-positive probability f_p").range(0.0, top),
    )
    .titled(title);
    let (mut exact, mut simple) = (Vec::new(), Vec::new());
    for (name, shape, n) in curves {
        let (resets, sets) = (shape.resets.into(), shape.sets.into());
        let simplified = |ones: f64| limit_rate(resets, sets, shape.limit_zeros(1.0 - ones, *n));
        let mut points = Vec::new();
        for ones in even(0.0, 1.0, 11) {
            let (_, mean) = rate(lab, *shape, 1.0 - ones, *n)?;
            let rate = shape.exact_rate_at(shape.zeros(1.0 - ones, *n));
            exact.push((rate, mean));
            simple.push((simplified(ones), rate));
            points.push((ones, mean));
        }
        plot = plot.line(name, even(0.0, 1.0, 101).map(|ones| (ones, simplified(ones)))).points(name, points);
    }
    Ok(Chart { plot, exact, simple })
}

fn run(lab: &Lab) -> Result<Report> {
    let curves = |functions: [(u32, u32); 5]| {
        functions
            .map(|(resets, sets)| (label(Shape { bits: 0, resets, sets }), Shape { bits: 1_000, resets, sets }, 40))
    };
    let left = chart(lab, "(a) k₁ = 2", &curves([(0, 2), (1, 2), (2, 2), (3, 2), (4, 2)]), 1.0)?;
    let right = chart(lab, "(b) k₀ = 2", &curves([(2, 0), (2, 1), (2, 2), (2, 3), (2, 4)]), 1.0)?;
    let shape = Shape { bits: 1_000, resets: 2, sets: 2 };
    let at = |zeros: f64| shape.exact_rate_at(shape.zeros(zeros, 40));
    let highest = even(0.0, 1.0, 101).max_by(|a, b| at(*a).total_cmp(&at(*b))).unwrap_or(0.0);
    Ok(report([left, right])
        .claim(Claim::holds(
            "eq. (23): the worst start for k₀ = k₁ = 2",
            "p₀ = k₀/(k₀+k₁) = 0.5",
            format!("{highest:.2}"),
            (highest - worst_zeros(2.0, 2.0)).abs() < 0.011,
        ))
        .claim(Claim::printed(
            "f_p from that start is F_p",
            "6.3 %",
            limit_rate(2.0, 2.0, shape.limit_zeros(worst_zeros(2.0, 2.0), 40)),
        ))
        .claim(Claim::holds(
            "all bits set or all reset",
            "the best starts",
            format!("{:.4} and {:.4}", at(0.0), at(1.0)),
            even(0.05, 0.95, 19).all(|p| at(p) > at(0.0).max(at(1.0))),
        ))
        .note("m = 1000, n = 40."))
}
