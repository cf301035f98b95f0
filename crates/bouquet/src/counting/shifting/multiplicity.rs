//! The multiplicity form: how often a key is in.

use super::{Form, Shifting};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::key::Key;

impl Shifting {
    /// Inserts so many occurrences of a key of the multiplicity form at once and says whether it was certainly new. A
    /// key that is inserted only so has no more than k bits.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::multiplicity(1_000, 0.001)?;
    /// assert!(filter.insert_times("rose", 7)?);
    /// assert_eq!(filter.count("rose").count, 7);
    /// filter.insert_times("rose", 1_000)?;
    /// assert!(filter.count("rose").at_least, "57 is the most that can be told");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<bool> {
        self.need_form(Form::Multiplicity, "insert several times")?;
        let digest = self.array.digest(key);
        Ok(key.with_bytes(|key| self.raise(key, digest, times)))
    }

    /// The offset of a multiplicity, of which the largest stands for all above it.
    pub(super) fn offset_of(&self, count: u64) -> u32 {
        count.clamp(1, self.shape.span.into()) as u32 - 1
    }

    /// The largest multiplicity that is a candidate; 0 when there is none.
    #[inline]
    pub(super) fn largest(&self, digest: Digest) -> u64 {
        u64::from(64 - self.candidates(digest, u64::MAX >> (64 - self.shape.span), false).leading_zeros())
    }

    pub(super) fn raise(&mut self, key: &[u8], digest: Digest, times: u64) -> bool {
        let seen = self.largest(digest);
        if times == 0 {
            return seen == 0;
        }
        let old = self.table.as_ref().map_or(seen, |table| table.get(key).copied().unwrap_or(0));
        let new = old.saturating_add(times);
        let (from, to) = (self.offset_of(old), self.offset_of(new));
        if old == 0 || from != to {
            if old > 0 {
                self.take(digest, from);
            }
            self.put(digest, to);
        }
        self.remember(key, new);
        self.items = self.items.saturating_add(times);
        self.inserted = self.inserted.saturating_add(1);
        seen == 0
    }
    /// Takes one occurrence out.
    pub(super) fn lower(&mut self, key: &[u8], digest: Digest) -> Result<()> {
        let seen = self.largest(digest);
        let old = self.table.as_ref().map_or(seen, |table| table.get(key).copied().unwrap_or(0));
        let new = old.checked_sub(1).ok_or(Error::NotPresent)?;
        let (from, to) = (self.offset_of(old), self.offset_of(new));
        if new == 0 || from != to {
            self.take(digest, from);
            if new > 0 {
                self.put(digest, to);
            }
        }
        self.remember(key, new);
        Ok(())
    }
}
