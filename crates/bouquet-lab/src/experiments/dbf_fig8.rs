use super::dbf::BASE;
use super::papers::GUO;
use super::shared::standard_rate;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig8",
    paper: &GUO,
    place: "Figure 8",
    title: "bits of a standard filter with the rate of s full components, in terms of theirs",
    run,
};

fn run(lab: &Lab) -> Result<Report> {
    let sizes = [1_u64, 2, 5, 10, 20];
    let measure = |s: u64| {
        let bits = (BASE.plain_bits_ratio(s) * (s * BASE.bits) as f64).round() as u64;
        standard_rate(lab, (bits, s * BASE.capacity, BASE.hashes), lab.rounds(300, 30), 5_000)
    };
    let measured = sizes.into_iter().map(measure).collect::<Result<Vec<_>>>()?;
    let rate = |s: u64| BASE.rate(s * BASE.capacity);
    let ratios = Plot::new(Axis::linear("full components, s = n/c"), Axis::linear("m₁ / (s m)").range(0.0, 1.05))
        .titled("(a) the bits, by (13)")
        .line("m₁ / (s m)", (1..=20).map(|s| (s as f64, BASE.plain_bits_ratio(s))));
    let rates = Plot::new(Axis::linear("full components, s = n/c"), Axis::linear("false-positive probability"))
        .titled("(b) the rates, which are equal")
        .line("s components of m bits, (12)", (1..=20).map(|s| (s as f64, rate(s))))
        .points(
            "standard filters of m₁ bits, measured",
            sizes.map(|s| s as f64).into_iter().zip(measured.iter().copied()),
        );
    let falls = (1..20).all(|s| BASE.plain_bits_ratio(s + 1) < BASE.plain_bits_ratio(s));
    let claims = [(2, "86.1 %"), (5, "69.6 %"), (10, "58.2 %")];
    let list = claims.map(|(s, _)| format!("{:.3} at s = {s}", BASE.plain_bits_ratio(s))).join(", ");
    Ok(Report::new()
        .plot(ratios)
        .plot(rates)
        .claim(Claim::printed("m₁ / m for n ≤ c: the same bits", "1", BASE.plain_bits_ratio(1)))
        .claim(Claim::holds("n > c", "the standard filter needs fewer bits", list, falls))
        .claim(Claim::curve(
            "standard filters of m₁ bits have the rate of the chain",
            sizes.map(rate).into_iter().zip(measured),
        ))
        .claim(Claim::holds(
            "the difference of bits",
            "small if s is not too large",
            "less than a third up to s = 5",
            BASE.plain_bits_ratio(5) > 2.0 / 3.0,
        ))
        .note(
            "The y of (13), which the paper does not define, is f(c), the rate of a full component. The standard filter \
             keeps k = 7; with the best k it would need fewer bits still.",
        ))
}
