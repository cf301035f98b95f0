use bouquet::Bloom;
use bouquet::theory::algebra::{intersection_is_exact, intersection_is_exact_bound, union_rate};
use bouquet::theory::standard::rate;

use super::papers::TARKOMA;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-theorem2",
    paper: &TARKOMA,
    place: "Theorems 1 and 2",
    title: "when the intersection of two filters is the filter of the intersection",
    run,
};

const M: u64 = 4_096;
const K: u32 = 4;
/// |A - B| and |B - A|.
const APART: u64 = 10;

fn run(lab: &Lab) -> Result<Report> {
    let commons = [0, 50, 100, 200, 300, 500, 700, 1_000];
    let rounds = lab.rounds(40_000, 4_000);
    let mut measured = Vec::new();
    for common in commons {
        let shares = lab.try_play(&format!("common {common}"), rounds, |random| {
            let mut both = Bloom::with_size(M, K)?;
            both.insert_batch(&keys(random, common));
            let [mut a, mut b] = [both.clone(), both.clone()];
            a.insert_batch(&keys(random, APART));
            b.insert_batch(&keys(random, APART));
            let mut bits = a.bits().clone();
            bits.and(b.bits())?;
            Ok((u64::from(bits.words() == both.bits().words()), 1))
        })?;
        measured.push((common, Mean::of_shares(&shares)));
    }
    let theorem = intersection_is_exact_bound(M, K, APART, APART);
    let better = |common: u64| intersection_is_exact(M, K, APART, APART, common);
    let plot = Plot::new(
        Axis::linear("elements of both sets, |A ∩ B|"),
        Axis::linear("P(BF(A ∩ B) = BF(A) ∩ BF(B))").range(0.6, 1.0),
    )
    .line("with the bits of A ∩ B", (0..=100).map(|i| (10.0 * f64::from(i), better(10 * i as u64))))
    .points("with the bits of A ∩ B", measured.iter().map(|&(common, mean)| (common as f64, mean)))
    .reference("Theorem 2", [(0.0, theorem), (1_000.0, theorem)]);
    let pairs = |of: &dyn Fn(u64) -> f64| measured.iter().map(|&(common, mean)| (of(common), mean)).collect::<Vec<_>>();
    let above = measured.iter().all(|(_, mean)| mean.deviations(theorem) > -5.0);
    let grows = [0, 100, 300].iter().all(|&common| union_rate(M, K, 300, 300, common) >= rate(M, 300, K));
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds(
            "Theorem 1",
            "the union's rate is not below that of A or B",
            "at |A| = |B| = 300, 0..300 common",
            grows,
        ))
        .claim(
            Claim::near("Theorem 2: the probability is (1-1/m)^(k² |A-B| |B-A|)", 0.01, pairs(&|_| theorem))
                .corrected(Claim::near("exp(-m q_c (1-q_a)(1-q_b)), q_x = (1-1/m)^(kx)", 0.01, pairs(&better))),
        )
        .claim(Claim::holds("Theorem 2 as a lower bound", "holds", "every point lies above it", above))
        .note(format!(
            "m = {M}, k = {K}, |A - B| = |B - A| = {APART}, {rounds} pairs for each point. The \
             theorem forgets that bits which A ∩ B has set already cannot make a difference."
        )))
}
