//! The commands, one file each.

mod dedup;

use bouquet_tool::failure::Outcome;
use clap::Subcommand;

/// What the program can be told to do.
#[derive(Subcommand)]
pub enum Command {
    Dedup(dedup::Dedup),
}

impl Command {
    /// Does it.
    pub fn run(self) -> Outcome {
        match self {
            Command::Dedup(command) => command.run(),
        }
    }
}
