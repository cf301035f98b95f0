//! Errors are as frequent as the kind's own theory says.
//!
//! Thirty filters with seeds of their own are filled to half, all and one and a half times the planned items and asked
//! for keys that they hold and keys that they do not. These must agree:
//!
//! - what is measured and what each filter says of its present content (`stats().fpr`): the answers are independent
//!   given the content, so the sum is binomial;
//! - what the filters say of their content on average and what theory expects of the shape (`expected(load)`): within
//!   5 standard errors from the spread of the sample;
//! - at the planned load, what is measured and the rate that was asked for, which it must not exceed;
//! - how far single filters lie from what is said of them and the scatter of a binomial: a filter among thirty that fails
//!   altogether would hide in a standard error that it has made large itself.
//!
//! The other errors (false negatives, over-counts, values and sets out of nothing, unknown values) are compared with
//! `expected(load)` alone.
//!
//! With other settings than the usual ones fewer filters are asked fewer questions, at a larger rate: what a formula misses
//! for a setting, it misses by more than the few percent that these tell.

use bouquet::capability::{Answer, Note, NoteType, Verdict as Judgement};
use bouquet::hash::{Hashing, mix};
use bouquet::kind::{ErrorClass, Rates, Verb};
use bouquet::{AnyFilter, Error, registry};

use crate::subject::{ABSENT, GROUPS, Keys, Observed, Subject, Verdict, found_count, observe};

laws! {
    rates_agree_with_theory_at_one_percent needs [];
    rates_agree_with_theory_at_one_per_mille needs [];
    rates_agree_with_theory_for_every_setting needs [] with every_setting;
}

/// How much is measured.
struct Effort {
    fpr: f64,
    items: u64,
    /// The keys that are inserted, one load after the other.
    loads: &'static [u64],
    seeds: u64,
    queries: u64,
    /// Verbs other than contains have no batch form, and their rates are larger.
    fewer_queries: u64,
    /// Whether every filter has keys of its own, which look random: some settings hash without a seed, or are published
    /// functions that are no better than their keys. Otherwise keys are the numbers from 0 on.
    scattered: bool,
}

const THOROUGH: Effort = Effort {
    fpr: 0.01,
    items: 2_000,
    loads: &[1_000, 2_000, 3_000],
    seeds: 30,
    queries: 50_000,
    fewer_queries: 20_000,
    scattered: false,
};

/// 100,000 answers at a rate of 5 %: a standard error of about 1.4 % of the rate.
const BRIEF: Effort = Effort {
    fpr: 0.05,
    items: 1_000,
    loads: &[1_000],
    seeds: 10,
    queries: 10_000,
    fewer_queries: 4_000,
    scattered: true,
};

/// Errors that a kind declares and has no theory for, or but a bound, with settings that do not come by themselves. What is not
/// here has one.
const WITHOUT_THEORY: &[(&str, &str, &str)] = &[
    ("spectral", "method=rm", "over-counts"),
    ("spectral", "method=rm-simple", "over-counts"),
    ("space-code", "resolutions=2", "over-counts"),
    ("loglog", "estimator=alpha", "over-counts"),
    ("shifting", "no-table=yes", "false positives"),
    ("shifting", "no-table=yes", "false negatives"),
    // What all groups choose has no closed form: a plan simulates it, to a few percent. What a filter tells of its own bits is exact.
    ("partitioned-hashing", "", "false positives"),
];

fn rates_agree_with_theory_at_one_percent(subject: &Subject) -> Verdict {
    agree(subject, &THOROUGH)
}

fn rates_agree_with_theory_at_one_per_mille(subject: &Subject) -> Verdict {
    agree(subject, &Effort { fpr: 0.001, ..THOROUGH })
}

fn rates_agree_with_theory_for_every_setting(subject: &Subject) -> Verdict {
    if subject.is_usual() {
        return Ok(());
    }
    // Where a filter's rates jump with its fill, a dozen may lie on one side by chance; so doubts are settled by ten times as
    // many, those that raised them among them.
    agree(subject, &BRIEF).or_else(|_| agree(subject, &Effort { seeds: 10 * BRIEF.seeds, ..BRIEF }))
}

/// Tells all disagreements at once: which of them fail says much about the cause.
fn agree(subject: &Subject, effort: &Effort) -> Verdict {
    let mut failures = Vec::new();
    for &load in effort.loads {
        let Some(filters) = filters(subject, effort, load)? else { continue };
        let trial = Trial { subject, effort, load, filters };
        let mut verdicts = trial.false_positives()?;
        verdicts.extend(trial.members()?);
        verdicts.extend(trial.strangers()?);
        let (items, fpr) = (effort.items, effort.fpr);
        let told = |why| format!("{load} items in filters for {items} at rate {fpr}: {why}");
        failures.extend(verdicts.into_iter().filter_map(Verdict::err).map(told));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n    ")) }
}

impl Effort {
    /// The `count` numbers from `first` on that belong to a seed. Where a universe bounds them they are as they are.
    fn keys(&self, subject: &Subject, seed: u64, first: u64, count: u64) -> Keys {
        let scattered = self.scattered && !subject.has_parameter("universe");
        let own = |number| if scattered { mix(number + (seed << 42)) } else { number };
        Keys::new((first..first + count).map(own))
    }
}

/// The seeds that gave a filter, and their filters; `None` for a kind that refuses this load, which it may only beyond its
/// plan, or where its settings refuse what full cells would lose; and for settings that do not take the suite's keys.
fn filters(subject: &Subject, effort: &Effort, load: u64) -> Result<Option<Vec<(u64, AnyFilter)>>, String> {
    let config = subject.config(effort.items, effort.fpr)?;
    let mut filters = Vec::new();
    for seed in 0..effort.seeds {
        let keys = effort.keys(subject, seed, 0, load);
        let build = |config| subject.try_build(config, &keys);
        let built = match build(&config.clone().hashed(Hashing::seeded(seed))) {
            // Formats of others have no seed.
            Err(Error::Parameter { .. }) if effort.scattered => build(&config),
            built => built,
        };
        match built {
            Ok(filter) => filters.push((seed, filter)),
            Err(Error::Full { .. } | Error::Build { .. }) if load > effort.items => return Ok(None),
            Err(Error::Full { .. }) if !subject.is_usual() => {}
            Err(Error::Item { .. }) if !subject.is_usual() => return Ok(None),
            Err(error) => return Err(format!("{load} items in a filter for {}: {error}", effort.items)),
        }
    }
    let refused = effort.seeds - filters.len() as u64;
    ensure!(6 * refused <= effort.seeds, "{refused} of {} filters refuse the planned load", effort.seeds);
    Ok(Some(filters))
}

/// A mean and its standard error.
struct Sample {
    mean: f64,
    standard_error: f64,
}

impl Sample {
    fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Sample { mean, standard_error: (variance / n).sqrt() }
    }

    fn within(&self, what: &str, expected: f64, sigma: f64) -> Verdict {
        let off = (self.mean - expected).abs();
        // Rounding alone may part two ways of computing one number.
        ensure!(
            off <= 5.0 * sigma + 1e-9 * expected,
            "{what}: measured {:.7}, expected {expected:.7}, which is {:.1} sigma off (sigma {sigma:.2e})",
            self.mean,
            off / sigma
        );
        Ok(())
    }
}

/// As many errors as a filter of which fewer than one is expected may make, six pairs, once in a million times.
const BY_CHANCE: u64 = 12;

/// How often something was seen in each filter, among this many questions.
struct Seen {
    times: Vec<u64>,
    queries: u64,
}

impl Seen {
    fn sample(&self) -> Sample {
        Sample::of(self.times.iter().map(|&times| times as f64 / self.queries as f64))
    }

    /// The variance of a mean over all filters, each of which has one of these rates.
    fn variance(&self, rates: &[f64]) -> f64 {
        let count = self.times.len() as f64;
        rates.iter().map(|rate| rate * (1.0 - rate).max(0.0)).sum::<f64>() / (self.queries as f64 * count * count)
    }

    /// The mean agrees with theory, whose own scatter is a lower bound for the sample's; and no filter lies far from the others
    /// or all of them farther from theory than they may. `differ` says by which share of the rate the filters differ in what
    /// they hold.
    fn agrees(&self, what: &str, expected: f64, differ: f64) -> Verdict {
        ensure!(expected.is_finite() && expected >= 0.0, "{what}: `expected` gives {expected}");
        let times = &self.times;
        ensure!(
            expected > 0.0 || times.iter().all(|&times| times == 0),
            "{what}: seen {times:?} times, expected never"
        );
        let sample = self.sample();
        let of_theory = self.variance(&vec![expected; times.len()]).sqrt();
        sample.within(what, expected, sample.standard_error.max(of_theory))?;
        // Errors that two keys make together come in pairs, which doubles the variance of their number.
        let mean = self.queries as f64 * expected;
        let variance = 2.0 * mean * (1.0 - expected).max(0.0) + (mean * differ).powi(2);
        self.scatters(what, &vec![(mean, variance); times.len()])?;
        self.has_no_outlier(what, mean)
    }

    /// The squares of the deviations, each in terms of its variance, are together as a chi-square of this many degrees of
    /// freedom: below its quantile of 5 sigma, by Wilson and Hilferty. Where few errors are expected the squares vary by
    /// 1 / variance more, as if they were fewer; where hardly one is, none comes in numbers.
    fn scatters(&self, what: &str, models: &[(f64, f64)]) -> Verdict {
        let (mut n, mut squares, mut spread) = (0.0, 0.0, 0.0);
        let mut few = true;
        for (&times, (mean, variance)) in self.times.iter().zip(models) {
            if *mean < 1.0 {
                few &= times <= BY_CHANCE;
            } else if *variance > 0.0 {
                n += 1.0;
                squares += (times as f64 - mean).powi(2) / variance;
                spread += 2.0 + 1.0 / variance;
            }
        }
        let ninth = if n > 0.0 { spread / (9.0 * n * n) } else { 0.0 };
        let bound = n * (1.0 - ninth + 5.0 * ninth.sqrt()).powi(3);
        ensure!(
            few && squares <= bound,
            "{what}: the filters scatter too much, chi-square {squares:.0} of at most {bound:.0}: {:?} times in {}",
            self.times,
            self.queries
        );
        Ok(())
    }

    /// Every filter is within 5 sigma of the others, whatever their scatter is: by Student's t, since that is known from the
    /// others alone.
    fn has_no_outlier(&self, what: &str, expected: f64) -> Verdict {
        let n = self.times.len() as f64;
        let freedom = n - 2.0;
        let stretch = 25.0 * (freedom - 5.0 / 6.0) / (freedom - 2.0 / 3.0 + 0.1 / freedom).powi(2);
        let quantile = (freedom * stretch.exp_m1()).sqrt();
        for (i, &times) in self.times.iter().enumerate() {
            let others = self.times.iter().enumerate().filter(|(j, _)| i != *j).map(|(_, &times)| times as f64);
            let others = Sample::of(others);
            let variance = (others.standard_error.powi(2) * (n - 1.0)).max(2.0 * expected);
            let off = (times as f64 - others.mean) / (variance * (1.0 + 1.0 / (n - 1.0))).sqrt();
            let by_chance = others.mean.max(expected) < 1.0 && times <= BY_CHANCE;
            ensure!(
                off.abs() <= quantile || by_chance,
                "{what}: one filter is {off:.1} sigma from the others: {:?} times in {}",
                self.times,
                self.queries
            );
        }
        Ok(())
    }
}

/// What is to be counted in the answers about a key.
type Amount<'a> = &'a dyn Fn(u64, &Observed) -> u64;

/// Filters of many seeds with the same load.
struct Trial<'a> {
    subject: &'a Subject,
    effort: &'a Effort,
    load: u64,
    filters: Vec<(u64, AnyFilter)>,
}

impl Trial<'_> {
    fn expected(&self) -> Rates {
        self.filters.first().map(|(_, filter)| filter.expected(self.load)).unwrap_or_default()
    }

    fn strangers_of(&self, seed: u64, count: u64) -> Keys {
        self.effort.keys(self.subject, seed, ABSENT, count)
    }

    fn false_positives(&self) -> Result<Vec<Verdict>, String> {
        let (subject, effort) = (self.subject, self.effort);
        if !subject.can(Verb::Contains) || !subject.errs(ErrorClass::FalsePositive) {
            return Ok(Vec::new());
        }
        let (mut times, mut rates) = (Vec::new(), Vec::new());
        let common = self.strangers_of(0, effort.queries);
        for (seed, filter) in &self.filters {
            let own = if effort.scattered { Some(self.strangers_of(*seed, effort.queries)) } else { None };
            times.push(found_count(filter, own.as_ref().unwrap_or(&common))?);
            let rate = filter.stats().fpr.ok_or("declares false positives, but `stats` gives no rate")?;
            ensure!((0.0..=1.0).contains(&rate), "`stats` gives the rate {rate}");
            rates.push(rate);
        }
        let seen = Seen { times, queries: effort.queries };
        let (measured, present) = (seen.sample(), Sample::of(rates.iter().copied()));
        let own = |rate: &f64| (effort.queries as f64 * rate, effort.queries as f64 * rate * (1.0 - rate));
        let mut verdicts = vec![
            measured.within("false positives against `stats().fpr`", present.mean, seen.variance(&rates).sqrt()),
            seen.scatters("false positives against `stats().fpr`", &rates.iter().map(own).collect::<Vec<_>>()),
        ];
        let Some(theory) = self.expected().false_positive else {
            verdicts.push(Err("false positives: declared, but `expected` gives no rate".into()));
            return Ok(verdicts);
        };
        if !self.is_without_theory("false positives") {
            let of_theory = seen.variance(&vec![theory; self.filters.len()]).sqrt();
            let sigma = measured.standard_error.max(of_theory);
            verdicts.push(measured.within("false positives against `expected`", theory, sigma));
            // Rates that are all one say nothing of their scatter.
            let sigma = if present.standard_error > 0.0 { present.standard_error } else { of_theory };
            verdicts.push(present.within("`stats().fpr` against `expected`", theory, sigma));
        }
        if self.load == effort.items && subject.has_parameter("fpr") && !subject.sets_parameter("bits") {
            verdicts.push(self.as_asked(&seen));
        }
        Ok(verdicts)
    }

    /// At the planned load the rate is not larger than what was asked for.
    fn as_asked(&self, seen: &Seen) -> Verdict {
        let (subject, fpr) = (self.subject, self.effort.fpr);
        // The rate of many sets is that of each, so an absent key seems to be in any of them more often.
        let many = subject.note_type() == NoteType::Group && subject.has_parameter("sets");
        let asked = if many { 1.0 - (1.0 - fpr).powi(GROUPS as i32) } else { fpr };
        let Sample { mean, standard_error } = seen.sample();
        let sigma = standard_error.max(seen.variance(&vec![asked; seen.times.len()]).sqrt());
        ensure!(mean <= asked + 5.0 * sigma, "false positives: measured {mean:.7}, asked for at most {asked:.7}");
        Ok(())
    }

    /// How often each of these is seen, per filter.
    fn times(&self, keys: impl Fn(u64) -> Keys, amounts: &[Amount<'_>]) -> Result<Vec<Seen>, String> {
        let mut all: Vec<_> = amounts.iter().map(|_| Seen { times: Vec::new(), queries: 0 }).collect();
        for (seed, filter) in &self.filters {
            let keys = keys(*seed);
            let answers = observe(filter, &keys)?;
            for (seen, amount) in all.iter_mut().zip(amounts) {
                seen.times
                    .push(keys.numbers.iter().zip(&answers).map(|(&number, answer)| amount(number, answer)).sum());
                seen.queries = answers.len() as u64;
            }
        }
        Ok(all)
    }

    fn is_without_theory(&self, what: &str) -> bool {
        let (id, name) = (self.subject.facts().id, self.subject.name());
        WITHOUT_THEORY.iter().any(|(kind, setting, error)| *kind == id && name.contains(setting) && *error == what)
    }

    /// What is declared is as frequent as expected.
    fn agrees(&self, what: &str, seen: &Seen, expected: Option<f64>) -> Verdict {
        let Some(expected) = expected else {
            ensure!(self.is_without_theory(what), "{what}: declared, but `expected` gives no rate");
            return Ok(());
        };
        // How much the filters differ is what they say of their false positives.
        let rates: Option<Vec<f64>> = self.filters.iter().map(|(_, filter)| filter.stats().fpr).collect();
        let differ = rates
            .map(Sample::of)
            .filter(|rates| rates.mean > 0.0)
            .map_or(0.0, |rates| rates.standard_error * (self.filters.len() as f64).sqrt() / rates.mean);
        seen.agrees(what, expected, differ)
    }

    /// The errors about keys that were inserted once.
    fn members(&self) -> Result<Vec<Verdict>, String> {
        let (subject, rates) = (self.subject, self.expected());
        let own_set_is_missing = |number: u64, seen: &Observed| match (subject.note(number), &seen.sets) {
            (Note::Group(own), Some(sets)) => u64::from(!sets.contains(&own)),
            _ => 0,
        };
        let mut wanted: Vec<(&str, Option<f64>, Amount<'_>)> = Vec::new();
        if subject.can(Verb::Contains) && subject.errs(ErrorClass::FalseNegative) {
            let missed: Amount<'_> = &|_, seen| u64::from(seen.contains == Some(false));
            wanted.push(("false negatives", rates.false_negative, missed));
        }
        if subject.can(Verb::Count) && subject.errs(ErrorClass::OverCount) {
            let over: Amount<'_> = &|_, seen| u64::from(seen.count.is_some_and(|count| count.count > 1));
            wanted.push(("over-counts", rates.over_count, over));
        }
        if subject.can(Verb::Get) && subject.errs(ErrorClass::Unknown) {
            let unknown: Amount<'_> = &|_, seen| u64::from(seen.answer == Some(Answer::Unknown));
            wanted.push(("unknown values", rates.unknown, unknown));
        }
        if subject.can(Verb::Classify) && subject.errs(ErrorClass::MissingSet) {
            wanted.push(("missing sets", rates.missing_sets, &own_set_is_missing));
        } else if subject.can(Verb::Classify) && !subject.errs(ErrorClass::FalseNegative) {
            wanted.push(("own sets that are missing", Some(0.0), &own_set_is_missing));
        }
        self.verdicts(&wanted, |seed| self.effort.keys(self.subject, seed, 0, self.load))
    }

    /// The errors about keys that were never inserted.
    fn strangers(&self) -> Result<Vec<Verdict>, String> {
        let (subject, rates) = (self.subject, self.expected());
        let mut wanted: Vec<(&str, Option<f64>, Amount<'_>)> = Vec::new();
        if subject.can(Verb::Get) && subject.errs(ErrorClass::SpuriousValue) {
            let valued: Amount<'_> = &|_, seen| u64::from(matches!(seen.answer, Some(Answer::Value(_))));
            wanted.push(("values for absent keys", rates.spurious_value, valued));
        }
        if subject.can(Verb::Classify) && subject.errs(ErrorClass::SpuriousSet) {
            let placed: Amount<'_> = &|_, seen| seen.sets.as_ref().map_or(0, |sets| sets.len() as u64);
            wanted.push(("extra sets per absent key", rates.spurious_sets, placed));
        }
        if subject.can(Verb::Judge) && !subject.can(Verb::Contains) && subject.errs(ErrorClass::FalsePositive) {
            let judged: Amount<'_> =
                &|_, seen| u64::from(matches!(seen.judgement, Some(Judgement::In | Judgement::Undetermined)));
            wanted.push(("absent keys that are judged in", rates.false_positive, judged));
        }
        self.verdicts(&wanted, |seed| self.strangers_of(seed, self.effort.fewer_queries))
    }

    fn verdicts(
        &self,
        wanted: &[(&str, Option<f64>, Amount<'_>)],
        keys: impl Fn(u64) -> Keys,
    ) -> Result<Vec<Verdict>, String> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let amounts: Vec<_> = wanted.iter().map(|(.., amount)| *amount).collect();
        let seen = self.times(keys, &amounts)?;
        Ok(wanted.iter().zip(&seen).map(|((what, expected, _), seen)| self.agrees(what, seen, *expected)).collect())
    }
}

/// Every parameter has a value beside its default that is measured.
#[test]
fn every_parameter_is_measured_with_another_value() {
    for kind in registry::kinds() {
        let variants = Subject::variants(kind);
        let takes_keys = |subject: &&Subject| {
            let config = subject.config(100, 0.05).expect("it is a subject");
            !matches!(subject.try_build(&config, &BRIEF.keys(subject, 0, 0, 50)), Err(Error::Item { .. }))
        };
        for parameter in Subject::parameters_that_vary(kind) {
            let measured = variants.iter().filter(|subject| subject.sets_parameter(parameter)).any(|s| takes_keys(&s));
            assert!(measured, "`{}`: no other value of `{parameter}` is measured", kind.facts().id);
        }
    }
}
