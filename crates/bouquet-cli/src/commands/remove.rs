//! `bouquet remove`: keys out of a filter.

use clap::Args;

use super::change::Change;
use crate::failure::Outcome;

/// Remove the keys of files or of standard input from a filter, in place
///
/// Keys that are certainly not in the filter are left out, and so are those that a kind cannot remove because it does not know
/// which bits are theirs; the number of both is told. Exit code 1 when none was removed. On any other error nothing is changed.
/// Remove only what was inserted: an absent key that seems present cannot be told from a present one, and removing it may make
/// other keys vanish.
#[derive(Args)]
pub struct Remove {
    #[command(flatten)]
    change: Change,
}

impl Remove {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        self.change.run("removing", "removed from it", |filter| {
            let verb = filter.remove()?;
            Ok(Box::new(|item| verb.remove(item)))
        })
    }
}
