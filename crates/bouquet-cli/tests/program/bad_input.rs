//! Bad input: one clear line, exit code 2, and nothing written.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use bouquet::codec::VERSION;
use xxhash_rust::xxh3::xxh3_64;

use crate::place::{PROGRAM, Place, lines, names_that_can};

/// Builds from a small file with these arguments, which must fail and write nothing.
#[track_caller]
fn build_fails(arguments: &[&str], parts: &[&str]) {
    let place = Place::new();
    place.file("keys", lines(1..=10));
    place.run(&[&["build", "keys", "-o", "out"], arguments].concat()).fails(parts);
    assert_eq!(place.names(), ["keys"]);
}

#[test]
fn an_unknown_kind_is_answered_with_the_nearest_names() {
    let some = names_that_can("")[0].clone();
    let misspelt = format!("{}x", &some[..some.len() - 1]);
    build_fails(&["--kind", &misspelt], &[&format!("unknown kind `{misspelt}`"), &format!("`{some}`")]);
    build_fails(&["--kind", "qqqqq"], &["unknown kind `qqqqq`", "bouquet kinds"]);
    let place = Place::new();
    place.run(&["explain", &misspelt]).fails(&[&misspelt, &some]);
    place.run(&["size", &misspelt, "--items", "1"]).fails(&[&misspelt, &some]);
}

#[test]
fn keyed_is_answered_with_how_to_use_a_secret() {
    let parts = ["every kind", "bouquet secret -o FILE", "--secret FILE"];
    build_fails(&["--kind", "keyed"], &parts);
    let explained = Place::new().run(&["explain", "keyed"]).found().text();
    assert!(parts.iter().all(|part| explained.contains(part)), "{explained}");
}

#[test]
fn an_unknown_parameter_is_answered_with_the_known_ones() {
    build_fails(&["--set", "petals=5"], &["no parameter `petals`", "items"]);
    build_fails(&["--set", "petals"], &["NAME=VALUE", "`petals`"]);
    build_fails(&["--items", "5", "--set", "items=6"], &["`items` is given twice"]);
}

#[test]
fn a_parameter_out_of_range_is_named_with_its_range() {
    build_fails(&["--set", "hashes=0"], &["`hashes`", "from 1 to", "`0`"]);
    build_fails(&["--set", "hashes=lots"], &["`hashes`", "`lots`"]);
    for bad in ["0", "1", "-0.5", "-1", "2", "NaN", "inf", "-inf", "", "x"] {
        build_fails(&["--fpr", bad], &["`fpr`", "above 0 and below 1", &format!("`{bad}`")]);
        let kind = names_that_can("")[0].clone();
        Place::new().run(&["size", &kind, "--items", "9", "--fpr", bad]).fails(&["`fpr`", "above 0 and below 1"]);
    }
    for bad in ["0", "-1", "0.5", "NaN", "1e30", "", "x"] {
        build_fails(&["--items", bad], &["`items`", "whole number from 1", &format!("`{bad}`")]);
    }
}

#[test]
fn a_size_beyond_memory_is_refused_before_anything_is_done() {
    build_fails(&["--items", "1e13"], &["more than can be allocated", "bytes"]);
    build_fails(&["--items", "1e16"], &["bits"]);
    build_fails(&["--set", "bits=4e18", "--set", "hashes=3"], &["bytes"]);
}

#[test]
fn wrong_arguments_are_one_line_too() {
    let place = Place::new();
    place.run(&["bild"]).fails(&["bild", "build"]);
    place.run(&["build", "keys"]).fails(&["--output"]);
    place.run(&["query"]).fails(&["FILTER"]);
    place.run(&["query", "f", "--item", "5"]).fails(&["--item"]);
    place.run(&["merge", "-o", "x", "f"]).fails(&["2 values required"]);
    place.run(&["advance", "f"]).fails(&["--ticks"]);
    assert_eq!(place.run(&[]).code, Some(2));
}

/// Every way to open a filter named `f`; `keys` holds keys.
const OPENING: [&[&str]; 20] = [
    &["query", "f", "keys"],
    &["query", "-q", "f", "keys"],
    &["query", "--mapped", "f", "keys"],
    &["add", "f", "keys"],
    &["remove", "f", "keys"],
    &["count", "f", "keys"],
    &["decode", "f", "keys"],
    &["top", "3", "f", "keys"],
    &["get", "f", "keys"],
    &["classify", "f", "keys"],
    &["list", "f"],
    &["advance", "f", "--ticks", "1"],
    &["grow", "f"],
    &["merge", "-o", "out", "f", "f"],
    &["intersect", "-o", "out", "f", "f"],
    &["estimate", "f"],
    &["estimate", "f", "f"],
    &["compress", "f", "-o", "out"],
    &["info", "f"],
    &["verify", "f"],
];

/// Every command must refuse this as the filter, with these parts in its message.
#[track_caller]
fn frame_fails(frame: &[u8], parts: &[&str]) {
    let place = Place::new();
    place.file("f", frame);
    place.file("keys", lines(1..=10));
    for arguments in OPENING {
        place.run(arguments).fails(&[&["f: "], parts].concat());
        assert_eq!(place.read("f"), frame, "{arguments:?}");
        assert_eq!(place.names(), ["f", "keys"], "{arguments:?}");
    }
}

#[test]
fn what_is_no_frame_is_refused() {
    frame_fails(b"key-0001\nkey-0002\n", &["not a bouquet frame"]);
    frame_fails(&[0; 1000], &["not a bouquet frame"]);
    frame_fails(b"", &["not a bouquet frame"]);
}

#[test]
fn a_truncated_frame_is_refused() {
    let place = Place::new();
    place.filter("f", 10);
    let frame = place.read("f");
    for len in [9, 63, 64, 100, frame.len() - 64, frame.len() - 1] {
        frame_fails(&frame[..len], &["truncated frame"]);
    }
    for len in 1..frame.len() {
        place.file("f", &frame[..len]);
        place.run(&["query", "f", "f.keys"]).fails(&["f: "]);
    }
    frame_fails(&[&frame[..], b"x"].concat(), &["length of the frame"]);
}

#[test]
fn a_flipped_bit_is_noticed_wherever_it_is() {
    let place = Place::new();
    place.filter("f", 10);
    let frame = place.read("f");
    let flipped = |bit: usize| {
        let mut copy = frame.clone();
        copy[bit / 8] ^= 1 << (bit % 8);
        copy
    };
    // Every bit in this process, and every seventeenth, which visits every bit of a byte, through the program.
    for bit in 0..frame.len() * 8 {
        assert!(bouquet::AnyFilter::from_bytes(&flipped(bit)).is_err(), "bit {bit}");
    }
    for bit in (0..frame.len() * 8).step_by(17) {
        place.file("f", flipped(bit));
        let run = place.run(&["query", "f", "f.keys"]).fails(&["f: "]);
        assert!(run.out.is_empty(), "bit {bit}");
    }
    // Every command with a bit of the store; a mapped query alone does not read it.
    let store = frame.len() * 8 - 64 * 8;
    place.file("f", flipped(store));
    place.file("keys", lines(1..=10));
    for arguments in OPENING.into_iter().filter(|arguments| !arguments.contains(&"--mapped")) {
        place.run(arguments).fails(&["f: corrupt frame"]);
    }
    for bit in [8 * 9, 8 * 20, 8 * 40, 8 * 70] {
        frame_fails(&flipped(bit), &[]);
    }
}

#[test]
fn a_frame_of_a_newer_version_asks_for_an_update() {
    let place = Place::new();
    place.filter("f", 10);
    let mut frame = place.read("f");
    let newer = VERSION + 1;
    frame[8..10].copy_from_slice(&newer.to_le_bytes());
    // The header's checksum is right: the version alone is strange.
    let length = |at: usize| u32::from_le_bytes(frame[at..at + 4].try_into().unwrap()) as usize;
    let stores = usize::from(u16::from_le_bytes(frame[14..16].try_into().unwrap()));
    let header = (64 + 40 * stores + length(24) + length(28)).next_multiple_of(64);
    frame[56..64].fill(0);
    let checksum = xxh3_64(&frame[..header]);
    frame[56..64].copy_from_slice(&checksum.to_le_bytes());
    frame_fails(&frame, &[&format!("version {newer} is newer than {VERSION}"), "update bouquet"]);

    // The same procedure with the version left alone gives the frame that was there.
    frame[8..10].copy_from_slice(&VERSION.to_le_bytes());
    frame[56..64].fill(0);
    let checksum = xxh3_64(&frame[..header]);
    frame[56..64].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(frame, place.read("f"));
}

#[test]
fn filters_that_differ_are_not_combined_and_the_difference_is_told() {
    let place = Place::new();
    place.file("keys", lines(1..=10));
    let build = |name: &str, arguments: &[&str]| {
        place.run(&[&["build", "keys", "-o", name], arguments].concat()).found();
    };
    build("base", &["--items", "100"]);
    build("size", &["--items", "200"]);
    build("seed", &["--items", "100", "--seed", "9"]);
    for command in ["merge", "intersect"] {
        place.run(&[command, "-o", "out", "base", "size"]).fails(&["base and size: ", "the filters differ in"]);
        place.run(&[command, "-o", "out", "base", "seed"]).fails(&["base and seed: ", "0x0000000000000009"]);
        place.run(&[command, "-o", "out", "base", "keys"]).fails(&["keys: not a bouquet frame"]);
        assert!(!place.path("out").exists());
    }
    place.run(&["estimate", "base", "seed"]).fails(&["base and seed: ", "differ"]);
    for kind in names_that_can("insert,merge").iter().skip(1) {
        // Notes are nothing that this test is about: an empty filter has none.
        place.run_with(&["build", "-o", "other", "--kind", kind, "--items", "100"], "");
        if place.path("other").exists() {
            place.run(&["merge", "-o", "out", "base", "other"]).fails(&["differ in kind", kind]);
            std::fs::remove_file(place.path("other")).unwrap();
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    let place = Place::new();
    place.filter("f", 10);
    std::fs::rename(place.path("f"), place.path("there")).unwrap();
    place.file("keys", lines(1..=10));
    for arguments in OPENING {
        place.run(arguments).fails(&["f: No such file or directory"]);
    }
    let before = place.read("there");
    place.run(&["build", "keys", "gone", "-o", "out"]).fails(&["gone: No such file"]);
    place.run(&["build", "keys", "gone", "-o", "out", "--items", "100"]).fails(&["gone: No such file"]);
    place.run(&["query", "there", "gone"]).fails(&["gone: No such file"]);
    place.run(&["add", "there", "keys", "gone"]).fails(&["gone: No such file"]);
    place.run(&["build", "keys", "-o", "no/where/out"]).fails(&["no/where/out: there is no directory no/where"]);
    place.run(&["query", "--secret", "gone", "there", "keys"]).fails(&["gone: No such file"]);
    assert_eq!(place.read("there"), before);
    assert!(!place.path("out").exists());
}

#[test]
fn a_directory_is_no_file() {
    let place = Place::new();
    place.filter("f", 10);
    std::fs::create_dir(place.path("d")).unwrap();
    place.run(&["query", "d", "f.keys"]).fails(&["d: Is a directory"]);
    place.run(&["query", "f", "d"]).fails(&["d: Is a directory"]);
    place.run(&["build", "d", "-o", "out"]).fails(&["d: Is a directory"]);
    place.run(&["build", "f.keys", "-o", "d"]).fails(&["d: "]);
    assert_eq!(place.names(), ["d", "f", "f.keys"]);
}

#[test]
fn an_unreadable_file_is_named() {
    let place = Place::new();
    place.filter("f", 10);
    // Root reads everything: the program runs as nobody, from a copy that nobody can reach. `cp` makes the copy, for
    // a file that this process writes is open in whatever another test forks meanwhile and cannot be run ("Text file
    // busy").
    let copied = std::process::Command::new("cp").arg(PROGRAM).arg(place.path("program")).status().unwrap();
    assert!(copied.success());
    let mode = |name: &str, mode| {
        std::fs::set_permissions(place.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("", 0o755);
    mode("program", 0o755);
    mode("f", 0o000);
    let root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(place.dir()).unwrap()) == 0;
    let run = |arguments: &[&str]| -> crate::place::Run {
        let mut command = std::process::Command::new(place.path("program"));
        command.args(arguments).current_dir(place.dir());
        if root {
            command.uid(65534).gid(65534);
        }
        command.output().unwrap().into()
    };
    run(&["query", "f", "f.keys"]).fails(&["f: Permission denied"]);
    run(&["info", "f"]).fails(&["f: Permission denied"]);
    mode("f", 0o644);
    mode("f.keys", 0o000);
    run(&["query", "f", "f.keys"]).fails(&["f.keys: Permission denied"]);
    mode("f.keys", 0o644);
    mode("", 0o555);
    if root {
        run(&["build", "f.keys", "-o", "out"]).fails(&["out: Permission denied"]);
    }
    mode("", 0o755);
}
