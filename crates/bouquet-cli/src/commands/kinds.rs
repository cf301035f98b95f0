//! `bouquet kinds`: what exists.

use bouquet::kind::{Kind, Parameter, ParameterType, SpecialFacts, Verb};
use bouquet::registry;
use clap::Args;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Found, Outcome};
use crate::output::{print, print_json};

/// Print every kind of filter and what it is for
#[derive(Args)]
pub struct Kinds {
    /// Only kinds that can do all of this, such as `remove,count`
    #[arg(long, value_name = "VERB", value_delimiter = ',')]
    can: Vec<String>,

    /// Print JSON: a list with verbs, errors and parameters of each kind
    #[arg(long)]
    json: bool,
}

impl Kinds {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let verbs = self.can.iter().map(|word| verb_named(word)).collect::<Result<Vec<_>, _>>()?;
        let able = |kind: &&Kind| verbs.iter().all(|verb| kind.can(*verb));
        let found = registry::kinds().any(|kind| able(&kind));
        if self.json {
            let kinds: Vec<_> = registry::kinds().filter(able).map(in_json).collect();
            print_json(&Value::Array(kinds))?;
            return Ok(Found::when(found));
        }
        let width = registry::kinds().map(|kind| kind.facts().id.len()).max().unwrap_or(0);
        let mut text = String::new();
        for family in registry::FAMILIES {
            let kinds: Vec<_> = family.kinds.iter().filter(able).collect();
            if kinds.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("{}: {}\n", family.name, family.summary));
            let line = |kind: &Kind| {
                let (id, summary) = (kind.facts().id, kind.facts().text.summary());
                let needs: Vec<_> =
                    verbs.iter().map(|verb| kind.needs_text(*verb)).filter(|text| !text.is_empty()).collect();
                let needs = if needs.is_empty() { String::new() } else { format!(" (with {})", needs.join(" and ")) };
                format!("  {id:width$}  {summary}{needs}\n")
            };
            text.extend(kinds.into_iter().map(line));
        }
        if verbs.is_empty() {
            text.push_str("\nmodes: what every kind can be given\n");
            text.extend(registry::MODES.iter().map(|mode| format!("  {:width$}  {}\n", mode.id, mode.summary)));
        }
        print(&text)?;
        Ok(Found::when(found))
    }
}

/// The verb of this word; the program's commands are understood too.
pub fn verb_named(word: &str) -> Result<Verb, Failure> {
    let word = word.trim();
    let verb = match word {
        "query" => Some(Verb::Contains),
        "add" => Some(Verb::Insert),
        "estimate" => Some(Verb::Cardinality),
        _ => Verb::from_name(word),
    };
    verb.ok_or_else(|| {
        let known: Vec<_> = Verb::ALL.iter().map(|verb| verb.name()).collect();
        Failure::new(format!("unknown verb `{word}`; the verbs are {}", known.join(", ")))
    })
}

fn in_json(kind: &Kind) -> Value {
    let facts = kind.facts();
    json!({
        "kind": facts.id,
        "name": facts.name(),
        "aliases": facts.aliases,
        "family": facts.family,
        "summary": facts.text.summary(),
        "can": kind.verbs().map(Verb::name).collect::<Vec<_>>(),
        "needs": kind.verbs().filter_map(|verb| needs_in_json(kind, verb)).collect::<Map<_, _>>(),
        "specials": kind.specials().map(special_in_json).collect::<Vec<_>>(),
        "errors": facts.errors.iter().map(|class| class.name()).collect::<Vec<_>>(),
        "note": facts.note.name(),
        "in_place": kind.is_in_place(),
        "hashes": kind.hashes_keys(),
        "absent": kind.knows_absent(),
        "parameters": facts.parameters.iter().map(parameter_in_json).collect::<Vec<_>>(),
        "papers": facts.text.items("Papers").collect::<Vec<_>>(),
    })
}

fn special_in_json(special: &SpecialFacts) -> Value {
    let &SpecialFacts { name, help, takes, acts } = special;
    json!({ "name": name, "acts": acts, "takes": takes.name(), "help": help })
}

/// The settings that a verb needs, by parameter, and under `unless` those with which it needs none; `None` when it never
/// needs any.
fn needs_in_json(kind: &Kind, verb: Verb) -> Option<(String, Value)> {
    let mut needs: Map<_, _> = kind.needs(verb).map(|need| (need.parameter.to_owned(), need.word.into())).collect();
    let unless: Map<_, _> =
        kind.needs(verb).filter_map(|need| need.unless).map(|(name, word)| (name.to_owned(), word.into())).collect();
    if !unless.is_empty() {
        needs.insert("unless".to_owned(), unless.into());
    }
    (!needs.is_empty()).then(|| (verb.name().to_owned(), needs.into()))
}

fn parameter_in_json(parameter: &Parameter) -> Value {
    let of = match parameter.of {
        ParameterType::Count { .. } => "count",
        ParameterType::Real { .. } => "real",
        ParameterType::Choice { .. } => "choice",
        ParameterType::Flag => "flag",
    };
    json!({
        "name": parameter.name,
        "type": of,
        "range": parameter.range(),
        "default": parameter.default_text(),
        "help": parameter.help,
    })
}
