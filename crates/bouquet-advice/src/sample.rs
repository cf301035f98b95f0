//! What data look like: distinct keys, duplicates, skew, lengths.
//!
//! Keys whose hash is below a threshold are kept and counted exactly; whenever they are too many, the threshold is halved. So the kept ones
//! are a fair sample of the distinct keys, in bounded memory, each with its true frequency.

use std::collections::HashMap;

use bouquet::hash::Hashing;

/// Distinct keys that are kept at most.
const KEPT: usize = 1 << 17;

/// Looks at keys, one after the other.
///
/// ```
/// use bouquet_advice::Sample;
/// let mut sample = Sample::new();
/// for number in 0..30_000u64 {
///     sample.add(&(number % 10_000).to_le_bytes());
/// }
/// let told = sample.estimates();
/// assert_eq!((told.records, told.distinct), (30_000, 10_000));
/// assert_eq!(told.skew, None, "each comes three times");
/// ```
#[derive(Clone, Debug)]
pub struct Sample {
    kept: HashMap<u64, u64>,
    limit: usize,
    halvings: u32,
    records: u64,
    bytes: u64,
    lengths: (usize, usize),
}

/// What was seen, or is estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimates {
    /// Keys, duplicates included.
    pub records: u64,
    /// Distinct keys.
    pub distinct: u64,
    /// The standard deviation of that; 0 where they were counted.
    pub deviation: f64,
    /// The exponent of Zipf's law, where keys come so unequally often that they follow one.
    pub skew: Option<f64>,
    /// Bytes of a key: least, mean and most.
    pub lengths: (usize, f64, usize),
}

impl Estimates {
    /// The share of records that are duplicates of earlier ones.
    #[must_use]
    pub fn duplicates(&self) -> f64 {
        1.0 - self.distinct.min(self.records) as f64 / self.records.max(1) as f64
    }
}

impl Default for Sample {
    fn default() -> Self {
        Sample::new()
    }
}

impl Sample {
    /// Nothing was seen yet.
    #[must_use]
    pub fn new() -> Self {
        Sample::keeping(KEPT)
    }

    fn keeping(limit: usize) -> Self {
        Sample { kept: HashMap::new(), limit, halvings: 0, records: 0, bytes: 0, lengths: (usize::MAX, 0) }
    }

    /// Looks at a key.
    pub fn add(&mut self, key: &[u8]) {
        self.records += 1;
        self.bytes += key.len() as u64;
        self.lengths = (self.lengths.0.min(key.len()), self.lengths.1.max(key.len()));
        let hash = Hashing::default().digest(key).h1;
        if !self.is_kept(hash) {
            return;
        }
        *self.kept.entry(hash).or_default() += 1;
        while self.kept.len() > self.limit {
            self.halvings += 1;
            let halvings = self.halvings;
            self.kept.retain(|hash, _| hash.leading_zeros() >= halvings);
        }
    }

    fn is_kept(&self, hash: u64) -> bool {
        hash.leading_zeros() >= self.halvings
    }

    /// What is known so far.
    #[must_use]
    pub fn estimates(&self) -> Estimates {
        let share = 0.5f64.powi(self.halvings as i32);
        let kept = self.kept.len() as f64;
        let mut frequencies: Vec<u64> = self.kept.values().copied().collect();
        frequencies.sort_unstable_by(|a, b| b.cmp(a));
        Estimates {
            records: self.records,
            distinct: (kept / share).round() as u64,
            deviation: (kept * (1.0 - share)).sqrt() / share,
            skew: zipf(&frequencies, 1.0 / share),
            lengths: match self.records {
                0 => (0, 0.0, 0),
                records => (self.lengths.0, self.bytes as f64 / records as f64, self.lengths.1),
            },
        }
    }
}

/// The most likely exponent of Zipf's law for frequencies in falling order, whose ranks are this many times those of the sample. `None`
/// where keys come about equally often.
fn zipf(frequencies: &[u64], spacing: f64) -> Option<f64> {
    let total: f64 = frequencies.iter().map(|frequency| *frequency as f64).sum();
    if frequencies.len() < 10 || total < 2.0 * frequencies.len() as f64 {
        return None;
    }
    let rank = |at: usize| (at as f64 + 0.5) * spacing + 0.5;
    let logarithm: f64 = frequencies.iter().enumerate().map(|(at, of)| *of as f64 * rank(at).ln()).sum::<f64>() / total;
    // The likelihood is greatest where the mean logarithm of the rank is the expected one.
    let expected = |exponent: f64| {
        let weights = (0..frequencies.len()).map(|at| (rank(at).ln(), rank(at).powf(-exponent)));
        let (sum, norm) = weights.fold((0.0, 0.0), |(sum, norm), (log, weight)| (sum + log * weight, norm + weight));
        sum / norm
    };
    let (mut low, mut high) = (0.0, 5.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if expected(middle) > logarithm { low = middle } else { high = middle }
    }
    Some((low + high) / 2.0).filter(|exponent| *exponent > 0.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bouquet::hash::{SplitMix, mix};

    #[test]
    fn distinct_keys_are_estimated_within_five_standard_deviations() {
        for (seed, distinct) in [(1u64, 20_000u64), (2, 150_000), (3, 300_000)] {
            let mut sample = Sample::keeping(1 << 12);
            (0..distinct).for_each(|number| sample.add(&mix(number ^ seed << 32).to_le_bytes()));
            let told = sample.estimates();
            assert!(told.deviation > 0.0 && sample.kept.len() <= 1 << 12);
            let off = told.distinct as f64 - distinct as f64;
            assert!(off.abs() < 5.0 * told.deviation, "{told:?} of {distinct}");
        }
    }

    #[test]
    fn the_exponent_of_zipfs_law_is_found() {
        for exponent in [0.8, 1.1, 1.5] {
            let keys = 5_000;
            let sums: Vec<f64> = (1..=keys)
                .scan(0.0, |sum, rank| {
                    *sum += f64::from(rank).powf(-exponent);
                    Some(*sum)
                })
                .collect();
            let mut random = SplitMix::new(5);
            let mut sample = Sample::new();
            for _ in 0..200_000 {
                let at = random.unit() * sums[sums.len() - 1];
                sample.add(&(sums.partition_point(|end| *end < at) as u64).to_le_bytes());
            }
            let found = sample.estimates().skew.unwrap();
            assert!((found - exponent).abs() < 0.1, "{found} for {exponent}");
        }
    }

    #[test]
    fn equal_frequencies_are_no_law() {
        let mut sample = Sample::new();
        (0..40_000u64).for_each(|number| sample.add(&(number % 1_000).to_le_bytes()));
        assert_eq!(sample.estimates().skew, None);
        assert_eq!(Sample::new().estimates().lengths, (0, 0.0, 0));
    }
}
