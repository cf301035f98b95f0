#![doc = include_str!("filter_bank.md")]

use super::codes;
use super::{Policy, Resolution};
use crate::capability::{Classify, Contains, Insert, Intersect, Item, Merge, Multiplicity, Remove};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, Positions, Scheme};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{Config, Kind, Setting, kind};
use crate::store::{BitMatrix, BitStore, Counters};
use crate::theory::{Size, partitioned};

mod rates;
mod shape;
mod structure;

use shape::{COUNTER_BITS, Layout, Shape, size_for};

/// The registry's row.
pub const KIND: Kind = kind!(FilterBank);

/// The most sets of a sliced or coded bank.
pub const MAX_SETS: u64 = 1 << 16;

/// The most sets of a bank by rows: each is a store of its own in the frame.
pub const MAX_ROWS: u64 = 4096;

#[derive(Clone, Debug, PartialEq)]
enum Cells {
    Bits(BitMatrix),
    Counters(Vec<Counters>),
}

/// What went into one set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    /// Insertions less removals.
    items: u64,
    /// Insertions: what bounds the fill, since a counter at its end is never taken down.
    inserted: u64,
}

/// What the bank was made for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Design {
    items: Option<u64>,
    fpr: Option<f64>,
    spurious: Option<f64>,
}

/// One filter per set, all asked at once.
///
/// Sets are numbered from 0. A key may be in several; an item is a key with its set.
///
/// ```
/// use bouquet::sets::filter_bank::FilterBank;
/// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
/// bank.insert("rose", 0)?;
/// bank.insert("rose", 2)?;
/// assert_eq!(bank.classify("rose"), [0, 2]);
/// assert!(bank.classify("thistle").is_empty());
/// assert!(bank.insert("rose", 3).is_err(), "there is no set 3");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FilterBank {
    shape: Shape,
    hashing: Hashing,
    cells: Cells,
    tallies: Vec<Tally>,
    design: Design,
}

impl FilterBank {
    /// A sliced bank for `items` memberships, spread evenly over `sets` sets, in which each set reports an absent key
    /// with probability `fpr`.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// assert_eq!(FilterBank::with_rate(64, 128_000, 0.01)?.hashes(), 7);
    /// assert!(FilterBank::with_rate(0, 1_000, 0.01).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(sets: u64, items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("sets", Setting::Count(sets))?;
        Self::from_config(&config.with("items", Setting::Count(items))?.with("fpr", Setting::Real(fpr))?)
    }

    /// A sliced bank of `sets` filters of `bits` bits (rounded up to a multiple of `hashes`) and `hashes` positions.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// assert_eq!(FilterBank::with_size(64, 1_000, 7)?.bits_of(0), 1_001);
    /// assert!(FilterBank::with_size(64, 0, 7).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(sets: u64, bits: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("sets", Setting::Count(sets))?;
        let config = config.with("bits", Setting::Count(bits))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// A bank by rows whose set i is made for `items[i]` keys, all at the rate `fpr`. Its sizes are in its frames, but
    /// no settings describe them: [`config`](crate::kind::Structure::config) gives those of an even bank of the largest size.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let bank = FilterBank::with_sizes(&[10, 1_000], 0.01)?;
    /// assert!(bank.bits_of(0) < 110 && bank.bits_of(1) > 9_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_sizes(items: &[u64], fpr: f64) -> Result<Self> {
        let total = items.iter().fold(0u64, |sum, &n| sum.saturating_add(n)).max(1);
        let largest = items.iter().copied().max().unwrap_or(0).max(1);
        let Size { hashes, .. } = partitioned::for_rate(largest, fpr)?;
        let sizes = items.iter().map(|&n| Ok(size_for(n.max(1), fpr, hashes)?.bits)).collect::<Result<Vec<_>>>()?;
        let config = Config::new(KIND.facts())
            .with("sets", Setting::Count(items.len() as u64))?
            .with("items", Setting::Count(total))?
            .with("fpr", Setting::Real(fpr))?
            .with("bits", Setting::Count(sizes.iter().copied().max().unwrap_or(0)))?
            .with("hashes", Setting::Count(hashes.into()))?
            .with("layout", Setting::Choice(Layout::Rows.name()))?;
        let shape = Shape::plan(&config)?;
        let rows = sizes.iter().map(|&bits| BitStore::zeroed(bits)).collect::<Result<Vec<_>>>()?;
        let tallies = vec![Tally::default(); rows.len()];
        Ok(Self::with_parts(&config, shape, Cells::Bits(BitMatrix::from_rows(rows)), tallies))
    }

    /// An empty bank of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{kind::Config, sets::filter_bank::{FilterBank, KIND}};
    /// let config = Config::new(KIND.facts()).set("layout", "coded")?.set("sets", "1000")?.set("items", "5000")?;
    /// let mut bank = FilterBank::from_config(&config)?;
    /// bank.insert("rose", 999)?;
    /// assert!(bank.contains_in("rose", 999));
    /// assert!(FilterBank::from_config(&config.set("cells", "counters")?).is_err(), "codes cannot be counted");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = Shape::plan(config)?;
        let cells = if shape.counters {
            let rows = (0..shape.sets).map(|_| Counters::zeroed(shape.bits, COUNTER_BITS));
            Cells::Counters(rows.collect::<Result<Vec<_>>>()?)
        } else {
            Cells::Bits(BitMatrix::zeroed(shape.filters(), shape.bits, shape.orientation())?)
        };
        let tallies = vec![Tally::default(); shape.sets as usize];
        Ok(Self::with_parts(config, shape, cells, tallies))
    }

    fn with_parts(config: &Config, shape: Shape, cells: Cells, tallies: Vec<Tally>) -> Self {
        let given = |name| config.is_set(name).then(|| config.real(name)).flatten();
        let design = Design { items: config.count("items"), fpr: given("fpr"), spurious: given("spurious") };
        // The number of sets may change, so it is no part of the domain.
        let domain = format!("{} {} {}", KIND.facts().id, shape.bits, shape.hashes);
        FilterBank { hashing: config.hashing().clone().bind(&domain), shape, cells, tallies, design }
    }

    /// The number of sets.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.01)?;
    /// bank.remove_set(1)?;
    /// assert_eq!(bank.sets(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn sets(&self) -> u64 {
        self.shape.sets
    }

    /// Positions per key.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// assert_eq!(FilterBank::with_size(3, 1_000, 5)?.hashes(), 5);
    /// assert_eq!(FilterBank::with_rate(3, 1_000, 0.001)?.hashes(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.shape.hashes
    }

    /// The bits or counters of a set's filter (of one filter of a coded bank); 0 for a set that is not there.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let bank = FilterBank::with_sizes(&[100, 200], 0.01)?;
    /// assert!(bank.bits_of(0) < bank.bits_of(1));
    /// assert_eq!(bank.bits_of(2), 0, "there is no set 2");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits_of(&self, set: u64) -> u64 {
        if set < self.sets() { self.filter_bits(if self.shape.is_coded() { 0 } else { set }) } else { 0 }
    }

    fn filter_bits(&self, filter: u64) -> u64 {
        match &self.cells {
            Cells::Bits(matrix) => matrix.positions(filter),
            Cells::Counters(rows) => rows.get(filter as usize).map_or(0, Counters::len),
        }
    }

    /// Insertions into a set less removals, duplicates included; 0 for a set that is not there.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.01)?;
    /// for (key, set) in [("rose", 1), ("lily", 1), ("rose", 2)] {
    ///     bank.insert(key, set)?;
    /// }
    /// assert_eq!([0, 1, 2, 3].map(|set| bank.items_of(set)), [0, 2, 1, 0]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items_of(&self, set: u64) -> u64 {
        usize::try_from(set).ok().and_then(|set| self.tallies.get(set)).map_or(0, |tally| tally.items)
    }

    fn check_set(&self, set: u64) -> Result<usize> {
        if set < self.sets() {
            return Ok(set as usize);
        }
        let most = self.sets() - 1;
        let expected = format!("a set from 0 to {most} (give more `sets`)");
        Err(Error::Item { expected, found: format!("set {set}") })
    }

    /// The k positions of a key in a filter of this size.
    #[inline]
    fn positions(&self, digest: Digest, bits: u64) -> Positions {
        let hashes = self.shape.hashes;
        Scheme::SLICES.sliced(digest, bits / u64::from(hashes), hashes)
    }

    /// Inserts a key into a set and says whether it was certainly new there.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// assert!(bank.insert("rose", 0)?);
    /// assert!(!bank.insert("rose", 0)?, "it was there");
    /// assert!(bank.insert("rose", 1)?, "but not in set 1");
    /// assert!(bank.insert("rose", 3).is_err(), "and there is no set 3");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, set: u64) -> Result<bool> {
        let index = self.check_set(set)?;
        let digest = key.digest(&self.hashing);
        let at = self.positions(digest, self.bits_of(set));
        let mut fresh = false;
        match &mut self.cells {
            Cells::Bits(matrix) if self.shape.is_coded() => {
                let code = codes::code(set);
                for filter in (0..64).filter(|&bit| code >> bit & 1 == 1) {
                    at.iter().for_each(|&position| fresh |= matrix.set(filter, position));
                }
            }
            Cells::Bits(matrix) => at.iter().for_each(|&position| fresh |= matrix.set(set, position)),
            Cells::Counters(rows) => {
                let row = &mut rows[index];
                for &position in at.iter() {
                    let count = row.get(position);
                    fresh |= count == 0;
                    row.set(position, count + 1);
                }
            }
        }
        let tally = &mut self.tallies[index];
        tally.items = tally.items.saturating_add(1);
        tally.inserted = tally.inserted.saturating_add(1);
        Ok(fresh)
    }

    /// Visits the filters that accept the digest, ascending, until `visit` answers false.
    #[inline]
    fn for_each_filter(&self, digest: Digest, mut visit: impl FnMut(u64) -> bool) {
        match &self.cells {
            Cells::Bits(matrix) => matrix.for_each_holder(|bits| self.positions(digest, bits), visit),
            Cells::Counters(rows) => {
                let at = self.positions(digest, self.shape.bits);
                for (set, row) in (0..).zip(rows) {
                    if at.iter().all(|&position| row.get(position) != 0) && !visit(set) {
                        return;
                    }
                }
            }
        }
    }

    /// Whether the key may be in any set; `false` is certain.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// bank.insert("rose", 2)?;
    /// assert!(bank.contains("rose") && !bank.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        let mut found = false;
        self.for_each_filter(digest, |_| {
            found = true;
            false
        });
        found
    }

    /// Whether the key may be in this set; `false` is certain.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// bank.insert("rose", 2)?;
    /// assert_eq!([0, 1, 2, 3].map(|set| bank.contains_in("rose", set)), [false, false, true, false]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains_in<K: Key + ?Sized>(&self, key: &K, set: u64) -> bool {
        if set >= self.sets() {
            return false;
        }
        let digest = key.digest(&self.hashing);
        let at = self.positions(digest, self.bits_of(set));
        match &self.cells {
            Cells::Bits(_) if self.shape.is_coded() => codes::code(set) & !self.read_code(digest) == 0,
            Cells::Bits(matrix) => at.iter().all(|&position| matrix.get(set, position)),
            Cells::Counters(rows) => at.iter().all(|&position| rows[set as usize].get(position) != 0),
        }
    }

    /// The numbers of the sets that may hold the key, ascending; every set that holds it is among them.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut bank = FilterBank::with_rate(100, 10_000, 0.0001)?;
    /// for set in [77, 3] {
    ///     bank.insert("rose", set)?;
    /// }
    /// assert_eq!(bank.classify("rose"), [3, 77]);
    /// assert!(bank.classify("thistle").is_empty());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn classify<K: Key + ?Sized>(&self, key: &K) -> Vec<u64> {
        let digest = key.digest(&self.hashing);
        if self.shape.is_coded() {
            return codes::candidates(self.read_code(digest), self.sets()).collect();
        }
        let mut sets = Vec::new();
        self.for_each_filter(digest, |set| {
            sets.push(set);
            true
        });
        sets
    }

    /// The sets that may hold the key, reduced to an answer by a policy.
    ///
    /// ```
    /// use bouquet::sets::{Policy, Resolution, filter_bank::FilterBank};
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// bank.insert("rose", 0)?;
    /// bank.insert("rose", 2)?;
    /// assert_eq!(bank.resolve("rose", Policy::HighestId), Resolution::Set(2));
    /// assert_eq!(bank.resolve("rose", Policy::ExactlyOneElseMiss), Resolution::Ambiguous(vec![0, 2]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn resolve<K: Key + ?Sized>(&self, key: &K, policy: Policy<'_>) -> Resolution {
        policy.resolve(self.classify(key))
    }

    fn read_code(&self, digest: Digest) -> u64 {
        let mut code = 0;
        self.for_each_filter(digest, |filter| {
            code |= 1 << filter;
            true
        });
        code
    }

    /// Of a coded bank, the set whose code was read: the right one if no filter errs, another one, without notice, if one
    /// does. `None` for a key that is in no set, for a code that no set has, and for a bank that is not coded.
    ///
    /// ```
    /// use bouquet::{kind::Config, sets::filter_bank::{FilterBank, KIND}};
    /// let config = Config::new(KIND.facts()).set("layout", "coded")?.set("sets", "100")?.set("items", "1000")?;
    /// let mut bank = FilterBank::from_config(&config)?;
    /// bank.insert("rose", 77)?;
    /// assert_eq!(bank.coded_set("rose"), Some(77));
    /// assert_eq!(bank.coded_set("thistle"), None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn coded_set<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        if !self.shape.is_coded() {
            return None;
        }
        let code = self.read_code(key.digest(&self.hashing));
        code.checked_sub(1).filter(|&set| set < self.sets())
    }

    fn no_counters(&self, verb: &str) -> Error {
        Error::Unsupported {
            kind: KIND.facts().id.into(),
            verb: verb.into(),
            able: "filter-bank with cells=counters".into(),
        }
    }

    /// Takes one occurrence of a key out of a set. Needs counters. A counter at its end stays there.
    ///
    /// ```
    /// use bouquet::{kind::Config, sets::filter_bank::{FilterBank, KIND}};
    /// let config = Config::new(KIND.facts()).set("cells", "counters")?.set("items", "1000")?;
    /// let mut bank = FilterBank::from_config(&config)?;
    /// bank.insert("rose", 1)?;
    /// bank.remove("rose", 1)?;
    /// assert!(!bank.contains("rose"));
    /// assert!(bank.remove("rose", 1).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, set: u64) -> Result<()> {
        let index = self.check_set(set)?;
        let at = self.positions(key.digest(&self.hashing), self.bits_of(set));
        let unable = self.no_counters("remove");
        let Cells::Counters(rows) = &mut self.cells else { return Err(unable) };
        let row = &mut rows[index];
        if at.iter().any(|&position| row.get(position) == 0) {
            return Err(Error::NotPresent);
        }
        for &position in at.iter() {
            let count = row.get(position);
            if count < row.max() {
                row.set(position, count - 1);
            }
        }
        let tally = &mut self.tallies[index];
        tally.items = tally.items.saturating_sub(1);
        Ok(())
    }

    /// How often a key is in a set. Needs counters. Never too small.
    ///
    /// ```
    /// use bouquet::{kind::Config, sets::filter_bank::{FilterBank, KIND}};
    /// let config = Config::new(KIND.facts()).set("cells", "counters")?.set("items", "1000")?;
    /// let mut bank = FilterBank::from_config(&config)?;
    /// bank.insert("rose", 1)?;
    /// bank.insert("rose", 1)?;
    /// assert_eq!((bank.count("rose", 1)?.count, bank.count("rose", 0)?.count), (2, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn count<K: Key + ?Sized>(&self, key: &K, set: u64) -> Result<Multiplicity> {
        let index = self.check_set(set)?;
        let Cells::Counters(rows) = &self.cells else { return Err(self.no_counters("count")) };
        let at = self.positions(key.digest(&self.hashing), self.bits_of(set));
        let count = at.iter().map(|&position| rows[index].get(position)).min().unwrap_or(0);
        Ok(Multiplicity { count, at_least: count == rows[index].max() })
    }

    /// Adds an empty set behind the others and gives its number. By rows this costs the bits of one set (the largest, where
    /// they differ); sliced it is one pass over the rows, and a new store when no column is spare.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// assert_eq!(bank.add_set()?, 3);
    /// assert!(bank.insert("rose", 3)?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn add_set(&mut self) -> Result<u64> {
        let most = if self.shape.layout == Layout::Rows { MAX_ROWS } else { MAX_SETS };
        if self.sets() >= most {
            return Err(Error::parameter("sets", format!("at most {most}"), self.sets() + 1));
        }
        let wider = Shape { sets: self.sets() + 1, ..self.shape };
        wider.store_bits()?;
        match &mut self.cells {
            Cells::Bits(matrix) if matrix.sets() < wider.filters() => matrix.add_set(wider.bits)?,
            Cells::Bits(_) => {}
            Cells::Counters(rows) => rows.push(Counters::zeroed(wider.bits, COUNTER_BITS)?),
        }
        self.tallies.push(Tally::default());
        self.shape = wider;
        Ok(wider.sets - 1)
    }

    /// Takes a set out; the sets behind it move up by one. The last set stays, and so do all of a coded bank, whose keys
    /// cannot be told apart.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// bank.insert("rose", 2)?;
    /// bank.remove_set(0)?;
    /// assert_eq!(bank.classify("rose"), [1]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_set(&mut self, set: u64) -> Result<()> {
        let index = self.check_separate(set, "remove a set")?;
        if self.sets() == 1 {
            return Err(Error::parameter("sets", "at least 1", 0));
        }
        match &mut self.cells {
            Cells::Bits(matrix) => matrix.remove_set(set)?,
            Cells::Counters(rows) => {
                rows.remove(index);
            }
        }
        self.tallies.remove(index);
        self.shape.sets -= 1;
        Ok(())
    }

    /// Empties a set, which keeps its number. Not for a coded bank, whose keys cannot be told apart.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// bank.insert("rose", 1)?;
    /// bank.clear_set(1)?;
    /// assert!(!bank.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear_set(&mut self, set: u64) -> Result<()> {
        let index = self.check_separate(set, "clear a set")?;
        match &mut self.cells {
            Cells::Bits(matrix) => matrix.clear_set(set),
            Cells::Counters(rows) => {
                let row = &mut rows[index];
                (0..row.len()).for_each(|position| row.set(position, 0));
            }
        }
        self.tallies[index] = Tally::default();
        Ok(())
    }

    fn check_separate(&self, set: u64, verb: &str) -> Result<usize> {
        if self.shape.is_coded() {
            let able = "filter-bank with layout=sliced or layout=rows".into();
            return Err(Error::Unsupported { kind: KIND.facts().id.into(), verb: verb.into(), able });
        }
        self.check_set(set)
    }

    /// Takes in what the same sets of `other` hold.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut here = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// let mut there = here.clone();
    /// here.insert("rose", 0)?;
    /// there.insert("rose", 2)?;
    /// here.merge(&there)?;
    /// assert_eq!(here.classify("rose"), [0, 2]);
    /// assert!(here.merge(&FilterBank::with_rate(4, 1_000, 0.001)?).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.comparable(other)?;
        match (&mut self.cells, &other.cells) {
            (Cells::Bits(mine), Cells::Bits(theirs)) => mine.or(theirs)?,
            (Cells::Counters(mine), Cells::Counters(theirs)) => {
                mine.iter_mut().zip(theirs).try_for_each(|(a, b)| a.combine(b, |a, b| a + b))?;
            }
            _ => unreachable!("compared above"),
        }
        self.combine_tallies(other, u64::saturating_add);
        Ok(())
    }

    /// Keeps of every set what the same set of `other` also holds.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut here = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// let mut there = here.clone();
    /// [0, 1].into_iter().try_for_each(|set| here.insert("rose", set).map(|_| ()))?;
    /// [1, 2].into_iter().try_for_each(|set| there.insert("rose", set).map(|_| ()))?;
    /// here.intersect(&there)?;
    /// assert_eq!(here.classify("rose"), [1]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn intersect(&mut self, other: &Self) -> Result<()> {
        self.comparable(other)?;
        match (&mut self.cells, &other.cells) {
            (Cells::Bits(mine), Cells::Bits(theirs)) => mine.and(theirs)?,
            (Cells::Counters(mine), Cells::Counters(theirs)) => {
                mine.iter_mut().zip(theirs).try_for_each(|(a, b)| a.combine(b, u64::min))?;
            }
            _ => unreachable!("compared above"),
        }
        self.combine_tallies(other, u64::min);
        Ok(())
    }

    fn comparable(&self, other: &Self) -> Result<()> {
        let (mine, theirs) = (&self.shape, &other.shape);
        same("sets", mine.sets, theirs.sets)?;
        same("hashes", mine.hashes, theirs.hashes)?;
        same("layout", mine.layout.name(), theirs.layout.name())?;
        same("cells", mine.counters, theirs.counters)?;
        (0..mine.filters()).try_for_each(|i| same("bits", self.filter_bits(i), other.filter_bits(i)))?;
        same("hashing", &self.hashing, &other.hashing)
    }

    fn combine_tallies(&mut self, other: &Self, op: fn(u64, u64) -> u64) {
        for (mine, theirs) in self.tallies.iter_mut().zip(&other.tallies) {
            mine.items = op(mine.items, theirs.items);
            mine.inserted = op(mine.inserted, theirs.inserted);
        }
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::sets::filter_bank::FilterBank;
    /// let mut bank = FilterBank::with_sizes(&[10, 1_000], 0.01)?;
    /// bank.insert("rose", 1)?;
    /// assert_eq!(FilterBank::from_bytes(&bank.to_bytes())?, bank);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::{Bloom, FilterBank};
    /// let bank = FilterBank::with_rate(3, 1_000, 0.01)?;
    /// assert_eq!(FilterBank::from_bytes(&bank.to_bytes())?.sets(), 3);
    /// assert!(FilterBank::from_bytes(&Bloom::with_rate(1_000, 0.01)?.to_bytes()).is_err(), "another kind");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

impl Contains for FilterBank {
    fn contains(&self, key: &[u8]) -> bool {
        FilterBank::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            let digests = digest_batch(&self.hashing, keys, |digest| {
                if let Cells::Bits(matrix) = &self.cells {
                    self.positions(digest, self.shape.bits).iter().for_each(|&position| matrix.prefetch(position));
                }
            });
            for (answer, digest) in answers.iter_mut().zip(digests).take(keys.len()) {
                *answer = self.contains_digest(digest);
            }
        }
    }
}

impl Insert for FilterBank {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        FilterBank::insert(self, item.key, item.group()?)
    }
}

impl Remove for FilterBank {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        FilterBank::remove(self, item.key, item.group()?)
    }
}

impl Classify for FilterBank {
    fn classify(&self, key: &[u8]) -> Vec<u64> {
        FilterBank::classify(self, key)
    }
}

impl Merge for FilterBank {
    fn merge(&mut self, other: &Self) -> Result<()> {
        FilterBank::merge(self, other)
    }
}

impl Intersect for FilterBank {
    fn intersect(&mut self, other: &Self) -> Result<()> {
        FilterBank::intersect(self, other)
    }
}

#[cfg(test)]
mod tests;
