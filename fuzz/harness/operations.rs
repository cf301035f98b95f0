//! Random operations on two filters of one kind, each with an exact model beside it.

use bouquet::capability::{Dataset, Item, Note};
use bouquet::kind::{ErrorClass, Verb};
use bouquet::{AnyFilter, Error};

use super::frame::small_config;
use super::input::{Input, OwnedNote, Shape, key};
use super::model::Pair;
use super::{MAX_BITS, ask, sane_estimate, sane_numbers, with_secret};

/// The bytes choose a kind, its settings and then one operation after the other.
pub fn run(input: &[u8]) {
    let mut input = Input(input);
    let kind = input.kind();
    let Some(config) = small_config(kind, input.u16() % 32) else { return };
    let shape = input.shape(&config);
    let absent_removals = input.u8() >= 224;
    let Some(pair) = begin(&config, &shape, &mut input) else { return };
    let other = match kind.can(Verb::Insert) {
        true => pair.clone(),
        false => begin(&config, &shape, &mut input).unwrap_or_else(|| pair.clone()),
    };
    let mut pairs = [pair, other];
    for _ in 0..128 {
        if input.is_empty() || pairs.iter().any(|pair| pair.filter.stats().bits > 2 * MAX_BITS) {
            break;
        }
        step(&mut pairs, &shape, absent_removals, &mut input);
    }
    for pair in &mut pairs {
        reopen(pair, true);
        pair.agree(&shape);
        sane_numbers(&pair.filter);
    }
}

/// An empty filter, or for a kind that is built once the filter of some items.
fn begin(config: &bouquet::kind::Config, shape: &Shape, input: &mut Input<'_>) -> Option<Pair> {
    let kind = bouquet::registry::find(config.facts().id).expect("the settings are of a registered kind");
    if !kind.can(Verb::BuildFrom) {
        return Some(Pair::new(AnyFilter::new(config).ok()?));
    }
    let mut items: Vec<(Vec<u8>, OwnedNote)> = Vec::new();
    let mut absent: Vec<(Vec<u8>, OwnedNote)> = Vec::new();
    let (count, repeat) = (input.u8() % 64, input.u8() >= 240);
    for _ in 0..count {
        let (key, note) = (input.key(shape), input.note(kind.note(config), shape));
        if repeat || items.iter().all(|(known, _)| *known != key) {
            items.push((key, note));
        }
    }
    for _ in 0..input.u8() % 8 {
        let (key, note) = (input.key(shape), input.note(kind.note(config), shape));
        if items.iter().all(|(known, _)| *known != key) {
            absent.push((key, note));
        }
    }
    let borrowed: Vec<_> = items.iter().map(|(key, note)| Item::new(key, note.as_note())).collect();
    let absent: Vec<_> = absent.iter().map(|(key, note)| Item::new(key, note.as_note())).collect();
    let mut pair = Pair::new(AnyFilter::build(config, &Dataset { items: &borrowed, absent: &absent }).ok()?);
    // What two values of one key mean is the kind's own business.
    pair.void = repeat;
    for (key, note) in items {
        pair.hold(key, note);
    }
    pair.agree(shape);
    Some(pair)
}

fn step(pairs: &mut [Pair; 2], shape: &Shape, absent_removals: bool, input: &mut Input<'_>) {
    let op = input.u8();
    let [left, right] = pairs;
    let (pair, other) = if op & 0x80 == 0 { (left, right) } else { (right, left) };
    match op % 16 {
        0..=5 => insert(pair, shape, input),
        6 => insert_batch(pair, shape, input),
        7..=9 => remove_present(pair, input),
        10 if absent_removals => remove_absent(pair, shape, input),
        10 | 11 => return reopen(pair, op & 0x40 != 0),
        12 => advance(pair, input),
        13 => grow(pair, shape),
        14 if op & 0x40 != 0 => intersect(pair, other),
        14 => merge(pair, other),
        _ => return estimate(pair, other),
    }
    pair.agree(shape);
}

/// Runs an operation that must leave the filter as it was when it fails.
fn attempt<T>(pair: &mut Pair, operation: impl FnOnce(&mut AnyFilter) -> bouquet::Result<T>) -> bouquet::Result<T> {
    let (before, figures, stats) = (pair.filter.to_bytes(), pair.filter.figures(), pair.filter.stats());
    let result = operation(&mut pair.filter);
    if let Err(error) = &result {
        assert!(!error.to_string().is_empty());
        // A kind may count what it refuses, and then that is all that changes.
        let counted = pair.filter.figures() != figures && pair.filter.stats() == stats;
        let unchanged = counted || before == pair.filter.to_bytes();
        assert!(unchanged, "the filter changed, yet the operation failed: {error}");
    }
    result
}

fn insert(pair: &mut Pair, shape: &Shape, input: &mut Input<'_>) {
    if !pair.filter.can(Verb::Insert) {
        return;
    }
    let (key, note) = (input.key(shape), input.note(pair.filter.note(), shape));
    if note == OwnedNote::None && input.0.first() == Some(&0xff) {
        let wrong = attempt(pair, |filter| filter.insert()?.insert(Item::new(&key, Note::Group(1))));
        assert!(matches!(wrong, Err(Error::Item { .. })), "a note that the kind has no use for: {wrong:?}");
    }
    if let Ok(fresh) = attempt(pair, |filter| filter.insert()?.insert(Item::new(&key, note.as_note()))) {
        let certain = !pair.filter.errs(ErrorClass::FalseNegative) && !pair.void;
        assert!(!(fresh && certain && pair.holds(&key, &note)), "{key:?} is held, yet told as certainly new");
        pair.hold(key, note);
    }
}

fn insert_batch(pair: &mut Pair, shape: &Shape, input: &mut Input<'_>) {
    if !pair.filter.can(Verb::Insert) {
        return;
    }
    let (count, of) = (input.u8() % 48, pair.filter.note());
    let items: Vec<_> = (0..count).map(|_| (input.key(shape), input.note(of, shape))).collect();
    let borrowed: Vec<_> = items.iter().map(|(key, note)| Item::new(key, note.as_note())).collect();
    let mut single = pair.filter.clone();
    let batch = pair.filter.insert().and_then(|insert| insert.insert_batch(&borrowed));
    let mut fresh = 0;
    for ((key, note), item) in items.iter().zip(&borrowed) {
        match single.insert().and_then(|insert| insert.insert(*item)) {
            Ok(new) => {
                fresh += u64::from(new);
                pair.hold(key.clone(), note.clone());
            }
            Err(_) => {
                assert!(batch.is_err(), "a batch accepts what is refused alone");
                break;
            }
        }
    }
    assert!(batch.is_err() || batch.is_ok_and(|told| told == fresh), "a batch tells another number of new keys");
    assert!(single.to_bytes() == pair.filter.to_bytes(), "a batch does otherwise than one by one");
}

fn remove_present(pair: &mut Pair, input: &mut Input<'_>) {
    if !pair.filter.can(Verb::Remove) || pair.held.is_empty() {
        return;
    }
    let choice = input.below(pair.held.len());
    let Some((key, notes)) = pair.held.iter().nth(choice) else { return };
    let (key, note) = (key.clone(), notes[input.below(notes.len())].clone());
    match attempt(pair, |filter| filter.remove()?.remove(Item::new(&key, note.as_note()))) {
        Ok(()) => pair.release(&key, &note),
        Err(Error::NotPresent) => {
            let excused = pair.void || pair.filter.errs(ErrorClass::FalseNegative);
            assert!(excused, "{key:?} is held, yet cannot be removed");
        }
        Err(_) => {}
    }
}

fn remove_absent(pair: &mut Pair, shape: &Shape, input: &mut Input<'_>) {
    let (key, note) = (input.key(shape), input.note(pair.filter.note(), shape));
    if !pair.filter.can(Verb::Remove) || pair.holds(&key, &note) {
        return;
    }
    if attempt(pair, |filter| filter.remove()?.remove(Item::new(&key, note.as_note()))).is_ok() {
        pair.void = true;
    }
}

/// The frame is read again and written alike, and what it gives answers alike.
fn reopen(pair: &mut Pair, coded: bool) {
    let bytes = pair.filter.to_bytes();
    let sent = if coded { pair.filter.to_compressed_bytes() } else { bytes.clone() };
    let again = match AnyFilter::from_bytes_with(&sent, &with_secret()) {
        Ok(again) => again,
        Err(error) => panic!("{:?} is not read again: {error}", pair.filter),
    };
    assert!(again.to_bytes() == bytes, "{:?} was read as {again:?}", pair.filter);
    assert!(again.config() == pair.filter.config(), "{:?}, read as {:?}", pair.filter.config(), again.config());
    pair.filter = again;
}

fn advance(pair: &mut Pair, input: &mut Input<'_>) {
    if !pair.filter.can(Verb::Advance) {
        return;
    }
    let (first, second) = (input.number(), input.number());
    let mut at_once = pair.filter.clone();
    pair.filter.advance().expect("registered").advance(first);
    pair.filter.advance().expect("registered").advance(second);
    if let Some(sum) = first.checked_add(second) {
        at_once.advance().expect("registered").advance(sum);
        assert!(at_once.to_bytes() == pair.filter.to_bytes(), "{first} and {second} ticks are not their sum");
    }
    // Time may have taken any key.
    pair.held.clear();
    pair.void |= !pair.filter.errs(ErrorClass::FalsePositive);
}

fn grow(pair: &mut Pair, shape: &Shape) {
    if !pair.filter.can(Verb::Grow) || pair.filter.stats().bits > MAX_BITS {
        return;
    }
    let keys: Vec<_> = (0..64).map(|number| key(shape, number)).collect();
    let before: Vec<_> = keys.iter().map(|key| ask(&pair.filter, key)).collect();
    let capacity = pair.filter.grow().expect("registered").capacity();
    if attempt(pair, |filter| filter.grow()?.grow()).is_ok() {
        assert!(pair.filter.grow().expect("registered").capacity() > capacity, "no room was made");
        assert!(keys.iter().map(|key| ask(&pair.filter, key)).eq(before), "growing changes answers");
    }
}

fn merge(pair: &mut Pair, other: &Pair) {
    if pair.filter.can(Verb::Merge) && attempt(pair, |filter| filter.merge(&other.filter)).is_ok() {
        for (key, notes) in &other.held {
            pair.held.entry(key.clone()).or_default().extend(notes.iter().cloned());
        }
        pair.void |= other.void;
    }
}

fn intersect(pair: &mut Pair, other: &Pair) {
    if !pair.filter.can(Verb::Intersect) || attempt(pair, |filter| filter.intersect(&other.filter)).is_err() {
        return;
    }
    for (key, notes) in std::mem::take(&mut pair.held) {
        for note in notes {
            if other.holds(&key, &note) && !pair.holds(&key, &note) {
                pair.hold(key.clone(), note);
            }
        }
    }
    pair.void |= other.void;
}

fn estimate(pair: &Pair, other: &Pair) {
    sane_numbers(&pair.filter);
    if let Ok(estimate) = pair.filter.cardinality() {
        sane_estimate(estimate);
        if let Ok(overlap) = pair.filter.overlap(&other.filter) {
            sane_estimate(overlap.union);
            sane_estimate(overlap.intersection);
            assert!((0.0..=1.0).contains(&overlap.jaccard), "{overlap:?}");
        }
    }
    if let Ok(compress) = pair.filter.compress() {
        assert!(compress.entropy_bits() >= 0.0);
    }
}
