//! The contest: filters of several kinds are made, filled, asked and emptied in turns.

use std::hint::black_box;
use std::time::Instant;

use bouquet::capability::{Dataset, Item, Note, NoteType};
use bouquet::hash::{Hashing, mix};
use bouquet::kind::{Config, ErrorClass, Kind, Rates, Setting, Verb, common};
use bouquet::{AnyFilter, Error, Result};
use bouquet_advice::ask;

use super::Refused;
use crate::failure::Failure;
use crate::filters::{has_parameter, refuse_beyond_memory};
use crate::progress::Steps;

/// A share that was measured, and the one that theory expects; `None` where the kind makes no such error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    pub measured: Option<f64>,
    pub theory: Option<f64>,
}

/// What was measured of a kind. Times are nanoseconds, `None` for verbs that it lacks.
pub struct Measured {
    pub kind: &'static Kind,
    pub bits_per_key: f64,
    pub false_positives: Share,
    pub false_negatives: Share,
    pub wrong_counts: Share,
    pub insert: Option<f64>,
    pub contains: Option<f64>,
    pub remove: Option<f64>,
}

/// Kinds with their settings, and the keys that all of them get.
pub struct Contest {
    entrants: Vec<(&'static Kind, Config)>,
    refused: Vec<Refused>,
    items: u64,
    fpr: f64,
    /// Present keys, then as many that are never inserted.
    keys: Vec<[u8; 8]>,
}

/// What one kind has shown so far.
#[derive(Default)]
struct Tally {
    inserts: Vec<f64>,
    queries: Vec<f64>,
    removals: Vec<f64>,
    bits: u64,
    rates: Rates,
    asked: u64,
    false_positives: u64,
    false_negatives: u64,
    wrong_counts: u64,
}

impl Contest {
    /// Settings for every kind that can have them, with what it needs for the verbs, and keys. Fails when the number of keys or
    /// the rate makes no sense to any.
    pub fn new(
        kinds: &[&'static Kind],
        verbs: &[Verb],
        items: &str,
        fpr: &str,
        set: &[String],
    ) -> std::result::Result<Self, Failure> {
        let pairs = set.iter().map(|pair| {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                Failure::new(format!(
                    "--set must be NAME=VALUE, but is `{pair}`; `bouquet explain KIND` shows the names"
                ))
            })?;
            Ok((name.trim(), value.trim()))
        });
        let pairs = pairs.collect::<std::result::Result<Vec<_>, Failure>>()?;
        if let Some((name, _)) = pairs.iter().find(|(name, _)| !kinds.iter().any(|kind| has_parameter(kind, name))) {
            return Err(Failure::new(format!(
                "--set: none of the kinds has a parameter `{name}`; `bouquet explain KIND` shows what it has"
            )));
        }
        let (Setting::Count(count), Setting::Real(rate)) = (common::ITEMS.parse(items)?, common::FPR.parse(fpr)?)
        else {
            return Err(Failure::new("--items must be a whole number, such as 1e6, and --fpr a number, such as 0.01"));
        };
        let (mut entrants, mut refused) = (Vec::new(), Vec::new());
        for &kind in kinds {
            match configured(kind, verbs, items, fpr, &pairs) {
                Ok(config) => entrants.push((kind, config)),
                Err(error) => refused.push((kind.facts().id, error.to_string())),
            }
        }
        // At most 2^56 items are allowed, so twice as many are a number too.
        let len = if entrants.is_empty() { 0 } else { 2 * count };
        let mut keys = Vec::new();
        let room = usize::try_from(len).ok().and_then(|len| keys.try_reserve_exact(len).ok());
        room.ok_or(Error::TooLarge { what: "the keys".into(), bytes: u128::from(len) * 8 })?;
        keys.extend((0..len).map(|key| mix(key).to_le_bytes()));
        Ok(Contest { entrants, refused, items: count, fpr: rate, keys })
    }

    /// The number of keys.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The rate that the filters are made for.
    pub fn fpr(&self) -> f64 {
        self.fpr
    }

    /// Lets the kinds take turns, and tells what was measured, in their order, and who dropped out.
    pub fn run(&self, rounds: u32) -> std::result::Result<(Vec<Measured>, Vec<Refused>), Failure> {
        let mut refused = self.refused.clone();
        let mut tallies: Vec<Option<Tally>> = self.entrants.iter().map(|_| Some(Tally::default())).collect();
        let mut steps = Steps::new(rounds as usize * self.entrants.len());
        for round in 0..rounds {
            for turn in 0..self.entrants.len() {
                // Nobody always runs behind the same neighbour, whose filter is what the caches hold.
                let at = (turn + round as usize) % self.entrants.len();
                let (kind, config) = &self.entrants[at];
                steps.begin(kind.facts().id);
                let Some(tally) = &mut tallies[at] else { continue };
                let config = config.clone().hashed(Hashing::seeded(round.into()));
                if let Err(error) = self.turn(kind, &config, tally) {
                    refused.push((kind.facts().id, error.to_string()));
                    tallies[at] = None;
                }
            }
        }
        let measured = self.entrants.iter().zip(tallies);
        Ok((measured.filter_map(|((kind, _), tally)| Some(self.sum(kind, tally?))).collect(), refused))
    }

    /// One filter of one kind: filled, asked and emptied.
    fn turn(&self, kind: &'static Kind, config: &Config, tally: &mut Tally) -> Result<()> {
        let (present, absent) = self.keys.split_at(self.keys.len() / 2);
        let (of, sets) = (kind.note(config), config.count("sets").unwrap_or(1).max(1));
        let note = |number: u64| match of {
            NoteType::Integer => Note::Integer(number % 2),
            NoteType::Bytes => Note::Bytes(&[7; 8]),
            NoteType::Group => Note::Group(number % sets),
            NoteType::Weight => Note::Weight(0.5),
            NoteType::Weights => Note::Weights(1.0, 0.5),
            NoteType::Amount => Note::Amount(1),
            _ => Note::None,
        };
        let items: Vec<_> = present.iter().zip(0..).map(|(key, number)| Item::new(key, note(number))).collect();
        let per_key = |start: Instant, keys: usize| start.elapsed().as_nanos() as f64 / keys as f64;

        let mut filter = if kind.is_built_once(config) {
            let start = Instant::now();
            let filter = AnyFilter::build(config, &Dataset { items: &items, absent: &[] })?;
            tally.inserts.push(per_key(start, items.len()));
            filter
        } else {
            let mut filter = AnyFilter::new(config)?;
            let insert = filter.insert()?;
            let start = Instant::now();
            insert.insert_batch(&items)?;
            tally.inserts.push(per_key(start, items.len()));
            filter
        };
        tally.bits = filter.stats().bits;
        tally.rates = filter.expected(self.items);

        let mixed: Vec<&[u8]> = present.iter().zip(absent).flat_map(|(a, b)| [a.as_slice(), b.as_slice()]).collect();
        let mut answers = vec![false; mixed.len()];
        let start = Instant::now();
        ask(&filter, &mixed, &mut answers)?;
        tally.queries.push(per_key(start, mixed.len()));
        for pair in answers.chunks_exact(2) {
            tally.false_negatives += u64::from(!pair[0]);
            tally.false_positives += u64::from(pair[1]);
        }
        tally.asked += present.len() as u64;
        if filter.can(Verb::Count) {
            let count = filter.count()?;
            tally.wrong_counts += present.iter().filter(|key| count.count(key.as_slice()).count != 1).count() as u64;
        }
        if filter.can(Verb::Remove) {
            let remove = filter.remove()?;
            let start = Instant::now();
            for item in &items {
                match remove.remove(*item) {
                    // Kinds that may miss a key, or cannot tell where it is, say so of a few.
                    Ok(()) | Err(Error::NotPresent | Error::Ambiguous { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            tally.removals.push(per_key(start, items.len()));
        }
        black_box(&filter);
        Ok(())
    }

    fn sum(&self, kind: &'static Kind, tally: Tally) -> Measured {
        let share = |hits: u64, declared: bool, theory: Option<f64>| match declared || hits > 0 {
            true => Share { measured: Some(hits as f64 / tally.asked as f64), theory },
            false => Share::default(),
        };
        let errs = |class| kind.errs(class);
        let spurious = [ErrorClass::FalsePositive, ErrorClass::SpuriousValue, ErrorClass::SpuriousSet];
        let rates = tally.rates;
        Measured {
            kind,
            bits_per_key: tally.bits as f64 / self.items as f64,
            false_positives: share(
                tally.false_positives,
                spurious.into_iter().any(errs),
                rates.false_positive.or(rates.spurious_value).or(rates.spurious_sets),
            ),
            false_negatives: share(tally.false_negatives, errs(ErrorClass::FalseNegative), rates.false_negative),
            wrong_counts: share(
                tally.wrong_counts,
                kind.can(Verb::Count) && (errs(ErrorClass::OverCount) || errs(ErrorClass::UnderCount)),
                rates.over_count,
            ),
            insert: median(tally.inserts),
            contains: median(tally.queries),
            remove: median(tally.removals),
        }
    }
}

/// The settings of a kind that has these verbs, for this many keys at this rate.
fn configured(kind: &'static Kind, verbs: &[Verb], items: &str, fpr: &str, set: &[(&str, &str)]) -> Result<Config> {
    let mut config = Config::new(kind.facts()).set("items", items)?.set("fpr", fpr)?;
    for need in verbs.iter().flat_map(|verb| kind.needs(*verb)) {
        if !need.is_met(&config) {
            config = config.set(need.parameter, need.word)?;
        }
    }
    for (name, value) in set.iter().filter(|(name, _)| has_parameter(kind, name)) {
        config = config.set(name, value)?;
    }
    // A kind that is built once may not know its size before it has the keys.
    match kind.plan(&config) {
        Ok(plan) => refuse_beyond_memory(&plan)?,
        Err(_) if kind.is_built_once(&config) => {}
        Err(error) => return Err(error),
    }
    Ok(config)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => None,
        0 => Some((values[middle - 1] + values[middle]) / 2.0),
        _ => Some(values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 9.0]), Some(3.0));
        assert_eq!(median(vec![3.0, 1.0, 9.0, 4.0]), Some(3.5));
    }
}
