use bouquet::kind::Config;
use bouquet::registry;

use super::papers::LUO;
use super::shared::{any, any_false_positives, insert};
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey003-dleft",
    paper: &LUO,
    place: "Section VIII-B.3",
    title: "what d-left hashing saves over a counting filter",
    run,
};

const KEYS: u64 = 20_000;

/// The planned bits per key of a kind at a rate.
fn bits(kind: &str, rate: f64) -> Result<f64> {
    let kind = registry::find(kind)?;
    let config = Config::new(kind.facts()).set("items", &KEYS.to_string())?.set("fpr", &rate.to_string())?;
    Ok(kind.plan(&config)?.bits as f64 / KEYS as f64)
}

fn run(lab: &Lab) -> Result<Report> {
    let rates = [0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001];
    let of = |kind: &str| rates.iter().map(|&rate| Ok((bits(kind, rate)?, rate))).collect::<Result<Vec<_>>>();
    let (counting, d_left) = (of("counting")?, of("d-left")?);
    let rounds = lab.rounds(100, 12);
    let mut measured = Vec::new();
    for (&rate, (bits, _)) in [0.01, 0.001].iter().zip([&d_left[2], &d_left[4]]) {
        let found = lab.try_play(&format!("rate {rate}"), rounds, |random| {
            let mut filter = any(random, "d-left", &[("items", &KEYS.to_string()), ("fpr", &rate.to_string())])?;
            insert(&mut filter, &keys(random, KEYS))?;
            any_false_positives(&filter, random, 20_000)
        })?;
        measured.push((*bits, Mean::of_shares(&found)));
    }
    let saving = |at: usize| 1.0 - d_left[at].0 / counting[at].0;
    // The rate of the d-left filter that takes as much as a counting filter of 1 %: each bit more per key halves it.
    let same_space = {
        let spare = counting[2].0 - d_left[2].0;
        let per_halving = (d_left[6].0 - d_left[0].0) / (rates[0] / rates[6]).log2();
        rates[2] * 0.5_f64.powf(spare / per_halving)
    };
    let below = measured.iter().zip([0.01, 0.001]).all(|((_, mean), rate)| mean.value <= rate + 5.0 * mean.error);
    Ok(Report::new()
        .plot(
            Plot::new(Axis::linear("bits per key"), Axis::log("false-positive rate"))
                .line("counting, 4 bits", counting.iter().copied())
                .line("d-left", d_left.iter().copied())
                .points("d-left", measured),
        )
        .claim(Claim::holds(
            "space saved at the same rate",
            "nearly 50 %",
            format!("{:.0} % at 1 %, {:.0} % at 0.1 %", 100.0 * saving(2), 100.0 * saving(4)),
            saving(2) > 0.45,
        ))
        .claim(Claim::holds(
            "rate in the same space as a counting filter of 1 %",
            "two orders of magnitude lower",
            format!("{same_space:.1e}"),
            same_space <= 1e-4,
        ))
        .claim(Claim::holds("the measured rate of filters made for 1 % and 0.1 %", "at most that", "yes", below))
        .note(format!("{KEYS} keys, sizes as the library plans them.")))
}
