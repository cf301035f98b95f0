//! Simulation: rounds with seeds of their own, on all cores, with the same result on any number of them.

use std::fmt;

use bouquet::hash::{Hashing, SplitMix};
use rayon::prelude::*;

use crate::error::Result;
use crate::number::{short, significant};

/// The conditions of a run: how long, from which seed.
///
/// ```
/// use bouquet_lab::Lab;
/// let lab = Lab { quick: true, seed: 1 };
/// let heads = lab.mean("coins", lab.rounds(10_000, 400), |random| (random.below(2)) as f64);
/// assert!(heads.deviations(0.5).abs() < 5.0);
/// assert_eq!(heads, lab.mean("coins", 400, |random| (random.below(2)) as f64), "same seed, same result");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lab {
    /// Fewer rounds: seconds in all.
    pub quick: bool,
    /// Everything that is random follows from it.
    pub seed: u64,
}

impl Default for Lab {
    fn default() -> Self {
        Lab { quick: false, seed: 1 }
    }
}

impl Lab {
    /// The number of rounds of this run.
    ///
    /// ```
    /// assert_eq!(bouquet_lab::Lab { quick: true, seed: 1 }.rounds(10_000, 100), 100);
    /// ```
    #[must_use]
    pub fn rounds(&self, full: u64, quick: u64) -> u64 {
        if self.quick { quick } else { full }
    }

    /// Plays rounds on all cores and gives their results in order. `of` names the simulation: each name has its own
    /// random numbers, and so has each round of it.
    ///
    /// ```
    /// let lab = bouquet_lab::Lab::default();
    /// let drawn = lab.play("words", 3, |random| random.next_u64());
    /// assert!(drawn.len() == 3 && drawn[0] != drawn[1]);
    /// ```
    pub fn play<T: Send>(&self, of: &str, rounds: u64, round: impl Fn(&mut SplitMix) -> T + Sync) -> Vec<T> {
        let name = Hashing::seeded(self.seed).digest(of.as_bytes());
        (0..rounds).into_par_iter().map(|i| round(&mut SplitMix::new(name.derive(i).h1))).collect()
    }

    /// Plays rounds that may fail.
    ///
    /// ```
    /// let lab = bouquet_lab::Lab::default();
    /// let sizes = lab.try_play("filters", 3, |_| Ok(bouquet::Bloom::with_size(100, 3)?.bits().len()))?;
    /// assert_eq!(sizes, [100, 100, 100]);
    /// # Ok::<(), bouquet_lab::Error>(())
    /// ```
    pub fn try_play<T: Send>(
        &self,
        of: &str,
        rounds: u64,
        round: impl Fn(&mut SplitMix) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        self.play(of, rounds, round).into_iter().collect()
    }

    /// The mean of a quantity over rounds.
    ///
    /// ```
    /// let mean = bouquet_lab::Lab::default().mean("units", 1000, |random| random.unit());
    /// assert!(mean.deviations(0.5).abs() < 5.0);
    /// ```
    pub fn mean(&self, of: &str, rounds: u64, round: impl Fn(&mut SplitMix) -> f64 + Sync) -> Mean {
        Mean::of(&self.play(of, rounds, round))
    }

    /// The share of hits among the trials of all rounds; a round gives its hits and its trials.
    ///
    /// ```
    /// let lab = bouquet_lab::Lab::default();
    /// let sixes = lab.share("dice", 100, |random| ((0..60).filter(|_| random.below(6) == 5).count() as u64, 60));
    /// assert!(sixes.deviations(1.0 / 6.0).abs() < 5.0);
    /// ```
    pub fn share(&self, of: &str, rounds: u64, round: impl Fn(&mut SplitMix) -> (u64, u64) + Sync) -> Mean {
        Mean::of_shares(&self.play(of, rounds, round))
    }
}

/// A mean of rounds with its standard error.
///
/// ```
/// let mean = bouquet_lab::Mean::of(&[1.0, 2.0, 3.0]);
/// assert_eq!((mean.value, mean.rounds), (2.0, 3));
/// assert!((mean.error - (1.0f64 / 3.0).sqrt()).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// How many rounds it is of.
    pub rounds: u64,
}

impl Mean {
    /// Of these values.
    ///
    /// ```
    /// assert_eq!(bouquet_lab::Mean::of(&[4.0]).value, 4.0);
    /// ```
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let value = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - value).powi(2)).sum();
        let error = if values.len() > 1 { (squares / (n - 1.0) / n).sqrt() } else { f64::INFINITY };
        Mean { value, error, rounds: values.len() as u64 }
    }

    /// The share of hits in trials, from the (hits, trials) of rounds with equal trials.
    ///
    /// The error is the larger of two: the spread of the rounds, which knows that filters differ, and that of this many
    /// trials with two more, one of them a hit, which is not zero when nothing was hit.
    ///
    /// ```
    /// let mean = bouquet_lab::Mean::of_shares(&[(0, 100), (0, 100)]);
    /// assert!(mean.value == 0.0 && mean.error > 0.0);
    /// ```
    #[must_use]
    pub fn of_shares(rounds: &[(u64, u64)]) -> Self {
        let trials: u64 = rounds.iter().map(|round| round.1).sum();
        let hits: u64 = rounds.iter().map(|round| round.0).sum();
        let shares: Vec<f64> = rounds.iter().map(|&(hits, trials)| hits as f64 / trials as f64).collect();
        let smoothed = (hits + 1) as f64 / (trials + 2) as f64;
        let binomial = (smoothed * (1.0 - smoothed) / trials as f64).sqrt();
        let spread = Mean::of(&shares).error;
        // One round has no spread of its own.
        let error = if spread.is_finite() { spread.max(binomial) } else { binomial };
        Mean { value: hits as f64 / trials as f64, error, rounds: rounds.len() as u64 }
    }

    /// How many standard errors it lies above a value.
    ///
    /// ```
    /// let mean = bouquet_lab::Mean { value: 3.0, error: 0.5, rounds: 9 };
    /// assert_eq!(mean.deviations(2.0), 2.0);
    /// ```
    #[must_use]
    pub fn deviations(&self, from: f64) -> f64 {
        let difference = self.value - from;
        // Where no round differs, the last bits of a sum are no deviation.
        if difference.abs() <= 1e-12 * from.abs() { 0.0 } else { difference / self.error }
    }
}

impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ± {}", short(self.value), significant(self.error, 2))
    }
}

/// This many keys that were not drawn before from the same generator.
///
/// ```
/// let mut random = bouquet::hash::SplitMix::new(1);
/// let (members, others) = (bouquet_lab::simulate::keys(&mut random, 5), bouquet_lab::simulate::keys(&mut random, 5));
/// assert!(members.iter().all(|key| !others.contains(key)));
/// ```
pub fn keys(random: &mut SplitMix, count: u64) -> Vec<u64> {
    // The generator is a bijection of a counter: no word comes twice.
    (0..count).map(|_| random.next_u64()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Lab::default().mean("units", 10_000, |random| random.unit()))
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(5));
    }

    #[test]
    fn names_and_seeds_have_their_own_numbers() {
        let draw = |seed, of| Lab { quick: true, seed }.play(of, 1, |random| random.next_u64());
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn a_share_without_hits_is_compatible_with_small_rates_only() {
        let none = Mean::of_shares(&[(0, 500), (0, 500)]);
        assert!(none.deviations(1e-4).abs() < 5.0);
        assert!(none.deviations(0.01).abs() > 5.0);
    }

    #[test]
    fn the_spread_of_the_rounds_counts() {
        let same = Mean::of_shares(&[(50, 100), (50, 100)]);
        let apart = Mean::of_shares(&[(0, 100), (100, 100)]);
        assert!(same.error < 0.04 && apart.error > 0.4);
    }
}
