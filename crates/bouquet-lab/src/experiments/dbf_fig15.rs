use bouquet::theory::dynamic::sizing::{Distribution, Ranks, for_rate};

use super::dbf::{ALPHA, best, chained, randomly_ranked};
use super::papers::GUO;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig15",
    paper: &GUO,
    place: "Figure 15",
    title: "least expected bits by the Zipf parameter, N = 1330, α = 0.0098",
    run,
};

const N: u64 = 1330;

fn run(lab: &Lab) -> Result<Report> {
    let plain = for_rate(N, ALPHA)?.bits as f64;
    let mut plot = Plot::new(Axis::linear("Zipf parameter"), Axis::linear("expected bits"));
    let curve = |ranks| {
        let point = |exponent| Ok((exponent, chained(N, &Distribution::Zipf { exponent, ranks })?));
        even(0.0, 1.5, 31).map(point).collect::<Result<Vec<(f64, f64)>>>()
    };
    let (maximum, minimum) = (curve(Ranks::Maximum)?, curve(Ranks::Minimum)?);
    let random = even(0.0, 1.5, 11).map(|exponent| Ok((exponent, randomly_ranked(lab, N, exponent)?)));
    let random = random.collect::<Result<Vec<(f64, Mean)>>>()?;
    plot = plot
        .line("maximum Zipf", maximum.iter().copied())
        .points("random Zipf, mean over orders", random.iter().copied())
        .line("minimum Zipf", minimum.iter().copied())
        .reference("standard filter", [(0.0, plain), (1.5, plain)]);
    let falls = minimum.windows(2).all(|two| two[0].1 > two[1].1);
    let wins = random.iter().all(|(_, bits)| bits.value < plain);
    let ends =
        random.iter().fold((f64::MAX, 0.0f64), |(low, high), (_, bits)| (low.min(bits.value), high.max(bits.value)));
    let worse = |exponent: f64| -> Result<bool> {
        Ok(chained(N, &Distribution::Zipf { exponent, ranks: Ranks::Maximum })? > plain)
    };
    let (mut crossing, mut below) = (1.5, 0.0);
    while crossing - below > 1e-3 {
        let middle = (below + crossing) / 2.0;
        if worse(middle)? { crossing = middle } else { below = middle }
    }
    let after = maximum.iter().filter(|(exponent, _)| *exponent >= crossing).all(|&(_, bits)| bits > plain);
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
        .claim(Claim::printed(
            "maximum Zipf: the parameter below which it outperforms a standard filter",
            "0.6",
            crossing,
        ))
        .claim(Claim::holds(
            "maximum Zipf, a larger parameter",
            "performs worse than a standard filter",
            format!("from {crossing:.3} to 1.5"),
            after,
        ))
        .claim(Claim::holds(
            "maximum Zipf, any s",
            "never more bits than a standard filter (section 4.2)",
            "one component is the standard filter",
            never,
        ))
        .note(
            "With one component a chain is a standard filter, so that none is worse than it; here it has two or more.",
        ))
}
