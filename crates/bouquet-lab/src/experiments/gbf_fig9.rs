use bouquet::theory::generalized::Shape;

use super::gbf::Trial;
use super::gbf_fig8::chart;
use super::papers::LAUFER;
use crate::{Claim, Experiment, Lab, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gbf-fig9",
    paper: &LAUFER,
    place: "Figure 9",
    title: "false-negative probability of each element, k = k₀ = k₁, n = 10, m/n = 128",
    run,
};

fn run(lab: &Lab) -> Result<Report> {
    let (plot, pairs) = chart(lab, "k = k₀ = k₁", &[(1, 1), (2, 2), (3, 3), (4, 4)])?;
    // The last element, in an array so small that its own functions often collide.
    let small = Shape { bits: 256, resets: 4, sets: 4 };
    let rounds = lab.rounds(40_000, 4_000);
    let missed = lab.try_play("last", rounds, |random| {
        let trial = Trial::new(random, small, 0.5, 10)?;
        let last = trial.elements[9];
        Ok((!trial.contains_by_the_letter(last), !trial.contains(last)))
    })?;
    let [by_letter, excluded] = [missed.iter().filter(|m| m.0).count(), missed.iter().filter(|m| m.1).count()];
    let percent = |count: usize| format!("{:.1} % missed", 100.0 * count as f64 / rounds as f64);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("f_n of the ten elements", pairs))
        .claim(
            Claim::holds(
                "the last element, by the query that the paper states",
                "never missed",
                percent(by_letter),
                by_letter == 0,
            )
            .corrected(Claim::holds(
                "the last element, positions that g hits too left out of h",
                "never missed",
                percent(excluded),
                excluded == 0,
            )),
        )
        .note(
            "The paper asks all h bits to be one. A bit that one of the element's own g functions \
             resets can never be: at m = 256, k₀ = k₁ = 4 such an element is lost at once. Its \
             formulas, which count b₁ = m q₁ bits, are those of the query that leaves such bits out.",
        ))
}
