//! A temporary directory to run the program in, and what comes out of it.

use std::ops::Deref;
use std::path::PathBuf;

use bouquet_tool::testing;
pub use bouquet_tool::testing::{Run, lines};
use serde_json::Value;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_bouquet");

/// A directory of its own for each test.
pub struct Place(testing::Place);

impl Deref for Place {
    type Target = testing::Place;

    fn deref(&self) -> &testing::Place {
        &self.0
    }
}

impl Place {
    pub fn new() -> Self {
        Place(testing::Place::new(PROGRAM))
    }

    /// A small filter of the default kind, `name`, with `count` keys `key-0001`, ... in `name.keys`.
    pub fn filter(&self, name: &str, count: u32) -> PathBuf {
        let keys = format!("{name}.keys");
        self.file(&keys, lines(1..=count));
        self.run(&["build", &keys, "-o", name]).found();
        self.path(name)
    }
}

/// What the program says of the kinds that can do all of this; of every kind for no verb.
pub fn kinds_that_can(verbs: &str) -> Vec<Value> {
    let place = Place::new();
    let args: &[&str] = if verbs.is_empty() { &["kinds", "--json"] } else { &["kinds", "--json", "--can", verbs] };
    let run = place.run(args);
    let kinds = run.json().as_array().unwrap().clone();
    assert_eq!(run.code, Some(i32::from(kinds.is_empty())), "{verbs}");
    kinds
}

/// Whether a kind, as the program tells of it, takes any keys, with nothing behind a TAB. What is not hashed is to be an integer.
pub fn takes_bare_keys(kind: &Value) -> bool {
    (kind["note"] == "none" || kind["note"] == "amount") && kind["hashes"] == true
}

/// The names of those kinds.
pub fn names_that_can(verbs: &str) -> Vec<String> {
    kinds_that_can(verbs).iter().map(|kind| kind["kind"].as_str().unwrap().to_owned()).collect()
}
