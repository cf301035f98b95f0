use bouquet::theory::dynamic::sizing::{Distribution, Ranks, for_components, for_rate};

use super::dbf::{ALPHA, best};
use super::papers::GUO;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig15",
    paper: &GUO,
    place: "Figure 15",
    title: "least expected bits over the Zipf parameter, N = 1330, α = 0.0098",
    run,
};

const N: u64 = 1330;

/// The bits of a chain of two or more components: with one it is the standard filter.
fn chained(exponent: f64, ranks: Ranks) -> Result<f64> {
    let tails = Distribution::Zipf { exponent, ranks }.tails(N)?;
    let mut least = f64::MAX;
    for s in 2..=64 {
        least = least.min(for_components(N, ALPHA, &tails, s)?.expected_bits);
    }
    Ok(least)
}

fn run(_: &Lab) -> Result<Report> {
    let plain = for_rate(N, ALPHA)?.bits as f64;
    let mut plot = Plot::new(Axis::linear("Zipf parameter"), Axis::linear("expected bits"));
    let mut curves = Vec::new();
    for (name, ranks) in [("maximum", Ranks::Maximum), ("random", Ranks::Random(1)), ("minimum", Ranks::Minimum)] {
        let point = |exponent: f64| Ok((exponent, chained(exponent, ranks)?));
        let curve = even(0.0, 1.5, 31).map(point).collect::<Result<Vec<_>>>()?;
        plot = plot.line(format!("{name} Zipf, s ≥ 2"), curve.iter().copied());
        curves.push(curve);
    }
    let plot = plot.reference("standard filter", [(0.0, plain), (1.5, plain)]);
    let [maximum, random, minimum] = [0, 1, 2].map(|i: usize| &curves[i]);
    let falls = minimum.windows(2).all(|two| two[0].1 > two[1].1);
    let wins = random.iter().all(|&(_, bits)| bits < plain);
    let ends = random.iter().fold((f64::MAX, 0.0f64), |(low, high), &(_, bits)| (low.min(bits), high.max(bits)));
    let before = maximum.iter().filter(|(exponent, _)| *exponent <= 0.5).all(|&(_, bits)| bits < plain);
    let after = maximum.iter().filter(|(exponent, _)| *exponent >= 0.6).all(|&(_, bits)| bits > plain);
    let crossing = maximum.iter().find(|&&(_, bits)| bits > plain).map_or(f64::NAN, |point| point.0);
    let never = even(0.0, 1.5, 16).all(|exponent| {
        let zipf = Distribution::Zipf { exponent, ranks: Ranks::Maximum };
        best(N, ALPHA, &zipf).is_ok_and(|sizing| sizing.expected_bits <= plain)
    });
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds("minimum Zipf", "performs better as the parameter increases", "from 0 to 1.5", falls))
        .claim(Claim::holds(
            "random Zipf",
            "outperforms a standard filter almost independently of the parameter",
            format!("{:.3} to {:.3} of its bits", ends.0 / plain, ends.1 / plain),
            wins,
        ))
        .claim(Claim::holds(
            "maximum Zipf, parameter less than 0.6",
            "outperforms a standard filter",
            format!("it does up to 0.5 and no longer at {crossing:.2}"),
            before,
        ))
        .claim(Claim::holds("maximum Zipf, parameter 0.6 or more", "performs worse", "from 0.6 to 1.5", after))
        .claim(Claim::holds(
            "maximum Zipf, any s",
            "never more bits than a standard filter (section 4.2)",
            "one component is the standard filter",
            never,
        ))
        .note("With one component a chain is a standard filter, so that none is worse than it; the curves are those of two or more."))
}
