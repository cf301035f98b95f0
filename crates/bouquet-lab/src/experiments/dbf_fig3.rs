use bouquet::hash::SplitMix;
use bouquet::theory::dynamic::Shape;

use super::dbf::{BASE, by_point, chain, false_positives};
use super::papers::GUO;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig3",
    paper: &GUO,
    place: "Figure 3",
    title: "rate of the union of standard filters minus that of chains, m = 1280, k = 7, c = 133",
    run,
};

const LARGEST: u64 = 1330;

/// f(n_a + n_b) minus (4).
fn gain(a: u64, b: u64) -> f64 {
    BASE.plain_rate(a + b) - BASE.union_rate(a, b)
}

/// The same, measured in unions: of whole components, which are never united with each other.
fn measured(random: &mut SplitMix, (a, b): (u64, u64)) -> Result<f64> {
    let mut here = chain(random, BASE)?;
    let mut there = here.clone();
    let mut one = chain(random, Shape { capacity: a + b, ..BASE })?;
    for (filter, n) in [(&mut here, a), (&mut there, b)] {
        for key in keys(random, n) {
            filter.add(&key)?;
            one.add(&key)?;
        }
    }
    here.merge(&there)?;
    let [(chained, _), (or, asked)] = [&here, &one].map(|filter| false_positives(filter, random, 2_000));
    Ok((or as f64 - chained as f64) / asked as f64)
}

fn run(lab: &Lab) -> Result<Report> {
    let simulated = [(1, 1), (1, 4), (1, 8), (4, 1), (4, 4), (4, 8), (8, 1), (8, 4), (8, 8)];
    let pairs = simulated.map(|(a, b)| (a * BASE.capacity, b * BASE.capacity));
    let rounds = lab.try_play("unions", lab.rounds(300, 30), |random| {
        pairs.iter().map(|&pair| measured(random, pair)).collect::<Result<Vec<_>>>()
    })?;
    let means = by_point(&rounds, Mean::of);
    let mut cuts = Plot::new(Axis::linear("items of A, n_a"), Axis::linear("difference of the rates"))
        .titled("(a) cuts through the surface");
    for b in [1, 67, 133, 266, 532, 1064] {
        let label = format!("n_b = {b}");
        cuts = cuts.line(&label, (0..=LARGEST).step_by(7).map(|a| (a as f64, gain(a, b))));
        let points: Vec<(f64, Mean)> = pairs
            .iter()
            .zip(&means)
            .filter(|(pair, _)| pair.1 == b)
            .map(|(pair, &mean)| (pair.0 as f64, mean))
            .collect();
        if !points.is_empty() {
            cuts = cuts.points(&label, points);
        }
    }
    let mut plane =
        Plot::new(Axis::linear("items of A, n_a").range(0.0, 800.0), Axis::linear("items of B, n_b").range(0.0, 800.0))
            .titled("(b) lines of equal height");
    for level in [0.1, 0.2, 0.3, 0.5, 0.7, 0.8] {
        // The surface rises from the origin; beyond this height it is a plateau with small steps.
        let reached = |a: u64| (0..LARGEST).find(|&b| gain(a, b) >= level);
        let line = (0..=LARGEST).step_by(19).filter_map(|a| Some((a as f64, reached(a)? as f64)));
        plane = plane.line(format!("difference {level}"), line.take_while(|point| point.1 > 0.0));
    }
    let grid = || (1..=LARGEST).step_by(19).flat_map(|a| (1..=LARGEST).step_by(19).map(move |b| (a, b)));
    let above = grid().all(|(a, b)| BASE.union_rate(a, b) > BASE.rate(a).max(BASE.rate(b)));
    let small = (1..133).all(|a| (1..133).all(|b| gain(a, b) > 0.0));
    let (least, most) =
        grid().map(|(a, b)| gain(a, b)).fold((1.0f64, 0.0f64), |(least, most), gain| (least.min(gain), most.max(gain)));
    Ok(Report::new()
        .plot(cuts)
        .plot(plane)
        .claim(Claim::curve(
            "the difference in unions of whole components",
            pairs.iter().map(|&(a, b)| gain(a, b)).zip(means),
        ))
        .claim(Claim::holds(
            "theorem 4: the union of chains",
            "has a larger rate than either of them",
            "on a grid of sizes up to 1330",
            above,
        ))
        .claim(Claim::holds(
            "theorem 5: sets of fewer than c items",
            "the union of chains has the smaller rate",
            "for all sizes from 1 to 132",
            small,
        ))
        .claim(Claim::holds(
            "sets of more than c items",
            "the union of chains still has the smaller rate",
            format!("the difference lies above 0 everywhere and is {most:.3} at most"),
            least > 0.0,
        ))
        .note(format!(
            "The paper draws the surface in perspective; here cuts through it and lines of equal height. At \
             n_a = n_b = c it is {:.4} - {:.4}. Chains whose last components fit in one are united by the library; (4) \
             does not count that, and the points have whole components alone.",
            BASE.plain_rate(266),
            BASE.union_rate(133, 133)
        )))
}
