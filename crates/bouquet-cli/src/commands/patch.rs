//! `bouquet patch`: a filter brought up to date.

use std::path::PathBuf;

use clap::Args;

use super::ask::refuse_stdin_for_both;
use crate::failure::{Found, Outcome};
use crate::filters::Opening;
use crate::output::{Coding, Destination, Waiting};

/// Write the filter that a patch of `bouquet delta` makes of another
///
/// The patch must have been made for this very filter: one for another filter, or for another state of it, is refused, as is a
/// damaged one, and nothing is written. A keyed filter needs no secret for this.
#[derive(Args)]
pub struct Patch {
    /// The filter that the patch was made for; `-` is standard input
    filter: PathBuf,

    /// The patch; `-` is standard input
    patch: PathBuf,

    /// The file to write; it may be the filter itself; `-` is standard output
    #[arg(short, long, value_name = "NEW")]
    output: PathBuf,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

impl Patch {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        refuse_stdin_for_both(&self.filter, &self.patch)?;
        let inputs = [vec![self.patch.as_path()], self.opening.inputs()].concat();
        let destination = Destination::new(&self.output, &[&self.filter], &inputs, self.waiting)?;
        let filter = self.opening.look_at(&self.filter)?;
        let patched = self.opening.patched(&filter, &self.patch)?;
        destination.save(&patched, Coding::Usual)?;
        Ok(Found::Something)
    }
}
