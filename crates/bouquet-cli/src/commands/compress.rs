//! `bouquet compress`: a filter for transmission.

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Found, Outcome, about};
use crate::filters::Opening;
use crate::output::{Coding, Destination, Waiting};

/// Write a filter with its bits arithmetic-coded, close to their entropy, for transmission
///
/// Every command reads such a file as any other, only not mapped. Changing a filter in place writes it in the usual
/// form of its kind again.
#[derive(Args)]
pub struct Compress {
    /// The filter; `-` is standard input
    filter: PathBuf,

    /// The file to write; it may be the filter itself; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

impl Compress {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let destination = Destination::new(&self.output, &[&self.filter], &self.opening.inputs(), self.waiting)?;
        let filter = self.opening.open(&self.filter)?;
        filter.compress().map_err(about(&self.filter))?;
        destination.save(&filter, Coding::Compressed)?;
        Ok(Found::Something)
    }
}
