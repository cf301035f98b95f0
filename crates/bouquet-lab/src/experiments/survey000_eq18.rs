use bouquet::Stable;
use bouquet::decay::stable::KIND;
use bouquet::hash::Hashing;
use bouquet::kind::Config;
use bouquet::theory::stable::{Shape, decrements};

use super::papers::TARKOMA;
use crate::plot::even_log;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-eq18",
    paper: &TARKOMA,
    place: "Equation 18",
    title: "the false-positive rate of a stable Bloom filter converges",
    run,
};

const CELLS: u64 = 5_000;
const HASHES: u32 = 3;
const RATE: f64 = 0.05;
/// Arrivals after which the rate is measured.
const STOPS: [u64; 7] = [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000];

/// The rate after each number of arrivals, for cells of this highest value.
fn rates(lab: &Lab, max: u32) -> Result<Vec<(f64, Mean)>> {
    let rounds = lab.try_play(&format!("max {max}"), lab.rounds(400, 40), |random| {
        let config = Config::new(KIND.facts()).hashed(Hashing::seeded(random.next_u64()));
        let settings = [("cells", CELLS), ("hashes", HASHES.into()), ("max", max.into())];
        let config =
            settings.into_iter().try_fold(config, |config, (name, value)| config.set(name, &value.to_string()))?;
        let mut filter = Stable::from_config(&config.set("fpr", &RATE.to_string())?)?;
        let mut arrived = 0;
        Ok(STOPS.map(|stop| {
            for key in keys(random, stop - arrived) {
                filter.insert(&key);
            }
            arrived = stop;
            (keys(random, 2_000).iter().filter(|key| filter.contains(*key)).count() as u64, 2_000)
        }))
    })?;
    let at = |i: usize| Mean::of_shares(&rounds.iter().map(|round| round[i]).collect::<Vec<_>>());
    Ok(STOPS.iter().enumerate().map(|(i, &stop)| (stop as f64, at(i))).collect())
}

fn run(lab: &Lab) -> Result<Report> {
    let mut plot = Plot::new(Axis::log("arrivals"), Axis::linear("false-positive rate").range(0.0, 0.06))
        .reference("limit asked for", [(200.0, RATE), (20_000.0, RATE)]);
    let mut report = Report::new();
    for max in [1, 3] {
        let shape = Shape { cells: CELLS, hashes: HASHES, max, decrements: decrements(CELLS, HASHES, max, RATE)? };
        let label = format!("Max = {max}, P = {}", shape.decrements);
        let expected = |arrivals: u64| (1.0 - shape.zeros_after(arrivals)).powi(HASHES as i32);
        let points = rates(lab, max)?;
        // Eq. (18) as printed, before it is rounded up.
        let zeros = 1.0 - RATE.powf(1.0 / f64::from(HASHES));
        let per_cell = zeros.powf(-1.0 / f64::from(max)) - 1.0;
        let printed = 1.0 / (per_cell * (1.0 / f64::from(HASHES) - 1.0 / CELLS as f64));
        let limit = points[STOPS.len() - 1].1;
        report = report
            .claim(Claim::holds(
                format!("P by eq. (18), Max = {max}"),
                format!("{printed:.2}, so {}", printed.ceil()),
                shape.decrements.to_string(),
                printed.ceil() as u64 == shape.decrements,
            ))
            .claim(Claim::near(format!("the limit with that P, Max = {max}"), 0.001, [(shape.limit_rate(), limit)]))
            .claim(Claim::holds(
                format!("the rate asked for, Max = {max}"),
                "at most 5 %",
                limit.to_string(),
                limit.value < RATE + 5.0 * limit.error,
            ));
        plot = plot
            .line(&label, even_log(200.0, 20_000.0, 80).map(|t| (t, expected(t.round() as u64))))
            .points(&label, points);
    }
    Ok(report.plot(plot).note(format!(
        "m = {CELLS} cells, K = {HASHES}, keys that never repeat. P must be rounded up: the next \
             whole number below breaks the bound."
    )))
}
