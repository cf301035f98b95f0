//! The simulation of the paper on generalized filters: for each round new functions h(x) = ((c x + d) mod z) mod m,
//! an initial condition, insertions, queries.

use bouquet::accuracy::generalized::Generalized;
use bouquet::hash::{SplitMix, UNIVERSAL_PRIME, UniversalHash};
use bouquet::theory::generalized::Shape;

use crate::{Claim, Lab, Mean, Plot, Report, Result};

/// A chart, with each of its points beside the exact formula, and that beside the simplified one that the paper plots.
pub(super) struct Chart {
    pub(super) plot: Plot,
    pub(super) exact: Vec<(f64, Mean)>,
    pub(super) simple: Vec<(f64, f64)>,
}

/// Charts side by side, with a claim on all of their points for either formula.
pub(super) fn report<const N: usize>(charts: [Chart; N]) -> Report {
    let (mut report, mut exact, mut simple) = (Report::new(), Vec::new(), Vec::new());
    for chart in charts {
        report = report.plot(chart.plot);
        exact.extend(chart.exact);
        simple.extend(chart.simple);
    }
    report.claim(Claim::curve("f_p, exact with collisions", exact)).claim(Claim::apart(
        "f_p by (16) and (17): the largest interval in the paper is 0.003",
        0.003,
        simple,
    ))
}

/// A filter with functions of its own and the elements that were inserted, the first one first.
pub(super) struct Trial {
    pub(super) filter: Generalized,
    pub(super) elements: Vec<u64>,
    functions: Vec<UniversalHash>,
}

impl Trial {
    /// A filter whose bits are zero with this probability, with n random elements.
    pub(super) fn new(random: &mut SplitMix, shape: Shape, initial_zeros: f64, n: u64) -> Result<Self> {
        let functions =
            UniversalHash::from_seed(random.next_u64()).take((shape.resets + shape.sets) as usize).collect();
        let filter = match initial_zeros {
            1.0 => Generalized::zeros(shape)?,
            _ => Generalized::bernoulli(shape, initial_zeros, random.next_u64())?,
        };
        let mut trial = Trial { filter, elements: Vec::new(), functions };
        for _ in 0..n {
            let element = element(random);
            trial.insert(element);
            trial.elements.push(element);
        }
        Ok(trial)
    }

    /// The positions that an element resets and those that it sets.
    fn positions(&self, element: u64) -> (Vec<u64>, Vec<u64>) {
        let Shape { bits, resets, .. } = self.filter.shape();
        let (g, h) = self.functions.split_at(resets as usize);
        let of = |functions: &[UniversalHash]| functions.iter().map(|f| f.position(element, bits)).collect();
        (of(g), of(h))
    }

    /// Inserts an element.
    pub(super) fn insert(&mut self, element: u64) {
        let (g, h) = self.positions(element);
        self.filter.insert_at(&g, &h);
    }

    /// Whether the filter contains an element.
    pub(super) fn contains(&self, element: u64) -> bool {
        let (g, h) = self.positions(element);
        self.filter.contains_at(&g, &h)
    }

    /// The query by the letter of the paper: all g bits zero and all h bits one, those that both hit included.
    pub(super) fn contains_by_the_letter(&self, element: u64) -> bool {
        let ((g, h), bits) = (self.positions(element), self.filter.bits());
        g.iter().all(|&position| !bits.get(position)) && h.iter().all(|&position| bits.get(position))
    }

    /// How many of this many elements that were not inserted it contains.
    pub(super) fn false_positives(&self, random: &mut SplitMix, queries: u64) -> (u64, u64) {
        ((0..queries).filter(|_| self.contains(element(random))).count() as u64, queries)
    }
}

/// An integer of the paper's universe, 1..z-1.
pub(super) fn element(random: &mut SplitMix) -> u64 {
    1 + random.below(UNIVERSAL_PRIME - 1)
}

/// The measured fraction of ones and the false-positive rate after n insertions.
pub(super) fn rate(lab: &Lab, shape: Shape, initial_zeros: f64, n: u64) -> Result<(Mean, Mean)> {
    let of = format!("rate {shape:?} {initial_zeros:.4} {n}");
    let rounds = lab.try_play(&of, lab.rounds(250, 24), |random| {
        let trial = Trial::new(random, shape, initial_zeros, n)?;
        Ok((trial.filter.bits().fill(), trial.false_positives(random, 2_000)))
    })?;
    let (fills, shares): (Vec<f64>, Vec<(u64, u64)>) = rounds.into_iter().unzip();
    Ok((Mean::of(&fills), Mean::of_shares(&shares)))
}

/// The measured false-negative rate of each of n elements, the first one first, in arrays that began with zeros.
pub(super) fn misses(lab: &Lab, shape: Shape, n: u64) -> Result<Vec<Mean>> {
    let rounds = lab.try_play(&format!("misses {shape:?} {n}"), lab.rounds(100_000, 4_000), |random| {
        let trial = Trial::new(random, shape, 1.0, n)?;
        Ok(trial.elements.iter().map(|&element| !trial.contains(element)).collect::<Vec<_>>())
    })?;
    let of = |i: usize| Mean::of_shares(&rounds.iter().map(|missed| (u64::from(missed[i]), 1)).collect::<Vec<_>>());
    Ok((0..n as usize).map(of).collect())
}

/// The names of curves: k₀ and k₁.
pub(super) fn label(shape: Shape) -> String {
    format!("k₀ = {}, k₁ = {}", shape.resets, shape.sets)
}
