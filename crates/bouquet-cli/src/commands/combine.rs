//! What `merge` and `intersect` share.

use std::path::PathBuf;

use bouquet::AnyFilter;
use clap::Args;

use crate::failure::{Failure, Found, Outcome};
use crate::filters::Opening;
use crate::output::{Coding, save};

/// Filters to combine, and where the result goes.
#[derive(Args)]
pub struct Combine {
    /// The filters, two or more, of equal kind, shape and hashing
    #[arg(required = true, num_args = 2.., value_name = "FILTER")]
    filters: Vec<PathBuf>,

    /// The file to write; it may be one of the filters; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    #[command(flatten)]
    opening: Opening,
}

impl Combine {
    /// Combines the first filter with each of the others in turn.
    pub fn run(self, combine: impl Fn(&mut AnyFilter, &AnyFilter) -> bouquet::Result<()>) -> Outcome {
        let Some((first, others)) = self.filters.split_first() else { return Ok(Found::Nothing) };
        let mut result = self.opening.open(first)?;
        for other in others {
            let filter = self.opening.open(other)?;
            combine(&mut result, &filter)
                .map_err(|error| Failure::new(format!("{} and {}: {error}", first.display(), other.display())))?;
        }
        save(&result, &self.output, Coding::Usual)?;
        Ok(Found::Something)
    }
}
