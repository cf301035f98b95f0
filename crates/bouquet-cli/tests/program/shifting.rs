//! What a user does with the forms of one kind: two sets, multiplicities, and verbs that only some settings have.

use crate::place::{Place, Run, lines};

/// Lines of keys with the number of a set behind a TAB.
fn in_set(set: u32, keys: impl Iterator<Item = u32>) -> String {
    keys.map(|i| format!("key-{i:04}\t{set}\n")).collect()
}

/// The answers of `bouquet classify`, one per key; empty for a key in no set.
fn classified(place: &Place, name: &str, keys: std::ops::RangeInclusive<u32>) -> Vec<String> {
    let lines = place.run_with(&["classify", name], lines(keys.clone())).lines();
    assert_eq!(lines.len(), keys.clone().count());
    let answers = keys.zip(lines).map(|(i, line)| {
        let (key, sets) = line.split_once('\t').unwrap_or((&line, ""));
        assert_eq!(key, format!("key-{i:04}"));
        sets.to_owned()
    });
    answers.collect()
}

fn share(answers: &[String], wanted: &str) -> f64 {
    answers.iter().filter(|answer| *answer == wanted).count() as f64 / answers.len() as f64
}

/// Builds a filter of this kind from files of keys.
fn build(place: &Place, settings: &[&str], files: &[&str]) -> Run {
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let arguments: Vec<_> = ["build", "--kind", "shifting", "-o", "f"].into_iter().chain(settings).collect();
    place.run(&[&arguments, files].concat())
}

#[test]
fn two_files_are_two_sets_and_every_key_is_told_with_its_own() {
    let place = Place::new();
    place.file("left", in_set(0, 1..=600));
    place.file("right", in_set(1, 401..=1000));
    for cells in ["cells=bits", "cells=counters"] {
        build(&place, &["form=association", "items=2000", "fpr=0.001", cells], &["left", "right"]).found();
        let [left, both, right, none] =
            [1..=400, 401..=600, 601..=1000, 1001..=2000].map(|keys| classified(&place, "f", keys));
        // The own set is always among the answers, and hardly any other.
        assert!(left.iter().all(|sets| sets == "0" || sets == "0,1") && share(&left, "0") > 0.98, "{left:?}");
        assert!(right.iter().all(|sets| sets == "1" || sets == "0,1") && share(&right, "1") > 0.98, "{right:?}");
        assert!(share(&both, "0,1") == 1.0, "{both:?}");
        assert!(share(&none, "") > 0.98, "{none:?}");
        // A query takes keys with and without their sets.
        place.run_with(&["query", "-c", "f"], in_set(1, 1..=5)).found();
        assert_eq!(place.run_with(&["query", "-c", "f"], lines(1..=1000)).found().text(), "1000\n");
        // More keys, later.
        place.run_with(&["add", "f"], in_set(1, 1..=10)).found();
        assert!(share(&classified(&place, "f", 1..=10), "0,1") == 1.0);
    }
    // With counters, keys leave a set and stay in the other.
    place.run_with(&["remove", "f"], in_set(0, 401..=600)).found();
    let rest = classified(&place, "f", 401..=600);
    assert!(rest.iter().all(|sets| sets == "1" || sets == "0,1") && share(&rest, "1") > 0.98, "{rest:?}");
    let again = place.run_with(&["remove", "f"], in_set(0, 401..=410));
    assert_eq!((again.code, again.err.as_str()), (Some(1), "bouquet: f: 10 of 10 keys were not in the filter\n"));
    place.run_with(&["remove", "f"], in_set(1, 401..=600)).found();
    assert!(share(&classified(&place, "f", 401..=600), "") > 0.98);
}

#[test]
fn items_of_two_sets_are_checked_line_by_line() {
    let place = Place::new();
    place.file("bad", in_set(1, 1..=2) + &in_set(2, 3..=3));
    build(&place, &["form=association"], &["bad"])
        .fails(&["bad:3: item not accepted: expected set 0 or 1, found set 2"]);
    place.file("bare", lines(1..=3));
    build(&place, &["form=association"], &["bare"])
        .fails(&["bare:1: item not accepted", "KEY TAB the number of a set"]);
}

#[test]
fn multiplicities_are_counted_and_occurrences_removed() {
    let place = Place::new();
    // Key i comes i times.
    let keys: String = (1..=12).flat_map(|i| (1..=i).map(move |_| format!("key-{i:04}\n"))).collect();
    place.file("keys", keys);
    build(&place, &["form=multiplicity", "cells=counters", "fpr=0.0001"], &["keys"]).found();
    let counts = || -> Vec<String> {
        let lines = place.run_with(&["count", "f"], lines(1..=12)).found().lines();
        lines.iter().map(|line| line.split_once('\t').unwrap().1.to_owned()).collect()
    };
    assert_eq!(counts(), (1..=12).map(|i| i.to_string()).collect::<Vec<_>>());
    // One occurrence of each, and all of the last.
    place.run_with(&["remove", "f"], lines(1..=12)).found();
    place.run_with(&["remove", "f"], "key-0012\n".repeat(11)).found();
    let mut left: Vec<_> = (0..=10).map(|i| i.to_string()).collect();
    left.push("0".into());
    assert_eq!(counts(), left);
    assert_eq!(place.run_with(&["query", "f"], lines(1..=12)).found().text(), lines(2..=11));
    let run = place.run_with(&["remove", "f"], lines(12..=12));
    assert_eq!((run.code, run.err.as_str()), (Some(1), "bouquet: f: 1 of 1 keys were not in the filter\n"));
    // Counters of 4 bits leave a span of 14; more than that is told as such.
    place.run_with(&["add", "f"], "key-0011\n".repeat(9)).found();
    assert_eq!(counts()[10], "14+");
}

#[test]
fn a_verb_that_needs_other_settings_is_refused_with_them() {
    let place = Place::new();
    place.file("keys", lines(1..=10));
    build(&place, &[], &["keys"]).found();
    let before = place.read("f");
    place
        .run_with(&["remove", "f"], lines(1..=1))
        .fails(&["f: `shifting with cells=bits` cannot remove keys; kinds that can: shifting with cells=counters, "]);
    place.run_with(&["classify", "f"], lines(1..=1)).fails(&[
        "f: `shifting with form=membership` cannot tell which sets hold a key; ",
        "kinds that can: shifting with form=association, ",
    ]);
    assert_eq!(place.read("f"), before);
    // The program tells the settings beforehand, too.
    let explained = place.run(&["explain", "shifting"]).found().text();
    assert!(explained.contains("remove (with cells=counters)"), "{explained}");
    let kinds = place.run(&["kinds", "--can", "classify"]).found().text();
    assert!(
        kinds.lines().any(|line| line.contains("shifting") && line.ends_with("(with form=association)")),
        "{kinds}"
    );
    build(&place, &["cells=counters"], &["keys"]).found();
    place.run_with(&["remove", "f"], lines(1..=5)).found();
    assert_eq!(place.run_with(&["query", "-c", "f"], lines(6..=10)).found().text(), "5\n");
}
