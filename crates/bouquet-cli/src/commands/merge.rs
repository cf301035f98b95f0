//! `bouquet merge`: the union of filters.

use bouquet::AnyFilter;
use clap::Args;

use super::combine::Combine;
use crate::failure::Outcome;

/// Write the union of filters: it contains every key that one of them contains
#[derive(Args)]
pub struct Merge {
    #[command(flatten)]
    combine: Combine,
}

impl Merge {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        self.combine.run(AnyFilter::merge)
    }
}
