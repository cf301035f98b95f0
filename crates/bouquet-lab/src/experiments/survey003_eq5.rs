use bouquet::Bloom;
use bouquet::hash::Hashing;
use bouquet::kind::Config;
use bouquet::membership::standard::KIND;
use bouquet::theory::standard::expected_rate;

use super::papers::LUO;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey003-eq5",
    paper: &LUO,
    place: "Equation 5",
    title: "a filter and two cross-checking filters, against one of the same size",
    run,
};

const N: u64 = 2_000;

fn filter(seed: u64, bits: u64, hashes: u32, keys: &[u64]) -> Result<Bloom> {
    let config = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
    let mut filter = Bloom::from_config(&config.set("bits", &bits.to_string())?.set("hashes", &hashes.to_string())?)?;
    filter.insert_batch(keys);
    Ok(filter)
}

/// Half of the bits for the main filter, a quarter for each half of the set. The first share is of elements outside
/// S; the second is what eq. (5) counts, among as many outsiders and all of S.
fn round(random: &mut bouquet::hash::SplitMix, bits: u64, k: u32, queries: u64) -> Result<[(u64, u64); 2]> {
    let members = keys(random, N);
    let (a, b) = members.split_at(members.len() / 2);
    let [s1, s2, s3] = [(); 3].map(|()| random.next_u64());
    let (main, first, second) =
        (filter(s1, bits / 2, k, &members)?, filter(s2, bits / 4, k, a)?, filter(s3, bits / 4, k, b)?);
    let outside = keys(random, queries);
    let caught = |key: &&u64| main.contains(*key) && (first.contains(*key) || second.contains(*key));
    let outsiders = outside.iter().filter(caught).count() as u64;
    // (T(A) - A) and (T(B) - B) hold members of the other part, which are no false positives at all.
    let confused =
        a.iter().filter(|key| second.contains(*key)).count() + b.iter().filter(|key| first.contains(*key)).count();
    Ok([(outsiders, queries), (outsiders + confused as u64, queries + N)])
}

fn run(lab: &Lab) -> Result<Report> {
    let k = 3;
    let (rounds, queries) = (lab.rounds(100, 8), lab.rounds(200_000, 40_000));
    let sizes = [8, 12, 16, 20, 24, 32];
    let theory = |c: u64| {
        let (main, part) = (expected_rate(c * N / 2, N, k), expected_rate(c * N / 4, N / 2, k));
        main * (1.0 - (1.0 - part).powi(2))
    };
    let plain = |c: u64| expected_rate(c * N, N, k);
    let (mut rates, mut printed) = (Vec::new(), Vec::new());
    for c in sizes {
        let runs = lab.try_play(&format!("{c}"), rounds, |random| round(random, c * N, k, queries))?;
        let [outside, all] = [0, 1].map(|i| Mean::of_shares(&runs.iter().map(|run| run[i]).collect::<Vec<_>>()));
        rates.push((c, outside));
        printed.push((theory(c), all));
    }
    let plot = Plot::new(
        Axis::linear("bits per element in all").range(6.0, 34.0).ticks(sizes.map(|c| c as f64)),
        Axis::log("false-positive rate"),
    )
    .line("main and two cross-checking filters", sizes.map(|c| (c as f64, theory(c))))
    .points("main and two cross-checking filters", rates.iter().map(|&(c, mean)| (c as f64, mean)))
    .line("one filter of the same bits", sizes.map(|c| (c as f64, plain(c))));
    let best = |c: f64| 0.5f64.powf(c * 2f64.ln());
    let optimal = best(12.0 / 2.0) * (1.0 - (1.0 - best(12.0 / 2.0)).powi(2)) / best(12.0);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("eq. (5), all that it counts", printed).corrected(Claim::curve(
            "((T(A) ∪ T(B)) ∩ T(S)) - S: f_S (1-(1-f_A)(1-f_B))",
            rates.iter().map(|&(c, mean)| (theory(c), mean)),
        )))
        .claim(
            Claim::holds(
                "cross-checking decreases the false-positive rate",
                "decreased",
                format!("at the best k and equal memory {optimal:.2} times that of one filter"),
                optimal < 1.0,
            )
            .corrected(Claim::roughly(
                "factor gained with k = 3 at 24 bits per element",
                7.0,
                0.03,
                plain(24) / theory(24),
            )),
        )
        .note(format!(
            "n = {N}, k = {k}, {rounds} rounds with {queries} outsiders each. Eq. (5) as printed \
             counts members of B that the filter of A confirms as well, although they belong to S. \
             The gain exists where k is capped; with the best k one filter of the same size is \
             better."
        )))
}
