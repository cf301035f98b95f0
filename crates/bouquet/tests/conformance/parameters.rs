//! Bad parameters are refused with a message that names the parameter, good ones are kept.

use bouquet::kind::{Config, ErrorClass, Parameter, ParameterType, Setting, Verb};
use bouquet::{AnyFilter, Error};

use crate::subject::{Because, Keys, Subject, Verdict, alike, found_count, probe, refused};

laws! {
    settings_out_of_range_are_refused_by_name needs [];
    settings_of_another_type_are_refused_by_name needs [];
    unknown_parameters_are_refused_by_name needs [];
    every_word_of_a_choice_works_or_is_refused_by_name needs [];
    the_ends_of_every_range_work_or_are_refused needs [];
    sizes_beyond_memory_are_refused needs [];
    a_filter_without_settings_works_or_asks_for_one needs [];
    settings_survive_in_the_filter needs [];
}

const ITEMS: u64 = 200;

/// Texts that are no value of the parameter.
fn bad_texts(parameter: &Parameter) -> Vec<String> {
    let mut bad: Vec<String> = ["", " ", "rose", "NaN", "-1", "1e999", "0x", "--"].map(String::from).to_vec();
    match parameter.of {
        ParameterType::Count { min, max, .. } => {
            bad.extend(["1.5", "inf", "18446744073709551616", "-0.5"].map(String::from));
            bad.extend(min.checked_sub(1).map(|below| below.to_string()));
            bad.extend(max.checked_add(1).map(|above| above.to_string()));
        }
        ParameterType::Real { above, below, .. } => {
            bad.extend([above, below, above - 1.0, below + 1.0].map(|value| value.to_string()));
            bad.extend(["inf", "-inf"].map(String::from));
            bad.retain(|text| text.parse::<f64>().map_or(true, |value| !(value > above && value < below)));
        }
        ParameterType::Choice { options } => {
            bad.extend(options.iter().map(|option| option.to_uppercase()));
            bad.retain(|text| !options.contains(&text.as_str()));
        }
        ParameterType::Flag => bad.extend(["2", "maybe"].map(String::from)),
    }
    bad
}

/// The error is about this parameter, and its message says so.
fn names(error: &Error, parameter: &str) -> bool {
    matches!(error, Error::Parameter { name, expected, .. } if name == parameter && !expected.is_empty())
        && error.to_string().contains(parameter)
}

/// The error tells which parameter to change, or that the filter is too large. Items may not fit the settings; then
/// the message names the setting.
pub fn is_clear(subject: &Subject, error: &Error) -> bool {
    match error {
        Error::Parameter { name, .. } => subject.has_parameter(name),
        Error::TooLarge { .. } => true,
        Error::Item { .. } | Error::Full { .. } | Error::Build { .. } => {
            let message = error.to_string();
            let mut words = message.split(|c: char| !c.is_alphanumeric() && c != '-');
            words.any(|word| subject.has_parameter(word))
        }
        _ => false,
    }
}

fn settings_out_of_range_are_refused_by_name(subject: &Subject) -> Verdict {
    for parameter in subject.facts().parameters {
        for bad in bad_texts(parameter) {
            let set = Config::new(subject.facts()).set(parameter.name, &bad);
            refused(&format!("`{}` = `{bad}`", parameter.name), set, |error| names(error, parameter.name))?;
        }
    }
    Ok(())
}

fn settings_of_another_type_are_refused_by_name(subject: &Subject) -> Verdict {
    for parameter in subject.facts().parameters {
        let mut bad = vec![Setting::Real(f64::NAN), Setting::Real(f64::INFINITY), Setting::Choice("rose")];
        match parameter.of {
            ParameterType::Count { .. } => bad.extend([Setting::Real(1.0), Setting::Flag(true)]),
            ParameterType::Real { .. } => bad.extend([Setting::Count(1), Setting::Flag(true)]),
            ParameterType::Choice { .. } => bad.extend([Setting::Count(1), Setting::Flag(true)]),
            ParameterType::Flag => bad.extend([Setting::Count(1), Setting::Real(1.0)]),
        }
        for setting in bad {
            let set = Config::new(subject.facts()).with(parameter.name, setting);
            refused(&format!("`{}` = {setting:?}", parameter.name), set, |error| names(error, parameter.name))?;
        }
    }
    Ok(())
}

fn unknown_parameters_are_refused_by_name(subject: &Subject) -> Verdict {
    let known_names = |error: &Error| match error {
        Error::UnknownParameter { kind, name, known } => {
            kind == subject.facts().id
                && name == "petals"
                && subject.facts().parameters.iter().all(|parameter| known.contains(parameter.name))
        }
        _ => false,
    };
    refused("`petals` = 5", Config::new(subject.facts()).set("petals", "5"), known_names)?;
    refused("`petals` = 5", Config::new(subject.facts()).with("petals", Setting::Count(5)), known_names)
}

/// A filter of these settings works: it finds its keys, and its frame gives it back.
fn works(subject: &Subject, what: &str, config: &Config) -> Verdict {
    let keys = Keys::new(0..ITEMS);
    match subject.try_build(config, &keys) {
        Ok(filter) => sound(subject, what, &filter, &keys),
        Err(error) if is_clear(subject, &error) => Ok(()),
        Err(error) => Err(format!("{what}: refused without naming a parameter: {error:?}")),
    }
}

fn sound(subject: &Subject, what: &str, filter: &AnyFilter, keys: &Keys) -> Verdict {
    if subject.can(Verb::Contains) && !subject.errs(ErrorClass::FalseNegative) {
        let (found, all) = (found_count(filter, keys)?, keys.numbers.len() as u64);
        ensure!(found == all, "{what}: {} of {all} keys are not found", all - found);
    }
    let again = subject.reopen(&filter.to_bytes()).because(&format!("{what}: reading the frame"))?;
    alike(&format!("{what}: before and after a frame"), filter, &again, &probe(ITEMS))
}

/// Every combination of words, for up to this many; beyond that, each word with the defaults of the others.
const COMBINATIONS: usize = 100;

fn every_word_of_a_choice_works_or_is_refused_by_name(subject: &Subject) -> Verdict {
    let choices: Vec<(&str, &[&str])> = (subject.facts().parameters.iter())
        .filter_map(|parameter| match parameter.of {
            ParameterType::Choice { options } => Some((parameter.name, options)),
            ParameterType::Flag => Some((parameter.name, ["no", "yes"].as_slice())),
            _ => None,
        })
        .collect();
    let combinations = choices.iter().map(|(_, options)| options.len()).product::<usize>();
    let usual = subject.config(ITEMS, 0.01)?;
    let mut configs = vec![usual.clone()];
    for (name, options) in &choices {
        let bases = if combinations <= COMBINATIONS { std::mem::take(&mut configs) } else { vec![usual.clone()] };
        for (base, option) in bases.iter().flat_map(|base| options.iter().map(move |option| (base, option))) {
            configs.push(base.clone().set(name, option).because("a word of the schema")?);
        }
    }
    for config in &configs {
        works(subject, &describe(config), config)?;
        // Words that want a size of a certain form get a power of two.
        if subject.has_parameter("bits") && subject.has_parameter("hashes") {
            let sized = config.clone().set("bits", "8192").and_then(|config| config.set("hashes", "4"));
            if let Ok(sized) = sized {
                works(subject, &describe(&sized), &sized)?;
            }
        }
    }
    // No word is a dead one.
    for (name, options) in &choices {
        for option in *options {
            let lives = |config: &&Config| {
                let chosen = config.choice(name) == *option || config.flag(name) == (*option == "yes");
                chosen && subject.try_build(config, &Keys::new(0..ITEMS)).is_ok()
            };
            let sized = |config: &Config| config.clone().set("bits", "8192").and_then(|c| c.set("hashes", "4")).ok();
            let alive = configs.iter().any(|config| lives(&config) || sized(config).is_some_and(|c| lives(&&c)));
            ensure!(alive, "no filter can be built with `{name}` = `{option}`");
        }
    }
    Ok(())
}

pub fn describe(config: &Config) -> String {
    config
        .settings()
        .map(|(parameter, setting)| format!("{} = {setting}", parameter.name))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Filters of up to this many bits are made; the plan of larger ones is enough.
const AFFORDABLE_BITS: u64 = 1 << 25;

/// No machine has this many bits, so they must be refused.
const ABSURD_BITS: u64 = 1 << 50;

fn the_ends_of_every_range_work_or_are_refused(subject: &Subject) -> Verdict {
    let usual = subject.config(ITEMS, 0.01)?;
    for parameter in subject.facts().parameters {
        let ends = match parameter.of {
            ParameterType::Count { min, max, .. } => vec![Setting::Count(min), Setting::Count(max)],
            ParameterType::Real { above, below, .. } => {
                vec![
                    Setting::Real(above.next_up()),
                    Setting::Real(above + (below - above) * 1e-6),
                    Setting::Real(below.next_down()),
                ]
            }
            _ => continue,
        };
        for end in ends {
            let what = format!("`{}` = {end}", parameter.name);
            let config = usual.clone().with(parameter.name, end).because(&what)?;
            match subject.kind.plan(&config) {
                Ok(plan) if plan.bits <= AFFORDABLE_BITS => works(subject, &what, &config)?,
                Ok(plan) if plan.bits < ABSURD_BITS => {}
                Ok(_) => refused(&what, subject.empty_or_error(&config), |error| is_clear(subject, error))?,
                Err(error) => ensure!(is_clear(subject, &error), "{what}: {error:?}"),
            }
        }
    }
    Ok(())
}

fn sizes_beyond_memory_are_refused(subject: &Subject) -> Verdict {
    for name in ["items", "bits", "cells", "counters", "capacity"] {
        let Some(parameter) = subject.facts().parameters.iter().find(|parameter| parameter.name == name) else {
            continue;
        };
        let ParameterType::Count { max, .. } = parameter.of else { continue };
        let mut config = subject.config(ITEMS, 0.000_1)?.with(name, Setting::Count(max)).because("the largest")?;
        if name != "items" && subject.has_parameter("hashes") {
            config = config.set("hashes", "4").because("a usual setting is refused")?;
        }
        // What grows may begin small whatever it is planned for; what is built once is as large as its data set.
        if subject.can(Verb::BuildFrom) || (name == "items" && subject.can(Verb::Grow)) {
            subject.empty_or_error(&config).map(drop).or_else(|error| match is_clear(subject, &error) {
                true => Ok(()),
                false => Err(format!("`{name}` = {max}: {error:?}")),
            })?;
            continue;
        }
        refused(&format!("`{name}` = {max}"), subject.empty_or_error(&config), |error| is_clear(subject, error))?;
    }
    Ok(())
}

fn a_filter_without_settings_works_or_asks_for_one(subject: &Subject) -> Verdict {
    let config = Config::new(subject.facts());
    if let Err(error) = subject.kind.plan(&config) {
        ensure!(is_clear(subject, &error), "planning without settings: {error:?}");
    }
    works(subject, "without settings", &config)
}

fn settings_survive_in_the_filter(subject: &Subject) -> Verdict {
    let config = subject.config(ITEMS, 0.02)?.hashed(bouquet::hash::Hashing::seeded(5));
    let told = subject.build(&config, &Keys::new(0..ITEMS))?.config();
    for (parameter, setting) in config.settings() {
        let kept = told.settings().find(|(known, _)| known.name == parameter.name).map(|(_, setting)| setting);
        ensure!(kept == Some(setting), "`{}` was set to {setting}, the filter tells {kept:?}", parameter.name);
    }
    ensure!(told.hashing() == config.hashing(), "hashing {:?} became {:?}", config.hashing(), told.hashing());
    Ok(())
}

impl Subject {
    /// An empty filter, or the library's own error.
    fn empty_or_error(&self, config: &Config) -> bouquet::Result<AnyFilter> {
        AnyFilter::new_of_kind(self.kind, config)
    }
}
