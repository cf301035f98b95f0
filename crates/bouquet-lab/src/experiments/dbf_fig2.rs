use bouquet::theory::dynamic::Shape;

use super::dbf::{ALPHA, BASE, four_components, label};
use super::papers::GUO;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig2",
    paper: &GUO,
    place: "Figure 2",
    title: "rate of a standard filter over that of a chain, k = 7, components made for 0.0098",
    run,
};

fn ratio(shape: &Shape, n: u64) -> f64 {
    shape.plain_rate(n) / shape.rate(n)
}

/// Where the ratio is largest.
fn peak(shape: &Shape) -> u64 {
    let sizes = 1..=10 * shape.capacity;
    sizes.max_by(|&a, &b| ratio(shape, a).total_cmp(&ratio(shape, b))).unwrap_or(1)
}

fn run(_: &Lab) -> Result<Report> {
    let shapes = four_components()?;
    let mut by_items = Plot::new(Axis::linear("items n"), Axis::linear("f / F")).titled("(a) over the items");
    let mut by_fill = Plot::new(Axis::linear("items in terms of a component, n/c"), Axis::linear("f / F"))
        .titled("(b) over n/c: nearly one curve");
    for shape in &shapes {
        by_items = by_items.line(label(shape), (1..=5320).step_by(7).map(|n| (n as f64, ratio(shape, n))));
        let step = (shape.capacity / 60).max(1) as usize;
        let sizes = (1..=10 * shape.capacity).step_by(step);
        by_fill = by_fill.line(label(shape), sizes.map(|n| (n as f64 / shape.capacity as f64, ratio(shape, n))));
    }
    let all = |law: fn(&Shape) -> bool| shapes.iter().all(law);
    let one = all(|shape| (1..=shape.capacity).all(|n| ratio(shape, n) == 1.0));
    let above = all(|shape| (shape.capacity + 1..=10 * shape.capacity).all(|n| ratio(shape, n) > 1.0));
    let falls = all(|shape| ratio(shape, 6 * shape.capacity) > ratio(shape, 10 * shape.capacity));
    let peaks = shapes.iter().map(|shape| ratio(shape, peak(shape)));
    let (low, high) = peaks.fold((f64::MAX, 0.0f64), |(low, high), peak| (low.min(peak), high.max(peak)));
    let capacities: Vec<u64> = shapes.iter().map(|shape| shape.capacity).collect();
    Ok(Report::new()
        .plot(by_items)
        .plot(by_fill)
        .claim(Claim::holds("1 ≤ n ≤ c", "the ratio equals 1", "for all four sizes", one))
        .claim(Claim::holds("n > c", "the dynamic filter scales better", "for all four sizes", above))
        .claim(Claim::holds(
            "n > c, further on",
            "quickly a peak, then a slow decrease",
            format!(
                "{:.2} at n = {} for m = 1280, {:.2} at n = 1330",
                ratio(&BASE, peak(&BASE)),
                peak(&BASE),
                ratio(&BASE, 1330)
            ),
            falls,
        ))
        .claim(Claim::holds(
            "m",
            "has no effect on the trend",
            format!("peaks from {low:.2} to {high:.2}"),
            high / low < 1.03,
        ))
        .claim(
            Claim::holds(
                "the capacity of all four sizes",
                "c = 133",
                format!("c = {capacities:?}"),
                capacities.iter().all(|&c| c == 133),
            )
            .corrected(Claim::holds(
                "the capacity of m bits",
                "c = m ln 0.6185 / ln 0.0098, rounded up: 133 for m = 1280 alone",
                format!("c = {capacities:?}"),
                shapes.iter().all(|shape| {
                    (shape.bits as f64 * 0.6185f64.ln() / ALPHA.ln()).ceil() == shape.capacity as f64
                        && (shape.capacity == 133) == (shape.bits == 1280)
                }),
            )),
        )
        .note(
            "The paper does not state its four sizes; these are 640, 1280, 2560 and 5120. Steps at whole n/c: a chain of \
             full components has just got a new one. The peak of m = 640 is lower because its c, 66.5, is rounded up to 67.",
        ))
}
