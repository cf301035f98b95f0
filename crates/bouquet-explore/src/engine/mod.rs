//! What the page asks, and what computes the answers.
//!
//! The page knows questions alone, one method each, with JSON both ways; [`Local`] answers them with the library of this program. Another
//! engine may do so elsewhere.

mod choose;
mod inspect;
mod read;
mod see;

use bouquet::kind::{Config, Kind, ParameterType};
use bouquet::registry;
use serde_json::{Value, json};

/// Why there is no answer: a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem(pub String);

impl From<bouquet::Error> for Problem {
    fn from(error: bouquet::Error) -> Self {
        Problem(error.to_string())
    }
}

impl From<bouquet_lab::Error> for Problem {
    fn from(error: bouquet_lab::Error) -> Self {
        Problem(error.to_string())
    }
}

/// An answer, or why there is none.
pub type Answer = Result<Value, Problem>;

/// Answers the questions of the page.
pub trait Engine: Send + Sync {
    /// Every kind with its verbs and parameters.
    fn kinds(&self) -> Answer;

    /// What to take for a workload.
    fn advise(&self, workload: &Value) -> Answer;

    /// Curves of kinds: bits per key over the rate, the rate over the keys, memory over the keys.
    fn curves(&self, wanted: &Value) -> Answer;

    /// A small filter after some operations, cell by cell.
    fn see(&self, wanted: &Value) -> Answer;

    /// What is in the frame of a filter.
    fn inspect(&self, frame: &[u8]) -> Answer;

    /// The text of a kind.
    fn text(&self, wanted: &Value) -> Answer;

    /// The lab's experiments.
    fn experiments(&self) -> Answer;

    /// One of them, done now.
    fn experiment(&self, wanted: &Value) -> Answer;
}

/// The library of this program.
pub struct Local;

impl Engine for Local {
    fn kinds(&self) -> Answer {
        Ok(registry::kinds().map(kind_json).collect())
    }

    fn advise(&self, workload: &Value) -> Answer {
        choose::advise(workload)
    }

    fn curves(&self, wanted: &Value) -> Answer {
        choose::curves(wanted)
    }

    fn see(&self, wanted: &Value) -> Answer {
        see::see(wanted)
    }

    fn inspect(&self, frame: &[u8]) -> Answer {
        inspect::inspect(frame)
    }

    fn text(&self, wanted: &Value) -> Answer {
        read::text(wanted)
    }

    fn experiments(&self) -> Answer {
        Ok(read::experiments())
    }

    fn experiment(&self, wanted: &Value) -> Answer {
        read::experiment(wanted)
    }
}

fn kind_json(kind: &'static Kind) -> Value {
    let facts = kind.facts();
    let parameters = facts.parameters.iter().map(|of| {
        let options = match of.of {
            ParameterType::Choice { options } => Some(options),
            _ => None,
        };
        json!({ "name": of.name, "help": of.help, "range": of.range(), "default": of.default_text(), "options": options })
    });
    json!({
        "id": facts.id,
        "name": facts.name(),
        "family": facts.family,
        "summary": facts.text.summary(),
        "verbs": kind.verbs().map(|verb| verb.name()).collect::<Vec<_>>(),
        "note": kind.note(&Config::new(facts)).name(),
        "built_once": kind.is_built_once(&Config::new(facts)),
        "errors": facts.errors.iter().map(|class| class.name()).collect::<Vec<_>>(),
        "parameters": parameters.collect::<Vec<_>>(),
    })
}

/// A text of the question.
fn word<'a>(wanted: &'a Value, name: &str) -> Result<&'a str, Problem> {
    wanted[name].as_str().ok_or_else(|| Problem(format!("`{name}` is missing")))
}

/// A number of the question that has a default.
fn number(wanted: &Value, name: &str, default: f64) -> f64 {
    wanted[name].as_f64().filter(|value| value.is_finite()).unwrap_or(default)
}
