//! Signals that end the program find its files in order.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use crate::place::{PROGRAM, Place, lines};

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// The program with signals as a terminal would have them: where tests run in the background, INT is ignored.
fn command(place: &Place, args: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,TERM,HUP").arg(PROGRAM).args(args).current_dir(place.dir());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

/// A program that adds keys to `f` in place, has taken 100 and waits for more.
fn adding(place: &Place, mut command: Command) -> (Child, ChildStdin) {
    place.file("keys", lines(1..=500));
    place.run(&["build", "--items", "1000", "keys", "-o", "f"]).found();
    let old = place.read("f");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines(501..=600).as_bytes()).unwrap();
    // The stores differ once the keys are in.
    while place.read("f")[64..] == old[64..] {
        assert!(child.try_wait().unwrap().is_none());
        pause();
    }
    (child, stdin)
}

#[test]
fn a_signal_closes_a_filter_that_is_changed_in_place() {
    for (signal, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
        let place = Place::new();
        let (child, stdin) = adding(&place, command(&place, &["add", "--in-place", "f"]));
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(number), "{output:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "bouquet: f: interrupted; the keys up to here are in the filter\n"
        );
        drop(stdin);
        place.run(&["verify", "f"]).found();
        assert_eq!(place.run(&["info", "--json", "f"]).found().json()["items"], 600);
        assert_eq!(place.run_with(&["query", "-c", "f"], lines(1..=600)).found().text(), "600\n");
    }
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let place = Place::new();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$bouquet\" add --in-place f"]);
    command.env("bouquet", PROGRAM).current_dir(place.dir());
    let (mut child, mut stdin) = adding(&place, command);
    send("-HUP", &child);
    std::thread::sleep(Duration::from_millis(100));
    stdin.write_all(lines(601..=700).as_bytes()).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(place.run(&["info", "--json", "f"]).found().json()["items"], 700);
}

#[test]
fn a_signal_removes_the_temporary_file_of_a_save() {
    let place = Place::new();
    place.file("keys", lines(1..=9000));
    // Half full, so that coding it takes some time.
    place.run(&["build", "keys", "-o", "f", "--set", "bits=3e8", "--set", "hashes=64"]).found();
    place.file("g", "old");
    let names = place.names();
    for signal in ["-INT", "-TERM", "-HUP"] {
        let mut child = command(&place, &["compress", "f", "-o", "g"]).spawn().unwrap();
        while place.names() == names {
            assert!(child.try_wait().unwrap().is_none(), "the save was done before it could be interrupted");
            pause();
        }
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.signal().is_some() && output.stderr.is_empty(), "{output:?}");
        assert_eq!((place.names(), place.read("g")), (names.clone(), b"old".to_vec()), "{signal}");
    }
    // One that is killed cannot; the next who writes there removes what it has left.
    let mut child = command(&place, &["compress", "f", "-o", "g"]).spawn().unwrap();
    while place.names() == names {
        pause();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(place.names(), names);
    place.run(&["build", "keys", "-o", "g"]).found();
    assert_eq!(place.names(), names);
}
