#![doc = include_str!("count_min.md")]

use crate::capability::{Count, Frequent, Insert, Item, Merge, Multiplicity, NoteType, Remove, Top};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing};
use crate::key::{Key, insert_items};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::counter_array::{CounterArray, HashedArray, Placement};
use crate::parts::rows::{DELTA, EPS, ROWS, Rows};
use crate::parts::top_keys::TopKeys;
use crate::store::Counters;
use crate::theory::{Size, sketch};

/// The registry's row.
pub const KIND: Kind = kind!(CountMin);

const WIDTH: Parameter = Parameter {
    name: "width",
    help: "counters in a row, instead of eps",
    of: ParameterType::Count { min: 1, max: 1 << 48, default: None },
};

const COUNTER: Parameter = Parameter {
    name: "counter",
    help: "32 or 64 bits without sign, or 64 with: then more may be taken out than was put in, and counts are medians",
    of: ParameterType::Choice { options: &["u32", "u64", "i64"] },
};

const LEVELS: Parameter = Parameter {
    name: "levels",
    help: "bits of integer keys, for ranges, quantiles and frequent keys: a sketch for each bit",
    of: ParameterType::Count { min: 0, max: 64, default: Some(0) },
};

const TOP: Parameter = Parameter {
    name: "top",
    help: "keys with the largest counts that are kept by name",
    of: ParameterType::Count { min: 0, max: 1 << 20, default: Some(0) },
};

/// A count-min sketch.
///
/// ```
/// use bouquet::counting::count_min::CountMin;
/// let mut sketch = CountMin::with_error(0.001, 0.01)?;
/// sketch.add("rose", 5)?;
/// sketch.add("lily", 2)?;
/// sketch.add("rose", -1)?;
/// assert_eq!((sketch.count("rose").count, sketch.total()), (4, 6));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CountMin {
    /// Sketch j is that of the keys without their last j bits; the first that of the keys themselves.
    sketches: Vec<HashedArray<Counters, Rows>>,
    /// Bits of integer keys, each with a sketch; zero for keys of any sort, with one sketch.
    levels: u32,
    signed: bool,
    top: Option<TopKeys>,
    /// The sum of all amounts.
    total: i64,
    /// Whether a counter or the total has reached its end.
    saturated: bool,
    /// The settings, with the effective size.
    settings: Config,
}

/// What happens to a counter.
enum Change {
    Add(u64),
    Sub(u64),
}

impl CountMin {
    /// A sketch whose counts are too large by more than `eps` of all occurrences with probability at most `delta`.
    ///
    /// ```
    /// use bouquet::counting::count_min::CountMin;
    /// let sketch = CountMin::with_error(1e-4, 1e-3)?;
    /// assert_eq!((sketch.width(), sketch.rows()), (27_183, 7));
    /// assert!(CountMin::with_error(0.0, 0.1).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_error(eps: f64, delta: f64) -> Result<Self> {
        let config = Config::new(KIND.facts());
        Self::from_config(&config.with("eps", Setting::Real(eps))?.with("delta", Setting::Real(delta))?)
    }

    /// A sketch for `items` distinct keys, of which a share of at most `fpr` counts too much at all.
    ///
    /// ```
    /// use bouquet::counting::count_min::CountMin;
    /// let mut sketch = CountMin::with_rate(1_000, 0.01)?;
    /// (0..1_000u64).try_for_each(|key| sketch.add(&key, 1))?;
    /// assert!((0..1_000u64).filter(|key| sketch.count(key).count > 1).count() < 30);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts());
        Self::from_config(&config.with("items", Setting::Count(items))?.with("fpr", Setting::Real(fpr))?)
    }

    /// A sketch of `rows` rows of `width` counters of 32 bits.
    ///
    /// ```
    /// use bouquet::counting::count_min::CountMin;
    /// assert_eq!(CountMin::with_size(2_000, 4)?.rows(), 4);
    /// assert!(CountMin::with_size(0, 4).is_err() && CountMin::with_size(10, 65).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(width: u64, rows: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("width", Setting::Count(width))?;
        Self::from_config(&config.with("rows", Setting::Count(rows.into()))?)
    }

    /// An empty sketch of the settings in `config`, which must be for this kind: the way to other counters, levels, top
    /// keys, and keyed hashing.
    ///
    /// ```
    /// use bouquet::{counting::count_min::{CountMin, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("width", "1000")?.set("rows", "5")?.set("levels", "16")?;
    /// let mut sketch = CountMin::from_config(&config)?;
    /// for (key, amount) in [(7u64, 10), (300, 20), (40_000, 30)] {
    ///     sketch.add(&key, amount)?;
    /// }
    /// assert_eq!((sketch.range(0, 300)?, sketch.quantile(0.5)?), (30, 300));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        Shape::of(config)?.assemble(config, |shape| Counters::zeroed(shape.size.bits, shape.bits_per_counter()))
    }

    /// Counters in a row.
    ///
    /// ```
    /// assert_eq!(bouquet::counting::count_min::CountMin::with_size(2_000, 4)?.width(), 2_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn width(&self) -> u64 {
        self.keys().places.width()
    }

    /// Rows.
    ///
    /// ```
    /// assert_eq!(bouquet::counting::count_min::CountMin::with_error(0.01, 0.01)?.rows(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.keys().places.rows()
    }

    /// The sum of all amounts.
    ///
    /// ```
    /// let mut sketch = bouquet::counting::count_min::CountMin::with_size(2_000, 4)?;
    /// sketch.add("rose", 5)?;
    /// sketch.add("rose", -2)?;
    /// assert_eq!(sketch.total(), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn total(&self) -> i64 {
        self.total
    }

    /// Counters without a sign hold no less than nothing, and neither does their total, whatever a frame claims of it.
    fn least_total(&self) -> i64 {
        if self.signed { i64::MIN } else { 0 }
    }

    /// The sketch of the keys themselves.
    fn keys(&self) -> &HashedArray<Counters, Rows> {
        // There is always one: `Shape::assemble` makes it.
        &self.sketches[0]
    }

    /// Counts `amount` more (or, negative, fewer) occurrences of a key. Without signed counters no more can be taken than
    /// seems to be there: [`Error::NotPresent`], and nothing has changed. With levels a key must be an integer of their
    /// bits: [`Error::Item`].
    ///
    /// ```
    /// use bouquet::{Error, counting::count_min::CountMin};
    /// let mut sketch = CountMin::with_size(2_000, 4)?;
    /// sketch.add("rose", 3)?;
    /// assert!(matches!(sketch.add("rose", -4), Err(Error::NotPresent)));
    /// assert_eq!(sketch.count("rose").count, 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn add<K: Key + ?Sized>(&mut self, key: &K, amount: i64) -> Result<()> {
        key.with_bytes(|key| self.add_bytes(key, amount)).map(drop)
    }

    /// Says whether the key was certainly new.
    fn add_bytes(&mut self, key: &[u8], amount: i64) -> Result<bool> {
        let prefixes = if self.levels > 0 { Some(self.integer(key)?) } else { None };
        let digest = self.keys().hashing.digest(key);
        let size = amount.unsigned_abs();
        let change = if amount < 0 { Change::Sub(size) } else { Change::Add(size) };
        if let (Change::Sub(size), false) = (&change, self.signed) {
            let enough = |level: usize, digest| self.sketches[level].least(digest) >= *size;
            let above = prefixes
                .is_none_or(|key| (1..self.sketches.len()).all(|level| enough(level, self.prefix_digest(key, level))));
            if !above || !enough(0, digest) {
                return Err(Error::NotPresent);
            }
        }
        let fresh = self.change(0, digest, &change);
        if let Some(key) = prefixes {
            for level in 1..self.sketches.len() {
                self.change(level, self.prefix_digest(key, level), &change);
            }
        }
        let total = self.total.checked_add(amount);
        self.saturated |= total.is_none();
        self.total = total.unwrap_or(if amount < 0 { i64::MIN } else { i64::MAX }).max(self.least_total());
        if let Some(mut top) = self.top.take() {
            top.offer(key, self.count_digest(digest));
            self.top = Some(top);
        }
        Ok(fresh)
    }

    /// Changes the counters of a digest in one sketch and says whether one was zero in a sketch that has no negative ones.
    #[inline]
    fn change(&mut self, level: usize, digest: Digest, change: &Change) -> bool {
        let mut lost = false;
        let fresh = match (change, self.signed) {
            (Change::Add(amount), false) => {
                let (fresh, full) = self.sketches[level].add_to_all(digest, *amount);
                lost = full > 0;
                fresh
            }
            (Change::Sub(amount), false) => {
                self.sketches[level].sub_from_all(digest, *amount, u64::MAX);
                false
            }
            (change, true) => {
                let CounterArray { places, store } = &mut *self.sketches[level];
                // Two's complement in 64 bits.
                store.update_each(places.of(digest), |counter| {
                    let (value, sum) = (
                        counter as i64,
                        match change {
                            Change::Add(amount) => (counter as i64).checked_add_unsigned(*amount),
                            Change::Sub(amount) => (counter as i64).checked_sub_unsigned(*amount),
                        },
                    );
                    lost |= sum.is_none();
                    sum.unwrap_or(if value < 0 { i64::MIN } else { i64::MAX }) as u64
                });
                false
            }
        };
        self.saturated |= lost;
        fresh
    }

    /// The integer that a key of a sketch with levels is.
    fn integer(&self, key: &[u8]) -> Result<u64> {
        let levels = self.levels;
        let number = <[u8; 8]>::try_from(key).map(u64::from_le_bytes).ok();
        number.filter(|&number| number <= last_key(levels)).ok_or_else(|| Error::Item {
            expected: format!("an integer of {levels} bits (the setting `levels`) as key"),
            found: format!("`{}`", key.escape_ascii()),
        })
    }

    #[inline]
    fn prefix_digest(&self, key: u64, level: usize) -> Digest {
        (key >> level).digest(&self.keys().hashing)
    }

    /// The number of occurrences: the least counter of the key, never less than the truth. With signed counters the
    /// [`median`](Self::median), zero for a negative one.
    ///
    /// ```
    /// let mut sketch = bouquet::counting::count_min::CountMin::with_size(2_000, 4)?;
    /// sketch.add("rose", 70)?;
    /// assert_eq!((sketch.count("rose").count, sketch.count("lily").count), (70, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let count = self.count_digest(self.keys().digest(key));
        Multiplicity { count, at_least: self.saturated }
    }

    fn count_digest(&self, digest: Digest) -> u64 {
        self.count_in(0, digest)
    }

    fn count_in(&self, level: usize, digest: Digest) -> u64 {
        if self.signed {
            return self.median_in(level, digest).max(0) as u64;
        }
        self.sketches[level].least(digest)
    }

    /// The median of the key's counters: the answer for streams with negative counts. For an even number of rows the mean
    /// of the middle two.
    ///
    /// ```
    /// use bouquet::{counting::count_min::{CountMin, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("counter", "i64")?;
    /// let mut sketch = CountMin::from_config(&config)?;
    /// sketch.add("rose", -3)?;
    /// sketch.add("lily", 5)?;
    /// assert_eq!((sketch.median("rose"), sketch.median("lily")), (-3, 5));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn median<K: Key + ?Sized>(&self, key: &K) -> i64 {
        self.median_in(0, self.keys().digest(key))
    }

    fn median_in(&self, level: usize, digest: Digest) -> i64 {
        let CounterArray { places, store } = &*self.sketches[level];
        let mut values: Vec<i128> = Vec::with_capacity(self.rows() as usize);
        store.read_each(places.of(digest), |counter| values.push(self.signed_value(counter)));
        median(&mut values) as i64
    }

    /// A counter as the number that it is.
    fn signed_value(&self, counter: u64) -> i128 {
        if self.signed { i128::from(counter as i64) } else { i128::from(counter.min(i64::MAX as u64)) }
    }

    /// The sum over all keys of the product of their counts here and there: the size of a join. Never too small where
    /// nothing is negative, and too large by more than eps N M with probability at most delta. With signed counters the
    /// median of the rows.
    ///
    /// ```
    /// use bouquet::counting::count_min::CountMin;
    /// let (mut here, mut there) = (CountMin::with_size(2_000, 4)?, CountMin::with_size(2_000, 4)?);
    /// here.add("rose", 3)?;
    /// there.add("rose", 5)?;
    /// there.add("lily", 100)?;
    /// assert_eq!(here.inner_product(&there)?, 15);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn inner_product(&self, other: &Self) -> Result<i128> {
        self.comparable(other)?;
        let (mine, theirs, width) = (&self.keys().store, &other.keys().store, self.width());
        let product = |row: u64| {
            (row * width..(row + 1) * width).fold(0i128, |sum, i| {
                let (a, b) = (self.signed_value(mine.get(i)), other.signed_value(theirs.get(i)));
                sum.saturating_add(a.saturating_mul(b))
            })
        };
        let mut products: Vec<i128> = (0..self.rows().into()).map(product).collect();
        Ok(if self.signed { median(&mut products) } else { products.into_iter().min().unwrap_or(0) })
    }

    /// Adds the other's counters: the sketch of both streams, bit for bit. Width, rows, counters, levels and hashing must
    /// be equal.
    ///
    /// ```
    /// use bouquet::counting::count_min::CountMin;
    /// let (mut here, mut there) = (CountMin::with_size(2_000, 4)?, CountMin::with_size(2_000, 4)?);
    /// here.add("rose", 3)?;
    /// there.add("rose", 5)?;
    /// here.merge(&there)?;
    /// assert_eq!(here.count("rose").count, 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.comparable(other)?;
        let (signed, mut lost) = (self.signed, false);
        let max = self.keys().store.max();
        for (mine, theirs) in self.sketches.iter_mut().zip(&other.sketches) {
            let mut values = theirs.store.iter();
            mine.store.update_each(0..theirs.store.len(), |counter| {
                let more = values.next().unwrap_or(0);
                if signed {
                    let sum = (counter as i64).checked_add(more as i64);
                    lost |= sum.is_none();
                    return sum.unwrap_or(if (more as i64) < 0 { i64::MIN } else { i64::MAX }) as u64;
                }
                lost |= counter > max - more;
                counter.saturating_add(more)
            });
        }
        let total = self.total.checked_add(other.total);
        self.saturated |= other.saturated || lost || total.is_none();
        self.total = total.unwrap_or(if other.total < 0 { i64::MIN } else { i64::MAX });
        self.rank_again(other);
        Ok(())
    }

    /// Takes the other's counters away: the sketch of what this stream has more. Without signed counters the other must be
    /// part of this one: [`Error::NotPresent`], and nothing has changed.
    ///
    /// ```
    /// use bouquet::counting::count_min::CountMin;
    /// let (mut here, mut there) = (CountMin::with_size(2_000, 4)?, CountMin::with_size(2_000, 4)?);
    /// here.add("rose", 3)?;
    /// there.add("rose", 1)?;
    /// here.subtract(&there)?;
    /// assert_eq!(here.count("rose").count, 2);
    /// assert!(there.subtract(&here).is_err(), "one of them would be negative");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn subtract(&mut self, other: &Self) -> Result<()> {
        self.comparable(other)?;
        let signed = self.signed;
        let pairs = || self.sketches.iter().zip(&other.sketches);
        if !signed && pairs().any(|(mine, theirs)| mine.store.iter().zip(theirs.store.iter()).any(|(a, b)| a < b)) {
            return Err(Error::NotPresent);
        }
        let mut lost = false;
        for (mine, theirs) in self.sketches.iter_mut().zip(&other.sketches) {
            let mut values = theirs.store.iter();
            mine.store.update_each(0..theirs.store.len(), |counter| {
                let less = values.next().unwrap_or(0);
                if signed {
                    let rest = (counter as i64).checked_sub(less as i64);
                    lost |= rest.is_none();
                    return rest.unwrap_or(if (less as i64) < 0 { i64::MAX } else { i64::MIN }) as u64;
                }
                counter - less
            });
        }
        let total = self.total.checked_sub(other.total);
        self.saturated |= other.saturated || lost || total.is_none();
        self.total = total.unwrap_or(if other.total < 0 { i64::MAX } else { i64::MIN }).max(self.least_total());
        self.rank_again(other);
        Ok(())
    }

    fn comparable(&self, other: &Self) -> Result<()> {
        same("counter", self.settings.choice("counter"), other.settings.choice("counter"))?;
        same("levels", self.levels, other.levels)?;
        self.keys().comparable(other.keys())
    }

    /// The keys that either had at the top, by their counts now.
    fn rank_again(&mut self, other: &Self) {
        let Some(mine) = self.top.take() else { return };
        let mut top = TopKeys::new(self.settings.count("top").unwrap_or(0));
        let theirs = other.top.iter().flat_map(TopKeys::iter);
        for (key, _) in mine.iter().chain(theirs) {
            top.offer(key, self.count(key).count);
        }
        self.top = Some(top);
    }

    /// The keys with the largest counts, of those that came while they had them, and these counts; none without the
    /// setting `top`.
    ///
    /// ```
    /// use bouquet::{counting::count_min::{CountMin, KIND}, kind::Config};
    /// let mut sketch = CountMin::from_config(&Config::new(KIND.facts()).set("top", "2")?)?;
    /// for (key, amount) in [("rose", 5), ("lily", 2), ("iris", 9), ("lily", 1)] {
    ///     sketch.add(key, amount)?;
    /// }
    /// assert_eq!(sketch.top(), [(b"iris".to_vec(), 9), (b"rose".to_vec(), 5)]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn top(&self) -> Vec<(Vec<u8>, u64)> {
        self.top.iter().flat_map(TopKeys::iter).map(|(key, count)| (key.to_vec(), count)).collect()
    }

    fn need_levels(&self) -> Result<u32> {
        match self.levels {
            0 => Err(Error::parameter("levels", "the bits of the keys, for questions about ranges", 0)),
            levels => Ok(levels),
        }
    }

    /// The number of occurrences of the keys from `first` to `last`, both included, from at most two intervals of each
    /// level. Never too small where nothing is negative. An error without levels.
    ///
    /// ```
    /// use bouquet::{counting::count_min::{CountMin, KIND}, kind::Config};
    /// let mut sketch = CountMin::from_config(&Config::new(KIND.facts()).set("levels", "8")?)?;
    /// (0..=255u64).try_for_each(|key| sketch.add(&key, 1))?;
    /// assert_eq!((sketch.range(10, 19)?, sketch.range(0, 255)?, sketch.range(9, 3)?), (10, 256, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn range(&self, first: u64, last: u64) -> Result<u64> {
        let levels = self.need_levels()?;
        let last = last.min(last_key(levels));
        let (mut first, mut sum) = (u128::from(first), 0u64);
        let end = u128::from(last) + 1;
        while first < end {
            // The longest dyadic interval that begins here and ends in time.
            let aligned = if first == 0 { levels } else { first.trailing_zeros().min(levels) };
            let level = aligned.min((end - first).ilog2());
            let count = if level == levels {
                self.total.max(0) as u64
            } else {
                self.count_in(level as usize, self.prefix_digest(first as u64, level as usize))
            };
            sum = sum.saturating_add(count);
            first += 1 << level;
        }
        Ok(sum)
    }

    /// The least key up to which a share of `share` of all occurrences lies. An error without levels, or for a share
    /// that is not between 0 and 1.
    ///
    /// ```
    /// use bouquet::{counting::count_min::{CountMin, KIND}, kind::Config};
    /// let mut sketch = CountMin::from_config(&Config::new(KIND.facts()).set("levels", "10")?)?;
    /// (0..1_000u64).try_for_each(|key| sketch.add(&key, 1))?;
    /// assert_eq!((sketch.quantile(0.25)?, sketch.quantile(1.0)?), (249, 999));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn quantile(&self, share: f64) -> Result<u64> {
        let levels = self.need_levels()?;
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::parameter("share", "between 0 and 1", share));
        }
        let mut rank = ((share * self.total.max(0) as f64).ceil() as u64).max(1);
        let mut prefix = 0u64;
        for level in (0..levels as usize).rev() {
            prefix <<= 1;
            let left = self.count_in(level, prefix.digest(&self.keys().hashing));
            if rank > left {
                rank -= left;
                prefix |= 1;
            }
        }
        Ok(prefix)
    }

    /// The keys with at least a share of `share` of all occurrences, ascending, and their counts, found from the root of the
    /// levels down: none of them is missing where nothing is negative. An error without levels, for a share that is not
    /// above 0 and at most 1, or when the sketch is too full to tell the keys apart.
    ///
    /// ```
    /// use bouquet::{counting::count_min::{CountMin, KIND}, kind::Config};
    /// let mut sketch = CountMin::from_config(&Config::new(KIND.facts()).set("levels", "32")?)?;
    /// (0..900u64).try_for_each(|key| sketch.add(&(key * 1_000), 1))?;
    /// sketch.add(&77u64, 100)?;
    /// assert_eq!(sketch.heavy(0.05)?, [(77, 100)]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn heavy(&self, share: f64) -> Result<Vec<(u64, u64)>> {
        let levels = self.need_levels()?;
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::parameter("share", "above 0 and at most 1", share));
        }
        let least = ((share * self.total.max(0) as f64).ceil() as u64).max(1);
        // Intervals of a level are disjoint, so no more than 1/share of them have their share; a few more seem to.
        let most = (8.0 / share).min(1e6) as usize + 64;
        let mut found = vec![(0u64, 0u64)];
        for level in (0..levels as usize).rev() {
            let children = found.iter().flat_map(|&(prefix, _)| [prefix << 1, prefix << 1 | 1]);
            let counted = children.map(|prefix| (prefix, self.count_in(level, prefix.digest(&self.keys().hashing))));
            found = counted.filter(|&(_, count)| count >= least).collect();
            if found.len() > most {
                return Err(Error::Full {
                    what: format!("{} intervals seem to have a share of {share}", found.len()),
                    remedy: "take a wider sketch, or ask for a larger share".into(),
                });
            }
        }
        Ok(found)
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::count_min::CountMin;
    /// let mut sketch = CountMin::with_size(2_000, 4)?;
    /// sketch.add("rose", 3)?;
    /// assert_eq!(CountMin::from_bytes(&sketch.to_bytes())?.count("rose").count, 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::count_min::CountMin;
    /// let sketch = CountMin::with_size(2_000, 4)?;
    /// assert_eq!(CountMin::from_bytes(&sketch.to_bytes())?, sketch);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

/// The largest key of so many bits.
fn last_key(levels: u32) -> u64 {
    u64::MAX.checked_shr(64 - levels.min(64)).unwrap_or(0)
}

/// The middle value, or the mean of the middle two; zero of none.
fn median(values: &mut [i128]) -> i128 {
    values.sort_unstable();
    let middle = values.len() / 2;
    match (values.get(middle), values.len() % 2) {
        (None, _) => 0,
        (Some(upper), 1) => *upper,
        // Half of each, so that the sum cannot overflow.
        (Some(upper), _) => {
            let lower = values[middle - 1];
            lower / 2 + upper / 2 + (lower % 2 + upper % 2) / 2
        }
    }
}

/// What the settings describe.
struct Shape {
    size: Size,
    signed: bool,
    wide: bool,
    levels: u64,
    top: u64,
}

impl Shape {
    fn of(config: &Config) -> Result<Self> {
        let size = Rows::size(config, "width", "rows")?;
        let counter = config.choice("counter");
        let shape = Shape {
            size,
            signed: counter == "i64",
            wide: counter != "u32",
            levels: config.need("levels")?,
            top: config.need("top")?,
        };
        shape.bits()?;
        Ok(shape)
    }

    fn bits_per_counter(&self) -> u32 {
        if self.wide { 64 } else { 32 }
    }

    /// That of the keys, and with levels those of the keys without one bit or more, up to the last but one.
    fn sketches(&self) -> u64 {
        self.levels.max(1)
    }

    /// Bits of all sketches.
    fn bits(&self) -> Result<u64> {
        let counters = u128::from(self.size.bits) * u128::from(self.sketches());
        let bits = counters * u128::from(self.bits_per_counter());
        u64::try_from(bits).map_err(|_| Error::TooLarge { what: "the sketch".into(), bytes: bits / 8 })
    }

    fn assemble(self, config: &Config, mut store: impl FnMut(&Self) -> Result<Counters>) -> Result<CountMin> {
        let rows = Rows::new(CountMin::FACTS.id, self.size, config.hashing().seed())?;
        let settings = config
            .clone()
            .put("width", Setting::Count(rows.width()))
            .put("rows", Setting::Count(rows.rows().into()))
            .put("levels", Setting::Count(self.levels))
            .put("top", Setting::Count(self.top))
            .put("counter", Setting::Choice(config.choice("counter")));
        let sketch = |_| Ok(HashedArray::new(rows.clone(), config.hashing(), store(&self)?));
        let sketches = (0..self.sketches()).map(sketch).collect::<Result<Vec<_>>>()?;
        Ok(CountMin {
            settings: settings.hashed(sketches[0].hashing.clone()),
            sketches,
            levels: self.levels as u32,
            signed: self.signed,
            top: (self.top > 0).then(|| TopKeys::new(self.top)),
            total: 0,
            saturated: false,
        })
    }
}

impl Structure for CountMin {
    const FACTS: Facts = Facts {
        id: "count-min",
        number: 66,
        aliases: &["CMS", "CM-sketch", "countmin"],
        family: "counting",
        text: Text::new(include_str!("count_min.md")),
        errors: &[ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, EPS, DELTA, WIDTH, ROWS, COUNTER, LEVELS, TOP],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let shape = Shape::of(config)?;
        Ok(Plan { bits: shape.bits()?, hashes: shape.size.hashes, items: config.count("items"), fpr: None })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        self.settings.clone()
    }

    fn errors(&self) -> &'static [ErrorClass] {
        const BOTH: &[ErrorClass] = &[ErrorClass::OverCount, ErrorClass::UnderCount];
        if self.signed { BOTH } else { Self::FACTS.errors }
    }

    fn hashing(&self) -> &Hashing {
        &self.keys().hashing
    }

    fn stats(&self) -> Stats {
        let store = &self.keys().store;
        Stats {
            items: self.total.max(0) as u64,
            bits: self.sketches.iter().map(|sketch| sketch.store.bits()).sum(),
            hashes: self.rows(),
            fill: Some(store.count_nonzero() as f64 / store.len() as f64),
            fpr: None,
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let over_count = if self.signed { sketch::median_over_count } else { sketch::over_count };
        Rates { over_count: Some(over_count(self.width(), self.rows(), items)), ..Rates::default() }
    }

    /// State: total (8 bytes, two's complement), 1 if a counter has reached its end. Stores: the sketches, that of the
    /// keys first; with `top` its keys.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.total as u64);
        encoder.state().u8(self.saturated.into());
        for sketch in &self.sketches {
            encoder.counters(&sketch.store);
        }
        if let Some(top) = &self.top {
            encoder.bytes(top.to_bytes());
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let config = decoder.config().clone();
        let (total, saturated) = (decoder.state().u64()? as i64, decoder.state().u8()?);
        let mut sketch = Shape::of(&config)?
            .assemble(&config, |shape| decoder.counters(shape.size.bits, shape.bits_per_counter()))?;
        if saturated > 1 || total < 0 && !sketch.signed {
            return Err(Error::corrupt("state", "a total that the counters can have, and 0 or 1", saturated));
        }
        (sketch.total, sketch.saturated) = (total, saturated == 1);
        if sketch.top.is_some() {
            sketch.top = Some(TopKeys::from_bytes(config.need("top")?, decoder.bytes()?)?);
        }
        Ok(sketch)
    }
}

impl Insert for CountMin {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        self.add_bytes(item.bare()?, 1)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let plain = self.levels == 0 && self.top.is_none() && !self.signed;
        let insert = |sketch: &mut Self, item: &Item<'_>, digest| match sketch.total.checked_add(1) {
            Some(total) if plain => {
                sketch.total = total;
                Ok(sketch.change(0, digest, &Change::Add(1)))
            }
            _ => sketch.add_bytes(item.key, 1),
        };
        insert_items(self, Self::keys, items, insert)
    }
}

impl Remove for CountMin {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        self.add_bytes(item.bare()?, -1).map(drop)
    }
}

impl Count for CountMin {
    fn count(&self, key: &[u8]) -> Multiplicity {
        CountMin::count(self, key)
    }
}

impl Top for CountMin {
    fn top(&self) -> Vec<Frequent> {
        let at_least = |key: &[u8]| self.count(key).at_least;
        let frequent = |(key, count): (Vec<u8>, u64)| {
            let count = Multiplicity { count, at_least: at_least(&key) };
            Frequent { key, count }
        };
        // A key whose occurrences were all taken out keeps its place until another wants it.
        CountMin::top(self).into_iter().filter(|(_, count)| *count > 0).map(frequent).collect()
    }
}

impl Merge for CountMin {
    fn merge(&mut self, other: &Self) -> Result<()> {
        CountMin::merge(self, other)
    }
}

#[cfg(test)]
mod tests;
