use bouquet::theory::generalized::Shape;

use super::gbf::{label, misses};
use super::papers::LAUFER;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig8",
    paper: &LAUFER,
    place: "Figure 8",
    title: "false-negative probability of each element, n = 10, m/n = 128",
    run,
};

const M: u64 = 1_280;
const N: u64 = 10;

/// One chart: a curve for each number of functions, and points with their formula (12).
pub(super) fn chart(lab: &Lab, title: &str, functions: &[(u32, u32)]) -> Result<(Plot, Vec<(f64, Mean)>)> {
    let mut plot = Plot::new(
        Axis::linear("element, in the order of insertion").ticks((1..=10).map(f64::from)),
        Axis::linear("false-negative probability f_n"),
    )
    .titled(title);
    let mut pairs = Vec::new();
    for &(resets, sets) in functions {
        let shape = Shape { bits: M, resets, sets };
        let measured = misses(lab, shape, N)?;
        let curve: Vec<f64> = (1..=N).map(|at| shape.miss_rate(N - at)).collect();
        let at = |i: usize| (i + 1) as f64;
        plot = plot
            .line(label(shape), curve.iter().enumerate().map(|(i, &f)| (at(i), f)))
            .points(label(shape), measured.iter().enumerate().map(|(i, &mean)| (at(i), mean)));
        pairs.extend((1..=N).map(|at| shape.exact_miss_rate(N - at)).zip(measured));
    }
    Ok((plot, pairs))
}

fn run(lab: &Lab) -> Result<Report> {
    let (left, pairs_a) = chart(lab, "(a) k₁ = 1", &[(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)])?;
    let (right, pairs_b) = chart(lab, "(b) k₀ = 1", &[(1, 0), (1, 1), (1, 2), (1, 3), (1, 4)])?;
    let zero = [&pairs_a[..10], &pairs_b[..10]].concat().iter().all(|(_, mean)| mean.value == 0.0);
    let shape = |resets, sets| Shape { bits: M, resets, sets };
    let falling = (1..N).all(|later| shape(3, 1).miss_rate(later) > shape(3, 1).miss_rate(later - 1));
    let apart = (1..=4).map(|k| (shape(k, 1).miss_rate(9) - shape(1, k).miss_rate(9)).abs()).fold(0.0, f64::max);
    Ok(Report::new()
        .plot(left)
        .plot(right)
        .claim(Claim::curve("f_n of the ten elements", pairs_a.into_iter().chain(pairs_b)))
        .claim(Claim::holds(
            "the standard filter, k₀ = 0, and its mirror image, k₁ = 0",
            "no false negatives",
            "none",
            zero,
        ))
        .claim(Claim::holds("elements inserted first", "have higher probabilities", "for k₀ = 3, k₁ = 1", falling))
        .claim(Claim::holds(
            "k₀ and k₁ exchanged",
            "approximately the same",
            format!("differ by at most {apart:.1e}"),
            apart < 1e-3,
        ))
        .note("The arrays begin with zeros; false negatives do not depend on that."))
}
