use bouquet::hash::SplitMix;
use bouquet::theory::choices::{d_left, highest_left, highest_random, random_choices};

use super::papers::TARKOMA;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-loads",
    paper: &TARKOMA,
    place: "Section II-C.4",
    title: "the highest load of n bins after n balls, with one choice, two, and two with ties to the left",
    run,
};

/// How a ball finds its bin.
#[derive(Clone, Copy)]
enum Rule {
    One,
    Two,
    Left,
}

impl Rule {
    const ALL: [(Rule, &'static str); 3] =
        [(Rule::One, "one choice"), (Rule::Two, "two choices"), (Rule::Left, "two choices, ties to the left")];

    /// The bin of the next ball. With ties to the left the bins are in two halves.
    fn bin(self, random: &mut SplitMix, loads: &[u8]) -> usize {
        let n = loads.len() as u64;
        match self {
            Rule::One => random.below(n) as usize,
            Rule::Two => {
                let [a, b] = [(); 2].map(|()| random.below(n) as usize);
                if loads[b] < loads[a] { b } else { a }
            }
            Rule::Left => {
                let [a, b] = [0, n / 2].map(|from| (from + random.below(n / 2)) as usize);
                if loads[b] < loads[a] { b } else { a }
            }
        }
    }

    /// How many bins have at least i balls, i = 0, 1, ...
    fn throw(self, random: &mut SplitMix, n: u64) -> Vec<u64> {
        let mut loads = vec![0_u8; n as usize];
        for _ in 0..n {
            let bin = self.bin(random, &loads);
            loads[bin] += 1;
        }
        let highest = loads.iter().copied().max().unwrap_or(0);
        (0..=highest).map(|least| loads.iter().filter(|&&load| load >= least).count() as u64).collect()
    }
}

/// ln n / ln ln n, the leading term with one choice.
fn highest_single(n: u64) -> f64 {
    (n as f64).ln() / (n as f64).ln().ln()
}

fn run(lab: &Lab) -> Result<Report> {
    let sizes: Vec<u64> = (8..=lab.rounds(20, 16)).step_by(2).map(|bits| 1 << bits).collect();
    let mut plot = Plot::new(Axis::log("bins and balls, n"), Axis::linear("balls in the fullest bin").range(0.0, 11.0));
    let mut highest: Vec<Vec<Mean>> = Vec::new();
    let mut shares: Vec<Vec<(f64, Mean)>> = Vec::new();
    for (rule, name) in Rule::ALL {
        let fluid = match rule {
            Rule::One => random_choices(1, 1.0)?,
            Rule::Two => random_choices(2, 1.0)?,
            Rule::Left => d_left(2, 1.0)?,
        };
        let (mut means, mut last) = (Vec::new(), Vec::new());
        for &n in &sizes {
            let rounds = (lab.rounds(1 << 24, 1 << 19) / n).clamp(8, 2_000);
            let found = lab.play(&format!("{name} {n}"), rounds, |random| rule.throw(random, n));
            means.push(Mean::of(&found.iter().map(|counts| counts.len() as f64 - 1.0).collect::<Vec<_>>()));
            let at_least = |load: usize| {
                let shares = found.iter().map(|counts| (counts.get(load).copied().unwrap_or(0), n));
                (fluid.at_least(load), Mean::of_shares(&shares.collect::<Vec<_>>()))
            };
            last = [1, 2, 3].map(at_least).to_vec();
        }
        let expected = sizes.iter().map(|&n| (n as f64, fluid.highest(n) as f64));
        plot = plot.line(name, expected).points(name, sizes.iter().map(|&n| n as f64).zip(means.iter().copied()));
        highest.push(means);
        shares.push(last);
    }
    let last = sizes[sizes.len() - 1];
    let over = |means: &[Mean], leading: &dyn Fn(u64) -> f64| -> Vec<f64> {
        sizes.iter().zip(means).map(|(&n, mean)| mean.value - leading(n)).collect()
    };
    let spread = |over: &[f64]| {
        let [least, most] = [f64::min, f64::max].map(|of| over.iter().copied().reduce(of).unwrap_or(f64::NAN));
        (format!("between {least:.2} and {most:.2}"), most - least < 1.0)
    };
    let two = spread(&over(&highest[1], &|n| highest_random(n, 2)));
    let left = spread(&over(&highest[2], &|n| highest_left(n, 2)));
    let not_above = highest[2].iter().zip(&highest[1]).all(|(left, two)| left.value <= two.value + 5.0 * two.error);
    let (one, both) = (highest[0][sizes.len() - 1].value, highest[1][sizes.len() - 1].value);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds(
            "two choices: highest load less (ln ln n)/ln 2",
            "O(1)",
            format!("{} for n = 2⁸ to {last}", two.0),
            two.1,
        ))
        .claim(Claim::holds(
            "ties to the left: highest load less (ln ln n)/(2 ln φ)",
            "optimal up to an additive constant",
            format!("{} for n = 2⁸ to {last}", left.0),
            left.1,
        ))
        .claim(Claim::holds(
            "two choices against one, at the largest n",
            "more-or-less evenly distributed",
            format!("{both:.1} instead of {one:.1}; (ln n)/(ln ln n) = {:.1}", highest_single(last)),
            both < one / 1.8,
        ))
        .claim(Claim::holds("ties to the left", "no higher than ties at random", "at every n", not_above))
        .claims(Rule::ALL.iter().zip(&shares).map(|((_, name), pairs)| {
            Claim::curve(format!("{name}: bins with at least 1, 2 and 3 balls, fluid limit"), pairs.iter().copied())
        }))
        .note(
            "Lines: the highest load that the fluid limit expects in at least one bin, a whole number. The text prints \
             \"(ln ln n)/ln d + O(1)\" for d = 2; the constant is not the small change that it looks like.",
        ))
}
