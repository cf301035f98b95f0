//! What a bank's rates are, in theory and at this moment.

use super::{Bank, Cells};
use crate::error::{Error, Result};
use crate::sets::codes::{self, Acceptance};
use crate::store::Counters;
use crate::theory::{self, partitioned};

/// This many insertions, spread evenly over the sets.
pub(super) fn evenly(items: u64, sets: u64) -> Vec<u64> {
    (0..sets).map(|set| items / sets + u64::from(set < items % sets)).collect()
}

impl Bank {
    /// For every filter, its ones (or counters in use) and its rate: the product of the fills of its slices.
    pub(super) fn census(&self) -> Vec<(u64, f64)> {
        let hashes = u64::from(self.shape.hashes);
        let mut census: Vec<_> = (0..self.shape.filters()).map(|_| (0, 1.0)).collect();
        let slices: Vec<_> = (0..self.shape.filters()).map(|filter| self.filter_bits(filter) / hashes).collect();
        for i in 0..hashes {
            let ones: Vec<u64> = match &self.cells {
                Cells::Bits(matrix) => match matrix.rows() {
                    Some(rows) => {
                        rows.iter().zip(&slices).map(|(row, s)| row.count_ones_in(i * s, (i + 1) * s)).collect()
                    }
                    None => matrix.ones_in(i * slices[0], (i + 1) * slices[0]),
                },
                Cells::Counters(rows) => {
                    let used = |row: &Counters, s: u64| (i * s..(i + 1) * s).filter(|&p| row.get(p) != 0).count();
                    rows.iter().zip(&slices).map(|(row, &s)| used(row, s) as u64).collect()
                }
            };
            for ((sum, rate), (ones, &slice)) in census.iter_mut().zip(ones.into_iter().zip(&slices)) {
                *sum += ones;
                *rate *= ones as f64 / slice as f64;
            }
        }
        census
    }

    /// The expected ones of every filter after the insertions so far, and their variance.
    pub(super) fn expected_ones(&self) -> Vec<(f64, f64)> {
        let inserted = |filter: u64| {
            if !self.shape.is_coded() {
                return self.tallies[filter as usize].inserted;
            }
            let members = (0..).zip(&self.tallies).filter(|(set, _)| codes::code(*set) >> filter & 1 == 1);
            members.fold(0u64, |sum, (_, tally)| sum.saturating_add(tally.inserted))
        };
        let k = f64::from(self.shape.hashes);
        (0..self.shape.filters())
            .map(|filter| {
                let (slice, n) = (self.filter_bits(filter) / u64::from(self.shape.hashes), inserted(filter));
                (k * theory::spread::ones(slice, n, 1), k * theory::spread::ones_variance(slice, n, 1))
            })
            .collect()
    }

    /// A keyed bank comes from where adversaries are. One filter that accepts everything would hardly show in the fill of
    /// all, so each is held against its own item count: expected ones plus 8 standard deviations.
    pub(super) fn refuse_overfull_filters(&self) -> Result<()> {
        for (filter, ((ones, _), (mean, variance))) in (0..).zip(self.census().into_iter().zip(self.expected_ones())) {
            let bits = self.filter_bits(filter) as f64;
            let (fill, limit) = (ones as f64 / bits, (mean + 8.0 * variance.sqrt()) / bits);
            // Means are rounded: a full filter of expected fill 1 is no forgery.
            if fill > limit + 1e-9 {
                return Err(Error::Overfull { fill, limit });
            }
        }
        Ok(())
    }

    pub(super) fn acceptance(&self, counts: &[u64]) -> Acceptance {
        Acceptance::expected(counts, self.shape.slice_bits(), self.shape.hashes)
    }

    /// Of a coded bank, which filters accept together as they are now.
    pub(super) fn acceptance_now(&self) -> Acceptance {
        let slice = self.shape.slice_bits();
        let word = |position| match &self.cells {
            Cells::Bits(matrix) => matrix.row_word(position, 0),
            Cells::Counters(_) => 0,
        };
        let slices = (0..u64::from(self.shape.hashes)).map(|i| (i * slice..(i + 1) * slice).map(word));
        Acceptance::measured(self.shape.filters() as u32, slice, slices)
    }

    /// How `items` insertions spread over the sets: in the proportions of those so far, evenly in an empty bank.
    pub(super) fn spread(&self, items: u64) -> Vec<u64> {
        let total: u128 = self.tallies.iter().map(|tally| u128::from(tally.items)).sum();
        let shares = self.tallies.iter().map(|tally| u128::from(tally.items));
        if total == 0 {
            return evenly(items, self.shape.sets);
        }
        // A share is at most the total, so the quotient is at most `items`.
        shares.map(|share| ((share * u128::from(items) + total / 2) / total) as u64).collect()
    }

    pub(super) fn expected_rates(&self, counts: &[u64]) -> Vec<f64> {
        let rate = |(set, &n)| partitioned::rate(self.filter_bits(set), n, self.shape.hashes);
        (0..).zip(counts).map(rate).collect()
    }

    /// How many filters may vary together.
    pub(super) fn shared_filters(&self) -> f64 {
        if self.shape.is_coded() { self.shape.filters() as f64 } else { 1.0 }
    }
}
