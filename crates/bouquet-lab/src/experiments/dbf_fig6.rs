use super::dbf::{BASE, Functions, Order, Trial, by_point};
use super::papers::GUO;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig6",
    paper: &GUO,
    place: "Figure 6",
    title: "false-positive probability of chains that were emptied and are filled again, m = 1280, k = 7, c = 133",
    run,
};

/// The components that were full before.
const BEFORE: [u64; 3] = [10, 8, 5];

/// New items at each measurement, in terms of a component.
const STEPS: u64 = 10;

/// The rates of a chain that held s full components, was emptied and got 0, c, 2 c, ... new items; and how many old ones
/// it still has.
fn refilled(lab: &Lab, s: u64) -> Result<(Vec<Mean>, Mean)> {
    let rounds = lab.try_play(&format!("refilled after {s}"), lab.rounds(400, 40), |random| {
        let mut trial = Trial::new(random, Functions::Independent, s * BASE.capacity)?;
        let left = trial.empty(random, Order::Insertion)?;
        let mut shares = vec![trial.false_positives(random, 2_000)];
        for _ in 0..STEPS {
            trial.grow(random, BASE.capacity)?;
            shares.push(trial.false_positives(random, 2_000));
        }
        Ok((shares, left as f64))
    })?;
    let (shares, left): (Vec<_>, Vec<f64>) = rounds.into_iter().unzip();
    Ok((by_point(&shares, Mean::of_shares), Mean::of(&left)))
}

fn run(lab: &Lab) -> Result<Report> {
    let items = |step: usize| step as u64 * BASE.capacity;
    let mut plot = Plot::new(Axis::linear("new items n"), Axis::linear("false-positive probability"))
        .line("never emptied, F(n)", (0..=1330).map(|n| (n as f64, BASE.rate(n))));
    let (mut pairs, mut measured) = (Vec::new(), Vec::new());
    for s in BEFORE {
        let (means, left) = refilled(lab, s)?;
        let label = format!("after n/c = {s}");
        let more = left.value.round() as u64;
        plot = plot
            .dashed(&label, (0..=1330).map(|n| (n as f64, BASE.rate(n + more))))
            .points(&label, means.iter().enumerate().map(|(step, &mean)| (items(step) as f64, mean)));
        pairs.extend(means.iter().enumerate().map(|(step, &mean)| (BASE.rate(items(step) + more), mean)));
        measured.push(means);
    }
    let points = |at: usize| measured.iter().flat_map(move |means| means[at..].iter().enumerate());
    let sum = |means: &[Mean]| means.iter().map(|mean| mean.value).sum::<f64>();
    let expected: f64 = (0..=STEPS as usize).map(|step| BASE.rate(items(step))).sum();
    let larger = measured.iter().all(|means| sum(means) > expected);
    let ordered = measured.windows(2).all(|pair| sum(&pair[0]) > sum(&pair[1]));
    let worst = points(1).map(|(step, mean)| mean.value - BASE.rate(items(step + 1))).fold(0.0, f64::max);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::near("F(n + left), what the items left behind add (dashed)", 0.001, pairs))
        .claim(Claim::holds(
            "a chain that was emptied",
            "has a larger rate than the expected value",
            "summed over n, for all three",
            larger,
        ))
        .claim(Claim::holds("more remaining items", "the greater the rate", "n/c = 10 above 8 above 5", ordered))
        .claim(Claim::holds(
            "the difference to the expected value",
            "is small",
            "less than the rate of one more component",
            worst < BASE.full_rate(),
        ))
        .note(
            "Items are removed in the order of insertion, in which the most of them stay. They fill a part of a \
             component, and that is all they do: F of all items, old and new, describes the chain. New items fill that \
             component up first and leave the last one emptier, so that the rate can even be a little below F of the \
             new items alone: the order that the paper sees is smaller than its own scatter.",
        ))
}
