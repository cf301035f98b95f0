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
