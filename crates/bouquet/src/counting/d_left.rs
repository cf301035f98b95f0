#![doc = include_str!("d_left.md")]

use crate::capability::{Contains, Count, Insert, Item, Multiplicity, NoteType, Remove};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, SplitMix, fastrange};
use crate::key::{Batched, Key, NEAR_BITS, answer_each, insert_each, insert_items};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::store::buckets::{Buckets, Shape};
use crate::store::{Words, field_max};
use crate::theory::fingerprints;

/// The registry's row.
pub const KIND: Kind = kind!(DLeft);

const MAX_SUBTABLES: usize = 8;

const BUCKETS: Parameter = Parameter {
    name: "buckets",
    help: "buckets of a subtable, instead of a number of items",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

const SUBTABLES: Parameter = Parameter {
    name: "subtables",
    help: "subtables, each with one bucket for a key",
    of: ParameterType::Count { min: 1, max: MAX_SUBTABLES as u64, default: Some(4) },
};

const SLOTS: Parameter = Parameter {
    name: "slots",
    help: "cells per bucket, three quarters of which are planned to be used",
    of: ParameterType::Count { min: 1, max: 8, default: Some(8) },
};

const REMAINDER: Parameter = Parameter {
    name: "remainder",
    help: "bits of a remainder, instead of a rate",
    of: ParameterType::Count { min: 1, max: 48, default: None },
};

const WIDTH: Parameter = Parameter {
    name: "width",
    help: "bits of a cell's counter; it stays for ever at its largest value",
    of: ParameterType::Count { min: 2, max: 16, default: Some(2) },
};

const STASH: Parameter = Parameter {
    name: "stash",
    help: "fingerprints that are kept beside the table when their buckets are full",
    of: ParameterType::Count { min: 0, max: 4096, default: Some(64) },
};

/// The words of a stashed entry.
const STASH_WORDS: usize = 2;

/// One of the bijections: a bucket and a remainder for every fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Permutation {
    factor: u64,
    summand: u64,
}

/// What the settings say about the table.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Design {
    buckets: u64,
    subtables: usize,
    remainder: u32,
    width: u32,
    stash: usize,
    shape: Shape,
    /// N, the number of fingerprints.
    fingerprints: u64,
}

impl Design {
    fn of(config: &Config) -> Result<Self> {
        let [subtables, slots, width, stash] = ["subtables", "slots", "width", "stash"].map(|name| config.need(name));
        let (subtables, slots, width, stash) = (subtables?, slots? as u32, width? as u32, stash? as usize);
        let load = fingerprints::d_left_load(slots);
        let buckets = match (config.count("buckets"), config.count("items")) {
            (Some(buckets), _) => buckets,
            (None, Some(items)) => ((items as f64 / (subtables as f64 * load)).ceil() as u64).max(1),
            (None, None) => {
                return Err(Error::parameter("items", common::ITEMS.range(), "missing (or give `buckets`)"));
            }
        };
        let fpr = config.real("fpr").unwrap_or(0.01);
        let planned = fingerprints::d_left_remainder_bits(fpr, subtables as u32, load);
        let remainder = config.count("remainder").map_or(planned, |bits| bits as u32);
        if remainder > 48 {
            return Err(Error::parameter("fpr", "at least 1e-13, which 48 bits reach", fpr));
        }
        // Sums of two numbers below N must fit in a word.
        let fingerprints = buckets.checked_mul(1 << remainder).filter(|&n| n <= 1 << 62).ok_or_else(|| {
            Error::TooLarge { what: "the table".into(), bytes: u128::from(buckets) * u128::from(subtables) }
        })?;
        let shape = Shape::new(slots, remainder + width, remainder, false)?;
        let design = Design { buckets, subtables: subtables as usize, remainder, width, stash, shape, fingerprints };
        design.all_buckets().and_then(|all| shape.bits(all)).map(|_| design)
    }

    fn all_buckets(&self) -> Result<u64> {
        self.buckets.checked_mul(self.subtables as u64).ok_or_else(|| Error::TooLarge {
            what: "the table".into(),
            bytes: u128::from(self.buckets) * self.subtables as u128,
        })
    }

    fn bits(&self) -> Result<u64> {
        self.shape.bits(self.all_buckets()?)
    }

    /// The bijections, the same for every filter of this shape: a factor is a number below 2^32 and N without a divisor
    /// in common with N.
    fn permutations(&self) -> [Permutation; MAX_SUBTABLES] {
        let mut random = SplitMix::new(0x6C65_6674);
        let mut permutations = [Permutation::default(); MAX_SUBTABLES];
        for permutation in &mut permutations {
            let mut factor = 1 + random.below(self.fingerprints.min(1 << 32) - 1);
            // There always is one: 1.
            while common_divisor(factor, self.fingerprints) != 1 {
                factor -= 1;
            }
            *permutation = Permutation { factor, summand: random.below(self.fingerprints) };
        }
        permutations
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A d-left counting Bloom filter.
///
/// ```
/// use bouquet::counting::d_left::DLeft;
/// let mut filter = DLeft::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// filter.insert("rose")?;
/// assert_eq!(filter.count("rose").count, 2);
/// filter.remove("rose")?;
/// filter.remove("rose")?;
/// assert!(!filter.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DLeft {
    table: Buckets,
    design: Design,
    permutations: [Permutation; MAX_SUBTABLES],
    /// Fingerprints without a cell, with their counts.
    stash: Vec<(u64, u64)>,
    hashing: Hashing,
    /// Cells in use.
    used: u64,
    /// Insertions less removals.
    items: u64,
    /// Insertions, removed ones included.
    inserted: u64,
    /// The keys and the rate that it was made for.
    planned: (Option<u64>, Option<f64>),
}

/// A bucket and the remainder there, for each subtable.
type Places = [(u64, u64); MAX_SUBTABLES];

impl DLeft {
    /// A filter for `items` keys whose false-positive rate is then at most `fpr`: 4 subtables, buckets of 8 cells,
    /// counters of 2 bits.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// let filter = DLeft::with_rate(240_000, 0.01)?;
    /// assert_eq!((filter.cells(), filter.remainder_bits()), (320_000, 12));
    /// assert!(DLeft::with_rate(1_000, 0.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts());
        Self::from_config(&config.with("items", Setting::Count(items))?.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter of 4 subtables of so many buckets of 8 cells, for remainders of so many bits.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// assert_eq!(DLeft::with_size(100, 14)?.cells(), 3_200);
    /// assert!(DLeft::with_size(100, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(buckets: u64, remainder_bits: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("buckets", Setting::Count(buckets))?;
        Self::from_config(&config.with("remainder", Setting::Count(remainder_bits.into()))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind: the way to other tables, wider counters
    /// and keyed hashing.
    ///
    /// ```
    /// use bouquet::{counting::d_left::{DLeft, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("width", "8")?;
    /// let mut filter = DLeft::from_config(&config)?;
    /// for _ in 0..100 {
    ///     filter.insert("rose")?;
    /// }
    /// assert_eq!(filter.count("rose").count, 100);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let design = Design::of(config)?;
        Ok(Self::with_table(config, design, Buckets::zeroed(design.all_buckets()?, design.shape)?))
    }

    fn with_table(config: &Config, design: Design, table: Buckets) -> Self {
        let Design { buckets, subtables, remainder, shape, .. } = design;
        let domain = format!("d-left {subtables} {buckets} {} {remainder}", shape.slots());
        let hashing = config.hashing().clone().bind(&domain);
        let planned = (config.count("items"), config.is_set("fpr").then(|| config.real("fpr")).flatten());
        let permutations = design.permutations();
        let (used, items, inserted) = (0, 0, 0);
        DLeft { table, design, permutations, stash: Vec::new(), hashing, used, items, inserted, planned }
    }

    /// The number of cells.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// assert_eq!(DLeft::with_size(10, 14)?.cells(), 10 * 4 * 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.table.len() * u64::from(self.design.shape.slots())
    }

    /// Bits of a remainder.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// assert_eq!(DLeft::with_rate(1_000, 0.001)?.remainder_bits(), 15);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn remainder_bits(&self) -> u32 {
        self.design.remainder
    }

    /// Fingerprints that found no cell.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// let mut filter = DLeft::with_size(1, 14)?; // four buckets of eight cells
    /// for key in 0..40u64 {
    ///     filter.insert(&key)?;
    /// }
    /// assert_eq!(filter.stashed(), 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn stashed(&self) -> usize {
        self.stash.len()
    }

    /// Insertions less removals.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// let mut filter = DLeft::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "rose"])?;
    /// assert_eq!(filter.items(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Forgets every key.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// let mut filter = DLeft::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.clear();
    /// assert!(!filter.contains("rose") && filter.items() == 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear(&mut self) {
        self.table.clear();
        self.stash.clear();
        (self.used, self.items, self.inserted) = (0, 0, 0);
    }

    #[inline]
    fn fingerprint(&self, digest: Digest) -> u64 {
        fastrange(digest.h1, self.design.fingerprints)
    }

    /// The places of a digest. The quotient of a_i f by N is the high half of a_i h, or that less one: h / 2^64 is f / N and
    /// less than 1/N more, and a_i is below N. So no division is needed.
    #[inline]
    fn places(&self, digest: Digest) -> Places {
        let (n, f) = (self.design.fingerprints, self.fingerprint(digest));
        self.places_by(|factor| {
            let product = factor.wrapping_mul(f).wrapping_sub(fastrange(digest.h1, factor).wrapping_mul(n));
            // Below zero it has wrapped around, and N is far from there.
            if product >= n { product.wrapping_add(n) } else { product }
        })
    }

    /// The places of a fingerprint whose digest is not at hand.
    fn places_of(&self, fingerprint: u64) -> Places {
        let n = u128::from(self.design.fingerprints);
        self.places_by(|factor| (u128::from(factor) * u128::from(fingerprint) % n) as u64)
    }

    #[inline]
    fn places_by(&self, multiply: impl Fn(u64) -> u64) -> Places {
        let Design { buckets, subtables, remainder, fingerprints, .. } = self.design;
        let mut places = [(0, 0); MAX_SUBTABLES];
        let mut begin = 0;
        for (place, permutation) in places.iter_mut().zip(&self.permutations).take(subtables) {
            let sum = multiply(permutation.factor) + permutation.summand;
            let value = if sum >= fingerprints { sum - fingerprints } else { sum };
            *place = (begin + (value >> remainder), value & field_max(remainder));
            begin += buckets;
        }
        places
    }

    #[inline]
    fn used_places<'a>(&self, places: &'a Places) -> &'a [(u64, u64)] {
        &places[..self.design.subtables.min(MAX_SUBTABLES)]
    }

    /// The cell of the places, with its bucket.
    #[inline]
    fn cell(&self, places: &Places) -> Option<(u64, u64)> {
        let cells = self.used_places(places).iter();
        cells.map(|&(bucket, remainder)| Some((bucket, self.table.find(bucket, remainder)?))).find_map(|cell| cell)
    }

    #[inline]
    fn stash_index(&self, digest: Digest) -> Option<usize> {
        if self.stash.is_empty() {
            return None;
        }
        let fingerprint = self.fingerprint(digest);
        self.stash.iter().position(|&(stashed, _)| stashed == fingerprint)
    }

    /// The largest count, which is final.
    #[inline]
    fn frozen(&self) -> u64 {
        field_max(self.design.width)
    }

    /// Inserts a key once more and says whether it was certainly new. [`Error::Full`] when there is no cell for it and the
    /// stash is full; nothing has changed then.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// let mut filter = DLeft::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose")?);
    /// assert!(!filter.insert("rose")?, "not new, but counted");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.insert_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) -> Result<bool> {
        let places = self.places(digest);
        // A fingerprint that has a cell must be counted there and nowhere else.
        let fresh = if let Some((bucket, entry)) = self.cell(&places) {
            if entry >> self.design.remainder < self.frozen() {
                self.table.replace(bucket, entry, entry + (1 << self.design.remainder));
            }
            false
        } else if let Some(index) = self.stash_index(digest) {
            self.stash[index].1 = (self.stash[index].1 + 1).min(self.frozen());
            false
        } else {
            if !self.place(&places, 1) {
                self.put_aside(self.fingerprint(digest))?;
            }
            true
        };
        self.items = self.items.saturating_add(1);
        self.inserted = self.inserted.saturating_add(1);
        Ok(fresh)
    }

    /// Gives a fingerprint a cell in the bucket with most empty ones, the leftmost of equal ones, unless all are full.
    #[inline]
    fn place(&mut self, places: &Places, count: u64) -> bool {
        let (mut most, mut best) = (0, (0, 0));
        for &(bucket, remainder) in self.used_places(places) {
            let free = self.table.free(bucket);
            if free > most {
                (most, best) = (free, (bucket, remainder));
            }
        }
        let (bucket, remainder) = best;
        let placed = most > 0 && self.table.replace(bucket, 0, remainder | count << self.design.remainder);
        self.used = self.used.saturating_add(u64::from(placed));
        placed
    }

    #[cold]
    fn put_aside(&mut self, fingerprint: u64) -> Result<()> {
        if self.stash.len() >= self.design.stash {
            return Err(Error::Full {
                what: format!("{} of {} cells are in use, and so is the stash", self.used, self.cells()),
                remedy: "make it for more `items`, with more `buckets` or a larger `stash`".into(),
            });
        }
        self.stash.push((fingerprint, 1));
        Ok(())
    }

    /// Inserts many keys and says how many were certainly new. An error stops at the key that caused it.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// let mut filter = DLeft::with_rate(1_000, 0.01)?;
    /// assert_eq!(filter.insert_batch(&["rose", "lily", "rose"])?, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<u64> {
        insert_each(self, |filter| filter, keys, |filter, _, digest| filter.insert_digest(digest))
    }

    /// Whether the key may be in the set. `false` is certain, unless keys were removed that were never inserted.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// let mut filter = DLeft::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        let places = self.places(digest);
        self.used_places(&places).iter().any(|&(bucket, remainder)| self.table.contains(bucket, remainder))
            || self.stash_index(digest).is_some()
    }

    /// The answers for many keys, `answers[i]` for `keys[i]`; the longer slice's rest is left alone.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// let mut filter = DLeft::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// let mut answers = [false; 2];
    /// filter.contains_batch(&["rose", "thistle"], &mut answers);
    /// assert_eq!(answers, [true, false]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn contains_batch<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        answer_each(self, keys, answers, |digest| self.contains_digest(digest));
    }

    /// Removes one copy of a key, or says [`Error::NotPresent`] and changes nothing when it is certainly absent. A counter
    /// at its largest value stays.
    ///
    /// **Remove only what was inserted.** An absent key that seems present cannot be told from a present one: removing
    /// it takes a count from another key, which may then seem absent.
    ///
    /// ```
    /// use bouquet::{Error, counting::d_left::DLeft};
    /// let mut filter = DLeft::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "lily"])?;
    /// filter.remove("rose")?;
    /// assert!(!filter.contains("rose") && filter.contains("lily"));
    /// assert!(matches!(filter.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = key.digest(&self.hashing);
        let places = self.places(digest);
        if let Some((bucket, entry)) = self.cell(&places) {
            let count = entry >> self.design.remainder;
            // In a mapped file that was tampered with, a cell may count nothing and `used` be anything.
            if count <= 1 {
                self.table.replace(bucket, entry, 0);
                self.used = self.used.saturating_sub(1);
                self.empty_stash();
            } else if count < self.frozen() {
                self.table.replace(bucket, entry, entry - (1 << self.design.remainder));
            }
        } else {
            let index = self.stash_index(digest).ok_or(Error::NotPresent)?;
            match self.stash[index].1 {
                1 => {
                    self.stash.remove(index);
                }
                count if count < self.frozen() => self.stash[index].1 -= 1,
                _ => {}
            }
        }
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// Gives cells to stashed fingerprints, now that one has become free.
    #[inline]
    fn empty_stash(&mut self) {
        if self.stash.is_empty() {
            return;
        }
        for index in (0..self.stash.len()).rev() {
            let (fingerprint, count) = self.stash[index];
            if self.place(&self.places_of(fingerprint), count) {
                self.stash.remove(index);
            }
        }
    }

    /// How often the key is in. That is the truth or, as rarely as a false positive, more; `at_least` when its counter has
    /// reached its largest value.
    ///
    /// ```
    /// use bouquet::{capability::Multiplicity, counting::d_left::DLeft};
    /// let mut filter = DLeft::with_rate(1_000, 0.01)?;
    /// (0..5).try_for_each(|_| filter.insert("rose").map(drop))?;
    /// assert_eq!(filter.count("rose"), Multiplicity { count: 3, at_least: true });
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let digest = key.digest(&self.hashing);
        let in_table = self.cell(&self.places(digest)).map(|(_, entry)| entry >> self.design.remainder);
        let count = in_table.or_else(|| Some(self.stash[self.stash_index(digest)?].1)).unwrap_or(0);
        Multiplicity { count, at_least: count == self.frozen() }
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// let mut filter = DLeft::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(DLeft::from_bytes(&filter.to_bytes())?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::d_left::DLeft;
    /// let mut filter = DLeft::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(DLeft::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

impl Structure for DLeft {
    const FACTS: Facts = Facts {
        id: "d-left",
        number: 52,
        aliases: &["dlCBF", "d-left-counting"],
        family: "counting",
        text: Text::new(include_str!("d_left.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, BUCKETS, SUBTABLES, SLOTS, REMAINDER, WIDTH, STASH],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let design = Design::of(config)?;
        let items = config.count("items");
        let rate = |items| fingerprints::collision_rate(design.fingerprints as f64, items);
        Ok(Plan { bits: design.bits()?, hashes: design.subtables as u32, items, fpr: items.map(rate) })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let Design { buckets, subtables, remainder, width, stash, shape, .. } = self.design;
        let mut config = Config::new(const { &Self::FACTS }).hashed(self.hashing.clone());
        if let Some(items) = self.planned.0 {
            config = config.put("items", Setting::Count(items));
        }
        if let Some(fpr) = self.planned.1 {
            config = config.put("fpr", Setting::Real(fpr));
        }
        config
            .put("buckets", Setting::Count(buckets))
            .put("subtables", Setting::Count(subtables as u64))
            .put("slots", Setting::Count(shape.slots().into()))
            .put("remainder", Setting::Count(remainder.into()))
            .put("width", Setting::Count(width.into()))
            .put("stash", Setting::Count(stash as u64))
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let cells = self.cells() as f64;
        Stats {
            items: self.items,
            bits: self.table.bits().len() + (self.stash.len() * STASH_WORDS * 64) as u64,
            hashes: self.design.subtables as u32,
            // The number of cells in use is believed where a mapped table was not read.
            fill: Some((self.used as f64 / cells).min(1.0)),
            fpr: Some(((self.used as f64 + self.stash.len() as f64) / self.design.fingerprints as f64).min(1.0)),
            // A key takes one cell at most, and a frozen one stays when its keys are gone.
            honest_fill: Some(self.inserted as f64 / cells),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = |items| Some(fingerprints::collision_rate(self.design.fingerprints as f64, items));
        // Another key is counted with this one just when it would make it seem present.
        Rates { false_positive: rate(items), over_count: rate(items.saturating_sub(1)), ..Rates::default() }
    }

    /// State: items, insertions, cells in use, 8 bytes each; entries of the stash, 4 bytes. Stores: the buckets, subtable
    /// after subtable; the stash, two words per entry: fingerprint and count.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        for number in [self.items, self.inserted, self.used] {
            encoder.state().u64(number);
        }
        encoder.state().u32(self.stash.len() as u32);
        encoder.bits(self.table.bits());
        let words: Vec<u64> = self.stash.iter().flat_map(|&(fingerprint, count)| [fingerprint, count]).collect();
        encoder.copied(|encoder| encoder.words(&words));
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let design = Design::of(decoder.config())?;
        let state = decoder.state();
        let ([items, inserted, used], stashed) = ([state.u64()?, state.u64()?, state.u64()?], state.u32()? as usize);
        if items > inserted {
            return Err(Error::corrupt("items", format!("at most {inserted}, the insertions"), items));
        }
        if stashed > design.stash {
            return Err(Error::corrupt("the stash", format!("at most {} entries", design.stash), stashed));
        }
        let table = Buckets::from_bits(decoder.bits(design.bits()?)?, design.all_buckets()?, design.shape)
            .ok_or_else(|| Error::corrupt("buckets", design.buckets, "another size"))?;
        let words: Words = decoder.words((stashed * STASH_WORDS) as u64)?;
        let mut filter = Self::with_table(decoder.config(), design, table);
        (filter.items, filter.inserted, filter.used) = (items, inserted, used);
        filter.stash = words.as_slice().as_chunks::<STASH_WORDS>().0.iter().map(|&[f, count]| (f, count)).collect();
        let fits = |&(f, count): &(u64, u64)| f < design.fingerprints && (1..=filter.frozen()).contains(&count);
        if !filter.stash.iter().all(fits) {
            return Err(Error::corrupt("the stash", "fingerprints and counts", "other numbers"));
        }
        // A mapped table is not read; whatever it holds, no operation can go wrong but in its answers and numbers.
        if !filter.table.bits().is_mapped() {
            let entries = || (0..filter.table.len()).flat_map(|bucket| filter.table.entries(bucket));
            let counted = entries().count() as u64;
            if counted != used || entries().any(|entry| entry >> design.remainder == 0) {
                return Err(Error::corrupt("cells in use", counted, used));
            }
        }
        Ok(filter)
    }
}

impl Batched for DLeft {
    const NEAR: u64 = NEAR_BITS;

    #[inline]
    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    #[inline]
    fn bits_ahead(&self) -> u64 {
        self.table.bits().len()
    }

    #[inline]
    fn ask(&self, digest: Digest) {
        let places = self.places(digest);
        self.used_places(&places).iter().for_each(|&(bucket, _)| self.table.prefetch(bucket));
    }
}

impl Contains for DLeft {
    fn contains(&self, key: &[u8]) -> bool {
        DLeft::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        DLeft::contains_batch(self, keys, answers);
    }
}

impl Insert for DLeft {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        DLeft::insert(self, item.bare()?)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        insert_items(self, |filter| filter, items, |filter, _, digest| filter.insert_digest(digest))
    }
}

impl Remove for DLeft {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        DLeft::remove(self, item.bare()?)
    }
}

impl Count for DLeft {
    fn count(&self, key: &[u8]) -> Multiplicity {
        DLeft::count(self, key)
    }
}

#[cfg(test)]
mod tests;
