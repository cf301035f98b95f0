//! Rows, as a table for people and as a file that is kept.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::measure::Metric;

/// What was measured of a contender under one set of conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub keys: String,
    pub n: u64,
    pub fpr: f64,
    pub contender: String,
    pub metric: String,
    pub unit: String,
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// The median over the rounds of the ratio to the floor in the same round.
    pub floor_ratio: Option<f64>,
}

const COLUMNS: &str = "keys,n,fpr,contender,metric,unit,median,min,max,floor_ratio";

/// The file: comment lines that describe the machine, the names of the columns, the rows.
pub fn to_csv(machine: &str, rows: &[Row]) -> String {
    let mut text: String = machine.lines().map(|line| format!("# {line}\n")).collect();
    text.push_str(COLUMNS);
    text.push('\n');
    for row in rows {
        let Row { keys, n, fpr, contender, metric, unit, median, min, max, floor_ratio } = row;
        let ratio = floor_ratio.map_or_else(String::new, |ratio| ratio.to_string());
        let _ = writeln!(text, "{keys},{n},{fpr},{contender},{metric},{unit},{median},{min},{max},{ratio}");
    }
    text
}

/// The rows of a file.
pub fn from_csv(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    match lines.next() {
        Some(COLUMNS) => lines.map(|line| row(line).ok_or_else(|| format!("not a row: {line}"))).collect(),
        other => Err(format!("the columns are to be {COLUMNS}, not {}", other.unwrap_or("missing"))),
    }
}

fn row(line: &str) -> Option<Row> {
    let fields: [&str; 10] = line.split(',').collect::<Vec<_>>().try_into().ok()?;
    let [keys, n, fpr, contender, metric, unit, median, min, max, ratio] = fields;
    Some(Row {
        keys: keys.into(),
        n: n.parse().ok()?,
        fpr: fpr.parse().ok()?,
        contender: contender.into(),
        metric: metric.into(),
        unit: unit.into(),
        median: median.parse().ok()?,
        min: min.parse().ok()?,
        max: max.parse().ok()?,
        floor_ratio: if ratio.is_empty() { None } else { Some(ratio.parse().ok()?) },
    })
}

/// Writes a record under a name that no other has: the day, the processor and, from the second on, a number.
pub fn save(directory: &Path, processor: &str, text: &str) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(directory)?;
    let day = chrono::Local::now().format("%Y-%m-%d");
    for number in 1.. {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let path = directory.join(format!("{day}-{processor}{suffix}.csv"));
        match std::fs::File::create_new(&path) {
            Ok(mut file) => return std::io::Write::write_all(&mut file, text.as_bytes()).map(|()| path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => (),
            Err(error) => return Err(error),
        }
    }
    unreachable!("the numbers do not end")
}

/// The rows of one set of conditions, a line per contender. Times are medians, `x` is the ratio to the floor.
pub fn table(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut names: Vec<&str> = rows.iter().map(|row| row.contender.as_str()).collect();
    names.dedup();

    let mut lines = vec![vec![format!("{} keys {}, {} %", magnitude(first.n), first.keys, 100.0 * first.fpr)]];
    for metric in Metric::ALL {
        let title = match metric {
            Metric::TwoMiss => "2T miss",
            Metric::TwoInsert => "2T insert",
            Metric::Create => "new ms",
            Metric::Serialise => "save ms",
            Metric::Load => "load ms",
            Metric::Rate => "rate %",
            Metric::Bits => "bits/key",
            Metric::BatchInsert => "b insert",
            Metric::BatchHit => "b hit",
            Metric::BatchMiss => "b miss",
            other => other.name(),
        };
        lines[0].push(title.into());
        if metric.has_floor() && metric != Metric::TwoInsert {
            lines[0].push("x".into());
        }
    }
    for name in names {
        let mut line = vec![name.to_string()];
        for metric in Metric::ALL {
            let row = rows.iter().find(|row| row.contender == name && row.metric == metric.name());
            line.push(row.map_or("-".into(), |row| match metric {
                Metric::Rate => format!("{:.4}", 100.0 * row.median),
                Metric::Insert | Metric::Hit | Metric::Miss => {
                    format!("{:.1} ({:.1}..{:.1})", row.median, row.min, row.max)
                }
                Metric::Create | Metric::Serialise | Metric::Load => format!("{:.3}", row.median),
                Metric::Bits => format!("{:.2}", row.median),
                _ => format!("{:.1}", row.median),
            }));
            if metric.has_floor() && metric != Metric::TwoInsert {
                line.push(row.and_then(|row| row.floor_ratio).map_or("-".into(), |ratio| format!("{ratio:.2}")));
            }
        }
        lines.push(line);
    }

    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let _ = write!(text, "{:<1$}", line[0], widths[0]);
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
    text
}

/// 100000 as `10^5`, other numbers as they are.
pub fn magnitude(n: u64) -> String {
    match n.checked_ilog10() {
        Some(exponent) if exponent >= 3 && n == 10u64.pow(exponent) => format!("10^{exponent}"),
        _ => n.to_string(),
    }
}
