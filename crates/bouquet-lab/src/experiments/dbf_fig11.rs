use bouquet::theory::dynamic::sizing::for_rate;

use super::dbf::{ALPHA, best, distributions};
use super::papers::GUO;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig11",
    paper: &GUO,
    place: "Figure 11",
    title: "least expected bits over the bound of the set, α = 0.0098",
    run,
};

/// The bounds N.
pub(super) fn bounds() -> impl Iterator<Item = u64> + Clone {
    (1..=15).map(|i| 1330 * i)
}

/// A distribution of set sizes, and the points of its curve.
type Curve = (&'static str, Vec<(f64, f64)>);

/// The names of the distributions and for each the bits of a chain and of a standard filter at each bound.
pub(super) fn curves() -> Result<Vec<Curve>> {
    let names = distributions(1330).map(|(name, _)| name);
    let curve = |(i, name)| {
        let bits = bounds().map(|n| {
            let (_, distribution) = &distributions(n)[i];
            Ok((best(n, ALPHA, distribution)?.expected_bits, for_rate(n, ALPHA)?.bits as f64))
        });
        Ok((name, bits.collect::<Result<Vec<_>>>()?))
    };
    names.into_iter().enumerate().map(curve).collect()
}

fn run(_: &Lab) -> Result<Report> {
    let curves = curves()?;
    let at = || bounds().map(|n| n as f64);
    let plain = curves[0].1.iter().map(|bits| bits.1 / 1000.0);
    let mut plot = Plot::new(Axis::linear("largest size of the set, N"), Axis::linear("expected size, kbit"))
        .reference("standard filter", at().zip(plain));
    for (name, bits) in &curves {
        plot = plot.line(*name, at().zip(bits.iter().map(|bits| bits.0 / 1000.0)));
    }
    let all = |law: &dyn Fn(usize) -> bool| (0..bounds().count()).all(law);
    let chain = |curve: usize, i: usize| curves[curve].1[i].0;
    let wins = curves.iter().all(|(_, bits)| bits.iter().all(|(chain, plain)| chain < plain));
    let widens = curves.iter().all(|(_, bits)| bits.windows(2).all(|two| two[0].1 - two[0].0 < two[1].1 - two[1].0));
    let apart = (0..bounds().count()).map(|i| (chain(2, i) / chain(1, i) - 1.0).abs()).fold(0.0, f64::max);
    let most = all(&|i| (1..5).all(|curve| chain(0, i) > chain(curve, i)));
    let least = all(&|i| (0..4).all(|curve| chain(4, i) < chain(curve, i)));
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds(
            "random Zipf and uniform",
            "almost the same bits",
            format!("differ by at most {:.1} %", 100.0 * apart),
            apart < 0.02,
        ))
        .claim(Claim::holds("maximum Zipf", "the most of the five", "at every N", most))
        .claim(Claim::holds("minimum Zipf", "the least of the five", "at every N", least))
        .claim(Claim::holds("all chains", "fewer bits than a standard filter", "at every N", wins))
        .claim(Claim::holds("the difference", "widens with N", "for all five", widens))
        .note("The paper does not state the range of N; this one goes up to 15 times that of Figure 10."))
}
