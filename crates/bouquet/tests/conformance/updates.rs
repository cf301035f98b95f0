//! The laws of the verbs that change a filter: insert, remove, advance, grow; and of count, which sees the changes.

use bouquet::capability::{Item, Multiplicity, Note, NoteType};
use bouquet::hash::SplitMix;
use bouquet::kind::{Config, ErrorClass, Verb};
use bouquet::{AnyFilter, Error};

use crate::subject::{
    ABSENT, Because, Keys, Subject, Verdict, alike, found, found_count, observe, only_refused, probe, refused,
    unchanged,
};

laws! {
    the_first_insertion_is_certainly_new needs [Insert];
    only_keys_that_seem_absent_are_new needs [Contains, Insert];
    batches_do_what_single_calls_do needs [Contains];
    batches_beyond_the_cache_do_what_single_calls_do needs [Contains];
    items_with_a_wrong_note_are_refused_and_change_nothing needs [Insert];
    an_amount_is_as_many_insertions needs [Insert];
    a_large_amount_is_counted_or_told needs [Count, Insert];
    the_number_of_items_is_told needs [];
    removing_undoes_inserting needs [Insert, Remove];
    removed_keys_vanish_and_others_stay needs [Contains, Insert, Remove];
    removed_keys_linger_where_that_is_declared needs [Contains, Insert, Remove];
    removing_an_absent_key_is_refused_and_changes_nothing needs [Contains, Insert, Remove];
    wrong_removals_leave_a_filter_that_works needs [Insert, Remove];
    a_key_that_comes_thousands_of_times_harms_no_other needs [Contains, Insert];
    counts_are_at_least_the_insertions needs [Count, Insert];
    only_absent_keys_count_zero needs [Contains, Count];
    advancing_twice_is_advancing_by_the_sum needs [Advance];
    growing_raises_the_capacity_and_changes_no_answer needs [Grow];
}

const ITEMS: u64 = 1_000;

fn the_first_insertion_is_certainly_new(subject: &Subject) -> Verdict {
    let empty = subject.empty(&subject.config(ITEMS, 0.01)?)?;
    for number in 0..500 {
        let fresh = subject.insert(&mut empty.clone(), number).because("inserting into an empty filter")?;
        ensure!(fresh, "key {number} in an empty filter: reported as not new");
    }
    Ok(())
}

fn only_keys_that_seem_absent_are_new(subject: &Subject) -> Verdict {
    // Inserting a pair twice is not every table's business.
    let twice = subject.takes_bare_keys();
    // At a high rate many keys seem present before they are inserted. A copy of a key may need more room than a key.
    let mut filter = subject.empty(&subject.config(if twice { 3 * ITEMS } else { ITEMS }, 0.3)?)?;
    let certain = !subject.errs(ErrorClass::FalseNegative);
    for number in 0..ITEMS {
        for again in 0..=u64::from(twice) {
            let seemed = seems_in(subject, &filter, number)?;
            let fresh = subject.insert(&mut filter, number).because("inserting")?;
            ensure!(!(fresh && seemed), "key {number} seemed present, yet is reported as new");
            ensure!(fresh || seemed || !certain, "key {number} was certainly absent, yet is reported as not new");
            ensure!(again == 0 || !fresh || !certain, "key {number} is reported as new a second time");
        }
    }
    Ok(())
}

/// Whether a key seems to be in already; where keys belong to sets, whether it seems to be in its own.
fn seems_in(subject: &Subject, filter: &AnyFilter, number: u64) -> Result<bool, String> {
    let key = number.to_le_bytes();
    match subject.note(number) {
        Note::Group(own) if subject.can(Verb::Classify) => {
            Ok(filter.classify().because("classify")?.classify(&key).contains(&own))
        }
        _ => Ok(filter.contains().because("contains")?.contains(&key)),
    }
}

fn batches_do_what_single_calls_do(subject: &Subject) -> Verdict {
    let keys = Keys::new(0..ITEMS);
    let config = subject.config(ITEMS, 0.1)?;
    let filter = subject.build(&config, &keys)?;
    let all = probe(ITEMS);
    let batch = found(&filter, &all)?;
    let contains = filter.contains().because("contains")?;
    for ((number, key), in_batch) in all.numbers.iter().zip(all.refs()).zip(batch) {
        let single = contains.contains(key);
        ensure!(single == in_batch, "key {number}: alone {single}, in a batch {in_batch}");
    }
    // The longer slice's rest is left alone.
    let mut answers = [true; 5];
    contains.contains_batch(&Keys::absent(0).refs(), &mut answers);
    ensure!(answers == [true; 5], "an empty batch has changed answers: {answers:?}");

    if subject.can(Verb::Insert) {
        let (mut one_by_one, mut at_once) = (subject.empty(&config)?, subject.empty(&config)?);
        let fresh =
            at_once.insert().because("insert")?.insert_batch(&subject.items(&config, &keys)).because("a batch")?;
        let mut single = 0;
        for &number in &keys.numbers {
            single += u64::from(subject.insert(&mut one_by_one, number).because("inserting")?);
        }
        ensure!(single == fresh, "certainly new keys: {single} one by one, {fresh} in a batch");
        unchanged("inserted one by one and in a batch", &one_by_one.to_bytes(), &at_once)?;
    }
    Ok(())
}

/// Sizes of filters (1 and 12 MiB) of which the first is beyond the second-level cache and the other beyond all that a kind takes
/// for cached. What is built once, of keys that must all be there, has the first alone.
const FAR_BITS: [u64; 2] = [1 << 23, 3 << 25];

/// Settings with which a filter takes at least this many bits, before its keys where they come one by one, and its items; `None`
/// for a kind that takes nothing without keys.
fn far_config(subject: &Subject, bits: u64) -> Result<Option<(Config, u64)>, String> {
    let mut items = 1_000;
    loop {
        let config = subject.config(items, 0.01)?;
        let taken = match subject.can(Verb::Insert) {
            true => subject.empty(&config)?.stats().bits,
            false => subject.kind.plan(&config).because("planning a large filter")?.bits,
        };
        if taken >= bits || taken == 0 {
            return Ok((taken > 0).then_some((config, items)));
        }
        // Nearly in proportion, and always more.
        let times = (bits as f64 / taken as f64).min(1_000.0);
        items = (items as f64 * times) as u64 + items / 50 + 1;
    }
}

fn batches_beyond_the_cache_do_what_single_calls_do(subject: &Subject) -> Verdict {
    let sizes = if subject.can(Verb::Insert) { &FAR_BITS[..] } else { &FAR_BITS[..1] };
    sizes.iter().try_for_each(|&bits| batches_of_a_filter_this_large(subject, bits))
}

fn batches_of_a_filter_this_large(subject: &Subject, far: u64) -> Verdict {
    let Some((config, items)) = far_config(subject, far)? else { return Ok(()) };
    // Keys that come again, and batches that end within one of those in which a kind prefetches.
    let keys = Keys::new((0..700).chain(0..70).chain(5_000..5_001));
    let filter = if subject.can(Verb::Insert) {
        let (mut one_by_one, mut at_once) = (subject.empty(&config)?, subject.empty(&config)?);
        let each = subject.items(&config, &keys);
        let mut single = 0;
        for item in &each {
            single += u64::from(one_by_one.insert().because("insert")?.insert(*item).because("inserting")?);
        }
        let fresh = at_once.insert().because("insert")?.insert_batch(&each).because("a batch")?;
        ensure!(single == fresh, "certainly new keys: {single} one by one, {fresh} in a batch");
        unchanged("inserted one by one and in a batch", &one_by_one.to_bytes(), &at_once)?;
        at_once
    } else {
        subject.build(&config, &Keys::new(0..items))?
    };
    let size = filter.stats().bits;
    ensure!(size >= far, "the filter has {size} bits, wanted {far}");
    let asked = Keys::new((0..700).chain(ABSENT..ABSENT + 1_000).chain(5_000..5_001));
    let contains = filter.contains().because("contains")?;
    let single: Vec<bool> = asked.refs().iter().map(|key| contains.contains(key)).collect();
    for count in [0, 1, 31, 64, 65, asked.numbers.len()] {
        let mut answers = vec![true; asked.numbers.len()];
        let mut of_words = answers.clone();
        contains.contains_batch(&asked.refs()[..count], &mut answers);
        contains.contains_words(&asked.numbers[..count], &mut of_words);
        for (form, answers) in [("batch", answers), ("batch of numbers", of_words)] {
            let differs = (0..count).find(|&i| answers[i] != single[i]);
            ensure!(
                differs.is_none(),
                "question {differs:?} of {count}: a {form} answers otherwise than a single call"
            );
            ensure!(answers[count..].iter().all(|answer| *answer), "a {form} of {count} has changed further answers");
        }
    }
    Ok(())
}

fn items_with_a_wrong_note_are_refused_and_change_nothing(subject: &Subject) -> Verdict {
    let own = subject.note_type();
    let notes = [
        (NoteType::None, Note::None),
        (NoteType::Integer, Note::Integer(1)),
        (NoteType::Bytes, Note::Bytes(b"rose")),
        (NoteType::Group, Note::Group(1)),
        (NoteType::Weight, Note::Weight(0.5)),
        (NoteType::Weights, Note::Weights(1.0, 0.5)),
        (NoteType::Amount, Note::Amount(1)),
    ];
    let mut filter = subject.filled(ITEMS, 0.01, 0..ITEMS / 2)?;
    for (of, wrong) in notes {
        // A key without note has the empty value where values are bytes, comes once where amounts are told, and can do without weights.
        let left_out = [NoteType::Bytes, NoteType::Amount, NoteType::Weight, NoteType::Weights];
        if of == own || of == NoteType::None && left_out.contains(&own) {
            continue;
        }
        let before = filter.to_bytes();
        let inserted = filter.insert().because("insert")?.insert(Item::new(b"12345678", wrong));
        refused(&format!("a note of type {}", of.name()), inserted, |error| matches!(error, Error::Item { .. }))?;
        unchanged(&format!("a refused note of type {}", of.name()), &before, &filter)?;

        // A batch stops at the bad item: what is before it is in, what is behind it is not.
        let (first, last) = (ITEMS.to_le_bytes(), (ITEMS + 1).to_le_bytes());
        let items = [
            Item::new(&first, subject.note(ITEMS)),
            Item::new(b"12345678", wrong),
            Item::new(&last, subject.note(ITEMS + 1)),
        ];
        let (mut batch, mut alone) = (filter.clone(), filter.clone());
        let inserted = batch.insert().because("insert")?.insert_batch(&items);
        refused("a batch with a wrong note", inserted, |error| matches!(error, Error::Item { .. }))?;
        subject.insert(&mut alone, ITEMS).because("inserting")?;
        unchanged("a batch that stops at a wrong note", &alone.to_bytes(), &batch)?;
    }
    Ok(())
}

/// A key that comes many times at once leaves a filter that says of it what it says after as many single insertions, and
/// so does a removal; coming zero times is no insertion.
fn an_amount_is_as_many_insertions(subject: &Subject) -> Verdict {
    if subject.note_type() != NoteType::Amount {
        return Ok(());
    }
    let (key, all) = (7u64.to_le_bytes(), probe(8));
    let item = |amount| Item::new(&key, Note::Amount(amount));
    for amount in [1, 2, 9, 100] {
        let (mut at_once, mut one_by_one) =
            (subject.empty(&subject.config(ITEMS, 0.01)?)?, subject.empty(&subject.config(ITEMS, 0.01)?)?);
        let fresh = at_once.insert().because("insert")?.insert(item(amount)).because("an amount")?;
        ensure!(fresh, "the first {amount} at once are reported as not new");
        for _ in 0..amount {
            subject.insert(&mut one_by_one, 7).because("inserting")?;
        }
        let [told, expected] = [&at_once, &one_by_one].map(|filter| filter.stats().items);
        ensure!(told == expected, "{amount} at once are told as {told} items, one by one as {expected}");
        alike(&format!("{amount} at once and one by one"), &at_once, &one_by_one, &all)?;
        if subject.can(Verb::Remove) {
            at_once.remove().because("remove")?.remove(item(amount)).because("removing an amount")?;
            alike(&format!("{amount} removed at once, and none"), &at_once, &subject.empty(&at_once.config())?, &all)?;
        }
    }
    let mut filter = subject.filled(ITEMS, 0.01, 0..ITEMS / 2)?;
    let before = filter.to_bytes();
    let inserted = filter.insert().because("insert")?.insert(item(0));
    refused("an amount of 0", inserted, |error| matches!(error, Error::Item { .. }))?;
    unchanged("a refused amount of 0", &before, &filter)
}

/// However large an amount is, even above what a counter can hold, the count says no less, or that it may be more. A kind may refuse
/// it, and then nothing has changed.
fn a_large_amount_is_counted_or_told(subject: &Subject) -> Verdict {
    if subject.note_type() != NoteType::Amount || subject.errs(ErrorClass::UnderCount) {
        return Ok(());
    }
    let key = 7u64.to_le_bytes();
    for amount in [1 << 16, (1 << 32) - 1, 1 << 32, 1 << 40, u64::MAX / 2, u64::MAX] {
        let mut filter = subject.empty(&subject.config(ITEMS, 0.01)?)?;
        for total in [amount, amount.saturating_mul(2)] {
            let before = filter.to_bytes();
            let item = Item::new(&key, Note::Amount(amount));
            if filter.insert().because("insert")?.insert(item).is_err() {
                unchanged("a refused amount", &before, &filter)?;
                break;
            }
            let Multiplicity { count, at_least } = filter.count().because("count")?.count(&key);
            ensure!(count >= total || at_least, "of {total} occurrences {count} are told as all");
        }
    }
    Ok(())
}

fn the_number_of_items_is_told(subject: &Subject) -> Verdict {
    let told = subject.filled(ITEMS, 0.01, 0..ITEMS)?.stats().items;
    // A structure may take a key that seems present for a duplicate: at rate 1 %, fewer than 1 % of them.
    ensure!((ITEMS * 98 / 100..=ITEMS).contains(&told), "{ITEMS} distinct items are told as {told}");
    let none = subject.empty(&subject.config(ITEMS, 0.01)?)?.stats().items;
    ensure!(none == 0, "an empty filter tells of {none} items");
    Ok(())
}

/// Whether removals leave everything else as it was; a kind may declare that they do not.
fn removes_cleanly(subject: &Subject) -> bool {
    ![ErrorClass::FalseNegative, ErrorClass::Undeletable, ErrorClass::Lingering]
        .iter()
        .any(|&class| subject.errs(class))
}

/// Removes a present key; `false` when that is refused in a way that the kind declares.
fn removed(subject: &Subject, filter: &mut AnyFilter, number: u64) -> Result<bool, String> {
    match subject.remove(filter, number) {
        Err(Error::Ambiguous { .. }) if subject.errs(ErrorClass::Undeletable) => Ok(false),
        Err(Error::NotPresent) if subject.errs(ErrorClass::FalseNegative) => Ok(false),
        result => result.map(|()| true).because("removing a present key"),
    }
}

fn removing_undoes_inserting(subject: &Subject) -> Verdict {
    let mut before = subject.filled(ITEMS, 0.01, 0..ITEMS - 50)?;
    let mut filter = before.clone();
    for number in ITEMS - 50..ITEMS {
        subject.insert(&mut filter, number).because("inserting")?;
    }
    let mut stuck = Vec::new();
    for number in ITEMS - 50..ITEMS {
        if !removed(subject, &mut filter, number)? {
            stuck.push(number);
        }
    }
    ensure!(stuck.len() < 25, "{} of 50 keys cannot be removed", stuck.len());
    let (items, now) = (before.stats().items, filter.stats().items - stuck.len() as u64);
    if removes_cleanly(subject) {
        for number in stuck {
            subject.insert(&mut before, number).because("inserting")?;
        }
        alike("before inserting and after removing 50 keys", &before, &filter, &probe(ITEMS))?;
    }
    ensure!(items == now, "items: {items} before inserting and {now} after removing 50 keys");
    Ok(())
}

fn removed_keys_vanish_and_others_stay(subject: &Subject) -> Verdict {
    let mut filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    let (mut gone, mut stay) = (Vec::new(), (ITEMS / 2..ITEMS).collect::<Vec<_>>());
    for number in 0..ITEMS / 2 {
        if removed(subject, &mut filter, number)? { gone.push(number) } else { stay.push(number) }
    }
    ensure!(gone.len() as u64 > ITEMS / 4, "only {} of {} keys can be removed", gone.len(), ITEMS / 2);
    let (gone, stay) = (Keys::new(gone), Keys::new(stay));
    if !subject.errs(ErrorClass::FalseNegative) {
        let (left, all) = (found_count(&filter, &stay)?, stay.numbers.len() as u64);
        ensure!(left == all, "{} keys vanished with others", all - left);
    }
    if subject.errs(ErrorClass::Lingering) {
        return Ok(()); // That has a law of its own.
    }
    let seeming = found_count(&filter, &gone)? as f64 / gone.numbers.len() as f64;
    let rate = filter.expected(ITEMS / 2).false_positive.unwrap_or(0.0);
    let bound = rate + 5.0 * (rate / gone.numbers.len() as f64).sqrt();
    ensure!(seeming <= bound, "removed keys that seem present: {seeming}, expected {rate} (at most {bound})");
    Ok(())
}

/// A removal that only counts its key changes no answer, and as many keys can be removed as were inserted.
fn removed_keys_linger_where_that_is_declared(subject: &Subject) -> Verdict {
    if !subject.errs(ErrorClass::Lingering) {
        return Ok(());
    }
    let before = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    let mut filter = before.clone();
    for number in 0..ITEMS {
        subject.remove(&mut filter, number).because("removing a present key")?;
        let left = filter.stats().items;
        ensure!(left == ITEMS - number - 1, "{left} items are left after {} of {ITEMS} were removed", number + 1);
    }
    alike("before and after removals that linger", &before, &filter, &probe(ITEMS))?;
    refused("removing a key once more", subject.remove(&mut filter, 0), |error| matches!(error, Error::NotPresent))
}

fn removing_an_absent_key_is_refused_and_changes_nothing(subject: &Subject) -> Verdict {
    let mut filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    let absent = Keys::absent(300);
    for (&number, seems) in absent.numbers.iter().zip(found(&filter, &absent)?) {
        if seems {
            continue;
        }
        let before = filter.to_bytes();
        let removed = subject.remove(&mut filter, number);
        refused("removing an absent key", removed, |error| matches!(error, Error::NotPresent))?;
        unchanged("removing an absent key", &before, &filter)?;
    }
    Ok(())
}

/// Removing what was never inserted may make present keys vanish: no filter can tell a false positive from a key. But it is
/// answered, a refusal changes nothing, and what is left is a filter: it can be saved, read, emptied and used again.
fn wrong_removals_leave_a_filter_that_works(subject: &Subject) -> Verdict {
    // At this rate thousands of strangers seem present.
    let mut filter = subject.filled(ITEMS, 0.3, 0..ITEMS)?;
    // Keys that never came, all that did, and all of them once more.
    for numbers in [ABSENT..ABSENT + 10 * ITEMS, 0..ITEMS, 0..ITEMS] {
        for number in numbers {
            let before = number.is_multiple_of(16).then(|| filter.to_bytes());
            match (subject.remove(&mut filter, number), before) {
                (Ok(()) | Err(Error::NotPresent | Error::Ambiguous { .. }), None) | (Ok(()), Some(_)) => {}
                (Err(Error::NotPresent | Error::Ambiguous { .. }), Some(before)) => {
                    only_refused(subject, "a refused removal", &before, &filter, &probe(ITEMS))?;
                }
                (Err(error), _) => return Err(format!("removing key {number}: {error}")),
            }
            ensure!(filter.stats().items <= ITEMS, "{} items are left of {ITEMS}", filter.stats().items);
        }
        let frame = filter.to_bytes();
        let again = subject.reopen(&frame).because("reading the frame after wrong removals")?;
        unchanged("the frame after wrong removals", &frame, &again)?;
    }
    for number in ITEMS..ITEMS + ITEMS / 2 {
        subject.insert(&mut filter, number).because("inserting after wrong removals")?;
        if subject.can(Verb::Contains) && !subject.errs(ErrorClass::FalseNegative) {
            let contained = filter.contains().because("contains")?.contains(&number.to_le_bytes());
            ensure!(contained, "key {number}, inserted after wrong removals, is not found");
        }
    }
    Ok(())
}

/// Counters at their end, buckets full of one key: whatever happens then, other keys stay, and the count says "at least".
fn a_key_that_comes_thousands_of_times_harms_no_other(subject: &Subject) -> Verdict {
    if !subject.takes_bare_keys() {
        return Ok(()); // A pair that comes again is the pair.
    }
    let mut filter = subject.filled(ITEMS, 0.01, 0..ITEMS / 2)?;
    let (others, often) = (Keys::new(0..ITEMS / 2), ITEMS);
    let mut times = 0;
    for _ in 0..5_000 {
        match subject.insert(&mut filter, often) {
            Ok(_) => times += 1,
            Err(Error::Full { .. }) => break,
            Err(error) => return Err(format!("inserting a key for the {times}th time: {error}")),
        }
    }
    let all_there = |filter: &AnyFilter, when: &str| -> Verdict {
        let lost = subject.errs(ErrorClass::FalseNegative);
        let found = found_count(filter, &others)?;
        ensure!(lost || found == ITEMS / 2, "{} keys are lost {when}", ITEMS / 2 - found);
        Ok(())
    };
    all_there(&filter, "beside a key that comes thousands of times")?;
    if subject.can(Verb::Count) && !subject.errs(ErrorClass::UnderCount) {
        let told = filter.count().because("count")?.count(&often.to_le_bytes());
        ensure!(told.count >= times || told.at_least, "inserted {times} times, counted {told:?}");
    }
    if subject.can(Verb::Remove) {
        // Where a key is in or not, all of its insertions are one.
        let times = if subject.is_set_of_pairs()? { times.min(1) } else { times };
        for left in (0..times).rev() {
            removed(subject, &mut filter, often).map_err(|why| format!("{why}, {left} more times in"))?;
        }
        all_there(&filter, "when a key that came thousands of times has left")?;
    }
    Ok(())
}

fn counts_are_at_least_the_insertions(subject: &Subject) -> Verdict {
    // Where a key is in its set or not, it does not come again.
    if subject.errs(ErrorClass::UnderCount) || subject.is_set_of_pairs()? {
        return Ok(());
    }
    for seed in 0..5 {
        let mut random = SplitMix::new(seed);
        let mut times: Vec<u64> = (0..ITEMS / 2).map(|_| 1 + random.below(4)).collect();
        // Each key comes four times at most, and copies may need as much room as keys.
        let mut filter = subject.empty(&subject.config(2 * ITEMS, 0.01)?)?;
        let (mut came, mut refused) = (0, 0);
        for round in 0..4 {
            for (number, times) in (0..).zip(&mut times).filter(|(_, times)| round < **times) {
                match subject.insert(&mut filter, number) {
                    // Copies crowd in the few buckets of their key, and a full filter says so: the key is in as often as it was taken.
                    Err(Error::Full { .. }) if round > 0 => {
                        *times = round;
                        refused += 1;
                    }
                    inserted => drop(inserted.because("inserting a key again")?),
                }
                came += 1;
            }
        }
        ensure!(100 * refused <= came, "{refused} of {came} copies were refused in a filter with room for all");
        at_least(&filter, &times)?;
        if subject.can(Verb::Remove) {
            for number in 0..ITEMS / 2 {
                subject.remove(&mut filter, number).because("removing one of several")?;
            }
            at_least(&filter, &times.iter().map(|times| times - 1).collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

fn at_least(filter: &AnyFilter, times: &[u64]) -> Verdict {
    let count = filter.count().because("count")?;
    let exact = !filter.errs(ErrorClass::OverCount) && !filter.errs(ErrorClass::FalsePositive);
    for (number, &times) in (0u64..).zip(times) {
        let told = count.count(&number.to_le_bytes());
        ensure!(told.count >= times || told.at_least, "key {number} is in {times} times, counted {told:?}");
        ensure!(told.count <= times || !exact, "key {number} is in {times} times, counted {told:?}");
    }
    Ok(())
}

fn only_absent_keys_count_zero(subject: &Subject) -> Verdict {
    let filter = subject.filled(ITEMS, 0.1, 0..ITEMS)?;
    let keys = probe(ITEMS);
    for (number, seen) in keys.numbers.iter().zip(observe(&filter, &keys)?) {
        let counted = seen.count.is_some_and(|count| count.count > 0);
        ensure!(seen.contains == Some(counted), "key {number}: {seen:?}");
    }
    Ok(())
}

fn advancing_twice_is_advancing_by_the_sum(subject: &Subject) -> Verdict {
    let filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    for (first, second) in [(0, 0), (0, 5), (1, 1), (3, 17), (100, 1_000)] {
        let (mut twice, mut once) = (filter.clone(), filter.clone());
        for ticks in [first, second] {
            twice.advance().because("advance")?.advance(ticks);
        }
        once.advance().because("advance")?.advance(first + second);
        unchanged(&format!("advancing by {first} and {second}, or by their sum"), &once.to_bytes(), &twice)?;
    }
    let mut still = filter.clone();
    still.advance().because("advance")?.advance(0);
    unchanged("advancing by nothing", &filter.to_bytes(), &still)
}

fn growing_raises_the_capacity_and_changes_no_answer(subject: &Subject) -> Verdict {
    let before = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    let mut filter = before.clone();
    for _ in 0..3 {
        let capacity = filter.grow().because("grow")?.capacity();
        filter.grow().because("grow")?.grow().because("growing")?;
        let more = filter.grow().because("grow")?.capacity();
        ensure!(more > capacity, "growing changed the capacity from {capacity} to {more}");
        alike("before and after growing", &before, &filter, &probe(ITEMS))?;
    }
    if subject.can(Verb::Insert) {
        for number in ITEMS..2 * ITEMS {
            subject.insert(&mut filter, number).because("inserting after growing")?;
        }
        if subject.can(Verb::Contains) && !subject.errs(ErrorClass::FalseNegative) {
            let found = found_count(&filter, &Keys::new(0..2 * ITEMS))?;
            ensure!(found == 2 * ITEMS, "{} keys are lost after growing", 2 * ITEMS - found);
        }
    }
    Ok(())
}
