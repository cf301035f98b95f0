//! `bouquet remove`: keys out of a filter.

use std::path::PathBuf;

use bouquet::Error;
use clap::Args;

use crate::failure::{Found, Outcome, about, say};
use crate::filters::Opening;
use crate::keys::Input;
use crate::output::{Coding, Destination, Waiting};

/// Remove the keys of files or of standard input from a filter, in place
///
/// Keys that are certainly not in the filter are left out, and so are those that a kind cannot remove because it does not know
/// which bits are theirs; the number of both is told. Exit code 1 when none was removed. On any other error nothing is changed. Remove only what was inserted: an absent key that seems present
/// cannot be told from a present one, and removing it may make other keys vanish.
#[derive(Args)]
pub struct Remove {
    /// The filter to change
    filter: PathBuf,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

impl Remove {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let inputs = [self.input.sources(), self.opening.inputs()].concat();
        let destination = Destination::to_change(&self.filter, &inputs, self.waiting)?;
        let mut filter = self.opening.open(&self.filter)?;
        let note = filter.note();
        let remove = filter.remove().map_err(about(&self.filter))?;
        let (mut removed, mut missing, mut stuck) = (0u64, 0u64, 0u64);
        let mut reader = self.input.read("removing");
        while let Some(batch) = reader.next_batch()? {
            for (index, item) in batch.items(note)?.into_iter().enumerate() {
                match remove.remove(item) {
                    Ok(()) => removed += 1,
                    Err(Error::NotPresent) => missing += 1,
                    Err(Error::Ambiguous { .. }) => stuck += 1,
                    Err(error) => return Err(batch.refuse(index, error)),
                }
            }
        }
        drop(reader);
        // A kind may count what it had to refuse.
        if removed + stuck > 0 {
            destination.save(&filter, Coding::Usual)?;
        }
        let path = self.filter.display();
        let all = removed + missing + stuck;
        if missing > 0 {
            say(&format!("{path}: {missing} of {all} keys were not in the filter"));
        }
        if stuck > 0 {
            say(&format!("{path}: {stuck} of {all} keys are in the filter and cannot be removed from it"));
        }
        Ok(Found::when(removed > 0))
    }
}
