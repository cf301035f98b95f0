//! `bouquet intersect`: the intersection of filters.

use bouquet::AnyFilter;
use clap::Args;

use super::combine::Combine;
use crate::failure::Outcome;

/// Write the intersection of filters: it contains every key that all of them contain
#[derive(Args)]
pub struct Intersect {
    #[command(flatten)]
    combine: Combine,
}

impl Intersect {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        self.combine.run(AnyFilter::intersect)
    }
}
