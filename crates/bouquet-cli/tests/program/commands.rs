//! What every command does when all is well.

use crate::place::{Place, kinds_that_can, lines, names_that_can, takes_bare_keys};

#[test]
fn built_keys_are_found_and_absent_ones_are_told_apart() {
    let place = Place::new();
    place.filter("f", 1000);
    let present = place.run(&["query", "f", "f.keys"]).found();
    assert_eq!(present.text(), lines(1..=1000));
    place.run(&["query", "-v", "f", "f.keys"]).nothing();
    assert_eq!(place.run(&["query", "-c", "f", "f.keys"]).found().text(), "1000\n");
    assert_eq!(place.run(&["query", "-q", "f", "f.keys"]).found().text(), "");

    // 1000 absent keys at a rate of 1 %: 10 seem present, 31 with probability 10^-8.
    place.file("absent", (0..1000).map(|i| format!("absent-{i}\n")).collect::<String>());
    let absent = place.run(&["query", "-v", "f", "absent"]).found().lines();
    assert!((970..=1000).contains(&absent.len()), "{}", absent.len());
    let count = place.run(&["query", "-v", "-c", "f", "absent"]).found();
    assert_eq!(count.text(), format!("{}\n", absent.len()));
    place.run_with(&["query", "f"], format!("{}\n", absent[0])).nothing();
    place.run_with(&["query", "-q", "f"], format!("{}\n", absent[0])).nothing();
    assert_eq!(place.run_with(&["query", "-c", "f"], format!("{}\n", absent[0])).nothing().text(), "0\n");
    place.run_with(&["query", "f"], "").nothing();
}

#[test]
fn files_and_standard_input_are_read_in_the_order_given() {
    let place = Place::new();
    place.filter("f", 10);
    place.file("a", "key-0001\nkey-0002");
    place.file("b", "key-0003\n");
    let run = place.run_with(&["query", "f", "b", "-", "a"], "key-0004").found();
    assert_eq!(run.text(), "key-0003\nkey-0004\nkey-0001\nkey-0002\n");
    assert_eq!(place.run_with(&["query", "f"], "key-0004").found().text(), "key-0004\n");
}

#[test]
fn keys_are_bytes_and_the_last_line_needs_no_newline() {
    let place = Place::new();
    let keys = [&b"\xff\xfe"[..], b"", b"a\tb", b"\0nul\0", b"caf\xe9\r", b"last"].join(&b'\n');
    place.file("keys", &keys);
    place
        .run(&["build", "keys", "-o", "f", "--fpr", "1e-9"])
        .found_with(&["keys:5: the line ends with a carriage return"]);
    let info = place.run(&["info", "--json", "f"]).found().json();
    assert_eq!((&info["items"], &info["parameters"]["items"]), (&6.into(), &6.into()));
    assert_eq!(place.run(&["query", "f", "keys"]).found_with(&["keys:5: "]).out, [&keys[..], b"\n"].concat());
    // A TAB belongs to the key: its beginning is another key.
    place.run_with(&["query", "f"], b"a\na\tc\n\xff\n").nothing();
}

#[test]
fn nul_separates_keys_that_hold_newlines() {
    let place = Place::new();
    place.file("keys", b"one\ntwo\0three\0four");
    place.run(&["build", "-0", "keys", "-o", "f", "--fpr", "1e-9"]).found();
    assert_eq!(place.run(&["query", "-0", "f", "keys"]).found().out, b"one\ntwo\0three\0four\0");
    place.run_with(&["query", "f"], "one\ntwo\n").nothing();
    assert_eq!(place.run_with(&["query", "f"], "one\nthree\n").found().text(), "three\n");
}

#[test]
fn filters_go_through_pipes() {
    let place = Place::new();
    place.file("keys", lines(1..=50));
    let run = place.shell(
        "\"$bouquet\" build keys -o - | \"$bouquet\" compress - -o - | \"$bouquet\" query - keys | \
         \"$bouquet\" build -o - --items 50 | \"$bouquet\" info --json -",
    );
    assert_eq!(run.found().json()["items"], 50);
    place.run_with(&["query", "-"], "").fails(&["standard input cannot be both"]);
    place.run_with(&["add", "-", "keys"], "").fails(&["in its file"]);
}

#[test]
fn the_default_kind_is_sized_for_files_and_grows_for_standard_input() {
    let place = Place::new();
    place.file("keys", lines(1..=300));
    place.run(&["build", "keys", "-o", "sized"]).found();
    let sized = place.run(&["info", "--json", "sized"]).found().json();
    assert_eq!(sized["parameters"]["items"], 300);

    place
        .run_with(&["build", "-o", "streamed"], lines(1..=300))
        .found_with(&["was chosen because it grows", "--items"]);
    let streamed = place.run(&["info", "--json", "streamed"]).found().json();
    let kind = streamed["kind"].as_str().unwrap();
    assert!(names_that_can("contains,insert,grow").iter().any(|growing| growing == kind), "{kind}");
    assert_eq!(place.run(&["query", "-c", "streamed", "keys"]).found().text(), "300\n");

    place.run_with(&["build", "-o", "told", "--items", "300"], lines(1..=300)).found();
    assert_eq!(place.run(&["info", "--json", "told"]).found().json()["kind"], sized["kind"]);
    assert_eq!(place.read("told"), place.read("sized"));
}

#[test]
fn a_filter_of_no_keys_contains_none() {
    let place = Place::new();
    place.file("none", "");
    place.run(&["build", "none", "-o", "f"]).found();
    place.run_with(&["query", "f"], "anything\n").nothing();
    place.run_with(&["build", "-o", "g"], "").found_with(&["was chosen"]);
    place.run_with(&["query", "g"], "anything\n").nothing();
}

#[test]
fn the_seed_is_recorded_and_changes_the_answers() {
    let place = Place::new();
    place.file("keys", lines(1..=100));
    for (seed, shown) in [("7", "0x0000000000000007"), ("0xffffffffffffffff", "0xffffffffffffffff")] {
        place.run(&["build", "keys", "-o", "f", "--seed", seed]).found();
        assert_eq!(place.run(&["info", "--json", "f"]).found().json()["seed"], shown);
        assert_eq!(place.run(&["query", "-c", "f", "keys"]).found().text(), "100\n");
    }
    for bad in ["-1", "x", "0x", "18446744073709551616"] {
        place.run(&["build", "keys", "-o", "f", "--seed", bad]).fails(&["--seed", "whole number from 0"]);
    }
}

#[test]
fn added_keys_are_found_and_the_old_ones_stay() {
    let place = Place::new();
    place.file("keys", lines(1..=100));
    place.run(&["build", "keys", "-o", "f", "--items", "200"]).found();
    place.run_with(&["add", "f"], lines(101..=200)).found();
    assert_eq!(place.run_with(&["query", "-c", "f"], lines(1..=200)).found().text(), "200\n");
    assert_eq!(place.run(&["info", "--json", "f"]).found().json()["items"], 200);
}

#[test]
fn too_many_keys_are_told() {
    let place = Place::new();
    place.file("keys", lines(1..=1000));
    let run = place.run(&["build", "keys", "-o", "f", "--items", "10"]);
    assert_eq!(run.code, Some(0));
    assert!(run.err.starts_with("bouquet: warning: f: 1000 keys in a filter for 10"), "{}", run.err);
}

#[test]
fn a_link_stays_a_link_and_its_file_is_replaced() {
    let place = Place::new();
    place.filter("f", 10);
    std::os::unix::fs::symlink("f", place.path("link")).unwrap();
    place.run_with(&["add", "link"], "another\n").found();
    assert!(std::fs::symlink_metadata(place.path("link")).unwrap().is_symlink());
    assert_eq!(place.run_with(&["query", "f"], "another\n").found().text(), "another\n");
}

#[test]
fn info_has_stable_fields() {
    let place = Place::new();
    place.filter("f", 1000);
    let info = place.run(&["info", "--json", "f"]).found().json();
    let fields: Vec<_> = info.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "kind items bits bits_per_item fill hashes fpr_expected hash seed version bytes parameters figures";
    assert_eq!(fields.join(" "), expected);
    assert_eq!(info["items"], 1000);
    assert_eq!(info["bytes"], place.read("f").len());
    assert_eq!(info["hash"], "fold-xxh3-64");
    place.run_with(&["build", "--wide", "-o", "wide"], "rose\n").found_with(&["was chosen"]);
    assert_eq!(place.run(&["info", "--json", "wide"]).found().json()["hash"], "xxh3-128");
    assert_eq!(place.run_with(&["query", "wide"], "rose\n").found().text(), "rose\n");
    let bits = info["bits"].as_f64().unwrap();
    assert_eq!(info["bits_per_item"].as_f64().unwrap(), bits / 1000.0);
    assert!((0.45..0.55).contains(&info["fill"].as_f64().unwrap()), "{info}");
    assert!((0.005..0.02).contains(&info["fpr_expected"].as_f64().unwrap()), "{info}");
    assert!(info["parameters"].is_object() && info["version"].is_u64() && info["hashes"].is_u64(), "{info}");

    let text = place.run(&["info", "f"]).found().text();
    for word in ["kind", "items", "bits per item", "fill", "hashes", "expected rate", "seed", "version", "parameters"] {
        assert!(text.lines().any(|line| line.starts_with(word)), "{word}: {text}");
    }
}

#[test]
fn size_foretells_what_build_makes() {
    let place = Place::new();
    place.file("keys", lines(1..=1000));
    for kind in names_that_can("contains,insert") {
        let args = ["size", &kind, "--items", "1000", "--fpr", "0.01"];
        if kinds_that_can("").iter().any(|known| known["kind"] == *kind && !has_parameters(known, &["items", "fpr"])) {
            place.run(&args).fails(&["has no parameter"]);
            continue;
        }
        let size = place.run(&[&args[..], &["--json"]].concat()).found().json();
        assert_eq!(size["kind"], *kind);
        let (bits, hashes) = (size["bits"].as_u64().unwrap(), size["hashes"].as_u64().unwrap());
        assert!(bits > 0 && hashes > 0, "{size}");
        if let Some(rate) = size["fpr_expected"].as_f64() {
            let least = 1000.0 * (1.0 / rate).log2();
            assert!((size["least_bits"].as_f64().unwrap() / least - 1.0).abs() < 1e-9, "{size}");
            assert!((size["over_least"].as_f64().unwrap() / (bits as f64 / least) - 1.0).abs() < 1e-9, "{size}");
        }
        let text = place.run(&args).found().text();
        for word in ["bits", "hashes", "bits per key", "expected rate", "lower bound"] {
            assert!(text.contains(word), "{text}");
        }
    }
    // The default kind is sized once and for all, so that the plan is exact.
    let kind = place.run(&["kinds", "--json"]).found().json()[0]["kind"].as_str().unwrap().to_owned();
    let size = place.run(&["size", &kind, "--items", "1000", "--fpr", "0.01", "--json"]).found().json();
    place.run(&["build", "keys", "-o", "f", "--kind", &kind, "--items", "1000", "--fpr", "0.01"]).found();
    let info = place.run(&["info", "f", "--json"]).found().json();
    assert_eq!((&info["bits"], &info["hashes"]), (&size["bits"], &size["hashes"]));
}

fn has_parameters(kind: &serde_json::Value, names: &[&str]) -> bool {
    let parameters = kind["parameters"].as_array().unwrap();
    names.iter().all(|name| parameters.iter().any(|parameter| parameter["name"] == *name))
}

#[test]
fn kinds_are_listed_chosen_and_explained() {
    let place = Place::new();
    let all = kinds_that_can("");
    let text = place.run(&["kinds"]).found().text();
    assert!(!all.is_empty());
    for kind in &all {
        let (id, summary) = (kind["kind"].as_str().unwrap(), kind["summary"].as_str().unwrap());
        assert!(text.lines().any(|line| line.trim().starts_with(id) && line.ends_with(summary)), "{id}: {text}");
        let explained = place.run(&["explain", id]).found().text();
        for section in ["Question", "Idea", "Errors", "Choose another", "Papers", "Parameters"] {
            assert!(explained.contains(section), "{id}: {explained}");
        }
        let squeezed = explained.split_whitespace().collect::<Vec<_>>().join(" ");
        for parameter in kind["parameters"].as_array().unwrap() {
            for field in ["name", "range", "help"] {
                assert!(squeezed.contains(parameter[field].as_str().unwrap()), "{id}: {parameter}");
            }
        }
        for alias in kind["aliases"].as_array().unwrap() {
            assert_eq!(place.run(&["explain", alias.as_str().unwrap()]).found().text(), explained);
        }
    }
    let verbs =
        ["contains", "insert", "remove", "count", "get", "classify", "judge", "list", "advance", "grow", "merge"];
    for verb in verbs.into_iter().chain(["top", "decode", "intersect", "cardinality", "compress", "build_from"]) {
        let able: Vec<_> = all.iter().filter(|kind| kind["can"].as_array().unwrap().contains(&verb.into())).collect();
        assert_eq!(kinds_that_can(verb).iter().collect::<Vec<_>>(), able, "{verb}");
    }
    assert_eq!(kinds_that_can("query,add,estimate"), kinds_that_can("contains,insert,cardinality"));
    place.run(&["kinds", "--can", "juggle"]).fails(&["unknown verb `juggle`", "contains, insert"]);
}

#[test]
fn verify_reads_every_byte_and_mapped_queries_do_not() {
    let place = Place::new();
    place.filter("f", 100);
    place.filter("g", 100);
    assert_eq!(place.run(&["verify", "f", "g"]).found().text(), "f: whole\ng: whole\n");
    assert_eq!(place.run(&["query", "--mapped", "-c", "f", "f.keys"]).found().text(), "100\n");
    let mut frame = place.read("f");
    // The last word of the store, before the padding, lies far from the header.
    let at = frame.len() - 64;
    frame[at] ^= 1;
    place.file("f", frame);
    let run = place.run(&["verify", "f", "g"]).fails(&["f: corrupt frame"]);
    assert_eq!(run.text(), "g: whole\n");
    place.run(&["query", "f", "f.keys"]).fails(&["f: corrupt frame"]);
    let mapped = place.run(&["query", "--mapped", "-c", "f", "f.keys"]);
    assert!(matches!(mapped.code, Some(0 | 1)), "{mapped:?}");
}

#[test]
fn a_coded_filter_that_unfolds_to_too_much_is_refused() {
    let place = Place::new();
    place.filter("f", 100);
    place.run(&["compress", "f", "-o", "sent"]).found();
    place.run(&["query", "--max-coded", "1000", "-q", "sent", "f.keys"]).found();
    place.run(&["info", "--max-coded", "100", "sent"]).fails(&["sent: the coded part of the frame needs"]);
    place.run(&["query", "--max-coded", "100", "-q", "f", "f.keys"]).found();
    place.run(&["info", "--max-coded", "9e99", "sent"]).fails(&["--max-coded"]);
}

#[test]
fn a_filter_that_is_too_full_is_refused() {
    let place = Place::new();
    place.filter("f", 100);
    place.run(&["query", "--max-fill", "0.9", "-q", "f", "f.keys"]).found();
    place.run(&["query", "--max-fill", "0.1", "f", "f.keys"]).fails(&["f: refused", "above the allowed 0.1"]);
    place.run(&["info", "--max-fill", "0.1", "f"]).fails(&["f: refused"]);
    for bad in ["-1", "1.5", "NaN"] {
        place.run(&["query", "--max-fill", bad, "f", "f.keys"]).fails(&["--max-fill", "0 to 1"]);
    }
}

#[test]
fn help_tells_what_files_and_standard_input_mean() {
    let place = Place::new();
    let help = place.run(&["--help"]).found().text();
    assert!(help.contains("Examples:") && help.contains("bouquet build"), "{help}");
    let commands: Vec<_> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .filter(|command| command != "help")
        .collect();
    assert_eq!(commands.len(), 36, "{commands:?}");
    for command in &commands {
        let help = place.run(&[command, "--help"]).found().text();
        if help.contains("[FILE]...") {
            assert!(help.contains("standard input"), "{command}: {help}");
        }
    }
    assert!(place.run(&["--version"]).found().text().starts_with("bouquet "));
}

/// The fields of CSV whose last may be quoted.
fn fields(line: &str) -> Vec<String> {
    let (plain, quoted) = line.split_once('"').unwrap_or((line, ""));
    let mut fields: Vec<_> = plain.split(',').map(str::to_owned).collect();
    if !quoted.is_empty() {
        *fields.last_mut().unwrap() = quoted.trim_end_matches('"').into();
    }
    fields
}

#[test]
fn compare_measures_every_kind_or_says_why_not() {
    let place = Place::new();
    let run = place.run(&["compare", "--items", "2000", "--fpr", "0.02", "--rounds", "2", "--format", "csv"]).found();
    let lines = run.lines();
    let names = fields(&lines[0]);
    let at = |name: &str| names.iter().position(|other| other == name).unwrap();
    let all = kinds_that_can("");
    assert_eq!(lines.len(), 1 + all.len());
    let mut measured = 0;
    for kind in &all {
        let id = kind["kind"].as_str().unwrap();
        let row = lines.iter().map(|line| fields(line)).find(|row| row[0] == id);
        let row = row.unwrap_or_else(|| panic!("{id} is missing"));
        assert_eq!(row.len(), names.len(), "{row:?}");
        let number = |name: &str| row[at(name)].parse::<f64>().ok();
        if !row[at("not_compared")].is_empty() {
            assert!(number("bits_per_key").is_none(), "{row:?}");
            continue;
        }
        measured += 1;
        assert!(number("bits_per_key").unwrap() > 1.0 && number("contains_ns").unwrap() > 0.0, "{row:?}");
        // A verb that needs other settings than the usual ones is not measured without them.
        let can =
            |verb: &str| kind["can"].as_array().unwrap().contains(&verb.into()) && kind["needs"].get(verb).is_none();
        assert_eq!(number("remove_ns").is_some(), can("remove"), "{row:?}");
        // 4,000 keys that are not there, asked of two filters, whose rates scatter themselves by some percent.
        if let (Some(rate), Some(theory)) = (number("fpr"), number("fpr_theory")) {
            let allowed = 5.0 * (theory / 4000.0).sqrt() + 0.1 * theory;
            assert!((rate - theory).abs() <= allowed, "{row:?}");
        }
    }
    assert!(measured >= 8, "{measured} kinds were measured");
}

#[test]
fn compare_takes_verbs_and_kinds_and_draws() {
    let place = Place::new();
    let removable = kinds_that_can("remove,contains");
    let args =
        ["compare", "--can", "remove", "--can", "contains", "--items", "1e3", "--rounds", "1", "--svg", "plot.svg"];
    let text = place.run(&args).found().text();
    for kind in &removable {
        assert!(text.contains(kind["kind"].as_str().unwrap()), "{text}");
    }
    let others: Vec<_> = names_that_can("").into_iter().filter(|id| !names_that_can("remove").contains(id)).collect();
    assert!(text.contains("remove") && !text.lines().any(|line| others.iter().any(|id| line.starts_with(id.as_str()))));
    // Who is asked for by a verb has the settings that it needs.
    let rows = place.run(&["compare", "--can", "remove", "--items", "1e3", "--rounds", "1", "--format", "csv"]).found();
    let header = fields(&rows.lines()[0]);
    let column = |name: &str| header.iter().position(|other| other == name).unwrap();
    for row in rows.lines()[1..].iter().map(|line| fields(line)) {
        assert!(row[column("contains_ns")].is_empty() || !row[column("remove_ns")].is_empty(), "{row:?}");
    }
    let drawing = String::from_utf8(place.read("plot.svg")).unwrap();
    assert!(drawing.starts_with("<svg") && drawing.contains("bits per key"));
    assert!(drawing.contains(removable[0]["kind"].as_str().unwrap()));
    let [one, two, three] = [0, 1, 2].map(|at| names_that_can("contains,insert,merge")[at].clone());
    let both = format!("{one},{two}");
    let rates = ["compare", "--kind", &both, "--items", "1e3", "--rounds", "1", "--svg", "r.svg", "--plot", "rate"];
    let lines = place.run(&rates).found().lines();
    let starts = |id: &str| lines.iter().any(|line| line.split_whitespace().next() == Some(id));
    assert!(starts(&one) && starts(&two) && !starts(&three), "{lines:?}");
    assert!(String::from_utf8(place.read("r.svg")).unwrap().contains("measured false-positive rate"));

    place.run(&["compare", "--can", "juggle"]).fails(&["unknown verb `juggle`"]);
    place.run(&["compare", "--kind", &one[1..]]).fails(&["unknown kind"]);
    place.run(&["compare", "--items", "0"]).fails(&["items"]);
    place.run(&["compare", "--fpr", "2"]).fails(&["fpr"]);
    place.run(&["compare", "--set", "petals=5"]).fails(&["none of the kinds has a parameter `petals`"]);
    place.run(&["compare", "--kind", &others[0], "--can", "remove"]).nothing();
    place.run(&["compare", "--items", "1e17", "--rounds", "1"]).fails(&["items"]);
    // A kind that has no rate to be made for is listed with that reason.
    let without = |kind: &&serde_json::Value| {
        !kind["parameters"].as_array().unwrap().iter().any(|parameter| parameter["name"] == "fpr")
    };
    for kind in kinds_that_can("").iter().filter(without) {
        let run = place.run(&["compare", "--kind", kind["kind"].as_str().unwrap(), "--items", "100"]);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.text().contains("not compared:") && run.text().contains("has no parameter"), "{run:?}");
    }
}

#[test]
fn top_shows_the_most_frequent_keys() {
    let keys: String = (1..=40).flat_map(|i| (0..i).map(move |_| format!("key-{i:02}\n"))).collect();
    for kind in kinds_that_can("count,insert") {
        let id = kind["kind"].as_str().unwrap();
        if !takes_bare_keys(&kind) {
            continue;
        }
        let place = Place::new();
        let built = place.run_with(&["build", "-o", "f", "--kind", id, "--items", "2000"], &keys);
        if built.code != Some(0) {
            continue;
        }
        // Every candidate twice: that changes nothing.
        place.file("candidates", format!("{keys}{keys}absent\n"));
        let lines = place.run(&["top", "3", "f", "candidates"]).found().lines();
        assert_eq!(lines, place.run_with(&["top", "3", "f"], place.read("candidates")).found().lines(), "{id}");
        assert_eq!(lines.len(), 3, "{id}");
        let counts: Vec<u64> =
            lines.iter().map(|line| line.split('\t').nth(1).unwrap().trim_end_matches('+').parse().unwrap()).collect();
        assert!(counts.is_sorted_by(|a, b| a >= b), "{id}: {lines:?}");
        place.run_with(&["top", "3", "f"], "absent\n").nothing();
        place.run_with(&["top", "0", "f"], "key-40\n").nothing();
    }
    // Counters of sixteen bits hold all of these counts.
    let place = Place::new();
    let built = ["build", "-o", "f", "--kind", "counting", "--items", "2000", "--set", "width=16"];
    place.run_with(&built, &keys).found();
    assert_eq!(place.run_with(&["top", "2", "f"], &keys).found().text(), "key-40\t40\nkey-39\t39\n");
    let has = |kind: &&serde_json::Value, name: &str| {
        kind["parameters"].as_array().unwrap().iter().any(|parameter| parameter["name"] == name)
    };
    // A table that can list needs no candidates.
    for kind in kinds_that_can("list,count").iter().filter(|kind| kind["note"] == "bytes" && has(kind, "items")) {
        let pairs = "rose\tredgreen\nlily\twhitewhi\n";
        let id = kind["kind"].as_str().unwrap();
        place.run_with(&["build", "-o", "t", "--kind", id, "--items", "100"], pairs).found();
        assert_eq!(place.run(&["top", "5", "t"]).found().text(), "lily\t1\nrose\t1\n");
        assert_eq!(place.run_with(&["top", "5", "t", "-"], "rose\n").found().text(), "rose\t1\n");
    }
    place.filter("plain", 10);
    place.run_with(&["top", "5", "plain"], "key-0001\n").fails(&["cannot count"]);
}
