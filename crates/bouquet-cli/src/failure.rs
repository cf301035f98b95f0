//! How a command ends: the exit codes of grep, and one line for what went wrong.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// How a command that met no error ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Exit code 0.
    Something,
    /// Exit code 1.
    Nothing,
}

impl Found {
    /// Whether anything was found.
    pub fn when(found: bool) -> Self {
        if found { Found::Something } else { Found::Nothing }
    }
}

/// Why a command stops.
#[derive(Debug)]
pub enum Failure {
    /// One line for the user; exit code 2.
    Message(String),
    /// Nobody reads the output any more: no reason to say anything.
    ClosedPipe,
    /// Another program did the work and has said what went wrong; its exit code.
    Told(u8),
}

/// How a command ends.
pub type Outcome = Result<Found, Failure>;

impl From<bouquet::Error> for Failure {
    fn from(error: bouquet::Error) -> Self {
        Failure::Message(error.to_string())
    }
}

impl Failure {
    /// A message.
    pub fn new(message: impl Into<String>) -> Self {
        Failure::Message(message.into())
    }

    /// What went wrong with standard output.
    pub fn of_stdout(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Message(format!("standard output: {error}")),
        }
    }
}

/// Puts the file's name before an error that concerns it and does not name it yet.
pub fn about(path: &Path) -> impl Fn(bouquet::Error) -> Failure + '_ {
    move |error| match error {
        bouquet::Error::Io { .. } | bouquet::Error::Busy { .. } => error.into(),
        error => Failure::Message(format!("{}: {error}", path.display())),
    }
}

/// Ends the program: says what went wrong, if anything.
pub fn conclude(outcome: Outcome) -> ExitCode {
    /// What the shell shows of a program that a closed pipe has ended: 128 and the number of the signal.
    const CLOSED_PIPE: u8 = 141;
    match outcome {
        Ok(Found::Something) => ExitCode::SUCCESS,
        Ok(Found::Nothing) => ExitCode::from(1),
        Err(Failure::ClosedPipe) => ExitCode::from(CLOSED_PIPE),
        Err(Failure::Told(code)) => ExitCode::from(code),
        Err(Failure::Message(message)) => {
            say(&message);
            ExitCode::from(2)
        }
    }
}

/// Writes one line to standard error, whatever the message holds: file names may contain newlines.
pub fn say(message: &str) {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    // Where standard error itself is closed there is nobody left to tell.
    let _ = writeln!(io::stderr(), "bouquet: {line}");
}
