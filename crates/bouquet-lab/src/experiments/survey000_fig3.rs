use bouquet::theory::standard::{
    best_hashes, expected_rate, for_bits, for_rate, limit_rate, optimal_bits_per_key, optimal_rate, zeros,
};

use super::papers::TARKOMA;
use super::shared::{standard, standard_rate};
use crate::number::raised;
use crate::plot::even_log;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-fig3",
    paper: &TARKOMA,
    place: "Figure 3",
    title: "false-positive probability over the number of elements, at the best k",
    run,
};

/// The share of bits that are still zero: (1-1/m)^(kn) and measured.
fn zero_bits(lab: &Lab, n: u64, k: u32) -> Result<(f64, Mean)> {
    const M: u64 = 1_000;
    let shares = lab.try_play(&format!("zeros {n} {k}"), lab.rounds(10_000, 300), |random| {
        Ok((M - standard(random, (M, n, k))?.bits().count_ones()) as f64 / M as f64)
    })?;
    Ok((zeros(M, n, k), Mean::of(&shares)))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut plot = Plot::new(
        Axis::log("elements in the filter, n").range(1.0, 1e9),
        Axis::log("false-positive probability p").range(1e-10, 1.0),
    );
    let mut pairs = Vec::new();
    for exponent in [8, 12, 16, 20, 24, 28, 32] {
        let m = 1_u64 << exponent;
        let label = format!("m = 2{} bits", raised(&exponent.to_string()));
        plot = plot.line(&label, even_log(1.0, 1e9, 91).map(|n| (n, optimal_rate(m as f64 / n))));
        // Rates that a simulation of seconds can resolve, in filters that it can fill.
        if exponent > 20 {
            continue;
        }
        let mut points = Vec::new();
        for bits_per_key in [5, 8, 10, 13] {
            let n = m / bits_per_key;
            let k = for_bits(m, n)?.hashes;
            let rounds = lab.rounds(400, 40).min((1 << 24) / m).max(4);
            let rate = standard_rate(lab, (m, n, k), rounds, lab.rounds(20_000, 5_000))?;
            points.push((n as f64, rate));
            pairs.push((expected_rate(m, n, k), rate));
        }
        plot = plot.points(label, points);
    }
    let slope = optimal_bits_per_key(1e-6) / optimal_bits_per_key(1e-3);
    let sized = for_rate(1_000_000, 0.01)?.bits as f64 / 1e6;
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve(
            "eq. (1) to (4): bits still zero after one function, k functions and n elements, m = 1000",
            [zero_bits(lab, 1, 1)?, zero_bits(lab, 1, 7)?, zero_bits(lab, 100, 7)?],
        ))
        .claim(Claim::curve("eq. (5) with its finite-size correction, best whole k", pairs))
        .claim(Claim::printed("eq. (6): k_opt n/m, ln 2 ≈ 9/13", "0.69", 9.0 / 13.0))
        .claim(Claim::printed("eq. (7): (1/2)^(ln 2)", "0.6185", optimal_rate(1.0)))
        .claim(Claim::holds(
            "eq. (7): rate at the best k is (1/2)^k",
            "(1/2)^k",
            "for m/n = 10 / ln 2 and k = 10",
            (limit_rate(10.0 / 2f64.ln(), 10) * 1024.0 - 1.0).abs() < 1e-12
                && (best_hashes(10.0 / 2f64.ln()) - 10.0).abs() < 1e-12,
        ))
        .claim(
            Claim::holds(
                "eq. (8): bits per element for a probability ε",
                "m/n ≥ 1/ln 2 for every ε",
                format!("{:.3} at ε = 1 %", optimal_bits_per_key(0.01)),
                (optimal_bits_per_key(0.01) * 2f64.ln() - 1.0).abs() < 0.01,
            )
            .corrected(Claim::printed(
                "m/n ≥ log₂(1/ε)/ln 2, at ε = 1 %",
                "9.585",
                100f64.log2() / 2f64.ln(),
            )),
        )
        .claim(Claim::roughly(
            "eq. (9): m/n of a filter sized for 10⁶ elements and p = 1 %, whole k",
            -0.01f64.ln() / 2f64.ln().powi(2),
            0.002,
            sized,
        ))
        .claim(Claim::printed(
            "bits of a Bloom filter over the least possible: log₂ e",
            "1.44",
            optimal_bits_per_key(0.01) / 100f64.log2(),
        ))
        .claim(Claim::printed("m grows linearly with -ln p: from 10⁻³ to 10⁻⁶", "2.0", slope))
        .note(
            "The paper gives no values of m; these seven are ours. Points: filters with the best \
             whole k at 5, 8, 10 and 13 bits per element.",
        ))
}
