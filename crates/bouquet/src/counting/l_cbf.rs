#![doc = include_str!("l_cbf.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::coder::counters_entropy;
use crate::error::{Error, Result};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Text, common, kind};
use crate::parts::counter_array::{COUNTERS, CounterStore, Places, Sizes};
use crate::parts::counting_over::{CountingOver, CountingStore, POLICY, Policy, StoreSettings, TellsCounts};
use crate::shell::{ByRate, Choice, Code, Fields, Filter, Settings, fields};
use crate::simd::prefetch;
use crate::store::lfsr::LfsrCounters;
use crate::store::{BitStore, Counters};
use crate::theory;

pub use crate::store::lfsr::Register;

/// The registry's row.
pub const KIND: Kind = kind!(LCbf);

/// A counting filter of shift registers with a flag for each.
///
/// ```
/// use bouquet::LCbf;
/// let mut filter = LCbf::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// filter.insert("rose")?;
/// assert_eq!(filter.count("rose").count, 2);
/// filter.remove("rose")?;
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type LCbf = Filter<CountingOver<FlaggedRegisters>>;

/// Registers are told by their widths, the default first.
impl Choice for Register {
    const WORDS: &'static [&'static str] = &["4", "5", "6", "7", "8", "10", "12", "15", "16"];
    const MEMBERS: &'static [Self] = &Register::ALL;
}

const WIDTH: Parameter = Parameter::choice(
    "width",
    "bits of a register; for keys that come up to f times log2(f + 16) or more",
    Register::WORDS,
);

/// The settings of a counting filter of shift registers.
///
/// ```
/// use bouquet::{LCbf, LCbfSettings, counting::l_cbf::Register};
/// let width = Register::new(8);
/// let mut filter = LCbf::with(LCbfSettings { items: Some(1_000), width, ..Default::default() })?;
/// filter.insert_batch(&["rose"; 200])?;
/// assert_eq!(filter.count("rose").count, 200);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LCbfSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The number of counters.
    pub counters: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// The register that counts.
    pub width: Option<Register>,
    /// What a full register does.
    pub policy: Option<Policy>,
}

impl Settings for LCbfSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        counters: COUNTERS,
        hashes: common::HASHES,
        width: WIDTH,
        policy: POLICY,
    ];
}

impl ByRate for LCbfSettings {}

impl StoreSettings for LCbfSettings {
    fn sizes(&self) -> Sizes {
        let LCbfSettings { items, fpr, counters, hashes, .. } = *self;
        Sizes { items, fpr, counters, hashes }
    }

    fn sized(self, counters: u64, hashes: u32) -> Self {
        LCbfSettings { counters: Some(counters), hashes: Some(hashes), ..self }
    }

    fn policy(&self) -> Policy {
        self.policy.unwrap_or_default()
    }

    fn of_any_width(self) -> Self {
        LCbfSettings { width: None, ..self }
    }
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
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    type Settings = LCbfSettings;

    fn resolve(settings: LCbfSettings) -> Result<LCbfSettings> {
        let (width, policy) = (WIDTH.need(settings.width)?, POLICY.need(settings.policy)?);
        Ok(LCbfSettings { width: Some(width), policy: Some(policy), ..settings })
    }

    fn planned_bits(settings: &LCbfSettings, places: &Places) -> Result<u64> {
        Counters::bits_needed(places.counters(), WIDTH.need(settings.width)?.width() + 1)
    }

    fn empty(settings: &LCbfSettings, places: &Places) -> Result<Self> {
        let register = WIDTH.need(settings.width)?;
        let registers = LfsrCounters { register, states: Counters::zeroed(places.counters(), register.width())? };
        Ok(FlaggedRegisters { flags: BitStore::zeroed(places.counters())?, registers })
    }

    fn settings(&self, resolved: &LCbfSettings) -> LCbfSettings {
        LCbfSettings { width: Some(self.registers.register), ..resolved.clone() }
    }

    fn bits(&self) -> u64 {
        self.flags.len() + self.registers.states.bits()
    }

    fn nonzero(&self) -> Result<BitStore> {
        Ok(self.flags.clone())
    }

    /// Registers of the next width that suffices.
    fn wider(&self, value: u64) -> Result<Option<Self>> {
        let Some(register) = Register::ALL.into_iter().find(|register| value < register.period().into()) else {
            return Ok(None);
        };
        let mut states = Counters::zeroed(self.flags.len(), register.width())?;
        self.flags.ones().for_each(|index| states.set(index, register.state(self.get(index))));
        Ok(Some(FlaggedRegisters { flags: self.flags.clone(), registers: LfsrCounters { register, states } }))
    }

    /// Stores: the flags, the states.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.bits(&self.flags);
        encoder.counters(&self.registers.states);
    }

    fn decode(settings: &LCbfSettings, decoder: &mut Decoder<'_>, places: &Places) -> Result<Self> {
        let register = WIDTH.need(settings.width)?;
        let flags = decoder.bits(places.counters())?;
        let states = decoder.counters(places.counters(), register.width())?;
        // The flags that were read stay where they are, which may be in a file.
        let sound = Self::of_states(register, states)?.filter(|sound| sound.flags == flags);
        let sound = sound.ok_or_else(|| Error::corrupt("flags", "those of the registers", "others"))?;
        Ok(FlaggedRegisters { flags, ..sound })
    }
}

impl TellsCounts for FlaggedRegisters {}

impl LCbf {
    /// The flags: the bits of the plain Bloom filter of the same keys.
    ///
    /// ```
    /// use bouquet::LCbf;
    /// let mut filter = LCbf::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.flags().count_ones(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn flags(&self) -> &BitStore {
        &self.mechanism.cells.store.flags
    }
}

impl Code for CountingOver<FlaggedRegisters> {
    /// Of both stores, for each is coded by itself.
    fn entropy_bits(&self) -> f64 {
        let store = &self.cells.store;
        let flags = theory::compressed::message_bits(store.flags.len(), store.flags.count_ones());
        flags + counters_entropy(store.registers.states.iter().map(|state| state as u32))
    }
}

#[cfg(test)]
mod tests;
