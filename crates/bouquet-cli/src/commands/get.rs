//! `bouquet get`: the values of keys.

use bouquet::capability::Answer;
use clap::Args;

use super::ask::Ask;
use super::list::write_value;
use crate::failure::{Outcome, say};

/// Print each key of files or of standard input, a TAB, and its value
///
/// A key that is certainly absent is printed alone, without a TAB. A value that the filter cannot tell at present is
/// printed as `?`, and standard error says how many there are. Exit code 1 when no key has a value.
#[derive(Args)]
pub struct Get {
    #[command(flatten)]
    ask: Ask,
}

impl Get {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let filter = self.ask.open()?;
        let values = filter.get().map_err(self.ask.about())?;
        let mut unknown = 0u64;
        let outcome = self.ask.run(&filter, |key, text| match values.get(key) {
            Answer::Value(value) => {
                write_value(&value, text);
                Some(true)
            }
            Answer::Unknown => {
                unknown += 1;
                text.push(b'?');
                Some(false)
            }
            Answer::Absent => None,
        });
        if unknown > 0 && outcome.is_ok() {
            say(&format!("{}: the values of {unknown} keys cannot be told at present", self.ask.filter().display()));
        }
        outcome
    }
}
