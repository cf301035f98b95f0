//! `bouquet difference`: what two filters do not share.

use std::path::PathBuf;

use clap::Args;

use super::ask::refuse_stdin_for_both;
use super::list::{Lines, undecoded};
use crate::failure::{Found, Outcome, about_both};
use crate::filters::Opening;
use crate::output::Output;

/// Print the keys that only one of two filters holds: `<` and a TAB before those of the first, `>` before those of the second
///
/// The filters must be of equal kind, shape and hashing, and of a kind that can subtract and list. They may hold any number of
/// keys as long as the difference is small enough for their cells. When not all of it can be decoded, what can be is printed, and
/// the exit code is 2. Exit code 1 when there is none.
#[derive(Args)]
pub struct Difference {
    /// A filter; `-` is standard input
    #[arg(value_name = "A")]
    first: PathBuf,

    /// Another filter; `-` is standard input
    #[arg(value_name = "B")]
    second: PathBuf,

    /// Print the number of occurrences by which the first is ahead instead of `<` and `>`
    #[arg(short, long)]
    counts: bool,

    #[command(flatten)]
    lines: Lines,

    #[command(flatten)]
    opening: Opening,
}

impl Difference {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        refuse_stdin_for_both(&self.first, &self.second)?;
        let (first, second) = (self.opening.open(&self.first)?, self.opening.open(&self.second)?);
        let mut listing = first.difference(&second).map_err(about_both(&self.first, &self.second))?;
        // Peeling finds keys in an order of its own.
        listing.entries.sort_by(|a, b| (a.count < 0, &a.key).cmp(&(b.count < 0, &b.key)));
        let mut out = Output::stdout();
        for entry in &listing.entries {
            let sign = if entry.count < 0 { ">" } else { "<" };
            let mark = if self.counts { entry.count.to_string() } else { sign.into() };
            out.write(&[mark.as_bytes(), b"\t"])?;
            self.lines.write(&mut out, entry)?;
        }
        out.flush()?;
        undecoded(&self.first, &listing)?;
        Ok(Found::when(!listing.entries.is_empty()))
    }
}
