//! The law of the number of occupied bins after balls were thrown into m bins: the exact way to a filter's rate.
//!
//! P(X = i) = C(m,i) i! S(t,i) / m^t is a sum of huge terms of alternating sign when written with Stirling numbers. One ball
//! at a time it is a recurrence of positive terms, which loses no digits:
//!
//! ```text
//! P(i) <- P(i) i/m + P(i-1) (m-i+1)/m
//! ```
//!
//! Only the part of the law above a cut is kept, so t balls cost t times a few dozen standard deviations.

/// The law of the number of occupied bins.
pub(crate) struct Occupancy {
    bins: u64,
    /// `law[i]` = P(X = lowest + i); never empty.
    law: Vec<f64>,
    lowest: u64,
    /// Probabilities below this are dropped at both ends.
    cut: f64,
}

impl Occupancy {
    /// No ball thrown yet. `bins` is at least 1.
    pub(crate) fn new(bins: u64, cut: f64) -> Self {
        Occupancy { bins, law: vec![1.0], lowest: 0, cut }
    }

    /// True once every bin is occupied for certain: further balls change nothing.
    pub(crate) fn is_full(&self) -> bool {
        self.lowest == self.bins
    }

    /// Throws one ball. With `share` below 1 the ball is thrown with that probability only.
    pub(crate) fn throw(&mut self, share: f64) {
        if self.is_full() {
            return;
        }
        let scale = share / self.bins as f64;
        if self.lowest + self.law.len() as u64 <= self.bins {
            self.law.push(0.0);
        }
        // The number of bins that are free in state i + 1 of the law's window, seen from state i.
        let free = (self.bins - self.lowest) as f64;
        let law = self.law.as_mut_slice();
        for i in (1..law.len()).rev() {
            // 32 bits convert to a float many at a time, 64 do not; a law of 2^32 states could never be walked.
            let left = free - f64::from(i as u32);
            law[i] = law[i] * (1.0 - left * scale) + law[i - 1] * ((left + 1.0) * scale);
        }
        self.law[0] *= 1.0 - free * scale;
        while self.law.len() > 1 && self.law.last().is_some_and(|&p| p < self.cut) {
            self.law.pop();
        }
        let dropped = self.law.iter().take(self.law.len() - 1).take_while(|&&p| p < self.cut).count();
        if dropped > 0 {
            self.law.drain(..dropped);
            self.lowest += dropped as u64;
        }
    }

    /// Throws balls until they are used up or every bin is occupied.
    pub(crate) fn throw_many(&mut self, balls: u128) {
        let mut left = balls;
        while left > 0 && !self.is_full() {
            self.throw(1.0);
            left -= 1;
        }
    }

    /// P(X = occupied).
    pub(crate) fn chance_of(&self, occupied: u64) -> f64 {
        let index = occupied.checked_sub(self.lowest).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.law.get(index)).copied().unwrap_or(0.0)
    }

    /// E[weight(X)], where `weights[i]` is the weight of i occupied bins.
    pub(crate) fn mean_of(&self, weights: &[f64]) -> f64 {
        weights.iter().skip(self.lowest as usize).zip(&self.law).map(|(w, p)| w * p).sum()
    }
}

/// (i/m)^k for i = 0..=m: the chance that k probes all meet one of i occupied bins.
pub(crate) fn hit_weights(bins: u64, probes: u32) -> Vec<f64> {
    (0..=bins).map(|i| (i as f64 / bins as f64).powf(f64::from(probes))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_equals_an_enumeration_of_all_throws() {
        // 5 balls in 4 bins: count the occupied bins of all 4^5 outcomes.
        let mut counts = [0u32; 5];
        for outcome in 0..4u32.pow(5) {
            let occupied = (0..5).fold(0u32, |bits, ball| bits | 1 << (outcome >> (2 * ball) & 3));
            counts[occupied.count_ones() as usize] += 1;
        }
        let mut law = Occupancy::new(4, 0.0);
        law.throw_many(5);
        for (i, count) in counts.iter().enumerate() {
            let mut weights = vec![0.0; 5];
            weights[i] = 1.0;
            assert!((law.mean_of(&weights) - f64::from(*count) / 1024.0).abs() < 1e-15, "{i} occupied");
        }
    }

    #[test]
    fn endless_balls_fill_every_bin() {
        let mut law = Occupancy::new(50, 1e-60);
        law.throw_many(u128::MAX);
        assert!(law.is_full());
        assert!((law.mean_of(&hit_weights(50, 9)) - 1.0).abs() < 1e-12);
    }
}
