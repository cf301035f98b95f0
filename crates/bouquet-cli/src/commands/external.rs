//! Commands that are programs of their own, as those of git and cargo are: `bouquet lab ARGS` runs `bouquet-lab ARGS`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::CommandFactory;

use crate::Program;
use crate::failure::{Failure, Found, Outcome};

/// The programs that belong to bouquet, and what they do.
const COMPANIONS: &[(&str, &str)] = &[
    ("explore", "shows filters on a page of the browser"),
    ("lab", "reproduces the figures, tables and numbers of the papers"),
    ("data", "works on data sets and on the filters of other systems"),
    ("net", "works on packets, flows and routes"),
];

/// Runs the program of the first word with the others. How that ends is how this ends.
pub fn run(words: Vec<OsString>) -> Outcome {
    let mut words = words.into_iter();
    let name = words.next().unwrap_or_default();
    let path = find(&name).ok_or_else(|| Failure::new(missing(&name.to_string_lossy())))?;
    let status = Command::new(&path).args(words).status();
    let status = status.map_err(|error| Failure::of_file(path.display(), &error))?;
    match status.code() {
        Some(0) => Ok(Found::Something),
        Some(1) => Ok(Found::Nothing),
        Some(code) => Err(Failure::Told(u8::try_from(code).unwrap_or(2))),
        // On Unix this tells the signal.
        None => Err(Failure::new(format!("{} was ended by a {status}; run it again", path.display()))),
    }
}

/// The program of this command: beside this one or, failing that, on the PATH.
fn find(name: &OsStr) -> Option<PathBuf> {
    let mut program = OsString::from("bouquet-");
    program.push(name);
    program.push(env::consts::EXE_SUFFIX);
    // A name with a separator would leave the folders that are searched.
    if Path::new(&program).components().count() != 1 {
        return None;
    }
    let beside = env::current_exe().ok().and_then(|this| Some(this.parent()?.to_path_buf()));
    let folders = env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    beside.into_iter().chain(folders).map(|folder| folder.join(&program)).find(|path| path.is_file())
}

/// What to say when there is no such program.
fn missing(name: &str) -> String {
    if let Some((_, what)) = COMPANIONS.iter().find(|(companion, _)| *companion == name) {
        return format!(
            "`bouquet {name}` runs bouquet-{name}, which {what}; it is neither beside bouquet nor on the PATH: \
             install it from bouquet's source with `cargo install --path crates/bouquet-{name}`"
        );
    }
    let commands = Program::command();
    let known =
        commands.get_subcommands().map(clap::Command::get_name).chain(COMPANIONS.iter().map(|companion| companion.0));
    let near = known.map(|known| (strsim::jaro_winkler(known, name), known)).max_by(|a, b| a.0.total_cmp(&b.0));
    let near =
        near.filter(|(near, _)| *near > 0.75).map_or(String::new(), |(_, near)| format!("did you mean `{near}`? "));
    format!("there is no command `{name}`, and no program bouquet-{name} on the PATH; {near}--help lists the commands")
}
