//! Keyed filters: only who has the secret can ask.

use std::os::unix::fs::PermissionsExt;

use crate::place::{Place, kinds_that_can, lines, takes_bare_keys};

fn with_secret() -> Place {
    let place = Place::new();
    place.run(&["secret", "-o", "key"]).found();
    place.file("keys", lines(1..=100));
    place.run(&["build", "keys", "-o", "f", "--secret", "key"]).found();
    place
}

#[test]
fn a_fresh_secret_is_for_its_owner_alone_and_never_overwritten() {
    let place = Place::new();
    place.run(&["secret", "-o", "key"]).found();
    let key = place.read("key");
    assert!(key.len() == 65 && key[..64].iter().all(u8::is_ascii_hexdigit), "{}", key.escape_ascii());
    assert_eq!(std::fs::metadata(place.path("key")).unwrap().permissions().mode() & 0o777, 0o600);
    place.run(&["secret", "-o", "key"]).fails(&["key: exists already"]);
    assert_eq!(place.read("key"), key);
    place.run(&["secret", "-o", "other"]).found();
    assert_ne!(place.read("other"), key);
}

#[test]
fn a_keyed_filter_answers_with_its_secret_alone() {
    let place = with_secret();
    place.run(&["secret", "-o", "wrong"]).found();
    let count = place.run(&["query", "-c", "f", "keys", "--secret", "key"]).found();
    assert_eq!(count.text(), "100\n");
    place.run(&["query", "f", "keys"]).fails(&["f: the filter is keyed", "check value"]);
    place.run(&["query", "f", "keys", "--secret", "wrong"]).fails(&["f: the filter is keyed", "the one given has"]);
    place.run(&["query", "--mapped", "f", "keys"]).fails(&["f: the filter is keyed"]);
    place.run(&["add", "f", "keys"]).fails(&["f: the filter is keyed"]);
    place.run_with(&["add", "f", "--secret", "key"], "another\n").code.unwrap();
    place.run_with(&["query", "f", "--secret", "key"], "another\n").found();
    let mapped = place.run(&["query", "--mapped", "-c", "f", "keys", "--secret", "key"]).found();
    assert_eq!(mapped.text(), "100\n");
}

#[test]
fn a_keyed_filter_can_be_looked_at_without_its_secret() {
    let place = with_secret();
    let info = place.run(&["info", "--json", "f"]).found().json();
    assert_eq!((&info["items"], &info["hash"]), (&100.into(), &"siphash-2-4-128".into()));
    assert!(place.run(&["info", "f"]).found().text().contains("check value"));
    place.run(&["verify", "f"]).found();
    place.run(&["build", "keys", "-o", "strong", "--secret", "key", "--strong"]).found();
    assert_eq!(place.run(&["info", "--json", "strong"]).found().json()["hash"], "blake3-keyed");
    place.run(&["build", "keys", "-o", "g", "--strong"]).fails(&["--secret"]);
    place.run(&["build", "keys", "-o", "g", "--secret", "key", "--seed", "1"]).fails(&["--seed"]);
}

#[test]
fn secrets_are_raw_bytes_or_hexadecimal_digits() {
    let place = Place::new();
    place.file("keys", lines(1..=100));
    let built = |secret: &[u8]| {
        place.private("key", secret);
        place.run(&["build", "keys", "-o", "f", "--secret", "key"]).found();
        place.read("f")
    };
    let raw: Vec<u8> = (200..232).collect();
    let hex: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
    let frame = built(&raw);
    assert_eq!(built(hex.as_bytes()), frame);
    assert_eq!(built(format!("{}\n", hex.to_uppercase()).as_bytes()), frame);
    assert_ne!(built(&raw[..16]), frame);
    assert_eq!(built(&raw[..16]), built(&hex.as_bytes()[..32]));
    // A newline at the end of raw bytes is one of them.
    let ends = [&raw[..15], b"\n"].concat();
    assert_ne!(built(&ends), built(&raw[..16]));
    for bad in
        [&b""[..], b"short", &raw[..31], &hex.as_bytes()[..62], b"not hexadecimal digits at all, yet of some length"]
    {
        place.private("key", bad);
        let run = place.run(&["build", "keys", "-o", "g", "--secret", "key"]);
        run.fails(&["key: expected a secret of 16 or 32 bytes", &format!("found {} bytes", bad.len())]);
    }
}

#[test]
fn an_open_filter_does_not_pass_for_a_keyed_one() {
    let place = with_secret();
    place.run(&["build", "keys", "-o", "f"]).found();
    place.run(&["query", "f", "keys", "--secret", "key"]).fails(&["f: the filter is not keyed"]);
}

#[test]
fn keyed_filters_of_one_secret_combine() {
    let place = with_secret();
    place.file("more", lines(101..=200));
    place.run(&["build", "more", "-o", "g", "--secret", "key"]).found();
    place.run(&["merge", "-o", "both", "f", "g", "--secret", "key"]).found();
    let count = place.run(&["query", "-c", "both", "keys", "more", "--secret", "key"]).found();
    assert_eq!(count.text(), "200\n");
    place.run(&["merge", "-o", "both", "f", "g"]).fails(&["f: the filter is keyed"]);
    place.run(&["build", "more", "-o", "open"]).found();
    place.run(&["merge", "-o", "both", "f", "open", "--secret", "key"]).fails(&["open: the filter is not keyed"]);
}

#[test]
fn every_kind_can_be_keyed() {
    let place = with_secret();
    for kind in kinds_that_can("contains,insert") {
        if !takes_bare_keys(&kind) || kind["errors"].as_array().unwrap().contains(&"false negatives".into()) {
            continue;
        }
        let id = kind["kind"].as_str().unwrap();
        place.run(&["build", "keys", "-o", "f", "--kind", id, "--secret", "key"]).built(id);
        let count = place.run(&["query", "-c", "f", "keys", "--secret", "key"]).found();
        assert_eq!(count.text(), "100\n", "{id}");
        place.run(&["query", "f", "keys"]).fails(&["the filter is keyed"]);
    }
}

#[test]
fn a_forged_keyed_filter_is_refused_by_who_has_the_secret() {
    let place = with_secret();
    assert_eq!(place.run(&["verify", "f", "--secret", "key"]).found().text(), "f: whole\n");
    let mut frame = place.read("f");
    assert_eq!(frame[13], 2, "it has a code");
    frame[40] ^= 1;
    place.file("damaged", frame);
    place.run(&["verify", "damaged", "--secret", "key"]).fails(&["damaged: corrupt frame"]);
    let before = include_bytes!("../../../bouquet/tests/golden/keyed/standard.without-code.bq");
    place.file("before", before);
    place.private("seven", [7; 32]);
    let words = ["before: the filter is not authentic", "no authentication code"];
    place.run(&["verify", "before", "--secret", "seven"]).fails(&words);
    place.run(&["query", "before", "--secret", "seven"]).fails(&words);
    place.run(&["verify", "before", "--secret", "seven", "--allow-unauthenticated"]).found();
    place.run(&["verify", "before", "--allow-unauthenticated"]).fails(&["--secret"]);
    // Saving gives it its code; one key more than planned is worth a warning.
    let added = place.run_with(&["add", "before", "--secret", "seven", "--allow-unauthenticated"], "another\n");
    assert_eq!(added.code, Some(0), "{added:?}");
    place.run(&["verify", "before", "--secret", "seven"]).found();
}
