//! The association form: in which of two sets a key is.

use super::{Form, ShiftedBits, Shifting};
use crate::capability::{Item, Note};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::key::Key;
use crate::shell::Hashed;

/// Which classes of the association form a key may be in: one of them for certain when it is in either set.
///
/// ```
/// use bouquet::{Shifting, counting::shifting::Classes};
/// let filter = Shifting::of_sets([&["lily"], &["rose"]], 0.001)?;
/// assert_eq!(filter.classes("rose")?, Classes { first: false, both: false, second: true });
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// In the first set only.
    pub first: bool,
    /// In both sets.
    pub both: bool,
    /// In the second set only.
    pub second: bool,
}

impl Classes {
    /// Whether there is exactly one candidate, so that the answer is certain for a key of the union.
    ///
    /// ```
    /// use bouquet::counting::shifting::Classes;
    /// assert!(Classes { first: true, both: false, second: false }.is_clear());
    /// assert!(!Classes { first: true, both: true, second: false }.is_clear());
    /// ```
    #[must_use]
    pub fn is_clear(self) -> bool {
        [self.first, self.both, self.second].into_iter().filter(|&candidate| candidate).count() == 1
    }

    /// The numbers of the sets that may hold the key, ascending.
    ///
    /// ```
    /// use bouquet::counting::shifting::Classes;
    /// assert_eq!(Classes { first: false, both: true, second: false }.sets(), [0, 1]);
    /// assert_eq!(Classes { first: false, both: false, second: true }.sets(), [1]);
    /// ```
    #[must_use]
    pub fn sets(self) -> Vec<u64> {
        let may_hold = [self.first || self.both, self.second || self.both];
        (0..).zip(may_hold).filter_map(|(set, holds)| holds.then_some(set)).collect()
    }
}

impl Shifting {
    /// A filter of two sets; an absent key seems to be in one of them with probability `fpr`.
    ///
    /// ```
    /// use bouquet::Shifting;
    /// let filter = Shifting::of_sets([&["rose", "iris"], &["lily", "iris"]], 0.001)?;
    /// assert_eq!((filter.classify("rose"), filter.classify("lily")), (vec![0], vec![1]));
    /// assert_eq!((filter.classify("iris"), filter.classify("thistle")), (vec![0, 1], vec![]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn of_sets<K: AsRef<[u8]>>(sets: [&[K]; 2], fpr: f64) -> Result<Self> {
        let items = (0..).zip(sets).flat_map(|(set, keys)| keys.iter().map(move |key| (key, Note::Group(set))));
        Self::of_form(Form::Association, items.map(|(key, note)| Item::new(key.as_ref(), note)).collect(), fpr)
    }

    /// Inserts a key into the set 0 or 1 of the association form and says whether it was certainly not in that set. Needs
    /// counters: bits alone cannot move a key that joins its second set.
    ///
    /// ```
    /// use bouquet::{Shifting, ShiftingSettings, counting::shifting::{Cells, Form}};
    /// let (form, cells) = (Some(Form::Association), Some(Cells::Counters));
    /// let mut filter = Shifting::with(ShiftingSettings { items: Some(1_000), form, cells, ..Default::default() })?;
    /// assert!(filter.insert_into("rose", 0)? && filter.insert_into("rose", 1)?);
    /// assert_eq!(filter.classify("rose"), [0, 1]);
    /// assert!(filter.insert_into("rose", 2).is_err(), "there are two sets");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_into<K: Key + ?Sized>(&mut self, key: &K, set: u64) -> Result<bool> {
        self.need_form(Form::Association, "insert into a set")?;
        self.insert_with(key, Note::Group(set))
    }

    /// Takes a key out of a set of the association form. Needs counters.
    ///
    /// ```
    /// use bouquet::{Shifting, ShiftingSettings, counting::shifting::{Cells, Form}};
    /// let (form, cells) = (Some(Form::Association), Some(Cells::Counters));
    /// let mut filter = Shifting::with(ShiftingSettings { items: Some(1_000), form, cells, ..Default::default() })?;
    /// filter.insert_into("rose", 0)?;
    /// filter.insert_into("rose", 1)?;
    /// filter.remove_from("rose", 0)?;
    /// assert_eq!(filter.classify("rose"), [1]);
    /// assert!(filter.remove_from("rose", 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_from<K: Key + ?Sized>(&mut self, key: &K, set: u64) -> Result<()> {
        self.need_form(Form::Association, "remove from a set")?;
        self.remove_with(key, Note::Group(set))
    }

    /// Which classes a key of the association form may be in.
    ///
    /// ```
    /// use bouquet::Shifting;
    /// let filter = Shifting::of_sets([&["rose"], &["lily"]], 0.001)?;
    /// assert!(filter.classes("rose")?.is_clear());
    /// assert!(Shifting::with_rate(1_000, 0.001)?.classes("rose").is_err(), "of another form");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn classes<K: Key + ?Sized>(&self, key: &K) -> Result<Classes> {
        self.need_form(Form::Association, "classify")?;
        Ok(self.mechanism.classes_of(key.digest(&self.hashing)))
    }
}

impl ShiftedBits {
    /// The index of a class in the offsets of a key, by the sets as bits.
    pub(super) fn class(sets: u64) -> usize {
        match sets {
            1 => 0,
            3 => 1,
            _ => 2,
        }
    }

    pub(super) fn classes_of(&self, digest: Digest) -> Classes {
        let offsets = self.shape.offsets(digest);
        let mask = offsets.iter().fold(0, |mask, offset| mask | 1u64 << offset);
        let found = self.candidates(digest, mask, false);
        let [first, both, second] = offsets.map(|offset| found >> offset & 1 == 1);
        Classes { first, both, second }
    }

    /// The sets of a key as bits 0 and 1. Association with counters always has a table.
    fn sets_of(&self, key: Hashed<'_>) -> u64 {
        self.table.as_ref().and_then(|table| table.get(key.bytes)).copied().unwrap_or(0)
    }

    pub(super) fn join(&mut self, key: Hashed<'_>, set: u64) -> Result<bool> {
        if set > 1 {
            return Err(Error::Item { expected: "set 0 or 1".into(), found: format!("set {set}") });
        }
        let old = self.sets_of(key);
        let new = old | 1 << set;
        if old == new {
            return Ok(false);
        }
        let seemed = self.classes_of(key.digest).sets().contains(&set);
        self.move_to(key, old, new);
        self.items = self.items.saturating_add(1);
        self.inserted = self.inserted.saturating_add(1);
        Ok(!seemed)
    }

    pub(super) fn leave(&mut self, key: Hashed<'_>, set: u64) -> Result<()> {
        let old = self.sets_of(key);
        if set > 1 || old >> set & 1 == 0 {
            return Err(Error::NotPresent);
        }
        self.move_to(key, old, old & !(1 << set));
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// Changes the sets of a key from `old` to `new` in the bits and in the table.
    fn move_to(&mut self, key: Hashed<'_>, old: u64, new: u64) {
        let offsets = self.shape.offsets(key.digest);
        if old != 0 {
            self.unmark(key.digest, offsets[Self::class(old)]);
        }
        if new != 0 {
            self.mark(key.digest, offsets[Self::class(new)]);
        }
        self.remember(key.bytes, new);
    }
}
