//! How a command ends: the exit codes of grep, and one line for what went wrong.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use bouquet::kind::Verb;
use bouquet::{Error, registry};

use crate::ending::stop_if_ending;
use crate::output::plain;

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

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Message(in_words(&error))
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
            _ => Failure::Message(format!("standard output: {}", reason(error))),
        }
    }

    /// Standard output was closed from the beginning.
    pub fn closed_stdout() -> Self {
        Failure::new("standard output is closed; send it to a file, or to /dev/null to have none")
    }

    /// What went wrong with a file, or with standard input.
    pub fn of_file(name: impl Display, error: &io::Error) -> Self {
        Failure::Message(format!("{name}: {}", reason(error)))
    }
}

/// What the system says, and what to do about it.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error ").next().unwrap_or(&text);
    let remedy = match error.kind() {
        io::ErrorKind::NotFound => "check the name",
        io::ErrorKind::PermissionDenied => "`ls -ld` shows who is allowed what",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room and run the command again",
        io::ErrorKind::IsADirectory => "name a file in it",
        io::ErrorKind::ReadOnlyFilesystem => "choose another place",
        io::ErrorKind::InvalidFilename => "choose a shorter name",
        _ => return text.to_owned(),
    };
    format!("{text}; {remedy}")
}

/// Puts the file's name before an error that concerns it and does not name it yet.
pub fn about(path: &Path) -> impl Fn(Error) -> Failure + '_ {
    move |error| match error {
        Error::Io { .. } | Error::Busy { .. } => error.into(),
        error => Failure::Message(format!("{}: {}", path.display(), in_words(&error))),
    }
}

/// Puts the names of two files before an error that concerns both.
pub fn about_both<'a>(first: &'a Path, second: &'a Path) -> impl Fn(Error) -> Failure + 'a {
    move |error| Failure::Message(format!("{} and {}: {}", first.display(), second.display(), in_words(&error)))
}

/// As [`about`], for a filter that is opened.
pub fn about_opening(path: &Path) -> impl Fn(Error) -> Failure + '_ {
    move |error| match error {
        Error::TooLarge { what, bytes } => Failure::Message(format!(
            "{}: {what} needs {bytes} bytes, more than can be had; open it on a machine with more memory",
            path.display()
        )),
        error => about(path)(error),
    }
}

/// What went wrong, with the command or the option that helps.
pub fn in_words(error: &Error) -> String {
    match error {
        Error::Unsupported { kind, verb, able } => in_vain(kind, verb, able, error),
        Error::Secret { .. } => format!("{error} with --secret FILE"),
        Error::NotAPatch { .. } => format!("{error}; `bouquet delta` makes patches"),
        Error::Io { path, source } => format!("{}: {}", path.display(), reason(source)),
        error => error.to_string(),
    }
}

/// What helps whoever asks a kind for what it cannot do.
fn in_vain(kind: &str, verb: &str, able: &str, error: &Error) -> String {
    let told = error.to_string();
    let cannot = told.split_once("; ").map_or(told.as_str(), |(cannot, _)| cannot);
    let cannot = cannot.strip_prefix("kind ").unwrap_or(cannot);
    // A kind that lacks the verb with its settings is named with them, and is then the first of those that can.
    let (id, settings) = kind.split_once(" with ").map_or((kind, None), |(id, settings)| (id, Some(settings)));
    let can = |other: Verb| registry::find(id).is_ok_and(|kind| kind.can(other));
    // A kind that can with other settings is the first of them.
    const SHOWN: usize = 3;
    let able: Vec<_> = able.split(", ").collect();
    let others = match able.as_slice() {
        ["none"] => "no kind can".to_owned(),
        able if able.len() <= SHOWN => format!("kinds that can: {}", able.join(", ")),
        able => format!(
            "kinds that can: {}, ... (`bouquet kinds --can {verb}` lists {})",
            able[..SHOWN].join(", "),
            able.len()
        ),
    };
    match verb {
        "insert" if can(Verb::BuildFrom) => {
            let again = format!("`{kind}` is built once: build it again with all keys");
            return match settings.and(able.first()) {
                Some(other) => format!("{again}, or take {other}"),
                None => format!("{again}; {others}"),
            };
        }
        "be changed in its file" => return format!("{cannot}; without --in-place it is read, changed and replaced"),
        _ => {}
    }
    let instead = match verb {
        "contains" => [
            (Verb::Count, "count` gives its counts"),
            (Verb::Judge, "judge` gives its verdicts"),
            (Verb::Get, "get` gives its values"),
            (Verb::Decode, "decode` gives counts once all keys are known"),
            (Verb::List, "list` gives its keys"),
        ]
        .into_iter()
        .find(|(other, _)| can(*other)),
        "count" | "get" | "classify" | "judge" | "decode" | "top" => {
            Some((Verb::Contains, "query` tells which keys it may hold")).filter(|_| can(Verb::Contains))
        }
        _ => None,
    };
    match instead {
        Some((_, instead)) => format!("{cannot}; `bouquet {instead}; {others}"),
        None => format!("{cannot}; {others}"),
    }
}

/// Ends the program: says what went wrong, if anything.
pub fn conclude(outcome: Outcome) -> ExitCode {
    /// What the shell shows of a program that a closed pipe has ended: 128 and the number of the signal.
    const CLOSED_PIPE: u8 = 141;
    stop_if_ending();
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
    let _ = io::stderr().write_all(format!("bouquet: {}\n", plain(&line)).as_bytes());
}
