//! Whole numbers of any size, as far as listing needs them.

use std::cmp::Ordering;
use std::fmt;

/// Words from the lowest to the highest, which is not 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Big(Vec<u64>);

impl Big {
    pub(super) fn one() -> Self {
        Big(vec![1])
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    fn trimmed(mut words: Vec<u64>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Big(words)
    }

    /// This number times `factor` and `more`.
    pub(super) fn times_plus(&self, factor: u64, more: u64) -> Self {
        let mut carry = u128::from(more);
        let mut words: Vec<u64> = Vec::with_capacity(self.0.len() + 1);
        for &word in &self.0 {
            carry += u128::from(word) * u128::from(factor);
            words.push(carry as u64);
            carry >>= 64;
        }
        words.push(carry as u64);
        Self::trimmed(words)
    }

    /// The difference, if it is not negative.
    pub(super) fn minus(&self, other: &Self) -> Option<Self> {
        if self.cmp(other) == Ordering::Less {
            return None;
        }
        let mut borrow = false;
        let word = |at: usize| other.0.get(at).copied().unwrap_or(0);
        let differences = self.0.iter().enumerate().map(|(at, &mine)| {
            let (difference, first) = mine.overflowing_sub(word(at));
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            borrow = first || second;
            difference
        });
        Some(Self::trimmed(differences.collect()))
    }

    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl fmt::Display for Big {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: u64 = 10_000_000_000_000_000_000;
        let (mut words, mut groups) = (self.0.clone(), Vec::new());
        while !words.is_empty() {
            let mut rest = 0u128;
            for word in words.iter_mut().rev() {
                let part = rest << 64 | u128::from(*word);
                *word = (part / u128::from(DIGITS)) as u64;
                rest = part % u128::from(DIGITS);
            }
            groups.push(rest as u64);
            words = Self::trimmed(words).0;
        }
        write!(f, "{}", groups.pop().unwrap_or(0))?;
        groups.iter().rev().try_for_each(|group| write!(f, "{group:019}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_differences_and_digits_are_those_of_small_numbers() {
        let big = |number: u128| Big::trimmed(vec![number as u64, (number >> 64) as u64]);
        for (a, b) in
            [(0, 0), (1, 0), (u128::MAX / 7, 12_345), (u128::from(u64::MAX) + 1, 1), (10u128.pow(38), 10u128.pow(19))]
        {
            assert_eq!(big(a).minus(&big(b)), Some(big(a - b)));
            assert_eq!(big(b).minus(&big(a)).is_some(), a == b);
            assert_eq!(big(a).to_string(), a.to_string());
            assert_eq!(big(a / 7).times_plus(7, 5), big(a / 7 * 7 + 5));
        }
        // 2^64 to the fourth, less 1.
        let power = (0..4).fold(Big::one(), |power, _| power.times_plus(u64::MAX, 0).times_plus(1, 0));
        assert_eq!(power.times_plus(0, 3), big(3));
    }
}
