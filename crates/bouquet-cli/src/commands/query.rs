//! `bouquet query`: which keys are in a filter.

use std::path::PathBuf;

use clap::Args;

use super::ask::refuse_stdin_twice;
use crate::failure::{Found, Outcome, about};
use crate::filters::Opening;
use crate::keys::Input;
use crate::output::{Output, print};

/// Print the keys of files or of standard input that may be in a filter
///
/// Keys that are printed may be in the filter, keys that are not certainly are not (unless the kind has false
/// negatives: see `bouquet explain`). Lines are printed as they were given. Exit code 0 when a key was selected, 1 when
/// none was.
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

    /// Leave the filter in its file instead of reading it: for few keys and a large filter. Its checksum is not
    /// computed; `bouquet verify` does that
    #[arg(long)]
    mapped: bool,

    #[command(flatten)]
    opening: Opening,
}

impl Query {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        refuse_stdin_twice(&self.filter, &self.input)?;
        let open = if self.mapped { Opening::open_mapped } else { Opening::open_warily };
        let filter = open(&self.opening, &self.filter)?;
        let note = filter.note();
        let contains = filter.contains().map_err(about(&self.filter))?;

        let mut out = Output::stdout();
        let end = [self.input.delimiter()];
        let mut answers = Vec::new();
        let mut selected = 0u64;
        let mut reader = self.input.read_to_answer()?;
        while let Some(batch) = reader.next_batch()? {
            answers.resize(batch.len(), false);
            contains.contains_batch(&batch.keys(note), &mut answers);
            let chosen = batch.records().zip(&answers).filter(|(_, present)| **present != self.absent);
            if self.quiet {
                if chosen.count() > 0 {
                    return Ok(Found::Something);
                }
                continue;
            }
            for (record, _) in chosen {
                selected += 1;
                if !self.count {
                    out.write(&[record, &end])?;
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
