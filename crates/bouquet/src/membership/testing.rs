//! What the tests of kinds that are built once share: filters through the handle, and how many keys they find.

use std::ops::Range;

use crate::capability::{Dataset, Item};
use crate::hash::Hashing;
use crate::kind::{Config, Kind, Setting};
use crate::{AnyFilter, Error};

/// The settings of these words.
pub(super) fn config(kind: &Kind, settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(kind.facts()), |config, (name, text)| config.set(name, text).unwrap())
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
    let absent: Vec<&[u8]> = strangers.iter().map(<[u8; 8]>::as_slice).collect();
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
    match filter.figures().iter().find(|figure| figure.name == name).map(|figure| figure.value) {
        Some(Setting::Count(count)) => count,
        other => panic!("{name}: {other:?}"),
    }
}

/// The parameter that settings are refused for.
pub(super) fn refused(kind: &Kind, settings: &[(&str, &str)]) -> String {
    match kind.plan(&config(kind, settings)) {
        Err(Error::Parameter { name, .. }) => name,
        answer => panic!("{answer:?}"),
    }
}
