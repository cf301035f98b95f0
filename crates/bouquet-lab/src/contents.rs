//! Every figure, table and numbered equation of the papers, and where it is done again.

use crate::experiment::Paper;
use crate::experiments::papers::{BRODER, GUO, LAUFER, LUO, TARKOMA};
use crate::table::Table;

/// The name of the page.
pub const PAGE: &str = "papers.md";

/// What has become of a figure, a table or equations.
#[derive(Clone, Copy, Debug)]
pub enum Done {
    /// These experiments do it again.
    By(&'static [&'static str]),
    /// It has no number: why.
    Not(&'static str),
}

/// One or several figures, tables or equations of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What they are called, without numbers: `Figure`, `Table`, `Equation` or `Section`.
    pub sort: &'static str,
    /// The numbers, from the first to the last.
    pub numbers: (u8, u8),
    /// What it shows.
    pub shows: &'static str,
    /// What has become of it.
    pub done: Done,
}

const fn by(sort: &'static str, numbers: (u8, u8), shows: &'static str, ids: &'static [&'static str]) -> Entry {
    Entry { sort, numbers, shows, done: Done::By(ids) }
}

const fn not(sort: &'static str, numbers: (u8, u8), shows: &'static str, why: &'static str) -> Entry {
    Entry { sort, numbers, shows, done: Done::Not(why) }
}

const FIGURE: &str = "Figure";
const TABLE: &str = "Table";
const EQUATION: &str = "Equation";

const DRAWING: &str = "a drawing of how something works, without a number";

/// The papers with their contents, in the order of the gallery.
pub const CONTENTS: [(&Paper, &[Entry]); 5] = [
    (
        &TARKOMA,
        &[
            not(FIGURE, (1, 1), "overview of a Bloom filter", DRAWING),
            by(FIGURE, (2, 2), "an example of 16 bits", &["survey000-fig2"]),
            by(FIGURE, (3, 3), "false-positive probability", &["survey000-fig3"]),
            not(FIGURE, (4, 4), "explicit hashing", DRAWING),
            by(FIGURE, (5, 5), "bound on the highest counter", &["survey000-fig5"]),
            by(FIGURE, (6, 6), "an example of a deletable filter", &["survey000-fig6"]),
            by(FIGURE, (7, 7), "share of deletable elements", &["survey000-fig7"]),
            not(FIGURE, (8, 8), "a hierarchical filter", DRAWING),
            not(FIGURE, (9, 9), "variants grouped by use", "a list of names"),
            not(FIGURE, (10, 11), "proxies, Gnutella", DRAWING),
            by(FIGURE, (12, 12), "longest prefix matching", &["survey000-lpm"]),
            not(FIGURE, (13, 14), "zFilter, waking devices", DRAWING),
            not(FIGURE, (15, 15), "summary of variants", "a list of names"),
            by(TABLE, (1, 1), "more functions, bits, elements", &["survey000-fig3", "survey001-rate"]),
            by(TABLE, (2, 2), "features of 23 variants", &["survey000-table2"]),
            by(EQUATION, (1, 9), "rate, best k, size", &["survey000-fig3"]),
            by(EQUATION, (10, 10), "double hashing", &["survey000-eq10"]),
            by(EQUATION, (11, 12), "partitioned hashing", &["survey000-eq12"]),
            by(EQUATION, (13, 17), "counters", &["survey000-fig5", "survey001-counters"]),
            by(EQUATION, (18, 18), "decrements of a stable filter", &["survey000-eq18"]),
            by("Theorem", (1, 2), "union and intersection", &["survey000-theorem2"]),
            by("Section II-C.", (4, 4), "highest loads and choices", &["survey000-loads"]),
            by("Section IV-C.", (1, 1), "probes of prefix matching", &["survey000-lpm"]),
            by("Section IV-C.", (3, 3), "cost of decay in blocks", &["survey000-block-decay"]),
        ],
    ),
    (
        &BRODER,
        &[
            not(FIGURE, (1, 1), "an example of a Bloom filter", DRAWING),
            not(
                FIGURE,
                (2, 2),
                "conservative update",
                "one step with made-up counts; the rule is a test of `conservative-update`",
            ),
            by(TABLE, (1, 1), "compressed filters", &["survey001-table1"]),
            by("Section 2.", (1, 1), "rate and concentration", &["survey001-rate", "survey001-concentration"]),
            by("Section 2.", (2, 3), "hashing, lower bound", &["survey001-bound"]),
            by("Section 2.", (4, 4), "inner product, union, halving", &["survey001-inner-product"]),
            by("Section 2.", (5, 5), "counters", &["survey001-counters"]),
            by("Section 5.", (1, 1), "bits instead of identifiers", &["survey001-p2p"]),
        ],
    ),
    (
        &LAUFER,
        &[
            not(FIGURE, (1, 1), "insertion into a Bloom filter", DRAWING),
            by(FIGURE, (2, 2), "rate over the bits per element", &["gbf-fig2"]),
            by(FIGURE, (3, 3), "rate over the functions", &["gbf-fig3"]),
            by(FIGURE, (4, 4), "rate over the fraction of ones", &["gbf-fig4"]),
            not(FIGURE, (5, 5), "insertion into a generalized filter", DRAWING),
            by(FIGURE, (6, 6), "rate over the fraction of ones", &["gbf-fig6"]),
            by(FIGURE, (7, 7), "the same for k₀ = k₁", &["gbf-fig7"]),
            by(FIGURE, (8, 8), "false negatives of each element", &["gbf-fig8"]),
            by(FIGURE, (9, 9), "the same for k₀ = k₁", &["gbf-fig9"]),
            by(FIGURE, (10, 10), "most false negatives", &["gbf-fig10"]),
            by(FIGURE, (11, 11), "rate over the first ones", &["gbf-fig11"]),
            by(FIGURE, (12, 12), "the same for several sizes", &["gbf-fig12"]),
            by(FIGURE, (13, 13), "both bounds over k", &["gbf-fig13"]),
            by(FIGURE, (14, 14), "both bounds over k₀ and k₁", &["gbf-fig14"]),
            by(EQUATION, (1, 2), "rate of a Bloom filter", &["gbf-fig2"]),
            by(EQUATION, (3, 4), "its best k", &["gbf-fig3"]),
            by(EQUATION, (5, 9), "zeros and rate of a generalized filter", &["gbf-fig6"]),
            by(EQUATION, (10, 12), "false negatives of each element", &["gbf-fig8"]),
            by(EQUATION, (13, 13), "different positions of an element", &["gbf-fig12"]),
            by(EQUATION, (14, 15), "the hash functions of the simulation", &["gbf-fig6"]),
            by(EQUATION, (16, 17), "simplified zeros and rate", &["gbf-fig6", "gbf-fig11"]),
            by(EQUATION, (18, 19), "the bound of false positives", &["gbf-fig7"]),
            by(EQUATION, (20, 22), "the bound of false negatives", &["gbf-fig10"]),
            by(EQUATION, (23, 23), "where the initial condition stays", &["gbf-fig12"]),
            by(EQUATION, (24, 25), "balanced functions", &["gbf-fig13", "gbf-fig14"]),
            by("Section ", (1, 1), "the all-one attack", &["gbf-attack"]),
        ],
    ),
    (
        &GUO,
        &[
            by(FIGURE, (1, 1), "rates of chains and filters", &["dbf-fig1"]),
            by(FIGURE, (2, 2), "their ratio", &["dbf-fig2"]),
            by(FIGURE, (3, 3), "unions", &["dbf-fig3"]),
            by(FIGURE, (4, 4), "four chains", &["dbf-fig4"]),
            by(FIGURE, (5, 5), "items that cannot be removed", &["dbf-fig5"]),
            by(FIGURE, (6, 6), "chains that are filled again", &["dbf-fig6"]),
            by(FIGURE, (7, 7), "items with several addresses", &["dbf-fig7"]),
            by(FIGURE, (8, 8), "bits of a plain filter", &["dbf-fig8"]),
            by(FIGURE, (9, 9), "a plain filter that grows", &["dbf-fig9"]),
            by(FIGURE, (10, 10), "expected bits by components", &["dbf-fig10"]),
            by(FIGURE, (11, 11), "least expected bits", &["dbf-fig11"]),
            by(FIGURE, (12, 12), "in terms of a plain filter", &["dbf-fig12"]),
            by(FIGURE, (13, 13), "by the rate", &["dbf-fig13"]),
            by(FIGURE, (14, 14), "by the rate, in terms of a plain filter", &["dbf-fig14"]),
            by(FIGURE, (15, 15), "by Zipf's parameter", &["dbf-fig15"]),
            by(FIGURE, (16, 16), "by the deviation", &["dbf-fig16"]),
            by(TABLE, (1, 1), "several addresses, items left", &["dbf-table1"]),
            by(EQUATION, (1, 1), "rate of a plain filter", &["dbf-fig1"]),
            by(EQUATION, (2, 2), "intersection", &["survey000-theorem2"]),
            by(EQUATION, (3, 3), "rate of a chain", &["dbf-fig1"]),
            by(EQUATION, (4, 5), "rate of a union", &["dbf-fig3"]),
            not(EQUATION, (6, 8), "steps of a proof", "they have no number; what they prove is dbf-fig3"),
            by(EQUATION, (9, 10), "items with several addresses", &["dbf-fig5", "dbf-fig7"]),
            by(EQUATION, (11, 11), "the hash functions", &["dbf-fig5", "dbf-table1"]),
            by(EQUATION, (12, 13), "bits for the same rate", &["dbf-fig8"]),
            by(EQUATION, (14, 14), "a plain filter that grows", &["dbf-fig9"]),
            by("Section 4.", (3, 3), "limits of reconstruction", &["dbf-limits"]),
            by("Section 3.5.", (2, 2), "several attributes", &["dbf-multi"]),
        ],
    ),
    (
        &LUO,
        &[
            not(FIGURE, (1, 1), "angles of optimization", "a list of names"),
            not(FIGURE, (2, 2), "an example of 12 bits", DRAWING),
            by(FIGURE, (3, 3), "rate and proportion", &["survey003-eq4"]),
            not(FIGURE, (4, 4), "Optihash", DRAWING),
            by(FIGURE, (5, 5), "cross-checking filters", &["survey003-eq5"]),
            by(FIGURE, (6, 6), "a hierarchical word", &["survey003-fig6"]),
            by(FIGURE, (7, 7), "variable increments", &["survey003-fig7"]),
            not(FIGURE, (8, 12), "Ultra-fast, Forest, EABF, Shifting, LSBF", DRAWING),
            not(FIGURE, (13, 13), "taxonomy", "a list of names"),
            not(TABLE, (1, 2), "other surveys, scenarios", "lists of names"),
            by(TABLE, (3, 3), "the complement's truth table", &["survey003-table3"]),
            by(TABLE, (4, 4), "capabilities and complexities", &["survey003-table4"]),
            by(EQUATION, (1, 3), "rates, classic and exact", &["survey003-eq3"]),
            by(EQUATION, (4, 4), "the Bloom paradox", &["survey003-eq4"]),
            by(EQUATION, (5, 5), "cross-checking filters", &["survey003-eq5"]),
            by(EQUATION, (6, 7), "pipelined filters", &["survey003-eq67"]),
            by("Section VIII-B.", (3, 3), "what d-left hashing saves", &["survey003-dleft"]),
            by("Section VII-B.", (1, 1), "kinds that forget, on one stream", &["survey003-forgetting"]),
        ],
    ),
];

/// The page as Markdown.
///
/// ```
/// let page = bouquet_lab::contents::page();
/// assert!(page.contains("| Equation 18 |") && page.contains("[`gbf-fig7`](README.md#gbf-fig7"));
/// ```
#[must_use]
pub fn page() -> String {
    let mut text = String::from(
        "# Every figure, table and numbered equation of the papers\n\n\
         Where it is done again in the [gallery](README.md), or why it has no number. Sections and theorems are there where they have \
         results of their own. Written by `bouquet lab all --out docs/lab`.\n",
    );
    for (paper, entries) in CONTENTS {
        text += &format!("\n## {}: {} ({})\n\n", paper.authors, paper.title, paper.year);
        let mut table = Table::new(["of the paper", "shows", "done again"]);
        for entry in entries {
            table.row([entry.name().into(), entry.shows.into(), entry.place().into()]);
        }
        text += &table.markdown();
    }
    text
}

impl Entry {
    fn name(&self) -> String {
        let (first, last) = self.numbers;
        // Sections carry their own points.
        let (sort, plural) = if self.sort.starts_with("Section") { (self.sort, "") } else { (self.sort, "s") };
        let space = if plural.is_empty() { "" } else { " " };
        match last - first {
            0 => format!("{sort}{space}{first}"),
            1 => format!("{sort}{plural}{space}{first} and {last}"),
            _ => format!("{sort}{plural}{space}{first} to {last}"),
        }
    }

    fn place(&self) -> String {
        match self.done {
            Done::By(ids) => ids.iter().map(|id| link(id)).collect::<Vec<_>>().join(", "),
            Done::Not(why) => format!("no: {why}"),
        }
    }
}

fn link(id: &str) -> String {
    match crate::find(id) {
        Ok(of) => {
            let anchor = crate::gallery::anchor(&format!("{} ({}): {}", of.id, of.place, of.title));
            format!("[`{id}`](README.md#{anchor})")
        }
        Err(_) => id.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(entries: &[Entry], sort: &str) -> Vec<u8> {
        entries.iter().filter(|entry| entry.sort == sort).flat_map(|entry| entry.numbers.0..=entry.numbers.1).collect()
    }

    #[test]
    fn every_figure_table_and_numbered_equation_is_there_once() {
        // Figures, tables and numbered equations of each paper.
        let counts = [(15, 2, 18), (2, 1, 0), (14, 0, 25), (16, 1, 14), (13, 4, 7)];
        for ((paper, entries), (figures, tables, equations)) in CONTENTS.iter().zip(counts) {
            for (sort, last) in [(FIGURE, figures), (TABLE, tables), (EQUATION, equations)] {
                assert_eq!(numbers(entries, sort), (1..=last).collect::<Vec<_>>(), "{sort}s of {}", paper.title);
            }
        }
    }

    #[test]
    fn every_experiment_is_named_and_exists() {
        let named: Vec<&str> = CONTENTS
            .iter()
            .flat_map(|(_, entries)| entries.iter())
            .flat_map(|entry| match entry.done {
                Done::By(ids) => ids,
                Done::Not(_) => &[],
            })
            .copied()
            .collect();
        for id in &named {
            assert!(crate::find(id).is_ok(), "{id} is no experiment");
        }
        for experiment in crate::experiments() {
            assert!(named.contains(&experiment.id), "{} is in no list", experiment.id);
        }
    }
}
