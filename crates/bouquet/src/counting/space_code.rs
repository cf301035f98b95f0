#![doc = include_str!("space_code.md")]

use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Result, same};
use crate::hash::{Digest, Hashing, SplitMix, probes};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Plan, Rates, Special, Stats, Takes, Text, kind};
use crate::parts::bit_array::flat_places;
use crate::parts::counter_array::Places;
use crate::shell::{Filter, Hashed, Mechanism, Put, Tally, Test, Unite, batch};
use crate::simd::flat;
use crate::store::BitStore;
use crate::theory::space_code::MAX_GROUPS;
use crate::theory::spread;

mod estimates;
mod settings;

pub use estimates::Frequency;
use estimates::Tables;
pub use settings::SpaceCodeSettings;
use settings::{Shape, sampling};

/// The registry's row.
pub const KIND: Kind = kind!(SpaceCode);

/// Filters of a multi-resolution code, unless told otherwise.
pub const RESOLUTIONS: u32 = 9;

/// The first stream of the digest that groups are derived by; each filter takes the next 64.
const GROUPS: u64 = 1 << 10;

/// A space-code Bloom filter.
///
/// ```
/// use bouquet::SpaceCode;
/// let mut filter = SpaceCode::multi_resolution(1_000, 1_000_000)?;
/// for _ in 0..10_000 {
///     filter.insert("rose");
/// }
/// let estimate = filter.estimate("rose");
/// assert!((5_000.0..20_000.0).contains(&estimate.arrivals) && !estimate.saturated);
/// # Ok::<(), bouquet::Error>(())
/// ```
///
/// After a merger, estimates are those of the sums:
///
/// ```
/// # use bouquet::SpaceCode;
/// let (mut here, mut there) = (SpaceCode::with_size(100_000, 4)?, SpaceCode::with_size(100_000, 4)?);
/// here.insert_batch(&["rose"; 15]);
/// there.insert("lily");
/// here.merge(&there)?;
/// assert!(here.contains("rose") && here.contains("lily"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type SpaceCode = Filter<SpaceCodeBits>;

/// One filter of the code.
#[derive(Clone, Debug, PartialEq)]
struct Resolution {
    places: Places,
    bits: BitStore,
    ones: u64,
    /// The share of arrivals that it sees.
    sampling: f64,
}

impl Resolution {
    fn fill(&self) -> f64 {
        self.ones as f64 / self.places.counters() as f64
    }

    /// The probability that a group which was not drawn seems set, at a fill.
    fn chance_at(&self, fill: f64) -> f64 {
        fill.powi(self.places.hashes() as i32)
    }

    #[inline]
    fn is_set(&self, group: Digest) -> bool {
        flat::test::<false, false>(self.bits.words(), self.places.counters(), self.places.hashes(), group)
    }

    #[inline]
    fn set(&mut self, group: Digest) {
        for position in probes(group, self.places.counters(), self.places.hashes()) {
            self.ones += u64::from(self.bits.set(position));
        }
    }
}

/// Filters in which every arrival of a key draws one of its groups.
#[derive(Clone, Debug, PartialEq)]
pub struct SpaceCodeBits {
    groups: u32,
    filters: Vec<Resolution>,
    /// Draws the groups and the samples.
    random: SplitMix,
    tables: Tables,
}

impl Mechanism for SpaceCodeBits {
    const FACTS: Facts = Facts {
        id: "space-code",
        number: 60,
        aliases: &["SCBF", "MRSCBF", "multi-resolution space-code"],
        family: "counting",
        text: Text::new(include_str!("space_code.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative, ErrorClass::OverCount, ErrorClass::UnderCount],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const SPECIALS: &'static [Special<SpaceCode>] = &[
        Special::ask("estimate", Takes::Key, "the most likely number of arrivals", |filter, argument| {
            Ok(filter.estimate(argument.key()?).reply())
        }),
        Special::ask(
            "mean-value",
            Takes::Key,
            "the number of arrivals by the mean-value estimator",
            |filter, argument| Ok(filter.mean_value(argument.key()?).reply()),
        ),
    ];

    type Settings = SpaceCodeSettings;

    /// Of several filters the sizes follow from the flows, or are one and given.
    fn resolve(asked: &SpaceCodeSettings) -> Result<SpaceCodeSettings> {
        let Shape { groups, ratio, places } = Shape::plan(asked)?;
        let mut settings = SpaceCodeSettings {
            groups: Some(groups),
            resolutions: Some(places.len() as u32),
            ratio: Some(ratio),
            ..asked.clone()
        };
        if let [only] = places[..] {
            (settings.bits, settings.hashes) = (Some(only.counters()), Some(only.hashes()));
        }
        Ok(settings)
    }

    fn plan(settings: &SpaceCodeSettings) -> Result<Plan> {
        let shape = Shape::plan(settings)?;
        let hashes = shape.places.first().map_or(0, Places::hashes);
        // The rate takes tables, which a plan does not make.
        Ok(Plan { bits: shape.bits().unwrap_or(u64::MAX), hashes, items: settings.items, fpr: None })
    }

    fn empty(settings: &SpaceCodeSettings, hashing: &Hashing) -> Result<Self> {
        let shape = Shape::plan(settings)?;
        let bits = shape.places.iter().map(|places| BitStore::zeroed(places.counters())).collect::<Result<Vec<_>>>()?;
        Ok(Self::of(shape, bits, SplitMix::new(hashing.seed()), true))
    }

    fn domain(settings: &SpaceCodeSettings) -> String {
        Shape::plan(settings).map_or(String::new(), |shape| domain(shape.groups, &shape.places))
    }

    /// The sizes are those of the filter: machines may round what follows from flows differently.
    fn bound(&self, _: &SpaceCodeSettings, asked: &Hashing) -> Hashing {
        let places: Vec<_> = self.filters.iter().map(|filter| filter.places).collect();
        asked.clone().bind(&domain(self.groups, &places))
    }

    fn stats(&self, items: u64) -> Stats {
        let first = self.first();
        let [false_positive, ..] = self.rates_at(first.fill());
        Stats {
            items,
            bits: self.bits(),
            hashes: first.places.hashes(),
            fill: Some(first.fill()),
            fpr: Some(false_positive),
            // At most: no key comes twice, so that no group is drawn again.
            honest_fill: Some(first.places.honest_fill(items)),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let (m, k) = (self.first().places.counters(), self.first().places.hashes());
        let mean = spread::ones(m, items, k) / m as f64;
        let deviation = spread::ones_variance(m, items, k).sqrt() / m as f64;
        // The rates jump where another number of groups becomes the more likely one, so they are averaged over the
        // fills.
        let (mut sum, mut rates) = (0.0, [0.0; 3]);
        for i in -40..=40 {
            let z = f64::from(i) / 10.0;
            let weight = (-z * z / 2.0).exp();
            let at = self.rates_at((mean + z * deviation).clamp(0.0, 1.0));
            sum += weight;
            rates.iter_mut().zip(at).for_each(|(rate, at)| *rate += weight * at);
        }
        let [false_positive, false_negative, over_count] = rates.map(|rate| Some(rate / sum));
        // What several filters say together has no closed form.
        let over_count = over_count.filter(|_| self.filters.len() == 1);
        Rates { false_positive, false_negative, over_count, ..Rates::default() }
    }

    /// State: arrivals, the generator's state, the bits of each filter, 8 bytes each. Stores: the filters.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().u64(self.random.state());
        for filter in &self.filters {
            encoder.state().u64(filter.bits.len());
        }
        for filter in &self.filters {
            encoder.bits(&filter.bits);
        }
    }

    fn decode(settings: &SpaceCodeSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let mut shape = Shape::plan(settings)?;
        let items = decoder.state().u64()?;
        let random = SplitMix::new(decoder.state().u64()?);
        for places in &mut shape.places {
            // Sizes that follow from flows are rounded reals, which machines may round differently.
            *places = flat_places(decoder.state().u64()?, places.hashes())?;
        }
        if let (Some(bits), Some(first)) = (settings.bits, shape.places.first()) {
            same("bits", bits, first.counters())?;
        }
        let bits = shape.places.iter().map(|places| decoder.bits(places.counters())).collect::<Result<Vec<_>>>()?;
        Ok((Self::of(shape, bits, random, false), items))
    }
}

/// The domain of a secret's digests.
fn domain(groups: u32, places: &[Places]) -> String {
    let sizes = places.iter().map(|places| format!(" {} {}", places.counters(), places.hashes()));
    format!("{} {groups}{}", SpaceCodeBits::FACTS.id, sizes.collect::<String>())
}

impl Test for SpaceCodeBits {
    /// Whether the estimate of the first filter is one or more. Keys that came once or twice may be missed.
    fn test(&self, key: Hashed<'_>) -> bool {
        self.table(0).alone[self.theta(0, key.digest) as usize] > 0
    }

    fn test_batch<K: Key>(&self, hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        let table = self.table(0);
        batch::answer(self, hashing, keys, answers, |key| table.alone[self.theta(0, key.digest) as usize] > 0);
    }
}

impl Put for SpaceCodeBits {
    type Note<'a> = ();
    type Outcome = bool;

    /// A group drawn at random is set, in each filter that samples the arrival.
    #[inline]
    fn put(&mut self, Hashed { digest, .. }: Hashed<'_>, (): ()) -> bool {
        // Only a key without any group is certainly new.
        let fresh = (0..self.groups.into()).all(|group| !self.first().is_set(Self::group(digest, 0, group)));
        for (i, filter) in self.filters.iter_mut().enumerate() {
            if i == 0 || self.random.unit() < filter.sampling {
                let group = self.random.below(self.groups.into());
                filter.set(Self::group(digest, i, group));
            }
        }
        fresh
    }
}

impl Tally for SpaceCodeBits {
    /// The estimate as a whole number.
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        let Frequency { arrivals, saturated } = self.estimate(key.digest);
        Multiplicity { count: arrivals.round() as u64, at_least: saturated }
    }
}

impl Unite for SpaceCodeBits {
    fn unite(&mut self, other: &Self) -> Result<()> {
        let sizes = |filters: &[Resolution]| filters.iter().map(|filter| filter.bits.len()).collect::<Vec<_>>();
        same("bits", sizes(&self.filters), sizes(&other.filters))?;
        for (mine, theirs) in self.filters.iter_mut().zip(&other.filters) {
            mine.bits.or(&theirs.bits)?;
            mine.ones = mine.bits.count_ones();
        }
        Ok(())
    }
}

impl SpaceCodeBits {
    /// Of these bits, whose ones are counted unless they are known to be new.
    fn of(Shape { ratio, places, groups }: Shape, bits: Vec<BitStore>, random: SplitMix, new: bool) -> Self {
        let filter = |((i, places), bits): ((u32, Places), BitStore)| Resolution {
            places,
            ones: if new { 0 } else { bits.count_ones() },
            bits,
            sampling: sampling(ratio, i),
        };
        let filters = (0..).zip(places).zip(bits).map(filter).collect();
        SpaceCodeBits { groups, filters, random, tables: Tables::default() }
    }

    /// The filter that sees every arrival. There is always one: the parameters ask for it.
    #[inline]
    fn first(&self) -> &Resolution {
        &self.filters[0]
    }

    fn bits(&self) -> u64 {
        self.filters.iter().map(|filter| filter.bits.len()).sum()
    }

    /// The digest of one group of a key in filter `i`.
    #[inline]
    fn group(digest: Digest, i: usize, group: u64) -> Digest {
        digest.derive(GROUPS + u64::from(MAX_GROUPS) * i as u64 + group)
    }

    /// Theta of filter `i`: groups of a key that are set.
    #[inline]
    fn theta(&self, i: usize, digest: Digest) -> u32 {
        (0..self.groups.into()).filter(|&group| self.filters[i].is_set(Self::group(digest, i, group))).count() as u32
    }
}

impl SpaceCode {
    /// A single filter for `items` flows of up to `largest` arrivals, half full when they are in: it tells up to about
    /// a hundred arrivals.
    ///
    /// ```
    /// use bouquet::SpaceCode;
    /// assert_eq!(SpaceCode::with_flows(1_000, 1)?.stats().bits, 4_329);
    /// assert!(SpaceCode::with_flows(0, 1).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_flows(items: u64, largest: u64) -> Result<Self> {
        Self::with(SpaceCodeSettings { items: Some(items), largest: Some(largest), ..Default::default() })
    }

    /// Nine filters, of which each sees a quarter of the arrivals of the one before, for `items` flows of up to
    /// `largest` arrivals.
    ///
    /// ```
    /// use bouquet::SpaceCode;
    /// let filter = SpaceCode::multi_resolution(10_000, 1_000_000)?;
    /// assert!(filter.stats().bits < 350_000, "about 30 bits per flow");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn multi_resolution(items: u64, largest: u64) -> Result<Self> {
        let (items, largest, resolutions) = (Some(items), Some(largest), Some(RESOLUTIONS));
        Self::with(SpaceCodeSettings { items, largest, resolutions, ..Default::default() })
    }

    /// A single filter of `bits` bits and 32 groups of `hashes` positions.
    ///
    /// ```
    /// use bouquet::SpaceCode;
    /// let mut filter = SpaceCode::with_size(10_000, 4)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.stats().fill, Some(0.0004));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(SpaceCodeSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }
}

#[cfg(test)]
mod tests;
