//! What a constructor accepts works: random settings within the ranges of the schema, and random operations on what a frame gives.
//!
//! Every seed is fixed. Filters are small: what a plan says it takes is asked first.

use std::collections::BTreeSet;

use bouquet::AnyFilter;
use bouquet::hash::SplitMix;
use bouquet::kind::{Config, Parameter, ParameterType, Setting};

use crate::every_verb::{Change, every_question_is_answered, opens, random_keys};
use crate::parameters::{describe, is_clear};
use crate::size::takes_what_is_planned;
use crate::subject::{Because, Keys, Subject, Verdict};

laws! {
    whatever_is_accepted_has_a_frame_that_opens needs [] with usual_settings;
    every_verb_leaves_a_frame_that_opens needs [] with usual_settings;
}

/// Settings that are tried, and those of them that give a filter; a kind that takes fewer would hardly be under test.
const TRIED: u64 = 200;
const LEAST_ACCEPTED: u64 = 30;

/// Filters of up to this many bits are made.
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
            let changes = Change::all(&filter);
            if changes.is_empty() {
                break;
            }
            let change = changes[random.below(changes.len() as u64) as usize];
            let keys = random_keys(&mut random);
            // What is built once has each key once.
            let distinct = Keys::new(keys.numbers.iter().copied().collect::<BTreeSet<_>>());
            let other = || subject.try_build(config, &distinct);
            let outcome = change.apply(subject, &mut filter, &subject.items(config, &keys), other, &mut random);
            done.push(format!("{}{}", change.name(), if outcome.is_ok() { "" } else { " (refused)" }));
            filter = opens(subject, &format!("{what}, after {}", done.join(", ")), &filter)?;
        }
        every_question_is_answered(subject, &filter)
    })
}
