//! The conformance suite: every claim that a kind makes about itself, checked for every kind in the registry.
//!
//! No kind is named here. Which laws are checked follows from the verbs that a kind has registered
//! ([`Kind::can`]) and from the errors that it declares ([`Kind::errs`]); what is not declared must not happen. A new
//! kind is under test as soon as it is in its family's list. Where a verb needs certain settings ([`Kind::needs`]), every
//! law is also checked with these; rates and sizes with every word of every setting ([`Subject::variants`]).
//!
//! | module | asks |
//! |---|---|
//! | [`guarantees`] | are present keys found, and do only declared errors happen? |
//! | [`rates`] | are errors as frequent as the kind's own theory says? |
//! | [`updates`] | do insert, remove, count, advance and grow keep their laws? |
//! | [`values`] | do get, classify and list tell the truth? |
//! | [`specials`] | do the questions and actions of single kinds keep to what holds for all? |
//! | [`algebra`] | do merge, intersect, subtract, cardinality and overlap keep their laws? |
//! | [`frames`] | do frames round-trip, and are damaged ones refused? |
//! | [`keyed`] | do keyed filters keep their secret? |
//! | [`size`] | is the reported size the real one? |
//! | [`parameters`] | are bad parameters refused by name? |
//! | [`accepted`] | do filters of any settings that are accepted have frames that open, whatever is done with them? |
//! | [`forged`] | are frames with forged fields refused, or do they give filters that work? |
//! | [`model`] | does an exact model agree through random operations? |
//! | [`golden`] | do frames of every format version still load? |
//! | [`facts`] | are the rows of the registry complete and consistent? |
//! | [`source`] | is everything that is implemented also registered? |
//! | [`floors`] | does every part of the library use only those below it? |
//! | [`broken`] | does the suite catch kinds that are broken on purpose? |
//!
//! Laws are functions over a [`Subject`] that return a verdict, so that they can be asked of kinds outside the registry
//! too. Every seed is fixed, and statistical bounds are 5 standard errors wide: a verdict changes only with the code.

/// Leaves a law with the reason why it does not hold.
macro_rules! ensure {
    ($condition:expr, $($reason:tt)*) => {{
        // Bound first: a comparison with NaN must not hold by being turned round.
        let holds: bool = $condition;
        if !holds {
            return Err(format!($($reason)*));
        }
    }};
}

/// The laws of a module: a table for [`suite`] and one test each, over the whole registry.
macro_rules! laws {
    ($($law:ident needs [$($verb:ident),*] $(with $settings:ident)?;)*) => {
        pub const LAWS: &[crate::Law] = &[$(
            crate::Law {
                name: stringify!($law),
                needs: &[$(bouquet::kind::Verb::$verb),*],
                subjects: laws!(@ $($settings)?),
                holds: $law,
            },
        )*];

        mod every_kind {
            $(
                #[test]
                fn $law() {
                    crate::check_every_kind(stringify!($law));
                }
            )*
        }
    };
    (@) => { crate::subject::Subject::all };
    (@ every_setting) => { crate::subject::Subject::variants };
    (@ usual_settings) => { |kind| vec![crate::subject::Subject::new(kind)] };
}

mod accepted;
mod algebra;
mod broken;
mod every_verb;
mod exact;
mod facts;
mod floors;
mod forged;
mod frames;
mod golden;
mod guarantees;
mod keyed;
#[path = "../../../../fuzz/harness/layout.rs"]
#[allow(dead_code, reason = "the fuzz targets use all of it")]
mod layout;
mod model;
mod parameters;
mod rates;
mod size;
mod source;
mod specials;
mod subject;
mod updates;
mod values;

use bouquet::kind::{Kind, Verb};
use bouquet::registry;
use subject::{Subject, Verdict};

/// A claim that every kind with certain verbs makes.
pub struct Law {
    name: &'static str,
    needs: &'static [Verb],
    /// The settings that it is checked with.
    subjects: fn(&'static Kind) -> Vec<Subject>,
    holds: fn(&Subject) -> Verdict,
}

impl Law {
    fn applies(&self, subject: &Subject) -> bool {
        self.needs.iter().all(|&verb| subject.can(verb))
    }

    /// Why the law does not hold for the kind, once for each of the settings with which it does not.
    fn failures(&self, kind: &'static Kind) -> impl Iterator<Item = String> {
        let concerned = (self.subjects)(kind).into_iter().filter(|subject| self.applies(subject));
        concerned.filter_map(|subject| {
            let why = (self.holds)(&subject).err()?;
            Some(format!("kind {}, {}: {why}", subject.name(), self.name))
        })
    }
}

/// Every law, of all modules.
fn suite() -> impl Iterator<Item = &'static Law> {
    let modules = [
        guarantees::LAWS,
        rates::LAWS,
        updates::LAWS,
        values::LAWS,
        algebra::LAWS,
        frames::LAWS,
        keyed::LAWS,
        size::LAWS,
        parameters::LAWS,
        accepted::LAWS,
        forged::LAWS,
        model::LAWS,
        specials::LAWS,
    ];
    modules.into_iter().flatten()
}

/// The kinds that laws are checked for: all, unless the variable `BOUQUET_KINDS` names some, for those who work on them.
fn kinds() -> impl Iterator<Item = &'static Kind> {
    let named = std::env::var("BOUQUET_KINDS").ok();
    let is_named = move |kind: &&Kind| named.as_ref().is_none_or(|all| all.split(',').any(|id| id == kind.facts().id));
    registry::kinds().filter(is_named)
}

/// Checks one law for every kind of the registry and tells all failures at once.
fn check_every_kind(name: &str) {
    let law = suite().find(|law| law.name == name).expect("every module with laws is part of the suite");
    let failures: Vec<_> = kinds().flat_map(|kind| law.failures(kind)).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn every_verb_has_a_law() {
    for &verb in Verb::ALL.iter().filter(|&&verb| verb != Verb::BuildFrom) {
        assert!(suite().any(|law| law.needs.contains(&verb)), "no law needs `{}`", verb.name());
    }
}

#[test]
fn every_verb_of_every_kind_is_under_test_with_some_settings() {
    for kind in registry::kinds() {
        let subjects = Subject::all(kind);
        for verb in kind.verbs() {
            let id = kind.facts().id;
            assert!(subjects.iter().any(|subject| subject.can(verb)), "`{id}`: no settings have `{}`", verb.name());
            let always = subjects.iter().all(|subject| subject.can(verb));
            assert_eq!(always, kind.needs(verb).next().is_none(), "`{id}`: `{}` needs what is there", verb.name());
        }
    }
}
