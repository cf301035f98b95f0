use bouquet::hash::SplitMix;

use super::papers::TARKOMA;
use super::shared::standard;
use crate::plot::even;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-lpm",
    paper: &TARKOMA,
    place: "Section IV-C.1",
    title: "hash probes of longest prefix matching with a filter for each length",
    run,
};

/// Prefixes of each length: one length holds two thirds.
const SKEWED: [u64; 8] = [200, 200, 200, 200, 400, 3_200, 400, 200];
/// As many in all, the same of each.
const EVEN: [u64; 8] = [625; 8];

/// (1/2)^((M/N) ln 2), the rate of a filter with M/N bits per prefix at the best k, which need not be whole.
fn rate(bits_per_prefix: f64) -> f64 {
    0.5_f64.powf(bits_per_prefix * std::f64::consts::LN_2)
}

/// The best whole k.
fn hashes(bits_per_prefix: u64) -> u32 {
    ((bits_per_prefix as f64 * std::f64::consts::LN_2).round() as u32).max(1)
}

/// Tables that are looked into in vain for each address that no prefix matches: one for each filter that takes it for a member.
fn vain_probes(random: &mut SplitMix, lengths: &[u64], bits_per_prefix: u64) -> Result<f64> {
    let filters = lengths
        .iter()
        .map(|&n| standard(random, (n * bits_per_prefix, n, hashes(bits_per_prefix))))
        .collect::<Result<Vec<_>>>()?;
    let queries = 2_000;
    // The address cut to each length is another key for each filter.
    let vain: usize =
        filters.iter().map(|filter| keys(random, queries).iter().filter(|key| filter.contains(*key)).count()).sum();
    Ok(vain as f64 / queries as f64)
}

fn run(lab: &Lab) -> Result<Report> {
    let rounds = lab.rounds(100, 20);
    let lengths = EVEN.len() as f64;
    let exact = |c: u64| lengths * bouquet::theory::standard::limit_rate(c as f64, hashes(c));
    let sizes = [4_u64, 6, 8, 10, 12];
    let measure = |name: &str, of: &[u64]| -> Result<Vec<(f64, Mean)>> {
        let one = |c: &u64| {
            let found = lab.try_play(&format!("{name} {c}"), rounds, |random| vain_probes(random, of, *c))?;
            Ok((*c as f64, Mean::of(&found)))
        };
        sizes.iter().map(one).collect()
    };
    let (skewed, even_ones) = (measure("skewed", &SKEWED)?, measure("even", &EVEN)?);
    let plot = Plot::new(Axis::linear("bits per prefix, M/N"), Axis::log("probes in vain per lookup"))
        .line("B (1/2)^((M/N) ln 2)", even(4.0, 12.0, 81).map(|c| (c, lengths * rate(c))))
        .points("5000 prefixes, 625 of each length", even_ones.clone())
        .points("5000 prefixes, two thirds of one length", skewed.clone())
        .reference(
            "as printed, (1/2)^((M/N)/ln 2)",
            even(4.0, 12.0, 81).map(|c| (c, 0.5_f64.powf(c / std::f64::consts::LN_2))),
        );
    let at_8 = even_ones[2].1;
    let printed = 0.5_f64.powf(8.0 / std::f64::consts::LN_2);
    let apart: Vec<f64> =
        skewed.iter().zip(&even_ones).map(|((_, a), (_, b))| (a.value - b.value) / a.error.hypot(b.error)).collect();
    let worst = apart.iter().copied().fold(0.0, |worst: f64, apart| worst.max(apart.abs()));
    Ok(Report::new()
        .plot(plot)
        .claim(
            Claim::simulated("probes in vain at 8 bits per prefix: (1/2)^((M/N)/ln 2)", printed, at_8).corrected(
                Claim::curve(
                    "B f, f = (1/2)^((M/N) ln 2) up to the whole k, at 4 to 12 bits per prefix",
                    sizes.iter().zip(&even_ones).map(|(&c, (_, mean))| (exact(c), *mean)),
                ),
            ),
        )
        .claim(
            Claim::holds(
                "the number of unique prefix lengths",
                "does not matter",
                format!("{:.3} probes in vain with 8 lengths", at_8.value),
                false,
            )
            .corrected(Claim::holds(
                "each length adds as many probes in vain",
                "B f",
                format!("f = {:.4} at 8 bits, times 8 is {:.3}", exact(8) / lengths, exact(8)),
                at_8.deviations(exact(8)).abs() <= 5.0,
            )),
        )
        .claim(Claim::holds(
            "the distribution of prefixes among the lengths",
            "does not matter",
            format!("two thirds in one length against an eighth in each: {worst:.1} σ apart at most"),
            worst <= 5.0,
        ))
        .claim(Claim::holds(
            "worst case with two expanded lengths and an array: probes per lookup with less than 8 bits per prefix",
            "approaches one",
            format!("1 + 2 f = {:.3}", 1.0 + 2.0 * rate(8.0)),
            1.0 + 2.0 * rate(8.0) < 1.05,
        ))
        .note(
            "As printed the exponent divides by ln 2 where it should multiply, and the number of lengths B is missing: at 8 bits \
             per prefix the formula gives 0.0003 instead of B times 0.0214. A lookup that succeeds has one probe more.",
        ))
}
