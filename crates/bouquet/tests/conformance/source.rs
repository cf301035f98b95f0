//! Everything that is implemented is also registered: the source is compared with the registry's rows.
//!
//! The compiler refuses a registered verb that is not implemented; nothing but this refuses the opposite. It reads what
//! the source says on the surface (`impl Contains for X`, `Kind::of::<X>().contains()`, `pub type X = Y<Z>;`), which is
//! all that the house style uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use bouquet::kind::Verb;

/// The code of a file: without comments and without its tests, which are its end.
fn code(source: &str) -> String {
    let mut lines: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let tests = lines.windows(2).position(|pair| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].trim().starts_with("mod ") && pair[1].trim().ends_with('{')
    });
    lines.truncate(tests.unwrap_or(lines.len()));
    lines.join("\n")
}

/// A type as it is written: the last part of its path, and its arguments.
#[derive(Clone, Debug, PartialEq)]
struct Type {
    base: String,
    arguments: Vec<String>,
}

impl Type {
    fn parse(text: &str) -> Self {
        let text = text.trim();
        let (path, arguments) = match text.split_once('<') {
            Some((path, rest)) => (path, split(rest.trim_end().strip_suffix('>').unwrap_or(rest))),
            None => (text, Vec::new()),
        };
        let base = path.rsplit("::").next().unwrap_or(path).trim().to_owned();
        Type { base, arguments }
    }
}

/// What is between the commas that no bracket encloses.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        depth += i32::from("<([".contains(c)) - i32::from(">)]".contains(c));
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut().expect("there is always a last part").push(c),
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The text up to the bracket that closes the one which is already open.
fn enclosed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '<') - i32::from(c == '>' && !text[..at].ends_with('-'));
        if depth == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}

/// A verb that a type has.
#[derive(Debug)]
struct Implementation {
    verb: Verb,
    of: Type,
    /// The type parameters, which stand for any argument.
    any: Vec<String>,
}

impl Implementation {
    fn covers(&self, of: &Type) -> bool {
        let fits = |(own, asked): (&String, &String)| own == asked || self.any.contains(own);
        self.of.base == of.base && self.of.arguments.iter().zip(&of.arguments).all(fits)
    }
}

fn implementations(code: &str) -> Vec<Implementation> {
    let begins = code.match_indices("impl").map(|(at, _)| at);
    let begins = begins.filter(|&at| code[..at].ends_with('\n') || at == 0);
    begins.filter_map(|at| implementation(code[at + "impl".len()..].split('{').next()?)).collect()
}

fn implementation(header: &str) -> Option<Implementation> {
    let (any, rest) = match header.trim_start().strip_prefix('<') {
        Some(generics) => enclosed(generics)?,
        None => ("", header),
    };
    let name = |part: String| part.split([':', '=']).next().unwrap_or_default().trim().to_owned();
    let (of_trait, of_type) = rest.split_once(" for ")?;
    let of_trait = Type::parse(of_trait).base;
    let verb = Verb::ALL.iter().copied().find(|verb| format!("{verb:?}") == of_trait)?;
    let of_type = of_type.split(" where ").next()?.split("\nwhere").next()?;
    Some(Implementation { verb, of: Type::parse(of_type), any: split(any).into_iter().map(name).collect() })
}

/// `type X = Y;`, by X.
fn aliases(code: &str) -> BTreeMap<String, Type> {
    let lines = code.split(';').filter_map(|statement| statement.trim().rsplit('\n').next());
    let pairs = lines.filter_map(|line| line.trim().trim_start_matches("pub ").strip_prefix("type ")?.split_once('='));
    pairs.map(|(alias, target)| (Type::parse(alias).base, Type::parse(target))).collect()
}

/// The types that are registered as kinds, each with its verbs.
fn registrations(code: &str) -> Vec<(Type, BTreeSet<String>)> {
    let begins = code.match_indices("Kind::of::<").map(|(at, begin)| &code[at + begin.len()..]);
    begins
        .filter_map(|rest| {
            let (of, rest) = enclosed(rest)?;
            let chain = rest.split_once(".done()")?.0;
            let verbs = chain.split('.').filter_map(|call| Some(call.split_once('(')?.0.trim().to_owned()));
            Some((Type::parse(of), verbs.filter(|verb| !verb.is_empty()).collect()))
        })
        .collect()
}

/// Verbs that a kind's type implements and its row does not have.
fn forgotten_verbs(files: &[(String, String)]) -> Vec<String> {
    let files: Vec<_> = files.iter().map(|(path, source)| (path, code(source))).collect();
    let implemented: Vec<_> = files.iter().flat_map(|(_, code)| implementations(code)).collect();
    let everywhere: BTreeMap<_, _> = files.iter().flat_map(|(_, code)| aliases(code)).collect();
    let mut complaints = Vec::new();
    for (path, code) in &files {
        // A name may stand for different types in different files; that of the own file counts first.
        let here = aliases(code);
        for (mut of, registered) in registrations(code) {
            let shown = of.base.clone();
            while let Some(target) = here.get(&of.base).or_else(|| everywhere.get(&of.base)) {
                of = target.clone();
            }
            let own = implemented.iter().filter(|implementation| implementation.covers(&of));
            for verb in own.map(|implementation| implementation.verb.name()) {
                if !registered.contains(verb) {
                    complaints.push(format!("{path}: `{shown}` has `{verb}`, but its row does not"));
                }
            }
        }
    }
    complaints
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

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The Rust files in a folder, by their path from it; those of its folders too when `deep`.
fn files(folder: &Path, deep: bool) -> Vec<(String, String)> {
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
fn every_implemented_verb_is_registered() {
    let files = files(&source(), true);
    let rows: usize = files.iter().map(|(_, source)| registrations(&code(source)).len()).sum();
    let kinds = bouquet::registry::kinds().count();
    assert!(rows >= kinds, "{rows} rows are found in the source of {kinds} kinds");
    let complaints = forgotten_verbs(&files);
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn the_source_shows_the_verbs_of_every_registered_kind() {
    // Guards the reader: a row that it misreads would make the comparison above empty.
    let files = files(&source(), true);
    for family in bouquet::registry::FAMILIES {
        for kind in family.kinds {
            let path = format!("{}/{}.rs", family.name, kind.facts().id.replace('-', "_"));
            let (_, source) = files.iter().find(|(name, _)| *name == path).expect("a kind has its file");
            let verbs: BTreeSet<String> = kind.verbs().map(|verb| verb.name().to_owned()).collect();
            let rows = registrations(&code(source));
            assert!(rows.iter().any(|(_, read)| *read == verbs), "{path}: read {rows:?}, registered {verbs:?}");
        }
    }
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

const ENGINE: &str = "
impl<L: Layout> Contains for BitFilter<L> {
}
impl<L> Insert for BitFilter<L>
where
    L: Layout,
{
}
impl crate::capability::Remove for BitFilter<Tall> {
}
impl<L: Layout> Debug for BitFilter<L> {
}
";

#[test]
fn a_verb_that_is_not_registered_is_found_through_aliases_and_type_parameters() {
    let row = |chain: &str| {
        format!("pub type Bloom = BitFilter<Flat>;\npub const KIND: Kind = Kind::of::<Bloom>(){chain}.done();")
    };
    let with = |chain: &str| forgotten_verbs(&as_files(&[("engine.rs", ENGINE), ("standard.rs", &row(chain))]));
    assert_eq!(with(".contains().insert()"), [""; 0]);
    assert_eq!(with("\n    .contains()\n    .insert()\n    "), [""; 0]);
    let complaints = with(".contains()");
    assert_eq!(complaints.len(), 1);
    assert!(complaints[0].contains("standard.rs") && complaints[0].contains("`insert`"), "{complaints:?}");
    assert_eq!(with("").len(), 2);
}

#[test]
fn a_verb_of_one_layout_concerns_that_layout_alone() {
    let tall = "pub const KIND: Kind = Kind::of::<BitFilter<Tall>>().contains().insert().done();";
    let complaints = forgotten_verbs(&as_files(&[("engine.rs", ENGINE), ("tall.rs", tall)]));
    assert!(matches!(complaints.as_slice(), [one] if one.contains("`remove`")), "{complaints:?}");
}

#[test]
fn comments_and_tests_register_and_implement_nothing() {
    let source = "
pub const KIND: Kind = Kind::of::<Own>().contains().done();
// impl Insert for Own {}
impl Contains for Own {}
#[cfg(test)]
mod tests {
impl Merge for Own {}
}
";
    assert_eq!(forgotten_verbs(&as_files(&[("own.rs", source)])), [""; 0]);
    assert_eq!(registrations(&code(source)).len(), 1);
    assert_eq!(implementations(&code(source)).len(), 1);
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
