//! What the tests of these kinds share: filters through the handle, as front ends have them, and how many keys they find.

use std::ops::Range;

use crate::capability::{Dataset, Item, Note};
use crate::hash::Hashing;
use crate::kind::{Argument, Config, Kind, Reply, Setting};
use crate::{AnyFilter, Error};

/// The settings of these words.
pub(super) fn config(kind: &Kind, settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(kind.facts()), |config, (name, text)| config.set(name, text).unwrap())
}

/// An empty filter with a seed.
pub(super) fn empty(kind: &Kind, settings: &[(&str, &str)], seed: u64) -> AnyFilter {
    AnyFilter::new(&config(kind, settings).hashed(Hashing::seeded(seed))).unwrap()
}

/// A filter into which the first keys went one after the other.
pub(super) fn filled(kind: &Kind, settings: &[(&str, &str)], keys: u64, seed: u64) -> AnyFilter {
    let mut filter = empty(kind, settings, seed);
    let insert = filter.insert().unwrap();
    (0..keys).for_each(|key| _ = insert.insert(Item::from(key.to_le_bytes().as_slice())).unwrap());
    filter
}

/// The same, where each key goes into a set.
pub(super) fn filled_sets(
    kind: &Kind,
    settings: &[(&str, &str)],
    keys: u64,
    seed: u64,
    set: impl Fn(u64) -> u64,
) -> AnyFilter {
    let mut filter = empty(kind, settings, seed);
    let insert = filter.insert().unwrap();
    (0..keys).for_each(|key| _ = insert.insert(Item::new(&key.to_le_bytes(), Note::Group(set(key)))).unwrap());
    filter
}

/// The reply to a question about a key.
pub(super) fn ask(filter: &AnyFilter, question: &str, key: u64) -> Reply {
    filter.ask(question, Argument::Key(&key.to_le_bytes())).unwrap()
}

/// Whether a set seems to hold a key.
pub(super) fn holds(filter: &AnyFilter, key: u64, set: u64) -> bool {
    let item = Argument::Item(Item { key: &key.to_le_bytes(), note: Note::Group(set) });
    matches!(filter.ask("holds", item).unwrap(), Reply::Truth(true))
}

/// The rows of a table.
pub(super) fn rows(reply: Reply) -> Vec<Vec<Reply>> {
    if let Reply::Table(_, rows) = reply { rows } else { panic!("no table: {reply:?}") }
}

/// The number that a reply is.
pub(super) fn number(reply: &Reply) -> f64 {
    match reply {
        Reply::Integer(number) => *number as f64,
        Reply::Real(number) => *number,
        other => panic!("no number: {other:?}"),
    }
}

/// The filter of the first keys with a seed.
pub(super) fn built(kind: &Kind, settings: &[(&str, &str)], keys: u64, seed: u64) -> AnyFilter {
    built_without(kind, settings, keys, 0..0, seed)
}

/// The same, where the keys of a range are known to be absent.
pub(super) fn built_without(
    kind: &Kind,
    settings: &[(&str, &str)],
    keys: u64,
    absent: Range<u64>,
    seed: u64,
) -> AnyFilter {
    let bytes: Vec<_> = (0..keys).map(u64::to_le_bytes).collect();
    let items: Vec<_> = bytes.iter().map(|key| Item::from(key.as_slice())).collect();
    let strangers: Vec<_> = absent.map(u64::to_le_bytes).collect();
    let absent: Vec<_> = strangers.iter().map(|key| Item::from(key.as_slice())).collect();
    let config = config(kind, settings).hashed(Hashing::seeded(seed));
    AnyFilter::build(&config, &Dataset { items: &items, absent: &absent }).unwrap()
}

/// How many of the keys are found.
pub(super) fn found(filter: &AnyFilter, keys: Range<u64>) -> u64 {
    let contains = filter.contains().unwrap();
    keys.filter(|key| contains.contains(&key.to_le_bytes())).count() as u64
}

/// The share of them.
pub(super) fn share_found(filter: &AnyFilter, keys: Range<u64>) -> f64 {
    let all = keys.end - keys.start;
    found(filter, keys) as f64 / all as f64
}

/// A figure that is a count.
pub(super) fn figure(filter: &AnyFilter, name: &str) -> u64 {
    match value(filter, name) {
        Some(Setting::Count(count)) => count,
        other => panic!("{name}: {other:?}"),
    }
}

/// A figure that is a number.
pub(super) fn real_figure(filter: &AnyFilter, name: &str) -> f64 {
    match value(filter, name) {
        Some(Setting::Real(number)) => number,
        other => panic!("{name}: {other:?}"),
    }
}

fn value(filter: &AnyFilter, name: &str) -> Option<Setting> {
    filter.figures().iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

/// The parameter that settings are refused for.
pub(super) fn refused(kind: &Kind, settings: &[(&str, &str)]) -> String {
    match kind.plan(&config(kind, settings)) {
        Err(Error::Parameter { name, .. }) => name,
        answer => panic!("{answer:?}"),
    }
}
