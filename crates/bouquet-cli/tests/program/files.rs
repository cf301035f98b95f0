//! Files stay whole, whatever happens: full disks, closed pipes, interrupted runs.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::place::{Place, kinds_that_can, lines, takes_bare_keys};

/// The old filter, and the names of all files, before something goes wrong.
fn prepared() -> (Place, Vec<u8>, Vec<String>) {
    let place = Place::new();
    place.filter("f", 10);
    place.file("many", lines(1..=100_000));
    let (old, names) = (place.read("f"), place.names());
    (place, old, names)
}

#[test]
fn a_full_disk_leaves_the_old_file_whole_and_nothing_else() {
    let (place, old, names) = prepared();
    // A limit on the size of files, with its signal ignored, fails a write as a full disk does.
    for command in ["build many -o f", "build many -o new", "build many -o f --items 1e6"] {
        let run = place.shell(&format!("trap '' XFSZ; ulimit -f 8; exec \"$bouquet\" {command}"));
        run.fails(&["File too large"]);
        assert_eq!(place.read("f"), old, "{command}");
        assert_eq!(place.names(), names, "{command}");
    }
    place.run(&["verify", "f"]).found();
}

#[test]
fn a_really_full_disk_too_where_one_can_be_made() {
    let place = Place::new();
    place.file("many", lines(1..=100_000));
    std::fs::create_dir(place.path("disk")).unwrap();
    // A mount of its own vanishes with its namespace. Only root can make one; others have the limit of the test above.
    let script = r#"
        mount -t tmpfs -o size=64k none disk || exit 77
        "$bouquet" build -o disk/f --items 10 </dev/null && cp disk/f old
        "$bouquet" build many -o disk/f; code=$?
        cmp old disk/f && ls -A disk; exit $code"#;
    place.file("script", script);
    let run = place.shell("unshare -m true || exit 77; unshare -m sh script 2>&1");
    if run.code == Some(77) {
        eprintln!("no file system could be mounted: {}{}", run.text(), run.err);
        return;
    }
    assert_eq!(run.code, Some(2), "{run:?}");
    assert_eq!(run.text(), "bouquet: disk/f: No space left on device; make room and run the command again\nf\n");
}

#[test]
fn a_full_standard_output_is_an_error() {
    let (place, old, _) = prepared();
    for command in [
        "query f f.keys",
        "query -c f f.keys",
        "info f",
        "info --json f",
        "kinds",
        "kinds --json",
        "estimate f",
        "verify f",
        "compress f -o -",
        "build f.keys -o -",
    ] {
        let run = place.shell(&format!("exec \"$bouquet\" {command} >/dev/full"));
        run.fails(&["standard output: No space left on device"]);
    }
    // A device is written to, not replaced.
    place.run(&["build", "f.keys", "-o", "/dev/full"]).fails(&["/dev/full: No space left on device"]);
    place.run(&["build", "f.keys", "-o", "/dev/null"]).found();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    assert_eq!(place.read("f"), old);
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let (place, ..) = prepared();
    place.run(&["build", "many", "-o", "large"]).found();
    for arguments in [&["query", "large", "many"][..], &["build", "many", "-o", "-", "--items", "1e7"]] {
        let mut child = place.command(arguments).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = Vec::new();
        out.read_until(b'\n', &mut first).unwrap();
        assert!(!first.is_empty());
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(141), "{arguments:?}");
    }
    let run = place.shell("\"$bouquet\" query large many | head -1");
    assert_eq!(run.found().text(), "key-0001\n");
    assert_eq!(place.shell("\"$bouquet\" kinds --help | head -1").found().lines().len(), 1);
    assert_eq!(place.shell("\"$bouquet\" --help | true").found().text(), "");
}

#[test]
fn an_interrupted_build_leaves_the_old_file_whole() {
    let (place, old, names) = prepared();
    // Killed while it waits for more keys.
    let mut child = place.command(&["build", "-o", "f", "--items", "1000"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines(1..=500).as_bytes()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((place.read("f"), place.names()), (old.clone(), names.clone()));

    // Killed in the middle of writing: by the signal of the limit on file sizes, 8 blocks into the new file.
    let run = place.shell("ulimit -c 0; ulimit -f 8; \"$bouquet\" build many -o f; exit 9");
    assert_eq!(run.code, Some(9));
    assert_eq!(place.read("f"), old);
    let left: Vec<_> = place.names().into_iter().filter(|name| !names.contains(name)).collect();
    assert!(left.len() == 1 && left[0].starts_with(".f.") && left[0].ends_with(".tmp"), "{left:?}");
    place.run(&["verify", &left[0]]).fails(&["truncated frame"]);

    // What was left behind is in nobody's way, and removed by the next who writes there.
    place.run(&["verify", "f"]).found();
    place.run(&["build", "many", "-o", "f"]).found();
    assert_eq!(place.names(), names);
    assert_eq!(place.run(&["query", "-c", "f", "many"]).found().text(), "100000\n");
}

#[test]
fn a_failed_change_leaves_the_old_file_whole() {
    let place = Place::new();
    place.filter("f", 9000);
    place.file("more", lines(1..=10));
    let (old, names) = (place.read("f"), place.names());
    for command in ["add f more", "merge -o f f f", "intersect -o f f f"] {
        let run = place.shell(&format!("trap '' XFSZ; ulimit -f 8; exec \"$bouquet\" {command}"));
        run.fails(&["f: File too large"]);
        assert_eq!((place.read("f"), place.names()), (old.clone(), names.clone()), "{command}");
    }
    place.run(&["add", "f", "more", "missing"]).fails(&["missing"]);
    assert_eq!((place.read("f"), place.names()), (old, names));
}

/// A filter `f` of a kind that can be changed in its file.
fn changeable(kind: &str) -> Place {
    let place = Place::new();
    place.file("keys", lines(1..=500));
    place.file("more", lines(501..=900));
    place.run(&["build", "--kind", kind, "--items", "1000", "keys", "-o", "f"]).built(kind);
    place
}

fn kinds_in_place() -> Vec<String> {
    let kinds = kinds_that_can("insert");
    let kinds: Vec<_> = kinds.iter().filter(|kind| kind["in_place"] == true && takes_bare_keys(kind)).collect();
    assert!(!kinds.is_empty());
    kinds.iter().map(|kind| kind["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn adding_in_place_gives_the_file_of_adding() {
    for kind in kinds_in_place() {
        let place = changeable(&kind);
        place.file("g", place.read("f"));
        let other_name = place.path("h");
        std::fs::hard_link(place.path("f"), &other_name).unwrap();
        place.run(&["add", "--in-place", "f", "more"]).found();
        place.run(&["add", "g", "more"]).found();
        assert!(place.read("f") == place.read("g"), "{kind}");
        assert!(place.read("f") == place.read("h"), "{kind}: the file itself has changed");
        place.run(&["verify", "f"]).found();
    }
}

#[test]
fn adding_in_place_is_refused_by_kinds_that_cannot() {
    for kind in kinds_that_can("insert").iter().filter(|kind| kind["in_place"] == false) {
        let place = Place::new();
        let kind = kind["kind"].as_str().unwrap();
        if place.run_with(&["build", "--kind", kind, "--items", "100", "-o", "f"], "").code == Some(0) {
            let old = place.read("f");
            place.run_with(&["add", "--in-place", "f"], "x\n").fails(&["f: ", kind, "cannot be changed in its file"]);
            assert!(place.read("f") == old, "{kind}");
        }
    }
    let place = Place::new();
    place.run_with(&["add", "--in-place", "-"], "x\n").fails(&["standard input"]);
    place.run_with(&["add", "--in-place", "missing"], "x\n").fails(&["missing"]);
}

#[test]
fn an_error_while_adding_in_place_leaves_a_whole_file_with_the_keys_before_it() {
    let place = changeable(&kinds_in_place()[0]);
    place.file("g", place.read("f"));
    place.run(&["add", "--in-place", "f", "more", "missing"]).fails(&["missing"]);
    place.run(&["add", "g", "more"]).found();
    assert!(place.read("f") == place.read("g"));
}

#[test]
fn a_writer_in_place_keeps_others_out_and_when_killed_leaves_a_refused_file() {
    let place = changeable(&kinds_in_place()[0]);
    let mut child = place.command(&["add", "--in-place", "f"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines(501..=600).as_bytes()).unwrap();
    // The flag, byte 13, tells that the program has come to the keys.
    while place.read("f")[13] == 0 {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for command in [&["add", "--in-place", "--no-wait", "f", "more"][..], &["add", "--no-wait", "f", "more"]] {
        place.run(command).fails(&["f: another writer has the file open"]);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for command in
        ["query f more", "query --mapped f more", "info f", "verify f", "add f more", "add --in-place f more"]
    {
        let args: Vec<_> = command.split(' ').collect();
        place.run(&args).fails(&["f: the file is open for writing, or its writer ended", "rebuild"]);
    }
    place.run(&["build", "keys", "-o", "f"]).found();
    place.run(&["verify", "f"]).found();
}

#[test]
fn answers_come_as_soon_as_the_keys_do() {
    let place = Place::new();
    place.filter("f", 10);
    let mut child = place.command(&["query", "f"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut out = child.stdout.take().unwrap();
    for _ in 0..3 {
        stdin.write_all(b"key-0001\n").unwrap();
        let mut answer = [0; 9];
        out.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"key-0001\n");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn replaced_files_keep_their_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let (place, ..) = prepared();
    std::fs::set_permissions(place.path("f"), std::fs::Permissions::from_mode(0o640)).unwrap();
    place.run(&["add", "f", "f.keys"]);
    assert_eq!(std::fs::metadata(place.path("f")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn the_patch_of_a_small_change_is_small() {
    let place = Place::new();
    place.file("then", lines(1..=50_000));
    place.file("now", lines(501..=50_500));
    for name in ["then", "now"] {
        place.run(&["build", name, "-o", &format!("{name}.bf"), "--items", "50000"]).found();
    }
    place.run(&["delta", "then.bf", "now.bf", "-o", "patch"]).found();
    let (patch, whole) = (place.read("patch").len(), place.read("now.bf").len());
    assert!(patch * 13 < whole, "{patch} of {whole} bytes");
    place.run(&["delta", "-", "-", "-o", "x"]).fails(&["standard input cannot be both"]);
    place.run(&["patch", "then.bf", "now.bf", "-o", "x"]).fails(&["now.bf: not a bouquet patch"]);
    place.run(&["info", "patch"]).fails(&["not a bouquet frame"]);
}
