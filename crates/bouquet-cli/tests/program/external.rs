//! Commands that are programs of their own.

use std::path::Path;
use std::process::Command;

use crate::place::{PROGRAM, Place, Run};

/// Runs a copy of the program, which has other neighbours than the one under test.
fn run(program: &Path, path: &Path, args: &[&str]) -> Run {
    Command::new(program).args(args).env("PATH", path).output().unwrap().into()
}

/// Puts a copy of the program here. A process of its own writes it: while other tests start programs, these would inherit the
/// open file, and a file that is open for writing cannot be run.
fn copy(place: &Place, folder: &str) {
    place.shell(&format!("mkdir -p {folder} && cp {PROGRAM} {folder}/bouquet")).found();
}

/// A script that tells where it lies and what it was given, and ends with this code.
fn script(place: &Place, path: &str, code: u8) {
    place.file("text", format!("#!/bin/sh\necho \"$0\" \"$@\"\nexit {code}\n"));
    place.shell(&format!("mkdir -p $(dirname {path}) && cp text {path} && chmod 755 {path}")).found();
}

#[test]
fn the_program_beside_comes_before_the_one_on_the_path() {
    let place = Place::new();
    copy(&place, "beside");
    let (program, on_path) = (place.path("beside/bouquet"), place.path("path"));

    script(&place, "path/bouquet-lab", 0);
    let told = run(&program, &on_path, &["lab", "run", "--quick", "a b", "--help"]).found().text();
    assert_eq!(told, format!("{} run --quick a b --help\n", place.path("path/bouquet-lab").display()));

    script(&place, "beside/bouquet-lab", 1);
    let told = run(&program, &on_path, &["lab"]).nothing().text();
    assert_eq!(told, format!("{}\n", place.path("beside/bouquet-lab").display()));

    script(&place, "beside/bouquet-other", 7);
    let told = run(&program, &on_path, &["other"]);
    assert_eq!((told.code, told.err.as_str()), (Some(7), ""));
}

#[test]
fn a_program_that_is_missing_is_named_with_the_way_to_get_it() {
    let place = Place::new();
    copy(&place, "alone");
    let run = |word: &str| run(&place.path("alone/bouquet"), &place.path("nowhere"), &[word, "list"]);
    run("lab").fails(&["bouquet-lab", "papers", "cargo install --path crates/bouquet-lab"]);
    run("biuld").fails(&["no command `biuld`", "did you mean `build`?"]);
    run("zzz").fails(&["no command `zzz`", "bouquet-zzz"]);
    run("../build").fails(&["no command `../build`"]);
}
