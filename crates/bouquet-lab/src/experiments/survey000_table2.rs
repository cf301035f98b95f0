use bouquet::kind::{Config, ErrorClass, Kind, Verb};
use bouquet::registry;

use super::papers::TARKOMA;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-table2",
    paper: &TARKOMA,
    place: "Table II",
    title: "counting, deletion and false negatives of 23 variants, beside the registry",
    run,
};

/// A row: the name, the kind here, and the columns counting, deletion, false negatives.
struct Row(&'static str, Option<&'static str>, &'static str);

/// The table; without a kind where there is none.
const ROWS: [Row; 23] = [
    Row("Standard", Some("standard"), "N N N"),
    Row("Adaptive", Some("adaptive"), "Y N N"),
    Row("Bloomier", Some("bloomier"), "Y N N"),
    Row("Compressed", Some("compressed"), "N N N"),
    Row("Counting", Some("counting"), "Y Y M"),
    Row("Decaying", None, "Y Y N"),
    Row("Deletable", Some("deletable"), "N Y N"),
    Row("Distance-sensitive", None, "N N Y"),
    Row("Dynamic", Some("dynamic"), "Y Y N"),
    Row("Filter bank", Some("filter-bank"), "Y Y N"),
    Row("Generalized", Some("generalized"), "N N Y"),
    Row("Hierarchical", None, "N N N"),
    Row("Memory-optimized", None, "N N N"),
    Row("Popularity conscious", None, "N N N"),
    Row("Retouched", None, "N N Y"),
    Row("Scalable", Some("scalable"), "N N N"),
    Row("Secure", None, "N N N"),
    Row("Space code", Some("space-code"), "Y N N"),
    Row("Spectral", Some("spectral"), "Y Y M"),
    Row("Split", Some("split"), "N N N"),
    Row("Stable", Some("stable"), "N Y Y"),
    Row("Variable-length signature", Some("variable-length"), "Y Y Y"),
    Row("Weighted", None, "N N N"),
];

/// What holds where the registry has another answer than the table.
const CORRECTIONS: [(&str, &str, &str); 5] = [
    ("Bloomier", "it gives a key's value, which need not be a count", "N N N"),
    (
        "Dynamic",
        "it counts for removal alone: a key's count is spread over components that cannot be told apart",
        "N Y N",
    ),
    ("Filter bank", "it tells the sets of a key, not how often it came", "N Y N"),
    ("Space code", "a key that came once is missed if another group of its bits was drawn", "Y N Y"),
    ("Stable", "keys fade by chance; none can be removed", "N N Y"),
];

fn letter(yes: bool) -> &'static str {
    if yes { "Y" } else { "N" }
}

/// The same three columns by the registry.
fn columns(kind: &Kind) -> String {
    let [counting, deletion] = [Verb::Count, Verb::Remove].map(|verb| letter(kind.can(verb)));
    format!("{counting} {deletion} {}", letter(kind.errs(ErrorClass::FalseNegative)))
}

/// Whether two rows are the same; "maybe" is either.
fn same(printed: &str, found: &str) -> bool {
    printed.split(' ').zip(found.split(' ')).all(|(printed, found)| printed == "M" || printed == found)
}

fn run(_: &Lab) -> Result<Report> {
    let mut table = Table::new(["filter", "kind", "C D FN printed", "C D FN here", "bits per key at 1 %"]);
    let (mut report, mut points) = (Report::new(), Vec::new());
    for (number, Row(name, id, printed)) in (1..).zip(ROWS) {
        let Some(id) = id else {
            table.row([name.into(), "none".into(), printed.into(), "".into(), "".into()]);
            continue;
        };
        let kind = registry::find(id)?;
        let found = columns(kind);
        let plan = kind.plan(&Config::new(kind.facts()).set("items", "100000")?)?;
        let bits = plan.bits as f64 / 1e5;
        points.push((f64::from(number), bits));
        table.row([name.into(), id.into(), printed.into(), found.as_str().into(), bits.into()]);
        let claim = Claim::holds(format!("{name}: C, D, FN"), printed, found.as_str(), same(printed, &found));
        report = report.claim(match CORRECTIONS.iter().find(|(of, ..)| *of == name) {
            Some((_, why, true_one)) => {
                claim.corrected(Claim::holds(*why, *true_one, found.as_str(), same(true_one, &found)))
            }
            None => claim,
        });
    }
    let plot = Plot::new(Axis::linear("row of the table"), Axis::log("bits per key at 1 %, 10⁵ keys"))
        .line("what a kind takes", points.iter().copied())
        .reference("a standard filter", [(1.0, 9.59), (23.0, 9.59)]);
    Ok(report
        .plot(plot)
        .table(table)
        .note(
            "M, \"maybe\", agrees with either answer. The registry says what a kind can do with some of its settings and which errors \
             it declares; the conformance suite measures both. The column P, popularity-awareness, has no verb: of the kinds here \
             only `variable-length` can be tuned while it runs.",
        )
        .note(
            "Eight rows have no kind here. `Secure` is a mode of every kind, keyed hashing. Four kinds are sized for more than \
             membership at 1 %: `space-code` for flows of up to 32 arrivals, `adaptive` for counts, `stable` and `generalized` for \
             few false negatives.",
        ))
}
