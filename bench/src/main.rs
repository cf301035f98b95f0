//! bouquet beside its peers, in one process.
//!
//! ```text
//! cargo run --release -p bench -- [--quick] [--n 1e5,1e6,..] [--fpr 0.01,..] [--keys u64,str24,counted] [--only NAME,..]
//!                                 [--rounds N] [--out DIR]
//! cargo run --release -p bench -- stores [--n 1e6] [--rounds N] [--out DIR]
//! cargo run --release -p bench -- chains [--n 1e5] [--rounds N]
//! cargo run --release -p bench -- kv [--n 1e6] [--rounds N] [--out DIR]
//! cargo run --release -p bench -- plot RECORD.. [--only NAME,..] [--out DIR]
//! cargo run --release -p bench -- report
//! ```
//!
//! Every contender takes every step of every round, in an order that rotates, with the floor among them: one hash of the key and one
//! random cache line, which is what any filter must pay. The table shows medians, the record also the least and the
//! largest value. `stores` measures the packed stores alone, beside plain vectors; `chains` what slices and
//! threads are worth to chains of filters. To add a peer, see [`contender::Contender`].

mod built_once;
mod chains;
mod contender;
mod floor;
mod keys;
mod kv;
mod machine;
mod measure;
mod ours;
mod peers;
mod plot;
mod record;
mod report;
mod run;
mod stores;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use run::Options;

const USAGE: &str = "\
usage: bench [--quick] [--n 1e5,1e6,..] [--fpr 0.01,..] [--keys u64,str24,counted] [--only NAME,..] [--rounds N] [--out DIR]
       bench stores [--n 1e6] [--rounds N] [--out DIR]
       bench chains [--n 1e5] [--rounds N]
       bench kv [--n 1e6] [--rounds N] [--out DIR]            key-value stores on files
       bench plot RECORD.. [--only NAME,..] [--out DIR]
       bench report                    makes the tables of docs/performance.md anew from the records that they name

  --quick    10^5 and 10^6 keys at 1 % and few rounds, in two minutes; leaves no record unless --out says where
  --n        numbers of keys; the filters of all contenders are in memory at once
  --fpr      rates that are asked for
  --keys     sorts of keys: random numbers, random strings of 24 bytes, numbers counted from 0
  --only     contenders whose name contains one of these; the floor always runs
  --rounds   rounds, at least 5 for a record
  --out      where the record goes (bench/record), or the plots (docs)";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
enum Command {
    Help,
    Run { options: Options, out: Option<PathBuf> },
    Stores { options: Options, out: Option<PathBuf> },
    Chains { options: Options },
    Kv { options: Options, out: Option<PathBuf> },
    Plot { records: Vec<PathBuf>, only: Vec<String>, out: PathBuf },
    Report,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match parse(&arguments).and_then(execute) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn execute(command: Command) -> Result<(), String> {
    match command {
        Command::Help => println!("{USAGE}"),
        Command::Run { options, out } => {
            let names: Vec<String> = run::contenders::<u64>().into_iter().map(|entry| entry.name).collect();
            let machine = machine::describe(&names);
            println!("{machine}\ntimes in ns per key, x: ratio to the floor, b: batch forms, 2T: two threads\n");
            let rows = run::run(&options, |rows| println!("{}", record::table(rows)))?;
            if let Some(directory) = out {
                let text = record::to_csv(&format!("{machine}rounds: {}", options.rounds), &rows);
                let path = record::save(&directory, &machine::slug(), &text);
                println!("{}", path.map_err(|error| format!("{}: {error}", directory.display()))?.display());
            }
        }
        Command::Stores { options, out } => {
            let told = "times in ns per operation, x: ratio to a vector of whole integers";
            alone("stores", told, &options, out, |n, rounds| stores::run(n as usize, rounds), stores::table)?;
        }
        Command::Kv { options, out } => {
            let told = "keys of 100 bytes, values of 8; reads and bytes per lookup are those of the process";
            alone("kv", told, &options, out, kv::run, kv::table)?;
        }
        Command::Chains { options } => {
            println!("{}", machine::describe(&[]));
            for queries in options.sizes {
                println!("{}", chains::table(&chains::run(queries as usize, options.rounds)?));
            }
        }
        Command::Plot { records, only, out } => {
            let mut rows = Vec::new();
            for path in records {
                let name = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
                let text = std::fs::read_to_string(&path).map_err(|error| name(&error))?;
                rows.extend(record::from_csv(&text).map_err(|error| name(&error))?);
            }
            for path in plot::all(&rows, &only, &out)? {
                println!("{}", path.display());
            }
        }
        Command::Report => {
            let read = |path: &str| {
                std::fs::read_to_string(repository().join(path)).map_err(|error| format!("{path}: {error}"))
            };
            let page = "docs/performance.md";
            let text = report::rewrite(&read(page)?, read)?;
            std::fs::write(repository().join(page), text).map_err(|error| format!("{page}: {error}"))?;
        }
    }
    Ok(())
}

/// Measures what has no contenders of the usual sort, shows it and keeps the record.
fn alone(
    name: &str,
    told: &str,
    options: &Options,
    out: Option<PathBuf>,
    run: impl Fn(u64, usize) -> Result<Vec<record::Row>, String>,
    table: impl Fn(&[record::Row]) -> String,
) -> Result<(), String> {
    let machine = machine::describe(&[]);
    println!("{machine}\n{told}\n");
    let mut rows = Vec::new();
    for &n in &options.sizes {
        let own = run(n, options.rounds)?;
        println!("{}", table(&own));
        rows.extend(own);
    }
    if let Some(directory) = out {
        let text = record::to_csv(&format!("{machine}rounds: {}", options.rounds), &rows);
        let path = record::save(&directory, &format!("{name}-{}", machine::slug()), &text);
        println!("{}", path.map_err(|error| format!("{}: {error}", directory.display()))?.display());
    }
    Ok(())
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

fn parse(arguments: &[String]) -> Result<Command, String> {
    if arguments == ["report"] {
        return Ok(Command::Report);
    }
    let mut arguments = arguments.iter().map(String::as_str).peekable();
    if arguments.next_if_eq(&"plot").is_some() {
        let (mut records, mut only, mut out) = (Vec::new(), Vec::new(), repository().join("docs"));
        while let Some(argument) = arguments.next() {
            match argument {
                "--out" => out = arguments.next().ok_or("--out needs a directory")?.into(),
                "--only" => {
                    only = arguments.next().ok_or("--only needs names")?.split(',').map(str::to_string).collect();
                }
                option if option.starts_with('-') => return Err(format!("plot has no option {option}\n{USAGE}")),
                record => records.push(record.into()),
            }
        }
        return if records.is_empty() {
            Err("plot needs a record".into())
        } else {
            Ok(Command::Plot { records, only, out })
        };
    }

    let is_stores = arguments.next_if_eq(&"stores").is_some();
    let is_chains = arguments.next_if_eq(&"chains").is_some();
    let is_kv = !is_stores && arguments.next_if_eq(&"kv").is_some();
    let mut rest: Vec<&str> = arguments.collect();
    let quick = rest.contains(&"--quick");
    rest.retain(|argument| *argument != "--quick");
    let (mut options, mut out) =
        if quick { (Options::quick(), None) } else { (Options::default(), Some(repository().join("bench/record"))) };
    let mut arguments = rest.into_iter();
    while let Some(option) = arguments.next() {
        if matches!(option, "--help" | "-h") {
            return Ok(Command::Help);
        }
        if !["--n", "--fpr", "--keys", "--only", "--rounds", "--out"].contains(&option) {
            return Err(format!("there is no option {option}\n{USAGE}"));
        }
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value\n{USAGE}"))?;
        let texts = || value.split(',').map(str::to_string).collect::<Vec<_>>();
        match option {
            "--n" => options.sizes = numbers(value, |n| (1.0..=1e10).contains(&n))?.iter().map(|n| *n as u64).collect(),
            "--fpr" => options.rates = numbers(value, |fpr| fpr > 0.0 && fpr < 1.0)?,
            "--rounds" => options.rounds = numbers(value, |rounds| (1.0..=1e6).contains(&rounds))?[0] as usize,
            "--keys" => options.keys = texts(),
            "--only" => options.only = texts(),
            _ => out = Some(value.into()),
        }
    }
    Ok(match (is_stores, is_kv, is_chains) {
        (true, ..) => Command::Stores { options, out },
        (_, true, _) => Command::Kv { options, out },
        (.., true) => Command::Chains { options },
        _ => Command::Run { options, out },
    })
}

/// Numbers separated by commas; `1e6` is one.
fn numbers(list: &str, good: impl Fn(f64) -> bool) -> Result<Vec<f64>, String> {
    let number = |text: &str| text.parse().ok().filter(|number| good(*number)).ok_or(format!("{text} cannot be used"));
    list.split(',').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_change_what_they_name_and_nothing_else() {
        let Ok(Command::Run { options, out }) = parsed("--n 1e3,2000 --quick --only a,b") else { panic!() };
        let expected = Options { sizes: vec![1000, 2000], only: vec!["a".into(), "b".into()], ..Options::quick() };
        assert_eq!((options, out), (expected, None));
        let Ok(Command::Stores { options, out }) = parsed("stores --quick --n 1e3") else { panic!() };
        assert_eq!((options, out), (Options { sizes: vec![1000], ..Options::quick() }, None));
        assert!(matches!(parsed("chains --n 1e3"), Ok(Command::Chains { options }) if options.sizes == [1000]));
        assert!(matches!(parsed(""), Ok(Command::Run { options, out: Some(_) }) if options == Options::default()));
    }

    #[test]
    fn bad_arguments_are_refused() {
        for line in ["--n", "--n 0", "--n x", "--fpr 1", "--fpr nan", "--rounds 0", "--loud", "plot", "plot --n 3"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
