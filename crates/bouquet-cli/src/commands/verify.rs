//! `bouquet verify`: whether filters are whole.

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Failure, Found, Outcome, say};
use crate::filters::{Opening, read};
use crate::output::{plain, print};

/// Check every byte of filters against their checksums, and print the names of those that are whole
///
/// Exit code 2 when one is not. A keyed filter needs no secret for this; with it, its authentication code is checked too,
/// which finds forgery as well as damage.
#[derive(Args)]
pub struct Verify {
    /// The filters; `-` is standard input
    #[arg(required = true, value_name = "FILTER")]
    filters: Vec<PathBuf>,

    #[command(flatten)]
    opening: Opening,
}

impl Verify {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let mut last = None;
        for path in &self.filters {
            match read(path).and_then(|frame| self.opening.look(path, &frame)) {
                Ok(_) => print(&format!("{}: whole\n", plain(&path.display().to_string())))?,
                Err(failure) => {
                    if let Some(Failure::Message(message)) = last.replace(failure) {
                        say(&message);
                    }
                }
            }
        }
        last.map_or(Ok(Found::Something), Err)
    }
}
