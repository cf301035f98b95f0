use bouquet::theory::dynamic::sizing::{Distribution, for_components, for_rate};

use super::dbf::{ALPHA, best, distributions, normal};
use super::papers::GUO;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig10",
    paper: &GUO,
    place: "Figure 10",
    title: "expected bits of a chain by its components, N = 1330, α = 0.0098",
    run,
};

const N: u64 = 1330;

/// The expected bits with 1 to 30 components.
fn curve(distribution: &Distribution) -> Result<Vec<f64>> {
    let tails = distribution.tails(N)?;
    (1..=30).map(|s| Ok(for_components(N, ALPHA, &tails, s)?.expected_bits)).collect()
}

fn run(_: &Lab) -> Result<Report> {
    let mut plot = Plot::new(Axis::linear("components for N items, s"), Axis::linear("expected bits"));
    let mut curves = Vec::new();
    for (name, distribution) in distributions(N) {
        let bits = curve(&distribution)?;
        plot = plot.line(name, bits.iter().enumerate().map(|(i, &bits)| ((i + 1) as f64, bits)));
        curves.push((name, distribution, bits));
    }
    let plain = for_rate(N, ALPHA)?.bits as f64;
    let plot = plot.reference("standard filter", [(1.0, plain), (30.0, plain)]);
    let by_letter = normal(N, 20f64.sqrt());
    let saved =
        |distribution: &Distribution| Ok::<_, crate::Error>(1.0 - best(N, ALPHA, distribution)?.expected_bits / plain);
    let maximum = &curves[0].2;
    let largest = curves[1..].iter().all(|(_, _, bits)| bits.iter().zip(maximum).skip(1).all(|(own, max)| own < max));
    let best_s =
        curves.iter().map(|(name, distribution, _)| Ok(format!("{name} {}", best(N, ALPHA, distribution)?.components)));
    let best_s = best_s.collect::<Result<Vec<_>>>()?.join(", ");
    let dips = curves.iter().all(|(_, _, bits)| {
        let least = bits.iter().copied().fold(f64::MAX, f64::min);
        least < bits[0] && least < bits[29]
    });
    let wins = curves.iter().all(|(_, _, bits)| bits.iter().any(|&bits| bits < plain));
    let bits_with = |constant: f64| (N as f64 * ALPHA.ln() / constant.ln()).ceil();
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds(
            "more components",
            "the expected bits first decrease, then increase",
            format!("fewest at s: {best_s}"),
            dips,
        ))
        .claim(Claim::holds("maximum Zipf", "above all others at the same s", "for s = 2..30", largest))
        .claim(Claim::holds("the minimum of each curve", "less than a standard filter", "for all five", wins))
        .claim(
            Claim::printed("saving with normal sizes, σ² = 20", "20 %", saved(&by_letter)?).corrected(Claim::printed(
                "saving with normal sizes, σ = 20",
                "20 %",
                saved(&normal(N, 20.0))?,
            )),
        )
        .note(format!(
            "The bits are those with the constant 0.6185, {:.0} for one filter; 0.61285, which section 4 prints, would \
             give {:.0}. The caption has σ² = 20, but the saving of 20 % that the text reports is that of σ = 20.",
            bits_with(0.6185),
            bits_with(0.61285)
        )))
}
