//! What the program tells people, and what it does not let others tell them.

use crate::place::{Place, lines};

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let place = Place::new();
    place.file("keys", lines(1..=10));
    let clean = |run: &crate::place::Run| {
        let bytes = [run.err.as_bytes(), &run.out].concat();
        assert!(bytes.iter().all(|byte| *byte == b'\n' || !byte.is_ascii_control()), "{run:?}");
    };
    for (frame, escaped) in [
        (&include_bytes!("escape-name.bq")[..], r"\x1b]0;pwned\x07\x1b[31mRED"),
        (&include_bytes!("escape-value.bq")[..], r"\x1b[2J\x1b[31mEVIL"),
    ] {
        place.file("f", frame);
        for command in [&["info", "f"][..], &["verify", "f"], &["query", "f", "keys"], &["add", "f", "keys"]] {
            let run = place.run(command).fails(&["f: ", escaped]);
            clean(&run);
        }
    }
    // Names of files, too: whoever unpacks an archive has not chosen them.
    let name = "\x1b[31m\u{9b}m\u{202e}f";
    place.file(name, "no frame");
    let run = place.run(&["verify", name]).fails(&[r"\x1b[31m\u{9b}m\u{202e}f: not a bouquet frame"]);
    clean(&run);
    place.run(&["build", "keys", "-o", name]).found();
    let run = place.run(&["verify", name]).found();
    assert_eq!(run.text(), "\\x1b[31m\\u{9b}m\\u{202e}f: whole\n");
}

#[test]
fn keys_that_a_filter_names_are_escaped_on_a_terminal_only() {
    let place = Place::new();
    place.file("keys", "\x1b[31mrose\t7\n");
    place.run(&["build", "--kind", "iblt", "--items", "10", "keys", "-o", "f"]).found();
    assert_eq!(place.run(&["list", "f"]).found().out, b"\x1b[31mrose\t7\n");
    let terminal = place.shell("command -v script >/dev/null || exit 77; script -qec '\"$bouquet\" list f' /dev/null");
    if terminal.code == Some(77) {
        eprintln!("no terminal can be had");
        return;
    }
    assert_eq!(terminal.text().trim_end(), "\\x1b[31mrose\t7");
}

/// A filter whose bits are all set, though it claims a few keys.
fn polluted(place: &Place) {
    place.file("keys", lines(1..=100));
    place.file("many", lines(101..=9000));
    place.run(&["build", "keys", "-o", "f", "--items", "100"]).found();
    place
        .run(&["build", "many", "-o", "full", "--items", "100"])
        .found_with(&["warning: full: 8900 keys in a filter for 100", "--items"]);
    let (few, full) = (place.read("f"), place.read("full"));
    // The state of the frame, where the number of keys is: 8 bytes, found by their value.
    let at = |frame: &[u8], items: u64| frame.windows(8).position(|bytes| bytes == items.to_le_bytes()).unwrap();
    let mut forged = full.clone();
    forged[at(&full, 8900)..][..8].copy_from_slice(&100u64.to_le_bytes());
    // Checksums as FORMAT.md has them: the header's with its own field zero.
    let length = |at: usize| u32::from_le_bytes(forged[at..at + 4].try_into().unwrap()) as usize;
    let header =
        (64 + 40 * usize::from(u16::from_le_bytes(forged[14..16].try_into().unwrap())) + length(24) + length(28))
            .next_multiple_of(64);
    forged[56..64].fill(0);
    let checksum = xxhash_rust::xxh3::xxh3_64(&forged[..header]);
    forged[56..64].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(few.len(), forged.len());
    place.file("forged", forged);
}

#[test]
fn a_filter_that_is_fuller_than_its_keys_account_for_is_told_of() {
    let place = Place::new();
    polluted(&place);
    let parts = ["warning: forged: its fill is ", "100 keys give at most", "--max-fill auto"];
    place.run(&["info", "forged"]).found_with(&parts);
    place.run(&["query", "-c", "forged", "keys"]).found_with(&parts);
    place.run(&["merge", "-o", "both", "f", "forged"]).found_with(&parts);
    for command in
        ["info forged", "query forged keys", "query --mapped forged keys", "merge -o x f forged", "add forged keys"]
    {
        let run = place.shell(&format!("exec \"$bouquet\" {command} --max-fill auto"));
        run.fails(&["forged: refused: fill ", "above the allowed"]);
    }
    place.run(&["delta", "f", "forged", "-o", "patch"]).found();
    place.run(&["patch", "f", "patch", "-o", "x", "--max-fill", "auto"]).fails(&["patch: refused: fill "]);
    for command in ["info", "query"] {
        for honest in ["f", "full"] {
            let keys: &[&str] = if command == "query" { &["keys", "many"] } else { &[] };
            place.run(&[&[command, "--max-fill", "auto", honest], keys].concat()).found();
        }
    }
    place.run(&["info", "--max-fill", "most", "f"]).fails(&["--max-fill", "from 0 to 1, or `auto`"]);
}

#[test]
fn flows_of_many_packets_are_no_pollution() {
    let place = Place::new();
    let flows: String = (0..20).flat_map(|round| (1..=1000 / (round + 1)).map(|key| format!("flow-{key}\n"))).collect();
    place.file("packets", flows);
    for resolutions in ["1", "3"] {
        let set = format!("resolutions={resolutions}");
        let arguments =
            ["build", "--kind", "space-code", "packets", "-o", "f", "--items", "1000", "--set", "largest=20"];
        place.run(&[&arguments[..], &["--set", &set]].concat()).found();
        place.run(&["info", "--max-fill", "auto", "f"]).found();
    }
}

#[test]
fn line_ends_of_other_systems_are_told_of_or_left_out() {
    let place = Place::new();
    place.file("unix", "rose\niris\n");
    place.file("dos", b"\xef\xbb\xbfrose\r\niris\r\n");
    place.file("mixed", b"rose\niris\r\n");
    let exact = ["--items", "10", "--fpr", "1e-9"];
    place.run(&[&["build", "unix", "-o", "f"], &exact[..]].concat()).found();
    let run = place.run(&[&["build", "dos", "-o", "g"], &exact[..]].concat());
    run.found_with(&["warning: dos:1: the line begins with a byte-order mark", "--crlf"]);
    place
        .run(&["query", "f", "mixed"])
        .found_with(&["warning: mixed:2: the line ends with a carriage return", "--crlf"]);
    place.run(&[&["build", "--crlf", "dos", "-o", "g"], &exact[..]].concat()).found();
    assert_eq!(place.read("f"), place.read("g"));
    assert_eq!(place.run(&["query", "--crlf", "f", "dos"]).found().text(), "rose\niris\n");
    assert_eq!(place.run(&["query", "--crlf", "f", "unix", "dos"]).found().lines().len(), 4);
    // NUL ends these keys: what a carriage return is in them is nobody's business.
    place.run_with(&["query", "-0", "f"], b"rose\r\0iris\0").found();
    place.run(&["query", "--crlf", "-0", "f", "dos"]).fails(&["--crlf", "--null"]);
}

#[test]
fn no_rate_below_the_collisions_of_digests_is_claimed() {
    let place = Place::new();
    place.file("keys", lines(1..=1000));
    let build = ["build", "keys", "-o", "f", "--fpr", "1e-18"];
    let rate = || place.run(&["info", "--json", "f"]).found().json()["fpr_expected"].as_f64().unwrap();
    place.run(&build).found_with(&["f: 1000 keys have a rate of at least 5.421e-17", "--wide hashes to 128 bits"]);
    assert!((5.42e-17..5.6e-17).contains(&rate()), "{}", rate());
    place.run(&[&build[..], &["--wide"]].concat()).found();
    assert!((5e-19..1.1e-18).contains(&rate()), "{}", rate());
    // Words of 32 bits come from half of a wide digest, for those who insist on them.
    place
        .run(&[&build[..], &["--wide", "--set", "reduction=fastrange32"]].concat())
        .found_with(&["at least 5.421e-17", "--set reduction=fastrange uses all 128 bits"]);
    assert!((5.42e-17..5.6e-17).contains(&rate()), "{}", rate());
    place.run(&[&build[..], &["--kind", "counting"]].concat()).found_with(&["at least 5.421e-17", "--wide hashes"]);
}

#[test]
fn messages_name_the_file_the_reason_and_the_remedy() {
    let place = Place::new();
    place.file("keys", lines(1..=10));
    place.file("pairs", "rose\t7\niris\t9\n");
    place.run(&["info", "gone"]).fails(&["gone: No such file or directory; check the name\n"]);
    place.run(&["info", "--jsn", "f"]).fails(&["'--jsn' found; a similar argument exists: '--json'; --help"]);
    place.run(&["build", "keys", "-o", "counts", "--kind", "count-min"]).found();
    place
        .run(&["query", "counts", "keys"])
        .fails(&["counts: `count-min` cannot tell membership; `bouquet count` gives its counts"]);
    place.run(&["build", "pairs", "-o", "values", "--kind", "bloomier"]).found();
    let again = "values: `bloomier` is built once: build it again with all keys; kinds that can: ";
    place.run(&["add", "values", "pairs"]).fails(&[again, "`bouquet kinds --can insert` lists"]);
    place.run_with(&["build", "-o", "f", "--set", "bits=1000"], "rose\n").fails(&[
        "kind `scalable` has no parameter `bits`",
        "`scalable` was chosen because it grows",
        "--items N or --kind KIND",
    ]);
    place.run(&["build", "keys", "-o", "tiny", "--fpr", "1e-300", "--set", "hashes=64"]).found_with(&[
        "warning: tiny: 10 keys have a rate of at least 5.421e-19",
        "64 bits collide; --wide hashes to 128 bits",
    ]);
    let info = place.run(&["info", "tiny"]).found().text();
    assert!(info.contains("fpr=1e-300 ") && !info.contains("0000000000000000000000"), "{info}");
    place.run(&["patch", "tiny", "keys", "-o", "out"]).fails(&["keys: not a bouquet patch", "`bouquet delta` makes"]);
    place.run(&["secret", "-o", "key"]).found();
    place.run(&["build", "keys", "-o", "keyed", "--secret", "key"]).found();
    place
        .run(&["query", "keyed", "keys"])
        .fails(&["keyed: the filter is keyed: give the secret", "with --secret FILE"]);
    place.run(&["build", "keys", "-o", "full", "--kind", "cuckoo", "--items", "10"]).found();
    let run = place.run_with(&["add", "full"], lines(11..=200));
    run.fails(&["full: the filter is full: ", "and the spare one is in use", "standard input"]);
}
