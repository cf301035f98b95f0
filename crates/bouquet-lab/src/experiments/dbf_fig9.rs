use super::dbf::{BASE, items, rates};
use super::papers::GUO;
use super::shared::standard_rate;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig9",
    paper: &GUO,
    place: "Figure 9",
    title: "rates of a chain and of a standard filter that grows to its bits",
    run,
};

const SIZES: [u64; 8] = [100, 133, 200, 266, 350, 665, 700, 1330];

fn run(lab: &Lab) -> Result<Report> {
    let chain = rates(lab, BASE, &SIZES)?;
    let grown = |n: u64| {
        let bits = BASE.bits * BASE.components(n);
        standard_rate(lab, (bits, n, BASE.hashes), lab.rounds(300, 30), 5_000)
    };
    let grown = SIZES.into_iter().map(grown).collect::<Result<Vec<_>>>()?;
    let at = SIZES.map(|n| n as f64);
    let plot = Plot::new(items("items n"), Axis::linear("false-positive probability"))
        .line("dynamic, F (3)", (1..=1330).map(|n| (n as f64, BASE.rate(n))))
        .points("dynamic, F (3)", at.into_iter().zip(chain.iter().copied()))
        .line("standard of the same bits, NBF (14)", (1..=1330).map(|n| (n as f64, BASE.grown_plain_rate(n))))
        .points("standard of the same bits, NBF (14)", at.into_iter().zip(grown.iter().copied()));
    let y = BASE.full_rate();
    let equal = (1..=133).all(|n| BASE.rate(n) == BASE.grown_plain_rate(n) && BASE.rate(n) <= y);
    let rises = (1..1330).all(|n| BASE.rate(n + 1) >= BASE.rate(n));
    let below = (134..=1330).all(|n| BASE.grown_plain_rate(n) < BASE.rate(n));
    let periods = (1..=1330 - 133).all(|n| BASE.grown_plain_rate(n) <= BASE.grown_plain_rate(n + 133) * (1.0 + 1e-12));
    let drops = (1..1330).filter(|&n| BASE.grown_plain_rate(n + 1) < BASE.grown_plain_rate(n)).count();
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("F(n) of chains", SIZES.map(|n| BASE.rate(n)).into_iter().zip(chain)))
        .claim(Claim::curve("NBF of standard filters", SIZES.map(|n| BASE.grown_plain_rate(n)).into_iter().zip(grown)))
        .claim(Claim::holds("n ≤ c", "F = NBF ≤ f(c)", "for n = 1..133", equal))
        .claim(Claim::holds("F", "grows with n", "for n = 1..1330", rises))
        .claim(Claim::holds("n > c", "NBF is the smaller one", "for n = 134..1330", below))
        .claim(Claim::holds("NBF at n and at n + c", "not larger at n", "for n = 1..1197", periods))
        .claim(
            Claim::holds(
                "NBF in the whole range",
                "grows with n",
                format!("it falls at {drops} values of n, to which a component is added"),
                drops == 0,
            )
            .corrected(Claim::holds(
                "NBF at all multiples of c",
                "is the rate of a full component",
                format!("{y:.6}"),
                (1..=10).all(|s| (BASE.grown_plain_rate(s * 133) - y).abs() < 1e-12),
            )),
        ))
}
