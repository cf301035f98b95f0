//! CATALOGUE.md is made from the registry. This test fails when the two differ;
//! `BOUQUET_WRITE_CATALOGUE=1 cargo test -p bouquet --test catalogue` writes the page anew.

use std::fmt::Write as _;
use std::path::Path;

use bouquet::registry;

fn page() -> String {
    let mut out = String::from(
        "# Catalogue\n\nEvery kind of filter in the library, made from the registry \
         (`crates/bouquet/tests/catalogue.rs`). `bouquet explain KIND` prints the same on the command line.\n",
    );
    for family in registry::FAMILIES {
        let _ = write!(out, "\n## {}: {}\n", family.name, family.summary);
        for kind in family.kinds {
            let facts = kind.facts();
            let verbs: Vec<_> = kind.verbs().map(|verb| kind.verb_text(verb)).collect();
            let errors: Vec<_> = facts.errors.iter().map(|class| class.name()).collect();
            let _ = write!(out, "\n### `{}`: {}\n", facts.id, facts.name());
            for (title, body) in facts.text.sections() {
                let _ = write!(out, "\n#### {title}\n\n{}\n", body.replace("\n### ", "\n##### "));
            }
            let _ = write!(
                out,
                "\n#### In the tools\n\n- Also called: {}. Number in frames: {}. A key carries: {}.\n- Can: {}.\n\
                 - Errors: {}.\n\n",
                facts.aliases.join(", "),
                facts.number,
                facts.note.name(),
                verbs.join(", "),
                errors.join(", "),
            );
            for special in kind.specials() {
                let word = if special.acts { "act" } else { "ask" };
                let call = format!("bouquet {word} FILTER {} {}", special.name, special.takes.name());
                let _ = writeln!(out, "- `{}`: {}.", call.trim_end(), special.help);
            }
            out.push_str(if kind.specials().next().is_some() { "\n" } else { "" });
            out.push_str("| parameter | takes | default | meaning |\n|---|---|---|---|\n");
            for parameter in facts.parameters {
                let default = parameter.default_text().unwrap_or_else(|| "computed".into());
                let (name, range, help) = (parameter.name, parameter.range(), parameter.help);
                let _ = writeln!(out, "| `{name}` | {range} | {default} | {help} |");
            }
        }
    }
    out.push_str("\n## modes: what every kind can be given\n");
    for mode in registry::MODES {
        let _ = write!(out, "\n### `{}`: {}\n\n{}\n\n{}\n\n", mode.id, mode.name, mode.summary, mode.idea);
        for formula in mode.formulas {
            let _ = writeln!(out, "    {formula}");
        }
        let _ = write!(
            out,
            "\n- Also called: {}.\n- Secrecy: {}\n- Cost: {}\n- Use: {}\n- Papers: {}.\n",
            mode.aliases.join(", "),
            mode.secrecy,
            mode.cost,
            mode.usage,
            mode.papers.join("; "),
        );
    }
    out
}

#[test]
fn the_catalogue_page_is_the_registry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CATALOGUE.md");
    let page = page();
    if std::env::var_os("BOUQUET_WRITE_CATALOGUE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "CATALOGUE.md differs from the registry; write it anew with \
         BOUQUET_WRITE_CATALOGUE=1 cargo test -p bouquet --test catalogue"
    );
}
