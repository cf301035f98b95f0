//! The laws of the verbs that tell more than membership: get, classify, judge, list, top and decode.

use bouquet::capability::{Answer, Dataset, Item, Note, Verdict as Judgement};
use bouquet::kind::{ErrorClass, Setting, Verb};
use bouquet::{AnyFilter, Error};

use crate::subject::{ABSENT, Because, Keys, Subject, Verdict, observe, probe};

laws! {
    members_have_their_own_value needs [Get];
    a_value_that_is_set_is_told_and_no_other_changes needs [Get, Set];
    values_and_membership_agree needs [Contains, Get];
    members_are_in_their_own_set needs [Classify];
    sets_are_listed_once_and_ascending needs [Classify];
    verdicts_are_right_inside_the_universe needs [Judge];
    probabilities_are_calibrated needs [Contains, Weigh];
    listed_entries_are_those_that_were_inserted needs [List];
    named_keys_are_the_most_frequent needs [Insert, Top];
    decoded_counts_are_within_their_bounds needs [Insert, Decode];
}

const ITEMS: u64 = 1_000;

fn probabilities_are_calibrated(subject: &Subject) -> Verdict {
    const STRANGERS: u64 = 20_000;
    for (fpr, load) in [(0.1, ITEMS), (0.02, ITEMS), (0.02, 2 * ITEMS)] {
        let filter = subject.filled(ITEMS, fpr, 0..load)?;
        let belief = filter.weigh().because("weigh")?;
        let prior = load as f64 / (load + STRANGERS) as f64;
        let (mut sum, mut variance) = (0.0, 0.0);
        let keys = Keys::new((0..load).chain(ABSENT..ABSENT + STRANGERS));
        let told = |prior| belief.probabilities(&keys.refs(), Some(prior)).because("probabilities");
        for ((number, answer), never) in keys.numbers.iter().zip(told(prior)?).zip(told(0.0)?) {
            ensure!((0.0..=1.0).contains(&answer), "key {number} is a member with probability {answer}");
            ensure!(never == 0.0, "key {number} cannot be a member, and is one with probability {never}");
            if *number < 50 {
                let single = belief.probability(&number.to_le_bytes(), Some(prior)).because("a probability")?;
                ensure!(single == answer, "key {number}: alone {single}, in a batch {answer}");
            }
            sum += answer;
            variance += answer * (1.0 - answer);
        }
        // Given the answers, the number of members has this variance.
        let off = (sum - load as f64).abs();
        ensure!(
            off <= 5.0 * f64::sqrt(variance) + 1.0,
            "of {load} members among {STRANGERS} strangers {sum:.0} are believed, {off:.0} off (sigma {:.1})",
            f64::sqrt(variance)
        );
    }
    Ok(())
}

fn members_have_their_own_value(subject: &Subject) -> Verdict {
    let may_be_unknown = subject.errs(ErrorClass::Unknown);
    let may_be_lost = subject.errs(ErrorClass::FalseNegative);
    for load in [ITEMS / 2, ITEMS, ITEMS * 3 / 2] {
        let filter = subject.filled(ITEMS.max(load), 0.01, 0..load)?;
        let get = filter.get().because("get")?;
        let mut told = 0;
        for number in 0..load {
            let own = subject.value(number);
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

fn a_value_that_is_set_is_told_and_no_other_changes(subject: &Subject) -> Verdict {
    let mut filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    let told = |filter: &AnyFilter, number: u64| Ok(filter.get().because("get")?.get(&number.to_le_bytes()));
    let before: Vec<_> = (0..ITEMS).map(|number| told(&filter, number)).collect::<Result<_, String>>()?;
    // Every tenth key gets the value of the next.
    for number in (0..ITEMS).step_by(10) {
        let key = number.to_le_bytes();
        filter
            .set()
            .because("set")?
            .set(Item::new(&key, subject.note(number + 1)))
            .because("setting a member's value")?;
    }
    for (number, before) in (0..ITEMS).zip(before) {
        let expected = if number % 10 == 0 { subject.value(number + 1).map_or(before, Answer::Value) } else { before };
        let now = told(&filter, number)?;
        ensure!(now == expected, "key {number} has {now:?} instead of {expected:?}");
    }
    let frame = filter.to_bytes();
    let absent = (ABSENT..ABSENT + 1_000).find(|number| told(&filter, *number) == Ok(Answer::Absent));
    let absent = absent.ok_or("no key is certainly absent")?;
    let refused = filter.set().because("set")?.set(Item::new(&absent.to_le_bytes(), subject.note(0)));
    ensure!(matches!(refused, Err(Error::NotPresent)), "setting an absent key: {refused:?}");
    ensure!(filter.to_bytes() == frame, "setting an absent key changed the filter");
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
    if subject.errs(ErrorClass::FalseNegative) || subject.errs(ErrorClass::MissingSet) {
        return Ok(());
    }
    let filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    let classify = filter.classify().because("classify")?;
    for number in 0..ITEMS {
        let sets = classify.classify(&number.to_le_bytes());
        match subject.note(number) {
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

fn verdicts_are_right_inside_the_universe(subject: &Subject) -> Verdict {
    let (members, others) = (Keys::new(0..ITEMS), Keys::absent(4 * ITEMS));
    for (fpr, seed) in [(0.1, 1), (0.01, 2), (0.001, 3)] {
        let config = subject.config(ITEMS, fpr)?.hashed(bouquet::hash::Hashing::seeded(seed));
        let (items, absent) = (subject.items(&config, &members), subject.items(&config, &others));
        let data = Dataset { items: &items, absent: &absent };
        let filter = AnyFilter::build_of_kind(subject.kind, &config, &data).because("building")?;
        let again = subject.reopen(&filter.to_bytes()).because("reading the frame")?;
        for (side, keys, right, wrong) in
            [("member", &members, Judgement::In, Judgement::Out), ("other key", &others, Judgement::Out, Judgement::In)]
        {
            let mut verdicts = vec![Judgement::Unknown; keys.numbers.len()];
            filter.judge().because("judge")?.judge_batch(&keys.refs(), &mut verdicts);
            let (alone, later) = (filter.judge().because("judge")?, again.judge().because("judge")?);
            for ((number, key), verdict) in keys.numbers.iter().zip(keys.refs()).zip(&verdicts) {
                let told = *verdict != wrong && *verdict != Judgement::Unknown;
                ensure!(told, "rate {fpr}: the {side} {number} is judged {verdict:?}");
                ensure!(alone.judge(key) == *verdict, "the {side} {number} is judged otherwise in a batch");
                ensure!(later.judge(key) == *verdict, "the {side} {number} is judged otherwise after a frame");
            }
            let sure = verdicts.iter().filter(|verdict| **verdict == right).count();
            let enough = side == "member" || 2 * sure > verdicts.len();
            ensure!(enough, "rate {fpr}: only {sure} of {} are out", verdicts.len());
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
                let own = subject.value(number);
                ensure!(
                    entry.value.is_none() || entry.value == own,
                    "key {number} with {own:?} is listed as {entry:?}"
                );
                ensure!(entry.value.is_some() || !subject.can(Verb::Get), "key {number} is listed without value");
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
                let declared = subject.errs(ErrorClass::Unknown);
                ensure!(declared, "seed {seed}: {} cells of {load} entries stay undecoded", listing.undecoded);
            }
        }
    }
    // Failing to decode what it was made for is rare enough at any design to happen to fewer than half.
    ensure!(complete > 10, "only {complete} of 20 listings of at most the planned items are complete");

    let listing = subject.empty(&subject.config(ITEMS, 0.01)?)?.list().because("list")?.list();
    ensure!(listing.entries.is_empty() && listing.undecoded == 0, "an empty filter lists {listing:?}");
    // What is listed after removing is what is left.
    if subject.can(Verb::Remove) && subject.can(Verb::Insert) {
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

/// Key i comes 600/(i+1) times, the others among them once.
fn unequal() -> Vec<u64> {
    (0..300).map(|rank| (600 / (rank + 1)).max(1)).collect()
}

fn named_keys_are_the_most_frequent(subject: &Subject) -> Verdict {
    let mut config = subject.config(ITEMS, 0.01)?;
    // A structure keeps names as far as it is told to.
    for (name, setting) in [("top", 20), ("threshold", 50)] {
        if subject.has_parameter(name) {
            config = config.with(name, Setting::Count(setting)).because("a usual setting is refused")?;
        }
    }
    for seed in 0..5 {
        let mut filter = subject.empty(&config.clone().hashed(bouquet::hash::Hashing::seeded(seed)))?;
        ensure!(filter.top().because("top")?.top().is_empty(), "an empty filter names keys");
        let times = unequal();
        for round in 0..600 {
            for (number, _) in (0u64..).zip(&times).filter(|(_, times)| round < **times) {
                subject.insert(&mut filter, number).because("inserting")?;
            }
        }
        let top = filter.top().because("top")?.top();
        let mut numbers = Vec::new();
        for frequent in &top {
            let number = <[u8; 8]>::try_from(frequent.key.as_slice()).map(u64::from_le_bytes).unwrap_or(u64::MAX);
            let Some(&truth) = times.get(number as usize) else {
                return Err(format!("{frequent:?} was never inserted"));
            };
            let enough = frequent.count.count >= truth || frequent.count.at_least;
            ensure!(enough || subject.errs(ErrorClass::UnderCount), "{frequent:?} came {truth} times");
            numbers.push(number);
        }
        ensure!(top.windows(2).all(|pair| pair[0].count.count >= pair[1].count.count), "not the most frequent first");
        // Far enough from each other to be told apart at any design.
        ensure!(numbers.starts_with(&[0, 1, 2]), "the most frequent are 0, 1 and 2, named are {numbers:?}");
        numbers.sort_unstable();
        numbers.dedup();
        ensure!(numbers.len() == top.len(), "{} keys are named twice", top.len() - numbers.len());
        let again = subject.reopen(&filter.to_bytes()).because("reading the frame")?;
        ensure!(again.top().because("top")?.top() == top, "after a frame other keys are named");
    }
    Ok(())
}

fn decoded_counts_are_within_their_bounds(subject: &Subject) -> Verdict {
    let (mut exact, times) = (0, unequal());
    let all = Keys::new(0..times.len() as u64);
    // At the planned load, and at twice as much.
    for (seed, items) in (0..10).flat_map(|seed| [(seed, 300), (seed, 150)]) {
        let config = subject.config(items, 0.01)?.hashed(bouquet::hash::Hashing::seeded(seed));
        let mut filter = subject.empty(&config)?;
        for (number, &times) in (0u64..).zip(&times) {
            for _ in 0..times {
                subject.insert(&mut filter, number).because("inserting")?;
            }
        }
        let decoding = filter.decode().because("decode")?.decode(&all.refs()).because("decoding")?;
        ensure!(decoding.consistent, "all keys, yet they are said not to be all");
        ensure!(decoding.counts.len() == times.len(), "{} counts of {} keys", decoding.counts.len(), times.len());
        for (number, (bounds, truth)) in decoding.counts.iter().zip(&times).enumerate() {
            ensure!(bounds.contains(truth), "key {number} came {truth} times, decoded as {bounds:?}");
        }
        exact += usize::from(items == 300 && decoding.counts.iter().all(|bounds| bounds.start() == bounds.end()));
    }
    ensure!(exact > 5, "only {exact} of 10 at the planned load are decoded exactly");
    Ok(())
}
