//! What `merge` and `intersect` share.

use std::path::PathBuf;

use bouquet::AnyFilter;
use clap::Args;

use crate::failure::{Found, Outcome, about_both};
use crate::filters::Opening;
use crate::output::{Coding, Destination, Waiting};

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
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

impl Combine {
    /// Combines the first filter with each of the others in turn.
    pub fn run(self, combine: impl Fn(&mut AnyFilter, &AnyFilter) -> bouquet::Result<()>) -> Outcome {
        let Some((first, others)) = self.filters.split_first() else { return Ok(Found::Nothing) };
        let filters: Vec<_> = self.filters.iter().map(PathBuf::as_path).collect();
        let destination = Destination::new(&self.output, &filters, &self.opening.inputs(), self.waiting)?;
        let mut result = self.opening.open_warily(first)?;
        for other in others {
            let filter = self.opening.open_warily(other)?;
            combine(&mut result, &filter).map_err(about_both(first, other))?;
        }
        destination.save(&result, Coding::Usual)?;
        Ok(Found::Something)
    }
}
