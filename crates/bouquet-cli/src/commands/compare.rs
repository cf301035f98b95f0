//! `bouquet compare`: kinds side by side on the same keys.

mod measure;
mod plot;

use std::path::PathBuf;

use bouquet::kind::{Kind, Verb};
use bouquet::registry;
use clap::{Args, ValueEnum};

use self::measure::{Contest, Measured};
use super::kinds::verb_named;
use crate::failure::{Failure, Found, Outcome};
use crate::filters::kind_named;
use crate::output::{Destination, Waiting, optional, print};

/// Measure kinds of filters side by side: each is made for the same number of keys and the same rate, and given the same keys
///
/// For every kind: bits per key; the measured rate of false positives beside the one that theory expects, the same for keys that
/// are missed and, where the kind counts, for keys (each inserted once) whose count is not one; and nanoseconds per insertion,
/// query and removal. Queries are half of present and half of absent keys. The kinds take turns in several rounds, each with
/// functions of its own; times are medians over the rounds, shares are over all of them. Kinds that are built once are timed
/// building.
///
/// A kind that cannot be made for a number of keys and a rate is listed with the reason.
#[derive(Args)]
pub struct Compare {
    /// Only kinds that can do all of this, such as `remove,count`; may be repeated
    #[arg(long, value_name = "VERB", value_delimiter = ',')]
    can: Vec<String>,

    /// Only these kinds, such as `standard,blocked`; may be repeated
    #[arg(short, long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<String>,

    /// How many keys each filter is made for and given, such as 5000, 5_000 or 5e3
    #[arg(long, value_name = "N", default_value = "1e5", allow_hyphen_values = true)]
    items: String,

    /// The false-positive rate that each filter is made for
    #[arg(long, value_name = "P", default_value = "0.01", allow_hyphen_values = true)]
    fpr: String,

    /// A parameter for all kinds that have it; `bouquet explain KIND` shows them
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,

    /// Rounds, of which the median time counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// How the numbers are printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Also draw the kinds as points, time of a query against bits per key, and write the drawing to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// What is drawn against the time of a query
    #[arg(long, value_enum, default_value_t = Height::Bits, requires = "svg")]
    plot: Height,
}

/// How numbers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Columns for people
    Table,
    /// Comma-separated values, one line per kind
    Csv,
}

/// What a drawing shows against the time of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Height {
    /// Bits per key
    Bits,
    /// The measured rate of false positives
    Rate,
}

impl Compare {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let verbs = self.can.iter().map(|word| verb_named(word)).collect::<Result<Vec<Verb>, _>>()?;
        let kinds = self.kinds(&verbs)?;
        if kinds.is_empty() {
            return Ok(Found::Nothing);
        }
        let drawing =
            self.svg.as_deref().map(|path| Destination::new(path, &[], &[], Waiting::default())).transpose()?;
        let contest = Contest::new(&kinds, &verbs, &self.items, &self.fpr, &self.set)?;
        let (measured, refused) = contest.run(self.rounds)?;
        match self.format {
            Format::Table => print(&table(&measured, &refused))?,
            Format::Csv => print(&csv(&measured, &refused))?,
        }
        if let Some(destination) = drawing {
            let drawing = plot::draw(&measured, self.plot, contest.items(), contest.fpr()).ok_or_else(|| {
                Failure::new("no kind has both numbers to draw; leave --svg out, or choose other kinds")
            })?;
            destination.save_bytes(drawing.as_bytes())?;
        }
        Ok(Found::when(!measured.is_empty()))
    }

    /// The kinds that were asked for, in the order of the registry.
    fn kinds(&self, verbs: &[Verb]) -> Result<Vec<&'static Kind>, Failure> {
        let named = self.kind.iter().map(|name| kind_named(name.trim())).collect::<Result<Vec<_>, _>>()?;
        let asked = |kind: &&Kind| {
            let named = named.is_empty() || named.iter().any(|other| other.facts().id == kind.facts().id);
            named && verbs.iter().all(|verb| kind.can(*verb))
        };
        Ok(registry::kinds().filter(asked).collect())
    }
}

/// A kind that could not be compared, and why.
type Refused = (&'static str, String);

/// A column: its two headings for the table, its name in CSV, and what it shows.
struct Column {
    heading: [&'static str; 2],
    name: &'static str,
    value: fn(&Measured) -> Option<f64>,
}

const COLUMNS: &[Column] = &[
    Column { heading: ["bits", "per key"], name: "bits_per_key", value: |row| Some(row.bits_per_key) },
    Column { heading: ["false", "positives"], name: "fpr", value: |row| row.false_positives.measured },
    Column { heading: ["", "theory"], name: "fpr_theory", value: |row| row.false_positives.theory },
    Column { heading: ["", "missed"], name: "fnr", value: |row| row.false_negatives.measured },
    Column { heading: ["", "theory"], name: "fnr_theory", value: |row| row.false_negatives.theory },
    Column { heading: ["wrong", "counts"], name: "count_error", value: |row| row.wrong_counts.measured },
    Column { heading: ["", "theory"], name: "count_error_theory", value: |row| row.wrong_counts.theory },
    Column { heading: ["insert", "ns"], name: "insert_ns", value: |row| row.insert },
    Column { heading: ["query", "ns"], name: "contains_ns", value: |row| row.contains },
    Column { heading: ["remove", "ns"], name: "remove_ns", value: |row| row.remove },
];

/// Columns for people; those that no kind has anything to say in are left out.
fn table(measured: &[Measured], refused: &[Refused]) -> String {
    let used: Vec<_> =
        COLUMNS.iter().filter(|column| measured.iter().any(|row| (column.value)(row).is_some())).collect();
    let mut lines: Vec<Vec<String>> = Vec::new();
    for at in 0..2 {
        let first = if at == 1 { "kind" } else { "" };
        lines.push([first].into_iter().chain(used.iter().map(|column| column.heading[at])).map(String::from).collect());
    }
    for row in measured {
        let cells = used.iter().map(|column| optional((column.value)(row)));
        lines.push([row.kind.facts().id.to_string()].into_iter().chain(cells).collect());
    }
    let widths: Vec<usize> =
        (0..=used.len()).map(|at| lines.iter().map(|line| line[at].len()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    if !measured.is_empty() {
        for line in &lines {
            let mut row = format!("{:width$}", line[0], width = widths[0]);
            for (cell, width) in line.iter().zip(&widths).skip(1) {
                row.push_str(&format!("  {cell:>width$}"));
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
    }
    for (at, (id, reason)) in refused.iter().enumerate() {
        if at == 0 {
            text.push_str(if measured.is_empty() { "not compared:\n" } else { "\nnot compared:\n" });
        }
        text.push_str(&format!("  {id}: {reason}\n"));
    }
    text
}

/// One line per kind, with a reason for those that could not be compared.
fn csv(measured: &[Measured], refused: &[Refused]) -> String {
    let names: Vec<_> = COLUMNS.iter().map(|column| column.name).collect();
    let mut text = format!("kind,{},not_compared\n", names.join(","));
    for row in measured {
        text.push_str(row.kind.facts().id);
        for column in COLUMNS {
            text.push_str(&(column.value)(row).map_or(",".into(), |value| format!(",{value}")));
        }
        text.push_str(",\n");
    }
    for (id, reason) in refused {
        text.push_str(&format!("{id}{},\"{}\"\n", ",".repeat(COLUMNS.len()), reason.replace('"', "\"\"")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::measure::Share;
    use super::*;

    fn row(id: &str, remove: Option<f64>) -> Measured {
        Measured {
            kind: registry::find(id).unwrap(),
            bits_per_key: 9.5,
            false_positives: Share { measured: Some(0.01), theory: Some(0.0101) },
            false_negatives: Share::default(),
            wrong_counts: Share::default(),
            insert: Some(12.0),
            contains: Some(10.0),
            remove,
        }
    }

    #[test]
    fn a_table_shows_the_columns_that_say_something_and_the_reasons() {
        let refused = [("iblt", "kind `iblt` has no parameter `fpr`".to_string())];
        let text = table(&[row("standard", None), row("blocked", None)], &refused);
        assert!(!text.contains("remove") && !text.contains("counts"), "{text}");
        assert!(text.ends_with("\nnot compared:\n  iblt: kind `iblt` has no parameter `fpr`\n"), "{text}");
        let text = table(&[row("standard", None), row("counting", Some(20.0))], &[]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].ends_with("remove") && lines[1].ends_with("ns") && lines[2].ends_with("  -"), "{text}");
        assert!(lines[3].starts_with("counting") && lines[3].ends_with("20.00"), "{text}");
    }

    #[test]
    fn csv_has_as_many_fields_in_every_line() {
        let text = csv(&[row("standard", None)], &[("iblt", "it said \"no\"".to_string())]);
        let fields: Vec<_> = text.lines().map(|line| line.matches(',').count()).collect();
        assert_eq!(fields, [COLUMNS.len() + 1; 3]);
        assert!(text.ends_with("\"it said \"\"no\"\"\"\n"), "{text}");
    }
}
