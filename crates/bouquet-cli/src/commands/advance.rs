//! `bouquet advance`: the passing of time.

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Found, Outcome, about};
use crate::filters::Opening;
use crate::output::{Coding, Destination, Waiting};
use crate::pace::{Every, catch_up};

/// Let time pass in a filter that forgets, in place
///
/// With --every the filter gets a clock: from now on a tick passes every SECONDS seconds, and add, query and `advance --now` let
/// those pass that are due, however long the file was left alone.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("time").required(true).multiple(true).args(["ticks", "now", "every"]))]
pub struct Advance {
    /// The filter to change
    filter: PathBuf,

    /// How many ticks of its clock
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    ticks: Option<u64>,

    /// The ticks that are due by the clock that --every gave it
    #[arg(long)]
    now: bool,

    #[command(flatten)]
    every: Every,

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
        filter.advance().map_err(about(&self.filter))?.advance(self.ticks.unwrap_or(0));
        if self.now {
            catch_up(&mut filter, &self.filter)?;
        }
        if self.every.is_given() {
            self.every.begin(&mut filter, &self.filter)?;
        }
        destination.save(&filter, Coding::Usual)?;
        Ok(Found::Something)
    }
}
