use super::dbf_fig13::{curves, one_component};
use super::papers::GUO;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig14",
    paper: &GUO,
    place: "Figure 14",
    title: "least bits in terms of a standard filter, by α, N = 13300",
    run,
};

/// The α at which two components with maximum Zipf are expected to take the bits of one filter: the second one is needed
/// with probability 2^-0.6, for the parameter is 0.4, and each is made for the rate δ = 1 - √(1-α).
fn two_components_gain_nothing() -> f64 {
    let ratio = |alpha: f64| (1.0 + 0.5f64.powf(0.6)) / 2.0 * (1.0 - (1.0 - alpha).sqrt()).ln() / alpha.ln();
    let (mut low, mut high) = (0.001, 0.2);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if ratio(middle) < 1.0 { low = middle } else { high = middle }
    }
    high
}

fn run(_: &Lab) -> Result<Report> {
    let curves = curves()?;
    let mut plot = Plot::new(
        Axis::log("false-positive probability α"),
        Axis::linear("bits in terms of a standard filter").range(0.4, 1.05),
    );
    for (name, points) in &curves {
        plot = plot.line(*name, points.iter().map(|point| (point.alpha, point.chain / point.plain)));
    }
    let points = |from: usize| curves[from..].iter().flat_map(|(_, points)| points);
    let rises = curves.iter().all(|(_, points)| {
        // Rounding m up to a whole number moves the ratio by less than this.
        points.windows(2).all(|two| two[0].chain / two[0].plain < two[1].chain / two[1].plain + 1e-4)
    });
    let below = |from: usize| points(from).filter(|point| point.alpha <= 0.05).all(|point| point.chain < point.plain);
    let never = points(0).all(|point| point.chain <= point.plain);
    let (one, root) = (one_component()?, two_components_gain_nothing());
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds("a larger α", "a larger ratio", "for all five", rises))
        .claim(
            Claim::holds(
                "α ≤ 5 %",
                "the ratio is less than 1 for all five",
                format!("1 for maximum Zipf from α = {one:.3} on, where one component is best"),
                below(0),
            )
            .corrected(Claim::holds(
                "α ≤ 5 % but for maximum Zipf",
                format!("less than 1; maximum Zipf where (1 + 2^-0.6)/2 · ln δ/ln α is, up to {root:.4}"),
                format!("for the other four; for maximum Zipf up to {one:.3}, in steps of 0.001"),
                below(1) && root <= one && one - root < 0.001,
            )),
        )
        .claim(Claim::holds("α > 5 %", "the ratio reaches at most 1", "for all five", never))
        .note(
            "With maximum Zipf, parameter 0.4, the second of two components is needed with probability 2^-0.6, and each \
             of them is made for the rate δ = 1 - √(1-α). More than two components take more bits still at these α.",
        ))
}
