//! Settings of a kind as keywords, and kinds as Python reads them.

use bouquet::hash::{Hashing, Secret};
use bouquet::kind::{Config, Kind, Parameter, ParameterType, Setting, Text};
use bouquet::{ForeignFormat, registry};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList};

use crate::errors::{OrRaise, record};
use crate::keys;

/// A name of the library as a name of Python.
pub fn python_name(name: &str) -> String {
    /// Words that Python keeps for itself, among those that settings might have.
    const RESERVED: &[&str] =
        &["class", "from", "global", "in", "is", "lambda", "not", "or", "and", "for", "with", "as"];
    let name = name.replace(['-', ' '], "_");
    if RESERVED.contains(&name.as_str()) { name + "_" } else { name }
}

/// The parameter that a keyword means.
fn parameter(kind: &'static Kind, keyword: &str) -> Option<&'static Parameter> {
    kind.facts().parameters.iter().find(|of| python_name(of.name) == keyword || of.name == keyword)
}

/// The settings that keywords mean. `seed`, `wide`, `secret` and `strong` choose how keys are hashed, unless the kind has a
/// setting of that name.
pub fn config(kind: &str, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Config> {
    let kind = registry::find(kind).or_raise()?;
    let mut config = Config::new(kind.facts());
    let (mut seed, mut wide, mut secret, mut strong) = (None, false, None, false);
    for (keyword, given) in keywords.into_iter().flatten() {
        let keyword: String = keyword.extract()?;
        if given.is_none() {
            continue;
        }
        match (parameter(kind, &keyword), keyword.as_str()) {
            (Some(of), _) => config = config.set(of.name, &text(&given)?).or_raise()?,
            (None, "seed") => seed = Some(given.extract::<u64>()?),
            (None, "wide") => wide = given.extract()?,
            (None, "secret") => secret = Some(Secret::new(&keys::bytes(&given)?).or_raise()?),
            (None, "strong") => strong = given.extract()?,
            (None, unknown) => config = config.set(unknown, "").or_raise()?,
        }
    }
    let hashing = match (secret, seed) {
        (Some(_), Some(_)) => {
            return Err(PyTypeError::new_err("a keyed filter has a secret and no seed; give one of them"));
        }
        (Some(secret), None) if strong => Hashing::keyed_high(secret),
        (Some(secret), None) => Hashing::keyed(secret),
        (None, Some(seed)) if wide => Hashing::seeded_wide(seed),
        (None, None) if wide => Hashing::seeded_wide(Hashing::default().seed()),
        (None, Some(seed)) => Hashing::seeded(seed),
        (None, None) => return Ok(config),
    };
    Ok(config.hashed(hashing))
}

/// A value as the library reads it.
fn text(given: &Bound<'_, PyAny>) -> PyResult<String> {
    match given.cast::<PyBool>() {
        Ok(flag) => Ok(if flag.is_true() { "yes" } else { "no" }.into()),
        Err(_) => Ok(given.str()?.to_str()?.to_string()),
    }
}

/// A setting as Python reads it.
pub fn value(py: Python<'_>, setting: Setting) -> PyResult<Bound<'_, PyAny>> {
    match setting {
        Setting::Count(number) => number.into_bound_py_any(py),
        Setting::Real(number) => number.into_bound_py_any(py),
        Setting::Choice(word) => word.into_bound_py_any(py),
        Setting::Flag(flag) => flag.into_bound_py_any(py),
    }
}

/// The settings by keyword.
pub fn dict<'py>(py: Python<'py>, config: &Config) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (of, setting) in config.settings() {
        dict.set_item(python_name(of.name), value(py, setting)?)?;
    }
    Ok(dict)
}

/// The name of a kind's class: its id in camel case, as in Rust.
fn class_name(kind: &Kind) -> String {
    let facts = kind.facts();
    if std::ptr::eq(kind.facts(), registry::default_kind(true).facts()) {
        return "Bloom".into();
    }
    facts.id.split('-').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// Everything that a kind says about itself.
#[pyfunction]
pub fn describe<'py>(py: Python<'py>, kind: &str) -> PyResult<Bound<'py, PyDict>> {
    let kind = registry::find(kind).or_raise()?;
    let (facts, told) = (kind.facts(), PyDict::new(py));
    told.set_item("id", facts.id)?;
    told.set_item("number", facts.number)?;
    told.set_item("name", facts.name())?;
    told.set_item("class_name", class_name(kind))?;
    told.set_item("aliases", facts.aliases)?;
    told.set_item("family", facts.family)?;
    told.set_item("summary", facts.text.summary())?;
    told.set_item("note", facts.note.name())?;
    told.set_item("errors", facts.errors.iter().map(|error| error.name()).collect::<Vec<_>>())?;
    told.set_item("built_once", kind.is_built_once(&Config::new(facts)))?;
    told.set_item("in_place", kind.is_in_place())?;
    told.set_item("knows_absent", kind.knows_absent())?;
    let sections: Vec<_> = Text::SECTIONS.iter().map(|title| (*title, facts.text.section(title))).collect();
    told.set_item("sections", sections)?;
    told.set_item("text", facts.text.markdown())?;
    let verbs: Vec<_> = kind.verbs().map(|verb| (verb.name(), kind.needs_text(verb))).collect();
    told.set_item("verbs", verbs)?;
    let parameters = PyList::empty(py);
    for of in facts.parameters {
        let row = PyDict::new(py);
        let (word, default) = match of.of {
            ParameterType::Count { default, .. } => ("int", default.map(Setting::Count)),
            ParameterType::Real { default, .. } => ("float", default.map(Setting::Real)),
            ParameterType::Choice { options } => ("str", options.first().map(|word| Setting::Choice(word))),
            ParameterType::Flag => ("bool", Some(Setting::Flag(false))),
        };
        row.set_item("name", of.name)?;
        row.set_item("keyword", python_name(of.name))?;
        row.set_item("help", of.help)?;
        row.set_item("type", word)?;
        row.set_item("range", of.range())?;
        row.set_item("default", default.map(|default| value(py, default)).transpose()?)?;
        if let ParameterType::Choice { options } = of.of {
            row.set_item("options", options)?;
        }
        parameters.append(row)?;
    }
    told.set_item("parameters", parameters)?;
    let specials = PyList::empty(py);
    for special in kind.specials() {
        let row = PyDict::new(py);
        row.set_item("name", special.name)?;
        row.set_item("method", python_name(special.name))?;
        row.set_item("help", special.help)?;
        row.set_item("takes", format!("{:?}", special.takes).to_lowercase())?;
        row.set_item("acts", special.acts)?;
        specials.append(row)?;
    }
    told.set_item("specials", specials)?;
    Ok(told)
}

/// The ids of all kinds, in the order of the registry.
#[pyfunction]
pub fn kind_ids() -> Vec<&'static str> {
    registry::kinds().map(|kind| kind.facts().id).collect()
}

/// The verbs that kinds can have.
#[pyfunction]
pub fn verbs() -> Vec<&'static str> {
    bouquet::kind::Verb::ALL.iter().map(|verb| verb.name()).collect()
}

/// The formats of other programs, with what they are.
#[pyfunction]
pub fn formats() -> Vec<(&'static str, &'static str)> {
    ForeignFormat::all().iter().map(|format| (format.name, format.help)).collect()
}

/// What a filter of these settings takes, without making it.
#[pyfunction]
#[pyo3(signature = (kind, settings=None))]
pub fn plan<'py>(py: Python<'py>, kind: &str, settings: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
    let config = config(kind, settings)?;
    let plan = registry::find(kind).or_raise()?.plan(&config).or_raise()?;
    record(py, "Plan")?.call1((plan.bits, plan.hashes, plan.items, plan.fpr))
}
