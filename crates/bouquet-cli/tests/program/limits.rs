//! Limits of memory, of keys and of disks: one line, exit code 2, and files as they were.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::place::{Place, lines};

#[test]
fn a_long_line_from_a_pipe_takes_linear_time_and_less_than_twice_its_memory() {
    let place = Place::new();
    let began = Instant::now();
    // 256 MiB in pieces of at most 64 KiB: 4096 reads, each of which touched the whole line once upon a time.
    let limit = (2 * 256 + 64) * 1024;
    let script = format!(
        "ulimit -v {limit}; head -c 268435456 /dev/zero | \"$bouquet\" build --items 10 --max-key 1G -o f && \
         \"$bouquet\" info --json f"
    );
    assert_eq!(place.shell(&script).found().json()["items"], 1);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn a_key_beyond_the_limit_is_refused_with_its_place() {
    let place = Place::new();
    place.filter("f", 10);
    place.file("keys", format!("rose\niris\n{}\nlily\n", "x".repeat(5000)));
    let parts = ["keys:3: the key is longer than 1000 bytes", "--max-key"];
    place.run(&["build", "--max-key", "1000", "keys", "-o", "g"]).fails(&parts);
    place.run(&["query", "--max-key", "1000", "f", "keys"]).fails(&parts);
    assert!(!place.path("g").exists());
    place.run(&["build", "--max-key", "5000", "keys", "-o", "g"]).found();
    place.run(&["build", "--max-key", "5K", "keys", "-o", "g"]).found();
    assert_eq!(place.run(&["query", "-c", "g", "keys"]).found().text(), "4\n");
    place.run(&["build", "--max-key", "x", "keys", "-o", "g"]).fails(&["--max-key", "64K"]);
    // Without being asked for: what has no lines is no file of keys.
    let run = place.shell("head -c 100M /dev/zero | \"$bouquet\" build --items 10 -o h");
    run.fails(&["standard input:1: the key is longer than 67108864 bytes", "-0"]);
}

/// With any limit of memory a command is done or fails with one line.
fn one_line_whatever_the_memory(place: &Place, command: &str) {
    let names = place.names();
    let mut failed = 0;
    for limit in (0..).map(|step| 24_000.0 * 1.35f64.powi(step)).take_while(|limit| *limit < 1.5e6) {
        let run = place.shell(&format!("ulimit -c 0; ulimit -v {limit:.0}; exec \"$bouquet\" {command}"));
        if run.code == Some(2) {
            failed += 1;
            run.fails(&["out of memory"]);
        } else {
            assert!(matches!(run.code, Some(0 | 1)), "{command} with {limit:.0} KiB: {run:?}");
        }
        let left: Vec<_> = place.names().into_iter().filter(|name| !names.contains(name) && name != "out").collect();
        assert!(left.is_empty(), "{command} with {limit:.0} KiB: {left:?}");
    }
    assert!(failed > 0, "{command} never ran out of memory");
}

#[test]
fn memory_that_runs_out_is_told_in_one_line() {
    let place = Place::new();
    place.file("keys", lines(1..=100));
    place.run(&["build", "keys", "-o", "f", "--items", "2e7"]).found();
    place.file("more", lines(101..=200));
    place.file("g", place.read("f"));
    place.run(&["add", "g", "more"]).found();
    place.run(&["delta", "f", "g", "-o", "patch"]).found();
    assert!(place.read("patch").len() < 5000);
    for command in [
        "delta f g -o out",
        "patch f patch -o out",
        "merge f g -o out",
        "query f keys",
        "compress f -o out",
        "build keys --kind quotient --items 2e7 -o out",
        "build keys --kind ml-ccbf --items 4e6 --set hashes=40 -o out",
    ] {
        one_line_whatever_the_memory(&place, command);
    }
    let run = place.shell("ulimit -v 30000; exec \"$bouquet\" query f keys");
    run.fails(&["f: out of memory", "--mapped"]);
}

#[test]
fn a_file_that_is_cut_short_under_its_map_is_told_in_one_line() {
    let place = Place::new();
    place.file("keys", lines(1..=10));
    place.run(&["build", "keys", "-o", "f", "--items", "1e6"]).found();
    let mut child = place.command(&["query", "--mapped", "f"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"key-0001\n").unwrap();
    let mut answer = [0; 9];
    child.stdout.as_mut().unwrap().read_exact(&mut answer).unwrap();
    std::fs::File::options().write(true).open(place.path("f")).unwrap().set_len(0).unwrap();
    stdin.write_all(b"key-0002\n").unwrap();
    drop(stdin);
    crate::place::Run::from(child.wait_with_output().unwrap()).fails(&["f: the file was cut short"]);
}

#[test]
fn a_sparse_file_on_a_full_disk_is_refused_before_it_is_changed() {
    let place = Place::new();
    place.file("keys", lines(1..=1000));
    place.run(&["build", "-o", "f", "--items", "1e6", "keys"]).found();
    // A filter without keys is zeros, most of which need no room on a disk.
    place.run_with(&["build", "-o", "empty", "--items", "1e6"], "").found();
    std::fs::create_dir(place.path("disk")).unwrap();
    place.file(
        "script",
        r#"
        mount -t tmpfs -o size=256k none disk || exit 77
        cp --sparse=always empty disk/f || exit 78
        "$bouquet" add --in-place disk/f keys; code=$?
        cmp empty disk/f && "$bouquet" verify disk/f; exit $code"#,
    );
    let run = place.shell("unshare -m true || exit 77; unshare -m sh script 2>&1");
    if run.code == Some(77) {
        eprintln!("no file system could be mounted: {}{}", run.text(), run.err);
        return;
    }
    assert_eq!(run.code, Some(2), "{run:?}");
    let text = run.text();
    assert!(text.contains("disk/f: No space left on device") && text.ends_with("disk/f: whole\n"), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
}
