//! Every kind is in the list of its family, every family in the registry. Verbs need no such list: `kind!` registers what is
//! implemented.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The code of a file: without comments and without its tests, which are its end.
pub fn code(source: &str) -> String {
    let mut lines: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let tests = lines.windows(2).position(|pair| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].trim().starts_with("mod ") && pair[1].trim().ends_with('{')
    });
    lines.truncate(tests.unwrap_or(lines.len()));
    lines.join("\n")
}

/// Files of a family's folder that are not what they should be. `files` are those directly in the folder.
fn forgotten_kinds(family: &str, files: &[(String, String)]) -> Vec<String> {
    let Some((_, list)) = files.iter().find(|(name, _)| name == "mod.rs") else {
        return vec![format!("{family} has no mod.rs")];
    };
    let list = code(list);
    let listed: BTreeSet<&str> =
        list.match_indices("::KIND").filter_map(|(at, _)| list[..at].rsplit(|c: char| !is_word(c)).next()).collect();
    let mentioned = |module: &str| {
        let (by_name, by_path) = (format!("mod {module};"), format!("\"{module}.rs\""));
        files.iter().any(|(_, source)| source.contains(&by_name) || source.contains(&by_path))
    };
    let mut complaints = Vec::new();
    for (name, source) in files {
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "mod") else { continue };
        let source = code(source);
        let has_row = source.contains("pub const KIND: Kind");
        if has_row && !listed.contains(module) {
            complaints.push(format!("{family}/{name} is a kind, but not in the list of its family"));
        }
        // An engine hands on the facts of its parameter; a kind writes its own.
        if !has_row && source.contains("const FACTS: Facts = Facts {") {
            complaints.push(format!("{family}/{name} has the facts of a kind, but no `pub const KIND`"));
        }
        if !mentioned(module) {
            complaints.push(format!("{family}/{name} is no module"));
        }
    }
    complaints
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The Rust files in a folder, by their path from it; those of its folders too when `deep`.
pub fn files(folder: &Path, deep: bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the source can be read") {
        let path = entry.expect("the source can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && deep {
            found.extend(files(&path, true).into_iter().map(|(inner, source)| (format!("{name}/{inner}"), source)));
        } else if path.is_file() && name.ends_with(".rs") {
            found.push((name, fs::read_to_string(&path).expect("the source can be read")));
        }
    }
    found.sort();
    found
}

#[test]
fn every_kind_and_every_family_is_listed() {
    let registry = fs::read_to_string(source().join("registry.rs")).expect("the source can be read");
    let mut complaints = Vec::new();
    for entry in fs::read_dir(source()).expect("the source can be read") {
        let path = entry.expect("the source can be read").path();
        let files = if path.is_dir() { files(&path, false) } else { continue };
        let is_family =
            |(name, source): &(String, String)| name == "mod.rs" && source.contains("pub const FAMILY: Family");
        if !files.iter().any(is_family) {
            continue;
        }
        let family = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        complaints.extend(forgotten_kinds(&family, &files));
        if !registry.contains(&format!("crate::{family}::FAMILY")) {
            complaints.push(format!("the family {family} is not in the registry"));
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

fn as_files(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|&(name, source)| (name.to_owned(), source.to_owned())).collect()
}

#[test]
fn a_kind_that_its_family_does_not_list_is_found() {
    let kind = "const FACTS: Facts = Facts {\n};\npub const KIND: Kind = Kind::of::<Own>().done();";
    let family_of = |list: &str, modules: &str, engine: &str| {
        let list = format!("{modules}\npub const FAMILY: Family = Family {{ kinds: &[{list}] }};");
        let files = [("mod.rs", list.as_str()), ("rose.rs", kind), ("lily.rs", kind), ("engine.rs", engine)];
        forgotten_kinds("flowers", &as_files(&files))
    };
    let family = |list: &str, modules: &str| family_of(list, modules, "const FACTS: Facts = L::FACTS;");
    let modules = "mod engine;\npub mod lily;\npub mod rose;";
    assert_eq!(family("rose::KIND, lily::KIND", modules), [""; 0]);
    assert!(matches!(family("lily::KIND", modules).as_slice(), [one] if one.contains("flowers/rose.rs")));
    assert!(matches!(family("rose::KIND, primrose::KIND, lily::KIND", modules).as_slice(), []));
    assert!(
        matches!(family("primrose::KIND, lily::KIND", modules).as_slice(), [one] if one.contains("flowers/rose.rs"))
    );
    let unfinished = family_of("rose::KIND, lily::KIND", modules, "const FACTS: Facts = Facts {\n};");
    assert!(matches!(unfinished.as_slice(), [one] if one.contains("flowers/engine.rs")), "{unfinished:?}");
    let dead = family("rose::KIND, lily::KIND", "pub mod lily;\npub mod rose;");
    assert!(matches!(dead.as_slice(), [one] if one.contains("flowers/engine.rs")), "{dead:?}");
}
