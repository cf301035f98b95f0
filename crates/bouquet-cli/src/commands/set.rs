//! `bouquet set`: other values for members.

use clap::Args;

use super::change::Change;
use crate::failure::Outcome;

/// Give members of a filter other values, in place: each line is a key, a TAB and the new value
///
/// Keys that are certainly no members are left out, and their number is told. Exit code 1 when no value was set. On any other
/// error nothing is changed. Set only members: a key that merely seems to be one takes another key's value.
#[derive(Args)]
pub struct Set {
    #[command(flatten)]
    change: Change,
}

impl Set {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        self.change.run("setting", "given another value", |filter| {
            let verb = filter.set()?;
            Ok(Box::new(|item| verb.set(item)))
        })
    }
}
