//! `bouquet decode`: how often keys came, once all of them are known.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;

use super::ask::refuse_stdin_twice;
use crate::failure::{Failure, Found, Outcome, about};
use crate::filters::Opening;
use crate::keys::Input;
use crate::output::Output;

/// Print each key of files or of standard input, a TAB, and how often it was inserted, for kinds that must know all keys first
///
/// The keys must be all that were inserted; others among them do no harm, and one that is named twice is printed once. Where the
/// count is not certain, its least and its largest value are printed, as in `3-17`. When the keys cannot be all of them, nothing
/// is printed and the exit code is 2. Exit code 1 when no key was inserted.
#[derive(Args)]
pub struct Decode {
    /// The filter; `-` is standard input
    filter: PathBuf,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    opening: Opening,
}

impl Decode {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        refuse_stdin_twice(&self.filter, &self.input)?;
        let filter = self.opening.open(&self.filter)?;
        let decode = filter.decode().map_err(about(&self.filter))?;
        let note = filter.note();
        let (mut keys, mut seen) = (Vec::new(), HashSet::new());
        let mut reader = self.input.read("reading");
        while let Some(batch) = reader.next_batch()? {
            for key in batch.keys(note) {
                if seen.insert(key.to_vec()) {
                    keys.push(key.to_vec());
                }
            }
        }
        let refs: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let decoding = decode.decode(&refs).map_err(about(&self.filter))?;
        if !decoding.consistent {
            let path = self.filter.display();
            return Err(Failure::new(format!(
                "{path}: these keys are not all that were inserted: no counts of theirs add up to what is stored; \
                 name the files of all keys"
            )));
        }
        let (mut out, end) = (Output::stdout(), [self.input.delimiter()]);
        for (key, bounds) in refs.iter().zip(&decoding.counts) {
            let (lower, upper) = (bounds.start(), bounds.end());
            let count = if lower == upper { lower.to_string() } else { format!("{lower}-{upper}") };
            out.write(&[key, b"\t", count.as_bytes(), &end])?;
        }
        out.flush()?;
        Ok(Found::when(decoding.counts.iter().any(|bounds| *bounds.end() > 0)))
    }
}
