//! The table of everything that exists. Front ends read it and never name a kind.

use crate::error::{Error, Result};
pub use crate::kind::Family;
use crate::kind::{Config, Kind, Need, Verb};
use crate::secrecy::Mode;

/// Every family, in the order of the catalogue.
pub const FAMILIES: &[Family] = &[
    crate::membership::FAMILY,
    crate::counting::FAMILY,
    crate::dynamic::FAMILY,
    crate::decay::FAMILY,
    crate::accuracy::FAMILY,
    crate::values::FAMILY,
    crate::sets::FAMILY,
    crate::foreign::FAMILY,
];

/// Every mode: what all kinds can be given.
pub const MODES: &[Mode] = &[crate::secrecy::keyed::MODE];

/// The mode of this name or alias, whatever the case.
///
/// ```
/// assert_eq!(bouquet::registry::find_mode("Keyed").map(|mode| mode.id), Some("keyed"));
/// ```
#[must_use]
pub fn find_mode(name: &str) -> Option<&'static Mode> {
    let known = |mode: &&Mode| [mode.id, mode.name].iter().chain(mode.aliases).any(|n| n.eq_ignore_ascii_case(name));
    MODES.iter().find(known)
}

/// Every kind.
///
/// ```
/// use bouquet::{kind::Verb, registry};
/// let growing: Vec<_> = registry::kinds().filter(|kind| kind.can(Verb::Grow)).map(|kind| kind.facts().id).collect();
/// assert!(growing.contains(&"scalable") && !growing.contains(&"standard"));
/// ```
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    FAMILIES.iter().flat_map(|family| family.kinds)
}

/// The kind of this name or alias, whatever the case.
///
/// ```
/// use bouquet::registry;
/// assert_eq!(registry::find("BF")?.facts().id, "standard");
/// assert!(registry::find("standart").unwrap_err().to_string().contains("standard"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub fn find(name: &str) -> Result<&'static Kind> {
    let exact = kinds().find(|kind| kind.facts().id == name);
    let by_alias = || kinds().find(|kind| names(kind).any(|known| known.eq_ignore_ascii_case(name)));
    exact.or_else(by_alias).ok_or_else(|| unknown(name))
}

/// The kind of this number in a frame.
pub(crate) fn by_number(number: u16) -> Result<&'static Kind> {
    kinds().find(|kind| kind.facts().number == number).ok_or_else(|| Error::UnknownKind {
        name: format!("number {number}"),
        suggestion: "the frame was written by a newer version, or is damaged".into(),
    })
}

/// The kind for a user who names none: one that is sized for its items, or one that grows when their number is not
/// known.
///
/// ```
/// use bouquet::registry::default_kind;
/// assert_eq!(default_kind(true).facts().id, "standard");
/// assert_eq!(default_kind(false).facts().id, "scalable");
/// ```
#[must_use]
pub fn default_kind(items_known: bool) -> &'static Kind {
    if items_known { &crate::membership::standard::KIND } else { &crate::dynamic::scalable::KIND }
}

fn names(kind: &'static Kind) -> impl Iterator<Item = &'static str> {
    let facts = kind.facts();
    [facts.id, facts.name()].into_iter().chain(facts.aliases.iter().copied())
}

fn unknown(name: &str) -> Error {
    let lower = name.to_lowercase();
    let mut near: Vec<_> = kinds()
        .filter_map(|kind| {
            let best = names(kind).map(|known| strsim::jaro_winkler(&known.to_lowercase(), &lower)).fold(0.0, f64::max);
            (best > 0.75).then_some((best, kind.facts().id))
        })
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<_> = near.iter().take(3).map(|(_, id)| format!("`{id}`")).collect();
    let suggestion = match near.as_slice() {
        [] => "`bouquet kinds` lists all".into(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Error::UnknownKind { name: name.into(), suggestion }
}

/// The kinds that have the verb, each with the settings that it needs for it.
fn able(verb: Verb) -> impl Iterator<Item = String> {
    kinds().filter(move |kind| kind.can(verb)).map(move |kind| match kind.needs_text(verb) {
        needs if needs.is_empty() => kind.facts().id.into(),
        needs => format!("{} with {needs}", kind.facts().id),
    })
}

pub(crate) fn unsupported(kind: &Kind, verb: Verb) -> Error {
    let able: Vec<_> = able(verb).collect();
    let able = if able.is_empty() { "none".into() } else { able.join(", ") };
    Error::Unsupported { kind: kind.facts().id.into(), verb: verb.name().into(), able }
}

/// The kind has the verb, but not with these settings.
pub(crate) fn unsupported_with(kind: &Kind, verb: Verb, config: &Config) -> Error {
    let id = kind.facts().id;
    let settings: Vec<_> =
        kind.needs(verb).flat_map(Need::parameters).map(|name| format!("{name}={}", config.choice(name))).collect();
    // What is nearest comes first: another setting of the same kind.
    let (mut able, others): (Vec<_>, Vec<_>) = able(verb).partition(|able| able.split(' ').next() == Some(id));
    able.extend(others);
    Error::Unsupported {
        kind: format!("{id} with {}", settings.join(" and ")),
        verb: verb.name().into(),
        able: able.join(", "),
    }
}
