//! `bouquet count`: how often keys are in a filter.

use std::io::Write;

use bouquet::capability::Multiplicity;
use clap::Args;

use super::ask::Ask;
use crate::failure::Outcome;

/// Print each key of files or of standard input, a TAB, and how often it was inserted
///
/// A number followed by `+` is where a counter has reached its end: the true one may be larger. Zero is certain unless
/// the kind has false negatives. Exit code 1 when no key is in the filter.
#[derive(Args)]
pub struct Count {
    #[command(flatten)]
    ask: Ask,
}

impl Count {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let filter = self.ask.open()?;
        let counts = filter.count().map_err(self.ask.about())?;
        self.ask.run(&filter, |key, text| {
            let answer = counts.count(key);
            write_count(&answer, text);
            Some(answer.count > 0)
        })
    }
}

/// A number of occurrences: `+` behind it where a counter has reached its end.
pub fn write_count(answer: &Multiplicity, text: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = write!(text, "{}{}", answer.count, if answer.at_least { "+" } else { "" });
}
