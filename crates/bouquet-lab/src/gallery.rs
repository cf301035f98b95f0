//! The page with every plot and every verdict, and the record of the verdicts that the tests compare with.

use std::path::Path;

use crate::claim::Verdict;
use crate::contents;
use crate::error::Result;
use crate::experiment::{Experiment, Report, write};
use crate::table::Table;

/// The results of a run, in the order of the list.
pub type Results = Vec<(&'static Experiment, Report)>;

/// The name of the record of verdicts.
pub const VERDICTS: &str = "verdicts.csv";

/// Writes the page `README.md`, the list of the papers' results `papers.md` and the record `verdicts.csv`. The plots are written by each report.
///
/// ```
/// let folder = tempfile::tempdir().unwrap();
/// bouquet_lab::gallery::write_all(&vec![], folder.path())?;
/// assert!(folder.path().join("README.md").exists());
/// # Ok::<(), bouquet_lab::Error>(())
/// ```
pub fn write_all(results: &Results, folder: &Path) -> Result<()> {
    write(&folder.join("README.md"), &page(results))?;
    write(&folder.join(contents::PAGE), &contents::page())?;
    write(&folder.join(VERDICTS), &verdicts(results).csv())
}

/// One row for each claim: experiment, claim, verdict. No result of a measurement is in it.
///
/// ```
/// assert_eq!(bouquet_lab::gallery::verdicts(&vec![]).csv(), "experiment,claim,verdict\n");
/// ```
#[must_use]
pub fn verdicts(results: &Results) -> Table {
    let mut table = Table::new(["experiment", "claim", "verdict"]);
    for (experiment, report) in results {
        for claim in &report.claims {
            table.row([experiment.id.into(), claim.what.as_str().into(), claim.verdict().name().into()]);
        }
    }
    table
}

/// The gallery as Markdown.
///
/// ```
/// assert!(bouquet_lab::gallery::page(&vec![]).starts_with("# The lab"));
/// ```
#[must_use]
pub fn page(results: &Results) -> String {
    let count = |verdict| results.iter().map(|(_, report)| report.count(verdict)).sum::<usize>();
    let mut text = format!(
        "# The lab: the papers' figures, tables and numbers, done again\n\n\
         This page, its plots (SVG) and their data (CSV) are written by `bouquet lab all --out docs/lab`; \
         `bouquet lab run ID` does one. The same seed gives the same files. \
         [How to add an experiment](../../crates/bouquet-lab/README.md). \
         [Every figure, table and equation of the papers](papers.md) and where it is here.\n\n\
         Lines are theory, points are simulation with bars of two standard errors. A printed number *agrees* when the \
         value rounds to its digits, a formula when the simulation lies within five standard errors. Where a formula is an approximation, the distance that is \
         allowed is stated, and how much five standard errors add to it. *Corrected* \
         means that the paper errs and the row below says what holds; *differs*, that no correction is known.\n\n\
         {} experiments, {} claims: {} agree, {} corrected, {} differ.\n\n",
        results.len(),
        results.iter().map(|(_, report)| report.claims.len()).sum::<usize>(),
        count(Verdict::Agrees),
        count(Verdict::Corrected),
        count(Verdict::Differs),
    );
    text += &index(results).markdown();
    let mut paper = None;
    for (experiment, report) in results {
        if paper != Some(experiment.paper) {
            paper = Some(experiment.paper);
            let of = experiment.paper;
            text += &format!("\n## {}: {} ({})\n", of.authors, of.title, of.year);
        }
        text += &format!("\n{}", report.markdown(experiment));
    }
    text
}

fn index(results: &Results) -> Table {
    let mut table = Table::new(["experiment", "of", "shows", "verdict"]);
    for (experiment, report) in results {
        let anchor = anchor(&format!("{} ({}): {}", experiment.id, experiment.place, experiment.title));
        let of = format!("{} {}, {}", experiment.paper.authors, experiment.paper.year, experiment.place);
        let link = format!("[`{}`](#{anchor})", experiment.id);
        table.row([link.into(), of.into(), experiment.title.into(), report.summary().into()]);
    }
    table
}

/// The anchor that Markdown pages give a heading: letters and digits in lower case, spaces as hyphens, the rest left
/// out.
pub(crate) fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::anchor;

    #[test]
    fn anchors_are_those_of_the_headings() {
        assert_eq!(anchor("gbf-fig6 (Figure 6): Rate, by k"), "gbf-fig6-figure-6-rate-by-k");
    }
}
