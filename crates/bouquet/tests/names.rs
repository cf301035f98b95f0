//! Every kind is at the root of the crate under its id in camel case, with its settings.

use bouquet::registry;

#[test]
fn every_kind_is_a_type_of_the_crate_named_by_its_id() {
    let source = include_str!("../src/lib.rs");
    for kind in registry::kinds() {
        let name = match kind.facts().id {
            "standard" => "Bloom".to_string(),
            id => id.split('-').map(capitalized).collect(),
        };
        let exported = format!("{{{name}, {name}Settings}};");
        let is_exported = source.lines().any(|line| line.starts_with("pub use ") && line.ends_with(&exported));
        assert!(is_exported, "lib.rs has no `pub use ...::{exported}`");
    }
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}
