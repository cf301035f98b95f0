#![doc = include_str!("compressed.md")]

use crate::capability::NoteType;
use crate::codec::MAX_CODED_BITS;
use crate::error::{Error, Result};
use crate::kind::{Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Setting, Text, common, kind};
use crate::membership::spread::{REDUCTION, Spread, SpreadKind, scheme};
use crate::membership::{BitFilter, standard};
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

/// The size that the settings describe.
fn size(config: &Config) -> Result<Size> {
    let hashes = config.count("hashes").map(|hashes| hashes as u32);
    let message = config.real("message-bits");
    match (config.count("bits"), hashes, message) {
        (Some(bits), Some(hashes), _) => Ok(Size { bits, hashes }),
        (None, Some(_), None) => common::size(config, "bits"),
        (None, Some(hashes), Some(_)) => {
            Err(Error::parameter("hashes", "left out, for `message-bits` decides them, or given with `bits`", hashes))
        }
        (Some(bits), None, _) => Ok(Size { bits, hashes: hashes_for(config, bits)? }),
        (None, None, _) => best_size(config),
    }
}

/// Bits and hashes for a rate or for the length of a message.
fn best_size(config: &Config) -> Result<Size> {
    let (items, fpr) = (config.need("items")?, config.real("fpr").unwrap_or(0.01));
    let memory = |uncompressed: f64| config.real("memory-bits").unwrap_or(MEMORY_FACTOR * uncompressed);
    // The theory names its arguments, the user the kind's parameters.
    let renamed = |error: theory::Error| match error.into() {
        Error::Parameter { name, expected, found } => {
            let name = match name.as_str() {
                "rate" => "fpr",
                "message_bits_per_key" => "message-bits",
                _ => "memory-bits",
            };
            Error::Parameter { name: name.into(), expected, found }
        }
        error => error,
    };
    let (bits, hashes) = if let Some(message) = config.real("message-bits") {
        let plan = theory::compressed::for_message(message, memory(message)).map_err(renamed)?;
        if config.is_set("fpr") && plan.rate > fpr {
            let expected = format!("more, or `fpr` at least {:.3e}", plan.rate);
            return Err(Error::parameter("message-bits", expected, message));
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
fn hashes_for(config: &Config, bits: u64) -> Result<u32> {
    let (items, fpr) = (config.need("items")?, config.real("fpr").unwrap_or(0.01));
    let bits_per_key = bits as f64 / items as f64;
    let half_full = theory::standard::for_bits(bits, items)?.hashes;
    if let Some(message) = config.real("message-bits") {
        let length = |k: u32| theory::compressed::message_bits_per_key(bits_per_key, k);
        return (1..=half_full).rev().find(|&k| length(k) <= message).ok_or_else(|| {
            Error::parameter("message-bits", format!("at least {:.3} with these bits", length(1)), message)
        });
    }
    (1..=half_full).find(|&k| theory::standard::limit_rate(bits_per_key, k) <= fpr).ok_or_else(|| {
        let needed = theory::standard::optimal_bits_per_key(fpr) * items as f64;
        Error::parameter("bits", format!("at least {} for this rate", needed.ceil()), bits)
    })
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
        parameters: &[
            common::ITEMS,
            common::FPR,
            MESSAGE_BITS,
            MEMORY_BITS,
            common::BITS,
            common::HASHES,
            standard::FAMILY,
            REDUCTION,
        ],
    };

    const CODED: bool = true;

    fn plan(config: &Config) -> Result<Spread<Self, false>> {
        let size = size(config)?;
        if size.bits > MAX_CODED_BITS {
            // A frame of this size would be written and never read: a short message must not claim endless memory.
            return Err(Error::TooLarge { what: "a coded filter".into(), bytes: u128::from(size.bits / 8) });
        }
        Spread::<Self, false>::new(size.bits, size.hashes, scheme::<false>(config, size.bits)?)
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
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        let config = config.with("message-bits", Setting::Real(message_bits))?;
        Self::from_config(&config.with("memory-bits", Setting::Real(memory_bits))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::Compress;
    use crate::kind::Structure;
    use crate::membership::Layout;

    const KEYS: u64 = 100_000;

    fn config(settings: &[(&str, &str)]) -> Config {
        let config = Config::new(KIND.facts());
        settings.iter().fold(config, |config, (name, text)| config.set(name, text).unwrap())
    }

    fn plan(settings: &[(&str, &str)]) -> Result<(u64, u32)> {
        Sparse::plan(&config(settings)).map(|layout| (layout.bits(), layout.hashes()))
    }

    fn filled(bits: u64, hashes: u32, keys: std::ops::Range<u64>) -> Compressed {
        let mut filter = Compressed::with_size(bits, hashes).unwrap();
        keys.for_each(|key| {
            filter.insert(&key);
        });
        filter
    }

    #[test]
    fn the_published_table_is_measured_message_and_rate() {
        for (bits_per_key, hashes, message, rate) in [
            (16, 11, 16.000, 0.000_459),
            (28, 4, 15.846, 0.000_314),
            (48, 3, 15.829, 0.000_222),
            (8, 6, 7.98, 0.0216),
            (14, 2, 7.923, 0.0177),
            (92, 1, 7.923, 0.0108),
        ] {
            let bits = bits_per_key * KEYS;
            let filter = filled(bits, hashes, 0..KEYS);
            let frame = filter.to_bytes();
            let (sent, entropy) = (frame.len() as f64 * 8.0, filter.entropy_bits());
            assert!((sent - entropy).abs() < 0.005 * entropy + 64.0 * 8.0, "{sent} bits for {entropy}");
            // The zeros scatter by less than 1 in 1000 of the message at this size.
            assert!((entropy / KEYS as f64 / message - 1.0).abs() < 0.002, "{entropy}");

            let queries = 1_000_000;
            let found = (KEYS..KEYS + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64;
            let sigma = theory::spread::test_sigma(bits, KEYS, hashes, queries);
            assert!((found - filter.layout().expected_rate(KEYS)).abs() < 5.0 * sigma, "{found}");
            assert!((found - rate).abs() < 5.0 * sigma + 5e-3 * rate, "{found} for {rate}");
            assert_eq!(Compressed::from_bytes(&frame).unwrap(), filter);
        }
    }

    #[test]
    fn the_sizing_finds_the_published_designs() {
        let by_message = |z, limit| plan(&[("items", "1000"), ("message-bits", z), ("memory-bits", limit)]).unwrap();
        assert_eq!(by_message("16", "48"), (48_000, 3));
        assert_eq!(by_message("16", "28"), (28_000, 4));
        assert_eq!(by_message("8", "14"), (14_000, 2));
        assert_eq!(by_message("8", "92"), (92_000, 1));
        assert_eq!(by_message("16", "30000").1, 1);
        let (bits, hashes) = plan(&[("items", "1000"), ("fpr", "0.000222"), ("memory-bits", "48.1")]).unwrap();
        assert_eq!(hashes, 3);
        assert!((47_900..48_100).contains(&bits), "{bits}");
    }

    #[test]
    fn the_default_message_is_shorter_than_a_standard_filter_of_the_rate() {
        for (fpr, saved) in [("0.1", 0.07), ("0.01", 0.07), ("0.001", 0.12), ("1e-6", 0.12), ("1e-15", 0.12)] {
            let layout = Sparse::plan(&config(&[("items", "100000"), ("fpr", fpr)])).unwrap();
            let fpr: f64 = fpr.parse().unwrap();
            let bits_per_key = layout.bits() as f64 / 1e5;
            let uncompressed = theory::standard::optimal_bits_per_key(fpr);
            assert!(bits_per_key <= MEMORY_FACTOR * uncompressed + 1e-4);
            assert!(layout.expected_rate(100_000) < fpr * 1.001);
            let message = theory::compressed::message_bits_per_key(bits_per_key, layout.hashes());
            assert!(message < (1.0 - saved) * uncompressed, "{fpr}: {message} against {uncompressed}");
        }
    }

    #[test]
    fn given_bits_leave_the_hashes_to_the_rate_or_to_the_message() {
        let (items, bits) = (("items", "1000"), ("bits", "28000"));
        assert_eq!(plan(&[items, bits, ("message-bits", "15.9")]).unwrap(), (28_000, 4));
        assert_eq!(plan(&[items, bits, ("fpr", "0.00032")]).unwrap(), (28_000, 4));
        assert_eq!(plan(&[items, bits, ("fpr", "0.0003")]).unwrap(), (28_000, 5));
        assert_eq!(plan(&[bits, ("hashes", "9")]).unwrap(), (28_000, 9));
        assert_eq!(plan(&[items, ("hashes", "2"), ("fpr", "0.01")]).unwrap().1, 2);
    }

    #[test]
    fn settings_that_cannot_be_had_are_refused_by_name() {
        let refused = |settings: &[(&str, &str)]| match plan(settings) {
            Err(Error::Parameter { name, .. }) => name,
            Err(Error::TooLarge { .. }) => "too large".into(),
            answer => panic!("{answer:?}"),
        };
        let items = ("items", "1000");
        assert_eq!(refused(&[]), "items");
        assert_eq!(refused(&[("bits", "1000")]), "items");
        assert_eq!(refused(&[items, ("fpr", "0.001"), ("memory-bits", "10")]), "memory-bits");
        assert_eq!(refused(&[items, ("fpr", "0.001"), ("message-bits", "8")]), "message-bits");
        assert_eq!(refused(&[items, ("hashes", "3"), ("message-bits", "8")]), "hashes");
        assert_eq!(refused(&[items, ("bits", "1000"), ("message-bits", "0.1")]), "message-bits");
        assert_eq!(refused(&[items, ("bits", "1000"), ("fpr", "0.01")]), "bits");
        assert_eq!(refused(&[items, ("reduction", "mask")]), "bits");
        assert_eq!(refused(&[("items", "1e16")]), "too large");
        assert_eq!(refused(&[("bits", "1e10"), ("hashes", "3")]), "too large");
    }

    #[test]
    fn an_update_after_one_percent_of_change_costs_what_theory_says() {
        let (old, new) = (filled(28 * KEYS, 4, 0..KEYS), filled(28 * KEYS, 4, KEYS / 100..KEYS + KEYS / 100));
        let delta = old.delta(&new).unwrap();
        let bits_per_key = delta.len() as f64 * 8.0 / KEYS as f64;
        assert!((bits_per_key / 0.70 - 1.0).abs() < 0.05, "{bits_per_key}");
        let share = delta.len() as f64 / new.to_bytes().len() as f64;
        assert!((share / 0.044 - 1.0).abs() < 0.05, "{share}");
        let mut receiver = old.clone();
        receiver.apply_delta(&delta).unwrap();
        assert_eq!(receiver, new);
        assert!(filled(28 * KEYS, 4, 1..KEYS).apply_delta(&delta).is_err(), "another base");
    }

    #[test]
    fn empty_and_full_filters_are_frames_without_a_message() {
        let empty = Compressed::with_size(1 << 20, 3).unwrap();
        let mut full = Compressed::with_size(64, 8).unwrap();
        (0..1_000u64).for_each(|key| {
            full.insert(&key);
        });
        assert_eq!((full.fill(), full.entropy_bits(), empty.entropy_bits()), (1.0, 0.0, 0.0));
        for filter in [empty, full] {
            assert!(filter.to_bytes().len() <= 512);
            assert_eq!(Compressed::from_bytes(&filter.to_bytes()).unwrap(), filter);
        }
    }

    #[test]
    fn settings_of_a_filter_make_an_equal_one() {
        let filter = Compressed::with_message(1_000, 12.0, 40.0).unwrap();
        assert_eq!(Compressed::create(&filter.config()).unwrap(), filter);
    }
}
