//! `bouquet complete`: completions for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Program;
use crate::failure::{Found, Outcome};
use crate::output::Output;

const EXAMPLES: &str = "\
Install:
  bash   bouquet complete bash > ~/.local/share/bash-completion/completions/bouquet
  zsh    bouquet complete zsh > \"${fpath[1]}/_bouquet\"
  fish   bouquet complete fish > ~/.config/fish/completions/bouquet.fish";

/// Print what makes a shell complete the commands and options of bouquet
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Complete {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Complete {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Program::command(), "bouquet", &mut script);
        let mut out = Output::stdout();
        out.write(&[script.as_slice()])?;
        out.flush()?;
        Ok(Found::Something)
    }
}
