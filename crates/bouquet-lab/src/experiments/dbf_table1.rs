use super::dbf::{BASE, Functions, leftovers};
use super::papers::GUO;
use crate::{Claim, Experiment, Lab, Report, Result, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-table1",
    paper: &GUO,
    place: "Table 1",
    title: "items with several addresses and items left after all have been removed, c = 133",
    run,
};

/// n/c and the two rows of the table.
const PRINTED: [(u64, u64, u64); 9] =
    [(2, 4, 3), (3, 7, 4), (4, 11, 4), (5, 22, 6), (6, 37, 9), (7, 53, 13), (8, 74, 20), (9, 98, 30), (10, 123, 36)];

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
    ]);
    let mut found = Vec::new();
    for (s, several, left) in PRINTED {
        let [independent, published] =
            [leftovers(lab, Functions::Independent, s)?, leftovers(lab, Functions::Published, s)?];
        let short = |mean: crate::Mean| format!("{:.1} ± {:.1}", mean.value, mean.error).into();
        table.row([
            s.into(),
            several.into(),
            format!("{:.1}", BASE.undeletable(s * BASE.capacity)).into(),
            short(independent.several),
            short(published.several),
            left.into(),
            format!("{:.1}", BASE.left_in_order(s)).into(),
            short(independent.in_order),
            short(published.in_order),
            short(independent.at_random),
            short(published.at_random),
        ]);
        found.push([independent, published]);
    }
    let at = |s: u64| &found[(s - 2) as usize];
    let mut report = Report::new().table(table);
    for (s, several, _) in PRINTED {
        let [independent, published] = at(s);
        let name = format!("several addresses at n/c = {s}, the paper's functions");
        let claim = Claim::roughly(name, several as f64, 0.15, published.several.value);
        let theory = BASE.undeletable(s * BASE.capacity);
        match s {
            7..=10 => report = report.claim(claim),
            4 | 5 => {
                let name = format!("n f₂ at n/c = {s}, independent functions");
                report = report.claim(claim.corrected(Claim::simulated(name, theory, independent.several)));
            }
            _ => {}
        }
    }
    let between = PRINTED.iter().filter(|row| row.0 >= 8).all(|&(s, _, left)| {
        let published = &at(s)[1];
        (published.at_random.value..published.in_order.value).contains(&(left as f64))
    });
    let [_, last] = at(10);
    let less = found
        .iter()
        .flatten()
        .all(|found| found.in_order.value < found.several.value && found.at_random.value < found.several.value);
    Ok(report
        .claim(Claim::holds(
            "items left after removal",
            "fewer than items with several addresses",
            "in either order and with either sort of functions",
            less,
        ))
        .claim(Claim::holds(
            "items left at n/c = 8, 9, 10",
            "20, 30, 36",
            format!(
                "at 10: {:.0} in random order, {:.0} in that of insertion",
                last.at_random.value, last.in_order.value
            ),
            between,
        ))
        .note(
            "The table lists numbers of items, although its caption says r, which is a share. The paper does not state \
             the order of removal: its numbers lie at those of a random order for small n/c and above them for large \
             ones. Its numbers of items with several addresses are those of its hash functions from n/c = 7 on and too \
             small at 4 and 5, by far more than 100 rounds can err.",
        ))
}
