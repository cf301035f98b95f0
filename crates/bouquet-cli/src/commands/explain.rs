//! `bouquet explain`: all about one kind.

use bouquet::kind::Kind;
use bouquet::registry;
use bouquet::secrecy::Mode;
use clap::Args;

use crate::failure::{Found, Outcome};
use crate::filters::kind_named;
use crate::output::print;

/// Print all about a kind or a mode: the idea, the formulas, the parameters, its errors, when to take another, the papers
#[derive(Args)]
pub struct Explain {
    /// The kind, one of `bouquet kinds`, or one of its other names
    kind: String,
}

impl Explain {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0)).clamp(40, 100);
        let text = match registry::find_mode(&self.kind) {
            Some(mode) => explain_mode(mode, width),
            None => explain(kind_named(&self.kind)?, width),
        };
        print(&text)?;
        Ok(Found::Something)
    }
}

/// Appends text in lines of this width: the first begins with `first`, the others with `indent`. Words stay whole, names with
/// hyphens too, so that they can be copied.
fn push_wrapped(text: &mut String, width: usize, first: &str, indent: &str, words: &str) {
    let mut line = String::from(first);
    let mut empty = true;
    for word in words.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            text.push_str(line.trim_end());
            text.push('\n');
            line = indent.into();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// A titled part of an explanation, wrapped; nothing without lines.
fn write_section(text: &mut String, width: usize, title: &str, lines: &[&str]) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}\n"));
    for line in lines {
        push_wrapped(text, width, "  ", "  ", line);
    }
}

fn explain_mode(mode: &Mode, width: usize) -> String {
    let mut text = format!("{} ({}), a mode of every kind\n", mode.name, mode.id);
    let mut section = |title: &str, lines: &[&str]| write_section(&mut text, width, title, lines);
    section("Question", &[mode.summary]);
    section("Idea", &[mode.idea]);
    section("Formulas", mode.formulas);
    section("Secrecy", &[mode.secrecy]);
    section("Cost", &[mode.cost]);
    section("Use", &["bouquet secret -o FILE, then bouquet build --secret FILE --kind KIND ...", mode.usage]);
    section("Papers", mode.papers);
    section("Also called", &[&mode.aliases.join(", ")]);
    text
}

fn explain(kind: &Kind, width: usize) -> String {
    let facts = kind.facts();
    let mut text = format!("{} ({})\n", facts.name(), facts.id);
    for (title, body) in facts.text.sections() {
        text.push_str(&format!("\n{title}\n"));
        write_markdown(&mut text, width, &body);
    }
    let mut section = |title: &str, lines: &[&str]| write_section(&mut text, width, title, lines);
    let listed = |words: Vec<&str>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    let verbs: Vec<_> = kind.verbs().map(|verb| kind.verb_text(verb)).collect();
    section("Can", &[&listed(verbs.iter().map(String::as_str).collect())]);
    let specials: Vec<_> = kind
        .specials()
        .map(|special| {
            let word = if special.acts { "act" } else { "ask" };
            let call = format!("bouquet {word} FILTER {} {}", special.name, special.takes.name());
            format!("{}: {}", call.trim_end(), special.help)
        })
        .collect();
    section("Only this kind", &specials.iter().map(String::as_str).collect::<Vec<_>>());
    section("Errors", &[&listed(facts.errors.iter().map(|class| class.name()).collect())]);
    section("Behind the key's TAB", &[facts.note.name()]);
    section("Also called", &[&listed(facts.aliases.to_vec())]);
    section("Family", &[facts.family]);
    text.push_str(&parameters(kind, width));
    text
}

/// Markdown for a terminal: paragraphs and list items are wrapped; pictures, formulas and tables stay as they are.
fn write_markdown(text: &mut String, width: usize, body: &str) {
    let (mut paragraph, mut verbatim) = (String::new(), false);
    let flush = |text: &mut String, paragraph: &mut String| {
        let indent = if paragraph.starts_with("- ") { "    " } else { "  " };
        if !paragraph.is_empty() {
            push_wrapped(text, width, "  ", indent, paragraph);
        }
        paragraph.clear();
    };
    for line in body.lines() {
        let is_fence = line.starts_with("```");
        if is_fence || verbatim || line.starts_with('|') || line.is_empty() || line.starts_with("- ") {
            flush(text, &mut paragraph);
        }
        if is_fence {
            verbatim = !verbatim;
        } else if verbatim || line.starts_with('|') {
            text.push_str(&format!("  {line}\n"));
        } else if line.is_empty() {
            text.push('\n');
        } else {
            let line = line.trim().trim_start_matches("### ");
            paragraph.push_str(if paragraph.is_empty() { "" } else { " " });
            paragraph.push_str(line);
        }
    }
    flush(text, &mut paragraph);
}

fn parameters(kind: &Kind, width: usize) -> String {
    let parameters = kind.facts().parameters;
    let name_width = parameters.iter().map(|parameter| parameter.name.len()).max().unwrap_or(0);
    let indent = " ".repeat(name_width + 4);
    let mut text = String::from("\nParameters (--set NAME=VALUE)\n");
    for parameter in parameters {
        let default = parameter.default_text();
        let default = default.map_or("follows from the others".into(), |default| format!("default {default}"));
        let first = format!("  {:name_width$}  ", parameter.name);
        for (start, line) in
            [(&first, parameter.help.to_owned()), (&indent, format!("{}; {default}", parameter.range()))]
        {
            push_wrapped(&mut text, width, start, &indent, &line);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let mut text = String::new();
        push_wrapped(&mut text, 12, "a  ", "   ", "one two-three four five");
        assert_eq!(text, "a  one\n   two-three\n   four five\n");
    }

    #[test]
    fn every_explanation_keeps_to_its_width_and_names_every_parameter() {
        for kind in bouquet::registry::kinds() {
            let text = explain(kind, 72);
            // Pictures and formulas keep the width that they were drawn with.
            for line in text.lines() {
                let drawn = kind.facts().text.markdown().contains(line.strip_prefix("  ").unwrap_or(line));
                assert!(drawn || line.chars().count() <= 72, "{line}");
            }
            for parameter in kind.facts().parameters {
                assert!(text.contains(&format!("\n  {}", parameter.name)), "{text}");
            }
        }
    }
}
