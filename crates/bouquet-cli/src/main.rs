//! The program `bouquet`: every kind of filter on the command line.
//!
//! One file per command in `commands`; nothing here names a kind, everything is made from the registry.

mod commands;

use std::process::ExitCode;

use bouquet_tool::{ending, failure, filters, keys, output, pace, progress};
use clap::Parser;

const EXAMPLES: &str = "\
Examples:
  bouquet build words.txt -o words.bf --fpr 0.001     a filter of the lines of a file
  bouquet query words.bf candidates.txt               the candidates that may be among them
  bouquet query -v words.bf < candidates.txt          those that certainly are not
  bouquet add words.bf more.txt                       insert more lines, in place
  bouquet merge -o all.bf a.bf b.bf                   the union of two filters
  bouquet difference a.bf b.bf                        the keys that only one of two filters holds
  bouquet ask counts.bf                               what only the filter's kind can tell
  bouquet delta old.bf new.bf -o day.patch            what turns one filter into another
  bouquet patch old.bf day.patch -o old.bf            bring a copy up to date with it
  bouquet add recent.bf --print new < events          the events that are no duplicates
  bouquet info words.bf                               size, fill, expected rate
  bouquet top 10 counts.bf candidates.txt             the ten most frequent of the candidates
  bouquet decode braids.bf flows.txt                  exact counts, once all keys are known
  bouquet compare --can remove --items 1e6            kinds side by side: size, errors, speed
  bouquet store put shelf pairs.txt                   keys and values in a folder, durable
  bouquet advise --items 1e7 --fpr 0.001              which kind to take, and why
  bouquet kinds --can remove                          kinds whose keys can be removed
  bouquet explain KIND                                the idea, the formulas, the parameters
  bouquet explore                                     the same on a page of the browser, by bouquet-explore
  bouquet lab list                                    the papers' figures and tables, reproduced by bouquet-lab

A command that is not listed runs the program of its name, such as bouquet-lab for `lab`, which lies beside bouquet or on \
the PATH.

Keys are bytes: the lines of files or of standard input, or with -0 what NUL bytes separate. The last line needs no \
newline. Where a kind takes a value, a group, a weight or an amount with each key, it follows the key and a TAB.

Exit codes are those of grep: 0 found or done, 1 nothing found, 2 error, told in one line on standard error.";

/// Bloom filters of every kind: build, query, combine, measure, explain.
#[derive(Parser)]
#[command(name = "bouquet", version, after_help = EXAMPLES, arg_required_else_help = true, max_term_width = 120)]
struct Program {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    bouquet_tool::program::run(|program: Program| program.command.run())
}
