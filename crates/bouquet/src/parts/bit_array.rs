//! Bits at the places of keys: what the kinds share that address one plain bit vector in ways of their own.
//!
//! `deletable` marks the regions in which keys meet, `adaptive` follows a key's positions as far as they are ones,
//! `space-code` draws one of many groups of positions, `shifting` moves the positions by what it has to say, and
//! `variable-length` looks at how many of them are ones.

use crate::error::Result;
use crate::hash::Digest;
use crate::parts::counter_array::{Arrangement, Places};
use crate::shell::Far;
use crate::simd::{flat, prefetch};
use crate::store::BitStore;

/// Bits, and the places of keys among the first of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BitArray {
    pub(crate) places: Places,
    /// At least as many bits as there are places; kinds may keep more behind them.
    pub(crate) bits: BitStore,
}

/// k places anywhere among m.
pub(crate) fn flat_places(bits: u64, hashes: u32) -> Result<Places> {
    Places::new(bits, hashes, Arrangement::Flat)
}

/// What separates the digests of a secret: kinds, and shapes of a kind, that differ get unrelated ones.
pub(crate) fn domain(kind: &str, bits: Option<u64>, hashes: Option<u32>) -> String {
    format!("{kind} {} {}", bits.unwrap_or(0), hashes.unwrap_or(0))
}

impl BitArray {
    /// As many zeros as there are places.
    pub(crate) fn zeroed(places: Places) -> Result<Self> {
        Ok(BitArray { places, bits: BitStore::zeroed(places.counters())? })
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
}

impl Far for BitArray {
    #[inline]
    fn reach(&self) -> u64 {
        self.bits.len()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        let words = self.bits.words();
        self.places.all(digest, |place| {
            prefetch(words, (place / 64) as usize);
            true
        });
    }
}
