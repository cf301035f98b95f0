//! An exact model beside the filter, through random operations.
//!
//! The model is a multiset. After every operation the filter is asked about every key of a small universe, and every
//! answer must be one that the declared errors allow. A counterexample is shrunk to a short one. The generator has a
//! fixed seed, so that a run repeats.

use std::collections::{BTreeMap, BTreeSet};

use bouquet::capability::{Answer, Note, Verdict as Judgement};
use bouquet::kind::{ErrorClass, Verb};
use bouquet::{AnyFilter, Error};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::subject::{Because, Keys, Observed, Subject, Verdict, observe, only_refused};

laws! {
    random_operations_agree_with_an_exact_model needs [Insert];
    random_data_sets_agree_with_an_exact_model needs [];
}

const UNIVERSE: u64 = 40;

/// Half of the universe at a high rate: false positives, shared cells and growth all occur in a few operations.
const ITEMS: u64 = 20;
const FPR: f64 = 0.1;

#[derive(Clone, Debug)]
enum Op {
    Insert(u64),
    /// Removes one of the present keys, chosen by the number.
    Remove(usize),
    Merge(Vec<u64>),
    Frame,
    Advance(u64),
    Grow,
}

fn ops(subject: &Subject) -> impl Strategy<Value = Vec<Op>> + use<> {
    let weight = |verb, weight| if subject.can(verb) { weight } else { 0 };
    let op = prop_oneof![
        10 => (0..UNIVERSE).prop_map(Op::Insert),
        weight(Verb::Remove, 6) => any::<usize>().prop_map(Op::Remove),
        weight(Verb::Merge, 1) => prop::collection::vec(0..UNIVERSE, 0..6).prop_map(Op::Merge),
        1 => Just(Op::Frame),
        weight(Verb::Advance, 1) => (0u64..50).prop_map(Op::Advance),
        weight(Verb::Grow, 1) => Just(Op::Grow),
    ];
    prop::collection::vec(op, 1..60)
}

/// Runs the cases and tells the shortest that fails.
fn run<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value) -> Verdict) -> Verdict {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    match runner.run(&strategy, |input| test(input).map_err(TestCaseError::fail)) {
        Ok(()) => Ok(()),
        Err(TestError::Fail(why, shortest)) => Err(format!("{why}, after {shortest:?}")),
        Err(TestError::Abort(why)) => Err(format!("aborted: {why}")),
    }
}

fn random_operations_agree_with_an_exact_model(subject: &Subject) -> Verdict {
    let empty = subject.empty(&subject.config(ITEMS, FPR)?)?;
    let pairs = subject.is_set_of_pairs()?;
    run(100, ops(subject), |ops| {
        let mut pair = Pair { subject, pairs, filter: empty.clone(), held: BTreeMap::new(), in_doubt: BTreeSet::new() };
        ops.iter().try_for_each(|op| {
            pair.apply(op)?;
            pair.agree()
        })
    })
}

fn random_data_sets_agree_with_an_exact_model(subject: &Subject) -> Verdict {
    let config = subject.config(ITEMS, FPR)?;
    run(50, prop::collection::btree_set(0..UNIVERSE, 0..ITEMS as usize), |numbers| {
        let held = numbers.iter().map(|&number| (number, 1)).collect();
        let filter = subject.build(&config, &Keys::new(numbers))?;
        let mut pair = Pair { subject, pairs: false, filter, held, in_doubt: BTreeSet::new() };
        pair.agree()?;
        pair.apply(&Op::Frame)?;
        pair.agree()
    })
}

/// The filter and its model.
struct Pair<'a> {
    subject: &'a Subject,
    /// A key that is put into its set again is in it once.
    pairs: bool,
    filter: AnyFilter,
    /// How often each key is in.
    held: BTreeMap<u64, u64>,
    /// Keys that time may have taken out: nothing is known about them until they are inserted again.
    in_doubt: BTreeSet<u64>,
}

impl Pair<'_> {
    fn apply(&mut self, op: &Op) -> Verdict {
        let before = self.filter.to_bytes();
        let done = match op {
            Op::Insert(number) => {
                let inserted = self.subject.insert(&mut self.filter, *number).map(drop);
                if inserted.is_ok() {
                    let times = self.held.entry(*number).or_default();
                    *times = if self.pairs { 1 } else { *times + 1 };
                }
                inserted
            }
            Op::Remove(choice) => {
                let Some(number) = self.held.keys().nth(choice % self.held.len().max(1)).copied() else {
                    return Ok(());
                };
                let removed = self.subject.remove(&mut self.filter, number);
                if removed.is_ok() {
                    let times = self.held.get(&number).copied().unwrap_or(0);
                    self.held.insert(number, times.saturating_sub(1));
                    self.held.retain(|_, times| *times > 0);
                }
                removed
            }
            Op::Merge(numbers) => {
                let other = self.subject.build(&self.filter.config(), &Keys::new(numbers.iter().copied()))?;
                let merged = self.filter.merge(&other);
                if merged.is_ok() {
                    for number in numbers {
                        *self.held.entry(*number).or_default() += 1;
                    }
                }
                merged
            }
            Op::Frame => {
                self.filter = self.subject.reopen(&before).because("reading the frame")?;
                ensure!(self.filter.to_bytes() == before, "the frame is written otherwise than it was read");
                Ok(())
            }
            Op::Advance(ticks) => {
                self.filter.advance().because("advance")?.advance(*ticks);
                if *ticks > 0 {
                    self.in_doubt.extend(std::mem::take(&mut self.held).into_keys());
                }
                Ok(())
            }
            Op::Grow => self.filter.grow().because("grow")?.grow(),
        };
        let Err(error) = done else { return Ok(()) };
        only_refused(self.subject, &format!("refused {op:?}"), &before, &self.filter, &Keys::new(0..UNIVERSE))?;
        let allowed = match (&error, op) {
            (Error::Full { .. }, _) => true,
            (Error::Ambiguous { .. }, Op::Remove(_)) => self.subject.errs(ErrorClass::Undeletable),
            (Error::NotPresent, Op::Remove(_)) => self.subject.errs(ErrorClass::FalseNegative),
            // Filters of different times cannot always be joined.
            (Error::Incompatible { .. }, Op::Merge(_)) => self.subject.can(Verb::Advance),
            _ => false,
        };
        ensure!(allowed, "{op:?}: {error}");
        Ok(())
    }

    /// Every answer is one that the declared errors allow.
    fn agree(&self) -> Verdict {
        let universe = Keys::new(0..UNIVERSE);
        for (&number, seen) in universe.numbers.iter().zip(observe(&self.filter, &universe)?) {
            let times = self.held.get(&number).copied();
            let verdict = match times {
                Some(times) => self.of_member(number, times, &seen),
                None if self.in_doubt.contains(&number) => Ok(()),
                None => self.of_stranger(&seen),
            };
            verdict.map_err(|why| format!("{why}: key {number}, {} times in, is {seen:?}", times.unwrap_or(0)))?;
        }
        Ok(())
    }

    fn errs(&self, class: ErrorClass) -> bool {
        self.subject.errs(class)
    }

    fn of_member(&self, number: u64, times: u64, seen: &Observed) -> Verdict {
        let lost = self.errs(ErrorClass::FalseNegative);
        ensure!(seen.contains != Some(false) || lost, "a present key is not found");
        if let Some(count) = seen.count {
            let enough = count.count >= times || count.at_least || self.errs(ErrorClass::UnderCount);
            ensure!(enough, "the count is too small");
            let exact = !self.errs(ErrorClass::OverCount) && !self.in_doubt.contains(&number);
            ensure!(count.count <= times || !exact, "the count is too large");
        }
        match &seen.answer {
            Some(Answer::Value(answer)) => {
                ensure!(Some(answer) == self.subject.value(number).as_ref(), "a wrong value")
            }
            Some(Answer::Unknown) => ensure!(self.errs(ErrorClass::Unknown), "an unknown value"),
            Some(Answer::Absent) => ensure!(lost, "a present key is reported absent"),
            None => {}
        }
        let doubted = matches!(seen.judgement, Some(Judgement::Out | Judgement::Unknown));
        ensure!(!doubted || lost, "a member is judged out");
        if let (Some(sets), Note::Group(own)) = (&seen.sets, self.subject.note(number)) {
            let missing = lost || self.errs(ErrorClass::MissingSet);
            ensure!(sets.contains(&own) || missing, "its own set is missing");
        }
        Ok(())
    }

    fn of_stranger(&self, seen: &Observed) -> Verdict {
        let invented = seen.contains == Some(true) || seen.judgement == Some(Judgement::In);
        ensure!(!invented || self.errs(ErrorClass::FalsePositive), "an absent key is found");
        let valued = matches!(seen.answer, Some(Answer::Value(_)));
        ensure!(!valued || self.errs(ErrorClass::SpuriousValue), "an absent key has a value");
        let placed = seen.sets.as_ref().is_some_and(|sets| !sets.is_empty());
        ensure!(!placed || self.errs(ErrorClass::SpuriousSet), "an absent key has a set");
        let counted = seen.count.is_some_and(|count| count.count > 0);
        let may_count = self.errs(ErrorClass::OverCount) || self.errs(ErrorClass::FalsePositive);
        ensure!(!counted || may_count, "an absent key is counted");
        Ok(())
    }
}
