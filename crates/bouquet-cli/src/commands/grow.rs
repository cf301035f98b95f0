//! `bouquet grow`: room for more keys.

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Found, Outcome, about};
use crate::filters::Opening;
use crate::output::{Coding, Destination, Waiting, print};

/// Make room for more keys in a filter that grows, in place, and print how many fit now
///
/// Such a filter grows by itself when it must; growing it beforehand keeps the moment from falling into busy hours.
#[derive(Args)]
pub struct Grow {
    /// The filter to change
    filter: PathBuf,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

impl Grow {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let destination = Destination::to_change(&self.filter, &self.opening.inputs(), self.waiting)?;
        let mut filter = self.opening.open(&self.filter)?;
        let grow = filter.grow().map_err(about(&self.filter))?;
        grow.grow().map_err(about(&self.filter))?;
        let capacity = grow.capacity();
        destination.save(&filter, Coding::Usual)?;
        print(&format!("{capacity}\n"))?;
        Ok(Found::Something)
    }
}
