//! What a constructor accepts works: random settings within the ranges of the schema, and random operations on what a frame gives.
//!
//! Every seed is fixed. Filters are small: what a plan says it takes is asked first.

use bouquet::AnyFilter;
use bouquet::hash::SplitMix;
use bouquet::kind::{Config, Parameter, ParameterType, Setting, Verb};

use crate::parameters::{describe, is_clear};
use crate::size::takes_what_is_planned;
use crate::subject::{ABSENT, Because, Keys, Subject, Verdict, found, observe, unchanged};

laws! {
    whatever_is_accepted_has_a_frame_that_opens needs [] with usual_settings;
    every_verb_leaves_a_frame_that_opens needs [] with usual_settings;
}

/// Settings that are tried, and those of them that give a filter; a kind that takes fewer would hardly be under test.
const TRIED: u64 = 200;
const LEAST_ACCEPTED: u64 = 30;

/// Filters of up to so many bits are made.
const MOST_BITS: u64 = 1 << 17;

/// A whole number of any size in the range, or a small, a round or a usual one.
fn random_count(random: &mut SplitMix, min: u64, max: u64, default: Option<u64>) -> u64 {
    let above = max - min;
    let value = match random.below(4) {
        0 => min + random.below(above.min(8) + 1),
        1 => min + (random.unit() * (above as f64 + 1.0).ln()).exp_m1() as u64,
        2 => 1 << random.below(20),
        _ => default.unwrap_or(min.max(16)).saturating_add(random.below(5)).saturating_sub(2),
    };
    value.clamp(min, max)
}

/// A number anywhere in the range, near its lower end or near the default.
fn random_real(random: &mut SplitMix, above: f64, below: f64, default: Option<f64>) -> f64 {
    let unit = random.unit();
    match (random.below(3), default) {
        (0, _) => above + (below - above) * unit,
        (1, _) | (_, None) => above + (below - above) * 10f64.powf(-6.0 * unit),
        (_, Some(usual)) => usual * (0.5 + unit),
    }
}

fn random_setting(random: &mut SplitMix, parameter: &Parameter) -> Setting {
    match parameter.of {
        ParameterType::Count { .. } if parameter.name == "items" => {
            Setting::Count(1 + (random.unit() * 2_000f64.ln()).exp() as u64)
        }
        ParameterType::Count { min, max, default } => Setting::Count(random_count(random, min, max, default)),
        ParameterType::Real { above, below, default } => Setting::Real(random_real(random, above, below, default)),
        ParameterType::Choice { options } => Setting::Choice(options[random.below(options.len() as u64) as usize]),
        ParameterType::Flag => Setting::Flag(random.below(2) == 1),
    }
}

/// Random settings: items nearly always, of the others some.
fn random_config(subject: &Subject, random: &mut SplitMix) -> Config {
    let mut config = Config::new(subject.facts());
    for parameter in subject.facts().parameters {
        let chance = if parameter.name == "items" { 0.9 } else { 0.3 };
        if random.unit() < chance {
            let setting = random_setting(random, parameter);
            // A number beside the end of its range is left out.
            config = config.clone().with(parameter.name, setting).unwrap_or(config);
        }
    }
    config
}

/// The frame of a filter opens, and is the same when it is written again; the compressed one too.
fn opens(subject: &Subject, what: &str, filter: &AnyFilter) -> Result<AnyFilter, String> {
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

/// Filters of random settings, empty and with a few keys, of up to `most` settings that are accepted; `check` gets both.
fn of_random_settings(
    subject: &Subject,
    seed: u64,
    most: u64,
    mut check: impl FnMut(&str, &Config, &AnyFilter) -> Verdict,
) -> Verdict {
    let mut random = SplitMix::new(seed);
    let mut accepted = 0;
    for _ in 0..TRIED {
        let config = random_config(subject, &mut random);
        let what = describe(&config);
        let plan = match subject.kind.plan(&config) {
            Ok(plan) if plan.bits > MOST_BITS => continue,
            Ok(plan) => plan,
            Err(error) => {
                ensure!(is_clear(subject, &error), "{what}: refused without naming a parameter: {error:?}");
                continue;
            }
        };
        match AnyFilter::new_of_kind(subject.kind, &config) {
            Ok(empty) => {
                takes_what_is_planned(subject, &config, &plan, &empty).map_err(|why| format!("{what}: {why}"))?;
                check(&what, &config, &empty)?;
            }
            Err(error) => {
                ensure!(is_clear(subject, &error), "{what}: refused without naming a parameter: {error:?}");
                continue;
            }
        }
        accepted += 1;
        if accepted > most {
            return Ok(());
        }
        let keys = Keys::new(0..plan.items.unwrap_or(20).min(20));
        if let Ok(filled) = subject.try_build(&config, &keys) {
            check(&format!("{what}, with {} keys", keys.numbers.len()), &config, &filled)?;
        }
    }
    ensure!(accepted >= LEAST_ACCEPTED, "only {accepted} of {TRIED} random settings are accepted");
    Ok(())
}

fn whatever_is_accepted_has_a_frame_that_opens(subject: &Subject) -> Verdict {
    of_random_settings(subject, 1, TRIED, |what, config, filter| {
        let again = opens(subject, what, filter)?;
        ensure!(again.config() == filter.config(), "{what}: {:?} became {:?}", filter.config(), again.config());
        ensure!(filter.config().hashing() == filter.hashing(), "{what}: two hashings, asked {:?}", config.hashing());
        Ok(())
    })
}

/// Settings that operations are tried with, and operations on each of their filters.
const WORKED_ON: u64 = 30;
const OPERATIONS: usize = 10;

fn every_verb_leaves_a_frame_that_opens(subject: &Subject) -> Verdict {
    let mut random = SplitMix::new(3);
    of_random_settings(subject, 2, WORKED_ON, |what, config, filter| {
        let mut filter = subject.reopen(&filter.to_bytes()).because(what)?;
        let mut done = Vec::new();
        for _ in 0..OPERATIONS {
            let changes: Vec<_> = CHANGES.iter().copied().filter(|&verb| filter.can(verb)).collect();
            if changes.is_empty() {
                break;
            }
            let verb = changes[random.below(changes.len() as u64) as usize];
            let outcome = change(subject, config, &mut filter, verb, &mut random)?;
            done.push(format!("{}{}", verb.name(), if outcome { "" } else { " (refused)" }));
            let what = format!("{what}, after {}", done.join(", "));
            filter = opens(subject, &what, &filter)?;
        }
        questions(&filter)
    })
}

/// The verbs that change a filter.
const CHANGES: [Verb; 6] = [Verb::Insert, Verb::Remove, Verb::Advance, Verb::Grow, Verb::Merge, Verb::Intersect];

/// Applies a verb to a random operand and says whether it was accepted.
fn change(
    subject: &Subject,
    config: &Config,
    filter: &mut AnyFilter,
    verb: Verb,
    random: &mut SplitMix,
) -> Result<bool, String> {
    let keys = Keys::new((0..1 + random.below(8)).map(|_| random.below(40)).collect::<Vec<_>>());
    let items = subject.items(config, &keys);
    let other = || {
        subject.try_build(config, &Keys::new(keys.numbers.iter().copied().collect::<std::collections::BTreeSet<_>>()))
    };
    let outcome = match verb {
        Verb::Insert => filter.insert().and_then(|insert| insert.insert_batch(&items)).map(drop),
        Verb::Remove => items.iter().try_for_each(|item| filter.remove()?.remove(*item)),
        Verb::Advance => {
            let ticks = [0, 1, 7, 1_000, 1 << 40, u64::MAX][random.below(6) as usize];
            filter.advance().map(|advance| advance.advance(ticks))
        }
        // What doubles with every growth is large soon.
        Verb::Grow if filter.stats().bits > 8 * MOST_BITS => Ok(()),
        Verb::Grow => filter.grow().and_then(|grow| grow.grow()),
        Verb::Merge => other().and_then(|other| filter.merge(&other)),
        Verb::Intersect => other().and_then(|other| filter.intersect(&other)),
        _ => return Err(format!("`{}` changes nothing", verb.name())),
    };
    Ok(outcome.is_ok())
}

/// Every question is answered.
fn questions(filter: &AnyFilter) -> Verdict {
    let keys = Keys::new((0..40).chain(ABSENT..ABSENT + 40));
    observe(filter, &keys)?;
    if filter.can(Verb::Contains) {
        found(filter, &keys)?;
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
    if filter.can(Verb::Cardinality) {
        filter.cardinality().because("cardinality")?;
        filter.overlap(filter).because("overlap")?;
    }
    Ok(())
}
