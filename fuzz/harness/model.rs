//! A filter with an exact model beside it: what was put in and not taken out.

use std::collections::BTreeMap;

use bouquet::AnyFilter;
use bouquet::capability::{Answer, Item, Note, NoteType, Value, Verdict};
use bouquet::kind::{ErrorClass, Verb};

use super::ask;
use super::input::{KEYS, OwnedNote, Shape, key};

/// The filter and its model.
#[derive(Clone)]
pub struct Pair {
    pub filter: AnyFilter,
    /// The notes with which each key was inserted and not removed.
    pub held: BTreeMap<Vec<u8>, Vec<OwnedNote>>,
    /// Whether a key that is inserted again is there once, with its new value: a map, as against a table that keeps copies.
    is_map: bool,
    /// Something was done after which the kind promises nothing: an absent key that seemed present was removed.
    pub void: bool,
}

impl Pair {
    pub fn new(filter: AnyFilter) -> Self {
        let is_map = keeps_one_value(&filter);
        Pair { filter, held: BTreeMap::new(), is_map, void: false }
    }

    /// Whether a key has one value, the last that it was inserted with: a table of values, which knows the answer for every key, as
    /// against a set of pairs.
    fn is_table(&self) -> bool {
        let filter = &self.filter;
        filter.can(Verb::Get) && filter.can(Verb::Remove) && !self.errs(ErrorClass::Unknown)
    }

    pub fn hold(&mut self, key: Vec<u8>, note: OwnedNote) {
        let (is_table, is_map) = (self.is_table(), self.is_map);
        // Integers that are not hashed are elements of an exact set.
        let is_set = matches!(note, OwnedNote::Group(_)) || !self.filter.kind().hashes_keys();
        let notes = self.held.entry(key).or_default();
        // A key that is put into a set again is in it, and one removal may take it out.
        if is_set && notes.contains(&note) {
            return;
        }
        if is_map {
            notes.clear();
        }
        notes.push(note.clone());
        if is_table {
            notes.fill(note);
        }
    }

    pub fn holds(&self, key: &[u8], note: &OwnedNote) -> bool {
        self.held.get(key).is_some_and(|notes| notes.contains(note))
    }

    /// Takes one occurrence out of the model.
    pub fn release(&mut self, key: &[u8], note: &OwnedNote) {
        let is_table = self.is_table();
        if let Some(notes) = self.held.get_mut(key) {
            // Which value is given with the removal from a table does not matter.
            let at = notes.iter().position(|known| known == note).or(is_table.then_some(0));
            if let Some(at) = at {
                notes.swap_remove(at);
            }
            if notes.is_empty() {
                self.held.remove(key);
            }
        }
    }

    fn errs(&self, class: ErrorClass) -> bool {
        self.filter.errs(class)
    }

    /// Every answer is the true one, or wrong in a way that the kind declares.
    pub fn agree(&self, shape: &Shape) {
        let keys: Vec<_> = (0..KEYS).map(|number| key(shape, number)).collect();
        for key in &keys {
            let seen = ask(&self.filter, key);
            if self.void {
                continue;
            }
            let held = self.held.get(key).map_or(&[][..], Vec::as_slice);
            let judge = |right: bool, what: &str| {
                let id = self.filter.kind().facts().id;
                assert!(
                    right,
                    "{id}: {what}: key {key:?}, held {held:?}, seen {seen:?}, of {:?}",
                    self.filter.config()
                );
            };
            let present = !held.is_empty();
            let may_hide = self.errs(ErrorClass::FalseNegative);
            let may_appear = self.errs(ErrorClass::FalsePositive);
            if let Some(contains) = seen.contains {
                judge(contains || !present || may_hide, "a present key is not contained");
                judge(!contains || present || may_appear, "an absent key is contained");
            }
            if let Some(count) = seen.count {
                let may_lose = may_hide || self.errs(ErrorClass::UnderCount);
                let times = times(held);
                let enough = count >= times || seen.at_least && count > 0;
                judge(enough || may_lose, "a count is too small");
                let may_exceed = self.errs(ErrorClass::OverCount) || !present && may_appear;
                judge(count <= times || may_exceed, "a count is too large");
            }
            match &seen.answer {
                Some(Answer::Value(value)) if present => judge(has_value(held, value), "a wrong value"),
                Some(Answer::Value(_)) => judge(self.errs(ErrorClass::SpuriousValue), "a value for an absent key"),
                Some(Answer::Absent) => judge(!present || may_hide, "a present key is told absent"),
                Some(Answer::Unknown) => judge(self.errs(ErrorClass::Unknown), "an unknown answer"),
                None => {}
            }
            let doubted = matches!(seen.verdict, Some(Verdict::Out | Verdict::Unknown));
            judge(!doubted || !present || may_hide, "a present key is judged out");
            if let Some(sets) = &seen.sets {
                let owned = |set: &u64| held.contains(&OwnedNote::Group(*set));
                let all = held.iter().all(|note| matches!(note, OwnedNote::Group(set) if sets.contains(set)));
                judge(all || may_hide || self.errs(ErrorClass::MissingSet), "a set that holds the key is missing");
                judge(sets.iter().all(owned) || self.errs(ErrorClass::SpuriousSet), "a set that does not hold the key");
            }
        }
        self.batch_agrees(&keys);
        self.listing_agrees();
    }

    fn batch_agrees(&self, keys: &[Vec<u8>]) {
        let Ok(contains) = self.filter.contains() else { return };
        let refs: Vec<_> = keys.iter().map(Vec::as_slice).collect();
        let mut answers = vec![false; keys.len()];
        contains.contains_batch(&refs, &mut answers);
        let single = refs.iter().map(|key| contains.contains(key));
        assert!(single.eq(answers), "a batch answers otherwise than one by one");
    }

    fn listing_agrees(&self) {
        if !self.filter.can(Verb::List) {
            return;
        }
        let listing = self.filter.list().expect("registered").list();
        if self.void {
            return;
        }
        let mut listed: BTreeMap<_, i64> = BTreeMap::new();
        for entry in &listing.entries {
            let held = self.held.get(&entry.key).map_or(&[][..], Vec::as_slice);
            let known = entry.value.as_ref().map_or(!held.is_empty(), |value| has_value(held, value));
            assert!(known && entry.count > 0, "listed but not held: {entry:?}, held {held:?}");
            *listed.entry(entry.key.as_slice()).or_default() += entry.count;
        }
        if listing.undecoded == 0 {
            for (key, notes) in &self.held {
                let count = listed.get(key.as_slice()).copied();
                assert_eq!(count, i64::try_from(times(notes)).ok(), "a complete listing has key {key:?} otherwise");
            }
        }
    }
}

/// Whether a pair that is inserted twice is one item.
fn keeps_one_value(filter: &AnyFilter) -> bool {
    let mut filter = filter.clone();
    if filter.note() != NoteType::Bytes || !filter.can(Verb::Get) || !filter.can(Verb::Remove) {
        return false;
    }
    let before = filter.stats().items;
    let mut insert = || filter.insert()?.insert(Item::new(b"12345678", Note::Bytes(b"12345678")));
    insert().and_then(|_| insert()).is_ok() && filter.stats().items < before + 2
}

/// How often a key that was inserted with these notes came.
fn times(held: &[OwnedNote]) -> u64 {
    let times = |note: &OwnedNote| if let OwnedNote::Amount(amount) = note { *amount } else { 1 };
    held.iter().map(times).fold(0, u64::saturating_add)
}

fn has_value(held: &[OwnedNote], value: &Value) -> bool {
    held.contains(&match value {
        Value::Integer(value) => OwnedNote::Integer(*value),
        Value::Bytes(value) => OwnedNote::Bytes(value.clone()),
    })
}
