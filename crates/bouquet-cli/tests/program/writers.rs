//! Who writes what: several writers of one file, outputs that are inputs, owners, links and names.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Stdio;
use std::time::Duration;

use crate::place::{Place, lines};

#[test]
fn keys_that_are_added_at_once_are_all_contained() {
    let place = Place::new();
    place.run_with(&["build", "-o", "f", "--items", "8000"], "").found();
    let mut children: Vec<_> = (0..8)
        .map(|part| {
            place.file(&format!("keys-{part}"), lines(1000 * part + 1..=1000 * (part + 1)));
            place.command(&["add", "f", &format!("keys-{part}")]).spawn().unwrap()
        })
        .collect();
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    assert_eq!(place.run(&["info", "--json", "f"]).found().json()["items"], 8000);
    assert_eq!(place.run_with(&["query", "-c", "f"], lines(1..=8000)).found().text(), "8000\n");
    assert!(!place.names().iter().any(|name| name.ends_with(".tmp")), "{:?}", place.names());
}

#[test]
fn whoever_changes_a_file_keeps_all_others_waiting() {
    let place = Place::new();
    place.file("keys", lines(1..=100));
    place.run(&["build", "--kind", "counting", "--items", "1000", "keys", "-o", "f"]).found();
    place.file("g", place.read("f"));
    place.run(&["delta", "f", "g", "-o", "patch"]).found();
    for how in [&["add", "f"][..], &["add", "--in-place", "f"]] {
        let mut first = place.command(how).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = first.stdin.take().unwrap();
        stdin.write_all(b"rose\n").unwrap();
        let busy =
            |run: crate::place::Run| run.code == Some(2) && run.err.contains("f: another writer has the file open");
        while !busy(place.run(&["remove", "--no-wait", "f", "keys"])) {
            // Without waiting: the first may have the file by now, and is itself waiting for this test.
            place.run(&["add", "--no-wait", "f", "keys"]);
            std::thread::sleep(Duration::from_millis(5));
        }
        for command in [
            "add --no-wait f keys",
            "add --no-wait --in-place f keys",
            "remove --no-wait f keys",
            "merge --no-wait -o f f g",
            "patch --no-wait f patch -o f",
            "build --no-wait keys -o f",
        ] {
            assert!(busy(place.shell(&format!("exec \"$bouquet\" {command}"))), "{command}");
        }
        let second = place.command(&["add", "f", "keys"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        drop(stdin);
        assert!(first.wait().unwrap().success());
        let second: crate::place::Run = second.wait_with_output().unwrap().into();
        second.found_with(&["f: another command is changing the file; waiting"]);
        place.run_with(&["query", "f"], "rose\n").found();
    }
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let place = Place::new();
    place.filter("f", 100);
    place.file("keys", lines(1..=100));
    place.file("g", place.read("f"));
    place.run(&["delta", "f", "g", "-o", "patch"]).found();
    place.run(&["secret", "-o", "key"]).found();
    std::fs::hard_link(place.path("keys"), place.path("hard")).unwrap();
    symlink("keys", place.path("soft")).unwrap();
    let contents = |place: &Place| place.names().iter().map(|name| place.read(name)).collect::<Vec<_>>();
    let before = contents(&place);
    for command in [
        "build -o keys keys",
        "build -o keys f keys",
        "build -o ./keys keys",
        "build -o hard keys",
        "build -o soft keys",
        "build -o keys hard",
        "build -o keys soft",
        "build -o keys < keys",
        "build -o keys --items 10 - < soft",
        "build -o key --secret key keys",
        "build --kind bloomier -o keys --absent keys f",
        "delta f g -o f",
        "delta f g -o g",
        "patch f patch -o patch",
        "merge f g -o key --secret key",
        "add f f",
        "add --in-place f f",
        "add f < f",
        "remove f f",
        "query f keys >> keys",
        "query f < keys >> keys",
    ] {
        let run = place.shell(&format!("exec \"$bouquet\" {command}"));
        run.fails(&["an input would be overwritten by the output"]);
        assert!(contents(&place) == before, "{command}");
    }
    // What is asked for is done: a filter that is changed, and devices.
    for command in ["merge -o f f g", "compress f -o f", "patch f /dev/null -o /dev/null", "query f keys > all"] {
        let run = place.shell(&format!("exec \"$bouquet\" {command}"));
        assert!(!run.err.contains("overwritten"), "{command}: {}", run.err);
    }
}

#[test]
fn a_replaced_file_keeps_its_owner_and_its_mode() {
    let place = Place::new();
    place.filter("f", 100);
    place.file("keys", lines(101..=110));
    std::fs::set_permissions(place.path("f"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let root = std::fs::metadata(place.dir()).unwrap().uid() == 0;
    if root {
        std::os::unix::fs::chown(place.path("f"), Some(65534), Some(65533)).unwrap();
    }
    let facts = |place: &Place| {
        let file = std::fs::metadata(place.path("f")).unwrap();
        (file.uid(), file.gid(), file.mode())
    };
    let before = facts(&place);
    for command in ["add f keys", "build keys -o f", "merge f f -o f", "compress f -o f"] {
        let number = std::fs::metadata(place.path("f")).unwrap().ino();
        place.shell(&format!("\"$bouquet\" {command}")).found();
        assert_ne!(std::fs::metadata(place.path("f")).unwrap().ino(), number, "{command}: it was replaced");
        assert_eq!(facts(&place), before, "{command}");
    }
}

#[test]
fn links_that_lead_nowhere_yet_are_followed() {
    let place = Place::new();
    place.file("keys", lines(1..=10));
    std::fs::create_dir(place.path("d")).unwrap();
    symlink("d/second", place.path("first")).unwrap();
    symlink("target", place.path("d/second")).unwrap();
    for _ in 0..2 {
        place.run(&["build", "keys", "-o", "first"]).found();
        assert!(std::fs::symlink_metadata(place.path("first")).unwrap().is_symlink());
        assert!(std::fs::symlink_metadata(place.path("d/second")).unwrap().is_symlink());
        assert!(std::fs::symlink_metadata(place.path("d/target")).unwrap().is_file());
        place.run(&["verify", "first"]).found();
    }
    symlink("circle", place.path("circle")).unwrap();
    place.run(&["build", "keys", "-o", "circle"]).fails(&["circle: symbolic links lead in a circle"]);
}

#[test]
fn names_as_long_as_a_file_system_takes_can_be_written() {
    let place = Place::new();
    let long = "x".repeat(255);
    place.file("keys", lines(1..=10));
    for _ in 0..2 {
        place.run(&["build", "keys", "-o", &long]).found();
        place.run(&["add", &long, "keys"]);
    }
    assert_eq!(place.names(), ["keys", &long]);
}

#[test]
fn a_directory_and_a_closed_output_are_told_as_such() {
    let place = Place::new();
    place.filter("f", 10);
    std::fs::create_dir(place.path("d")).unwrap();
    for name in ["d", "d/", "new/"] {
        place.run(&["build", "f.keys", "-o", name]).fails(&[&format!("{name}: this is a directory"), "NAME"]);
    }
    for command in ["query f f.keys", "info f", "kinds", "build f.keys -o -", "list f"] {
        let run = place.shell(&format!("exec \"$bouquet\" {command} >&-"));
        if command != "list f" {
            run.fails(&["standard output is closed"]);
        }
    }
    place.shell("exec \"$bouquet\" --help >&-").fails(&["standard output is closed"]);
    place.shell("exec \"$bouquet\" --help > /dev/full").fails(&["standard output: No space left"]);
    for command in ["build -o g", "add f", "query f", "info -"] {
        let run = place.shell(&format!("exec \"$bouquet\" {command} <&-"));
        run.fails(&["standard input is closed"]);
    }
    assert!(!place.path("g").exists());
    let run = place.run(&["build", "f.keys", "-o", "none/g"]);
    run.fails(&["none/g: there is no directory none; `mkdir -p none` makes it"]);
    place.shell("exec \"$bouquet\" query -q f f.keys >&-").found();
    place.shell("exec \"$bouquet\" query f f.keys > /dev/null").found();
    place.shell("exec \"$bouquet\" query f f.keys <> /dev/null >&0").found();
}

#[test]
fn a_secret_that_others_can_read_is_refused() {
    let place = Place::new();
    place.file("keys", lines(1..=10));
    place.run(&["secret", "-o", "key"]).found();
    place.run(&["build", "keys", "-o", "f", "--secret", "key"]).found();
    for mode in [0o640, 0o604, 0o644, 0o622] {
        std::fs::set_permissions(place.path("key"), std::fs::Permissions::from_mode(mode)).unwrap();
        for command in ["build keys -o g --secret key", "query f keys --secret key"] {
            let run = place.shell(&format!("exec \"$bouquet\" {command}"));
            run.fails(&["key: others can read this secret", &format!("{mode:04o}"), "chmod 600 key"]);
        }
    }
    assert!(!place.path("g").exists());
    std::fs::set_permissions(place.path("key"), std::fs::Permissions::from_mode(0o400)).unwrap();
    place.run(&["query", "f", "keys", "--secret", "key"]).found();
}
