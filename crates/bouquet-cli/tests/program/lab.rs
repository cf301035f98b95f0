//! The experiments, from the command line.

use crate::place::Place;

#[test]
fn experiments_are_listed_run_and_written() {
    let place = Place::new();
    let list = place.run(&["lab", "list"]).found().lines();
    assert!(list.iter().any(|line| line.starts_with("survey000-fig2 ")), "{list:?}");

    let told = place.run(&["lab", "run", "survey000-fig2", "--quick", "--out", "results"]).found();
    assert!(told.text().contains("9 agree, 6 corrected"), "{}", told.text());
    for file in ["survey000-fig2.svg", "survey000-fig2.csv", "survey000-fig2-verdict.csv"] {
        assert!(place.path("results").join(file).exists(), "{file}");
    }
    assert!(!place.path("results").join("README.md").exists(), "the gallery is for all");
}

#[test]
fn the_same_seed_gives_the_same_results() {
    let place = Place::new();
    let run = |seed: &str| place.run(&["lab", "run", "survey001-counters", "--quick", "--seed", seed]).found().text();
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn unknown_experiments_are_refused_before_any_is_run() {
    let place = Place::new();
    place.run(&["lab", "run", "survey000-fig2", "fig99", "--out", "results"]).fails(&["no experiment `fig99`"]);
    assert!(!place.path("results").exists());
}
