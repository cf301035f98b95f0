use bouquet::theory::dynamic::Shape;
use bouquet::theory::standard;

use super::dbf::{four_components, items, label, rates};
use super::papers::GUO;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig4",
    paper: &GUO,
    place: "Figure 4",
    title: "false-positive probability of four chains made for 0.0098, k = 7",
    run,
};

const SIZES: [u64; 5] = [133, 333, 665, 1000, 1330];

/// (3) with the expected rate of a component of so few bits instead of its limit.
fn expected(shape: &Shape, n: u64) -> f64 {
    let answers_no = |keys| 1.0 - standard::expected_rate(shape.bits, keys, shape.hashes);
    1.0 - answers_no(shape.capacity).powf((n / shape.capacity) as f64) * answers_no(n % shape.capacity)
}

fn run(lab: &Lab) -> Result<Report> {
    let shapes = four_components()?;
    let mut plot = Plot::new(items("items n"), Axis::linear("false-positive probability F"));
    let mut pairs = Vec::new();
    for &shape in &shapes {
        let measured = rates(lab, shape, &SIZES)?;
        plot = plot
            .line(label(&shape), (1..=1330).map(|n| (n as f64, shape.rate(n))))
            .points(label(&shape), SIZES.map(|n| n as f64).into_iter().zip(measured.iter().copied()));
        pairs.extend(SIZES.map(|n| expected(&shape, n)).into_iter().zip(measured));
    }
    let lower = shapes.windows(2).all(|pair| (1..=1330).all(|n| pair[1].rate(n) < pair[0].rate(n)));
    let plain = shapes.windows(2).all(|pair| (1..=1330).all(|n| pair[1].plain_rate(n) < pair[0].plain_rate(n)));
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("F(n) of the four chains, with f as expected for m bits", pairs))
        .claim(Claim::holds("a chain with larger components", "lies lower for every n", "for n = 1..1330", lower))
        .claim(Claim::holds("a standard filter with more bits", "lies lower for every n", "for n = 1..1330", plain))
        .note(format!(
            "The paper does not state its four sizes; these are 640, 1280, 2560 and 5120 bits. Its f is the limit for many bits \
             and that of the curves; with 640, n = 1330, F is {:.4} by it and {:.4} as expected, which is what is measured.",
            shapes[0].rate(1330),
            expected(&shapes[0], 1330)
        )))
}
