//! The program `bouquet-lab`, which `bouquet lab` runs: the experiments on the command line.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use bouquet_lab::{Error, Experiment, Lab, Report, Result, Verdict, experiments, find, gallery};
use clap::{Args, Parser, Subcommand};

/// Reproduce the figures, tables and numbers of the papers
///
/// Exit codes: 0 when every claim holds or has its correction, 1 when one differs, 2 on an error.
#[derive(Parser)]
#[command(name = "bouquet-lab", version, arg_required_else_help = true, max_term_width = 120)]
struct Program {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Print every experiment: its name, its place in a paper, what it shows
    List,
    /// Run some experiments and print what became of the papers' claims
    Run {
        /// The experiments, as `bouquet lab list` names them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        how: How,
    },
    /// Run all experiments and write the gallery
    All {
        #[command(flatten)]
        how: How,
    },
}

#[derive(Args)]
struct How {
    /// Fewer rounds: seconds instead of minutes
    #[arg(long)]
    quick: bool,

    /// What everything random follows from: the same seed gives the same files
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Write plots (SVG) and data (CSV) to this folder, and the gallery page when all are run
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    match Program::parse().what.run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // Nobody reads the output any more; what the shell shows of a program that a closed pipe has ended.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(141),
        Err(error) => {
            // Where standard error itself is closed there is nobody left to tell.
            let _ = writeln!(io::stderr(), "bouquet-lab: {error}");
            ExitCode::from(2)
        }
    }
}

impl What {
    /// Does it, and tells whether every claim holds or has its correction.
    fn run(self) -> Result<bool> {
        match self {
            What::List => {
                let width = experiments().iter().map(|experiment| experiment.id.len()).max().unwrap_or(0);
                let line = |e: &Experiment| {
                    format!("{:width$}  {} {}, {}: {}\n", e.id, e.paper.authors, e.paper.year, e.place, e.title)
                };
                print(&experiments().iter().map(line).collect::<String>())?;
                Ok(true)
            }
            What::Run { ids, how } => {
                let chosen = ids.iter().map(|id| find(id)).collect::<Result<Vec<_>>>()?;
                how.run(&chosen).map(|results| all_hold(&results))
            }
            What::All { how } => {
                let results = how.run(&experiments().iter().collect::<Vec<_>>())?;
                if let Some(folder) = &how.out {
                    gallery::write_all(&results, folder)?;
                }
                Ok(all_hold(&results))
            }
        }
    }
}

impl How {
    fn run(&self, chosen: &[&'static Experiment]) -> Result<gallery::Results> {
        let conditions = Lab { quick: self.quick, seed: self.seed };
        let mut results = gallery::Results::new();
        for (at, experiment) in chosen.iter().enumerate() {
            say_step(&format!("{}/{} {} ...", at + 1, chosen.len(), experiment.id));
            let report = experiment.run(&conditions)?;
            if let Some(folder) = &self.out {
                report.write(experiment, folder)?;
            }
            say_step("");
            print(&text(experiment, &report))?;
            results.push((experiment, report));
        }
        Ok(results)
    }
}

/// Shows on a terminal, in a line that the next one replaces, what is being done.
fn say_step(step: &str) {
    if io::stderr().is_terminal() {
        let _ = write!(io::stderr(), "\r\x1b[K{step}");
    }
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::Output)
}

fn text(experiment: &Experiment, report: &Report) -> String {
    let Experiment { id, place, title, paper, .. } = experiment;
    format!("{id}: {} {}, {place}: {title}\n{}{}\n\n", paper.authors, paper.year, report.console(), report.summary())
}

fn all_hold(results: &gallery::Results) -> bool {
    results.iter().all(|(_, report)| report.count(Verdict::Differs) == 0)
}
