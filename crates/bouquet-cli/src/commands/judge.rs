//! `bouquet judge`: whether keys are in or out, where a filter knows both sides.

use std::collections::HashSet;
use std::path::PathBuf;

use bouquet::capability::{NoteType, Verdict};
use clap::Args;

use super::ask::Ask;
use crate::failure::{Outcome, say};

/// Print each key of files or of standard input, a TAB, and the verdict on it: in, out, undetermined or unknown
///
/// `in` and `out` are never wrong about keys of the universe that the filter was built from; an `undetermined` key must be looked up
/// elsewhere, and an `unknown` one is not of that universe. Exit code 1 when no key is in.
#[derive(Args)]
pub struct Judge {
    #[command(flatten)]
    ask: Ask,

    /// Look undetermined keys up in this file of all members: they are then in or out
    #[arg(long, value_name = "FILE")]
    members: Vec<PathBuf>,
}

impl Judge {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let filter = self.ask.open()?;
        let judge = filter.judge().map_err(self.ask.about())?;
        let held = match self.members.as_slice() {
            [] => None,
            files => Some(self.ask.input().of(files).read_all("reading")?),
        };
        let members: Option<HashSet<&[u8]>> =
            held.as_ref().map(|held| held.batches().flat_map(|batch| batch.keys(NoteType::None)).collect());
        let mut undetermined = 0u64;
        let outcome = self.ask.run(&filter, |key, text| {
            let verdict = match (judge.judge(key), &members) {
                (Verdict::Undetermined, Some(members)) if members.contains(key) => Verdict::In,
                (Verdict::Undetermined, Some(_)) => Verdict::Out,
                (verdict, _) => verdict,
            };
            undetermined += u64::from(verdict == Verdict::Undetermined);
            text.extend_from_slice(verdict.name().as_bytes());
            Some(verdict == Verdict::In)
        });
        if undetermined > 0 && outcome.is_ok() {
            say(&format!("{}: {undetermined} keys must be looked up elsewhere", self.ask.filter().display()));
        }
        outcome
    }
}
