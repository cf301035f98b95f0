//! The texts of kinds, and the lab.

use bouquet::kind::Verb;
use bouquet::registry;
use bouquet_lab::{Lab, Verdict, find};
use serde_json::{Value, json};

use super::{Answer, word};
use crate::markdown;

/// The text of a kind as HTML, section by section.
pub fn text(wanted: &Value) -> Answer {
    let kind = registry::find(word(wanted, "kind")?)?;
    let facts = kind.facts();
    let sections = facts.text.sections().map(|(title, body)| {
        let html = if title == "Formula" { markdown::with_formulas(&body) } else { markdown::html(&body) };
        json!({ "title": title, "html": html })
    });
    let parameters = facts
        .parameters
        .iter()
        .map(|of| json!({ "name": of.name, "range": of.range(), "default": of.default_text(), "help": of.help }));
    Ok(json!({
        "id": facts.id,
        "name": facts.name(),
        "family": facts.family,
        "aliases": facts.aliases,
        "verbs": Verb::ALL.iter().filter(|verb| kind.can(**verb)).map(|verb| kind.verb_text(*verb)).collect::<Vec<_>>(),
        "errors": facts.errors.iter().map(|class| class.name()).collect::<Vec<_>>(),
        "sections": sections.collect::<Vec<_>>(),
        "parameters": parameters.collect::<Vec<_>>(),
    }))
}

/// The lab's experiments.
pub fn experiments() -> Value {
    let row = |of: &bouquet_lab::Experiment| {
        json!({
            "id": of.id,
            "title": of.title,
            "place": of.place,
            "paper": format!("{}, {} ({})", of.paper.authors, of.paper.title, of.paper.year),
        })
    };
    bouquet_lab::experiments().iter().map(row).collect()
}

/// An experiment, done now with few rounds: its plots and what became of the paper's claims.
pub fn experiment(wanted: &Value) -> Answer {
    let experiment = find(word(wanted, "id")?)?;
    let report = experiment.run(&Lab { quick: true, seed: 1 })?;
    let claims = report.claims.iter().map(|claim| {
        json!({
            "what": claim.what,
            "paper": claim.paper,
            "found": claim.found,
            "verdict": claim.verdict().name(),
            "fails": claim.verdict() == Verdict::Differs,
        })
    });
    let plots = match report.plots.as_slice() {
        [] => None,
        plots => Some(bouquet_lab::plot::svg(experiment.title, plots)),
    };
    Ok(json!({
        "id": experiment.id,
        "title": experiment.title,
        "place": experiment.place,
        "summary": report.summary(),
        "plots": plots,
        "claims": claims.collect::<Vec<_>>(),
        "notes": report.notes,
    }))
}
