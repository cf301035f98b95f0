//! Updates between nodes: what has changed since the last message, component by component.
//!
//! A node that publishes its filter keeps a copy of what it has sent. For every component that has changed since, it sends
//! old XOR new, or the whole where the receiver has no old copy; both arithmetic-coded, so that a small change makes a short
//! message. Components that were united or dropped are named.
//!
//! An XOR that is applied twice, or out of order, would silently corrupt. So every component has a version, every message
//! says from which state to which it leads, and every record carries a checksum of its result. A receiver applies all of a
//! message or nothing.
//!
//! ```text
//! u64 shape, u64 from, u64 to, u32 records
//! for each: u64 number, u8 form, u64 old version, u64 keys, u64 ones, u32 length, coded bits, u64 checksum of the result
//! u64 checksum of the message
//! ```
//!
//! All little-endian. Forms: 0 the component is dropped (nothing but its number and version follows), 1 whole, 2 XOR.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::settings::Design;
use super::{Cell, Chained, Dynamic, DynamicSettings};
use crate::codec::{MAX_CODED_BITS, MAX_SECTIONS, StateReader, StateWriter};
use crate::coder::{decode_bits, encode_bits, xor_words};
use crate::error::{Error, Result, same};
use crate::hash::Hashing;
use crate::key::Key;
use crate::parts::equal_components::{COUNTER_BITS, Cells};
use crate::store::{BitStore, Counters, Words};
use crate::theory::dynamic::Shape;

/// What of a filter with counters is sent.
///
/// ```
/// use bouquet::dynamic::dynamic::{Dynamic, Image, Publisher};
/// let mut filter = Dynamic::with_rate(1_000, 0.01)?;
/// (0..1_000u32).for_each(|key| filter.add(&key).unwrap());
/// let message = |image| Publisher::new(image).update(&filter).map(|message| message.len());
/// assert!(message(Image::Bits)? < message(Image::Counters)?);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// Which counters are not zero: enough to ask.
    Bits,
    /// The counters, for a receiver that is to remove keys too.
    Counters,
}

/// A component as it was sent.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    number: u64,
    /// The message with which it last changed.
    version: u64,
    items: u64,
    /// Its bits, or its counters one behind the other.
    words: Vec<u64>,
}

impl Part {
    /// What one who has the component must have before, and will have after, a change.
    fn checksum(number: u64, version: u64, items: u64, words: &[u64]) -> u64 {
        let mut checksum = Xxh3::new();
        for field in [number, version, items].iter().chain(words) {
            checksum.update(&field.to_le_bytes());
        }
        checksum.digest()
    }
}

const DROPPED: u8 = 0;
const WHOLE: u8 = 1;
const XOR: u8 = 2;

/// A checksum of everything that both ends must agree on.
fn shape_of(design: &Design, hashing: &Hashing, image: Image) -> u64 {
    let Shape { bits, hashes, capacity } = design.shape;
    let hash = u64::from(hashing.id().number());
    Part::checksum(bits, u64::from(hashes), capacity, &[hash, hashing.seed(), image as u64])
}

/// The bits of a component's image.
fn image_bits(shape: &Shape, image: Image) -> u64 {
    match image {
        Image::Bits => shape.bits,
        // A shape whose counters exist fits.
        Image::Counters => shape.bits.saturating_mul(COUNTER_BITS.into()),
    }
}

/// What other nodes are given.
impl Dynamic {
    /// The copy that other nodes hold, for questions: the same components, one behind the other, with bits in the place of
    /// counters. Two of them, of before and after a change, make a short [delta](Dynamic::delta).
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Dynamic;
    /// let mut filter = Dynamic::with_rate(1_000, 0.01)?;
    /// (0..2_500u32).for_each(|key| filter.add(&key).unwrap());
    /// let mut copy = filter.bit_image()?;
    /// assert!(copy.components() == 3 && !copy.has_counters());
    /// filter.add("rose")?;
    /// copy.apply_delta(&copy.delta(&filter.bit_image()?)?)?;
    /// assert!(copy.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn bit_image(&self) -> Result<Dynamic> {
        Replica::new(self, Image::Bits)?.filter_of(&parts(self, Image::Bits, &[], 0)?)
    }
}

/// The sending end: what the receivers have.
///
/// ```
/// use bouquet::dynamic::dynamic::{Dynamic, Image, Publisher, Replica};
/// let mut filter = Dynamic::with_rate(1_000, 0.01)?;
/// let (mut publisher, mut replica) = (Publisher::new(Image::Bits), Replica::new(&filter, Image::Bits)?);
/// for day in 0..3u32 {
///     (day * 500..day * 500 + 500).for_each(|key| filter.add(&key).unwrap());
///     replica.apply(&publisher.update(&filter)?)?;
/// }
/// assert!((0..1_500u32).all(|key| replica.contains(&key)));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Publisher {
    image: Image,
    /// The state that the last message led to; 0 is that of a receiver that has nothing.
    version: u64,
    sent: Vec<Part>,
}

impl Publisher {
    /// A publisher that has sent nothing.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Image, Publisher};
    /// assert_eq!(Publisher::new(Image::Bits).version(), 0);
    /// ```
    #[must_use]
    pub fn new(image: Image) -> Self {
        Publisher { image, version: 0, sent: Vec::new() }
    }

    /// The number of messages that were made: the state that receivers are in who have applied them all.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Dynamic, Image, Publisher};
    /// let mut publisher = Publisher::new(Image::Bits);
    /// publisher.update(&Dynamic::with_rate(1_000, 0.01)?)?;
    /// assert_eq!(publisher.version(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The message that leads receivers from the last one to the present state of the filter, which must be the one whose
    /// updates this publisher sends. Counters can only be sent of a filter that has them.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Dynamic, Image, Publisher};
    /// let mut filter = Dynamic::with_rate(100_000, 0.01)?;
    /// (0..100_000u32).for_each(|key| filter.add(&key).unwrap());
    /// let mut publisher = Publisher::new(Image::Bits);
    /// let whole = publisher.update(&filter)?.len();
    /// filter.remove(&7u32)?;
    /// assert!(publisher.update(&filter)?.len() < whole / 500);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn update(&mut self, filter: &Dynamic) -> Result<Vec<u8>> {
        let to = self.version + 1;
        let now = parts(filter, self.image, &self.sent, to)?;
        let message = write(filter, self.image, self.version, &self.sent, to, &now)?;
        (self.version, self.sent) = (to, now);
        Ok(message)
    }

    /// The message that leads a receiver that has nothing to the state of the last update of this filter.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Dynamic, Image, Publisher, Replica};
    /// let mut filter = Dynamic::with_rate(1_000, 0.01)?;
    /// let mut publisher = Publisher::new(Image::Bits);
    /// filter.add("rose")?;
    /// publisher.update(&filter)?;
    /// let mut late = Replica::new(&filter, Image::Bits)?;
    /// late.apply(&publisher.whole(&filter)?)?;
    /// assert!(late.contains("rose") && late.version() == 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn whole(&self, filter: &Dynamic) -> Result<Vec<u8>> {
        write(filter, self.image, 0, &[], self.version, &self.sent)
    }
}

/// A few bytes can stand for any number of zeros, so what a message may unfold to is bounded as that of a coded frame is.
fn check_size(components: usize, bits: u64) -> Result<()> {
    let all = bits.saturating_mul(components as u64);
    if all <= MAX_CODED_BITS {
        return Ok(());
    }
    Err(Error::TooLarge { what: "a filter that is sent in updates".into(), bytes: u128::from(all / 8) })
}

/// The components as they are now. Those that have not changed keep their version.
fn parts(filter: &Dynamic, image: Image, sent: &[Part], version: u64) -> Result<Vec<Part>> {
    check_size(filter.components(), image_bits(&filter.mechanism.design.shape, image))?;
    let cells = filter.mechanism.chain.components();
    let mut now = Vec::new();
    for (index, (&number, &items)) in filter.mechanism.numbers.iter().zip(filter.mechanism.chain.counts()).enumerate() {
        let words = match image {
            Image::Bits => cells.bit_image(index)?.words().to_vec(),
            Image::Counters => {
                let counters = cells.counters(index).map(|counters| counters.words().to_vec());
                counters.ok_or_else(|| Error::parameter("components", "counters, to send them", "bits"))?
            }
        };
        let before = sent.iter().find(|part| part.number == number && part.items == items && part.words == words);
        let version = before.map_or(version, |part| part.version);
        now.push(Part { number, version, items, words });
    }
    Ok(now)
}

/// The message that leads from one state to another.
fn write(filter: &Dynamic, image: Image, from: u64, old: &[Part], to: u64, new: &[Part]) -> Result<Vec<u8>> {
    let bits = image_bits(&filter.mechanism.design.shape, image);
    let mut records = 0u32;
    let mut body = Vec::new();
    let mut record = |fields: StateWriter, coded: &[u8], checksum: Option<u64>| {
        records += 1;
        body.extend_from_slice(fields.as_slice());
        body.extend_from_slice(coded);
        body.extend(checksum.into_iter().flat_map(u64::to_le_bytes));
    };
    for part in old.iter().filter(|part| new.iter().all(|kept| kept.number != part.number)) {
        let mut fields = StateWriter::default();
        fields.u64(part.number);
        fields.u8(DROPPED);
        fields.u64(part.version);
        record(fields, &[], None);
    }
    for part in new {
        let before = old.iter().find(|before| before.number == part.number);
        if before.is_some_and(|before| before.version == part.version) {
            continue;
        }
        let coded = match before {
            Some(before) => encode_bits(&xor_words(&before.words, &part.words)?, bits)?,
            None => encode_bits(&part.words, bits)?,
        };
        let mut fields = StateWriter::default();
        fields.u64(part.number);
        fields.u8(if before.is_some() { XOR } else { WHOLE });
        fields.u64(before.map_or(0, |before| before.version));
        fields.u64(part.version);
        fields.u64(part.items);
        fields.u64(coded.ones);
        // A component of more bits could not be coded in this many bytes either.
        fields.u32(
            u32::try_from(coded.bytes.len())
                .map_err(|_| Error::TooLarge { what: "a message".into(), bytes: coded.bytes.len() as u128 })?,
        );
        record(fields, &coded.bytes, Some(Part::checksum(part.number, part.version, part.items, &part.words)));
    }
    let mut head = StateWriter::default();
    for field in [shape_of(&filter.mechanism.design, filter.hashing(), image), from, to] {
        head.u64(field);
    }
    head.u32(records);
    let mut out = [head.as_slice(), &body].concat();
    out.extend_from_slice(&xxh3_64(&out).to_le_bytes());
    Ok(out)
}

/// The receiving end: a copy of another node's filter, for questions.
///
/// ```
/// use bouquet::dynamic::dynamic::{Dynamic, Image, Publisher, Replica};
/// let mut filter = Dynamic::with_rate(1_000, 0.01)?;
/// let (mut publisher, mut replica) = (Publisher::new(Image::Counters), Replica::new(&filter, Image::Counters)?);
/// replica.apply(&publisher.update(&filter)?)?;
/// filter.add("rose")?;
/// let message = publisher.update(&filter)?;
/// replica.apply(&message)?;
/// assert!(replica.contains("rose"));
/// assert!(replica.apply(&message).is_err(), "an XOR must not be applied twice");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Replica {
    image: Image,
    version: u64,
    parts: Vec<Part>,
    filter: Dynamic,
}

impl Replica {
    /// A receiver that has nothing, of filters with the settings of this one.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Dynamic, Image, Replica};
    /// let own = Dynamic::with_rate(1_000, 0.01)?;
    /// assert!(!Replica::new(&own, Image::Bits)?.filter().has_counters());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn new(like: &Dynamic, image: Image) -> Result<Self> {
        let DynamicSettings { items, fpr, bits, hashes, capacity, .. } = like.settings();
        let components = Some(if image == Image::Bits { Cell::Bits } else { Cell::Counters });
        let settings = DynamicSettings { items, fpr, bits, hashes, capacity, components, ..DynamicSettings::default() };
        let filter = Dynamic::hashed(settings, like.hashing().clone())?;
        Ok(Replica { image, version: 0, parts: Vec::new(), filter })
    }

    /// The state that it is in: the number of the last message.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Dynamic, Image, Replica};
    /// assert_eq!(Replica::new(&Dynamic::with_rate(10, 0.01)?, Image::Bits)?.version(), 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The copy.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Dynamic, Image, Publisher, Replica};
    /// let mut filter = Dynamic::with_rate(100, 0.01)?;
    /// (0..250u32).for_each(|key| filter.add(&key).unwrap());
    /// let mut replica = Replica::new(&filter, Image::Counters)?;
    /// replica.apply(&Publisher::new(Image::Counters).update(&filter)?)?;
    /// assert_eq!(replica.filter(), &filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn filter(&self) -> &Dynamic {
        &self.filter
    }

    /// Whether the key may be in the other node's set.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Dynamic, Image, Replica};
    /// assert!(!Replica::new(&Dynamic::with_rate(10, 0.01)?, Image::Bits)?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    /// Applies a message. One that is damaged, made for other settings, or made for another state than the present one
    /// (it was applied before, or one before it is missing) is refused, and nothing changes. A message that begins from
    /// nothing is always taken.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Dynamic, Image, Publisher, Replica};
    /// let mut filter = Dynamic::with_rate(1_000, 0.01)?;
    /// let (mut publisher, mut replica) = (Publisher::new(Image::Bits), Replica::new(&filter, Image::Bits)?);
    /// replica.apply(&publisher.update(&filter)?)?;
    /// let _lost = publisher.update(&filter)?;
    /// assert!(replica.apply(&publisher.update(&filter)?).is_err());
    /// replica.apply(&publisher.whole(&filter)?)?;
    /// assert_eq!(replica.version(), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn apply(&mut self, message: &[u8]) -> Result<()> {
        let Some((message, checksum)) = message.split_last_chunk::<8>() else {
            return Err(Error::Truncated { what: "the update".into(), needed: 8, available: message.len() as u64 });
        };
        check("checksum of the update", u64::from_le_bytes(*checksum), xxh3_64(message))?;
        let mut reader = StateReader::new(message, "update");
        let (shape, from, to, records) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u32()?);
        same(
            "settings of the update",
            shape_of(&self.filter.mechanism.design, self.filter.hashing(), self.image),
            shape,
        )?;
        let mut parts = if from == 0 { Vec::new() } else { self.parts.clone() };
        if from != 0 {
            same("state before the update", self.version, from)?;
        }
        for _ in 0..records {
            self.apply_record(message, &mut reader, &mut parts)?;
        }
        check("bytes behind the update", 0, reader.len() as u64)?;
        parts.sort_by_key(|part| part.number);
        let filter = self.filter_of(&parts)?;
        (self.version, self.parts, self.filter) = (to, parts, filter);
        Ok(())
    }

    fn apply_record<'a>(&self, message: &'a [u8], reader: &mut StateReader<'a>, parts: &mut Vec<Part>) -> Result<()> {
        let (number, form, old_version) = (reader.u64()?, reader.u8()?, reader.u64()?);
        let found = parts.iter().position(|part| part.number == number);
        if form != WHOLE {
            let version = found.and_then(|index| parts.get(index)).map(|part| part.version);
            same("version of a component", version, Some(old_version))?;
        } else if found.is_some() {
            return Err(Error::corrupt("a whole component", "one that is not there yet", number));
        }
        let before = match (form, found) {
            (DROPPED | XOR, Some(index)) => Some(parts.remove(index)),
            _ => None,
        };
        match form {
            DROPPED => return Ok(()),
            WHOLE | XOR => {}
            other => return Err(Error::corrupt("form of a record", "0, 1 or 2", other)),
        }
        let (version, items, ones, len) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u32()?);
        let start = message.len() - reader.len();
        let coded = message.get(start..).and_then(|rest| rest.get(..len as usize)).ok_or_else(|| Error::Truncated {
            what: "the update".into(),
            needed: len.into(),
            available: reader.len() as u64,
        })?;
        *reader = StateReader::new(&message[start + coded.len()..], "update");
        let bits = image_bits(&self.filter.mechanism.design.shape, self.image);
        check_size(parts.len() + 1, bits)?;
        let mut words = decode_bits(coded, bits, ones, bits)?;
        if let Some(before) = before {
            words = xor_words(&before.words, &words)?;
        }
        check("result of the update", reader.u64()?, Part::checksum(number, version, items, &words))?;
        if items > self.filter.mechanism.design.shape.capacity || number >= 1 << 62 || parts.len() >= MAX_SECTIONS {
            return Err(Error::corrupt("a component", "of this shape", format!("number {number} with {items} keys")));
        }
        parts.push(Part { number, version, items, words });
        Ok(())
    }

    /// The filter of these components; an empty one of none.
    fn filter_of(&self, parts: &[Part]) -> Result<Dynamic> {
        let (settings, hashing) = (self.filter.settings(), self.filter.hashing());
        let Some(last) = parts.last() else { return Dynamic::hashed(settings, hashing.clone()) };
        let design = self.filter.mechanism.design;
        let shape = design.shape;
        let dirty = || Error::corrupt("bits behind the end of a component", "0", "1");
        let words = |part: &Part| Words::copied(&part.words);
        let cells = match self.image {
            Image::Bits => {
                let row = |part: &Part| BitStore::from_words(words(part)?, shape.bits).ok_or_else(dirty);
                Cells::from_rows(parts.iter().map(row).collect::<Result<Vec<_>>>()?, shape)
            }
            Image::Counters => {
                let row = |part: &Part| Counters::from_words(words(part)?, shape.bits, COUNTER_BITS).ok_or_else(dirty);
                Cells::from_counters(parts.iter().map(row).collect::<Result<Vec<_>>>()?, shape, false)?
            }
        };
        let items = parts.iter().map(|part| part.items).collect();
        let numbers = parts.iter().map(|part| part.number).collect();
        let chained = Chained::of(design, cells, items, numbers, last.number + 1)?;
        Ok(Dynamic::of_parts(chained, settings, hashing, 0))
    }
}

fn check(what: &str, expected: u64, found: u64) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::corrupt(what, format!("{expected:#x}"), format!("{found:#x}")))
}
