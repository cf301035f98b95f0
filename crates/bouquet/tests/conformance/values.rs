//! The laws of the verbs that tell more than membership: get, classify and list.

use bouquet::capability::{Answer, Note};
use bouquet::kind::{ErrorClass, Verb};

use crate::subject::{Because, Keys, Subject, Verdict, note, observe, probe, value};

laws! {
    members_have_their_own_value needs [Get];
    values_and_membership_agree needs [Contains, Get];
    members_are_in_their_own_set needs [Classify];
    sets_are_listed_once_and_ascending needs [Classify];
    listed_entries_are_those_that_were_inserted needs [List];
}

const ITEMS: u64 = 1_000;

fn members_have_their_own_value(subject: &Subject) -> Verdict {
    let may_be_unknown = subject.kind.errs(ErrorClass::Unknown);
    let may_be_lost = subject.kind.errs(ErrorClass::FalseNegative);
    for load in [ITEMS / 2, ITEMS, ITEMS * 3 / 2] {
        let filter = subject.filled(ITEMS.max(load), 0.01, 0..load)?;
        let get = filter.get().because("get")?;
        let mut told = 0;
        for number in 0..load {
            let own = value(subject.facts().note, number);
            match get.get(&number.to_le_bytes()) {
                Answer::Value(answer) if Some(&answer) == own.as_ref() => told += 1,
                Answer::Unknown if may_be_unknown => {}
                Answer::Absent if may_be_lost => {}
                other => return Err(format!("of {load}, key {number} with {own:?} has {other:?}")),
            }
        }
        ensure!(told > 0, "of {load} keys, none has its value");
    }
    Ok(())
}

fn values_and_membership_agree(subject: &Subject) -> Verdict {
    let filter = subject.filled(ITEMS, 0.1, 0..ITEMS)?;
    let keys = probe(ITEMS);
    for (number, seen) in keys.numbers.iter().zip(observe(&filter, &keys)?) {
        let absent = seen.answer == Some(Answer::Absent);
        ensure!(seen.contains == Some(!absent), "key {number}: {seen:?}");
    }
    Ok(())
}

fn members_are_in_their_own_set(subject: &Subject) -> Verdict {
    if subject.kind.errs(ErrorClass::FalseNegative) {
        return Ok(());
    }
    let filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    let classify = filter.classify().because("classify")?;
    for number in 0..ITEMS {
        let sets = classify.classify(&number.to_le_bytes());
        match note(subject.facts().note, number) {
            Note::Group(own) => ensure!(sets.contains(&own), "key {number} is in set {own}, classified {sets:?}"),
            _ => ensure!(!sets.is_empty(), "key {number} is in no set"),
        }
    }
    Ok(())
}

fn sets_are_listed_once_and_ascending(subject: &Subject) -> Verdict {
    let filter = subject.filled(ITEMS, 0.3, 0..ITEMS)?;
    let keys = probe(ITEMS);
    for (number, seen) in keys.numbers.iter().zip(observe(&filter, &keys)?) {
        let sets = seen.sets.clone().unwrap_or_default();
        ensure!(sets.windows(2).all(|pair| pair[0] < pair[1]), "key {number} has the sets {sets:?}");
        if let Some(contains) = seen.contains {
            ensure!(contains != sets.is_empty(), "key {number}: {seen:?}");
        }
    }
    Ok(())
}

fn listed_entries_are_those_that_were_inserted(subject: &Subject) -> Verdict {
    let mut complete = 0;
    for seed in 0..10 {
        for load in [ITEMS / 2, ITEMS] {
            let filter = subject.seeded(ITEMS, 0.01, 0..load, seed)?;
            let listing = filter.list().because("list")?.list();
            let mut keys = Vec::new();
            for entry in &listing.entries {
                let number = <[u8; 8]>::try_from(entry.key.as_slice()).map(u64::from_le_bytes).unwrap_or(u64::MAX);
                ensure!(number < load, "{:?} was never inserted", entry);
                let own = value(subject.facts().note, number);
                ensure!(
                    entry.value.is_none() || entry.value == own,
                    "key {number} with {own:?} is listed as {entry:?}"
                );
                ensure!(entry.value.is_some() || !subject.kind.can(Verb::Get), "key {number} is listed without value");
                ensure!(entry.count == 1, "key {number}, inserted once, is listed as {entry:?}");
                keys.push(number);
            }
            let listed = keys.len();
            keys.sort_unstable();
            keys.dedup();
            ensure!(keys.len() == listed, "{} entries are listed twice", listed - keys.len());
            if listing.undecoded == 0 {
                ensure!(listed as u64 == load, "a complete listing has {listed} of {load} entries");
                complete += 1;
            } else {
                let declared = subject.kind.errs(ErrorClass::Unknown);
                ensure!(declared, "seed {seed}: {} cells of {load} entries stay undecoded", listing.undecoded);
            }
        }
    }
    // Failing to decode what it was made for is rare enough at any design to happen to fewer than half.
    ensure!(complete > 10, "only {complete} of 20 listings of at most the planned items are complete");

    let listing = subject.empty(&subject.config(ITEMS, 0.01)?)?.list().because("list")?.list();
    ensure!(listing.entries.is_empty() && listing.undecoded == 0, "an empty filter lists {listing:?}");
    // What is listed after removing is what is left.
    if subject.kind.can(Verb::Remove) && subject.kind.can(Verb::Insert) {
        let mut filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
        for number in ITEMS / 4..ITEMS {
            subject.remove(&mut filter, number).because("removing a present key")?;
        }
        let listing = filter.list().because("list")?.list();
        let mut left: Vec<_> = listing.entries.iter().map(|entry| entry.key.clone()).collect();
        left.sort_unstable();
        let mut expected: Vec<_> = Keys::new(0..ITEMS / 4).refs().into_iter().map(<[u8]>::to_vec).collect();
        expected.sort_unstable();
        ensure!(left == expected, "after removing all but {}, {} are listed", expected.len(), left.len());
    }
    Ok(())
}
