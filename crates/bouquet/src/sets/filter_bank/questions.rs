//! What only a filter bank can tell or do, by name: for those who hold it through the handle.

use super::FilterBank;
use crate::capability::Item;
use crate::error::{Error, Result};
use crate::kind::{Reply, Special, Takes};
use crate::sets::{Policy, Resolution, prefixes};

pub(super) const SPECIALS: &[Special<FilterBank>] = &[
    Special::ask(
        "sets",
        Takes::Nothing,
        "of every set its size, its keys and its false-positive rate now",
        |bank, _| {
            let rates = bank.set_rates().into_iter();
            let row = |(set, rate)| {
                vec![Reply::from(set), bank.bits_of(set).into(), bank.items_of(set).into(), Reply::Real(rate)]
            };
            Ok(Reply::Table(&["set", "bits", "keys", "fpr"], (0..).zip(rates).map(row).collect()))
        },
    ),
    Special::ask(
        "only",
        Takes::Key,
        "the set of a key, if it is the only one; several are listed, for you to look closer",
        |bank, key| Ok(bank.resolve(key.key()?, Policy::ExactlyOneElseMiss).into()),
    ),
    Special::ask(
        "lowest",
        Takes::Key,
        "of the sets that may hold a key, the one with the lowest number",
        |bank, key| Ok(bank.resolve(key.key()?, Policy::LowestId).into()),
    ),
    Special::ask(
        "highest",
        Takes::Key,
        "of the sets that may hold a key, the one with the highest number",
        |bank, key| Ok(bank.resolve(key.key()?, Policy::HighestId).into()),
    ),
    Special::ask(
        "best",
        Takes::Pair,
        "of the sets that may hold a key, the one of the greatest weight: KEY TAB WEIGHT,WEIGHT,..., from set 0 on",
        |bank, pair| {
            let pair = pair.item()?;
            Ok(bank.resolve(pair.key, Policy::Score(&weights(pair)?)).into())
        },
    ),
    Special::ask(
        "candidates",
        Takes::Key,
        "the sets that no filter rules out; the true ones are among them, with layout=coded too",
        |bank, key| Ok(answer(bank.candidates(key.key()?))),
    ),
    Special::ask("count", Takes::Item, "how often a key is in a set (cells=counters): KEY TAB SET", |bank, item| {
        let item = item.item()?;
        Ok(Reply::Count(bank.count(item.key, item.group()?)?))
    }),
    Special::ask(
        "prefixes",
        Takes::Key,
        "the lengths of the prefixes of an IP address that may be in, the longest first",
        |bank, key| Ok(answer(prefixes::candidates(bank, &prefixes::address(key.key()?)?).collect())),
    ),
    Special::act(
        "add-prefix",
        Takes::Key,
        "puts a prefix such as 10.1.0.0/16 into the set of its length",
        |bank, key| {
            let (address, length) = prefixes::prefix(key.key()?)?;
            prefixes::insert(bank, &address, length).map(|_| Reply::Done)
        },
    ),
    Special::act("add-set", Takes::Nothing, "adds an empty set behind the others and tells its number", |bank, _| {
        bank.add_set().map(Reply::from)
    }),
    Special::act("remove-set", Takes::Number, "takes a set out; those behind it move up by one", |bank, set| {
        bank.remove_set(set.number()?).map(|()| Reply::Done)
    }),
    Special::act("clear-set", Takes::Number, "empties a set, which keeps its number", |bank, set| {
        bank.clear_set(set.number()?).map(|()| Reply::Done)
    }),
    Special::act(
        "size-set",
        Takes::Pair,
        "gives an empty set the size for a number of keys and tells its bits (layout=rows): SET TAB KEYS",
        |bank, pair| {
            let pair = pair.item()?;
            let number = |bytes| std::str::from_utf8(bytes).ok().and_then(|text| text.trim().parse().ok());
            let (Some(set), Some(items)) = (number(pair.key), number(pair.bytes()?)) else {
                return Err(refuse("SET TAB KEYS, two whole numbers", pair));
            };
            bank.size_set(set, items).map(Reply::from)
        },
    ),
];

/// Sets or lengths; `no` where there are none.
fn answer(numbers: Vec<u64>) -> Reply {
    if numbers.is_empty() { Reply::Truth(false) } else { numbers.into() }
}

impl From<Resolution> for Reply {
    fn from(resolution: Resolution) -> Self {
        match resolution {
            Resolution::Absent => Reply::Truth(false),
            Resolution::Set(set) => set.into(),
            Resolution::Sets(sets) | Resolution::Ambiguous(sets) => sets.into(),
        }
    }
}

fn weights(pair: Item<'_>) -> Result<Vec<f64>> {
    let text = std::str::from_utf8(pair.bytes()?).ok();
    let weights = text.and_then(|text| text.split(',').map(|weight| weight.trim().parse().ok()).collect());
    weights.ok_or_else(|| refuse("KEY TAB WEIGHT,WEIGHT,... with a number for each set", pair))
}

fn refuse(expected: &str, pair: Item<'_>) -> Error {
    let behind = pair.bytes().unwrap_or_default().escape_ascii();
    Error::Item { expected: expected.into(), found: format!("`{}` and `{behind}`", pair.key.escape_ascii()) }
}
