#![doc = include_str!("space_code.md")]

use std::sync::{Arc, Mutex, PoisonError};

use crate::capability::{Contains, Count, Insert, Item, Merge, Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, SplitMix, probes};
use crate::key::{Key, digest_batch};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::bit_array::{flat_places, insert_each};
use crate::parts::counter_array::Places;
use crate::simd::flat;
use crate::store::BitStore;
use crate::theory::space_code::{self, MAX_GROUPS};
use crate::theory::special::binomial;
use crate::theory::{self, spread};

/// The registry's row.
pub const KIND: Kind = kind!(SpaceCode);

/// Filters of a multi-resolution code, unless told otherwise.
pub const RESOLUTIONS: u32 = 9;

/// Steps of the fill for which tables are made: 200 from empty to full.
const FILL_STEPS: f64 = 200.0;

/// The coarsest filter sees at least one of so many arrivals, 2^32: it reaches to 5 * 10^11 of them, and tables stay
/// small.
const MOST_SAMPLED: f64 = (1u64 << 32) as f64;

/// The first stream of the digest that groups are derived by; each filter takes the next 64.
const GROUPS: u64 = 1 << 10;

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

/// A space-code Bloom filter.
///
/// ```
/// use bouquet::counting::space_code::SpaceCode;
/// let mut filter = SpaceCode::multi_resolution(1_000, 1_000_000)?;
/// for _ in 0..10_000 {
///     filter.insert("rose");
/// }
/// let estimate = filter.estimate("rose");
/// assert!((5_000.0..20_000.0).contains(&estimate.arrivals) && !estimate.saturated);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SpaceCode {
    hashing: Hashing,
    groups: u32,
    ratio: u32,
    filters: Vec<Resolution>,
    /// Draws the groups and the samples.
    random: SplitMix,
    /// Arrivals.
    items: u64,
    planned: Planned,
    tables: Tables,
}

/// What the filter was made for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Planned {
    items: Option<u64>,
    largest: Option<u64>,
    /// Whether all filters have one size; otherwise sizes follow from the flows.
    one_size: bool,
    /// Positions per group, where all filters have as many.
    hashes: Option<u64>,
}

/// How often a key came, by estimate.
///
/// ```
/// use bouquet::counting::space_code::SpaceCode;
/// let mut filter = SpaceCode::with_size(10_000, 4)?;
/// (0..10_000).for_each(|_| filter.insert("rose"));
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

/// Likelihoods of one filter at one fill.
#[derive(Debug)]
struct Table {
    step: u32,
    /// ln P(theta | f), for every f of the grid `groups + 1` numbers.
    ln_laws: Vec<Vec<f64>>,
    /// The most likely f for each theta of this filter alone.
    alone: Vec<u64>,
}

/// Tables in use. They follow from the rest, so they have no part in comparisons, and copies share them.
#[derive(Default)]
struct Tables(Mutex<Known>);

#[derive(Clone, Default)]
struct Known {
    drawn: Option<Arc<Drawn>>,
    tables: Vec<Option<Arc<Table>>>,
}

/// The grid of numbers of arrivals and the laws of the groups that they draw in each filter.
#[derive(Debug)]
struct Drawn {
    grid: Vec<u64>,
    laws: Vec<Vec<Vec<f64>>>,
}

impl Tables {
    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        // What is known is replaced as a whole, so that a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Tables {
    fn clone(&self) -> Self {
        Tables(Mutex::new(self.lock().clone()))
    }
}

impl PartialEq for Tables {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tables")
    }
}

const ITEMS: Parameter = Parameter { help: "flows (distinct keys) that the filter is made for", ..common::ITEMS };

const LARGEST: Parameter = Parameter {
    name: "largest",
    help: "arrivals of the largest flow; the share of flows with at least s is taken to be 1/s",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

const RESOLUTIONS_PARAMETER: Parameter = Parameter {
    name: "resolutions",
    help: "filters, each with a fraction of the arrivals of the one before",
    of: ParameterType::Count { min: 1, max: 16, default: Some(1) },
};

const RATIO: Parameter = Parameter {
    name: "ratio",
    help: "arrivals of which the next filter sees one",
    of: ParameterType::Count { min: 2, max: 16, default: Some(4) },
};

const GROUPS_PARAMETER: Parameter = Parameter {
    name: "groups",
    help: "groups of positions that a key has",
    of: ParameterType::Count { min: 2, max: MAX_GROUPS as u64, default: Some(32) },
};

const BITS: Parameter = Parameter { help: "bits of each filter, instead of items", ..common::BITS };

const HASHES: Parameter = Parameter {
    help: "positions per group; 3 in the first filter, 4 in the second, 6 in the others",
    ..common::HASHES
};

struct Shape {
    groups: u32,
    ratio: u32,
    places: Vec<Places>,
}

impl Shape {
    fn plan(config: &Config) -> Result<Self> {
        let (groups, ratio) = (config.need("groups")? as u32, config.need("ratio")? as u32);
        let (items, largest) = (config.count("items"), config.count("largest").unwrap_or(1));
        let resolutions = config.need("resolutions")? as u32;
        if sampling(ratio, resolutions - 1) < 1.0 / MOST_SAMPLED {
            let most = 1 + (MOST_SAMPLED.ln() / f64::from(ratio).ln()) as u32;
            return Err(Error::parameter("resolutions", format!("at most {most} at this ratio"), resolutions));
        }
        let places = (0..resolutions)
            .map(|i| {
                let hashes = config.count("hashes").map_or([3, 4, 6][i.min(2) as usize], |hashes| hashes as u32);
                let bits = match (config.count("bits"), items) {
                    (Some(bits), _) => bits,
                    (None, Some(items)) => {
                        let set = space_code::groups_of_flows(groups, sampling(ratio, i), items, largest);
                        // Filters that hardly any arrival reaches still have a word.
                        theory::check_bits(space_code::half_full_bits(hashes, set))?.max(64)
                    }
                    (None, None) => {
                        return Err(Error::parameter("items", common::ITEMS.range(), "missing (or give `bits`)"));
                    }
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

    /// The domain of a secret's digests.
    fn domain(&self) -> String {
        let sizes = self.places.iter().map(|places| format!(" {} {}", places.counters(), places.hashes()));
        format!("{} {}{}", KIND.facts().id, self.groups, sizes.collect::<String>())
    }
}

/// The share of arrivals that filter `i` sees.
fn sampling(ratio: u32, i: u32) -> f64 {
    f64::from(ratio).powi(-(i as i32))
}

impl SpaceCode {
    /// A single filter for `items` flows of up to `largest` arrivals, half full when they are in: it tells up to about
    /// a hundred arrivals.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// assert_eq!(SpaceCode::with_flows(1_000, 1)?.bits(), 4_329);
    /// assert!(SpaceCode::with_flows(0, 1).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_flows(items: u64, largest: u64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("largest", Setting::Count(largest))?)
    }

    /// Nine filters, of which each sees a quarter of the arrivals of the one before, for `items` flows of up to
    /// `largest` arrivals.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let filter = SpaceCode::multi_resolution(10_000, 1_000_000)?;
    /// assert!(filter.bits() < 350_000, "some 30 bits per flow");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn multi_resolution(items: u64, largest: u64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        let config = config.with("largest", Setting::Count(largest))?;
        Self::from_config(&config.with("resolutions", Setting::Count(RESOLUTIONS.into()))?)
    }

    /// A single filter of `bits` bits and 32 groups of `hashes` positions.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let mut filter = SpaceCode::with_size(10_000, 4)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.fill(), 0.0004);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("bits", Setting::Count(bits))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{counting::space_code::{KIND, SpaceCode}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("bits", "5000")?.set("resolutions", "3")?.set("groups", "16")?;
    /// assert_eq!(SpaceCode::from_config(&config)?.bits(), 15_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = Shape::plan(config)?;
        let bits = shape.places.iter().map(|places| BitStore::zeroed(places.counters())).collect::<Result<Vec<_>>>()?;
        let random = SplitMix::new(config.hashing().seed());
        Ok(Self::with_parts(config, shape, bits, random, 0))
    }

    fn with_parts(config: &Config, shape: Shape, bits: Vec<BitStore>, random: SplitMix, items: u64) -> Self {
        let hashing = config.hashing().clone().bind(&shape.domain());
        let Shape { groups, ratio, places } = shape;
        let filter = |((i, places), bits): ((u32, Places), BitStore)| Resolution {
            places,
            ones: bits.count_ones(),
            bits,
            sampling: sampling(ratio, i),
        };
        let filters: Vec<_> = (0..).zip(places).zip(bits).map(filter).collect();
        let single = filters.len() == 1;
        let planned = Planned {
            items: config.count("items"),
            largest: config.count("largest"),
            one_size: single || config.is_set("bits"),
            hashes: if single { Some(u64::from(filters[0].places.hashes())) } else { config.count("hashes") },
        };
        SpaceCode { hashing, groups, ratio, filters, random, items, planned, tables: Tables::default() }
    }

    /// The filter that sees every arrival. There is always one: the parameters ask for it.
    fn first(&self) -> &Resolution {
        &self.filters[0]
    }

    /// Bits of all filters.
    ///
    /// ```
    /// assert_eq!(bouquet::counting::space_code::SpaceCode::with_size(10_000, 4)?.bits(), 10_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.filters.iter().map(|filter| filter.bits.len()).sum()
    }

    /// The share of ones of the first filter.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let mut filter = SpaceCode::with_flows(1_000, 1)?;
    /// (0..1_000u64).for_each(|key| filter.insert(&key));
    /// assert!((filter.fill() - 0.5).abs() < 0.05);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.first().fill()
    }

    /// Arrivals so far.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let mut filter = SpaceCode::with_flows(1_000, 10)?;
    /// ["rose", "rose", "lily"].map(|key| filter.insert(key));
    /// assert_eq!(filter.items(), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The digest of one group of a key in filter `i`.
    #[inline]
    fn group(digest: Digest, i: usize, group: u64) -> Digest {
        digest.derive(GROUPS + u64::from(MAX_GROUPS) * i as u64 + group)
    }

    /// An arrival of a key: a group drawn at random is set, in each filter that samples it.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// (0..20).for_each(|_| filter.insert("rose"));
    /// assert!((10..=20).contains(&filter.groups_set("rose")[0]), "20 draws of 32");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) {
        self.insert_digest(key.digest(&self.hashing));
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) {
        for (i, filter) in self.filters.iter_mut().enumerate() {
            if i == 0 || self.random.unit() < filter.sampling {
                let group = self.random.below(self.groups.into());
                filter.set(Self::group(digest, i, group));
            }
        }
        self.items = self.items.saturating_add(1);
    }

    /// Theta of filter `i`: groups of a key that are set.
    #[inline]
    fn theta(&self, i: usize, digest: Digest) -> u32 {
        (0..self.groups.into()).filter(|&group| self.filters[i].is_set(Self::group(digest, i, group))).count() as u32
    }

    /// How many groups of a key are set, in each filter.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// filter.insert("rose");
    /// assert_eq!((filter.groups_set("rose"), filter.groups_set("lily")), (vec![1], vec![0]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn groups_set<K: Key + ?Sized>(&self, key: &K) -> Vec<u32> {
        let digest = key.digest(&self.hashing);
        (0..self.filters.len()).map(|i| self.theta(i, digest)).collect()
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
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// (0..40).for_each(|_| filter.insert("rose"));
    /// let arrivals = filter.estimate("rose").arrivals;
    /// assert!((20.0..80.0).contains(&arrivals), "{arrivals}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn estimate<K: Key + ?Sized>(&self, key: &K) -> Frequency {
        let digest = key.digest(&self.hashing);
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

    /// The number of arrivals whose mean number of set groups is the seen one, in closed form. Of several filters the
    /// finest is asked of which less than nine tenths of the groups are set.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// (0..40).for_each(|_| filter.insert("rose"));
    /// let arrivals = filter.mean_value("rose").arrivals;
    /// assert!((20.0..80.0).contains(&arrivals), "{arrivals}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn mean_value<K: Key + ?Sized>(&self, key: &K) -> Frequency {
        let digest = key.digest(&self.hashing);
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

    /// Whether the key seems to have come: the estimate of the first filter is one or more. Keys that came once or
    /// twice may be missed.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// (0..40).for_each(|_| filter.insert("rose"));
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let theta = self.theta(0, key.digest(&self.hashing));
        self.table(0).alone[theta as usize] > 0
    }

    /// [`estimate`](Self::estimate) as a whole number.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// filter.insert("rose");
    /// assert_eq!((filter.count("rose").count, filter.count("lily").count), (1, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let Frequency { arrivals, saturated } = self.estimate(key);
        Multiplicity { count: arrivals.round() as u64, at_least: saturated }
    }

    /// Takes in everything that `other` holds: estimates are then those of the sums, as far as both have not drawn the
    /// same groups, which the estimate allows for.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let (mut here, mut there) = (SpaceCode::with_size(100_000, 4)?, SpaceCode::with_size(100_000, 4)?);
    /// (0..15).for_each(|_| here.insert("rose"));
    /// there.insert("lily");
    /// here.merge(&there)?;
    /// assert!(here.contains("rose") && here.contains("lily"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        same("groups", self.groups, other.groups)?;
        same("ratio", self.ratio, other.ratio)?;
        let sizes = |filters: &[Resolution]| filters.iter().map(|filter| filter.bits.len()).collect::<Vec<_>>();
        same("bits", sizes(&self.filters), sizes(&other.filters))?;
        let hashes = |filters: &[Resolution]| filters.iter().map(|filter| filter.places.hashes()).collect::<Vec<_>>();
        same("hashes", hashes(&self.filters), hashes(&other.filters))?;
        same("hashing", &self.hashing, &other.hashing)?;
        for (mine, theirs) in self.filters.iter_mut().zip(&other.filters) {
            mine.bits.or(&theirs.bits)?;
            mine.ones = mine.bits.count_ones();
        }
        self.items = self.items.saturating_add(other.items);
        Ok(())
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

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let mut filter = SpaceCode::with_size(10_000, 4)?;
    /// (0..40).for_each(|_| filter.insert("rose"));
    /// let copy = SpaceCode::from_bytes(&filter.to_bytes())?;
    /// assert_eq!(copy.estimate("rose"), filter.estimate("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::space_code::SpaceCode;
    /// let mut filter = SpaceCode::multi_resolution(100, 10_000)?;
    /// filter.insert("rose");
    /// assert_eq!(SpaceCode::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

/// The first of the most likely numbers below `n`; what is larger by rounding alone is not larger.
fn most_likely(n: usize, ln_likelihood: impl Fn(usize) -> f64) -> usize {
    let (mut best, mut best_at) = (f64::NEG_INFINITY, 0);
    for at in 0..n {
        let ln = ln_likelihood(at);
        if ln > best + 1e-9 {
            (best, best_at) = (ln, at);
        }
    }
    best_at
}

impl Structure for SpaceCode {
    const FACTS: Facts = Facts {
        id: "space-code",
        number: 60,
        aliases: &["SCBF", "MRSCBF", "multi-resolution space-code"],
        family: "counting",
        text: Text::new(include_str!("space_code.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative, ErrorClass::OverCount, ErrorClass::UnderCount],
        note: NoteType::None,
        parameters: &[ITEMS, LARGEST, BITS, HASHES, GROUPS_PARAMETER, RESOLUTIONS_PARAMETER, RATIO],
    };

    const IN_PLACE: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        let shape = Shape::plan(config)?;
        let bits = shape.bits().unwrap_or(u64::MAX);
        let hashes = shape.places.first().map_or(0, Places::hashes);
        // The rate takes tables, which a plan does not make.
        Ok(Plan { bits, hashes, items: config.count("items"), fpr: None })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let mut config = Config::new(KIND.facts())
            .put("groups", Setting::Count(self.groups.into()))
            .put("resolutions", Setting::Count(self.filters.len() as u64))
            .put("ratio", Setting::Count(self.ratio.into()))
            .hashed(self.hashing.clone());
        for (name, count) in [
            ("items", self.planned.items),
            ("largest", self.planned.largest),
            ("bits", self.planned.one_size.then(|| self.first().bits.len())),
            ("hashes", self.planned.hashes),
        ] {
            if let Some(count) = count {
                config = config.put(name, Setting::Count(count));
            }
        }
        config
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let first = self.first();
        let [false_positive, ..] = self.rates_at(first.fill());
        Stats {
            items: self.items,
            bits: self.bits(),
            hashes: first.places.hashes(),
            fill: Some(first.fill()),
            fpr: Some(false_positive),
            // At most: no key comes twice, so that no group is drawn again.
            honest_fill: Some(first.places.honest_fill(self.items)),
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
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        encoder.state().u64(self.random.state());
        for filter in &self.filters {
            encoder.state().u64(filter.bits.len());
        }
        for filter in &self.filters {
            encoder.bits(&filter.bits);
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let mut shape = Shape::plan(decoder.config())?;
        let items = decoder.state().u64()?;
        let random = SplitMix::new(decoder.state().u64()?);
        for places in &mut shape.places {
            // Sizes that follow from flows are rounded reals, which machines may round differently.
            *places = flat_places(decoder.state().u64()?, places.hashes())?;
        }
        if let (Some(bits), Some(first)) = (decoder.config().count("bits"), shape.places.first()) {
            same("bits", bits, first.counters())?;
        }
        let bits = shape.places.iter().map(|places| decoder.bits(places.counters())).collect::<Result<Vec<_>>>()?;
        Ok(Self::with_parts(decoder.config(), shape, bits, random, items))
    }
}

impl Contains for SpaceCode {
    fn contains(&self, key: &[u8]) -> bool {
        SpaceCode::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        let table = self.table(0);
        for (key, answer) in keys.iter().zip(answers) {
            *answer = table.alone[self.theta(0, key.digest(&self.hashing)) as usize] > 0;
        }
    }
}

impl Insert for SpaceCode {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        let digest = item.bare()?.digest(&self.hashing);
        // Only a key without any group is certainly new.
        let fresh = self.theta(0, digest) == 0;
        self.insert_digest(digest);
        Ok(fresh)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let insert = |filter: &mut Self, _: &Item<'_>, digest| {
            let fresh = filter.theta(0, digest) == 0;
            filter.insert_digest(digest);
            Ok(fresh)
        };
        insert_each(self, items, |filter, items| digest_batch(&filter.hashing, items, |_| ()), insert)
    }
}

impl Count for SpaceCode {
    fn count(&self, key: &[u8]) -> Multiplicity {
        SpaceCode::count(self, key)
    }
}

impl Merge for SpaceCode {
    fn merge(&mut self, other: &Self) -> Result<()> {
        SpaceCode::merge(self, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and root mean square of the relative errors.
    fn errors(truth: f64, estimates: impl Iterator<Item = f64>) -> (f64, f64) {
        let errors: Vec<f64> = estimates.map(|estimate| estimate / truth - 1.0).collect();
        let n = errors.len() as f64;
        (errors.iter().sum::<f64>() / n, (errors.iter().map(|error| error * error).sum::<f64>() / n).sqrt())
    }

    #[test]
    fn one_filter_tells_up_to_fifty_arrivals_by_both_estimators() {
        const SIZES: [u64; 10] = [1, 2, 3, 5, 8, 12, 16, 24, 32, 48];
        let mut filter = SpaceCode::with_size(200_000, 4).unwrap();
        let size = |key: u64| SIZES[(key % 10) as usize];
        for round in 0..48 {
            (0..3_000).filter(|&key| round < size(key)).for_each(|key| filter.insert(&key));
        }
        for (i, truth) in (0..).zip(SIZES).filter(|(_, size)| *size >= 8) {
            let keys = || (0..3_000u64).filter(|key| key % 10 == i);
            let likely = errors(truth as f64, keys().map(|key| filter.estimate(&key).arrivals));
            let mean = errors(truth as f64, keys().map(|key| filter.mean_value(&key).arrivals));
            for (bias, rms) in [likely, mean] {
                assert!(bias.abs() <= 0.06 && rms <= 0.3, "{truth}: {likely:?} {mean:?}");
            }
        }
    }

    #[test]
    fn nine_filters_tell_five_orders_of_magnitude() {
        let (flows, largest) = (1_000_000, 100_000);
        let config = Config::new(KIND.facts()).set("items", "1000000").unwrap().set("largest", "100000").unwrap();
        let mut filter = SpaceCode::from_config(&config.set("resolutions", "9").unwrap()).unwrap();
        // Traffic as planned for: a share of 1/s of the flows has s arrivals or more.
        let mut random = SplitMix::new(1);
        let sizes: Vec<u64> = (0..flows).map(|_| ((1.0 / (1.0 - random.unit())) as u64).min(largest)).collect();
        for (flow, &size) in (0u64..).zip(&sizes) {
            (0..size).for_each(|_| filter.insert(&flow));
        }
        for filter in &filter.filters {
            // Coarse ones see few arrivals: a fill of 1 - e^-x scatters by x e^-x = 0.35 of their relative scatter.
            let groups = filter.bits.len() as f64 * std::f64::consts::LN_2 / f64::from(filter.places.hashes());
            let bound = 0.02 + 5.0 * 0.35 / groups.sqrt();
            assert!((filter.fill() - 0.5).abs() < bound, "{} within {bound}", filter.fill());
        }
        for least in [30, 100, 1_000, 10_000, 50_000] {
            let measured = (0u64..).zip(&sizes).filter(|(_, size)| (least..=2 * least).contains(*size)).take(1_000);
            let relative: Vec<_> =
                measured.map(|(flow, &size)| filter.estimate(&flow).arrivals / size as f64).collect();
            let n = relative.len();
            let (bias, rms) = errors(1.0, relative.into_iter());
            // 5 sigma for the mean of so few flows as are this large.
            let scatter = 5.0 * 0.25 / (n as f64).sqrt();
            assert!(n >= 8 && bias.abs() <= 0.02 + scatter && rms <= 0.25, "{least}: {n} {bias} {rms}");
        }
    }

    #[test]
    fn the_groups_that_are_set_follow_the_chain() {
        // A filter that is some 40 % full, and flows of ten arrivals.
        let mut filter = SpaceCode::with_size(400_000, 4).unwrap();
        let flows = 5_000u64;
        (0..flows * 10).for_each(|arrival| filter.insert(&(arrival % flows)));
        let chance = filter.first().chance_at(filter.fill());
        let law = &space_code::seeming(&[space_code::groups_drawn(32, 1.0, 10)], chance)[0];
        let mut seen = [0u64; 33];
        (0..flows).for_each(|key| seen[filter.groups_set(&key)[0] as usize] += 1);
        // Cells of fewer than ten expected are taken together with their neighbours.
        let (mut chi_square, mut cells, mut expected, mut found) = (0.0, 0.0, 0.0, 0.0);
        for (theta, &times) in seen.iter().enumerate() {
            expected += law[theta] * flows as f64;
            found += times as f64;
            if expected >= 10.0 {
                chi_square += (found - expected) * (found - expected) / expected;
                (cells, expected, found) = (cells + 1.0, 0.0, 0.0);
            }
        }
        let freedom: f64 = cells - 1.0;
        assert!(cells > 6.0 && chi_square < freedom + 5.0 * (2.0 * freedom).sqrt(), "{chi_square} over {freedom}");
    }

    #[test]
    fn merging_estimates_the_sum() {
        let seeded = |seed| {
            let config = Config::new(KIND.facts()).set("bits", "200000").unwrap().set("hashes", "4").unwrap();
            let mut filter = SpaceCode::from_config(&config).unwrap();
            // Two places of measurement draw groups of their own.
            filter.random = SplitMix::new(seed);
            (0..20_000u64).for_each(|arrival| filter.insert(&(arrival % 1_000)));
            filter
        };
        let (mut here, there) = (seeded(1), seeded(2));
        here.merge(&there).unwrap();
        assert_eq!(here.items(), 40_000);
        let (bias, rms) = errors(40.0, (0..1_000u64).map(|key| here.estimate(&key).arrivals));
        assert!(bias.abs() < 0.06 && rms < 0.3, "{bias} {rms}");
    }

    #[test]
    fn copies_and_frames_give_the_same_estimates() {
        let mut filter = SpaceCode::multi_resolution(200, 1_000).unwrap();
        (0..4_000u64).for_each(|arrival| filter.insert(&(arrival % 150)));
        let (clone, copy) = (filter.clone(), SpaceCode::from_bytes(&filter.to_bytes()).unwrap());
        for key in 0..200u64 {
            assert_eq!(filter.estimate(&key), clone.estimate(&key));
            assert_eq!(filter.estimate(&key), copy.estimate(&key));
            assert_eq!(filter.contains(&key), filter.count(&key).count > 0);
        }
        // The generator goes on where it was.
        let (mut filter, mut copy) = (filter, copy);
        (0..500u64).for_each(|key| {
            filter.insert(&key);
            copy.insert(&key);
        });
        assert_eq!(filter, copy);
    }
}
