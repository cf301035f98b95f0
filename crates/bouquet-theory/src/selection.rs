//! Hash families that are chosen for what they do: per group of keys the one that sets the fewest new bits, per filter the one that
//! answers known questions best.
//!
//! Source: F. Hao, M. Kodialam, T. V. Lakshman, *Building high accuracy Bloom filters using partitioned hashing*, 2007; L. Carrea,
//! A. Vernitski, M. Reed, *Optimized hash for network path encoding with minimized false positives*, 2014.

use super::random::{SplitMix, fastrange, mix};
use super::special::{binomial, probability};
use super::{Error, MAX_BITS, Result, Size, check_positive, check_rate};

/// The family with the least cost, the first of those with equal costs, and its cost. `cost` is given the least so far and may answer
/// `None` as soon as it knows that it will not be below; a cost of nothing ends the search.
///
/// ```
/// use bouquet_theory::selection::choose;
/// let costs = [5, 3, 3, 9];
/// assert_eq!(choose(4, |family, _| Some(costs[family as usize])), (1, 3));
/// assert_eq!(choose(4, |family, least| (family != 1 || least > 4).then_some(costs[family as usize])), (1, 3));
/// ```
pub fn choose(families: u64, mut cost: impl FnMut(u64, u64) -> Option<u64>) -> (u64, u64) {
    let mut best = (0, u64::MAX);
    for family in 0..families.max(1) {
        if let Some(cost) = cost(family, best.1).filter(|&cost| cost < best.1) {
            best = (family, cost);
        }
        if best.1 == 0 {
            break;
        }
    }
    best
}

/// What was chosen for groups of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The family of each group.
    pub families: Vec<u32>,
    /// The bits that are set.
    pub ones: u64,
}

/// Passes end when one brings less than this share of the ones.
const WORTH_A_PASS: f64 = 0.001;

/// Gives each group of keys the family that sets the fewest new bits, one group after the other; then withdraws each group and
/// chooses again, up to `passes` times.
///
/// Group g has the keys from `starts[g]` to `starts[g + 1]`; `positions` appends the positions, below `bits`, of a key in a family.
///
/// ```
/// use bouquet_theory::selection::select;
/// // Two keys, a group each: the first is on bit 3 in any case, the second in family 1.
/// let positions = |key: usize, family: u32, out: &mut Vec<u64>| out.push(if key == 0 || family == 1 { 3 } else { 5 });
/// assert_eq!(select(8, &[0, 1, 2], 2, 3, positions).ones, 1);
/// ```
pub fn select(
    bits: u64,
    starts: &[usize],
    families: u32,
    passes: u32,
    mut positions: impl FnMut(usize, u32, &mut Vec<u64>),
) -> Selection {
    // How many keys have set each bit; 255 means that it is never given back.
    let mut users = vec![0u8; bits as usize];
    let mut ones = 0u64;
    let groups = starts.len().saturating_sub(1);
    let mut chosen = vec![0u32; groups];
    let (mut places, mut new) = (Vec::new(), Vec::<u64>::new());
    for pass in 0..=passes {
        let before = ones;
        for group in 0..groups {
            let keys = starts[group]..starts[group + 1];
            let mut of_family = |family: u32, places: &mut Vec<u64>| {
                places.clear();
                keys.clone().for_each(|key| positions(key, family, places));
            };
            if pass > 0 {
                of_family(chosen[group], &mut places);
                for &place in &places {
                    let user = &mut users[place as usize];
                    *user = if *user == u8::MAX { u8::MAX } else { user.saturating_sub(1) };
                    ones -= u64::from(*user == 0);
                }
            }
            let (family, _) = choose(families.into(), |family, _| {
                of_family(family as u32, &mut places);
                new.clear();
                new.extend(places.iter().filter(|&&place| users[place as usize] == 0));
                new.sort_unstable();
                new.dedup();
                Some(new.len() as u64)
            });
            chosen[group] = family as u32;
            of_family(family as u32, &mut places);
            for &place in &places {
                let user = &mut users[place as usize];
                ones += u64::from(*user == 0);
                *user = user.saturating_add(1);
            }
        }
        if pass > 0 && (before - ones.min(before)) as f64 <= WORTH_A_PASS * before as f64 {
            break;
        }
    }
    Selection { families: chosen, ones }
}

/// The shape of a filter whose groups of keys have families of their own.
///
/// ```
/// use bouquet_theory::selection::Grouped;
/// let shape = Grouped { bits: 7_250, hashes: 6, groups: 125, families: 64, passes: 3, subsets: false };
/// assert_eq!(shape.table_bits(), 125 * 6);
/// assert!(shape.rate(1_000) < 0.014, "a plain filter of 8,000 bits has 0.0216");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouped {
    /// Bits of the vector, without the table.
    pub bits: u64,
    /// Positions per key.
    pub hashes: u32,
    /// Groups.
    pub groups: u64,
    /// Families that each group is tried with.
    pub families: u32,
    /// Times that all groups choose again.
    pub passes: u32,
    /// Whether families are k of a few functions that they share, as [`subsets`] gives them.
    pub subsets: bool,
}

/// The first `families` sets of k functions, in order, of the fewest functions that have so many: each with the numbers of its functions,
/// ascending.
///
/// ```
/// use bouquet_theory::selection::subsets;
/// assert_eq!(subsets(2, 5), [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3]], "of four functions, which have six");
/// assert_eq!(subsets(3, 1), [[0, 1, 2]]);
/// ```
pub fn subsets(k: u32, families: u32) -> Vec<Vec<u32>> {
    let (k, families) = (k.clamp(1, 64), families.clamp(1, 1 << 10));
    // The factors of C(H, k) are at most 2^10 each and the product stops beyond that.
    let mut all = 1.0;
    let mut functions = k;
    while all < f64::from(families) {
        functions += 1;
        all *= f64::from(functions) / f64::from(functions - k);
    }
    let mut subset: Vec<u32> = (0..k).collect();
    let mut subsets = Vec::with_capacity(families as usize);
    loop {
        subsets.push(subset.clone());
        // The last function that can move on does, and those behind it follow.
        let movable = (0..k).rev().find(|&at| subset[at as usize] < functions - k + at);
        let Some(at) = movable.filter(|_| subsets.len() < families as usize) else { return subsets };
        let next = subset[at as usize] + 1;
        subset.iter_mut().skip(at as usize).zip(next..).for_each(|(function, next)| *function = next);
    }
}

/// The most keys of the simulation that predicts a fill: what is predicted then scatters by about one percent of the rate.
const SIMULATED: u64 = 1_024;

/// Positions that the simulation looks at: fewer keys where more families are tried.
const WORK: u64 = 2_000_000;

impl Grouped {
    /// g ceil(log2 t): the bits of the table of families.
    ///
    /// ```
    /// use bouquet_theory::selection::Grouped;
    /// assert_eq!(Grouped { bits: 1, hashes: 1, groups: 10, families: 1, passes: 0, subsets: false }.table_bits(), 0);
    /// ```
    pub fn table_bits(&self) -> u64 {
        self.groups.saturating_mul(u64::from(u32::BITS - self.families.saturating_sub(1).leading_zeros()))
    }

    /// The share of ones after n keys, by a simulation of up to a thousand of them in a filter of the same bits per key, with a fixed
    /// seed. There is no closed form: the choices of all groups depend on each other.
    ///
    /// ```
    /// use bouquet_theory::selection::Grouped;
    /// let shape = Grouped { bits: 10_000, hashes: 7, groups: 125, families: 64, passes: 3, subsets: false };
    /// assert!(shape.fill(1_000) < 0.48 && shape.fill(0) == 0.0);
    /// ```
    pub fn fill(&self, n: u64) -> f64 {
        if n == 0 || self.bits == 0 {
            return if self.bits == 0 { 1.0 } else { 0.0 };
        }
        let of_key =
            u64::from(self.families.max(1)) * u64::from(self.hashes.max(1)) * u64::from(self.passes.min(8) + 1);
        let keys = n.min((WORK / of_key).clamp(SIMULATED / 8, SIMULATED));
        let scale = keys as f64 / n as f64;
        let bits = ((self.bits as f64 * scale).round() as u64).clamp(1, 1 << 20);
        let groups = ((self.groups as f64 * scale).round() as u64).clamp(1, 1 << 16) as usize;
        let hashes = self.hashes.min(64);
        let mut random = SplitMix::new(0x0067_726f_7570_6564);
        let mut starts = vec![0usize; groups + 1];
        (0..keys).for_each(|_| starts[random.below(groups as u64) as usize + 1] += 1);
        (0..groups).for_each(|group| starts[group + 1] += starts[group]);
        let seeds: Vec<u64> = (0..keys).map(|_| random.next_u64()).collect();
        let of_families = if self.subsets { subsets(hashes, self.families) } else { Vec::new() };
        let positions = |key: usize, family: u32, out: &mut Vec<u64>| {
            let place = |seed: u64, i: u32| fastrange(mix(seed.wrapping_add(u64::from(i))), bits);
            match of_families.get(family as usize) {
                Some(functions) => out.extend(functions.iter().map(|&i| place(seeds[key], i))),
                None => {
                    let seed = mix(seeds[key].wrapping_add(u64::from(family)));
                    out.extend((0..hashes).map(|i| place(seed, i)));
                }
            }
        };
        let selection = select(bits, &starts, self.families.clamp(1, 1 << 10), self.passes.min(8), positions);
        probability(selection.ones as f64 / bits as f64)
    }

    /// fill^k, the rate after n keys.
    ///
    /// ```
    /// use bouquet_theory::selection::Grouped;
    /// let shape = Grouped { bits: 10_000, hashes: 7, groups: 125, families: 64, passes: 3, subsets: false };
    /// assert!(shape.rate(1_000) < 0.0055);
    /// ```
    pub fn rate(&self, n: u64) -> f64 {
        self.fill(n).powf(self.hashes.into())
    }

    /// The shape for n keys at this rate, in groups of `group` keys on average: table and vector together are about as few bits as
    /// the rate allows.
    ///
    /// ```
    /// use bouquet_theory::selection::Grouped;
    /// let shape = Grouped::for_rate(1_000, 0.01, 8, 64, 3, false)?;
    /// assert!(shape.bits + shape.table_bits() < 9_593, "what a plain filter takes");
    /// assert!(shape.rate(1_000) <= 0.01);
    /// # Ok::<(), bouquet_theory::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Error::Parameter` for no keys, no group and rates that are none; `Error::TooLarge` beyond [`MAX_BITS`].
    pub fn for_rate(n: u64, rate: f64, group: u64, families: u32, passes: u32, subsets: bool) -> Result<Self> {
        check_positive("items", n)?;
        check_positive("group", group)?;
        check_rate("fpr", rate)?;
        let shape = |bits_per_key: f64| {
            let hashes = (0.8 * bits_per_key).round().clamp(1.0, 64.0) as u32;
            let bits = (bits_per_key * n as f64).ceil().clamp(1.0, MAX_BITS as f64) as u64;
            Grouped { bits, hashes, groups: n.div_ceil(group), families, passes, subsets }
        };
        // The logarithm of the rate is nearly proportional to the bits per key. Three percent are kept for what the simulation does
        // not know.
        let (mut bits_per_key, mut best) = (-rate.ln() / 0.6, None);
        for step in 0..16 {
            if bits_per_key * n as f64 > MAX_BITS as f64 / 2.0 {
                return Err(Error::TooLarge {
                    what: "the filter".into(),
                    bytes: (bits_per_key * n as f64 / 8.0) as u128,
                });
            }
            let found = shape(bits_per_key);
            let reached = found.rate(n);
            if reached <= 0.97 * rate && best.is_none_or(|best: Self| found.bits < best.bits) {
                best = Some(found);
            }
            let change = if reached < 1.0 { (0.95 * rate).ln() / reached.max(f64::MIN_POSITIVE).ln() } else { 2.0 };
            if step >= 3 && best.is_some() || best == Some(found) && (change - 1.0).abs() < 0.01 {
                break;
            }
            // Once it is near, more bits until they are enough.
            bits_per_key *= if step < 3 { change.clamp(0.5, 2.0) } else { change.clamp(1.01, 2.0) };
        }
        Ok(best.unwrap_or_else(|| shape(bits_per_key)))
    }
}

/// How a search among `trials` filters for the fewest false positives on known strangers ends.
///
/// ```
/// use bouquet_theory::selection::Outlook;
/// // 20 keys in 240 bits, one position each, 100 known strangers.
/// let fill = 1.0 - (1.0f64 - 1.0 / 240.0).powi(20);
/// let outlook = Outlook::new(1 << 16, fill, 100);
/// assert!((outlook.trials_needed() - 4_200.0).abs() < 100.0 && outlook.fewest() == 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    trials: u64,
    rate: f64,
    known: u64,
}

impl Outlook {
    /// Of filters with this rate, and this many known strangers.
    ///
    /// ```
    /// use bouquet_theory::selection::Outlook;
    /// assert_eq!(Outlook::new(100, 0.0, 10).clean(), 100.0);
    /// ```
    pub fn new(trials: u64, rate: f64, known: u64) -> Self {
        Outlook { trials, rate: probability(rate), known }
    }

    /// T (1 - f)^q, the trials that are expected to have no false positive.
    ///
    /// ```
    /// use bouquet_theory::selection::Outlook;
    /// assert!((Outlook::new(1024, 0.5, 10).clean() - 1.0).abs() < 1e-9);
    /// ```
    pub fn clean(&self) -> f64 {
        self.trials as f64 * self.chance(0)
    }

    /// (1 - f)^-q, the trials until one without false positive is expected; infinite if none is.
    ///
    /// ```
    /// use bouquet_theory::selection::Outlook;
    /// assert!((Outlook::new(1, 0.5, 10).trials_needed() - 1024.0).abs() < 1e-6);
    /// ```
    pub fn trials_needed(&self) -> f64 {
        self.chance(0).recip()
    }

    /// The fewest false positives that one of the trials is expected to have: the least j with T P(Bin(q, f) <= j) of 1 or more.
    ///
    /// ```
    /// use bouquet_theory::selection::Outlook;
    /// assert_eq!(Outlook::new(2, 0.5, 100).fewest(), 50, "the better of two is at the median");
    /// assert!(Outlook::new(1_000, 0.5, 100).fewest() < 40);
    /// ```
    pub fn fewest(&self) -> u64 {
        let mut sum = 0.0;
        for j in 0..self.known.min(1 << 20) {
            sum += self.chance(j);
            if self.trials as f64 * sum >= 1.0 {
                return j;
            }
        }
        self.known
    }

    fn chance(&self, j: u64) -> f64 {
        if self.known == 0 {
            return if j == 0 { 1.0 } else { 0.0 };
        }
        if j == 0 {
            return (self.known as f64 * (-self.rate).ln_1p()).exp();
        }
        binomial(j as f64, self.known as f64, self.rate)
    }
}

/// The size of a plain filter in which nothing is chosen and that has the same bits: what a search is measured against.
///
/// ```
/// use bouquet_theory::selection::plain_false_positives;
/// let expected = plain_false_positives(256, 35, 150);
/// assert!((3.0..5.0).contains(&expected), "{expected}");
/// ```
pub fn plain_false_positives(bits: u64, n: u64, known: u64) -> f64 {
    let rate =
        super::standard::for_bits(bits, n).map_or(1.0, |Size { hashes, .. }| super::standard::rate(bits, n, hashes));
    known as f64 * rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_differ_and_are_of_the_fewest_functions() {
        let choose = |h: u32, k: u32| (0..k).fold(1.0, |all, i| all * f64::from(h - i) / f64::from(i + 1));
        for (k, families) in [(1, 1), (1, 1_024), (6, 64), (7, 8), (7, 9), (13, 64), (64, 1), (64, 65), (64, 1_024)] {
            let all = subsets(k, families);
            assert_eq!(all.len(), families as usize);
            assert!(all.is_sorted_by(|a, b| a < b), "in order, each once");
            assert!(all.iter().all(|subset| subset.len() == k as usize && subset.is_sorted_by(|a, b| a < b)));
            let functions = all.iter().flatten().max().unwrap() + 1;
            assert!(functions == k || choose(functions - 1, k) < f64::from(families), "{k} of {functions}");
        }
    }
}
