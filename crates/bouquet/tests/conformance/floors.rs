//! The rooms of the library stand on floors: each uses only rooms that come before it in the list of ARCHITECTURE.md.
//!
//! What counts are the paths that begin with `crate::` in the code, without its tests and its documentation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::source::{code, files, is_word, source};

/// Uses that are against the order and still there, as a room, what it uses and why. The list only gets shorter.
const TOLERATED: &[(&str, &str, &str)] = &[
    ("kind", "any_filter", "a filter as the argument of a question, which may not have been read yet"),
    ("parts", "membership", "counters can be given away as the plain filter of the same keys, and hash as it does"),
];

/// The order: rooms with the number of their place, and the floor of the families.
struct Order {
    place: BTreeMap<String, usize>,
    families: BTreeSet<String>,
}

impl Order {
    /// The list of ARCHITECTURE.md: a line for each floor, its name and then its rooms. Rooms that are joined by `+` are one.
    fn read(text: &str) -> Order {
        let lines = text.lines().skip_while(|line| !line.starts_with("### The floors"));
        let floors: Vec<Vec<&str>> = lines
            .skip(1)
            .take_while(|line| !line.starts_with('#'))
            .filter_map(|line| Some(line.strip_prefix("    ")?.split_whitespace().collect()))
            .collect();
        let mut order = Order { place: BTreeMap::new(), families: BTreeSet::new() };
        let mut next = 0;
        for floor in floors {
            for rooms in &floor[1..] {
                next += 1;
                for room in rooms.split('+') {
                    assert!(order.place.insert(room.to_owned(), next).is_none(), "`{room}` is listed twice");
                    if floor[0] == "families" {
                        order.families.insert(room.to_owned());
                    }
                }
            }
        }
        assert!(!order.families.is_empty(), "ARCHITECTURE.md has a list of floors");
        order
    }

    fn allows(&self, user: &str, used: &str) -> bool {
        let place = |room: &str| self.place.get(room).unwrap_or_else(|| panic!("`{room}` is on no floor"));
        let sisters = self.families.contains(user) && self.families.contains(used);
        user == used || place(used) <= place(user) && !sisters
    }
}

/// The words that follow `crate::` in a source: one, or those that braces hold.
fn used(source: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (at, _) in source.match_indices("crate::") {
        let rest = &source[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let (mut depth, mut start) = (0, 0);
            for (i, c) in list.char_indices() {
                if depth == 0 && (c == ',' || c == '}') {
                    words.push(word(list[start..i].trim_start()));
                    start = i + 1;
                }
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    _ => {}
                }
            }
        } else {
            words.push(word(rest));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn word(text: &str) -> &str {
    &text[..text.find(|c: char| !is_word(c)).unwrap_or(text.len())]
}

/// The rooms of the names that the root re-exports.
fn exports(root: &str) -> BTreeMap<String, String> {
    let mut rooms = BTreeMap::new();
    for statement in code(root).split(';').map(str::trim) {
        let Some(path) = statement.strip_prefix("pub use ") else { continue };
        let path = path.strip_prefix("crate::").unwrap_or(path);
        let room = word(path);
        let names = path.rsplit("::").next().unwrap_or_default();
        let names = names.trim_matches(['{', '}']).split(',').map(|name| name.rsplit(" as ").next().unwrap_or(name));
        rooms.extend(names.map(|name| (name.trim().to_owned(), room.to_owned())));
    }
    rooms
}

/// The folder in which the modules of a file are: that of `mod.rs`, or the one of the file's name.
fn folder(path: &str) -> &str {
    path.strip_suffix("mod.rs").unwrap_or_else(|| path.strip_suffix(".rs").unwrap_or(path))
}

/// Modules that are there for tests only, by their path without `.rs`.
fn test_modules(files: &[(String, String)]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, source) in files {
        let lines: Vec<&str> = source.lines().map(str::trim).collect();
        for (i, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("#[cfg(test)]")) {
            let module = lines[i..].iter().find(|line| !line.starts_with("#[")).unwrap_or(line);
            if let Some(name) = module.strip_suffix(';').and_then(|module| module.rsplit_once("mod ")) {
                found.insert(format!("{}/{}", folder(path).trim_end_matches('/'), name.1));
            }
        }
    }
    found
}

/// Who uses whom: a file for each pair of rooms.
fn uses(files: &[(String, String)]) -> BTreeMap<(String, String), String> {
    let (_, root) = files.iter().find(|(path, _)| path == "lib.rs").expect("the library has a root");
    let exports = exports(root);
    let tests = test_modules(files);
    let is_test = |path: &str| {
        let path = path.trim_end_matches(".rs");
        tests.iter().any(|test| path == test || path.strip_prefix(test).is_some_and(|rest| rest.starts_with('/')))
    };
    let mut found = BTreeMap::new();
    for (path, source) in files.iter().filter(|(path, _)| path != "lib.rs" && !is_test(path)) {
        let user = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        let source = code(source);
        for name in used(&source) {
            // A name of the root is that of the room that it comes from; the formulas are a crate below all.
            let used = exports.get(name).map_or(name, String::as_str);
            if !["bouquet_theory", "theory"].contains(&used) {
                found.entry((user.to_owned(), used.to_owned())).or_insert_with(|| path.clone());
            }
        }
    }
    found
}

fn order() -> Order {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    Order::read(&std::fs::read_to_string(page).expect("ARCHITECTURE.md is committed"))
}

#[test]
fn every_room_uses_only_those_below_it() {
    let order = order();
    let is_tolerated = |user: &str, used: &str| TOLERATED.iter().any(|(a, b, _)| (*a, *b) == (user, used));
    let against: Vec<_> = uses(&files(&source(), true))
        .into_iter()
        .filter(|((user, used), _)| !order.allows(user, used) && !is_tolerated(user, used))
        .map(|((user, used), path)| format!("{user} uses {used}, in {path}"))
        .collect();
    assert!(against.is_empty(), "against the order of ARCHITECTURE.md:\n{}", against.join("\n"));
}

#[test]
fn uses_against_the_order_are_found() {
    let order = Order::read(
        "### The floors\n\n    ground  soil water\n    middle  a+b\n    families  rose lily\n## Next\n    no room",
    );
    let allowed = [("water", "soil"), ("a", "b"), ("b", "a"), ("rose", "water"), ("lily", "a"), ("lily", "lily")];
    let forbidden = [("soil", "water"), ("soil", "a"), ("lily", "rose"), ("rose", "lily"), ("a", "rose")];
    assert!(allowed.iter().all(|(user, used)| order.allows(user, used)));
    assert!(forbidden.iter().all(|(user, used)| !order.allows(user, used)));

    let of = |path: &str, source: &str| (path.to_owned(), source.to_owned());
    let library = [
        of("lib.rs", "pub use rose::{Petal, Thorn as Spike};\npub use crate::lily::Bulb;\nuse crate::water;"),
        of("soil.rs", "use crate::{water::{self, deep}, Spike};\n// use crate::a;\nfn f() { crate::Bulb::new() }"),
        of("a/mod.rs", "#[cfg(test)]\nmod weather;\n#[cfg(test)]\nmod tests {\n    use crate::rose;\n}"),
        of("a/weather.rs", "use crate::lily;"),
        of("rose/petal.rs", "use crate::theory::standard;\nuse crate::soil;"),
    ];
    let found: Vec<_> = uses(&library).into_keys().collect();
    let expected = [("rose", "soil"), ("soil", "lily"), ("soil", "rose"), ("soil", "water")];
    assert_eq!(found, expected.map(|(user, used)| (user.to_owned(), used.to_owned())));
}
