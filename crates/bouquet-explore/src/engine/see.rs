//! A small filter, cell by cell. Nothing is kept between questions: every one brings all operations since the filter was empty.

use bouquet::capability::{Answer as Told, Dataset, Item, Note, NoteType};
use bouquet::codec::CellStore;
use bouquet::kind::{Config, Kind, Verb};
use bouquet::{AnyFilter, registry};
use serde_json::{Map, Value, json};

use super::{Answer, Problem, word};

/// Bits of a filter that can be drawn.
const MOST: u64 = 1 << 14;

/// Operations since the filter was empty.
const STEPS: usize = 400;

/// Candidates that are asked to find a false positive.
const CANDIDATES: u32 = 200_000;

/// What is done to the filter, step by step.
enum Step<'a> {
    Insert(&'a str, Option<&'a str>),
    Remove(&'a str, Option<&'a str>),
    Advance(u64),
    Grow,
}

impl<'a> Step<'a> {
    fn read(value: &'a Value) -> Result<Self, Problem> {
        let note = value["note"].as_str().filter(|note| !note.is_empty());
        Ok(match word(value, "do")? {
            "insert" => Step::Insert(word(value, "key")?, note),
            "remove" => Step::Remove(word(value, "key")?, note),
            "advance" => Step::Advance(value["ticks"].as_u64().unwrap_or(1).min(1 << 20)),
            "grow" => Step::Grow,
            other => return Err(Problem(format!("there is no step `{other}`"))),
        })
    }
}

/// The filter after its steps, what became of each, and where a key is.
pub fn see(wanted: &Value) -> Answer {
    let kind = registry::find(word(wanted, "kind")?)?;
    let config = config(kind, &wanted["settings"])?;
    if let Ok(plan) = kind.plan(&config) {
        refuse_large(plan.bits)?;
    }
    let steps = wanted["steps"].as_array().map_or(&[][..], Vec::as_slice);
    if steps.len() > STEPS {
        return Err(Problem(format!("{} steps are too many; begin anew", steps.len())));
    }
    let steps = steps.iter().map(Step::read).collect::<Result<Vec<_>, _>>()?;
    let built_once = kind.is_built_once(&config);
    let mut told = Vec::new();
    let mut members: Vec<String> = Vec::new();
    let mut before = None;
    let mut filter = if built_once { built(&config, &steps)? } else { AnyFilter::new(&config)? };
    for (at, step) in steps.iter().enumerate() {
        if at + 1 == steps.len() && !built_once {
            before = Some(filter.clone());
        }
        if built_once {
            told.push(match step {
                Step::Insert(key, _) => {
                    members.push((*key).to_string());
                    "is among the keys that it was built from".to_string()
                }
                _ => "its kind is built once from all of its keys".into(),
            });
        } else {
            told.push(take(&mut filter, step, &mut members));
        }
        refuse_large(filter.stats().bits)?;
    }
    let stores = filter.cells();
    let changed = before.as_ref().map_or_else(Vec::new, |before| differing(&before.cells(), &stores));
    let sought = if wanted["seek"].as_bool() == Some(true) { seek(&filter, &members) } else { None };
    let probe = wanted["probe"].as_str().or(sought.as_deref());
    let probe = probe.map(|key| probed(&filter, &config, key, &members)).transpose()?;
    let stats = filter.stats();
    let settings: Map<_, _> =
        filter.config().settings().map(|(of, value)| (of.name.to_string(), value.to_string().into())).collect();
    let figures: Map<_, _> =
        filter.figures().iter().map(|figure| (figure.name.to_string(), figure.value.to_string().into())).collect();
    Ok(json!({
        "kind": kind.facts().id,
        "settings": settings,
        "figures": figures,
        "note": filter.note().name(),
        "verbs": Verb::ALL.iter().filter(|verb| filter.can(**verb)).map(|verb| verb.name()).collect::<Vec<_>>(),
        "built_once": built_once,
        "bits": stats.bits,
        "items": stats.items,
        "fill": stats.fill,
        "rate": stats.fpr.or_else(|| filter.expected(stats.items).false_positive),
        "members": members,
        "steps": told,
        "stores": stores.iter().map(store_json).collect::<Vec<_>>(),
        "changed": changed,
        "probe": probe,
        "sought": sought,
    }))
}

/// The settings that the page gives; those that it leaves empty are as usual.
fn config(kind: &'static Kind, settings: &Value) -> Result<Config, Problem> {
    let mut config = Config::new(kind.facts());
    for (name, value) in settings.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        if !text.trim().is_empty() {
            config = config.set(name, text.trim())?;
        }
    }
    Ok(config)
}

fn refuse_large(bits: u64) -> Result<(), Problem> {
    match bits > MOST {
        true => Err(Problem(format!("the filter has {bits} bits, of which at most {MOST} are drawn; make it smaller"))),
        false => Ok(()),
    }
}

/// A filter of the keys that the steps insert.
fn built(config: &Config, steps: &[Step<'_>]) -> Result<AnyFilter, Problem> {
    let kind = registry::find(config.facts().id)?;
    let of = kind.note(config);
    let items = steps.iter().filter_map(|step| match step {
        Step::Insert(key, given) => Some(note(of, *given).map(|note| Item::new(key.as_bytes(), note))),
        _ => None,
    });
    let items = items.collect::<Result<Vec<_>, _>>()?;
    Ok(AnyFilter::build(config, &Dataset { items: &items, absent: &[] })?)
}

/// What a key carries: what is given, or the least that such a kind takes.
fn note(of: NoteType, given: Option<&str>) -> Result<Note<'_>, Problem> {
    let least = match of {
        NoteType::Integer => Some("1"),
        NoteType::Group => Some("0"),
        _ => None,
    };
    Ok(of.parse(given.or(least).map(str::as_bytes))?)
}

/// Does a step, and says what came of it.
fn take(filter: &mut AnyFilter, step: &Step<'_>, members: &mut Vec<String>) -> String {
    let of = filter.note();
    let done = match step {
        Step::Insert(key, given) => note(of, *given).and_then(|note| {
            let new = filter.insert()?.insert(Item::new(key.as_bytes(), note))?;
            members.push((*key).to_string());
            Ok(if new { "is in, and was certainly new" } else { "is in, and was there before, or seemed so" }
                .to_string())
        }),
        Step::Remove(key, given) => note(of, *given).and_then(|note| {
            filter.remove()?.remove(Item::new(key.as_bytes(), note))?;
            if let Some(at) = members.iter().position(|member| member == key) {
                members.remove(at);
            }
            Ok("was removed".to_string())
        }),
        Step::Advance(ticks) => filter.advance().map_err(Problem::from).map(|clock| {
            clock.advance(*ticks);
            format!("{ticks} ticks have passed")
        }),
        Step::Grow => {
            filter.grow().and_then(|room| room.grow()).map_err(Problem::from).map(|()| "there is more room".into())
        }
    };
    done.unwrap_or_else(|Problem(why)| why)
}

/// The cells of which two filters have different ones.
fn differing(before: &[CellStore<'_>], after: &[CellStore<'_>]) -> Vec<(usize, u64)> {
    let mut cells = Vec::new();
    for (store, now) in after.iter().enumerate() {
        let then = before.get(store).filter(|then| then.grain() == now.grain());
        let differs = |cell: &u64| then.map_or(!now.is_zero(*cell), |then| now.differs(then, *cell));
        cells.extend((0..now.len()).filter(differs).map(|cell| (store, cell)));
    }
    cells
}

/// The cells that a key takes alone in an empty filter of the same settings, whatever its kind.
fn places(config: &Config, key: &str) -> Vec<(usize, u64)> {
    let alone = || {
        let kind = registry::find(config.facts().id).ok()?;
        let mut filter = AnyFilter::new(config).ok()?;
        let empty = filter.clone();
        let note = note(kind.note(config), None).ok()?;
        filter.insert().ok()?.insert(Item::new(key.as_bytes(), note)).ok()?;
        Some(differing(&empty.cells(), &filter.cells()))
    };
    alone().unwrap_or_default()
}

/// What the filter says of a key, where the key's cells are, and whose they are too.
fn probed(filter: &AnyFilter, config: &Config, key: &str, members: &[String]) -> Answer {
    let bytes = key.as_bytes();
    let mut answers = Map::new();
    let mut positive = None;
    if filter.can(Verb::Contains) {
        let contains = filter.contains()?.contains(bytes);
        positive = Some(contains);
        answers.insert("contains".into(), contains.into());
    }
    if filter.can(Verb::Count) {
        let count = filter.count()?.count(bytes);
        let text = format!("{}{}", if count.at_least { "at least " } else { "" }, count.count);
        positive = positive.or(Some(count.count > 0));
        answers.insert("count".into(), text.into());
    }
    if filter.can(Verb::Get) {
        let text = match filter.get()?.get(bytes) {
            Told::Absent => "no value".to_string(),
            Told::Unknown => "cannot tell".into(),
            Told::Value(bouquet::capability::Value::Integer(value)) => value.to_string(),
            Told::Value(bouquet::capability::Value::Bytes(value)) => String::from_utf8_lossy(&value).into_owned(),
        };
        positive = positive.or(Some(text != "no value"));
        answers.insert("value".into(), text.into());
    }
    if filter.can(Verb::Classify) {
        let sets = filter.classify()?.classify(bytes);
        positive = positive.or(Some(!sets.is_empty()));
        let text: Vec<_> = sets.iter().map(u64::to_string).collect();
        answers.insert("sets".into(), if text.is_empty() { "none".into() } else { text.join(", ").into() });
    }
    if filter.can(Verb::Judge) {
        answers.insert("verdict".into(), filter.judge()?.judge(bytes).name().into());
    }
    let cells = places(config, key);
    let member = members.iter().any(|member| member == key);
    // Whose cells these are: of every member alone.
    let mut others: Vec<&String> = members.iter().filter(|member| *member != key).collect();
    others.dedup();
    let theirs: Vec<_> = others.iter().map(|other| (other, places(config, other))).collect();
    let shared = cells.iter().map(|cell| {
        let keys = theirs.iter().filter(|(_, cells)| cells.contains(cell)).map(|(key, _)| key.as_str());
        json!({ "store": cell.0, "cell": cell.1, "keys": keys.collect::<Vec<_>>() })
    });
    Ok(json!({
        "key": key,
        "answers": answers,
        "member": member,
        "positive": positive,
        "false_positive": positive == Some(true) && !member,
        "false_negative": positive == Some(false) && member,
        "cells": shared.collect::<Vec<_>>(),
    }))
}

/// A key that is not in and seems to be.
fn seek(filter: &AnyFilter, members: &[String]) -> Option<String> {
    let mut answer = [false];
    (0..CANDIDATES).map(|number| format!("flower-{number}")).find(|key| {
        let asked = bouquet_advice::ask(filter, &[key.as_bytes()], &mut answer);
        asked.is_ok() && answer[0] && !members.contains(key)
    })
}

fn store_json(store: &CellStore<'_>) -> Value {
    let grain = store.grain();
    // Numbers of 64 bits are no numbers of JavaScript.
    let value = |cell: u64| match (store.is_zero(cell), grain.width) {
        (true, _) => json!(0),
        (false, ..=32) => json!(store.value(cell)),
        (false, _) => json!(format!("{:x}", store.value(cell))),
    };
    json!({
        "name": grain.name,
        "width": grain.width,
        "group": grain.group,
        "cells": (0..store.len()).map(value).collect::<Vec<_>>(),
    })
}
