//! `bouquet lab`: the experiments.

use std::path::PathBuf;

use bouquet_lab::{Experiment, Lab as Conditions, Report, Verdict, experiments, find, gallery};
use clap::{Args, Subcommand};

use crate::failure::{Failure, Found, Outcome};
use crate::output::print;
use crate::progress::Steps;

/// Reproduce the figures, tables and numbers of the papers
#[derive(Args)]
pub struct Lab {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Print every experiment: its name, its place in a paper, what it shows
    List,
    /// Run some experiments and print what became of the papers' claims
    Run {
        /// The experiments, as `lab list` names them
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

impl Lab {
    /// Runs the command. Nothing is found (exit code 1) when a claim differs.
    pub fn run(self) -> Outcome {
        match self.what {
            What::List => {
                let width = experiments().iter().map(|experiment| experiment.id.len()).max().unwrap_or(0);
                let line = |e: &Experiment| {
                    format!("{:width$}  {} {}, {}: {}\n", e.id, e.paper.authors, e.paper.year, e.place, e.title)
                };
                print(&experiments().iter().map(line).collect::<String>())?;
                Ok(Found::Something)
            }
            What::Run { ids, how } => {
                let chosen = ids.iter().map(|id| find(id)).collect::<Result<Vec<_>, _>>()?;
                how.run(&chosen).map(|results| verdict(&results))
            }
            What::All { how } => {
                let results = how.run(&experiments().iter().collect::<Vec<_>>())?;
                if let Some(folder) = &how.out {
                    gallery::write_all(&results, folder)?;
                }
                Ok(verdict(&results))
            }
        }
    }
}

impl How {
    fn run(&self, chosen: &[&'static Experiment]) -> Result<gallery::Results, Failure> {
        let conditions = Conditions { quick: self.quick, seed: self.seed };
        let mut steps = Steps::new(chosen.len());
        let mut results = gallery::Results::new();
        for experiment in chosen {
            steps.begin(experiment.id);
            let report = experiment.run(&conditions)?;
            if let Some(folder) = &self.out {
                report.write(experiment, folder)?;
            }
            steps.suspend(|| print(&text(experiment, &report)))?;
            results.push((experiment, report));
        }
        Ok(results)
    }
}

fn text(experiment: &Experiment, report: &Report) -> String {
    let Experiment { id, place, title, paper, .. } = experiment;
    format!("{id}: {} {}, {place}: {title}\n{}{}\n\n", paper.authors, paper.year, report.console(), report.summary())
}

fn verdict(results: &gallery::Results) -> Found {
    Found::when(results.iter().all(|(_, report)| report.count(Verdict::Differs) == 0))
}
