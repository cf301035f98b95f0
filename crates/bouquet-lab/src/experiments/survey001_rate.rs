use bouquet::theory::standard::{
    best_hashes, expected_rate, limit_rate, log_rate, log_rate_at_fill, log_rate_slope, optimal_rate,
};

use super::papers::BRODER;
use super::shared::standard_rate;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey001-rate",
    paper: &BRODER,
    place: "Section 2.1",
    title: "false-positive rate over the number of hash functions",
    run,
};

const N: u64 = 10_000;

fn run(lab: &Lab) -> Result<Report> {
    let mut plot = Plot::new(
        Axis::linear("hash functions, k").range(0.0, 20.0),
        Axis::log("false-positive rate f").range(1e-4, 1.0),
    );
    let mut pairs = Vec::new();
    for c in [4_u64, 8, 12, 16] {
        let label = format!("m/n = {c}");
        let mut points = Vec::new();
        for k in [1, 2, 3, 4, 6, 8, 11, 14, 18] {
            let mean = standard_rate(lab, (c * N, N, k), lab.rounds(50, 5), 4 * N)?;
            pairs.push((expected_rate(c * N, N, k), mean));
            points.push((f64::from(k), mean));
        }
        plot = plot.line(&label, even(0.2, 20.0, 100).map(|k| (k, log_rate(c as f64, k).exp()))).points(&label, points);
    }
    plot = plot.reference("minimum, (1/2)^k", even(0.2, 14.0, 60).map(|k| (k, 0.5f64.powf(k))));
    let best = best_hashes(8.0);
    let symmetric =
        [0.1, 0.3].iter().all(|&p| (log_rate_at_fill(8.0, p) - log_rate_at_fill(8.0, 1.0 - p)).abs() < 1e-12);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("f = (1-(1-1/m)^(kn))^k", pairs))
        .claim(Claim::printed("(1/2)^(ln 2), the rate per bit", "0.6185", optimal_rate(1.0)))
        .claim(Claim::holds(
            "f at m = 8n (section 2.3)",
            "just over 0.02",
            format!("{:.4}", limit_rate(8.0, 6)),
            (0.02..0.022).contains(&limit_rate(8.0, 6)),
        ))
        .claim(Claim::printed("f at m = 8n, k = 6: 0.0216", "0.0216", limit_rate(8.0, 6)))
        .claim(Claim::holds(
            "the slope of g vanishes at k = ln 2 m/n",
            "0",
            format!("{:.1e}", log_rate_slope(8.0, best).abs()),
            log_rate_slope(8.0, best).abs() < 1e-12,
        ))
        .claim(Claim::holds("g is symmetric in p and 1-p", "so its minimum is at p = 1/2", "p = 0.1, 0.3", symmetric))
        .note(format!("n = {N}; at each point {} filters and {} queries to each.", lab.rounds(50, 5), 4 * N)))
}
