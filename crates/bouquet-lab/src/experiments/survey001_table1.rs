use bouquet::Compressed;
use bouquet::theory::compressed::{for_message, limit_of_message, message_bits_per_key};
use bouquet::theory::standard::limit_rate;

use super::papers::BRODER;
use crate::plot::even_log;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey001-table1",
    paper: &BRODER,
    place: "Table 1",
    title: "compressed filters of at most 16 bits per element sent",
    run,
};

/// m/n, k, and the z/n and f that are printed.
const COLUMNS: [(u64, u32, &str, &str); 3] =
    [(16, 11, "16", "0.000459"), (28, 4, "15.846", "0.000314"), (48, 3, "15.829", "0.000222")];

fn run(lab: &Lab) -> Result<Report> {
    let (n, queries) = (100_000, lab.rounds(500_000, 200_000));
    let rounds = lab.rounds(40, 4);
    let mut table = Table::new(["m/n", "k", "z/n", "z/n measured", "f", "f measured"]);
    let mut report = Report::new();
    let mut measured = Vec::new();
    for (c, k, sent, rate) in COLUMNS {
        let runs = lab.play(&format!("m/n = {c}"), rounds, |random| -> Result<_> {
            let mut filter = Compressed::with_size(c * n, k)?;
            filter.insert_batch(&keys(random, n));
            let others = keys(random, queries);
            let mut answers = vec![false; others.len()];
            filter.contains_batch(&others, &mut answers);
            let hits = answers.iter().filter(|&&yes| yes).count() as u64;
            Ok((8.0 * filter.to_bytes().len() as f64 / n as f64, (hits, queries)))
        });
        let runs = runs.into_iter().collect::<Result<Vec<_>>>()?;
        let (sizes, shares): (Vec<f64>, Vec<(u64, u64)>) = runs.into_iter().unzip();
        let (size, share) = (Mean::of(&sizes), Mean::of_shares(&shares));
        let (z, f) = (message_bits_per_key(c as f64, k), limit_rate(c as f64, k));
        table.row([
            c.into(),
            u64::from(k).into(),
            z.into(),
            size.to_string().into(),
            f.into(),
            share.to_string().into(),
        ]);
        measured.push((c as f64, share));
        report = report
            .claim(Claim::printed(format!("z/n at m/n = {c}, k = {k}"), sent, z))
            .claim(Claim::printed(format!("f at m/n = {c}, k = {k}"), rate, f))
            .claim(Claim::simulated(format!("f of filters at m/n = {c}, k = {k}"), f, share))
            .claim(Claim::roughly(format!("z/n of messages at m/n = {c}, k = {k}"), z, 0.005, size.value));
    }
    let best = |c: f64| for_message(16.0, c).map(|plan| (c, plan.rate));
    let curve = even_log(16.0, 1024.0, 120).map(best).collect::<bouquet::theory::Result<Vec<_>>>()?;
    let limit = limit_of_message(16.0);
    let plot = Plot::new(
        Axis::log("bits per element in memory, m/n").ticks([16.0, 28.0, 48.0, 100.0, 200.0, 500.0, 1000.0]),
        Axis::log("false-positive probability f"),
    )
    .line("best with z/n ≤ 16", curve)
    .points("columns of the table, measured", measured)
    .reference("limit for k = 1, m/n → ∞", [(16.0, limit), (1024.0, limit)]);
    let [dense, sparse] = [(16.0, 11), (48.0, 3)].map(|(c, k)| limit_rate(c, k));
    let found = for_message(16.0, 48.0)?;
    let same = (found.bits_per_key, found.hashes) == (48.0, 3);
    Ok(report
        .claim(Claim::roughly("factor between the first and the last column", 2.0, 0.1, dense / sparse))
        .claim(Claim::holds(
            "best design with m/n ≤ 48",
            "m/n = 48, k = 3",
            format!("m/n = {}, k = {}", found.bits_per_key, found.hashes),
            same,
        ))
        .plot(plot)
        .table(table)
        .note(format!(
            "Measured: {rounds} filters of {n} elements each, {queries} queries each. A message is \
             the whole frame, with its header of fewer than 0.02 bits per element."
        )))
}
