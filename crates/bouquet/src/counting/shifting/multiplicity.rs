//! The multiplicity form: how often a key is in.

use super::{Form, ShiftedBits, Shifting};
use crate::capability::{Item, Note};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::key::Key;
use crate::shell::Hashed;

impl Shifting {
    /// A filter of keys with their multiplicities, of which those up to 57 can be told; an absent key is counted with
    /// probability `fpr`. A key that is listed twice comes as often as both say.
    ///
    /// ```
    /// use bouquet::Shifting;
    /// let filter = Shifting::of_counts(&[("rose", 3), ("lily", 1_000), ("rose", 4)], 0.001)?;
    /// assert_eq!((filter.count("rose").count, filter.count("iris").count), (7, 0));
    /// assert!(filter.count("lily").at_least, "57 is the most that can be told");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn of_counts<K: AsRef<[u8]>>(counts: &[(K, u64)], fpr: f64) -> Result<Self> {
        let items = counts.iter().map(|(key, times)| Item::new(key.as_ref(), Note::Amount(*times))).collect();
        Self::of_form(Form::Multiplicity, items, fpr)
    }

    /// Inserts this many occurrences, at least one, of a key of the multiplicity form at once and says whether it was
    /// certainly new. Needs counters: bits alone cannot be moved to another count.
    ///
    /// ```
    /// use bouquet::{Shifting, ShiftingSettings, counting::shifting::{Cells, Form}};
    /// let (form, cells) = (Some(Form::Multiplicity), Some(Cells::Counters));
    /// let mut filter = Shifting::with(ShiftingSettings { items: Some(1_000), form, cells, ..Default::default() })?;
    /// assert!(filter.insert_times("rose", 7)?);
    /// assert_eq!(filter.count("rose").count, 7);
    /// filter.insert_times("rose", 1_000)?;
    /// assert!(filter.count("rose").at_least, "14 is the most that can be told");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<bool> {
        self.need_form(Form::Multiplicity, "insert several times")?;
        self.insert_with(key, Note::Amount(times))
    }
}

impl ShiftedBits {
    /// The offset of a multiplicity, of which the largest stands for all above it.
    pub(super) fn offset_of(&self, count: u64) -> u32 {
        count.clamp(1, self.shape.span.into()) as u32 - 1
    }

    /// The largest multiplicity that is a candidate; 0 when there is none.
    #[inline]
    pub(super) fn largest(&self, digest: Digest) -> u64 {
        u64::from(64 - self.candidates(digest, u64::MAX >> (64 - self.shape.span), false).leading_zeros())
    }

    /// What the table says of a key or, without one, the filter itself.
    fn known(&self, key: Hashed<'_>) -> u64 {
        match &self.table {
            Some(table) => table.get(key.bytes).copied().unwrap_or(0),
            None => self.largest(key.digest),
        }
    }

    pub(super) fn raise(&mut self, key: Hashed<'_>, times: u64) -> bool {
        let (fresh, old) = (self.largest(key.digest) == 0, self.known(key));
        self.move_count(key, old, old.saturating_add(times));
        self.items = self.items.saturating_add(times);
        self.inserted = self.inserted.saturating_add(1);
        fresh
    }

    /// Takes occurrences out, all or none.
    pub(super) fn lower(&mut self, key: Hashed<'_>, times: u64) -> Result<()> {
        let old = self.known(key);
        self.move_count(key, old, old.checked_sub(times).ok_or(Error::NotPresent)?);
        self.items = self.items.saturating_sub(times);
        Ok(())
    }

    /// Changes the count of a key from `old` to `new` in the bits and in the table.
    fn move_count(&mut self, key: Hashed<'_>, old: u64, new: u64) {
        let offset = |count: u64| (count > 0).then(|| self.offset_of(count));
        let (from, to) = (offset(old), offset(new));
        if from != to {
            if let Some(from) = from {
                self.unmark(key.digest, from);
            }
            if let Some(to) = to {
                self.mark(key.digest, to);
            }
        }
        self.remember(key.bytes, new);
    }
}
