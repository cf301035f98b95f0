#![doc = include_str!("split.md")]

use crate::capability::{Compress, Contains, Insert, Item, Merge, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, Positions, SplitMix};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::chain::{Chain, Pick};
use crate::parts::equal_components::{Arrangement, Cells, positions};
use crate::simd::CACHED_BITS;
use crate::store::{BitMatrix, Orientation};
use crate::theory::dynamic::Shape;
use crate::theory::{split, standard};

/// The registry's row.
pub const KIND: Kind = kind!(Split);

/// How the row of a key is chosen.
///
/// ```
/// use bouquet::dynamic::split::{Choice, Split};
/// assert_eq!(Split::with_rate(1_000, 0.01)?.choice(), Choice::RoundRobin);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Each in turn, so that all are equally full.
    RoundRobin,
    /// By chance, from a seeded generator.
    Random,
    /// By the key: only this row is looked at.
    Hashed,
}

impl Choice {
    const NAMES: [&str; 3] = ["round-robin", "random", "hashed"];

    fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    fn of(name: &str) -> Self {
        [Choice::Random, Choice::Hashed].into_iter().find(|own| own.name() == name).unwrap_or(Choice::RoundRobin)
    }
}

/// The most rows, as many as a frame has stores.
const MOST_ROWS: u64 = crate::codec::MAX_SECTIONS as u64;

const ROWS: Parameter = Parameter {
    name: "rows",
    help: "rows of the matrix",
    of: ParameterType::Count { min: 1, max: MOST_ROWS, default: Some(8) },
};

const CHOICE: Parameter = Parameter {
    name: "choice",
    help: "the row of a key: each in turn, by chance, or by the key (then it is a partitioned filter)",
    of: ParameterType::Choice { options: &Choice::NAMES },
};

const SEED: Parameter = Parameter {
    name: "seed",
    help: "of the generator that chooses rows by chance",
    of: ParameterType::Count { min: 0, max: u64::MAX, default: Some(0) },
};

const LAYOUT: Parameter = Parameter {
    name: "layout",
    help: "the same position of 64 rows in one word (slices), or rows one behind the other",
    of: ParameterType::Choice { options: &["slices", "rows"] },
};

/// What follows from the parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Design {
    /// The most keys that the rate is kept with.
    items: Option<u64>,
    fpr: f64,
    rows: u64,
    row: Shape,
    choice: Choice,
    seed: u64,
    sliced: bool,
}

impl Design {
    fn new(config: &Config) -> Result<Self> {
        let (rows, fpr) = (config.need("rows")?, config.real("fpr").unwrap_or(0.01));
        let (items, hashes) = (config.count("items"), config.count("hashes").map(|hashes| hashes as u32));
        let capacity = items.map(|items| items.div_ceil(rows));
        let row = match (config.count("bits"), hashes, capacity) {
            (Some(bits), Some(hashes), capacity) => Shape { bits, hashes, capacity: capacity.unwrap_or(u64::MAX) },
            (Some(bits), None, Some(capacity)) => {
                Shape { bits, hashes: standard::for_bits(bits, capacity)?.hashes, capacity }
            }
            (None, None, Some(_)) => split::for_bound(config.need("items")?, fpr, rows)?,
            (None, Some(hashes), Some(capacity)) => {
                let rate = -((-fpr).ln_1p() / rows as f64).exp_m1();
                let bits = crate::theory::check_bits(standard::needed_bits(capacity, rate, hashes))?;
                Shape { bits, hashes, capacity }
            }
            (_, _, None) => return Err(Error::parameter("items", common::ITEMS.range(), "missing")),
        };
        Ok(Design {
            items,
            fpr,
            rows,
            row,
            choice: Choice::of(config.choice("choice")),
            seed: config.count("seed").unwrap_or(0),
            sliced: config.choice("layout") != "rows",
        })
    }

    fn arrangement(&self) -> Arrangement {
        Arrangement { counters: false, sliced: self.sliced }
    }

    fn pick(&self, random: u64) -> Pick {
        match self.choice {
            Choice::RoundRobin => Pick::Balanced,
            Choice::Random => Pick::Random(SplitMix::new(random)),
            Choice::Hashed => Pick::Hashed,
        }
    }

    fn expected_rate(&self, items: u64) -> f64 {
        let Shape { bits, hashes, .. } = self.row;
        match self.choice {
            Choice::RoundRobin => split::balanced(items, self.rows, |n| standard::expected_rate(bits, n, hashes)),
            Choice::Random => split::random_rate(bits, hashes, items, self.rows),
            Choice::Hashed => split::hashed_rate(bits, hashes, items, self.rows),
        }
    }

    /// The rate of rows with these rates of their own.
    fn rate_of(&self, rates: &[f64]) -> f64 {
        match self.choice {
            Choice::Hashed => rates.iter().sum::<f64>() / rates.len() as f64,
            Choice::RoundRobin | Choice::Random => crate::theory::scalable::compound_rate(rates),
        }
    }
}

/// A split Bloom filter.
///
/// ```
/// use bouquet::dynamic::split::Split;
/// let mut filter = Split::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// assert_eq!(filter.counts(), [1, 0, 0, 0, 0, 0, 0, 0]);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    design: Design,
    /// The settings, with the row that followed from them.
    config: Config,
    hashing: Hashing,
    pick: Pick,
    chain: Chain<Cells>,
}

impl Split {
    /// Eight rows for up to `items` keys, whose false-positive rate is then `fpr`.
    ///
    /// ```
    /// use bouquet::{dynamic::split::Split, kind::Structure};
    /// assert!(Split::with_rate(1_000, 0.01)?.stats().bits > 13_000, "a plain filter takes 9,593");
    /// assert!(Split::with_rate(0, 0.01).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?)
    }

    /// So many rows of `bits` bits, with `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::{dynamic::split::Split, kind::Structure};
    /// assert_eq!(Split::with_size(8, 1280, 7)?.stats().bits, 8 * 1280);
    /// assert!(Split::with_size(0, 1280, 7).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(rows: u64, bits: u64, hashes: u32) -> Result<Self> {
        let config =
            Config::new(KIND.facts()).with("rows", Setting::Count(rows))?.with("bits", Setting::Count(bits))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{dynamic::split::{Choice, KIND, Split}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("rows", "64")?.set("choice", "random")?;
    /// assert_eq!(Split::from_config(&config)?.choice(), Choice::Random);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let design = Design::new(config)?;
        let cells = Cells::zeroed(design.rows, design.row, design.arrangement())?;
        Self::with_parts(config, design, cells, vec![0; design.rows as usize], design.seed)
    }

    fn with_parts(config: &Config, design: Design, cells: Cells, items: Vec<u64>, random: u64) -> Result<Self> {
        let Shape { bits, hashes, .. } = design.row;
        // Which row a key goes to follows from the number of rows as well.
        let hashing = config.hashing().clone().bind(&format!("split {} {bits} {hashes}", design.rows));
        let chain =
            Chain::with_items(cells, items).ok_or_else(|| Error::corrupt("number of rows", design.rows, "another"))?;
        // How it hashes is kept once.
        let config = config
            .clone()
            .put("rows", Setting::Count(design.rows))
            .put("bits", Setting::Count(bits))
            .put("hashes", Setting::Count(hashes.into()))
            .hashed(Hashing::default());
        Ok(Split { design, config, hashing, pick: design.pick(random), chain })
    }

    /// How the row of a key is chosen.
    ///
    /// ```
    /// use bouquet::dynamic::split::{Choice, Split};
    /// assert_eq!(Split::with_size(8, 1280, 7)?.choice(), Choice::RoundRobin);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn choice(&self) -> Choice {
        self.design.choice
    }

    /// The keys of each row.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// let mut filter = Split::with_size(4, 1280, 7)?;
    /// (0..10u32).for_each(|key| { filter.insert(&key); });
    /// assert_eq!(filter.counts(), [3, 3, 2, 2]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        self.chain.counts()
    }

    /// Insertions, duplicates included.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// let mut filter = Split::with_rate(1_000, 0.01)?;
    /// ["rose", "rose"].map(|key| filter.insert(key));
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.chain.items()
    }

    #[inline]
    fn probe(&self, digest: Digest) -> Positions {
        positions(&self.design.row, digest)
    }

    /// Inserts a key and says whether it was certainly new. A key that is inserted again may occupy a second row.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// let mut filter = Split::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose") && !filter.insert("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) -> bool {
        let probe = self.probe(digest);
        let present = self.holds(digest, &probe);
        // There is at least one row, and every row takes every key.
        if let Some(row) = self.pick.choose(&self.chain, digest) {
            self.chain.add(row, &probe);
        }
        !present
    }

    #[inline]
    fn holds(&self, digest: Digest, probe: &Positions) -> bool {
        match self.design.choice {
            Choice::Hashed => self.chain.components().holds(Pick::hashed(self.chain.counts().len(), digest), probe),
            Choice::RoundRobin | Choice::Random => self.chain.contains(probe),
        }
    }

    /// Whether the key may be in the set; `false` is certain.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// let mut filter = Split::with_rate(1_000, 0.01)?;
    /// (0..1_000u32).for_each(|key| { filter.insert(&key); });
    /// assert!((0..1_000u32).all(|key| filter.contains(&key)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = key.digest(&self.hashing);
        self.holds(digest, &self.probe(digest))
    }

    /// Whether with one more key the predicted rate passes `fpr`. The matrix cannot grow: [`rebuild`](Self::rebuild) it.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// let mut filter = Split::with_rate(1_000, 0.01)?;
    /// let fits = (0..2_000u32).position(|key| { filter.insert(&key); filter.needs_rebuild() });
    /// assert!(fits.is_some_and(|keys| (1_000..1_010).contains(&(keys + 1))));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn needs_rebuild(&self) -> bool {
        let mut counts = self.chain.counts().to_vec();
        if let Some(least) = counts.iter_mut().min() {
            *least += 1;
        }
        let rates: Vec<f64> = counts.iter().map(|&items| self.design.row.plain_rate(items)).collect();
        self.design.rate_of(&rates) > self.design.fpr
    }

    /// A filter of these keys in `rows` rows of `bits` bits, with the best number of positions for them and the same way
    /// to choose rows.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// let mut filter = Split::with_rate(100, 0.01)?;
    /// (0..1_000u32).for_each(|key| { filter.insert(&key); });
    /// let larger = filter.rebuild(0..1_000u32, 16, 1_000)?;
    /// assert!(filter.needs_rebuild() && !larger.needs_rebuild());
    /// assert!((0..1_000u32).all(|key| larger.contains(&key)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn rebuild<K: Key>(&self, keys: impl IntoIterator<Item = K>, rows: u64, bits: u64) -> Result<Self> {
        let keys: Vec<K> = keys.into_iter().collect();
        let mut config = Config::new(KIND.facts());
        for (parameter, setting) in self.config.settings().filter(|(of, _)| of.name != "hashes") {
            config = config.with(parameter.name, setting)?;
        }
        let config = config
            .with("items", Setting::Count((keys.len() as u64).max(1)))?
            .with("rows", Setting::Count(rows))?
            .with("bits", Setting::Count(bits))?
            .hashed(self.hashing.clone());
        let mut rebuilt = Self::from_config(&config)?;
        keys.iter().for_each(|key| {
            rebuilt.insert(key);
        });
        Ok(rebuilt)
    }

    /// Takes in everything that `other`, a filter of the same rows and hashing, holds: row by row, by OR.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// let (mut here, mut there) = (Split::with_rate(100, 0.01)?, Split::with_rate(100, 0.01)?);
    /// there.insert("lily");
    /// here.merge(&there)?;
    /// assert!(here.contains("lily"));
    /// assert!(here.merge(&Split::with_rate(200, 0.01)?).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        same("rows", self.design.rows, other.design.rows)?;
        same("bits", self.design.row.bits, other.design.row.bits)?;
        same("hashes", self.design.row.hashes, other.design.row.hashes)?;
        // Who looks at one row only must find there what the other has put elsewhere.
        let looks_at_one = |filter: &Self| filter.design.choice == Choice::Hashed;
        same("choice", looks_at_one(self), looks_at_one(other))?;
        same("hashing", &self.hashing, &other.hashing)?;
        self.chain.join(&other.chain)
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// let mut filter = Split::with_rate(100, 0.01)?;
    /// filter.insert("rose");
    /// assert_eq!(Split::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// let mut frame = Split::with_rate(100, 0.01)?.to_bytes();
    /// frame[40] ^= 1;
    /// assert!(Split::from_bytes(&frame).is_err(), "a single bit is noticed");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }

    #[inline]
    fn digests<K: Key>(&self, keys: &[K]) -> [Digest; BATCH] {
        let cached = self.design.row.bits <= CACHED_BITS;
        digest_batch(&self.hashing, keys, |digest| {
            if !cached {
                self.chain.prefetch(&self.probe(digest));
            }
        })
    }
}

impl Structure for Split {
    const FACTS: Facts = Facts {
        id: "split",
        number: 102,
        aliases: &["SPBF", "split-bloom"],
        family: "dynamic",
        text: Text::new(include_str!("split.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[
            Parameter { help: "distinct keys that the filter is made for, at most", ..common::ITEMS },
            common::FPR,
            ROWS,
            Parameter { help: "size of a row in bits, instead of a rate", ..common::BITS },
            common::HASHES,
            CHOICE,
            SEED,
            LAYOUT,
        ],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let design = Design::new(config)?;
        let orientation = if design.sliced { Orientation::ByPosition } else { Orientation::BySet };
        let bits = BitMatrix::needed_bits(design.rows, design.row.bits, orientation)?;
        let fpr = design.items.map(|items| design.expected_rate(items));
        Ok(Plan { bits, hashes: design.row.hashes, items: design.items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        self.config.clone().hashed(self.hashing.clone())
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let cells = self.chain.components();
        let used = cells.used();
        let (fill, honest_fill) = cells.fill(&used, self.chain.counts());
        let rates: Vec<f64> = used.iter().map(|&used| self.design.row.rate_of_used(&[used])).collect();
        Stats {
            items: self.items(),
            bits: cells.bits(),
            hashes: self.design.row.hashes,
            fill: Some(fill),
            fpr: Some(self.design.rate_of(&rates)),
            honest_fill: Some(honest_fill),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(self.design.expected_rate(items)), ..Rates::default() }
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u64(if let Pick::Random(random) = &self.pick { random.state() } else { self.design.seed });
        self.chain.counts().iter().for_each(|&items| state.u64(items));
        self.chain.components().encode(encoder);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let design = Design::new(decoder.config())?;
        let state = decoder.state();
        let random = state.u64()?;
        if design.choice != Choice::Random && random != design.seed {
            return Err(Error::corrupt("state of the generator", design.seed, random));
        }
        let counts = (0..design.rows).map(|_| state.u64()).collect::<Result<Vec<_>>>()?;
        let cells = Cells::decode(decoder, design.rows as usize, design.row, design.arrangement())?;
        let config = decoder.config().clone();
        Self::with_parts(&config, design, cells, counts, random)
    }
}

impl Contains for Split {
    fn contains(&self, key: &[u8]) -> bool {
        Split::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            for (answer, digest) in answers.iter_mut().zip(self.digests(keys)).take(keys.len()) {
                *answer = self.holds(digest, &self.probe(digest));
            }
        }
    }
}

impl Insert for Split {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Ok(Split::insert(self, item.bare()?))
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let mut fresh = 0;
        for items in items.chunks(BATCH) {
            for (item, digest) in items.iter().zip(self.digests(items)) {
                item.bare()?;
                fresh += u64::from(self.insert_digest(digest));
            }
        }
        Ok(fresh)
    }
}

impl Merge for Split {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Split::merge(self, other)
    }
}

impl Compress for Split {
    fn entropy_bits(&self) -> f64 {
        self.chain.components().entropy_bits()
    }
}

#[cfg(test)]
mod tests;
