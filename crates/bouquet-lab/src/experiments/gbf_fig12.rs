use bouquet::theory::generalized::{Shape, bound};

use super::gbf::{Trial, element, rate, report};
use super::gbf_fig11::chart;
use super::papers::LAUFER;
use crate::{Claim, Experiment, Lab, Mean, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig12",
    paper: &LAUFER,
    place: "Figure 12",
    title: "false-positive probability of a GBF over the initial fraction of bits set, k₀ = k₁ = 2",
    run,
};

const SHAPE: Shape = Shape { bits: 1_000, resets: 2, sets: 2 };

fn run(lab: &Lab) -> Result<Report> {
    let curves = [1_000, 200, 40, 10, 2].map(|n| (format!("m/n = {}", 1_000 / n), SHAPE, n));
    let chart = chart(lab, "k₀ = k₁ = 2", &curves, 0.07)?;
    // Steady state by insertions alone, from the best start.
    let (rounds, many) = (lab.rounds(40, 8), lab.rounds(100_000, 20_000));
    let steady = lab.try_play("steady", rounds, |random| {
        let mut trial = Trial::new(random, SHAPE, 1.0, 0)?;
        for _ in 0..many {
            let next = element(random);
            trial.insert(next);
        }
        Ok((1.0 - trial.filter.bits().fill(), trial.false_positives(random, 20_000)))
    })?;
    let (_, crowded) = rate(lab, SHAPE, 1.0, 1_000)?;
    let zeros = Mean::of(&steady.iter().map(|round| round.0).collect::<Vec<_>>());
    let share = Mean::of_shares(&steady.iter().map(|round| round.1).collect::<Vec<_>>());
    let kept = [10, 1_000].into_iter().all(|n| (SHAPE.limit_zeros(0.5, n) - 0.5).abs() < 1e-12);
    // All zeros at the start and few elements: the mean exponents of (9) miss the collisions.
    let sparse = Shape { bits: 1_280, ..SHAPE };
    let p = sparse.zeros(1.0, 10);
    let sparse_rates: Vec<(u64, u64)> = lab.try_play("sparse", lab.rounds(4_000, 1_500), |random| {
        Ok(Trial::new(random, sparse, 1.0, 10)?.false_positives(random, 5_000))
    })?;
    let sparse_rate = Mean::of_shares(&sparse_rates);
    Ok(report([chart])
        .claim(Claim::holds("from p₀ = k₀/(k₀+k₁)", "p stays, independent of n", "by (16), n = 10 and 1000", kept))
        .claim(Claim::simulated("steady state: fraction of zeros after many insertions", SHAPE.steady_zeros(), zeros))
        .claim(Claim::simulated(
            "steady state: f_p, exact with collisions",
            SHAPE.exact_rate_at(SHAPE.steady_zeros()),
            share,
        ))
        .claim(Claim::near("steady state: f_p is F_p", 0.001, [(bound(2.0, 2.0), share)]))
        .claim(Claim::near("m/n = 1, from all zeros: f_p is nearly F_p", 0.001, [(bound(2.0, 2.0), crowded)]))
        .claim(Claim::simulated("eq. (9) from all zeros, m = 1280, n = 10", sparse.rate_at(p), sparse_rate).corrected(
            Claim::simulated("E[p^D₀ (1-p)^D₁] over the distinct positions", sparse.exact_rate_at(p), sparse_rate),
        ))
        .note(format!("m = 1000. Steady state: {rounds} arrays of zeros after {many} insertions.")))
}
