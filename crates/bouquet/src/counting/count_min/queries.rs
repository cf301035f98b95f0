//! What a sketch can be asked beyond the count of a key.

use super::{CountMin, Sketch};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::key::Key;
use crate::kind::{Reply, Special, Takes};
use crate::parts::counter_array::{CounterArray, Placement};
use crate::parts::integers;
use crate::shell::{Settings, hashed};

/// The questions of the kind.
pub(super) const SPECIALS: &[Special<CountMin>] = &[
    Special::ask("total", Takes::Nothing, "the sum of all amounts", |sketch, _| {
        Ok(Reply::Integer(sketch.total().into()))
    }),
    Special::ask(
        "median",
        Takes::Key,
        "the median of a key's counters, for streams with negative counts",
        |sketch, key| Ok(Reply::Integer(sketch.median(key.key()?).into())),
    ),
    Special::ask("range", Takes::Span, "the occurrences of the keys of a range; needs levels", |sketch, span| {
        let (first, last) = span.span()?;
        Ok(sketch.range(first, last)?.into())
    }),
    Special::ask(
        "quantile",
        Takes::Share,
        "the least key up to which this share of all occurrences lies; needs levels",
        |sketch, share| Ok(sketch.quantile(share.share()?)?.into()),
    ),
    Special::ask(
        "heavy",
        Takes::Share,
        "the keys with at least this share of all occurrences, found from the sketch alone; needs levels",
        |sketch, share| {
            let row = |(key, count): (u64, u64)| vec![key.into(), count.into()];
            Ok(Reply::Table(&["key", "count"], sketch.heavy(share.share()?)?.into_iter().map(row).collect()))
        },
    ),
    Special::ask(
        "inner-product",
        Takes::Filter,
        "the sum over all keys of the product of their counts here and there: the size of a join",
        |sketch, other| Ok(Reply::Integer(sketch.inner_product(other.filter()?)?)),
    ),
];

/// The largest key of this many bits.
fn last_key(levels: u32) -> u64 {
    u64::MAX.checked_shr(64 - levels.min(64)).unwrap_or(0)
}

/// The integer that a key of a sketch with levels is: eight little-endian bytes or, if it is to be read so, digits.
pub(super) fn integer(key: &[u8], levels: u32, decimal: bool) -> Result<u64> {
    integers::integer(key, decimal).filter(|&number| number <= last_key(levels)).ok_or_else(|| Error::Item {
        expected: format!("an integer of {levels} bits (the setting `levels`) as key"),
        found: format!("`{}`", key.escape_ascii()),
    })
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

impl Sketch {
    /// The median of a digest's counters in one sketch.
    pub(super) fn median_in(&self, level: usize, digest: Digest) -> i64 {
        let CounterArray { places, store } = &self.sketches[level];
        let mut values: Vec<i128> = Vec::with_capacity(places.rows() as usize);
        store.read_each(places.of(digest), |counter| values.push(self.signed_value(counter)));
        median(&mut values) as i64
    }

    /// A counter as the number that it is.
    fn signed_value(&self, counter: u64) -> i128 {
        if self.signed { i128::from(counter as i64) } else { i128::from(counter.min(i64::MAX as u64)) }
    }

    fn need_levels(&self) -> Result<u32> {
        match self.levels {
            0 => Err(Error::parameter(
                "levels",
                "the bits of integer keys where this is asked; build the sketch with it",
                0,
            )),
            levels => Ok(levels),
        }
    }

    /// The count of the keys that begin with these bits.
    fn count_below(&self, level: usize, prefix: u64) -> u64 {
        self.count_in(level, prefix.digest(&self.hashing))
    }
}

impl CountMin {
    /// The median of the key's counters: the answer for streams with negative counts. For an even number of rows the mean
    /// of the middle two; zero of a key that is none of the sketch.
    ///
    /// ```
    /// use bouquet::{CountMin, CountMinSettings, counting::count_min::Counter, shell::Amount};
    /// let mut sketch = CountMin::with(CountMinSettings { counter: Some(Counter::Signed), ..Default::default() })?;
    /// sketch.remove_with("rose", Amount(3))?;
    /// sketch.add("lily", 5)?;
    /// assert_eq!((sketch.median("rose"), sketch.median("lily")), (-3, 5));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn median<K: Key + ?Sized>(&self, key: &K) -> i64 {
        let sketch = &self.mechanism;
        hashed::<Sketch, K, _>(&self.hashing, key, |key| {
            sketch.identify(key).map_or(0, |(digest, _)| sketch.median_in(0, digest))
        })
    }

    /// The sum over all keys of the product of their counts here and there: the size of a join. Never too small where
    /// nothing is negative, and too large by more than eps N M with probability at most delta. With signed counters the
    /// median of the rows.
    ///
    /// ```
    /// use bouquet::CountMin;
    /// let (mut here, mut there) = (CountMin::with_size(2_000, 4)?, CountMin::with_size(2_000, 4)?);
    /// here.add("rose", 3)?;
    /// there.add("rose", 5)?;
    /// there.add("lily", 100)?;
    /// assert_eq!(here.inner_product(&there)?, 15);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn inner_product(&self, other: &Self) -> Result<i128> {
        self.comparable(other, Settings::alike)?;
        let (CounterArray { places, store }, theirs) = (self.mechanism.keys(), &other.mechanism.keys().store);
        let (width, value) = (places.width(), |counter| self.mechanism.signed_value(counter));
        let product = |row: u64| {
            (row * width..(row + 1) * width)
                .fold(0i128, |sum, i| sum.saturating_add(value(store.get(i)).saturating_mul(value(theirs.get(i)))))
        };
        let mut products: Vec<i128> = (0..places.rows().into()).map(product).collect();
        let signed = self.mechanism.signed;
        Ok(if signed { median(&mut products) } else { products.into_iter().min().unwrap_or(0) })
    }

    /// The number of occurrences of the keys from `first` to `last`, both included, from at most two intervals of each
    /// level. Never too small where nothing is negative. An error without levels.
    ///
    /// ```
    /// use bouquet::{CountMin, CountMinSettings};
    /// let mut sketch = CountMin::with(CountMinSettings { levels: Some(8), ..Default::default() })?;
    /// (0..=255u64).try_for_each(|key| sketch.insert(&key).map(drop))?;
    /// assert_eq!((sketch.range(10, 19)?, sketch.range(0, 255)?, sketch.range(9, 3)?), (10, 256, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn range(&self, first: u64, last: u64) -> Result<u64> {
        let levels = self.mechanism.need_levels()?;
        let last = last.min(last_key(levels));
        let (mut first, mut sum) = (u128::from(first), 0u64);
        let end = u128::from(last) + 1;
        while first < end {
            // The longest dyadic interval that begins here and ends in time.
            let aligned = if first == 0 { levels } else { first.trailing_zeros().min(levels) };
            let level = aligned.min((end - first).ilog2());
            let count = if level == levels {
                self.total().max(0) as u64
            } else {
                self.mechanism.count_below(level as usize, first as u64 >> level)
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
    /// use bouquet::{CountMin, CountMinSettings};
    /// let mut sketch = CountMin::with(CountMinSettings { levels: Some(10), ..Default::default() })?;
    /// (0..1_000u64).try_for_each(|key| sketch.insert(&key).map(drop))?;
    /// assert_eq!((sketch.quantile(0.25)?, sketch.quantile(1.0)?), (249, 999));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn quantile(&self, share: f64) -> Result<u64> {
        let levels = self.mechanism.need_levels()?;
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::parameter("share", "between 0 and 1", share));
        }
        let mut rank = ((share * self.total().max(0) as f64).ceil() as u64).max(1);
        let mut prefix = 0u64;
        for level in (0..levels as usize).rev() {
            prefix <<= 1;
            let left = self.mechanism.count_below(level, prefix);
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
    /// use bouquet::{CountMin, CountMinSettings};
    /// let mut sketch = CountMin::with(CountMinSettings { levels: Some(32), ..Default::default() })?;
    /// (0..900u64).try_for_each(|key| sketch.insert(&(key * 1_000)).map(drop))?;
    /// sketch.add(&77u64, 100)?;
    /// assert_eq!(sketch.heavy(0.05)?, [(77, 100)]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn heavy(&self, share: f64) -> Result<Vec<(u64, u64)>> {
        let levels = self.mechanism.need_levels()?;
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::parameter("share", "above 0 and at most 1", share));
        }
        let least = ((share * self.total().max(0) as f64).ceil() as u64).max(1);
        // Intervals of a level are disjoint, so no more than 1/share of them have their share; a few more seem to.
        let most = (8.0 / share).min(1e6) as usize + 64;
        let mut found = vec![(0u64, 0u64)];
        for level in (0..levels as usize).rev() {
            let children = found.iter().flat_map(|&(prefix, _)| [prefix << 1, prefix << 1 | 1]);
            let counted = children.map(|prefix| (prefix, self.mechanism.count_below(level, prefix)));
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
}
