//! `bouquet classify`: which sets hold keys.

use clap::Args;

use super::ask::Ask;
use crate::failure::Outcome;

/// Print each key of files or of standard input, a TAB, and the numbers of the sets that may hold it
///
/// The numbers are ascending, with commas between them. A key that no set holds is printed alone, without a TAB. Exit
/// code 1 when no key is in any set.
#[derive(Args)]
pub struct Classify {
    #[command(flatten)]
    ask: Ask,
}

impl Classify {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let filter = self.ask.open()?;
        let sets = filter.classify().map_err(self.ask.about())?;
        self.ask.run(&filter, |key, text| {
            let sets = sets.classify(key);
            let numbers: Vec<_> = sets.iter().map(u64::to_string).collect();
            text.extend_from_slice(numbers.join(",").as_bytes());
            (!sets.is_empty()).then_some(true)
        })
    }
}
