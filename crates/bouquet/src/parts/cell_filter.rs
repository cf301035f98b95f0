//! Counters that can contradict: the engine of kinds whose cells keep a mark of their keys beside, or in, the count.
//!
//! A key has one cell in each of k slices, and a *mark*: one for all its cells or one for each. A [`CellCode`] says
//! how a cell takes a mark in, gives it back, and when it proves that a mark is not in it. A kind of this engine is
//! its code.

use std::collections::HashMap;

use crate::capability::{Contains, Insert, Item, Merge, Remove};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, SplitMix, fastrange};
use crate::key::{Batched, Key, NEAR_BITS, answer_each, insert_items};
use crate::kind::{Config, Facts, Plan, Rates, Setting, Stats, Structure, common};
use crate::parts::counter_array::{Arrangement, Placement, Places};
use crate::simd::prefetch;
use crate::store::Counters;
use crate::theory::partitioned;
use crate::theory::refutation::Refutation;

/// Sets the marks apart from the positions, which come from the digest itself.
const MARK_STREAM: u64 = 0x3A4B;

/// What a cell keeps of its keys.
///
/// Laws, with 0 as the empty cell, for all cells that `add`, `sub` and `join` can make of it:
///
/// - `admits(add(cell, mark), mark)`, and a cell that admits a mark still does after other marks were added and taken
///   out again: no key is ever lost.
/// - `sub(add(cell, mark), mark) == cell`, unless the cell is frozen; a frozen cell never changes and admits
///   everything.
/// - An empty cell admits nothing.
/// - `join` of two cells is the cell of the keys of both.
///
/// ```
/// use bouquet::counting::{CellCode, fingerprint_counting::FingerprintCounting};
/// let filter = FingerprintCounting::with_rate(1_000, 0.01)?;
/// let code = filter.code();
/// let cell = code.add(0, 3);
/// assert!(code.admits(cell, 3) && !code.admits(cell, 2));
/// assert_eq!(code.sub(cell, 3), 0);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait CellCode: Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The facts of the kind.
    const FACTS: Facts;

    /// Whether a key has the same mark in all its cells, not one for each.
    const ONE_MARK: bool;

    /// The codes that the settings leave open, the usual one first; never none.
    fn candidates(config: &Config) -> Result<Vec<Self>>;

    /// Adds the settings of this very code.
    fn settings(&self, config: Config) -> Config;

    /// Bits of a cell, at most 32.
    fn width(&self) -> u32;

    /// The number of different marks.
    fn marks(&self) -> u64;

    /// Whether the cell may hold a key of this mark.
    fn admits(&self, cell: u64, mark: u64) -> bool;

    /// The cell with one more key.
    fn add(&self, cell: u64, mark: u64) -> u64;

    /// The cell with one key less, which it admits.
    fn sub(&self, cell: u64, mark: u64) -> u64;

    /// The cell of the keys of two cells.
    fn join(&self, cell: u64, other: u64) -> u64;

    /// Whether the cell has reached its end and stays as it is for ever.
    fn is_frozen(&self, cell: u64) -> bool;

    /// Whether the value is a cell at all: what a frame may hold.
    fn is_cell(&self, cell: u64) -> bool;

    /// How often a cell contradicts.
    fn refutation(&self) -> Refutation;

    /// The expected rate of false positives with so many distinct keys in `hashes` slices.
    fn expected_rate(&self, slice: u64, items: u64, hashes: u32) -> f64 {
        self.refutation().rate(slice, items, hashes)
    }
}

/// The marks of a key, one for each of its cells in turn.
struct Marks {
    random: SplitMix,
    marks: u64,
    shared: u64,
}

impl Marks {
    #[inline]
    fn of<C: CellCode>(code: &C, digest: Digest) -> Self {
        let word = digest.derive(MARK_STREAM).h1;
        let marks = code.marks();
        Marks { random: SplitMix::new(word), marks, shared: fastrange(word, marks) }
    }

    #[inline]
    fn next<C: CellCode>(&mut self) -> u64 {
        if C::ONE_MARK { self.shared } else { self.random.below(self.marks) }
    }
}

/// A filter of cells under a code.
///
/// ```
/// use bouquet::counting::variable_increment::VariableIncrement;
/// let mut filter = VariableIncrement::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// filter.remove("rose")?;
/// assert!(!filter.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CellFilter<C> {
    pub(crate) code: C,
    places: Places,
    hashing: Hashing,
    pub(crate) cells: Counters,
    /// Insertions less removals.
    pub(crate) items: u64,
    /// Insertions, removed ones included.
    inserted: u64,
    /// The distinct keys and the rate that it was made for.
    design: (Option<u64>, Option<f64>),
}

/// The least number of cells per slice, from `least` on, at which the expected rate is reached.
fn slice_for<C: CellCode>(code: &C, least: u64, items: u64, hashes: u32, fpr: f64) -> u64 {
    let reached = |slice: u64| code.expected_rate(slice, items, hashes) <= fpr;
    let (mut below, mut slice, mut step) = (least.saturating_sub(1), least.max(1), 1);
    while !reached(slice) && slice < 1 << 56 {
        below = slice;
        slice += step;
        step *= 2;
    }
    while slice - below > 1 && below >= least {
        let middle = below + (slice - below) / 2;
        if reached(middle) {
            slice = middle;
        } else {
            below = middle;
        }
    }
    slice
}

/// The code and the layout that the settings describe.
fn shape<C: CellCode>(config: &Config) -> Result<(C, Places)> {
    let candidates = C::candidates(config)?;
    let (items, given) = (config.count("items"), config.count("hashes").map(|k| k as u32));
    let fpr = config.real("fpr").unwrap_or(0.01);
    let missing = |or: &str| Error::parameter("items", common::ITEMS.range(), format!("missing (or give `{or}`)"));
    let mut best: Option<(f64, C, u64, u32)> = None;
    for code in candidates {
        let (refutation, width) = (code.refutation(), u64::from(code.width()));
        // By size the rate is made small, by rate the size.
        let (cost, slice, hashes) = match (config.count("bits"), items) {
            (Some(bits), None) => (1.0, bits / width, given.ok_or_else(|| missing("hashes"))?),
            (Some(bits), Some(items)) => {
                let cells = bits / width;
                let hashes = given.unwrap_or_else(|| refutation.best_hashes(cells, items));
                let load = items as f64 * f64::from(hashes) / (cells as f64).max(1.0);
                (refutation.limit_rate(load, hashes), cells, hashes)
            }
            (None, Some(items)) => {
                let (cells, hashes) = refutation.for_rate(items, fpr, given)?;
                (cells as f64 * width as f64, cells, hashes)
            }
            (None, None) => return Err(missing("bits")),
        };
        if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
            best = Some((cost, code, slice, hashes));
        }
    }
    let (_, code, cells, hashes) = best.ok_or_else(|| missing("bits"))?;
    let slice = match (config.count("bits"), items) {
        (None, Some(items)) => slice_for(&code, cells.div_ceil(hashes.into()), items, hashes, fpr),
        _ => (cells / u64::from(hashes)).max(1),
    };
    let cells = slice.checked_mul(hashes.into()).filter(|cells| cells.checked_mul(code.width().into()).is_some());
    let too_large = || Error::TooLarge { what: "the cells".into(), bytes: u128::from(slice) * u128::from(hashes) };
    Ok((code, Places::new(cells.ok_or_else(too_large)?, hashes, Arrangement::Sliced)?))
}

impl<C: CellCode> CellFilter<C> {
    /// A filter for `items` distinct keys whose false-positive rate is then `fpr`, in as few bits as can be.
    ///
    /// ```
    /// use bouquet::{CountingBloom, counting::fingerprint_counting::FingerprintCounting, kind::Structure};
    /// let bits = FingerprintCounting::with_rate(100_000, 0.001)?.stats().bits;
    /// assert!(bits < CountingBloom::with_rate(100_000, 0.001)?.stats().bits * 3 / 4);
    /// assert!(FingerprintCounting::with_rate(100_000, 0.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(const { &C::FACTS }).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter of at most `bits` bits, and at least one cell per slice, with `hashes` cells per key.
    ///
    /// ```
    /// use bouquet::counting::variable_increment::VariableIncrement;
    /// let filter = VariableIncrement::with_size(7_000, 6)?;
    /// assert_eq!((filter.cells().len(), filter.hashes()), (996, 6)); // seven bits each
    /// assert!(VariableIncrement::with_size(7_000, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(const { &C::FACTS }).with("bits", Setting::Count(bits))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// The filter with the lowest rate for `items` distinct keys in at most `bits` bits.
    ///
    /// ```
    /// use bouquet::counting::fingerprint_counting::FingerprintCounting;
    /// let filter = FingerprintCounting::with_budget(1_000, 40_000)?;
    /// assert_eq!((filter.hashes(), filter.code().fingerprint_bits()), (7, 2));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_budget(items: u64, bits: u64) -> Result<Self> {
        let config = Config::new(const { &C::FACTS }).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("bits", Setting::Count(bits))?)
    }

    /// A filter of cells under this code, of at most `bits` bits, with `hashes` cells per key.
    ///
    /// ```
    /// use bouquet::counting::variable_increment::{Increments, VariableIncrement};
    /// let code = Increments::sequence(&[1, 4, 8, 13], 3)?;
    /// let filter = VariableIncrement::with_code(&code, 10_000, 5)?;
    /// assert_eq!((filter.code(), filter.cells().len()), (&code, 1_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_code(code: &C, bits: u64, hashes: u32) -> Result<Self> {
        let config = code.settings(Config::new(const { &C::FACTS })).with("bits", Setting::Count(bits))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{counting::fingerprint_counting::{FingerprintCounting, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("fingerprint-bits", "5")?;
    /// assert_eq!(FingerprintCounting::from_config(&config)?.code().fingerprint_bits(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let (code, places) = shape::<C>(config)?;
        let cells = Counters::zeroed(places.counters(), code.width())?;
        Ok(Self::with_parts(config, code, places, cells, [0; 2]))
    }

    fn with_parts(config: &Config, code: C, places: Places, cells: Counters, [items, inserted]: [u64; 2]) -> Self {
        let domain = format!("{} {} {}", C::FACTS.id, places.counters(), places.hashes());
        let design = (config.count("items"), config.is_set("fpr").then(|| config.real("fpr")).flatten());
        CellFilter { hashing: config.hashing().clone().bind(&domain), code, places, cells, items, inserted, design }
    }

    /// The code of the cells.
    ///
    /// ```
    /// use bouquet::counting::{CellCode, variable_increment::VariableIncrement};
    /// assert_eq!(VariableIncrement::with_rate(1_000, 0.01)?.code().width(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn code(&self) -> &C {
        &self.code
    }

    /// The cells, slice after slice.
    ///
    /// ```
    /// use bouquet::counting::variable_increment::VariableIncrement;
    /// let mut filter = VariableIncrement::with_size(7_000, 5)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.cells().count_nonzero(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn cells(&self) -> &Counters {
        &self.cells
    }

    /// Cells per key.
    ///
    /// ```
    /// use bouquet::counting::variable_increment::VariableIncrement;
    /// assert_eq!(VariableIncrement::with_size(7_000, 5)?.hashes(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.places.hashes()
    }

    /// Insertions less removals.
    ///
    /// ```
    /// use bouquet::counting::variable_increment::VariableIncrement;
    /// let mut filter = VariableIncrement::with_rate(1_000, 0.01)?;
    /// ["rose", "rose", "lily"].map(|key| filter.insert(key));
    /// filter.remove("rose")?;
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Cells that are frozen: they stay in use, and admit everything, whatever is removed.
    ///
    /// ```
    /// use bouquet::counting::fingerprint_counting::FingerprintCounting;
    /// let mut filter = FingerprintCounting::with_size(6_000, 5)?;
    /// (0..15).for_each(|_| _ = filter.insert("rose"));
    /// assert_eq!(filter.frozen(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn frozen(&self) -> u64 {
        self.cells.iter().filter(|&cell| self.code.is_frozen(cell)).count() as u64
    }

    /// Forgets every key.
    ///
    /// ```
    /// use bouquet::counting::variable_increment::VariableIncrement;
    /// let mut filter = VariableIncrement::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// filter.clear();
    /// assert_eq!(filter, VariableIncrement::with_rate(1_000, 0.01)?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear(&mut self) {
        self.cells.clear();
        (self.items, self.inserted) = (0, 0);
    }

    /// Inserts a key once more and says whether it was certainly new.
    ///
    /// ```
    /// use bouquet::counting::variable_increment::VariableIncrement;
    /// let mut filter = VariableIncrement::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose") && !filter.insert("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) -> bool {
        let CellFilter { code, cells, .. } = self;
        let mut marks = Marks::of(code, digest);
        let mut fresh = false;
        self.places.all(digest, |place| {
            let mark = marks.next::<C>();
            fresh |= !code.admits(cells.update(place, |cell| code.add(cell, mark)), mark);
            true
        });
        self.items = self.items.saturating_add(1);
        self.inserted = self.inserted.saturating_add(1);
        fresh
    }

    /// Whether the key may be in the set. `false` is certain, unless keys were removed that were never inserted.
    ///
    /// ```
    /// use bouquet::counting::fingerprint_counting::FingerprintCounting;
    /// let mut filter = FingerprintCounting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(key.digest(&self.hashing))
    }

    #[inline]
    pub(crate) fn contains_digest(&self, digest: Digest) -> bool {
        self.all(digest, |_| true)
    }

    /// Whether each of a key's cells admits it; those that do are handed on until `visit` answers false.
    #[inline]
    pub(crate) fn all(&self, digest: Digest, mut visit: impl FnMut(u64) -> bool) -> bool {
        let mut marks = Marks::of(&self.code, digest);
        self.places.all(digest, |place| {
            let cell = self.cells.get(place);
            self.code.admits(cell, marks.next::<C>()) && visit(cell)
        })
    }

    pub(crate) fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        key.digest(&self.hashing)
    }

    /// Removes one occurrence of a key, or says [`Error::NotPresent`] and changes nothing when it is certainly absent.
    ///
    /// **Remove only what was inserted.** An absent key that seems present cannot be told from a present one: removing
    /// it takes counts and marks from other keys, and each of those may then seem absent.
    ///
    /// ```
    /// use bouquet::{Error, counting::fingerprint_counting::FingerprintCounting};
    /// let mut filter = FingerprintCounting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// filter.insert("lily");
    /// filter.remove("rose")?;
    /// assert!(!filter.contains("rose") && filter.contains("lily"));
    /// assert!(matches!(filter.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = key.digest(&self.hashing);
        if !self.contains_digest(digest) {
            return Err(Error::NotPresent);
        }
        let CellFilter { code, cells, .. } = self;
        let mut marks = Marks::of(code, digest);
        self.places.all(digest, |place| {
            let mark = marks.next::<C>();
            cells.update(place, |cell| if code.is_frozen(cell) { cell } else { code.sub(cell, mark) });
            true
        });
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// Takes in the keys of `other`, which must have the same cells, code and hashing: the filter of both multisets
    /// together.
    ///
    /// ```
    /// use bouquet::counting::variable_increment::VariableIncrement;
    /// let mut here = VariableIncrement::with_size(10_000, 5)?;
    /// let mut there = here.clone();
    /// there.insert("rose");
    /// here.merge(&there)?;
    /// assert_eq!(here, there);
    /// assert!(here.merge(&VariableIncrement::with_size(20_000, 5)?).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        same("cells", self.places.counters(), other.places.counters())?;
        same("hashes", self.places.hashes(), other.places.hashes())?;
        same("code", &self.code, &other.code)?;
        same("hashing", &self.hashing, &other.hashing)?;
        let code = &self.code;
        self.cells.combine(&other.cells, |cell, other| code.join(cell, other))?;
        self.items = self.items.saturating_add(other.items);
        self.inserted = self.inserted.saturating_add(other.inserted);
        Ok(())
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::variable_increment::VariableIncrement;
    /// let mut filter = VariableIncrement::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// assert!(VariableIncrement::from_bytes(&filter.to_bytes())?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind. A cell that no keys leave behind is [`Error::Corrupt`].
    ///
    /// ```
    /// use bouquet::counting::fingerprint_counting::FingerprintCounting;
    /// let mut filter = FingerprintCounting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// assert_eq!(FingerprintCounting::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }

    /// How often each content occurs, slice by slice.
    fn tallies(&self) -> Vec<HashMap<u64, u64>> {
        let tally = |piece: std::ops::Range<u64>| {
            let mut tally = HashMap::new();
            piece.for_each(|place| *tally.entry(self.cells.get(place)).or_default() += 1);
            tally
        };
        self.places.pieces().map(tally).collect()
    }

    /// The false-positive rate of this content: in each slice the share of cells that admit a mark.
    fn rate_now(&self, tallies: &[HashMap<u64, u64>]) -> f64 {
        let (marks, slice) = (self.code.marks(), self.places.counters() as f64 / f64::from(self.hashes()));
        let admitting = |tally: &HashMap<u64, u64>, mark: u64| {
            tally.iter().filter(|&(&cell, _)| self.code.admits(cell, mark)).map(|(_, count)| *count).sum::<u64>() as f64
        };
        if C::ONE_MARK {
            let of_mark = |mark| tallies.iter().map(|tally| admitting(tally, mark) / slice).product::<f64>();
            return (0..marks).map(of_mark).sum::<f64>() / marks as f64;
        }
        let of_slice = |tally| (0..marks).map(|mark| admitting(tally, mark)).sum::<f64>() / (slice * marks as f64);
        tallies.iter().map(of_slice).product()
    }
}

impl<C: CellCode> Structure for CellFilter<C> {
    const FACTS: Facts = C::FACTS;
    const IN_PLACE: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        let (code, places) = shape::<C>(config)?;
        let (items, hashes) = (config.count("items"), places.hashes());
        let slice = places.counters() / u64::from(hashes);
        let fpr = items.map(|items| code.expected_rate(slice, items, hashes));
        Ok(Plan { bits: places.counters() * u64::from(code.width()), hashes, items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let mut config = self
            .code
            .settings(Config::new(const { &C::FACTS }))
            .put("bits", Setting::Count(self.cells.bits()))
            .put("hashes", Setting::Count(self.hashes().into()))
            .hashed(self.hashing.clone());
        if let Some(items) = self.design.0 {
            config = config.put("items", Setting::Count(items));
        }
        if let Some(fpr) = self.design.1 {
            config = config.put("fpr", Setting::Real(fpr));
        }
        config
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let (places, tallies) = (&self.places, self.tallies());
        let share = |wanted: &dyn Fn(u64) -> bool| {
            let all = tallies.iter().flatten().filter(|&(&cell, _)| wanted(cell));
            all.map(|(_, count)| *count).sum::<u64>() as f64 / places.counters() as f64
        };
        // A cell in use belongs to a present key or is frozen, and then belongs to one that was inserted.
        let frozen = share(&|cell| self.code.is_frozen(cell));
        let honest = (places.honest_fill(self.items) + frozen).min(places.honest_fill(self.inserted));
        Stats {
            items: self.items,
            bits: self.cells.bits(),
            hashes: places.hashes(),
            fill: Some(share(&|cell| cell != 0)),
            fpr: Some(self.rate_now(&tallies)),
            honest_fill: Some(honest),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let (cells, hashes) = (self.places.counters(), self.hashes());
        let false_positive = self.code.expected_rate(cells / u64::from(hashes), items, hashes);
        // Where the least count is read: the others have hit all of a key's cells.
        let over_count = partitioned::rate(cells, items.saturating_sub(1), hashes);
        Rates { false_positive: Some(false_positive), over_count: Some(over_count), ..Rates::default() }
    }

    /// State: items, insertions, 8 bytes each. Store: the cells.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        encoder.state().u64(self.inserted);
        encoder.counters(&self.cells);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let (code, places) = shape::<C>(decoder.config())?;
        let numbers = [decoder.state().u64()?, decoder.state().u64()?];
        let [items, inserted] = numbers;
        if items > inserted {
            return Err(Error::corrupt("items", format!("at most {inserted}, the insertions"), items));
        }
        let cells = decoder.counters(places.counters(), code.width())?;
        if decoder.reads_stores() && !cells.iter().all(|cell| code.is_cell(cell)) {
            return Err(Error::corrupt("a cell", "a content that keys leave behind", "another"));
        }
        Ok(Self::with_parts(decoder.config(), code, places, cells, numbers))
    }
}

impl<C: CellCode> Batched for CellFilter<C> {
    const NEAR: u64 = NEAR_BITS;

    #[inline]
    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    #[inline]
    fn bits_ahead(&self) -> u64 {
        self.cells.bits()
    }

    #[inline]
    fn ask(&self, digest: Digest) {
        let (words, width) = (self.cells.words(), u64::from(self.code.width()));
        self.places.of(digest).for_each(|place| prefetch(words, (place * width / 64) as usize));
    }
}

impl<C: CellCode> Contains for CellFilter<C> {
    fn contains(&self, key: &[u8]) -> bool {
        CellFilter::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        answer_each(self, keys, answers, |digest| self.contains_digest(digest));
    }
}

impl<C: CellCode> Insert for CellFilter<C> {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Ok(CellFilter::insert(self, item.bare()?))
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        insert_items(self, |filter| filter, items, |filter, _, digest| Ok(filter.insert_digest(digest)))
    }
}

impl<C: CellCode> Remove for CellFilter<C> {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        CellFilter::remove(self, item.bare()?)
    }
}

impl<C: CellCode> Merge for CellFilter<C> {
    fn merge(&mut self, other: &Self) -> Result<()> {
        CellFilter::merge(self, other)
    }
}

#[cfg(test)]
pub(crate) mod testing {
    /// The share of absent keys among `queries` that seem present.
    pub(crate) fn measured_rate(contains: impl Fn(&u64) -> bool, queries: u64) -> f64 {
        let absent = 1 << 40;
        (absent..absent + queries).filter(contains).count() as f64 / queries as f64
    }

    /// The luck of the queries, and that of the cells: a share q of m cells that pass scatters by at most sqrt(q
    /// (1-q) / m).
    pub(crate) fn sigma(rate: f64, hashes: u32, cells: u64, queries: u64) -> f64 {
        let pass = rate.powf(1.0 / f64::from(hashes));
        let of_cells = f64::from(hashes) * rate / pass * (pass * (1.0 - pass) / cells as f64).sqrt();
        f64::hypot((rate * (1.0 - rate) / queries as f64).sqrt(), of_cells)
    }
}
