//! The verbs of every filter whose mechanism can keep their laws, and what else a Rust program expects of a set.

use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign};

use super::filter::Filter;
use super::mechanism::{
    Age, Assemble, Assign, Believe, Code, Decide, Deduct, Enumerate, Expand, FromNote, Gauge, Implied, Lookup, Meet,
    Outcome, Put, Rank, Solve, Sort, Take, Tally, Test, Unite,
};
use super::settings::{ByRate, Settings};
use crate::capability::{
    Advance, Answer, BuildFrom, Cardinality, Classify, Compress, Contains, Count, Dataset, Decode, Decoding,
    Difference, Estimate, Frequent, Get, Grow, Insert, Intersect, Item, Judge, List, Listing, Merge, Multiplicity,
    Overlap, Remove, Set, Subtract, Top, Verdict, Weigh,
};
use crate::error::Result;
use crate::key::{Key, as_word};
use crate::kind::{Config, common};

impl<M: Test> Contains for Filter<M> {
    fn contains(&self, key: &[u8]) -> bool {
        #[inline(never)]
        fn of_any_length<M: Test>(filter: &Filter<M>, key: &[u8]) -> bool {
            filter.contains(key)
        }
        match as_word(key) {
            Some(word) => Filter::contains(self, &word),
            None => of_any_length(self, key),
        }
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        Filter::contains_batch(self, keys, answers);
    }

    fn contains_words(&self, keys: &[u64], answers: &mut [bool]) {
        Filter::contains_batch(self, keys, answers);
    }
}

impl<M: Put> Insert for Filter<M> {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        self.insert_with(item.key, FromNote::from_note(item.note)?).checked()
    }

    fn insert_batch(&mut self, batch: &[Item<'_>]) -> Result<u64> {
        let Filter { mechanism, hashing, items, .. } = self;
        let mut tally = *items;
        let fresh = mechanism.put_items(hashing, batch, &mut tally);
        *items = if M::OWN_ITEMS { 0 } else { tally };
        fresh
    }
}

impl<M: Take> Remove for Filter<M> {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        self.remove_with(item.key, FromNote::from_note(item.note)?)
    }
}

impl<M: Tally> Count for Filter<M> {
    fn count(&self, key: &[u8]) -> Multiplicity {
        Filter::<M>::count(self, key)
    }
}

impl<M: Lookup> Get for Filter<M> {
    fn get(&self, key: &[u8]) -> Answer {
        Filter::get(self, key).into()
    }
}

impl<M: Assign> Set for Filter<M> {
    fn set(&mut self, item: Item<'_>) -> Result<()> {
        Filter::set(self, item.key, FromNote::from_note(item.note)?)
    }
}

impl<M: Sort> Classify for Filter<M> {
    fn classify(&self, key: &[u8]) -> Vec<u64> {
        Filter::classify(self, key)
    }
}

impl<M: Decide> Judge for Filter<M> {
    fn judge(&self, key: &[u8]) -> Verdict {
        Filter::judge(self, key)
    }

    fn judge_batch(&self, keys: &[&[u8]], verdicts: &mut [Verdict]) {
        Filter::judge_batch(self, keys, verdicts);
    }
}

impl<M: Believe> Weigh for Filter<M> {
    fn probability(&self, key: &[u8], prior: Option<f64>) -> Option<f64> {
        Filter::probability(self, key, prior)
    }

    fn probability_batch(&self, keys: &[&[u8]], prior: Option<f64>, answers: &mut [Option<f64>]) {
        let in_use = self.mechanism.in_use();
        for (key, answer) in keys.iter().zip(answers) {
            *answer = self.believed(in_use, *key, prior);
        }
    }
}

impl<M: Enumerate> List for Filter<M> {
    fn list(&self) -> Listing {
        Filter::list(self)
    }
}

impl<M: Rank> Top for Filter<M> {
    fn top(&self) -> Vec<Frequent> {
        Filter::top(self)
    }
}

impl<M: Solve> Decode for Filter<M> {
    fn decode(&self, keys: &[&[u8]]) -> Result<Decoding> {
        self.mechanism.solve(&self.hashing, keys)
    }
}

impl<M: Age> Advance for Filter<M> {
    fn advance(&mut self, ticks: u64) {
        Filter::advance(self, ticks);
    }
}

impl<M: Expand> Grow for Filter<M> {
    fn capacity(&self) -> u64 {
        Filter::capacity(self)
    }

    fn grow(&mut self) -> Result<()> {
        Filter::grow(self)
    }
}

impl<M: Unite> Merge for Filter<M> {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Filter::merge(self, other)
    }
}

impl<M: Meet> Intersect for Filter<M> {
    fn intersect(&mut self, other: &Self) -> Result<()> {
        Filter::intersect(self, other)
    }
}

impl<M: Deduct> Subtract for Filter<M> {
    fn subtract(&mut self, other: &Self) -> Result<()> {
        Filter::subtract(self, other)
    }
}

/// What is left when one is subtracted from the other.
impl<M: Deduct + Enumerate> Difference for Filter<M> {
    fn difference(&self, other: &Self) -> Result<Listing> {
        let mut left = self.clone();
        Filter::subtract(&mut left, other)?;
        Ok(Filter::list(&left))
    }
}

impl<M: Gauge> Cardinality for Filter<M> {
    fn cardinality(&self) -> Estimate {
        Filter::cardinality(self)
    }

    fn overlap(&self, other: &Self) -> Result<Overlap> {
        Filter::overlap(self, other)
    }
}

impl<M: Code> Compress for Filter<M> {
    fn entropy_bits(&self) -> f64 {
        Filter::entropy_bits(self)
    }
}

impl<M: Assemble> BuildFrom for Filter<M> {
    fn build_from(config: &Config, data: &Dataset<'_>) -> Result<Self> {
        Self::build(&M::Settings::from_config(config)?, config.hashing(), data)
    }
}

/// Inserts every key.
impl<K: Key, M: for<'a> Put<Note<'a>: Implied, Outcome = bool>> Extend<K> for Filter<M> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(&key);
        }
    }
}

/// The filter of these keys with the default rate, 1 %, sized for their number.
///
/// # Panics
///
/// If the memory for it cannot be had, as collecting into a `Vec` does.
impl<K: Key, M: for<'a> Put<Note<'a>: Implied, Outcome = bool>> FromIterator<K> for Filter<M>
where
    M::Settings: ByRate,
{
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let keys: Vec<K> = keys.into_iter().collect();
        let fpr = common::FPR.need(None).unwrap_or(0.01);
        let mut filter = Self::with_rate(keys.len().max(1) as u64, fpr).unwrap_or_else(|error| panic!("{error}"));
        filter.insert_batch(&keys);
        filter
    }
}

/// The union.
///
/// # Panics
///
/// If the filters differ in settings or hashing; [`Filter::merge`] says so by an error.
impl<M: Unite> BitOrAssign<&Filter<M>> for Filter<M> {
    #[track_caller]
    fn bitor_assign(&mut self, other: &Filter<M>) {
        self.merge(other).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// The union, as with `|=`.
impl<M: Unite> BitOr for &Filter<M> {
    type Output = Filter<M>;

    #[track_caller]
    fn bitor(self, other: Self) -> Filter<M> {
        let mut both = self.clone();
        both |= other;
        both
    }
}

/// The intersection.
///
/// # Panics
///
/// If the filters differ in settings or hashing; [`Filter::intersect`] says so by an error.
impl<M: Meet> BitAndAssign<&Filter<M>> for Filter<M> {
    #[track_caller]
    fn bitand_assign(&mut self, other: &Filter<M>) {
        self.intersect(other).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// The intersection, as with `&=`.
impl<M: Meet> BitAnd for &Filter<M> {
    type Output = Filter<M>;

    #[track_caller]
    fn bitand(self, other: Self) -> Filter<M> {
        let mut common = self.clone();
        common &= other;
        common
    }
}
