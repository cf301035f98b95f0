//! `bouquet delta`: what turns one filter into another.

use std::path::PathBuf;

use clap::Args;

use super::ask::refuse_stdin_for_both;
use crate::failure::{Found, Outcome, about_both};
use crate::filters::Opening;
use crate::output::{Destination, Waiting};

/// Write what turns one filter into another, for those who hold the first
///
/// The patch holds the bits in which the two differ, arithmetic-coded: after a small change it is far smaller than the filter.
/// `bouquet patch` applies it. It knows both filters by their checksums and serves no other. Kind and hashing must be equal; a
/// keyed filter needs no secret for this.
#[derive(Args)]
pub struct Delta {
    /// The filter that the receiver has; `-` is standard input
    old: PathBuf,

    /// The filter that the receiver is to have; `-` is standard input
    new: PathBuf,

    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "PATCH")]
    output: PathBuf,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

impl Delta {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        refuse_stdin_for_both(&self.old, &self.new)?;
        let inputs = [vec![self.old.as_path(), self.new.as_path()], self.opening.inputs()].concat();
        let destination = Destination::new(&self.output, &[], &inputs, self.waiting)?;
        let (old, new) = (self.opening.look_at(&self.old)?, self.opening.look_at(&self.new)?);
        let patch = old.delta(&new).map_err(about_both(&self.old, &self.new))?;
        destination.save_bytes(&patch)?;
        Ok(Found::Something)
    }
}
