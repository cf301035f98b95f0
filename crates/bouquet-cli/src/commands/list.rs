//! `bouquet list`: what can be decoded from a filter.

use std::path::{Path, PathBuf};

use bouquet::capability::{Entry, Listing, Value};
use clap::Args;

use crate::failure::{Failure, Found, Outcome, about, say};
use crate::filters::Opening;
use crate::output::Output;

/// Print the keys that can be decoded from a filter, with their values behind a TAB where it has them
///
/// When not everything can be decoded, what can be is printed, and the exit code is 2. Exit code 1 when the filter is
/// empty.
#[derive(Args)]
pub struct List {
    /// The filter to decode; `-` is standard input
    filter: PathBuf,

    /// Print before each key its insertions less its removals and a TAB; also keys that were removed without having
    /// been inserted, whose number is negative
    #[arg(short, long)]
    counts: bool,

    #[command(flatten)]
    lines: Lines,

    #[command(flatten)]
    opening: Opening,
}

impl List {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let filter = self.opening.open(&self.filter)?;
        let listing = filter.list().map_err(about(&self.filter))?.list();
        let mut out = Output::stdout();
        let (mut shown, mut negative) = (0u64, 0u64);
        for entry in &listing.entries {
            if self.counts {
                out.write(&[entry.count.to_string().as_bytes(), b"\t"])?;
            } else if entry.count < 0 {
                negative += 1;
                continue;
            }
            shown += 1;
            self.lines.write(&mut out, entry)?;
        }
        out.flush()?;
        undecoded(&self.filter, &listing)?;
        if negative > 0 {
            let path = self.filter.display();
            say(&format!("{path}: {negative} keys were removed without having been inserted; --counts shows them"));
        }
        Ok(Found::when(shown > 0))
    }
}

/// How entries are written.
#[derive(Args)]
pub struct Lines {
    /// Separate keys with NUL bytes instead of newlines
    #[arg(short = '0', long = "null")]
    null: bool,
}

impl Lines {
    /// Writes the key and, behind a TAB, its value where it has one.
    pub fn write(&self, out: &mut Output, entry: &Entry) -> Result<(), Failure> {
        let key = out.shown(&entry.key);
        out.write(&[&key])?;
        if let Some(found) = &entry.value {
            let mut value = Vec::new();
            write_value(found, &mut value);
            let value = out.shown(&value);
            out.write(&[b"\t", &value])?;
        }
        out.write(&[if self.null { b"\0" } else { b"\n" }])
    }
}

/// A listing that is not complete is an error.
pub fn undecoded(path: &Path, listing: &Listing) -> Result<(), Failure> {
    if listing.undecoded == 0 {
        return Ok(());
    }
    let (path, listed, undecoded) = (path.display(), listing.entries.len(), listing.undecoded);
    Err(Failure::new(format!(
        "{path}: the listing is not complete: {listed} keys were decoded, {undecoded} cells were not; \
         a filter made for more items holds them"
    )))
}

/// A value as it is written behind a key.
pub fn write_value(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Integer(number) => text.extend_from_slice(number.to_string().as_bytes()),
        Value::Bytes(bytes) => text.extend_from_slice(bytes),
    }
}
