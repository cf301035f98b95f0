//! Keyed hashing is a mode of every kind: the frame needs its secret and never tells it.

use bouquet::hash::{Hashing, Secret, SplitMix};
use bouquet::kind::{Config, ErrorClass, Stats, Verb};
use bouquet::{AnyFilter, Error, OpenOptions};

use crate::subject::{ABSENT, Because, Keys, Subject, Verdict, alike, found_count, observe, probe, refused, unchanged};

laws! {
    keyed_frames_need_their_secret needs [];
    keyed_frames_never_contain_their_secret needs [];
    keyed_filters_find_their_keys_and_reopen_beyond_the_planned_load needs [];
    another_secret_gives_other_false_positives needs [Contains];
}

const ITEMS: u64 = 1_000;

/// A secret whose bytes are not met by chance.
fn secret(number: u64) -> Result<Secret, String> {
    let mut random = SplitMix::new(number);
    let bytes: Vec<u8> = (0..4).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    Secret::new(&bytes).because("a secret")
}

fn modes(subject: &Subject, fpr: f64) -> Result<[Config; 2], String> {
    let config = subject.config(ITEMS, fpr)?;
    Ok([Hashing::keyed(secret(1)?), Hashing::keyed_high(secret(1)?)].map(|hashing| config.clone().hashed(hashing)))
}

fn with_secret(subject: &Subject, number: u64) -> Result<OpenOptions, String> {
    Ok(OpenOptions { secret: Some(secret(number)?), ..subject.options() })
}

fn keyed_frames_need_their_secret(subject: &Subject) -> Verdict {
    for config in modes(subject, 0.01)? {
        let filter = subject.build(&config, &Keys::new(0..ITEMS))?;
        let frame = filter.to_bytes();
        let wants_secret = |error: &Error| matches!(error, Error::Secret { .. });
        refused("a keyed frame without secret", subject.reopen(&frame), wants_secret)?;
        let wrong = AnyFilter::from_bytes_with(&frame, &with_secret(subject, 2)?);
        refused("a keyed frame with another secret", wrong, wants_secret)?;

        let again = AnyFilter::from_bytes_with(&frame, &with_secret(subject, 1)?).because("with its secret")?;
        unchanged("a keyed frame, read and written again", &frame, &again)?;
        alike("keyed, before and after a frame", &filter, &again, &probe(ITEMS))?;

        let locked = OpenOptions { allow_locked: true, ..subject.options() };
        let mut locked = AnyFilter::from_bytes_with(&frame, &locked).because("locked")?;
        // What cannot be known without the secret is left out, not guessed.
        let (open, seen) = (filter.stats(), locked.stats());
        let without_rate = Stats { fpr: None, ..open };
        ensure!(seen == open || seen == without_rate, "locked it tells {seen:?}, open {open:?}");
        unchanged("a locked filter", &frame, &locked)?;
        if subject.can(Verb::Contains) {
            refused("asking a locked filter", locked.contains().map(drop), wants_secret)?;
        }
        if subject.can(Verb::Insert) {
            refused("inserting into a locked filter", locked.insert().map(drop), wants_secret)?;
        }
    }
    Ok(())
}

fn keyed_frames_never_contain_their_secret(subject: &Subject) -> Verdict {
    let secret = secret(1)?;
    for config in modes(subject, 0.01)? {
        let filter = subject.build(&config, &Keys::new(0..ITEMS))?;
        let compressed = if subject.can(Verb::Compress) { filter.to_compressed_bytes() } else { Vec::new() };
        for frame in [filter.to_bytes(), compressed] {
            for part in secret.expose().windows(6) {
                ensure!(!frame.windows(6).any(|window| window == part), "six bytes of the secret are in the frame");
            }
        }
        let printed = format!("{filter:?} {:?} {:?}", filter.config(), filter.hashing());
        let hex: String = secret.expose()[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        ensure!(!printed.contains(&hex), "the secret is printed");
    }
    Ok(())
}

fn keyed_filters_find_their_keys_and_reopen_beyond_the_planned_load(subject: &Subject) -> Verdict {
    for config in modes(subject, 0.01)? {
        for load in [0, ITEMS, ITEMS * 3 / 2] {
            let keys = Keys::new(0..load);
            let filter = match subject.try_build(&config, &keys) {
                Ok(filter) => filter,
                Err(Error::Full { .. } | Error::Build { .. }) if load > ITEMS => continue,
                Err(error) => return Err(format!("{load} items in a keyed filter: {error}")),
            };
            // An honest filter is not taken for a forged one.
            let again = AnyFilter::from_bytes_with(&filter.to_bytes(), &with_secret(subject, 1)?)
                .because(&format!("reopening a keyed filter with {load} of {ITEMS} items"))?;
            if subject.can(Verb::Contains) && !subject.errs(ErrorClass::FalseNegative) {
                let found = found_count(&again, &keys)?;
                ensure!(found == load, "{} of {load} keys are not found", load - found);
            }
        }
    }
    Ok(())
}

fn another_secret_gives_other_false_positives(subject: &Subject) -> Verdict {
    if !subject.errs(ErrorClass::FalsePositive) {
        return Ok(());
    }
    let config = subject.config(ITEMS, 0.1)?;
    // A kind whose rate is a bound may stay far below it until more keys come.
    let empty = subject.empty(&config)?;
    let enough = |load: &u64| empty.expected(*load).false_positive.is_none_or(|rate| rate >= 0.001);
    let load = [1, 4, 16, 64].map(|times| times * ITEMS).into_iter().find(enough).unwrap_or(ITEMS);
    let (keys, absent) = (Keys::new(0..load), Keys::absent(20_000));
    // A filter that has to reject only known strangers may say yes to everyone else: it gets some.
    let strangers = Keys::new(ABSENT + 20_000..ABSENT + 20_064);
    let mut seen = Vec::new();
    for number in [1, 2] {
        for hashing in [Hashing::keyed(secret(number)?), Hashing::keyed_high(secret(number)?)] {
            let config = config.clone().hashed(hashing);
            seen.push(observe(&subject.build_knowing(&config, &keys, &strangers)?, &absent)?);
        }
    }
    for (i, a) in seen.iter().enumerate() {
        ensure!(a.iter().any(|seen| seen.contains == Some(true)), "no false positive among 20,000 with {load} keys");
        for b in &seen[..i] {
            ensure!(a != b, "two secrets or functions give the same answers");
        }
    }
    Ok(())
}
