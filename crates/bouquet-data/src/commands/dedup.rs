//! `bouquet data dedup`: every line once.

use bouquet::hash::{Hashing, Secret};
use bouquet_apps::stream::AllSeen;
use bouquet_tool::failure::{Failure, Found, Outcome, say};
use bouquet_tool::keys::{Input, parse_bytes};
use bouquet_tool::output::{Output, number};
use clap::Args;

const EXAMPLES: &str = "\
Examples:
  bouquet data dedup urls.txt                    every line once, in the order in which they first came
  zcat *.gz | bouquet data dedup --memory 1G     exact for about 50 million lines

Exit code 0 when a line was printed, 1 when none was, 2 on an error.";

/// Print every line of files or of standard input once, when it first comes
///
/// Nothing is sorted, and lines are printed as they come. Their hashes are kept: as long as these fit into --memory, no line is left out
/// wrongly. From then on a filter takes their place, which leaves out new lines at the rate of --fpr at most, and still never
/// prints a line twice. What happened is told at the end on standard error.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Dedup {
    #[command(flatten)]
    input: Input,

    /// Be exact in this much memory, such as 64M or 2G
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = parse_bytes)]
    memory: usize,

    /// The rate at which new lines may be left out once their hashes do not fit
    #[arg(long, value_name = "P", default_value_t = 0.001)]
    fpr: f64,
}

impl Dedup {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        if !(self.fpr > 0.0 && self.fpr < 1.0) {
            return Err(Failure::new(format!("--fpr is {}, but a rate is above 0 and below 1", self.fpr)));
        }
        // Lines may be chosen by others: without a secret they could be chosen so that one hides another.
        let hashing = Hashing::keyed(Secret::random()?);
        let mut seen = AllSeen::new(self.memory, self.fpr);
        let mut out = Output::stdout();
        let end = [self.input.delimiter()];
        let (mut lines, mut printed) = (0u64, 0u64);
        let mut reader = self.input.read_to_answer()?;
        while let Some(batch) = reader.next_batch()? {
            lines += batch.len() as u64;
            for line in batch.records() {
                if seen.insert(hashing.digest(line).h1)? {
                    printed += 1;
                    out.write(&[line, &end])?;
                }
            }
            out.flush()?;
        }
        drop((out, reader));
        let how = if seen.is_exact() {
            "exact".into()
        } else {
            format!("at most {} of the new lines left out", number(self.fpr))
        };
        say(&format!("{lines} lines, {printed} printed, {}; {} bytes of memory", how, seen.bytes()));
        Ok(Found::when(printed > 0))
    }
}
