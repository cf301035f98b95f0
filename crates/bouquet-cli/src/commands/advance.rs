//! `bouquet advance`: the passing of time.

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Found, Outcome};
use crate::filters::Opening;
use crate::output::{Coding, save};

/// Let time pass in a filter that forgets, in place
#[derive(Args)]
pub struct Advance {
    /// The filter to change
    filter: PathBuf,

    /// How many ticks of its clock
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    ticks: u64,

    #[command(flatten)]
    opening: Opening,
}

impl Advance {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let mut filter = self.opening.open_to_change(&self.filter)?;
        filter.advance()?.advance(self.ticks);
        save(&filter, &self.filter, Coding::Usual)?;
        Ok(Found::Something)
    }
}
