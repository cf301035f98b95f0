#![doc = include_str!("space_code.md")]

use std::sync::Arc;

use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, SplitMix, probes};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Stats, Text, common, kind};
use crate::parts::bit_array::flat_places;
use crate::parts::counter_array::Places;
use crate::shell::{Fields, Filter, Hashed, Mechanism, Put, Settings, Tally, Test, Unite, batch, fields};
use crate::simd::flat;
use crate::store::BitStore;
use crate::theory::space_code::{self, MAX_GROUPS};
use crate::theory::special::binomial;
use crate::theory::{self, spread};

mod tables;
use tables::{Drawn, FILL_STEPS, Known, Table, Tables, most_likely};

/// The registry's row.
pub const KIND: Kind = kind!(SpaceCode);

/// Filters of a multi-resolution code, unless told otherwise.
pub const RESOLUTIONS: u32 = 9;

/// The coarsest filter sees at least one of so many arrivals, 2^32: it reaches to 5 * 10^11 of them, and tables stay
/// small.
const MOST_SAMPLED: f64 = (1u64 << 32) as f64;

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

const ITEMS: Parameter = Parameter { help: "flows (distinct keys) that the filter is made for", ..common::ITEMS };
const LARGEST: Parameter = Parameter::count(
    "largest",
    "arrivals of the largest flow; the share of flows with at least s is taken to be 1/s",
    1,
    1 << 56,
);
const BITS: Parameter = Parameter { help: "bits of each filter, instead of items", ..common::BITS };
const HASHES: Parameter = Parameter {
    help: "positions per group; 3 in the first filter, 4 in the second, 6 in the others",
    ..common::HASHES
};
const GROUPS_PER_KEY: Parameter =
    Parameter::count("groups", "groups of positions that a key has", 2, MAX_GROUPS as u64).or(32);
const FILTERS: Parameter =
    Parameter::count("resolutions", "filters, each with a fraction of the arrivals of the one before", 1, 16).or(1);
const RATIO: Parameter = Parameter::count("ratio", "arrivals of which the next filter sees one", 2, 16).or(4);

/// The settings of a space-code filter.
///
/// ```
/// use bouquet::{SpaceCode, SpaceCodeSettings};
/// let (bits, resolutions, groups) = (Some(5_000), Some(3), Some(16));
/// let filter = SpaceCode::with(SpaceCodeSettings { bits, resolutions, groups, ..Default::default() })?;
/// assert_eq!(filter.bits(), 15_000);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpaceCodeSettings {
    /// Flows that it is made for.
    pub items: Option<u64>,
    /// Arrivals of the largest flow.
    pub largest: Option<u64>,
    /// Bits of each filter.
    pub bits: Option<u64>,
    /// Positions per group.
    pub hashes: Option<u32>,
    /// Groups per key.
    pub groups: Option<u32>,
    /// The number of filters.
    pub resolutions: Option<u32>,
    /// Arrivals of which the next filter sees one.
    pub ratio: Option<u32>,
}

impl Settings for SpaceCodeSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        largest: LARGEST,
        bits: BITS,
        hashes: HASHES,
        groups: GROUPS_PER_KEY,
        resolutions: FILTERS,
        ratio: RATIO,
    ];

    // What follows from them, the sizes of the filters, is compared when two are merged.
    const DESIGN: &'static [&'static str] = &["items", "largest"];
}

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

    /// The fill in whole steps, for which a table is made.
    fn step(fill: f64) -> u32 {
        (fill * FILL_STEPS).round() as u32
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

/// How often a key came, by estimate.
///
/// ```
/// use bouquet::SpaceCode;
/// let mut filter = SpaceCode::with_size(10_000, 4)?;
/// filter.insert_batch(&["rose"; 10_000]);
/// assert!(filter.estimate("rose").saturated, "one filter tells some hundred");
/// assert_eq!(filter.estimate("lily").arrivals, 0.0);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frequency {
    /// The estimate; for a saturated code the most that it can tell.
    pub arrivals: f64,
    /// Whether every group of the coarsest filter is set, so that the truth may be larger without bound.
    pub saturated: bool,
}

struct Shape {
    groups: u32,
    ratio: u32,
    places: Vec<Places>,
}

impl Shape {
    fn plan(asked: &SpaceCodeSettings) -> Result<Self> {
        let (groups, ratio) = (GROUPS_PER_KEY.need(asked.groups)?, RATIO.need(asked.ratio)?);
        let (resolutions, largest) = (FILTERS.need(asked.resolutions)?, asked.largest.unwrap_or(1));
        if sampling(ratio, resolutions - 1) < 1.0 / MOST_SAMPLED {
            let most = 1 + (MOST_SAMPLED.ln() / f64::from(ratio).ln()) as u32;
            return Err(Error::parameter("resolutions", format!("at most {most} at this ratio"), resolutions));
        }
        let places = (0..resolutions)
            .map(|i| {
                let hashes = asked.hashes.unwrap_or([3, 4, 6][i.min(2) as usize]);
                let bits = match (asked.bits, asked.items) {
                    (Some(bits), _) => bits,
                    (None, Some(items)) => {
                        let set = space_code::groups_of_flows(groups, sampling(ratio, i), items, largest);
                        // Filters that hardly any arrival reaches still have a word.
                        theory::check_bits(space_code::half_full_bits(hashes, set))?.max(64)
                    }
                    (None, None) => return Err(common::ITEMS.missing("bits")),
                };
                flat_places(bits, hashes)
            })
            .collect::<Result<Vec<_>>>()?;
        let shape = Shape { groups, ratio, places };
        match shape.bits() {
            Some(_) => Ok(shape),
            None => Err(Error::TooLarge { what: "the filter".into(), bytes: u128::from(u64::MAX) }),
        }
    }

    fn bits(&self) -> Option<u64> {
        self.places.iter().try_fold(0u64, |sum, places| sum.checked_add(places.counters()))
    }
}

/// The share of arrivals that filter `i` sees.
fn sampling(ratio: u32, i: u32) -> f64 {
    f64::from(ratio).powi(-(i as i32))
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
        Ok(Self::of(shape, bits, SplitMix::new(hashing.seed())))
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
        Ok((Self::of(shape, bits, random), items))
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
    fn of(Shape { ratio, places, groups }: Shape, bits: Vec<BitStore>, random: SplitMix) -> Self {
        let filter = |((i, places), bits): ((u32, Places), BitStore)| Resolution {
            places,
            ones: bits.count_ones(),
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

    /// The grid and the laws on it, made when first needed.
    fn drawn(&self, known: &mut Known) -> Arc<Drawn> {
        let make = || {
            let coarsest = self.filters.last().map_or(1.0, |filter| filter.sampling);
            // Where the coarsest filter has long drawn all of its groups, one number of arrivals is as likely as
            // another.
            let grid = space_code::grid((4.0 * space_code::reach(self.groups, coarsest)) as u64);
            let laws = |filter: &Resolution| space_code::laws_on(self.groups, filter.sampling, &grid);
            let laws = self.filters.iter().map(laws).collect();
            Arc::new(Drawn { grid, laws })
        };
        known.drawn.get_or_insert_with(make).clone()
    }

    /// The table of filter `i` at a fill.
    fn table_at(&self, i: usize, fill: f64) -> Arc<Table> {
        let step = Resolution::step(fill);
        let mut known = self.tables.lock();
        known.tables.resize(self.filters.len(), None);
        if let Some(table) = known.tables[i].as_ref().filter(|table| table.step == step) {
            return table.clone();
        }
        let drawn = self.drawn(&mut known);
        let chance = self.filters[i].chance_at(f64::from(step) / FILL_STEPS);
        let mut laws = space_code::seeming(&drawn.laws[i], chance);
        laws.iter_mut().flatten().for_each(|chance| *chance = chance.max(1e-300).ln());
        let alone =
            (0..=self.groups as usize).map(|theta| drawn.grid[most_likely(laws.len(), |f| laws[f][theta])]).collect();
        let table = Arc::new(Table { step, ln_laws: laws, alone });
        known.tables[i] = Some(table.clone());
        table
    }

    fn table(&self, i: usize) -> Arc<Table> {
        self.table_at(i, self.filters[i].fill())
    }

    /// The number of arrivals under which what is seen is most likely; zero when the first filter, which sees every
    /// arrival, thinks so.
    fn estimate(&self, digest: Digest) -> Frequency {
        let theta = self.theta(0, digest) as usize;
        let alone = self.table(0).alone[theta];
        if alone == 0 {
            return Frequency { arrivals: 0.0, saturated: false };
        }
        if self.filters.len() == 1 {
            return Frequency { arrivals: alone as f64, saturated: theta == self.groups as usize };
        }
        let tables: Vec<_> = (0..self.filters.len()).map(|i| self.table(i)).collect();
        let thetas: Vec<_> =
            (0..self.filters.len()).map(|i| if i == 0 { theta } else { self.theta(i, digest) as usize }).collect();
        let drawn = self.drawn(&mut self.tables.lock());
        let likelihood = |f: usize| tables.iter().zip(&thetas).map(|(table, theta)| table.ln_laws[f + 1][*theta]).sum();
        let best = 1 + most_likely(drawn.grid.len() - 1, likelihood);
        let saturated = thetas.iter().all(|&theta| theta == self.groups as usize);
        Frequency { arrivals: drawn.grid[best] as f64, saturated }
    }

    /// The number of arrivals whose mean number of set groups is the seen one.
    fn mean_value(&self, digest: Digest) -> Frequency {
        let last = self.filters.len() - 1;
        let mut seen = (0, 0);
        for i in 0..=last {
            seen = (i, self.theta(i, digest));
            if seen.1 * 10 < self.groups * 9 {
                break;
            }
        }
        let (i, theta) = seen;
        let filter = &self.filters[i];
        let saturated = theta == self.groups;
        // All but half a group, where every one is set.
        let theta = if saturated { f64::from(theta) - 0.5 } else { theta.into() };
        let arrivals = space_code::mean_value(self.groups, filter.sampling, filter.chance_at(filter.fill()), theta);
        Frequency { arrivals: arrivals.min(u64::MAX as f64), saturated }
    }

    /// The probabilities that an absent key seems present, that one which came once does not, and that it is counted
    /// more than once, at a fill of the first filter.
    fn rates_at(&self, fill: f64) -> [f64; 3] {
        let (table, chance) = (self.table_at(0, fill), self.first().chance_at(fill));
        let l = f64::from(self.groups);
        let mut rates = [0.0; 3];
        for (theta, &alone) in (0u32..).zip(&table.alone) {
            let absent = binomial(theta.into(), l, chance);
            // One group was drawn; the others are those of an absent key.
            let once = binomial(f64::from(theta) - 1.0, l - 1.0, chance);
            match alone {
                0 => rates[1] += once,
                1 => rates[0] += absent,
                _ => {
                    rates[0] += absent;
                    rates[2] += once;
                }
            }
        }
        rates.map(|rate| rate.min(1.0))
    }
}

impl SpaceCode {
    /// A single filter for `items` flows of up to `largest` arrivals, half full when they are in: it tells up to about
    /// a hundred arrivals.
    ///
    /// ```
    /// use bouquet::SpaceCode;
    /// assert_eq!(SpaceCode::with_flows(1_000, 1)?.bits(), 4_329);
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
    /// assert!(filter.bits() < 350_000, "about 30 bits per flow");
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
    /// assert_eq!(filter.fill(), 0.0004);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(SpaceCodeSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }

    /// Bits of all filters.
    ///
    /// ```
    /// assert_eq!(bouquet::SpaceCode::with_size(10_000, 4)?.bits(), 10_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.mechanism.bits()
    }

    /// The share of ones of the first filter.
    ///
    /// ```
    /// use bouquet::SpaceCode;
    /// let mut filter = SpaceCode::with_flows(1_000, 1)?;
    /// filter.insert_batch(&(0..1_000u64).collect::<Vec<_>>());
    /// assert!((filter.fill() - 0.5).abs() < 0.05);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.mechanism.first().fill()
    }

    /// How many groups of a key are set, in each filter.
    ///
    /// ```
    /// use bouquet::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// filter.insert_batch(&["rose"; 20]);
    /// assert!((10..=20).contains(&filter.groups_set("rose")[0]), "20 draws of 32");
    /// assert_eq!(filter.groups_set("lily"), [0]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn groups_set<K: Key + ?Sized>(&self, key: &K) -> Vec<u32> {
        let (code, digest) = (&self.mechanism, key.digest(&self.hashing));
        (0..code.filters.len()).map(|i| code.theta(i, digest)).collect()
    }

    /// The number of arrivals under which what is seen is most likely; zero when the first filter, which sees every
    /// arrival, thinks so.
    ///
    /// ```
    /// use bouquet::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// filter.insert_batch(&["rose"; 40]);
    /// let arrivals = filter.estimate("rose").arrivals;
    /// assert!((20.0..80.0).contains(&arrivals), "{arrivals}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn estimate<K: Key + ?Sized>(&self, key: &K) -> Frequency {
        self.mechanism.estimate(key.digest(&self.hashing))
    }

    /// The number of arrivals whose mean number of set groups is the seen one, in closed form. Of several filters the
    /// finest is asked of which less than nine tenths of the groups are set.
    ///
    /// ```
    /// use bouquet::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// filter.insert_batch(&["rose"; 40]);
    /// let arrivals = filter.mean_value("rose").arrivals;
    /// assert!((20.0..80.0).contains(&arrivals), "{arrivals}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn mean_value<K: Key + ?Sized>(&self, key: &K) -> Frequency {
        self.mechanism.mean_value(key.digest(&self.hashing))
    }
}

#[cfg(test)]
mod tests;
