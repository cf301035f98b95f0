//! The program `bouquet-data`, which `bouquet data` runs: Bloom filters at work on data.
//!
//! One file per command in `commands`. What applications share is in the library `bouquet-apps`, what programs share in `bouquet-tool`.

mod commands;

use std::process::ExitCode;

use clap::Parser;

const EXAMPLES: &str = "\
Examples:
  bouquet data dedup urls.txt                 every line once, in the order in which they first came
  zcat *.gz | bouquet data dedup --memory 1G  as many lines as there are, exactly while they fit

Exit codes are those of bouquet: 0 found or done, 1 nothing found, 2 error, told in one line on standard error.";

/// Bloom filters at work on data: duplicates in streams.
#[derive(Parser)]
#[command(
    name = "bouquet data",
    bin_name = "bouquet data",
    version,
    after_help = EXAMPLES,
    arg_required_else_help = true,
    max_term_width = 120
)]
struct Program {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    bouquet_tool::program::run(|program: Program| program.command.run())
}
