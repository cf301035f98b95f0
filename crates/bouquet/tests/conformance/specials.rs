//! The questions and actions that single kinds have: what holds for all of them.

use bouquet::AnyFilter;
use bouquet::capability::{Item, Note};
use bouquet::kind::{Argument, Reply, SpecialFacts, Takes};
use bouquet::registry;

use crate::subject::{Because, Subject, Verdict};

laws! {
    questions_change_nothing needs [];
    actions_leave_a_frame_that_opens needs [];
    arguments_of_another_sort_are_refused needs [];
}

const ITEMS: u64 = 300;

/// Arguments of every sort that are at the edges or in the middle of what is filled in.
pub fn arguments<'a>(
    subject: &Subject,
    special: &SpecialFacts,
    key: &'a [u8; 8],
    other: &'a AnyFilter,
) -> Vec<Argument<'a>> {
    let number = u64::from_le_bytes(*key);
    match special.takes {
        Takes::Nothing => vec![Argument::Nothing],
        Takes::Key => [key.as_slice(), b"", b"10.1.2.3/8", b"10.1.2.3", b"::1/128"].map(Argument::Key).to_vec(),
        Takes::Item => vec![Argument::Item(Item::new(key, subject.note(number)))],
        Takes::Pair => {
            let texts: [&[u8]; 4] = [b"", b"1", b"0.5,0.25", key];
            let pair = |key, text| Argument::Item(Item::new(key, Note::Bytes(text)));
            // Keys of the sorts that are read as text: sets, addresses, prefixes, rules.
            let keys: [&[u8]; 4] = [key, b"1", b"10.1.2.3/8", b"10.0.0.0/8 80/16"];
            keys.iter().flat_map(|key| texts.map(|text| pair(*key, text))).collect()
        }
        Takes::Number => [0, 1, 2, 1_000, u64::MAX].map(Argument::Number).to_vec(),
        Takes::Share => [0.0, 0.01, 0.5, 1.0].map(Argument::Share).to_vec(),
        Takes::Span => vec![Argument::Span(0, 0), Argument::Span(5, 100), Argument::Span(0, u64::MAX)],
        Takes::Filter => vec![other.as_argument()],
        other => panic!("the suite has no arguments of sort {other:?} yet"),
    }
}

/// Every special of the sort with every argument, over present and absent keys.
fn each(
    subject: &Subject,
    acts: bool,
    mut check: impl FnMut(&AnyFilter, &SpecialFacts, Argument<'_>) -> Verdict,
) -> Verdict {
    for special in subject.kind.specials().filter(|special| special.acts == acts) {
        let filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
        let other = subject.filled(ITEMS, 0.01, ITEMS / 2..3 * ITEMS / 2)?;
        for number in [0, 1, ITEMS - 1, ITEMS + 7] {
            let key = number.to_le_bytes();
            for argument in arguments(subject, special, &key, &other) {
                check(&filter, special, argument).map_err(|why| format!("{} {argument:?}: {why}", special.name))?;
            }
        }
    }
    Ok(())
}

fn questions_change_nothing(subject: &Subject) -> Verdict {
    each(subject, false, |filter, special, argument| {
        let before = filter.to_bytes();
        if let Ok(Reply::Filter(made)) = filter.ask(special.name, argument) {
            let made = AnyFilter::from_made(made).because("what the question made")?;
            let again = AnyFilter::from_bytes(&made.to_bytes()).because("the frame of what the question made")?;
            ensure!(again.to_bytes() == made.to_bytes(), "the filter that it made does not round-trip");
        }
        ensure!(filter.to_bytes() == before, "the question changed the filter");
        Ok(())
    })
}

fn actions_leave_a_frame_that_opens(subject: &Subject) -> Verdict {
    each(subject, true, |filter, special, argument| {
        let mut changed = filter.clone();
        let done = changed.act(special.name, argument);
        let frame = changed.to_bytes();
        ensure!(done.is_ok() || frame == filter.to_bytes(), "it failed with {done:?} and changed the filter");
        let opened = subject.reopen(&frame).because("opening the frame that it left")?;
        ensure!(opened.to_bytes() == frame, "the frame that it left does not round-trip");
        Ok(())
    })
}

fn arguments_of_another_sort_are_refused(subject: &Subject) -> Verdict {
    let mut filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    for special in subject.kind.specials() {
        let wrong = if special.takes == Takes::Nothing { Argument::Number(1) } else { Argument::Nothing };
        let name = special.name;
        let (asked, done) = (filter.ask(name, wrong), filter.act(name, wrong));
        ensure!(asked.is_err() && done.is_err(), "`{name}` takes {wrong:?}");
    }
    ensure!(filter.ask("no such question", Argument::Nothing).is_err(), "an unknown question is answered");
    Ok(())
}

#[test]
fn specials_are_named_once_and_tell_what_they_do() {
    for kind in registry::kinds() {
        let id = kind.facts().id;
        let mut names: Vec<_> = kind.specials().map(|special| special.name).collect();
        names.sort_unstable();
        names.windows(2).for_each(|pair| assert_ne!(pair[0], pair[1], "`{id}` has `{}` twice", pair[0]));
        for special in kind.specials() {
            let is_plain = special.name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            assert!(is_plain && !special.help.is_empty(), "`{id}`: `{}`", special.name);
        }
    }
}
