//! What the settings say about the slots.

use super::{LAYOUT, Layout, QUOTIENT, QuotientSettings, REMAINDER, Ranked, Slots, ThreeBit};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::store::field_max;
use crate::theory::fingerprints;

/// What resolved settings say about the slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) quotient: u32,
    pub(super) remainder: u32,
    pub(super) layout: Layout,
    /// The slots that may be in use. It follows from the others.
    pub(super) capacity: u64,
}

impl Shape {
    pub(super) fn of(settings: &QuotientSettings) -> Result<Self> {
        let (quotient, remainder) = (QUOTIENT.need(settings.quotient)?, REMAINDER.need(settings.remainder)?);
        let shape = Shape::new(quotient, remainder, LAYOUT.need(settings.layout)?);
        shape.bits().map(|_| shape)
    }

    pub(super) fn new(quotient: u32, remainder: u32, layout: Layout) -> Self {
        let capacity = ((1u64 << quotient) as f64 * fingerprints::QUOTIENT_LOAD) as u64;
        Shape { quotient, remainder, layout, capacity: capacity.max(1) }
    }

    /// The slots that are homes.
    pub(super) fn homes(&self) -> u64 {
        1 << self.quotient
    }

    /// All slots, a whole number of blocks: behind the last home there are 10 sqrt(2^q) more.
    pub(super) fn slots(&self) -> u64 {
        let slack = (10.0 * (self.homes() as f64).sqrt()).ceil() as u64;
        (self.homes() + slack).next_multiple_of(64)
    }

    pub(super) fn bits(&self) -> Result<u64> {
        let bits = match self.layout {
            Layout::RankSelect => Ranked::bits(self.slots(), self.remainder),
            Layout::ThreeBit => ThreeBit::bits(self.slots(), self.remainder),
        };
        bits.ok_or_else(|| Error::TooLarge {
            what: "the slots".into(),
            bytes: u128::from(self.slots()) * u128::from(self.remainder + 3) / 8,
        })
    }

    /// About as many bits as [`bits`](Self::bits) says. A hash has at most 64, so that this fits.
    #[inline]
    pub(super) fn size(&self) -> u64 {
        self.homes() * u64::from(self.remainder + 3)
    }

    pub(super) fn zeroed(&self) -> Result<Slots> {
        Ok(match self.layout {
            Layout::RankSelect => Slots::Ranked(Ranked::zeroed(self.slots(), self.remainder)?),
            Layout::ThreeBit => Slots::ThreeBit(ThreeBit::zeroed(self.slots(), self.remainder)?),
        })
    }

    /// Home and remainder of a hash.
    #[inline]
    pub(super) fn split(&self, hash: u64) -> (u64, u64) {
        (hash >> self.remainder, hash & field_max(self.remainder))
    }

    #[inline]
    pub(super) fn home(&self, digest: Digest) -> u64 {
        digest.h1 >> (64 - self.quotient)
    }

    #[inline]
    pub(super) fn remainder(&self, digest: Digest) -> u64 {
        digest.h1 >> (64 - self.hash_bits()) & field_max(self.remainder)
    }

    /// Home and remainder of a digest.
    #[inline]
    pub(super) fn place(&self, digest: Digest) -> (u64, u64) {
        (self.home(digest), self.remainder(digest))
    }

    pub(super) fn hash_bits(&self) -> u32 {
        self.quotient + self.remainder
    }
}
