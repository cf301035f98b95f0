//! Bits at the places of keys: what the kinds share that address one plain bit vector in ways of their own.
//!
//! [`deletable`](crate::counting::deletable) marks the regions in which keys meet, [`adaptive`](crate::counting::adaptive) follows a key's
//! positions as far as they are ones, [`space_code`](crate::counting::space_code) draws one of many groups of positions,
//! [`shifting`](crate::counting::shifting) moves the positions by what it has to say, and
//! [`variable_length`](crate::counting::variable_length) looks at how many of them are ones.

use crate::capability::Item;
use crate::error::{Result, same};
use crate::hash::{Digest, Hashing};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{Config, Setting};
use crate::parts::counter_array::{Arrangement, Places};
use crate::simd::{CACHED_BITS, flat, prefetch};
use crate::store::BitStore;

/// Bits, and the places of keys among the first of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BitArray {
    pub(crate) places: Places,
    pub(crate) hashing: Hashing,
    /// At least as many bits as there are places; kinds may keep more behind them.
    pub(crate) bits: BitStore,
}

/// k places anywhere among m.
pub(crate) fn flat_places(bits: u64, hashes: u32) -> Result<Places> {
    Places::new(bits, hashes, Arrangement::Flat)
}

impl BitArray {
    /// Bits of this content. A secret gives unrelated digests for kinds, and shapes of a kind, that differ.
    pub(crate) fn new(kind: &str, places: Places, hashing: &Hashing, bits: BitStore) -> Self {
        let domain = format!("{kind} {} {}", places.counters(), places.hashes());
        BitArray { places, hashing: hashing.clone().bind(&domain), bits }
    }

    #[inline]
    pub(crate) fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        key.digest(&self.hashing)
    }

    /// Whether the bits at all places of a digest are one.
    #[inline]
    pub(crate) fn all_set(&self, digest: Digest) -> bool {
        flat::test::<false, false>(self.bits.words(), self.places.counters(), self.places.hashes(), digest)
    }

    /// Sets the bits at all places of a digest and says whether one was new.
    #[inline]
    pub(crate) fn set_all(&mut self, digest: Digest) -> bool {
        flat::set::<false, false>(self.bits.words_mut(), self.places.counters(), self.places.hashes(), digest)
    }

    /// The digests of up to [`BATCH`] keys; where the bits are larger than the cache, the memory is asked for the
    /// places of all of them.
    #[inline]
    pub(crate) fn digests<K: Key>(&self, keys: &[K]) -> [Digest; BATCH] {
        let (large, words) = (self.bits.len() > CACHED_BITS, self.bits.words());
        digest_batch(&self.hashing, keys, |digest| {
            if large {
                self.places.all(digest, |place| {
                    prefetch(words, (place / 64) as usize);
                    true
                });
            }
        })
    }

    /// Answers a batch of keys, digest by digest.
    #[inline]
    pub(crate) fn answer_each<K: Key>(&self, keys: &[K], answers: &mut [bool], answer: impl Fn(Digest) -> bool) {
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            for (out, digest) in answers.iter_mut().zip(self.digests(keys)).take(keys.len()) {
                *out = answer(digest);
            }
        }
    }

    /// The expected share of ones with so many keys, and 8 standard deviations: what honest keys reach.
    pub(crate) fn honest_fill(&self, items: u64) -> f64 {
        self.places.honest_fill(items)
    }

    /// Whether two arrays have the same places for the same keys.
    pub(crate) fn comparable(&self, other: &Self) -> Result<()> {
        same("bits", self.bits.len(), other.bits.len())?;
        same("bits", self.places.counters(), other.places.counters())?;
        same("hashes", self.places.hashes(), other.places.hashes())?;
        same("hashing", &self.hashing, &other.hashing)
    }
}

/// Inserts items that carry no note, batch by batch, and says how many were certainly new.
#[inline]
pub(crate) fn insert_each<T>(
    filter: &mut T,
    items: &[Item<'_>],
    digests: impl Fn(&T, &[Item<'_>]) -> [Digest; BATCH],
    insert: impl Fn(&mut T, &Item<'_>, Digest) -> Result<bool>,
) -> Result<u64> {
    let mut fresh = 0;
    for items in items.chunks(BATCH) {
        let digests = digests(filter, items);
        for (item, digest) in items.iter().zip(digests) {
            item.bare()?;
            fresh += u64::from(insert(filter, item, digest)?);
        }
    }
    Ok(fresh)
}

/// What a filter was made for, where it was told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Design {
    pub(crate) items: Option<u64>,
    pub(crate) fpr: Option<f64>,
}

impl Design {
    pub(crate) fn of(config: &Config) -> Self {
        Design { items: config.count("items"), fpr: config.is_set("fpr").then(|| config.real("fpr")).flatten() }
    }

    /// Adds it to the settings of a filter.
    pub(crate) fn put(self, mut config: Config) -> Config {
        if let Some(items) = self.items {
            config = config.put("items", Setting::Count(items));
        }
        if let Some(fpr) = self.fpr {
            config = config.put("fpr", Setting::Real(fpr));
        }
        config
    }
}
