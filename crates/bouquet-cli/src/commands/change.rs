//! What the commands share that change a filter key by key and go on past keys that they cannot change.

use std::path::PathBuf;

use bouquet::capability::Item;
use bouquet::{AnyFilter, Error};
use clap::Args;

use crate::failure::{Found, Outcome, about, say};
use crate::filters::Opening;
use crate::keys::Input;
use crate::output::{Coding, Destination, Waiting};

/// A filter and the keys for which it is changed.
#[derive(Args)]
pub struct Change {
    /// The filter to change
    filter: PathBuf,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

/// Changes a filter for one item.
pub type One<'a> = Box<dyn FnMut(Item<'_>) -> bouquet::Result<()> + 'a>;

impl Change {
    /// Does what `verb` gives for every item and saves the filter. Keys that are not in it are counted and told, and so are
    /// those of which it cannot tell; those `cannot`, as the words say.
    pub fn run(
        &self,
        label: &'static str,
        cannot: &str,
        verb: impl FnOnce(&mut AnyFilter) -> bouquet::Result<One<'_>>,
    ) -> Outcome {
        let inputs = [self.input.sources(), self.opening.inputs()].concat();
        let destination = Destination::to_change(&self.filter, &inputs, self.waiting)?;
        let mut filter = self.opening.open(&self.filter)?;
        let note = filter.note();
        let (mut done, mut missing, mut stuck) = (0u64, 0u64, 0u64);
        {
            let mut change = verb(&mut filter).map_err(about(&self.filter))?;
            let mut reader = self.input.read(label);
            while let Some(batch) = reader.next_batch()? {
                for (index, item) in batch.items(note)?.into_iter().enumerate() {
                    match change(item) {
                        Ok(()) => done += 1,
                        Err(Error::NotPresent) => missing += 1,
                        Err(Error::Ambiguous { .. }) => stuck += 1,
                        Err(error) => return Err(batch.refuse(index, error)),
                    }
                }
            }
        }
        // A kind may count what it had to refuse.
        if done + stuck > 0 {
            destination.save(&filter, Coding::Usual)?;
        }
        let (path, all) = (self.filter.display(), done + missing + stuck);
        if missing > 0 {
            say(&format!("{path}: {missing} of {all} keys were not in the filter"));
        }
        if stuck > 0 {
            say(&format!("{path}: {stuck} of {all} keys are in the filter and cannot be {cannot}"));
        }
        Ok(Found::when(done > 0))
    }
}
