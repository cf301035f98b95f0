#![doc = include_str!("two_choice.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::hash::{Digest, Hashing};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Stats, Text, common, kind};
use crate::parts::bit_array::{self, BitArray, flat_places};
use crate::parts::chosen::{self, choose, fresh_bits, in_family};
use crate::parts::counter_array::Places;
use crate::shell::{ByRate, Code, Far, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, Unite, fields};
use crate::theory::{choices, compressed::message_bits, standard};

/// The registry's row.
pub const KIND: Kind = kind!(TwoChoice);

/// A Bloom filter whose keys choose between families of positions.
///
/// ```
/// use bouquet::TwoChoice;
/// let mut filter = TwoChoice::with_rate(1_000, 0.0001)?;
/// assert!(filter.insert("rose") && !filter.insert("rose"));
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type TwoChoice = Filter<ChoiceBits>;

const CHOICES: Parameter = Parameter::count("choices", "families that a key chooses among", 1, 8).or(2);

/// The settings of a filter with choices.
///
/// ```
/// use bouquet::{TwoChoice, TwoChoiceSettings};
/// let settings = TwoChoiceSettings { items: Some(1_000), bits: Some(16_000), ..Default::default() };
/// assert_eq!(TwoChoice::with(settings)?.settings().hashes, Some(13));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TwoChoiceSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// Size in bits.
    pub bits: Option<u64>,
    /// Positions per family.
    pub hashes: Option<u32>,
    /// Families.
    pub choices: Option<u32>,
}

impl Settings for TwoChoiceSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        choices: CHOICES,
    ];
}

impl ByRate for TwoChoiceSettings {}

/// Bits that keys set where fewest are new.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceBits {
    array: BitArray,
    choices: u32,
}

/// The places and the number of families that settings describe.
fn shape(settings: &TwoChoiceSettings) -> Result<(Places, u32)> {
    let choices: u32 = CHOICES.need(settings.choices)?;
    let fpr = common::FPR.need(settings.fpr)?;
    let (bits, hashes) = match (settings.bits, settings.hashes, settings.items) {
        (Some(bits), Some(hashes), _) => (bits, hashes),
        (Some(bits), None, Some(items)) => (bits, choices::chosen_hashes(bits, items, choices)),
        (None, None, Some(items)) => {
            let size = choices::chosen_for_rate(items, fpr, choices)?;
            (size.bits, size.hashes)
        }
        (None, Some(hashes), Some(items)) => (choices::chosen_bits(items, fpr, hashes, choices)?, hashes),
        (Some(_), None, None) => return Err(common::ITEMS.missing("hashes")),
        (None, _, None) => return Err(common::ITEMS.missing("bits")),
    };
    Ok((flat_places(bits, hashes)?, choices))
}

fn expected_rate(places: &Places, choices: u32, items: u64) -> f64 {
    if items == 0 {
        return 0.0;
    }
    choices::chosen_rate(places.counters() as f64 / items as f64, places.hashes(), choices)
}

impl Mechanism for ChoiceBits {
    const FACTS: Facts = Facts {
        id: "two-choice",
        number: 12,
        aliases: &["power of two choices"],
        family: "membership",
        text: Text::new(include_str!("two_choice.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    type Settings = TwoChoiceSettings;

    fn resolve(asked: &TwoChoiceSettings) -> Result<TwoChoiceSettings> {
        let (places, choices) = shape(asked)?;
        let (bits, hashes) = (Some(places.counters()), Some(places.hashes()));
        Ok(TwoChoiceSettings { bits, hashes, choices: Some(choices), ..asked.clone() })
    }

    fn plan(settings: &TwoChoiceSettings) -> Result<Plan> {
        let ((places, choices), items) = (shape(settings)?, settings.items);
        let fpr = items.map(|items| expected_rate(&places, choices, items));
        Ok(Plan { bits: places.counters(), hashes: places.hashes(), items, fpr })
    }

    /// Below 10.5 bits per key a plain filter is better.
    fn advice(settings: &TwoChoiceSettings) -> Option<String> {
        let ((places, choices), items) = (shape(settings).ok()?, settings.items?);
        let (bits, own) = (places.counters(), expected_rate(&places, choices, items));
        let plain = standard::rate(bits, items, standard::for_bits(bits, items).ok()?.hashes);
        let advice = || {
            format!("a standard filter of {bits} bits has a rate of {plain:.3e}, this one {own:.3e}: take `standard`")
        };
        (plain <= own).then(advice)
    }

    fn empty(settings: &TwoChoiceSettings, _: &Hashing) -> Result<Self> {
        let (places, choices) = shape(settings)?;
        Ok(ChoiceBits { array: BitArray::zeroed(places)?, choices })
    }

    fn domain(settings: &TwoChoiceSettings) -> String {
        bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        chosen::stats(&self.array, 0, items, self.choices)
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = expected_rate(&self.array.places, self.choices, items);
        Rates { false_positive: Some(rate), ..Rates::default() }
    }

    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.bits(&self.array.bits);
    }

    fn decode(settings: &TwoChoiceSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (places, choices) = shape(settings)?;
        let items = decoder.state().u64()?;
        let array = BitArray { places, bits: decoder.bits(places.counters())? };
        Ok((ChoiceBits { array, choices }, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.array.bits.len()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        (0..self.choices.into()).for_each(|family| self.array.prefetch(in_family(digest, family)));
    }
}

impl Test for ChoiceBits {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        (0..self.choices.into()).any(|family| self.array.all_set(in_family(key.digest, family)))
    }
}

impl Put for ChoiceBits {
    type Note<'a> = ();
    type Outcome = bool;

    /// A family that is all ones has a cost of nothing, and is chosen: nothing changes then.
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let fresh = |family: u64, _| Some(fresh_bits(&self.array, in_family(key.digest, family)));
        let (family, fresh) = choose(self.choices.into(), fresh);
        fresh > 0 && self.array.set_all(in_family(key.digest, family))
    }
}

impl Unite for ChoiceBits {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.array.bits.or(&other.array.bits)
    }
}

impl Code for ChoiceBits {
    fn entropy_bits(&self) -> f64 {
        message_bits(self.array.bits.len(), self.array.bits.count_ones())
    }
}

impl TwoChoice {
    /// A filter of `bits` bits and `hashes` positions in each of two families.
    ///
    /// ```
    /// use bouquet::TwoChoice;
    /// let mut filter = TwoChoice::with_size(1_600, 13)?;
    /// filter.insert("rose");
    /// assert!(filter.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(TwoChoiceSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }
}

#[cfg(test)]
mod tests;
