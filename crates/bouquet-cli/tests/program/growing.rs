//! What a user does with sets of unknown size, and with many sets.

use crate::place::{Place, lines};

/// Lines of keys, each in the set of its number modulo `sets`.
fn in_sets(keys: std::ops::Range<u32>, sets: u32) -> String {
    keys.map(|i| format!("key-{i:04}\t{}\n", i % sets)).collect()
}

#[test]
fn a_coded_bank_tells_the_set_that_was_read_and_no_set_within_its_code() {
    let place = Place::new();
    place.file("keys", in_sets(0..2_100, 7));
    let settings = ["--set", "layout=coded", "--set", "sets=7", "--items", "2100", "--fpr", "0.001"];
    place.run(&[&["build", "-k", "filter-bank", "-o", "bank", "keys"], settings.as_slice()].concat()).found();
    let keys: String = (0..2_100).map(|i| format!("key-{i:04}\n")).collect();
    let answers = place.run_with(&["classify", "bank"], keys).found().lines();
    assert_eq!(answers.len(), 2_100);
    let mut wrong = 0;
    for (i, line) in answers.iter().enumerate() {
        let (_, sets) = line.split_once('\t').unwrap();
        // Every code of three bits is a set's, so that one is told; a false bit can only add to its code.
        let set: usize = sets.parse().unwrap_or_else(|_| panic!("{line}: one set, not several"));
        assert_eq!((set + 1) & (i % 7 + 1), i % 7 + 1, "{line}");
        wrong += usize::from(set != i % 7);
    }
    // Two of three filters may err at 0.1 % each: 2.5 of 2100 on average, 5 standard deviations more at most.
    assert!(wrong <= 10, "{wrong}");
    // If no set has the code, the sets within it are told.
    place.file("keys", in_sets(0..3_000, 5));
    let full = ["--set", "layout=coded", "--set", "sets=5", "--set", "bits=300", "--set", "hashes=1"];
    place.run(&[&["build", "-k", "filter-bank", "-o", "full", "keys"], full.as_slice()].concat());
    assert_eq!(place.run_with(&["classify", "full"], "key-0001\n").lines(), ["key-0001\t0,1,2,3,4"]);
}

#[test]
fn refused_removals_are_counted_and_told_by_info() {
    let place = Place::new();
    // Components of one key each: a key that came twice is in two of them.
    let build = |settings: &[&str], keys: &str| {
        let run = place.run_with(&[&["build", "-k", "dynamic", "--items", "1", "-o", "f"], settings].concat(), keys);
        assert_eq!(run.code, Some(0), "{run:?}");
    };
    build(&[], "rose\nrose\nlily\n");
    let info = |place: &Place| place.run(&["info", "f", "--json"]).found().json()["figures"].clone();
    assert_eq!(info(&place), serde_json::json!({ "components": 3, "ambiguous_removals": 0 }));
    for count in 1..=2 {
        let run = place.run_with(&["remove", "f"], "rose\n");
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.err.contains("1 of 1 keys are in the filter and cannot be removed"), "{run:?}");
        assert_eq!(info(&place)["ambiguous_removals"], count);
    }
    let rows = place.run(&["info", "f"]).found().lines();
    let told = rows.iter().find(|row| row.starts_with("ambiguous removals"));
    assert!(told.is_some_and(|row| row.ends_with('2')), "{rows:?}");
    // With room to wait, the removal waits instead.
    build(&["--set", "retry=4"], "rose\nrose\n");
    place.run_with(&["remove", "f"], "rose\n").found();
    assert_eq!(info(&place), serde_json::json!({ "components": 2, "waiting_removals": 1, "ambiguous_removals": 0 }));
}

#[test]
fn components_are_sized_for_the_quartiles_of_the_nodes() {
    let place = Place::new();
    let capacity = |settings: &[&str]| {
        let settings: Vec<_> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let build = ["build", "-k", "dynamic", "--items", "1330", "--fpr", "0.0098", "-o", "f", "/dev/null"];
        place.run(&[build.as_slice(), &settings].concat()).found();
        place.run(&["info", "f", "--json"]).found().json()["parameters"]["capacity"].clone()
    };
    assert_eq!(capacity(&[]), 1330);
    assert_eq!(capacity(&["distribution=nodes"]), 222, "as for a uniform distribution");
    let small_sets = ["distribution=nodes", "quarter=10", "median=30", "three-quarters=100"];
    assert!(capacity(&small_sets).as_u64().unwrap() < 150, "most nodes take a component or two");
    let large_sets = ["distribution=nodes", "quarter=1300", "median=1310", "three-quarters=1320"];
    assert_eq!(capacity(&large_sets), 1330, "nearly every node takes all of it");
    let build = ["build", "-k", "dynamic", "--items", "50", "--set", "distribution=nodes", "--set", "median=60"];
    place.run(&[build.as_slice(), &["-o", "f", "/dev/null"]].concat()).fails(&["quarter <= median"]);
}

#[test]
fn keys_from_a_pipe_fill_few_components_whose_first_has_the_size_of_the_beginning() {
    let place = Place::new();
    let build = |keys: u32| {
        let run = place.run_with(&["build", "-o", "f"], lines(1..=keys));
        assert_eq!(run.code, Some(0), "{run:?}");
        place.run(&["info", "f", "--json"]).found().json()
    };
    let few = build(10);
    assert_eq!((&few["kind"], &few["parameters"]["items"]), (&"scalable".into(), &1000.into()));
    let all = build(50_000);
    assert_eq!((&all["figures"]["components"], &all["parameters"]["items"]), (&1.into(), &50_448.into()));
    assert!(all["bits_per_item"].as_f64().unwrap() < 15.0, "{all}");
    assert_eq!(place.run_with(&["query", "-c", "f"], lines(1..=50_000)).found().text(), "50000\n");
    // Beyond what is held, each component is twice the one before.
    let many = build(2_300_000);
    assert_eq!(many["figures"]["components"], 2);
    assert!((2 << 20..22 << 17).contains(&many["parameters"]["items"].as_u64().unwrap()), "{many}");
    assert!(many["fpr_expected"].as_f64().unwrap() <= 0.01, "{many}");
    assert_eq!(place.run_with(&["query", "-c", "f"], lines(1..=2_300_000)).found().text(), "2300000\n");
}
