//! Differences, values that are set, and what only single kinds can tell or do.

use crate::place::{Place, kinds_that_can, lines};

#[test]
fn the_difference_of_two_sets_is_printed_with_its_sides() {
    for kind in kinds_that_can("subtract,list,insert") {
        let id = kind["kind"].as_str().unwrap();
        let place = Place::new();
        // Hundreds are shared, and only the difference needs room.
        place.file("here", lines(1..=500));
        place.file("there", lines(4..=502));
        for name in ["here", "there"] {
            let out = format!("{name}.bq");
            // More keys than it was made for is what the program warns of, and what a difference may have.
            place
                .run(&["build", name, "-o", &out, "--kind", id, "--items", "40"])
                .found_with(&["keys in a filter for 40"]);
        }
        let difference = place.run(&["difference", "here.bq", "there.bq"]).found();
        let expected = ["<\tkey-0001", "<\tkey-0002", "<\tkey-0003", ">\tkey-0501", ">\tkey-0502"];
        // A kind with values writes the empty one behind a TAB.
        let found: Vec<_> = difference.lines().iter().map(|line| line.trim_end().to_owned()).collect();
        assert_eq!(found, expected, "{id}");
        place.run(&["difference", "here.bq", "here.bq"]).nothing();
        place.run(&["subtract", "here.bq", "there.bq", "-o", "left.bq"]).found();
        let listed = place.run(&["list", "--counts", "left.bq"]).found().lines();
        let mut counts: Vec<_> = listed.iter().map(|line| line.trim_end().to_owned()).collect();
        counts.sort();
        assert_eq!(counts, ["-1\tkey-0501", "-1\tkey-0502", "1\tkey-0001", "1\tkey-0002", "1\tkey-0003"], "{id}");
    }
}

#[test]
fn a_difference_beyond_the_cells_is_said_to_be_incomplete() {
    let place = Place::new();
    place.file("here", lines(1..=900));
    place.file("there", lines(901..=902));
    place.run(&["build", "here", "-o", "here.bq", "--kind", "iblt", "--items", "40"]).found_with(&["900 keys"]);
    place.run(&["build", "there", "-o", "there.bq", "--kind", "iblt", "--items", "40"]).found();
    place.run(&["difference", "here.bq", "there.bq"]).fails(&["here.bq", "not complete"]);
    place.filter("plain", 10);
    place.run(&["difference", "plain", "plain"]).fails(&["plain"]);
    place.run(&["difference", "here.bq", "plain"]).fails(&["kind"]);
}

#[test]
fn values_are_set_in_place_and_strangers_are_counted() {
    let place = Place::new();
    place.file("petals", "rose\t5\nlily\t6\niris\t3\n");
    place.run(&["build", "petals", "-o", "f", "--kind", "bloomier", "--set", "mode=mutable", "--fpr", "1e-6"]).found();
    place.run_with(&["set", "f"], "rose\t7\n").found();
    place.run_with(&["set", "f"], "lily\t8\nthistle\t1\n").found_with(&["f: 1 of 2 keys were not in the filter"]);
    let values = place.run_with(&["get", "f"], "rose\nlily\niris\n").found();
    assert_eq!(values.lines(), ["rose\t7", "lily\t8", "iris\t3"]);
    place.run_with(&["set", "f"], "rose\t300\n").fails(&["300"]);
    place.run(&["build", "petals", "-o", "g", "--kind", "bloomier"]).found();
    place.run_with(&["set", "g"], "rose\t7\n").fails(&["g", "mode=mutable"]);
}

#[test]
fn questions_and_actions_are_listed_and_explained() {
    for kind in kinds_that_can("") {
        let id = kind["kind"].as_str().unwrap();
        let explained = Place::new().run(&["explain", id]).found().text();
        let hidden = explained.lines().find(|line| line.trim_start().starts_with("# "));
        assert_eq!(hidden, None, "{id}: what only the compiler reads");
        for special in kind["specials"].as_array().unwrap() {
            let (name, acts) = (special["name"].as_str().unwrap(), special["acts"].as_bool().unwrap());
            let call = format!("bouquet {} FILTER {name}", if acts { "act" } else { "ask" });
            assert!(explained.contains(&call), "{id}: {call}");
        }
    }
    let place = Place::new();
    place.file("keys", lines(1..=3));
    place.run(&["build", "keys", "-o", "f", "--kind", "cuckoo", "--items", "100"]).found();
    assert!(place.run(&["ask", "f"]).found().text().starts_with("fingerprints"));
    place.run(&["act", "f"]).fails(&["f: cuckoo has no actions of its own"]);
    place.run(&["ask", "f", "petals"]).fails(&["no question `petals`; it has fingerprints"]);
    place.run(&["ask", "f", "fingerprints", "5"]).fails(&["takes nothing"]);
    let rows = place.run(&["ask", "f", "fingerprints"]).found().lines();
    assert_eq!((rows.len(), rows[0].as_str()), (4, "bucket\tfingerprint\tcopies"));
}

#[test]
fn promises_of_the_core_kinds_can_be_seen() {
    let place = Place::new();
    let build = |name: &str, kind: &str, keys: &str| {
        place.run_with(&["build", "-o", name, "--kind", kind, "--items", "100"], keys).found();
    };
    place
        .run_with(&["build", "-o", "routes", "--kind", "dlb", "--items", "100", "--set", "sets=33"], "zzzz\t3\n")
        .found();
    place.run_with(&["act", "routes", "insert-prefix"], "abcd\t16\nabcd\t8\n").found();
    let matches = place.run_with(&["ask", "routes", "lpm"], "abzz\n").found().lines();
    assert_eq!(matches, ["abzz\tlength", "16", "8", ""], "the longest first");
    let fills = place.run(&["ask", "routes", "fills"]).found().lines();
    let arrays = place.run(&["info", "routes", "--json"]).found().json()["hashes"].as_u64().unwrap();
    assert_eq!(
        (fills[0].as_str(), fills.len() as u64),
        ("array\tfill", 1 + arrays),
        "a head, and a row for each array"
    );
    for kind in ["standard", "banked", "blocked", "ultra-fast"] {
        build(kind, kind, "rose\n");
        let positions = place.run_with(&["ask", kind, "positions"], "rose\n").found().text();
        assert!(positions.starts_with("rose\t") && positions.matches(',').count() >= 3, "{kind}: {positions}");
    }
    build("protected", "error-protected", "rose\n");
    let glitched = place.run_with(&["ask", "protected", "glitched"], "rose\t0.5\n").found().text();
    let lost: f64 = glitched.trim_end().split('\t').nth(1).and_then(|share| share.parse().ok()).unwrap();
    assert!((lost - 127.0 / 128.0).abs() < 0.02, "one of 128 has seven probes that do not fail: {lost}");
}

#[test]
fn pairs_can_be_removed_ahead_of_their_insertion() {
    let place = Place::new();
    place.run_with(&["build", "-o", "f", "--kind", "iblt", "--items", "10"], "lily\twhite\n").found();
    place.run_with(&["act", "f", "remove-ahead"], "rose\tred\n").found();
    let mut counts = place.run(&["list", "--counts", "f"]).found().lines();
    counts.sort();
    assert_eq!(counts, ["-1\trose\tred", "1\tlily\twhite"]);
    place.run_with(&["add", "f"], "rose\tred\n").found();
    assert_eq!(place.run(&["list", "f"]).found().lines(), ["lily\twhite"]);
}

#[test]
fn keys_are_added_only_if_absent() {
    let place = Place::new();
    place.file("keys", "rose\nlily\nrose\n");
    place.run(&["build", "keys", "-o", "f", "--kind", "counting", "--items", "100"]).found();
    place.run_with(&["add", "f", "--if-absent"], "rose\niris\niris\n").found();
    let counts = place.run_with(&["count", "f"], "rose\nlily\niris\n").found();
    assert_eq!(counts.lines(), ["rose\t2", "lily\t1", "iris\t1"]);
}

#[test]
fn a_bank_tells_sets_sizes_counts_and_policies() {
    let place = Place::new();
    let settings = ["--kind", "filter-bank", "--set", "sets=3", "--set", "layout=rows", "--items", "3000"];
    place.run_with(&[&["build", "-o", "f"], &settings[..]].concat(), "rose\t0\nrose\t2\nlily\t1\n").found();
    let answers = place.run_with(&["ask", "f", "only"], "rose\nlily\niris\n").found();
    assert_eq!(answers.lines(), ["rose\t0,2", "lily\t1", "iris\tno"]);
    place.run_with(&["ask", "f", "lowest"], "iris\n").nothing();
    let best = place.run_with(&["ask", "f", "best"], "rose\t0.2,0.1,0.7\nlily\t1,0,0\n").found();
    assert_eq!(best.lines(), ["rose\t2", "lily\t1"]);
    place.run_with(&["ask", "f", "best"], "rose\theavy\n").fails(&["standard input:1", "WEIGHT", "heavy"]);
    assert_eq!(place.run(&["act", "f", "add-set"]).found().lines(), ["3"]);
    place.run_with(&["act", "f", "size-set"], "3\t10\n").found();
    place.run_with(&["act", "f", "size-set"], "3\t9000\n").fails(&["9000"]);
    place.run_with(&["act", "f", "size-set"], "1\t10\n").fails(&["empty set"]);
    place.run(&["act", "f", "clear-set", "0"]).found();
    place.run(&["act", "f", "remove-set", "1"]).found();
    let sets = place.run(&["ask", "f", "sets"]).found().lines();
    let bits: Vec<_> = sets.iter().filter_map(|row| row.split('\t').nth(1)).collect();
    assert_eq!((sets.len(), bits[0]), (4, "bits"));
    assert!(bits[1] == bits[2] && bits[3].len() < bits[1].len(), "{sets:?}");
    assert_eq!(place.run_with(&["classify", "f"], "rose\nlily\n").found().lines(), ["rose\t1", "lily"]);
    place.run_with(&["ask", "f", "count"], "rose\t1\n").fails(&["cells=counters"]);
    let counters = ["--kind", "filter-bank", "--set", "cells=counters", "--items", "100"];
    place.run_with(&[&["build", "-o", "c"], &counters[..]].concat(), "rose\t0\nrose\t0\nrose\t2\n").found();
    let counts = place.run_with(&["ask", "c", "count"], "rose\t0\nrose\t2\nlily\t1\n").found();
    assert_eq!(counts.lines(), ["rose\t2", "rose\t1", "lily\t0"]);
}

#[test]
fn a_subset_is_rebuilt_from_its_live_keys() {
    let place = Place::new();
    let settings = ["--kind", "dba", "--items", "10", "--fpr", "0.001"];
    place.run_with(&[&["build", "-o", "f"], &settings[..]].concat(), "rose\t7\nlily\t7\niris\t7\nrose\t9\n").found();
    assert_eq!(place.run_with(&["classify", "f"], "rose\nlily\n").found().lines(), ["rose\t7,9", "lily\t7"]);
    place.run_with(&["remove", "f"], "lily\t7\niris\t7\n").found();
    assert_eq!(place.run_with(&["classify", "f"], "lily\n").found().lines(), ["lily\t7"], "removal is lazy");
    assert_eq!(place.run(&["ask", "f", "queue"]).found().lines(), ["7"]);
    place.run_with(&["act", "f", "live"], "thistle\t7\n").fails(&["standard input:1"]);
    place.run_with(&["act", "f", "live"], "rose\t7\n").found();
    assert_eq!(place.run(&["act", "f", "maintain"]).found().lines(), ["7"]);
    assert_eq!(place.run_with(&["classify", "f"], "rose\n").found().lines(), ["rose\t7,9"]);
    place.run_with(&["query", "f"], "lily\niris\n").nothing();
    let subsets = place.run(&["ask", "f", "subsets"]).found().lines();
    assert_eq!(subsets, ["subset\tfilters\tkeys\tremoved", "7\t1\t1\t0", "9\t1\t1\t0"]);
    place.run(&["act", "f", "forget", "9"]).found();
    assert_eq!(place.run_with(&["ask", "f", "words"], "thistle\n").found().lines().len(), 1);
}

#[test]
fn a_bank_of_prefixes_names_the_longest_first() {
    let place = Place::new();
    let settings = ["--kind", "filter-bank", "--set", "sets=33", "--fpr", "1e-6", "--items", "3300"];
    place.run_with(&[&["build", "-o", "routes"], &settings[..]].concat(), "").found();
    place.run_with(&["act", "routes", "add-prefix"], "0.0.0.0/0\n10.0.0.0/8\n10.1.2.0/24\n").found();
    let lengths = place.run_with(&["ask", "routes", "prefixes"], "10.1.2.3\n10.9.9.9\n11.1.2.3\n").found();
    assert_eq!(lengths.lines(), ["10.1.2.3\t24,8,0", "10.9.9.9\t8,0", "11.1.2.3\t0"]);
    place
        .run_with(&["act", "routes", "add-prefix"], "10.0.0.0/8\n10.0.0\n")
        .fails(&["standard input:2", "10.1.0.0/16"]);
}

#[test]
fn packets_are_classified_by_the_rule_of_the_highest_priority() {
    let place = Place::new();
    place.run_with(&["build", "-o", "rules", "--kind", "pruned-counting", "--items", "100"], "").found();
    place.run_with(&["act", "rules", "add-rule"], "10.0.0.0/8 0/0\t1\n10.1.0.0/16 80\t7\n").found();
    let packets = "10.1.2.3 80\n10.1.2.3 443\n11.1.2.3 80\n";
    let answers = place.run_with(&["ask", "rules", "best-rule"], packets).found();
    assert_eq!(answers.lines(), ["10.1.2.3 80\t7", "10.1.2.3 443\t1", "11.1.2.3 80\tno"]);
    let tuples = place.run(&["ask", "rules", "tuples"]).found().lines();
    assert_eq!(tuples, ["lengths\trules", "8 0\t1", "16 32\t1"]);
    place.run_with(&["act", "rules", "remove-rule"], "10.1.0.0/16 80\t7\n").found();
    assert_eq!(place.run_with(&["ask", "rules", "best-rule"], "10.1.2.3 80\n").found().lines(), ["10.1.2.3 80\t1"]);
    place.run_with(&["act", "rules", "add-rule"], "10.0.0.0/8 web\t1\n").fails(&["standard input:1", "10.0.0.0/8 80"]);
}

#[test]
fn occurrences_that_several_meters_saw_count_once() {
    let place = Place::new();
    let occurrences = |names: std::ops::Range<u32>| names.map(|name| format!("rose\t{name}\n")).collect::<String>();
    for (meter, seen) in [("one", 0..700), ("two", 300..1_000), ("all", 0..1_000)] {
        let settings = ["--kind", "loglog", "--items", "10", "--set", "copies=64"];
        place.run_with(&[&["build", "-o", meter], &settings[..]].concat(), "").found();
        place.run_with(&["act", meter, "add-occurrence"], occurrences(seen)).found();
    }
    place.run(&["merge", "one", "two", "-o", "both"]).found();
    let [both, all] = ["both", "all"].map(|meter| place.run_with(&["ask", meter, "estimate"], "rose\n").found().text());
    assert_eq!(both, all);
}

#[test]
fn other_nodes_hold_copies_of_a_dynamic_filter() {
    let place = Place::new();
    place.file("keys", lines(1..=2_500));
    // Sized for the sets of many nodes: the quartiles of their sizes.
    let sizes = ["quarter=300", "median=900", "three-quarters=2000"].map(|size| ["--set", size]).concat();
    let settings = [&["--kind", "dynamic", "--items", "5000", "--set", "distribution=nodes"], &sizes[..]].concat();
    place.run(&[&["build", "keys", "-o", "own"], &settings[..]].concat()).found();
    place.run(&["ask", "own", "bits", "-o", "sent"]).found();
    std::fs::copy(place.path("sent"), place.path("copy")).unwrap();
    place.file("gone", lines(1..=25));
    place.run(&["remove", "own", "gone"]).found();
    place.run_with(&["add", "own"], "rose\n").found();
    place.run(&["ask", "own", "bits", "-o", "now"]).found();
    place.run(&["delta", "sent", "now", "-o", "update"]).found();
    place.run(&["patch", "copy", "update", "-o", "copy"]).found();
    assert_eq!(place.run_with(&["query", "copy"], "rose\n").found().lines(), ["rose"]);
    let sizes = ["update", "now"].map(|name| std::fs::metadata(place.path(name)).unwrap().len());
    assert!(sizes[0] * 5 < sizes[1], "{sizes:?}");
    place.run(&["patch", "copy", "update", "-o", "copy"]).fails(&["update: the patch is for another filter"]);
}

#[test]
fn a_kind_says_beforehand_what_it_takes_where_that_is_much() {
    let place = Place::new();
    place.file("keys", lines(1..=100));
    let build =
        |settings: &[&str]| place.run(&[&["build", "keys", "-o", "f", "--kind", "generalized"], settings].concat());
    // 2 k0 k1 / F_n bits per key, with k0 = k1 = 3 and F_n = 0.01.
    build(&["--fpr", "0.016", "--set", "fnr=0.01"]).found_with(&[
        "generalized takes 17",
        "bits per key",
        "`standard` has the same rate with 8.7",
    ]);
    // Functions of one sort are a plain filter.
    build(&["--set", "bits=1000", "--set", "reset-hashes=0", "--set", "set-hashes=7"]).found();
}

#[test]
fn a_filter_is_folded_to_half_its_size() {
    let place = Place::new();
    place.file("keys", lines(1..=500));
    let halves = |kind: &serde_json::Value| {
        kind["specials"].as_array().unwrap().iter().any(|special| special["name"] == "halve")
    };
    let mut kinds = 0;
    for kind in kinds_that_can("").iter().filter(|kind| halves(kind)) {
        kinds += 1;
        let id = kind["kind"].as_str().unwrap();
        for (name, bits) in [("whole", "bits=16384"), ("direct", "bits=8192")] {
            let sized = ["--kind", id, "--items", "500", "--set", bits, "--set", "hashes=8"];
            place.run(&[&["build", "keys", "-o", name], &sized[..]].concat()).found();
        }
        place.run(&["ask", "whole", "halve", "-o", "half"]).found();
        assert!(place.read("half") == place.read("direct"), "{id}");
        place.run(&["ask", "whole", "halve", "-o", "whole"]).found();
        assert!(place.read("whole") == place.read("half"), "{id}: in the place of the filter itself");
        place.run(&["ask", "whole", "halve"]).fails(&["`halve` is a filter; name its file with -o OUT"]);
    }
    assert!(kinds >= 6, "{kinds}");
    place.run(&["build", "keys", "-o", "odd", "--set", "bits=9999"]).found();
    place.run(&["ask", "odd", "halve", "-o", "half"]).fails(&["odd: ", "9999 bits", "build it from its keys"]);
    place.run(&["secret", "-o", "key"]).found();
    place.run(&["build", "keys", "-o", "keyed", "--secret", "key", "--set", "bits=8192"]).found();
    place.run(&["ask", "keyed", "halve", "-o", "half", "--secret", "key"]).fails(&["keyed: ", "depend on its size"]);
}

#[test]
fn known_strangers_are_for_kinds_that_use_them() {
    let place = Place::new();
    place.file("route", lines(1..=20));
    place.file("others", lines(21..=120));
    let build = ["build", "route", "-o", "f", "--absent", "others", "--kind"];
    place.run(&[build.as_slice(), &["optihash", "--set", "bits=256", "--set", "hashes=1"]].concat()).found();
    place.run(&["query", "f", "others"]).nothing();
    assert_eq!(place.run(&["query", "f", "route"]).found().lines().len(), 20);
    let info = place.run(&["info", "f"]).found().text();
    assert!(info.contains("known strangers") && info.contains("false positives among them"), "{info}");
    place.run(&[build.as_slice(), &["golomb"]].concat()).fails(&["`golomb` has no use for --absent", "optihash"]);
    place.run(&["add", "f", "others"]).fails(&["f: `optihash` is built once: build it again with all keys"]);
}

#[test]
fn integers_in_digits_are_listed_as_they_came() {
    let place = Place::new();
    place.file("ids", "807\n249\n");
    let zone =
        ["--kind", "egh", "--items", "2", "--set", "universe=1000", "--set", "decimal=yes", "--set", "cells=counters"];
    place.run(&[&["build", "ids", "-o", "f"], zone.as_slice()].concat()).found();
    assert_eq!(place.run(&["list", "f"]).found().lines(), ["249", "807"]);
    let sums = place.run(&["ask", "f", "symmetric"]).found().text();
    assert!(sums.contains("1056") && sums.contains("200943"), "{sums}");
    place.run_with(&["add", "f"], "5\n").fails(&["f", "more than 2 elements"]);
    place.run_with(&["remove", "f"], "807\n").found();
    place.run_with(&["query", "f"], "807\n249\n").found();
    place.run_with(&["query", "-q", "f"], "807\n").nothing();
}

#[test]
fn weights_behind_the_tab_decide_who_has_how_many_positions() {
    let place = Place::new();
    let weighed = |keys: std::ops::RangeInclusive<u32>, weights: &str| -> String {
        keys.map(|key| format!("key-{key:04}\t{weights}\n")).collect()
    };
    place.file("members", weighed(1..=10, "90,0.1") + &weighed(101..=190, "1,0.1"));
    place.file("hot", weighed(11..=100, "90,0.1"));
    let build = ["build", "members", "-o", "f", "--kind", "weighted", "--absent", "hot", "--set", "bits=1000"];
    place.run(&[build.as_slice(), &["--set", "others=810", "--set", "others-queries=0.1"]].concat()).found();
    assert_eq!(place.run(&["query", "f", "members"]).found().lines().len(), 100);
    let probes = |key: &str| -> u32 {
        let line = place.run_with(&["ask", "f", "probes"], key).found().lines()[0].clone();
        line.split(['\t', ',']).nth(1).unwrap().trim().parse().unwrap()
    };
    assert!(probes("key-0050") > probes("key-0500"), "{} {}", probes("key-0050"), probes("key-0500"));
    let info = place.run(&["info", "f"]).found().text();
    assert!(info.contains("rate over the declared queries") && info.contains("bits of the table"), "{info}");
    let assignment = place.run(&["ask", "f", "assignment"]).found().text();
    assert!(assignment.contains("positions"), "{assignment}");
    place.run_with(&["add", "f"], "key-0060\nkey-9999\t5,0.5\n").found();
    assert_eq!(place.run_with(&["query", "f"], "key-0060\nkey-9999\n").found().lines().len(), 2);
    place.run(&["ask", "f", "empty", "-o", "g"]).found();
    place.run_with(&["query", "g"], "key-0060\n").nothing();
    place.run(&["merge", "f", "g", "-o", "h"]).found();
    place.run_with(&["build", "-o", "x", "--kind", "weighted"], "rose\tred\n").fails(&["two weights", "`red`"]);
    place.run_with(&["build", "-o", "x", "--kind", "weighted"], "rose\t1,2\n").fails(&["likelihood"]);
}

#[test]
fn answers_with_a_prior_tell_what_they_are_worth() {
    let place = Place::new();
    place.file("keys", lines(1..=10_000));
    place.run(&["build", "keys", "-o", "f", "--fpr", "0.001"]).found();
    // The Bloom paradox: ten thousand members among ten billion keys.
    let told = |arguments: &[&str]| -> Vec<f64> {
        let lines = place.run_with(&[&["query", "f"], arguments].concat(), lines(1..=3)).found().lines();
        lines.iter().map(|line| line.split_once('\t').unwrap().1.parse().unwrap()).collect()
    };
    assert!(told(&["--prior", "1e-6"]).iter().all(|probability| (0.0009..0.0011).contains(probability)));
    assert!(told(&["--prior", "0.5"]).iter().all(|probability| *probability > 0.998));
    place.run(&["query", "f", "--prior", "2", "keys"]).fails(&["from 0 to 1"]);
    place.run(&["query", "f", "--prior", "own", "keys"]).fails(&["f: ", "no model of its own"]);
    // A filter with a model: likely keys are looked up, rare ones are not.
    place.file("members", lines(1..=100).replace('\n', "\t0.5\n") + &lines(101..=200).replace('\n', "\t0.00001\n"));
    place.run(&["build", "members", "-o", "f", "--kind", "selective", "--fpr", "0.001"]).found();
    assert!(told(&["--prior", "own"]).iter().all(|probability| *probability > 0.99));
    place.run_with(&["query", "f"], lines(101..=200)).nothing();
    let absent = place.run_with(&["query", "f", "-v", "--prior", "own"], lines(101..=101)).found().text();
    assert!(absent.trim_end().split_once('\t').is_some_and(|(_, prior)| prior.parse() == Ok(1e-5)), "{absent}");
    let decided = place.run_with(&["ask", "f", "decide"], format!("{}\t0.5\n", lines(1..=1).trim())).text();
    assert!(decided.contains("yes") || decided.contains("true"), "{decided}");
}

#[test]
fn headers_lose_a_stage_at_every_hop() {
    let place = Place::new();
    place.file("tree", "a-b\t0\nb-c\t1\nb-d\t1\n");
    place.file("others", "a-c\t0\na-d\t0\nb-a\t1\nb-e\t1\n");
    place.run(&["build", "tree", "-o", "f", "--kind", "fpf-multistage", "--absent", "others"]).found();
    let links = "a-b\na-c\na-d\nb-a\nb-c\nb-d\nb-e\n";
    let classes = place.run_with(&["classify", "f"], links).found().lines();
    assert!(classes[0].contains("\t0") && classes[4].ends_with('1'), "{classes:?}");
    place.run(&["ask", "f", "forward", "-o", "g"]).found();
    assert_eq!(place.run_with(&["query", "g"], "b-a\nb-c\nb-d\nb-e\n").found().lines(), ["b-c", "b-d"]);
    place.run(&["ask", "g", "forward", "-o", "h"]).found();
    place.run(&["ask", "h", "forward", "-o", "i"]).fails(&["h: "]);
    assert!(place.run(&["ask", "f", "stages"]).found().text().contains("positions"));
    place.run(&["build", "tree", "-o", "x", "--kind", "fpf-multistage", "--absent", "tree"]).fails(&["stage 0"]);
}
