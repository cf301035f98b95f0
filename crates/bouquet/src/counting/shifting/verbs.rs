//! The verbs, each handed to the form that the filter has.

use super::{Form, KIND, Shifting};
use crate::capability::{Classify, Contains, Count, Insert, Item, Multiplicity, Remove};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::key::Key;
use crate::parts::bit_array::insert_each;

impl Shifting {
    pub(super) fn wrong_form(&self, verb: &str, able: &str) -> Error {
        Error::Unsupported { kind: KIND.facts().id.into(), verb: verb.into(), able: format!("shifting with {able}") }
    }

    pub(super) fn need_form(&self, form: Form, verb: &str) -> Result<()> {
        let able = || format!("form={}", form.name());
        if self.shape.form == form { Ok(()) } else { Err(self.wrong_form(verb, &able())) }
    }

    /// Inserts a key and says whether it was certainly new: another occurrence with multiplicity, into the first set
    /// with association.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::multiplicity(1_000, 0.001)?;
    /// assert!(filter.insert("rose")? && !filter.insert("rose")?);
    /// assert_eq!(filter.count("rose").count, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        let digest = self.array.digest(key);
        key.with_bytes(|key| self.insert_digest(key, digest))
    }

    #[inline]
    fn insert_digest(&mut self, key: &[u8], digest: Digest) -> Result<bool> {
        match self.shape.form {
            Form::Membership => {
                self.count_insertion();
                Ok(self.put(digest, 0))
            }
            Form::Association => self.join(key, digest, 0),
            Form::Multiplicity => Ok(self.raise(key, digest, 1)),
        }
    }

    pub(super) fn count_insertion(&mut self) {
        self.items = self.items.saturating_add(1);
        self.inserted = self.inserted.saturating_add(1);
    }

    /// Takes a key out, with multiplicity one occurrence of it, with association out of the first set. Needs counters.
    /// [`Error::NotPresent`] when it is certainly not in. Only keys that were inserted may be removed: without a table
    /// one that merely seems present is removed as well, and other keys may vanish with it.
    ///
    /// ```
    /// use bouquet::{counting::shifting::{KIND, Shifting}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("form", "multiplicity")?;
    /// let mut filter = Shifting::from_config(&config.set("cells", "counters")?)?;
    /// filter.insert_times("rose", 3)?;
    /// filter.remove("rose")?;
    /// assert_eq!(filter.count("rose").count, 2);
    /// assert!(filter.remove("lily").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        if self.counters.is_none() {
            return Err(self.wrong_form("remove", "cells=counters"));
        }
        if self.shape.form == Form::Association {
            return self.remove_from(key, 0);
        }
        let digest = self.array.digest(key);
        if self.shape.form == Form::Multiplicity {
            key.with_bytes(|key| self.lower(key, digest))?;
        } else if self.contains_digest(digest) {
            self.take(digest, 0);
        } else {
            return Err(Error::NotPresent);
        }
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// Whether the key may be in (with association, in either set); `false` is certain, except with `no-table`.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.array.digest(key))
    }

    /// How often the key is in, or more: the largest candidate. The other forms tell one or more, or none.
    ///
    /// ```
    /// use bouquet::{capability::Multiplicity, counting::shifting::Shifting};
    /// let mut filter = Shifting::multiplicity(1_000, 0.001)?;
    /// filter.insert_times("rose", 9)?;
    /// assert_eq!(filter.count("rose"), Multiplicity { count: 9, at_least: false });
    /// let mut set = Shifting::with_rate(1_000, 0.001)?;
    /// set.insert("rose")?;
    /// assert_eq!(set.count("rose"), Multiplicity { count: 1, at_least: true });
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let digest = self.array.digest(key);
        if self.shape.form == Form::Multiplicity {
            let count = self.largest(digest);
            return Multiplicity { count, at_least: count == u64::from(self.shape.span) };
        }
        let found = self.contains_digest(digest);
        Multiplicity { count: found.into(), at_least: found }
    }
}

impl Contains for Shifting {
    fn contains(&self, key: &[u8]) -> bool {
        Shifting::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        self.array.answer_each(keys, answers, |digest| self.contains_digest(digest));
    }
}

impl Insert for Shifting {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        match self.shape.form {
            Form::Association => self.insert_into(item.key, item.group()?),
            _ => Shifting::insert(self, item.bare()?),
        }
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        if self.shape.form == Form::Association {
            let mut fresh = 0;
            for item in items {
                fresh += u64::from(Insert::insert(self, *item)?);
            }
            return Ok(fresh);
        }
        let insert = |filter: &mut Self, item: &Item<'_>, digest| filter.insert_digest(item.key, digest);
        insert_each(self, items, |filter, items| filter.array.digests(items), insert)
    }
}

impl Remove for Shifting {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        match self.shape.form {
            Form::Association => self.remove_from(item.key, item.group()?),
            _ => Shifting::remove(self, item.bare()?),
        }
    }
}

impl Classify for Shifting {
    /// Of another form, which has no sets, no set; [`Filter::classify`](crate::AnyFilter::classify) refuses those.
    fn classify(&self, key: &[u8]) -> Vec<u64> {
        Shifting::classify(self, key).unwrap_or_default()
    }
}

impl Count for Shifting {
    fn count(&self, key: &[u8]) -> Multiplicity {
        Shifting::count(self, key)
    }
}
