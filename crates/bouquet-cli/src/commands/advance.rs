//! `bouquet advance`: the passing of time.

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Found, Outcome, about};
use crate::filters::Opening;
use crate::output::{Coding, Destination, Waiting};

/// Let time pass in a filter that forgets, in place
#[derive(Args)]
pub struct Advance {
    /// The filter to change
    filter: PathBuf,

    /// How many ticks of its clock
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    ticks: u64,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

impl Advance {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let destination = Destination::to_change(&self.filter, &self.opening.inputs(), self.waiting)?;
        let mut filter = self.opening.open(&self.filter)?;
        filter.advance().map_err(about(&self.filter))?.advance(self.ticks);
        destination.save(&filter, Coding::Usual)?;
        Ok(Found::Something)
    }
}
