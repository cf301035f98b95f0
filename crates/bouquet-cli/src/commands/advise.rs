//! `bouquet advise`: which filter to take.

mod questions;

use std::io::IsTerminal;
use std::path::PathBuf;

use bouquet::kind::{Setting, Verb, common};
use bouquet_advice::{Advice, Consultation, Estimates, Goal, Sample, Workload, bytes, consult};
use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args};
use serde_json::json;

use super::kinds::verb_named;
use crate::failure::{Failure, Found, Outcome, say};
use crate::keys::{Input, parse_bytes};
use crate::output::{number, optional, print, print_json};

const EXAMPLES: &str = "\
Examples:
  bouquet advise --items 1e7 --fpr 0.001                       the fewest bytes
  bouquet advise --items 1e6 --need remove,count               sessions that end
  bouquet advise --items 1e6 --static --sent 24                a set that is sent every hour
  bouquet advise --sample urls.txt --optimise speed            as many keys as the file has
  bouquet advise                                               asks five questions";

/// Tell which kind of filter to take for a workload, and why
///
/// Every kind is asked what it takes for these keys, and tried on a few thousand of them. Those that cannot do what is needed are
/// listed with the reason (--all shows every one); the others are ranked by what --optimise names. Costs are predictions: bytes from
/// the kinds' plans, rates from their theory, times from a recorded benchmark that is scaled to this machine by a calibration of at
/// most half a second. Lines to make the first three follow.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Advise {
    /// Distinct keys: all, those of a window, or those expected for now, such as 5000, 5_000 or 1e7
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    items: Option<String>,

    /// The false-positive rate with that many keys
    #[arg(long, value_name = "P", default_value = "0.01", allow_hyphen_values = true)]
    fpr: String,

    /// What it must be able to do, such as `remove,count,merge`: verbs of `bouquet kinds --can`; may be repeated
    #[arg(long, value_name = "VERB", value_delimiter = ',')]
    need: Vec<String>,

    /// Keys beyond --items come, without end, and the rate must hold all the same
    #[arg(long)]
    grows: bool,

    /// Keys are to be forgotten after this time, such as 30s, 15m, 1h or 7d; --items are those of a window
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    window: Option<f64>,

    /// All keys are known beforehand and never change
    #[arg(long = "static", action = ArgAction::SetTrue, conflicts_with_all = ["grows", "window"])]
    is_static: bool,

    /// An adversary may choose keys or queries
    #[arg(long)]
    hostile: bool,

    /// Several threads change the filter at the same time
    #[arg(long)]
    shared: bool,

    /// How often a day the filter is sent, such as 24 or 24/day
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_per_day, allow_negative_numbers = true)]
    sent: f64,

    /// Some keys come much more often than others, by Zipf's law with this exponent, such as zipf:1.1
    #[arg(long, value_name = "zipf:S", value_parser = parse_skew)]
    skew: Option<f64>,

    /// The memory that it may take, such as 64M
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    memory: Option<usize>,

    /// The share of queries among all operations
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, allow_negative_numbers = true)]
    reads: f64,

    /// The share of present keys that may be missed
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_negative_numbers = true)]
    may_miss: f64,

    /// What is to be little [default: memory, or bytes-sent with --sent]
    #[arg(long, value_name = "GOAL", value_parser = PossibleValuesParser::new(Goal::ALL.map(Goal::name)))]
    optimise: Option<String>,

    /// Count the distinct keys of this file, one per line (`-` for standard input), and look at their lengths and how often each comes
    #[arg(long, value_name = "FILE")]
    sample: Option<PathBuf>,

    /// Ask five questions, as it does on a terminal when nothing is given
    #[arg(long)]
    ask: bool,

    /// Show every kind that does, and the reasons of all that do not
    #[arg(long)]
    all: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Advise {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let nothing_given = self.items.is_none() && self.sample.is_none();
        let workload = if self.ask || (nothing_given && std::io::stdin().is_terminal()) {
            (questions::ask()?, None)
        } else {
            self.workload()?
        };
        let (workload, sample) = workload;
        let told = consult(&workload)?;
        if self.json {
            let mut json = told.to_json();
            if let Some(sample) = &sample {
                json["sample"] = sample_json(sample);
            }
            print_json(&json)?;
            return Ok(Found::when(!told.advice.is_empty()));
        }
        if let Some(sample) = &sample {
            print(&sample_text(sample))?;
        }
        print(&text(&told, self.all))?;
        Ok(Found::when(!told.advice.is_empty()))
    }

    /// What was asked for, and what the sample has shown.
    fn workload(&self) -> Result<(Workload, Option<Estimates>), Failure> {
        let sample = self.sample.as_ref().map(|path| look_at(path)).transpose()?;
        let items = match (&self.items, &sample) {
            (Some(items), _) => count(items)?,
            (None, Some(sample)) => sample.distinct.max(1),
            (None, None) => {
                return Err(Failure::new(
                    "--items N or --sample FILE is needed to advise; --ask asks for everything that matters",
                ));
            }
        };
        let goal = match &self.optimise {
            Some(word) => Goal::from_name(word).unwrap_or_default(),
            None if self.sent > 0.0 => Goal::BytesSent,
            None => Goal::Memory,
        };
        let workload = Workload {
            need: self.need.iter().map(|word| verb_named(word)).collect::<Result<Vec<Verb>, _>>()?,
            grows: self.grows,
            window: self.window,
            is_static: self.is_static,
            hostile: self.hostile,
            shared: self.shared,
            sent_per_day: self.sent,
            skew: self.skew.or(sample.and_then(|sample| sample.skew)),
            memory: self.memory.map(|bytes| bytes as u64),
            reads: self.reads,
            may_miss: self.may_miss,
            goal,
            ..Workload::new(items, rate(&self.fpr)?)?
        };
        workload.check()?;
        Ok((workload, sample))
    }
}

fn count(text: &str) -> Result<u64, Failure> {
    match common::ITEMS.parse(text)? {
        Setting::Count(count) => Ok(count),
        other => Err(Failure::new(format!("a number of keys is a whole number, not {other}"))),
    }
}

fn rate(text: &str) -> Result<f64, Failure> {
    match common::FPR.parse(text)? {
        Setting::Real(rate) => Ok(rate),
        other => Err(Failure::new(format!("a rate is a number, not {other}"))),
    }
}

/// Seconds, with s, m, h or d for seconds, minutes, hours or days.
fn parse_time(text: &str) -> Result<f64, String> {
    let unit = [('s', 1.0), ('m', 60.0), ('h', 3_600.0), ('d', 86_400.0)];
    let found = unit.into_iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let (digits, seconds) = found.unwrap_or((text, 1.0));
    let time = digits.trim().parse::<f64>().ok().map(|number| number * seconds);
    time.filter(|time| time.is_finite() && *time > 0.0).ok_or_else(|| "a time is such as 30s, 15m, 1h or 7d".into())
}

fn parse_per_day(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/day").unwrap_or(text).trim().parse::<f64>().ok();
    number.filter(|of| of.is_finite() && *of >= 0.0).ok_or_else(|| "a number of times a day is such as 24".into())
}

fn parse_skew(text: &str) -> Result<f64, String> {
    let number = text.strip_prefix("zipf:").unwrap_or(text).trim().parse::<f64>().ok();
    let valid = number.filter(|of| (0.0..=5.0).contains(of));
    valid.ok_or_else(|| "a skew is zipf: and an exponent from 0 to 5, such as zipf:1.1".into())
}

/// Looks at every key of a file.
fn look_at(path: &std::path::Path) -> Result<Estimates, Failure> {
    let mut sample = Sample::new();
    let mut reader = Input::of_file(path).read("sampling");
    while let Some(batch) = reader.next_batch()? {
        batch.records().for_each(|key| sample.add(key));
    }
    let told = sample.estimates();
    if told.records == 0 {
        say(&format!("{} holds no keys; the advice is for one", path.display()));
    }
    Ok(told)
}

fn sample_json(sample: &Estimates) -> serde_json::Value {
    let (least, mean, most) = sample.lengths;
    json!({
        "records": sample.records,
        "distinct": sample.distinct,
        "deviation": sample.deviation,
        "duplicates": sample.duplicates(),
        "skew": sample.skew,
        "key_bytes": { "least": least, "mean": mean, "most": most },
    })
}

fn sample_text(sample: &Estimates) -> String {
    let (least, mean, most) = sample.lengths;
    let about =
        if sample.deviation > 0.0 { format!(" (give or take {})", number(sample.deviation)) } else { String::new() };
    let skew =
        sample.skew.map_or("each about equally often".into(), |of| format!("by Zipf's law with exponent {of:.2}"));
    format!(
        "sample: {} keys, {} distinct{about}, {:.1} % duplicates, {skew}, {least} to {most} bytes long, {mean:.1} in the mean\n\n",
        sample.records,
        sample.distinct,
        100.0 * sample.duplicates()
    )
}

/// How many kinds are shown with everything.
const SHOWN: usize = 3;

fn text(told: &Consultation, all: bool) -> String {
    let mut text = String::new();
    if told.advice.is_empty() {
        text.push_str("No kind does all of this.\n");
    }
    for (at, advice) in told.advice.iter().take(SHOWN).enumerate() {
        text.push_str(&one(at + 1, advice, told.workload.sent_per_day));
    }
    let others: Vec<&Advice> = told.advice.iter().skip(SHOWN).collect();
    if !others.is_empty() {
        text.push_str(&table(&others, if all { others.len() } else { 7 }));
    }
    if !told.changes.is_empty() {
        text.push_str("What would change the choice:\n");
        let best = told.advice.first().map_or("", |of| of.kind.facts().id);
        for change in &told.changes {
            text.push_str(&format!("  {}, `{}` instead of `{best}`\n", change.when, change.then.facts().id));
        }
        text.push('\n');
    }
    text.push_str(&rejected(told, all));
    text
}

fn one(place: usize, advice: &Advice, sent_per_day: f64) -> String {
    let (facts, cost) = (advice.kind.facts(), &advice.cost);
    let mut text = format!("{place}. {}: {}\n   {}\n", facts.id, facts.text.summary(), advice.why);
    let mut row = |name: &str, value: String| text.push_str(&format!("   {name:<15} {value}\n"));
    row("memory", format!("{} ({:.2} bits per key)", bytes(cost.bytes()), cost.bits_per_key()));
    let daily = match sent_per_day {
        0.0 => String::new(),
        times => format!(", {} a day", bytes((cost.bytes_sent as f64 * times) as u64)),
    };
    row("when sent", format!("{}{daily}", bytes(cost.bytes_sent)));
    let remove = cost.times.remove.map_or(String::new(), |time| format!(", remove {time:.1}"));
    row(
        "nanoseconds",
        format!(
            "{:.1} per operation: query {:.1}, insert {:.1}{remove} ({})",
            cost.nanoseconds,
            cost.times.query,
            cost.times.insert,
            cost.times.source.name()
        ),
    );
    let mut rates = format!("false positives {}", optional(cost.rates.false_positive));
    if let Some(rate) = cost.rates.false_negative.filter(|rate| *rate > 0.0) {
        rates.push_str(&format!(", missed {}", number(rate)));
    }
    if let Some(rate) = cost.rates.over_count.filter(|rate| *rate > 0.0) {
        rates.push_str(&format!(", counts too large {}", number(rate)));
    }
    row("rates", rates);
    advice.notes.iter().for_each(|note| row("note", note.clone()));
    let lines = [
        ("shell", &advice.lines.shell),
        ("Rust", &advice.lines.rust),
        ("Python", &advice.lines.python),
        ("Redis", &advice.lines.redis),
    ];
    for (name, lines) in lines {
        for (at, line) in lines.lines().enumerate() {
            row(if at == 0 { name } else { "" }, line.into());
        }
    }
    text + "\n"
}

fn table(others: &[&Advice], shown: usize) -> String {
    let width = others.iter().map(|of| of.kind.facts().id.len()).max().unwrap_or(0);
    let mut text = "The others, in order:\n".to_string();
    for advice in others.iter().take(shown) {
        let cost = &advice.cost;
        text.push_str(&format!(
            "  {:width$}  {:>10}  {:>10} sent  {:>7.1} ns\n",
            advice.kind.facts().id,
            bytes(cost.bytes()),
            bytes(cost.bytes_sent),
            cost.nanoseconds
        ));
    }
    if others.len() > shown {
        text.push_str(&format!("  and {} more (--all)\n", others.len() - shown));
    }
    text + "\n"
}

/// The kinds that do not, by reason.
fn rejected(told: &Consultation, all: bool) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for of in &told.rejected {
        let id = of.kind.facts().id;
        match reasons.iter_mut().find(|(reason, _)| *reason == of.reason) {
            Some((_, kinds)) => kinds.push(id),
            None => reasons.push((&of.reason, vec![id])),
        }
    }
    reasons.sort_by_key(|(_, kinds)| std::cmp::Reverse(kinds.len()));
    let mut text = format!("{} kinds do not:\n", told.rejected.len());
    let shown = if all { reasons.len() } else { 6 };
    for (reason, kinds) in reasons.iter().take(shown) {
        text.push_str(&format!("  {reason}: {}\n", kinds.join(", ")));
    }
    if reasons.len() > shown {
        text.push_str(&format!("  and {} more reasons (--all)\n", reasons.len() - shown));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(
            ["30s", "15m", "1h", "7d", "90"].map(|text| parse_time(text).unwrap()),
            [30.0, 900.0, 3_600.0, 604_800.0, 90.0]
        );
        assert!(parse_time("soon").is_err() && parse_time("-1h").is_err());
        assert_eq!((parse_per_day("24/day"), parse_skew("zipf:1.1")), (Ok(24.0), Ok(1.1)));
        assert!(parse_skew("zipf:9").is_err() && parse_per_day("often").is_err());
    }
}
