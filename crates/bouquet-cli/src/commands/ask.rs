//! What the commands share that answer every key with one line.

use std::path::{Path, PathBuf};

use bouquet::{AnyFilter, Error};
use clap::Args;

use crate::failure::{Failure, Found, Outcome, about};
use crate::filters::Opening;
use crate::keys::{Input, is_stdin};
use crate::output::Output;

/// A filter and the keys that it is asked for.
#[derive(Args)]
pub struct Ask {
    /// The filter to ask; `-` is standard input
    filter: PathBuf,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    opening: Opening,
}

impl Ask {
    /// Opens the filter.
    pub fn open(&self) -> Result<AnyFilter, Failure> {
        refuse_stdin_twice(&self.filter, &self.input)?;
        self.opening.open(&self.filter)
    }

    /// The keys.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The file of the filter.
    pub fn filter(&self) -> &Path {
        &self.filter
    }

    /// Puts the file's name before an error.
    pub fn about(&self) -> impl Fn(Error) -> Failure + '_ {
        about(&self.filter)
    }

    /// Prints each key and, behind a TAB, what `answer` writes for it; the key alone when it answers `None`. `answer`
    /// also says whether it found the key.
    pub fn run(&self, filter: &AnyFilter, mut answer: impl FnMut(&[u8], &mut Vec<u8>) -> Option<bool>) -> Outcome {
        let note = filter.note();
        let end = [self.input.delimiter()];
        let mut out = Output::stdout();
        let mut text = Vec::new();
        let mut any = false;
        let mut reader = self.input.read_to_answer()?;
        while let Some(batch) = reader.next_batch()? {
            for key in batch.keys(note) {
                text.clear();
                match answer(key, &mut text) {
                    Some(found) => {
                        any |= found;
                        out.write(&[key, b"\t", &text, &end])?;
                    }
                    None => out.write(&[key, &end])?,
                }
            }
            out.flush()?;
        }
        Ok(Found::when(any))
    }
}

/// Standard input cannot be both the filter and the keys.
pub fn refuse_stdin_twice(filter: &Path, input: &Input) -> Result<(), Failure> {
    if is_stdin(filter) && input.uses_stdin() {
        return Err(Failure::new("standard input cannot be both the filter and the keys; name a file of keys"));
    }
    Ok(())
}

/// Standard input cannot be read twice.
pub fn refuse_stdin_for_both(first: &Path, second: &Path) -> Result<(), Failure> {
    if is_stdin(first) && is_stdin(second) {
        return Err(Failure::new("standard input cannot be both files; name one of them"));
    }
    Ok(())
}
