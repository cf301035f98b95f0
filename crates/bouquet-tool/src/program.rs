//! The beginning and the end of a program.

use std::io::ErrorKind::BrokenPipe;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::ending::{catch_bus_errors, is_stdout_closed, tell_of_panics};
use crate::failure::{Failure, Outcome, conclude};

/// Parses the arguments, does what they ask for, and tells in one line what went wrong.
pub fn run<P: Parser>(act: impl FnOnce(P) -> Outcome) -> ExitCode {
    tell_of_panics();
    catch_bus_errors();
    conclude(match P::try_parse() {
        Ok(program) => act(program),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                if error.use_stderr() || !is_stdout_closed() {
                    match error.print() {
                        // A reader that left early, as `head` does, has what it wanted.
                        Err(failed) if failed.kind() != BrokenPipe => Err(Failure::of_stdout(&failed)),
                        _ => return ExitCode::from(error.exit_code() as u8),
                    }
                } else {
                    Err(Failure::closed_stdout())
                }
            }
            _ => Err(Failure::new(in_one_line(&error))),
        },
    })
}

/// What the parser of the arguments has to say, without the lines on usage.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let words: Vec<_> = lines.flat_map(str::split_whitespace).collect();
    let message = words.join(" ").replace(" tip: ", "; ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    format!("{message}; --help tells more")
}
