use bouquet::theory::dynamic::sizing::for_rate;

use super::dbf::{ALPHA, randomly_ranked};
use super::dbf_fig11::{bounds, curves};
use super::papers::GUO;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig12",
    paper: &GUO,
    place: "Figure 12",
    title: "least bits in terms of a standard filter, by N, α = 0.0098",
    run,
};

fn run(lab: &Lab) -> Result<Report> {
    let curves = curves()?;
    let mut plot = Plot::new(
        Axis::linear("largest size of the set, N"),
        Axis::linear("bits in terms of a standard filter").range(0.5, 1.0),
    );
    let mut spread = 0.0f64;
    for (name, bits) in &curves {
        let ratios: Vec<f64> = bits.iter().map(|(chain, plain)| chain / plain).collect();
        let ends = ratios.iter().fold((1.0f64, 0.0f64), |(low, high), &ratio| (low.min(ratio), high.max(ratio)));
        spread = spread.max(ends.1 - ends.0);
        plot = plot.line(*name, bounds().map(|n| n as f64).zip(ratios));
    }
    let saved = |name: &str| {
        let of = curves.iter().find(|(own, _)| *own == name).and_then(|(_, bits)| bits.first());
        of.map_or(f64::NAN, |(chain, plain)| 1.0 - chain / plain)
    };
    let random = 1.0 - randomly_ranked(lab, 1330, 0.4)?.value / for_rate(1330, ALPHA)?.bits as f64;
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::roughly("saved with maximum Zipf, N = 1330", 0.05, 0.1, saved("maximum Zipf")))
        .claim(Claim::roughly("saved with random Zipf, N = 1330, mean over orders", 0.19, 0.05, random))
        .claim(Claim::roughly("saved with normal, N = 1330", 0.20, 0.05, saved("normal")))
        .claim(Claim::roughly("saved with minimum Zipf, N = 1330", 0.35, 0.05, saved("minimum Zipf")))
        .claim(Claim::holds(
            "the size of the set",
            "has a trivial impact on the ratio",
            format!("it changes by {spread:.3} at most"),
            spread < 0.02,
        ))
        .note("The curve of random Zipf is that of one order of the ranks."))
}
