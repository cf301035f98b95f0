//! The commands, one file each.

mod add;
mod advance;
mod advise;
mod ask;
mod build;
mod change;
mod classify;
mod combine;
mod compare;
mod complete;
mod compress;
mod convert;
mod count;
mod decode;
mod delta;
mod difference;
mod estimate;
mod explain;
mod external;
mod get;
mod grow;
mod info;
mod intersect;
mod judge;
mod kinds;
mod list;
mod man;
mod merge;
mod patch;
mod query;
mod remove;
mod secret;
mod set;
mod size;
mod special;
mod store;
mod subtract;
mod top;
mod verify;

use std::ffi::OsString;

use clap::Subcommand;

use crate::failure::Outcome;

/// What the program can be told to do.
#[derive(Subcommand)]
pub enum Command {
    Build(build::Build),
    Query(query::Query),
    Add(add::Add),
    Remove(remove::Remove),
    Count(count::Count),
    Decode(decode::Decode),
    Top(top::Top),
    Get(get::Get),
    Set(set::Set),
    Classify(classify::Classify),
    Judge(judge::Judge),
    List(list::List),
    Advance(advance::Advance),
    Grow(grow::Grow),
    Merge(merge::Merge),
    Intersect(intersect::Intersect),
    Subtract(subtract::Subtract),
    Difference(difference::Difference),
    Estimate(estimate::Estimate),
    Ask(special::Ask),
    Act(special::Act),
    Compress(compress::Compress),
    Convert(convert::Convert),
    Delta(delta::Delta),
    Patch(patch::Patch),
    Info(info::Info),
    Verify(verify::Verify),
    Size(size::Size),
    Compare(compare::Compare),
    Advise(advise::Advise),
    Kinds(kinds::Kinds),
    Explain(explain::Explain),
    Secret(secret::Secret),
    Store(store::Store),
    Complete(complete::Complete),
    Man(man::Man),
    #[command(external_subcommand)]
    External(Vec<OsString>),
}

impl Command {
    /// Does it.
    pub fn run(self) -> Outcome {
        match self {
            Command::Build(command) => command.run(),
            Command::Query(command) => command.run(),
            Command::Add(command) => command.run(),
            Command::Remove(command) => command.run(),
            Command::Count(command) => command.run(),
            Command::Decode(command) => command.run(),
            Command::Top(command) => command.run(),
            Command::Get(command) => command.run(),
            Command::Set(command) => command.run(),
            Command::Classify(command) => command.run(),
            Command::Judge(command) => command.run(),
            Command::List(command) => command.run(),
            Command::Advance(command) => command.run(),
            Command::Grow(command) => command.run(),
            Command::Merge(command) => command.run(),
            Command::Intersect(command) => command.run(),
            Command::Subtract(command) => command.run(),
            Command::Difference(command) => command.run(),
            Command::Ask(command) => command.run(),
            Command::Act(command) => command.run(),
            Command::Estimate(command) => command.run(),
            Command::Compress(command) => command.run(),
            Command::Convert(command) => command.run(),
            Command::Delta(command) => command.run(),
            Command::Patch(command) => command.run(),
            Command::Info(command) => command.run(),
            Command::Verify(command) => command.run(),
            Command::Size(command) => command.run(),
            Command::Compare(command) => command.run(),
            Command::Advise(command) => command.run(),
            Command::Kinds(command) => command.run(),
            Command::Explain(command) => command.run(),
            Command::Secret(command) => command.run(),
            Command::Store(command) => command.run(),
            Command::Complete(command) => command.run(),
            Command::Man(command) => command.run(),
            Command::External(words) => external::run(words),
        }
    }
}
