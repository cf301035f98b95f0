use bouquet::theory::dynamic::sizing::for_rate;

use super::dbf::{ALPHA, best, normal};
use super::papers::GUO;
use crate::plot::even_log;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig16",
    paper: &GUO,
    place: "Figure 16",
    title: "least expected bits by σ of normal sizes, N = 1330, α = 0.0098",
    run,
};

const N: u64 = 1330;

fn run(_: &Lab) -> Result<Report> {
    let plain = for_rate(N, ALPHA)?.bits as f64;
    let point = |deviation: f64| Ok((deviation, best(N, ALPHA, &normal(N, deviation))?.expected_bits));
    let curve = even_log(1.0, 400.0, 134).map(point).collect::<Result<Vec<_>>>()?;
    let rises = curve.windows(2).all(|two| two[0].1 <= two[1].1);
    let wins = curve.iter().all(|&(_, bits)| bits < plain);
    let [first, last] = [curve[0].1, curve[curve.len() - 1].1];
    let plot = Plot::new(Axis::log("standard deviation σ of the size, items"), Axis::linear("expected bits"))
        .line("normal, mean N/2", curve.iter().copied())
        .reference("standard filter", [(1.0, plain), (400.0, plain)]);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds(
            "a larger σ",
            "more bits",
            format!("from {first:.0} at σ = 1 to {last:.0} at σ = 400"),
            rises,
        ))
        .claim(Claim::holds("normal sizes", "always fewer bits than a standard filter", "for σ from 1 to 400", wins))
        .note("The paper does not state the range of σ."))
}
