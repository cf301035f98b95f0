//! Kinds that know strangers, or ask a second filter.

use crate::place::{Place, lines};

#[test]
fn both_sides_of_a_universe_are_judged_and_keys_move() {
    let place = Place::new();
    place.file("members", lines(1..=200));
    place.file("others", lines(201..=1000));
    let build = ["build", "members", "--absent", "others", "--kind", "complement", "--fpr", "0.001", "-o"];
    for (name, settings) in [("full", "form=full"), ("petit", "form=petit"), ("counters", "cells=counters")] {
        place.run(&[&build[..], &[name, "--set", settings]].concat()).found();
        let judged = place.run(&["judge", name, "members", "others"]);
        let judged = judged.lines();
        assert_eq!(judged.len(), 1000);
        for (i, line) in judged.iter().enumerate() {
            let right = if i < 200 { "in" } else { "out" };
            assert!(line.ends_with(&format!("\t{right}")) || line.ends_with("\tundetermined"), "{name}: {line}");
        }
        let resolved = place.run(&["judge", name, "members", "others", "--members", "members"]).found().lines();
        assert_eq!(resolved.iter().filter(|line| line.ends_with("\tin")).count(), 200, "{name}");
        assert_eq!(resolved.iter().filter(|line| line.ends_with("\tout")).count(), 800, "{name}");
    }
    place.run(&["query", "full", "members"]).fails(&["full", "bouquet judge` gives its verdicts"]);
    place.run_with(&["add", "petit"], "rose\n").fails(&["built once", "form=full"]);
    assert_eq!(place.run_with(&["judge", "full"], "granite\n").nothing().text(), "granite\tunknown\n");
    place.run_with(&["act", "counters", "expel"], lines(1..=100)).found();
    place.run_with(&["act", "counters", "admit"], lines(201..=300)).found();
    let moved = place.run_with(&["judge", "counters"], lines(1..=100)).lines();
    assert!(moved.iter().all(|line| !line.ends_with("\tin")), "{moved:?}");
    let moved = place.run_with(&["judge", "counters"], lines(201..=300)).lines();
    assert!(moved.iter().all(|line| !line.ends_with("\tout")), "{moved:?}");
    place.run_with(&["act", "full", "expel"], "key-0001\n").fails(&["cells", "counters"]);
    place.run_with(&["remove", "counters"], lines(101..=101)).found();
    place.run_with(&["act", "counters", "forget"], lines(900..=900)).found();
    place.run_with(&["act", "full", "exclude"], "granite\n").found();
    assert!(!place.run_with(&["judge", "full"], "granite\n").text().contains("unknown"));
}

#[test]
fn parts_confirm_keys_and_labels_come_back() {
    let place = Place::new();
    place.file("keys", "rose\t0\nlily\t1\niris\t1\n");
    let build = ["build", "keys", "-o", "f", "--kind", "cross-checking", "--items", "100", "--fpr", "1e-6"];
    place.run(&[&build[..], &["--set", "by=label"]].concat()).built("cross-checking");
    let classified = place.run_with(&["classify", "f"], "rose\niris\noak\n").found();
    assert_eq!(classified.lines(), ["rose\t0", "iris\t1", "oak"]);
    place.run_with(&["add", "f"], "oak\t2\n").fails(&["0 to 1"]);
    place.file("bare", "rose\nlily\n");
    let build = ["build", "bare", "-o", "g", "--kind", "cross-checking", "--items", "100", "--fpr", "1e-6"];
    place.run(&[&build[..], &["--set", "check=own", "--set", "parts=4"]].concat()).built("cross-checking");
    assert_eq!(place.run_with(&["query", "g"], "rose\noak\n").found().lines(), ["rose"]);
    let parts = place.run_with(&["ask", "g", "confirmed-by"], "rose\n").found().lines();
    assert!(
        parts[0].split_once('\t').is_some_and(|(_, part)| part.parse::<u32>().is_ok_and(|part| part < 4)),
        "{parts:?}"
    );
    place.run_with(&["classify", "g"], "rose\n").fails(&["by=label"]);
}

#[test]
fn known_strangers_are_taken_back_without_losing_a_member() {
    let place = Place::new();
    place.file("members", lines(1..=20));
    place.file("others", lines(1001..=1500));
    place.run(&["build", "members", "--absent", "others", "-o", "f", "--kind", "yes-no", "--set", "bits=256"]).found();
    assert_eq!(place.run(&["query", "f", "members"]).found().lines().len(), 20);
    let info = place.run(&["info", "--json", "f"]).found().json();
    let figures = &info["figures"];
    assert_eq!(figures["known_strangers"], 500, "{info}");
    let wrong = place.run(&["query", "-c", "f", "others"]).text();
    assert_eq!(wrong.trim(), figures["false_positives_among_them"].to_string());
    assert!(figures["false_positives_among_them"].as_u64() <= figures["those_of_a_plain_filter"].as_u64());
}

#[test]
fn a_filter_is_retouched_when_it_is_built_and_later() {
    let place = Place::new();
    place.file("members", lines(1..=1000));
    place.file("others", lines(2001..=9999));
    let build = ["build", "members", "--absent", "others", "--kind", "retouched", "--fpr", "0.05", "-o"];
    place.run(&[&build[..], &["f"]].concat()).found();
    assert_eq!(place.run(&["query", "-c", "f", "others"]).text().trim(), "0");
    let found: u32 = place.run(&["query", "-c", "f", "members"]).text().trim().parse().unwrap();
    assert!((500..1000).contains(&found), "{found}");

    place
        .run(&["build", "members", "-o", "g", "--kind", "retouched", "--fpr", "0.05", "--set", "cells=counters"])
        .found();
    assert_eq!(place.run(&["query", "-c", "g", "members"]).text().trim(), "1000");
    place.file("troublesome", place.run(&["query", "g", "others"]).found().text());
    place.run(&["act", "g", "trouble", "troublesome"]).found();
    let rows = place.run(&["act", "g", "retouch"]).found().lines();
    assert_eq!(rows[0], "removed\tcleared\tlost\tstopped", "{rows:?}");
    place.run(&["query", "g", "others"]).nothing();
    assert_eq!(place.run(&["ask", "g", "returned"]).lines(), ["0"]);
    place.run(&["act", "g", "seal"]).found();
    assert_eq!(place.run(&["act", "g", "clear-random", "10"]).found().lines(), ["10"]);
    place.run(&["query", "g", "others"]).nothing();
}

#[test]
fn nodes_without_their_ancestors_are_exposed_and_matches_are_told() {
    let place = Place::new();
    place.file("names", "usr/bin/ls\nusr/bin/cat\netc/passwd\n");
    let build = ["build", "names", "-o", "f", "--kind", "trie-checked", "--fpr", "1e-6", "--set", "cells=counters"];
    place.run(&build).built("trie-checked");
    let info = place.run(&["info", "--json", "f"]).found().json();
    assert_eq!((&info["figures"]["nodes"], &info["parameters"]["items"]), (&6.into(), &6.into()), "{info}");
    assert_eq!(place.run_with(&["query", "f"], "usr/bin\nusr/lib\netc\n").found().lines(), ["usr/bin", "etc"]);
    let longest = place.run_with(&["ask", "f", "longest-match"], "usr/bin/ls/x\nopt/x\n").found();
    assert_eq!(longest.lines()[0], "usr/bin/ls/x\tusr/bin/ls,usr/bin,usr");
    assert_eq!(place.run_with(&["ask", "f", "row"], "usr/bin/ls\n").found().lines(), ["usr/bin/ls\t3"]);
    place.run_with(&["remove", "f"], "usr/bin/ls\n").found();
    assert_eq!(place.run_with(&["query", "f"], "usr/bin/ls\nusr/bin\n").found().lines(), ["usr/bin"]);
    place.run_with(&["act", "f", "insert-closed"], "etc/group\n").found();
    assert_eq!(place.run_with(&["query", "f"], "etc/group\n").found().lines(), ["etc/group"]);

    place
        .run_with(&["build", "-o", "b", "--kind", "trie-checked", "--items", "100", "--set", "parent=bits"], "")
        .found();
    place.run_with(&["act", "b", "insert-prefix"], "abcd\t20\n").found();
    let held = place.run_with(&["ask", "b", "holds-prefix"], "abcd\t20\nabcd\t12\nxbcd\t20\n").found();
    assert_eq!(held.lines(), ["abcd\tyes", "abcd\tyes", "xbcd\tno"]);
    place.run_with(&["act", "b", "insert-prefix"], "abcd\t33\n").fails(&["1 to 32"]);
}
