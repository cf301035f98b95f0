use bouquet::theory::standard::limit_rate;

use super::papers::BRODER;
use super::shared::standard_rate;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey001-p2p",
    paper: &BRODER,
    place: "Section 5.1",
    title: "8 or 16 bits per object instead of an identifier of 64",
    run,
};

const OBJECTS: u64 = 5_000;
/// "Hundreds of nodes".
const NODES: f64 = 300.0;

fn hashes(bits_per_object: f64) -> u32 {
    ((bits_per_object * std::f64::consts::LN_2).round() as u32).max(1)
}

fn run(lab: &Lab) -> Result<Report> {
    let rounds = lab.rounds(200, 24);
    let mut points = Vec::new();
    for c in [4_u64, 6, 8, 10, 12, 16] {
        points.push((
            c as f64,
            standard_rate(lab, (c * OBJECTS, OBJECTS, hashes(c as f64)), rounds, lab.rounds(100_000, 20_000))?,
        ));
    }
    let expected = |c: f64| limit_rate(c, hashes(c));
    let at = |c: f64| points.iter().find(|(x, _)| *x == c).map(|(_, mean)| *mean);
    let claims = [(8.0, 8.0), (16.0, 4.0)].into_iter().filter_map(|(c, times)| {
        let mean = at(c)?;
        Some([
            Claim::printed(format!("{c} bits instead of 64: times less"), &format!("{times}"), 64.0 / c),
            Claim::simulated(
                format!("share of other nodes that are asked in vain, {c} bits per object"),
                expected(c),
                mean,
            ),
        ])
    });
    Ok(Report::new()
        .claims(claims.flatten())
        .claim(Claim::holds(
            "keeping a filter for each of some hundred nodes",
            "tractable: few extraneous requests",
            format!(
                "{:.1} of {NODES} nodes are asked in vain at 8 bits per object, {:.2} at 16",
                NODES * expected(8.0),
                NODES * expected(16.0)
            ),
            NODES * expected(16.0) < 1.0,
        ))
        .plot(
            Plot::new(Axis::linear("bits per object"), Axis::log("nodes asked in vain, of one"))
                .line("f at the best whole k", even(4.0, 16.0, 121).map(|c| (c, expected(c))))
                .points("f at the best whole k", points),
        )
        .note(format!(
            "The section gives no rate. At 8 bits per object a request goes to {:.0} nodes in vain among {NODES}, at 16 to one in \
             seven requests; \"an attractive alternative\" wants the 16.",
            NODES * expected(8.0)
        )))
}
