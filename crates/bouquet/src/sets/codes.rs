//! Binary codes for sets: set i has the code i + 1, so that code 0 means "in none".
//!
//! Filter j of a coded bank holds a key if bit j of its code is one. A filter errs towards one only, so the code that is
//! read has all bits of the true one, perhaps more: it may be another set's. The sets whose codes lie within the one read
//! always include the true one.
//!
//! Filters of a coded bank are not independent: a key whose code has two ones lies at the same positions of two filters.
//! With z(V) = (1 - 1/b)^n(V), the chance that a bit (of a slice of b) is zero in all filters of V, n(V) the keys whose
//! codes meet V,
//!
//! ```text
//! a(T)     = sum over V within T of (-1)^|V| z(V)            a bit is one in all filters of T
//! P(T)     = a(T)^k                                          all filters of T accept an absent key
//! P(any)   = sum over T, not empty, of (-1)^(|T|+1) P(T)     some filter does
//! P(= T)   = sum over U that contain T of (-1)^(|U|-|T|) P(U)   the filters of T accept, and no other
//! ```
//!
//! The sums over all subsets take c 2^c steps for c filters. If filters were independent, P(any of z) would be 1 - (1-f)^z.

use crate::theory::bank::code_filters;

/// The code of a set.
pub(crate) fn code(set: u64) -> u64 {
    set + 1
}

/// The set, of `sets` in all, with this code.
pub(crate) fn set(code: u64, sets: u64) -> Option<u64> {
    code.checked_sub(1).filter(|&set| set < sets)
}

/// The sets, of `sets` in all, whose codes lie within the one read, ascending.
pub(crate) fn candidates(read: u64, sets: u64) -> impl Iterator<Item = u64> {
    // (v - read) & read steps through the numbers within `read` in ascending order.
    std::iter::successors(Some(0u64), move |v| Some(v.wrapping_sub(read) & read).filter(|&next| next != 0))
        .skip(1)
        .take_while(move |&code| code <= sets)
        .map(|code| code - 1)
}

/// For each set T of filters, written as a mask, the chance P(T) that all of them accept an absent key.
pub(crate) struct Acceptance {
    all: Vec<f64>,
}

impl Acceptance {
    /// What theory expects when set i holds `counts[i]` keys, in filters of k slices of `slice` bits.
    pub(crate) fn expected(counts: &[u64], slice: u64, hashes: u32) -> Self {
        let filters = code_filters(counts.len() as u64);
        let masks = 1usize << filters;
        // n(V) = all keys less those whose codes lie within V's complement.
        let mut within = vec![0.0; masks];
        for (set, &count) in (0..).zip(counts) {
            within[code(set) as usize] = count as f64;
        }
        sum_over_subsets(&mut within, filters);
        let keys = within[masks - 1];
        let miss = (-1.0 / slice as f64).ln_1p();
        let mut all: Vec<f64> = (0..masks)
            .map(|mask| {
                let meeting = keys - within[masks - 1 - mask];
                let zero = if meeting == 0.0 { 1.0 } else { (meeting * miss).exp() };
                sign(mask) * zero
            })
            .collect();
        sum_over_subsets(&mut all, filters);
        for chance in &mut all {
            *chance = chance.clamp(0.0, 1.0).powi(hashes as i32);
        }
        Acceptance { all }
    }

    /// What an instance does: `slices` gives, slice by slice, the bits of all filters at its positions as masks.
    pub(crate) fn measured(filters: u32, slice: u64, slices: impl Iterator<Item = impl Iterator<Item = u64>>) -> Self {
        let masks = 1usize << filters;
        let mut all = vec![1.0; masks];
        for positions in slices {
            let mut patterns = vec![0.0; masks];
            for pattern in positions {
                // Counted under the complement, so that the sum over subsets is the sum over supersets.
                patterns[masks - 1 - (pattern as usize & (masks - 1))] += 1.0;
            }
            sum_over_subsets(&mut patterns, filters);
            for (mask, chance) in all.iter_mut().enumerate() {
                *chance *= patterns[masks - 1 - mask] / slice as f64;
            }
        }
        Acceptance { all }
    }

    /// The chance that at least one of the filters of `mask` accepts.
    pub(crate) fn any_of(&self, mask: u64) -> f64 {
        let mask = mask as usize & (self.all.len() - 1);
        let (mut sum, mut part) = (0.0, mask);
        while part != 0 {
            sum -= sign(part) * self.all[part];
            part = (part - 1) & mask;
        }
        sum.clamp(0.0, 1.0)
    }

    /// The chance that all filters of `mask` accept.
    pub(crate) fn all_of(&self, mask: u64) -> f64 {
        usize::try_from(mask).ok().and_then(|mask| self.all.get(mask)).copied().unwrap_or(0.0)
    }

    /// The chance that at least one filter accepts.
    pub(crate) fn any(&self) -> f64 {
        self.any_of(u64::MAX)
    }

    /// The expected number of sets that an absent key is reported in: the one whose code is read, or, if no set has that
    /// code, all whose codes lie within it.
    pub(crate) fn reported(&self, sets: u64) -> f64 {
        let filters = self.filters();
        let mut within: Vec<f64> = (0..self.all.len() as u64).map(|code| has_code(code, sets)).collect();
        sum_over_subsets(&mut within, filters);
        let mut exactly = self.all.clone();
        exactly_these(&mut exactly, filters);
        let told = |(code, chance): (u64, &f64)| {
            chance * if has_code(code, sets) == 1.0 { 1.0 } else { within[code as usize] }
        };
        (0..).zip(&exactly).map(told).sum::<f64>().max(0.0)
    }

    /// The share of members, `counts[i]` of them in set i alone, for which the code of another set is read; `None` for so
    /// many sets that the sum would take seconds, and without members.
    pub(crate) fn missing(&self, counts: &[u64]) -> Option<f64> {
        /// The sum takes about c 3^c steps for c filters.
        const MOST_FILTERS: u32 = 12;
        let total: f64 = counts.iter().map(|&count| count as f64).sum();
        if self.filters() > MOST_FILTERS || total == 0.0 {
            return None;
        }
        let wrong = |(set, &count): (u64, &u64)| count as f64 / total * self.another(code(set), counts.len() as u64);
        let all = (0..).zip(counts).filter(|(_, count)| **count > 0).map(wrong);
        Some(all.sum::<f64>().clamp(0.0, 1.0))
    }

    /// The chance that a key of this code is read with the code of another set.
    fn another(&self, own: u64, sets: u64) -> f64 {
        let free: Vec<u64> = (0..self.filters()).map(|filter| 1 << filter).filter(|bit| own & bit == 0).collect();
        // The codes that can be read, in the order of their free bits; the first is the own one.
        let mut read = vec![own];
        for bit in &free {
            read.extend_from_within(..);
            let half = read.len() / 2;
            read[half..].iter_mut().for_each(|code| *code |= bit);
        }
        let mut exactly: Vec<f64> = read.iter().map(|code| self.all_of(code & !own)).collect();
        exactly_these(&mut exactly, free.len() as u32);
        let wrong = read.iter().zip(&exactly).skip(1).filter(|(code, _)| has_code(**code, sets) == 1.0);
        wrong.map(|(_, chance)| chance).sum::<f64>().clamp(0.0, 1.0)
    }

    fn filters(&self) -> u32 {
        self.all.len().trailing_zeros()
    }
}

/// 1 if some set has this code.
fn has_code(code: u64, sets: u64) -> f64 {
    f64::from(u8::from(set(code, sets).is_some()))
}

/// Turns the chances that all filters of a mask accept into those that these accept and no others.
fn exactly_these(chances: &mut [f64], bits: u32) {
    for bit in 0..bits {
        for mask in 0..chances.len() {
            if mask >> bit & 1 == 0 {
                chances[mask] -= chances[mask | 1 << bit];
            }
        }
    }
}

fn sign(mask: usize) -> f64 {
    if mask.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// Replaces every entry by the sum of the entries whose masks lie within its own.
fn sum_over_subsets(values: &mut [f64], bits: u32) {
    for bit in 0..bits {
        for mask in 0..values.len() {
            if mask >> bit & 1 == 1 {
                values[mask] += values[mask ^ 1 << bit];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::{bank, partitioned};

    #[test]
    fn candidates_are_the_sets_within_the_code() {
        for sets in [1, 2, 5, 7, 12] {
            for read in 0..32 {
                let expected: Vec<_> = (0..sets).filter(|&set| code(set) & !read == 0).collect();
                assert_eq!(candidates(read, sets).collect::<Vec<_>>(), expected, "{read} of {sets}");
            }
        }
        assert_eq!(candidates(u64::MAX, 3).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn filters_without_common_keys_are_independent() {
        // Sets 0, 1 and 3 have the codes 1, 2 and 4.
        let acceptance = Acceptance::expected(&[100, 200, 0, 300], 300, 5);
        let rates: Vec<_> = [100, 200, 300].map(|n| partitioned::rate(1500, n, 5)).to_vec();
        assert!((acceptance.any() / bank::any_spurious(&rates) - 1.0).abs() < 1e-9);
        // One set, and for the codes 5, 6 and 7, which no set has, those within: 0 and 3; 1 and 3; 0, 1, 2 and 3.
        let [a, b, c] = [rates[0], rates[1], rates[2]];
        let only = |x: f64, y: f64, z: f64| x * (1.0 - y) * (1.0 - z);
        let one = only(a, b, c) + only(b, a, c) + only(c, a, b) + a * b * (1.0 - c);
        let ids = one + 2.0 * a * c * (1.0 - b) + 2.0 * b * c * (1.0 - a) + 4.0 * a * b * c;
        assert!((acceptance.reported(4) / ids - 1.0).abs() < 1e-9);
        // Of set 0, code 1, another is told for code 3 alone: 5 and 7 are no codes.
        assert!((acceptance.another(1, 4) / (b * (1.0 - c)) - 1.0).abs() < 1e-9);
        let all =
            [100.0 * acceptance.another(1, 4), 200.0 * acceptance.another(2, 4), 300.0 * acceptance.another(4, 4)];
        let missing = all.iter().sum::<f64>() / 600.0;
        assert!((acceptance.missing(&[100, 200, 0, 300]).unwrap() / missing - 1.0).abs() < 1e-9);
    }

    #[test]
    fn filters_with_equal_keys_are_one_filter() {
        // Set 2 has the code 3: both filters hold the same keys.
        let acceptance = Acceptance::expected(&[0, 0, 200], 300, 5);
        assert!((acceptance.any() / partitioned::rate(1500, 200, 5) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn no_keys_accept_nothing() {
        let acceptance = Acceptance::expected(&[0; 9], 10, 3);
        assert_eq!((acceptance.any(), acceptance.reported(9), acceptance.missing(&[0; 9])), (0.0, 0.0, None));
    }

    #[test]
    fn measuring_counts_the_positions_that_all_filters_have() {
        // Two slices of four positions, two filters.
        let slices = [[0b11, 0b01, 0b00, 0b10], [0b11, 0b11, 0b01, 0b01]];
        let acceptance = Acceptance::measured(2, 4, slices.iter().map(|slice| slice.iter().copied()));
        let (first, second, both) = (0.5 * 1.0, 0.5 * 0.5, 0.25 * 0.5);
        assert_eq!(acceptance.any_of(0b01), first);
        assert_eq!(acceptance.any_of(0b10), second);
        assert_eq!(acceptance.any(), first + second - both);
    }
}
