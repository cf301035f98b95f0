//! The same for the verbs that the plain filter lacks: an exact multiset, and flaws in it.
//!
//! [`Exact`] holds keys with their notes and makes no error at all, so every law holds for it to the letter.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

use bouquet::capability::{
    Advance, Answer, Classify, Contains, Count, Difference, Entry, Get, Grow, Insert, Item, List, Listing, Merge,
    Multiplicity, NoteType, Remove, Value,
};
use bouquet::codec::{Decoder, Encoder, StateReader};
use bouquet::hash::Hashing;
use bouquet::kind::{
    Config, ErrorClass, Facts, Kind, Need, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Verb,
    common,
};
use bouquet::{Error, Result};

use crate::broken::{breaks_at_least, breaks_exactly, corrupt};

/// The most items that a plan allows.
const MOST_ITEMS: u64 = 1 << 40;

/// How often each pair of key and note is in.
type Held = BTreeMap<(Vec<u8>, Vec<u8>), u64>;

/// Where an exact multiset goes wrong.
trait Flaw: Clone + Send + Sync + 'static {
    const ID: &'static str;
    const NOTE: NoteType = NoteType::Bytes;
    const PARAMETERS: &'static [Parameter] = &[common::ITEMS];
    const NEEDS: &'static [Need] = &[];
    /// Errors that are declared, with their rates, and what the filter of one seed always gets wrong.
    const ERRORS: &'static [ErrorClass] = &[];
    const RATES: Rates = NO_RATES;
    const ONE_GETS_WRONG: Option<ErrorClass> = None;

    fn removed(_held: &mut Held) {}
    fn absent_removed() -> Result<()> {
        Err(Error::NotPresent)
    }
    fn count(count: u64) -> u64 {
        count
    }
    fn answer(answer: Answer) -> Answer {
        answer
    }
    fn sets(sets: Vec<u64>) -> Vec<u64> {
        sets
    }
    fn entries(entries: Vec<Entry>) -> Vec<Entry> {
        entries
    }
    fn differing(entries: Vec<Entry>) -> Vec<Entry> {
        entries
    }
    fn ticks(ticks: u64) -> u64 {
        ticks
    }
    fn is_readable(_clock: u64) -> bool {
        true
    }
    fn grown(capacity: u64, _held: &mut Held) -> u64 {
        capacity.saturating_mul(2)
    }
}

const NO_RATES: Rates = Rates {
    false_positive: None,
    false_negative: None,
    over_count: None,
    spurious_value: None,
    spurious_sets: None,
    missing_sets: None,
    unknown: None,
};

/// The seed of the filter that fails among others, one of thirty.
const WRONG_SEED: u64 = 7;
const ONE_OF_THIRTY: Option<f64> = Some(1.0 / 30.0);

#[derive(Clone)]
struct Exact<F> {
    hashing: Hashing,
    planned: Option<u64>,
    /// What the parameter `cells` was set to, where there is one.
    cells: &'static str,
    capacity: u64,
    clock: u64,
    held: Held,
    flaw: PhantomData<F>,
}

fn values_of<F: Flaw>() -> &'static Kind {
    const {
        &Kind::of::<Exact<F>>()
            .contains()
            .insert()
            .remove()
            .count()
            .get()
            .list()
            .advance()
            .grow()
            .merge()
            .difference()
            .done()
    }
}

fn sets_of<F: Flaw>() -> &'static Kind {
    const { &Kind::of::<Exact<F>>().contains().insert().classify().grow().merge().done() }
}

impl<F: Flaw> Exact<F> {
    fn pair(item: Item<'_>) -> Result<(Vec<u8>, Vec<u8>)> {
        let note = match F::NOTE {
            NoteType::Group => item.group()?.to_le_bytes().to_vec(),
            _ => item.bytes()?.to_vec(),
        };
        Ok((item.key.to_vec(), note))
    }

    fn notes<'a>(&'a self, key: &'a [u8]) -> impl Iterator<Item = (&'a Vec<u8>, u64)> {
        let all = self.held.range((key.to_vec(), Vec::new())..);
        all.take_while(move |((held, _), _)| held == key).map(|((_, note), count)| (note, *count))
    }

    /// Whether this filter always makes this error.
    fn gets_wrong(&self, class: ErrorClass) -> bool {
        F::ONE_GETS_WRONG == Some(class) && self.hashing.seed() == WRONG_SEED
    }

    fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for ((key, note), count) in &self.held {
            for number in [key.len() as u64, note.len() as u64, *count] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(note);
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Held> {
        let mut reader = StateReader::new(bytes, "exact store");
        let mut held = Held::new();
        while !reader.is_empty() {
            let [key, note, count] = [reader.u64()?, reader.u64()?, reader.u64()?];
            let mut take = |len: u64| (0..len).map(|_| reader.u8()).collect::<Result<Vec<u8>>>();
            let pair = (take(key)?, take(note)?);
            if count == 0 || held.insert(pair, count).is_some() {
                return Err(corrupt("exact store"));
            }
        }
        Ok(held)
    }
}

impl<F: Flaw> Structure for Exact<F> {
    const FACTS: Facts = Facts {
        id: F::ID,
        number: u16::MAX,
        errors: F::ERRORS,
        note: F::NOTE,
        parameters: F::PARAMETERS,
        ..<bouquet::Bloom as Structure>::FACTS
    };

    const NEEDS: &'static [Need] = F::NEEDS;

    fn plan(config: &Config) -> Result<Plan> {
        let items = config.count("items");
        let bytes = items.unwrap_or(16).saturating_mul(40);
        if items.is_some_and(|items| items > MOST_ITEMS) {
            return Err(Error::TooLarge { what: "the multiset".into(), bytes: bytes.into() });
        }
        Ok(Plan { bits: bytes * 8, hashes: 0, items, fpr: None })
    }

    fn create(config: &Config) -> Result<Self> {
        let planned = Self::plan(config)?.items;
        Ok(Exact {
            hashing: config.hashing().clone(),
            planned,
            cells: config.choice("cells"),
            capacity: planned.unwrap_or(16),
            clock: 0,
            held: Held::new(),
            flaw: PhantomData,
        })
    }

    fn config(&self) -> Config {
        let mut config = Config::new(const { &Self::FACTS }).hashed(self.hashing.clone());
        if !self.cells.is_empty() {
            config = config.with("cells", Setting::Choice(self.cells)).expect("it was given so");
        }
        match self.planned {
            Some(items) => config.with("items", Setting::Count(items)).expect("it was given so"),
            None => config,
        }
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let bits = self.write().len() as u64 * 8;
        let items = self.held.values().fold(0u64, |sum, count| sum.saturating_add(*count));
        Stats { items, bits, hashes: 0, fill: None, fpr: None, honest_fill: None }
    }

    fn expected(&self, _items: u64) -> Rates {
        F::RATES
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.capacity);
        encoder.state().u64(self.clock);
        encoder.bytes(self.write());
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let mut exact = Self::create(decoder.config())?;
        exact.capacity = decoder.state().u64()?;
        exact.clock = decoder.state().u64()?;
        exact.held = Self::read(decoder.bytes()?)?;
        if exact.capacity < exact.held.len().max(1) as u64 {
            return Err(corrupt("capacity"));
        }
        if F::is_readable(exact.clock) { Ok(exact) } else { Err(corrupt("clock")) }
    }
}

impl<F: Flaw> Contains for Exact<F> {
    fn contains(&self, key: &[u8]) -> bool {
        self.notes(key).next().is_some()
    }
}

impl<F: Flaw> Insert for Exact<F> {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        let count = self.held.entry(Self::pair(item)?).or_default();
        *count = count.saturating_add(1);
        let fresh = *count == 1;
        while self.held.len() as u64 > self.capacity {
            self.capacity = self.capacity.saturating_mul(2);
        }
        Ok(fresh)
    }
}

impl<F: Flaw> Remove for Exact<F> {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        let pair = Self::pair(item)?;
        match self.held.get_mut(&pair) {
            None => return F::absent_removed(),
            Some(1) => drop(self.held.remove(&pair)),
            Some(count) => *count -= 1,
        }
        F::removed(&mut self.held);
        Ok(())
    }
}

impl<F: Flaw> Count for Exact<F> {
    fn count(&self, key: &[u8]) -> Multiplicity {
        let count = F::count(self.notes(key).fold(0, |sum, (_, count)| sum.saturating_add(count)));
        Multiplicity {
            count: if self.gets_wrong(ErrorClass::OverCount) { count.saturating_mul(2) } else { count },
            at_least: false,
        }
    }
}

impl<F: Flaw> Get for Exact<F> {
    fn get(&self, key: &[u8]) -> Answer {
        let first = self.notes(key).next();
        match first {
            Some(_) if self.gets_wrong(ErrorClass::Unknown) => Answer::Unknown,
            None if self.gets_wrong(ErrorClass::SpuriousValue) => Answer::Value(Value::Bytes(vec![0; 8])),
            first => F::answer(first.map_or(Answer::Absent, |(note, _)| Answer::Value(Value::Bytes(note.clone())))),
        }
    }
}

impl<F: Flaw> Classify for Exact<F> {
    fn classify(&self, key: &[u8]) -> Vec<u64> {
        let number = |note: &Vec<u8>| <[u8; 8]>::try_from(note.as_slice()).map_or(0, u64::from_le_bytes);
        let sets: BTreeSet<u64> = self.notes(key).map(|(note, _)| number(note)).collect();
        if sets.is_empty() && self.gets_wrong(ErrorClass::SpuriousSet) {
            return vec![0];
        }
        F::sets(sets.into_iter().collect())
    }
}

impl<F: Flaw> List for Exact<F> {
    fn list(&self) -> Listing {
        let entry = |((key, note), count): (&(Vec<u8>, Vec<u8>), &u64)| Entry {
            key: key.clone(),
            value: Some(Value::Bytes(note.clone())),
            count: *count as i64,
        };
        Listing { entries: F::entries(self.held.iter().map(entry).collect()), undecoded: 0 }
    }
}

impl<F: Flaw> Advance for Exact<F> {
    fn advance(&mut self, ticks: u64) {
        self.clock = self.clock.saturating_add(F::ticks(ticks));
    }
}

impl<F: Flaw> Grow for Exact<F> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn grow(&mut self) -> Result<()> {
        self.capacity = F::grown(self.capacity, &mut self.held);
        Ok(())
    }
}

impl<F> Exact<F> {
    fn comparable(&self, other: &Self) -> Result<()> {
        let differ = |field: &str, left: String, right: String| match left == right {
            true => Ok(()),
            false => Err(Error::Incompatible { field: field.into(), left, right }),
        };
        differ("items", format!("{:?}", self.planned), format!("{:?}", other.planned))?;
        differ("hashing", format!("{:?}", self.hashing), format!("{:?}", other.hashing))
    }
}

impl<F: Flaw> Difference for Exact<F> {
    fn difference(&self, other: &Self) -> Result<Listing> {
        self.comparable(other)?;
        let pairs: BTreeSet<_> = self.held.keys().chain(other.held.keys()).collect();
        let times = |held: &Held, pair: &(Vec<u8>, Vec<u8>)| held.get(pair).map_or(0, |&count| count as i64);
        let entry = |pair: &(Vec<u8>, Vec<u8>)| Entry {
            key: pair.0.clone(),
            value: Some(Value::Bytes(pair.1.clone())),
            count: times(&self.held, pair).wrapping_sub(times(&other.held, pair)),
        };
        let entries = pairs.into_iter().map(entry).filter(|entry| entry.count != 0).collect();
        Ok(Listing { entries: F::differing(entries), undecoded: 0 })
    }
}

impl<F: Flaw> Merge for Exact<F> {
    fn merge(&mut self, other: &Self) -> Result<()> {
        self.comparable(other)?;
        for (pair, count) in &other.held {
            let own = self.held.entry(pair.clone()).or_default();
            *own = own.saturating_add(*count);
        }
        self.capacity = self.capacity.max(other.capacity).max(self.held.len() as u64);
        Ok(())
    }
}

/// A setting that a multiset needs to give keys back.
const CELLS: Parameter =
    Parameter { name: "cells", help: "with or without", of: ParameterType::Choice { options: &["bits", "counters"] } };
const COUNTERS_TO_REMOVE: &[Need] = &[Need::new(Verb::Remove, "cells", "counters")];

/// A flaw and the laws that it breaks, for a multiset with values or for one with sets.
macro_rules! flaws {
    ($($test:ident: $name:ident $id:literal $of:ident $check:ident [$($law:literal),*] { $($body:tt)* })*) => {$(
        #[derive(Clone)]
        struct $name;

        impl Flaw for $name {
            const ID: &'static str = $id;
            $($body)*
        }

        #[test]
        fn $test() {
            $check($of::<$name>(), &[$($law),*]);
        }
    )*};
}

flaws! {
    an_exact_multiset_passes_every_law: Sound "sound" values_of breaks_exactly [] {}

    exact_sets_pass_every_law: SoundSets "sound-sets" sets_of breaks_exactly [] {
        const NOTE: NoteType = NoteType::Group;
    }

    a_removal_that_takes_others_along_is_noticed: TakesAlong "takes-along" values_of breaks_at_least [
        "removing_undoes_inserting",
        "removed_keys_vanish_and_others_stay",
        "counts_are_at_least_the_insertions",
        "listed_entries_are_those_that_were_inserted",
        "random_operations_agree_with_an_exact_model"
    ] {
        fn removed(held: &mut Held) {
            held.pop_last();
        }
    }

    verbs_that_need_settings_pass_every_law: Conditional "conditional" values_of breaks_exactly [] {
        const PARAMETERS: &'static [Parameter] = &[common::ITEMS, CELLS];
        const NEEDS: &'static [Need] = COUNTERS_TO_REMOVE;
    }

    a_flaw_of_a_verb_that_needs_settings_is_noticed: OtherSettings "other-settings" values_of breaks_at_least [
        "removing_undoes_inserting",
        "removed_keys_vanish_and_others_stay",
        "random_operations_agree_with_an_exact_model"
    ] {
        const PARAMETERS: &'static [Parameter] = &[common::ITEMS, CELLS];
        const NEEDS: &'static [Need] = COUNTERS_TO_REMOVE;
        fn removed(held: &mut Held) {
            held.pop_last();
        }
    }

    a_removal_of_nothing_is_noticed: RemovesNothing "removes-nothing" values_of breaks_exactly [
        "removing_an_absent_key_is_refused_and_changes_nothing"
    ] {
        fn absent_removed() -> Result<()> {
            Ok(())
        }
    }

    counts_that_are_too_small_are_noticed: UnderCounts "under-counts" values_of breaks_exactly [
        "counts_are_at_least_the_insertions",
        "merged_counts_add_up",
        "random_operations_agree_with_an_exact_model"
    ] {
        fn count(count: u64) -> u64 {
            count.min(1)
        }
    }

    counts_that_are_too_large_are_noticed: OverCounts "over-counts" values_of breaks_exactly [
        "errors_that_are_not_declared_do_not_happen",
        "counts_are_at_least_the_insertions",
        "random_operations_agree_with_an_exact_model",
        "random_data_sets_agree_with_an_exact_model"
    ] {
        fn count(count: u64) -> u64 {
            count.saturating_mul(2)
        }
    }

    wrong_values_are_noticed: WrongValues "wrong-values" values_of breaks_exactly [
        "members_have_their_own_value",
        "random_operations_agree_with_an_exact_model",
        "random_data_sets_agree_with_an_exact_model"
    ] {
        fn answer(answer: Answer) -> Answer {
            match answer {
                Answer::Value(Value::Bytes(mut bytes)) => {
                    // One of the sixteen values is another.
                    if let Some(first) = bytes.first_mut().filter(|first| **first == 7) {
                        *first = 8;
                    }
                    Answer::Value(Value::Bytes(bytes))
                }
                other => other,
            }
        }
    }

    unknown_values_that_are_not_declared_are_noticed: NeverKnows "never-knows" values_of breaks_at_least [
        "errors_that_are_not_declared_do_not_happen",
        "members_have_their_own_value"
    ] {
        fn answer(answer: Answer) -> Answer {
            if answer == Answer::Absent { answer } else { Answer::Unknown }
        }
    }

    missing_sets_are_noticed: MissingSets "missing-sets" sets_of breaks_at_least [
        "members_are_in_their_own_set",
        "random_operations_agree_with_an_exact_model"
    ] {
        const NOTE: NoteType = NoteType::Group;
        fn sets(sets: Vec<u64>) -> Vec<u64> {
            sets.into_iter().filter(|&set| set != 3).collect()
        }
    }

    spurious_sets_are_noticed: SpuriousSets "spurious-sets" sets_of breaks_at_least [
        "errors_that_are_not_declared_do_not_happen",
        "sets_are_listed_once_and_ascending"
    ] {
        const NOTE: NoteType = NoteType::Group;
        fn sets(mut sets: Vec<u64>) -> Vec<u64> {
            sets.push(1);
            sets
        }
    }

    an_incomplete_listing_that_claims_to_be_complete_is_noticed: Omits "omits" values_of breaks_exactly [
        "listed_entries_are_those_that_were_inserted"
    ] {
        fn entries(mut entries: Vec<Entry>) -> Vec<Entry> {
            entries.pop();
            entries
        }
    }

    removals_that_linger_less_than_declared_are_noticed: Hasty "hasty" values_of breaks_exactly [
        "removed_keys_linger_where_that_is_declared"
    ] {
        const ERRORS: &'static [ErrorClass] = &[ErrorClass::Lingering];
    }

    a_one_sided_difference_is_noticed: OneSided "one-sided" values_of breaks_exactly [
        "a_difference_lists_what_is_not_shared"
    ] {
        fn differing(entries: Vec<Entry>) -> Vec<Entry> {
            entries.into_iter().filter(|entry| entry.count > 0).collect()
        }
    }

    an_uneven_clock_is_noticed: UnevenClock "uneven-clock" values_of breaks_exactly [
        "advancing_twice_is_advancing_by_the_sum"
    ] {
        fn ticks(ticks: u64) -> u64 {
            ticks.saturating_add(1)
        }
    }

    a_frame_that_cannot_be_read_after_a_verb_is_noticed: ClockRunsOut "clock-runs-out" values_of breaks_exactly [
        "every_verb_leaves_a_frame_that_opens",
        "forged_frames_are_refused_or_work"
    ] {
        fn is_readable(clock: u64) -> bool {
            clock < u64::MAX
        }
    }

    a_filter_that_counts_too_much_is_noticed_among_others: OneOverCounts "one-over-counts" values_of breaks_exactly [
        "rates_agree_with_theory_at_one_percent",
        "rates_agree_with_theory_at_one_per_mille"
    ] {
        const ERRORS: &'static [ErrorClass] = &[ErrorClass::OverCount];
        const RATES: Rates = Rates { over_count: ONE_OF_THIRTY, ..NO_RATES };
        const ONE_GETS_WRONG: Option<ErrorClass> = Some(ErrorClass::OverCount);
    }

    a_filter_that_knows_no_value_is_noticed_among_others: OneKnowsNothing "one-knows-nothing" values_of breaks_exactly [
        "rates_agree_with_theory_at_one_percent",
        "rates_agree_with_theory_at_one_per_mille"
    ] {
        const ERRORS: &'static [ErrorClass] = &[ErrorClass::Unknown];
        const RATES: Rates = Rates { unknown: ONE_OF_THIRTY, ..NO_RATES };
        const ONE_GETS_WRONG: Option<ErrorClass> = Some(ErrorClass::Unknown);
    }

    a_filter_that_invents_values_is_noticed_among_others: OneInvents "one-invents" values_of breaks_exactly [
        "rates_agree_with_theory_at_one_percent",
        "rates_agree_with_theory_at_one_per_mille"
    ] {
        const ERRORS: &'static [ErrorClass] = &[ErrorClass::SpuriousValue];
        const RATES: Rates = Rates { spurious_value: ONE_OF_THIRTY, ..NO_RATES };
        const ONE_GETS_WRONG: Option<ErrorClass> = Some(ErrorClass::SpuriousValue);
    }

    a_filter_that_invents_sets_is_noticed_among_others: OneMisplaces "one-misplaces" sets_of breaks_exactly [
        "rates_agree_with_theory_at_one_percent",
        "rates_agree_with_theory_at_one_per_mille"
    ] {
        const NOTE: NoteType = NoteType::Group;
        const ERRORS: &'static [ErrorClass] = &[ErrorClass::SpuriousSet];
        const RATES: Rates = Rates { spurious_sets: ONE_OF_THIRTY, ..NO_RATES };
        const ONE_GETS_WRONG: Option<ErrorClass> = Some(ErrorClass::SpuriousSet);
    }

    growth_that_loses_a_key_is_noticed: LosesByGrowing "loses-by-growing" values_of breaks_at_least [
        "growing_raises_the_capacity_and_changes_no_answer",
        "random_operations_agree_with_an_exact_model"
    ] {
        fn grown(capacity: u64, held: &mut Held) -> u64 {
            held.pop_first();
            capacity.saturating_mul(2)
        }
    }

    growth_that_does_not_grow_is_noticed: StaysSmall "stays-small" values_of breaks_exactly [
        "growing_raises_the_capacity_and_changes_no_answer"
    ] {
        fn grown(capacity: u64, _: &mut Held) -> u64 {
            capacity
        }
    }
}
