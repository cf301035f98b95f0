use bouquet::Bloom;
use bouquet::hash::{Family, Hashing};
use bouquet::kind::Config;
use bouquet::membership::standard::KIND;
use bouquet::theory::standard::expected_rate;

use super::papers::TARKOMA;
use super::shared::false_positives;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-eq10",
    paper: &TARKOMA,
    place: "Equation 10",
    title: "double hashing and its relatives in small and larger filters",
    run,
};

const FAMILIES: [Family; 4] = [Family::Double, Family::EnhancedDouble, Family::Triple, Family::Independent];
const K: u32 = 11;
const BITS_PER_KEY: u64 = 16;

/// The mean rate of filters whose positions, modulo m, come from this family.
fn rate(lab: &Lab, family: Family, n: u64) -> Result<Mean> {
    let m = BITS_PER_KEY * n;
    let filters = lab.rounds(400_000, 40_000) / n;
    let rounds = lab.try_play(&format!("{} {n}", family.name()), filters, |random| {
        let config = Config::new(KIND.facts()).hashed(Hashing::seeded_wide(random.next_u64()));
        let config = config.set("bits", &m.to_string())?.set("hashes", &K.to_string())?;
        let config = config.set("family", family.name())?.set("reduction", "modulo")?;
        let mut filter = Bloom::from_config(&config)?;
        filter.insert_batch(&keys(random, n));
        Ok(false_positives(&filter, random, 20 * n))
    })?;
    Ok(Mean::of_shares(&rounds))
}

fn run(lab: &Lab) -> Result<Report> {
    let sizes = [16, 64, 256, 1024, 4096];
    let exact = |n: u64| expected_rate(BITS_PER_KEY * n, n, K);
    let mut plot = Plot::new(
        Axis::log("elements in the filter, n").ticks(sizes.map(|n| n as f64)),
        Axis::linear("false-positive rate / theory of independent functions"),
    )
    .reference("theory", [(sizes[0] as f64, 1.0), (sizes[4] as f64, 1.0)]);
    let mut ratios = Vec::new();
    for family in FAMILIES {
        let rates = sizes.iter().map(|&n| Ok((n, rate(lab, family, n)?))).collect::<Result<Vec<_>>>()?;
        let relative = |&(n, mean): &(u64, Mean)| {
            (n as f64, Mean { value: mean.value / exact(n), error: mean.error / exact(n), ..mean })
        };
        let points: Vec<(f64, Mean)> = rates.iter().map(relative).collect();
        ratios.push(points.clone());
        plot =
            plot.dashed(family.name(), points.iter().map(|&(n, mean)| (n, mean.value))).points(family.name(), points);
    }
    let [double, enhanced, triple, independent] = &ratios[..] else { return Ok(Report::new().plot(plot)) };
    let text =
        |points: &[(f64, Mean)], at: usize| format!("{:.2} times theory at n = {}", points[at].1.value, points[at].0);
    let close = |points: &[(f64, Mean)]| points[4].1.value - 1.0 < 0.05 + 5.0 * points[4].1.error;
    let constant: Vec<u64> = (0..K).map(|_| (123 + 7 * 456) % 1000).collect();
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("independent functions follow theory", independent.iter().map(|&(_, mean)| (1.0, mean))))
        .claim(
            Claim::holds(
                "two functions do, in small filters too",
                "no increase of the false-positive probability",
                text(double, 1),
                double[1].1.value < 1.1,
            )
            .corrected(Claim::holds(
                "the asymptotic statement",
                "none as n → ∞",
                text(double, 4),
                double[4].1.value < 0.5 * double[0].1.value,
            )),
        )
        .claim(Claim::holds(
            "enhanced double and triple hashing",
            "near theory",
            format!("{}, {}", text(enhanced, 4), text(triple, 4)),
            close(enhanced) && close(triple),
        ))
        .claim(
            Claim::holds(
                "f(i) can be any function of i",
                "h₁ + f(i) h₂ gives k positions",
                "f(i) = 7: one position for all i",
                constant.iter().any(|position| *position != constant[0]),
            )
            .corrected(Claim::holds(
                "Kirsch and Mitzenmacher: h₁ + i h₂ + f(i)",
                "k positions",
                "k positions",
                {
                    let mut positions: Vec<u64> = (0..u64::from(K)).map(|i| (123 + i * 456 + 7) % 1000).collect();
                    positions.dedup();
                    positions.len() == K as usize
                },
            )),
        )
        .note(format!("m = {BITS_PER_KEY} n, k = {K}; positions modulo m, a new seed for each filter.")))
}
