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
        // More keys, later: bits alone cannot move a key that joins its second set.
        let added = place.run_with(&["add", "f"], in_set(1, 1..=10));
        if cells == "cells=counters" {
            added.found();
            assert!(share(&classified(&place, "f", 1..=10), "0,1") == 1.0);
        } else {
            added.fails(&[
                "f: `shifting with form=association and cells=bits` is built once: build it again with all keys",
                ", or take shifting with form=membership or cells=counters",
            ]);
        }
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
    build(&place, &["form=association", "cells=counters"], &["bad"])
        .fails(&["bad:3: the item is not accepted: expected set 0 or 1, found set 2"]);
    // What is built at once is checked when all lines are read, and told by its key.
    build(&place, &["form=association"], &["bad"])
        .fails(&["the item is not accepted: expected set 0 or 1, found set 2 for the key `key-0003`"]);
    place.file("bare", lines(1..=3));
    for cells in ["cells=bits", "cells=counters"] {
        build(&place, &["form=association", cells], &["bare"])
            .fails(&["bare:1: the item is not accepted", "KEY TAB the number of a set"]);
    }
}

/// The standard deviation of the share of `n` tries that succeed with probability `p`.
fn sigma(p: f64, n: usize) -> f64 {
    (p * (1.0 - p) / n as f64).sqrt()
}

#[test]
fn bits_tell_of_two_sets_as_clearly_as_the_paper_says() {
    let place = Place::new();
    // 5,000 keys in the first set only, 5,000 in the second only, 2,500 in both; m = n k / ln 2 with k = 8.
    place.file("first", in_set(0, (1..=5_000).chain(10_001..=12_500)));
    place.file("second", in_set(1, 5_001..=12_500));
    build(&place, &["form=association", "bits=144270", "hashes=8"], &["first", "second"]).found();
    let [first, second, both, none] =
        [1..=5_000, 5_001..=10_000, 10_001..=12_500, 20_001..=40_000].map(|keys| classified(&place, "f", keys));
    let clear = (share(&first, "0") + share(&second, "1")) / 2.0;
    let expected = (1.0 - 0.5f64.powi(8)).powi(2);
    assert!((clear - 0.992).abs() < 0.003 && (clear - expected).abs() < 5.0 * sigma(expected, 10_000), "{clear}");
    assert!(share(&both, "0,1") == 1.0 && share(&first, "") + share(&second, "") == 0.0);
    let absent = 1.0 - share(&none, "");
    let expected = 1.0 - (1.0 - 0.5f64.powi(8)).powi(3);
    assert!((absent - expected).abs() < 5.0 * sigma(expected, 20_000), "{absent} {expected}");
}

#[test]
fn bits_tell_how_often_a_key_came_as_exactly_as_the_paper_says() {
    let place = Place::new();
    // m/n = 20, k = 8, multiplicities 1 to 57: the stream repeats keys.
    let times = |i: u32| 1 + i * 31 % 57;
    let keys: String = (1..=10_000).map(|i| format!("key-{i:04}\n").repeat(times(i) as usize)).collect();
    place.file("keys", keys);
    build(&place, &["form=multiplicity", "bits=200000", "hashes=8"], &["keys"]).found();
    let counts = |keys: std::ops::RangeInclusive<u32>| -> Vec<u32> {
        let told = place.run_with(&["count", "f"], lines(keys)).lines();
        told.iter().map(|line| line.split_once('\t').unwrap().1.trim_end_matches('+').parse().unwrap()).collect()
    };
    let told = counts(1..=10_000);
    assert!(told.iter().zip(1..).all(|(&told, i)| told >= times(i)), "a count is never too low");
    let exact = told.iter().zip(1..).filter(|&(&told, i)| told == times(i)).count() as f64 / 10_000.0;
    assert!((exact - 0.996).abs() < 0.003, "{exact}");
    let zero = counts(20_001..=40_000).iter().filter(|&&count| count == 0).count() as f64 / 20_000.0;
    assert!((zero - 0.992).abs() < 0.003, "{zero}");
    // Without a size it is made for the 10,000 keys, not for the 290,000 lines.
    build(&place, &["form=multiplicity", "hashes=8"], &["keys"]).found();
    let info = place.run(&["info", "--json", "f"]).found().json();
    assert_eq!(info["parameters"]["items"], 10_000, "{info}");
    // What was built cannot be changed.
    let before = place.read("f");
    place
        .run_with(&["add", "f"], lines(1..=1))
        .fails(&["f: `shifting with form=multiplicity and cells=bits` is built once"]);
    assert_eq!(place.read("f"), before);
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
    let unwrapped = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    for able in ["insert (with form=membership or cells=counters)", "remove (with cells=counters)"] {
        assert!(unwrapped.contains(able), "{explained}");
    }
    let kinds = place.run(&["kinds", "--can", "classify"]).found().text();
    assert!(
        kinds.lines().any(|line| line.contains("shifting") && line.ends_with("(with form=association)")),
        "{kinds}"
    );
    build(&place, &["cells=counters"], &["keys"]).found();
    place.run_with(&["remove", "f"], lines(1..=5)).found();
    assert_eq!(place.run_with(&["query", "-c", "f"], lines(6..=10)).found().text(), "5\n");
}
