//! The program `bouquet-lab`, run as a user does.

use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bouquet-lab")).args(args).current_dir(folder).output().unwrap()
}

/// What a run printed that went well: exit code 0 and nothing on standard error.
#[track_caller]
fn printed(output: Output) -> String {
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn experiments_are_listed_run_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let list = printed(run(folder.path(), &["list"]));
    assert!(list.lines().any(|line| line.starts_with("survey000-fig2 ")), "{list}");

    let told = printed(run(folder.path(), &["run", "survey000-fig2", "--quick", "--out", "results"]));
    assert!(told.contains("9 agree, 6 corrected"), "{told}");
    let results = folder.path().join("results");
    for file in ["survey000-fig2.svg", "survey000-fig2.csv", "survey000-fig2-verdict.csv"] {
        assert!(results.join(file).exists(), "{file}");
    }
    assert!(!results.join("README.md").exists(), "the gallery is for all");
}

#[test]
fn the_same_seed_gives_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let run = |seed: &str| printed(run(folder.path(), &["run", "survey001-counters", "--quick", "--seed", seed]));
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn unknown_experiments_are_refused_before_any_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["run", "survey000-fig2", "fig99", "--out", "results"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.starts_with("bouquet-lab: there is no experiment `fig99`") && told.lines().count() == 1, "{told}");
    assert!(!folder.path().join("results").exists());
}
