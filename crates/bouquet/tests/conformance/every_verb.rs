//! Everything that can be done with a filter and asked of it, for laws that hold whatever is done.

use bouquet::capability::Item;
use bouquet::hash::SplitMix;
use bouquet::kind::{SpecialFacts, Verb};
use bouquet::{AnyFilter, Result};

use crate::specials::arguments;
use crate::subject::{ABSENT, Because, Keys, Subject, Verdict, found, observe, unchanged};

/// The verbs that change a filter.
const CHANGE: [Verb; 8] =
    [Verb::Insert, Verb::Remove, Verb::Set, Verb::Advance, Verb::Grow, Verb::Merge, Verb::Intersect, Verb::Subtract];

/// The verbs that do not.
const ASK: &[Verb] = &[
    Verb::Contains,
    Verb::Count,
    Verb::Get,
    Verb::Classify,
    Verb::Judge,
    Verb::Weigh,
    Verb::List,
    Verb::Top,
    Verb::Decode,
    Verb::Difference,
    Verb::Cardinality,
    Verb::Compress,
];

#[test]
fn every_verb_changes_or_asks() {
    for &verb in Verb::ALL.iter().filter(|&&verb| verb != Verb::BuildFrom) {
        assert_ne!(CHANGE.contains(&verb), ASK.contains(&verb), "`{}`", verb.name());
    }
}

/// Filters that would have more bits than this do not grow: what doubles every time is large soon.
const MOST_BITS: u64 = 1 << 20;

/// The frame of a filter opens, and is the same when it is written again; the compressed one too.
pub fn opens(subject: &Subject, what: &str, filter: &AnyFilter) -> std::result::Result<AnyFilter, String> {
    let frame = filter.to_bytes();
    let again = subject.reopen(&frame).because(&format!("{what}: its own frame is refused"))?;
    unchanged(&format!("{what}: read and written again"), &frame, &again)?;
    if filter.can(Verb::Compress) {
        let compressed = filter.to_compressed_bytes();
        let again = subject.reopen(&compressed).because(&format!("{what}: its own compressed frame is refused"))?;
        unchanged(&format!("{what}: compressed, read and written again"), &frame, &again)?;
    }
    Ok(again)
}

/// Something that changes a filter.
#[derive(Clone, Copy)]
pub enum Change {
    By(Verb),
    Action(&'static SpecialFacts),
}

impl Change {
    /// All that a filter can do.
    pub fn all(filter: &AnyFilter) -> Vec<Change> {
        let verbs = CHANGE.into_iter().filter(|&verb| filter.can(verb)).map(Change::By);
        let actions = filter.kind().specials().filter(|special| special.acts).map(Change::Action);
        verbs.chain(actions).collect()
    }

    pub fn name(self) -> &'static str {
        match self {
            Change::By(verb) => verb.name(),
            Change::Action(special) => special.name,
        }
    }

    /// Does it with these items and another filter.
    pub fn apply(
        self,
        subject: &Subject,
        filter: &mut AnyFilter,
        items: &[Item<'_>],
        other: impl FnOnce() -> Result<AnyFilter>,
        random: &mut SplitMix,
    ) -> Result<()> {
        let verb = match self {
            Change::By(verb) => verb,
            Change::Action(special) => {
                let (other, key) = (other()?, random.below(40).to_le_bytes());
                let arguments = arguments(subject, special, &key, &other);
                let argument = arguments[random.below(arguments.len() as u64) as usize];
                return filter.act(special.name, argument).map(drop);
            }
        };
        match verb {
            Verb::Insert => filter.insert()?.insert_batch(items).map(drop),
            Verb::Remove => items.iter().try_for_each(|item| filter.remove()?.remove(*item)),
            Verb::Set => items.iter().try_for_each(|item| filter.set()?.set(*item)),
            Verb::Advance => {
                let ticks = [0, 1, 7, 1_000, 1 << 40, u64::MAX][random.below(6) as usize];
                filter.advance().map(|advance| advance.advance(ticks))
            }
            Verb::Grow if filter.stats().bits > MOST_BITS / 2 => Ok(()),
            Verb::Grow => filter.grow()?.grow(),
            Verb::Merge => filter.merge(&other()?),
            Verb::Intersect => filter.intersect(&other()?),
            Verb::Subtract => filter.subtract(&other()?),
            other => unreachable!("`{}` changes nothing", other.name()),
        }
    }
}

/// Up to eight keys, some of which come again, of those that filters of these laws hold and others.
pub fn random_keys(random: &mut SplitMix) -> Keys {
    Keys::new((0..1 + random.below(8)).map(|_| random.below(40)).collect::<Vec<_>>())
}

/// Every question is answered.
pub fn every_question_is_answered(subject: &Subject, filter: &AnyFilter) -> Verdict {
    let keys = Keys::new((0..40).chain(ABSENT..ABSENT + 40));
    observe(filter, &keys)?;
    if filter.can(Verb::Contains) {
        found(filter, &keys)?;
    }
    // Some tell no rate.
    if let Ok(belief) = filter.weigh() {
        for key in keys.refs() {
            for prior in [None, Some(0.0), Some(0.3), Some(1.0), Some(f64::NAN)] {
                // Some have no model of their own.
                let answer = belief.probability(key, prior).unwrap_or(0.0);
                ensure!((0.0..=1.0).contains(&answer), "the probability {answer} of a key with the prior {prior:?}");
            }
        }
    }
    if filter.can(Verb::List) {
        filter.list().because("list")?.list();
    }
    if filter.can(Verb::Top) {
        filter.top().because("top")?.top();
    }
    if filter.can(Verb::Decode) {
        // Keys that were never inserted may make it impossible, which is answered too.
        drop(filter.decode().because("decode")?.decode(&keys.refs()));
    }
    if filter.can(Verb::Difference) {
        filter.difference(filter).because("difference")?;
    }
    if filter.can(Verb::Cardinality) {
        filter.cardinality().because("cardinality")?;
        filter.overlap(filter).because("overlap")?;
    }
    if filter.can(Verb::Compress) {
        filter.compress().because("compress")?.entropy_bits();
    }
    for special in subject.kind.specials().filter(|special| !special.acts) {
        for argument in arguments(subject, special, &7u64.to_le_bytes(), filter) {
            // It may be refused, as a range of keys that are no numbers is.
            drop(filter.ask(special.name, argument));
        }
    }
    Ok(())
}
