use bouquet::Partitioned;
use bouquet::theory::{partitioned, standard};

use super::papers::TARKOMA;
use super::shared::{false_positives, standard_rate};
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-eq12",
    paper: &TARKOMA,
    place: "Equations 11 and 12",
    title: "one range for each hash function costs a little",
    run,
};

const K: u32 = 7;

fn run(lab: &Lab) -> Result<Report> {
    // Ten bits per element; multiples of 70 make ten whole slices.
    let sizes: Vec<u64> = [70, 140, 280, 560, 1_120, 2_240, 4_480].into();
    let (mut flat, mut sliced) = (Vec::new(), Vec::new());
    for &m in &sizes {
        let n = m / 10;
        let rounds = lab.rounds(4_000_000, 300_000) / m;
        flat.push((m, standard::expected_rate(m, n, K), standard_rate(lab, (m, n, K), rounds, 20 * n)?));
        let shares = lab.try_play(&format!("partitioned {m}"), rounds, |random| {
            let mut filter = Partitioned::with_size(m, K)?;
            filter.insert_batch(&keys(random, n));
            Ok(false_positives(&filter, random, 20 * n))
        })?;
        sliced.push((m, partitioned::rate(m, n, K), Mean::of_shares(&shares)));
    }
    let theory = |rows: &[(u64, f64, Mean)]| rows.iter().map(|row| (row.0 as f64, row.1)).collect::<Vec<_>>();
    let points = |rows: &[(u64, f64, Mean)]| rows.iter().map(|row| (row.0 as f64, row.2)).collect::<Vec<_>>();
    let plot = Plot::new(
        Axis::log("bits, m").ticks(sizes.iter().map(|&m| m as f64)),
        Axis::linear("false-positive rate").range(0.007, 0.0115),
    )
    .line("one range for all functions", theory(&flat))
    .points("one range for all functions", points(&flat))
    .line("a range for each function", theory(&sliced))
    .points("a range for each function", points(&sliced));
    let zeros = |m: u64| (standard::zeros(m, m / 10, K), partitioned::zeros(m, m / 10, K));
    let higher = sizes.iter().all(|&m| zeros(m).0 > zeros(m).1);
    let gap = |at: usize| sliced[at].1 / flat[at].1 - 1.0;
    let last = sizes.len() - 1;
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds("eq. (12)", "(1-1/m)^(kn) > (1-k/m)^n", "at all seven m", higher))
        .claim(Claim::curve("the standard filter's exact rate", flat.iter().map(|row| (row.1, row.2))))
        .claim(Claim::curve("the partitioned filter's rate (1-(1-k/m)^n)^k", sliced.iter().map(|row| (row.1, row.2))))
        .claim(Claim::holds(
            "eq. (11): the same asymptotically",
            "the difference vanishes",
            format!("{:.1} % at m = {}, {:.2} % at m = {}", 100.0 * gap(0), sizes[0], 100.0 * gap(last), sizes[last]),
            gap(last) < gap(0) / 50.0,
        ))
        .note(
            "Ten bits per element, k = 7. The partitioned filter's formula is exact; the standard \
             filter's has the correction of Bose et al.",
        ))
}
