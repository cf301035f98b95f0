use bouquet::theory::dynamic::{chain_limit, plain_limit};

use super::dbf::{ALPHA, BASE, chain, false_positives};
use super::papers::GUO;
use super::shared::standard_rate;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-limits",
    paper: &GUO,
    place: "Section 4.3",
    title: "how many items a filter and a chain take before they must be built anew, β = 0.0098",
    run,
};

/// The rate that is tolerated.
const GAMMA: f64 = 0.1;

/// The measured rate of a chain with n items.
fn chain_rate(lab: &Lab, n: u64) -> Result<Mean> {
    let rounds = lab.try_play(&format!("chain of {n}"), lab.rounds(400, 80), |random| {
        let mut filter = chain(random, BASE)?;
        while filter.items() < n {
            filter.add(&random.next_u64())?;
        }
        Ok(false_positives(&filter, random, 4_000))
    })?;
    Ok(Mean::of_shares(&rounds))
}

fn run(lab: &Lab) -> Result<Report> {
    let c = BASE.capacity;
    let plain = plain_limit(BASE.hashes, ALPHA, GAMMA);
    let (full, quotient) = (chain_limit(ALPHA, GAMMA), (1.0 - GAMMA).ln() / (1.0 - ALPHA).ln());
    let most = BASE.limit(GAMMA);
    let at_plain =
        standard_rate(lab, (BASE.bits, (plain * c as f64).round() as u64, BASE.hashes), lab.rounds(2_000, 300), 2_000)?;
    let [ten, eleven] = [full * c, (full + 1) * c].map(|n| chain_rate(lab, n));
    let (ten, eleven) = (ten?, eleven?);
    let tolerated = even(0.01, 0.3, 60);
    let plot = Plot::new(Axis::linear("tolerated rate γ"), Axis::linear("items, in terms of n₀"))
        .line("plain filter", tolerated.clone().map(|gamma| (gamma, plain_limit(BASE.hashes, ALPHA, gamma))))
        .line("chain, full components", tolerated.clone().map(|gamma| (gamma, chain_limit(ALPHA, gamma) as f64)))
        .line("chain, with the last one in part", tolerated.map(|gamma| (gamma, BASE.limit(gamma) as f64 / c as f64)));
    let printed = (ALPHA - GAMMA).ln();
    Ok(Report::new()
        .plot(plot)
        .claim(
            Claim::holds(
                "plain filter: items beyond which the rate exceeds γ = 0.1",
                "n₀ log(β - γ)",
                format!("{printed}: β - γ is negative"),
                printed.is_finite(),
            )
            .corrected(Claim::near(
                "n₀ ln(1-γ^(1/k))/ln(1-β^(1/k)) = 1.75 n₀: the rate there",
                0.004,
                [(GAMMA, at_plain)],
            )),
        )
        .claim(
            Claim::holds(
                "chain: full components within γ = 0.1",
                format!("⌈log(1-γ)/log(1-β)⌉ = {:.0}", quotient.ceil()),
                format!("the rate of {} full ones is {:.4}, measured {eleven}", full + 1, 1.0 - (1.0 - ALPHA).powi(full as i32 + 1)),
                1.0 - (1.0 - ALPHA).powi(full as i32 + 1) <= GAMMA,
            )
            .corrected(Claim::holds(
                "⌊log(1-γ)/log(1-β)⌋ full ones",
                full.to_string(),
                format!("their rate is {:.4}, measured {ten}", 1.0 - (1.0 - ALPHA).powi(full as i32)),
                ten.value < GAMMA && eleven.value > GAMMA,
            )),
        )
        .claim(Claim::holds(
            "a chain is built anew",
            "less often than a plain filter",
            format!("after {:.2} n₀ instead of {plain:.2} n₀", most as f64 / c as f64),
            most as f64 > 5.0 * plain * c as f64,
        ))
        .claim(Claim::holds(
            "the advantage",
            "grows with the difference between β and γ",
            "for γ = 0.02, 0.05, 0.1, 0.2",
            [0.02, 0.05, 0.1, 0.2]
                .map(|gamma| chain_limit(ALPHA, gamma) as f64 / plain_limit(BASE.hashes, ALPHA, gamma))
                .windows(2)
                .all(|pair| pair[0] < pair[1]),
        ))
        .note(format!(
            "m = {}, k = {}, c = n₀ = {c}. Equation (3) lets a part of one more component be filled: {most} items in all.",
            BASE.bits, BASE.hashes
        )))
}
