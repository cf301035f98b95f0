//! Files of other programs, from the command line.

use crate::place::Place;

/// Written by Guava 33.6.0 with the keys `m-11-0` to `m-11-4999`.
const GUAVA: &[u8] = include_bytes!("../../../bouquet/tests/peers/guava-33.6.0-jre/string-mitz64.bin");

fn members() -> String {
    (0..5_000).map(|i| format!("m-11-{i}\n")).collect()
}

#[test]
fn a_filter_of_another_program_is_asked_changed_and_given_back() {
    let place = Place::new();
    place.file("users.bin", GUAVA);
    place.file("members", members());
    place.run(&["convert", "--from", "guava", "users.bin", "-o", "users.bq"]).found();
    assert_eq!(place.run(&["query", "users.bq", "members"]).found().lines().len(), 5_000);
    place.run(&["convert", "--to", "guava", "users.bq", "-o", "again.bin"]).found();
    assert!(place.read("again.bin") == GUAVA, "byte for byte");
    place.run_with(&["add", "users.bq", "-"], "newcomer\n").found();
    place.run(&["convert", "--to", "guava", "users.bq", "-o", "more.bin"]).found();
    assert!(place.read("more.bin") != GUAVA && place.read("more.bin").len() == GUAVA.len());
}

#[test]
fn the_program_itself_would_write_what_is_built_here() {
    let place = Place::new();
    place.file("members", members());
    let build = ["build", "--kind", "foreign-bits", "--set", "program=guava", "--items", "5000", "--fpr", "0.02"];
    place.run(&[&build[..], &["-o", "users.bq", "members"]].concat()).found();
    place.run(&["convert", "--to", "guava", "users.bq", "-o", "users.bin"]).found();
    assert!(place.read("users.bin") == GUAVA);
}

/// Written by the crate `bitcoin` with the keys `m-11-0` to `m-11-4999`: see `tests/peers/bip158/README.md` of the library.
#[test]
fn a_block_filter_of_bitcoin_is_asked_with_its_key_and_written_again() {
    const BLOCK: &[u8] = include_bytes!("../../../bouquet/tests/peers/bip158/basic.bin");
    let place = Place::new();
    place.file("members", members());
    place.private("hash", b"e7543378f83a62cc9ae3d9495f8352a2");
    let keyed = |args: &[&str]| place.run(&[args, &["--secret", "hash"]].concat());
    keyed(&["build", "members", "--kind", "golomb", "--set", "code=bip158", "-o", "own.bq"]).found();
    keyed(&["convert", "--to", "bip158", "own.bq", "-o", "own.gcs"]).found();
    assert!(place.read("own.gcs") == BLOCK, "byte for byte");

    place.file("block.gcs", BLOCK);
    keyed(&["convert", "--from", "bip158", "block.gcs", "-o", "block.bq"]).found();
    assert_eq!(keyed(&["query", "-c", "block.bq", "members"]).found().text(), "5000\n");
    place.run(&["query", "block.bq", "members"]).fails(&["secret"]);
    place.file("cut.gcs", &BLOCK[..1_000]);
    keyed(&["convert", "--from", "bip158", "cut.gcs", "-o", "x"]).fails(&["cut.gcs", "hash values"]);
    keyed(&["convert", "--from", "guava", "block.gcs", "-o", "x"]).fails(&["guava", "secret"]);
}

#[test]
fn what_cannot_be_converted_is_named() {
    let place = Place::new();
    place.file("users.bin", &GUAVA[..100]);
    place.filter("own.bq", 10);
    place.run(&["convert", "--from", "guava", "users.bin", "-o", "x"]).fails(&["users.bin", "the bytes of the bits"]);
    place.run(&["convert", "--from", "tulips", "users.bin", "-o", "x"]).fails(&["guava", "spark", "tulips"]);
    place.run(&["convert", "--to", "spark", "own.bq", "-o", "x"]).fails(&["own.bq", "foreign-bits"]);
    assert!(!place.names().contains(&"x".to_owned()), "nothing was written");
    let help = place.run(&["convert", "--help"]).found().text();
    assert!(["datasketches", "BIP 37"].iter().all(|part| help.contains(part)), "{help}");
}
