use bouquet::theory::standard::{best_hashes, exact_rate, for_bits, limit_rate, optimal_rate, rate};

use super::papers::LUO;
use super::shared::standard_rate;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey003-eq3",
    paper: &LUO,
    place: "Equations 1 to 3",
    title: "the classic false-positive rate is a lower bound of the exact one",
    run,
};

/// m, n and k of small filters.
const FILTERS: [(u64, u64, u32); 6] =
    [(16, 2, 2), (32, 4, 3), (64, 8, 5), (256, 25, 7), (1_024, 102, 7), (1_024, 64, 11)];

/// Stirling's number of the second kind, with the sign (-1)^j that is printed or the right one, (-1)^(i-j).
fn stirling(balls: u32, i: u32, printed: bool) -> f64 {
    let choose = |j: u32| (0..j).fold(1.0, |c, l| c * f64::from(i - l) / f64::from(l + 1));
    let sign = |j: u32| if (if printed { j } else { i - j }).is_multiple_of(2) { 1.0 } else { -1.0 };
    let factorial: f64 = (1..=i).map(f64::from).product();
    (0..=i).map(|j| sign(j) * choose(j) * f64::from(j).powi(balls as i32)).sum::<f64>() / factorial
}

/// Eq. (3) by its letters, for filters so small that the alternating sum keeps its digits.
fn by_stirling((m, n, k): (u32, u32, u32), printed: bool) -> f64 {
    let term = |i: u32| {
        let falling: f64 = (0..i).map(|l| f64::from(m - l)).product();
        f64::from(i).powi(k as i32) * falling * stirling(k * n, i, printed)
    };
    (1..=m.min(k * n)).map(term).sum::<f64>() / f64::from(m).powi((k * (n + 1)) as i32)
}

fn run(lab: &Lab) -> Result<Report> {
    let exact = |m: u64, n: u64, k: u32| exact_rate(m, n, k).unwrap_or(f64::NAN);
    let sizes = [16_u64, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096];
    let mut plot =
        Plot::new(Axis::log("bits, m").ticks(sizes.map(|m| m as f64)), Axis::linear("rate / classic rate of eq. (1)"))
            .reference("eq. (1)", [(16.0, 1.0), (4_096.0, 1.0)]);
    for (c, k) in [(8, 4), (8, 6), (16, 11)] {
        let label = format!("m/n = {c}, k = {k}");
        let ratio = |m: u64| exact(m, m / c, k) / rate(m, m / c, k);
        let measured = sizes[..5].iter().map(|&m| {
            let n = m / c;
            let mean = standard_rate(lab, (m, n, k), lab.rounds(10_000_000, 600_000) / m, 50)?;
            let classic = rate(m, n, k);
            Ok((m as f64, Mean { value: mean.value / classic, error: mean.error / classic, ..mean }))
        });
        plot = plot
            .line(&label, sizes.map(|m| (m as f64, ratio(m))))
            .points(&label, measured.collect::<Result<Vec<_>>>()?);
    }
    let measured = FILTERS
        .iter()
        .map(|&(m, n, k)| standard_rate(lab, (m, n, k), lab.rounds(6_000_000, 600_000) / m, 100))
        .collect::<Result<Vec<_>>>()?;
    let pairs = |of: &dyn Fn(u64, u64, u32) -> f64| {
        FILTERS.iter().zip(&measured).map(|(&(m, n, k), &mean)| (of(m, n, k), mean)).collect::<Vec<_>>()
    };
    let bound = FILTERS.iter().all(|&(m, n, k)| rate(m, n, k) < exact(m, n, k));
    let small = (16, 2, 2);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds("eq. (1) is a lower bound of eq. (3)", "below the exact rate", "at all six sizes", bound))
        .claim(
            Claim::curve("eq. (1) for filters of 16 to 1024 bits", pairs(&rate))
                .corrected(Claim::curve("eq. (3) for filters of 16 to 1024 bits", pairs(&exact))),
        )
        .claim(
            Claim::roughly(
                "eq. (3) with Stirling's formula as printed, m = 16, n = 2, k = 2",
                exact(16, 2, 2),
                1e-9,
                by_stirling(small, true),
            )
            .corrected(Claim::roughly(
                "with the sign (-1)^(i-j)",
                exact(16, 2, 2),
                1e-9,
                by_stirling(small, false),
            )),
        )
        .claim(
            Claim::holds(
                "for the least rate e^(-kn/m) should be minimized",
                "more functions, a lower rate",
                format!("at m/n = 8: {:.4} with k = 6, {:.4} with k = 20", limit_rate(8.0, 6), limit_rate(8.0, 20)),
                limit_rate(8.0, 20) < limit_rate(8.0, 6),
            )
            .corrected(Claim::printed("e^(-kn/m) at the best k", "0.5", (-best_hashes(8.0) / 8.0).exp())),
        )
        .claim(Claim::printed("eq. (2): 9/13 for ln 2", "0.69", 9.0 / 13.0))
        .claim(Claim::printed("0.5^k at the best k, per bit", "0.6185", optimal_rate(1.0)))
        .claim(Claim::holds(
            "k at m/n = 5",
            "3 or 4",
            for_bits(50_000, 10_000)?.hashes.to_string(),
            [3, 4].contains(&for_bits(50_000, 10_000)?.hashes),
        )))
}
