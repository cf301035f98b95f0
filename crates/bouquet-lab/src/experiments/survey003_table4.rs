use bouquet::kind::{Config, ErrorClass, Kind, Verb};
use bouquet::registry;

use super::papers::LUO;
use super::shared::{any, insert};
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey003-table4",
    paper: &LUO,
    place: "Table IV",
    title: "capabilities of the variants beside the registry, and the memory that an insertion touches",
    run,
};

/// A row: the name, the kind, and the columns counting, grouping, deletion, scalability, decay, false negatives.
const ROWS: [(&str, &str, &str); 27] = [
    ("Standard BF", "standard", "N N N N N N"),
    ("CBF", "counting", "Y N Y N N N"),
    ("Loglog BF", "loglog", "Y N N N N N"),
    ("Adaptive BF", "adaptive", "Y N N N N N"),
    ("Var. Len. Sin", "variable-length", "Y N Y N N Y"),
    ("Spectral BF", "spectral", "Y N Y N N N"),
    ("Dynamic BF", "dynamic", "N N Y Y N Y"),
    ("Scalable BF", "scalable", "N N N Y N N"),
    ("Space-code BF", "space-code", "Y N N N N N"),
    ("ICBF", "invertible-counting", "Y N Y N N N"),
    ("IBLT", "iblt", "Y N Y N N N"),
    ("MPCBF", "mpcbf", "N N Y N N N"),
    ("Ternary BF", "ternary", "N N Y N N N"),
    ("Generalized BF", "generalized", "N N N N Y Y"),
    ("VI-CBF", "variable-increment", "N N Y N N N"),
    ("FP-CBF", "fingerprint-counting", "Y N Y N N N"),
    ("Deletable BF", "deletable", "N N Y N N N"),
    ("Stable BF", "stable", "N N N N Y Y"),
    ("Bloomier filter", "bloomier", "N Y N N N N"),
    ("One hash BF", "one-hash", "N N N N N N"),
    ("Compressed BF", "compressed", "N N N N N N"),
    ("Combinatorial BF", "filter-bank", "N Y Y N N N"),
    ("Bloom-1", "bloom-g", "N N N N N N"),
    ("Ultra-fast BF", "ultra-fast", "N Y N N N N"),
    ("d-left CBF", "d-left", "Y N Y N N N"),
    ("L-CBF", "l-cbf", "Y N Y N N N"),
    ("Shifting BF", "shifting", "Y Y Y N N N"),
];

/// What holds where the registry has another answer.
const CORRECTIONS: [(&str, &str, &str); 6] = [
    ("Var. Len. Sin", "signatures also age, which is decay", "Y N Y N Y Y"),
    ("Dynamic BF", "with counters no key is lost; an ambiguous removal is refused", "N N Y Y N N"),
    ("Space-code BF", "a key that came once is missed if another group of its bits was drawn", "Y N N N N Y"),
    ("MPCBF", "the columns of ones under a bit are its count", "Y N Y N N N"),
    ("Generalized BF", "insertions wear keys down; nothing fades by itself", "N N N N N Y"),
    ("Ultra-fast BF", "the groups are blocks of memory: it cannot tell sets apart", "N N N N N N"),
];

/// Kinds whose insertions are looked at, and whether the table says O(k) for the memory that they touch; else it is O(1).
const TOUCHED: [(&str, bool); 10] = [
    ("standard", true),
    ("counting", true),
    ("spectral", true),
    ("variable-increment", true),
    ("fingerprint-counting", true),
    ("deletable", true),
    ("ternary", true),
    ("one-hash", true),
    ("bloom-g", false),
    ("mpcbf", false),
];

/// The same columns by the registry. A value that is looked up can be a group.
fn columns(kind: &Kind) -> String {
    let can = |verbs: &[Verb]| verbs.iter().any(|verb| kind.can(*verb));
    let yes = [
        can(&[Verb::Count]),
        can(&[Verb::Classify]) || can(&[Verb::Get]) && !can(&[Verb::Count]),
        can(&[Verb::Remove]),
        can(&[Verb::Grow]),
        can(&[Verb::Advance]),
        kind.errs(ErrorClass::FalseNegative),
    ];
    yes.map(|yes| if yes { "Y" } else { "N" }).join(" ")
}

/// The 64-byte lines of a frame that one insertion changes, and the positions of a key.
fn touched(lab: &Lab, id: &str, rate: &str) -> Result<(f64, Mean)> {
    let kind = registry::find(id)?;
    let config = Config::new(kind.facts()).set("items", "20000")?.set("fpr", rate)?;
    let hashes = kind.plan(&config)?.hashes;
    let lines = lab.try_play(&format!("{id} {rate}"), lab.rounds(200, 24), |random| {
        let mut filter = any(random, id, &[("items", "20000"), ("fpr", rate)])?;
        let before = filter.to_bytes();
        insert(&mut filter, &keys(random, 1))?;
        let after = filter.to_bytes();
        Ok(before.chunks(64).zip(after.chunks(64)).filter(|(before, after)| before != after).count() as f64)
    })?;
    Ok((hashes.into(), Mean::of(&lines)))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut table = Table::new(["structure", "kind", "printed", "here"]);
    let mut report = Report::new();
    for (name, id, printed) in ROWS {
        let found = columns(registry::find(id)?);
        table.row([name.into(), id.into(), printed.into(), found.as_str().into()]);
        let claim = Claim::holds(
            format!("{name}: counting, grouping, deletion, scalability, decay, FN"),
            printed,
            found.as_str(),
            found == printed,
        );
        report = report.claim(match CORRECTIONS.iter().find(|(of, ..)| *of == name) {
            Some((_, why, true_one)) => {
                claim.corrected(Claim::holds(*why, *true_one, found.as_str(), found == *true_one))
            }
            None => claim,
        });
    }
    let mut plot =
        Plot::new(Axis::linear("positions of a key, k"), Axis::linear("cache lines changed by an insertion"));
    for (id, grows) in TOUCHED {
        let found = ["0.1", "0.01", "0.0001"].iter().map(|rate| touched(lab, id, rate)).collect::<Result<Vec<_>>>()?;
        let ((few, at_few), (many, at_many)) = (found[0], found[2]);
        let slope = (at_many.value - at_few.value) / (many - few);
        let (paper, agrees) = if grows { ("O(k)", slope > 0.7) } else { ("O(1)", slope.abs() < 0.1) };
        report = report.claim(Claim::holds(
            format!("{id}: memory accesses"),
            paper,
            format!("{slope:.2} cache lines more for each position"),
            agrees,
        ));
        plot = plot.points(id, found);
    }
    Ok(report
        .plot(plot)
        .table(table)
        .note(
            "The registry says what a kind can do with some of its settings; the conformance suite proves it. The other rows of the \
             table have no kind here. Parallelism is no verb: every kind whose name begins with `Shared` can be written by threads.",
        )
        .note(
            "Complexities: the 64-byte lines of the frame that differ after one insertion into an empty filter for 20,000 keys at \
             10 %, 1 % and 0.01 %. A line or two are the frame's own, its counts and checksum, which do not depend on k.",
        ))
}
