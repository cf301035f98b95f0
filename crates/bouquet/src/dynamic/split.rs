#![doc = include_str!("split.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, Positions, SplitMix};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Stats, Text, common, kind};
use crate::parts::chain::{Chain, Pick};
use crate::parts::equal_components::{Arrangement, Cells, positions};
use crate::shell::{
    self, ByRate, Code, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, Unite, choices, fields,
};
use crate::store::{BitMatrix, Orientation};
use crate::theory::dynamic::Shape;
use crate::theory::{scalable, split, standard};

/// The registry's row.
pub const KIND: Kind = kind!(Split);

/// A split Bloom filter.
///
/// Merging joins the rows one by one, by OR. The layouts may differ.
///
/// ```
/// use bouquet::dynamic::split::Split;
/// let mut filter = Split::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// assert_eq!(filter.counts(), [1, 0, 0, 0, 0, 0, 0, 0]);
/// assert!(filter.stats().bits > 13_000, "a plain filter takes 9,593");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Split = Filter<Rows>;

/// How the row of a key is chosen.
///
/// ```
/// use bouquet::dynamic::split::{Choice, Split, SplitSettings};
/// let settings = SplitSettings { items: Some(1_000), choice: Some(Choice::Hashed), ..Default::default() };
/// assert_eq!(Split::with(settings)?.choice(), Choice::Hashed);
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

choices!(Choice { RoundRobin = "round-robin", Random = "random", Hashed = "hashed" });

/// How the rows lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The same position of 64 rows in one word.
    Slices,
    /// Rows one behind the other.
    Rows,
}

choices!(Layout { Slices = "slices", Rows = "rows" });

/// The most rows, as many as a frame has stores.
const MOST_ROWS: u64 = crate::codec::MAX_SECTIONS as u64;

const ITEMS: Parameter = Parameter { help: "distinct keys that the filter is made for, at most", ..common::ITEMS };
const ROWS: Parameter = Parameter::count("rows", "rows of the matrix", 1, MOST_ROWS).or(8);
const BITS: Parameter = Parameter { help: "size of a row in bits, instead of a rate", ..common::BITS };
const CHOICE: Parameter = Parameter::choice(
    "choice",
    "the row of a key: each in turn, by chance, or by the key (then it is a partitioned filter)",
    <Choice as shell::Choice>::WORDS,
);
const SEED: Parameter = Parameter::count("seed", "of the generator that chooses rows by chance", 0, u64::MAX).or(0);
const LAYOUT: Parameter = Parameter::choice(
    "layout",
    "the same position of 64 rows in one word (slices), or rows one behind the other",
    <Layout as shell::Choice>::WORDS,
);

/// The settings of a split filter.
///
/// ```
/// use bouquet::dynamic::split::{Split, SplitSettings};
/// let settings = SplitSettings { items: Some(1_000), rows: Some(64), ..Default::default() };
/// assert_eq!(Split::with(settings.clone())?.counts().len(), 64);
/// assert!(Split::with(SplitSettings { rows: Some(0), ..settings }).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitSettings {
    /// The most keys that the rate is kept with.
    pub items: Option<u64>,
    /// That rate.
    pub fpr: Option<f64>,
    /// s, the rows.
    pub rows: Option<u64>,
    /// m, the bits of a row.
    pub bits: Option<u64>,
    /// k, the positions of a key.
    pub hashes: Option<u32>,
    /// How the row of a key is chosen.
    pub choice: Option<Choice>,
    /// The seed of the generator that chooses rows by chance.
    pub seed: Option<u64>,
    /// How the rows lie in memory.
    pub layout: Option<Layout>,
}

impl Settings for SplitSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        fpr: common::FPR,
        rows: ROWS,
        bits: BITS,
        hashes: common::HASHES,
        choice: CHOICE,
        seed: SEED,
        layout: LAYOUT,
    ];
    const DESIGN: &'static [&'static str] = &[ITEMS.name, common::FPR.name, CHOICE.name, SEED.name, LAYOUT.name];
}

impl ByRate for SplitSettings {}

/// What follows from the settings.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Design {
    fpr: f64,
    rows: u64,
    row: Shape,
    choice: Choice,
    seed: u64,
    sliced: bool,
}

impl Design {
    fn new(settings: &SplitSettings) -> Result<Self> {
        let (rows, fpr) = (ROWS.need(settings.rows)?, common::FPR.need(settings.fpr)?);
        let capacity = settings.items.map(|items| items.div_ceil(rows));
        let row = match (settings.bits, settings.hashes, capacity) {
            (Some(bits), Some(hashes), capacity) => Shape { bits, hashes, capacity: capacity.unwrap_or(u64::MAX) },
            (Some(bits), None, Some(capacity)) => {
                Shape { bits, hashes: standard::for_bits(bits, capacity)?.hashes, capacity }
            }
            (None, None, Some(_)) => split::for_bound(ITEMS.need(settings.items)?, fpr, rows)?,
            (None, Some(hashes), Some(capacity)) => {
                let rate = -((-fpr).ln_1p() / rows as f64).exp_m1();
                let bits = crate::theory::check_bits(standard::needed_bits(capacity, rate, hashes))?;
                Shape { bits, hashes, capacity }
            }
            (_, _, None) => return Err(Error::parameter(ITEMS.name, ITEMS.range(), "missing")),
        };
        let sliced = LAYOUT.need(settings.layout)? == Layout::Slices;
        Ok(Design { fpr, rows, row, choice: CHOICE.need(settings.choice)?, seed: SEED.need(settings.seed)?, sliced })
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
            Choice::RoundRobin | Choice::Random => scalable::compound_rate(rates),
        }
    }
}

/// Rows of bits, all of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    design: Design,
    pick: Pick,
    chain: Chain<Cells>,
}

impl Rows {
    fn of(design: Design, cells: Cells, items: Vec<u64>, random: u64) -> Result<Self> {
        let chain =
            Chain::with_items(cells, items).ok_or_else(|| Error::corrupt("number of rows", design.rows, "another"))?;
        Ok(Rows { design, pick: design.pick(random), chain })
    }

    #[inline]
    fn probe(&self, digest: Digest) -> Positions {
        positions(&self.design.row, digest)
    }

    #[inline]
    fn holds(&self, digest: Digest, probe: &Positions) -> bool {
        match self.design.choice {
            Choice::Hashed => self.chain.components().holds(Pick::hashed(self.chain.counts().len(), digest), probe),
            Choice::RoundRobin | Choice::Random => self.chain.contains(probe),
        }
    }
}

impl Mechanism for Rows {
    const FACTS: Facts = Facts {
        id: "split",
        number: 102,
        aliases: &["SPBF", "split-bloom"],
        family: "dynamic",
        text: Text::new(include_str!("split.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const OWN_ITEMS: bool = true;

    type Settings = SplitSettings;

    fn resolve(asked: &SplitSettings) -> Result<SplitSettings> {
        let Design { rows, row: Shape { bits, hashes, .. }, .. } = Design::new(asked)?;
        Ok(SplitSettings { rows: Some(rows), bits: Some(bits), hashes: Some(hashes), ..asked.clone() })
    }

    fn plan(settings: &SplitSettings) -> Result<Plan> {
        let design = Design::new(settings)?;
        let orientation = if design.sliced { Orientation::ByPosition } else { Orientation::BySet };
        let bits = BitMatrix::needed_bits(design.rows, design.row.bits, orientation)?;
        let fpr = settings.items.map(|items| design.expected_rate(items));
        Ok(Plan { bits, hashes: design.row.hashes, items: settings.items, fpr })
    }

    fn empty(settings: &SplitSettings, _: &Hashing) -> Result<Self> {
        let design = Design::new(settings)?;
        let cells = Cells::zeroed(design.rows, design.row, design.arrangement())?;
        Rows::of(design, cells, vec![0; design.rows as usize], design.seed)
    }

    /// Which row a key goes to follows from the number of rows as well.
    fn domain(settings: &SplitSettings) -> String {
        let SplitSettings { rows, bits, hashes, .. } = settings;
        format!("split {} {} {}", rows.unwrap_or(0), bits.unwrap_or(0), hashes.unwrap_or(0))
    }

    fn items(&self, _: u64) -> u64 {
        self.chain.items()
    }

    fn stats(&self, items: u64) -> Stats {
        let cells = self.chain.components();
        let used = cells.used();
        let (fill, honest_fill) = cells.fill(&used, self.chain.counts());
        let rates: Vec<f64> = used.iter().map(|&used| self.design.row.rate_of_used(&[used])).collect();
        Stats {
            items,
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

    /// State: the generator (8 bytes), and the items of each row (8). Stores: the rows, or all of them in slices.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u64(if let Pick::Random(random) = &self.pick { random.state() } else { self.design.seed });
        self.chain.counts().iter().for_each(|&items| state.u64(items));
        self.chain.components().encode(encoder);
    }

    fn decode(settings: &SplitSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let design = Design::new(settings)?;
        let state = decoder.state();
        let random = state.u64()?;
        if design.choice != Choice::Random && random != design.seed {
            return Err(Error::corrupt("state of the generator", design.seed, random));
        }
        let counts = (0..design.rows).map(|_| state.u64()).collect::<Result<Vec<_>>>()?;
        let cells = Cells::decode(decoder, design.rows as usize, design.row, design.arrangement())?;
        Ok((Rows::of(design, cells, counts, random)?, 0))
    }

    fn reach(&self) -> u64 {
        self.design.row.bits
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.chain.prefetch(&self.probe(digest));
    }
}

impl Test for Rows {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.holds(key.digest, &self.probe(key.digest))
    }
}

impl Put for Rows {
    type Note<'a> = ();
    type Outcome = bool;

    /// A key that is inserted again may occupy a second row.
    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let probe = self.probe(key.digest);
        let present = self.holds(key.digest, &probe);
        // There is at least one row, and every row takes every key.
        if let Some(row) = self.pick.choose(&self.chain, key.digest) {
            self.chain.add(row, &probe);
        }
        !present
    }
}

impl Unite for Rows {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.chain.join(&other.chain)
    }

    fn alike(settings: &SplitSettings, other: &SplitSettings) -> Result<()> {
        settings.alike(other)?;
        // Who looks at one row only must find there what the other has put elsewhere.
        let looks_at_one = |settings: &SplitSettings| settings.choice == Some(Choice::Hashed);
        same(CHOICE.name, looks_at_one(settings), looks_at_one(other))
    }
}

impl Code for Rows {
    fn entropy_bits(&self) -> f64 {
        self.chain.components().entropy_bits()
    }
}

impl Split {
    /// `rows` rows of `bits` bits, with `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// assert_eq!(Split::with_size(8, 1280, 7)?.stats().bits, 8 * 1280);
    /// assert!(Split::with_size(0, 1280, 7).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(rows: u64, bits: u64, hashes: u32) -> Result<Self> {
        Self::with(SplitSettings {
            rows: Some(rows),
            bits: Some(bits),
            hashes: Some(hashes),
            ..SplitSettings::default()
        })
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
        self.mechanism.design.choice
    }

    /// The keys of each row.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// let mut filter = Split::with_size(4, 1280, 7)?;
    /// filter.extend(0..10u32);
    /// assert_eq!(filter.counts(), [3, 3, 2, 2]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        self.mechanism.chain.counts()
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
        let mut counts = self.counts().to_vec();
        if let Some(least) = counts.iter_mut().min() {
            *least = least.saturating_add(1);
        }
        let Design { row, fpr, .. } = &self.mechanism.design;
        let rates: Vec<f64> = counts.iter().map(|&items| row.plain_rate(items)).collect();
        self.mechanism.design.rate_of(&rates) > *fpr
    }

    /// A filter of these keys in `rows` rows of `bits` bits, with the best number of positions for them and the same way
    /// to choose rows.
    ///
    /// ```
    /// use bouquet::dynamic::split::Split;
    /// let mut filter = Split::with_rate(100, 0.01)?;
    /// filter.extend(0..1_000u32);
    /// let larger = filter.rebuild(0..1_000u32, 16, 1_000)?;
    /// assert!(filter.needs_rebuild() && !larger.needs_rebuild());
    /// assert!((0..1_000u32).all(|key| larger.contains(&key)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn rebuild<K: Key>(&self, keys: impl IntoIterator<Item = K>, rows: u64, bits: u64) -> Result<Self> {
        let keys: Vec<K> = keys.into_iter().collect();
        let settings = SplitSettings {
            items: Some((keys.len() as u64).max(1)),
            rows: Some(rows),
            bits: Some(bits),
            hashes: None,
            ..self.settings()
        };
        let mut rebuilt = Self::hashed(settings, self.hashing().clone())?;
        rebuilt.insert_batch(&keys);
        Ok(rebuilt)
    }
}

#[cfg(test)]
mod tests;
