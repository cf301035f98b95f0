//! `bouquet query`: which keys are in a filter.

use std::path::PathBuf;

use clap::Args;

use super::ask::refuse_stdin_twice;
use crate::failure::{Found, Outcome, about};
use crate::filters::Opening;
use crate::keys::Input;
use crate::output::{Output, number, print};
use crate::pace::{Every, catch_up};

/// Print the keys of files or of standard input that may be in a filter
///
/// Keys that are printed may be in the filter, keys that are not certainly are not (unless the kind has false
/// negatives: see `bouquet explain`). Lines are printed as they were given. Exit code 0 when a key was selected, 1 when
/// none was.
///
/// A positive answer may be worth little: where one key of a million is a member, a filter with a rate of 0.001 is wrong 999 times of a
/// thousand when it says yes. --prior tells what each answer is worth, by the filter's present rate.
#[derive(Args)]
pub struct Query {
    /// The filter to ask; `-` is standard input
    filter: PathBuf,

    #[command(flatten)]
    input: Input,

    /// Select the absent keys instead
    #[arg(short = 'v', long = "absent")]
    absent: bool,

    /// Print only the number of selected keys
    #[arg(short, long)]
    count: bool,

    /// Print nothing and stop at the first selected key
    #[arg(short, long)]
    quiet: bool,

    /// Print behind each selected key, after a TAB, the probability that it is a member, if it was P before the filter was asked; `own`
    /// for the filter's own model, which `selective` has
    #[arg(long, value_name = "P", value_parser = parse_prior, conflicts_with_all = ["count", "quiet"])]
    prior: Option<Prior>,

    /// Leave the filter in its file instead of reading it: for few keys and a large filter. Its checksum is not
    /// computed; `bouquet verify` does that
    #[arg(long)]
    mapped: bool,

    #[command(flatten)]
    every: Every,

    #[command(flatten)]
    opening: Opening,
}

/// The probability that a key is a member before the filter is asked.
#[derive(Clone, Copy)]
enum Prior {
    /// That of the filter's own model.
    Own,
    Given(f64),
}

fn parse_prior(text: &str) -> Result<Prior, String> {
    let given = || text.parse().ok().filter(|prior| (0.0..=1.0).contains(prior)).map(Prior::Given);
    if text == "own" { Ok(Prior::Own) } else { given().ok_or_else(|| "a prior is from 0 to 1, or `own`".into()) }
}

impl Query {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        refuse_stdin_twice(&self.filter, &self.input)?;
        let open = if self.mapped { Opening::open_mapped } else { Opening::open_warily };
        let mut filter = open(&self.opening, &self.filter)?;
        let note = filter.note();
        filter.contains().map_err(about(&self.filter))?;
        if self.prior.is_some() {
            filter.weigh().map_err(about(&self.filter))?;
        }
        self.every.begin(&mut filter, &self.filter)?;

        let mut out = Output::stdout();
        let end = [self.input.delimiter()];
        let mut answers = Vec::new();
        let mut selected = 0u64;
        let mut reader = self.input.read_to_answer()?;
        while let Some(batch) = reader.next_batch()? {
            answers.resize(batch.len(), false);
            catch_up(&mut filter, &self.filter)?;
            let keys = batch.keys(note);
            filter.contains()?.contains_batch(&keys, &mut answers);
            let records = batch.records().zip(&keys).zip(&answers);
            let chosen = records.filter(|(_, present)| **present != self.absent).map(|(record, _)| record);
            if self.quiet {
                if chosen.count() > 0 {
                    return Ok(Found::Something);
                }
                continue;
            }
            if let Some(prior) = self.prior {
                let (records, keys): (Vec<_>, Vec<_>) = chosen.map(|(record, key)| (record, *key)).unzip();
                let prior = if let Prior::Given(prior) = prior { Some(prior) } else { None };
                let probabilities = filter.weigh()?.probabilities(&keys, prior).map_err(about(&self.filter))?;
                selected += records.len() as u64;
                for (record, probability) in records.into_iter().zip(probabilities) {
                    out.write(&[record, b"\t", number(probability).as_bytes(), &end])?;
                }
            } else {
                for (record, _) in chosen {
                    selected += 1;
                    if !self.count {
                        out.write(&[record, &end])?;
                    }
                }
            }
            out.flush()?;
        }
        drop((out, reader));
        if self.count && !self.quiet {
            print(&format!("{selected}\n"))?;
        }
        Ok(Found::when(selected > 0))
    }
}
