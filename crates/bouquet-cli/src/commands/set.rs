//! `bouquet set`: other values for members.

use std::path::PathBuf;

use bouquet::Error;
use clap::Args;

use crate::failure::{Found, Outcome, about, say};
use crate::filters::Opening;
use crate::keys::Input;
use crate::output::{Coding, Destination, Waiting};

/// Give members of a filter other values, in place: each line is a key, a TAB and the new value
///
/// Keys that are certainly no members are left out, and their number is told. Exit code 1 when no value was set. On any other
/// error nothing is changed. Set only members: a key that merely seems to be one takes another key's value.
#[derive(Args)]
pub struct Set {
    /// The filter to change
    filter: PathBuf,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

impl Set {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let inputs = [self.input.sources(), self.opening.inputs()].concat();
        let destination = Destination::to_change(&self.filter, &inputs, self.waiting)?;
        let mut filter = self.opening.open(&self.filter)?;
        let note = filter.note();
        let values = filter.set().map_err(about(&self.filter))?;
        let (mut set, mut missing) = (0u64, 0u64);
        let mut reader = self.input.read("setting");
        while let Some(batch) = reader.next_batch()? {
            for (index, item) in batch.items(note)?.into_iter().enumerate() {
                match values.set(item) {
                    Ok(()) => set += 1,
                    Err(Error::NotPresent) => missing += 1,
                    Err(error) => return Err(batch.refuse(index, error)),
                }
            }
        }
        drop(reader);
        if set > 0 {
            destination.save(&filter, Coding::Usual)?;
        }
        if missing > 0 {
            say(&format!("{}: {missing} of {} keys were not in the filter", self.filter.display(), set + missing));
        }
        Ok(Found::when(set > 0))
    }
}
