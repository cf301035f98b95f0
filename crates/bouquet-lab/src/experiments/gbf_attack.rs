use bouquet::accuracy::generalized::Generalized;
use bouquet::theory::generalized::{Shape, bound};

use super::papers::LAUFER;
use crate::plot::even;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-attack",
    paper: &LAUFER,
    place: "Section I",
    title: "the all-one attack on distributed applications",
    run,
};

const M: u64 = 12_800;

/// The share of requests that the array of an attacker answers with yes: a standard filter (k₀ = 0) or a GBF.
fn attracted(lab: &Lab, (resets, sets): (u32, u32), ones: f64, levels: u32) -> Result<Mean> {
    let shape = Shape { bits: M, resets, sets };
    let rounds = lab.try_play(&format!("{resets} {sets} {ones:.3} {levels}"), lab.rounds(100, 10), |random| {
        // The attacker's arrays; a table of several levels has one for each.
        let forged = (0..levels).map(|_| Generalized::bernoulli(shape, 1.0 - ones, random.next_u64()));
        let forged = forged.collect::<bouquet::Result<Vec<_>>>()?;
        let requests = keys(random, 4_000);
        let attracted = |key: &&u64| forged.iter().any(|filter| filter.contains(*key));
        Ok((requests.iter().filter(attracted).count() as u64, 4_000))
    })?;
    Ok(Mean::of_shares(&rounds))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut plot = Plot::new(
        Axis::linear("ones in the array that the attacker sends"),
        Axis::linear("share of requests it attracts").range(0.0, 1.0),
    );
    let mut all = Vec::new();
    for (label, resets, sets) in [("standard filter, k = 4", 0, 4), ("GBF, k₀ = k₁ = 2", 2, 2)] {
        let shape = Shape { bits: M, resets, sets };
        let points = even(0.0, 1.0, 11)
            .map(|ones| Ok((ones, attracted(lab, (resets, sets), ones, 1)?)))
            .collect::<Result<Vec<_>>>()?;
        all.push(points.clone());
        plot = plot
            .line(label, even(0.0, 1.0, 101).map(|ones| (ones, shape.exact_rate_at(1.0 - ones))))
            .points(label, points);
    }
    let full = |at: usize| all[at].last().map_or(f64::NAN, |(_, mean)| mean.value);
    let largest = Shape { bits: M, resets: 2, sets: 2 }.largest_rate();
    let highest = all[1].iter().map(|(_, mean)| mean.value).fold(0.0, f64::max);
    let bounded = all[1].iter().all(|(_, mean)| mean.deviations(largest) <= 5.0);
    plot = plot.reference("F_p", [(0.0, bound(2.0, 2.0)), (1.0, bound(2.0, 2.0))]);
    let exact = Shape { bits: M, resets: 2, sets: 2 }.exact_rate_at(0.5);
    let three = attracted(lab, (2, 2), 0.5, 3)?;
    // Traceback: the path of an attack packet, whose filter came saturated; at each hop the neighbours are asked.
    let (hops, neighbours) = (15, 10_u32);
    let branches = |rate: f64| (0..hops).fold(1.0, |routers, _| routers * f64::from(neighbours) * rate);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::printed("web caches: requests that an all-one standard filter attracts", "100 %", full(0)))
        .claim(Claim::printed("web caches: requests that an all-one GBF attracts", "0 %", full(1)))
        .claim(Claim::holds(
            "any array of a GBF",
            "at most F_p = 6.3 %",
            format!("{:.1} % at most, within 5 σ", 100.0 * highest),
            bounded,
        ))
        .claim(Claim::printed(
            "attenuated tables: requests that three all-one levels attract",
            "100 %",
            attracted(lab, (0, 4), 1.0, 3)?.value,
        ))
        .claim(Claim::simulated(
            "attenuated tables: three levels of the worst GBF arrays, 1-(1-F_p)³",
            1.0 - (1.0 - exact).powi(3),
            three,
        ))
        .claim(Claim::holds(
            "traceback over 15 hops with 10 neighbours each",
            "ineffective with a standard filter",
            format!(
                "{:.0e} routers blamed; {:.0e} by the worst array of a GBF",
                branches(1.0),
                branches(bound(2.0, 2.0))
            ),
            branches(1.0) > 1e14 && branches(bound(2.0, 2.0)) < 1.0,
        ))
        .note(
            "The array is the attacker's choice; the requests are not. Who knows the functions can \
             still craft an array for a few chosen elements.",
        ))
}
