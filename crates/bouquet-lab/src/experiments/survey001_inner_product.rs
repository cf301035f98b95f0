use bouquet::Bloom;
use bouquet::theory::algebra::{inner_product, intersection_size};

use super::papers::BRODER;
use crate::plot::even;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey001-inner-product",
    paper: &BRODER,
    place: "Section 2.4",
    title: "the inner product of two filters and the intersection of their sets",
    run,
};

const M: u64 = 10_000;
const N: u64 = 1_000;
const K: u32 = 7;

fn run(lab: &Lab) -> Result<Report> {
    let commons = [0, 100, 200, 400, 600, 800, 1_000];
    let rounds = lab.rounds(2_000, 100);
    let (mut products, mut estimates) = (Vec::new(), Vec::new());
    let mut unions = true;
    for common in commons {
        let pairs = lab.try_play(&format!("common {common}"), rounds, |random| {
            let mut a = Bloom::with_size(M, K)?;
            let shared = keys(random, common);
            a.insert_batch(&shared);
            let mut b = a.clone();
            let mut all = a.clone();
            let [only_a, only_b] = [(); 2].map(|()| keys(random, N - common));
            a.insert_batch(&only_a);
            b.insert_batch(&only_b);
            all.insert_batch(&only_a);
            all.insert_batch(&only_b);
            let (mut and, mut or) = (a.bits().clone(), a.bits().clone());
            and.and(b.bits())?;
            or.or(b.bits())?;
            let zeros = [a.bits(), b.bits(), &and].map(|bits| M - bits.count_ones());
            let estimate = intersection_size(M, K, zeros[0], zeros[1], zeros[2]).map_or(f64::NAN, |e| e.value);
            Ok((and.count_ones() as f64, estimate, or.words() == all.bits().words()))
        })?;
        unions &= pairs.iter().all(|pair| pair.2);
        products.push((common, Mean::of(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>())));
        estimates.push((common, Mean::of(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>())));
    }
    let expected = |common: f64| inner_product(M, K, N, N, common.round() as u64);
    let left = Plot::new(Axis::linear("elements in both sets"), Axis::linear("inner product, bits"))
        .titled("(a) ones in both filters")
        .line("expected", even(0.0, 1_000.0, 101).map(|c| (c, expected(c))))
        .points("expected", products.iter().map(|&(c, mean)| (c as f64, mean)));
    let right = Plot::new(Axis::linear("elements in both sets"), Axis::linear("estimate from zeros, elements"))
        .titled("(b) estimate from Z₁, Z₂ and Z₁₂")
        .line("true size", [(0.0, 0.0), (1_000.0, 1_000.0)])
        .points("true size", estimates.iter().map(|&(c, mean)| (c as f64, mean)));
    // A clamped estimate of nothing is a little too high: that point says nothing of the formula.
    let sized = estimates.iter().filter(|(common, _)| *common > 0).map(|&(common, mean)| (common as f64, mean));
    let mut halved = Bloom::with_size(M, K)?;
    halved.insert_batch(&(0..N).collect::<Vec<_>>());
    let half_found = halved.halved()?.is_some_and(|half| (0..N).all(|key| half.contains(&key)));
    Ok(Report::new()
        .plot(left)
        .plot(right)
        .claim(Claim::curve(
            "expected magnitude of the inner product",
            products.iter().map(|&(c, mean)| (expected(c as f64), mean)),
        ))
        .claim(Claim::near("estimate of the intersection from the zeros alone", 3.0, sized))
        .claim(Claim::holds(
            "the OR of two filters",
            "is the filter of the union",
            format!("in all {} pairs", rounds * 7),
            unions,
        ))
        .claim(Claim::holds("a halved filter", "still has all elements", "1000 of 1000", half_found))
        .note(format!("m = {M}, k = {K}, two sets of {N} elements, {rounds} pairs for each point.")))
}
