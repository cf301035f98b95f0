#![doc = include_str!("ternary.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Reply, Special, Takes, Text, common, kind};
use crate::parts::counter_array::{COUNTERS, CounterStore, Places, Sizes};
use crate::parts::counting_over::{CountingOver, CountingStore, StoreSettings};
use crate::shell::{ByRate, Choice, Fields, Filter, Settings, choices, fields};
use crate::simd::prefetch;
use crate::store::BitStore;
use crate::store::ternary::{Form, TernaryCells};
use crate::theory;

/// The registry's row.
pub const KIND: Kind = kind!(Ternary);

/// A counting filter of the smallest cells, which tells when it cannot tell.
///
/// ```
/// use bouquet::{Error, Ternary, counting::ternary::Membership};
/// let mut filter = Ternary::with_rate(1_000, 0.01)?;
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
pub type Ternary = Filter<CountingOver<TernaryCells>>;

/// What a ternary filter knows of a key.
///
/// ```
/// use bouquet::{Ternary, counting::ternary::Membership};
/// assert_eq!(Ternary::with_rate(1_000, 0.01)?.query("rose"), Membership::No);
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

/// The number of values of a cell, the last of which is X, "more than that".
///
/// ```
/// use bouquet::{counting::ternary::Levels, shell::Choice};
/// assert_eq!(Levels::Three.word(), "3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// 0, 1, 2 and X.
    Four,
    /// 0, 1 and X.
    Three,
}

choices!(Levels { Four = "4", Three = "3" });

const LEVELS: Parameter =
    Parameter::choice("levels", "values of a cell, the last of which is X, \"more than that\"", Levels::WORDS);
const PACKED: Parameter = Parameter::flag("packed", "five cells in a byte, for three levels");

/// The settings of a ternary Bloom filter.
///
/// ```
/// use bouquet::{Ternary, TernarySettings, counting::ternary::Levels};
/// let (levels, packed) = (Some(Levels::Three), Some(true));
/// let settings = TernarySettings { counters: Some(1_000), hashes: Some(7), levels, packed, ..Default::default() };
/// assert_eq!(Ternary::with(settings)?.stats().bits, 1_600);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TernarySettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The number of cells.
    pub counters: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Values of a cell.
    pub levels: Option<Levels>,
    /// Whether a byte holds five cells.
    pub packed: Option<bool>,
}

impl Settings for TernarySettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        counters: COUNTERS,
        hashes: common::HASHES,
        levels: LEVELS,
        packed: PACKED,
    ];

    const DESIGN: &'static [&'static str] = &[common::ITEMS.name, common::FPR.name, PACKED.name];
}

impl ByRate for TernarySettings {}

impl StoreSettings for TernarySettings {
    fn sizes(&self) -> Sizes {
        let TernarySettings { items, fpr, counters, hashes, .. } = *self;
        Sizes { items, fpr, counters, hashes }
    }

    fn sized(self, counters: u64, hashes: u32) -> Self {
        TernarySettings { counters: Some(counters), hashes: Some(hashes), ..self }
    }
}

fn form(settings: &TernarySettings) -> Result<Form> {
    let levels = match LEVELS.need(settings.levels)? {
        Levels::Four => 4,
        Levels::Three => 3,
    };
    let form = Form { levels, packed: PACKED.need(settings.packed)? };
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
        parameters: &[],
    };

    const IN_PLACE: bool = true;
    const KEEPS_FROZEN_KEYS: bool = true;

    const SPECIALS: &'static [Special<Ternary>] = &[
        CountingOver::TO_BLOOM,
        Special::ask("certainty", Takes::Key, "yes, no, or ? where every cell of the key is X", |filter, argument| {
            Ok(match filter.query(argument.key()?) {
                Membership::Yes => Reply::Truth(true),
                Membership::No => Reply::Truth(false),
                Membership::Indeterminable => Reply::Unknown,
            })
        }),
    ];

    type Settings = TernarySettings;

    fn resolve(settings: TernarySettings) -> Result<TernarySettings> {
        let (levels, packed) = (LEVELS.need(settings.levels)?, PACKED.need(settings.packed)?);
        let resolved = TernarySettings { levels: Some(levels), packed: Some(packed), ..settings };
        form(&resolved).map(|_| resolved)
    }

    fn planned_bits(settings: &TernarySettings, places: &Places) -> Result<u64> {
        form(settings)?.bits(places.counters())
    }

    fn empty(settings: &TernarySettings, places: &Places) -> Result<Self> {
        TernaryCells::zeroed(form(settings)?, places.counters())
    }

    fn bits(&self) -> u64 {
        self.counters().bits()
    }

    fn nonzero(&self) -> Result<BitStore> {
        let mut bits = BitStore::zeroed(self.len())?;
        (0..self.len()).filter(|&index| self.get(index) != 0).for_each(|index| {
            bits.set(index);
        });
        Ok(bits)
    }

    fn unknown(&self, places: &Places, items: u64) -> Option<f64> {
        Some(theory::ternary::undeletable(places.counters(), items, places.hashes(), self.top()))
    }

    /// Store: the cells as counters of 2 bits, or bytes of five.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.counters(self.counters());
    }

    fn decode(settings: &TernarySettings, decoder: &mut Decoder<'_>, places: &Places) -> Result<Self> {
        TernaryCells::read(form(settings)?, places.counters(), |len, width| decoder.counters(len, width))
    }
}

impl Ternary {
    /// What is known of the key; [`contains`](Self::contains) takes indeterminable for yes.
    ///
    /// ```
    /// use bouquet::{Ternary, counting::ternary::Membership};
    /// let mut filter = Ternary::with_rate(1_000, 0.01)?;
    /// ["rose", "iris", "iris", "iris"].map(|key| filter.insert(key).is_ok());
    /// let answers = ["rose", "iris", "lily"].map(|key| filter.query(key));
    /// assert_eq!(answers, [Membership::Yes, Membership::Indeterminable, Membership::No]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn query<K: Key + ?Sized>(&self, key: &K) -> Membership {
        match self.mechanism.least(key.digest(&self.hashing)) {
            of if of.count == 0 => Membership::No,
            // The least cell is X, so all are.
            of if of.at_least => Membership::Indeterminable,
            _ => Membership::Yes,
        }
    }
}

#[cfg(test)]
mod tests;
