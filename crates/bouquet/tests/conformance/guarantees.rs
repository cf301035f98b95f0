//! Present keys are found, and errors that a kind does not declare do not happen.

use bouquet::capability::{Answer, Verdict as Judgement};
use bouquet::kind::{ErrorClass, Verb};
use bouquet::{AnyFilter, Error};

use crate::subject::{Because, Keys, Subject, Verdict, found, observe};

laws! {
    inserted_keys_are_contained needs [Contains];
    keys_stay_contained_beyond_the_planned_load needs [Contains];
    merged_keys_are_contained needs [Contains, Merge];
    keys_are_contained_after_a_frame needs [Contains];
    errors_that_are_not_declared_do_not_happen needs [];
    verbs_that_a_kind_lacks_are_unsupported needs [];
}

const ITEMS: u64 = 2_000;

fn all_found(what: &str, filter: &AnyFilter, keys: &Keys) -> Verdict {
    if filter.errs(ErrorClass::FalseNegative) {
        return Ok(());
    }
    let missing = keys.numbers.iter().zip(found(filter, keys)?).find(|(_, found)| !found);
    ensure!(missing.is_none(), "{what}: key {} is not found", missing.unwrap().0);
    Ok(())
}

fn inserted_keys_are_contained(subject: &Subject) -> Verdict {
    for (fpr, seed) in [(0.1, 1), (0.01, 2), (0.0001, 3)] {
        let filter = subject.seeded(ITEMS, fpr, 0..ITEMS, seed)?;
        all_found(&format!("{ITEMS} items at rate {fpr}"), &filter, &Keys::new(0..ITEMS))?;
    }
    Ok(())
}

fn keys_stay_contained_beyond_the_planned_load(subject: &Subject) -> Verdict {
    let (more, keys) = (ITEMS * 3 / 2, Keys::new(0..ITEMS * 3 / 2));
    if !subject.can(Verb::Insert) {
        return match subject.try_build(&subject.config(ITEMS, 0.01)?, &keys) {
            Ok(filter) => all_found("built with 1.5 times the items", &filter, &keys),
            Err(Error::Full { .. } | Error::Build { .. }) => Ok(()),
            Err(error) => Err(format!("building with 1.5 times the items: {error}")),
        };
    }
    let mut filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    for number in ITEMS..more {
        match subject.insert(&mut filter, number) {
            Ok(_) => {}
            Err(Error::Full { .. }) => return all_found("filled up", &filter, &Keys::new(0..number)),
            Err(error) => return Err(format!("inserting key {number} of {ITEMS} planned: {error}")),
        }
    }
    all_found("filled to 1.5 times the items", &filter, &keys)
}

fn merged_keys_are_contained(subject: &Subject) -> Verdict {
    let mut left = subject.filled(ITEMS, 0.01, 0..ITEMS / 2)?;
    let right = subject.filled(ITEMS, 0.01, ITEMS / 2..ITEMS)?;
    left.merge(&right).because("merging")?;
    all_found("after merging", &left, &Keys::new(0..ITEMS))
}

fn keys_are_contained_after_a_frame(subject: &Subject) -> Verdict {
    let filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    let again = subject.reopen(&filter.to_bytes()).because("reading the frame")?;
    all_found("after a frame", &again, &Keys::new(0..ITEMS))
}

fn errors_that_are_not_declared_do_not_happen(subject: &Subject) -> Verdict {
    let members = Keys::new(0..ITEMS);
    let strangers = Keys::absent(20_000);
    let forbidden = |class: ErrorClass| !subject.errs(class);
    for seed in 0..5 {
        let filter = subject.seeded(ITEMS, 0.05, 0..ITEMS, seed)?;
        for (&number, seen) in members.numbers.iter().zip(observe(&filter, &members)?) {
            let why = |class: ErrorClass| format!("undeclared {}: key {number} gives {seen:?}", class.name());
            if let Some(count) = seen.count {
                ensure!(count.count <= 1 || !forbidden(ErrorClass::OverCount), "{}", why(ErrorClass::OverCount));
                ensure!(count.count >= 1 || !forbidden(ErrorClass::UnderCount), "{}", why(ErrorClass::UnderCount));
            }
            let unknown = seen.answer == Some(Answer::Unknown);
            ensure!(!unknown || !forbidden(ErrorClass::Unknown), "{}", why(ErrorClass::Unknown));
            if let (Some(sets), bouquet::capability::Note::Group(own)) = (&seen.sets, subject.note(number)) {
                let extra = sets.iter().any(|&set| set != own);
                ensure!(!extra || !forbidden(ErrorClass::SpuriousSet), "{}", why(ErrorClass::SpuriousSet));
            }
        }
        for (number, seen) in strangers.numbers.iter().zip(observe(&filter, &strangers)?) {
            let why = |class: ErrorClass| format!("undeclared {}: absent key {number} gives {seen:?}", class.name());
            let found = seen.contains == Some(true) || seen.judgement == Some(Judgement::In);
            ensure!(!found || !forbidden(ErrorClass::FalsePositive), "{}", why(ErrorClass::FalsePositive));
            let valued = matches!(seen.answer, Some(Answer::Value(_)));
            ensure!(!valued || !forbidden(ErrorClass::SpuriousValue), "{}", why(ErrorClass::SpuriousValue));
            let placed = seen.sets.as_ref().is_some_and(|sets| !sets.is_empty());
            ensure!(!placed || !forbidden(ErrorClass::SpuriousSet), "{}", why(ErrorClass::SpuriousSet));
            let counted = seen.count.is_some_and(|count| count.count > 0);
            let declared = subject.errs(ErrorClass::OverCount) || subject.errs(ErrorClass::FalsePositive);
            ensure!(!counted || declared, "{}", why(ErrorClass::OverCount));
        }
    }
    Ok(())
}

fn verbs_that_a_kind_lacks_are_unsupported(subject: &Subject) -> Verdict {
    let mut filter = subject.filled(100, 0.01, 0..10)?;
    let other = filter.clone();
    for &verb in Verb::ALL.iter().filter(|&&verb| !subject.can(verb)) {
        let asked = match verb {
            Verb::Contains => filter.contains().map(drop),
            Verb::Insert => filter.insert().map(drop),
            Verb::Remove => filter.remove().map(drop),
            Verb::Count => filter.count().map(drop),
            Verb::Get => filter.get().map(drop),
            Verb::Classify => filter.classify().map(drop),
            Verb::Judge => filter.judge().map(drop),
            Verb::List => filter.list().map(drop),
            Verb::Top => filter.top().map(drop),
            Verb::Decode => filter.decode().map(drop),
            Verb::Advance => filter.advance().map(drop),
            Verb::Grow => filter.grow().map(drop),
            Verb::Merge => filter.merge(&other),
            Verb::Intersect => filter.intersect(&other),
            Verb::Cardinality => filter.cardinality().map(drop).and(filter.overlap(&other).map(drop)),
            Verb::Compress => filter.compress().map(drop),
            _ => continue,
        };
        let (id, word) = (subject.facts().id, verb.name());
        match asked {
            // Where other settings have the verb, the kind is told with its settings.
            Err(Error::Unsupported { kind, verb, able })
                if verb == word && kind.split(' ').next() == Some(id) && able.split(", ").all(|able| able != kind) => {}
            other => return Err(format!("`{word}` is not registered, yet answers {other:?}")),
        }
    }
    Ok(())
}
