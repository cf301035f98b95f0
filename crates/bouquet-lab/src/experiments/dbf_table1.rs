use super::dbf::{BASE, Functions, leftovers};
use super::papers::GUO;
use crate::claim::SIGMAS;
use crate::number::significant;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-table1",
    paper: &GUO,
    place: "Table 1",
    title: "items with several addresses, items left after removal, c = 133",
    run,
};

/// n/c and the two rows of the table.
const PRINTED: [(u64, u64, u64); 9] =
    [(2, 4, 3), (3, 7, 4), (4, 11, 4), (5, 22, 6), (6, 37, 9), (7, 53, 13), (8, 74, 20), (9, 98, 30), (10, 123, 36)];

/// The rounds of which the paper's numbers are means, as it says.
const PUBLISHED_ROUNDS: f64 = 100.0;

/// What χ² of nine numbers exceeds once in a thousand times.
const HIGH: f64 = 27.88;

/// The standard deviation of one round.
fn spread(mean: &Mean) -> f64 {
    mean.error * (mean.rounds as f64).sqrt()
}

/// Whether a printed number can be the rounded mean of the paper's rounds.
fn fits(printed: f64, mean: &Mean) -> bool {
    let error = (spread(mean) / PUBLISHED_ROUNDS.sqrt()).hypot(mean.error);
    (printed - mean.value).abs() <= 0.5 + SIGMAS * error
}

/// χ² of the printed numbers, taken for results of single rounds.
fn single_rounds(printed: &[f64], means: &[Mean]) -> f64 {
    printed.iter().zip(means).map(|(printed, mean)| ((printed - mean.value) / spread(mean)).powi(2)).sum()
}

/// A row of the table as what it is said to be, means of 100 rounds, and as what it can be, single rounds.
fn row(name: &str, printed: &[f64], means: &[Mean]) -> Claim {
    let near = printed.iter().zip(means).filter(|(printed, mean)| fits(**printed, mean)).count();
    let list = means.iter().map(|mean| significant(mean.value, 3)).collect::<Vec<_>>().join(", ");
    let numbers = printed.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let chi = single_rounds(printed, means);
    Claim::holds(
        format!("{name}, as means of 100 rounds"),
        numbers,
        format!("{list}: {near} of 9 within {SIGMAS} σ and rounding"),
        near == 9,
    )
    .corrected(Claim::holds(
        format!("{name}, as numbers of single rounds"),
        "χ² of nine numbers, below 27.9 but once in a thousand times",
        format!("χ² = {chi:.1}"),
        chi < HIGH,
    ))
}

/// As the plot shows it: a bar is two standard deviations of one round.
fn one_round(points: &[Mean]) -> impl Iterator<Item = (f64, Mean)> {
    PRINTED.into_iter().zip(points).map(|((s, ..), mean)| (s as f64, Mean { error: spread(mean), ..*mean }))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut table = Table::new([
        "n/c",
        "several addresses, printed",
        "n f₂",
        "independent functions",
        "the paper's functions",
        "left, printed",
        "in order, formula",
        "in order",
        "in order, the paper's functions",
        "random order",
        "random order, the paper's functions",
        "the same, Merge() as printed",
    ]);
    let (mut several, mut in_order, mut at_random, mut as_printed) = (vec![], vec![], vec![], vec![]);
    let (rounds, mut fewer) = (lab.rounds(500, 100), true);
    for (s, printed_several, printed_left) in PRINTED {
        let [independent, published] =
            [Functions::Independent, Functions::Published].map(|functions| leftovers(lab, functions, s, rounds));
        let (independent, published) = (independent?, published?);
        let short = |mean: Mean| format!("{:.1} ± {:.1}", mean.value, mean.error).into();
        table.row([
            s.into(),
            printed_several.into(),
            format!("{:.1}", BASE.undeletable(s * BASE.capacity)).into(),
            short(independent.several),
            short(published.several),
            printed_left.into(),
            format!("{:.1}", BASE.left_in_order(s)).into(),
            short(independent.in_order),
            short(published.in_order),
            short(independent.at_random),
            short(published.at_random),
            short(published.as_printed),
        ]);
        for found in [&independent, &published] {
            fewer &= found.in_order.value.max(found.at_random.value) < found.several.value;
        }
        several.push(published.several);
        in_order.push(published.in_order);
        at_random.push(published.at_random);
        as_printed.push(published.as_printed);
    }
    let [first, second] = [PRINTED.map(|row| row.1 as f64), PRINTED.map(|row| row.2 as f64)];
    let both = |means: &[Mean]| (7..9).all(|i| fits(second[i], &means[i]));
    let values = |means: &[Mean]| format!("{} and {}", means[7], means[8]);
    let whole = || Axis::linear("items in terms of a component, n/c").range(1.5, 10.5).ticks((2..=10).map(f64::from));
    let at = |row: [f64; 9]| PRINTED.into_iter().zip(row).map(|((s, ..), items)| (s as f64, items));
    let theory = |of: fn(u64) -> f64| PRINTED.map(|(s, ..)| (s as f64, of(s)));
    let addresses = Plot::new(whole(), Axis::linear("items"))
        .titled("(a) items with several addresses")
        .line("n f₂", theory(|s| BASE.undeletable(s * BASE.capacity)))
        .points("measured, ± 2 deviations of one round", one_round(&several))
        .points("printed in Table 1", at(first));
    let left = Plot::new(whole(), Axis::linear("items"))
        .titled("(b) items left after all have been removed")
        .line("order of insertion, c (s - (1-(1-y)ˢ)/y)", theory(|s| BASE.left_in_order(s)))
        .points("random order, Merge() as printed, ± 2 deviations", one_round(&as_printed))
        .points("printed in Table 1", at(second))
        .points("random order, Merge() that adds", one_round(&at_random).map(|(s, mean)| (s, mean.value)));
    let orders = [&as_printed, &in_order].map(|means| single_rounds(&second, means));
    Ok(Report::new()
        .plot(addresses)
        .plot(left)
        .table(table)
        .claim(Claim::holds(
            "items left after removal",
            "fewer than items with several addresses",
            "in either order and with either sort of functions, n/c = 2..10",
            fewer,
        ))
        .claim(
            Claim::holds(
                "items left at n/c = 9 and 10, as means of 100 rounds, random order, Merge() that adds the counts",
                "30 and 36",
                values(&at_random),
                both(&at_random),
            )
            .corrected(Claim::holds(
                "items left at n/c = 9 and 10, as means of 100 rounds, random order, Merge() as printed",
                "30 and 36",
                values(&as_printed),
                both(&as_printed),
            )),
        )
        .claim(row("items with several addresses", &first, &several))
        .claim(row("items left, random order, Merge() as printed", &second, &as_printed))
        .note(format!(
            "The table lists numbers of items, although its caption says r, which is a share. It does not state the order of \
             removal. Its second row has χ² = {:.0} against random order and {:.0} against that of insertion, which leaves nearly \
             twice as many: above {HIGH:.0} the two do not fit.",
            orders[0], orders[1]
        ))
        .note(format!(
            "Merge() as printed gives the united component the n_r of the second one (line 6), not the sum. It then \
             seems to have room, takes in further components and has more than c items, so that more items match it: \
             {:.0} instead of {:.0} stay at n/c = 10. Taken for means of 100 rounds, the printed numbers fit this slip \
             from n/c = 4 on. The library adds the counts, as the text says.",
            as_printed[8].value, at_random[8].value
        ))
        .note(format!(
            "The text says that the numbers are means of 100 rounds with different sets. Their scatter says otherwise: \
             such means would be ten times as near to their expectation. At n/c = 2 for instance 3 items are left of \
             4, where the mean is {:.1}. Taken for one set each, both rows are as they should be; the second then cannot \
             tell whether Merge() was run as printed or with the sum (χ² = {:.1} and {:.1}).",
            as_printed[0].value,
            orders[0],
            single_rounds(&second, &at_random)
        )))
}
