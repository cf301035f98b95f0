//! A second filter as witness: filters that confirm, contradict or name the errors of another.
//!
//! A main filter whose positives one of j check filters over parts of the set must confirm errs with
//! f_0 (1 - prod (1 - f_i)); where a key's own part is known, with f_0 times the mean of f_i. Of two filters over a set and over the
//! rest of a known universe both say yes with w f_C + (1-w) f_S, for the share w of questions about members. A filter of q bits
//! that holds j patterns of k' bits covers another pattern with (1 - (1-1/q)^(j k'))^k'. A node of a trie whose nearest real
//! ancestor is t levels up passes a check of a ancestors with f^min(t, 1+a).
//!
//! Sources: H. Lim, N. Lee, J. Lee, C. Yim, *Reducing false positives of a Bloom filter using cross-checking Bloom filters*, 2014;
//! H. Lim, J. Lee, C. Yim, *Complement Bloom filter for identifying true positiveness of a Bloom filter*, 2015; J. Mun, J. Lee,
//! H. Lim, *A new Bloom filter structure for identifying true positiveness of a Bloom filter*, 2017; L. Carrea, A. Vernitski,
//! M. Reed, *Yes-no Bloom filter: a way of representing sets with fewer false positives*, 2016; C. Ju, H. Lim, *On reducing false
//! positives of a Bloom filter in trie-based algorithms*, 2014.

use super::special::{amount, probability};
use super::{MAX_BITS, Size, check_bits, check_positive, check_rate, standard};
use crate::{Error, Result};

/// The rate at which a main filter accepts a stranger that at least one of the check filters accepts too.
///
/// ```
/// use bouquet_theory::witnesses::confirmed;
/// assert!((confirmed(0.1, &[0.1, 0.1]) - 0.019).abs() < 1e-12);
/// assert_eq!(confirmed(0.1, &[]), 0.0, "nobody confirms");
/// ```
pub fn confirmed(main: f64, parts: &[f64]) -> f64 {
    // By logarithms, since 1 - prod (1 - f) would lose small rates.
    let none: f64 = parts.iter().map(|part| (-probability(*part)).ln_1p()).sum();
    probability(main) * -none.exp_m1()
}

/// The same where the one part is asked to which the key would belong: each with the same chance.
///
/// ```
/// use bouquet_theory::witnesses::confirmed_by_own;
/// assert!((confirmed_by_own(0.1, &[0.2, 0.1]) - 0.015).abs() < 1e-12);
/// ```
pub fn confirmed_by_own(main: f64, parts: &[f64]) -> f64 {
    let sum: f64 = parts.iter().map(|part| probability(*part)).sum();
    probability(main) * sum / parts.len().max(1) as f64
}

/// A main filter and check filters of equal size over parts of the set.
///
/// ```
/// use bouquet_theory::{standard, witnesses::CrossChecked};
/// // At the best numbers of positions two check filters make it twice as bad as a plain filter of the same size,
/// let best = CrossChecked::of_bits(240_000, 20_000, 2, 0.5, 64)?;
/// assert!((best.rate(20_000, false) / standard::rate(240_000, 20_000, 8) - 1.94).abs() < 0.1);
/// // with three positions in each of them seven times better than a plain filter with three.
/// let few = CrossChecked::of_bits(480_000, 20_000, 2, 0.5, 3)?;
/// assert!((standard::rate(480_000, 20_000, 3) / few.rate(20_000, false) - 7.0).abs() < 0.1);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossChecked {
    /// The main filter.
    pub main: Size,
    /// Each of the check filters.
    pub part: Size,
    /// The number of check filters.
    pub parts: u32,
}

impl CrossChecked {
    /// The bits of the main filter and of each check filter, when the main one gets this share of all.
    ///
    /// ```
    /// use bouquet_theory::witnesses::CrossChecked;
    /// assert_eq!(CrossChecked::split(1_001, 2, 0.5)?, (501, 250));
    /// assert!(CrossChecked::split(3, 4, 0.5).is_err(), "a part would have no bit");
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn split(bits: u64, parts: u32, share: f64) -> Result<(u64, u64)> {
        check_positive("parts", parts.into())?;
        let part = (bits as f64 * (1.0 - probability(share)) / f64::from(parts)) as u64;
        match part.checked_mul(parts.into()).and_then(|all| bits.checked_sub(all)) {
            Some(main) if main > 0 && part > 0 => Ok((main, part)),
            _ => Err(Error::parameter("bits", "enough for a bit of each filter", bits)),
        }
    }

    /// The filters of this many bits together with the best numbers of positions for `items` keys, at most `limit`.
    pub fn of_bits(bits: u64, items: u64, parts: u32, share: f64, limit: u32) -> Result<Self> {
        check_positive("items", items)?;
        let (main, part) = Self::split(bits, parts, share)?;
        let sized = |bits: u64, items: u64| -> Result<Size> {
            let best = standard::for_bits(bits, items)?;
            Ok(Size { hashes: best.hashes.min(limit).max(1), ..best })
        };
        Ok(CrossChecked { main: sized(main, items)?, part: sized(part, items.div_ceil(parts.into()))?, parts })
    }

    /// The smallest filters with this rate.
    ///
    /// ```
    /// use bouquet_theory::witnesses::CrossChecked;
    /// let checked = CrossChecked::for_rate(1_000, 0.01, 2, 0.5, false, 64)?;
    /// assert!(checked.rate(1_000, false) <= 0.01 && checked.bits() < 12_500);
    /// let own = CrossChecked::for_rate(1_000, 0.01, 2, 0.5, true, 64)?;
    /// assert!(own.bits() < checked.bits(), "the own part alone is a better witness");
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn for_rate(items: u64, rate: f64, parts: u32, share: f64, own: bool, limit: u32) -> Result<Self> {
        check_rate("fpr", rate)?;
        check_positive("items", items)?;
        let sized = |bits: u64| Self::of_bits(bits, items, parts, share, limit);
        let enough = |bits: u64| sized(bits).is_ok_and(|checked| checked.approximate(items, own) <= rate);
        let mut high = 2 * (u64::from(parts) + 1);
        while !enough(high) {
            high = check_bits(high as f64 * 2.0)?;
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if enough(middle) { high = middle } else { low = middle }
        }
        // The exact rates of small filters are a little larger.
        let mut checked = sized(high)?;
        for _ in 0..64 {
            if checked.rate(items, own) <= rate {
                break;
            }
            high = check_bits(high as f64 + (high as f64 / 128.0).max(1.0))?;
            checked = sized(high)?;
        }
        Ok(checked)
    }

    /// All bits.
    pub fn bits(&self) -> u64 {
        self.main.bits.saturating_add(self.part.bits.saturating_mul(self.parts.into()))
    }

    /// The rate with `items` keys that a hash spreads over the parts, when all of them are asked or the key's own alone.
    pub fn rate(&self, items: u64, own: bool) -> f64 {
        self.rate_by(items, own, standard::expected_rate)
    }

    fn approximate(&self, items: u64, own: bool) -> f64 {
        self.rate_by(items, own, standard::rate)
    }

    fn rate_by(&self, items: u64, own: bool, rate: fn(u64, u64, u32) -> f64) -> f64 {
        let part = self.mean_over_share(items, |items| rate(self.part.bits, items, self.part.hashes));
        let main = rate(self.main.bits, items, self.main.hashes);
        let parts = vec![part; self.parts.clamp(1, 1 << 10) as usize];
        if own { confirmed_by_own(main, &parts) } else { confirmed(main, &parts) }
    }

    /// The mean of a function of the keys that a hash puts into one part: three points of Gauss and Hermite, which are exact up to the
    /// fifth moment of the normal law.
    fn mean_over_share(&self, items: u64, of: impl Fn(u64) -> f64) -> f64 {
        let (n, p) = (items as f64, 1.0 / f64::from(self.parts.max(1)));
        let (mean, deviation) = (n * p, (3.0 * n * p * (1.0 - p)).sqrt());
        let at = |keys: f64| of(keys.max(0.0).round() as u64);
        (at(mean - deviation) + 4.0 * at(mean) + at(mean + deviation)) / 6.0
    }

    /// The rate with these numbers of keys in the parts, all of which are asked.
    ///
    /// ```
    /// use bouquet_theory::witnesses::CrossChecked;
    /// let checked = CrossChecked::of_bits(12_000, 1_000, 2, 0.5, 64)?;
    /// assert!(checked.rate_of(&[1_000, 0]) > checked.rate_of(&[500, 500]), "an overfull part confirms too much");
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn rate_of(&self, items: &[u64]) -> f64 {
        confirmed(self.main_rate_of(items), &self.part_rates_of(items))
    }

    /// The parts that confirm a stranger, on average, with these numbers of keys in the parts.
    ///
    /// ```
    /// use bouquet_theory::witnesses::CrossChecked;
    /// let checked = CrossChecked::of_bits(12_000, 1_000, 2, 0.5, 64)?;
    /// assert!(checked.confirming_of(&[500, 500]) > checked.rate_of(&[500, 500]));
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn confirming_of(&self, items: &[u64]) -> f64 {
        self.main_rate_of(items) * self.part_rates_of(items).iter().sum::<f64>()
    }

    fn main_rate_of(&self, items: &[u64]) -> f64 {
        let all = items.iter().fold(0u64, |sum, items| sum.saturating_add(*items));
        standard::expected_rate(self.main.bits, all, self.main.hashes)
    }

    fn part_rates_of(&self, items: &[u64]) -> Vec<f64> {
        items.iter().map(|&items| standard::expected_rate(self.part.bits, items, self.part.hashes)).collect()
    }
}

/// The share of questions to which both of two filters say yes, one of a set and one of the rest of the universe: `members` is the
/// share of questions about members, the rates are those of each filter among keys that it does not hold.
///
/// ```
/// use bouquet_theory::witnesses::undetermined;
/// assert!((undetermined(0.2, 0.0082, 0.0082) - 0.0082).abs() < 1e-12, "not the sum of the rates");
/// ```
pub fn undetermined(members: f64, main: f64, complement: f64) -> f64 {
    let members = probability(members);
    members * probability(complement) + (1.0 - members) * probability(main)
}

/// A filter of a set and one of the rest of its universe, or of those among the rest that the first accepts.
///
/// ```
/// use bouquet_theory::witnesses::Complement;
/// let full = Complement { items: 20_000, others: 80_000, members: 0.2, petit: false };
/// let (main, complement) = full.for_share(0.0082)?;
/// assert!((full.undetermined(main, complement) - 0.0082).abs() < 1e-5);
/// // Equal gain per bit: with questions in proportion the rates are as the squares of the sides.
/// let share = full.rates(main, complement);
/// assert!((0.5..2.0).contains(&(share.0 / share.1 * 16.0)), "{share:?}");
/// // The small complement holds what the main filter accepts wrongly.
/// let petit = Complement { petit: true, ..full };
/// let (main, small) = petit.for_share(0.0082)?;
/// assert!(small.bits < complement.bits / 20 && petit.undetermined(main, small) < 0.00821);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Complement {
    /// The members.
    pub items: u64,
    /// The other keys of the universe.
    pub others: u64,
    /// The share of questions about members.
    pub members: f64,
    /// Whether the second filter holds only those others that the first accepts.
    pub petit: bool,
}

/// Steps in which a split is looked for.
const SPLITS: u32 = 512;

impl Complement {
    /// The share of questions about members when every key of the universe is asked for equally often.
    ///
    /// ```
    /// use bouquet_theory::witnesses::Complement;
    /// assert_eq!(Complement::even_share(20_000, 80_000), 0.2);
    /// ```
    pub fn even_share(items: u64, others: u64) -> f64 {
        let all = items as f64 + others as f64;
        if all > 0.0 { items as f64 / all } else { 0.5 }
    }

    /// The keys in the second filter when the first has this rate.
    ///
    /// ```
    /// use bouquet_theory::witnesses::Complement;
    /// let petit = Complement { items: 100, others: 900, members: 0.1, petit: true };
    /// assert_eq!(petit.held(0.01), 9);
    /// assert_eq!(Complement { petit: false, ..petit }.held(0.01), 900);
    /// ```
    pub fn held(&self, main: f64) -> u64 {
        let held = if self.petit { (self.others as f64 * probability(main)).ceil() as u64 } else { self.others };
        held.max(1)
    }

    /// The rates of the two filters, each among keys that it does not hold.
    pub fn rates(&self, main: Size, complement: Size) -> (f64, f64) {
        let first = standard::expected_rate(main.bits, self.items, main.hashes);
        (first, standard::expected_rate(complement.bits, self.held(first), complement.hashes))
    }

    /// The share of questions to which both say yes.
    pub fn undetermined(&self, main: Size, complement: Size) -> f64 {
        let (first, second) = self.rates(main, complement);
        undetermined(self.members, first, second)
    }

    /// The smallest filters for this share.
    pub fn for_share(&self, share: f64) -> Result<(Size, Size)> {
        check_rate("share", share)?;
        let members = probability(self.members);
        // The main rate at which nothing would be left for the other, or nearly 1.
        let most = (share / (1.0 - members).max(1e-9)).min(0.9);
        let mut best: Option<(Size, Size)> = None;
        for step in 1..SPLITS {
            // By equal factors of the rate, down to a ten-thousandth of the largest.
            let rate = most * 1e-4f64.powf(f64::from(step) / f64::from(SPLITS));
            let left = ((share - (1.0 - members) * rate) / members.max(1e-9)).min(0.9);
            if left <= 0.0 {
                continue;
            }
            let (Ok(main), Ok(other)) =
                (standard::for_rate(self.items, rate), standard::for_rate(self.held(rate), left))
            else {
                continue;
            };
            if best.is_none_or(|(a, b)| main.bits + other.bits < a.bits + b.bits) {
                best = Some((main, other));
            }
        }
        best.ok_or_else(|| Error::TooLarge { what: "the filters".into(), bytes: u128::from(MAX_BITS) / 8 })
    }

    /// The filters of this many bits together with the smallest share.
    ///
    /// ```
    /// use bouquet_theory::witnesses::Complement;
    /// let full = Complement { items: 1_000, others: 1_000, members: 0.5, petit: false };
    /// let (main, complement) = full.of_bits(20_000)?;
    /// assert!(main.bits.abs_diff(complement.bits) < 100 && main.bits + complement.bits == 20_000);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    pub fn of_bits(&self, bits: u64) -> Result<(Size, Size)> {
        let mut best: Option<(f64, (Size, Size))> = None;
        for step in 1..SPLITS {
            let main = (u128::from(bits) * u128::from(step) / u128::from(SPLITS)) as u64;
            let Ok(sizes) = self.split_at(bits, main) else { continue };
            let (first, second) = sizes;
            let rate = standard::rate(first.bits, self.items, first.hashes);
            let other = standard::rate(second.bits, self.held(rate), second.hashes);
            let share = undetermined(self.members, rate, other);
            if best.is_none_or(|(least, _)| share < least) {
                best = Some((share, sizes));
            }
        }
        best.map(|(_, sizes)| sizes).ok_or_else(|| Error::parameter("bits", "at least 2, one for each filter", bits))
    }

    /// The filters of which the main one has this many of the bits.
    pub fn split_at(&self, bits: u64, main: u64) -> Result<(Size, Size)> {
        let rest = bits.checked_sub(main).filter(|&rest| rest > 0 && main > 0);
        let rest = rest.ok_or_else(|| Error::parameter("main-bits", "less than all bits, and at least 1", main))?;
        let first = standard::for_bits(main, self.items.max(1))?;
        let held = self.held(standard::rate(main, self.items, first.hashes));
        Ok((first, standard::for_bits(rest, held)?))
    }
}

/// The chance that a filter of q bits which holds this many patterns of `hashes` bits covers another pattern.
///
/// ```
/// use bouquet_theory::witnesses::covers;
/// assert!((covers(16, 1, 4) - (1.0 - (15.0f64 / 16.0).powi(4)).powi(4)).abs() < 1e-12);
/// assert_eq!(covers(16, 0, 4), 0.0);
/// ```
pub fn covers(bits: u64, patterns: u64, hashes: u32) -> f64 {
    standard::rate(bits, patterns, hashes)
}

/// About how many patterns a filter of q bits holds before it covers that of one of the members.
///
/// ```
/// use bouquet_theory::witnesses::patterns;
/// assert_eq!((patterns(16, 20, 4), patterns(32, 20, 8)), (2, 4));
/// assert_eq!(patterns(8, 1_000_000, 3), 0, "too many members to spare them all");
/// ```
pub fn patterns(bits: u64, members: u64, hashes: u32) -> u64 {
    let spares = |patterns: &u64| amount(members as f64) * covers(bits, *patterns, hashes) < 1.0;
    // A filter that is full covers everything; it is after as many patterns as it has bits at the latest.
    (1..=bits.min(1 << 12)).take_while(spares).count() as u64
}

/// The rate of a stranger whose nearest real ancestor is `level` levels up, at least 1, when up to `ancestors` are checked in a
/// filter of this rate.
///
/// ```
/// use bouquet_theory::witnesses::below;
/// assert_eq!(below(0.1, 1, 2), 0.1, "the children of real nodes gain nothing");
/// assert!((below(0.1, 5, 2) - 0.001).abs() < 1e-12);
/// ```
pub fn below(rate: f64, level: u64, ancestors: u64) -> f64 {
    let checks = level.max(1).min(ancestors.saturating_add(1)).min(1 << 20) as i32;
    probability(rate).powi(checks)
}

/// The same for a mix of strangers: `shares[i]` of them have their nearest real ancestor i + 1 levels up.
///
/// ```
/// use bouquet_theory::witnesses::below_mixed;
/// // Half of the prefixes that are asked for leave the trie by one level, half by three.
/// assert!((below_mixed(0.1, &[0.5, 0.0, 0.5], 1) - 0.055).abs() < 1e-12);
/// ```
pub fn below_mixed(rate: f64, shares: &[f64], ancestors: u64) -> f64 {
    let terms = shares.iter().zip(1..).map(|(share, level)| probability(*share) * below(rate, level, ancestors));
    terms.sum::<f64>().min(1.0)
}

/// The nodes of a trie in a filter of m bits, when this many keys and as many of their ancestors as seemed new were put in: some that
/// were new seemed to be there already.
///
/// ```
/// use bouquet_theory::witnesses::nodes;
/// assert_eq!(nodes(1_000, 0, 10_000, 7), 1_000.0, "keys without ancestors are counted as they come");
/// // Of 50,000 ancestors that were new, about 1 % seemed to be there in a filter that was filled to a rate of 5 %.
/// let all = nodes(1_000, 50_000, 318_000, 4);
/// assert!(all > 51_400.0 && all < 51_700.0, "{all}");
/// ```
pub fn nodes(keys: u64, ancestors: u64, bits: u64, hashes: u32) -> f64 {
    let seen = keys as f64 + ancestors as f64;
    if ancestors == 0 || bits == 0 {
        return seen;
    }
    let share = ancestors as f64 / seen;
    let rate = |nodes: f64| standard::limit_rate(bits as f64 / nodes.max(1.0), hashes);
    // What was overlooked on the way to this many nodes, by Simpson's rule.
    let overlooked = |nodes: f64| {
        const PANELS: u32 = 32;
        let step = nodes / f64::from(2 * PANELS);
        let weight = |at: u32| if at == 0 || at == 2 * PANELS { 1.0 } else { f64::from(2 + 2 * (at % 2)) };
        let sum: f64 = (0..=2 * PANELS).map(|at| weight(at) * rate(f64::from(at) * step)).sum();
        share * sum * step / 3.0
    };
    let mut all = seen;
    for _ in 0..20 {
        all = (seen + overlooked(all)).min(2.0 * seen);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_checking_is_worse_at_the_best_numbers_of_positions_and_better_when_these_are_few() {
        let plain = |bits_per_key: u64, hashes| standard::rate(20_000 * bits_per_key, 20_000, hashes);
        let cross = |bits_per_key: u64, limit| {
            CrossChecked::of_bits(20_000 * bits_per_key, 20_000, 2, 0.5, limit).map(|c| c.rate(20_000, false))
        };
        assert!((plain(12, 8) - 0.0031).abs() < 5e-5);
        assert!((cross(12, 64).unwrap() - 0.0061).abs() < 1e-4);
        assert!((plain(24, 3) - 1.62e-3).abs() < 5e-6);
        assert!((cross(24, 3).unwrap() - 2.33e-4).abs() < 1e-6);
        assert!((plain(48, 3) / cross(48, 3).unwrap() - 42.0).abs() < 1.0);
    }

    #[test]
    fn no_other_split_of_the_bits_is_better() {
        let design = Complement { items: 2_000, others: 50_000, members: 0.3, petit: false };
        let (main, other) = design.of_bits(400_000).unwrap();
        let share = design.undetermined(main, other);
        for shift in [-20_000i64, -5_000, 5_000, 20_000] {
            let moved = design.split_at(400_000, main.bits.saturating_add_signed(shift)).unwrap();
            assert!(design.undetermined(moved.0, moved.1) > share * 0.999, "{shift}");
        }
    }
}
