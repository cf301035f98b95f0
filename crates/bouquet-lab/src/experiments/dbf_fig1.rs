use bouquet::theory::dynamic::sizing::capacity;

use super::dbf::{ALPHA, BASE, items, rates};
use super::papers::GUO;
use super::shared::standard_rate;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig1",
    paper: &GUO,
    place: "Figure 1",
    title: "rates of dynamic and standard filters, m = 1280, k = 7, c = 133",
    run,
};

const SIZES: [u64; 8] = [67, 133, 200, 266, 400, 665, 1000, 1330];

fn run(lab: &Lab) -> Result<Report> {
    let chain = rates(lab, BASE, &SIZES)?;
    let plain = |n: u64| standard_rate(lab, (BASE.bits, n, BASE.hashes), lab.rounds(300, 30), 4_000);
    let plain = SIZES.into_iter().map(plain).collect::<Result<Vec<_>>>()?;
    let at = SIZES.map(|n| n as f64);
    let plot = Plot::new(items("items n"), Axis::linear("false-positive probability"))
        .line("standard, f (1)", (1..=1330).map(|n| (n as f64, BASE.plain_rate(n))))
        .points("standard, f (1)", at.into_iter().zip(plain.iter().copied()))
        .line("dynamic, F (3)", (1..=1330).map(|n| (n as f64, BASE.rate(n))))
        .points("dynamic, F (3)", at.into_iter().zip(chain.iter().copied()));
    let y = BASE.full_rate();
    let same = (1..=133).all(|n| BASE.rate(n) == BASE.plain_rate(n));
    let better = (134..=1330).all(|n| BASE.rate(n) < BASE.plain_rate(n));
    // The paper's formula, with the constant as it is printed in section 4.
    let misprinted = (BASE.bits as f64 * 0.61285f64.ln() / ALPHA.ln()).ceil();
    // Section 4.3, which refers to this figure: how many items fit until the rate exceeds γ.
    let (gamma, k) = (0.1f64, f64::from(BASE.hashes));
    let limit = (1.0 - gamma.powf(1.0 / k)).ln() / (1.0 - y.powf(1.0 / k)).ln();
    let most = (1..=1330).take_while(|&n| BASE.plain_rate(n) <= gamma).count();
    let components = (1.0 - gamma).ln() / (1.0 - y).ln();
    let (fewer, more) = (components.floor() as u64 * BASE.capacity, components.ceil() as u64 * BASE.capacity);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("F(n) of chains", SIZES.map(|n| BASE.rate(n)).into_iter().zip(chain)))
        .claim(Claim::curve("f(n) of standard filters", SIZES.map(|n| BASE.plain_rate(n)).into_iter().zip(plain)))
        .claim(Claim::printed("y = f(c), the rate of a full component", "0.0098", y))
        .claim(Claim::roughly("f(10 c) / f(c)", 100.0, 0.05, BASE.plain_rate(1330) / y))
        .claim(Claim::roughly("F(10 c) / f(c)", 10.0, 0.05, BASE.rate(1330) / y))
        .claim(Claim::holds("n ≤ c", "both rates are equal", "for n = 1..133", same))
        .claim(Claim::holds("n > c", "the dynamic filter scales better", "for n = 134..1330", better))
        .claim(Claim::printed("c for m = 1280 with the constant 0.61285 of section 4", "133", misprinted).corrected(
            Claim::printed("c for m = 1280 with the constant 0.6185", "133", capacity(BASE.bits, ALPHA)? as f64),
        ))
        .claim(
            Claim::holds(
                "section 4.3: items of a standard filter up to γ = 0.1, for β = f(c)",
                "n₀ log(β - γ)",
                "the logarithm of a negative number",
                (y - gamma).ln().is_finite(),
            )
            .corrected(Claim::printed(
                "n₀ ln(1 - γ^(1/k)) / ln(1 - β^(1/k)), n₀ = c",
                &most.to_string(),
                (limit * BASE.capacity as f64).floor(),
            )),
        )
        .claim(
            Claim::holds(
                "section 4.3: items of a chain up to γ = 0.1, for β = f(c)",
                "n₀ ⌈log(1-γ) / log(1-β)⌉",
                format!("F({more}) = {:.4}", BASE.rate(more)),
                BASE.rate(more) <= gamma,
            )
            .corrected(Claim::holds(
                "items of a chain up to γ = 0.1",
                "n₀ ⌊log(1-γ) / log(1-β)⌋",
                format!("F({fewer}) = {:.4}", BASE.rate(fewer)),
                BASE.rate(fewer) <= gamma,
            )),
        )
        .note(
            "Section 4 prints 0.61285 for 0.6185 = (1/2)^(ln 2), which section 2 has right. The rate 0.0098 is \
             f(c) = 0.00985 cut after two digits.",
        ))
}
