use bouquet::theory::dynamic::sizing::for_rate;

use super::dbf::{best, distributions};
use super::papers::GUO;
use crate::plot::even_log;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig13",
    paper: &GUO,
    place: "Figure 13",
    title: "least expected bits by the false-positive probability, N = 13300",
    run,
};

const N: u64 = 13_300;

/// The rates α.
pub(super) fn rates() -> impl Iterator<Item = f64> + Clone {
    even_log(0.0001, 0.2, 34)
}

/// A rate, the bits of the best chain and those of a standard filter.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) alpha: f64,
    pub(super) chain: f64,
    pub(super) plain: f64,
}

/// For each distribution its name and the chains at each rate.
pub(super) fn curves() -> Result<Vec<(&'static str, Vec<Point>)>> {
    let curve = |(name, distribution)| {
        let point = |alpha: f64| {
            let chain = best(N, alpha, &distribution)?.expected_bits;
            let plain = for_rate(N, alpha)?.bits as f64;
            Ok(Point { alpha, chain, plain })
        };
        Ok((name, rates().map(point).collect::<Result<Vec<_>>>()?))
    };
    distributions(N).into_iter().map(curve).collect()
}

/// The rate, in steps of a thousandth, from which on maximum Zipf is best with one component: a standard filter.
pub(super) fn one_component() -> Result<f64> {
    let maximum = &distributions(N)[0].1;
    for alpha in (1..200).map(|thousandths| f64::from(thousandths) / 1000.0) {
        if best(N, alpha, maximum)?.components == 1 {
            return Ok(alpha);
        }
    }
    Ok(f64::NAN)
}

fn run(_: &Lab) -> Result<Report> {
    let curves = curves()?;
    let plain = curves[0].1.iter().map(|point| (point.alpha, point.plain / 1000.0));
    let mut plot = Plot::new(Axis::log("false-positive probability α"), Axis::linear("expected size, kbit"))
        .reference("standard filter", plain);
    for (name, points) in &curves {
        plot = plot.line(*name, points.iter().map(|point| (point.alpha, point.chain / 1000.0)));
    }
    let falls = curves.iter().all(|(_, points)| points.windows(2).all(|two| two[0].chain > two[1].chain));
    let [max, min] = [0, 4].map(|curve: usize| &curves[curve].1);
    let ranked = curves[1..4].iter().all(|(_, points)| {
        points.iter().zip(max.iter().zip(min)).all(|(own, (max, min))| own.chain <= max.chain && own.chain >= min.chain)
    });
    let points = || curves.iter().flat_map(|(_, points)| points);
    let wins = points().all(|point| point.chain < point.plain);
    let never = points().all(|point| point.chain <= point.plain);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds("a larger α", "fewer bits", "for all five", falls))
        .claim(Claim::holds("maximum and minimum Zipf", "the most and the least bits", "at every α", ranked))
        .claim(
            Claim::holds(
                "all chains",
                "fewer bits than a standard filter, independently of α",
                format!("with maximum Zipf the same bits from α = {:.3} on", one_component()?),
                wins,
            )
            .corrected(Claim::holds(
                "all chains, one component allowed",
                "never more bits than a standard filter",
                "for α from 0.0001 to 0.2",
                never,
            )),
        )
        .note("In the text of the paper this is once called Figure 11."))
}
