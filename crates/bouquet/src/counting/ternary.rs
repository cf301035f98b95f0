#![doc = include_str!("ternary.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::counting::counting::COUNTERS;
use crate::error::{Error, Result, same};
use crate::key::Key;
use crate::kind::{Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Setting, Text, common, kind};
use crate::parts::counter_array::CounterStore;
use crate::parts::counting_over::{CountingOver, CountingStore};
use crate::simd::prefetch;
use crate::store::BitStore;
use crate::store::ternary::{Form, TernaryCells};
use crate::theory;

/// The registry's row.
pub const KIND: Kind = kind!(TernaryBloom);

/// A counting filter of the smallest cells, which tells when it cannot tell.
///
/// ```
/// use bouquet::{Error, counting::ternary::{Membership, TernaryBloom}};
/// let mut filter = TernaryBloom::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// assert_eq!(filter.query("rose"), Membership::Yes);
/// filter.remove("rose")?;
/// assert_eq!(filter.query("rose"), Membership::No);
/// // Three times is "many": nobody knows how many.
/// ["iris"; 3].map(|key| filter.insert(key).is_ok());
/// assert_eq!(filter.query("iris"), Membership::Indeterminable);
/// assert!(matches!(filter.remove("iris"), Err(Error::Ambiguous { .. })));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type TernaryBloom = CountingOver<TernaryCells>;

/// What a ternary filter knows of a key.
///
/// ```
/// use bouquet::counting::ternary::{Membership, TernaryBloom};
/// assert_eq!(TernaryBloom::with_rate(1_000, 0.01)?.query("rose"), Membership::No);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// The key is absent.
    No,
    /// The key seems present.
    Yes,
    /// All cells of the key are full and tell nothing: it may be present, and it cannot be removed.
    Indeterminable,
}

/// The words for the number of values of a cell, the default first.
const LEVELS: [&str; 2] = ["4", "3"];

const LEVEL: Parameter = Parameter {
    name: "levels",
    help: "values of a cell, the last of which is X, \"more than that\"",
    of: ParameterType::Choice { options: &LEVELS },
};

const PACKED: Parameter =
    Parameter { name: "packed", help: "five cells in a byte, for three levels", of: ParameterType::Flag };

fn form(config: &Config) -> Result<Form> {
    let form = Form { levels: config.choice("levels").parse().unwrap_or(4), packed: config.flag("packed") };
    if form.packed && form.levels != 3 {
        return Err(Error::parameter("packed", "no unless there are 3 levels", "yes"));
    }
    Ok(form)
}

impl CounterStore for TernaryCells {
    #[inline]
    fn max(&self) -> u64 {
        self.top()
    }

    #[inline]
    fn get(&self, index: u64) -> u64 {
        TernaryCells::get(self, index)
    }

    #[inline]
    fn add(&mut self, index: u64, amount: u64) -> u64 {
        self.update(index, |value| value.saturating_add(amount))
    }

    #[inline]
    fn sub(&mut self, index: u64, amount: u64) {
        self.update(index, |value| value.saturating_sub(amount));
    }

    #[inline]
    fn prefetch(&self, index: u64) {
        prefetch(self.counters().words(), self.word(index));
    }

    #[inline]
    fn prefetched_bits(&self) -> u64 {
        self.counters().bits()
    }
}

impl CountingStore for TernaryCells {
    const FACTS: Facts = Facts {
        id: "ternary",
        number: 58,
        aliases: &["TBF", "ternary-bloom"],
        family: "counting",
        text: Text::new(include_str!("ternary.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::Undeletable],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, COUNTERS, common::HASHES, LEVEL, PACKED],
    };

    const IN_PLACE: bool = true;
    const KEEPS_FROZEN_KEYS: bool = true;

    fn planned_bits(config: &Config, counters: u64, _hashes: u32) -> Result<u64> {
        form(config)?.bits(counters)
    }

    fn empty(config: &Config, counters: u64, _hashes: u32) -> Result<Self> {
        TernaryCells::zeroed(form(config)?, counters)
    }

    fn settings(&self, config: Config) -> Config {
        let Form { levels, packed } = self.form();
        let word = LEVELS[usize::from(levels == 3)];
        config.put("levels", Setting::Choice(word)).put("packed", Setting::Flag(packed))
    }

    fn bits(&self) -> u64 {
        self.counters().bits()
    }

    fn clear(&mut self) {
        TernaryCells::clear(self);
    }

    fn nonzero(&self) -> Result<BitStore> {
        let mut bits = BitStore::zeroed(self.len())?;
        (0..self.len()).filter(|&index| self.get(index) != 0).for_each(|index| {
            bits.set(index);
        });
        Ok(bits)
    }

    fn comparable(&self, other: &Self) -> Result<()> {
        same("levels", self.form().levels, other.form().levels)
    }

    fn unknown(&self, (m, k): (u64, u32), items: u64) -> Option<f64> {
        Some(theory::ternary::undeletable(m, items, k, self.top()))
    }

    /// Store: the cells as counters of 2 bits, or bytes of five.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.counters(self.counters());
    }

    fn decode(decoder: &mut Decoder<'_>, counters: u64) -> Result<Self> {
        TernaryCells::read(form(decoder.config())?, counters, |len, width| decoder.counters(len, width))
    }
}

impl CountingOver<TernaryCells> {
    /// What is known of the key; [`contains`](Self::contains) takes indeterminable for yes.
    ///
    /// ```
    /// use bouquet::counting::ternary::{Membership, TernaryBloom};
    /// let mut filter = TernaryBloom::with_rate(1_000, 0.01)?;
    /// ["rose", "iris", "iris", "iris"].map(|key| filter.insert(key).is_ok());
    /// let answers = ["rose", "iris", "lily"].map(|key| filter.query(key));
    /// assert_eq!(answers, [Membership::Yes, Membership::Indeterminable, Membership::No]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn query<K: Key + ?Sized>(&self, key: &K) -> Membership {
        match self.multiplicity(key) {
            of if of.count == 0 => Membership::No,
            // The least cell is X, so all are.
            of if of.at_least => Membership::Indeterminable,
            _ => Membership::Yes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::counting::CountingBloom;
    use crate::hash::{Hashing, SplitMix};
    use crate::kind::Structure;

    const M: u64 = 1_000_000;
    const N: u64 = 100_000;
    const K: u32 = 7;

    fn empty(levels: &str, packed: &str, seed: u64) -> TernaryBloom {
        let settings = [("counters", "1e6"), ("hashes", "7"), ("levels", levels), ("packed", packed)];
        let config = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
        let config = settings.iter().try_fold(config, |config, (name, text)| config.set(name, text)).unwrap();
        TernaryBloom::from_config(&config).unwrap()
    }

    fn filled(levels: &str, packed: &str, seed: u64) -> TernaryBloom {
        let mut filter = empty(levels, packed, seed);
        (0..N).for_each(|key| assert!(filter.insert(&key).is_ok()));
        filter
    }

    /// The share of keys with this answer.
    fn share(filter: &TernaryBloom, keys: std::ops::Range<u64>, answer: Membership) -> f64 {
        let all = (keys.end - keys.start) as f64;
        keys.filter(|key| filter.query(key) == answer).count() as f64 / all
    }

    /// Five standard deviations: of so many queries, and of the rate, which moves with the fill of the filter.
    fn five_sigma(rate: f64, queries: u64, fill: f64, fill_variance: f64) -> f64 {
        5.0 * (rate * (1.0 - rate) / queries as f64 + (rate * f64::from(K) / fill).powi(2) * fill_variance).sqrt()
    }

    #[test]
    fn three_levels_answer_and_remove_as_often_as_theory_says() {
        let filter = filled("3", "no", 1);
        assert_eq!(filter.stats().bits, 20 * N);
        let zeros = (-0.7f64).exp();
        let sigma = |queries| five_sigma(8.19e-3, queries, 1.0 - zeros, zeros * (1.0 - 1.7 * zeros) / M as f64);
        let yes = share(&filter, N..11 * N, Membership::Yes);
        assert!((yes - theory::ternary::false_yes(M, N, K, 2)).abs() < sigma(10 * N), "{yes}");
        assert!((yes - 8.19e-3).abs() < sigma(10 * N), "{yes}");
        // Four-bit counters in the same memory.
        let mut counting = CountingBloom::with_size(M / 2, 3).unwrap();
        (0..N).for_each(|key| assert!(counting.insert(&key).is_ok()));
        let found = (N..3 * N).filter(|key| counting.contains(key)).count() as f64 / (2 * N) as f64;
        assert!((found - 9.18e-2).abs() < 5.0 * theory::spread::test_sigma(M / 2, N, 3, 2 * N), "{found}");

        let undeletable = share(&filter, 0..N, Membership::Indeterminable);
        assert!((undeletable - theory::ternary::undeletable(M, N, K, 2)).abs() < sigma(N), "{undeletable}");
        assert_eq!(share(&filter, 0..N, Membership::No), 0.0);
        let mut copy = filter.clone();
        for key in 0..1_000u64 {
            let before = copy.query(&key);
            match copy.remove(&key) {
                Ok(()) => assert_eq!(before, Membership::Yes),
                Err(Error::Ambiguous { .. }) => assert_eq!(before, Membership::Indeterminable),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn a_fourth_level_makes_nearly_every_key_deletable_at_the_same_rate() {
        let mut undeletable = 0.0;
        for seed in 0..3 {
            let (three, four) = (filled("3", "no", seed), filled("4", "no", seed));
            assert_eq!(three.stats().bits, four.stats().bits);
            // Cells at X are those of two keys or more, and of three: the law that both undeletable shares come from.
            let poisson = |j: i32| (-0.7f64).exp() * 0.7f64.powi(j) / f64::from((1..=j).product::<i32>());
            for (filter, levels) in [(&three, 2), (&four, 3)] {
                let share = 1.0 - (0..levels).map(poisson).sum::<f64>();
                let (frozen, expected) = (filter.frozen() as f64, share * M as f64);
                assert!((frozen - expected).abs() < 5.0 * (expected * (1.0 - share)).sqrt(), "{frozen} {expected}");
            }
            let [a, b] = [&three, &four].map(|filter| share(filter, N..6 * N, Membership::Yes));
            assert!(b >= a && b <= 1.01 * a, "{a} {b}");
            undeletable += share(&four, 0..N, Membership::Indeterminable) * N as f64;
        }
        assert_eq!(format!("{:.1e}", theory::ternary::undeletable(M, N, K, 3)), "2.2e-6");
        // 300,000 keys at 2.2e-6: 0.66 expected, and more than 6 once in 10,000 times.
        assert!(undeletable <= 6.0, "{undeletable}");
    }

    #[test]
    fn replacing_keys_loses_none() {
        for (levels, packed) in [("3", "no"), ("3", "yes"), ("4", "no")] {
            let mut filter = filled(levels, packed, 2);
            let mut random = SplitMix::new(9);
            let mut members: Vec<u64> = (0..N).collect();
            let mut stuck = 0u64;
            for fresh in N..2 * N {
                let at = random.below(N) as usize;
                match filter.remove(&members[at]) {
                    Ok(()) => {
                        filter.insert(&fresh).unwrap();
                        members[at] = fresh;
                    }
                    Err(Error::Ambiguous { .. }) => stuck += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(members.iter().all(|key| filter.query(key) != Membership::No));
            assert_eq!(filter.items(), N);
            assert!(filter.frozen() > 0 && (stuck > 0 || levels == "4"));
        }
    }

    #[test]
    fn packed_cells_take_1_6_bits_and_answer_alike() {
        let (plain, packed) = (filled("3", "no", 3), filled("3", "yes", 3));
        assert_eq!((plain.stats().bits, packed.stats().bits), (2 * M, M * 8 / 5));
        assert!((0..3 * N).all(|key| plain.query(&key) == packed.query(&key)));
        assert!((0..M).all(|place| plain.counter(place) == packed.counter(place)));
        // They can even be added.
        let mut sum = empty("3", "yes", 3);
        sum.merge(&plain).unwrap();
        assert!((0..M).all(|place| plain.counter(place) == sum.counter(place)));
    }

    #[test]
    fn sums_that_are_many_are_x() {
        let filled = |times: usize, levels: &str| {
            let mut filter = empty(levels, "no", 1);
            (0..times).for_each(|_| assert!(filter.insert("rose").is_ok()));
            filter
        };
        for (levels, a, b, answer) in [
            ("4", 1, 1, Membership::Yes),
            ("4", 1, 2, Membership::Indeterminable),
            ("3", 1, 1, Membership::Indeterminable),
            ("3", 0, 1, Membership::Yes),
            ("4", 9, 9, Membership::Indeterminable),
        ] {
            let mut sum = filled(a, levels);
            sum.merge(&filled(b, levels)).unwrap();
            assert_eq!(sum.query("rose"), answer, "{a} and {b} of {levels} levels");
            assert!(sum.contains("rose"));
        }
        assert!(matches!(filled(0, "3").merge(&filled(0, "4")), Err(Error::Incompatible { .. })));
    }

    #[test]
    fn an_undeletable_key_changes_nothing() {
        let mut filter = empty("4", "no", 1);
        (0..5).for_each(|_| assert!(filter.insert("rose").is_ok()));
        let before = filter.clone();
        assert!(matches!(filter.remove("rose"), Err(Error::Ambiguous { .. })));
        assert!(matches!(filter.remove("lily"), Err(Error::NotPresent)));
        assert_eq!(filter, before);
        assert_eq!(filter.frozen(), u64::from(K));
    }

    #[test]
    fn packing_is_for_three_levels() {
        let config = Config::new(KIND.facts()).set("items", "10").unwrap().set("packed", "yes").unwrap();
        assert!(TernaryBloom::from_config(&config).unwrap_err().to_string().contains("`packed`"));
        let config = config.set("levels", "3").unwrap();
        let filter = TernaryBloom::from_config(&config).unwrap();
        assert_eq!(TernaryBloom::from_bytes(&filter.to_bytes()).unwrap(), filter);
    }
}
