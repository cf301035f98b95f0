//! The rows of the registry are complete, consistent and found under all their names.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use bouquet::capability::NoteType;
use bouquet::kind::{Config, Facts, Kind, Parameter, ParameterType, Text, Verb};
use bouquet::registry;

fn each(check: impl Fn(&'static Kind, &'static Facts)) {
    assert!(registry::kinds().count() > 0);
    registry::kinds().for_each(|kind| check(kind, kind.facts()));
}

#[test]
fn ids_and_numbers_are_unique() {
    let (mut ids, mut numbers) = (HashSet::new(), HashSet::new());
    each(|_, facts| assert!(facts.number > 0, "{}", facts.id));
    for facts in registry::kinds().map(Kind::facts) {
        assert!(ids.insert(facts.id), "two kinds are called `{}`", facts.id);
        assert!(numbers.insert(facts.number), "`{}` has the number of another kind", facts.id);
    }
}

#[test]
fn every_name_leads_to_one_kind() {
    let mut owners: HashMap<String, &str> = HashMap::new();
    for facts in registry::kinds().map(Kind::facts) {
        let names: HashSet<String> =
            [facts.id, facts.name()].iter().chain(facts.aliases).map(|name| name.to_lowercase()).collect();
        for name in names {
            let found = registry::find(&name).map(|kind| kind.facts().id);
            assert!(matches!(found, Ok(id) if id == facts.id), "`{name}` of `{}` leads to {found:?}", facts.id);
            let other = owners.insert(name.clone(), facts.id);
            assert_eq!(other, None, "`{name}` is a name of `{}` too", facts.id);
        }
    }
}

#[test]
fn a_kind_is_in_the_file_of_its_id_and_the_folder_of_its_family() {
    for family in registry::FAMILIES {
        for facts in family.kinds.iter().map(Kind::facts) {
            assert_eq!(facts.family, family.name, "`{}`", facts.id);
            let file = format!("src/{}/{}.rs", family.name, facts.id.replace('-', "_"));
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file).is_file(), "`{}` has no file {file}", facts.id);
        }
    }
}

#[test]
fn ids_are_words_with_hyphens() {
    let is_word = |text: &str| {
        !text.is_empty()
            && text
                .split('-')
                .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
    };
    each(|_, facts| {
        assert!(is_word(facts.id), "`{}`", facts.id);
        for parameter in facts.parameters {
            assert!(is_word(parameter.name), "`{}` of `{}`", parameter.name, facts.id);
        }
    });
}

#[test]
fn every_text_says_something() {
    each(|_, facts| {
        let headings = facts.text.markdown().lines().filter_map(|line| line.strip_prefix("## "));
        let needed = Text::SECTIONS.iter().copied().filter(|title| *title != "Picture");
        let without_picture = headings.clone().filter(|title| *title != "Picture");
        assert!(without_picture.eq(needed), "`{}` has the sections {:?}", facts.id, headings.collect::<Vec<_>>());
        for (title, body) in facts.text.sections() {
            assert!(body.len() > 10, "`{}` says nothing about {title}", facts.id);
        }
        for title in ["Choose another", "Papers"] {
            assert!(facts.text.items(title).count() > 0, "`{}` lists nothing under {title}", facts.id);
        }
        for text in [facts.name(), facts.family].iter().chain(facts.aliases) {
            assert!(!text.trim().is_empty() && text.trim() == *text, "`{}`: `{text}`", facts.id);
        }
    });
}

#[test]
fn parameters_are_distinct_explained_and_have_defaults_in_range() {
    each(|_, facts| {
        let mut names = HashSet::new();
        for parameter in facts.parameters {
            let what = format!("`{}` of `{}`", parameter.name, facts.id);
            assert!(names.insert(parameter.name), "{what} is there twice");
            assert!(!parameter.help.trim().is_empty(), "{what} has no help");
            if let Some(default) = parameter.default_text() {
                assert!(parameter.parse(&default).is_ok(), "{what} refuses its default {default}");
            }
            match parameter.of {
                ParameterType::Count { min, max, .. } => assert!(min < max, "{what} has an empty range"),
                ParameterType::Real { above, below, .. } => assert!(above < below, "{what} has an empty range"),
                ParameterType::Choice { options } => {
                    assert!(options.len() > 1, "{what} leaves no choice");
                    assert_eq!(options.iter().collect::<HashSet<_>>().len(), options.len(), "{what} repeats a word");
                }
                ParameterType::Flag => {}
            }
        }
    });
}

#[test]
fn verbs_need_words_of_the_schema_that_are_not_the_usual_ones() {
    each(|kind, facts| {
        for need in Verb::ALL.iter().flat_map(|&verb| kind.needs(verb)) {
            let what = format!("`{}` of `{}` needs {need}", need.verb.name(), facts.id);
            assert!(kind.can(need.verb), "{what}, but is not registered");
            let words = |name| match facts.parameters.iter().find(|parameter| parameter.name == name) {
                Some(Parameter { of: ParameterType::Choice { options }, .. }) => *options,
                other => panic!("{what}: {name} is no choice but {other:?}"),
            };
            assert!(words(need.parameter)[1..].contains(&need.word), "{what}: not a word, or the usual one");
            assert!(need.unless.is_none_or(|(name, word)| words(name).contains(&word)), "{what}: not a word");
        }
    });
}

#[test]
fn errors_and_verbs_fit_together() {
    use bouquet::kind::ErrorClass::{
        FalseNegative, FalsePositive, Lingering, MissingSet, OverCount, SpuriousSet, SpuriousValue, Undeletable,
        UnderCount,
    };
    each(|kind, facts| {
        let id = facts.id;
        for (i, class) in facts.errors.iter().enumerate() {
            assert!(!facts.errors[..i].contains(class), "`{id}` declares {class:?} twice");
        }
        let needs = [
            (FalsePositive, Verb::Contains),
            (FalseNegative, Verb::Contains),
            (OverCount, Verb::Count),
            (UnderCount, Verb::Count),
            (SpuriousValue, Verb::Get),
            (SpuriousSet, Verb::Classify),
            (MissingSet, Verb::Classify),
            (Undeletable, Verb::Remove),
            (Lingering, Verb::Remove),
        ];
        for (class, verb) in needs {
            // A verdict says of a key, too, that it is in.
            let shows = kind.can(verb) || class == FalsePositive && kind.can(Verb::Judge);
            assert!(!kind.errs(class) || shows, "`{id}` declares {class:?} without {}", verb.name());
        }
        assert!(kind.can(Verb::Insert) || kind.can(Verb::BuildFrom), "`{id}` cannot be filled");
        // With the settings that it needs for that, if it needs some.
        let needed =
            kind.needs(Verb::Get).try_fold(Config::new(facts), |config, need| config.set(need.parameter, need.word));
        let has_values = needed.is_ok_and(|config| matches!(kind.note(&config), NoteType::Integer | NoteType::Bytes));
        assert!(!kind.can(Verb::Get) || has_values, "`{id}` gives values that no key carries");
    });
}
