use bouquet::theory::dynamic::Shape;
use bouquet::theory::dynamic::sizing::for_rate;

use super::dbf::{BASE, by_point, chain};
use super::papers::GUO;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig7",
    paper: &GUO,
    place: "Figure 7",
    title: "items with several addresses in terms of a component",
    run,
};

const MOST: u64 = 40;

/// n f₂(n) / c for s full components.
fn ratio(shape: &Shape, s: u64) -> f64 {
    shape.improved_ratio(s * shape.capacity)
}

/// The items of n that seem present before they are inserted, in terms of a component: the sum of F.
fn seem_present(n: u64) -> f64 {
    (0..n).map(|before| BASE.rate(before)).sum::<f64>() / BASE.capacity as f64
}

/// The same, measured at this many components.
fn measured(lab: &Lab, sizes: &[u64]) -> Result<Vec<Mean>> {
    let rounds = lab.try_play("seem present", lab.rounds(400, 40), |random| {
        let mut filter = chain(random, BASE)?;
        let mut present = 0_u64;
        let mut shares = Vec::new();
        for s in sizes {
            while filter.items() < s * BASE.capacity {
                present += u64::from(!filter.insert(&random.next_u64())?);
            }
            shares.push(present as f64 / BASE.capacity as f64);
        }
        Ok(shares)
    })?;
    Ok(by_point(&rounds, Mean::of))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut plot =
        Plot::new(Axis::linear("full components, s"), Axis::log("items in terms of a component").range(0.001, 50.0));
    let rates = [0.05, 0.01, 0.001, 0.0001];
    let shapes = rates.into_iter().map(|rate| for_rate(10_000, rate)).collect::<bouquet::theory::Result<Vec<_>>>()?;
    for (rate, shape) in rates.into_iter().zip(&shapes) {
        plot = plot.line(format!("n f₂/c, f = {rate}"), (2..=MOST).map(|s| (s as f64, ratio(shape, s))));
    }
    let (hundredth, thousandth) = (shapes[1], shapes[2]);
    let sizes = [2, 5, 10, 15, 20, 30, 40];
    let points = measured(lab, &sizes)?;
    let present = "seem present when they are inserted, f = 0.00985";
    plot = plot
        .dashed(present, (2..=MOST).map(|s| (s as f64, seem_present(s * BASE.capacity))))
        .points(present, sizes.map(|s| s as f64).into_iter().zip(points.iter().copied()))
        .reference("a whole component", [(1.0, 1.0), (MOST as f64, 1.0)]);
    let below = |shape: &Shape, most: u64| (1..=most).all(|s| ratio(shape, s) < 1.0);
    let from = |shape: &Shape| (1..).find(|&s| ratio(shape, s) >= 1.0).unwrap_or(0);
    let half = sizes.iter().all(|s| seem_present(s * BASE.capacity) < ratio(&BASE, *s));
    let needless = (1..).find(|s| seem_present(s * BASE.capacity) >= 1.0).unwrap_or(0);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds(
            "f ≤ 0.01, s ≤ 10",
            "the ratio is less than one",
            format!("{:.3} at s = 10", ratio(&hundredth, 10)),
            below(&hundredth, 10),
        ))
        .claim(Claim::holds(
            "f ≤ 0.001, s ≤ 20",
            "the ratio is less than one",
            format!("{:.3} at s = 20", ratio(&thousandth, 20)),
            below(&thousandth, 20),
        ))
        .claim(
            Claim::holds(
                "f = 0.001, s > 20",
                "at least one component is unnecessary",
                format!("the ratio reaches one at s = {}", from(&thousandth)),
                from(&thousandth) == 21,
            )
            .corrected(Claim::holds(
                "the ratio, which is about s (s-1) f",
                "reaches one at s = 1/2 + √(1/f + 1/4)",
                format!("at s = {} for f = 0.01, at {} for f = 0.001", from(&hundredth), from(&thousandth)),
                [(&hundredth, 0.01), (&thousandth, 0.001)]
                    .iter()
                    .all(|(shape, f)| from(shape) as f64 == (0.5 + (1.0f64 / f + 0.25).sqrt()).ceil()),
            )),
        )
        .claim(Claim::holds(
            "items that have an address before they are represented",
            "fewer than n f₂",
            format!("about half; they fill a component at s = {needless}"),
            half,
        ))
        .claim(Claim::curve(
            "items that seem present, the sum of F(0) to F(n-1)",
            sizes.map(|s| seem_present(s * BASE.capacity)).into_iter().zip(points),
        ))
        .note(
            "n f₂ counts the items that match several components at the end. Those for which improved insertion makes a \
             difference match one when they come: about half as many.",
        ))
}
