//! How likely a key is a member, after a filter of any kind was asked.

use super::AnyFilter;
use crate::capability::{Contains, Weigh};
use crate::error::{Error, Result};
use crate::kind::{ErrorClass, Verb};
use crate::theory::paradox;

/// What a filter's answers are worth: see [`AnyFilter::weigh`].
pub struct Belief<'a> {
    source: Source<'a>,
}

enum Source<'a> {
    /// The kind weighs each key.
    Own(&'a dyn Weigh),
    /// Yes and no, and how often they are wrong now.
    Rates { contains: &'a dyn Contains, rate: f64, miss: f64 },
}

impl std::fmt::Debug for Belief<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Belief")
    }
}

impl Belief<'_> {
    /// The probability that the key is a member, if it was `prior` before; without one, that of the filter's own model, if it has one.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Bloom};
    /// let filter = AnyFilter::from_structure(Bloom::with_rate(100, 0.01)?)?;
    /// assert_eq!(filter.weigh()?.probability(b"rose", Some(0.9))?, 0.0, "the filter is empty");
    /// assert!(filter.weigh()?.probability(b"rose", None).is_err(), "it knows nothing of roses beforehand");
    /// assert!(filter.weigh()?.probability(b"rose", Some(1.5)).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn probability(&self, key: &[u8], prior: Option<f64>) -> Result<f64> {
        Ok(self.probabilities(&[key], prior)?[0])
    }

    /// The probabilities of many keys that have the same prior, or each that of the model; faster than one by one.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Selective};
    /// let mut flowers = Selective::with_rate(100, 0.01)?;
    /// flowers.insert("rose")?;
    /// let filter = AnyFilter::from_structure(flowers)?;
    /// let probabilities = filter.weigh()?.probabilities(&[b"rose", b"lily"], None)?;
    /// assert!(probabilities[0] > 0.99 && probabilities[1] == 0.0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn probabilities(&self, keys: &[&[u8]], prior: Option<f64>) -> Result<Vec<f64>> {
        if let Some(prior) = prior.filter(|prior| !(0.0..=1.0).contains(prior)) {
            return Err(Error::parameter("prior", "a probability from 0 to 1", prior));
        }
        let mut answers = vec![None; keys.len()];
        match &self.source {
            Source::Own(own) => own.probability_batch(keys, prior, &mut answers),
            Source::Rates { contains, rate, miss } => {
                let mut found = vec![false; keys.len()];
                contains.contains_batch(keys, &mut found);
                for (answer, yes) in answers.iter_mut().zip(found) {
                    *answer = prior.map(|prior| paradox::updated(prior, *rate, *miss, yes));
                }
            }
        }
        let none = || Error::parameter("prior", "given: the filter has no model of its own", "missing");
        answers.into_iter().map(|answer| answer.ok_or_else(none)).collect()
    }
}

impl AnyFilter {
    /// What the answers of this filter are worth: by the kind's own account of each key, if it has one, otherwise by its false-positive
    /// rate at this moment and the false negatives that theory expects.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Bloom};
    /// let mut flowers = Bloom::with_rate(1_000, 0.001)?;
    /// (0..1_000u64).for_each(|key| _ = flowers.insert(&key));
    /// let filter = AnyFilter::from_structure(flowers)?;
    /// // The Bloom paradox: of a million keys one is a member, and a positive answer is hardly worth more than before.
    /// let paradox = filter.weigh()?.probability(&7u64.to_le_bytes(), Some(1e-6))?;
    /// assert!((0.0008..0.0013).contains(&paradox));
    /// assert!(filter.weigh()?.probability(&7u64.to_le_bytes(), Some(0.5))? > 0.998);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn weigh(&self) -> Result<Belief<'_>> {
        if self.can(Verb::Weigh) {
            let own = self.verb(Verb::Weigh, self.kind.verbs.weigh)?(&*self.value);
            return Ok(Belief { source: Source::Own(own) });
        }
        let contains = self.contains()?;
        let (stats, errs) = (self.stats(), |class| self.errs(class));
        let expected = self.expected(stats.items);
        let rate = stats.fpr.or(expected.false_positive).or((!errs(ErrorClass::FalsePositive)).then_some(0.0));
        let miss = expected.false_negative.or((!errs(ErrorClass::FalseNegative)).then_some(0.0));
        let (Some(rate), Some(miss)) = (rate, miss) else {
            return Err(Error::parameter("prior", "asked of a filter that tells its rates", self.kind.facts().id));
        };
        Ok(Belief { source: Source::Rates { contains, rate, miss } })
    }
}
