use bouquet::theory::generalized::{Shape, limit_rate};

use super::gbf::rate;
use super::papers::LAUFER;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig4",
    paper: &LAUFER,
    place: "Figure 4",
    title: "false-positive probability of a Bloom filter over the fraction of bits set",
    run,
};

fn run(lab: &Lab) -> Result<Report> {
    let mut plot =
        Plot::new(Axis::linear("fraction of bits set"), Axis::linear("false-positive probability").range(0.0, 1.0));
    let (mut pairs, mut full) = (Vec::new(), Vec::new());
    for k in [1, 2, 4, 8] {
        let shape = Shape { bits: 1_280, resets: 0, sets: k };
        let label = format!("k = {k}");
        let mut points = Vec::new();
        for ones in even(0.0, 1.0, 11) {
            let (fill, mean) = rate(lab, shape, 1.0 - ones, 0)?;
            pairs.push((shape.exact_rate_at(1.0 - ones), mean));
            points.push((fill.value, mean));
            if ones == 1.0 {
                full.push(mean.value);
            }
        }
        plot = plot
            .line(&label, even(0.0, 1.0, 101).map(|ones| (ones, limit_rate(0.0, f64::from(k), 1.0 - ones))))
            .points(&label, points);
    }
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("f = (1-p)^k", pairs))
        .claim(Claim::printed(
            "false-positive rate when all bits are set",
            "100 %",
            full.iter().copied().fold(1.0, f64::min),
        ))
        .note("Arrays of 1280 random bits; the paper's values of k are not in its text."))
}
