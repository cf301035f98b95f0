#![doc = include_str!("compressed.md")]

use crate::capability::NoteType;
use crate::codec::MAX_CODED_BITS;
use crate::error::{Error, Result};
use crate::hash::{Family, Scheme};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, ParameterType, Text, common, kind};
use crate::membership::spread::{REDUCTION, Reducing, Spread, SpreadKind, SpreadSettings};
use crate::membership::{BitFilter, BitSettings, Sizes, standard};
use crate::shell::{ByRate, Fields, Settings, fields};
use crate::theory::{self, Size};

/// A compressed Bloom filter: the frame is the short message.
///
/// ```
/// use bouquet::membership::compressed::Compressed;
/// let mut filter = Compressed::with_rate(10_000, 0.001)?;
/// for key in 0..10_000u64 {
///     filter.insert(&key);
/// }
/// let message = filter.to_bytes();
/// assert!(message.len() < 16_500, "an uncompressed filter has 17,973 bytes");
/// assert_eq!(Compressed::from_bytes(&message)?, filter);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Compressed = BitFilter<Sparse>;

/// The registry's row.
pub const KIND: Kind = kind!(Compressed);

/// The standard layout in a size that is good to send.
///
/// ```
/// use bouquet::{Bloom, Compressed, membership::Layout};
/// let (sent, kept) = (Compressed::with_rate(1_000, 0.001)?, Bloom::with_rate(1_000, 0.001)?);
/// assert!(sent.layout().bits() > 2 * kept.layout().bits(), "more memory");
/// assert!(sent.layout().hashes() < kept.layout().hashes() / 2, "fewer ones");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Sparse = Spread<Message, false>;

/// The kind that is sized for its message.
///
/// ```
/// use bouquet::membership::{SpreadKind, compressed::Message};
/// assert!(Message::CODED && Message::FACTS.id == "compressed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message;

/// Bits in memory per bit of an uncompressed filter, when no limit is given.
const MEMORY_FACTOR: f64 = 5.0;

/// The wanted length of the message.
const MESSAGE_BITS: Parameter = Parameter {
    name: "message-bits",
    help: "bits per key of the message, instead of a rate",
    of: ParameterType::Real { above: 0.0, below: 1e6, default: None },
};

/// The allowed size in memory.
const MEMORY_BITS: Parameter = Parameter {
    name: "memory-bits",
    help: "most bits per key in memory; five times those of an uncompressed filter when not given",
    of: ParameterType::Real { above: 0.0, below: 1e6, default: None },
};

/// The settings of a compressed Bloom filter.
///
/// ```
/// use bouquet::{Compressed, CompressedSettings};
/// let (items, message_bits) = (Some(1_000), Some(16.0));
/// let filter = Compressed::with(CompressedSettings { items, message_bits, memory_bits: Some(48.0), ..Default::default() })?;
/// assert_eq!((filter.settings().bits, filter.settings().hashes), (Some(48_000), Some(3)));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompressedSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// Bits per key of the message, instead of a rate.
    pub message_bits: Option<f64>,
    /// Most bits per key in memory.
    pub memory_bits: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// How a key's positions follow from its hash.
    pub family: Option<Family>,
    /// How a hash word becomes a position.
    pub reduction: Option<Reducing>,
}

impl Settings for CompressedSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        message_bits: MESSAGE_BITS,
        memory_bits: MEMORY_BITS,
        bits: common::BITS,
        hashes: common::HASHES,
        family: standard::FAMILY,
        reduction: REDUCTION,
    ];
}

impl ByRate for CompressedSettings {}

impl BitSettings for CompressedSettings {
    fn sizes(&self) -> Sizes {
        let CompressedSettings { items, fpr, bits, hashes, .. } = *self;
        Sizes { items, fpr, bits, hashes }
    }

    /// What it was chosen by is not kept.
    fn sized(self, bits: u64, hashes: u32) -> Self {
        CompressedSettings { bits: Some(bits), hashes: Some(hashes), message_bits: None, memory_bits: None, ..self }
    }
}

impl SpreadSettings for CompressedSettings {
    fn scheme(&self) -> (Option<Family>, Option<Reducing>) {
        (self.family, self.reduction)
    }

    fn with_scheme(self, Scheme { family, reduction }: Scheme) -> Self {
        CompressedSettings { family: Some(family), reduction: Some(Reducing::By(reduction)), ..self }
    }
}

impl CompressedSettings {
    /// Bits and hashes for a rate or for the length of a message.
    fn best_size(&self) -> Result<Size> {
        let (items, fpr) = (common::ITEMS.need(self.items)?, common::FPR.need(self.fpr)?);
        let memory = |uncompressed: f64| self.memory_bits.unwrap_or(MEMORY_FACTOR * uncompressed);
        // The theory names its arguments, the user the kind's parameters.
        let renamed = |error: theory::Error| match error.into() {
            Error::Parameter { name, expected, found } => {
                let name = match name.as_str() {
                    "rate" => common::FPR.name,
                    "message_bits_per_key" => MESSAGE_BITS.name,
                    _ => MEMORY_BITS.name,
                };
                Error::Parameter { name: name.into(), expected, found }
            }
            error => error,
        };
        let (bits, hashes) = if let Some(message) = self.message_bits {
            let plan = theory::compressed::for_message(message, memory(message)).map_err(renamed)?;
            if self.fpr.is_some() && plan.rate > fpr {
                let expected = format!("more, or `fpr` at least {:.3e}", plan.rate);
                return Err(Error::parameter(MESSAGE_BITS.name, expected, message));
            }
            ((plan.bits_per_key * items as f64).floor(), plan.hashes)
        } else {
            let uncompressed = theory::standard::optimal_bits_per_key(fpr);
            let plan = theory::compressed::for_rate(fpr, memory(uncompressed)).map_err(renamed)?;
            ((plan.bits_per_key * items as f64).ceil(), plan.hashes)
        };
        // Beyond 2^64 the conversion stops at the largest number, which is refused for its size.
        Ok(Size { bits: (bits as u64).max(1), hashes })
    }

    /// The hashes for given bits: as many as the message allows, or the fewest that reach the rate. More make the message
    /// longer and, up to the half-full filter, the rate lower.
    fn hashes_for(&self, bits: u64) -> Result<u32> {
        let (items, fpr) = (common::ITEMS.need(self.items)?, common::FPR.need(self.fpr)?);
        let bits_per_key = bits as f64 / items as f64;
        let half_full = theory::standard::for_bits(bits, items)?.hashes;
        if let Some(message) = self.message_bits {
            let length = |k: u32| theory::compressed::message_bits_per_key(bits_per_key, k);
            return (1..=half_full).rev().find(|&k| length(k) <= message).ok_or_else(|| {
                Error::parameter(MESSAGE_BITS.name, format!("at least {:.3} with these bits", length(1)), message)
            });
        }
        (1..=half_full).find(|&k| theory::standard::limit_rate(bits_per_key, k) <= fpr).ok_or_else(|| {
            let needed = theory::standard::optimal_bits_per_key(fpr) * items as f64;
            Error::parameter(common::BITS.name, format!("at least {} for this rate", needed.ceil()), bits)
        })
    }
}

impl SpreadKind<false> for Message {
    const FACTS: Facts = Facts {
        id: "compressed",
        number: 3,
        aliases: &["CBF-z", "compressed-bloom"],
        family: "membership",
        text: Text::new(include_str!("compressed.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const CODED: bool = true;

    const FAMILY: Parameter = standard::FAMILY;

    type Settings = CompressedSettings;

    fn size(settings: &CompressedSettings) -> Result<Size> {
        let Sizes { items, fpr, bits, hashes } = settings.sizes();
        let size = match (bits, hashes, settings.message_bits) {
            (Some(bits), Some(hashes), _) => Size { bits, hashes },
            (None, Some(_), None) => common::size_of(items, fpr, None, hashes, common::BITS.name)?,
            (None, Some(hashes), Some(_)) => {
                let expected = "left out, for `message-bits` decides them, or given with `bits`";
                return Err(Error::parameter(common::HASHES.name, expected, hashes));
            }
            (Some(bits), None, _) => Size { bits, hashes: settings.hashes_for(bits)? },
            (None, None, _) => settings.best_size()?,
        };
        if size.bits > MAX_CODED_BITS {
            // A frame of this size would be written and never read: a short message must not claim endless memory.
            return Err(Error::TooLarge { what: "a coded filter".into(), bytes: u128::from(size.bits / 8) });
        }
        Ok(size)
    }
}

impl Compressed {
    /// The filter of the lowest rate for `items` keys whose message has at most `message_bits` bits per key, within
    /// `memory_bits` bits per key in memory.
    ///
    /// ```
    /// use bouquet::membership::compressed::Compressed;
    /// let filter = Compressed::with_message(1_000, 16.0, 48.0)?;
    /// assert_eq!((filter.bits().len(), filter.hashes()), (48_000, 3));
    /// assert!(Compressed::with_message(1_000, -1.0, 48.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_message(items: u64, message_bits: f64, memory_bits: f64) -> Result<Self> {
        let (message_bits, memory_bits) = (Some(message_bits), Some(memory_bits));
        Self::with(CompressedSettings { items: Some(items), message_bits, memory_bits, ..Default::default() })
    }
}

#[cfg(test)]
mod tests;
