//! `bouquet subtract`: what is left of a filter.

use bouquet::AnyFilter;
use clap::Args;

use super::combine::Combine;
use crate::failure::Outcome;

/// Write what is left of a filter when everything that others hold is taken away
///
/// What both hold cancels; what only the others hold is owed: it has a negative count. `bouquet difference` prints what two
/// filters do not share.
#[derive(Args)]
pub struct Subtract {
    #[command(flatten)]
    combine: Combine,
}

impl Subtract {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        self.combine.run(AnyFilter::subtract)
    }
}
