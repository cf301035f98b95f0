//! What is in the frame of a filter: what it says of itself, how its stores are filled, and how its rate will grow.

use bouquet::capability::{Dataset, Item, Note, NoteType};
use bouquet::codec::{CellStore, Header};
use bouquet::hash::mix;
use bouquet::kind::Verb;
use bouquet::{AnyFilter, OpenOptions};
use serde_json::{Map, Value, json};

use super::{Answer, Problem};

/// Parts of a store whose fill is told.
const PARTS: u64 = 256;

/// Columns of a histogram.
const COLUMNS: usize = 32;

/// Keys of a filter that is made for comparison.
const HONEST: u64 = 2_000_000;

/// What is in a frame; of a keyed one what can be told without its secret.
pub fn inspect(frame: &[u8]) -> Answer {
    if frame.is_empty() {
        return Err(Problem("the file is empty; give what `bouquet build` or `save` has written".into()));
    }
    let options = OpenOptions { allow_locked: true, ..OpenOptions::default() };
    let filter = AnyFilter::from_bytes_with(frame, &options)?;
    let header = Header::read(frame)?;
    let (facts, stats, config) = (filter.kind().facts(), filter.stats(), filter.config());
    let settings: Map<_, _> =
        config.settings().map(|(of, value)| (of.name.to_string(), value.to_string().into())).collect();
    let figures: Map<_, _> =
        filter.figures().iter().map(|figure| (figure.name.to_string(), figure.value.to_string().into())).collect();
    let honest = honest(&filter);
    let mut warnings: Vec<String> = Vec::new();
    if let Some((fill, limit)) = stats.pollution() {
        warnings.push(format!(
            "it is fuller ({fill:.4}) than its {} keys can make it ({limit:.4}): as if it were forged",
            stats.items
        ));
    }
    let stores: Vec<Value> = filter
        .cells()
        .iter()
        .enumerate()
        .filter(|(_, store)| !store.is_empty())
        .map(|(at, store)| {
            let parts = parts(store);
            let honest = honest.as_ref().and_then(|honest| {
                let stores = honest.cells();
                stores.get(at).filter(|other| other.len() == store.len()).map(|other| self::parts(other))
            });
            if let (Some(honest), true) = (&honest, store.len() >= 2_048) {
                let (ours, theirs) = (deviation(&parts), deviation(honest));
                if ours.1 > 2.0 * theirs.1 + 1e-9 && parts.len() >= 32 {
                    warnings.push(format!(
                        "store {at} is filled {:.1} times as unevenly as honest keys fill it: chosen keys, or a bad hash",
                        ours.1 / theirs.1.max(1e-12)
                    ));
                }
            }
            let grain = store.grain();
            json!({
                "name": grain.name,
                "width": grain.width,
                "cells": store.len(),
                "parts": parts,
                "histogram": histogram(&parts, honest.as_deref(), store.len()),
                "compared": honest.is_some(),
            })
        })
        .collect();
    if !filter.hashing().is_usable() {
        warnings.push("it is keyed, and nobody has given its secret here: nobody vouches for what it holds".into());
    }
    let growth: Vec<_> = (0..=40u64)
        .filter_map(|at| {
            let planned = config.count("items").unwrap_or(0).max(stats.items).max(100);
            let items = planned.saturating_mul(at) / 20;
            Some((items, filter.expected(items).false_positive.filter(|rate| rate.is_finite())?))
        })
        .collect();
    Ok(json!({
        "info": {
            "kind": facts.id,
            "name": facts.name(),
            "items": stats.items,
            "bits": stats.bits,
            "bits per key": (stats.items > 0).then(|| stats.bits as f64 / stats.items as f64),
            "fill": stats.fill,
            "hashes": stats.hashes,
            "expected rate": stats.fpr.or_else(|| filter.expected(stats.items).false_positive),
            "hash": filter.hashing().id().name(),
            "version": header.version,
            "bytes": header.bytes,
        },
        "settings": settings,
        "figures": figures,
        "stores": stores,
        "growth": growth,
        "warnings": warnings,
    }))
}

/// The shares of cells in use of equal parts of a store.
fn parts(store: &CellStore<'_>) -> Vec<f64> {
    let cells = store.len();
    let parts = PARTS.min(cells.div_ceil(8)).max(1);
    let part = |at: u64| {
        let (start, end) = (cells * at / parts, cells * (at + 1) / parts);
        (start..end).filter(|cell| !store.is_zero(*cell)).count() as f64 / (end - start).max(1) as f64
    };
    (0..parts).map(part).collect()
}

/// Mean and standard deviation.
fn deviation(parts: &[f64]) -> (f64, f64) {
    let mean = parts.iter().sum::<f64>() / parts.len().max(1) as f64;
    let variance = parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / parts.len().max(1) as f64;
    (mean, variance.sqrt())
}

/// How many parts have which fill: here, in a filter of honest keys, and if every cell were filled by itself.
fn histogram(parts: &[f64], honest: Option<&[f64]>, cells: u64) -> Value {
    let all = || parts.iter().chain(honest.unwrap_or_default());
    let (low, high) = (all().copied().fold(1.0, f64::min), all().copied().fold(0.0, f64::max));
    let (low, width) = (low, ((high - low) / COLUMNS as f64).max(1e-9));
    let columns = |parts: &[f64]| {
        let mut columns = vec![0u32; COLUMNS];
        parts.iter().for_each(|part| columns[(((part - low) / width) as usize).min(COLUMNS - 1)] += 1);
        columns
    };
    // The normal distribution of a part's fill.
    let (mean, _) = deviation(parts);
    let sigma = (mean * (1.0 - mean) / (cells as f64 / parts.len().max(1) as f64).max(1.0)).sqrt().max(1e-9);
    let theory: Vec<f64> = (0..COLUMNS)
        .map(|column| {
            let x = low + (column as f64 + 0.5) * width;
            let density = (-((x - mean) / sigma).powi(2) / 2.0).exp() / (sigma * (2.0 * std::f64::consts::PI).sqrt());
            density * width * parts.len() as f64
        })
        .collect();
    json!({ "low": low, "width": width, "here": columns(parts), "honest": honest.map(columns), "theory": theory })
}

/// A filter of the same settings with as many keys that nobody has chosen, where one can be made at once.
fn honest(filter: &AnyFilter) -> Option<AnyFilter> {
    let (config, items) = (filter.config(), filter.stats().items);
    if items > HONEST || !filter.hashing().is_usable() {
        return None;
    }
    let keys: Vec<_> = (0..items).map(|number| mix(number).to_le_bytes()).collect();
    let note = match filter.note() {
        NoteType::Integer => Note::Integer(1),
        NoteType::Group => Note::Group(0),
        _ => Note::None,
    };
    let items: Vec<_> = keys.iter().map(|key| Item::new(key, note)).collect();
    if filter.kind().is_built_once(&config) {
        return AnyFilter::build(&config, &Dataset { items: &items, absent: &[] }).ok();
    }
    let mut honest = AnyFilter::new(&config).ok()?;
    if !honest.can(Verb::Insert) {
        return None;
    }
    honest.insert().ok()?.insert_batch(&items).ok()?;
    Some(honest)
}
