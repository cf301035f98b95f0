//! What the tests of the three kinds share: filters through the handle, of keys with notes.

use crate::AnyFilter;
use crate::capability::{Dataset, Item, Note};
use crate::hash::Hashing;
use crate::kind::{Config, Kind, Setting};

/// The settings of these words.
pub(crate) fn config(kind: &Kind, settings: &[(&str, &str)], seed: u64) -> Config {
    let config =
        settings.iter().fold(Config::new(kind.facts()), |config, (name, text)| config.set(name, text).unwrap());
    config.hashed(Hashing::seeded(seed))
}

/// The filter of these members, where those strangers are known.
pub(crate) fn built(
    config: &Config,
    members: &[(u64, Note<'_>)],
    absent: &[(u64, Note<'_>)],
) -> crate::Result<AnyFilter> {
    let bytes = |keys: &[(u64, Note<'_>)]| keys.iter().map(|(key, _)| key.to_le_bytes()).collect::<Vec<_>>();
    let (member_bytes, absent_bytes) = (bytes(members), bytes(absent));
    fn items<'a>(bytes: &'a [[u8; 8]], keys: &[(u64, Note<'a>)]) -> Vec<Item<'a>> {
        bytes.iter().zip(keys).map(|(key, (_, note))| Item::new(key.as_slice(), *note)).collect()
    }
    let (items, absent) = (items(&member_bytes, members), items(&absent_bytes, absent));
    AnyFilter::build(config, &Dataset { items: &items, absent: &absent })
}

pub(crate) fn contains(filter: &AnyFilter, key: u64) -> bool {
    filter.contains().unwrap().contains(&key.to_le_bytes())
}

/// The positions of a key, as the question tells them.
pub(crate) fn probes(filter: &AnyFilter, key: u64) -> u64 {
    match filter.ask("probes", crate::kind::Argument::Key(&key.to_le_bytes())).unwrap() {
        crate::kind::Reply::List(list) => match list[0] {
            crate::kind::Reply::Integer(probes) => probes as u64,
            ref other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// A figure that is a real number.
pub(crate) fn figure(filter: &AnyFilter, name: &str) -> f64 {
    match filter.figures().iter().find(|figure| figure.name == name).map(|figure| figure.value) {
        Some(Setting::Real(real)) => real,
        Some(Setting::Count(count)) => count as f64,
        other => panic!("{name}: {other:?}"),
    }
}
