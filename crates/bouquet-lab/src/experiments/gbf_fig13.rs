use bouquet::theory::generalized::{Shape, balance, bound, miss_bound};

use super::gbf::{misses, rate};
use super::papers::LAUFER;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig13",
    paper: &LAUFER,
    place: "Figure 13",
    title: "maximum false-positive and false-negative probability over k = k₀ = k₁",
    run,
};

const N: u64 = 10;

fn run(lab: &Lab) -> Result<Report> {
    let real = || even(0.5, 6.0, 111);
    let (mut rates, mut missed) = (Vec::new(), Vec::new());
    let mut fp_points = Vec::new();
    for k in 1..=6 {
        let shape = Shape { bits: 1_280, resets: k, sets: k };
        let (_, mean) = rate(lab, shape, 0.5, N)?;
        rates.push((shape.exact_rate_at(shape.zeros(0.5, N)), mean));
        fp_points.push((f64::from(k), mean));
    }
    let mut plot =
        Plot::new(Axis::linear("hash functions, k = k₀ = k₁"), Axis::linear("maximum probability").range(0.0, 0.4))
            .line("F_p", real().map(|k| (k, bound(k, k))))
            .points("F_p", fp_points);
    let mut crossings = Vec::new();
    for c in [64_u64, 128, 256, 512] {
        let label = format!("F_n, m/n = {c}");
        let mut points = Vec::new();
        for k in 1..=6 {
            let shape = Shape { bits: c * N, resets: k, sets: k };
            let first = misses(lab, shape, N + 1)?[0];
            missed.push((shape.exact_miss_rate(N), first));
            points.push((f64::from(k), first));
        }
        plot = plot.line(&label, real().map(|k| (k, miss_bound(k, k, c as f64)))).points(&label, points);
        crossings.push((c, balance(c as f64, 1.0)?.crossing));
    }
    let crossed = crossings.iter().all(|&(c, k)| (bound(k, k) - miss_bound(k, k, c as f64)).abs() < 1e-9);
    let text: Vec<String> = crossings.iter().map(|(c, k)| format!("{k:.2} at {c}")).collect();
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("F_p: rate at half of the bits set, exact with collisions", rates))
        .claim(Claim::curve("F_n: element before all others, exact with collisions", missed))
        .claim(Claim::holds(
            "for each m/n a k balances the two",
            "the curves cross",
            format!("k = {}", text.join(", ")),
            crossed,
        ))
        .note(format!("n = {N}; the paper's values of m/n are not in its text.")))
}
