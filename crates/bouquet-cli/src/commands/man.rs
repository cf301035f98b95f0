//! `bouquet man`: manual pages.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::Program;
use crate::failure::{Failure, Found, Outcome};
use crate::output::{Destination, Waiting};

const EXAMPLES: &str = "\
Install:
  bouquet man --out ~/.local/share/man/man1     then `man bouquet` and `man bouquet-build` find them";

/// Write a manual page for bouquet and for each of its commands
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Man {
    /// The folder to write to; it is made if it is missing
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
}

impl Man {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let failed = |error: &std::io::Error| Failure::of_file(self.out.display(), error);
        std::fs::create_dir_all(&self.out).map_err(|error| failed(&error))?;
        let program = Program::command();
        let pages = program.get_subcommands().filter(|command| !command.is_hide_set()).map(|command| {
            // The name of a page, and of the command as it is typed.
            let name = format!("bouquet-{}", command.get_name());
            let typed = format!("bouquet {}", command.get_name());
            (name.clone(), command.clone().name(leak(name)).bin_name(typed).version(env!("CARGO_PKG_VERSION")))
        });
        for (name, command) in pages.chain([("bouquet".to_string(), program.clone())]) {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(|error| failed(&error))?;
            let path = self.out.join(format!("{name}.1"));
            Destination::new(&path, &[], &[], Waiting::default())?.save_bytes(&page)?;
        }
        Ok(Found::Something)
    }
}

/// A name that lives as long as the program, as the parser wants its names.
fn leak(name: String) -> &'static str {
    Box::leak(name.into_boxed_str())
}
