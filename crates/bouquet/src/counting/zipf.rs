//! Streams whose keys are as unequal as words in a text.

use std::collections::HashMap;

use crate::hash::SplitMix;

/// Keys 0..n, key i with probability proportional to (i+1)^-s.
pub(crate) struct Zipf {
    cumulative: Vec<f64>,
    random: SplitMix,
}

impl Zipf {
    pub(crate) fn new(keys: u64, exponent: f64, seed: u64) -> Self {
        let mut sum = 0.0;
        let cumulative = (1..=keys).map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        });
        Zipf { cumulative: cumulative.collect(), random: SplitMix::new(seed) }
    }

    /// This many keys, and how often each of them occurs.
    pub(crate) fn stream(mut self, len: usize) -> (Vec<u64>, HashMap<u64, u64>) {
        let keys: Vec<u64> = self.by_ref().take(len).collect();
        let mut truth = HashMap::new();
        keys.iter().for_each(|key| *truth.entry(*key).or_default() += 1);
        (keys, truth)
    }
}

impl Iterator for Zipf {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let at = self.random.unit() * self.cumulative.last()?;
        Some(self.cumulative.partition_point(|&sum| sum <= at) as u64)
    }
}
