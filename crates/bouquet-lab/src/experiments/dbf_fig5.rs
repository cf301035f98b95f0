use super::dbf::{BASE, Functions, leftovers};
use super::papers::GUO;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-fig5",
    paper: &GUO,
    place: "Figure 5",
    title: "items that cannot be removed, m = 1280, k = 7, c = 133",
    run,
};

/// A number of items as a share of n.
fn share(items: Mean, n: f64) -> Mean {
    Mean { value: items.value / n, error: items.error / n, ..items }
}

fn run(lab: &Lab) -> Result<Report> {
    let n = |s: u64| s * BASE.capacity;
    let (mut several, mut published, mut in_order, mut at_random) = (vec![], vec![], vec![], vec![]);
    let rounds = lab.rounds(500, 50);
    for s in 1..=10 {
        let all = n(s) as f64;
        let independent = leftovers(lab, Functions::Independent, s, rounds)?;
        several.push((s as f64, share(independent.several, all)));
        in_order.push((s as f64, share(independent.in_order, all)));
        at_random.push((s as f64, share(independent.at_random, all)));
        published.push((s as f64, share(leftovers(lab, Functions::Published, s, rounds)?.several, all)));
    }
    let pairs = |points: &[(f64, Mean)], of: fn(u64) -> f64| {
        points.iter().map(|&(s, mean)| (of(s as u64), mean)).collect::<Vec<_>>()
    };
    let bound = |s: u64| BASE.several_addresses_of_last(s * BASE.capacity);
    let ordered = |s: u64| BASE.left_in_order(s) / (s * BASE.capacity) as f64;
    let whole = || (1..=10).map(|s| s as f64);
    let plot = Plot::new(
        Axis::linear("items in terms of a component, n/c").ticks(whole()),
        Axis::linear("probability, share of the items"),
    )
    .line("F", (1..=10).map(|s| (s as f64, BASE.rate(n(s)))))
    .line("several addresses: f₂ and measured", (1..=10).map(|s| (s as f64, bound(s))))
    .points("several addresses: f₂ and measured", several.clone())
    .points("several addresses, the paper's functions", published.clone())
    .line("left after removal in the order of insertion", (1..=10).map(|s| (s as f64, ordered(s))))
    .points("left after removal in the order of insertion", in_order.clone())
    .points("left after removal in random order", at_random.clone());
    let below = |points: &[(f64, Mean)]| {
        points.iter().skip(1).zip(several.iter().skip(1)).all(|(left, several)| {
            let s = left.0 as u64;
            left.1.value < several.1.value && left.1.value < bound(s) && left.1.value < BASE.rate(n(s))
        })
    };
    let rising = [&several, &in_order, &at_random]
        .iter()
        .all(|points| [1, 3, 5, 7, 9].windows(2).all(|at| points[at[0]].1.value < points[at[1]].1.value));
    let last = published[9].1;
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::curve("several addresses: f₂, with independent functions", pairs(&several, bound)))
        .claim(Claim::holds(
            "the real share that is left",
            "is less than both bounds and than F",
            "in either order, n/c = 2..10",
            below(&in_order) && below(&at_random),
        ))
        .claim(Claim::holds("the curves", "increase with n/c", "from 2 to 10", rising))
        .claim(
            Claim::holds(
                "several addresses at n/c = 10, with the paper's functions",
                "less than f₂",
                format!("{last}, f₂ = {:.4}", bound(10)),
                last.value < bound(10),
            )
            .corrected(Claim::simulated(
                "several addresses at n/c = 10, with independent functions",
                bound(10),
                several[9].1,
            )),
        )
        .claim(Claim::near("left after removal in order: (s - (1-(1-y)ˢ)/y)/s", 0.002, pairs(&in_order, ordered)))
        .note(
            "The paper's functions are two numbers from 1 to m and their multiples: at m = 1280 two keys often share \
             several positions, and more keys have several addresses than f₂ says; its own table has 123 items at \
             n/c = 10, and n f₂ is 113.3. (With independent functions it is half a percent more, for f is the limit of \
             large filters.) About half of these items can be removed, because the components that were emptied \
             before no longer match; in random order still more.",
        ))
}
