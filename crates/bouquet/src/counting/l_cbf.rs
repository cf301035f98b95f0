#![doc = include_str!("l_cbf.md")]

use crate::capability::{Compress, Count, Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::coder::counters_entropy;
use crate::counting::counting::{COUNTERS, POLICY};
use crate::error::{Error, Result, same};
use crate::key::Key;
use crate::kind::{Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Setting, Text, common, kind};
use crate::parts::counter_array::CounterStore;
use crate::parts::counting_over::{CountingOver, CountingStore};
use crate::simd::prefetch;
use crate::store::lfsr::{LfsrCounters, Register};
use crate::store::{BitStore, Counters};
use crate::theory;

/// The registry's row.
pub const KIND: Kind = kind!(LfsrCounting);

/// A counting filter of shift registers with a flag for each.
///
/// ```
/// use bouquet::counting::l_cbf::LfsrCounting;
/// let mut filter = LfsrCounting::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// filter.insert("rose")?;
/// assert_eq!(filter.count("rose").count, 2);
/// filter.remove("rose")?;
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type LfsrCounting = CountingOver<FlaggedRegisters>;

/// The words for the widths, the default first.
const WIDTHS: [&str; 9] = ["4", "5", "6", "7", "8", "10", "12", "15", "16"];

const WIDTH: Parameter = Parameter {
    name: "width",
    help: "bits of a register; for keys that come up to f times log2(f + 16) or more",
    of: ParameterType::Choice { options: &WIDTHS },
};

fn register(config: &Config) -> Result<Register> {
    let word = config.choice("width");
    let known = word.parse().ok().and_then(Register::new);
    known.ok_or_else(|| Error::parameter("width", WIDTHS.join(", "), word))
}

/// Registers, and apart from them a flag for each that is not zero.
#[derive(Clone, Debug, PartialEq)]
pub struct FlaggedRegisters {
    flags: BitStore,
    registers: LfsrCounters,
}

impl FlaggedRegisters {
    /// The store of these states, with their flags. `None` when one is the state that no register reaches.
    fn of_states(register: Register, states: Counters) -> Result<Option<Self>> {
        let mut flags = BitStore::zeroed(states.len())?;
        for (index, state) in (0..).zip(states.iter()).filter(|&(_, state)| state != 0) {
            if state == u64::from(register.period()) {
                return Ok(None);
            }
            flags.set(index);
        }
        Ok(Some(FlaggedRegisters { flags, registers: LfsrCounters { register, states } }))
    }
}

impl CounterStore for FlaggedRegisters {
    #[inline]
    fn max(&self) -> u64 {
        self.registers.max()
    }

    #[inline]
    fn get(&self, index: u64) -> u64 {
        self.registers.get(index)
    }

    #[inline]
    fn is_nonzero(&self, index: u64) -> bool {
        self.flags.get(index)
    }

    #[inline]
    fn add(&mut self, index: u64, amount: u64) -> u64 {
        let before = self.registers.add(index, amount);
        if before == 0 && amount > 0 {
            self.flags.set(index);
        }
        self.registers.register.place(before)
    }

    #[inline]
    fn sub(&mut self, index: u64, amount: u64) {
        let before = self.registers.sub(index, amount);
        if before != 0 && self.registers.states.get(index) == 0 {
            self.flags.clear(index);
        }
    }

    #[inline]
    fn prefetch(&self, index: u64) {
        prefetch(self.flags.words(), (index / 64) as usize);
    }

    #[inline]
    fn prefetched_bits(&self) -> u64 {
        self.flags.len()
    }
}

impl CountingStore for FlaggedRegisters {
    const FACTS: Facts = Facts {
        id: "l-cbf",
        number: 56,
        aliases: &["LCBF", "LFSR", "lfsr-counting"],
        family: "counting",
        text: Text::new(include_str!("l_cbf.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, COUNTERS, common::HASHES, WIDTH, POLICY],
    };

    const IN_PLACE: bool = true;

    fn planned_bits(config: &Config, counters: u64, _hashes: u32) -> Result<u64> {
        let bits = u128::from(counters) * u128::from(register(config)?.width() + 1);
        u64::try_from(bits).map_err(|_| Error::TooLarge { what: "the filter".into(), bytes: bits / 8 })
    }

    fn empty(config: &Config, counters: u64, _hashes: u32) -> Result<Self> {
        let register = register(config)?;
        let registers = LfsrCounters { register, states: Counters::zeroed(counters, register.width())? };
        Ok(FlaggedRegisters { flags: BitStore::zeroed(counters)?, registers })
    }

    fn settings(&self, config: Config) -> Config {
        let width = self.registers.register.width().to_string();
        let word = WIDTHS.into_iter().find(|word| *word == width).unwrap_or(WIDTHS[0]);
        config.put("width", Setting::Choice(word))
    }

    fn bits(&self) -> u64 {
        self.flags.len() + self.registers.states.bits()
    }

    fn clear(&mut self) {
        self.flags.words_mut().fill(0);
        self.registers.states.clear();
    }

    fn nonzero(&self) -> Result<BitStore> {
        Ok(self.flags.clone())
    }

    fn comparable(&self, other: &Self) -> Result<()> {
        same("counter width", self.registers.register.width(), other.registers.register.width())
    }

    /// The next width that there is.
    fn wider(&self) -> Result<Option<Self>> {
        let width = self.registers.register.width();
        let Some(register) = Register::all().find(|register| register.width() > width) else { return Ok(None) };
        let mut states = Counters::zeroed(self.flags.len(), register.width())?;
        self.flags.ones().for_each(|index| states.set(index, register.state(self.get(index))));
        Ok(Some(FlaggedRegisters { flags: self.flags.clone(), registers: LfsrCounters { register, states } }))
    }

    /// Stores: the flags, the states.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.bits(&self.flags);
        encoder.counters(&self.registers.states);
    }

    fn decode(decoder: &mut Decoder<'_>, counters: u64) -> Result<Self> {
        let register = register(decoder.config())?;
        let flags = decoder.bits(counters)?;
        let states = decoder.counters(counters, register.width())?;
        // The flags that were read stay where they are, which may be in a file.
        let sound = Self::of_states(register, states)?.filter(|sound| sound.flags == flags);
        let sound = sound.ok_or_else(|| Error::corrupt("flags", "those of the registers", "others"))?;
        Ok(FlaggedRegisters { flags, ..sound })
    }
}

impl CountingOver<FlaggedRegisters> {
    /// How often the key is in: the least of its counters. That is the truth or, as rarely as a false positive, more;
    /// `at_least` tells when a frozen counter hides how much more it may be.
    ///
    /// ```
    /// use bouquet::{capability::Multiplicity, counting::l_cbf::LfsrCounting};
    /// let mut filter = LfsrCounting::with_rate(1_000, 0.01)?;
    /// (0..20).for_each(|_| assert!(filter.insert("rose").is_ok()));
    /// assert_eq!(filter.count("rose"), Multiplicity { count: 14, at_least: true });
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        self.multiplicity(key)
    }

    /// The flags: the bits of the plain Bloom filter of the same keys.
    ///
    /// ```
    /// use bouquet::counting::l_cbf::LfsrCounting;
    /// let mut filter = LfsrCounting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.flags().count_ones(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn flags(&self) -> &BitStore {
        &self.cells.store.flags
    }
}

impl Count for CountingOver<FlaggedRegisters> {
    fn count(&self, key: &[u8]) -> Multiplicity {
        self.multiplicity(key)
    }
}

impl Compress for CountingOver<FlaggedRegisters> {
    /// Of both stores, for each is coded by itself.
    fn entropy_bits(&self) -> f64 {
        let store = &self.cells.store;
        let flags = theory::compressed::message_bits(store.flags.len(), store.flags.count_ones());
        flags + counters_entropy(store.registers.states.iter().map(|state| state as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::counting::{self, CountingBloom};
    use crate::hash::SplitMix;
    use crate::kind::Structure;
    use crate::{AnyFilter, OpenOptions};

    fn empty(settings: &[(&str, &str)]) -> LfsrCounting {
        let config = Config::new(KIND.facts());
        let config = settings.iter().try_fold(config, |config, (name, text)| config.set(name, text)).unwrap();
        LfsrCounting::from_config(&config).unwrap()
    }

    #[test]
    fn flags_and_counts_equal_those_of_binary_counters_through_a_million_operations() {
        let shape = [("counters", "20000"), ("hashes", "5"), ("width", "8")];
        let config = Config::new(counting::KIND.facts());
        let config = shape.iter().try_fold(config, |config, (name, text)| config.set(name, text)).unwrap();
        let (mut filter, mut binary) = (empty(&shape), CountingBloom::from_config(&config).unwrap());
        let mut random = SplitMix::new(1);
        let mut held = Vec::new();
        for _ in 0..1_000_000 {
            if held.is_empty() || (held.len() < 4_000 && random.below(2) == 0) {
                let key = random.below(3_000);
                assert_eq!(filter.insert(&key).unwrap(), binary.insert(&key).unwrap());
                held.push(key);
            } else {
                let key = held.swap_remove(random.below(held.len() as u64) as usize);
                filter.remove(&key).unwrap();
                binary.remove(&key).unwrap();
            }
        }
        assert!(binary.counters().iter().all(|counter| counter < 254), "none was frozen");
        assert_eq!(*filter.flags(), binary.nonzero().unwrap());
        assert!((0..20_000).all(|place| filter.counter(place) == binary.counters().get(place)));
        assert!((0..6_000u64).all(|key| filter.count(&key) == binary.count(&key)));
        assert_eq!(filter.to_bloom().unwrap(), binary.to_bloom().unwrap());
    }

    #[test]
    fn a_query_reads_no_register() {
        let mut filter = LfsrCounting::with_rate(5_000, 0.01).unwrap();
        (0..5_000u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
        let answers: Vec<bool> = (0..20_000u64).map(|key| filter.contains(&key)).collect();
        let bloom = filter.to_bloom().unwrap();
        // Without registers, whatever were read of them would be zero.
        filter.cells.store.registers.states = Counters::zeroed(0, 4).unwrap();
        assert_eq!(filter.count(&7u64).count, 0);
        assert!((0..20_000u64).zip(&answers).all(|(key, answer)| filter.contains(&key) == *answer));
        assert!((0..20_000u64).zip(&answers).all(|(key, answer)| bloom.contains(&key) == *answer));
    }

    #[test]
    fn a_change_touches_the_flags_only_when_a_count_leaves_or_reaches_zero() {
        let path = std::env::temp_dir().join(format!("bouquet-l-cbf-{}.bq", std::process::id()));
        let mut filter = LfsrCounting::with_rate(1_000, 0.01).unwrap();
        (0..2).for_each(|_| assert!(filter.insert("rose").is_ok()));
        AnyFilter::from_structure(filter).unwrap().save(&path).unwrap();
        let open = || AnyFilter::open_mapped(&path, &OpenOptions::default()).unwrap();
        // A mapped store is copied to memory by the first write to it, so its place tells whether it was touched.
        let flags_untouched = |filter: &AnyFilter| filter.downcast_ref::<LfsrCounting>().unwrap().flags().is_mapped();
        let rose = || b"rose".as_slice().into();
        let mut filter = open();
        for _ in 0..3 {
            filter.insert().unwrap().insert(rose()).unwrap();
            filter.remove().unwrap().remove(rose()).unwrap();
        }
        filter.remove().unwrap().remove(rose()).unwrap();
        assert!(flags_untouched(&filter), "2, 3, 2, 3, 2, 3, 2, 1");
        filter.remove().unwrap().remove(rose()).unwrap();
        assert!(!flags_untouched(&filter), "1, 0");
        let mut filter = open();
        assert!(flags_untouched(&filter));
        filter.insert().unwrap().insert(b"lily".as_slice().into()).unwrap();
        assert!(!flags_untouched(&filter), "0, 1");
        std::fs::remove_file(path).ok();
    }

    #[test]
    fn a_full_register_obeys_its_policy_and_never_wraps() {
        let filled = |policy: &str, times: usize| {
            let mut filter = empty(&[("counters", "1000"), ("hashes", "3"), ("policy", policy)]);
            (0..times).for_each(|_| assert!(filter.insert("rose").is_ok()));
            filter
        };
        let width = |filter: &LfsrCounting| filter.config().choice("width");
        let mut sticky = filled("sticky", 100);
        assert_eq!((sticky.count("rose"), sticky.frozen()), (Multiplicity { count: 14, at_least: true }, 3));
        (0..100).for_each(|_| sticky.remove("rose").unwrap());
        assert!(sticky.contains("rose"));

        let mut saturate = filled("saturate", 15);
        assert!(saturate.count("rose").at_least && saturate.errors().contains(&ErrorClass::FalseNegative));
        (0..14).for_each(|_| saturate.remove("rose").unwrap());
        assert!(!saturate.contains("rose"), "one of fifteen was lost");

        let mut reject = filled("reject", 14);
        let before = reject.clone();
        assert!(matches!(reject.insert("rose"), Err(Error::Full { .. })));
        assert!(matches!(reject.merge(&filled("reject", 1)), Err(Error::Full { .. })));
        assert_eq!(reject, before);

        let mut widen = filled("widen", 1_000);
        assert_eq!((widen.count("rose"), width(&widen)), (Multiplicity { count: 1_000, at_least: false }, "10"));
        widen.merge(&filled("widen", 100)).unwrap();
        assert_eq!((widen.count("rose").count, width(&widen)), (1_100, "12"));
        let mut narrow = filled("widen", 100);
        narrow.merge(&filled("widen", 1_000)).unwrap();
        assert_eq!(narrow.count("rose").count, 1_100);
        assert_eq!(LfsrCounting::from_bytes(&widen.to_bytes()).unwrap(), widen);
        (0..1_100).for_each(|_| widen.remove("rose").unwrap());
        assert!(!widen.contains("rose"));

        let mut sum = filled("sticky", 9);
        sum.merge(&filled("sticky", 9)).unwrap();
        assert_eq!(sum.count("rose"), Multiplicity { count: 14, at_least: true });
        assert!(matches!(
            sum.merge(&empty(&[("counters", "1000"), ("hashes", "3"), ("width", "5")])),
            Err(Error::Incompatible { .. })
        ));
        let mut widest = empty(&[("counters", "9"), ("hashes", "1"), ("width", "16"), ("policy", "widen")]);
        (0..65_534).for_each(|_| assert!(widest.insert("rose").is_ok()));
        assert!(matches!(widest.insert("rose"), Err(Error::Full { .. })));
    }

    #[test]
    fn frames_whose_flags_and_registers_disagree_are_refused() {
        let mut filter = empty(&[("counters", "300"), ("hashes", "3")]);
        (0..50u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
        assert_eq!(LfsrCounting::from_bytes(&filter.to_bytes()).unwrap(), filter);
        let unused = (0..300).find(|&place| filter.counter(place) == 0).unwrap();
        let changes: [fn(&mut FlaggedRegisters, u64); 3] = [
            |store, unused| assert!(store.flags.set(unused)),
            |store, unused| store.registers.states.set(unused, 1),
            |store, unused| {
                store.flags.set(unused);
                store.registers.states.set(unused, 15);
            },
        ];
        for change in changes {
            let mut liar = filter.clone();
            change(&mut liar.cells.store, unused);
            assert!(matches!(LfsrCounting::from_bytes(&liar.to_bytes()), Err(Error::Corrupt { .. })));
        }
    }
}
