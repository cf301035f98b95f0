use bouquet::theory::generalized::{Shape, miss_bound};

use super::gbf::{label, misses};
use super::papers::LAUFER;
use crate::plot::even_log;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig10",
    paper: &LAUFER,
    place: "Figure 10",
    title: "maximum false-negative probability of a GBF over the bits per element, k₁ = 1",
    run,
};

const N: u64 = 10;

fn run(lab: &Lab) -> Result<Report> {
    let powers = [16_u64, 32, 64, 128, 256, 512, 1_024];
    let mut plot = Plot::new(
        Axis::log("bits per element, m/n").ticks(powers.map(|c| c as f64)),
        Axis::linear("maximum false-negative probability F_n"),
    );
    let (mut exact, mut simple) = (Vec::new(), Vec::new());
    for resets in 1..=4 {
        let label = label(Shape { bits: 0, resets, sets: 1 });
        let mut points = Vec::new();
        for c in powers {
            let shape = Shape { bits: c * N, resets, sets: 1 };
            // The hypothetical element 0 is followed by all n.
            let first = misses(lab, shape, N + 1)?[0];
            let rate = shape.exact_miss_rate(N);
            exact.push((rate, first));
            simple.push((miss_bound(resets.into(), 1.0, c as f64), rate));
            points.push((c as f64, first));
        }
        plot = plot
            .line(&label, even_log(16.0, 1_024.0, 80).map(|c| (c, miss_bound(resets.into(), 1.0, c))))
            .points(&label, points);
    }
    let text = [(2.0, 2.0, 128.0, "6.0 %"), (2.0, 3.0, 256.0, "4.6 %"), (2.0, 3.0, 512.0, "2.3 %")];
    let numbers = text.map(|(g, h, c, printed)| {
        Claim::printed(format!("F_n for k₀ = {g}, k₁ = {h}, m/n = {c}"), printed, miss_bound(g, h, c))
    });
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("f_n of an element before all others, exact with collisions", exact))
        .claim(
            Claim::apart(
                "F_n by (20), (21) and (22): the largest interval in the paper is 0.003",
                0.003,
                simple.clone(),
            )
            .corrected(Claim::apart(
                "the same from m/n = 32 on",
                0.003,
                simple.chunks(powers.len()).flat_map(|curve| &curve[1..]).copied().collect::<Vec<_>>(),
            )),
        )
        .claims(numbers)
        .note(format!("n = {N}.")))
}
