use bouquet::Counting;
use bouquet::theory::counters::{choice_bound, half_full_bound, limit_reaches, power_bound, reaches, value};

use super::papers::TARKOMA;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-fig5",
    paper: &TARKOMA,
    place: "Figure 5",
    title: "bound on the probability that any counter reaches j",
    run,
};

/// A half-full filter whose highest counters a simulation sees.
const M: u64 = 1_010;
const N: u64 = 100;
const K: u32 = 7;

/// P(c = j) for j = 0..5, by (13) and measured in filters large enough that two functions of a key hardly ever coincide.
fn values(lab: &Lab) -> Result<Vec<(f64, Mean)>> {
    let (m, n) = (100_000, 9_902);
    let rounds = lab.try_play("values", lab.rounds(100, 12), |random| {
        let mut filter = Counting::with_size(m, K)?;
        for key in keys(random, n) {
            filter.insert(&key)?;
        }
        let mut counts = [0_u64; 6];
        filter.counters().iter().for_each(|counter| {
            if let Some(count) = counts.get_mut(counter as usize) {
                *count += 1;
            }
        });
        Ok(counts)
    })?;
    let share = |j: usize| Mean::of_shares(&rounds.iter().map(|counts| (counts[j], m)).collect::<Vec<_>>());
    Ok((0..6).map(|j| (value(m, n, K, j as u64), share(j))).collect())
}

fn run(lab: &Lab) -> Result<Report> {
    let rounds = lab.rounds(100_000, 5_000);
    let highest = lab.try_play("highest", rounds, |random| {
        let mut filter = Counting::with_size(M, K)?;
        for key in keys(random, N) {
            filter.insert(&key)?;
        }
        Ok(filter.counters().iter().max().unwrap_or(0))
    })?;
    let reached = |j: u64| Mean::of_shares(&highest.iter().map(|&max| (u64::from(max >= j), 1)).collect::<Vec<_>>());
    let js = || (2..=20_u64).map(|j| (j as f64, j));
    let capped = |p: f64| p.min(1.0);
    let plot = [1_000_u64, 1_000_000, 1_000_000_000].into_iter().fold(
        Plot::new(
            Axis::linear("value j").range(1.0, 20.5).ticks([2.0, 4.0, 8.0, 12.0, 16.0, 20.0]),
            Axis::log("P(max c ≥ j)").range(1e-16, 2.0),
        ),
        |plot, m| {
            let label = format!("bound (15), m = {}", crate::number::tick(m as f64));
            plot.line(label, js().map(|(x, j)| (x, capped(m as f64 * half_full_bound(j)))))
        },
    );
    let plot = plot
        .dashed("m P(c ≥ j), m = 1010", js().map(|(x, j)| (x, capped(M as f64 * reaches(M, N, K, j)))))
        .points("m P(c ≥ j), m = 1010", (2..=8).map(|j| (j as f64, reached(j))).filter(|(_, mean)| mean.value > 0.0));
    let within = (2..=8).all(|j| reached(j).deviations(capped(M as f64 * reaches(M, N, K, j))) <= 5.0);
    // What the survey says is the probability of j alone, not of j or more: it fails where most counters are above j.
    let (crowded, low) = (10, 3);
    let alone = crowded as f64 * value(crowded, 10, K, low);
    let crowded_reach = lab.share("crowded", lab.rounds(2_000, 200), |random| {
        let mut counters = [0_u64; 10];
        (0..10 * K).for_each(|_| counters[random.below(crowded) as usize] += 1);
        (u64::from(counters.iter().any(|&count| count >= low)), 1)
    });
    let chain = (1..=20).all(|j| {
        let exact = reaches(M, N, K, j);
        let (choice, power) = (choice_bound(M, N, K, j), power_bound(M, N, K, j));
        exact <= choice * (1.0 + 1e-9) && choice <= power * (1.0 + 1e-9) && power <= half_full_bound(j) * (1.0 + 1e-9)
    });
    let tail = limit_reaches(2f64.ln(), 16);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("eq. (13): P(c = j), j = 0..5", values(lab)?))
        .claim(Claim::printed("eq. (16): bound at j = 16, divided by m: 1.37e-15", "1.37e-15", half_full_bound(16)))
        .claim(Claim::holds("eq. (14), (15): order of the bounds", "exact ≤ (14) ≤ (15)", "for j = 1..20", chain))
        .claim(Claim::holds("m P(c ≥ j) bounds what is measured", "P(max c ≥ j) ≤ m P(c ≥ j)", "for j = 2..8", within))
        .claim(
            Claim::holds(
                "the bound after eq. (13), m P(c = j), at m = n = 10, k = 7, j = 3",
                format!("P(max c ≥ j) ≤ {alone:.3}"),
                crowded_reach.to_string(),
                crowded_reach.deviations(alone) <= 5.0,
            )
            .corrected(Claim::holds(
                "m P(c ≥ j) there",
                format!("P(max c ≥ j) ≤ {:.3}", capped(crowded as f64 * reaches(crowded, 10, K, low))),
                crowded_reach.to_string(),
                crowded_reach.deviations(capped(crowded as f64 * reaches(crowded, 10, K, low))) <= 5.0,
            )),
        )
        .claim(
            Claim::holds(
                "P(max c > 15) of Ficara et al.",
                "below 1.51e-16 for every m",
                format!("{tail:.3e} times m"),
                tail * 1e6 < 1.51e-16,
            )
            .corrected(Claim::printed("exact tail at half full, divided by m", "7.07e-17", tail)),
        )
        .claim(Claim::holds(
            "eq. (17), with max c read as one counter",
            "P(c > j) < P(c = j - 1)",
            "for j = 1..15",
            (1..=15).all(|j| {
                limit_reaches(2f64.ln(), j + 1) < limit_reaches(2f64.ln(), j - 1) - limit_reaches(2f64.ln(), j)
            }),
        ))
        .note(format!(
            "Points: the highest counter of {rounds} filters with m = {M}, n = {N}, k = {K}. The values of m are ours."
        )))
}
