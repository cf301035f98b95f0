//! `bouquet secret`: a fresh secret for keyed filters.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use zeroize::Zeroizing;

use crate::failure::{Failure, Found, Outcome};

/// Write a fresh secret of 256 bits to a new file that only its owner can read
///
/// Filters are made with it by `bouquet build --secret FILE`, and every command that asks such a filter wants it too. It is
/// not in the filter: without it the filter cannot be asked, and its keys cannot be found out by trying.
#[derive(Args)]
pub struct Secret {
    /// The file to write; an existing one is left alone
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Secret {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let secret = bouquet::hash::Secret::random()?;
        let mut text = Zeroizing::new(Vec::with_capacity(65));
        for byte in secret.expose() {
            // Writing to memory does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        text.push(b'\n');

        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::new(format!(
                "{}: exists already, and a secret is not overwritten; name a new file",
                self.output.display()
            )),
            _ => Failure::of_file(self.output.display(), &error),
        };
        let mut file = options().open(&self.output).map_err(failed)?;
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        written.map_err(|error| {
            let _ = fs::remove_file(&self.output);
            failed(error)
        })?;
        Ok(Found::Something)
    }
}

fn options() -> fs::OpenOptions {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
