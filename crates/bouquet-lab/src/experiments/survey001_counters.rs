use bouquet::Counting;
use bouquet::theory::counters::{half_full_bound, limit_reaches, power_bound, reaches, unreached, width};

use super::papers::BRODER;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey001-counters",
    paper: &BRODER,
    place: "Section 2.5",
    title: "how high the counters of a counting Bloom filter rise",
    run,
};

/// Half full: n k / m = 0.6931, as near to ln 2 as whole numbers allow.
const M: u64 = 100_000;
const N: u64 = 9_902;
const K: u32 = 7;
const HIGHEST: u64 = 16;

fn run(lab: &Lab) -> Result<Report> {
    let rounds = lab.rounds(100, 12);
    // Each round: how many counters are at least j, for every j.
    let filled = lab.play("counters", rounds, |random| -> Result<_> {
        let mut filter = Counting::with_size(M, K)?;
        for key in keys(random, N) {
            filter.insert(&key)?;
        }
        let mut at_least = [0_u64; HIGHEST as usize + 1];
        for counter in filter.counters().iter() {
            at_least.iter_mut().take(counter as usize + 1).for_each(|count| *count += 1);
        }
        Ok(at_least)
    });
    let filled = filled.into_iter().collect::<Result<Vec<_>>>()?;
    let measured: Vec<(u64, Mean)> = (1..=HIGHEST)
        .map(|j| (j, Mean::of_shares(&filled.iter().map(|counts| (counts[j as usize], M)).collect::<Vec<_>>())))
        .collect();
    let highest = filled.iter().filter_map(|counts| (1..=HIGHEST).rev().find(|&j| counts[j as usize] > 0)).max();

    let curve = |of: &dyn Fn(u64) -> f64| (1..=HIGHEST).map(|j| (j as f64, of(j))).collect::<Vec<_>>();
    let plot =
        Plot::new(Axis::linear("value j").ticks((1..=8).map(|j| 2.0 * f64::from(j))), Axis::log("P(counter ≥ j)"))
            .line("binomial law", curve(&|j| reaches(M, N, K, j)))
            .points(
                "binomial law",
                measured.iter().filter(|(_, mean)| mean.value > 0.0).map(|&(j, mean)| (j as f64, mean)),
            )
            .reference("bound at half full, (e ln 2/j)^j", curve(&half_full_bound));
    let bounded = (1..=HIGHEST).all(|j| reaches(M, N, K, j) <= power_bound(M, N, K, j) * (1.0 + 1e-12));
    let widths = [1_000, 1_000_000, 1_000_000_000].map(|m| unreached(m, m / 10, 7));
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::printed("bound on P(max ≥ 16), divided by m: 1.37e-15", "1.37e-15", half_full_bound(16)))
        .claim(Claim::curve(
            "P(c ≥ j) by the binomial law, j = 1..6",
            measured[..6].iter().map(|&(j, mean)| (reaches(M, N, K, j), mean)),
        ))
        .claim(Claim::holds("the bounds", "P(c ≥ j) ≤ (enk/(jm))^j", "for j = 1..16", bounded))
        .claim(Claim::holds(
            "4 bits per counter suffice",
            "no counter reaches 16",
            format!("highest {} in {rounds} filters", highest.unwrap_or(0)),
            highest.is_some_and(|highest| highest < 16),
        ))
        .claim(Claim::holds(
            "bits per counter",
            "O(log log m)",
            format!("m = 10³, 10⁶, 10⁹: no counter expected at {}, {}, {}", widths[0], widths[1], widths[2]),
            widths[2] <= widths[0] + 6 && width(1_000_000_000, 100_000_000, 7, 1e-3) <= 4,
        ))
        .note(format!(
            "{rounds} filters with m = {M}, n = {N}, k = {K}. The bound is loose: the exact tail of \
             the limit, a Poisson law with mean ln 2, is {:.3e} at 16, a twentieth of it.",
            limit_reaches(2f64.ln(), 16)
        )))
}
