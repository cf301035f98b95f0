use bouquet::theory::generalized::{balance, bound, crossing, miss_bound};

use super::papers::LAUFER;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig14",
    paper: &LAUFER,
    place: "Figure 14",
    title: "maximum false-positive and false-negative probability over k₀ and k₁, m/n = 256",
    run,
};

const BITS_PER_KEY: f64 = 256.0;

fn run(_: &Lab) -> Result<Report> {
    let mut slices =
        Plot::new(Axis::linear("setting functions, k₁"), Axis::linear("maximum probability").range(0.0, 0.3))
            .titled("(a) cuts through the surfaces: F_p falls, F_n (dashed) rises");
    for resets in [1.0, 2.0, 3.0, 4.0] {
        let label = format!("k₀ = {resets}");
        slices = slices
            .line(&label, even(0.5, 6.0, 90).map(|sets| (sets, bound(resets, sets))))
            .dashed(&label, even(0.5, 6.0, 90).map(|sets| (sets, miss_bound(resets, sets, BITS_PER_KEY))));
    }
    let curve = |ratio: f64| even(0.5, 8.0, 120).map(move |resets| (resets, crossing(resets, BITS_PER_KEY, ratio)));
    let [equal, third] = [balance(BITS_PER_KEY, 1.0)?, balance(BITS_PER_KEY, 3.0)?];
    let plane = Plot::new(
        Axis::linear("resetting functions, k₀").range(0.0, 8.0),
        Axis::linear("setting functions, k₁").range(0.0, 8.0),
    )
    .titled("(b) where the surfaces meet, and the nearest whole numbers")
    .line("F_n = F_p (24)", curve(1.0))
    .points("F_n = F_p (24)", equal.pairs.iter().take(6).map(|pair| (f64::from(pair.resets), f64::from(pair.sets))))
    .line("F_n = F_p/3 (25)", curve(3.0))
    .points("F_n = F_p/3 (25)", third.pairs.iter().take(6).map(|pair| (f64::from(pair.resets), f64::from(pair.sets))));
    let grid = || (1..=6).flat_map(|a| (1..=6).map(move |b| (f64::from(a), f64::from(b))));
    let falls = grid().all(|(a, b)| bound(a + 1.0, b) < bound(a, b) && bound(a, b + 1.0) < bound(a, b));
    let rises = grid().all(|(a, b)| {
        let f = |a, b| miss_bound(a, b, BITS_PER_KEY);
        f(a + 1.0, b) > f(a, b) && f(a, b + 1.0) > f(a, b)
    });
    let met = even(1.0, 6.0, 21).all(|a| {
        (bound(a, crossing(a, BITS_PER_KEY, 1.0)) - miss_bound(a, crossing(a, BITS_PER_KEY, 1.0), BITS_PER_KEY)).abs()
            < 1e-9
    });
    let best = equal.best;
    Ok(Report::new()
        .plot(slices)
        .plot(plane)
        .claim(Claim::holds("more functions of either sort", "F_p decreases", "on the grid 1..7", falls))
        .claim(Claim::holds(
            "more functions of either sort, false negatives",
            "F_n increases",
            "on the grid 1..7",
            rises,
        ))
        .claim(Claim::holds("eq. (24): the surfaces intersect in a curve", "F_n = F_p", "for k₀ from 1 to 6", met))
        .claim(Claim::printed("F_p of the balanced pair k₀ = 2, k₁ = 3", "3.5 %", best.bound))
        .claim(Claim::printed("F_n of the balanced pair k₀ = 2, k₁ = 3", "4.6 %", best.miss_bound))
        .note(
            "The paper draws the surfaces in perspective; here cuts through them and, in the plane \
             of k₀ and k₁, the curve K in which they intersect.",
        ))
}
