//! `bouquet convert`: filters of other programs.

use std::path::PathBuf;

use bouquet::ForeignFormat;
use clap::{ArgGroup, Args};

use crate::failure::{Found, Outcome, about};
use crate::filters::{Opening, read, read_secret};
use crate::output::{Coding, Destination, Waiting};

/// Turn a filter of another program into one of ours, or the reverse
///
/// With --from the input is in the format of the other program and a filter is written, which every command reads; with --to the
/// input is a filter and the other program's file is written.
#[derive(Args)]
#[command(group = ArgGroup::new("direction").required(true), after_help = formats())]
pub struct Convert {
    /// The file to read; `-` is standard input
    input: PathBuf,

    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// The input is in this format
    #[arg(long, value_name = "FORMAT", group = "direction")]
    from: Option<String>,

    /// Write this format
    #[arg(long, value_name = "FORMAT", group = "direction")]
    to: Option<String>,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

fn formats() -> String {
    let widest = ForeignFormat::all().iter().map(|format| format.name.len()).max().unwrap_or(0);
    let rows = ForeignFormat::all().iter().map(|format| format!("  {:widest$}  {}", format.name, format.help));
    ["Formats:".to_owned()].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

impl Convert {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let format = ForeignFormat::find(self.from.as_deref().or(self.to.as_deref()).unwrap_or_default())?;
        let destination = Destination::new(&self.output, &[], &[&self.input], self.waiting)?;
        if self.from.is_some() {
            let bytes = read(&self.input)?;
            let filter = match &self.opening.secret {
                Some(secret) => format.read_keyed(&bytes, read_secret(secret)?),
                None => format.read(&bytes),
            };
            let filter = filter.map_err(about(&self.input))?;
            destination.save(&filter, Coding::Usual)?;
        } else {
            let filter = self.opening.open(&self.input)?;
            destination.save_bytes(&format.write(&filter).map_err(about(&self.input))?)?;
        }
        Ok(Found::Something)
    }
}
