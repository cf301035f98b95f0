//! The tables of a page, made from records: no number in them comes from elsewhere.
//!
//! A table stands between a line that says what it shows and a line that ends it:
//!
//! ```text
//! <!-- table records=bench/record/A.csv,.. keys=u64 fpr=0.01 n=1e6 metrics=insert,hit only=bouquet standard,floor -->
//! <!-- versus records=.. keys=u64 fpr=0.01 n=1e5,1e6 metrics=hit,miss ours=bouquet standard peer=fastbloom foldhash -->
//! <!-- end -->
//! ```
//!
//! `table` has a line per contender, with times and their ratio to the floor: the medians of the rounds or, with `of=least`, the
//! least of them. `versus` has a line per number of keys and says how many times faster ours is than the peer, by their medians of
//! the ratios to the floor, or else by those of the times, and, in parentheses, by the least times. Of rows for the same thing the last
//! record counts.

use std::collections::BTreeMap;

use crate::floor;
use crate::measure::Metric;
use crate::record::{self, Row, magnitude};

/// The page with its tables made anew; `read` gives the text of a record.
pub fn rewrite(page: &str, read: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut lines = page.lines();
    let mut text = String::new();
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let Some(directive) = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->")) else { continue };
        let Some((form, settings)) = directive.split_once(' ') else { continue };
        let table = match form {
            "table" => table(&Settings::parse(settings)?, &read)?,
            "versus" => versus(&Settings::parse(settings)?, &read)?,
            _ => continue,
        };
        text.push_str(&format!("\n{table}\n"));
        if !lines.any(|line| line == "<!-- end -->") {
            return Err(format!("no line `<!-- end -->` follows: {line}"));
        }
        text.push_str("<!-- end -->\n");
    }
    Ok(text)
}

/// What a line says after the form.
struct Settings(BTreeMap<String, String>);

impl Settings {
    /// `name=value name=value`, where values may have spaces.
    fn parse(text: &str) -> Result<Self, String> {
        let mut settings = BTreeMap::new();
        let mut name = String::new();
        for word in text.split(' ') {
            match word.split_once('=') {
                Some((key, value)) => {
                    name = key.into();
                    settings.insert(name.clone(), value.to_string());
                }
                None => {
                    let value = settings.get_mut(&name).ok_or_else(|| format!("{word} is no setting"))?;
                    value.push(' ');
                    value.push_str(word);
                }
            }
        }
        Ok(Settings(settings))
    }

    fn get(&self, name: &str) -> Result<&str, String> {
        self.0.get(name).map(String::as_str).ok_or_else(|| format!("a table needs {name}=.."))
    }

    fn list(&self, name: &str) -> Result<Vec<&str>, String> {
        Ok(self.get(name)?.split(',').collect())
    }

    fn numbers(&self, name: &str) -> Result<Vec<f64>, String> {
        self.list(name)?.into_iter().map(|text| text.parse().map_err(|_| format!("{name}: {text}"))).collect()
    }

    fn metrics(&self) -> Result<Vec<Metric>, String> {
        let metric = |name: &str| {
            let found = Metric::ALL.into_iter().find(|metric| metric.name() == name);
            found.ok_or_else(|| format!("there is no metric {name}"))
        };
        self.list("metrics")?.into_iter().map(metric).collect()
    }

    /// The rows of the records for these keys and this rate.
    fn rows(&self, read: &impl Fn(&str) -> Result<String, String>) -> Result<Vec<Row>, String> {
        let (keys, rates) = (self.get("keys")?, self.numbers("fpr")?);
        let mut rows = Vec::new();
        for path in self.list("records")? {
            let all = record::from_csv(&read(path)?).map_err(|error| format!("{path}: {error}"))?;
            rows.extend(all.into_iter().filter(|row| row.keys == keys && rates.contains(&row.fpr)));
        }
        Ok(rows)
    }
}

fn find<'a>(rows: &'a [Row], n: f64, contender: &str, metric: Metric) -> Option<&'a Row> {
    rows.iter().rfind(|row| row.n as f64 == n && row.contender == contender && row.metric == metric.name())
}

fn table(settings: &Settings, read: &impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let (rows, metrics) = (settings.rows(read)?, settings.metrics()?);
    let [n] = settings.numbers("n")?[..] else { return Err("a table is for one number of keys".into()) };
    let least = match settings.get("of") {
        Err(_) | Ok("median") => false,
        Ok("least") => true,
        Ok(other) => return Err(format!("of={other}: a table is of=median or of=least")),
    };
    let mut names: Vec<&str> = Vec::new();
    match settings.list("only") {
        Ok(only) => names = only,
        Err(_) => {
            for row in rows.iter().filter(|row| row.n as f64 == n) {
                if !names.contains(&row.contender.as_str()) {
                    names.push(&row.contender);
                }
            }
        }
    }
    let mut table = vec![vec![format!("{} keys", magnitude(n as u64))]];
    for metric in &metrics {
        table[0].push(match metric.unit() {
            "1" => "rate".into(),
            unit => format!("{}, {unit}", metric.name()),
        });
    }
    for name in names {
        let mut line = vec![name.to_string()];
        for metric in &metrics {
            line.push(find(&rows, n, name, *metric).map_or("-".into(), |row| match metric {
                Metric::Rate => format!("{:.3} %", 100.0 * row.median),
                Metric::Bits => format!("{:.2}", row.median),
                _ => {
                    let time = if least { row.min } else { row.median };
                    let floor = find(&rows, n, floor::NAME, *metric);
                    let ratio = if least { floor.map(|floor| row.min / floor.min) } else { row.floor_ratio };
                    match ratio.filter(|_| metric.has_floor()) {
                        Some(ratio) => format!("{time:.1} (x {ratio:.2})"),
                        None => format!("{time:.1}"),
                    }
                }
            }));
        }
        if line.iter().skip(1).all(|cell| cell == "-") {
            return Err(format!("no record has {name} with {n} keys"));
        }
        table.push(line);
    }
    Ok(markdown(&table))
}

fn versus(settings: &Settings, read: &impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let (rows, metrics) = (settings.rows(read)?, settings.metrics()?);
    let (ours, peer) = (settings.get("ours")?, settings.get("peer")?);
    let mut table = vec![vec![format!("{ours} against {peer}")]];
    table[0].extend(metrics.iter().map(|metric| metric.name().to_string()));
    for n in settings.numbers("n")? {
        let mut line = vec![format!("{} keys", magnitude(n as u64))];
        for metric in &metrics {
            // A peer without a batch form is asked one by one.
            let single = match metric {
                Metric::BatchInsert => Metric::Insert,
                Metric::BatchHit => Metric::Hit,
                Metric::BatchMiss => Metric::Miss,
                other => *other,
            };
            let theirs = find(&rows, n, peer, *metric).or_else(|| find(&rows, n, peer, single));
            line.push(match (find(&rows, n, ours, *metric), theirs) {
                (Some(ours), Some(peer)) => format!("{:.2} ({:.2})", times_faster(ours, peer), peer.min / ours.min),
                _ => return Err(format!("no record has {} of {ours} and {peer} with {n} keys", metric.name())),
            });
        }
        table.push(line);
    }
    Ok(markdown(&table))
}

/// How many times as long as ours the peer takes. Both were compared with the floor of the same round: what slows the machine for some
/// rounds does not show in these ratios, as it does in medians of times. Batches and single calls have different floors.
fn times_faster(ours: &Row, peer: &Row) -> f64 {
    match (ours.floor_ratio, peer.floor_ratio) {
        (Some(ours_to_floor), Some(peer_to_floor)) if ours.metric == peer.metric => peer_to_floor / ours_to_floor,
        _ => peer.median / ours.median,
    }
}

fn markdown(table: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<String> =
        table[0].iter().enumerate().map(|(i, _)| if i == 0 { "---" } else { "---:" }.into()).collect();
    let rest: String = table[1..].iter().map(|cells| line(cells)).collect();
    line(&table[0]) + &line(&rule) + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "keys,n,fpr,contender,metric,unit,median,min,max,floor_ratio
u64,1000,0.01,ours,hit,ns/key,2,1,3,1.5
u64,1000,0.01,theirs,hit,ns/key,5,4,6,3
u64,1000,0.01,ours,batch-hit,ns/key,1,1,2,2
u64,1000,0.001,ours,hit,ns/key,9,9,9,9
u64,1000,0.1,floor,hit,ns/key,4,2,5,1
u64,1000,0.1,ours,hit,ns/key,6,5,9,1.6
";

    fn rewritten(page: &str) -> Result<String, String> {
        rewrite(page, |path| if path == "a.csv" { Ok(RECORD.into()) } else { Err(format!("no {path}")) })
    }

    #[test]
    fn tables_show_what_the_records_say_and_nothing_else_changes() {
        let page =
            "# Title\n<!-- table records=a.csv keys=u64 fpr=0.01 n=1e3 metrics=hit -->\nold\n<!-- end -->\nrest\n";
        let expected = "# Title\n<!-- table records=a.csv keys=u64 fpr=0.01 n=1e3 metrics=hit -->\n\n\
            | 10^3 keys | hit, ns/key |\n| --- | ---: |\n| ours | 2.0 (x 1.50) |\n| theirs | 5.0 (x 3.00) |\n\n\
            <!-- end -->\nrest\n";
        assert_eq!(rewritten(page).as_deref(), Ok(expected));
        assert_eq!(rewritten(expected).as_deref(), Ok(expected), "a second time changes nothing");
    }

    #[test]
    fn comparisons_divide_the_peer_s_ratio_to_the_floor_by_ours() {
        let page = "<!-- versus records=a.csv keys=u64 fpr=0.01 n=1e3 metrics=hit,batch-hit ours=ours peer=theirs -->\n\
            <!-- end -->\n";
        // The peer has no batches: single calls are compared by their times.
        assert!(rewritten(page).is_ok_and(|text| text.contains("| 10^3 keys | 2.00 (4.00) | 5.00 (4.00) |")));
    }

    #[test]
    fn the_least_times_are_compared_with_the_least_of_the_floor() {
        let page = "<!-- table records=a.csv keys=u64 fpr=0.1 n=1e3 metrics=hit of=least only=ours -->\n<!-- end -->\n";
        assert!(rewritten(page).is_ok_and(|text| text.contains("| ours | 5.0 (x 2.50) |")));
    }

    #[test]
    fn what_no_record_has_is_an_error() {
        for (line, complaint) in [
            ("table records=b.csv keys=u64 fpr=0.01 n=1e3 metrics=hit", "no b.csv"),
            ("table records=a.csv keys=u64 fpr=0.01 n=1e3 metrics=hit only=nobody", "nobody"),
            ("versus records=a.csv keys=u64 fpr=0.001 n=1e3 metrics=hit ours=ours peer=theirs", "theirs"),
            ("table records=a.csv keys=u64 fpr=0.01 n=1e3 metrics=speed", "speed"),
            ("table keys=u64 fpr=0.01 n=1e3 metrics=hit", "records"),
            ("table records=a.csv keys=u64 fpr=0.01 n=1e3 metrics=hit of=mean", "of=mean"),
        ] {
            let error = rewritten(&format!("<!-- {line} -->\n<!-- end -->\n")).unwrap_err();
            assert!(error.contains(complaint), "{error}");
        }
        assert!(rewritten("<!-- table records=a.csv keys=u64 fpr=0.01 n=1e3 metrics=hit -->\n").is_err());
    }

    #[test]
    fn the_performance_page_shows_what_the_records_say() {
        let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let read =
            |path: &str| std::fs::read_to_string(repository.join(path)).map_err(|error| format!("{path}: {error}"));
        let page = read("docs/performance.md").unwrap();
        assert!(rewrite(&page, read).unwrap() == page, "run `cargo run --release -p bench -- report`");
        assert!(page.contains("<!-- table ") && page.contains("<!-- versus "));
    }
}
