use super::dbf::{BASE, Functions, Order, Trial, by_point, items};
use super::papers::GUO;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig6",
    paper: &GUO,
    place: "Figure 6",
    title: "rates of chains that were emptied and are filled again, c = 133",
    run,
};

/// The components that were full before.
const BEFORE: [u64; 3] = [10, 8, 5];

/// New items at each measurement: where old ones make the most difference, for the last component is neither nearly empty
/// nor full.
const SIZES: [u64; 10] = [80, 213, 346, 479, 612, 745, 878, 1011, 1144, 1277];

/// The rates of a chain that held s full components, was emptied and got these numbers of new items; and how many old
/// ones it still has.
fn refilled(lab: &Lab, s: u64) -> Result<(Vec<Mean>, Mean)> {
    let rounds = lab.try_play(&format!("refilled after {s}"), lab.rounds(400, 40), |random| {
        let mut trial = Trial::new(random, Functions::Independent, s * BASE.capacity)?;
        let left = trial.empty(random, Order::Insertion)?;
        let (mut shares, mut before) = (Vec::new(), 0);
        for n in SIZES {
            trial.grow(random, n - before)?;
            before = n;
            shares.push(trial.false_positives(random, 4_000));
        }
        Ok((shares, left as f64))
    })?;
    let (shares, left): (Vec<_>, Vec<f64>) = rounds.into_iter().unzip();
    Ok((by_point(&shares, Mean::of_shares), Mean::of(&left)))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut plot = Plot::new(items("new items n"), Axis::linear("false-positive probability"))
        .line("never emptied, F(n)", (0..=1330).map(|n| (n as f64, BASE.rate(n))));
    let (mut pairs, mut measured) = (Vec::new(), Vec::new());
    for s in BEFORE {
        let (means, left) = refilled(lab, s)?;
        let label = format!("after n/c = {s}");
        let more = left.value.round() as u64;
        plot = plot
            .dashed(&label, (0..=1330).map(|n| (n as f64, BASE.rate(n + more))))
            .points(&label, SIZES.map(|n| n as f64).into_iter().zip(means.iter().copied()));
        pairs.extend(SIZES.map(|n| BASE.rate(n + more)).into_iter().zip(means.iter().copied()));
        measured.push(means);
    }
    let excess =
        |means: &[Mean]| SIZES.iter().zip(means).map(|(&n, mean)| mean.value - BASE.rate(n)).collect::<Vec<f64>>();
    let excesses: Vec<Vec<f64>> = measured.iter().map(|means| excess(means)).collect();
    let means: Vec<f64> = excesses.iter().map(|excess| excess.iter().sum::<f64>() / SIZES.len() as f64).collect();
    let larger = means.iter().all(|&mean| mean > 0.0);
    let ordered = means.windows(2).all(|pair| pair[0] > pair[1]);
    let worst = excesses.iter().flatten().copied().fold(0.0, f64::max);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::near("F(n + left), what the items left behind add (dashed)", 0.002, pairs))
        .claim(Claim::holds(
            "a chain that was emptied",
            "has a larger rate than the expected value",
            "after n/c = 10, 8 and 5, in the mean over n",
            larger,
        ))
        .claim(Claim::holds(
            "more remaining items",
            "the greater the rate",
            format!("{:.4} more after n/c = 10, {:.4} after 8, {:.4} after 5", means[0], means[1], means[2]),
            ordered,
        ))
        .claim(Claim::holds(
            "the difference to the expected value",
            "is small",
            format!("at most {worst:.4}; a full component has {:.4}", BASE.full_rate()),
            worst < BASE.full_rate(),
        ))
        .note(
            "Items are removed in the order of insertion, in which the most of them stay. They fill a part of a \
             component, and that is all they do: F of all items, old and new, describes the chain, to within 0.002. F is the limit \
             of large filters, to which half a percent of the rate must be added at m = 1280.",
        ))
}
