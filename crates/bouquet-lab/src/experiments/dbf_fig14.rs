use super::dbf_fig13::curves;
use super::papers::GUO;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig14",
    paper: &GUO,
    place: "Figure 14",
    title: "least expected bits in terms of a standard filter, over the false-positive probability, N = 13300",
    run,
};

fn run(_: &Lab) -> Result<Report> {
    let curves = curves()?;
    let mut plot = Plot::new(
        Axis::log("false-positive probability α"),
        Axis::linear("bits in terms of a standard filter").range(0.4, 1.05),
    );
    for (name, points) in &curves {
        plot = plot.line(*name, points.iter().map(|point| (point.alpha, point.chain / point.plain)));
    }
    let points = || curves.iter().flat_map(|(_, points)| points.iter());
    let rises = curves.iter().all(|(_, points)| {
        // Rounding m up to a whole number moves the ratio by less than this.
        points.windows(2).all(|two| two[0].chain / two[0].plain < two[1].chain / two[1].plain + 1e-4)
    });
    let below = points().filter(|point| point.alpha <= 0.05).all(|point| point.chain < point.plain);
    let never = points().all(|point| point.chain <= point.plain);
    let one = curves[0].1.iter().find(|point| point.components == 1).map_or(f64::NAN, |point| point.alpha);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds("a larger α", "a larger ratio", "for all five", rises))
        .claim(Claim::holds("α ≤ 5 %", "the ratio is less than 1", "for all five", below))
        .claim(Claim::holds(
            "α > 5 %",
            "the ratio reaches at most 1",
            format!("1 for maximum Zipf from α = {one:.2} on, where one component is best"),
            never,
        )))
}
