#![doc = include_str!("adaptive.md")]

use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, MAX_HASHES, probes};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Plan, Rates, Reply, Special, Stats, Takes, Text, kind};
use crate::parts::bit_array::{self, BitArray};
use crate::shell::{ByRate, Far, Filter, Hashed, Mechanism, Put, Tally, Test};
use crate::store::BitStore;
use crate::theory::{adaptive, spread};

mod settings;

pub use settings::{AdaptiveSettings, Layout};
use settings::{LAYOUT, Shape};

/// The registry's row.
pub const KIND: Kind = kind!(Adaptive);

/// The stream of the digest that continues a key's sequence behind its first 64 positions.
const SEQUENCE: u64 = 64;

/// An adaptive Bloom filter.
///
/// ```
/// use bouquet::Adaptive;
/// let mut filter = Adaptive::with_insertions(1_000, 100_000, 0.01)?;
/// for _ in 0..500 {
///     filter.insert("rose")?;
/// }
/// assert!(filter.count("rose").count >= 500);
/// assert!((filter.estimate("rose") - 500.0).abs() < 50.0);
/// assert_eq!(filter.count("lily").count, 0);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Adaptive = Filter<AdaptiveBits>;

/// Bits for membership, and runs of ones that count.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveBits {
    /// Membership and, with the shared layout, counts.
    array: BitArray,
    /// The vector of counts, with the split layout.
    counts: Option<BitStore>,
    /// Ones of the vector that counts are in.
    ones: u64,
    /// The sum over the insertions of g(fill) when they scanned.
    foreign: f64,
}

impl Mechanism for AdaptiveBits {
    const FACTS: Facts = Facts {
        id: "adaptive",
        number: 61,
        aliases: &["ABF"],
        family: "counting",
        text: Text::new(include_str!("adaptive.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const SPECIALS: &'static [Special<Adaptive>] = &[Special::ask(
        "estimate",
        Takes::Key,
        "the corrected count, right on average for keys whose insertions are spread over all",
        |filter, argument| Ok(Reply::Real(filter.estimate(argument.key()?))),
    )];

    type Settings = AdaptiveSettings;

    fn resolve(asked: &AdaptiveSettings) -> Result<AdaptiveSettings> {
        let Shape { places, count_bits } = Shape::plan(asked)?;
        Ok(AdaptiveSettings {
            layout: Some(LAYOUT.need(asked.layout)?),
            bits: Some(places.counters()),
            hashes: Some(places.hashes()),
            count_bits,
            ..asked.clone()
        })
    }

    fn plan(settings: &AdaptiveSettings) -> Result<Plan> {
        let (shape, items) = (Shape::plan(settings)?, settings.items);
        let (m, k) = (shape.places.counters(), shape.places.hashes());
        let fpr = items.map(|items| match settings.insertions {
            // Count bits beyond the first of each key make one vector fuller; in whatever order they come, no fuller than this.
            Some(insertions) if insertions > items && shape.count_bits.is_none() => {
                adaptive::shared_fill(m, items, insertions, k).powi(k as i32)
            }
            _ => shape.expected_rate(items),
        });
        Ok(Plan { bits: shape.bits(), hashes: k, items, fpr })
    }

    fn empty(settings: &AdaptiveSettings, _: &Hashing) -> Result<Self> {
        let Shape { places, count_bits } = Shape::plan(settings)?;
        let counts = count_bits.map(BitStore::zeroed).transpose()?;
        Ok(AdaptiveBits { array: BitArray::zeroed(places)?, counts, ones: 0, foreign: 0.0 })
    }

    fn domain(settings: &AdaptiveSettings) -> String {
        bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        let shape = self.shape();
        let (m, k) = (shape.places.counters(), shape.places.hashes());
        let fill = self.array.bits.fill();
        let honest = match shape.count_bits {
            Some(_) => shape.places.honest_fill(items),
            // At most: every insertion is of another key, and each sets a bit for its count.
            None => {
                let deviation = spread::ones_variance(m, items, k).sqrt();
                (spread::ones(m, items, k) + items as f64 + 8.0 * deviation) / m as f64
            }
        };
        Stats {
            items,
            bits: shape.bits(),
            hashes: k,
            fill: Some(fill),
            fpr: Some(fill.powi(k as i32)),
            honest_fill: Some(honest.min(1.0)),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let shape = self.shape();
        let over_count = match shape.count_bits {
            Some(bits) => adaptive::split_over_count(bits, items),
            None => adaptive::single_over_count(shape.places.counters(), items, shape.places.hashes()),
        };
        let false_positive = Some(shape.expected_rate(items));
        Rates { false_positive, over_count: Some(over_count), ..Rates::default() }
    }

    /// State: insertions and the sum of g over them. Stores: the bits and, with the split layout, those of the counts.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().f64(self.foreign);
        encoder.bits(&self.array.bits);
        if let Some(counts) = &self.counts {
            encoder.bits(counts);
        }
    }

    fn decode(settings: &AdaptiveSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let Shape { places, count_bits } = Shape::plan(settings)?;
        let (items, foreign) = (decoder.state().u64()?, decoder.state().f64()?);
        if !(foreign.is_finite() && foreign >= 0.0) {
            return Err(Error::corrupt("sum of foreign ones", "a number of at least 0", foreign));
        }
        let array = BitArray { places, bits: decoder.bits(places.counters())? };
        let counts = count_bits.map(|bits| decoder.bits(bits)).transpose()?;
        let ones = counts.as_ref().unwrap_or(&array.bits).count_ones();
        Ok((AdaptiveBits { array, counts, ones, foreign }, items))
    }

    #[inline(always)]
    fn far(&self) -> Option<&dyn Far> {
        Some(&self.array)
    }
}

impl Test for AdaptiveBits {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.array.all_set(key.digest)
    }
}

impl Put for AdaptiveBits {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    /// [`Error::Full`] when over 95 % of the vector of counts are ones, and then nothing changes.
    fn put(&mut self, Hashed { digest, .. }: Hashed<'_>, (): ()) -> Result<bool> {
        let len = self.count_bits().len();
        if u128::from(self.ones) * 20 > u128::from(len) * 19 {
            return Err(self.full());
        }
        let fresh = if self.counts.is_some() {
            self.array.set_all(digest)
        } else {
            let positions = self.array.places.distinct(digest);
            let new = positions.iter().filter(|&&position| !self.array.bits.get(position)).count() as u64;
            // The scan needs a zero.
            if self.ones + new >= len {
                return Err(self.full());
            }
            positions.iter().for_each(|&position| {
                self.array.bits.set(position);
            });
            self.ones += new;
            new > 0
        };
        self.foreign += adaptive::foreign_ones(self.count_fill());
        let steps = self.most_steps() as usize;
        let bits = self.count_bits();
        let zero = self.sequence(digest).take(steps).find(|&position| !bits.get(position));
        // There is a zero, and after this many steps only chance beyond all measure has missed it.
        let zero = zero.or_else(|| (0..len).find(|&position| !bits.get(position)));
        if let Some(zero) = zero {
            self.ones += u64::from(self.counts.as_mut().unwrap_or(&mut self.array.bits).set(zero));
        }
        Ok(fresh)
    }
}

impl Tally for AdaptiveBits {
    /// The raw count: how often the key came, or more. Zero when it is certainly absent.
    fn tally(&self, Hashed { digest, .. }: Hashed<'_>) -> Multiplicity {
        if !self.array.all_set(digest) {
            return Multiplicity { count: 0, at_least: false };
        }
        let bits = self.count_bits();
        if self.ones >= bits.len() {
            return Multiplicity { count: bits.len(), at_least: true };
        }
        let most = self.most_steps();
        let run = self.sequence(digest).take(most as usize).take_while(|&position| bits.get(position)).count() as u64;
        // Membership may be chance alone, with a zero in the first place for a count.
        Multiplicity { count: run.max(1), at_least: run == most }
    }
}

impl AdaptiveBits {
    fn shape(&self) -> Shape {
        Shape { places: self.array.places, count_bits: self.counts.as_ref().map(BitStore::len) }
    }

    /// The vector that counts are in.
    fn count_bits(&self) -> &BitStore {
        self.counts.as_ref().unwrap_or(&self.array.bits)
    }

    fn count_fill(&self) -> f64 {
        self.ones as f64 / self.count_bits().len() as f64
    }

    /// The count positions of a key, without end.
    #[inline]
    fn sequence(&self, digest: Digest) -> impl Iterator<Item = u64> {
        let len = self.count_bits().len();
        let digest_of = move |chunk| if chunk == 0 { digest } else { digest.derive(SEQUENCE + chunk) };
        let all = (0..).flat_map(move |chunk| probes(digest_of(chunk), len, MAX_HASHES));
        all.skip(self.array.places.hashes() as usize)
    }

    /// Steps after which a scan is given up: with a single zero left it would miss it in as many with probability
    /// e^-64.
    fn most_steps(&self) -> u64 {
        self.count_bits().len().saturating_mul(64).saturating_add(4_096)
    }

    fn full(&self) -> Error {
        Error::Full {
            what: format!("{} of {} bits for counts are ones", self.ones, self.count_bits().len()),
            remedy: "make one for more `insertions`".into(),
        }
    }
}

impl Adaptive {
    /// A filter of one vector for `items` distinct keys that come `insertions` times in all; its false-positive rate is
    /// then `fpr`.
    ///
    /// ```
    /// use bouquet::Adaptive;
    /// let filter = Adaptive::with_insertions(1_000, 10_000, 0.01)?;
    /// assert!(filter.bits().len() < 45_000);
    /// assert!(Adaptive::with_insertions(1_000, 0, 0.01).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_insertions(items: u64, insertions: u64, fpr: f64) -> Result<Self> {
        Self::with(AdaptiveSettings { insertions: Some(insertions), ..AdaptiveSettings::by_rate(items, fpr)? })
    }

    /// A filter of one vector of `bits` bits, with `hashes` positions per key for membership.
    ///
    /// ```
    /// use bouquet::Adaptive;
    /// let mut filter = Adaptive::with_size(1_000, 5)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.bits().count_ones(), 6, "five, and one for the first time");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(AdaptiveSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }

    /// A filter of two vectors: `bits` for membership and `count_bits` for counts.
    ///
    /// ```
    /// use bouquet::Adaptive;
    /// let mut filter = Adaptive::split_with_size(1_000, 2_000, 5)?;
    /// filter.insert("rose")?;
    /// filter.insert("rose")?;
    /// assert_eq!((filter.bits().count_ones(), filter.count_bits().count_ones()), (5, 2));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn split_with_size(bits: u64, count_bits: u64, hashes: u32) -> Result<Self> {
        let (bits, hashes, count_bits, layout) = (Some(bits), Some(hashes), Some(count_bits), Some(Layout::Split));
        Self::with(AdaptiveSettings { bits, hashes, count_bits, layout, ..Default::default() })
    }

    /// The vector for membership and, with the shared layout, for counts.
    ///
    /// ```
    /// assert_eq!(bouquet::Adaptive::with_size(1_000, 5)?.bits().len(), 1_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.mechanism.array.bits
    }

    /// The vector that counts are in.
    ///
    /// ```
    /// use bouquet::Adaptive;
    /// let filter = Adaptive::with_size(1_000, 5)?;
    /// assert_eq!(filter.count_bits(), filter.bits(), "shared");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count_bits(&self) -> &BitStore {
        self.mechanism.count_bits()
    }

    /// G, the mean number of foreign ones that insertions have passed.
    ///
    /// ```
    /// use bouquet::Adaptive;
    /// use bouquet::theory::adaptive::mean_foreign_ones;
    /// let mut filter = Adaptive::split_with_size(1_000, 10_000, 5)?;
    /// filter.insert_batch(&(0..5_000u64).collect::<Vec<_>>())?;
    /// assert!((filter.mean_foreign_ones() - mean_foreign_ones(0.5)).abs() < 1e-3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn mean_foreign_ones(&self) -> f64 {
        if self.items() == 0 { 0.0 } else { self.mechanism.foreign / self.items() as f64 }
    }

    /// The corrected count, (raw - g)/(1 + G): right on average for a key whose insertions are spread over all.
    ///
    /// ```
    /// use bouquet::Adaptive;
    /// let mut filter = Adaptive::with_insertions(1_000, 20_000, 0.01)?;
    /// for round in 0..20 {
    ///     filter.insert_batch(&(0..1_000u64).collect::<Vec<_>>())?;
    /// }
    /// let mean = (0..1_000u64).map(|key| filter.estimate(&key)).sum::<f64>() / 1_000.0;
    /// assert!((mean - 20.0).abs() < 1.0, "{mean}");
    /// assert_eq!(filter.estimate("lily"), 0.0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn estimate<K: Key + ?Sized>(&self, key: &K) -> f64 {
        let raw = self.count(key).count as f64;
        adaptive::estimate(raw, adaptive::foreign_ones(self.mechanism.count_fill()), self.mean_foreign_ones())
    }
}

#[cfg(test)]
mod tests;
